#include "controller/history/archive.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <span>

#include <fmt/format.h>

#include "controller/api/contract.h"
#include "controller/fleet/convert.h"
#include "controller/fleet/event_loop.h"
#include "controller/history/gpu_pairs.h"
#include "controller/history/matrix_overview.h"
#include "controller/history/merged_matrix.h"
#include "controller/history/pair_figures.h"
#include "controller/history/run_suspects.h"
#include "controller/history/sql_process.h"
#include "controller/history/sql_table.h"
#include "controller/localise/localise_report.h"
#include "controller/localise/retest/suspects_followup.h"
#include "controller/nodes/known_nodes.h"
#include "controller/store/nodes/node_facts.h"
#include "controller/store/queries/bundle.h"
#include "controller/store/rows/point_flags.h"
#include "controller/store/upkeep/backup_folder.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

// Points of one message: some 2 MB, below gRPC's limit of 4 MB.
constexpr std::uint32_t kExportRows = 2'000;
// Bounds of one query, where the request states none and at most.
constexpr std::uint32_t kDefaultSqlRows = 1'000;
constexpr std::uint32_t kMaxSqlRows = 100'000;
constexpr double kDefaultSqlSeconds = 10;
constexpr double kMaxSqlSeconds = 60;
// Points of a history whose request states no limit.
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

// The identity of a series.
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

// A point with its flags as booleans; intervals that were not measured stay absent.
api::HistoryPoint to_api(const store::HistoryPointRow& row) {
  api::HistoryPoint point;
  point.set_measured_at(rfc3339(row.measured_at));
  point.set_run_id(row.run_id);
  if (!row.outcome.empty()) point.set_outcome(row.outcome);
  point.set_headline(row.headline);
  point.set_median(row.median);
  if (row.median_low) point.set_median_low(*row.median_low);
  if (row.median_high) point.set_median_high(*row.median_high);
  if (row.p99) point.set_p99(*row.p99);
  point.set_sample_count(row.sample_count);
  point.set_converged((row.flags & store::kFlagConverged) != 0);
  point.set_synthetic((row.flags & store::kFlagSynthetic) != 0);
  point.set_verified((row.flags & store::kFlagVerified) != 0);
  point.set_throttled((row.flags & store::kFlagThrottled) != 0);
  if (row.rate_low) point.set_rate_low(*row.rate_low);
  if (row.rate_high) point.set_rate_high(*row.rate_high);
  if (row.slot_p10) point.set_slot_p10(*row.slot_p10);
  if (row.pause_share) point.set_pause_share(*row.pause_share);
  if (row.epoch) point.set_epoch(static_cast<std::uint32_t>(*row.epoch));
  return point;
}

// A day of which only the summary is kept.
api::HistoryDay to_api(const store::HistoryDayRow& row) {
  api::HistoryDay day;
  day.set_day_at(rfc3339(row.day_at));
  day.set_point_count(row.point_count);
  day.set_mean(row.mean);
  day.set_lowest(row.lowest);
  day.set_highest(row.highest);
  return day;
}

// Reports whether the filter leaves few series, so that reading by series may be cheaper.
bool chooses_series(const store::ResultsFilter& filter) {
  return !filter.nodes.empty() || !filter.endpoint.empty() || !filter.kernel.empty() ||
         !filter.metric.empty() || filter.message_bytes || filter.rail;
}

// The request as a filter of the store. kInvalidArgument: its node set is wrong. A node is found by
// each name that it had: its earlier results are its own.
Result<store::ResultsFilter> filter_of(const store::Store& store,
                                       const api::PointsRequest& request) {
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
  filter.nodes = RG_TRY(choose_nodes(store, request.node_set()));
  return filter;
}

// Adds the leaf switches to a table of names, as a column of its own. The site's topology is not
// the store's, yet texts of a bundle may name its switches.
Status add_leaves(const store::Store& store, const LeafSource& source, api::SqlTable& table) {
  if (!source) return {};
  table.add_columns("leaf");
  for (api::SqlRow& row : *table.mutable_rows()) row.add_values();
  std::set<std::string> leaves;
  const store::PlaceWanted wanted{.names = {}, .facts = source.facts()};
  for (const auto& [node, leaf] : source(RG_TRY(store.read(store::read_placed_nodes, wanted))))
    leaves.insert(leaf);
  for (const std::string& leaf : leaves) {
    api::SqlRow& row = *table.add_rows();
    for (int column = 1; column < table.columns_size(); ++column) row.add_values();
    row.add_values()->set_text(leaf);
  }
  return {};
}

}  // namespace

