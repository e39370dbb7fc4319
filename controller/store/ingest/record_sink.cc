#include "controller/store/ingest/record_sink.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/store/rows/text_json.h"
#include "kernels/core/base/outcome.h"

namespace railgauge::store {

namespace {

constexpr std::int64_t kRowBytes = 200;  // beside the body: keys, twice, and the reason

std::int64_t bytes_of(const std::string& body) {
  return static_cast<std::int64_t>(body.size()) + kRowBytes;
}

}  // namespace

Result<OrphanTotals> count_orphans(Connection& connection) {
  OrphanTotals totals;
  RG_TRY(connection.row(std::tie(totals.records, totals.bytes),
                        "SELECT count(*), sum(length(body) + ?1) FROM orphan_record", kRowBytes));
  return totals;
}

Result<bool> Orphans::put(std::string_view node_id, const Record& record, std::string_view reason,
                          double now) {
  if (!counted_) {
    const OrphanTotals totals = RG_TRY(count_orphans(connection_));
    bytes_ = totals.bytes;
    records_ = totals.records;
    counted_ = true;
  }
  const RecordKey& key = record.key();
  const std::string body = record.SerializeAsString();
  RG_TRY_OK(connection_.execute(
      "INSERT INTO orphan_record (at, node_id, run_id, task_id, attempt, rank, sequence, reason, "
      "body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING",
      now, node_id, key.run_id(), key.task_id(), key.attempt(), key.rank(), key.sequence(), reason,
      Blob{body}));
  if (connection_.changes() == 0) return false;
  ++records_;
  bytes_ += bytes_of(body);
  if (bytes_ > max_bytes_) RG_TRY_OK(drop_oldest(now));
  return true;
}

// Some more than needed, so that it does not come with each record.
Status Orphans::drop_oldest(double now) {
  const std::int64_t goal = max_bytes_ - max_bytes_ / 50;
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
  const std::string text = fmt::format(
      "{} records that fit no known run were dropped, the oldest of more than {:.1f} MB", dropped,
      static_cast<double>(max_bytes_) / 1e6);
  spdlog::warn("store {}: {}", connection_.path(), text);
  return insert_event(connection_, {.at = now, .kind = "orphans_dropped", .text = text});
}

Result<std::vector<Orphans::Entry>> Orphans::of_run(std::string_view run_id, const Entry* after,
                                                    std::uint32_t limit) {
  static const Entry kFirst;
  const Entry& from = after == nullptr ? kFirst : *after;
  const RecordKey& key = from.record.key();
  Rows rows = RG_TRY(connection_.query(
      "SELECT id, node_id, body, task_id, attempt, rank, sequence FROM orphan_record WHERE "
      "run_id=?1 AND (?8 OR (task_id, attempt, rank, sequence, node_id) > (?2, ?3, ?4, ?5, ?6)) "
      "ORDER BY task_id, attempt, rank, sequence, node_id LIMIT ?7",
      run_id, key.task_id(), key.attempt(), key.rank(), key.sequence(), from.node_id, limit,
      after == nullptr ? 1 : 0));
  std::vector<Entry> found;
  while (RG_TRY(rows.next())) {
    Entry& entry = found.emplace_back();
    entry.id = rows.integer(0);
    entry.node_id = rows.text(1);
    // An earlier Railgauge kept none of a long one: its key alone is no sound record, so it stays.
    if (!entry.record.ParseFromString(rows.blob(2))) entry.record.Clear();
    RecordKey& own = *entry.record.mutable_key();
    own.set_run_id(std::string(run_id));
    own.set_task_id(rows.text(3));
    own.set_attempt(rows.small(4));
    own.set_rank(rows.small(5));
    own.set_sequence(rows.small(6));
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
constexpr std::int64_t kEventSlack = 1'000;  // that many inserts apart they are counted
// Events that come with every restart. All others (changes, interruptions) stay until they are too
// old.
constexpr std::string_view kPassingEvents =
    "'node_attached', 'node_resumed', 'node_lost', 'node_refused', 'record_refused', "
    "'orphans_dropped'";

template <class Map>
TextMap text_map(const Map& map) {
  return {map.begin(), map.end()};
}

std::string key_text(const RecordKey& key) {
  return fmt::format("{}/{}#{}.{}", key.run_id(), key.task_id(), key.attempt(), key.rank());
}

std::int64_t flags_of(const Point& point) {
  return (point.converged() ? kFlagConverged : 0) | (point.synthetic() ? kFlagSynthetic : 0) |
         (point.verified() ? kFlagVerified : 0) | (point.throttled() ? kFlagThrottled : 0);
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
  RG_TRY_OK(connection.execute(
      "INSERT INTO event (at, kind, node_id, run_id, text) VALUES (?1, ?2, ?3, ?4, ?5)", event.at,
      event.kind, event.node_id, event.run_id, event.text));
  if (connection.last_id() % kEventSlack != 0) return {};
  return connection.execute(
      fmt::format("DELETE FROM event WHERE kind IN ({0}) AND id<=(SELECT id FROM event WHERE kind "
                  "IN ({0}) ORDER BY id DESC LIMIT 1 OFFSET {1})",
                  kPassingEvents, kMaxEvents));
}

Status RecordSink::store(std::string_view node_id, std::span<const ReadyRecord> records,
                         double now) {
  std::size_t refused = 0;
  std::string first_reason;
  for (const ReadyRecord& ready : records) {
    const Record& record = ready.record;
    Refusal refusal = ready.fault;
    if (!refusal) refusal = RG_TRY(store_one(node_id, ready, now));
    if (!refusal || !RG_TRY(orphans_.put(node_id, record, *refusal, now))) continue;
    if (refused++ == 0)
      first_reason = fmt::format("{} sequence {}: {}", key_text(record.key()),
                                 record.key().sequence(), *refusal);
  }
  if (refused == 0) return {};
  return insert_event(connection_, {.at = now,
                                    .kind = "record_refused",
                                    .node_id = std::string(node_id),
                                    .run_id = records.front().record.key().run_id(),
                                    .text = fmt::format("{} of {} records put aside; {}", refused,
                                                        records.size(), first_reason)});
}

Result<RecordSink::Refusal> RecordSink::store_one(std::string_view node_id,
                                                  const ReadyRecord& ready, double now) {
  const Record& record = ready.record;
  Rank* rank = nullptr;
  if (auto refusal = RG_TRY(find_rank(node_id, record.key(), now, rank))) return refusal;
  switch (record.body_case()) {
    case Record::kStarted:
      return store_started(*rank, record, now);
    case Record::kPoint:
      return store_point(*rank, ready);
    case Record::kNote:
      RG_TRY_OK(store_note(*rank, record));
      return Refusal();
    default:
      RG_TRY_OK(store_final(*rank, record));
      return Refusal();
  }
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
  if (!RG_TRY(connection_.row(
          std::tie(rank.task, rank.kernel, identity, node, planned_on),
          "SELECT task.id, task.kernel, task.identity_parameters, task_rank.node, node.node_id "
          "FROM run JOIN task ON task.run=run.id "
          "LEFT JOIN task_rank ON task_rank.task=task.id AND task_rank.rank=?3 "
          "LEFT JOIN node ON node.id=task_rank.node WHERE run.run_id=?1 AND task.task_id=?2",
          key.run_id(), key.task_id(), key.rank())))
    return Refusal("no such run or task was planned");
  if (!node) return Refusal(fmt::format("the task has no rank {}", key.rank()));
  rank.identity_parameters = RG_TRY(read_list(connection_, identity));
  rank.node = *node;
  if (planned_on != node_id)
    return Refusal(fmt::format("rank {} was planned on another node ({})", key.rank(), planned_on));
  rank.attempt_number = key.attempt();
  rank.number = key.rank();
  RG_TRY_OK(open_rank(rank));
  RG_TRY_OK(load_endpoints(rank, now));
  RG_TRY_OK(load_started(rank));
  return Refusal();
}

Status RecordSink::open_rank(Rank& rank) {
  RG_TRY_OK(connection_.execute(
      "INSERT INTO attempt (task, attempt, outcome, reason) VALUES (?1, ?2, '', '') "
      "ON CONFLICT DO NOTHING",
      rank.task, rank.attempt_number));
  RG_TRY(connection_.row(std::tie(rank.attempt),
                         "SELECT id FROM attempt WHERE task=?1 AND attempt=?2", rank.task,
                         rank.attempt_number));
  RG_TRY_OK(
      connection_.execute("INSERT INTO rank (attempt, rank) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                          rank.attempt, rank.number));
  RG_TRY(connection_.row(std::tie(rank.id), "SELECT id FROM rank WHERE attempt=?1 AND rank=?2",
                         rank.attempt, rank.number));
  return {};
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

Status RecordSink::load_started(Rank& rank) {
  std::string body;
  std::optional<std::int64_t> endpoint;
  if (!RG_TRY(connection_.row(std::tie(rank.revision, endpoint, body),
                              "SELECT revision, endpoint, body FROM rank JOIN parameter_set ON "
                              "parameter_set.id=parameter_set WHERE rank.id=?1",
                              rank.id)))
    return {};
  if (endpoint) rank.endpoints[rank.number] = *endpoint;
  identify(rank, RG_TRY(read_map(connection_, body)));
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
                                                      double now) {
  if (rank.revision) return Refusal();  // stored already
  const Started& started = record.started();
  if (started.kernel() != rank.kernel)
    return Refusal(fmt::format("it started {}, planned was {}", started.kernel(), rank.kernel));
  const TextMap parameters = text_map(started.parameters());
  std::optional<std::int64_t> endpoint;
  if (!started.endpoint().empty())
    endpoint = RG_TRY(interner_.endpoint(rank.node, started.endpoint(), now));
  RG_TRY_OK(connection_.execute(
      "UPDATE rank SET revision=?2, endpoint=?3, endpoint_text=?4, parameter_set=?5, fact_set=?6, "
      "started_at=?7 WHERE id=?1",
      rank.id, started.revision(), endpoint, started.endpoint(),
      RG_TRY(interner_.parameter_set(parameters)),
      RG_TRY(interner_.fact_set(text_map(started.facts()))), record.unix_time_seconds()));
  if (endpoint) rank.endpoints[rank.number] = *endpoint;
  rank.revision = started.revision();
  identify(rank, parameters);
  return Refusal();
}

Result<RecordSink::Refusal> RecordSink::store_point(const Rank& rank, const ReadyRecord& ready) {
  if (!rank.revision) return Refusal("a point came before the record of its start");
  const Record& record = ready.record;
  const Point& point = record.point();
  const std::int64_t id = point_id(rank.id, record.key().sequence());
  const std::int64_t series = RG_TRY(interner_.series({.group = rank.series_group,
                                                       .kernel = rank.kernel,
                                                       .revision = *rank.revision,
                                                       .rank = rank.number,
                                                       .parameters = rank.parameters,
                                                       .endpoints = rank.endpoints},
                                                      point));
  std::optional<std::int64_t> facts;
  if (!ready.point_facts.empty()) facts = RG_TRY(interner_.fact_set(ready.point_facts));
  RG_TRY_OK(connection_.execute(
      "INSERT INTO point (id, series, measured_ms, median, median_low, median_high, p99, "
      "sample_count, flags, fact_set) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) "
      "ON CONFLICT DO NOTHING",
      id, series, static_cast<std::int64_t>(std::llround(record.unix_time_seconds() * 1e3)),
      point.median(), present(point, &Point::has_median_low, &Point::median_low),
      present(point, &Point::has_median_high, &Point::median_high),
      present(point, &Point::has_p99, &Point::p99), point.sample_count(), flags_of(point), facts));
  if (connection_.changes() == 1) RG_TRY_OK(store_distribution(id, ready));
  return Refusal();
}

Status RecordSink::store_distribution(std::int64_t id, const ReadyRecord& ready) {
  const Point& point = ready.record.point();
  const std::optional<Blob> body =
      ready.histogram ? std::optional(Blob{*ready.histogram}) : std::nullopt;
  RG_TRY_OK(connection_.execute(
      "INSERT INTO distribution (point, min, max, mean, stddev, p25, p75, p90, p999, "
      "lag1_autocorrelation, effective_sample_count, warmup_count, measure_ns, stop_reason, "
      "histogram) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
      id, point.min(), point.max(), point.mean(),
      present(point, &Point::has_stddev, &Point::stddev),
      present(point, &Point::has_p25, &Point::p25), present(point, &Point::has_p75, &Point::p75),
      present(point, &Point::has_p90, &Point::p90), present(point, &Point::has_p999, &Point::p999),
      present(point, &Point::has_lag1_autocorrelation, &Point::lag1_autocorrelation),
      present(point, &Point::has_effective_sample_count, &Point::effective_sample_count),
      point.warmup_count(), point.measure_ns(), point.stop_reason(), body));
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

Status RecordSink::store_final(const Rank& rank, const Record& record) {
  const Final& end = record.final();
  const Phases& phases = end.phases();
  RG_TRY_OK(connection_.execute(
      "UPDATE rank SET ended_at=?2, outcome=?3, reason=?4, start_ns=?5, open_ns=?6, wait_ns=?7, "
      "exchange_ns=?8, measure_ns=?9, stop_ns=?10, cpu_seconds=?11, max_resident_bytes=?12, "
      "exit_signal=?13, stderr_tail=?14 WHERE id=?1 AND outcome IS NULL",
      rank.id, record.unix_time_seconds(), end.outcome(), end.reason(),
      present(phases, &Phases::has_start_ns, &Phases::start_ns),
      present(phases, &Phases::has_open_ns, &Phases::open_ns),
      present(phases, &Phases::has_wait_ns, &Phases::wait_ns),
      present(phases, &Phases::has_exchange_ns, &Phases::exchange_ns),
      present(phases, &Phases::has_measure_ns, &Phases::measure_ns),
      present(phases, &Phases::has_stop_ns, &Phases::stop_ns),
      present(end, &Final::has_cpu_seconds, &Final::cpu_seconds),
      present(end, &Final::has_max_resident_bytes, &Final::max_resident_bytes),
      present(end, &Final::has_exit_signal, &Final::exit_signal), end.stderr_tail()));
  if (connection_.changes() == 0) return {};  // stored already
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

Result<std::uint64_t> RecordSink::take_orphans(std::string_view run_id, double now) {
  constexpr std::uint32_t kPage = 256;
  std::uint64_t taken = 0;
  for (std::vector<Orphans::Entry> page = RG_TRY(orphans_.of_run(run_id, nullptr, kPage));
       !page.empty();) {
    for (const Orphans::Entry& entry : page) {
      const ReadyRecord ready = make_ready(entry.record);
      if (ready.fault || RG_TRY(store_one(entry.node_id, ready, now))) continue;
      RG_TRY_OK(orphans_.remove(entry.id));
      ++taken;
    }
    const Orphans::Entry last = std::move(page.back());
    page = RG_TRY(orphans_.of_run(run_id, &last, kPage));
  }
  return taken;
}

}  // namespace railgauge::store
