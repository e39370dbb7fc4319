#!/usr/bin/env bash
# Tests what the programs show of themselves by --version, and that an agent takes another log level without a restart.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 4
bin=$(realpath "${RAILGAUGE_BUILD_DIR:-build/dev}")/bin
work=$(mktemp -d)
pid=""
finish() { [ -z "$pid" ] || { kill -KILL "$pid" 2>/dev/null; wait "$pid" 2>/dev/null; }; rm -rf "$work"; }
trap finish EXIT
fails() { echo "programs_test: $*"; [ ! -e "$work/log" ] || tail -n 20 "$work/log"; exit 1; }

version=$(sed -n 's/^project(railgauge VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
commit='commit [0-9a-f]{7,}(\+changes)?|commit unknown'
for program in agent fleet; do
  said=$("$bin/railgauge-$program" --version)
  [[ $said =~ ^railgauge-$program\ ${version//./\\.}\ \(($commit),\ contract\ [0-9]+\.[0-9]+\)$ ]] || fails "$program: $said"
done
said=$("$bin/railgauge-controller" --version)
[[ $said =~ \(($commit),\ contract\ [0-9]+\.[0-9]+,\ schema\ [0-9]+\)$ ]] || fails "controller: $said"

wait_for() { local line=$1 look; for ((look = 0; look < 300; ++look)); do ! grep -qE "$line" "$work/log" || return 0; sleep 0.1; done; fails "not in the log: $line"; }
echo "log_level = warn" >"$work/agent.conf"
"$bin/railgauge-agent" --config "$work/agent.conf" --controller "unix:$work/nobody" --state-dir "$work/state" --name n1 --metrics-listen none \
  2>"$work/log" &
pid=$!
for ((look = 0; look < 300; ++look)); do [ ! -e "$work/state/agent-id" ] && [ -z "$(ls "$work/state" 2>/dev/null)" ] || break; sleep 0.1; done
sleep 0.5
echo "log_level = debug" >"$work/agent.conf"
kill -HUP $pid
wait_for 'warning SIGHUP: log_level is debug from now on, after warn'
echo "log_level = loud" >"$work/agent.conf"
kill -HUP $pid
wait_for 'error SIGHUP: the settings stay as they are: .*log_level'
echo "log_level = error" >"$work/agent.conf"
kill -HUP $pid
sleep 1
kill -0 $pid 2>/dev/null || fails "the agent has ended"
echo "programs_test: passed"
