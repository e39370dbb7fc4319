#include "controller/history/archive.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "controller/fleet/convert.h"
#include "controller/plan/topology/node_set.h"
#include "controller/store/ingest/record_sink.h"
#include "controller/store/queries/bundle.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kExportRows = 2'000;  // of one message: some 2 MB
constexpr std::uint32_t kDefaultSqlRows = 1'000;
constexpr std::uint32_t kMaxSqlRows = 100'000;
constexpr double kDefaultSqlSeconds = 10;
constexpr double kMaxSqlSeconds = 60;
constexpr std::uint32_t kDefaultHistory = 1'000;
constexpr double kDaySeconds = 86'400;

// A name that the caller got wrong is wrong use, not a missing part of the system.
template <class Value>
Result<Value> as_wrong_use(Result<Value> result) {
  if (!result && result.error().code == Code::kNotFound)
    return fail(Code::kInvalidArgument, result.error().message);
  return result;
}

template <class Value>
std::optional<Value> when(bool has, Value value) {
  return has ? std::optional<Value>(value) : std::nullopt;
}

api::Series to_api(const store::SeriesRow& row) {
  api::Series series;
  series.set_series_id(static_cast<std::uint32_t>(row.series_id));
  series.set_kernel(row.kernel);
  series.set_revision(row.revision);
  series.set_metric(row.metric);
  series.set_meaning(row.meaning);
  series.set_unit(row.unit);
  series.set_larger_is_better(row.larger_is_better);
  series.set_message_bytes(row.message_bytes);
  series.set_rank(row.rank);
  for (const std::string& endpoint : row.endpoints) series.add_endpoints(endpoint);
  series.set_pair(row.pair);
  series.mutable_parameters()->insert(row.parameters.begin(), row.parameters.end());
  return series;
}

api::HistoryPoint to_api(const store::HistoryPointRow& row) {
  api::HistoryPoint point;
  point.set_measured_at(rfc3339(row.measured_at));
  point.set_run_id(row.run_id);
  if (!row.outcome.empty()) point.set_outcome(row.outcome);
  point.set_median(row.median);
  if (row.median_low) point.set_median_low(*row.median_low);
  if (row.median_high) point.set_median_high(*row.median_high);
  if (row.p99) point.set_p99(*row.p99);
  point.set_sample_count(row.sample_count);
  point.set_converged((row.flags & store::kFlagConverged) != 0);
  point.set_synthetic((row.flags & store::kFlagSynthetic) != 0);
  point.set_verified((row.flags & store::kFlagVerified) != 0);
  point.set_throttled((row.flags & store::kFlagThrottled) != 0);
  if (row.epoch) point.set_epoch(static_cast<std::uint32_t>(*row.epoch));
  return point;
}

api::HistoryDay to_api(const store::HistoryDayRow& row) {
  api::HistoryDay day;
  day.set_day_at(rfc3339(row.day_at));
  day.set_point_count(row.point_count);
  day.set_mean(row.mean);
  day.set_lowest(row.lowest);
  day.set_highest(row.highest);
  return day;
}

api::SqlTable to_api(const store::SqlTable& table) {
  api::SqlTable answer;
  for (const std::string& column : table.columns) answer.add_columns(valid_utf8(column));
  for (const auto& row : table.rows) {
    api::SqlRow& out = *answer.add_rows();
    for (const store::SqlValue& value : row) {
      api::SqlValue& cell = *out.add_values();
      if (const auto* number = std::get_if<double>(&value)) cell.set_number(*number);
      if (const auto* whole = std::get_if<std::int64_t>(&value)) cell.set_integer(*whole);
      if (const auto* text = std::get_if<std::string>(&value)) cell.set_text(valid_utf8(*text));
    }
  }
  answer.set_truncated(table.truncated);
  return answer;
}

bool chooses_series(const store::ResultsFilter& filter) {
  return !filter.nodes.empty() || !filter.endpoint.empty() || !filter.kernel.empty() ||
         !filter.metric.empty() || filter.message_bytes || filter.rail;
}

double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

Result<store::ResultsFilter> Archive::filter_of(const api::PointsRequest& request) {
  store::ResultsFilter filter;
  filter.run_id = request.run_id();
  filter.kernel = request.kernel();
  filter.metric = request.metric();
  filter.message_bytes = when(request.has_message_bytes(), request.message_bytes());
  filter.endpoint = request.endpoint();
  filter.rail = when(request.has_rail(), request.rail());
  filter.stack = request.stack();
  filter.series = when<std::int64_t>(request.has_series_id(), request.series_id());
  filter.since = when(request.has_since_unix_seconds(), request.since_unix_seconds());
  filter.until = when(request.has_until_unix_seconds(), request.until_unix_seconds());
  filter.all_attempts = request.all_attempts();
  filter.limit = request.limit();
  if (request.node_set().empty()) return filter;
  // A node is found by each name that it had: what was measured then is its own.
  const std::vector<std::string> names = RG_TRY(store_.node_names());
  filter.nodes = RG_TRY(plan::select_nodes(request.node_set(), names));
  return filter;
}

