"""The five dashboards."""
import alerts
from panels import UNKNOWN, bars, board, choice, fixed, graph, mark, maybe, named, query, stat, steps, table, unit_of_query

C = 'cluster=~"$cluster"'
N = 'cluster=~"$cluster",node=~"$node"'
D = 'cluster=~"$cluster",node=~"$node",device=~"$device"'
K = f'{D},kernel=~"$kernel"'
R = f'{C},rail=~"$rail"'
RATE = "[$__rate_interval]"
# Units as the CLI's tables have them: NICs in Gb/s, GPUs and collectives in GB/s. The metrics are in bytes a second.
GIGABITS, GIGABYTES, BITS = "bps", "Bps", " * 8"
GPU_KERNELS = "(bar|cuda|nccl)[.].*"  # of results_table.cc
QUIET = f"unless on (cluster, node) {alerts.QUIET_NODE}{{{C}}} == 1"
CONTROLLER_UP = f'up{{{C},job="railgauge-controller"}} == 1'
CONTROLLER_NOW = f'max(up{{{C},job="railgauge-controller"}})'
# 0 down, 1 up, 2 up with the data of a modelled site. An older controller says nothing of its data.
CONTROLLER_STATE = f"{CONTROLLER_NOW} + (max(railgauge_data_synthetic{{{C}}}) or vector(0)) or vector(0)"
SYNTHETIC_WORDS = {2: ("up, SYNTHETIC data", "orange")}
MOST_ROWS = 100


def known(expr):
    """Returns a stat's query: 0 where there is no series although the controller is scraped, else UNKNOWN."""
    return f"{expr} or 0 * max({CONTROLLER_UP}) or vector({UNKNOWN})"


def told(expr):
    """Returns a stat's query for a series that is always there: UNKNOWN without it."""
    return f"{expr} or vector({UNKNOWN})"


# Marks on the boards. A run ends where the series' value says it; a stack changes for the ten minutes in which its
# series is new; maintenance begins where a node becomes quiet. A node that is new has changed nothing. All the time of a
# modelled site is marked.
NEW = "offset 10m and on (cluster, node) railgauge_agent_info offset 10m)"


def settings_of(chosen):
    return f"count by (settings) (railgauge_epoch_info{{{chosen}}} unless on (cluster, node, settings) railgauge_epoch_info {NEW}"


def epochs_of(chosen):
    return f"count by (part, version) (railgauge_stack_info{{{chosen}}} unless on (cluster, node, part, version) railgauge_stack_info {NEW}"


def pauses_of(chosen):
    quiet = alerts.QUIET_NODE
    return f"{quiet}{{{chosen}}} == 1 unless on (cluster, node) last_over_time({quiet}[5m] offset 2m) == 1"


RUNS = (f"1000 * max by (cluster, suite) (railgauge_run_last_end_timestamp_seconds{{{C}}}) * on (cluster, suite) group_left (outcome) "
        f"max by (cluster, suite, outcome) (railgauge_run_last_outcome{{{C}}})")
SYNTHETIC = f"max by (cluster) (railgauge_data_synthetic{{{C}}}) == 1"
SETTINGS, EPOCHS, PAUSES = settings_of(C), epochs_of(C), pauses_of(C)


def marks(chosen):
    return [mark("Runs", RUNS, "{{suite}}: {{outcome}}", "blue", at_value=True), mark("Upgrades", epochs_of(chosen), "{{part}} {{version}}", "orange"),
            mark("Settings", settings_of(chosen), "settings changed: railgauge nodes show", "orange"),
            mark("Maintenance", pauses_of(chosen), "{{node}}: maintenance begins", "purple"),
            mark("Synthetic", SYNTHETIC, "SYNTHETIC: the data of {{cluster}} is of a modelled site", "red")]


DOWN = f"railgauge_link_up{{{D}}} == 0 and on (cluster, node, device, port) {alerts.LAST_UP}"

