"""The parts of every dashboard: panels, variables and their places, as Grafana's JSON has them.

Keys that begin with "_" are not written: `_must` marks a query that has data wherever something was measured
("line_rate": on ports with a line rate, which software devices lack).
"""

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
WIDTH = 24


def query(expr, legend="", must=True):
    return {"expr": expr, "legendFormat": legend, "_must": must}


def maybe(expr, legend=""):
    """Returns a query that may be empty: no finding, no lost node, no GPU."""
    return query(expr, legend, must=False)


def panel(kind, title, description, unit, queries, width=8, height=8, **more):
    instant = kind in ("stat", "table", "bargauge")
    targets = []
    for index, one in enumerate(queries if isinstance(queries, list) else [queries]):
        targets.append({**one, "refId": chr(ord("A") + index), "datasource": DATASOURCE, "instant": instant, "range": not instant,
                        "format": "table" if kind == "table" else "time_series"})
    defaults = {"unit": unit, "min": 0} if kind != "table" else {"unit": unit}
    made = {"type": kind, "title": title, "description": description, "datasource": DATASOURCE, "targets": targets,
            "fieldConfig": {"defaults": {**defaults, **more.pop("defaults", {})}, "overrides": more.pop("overrides", [])},
            "options": more.pop("options", {}), "gridPos": {"w": width, "h": height}}
    if kind == "table":
        # Hides the query's time and replaces Grafana's own name of the value. A table that shows labels only hides the
        # value too.
        value = more.pop("value", None)
        hidden = ["Time", "__name__", "job", "instance"] + ([] if value else ["Value"])
        made["transformations"] = [{"id": "organize", "options": {"excludeByName": {name: True for name in hidden}, "indexByName": {},
                                                                  "renameByName": {"Value": value} if value else {}}}]
    assert not more, more
    return made


def stat(title, description, queries, unit="short", bad_above=None, **more):
    steps = [{"color": "green", "value": None}]
    if bad_above is not None:
        steps.append({"color": "red", "value": bad_above})
    return panel("stat", title, description, unit, queries, width=4, height=4,
                 defaults={"thresholds": {"mode": "absolute", "steps": steps}},
                 options={"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "value", "textMode": "auto"}, **more)


def graph(title, description, queries, unit="short", width=8, dashed=(), **more):
    """`dashed`: legends of lines that are limits, not measurements."""
    overrides = [{"matcher": {"id": "byName", "options": name},
                  "properties": [{"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [8, 8]}}, {"id": "color", "value": {"mode": "fixed", "fixedColor": "red"}}]}
                 for name in dashed]
    return panel("timeseries", title, description, unit, queries, width=width, overrides=overrides,
                 options={"legend": {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull"]}, "tooltip": {"mode": "multi", "sort": "desc"}}, **more)


def table(title, description, queries, unit="short", width=12, value=None, **more):
    """`value`: the heading of the column of values; None hides it, where every value is 1."""
    return panel("table", title, description, unit, queries, width=width, value=value, **more)


def bars(title, description, queries, unit="short", width=8, **more):
    return panel("bargauge", title, description, unit, queries, width=width, options={"orientation": "horizontal", "displayMode": "basic"}, **more)


def choice(name, label, source, several=True):
    return {"_source": source, "name": name, "label": label, "type": "query", "datasource": DATASOURCE, "refresh": 2, "sort": 1,
            "query": {"query": f"label_values({source}, {name})", "refId": name}, "multi": several, "includeAll": several,
            **({"allValue": ".*", "current": {"text": "All", "value": "$__all"}} if several else {})}


def fixed(name, label, values):
    return {"name": name, "label": label, "type": "custom", "query": ",".join(values),
            "options": [{"text": value, "value": value, "selected": value == values[0]} for value in values],
            "current": {"text": values[0], "value": values[0]}}


# Variables in the order in which people narrow their choice.
VARIABLES = [
    {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "refresh": 1, "current": {"text": "default", "value": "default"}},
    choice("cluster", "Cluster", "railgauge_controller_info"),
    choice("node", "Node", 'railgauge_agent_info{cluster=~"$cluster"}'),
    choice("device", "Device", 'railgauge_link_up{cluster=~"$cluster",node=~"$node"}'),
    choice("rail", "Rail", 'railgauge_fabric_bandwidth_bytes_per_second{cluster=~"$cluster"}'),
    choice("kernel", "Kernel", 'railgauge_tasks_total{cluster=~"$cluster"}'),
]


def named(*names):
    return [one for one in VARIABLES if one["name"] in names]


def place(panels):
    """Places panels from left to right, with a new line where a panel does not fit."""
    x = y = line = 0
    for number, one in enumerate(panels, 1):
        grid = one["gridPos"]
        if x + grid["w"] > WIDTH:
            x, y, line = 0, y + line, 0
        one["id"] = number
        grid["x"], grid["y"] = x, y
        x += grid["w"]
        line = max(line, grid["h"])
    return panels


def board(uid, title, description, variables, panels, annotations=()):
    return {
        "uid": uid, "title": title, "description": description, "tags": ["railgauge"], "schemaVersion": 37, "version": 1, "editable": False,
        "graphTooltip": 1, "refresh": "1m", "time": {"from": "now-24h", "to": "now"}, "timezone": "browser",
        "links": [{"type": "dashboards", "title": "Railgauge", "tags": ["railgauge"], "asDropdown": True, "includeVars": True, "keepTime": True,
                   "icon": "external link", "tooltip": "", "targetBlank": False, "url": ""}],
        "templating": {"list": variables},
        "annotations": {"list": [{"name": name, "datasource": DATASOURCE, "enable": True, "iconColor": "orange", "expr": expr, "step": "60s",
                                  "titleFormat": text, "useValueForTime": False} for name, expr, text in annotations]},
        "panels": place(panels),
    }
