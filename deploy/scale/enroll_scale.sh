#!/usr/bin/env bash
# Measures how long one controller takes to enrol many nodes, each with a key of its own: modelled nodes (railgauge-fleet), then
# real calls of railgauge-agent enroll. Prints one Markdown table. All is on this machine, over loopback TLS. It is a bench, not
# a test: it fails only where something does not work.
#   deploy/scale/enroll_scale.sh [--build DIR] [--nodes N] [--agents N] [--at-once N] [--rounds N]
# --build    build folder with railgauge-controller, railgauge-fleet, railgauge-agent and railgauge (build/ci)
# --nodes    modelled nodes (512)
# --agents   calls of railgauge-agent enroll (64)
# --at-once  nodes at a time (16)
# --rounds   rounds, each with a new authority and database (3)
# The last column is the CPU time of everything else on the machine, as a share of all its cores.
# Exit 0 measured; 2 wrong use; 4 a program failed.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
build=$here/../build/ci nodes=512 agents=64 at_once=16 rounds=3
while [ $# -gt 0 ]; do
  case "$1" in
    --build | --nodes | --agents | --at-once | --rounds) [ $# -ge 2 ] || { echo "enroll_scale.sh: $1 needs a value" >&2; exit 2; } ;;&
    --build) build=$2 ;;
    --nodes) nodes=$2 ;;
    --agents) agents=$2 ;;
    --at-once) at_once=$2 ;;
    --rounds) rounds=$2 ;;
    *) echo "enroll_scale.sh: unknown option $1; allowed: --build, --nodes, --agents, --at-once, --rounds" >&2; exit 2 ;;
  esac
  shift 2
done
for number in "$nodes" "$agents" "$at_once" "$rounds"; do
  [[ $number =~ ^[1-9][0-9]{0,4}$ ]] || { echo "enroll_scale.sh: $number: a number from 1 to 99999 is needed" >&2; exit 2; }
done
bin=$(cd "$build" && pwd)/bin
for program in railgauge railgauge-controller railgauge-fleet railgauge-agent; do
  [ -x "$bin/$program" ] || { echo "enroll_scale.sh: no $program in $bin; build it, or name a build with --build" >&2; exit 2; }
done
export LC_ALL=C
work=$(mktemp -d "${TMPDIR:-/tmp}/railgauge-enroll.XXXXXX")
controller=''
stop() {
  [ -z "$controller" ] || { kill "$controller" 2>/dev/null || true; wait "$controller" 2>/dev/null || true; }
  controller=''
}
trap 'stop; rm -rf "$work"' EXIT
fail() { echo "enroll_scale.sh: $1" >&2; [ ! -e "$work/log" ] || tail -n 3 "$work/log" >&2; exit 4; }

# start FOLDER: a controller with an authority of its own; sets `port`.
start() {
  mkdir "$1"
  "$bin/railgauge" pki init "$1/pki" >/dev/null
  "$bin/railgauge" pki issue "$1/pki" controller controller --san localhost >/dev/null
  "$bin/railgauge-controller" --database "$1/db" --socket "$1/socket" --metrics-listen 127.0.0.1:0 --listen 127.0.0.1:0 \
    --enroll-listen 127.0.0.1:0 --enroll-pki "$1/pki" --tls-ca "$1/pki/ca.crt" --tls-cert "$1/pki/controller.crt" \
    --tls-key "$1/pki/controller.key" --tls-crl "$1/pki/crl.pem" >"$work/log" 2>&1 &
  controller=$!
  port=''
  for _ in $(seq 100); do
    port=$(sed -n 's/.*enrolment on port \([0-9]*\).*/\1/p' "$work/log")
    if [ -n "$port" ] && [ -S "$1/socket" ]; then return; fi
    sleep 0.1
  done
  fail "the controller does not listen"
}
token() { "$bin/railgauge" --controller "unix:$1/socket" --quiet tokens create --uses "$2"; }
cpu_of() { awk -v hz="$(getconf CLK_TCK)" '{ print ($14 + $15) / hz }' "/proc/$1/stat"; }
busy() { awk -v hz="$(getconf CLK_TCK)" '$1 == "cpu" { print ($2 + $3 + $4 + $7 + $8) / hz }' /proc/stat; }