FLEET = board("fleet", "Railgauge / Fleet", "Is the fleet measured, and is it well?", named("datasource", "cluster"), [
    stat("Nodes attached", "Nodes whose agent speaks to the controller now.", query(told(f'sum(railgauge_nodes{{{C},state="attached"}})')), "service", good_from=1, console="nodes"),
    stat("Nodes silent", "Nodes seen within a week that are lost, or absent since the controller's start, without those in maintenance. See: railgauge nodes",
         query(told(f"sum(railgauge:silent:nodes{{{C}}})")), "service", bad_above=1, console="nodes"),
    stat("Preflight failing", "Nodes whose last preflight said fail or error, without those in maintenance. See: railgauge preflight",
         query(known(f"sum(railgauge:preflight_failing:nodes{{{C}}})")), "node", bad_above=1, console="nodes"),
    stat("Findings", "Findings that nobody resolved or accepted. See: railgauge findings", query(known(f"sum(railgauge_findings{{{C}}})")), "fabric", bad_above=1, console="findings"),
    stat("Suites not measured", "Scheduled suites that did not pass for too long, as the alert counts them. See: railgauge runs",
         query(known(f'count({alerts.unmeasured(f"{{{C}}}")})')), "service", bad_above=1, console="runs"),
    stat("Schedules missed", "Schedules that started nothing at their newest due time. See: railgauge schedules",
         query(known(f'count({alerts.missed(C + ",")})')), "service", bad_above=1, console="runs"),
    stat("Nodes in maintenance", "Nodes that somebody paused.", query(told(f"sum(railgauge_nodes_paused{{{C}}})")), "node", console="nodes"),
    stat("Nodes busy", "Attached nodes that a job, a marker or load keeps from being measured.", query(told(f"sum(railgauge_nodes_busy{{{C}}})")), "node", console="nodes"),
    stat("Ports down", "Ports that are down and were up within a week, without those of nodes in maintenance.",
         query(known(f"count((railgauge_link_up{{{C}}} == 0 and on (cluster, node, device, port) {alerts.LAST_UP}) {QUIET})")), "fabric", bad_above=1, console="nodes"),
    stat("Clocks off", "Attached nodes whose clock is more than 5 s beside the controller's. See: railgauge events --kind clock",
         query(told(f"sum(railgauge_nodes_clock_off{{{C}}})")), "service", bad_above=1, console="nodes"),
    stat("Tasks passed", "Share of all tasks since the controller's start that passed; waived ones are left out.",
         query(told(f'sum(railgauge_tasks_total{{{C},outcome="passed"}}) / sum(railgauge_tasks_total{{{C},outcome!="waived"}})')), "service", unit="percentunit",
         thresholds=steps((None, "red"), (0.9, "orange"), (0.99, "green")), console="runs"),
    stat("Controller", "Whether the controller is scraped. While it is down, its other figures are unknown.", query(CONTROLLER_STATE), "service", good_words=("down", "up"),
         words=SYNTHETIC_WORDS),
    table("Failing nodes", "Nodes whose last preflight failed, and the number of checks that say so, without nodes in maintenance. See: railgauge preflight NODE",
          maybe(f'sort_desc(topk({MOST_ROWS}, count by (node) (max by (cluster, node, check) (railgauge_preflight_results{{{C},state=~"fail|error"}}) > 0 {QUIET})))'),
          "node", width=8, value="checks", console="nodes"),
    table("Silent nodes", "Nodes whose agent has no stream to the controller, or whose metrics are not scraped, without those in maintenance. See: railgauge nodes",
          maybe(f'topk({MOST_ROWS}, label_replace(max by (cluster, node) (railgauge_agent_connected{{{C}}}) == 0 {QUIET}, "why", "no stream to the controller", "", "") or '
                f'label_replace(max by (cluster, node) (up{{{C},job="railgauge-agent"}}) == 0 {QUIET}, "why", "metrics are not scraped", "", ""))'), "node", width=8, console="nodes"),
    table("Paused nodes", "Nodes that somebody paused, and when they come back by themselves. Why: railgauge nodes",
          maybe(f"sort(max by (node) (railgauge_node_pause_end_timestamp_seconds{{{C}}}) * 1000)"), "node", unit="dateTimeAsIso", width=8, value="until", console="nodes"),
    table("Alerts", "Railgauge's alerts that are pending or fire.", maybe(f'ALERTS{{{C},alertname=~"Railgauge.*"}}'), "service", console="findings"),
    table("Last run of each suite", "How the newest run of each suite ended.", query(f"max by (suite, outcome) (railgauge_run_last_outcome{{{C}}})"), "fabric", console="runs"),
    graph("Nodes by state", "Attached, detached for a moment, lost, or absent since the controller's start.", query(f"sum by (state) (railgauge_nodes{{{C}}})", "{{state}}"), "service",
          width=12, console="nodes"),
    graph("Tasks by outcome", "Tasks that ended, by outcome, a minute.", query(f"sum by (outcome) (rate(railgauge_tasks_total{{{C}}}{RATE})) * 60", "{{outcome}}"), "fabric", width=12, console="runs"),
    bars("Since a suite passed", "Age of the last run that passed, by suite.", query(f"max by (suite) (railgauge:run_age:seconds{{{C}}})", "{{suite}}"), "service", unit="s", console="runs"),
    bars("Preflight checks that fail", "Nodes by check that says fail or error.",
         maybe(f'count by (check) (max by (node, check) (railgauge_preflight_results{{{C},state=~"fail|error"}}) > 0)', "{{check}}"), "node", console="nodes"),
    table("Schedules", "The result of each schedule's newest due time.", maybe(f"max by (schedule, result) (railgauge_schedule_last_result{{{C}}})"), "service", width=8, console="runs"),
], marks(C))

