"""The board of an archive: all sites in one PostgreSQL database, by Grafana's PostgreSQL source.

Each query reads the views of controller/mirror/sql/views.sql. controller/mirror/board_test.cc runs every one of them
against the data of two sites.
"""
import panels

DATASOURCE = {"type": "grafana-postgresql-datasource", "uid": "${datasource}"}
SITES = "site IN (${site:sqlstring})"


def target(sql, form):
    return {"refId": "A", "datasource": DATASOURCE, "editorMode": "code", "rawQuery": True, "format": form, "rawSql": sql}


def panel(kind, title, description, sql, width, unit="short", form="table"):
    return {"type": kind, "title": title, "description": description, "datasource": DATASOURCE, "targets": [target(sql, form)],
            "fieldConfig": {"defaults": {"unit": unit}, "overrides": [panels.coloured_states()] if kind == "table" else []},
            "options": {"legend": {"displayMode": "table", "placement": "bottom", "showLegend": True}} if kind == "timeseries" else {},
            "gridPos": {"w": width, "h": 8}}


def table(title, description, sql, width=12):
    return panel("table", title, description, sql, width)


def graph(title, description, sql, width=12, unit="short"):
    return panel("timeseries", title, description, sql, width, unit, "time_series")


def variable(name, label, sql, several):
    return {"type": "query", "name": name, "label": label, "datasource": DATASOURCE, "query": sql, "definition": sql, "refresh": 2, "sort": 1,
            "multi": several, "includeAll": several, "current": {"text": "All", "value": "$__all"} if several else {}}


PANELS = [
    table("Sites", "Each site: when the archive last had all of it, and how much it lacks.",
          f"SELECT site, synthetic, nodes, last_run_at, even_at, seconds_since_even, waiting FROM railgauge.sites WHERE {SITES} ORDER BY site"),
    graph("Runs a day", "Runs that ended, by site and outcome.",
          "SELECT date_trunc('day', created_at) AS time, site || ' ' || outcome AS metric, count(*) AS value FROM railgauge.runs "
          f"WHERE $__timeFilter(created_at) AND {SITES} AND state = 'ended' GROUP BY 1, 2 ORDER BY 1"),
    graph("The figure", "Median of the chosen kernel and metric, day by day and site by site.",
          "SELECT date_trunc('day', measured_at) AS time, site AS metric, percentile_cont(0.5) WITHIN GROUP (ORDER BY headline) AS value "
          f"FROM railgauge.points WHERE $__timeFilter(measured_at) AND {SITES} AND kernel = '$kernel' AND metric = '$metric' "
          "AND message_bytes = $message_bytes GROUP BY 1, 2 ORDER BY 1"),
    graph("Points a day", "Points that arrived, by site.",
          f"SELECT date_trunc('day', measured_at) AS time, site AS metric, count(*) AS value FROM railgauge.points WHERE $__timeFilter(measured_at) AND {SITES} "
          "GROUP BY 1, 2 ORDER BY 1"),
    table("Newest runs", "The newest runs of all sites.",
          f"SELECT site, synthetic, run_id, suite, created_at, outcome, findings_new, reason FROM railgauge.runs WHERE {SITES} ORDER BY created_at DESC LIMIT 50"),
    table("Open findings", "Findings that are neither fixed nor false alarms.",
          f"SELECT site, synthetic, finding_id, state, severity, suspect, node, changed_at, summary FROM railgauge.findings WHERE {SITES} AND state NOT IN ('fixed', 'false', 'rolled_back') "
          "ORDER BY changed_at DESC LIMIT 100"),
    table("Tasks", "How the tasks of the chosen time ended, by site and kernel.",
          "SELECT site, kernel, outcome, sum(tasks) AS tasks FROM railgauge.run_tasks "
          f"WHERE $__timeFilter(created_at) AND {SITES} GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"),
    table("Verdicts", "Upgrades and what was said of them.",
          f"SELECT site, upgrade_id, suite, state, verdict, kind, judged_at, reason FROM railgauge.verdicts WHERE {SITES} ORDER BY created_at DESC LIMIT 50"),
    graph("Events a day", "Events by site and kind.",
          f"SELECT date_trunc('day', at) AS time, site || ' ' || kind AS metric, count(*) AS value FROM railgauge.events WHERE $__timeFilter(at) AND {SITES} "
          "GROUP BY 1, 2 ORDER BY 1"),
    table("Matrices", "Pair matrices of the newest runs; railgauge --archive ADDRESS runs matrix RUN shows one.",
          "SELECT site, run_id, created_at, rail, kernel, metric, message_bytes, endpoint_count FROM railgauge.matrices "
          f"WHERE {SITES} ORDER BY created_at DESC, rail LIMIT 100"),
    table("Kernels of Linux", "Nodes by site and version of the Linux kernel.",
          f"SELECT site, versions::jsonb->>'linux_kernel' AS linux_kernel, count(*) AS nodes FROM railgauge.nodes WHERE {SITES} GROUP BY 1, 2 ORDER BY 1, 2"),
]

VARIABLES = [
    {"type": "datasource", "name": "datasource", "label": "Archive", "query": "grafana-postgresql-datasource", "refresh": 1},
    variable("site", "Site", "SELECT name FROM railgauge.site ORDER BY name", True),
    variable("kernel", "Kernel", "SELECT DISTINCT kernel FROM railgauge.series ORDER BY 1", False),
    variable("metric", "Metric", "SELECT DISTINCT metric FROM railgauge.series WHERE kernel = '$kernel' ORDER BY 1", False),
    variable("message_bytes", "Size", "SELECT DISTINCT message_bytes FROM railgauge.series WHERE kernel = '$kernel' AND metric = '$metric' ORDER BY 1", False),
]


def placed(all_panels):
    """Returns the panels two in a row, with their numbers."""
    return [{**one, "id": place + 1, "gridPos": {**one["gridPos"], "x": 12 * (place % 2), "y": 8 * (place // 2)}} for place, one in enumerate(all_panels)]


BOARD = {"uid": "railgauge-archive", "title": "Railgauge archive: all sites", "tags": ["railgauge"], "timezone": "utc", "schemaVersion": 39, "refresh": "1m",
         "time": {"from": "now-30d", "to": "now"}, "templating": {"list": VARIABLES}, "panels": placed(PANELS)}
