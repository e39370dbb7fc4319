// Rows that the store takes and returns, as plain values. Times are seconds since 1970 (UTC) by the
// controller's clock, unless the field says otherwise. Measured values are the record schema's own
// messages.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "controller/api/states.h"
#include "kernels/core/base/record.pb.h"

namespace railgauge::store {

using api::RunState;
using api::TaskState;
using TextMap = std::map<std::string, std::string>;

// A point's key is its rank's id and its record's sequence, which has so many bits.
inline constexpr int kSequenceBits = 20;

// A NIC port or GPU as the agent reports it. Its identity is node id + `slot` + port; the rest are
// attributes, kept with the time from which they held.
struct EndpointRow {
  std::string kind{};         // "nic", "gpu"
  std::string device{};       // "mlx5_0"
  std::uint32_t port = 0;     // 0 for a GPU
  std::string pci_address{};  // "" for a software device: then the netdev names the slot
  std::string netdev{};
  std::string guid{};        // a GPU's UUID
  std::string state{};       // "active", "down", ...; the last one seen, no history
  std::string link_layer{};  // "ethernet", "infiniband"
  std::string driver{};
  std::string firmware{};  // a GPU's VBIOS
  std::string model{};     // "NVIDIA H200"; "" for a NIC
  double rate_bits_per_second = 0;
  double active_mtu_bytes = 0;           // 0: unknown
  std::uint32_t numa_node_plus_one = 0;  // 0: unknown
};

// A node: its id stays, its name may change (older names stay as aliases).
struct NodeRow {
  std::string node_id{};
  std::string name{};
  std::string version{};
  std::string address{};
  std::string certificate{};  // the node that its certificate speaks for; "": none was shown
  TextMap facts{};            // what the node runs: the versions of its stack
  TextMap settings{};         // the settings of its stack
  // In both maps "unknown" marks a value that could not be read now. Incomplete: names that are
  // missing were not read either.
  bool stack_incomplete = false;
  TextMap described{};  // facts that only describe the node
  TextMap labels{};     // of its agent's settings
  std::vector<EndpointRow> endpoints{};
  double first_seen_at = 0;  // filled in by the store
  double last_seen_at = 0;   // attached then; behind by hours at most; filled in by the store
  // All records of its spool up to this one are stored; filled in by the store.
  std::optional<std::int64_t> spool_through{};
};

// The name that a node id belongs to, and the certificate that may speak for it.
struct NodeBond {
  std::string node_id{};
  std::string name{};
  std::string certificate{};                    // as NodeRow's; "": not bound yet
  std::optional<std::int64_t> spool_through{};  // likewise
};

struct RankRow {
  std::string node_id{};
  std::string node{};      // its name when the run was planned
  std::string endpoint{};  // "DEV:PORT"; "" for kernels without one
};

// Reason of tasks that were under way or waiting when the controller ended.
inline constexpr std::string_view kControllerRestarted = "controller restarted";
// Reason of tasks that a controller cancelled because it was stopping.
inline constexpr std::string_view kControllerStopping = "the controller is stopping";

struct TaskRow {
  std::string task_id{};
  std::uint32_t stage = 0;
  std::uint32_t round = 0;
  std::string kernel{};
  TextMap parameters{};                            // as planned
  std::vector<std::string> identity_parameters{};  // names of those that identify the series
  // Metrics that the kernel declares; absent: not known, and any metric is taken.
  std::optional<std::vector<std::string>> metrics{};
  std::vector<RankRow> ranks{};
  double deadline_seconds = 0;
  double expected_seconds = 0;
  double expected_bytes = 0;
  TaskState state = TaskState::kWaiting;
  std::string outcome{};
  std::string reason{};
  std::uint32_t attempts = 0;
};

// Tasks that are made one at a time: the rows of a round of a large site would take many megabytes.
// `row` is called on the writer's thread, once for each number below `count` and in their order.
struct TaskRows {
  std::size_t count = 0;
  std::function<TaskRow(std::size_t)> row{};
};

// A run of a suite, by which others of the suite are compared.
struct SuiteRun {
  std::string run_id{};
  double ended_at = 0;  // or its start, while it has not ended
};

// Tasks of a stage that have no row, since their rounds have not begun, or never will.
struct TaskRestRow {
  std::uint32_t stage = 0;
  std::string kernel{};
  std::string outcome{};  // "": their rounds may still begin
  std::string reason{};
  std::uint64_t tasks = 0;
};

struct RunRow {
  std::string run_id{};
  std::string suite{};       // its name
  std::string suite_text{};  // exact text of the suite
  std::string trigger{};     // "cli", "schedule", "upgrade", "prove"
  std::string requested_by{};
  RunState state = RunState::kPlanned;
  std::string outcome{};
  std::string reason{};
  double created_at = 0;
  double started_at = 0;                 // 0: not yet
  double ended_at = 0;                   // 0: not yet
  std::vector<std::string> nodes{};      // names, in plan order
  std::string parent_run_id{};           // the run that this one resumes; "": planned as a whole
  double judged_at = 0;                  // 0: not yet, and the counts below are 0
  std::uint32_t findings_new = 0;        // that it opened or opened again
  std::uint32_t findings_confirmed = 0;  // that it confirmed, or showed to be worse
};

// A change of a run or task. Absent fields stay as they are.
// How long the rounds of one stage took (plan::StageTime). The newest kKeptStageTimes runs of a key
// are stored, as long as the runs are.
inline constexpr std::uint32_t kKeptStageTimes = 8;
struct StageTimeRow {
  std::string key{};
  std::uint32_t rounds = 0;
  double longest_seconds = 0;
  double seconds = 0;
};
struct RunUpdate {
  std::string run_id{};
  std::optional<RunState> state{};
  std::optional<std::string> outcome{};
  std::optional<std::string> reason{};
  std::optional<std::string> cancelled_by{};  // a person, or the schedule that replaced the run
  std::optional<double> started_at{};
  std::optional<double> ended_at{};
  std::vector<StageTimeRow> stage_times{};  // added to those of earlier runs
};
struct TaskUpdate {
  std::string run_id{};
  std::string task_id{};
  std::optional<TaskState> state{};
  std::optional<std::string> outcome{};  // of attempt `attempts` as well, where that is above 0
  std::optional<std::string> reason{};
  std::optional<std::uint32_t> attempts{};
};

struct RunSummaryRow {
  RunRow run{};  // without suite_text
  std::uint32_t tasks_total = 0;
  std::uint32_t tasks_ended = 0;
  std::map<std::string, std::uint32_t> outcomes{};  // ended tasks by outcome
};

// One rank of the attempt that counts: the last with a final record, else the last at all.
struct RankDetailRow {
  std::uint32_t rank = 0;
  std::string node{};
  std::string endpoint{};  // as the runner opened it, else as planned
  std::optional<Final> final_record{};
  TextMap facts{};
  std::vector<Note> notes{};
};
struct TaskDetailRow {
  TaskRow task{};
  std::uint32_t counted_attempt = 0;  // the one of `ranks`; 0: none yet
  std::vector<RankDetailRow> ranks{};
};
struct RunDetailRow {
  RunSummaryRow summary{};  // with suite_text
  std::vector<TaskDetailRow> tasks{};
};

// Some of a run's tasks, in the order of the plan.
struct TaskPageRow {
  RunSummaryRow summary{};
  std::vector<TaskDetailRow> tasks{};
  std::int64_t next = 0;  // where the next page begins; 0: this is the last one
};

// Tasks without identity, times and attempts; their ranks have names alone.
struct TaskHeadsRow {
  std::vector<TaskRow> tasks{};
  std::int64_t next = 0;  // as in TaskPageRow
};

inline constexpr std::uint32_t kDefaultResultRows = 1'000;
inline constexpr std::uint32_t kMaxResultRows = 100'000;

// A range of points by key, to be read a page at a time: above `after`, up to `through` included.
struct PointRange {
  std::int64_t after = 0;
  std::int64_t through = 0;

