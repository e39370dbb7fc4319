#include "controller/schedule/schedule_service.h"

#include <algorithm>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/api/contract.h"
#include "controller/control/run_tasks.h"
#include "controller/plan/suite/suite.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

constexpr double kLookBackSeconds = 7 * 24 * 3600.0;  // for interrupted runs
constexpr std::uint32_t kNewestRuns = 500;            // that a person may have started meanwhile

void to_api(const store::DueRow& due, api::ScheduleDue& message) {
  message.set_due_at(rfc3339(due.due_at));
  message.set_result(std::string(text_of(due.result)));
  if (!due.run_id.empty()) message.set_run_id(due.run_id);
  if (!due.reason.empty()) message.set_reason(due.reason);
}

// The schedule as a person wrote it.
run::ScheduleText schedule_text_of(const store::ScheduleRow& row) {
  return {.name = row.name,
          .cron = row.cron,
          .zone = row.zone,
          .jitter_seconds = row.jitter_seconds,
          .windows = row.windows,
          .blackouts = row.blackouts,
          .concurrency = row.concurrency,
          .catch_up_seconds = row.catch_up_seconds};
}

// A schedule whose text does not compile any more is "broken", with the error.
api::ScheduleInfo to_api(const store::ScheduleRow& row, double now) {
  auto info = new_document<api::ScheduleInfo>();
  info.set_name(row.name);
  info.set_suite(row.suite);
  info.set_state(row.paused ? "paused" : "active");
  info.set_cron(row.cron);
  info.set_zone(row.zone);
  info.set_missed(row.missed);
  info.set_node_set(row.node_set);
  info.set_jitter_seconds(row.jitter_seconds);
  info.set_windows(row.windows);
  info.set_blackouts(row.blackouts);
  info.set_concurrency(row.concurrency);
  info.set_catch_up_seconds(row.catch_up_seconds);
  info.set_exclusive(row.exclusive);
  info.set_created_by(row.created_by);
  if (row.last) to_api(*row.last, *info.mutable_last());
  const auto schedule = run::compile(schedule_text_of(row));
  if (!schedule) {
    info.set_state("broken");
    info.set_error(schedule.error().message);
  } else if (!row.paused) {
    if (const auto next = run::next_start(*schedule, std::max(row.decided_until, now)))
      info.set_next_at(rfc3339(next->start_at));
  }
  return info;
}

Error as_wrong_use(Error error) {
  if (error.code == Code::kNotFound || error.code == Code::kAlreadyExists)
    error.code = Code::kInvalidArgument;
  return error;
}

// The start of a due time's reason: the note of its first start, if any.
std::string note_prefix(const std::string& note) { return note.empty() ? "" : note + "; "; }

// Absent nodes are left out: a schedule measures the nodes that are there.
Result<api::RunSummary> start(Control& control, const store::ScheduleRow& row,
                              const std::string& who, store::ScheduleClaim claim) {
  api::RunRequest request;
  request.mutable_suite()->set_name(row.suite);
  request.set_node_set(row.node_set);
  request.set_exclusive(row.exclusive);
  request.set_skip_absent(true);
  request.set_trigger("schedule");
  claim.number = row.started;
  return control.start_run(request, who, std::move(claim));
}

// A due time that counts as missed is also an event.
void report(store::Store& store, const store::ScheduleRow& row, const run::Decision& decision) {
  const bool missed = decision.kind == run::Decision::Kind::kMiss;
  const std::string text = fmt::format("schedule {}: due at {}: {}", row.name,
                                       rfc3339(decision.due_at), decision.reason);
  if (!missed) return spdlog::info("{}", text);
  spdlog::warn("{}", text);
  static_cast<void>(
      store.add_event({.at = fleet::unix_seconds(), .kind = "schedule_missed", .text = text}));
}

