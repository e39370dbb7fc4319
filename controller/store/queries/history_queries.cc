// Queries about series over time, between two runs, and in a person's own SQL.
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "controller/store/queries/queries.h"
#include "controller/store/rows/text_json.h"
#include "controller/store/sqlite/sqlite.h"
#include "kernels/core/stats/quantile.h"

namespace railgauge::store {
namespace {

constexpr std::string_view kOfNodes =
    "SELECT series FROM series_endpoint WHERE endpoint IN (SELECT id FROM endpoint WHERE node IN ("
    "SELECT node FROM json_each(?5) AS wanted CROSS JOIN node_name ON name=wanted.value UNION "
    "SELECT node.id FROM json_each(?5) AS wanted CROSS JOIN node ON node_id=wanted.value))";
constexpr std::string_view kOfEndpoint =
    "SELECT series FROM endpoint_attribute JOIN endpoint ON "
    "endpoint.id=endpoint_attribute.endpoint JOIN endpoint AS used ON used.node=endpoint.node AND "
    "((used.slot=endpoint.slot AND used.port=endpoint.port) OR (endpoint.kind='gpu' AND "
    "used.gpu_slot=endpoint.slot)) JOIN series_endpoint ON series_endpoint.endpoint=used.id WHERE "
    "?8=iif(endpoint.port>0, device || ':' || endpoint.port, device)";
constexpr std::string_view kOfRail =
    "SELECT series FROM series_endpoint JOIN endpoint ON endpoint.id=endpoint WHERE rail=?9";

}  // namespace

// A plus keeps a clause from being looked up: SQLite, which knows nothing of how many there are,
// might begin with it. Nor does it list all series of an endpoint or rail where few are left to
// ask.
std::string series_choice(const ResultsFilter& filter) {
  std::string clauses;
  const auto add = [&clauses](std::string_view clause) {
    clauses += fmt::format("{}{}", clauses.empty() ? " WHERE " : " AND ", clause);
  };
  const auto add_set = [&](std::string_view set) {
    add(fmt::format(
        fmt::runtime(clauses.empty() ? "id IN ({})"
                                     : "EXISTS ({} AND series_endpoint.series=series.id)"),
        set));
  };
  if (!filter.nodes.empty()) add_set(kOfNodes);
  // The index of series begins with these three.
  const std::string_view sign = clauses.empty() ? "" : "+";
  if (!filter.kernel.empty()) add(fmt::format("{}kernel=?2", sign));
  if (!filter.metric.empty()) add(fmt::format("{}metric=?3", sign));
  if (filter.message_bytes) add(fmt::format("{}message_bytes=?4", sign));
  if (!filter.endpoint.empty()) add_set(kOfEndpoint);
  if (filter.rail) add_set(kOfRail);
  return "SELECT id FROM series" + clauses;
}

namespace {

constexpr std::size_t kMaxSqlBytes = 32U << 20U;  // of one answer

constexpr std::string_view kSeriesColumns =
    "SELECT series.id, kernel, revision, metric, meaning, unit, larger_is_better, message_bytes, "
    "rank, pair, parameters FROM series ";

// The present row, with the fields that other tables hold.
Result<SeriesRow> series_of(Connection& connection, const Rows& found) {
  SeriesRow series;
  std::string parameters;
  found.read(series.series_id, series.kernel, series.revision, series.metric, series.meaning,
             series.unit, series.larger_is_better, series.message_bytes, series.rank, series.pair,
             parameters);
  series.parameters = RG_TRY(read_map(connection, parameters));
  Rows rows = RG_TRY(connection.query(
      fmt::format("SELECT node.name, coalesce(named.device, ''), used.port, used.kind, used.slot, "
                  "coalesce(gpu_named.device, used.gpu_slot) FROM series_endpoint JOIN endpoint AS "
                  "used ON used.id=series_endpoint.endpoint JOIN node ON node.id=used.node {} "
                  "WHERE series=?1 ORDER BY position",
                  kPresentNames),
      series.series_id));
  while (RG_TRY(rows.next())) {
    std::string text = rows.text(0);
    std::string device = rows.text(1);
    if (device.empty()) device = rows.text(4);  // as planned: "device:rxe0"
    if (device.starts_with("device:")) device = device.substr(7);
    if (rows.text(3) != "host") text += "/" + device;
    if (rows.integer(2) > 0) text += fmt::format(":{}", rows.integer(2));
    if (const std::string gpu = rows.text(5); !gpu.empty()) text += "+" + gpu;
    series.endpoints.push_back(std::move(text));
  }
  return series;
}

}  // namespace

Result<SeriesRow> read_one_series(Connection& connection, std::int64_t id) {
  Rows rows = RG_TRY(connection.query(std::string(kSeriesColumns) + "WHERE series.id=?1", id));
  if (RG_TRY(rows.next())) return series_of(connection, rows);
  return fail(Code::kNotFound,
              fmt::format("series {}: there is no such series; railgauge history lists them", id));
}

namespace {

// The newest `limit` days from that of `since` on, oldest first.
Result<std::vector<HistoryDayRow>> read_days(Connection& connection, std::int64_t series,
                                             std::optional<double> since, std::size_t limit) {
  using Row = HistoryDayRow;
  std::vector<Row> days = RG_TRY(connection.list(
      Columns{&Row::day_at, &Row::point_count, &Row::mean, &Row::lowest, &Row::highest},
      "SELECT day * 86400.0, point_count, median, lowest, highest FROM series_day WHERE series=?1 "
      "AND day>=floor(coalesce(?2, -1e15) / 86400) ORDER BY day DESC LIMIT ?3",
      series, since, limit));
  std::ranges::reverse(days);
  return days;
}

}  // namespace

Result<HistoryRow> read_history(Connection& connection, std::int64_t series,
                                std::optional<double> since, std::uint32_t limit) {
  HistoryRow history{.series = RG_TRY(read_one_series(connection, series))};
  using Row = HistoryPointRow;
  history.points = RG_TRY(connection.list(
      Columns{&Row::measured_at, &Row::run_id, &Row::outcome, &Row::headline, &Row::median,
              &Row::median_low, &Row::median_high, &Row::p99, &Row::sample_count, &Row::flags,
              &Row::rate_low, &Row::rate_high, &Row::slot_p10, &Row::pause_share, &Row::epoch},
      "SELECT measured_at, run.run_id, attempt.outcome, headline, median, median_low, median_high, "
      "p99, sample_count, flags, rate_low, rate_high, slot_p10, pause_share, (SELECT epoch.id FROM "
      "task_rank JOIN epoch ON "
      "epoch.node=task_rank.node "
      "AND epoch.valid_from<=measured_at AND (epoch.valid_to IS NULL OR "
      "epoch.valid_to>measured_at) "
      "WHERE task_rank.task=task.id AND task_rank.rank=rank.rank) "
      "FROM point INDEXED BY point_by_series CROSS JOIN rank ON rank.id=point.rank CROSS JOIN "
      "attempt ON attempt.id=rank.attempt CROSS JOIN task ON task.id=attempt.task CROSS JOIN run "
      "ON "
      "run.id=task.run WHERE series=?1 AND measured_at>=coalesce(?2, -1e300) AND "
      // The index holds days: only what is of one day is sorted.
      "measured_ms / 86400000 > coalesce(?2, -1e300) / 86400.0 - 1 AND "
      "attempt.attempt=task.counted_attempt ORDER BY measured_ms / 86400000 DESC, measured_ms "
      "DESC, "
      "point.id DESC LIMIT ?3",
      series, since, limit));
  std::ranges::reverse(history.points);
  // Pruned days are older than the remaining points, so they fill the rest of the limit.
  history.days = RG_TRY(read_days(connection, series, since, limit - history.points.size()));
  return history;
}

namespace {

// The rows of `select` for the series that a filter selects.
Result<Rows> choose_series(Connection& connection, const ResultsFilter& filter,
                           std::string_view select, std::string_view order, std::size_t limit) {
  return connection.query(
      fmt::format("{}WHERE series.id IN ({}) AND ?1=0 AND ?6=0 AND ?9 IS ?9 ORDER BY {} LIMIT ?7",
                  select, series_choice(filter), order),
      0, filter.kernel, filter.metric, filter.message_bytes, json_of(filter.nodes), 0, limit,
      filter.endpoint, filter.rail);
}

}  // namespace

Result<std::vector<SeriesRow>> read_series(Connection& connection, const ResultsFilter& filter) {
  std::vector<SeriesRow> found;
  Rows rows = RG_TRY(choose_series(
      connection, filter, kSeriesColumns, "kernel, metric, endpoints, message_bytes",
      std::min(filter.limit == 0 ? kDefaultResultRows : filter.limit, kMaxResultRows)));
  while (RG_TRY(rows.next())) found.push_back(RG_TRY(series_of(connection, rows)));
  return found;
}

Result<std::optional<std::vector<std::int64_t>>> read_few_series(Connection& connection,
                                                                 const ResultsFilter& filter,
                                                                 std::size_t most) {
  std::vector<std::int64_t> ids;
  Rows rows = RG_TRY(choose_series(connection, filter, "SELECT id FROM series ", "id", most + 1));
  while (RG_TRY(rows.next())) ids.push_back(rows.integer(0));
  if (ids.size() > most) return std::nullopt;
  return ids;
}

namespace {

// The series of one run's attempts that count.
constexpr std::string_view kHeadlines =
    "SELECT series, {0} AS side, headline FROM task CROSS JOIN attempt ON attempt.task=task.id AND "
    "attempt.attempt=counted_attempt AND attempt.outcome='passed' CROSS JOIN rank ON "
    "rank.attempt=attempt.id CROSS JOIN point ON point.id BETWEEN rank.id << 20 AND (rank.id << "
    "20) + 1048575 WHERE task.run=?{1}";

// A series' headlines in both runs.
struct Headlines {
  std::int64_t series = 0;
  std::array<std::vector<double>, 2> values{};
};

// Counts the series; of one that both runs have the row goes to the comparison.
Status add_series(Connection& connection, Headlines& headlines, std::size_t max_series,
                  ComparisonRow& comparison) {
  auto& [in_a, in_b] = headlines.values;
  comparison.only_a += in_b.empty() && !in_a.empty() ? 1 : 0;
  comparison.only_b += in_a.empty() && !in_b.empty() ? 1 : 0;
  if (in_a.empty() || in_b.empty()) return {};
  if (comparison.rows.size() >= max_series)
    return fail(Code::kInvalidArgument,
                fmt::format("compare: the runs have more than {} series in common; compare what "
                            "export gives of each, or ask with sql",
                            max_series));
  comparison.rows.push_back({.series = RG_TRY(read_one_series(connection, headlines.series)),
                             .a = median_in(in_a),
                             .b = median_in(in_b),
                             .points_a = static_cast<std::uint32_t>(in_a.size()),
                             .points_b = static_cast<std::uint32_t>(in_b.size())});
  return {};
}

}  // namespace

// Series after series: of two runs of millions only those that are answered are in memory.
Result<ComparisonRow> compare_runs(Connection& connection, std::string_view a, std::string_view b,
                                   std::size_t max_series) {
  const std::int64_t run_a = RG_TRY(id_of_run(connection, a));
  const std::int64_t run_b = RG_TRY(id_of_run(connection, b));
  ComparisonRow comparison;
  Headlines present;
  Rows rows = RG_TRY(connection.query(
      fmt::format("{} UNION ALL {} ORDER BY 1", fmt::format(fmt::runtime(kHeadlines), 0, 1),
                  fmt::format(fmt::runtime(kHeadlines), 1, 2)),
      run_a, run_b));
  while (RG_TRY(rows.next())) {
    if (const std::int64_t series = rows.integer(0); series != present.series) {
      RG_TRY_OK(add_series(connection, present, max_series, comparison));
      present = Headlines{.series = series, .values = {}};
    }
    present.values[rows.integer(1)].push_back(rows.real(2));
  }
  RG_TRY_OK(add_series(connection, present, max_series, comparison));
  return comparison;
}

Result<SqlTable> read_table(Rows& rows, std::uint32_t max_rows) {
  SqlTable table;
  for (int column = 0; column < rows.column_count(); ++column)
    table.columns.push_back(rows.column_name(column));
  std::size_t bytes = 0;
  while (RG_TRY(rows.next())) {
    table.truncated = table.rows.size() >= max_rows || bytes > kMaxSqlBytes;
    if (table.truncated) return table;
    auto& row = table.rows.emplace_back();
    for (int column = 0; column < rows.column_count(); ++column) {
      row.push_back(rows.value(column));
      const auto* text = std::get_if<std::string>(&row.back());
      bytes += text == nullptr ? sizeof(double) : text->size();
    }
  }
  return table;
}

Result<SqlTable> run_sql(Connection& connection, const std::string& sql, std::uint32_t max_rows) {
  Rows rows = RG_TRY(connection.query_once(sql));
  auto table = read_table(rows, max_rows);
  // An error that SQLite finds at run time ("string or blob too big") is the statement's fault as
  // well.
  if (!table && table.error().code == Code::kInternal)
    return fail(Code::kInvalidArgument, fmt::format("sql: {}", table.error().message));
  return table;
}

}  // namespace railgauge::store
