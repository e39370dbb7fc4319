#!/usr/bin/env python3
"""Compares dashboards, rules and alerts with the metric catalog, which the program itself prints.

  dashboards/lint.py RAILGAUGE [PROMTOOL]   exit code 1 and a line for each fault
RAILGAUGE is the CLI's program; PROMTOOL's own checks run too where it is given: rules, their tests, names of metrics.
"""
import functools
import json
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "source"))
import alerts  # noqa: E402
import boards  # noqa: E402
from promql import selectors  # noqa: E402

# Labels that Prometheus and its target lists add to every series, and metrics that Prometheus makes itself.
TARGET_LABELS = {"cluster", "node", "job", "instance"}
FOREIGN = {"up": set(), "scrape_duration_seconds": set(), "scrape_samples_scraped": set(), "ALERTS": {"alertname", "alertstate", "severity"}}
# Alerts that need no keep_firing_for, because missing series make them fire.
WITHOUT_KEEP = {"RailgaugeAgentsNotScraped"}
# Alerts that count what no series names.
WITHOUT_NAMES = {"RailgaugeClocksOff", "RailgaugeAgentsRefused", "RailgaugeRecordsDropped", "RailgaugeRecordsRefused", "RailgaugeDeliveriesFail", "RailgaugeTlsFilesRefused",
                 "RailgaugeSeriesRefused"}
EARLIER_SEVERITIES = {"warn", "fail"}  # what programs before 0.2 say
PANEL_TYPES = {"stat", "timeseries", "table", "bargauge"}
# Metrics that are 1 while all is well, and stats of which more is neither good nor bad.
ZERO_IS_BAD = {"railgauge_agent_connected", "railgauge_port_accepts", "railgauge_watch_kernel_log_readable"}
NEUTRAL_STATS = {"Nodes in maintenance", "Nodes busy", "Tasks running", "Busy", "Spool", "Runs"}
# Metrics of NICs, which the CLI shows in bits a second, and of GPUs in bytes a second; of both, by kernel.
NIC_RATES = {"railgauge_link_bandwidth_bytes_per_second", "railgauge_link_expected_bytes_per_second"}
GPU_RATES = {"railgauge_gpu_bandwidth_bytes_per_second"}
PAIR_RATES = {"railgauge_fabric_bandwidth_bytes_per_second"}
NODE_COLUMNS = {"node", "from", "to"}
# Metrics that a board has to show in a table with a row a node.
NODE_TABLES = {"railgauge-fleet": {"railgauge_preflight_results", "railgauge_agent_connected", "up", "railgauge_node_pause_end_timestamp_seconds"},
               "railgauge-fabric": {"railgauge_link_up", "railgauge_worst_pair_ratio"}}
SHOWN = {"railgauge-service": {
    "railgauge_deliveries_total", "railgauge_deliveries_waiting", "railgauge_backup_timestamp_seconds", "railgauge_backup_interval_seconds",
    "railgauge_schedule_last_due_timestamp_seconds", "railgauge_runs_waiting", "railgauge_store_read_only", "railgauge_memory_short",
    "railgauge_certificate_expiry_timestamp_seconds", "railgauge_port_accepts", "railgauge_agent_spool_bytes", "railgauge_agents_refused_total"}}
MARKS = ["Runs", "Upgrades", "Settings", "Maintenance", "Synthetic"]
ORDER = ["datasource", "cluster", "node", "device", "rail", "kernel", "part", "before"]

faults = []


def fault(where, what):
    faults.append(f"{where}: {what}")


def catalog(program):
    listed = json.loads(subprocess.run([program, "metrics", "-o", "json"], check=True, capture_output=True, text=True).stdout)
    return listed["metrics"]


def known_series(metrics):
    known = {one["name"]: {label["name"] for label in one["labels"]} for one in metrics}
    known.update(FOREIGN)
    known.update({name: None for name, _, _ in alerts.RECORDS})  # labels are not checked
    return known


def check_expression(where, expression, known):
    found = selectors(expression)
    if not found and "vector(" not in expression:
        fault(where, "names no metric")
    for name, labels in found:
        if name not in known:
            fault(where, f"{name} is neither in the catalog nor a recording rule")
        elif known[name] is not None:
            for label in labels:
                if label not in known[name] | TARGET_LABELS:
                    fault(where, f"{name} has no label {label}")


def names_in(panel):
    return {name for target in panel["targets"] for name, _ in selectors(target["expr"])}


