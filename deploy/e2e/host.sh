#!/usr/bin/env bash
# Tests the whole path as real processes on one host: controller, three agents, runners, on the fake verbs provider.
# Every fault that needs no real fabric is injected here.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

# A suite whose tasks last long enough to be interrupted.
cat >"$work/long.yaml" <<'Y'
version: 1
metadata: {name: long, summary: bandwidth that lasts}
stages:
  - kernel: verbs.write_bw
    parameters: {sizes: 64KiB, time_cap: 4s, min_samples: 1000000, max_samples: 2000000, proof_time: 200ms}
    placement: {pairs: all}
Y

results() { cli results "$1" -o json; }
ranks_stored() {
  sqlite3 "$work/railgauge.db" "SELECT count(*) FROM rank JOIN attempt ON attempt.id = rank.attempt
    JOIN task ON task.id = attempt.task JOIN run ON run.id = task.run WHERE run.run_id = '$1'"
}
# Each rank of an attempt has at most one point of each series, and no record that was sent again became an orphan.
nothing_stored_twice() {
  [ "$(sqlite3 "$work/railgauge.db" "SELECT count(*) - count(DISTINCT rank || ' ' || series) FROM point")" = 0 ]
  [ "$(sqlite3 "$work/railgauge.db" 'SELECT count(*) FROM orphan_record')" = 0 ]
}
run_state() { cli runs show "$1" -o json | jq -r .run.state; }
ended() { [ "$(run_state "$1")" = ended ]; }
running_task() { cli runs show "$1" -o json | jq -e '[.tasks[] | select(.state == "running")] | length > 0'; }

# The figures themselves are marked, since fake libraries make them; the site is not.
real_data_has_no_mark() {
  local verb format
  for verb in nodes runs findings events schedules history report results version doctor "topo a"; do
    for format in table json csv; do
      # shellcheck disable=SC2086
      cli $verb -o "$format" >"$work/real.txt" 2>&1 || true
      [ -s "$work/real.txt" ] || { echo "$verb -o $format: says nothing"; return 1; }
      ! grep -E "this controller's data|data_kind" "$work/real.txt" || { echo "$verb -o $format"; return 1; }
    done
  done
}

quick_measures_all_pairs() {
  cli run quick -o json >"$work/quick.json"
  cli runs -o json | jq -e '.runs[0].outcome == "passed"'
  results "" | jq -e '
    (.schema_version == 1) and ([.points[].endpoints | sort | join(" ")] | unique | length == 3)
    and ([.points[] | select(.kernel == "verbs.write_bw") | .endpoints | join(" ")] | unique | length == 6)
    and all(.points[]; .point | .median > 0 and .sample_count > 0 and .unit != "" and has("median_low") and has("p99") and has("p999"))
    and all(.points[]; .facts.path != null and .point.synthetic)'
}

# On the fake driver there is a task for each GPU, never two on one node at once, and a point for each pair of GPUs.
gpus_take_turns() {
  cat >"$work/gpus.yaml" <<'Y'
version: 1
metadata: {name: gpus}
stages:
  - {kernel: cuda.host_copy_bw, parameters: {sizes: 64KiB, iterations: 3}, placement: {local: all, each: gpu}}
  - {kernel: cuda.peer_copy_bw, parameters: {sizes: 1MiB, iterations: 3}, placement: {local: all}}
Y
  cli nodes show a -o json | jq -e '.nodes[0].gpus | length == 2 and .[0].uuid == "GPU-fake-0000:17:00.0" and .[1].name == "gpu1"'
  cli run "$work/gpus.yaml" --nodes a -o json >"$work/gpus.json"
  jq -e '.run.outcome == "passed" and ([.tasks[] | [.round, .endpoints[0]]] == [[0, "a/gpu0"], [1, "a/gpu1"], [2, "a"]])
    and ([.points[] | select(.kernel == "cuda.peer_copy_bw") | .point.pair] | sort == ["gpu0>gpu1", "gpu1>gpu0"])' "$work/gpus.json"
  [ "$(sqlite3 "$work/railgauge.db" "SELECT count(DISTINCT endpoints) FROM series WHERE kernel = 'cuda.host_copy_bw'")" = 2 ]
  cli runs show "$(jq -r .run.run_id "$work/gpus.json")" --as nvbandwidth | grep -F 'nvbandwidth -t device_to_device_memcpy_read_ce'
  cli suites check gpudirect
}

