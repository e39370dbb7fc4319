// Queries over runs, results, series and nodes. Each function runs in one read transaction of the
// connection, which sees one snapshot.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/store/rows/rows.h"
#include "controller/store/rows/stack_parts.h"
#include "kernels/core/base/record.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

class Connection;
class Rows;

// A point's key in the terms of people and records.
struct PointKey {
  std::string_view run_id;
  std::string_view task_id;
  std::uint32_t attempt = 0;
  std::uint32_t rank = 0;
  std::uint32_t sequence = 0;
};

Result<std::vector<RunSummaryRow>> read_runs(Connection& connection, std::uint32_t limit);
Result<RunSummaryRow> read_run(Connection& connection, std::string_view run_id);
// Returns how long stages took, of the newest runs of each key, in order of the keys.
Result<std::vector<StageTimeRow>> read_stage_times(Connection& connection);
// Whether a restart of the controller cut short an attempt of the run, so that some of its ranks
// may still deliver their final records.
Result<bool> is_cut_short(Connection& connection, std::string_view run_id);
// Returns the row id of a run. kNotFound: no such run.
Result<std::int64_t> id_of_run(Connection& connection, std::string_view run_id);
Result<RunDetailRow> read_run_detail(Connection& connection, std::string_view run_id);
inline constexpr std::uint32_t kMaxPageTasks = 1'000;
inline constexpr std::size_t kMaxPageBytes = 4U << 20U;
// Reads a page of a run's tasks. `from` is 0 or the `next` of the previous page. The page ends
// after `max_tasks`, or with the first task that makes it larger than `max_bytes`.
Result<TaskPageRow> read_task_page(Connection& connection, std::string_view run_id,
                                   std::int64_t from, std::uint32_t max_tasks,
                                   std::size_t max_bytes);
inline constexpr std::uint32_t kMaxTaskHeads = 10'000;
// Reads a page of a run's tasks without what their ranks reported, in little memory.
Result<TaskHeadsRow> read_task_heads(Connection& connection, std::string_view run_id,
                                     std::int64_t from, std::uint32_t max_tasks);
// Returns the run, and before it the newest ended runs of its suite, `limit` runs in all, the
// newest first. kNotFound: no such run.
Result<std::vector<SuiteRun>> read_runs_of_suite(Connection& connection, const std::string& run_id,
                                                 std::uint32_t limit);
// Returns the tasks of a run that have no row, by stage.
Result<std::vector<TaskRestRow>> read_task_rest(Connection& connection, std::string_view run_id);
Result<std::vector<ResultRow>> read_results(Connection& connection, const ResultsFilter& filter);
// Returns the statement of read_results(). `one_run`: over a single run instead of all runs.
std::string sql_of_results(const ResultsFilter& filter, bool one_run);
// Returns a statement that selects the filter's series: ?2 kernel, ?3 metric, ?4 size, ?5 JSON list
// of nodes, ?8 endpoint ("DEV:PORT" or "gpuN", under its present or a former name), ?9 rail. The
// statement has clauses only for fields that the filter sets and begins with the narrowest one:
// there are hundreds of thousands of series, and no query may read them all to find a few.
std::string series_choice(const ResultsFilter& filter);
// Joins that yield the present names of the endpoint `used`, in `named` and `gpu_named`: an upgrade
// may rename a device in the same place. An endpoint of a port with a GPU gets the names of that
// port and that GPU.
inline constexpr std::string_view kPresentNames =
    "LEFT JOIN endpoint AS plain ON plain.node=used.node AND plain.slot=used.slot AND "
    "plain.port=used.port AND plain.gpu_slot='' LEFT JOIN endpoint_attribute AS named ON "
    "named.endpoint=plain.id AND named.valid_to IS NULL LEFT JOIN endpoint AS gpu ON "
    "used.gpu_slot<>'' AND gpu.node=used.node AND gpu.slot=used.gpu_slot AND gpu.port=0 AND "
    "gpu.gpu_slot='' LEFT JOIN endpoint_attribute AS gpu_named ON gpu_named.endpoint=gpu.id AND "
    "gpu_named.valid_to IS NULL";
// Returns the range of the points that exist now; for a run, from its oldest to its newest key.
// Keys of other runs may be between them.
Result<ExportScope> read_export_scope(Connection& connection, const std::string& run_id);
// Returns the newest `limit` points of a series, oldest first, and the days of its pruned points.
Result<HistoryRow> read_history(Connection& connection, std::int64_t series,
                                std::optional<double> since, std::uint32_t limit);
// Returns the ids of the filter's series, ascending; absent when there are more than `most`.
Result<std::optional<std::vector<std::int64_t>>> read_few_series(Connection& connection,
                                                                 const ResultsFilter& filter,
                                                                 std::size_t most);
// Returns the series that a filter selects by kernel, metric, size, nodes, endpoint and rail.
Result<std::vector<SeriesRow>> read_series(Connection& connection, const ResultsFilter& filter);
Result<SeriesRow> read_one_series(Connection& connection, std::int64_t id);  // kNotFound
inline constexpr std::size_t kMaxComparedSeries = 100'000;
// Compares points of attempts that count and passed. `a`, `b`: ids of runs. kInvalidArgument: the
// runs have more than `max_series` series in common, which take about 1 KB each.
Result<ComparisonRow> compare_runs(Connection& connection, std::string_view a, std::string_view b,
                                   std::size_t max_series = kMaxComparedSeries);
// Reads rows into a table up to its bounds of rows and bytes; sets `truncated` beyond them.
Result<SqlTable> read_table(Rows& rows, std::uint32_t max_rows);
// Runs one statement that only reads. kInvalidArgument, with SQLite's message: any other statement,
// or one that SQLite rejects while it runs.
Result<SqlTable> run_sql(Connection& connection, const std::string& sql, std::uint32_t max_rows);
Result<Histogram> read_histogram(Connection& connection, const PointKey& key);
Result<std::vector<double>> read_samples(Connection& connection, const PointKey& key);
Result<std::vector<std::string>> read_node_names(Connection& connection);  // also former ones
// `name`: that node alone; "" is all.
Result<std::vector<NodeRow>> read_nodes(Connection& connection, std::string_view name = {});
// A node without its facts and endpoints, which take seconds for thousands of nodes.
struct NodeHeadRow {
  std::string name{};
  std::int64_t stack = 0;  // present; 0: it has reported none
};
// By name; of several nodes that had a name, the one seen last.
Result<std::vector<NodeHeadRow>> read_node_heads(Connection& connection);
// Without parts where there is no such stack.
Result<StackParts> read_stack(Connection& connection, std::int64_t stack);
// All node ids ever seen, those of one name in the order in which they were seen last.
Result<std::vector<NodeBond>> read_bonds(Connection& connection);
Result<std::vector<EventRow>> read_events(Connection& connection, std::uint32_t limit);

}  // namespace railgauge::store