def check_links(where, panel, own, uids):
    """Each panel leads to another board, with variables and time; each node that it names to that node's board."""
    found = [re.fullmatch(r"/d/([a-z-]+)\?\$\{__all_variables\}&\$\{__url_time_range\}", one["url"]) for one in panel["links"]]
    if not any(one and one[1] in uids - {own} for one in found):
        fault(where, "has no link to another board that keeps variables and time")
    columns = {override["matcher"]["options"] for override in panel["fieldConfig"]["overrides"]
               for item in override["properties"] if item["id"] == "links" and all("&var-node=${__value.text}&" in one["url"] for one in item["value"])}
    if panel["type"] == "table" and not NODE_COLUMNS <= columns:
        fault(where, "its cells with a node have no link to the node's board")
    defaults = panel["fieldConfig"]["defaults"]
    if panel["type"] != "table" and any("{{node}}" in target["legendFormat"] for target in panel["targets"]):
        if not any("&var-node=${__field.labels.node}&" in one["url"] for one in defaults.get("links", [])):
            fault(where, "its lines of a node have no link to the node's board")


def check_stat(where, panel):
    """A stat says what is bad, and that nothing is known where nothing is."""
    defaults = panel["fieldConfig"]["defaults"]
    first, *others = [step["color"] for step in defaults["thresholds"]["steps"]]
    words = [value for one in defaults["mappings"] for value in one["options"]]
    is_red_above = "red" in others
    names = names_in(panel)
    controller = any('job="railgauge-controller"' in target["expr"] and target["expr"].startswith("max(up{") for target in panel["targets"])
    if (names & ZERO_IS_BAD or controller) and (first != "red" or "0" not in words):
        fault(where, "is not red at 0, or has no word for it")
    if first != "red" and not is_red_above and panel["title"] not in NEUTRAL_STATS:
        fault(where, "is never red")
    if "-1" not in words or not all(re.search(r" or vector\((-1|0)\)$", target["expr"]) for target in panel["targets"]):
        fault(where, "does not say that nothing is known")


def unit_of(panel, target):
    for override in panel["fieldConfig"]["overrides"]:
        if override["matcher"] == {"id": "byFrameRefID", "options": target["refId"]}:
            return next(item["value"] for item in override["properties"] if item["id"] == "unit")
    return panel["fieldConfig"]["defaults"]["unit"]


def check_rates(where, panel):
    """Rates are in the units of the CLI's tables."""
    for target in panel["targets"]:
        unit, names = unit_of(panel, target), {name for name, _ in selectors(target["expr"])}
        if unit == "percentunit":
            continue
        in_bits = unit == "bps" and target["expr"].endswith(" * 8")
        in_bytes = unit == "Bps" and not target["expr"].endswith(" * 8")
        of_gpus = 'kernel=~"(bar|cuda|nccl)' in target["expr"]
        if (names & NIC_RATES or (names & PAIR_RATES and not of_gpus)) and not in_bits:
            fault(where, "a NIC's rate is not in bits a second")
        if (names & GPU_RATES or (names & PAIR_RATES and of_gpus)) and not in_bytes:
            fault(where, "a GPU's rate is not in bytes a second")


def check_panel(where, panel, known):
    for key in ("title", "description"):
        if not panel.get(key, "").strip():
            fault(where, f"has no {key}")
    if panel["type"] not in PANEL_TYPES:
        fault(where, f"unknown kind {panel['type']}")
    if not panel["fieldConfig"]["defaults"].get("unit"):
        fault(where, "has no unit")
    if panel["datasource"].get("uid") != "${datasource}":
        fault(where, "its data source is not the variable")
    grid = panel["gridPos"]
    if grid["x"] + grid["w"] > 24:
        fault(where, "is wider than the page")
    for target in panel["targets"]:
        check_expression(where, target["expr"], known)
    if panel["type"] == "stat":
        check_stat(where, panel)
    check_rates(where, panel)


def check_choice(where, query, known):
    found = re.fullmatch(r"label_values\((.+), (\w+)\)", query)
    if not found:
        return fault(where, f"{query} is not label_values(SERIES, LABEL)")
    check_expression(where, found[1], known)
    for name, _ in selectors(found[1]):
        if known.get(name) is not None and found[2] not in known[name] | TARGET_LABELS:
            fault(where, f"{name} has no label {found[2]}")