  // Returns the part of the range that covers its last `ranks` ranks.
  [[nodiscard]] PointRange of_last_ranks(std::int64_t ranks) const {
    return {.after = std::max(after, through - (ranks << kSequenceBits)), .through = through};
  }
};

struct ResultsFilter {
  std::string run_id{};  // "": the newest ended run; "all": all runs
  std::string kernel{};  // "": any; likewise the texts below
  std::string metric{};
  std::vector<std::string> nodes{};  // names or ids; one of them at some rank is enough
  std::optional<double> message_bytes{};
  std::string endpoint{};              // "DEV:PORT" or "gpuN", a present or former name
  std::optional<std::int32_t> rail{};  // of one of the endpoints
  std::string stack{};                 // "gpu_driver=550.2": a part of a node's stack at that time
  std::optional<std::int64_t> series{};
  std::optional<double> since{};      // by the node's clock
  std::optional<double> until{};      // before it
  std::optional<PointRange> range{};  // takes its first points by key; absent: the newest points
  bool all_attempts = false;          // also attempts that do not count
  std::uint32_t limit = 0;            // 0 is kDefaultResultRows; never more than kMaxResultRows
};

// The points of an export, fixed when it begins: points that arrive later belong to the next one.
struct ExportScope {
  std::string run_id{};  // as in ResultsFilter, but never ""
  PointRange range{};    // empty when there is nothing
};

// The fact of a point whose time is that of its arrival, because the node's clock was off.
inline constexpr std::string_view kClockFact = "clock";
inline constexpr std::string_view kClockOff = "off by more than 1 h: the time is that of arrival";

// One point with what belongs to it.
struct ResultRow {
  std::string run_id{};
  std::string task_id{};
  std::uint32_t attempt = 0;
  std::uint32_t rank = 0;      // that reported it
  std::uint32_t sequence = 0;  // with the fields above: the record's key
  std::int64_t series_id = 0;
  std::int64_t point_id = 0;
  std::string kernel{};
  std::uint32_t revision = 0;
  std::vector<std::string> endpoints{};  // by rank, "node/DEV:PORT", as planned or opened
  double measured_at = 0;                // by the node's clock
  std::string outcome{};                 // of the attempt; "" while some rank has not ended
  Point point{};                         // without histogram and samples
  TextMap parameters{};                  // effective, of the reporting rank
  TextMap facts{};                       // of the reporting rank's task
  // The outcome is "failed" although all ranks of the attempt passed: a figure is beyond a limit of
  // the suite.
  bool only_a_limit_failed = false;
};

// The identity of a series, and the number of its points.
struct SeriesRow {
  std::int64_t series_id = 0;
  std::string kernel{};
  std::uint32_t revision = 0;
  std::string metric{};
  std::string meaning{};
  std::string unit{};
  bool larger_is_better = false;
  double message_bytes = 0;
  std::uint32_t rank = 0;                // that reports
  std::vector<std::string> endpoints{};  // by position, "node/DEV:PORT" as named now
  std::string pair{};
  TextMap parameters{};  // of the identity
};

// One value of a series' history.
struct HistoryPointRow {
  double measured_at = 0;
  std::string run_id{};
  std::string outcome{};  // of the attempt
  double headline = 0;    // of a rate all that moved over all time, else the median
  double median = 0;
  std::optional<double> median_low{};
  std::optional<double> median_high{};
  std::optional<double> p99{};
  double sample_count = 0;
  std::int64_t flags = 0;
  std::optional<std::int64_t> epoch{};  // of the reporting node; changes where its stack changed
  std::optional<double> rate_low{};     // 95 % interval of the rate; of a rate, as all below
  std::optional<double> rate_high{};
  std::optional<double> slot_p10{};
  std::optional<double> pause_share{};
};
// The summary of a day (UTC) whose points were pruned.
struct HistoryDayRow {
  double day_at = 0;  // its begin
  double point_count = 0;
  double mean = 0;  // of the points' headlines; likewise the two below
  double lowest = 0;
  double highest = 0;
};
struct HistoryRow {
  SeriesRow series{};
  std::vector<HistoryDayRow> days{};  // by time; a day may also have points that are still there
  std::vector<HistoryPointRow> points{};  // by time
};

// A series of two runs, with the median of its points' medians in each run.
struct ComparedRow {
  SeriesRow series{};
  double a = 0;
  double b = 0;
  std::uint32_t points_a = 0;
  std::uint32_t points_b = 0;
};
struct ComparisonRow {
  std::vector<ComparedRow> rows{};
  std::uint32_t only_a = 0;  // series
  std::uint32_t only_b = 0;
};

// A value of the database: null, a number, an integer beyond the exact range of a double, a text,
// or the size of a blob in words.
using SqlValue = std::variant<std::monostate, double, std::int64_t, std::string>;
struct SqlTable {
  std::vector<std::string> columns{};
  std::vector<std::vector<SqlValue>> rows{};
  bool truncated = false;  // there was more than the limit
};

// One table of a bundle.
struct BundlePartRow {
  std::string kind{};    // of the subject: run, finding, node
  std::string run_id{};  // run whose points belong to the subject; "" for a node
  std::string node{};    // present name of the node; "" for a run
  std::string name{};    // of the part: "tasks"
  std::string about{};   // one line
  SqlTable table{};
  bool last = false;
};

// A node and when it was seen last, in unix seconds.
struct SeenNode {
  std::string node_id{};
  double at = 0;
};

// An event for operators: nodes that come and go, refused nodes and records, measurements by force.
struct EventRow {
  double at = 0;          // 0: filled in by the store
  std::string kind{};     // "node_attached", "node_lost", "node_refused", "record_refused", ...
  std::string node_id{};  // "": the event concerns no node; likewise run_id
  std::string run_id{};
  std::string text{};  // one line
};

// The figures of all ordered pairs of endpoints on one rail.
struct PairMatrixRow {
  std::string run_id{};
  std::int32_t rail = 0;  // -1: across rails
  std::string kernel{};
  std::string metric{};
  std::string meaning{};
  double message_bytes = 0;
  std::string unit{};
  bool larger_is_better = false;
  std::vector<std::string> endpoints{};  // "node/DEV:PORT", in the order of rows and columns
  // From-major, endpoints squared. NaN: not measured. A port with itself is always NaN, since
  // loopback never measures the fabric.
  std::vector<float> values{};
  struct Outlier {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::optional<double> value{};  // absent: planned, yet not measured
    std::optional<double> expected{};
  };
  std::vector<Outlier> outliers{};
  // Bytes that readers of a part of the matrix need first, kept in front of the figures; "": none.
  std::string overview{};
};

// A rectangle of a matrix, in rows and columns.
struct MatrixBlock {
  std::size_t row = 0;
  std::size_t rows = 0;
  std::size_t column = 0;
  std::size_t columns = 0;
};

// Selects a matrix of a run: the first one that matches. Absent fields and "" match any.
struct PairMatrixKey {
  std::string run_id{};
  std::optional<std::int32_t> rail{};
  std::string metric{};
  std::optional<double> message_bytes{};
  std::string kernel{};
  std::optional<std::string> meaning{};
};

// The levels of all parts of the fabric by one series of a run's pairs (controller/parts).
struct PartLevelsRow {
  std::string run_id{};
  std::string kernel{};
  std::string metric{};
  std::string meaning{};
  double message_bytes = 0;
  std::uint32_t nodes = 0;  // with figures
  double created_at = 0;    // of the run; filled in by the store
  std::string body{};       // as the writer serialised it; the store compresses it
};

// A table or index of the database.
struct SpacePart {
  std::string name{};
  std::string kind{};   // "table", "index"
  std::string table{};  // that an index belongs to
  double bytes = 0;     // whole pages, with their unused parts
  double payload_bytes = 0;
  double entries = 0;
};

// Space of the database, by table and index.
struct SpaceRow {
  double page_bytes = 0;
  double free_bytes = 0;  // unused pages in the file
  double file_bytes = 0;  // filled in by the store; likewise the two below
  double wal_bytes = 0;
  double disk_free_bytes = 0;
  std::vector<SpacePart> parts{};
  std::optional<double> first_run_at{};
  std::optional<double> last_run_at{};
  double runs = 0;
  double points = 0;
  double nodes = 0;
};

// Age in days at which each kind of data is deleted; 0 keeps it for ever.
struct Retention {
  double raw_sample_days = 7;
  double distribution_days = 396;  // 13 months
  double point_days = 1826;        // 5 years; after that only the roll-up by days remains
  double event_days = 3653;        // 10 years
  double audit_days = 0;           // 0: the audit trail is not touched
  // The largest share of runs with distributions (or points) that one pruning may strip. Above it
  // pruning is refused, because most likely the clock is wrong. 1: a person asked for it.
  double largest_share = 1;
};

// The rows that a pruning deleted.
struct PruneCounts {
  double raw_samples = 0;
  double distributions = 0;
  double points = 0;
  double freed_bytes = 0;  // given back to the file system
};

struct StoreStats {
  std::uint32_t database_version = 0;
  double file_bytes = 0;  // database and its write-ahead log
  double queued_records = 0;
  double queued_bytes = 0;
  double committed_batches = 0;  // since open
  double committed_records = 0;  // since open, repeated ones included
  double last_commit_seconds = 0;
  double failed_batches = 0;
  double kept_jobs = 0;        // changes that wait for a database in trouble
  double orphan_records = 0;   // refused but acknowledged, in the database
  double orphans_dropped = 0;  // deleted or not kept beyond the bounds since open
  std::map<std::string, double> refused_records{};  // since open, by the reason's word
};

}  // namespace railgauge::store