FABRIC = board("fabric", "Railgauge / Fabric", "Rails, distances, and who is slow.", named("datasource", "cluster", "node", "device", "rail", "kernel"), [
    graph("Bandwidth by rail", "The newest run of pairs: median of each rail, and the value that one pair in a hundred stays below.",
          query(f'max by (rail, stat) (railgauge_fabric_bandwidth_bytes_per_second{{{R},kernel=~"$kernel",kernel!~"{GPU_KERNELS}"}}){BITS}', "rail {{rail}} {{stat}}"), "upgrade", unit=GIGABITS, width=12),
    graph("Latency by rail", "The newest run of pairs, smallest messages: median of each rail, and the value that one pair in a hundred exceeds.",
          query(f'max by (rail, stat) (railgauge_fabric_latency_seconds{{{R},kernel=~"$kernel"}})', "rail {{rail}} {{stat}}"), "upgrade", unit="s", width=12),
    bars("Bandwidth by distance", "Median of the pairs of one leaf, of those across leaves, or where the leaf is not known; the second of each, where there is one, is NCCL's in GB/s.",
         [query(f'avg by (distance) (railgauge_fabric_bandwidth_bytes_per_second{{{R},kernel=~"$kernel",kernel!~"{GPU_KERNELS}",stat="p50"}}){BITS}', "{{distance}}"),
          query(f'avg by (distance) (railgauge_fabric_bandwidth_bytes_per_second{{{R},kernel=~"{GPU_KERNELS}",stat="p50"}})', "{{distance}} NCCL", must="collectives")],
         "upgrade", unit=GIGABITS, overrides=[unit_of_query("B", GIGABYTES)]),
    table("Worst pairs", "The slowest pairs of the newest run against their rail's median; they make room for the next run's. See: railgauge runs suspects",
          query(f"sort(railgauge_worst_pair_ratio{{{R}}})"), "node", unit="percentunit", width=16, value="of median"),
    graph("Measured over expected", "RDMA bandwidth of messages above 256 B by the port's line rate: the ten lowest ports. The dashed line is the alert's floor.",
          [query(f"bottomk(10, railgauge:link_bandwidth:ratio{{{D}}})", "{{node}} {{device}}:{{port}} {{memory}}", must="line_rate"),
           query("railgauge:link_bandwidth:ratio_floor", "floor")], "node", unit="percentunit", width=12, dashed=("floor",)),
    graph("Pauses", "Share of time lost in pauses of a millisecond or longer, in the last RDMA bandwidth: the ten ports with most. The dashed line is the alert's ceiling.",
          [maybe(f"topk(10, railgauge:link_pause:ratio{{{D}}})", "{{node}} {{device}}:{{port}}"),
           query("railgauge:link_pause:ratio_ceiling", "ceiling")], "node", unit="percentunit", width=12, dashed=("ceiling",)),
    graph("Bandwidth by device", "Median over the nodes of each device: on equal nodes a device is a rail.",
          query(f'quantile by (device, memory) (0.5, railgauge_link_bandwidth_bytes_per_second{{{K},size!="small"}}){BITS}', "{{device}} {{memory}}"), "upgrade", unit=GIGABITS, width=12),
    graph("Latency by device", "Median over the nodes of each device, small messages.",
          query(f'quantile by (device, memory, stat) (0.5, railgauge_link_latency_seconds{{{K},size="small"}})', "{{device}} {{memory}} {{stat}}"), "upgrade", unit="s", width=12),
    bars("Since it was measured", "The ten ports with the oldest figures.", query(f'topk(10, time() - max by (node, device, port) (railgauge_result_timestamp_seconds{{{D},device!=""}}))', "{{node}} {{device}}:{{port}}"),
         "fleet", unit="s", console="runs"),
    stat("Ports down", "Ports that are down and were up within a week.", query(known(f"count({DOWN})")), "node", bad_above=1, console="nodes"),
    table("Ports that are down", "Ports that are down and were up within a week, and since when.",
          maybe(f"sort(topk({MOST_ROWS}, 1000 * ({alerts.LAST_UP} and on (cluster, node, device, port) railgauge_link_up{{{D}}} == 0)))"), "node", unit="dateTimeAsIso", width=12,
          value="last up", console="nodes"),
    table("Counters that grew", "Growth within half an hour of counters that mean trouble.", maybe(f"topk(20, railgauge:device_trouble:increase30m{{{D}}} > 0)"), "node", width=24, value="growth",
          console="nodes"),
], marks(N), console="matrix")

