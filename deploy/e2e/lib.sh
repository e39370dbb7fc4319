# Shared by the end-to-end tests: a controller and agents as real processes of this host, on the fake
# verbs provider (figures are synthetic). All files are below one temporary folder and all processes end with the test.
# shellcheck shell=bash

set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
bin=${RAILGAUGE_BUILD_DIR:-$top/build/dev}/bin
work=$(mktemp -d "${TMPDIR:-/tmp}/railgauge-e2e.XXXXXX")
socket=$work/controller.sock
export RAILGAUGE_CONTROLLER=unix:$socket RAILGAUGE_CONSOLE_LISTEN=none no_proxy='*' NO_PROXY='*'
passed=0 failed=0 left_out=0

finish() {
  local code=$?
  for pidfile in "$work"/*.pid; do [ ! -e "$pidfile" ] || stop_hard "$(basename "$pidfile" .pid)"; done
  wait 2>/dev/null || true
  if [ "$failed" = 0 ] && { [ "$code" = 0 ] || [ "$code" = 77 ]; }; then rm -rf "$work"; else echo "logs: $work"; fi
}
trap finish EXIT

# Processes have names (controller, agent-a). Their pids are in files, because tests run in subshells.
pid_of() { cat "$work/$1.pid"; }
alive() { kill -0 "$(pid_of "$1")" 2>/dev/null; }
stop_hard() { kill -KILL "$(pid_of "$1")" 2>/dev/null || true; }

# make_sysfs ROOT [DEVICE]: writes the few sysfs files that the inventory reads of a host with one fake NIC port.
make_sysfs() {
  local root=$1 device=${2:-fake0}
  local port=$root/class/infiniband/$device/ports/1
  mkdir -p "$port/gid_attrs/ndevs" "$port/gid_attrs/types" "$port/gids" "$root/class/net"
  echo "4: ACTIVE" >"$port/state"; echo "5: LinkUp" >"$port/phys_state"
  echo "100 Gb/sec (4X EDR)" >"$port/rate"; echo Ethernet >"$port/link_layer"
  echo lo >"$port/gid_attrs/ndevs/0"; echo "RoCE v2" >"$port/gid_attrs/types/0"
  echo "0000:0000:0000:0000:0000:ffff:7f00:0001" >"$port/gids/0"
  echo "0000:0000:0000:0001" >"$root/class/infiniband/$device/node_guid"
  echo "fake" >"$root/class/infiniband/$device/fw_ver"
}

# add_pci_device SYSFS PATH: makes a device below SYSFS/devices, and its link by address.
add_pci_device() {
  mkdir -p "$1/devices/$2" "$1/bus/pci/devices"
  echo 0 >"$1/devices/$2/numa_node"
  ln -s "../../../devices/$2" "$1/bus/pci/devices/${2##*/}"
}

# make_gpus NODE: adds two GPUs to the node's files and places the fake NIC on PCIe, on the switch of the first GPU and
# below the same host bridge as the second. Call it before start_agent.
make_gpus() {
  local node=$1 address folder root=$work/sys-$1
  [ -d "$root/class" ] || make_sysfs "$root"
  add_pci_device "$root" pci0000:15/0000:15:01.0/0000:16:00.0/0000:16:01.0/0000:18:00.0
  echo 0x020000 >"$root/bus/pci/devices/0000:18:00.0/class"; echo 0x15b3 >"$root/bus/pci/devices/0000:18:00.0/vendor"
  ln -s ../../../bus/pci/devices/0000:18:00.0 "$root/class/infiniband/fake0/device"
  add_pci_device "$root" pci0000:15/0000:15:01.0/0000:16:00.0/0000:16:02.0/0000:17:00.0
  add_pci_device "$root" pci0000:15/0000:15:02.0/0000:9f:00.0
  for address in 0000:17:00.0 0000:9f:00.0; do
    folder=$root/bus/pci/devices/$address
    mkdir -p "$work/proc-$node/driver/nvidia/gpus/$address"
    echo 0x030200 >"$folder/class"; echo 0x10de >"$folder/vendor"; echo 0 >"$folder/numa_node"
    printf 'Model: \t\t Fake GPU\nGPU UUID: \t GPU-fake-%s\n' "$address" >"$work/proc-$node/driver/nvidia/gpus/$address/information"
  done
}

start_controller() {
  "$bin/railgauge-controller" --socket "$socket" --database "$work/railgauge.db" --suites "${suites:-$top/suites}" \
    --metrics-listen 127.0.0.1:0 "$@" >>"$work/controller.log" 2>&1 &
  echo $! >"$work/controller.pid"
  wait_for "the controller answers" 10 cli version
}

