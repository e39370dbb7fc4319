#include "controller/store/ingest/record_sink.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/store/rows/text_json.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/text.h"

namespace railgauge::store {

namespace {

constexpr std::int64_t kRowBytes = 200;  // beside the body: keys, twice, and the reason

std::int64_t bytes_of(const std::string& body) {
  return static_cast<std::int64_t>(body.size()) + kRowBytes;
}

}  // namespace

Result<OrphanTotals> count_orphans(Connection& connection) {
  OrphanTotals totals;
  Rows rows = RG_TRY(connection.query(
      "SELECT node_id, count(*), sum(length(body) + ?1) FROM orphan_record GROUP BY node_id",
      kRowBytes));
  while (RG_TRY(rows.next())) {
    totals.node_bytes[rows.text(0)] = rows.integer(2);
    totals.records += rows.integer(1);
    totals.bytes += rows.integer(2);
  }
  return totals;
}

Result<bool> Orphans::put(std::string_view node_id, const Record& record, std::string_view reason,
                          double now) {
  if (!counted_) {
    OrphanTotals totals = RG_TRY(count_orphans(connection_));
    bytes_ = totals.bytes;
    records_ = totals.records;
    node_bytes_ = std::move(totals.node_bytes);
    counted_ = true;
  }
  const RecordKey& key = record.key();
  const std::string body = record.SerializeAsString();
  std::int64_t& of_node = node_bytes_[std::string(node_id)];
  if (of_node + bytes_of(body) > bounds_.node_bytes) {
    ++dropped_;
    return true;
  }
  RG_TRY_OK(connection_.execute(
      "INSERT INTO orphan_record (at, node_id, run_id, task_id, attempt, rank, sequence, reason, "
      "body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING",
      now, node_id, key.run_id(), key.task_id(), key.attempt(), key.rank(), key.sequence(), reason,
      Blob{body}));
  if (connection_.changes() == 0) return false;
  ++records_;
  bytes_ += bytes_of(body);
  of_node += bytes_of(body);
  if (bytes_ > bounds_.bytes) RG_TRY_OK(drop_oldest(now));
  return true;
}

// Some more than needed, so that it does not come with each record.
Status Orphans::drop_oldest(double now) {
  const std::int64_t goal = bounds_.bytes - bounds_.bytes / 50;
  std::int64_t left = bytes_;
  std::int64_t through = 0;
  {
    Rows rows = RG_TRY(connection_.query(
        "SELECT id, length(body) + ?1 FROM orphan_record ORDER BY id", kRowBytes));
    while (left > goal && RG_TRY(rows.next())) {
      through = rows.integer(0);
      left -= rows.integer(1);
    }
  }
  RG_TRY_OK(connection_.execute("DELETE FROM orphan_record WHERE id<=?1", through));
  const std::int64_t dropped = connection_.changes();
  bytes_ = left;
  records_ -= dropped;
  dropped_ += dropped;
  counted_ = false;  // by node
  const std::string text = fmt::format(
      "{} records that fit no known run were dropped, the oldest of more than {:.1f} MB", dropped,
      static_cast<double>(bounds_.bytes) / 1e6);
  spdlog::warn("store {}: {}", connection_.path(), text);
  return insert_event(connection_, {.at = now, .kind = "orphans_dropped", .text = text});
}

Result<std::vector<Orphans::Entry>> Orphans::of_attempt(const AttemptKey& attempt,
                                                        const Entry* after, std::uint32_t limit) {
  static const Entry kFirst;
  const Entry& from = after == nullptr ? kFirst : *after;
  Rows rows = RG_TRY(connection_.query(
      "SELECT id, node_id, body, rank, sequence FROM orphan_record WHERE run_id=?1 AND task_id=?2 "
      "AND attempt=?3 AND (?8 OR (rank, sequence, node_id) > (?4, ?5, ?6)) "
      "ORDER BY rank, sequence, node_id LIMIT ?7",
      attempt.run_id, attempt.task_id, attempt.attempt, from.record.key().rank(),
      from.record.key().sequence(), from.node_id, limit, after == nullptr ? 1 : 0));
  std::vector<Entry> found;
  while (RG_TRY(rows.next())) {
    Entry& entry = found.emplace_back();
    entry.id = rows.integer(0);
    entry.node_id = rows.text(1);
    // An earlier Railgauge kept none of a long one: its key alone is no sound record, so it stays.
    if (!entry.record.ParseFromString(rows.blob(2))) entry.record.Clear();
    RecordKey& own = *entry.record.mutable_key();
    own.set_run_id(std::string(attempt.run_id));
    own.set_task_id(std::string(attempt.task_id));
    own.set_attempt(attempt.attempt);
    own.set_rank(rows.small(3));
    own.set_sequence(rows.small(4));
  }
  return found;
}

Status Orphans::remove(std::int64_t id) {
  counted_ = false;  // how long it was is not known here
  RG_TRY_OK(connection_.execute("DELETE FROM orphan_record WHERE id=?1", id));
  records_ -= connection_.changes();
  return {};
}

namespace {

constexpr std::size_t kMaxCachedRanks = 4'096;
constexpr std::size_t kMaxEventTextBytes = 1'024;  // an event is one line
constexpr std::int64_t kEventSlack = 1'000;        // that many inserts apart they are counted
// Events that come with every restart. All others (changes, interruptions) stay until they are too
// old.
constexpr std::string_view kPassingEvents =
    "'node_attached', 'node_resumed', 'node_lost', 'node_refused', 'record_refused', "
    "'orphans_dropped', 'node_changes_left_out'";

template <class Map>
TextMap text_map(const Map& map) {
  return {map.begin(), map.end()};
}

std::string key_text(const RecordKey& key) {
  return fmt::format("{}/{}#{}.{}", key.run_id(), key.task_id(), key.attempt(), key.rank());
}

// A point whose time is not known is none.
bool is_brief(const Point& point) {
  return point.has_rate() && point.measure_ns() > 0 && point.measure_ns() < kLeastJudgedNs;
}

std::int64_t flags_of(const Point& point) {
  return (point.converged() ? kFlagConverged : 0) | (point.synthetic() ? kFlagSynthetic : 0) |
         (point.verified() ? kFlagVerified : 0) | (point.throttled() ? kFlagThrottled : 0) |
         (is_brief(point) ? kFlagBrief : 0);
}

template <class Message, class Value>
std::optional<Value> present(const Message& message, bool (Message::*has)() const,
                             Value (Message::*get)() const) {
  return (message.*has)() ? std::optional<Value>((message.*get)()) : std::nullopt;
}

// For an attempt whose ranks have all ended: the outcome that explains the others. Ranks are
// cancelled because another one failed, crashed or could not run, so these come first.
std::string_view worst_of(std::span<const std::string> outcomes) {
  constexpr std::array kOrder{kFailed, kCrashed, kTimedOut, kWaived, kCancelledOutcome, kPassed};
  for (const std::string_view outcome : kOrder)
    if (std::ranges::find(outcomes, outcome) != outcomes.end()) return outcome;
  return "";
}

}  // namespace

Status insert_event(Connection& connection, const EventRow& event) {
  std::string text(beginning_of(event.text, kMaxEventTextBytes));
  if (const std::size_t rest = event.text.size() - text.size(); rest > 0)
    text += fmt::format("... ({} bytes more)", rest);
  RG_TRY_OK(connection.execute(
      "INSERT INTO event (at, kind, node_id, run_id, text) VALUES (?1, ?2, ?3, ?4, ?5)", event.at,
      event.kind, event.node_id, event.run_id, text));
  if (connection.last_id() % kEventSlack != 0) return {};
  return connection.execute(
      fmt::format("DELETE FROM event WHERE kind IN ({0}) AND id<=(SELECT id FROM event WHERE kind "
                  "IN ({0}) ORDER BY id DESC LIMIT 1 OFFSET {1})",
                  kPassingEvents, kMaxEvents));
}

std::map<std::string, double> RecordSink::refused() const {
  std::map<std::string, double> counts;
  for (std::size_t i = 0; i < refused_.size(); ++i)
    counts[std::string(kRefusedForWords.at(i))] = static_cast<double>(refused_.at(i).load());
  return counts;
}

Result<NotNew> RecordSink::store(std::string_view node_id, std::span<const ReadyRecord> records,
                                 const Arrival& arrival) {
  NotNew left;
  new_points_.begin();
  std::size_t fresh = 0;
  std::string first_reason;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const ReadyRecord& ready = records[i];
    const Record& record = ready.record;
    Fate fate;
    if (ready.fault)
      fate.refusal = Reason{RefusedFor::kUnsound, *ready.fault};
    else
      fate = RG_TRY(store_one(node_id, ready, arrival));
    if (fate.is_repeat) left.repeats.push_back(i);
    if (!fate.refusal) continue;
    left.refused.push_back(i);
    if (!RG_TRY(orphans_.put(node_id, record, fate.refusal->text, arrival.now))) continue;
    ++refused_.at(static_cast<std::size_t>(fate.refusal->kind));
    if (fresh++ == 0)
      first_reason = fmt::format("{} sequence {}: {}", key_text(record.key()),
                                 record.key().sequence(), fate.refusal->text);
  }
  RG_TRY_OK(new_points_.write(connection_));
  if (fresh == 0) return left;
  RG_TRY_OK(
      report(node_id, records.front().record.key().run_id(),
             fmt::format("{} of {} records put aside; {}", fresh, records.size(), first_reason),
             arrival.now));
  return left;
}