NODE = board("node", "Railgauge / Node", "One node: what it is, what it gave, what is wrong with it.", named("datasource", "cluster", "node", "device", "kernel"), [
    stat("Attached", "Whether the agents have a stream to the controller; an agent that is not scraped has none.",
         query(told(f'min(railgauge_agent_connected{{{N}}} or on (cluster, node) 0 * up{{{N},job="railgauge-agent"}})')), "service", good_words=("no", "yes")),
    stat("Tasks running", "Tasks that run on the node now.", query(told(f"sum(railgauge_agent_task_running{{{N}}})")), "fleet", console="runs"),
    stat("Busy", "Sources that keep the node from being measured now.", query(told(f"sum(railgauge_node_busy{{{N}}})")), "fleet", words={0: ("idle", "green")}),
    stat("Spool", "Records that wait for the controller.", query(told(f"sum(railgauge_agent_spool_records{{{N}}})")), "service"),
    stat("Since preflight", "Age of the node's last preflight; red after a week.", maybe(told(f"max(time() - (railgauge_preflight_timestamp_seconds{{{N}}} > 0))")), "fleet", unit="s",
         bad_above=7 * 86400, words={UNKNOWN: ("never", "orange")}),
    stat("Kernel log", "Whether XIDs are watched in the kernel's log.", query(told(f"min(railgauge_watch_kernel_log_readable{{{N}}})")), "service", good_words=("not readable", "watched")),
    graph("Link bandwidth", "Last measured bandwidth of each port by memory, messages above 256 B; dashed: the line rate.",
          [query(f'max by (node, device, port, memory) (railgauge_link_bandwidth_bytes_per_second{{{K},size!="small"}}){BITS}', "{{node}} {{device}}:{{port}} {{memory}}"),
           maybe(f"max(railgauge_link_expected_bytes_per_second{{{D}}}){BITS}", "line rate")], "fabric", unit=GIGABITS, width=12, dashed=("line rate",)),
    graph("Link pauses", "Share of time lost in pauses of a millisecond or longer, in the last bandwidth of each port, by kernel.",
          maybe(f"max by (node, device, port, kernel) (railgauge_link_pause_ratio{{{K}}})", "{{node}} {{device}}:{{port}} {{kernel}}"), "fabric", unit="percentunit", width=12),
    graph("Link latency", "Last measured latency of each port by memory, small messages.",
          query(f'max by (node, device, port, memory, stat) (railgauge_link_latency_seconds{{{K},size="small"}})', "{{node}} {{device}}:{{port}} {{memory}} {{stat}}"), "fabric", unit="s", width=12),
    graph("GPU bandwidth", "Last measured bandwidth of each GPU, messages above 256 B, by pair if reported.",
          maybe(f'max by (node, gpu, kernel, pair) (railgauge_gpu_bandwidth_bytes_per_second{{{N},kernel=~"$kernel",size!="small"}})', "{{node}} {{gpu}} {{kernel}} {{pair}}"), "upgrade", unit=GIGABYTES, width=12),
    graph("Tasks", "Tasks that ended on the node, by outcome, a minute.", query(f"sum by (outcome) (rate(railgauge_agent_tasks_total{{{N}}}{RATE})) * 60", "{{outcome}}"), "fleet", width=12, console="runs"),
    table("Preflight", "Checks of the last preflight that do not say pass. See: railgauge preflight NODE",
          maybe(f'max by (node, check, state) (railgauge_preflight_results{{{N},state!~"pass|waived"}})'), "upgrade", value="results"),
    table("Busy by", "The work that keeps the node from being measured.", maybe(f"max by (node, source) (railgauge_node_busy{{{N}}}) == 1"), "fleet"),
    graph("Counters", "Growth of counters that mean trouble, an hour.", maybe(f"sum by (node, device, counter) (increase(railgauge_device_trouble_total{{{N}}}[1h])) > 0", "{{node}} {{device}} {{counter}}"),
          "fabric", width=12),
    graph("Events", "Events of the watch within an hour, by kind and severity.", maybe(f"sum by (kind, severity) (increase(railgauge_node_events_total{{{N}}}[1h])) > 0", "{{kind}} {{severity}}"), "fabric", width=12),
    table("NICs", "Ports as node_exporter names them, with firmware.", query(f"max by (node, device, port, netdev, pci_bus_id, link_layer, driver, firmware) (railgauge_nic_info{{{D}}})"), "upgrade"),
    table("GPUs", "GPUs as dcgm-exporter names them.", maybe(f"max by (node, gpu, UUID, pci_bus_id, model, driver) (railgauge_gpu_info{{{N}}})"), "upgrade"),
    table("Stack", "Versions of what an upgrade changes.", query(f"max by (node, part, version) (railgauge_stack_info{{{N}}})"), "upgrade"),
], marks(N), console="nodes")