def check_shown(where, board):
    tables = set().union(*(names_in(panel) for panel in board["panels"] if panel["type"] == "table"))
    for name in sorted(NODE_TABLES.get(board["uid"], set()) - tables):
        fault(where, f"has no table of nodes by {name}")
    everywhere = set().union(*(names_in(panel) for panel in board["panels"]))
    for name in sorted(SHOWN.get(board["uid"], set()) - everywhere):
        fault(where, f"does not show {name}")
    marks = board["annotations"]["list"]
    if [one["name"] for one in marks] != MARKS:
        fault(where, f"its marks are not {' '.join(MARKS)}")
    for one in marks:
        if one["useValueForTime"] != (one["name"] == "Runs"):
            fault(f"{where}: {one['name']}", "the time of its marks is not where it should be")


def check_board(path, board, known, uids):
    where = path.name
    if board.get("uid") != path.stem:
        fault(where, "its uid is not the file's name")
    if "id" in board:
        fault(where, "has a numeric id, which only one Grafana knows")
    for key in ("title", "description", "tags"):
        if not board.get(key):
            fault(where, f"has no {key}")
    names = [one["name"] for one in board["templating"]["list"]]
    if names != [name for name in ORDER if name in names] or names[:2] != ["datasource", "cluster"]:
        fault(where, f"variables in another order than elsewhere: {' '.join(names)}")
    for one in board["templating"]["list"]:
        if one["type"] == "query":
            check_choice(f"{where}: variable {one['name']}", one["query"]["query"], known)
    titles = [panel["title"] for panel in board["panels"]]
    for title in {title for title in titles if titles.count(title) > 1}:
        fault(where, f"two panels are called {title}")
    for panel in board["panels"]:
        check_panel(f"{where}: {panel['title']}", panel, known)
        check_links(f"{where}: {panel['title']}", panel, path.stem, uids)
    check_shown(where, board)
    for annotation in board["annotations"]["list"]:
        check_expression(f"{where}: {annotation['name']}", annotation["expr"], known)


def check_severities(metrics, boards):
    """One vocabulary: that of the catalog's label."""
    words = {tuple(label["values"].split(", ")) for one in metrics for label in one["labels"] if label["name"] == "severity"}
    if len(words) != 1:
        return fault("catalog", f"{len(words)} vocabularies of severity")
    words = set(*words)
    for alert in alerts.ALERTS:
        if alert["severity"] not in words - {"info"}:
            fault(alert["name"], f"severity {alert['severity']} is neither of {' '.join(sorted(words - {'info'}))}")
    texts = [(alert["name"], alert["expr"]) for alert in alerts.ALERTS]
    texts += [(f"{board['uid']}: {panel['title']}", target["expr"]) for board in boards for panel in board["panels"] for target in panel["targets"]]
    for where, text in texts:
        for found in re.findall(r'\bseverity[!=]~?"([^"]*)"', text):
            for word in set(found.split("|")) - words - EARLIER_SEVERITIES:
                fault(where, f"{word} is no word of severity")


def check_names(alert, rule):
    """Alerts that count nodes, ports or suites name the worst of them; each has its runbook at the site's address."""
    name = alert["name"]
    counts = "{{ $value }}" in alert["summary"] or re.match(r"\(*(count|sum) by ", alert["expr"])
    if counts and "names" not in alert and name not in WITHOUT_NAMES:
        fault(name, "counts and has no names")
    if "names" in alert and not re.match(r"topk by \(cluster[^)]*\) \(5, ", alert["names"]["query"]):
        fault(name, "its names are not the worst five of a cluster")
    if "names" in alert and not alert.get("named"):
        fault(name, "its test has no names")
    if "{{ with $externalLabels.runbook_base }}{{ . }}{{ else }}" not in rule:
        fault(name, "its runbook_url has no setting")


