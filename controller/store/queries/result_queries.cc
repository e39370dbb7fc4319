// Queries about points.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "controller/store/queries/queries.h"
#include "controller/store/rows/point_flags.h"
#include "controller/store/rows/text_json.h"
#include "controller/store/sqlite/compress.h"
#include "controller/store/sqlite/sqlite.h"

namespace railgauge::store {
namespace {

// The columns that result_of reads, in its order.
constexpr std::string_view kSelect =
    "SELECT run.run_id, task.task_id, attempt.attempt, rank.rank, point.sequence, point.series, "
    "series.kernel, series.revision, measured_at, attempt.outcome, "
    "series.metric, series.meaning, series.unit, series.larger_is_better, series.message_bytes, "
    "sample_count, median, median_low, median_high, p99, distribution.p999, "
    "distribution.effective_sample_count, distribution.min, distribution.max, mean, stddev, p25, "
    "p75, p90, lag1_autocorrelation, warmup_count, distribution.measure_ns, flags, stop_reason, "
    "point.fact_set, rank.parameter_set, rank.fact_set, attempt.id, task.id, series.pair, "
    "point.id, rate, slot_p10, slot_p1, slot_ns, longest_pause_ns, pause_share, "
    "rate_low, rate_high, p99_low, p99_high, p999_low, p999_high, "
    "attempt.outcome='failed' AND NOT EXISTS (SELECT 1 FROM rank AS each WHERE "
    "each.attempt=attempt.id AND coalesce(each.outcome, '')<>'passed') ";

constexpr std::string_view kWide =
    "CROSS JOIN point ON point.id=chosen "
    "CROSS JOIN rank ON rank.id=point.rank CROSS JOIN attempt ON attempt.id=rank.attempt "
    "CROSS JOIN task ON task.id=attempt.task CROSS JOIN run ON run.id=task.run "
    "CROSS JOIN series ON series.id=point.series "
    "LEFT JOIN distribution ON distribution.point=point.id";

// The points are chosen first, by keys alone: sorting whole rows would cost more than all else.
// From the run down, or from the point up: SQLite keeps the order of a CROSS JOIN. Points are found
// by their ranks: by the index of series each rank would look at every series of the filter.
constexpr std::string_view kChoose = "SELECT point.id AS chosen ";
constexpr std::string_view kFromRun =
    "FROM run CROSS JOIN task ON task.run=run.id CROSS JOIN attempt ON attempt.task=task.id "
    "CROSS JOIN rank ON rank.attempt=attempt.id CROSS JOIN point NOT INDEXED ON point.id BETWEEN "
    "rank.id << 20 AND (rank.id << 20) + 1048575 ";
// From the point up. A range of keys goes along the table, so that a page costs what it reads and
// nothing is sorted.
constexpr std::string_view kUp =
    " CROSS JOIN rank ON rank.id=point.rank CROSS JOIN attempt ON attempt.id=rank.attempt CROSS "
    "JOIN task ON task.id=attempt.task ";

// ?1 run's id (0: all), ?2 kernel, ?3 metric, ?4 size or NULL, ?5 JSON list of nodes, ?6 all
// attempts, ?7 limit, ?8 endpoint, ?9 rail or NULL, ?10 since, ?11 until, ?12 stack key, ?13 stack
// value, ?14 point behind which to begin, ?15 series, ?16 last point.
constexpr std::string_view kTimes =
    "AND (?10 IS NULL OR measured_at>=?10) AND (?11 IS NULL OR measured_at<?11) ";
constexpr std::string_view kAtLeastSince = "AND measured_at>=?10 ";
// The index by series holds whole days.
constexpr std::string_view kDaysSince = "AND measured_ms / 86400000 > ?10 / 86400.0 - 1 ";
constexpr std::string_view kStack =
    "AND EXISTS (SELECT 1 FROM series_endpoint JOIN endpoint ON endpoint.id=endpoint JOIN epoch ON "
    "epoch.node=endpoint.node AND epoch.valid_from<=measured_at AND (epoch.valid_to IS NULL OR "
    "epoch.valid_to>measured_at) JOIN stack ON stack.id=epoch.stack JOIN fact_set ON fact_set.id "
    "IN (versions, settings) WHERE series_endpoint.series=point.series AND "
    "json_extract(body, '$.' || json_quote(?12))=?13) ";
constexpr std::string_view kCounts = "AND (?6 OR attempt.attempt=task.counted_attempt) ";
constexpr std::string_view kNewest = "ORDER BY point.id DESC LIMIT ?7";
constexpr std::string_view kOldest =
    "AND point.id>?14 AND point.id<=?16 ORDER BY point.id LIMIT ?7";

// Names the last value, so that every statement has all values and one call binds them.
constexpr std::string_view kAllValues = " WHERE ?16 IS ?16";

// Without a filter by series there is no clause about it, so that the newest points are found from
// the table's end; with one that leaves few series, or a time, they are found by their index.
std::string from_of(const ResultsFilter& filter, bool one_run, bool by_series) {
  if (one_run && !by_series && !filter.range) return std::string(kFromRun);
  return fmt::format("FROM point{}{}",
                     by_series      ? " INDEXED BY point_by_series"
                     : filter.range ? " NOT INDEXED"
                                    : "",
                     kUp);
}

std::string_view run_of(const ResultsFilter& filter, bool one_run) {
  if (!one_run) return "?1=0 ";
  return filter.range ? "task.run=?1 " : "run.id=?1 ";
}

}  // namespace

std::string sql_of_results(const ResultsFilter& filter, bool one_run) {
  const bool few = !filter.nodes.empty() || !filter.endpoint.empty() || filter.series.has_value();
  const bool narrow = few || !filter.kernel.empty() || !filter.metric.empty() ||
                      filter.message_bytes.has_value() || filter.rail.has_value();
  // Within a range, only the points of one series are few enough to be sorted for every page.
  const bool by_series =
      filter.range ? filter.series.has_value() : !one_run && (few || filter.since.has_value());
  const std::string series = filter.series ? std::string("AND point.series=?15 ")
                             : narrow || by_series
                                 ? fmt::format("AND point.series IN ({}) ", series_choice(filter))
                                 : std::string();
  return fmt::format("{}FROM ({}{}WHERE {}{}{}{}{}{}{}{}) {}", kSelect, kChoose,
                     from_of(filter, one_run, by_series), run_of(filter, one_run), series,
                     filter.since ? kAtLeastSince : "", filter.since && by_series ? kDaysSince : "",
                     kTimes, filter.stack.empty() ? "AND ?12='' AND ?13='' " : kStack, kCounts,
                     filter.range ? kOldest : kNewest, kWide)
      .append(kAllValues);
}

namespace {

// Setters of the figures, in the order of their columns.
constexpr int kFirstFigure = 14;
constexpr std::array kFigures{&Point::set_message_bytes, &Point::set_sample_count,
                              &Point::set_median,        &Point::set_median_low,
                              &Point::set_median_high,   &Point::set_p99,
                              &Point::set_p999,          &Point::set_effective_sample_count,
                              &Point::set_min,           &Point::set_max,
                              &Point::set_mean,          &Point::set_stddev,
                              &Point::set_p25,           &Point::set_p75,
                              &Point::set_p90,           &Point::set_lag1_autocorrelation,
                              &Point::set_warmup_count,  &Point::set_measure_ns};

// The figures of rates, and intervals; absent, not 0, in points without them.
constexpr int kFirstOptional = 41;
constexpr std::array kOptional{
    &Point::set_rate,     &Point::set_slot_p10,         &Point::set_slot_p1,
    &Point::set_slot_ns,  &Point::set_longest_pause_ns, &Point::set_pause_share,
    &Point::set_rate_low, &Point::set_rate_high,        &Point::set_p99_low,
    &Point::set_p99_high, &Point::set_p999_low,         &Point::set_p999_high};
constexpr int kOnlyALimitFailed = kFirstOptional + static_cast<int>(kOptional.size());

Point point_of(const Rows& rows) {
  Point point;
  point.set_metric(rows.text(10));
  point.set_meaning(rows.text(11));
  point.set_unit(rows.text(12));
  point.set_larger_is_better(rows.integer(13) != 0);
  for (int column = kFirstFigure; const auto setter : kFigures)
    if (const auto value = rows.optional_real(column++)) (point.*setter)(*value);
  for (int column = kFirstOptional; const auto setter : kOptional)
    if (const auto value = rows.optional_real(column++)) (point.*setter)(*value);
  const std::int64_t flags = rows.integer(32);
  point.set_converged((flags & kFlagConverged) != 0);
  point.set_synthetic((flags & kFlagSynthetic) != 0);
  point.set_verified((flags & kFlagVerified) != 0);
  point.set_throttled((flags & kFlagThrottled) != 0);
  point.set_stop_reason(rows.text(33));
  point.set_pair(rows.text(39));
  return point;
}

// Reads points, with the fields that are stored once for many of them.
class ResultReader {
 public:
  explicit ResultReader(Connection& connection) : connection_(connection), sets_(connection) {}

