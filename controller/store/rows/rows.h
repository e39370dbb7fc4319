// Rows that the store takes and returns, as plain values. Times are seconds since 1970 (UTC) by the
// controller's clock, unless the field says otherwise. Measured values are the record schema's own
// messages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "controller/store/rows/states.h"
#include "kernels/core/base/record.pb.h"

namespace railgauge::store {

using TextMap = std::map<std::string, std::string>;

// A point's key is its rank's id and its record's sequence, which has so many bits.
inline constexpr int kSequenceBits = 20;

// A NIC port or GPU as the agent reports it. Its identity is node id + `slot` + port; the rest are
// attributes, kept with the time from which they held.
struct EndpointRow {
  // "nic", "gpu"
  std::string kind{};
  // "mlx5_0"
  std::string device{};
  // 0 for a GPU.
  std::uint32_t port = 0;
  // "" for a software device: then the netdev names the slot.
  std::string pci_address{};
  std::string netdev{};
  // A GPU's UUID.
  std::string guid{};
  // "active", "down", ...; the last one seen, no history.
  std::string state{};
  // "ethernet", "infiniband"
  std::string link_layer{};
  std::string driver{};
  // A GPU's VBIOS.
  std::string firmware{};
  // "NVIDIA H200"; "" for a NIC.
  std::string model{};
  double rate_bits_per_second = 0;
  // 0: unknown.
  double active_mtu_bytes = 0;
  // 0: unknown.
  std::uint32_t numa_node_plus_one = 0;
};

// A node: its id stays, its name may change (older names stay as aliases).
struct NodeRow {
  std::string node_id{};
  std::string name{};
  std::string version{};
  std::string address{};
  // The versions of its stack.
  TextMap facts{};
  // The settings of its stack.
  TextMap settings{};
  // In both maps "unknown" marks a value that could not be read now. Incomplete: names that are
  // missing were not read either.
  bool stack_incomplete = false;
  // Facts that describe the node and are no part of its stack.
  TextMap described{};
  std::vector<EndpointRow> endpoints{};
  // Filled in by the store.
  double first_seen_at = 0;
  // Attached then; behind by hours at most; filled in by the store.
  double last_seen_at = 0;
  // All records of its spool up to this one are stored; filled in by the store.
  std::optional<std::int64_t> spool_through{};
};

struct RankRow {
  std::string node_id{};
  // Its name when the run was planned.
  std::string node{};
  // "DEV:PORT"; "" for kernels without one.
  std::string endpoint{};
};

// Why tasks ended that were under way, or waited, when the controller ended.
inline constexpr std::string_view kControllerRestarted = "controller restarted";
// Why they ended that a controller cancelled before it ended.
inline constexpr std::string_view kControllerStopping = "the controller is stopping";

// A task of a run. `state` is a text of TaskState.
struct TaskRow {
  std::string task_id{};
  std::uint32_t stage = 0;
  std::uint32_t round = 0;
  std::string kernel{};
  // As planned.
  TextMap parameters{};
  // Names: which of them identify the series.
  std::vector<std::string> identity_parameters{};
  std::vector<RankRow> ranks{};
  double deadline_seconds = 0;
  double expected_seconds = 0;
  double expected_bytes = 0;
  std::string state{text_of(TaskState::kWaiting)};
  std::string outcome{};
  std::string reason{};
  std::uint32_t attempts = 0;
};

// A run. `state` is a text of RunState.
struct RunRow {
  std::string run_id{};
  // The name of the suite.
  std::string suite{};
  // The exact text of the suite.
  std::string suite_text{};
  // "cli", "schedule", "upgrade"
  std::string trigger{};
  std::string requested_by{};
  std::string state{text_of(RunState::kPlanned)};
  std::string outcome{};
  std::string reason{};
  double created_at = 0;
  // 0: not yet.
  double started_at = 0;
  // 0: not yet.
  double ended_at = 0;
  // Names, in plan order.
  std::vector<std::string> nodes{};
  // The run that this one resumes; "": planned as a whole.
  std::string parent_run_id{};
};

// A change of a run or task. Absent fields stay as they are.
struct RunUpdate {
  std::string run_id{};
  std::optional<std::string> state{};
  std::optional<std::string> outcome{};
  std::optional<std::string> reason{};
  // A person, or the schedule that replaced the run.
  std::optional<std::string> cancelled_by{};
  std::optional<double> started_at{};
  std::optional<double> ended_at{};
};
struct TaskUpdate {
  std::string run_id{};
  std::string task_id{};
  std::optional<std::string> state{};
  // Also the outcome of attempt `attempts`, where that is above 0.
  std::optional<std::string> outcome{};
  std::optional<std::string> reason{};
  std::optional<std::uint32_t> attempts{};
};

struct RunSummaryRow {
  // Without suite_text.
  RunRow run{};
  std::uint32_t tasks_total = 0;
  std::uint32_t tasks_ended = 0;
  // Ended tasks by outcome.
  std::map<std::string, std::uint32_t> outcomes{};
};

// One rank of the attempt that counts: the last with a final record, else the last at all.
struct RankDetailRow {
  std::uint32_t rank = 0;
  std::string node{};
  // As the runner opened it, else as planned.
  std::string endpoint{};
  std::optional<Final> final_record{};
  TextMap facts{};
  std::vector<Note> notes{};
};
struct TaskDetailRow {
  TaskRow task{};
  // The attempt that `ranks` belong to; 0: none yet.
  std::uint32_t counted_attempt = 0;
  std::vector<RankDetailRow> ranks{};
};
struct RunDetailRow {
  // With suite_text.
  RunSummaryRow summary{};
  std::vector<TaskDetailRow> tasks{};
};

// Some of a run's tasks, in the order of the plan.
struct TaskPageRow {
  RunSummaryRow summary{};
  std::vector<TaskDetailRow> tasks{};
  // Where the next page begins; 0: this is the last one.
  std::int64_t next = 0;
};

inline constexpr std::uint32_t kDefaultResultRows = 1'000;
inline constexpr std::uint32_t kMaxResultRows = 100'000;

// Points by key, to be read a page at a time: behind `after`, up to and with `through`.
struct PointRange {
  std::int64_t after = 0;
  std::int64_t through = 0;