BY_VERSION = f'* on (cluster, node) group_left (version) railgauge_stack_info{{{C},part="$part"}}'
UPGRADE = board("upgrade", "Railgauge / Upgrade", "Before and after: figures by version of a part of the stack.",
                named("datasource", "cluster", "node", "device", "kernel") + [choice("part", "Part", 'railgauge_stack_info{cluster=~"$cluster"}', several=False), fixed("before", "Before", ["1d", "7d", "30d"])], [
    table("Versions", "Nodes by version of each part: more than one version is a rollout under way, or one that stopped.",
          query(f"count by (part, version) (railgauge_stack_info{{{N}}})"), "node", value="nodes", console="nodes"),
    graph("Nodes by version", "Nodes by version of the chosen part.", query(f'count by (version) (railgauge_stack_info{{{N},part="$part"}})', "{{version}}"), "node", width=12, console="nodes"),
    graph("Bandwidth by version", "Mean bandwidth of messages above 256 B of the nodes that run each version of the chosen part.",
          query(f'avg by (version) (max by (cluster, node) (railgauge_link_bandwidth_bytes_per_second{{{K},size!="small"}}) {BY_VERSION}){BITS}', "{{version}}"), "fabric", unit=GIGABITS, width=12),
    graph("Latency by version", "Mean median latency of small messages of the nodes that run each version of the chosen part.",
          query(f'avg by (version) (max by (cluster, node) (railgauge_link_latency_seconds{{{K},size="small",stat="p50"}}) {BY_VERSION})', "{{version}}"), "fabric", unit="s", width=12),
    bars("Bandwidth now over before", "Messages above 256 B by kernel, against the time chosen in Before; 100 % is no change.",
         maybe(f'avg by (kernel) (railgauge_link_bandwidth_bytes_per_second{{{K},size!="small"}} / railgauge_link_bandwidth_bytes_per_second offset $before)', "{{kernel}}"), "fabric", unit="percentunit", width=12),
    bars("Latency now over before", "Small messages by kernel, against the time chosen in Before; above 100 % is slower.",
         maybe(f'avg by (kernel) (railgauge_link_latency_seconds{{{K},size="small",stat="p50"}} / railgauge_link_latency_seconds offset $before)', "{{kernel}}"), "fabric", unit="percentunit", width=12),
    bars("GPU bandwidth now over before", "Messages above 256 B by kernel, against the time chosen in Before.",
         maybe(f'avg by (kernel) (railgauge_gpu_bandwidth_bytes_per_second{{{N},kernel=~"$kernel",size!="small"}} / railgauge_gpu_bandwidth_bytes_per_second offset $before)', "{{kernel}}"), "node", unit="percentunit", width=12),
    table("Findings", "Findings that nobody resolved. See: railgauge findings", maybe(f"sum by (kind, state, severity) (railgauge_findings{{{C}}})"), "fabric", value="findings", console="findings"),
    table("Regressions", "Series that findings name, by what was measured.", maybe(f"sum by (kernel, metric) (railgauge_regression_active{{{C}}})"), "fabric", value="series", console="findings"),
    stat("Upgrades proposed", "Changes of the stack whose nodes no gate has measured since: they wait for somebody. See: railgauge upgrades",
         query(told(f"sum({alerts.PROPOSED}{{{C}}})")), "fleet", bad_above=1),
], marks(N), console="upgrades")

