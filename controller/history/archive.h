// Reads stored results for clients: each public function answers one rpc of archive.proto. Plain
// values in and out, no gRPC. Called on worker threads.
#pragma once

#include <functional>
#include <utility>

#include "controller/api/archive.pb.h"
#include "controller/fleet/leaf_map.h"
#include "controller/store/store.h"

namespace railgauge {

// Returns whether the caller is gone; empty: never gone. Long work polls it.
using Cancelled = std::function<bool()>;

// The position of an export. One thread at a time.
struct ExportCursor {
  store::ResultsFilter filter{};
  // The last key that belongs to the export.
  std::int64_t through = 0;
  // The series to read one after the other, by their index in the table, when a filter leaves few.
  std::optional<std::vector<std::int64_t>> series{};
  // The index in `series` of the one that is read.
  std::size_t at = 0;
  // The key behind which each series begins.
  std::int64_t first = 0;
};

// The archive over one store; as thread safe as the store, without its own state. An unknown name
// or id is kInvalidArgument.
class Archive {
 public:
  // Bound of the ranks whose points one page of an export examines: with a filter that matches few
  // points, a page without this bound would read the whole table.
  static constexpr std::int64_t kExportRanks = 20'000;
  // An export of at most so many series reads those alone, not along the table.
  static constexpr std::size_t kFewSeries = 20'000;

  // `retention`: the limits of a pruning whose request states none. `leaves`: the leaf switches for
  // matrices and suspects. `backup_folder`: the only place of backups; "": none is made.
  explicit Archive(store::Store& store, store::Retention retention = {},
                   std::int64_t export_ranks = kExportRanks, LeafSource leaves = {},
                   std::string backup_folder = {})
      : store_(store),
        retention_(retention),
        export_ranks_(export_ranks),
        leaves_(std::move(leaves)),
        backup_folder_(std::move(backup_folder)) {}

  // Statements of run_sql() run in processes of this program from now on (sql_process.h), instead
  // of in this one. Call it before the first call.
  void set_sql_program(std::string program) { sql_program_ = std::move(program); }

  // SQL and exports begin only while `may_take`, called with their bytes of memory, succeeds. Call
  // it before the first call.
  void set_gate(std::function<Status(double bytes)> may_take) { may_take_ = std::move(may_take); }

  // The points that the request matches, at most its limit.
  Result<api::ResultList> find_points(const api::PointsRequest& request);
  // Fixes the run and the points of an export: points that arrive meanwhile do not mix in.
  Result<ExportCursor> begin_export(const api::PointsRequest& request);
  // The next points, by series and key where few series are chosen, else by key; an empty list is
  // the end. kCancelled: the caller is gone.
  Result<api::ResultList> next_points(ExportCursor& cursor, const Cancelled& cancelled = {});
  // The series that the request matches.
  Result<api::SeriesList> list_series(const api::PointsRequest& request);
  // One series with its newest points, and days whose points are pruned.
  Result<api::History> get_history(const api::HistoryRequest& request);
  // The medians of two runs, for each series that both have.
  Result<api::Comparison> compare_runs(const api::CompareRequest& request);
  // Runs one SELECT within bounds of rows and seconds. kDeadlineExceeded: it ran longer.
  Result<api::SqlTable> run_sql(const api::SqlRequest& request, const Cancelled& cancelled = {});
  // A page of the tasks of a run, with the position of the next page.
  Result<api::TaskPage> get_tasks(const api::TasksRequest& request);
  // Returns one part of a support bundle; the last part is marked as such.
  Result<api::BundlePart> get_bundle_part(const api::BundleRequest& request);
  // The size of the database by table, with the free space of its disk; bytes.
  // kCancelled, here and below: the caller is gone, or a pruning began.
  Result<api::Space> get_space(const api::SpaceRequest& request, const Cancelled& cancelled = {});
  // Checks the database file and lists its problems.
  Result<api::DatabaseCheck> check_database(const api::CheckRequest& request,
                                            const Cancelled& cancelled = {});
  // Copies the database into the backup folder while it is in use. Errors: backup_target()'s and
  // the store's.
  Result<api::BackUpReport> back_up(const api::BackUpRequest& request);
  // The limits from now on of a pruning whose request states none.
  void set_retention(store::Retention retention) {
    const std::lock_guard lock(retention_mutex_);
    retention_ = retention;
  }
  // Removes old details by the retention of the request, and reports the rows that were removed.
  Result<api::PruneReport> prune(const api::PruneRequest& request);
  // Events of nodes, runs and the controller, newest first, or those after one of them.
  Result<api::EventList> list_events(const api::EventsRequest& request);
  // The ends of a run's tasks, grouped by stage, kernel, outcome and kind of reason.
  Result<api::TaskGroups> get_task_groups(const api::TaskGroupsRequest& request);
  // The audit trail, newest first.
  Result<api::AuditList> list_audit(const api::AuditRequest& request);
  // The figures of one rail and memory by pair of nodes, of one run or of several runs of its
  // suite. kInvalidArgument: the run has no such figures.
  Result<api::PairMatrix> get_matrix(const api::PairsRequest& request);
  // A large matrix in coarse cells, and figures of it (matrix_overview.h).
  Result<api::MatrixOverview> get_matrix_overview(const api::PairsRequest& request);
  Result<api::MatrixBlock> get_matrix_block(const api::MatrixBlockRequest& request);
  // The parts of the fabric that explain slow pairs, with retests that the run measured.
  Result<api::SuspectList> get_suspects(const api::PairsRequest& request);

 private:
  Result<api::PairMatrix> matrix_of_run(const api::PairsRequest& request);
  // Adds the next points up to and with key `window`, or as far as a page reaches.
  Status read_range(ExportCursor& cursor, std::int64_t window, api::ResultList& list);

  Result<api::SqlTable> run_statement(const std::string& sql, std::uint32_t rows, double seconds,
                                      const Cancelled& cancelled);

  store::Store& store_;
  std::string sql_program_;
  std::function<Status(double bytes)> may_take_;  // may be empty
  std::mutex retention_mutex_;
  store::Retention retention_;
  const std::int64_t export_ranks_;
  const LeafSource leaves_;
  const std::string backup_folder_;
};

}  // namespace railgauge
