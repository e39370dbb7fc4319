"""Recording rules and alerts, each alert with a series that fires it and one that does not.

One alert is one event, never one series: every expression ends in a sum or count by cluster, and the
description names the command that shows the nodes concerned. `names` has the worst five of what an alert counts, for
its annotation `named`: a query, the labels that make a name, and those that it shares with the alert; `named` is what
the test's alert has. Severity is one of the catalog's words: `critical` wakes somebody, `warning` waits for office
hours. `keep` (keep_firing_for) keeps an alert firing over a restart of the process that it watches: every alert on our
series has `keep` and a test of it, which the lint demands.
"""

MAINTENANCE = "railgauge:node_maintenance:bool"
# Nodes whose marker file reports maintenance, now or in the last sample within a day, and nodes that somebody paused.
# After maintenance they count at once, so that damage by an upgrade shows at once; after a pause that ended before its
# time a quarter of an hour later, since the controller's restart must not raise them. A record, so that a day of 10,000
# nodes is read once.
QUIET_NODE = "railgauge:node_quiet:bool"
QUIET = f"unless on (cluster, node) {QUIET_NODE} == 1"
LAST_UP = "railgauge:link_last_up:timestamp_seconds"
RESTART = "15m"  # longer than any restart of controller or agents
# Names of what an alert counts: labels and the text between them.
NODE, PORT_NAME, SUITE, SCHEDULE, PROCESS = ("node",), ("node", "/", "device", ":", "port"), ("suite",), ("schedule",), ("job", " ", "node")


def names(query, label, by=("cluster",)):
    """Returns the worst five of `query`, whose larger values are worse."""
    return {"query": f"topk by ({', '.join(by)}) (5, {query})", "label": label, "by": by}


def missed(chosen=""):
    """Returns the schedules that started nothing at their newest due time. `chosen`: more matchers."""
    return (f'railgauge_schedule_last_result{{{chosen}result="missed"}} == 1 and on (cluster, schedule) railgauge_schedule_enabled == 1')


def unmeasured(chosen=""):
    """Returns the suites that did not pass for 1.5 times the longest pause of a schedule, at least six hours."""
    return (f"railgauge:suite_unmeasured:seconds{chosen} > on (cluster, suite) clamp_min(1.5 * min by (cluster, suite) "
            "(railgauge_schedule_pause_seconds and on (cluster, schedule) railgauge_schedule_enabled == 1), 6 * 3600)")


NOT_SCRAPED = f'up{{job="railgauge-agent"}} == 0 {QUIET}'
SILENT = f'(max by (cluster, node) (railgauge_agent_connected) == 0 or max by (cluster, node) (up{{job="railgauge-agent"}}) == 0) {QUIET}'
RUN_FAILED = ('railgauge_run_last_outcome{outcome=~"failed|crashed|timed_out"} == 1 and on (cluster, suite) '
              "time() - railgauge_run_last_end_timestamp_seconds < 7 * 86400")
SILENT_NODES = ('clamp_min(sum by (cluster) (railgauge_nodes{state=~"lost|absent"}) - (count by (cluster) '
                f"({QUIET_NODE} == 1 unless on (cluster, node) railgauge_agent_connected == 1) "
                'or 0 * sum by (cluster) (railgauge_nodes{state="lost"})), 0)')
FAILING = f'sum by (cluster, node) (railgauge_preflight_results{{state=~"fail|error"}}) > 0 {QUIET}'
LINKS_DOWN = f"(railgauge_link_up == 0 and on (cluster, node, device, port) {LAST_UP}) {QUIET}"
FLAPPING = ('sum by (cluster, node, device, port) (railgauge:device_trouble:increase30m'
            f'{{counter=~"link_downed|carrier_changes|link_error_recovery"}}) > 3 {QUIET}')
# Agents before 0.2 say "fail".
FAULTS = f'increase(railgauge_node_events_total{{severity=~"critical|fail"}}[30m]) {QUIET}'
SLOW = f"min by (cluster, node, device, port) (railgauge:link_bandwidth:ratio) < on () group_left () railgauge:link_bandwidth:ratio_floor {QUIET}"
PAUSING = f"railgauge:link_pause:ratio > on () group_left () railgauge:link_pause:ratio_ceiling {QUIET}"
SPOOLS = "railgauge_agent_spool_bytes / railgauge_agent_spool_limit_bytes > 0.8 and railgauge_agent_spool_records > 0"
RECONNECTING = "increase(railgauge_agent_reconnects_total[1h]) > 5"
ENDING = 'railgauge_certificate_expiry_timestamp_seconds{certificate!="crl"} < time() + 14 * 86400'
CONFIRMED = 'railgauge_findings{state=~"confirmed|reopened"} or railgauge_findings{kind=~"corruption|lost_function",state="new"}'
UNCONFIRMED = 'railgauge_findings{kind!~"corruption|lost_function",state="new"}'

PROPOSED = "railgauge_upgrades_proposed"

