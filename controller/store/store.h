// The controller's database: SQLite in WAL mode, one writer thread that commits in batches, readers
// on connections of their own. Confirmed writes survive a power cut (synchronous=FULL: one fsync of
// the log for each batch, which is why batches exist).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "controller/store/ingest/parcel.h"
#include "controller/store/ingest/run_accounts.h"
#include "controller/store/queries/audit.h"
#include "controller/store/queries/bundle.h"
#include "controller/store/queries/metric_queries.h"
#include "controller/store/queries/pair_matrix.h"
#include "controller/store/queries/queries.h"
#include "controller/store/queries/remarks.h"
#include "controller/store/queries/repeats.h"
#include "controller/store/queries/schedules.h"
#include "controller/store/queries/upgrades.h"
#include "controller/store/rows/audit_rows.h"
#include "controller/store/rows/judge_rows.h"
#include "controller/store/rows/remark_rows.h"
#include "controller/store/rows/rows.h"
#include "controller/store/rows/schedule_rows.h"
#include "kernels/core/base/record.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

// Called exactly once, on the writer thread, after the commit or with the reason why there was
// none. It must not block and must not destroy the store. It may call the store's write functions.
using Completion = std::function<void(const Status&)>;

// The numbers of a spool's records, both ends included.
struct SpoolRange {
  std::int64_t first = 0;
  std::int64_t through = 0;
};

// Sizes are bytes, times are seconds.
struct StoreOptions {
  std::string path{};
  // Back-pressure: beyond these bounds append_records refuses with kResourceExhausted until the
  // writer catches up. The agents' spools hold the records meanwhile.
  std::size_t max_queued_records = 65'536;
  std::size_t max_queued_bytes = 16U << 20U;
  // The most records of one transaction. A batch never waits to be filled.
  std::size_t max_batch_records = 4'096;
  double busy_timeout_seconds = 5;  // wait for the lock of another program (backup, sqlite3 shell)
  double wait_seconds = 30;         // limit of the blocking functions below
  std::uint32_t max_readers = 4;    // connections for queries
  // New runs are refused below this much free space, long before storing fails.
  double min_free_bytes = 512.0 * (1U << 20U);
  // Beyond this the writer waits until a checkpoint succeeded; a reader may block it.
  double max_wal_bytes = 256.0 * (1U << 20U);  // well below min_free_bytes
  // From here on the log is restarted as soon as no reader is in it.
  double large_wal_bytes = 128.0 * (1U << 20U);
  // A check or stats that keeps records waiting for this long is ended.
  double held_seconds = 5;
  double reserve_bytes = 32.0 * (1U << 20U);  // of a file that gives up its room on a full disk
  double query_seconds = 30;                  // limit of one query
  std::int64_t max_orphan_bytes = 1U << 30U;  // bound of records that fit no known run
  std::int64_t max_node_orphan_bytes = 64U << 20U;  // of them, those of one node
  RunAccounts::Bounds node_run{};                   // bound of a node's records in one run
  std::function<double()> clock{};  // tests: seconds since 1970; empty is the system's
  std::int64_t max_pages = 0;       // tests: SQLite's max_page_count, a full disk; 0 is no limit
};

// Whether a write with such a row leaves every list of nodes as it is.
template <class Row>
inline constexpr bool is_of_other_topic =
    std::is_same_v<Row, FindingRow> || std::is_same_v<Row, FindingStepRow> ||
    std::is_same_v<Row, PreflightRow> || std::is_same_v<Row, OperatorNoteRow> ||
    std::is_same_v<Row, UpgradeRow> || std::is_same_v<Row, AuditRow>;

// Thread safe. Errors: kUnavailable (locked, I/O), kResourceExhausted (full disk or queue),
// kDataLoss (the file is no sound database), kFailedPrecondition (written by a newer Railgauge, or
// open in another controller), kDeadlineExceeded (the wait was too long), kNotFound.
class Store {
  // The type that owns a parameter's value: a text for a view, a copy for a reference.
  template <class Parameter>
  using Owned = std::conditional_t<std::is_same_v<std::decay_t<Parameter>, std::string_view>,
                                   std::string, std::decay_t<Parameter>>;

 public:
  // Opens or creates the file, migrates it to this program's version, and starts the writer.
  static Result<std::unique_ptr<Store>> open(StoreOptions options);
  // Commits the queued writes, bounded by wait_seconds, then closes.
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // --- topics: functions of queries/ that take a connection -------------------------------

