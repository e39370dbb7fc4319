#!/usr/bin/env bash
# Records the streams of two agents, one run of a pair, for controller/fleet/versions_test.cc. The runner pretends to
# measure; figures are synthetic. At a release: record `current` with the release's agent, then copy it to `previous`.
#   deploy/packages/record_streams.sh NAME [AGENT]   writes controller/fleet/testdata/streams/NAME-{a,b}.stream
# AGENT is the agent's program, by default that of RAILGAUGE_BUILD_DIR. The targets railgauge-stream-recorder,
# railgauge-runner-testing, railgauge-controller and railgauge have to be built.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../e2e/lib.sh"
name=${1:?record_streams.sh: NAME is needed: current or previous}
agent=${2:-$bin/railgauge-agent}
suites=$work/suites
mkdir "$work/suites" "$work/out"
cat >"$work/suites/recorded.yaml" <<'Y'
version: 1
metadata: {name: recorded}
stages:
  - kernel: test.latency
    parameters: {sizes: "8,64KiB"}
    placement: {pairs: all}
Y
start_controller
"$bin/railgauge-stream-recorder" --listen "unix:$work/recorder.sock" --to "unix:$socket" --out "$work/out" >"$work/recorder.log" 2>&1 &
echo $! >"$work/recorder.pid"
wait_for "the recorder listens" 10 test -S "$work/recorder.sock"
for node in a b; do
  make_sysfs "$work/sys-$node"
  "$agent" --controller "unix:$work/recorder.sock" --name $node --state-dir "$work/state-$node" --runner "$bin/railgauge-runner-testing" \
    --sysfs-root "$work/sys-$node" --proc-root "$work/proc-none" --metrics-listen none --busy-sources none --watch-seconds 0 >"$work/agent-$node.log" 2>&1 &
  echo $! >"$work/agent-$node.pid"
done
wait_for "both agents attach" 20 attached 2
cli run recorded
sleep 1  # the last acknowledgement
for node in a b; do kill -TERM "$(pid_of agent-$node)"; done
wait_for "the agents end" 20 eval '! alive agent-a && ! alive agent-b'
mkdir -p "$top/controller/fleet/testdata/streams"
for node in a b; do cp "$work/out/$node.stream" "$top/controller/fleet/testdata/streams/$name-$node.stream"; done
head -qn 1 "$work"/out/*.stream
du -b "$work"/out/*.stream
