"""The five dashboards."""
from panels import bars, board, fixed, choice, graph, maybe, named, query, stat, table

C = 'cluster=~"$cluster"'
N = 'cluster=~"$cluster",node=~"$node"'
D = 'cluster=~"$cluster",node=~"$node",device=~"$device"'
K = f'{D},kernel=~"$kernel"'
R = f'{C},rail=~"$rail"'
RATE = "[$__rate_interval]"

FLEET = board("railgauge-fleet", "Railgauge / Fleet", "Is the fleet measured, and is it well?", named("datasource", "cluster"), [
    stat("Nodes attached", "Nodes whose agent speaks to the controller now.", query(f'sum(railgauge_nodes{{{C},state="attached"}})')),
    stat("Nodes silent", "Nodes seen within a week that are lost, or absent since the controller's start. See: railgauge nodes",
         query(f'sum(railgauge_nodes{{{C},state=~"lost|absent"}})'), bad_above=1),
    stat("Nodes busy", "Attached nodes that a job, a marker or load keeps from being measured.", query(f"sum(railgauge_nodes_busy{{{C}}})")),
    stat("Findings", "Findings that nobody resolved or accepted. See: railgauge findings", query(f"sum(railgauge_findings{{{C}}}) or vector(0)"), bad_above=1),
    stat("Preflight failing", "Nodes whose last preflight said fail or error, without those in maintenance. See: railgauge preflight",
         query(f"sum(railgauge:preflight_failing:nodes{{{C}}}) or vector(0)"), bad_above=1),
    stat("Tasks passed", "Share of all tasks since the controller's start that passed; waived ones are left out.",
         query(f'sum(railgauge_tasks_total{{{C},outcome="passed"}}) / sum(railgauge_tasks_total{{{C},outcome!="waived"}})'), unit="percentunit"),
    graph("Nodes by state", "Attached, detached for a moment, lost, or absent since the controller's start.", query(f"sum by (state) (railgauge_nodes{{{C}}})", "{{state}}"), width=12),
    graph("Tasks by outcome", "Tasks that ended, by outcome, a minute.", query(f"sum by (outcome) (rate(railgauge_tasks_total{{{C}}}{RATE})) * 60", "{{outcome}}"), width=12),
    table("Alerts", "Railgauge's alerts that are pending or fire.", maybe(f'ALERTS{{{C},alertname=~"Railgauge.*"}}')),
    table("Last run of each suite", "How the newest run of each suite ended.", query(f"max by (suite, outcome) (railgauge_run_last_outcome{{{C}}})")),
    bars("Since a suite passed", "Age of the last run that passed, by suite.", query(f"max by (suite) (railgauge:run_age:seconds{{{C}}})", "{{suite}}"), unit="s"),
    bars("Preflight checks that fail", "Nodes by check that says fail or error.",
         maybe(f'count by (check) (max by (node, check) (railgauge_preflight_results{{{C},state=~"fail|error"}}) > 0)', "{{check}}")),
    table("Nodes in maintenance", "Nodes that somebody paused, and when they come back by themselves. Why: railgauge nodes",
          maybe(f"max by (node) (railgauge_node_pause_end_timestamp_seconds{{{C}}}) * 1000"), unit="dateTimeAsIso", width=8, value="until"),
    table("Schedules", "The result of each schedule's newest due time.", maybe(f"max by (schedule, result) (railgauge_schedule_last_result{{{C}}})"), width=8),
])