CONTROLLER = f'{C},job="railgauge-controller"'
AGENTS = f'{C},job="railgauge-agent"'
# How far a schedule is behind its own times: since its newest due time, less its longest pause.
LATE = (f"clamp_min(time() - max by (schedule) (railgauge_schedule_last_due_timestamp_seconds{{{C}}} and on (cluster, schedule) railgauge_schedule_enabled == 1) "
        f"- on (schedule) max by (schedule) (railgauge_schedule_pause_seconds{{{C}}}), 0)")
BACKUP_AGE = f"time() - max(railgauge_backup_timestamp_seconds{{{C}}} > 0)"
SERVICE = board("service", "Railgauge / Service", "Is Railgauge itself well?", named("datasource", "cluster"), [
    stat("Controller", "Whether the controller is scraped.", query(CONTROLLER_STATE), "fleet", good_words=("down", "up"), words=SYNTHETIC_WORDS),
    stat("Listener", "Whether the TCP port takes connections of agents, which /healthz reports too.", query(told(f"min(railgauge_port_accepts{{{C}}})"), "", "tls"), "fleet",
         good_words=("refuses", "accepts"), words={UNKNOWN: ("no TCP port", "orange")}),
    stat("Database", "Whether the controller writes; on a full file system it only reads and prunes. See: railgauge db stats",
         query(told(f"max(railgauge_store_read_only{{{C}}})")), "fleet", bad_words=("writes", "read only")),
    stat("Memory", "Whether the controller's cgroup has little memory left: runs, exports and SQL are refused.", query(told(f"max(railgauge_memory_short{{{C}}})")), "fleet", bad_words=("enough", "short")),
    stat("Backup age", "Age of the newest backup by the interval of the schedule; red from two intervals, as the alert. See: railgauge doctor",
         query(told(f"({BACKUP_AGE}) / max(railgauge_backup_interval_seconds{{{C}}} > 0)"), "", "backups"), "fleet", unit="percentunit", bad_above=2, words={UNKNOWN: ("none by schedule", "orange")}),
    stat("Certificates", "Certificates that end within 14 days: of controller, agents and authorities. See: railgauge pki show FOLDER",
         query(known(f'count(railgauge_certificate_expiry_timestamp_seconds{{{C},certificate!="crl"}} < time() + 14 * 86400)')), "fleet", bad_above=1),
    stat("Agents not scraped", "Agents whose metrics Prometheus does not get.", query(told(f"count(up{{{AGENTS}}} == 0) or 0 * count(up{{{AGENTS}}})")), "fleet", bad_above=1, console="nodes"),
    stat("Agents refused", "Agents that were not the node that they say, within a day. See: railgauge audit --refused",
         query(known(f'round(sum(increase(railgauge_agents_refused_total{{{C},code=~"permission_denied|already_exists"}}[1d])))')), "fleet", bad_above=1, console="nodes"),
    stat("Deliveries lost", "Reports that nobody gets any more: refused, failed or dropped, within a day. See: railgauge events --kind delivery",
         query(known(f'round(sum(increase(railgauge_deliveries_total{{{C},outcome=~"failed|refused|dropped"}}[1d])))')), "fleet", bad_above=1),
    stat("Runs", "Runs under way and waiting.", query(told(f"sum(railgauge_run_active{{{C}}}) + sum(railgauge_runs_waiting{{{C}}})")), "fabric", console="runs"),
    stat("Orphans", "Acknowledged records that fit no known run.", query(told(f"sum(railgauge_orphan_records{{{C}}})")), "fleet", bad_above=1),
    stat("Refused series", "Values that would have made a series beyond a family's bound.", query(told(f"sum(railgauge_series_refused_total{{{C}}})")), "fleet", bad_above=1),
    graph("Deliveries", "Reports by target and outcome, an hour.", query(f"sum by (target, outcome) (increase(railgauge_deliveries_total{{{C}}}[1h]))", "{{target}} {{outcome}}", "deliveries"), "fleet"),
    graph("Deliveries waiting", "Reports that wait to be sent, by target.", query(f"max by (target) (railgauge_deliveries_waiting{{{C}}})", "{{target}}", "deliveries"), "fleet"),
    graph("Backups", "Age of the newest backup; dashed: the two intervals of the alert.",
          [maybe(BACKUP_AGE, "age"), query(f"2 * max(railgauge_backup_interval_seconds{{{C}}})", "two intervals")], "fleet", unit="s", dashed=("two intervals",)),
    bars("Schedules late", "Time since a schedule's newest due time beyond its longest pause: a time that nobody started. See: railgauge schedules",
         maybe(LATE, "{{schedule}}"), "fleet", unit="s", console="runs"),
    graph("Run queue", "Runs that wait for their nodes, by priority. See: railgauge runs", query(f"sum by (priority) (railgauge_runs_waiting{{{C}}})", "{{priority}}"), "fleet", console="runs"),
    table("Certificates that end first", "The ten certificates, authorities and revocation lists with least time left.",
          query(f'sort(1000 * bottomk(10, max by (process, node, certificate) (label_replace(railgauge_certificate_expiry_timestamp_seconds{{{C}}}, "process", "$1", "job", "railgauge-(.*)"))))', "", "tls"), "node", unit="dateTimeAsIso", width=8, value="until"),
    graph("Connections", "TCP connections of agents and tools by result, a minute.", query(f"sum by (result) (rate(railgauge_connections_total{{{C}}}{RATE})) * 60", "{{result}}", "tls"), "fleet"),
    graph("Refused agents", "Attaches refused, by reason, an hour.", query(f"sum by (code) (increase(railgauge_agents_refused_total{{{C}}}[1h]))", "{{code}}"), "fleet", console="nodes"),
    graph("Records put aside", "Records that fit no task, by fault, an hour. See: railgauge events --kind record_refused",
          query(f"sum by (fault) (increase(railgauge_records_refused_total{{{C}}}[1h]))", "{{fault}}"), "fleet"),
    graph("Database size", "The database with its log, and what is free beside it.",
          [query(f"max(railgauge_db_size_bytes{{{C}}})", "size"), query(f"min(railgauge_db_free_bytes{{{C}}})", "free")], "fleet", unit="bytes"),
    graph("Commit queue", "Records waiting for a commit; dashed: the bound at which agents hold theirs.",
          [query(f"max(railgauge_store_queue_depth{{{C}}})", "waiting"), query(f"max(railgauge_store_queue_limit{{{C}}})", "limit")], "fleet", dashed=("limit",)),
    graph("Records stored", "Records committed a second.", query(f"sum(rate(railgauge_records_stored_total{{{C}}}{RATE}))", "records"), "fleet", unit="recps"),
    graph("Waiting records", "Records in all spools that wait for the controller.", query(f"sum(railgauge_agents_waiting_records{{{C}}})", "records"), "fleet"),
    graph("Spools", "The five fullest spools by their bound.", query(f"topk(5, railgauge_agent_spool_bytes{{{C}}} / railgauge_agent_spool_limit_bytes{{{C}}})", "{{node}}"), "node", unit="percentunit"),
    graph("Reconnects", "Streams that agents opened anew, an hour.", query(f"sum(increase(railgauge_agent_reconnects_total{{{C}}}[1h]))", "streams"), "fleet"),
    graph("Controller memory", "Resident memory of the controller.", query(f"max(process_resident_memory_bytes{{{CONTROLLER}}})", "resident"), "fleet", unit="bytes"),
    graph("Controller CPU", "CPU seconds a second of the controller.", query(f"sum(rate(process_cpu_seconds_total{{{CONTROLLER}}}{RATE}))", "cores"), "fleet"),
    graph("Controller descriptors", "Open file descriptors; dashed: the limit.",
          [query(f"max(process_open_fds{{{CONTROLLER}}})", "open"), query(f"max(process_max_fds{{{CONTROLLER}}})", "limit")], "fleet", dashed=("limit",)),
    graph("Agent memory", "The five agents with most resident memory.", query(f"topk(5, process_resident_memory_bytes{{{AGENTS}}})", "{{node}}"), "node", unit="bytes"),
    graph("Agent CPU", "The five agents that take most CPU.", query(f"topk(5, rate(process_cpu_seconds_total{{{AGENTS}}}{RATE}))", "{{node}}"), "node"),
    graph("Clock skew", "The largest difference between an attached node's clock and the controller's; dashed: from there it counts as off.",
          [query(f"max(railgauge_node_clock_skew_seconds{{{C}}})", "skew"), query("vector(5)", "off")], "fleet", unit="s", dashed=("off",), console="nodes"),
    graph("Scrapes", "The slowest scrape of each kind of process.", query(f'max by (job) (scrape_duration_seconds{{{C},job=~"railgauge-.*"}})', "{{job}}"), "fleet", unit="s"),
    graph("Series", "Samples of a scrape: the largest of each kind of process.", query(f'max by (job) (scrape_samples_scraped{{{C},job=~"railgauge-.*"}})', "{{job}}"), "fleet"),
    graph("False alarms", "Share of the figures that nights measured twice, with nothing changed in between, that differ by more than bound and noise; dashed: what chance may do.",
          [query(f"max(railgauge_judge_false_alarm_ratio{{{C}}})", "measured", "repeats"), query("vector(0.05)", "budget")], "fabric", unit="percentunit", dashed=("budget",), console="findings"),
    table("Versions", "Attached agents by version.", query(f"sum by (version) (railgauge_agents{{{C}}})"), "fleet", width=8, value="agents", console="nodes"),
    table("Controller version", "The controller's version.", query(f"max by (version) (railgauge_controller_info{{{C}}})"), "fleet", width=8),
], marks(C))


