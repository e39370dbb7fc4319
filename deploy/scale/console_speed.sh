#!/usr/bin/env bash
# Measures the web console in a headless Chromium without a GPU and prints one Markdown table: the pages by themselves,
# the pages on a controller with a generated database, and the interface with thousands of modelled agents. All figures
# of the fabric are synthetic. It is a bench, not a test: it fails only where something does not work at all.
#   deploy/scale/console_speed.sh [--build DIR] [--nodes N] [--seconds S] [--matrices "1000 5000"] [--points N] [--page FILE]
# --build    build folder with the targets railgauge-controller, railgauge-fleet, railgauge-runner, railgauge, railgauge-console and
#            speed_store_bench (build/ci)
# --nodes    modelled agents for the interface's times (10000); 0 leaves them out
# --seconds  seconds of calls to the interface (60)
# --matrices sides of the matrices in generated databases (1000 10000)
# --points   points of their series (100000)
# --page     also writes the whole page into FILE; what follows the table there stays
# Exit 0 measured; 2 wrong use; 77 without Chromium, Node.js or the built pages; else a program failed.
# shellcheck source-path=SCRIPTDIR
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
build="" nodes=10000 seconds=60 matrices="1000 10000" points=100000 page=""
while [ $# -gt 0 ]; do
  case "$1" in
    --build) build=${2:?console_speed.sh: --build needs a folder}; shift ;;
    --nodes) nodes=${2:?console_speed.sh: --nodes needs a number}; shift ;;
    --seconds) seconds=${2:?console_speed.sh: --seconds needs a number}; shift ;;
    --matrices) matrices=${2:?console_speed.sh: --matrices needs numbers}; shift ;;
    --points) points=${2:?console_speed.sh: --points needs a number}; shift ;;
    --page) page=${2:?console_speed.sh: --page needs a file}; shift ;;
    *) echo "console_speed.sh: unknown option $1; allowed: --build, --nodes, --seconds, --matrices, --points, --page" >&2; exit 2 ;;
  esac
  shift
done
export LC_ALL=C RAILGAUGE_BUILD_DIR=${build:-$here/../build/ci}
for program in railgauge railgauge-controller railgauge-fleet railgauge-runner speed_store_bench; do
  [ -x "$RAILGAUGE_BUILD_DIR/bin/$program" ] ||
    { echo "console_speed.sh: no $program in $RAILGAUGE_BUILD_DIR/bin; build it, or name a build with --build" >&2; exit 2; }
done
# shellcheck source=../e2e/lib.sh
. "$here/e2e/lib.sh"
readonly kAttachSeconds=600 kRestSeconds=20
pages=$top/dashboards/console/tests
share=$RAILGAUGE_BUILD_DIR/share/railgauge/console
chromium=$(command -v chromium || true)
if [ -z "$chromium" ] || ! command -v node >/dev/null || [ ! -e "$share/index.html" ] || [ ! -d "$pages/../node_modules/puppeteer-core" ]; then
  echo "waived: Chromium, Node.js, the packages of dashboards/console or the built pages are missing; deploy/deps.sh installs them"
  exit 77
fi
ulimit -n "$(ulimit -Hn)"
load() { cut -d ' ' -f 1-3 /proc/loadavg; }
# cpu_of PROCESS: CPU milliseconds of the process so far. They depend on what else runs here far less than times do.
cpu_of() { awk -v hz="$(getconf CLK_TCK)" '{ printf "%.0f", ($14 + $15) * 1000 / hz }' "/proc/$(pid_of "$1")/stat"; }
stop() { kill "$(pid_of "$1")"; wait "$(pid_of "$1")" || true; }

measure_pages() { node "$pages/bench.mjs" "$chromium" "$share" >"$work/alone.txt"; }

