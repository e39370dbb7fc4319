#!/usr/bin/env python3
"""Asks a live Prometheus every query of every panel and alert, and shows each panel's answer as a table.

  dashboards/prove.py URL       exit code 1 when a query is an error, or lacks data that it must have
    --markdown FILE             also writes the tables as a page
    --no-line-rate              the ports are software devices, which have none
"""
import argparse
import json
import math
import pathlib
import sys
import urllib.error
import urllib.parse
import urllib.request

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "source"))
import alerts  # noqa: E402
import boards  # noqa: E402

# What Grafana puts in for variables when everything is chosen.
VARIABLES = {"$__rate_interval": "1m", "$cluster": ".*", "$node": ".*", "$device": ".*", "$rail": ".*", "$kernel": ".*", "$part": "railgauge", "$before": "5s"}
HIDDEN = {"__name__", "job", "instance", "cluster"}
MOST_ROWS = 12
TIMEOUT_SECONDS = 20


def filled(expression):
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    return expression


def ask(url, expression):
    """The series of an instant query, or an error as text."""
    query = urllib.parse.urlencode({"query": filled(expression)})
    try:
        with urllib.request.urlopen(f"{url}/api/v1/query?{query}", timeout=TIMEOUT_SECONDS) as answer:
            data = json.load(answer)["data"]
    except urllib.error.HTTPError as error:
        return json.load(error).get("error", str(error))
    if data["resultType"] == "scalar":
        return [{"metric": {}, "value": data["result"]}]
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
    return f"{value:.6g}"


def rows_of(series, unit):
    rows = []
    for one in series:
        labels = ", ".join(f"{key}={value}" for key, value in sorted(one["metric"].items()) if key not in HIDDEN and value)
        rows.append((labels or "all", shown(one["value"][1], unit)))
    return rows


def markdown(panel, rows):
    text = f"\n### {panel['title']}\n{panel['description']}\n\n"
    if not rows:
        return text + "Nothing to show.\n"
    text += "| series | value |\n|---|---:|\n"
    text += "".join(f"| {labels} | {value} |\n" for labels, value in rows[:MOST_ROWS])
    return text + (f"\n{len(rows) - MOST_ROWS} more.\n" if len(rows) > MOST_ROWS else "")


HEAD = """# Dashboards as tables

Each panel's data, as Prometheus answered its queries: `deploy/e2e/monitoring.sh --render deploy/docs/dashboards.md` starts a controller,
three agents and Prometheus on one host and writes this page. Figures are synthetic: the agents' NICs and GPUs are fakes.
Grafana is in no Debian release, so no Grafana has read the boards here: what is proven are their queries, by Prometheus itself, and
that each file has the shape that Grafana documents (`dashboards/lint.py`).
"""


class Proof:
    def __init__(self, url, has_line_rate=True):
        self.url, self.queries, self.faults = url, 0, []
        self.has_line_rate = has_line_rate

    def series(self, where, expression, must):
        self.queries += 1
        answer = ask(self.url, expression)
        if isinstance(answer, str):
            self.faults.append(f"{where}: {answer}: {filled(expression)}")
            return []
        if must == "line_rate":
            must = self.has_line_rate
        if must and not answer:
            self.faults.append(f"{where}: no data: {filled(expression)}")
        return answer

    def board(self, board):
        page = f"\n## {board['title']}\n{board['description']}\n"
        for panel in board["panels"]:
            rows = []
            for target in panel["targets"]:
                answer = self.series(f"{board['uid']}: {panel['title']}", target["expr"], target["_must"])
                rows += rows_of(answer, panel["fieldConfig"]["defaults"]["unit"])
            page += markdown(panel, rows)
        for one in board["templating"]["list"]:
            if "_source" in one:  # what there is to choose from
                self.series(f"{board['uid']}: variable {one['name']}", f"count by ({one['name']}) ({one['_source']})", True)
        for annotation in board["annotations"]["list"]:
            self.series(f"{board['uid']}: {annotation['name']}", annotation["expr"], False)
        return page


def main():
    words = argparse.ArgumentParser()
    words.add_argument("url")
    words.add_argument("--markdown", type=pathlib.Path)
    words.add_argument("--no-line-rate", action="store_true")
    words = words.parse_args()
    proof = Proof(words.url.rstrip("/"), not words.no_line_rate)
    page = "".join(proof.board(board) for board in boards.BOARDS)
    for name, expression, _ in alerts.RECORDS:
        proof.series(name, expression, False)
    for alert in alerts.ALERTS:
        proof.series(alert["name"], alert["expr"], False)
    if words.markdown:
        words.markdown.write_text(HEAD + page)
    for one in proof.faults:
        print(one)
    print(f"{proof.queries} queries, {len(proof.faults)} faults")
    sys.exit(1 if proof.faults or not proof.queries else 0)


if __name__ == "__main__":
    main()