// Stores an event, at most kEventsAMinute for a node; then one with their number.
Status RecordSink::report(std::string_view node_id, const std::string& run_id,
                          std::string_view text, double now) {
  const auto put = [&](std::string_view node, std::string_view run, std::string_view words) {
    return insert_event(connection_, {.at = now,
                                      .kind = "record_refused",
                                      .node_id = std::string(node),
                                      .run_id = printable(beginning_of(run, kMaxEventTextBytes)),
                                      .text = printable(beginning_of(words, kMaxEventTextBytes))});
  };
  for (const auto& [node, count] : events_.end_minutes(now))
    RG_TRY_OK(put(node, "",
                  fmt::format("{} more deliveries with records put aside within a minute", count)));
  if (!events_.take(node_id, now)) return {};
  return put(node_id, run_id, text);
}

Result<RecordSink::Fate> RecordSink::store_one(std::string_view node_id, const ReadyRecord& ready,
                                               const Arrival& arrival) {
  Rank* rank = nullptr;
  if (auto refusal = RG_TRY(find_rank(node_id, ready.record.key(), arrival.now, rank)))
    return Fate{.refusal = std::move(refusal)};
  if (RG_TRY(is_stored(*rank, ready.record))) return Fate{.is_repeat = true};
  return Fate{.refusal = RG_TRY(store_new(node_id, *rank, ready, arrival))};
}