  // Preflights, findings and notes (remarks.h), upgrades and baselines (upgrades.h), repeats
  // (repeats.h), metrics (metric_queries.h) and bundles (bundle.h) are declared there alone.

  // Runs `query` on a free connection in one read transaction:
  // store.read(read_finding, "f1"). Errors: the query's, and kDeadlineExceeded when no connection
  // gets free in time.
  template <class Value, class... Parameters>
  Result<Value> read(Result<Value> (*query)(Connection&, Parameters...),
                     std::type_identity_t<Parameters>... arguments) const {
    std::optional<Result<Value>> value;
    RG_TRY_OK(run_reader([&](Connection& reader) -> Status {
      value.emplace(query(reader, arguments...));
      if (!*value) return tl::unexpected(value->error());
      return {};
    }));
    return std::move(*value);
  }
  // Runs `query` in a transaction of the writer thread and waits until it is committed:
  // store.write(write_finding, row). The store owns the arguments, because the query may still run
  // after this call has given up waiting. Errors: the query's, and kDeadlineExceeded.
  template <class... Parameters>
  Status write(Status (*query)(Connection&, Parameters...),
               std::type_identity_t<Owned<Parameters>>... arguments) {
    constexpr bool may_change_nodes = !(is_of_other_topic<std::decay_t<Parameters>> || ...);
    return run_writer(
        [query,
         kept = std::tuple<Owned<Parameters>...>(std::move(arguments)...)](Connection& writer) {
          return std::apply([&](const auto&... values) { return query(writer, values...); }, kept);
        },
        may_change_nodes);
  }

  // --- writing without waiting: ordered, an error means not accepted and `done` is never called

  // Records of one node, as its spool delivers them: all are committed, or none. A record that is
  // stored already is skipped. A record that fits no dispatched attempt, is beyond what its rank
  // may report, or is garbage, is put aside as an orphan with an event; `done` succeeds in all
  // cases, so that it cannot block the spool. An empty batch is allowed. `range`: the spool's
  // numbers of these records; the node's mark follows it. After a failed delivery, later ones of
  // the node fail as well until it is sent again: the mark must not pass missing records.
  Status append_records(const std::string& node_id, std::vector<Record> records, Completion done,
                        std::optional<SpoolRange> range = {});
  // The same for records that were packed on another thread, which saves work on the writer thread.
  // `not_new` gets the records that were put aside and the repeats, before `done` is called.
  Status append(const std::string& node_id, std::shared_ptr<const Parcel> parcel, Completion done,
                std::optional<SpoolRange> range = {}, Timing timing = {},
                std::shared_ptr<NotNew> not_new = {});
  // Moves `last_seen_at` of nodes and their endpoints on to these times, never back. Not retried:
  // the caller repeats it.
  Status note_seen(std::vector<SeenNode> nodes);
  // The eight functions below retry while the database is locked, full or not writable; `done` gets
  // the final status. put_node inserts or refreshes the node, its aliases and its endpoints'
  // attributes.
  Status put_node(NodeRow node, Completion done = {});
  Status update_run(RunUpdate update, Completion done = {});
  // An update with a new attempt opens it: once it is committed, records of that attempt are taken.
  Status update_task(TaskUpdate update, Completion done = {});
  // The tasks of a round that begins, taken from the rest of its stage.
  Status begin_round(std::string run_id, std::uint32_t stage, TaskRows tasks, Completion done = {});
  // Tasks of the rest of a stage whose rounds will never begin.
  Status end_rest(std::string run_id, TaskRestRow rest, Completion done = {});
  // Tasks that a run under way gets beside the planned ones.
  Status add_tasks(std::string run_id, std::vector<TaskRow> tasks, Completion done = {});
  Status add_event(EventRow event, Completion done = {});
  Status add_audit(AuditRow row, Completion done = {});

  // --- writing and waiting until it is committed -------------------------------------------------