# Two GPUs and one port on the fakes: each GPU runs once with the port, both ranks on one node, and every point carries
# the distance and the fact that the path is loopback. Then the suite's own form, device and host memory on either side.
gpus_meet_the_nic_by_loopback() {
  cat >"$work/loopback.yaml" <<'Y'
version: 1
metadata: {name: loopback}
stages:
  - kernel: verbs.write_bw
    parameters: {memory: cuda, staged_twin: true, sizes: 64KiB, iterations: 64}
    placement: {loopback: all, each: gpu_nic}
  - kernel: verbs.write_imm_lat
    parameters: {sizes: 8, iterations: 64}
    vary: {memory: [cuda, host], target_memory: [cuda, host]}
    placement: {loopback: all, each: gpu}
Y
  cli nodes show a -o json | jq -e '[.nodes[0].gpus[].distances.fake0] == ["PIX", "PHB"]'
  cli suites plan "$work/loopback.yaml" --nodes a -o json | jq -e '[.tasks[:2][] | .endpoints]
    == [["a/fake0:1+gpu0", "a/fake0:1+gpu0"], ["a/fake0:1+gpu1", "a/fake0:1+gpu1"]] and ([.tasks[].round] == [range(10)])'
  cli run "$work/loopback.yaml" --nodes a -o json >"$work/loopback.json"
  jq -e '.run.outcome == "passed" and (.tasks | length == 10) and all(.points[]; .facts.loopback == "true" and .point.synthetic)
    and ([.points[] | select(.kernel == "verbs.write_bw" and .point.pair == "" and .point.unit == "bytes_per_second")
      | [.facts.gpu, .facts.gpu_nic_distance]] == [["gpu0", "PIX"], ["gpu1", "PHB"]])
    and ([.points[] | select(.kernel == "verbs.write_imm_lat") | [.facts.memory, .facts.peer_memory] | join(">")] | unique
      == ["cuda>cuda", "cuda>host", "host>cuda", "host>host"])
    and ([.distance_costs[] | select(.kernel == "verbs.write_bw") | [.node, .gpu, .distance, .pairs, .bandwidth_kept, .pair]] | sort
      == [["a", "gpu0", "PIX", 1, 1, ""], ["a", "gpu0", "PIX", 1, 1, "staged"], ["a", "gpu1", "PHB", 1, 1, ""], ["a", "gpu1", "PHB", 1, 1, "staged"]])' "$work/loopback.json"
  [ "$(sqlite3 "$work/railgauge.db" "SELECT group_concat(gpu_slot, ' ') FROM endpoint WHERE gpu_slot <> ''")" = "0000:17:00.0 0000:9f:00.0" ]
  expect_exit 5 cli run "$work/loopback.yaml" --nodes b -o json >"$work/loopback-b.json"  # has no GPU
  jq -e 'all(.tasks[]; .reason == "b has no gpu")' "$work/loopback-b.json"
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
  local owner; owner=$(cli nodes show a -o json | jq -r '.. | .node_id? // empty' | head -1)
  start_agent a "$work/state-impostor" agent-impostor
  wait_for "the impostor is refused" 10 grep -qi -E 'refus|another' "$work/agent-impostor.log"
  cli nodes -o json | jq -e '[.nodes[] | select(.name == "a")] | length == 1 and .[0].state == "attached" and .[0].node_id == "'"$owner"'"'
  alive agent-a
  stop_hard agent-impostor
}

killed_controller_stores_once() {
  kill -TERM "$(pid_of controller)"
  wait_for "the controller ends" 15 eval '! alive controller'
  RAILGAUGE_FAILPOINT=store.records_committed start_controller
  wait_for "agents attach again" 40 attached 3
  local run stored
  run=$(cli run quick --detach)
  wait_for "the controller dies after a commit of records" 60 eval '! alive controller'
  stored=$(ranks_stored "$run")
  [ "$stored" -gt 0 ]   # committed before it died and never acknowledged: the agents send these again
  start_controller
  wait_for "agents attach again" 40 attached 3
  wait_for "spools are empty" 40 eval "cli nodes -o json | jq -e 'all(.nodes[]; .spool_records == 0)'"
  [ "$(cli runs show "$run" -o json | jq -r .run.outcome)" = crashed ]
  nothing_stored_twice
}

points_of() {
  sqlite3 "$work/railgauge.db" "SELECT task_id, attempt.attempt, rank.rank, point.sequence, median FROM point JOIN rank ON rank.id = point.rank
    JOIN attempt ON attempt.id = rank.attempt JOIN task ON task.id = attempt.task JOIN run ON run.id = task.run
    WHERE run_id = '$1' ORDER BY 1, 2, 3, 4"
}
same_points() { [ "$(points_of "$1")" = "$(cat "$2")" ]; }
spools_empty() { cli nodes -o json | jq -e 'all(.nodes[]; .spool_records == 0)'; }