Result<RecordSink::Refusal> RecordSink::store_new(std::string_view node_id, Rank& rank,
                                                  const ReadyRecord& ready,
                                                  const Arrival& arrival) {
  const Record& record = ready.record;
  if (rank.ended) return Refusal({RefusedFor::kEnded, "its rank has ended already"});
  const Time time = time_of(rank, record, arrival);
  switch (record.body_case()) {
    case Record::kStarted:
      return store_started(rank, record, arrival);
    case Record::kPoint:
      if (auto refusal = RG_TRY(admit(node_id, rank, ready, arrival.now))) return refusal;
      return store_point(rank, ready, time);
    case Record::kNote:
      if (auto refusal = RG_TRY(admit(node_id, rank, ready, arrival.now))) return refusal;
      RG_TRY_OK(store_note(rank, record));
      return Refusal();
    default:
      RG_TRY_OK(store_final(rank, record, time));
      return Refusal();
  }
}

// A repeated delivery, which changes nothing whatever it holds. Records come in sequence, so nearly
// all are above the last one and need no look.
Result<bool> RecordSink::is_stored(const Rank& rank, const Record& record) {
  const std::uint32_t sequence = record.key().sequence();
  switch (record.body_case()) {
    case Record::kStarted:
      return rank.revision.has_value();
    case Record::kPoint:
      if (sequence > rank.last_sequence) return false;
      return RG_TRY(connection_.integer("SELECT 1 FROM point WHERE id=?1",
                                        point_id(rank.id, sequence)))
          .has_value();
    case Record::kNote:
      if (sequence > rank.last_sequence) return false;
      return RG_TRY(connection_.integer("SELECT 1 FROM note WHERE rank=?1 AND sequence=?2", rank.id,
                                        sequence))
          .has_value();
    default:
      return rank.ended;
  }
}