  Result<ResultRow> read(const Rows& rows) {
    ResultRow row{.run_id = rows.text(0),
                  .task_id = rows.text(1),
                  .attempt = rows.small(2),
                  .rank = rows.small(3),
                  .sequence = rows.small(4),
                  .series_id = rows.integer(5),
                  .point_id = rows.integer(40),
                  .kernel = rows.text(6),
                  .revision = rows.small(7),
                  .measured_at = rows.real(8),
                  .outcome = rows.text(9),
                  .point = point_of(rows),
                  .only_a_limit_failed = rows.integer(kOnlyALimitFailed) != 0};
    row.parameters = *RG_TRY(sets_.parameters(rows.integer(35)));
    row.facts = *RG_TRY(sets_.facts(rows.integer(36)));
    for (const auto& [name, value] : *RG_TRY(sets_.facts(rows.integer(34))))
      (*row.point.mutable_facts())[name] = value;
    if ((rows.integer(32) & kFlagArrival) != 0)
      (*row.point.mutable_facts())[std::string(kClockFact)] = kClockOff;
    auto [known, fresh] = endpoints_.try_emplace(rows.integer(37));
    if (fresh) RG_TRY_OK(read_endpoints(known->first, rows.integer(38), known->second));
    row.endpoints = known->second;
    return row;
  }

