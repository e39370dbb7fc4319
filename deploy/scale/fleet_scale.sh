#!/usr/bin/env bash
# Measures one controller with 1,000 to 10,000 modelled agents (railgauge-fleet), each in real processes on this machine,
# and prints one Markdown table with a column a size, then the times of calls while runs go on. All figures of the fabric
# are synthetic. It is a bench, not a test: it fails only where something does not work at all.
#   deploy/scale/fleet_scale.sh [--build DIR] [--sizes "1000 4000 10000"] [--tls "1000 4000"] [--nics N] [--plans "512/10 512/2"]
#                         [--whole "512/10"]
# --build  build folder with the targets railgauge-controller, railgauge-fleet, railgauge, railgauge-runner and
#          rpc_latency_bench (build/ci)
# --sizes  numbers of agents on the unix socket
# --tls    numbers of agents on the TCP port by mutual TLS, each with a certificate of its own; here only the attach is
#          measured. A connection takes three of the controller's descriptors, so `ulimit -Hn` bounds the number.
# --nics   NICs and GPUs of a node (8)
# --plans  NODES/N: the controller's memory with a run of 1/N of all pairs of so many agents, both ways on all rails, that is
#          begun, cancelled, resumed, killed with its controller, and resumed; none unless named
# --whole  NODES/N: the same with a run that ends by itself (some 750 tasks a second on two cores); none unless named
# --seconds  seconds of an idle measurement (20)
# Exit 0 measured; 2 wrong use; 4 a program failed.
# shellcheck source-path=SCRIPTDIR
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
build="" sizes="1000 4000 10000" tls="1000 4000" nics=8 idle=20 plans="" whole=""
while [ $# -gt 0 ]; do
  case "$1" in
    --build) build=${2:?fleet_scale.sh: --build needs a folder}; shift ;;
    --sizes) sizes=${2?fleet_scale.sh: --sizes needs numbers}; shift ;;
    --tls) tls=${2?fleet_scale.sh: --tls needs numbers}; shift ;;
    --nics) nics=${2:?fleet_scale.sh: --nics needs a number}; shift ;;
    --plans) plans=${2?fleet_scale.sh: --plans needs NODES/N}; shift ;;
    --whole) whole=${2?fleet_scale.sh: --whole needs NODES/N}; shift ;;
    --seconds) idle=${2:?fleet_scale.sh: --seconds needs a number}; shift ;;
    *) echo "fleet_scale.sh: unknown option $1; allowed: --build, --sizes, --tls, --nics, --plans, --whole, --seconds" >&2; exit 2 ;;
  esac
  shift
done
export LC_ALL=C RAILGAUGE_BUILD_DIR=${build:-$here/../build/ci}
for program in railgauge railgauge-controller railgauge-fleet rpc_latency_bench; do
  [ -x "$RAILGAUGE_BUILD_DIR/bin/$program" ] || { echo "fleet_scale.sh: no $program in $RAILGAUGE_BUILD_DIR/bin; build it, or name a build with --build" >&2; exit 2; }
done
# shellcheck source=../e2e/lib.sh
. "$here/e2e/lib.sh"
readonly kAttachSeconds=170 kMostRoundNodes=1000 kWholeSeconds=7200
ulimit -n "$(ulimit -Hn)"

seconds_now() { date +%s.%N; }
# since BEGIN: seconds since then, with one decimal.
since() { awk -v a="$1" -v b="$(seconds_now)" 'BEGIN { printf "%.1f", b - a }'; }
# cpu_of PROCESS: CPU seconds of the process so far.
cpu_of() { awk -v hz="$(getconf CLK_TCK)" '{ print ($14 + $15) / hz }' "/proc/$(pid_of "$1")/stat"; }
# mib_of PROCESS KEY: VmRSS or VmHWM in MiB.
mib_of() { awk -v key="$2:" '$1 == key { printf "%.0f", $2 / 1024 }' "/proc/$(pid_of "$1")/status"; }
# cores_over PROCESS SECONDS: how many cores it used meanwhile.
cores_over() {
  local before; before=$(cpu_of "$1"); sleep "$2"
  awk -v a="$before" -v b="$(cpu_of "$1")" -v s="$2" 'BEGIN { printf "%.2f", (b - a) / s }'
}
metrics() { curl -sS --max-time 10 "$metrics_url"; }
metric() { metrics | awk -v name="$1" '$1 == name { printf "%.0f", $2 }'; }
is_attached() { [ "$(metric 'railgauge_nodes{state="attached"}')" = "$1" ]; }

