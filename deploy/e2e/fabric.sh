#!/usr/bin/env bash
# Tests the whole path over real RDMA verbs: a controller with mutual TLS on the host, an agent in each of three guests
# of the virtual fabric, and the faults that need a real fabric: a dead guest, a killed agent, locked memory.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/guests.sh"
cat >"$work/long.yaml" <<'Y'
version: 1
metadata: {name: long, summary: bandwidth that lasts}
stages:
  - kernel: verbs.write_bw
    parameters: {sizes: 64KiB, depth: 16, signal_every: 4, time_cap: 12s, min_samples: 1000000, max_samples: 2000000, stall_timeout: 5s, proof_time: 200ms}
    placement: {pairs: all}
Y

# task_runner_in NODE: prints the pids of runners in this guest; the bracket keeps pgrep from finding its own shell.
task_runner_in() { fabric exec "$1" pgrep -f '[r]ailgauge-runner --task'; }
no_task_runner_in() { ! task_runner_in "$1"; }
running_task() { cli runs show "$1" -o json | jq -e '[.tasks[] | select(.state == "running")] | length > 0'; }

quick_measures_three_pairs() {
  cli run quick
  cli results -o json >"$work/results.json"
  jq -e '
    ([.points[].endpoints | sort | join(" ")] | unique | length == 3)
    and ([.points[] | select(.kernel == "verbs.write_bw") | .endpoints | join(" ")] | unique | length == 6)
    and all(.points[]; .point.median > 0 and .point.median_low > 0 and .point.median_high >= .point.median_low
      and .point.sample_count > 0 and (.point.unit | length > 0) and (.point | has("p90") and has("p99") and has("p999"))
      and .facts.path == "host" and .facts.driver == "rdma_rxe" and (.point.synthetic | not) and .point.verified)
    and ([.points[] | select(.point.metric == "latency_ns") | .point.meaning] | unique == ["half_rtt"])' "$work/results.json"
}

metrics_of_a_guest_show_its_link() {
  local address
  address=$(fabric status --format json | jq -r '.nodes[] | select(.name == "n1") | "http://127.0.0.1:\(.metrics_port)/metrics"')
  curl -fsS "$address" | grep '^railgauge_link_latency_seconds{device="rxe0"'
}

# Asks one guest at a time, because three guests that are emulated on two cores slow each other.
preflight_knows_a_guest() {
  preflight_is_complete 1 2 n1 || return
  jq -e 'any(.checks[]; .id == "port_state" and .subject == "rxe0:1" and .state == "pass" and (.observed | startswith("active")))
    and any(.checks[]; .id == "gpudirect_registration" and .state == "waived")' "$work/preflight.json" || return
  preflight_is_complete 1 10 n1 --probe
}

# Compares the inventory that the agent reports with the guest's own files.
inventory_of_a_guest_is_true() {
  local rdma=/sys/class/infiniband/rxe0
  cli nodes show n1 -o json >"$work/n1.json"
  jq '.nodes[0] | {nics, stack_versions, mtu: .stack_settings.nic_mtu_bytes}' "$work/n1.json"
  jq -e --arg guid "$(fabric exec n1 cat $rdma/node_guid)" --arg mtu "$(fabric exec n1 cat /sys/class/net/eth0/mtu)" \
    --arg release "$(fabric exec n1 uname -r)" --arg booted "$(fabric status --format json | jq -r '.nodes[] | select(.name == "n1").linux_kernel')" \
    --arg cpus "$(fabric exec n1 nproc)" '.nodes[0] | (.nics | length == 1)
    and (.nics[0] | .device == "rxe0" and .port == 1 and .netdev == "eth0" and .driver == "rdma_rxe" and .pci_address == ""
      and .state == "active" and .link_layer == "ethernet" and .guid == $guid and ($guid | test("^[0-9a-f]{4}(:[0-9a-f]{4}){3}$")))
    and .stack_settings.nic_mtu_bytes == $mtu and ($mtu | tonumber) > 0
    and .stack_versions.linux_kernel == $release and "linux-image-" + $release == $booted
    and .facts.virtual_machine == "on" and .facts.gpus == "0" and .facts.cpu_processors == $cpus and .facts["loaded.rdma_rxe"] != null' "$work/n1.json"
}

locked_memory_too_small_says_what_to_set() {
  fabric exec n2 --detach --log listen "$bin/railgauge-runner" verbs.write_bw -d rxe0 --listen 0.0.0.0:7499
  sleep 1
  expect_exit 5 fabric exec n1 prlimit --memlock=65536:65536 setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock \
    "$bin/railgauge-runner" verbs.write_bw -d rxe0 --sizes 1MiB --connect 192.0.2.2:7499 2>"$work/memlock.err"
  cat "$work/memlock.err"
  grep -q 'RLIMIT_MEMLOCK' "$work/memlock.err" && grep -q 'LimitMEMLOCK' "$work/memlock.err"
}