 private:
  Status read_endpoints(std::int64_t attempt, std::int64_t task,
                        std::vector<std::string>& endpoints) {
    Rows rows = RG_TRY(connection_.query(
        "SELECT task_rank.node_name, coalesce(nullif(rank.endpoint_text, ''), "
        "task_rank.endpoint_text) FROM task_rank LEFT JOIN rank ON rank.attempt=?2 AND "
        "rank.rank=task_rank.rank WHERE task_rank.task=?1 ORDER BY task_rank.rank",
        task, attempt));
    while (RG_TRY(rows.next())) {
      const std::string endpoint = rows.text(1);
      endpoints.push_back(rows.text(0) + (endpoint.empty() ? "" : "/" + endpoint));
    }
    return {};
  }

  Connection& connection_;
  TextSets sets_;
  std::map<std::int64_t, std::vector<std::string>> endpoints_;  // by attempt
};

// 0 is all runs; absent: no run has ended yet.
Result<std::optional<std::int64_t>> chosen_run(Connection& connection, const std::string& run_id) {
  if (run_id == "all") return 0;
  if (run_id.empty())
    return connection.integer("SELECT id FROM run WHERE state='ended' ORDER BY id DESC LIMIT 1");
  return RG_TRY(id_of_run(connection, run_id));
}

}  // namespace

Result<std::vector<ResultRow>> read_results(Connection& connection, const ResultsFilter& filter) {
  const auto run = RG_TRY(chosen_run(connection, filter.run_id));
  if (!run) return std::vector<ResultRow>{};
  const std::uint32_t limit =
      std::min(filter.limit == 0 ? kDefaultResultRows : filter.limit, kMaxResultRows);
  const std::size_t equals = filter.stack.find('=');
  if (!filter.stack.empty() && equals == std::string::npos)
    return fail(
        Code::kInvalidArgument,
        fmt::format("stack part {}: it is KEY=VALUE, as in gpu_driver=550.54", filter.stack));
  const std::string sql = sql_of_results(filter, *run != 0);
  Rows rows = RG_TRY(connection.query(
      sql, *run, filter.kernel, filter.metric, filter.message_bytes, json_of(filter.nodes),
      filter.all_attempts, limit, filter.endpoint, filter.rail, filter.since, filter.until,
      filter.stack.substr(0, filter.stack.empty() ? 0 : equals),
      filter.stack.empty() ? std::string() : filter.stack.substr(equals + 1),
      filter.range ? std::optional(filter.range->after) : std::nullopt, filter.series,
      filter.range ? std::optional(filter.range->through) : std::nullopt));
  std::vector<ResultRow> results;
  ResultReader reader(connection);
  while (RG_TRY(rows.next())) results.push_back(RG_TRY(reader.read(rows)));
  if (filter.range) return results;
  // They were found newest first. Points of one millisecond stay in the order of their task.
  std::ranges::reverse(results);
  std::ranges::stable_sort(results, {}, &ResultRow::measured_at);
  return results;
}

namespace {

// The first and the last key that ranks of a run may have, from rows that are one after the other
// in their indexes: its tasks, the attempts of tasks between its own, the ranks of attempts between
// these. Rows of runs side by side widen it.
constexpr std::string_view kScopeOfRun =
    "WITH tasks (first, last) AS (SELECT min(id), max(id) FROM task WHERE run=?1), attempts "
    "(first, "
    "last) AS (SELECT min(attempt.id), max(attempt.id) FROM tasks CROSS JOIN attempt ON "
    "attempt.task BETWEEN tasks.first AND tasks.last), ranks (first, last) AS (SELECT "
    "min(rank.id), "
    "max(rank.id) FROM attempts CROSS JOIN rank ON rank.attempt BETWEEN attempts.first AND "
    "attempts.last) SELECT run_id, ranks.first << 20, (ranks.last << 20) + 1048575 FROM run, ranks "
    "WHERE run.id=?1";

}  // namespace

Result<ExportScope> read_export_scope(Connection& connection, const std::string& run_id) {
  const auto run = RG_TRY(chosen_run(connection, run_id));
  if (!run) return ExportScope{.run_id = "all"};
  ExportScope scope;
  Rows rows =
      RG_TRY(*run == 0 ? connection.query(
                             "SELECT 'all', (SELECT min(id) - 1 FROM point), (SELECT max(id) FROM "
                             "point) WHERE ?1=0",
                             *run)
                       : connection.query(kScopeOfRun, *run));
  if (!RG_TRY(rows.next())) return ExportScope{.run_id = "all"};
  scope.run_id = rows.text(0);
  // A point of sequence 0 would have the lowest key itself.
  scope.range = {.after = rows.integer(1) - (*run == 0 ? 0 : 1), .through = rows.integer(2)};
  return scope;
}

namespace {

tl::unexpected<Error> no_point(const PointKey& key, std::string_view what) {
  return fail(Code::kNotFound,
              fmt::format("{}/{}#{}.{} sequence {}: no {} is stored for it", key.run_id,
                          key.task_id, key.attempt, key.rank, key.sequence, what));
}

// `column` of the point's row in `table`, decompressed.
Result<std::string> read_body(Connection& connection, std::string_view column,
                              std::string_view table, const PointKey& key, std::string_view what) {
  const std::string sql = fmt::format(
      "SELECT {0} FROM run JOIN task ON task.run=run.id JOIN attempt ON attempt.task=task.id JOIN "
      "rank ON rank.attempt=attempt.id JOIN {1} ON {1}.point=(rank.id << 20) + ?5 WHERE run_id=?1 "
      "AND task_id=?2 AND attempt.attempt=?3 AND rank.rank=?4",
      column, table);
  Rows rows =
      RG_TRY(connection.query(sql, key.run_id, key.task_id, key.attempt, key.rank, key.sequence));
  if (!RG_TRY(rows.next()) || rows.is_null(0)) return no_point(key, what);
  return decompress(rows.blob(0));
}

}  // namespace

Result<Histogram> read_histogram(Connection& connection, const PointKey& key) {
  const std::string body =
      RG_TRY(read_body(connection, "histogram", "distribution", key, "distribution"));
  Histogram histogram;
  if (!histogram.ParseFromString(body))
    return fail(Code::kDataLoss, "the stored histogram is damaged; restore a backup");
  return histogram;
}

Result<std::vector<double>> read_samples(Connection& connection, const PointKey& key) {
  const std::string body = RG_TRY(read_body(connection, "body", "raw_sample", key, "raw sample"));
  std::vector<double> samples(body.size() / sizeof(double));
  std::memcpy(samples.data(), body.data(), samples.size() * sizeof(double));
  return samples;
}

}  // namespace railgauge::store