  // kAlreadyExists: the id is taken. kResourceExhausted: the disk is filling up. With a claim both
  // are stored together or not at all; the errors of claim_due() (schedules.h) apply.
  Status create_run(RunRow run, std::vector<TaskRow> tasks,
                    std::optional<ScheduleClaim> claim = {});
  // The same for tasks that get their rows as their rounds begin: `rest` has their numbers.
  Status create_planned_run(RunRow run, std::vector<TaskRestRow> rest,
                            std::optional<ScheduleClaim> claim = {});
  // Replaces the run's matrix of that rail, kernel, metric, meaning and size.
  Status put_pair_matrix(PairMatrixRow matrix) {
    return write(write_pair_matrix, std::move(matrix));
  }
  // Replaces all matrices of the run in one transaction: a reader finds none of them or all, so a
  // run that has any is complete.
  Status put_pair_matrices(std::string run_id, std::vector<PairMatrixRow> matrices) {
    return write(write_pair_matrices, std::move(run_id), std::move(matrices));
  }
  // Schedules. schedules.h lists the errors beside the usual ones.
  Status add_schedule(ScheduleRow schedule) { return write(write_schedule, std::move(schedule)); }
  Status set_schedule_paused(std::string name, bool paused) {
    return write(write_schedule_paused, std::move(name), paused, now());
  }
  Status remove_schedule(std::string name) {
    return write(store::remove_schedule, std::move(name));
  }
  // A due time without a run.
  Status decide_due(std::string schedule, DueRow due) {
    return write(write_due, std::move(schedule), std::move(due), now());
  }
  // Sets result and reason of a due time that was started with due.run_id.
  Status say_of_started(std::string schedule, DueRow due) {
    return write(write_started_due, std::move(schedule), std::move(due));
  }
  // Call it once after the start, before any run. Runs that an earlier controller left open end as
  // crashed with "controller restarted". So do their tasks under way; waiting tasks end as
  // cancelled. Results that agents still deliver for them are stored. Returns the ids of the runs.
  Result<std::vector<std::string>> end_interrupted_runs();
  // Gives a node another name; its records and history follow its id. RunSink::rename_node() lists
  // the errors.
  Status rename_node(NodeBond node, std::string name);
  // Waits until everything accepted so far is committed.
  Status flush();
  [[nodiscard]] const std::string& path() const;  // of the database
  // Grows with each commit after which a list of nodes, with their labels and stacks, may be
  // another one: a reading that began at a number is right while the number is the same.
  [[nodiscard]] std::uint64_t node_changes() const;

  // --- a full disk (upkeep/reserve.h) ----------------------------------------------------------

  // While the disk is full, the writes above fail with kResourceExhausted, in one sentence; but the
  // seven that retry wait, and prune() works. Looks whether there is room again.
  Status check_writable();
  // The sentence; "" while everything is served.
  [[nodiscard]] std::string trouble() const;
  // Refuses writes for this reason as well, or, with "", no longer.
  void hold(std::string why);

  // --- reading: each call sees one consistent snapshot -------------------------------------------