FABRIC = board("railgauge-fabric", "Railgauge / Fabric", "Rails, distances, and who is slow.", named("datasource", "cluster", "node", "device", "rail", "kernel"), [
    graph("Bandwidth by rail", "The newest run of pairs: median of each rail, and the value that one pair in a hundred stays below.",
          query(f'max by (rail, stat) (railgauge_fabric_bandwidth_bytes_per_second{{{R},kernel=~"$kernel"}})', "rail {{rail}} {{stat}}"), unit="Bps", width=12),
    graph("Latency by rail", "The newest run of pairs, smallest messages: median of each rail, and the value that one pair in a hundred exceeds.",
          query(f'max by (rail, stat) (railgauge_fabric_latency_seconds{{{R},kernel=~"$kernel"}})', "rail {{rail}} {{stat}}"), unit="s", width=12),
    bars("Bandwidth by distance", "Median of the pairs of one leaf, of those across leaves, or where the leaf is not known.",
         query(f'avg by (distance) (railgauge_fabric_bandwidth_bytes_per_second{{{R},kernel=~"$kernel",stat="p50"}})', "{{distance}}"), unit="Bps"),
    table("Worst pairs", "The slowest pairs of the newest run against their rail's median; they make room for the next run's. See: railgauge runs suspects",
          query(f"sort(railgauge_worst_pair_ratio{{{R}}})"), unit="percentunit", width=16, value="of median"),
    graph("Measured over expected", "RDMA bandwidth of messages above 256 B by the port's line rate: the ten lowest ports. The dashed line is the alert's floor.",
          [query(f"bottomk(10, railgauge:link_bandwidth:ratio{{{D}}})", "{{node}} {{device}}:{{port}} {{memory}}", must="line_rate"),
           query("railgauge:link_bandwidth:ratio_floor", "floor")], unit="percentunit", width=12, dashed=("floor",)),
    graph("Pauses", "Share of time lost in pauses of a millisecond or longer, in the last RDMA bandwidth: the ten ports with most. The dashed line is the alert's ceiling.",
          [maybe(f"topk(10, railgauge:link_pause:ratio{{{D}}})", "{{node}} {{device}}:{{port}}"),
           query("railgauge:link_pause:ratio_ceiling", "ceiling")], unit="percentunit", width=12, dashed=("ceiling",)),
    graph("Bandwidth by device", "Median over the nodes of each device: on equal nodes a device is a rail.",
          query(f'quantile by (device, memory) (0.5, railgauge_link_bandwidth_bytes_per_second{{{K},size!="small"}})', "{{device}} {{memory}}"), unit="Bps", width=12),
    graph("Latency by device", "Median over the nodes of each device, small messages.",
          query(f'quantile by (device, memory, stat) (0.5, railgauge_link_latency_seconds{{{K},size="small"}})', "{{device}} {{memory}} {{stat}}"), unit="s", width=12),
    bars("Since it was measured", "The ten ports with the oldest figures.", query(f'topk(10, time() - max by (node, device, port) (railgauge_result_timestamp_seconds{{{D},device!=""}}))', "{{node}} {{device}}:{{port}}"), unit="s"),
    stat("Ports down", "Ports that are not active now, unused ones too.", query(f"count(railgauge_link_up{{{D}}} == 0) or vector(0)")),
    table("Counters that grew", "Growth within half an hour of counters that mean trouble.", maybe(f"topk(20, railgauge:device_trouble:increase30m{{{D}}} > 0)"), width=24, value="growth"),
])

NODE = board("railgauge-node", "Railgauge / Node", "One node: what it is, what it gave, what is wrong with it.", named("datasource", "cluster", "node", "device", "kernel"), [
    stat("Attached", "1 while the controller has welcomed the agent.", query(f"min(railgauge_agent_connected{{{N}}})")),
    stat("Tasks running", "Tasks that run on the node now.", query(f"sum(railgauge_agent_task_running{{{N}}})")),
    stat("Busy", "Sources that keep the node from being measured now.", query(f"sum(railgauge_node_busy{{{N}}}) or vector(0)")),
    stat("Spool", "Records that wait for the controller.", query(f"sum(railgauge_agent_spool_records{{{N}}})")),
    stat("Since preflight", "Age of the node's last preflight.", maybe(f"max(time() - railgauge_preflight_timestamp_seconds{{{N}}} and railgauge_preflight_timestamp_seconds > 0)"), unit="s"),
    stat("Kernel log", "1 while XIDs are watched in the kernel's log.", query(f"min(railgauge_watch_kernel_log_readable{{{N}}})")),
    graph("Link bandwidth", "Last measured bandwidth of each port by memory, messages above 256 B; dashed: the line rate.",
          [query(f'max by (node, device, port, memory) (railgauge_link_bandwidth_bytes_per_second{{{K},size!="small"}})', "{{node}} {{device}}:{{port}} {{memory}}"),
           maybe(f"max(railgauge_link_expected_bytes_per_second{{{D}}})", "line rate")], unit="Bps", width=12, dashed=("line rate",)),
    graph("Link pauses", "Share of time lost in pauses of a millisecond or longer, in the last bandwidth of each port, by kernel.",
          maybe(f"max by (node, device, port, kernel) (railgauge_link_pause_ratio{{{K}}})", "{{node}} {{device}}:{{port}} {{kernel}}"), unit="percentunit", width=12),
    graph("Link latency", "Last measured latency of each port by memory, small messages.",
          query(f'max by (node, device, port, memory, stat) (railgauge_link_latency_seconds{{{K},size="small"}})', "{{node}} {{device}}:{{port}} {{memory}} {{stat}}"), unit="s", width=12),
    graph("GPU bandwidth", "Last measured bandwidth of each GPU, messages above 256 B, by pair if reported.",
          maybe(f'max by (node, gpu, kernel, pair) (railgauge_gpu_bandwidth_bytes_per_second{{{N},kernel=~"$kernel",size!="small"}})', "{{node}} {{gpu}} {{kernel}} {{pair}}"), unit="Bps", width=12),
    graph("Tasks", "Tasks that ended on the node, by outcome, a minute.", query(f"sum by (outcome) (rate(railgauge_agent_tasks_total{{{N}}}{RATE})) * 60", "{{outcome}}"), width=12),
    table("Preflight", "Checks of the last preflight that do not say pass. See: railgauge preflight NODE", maybe(f'max by (node, check, state) (railgauge_preflight_results{{{N},state!~"pass|waived"}})'), value="results"),
    table("Busy by", "The work that keeps the node from being measured.", maybe(f"max by (node, source) (railgauge_node_busy{{{N}}}) == 1")),
    graph("Counters", "Growth of counters that mean trouble, an hour.", maybe(f"sum by (node, device, counter) (increase(railgauge_device_trouble_total{{{N}}}[1h])) > 0", "{{node}} {{device}} {{counter}}"), width=12),
    graph("Events", "Events of the watch within an hour, by kind and severity.", maybe(f"sum by (kind, severity) (increase(railgauge_node_events_total{{{N}}}[1h])) > 0", "{{kind}} {{severity}}"), width=12),
    table("NICs", "Ports as node_exporter names them, with firmware.", query(f"max by (node, device, port, netdev, pci_bus_id, link_layer, driver, firmware) (railgauge_nic_info{{{D}}})")),
    table("GPUs", "GPUs as dcgm-exporter names them.", maybe(f"max by (node, gpu, UUID, pci_bus_id, model, driver) (railgauge_gpu_info{{{N}}})")),
    table("Stack", "Versions of what an upgrade changes.", query(f"max by (node, part, version) (railgauge_stack_info{{{N}}})")),
])