Result<api::ResultList> Archive::find_points(const api::PointsRequest& request) {
  const store::ResultsFilter filter = RG_TRY(filter_of(store_, request));
  auto list = new_document<api::ResultList>();
  for (store::ResultRow& row : RG_TRY(as_wrong_use(store_.results(filter))))
    *list.add_points() = railgauge::to_api(std::move(row));
  return list;
}

// An export of one run reads a short range of keys and needs no list of series.
Result<ExportCursor> Archive::begin_export(const api::PointsRequest& request) {
  constexpr double kPageBytes = 32e6;  // a page and its copy on the way out
  if (may_take_) RG_TRY_OK(may_take_(kPageBytes));
  ExportCursor cursor{.filter = RG_TRY(filter_of(store_, request))};
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

// A page that is not full has reached the end of its range.
Status Archive::read_range(ExportCursor& cursor, std::int64_t window, api::ResultList& list) {
  store::PointRange& range = *cursor.filter.range;
  range.through = std::min(cursor.through, window);
  std::vector<store::ResultRow> rows = RG_TRY(as_wrong_use(store_.results(cursor.filter)));
  range.after = rows.size() < kExportRows ? range.through : rows.back().point_id;
  for (store::ResultRow& row : rows) *list.add_points() = railgauge::to_api(std::move(row));
  return {};
}

// Reads on until a page has points, so that an empty list is the end alone.
Result<api::ResultList> Archive::next_points(ExportCursor& cursor, const Cancelled& cancelled) {
  auto list = new_document<api::ResultList>();
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
  const store::ResultsFilter filter = RG_TRY(filter_of(store_, request));
  auto list = new_document<api::SeriesList>();
  for (const store::SeriesRow& row : RG_TRY(store_.list_series(filter)))
    *list.add_series() = to_api(row);
  return list;
}

// The limit is bounded, whatever the request asks for.
Result<api::History> Archive::get_history(const api::HistoryRequest& request) {
  const std::uint32_t limit = request.limit() == 0 ? kDefaultHistory : request.limit();
  const store::HistoryRow row = RG_TRY(as_wrong_use(store_.history(
      request.series_id(), when(request.has_since_unix_seconds(), request.since_unix_seconds()),
      std::min(limit, store::kMaxResultRows))));
  auto history = new_document<api::History>();
  *history.mutable_series() = to_api(row.series);
  for (const store::HistoryPointRow& point : row.points) *history.add_points() = to_api(point);
  for (const store::HistoryDayRow& day : row.days) *history.add_days() = to_api(day);
  return history;
}

Result<api::Comparison> Archive::compare_runs(const api::CompareRequest& request) {
  const store::ComparisonRow rows =
      RG_TRY(as_wrong_use(store_.compare(request.run_a(), request.run_b())));
  auto comparison = new_document<api::Comparison>();
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

Result<api::SqlTable> Archive::run_statement(const std::string& sql, std::uint32_t rows,
                                             double seconds, const Cancelled& cancelled) {
  if (!sql_program_.empty()) {
    api::SqlRequest bounded;
    bounded.set_sql(sql);
    bounded.set_max_rows(rows);
    bounded.set_max_seconds(seconds);
    return run_sql_process(sql_program_, store_.path(), bounded, cancelled);
  }
  const auto table = store_.sql(sql, rows, seconds, cancelled);
  if (!table) return tl::unexpected(table.error());
  return to_api(*table);
}

// The message of a deadline names the bound that the caller may raise.
Result<api::SqlTable> Archive::run_sql(const api::SqlRequest& request, const Cancelled& cancelled) {
  if (cancelled && cancelled()) return fail(Code::kCancelled, "sql: the caller left");
  if (may_take_) RG_TRY_OK(may_take_(static_cast<double>(kSqlMemoryBytes)));
  const std::uint32_t rows =
      std::min(request.max_rows() == 0 ? kDefaultSqlRows : request.max_rows(), kMaxSqlRows);
  const bool given = request.max_seconds() > 0;
  const double seconds =
      given ? std::min(request.max_seconds(), kMaxSqlSeconds) : kDefaultSqlSeconds;
  const auto table = run_statement(request.sql(), rows, seconds, cancelled);
  if (table) return table;
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

// Leaves join the known names, so that the redaction covers them.
Result<api::BundlePart> Archive::get_bundle_part(const api::BundleRequest& request) {
  const store::BundlePartRow row =
      RG_TRY(as_wrong_use(store_.read(store::read_bundle_part, request.subject(), request.part())));
  api::BundlePart part;
  part.set_kind(row.kind);
  part.set_run_id(row.run_id);
  part.set_node(row.node);
  part.set_name(row.name);
  part.set_about(row.about);
  *part.mutable_table() = to_api(row.table);
  part.set_last(row.last);
  if (row.name == store::kKnownNames) RG_TRY_OK(add_leaves(store_, leaves_, *part.mutable_table()));
  return part;
}

// A growth rate needs at least a day of history.
Result<api::Space> Archive::get_space(const api::SpaceRequest&, const Cancelled& cancelled) {
  const store::SpaceRow row = RG_TRY(store_.space(cancelled));
  auto space = new_document<api::Space>();
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

Result<api::DatabaseCheck> Archive::check_database(const api::CheckRequest&,
                                                   const Cancelled& cancelled) {
  const std::vector<std::string> problems = RG_TRY(store_.check(cancelled));
  auto check = new_document<api::DatabaseCheck>();
  check.set_sound(problems.empty());
  for (const std::string& problem : problems) check.add_problems(valid_utf8(problem));
  return check;
}

// The path is resolved by the controller, whose working folder the caller does not know.
Result<api::BackUpReport> Archive::back_up(const api::BackUpRequest& request) {
  const std::string path = RG_TRY(store::backup_target(backup_folder_, request.path()));
  RG_TRY_OK(store_.back_up(path));
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  auto report = new_document<api::BackUpReport>();
  report.set_path(path);
  report.set_bytes(error ? 0 : static_cast<double>(bytes));
  return report;
}

// Limits that the request does not state are those of the settings. The audit trail is left to the
// controller's own pruning.
Result<api::PruneReport> Archive::prune(const api::PruneRequest& request) {
  store::Retention retention = [this] {
    const std::lock_guard lock(retention_mutex_);
    return retention_;
  }();
  if (request.has_raw_sample_days()) retention.raw_sample_days = request.raw_sample_days();
  if (request.has_distribution_days()) retention.distribution_days = request.distribution_days();
  if (request.has_point_days()) retention.point_days = request.point_days();
  retention.audit_days = 0;
  const store::PruneCounts counts = RG_TRY(store_.prune(retention, fleet::unix_seconds()));
  auto report = new_document<api::PruneReport>();
  report.set_raw_samples(counts.raw_samples);
  report.set_distributions(counts.distributions);
  report.set_points(counts.points);
  report.set_freed_bytes(counts.freed_bytes);
  return report;
}

Result<api::AuditList> Archive::list_audit(const api::AuditRequest& request) {
  constexpr std::uint32_t kDefaultRows = 100;
  constexpr std::uint32_t kMaxRows = 5'000;  // below gRPC's limit of a message
  const std::uint32_t limit = request.limit() == 0 ? kDefaultRows : request.limit();
  const auto rows = RG_TRY(store_.read(
      store::read_audit, store::AuditFilter{.since = when(request.has_since_unix_seconds(),
                                                          request.since_unix_seconds()),
                                            .who = request.who(),
                                            .rpc = request.rpc(),
                                            .refused = request.refused(),
                                            .limit = std::min(limit, kMaxRows)}));
  auto list = new_document<api::AuditList>();
  for (const store::AuditRow& row : rows) {
    api::AuditEntry& entry = *list.add_entries();
    entry.set_at(rfc3339(row.at));
    entry.set_who(row.who);
    entry.set_role(row.role);
    if (!row.address.empty()) entry.set_address(row.address);
    entry.set_rpc(row.rpc);
    if (!row.subject.empty()) entry.set_subject(row.subject);
    entry.set_outcome(row.outcome);
    if (!row.reason.empty()) entry.set_reason(row.reason);
    entry.set_refused(row.refused);
    entry.set_count(row.count);
  }
  return list;
}

// --- pairs of nodes ---

namespace {

using localise::Element;
using localise::Kind;

// The series as lists of alternatives name it.
std::string series_text(const PairSeries& series) {
  return fmt::format("{} {} {}", series.kernel, series.metric, series.message_bytes);
}

// Sets the run and the series that a matrix or a list of suspects is about.
template <class Message>
void describe(const PairFigures& figures, Message& out) {
  out.set_schema_version(kSchemaVersion);
  out.set_run_id(figures.run_id);
  out.set_kernel(figures.series.kernel);
  out.set_metric(figures.series.metric);
  out.set_meaning(figures.series.meaning);
  out.set_unit(figures.series.unit);
  out.set_message_bytes(figures.series.message_bytes);
  out.set_larger_is_better(figures.series.larger_is_better);
}

// A layer as an error names it: "rail 3 gpu".
std::string layer_text(const localise::Layer& layer) {
  return fmt::format("rail {}{}{}", layer.rail, layer.memory.empty() ? "" : " ", layer.memory);
}

// Names the parts of a suspect: an element refers to nodes and leaves by number.
void name_parts(const localise::PairData& data, const Element& element, api::Suspect& suspect) {
  const auto first = static_cast<std::size_t>(element.first);
  const auto second = static_cast<std::size_t>(element.second);
  switch (element.kind) {
    case Kind::kPair:
      suspect.set_other_node(data.nodes[second]);
      [[fallthrough]];
    case Kind::kPort:
    case Kind::kNode:
      suspect.set_node(data.nodes[first]);
      break;
    case Kind::kTrunk:
      suspect.set_other_leaf(data.leaves[second]);
      [[fallthrough]];
    case Kind::kLeaf:
    case Kind::kUplink:
      suspect.set_leaf(data.leaves[first]);
      break;
    case Kind::kRail:
    case Kind::kSpine:
      break;
  }
  if (element.rail >= 0) suspect.set_rail(element.rail);
}

// One suspect with the pairs that are its evidence.
api::Suspect to_api(const localise::PairData& data, const localise::Suspect& found) {
  const auto node = [&data](std::int32_t index) {
    return data.nodes[static_cast<std::size_t>(index)];
  };
  api::Suspect suspect;
  suspect.set_name(localise::name_of(data, found.element));
  suspect.set_kind(std::string(localise::kind_word_among(data.ends, found.element.kind)));
  suspect.set_direction(std::string(localise::direction_word(found.element.direction)));
  name_parts(data, found.element, suspect);
  suspect.set_memory(found.element.memory);
  suspect.set_intermittent(found.element.intermittent);
  suspect.set_confirmed(found.confirmed);
  suspect.set_drop_share(found.drop);
  suspect.set_slow_share(found.share);
  suspect.set_tasks(found.tasks);
  suspect.set_slow_tasks(found.slow_tasks);
  suspect.set_expected(found.expected);
  suspect.set_seen(found.seen);
  for (const std::string& text : found.ruled_out) suspect.add_ruled_out(text);
  suspect.set_sentence(found.sentence);
  for (const localise::PairFigure& figure : found.evidence) {
    api::SuspectEvidence& evidence = *suspect.add_evidence();
    evidence.set_from(node(figure.from));
    evidence.set_to(node(figure.to));
    evidence.set_rail(figure.rail);
    evidence.set_memory(figure.memory);
    evidence.set_expected(figure.expected);
    evidence.set_seen(figure.seen);
  }
  return suspect;
}

// Adds the retests of suspects. A retest outranks the conclusion from the planned figures alone.
void add_retests(const std::vector<localise::Retest>& retests, api::SuspectList& list) {
  for (const localise::Retest& retest : retests) {
    api::Suspect& suspect = *list.mutable_suspects(static_cast<int>(retest.suspect));
    suspect.set_retest(retest.sentence);
    suspect.set_retest_answer(std::string(localise::answer_word(retest.answer)));
    if (retest.answer == localise::Answer::kConfirmed) suspect.set_confirmed(true);
    if (retest.answer == localise::Answer::kCleared) suspect.set_confirmed(false);
  }
}

}  // namespace

// Runs of the suite without such figures are left out: a night may lack a stage.
Result<api::PairMatrix> Archive::get_matrix(const api::PairsRequest& request) {
  auto newest = RG_TRY(matrix_of_run(request));
  if (request.runs() == 0) return newest;
  if (request.runs() > MergedMatrix::kMostRuns)
    return fail(Code::kInvalidArgument, fmt::format("a matrix has at most {} runs, {} are wanted",
                                                    MergedMatrix::kMostRuns, request.runs()));
  const std::vector<store::SuiteRun> runs =
      RG_TRY(store_.read(store::read_runs_of_suite, newest.run_id(), request.runs()));
  api::PairsRequest same = request;
  same.set_kernel(newest.kernel());
  same.set_metric(newest.metric());
  same.set_message_bytes(newest.message_bytes());
  same.set_rail(newest.rail());
  same.set_memory(newest.memory());
  MergedMatrix merged(std::move(newest), runs.front().ended_at);
  for (const store::SuiteRun& run : std::span(runs).subspan(1)) {
    same.set_run_id(run.run_id);
    const auto older = matrix_of_run(same);
    if (older)
      merged.add(*older, run.ended_at);
    else if (older.error().code != Code::kInvalidArgument)
      return tl::unexpected(older.error());
  }
  return std::move(merged).matrix();
}

// The first layer that fits is returned, the others are named.
Result<api::PairMatrix> Archive::matrix_of_run(const api::PairsRequest& request) {
  const PairFigures figures = RG_TRY(as_wrong_use(read_shown_figures(store_, request, leaves_)));
  const localise::PairData& data = figures.data;
  const localise::Layer* chosen = nullptr;
  api::PairMatrix matrix;
  for (const localise::Layer& layer : data.layers) {
    const bool fits = (!request.has_rail() || layer.rail == request.rail()) &&
                      (request.memory().empty() || layer.memory == request.memory());
    if (fits && chosen == nullptr)
      chosen = &layer;
    else
      matrix.add_other_layers(layer_text(layer));
  }
  if (chosen == nullptr)
    return fail(Code::kInvalidArgument,
                fmt::format("run {}: no pair was measured so; there is {}", figures.run_id,
                            fmt::join(matrix.other_layers(), ", ")));
  describe(figures, matrix);
  matrix.set_rail(chosen->rail);
  matrix.set_memory(chosen->memory);
  for (std::size_t node = 0; node < data.nodes.size(); ++node) {
    matrix.add_nodes(data.nodes[node]);
    const std::int32_t leaf = data.leaf_of.empty() ? -1 : data.leaf_of[node];
    matrix.add_leaves(leaf < 0 ? "" : data.leaves[static_cast<std::size_t>(leaf)]);
  }
  matrix.set_between_gpus(data.ends == localise::Ends::kGpus);
  for (const float value : chosen->values) matrix.add_values(value > 0 ? value : 0);
  for (const PairSeries& other : figures.others) matrix.add_other_series(series_text(other));
  matrix.set_synthetic(data.synthetic);
  return matrix;
}

Result<api::MatrixOverview> Archive::get_matrix_overview(const api::PairsRequest& request) {
  return read_overview(store_, request);
}

Result<api::MatrixBlock> Archive::get_matrix_block(const api::MatrixBlockRequest& request) {
  return read_block(store_, request);
}

// Suspects without a retest list the tasks that would separate them.
Result<api::SuspectList> Archive::get_suspects(const api::PairsRequest& request) {
  const RunSuspects suspects = RG_TRY(as_wrong_use(read_shown_suspects(store_, request, leaves_)));
  const auto& [figures, found, wanted_tasks, retests] = suspects;
  const localise::PairData& data = figures.data;
  api::SuspectList list;
  describe(figures, list);
  list.set_nodes(static_cast<std::uint32_t>(data.nodes.size()));
  list.set_leaves(static_cast<std::uint32_t>(data.leaves.size()));
  list.set_measured_pairs(found.measured_pairs);
  list.set_possible_pairs(found.possible_pairs);
  list.set_noise_share(found.noise);
  for (const std::int32_t node : found.unmeasured_nodes)
    list.add_unmeasured_nodes(data.nodes[static_cast<std::size_t>(node)]);
  list.set_synthetic(found.synthetic);
  list.set_between_gpus(data.ends == localise::Ends::kGpus);
  for (const PairSeries& other : figures.others) list.add_other_series(series_text(other));
  for (const localise::Suspect& suspect : found.suspects) {
    *list.add_suspects() = to_api(data, suspect);
    list.mutable_suspects()->rbegin()->set_place(static_cast<std::uint32_t>(list.suspects_size()));
  }
  add_retests(retests, list);
  for (const localise::FollowUp& wanted : wanted_tasks) {
    if (!list.suspects(static_cast<int>(wanted.suspect)).retest().empty()) continue;
    api::WantedTask& task = *list.mutable_suspects(static_cast<int>(wanted.suspect))->add_wanted();
    task.set_purpose(std::string(localise::purpose_word(wanted.purpose)));
    task.set_from(data.nodes[static_cast<std::size_t>(wanted.from)]);
    task.set_to(data.nodes[static_cast<std::size_t>(wanted.to)]);
    task.set_rail(wanted.rail);
    task.set_memory(wanted.memory);
  }
  return list;
}

}  // namespace railgauge