Result<api::ResultList> Archive::find_points(const api::PointsRequest& request) {
  const store::ResultsFilter filter = RG_TRY(filter_of(request));
  api::ResultList list;
  list.set_schema_version(kVersion);
  for (store::ResultRow& row : RG_TRY(as_wrong_use(store_.results(filter))))
    *list.add_points() = railgauge::to_api(std::move(row));
  return list;
}

Result<ExportCursor> Archive::begin_export(const api::PointsRequest& request) {
  ExportCursor cursor{.filter = RG_TRY(filter_of(request))};
  store::ResultsFilter& filter = cursor.filter;
  const store::ExportScope scope = RG_TRY(as_wrong_use(store_.export_scope(filter.run_id)));
  filter.run_id = scope.run_id;
  filter.range = store::PointRange{.after = scope.range.after};
  filter.limit = kExportRows;
  cursor.first = scope.range.after;
  cursor.through = scope.range.through;
  if (filter.series)
    cursor.series = {*filter.series};
  else if (scope.run_id == "all" && chooses_series(filter))
    cursor.series = RG_TRY(store_.few_series(filter, kFewSeries));
  return cursor;
}

// Up to and with key `window`, or as far as a page goes.
Status Archive::read_range(ExportCursor& cursor, std::int64_t window, api::ResultList& list) {
  store::PointRange& range = *cursor.filter.range;
  range.through = std::min(cursor.through, window);
  std::vector<store::ResultRow> rows = RG_TRY(as_wrong_use(store_.results(cursor.filter)));
  range.after = rows.size() < kExportRows ? range.through : rows.back().point_id;
  for (store::ResultRow& row : rows) *list.add_points() = railgauge::to_api(std::move(row));
  return {};
}

Result<api::ResultList> Archive::next_points(ExportCursor& cursor, const Cancelled& cancelled) {
  api::ResultList list;
  list.set_schema_version(kVersion);
  store::PointRange& range = *cursor.filter.range;
  const auto gone = [&] { return cancelled && cancelled(); };
  if (!cursor.series) {
    while (list.points().empty() && range.after < cursor.through && !gone())
      RG_TRY_OK(read_range(cursor, range.after + (export_ranks_ << store::kSequenceBits), list));
  } else {
    // Many of them may have few points each: a message has at most twice the rows of a page.
    while (cursor.at < cursor.series->size() && list.points_size() < int{kExportRows} && !gone()) {
      cursor.filter.series = cursor.series->at(cursor.at);
      RG_TRY_OK(read_range(cursor, cursor.through, list));
      if (range.after < cursor.through) continue;
      range.after = cursor.first;
      ++cursor.at;
    }
  }
  if (gone()) return fail(Code::kCancelled, "export: the caller is gone");
  return list;
}

Result<api::SeriesList> Archive::list_series(const api::PointsRequest& request) {
  const store::ResultsFilter filter = RG_TRY(filter_of(request));
  api::SeriesList list;
  list.set_schema_version(kVersion);
  for (const store::SeriesRow& row : RG_TRY(store_.list_series(filter)))
    *list.add_series() = to_api(row);
  return list;
}

Result<api::History> Archive::get_history(const api::HistoryRequest& request) {
  const std::uint32_t limit = request.limit() == 0 ? kDefaultHistory : request.limit();
  const store::HistoryRow row = RG_TRY(as_wrong_use(store_.history(
      request.series_id(), when(request.has_since_unix_seconds(), request.since_unix_seconds()),
      std::min(limit, store::kMaxResultRows))));
  api::History history;
  history.set_schema_version(kVersion);
  *history.mutable_series() = to_api(row.series);
  for (const store::HistoryPointRow& point : row.points) *history.add_points() = to_api(point);
  for (const store::HistoryDayRow& day : row.days) *history.add_days() = to_api(day);
  return history;
}

Result<api::Comparison> Archive::compare_runs(const api::CompareRequest& request) {
  const store::ComparisonRow rows =
      RG_TRY(as_wrong_use(store_.compare(request.run_a(), request.run_b())));
  api::Comparison comparison;
  comparison.set_schema_version(kVersion);
  comparison.set_run_a(request.run_a());
  comparison.set_run_b(request.run_b());
  comparison.set_series_only_in_a(rows.only_a);
  comparison.set_series_only_in_b(rows.only_b);
  for (const store::ComparedRow& row : rows.rows) {
    api::ComparedSeries& series = *comparison.add_series();
    *series.mutable_series() = to_api(row.series);
    series.set_median_a(row.a);
    series.set_median_b(row.b);
    if (row.a != 0) series.set_b_over_a(row.b / row.a);
    series.set_points_a(row.points_a);
    series.set_points_b(row.points_b);
  }
  return comparison;
}

Result<api::SqlTable> Archive::run_sql(const api::SqlRequest& request, const Cancelled& cancelled) {
  const std::uint32_t rows =
      std::min(request.max_rows() == 0 ? kDefaultSqlRows : request.max_rows(), kMaxSqlRows);
  const bool given = request.max_seconds() > 0;
  const double seconds =
      given ? std::min(request.max_seconds(), kMaxSqlSeconds) : kDefaultSqlSeconds;
  const auto table = store_.sql(request.sql(), rows, seconds, cancelled);
  if (table) return to_api(*table);
  if (table.error().code != Code::kDeadlineExceeded) return tl::unexpected(table.error());
  return fail(Code::kDeadlineExceeded,
              fmt::format("sql: it ran longer than {:g} s; narrow it, or allow more by --seconds",
                          seconds));
}

