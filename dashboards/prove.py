#!/usr/bin/env python3
"""Sends every query of every panel and alert to a live Prometheus, and shows each panel's answer as a table.

  dashboards/prove.py URL       exit code 1 when a query is an error, or lacks data that it must have
    --markdown FILE             also writes the tables as a page
    --no-line-rate              the ports are software devices, which have no line rate
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

# The values that Grafana substitutes for variables when everything is chosen.
VARIABLES = {"$__rate_interval": "1m", "$cluster": ".*", "$node": ".*", "$device": ".*", "$rail": ".*", "$kernel": ".*", "$part": "railgauge", "$before": "5s"}
HIDDEN = {"__name__", "job", "instance", "cluster"}
MOST_ROWS = 12
GRAPH_SECONDS, GRAPH_STEPS = 60, 12
TIMEOUT_SECONDS = 20


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
    if unit in ("Bps", "bytes"):
        return scaled(value, ((1e9, "G"), (1e6, "M"), (1e3, "k")), "B/s" if unit == "Bps" else "B")
    if unit == "s":
        return f"{value:.4g} s" if value >= 1 or value == 0 else scaled(value * 1e9, ((1e6, "m"), (1e3, "u"), (1, "n")), "s")
    if unit == "dateTimeAsIso":
        return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(value / 1000))
    return f"{value:.6g}"


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
        rows = [[legend_of(one["metric"], legend), shown(one["value"][1], unit)] for legend, series in answers for one in series]
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
queries, and `dashboards/lint.py` the shape of each file that Grafana documents. One finding was
made up, a port was taken down and a node was busy, so that every panel has something to show.
"""


class Proof:
    def __init__(self, url, has_line_rate=True, seen=()):
        self.url, self.queries, self.faults = url, 0, []
        self.has_line_rate = has_line_rate
        self.asked, self.seen = [], set(seen)

    def series(self, where, expression, must, as_graph=False):
        self.queries += 1
        answer = ask(self.url, expression, as_graph)
        if isinstance(answer, str):
            self.faults.append(f"{where}: {answer}: {filled(expression)}")
            return []
        if must == "line_rate":
            must = self.has_line_rate
        if must and not answer:
            self.faults.append(f"{where}: no data: {filled(expression)}")
        return answer

    def panel(self, uid, panel):
        answers = []
        for target in panel["targets"]:
            where = f"{uid}: {panel['title']}"
            answer = self.series(where, target["expr"], target["_must"], target["range"])
            self.asked.append(f"{where}: {target['expr']}")
            if answer:
                self.seen.add(self.asked[-1])
            answers.append((target["legendFormat"], answer))
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
    words.add_argument("--no-line-rate", action="store_true")
    words.add_argument("--seen", type=pathlib.Path)
    words.add_argument("--complete", action="store_true")
    words = words.parse_args()
    seen = json.loads(words.seen.read_text()) if words.seen and words.seen.exists() else []
    proof = Proof(words.url.rstrip("/"), not words.no_line_rate, seen)
    page = "".join(proof.board(board) for board in boards.BOARDS)
    for name, expression, _ in alerts.RECORDS:
        proof.series(name, expression, False)
    for alert in alerts.ALERTS:
        proof.series(alert["name"], alert["expr"], False)
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
