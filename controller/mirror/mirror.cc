#include "controller/mirror/mirror.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/clock/wall_clock.h"
#include "controller/mirror/lease.h"
#include "controller/store/outbox/mirror_tables.h"
#include "controller/store/queries/data_kind.h"

namespace railgauge::mirror {
namespace {

// Lines about the same trouble are so far apart.
constexpr double kLogSeconds = 60;
constexpr double kDropSeconds = 3'600;
// While there are more to drop: twice as many a second as a site makes at its fastest.
constexpr double kChangeDropSeconds = 0.5;
constexpr std::int64_t kTrimRows = 200'000;  // in one write: a larger one would hold up records
constexpr double kShowSeconds = 1;
// Both sides say at least so often when the archive had all, also where nothing changes.
constexpr double kEvenSeconds = 60;
// Rows of the outbox behind which the next batch is sent at once.
constexpr std::int64_t kManyRows = 2'000;

}  // namespace

// --- one step at a time ------------------------------------------------------------------------

Mirror::Mirror(MirrorOptions options, store::Store& store, Note note, std::function<bool()> is_over)
    : options_(std::move(options)),
      store_(store),
      note_(std::move(note)),
      is_over_(std::move(is_over)),
      batch_(options_.batch),
      pace_(options_.first_pause_seconds, options_.longest_pause_seconds, kLogSeconds),
      walk_pace_(options_.first_pause_seconds, options_.longest_pause_seconds, kLogSeconds),
      is_armed_(options_.is_armed) {}

// Figures are taken first, so that they are shown while the archive is away too.
double Mirror::step(double now) {
  std::vector<std::uint64_t> held;
  for (const ArchiveGate* gate : options_.gates) held.push_back(gate->held());
  const auto state = store_.read(store::read_mirror_state);
  if (state) show(*state, now);
  for (std::size_t i = 0; state && i < held.size(); ++i)
    options_.gates[i]->note(held[i], state->newest);
  if (!pace_.is_due(now)) return std::min(pace_.left(now), kShowSeconds);
  if (!state) {
    fail_at(pace_, now, state.error());
    return options_.poll_seconds;
  }
  if (state->newest - state->oldest + 1 > options_.most_rows) {
    link_.reset();
    const Status bounded = store_.write(store::bound_mirror, options_.most_rows);
    if (bounded) return 0;
    fail_at(pace_, now, bounded.error());
    return options_.poll_seconds;
  }
  if (link_ && state->arming != arming_) link_.reset();
  const Result<double> pause = work(now);
  if (pause) return *pause;
  // A copy that fails does not hold changes up; where the archive is away, the next link says so.
  Pace& pace = walks_next_ && link_ ? walk_pace_ : pace_;
  if (pause.error().code != Code::kCancelled) fail_at(pace, now, pause.error());
  link_.reset();
  return std::min(pace_.left(now), kShowSeconds);
}

Result<double> Mirror::work(double now) {
  if (!is_armed_) RG_TRY_OK(store_.write(store::arm_mirror_anew));
  is_armed_ = true;
  if (!link_) RG_TRY_OK(connect());
  // The first node decides what the data is: the archive has to know before a standby does.
  if (!is_kind_known_) {
    const auto kind = RG_TRY(store_.read(store::read_data_kind));
    is_kind_known_ = kind != store::DataKind::kNone;
    if (kind == store::DataKind::kSynthetic && !is_claimed_synthetic_) RG_TRY_OK(connect());
  }
  const bool more = RG_TRY(send_next(now));
  if (now >= next_drop_ || next_drop_ - now > kDropSeconds) {
    next_drop_ = now + kDropSeconds;
    // A reader that holds the table delays the drop, and no data.
    if (const Status made = link_->make_months_ahead(now); !made)
      spdlog::warn("mirror: the next month's table is not made: {}", made.error().message);
    const Result<int> months = link_->drop_old_months(now);
    if (const Status dropped = link_->drop_old_content(now); !dropped)
      spdlog::warn("mirror: old matrices are not dropped: {}", dropped.error().message);
    if (!months)
      spdlog::warn("mirror: old months are not dropped: {}", months.error().message);
    else if (*months > 0)
      spdlog::info("mirror: {} months of points dropped in the archive", *months);
  }
  drop_changes(now);
  if (more) return 0;
  if (link_->place().walks.empty()) return options_.poll_seconds;
  return std::min(options_.poll_seconds, walk_pace_.left(now));
}

void Mirror::drop_changes(double now) {
  if (now < next_change_drop_ && next_change_drop_ - now <= kDropSeconds) return;
  const Result<bool> more = link_->drop_old_changes();
  if (!more) spdlog::warn("mirror: old changes are not dropped: {}", more.error().message);
  next_change_drop_ = now + (more && *more ? kChangeDropSeconds : kDropSeconds);
}

// Changes and the first copy take turns, so that neither waits for the other's end. Only the one
// that failed can say that it works again.
Result<bool> Mirror::send_next(double now) {
  walks_next_ = !walks_next_ && walk_pace_.is_due(now);
  if (walks_next_) {
    const bool more = RG_TRY(send_walk(now));
    walk_pace_.worked();
    if (more) return true;
    walks_next_ = false;
  }
  const bool more = RG_TRY(send_changes(now));
  pace_.worked();
  if (!walk_pace_.is_failing()) note_works();
  return more;
}

void Mirror::note_works() {
  if (!std::exchange(is_told_, false)) return;
  note_("mirror_works", fmt::format("the archive of site {} takes data again", options_.site));
  spdlog::info("mirror: the archive takes data again");
}

// The claim has the state of one snapshot each; a start that is under way changes none of them.
Status Mirror::connect() {
  const store::MirrorState state = RG_TRY(store_.read(store::read_mirror_state));
  const auto kind = RG_TRY(store_.read(store::read_data_kind));
  auto starts = RG_TRY(store_.read(store::read_mirror_starts));
  link_ = RG_TRY(SiteLink::open(
      {.url = options_.url,
       .application = options_.lease > 0 ? session_name(options_.site, options_.lease)
                                         : "railgauge-controller " + options_.site,
       .answer_seconds = options_.answer_seconds,
       .is_over = is_over_},
      {.name = options_.site,
       .store_id = state.store_id,
       .arming = state.arming,
       .oldest = state.oldest,
       .newest = state.newest,
       .start = state.start,
       .starts = std::move(starts),
       .generation = generation_,
       .is_synthetic = kind == store::DataKind::kSynthetic,
       .keep_days = options_.keep_days,
       .lease = options_.lease}));
  generation_ = link_->generation();
  even_sent_ = 0;
  is_claimed_synthetic_ = kind == store::DataKind::kSynthetic;
  // The numbers of the outbox began anew.
  if (arming_ != state.arming && arming_ > 0)
    for (ArchiveGate* gate : options_.gates) gate->forget();
  if (arming_ != state.arming) lag_.emplace(state.even_at);
  arming_ = state.arming;
  spdlog::info("mirror: writes to the archive as site {}; {} rows wait, {} tables are to be copied",
               options_.site,
               std::max<std::int64_t>(0, state.newest - link_->place().outbox_through),
               link_->place().walks.size());
  return {};
}

// True: more waits.
Result<bool> Mirror::send_changes(double now) {
  const std::int64_t after = link_->place().outbox_through;
  const store::MirrorBatch batch = RG_TRY(store_.read(store::read_mirror_batch, after, batch_));
  const store::MirrorState state = RG_TRY(store_.read(store::read_mirror_state));
  const std::int64_t waiting = std::max<std::int64_t>(0, state.newest - batch.through);
  const bool is_even = waiting == 0 && link_->place().walks.empty();
  // The end of a first copy changes nothing here, and the archive has all from then on.
  const bool is_due = is_even && std::abs(now - even_sent_) >= kEvenSeconds;
  if (batch.entries > 0 || is_due) {
    RG_TRY_OK(sized(link_->send(batch, state.newest, is_even ? now : 0, now), waiting > 0));
    if (is_even) even_sent_ = now;
    const std::lock_guard lock(mutex_);
    for (const store::MirrorRows& rows : batch.tables)
      figures_.rows_sent += static_cast<double>(rows.count());
  }
  if (lag_) lag_->note_through(link_->place().outbox_through);
  // While the first copy is under way, rows that were noted before it may still be missing.
  for (ArchiveGate* gate : options_.gates) {
    if (!link_->place().walks.empty()) break;
    gate->passed(link_->place().outbox_through);
    if (is_even) gate->caught_up();
  }
  trim(state, now, is_even ? now : 0);
  // A few rows that came meanwhile wait for the next look: each batch is a flush of the archive's
  // disk, which may be the store's too.
  return batch.entries >= batch_.entries ? waiting > 0 : waiting > kManyRows;
}

// True: the table has more, or another one is to be copied.
Result<bool> Mirror::send_walk(double now) {
  const auto& walks = link_->place().walks;
  // In the order of the list: what others refer to comes first, points last but for small tables.
  const auto tables = store::mirror_tables();
  const auto next = std::ranges::find_if(
      tables, [&](const store::MirrorTable& table) { return walks.contains(table.name); });
  if (next == tables.end()) return false;
  const auto number = static_cast<std::size_t>(next - tables.begin());
  const store::MirrorBatch batch =
      RG_TRY(store_.read(store::walk_mirror_table, number, walks.find(next->name)->second, batch_));
  const store::MirrorState state = RG_TRY(store_.read(store::read_mirror_state));
  const bool is_last = batch.entries == 0;
  RG_TRY_OK(sized(link_->send_walk(number, batch, state.newest, is_last, now), !is_last));
  const std::lock_guard lock(mutex_);
  for (const store::MirrorRows& rows : batch.tables)
    figures_.rows_sent += static_cast<double>(rows.count());
  return !link_->place().walks.empty();
}

// A batch that takes too long is sent again as smaller ones. A server that was too slow once may be
// so again: batches grow slowly.
Status Mirror::sized(Status sent, bool is_full) {
  constexpr std::size_t kLeastEntries = 16;
  constexpr std::size_t kLeastBytes = 64U << 10U;
  constexpr int kFullBatches = 32;
  if (!sent) {
    full_batches_ = 0;
    if (sent.error().code != Code::kDeadlineExceeded) return sent;
    batch_.entries = std::max(kLeastEntries, batch_.entries / 2);
    batch_.bytes = std::max(kLeastBytes, batch_.bytes / 2);
    return sent;
  }
  if (!is_full || ++full_batches_ < kFullBatches) return sent;
  full_batches_ = 0;
  batch_.entries = std::min(options_.batch.entries, batch_.entries * 2);
  batch_.bytes = std::min(options_.batch.bytes, batch_.bytes * 2);
  return sent;
}

// An archive that has all, and a store that rests, cost a write a minute.
void Mirror::trim(const store::MirrorState& state, double now, double even_at) {
  const bool is_late = even_at > 0 && std::abs(even_at - state.even_at) >= kEvenSeconds;
  if (link_->place().outbox_through <= state.oldest && !is_late) return;
  if (now < next_trim_ && next_trim_ - now <= options_.trim_seconds) return;
  next_trim_ = now + options_.trim_seconds;
  // A delete that fails now, as on a full disk, is done later.
  static_cast<void>(
      store_.write(store::trim_mirror, link_->place().outbox_through, kTrimRows, even_at));
}

// One event for a row of failures, a line a minute, and the count of all.
void Mirror::fail_at(Pace& pace, double now, const Error& error) {
  pace.failed(now);
  {
    const std::lock_guard lock(mutex_);
    ++figures_.failures;
  }
  if (pace.may_log(now))
    spdlog::warn("mirror: {}; the outbox keeps what is new, and it is sent later", error.message);
  if (is_told_) return;
  is_told_ = true;
  note_("mirror_behind",
        fmt::format("the archive of site {} takes no data: {}", options_.site, error.message));
}

// The lag counts from the look before the one that saw a row: it never understates.
void Mirror::show(const store::MirrorState& state, double now) {
  if (!lag_) lag_.emplace(state.even_at);
  lag_->note(state.newest, now);
  const std::lock_guard lock(mutex_);
  figures_.is_connected = link_ != nullptr;
  figures_.batch_entries = static_cast<double>(batch_.entries);
  figures_.lag_seconds = lag_->lag(now);
  if (options_.shown_lag != nullptr) *options_.shown_lag = figures_.lag_seconds;
  // Rows behind the mark are not deleted at once: they do not wait.
  const std::int64_t through = link_ ? link_->place().outbox_through : state.oldest;
  figures_.waiting_rows = static_cast<double>(std::max<std::int64_t>(0, state.newest - through));
  if (link_) figures_.tables_left = static_cast<double>(link_->place().walks.size());
}

MirrorFigures Mirror::figures() const {
  const std::lock_guard lock(mutex_);
  return figures_;
}

// --- the thread --------------------------------------------------------------------------------

MirrorThread::MirrorThread(MirrorOptions options, store::Store& store, metric::Registry& series,
                           Note note)
    : series_(series),
      mirror_(std::move(options), store, std::move(note), [this] { return ending_.load(); }),
      thread_([this] { work(); }) {}

MirrorThread::~MirrorThread() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

// A step waits at most as long as one answer may take; the end of the program ends it at once.
void MirrorThread::work() {
  while (!ending_) {
    const double pause = mirror_.step(wall_seconds());
    show();
    if (pause <= 0) continue;
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::duration<double>(pause),
                      [this] { return ending_.load(); });
  }
}

void MirrorThread::show() {
  const MirrorFigures figures = mirror_.figures();
  series_.set("railgauge_mirror_connected", {}, figures.is_connected ? 1 : 0);
  series_.set("railgauge_mirror_lag_seconds", {}, figures.lag_seconds);
  series_.set("railgauge_mirror_waiting_rows", {}, figures.waiting_rows);
  series_.set("railgauge_mirror_tables_left", {}, figures.tables_left);
  series_.raise_to("railgauge_mirror_rows_total", {}, figures.rows_sent);
  series_.raise_to("railgauge_mirror_failures_total", {}, figures.failures);
}

}  // namespace railgauge::mirror