NEW = "offset 10m and on (cluster, node) railgauge_agent_info offset 10m)"
SETTINGS = f"count by (settings) (railgauge_epoch_info{{{C}}} unless on (cluster, node, settings) railgauge_epoch_info {NEW}"
EPOCHS = (f"count by (part, version) (railgauge_stack_info{{{C}}} unless on (cluster, node, part, version) railgauge_stack_info {NEW}")
BY_VERSION = f'* on (cluster, node) group_left (version) railgauge_stack_info{{{C},part="$part"}}'
UPGRADE = board("railgauge-upgrade", "Railgauge / Upgrade", "Before and after: figures by version of a part of the stack.",
                named("datasource", "cluster", "node", "device", "kernel") + [choice("part", "Part", 'railgauge_stack_info{cluster=~"$cluster"}', several=False), fixed("before", "Before", ["1d", "7d", "30d"])], [
    table("Versions", "Nodes by version of each part: more than one version is a rollout under way, or one that stopped.",
          query(f"count by (part, version) (railgauge_stack_info{{{N}}})"), value="nodes"),
    graph("Nodes by version", "Nodes by version of the chosen part.", query(f'count by (version) (railgauge_stack_info{{{N},part="$part"}})', "{{version}}"), width=12),
    graph("Bandwidth by version", "Mean bandwidth of messages above 256 B of the nodes that run each version of the chosen part.",
          query(f'avg by (version) (max by (cluster, node) (railgauge_link_bandwidth_bytes_per_second{{{K},size!="small"}}) {BY_VERSION})', "{{version}}"), unit="Bps", width=12),
    graph("Latency by version", "Mean median latency of small messages of the nodes that run each version of the chosen part.",
          query(f'avg by (version) (max by (cluster, node) (railgauge_link_latency_seconds{{{K},size="small",stat="p50"}}) {BY_VERSION})', "{{version}}"), unit="s", width=12),
    bars("Bandwidth now over before", "Messages above 256 B by kernel, against the time chosen in Before; 100 % is no change.",
         maybe(f'avg by (kernel) (railgauge_link_bandwidth_bytes_per_second{{{K},size!="small"}} / railgauge_link_bandwidth_bytes_per_second offset $before)', "{{kernel}}"), unit="percentunit", width=12),
    bars("Latency now over before", "Small messages by kernel, against the time chosen in Before; above 100 % is slower.",
         maybe(f'avg by (kernel) (railgauge_link_latency_seconds{{{K},size="small",stat="p50"}} / railgauge_link_latency_seconds offset $before)', "{{kernel}}"), unit="percentunit", width=12),
    bars("GPU bandwidth now over before", "Messages above 256 B by kernel, against the time chosen in Before.",
         maybe(f'avg by (kernel) (railgauge_gpu_bandwidth_bytes_per_second{{{N},kernel=~"$kernel",size!="small"}} / railgauge_gpu_bandwidth_bytes_per_second offset $before)', "{{kernel}}"), unit="percentunit", width=12),
    table("Findings", "Findings that nobody resolved. See: railgauge findings", maybe(f"sum by (kind, state, severity) (railgauge_findings{{{C}}})"), value="findings"),
    table("Regressions", "Series that findings name, by what was measured.", maybe(f"sum by (kernel, metric) (railgauge_regression_active{{{C}}})"), value="series"),
], annotations=[("Epochs", EPOCHS, "{{part}} {{version}}"), ("Settings", SETTINGS, "settings changed: railgauge nodes show")])