# Each matrix in a database of its own, which nobody measured: beside a large one a small one waits.
measure_whole() {
  local side begin cpu
  for side in $matrices; do
    begin=$(date +%s)
    "$bin/speed_store_bench" "$work/railgauge.db" "$points" "$side"
    echo "matrix of $side generated in $(($(date +%s) - begin)) s, $(du -m "$work/railgauge.db" | cut -f 1) MiB" >&2
    start_controller --synthetic --console-listen 127.0.0.1:0
    sleep 10
    cpu=$(cpu_of controller)
    node "$pages/speed.mjs" "$chromium" "$(cli console 2>/dev/null)" "$side" >"$work/one.json"
    jq -c --argjson mib "$(awk '$1 == "VmHWM:" { printf "%.0f", $2 / 1024 }' "/proc/$(pid_of controller)/status")" \
      --argjson cpu "$(($(cpu_of controller) - cpu))" '. + {mib: $mib, cpu: $cpu}' "$work/one.json" >>"$work/whole.json"
    stop controller
    rm -f "$work"/railgauge.db*
  done
}

# By the metrics: a list of thousands of nodes each second would slow down the attaching itself.
metric() {
  curl -fsS --noproxy '*' --max-time 5 "http://127.0.0.1:$(sed -n 's/.*metrics on port //p' "$work/controller.log" | tail -1)/metrics" |
    awk -v name="$1" '$1 == name { print $2 }'
}
is_attached() { [ "$(metric 'railgauge_nodes{state="attached"}')" = "$nodes" ]; }
# All agents come back at once to a controller that was killed. Streams that end after that were ended by somebody: gRPC,
# where its memory's quota is too small, or the controller.
fleet_count() { sed -n "s/.* \\([0-9]*\\) $1.*/\\1/p" "$work/fleet.log" | tail -n 1; }
measure_storm() {
  local begin failed
  stop_hard controller
  wait "$(pid_of controller)" 2>/dev/null || true
  start_controller --synthetic --console-listen 127.0.0.1:0
  failed=$(fleet_count failed)
  begin=$(date +%s)
  wait_for "$nodes agents attach again" "$kAttachSeconds" is_attached
  echo "$(($(date +%s) - begin))" >"$work/again"
  sleep "$kRestSeconds"
  # Each stream ended once, with the first controller.
  echo "$(($(fleet_count ended) - nodes)) $(($(fleet_count failed) - failed))" >"$work/ended"
}
# Beside a run of 1,000 nodes that are lost and a series, so that the paths of runs, matrices, points and series have something
# to read. The agents have other names: with a stored node's name and another identity they would be refused.
measure_interface() {
  "$bin/speed_store_bench" "$work/railgauge.db" "$points" 1000
  cat >"$work/scenario.yaml" <<Y
version: 1
metadata: {name: speed}
seed: 1
fabric: {nodes: $nodes, prefix: node, rails: 8, leaves: $(((nodes + 31) / 32)), spines: 8}
Y
  start_controller --synthetic --console-listen 127.0.0.1:0
  "$bin/railgauge-fleet" --controller "unix:$socket" --scenario "$work/scenario.yaml" >>"$work/fleet.log" 2>&1 &
  echo $! >"$work/fleet.pid"
  local begin cpu
  begin=$(date +%s)
  wait_for "$nodes agents attach" "$kAttachSeconds" is_attached
  echo "$(($(date +%s) - begin))" >"$work/attach"
  sleep 10
  cpu=$(cpu_of controller)
  sleep "$kRestSeconds"
  awk -v ms="$(($(cpu_of controller) - cpu))" -v s="$kRestSeconds" 'BEGIN { printf "%.2f", ms / 1000 / s }' >"$work/rest"
  cpu=$(cpu_of controller)
  node "$pages/api_load.mjs" "$(cli console 2>/dev/null)" "$seconds" >"$work/interface.json"
  echo "$(($(cpu_of controller) - cpu))" >"$work/cpu"
  awk '$1 == "VmHWM:" { printf "%.0f", $2 / 1024 }' "/proc/$(pid_of controller)/status" >"$work/mib"
  measure_storm
  stop fleet
  stop controller
}

