#!/usr/bin/env python3
"""Writes dashboards/prometheus, dashboards/grafana, dashboards/postgres and deploy/docs/reference/alerts.md from dashboards/source.

  dashboards/generate.py                             write them
  dashboards/generate.py --check                     report files that differ from the source; exit code 1 when any does
  dashboards/generate.py --console URL --to FOLDER   write the boards alone, with links to the console, into a folder
Needs only the standard library.
"""
import argparse
import json
import pathlib
import re
import sys
import textwrap

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "source"))
import alerts  # noqa: E402
import archive  # noqa: E402
import boards  # noqa: E402
import panels  # noqa: E402

MADE = "# Made by dashboards/generate.py from dashboards/source: change it there.\n"
PAGE = "deploy/docs/reference/alerts.md"
# Prometheus' external label `runbook_base` is the address of the page of alerts; without it the path in the source tree.
RUNBOOK = f"{{{{ with $externalLabels.runbook_base }}}}{{{{ . }}}}{{{{ else }}}}{PAGE}{{{{ end }}}}#"


def quoted(text):
    return json.dumps(text, ensure_ascii=False)


def recording_rules():
    text = MADE + "groups:\n  - name: railgauge-records\n    interval: 30s\n    rules:\n"
    for name, expr, why in alerts.RECORDS:
        text += f"      # {why}\n      - record: {name}\n        expr: {quoted(expr)}\n"
    return text


def named(names):
    """Returns the template of the names of what an alert counts. A query is of all clusters, an alert of one."""
    shared = [f"(eq .Labels.{label} $labels.{label})" for label in names["by"]]
    condition = shared[0][1:-1] if len(shared) == 1 else "and " + " ".join(shared)
    name = "".join(f"{{{{ .Labels.{part} }}}}" if part.isidentifier() else part for part in names["label"])
    order = "node" if "node" in names["label"] else names["label"][0]
    return f"Among them:{{{{ range query `{names['query']}` | sortByLabel \"{order}\" }}}}{{{{ if {condition} }}}} {name}{{{{ end }}}}{{{{ end }}}}"


# Words before an alert of a cluster whose data is of a modelled site, also while its controller is away. Each alert is
# of one cluster, or of none.
SYNTHETIC = "SYNTHETIC: "
IF_SYNTHETIC = ("{{ range query `max by (cluster) (last_over_time(railgauge_data_synthetic[1h])) == 1` }}{{ if eq .Labels.cluster $labels.cluster }}"
                f"{SYNTHETIC}{{{{ end }}}}{{{{ end }}}}")


def annotations(alert):
    made = {"summary": IF_SYNTHETIC + alert["summary"], "description": alert["description"]}
    if "names" in alert:
        made["named"] = named(alert["names"])
    return {**made, "runbook_url": RUNBOOK + alert["name"].lower()}


def alert_rules():
    text = MADE + "groups:\n  - name: railgauge-alerts\n    interval: 30s\n    rules:\n"
    for alert in alerts.ALERTS:
        text += f"      - alert: {alert['name']}\n        expr: {quoted(alert['expr'])}\n        for: {alert['wait']}\n"
        if "keep" in alert:
            text += f"        keep_firing_for: {alert['keep']}\n"
        text += f"        labels:\n          severity: {alert['severity']}\n        annotations:\n"
        for key, value in annotations(alert).items():
            text += f"          {key}: {quoted(value)}\n"
    return text


def selector(name, labels):
    inside = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
    return f"{name}{{{inside}}}"


def expected(alert, value, labels, names=None, runbook=PAGE, summary=""):
    """Returns the alert as it fires: labels and annotations with value, labels and names filled in. `summary`: its begin."""
    shown = {"severity": alert["severity"], "cluster": "c", **labels}
    shown = {key: item for key, item in shown.items() if item is not None}

    def filled(text):
        text = text.replace("{{ $value }}", value or "")
        return re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda found: shown[found[1]], text)

    text = "          - exp_labels:\n"
    for key, item in shown.items():
        text += f"              {key}: {quoted(item)}\n"
    text += "            exp_annotations:\n"
    made = {**annotations(alert), "summary": summary + alert["summary"], "runbook_url": f"{runbook}#{alert['name'].lower()}"}
    if "named" in made:
        given = alert["named"] if names is None else names
        made["named"] = "Among them:" + (f" {given}" if given else "")
    for key, item in made.items():
        text += f"              {key}: {quoted(filled(item))}\n"
    return text