def at_node(name, **more):
    return {"cluster": "c", "job": "railgauge-agent", "node": name, **more}


# Rows of title, series, query, and the query's answer at 20 min.
THERE = ("railgauge_agent_info", at_node("n1", version="0.1.0"), "1x30")
DRIVER = dict(part="gpu_driver")
SUITE = {"cluster": "c", "suite": "nightly"}
PAUSE = "railgauge_node_pause_end_timestamp_seconds"
QUIET_NODE = {"__name__": alerts.QUIET_NODE, "cluster": "c"}
ANNOTATION_CASES = [
    ("a new version is an annotation",
     [THERE, ("railgauge_stack_info", at_node("n1", version="575", **DRIVER), "1x14 _x20"), ("railgauge_stack_info", at_node("n1", version="580", **DRIVER), "_x15 1x20")],
     EPOCHS, [({"part": "gpu_driver", "version": "580"}, 1)]),
    ("a node that came has changed nothing",
     [("railgauge_agent_info", at_node("n1", version="0.1.0"), "_x15 1x20"), ("railgauge_stack_info", at_node("n1", version="580", **DRIVER), "_x15 1x20")], EPOCHS, []),
    ("a new version of Railgauge is no change of what stayed",
     [("railgauge_agent_info", at_node("n1", version="0.1.0"), "1x14 _x20"), ("railgauge_agent_info", at_node("n1", version="0.2.0"), "_x15 1x20"),
      ("railgauge_stack_info", at_node("n1", version="580", **DRIVER), "1x30")], EPOCHS, []),
    ("a changed setting is an annotation, a version beside it is not",
     [THERE, ("railgauge_epoch_info", at_node("n1", versions="a", settings="x"), "1x14 _x20"), ("railgauge_epoch_info", at_node("n1", versions="b", settings="y"), "_x15 1x20"),
      ("railgauge_agent_info", at_node("n2", version="0.1.0"), "1x30"),
      ("railgauge_epoch_info", at_node("n2", versions="a", settings="x"), "1x14 _x20"), ("railgauge_epoch_info", at_node("n2", versions="b", settings="x"), "_x15 1x20")],
     SETTINGS, [({"settings": "y"}, 1)]),
    ("a run is marked at its end, with its outcome",
     [("railgauge_run_last_end_timestamp_seconds", SUITE, "100x9 900x20"), ("railgauge_run_last_outcome", {**SUITE, "outcome": "passed"}, "1x9 _x20"),
      ("railgauge_run_last_outcome", {**SUITE, "outcome": "failed"}, "_x10 1x20")], RUNS, [({**SUITE, "outcome": "failed"}, 900_000)]),
    ("maintenance is marked where it begins",
     [(PAUSE, {"cluster": "c", "node": "n1"}, "_x20 1000000000x20"), (PAUSE, {"cluster": "c", "node": "n2"}, "1000000000x30")], PAUSES, [({**QUIET_NODE, "node": "n1"}, 1)]),
    ("a pause that a restart of the controller hid for a moment begins once",
     [(PAUSE, {"cluster": "c", "node": "n1"}, "1000000000x14 _x4 1000000000x20")], PAUSES, []),
    ("all the time of a modelled site is marked, and none of another",
     [("railgauge_data_synthetic", {"cluster": "c"}, "1x30"), ("railgauge_data_synthetic", {"cluster": "d"}, "0x30")], SYNTHETIC, [({"cluster": "c"}, 1)]),
]

BOARDS = [FLEET, FABRIC, NODE, UPGRADE, SERVICE]