RECORDS = [
    (MAINTENANCE, 'max by (cluster, node) (railgauge_node_busy{source="marker"})',
     "1 while a node's marker file says maintenance"),
    (QUIET_NODE, f"last_over_time({MAINTENANCE}[1d]) == 1 or max by (cluster, node) "
     f"(last_over_time(railgauge_node_pause_end_timestamp_seconds[{RESTART}]) > bool time()) == 1",
     "1 while a node is in maintenance, or its marker said so when it went away, for a day"),
    # The record reads its own last value, because a week of every port's state is too much to read each time.
    (LAST_UP, "max by (cluster, node, device, port) (timestamp(railgauge_link_up == 1))"
     f" or last_over_time({LAST_UP}[2h]) > time() - 7 * 86400",
     "when a port was last up, within a week; a Prometheus that was away for two hours forgets it"),
    ("railgauge:link_bandwidth:ratio",
     'max by (cluster, node, device, port, memory) (railgauge_link_bandwidth_bytes_per_second'
     '{kernel=~"verbs[.](write|write_imm|send|read)_bw",memory!="staged",size!="small"})'
     " / on (cluster, node, device, port) group_left () railgauge_link_expected_bytes_per_second",
     "measured over expected RDMA bandwidth of a port, by memory, of the best kernel and size"),
    ("railgauge:link_bandwidth:ratio_floor", "vector(0.8)",
     "below this share of the line rate a port is reported; dashboards draw it too"),
    ("railgauge:link_pause:ratio",
     'max by (cluster, node, device, port) (railgauge_link_pause_ratio{kernel=~"verbs[.].*"})'
     " and on (cluster, node, device, port) railgauge_link_expected_bytes_per_second",
     "share of time in pauses of a port's last RDMA bandwidth, of the worst kernel; software devices have none"),
    ("railgauge:link_pause:ratio_ceiling", "vector(0.05)",
     "above this share of time in pauses a port is reported; dashboards draw it too"),
    ("railgauge:device_trouble:increase30m",
     "sum by (cluster, node, device, port, counter) (increase(railgauge_device_trouble_total[30m])) > 0",
     "growth of counters that mean trouble; of those that stand still, nearly all, there is none"),
    ("railgauge:preflight_failing:nodes",
     'count by (cluster) (max by (cluster, node) (railgauge_preflight_results{state=~"fail|error"}) > 0 '
     f"{QUIET})",
     "nodes whose last preflight failed, without those in maintenance"),
    ("railgauge:silent:nodes", SILENT_NODES,
     "nodes of the last week that do not speak to the controller, without those in maintenance"),
    ("railgauge:run_age:seconds",
     "time() - railgauge_run_last_success_timestamp_seconds", "since a suite passed"),
    ("railgauge:suite_unmeasured:seconds",
     "time() - (max by (cluster, suite) (railgauge_run_last_success_timestamp_seconds)"
     " or min by (cluster, suite) (railgauge_schedule_first_due_timestamp_seconds))",
     "since a suite passed, or since it was first due where it never did"),
]


def node(name, **more):
    return {"cluster": "c", "job": "railgauge-agent", "node": name, **more}


def controller(**more):
    return {"cluster": "c", "job": "railgauge-controller", **more}


PAUSE = "railgauge_node_pause_end_timestamp_seconds"
FLAP = "railgauge_device_trouble_total"
PORT = {"device": "mlx5_0", "port": "1"}