// A time before the attempt was dispatched, or after the arrival, shows a clock that is off.
RecordSink::Time RecordSink::time_of(const Rank& rank, const Record& record,
                                     const Arrival& arrival) {
  const double at = record.unix_time_seconds();
  if (!arrival.timing.is_checked) return {.at = at};
  const bool is_off = arrival.timing.clock_is_off || at > arrival.now + kMaxClockSkewSeconds ||
                      (rank.dispatched_at && at < *rank.dispatched_at - kMaxClockSkewSeconds);
  return is_off ? Time{.at = arrival.now, .is_arrival = true} : Time{.at = at};
}

namespace {

constexpr std::int64_t kPointBytes = 300;  // of its rows beside what varies
constexpr std::int64_t kNoteBytes = 50;

std::int64_t cost_of(const ReadyRecord& ready) {
  const auto size = [](const auto& part) { return static_cast<std::int64_t>(part.size()); };
  if (ready.record.has_note())
    return kNoteBytes + size(ready.record.note().severity()) + size(ready.record.note().text());
  return kPointBytes + size(ready.point_facts) + (ready.histogram ? size(*ready.histogram) : 0) +
         (ready.samples ? size(*ready.samples) : 0);
}

}  // namespace

// Takes a new point or note into the rank's account, unless it is beyond what the rank may report.
Result<RecordSink::Refusal> RecordSink::admit(std::string_view node_id, Rank& rank,
                                              const ReadyRecord& ready, double now) {
  const Record& record = ready.record;
  if (record.has_point() && !rank.revision)
    return Refusal({RefusedFor::kOrder, "a point came before the record of its start"});
  if (record.has_point() && rank.metrics &&
      !std::ranges::binary_search(*rank.metrics, record.point().metric()))
    return Refusal({RefusedFor::kMetric, fmt::format("kernel {} declares no metric {}", rank.kernel,
                                                     in_quotes(record.point().metric()))});
  const std::int64_t bytes = rank.bytes + cost_of(ready);
  if (bytes > kMaxRankBytes)
    return Refusal(
        {RefusedFor::kBounds, fmt::format("its rank has reported {} MiB, which is all that one may",
                                          kMaxRankBytes >> 20)});
  if (record.has_point() && !RG_TRY(series_of(rank, record.point())))
    return Refusal({RefusedFor::kBounds, fmt::format("its rank has {} series, which is all that "
                                                     "one may have",
                                                     kMaxRankSeries)});
  if (auto refusal = RG_TRY(admit_to_run(node_id, rank, ready, now))) return refusal;
  rank.bytes = bytes;
  rank.last_sequence =
      std::max(rank.last_sequence, static_cast<std::int64_t>(record.key().sequence()));
  return Refusal();
}

// Takes the record into its node's account of the run. One event says that the account is full.
Result<RecordSink::Refusal> RecordSink::admit_to_run(std::string_view node_id, Rank& rank,
                                                     const ReadyRecord& ready, double now) {
  const auto answer = accounts_.take(rank.run, rank.node, cost_of(ready));
  if (answer == RunAccounts::Answer::kTaken) return Refusal();
  const std::string text = "its node has stored as much in this run as one may";
  const std::string run_id = ready.record.key().run_id();
  if (answer == RunAccounts::Answer::kRefusedFirst)
    RG_TRY_OK(insert_event(
        connection_, {.at = now,
                      .kind = "record_refused",
                      .node_id = std::string(node_id),
                      .run_id = run_id,
                      .text = fmt::format("run {}: {}; its further points and notes are put aside",
                                          run_id, text)}));
  return Refusal({RefusedFor::kBounds, text});
}

// The series of a point; absent for one series more than a rank may have.
Result<std::optional<std::int64_t>> RecordSink::series_of(Rank& rank, const Point& point) {
  const SeriesKey key{.group = rank.series_group,
                      .kernel = rank.kernel,
                      .revision = *rank.revision,
                      .rank = rank.number,
                      .parameters = rank.parameters,
                      .endpoints = rank.endpoints};
  const bool is_full = rank.series.size() >= kMaxRankSeries;
  const auto id = is_full ? RG_TRY(interner_.find_series(key, point))
                          : std::optional(RG_TRY(interner_.series(key, point)));
  if (!id) return id;
  const auto place = std::ranges::lower_bound(rank.series, *id);
  if (place != rank.series.end() && *place == *id) return id;
  if (is_full) return std::nullopt;
  rank.series.insert(place, *id);
  return id;
}