  // Its part that the last `ranks` have.
  [[nodiscard]] PointRange of_last_ranks(std::int64_t ranks) const {
    return {.after = std::max(after, through - (ranks << kSequenceBits)), .through = through};
  }
};

struct ResultsFilter {
  // "" is the newest ended run, "all" is all runs.
  std::string run_id{};
  // "" is any, here and below.
  std::string kernel{};
  std::string metric{};
  // Names or ids: points that have one of them at some rank.
  std::vector<std::string> nodes{};
  std::optional<double> message_bytes{};
  // "DEV:PORT" or "gpuN" as named now or ever.
  std::string endpoint{};
  // Points that have an endpoint of it.
  std::optional<std::int32_t> rail{};
  // "gpu_driver=550.2": a part of a node's stack at that time.
  std::string stack{};
  std::optional<std::int64_t> series{};
  // By the node's clock.
  std::optional<double> since{};
  // Exclusive end, by the node's clock.
  std::optional<double> until{};
  // With a range the first points by key are returned, else the newest.
  std::optional<PointRange> range{};
  // Also attempts that do not count.
  bool all_attempts = false;
  // 0 is kDefaultResultRows; never more than kMaxResultRows.
  std::uint32_t limit = 0;
};

// The points of an export, fixed when it begins: points that arrive later belong to the next one.
struct ExportScope {
  // As in ResultsFilter, but never ""
  std::string run_id{};
  // Empty when there is nothing.
  PointRange range{};
};

// One point with what belongs to it.
struct ResultRow {
  std::string run_id{};
  std::string task_id{};
  std::uint32_t attempt = 0;
  // That reported it.
  std::uint32_t rank = 0;
  // With the fields above: the record's key.
  std::uint32_t sequence = 0;
  std::int64_t series_id = 0;
  std::int64_t point_id = 0;
  std::string kernel{};
  std::uint32_t revision = 0;
  // By rank, "node/DEV:PORT", as planned or opened.
  std::vector<std::string> endpoints{};
  // By the node's clock.
  double measured_at = 0;
  // The outcome of the attempt; "" while some rank has not ended.
  std::string outcome{};
  // Without histogram and samples.
  Point point{};
  // Effective parameters of the reporting rank.
  TextMap parameters{};
  // Facts of the reporting rank's task.
  TextMap facts{};
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
  // The rank that reports.
  std::uint32_t rank = 0;
  // By position, "node/DEV:PORT" as named now.
  std::vector<std::string> endpoints{};
  std::string pair{};
  // Parameters of the identity.
  TextMap parameters{};
};

// One value of a series' history.
struct HistoryPointRow {
  double measured_at = 0;
  std::string run_id{};
  // The outcome of the attempt.
  std::string outcome{};
  double median = 0;
  std::optional<double> median_low{};
  std::optional<double> median_high{};
  std::optional<double> p99{};
  double sample_count = 0;
  std::int64_t flags = 0;
  // The epoch of the reporting node; it changes where the node's stack changed.
  std::optional<std::int64_t> epoch{};
};
// A day (UTC) whose points retention has taken away, except for what they came to.
struct HistoryDayRow {
  // The begin of the day.
  double day_at = 0;
  double point_count = 0;
  // Mean of the points' medians; the two below are of the medians as well.
  double mean = 0;
  double lowest = 0;
  double highest = 0;
};
struct HistoryRow {
  SeriesRow series{};
  // By time; a day may also have points that are still there.
  std::vector<HistoryDayRow> days{};
  // By time.
  std::vector<HistoryPointRow> points{};
};

// A series that two runs have in common: the medians of its points' medians.
struct ComparedRow {
  SeriesRow series{};
  double a = 0;
  double b = 0;
  std::uint32_t points_a = 0;
  std::uint32_t points_b = 0;
};
struct ComparisonRow {
  std::vector<ComparedRow> rows{};
  // Series that only one of the runs has.
  std::uint32_t only_a = 0;
  std::uint32_t only_b = 0;
};

// A value as the database has it: null, a number, an integer that no double holds, a text, or the
// size of a blob.
using SqlValue = std::variant<std::monostate, double, std::int64_t, std::string>;
struct SqlTable {
  std::vector<std::string> columns{};
  std::vector<std::vector<SqlValue>> rows{};
  // True: there were more rows than the limit.
  bool truncated = false;
};

// One table of a bundle.
struct BundlePartRow {
  // The kind of the subject: "run", "finding" or "node".
  std::string kind{};
  // The run whose points belong to the subject; "" for a node.
  std::string run_id{};
  // The node's present name; "" for a run.
  std::string node{};
  // The name of the part: "tasks".
  std::string name{};
  // One line.
  std::string about{};
  SqlTable table{};
  bool last = false;
};

// Why records or nodes were not taken as they came, and what an operator wants to find later.
struct EventRow {
  // 0: filled in by the store.
  double at = 0;
  // "node_attached", "node_lost", "node_refused", "record_refused", ...
  std::string kind{};
  // "" when it concerns none; here and below.
  std::string node_id{};
  std::string run_id{};
  // One line.
  std::string text{};
};

// Everybody's figure to everybody of one rail, in one blob.
struct PairMatrixRow {
  std::string run_id{};
  // -1: across rails.
  std::int32_t rail = 0;
  std::string kernel{};
  std::string metric{};
  std::string meaning{};
  double message_bytes = 0;
  std::string unit{};
  bool larger_is_better = false;
  // "node/DEV:PORT", in the order of rows and columns.
  std::vector<std::string> endpoints{};
  // From-major, endpoints squared; NaN: not measured, and always a port's own with itself, since
  // loopback never shows or judges the fabric.
  std::vector<float> values{};
  struct Outlier {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    // Absent: planned, yet not measured.
    std::optional<double> value{};
    std::optional<double> expected{};
  };
  std::vector<Outlier> outliers{};
};

// Which matrix of a run. Absent fields (and "") match any; the first that matches is taken.
struct PairMatrixKey {
  std::string run_id{};
  std::optional<std::int32_t> rail{};
  std::string metric{};
  std::optional<double> message_bytes{};
  std::string kernel{};
  std::optional<std::string> meaning{};
};

// A table or index of the database.
struct SpacePart {
  std::string name{};
  // "table", "index"
  std::string kind{};
  // The table that an index belongs to.
  std::string table{};
  // Pages, also what is unused on them.
  double bytes = 0;
  double payload_bytes = 0;
  double entries = 0;
};

// Where the bytes are.
struct SpaceRow {
  double page_bytes = 0;
  // Pages in the file that nothing uses.
  double free_bytes = 0;
  // Filled in by the store, as the two below.
  double file_bytes = 0;
  double wal_bytes = 0;
  double disk_free_bytes = 0;
  std::vector<SpacePart> parts{};
  std::optional<double> first_run_at{};
  std::optional<double> last_run_at{};
  double runs = 0;
  double points = 0;
  double nodes = 0;
};

// How long what is kept, in days. 0 keeps it for ever.
struct Retention {
  double raw_sample_days = 7;
  // 13 months.
  double distribution_days = 396;
  // 5 years; then only the roll-up by days stays.
  double point_days = 1826;
  // 10 years.
  double event_days = 3653;
  // The largest share of runs with distributions (or points) that one pruning may strip. Above it
  // pruning is refused, because most likely the clock is wrong. 1: a person asked for it.
  double largest_share = 1;
};

// The rows that a pruning deleted.
struct PruneCounts {
  double raw_samples = 0;
  double distributions = 0;
  double points = 0;
  // Given back to the file system.
  double freed_bytes = 0;
};

struct StoreStats {
  std::uint32_t database_version = 0;
  // Database and its write-ahead log.
  double file_bytes = 0;
  double queued_records = 0;
  double queued_bytes = 0;
  // Since open.
  double committed_batches = 0;
  // Since open, repeated ones included.
  double committed_records = 0;
  double last_commit_seconds = 0;
  double failed_batches = 0;
  // Changes that wait for a database in trouble.
  double kept_jobs = 0;
  // Refused but acknowledged, in the database.
  double orphan_records = 0;
  // Orphan records dropped since open, because there were too many.
  double orphans_dropped = 0;
};

}  // namespace railgauge::store
