#!/usr/bin/env python3
"""Compares dashboards, rules and alerts with the metric catalog, which the program itself prints.

  dashboards/lint.py RAILGAUGE [PROMTOOL]   exit code 1 and a line for each fault
RAILGAUGE is the CLI's program; PROMTOOL's own checks run too where it is given: rules, their tests, names of metrics.
"""
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
PANEL_TYPES = {"stat", "timeseries", "table", "bargauge"}
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


def check_choice(where, query, known):
    found = re.fullmatch(r"label_values\((.+), (\w+)\)", query)
    if not found:
        return fault(where, f"{query} is not label_values(SERIES, LABEL)")
    check_expression(where, found[1], known)
    for name, _ in selectors(found[1]):
        if known.get(name) is not None and found[2] not in known[name] | TARGET_LABELS:
            fault(where, f"{name} has no label {found[2]}")


def check_board(path, board, known):
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
    for annotation in board["annotations"]["list"]:
        check_expression(f"{where}: {annotation['name']}", annotation["expr"], known)


def check_alerts(known):
    for name, expression, why in alerts.RECORDS:
        check_expression(name, expression, known)
        if not why:
            fault(name, "says not what it is for")
    page = (HERE.parent / "deploy/docs/reference/alerts.md").read_text()
    for alert in alerts.ALERTS:
        name = alert["name"]
        check_expression(name, alert["expr"], known)
        if f"\n## {name}\n" not in page:
            fault(name, "is not in deploy/docs/reference/alerts.md")
        for key in ("summary", "description", "means", "do", "wait", "fires", "silent"):
            if not alert.get(key):
                fault(name, f"has no {key}")
        reads_ours = any(known.get(found) is None or found.startswith("railgauge_") for found, _ in selectors(alert["expr"]))
        if reads_ours and "keep" not in alert and name not in WITHOUT_KEEP:
            fault(name, "a restart of what it looks at would end it: has no keep")
        if alert["severity"] not in ("page", "ticket"):
            fault(name, f"severity {alert['severity']} is neither page nor ticket")
        for series, labels, _ in alert["fires"][0] + alert["silent"][0]:
            if known.get(series) is not None and not set(labels) <= known[series] | TARGET_LABELS:
                fault(name, f"its test gives {series} labels that it has not")


NAMED_COMMAND = re.compile(r"\brailgauge ([a-z][a-z-]*(?: [a-z][a-z-]*)?)((?: --[a-z-]+)*)")


def verbs_of(program):
    """Returns the verbs that `railgauge help` lists, as "runs show"."""
    listed = subprocess.run([program, "help"], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"^  ([a-z]+(?: [a-z][a-z-]*)?)(?= |$)", listed, re.MULTILINE))


def check_commands(where, text, program, verbs):
    """Reports commands in `text` with an unknown verb or flag: people on call follow them at night."""
    for words, flags in NAMED_COMMAND.findall(text):
        if words not in verbs:
            fault(where, f"names railgauge {words}, which there is not")
            continue
        known = subprocess.run([program, *words.split(), "--help"], check=True, capture_output=True, text=True).stdout if flags else ""
        for flag in flags.split():
            if flag not in known:
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
    boards = sorted((HERE / "grafana").glob("*.json"))
    if len(boards) != 5:
        fault("grafana", f"{len(boards)} dashboards, 5 were expected")
    for path in boards:
        check_board(path, json.loads(path.read_text()), known)
    check_alerts(known)
    check_all_commands(sys.argv[1])
    check_page()
    if len(sys.argv) == 3:
        promtool(sys.argv[2], metrics)
    print("\n".join(faults) if faults else f"{len(boards)} dashboards, {len(alerts.ALERTS)} alerts: nothing to say")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