# A backup is taken during a run. After it is restored, later records are only in the agents' spools.
restored_controller_gets_everything_back() {
  local run later
  run=$(cli run "$work/long.yaml" --nodes a,b --detach)
  wait_for "a task runs" 10 running_task "$run"
  cli db backup backup.db
  expect_exit 4 cli db restore "$work/backups/backup.db" --database "$work/railgauge.db" 2>"$work/restore.err"
  grep 'stop railgauge-controller' "$work/restore.err"
  cli runs wait "$run"
  cli run quick --nodes a,b -o json >"$work/later.json"
  later=$(jq -r .run.run_id "$work/later.json")
  wait_for "spools are empty" 40 spools_empty
  points_of "$run" >"$work/points"; points_of "$later" >"$work/later-points"
  [ -s "$work/points" ] && [ -s "$work/later-points" ]
  kill -TERM "$(pid_of controller)"
  wait_for "the controller ends" 15 eval '! alive controller'
  cli db restore "$work/backups/backup.db" --database "$work/railgauge.db"
  [ -z "$(points_of "$run")" ]   # the backup is older than they
  start_controller
  wait_for "agents attach again" 40 attached 3
  wait_for "the points are back" 40 same_points "$run" "$work/points"
  grep -q 'a backup was restored' "$work/agent-a.log" && grep -q 'a backup was restored' "$work/agent-b.log"
  # The plan of the later run is lost; its records become orphans.
  wait_for "the later run's records are kept" 40 eval "[ \"\$(sqlite3 $work/railgauge.db \"SELECT count(*) FROM orphan_record WHERE run_id = '$later'\")\" -gt $(wc -l <"$work/later-points") ]"
  cli db check
  cli audit -o json >"$work/audit.json"
  jq -e '[.entries[] | select(.rpc == "restore" and (.subject | contains("backup.db")))] | length == 1' "$work/audit.json"
  [ ! -e "$work/railgauge.db.restored" ]
}

cancel_is_verified() {
  local run; run=$(cli run "$work/long.yaml" --detach)
  wait_for "a task runs" 10 running_task "$run"
  cli runs cancel "$run"
  expect_exit 130 cli runs wait "$run"
  ! pgrep -f "$bin/railgauge-runner --task"
}

# Limits are in bytes; the kernel's kB has 1024. The controller's is a guard: it held 41 to 51 MB. An agent's is for its peak.
# Agent c's node has no GPU, so NVML is not loaded there. All processes have done a run.
memory_stays_small() {
  local process field limit bytes
  for process in "controller VmRSS 60000000" "agent-c VmHWM 25000000" "agent-a VmHWM 60000000"; do
    read -r process field limit <<<"$process"
    bytes=$(awk -v field="$field:" '$1 == field {print $2 * 1024}' "/proc/$(pid_of "$process")/status")
    echo "resident: $process $field $bytes bytes, allowed $limit"
    [ "$bytes" -lt "$limit" ]
  done
}