def rule_case(title, alert, series, at, expectation, runbook=None):
    text = f"  - name: {quoted(title)}\n    interval: 1m\n"
    if runbook:
        text += f"    external_labels:\n      runbook_base: {quoted(runbook)}\n"
    text += "    input_series:\n"
    for name, labels, values in series:
        text += f"      - series: {quoted(selector(name, labels))}\n        values: {quoted(values)}\n"
    text += f"    alert_rule_test:\n      - eval_time: {at}\n        alertname: {alert['name']}\n"
    return text + ("        exp_alerts:\n" + expectation if expectation else "        exp_alerts: []\n")


def cut(values, count):
    """Returns the first `count` samples of a series in promtool's notation; the series is stale after them."""
    kept = []
    for token in values.split():
        head, _, times = token.partition("x")
        samples = 1 if not times else int(times) + (0 if head == "_" else 1)
        if samples >= count:
            last = count if head == "_" else count - 1
            kept.append(f"{head}x{last}")
            break
        kept.append(token)
        count -= samples
    return " ".join(kept) + " stale"


def restart_case(alert):
    """Returns a test in which the alert fires, all its series are absent for a restart, and it keeps firing."""
    series, at, value, *labels = alert["fires"]
    minutes = int(at.removesuffix("m"))
    gone = [(name, shown, cut(values, minutes + 1)) for name, shown, values in series]
    expectation = expected(alert, value, labels[0] if labels else alert.get("labels", {}))
    return rule_case(alert["name"] + ": a restart does not end it", alert, gone, f"{minutes + 5}m", expectation)


def annotation_tests():
    """Returns tests that an epoch's annotation shows a changed version or setting, and no new node."""
    text = ""
    for title, series, expression, want in boards.ANNOTATION_CASES:
        text += f"  - name: {quoted(title)}\n    interval: 1m\n    input_series:\n"
        for name, labels, values in series:
            text += f"      - series: {quoted(selector(name, labels))}\n        values: {quoted(values)}\n"
        everywhere = expression.replace("$cluster", ".*")
        text += f"    promql_expr_test:\n      - expr: {quoted(everywhere)}\n        eval_time: 20m\n"
        if not want:
            text += "        exp_samples: []\n"
        for labels, value in want:
            text += f"        exp_samples:\n          - labels: {quoted(selector('', labels))}\n            value: {value}\n"
    return text


def rule_tests():
    text = MADE + "rule_files: [records.yml, alerts.yml]\nevaluation_interval: 1m\n"
    # Else promtool takes the groups in an order of chance.
    text += "group_eval_order: [railgauge-records, railgauge-alerts]\ntests:\n"
    by_name = {alert["name"]: alert for alert in alerts.ALERTS}
    for alert in alerts.ALERTS:
        series, at, value, *labels = alert["fires"]
        text += rule_case(alert["name"] + " fires", alert, series, at, expected(alert, value, labels[0] if labels else alert.get("labels", {})))
        text += rule_case(alert["name"] + " is silent", alert, *alert["silent"], "")
        if "keep" in alert:
            text += restart_case(alert)
    for case in alerts.EXTRA:
        alert = by_name[case["alert"]]
        runbook = case.get("runbook", PAGE)
        summary = SYNTHETIC if case.get("synthetic") else ""
        expectation = expected(alert, case.get("value"), case.get("labels", {}), case.get("named"), runbook, summary) if case["fires"] else ""
        for value, labels, names in case.get("also", []):
            expectation += expected(alert, value, labels, names, runbook)
        text += rule_case(f"{case['alert']}: {case['name']}", alert, case["series"], case["at"], expectation, case.get("runbook"))
    return text + annotation_tests()


