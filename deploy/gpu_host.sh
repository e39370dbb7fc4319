#!/usr/bin/env bash
# Runs suites on the GPUs of this host through a controller and an agent of its own, and prints a Markdown table: time,
# outcomes of the tasks, waivers as the CLI folds them, and the agent's largest memory. Then, with --slow, a GPU whose
# copies a build with failpoints delays by a twentieth must be the one suspect of `runs suspects`; without it, none.
#   deploy/gpu_host.sh [--bin DIR] [--suites "NAME ..."] [--slow GPU] [--size BYTES] [--seconds N] [-- AGENT-OPTION...]
# --bin      the programs (default: beside this script in a bundle, else build/release/bin)
# --suites   suites to run, copies (one of copy engine and of BAR) among them, or "" (default: preflight gpudirect collectives upgrade)
# --slow     the number of the GPU to delay; such figures are marked synthetic
# --size     bytes of a copy between GPUs (256MiB)
# --seconds  time limit of one suite (900)
# Exit 0 measured; 1 the slow GPU was not named, or another was; 2 wrong use; 4 a program failed; 5 waived: no GPU.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin="" suites="preflight gpudirect collectives upgrade" slow="" size=256MiB seconds=900
while [ $# -gt 0 ]; do
  case "$1" in
    --bin) bin=${2:?gpu_host.sh: --bin needs a folder} ;;
    --suites) suites=${2?gpu_host.sh: --suites needs names} ;;
    --slow) slow=${2:?gpu_host.sh: --slow needs a number} ;;
    --size) size=${2:?gpu_host.sh: --size needs bytes, as 256MiB} ;;
    --seconds) seconds=${2:?gpu_host.sh: --seconds needs a number} ;;
    --) shift; break ;;
    *) echo "gpu_host.sh: unknown option $1; allowed: --bin, --suites, --slow, --size, --seconds, --" >&2; exit 2 ;;
  esac
  shift 2
done
agent_options=("$@")
[[ $slow =~ ^[0-9]*$ && $seconds =~ ^[1-9][0-9]{0,4}$ ]] || { echo "gpu_host.sh: --slow, --seconds: numbers" >&2; exit 2; }
for one in "$bin" "$here/bin" "$here/../build/release/bin"; do [ ! -x "$one/railgauge-agent" ] || { bin=$one; break; }; done
[ -x "$bin/railgauge-agent" ] || { echo "gpu_host.sh: no programs; name their folder with --bin" >&2; exit 2; }
shipped=$here/share/railgauge/suites
[ -d "$shipped" ] || shipped=$here/../suites
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$work"' EXIT
export LC_ALL=C RAILGAUGE_CONTROLLER=unix:$work/controller.sock
cli() { "$bin/railgauge" "$@"; }
fail() { echo "gpu_host.sh: $*" >&2; tail -n 3 "$work"/*.log >&2 || true; exit 4; }

cp -r "$shipped" "$work/suites"
cat >"$work/suites/between_gpus.yaml" <<Y
version: 1
metadata: {name: between_gpus, summary: "copies between all GPUs of a node, by each end"}
stages:
  - {name: write, kernel: cuda.peer_copy_bw, parameters: {direction: write, sizes: $size}, placement: {local: all}}
  - {name: read, kernel: cuda.peer_copy_bw, parameters: {direction: read, sizes: $size}, placement: {local: all}}
Y
cat >"$work/suites/copies.yaml" <<Y
version: 1
metadata: {name: copies, summary: "a copy of each kind within a node"}
stages:
  - {kernel: cuda.local_copy_bw, parameters: {sizes: $size}, placement: {local: all}}
  - {kernel: bar.write_bw, parameters: {sizes: 64KiB}, placement: {local: all}}
Y
"$bin/railgauge-controller" --socket "$work/controller.sock" --database "$work/railgauge.db" --suites "$work/suites" \
  --metrics-listen 127.0.0.1:0 >"$work/controller.log" 2>&1 &
# start_agent: starts an agent and waits until it is attached.
start_agent() {
  "$bin/railgauge-agent" --controller "$RAILGAUGE_CONTROLLER" --name host --state-dir "$work/state" \
    --metrics-listen 127.0.0.1:0 "${agent_options[@]}" >>"$work/agent.log" 2>&1 &
  agent=$!
  for _ in $(seq 300); do
    ! cli nodes -o csv 2>/dev/null | grep -q ',attached,' || return 0
    kill -0 $agent 2>/dev/null || fail "the agent ended"
    sleep 0.1
  done
  fail "the agent is not attached after 30 s"
}
start_agent
gpus=$(cli nodes show host -o json | sed -n 's/^ *"gpus": "\([0-9]*\)",*$/\1/p' | head -n 1)
[ "${gpus:-0}" -gt 0 ] || { echo "waived: no GPU on this host"; exit 5; }

echo "$gpus GPUs, $(nproc) processors, $(date -u +%FT%TZ), $("$bin/railgauge" --version | head -n 1)"
if [ -n "$suites" ]; then
  echo
  echo "| suite | exit | time | tasks by outcome | waivers as folded | agent's largest memory |"
  echo "| --- | ---: | ---: | --- | --- | ---: |"
fi
for suite in $suites; do
  code=0 begin=$(date +%s.%N)
  timeout "$seconds" "$bin/railgauge" run "$suite" >"$work/$suite.out" 2>"$work/$suite.err" || code=$?
  taken=$(awk -v a="$begin" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }')
  outcomes=$(cat "$work/$suite.out" "$work/$suite.err" | sed -n 's/^run .* tasks ended (\(.*\)), .*/\1/p' | tail -n 1)
  [ $code -le 1 ] || [ $code = 5 ] || echo "gpu_host.sh: run $suite: exit $code: $(grep -v '^ *$' "$work/$suite.err" | tail -n 1)" >&2
  waived=$(awk '$1 == "waived" && $3 ~ /^[0-9]+$/ { printf "%s%s %s", separator, $3, $2; separator = ", " }' "$work/$suite.out")
  echo "| $suite | $code | $taken s | $outcomes | ${waived:-none} | $(awk '$1 == "VmHWM:" { printf "%.0f MiB", $2 / 1024 }' /proc/$agent/status) |"
done

# named: prints the suspects of a new run between the GPUs, and the name of the first confirmed one.
named() {
  local code=0
  timeout "$seconds" "$bin/railgauge" run between_gpus >"$work/between.out" 2>&1 || code=$?
  [ $code -le 1 ] || fail "run between_gpus: exit $code: $(tail -n 1 "$work/between.out")"
  cli runs suspects --kernel cuda.peer_copy_bw >"$work/suspects" 2>&1 || true
  cat "$work/suspects"
}
if [ -n "$slow" ]; then
  printf '\nNo GPU is delayed:\n'
  named
  ! grep -q 'confirmed' "$work/suspects" || exit 1
  kill -TERM $agent; wait $agent || true
  export RAILGAUGE_FAILPOINT=slow_gpu=$slow
  start_agent
  printf '\nGPU %s is delayed by a twentieth (SYNTHETIC):\n' "$slow"
  named
  [ "$(grep -c '^[0-9]*\. confirmed' "$work/suspects")" -ge 1 ] && ! grep '^[0-9]*\. confirmed' "$work/suspects" | grep -qv "host gpu$slow " || exit 1
fi