# exit_code_in FILE COUNTS: prints the exit code that follows from the states. COUNTS: the checks whose "unknown" counts
# ("all", or ids separated by commas).
exit_code_in() {
  jq --arg counts "$2" '[.checks[].state] as $states | if any($states[]; . == "fail") then 1 elif any($states[]; . == "error") then 4
    elif any(.checks[]; .state == "unknown" and ($counts == "all" or (.id | IN($counts | split(",")[])))) then 3 else 0 end' "$1"
}
# Runs the agent alone, and the CLI that calls it, on trees of files with known answers and on this host.
preflight_needs_no_controller() {
  local tree=$work/bare of_host=$work/of-host.json id
  agent() { "$bin/railgauge-agent" --preflight --root "$tree" "$@"; }
  local_cli() { env -u RAILGAUGE_CONTROLLER "$bin/railgauge" preflight --local "$@"; }
  mkdir -p "$tree"
  agent --format json >"$work/bare.json"
  jq -e '(.nodes | length == 1) and ([.checks[].id] | unique | length == 37) and all(.checks[]; .state | IN("pass", "waived", "unknown"))
    and any(.checks[]; .id == "hugepages" and .state == "unknown") and any(.checks[]; .id == "acs" and .state == "waived")' "$work/bare.json"
  agent >"$work/bare.txt"
  for id in $(jq -r '.checks[] | select(.state == "unknown") | .id' "$work/bare.json"); do grep -q "^unknown *$id " "$work/bare.txt"; done
  agent --require acs,mtu >"$work/out"
  expect_exit 3 agent --require acs,hugepages >"$work/out"
  expect_exit 3 agent --strict --format json >"$work/out"
  expect_exit 2 agent --require acss 2>"$work/err"
  grep 'no check "acss".*did you mean "acs"' "$work/err"
  mkdir -p "$tree/sys/devices/system" && echo "no folder" >"$tree/sys/devices/system/cpu"
  expect_exit 4 agent --format json >"$work/out"
  jq -e 'any(.checks[]; .id == "cpu_power" and .state == "error")' "$work/out"
  tree=$work/whole; mkdir -p "$tree"; ln -s "$work/sys-a" "$tree/sys"; ln -s "$work/proc-a" "$tree/proc"
  expect_exit 1 agent --format json >"$work/out"   # its NIC has no device file
  jq -e 'any(.checks[]; .id == "rdma_device_nodes" and .subject == "fake0" and .state == "fail" and (.remedy | length > 0))' "$work/out"
  local code=0; local_cli -o json >"$of_host" || code=$?
  jq -e '(.nodes | length == 1) and .nodes[0].error == "" and ([.checks[].id] | unique | length == 37)' "$of_host"
  [ "$code" = "$(exit_code_in "$of_host" "")" ]
  code=0; local_cli --require all -o json >"$of_host" || code=$?
  [ "$code" = "$(exit_code_in "$of_host" all)" ]
  code=0; local_cli --require hugepages,versions -o json >"$of_host" || code=$?
  [ "$code" = "$(exit_code_in "$of_host" hugepages,versions)" ]
  expect_exit 2 local_cli --require acss 2>"$work/err"
  grep 'acss.*did you mean "acs"' "$work/err"
  expect_exit 2 local_cli a 2>"$work/err"
}

preflight_is_complete_in_time() { preflight_is_complete 3 2; preflight_is_complete 3 10 --probe; }

# No source reports the users of the fake GPUs, so they count as busy; an answer from an hour before, when they were
# not, is shown.
busy_gpus_tell_the_answer_of_before() {
  cli preflight a --probe -o json >"$work/busy.json" || true
  jq -e '[.checks[] | select(.id == "gpudirect_registration")] | length == 2 and all(.[]; .state == "unknown"
    and (.observed | test("^busy: .*; 60 min ago: registered by dma-buf \\(synthetic\\)$")))' "$work/busy.json"
}
a_registrations_answer_outlives_the_agent() {
  stop_hard agent-a
  jq -n '{schema_version: 1, answers: [("gpu0", "gpu1") | {unix_seconds: (now - 3600),
    probe: {gpu: ., nic: "fake0", state: "registered", path: "dma-buf", synthetic: true}}]}' >"$work/state-a/agent-gpudirect"
  start_agent a
  wait_for "the agent that follows tells it" 20 busy_gpus_tell_the_answer_of_before
}

start_controller
make_gpus a
for node in a b c; do start_agent "$node"; done
wait_for "three agents attach" 20 attached 3

check "quick measures all pairs and its JSON is complete" quick_measures_all_pairs
check "data of real nodes has no mark of synthetic data" real_data_has_no_mark
check "a task costs less than 50 ms beside its measuring" overhead_below 0.05
check "the controller stays below 60 MB, an agent below 25 MB, with NVML below 60 MB" memory_stays_small
check "preflight is complete within 2 s a node, with the probe within 10 s" preflight_is_complete_in_time
check "what a GPU's registration said outlives the agent" a_registrations_answer_outlives_the_agent
check "preflight needs no controller: every check, and exit codes by what counts" preflight_needs_no_controller
check "a node's GPUs take turns and pairs are series" gpus_take_turns
check "GPUs meet their node's NIC by loopback, with the distance told" gpus_meet_the_nic_by_loopback
check "wrong suites and words are refused by name" unknown_things_are_refused_by_name
check "a device that does not exist waives, by name" missing_device_waives_and_names_it
check "a killed runner is a crash with its signal" killed_runner_is_a_crash_with_its_signal
check "a killed agent is lost and comes back" killed_agent_is_lost_and_comes_back
check "two agents cannot share a name" two_agents_cannot_share_a_name
check "cancel ends every runner" cancel_is_verified
check "a controller killed between commit and acknowledgement stores once" killed_controller_stores_once
check "a controller restored from a backup gets back what came after it" restored_controller_gets_everything_back
summary