// Why the run is not to be resumed; "": it is.
Result<std::string> reason_not_to_resume(Control& control, store::Store& store,
                                         const store::ScheduleRow& row,
                                         const store::BrokenOffRow& broken,
                                         std::size_t resumed_runs, double now) {
  const bool by_hand = broken.due.result == store::DueResult::kByHand;
  if (row.paused && !by_hand) return "the schedule is paused";
  const auto schedule = run::compile(schedule_text_of(row));
  if (!schedule) return schedule.error().message;
  std::string why = run::reason_not_to_resume(*schedule, broken.due.due_at, now, by_hand);
  if (!why.empty()) return why;
  if (resumed_runs >= ScheduleService::kMaxResumedRuns)
    return fmt::format("it was resumed {} times already", ScheduleService::kMaxResumedRuns);
  const bool by_hand_since = row.last && row.last->due_at > broken.due.due_at &&
                             row.last->result == store::DueResult::kByHand;
  if (by_hand_since && schedule->concurrency != run::Concurrency::kQueue)
    return fmt::format("run {} was started by hand meanwhile", row.last->run_id);
  const auto suite = control.suite_text(row.suite);
  if (!suite) return suite.error().message;
  if (!plan::is_same_suite(RG_TRY(store.read(store::read_suite_text, broken.due.run_id)), *suite))
    return fmt::format("suite {} has changed meanwhile", row.suite);
  return "";
}

// The number of runs between this run and the one that was planned as a whole, at most
// kMaxResumedRuns.
Result<std::size_t> count_resumed_runs(store::Store& store, std::string run_id) {
  std::size_t resumed_runs = 0;
  for (; resumed_runs < ScheduleService::kMaxResumedRuns; ++resumed_runs) {
    run_id = RG_TRY(store.run_summary(run_id)).run.parent_run_id;
    if (run_id.empty()) break;
  }
  return resumed_runs;
}

// Reports whether a person resumed the run already.
Result<bool> is_resumed(store::Store& store, const std::string& run_id) {
  const auto runs = RG_TRY(store.list_runs(kNewestRuns));
  return std::ranges::any_of(
      runs, [&](const store::RunSummaryRow& row) { return row.run.parent_run_id == run_id; });
}

// The new run takes the due time over, with a note on the interruption.
Status start_resumed_run(Control& control, store::Store& store, const store::ScheduleRow& row,
                         const store::BrokenOffRow& broken, std::size_t resumed_runs) {
  api::RunRequest request;
  request.set_resume_run_id(broken.due.run_id);
  request.set_exclusive(row.exclusive);
  request.set_trigger("schedule");
  store::ScheduleClaim claim{.schedule = row.name,
                             .due_at = broken.due.due_at,
                             .by_hand = broken.due.result == store::DueResult::kByHand};
  claim.resumes_run_id = broken.due.run_id;
  claim.note = fmt::format(", which a restart of the controller interrupted ({} of at most {})",
                           resumed_runs + 1, ScheduleService::kMaxResumedRuns);
  claim.reason = fmt::format("{}{}{}", note_prefix(broken.due.note),
                             run::resumed_text(broken.due.run_id), claim.note);
  const auto run = RG_TRY(control.start_run(request, fmt::format("schedule {}", row.name), claim));
  const std::string text = fmt::format("schedule {}: due at {}: run {} is {}", row.name,
                                       rfc3339(broken.due.due_at), run.run_id(), claim.reason);
  spdlog::info("run {}: {}", run.run_id(), text);
  static_cast<void>(store.add_event({.at = fleet::unix_seconds(),
                                     .kind = "schedule_resumed",
                                     .run_id = run.run_id(),
                                     .text = text}));
  return {};
}

// The due time counts as missed, with the reason and the command that resumes the run.
void give_up(store::Store& store, const store::ScheduleRow& row, const store::BrokenOffRow& broken,
             const std::string& why) {
  const std::string& run_id = broken.due.run_id;
  const std::string reason = fmt::format(
      "{}run {} was interrupted by a restart of the controller and is not resumed: {}; "
      "railgauge runs resume {} measures the missing tasks",
      note_prefix(broken.due.note), run_id, why, run_id);
  const Status stored = store.say_of_started(row.name, {.due_at = broken.due.due_at,
                                                        .result = store::DueResult::kMissed,
                                                        .run_id = run_id,
                                                        .reason = reason});
  if (!stored) return spdlog::warn("schedule {}: {}", row.name, stored.error().message);
  report(store, row, {run::Decision::Kind::kMiss, broken.due.due_at, reason});
}