  Result<std::vector<RunSummaryRow>> list_runs(std::uint32_t limit) const {  // newest first
    return read(read_runs, limit);
  }
  Result<RunSummaryRow> run_summary(std::string_view run_id) const {
    return read(read_run, run_id);
  }
  Result<std::vector<StageTimeRow>> stage_times() const { return read(read_stage_times); }
  Result<RunDetailRow> run_detail(std::string_view run_id) const {
    return read(read_run_detail, run_id);
  }
  // The tasks of a run in pages of some MB: from 0, then from the last page's `next`.
  Result<TaskPageRow> task_page(std::string_view run_id, std::int64_t from) const {
    return read(read_task_page, run_id, from, kMaxPageTasks, kMaxPageBytes);
  }
  // Ordered by time; the newest `limit` results.
  Result<std::vector<ResultRow>> results(const ResultsFilter& filter) const {
    return read(read_results, filter);
  }
  // The range of points for results(), page after page. kNotFound: no such run.
  Result<ExportScope> export_scope(const std::string& run_id) const {
    return read(read_export_scope, run_id);
  }
  // The ids of the series that a filter selects; absent if there are more than `most`.
  Result<std::optional<std::vector<std::int64_t>>> few_series(const ResultsFilter& filter,
                                                              std::size_t most) const {
    return read(read_few_series, filter, most);
  }
  Result<HistoryRow> history(std::int64_t series, std::optional<double> since,
                             std::uint32_t limit) const {
    return read(read_history, series, since, limit);
  }
  Result<std::vector<SeriesRow>> list_series(const ResultsFilter& filter) const {
    return read(read_series, filter);
  }
  Result<ComparisonRow> compare(std::string_view run_a, std::string_view run_b) const {
    return read(compare_runs, run_a, run_b, kMaxComparedSeries);
  }
  // The heads of a run's tasks in the order of their rows; `from` and `next` as for task_page().
  Result<TaskHeadsRow> task_heads(std::string_view run_id, std::int64_t from) const {
    return read(read_task_heads, run_id, from, kMaxTaskHeads);
  }
  // The tasks of a run that have no row.
  Result<std::vector<TaskRestRow>> task_rest(std::string_view run_id) const {
    return read(read_task_rest, run_id);
  }
  // A person's own SELECT, with at most `max_rows` rows and `seconds`, or until `cancelled`
  // (kCancelled).
  Result<SqlTable> sql(const std::string& text, std::uint32_t max_rows, double seconds,
                       const std::function<bool()>& cancelled = {}) const;
  // kNotFound: no such point, or its distribution was pruned.
  Result<Histogram> histogram(std::string_view run_id, std::string_view task_id,
                              std::uint32_t attempt, std::uint32_t rank,
                              std::uint32_t sequence) const {
    return read(read_histogram, PointKey{run_id, task_id, attempt, rank, sequence});
  }
  // In time order; present only if the suite asks for raw samples.
  Result<std::vector<double>> samples(std::string_view run_id, std::string_view task_id,
                                      std::uint32_t attempt, std::uint32_t rank,
                                      std::uint32_t sequence) const {
    return read(read_samples, PointKey{run_id, task_id, attempt, rank, sequence});
  }
  Result<PairMatrixRow> pair_matrix(const PairMatrixKey& key) const {  // kNotFound
    return read(read_pair_matrix, key);
  }
  // Visits the figures of a matrix row after row, in little memory.
  Status visit_pair_matrix(const PairMatrixKey& key, const PairVisitor& visit) const {
    return read(store::visit_pair_matrix, key, visit);
  }
  // All matrices of the run, without endpoints, values and outliers.
  Result<std::vector<PairMatrixRow>> pair_matrices(std::string_view run_id) const {
    return read(list_pair_matrices, run_id);
  }
  Result<std::vector<ScheduleRow>> list_schedules() const {  // by name
    return read(read_schedules, now());
  }
  Result<std::vector<DueRow>> list_dues(std::string_view schedule, std::uint32_t limit) const {
    return read(read_dues, schedule, limit);  // newest first; kNotFound
  }
  Result<std::vector<BrokenOffRow>> broken_off(double since) const {  // schedules.h
    return read(read_broken_off, since);
  }
  // All ever seen, by name.
  Result<std::vector<NodeRow>> list_nodes() const { return read(read_nodes, std::string_view()); }
  // The names and certificates that node ids belong to (read_bonds()).
  Result<std::vector<NodeBond>> node_bonds() const { return read(read_bonds); }
  // All names that nodes have or had, in order.
  Result<std::vector<std::string>> node_names() const { return read(read_node_names); }
  Result<std::vector<EventRow>> list_events(std::uint32_t limit) const {  // newest first
    return read(read_events, limit);
  }
  Result<StoreStats> stats() const;

  // --- the file, while it is in use ----------------------------------------------------------

  // The next two read every page. They end with kCancelled when a pruning begins, when a write has
  // to wait for them, or when `cancelled` returns true; another thread calls it.
  Result<SpaceRow> space(const std::function<bool()>& cancelled = {}) const;
  // One line for each problem.
  Result<std::vector<std::string>> check(const std::function<bool()>& cancelled = {}) const;
  // Writes a compacted snapshot into a new file, which is on the disk when this returns.
  Status back_up(const std::string& target) const;
  // Deletes data that is older than the policy allows, in small transactions between other writes,
  // and returns freed pages to the file system. `now`: the controller's time. Rows of the audit
  // trail go only where the retention has audit_days; then the pruning is a row of it.
  Result<PruneCounts> prune(const Retention& retention, double now);
  // Ends checks, stats and backups that run, and all that begin later (kCancelled).
  void stop_upkeep();
  // Reports whether stop_upkeep() was called.
  [[nodiscard]] bool stops() const;

 private:
  Status create(RunRow run, std::vector<TaskRow> tasks, std::vector<TaskRestRow> rest,
                std::optional<ScheduleClaim> claim);
  [[nodiscard]] double now() const;  // by the store's clock, seconds since 1970
  Status run_reader(const std::function<Status(Connection&)>& query) const;
  Status run_writer(std::function<Status(Connection&)> query, bool may_change_nodes);
  Status keep(std::function<Status()> apply, Completion done);
  std::function<Status()> kept(std::function<Status()> apply);
  class Impl;
  Result<double> pages() const;
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace railgauge::store
