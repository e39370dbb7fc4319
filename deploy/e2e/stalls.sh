#!/usr/bin/env bash
# Tests on the virtual fabric that a stalling sender cannot hide: after a mark of an upgrade (a setting of n1's stack),
# n1's guest process is stopped and continued for 20 % and for 50 % of the time while the gate measures. The median of
# its bandwidth hardly moves; the rate over all time does, and the gate calls it. Without pauses it does not. Takes some
# 30 minutes on two cores; deploy/check.sh --full stalls runs it. All figures are emulated.
#   RAILGAUGE_STALL_NODES=7  guests, of which the first is marked
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/guests.sh"

# shellcheck source=../vfabric/lib/upgrades.sh
. "$top/deploy/vfabric/lib/upgrades.sh"

nodes=${RAILGAUGE_STALL_NODES:-$kUpgradeNodes} controls="n[2-${RAILGAUGE_STALL_NODES:-$kUpgradeNodes}]"
suites=$work/suites  # the controller's
(cd "$top" && suites_for_guests "$suites")

ports_are_active() { [ "$(cli nodes -o json | jq '[.nodes[].nics[] | select(.state == "active")] | length')" = "$nodes" ]; }

# mark_n1 VALUE: changes a setting that is part of n1's stack, and waits until its agent reports it.
mark_n1() {
  fabric exec n1 sh -c "echo 'NCCL_DEBUG_FILE=/tmp/mark-$1' >/etc/nccl.conf"
  fabric exec n1 pkill -TERM -f '[r]ailgauge-agent --controller' || true
  start_guest_agent n1
  wait_for "n1 reports its mark $1" 120 n1_has_mark "$1"
  wait_for "its port is active" 120 ports_are_active
}
n1_has_mark() {
  cli nodes show n1 -o json | jq -e --arg mark "/tmp/mark-$1" '.nodes[0] | .state == "attached"
    and any(.stack_settings[]?; . == $mark)'
}

# The guest's process, which holds all of n1: its agent, its runner and its NIC. The command freeze of the fabric takes
# longer than a pause.
guest_of_n1() { cat "$work/fabric/nodes/n1/qemu.pid"; }
seconds_of() { printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)); }

# stall_n1 STOPPED_MS RUNNING_MS: stops and continues n1's guest until end_stalls, or until this test ends.
stall_n1() {
  local guest stopped running
  guest=$(guest_of_n1) stopped=$(seconds_of "$1") running=$(seconds_of "$2")
  while kill -STOP "$guest" 2>/dev/null; do
    sleep "$stopped"
    kill -CONT "$guest"
    sleep "$running"
  done &
  echo $! >"$work/stall.pid"
}
# A guest that is left stopped would not answer to the fabric's own end.
end_stalls() {
  [ ! -e "$work/stall.pid" ] || { stop_hard stall; rm -f "$work/stall.pid"; }
  kill -CONT "$(guest_of_n1)" 2>/dev/null || true
}
end_with_stalls() {
  local code=$?
  end_stalls
  (exit $code) || true
  tear_down
}
trap end_with_stalls EXIT

prepare_measures_the_before_side() {
  # soft-RoCE loses a task now and then. A failed task is not part of the before side, and the exit code is 1.
  cli upgrades prepare --nodes n1 --controls "$controls" --suite stalls_guests || [ $? = 1 ]
  cli upgrades show -o json | jq -e '.state == "prepared" and (.synthetic | not)'
}

# gate CODES...: runs the gate, which must end with one of the codes; its report is in gate.json.
gate() {
  local code=0
  cli upgrades gate --nodes n1 --wait-nodes 40min --time-limit 80min --on-inconclusive fail -o json >"$work/gate.json" || code=$?
  cli upgrades show || true
  case " $* " in *" $code "*) ;; *) echo "exit code $code, wanted one of: $*"; return 1 ;; esac
}

# The newest run's figures of n1 as a sender: what the median says beside what all time says.
figures_of_n1() {
  cli results --metric bandwidth_bytes_per_second --nodes n1 -o json --limit 40 | jq -r '.points[]
    | select(.endpoints[0] | startswith("n1/")) | .point
    | "median \(.median / 1e6 | round) MB/s, rate \(.rate / 1e6 | round) MB/s, paused \(.pause_share * 1000 | round / 10) %"'
}

# The same node in the same suite: nothing is found, though every pair was measured and the rate moved by less than half
# of what the shorter pauses take.
mark_without_pauses_is_no_regression() {
  mark_n1 quiet
  gate 0 3
  figures_of_n1
  jq -e '(.verdict == "pass" or .verdict == "inconclusive")
    and all(.metrics[]; .verdict != "regressed" and .coverage == 1)
    and any(.metrics[]; .name | test(" rate ")) and all(.metrics[] | select(.name | test(" rate ")); .worse_percent < 10)' "$work/gate.json"
}

# pauses_are_found STOPPED_MS RUNNING_MS: the newest run's share of time in pauses of n1 as a sender is that of the stops,
# within a third of it.
pauses_are_found() {
  local share=$((100 * $1 / ($1 + $2)))
  cli results --metric bandwidth_bytes_per_second --nodes n1 -o json --limit 40 | jq -e --argjson share "$share" '
    [.points[] | select(.endpoints[0] | startswith("n1/")) | .point.pause_share * 100] | sort | .[length / 2 | floor]
    | . > $share * 2 / 3 and . < $share * 4 / 3'
}

# pauses_are_regressed STOPPED_MS RUNNING_MS: with a mark of their own, so that each is a change of its own.
pauses_are_regressed() {
  local code=0
  mark_n1 "$1-$2"
  stall_n1 "$1" "$2"
  gate 1 || code=$?
  end_stalls
  figures_of_n1
  [ "$code" = 0 ]
  pauses_are_found "$1" "$2"
  jq -e '.verdict == "regressed" and .kind == "performance"
    and any(.metrics[]; .verdict == "regressed" and (.name | test(" (rate|flow) ")))
    and any(.metrics[].places[]?; .node == "n1")' "$work/gate.json"
}

# The emulation of a guest sends 30 to 55 MB/s, as its host has time; a port of a quarter of it sends the same each time.
limit_ports() {
  local number
  for ((number = 1; number <= nodes; number++)); do fabric fault "n$number" rate 80mbit; done
}

up_with "$nodes"
limit_ports
wait_for "all ports are active" 180 ports_are_active
mark_n1 before
check "prepare measures the before side" prepare_measures_the_before_side
check "a mark without pauses is a pass or inconclusive" mark_without_pauses_is_no_regression
check "pauses of 100 ms that take 20 % of the time are regressed" pauses_are_regressed 100 400
check "pauses of 100 ms that take half of the time are regressed" pauses_are_regressed 100 100
summary
