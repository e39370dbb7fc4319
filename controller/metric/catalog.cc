#include "controller/metric/catalog.h"

#include <algorithm>
#include <array>

#include "kernels/core/text/lines.h"

namespace railgauge::metric {
namespace {

using enum Type;
using enum Owner;

// Hardware of a node with the typical count of series, and what was measured there.
constexpr std::uint32_t kPorts = 8;
constexpr std::uint32_t kGpus = 8;
constexpr std::uint32_t kSizes = 3;
constexpr std::uint32_t kStats = 2;
constexpr std::uint32_t kBandwidthKernels = 2;
constexpr std::uint32_t kLatencyKernels = 1;
constexpr std::uint32_t kGpuKernels = 2;
constexpr std::uint32_t kMemories = 2;
constexpr std::uint32_t kChecks = 40;
constexpr std::uint32_t kPortCounters = 16;
constexpr std::uint32_t kGpuCounters = 5;
constexpr std::uint32_t kStackParts = 16;
// Bounds on what one process shows.
constexpr std::uint32_t kMostPorts = 64;
constexpr std::uint32_t kMostFigures = 600;
constexpr std::uint32_t kMostNames = 256;  // of suites
constexpr std::uint32_t kMostSchedules = 200;
constexpr std::uint32_t kMostPaused = 100;
constexpr std::uint32_t kMostNamedFindings = 5;

constexpr std::array kCatalog{
    // --- agent: itself ---------------------------------------------------------------------------
    Info{"railgauge_agent_info", kGauge, kAgent, "1", "version", 1, 1,
         "Always 1; the agent's version"},
    Info{"railgauge_agent_connected", kGauge, kAgent, "1", "", 1, 1,
         "1 while the controller has welcomed this agent"},
    Info{"railgauge_agent_reconnects_total", kCounter, kAgent, "1", "", 1, 1,
         "Streams that came after a lost one"},
    Info{"railgauge_agent_spool_records", kGauge, kAgent, "1", "", 1, 1,
         "Records that the controller has not acknowledged"},
    Info{"railgauge_agent_spool_bytes", kGauge, kAgent, "bytes", "", 1, 1,
         "Bytes in use in the spool, acknowledged records included"},
    Info{"railgauge_agent_spool_limit_bytes", kGauge, kAgent, "bytes", "", 1, 1,
         "Bytes that the spool may have; acknowledged records make room"},
    Info{"railgauge_agent_task_running", kGauge, kAgent, "1", "", 1, 1,
         "Tasks that run on this node now"},
    Info{"railgauge_agent_tasks_total", kCounter, kAgent, "1", "kernel outcome", 12, 300,
         "Tasks that ended on this node, by outcome"},
    // --- agent: what was measured last ---------------------------------------------------------
    Info{"railgauge_link_latency_seconds", kGauge, kAgent, "seconds",
         "device port kernel size memory stat", kPorts* kLatencyKernels* kSizes* kMemories* kStats,
         kMostFigures,
         "Last measured latency of a port, to whichever partner; size: small to 256 B, medium to "
         "64 KiB, large above"},
    Info{
        "railgauge_link_bandwidth_bytes_per_second", kGauge, kAgent, "bytes per second",
        "device port kernel size memory", kPorts* kBandwidthKernels* kSizes* kMemories,
        kMostFigures,
        "Last measured bandwidth of a port in one direction, all bytes over all time, to whichever "
        "partner; size: small to 256 B, medium to 64 KiB, large above"},
    Info{
        "railgauge_link_pause_ratio", kGauge, kAgent, "1", "device port kernel",
        kPorts* kBandwidthKernels, 2 * kMostPorts,
        "Share of the last bandwidth measurement's time lost in pauses of a millisecond or longer, "
        "in which bytes took over 1.5 times their usual time, of the worst size"},
    Info{"railgauge_link_expected_bytes_per_second", kGauge, kAgent, "bytes per second",
         "device port", kPorts, kMostPorts,
         "Line rate of a port, its upper bound; software devices, whose rate is only a name, have "
         "none"},
    Info{"railgauge_link_up", kGauge, kAgent, "1", "device port", kPorts, kMostPorts,
         "1 while the port is active"},
    Info{"railgauge_gpu_latency_seconds", kGauge, kAgent, "seconds", "gpu kernel size pair stat",
         kGpus* kStats, kMostFigures, "Last measured latency of a GPU; size as for links"},
    Info{"railgauge_gpu_bandwidth_bytes_per_second", kGauge, kAgent, "bytes per second",
         "gpu kernel size pair", kGpus* kGpuKernels* kSizes, kMostFigures,
         "Last measured bandwidth of a GPU, all bytes over all time; size as for links; pair: "
         "from>to inside the node, if reported"},
    Info{"railgauge_result_timestamp_seconds", kGauge, kAgent, "seconds", "device port gpu kernel",
         kPorts*(kBandwidthKernels + kLatencyKernels) + kGpus* kGpuKernels, kMostFigures,
         "When a port or GPU was last measured by a task that passed, unix time"},
    // --- agent: its node -----------------------------------------------------------------------
    Info{"railgauge_nic_info", kGauge, kAgent, "1",
         "device port netdev pci_bus_id link_layer driver firmware", kPorts, kMostPorts,
         "Always 1; what a NIC port is"},
    Info{"railgauge_gpu_info", kGauge, kAgent, "1", "gpu UUID pci_bus_id model driver", kGpus,
         kMostPorts, "Always 1; what a GPU is"},
    Info{"railgauge_stack_info", kGauge, kAgent, "1", "part version", kStackParts, 64,
         "Always 1; versions that an upgrade changes; another version begins another epoch"},
    Info{"railgauge_epoch_info", kGauge, kAgent, "1", "versions settings", 1, 1,
         "Always 1; fingerprints of the stack's versions and of its settings, as far as they could "
         "be read"},
    Info{"railgauge_node_busy", kGauge, kAgent, "1", "source", 7, 16,
         "1 while this source keeps the node from being measured"},
    Info{"railgauge_device_trouble_total", kCounter, kAgent, "1", "device port counter",
         kPorts* kPortCounters + kGpus* kGpuCounters, 1200,
         "Growth of a counter that means trouble, since the agent started; device: RDMA device, "
         "netdev or PCI address"},
    Info{"railgauge_node_events_total", kCounter, kAgent, "1", "kind severity", 21, 48,
         "Events of the watch of counters and kernel log, by severity"},
    Info{"railgauge_watch_kernel_log_readable", kGauge, kAgent, "1", "", 1, 1,
         "1 while XIDs are watched in the kernel's log"},
    Info{"railgauge_preflight_results", kGauge, kAgent, "1", "check state", kChecks, 300,
         "Results of the last preflight, by check and state"},
    Info{"railgauge_preflight_timestamp_seconds", kGauge, kAgent, "seconds", "", 1, 1,
         "When this node was last checked, unix time; 0: never"},
    // --- controller: runs and what they found --------------------------------------------------
    Info{"railgauge_controller_info", kGauge, kController, "1", "version", 1, 1,
         "Always 1; the controller's version"},
    Info{"railgauge_data_synthetic", kGauge, kController, "1", "", 1, 1,
         "1 where all data is of a modelled site, as of railgauge demo; 0 where it is of real "
         "nodes"},
    Info{"railgauge_runs_total", kCounter, kController, "1", "trigger outcome", 6, 40,
         "Runs that ended"},
    Info{"railgauge_run_active", kGauge, kController, "1", "", 1, 1, "1 while a run is under way"},
    Info{"railgauge_runs_waiting", kGauge, kController, "1", "priority", 3, 3,
         "Runs that wait for their nodes, by priority"},
    Info{"railgauge_run_last_outcome", kGauge, kController, "1", "suite outcome", 8, kMostNames,
         "Always 1; how the newest run of a suite that ended did"},
    Info{"railgauge_run_last_success_timestamp_seconds", kGauge, kController, "seconds", "suite", 8,
         kMostNames, "End of the last run that passed, by suite"},
    Info{"railgauge_run_last_end_timestamp_seconds", kGauge, kController, "seconds", "suite", 8,
         kMostNames, "End of the last run, by suite"},
    Info{"railgauge_tasks_total", kCounter, kController, "1", "kernel outcome", 40, 600,
         "Tasks that ended"},
    Info{"railgauge_findings", kGauge, kController, "1", "kind state severity", 6, 120,
         "Findings that are not resolved"},
    Info{"railgauge_finding_confirmed", kGauge, kController, "1", "finding", 2, kMostNamedFindings,
         "Always 1; the five findings that are to be looked at first: confirmed, reopened, or of "
         "lost bytes or functions; critical ones first, then by loss"},
    Info{"railgauge_regression_active", kGauge, kController, "1", "kernel metric", 4, 200,
         "Series that unresolved findings name, by what was measured"},
    Info{"railgauge_upgrades_proposed", kGauge, kController, "1", "", 1, 1,
         "Changes of stacks in the last 8 days whose nodes no gate has measured since"},
    Info{"railgauge_judge_false_alarm_ratio", kGauge, kController, "1", "", 1, 1,
         "Measured rate of false alarms: of the figures that nights of the last 30 days measured "
         "twice, with nothing changed in between, those that differ by more than their bound and "
         "noise; 0.05 is what chance may do; absent: none was measured twice"},
    Info{"railgauge_judge_repeated_figures", kGauge, kController, "1", "", 1, 1,
         "Figures that railgauge_judge_false_alarm_ratio rests on"},
    Info{"railgauge_worst_pair_ratio", kGauge, kController, "1", "kernel from to rail memory",
         kWorstPairs, kWorstPairs,
         "The slowest pairs of the newest run that measured pairs, against their rail's median; "
         "they make room for the next run's"},
    Info{
        "railgauge_pairs_timestamp_seconds", kGauge, kController, "seconds", "", 1, 1,
        "End of the run that the figures of pairs are of, or its begin while it is under way, unix "
        "time; 0: none"},
    Info{
        "railgauge_fabric_bandwidth_bytes_per_second", kGauge, kController, "bytes per second",
        "kernel rail memory distance stat", 32, 256,
        "Between the nodes of the newest run that measured pairs: the median, and what one pair of "
        "a hundred stays below"},
    Info{
        "railgauge_fabric_latency_seconds", kGauge, kController, "seconds",
        "kernel rail memory distance stat", 32, 256,
        "Between the nodes of the newest run that measured pairs: the median, and what one pair of "
        "a hundred exceeds"},
    // --- controller: schedules -----------------------------------------------------------------
    Info{"railgauge_schedule_enabled", kGauge, kController, "1", "schedule suite", 4,
         kMostSchedules, "1 while a schedule starts its suite, 0 while it is paused"},
    Info{"railgauge_schedule_pause_seconds", kGauge, kController, "seconds", "schedule suite", 4,
         kMostSchedules, "Longest time between two due times of a schedule among its next"},
    Info{"railgauge_schedule_last_result", kGauge, kController, "1", "schedule result", 4,
         kMostSchedules, "Always 1; what became of a schedule's newest due time"},
    Info{"railgauge_schedule_last_due_timestamp_seconds", kGauge, kController, "seconds",
         "schedule", 4, kMostSchedules, "A schedule's newest due time"},
    Info{"railgauge_schedule_first_due_timestamp_seconds", kGauge, kController, "seconds",
         "schedule suite", 4, kMostSchedules, "A schedule's oldest due time that the database has"},
    // --- controller: fleet and store -----------------------------------------------------------
    Info{"railgauge_nodes", kGauge, kController, "1", "state", 4, 4,
         "Nodes seen within a week, by state; absent: not since the controller's start"},
    Info{"railgauge_nodes_busy", kGauge, kController, "1", "", 1, 1,
         "Attached nodes that something keeps from being measured"},
    Info{"railgauge_nodes_paused", kGauge, kController, "1", "", 1, 1,
         "Nodes in maintenance, attached or not"},
    Info{"railgauge_node_pause_end_timestamp_seconds", kGauge, kController, "seconds", "node", 4,
         kMostPaused, "When a node in maintenance comes back by itself; there while it is paused"},
    Info{"railgauge_nodes_clock_off", kGauge, kController, "1", "", 1, 1,
         "Attached nodes whose clock is more than 5 s beside the controller's"},
    Info{"railgauge_node_clock_skew_seconds", kGauge, kController, "seconds", "", 1, 1,
         "Largest difference between an attached node's clock and the controller's"},
    Info{"railgauge_agents", kGauge, kController, "1", "version", 2, 32,
         "Attached agents, by version"},
    Info{"railgauge_agents_refused_total", kCounter, kController, "1", "code", 7, 7,
         "Attaches refused since the start; permission_denied and already_exists: the agent is not "
         "the node that it says"},
    Info{"railgauge_agents_waiting_records", kGauge, kController, "1", "", 1, 1,
         "Records in all agents' spools that wait for this controller"},
    Info{"railgauge_records_stored_total", kCounter, kController, "1", "", 1, 1,
         "Records committed since the start"},
    Info{"railgauge_store_queue_depth", kGauge, kController, "1", "", 1, 1,
         "Records waiting for a commit"},
    Info{"railgauge_store_queue_limit", kGauge, kController, "1", "", 1, 1,
         "Records that may wait for a commit before agents hold theirs"},
    Info{"railgauge_store_failed_batches_total", kCounter, kController, "1", "", 1, 1,
         "Transactions that the database refused"},
    Info{"railgauge_store_read_only", kGauge, kController, "1", "", 1, 1,
         "1 while the database's file system is full and only reads and pruning are served"},
    Info{"railgauge_memory_short", kGauge, kController, "1", "", 1, 1,
         "1 while runs, exports and SQL are refused because the controller's cgroup has little "
         "memory left"},
    Info{"railgauge_db_size_bytes", kGauge, kController, "bytes", "", 1, 1,
         "Database file with its log"},
    Info{"railgauge_db_free_bytes", kGauge, kController, "bytes", "", 1, 1,
         "Free space where the database is"},
    Info{"railgauge_orphan_records", kGauge, kController, "1", "", 1, 1,
         "Acknowledged records kept that were put aside"},
    Info{"railgauge_orphan_records_dropped_total", kCounter, kController, "1", "", 1, 1,
         "Records put aside that were not kept because there were too many"},
    Info{"railgauge_records_refused_total", kCounter, kController, "1", "fault", 9, 9,
         "Records put aside since the start"},
    Info{"railgauge_connections_total", kCounter, kController, "1", "result", 7, 7,
         "TCP connections: accepted, closed for a newer one, closed without first bytes in time, "
         "refused for want of descriptors or for another protocol, left by the peer before; and of "
         "the accepted: failed in their greeting (TLS, HTTP/2), ended for breaking HTTP/2's rules"},
    Info{"railgauge_connections_open", kGauge, kController, "1", "", 1, 1,
         "TCP connections that are with gRPC"},
    Info{"railgauge_connection_pauses_total", kCounter, kController, "1", "", 1, 1,
         "Times that a peer was slowed, because it made more HTTP/2 frames than its allowance"},
    Info{"railgauge_connections_waiting", kGauge, kController, "1", "", 1, 1,
         "TCP connections that have not sent their first bytes"},
    Info{"railgauge_port_accepts", kGauge, kController, "1", "", 1, 1,
         "1 while the TCP port takes connections; 0 is what /healthz reports"},
    Info{"railgauge_agents_certificate_expiring", kGauge, kController, "1", "", 1, 1,
         "Attached agents whose certificate ends within 14 days"},
    Info{"railgauge_deliveries_total", kCounter, kController, "1", "target outcome", 10, 16,
         "Reports that were to be sent, by target: delivered, postponed after a failed attempt, "
         "failed after all attempts, refused by the receiver, dropped because too many waited"},
    Info{"railgauge_deliveries_waiting", kGauge, kController, "1", "target", 2, 3,
         "Reports that wait to be sent"},
    Info{"railgauge_mirror_connected", kGauge, kController, "1", "", 0, 1,
         "1 while the mirror in PostgreSQL takes data; absent without a mirror, as its others"},
    Info{"railgauge_mirror_lag_seconds", kGauge, kController, "seconds", "", 0, 1,
         "Age of the oldest change that the mirror lacks; 0: it has all"},
    Info{"railgauge_mirror_waiting_rows", kGauge, kController, "1", "", 0, 1,
         "Rows of the outbox that the mirror lacks; a row is a change or a stretch of points"},
    Info{"railgauge_mirror_tables_left", kGauge, kController, "1", "", 0, 1,
         "Tables of which the mirror lacks what they had when it was turned on"},
    Info{"railgauge_mirror_rows_total", kCounter, kController, "1", "", 0, 1,
         "Rows that were sent to the mirror"},
    Info{"railgauge_mirror_failures_total", kCounter, kController, "1", "", 0, 1,
         "Failed attempts to send to the mirror"},
    Info{"railgauge_controller_active", kGauge, kController, "1", "", 0, 1,
         "1 on the active controller of a site with several, 0 on a standby; absent on a single "
         "one"},
    Info{"railgauge_controller_generation", kGauge, kController, "1", "", 0, 1,
         "Generation of the lease that the controller holds, or sees"},
    Info{"railgauge_takeovers_total", kCounter, kController, "1", "", 0, 1,
         "1 where this active controller has taken over from another one"},
    Info{"railgauge_standby_lag_seconds", kGauge, kController, "seconds", "", 0, 1,
         "How far a standby's copy of the site is behind the archive"},
    Info{"railgauge_backups_total", kCounter, kController, "1", "outcome", 2, 2,
         "Backups by schedule, by outcome: made and proved by restoring, or failed"},
    Info{"railgauge_backup_timestamp_seconds", kGauge, kController, "seconds", "", 1, 1,
         "When the newest file of the backup folder was written, unix time; 0: there is none"},
    Info{"railgauge_backup_interval_seconds", kGauge, kController, "seconds", "", 1, 1,
         "How often a backup is made by schedule; 0: never"},
    // --- both ----------------------------------------------------------------------------------
    Info{"railgauge_certificate_expiry_timestamp_seconds", kGauge, kBoth, "seconds", "certificate",
         2, 3,
         "End of this program's certificate, of its authority and of the revocation list in use, "
         "unix time; absent without TLS"},
    Info{"railgauge_tls_reload_failures_total", kCounter, kBoth, "1", "file", 2, 2,
         "TLS files that were refused, or lists that ended; what was in use before stays in use"},
    Info{"railgauge_series_refused_total", kCounter, kBoth, "1", "", 1, 1,
         "Values that would have made a series beyond its family's bound"},
    Info{"process_cpu_seconds_total", kCounter, kBoth, "seconds", "", 1, 1,
         "User and system time of this process"},
    Info{"process_resident_memory_bytes", kGauge, kBoth, "bytes", "", 1, 1,
         "Resident memory of this process"},
    Info{"process_virtual_memory_bytes", kGauge, kBoth, "bytes", "", 1, 1,
         "Virtual memory of this process"},
    Info{"process_open_fds", kGauge, kBoth, "1", "", 1, 1, "Open file descriptors"},
    Info{"process_max_fds", kGauge, kBoth, "1", "", 1, 1, "Limit of open file descriptors"},
    Info{"process_start_time_seconds", kGauge, kBoth, "seconds", "", 1, 1,
         "Start of the process, unix time"},
};

struct LabelValues {
  std::string_view label;
  std::string_view values;
};
constexpr std::array kLabels{
    LabelValues{"UUID", "the GPU's, as dcgm-exporter has it"},
    LabelValues{"certificate", "own, authority, crl"},
    LabelValues{"check", "ids of the preflight's table"},
    LabelValues{"counter", "names in the watch's rules"},
    LabelValues{"device", "RDMA devices of the node; of counters also netdevs, PCI addresses"},
    LabelValues{"distance", "same_leaf, cross_leaf, unknown"},
    LabelValues{"driver", "kernel module"},
    LabelValues{"file", "certificate, crl"},
    LabelValues{"code",
                "permission_denied, already_exists, invalid_argument, resource_exhausted, "
                "failed_precondition, unavailable, other"},
    LabelValues{
        "fault",
        "unsound, unknown_task, foreign_rank, attempt, kernel, order, metric, ended, bounds"},
    LabelValues{"finding", "ids of at most five findings: part-gpu017-rail-3"},
    LabelValues{"firmware", "the NIC's; on this _info series alone"},
    LabelValues{"from", "nodes of at most 20 pairs"},
    LabelValues{"gpu", "gpu0 ..., GPUs of the node"},
    LabelValues{"kernel", "kernels of the node's own list, or unknown"},
    LabelValues{"kind",
                "counter, xid, sxid, device_vanished, ...; of findings: regression, lost_function, "
                "corruption, mode_mix, step, drift, variance, peer, part, port_failover"},
    LabelValues{"link_layer", "ethernet, infiniband"},
    LabelValues{"memory", "host, gpu, staged (through the host's); of pairs also nothing"},
    LabelValues{"metric", "latency_ns, bandwidth_bytes_per_second, ..."},
    LabelValues{"model", "the GPU's"},
    LabelValues{"netdev", "network interfaces of the node"},
    LabelValues{"node", "nodes in maintenance, the first 100"},
    LabelValues{"outcome",
                "passed, failed, waived, crashed, timed_out, cancelled; of reports delivered, "
                "postponed, failed, refused, dropped"},
    LabelValues{"pair", "from>to, both of this node: gpu0>gpu1, host>gpu0"},
    LabelValues{"part", "names of the stack's versions: gpu_driver, ofed, linux_kernel, ..."},
    LabelValues{"pci_bus_id", "as dcgm-exporter has it: 00000000:17:00.0"},
    LabelValues{"port", "ports of the device"},
    LabelValues{"priority", "gate, cli, schedule"},
    LabelValues{"rail", "0 ..., as the nodes' NICs are counted"},
    LabelValues{"result",
                "started, skipped, missed, by_hand; of connections: accepted, shed, timed_out, "
                "refused, left"},
    LabelValues{"schedule", "the controller's schedules"},
    LabelValues{"settings", "16 hexadecimal digits; on this _info series alone"},
    LabelValues{"severity", "info, warning, critical"},
    LabelValues{"size", "small, medium, large"},
    LabelValues{"source", "marker, slurm, kubernetes, gpu, load, hook, guard"},
    LabelValues{"stat", "p50, p99; of the fabric also p01"},
    LabelValues{"state",
                "of nodes: attached, detached, lost, absent; of checks: pass, warn, fail, "
                "error, waived, unknown; of findings: new, confirmed, acknowledged, "
                "investigating, downstream, reopened"},
    LabelValues{"suite", "suites that were run: those of schedules, then those that ended last"},
    LabelValues{"target", "webhook, chat, mail; none where the report itself was not made"},
    LabelValues{"to", "nodes of at most 20 pairs"},
    LabelValues{"trigger", "cli, prove, schedule, upgrade"},
    LabelValues{"version", "of Railgauge, or of a part of the stack"},
    LabelValues{"versions", "16 hexadecimal digits; on this _info series alone"},
};

}  // namespace

std::span<const Info> catalog() { return kCatalog; }

// A linear search: the list is short, and values are set by names that are known when compiling.
const Info* find(std::string_view name) {
  const auto at = std::ranges::find(kCatalog, name, &Info::name);
  return at == kCatalog.end() ? nullptr : &*at;
}

// The names in the order of the declaration, which is the order in the reference.
std::vector<std::string_view> label_names(const Info& info) { return words_of(info.labels); }

std::string_view label_values(std::string_view label) {
  const auto at = std::ranges::find(kLabels, label, &LabelValues::label);
  return at == kLabels.end() ? std::string_view() : at->values;
}

// The words are in the order of the enumerators.
std::string_view word(Type type) {
  constexpr std::array<std::string_view, 3> kWords{"gauge", "counter", "summary"};
  return kWords.at(static_cast<std::size_t>(type));
}

std::string_view word(Owner owner) {
  constexpr std::array<std::string_view, 3> kWords{"agent", "controller", "both"};
  return kWords.at(static_cast<std::size_t>(owner));
}

// kBoth counts for agent and controller.
bool is_shown_by(const Info& info, Owner process) {
  return info.owner == process || info.owner == kBoth;
}

// Multiplies the catalog's counts; nothing is measured. The sums assume one agent a node.
Budget budget(std::uint32_t nodes) {
  Budget sum;
  for (const Info& info : kCatalog) {
    // A summary has a sum and a count beside its quantiles.
    const std::uint32_t more = info.type == kSummary ? 2 : 0;
    if (is_shown_by(info, kAgent)) {
      sum.agent_typical += info.typical + more;
      sum.agent_most += info.most + more;
    }
    if (is_shown_by(info, kController)) {
      sum.controller_typical += info.typical + more;
      sum.controller_most += info.most + more;
    }
  }
  sum.fleet_typical = nodes * sum.agent_typical + sum.controller_typical;
  return sum;
}

}  // namespace railgauge::metric
