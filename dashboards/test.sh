#!/usr/bin/env bash
# Compares dashboards, rules and alerts with their source and the metric catalog; promtool also runs its checks and the
# alerts' own tests. Exit 77 without python3 or promtool.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
railgauge=${RAILGAUGE_BUILD_DIR:-$here/../build/dev}/bin/railgauge
export PYTHONDONTWRITEBYTECODE=1
command -v python3 >/dev/null || { echo "no python3 here: deploy/deps.sh installs it"; exit 77; }
"$here/generate.py" --check
promtool=$(command -v promtool || true)
"$here/lint.py" "$railgauge" ${promtool:+"$promtool"}

# lint.py must report each spoilt file.
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
mkdir -p "$work/deploy/docs/reference" && cp "$here/../deploy/docs/reference/"{alerts,dashboards}.md "$work/deploy/docs/reference/" && cp -r "$here" "$work/dashboards"
spoil() {
  local file=$1 from=$2 to=$3 want=$4
  sed -i "s/$from/$to/" "$work/dashboards/$file"
  ! "$work/dashboards/lint.py" "$railgauge" >"$work/said" || { echo "lint.py: does not see that $from became $to"; exit 1; }
  grep -qF "$want" "$work/said" || { echo "lint.py: wanted '$want', said:"; cat "$work/said"; exit 1; }
  cp "$here/$file" "$work/dashboards/$file"
}
spoil grafana/railgauge-fleet.json 'sum(railgauge_nodes{' 'sum(railgauge_nodez{' "railgauge_nodez is neither in the catalog"
spoil grafana/railgauge-node.json '"title": "GPUs"' '"title": ""' "has no title"
spoil grafana/railgauge-node.json 'label_values(railgauge_link_up{' 'label_values(railgauge_link_on{' "railgauge_link_on is neither in the catalog"
spoil grafana/railgauge-service.json '"uid": "railgauge-service"' '"uid": "7"' "its uid is not the file's name"
spoil source/alerts.py 'railgauge_run_last_outcome{outcome=' 'railgauge_run_last_outcome{verdict=' "railgauge_run_last_outcome has no label verdict"
spoil source/alerts.py 'See: railgauge db stats' 'See: railgauge db sizes' "names railgauge db sizes, which there is not"
spoil source/alerts.py 'railgauge preflight --explain CHECK' 'railgauge preflight --why CHECK' "railgauge preflight has no flag --why"
spoil source/boards.py '"Nodes busy"' '"Nodes occupied"' "does not show Nodes occupied"
[ -n "$promtool" ] || { echo "no promtool here: deploy/deps.sh installs prometheus, which has it"; exit 77; }