// --- where a record belongs --------------------------------------------------------------------

Result<RecordSink::Refusal> RecordSink::find_rank(std::string_view node_id, const RecordKey& key,
                                                  double now, Rank*& found) {
  // Records of one rank come one after the other.
  if (last_.rank != nullptr && last_.rank->attempt_number == key.attempt() &&
      last_.rank->number == key.rank() && last_.task_id == key.task_id() &&
      last_.run_id == key.run_id() && last_.node_id == node_id) {
    found = last_.rank;
    return Refusal();
  }
  if (auto refusal = RG_TRY(find_other_rank(node_id, key, now, found))) return refusal;
  last_ = {std::string(node_id), key.run_id(), key.task_id(), found};
  return Refusal();
}

Result<RecordSink::Refusal> RecordSink::find_other_rank(std::string_view node_id,
                                                        const RecordKey& key, double now,
                                                        Rank*& found) {
  std::string text = fmt::format("{} {}", node_id, key_text(key));
  if (const auto cached = ranks_.find(text); cached != ranks_.end()) {
    found = &cached->second;
    return Refusal();
  }
  Rank rank;
  if (auto refusal = RG_TRY(load_rank(node_id, key, now, rank))) return refusal;
  if (ranks_.size() >= kMaxCachedRanks) forget();
  found = &ranks_.emplace(std::move(text), std::move(rank)).first->second;
  return Refusal();
}

Result<RecordSink::Refusal> RecordSink::load_rank(std::string_view node_id, const RecordKey& key,
                                                  double now, Rank& rank) {
  std::string planned_on;
  std::string identity;
  std::optional<std::int64_t> node;
  std::optional<std::int64_t> attempt;
  std::optional<std::int64_t> metrics;
  if (!RG_TRY(connection_.row(std::tie(rank.task, rank.run, rank.kernel, identity, node, planned_on,
                                       attempt, rank.dispatched_at, metrics),
                              "SELECT task.id, run.id, task.kernel, task.identity_parameters, "
                              "task_rank.node, node.node_id, "
                              "attempt.id, dispatched_at, metric_list "
                              "FROM run JOIN task ON task.run=run.id "
                              "LEFT JOIN task_rank ON task_rank.task=task.id AND task_rank.rank=?3 "
                              "LEFT JOIN node ON node.id=task_rank.node "
                              "LEFT JOIN attempt ON attempt.task=task.id AND attempt.attempt=?4 "
                              "WHERE run.run_id=?1 AND task.task_id=?2",
                              key.run_id(), key.task_id(), key.rank(), key.attempt())))
    return Refusal({RefusedFor::kUnknownTask, "no such run or task was planned"});
  if (!node)
    return Refusal({RefusedFor::kForeignRank, fmt::format("the task has no rank {}", key.rank())});
  if (planned_on != node_id)
    return Refusal(
        {RefusedFor::kForeignRank,
         fmt::format("rank {} was planned on another node ({})", key.rank(), planned_on)});
  if (!attempt)
    return Refusal({RefusedFor::kAttempt,
                    fmt::format("attempt {} of the task was not dispatched", key.attempt())});
  rank.identity_parameters = RG_TRY(read_list(connection_, identity));
  rank.node = *node;
  rank.attempt = *attempt;
  rank.attempt_number = key.attempt();
  rank.number = key.rank();
  if (metrics) rank.metrics = RG_TRY(declared(*metrics));
  RG_TRY_OK(load_endpoints(rank, now));
  RG_TRY_OK(open_rank(rank));
  return Refusal();
}

