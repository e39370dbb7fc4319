#!/usr/bin/env python3
"""Sends every query of every panel and alert to a live Prometheus, and shows each panel's answer as a table.

  dashboards/prove.py URL       exit code 1 when a query is an error, or lacks data that it must have
    --markdown FILE             also writes the tables as a page
    --without WORDS             what this place has not, by commas: line_rate (ports are software devices), tls,
                                deliveries, backups, collectives (no pairs by NCCL), repeats (nothing was measured twice)
    --seen FILE                 notes the panels' queries that had data; those of earlier calls stay in it
    --complete                  with --seen: a query that never had data is a fault
"""
import argparse
import json
import math
import pathlib
import re
import sys
import textwrap
import time
import urllib.error
import urllib.parse
import urllib.request

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "source"))
import alerts  # noqa: E402
import boards  # noqa: E402
from panels import UNKNOWN  # noqa: E402

# The values that Grafana substitutes for variables when everything is chosen.
VARIABLES = {"$__rate_interval": "1m", "$cluster": ".*", "$node": ".*", "$device": ".*", "$rail": ".*", "$kernel": ".*", "$part": "railgauge", "$before": "5s"}
HIDDEN = {"__name__", "job", "instance", "cluster"}
MOST_ROWS = 12
GRAPH_SECONDS, GRAPH_STEPS = 60, 12
TIMEOUT_SECONDS = 20
MAY_LACK = {"line_rate", "tls", "deliveries", "backups", "collectives", "repeats"}


def filled(expression):
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    return expression


def ask(url, expression, as_graph):
    """Returns the series of a query with their newest values, or an error as text."""
    words = {"query": filled(expression)}
    if as_graph:  # as Grafana asks for a graph
        now = time.time()
        words.update(start=now - GRAPH_SECONDS, end=now, step=GRAPH_SECONDS / GRAPH_STEPS)
    path = "query_range" if as_graph else "query"
    try:
        with urllib.request.urlopen(f"{url}/api/v1/{path}?{urllib.parse.urlencode(words)}", timeout=TIMEOUT_SECONDS) as answer:
            data = json.load(answer)["data"]
    except urllib.error.HTTPError as error:
        return json.load(error).get("error", str(error))
    if data["resultType"] == "scalar":
        return [{"metric": {}, "value": data["result"]}]
    if as_graph:
        return [{"metric": one["metric"], "value": one["values"][-1]} for one in data["result"]]
    return data["result"]


def scaled(value, steps, suffix):
    for limit, word in steps:
        if abs(value) >= limit:
            return f"{value / limit:.3g} {word}{suffix}"
    return f"{value:.3g} {suffix}".strip()


def shown(value, unit):
    value = float(value)
    if math.isnan(value):
        return "no value"
    if unit == "percentunit":
        return f"{value * 100:.1f} %"
    if unit in ("Bps", "bps", "bytes"):
        return scaled(value, ((1e9, "G"), (1e6, "M"), (1e3, "k")), {"Bps": "B/s", "bps": "b/s", "bytes": "B"}[unit])
    if unit == "s":
        return f"{value:.4g} s" if value >= 1 or value == 0 else scaled(value * 1e9, ((1e6, "m"), (1e3, "u"), (1, "n")), "s")
    if unit == "dateTimeAsIso":
        return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(value / 1000))
    return f"{value:.6g}"


def unit_of(panel, ref):
    """Returns the unit of a query: the panel's, or its own where an override says so."""
    for override in panel["fieldConfig"]["overrides"]:
        if override["matcher"] == {"id": "byFrameRefID", "options": ref}:
            return next(item["value"] for item in override["properties"] if item["id"] == "unit")
    return panel["fieldConfig"]["defaults"]["unit"]


def worded(panel, value, unit):
    """Returns the value as the panel shows it: its mapping's word, else the value with its unit."""
    for one in panel["fieldConfig"]["defaults"].get("mappings", []):
        found = one["options"].get(f"{float(value):g}")
        if found and found.get("text"):
            return found["text"]
    return shown(value, unit)


def legend_of(labels, legend):
    """Returns the legend that Grafana writes beside a line; without one, the labels."""
    if legend:
        return " ".join(re.sub(r"\{\{(\w+)\}\}", lambda found: labels.get(found[1], ""), legend).split())
    return ", ".join(f"{key}={value}" for key, value in sorted(labels.items()) if key not in HIDDEN and value) or "all"


def value_name(panel):
    """Returns the heading of a table's values, or "" where the table hides them."""
    organize = panel["transformations"][0]["options"]
    return "" if organize["excludeByName"].get("Value") else organize["renameByName"]["Value"]