# row CASE COMMAND...: runs it and prints its row. The command leaves "NODES MEDIAN SLOWEST" in $work/summary.
row() {
  local title=$1 from to before busy_before own; shift
  before=$(cpu_of "$controller") busy_before=$(busy) from=$(date +%s.%N)
  TIMEFORMAT='%U %S'
  { time "$@" >"$work/out" 2>&1; } 2>"$work/cpu" || { cat "$work/out" >&2; fail "$title"; }
  to=$(date +%s.%N) own=$(awk '{ print $1 + $2 }' "$work/cpu")
  awk -v title="$title" -v from="$from" -v to="$to" -v before="$before" -v after="$(cpu_of "$controller")" \
    -v busy="$(awk -v a="$busy_before" -v b="$(busy)" 'BEGIN { print b - a }')" -v own="$own" -v cores="$(nproc)" '
    {
      all = to - from; used = after - before; other = (busy - used - own) / (all * cores)
      printf "| %s | %.1f | %.1f | %.3f | %.3f | %.1f | %.0f %% |\n", title, all, $1 / all, $2, $3, used, 100 * (other > 0 ? other : 0)
    }' "$work/summary"
}
modelled() {
  "$bin/railgauge-fleet" --enroll "localhost:$port" --token-file "$work/token" --certificates "$1/fleet" --nodes "$nodes" --at-once "$at_once" >"$work/fleet"
  sed -nE 's/^([0-9]+) nodes enrolled in .* one took ([0-9.]+) s .median., ([0-9.]+) s at most$/\1 \2 \3/p' "$work/fleet" >"$work/summary"
  [ "$(find "$1/fleet" -name '*.crt' | wc -l)" = $((nodes + 1)) ]
}
# One call, as xargs makes it.
one() {
  local from; from=$(date +%s%N)
  "$1/railgauge-agent" enroll --controller "localhost:$2" --token-file "$3/token" --name "real$5" --state-dir "$4/$5/state" --config "$4/$5/agent.conf" \
    --no-start >"$4/$5.log" 2>&1 || { cat "$4/$5.log" >&2; return 255; }
  awk -v a="$from" -v b="$(date +%s%N)" 'BEGIN { printf "%.4f\n", (b - a) / 1e9 }' >>"$3/times"
}
export -f one
real() {
  mkdir "$1/real"
  for i in $(seq "$agents"); do mkdir "$1/real/$i"; done
  : >"$work/times"
  seq "$agents" | xargs -P "$at_once" -I{} bash -c 'one "$@"' _ "$bin" "$port" "$work" "$1/real" {}
  sort -g "$work/times" | awk '{ v[NR] = $1 } END { print NR, v[int((NR + 1) / 2)], v[NR] }' >"$work/summary"
  [ "$(find "$1/real" -name enrolment.conf | wc -l)" = "$agents" ]
}

echo "Load average before: $(cut -d' ' -f1-3 /proc/loadavg); $(nproc) cores."
echo
echo "| case | seconds | nodes a second | one node, median (s) | slowest (s) | controller's CPU (s) | others' CPU |"
echo "|---|---:|---:|---:|---:|---:|---:|"
for round in $(seq "$rounds"); do
  folder=$work/$round
  start "$folder"
  (umask 077 && token "$folder" "$nodes" >"$work/token")
  row "$nodes modelled nodes, round $round" modelled "$folder"
  (umask 077 && token "$folder" "$agents" >"$work/token")
  row "$agents calls of \`railgauge-agent enroll\`, round $round" real "$folder"
  stop
done