matrix_rows() {
  jq -r 'select(.what == "matrix") | "\(.nodes) x \(.nodes)" as $size |
    if .refused then "| first paint, \($size), on a controller | 1,000 ms | refused: \(.refused | split(";")[0]) |"
    else "| first paint, \($size), on a controller that reads it | 1,000 ms | \(.cold | round) ms |",
      "| CPU of the controller for both and for the panning, and its memory | | \(.cpu) ms, \(.mib) MiB |",
      "| first paint, \($size), on a controller that has read it | 1,000 ms | \(.warm | round) ms |",
      "| panning, \($size), 95th percentile of a frame | 33 ms | \(.pan * 10 | round / 10) ms, of it drawing \(.draw * 10 | round / 10) ms |" end' "$work/whole.json"
}
alone_rows() {
  sed -nE 's/^matrix ([0-9]+) x [0-9]+: first paint ([0-9]+) ms, panning p95 ([0-9.]+) ms a frame, of it drawing ([0-9.]+) ms/| first paint, \1 x \1, page alone | 1,000 ms | \2 ms |\n| panning, \1 x \1, page alone, 95th percentile of a frame | 33 ms | \3 ms, of it drawing \4 ms |/p
    s/^series of ([0-9,]+) points: ([0-9]+) ms.*/| series of \1 points, page alone, from the answer to its chart | 200 ms | \2 ms |/p' "$work/alone.txt"
}
interface_rows() {
  [ -e "$work/interface.json" ] || return 0
  echo "| $nodes agents attach | 60 s | $(cat "$work/attach") s |"
  echo "| cores of the controller at rest, beside $nodes agents | 0.25 | $(cat "$work/rest") |"
  echo "| largest memory of the controller | 2 GB | $(cat "$work/mib") MiB |"
  echo "| $nodes agents attach again, after their controller was killed | 60 s | $(cat "$work/again") s |"
  echo "| streams of these that end again; dials that fail until then | 0 | $(cut -d ' ' -f 1 "$work/ended"); $(cut -d ' ' -f 2 "$work/ended") |"
  jq -rs --argjson cpu "$(cat "$work/cpu")" '.[-1] as $all | "| interface with \($all.attached) agents, all paths, 99th percentile of \($all.calls) calls | 100 ms | \($all.p99 | round) ms |",
    "| CPU of the controller for a call, mean, with what the agents cost it | | \($cpu / $all.calls | round) ms |",
    "| calls that were refused or not answered | 0 | \($all.refused) |",
    (.[:-1][] | "| of them `\(.what)`, 99th percentile (median) | 100 ms | \(.p99 | round) ms (\(.p50 | round) ms) |")' "$work/interface.json"
}
table() {
  printf 'Measured %s, %s, %s cores, load %s before and %s after.\n\n' \
    "$(date -u +%F)" "$(awk -F ': ' '/^model name/ { print $2; exit }' /proc/cpuinfo)" "$(nproc)" "$load_before" "$load_after"
  printf '| what | bound | measured |\n|---|---|---|\n'
  matrix_rows
  jq -rs 'map(select(.what == "series")) | .[0] | "| series of \(.points) points on a controller, from the answer to its chart | 200 ms | \(.milliseconds | round) ms |"' "$work/whole.json"
  alone_rows
  interface_rows
}
whole_page() {
  cat <<'P'
# Speed of the web console

By `deploy/scale/console_speed.sh --page deploy/docs/results/console-speed.md`. Headless Chromium
and controller share the cores, without a GPU. A generator writes the matrices and the series;
agents are those of `railgauge-fleet`. All figures of the fabric are synthetic.

*Page alone* is answered by a program with a modelled matrix, so that the controller's share is
left out. Calls to the interface begin 20 times a second, the paths in turn, whether or not earlier
ones were answered.

P
  cat "$work/table.md"
  [ ! -e "$page" ] || sed -n '/^## /,$p' "$page" | sed '1s/^/\n/'
}

load_before=$(load)
measure_pages
measure_whole
if [ "$nodes" != 0 ]; then measure_interface; fi
load_after=$(load)
table >"$work/table.md"
cat "$work/table.md"
[ -n "$page" ] || exit 0
whole_page >"$work/page.md"
cp "$work/page.md" "$page"
