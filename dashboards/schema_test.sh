#!/usr/bin/env bash
# Compares the boards, and those with links to a console, with the types that Grafana publishes, and spoilt ones too. No
# Grafana runs here. Exit 77 without the types (dashboards/schema_tools.sh installs them into build/grafana).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tools=${RAILGAUGE_GRAFANA_TOOLS:-$here/../build/grafana}
[ -d "$tools/node_modules/@grafana/data" ] && command -v node >/dev/null || { echo "waived: no types in $tools; dashboards/schema_tools.sh installs them"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
"$here/generate.py" --console https://console.example:7480 --to "$work/site"
node "$here/schema.mjs" "$tools" "$here"/grafana/*.json "$work"/site/*.json

# spoil BOARD FROM TO WANT: the board with its first FROM as TO must have a fault that says WANT.
wanted=()
spoil() {
  ! cmp -s "$here/grafana/$1.json" <(sed "0,/$2/s/$2/$3/" "$here/grafana/$1.json") || { echo "schema_test.sh: $1 has no $2"; exit 1; }
  sed "0,/$2/s/$2/$3/" "$here/grafana/$1.json" >"$work/spoilt-${#wanted[@]}.json"
  wanted+=("$4")
}
spoil railgauge-fleet '"graphTooltip"' '"graphTooltipp"' graphTooltipp
spoil railgauge-fleet '"graphTooltip": 1' '"graphTooltip": 7' "Type '7'"
spoil railgauge-fleet '"fieldConfig"' '"fieldConfigg"' "Nodes attached: "
spoil railgauge-fleet '"thresholds"' '"thresholdz"' thresholdz
spoil railgauge-fleet '"colorMode": "value"' '"colorMode": "valeu"' '"valeu"'
spoil railgauge-fleet '"calcs"' '"calc"' '"calc"'
spoil railgauge-fleet '"lastNotNull"' '"lastNotNil"' 'lastNotNil'
spoil railgauge-fleet '"legendFormat"' '"legendFormatt"' legendFormatt
spoil railgauge-fleet '"type": "color-text"' '"type": "colour-text"' 'custom.cellOptions: '
spoil railgauge-fleet '"byName"' '"byNome"' 'byNome'
spoil railgauge-fleet '"organize"' '"organise"' 'organise'
spoil railgauge-fleet '"useValueForTime"' '"useValueForTim"' 'Runs: '
spoil railgauge-fleet '"url": "\/d\/railgauge-service?${__all_variables}' '"url": "\/d\/railgauge-service?${__all_variable}' 'no variable __all_variable'
spoil railgauge-fabric '"unit": "bps"' '"unit": "Gb\/s"' 'no unit Gb/s'
spoil railgauge-fabric '"value": "Bps"' '"value": "GB\/s"' 'no unit GB/s'
spoil railgauge-fabric '"fill": "dash"' '"fill": "dashes"' 'custom.lineStyle: '
spoil railgauge-fabric '"refresh": 2' '"refresh": 5' "Type '5'"
spoil railgauge-fabric '"type": "timeseries"' '"type": "timeserie"' 'unknown kind timeserie'
! node "$here/schema.mjs" "$tools" "$work"/spoilt-*.json >"$work/said" || { echo "schema.mjs: sees no fault"; exit 1; }
for i in "${!wanted[@]}"; do
  grep -F "spoilt-$i.json: " "$work/said" | grep -qF -- "${wanted[i]}" || { echo "schema.mjs: wanted '${wanted[i]}' of spoilt-$i.json, said:"; cat "$work/said"; exit 1; }
done
echo "${#wanted[@]} spoilt boards are seen"