def check_alerts(known):
    for name, expression, why in alerts.RECORDS:
        check_expression(name, expression, known)
        if not why:
            fault(name, "says not what it is for")
    page = (HERE.parent / "deploy/docs/reference/alerts.md").read_text()
    rules = dict(re.findall(r"- alert: (\w+)\n((?: {8}.*\n)+)", (HERE / "prometheus/alerts.yml").read_text()))
    for alert in alerts.ALERTS:
        name = alert["name"]
        check_expression(name, alert["expr"], known)
        if "names" in alert:
            check_expression(name, alert["names"]["query"], known)
        check_names(alert, rules.get(name, ""))
        if f"\n## {name}\n" not in page:
            fault(name, "is not in deploy/docs/reference/alerts.md")
        for key in ("summary", "description", "means", "do", "wait", "fires", "silent"):
            if not alert.get(key):
                fault(name, f"has no {key}")
        reads_ours = any(known.get(found) is None or found.startswith("railgauge_") for found, _ in selectors(alert["expr"]))
        if reads_ours and "keep" not in alert and name not in WITHOUT_KEEP:
            fault(name, "a restart of what it looks at would end it: has no keep")
        for series, labels, _ in alert["fires"][0] + alert["silent"][0]:
            if known.get(series) is not None and not set(labels) <= known[series] | TARGET_LABELS:
                fault(name, f"its test gives {series} labels that it has not")


NAMED_COMMAND = re.compile(r"\brailgauge ([a-z][a-z-]*(?: [a-z][a-z-]*)?)((?: --[a-z-]+)*)")


def verbs_of(program):
    """Returns the verbs that `railgauge help` lists, as "runs show"."""
    listed = subprocess.run([program, "help"], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"^  ([a-z]+(?: [a-z][a-z-]*)?)(?= |$)", listed, re.MULTILINE))


@functools.cache
def flags_of(program, words):
    return subprocess.run([program, *words.split(), "--help"], check=True, capture_output=True, text=True).stdout


def check_commands(where, text, program, verbs):
    """Reports commands in `text` with an unknown verb or flag: people on call follow them at night."""
    for words, flags in NAMED_COMMAND.findall(text):
        if words not in verbs:
            fault(where, f"names railgauge {words}, which there is not")
            continue
        for flag in flags.split():
            if flag not in flags_of(program, words):
                fault(where, f"railgauge {words} has no flag {flag}")


def check_all_commands(program):
    verbs = verbs_of(program)
    for alert in alerts.ALERTS:
        for key in ("description", "means", "do"):
            check_commands(alert["name"], alert[key], program, verbs)
    for board in boards.BOARDS:
        for panel in board["panels"]:
            check_commands(f"{board['uid']}: {panel['title']}", panel["description"], program, verbs)


def check_page():
    """Reports boards and panels whose title and description the documentation lacks."""
    page = HERE.parent / "deploy/docs/reference/dashboards.md"
    if not page.exists():
        return fault(page.name, "is not there")
    shown = [(title, " ".join(text.split())) for title, text in re.findall(r"^##+ (.+)\n((?:.+\n)+)", page.read_text(), re.MULTILINE)]
    wanted = [(one["title"], one["description"]) for board in boards.BOARDS for one in [board, *board["panels"]]]
    for title, description in wanted:
        if (title, description) not in shown:
            fault(page.name, f"does not show {title}; deploy/e2e/monitoring.sh --render deploy/docs/reference/dashboards.md writes it anew")


def exposition(metrics):
    """Returns a page of /metrics with one sample of each of our metrics, for promtool's naming rules."""
    page = ""
    for one in metrics:
        page += f"# HELP {one['name']} {one['help']}\n# TYPE {one['name']} {one['type']}\n{one['name']} 1\n"
    return page


def promtool(program, metrics):
    folder = HERE / "prometheus"
    for words, page in ((["check", "rules", "records.yml", "alerts.yml"], None), (["test", "rules", "alerts_test.yml"], None), (["check", "metrics"], exposition(metrics))):
        done = subprocess.run([program, *words], cwd=folder, input=page, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            fault("promtool " + " ".join(words), (done.stdout + done.stderr).strip())


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit("lint.py: wrong words; lint.py RAILGAUGE [PROMTOOL]")
    metrics = catalog(sys.argv[1])
    known = known_series(metrics)
    paths = sorted((HERE / "grafana").glob("*.json"))
    if len(paths) != 5:
        fault("grafana", f"{len(paths)} dashboards, 5 were expected")
    made = {path.stem: json.loads(path.read_text()) for path in paths}
    for path in paths:
        check_board(path, made[path.stem], known, set(made))
    check_alerts(known)
    check_severities(metrics, made.values())
    check_all_commands(sys.argv[1])
    check_page()
    if len(sys.argv) == 3:
        promtool(sys.argv[2], metrics)
    print("\n".join(faults) if faults else f"{len(paths)} dashboards, {len(alerts.ALERTS)} alerts: nothing to say")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
