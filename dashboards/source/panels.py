"""The parts of every dashboard: panels, variables and their places, as Grafana's JSON has them.

Keys that begin with "_" are not written: `_must` marks a query that has data wherever something was measured
("line_rate", "tls" ...: where there is that; prove.py has the words), `_console` is the page of the console that
answers a panel's next question.

Each panel has a link to the board that answers its next question. Colours say what is bad: a stat is red at 0 where 0
is bad (`good_words`, `good_from`), red from `bad_above` where each one is bad, and orange "unknown" where Prometheus
has no answer, because no answer is no good news.
"""

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
WIDTH = 24
UNKNOWN = -1  # what a stat's query gives where Prometheus has no answer

# The question that each board answers; links are named so.
QUESTIONS = {
    "fleet": "Fleet: is it measured, and is it well?",
    "fabric": "Fabric: rails, distances, and who is slow",
    "node": "Node: what it is, what it gave, what is wrong with it",
    "upgrade": "Upgrade: before and after",
    "service": "Service: is Railgauge itself well?",
}
# Columns that name a node, and the words of columns that name a state.
NODE_COLUMNS = ("node", "from", "to")
STATE_COLUMNS = "/^(outcome|state|result|severity|alertstate)$/"
STATE_COLOURS = {
    "green": ("passed", "pass", "started", "by_hand", "attached"),
    "orange": ("cancelled", "skipped", "warn", "warning", "pending", "new", "detached", "unknown"),
    "red": ("failed", "crashed", "timed_out", "missed", "fail", "error", "critical", "firing", "confirmed", "reopened", "lost"),
}


def query(expr, legend="", must=True):
    return {"expr": expr, "legendFormat": legend, "_must": must}


def maybe(expr, legend=""):
    """Returns a query that may be empty: no finding, no lost node, no GPU."""
    return query(expr, legend, must=False)


def link(title, url, **more):
    """Returns a link as Grafana's schema has it. Variables and time are in the URL, so that panels may have it too."""
    return {"type": "link", "title": title, "url": url, "tags": [], "asDropdown": False, "includeVars": False, "keepTime": False,
            "icon": "external link", "tooltip": "", "targetBlank": False, **more}


def to_board(name):
    return link(QUESTIONS[name], f"/d/railgauge-{name}?${{__all_variables}}&${{__url_time_range}}")


def node_link(name):
    """Returns a data link to a node's board; `name` is Grafana's variable for the node."""
    return {"title": f"Node {name}", "targetBlank": False,
            "url": f"/d/railgauge-node?${{datasource:queryparam}}&${{cluster:queryparam}}&var-node={name}&${{__url_time_range}}"}


def mapping(words):
    """Returns a mapping of values to (text, colour); a text "" shows the value itself."""
    results = {}
    for index, (value, (text, colour)) in enumerate(words.items()):
        results[str(value)] = {**({"text": text} if text else {}), "color": colour, "index": index}
    return {"type": "value", "options": results}


def coloured_states():
    words = {word: ("", colour) for colour, all_of_it in STATE_COLOURS.items() for word in all_of_it}
    return {"matcher": {"id": "byRegexp", "options": STATE_COLUMNS},
            "properties": [{"id": "mappings", "value": [mapping(words)]}, {"id": "custom.cellOptions", "value": {"type": "color-text"}}]}


def unit_of_query(ref, unit):
    """Returns an override: the query `ref` has another unit than its panel."""
    return {"matcher": {"id": "byFrameRefID", "options": ref}, "properties": [{"id": "unit", "value": unit}]}


def steps(*pairs):
    return {"mode": "absolute", "steps": [{"value": value, "color": colour} for value, colour in pairs]}


def panel(kind, title, description, unit, queries, then, width=8, height=8, console=None, **more):
    """`then`: the board that answers the next question. `console`: the page of the console, where it is not the board's."""
    instant = kind in ("stat", "table", "bargauge")
    targets = []
    for index, one in enumerate(queries if isinstance(queries, list) else [queries]):
        targets.append({**one, "refId": chr(ord("A") + index), "datasource": DATASOURCE, "instant": instant, "range": not instant,
                        "format": "table" if kind == "table" else "time_series"})
    defaults = {"unit": unit, "min": 0} if kind in ("timeseries", "bargauge") else {"unit": unit}
    if kind in ("timeseries", "bargauge") and any("{{node}}" in target["legendFormat"] for target in targets):
        defaults["links"] = [node_link("${__field.labels.node}")]
    made = {"type": kind, "title": title, "description": description, "datasource": DATASOURCE, "targets": targets,
            "fieldConfig": {"defaults": {**defaults, **more.pop("defaults", {})}, "overrides": more.pop("overrides", [])},
            "options": more.pop("options", {}), "links": [to_board(then)], "gridPos": {"w": width, "h": height}, "_console": console}
    if kind == "table":
        # Hides the query's time and replaces Grafana's own name of the value. A table that shows labels only hides the
        # value too.
        value = more.pop("value", None)
        hidden = ["Time", "__name__", "job", "instance"] + ([] if value else ["Value"])
        made["transformations"] = [{"id": "organize", "options": {"excludeByName": {name: True for name in hidden}, "indexByName": {},
                                                                  "renameByName": {"Value": value} if value else {}}}]
    assert not more, more
    return made