# start_agent NODE [STATE_DIR [PROCESS]]: starts an agent on fake libraries, which dials $agent_dials where that is set;
# PROCESS (agent-NODE) names its log and pid file. The fake wire writes into another runner's memory, which Landlock forbids.
start_agent() {
  local node=$1 state=${2:-$work/state-$1} process=${3:-agent-$1}
  [ -d "$work/sys-$node/class" ] || make_sysfs "$work/sys-$node"
  local lib; lib=$(dirname "$bin")/lib
  RAILGAUGE_LIBIBVERBS=$lib/libibverbs-fake.so RAILGAUGE_LIBCUDA=$lib/libcuda-fake.so RAILGAUGE_LIBNVML=$lib/libnvidia-ml-fake.so \
    RAILGAUGE_LIBGDRAPI=$lib/libgdrapi-fake.so RAILGAUGE_LIBVULKAN=$lib/libvulkan-fake.so RAILGAUGE_FAKE_CUDA=gpus=2 \
    "$bin/railgauge-agent" --controller "${agent_dials:-unix:$socket}" --name "$node" --state-dir "$state" \
    --sysfs-root "$work/sys-$node" --proc-root "$work/proc-$node" --runner-landlock false \
    --metrics-listen 127.0.0.1:0 >>"$work/$process.log" 2>&1 &
  echo $! >"$work/$process.pid"
}

cli() { "$bin/railgauge" "$@"; }

# wait_for TITLE SECONDS COMMAND...: repeats the command until it succeeds; fails after so many seconds.
wait_for() {
  local what=$1 limit=$2 until; shift 2
  until=$(($(date +%s) + limit))
  until "$@" >/dev/null 2>&1; do
    [ "$(date +%s)" -lt "$until" ] || { echo "    waited $limit s in vain: $what"; return 1; }
    sleep 0.1
  done
}

# at_most_tries N COMMAND...: passes when one of N tries passes. errexit is off inside COMMAND.
at_most_tries() {
  local left=$1; shift
  for ((; left > 0; --left)); do "$@" && return; done
  return 1
}

attached() { [ "$(cli nodes -o json | jq '[.nodes[] | select(.state == "attached")] | length')" = "$1" ]; }

# phases_of_newest_run: prints the duration of each rank's phases in ms, one line a rank.
phases_of_newest_run() {
  cli runs show "$(cli runs -o json | jq -r '.runs[0].run_id')" -o json >"$work/phases.json"
  jq -r '.tasks[] | .task_id as $task | .ranks[] | .rank as $rank | .phases | to_entries
    | map("\(.key | rtrimstr("_ns")) \((.value // 0) / 1e5 | round / 10)") | "\($task) rank \($rank): \(join(", ")) ms"' "$work/phases.json"
}

# overhead_below SECONDS: passes when the median rank of the newest run took less than this, without measuring and
# without waiting for other ranks. The median, since one scheduler hiccup of the test machine is no property of ours.
overhead_below() {
  phases_of_newest_run
  jq -e --argjson limit "$1" '[.tasks[].ranks[].phases | (.start_ns + .open_ns + .exchange_ns + .stop_ns) / 1e9] | sort
    | length > 0 and .[(length / 2 | floor)] < $limit' "$work/phases.json"
}

# preflight_is_complete NODES SECONDS [FLAG...]: passes when NODES nodes answered, each all 37 checks within SECONDS.
# Each check has one of the six states, an observation and a reason; a fault also has its source and a remedy. The
# states themselves depend on the host.
preflight_is_complete() {
  local nodes=$1 seconds=$2; shift 2
  cli preflight "$@" -o json >"$work/preflight.json" || true
  jq -c '[.nodes[] | {node, seconds, error}]' "$work/preflight.json"
  jq -e --argjson nodes "$nodes" --argjson seconds "$seconds" '. as $all | (.nodes | length == $nodes)
    and all(.nodes[]; .error == "" and .seconds < $seconds)
    and all(.nodes[].node; . as $node | [$all.checks[] | select(.node == $node) | .id] | unique | length == 37)
    and all(.checks[]; (.state | IN("pass", "warn", "fail", "error", "waived", "unknown")) and .observed != "" and .why != ""
      and (.state != "fail" and .state != "warn" or .source != "" and (.remedy | length > 0)))' "$work/preflight.json"
}

# check NAME COMMAND...: runs one test and prints its output only when it fails. Exit code 77 waives it; its last line says why.
check() {
  local name=$1 log code; shift
  log=$work/check-$((passed + failed + left_out)).log
  set +e  # a condition would switch errexit off inside the test
  (set -e; "$@") >"$log" 2>&1
  code=$?
  set -e
  if [ "$code" = 0 ]; then
    passed=$((passed + 1)); echo "ok     $name"
  elif [ "$code" = 77 ]; then
    left_out=$((left_out + 1)); echo "waived $name: $(tail -n 1 "$log")"
  else
    failed=$((failed + 1)); echo "FAILED $name"; sed 's/^/    /' "$log" | tail -40
  fi
}

# expect_exit CODE COMMAND...: fails unless the command ends with that code.
expect_exit() {
  local want=$1 got=0; shift
  "$@" || got=$?
  [ "$got" = "$want" ] || { echo "exit code $got, wanted $want: $*"; return 1; }
}

# A test that was waived is no pass: exit code 77 then.
summary() {
  echo "$passed passed, $failed failed$([ "$left_out" = 0 ] || echo ", $left_out waived")"
  [ "$failed" = 0 ] && [ "$passed" -gt 0 ] || return 1
  [ "$left_out" = 0 ] || return 77
}
