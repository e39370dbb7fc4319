#!/usr/bin/env bash
# Records launches of verbs.write_bw on the fake verbs provider for stalls_test: undisturbed ones, and ones whose
# sender is stopped for 20 ms of every 400 ms, which is 5 % of the time. The fake wire takes 0.2 ms a message, so that
# the scatter of this host matters little. Takes some 3 minutes on an idle host. SYNTHETIC.
#   deploy/record_fake_launches.sh [BUILD]  >controller/findings/testdata/fake_launches.csv
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "${1:-build/ci}")
readonly kQuiet=24 kStalled=12
work=$(mktemp -d)
sender=""
trap '[ -z "$sender" ] || kill -CONT "$sender" 2>/dev/null || true; rm -rf "$work"' EXIT
export RAILGAUGE_LIBIBVERBS=$build/lib/libibverbs-fake.so RAILGAUGE_FAKE_VERBS=delay_ns=200000
flags=(verbs.write_bw -d fake0 --sizes 64KiB --set depth=16 --set signal_every=4 --set time_cap=2500ms)

# launch KIND: one launch, and its row.
launch() {
  local port=$((20000 + RANDOM % 10000)) listener
  "$build/bin/railgauge-runner" "${flags[@]}" --listen "127.0.0.1:$port" >"$work/listener" 2>&1 &
  listener=$!
  for _ in $(seq 100); do grep -q listening "$work/listener" && break; sleep 0.05; done
  "$build/bin/railgauge-runner" "${flags[@]}" --connect "127.0.0.1:$port" --format json >"$work/out" 2>"$work/err" &
  sender=$!
  if [ "$1" = stalled ]; then
    while kill -STOP "$sender" 2>/dev/null; do sleep 0.02; kill -CONT "$sender" 2>/dev/null || break; sleep 0.38; done
  fi
  wait "$sender" || { cat "$work/err" >&2; exit 1; }
  sender=""
  wait "$listener" || true
  jq -r --arg kind "$1" '.points[] | select(.metric == "bandwidth_bytes_per_second")
    | [$kind, .rate, .median, .slot_p10 // "", .slot_p1 // "", .pause_share] | @csv' "$work/out" | tr -d '"'
}
echo "kind,rate,median,slot_p10,slot_p1,pause_share"
for _ in $(seq "$kStalled"); do launch quiet; launch stalled; done
for _ in $(seq $((kQuiet - kStalled))); do launch quiet; done