// kInvalidArgument: no such schedule.
Result<store::ScheduleRow> find(store::Store& store, const std::string& name) {
  std::vector<std::string> names;
  for (store::ScheduleRow& row : RG_TRY(store.list_schedules())) {
    if (row.name == name) return std::move(row);
    names.push_back(row.name);
  }
  return fail(Code::kInvalidArgument,
              fmt::format("there is no schedule {}{}", in_quotes(name), did_you_mean(name, names)));
}

Result<api::ScheduleInfo> info(store::Store& store, const std::string& name) {
  return to_api(RG_TRY(find(store, name)), fleet::unix_seconds());
}

}  // namespace

void ScheduleService::tick(double now) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;  // the previous tick is under way
  resume_runs(now);
  const auto rows = store_.list_schedules();
  if (!rows) return spdlog::warn("schedules: {}", rows.error().message);
  std::erase_if(late_starts_, [&](const auto& one) {
    return std::ranges::find(*rows, one.first, &store::ScheduleRow::name) == rows->end();
  });
  for (const store::ScheduleRow& row : *rows)
    if (!row.paused) decide(row, now);
}

std::optional<double> ScheduleService::next_start(double now) const {
  std::optional<double> first;
  const auto rows = store_.list_schedules();
  if (!rows) return first;
  for (const store::ScheduleRow& row : *rows) {
    const auto schedule = run::compile(schedule_text_of(row));
    if (row.paused || !schedule) continue;
    const auto next = run::next_start(*schedule, std::max(row.decided_until, now));
    if (next && (!first || next->start_at < *first)) first = next->start_at;
  }
  return first;
}

// Reports whether the schedule's previous run has not ended.
bool ScheduleService::under_way(const store::ScheduleRow& row) {
  if (!row.last) return false;
  return loop_.call([&] { return director_.summary(row.last->run_id).has_value(); });
}

void ScheduleService::decide(const store::ScheduleRow& row, double now) {
  const auto schedule = run::compile(schedule_text_of(row));
  if (!schedule) return;  // its zone is gone from tzdata; `schedules list` shows it as broken
  const run::ScheduleState idle{.decided_until = row.decided_until};
  if (run::decide(*schedule, idle, now).empty()) return;
  const run::ScheduleState state{.decided_until = row.decided_until,
                                 .run_under_way = under_way(row)};
  for (const run::Decision& decision : run::decide(*schedule, state, now))
    carry_out(row, decision, decision.due_at + run::jitter_of(*schedule, decision.due_at), now);
}

// A start that fails is tried again while it is in time; then the due time counts as missed.
void ScheduleService::carry_out(const store::ScheduleRow& row, const run::Decision& decision,
                                double start_at, double now, std::optional<std::uint64_t> spent) {
  if (decision.kind != run::Decision::Kind::kStart) {
    const bool missed = decision.kind == run::Decision::Kind::kMiss;
    const Status decided = store_.decide_due(
        row.name, {.due_at = decision.due_at,
                   .result = missed ? store::DueResult::kMissed : store::DueResult::kSkipped,
                   .reason = decision.reason,
                   .spent = spent});
    if (!decided) return spdlog::warn("schedule {}: {}", row.name, decided.error().message);
    return report(store_, row, decision);
  }
  const auto started =
      start(control_, row, fmt::format("schedule {}", row.name),
            {.schedule = row.name, .due_at = decision.due_at, .reason = decision.reason});
  if (started)
    record_("start_run", fmt::format("schedule {}: run {}", row.name, started->run_id()), {});
  // Cancel only when the new run waits behind it: if the start fails, the old run continues.
  if (started && decision.replace && row.last) {
    const auto cancelled = control_.cancel_run(
        row.last->run_id, fmt::format("schedule {}, for run {}", row.name, started->run_id()));
    record_("cancel_run", fmt::format("schedule {}: run {}", row.name, row.last->run_id),
            cancelled ? Status() : tl::unexpected(cancelled.error()));
    if (!cancelled) spdlog::warn("schedule {}: {}", row.name, cancelled.error().message);
  }
  if (started || started.error().code == Code::kAlreadyExists) return;
  spdlog::warn("schedule {}: {}", row.name, started.error().message);
  if (may_try_again(row, decision, start_at, now)) return;
  // Skip a slice whose nodes are all absent: waiting for it would block the other slices.
  const bool nobody = started.error().code == Code::kOutOfRange;
  carry_out(row,
            {run::Decision::Kind::kMiss, decision.due_at,
             fmt::format("not started: {}", started.error().message)},
            start_at, now, nobody ? std::optional(row.started) : std::nullopt);
}