log_of_n2_has() { [ "$(fabric logs n2 "$1" | grep -c "$2")" -gt 0 ]; }
# Real verbs under the filter of the agent's unit, which must refuse them nothing.
verbs_pass_under_the_filter() {
  local kernel port=7500 under=$top/deploy/systemd/under_filter.py
  "$under" --write "$work/pki/agent.calls" || return
  for kernel in write_lat write_bw send_bw read_bw; do
    port=$((port + 1))
    fabric exec n2 --detach --log "listen-$kernel" "$under" --list "$work/pki/agent.calls" \
      "$bin/railgauge-runner" "verbs.$kernel" -d rxe0 --listen "0.0.0.0:$port"
    wait_for "the listener of $kernel is there" 20 log_of_n2_has "listen-$kernel" listening
    fabric exec n1 "$under" --list "$work/pki/agent.calls" "$bin/railgauge-runner" "verbs.$kernel" -d rxe0 --sizes 4KiB \
      --connect "192.0.2.2:$port" >"$work/under-$kernel" 2>&1 || { cat "$work/under-$kernel"; return 1; }
    wait_for "the listener of $kernel ends" 20 log_of_n2_has "listen-$kernel" passed
    fabric logs n2 "listen-$kernel" >>"$work/under-$kernel"
    ! grep '^refused' "$work/under-$kernel" || return
  done
}

missing_device_says_what_is_there() {
  fabric exec n2 --detach --log listen "$bin/railgauge-runner" verbs.write_lat -d rxe0 --listen 0.0.0.0:7498
  sleep 1
  expect_exit 5 fabric exec n1 "$bin/railgauge-runner" verbs.write_lat -d mlx5_9 --connect 192.0.2.2:7498 2>"$work/device.err"
  cat "$work/device.err"
  grep -q mlx5_9 "$work/device.err" && grep -q rxe0 "$work/device.err"
}

killed_agent_ends_its_task_and_comes_back() {
  local run; run=$(cli run "$work/long.yaml" --nodes n1,n2 --detach)
  wait_for "a task runs" 30 running_task "$run"
  wait_for "its runner is there" 10 task_runner_in n2
  fabric exec n2 pkill -KILL -f '[r]ailgauge-agent --controller'
  wait_for "its runner ends with it" 20 no_task_runner_in n2
  start_guest_agent n2
  wait_for "n2 attaches again" 60 attached 3
  cli runs wait "$run" || true
  # The task either passed at its second attempt, on the returned agent, or ended with a reason that names the node.
  cli runs show "$run" -o json | jq -e '(.tasks[0].attempts == 2 and .run.outcome == "passed")
    or (.run.outcome == "crashed" and (.run.reason | test("n2")))'
}

dead_guest_is_named_and_the_run_ends() {
  local run code=0; run=$(cli run "$work/long.yaml" --nodes n1,n3 --detach)
  wait_for "a task runs" 30 running_task "$run"
  wait_for "the partner's runner is there" 10 task_runner_in n1
  fabric fault n3 kill
  timeout 90 "$bin/railgauge" runs wait "$run" || code=$?
  [ "$code" = 4 ]
  cli runs show "$run" -o json | jq -e '.run.outcome == "crashed" and (.run.reason | test("n3"))'
  wait_for "the partner's runner has ended" 20 no_task_runner_in n1
  cli run "$top/suites/quick.yaml" --nodes n1,n2   # the rest still measures
}

# The suite's gate admits guests, and each guest's port carries a message. Stages for GPUs are left out.
preflight_suite_admits_guests() {
  cli run "$top/suites/preflight.yaml" --nodes n1,n2 -o json >"$work/preflight_run.json"
  jq -e '.run.outcome == "passed"' "$work/preflight_run.json"
  cli runs show "$(jq -r .run.run_id "$work/preflight_run.json")" -o json |
    jq -e '[.tasks[] | select(.kernel == "verbs.write_lat" and .outcome == "passed")] | length == 2'
}

up_with 3

check "quick measures latency and bandwidth of all three pairs" quick_measures_three_pairs
# Three emulated guests share two cores, and a runner's start alone has been seen to take 0.3 to 2 s there.
check "a task costs less than 4 s beside its measuring" overhead_below 4
check "a guest's metrics show its link" metrics_of_a_guest_show_its_link
# An emulated guest may lack its processor for a second; a preflight that always takes longer fails thrice.
check "preflight knows a guest within 2 s, at the third try at the latest" at_most_tries 3 preflight_knows_a_guest
check "the inventory of a guest is true" inventory_of_a_guest_is_true
check "the suite preflight admits guests and tries their ports" preflight_suite_admits_guests
check "locked memory too small says what to set" locked_memory_too_small_says_what_to_set
check "verbs pass under the system call filter of the unit" verbs_pass_under_the_filter
check "a device that is not there says what is" missing_device_says_what_is_there
check "a killed agent ends its task and comes back" killed_agent_ends_its_task_and_comes_back
check "a dead guest is named, and the run ends" dead_guest_is_named_and_the_run_ends
summary