Result<api::TaskPage> Archive::get_tasks(const api::TasksRequest& request) {
  const store::TaskPageRow row =
      RG_TRY(as_wrong_use(store_.task_page(request.run_id(), request.from())));
  api::TaskPage page;
  *page.mutable_run() = railgauge::to_api(row.summary);
  for (const store::TaskDetailRow& task : row.tasks) *page.add_tasks() = railgauge::to_api(task);
  page.set_next(row.next);
  return page;
}

// The site's topology is not the store's: texts may name its switches all the same.
Status Archive::add_leaves(api::SqlTable& table) {
  if (!leaves_) return {};
  table.add_columns("leaf");
  for (api::SqlRow& row : *table.mutable_rows()) row.add_values();
  std::set<std::string> leaves;
  for (const auto& [node, leaf] : leaves_(RG_TRY(store_.list_nodes()))) leaves.insert(leaf);
  for (const std::string& leaf : leaves) {
    api::SqlRow& row = *table.add_rows();
    for (int column = 1; column < table.columns_size(); ++column) row.add_values();
    row.add_values()->set_text(leaf);
  }
  return {};
}

Result<api::BundlePart> Archive::get_bundle_part(const api::BundleRequest& request) {
  const store::BundlePartRow row =
      RG_TRY(as_wrong_use(store_.bundle_part(request.subject(), request.part())));
  api::BundlePart part;
  part.set_kind(row.kind);
  part.set_run_id(row.run_id);
  part.set_node(row.node);
  part.set_name(row.name);
  part.set_about(row.about);
  *part.mutable_table() = to_api(row.table);
  part.set_last(row.last);
  if (row.name == store::kKnownNames) RG_TRY_OK(add_leaves(*part.mutable_table()));
  return part;
}

Result<api::Space> Archive::get_space(const api::SpaceRequest&) {
  const store::SpaceRow row = RG_TRY(store_.space());
  api::Space space;
  space.set_schema_version(kVersion);
  space.set_file_bytes(row.file_bytes);
  space.set_wal_bytes(row.wal_bytes);
  space.set_free_bytes(row.free_bytes);
  space.set_disk_free_bytes(row.disk_free_bytes);
  space.set_runs(row.runs);
  space.set_points(row.points);
  space.set_nodes(row.nodes);
  if (row.points > 0) space.set_bytes_per_point((row.file_bytes - row.free_bytes) / row.points);
  // A history shorter than a day says nothing about a year.
  if (row.first_run_at && *row.last_run_at - *row.first_run_at >= kDaySeconds)
    space.set_days((*row.last_run_at - *row.first_run_at) / kDaySeconds);
  for (const store::SpacePart& part : row.parts) {
    api::SpacePart& out = *space.add_parts();
    out.set_name(part.name);
    out.set_kind(part.kind);
    out.set_table(part.table);
    out.set_bytes(part.bytes);
    out.set_payload_bytes(part.payload_bytes);
    out.set_entries(part.entries);
  }
  return space;
}

Result<api::DatabaseCheck> Archive::check_database(const api::CheckRequest&) {
  const std::vector<std::string> problems = RG_TRY(store_.check());
  api::DatabaseCheck check;
  check.set_schema_version(kVersion);
  check.set_sound(problems.empty());
  for (const std::string& problem : problems) check.add_problems(valid_utf8(problem));
  return check;
}

Result<api::BackUpReport> Archive::back_up(const api::BackUpRequest& request) {
  if (!request.path().starts_with('/'))
    return fail(Code::kInvalidArgument,
                fmt::format("backup {}: it is a path on the controller's host that begins with /",
                            in_quotes(request.path())));
  RG_TRY_OK(store_.back_up(request.path()));
  std::error_code error;
  const auto bytes = std::filesystem::file_size(request.path(), error);
  api::BackUpReport report;
  report.set_schema_version(kVersion);
  report.set_path(request.path());
  report.set_bytes(error ? 0 : static_cast<double>(bytes));
  return report;
}

Result<api::PruneReport> Archive::prune(const api::PruneRequest& request) {
  store::Retention retention = retention_;
  if (request.has_raw_sample_days()) retention.raw_sample_days = request.raw_sample_days();
  if (request.has_distribution_days()) retention.distribution_days = request.distribution_days();
  if (request.has_point_days()) retention.point_days = request.point_days();
  const store::PruneCounts counts = RG_TRY(store_.prune(retention, unix_seconds()));
  api::PruneReport report;
  report.set_schema_version(kVersion);
  report.set_raw_samples(counts.raw_samples);
  report.set_distributions(counts.distributions);
  report.set_points(counts.points);
  report.set_freed_bytes(counts.freed_bytes);
  return report;
}

}  // namespace railgauge