def stat(title, description, queries, then, unit="short", bad_above=None, good_from=None, good_words=None, bad_words=None, words=None, thresholds=None, **more):
    """A figure with its colour. `bad_above`: red from there on. `good_from`: red below it. `good_words`: the words for 0,
    which is bad, and 1. `bad_words`: the words for 0 and 1, which is bad. None of these: neither good nor bad. `words`:
    more values with text and colour."""
    named = {UNKNOWN: ("unknown", "orange"), **(words or {})}
    if good_words:
        named |= {0: (good_words[0], "red"), 1: (good_words[1], "green")}
        good_from = 1
    if bad_words:
        named |= {0: (bad_words[0], "green"), 1: (bad_words[1], "red")}
        bad_above = 1
    if thresholds is None:
        thresholds = steps((None, "blue"))
        if good_from is not None:
            thresholds = steps((None, "red"), (good_from, "green"))
        if bad_above is not None:
            thresholds = steps((None, "green"), (bad_above, "red"))
    return panel("stat", title, description, unit, queries, then, width=4, height=4, defaults={"thresholds": thresholds, "mappings": [mapping(named)]},
                 options={"reduceOptions": {"calcs": ["lastNotNull"], "values": False}, "colorMode": "value", "textMode": "auto", "graphMode": "none",
                          "justifyMode": "auto", "orientation": "auto", "showPercentChange": False, "wideLayout": True}, **more)


def graph(title, description, queries, then, unit="short", width=8, dashed=(), overrides=(), **more):
    """`dashed`: legends of lines that are limits, not measurements."""
    limits = [{"matcher": {"id": "byName", "options": name},
               "properties": [{"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [8, 8]}}, {"id": "color", "value": {"mode": "fixed", "fixedColor": "red"}}]}
              for name in dashed]
    return panel("timeseries", title, description, unit, queries, then, width=width, overrides=limits + list(overrides),
                 options={"legend": {"displayMode": "table", "placement": "bottom", "showLegend": True, "calcs": ["lastNotNull"]},
                          "tooltip": {"mode": "multi", "sort": "desc"}}, **more)


def table(title, description, queries, then, unit="short", width=12, value=None, **more):
    """`value`: the heading of the column of values; None hides it, where every value is 1. A cell with a node's name leads
    to its board, and one with a state has its colour."""
    nodes = [{"matcher": {"id": "byName", "options": column}, "properties": [{"id": "links", "value": [node_link("${__value.text}")]}]} for column in NODE_COLUMNS]
    return panel("table", title, description, unit, queries, then, width=width, value=value, overrides=nodes + [coloured_states()],
                 options={"frameIndex": 0, "showHeader": True, "cellHeight": "sm"}, **more)


def bars(title, description, queries, then, unit="short", width=8, **more):
    return panel("bargauge", title, description, unit, queries, then, width=width,
                 options={"orientation": "horizontal", "displayMode": "basic", "valueMode": "color", "namePlacement": "auto", "showUnfilled": True, "sizing": "auto",
                          "minVizHeight": 16, "minVizWidth": 8, "maxVizHeight": 300, "reduceOptions": {"calcs": ["lastNotNull"], "values": False}}, **more)


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


def mark(name, expr, text, colour, at_value=False):
    """An annotation: `expr` has a series for each mark. `at_value`: the series' value is the mark's time, in milliseconds."""
    return {"name": name, "datasource": DATASOURCE, "enable": True, "iconColor": colour, "expr": expr, "step": "60s", "titleFormat": text,
            "useValueForTime": at_value}


def board(name, title, description, variables, panels, annotations, console=""):
    """`console`: the page of the console that has more about the board's panels."""
    for one in panels:
        one["_console"] = console if one["_console"] is None else one["_console"]
    return {
        "uid": f"railgauge-{name}", "title": title, "description": description, "tags": ["railgauge"], "schemaVersion": 37, "version": 1, "editable": False,
        "graphTooltip": 1, "refresh": "1m", "time": {"from": "now-24h", "to": "now"}, "timezone": "browser", "fiscalYearStartMonth": 0,
        "links": [{**link("Railgauge", ""), "type": "dashboards", "tags": ["railgauge"], "asDropdown": True, "includeVars": True, "keepTime": True}],
        "templating": {"list": variables},
        "annotations": {"list": annotations},
        "panels": place(panels),
    }


def with_console(board_of_all, url):
    """Returns the board with links to the console at `url`: of the board, of each panel and of each cell with a node."""
    console = {"name": "console", "label": "Console", "type": "constant", "hide": 2, "query": url, "current": {"text": url, "value": url}}

    def to_page(page):
        return f"${{console:raw}}/#/{page}"

    def more_data_links(links):
        nodes = [{"title": one["title"] + " in the console", "targetBlank": True, "url": to_page("nodes/" + one["title"].removeprefix("Node "))} for one in links]
        return links + nodes

    def changed(one):
        fields = one["fieldConfig"]
        defaults = {**fields["defaults"]}
        if "links" in defaults:
            defaults["links"] = more_data_links(defaults["links"])
        overrides = [{**override, "properties": [{**item, "value": more_data_links(item["value"])} if item["id"] == "links" else item for item in override["properties"]]}
                     for override in fields["overrides"]]
        return {**one, "links": one["links"] + [link("Console", to_page(one["_console"]), targetBlank=True)],
                "fieldConfig": {"defaults": defaults, "overrides": overrides}}

    return {**board_of_all, "links": board_of_all["links"] + [link("Console", to_page(""), targetBlank=True)],
            "templating": {"list": board_of_all["templating"]["list"] + [console]}, "panels": [changed(one) for one in board_of_all["panels"]]}