# nodes_to LAST NODES: the names of the first nodes of a fabric; a number has as many digits as the last one, at least 4.
nodes_to() {
  local digits=${#2}
  [ "$digits" -ge 4 ] || digits=4
  printf 'sim[%0*d-%0*d]' "$digits" 1 "$digits" "$1"
}

has_points() { [ "$(points)" -ge "$1" ]; }
points() { cli sql "SELECT count(*) AS n FROM point" --seconds 60s -o json | jq '.rows[0].n'; }
has_ended() { [ "$(metric railgauge_run_active)" = 0 ]; }

# tail_of SHARE: the value below which that share of the numbers on stdin are.
tail_of() { sort -g | awk -v share="$1" '{ v[NR] = $1 } END { if (NR) { at = int(share * (NR - 1)) + 1; printf "%.1f\n", v[at] } else print "-" }'; }

write_inputs() {
  mkdir -p "$work/suites"
  cat >"$work/suites/halves.yaml" <<'Y'
version: 1
metadata: {name: halves, summary: one round of pairs}
stages: [{kernel: verbs.write_lat, parameters: {sizes: 8}, placement: {pairs: halves}}]
Y
  # All rails of a pair of nodes at once, both ways, in few rounds: tasks and points in plenty.
  cat >"$work/suites/ingest.yaml" <<'Y'
version: 1
metadata: {name: ingest, summary: many points}
stages:
  - kernel: verbs.write_bw
    parameters: {sizes: "4KiB,64KiB,1MiB"}
    placement: {pairs: quick, matchings: 2, directions: both, rails: same, rails_together: true}
Y
  # 64 sizes of 2 points: a task has so many that the store is the bound, and not the tasks' pace.
  cat >"$work/suites/points.yaml" <<Y
version: 1
metadata: {name: points, summary: many points a task}
stages:
  - kernel: verbs.write_bw
    parameters: {sizes: "$(seq -s , 1024 1024 65536)"}
    placement: {pairs: halves, directions: both, rails: same, rails_together: true}
Y
  cat >"$work/suites/pairs.yaml" <<'Y'
version: 1
metadata: {name: pairs, summary: all pairs}
stages:
  - kernel: verbs.write_bw
    parameters: {sizes: 64KiB}
    placement: {pairs: all, directions: both, rails: same, rails_together: true}
Y
  cat >"$work/site.yaml" <<'Y'
version: 1
metadata: {name: modelled}
defaults: {}
topology: {source: labels}
Y
}

# begin NODES unix|tls: starts a controller of an empty database, and a fleet that attaches.
begin() {
  local nodes=$1 options=() fleet=(--controller "unix:$socket" --dials 64)
  if [ "$2" = tls ]; then
    options=(--synthetic --listen 127.0.0.1:0 --tls-cert "$work/pki/ctl.crt" --tls-key "$work/pki/ctl.key" --tls-ca "$work/pki/ca.crt")
  fi
  rm -rf "$work"/railgauge.db* "$work"/*.log
  suites=$work/suites start_controller --site-profile "$work/site.yaml" "${options[@]}"
  metrics_url=http://127.0.0.1:$(sed -n 's/.*metrics on port \([0-9]*\).*/\1/p' "$work/controller.log" | head -n 1)/metrics
  # The port lets 64 connections of one address wait for their first bytes.
  [ "$2" = unix ] || fleet=(--controller "127.0.0.1:$(sed -n 's/.*TCP port \([0-9]*\) .*/\1/p' "$work/controller.log")" --certificates "$work/pki" --dials 48)
  cat >"$work/scenario.yaml" <<Y
version: 1
metadata: {name: scale}
seed: 1
fabric: {nodes: $nodes, rails: $nics, leaves: $((nodes / 32 + 1)), spines: 16}
classes: [{name: node, gpus: $nics, nics: $nics}]
noise: [{kind: gaussian, size: 0.01}]
Y
  began=$(seconds_now)
  "$bin/railgauge-fleet" --scenario "$work/scenario.yaml" "${fleet[@]}" >"$work/fleet.log" 2>&1 &
  echo $! >"$work/fleet.pid"
  wait_for "$nodes agents attach" $kAttachSeconds is_attached "$nodes"
  attach_seconds=$(since "$began")
}
end() {
  for process in fleet controller; do
    kill -TERM "$(pid_of $process)" 2>/dev/null || true
    wait_for "$process ends" 30 eval "! alive $process" || stop_hard $process
    rm -f "$work/$process.pid"
  done
}

# row TITLE VALUE: keeps the value for the column of this size.
row() { printf '%s\t%s\n' "$1" "$2" >>"$work/column"; echo "    $1: $2" >&2; }

# sample_metrics SECONDS: times scrapes and reads the largest clock skew, which on one host is the age of a heartbeat.
sample_metrics() {
  local end; end=$(($(date +%s) + $1))
  : >"$work/scrapes"; : >"$work/skews"
  while [ "$(date +%s)" -lt "$end" ]; do
    curl -sS --max-time 10 -o "$work/scrape" -w '%{time_total}\n' "$metrics_url" | awk '{ print $1 * 1000 }' >>"$work/scrapes"
    awk '$1 == "railgauge_node_clock_skew_seconds" { print $2 * 1000 }' "$work/scrape" >>"$work/skews"
    sleep 0.5
  done
}

# store_points KIND NODES: a run whose tasks have 128 points each, until all of them are stored.
store_points() {
  local start run_id before expected after
  before=$(points)
  start=$(seconds_now)
  run_id=$(cli run points --nodes "$2" --detach | tail -n 1)
  expected=$(($(run_field "$run_id" tasks_total) * 128))
  wait_for "all points are stored" 300 has_points $((before + expected)) || true
  after=$(since "$start")
  row "points stored a second, $1, 128 a task" "$(awk -v n="$(($(points) - before))" -v s="$after" 'BEGIN { printf "%.0f", n / s }')"
  wait_for "the run is judged" 300 is_judged "$run_id" || true
}

measure_size() {
  local nodes=$1
  echo "$nodes agents on the unix socket" >&2
  begin "$nodes" unix
  : >"$work/column"
  row "all agents attached, s" "$attach_seconds"
  sleep 5
  row "controller at rest, cores" "$(cores_over controller "$idle")"
  row "fleet at rest, cores" "$(cores_over fleet 5)"
  sample_metrics 10
  row "scrape at rest, median, ms" "$(tail_of 0.5 <"$work/scrapes")"
  row "oldest heartbeat when it is read, at rest, 99th percentile, ms" "$(tail_of 0.99 <"$work/skews")"
  row "controller's memory at rest, MiB" "$(mib_of controller VmRSS)"
  # One round of pairs, three times.
  local round=$((nodes < kMostRoundNodes ? nodes / 2 * 2 : kMostRoundNodes))
  local names; names=$(nodes_to "$round" "$nodes")
  : >"$work/bursts"
  for _ in 1 2 3; do
    cli run halves --nodes "$names" >"$work/run.txt" 2>&1 || true
    sleep 2.5
    sed -n "s/.* last $round ranks prepared within \\([0-9]*\\) ms.*/\\1/p" "$work/fleet.log" | tail -n 1 >>"$work/bursts"
  done
  row "a round of $((round / 2)) pairs reaches the last agent, worst of 3, ms" "$(tail_of 1 <"$work/bursts")"
  # Points through the full path, calls and scrapes beside them.
  local after start run_id
  start=$(seconds_now)
  run_id=$(cli run ingest --nodes "$names" --detach | tail -n 1)
  row "start of a run of $((round / 2 * nics * 4)) tasks, s" "$(since "$start")"
  "$bin/rpc_latency_bench" "unix:$socket" 25 "$run_id" >"$work/calls-$nodes" 2>&1 &
  local calls=$!
  sample_metrics 20
  wait $calls || true
  wait_for "the run ends" 120 has_ended || true
  after=$(since "$start")
  row "its end after, s" "$after"
  row "points stored a second" "$(cli sql "SELECT count(*) / $after AS n FROM point" -o json | jq '.rows[0].n | round' || echo -)"
  row "scrape during the run, 99th percentile, ms" "$(tail_of 0.99 <"$work/scrapes")"
  row "oldest heartbeat during the run, 99th percentile, ms" "$(tail_of 0.99 <"$work/skews")"
  row "controller's largest memory, MiB" "$(mib_of controller VmHWM)"
  local ingest=$run_id
  store_points "each of a new series" "$names"
  store_points "of known series" "$names"
  row "controller's largest memory with them, MiB" "$(mib_of controller VmHWM)"
  start=$(seconds_now)
  cli runs suspects "$ingest" >/dev/null 2>&1 || true
  row "railgauge runs suspects, s" "$(since "$start")"
  sleep 35  # free memory goes back every 30 s
  row "controller's memory after the runs, MiB" "$(mib_of controller VmRSS)"
  row "fleet's memory, MiB" "$(mib_of fleet VmRSS)"
  mv "$work/column" "$work/column-$nodes"
  end
}

measure_tls() {
  local nodes=$1
  echo "$nodes agents by TLS" >&2
  if [ ! -d "$work/pki" ]; then
    cli pki init "$work/pki" >/dev/null
    cli pki issue "$work/pki" controller ctl --san 127.0.0.1 >/dev/null
  fi
  local start; start=$(seconds_now)
  cli pki issue "$work/pki" agent "$(nodes_to "$nodes" "$nodes")" >/dev/null
  : >"$work/column"
  row "certificates made by railgauge pki, s" "$(since "$start")"
  begin "$nodes" tls
  row "all agents attached by TLS, s" "$attach_seconds"
  sleep 5
  row "controller at rest, cores" "$(cores_over controller "$idle")"
  row "controller's memory at rest, MiB" "$(mib_of controller VmRSS)"
  row "its descriptors" "$(find "/proc/$(pid_of controller)/fd" -mindepth 1 | wc -l)"
  mv "$work/column" "$work/tls-$nodes"
  end
}

# Restarts a controller that was killed, on its database; its agents come back.
restart_controller() {
  stop_hard controller
  wait "$(pid_of controller)" 2>/dev/null || true
  suites=$work/suites start_controller --site-profile "$work/site.yaml"
  metrics_url=http://127.0.0.1:$(sed -n 's/.*metrics on port \([0-9]*\).*/\1/p' "$work/controller.log" | tail -n 1)/metrics
  wait_for "$1 agents attach again" $kAttachSeconds is_attached "$1"
}
is_judged() { [ "$(run_field "$1" judged_at)" != null ] && [ -n "$(run_field "$1" judged_at)" ]; }
run_field() { cli runs -o json | jq -r ".runs[] | select(.run_id == \"$1\") | .$2"; }

measure_plan() { # NODES/N
  local nodes=${1%/*} slices=${1#*/} run rest start slice=()
  [ "$slices" = 1 ] || slice=(--slice "1/$slices")
  echo "1/$slices of all pairs of $nodes agents" >&2
  begin "$nodes" unix
  : >"$work/column"
  row "controller's memory at rest, MiB" "$(mib_of controller VmRSS)"
  start=$(seconds_now)
  run=$(cli run pairs "${slice[@]}" --all --detach | tail -n 1)
  row "the run starts within, s" "$(since "$start")"
  row "its tasks" "$(run_field "$run" tasks_total)"
  row "memory when it has started, MiB" "$(mib_of controller VmRSS)"
  sleep "$idle"
  row "tasks that ended within $idle s" "$(run_field "$run" tasks_ended)"
  row "largest memory under way, MiB" "$(mib_of controller VmHWM)"
  start=$(seconds_now)
  cli runs cancel "$run" >/dev/null || true
  wait_for "the run ends" 120 has_ended
  row "it is cancelled within, s" "$(since "$start")"
  row "largest memory until then, MiB" "$(mib_of controller VmHWM)"
  row "rows of tasks in the store" "$(cli sql "SELECT count(*) AS n FROM task" -o json | jq '.rows[0].n')"
  start=$(seconds_now)
  rest=$(cli runs resume "$run" --detach | tail -n 1)
  row "its rest starts within, s" "$(since "$start")"
  row "largest memory with the rest, MiB" "$(mib_of controller VmHWM)"
  sleep 5
  restart_controller "$nodes"
  start=$(seconds_now)
  run=$(cli runs resume "$rest" --detach | tail -n 1)
  row "the rest of the rest starts after kill -9 within, s" "$(since "$start")"
  row "tasks that it has" "$(run_field "$run" tasks_total)"
  row "tasks of all runs that are measured twice" "$(cli sql "SELECT count(*) AS n FROM (SELECT task_id FROM task WHERE outcome='passed' GROUP BY task_id HAVING count(*) > 1)" -o json | jq '.rows[0].n')"
  row "largest memory of the new controller, MiB" "$(mib_of controller VmHWM)"
  mv "$work/column" "$work/plan-${1/\//_}"
  end
}

measure_whole() { # NODES/N
  local nodes=${1%/*} slices=${1#*/} run start
  echo "1/$slices of all pairs of $nodes agents, to the end" >&2
  begin "$nodes" unix
  : >"$work/column"
  start=$(seconds_now)
  run=$(cli run pairs --slice "1/$slices" --all --detach | tail -n 1)
  row "tasks" "$(run_field "$run" tasks_total)"
  wait_for "the run ends" $kWholeSeconds has_ended
  row "the run took, s" "$(since "$start")"
  row "largest memory, MiB" "$(mib_of controller VmHWM)"
  start=$(seconds_now)
  wait_for "the run is judged" 600 is_judged "$run"
  row "judged after its end, s" "$(since "$start")"
  sleep 35  # free memory goes back every 30 s
  row "memory after the run, MiB" "$(mib_of controller VmRSS)"
  start=$(seconds_now)
  cli runs show "$run" >"$work/shown"
  row "railgauge runs show, s" "$(since "$start")"
  start=$(seconds_now)
  cli runs suspects "$run" >/dev/null || true
  row "railgauge runs suspects, s" "$(since "$start")"
  start=$(seconds_now)
  cli runs >/dev/null
  row "railgauge runs, s" "$(since "$start")"
  row "largest memory with these, MiB" "$(mib_of controller VmHWM)"
  row "database, MiB" "$(($(stat -c %s "$work/railgauge.db") >> 20))"
  mv "$work/column" "$work/whole-${1/\//_}"
  end
}

# table FILE-PREFIX SIZE...: the columns side by side.
table() {
  local prefix=$1; shift
  printf '| figure |'; printf ' %s agents |' "$@"; printf '\n| --- |'; printf ' ---: |%.0s' "$@"; printf '\n'
  awk -F '\t' -v files="$(printf "$work/$prefix-%s " "$@")" '
    BEGIN { n = split(files, file, " ")
      for (i = 1; i <= n; i++) while ((getline line < file[i]) > 0) {
        split(line, part, "\t"); title = part[1]
        if (!(title in seen)) { order[++titles] = title; seen[title] = 1 }
        cell[title, i] = part[2] }
      for (t = 1; t <= titles; t++) { printf "| %s |", order[t]
        for (i = 1; i <= n; i++) printf " %s |", (order[t], i) in cell ? cell[order[t], i] : "-"
        printf "\n" } }'
}

write_inputs
for size in $sizes; do measure_size "$size"; done
for size in $tls; do measure_tls "$size"; done
for plan in $plans; do measure_plan "$plan"; done
for plan in $whole; do measure_whole "$plan"; done
# shellcheck disable=SC2086  # lists of numbers
[ -z "$sizes" ] || table column $sizes
# shellcheck disable=SC2086
[ -z "$tls" ] || { echo; table tls $tls; }
# shellcheck disable=SC2086
[ -z "$plans" ] || { echo; table plan ${plans//\//_}; }
# shellcheck disable=SC2086
[ -z "$whole" ] || { echo; table whole ${whole//\//_}; }
for size in $sizes; do
  printf '\nCalls while a run of %s agents goes on:\n\n| call | calls | median, ms | 99th percentile, ms | longest, ms |\n| --- | ---: | ---: | ---: | ---: |\n' "$size"
  cat "$work/calls-$size"
done