def wrapped(text):
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def alert_page():
    text = ("# Alerts\n\n`dashboards/generate.py` renders this page, the rules (`dashboards/prometheus/alerts.yml`) and their\n"
            "tests from `dashboards/source/alerts.py`.\n\n"
            "An alert is an event of the whole fleet, not a series for each node. Its text has the command\n"
            "that lists the nodes, its annotation `named` the worst five nodes, ports or suites. `critical`\n"
            "wakes a person, `warning` waits for the day.\n\n"
            "A node whose marker file reports maintenance (`--busy-marker`) is left out. A node that left\n"
            "during maintenance is left out for a day. Without the marker a node counts at once. Regular\n"
            "maintenance windows are in `deploy/monitoring/alertmanager.yml`.\n\n"
            "The recording rules add at most 26 series for a node of 8 ports (260,000 at 10,000 nodes) to those\n"
            "of the agents ([metrics](metrics.md)), and series for counters that just grew.\n\n"
            "The rules need Prometheus 2.42 (`keep_firing_for`). Their `runbook_url` is this page at the address\n"
            "of Prometheus' external label `runbook_base`, else its path in the source tree. In the\n"
            "configuration of Prometheus, which keeps the label to itself:\n\n"
            "```\nglobal:\n  external_labels: {runbook_base: \"https://docs.example/railgauge/alerts.md\"}\n"
            "alerting:\n  alert_relabel_configs: [{action: labeldrop, regex: runbook_base}]\n```\n")
    for alert in alerts.ALERTS:
        text += (f"\n## {alert['name']}\n{alert['severity']}, after {alert['wait']}"
                 + (f", kept for {alert['keep']} once its cause is not seen" if "keep" in alert else "")
                 + f".\n\n{wrapped(alert['means'])}\n\n{wrapped(alert['do'])}\n\n```\n{alert['expr']}\n```\n")
    return text


def without_private(value):
    """Returns `value` without keys that begin with "_", at any depth."""
    if isinstance(value, dict):
        return {key: without_private(item) for key, item in value.items() if not key.startswith("_")}
    return [without_private(item) for item in value] if isinstance(value, list) else value


def outputs():
    files = {
        HERE / "prometheus/records.yml": recording_rules(),
        HERE / "prometheus/alerts.yml": alert_rules(),
        HERE / "prometheus/alerts_test.yml": rule_tests(),
        HERE.parent / "deploy/docs/reference/alerts.md": alert_page(),
    }
    for board in boards.BOARDS:
        files[HERE / f"grafana/{board['uid']}.json"] = board_text(board)
    files[HERE / f"postgres/{archive.BOARD['uid']}.json"] = board_text(archive.BOARD)
    return files


def board_text(board):
    return json.dumps(without_private(board), indent=1, ensure_ascii=False) + "\n"


def write_for_site(url, folder):
    """Writes the boards with links to the console at `url` into `folder`."""
    if not re.fullmatch(r"https?://[^\s\"#?]+", url):
        sys.exit(f"generate.py: --console {url}: this is no address such as https://railgauge.example:7480")
    folder.mkdir(parents=True, exist_ok=True)
    for board in boards.BOARDS:
        (folder / f"{board['uid']}.json").write_text(board_text(panels.with_console(board, url.rstrip("/"))))


def main():
    words = argparse.ArgumentParser(prog="generate.py")
    words.add_argument("--check", action="store_true")
    words.add_argument("--console", metavar="URL")
    words.add_argument("--to", metavar="FOLDER", type=pathlib.Path)
    words = words.parse_args()
    if (words.console is None) != (words.to is None) or (words.check and words.to):
        sys.exit("generate.py: --console URL and --to FOLDER go together, without --check")
    if words.to:
        return write_for_site(words.console, words.to)
    stale = 0
    for path, text in outputs().items():
        if words.check:
            if not path.exists() or path.read_text() != text:
                print(f"{path.relative_to(HERE.parent)}: is not what dashboards/source says; run dashboards/generate.py")
                stale = 1
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    sys.exit(stale)


main()