# name, expression, for, severity, summary, description, keep; then the cases: series, when, value.
ALERTS = [
    dict(name="RailgaugeControllerDown", severity="critical", wait="2m",
         expr='max by (cluster) (up{job="railgauge-controller"}) == 0 or absent(up{job="railgauge-controller"}) == 1',
         summary="The Railgauge controller does not answer",
         description="No run starts, nothing is stored; agents keep what they measure. See: systemctl status railgauge-controller",
         means="Prometheus cannot scrape the controller, or knows none.",
         do="Look at its journal and its disk. Agents spool until it is back; nothing measured is lost meanwhile.",
         fires=([("up", controller(), "0x10")], "5m", "0"), silent=([("up", controller(), "1x10")], "5m")),
    dict(name="RailgaugeNodesStale", severity="warning", wait="5m", keep=RESTART,
         # Not by its record, which is of another group: the names of its last evaluation are kept, and have to be of the same time.
         expr=f"{SILENT_NODES} > 0", names=names(SILENT, NODE), named="n1 n2",
         summary="{{ $value }} nodes do not speak to the controller",
         description="Seen within a week, not attached now, not in maintenance. See: railgauge nodes",
         means="Agents ended, or hosts or their path to the controller are down. Nodes that went away in maintenance do not count.",
         do="`railgauge nodes` lists them with the time since; on the host look at the agent's journal. While the controller itself is down this is muted (deploy/monitoring/alertmanager.yml).",
         fires=([("railgauge_nodes", controller(state="lost"), "2x20"), ("railgauge_nodes", controller(state="absent"), "1x20"),
                 ("railgauge_agent_connected", node("n1"), "0x20"), ("up", node("n2"), "0x20"), ("up", node("n3"), "1x20")], "10m", "3"),
         silent=([("railgauge_nodes", controller(state="lost"), "0x9 2x20"), ("railgauge_nodes", controller(state="absent"), "0x30"),
                  (PAUSE, controller(node="n2"), "1000000000x30"), ("railgauge_node_busy", node("n1", source="marker"), "1x3 _x27"), ("railgauge_agent_connected", node("n1"), "1x3 _x27")], "25m")),
    dict(name="RailgaugeAgentsNotScraped", severity="warning", wait="10m",
         expr=f"count by (cluster) ({NOT_SCRAPED}) > 0", names=names(NOT_SCRAPED, NODE), named="n1 n3",
         summary="{{ $value }} agents are not scraped",
         description="Their nodes' series are missing here. See: railgauge nodes, and the agents' --metrics-listen",
         means="Prometheus cannot reach /metrics of agents; the controller may still hear them.",
         do="An agent serves metrics on loopback unless `--metrics-listen` says otherwise. Check the address and the firewall.",
         fires=([("up", node("n1"), "0x20"), ("up", node("n2"), "1x20"), ("up", node("n3"), "0x20"), (PAUSE, controller(node="n3"), "60x20")], "15m", "2"),
         silent=([("up", node("n1"), "0x20"), ("railgauge_node_busy", node("n1", source="marker"), "1x20"), ("up", node("n2"), "0x20"),
                  (PAUSE, controller(node="n2"), "1000000000x20")], "15m")),
    dict(name="RailgaugeRegressionConfirmed", severity="critical", wait="1m", keep=RESTART,
         expr=f"sum by (cluster) ({CONFIRMED}) > 0", names=names("railgauge_finding_confirmed", ("finding",)), named="corruption-n9 part-n1-rail-3",
         summary="{{ $value }} confirmed regressions are open",
         description="Something is slower, or was lost, beyond doubt. See: railgauge findings",
         means="The analysis found changes or slow parts of the fabric and repeated measurements confirmed them, or bytes or functions were lost; or somebody's acknowledgement has run out.",
         do="`railgauge findings show ID` has the evidence and the suspect. Acknowledge, accept or fix; then it ends.",
         fires=([("railgauge_findings", controller(kind="regression", state="confirmed", severity="warning"), "2x10"),
                 ("railgauge_findings", controller(kind="part", state="confirmed", severity="warning"), "1x10"),
                 ("railgauge_findings", controller(kind="corruption", state="new", severity="critical"), "1x10"),
                 ("railgauge_finding_confirmed", controller(finding="part-n1-rail-3"), "1x10"),
                 ("railgauge_finding_confirmed", controller(finding="corruption-n9"), "1x10")], "5m", "4"),
         silent=([("railgauge_findings", controller(kind="regression", state="new", severity="critical"), "2x10"),
                  ("railgauge_findings", controller(kind="regression", state="acknowledged", severity="critical"), "1x10")], "5m")),
    dict(name="RailgaugeRegressionUnconfirmed", severity="warning", wait="10m", keep=RESTART,
         expr=f"sum by (cluster) ({UNCONFIRMED}) > 0", names=names(f"sum by (cluster, kind) ({UNCONFIRMED})", ("kind",)), named="regression",
         summary="{{ $value }} findings wait for confirmation",
         description="One run saw a change; another has to agree before anybody is woken. See: railgauge findings",
         means="A change was seen and not measured again yet.",
         do="Let the next run decide, or start the suite again on the nodes that the finding names.",
         fires=([("railgauge_findings", controller(kind="regression", state="new", severity="critical"), "2x30")], "15m", "2"),
         silent=([("railgauge_findings", controller(kind="regression", state="acknowledged", severity="warning"), "2x30")], "15m")),
    dict(name="RailgaugeUpgradeNotGated", severity="warning", wait="1h", keep=RESTART,
         expr=f"max by (cluster) ({PROPOSED}) > 0",
         summary="a change of the stack waits for a gate",
         description="Nodes run another stack, and nobody has asked whether it made them slower. See: railgauge upgrades",
         means="Nodes moved to a new stack together and stayed there; the controller proposed a gate, or its policy could not run one. It ends when the nodes are measured, or after 8 days.",
         do="`railgauge upgrades` has the nodes and the command on each row whose verdict is `proposed`; start it, or set `--upgrade-policy` of the controller.",
         fires=([("railgauge_upgrades_proposed", controller(), "2x90")], "70m", "2"),
         silent=([("railgauge_upgrades_proposed", controller(), "2x50 0x40")], "70m")),
    dict(name="RailgaugeScheduledRunMissed", severity="warning", wait="5m", keep=RESTART,
         expr=f"count by (cluster) ({missed()}) > 0", names=names(missed(), SCHEDULE), named="nightly",
         summary="{{ $value }} schedules missed their last due time",
         description="Nothing was measured then. See: railgauge schedules",
         means="A suite was due and could not be started: the controller was down, nodes were busy, or another run held on.",
         do="`railgauge schedules show NAME` shows the reason; `railgauge schedules run-now NAME` starts the suite now.",
         fires=([("railgauge_schedule_last_result", controller(schedule="nightly", result="missed"), "1x20"),
                 ("railgauge_schedule_enabled", controller(schedule="nightly", suite="nightly"), "1x20")], "10m", "1"),
         silent=([("railgauge_schedule_last_result", controller(schedule="nightly", result="missed"), "1x20"),
                  ("railgauge_schedule_enabled", controller(schedule="nightly", suite="nightly"), "0x20")], "10m")),
    dict(name="RailgaugeFabricNotMeasured", severity="warning", wait="15m", keep=RESTART,
         expr=f"count by (cluster) ({unmeasured()}) > 0", names=names(unmeasured(), SUITE), named="nightly",
         summary="{{ $value }} scheduled suites did not pass for too long",
         description="A regression would not be seen now. See: railgauge runs, railgauge schedules",
         means="A suite that a schedule starts has not passed for one and a half times the longest pause of that schedule (at least six hours), or never did.",
         do="`railgauge runs` shows how its last runs ended. Without measurements silence of the other alerts says nothing.",
         fires=([("railgauge_run_last_success_timestamp_seconds", controller(suite="nightly"), "-130000x40"),
                 ("railgauge_schedule_pause_seconds", controller(schedule="n", suite="nightly"), "86400x40"),
                 ("railgauge_schedule_enabled", controller(schedule="n", suite="nightly"), "1x40")], "30m", "1"),
         silent=([("railgauge_run_last_success_timestamp_seconds", controller(suite="nightly"), "-120000x40"),
                  ("railgauge_schedule_pause_seconds", controller(schedule="n", suite="nightly"), "86400x40"),
                  ("railgauge_schedule_enabled", controller(schedule="n", suite="nightly"), "1x40"),
                  ("railgauge_run_last_success_timestamp_seconds", controller(suite="weekly"), "-600000x40"),
                  ("railgauge_schedule_pause_seconds", controller(schedule="w", suite="weekly"), "604800x40"),
                  ("railgauge_schedule_enabled", controller(schedule="w", suite="weekly"), "1x40"),
                  ("railgauge_run_last_success_timestamp_seconds", controller(suite="paused"), "-900000x40"),
                  ("railgauge_schedule_pause_seconds", controller(schedule="p", suite="paused"), "86400x40"),
                  ("railgauge_schedule_enabled", controller(schedule="p", suite="paused"), "0x40")], "30m")),
    dict(name="RailgaugeRunFailed", severity="warning", wait="1m", keep=RESTART,
         expr=f"count by (cluster) ({RUN_FAILED}) > 0", names=names(RUN_FAILED, SUITE), named="nightly",
         summary="The last run of {{ $value }} suites failed",
         description="Data was wrong, a limit was missed, or tasks crashed. See: railgauge runs",
         means="The newest run of a suite ended as failed, crashed or timed_out, within the last seven days.",
         do="`railgauge runs show RUN` names the tasks and reasons. It ends with the suite's next run that passes.",
         fires=([("railgauge_run_last_outcome", controller(suite="nightly", outcome="failed"), "1x10"),
                 ("railgauge_run_last_end_timestamp_seconds", controller(suite="nightly"), "0x10")], "5m", "1"),
         silent=([("railgauge_run_last_outcome", controller(suite="nightly", outcome="passed"), "1x10")], "5m")),
    dict(name="RailgaugePreflightFailing", severity="warning", wait="10m", keep=RESTART,
         expr=f"count by (cluster) ({FAILING}) > 0", names=names(FAILING, NODE), named="n1",
         summary="{{ $value }} nodes fail their preflight",
         description="Figures measured there may show the setting, not the hardware. See: railgauge preflight",
         means="Checks of the last preflight say fail or error on nodes that are not in maintenance.",
         do="`railgauge preflight --explain CHECK` shows why it matters and the remedy.",
         fires=([("railgauge_preflight_results", node("n1", check="acs", state="fail"), "1x30"),
                 ("railgauge_preflight_results", node("n1", check="pcie_link", state="fail"), "2x30")], "20m", "1"),
         silent=([("railgauge_preflight_results", node("n1", check="acs", state="fail"), "1x30"),
                  ("railgauge_node_busy", node("n1", source="marker"), "1x30"),
                  ("railgauge_preflight_results", node("n2", check="acs", state="warn"), "1x30")], "20m")),
    dict(name="RailgaugeLinksDown", severity="critical", wait="5m", keep=RESTART,
         expr=f"count by (cluster) ({LINKS_DOWN}) > 0", names=names(LINKS_DOWN, PORT_NAME), named="n1/mlx5_0:1",
         summary="{{ $value }} ports went down",
         description="They were up within a week. See: railgauge nodes show NODE",
         means="A port that was active within a week is not. Ports that were never up do not count.",
         do="Cable, transceiver, switch port; `railgauge nodes show NODE` has the port's state. One that is unplugged for good: a silence in Alertmanager for a week.",
         fires=([("railgauge_link_up", node("n1", **PORT), "1x5 0x20")], "15m", "1"),
         silent=([("railgauge_link_up", node("n1", **PORT), "0x30")], "15m")),
    dict(name="RailgaugeLinksFlapping", severity="warning", wait="1m", keep="30m",
         expr=f"count by (cluster) ({FLAPPING}) > 0", names=names(FLAPPING, PORT_NAME), named="n1/mlx5_0:1",
         summary="{{ $value }} links flap",
         description="They went down or trained anew more than three times in half an hour. See: railgauge events --kind counter --since 1h",
         means="Counters of lost links grow.",
         do="Reseat or replace cable or transceiver; look at the switch's port.",
         fires=([(FLAP, node("n1", counter="link_downed", **PORT), "0x5 1+1x30")], "20m", "1"),
         silent=([(FLAP, node("n1", counter="link_downed", **PORT), "0x5 1x30"),
                  (FLAP, node("n1", counter="port_rcv_errors", **PORT), "0+9x35")], "20m")),
    dict(name="RailgaugeNodeFaults", severity="critical", wait="1m", keep="30m",
         expr=f"sum by (cluster, kind) ({FAULTS}) > 0", names=names(f"sum by (cluster, kind, node) ({FAULTS}) > 0", NODE, ("cluster", "kind")), named="n1",
         summary="Faults of kind {{ $labels.kind }} on nodes",
         description="Counters or the kernel's log speak of broken hardware. See: railgauge events --kind watch --since 1h",
         means="The watch on nodes saw what means broken hardware: an XID, a lost device, a counter beyond its limit.",
         do="The event names node, device and limit; the line names the usual cause.",
         fires=([("railgauge_node_events_total", node("n1", kind="xid", severity="critical"), "0x5 1x30")], "10m", None, {"kind": "xid"}),
         silent=([("railgauge_node_events_total", node("n1", kind="xid", severity="warning"), "0x5 1x30")], "10m")),
    dict(name="RailgaugeLinksSlow", severity="warning", wait="10m", keep=RESTART,
         expr=f"count by (cluster) ({SLOW}) > 0", names=names(f"-1 * ({SLOW})", PORT_NAME), named="n1/mlx5_0:1",
         summary="{{ $value }} ports give less than they should",
         description="RDMA messages above 256 B stay below the floor of the line rate. See: railgauge runs suspects",
         means="The last measured RDMA bandwidth in one direction, of messages above 256 B between hosts' memory or GPUs', is below `railgauge:link_bandwidth:ratio_floor` of the port's line rate.",
         do="`railgauge runs suspects` says which part of the fabric it is; `railgauge preflight` what is set wrong on the node.",
         fires=([("railgauge_link_bandwidth_bytes_per_second", node("n1", kernel="verbs.write_bw", size="large", memory="host", **PORT), "10e9x30"),
                 ("railgauge_link_expected_bytes_per_second", node("n1", **PORT), "50e9x30")], "20m", "1"),
         silent=([("railgauge_link_bandwidth_bytes_per_second", node("n1", kernel="verbs.write_bw", size="large", memory="host", **PORT), "49e9x30"),
                  ("railgauge_link_bandwidth_bytes_per_second", node("n1", kernel="verbs.write_bw", size="small", memory="host", **PORT), "1e9x30"),
                  ("railgauge_link_expected_bytes_per_second", node("n1", **PORT), "50e9x30")], "20m")),
    dict(name="RailgaugeLinksPause", severity="warning", wait="10m", keep=RESTART,
         expr=f"count by (cluster) ({PAUSING}) > 0", names=names(PAUSING, PORT_NAME), named="n1/mlx5_0:1",
         summary="{{ $value }} ports pause while they transfer",
         description="Transfers pause for a millisecond or longer, again and again. See: railgauge results --metric bandwidth_bytes_per_second",
         means="In the last measured RDMA bandwidth a port was in pauses for more than `railgauge:link_pause:ratio_ceiling` of the time. The median of a bandwidth does not show them.",
         do="Look for pause frames and lost packets on the switch's port, for power management of NIC and CPU, and for other work on the node.",
         fires=([("railgauge_link_pause_ratio", node("n1", kernel="verbs.write_bw", **PORT), "0.2x30"),
                 ("railgauge_link_expected_bytes_per_second", node("n1", **PORT), "50e9x30")], "20m", "1"),
         silent=([("railgauge_link_pause_ratio", node("n1", kernel="verbs.write_bw", **PORT), "0.01x30"),
                  ("railgauge_link_expected_bytes_per_second", node("n1", **PORT), "50e9x30"),
                  ("railgauge_link_pause_ratio", node("n2", kernel="verbs.write_bw", **PORT), "0.2x30"),
                  ("railgauge_link_pause_ratio", node("n3", kernel="net.tcp_bw", **PORT), "0.2x30"),
                  ("railgauge_link_expected_bytes_per_second", node("n3", **PORT), "50e9x30")], "20m")),
    dict(name="RailgaugeSpoolsFilling", severity="warning", wait="15m", keep=RESTART,
         expr=f"count by (cluster) ({SPOOLS}) > 0", names=names(SPOOLS, NODE), named="n1",
         summary="The spools of {{ $value }} agents fill up",
         description="The controller does not take what they measured. See: railgauge nodes",
         means="More than four fifths of a spool are in use while records wait for the controller.",
         do="Bring the controller back, or its disk; a full spool refuses new tasks.",
         fires=([("railgauge_agent_spool_bytes", node("n1"), "90x30"), ("railgauge_agent_spool_limit_bytes", node("n1"), "100x30"),
                 ("railgauge_agent_spool_records", node("n1"), "5x30")], "20m", "1"),
         silent=([("railgauge_agent_spool_bytes", node("n1"), "90x30"), ("railgauge_agent_spool_limit_bytes", node("n1"), "100x30"),
                  ("railgauge_agent_spool_records", node("n1"), "0x30")], "20m")),
    dict(name="RailgaugeDatabaseGrowing", severity="warning", wait="1h", keep=RESTART,
         expr="max by (cluster) (predict_linear(railgauge_db_size_bytes[6h], 7 * 86400) - railgauge_db_size_bytes - railgauge_db_free_bytes) > 0",
         summary="The database fills its disk within a week",
         description="At the pace of the last six hours. See: railgauge db stats",
         means="The growth of the last hours, continued for a week, is more than is free.",
         do="`railgauge db stats` shows what takes the room; shorter retention, or a larger disk.",
         fires=([("railgauge_db_size_bytes", controller(), "0+1000000x100"), ("railgauge_db_free_bytes", controller(), "1e9x100")], "90m", None),
         silent=([("railgauge_db_size_bytes", controller(), "0+1000000x100"), ("railgauge_db_free_bytes", controller(), "1e12x100")], "90m")),
    dict(name="RailgaugeDiskAlmostFull", severity="critical", wait="5m", keep=RESTART,
         expr="min by (cluster) (railgauge_db_free_bytes) < 2 * 1024 * 1024 * 1024",
         summary="Less than 2 GiB are free for the database",
         description="Below 512 MiB no run is started. See: railgauge db stats",
         means="The database's file system is nearly full.",
         do="Make room now; `railgauge db prune` takes away what is older than the policy says.",
         fires=([("railgauge_db_free_bytes", controller(), "1e9x10")], "8m", None), silent=([("railgauge_db_free_bytes", controller(), "1e11x10")], "8m")),
    dict(name="RailgaugeStoreReadOnly", severity="critical", wait="1m", keep=RESTART,
         expr="max by (cluster) (railgauge_store_read_only) > 0",
         summary="The database's file system is full: the controller only reads and prunes",
         description="Agents keep their records, no run is started. See: railgauge db stats",
         means="A write failed for want of room, and there is none yet.",
         do="Make room on the file system; `railgauge db prune` takes away what is older than the policy says. The controller writes again by itself.",
         fires=([("railgauge_store_read_only", controller(), "1x10")], "5m", None), silent=([("railgauge_store_read_only", controller(), "0x10")], "5m")),
    dict(name="RailgaugeMemoryShort", severity="warning", wait="10m", keep=RESTART,
         expr="max by (cluster) (railgauge_memory_short) > 0",
         summary="The controller has little memory left: it refuses runs, exports and SQL",
         description="More than 85 % of what its cgroup allows are taken.",
         means="Beyond the limit the kernel would end the controller, and runs with it.",
         do="Raise `MemoryMax` of its unit, or find out who asks for that much.",
         fires=([("railgauge_memory_short", controller(), "1x30")], "15m", None), silent=([("railgauge_memory_short", controller(), "0x30")], "15m")),
    dict(name="RailgaugeStoreBehind", severity="warning", wait="5m", keep=RESTART,
         expr="max by (cluster) (railgauge_store_queue_depth / railgauge_store_queue_limit) > 0.5",
         summary="The database does not keep up",
         description="More than half of the queue before it is full. See: railgauge db stats",
         means="Records arrive faster than the disk commits them; at the limit agents hold theirs.",
         do="Look at the disk's latency, and at who else reads or copies the database.",
         fires=([("railgauge_store_queue_depth", controller(), "60000x10"), ("railgauge_store_queue_limit", controller(), "65536x10")], "8m", None),
         silent=([("railgauge_store_queue_depth", controller(), "100x10"), ("railgauge_store_queue_limit", controller(), "65536x10")], "8m")),
    dict(name="RailgaugeStoreFails", severity="critical", wait="10m", keep=RESTART,
         expr="max by (cluster) (increase(railgauge_store_failed_batches_total[5m])) > 0",
         summary="The database refuses what the controller writes",
         description="Agents keep their records, ends of runs wait. See: railgauge db check, and the controller's journal",
         means="Every few minutes a transaction fails: the disk is full or not writable, another program holds the database's lock, or the file is damaged.",
         do="The controller's journal has SQLite's words. A damaged file: `railgauge db restore FILE` puts a backup in place; agents send what it lacks.",
         fires=([("railgauge_store_failed_batches_total", controller(), "0x5 1+1x30")], "25m", None),
         silent=([("railgauge_store_failed_batches_total", controller(), "0x5 1x30")], "20m")),
    dict(name="RailgaugeRecordsDropped", severity="warning", wait="1m", keep="30m",
         expr="sum by (cluster) (increase(railgauge_orphan_records_dropped_total[1h])) > 0",
         summary="Records that fit no run were dropped",
         description="Too many of them were kept already. See: railgauge events --kind orphans,record",
         means="Agents delivered results of runs that this database does not know, more than it keeps.",
         do="Mostly a restored backup or a second controller. The rows say whose they are.",
         fires=([("railgauge_orphan_records_dropped_total", controller(), "0x5 10x60")], "10m", None),
         silent=([("railgauge_orphan_records_dropped_total", controller(), "10x60")], "10m")),
    dict(name="RailgaugeRecordsRefused", severity="warning", wait="1m", keep="30m",
         expr="sum by (cluster, fault) (increase(railgauge_records_refused_total[1h])) > 0",
         summary="Records were put aside: {{ $labels.fault }}",
         description="They change no result. See: railgauge events --kind record_refused",
         means="An agent delivered what no run asked it for, or what its kernel does not declare.",
         do="The event names the node and the first record. `unknown_task` and `attempt` come with a restored backup; `metric` with an agent of another version; the others with a broken or hostile agent.",
         fires=([("railgauge_records_refused_total", controller(fault="metric"), "0x5 10x60")], "10m", None, {"fault": "metric"}),
         silent=([("railgauge_records_refused_total", controller(fault="metric"), "10x60")], "10m")),
    dict(name="RailgaugeAgentsRefused", severity="warning", wait="1m", keep="30m",
         expr="sum by (cluster) (increase(railgauge_agents_refused_total{code=~\"permission_denied|already_exists\"}[1h])) > 0",
         summary="An agent is not the node that it says",
         description="It is kept out. See: railgauge audit --refused, and railgauge events --kind node_refused",
         means="A node's id belongs to another name or certificate: a copied state folder, a renamed host, or an attack.",
         do="The event names both nodes. A clone: delete `agent-node-id` in its state folder and restart its agent. A host that was renamed: `railgauge nodes rename OLD NEW`. Neither: revoke the certificate in the audit trail's row with `railgauge pki revoke`.",
         fires=([("railgauge_agents_refused_total", controller(code="already_exists"), "0x5 1x60")], "10m", None),
         silent=([("railgauge_agents_refused_total", controller(code="invalid_argument"), "0x5 1x60")], "10m")),
    dict(name="RailgaugeDeliveriesFail", severity="warning", wait="1m", keep="30m",
         expr="sum by (cluster, target) (increase(railgauge_deliveries_total{outcome=~\"failed|refused|dropped\"}[1h])) > 0",
         summary="Reports to {{ $labels.target }} were not delivered",
         description="Nobody gets them any more. See: railgauge events --kind delivery",
         means="A receiver refused a report, did not answer for hours, or so many waited that the oldest were dropped.",
         do="The event has the receiver's answer. 401 or 403: the secret differs. 404 or 410: the URL has ended. `railgauge report RUN` has the report itself.",
         fires=([("railgauge_deliveries_total", controller(target="webhook", outcome="failed"), "0x5 1x60")], "10m", None, {"target": "webhook"}),
         silent=([("railgauge_deliveries_total", controller(target="webhook", outcome="postponed"), "0x5 1x60")], "10m")),
    dict(name="RailgaugeDeliveriesWait", severity="warning", wait="30m", keep=RESTART,
         expr="max by (cluster, target) (railgauge_deliveries_waiting) > 0",
         summary="Reports to {{ $labels.target }} wait",
         description="The receiver does not take them; they are sent again. See: railgauge events --kind delivery",
         means="Each attempt of half an hour failed: the receiver is away, or the way to it is blocked.",
         do="The event has the cause. The controller's host needs a way to the receiver, and its clock and authorities to check the certificate.",
         fires=([("railgauge_deliveries_waiting", controller(target="chat"), "1x60")], "40m", None, {"target": "chat"}),
         silent=([("railgauge_deliveries_waiting", controller(target="chat"), "0x60")], "40m")),
    dict(name="RailgaugeBackupLate", severity="warning", wait="10m", keep=RESTART,
         expr="max by (cluster) (time() - railgauge_backup_timestamp_seconds > 2 * railgauge_backup_interval_seconds and railgauge_backup_interval_seconds > 0) > 0",
         summary="No backup came for two intervals",
         description="Backups by schedule fail. See: railgauge audit --since 2d, and railgauge doctor",
         means="Backups by schedule fail: no room, a folder that may not be written, or a copy that does not restore.",
         do="The audit trail's rows of `back_up` have the cause. Make room or set `backup_folder`; `railgauge db check` reads the database itself.",
         fires=([("railgauge_backup_timestamp_seconds", controller(), "0x30"), ("railgauge_backup_interval_seconds", controller(), "60x30")], "20m", None),
         silent=([("railgauge_backup_timestamp_seconds", controller(), "0x30"), ("railgauge_backup_interval_seconds", controller(), "0x30")], "20m")),
    dict(name="RailgaugeClocksOff", severity="warning", wait="10m", keep=RESTART,
         expr="sum by (cluster) (railgauge_nodes_clock_off) > 0",
         summary="The clocks of {{ $value }} nodes are off",
         description="Times of their results are wrong. See: railgauge events --kind clock",
         means="A node's clock is more than 5 s beside the controller's. Above 1 h its results get the time of their arrival.",
         do="The event names the node. Repair its time service; where all nodes are off, the controller's clock is.",
         fires=([("railgauge_nodes_clock_off", controller(), "2x30")], "20m", "2"),
         silent=([("railgauge_nodes_clock_off", controller(), "0x30")], "20m")),
    dict(name="RailgaugeAgentVersionSkew", severity="warning", wait="1h", keep=RESTART,
         expr="count by (cluster) (count by (cluster, version) (railgauge_agents)) > 1",
         names=names("sum by (cluster, version) (railgauge_agents)", ("version",)), named="0.1.0 0.2.0",
         summary="Agents run {{ $value }} different versions",
         description="Differences between nodes may be the program's. See: railgauge nodes",
         means="A rollout of Railgauge stopped half way.",
         do="Finish it. One minor version apart works together; further apart is refused.",
         fires=([("railgauge_agents", controller(version="0.1.0"), "9x90"), ("railgauge_agents", controller(version="0.2.0"), "1x90")], "80m", "2"),
         silent=([("railgauge_agents", controller(version="0.1.0"), "9x90")], "80m")),
    dict(name="RailgaugeAgentsReconnecting", severity="warning", wait="10m", keep=RESTART,
         expr=f"count by (cluster) ({RECONNECTING}) > 0", names=names(RECONNECTING, NODE), named="n1",
         summary="{{ $value }} agents lose their stream again and again",
         description="More than five times in an hour. See: the agents' journal",
         means="The path between agents and the controller breaks.",
         do="Firewalls that end idle connections, a name with two agents, an overloaded controller.",
         fires=([("railgauge_agent_reconnects_total", node("n1"), "0+1x60")], "40m", "1"),
         silent=([("railgauge_agent_reconnects_total", node("n1"), "0x5 1x60")], "40m")),
    dict(name="RailgaugeCertificateExpiring", severity="warning", wait="10m", keep=RESTART,
         expr=f"(count by (cluster) ({ENDING}) or sum by (cluster) (railgauge_agents_certificate_expiring)) > 0",
         names=names(f"-1 * ({ENDING})", PROCESS), named="railgauge-agent n1",
         summary="{{ $value }} certificates end within 14 days",
         description="Own certificates and authorities of controller and agents. See: railgauge pki show FOLDER",
         means="A certificate, or the authority that issued it, ends soon or has ended; from then on no connection comes about.",
         do="`railgauge pki renew FOLDER NAME` writes another in its place; copy it to the host. It is taken within seconds, streams stay. An authority that ends needs a new one beside it in `--tls-ca`.",
         fires=([("railgauge_certificate_expiry_timestamp_seconds", node("n1", certificate="own"), "1000000x40"),
                 ("railgauge_certificate_expiry_timestamp_seconds", node("n2", certificate="own"), "1300000x40")], "20m", "1"),
         silent=([("railgauge_certificate_expiry_timestamp_seconds", node("n1", certificate="own"), "1300000x40"),
                  ("railgauge_agents_certificate_expiring", controller(), "0x40")], "20m")),
    dict(name="RailgaugeRevocationListExpiring", severity="warning", wait="10m", keep=RESTART,
         expr='min by (cluster) (railgauge_certificate_expiry_timestamp_seconds{certificate="crl"} - time()) < 3 * 86400',
         summary="The revocation list ends within three days",
         description="The controller keeps using a list that ended. See: railgauge pki crl FOLDER",
         means="Nobody wrote the list anew. It stays in use after its end, but certificates revoked since are not in it.",
         do="`railgauge pki crl FOLDER` writes it for 30 days; copy it to the controller's `--tls-crl`. A weekly timer does both.",
         fires=([("railgauge_certificate_expiry_timestamp_seconds", controller(certificate="crl"), "200000x40")], "20m", None),
         silent=([("railgauge_certificate_expiry_timestamp_seconds", controller(certificate="crl"), "300000x40"),
                  ("railgauge_certificate_expiry_timestamp_seconds", controller(certificate="own"), "200000x40")], "20m")),
    dict(name="RailgaugeTlsFilesRefused", severity="warning", wait="5m", keep=RESTART,
         expr="sum by (cluster) (increase(railgauge_tls_reload_failures_total[1h])) > 0",
         summary="New TLS files were refused; the old ones stay in use",
         description="The journal of controller and agents names file and fault. See: railgauge nodes",
         means="A certificate, key or revocation list was replaced by one that cannot be used, or a list ended.",
         do="The log line says which file and why: half written, a key of another certificate, a key that others can read, a list that is older or signed by another authority.",
         fires=([("railgauge_tls_reload_failures_total", controller(file="crl"), "0x5 1x60")], "20m", None),
         silent=([("railgauge_tls_reload_failures_total", controller(file="crl"), "0x60")], "20m")),
    dict(name="RailgaugeSeriesRefused", severity="warning", wait="10m", keep=RESTART,
         expr="sum by (cluster) (increase(railgauge_series_refused_total[1h])) > 0",
         summary="Values are not shown because a family is full",
         description="A bound of the catalog was reached. See: railgauge metrics --describe",
         means="A process had more series than the catalog allows a family; the rest is in the database only.",
         do="Mostly many suites, or a node with more devices than was thought of.",
         fires=([("railgauge_series_refused_total", node("n1"), "0x5 3x60")], "20m", None),
         silent=([("railgauge_series_refused_total", node("n1"), "0x60")], "20m")),
]