def columns_of(panel, answers):
    """Returns headings and rows: a table has a column for each label, other panels have legend and value."""
    unit = panel["fieldConfig"]["defaults"]["unit"]
    if panel["type"] != "table":
        rows = [[legend_of(one["metric"], target["legendFormat"]), worded(panel, one["value"][1], unit_of(panel, target["refId"]))] for target, series in answers for one in series]
        return ["series", "value"], rows
    series = [one for _, found in answers for one in found]
    labels = sorted({key for one in series for key in one["metric"] if key not in HIDDEN})
    value = value_name(panel)
    rows = [[one["metric"].get(label, "") for label in labels] + ([shown(one["value"][1], unit)] if value else []) for one in series]
    return labels + ([value] if value else []), rows


def markdown(panel, answers):
    text = f"\n### {panel['title']}\n{textwrap.fill(panel['description'], 100)}\n\n"
    headings, rows = columns_of(panel, answers)
    if not rows:
        return text + "Nothing to show.\n"
    has_value = panel["type"] != "table" or value_name(panel)
    text += f"| {' | '.join(headings)} |\n|" + "---|" * (len(headings) - 1) + ("---:|" if has_value else "---|") + "\n"
    text += "".join(f"| {' | '.join(row)} |\n" for row in rows[:MOST_ROWS])
    return text + (f"\n{len(rows) - MOST_ROWS} more.\n" if len(rows) > MOST_ROWS else "")


HEAD = """# Dashboards as tables

Each panel's data, as Prometheus answered its queries. `deploy/e2e/monitoring.sh --render
deploy/docs/reference/dashboards.md` starts a controller, three agents and Prometheus on one host
and writes this page. Figures are synthetic: the agents' NICs and GPUs are fakes.

Debian has no Grafana, so no Grafana has read the boards here. Prometheus itself proves their
queries, `dashboards/schema_test.sh` compares each file with the types that Grafana publishes, and
`dashboards/lint.py` with the rules of the boards. One finding was made up, a port was taken down, a
node was busy and no receiver took a report, so that every panel has something to show.
"""


def has_data(answer):
    """A stat's query that gives UNKNOWN found nothing."""
    return any(one["metric"] or float(one["value"][1]) != UNKNOWN for one in answer)


class Proof:
    def __init__(self, url, lacking=(), seen=()):
        self.url, self.queries, self.faults = url, 0, []
        self.lacking = lacking
        self.asked, self.seen = [], set(seen)

    def series(self, where, expression, must, as_graph=False):
        self.queries += 1
        answer = ask(self.url, expression, as_graph)
        if isinstance(answer, str):
            self.faults.append(f"{where}: {answer}: {filled(expression)}")
            return []
        if must and must not in self.lacking and not has_data(answer):
            self.faults.append(f"{where}: no data: {filled(expression)}")
        return answer

    def panel(self, uid, panel):
        answers = []
        for target in panel["targets"]:
            where = f"{uid}: {panel['title']}"
            answer = self.series(where, target["expr"], target["_must"], target["range"])
            if target["_must"] not in self.lacking:
                self.asked.append(f"{where}: {target['expr']}")
            if has_data(answer):
                self.seen.add(f"{where}: {target['expr']}")
            answers.append((target, answer))
        return answers

    def board(self, board):
        page = f"\n## {board['title']}\n{board['description']}\n"
        for panel in board["panels"]:
            page += markdown(panel, self.panel(board["uid"], panel))
        for one in board["templating"]["list"]:
            if "_source" in one:  # the query of a variable's choices
                self.series(f"{board['uid']}: variable {one['name']}", f"count by ({one['name']}) ({one['_source']})", True)
        for annotation in board["annotations"]["list"]:
            self.series(f"{board['uid']}: {annotation['name']}", annotation["expr"], False, True)
        return page


def main():
    words = argparse.ArgumentParser()
    words.add_argument("url")
    words.add_argument("--markdown", type=pathlib.Path)
    words.add_argument("--without", default="")
    words.add_argument("--seen", type=pathlib.Path)
    words.add_argument("--complete", action="store_true")
    words = words.parse_args()
    seen = json.loads(words.seen.read_text()) if words.seen and words.seen.exists() else []
    lacking = set(words.without.split(",")) - {""}
    if not lacking <= MAY_LACK:
        sys.exit(f"prove.py: --without {words.without}: allowed: {' '.join(sorted(MAY_LACK))}")
    proof = Proof(words.url.rstrip("/"), lacking, seen)
    page = "".join(proof.board(board) for board in boards.BOARDS)
    for name, expression, _ in alerts.RECORDS:
        proof.series(name, expression, False)
    for alert in alerts.ALERTS:
        proof.series(alert["name"], alert["expr"], False)
        if "names" in alert:
            proof.series(f"{alert['name']}: names", alert["names"]["query"], False)
    if words.markdown:
        words.markdown.write_text(HEAD + page)
    if words.seen:
        words.seen.write_text(json.dumps(sorted(proof.seen)))
    if words.complete:
        proof.faults += [f"{one}: never had data" for one in proof.asked if one not in proof.seen]
    for one in proof.faults:
        print(one)
    print(f"{proof.queries} queries, {len(proof.faults)} faults")
    sys.exit(1 if proof.faults or not proof.queries else 0)


if __name__ == "__main__":
    main()
