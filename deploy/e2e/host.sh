#!/usr/bin/env bash
# The whole path as real processes on one host: controller, three agents, runners, on the fake verbs provider.
# Every fault that needs no real fabric is injected here.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

# A suite whose tasks last long enough to be interrupted.
cat >"$work/long.yaml" <<'Y'
version: 1
metadata: {name: long, summary: bandwidth that lasts}
stages:
  - kernel: verbs.write_bw
    parameters: {sizes: 64KiB, time_cap: 4s, min_samples: 1000000, max_samples: 2000000}
    placement: {pairs: all}
Y

results() { cli results "$1" -o json; }
points_stored() { sqlite3 "$work/railgauge.db" 'SELECT count(*) FROM point'; }
run_state() { cli runs show "$1" -o json | jq -r .run.state; }
ended() { [ "$(run_state "$1")" = ended ]; }
running_task() { cli runs show "$1" -o json | jq -e '[.tasks[] | select(.state == "running")] | length > 0'; }

quick_measures_all_pairs() {
  cli run quick -o json >"$work/quick.json"
  cli runs -o json | jq -e '.runs[0].outcome == "passed"'
  results "" | jq -e '
    (.schema_version == 1) and ([.points[].endpoints | join(" ")] | unique | length == 3)
    and all(.points[]; .point | .median > 0 and .sample_count > 0 and .unit != "" and has("median_low") and has("p99") and has("p999"))
    and all(.points[]; .facts.path != null and .point.synthetic)'
}

overhead_is_small() {
  # Everything beside the measuring time, a rank, split as the records have it.
  cli runs show "$(cli runs -o json | jq -r '.runs[0].run_id')" -o json | tee "$work/phases.json" | jq -r '
    .tasks[] | .task_id as $task | .ranks[] | .phases |
    "\($task) start \(.start_ns / 1e6) open \(.open_ns / 1e6) wait \(.wait_ns / 1e6) exchange \(.exchange_ns / 1e6) stop \(.stop_ns / 1e6) ms"'
  jq -e 'all(.tasks[].ranks[].phases; (.start_ns + .open_ns + .exchange_ns + .stop_ns) > 0)' "$work/phases.json"
}

unknown_things_are_refused_by_name() {
  printf 'version: 1\nmetadata: {name: x}\nstages:\n  - kernel: verbs.write_lat\n    parameters: {depht: 3}\n' >"$work/bad.yaml"
  expect_exit 2 cli run "$work/bad.yaml" 2>"$work/bad.err"
  grep -E 'bad.yaml:5.*depht' "$work/bad.err"
  expect_exit 2 cli run nosuch 2>"$work/bad.err"
  grep nosuch "$work/bad.err"
  expect_exit 2 cli nodse 2>"$work/bad.err"
  grep 'did you mean' "$work/bad.err"
}

missing_device_waives_and_names_it() {
  printf 'version: 1\nmetadata: {name: missing}\nstages:\n  - kernel: verbs.write_lat\n    placement: {pairs: all, endpoint: "mlx5_9:1"}\n' >"$work/missing.yaml"
  expect_exit 5 cli run "$work/missing.yaml" -o json >"$work/missing.json"
  grep -q mlx5_9 <(cli runs show "$(cli runs -o json | jq -r '.runs[0].run_id')" -o json)
}

killed_runner_is_a_crash_with_its_signal() {
  local run; run=$(cli run "$work/long.yaml" --nodes a,b --detach)
  wait_for "a task runs" 10 running_task "$run"
  sleep 0.5
  pkill -KILL --newest -f "$bin/railgauge-runner --task"
  expect_exit 4 cli runs wait "$run"
  cli runs show "$run" -o json | jq -e '.run.outcome == "crashed"' && grep -i -E 'signal|kill' <(cli runs show "$run" -o json)
}

killed_agent_is_lost_and_comes_back() {
  local run; run=$(cli run "$work/long.yaml" --nodes a,b --detach)
  wait_for "a task runs" 10 running_task "$run"
  stop_hard agent-b
  sleep 1
  start_agent b
  cli runs wait "$run" || true
  # The attempt that lost its agent stays visible; the run ended one way or the other, within the deadline.
  cli runs show "$run" -o json | jq -e '.run.state == "ended" and (.tasks[0].attempts == 2 or .run.outcome == "crashed")'
  ! pgrep -f "$bin/railgauge-runner --task"
}

two_agents_cannot_share_a_name() {
  start_agent a "$work/state-impostor" agent-impostor
  wait_for "the impostor is refused" 10 grep -qi -E 'refus|another' "$work/agent-impostor.log"
  cli nodes -o json | jq -e '[.nodes[] | select(.name == "a")] | length == 1 and .[0].state == "attached"'
  stop_hard agent-impostor
}

killed_controller_stores_once() {
  kill -TERM "$(pid_of controller)"
  wait_for "the controller ends" 15 eval '! alive controller'
  RAILGAUGE_FAILPOINT=store.committed start_controller || true
  wait_for "agents attach again" 40 attached 3 || true
  cli run quick --detach >/dev/null || true
  wait_for "the controller dies after its commit" 60 eval '! alive controller'
  start_controller
  wait_for "agents attach again" 40 attached 3
  wait_for "spools are empty" 40 eval "cli nodes -o json | jq -e 'all(.nodes[]; .spool_records == 0)'"
  sqlite3 "$work/railgauge.db" 'SELECT count(*) FROM point' >&2
  [ "$(cli runs -o json | jq '[.runs[] | select(.state != "ended")] | length')" = 0 ]
}

cancel_is_verified() {
  local run; run=$(cli run "$work/long.yaml" --detach)
  wait_for "a task runs" 10 running_task "$run"
  cli runs cancel "$run"
  expect_exit 130 cli runs wait "$run"
  ! pgrep -f "$bin/railgauge-runner --task"
}

memory_stays_small() {
  local pid rss
  for pid in "$(pid_of controller)" "$(pid_of agent-c)"; do
    rss=$(awk '/^VmRSS/ {print $2}' "/proc/$pid/status")
    echo "resident: $rss kB, $(tr '\0' ' ' <"/proc/$pid/cmdline" | cut -c1-60)"
    [ "$rss" -lt 40000 ]
  done
}

start_controller
for node in a b c; do start_agent "$node"; done
wait_for "three agents attach" 20 attached 3

check "quick measures all pairs and its JSON is complete" quick_measures_all_pairs
check "the phases of each task are there" overhead_is_small
check "controller and agent stay below 40 MB" memory_stays_small
check "wrong suites and words are refused by name" unknown_things_are_refused_by_name
check "a device that does not exist waives, by name" missing_device_waives_and_names_it
check "a killed runner is a crash with its signal" killed_runner_is_a_crash_with_its_signal
check "a killed agent is lost and comes back" killed_agent_is_lost_and_comes_back
check "two agents cannot share a name" two_agents_cannot_share_a_name
check "cancel ends every runner" cancel_is_verified
check "a controller killed between commit and acknowledgement stores once" killed_controller_stores_once
summary