# Further cases of an alert: effects of a restart, of maintenance and of a change of the whole fleet.
EXTRA = [
    dict(name="a restart of the controller neither ends nor restarts it", named="", alert="RailgaugeNodesStale", at="24m", value="2", fires=True,
         series=[("railgauge_nodes", controller(state="lost"), "2x20 _x2 0x20"), ("railgauge_nodes", controller(state="absent"), "0x20 _x2 2x20")]),
    dict(name="an acknowledgement that ran out pages again", named="step-n1", alert="RailgaugeRegressionConfirmed", at="9m", value="1", fires=True,
         series=[("railgauge_findings", controller(kind="regression", state="acknowledged", severity="critical"), "1x4 _x10"),
                 ("railgauge_findings", controller(kind="regression", state="reopened", severity="critical"), "_x4 1x10"),
                 ("railgauge_finding_confirmed", controller(finding="step-n1"), "_x4 1x10")]),
    dict(name="a suite that is run no more is forgotten", alert="RailgaugeRunFailed", at="10m", fires=False,
         series=[("railgauge_run_last_outcome", controller(suite="acceptance", outcome="failed"), "1x20"),
                 ("railgauge_run_last_end_timestamp_seconds", controller(suite="acceptance"), "-700000x20")]),
    dict(name="while the controller is away it goes on", named="step-n1", alert="RailgaugeRegressionConfirmed", at="24m", value="1", fires=True,
         series=[("railgauge_findings", controller(kind="regression", state="confirmed", severity="warning"), "1x12 _x30"),
                 ("railgauge_finding_confirmed", controller(finding="step-n1"), "1x12 _x30")]),
    dict(name="a change of the whole fleet is one alert", named="n1/mlx5_0:1 n2/mlx5_0:1 n3/mlx5_0:1", alert="RailgaugeLinksSlow", at="20m", value="3", fires=True,
         series=[s for n in ("n1", "n2", "n3") for s in
                 (("railgauge_link_bandwidth_bytes_per_second", node(n, kernel="verbs.write_bw", size="large", memory="host", **PORT), "10e9x30"),
                  ("railgauge_link_expected_bytes_per_second", node(n, **PORT), "50e9x30"))]),
    dict(name="a path to GPUs that is slow is told although the host's is not, staged copies and sums of ports are not", named="n1/mlx5_0:1", alert="RailgaugeLinksSlow", at="20m", value="1", fires=True,
         series=[("railgauge_link_bandwidth_bytes_per_second", node("n1", kernel="verbs.write_bw", size="large", memory="host", **PORT), "49e9x30"),
                 ("railgauge_link_bandwidth_bytes_per_second", node("n1", kernel="verbs.write_bw", size="large", memory="gpu", **PORT), "10e9x30"),
                 ("railgauge_link_expected_bytes_per_second", node("n1", **PORT), "50e9x30"),
                 ("railgauge_link_bandwidth_bytes_per_second", node("n2", kernel="verbs.write_bw", size="large", memory="gpu", **PORT), "49e9x30"),
                 ("railgauge_link_bandwidth_bytes_per_second", node("n2", kernel="verbs.write_bw", size="large", memory="staged", **PORT), "4e9x30"),
                 ("railgauge_link_bandwidth_bytes_per_second", node("n2", kernel="net.tcp_bw", size="large", memory="host", **PORT), "4e9x30"),
                 ("railgauge_link_expected_bytes_per_second", node("n2", **PORT), "50e9x30")]),
    dict(name="of seven nodes the worst five are named, and none of another cluster", named="n3 n4 n5 n6 n7", alert="RailgaugePreflightFailing", at="20m", value="7", fires=True,
         series=[("railgauge_preflight_results", node(f"n{i}", check="acs", state="fail"), f"{i}x30") for i in range(1, 8)]
         + [("railgauge_preflight_results", node("m1", check="acs", state="fail", cluster="d"), "9x30")], also=[("1", {"cluster": "d"}, "m1")]),
    dict(name="an earlier agent's word counts", named="n1", alert="RailgaugeNodeFaults", at="10m", fires=True, labels={"kind": "xid"},
         series=[("railgauge_node_events_total", node("n1", kind="xid", severity="fail"), "0x5 1x30")]),
    dict(name="a site's address makes its runbook's link absolute", named="n1/mlx5_0:1", alert="RailgaugeLinksDown", at="15m", value="1", fires=True,
         runbook="https://docs.example/railgauge/alerts.md", series=[("railgauge_link_up", node("n1", **PORT), "1x5 0x20")]),
    dict(name="a suite that never passed counts from when it was first due", named="nightly", alert="RailgaugeFabricNotMeasured", at="30m", value="1", fires=True,
         series=[("railgauge_schedule_first_due_timestamp_seconds", controller(schedule="n", suite="nightly"), "-130000x40"),
                 ("railgauge_schedule_pause_seconds", controller(schedule="n", suite="nightly"), "86400x40"),
                 ("railgauge_schedule_enabled", controller(schedule="n", suite="nightly"), "1x40")]),
    dict(name="what maintenance broke is told once it is over", named="n1/mlx5_0:1", alert="RailgaugeLinksDown", at="25m", value="1", fires=True,
         series=[("railgauge_link_up", node("n1", **PORT), "1x5 0x30"), ("railgauge_node_busy", node("n1", source="marker"), "1x14 0x20")]),
    dict(name="it goes on while the port is down, and after its host was away for a day", named="n1/mlx5_0:1", alert="RailgaugeLinksDown", at="1530m", value="1", fires=True,
         series=[("railgauge_link_up", node("n1", **PORT), "1x5 0x60 _x1400 0x70")]),
    dict(name="during maintenance nothing is told", alert="RailgaugeLinksDown", at="14m", fires=False,
         series=[("railgauge_link_up", node("n1", **PORT), "1x5 0x30"), ("railgauge_node_busy", node("n1", source="marker"), "1x14 0x20")]),
    dict(name="maintenance mutes", alert="RailgaugeLinksFlapping", at="20m", fires=False,
         series=[(FLAP, node("n1", counter="link_downed", **PORT), "0x5 1+1x30"), ("railgauge_node_busy", node("n1", source="marker"), "1x40")]),
    dict(name="nothing is scraped at all", alert="RailgaugeControllerDown", at="5m", value="1", fires=True, labels={"cluster": None, "job": "railgauge-controller"},
         series=[("railgauge_run_active", controller(), "_x10")]),
]