SERVICE = board("railgauge-service", "Railgauge / Service", "Is Railgauge itself well?", named("datasource", "cluster"), [
    stat("Controller", "1 while the controller is scraped.", query(f'min(up{{{C},job="railgauge-controller"}})')),
    stat("Agents scraped", "Agents whose metrics are read.", query(f'sum(up{{{C},job="railgauge-agent"}})')),
    stat("Runs", "Runs under way and waiting.", query(f"sum(railgauge_run_active{{{C}}}) + sum(railgauge_runs_waiting{{{C}}})")),
    stat("Waiting records", "Records in all spools that wait for the controller.", query(f"sum(railgauge_agents_waiting_records{{{C}}})")),
    stat("Orphans", "Acknowledged records that fit no known run.", query(f"sum(railgauge_orphan_records{{{C}}})"), bad_above=1),
    stat("Refused series", "Values that would have made a series beyond a family's bound.", query(f"sum(railgauge_series_refused_total{{{C}}})"), bad_above=1),
    graph("Database", "The database with its log, and what is free beside it.",
          [query(f"max(railgauge_db_size_bytes{{{C}}})", "size"), query(f"min(railgauge_db_free_bytes{{{C}}})", "free")], unit="bytes"),
    graph("Commit queue", "Records waiting for a commit; dashed: the bound at which agents hold theirs.",
          [query(f"max(railgauge_store_queue_depth{{{C}}})", "waiting"), query(f"max(railgauge_store_queue_limit{{{C}}})", "limit")], dashed=("limit",)),
    graph("Records stored", "Records committed a second.", query(f"sum(rate(railgauge_records_stored_total{{{C}}}{RATE}))", "records"), unit="rps"),
    graph("Controller memory", "Resident memory of the controller.", query(f'max(process_resident_memory_bytes{{{C},job="railgauge-controller"}})', "resident"), unit="bytes"),
    graph("Controller CPU", "CPU seconds a second of the controller.", query(f'sum(rate(process_cpu_seconds_total{{{C},job="railgauge-controller"}}{RATE}))', "cores")),
    graph("Controller descriptors", "Open file descriptors; dashed: the limit.",
          [query(f'max(process_open_fds{{{C},job="railgauge-controller"}})', "open"), query(f'max(process_max_fds{{{C},job="railgauge-controller"}})', "limit")], dashed=("limit",)),
    graph("Agent memory", "The five agents with most resident memory.", query(f'topk(5, process_resident_memory_bytes{{{C},job="railgauge-agent"}})', "{{node}}"), unit="bytes"),
    graph("Agent CPU", "The five agents that take most CPU.", query(f'topk(5, rate(process_cpu_seconds_total{{{C},job="railgauge-agent"}}{RATE}))', "{{node}}")),
    graph("Spools", "The five fullest spools by their bound.", query(f"topk(5, railgauge_agent_spool_bytes{{{C}}} / railgauge_agent_spool_limit_bytes{{{C}}})", "{{node}}"), unit="percentunit"),
    graph("Scrapes", "The slowest scrape of each kind of process.", query(f'max by (job) (scrape_duration_seconds{{{C},job=~"railgauge-.*"}})', "{{job}}"), unit="s"),
    graph("Series", "Samples of a scrape: the largest of each kind of process.", query(f'max by (job) (scrape_samples_scraped{{{C},job=~"railgauge-.*"}})', "{{job}}")),
    graph("Reconnects", "Streams that agents opened anew, an hour.", query(f"sum(increase(railgauge_agent_reconnects_total{{{C}}}[1h]))", "streams")),
    table("Versions", "Attached agents by version.", query(f"sum by (version) (railgauge_agents{{{C}}})"), value="agents"),
    table("Controller version", "The controller's version.", query(f"max by (version) (railgauge_controller_info{{{C}}})")),
])



def at_node(name, **more):
    return {"cluster": "c", "job": "railgauge-agent", "node": name, **more}


# Rows of title, series, query, and the query's answer at 20 min.
THERE = ("railgauge_agent_info", at_node("n1", version="0.1.0"), "1x30")
DRIVER = dict(part="gpu_driver")
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
]

BOARDS = [FLEET, FABRIC, NODE, UPGRADE, SERVICE]