// Reports whether the next tick would still be in time for the start.
bool ScheduleService::may_try_again(const store::ScheduleRow& row, const run::Decision& decision,
                                    double start_at, double now) {
  constexpr double kMargin = 2 * kRetrySeconds;
  const bool makes_up = !decision.reason.empty();  // a late start for a missed due time
  if (!makes_up) return now <= start_at + run::kInTimeSeconds - kMargin;
  LateStart& late = late_starts_[row.name];
  if (late.due_at != decision.due_at) late = {.due_at = decision.due_at, .tried_at = now};
  return now <= late.tried_at + run::kInTimeSeconds - kMargin &&
         now <= decision.due_at + row.catch_up_seconds - kMargin;
}

// Resumes runs that the previous controller started for a schedule and left unfinished.

void ScheduleService::resume_runs(double now) {
  if (all_resumed_) return;
  if (first_tick_at_ == 0) first_tick_at_ = now;
  const auto rows = store_.list_schedules();
  const auto all = store_.broken_off(now - kLookBackSeconds);
  if (!rows || !all)
    return spdlog::warn("schedules: {}", (rows ? all.error() : rows.error()).message);
  bool all_resumed = true;
  for (const store::BrokenOffRow& broken : *all) {
    const auto row = std::ranges::find(*rows, broken.schedule, &store::ScheduleRow::name);
    if (row != rows->end() && !resume_run(*row, broken, now)) all_resumed = false;
  }
  all_resumed_ = all_resumed;
}

// False: try again at the next tick.
bool ScheduleService::resume_run(const store::ScheduleRow& row, const store::BrokenOffRow& broken,
                                 double now) {
  const Result<bool> is_done = try_to_resume(row, broken, now);
  if (!is_done)
    spdlog::warn("run {}: schedule {} does not resume it: {}", broken.due.run_id, row.name,
                 is_done.error().message);
  return is_done.value_or(false);
}

// Nobody wants the missing tasks of a cancelled run.
Result<bool> ScheduleService::try_to_resume(const store::ScheduleRow& row,
                                            const store::BrokenOffRow& broken, double now) {
  const std::string& run_id = broken.due.run_id;
  if (!broken.cancelled_by.empty() || RG_TRY(is_resumed(store_, run_id))) return true;
  const std::size_t resumed_runs = RG_TRY(count_resumed_runs(store_, run_id));
  const std::string why =
      RG_TRY(reason_not_to_resume(control_, store_, row, broken, resumed_runs, now));
  if (!why.empty()) {
    give_up(store_, row, broken, why);
    return true;
  }
  if (RG_TRY(waits_for_nodes(run_id, now))) return false;
  const Status started = start_resumed_run(control_, store_, row, broken, resumed_runs);
  if (started)
    record_("start_run", fmt::format("schedule {}: the rest of {}", row.name, run_id), {});
  if (started || started.error().code == Code::kAlreadyExists) return true;
  const bool may_pass = started.error().code == Code::kUnavailable ||
                        started.error().code == Code::kResourceExhausted;
  if (may_pass && now <= first_tick_at_ + run::kInTimeSeconds)
    return tl::unexpected(started.error());
  give_up(store_, row, broken, started.error().message);
  return true;
}

