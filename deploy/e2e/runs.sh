#!/usr/bin/env bash
# Tests runs side by side: real controller and CLI, NODES (48) modelled agents of railgauge-fleet. A night measures all
# nodes but two; a person's run of those two begins beside it, and a gate borrows two of its nodes. Figures are synthetic.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

readonly kNodes=${NODES:-48}
night_nodes=$(printf 'sim[0001-%04d]' $((kNodes - 2)))
free_nodes=$(printf 'sim[%04d-%04d]' $((kNodes - 1)) "$kNodes")
readonly night_nodes free_nodes
mkdir "$work/suites"
# The pauses between the rounds are the length of the night: modelled tasks take no time.
cat >"$work/suites/night.yaml" <<'Y'
version: 1
metadata: {name: night, summary: "bandwidth of many pairs"}
rounds: {settle: 1s}
stages:
  - kernel: verbs.write_bw
    parameters: {sizes: 64KiB}
    placement: {pairs: quick, matchings: 40, rails: same, rails_together: true}
Y
cat >"$work/suites/short.yaml" <<'Y'
version: 1
metadata: {name: short, summary: "bandwidth of pairs"}
rounds: {settle: 1s}
stages:
  - kernel: verbs.write_bw
    parameters: {sizes: 64KiB}
    repetitions: 3
    placement: {pairs: all, rails: same, rails_together: true}
Y
cat >"$work/scenario.yaml" <<Y
version: 1
metadata: {name: runs}
seed: 3
fabric: {nodes: $kNodes, rails: 2, leaves: 4, spines: 2}
classes: [{name: small, gpus: 2, nics: 2}]
noise: [{kind: gaussian, size: 0.01}]
Y

start_fleet() {
  "$bin/railgauge-fleet" --controller "unix:$socket" --scenario "$work/scenario.yaml" --kernels verbs.write_bw \
    >>"$work/fleet.log" 2>&1 &
  echo $! >"$work/fleet.pid"
  wait_for "$kNodes nodes attach" 120 attached "$kNodes"
}

# field RUN NAME: prints it; nothing where it is absent.
field() { cli runs show "$1" -o json | jq -r ".run.$2 // \"\""; }
is_state() { [ "$(field "$1" state)" = "$2" ]; }
ended_tasks() { [ "$(field "$1" tasks_ended)" -ge "$2" ]; }

# start_night NAME: starts a schedule's run now, and writes its id into NAME.id.
start_night() {
  cli schedules add "$1" night --cron "0 1 1 1 *" --nodes "$night_nodes"
  cli schedules run-now "$1" >"$work/$1.id"
  wait_for "the night measures" 60 ended_tasks "$(cat "$work/$1.id")" 1
}

free_nodes_are_measured_beside_a_night() {
  start_night first
  local night run from; night=$(cat "$work/first.id")
  from=$(date +%s%N)
  run=$(cli run short --nodes "$free_nodes" --detach)
  wait_for "the run begins" 20 is_state "$run" running
  echo "$((($(date +%s%N) - from) / 1000000))" >"$work/start_ms"
  is_state "$night" running
  cli runs wait "$run"
  is_state "$night" running
}

shows_a_waiting_run() {
  local port; port=$(sed -n 's/.* metrics on .*port \([0-9]*\)$/\1/p' "$work/controller.log" | tail -n 1)
  curl -fsS "http://127.0.0.1:$port/metrics" | grep -F 'railgauge_runs_waiting{priority="cli"} 1'
}
run_that_meets_the_night_says_for_whom_it_waits() {
  local night run; night=$(cat "$work/first.id")
  run=$(cli run short --nodes sim0003,sim0004 --detach)
  is_state "$run" planned
  cli runs | tee "$work/runs.txt"
  grep -E "$run .*waits for run $night on sim\[0003-0004\]" "$work/runs.txt"
  [ "$(field "$run" reason)" = "waits for run $night on sim[0003-0004]" ]
  wait_for "the metric shows it" 10 shows_a_waiting_run
  cli runs cancel "$run"
  is_state "$run" ended
}

# Pairs that a gate's run interrupts, or keeps out of their round, are measured after it.
gate_borrows_nodes_and_the_night_measures_them_afterwards() {
  local night gate; night=$(cat "$work/first.id")
  is_state "$night" running
  cli upgrades prepare --nodes sim0003 --controls sim0004 --suite short
  gate=$(cli runs -o json | jq -r '[.runs[] | select(.trigger == "upgrade")][0].run_id')
  is_state "$gate" ended
  cli runs wait "$night" >"$work/wait.txt"
  cli runs show "$night" -o json >"$work/night.json"
  jq -e '.run.outcome == "passed" and (.run.reason | test("lent to a gate for"))' "$work/night.json"
  jq -e '.run.tasks_total == .run.tasks_ended and .run.outcomes.passed == .run.tasks_total' "$work/night.json"
  # No pair of the night was measured twice.
  cli sql "SELECT count(*) AS tasks, sum(passed > 1) AS twice FROM (SELECT attempt.task, count(*) FILTER (WHERE attempt.outcome = 'passed')
    AS passed FROM attempt JOIN task ON task.id = attempt.task JOIN run ON run.id = task.run
    WHERE run.run_id = '$night' GROUP BY attempt.task)" -o json | tee "$work/attempts.json"
  jq -e '.rows[0].twice == 0' "$work/attempts.json"
}

# Waiting, under way, lending and borrowing.
killed_controller_leaves_no_node_leased() {
  start_night second
  cli run short --nodes sim0005,sim0006 --detach
  cli run short --nodes "$free_nodes" --detach
  stop_hard controller
  wait_for "the controller is gone" 10 eval '! alive controller'
  start_controller
  wait_for "the nodes are back" 60 attached "$kNodes"
  [ "$(cli runs -o json | jq '[.runs[] | select(.state != "ended")] | length')" = 0 ]
  cli run short --nodes sim0005,sim0006
}

suites=$work/suites
start_controller
start_fleet
check "free nodes are measured beside a night" free_nodes_are_measured_beside_a_night
check "a run that meets the night says for whom it waits" run_that_meets_the_night_says_for_whom_it_waits
check "a gate borrows nodes, and the night measures them afterwards" gate_borrows_nodes_and_the_night_measures_them_afterwards
check "a killed controller leaves no node leased" killed_controller_leaves_no_node_leased
echo "synthetic: a run of 2 free nodes beside a night of $((kNodes - 2)) was under way after $(cat "$work/start_ms") ms"
summary
