#!/usr/bin/env bash
# Compares dashboards, rules and alerts with their source and the metric catalog; promtool also runs its checks and the
# alerts' own tests. Exit 77 without python3, jq or promtool.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
railgauge=${RAILGAUGE_BUILD_DIR:-$here/../build/dev}/bin/railgauge
export PYTHONDONTWRITEBYTECODE=1
for program in python3 jq; do command -v "$program" >/dev/null || { echo "no $program here: deploy/deps.sh installs it"; exit 77; }; done
"$here/generate.py" --check
promtool=$(command -v promtool || true)
"$here/lint.py" "$railgauge" ${promtool:+"$promtool"}

# lint.py must report each spoilt file.
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
mkdir -p "$work/deploy/docs/reference" && cp "$here/../deploy/docs/reference/"{alerts,dashboards}.md "$work/deploy/docs/reference/" && cp -r "$here" "$work/dashboards"
# The program's answers, so that it does not start for each spoilt file.
mkdir "$work/answers"
printf '#!/bin/sh\nanswer="%s/$(echo "$*" | tr " " _)"\n[ -e "$answer" ] || "%s" "$@" >"$answer"\nexec cat "$answer"\n' "$work/answers" "$(realpath "$railgauge")" >"$work/railgauge"
chmod +x "$work/railgauge"
# sees FILE WHAT WANT: lint.py must say WANT of the spoilt file, which is mended then.
sees() {
  ! "$work/dashboards/lint.py" "$work/railgauge" >"$work/said" || { echo "lint.py: does not see $2"; exit 1; }
  grep -qF "$3" "$work/said" || { echo "lint.py: wanted '$3', said:"; cat "$work/said"; exit 1; }
  cp "$here/$1" "$work/dashboards/$1"
}
spoil() {
  sed -i "s/$2/$3/" "$work/dashboards/$1"
  sees "$1" "that $2 became $3" "$4"
}
# spoil_panel BOARD TITLE CHANGE WANT: changes one panel by a filter of jq.
spoil_panel() {
  jq --arg title "$2" "(.panels[] | select(.title == \$title)) |= ($3)" "$here/grafana/$1.json" >"$work/dashboards/grafana/$1.json"
  sees "grafana/$1.json" "$3 in $2" "$2: $4"
}
spoil_board() {
  jq "$2" "$here/grafana/$1.json" >"$work/dashboards/grafana/$1.json"
  sees "grafana/$1.json" "$2 in $1" "$1.json: $3"
}
spoil grafana/railgauge-fleet.json 'sum(railgauge_nodes{' 'sum(railgauge_nodez{' "railgauge_nodez is neither in the catalog"
spoil grafana/railgauge-node.json '"title": "GPUs"' '"title": ""' "has no title"
spoil grafana/railgauge-node.json 'label_values(railgauge_link_up{' 'label_values(railgauge_link_on{' "railgauge_link_on is neither in the catalog"
spoil grafana/railgauge-service.json '"uid": "railgauge-service"' '"uid": "7"' "its uid is not the file's name"
spoil source/alerts.py 'railgauge_run_last_outcome{outcome=' 'railgauge_run_last_outcome{verdict=' "railgauge_run_last_outcome has no label verdict"
spoil source/alerts.py 'See: railgauge db stats' 'See: railgauge db sizes' "names railgauge db sizes, which there is not"
spoil source/alerts.py 'railgauge preflight --explain CHECK' 'railgauge preflight --why CHECK' "railgauge preflight has no flag --why"
spoil source/boards.py '"Nodes busy"' '"Nodes occupied"' "does not show Nodes occupied"
# The bad is red, and unknown is neither good nor bad.
spoil_panel railgauge-node Attached '.fieldConfig.defaults.thresholds.steps[0].color = "green"' "is not red at 0"
spoil_panel railgauge-node 'Kernel log' 'del(.fieldConfig.defaults.mappings[0].options["0"])' "is not red at 0, or has no word for it"
spoil_panel railgauge-service Listener '.fieldConfig.defaults.thresholds.steps[0].color = "green"' "is not red at 0"
spoil_panel railgauge-service Controller '.fieldConfig.defaults.thresholds.steps[0].color = "blue"' "is not red at 0"
spoil_panel railgauge-fleet 'Nodes attached' '.fieldConfig.defaults.thresholds.steps[0].color = "green"' "is never red"
spoil_panel railgauge-fleet 'Nodes silent' '.fieldConfig.defaults.thresholds.steps |= .[:1]' "is never red"
spoil_panel railgauge-fleet Findings 'del(.fieldConfig.defaults.mappings[0].options["-1"])' "does not say that nothing is known"
spoil_panel railgauge-fleet Findings '.targets[0].expr |= sub(" or vector.*"; "")' "does not say that nothing is known"
# Each panel and each name of a node leads on.
spoil_panel railgauge-fleet Findings '.links = []' "has no link to another board"
spoil_panel railgauge-fleet Findings '.links[0].url |= sub("fabric"; "fleet")' "has no link to another board"
spoil_panel railgauge-fleet Findings '.links[0].url |= sub("\\$.__all_variables.&"; "")' "has no link to another board"
spoil_panel railgauge-fleet 'Failing nodes' '.fieldConfig.overrides |= .[1:]' "its cells with a node have no link"
spoil_panel railgauge-fabric 'Worst pairs' '.fieldConfig.overrides |= .[:1]' "its cells with a node have no link"
spoil_panel railgauge-fabric Pauses 'del(.fieldConfig.defaults.links)' "its lines of a node have no link"
spoil_board railgauge-fleet 'del(.panels[] | select(.title == "Silent nodes"))' "has no table of nodes by railgauge_agent_connected"
spoil_board railgauge-fleet 'del(.panels[] | select(.title == "Paused nodes"))' "has no table of nodes by railgauge_node_pause_end_timestamp_seconds"
# Units are the CLI's.
spoil_panel railgauge-fabric 'Bandwidth by rail' '.fieldConfig.defaults.unit = "Bps"' "a NIC's rate is not in bits a second"
spoil_panel railgauge-fabric 'Bandwidth by distance' '.fieldConfig.overrides = []' "a GPU's rate is not in bytes a second"
spoil_panel railgauge-node 'Link bandwidth' '.targets[1].expr |= sub(" [*] 8$"; "")' "a NIC's rate is not in bits a second"
spoil_panel railgauge-node 'GPU bandwidth' '.fieldConfig.defaults.unit = "bps"' "a GPU's rate is not in bytes a second"
# Marks of runs, upgrades and maintenance; the service's own health.
spoil_board railgauge-fabric '.annotations.list |= .[:3]' "its marks are not"
spoil_board railgauge-node '.annotations.list[0].useValueForTime = false' "Runs: the time of its marks"
spoil_board railgauge-service 'del(.panels[] | select(.title == "Deliveries waiting"))' "does not show railgauge_deliveries_waiting"
spoil_board railgauge-service 'del(.panels[] | select(.title == "Schedules late"))' "does not show railgauge_schedule_last_due_timestamp_seconds"
# Alerts have the words of severity, names and a runbook.
spoil source/alerts.py 'severity="critical", wait="2m"' 'severity="page", wait="2m"' "RailgaugeControllerDown: severity page is neither"
spoil source/alerts.py 'severity=~"critical|fail"' 'severity=~"critical|broken"' "broken is no word of severity"
spoil source/alerts.py ' names=names(FAILING, NODE), named="n1",' '' "RailgaugePreflightFailing: counts and has no names"
spoil source/alerts.py 'f"topk by ({' 'f"topk ({' "its names are not the worst five of a cluster"
spoil prometheus/alerts.yml '{{ with $externalLabels.runbook_base }}{{ . }}{{ else }}' '' "its runbook_url has no setting"

# Boards of a site have links to its console, and no others have.
"$here/generate.py" --console https://console.example:7480/ --to "$work/site"
for board in "$work"/site/*.json; do
  jq -e '([.templating.list[] | select(.name == "console") | [.type, .hide, .query]] == [["constant", 2, "https://console.example:7480"]])
    and any(.links[]; .url == "${console:raw}/#/") and all(.panels[]; any(.links[]; .url | startswith("${console:raw}/#/")))
    and all(.panels[] | select(.type == "table") | .fieldConfig.overrides[:3][].properties[0].value; .[1].url == "${console:raw}/#/nodes/${__value.text}")' "$board" >"$work/said" ||
    { echo "$(basename "$board"): lacks a link to the console"; exit 1; }
done
! grep -l console: "$here"/grafana/*.json || { echo "these boards have links to a console that nobody named"; exit 1; }
for words in "--console console.example --to $work/site" "--console https://console.example" "--to $work/site" "--check --console https://console.example --to $work/site"; do
  # shellcheck disable=SC2086
  ! "$here/generate.py" $words 2>"$work/said" || { echo "generate.py takes $words"; exit 1; }
done
[ -n "$promtool" ] || { echo "no promtool here: deploy/deps.sh installs prometheus, which has it"; exit 77; }