// A rank that is new has nothing to load.
Status RecordSink::open_rank(Rank& rank) {
  RG_TRY_OK(
      connection_.execute("INSERT INTO rank (attempt, rank) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                          rank.attempt, rank.number));
  if (connection_.changes() == 1) {
    rank.id = connection_.last_id();
    accounts_.add_rank(rank.run, rank.node);
    return {};
  }
  RG_TRY_OK(connection_.row(std::tie(rank.id), "SELECT id FROM rank WHERE attempt=?1 AND rank=?2",
                            rank.attempt, rank.number));
  RG_TRY_OK(load_state(rank));
  return load_usage(rank);
}

// Lists are few, and none ever changes.
Result<std::shared_ptr<const std::vector<std::string>>> RecordSink::declared(std::int64_t list) {
  auto& known = metric_lists_[list];
  if (known) return known;
  std::string body;
  RG_TRY_OK(connection_.row(std::tie(body), "SELECT body FROM metric_list WHERE id=?1", list));
  known = std::make_shared<const std::vector<std::string>>(RG_TRY(read_list(connection_, body)));
  return known;
}

Status RecordSink::load_endpoints(Rank& rank, double now) {
  std::vector<std::pair<std::size_t, std::int64_t>> unnamed;  // position, node
  {
    Rows rows = RG_TRY(connection_.query(
        "SELECT node, endpoint FROM task_rank WHERE task=?1 ORDER BY rank", rank.task));
    while (RG_TRY(rows.next())) {
      if (rows.is_null(1)) unnamed.emplace_back(rank.endpoints.size(), rows.integer(0));
      rank.endpoints.push_back(rows.integer(1));
    }
  }
  for (const auto& [position, node] : unnamed)
    rank.endpoints[position] = RG_TRY(interner_.endpoint(node, "", now));
  return {};
}

// Its Started and Final records.
Status RecordSink::load_state(Rank& rank) {
  std::optional<std::string> body;
  std::optional<std::int64_t> endpoint;
  RG_TRY_OK(connection_.row(
      std::tie(rank.revision, endpoint, body, rank.ended),
      "SELECT revision, endpoint, body, outcome IS NOT NULL FROM rank LEFT JOIN parameter_set ON "
      "parameter_set.id=parameter_set WHERE rank.id=?1",
      rank.id));
  if (!rank.revision || !body) return {};
  if (endpoint) rank.endpoints[rank.number] = *endpoint;
  identify(rank, RG_TRY(read_map(connection_, *body)));
  return {};
}

// Its points and notes, of which an ended rank takes no more.
Status RecordSink::load_usage(Rank& rank) {
  const std::int64_t first = point_id(rank.id, 0);
  const std::int64_t after = point_id(rank.id + 1, 0);
  std::optional<std::int64_t> last_point;
  std::optional<std::int64_t> last_note;
  RG_TRY_OK(connection_.row(std::tie(last_point, last_note),
                            "SELECT (SELECT max(id) FROM point WHERE id>=?1 AND id<?2), (SELECT "
                            "max(sequence) FROM note WHERE rank=?3)",
                            first, after, rank.id));
  if (last_point) rank.last_sequence = *last_point - first;
  if (last_note) rank.last_sequence = std::max(rank.last_sequence, *last_note);
  if (rank.ended || rank.last_sequence < 0) return {};
  rank.series = RG_TRY(connection_.column<std::int64_t>(
      "SELECT DISTINCT series FROM point WHERE id>=?1 AND id<?2 ORDER BY series", first, after));
  RG_TRY_OK(connection_.row(
      std::tie(rank.bytes),
      "SELECT (SELECT coalesce(sum(?4 + coalesce(length(histogram), 0)), 0) FROM distribution "
      "WHERE point>=?1 AND point<?2) + (SELECT coalesce(sum(length(body)), 0) FROM raw_sample "
      "WHERE point>=?1 AND point<?2) + (SELECT coalesce(sum(length(body)), 0) FROM point JOIN "
      "fact_set ON fact_set.id=point.fact_set WHERE point.id>=?1 AND point.id<?2) + (SELECT "
      "coalesce(sum(?5 + length(CAST(severity AS BLOB)) + length(CAST(text AS BLOB))), 0) FROM "
      "note WHERE rank=?3)",
      first, after, rank.id, kPointBytes, kNoteBytes));
  return {};
}

void RecordSink::identify(Rank& rank, const TextMap& parameters) {
  TextMap identity;
  for (const std::string& name : rank.identity_parameters)
    if (const auto found = parameters.find(name); found != parameters.end())
      identity.insert(*found);
  rank.parameters = json_of(identity);
  rank.series_group = interner_.series_group({.kernel = rank.kernel,
                                              .revision = *rank.revision,
                                              .rank = rank.number,
                                              .parameters = rank.parameters,
                                              .endpoints = rank.endpoints});
}

// --- one function for each kind of record ------------------------------------------------------

Result<RecordSink::Refusal> RecordSink::store_started(Rank& rank, const Record& record,
                                                      const Arrival& arrival) {
  const double now = arrival.now;
  const Started& started = record.started();
  if (started.kernel() != rank.kernel)
    return Refusal({RefusedFor::kKernel, fmt::format("it started {}, planned was {}",
                                                     in_quotes(started.kernel()), rank.kernel)});
  const TextMap parameters = text_map(started.parameters());
  std::optional<std::int64_t> endpoint;
  if (!started.endpoint().empty())
    endpoint = RG_TRY(interner_.endpoint(rank.node, started.endpoint(), now));
  RG_TRY_OK(connection_.execute(
      "UPDATE rank SET revision=?2, endpoint=?3, endpoint_text=?4, parameter_set=?5, fact_set=?6, "
      "started_at=?7 WHERE id=?1",
      rank.id, started.revision(), endpoint, started.endpoint(),
      RG_TRY(interner_.parameter_set(parameters)),
      RG_TRY(interner_.fact_set(text_map(started.facts()))), time_of(rank, record, arrival).at));
  if (endpoint) rank.endpoints[rank.number] = *endpoint;
  rank.revision = started.revision();
  identify(rank, parameters);
  return Refusal();
}

Result<RecordSink::Refusal> RecordSink::store_point(Rank& rank, const ReadyRecord& ready,
                                                    const Time& time) {
  const Record& record = ready.record;
  const Point& point = record.point();
  const std::int64_t id = point_id(rank.id, record.key().sequence());
  const auto series = RG_TRY(series_of(rank, point));
  RG_CHECK(series.has_value());  // admit() found it
  std::optional<std::int64_t> facts;
  if (!ready.point_facts.empty()) facts = RG_TRY(interner_.fact_set(ready.point_facts));
  RG_TRY_OK(connection_.execute(
      "INSERT INTO point (id, series, measured_ms, median, median_low, median_high, p99, "
      "sample_count, flags, fact_set, rate, rate_low, rate_high, slot_p10, pause_share) VALUES "
      "(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15) "
      "ON CONFLICT DO NOTHING",
      id, *series, static_cast<std::int64_t>(std::llround(time.at * 1e3)), point.median(),
      present(point, &Point::has_median_low, &Point::median_low),
      present(point, &Point::has_median_high, &Point::median_high),
      present(point, &Point::has_p99, &Point::p99), point.sample_count(),
      flags_of(point) | (time.is_arrival ? kFlagArrival : 0), facts,
      present(point, &Point::has_rate, &Point::rate),
      present(point, &Point::has_rate_low, &Point::rate_low),
      present(point, &Point::has_rate_high, &Point::rate_high),
      present(point, &Point::has_slot_p10, &Point::slot_p10),
      present(point, &Point::has_pause_share, &Point::pause_share)));
  if (connection_.changes() != 1) return Refusal();
  new_points_.note(id);
  RG_TRY_OK(store_distribution(id, ready));
  return Refusal();
}

Status RecordSink::store_distribution(std::int64_t id, const ReadyRecord& ready) {
  const Point& point = ready.record.point();
  const std::optional<Blob> body =
      ready.histogram ? std::optional(Blob{*ready.histogram}) : std::nullopt;
  RG_TRY_OK(connection_.execute(
      "INSERT INTO distribution (point, min, max, mean, stddev, p25, p75, p90, p999, "
      "lag1_autocorrelation, effective_sample_count, warmup_count, measure_ns, stop_reason, "
      "histogram, slot_p1, slot_ns, longest_pause_ns, p99_low, p99_high, p999_low, p999_high) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, "
      "?19, ?20, ?21, ?22)",
      id, point.min(), point.max(), point.mean(),
      present(point, &Point::has_stddev, &Point::stddev),
      present(point, &Point::has_p25, &Point::p25), present(point, &Point::has_p75, &Point::p75),
      present(point, &Point::has_p90, &Point::p90), present(point, &Point::has_p999, &Point::p999),
      present(point, &Point::has_lag1_autocorrelation, &Point::lag1_autocorrelation),
      present(point, &Point::has_effective_sample_count, &Point::effective_sample_count),
      point.warmup_count(), point.measure_ns(), point.stop_reason(), body,
      present(point, &Point::has_slot_p1, &Point::slot_p1),
      present(point, &Point::has_slot_ns, &Point::slot_ns),
      present(point, &Point::has_longest_pause_ns, &Point::longest_pause_ns),
      present(point, &Point::has_p99_low, &Point::p99_low),
      present(point, &Point::has_p99_high, &Point::p99_high),
      present(point, &Point::has_p999_low, &Point::p999_low),
      present(point, &Point::has_p999_high, &Point::p999_high)));
  if (!ready.samples) return {};
  return connection_.execute("INSERT INTO raw_sample (point, body) VALUES (?1, ?2)", id,
                             Blob{*ready.samples});
}

Status RecordSink::store_note(const Rank& rank, const Record& record) {
  return connection_.execute(
      "INSERT INTO note (rank, sequence, severity, text) VALUES (?1, ?2, ?3, ?4) "
      "ON CONFLICT DO NOTHING",
      rank.id, record.key().sequence(), record.note().severity(), record.note().text());
}

Status RecordSink::store_final(Rank& rank, const Record& record, const Time& time) {
  const Final& end = record.final();
  const Phases& phases = end.phases();
  RG_TRY_OK(connection_.execute(
      "UPDATE rank SET ended_at=?2, outcome=?3, reason=?4, start_ns=?5, open_ns=?6, wait_ns=?7, "
      "exchange_ns=?8, measure_ns=?9, stop_ns=?10, cpu_seconds=?11, max_resident_bytes=?12, "
      "exit_signal=?13, stderr_tail=?14 WHERE id=?1 AND outcome IS NULL",
      rank.id, time.at, end.outcome(), end.reason(),
      present(phases, &Phases::has_start_ns, &Phases::start_ns),
      present(phases, &Phases::has_open_ns, &Phases::open_ns),
      present(phases, &Phases::has_wait_ns, &Phases::wait_ns),
      present(phases, &Phases::has_exchange_ns, &Phases::exchange_ns),
      present(phases, &Phases::has_measure_ns, &Phases::measure_ns),
      present(phases, &Phases::has_stop_ns, &Phases::stop_ns),
      present(end, &Final::has_cpu_seconds, &Final::cpu_seconds),
      present(end, &Final::has_max_resident_bytes, &Final::max_resident_bytes),
      present(end, &Final::has_exit_signal, &Final::exit_signal), end.stderr_tail()));
  rank.ended = true;
  RG_TRY_OK(
      connection_.execute("UPDATE task SET counted_attempt=max(counted_attempt, ?2) WHERE id=?1",
                          rank.task, rank.attempt_number));
  return close_attempt(rank);
}

// When the last rank ended and the controller has not said an outcome: the worst of the ranks'.
Status RecordSink::close_attempt(const Rank& rank) {
  const std::vector<std::string> outcomes = RG_TRY(connection_.column<std::string>(
      "SELECT outcome FROM rank WHERE attempt=?1 AND outcome IS NOT NULL", rank.attempt));
  if (outcomes.size() < rank.endpoints.size()) return {};
  return connection_.execute("UPDATE attempt SET outcome=?2 WHERE id=?1 AND outcome=''",
                             rank.attempt, worst_of(outcomes));
}

Result<std::uint64_t> RecordSink::take_orphans(const AttemptKey& attempt, double now) {
  constexpr std::uint32_t kPage = 256;
  const Arrival arrival{.now = now, .timing = {.is_checked = true}};
  std::uint64_t taken = 0;
  new_points_.begin();
  for (std::vector<Orphans::Entry> page = RG_TRY(orphans_.of_attempt(attempt, nullptr, kPage));
       !page.empty();) {
    for (const Orphans::Entry& entry : page) {
      const ReadyRecord ready = make_ready(entry.record);
      if (ready.fault || RG_TRY(store_one(entry.node_id, ready, arrival)).refusal) continue;
      RG_TRY_OK(orphans_.remove(entry.id));
      ++taken;
    }
    const Orphans::Entry last = std::move(page.back());
    page = RG_TRY(orphans_.of_attempt(attempt, &last, kPage));
  }
  RG_TRY_OK(new_points_.write(connection_));
  return taken;
}

}  // namespace railgauge::store
