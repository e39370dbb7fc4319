#include "controller/store/outbox/mirror_tables.h"

#include <algorithm>
#include <array>

#include "kernels/core/base/result.h"

namespace railgauge::store {
namespace {

using Kind = MirrorKind;
using Column = MirrorColumn;
using Deletes = MirrorDeletes;

// JSON objects that many rows share.
constexpr std::array kFactSetColumns{Column{"id"}, Column{"body", Kind::kText}, Column{"hash"}};
// Parameters of tasks, likewise.
constexpr std::array kParameterSetColumns{Column{"id"}, Column{"body", Kind::kText},
                                          Column{"hash"}};
// Metrics that a kernel declared.
constexpr std::array kMetricListColumns{Column{"id"}, Column{"body", Kind::kText}};
// Nodes. The last look at one changes all the time and is sent with other changes.
constexpr std::array kNodeColumns{Column{"id"},
                                  Column{"node_id", Kind::kText},
                                  Column{"name", Kind::kText},
                                  Column{"version", Kind::kText},
                                  Column{"address", Kind::kText},
                                  Column{"fact_set"},
                                  Column{"first_seen_at", Kind::kSeconds},
                                  Column{"last_seen_at", Kind::kSeconds, true},
                                  Column{"certificate", Kind::kText}};
// Every name that a node ever had.
constexpr std::array kNodeNameColumns{Column{"node"}, Column{"name", Kind::kText},
                                      Column{"valid_from", Kind::kSeconds}};
// Labels of an agent's settings; one that is gone there is gone here.
constexpr std::array kNodeLabelColumns{Column{"node"}, Column{"key", Kind::kText},
                                       Column{"value", Kind::kText}};
// Maintenance.
constexpr std::array kNodePauseColumns{Column{"id"},
                                       Column{"node"},
                                       Column{"since", Kind::kSeconds},
                                       Column{"until", Kind::kSeconds},
                                       Column{"who", Kind::kText},
                                       Column{"reason", Kind::kText},
                                       Column{"ended_at", Kind::kSeconds},
                                       Column{"ended_by", Kind::kText}};
// NIC ports and GPUs.
constexpr std::array kEndpointColumns{Column{"id"},
                                      Column{"node"},
                                      Column{"slot", Kind::kText},
                                      Column{"port"},
                                      Column{"gpu_slot", Kind::kText},
                                      Column{"kind", Kind::kText},
                                      Column{"state", Kind::kText},
                                      Column{"last_seen_at", Kind::kSeconds, true},
                                      Column{"rail"}};
// Device, firmware and rate of an endpoint, with the time from which they held.
constexpr std::array kEndpointAttributeColumns{Column{"endpoint"},
                                               Column{"valid_from", Kind::kSeconds},
                                               Column{"valid_to", Kind::kSeconds},
                                               Column{"device", Kind::kText},
                                               Column{"netdev", Kind::kText},
                                               Column{"guid", Kind::kText},
                                               Column{"link_layer", Kind::kText},
                                               Column{"driver", Kind::kText},
                                               Column{"firmware", Kind::kText},
                                               Column{"rate_bits_per_second", Kind::kReal},
                                               Column{"active_mtu_bytes", Kind::kReal},
                                               Column{"numa_node_plus_one"},
                                               Column{"model", Kind::kText}};
// Versions and settings of a node, as numbers of fact sets.
constexpr std::array kStackColumns{Column{"id"}, Column{"versions"}, Column{"settings"}};
// When a node had a stack.
constexpr std::array kEpochColumns{Column{"id"},
                                   Column{"node"},
                                   Column{"stack"},
                                   Column{"valid_from", Kind::kSeconds},
                                   Column{"valid_to", Kind::kSeconds},
                                   Column{"cause", Kind::kText}};
// The identity of points over time.
constexpr std::array kSeriesColumns{Column{"id"},
                                    Column{"kernel", Kind::kText},
                                    Column{"revision"},
                                    Column{"metric", Kind::kText},
                                    Column{"meaning", Kind::kText},
                                    Column{"message_bytes", Kind::kReal},
                                    Column{"rank"},
                                    Column{"parameters", Kind::kText},
                                    Column{"endpoints", Kind::kText},
                                    Column{"pair", Kind::kText},
                                    Column{"unit", Kind::kText},
                                    Column{"larger_is_better"}};
// Endpoints of a series by position.
constexpr std::array kSeriesEndpointColumns{Column{"series"}, Column{"position"},
                                            Column{"endpoint"}};
// A day's figures of points that retention took from the store.
constexpr std::array kSeriesDayColumns{Column{"series"},
                                       Column{"day"},
                                       Column{"point_count"},
                                       Column{"median", Kind::kReal},
                                       Column{"lowest", Kind::kReal},
                                       Column{"highest", Kind::kReal}};
// Runs. How much retention took of one is a matter of the store.
constexpr std::array kRunColumns{Column{"id"},
                                 Column{"run_id", Kind::kText},
                                 Column{"suite", Kind::kText},
                                 Column{"suite_text", Kind::kText},
                                 Column{"trigger", Kind::kText},
                                 Column{"requested_by", Kind::kText},
                                 Column{"state", Kind::kText},
                                 Column{"outcome", Kind::kText},
                                 Column{"reason", Kind::kText},
                                 Column{"nodes", Kind::kText},
                                 Column{"created_at", Kind::kSeconds},
                                 Column{"started_at", Kind::kSeconds},
                                 Column{"ended_at", Kind::kSeconds},
                                 Column{"parent_run_id", Kind::kText},
                                 Column{"cancelled_by", Kind::kText},
                                 Column{"judged_at", Kind::kSeconds},
                                 Column{"findings_new"},
                                 Column{"findings_confirmed"},
                                 Column{"pruned"}};
// Tasks, without those whose round has not begun.
constexpr std::array kTaskColumns{Column{"id"},
                                  Column{"run"},
                                  Column{"task_id", Kind::kText},
                                  Column{"stage"},
                                  Column{"round"},
                                  Column{"kernel", Kind::kText},
                                  Column{"parameter_set"},
                                  Column{"identity_parameters", Kind::kText},
                                  Column{"deadline_seconds", Kind::kReal},
                                  Column{"expected_seconds", Kind::kReal},
                                  Column{"expected_bytes", Kind::kReal},
                                  Column{"state", Kind::kText},
                                  Column{"outcome", Kind::kText},
                                  Column{"reason", Kind::kText},
                                  Column{"attempts"},
                                  Column{"counted_attempt"},
                                  Column{"metric_list"}};
// The placement of a task.
constexpr std::array kTaskRankColumns{Column{"task"},     Column{"rank"},
                                      Column{"node"},     Column{"node_name", Kind::kText},
                                      Column{"endpoint"}, Column{"endpoint_text", Kind::kText}};
// Tasks without a row, as numbers.
constexpr std::array kTaskRestColumns{Column{"run"},
                                      Column{"stage"},
                                      Column{"outcome", Kind::kText},
                                      Column{"reason", Kind::kText},
                                      Column{"kernel", Kind::kText},
                                      Column{"tasks"}};
// Attempts of tasks.
constexpr std::array kAttemptColumns{Column{"id"},
                                     Column{"task"},
                                     Column{"attempt"},
                                     Column{"outcome", Kind::kText},
                                     Column{"reason", Kind::kText},
                                     Column{"dispatched_at", Kind::kSeconds}};
// Start and end of what one rank reported.
constexpr std::array kRankColumns{Column{"id"},
                                  Column{"attempt"},
                                  Column{"rank"},
                                  Column{"revision"},
                                  Column{"endpoint"},
                                  Column{"endpoint_text", Kind::kText},
                                  Column{"parameter_set"},
                                  Column{"fact_set"},
                                  Column{"started_at", Kind::kSeconds},
                                  Column{"ended_at", Kind::kSeconds},
                                  Column{"outcome", Kind::kText},
                                  Column{"reason", Kind::kText},
                                  Column{"start_ns", Kind::kReal},
                                  Column{"open_ns", Kind::kReal},
                                  Column{"wait_ns", Kind::kReal},
                                  Column{"exchange_ns", Kind::kReal},
                                  Column{"measure_ns", Kind::kReal},
                                  Column{"stop_ns", Kind::kReal},
                                  Column{"cpu_seconds", Kind::kReal},
                                  Column{"max_resident_bytes", Kind::kReal},
                                  Column{"exit_signal"},
                                  Column{"stderr_tail", Kind::kText}};
// Notes of a rank beside its points.
constexpr std::array kNoteColumns{Column{"rank"}, Column{"sequence"},
                                  Column{"severity", Kind::kText}, Column{"text", Kind::kText}};
// Points: added once, never changed; ingest/point_ranges.h notes them.
constexpr std::array kPointColumns{Column{"id"},
                                   Column{"series"},
                                   Column{"measured_ms", Kind::kMilliseconds},
                                   Column{"median", Kind::kReal},
                                   Column{"median_low", Kind::kReal},
                                   Column{"median_high", Kind::kReal},
                                   Column{"p99", Kind::kReal},
                                   Column{"sample_count", Kind::kReal},
                                   Column{"flags"},
                                   Column{"fact_set"},
                                   Column{"rate", Kind::kReal},
                                   Column{"rate_low", Kind::kReal},
                                   Column{"rate_high", Kind::kReal},
                                   Column{"slot_p10", Kind::kReal},
                                   Column{"pause_share", Kind::kReal},
                                   Column{"mean", Kind::kReal, false, true},
                                   Column{"p90", Kind::kReal, false, true},
                                   Column{"p999", Kind::kReal, false, true},
                                   Column{"slot_p1", Kind::kReal, false, true}};
// Events, also those that the store drops beyond its bound.
constexpr std::array kEventColumns{Column{"id"},
                                   Column{"at", Kind::kSeconds},
                                   Column{"kind", Kind::kText},
                                   Column{"node_id", Kind::kText},
                                   Column{"run_id", Kind::kText},
                                   Column{"text", Kind::kText}};
// Passes of the checks over a node.
constexpr std::array kPreflightColumns{Column{"id"}, Column{"node"}, Column{"run"},
                                       Column{"at", Kind::kSeconds}, Column{"state", Kind::kText}};
// Their checks.
constexpr std::array kPreflightCheckColumns{Column{"preflight"},
                                            Column{"number"},
                                            Column{"check_id", Kind::kText},
                                            Column{"subject", Kind::kText},
                                            Column{"state", Kind::kText},
                                            Column{"observed", Kind::kText},
                                            Column{"why", Kind::kText},
                                            Column{"remedy", Kind::kText}};
// Findings.
constexpr std::array kFindingColumns{Column{"id"},
                                     Column{"finding_id", Kind::kText},
                                     Column{"kind", Kind::kText},
                                     Column{"state", Kind::kText},
                                     Column{"severity", Kind::kText},
                                     Column{"run"},
                                     Column{"node"},
                                     Column{"suspect", Kind::kText},
                                     Column{"summary", Kind::kText},
                                     Column{"evidence", Kind::kText},
                                     Column{"opened_at", Kind::kSeconds},
                                     Column{"changed_at", Kind::kSeconds},
                                     Column{"upgrade"},
                                     Column{"acknowledged_until", Kind::kSeconds},
                                     Column{"worse", Kind::kReal}};
// The series that moved.
constexpr std::array kFindingSeriesColumns{Column{"finding"}, Column{"series"},
                                           Column{"before", Kind::kReal},
                                           Column{"after", Kind::kReal}};
// Steps that were taken about a finding.
constexpr std::array kFindingStepColumns{Column{"finding"},
                                         Column{"number"},
                                         Column{"at", Kind::kSeconds},
                                         Column{"who", Kind::kText},
                                         Column{"action", Kind::kText},
                                         Column{"text", Kind::kText}};
// Notes of people.
constexpr std::array kOperatorNoteColumns{Column{"id"},
                                          Column{"at", Kind::kSeconds},
                                          Column{"who", Kind::kText},
                                          Column{"subject_kind", Kind::kText},
                                          Column{"subject", Kind::kText},
                                          Column{"text", Kind::kText}};
// Figures of all pairs: two blobs a matrix.
constexpr std::array kPairMatrixColumns{Column{"id"},
                                        Column{"run"},
                                        Column{"rail"},
                                        Column{"kernel", Kind::kText},
                                        Column{"metric", Kind::kText},
                                        Column{"meaning", Kind::kText},
                                        Column{"message_bytes", Kind::kReal},
                                        Column{"unit", Kind::kText},
                                        Column{"larger_is_better"},
                                        Column{"endpoint_count"},
                                        Column{"endpoints", Kind::kBlob},
                                        Column{"body", Kind::kBlob}};
// Pairs that are outliers.
constexpr std::array kPairOutlierColumns{Column{"matrix"}, Column{"from_index"}, Column{"to_index"},
                                         Column{"value", Kind::kReal},
                                         Column{"expected", Kind::kReal}};
// Levels of the parts of the fabric, a blob a run and metric.
constexpr std::array kPartLevelsColumns{Column{"id"},
                                        Column{"run"},
                                        Column{"kernel", Kind::kText},
                                        Column{"metric", Kind::kText},
                                        Column{"meaning", Kind::kText},
                                        Column{"message_bytes", Kind::kReal},
                                        Column{"node_count"},
                                        Column{"body", Kind::kBlob}};
// Upgrades with verdict and report.
constexpr std::array kUpgradeColumns{Column{"id"},
                                     Column{"upgrade_id", Kind::kText},
                                     Column{"suite", Kind::kText},
                                     Column{"state", Kind::kText},
                                     Column{"requested_by", Kind::kText},
                                     Column{"created_at", Kind::kSeconds},
                                     Column{"before_is_history"},
                                     Column{"verdict", Kind::kText},
                                     Column{"kind", Kind::kText},
                                     Column{"reason", Kind::kText},
                                     Column{"judged_at", Kind::kSeconds},
                                     Column{"report", Kind::kText}};
// Their nodes.
constexpr std::array kUpgradeNodeColumns{Column{"upgrade"}, Column{"node"},
                                         Column{"role", Kind::kText}, Column{"stack_before"},
                                         Column{"stack_after"}};
// Their runs.
constexpr std::array kUpgradeRunColumns{Column{"upgrade"}, Column{"run"},
                                        Column{"side", Kind::kText}};
// Levels that people set.
constexpr std::array kBaselineColumns{Column{"series"},
                                      Column{"kind", Kind::kText},
                                      Column{"level", Kind::kReal},
                                      Column{"points"},
                                      Column{"set_at", Kind::kSeconds},
                                      Column{"who", Kind::kText},
                                      Column{"note", Kind::kText},
                                      Column{"finding"}};
// Schedules.
constexpr std::array kScheduleColumns{Column{"id"},
                                      Column{"name", Kind::kText},
                                      Column{"suite", Kind::kText},
                                      Column{"node_set", Kind::kText},
                                      Column{"exclusive"},
                                      Column{"cron", Kind::kText},
                                      Column{"zone", Kind::kText},
                                      Column{"jitter_seconds", Kind::kReal},
                                      Column{"windows", Kind::kText},
                                      Column{"blackouts", Kind::kText},
                                      Column{"concurrency", Kind::kText},
                                      Column{"catch_up_seconds", Kind::kReal},
                                      Column{"paused"},
                                      Column{"created_at", Kind::kSeconds},
                                      Column{"created_by", Kind::kText},
                                      Column{"decided_until", Kind::kSeconds},
                                      Column{"started"}};
// Due times and what became of them.
constexpr std::array kScheduleDueColumns{Column{"schedule"},
                                         Column{"due_at", Kind::kSeconds},
                                         Column{"decided_at", Kind::kSeconds},
                                         Column{"result", Kind::kText},
                                         Column{"run_id", Kind::kText},
                                         Column{"reason", Kind::kText},
                                         Column{"note", Kind::kText}};
// The trail of changes and refused calls.
constexpr std::array kAuditColumns{Column{"id"},
                                   Column{"at", Kind::kSeconds},
                                   Column{"call"},
                                   Column{"who", Kind::kText},
                                   Column{"role", Kind::kText},
                                   Column{"address", Kind::kText},
                                   Column{"rpc", Kind::kText},
                                   Column{"subject", Kind::kText},
                                   Column{"outcome", Kind::kText},
                                   Column{"reason", Kind::kText},
                                   Column{"refused"},
                                   Column{"count"}};

// Certificates of runs and upgrades, as content by its digest.
constexpr std::array kCertificateColumns{
    Column{"id"}, Column{"subject", Kind::kText}, Column{"made_at", Kind::kSeconds},
    Column{"digest", Kind::kText}, Column{"body", Kind::kBlob}};

// Reports on their way, so that none is sent twice after a takeover.
constexpr std::array kDeliveryColumns{Column{"id"},
                                      Column{"target", Kind::kText},
                                      Column{"delivery_id", Kind::kText},
                                      Column{"digest", Kind::kText},
                                      Column{"body", Kind::kText},
                                      Column{"state", Kind::kText},
                                      Column{"attempts"},
                                      Column{"created_at", Kind::kSeconds},
                                      Column{"next_at", Kind::kSeconds},
                                      Column{"cause", Kind::kText}};
// Durations by which forecasts learn.
constexpr std::array kStageTimeColumns{Column{"run"}, Column{"key", Kind::kText}, Column{"rounds"},
                                       Column{"longest_seconds", Kind::kReal},
                                       Column{"seconds", Kind::kReal}};

// Columns: key of the outbox, leading columns that identify a row, whether rows are sent as a set,
// whether deletes are carried over.
constexpr std::array kTables{
    MirrorTable{"fact_set", "id", 1, false, Deletes::kNever, kFactSetColumns},
    MirrorTable{"parameter_set", "id", 1, false, Deletes::kNever, kParameterSetColumns},
    MirrorTable{"metric_list", "id", 1, false, Deletes::kNever, kMetricListColumns},
    MirrorTable{"node", "id", 1, false, Deletes::kNever, kNodeColumns},
    MirrorTable{"node_name", "node", 2, true, Deletes::kNever, kNodeNameColumns},
    MirrorTable{"node_label", "node", 2, true, Deletes::kAlways, kNodeLabelColumns},
    MirrorTable{"node_pause", "id", 1, false, Deletes::kNever, kNodePauseColumns},
    MirrorTable{"endpoint", "id", 1, false, Deletes::kNever, kEndpointColumns},
    MirrorTable{"endpoint_attribute", "endpoint", 2, true, Deletes::kNever,
                kEndpointAttributeColumns},
    MirrorTable{"stack", "id", 1, false, Deletes::kNever, kStackColumns},
    MirrorTable{"epoch", "id", 1, false, Deletes::kNever, kEpochColumns},
    MirrorTable{"series", "id", 1, false, Deletes::kNever, kSeriesColumns},
    MirrorTable{"series_endpoint", "series", 2, true, Deletes::kNever, kSeriesEndpointColumns},
    MirrorTable{"series_day", "series", 2, true, Deletes::kNever, kSeriesDayColumns},
    MirrorTable{"run", "id", 1, false, Deletes::kNever, kRunColumns},
    MirrorTable{"task", "id", 1, false, Deletes::kNever, kTaskColumns},
    MirrorTable{"task_rank", "task", 2, true, Deletes::kNever, kTaskRankColumns},
    MirrorTable{"task_rest", "run", 4, true, Deletes::kNotByRetention, kTaskRestColumns},
    MirrorTable{"attempt", "id", 1, false, Deletes::kNever, kAttemptColumns},
    MirrorTable{"rank", "id", 1, false, Deletes::kNever, kRankColumns},
    MirrorTable{"note", "rank", 2, true, Deletes::kNever, kNoteColumns},
    MirrorTable{"point", "id", 1, false, Deletes::kNever, kPointColumns},
    MirrorTable{"event", "id", 1, false, Deletes::kNever, kEventColumns},
    MirrorTable{"preflight", "id", 1, false, Deletes::kAlways, kPreflightColumns},
    MirrorTable{"preflight_check", "preflight", 2, true, Deletes::kAlways, kPreflightCheckColumns},
    MirrorTable{"finding", "id", 1, false, Deletes::kNever, kFindingColumns},
    MirrorTable{"finding_series", "finding", 2, true, Deletes::kAlways, kFindingSeriesColumns},
    MirrorTable{"finding_step", "finding", 2, true, Deletes::kNever, kFindingStepColumns},
    MirrorTable{"operator_note", "id", 1, false, Deletes::kNever, kOperatorNoteColumns},
    MirrorTable{"pair_matrix", "id", 1, false, Deletes::kAlways, kPairMatrixColumns},
    MirrorTable{"pair_outlier", "matrix", 3, true, Deletes::kAlways, kPairOutlierColumns},
    MirrorTable{"part_levels", "id", 1, false, Deletes::kNotByRetention, kPartLevelsColumns},
    MirrorTable{"upgrade", "id", 1, false, Deletes::kNever, kUpgradeColumns},
    MirrorTable{"upgrade_node", "upgrade", 2, true, Deletes::kAlways, kUpgradeNodeColumns},
    MirrorTable{"upgrade_run", "upgrade", 2, true, Deletes::kAlways, kUpgradeRunColumns},
    MirrorTable{"baseline", "series", 2, true, Deletes::kAlways, kBaselineColumns},
    MirrorTable{"schedule", "id", 1, false, Deletes::kAlways, kScheduleColumns},
    MirrorTable{"schedule_due", "schedule", 2, true, Deletes::kNever, kScheduleDueColumns},
    MirrorTable{"audit", "id", 1, false, Deletes::kNever, kAuditColumns},
    MirrorTable{"certificate", "id", 1, false, Deletes::kNever, kCertificateColumns},
    MirrorTable{"delivery", "id", 1, false, Deletes::kNever, kDeliveryColumns},
    MirrorTable{"stage_time", "run", 2, true, Deletes::kNever, kStageTimeColumns},
};

}  // namespace

std::span<const MirrorTable> mirror_tables() { return kTables; }

// Points have the tails that were measured here, or came from the archive.
std::string source_of(const MirrorTable& table) {
  if (table.name != "point") return "\"" + std::string(table.name) + "\"";
  std::string tails;
  for (const MirrorColumn& column : table.columns)
    if (column.is_tail) {
      const std::string name(column.name);
      tails += ", coalesce(own." + name + ", tail." + name + ") AS " + name;
    }
  return "(SELECT point.*" + tails +
         " FROM point LEFT JOIN distribution AS own ON own.point=point.id LEFT JOIN point_tail AS "
         "tail ON tail.point=point.id)";
}

std::size_t mirror_table_number(std::string_view name) {
  const auto* found = std::ranges::find(kTables, name, &MirrorTable::name);
  RG_CHECK(found != kTables.end());
  return static_cast<std::size_t>(found - kTables.begin());
}

}  // namespace railgauge::store
