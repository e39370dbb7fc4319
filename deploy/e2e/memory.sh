#!/usr/bin/env bash
# Tests the controller in a control group with little memory: it refuses what does not fit, with the figures, loses
# nothing, and the kernel ends nobody. Real controller and CLI, 256 modelled nodes of railgauge-fleet in another group.
# Exit 77 where this user cannot make a control group. Figures are synthetic.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

readonly kNodes=256 kLimitMb=${LIMIT_MB:-384}
# group_of: makes the group with its limit and prints its folder, of version 2 or 1.
group_of() {
  local parent group
  for parent in /sys/fs/cgroup /sys/fs/cgroup/memory; do
    group=$parent/railgauge-e2e.$$
    { mkdir "$group"; } 2>/dev/null || continue
    if { echo $((kLimitMb << 20)) >"$group/memory.max" || echo $((kLimitMb << 20)) >"$group/memory.limit_in_bytes"; } 2>/dev/null &&
      [ -e "$group/cgroup.procs" ]; then
      echo "$group"; return
    fi
    rmdir "$group" 2>/dev/null || true
  done
  return 1
}
group=$(group_of) || { echo "no control group with a memory limit can be made here (root, and the memory controller)"; exit 77; }
leave() {
  local code=$?
  (exit "$code") || true
  finish
  for _ in 1 2 3 4 5 6 7 8 9 10; do rmdir "$group" 2>/dev/null && return; sleep 0.2; done
}
trap leave EXIT

cat >"$work/scenario.yaml" <<Y
version: 1
metadata: {name: memory}
seed: 3
fabric: {nodes: $kNodes, rails: 8, leaves: 16, spines: 8}
classes: [{name: small, gpus: 8, nics: 8}]
noise: [{kind: gaussian, size: 0.01}]
Y
suite() { # NAME PLACEMENT
  printf 'version: 1\nmetadata: {name: %s, summary: "bandwidth of pairs"}\nstages:\n  - kernel: verbs.write_bw\n    parameters: {sizes: 64KiB}\n    placement: %s\n' \
    "$1" "$2" >"$work/$1.yaml"
}
suite small '{pairs: ring}'
suite large '{pairs: quick, matchings: 95, rails: same, directions: both}'  # 194,560 tasks

killed() { cat "$group/memory.events" "$group/memory.oom_control" 2>/dev/null | awk '$1 == "oom_kill" { print $2 }'; }
used_mb() { echo $(($(cat "$group/memory.current" 2>/dev/null || cat "$group/memory.usage_in_bytes") >> 20)); }
stored() { sqlite3 -readonly "$work/railgauge.db" 'SELECT count(*) || " " || total(median) FROM point'; }

serves_a_small_run() {
  (echo "$BASHPID" >"$group/cgroup.procs" && start_controller)
  "$bin/railgauge-fleet" --controller "unix:$socket" --scenario "$work/scenario.yaml" --kernels verbs.write_bw >>"$work/fleet.log" 2>&1 &
  echo $! >"$work/fleet.pid"
  wait_for "$kNodes nodes attach" 120 attached "$kNodes"
  cli run "$work/small.yaml" --all >/dev/null
  echo "$(used_mb) MB of $kLimitMb MB are in use"
}

# Several at once, as an impatient person tries again.
large_runs_are_refused() {
  local i code refused=0
  stored >"$work/before"
  for i in 1 2 3; do cli run "$work/large.yaml" --all --detach >"$work/large-$i" 2>&1 & done
  for i in 1 2 3; do wait -n || refused=$((refused + 1)); done
  cat "$work"/large-[123]
  [ "$refused" -ge 1 ]
  grep -h "memory is short" "$work"/large-[123]
  alive controller
  [ "$(killed)" = 0 ]
}

nothing_is_lost_and_it_goes_on() {
  for run in $(cli runs -o json | jq -r '.runs[] | select(.state != "ended") | .run_id'); do cli runs cancel "$run"; done
  wait_for "the other runs end" 60 eval '[ "$(cli runs -o json | jq "[.runs[] | select(.state != \"ended\")] | length")" = 0 ]'
  cli run "$work/small.yaml" --all >/dev/null
  read -r before _ <"$work/before"
  [ "$(stored | cut -d ' ' -f 1)" -ge $((2 * before)) ]
  cli db check
  [ "$(killed)" = 0 ]
}

check "a controller with $kLimitMb MB serves $kNodes nodes" serves_a_small_run
check "a run that does not fit is refused with the figures, and nobody is killed" large_runs_are_refused
check "what was measured is there, and the next run passes" nothing_is_lost_and_it_goes_on
summary