// Reports whether to wait for nodes that are not back yet: the tasks of an absent node would be
// waived.
Result<bool> ScheduleService::waits_for_nodes(const std::string& run_id, double now) {
  if (now > first_tick_at_ + run::kInTimeSeconds - 2 * kRetrySeconds) return false;
  std::vector<std::string> nodes = RG_TRY(store_.run_summary(run_id)).run.nodes;
  const api::NodeList known = RG_TRY(control_.list_nodes({}));
  for (const api::NodeInfo& node : known.nodes())
    if (node.state() == text_of(api::NodePresence::kAttached)) std::erase(nodes, node.name());
  return !nodes.empty();
}

// Calls of people.

Result<api::ScheduleList> ScheduleService::list(const std::string& name) {
  auto list = new_document<api::ScheduleList>();
  if (!name.empty()) {
    api::ScheduleInfo& one = *list.add_schedules();
    one = RG_TRY(info(store_, name));
    for (const store::DueRow& due : RG_TRY(store_.list_dues(name, kShownDues)))
      to_api(due, *one.add_dues());
    return list;
  }
  const double now = fleet::unix_seconds();
  for (const store::ScheduleRow& row : RG_TRY(store_.list_schedules()))
    *list.add_schedules() = to_api(row, now);
  return list;
}

Result<api::ScheduleInfo> ScheduleService::add(const api::ScheduleSpec& spec,
                                               const std::string& who) {
  const double now = fleet::unix_seconds();
  store::ScheduleRow row{.name = spec.name(),
                         .suite = spec.suite(),
                         .node_set = spec.node_set(),
                         .exclusive = spec.exclusive(),
                         .cron = spec.cron(),
                         .zone = spec.zone().empty() ? "UTC" : spec.zone(),
                         .jitter_seconds = spec.jitter_seconds(),
                         .windows = spec.windows(),
                         .blackouts = spec.blackouts(),
                         .concurrency = spec.concurrency().empty() ? "skip" : spec.concurrency(),
                         .catch_up_seconds = spec.catch_up_seconds(),
                         .paused = spec.paused(),
                         .created_at = now,
                         .created_by = who,
                         .decided_until = now};
  if (const auto sound = run::compile(schedule_text_of(row)); !sound)
    return tl::unexpected(sound.error());
  api::SuiteSource source;
  source.set_name(row.suite);
  if (const auto known = control_.check_suite(source); !known)
    return tl::unexpected(as_wrong_use(known.error()));
  if (RG_TRY(store_.list_schedules()).size() >= kMaxSchedules)
    return fail(
        Code::kResourceExhausted,
        fmt::format("there are {} schedules already, as many as there may be", kMaxSchedules));
  if (const Status added = store_.add_schedule(row); !added)
    return tl::unexpected(as_wrong_use(added.error()));
  return info(store_, row.name);
}

Result<api::ScheduleInfo> ScheduleService::set_paused(const std::string& name, bool paused) {
  RG_TRY_OK(find(store_, name));
  RG_TRY_OK(store_.set_schedule_paused(name, paused));
  return info(store_, name);
}

Result<api::ScheduleInfo> ScheduleService::remove(const std::string& name) {
  api::ScheduleInfo before = RG_TRY(info(store_, name));
  RG_TRY_OK(store_.remove_schedule(name));
  return before;
}

Result<api::RunSummary> ScheduleService::run_now(const std::string& name, const std::string& who) {
  const store::ScheduleRow row = RG_TRY(find(store_, name));
  return start(control_, row, who,
               {.schedule = name,
                .due_at = fleet::unix_seconds(),
                .reason = fmt::format("by hand, {}", who),
                .by_hand = true});
}

}  // namespace railgauge
