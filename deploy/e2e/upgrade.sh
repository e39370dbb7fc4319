#!/usr/bin/env bash
# Tests true upgrades on the virtual fabric: a guest boots with another of Debian's 6.1 kernels, and the gate judges the
# change. The kernel alone is a pass or inconclusive; with a delay beyond the fabric's own noise it is regressed, naming
# node and part; without its RDMA device it is lost function. Exit 77 where apt offers no second 6.1 kernel.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/guests.sh"

# shellcheck source=../vfabric/lib/upgrades.sh
. "$top/deploy/vfabric/lib/upgrades.sh"
find_two_kernels || exit 77

nodes=$kUpgradeNodes controls="n[2-$kUpgradeNodes]"

suites=$work/suites  # the controller's
(cd "$top" && suites_for_guests "$suites")

# On a busy host an agent's first look at its NIC may come before the port is up.
ports_are_active() { [ "$(cli nodes -o json | jq '[.nodes[].nics[] | select(.state == "active")] | length')" = "$nodes" ]; }

# reboot_n1 KERNEL: reboots n1 and waits for its new kernel and its port. Until the agent is back the controller may
# still count the old one, and the gate waits.
reboot_n1() {
  reboot_into n1 "$1" fabric
  start_guest_agent n1
  wait_for "n1 tells its new kernel" 180 n1_runs "${1#linux-image-}"
  wait_for "its port is active" 180 ports_are_active
}
n1_runs() { cli nodes show n1 -o json | jq -e --arg kernel "$1" '.nodes[0] | .state == "attached" and .stack_versions.linux_kernel == $kernel'; }

prepare_measures_the_before_side() {
  # soft-RoCE loses a task now and then. A failed task is not part of the before side, and the exit code is 1.
  cli upgrades prepare --nodes n1 --controls "$controls" --suite upgrade_guests || [ $? = 1 ]
  cli upgrades show -o json | jq -e '.state == "prepared" and .visible_loss_percent > 0 and (.synthetic | not)'
}

# gate CODES...: runs the gate, which must end with one of the codes; its report is in gate.json.
gate() {
  local code=0
  cli upgrades gate --nodes n1 --wait-nodes 20min --time-limit 40min --on-inconclusive fail -o json >"$work/gate.json" || code=$?
  cli upgrades show || true
  case " $* " in *" $code "*) ;; *) echo "exit code $code, wanted one of: $*"; return 1 ;; esac
}

kernel_alone_is_no_regression() {
  reboot_n1 "${kernels[1]}"
  gate 0 3
  jq -e '.verdict == "pass" or (.verdict == "inconclusive" and (.reason | test("settle|drift|missing|chance")))' "$work/gate.json"
}

kernel_and_delay_are_regressed_with_node_and_part() {
  local code=0
  fabric fault n1 delay "$kUpgradeDelay"
  gate 1 || code=$?
  fabric fault n1 clear
  [ "$code" = 0 ]
  jq -e '.verdict == "regressed" and .kind == "performance" and any(.metrics[].places[]?; .node == "n1")
    and any(.causes[].changes[]; startswith("linux_kernel ")) and (.finding_id | length > 0)' "$work/gate.json"
  cli findings -o json | jq -e '[.findings[] | select(.kind == "regression")] | length == 1'
}

upgrade_without_rdma_is_lost_function() {
  fabric fault n1 nic-gone
  fabric exec n1 pkill -KILL -f '[r]ailgauge-agent --controller' || true
  start_guest_agent n1
  wait_for "n1 tells that its device is gone" 120 n1_has_no_nic
  gate 1
  jq -e '.verdict == "regressed" and .kind == "lost_function" and any(.lost[]; .node == "n1")
    and any(.causes[].changes[]; . == "rdma_device present -> gone")' "$work/gate.json"
}

n1_has_no_nic() { cli nodes show n1 -o json | jq -e '.nodes[0] | .state == "attached" and (.nics | length == 0)'; }

kernel=${kernels[0]}
up_with "$nodes"
wait_for "all ports are active" 180 ports_are_active
check "prepare measures the before side and says what it will see" prepare_measures_the_before_side
check "another kernel alone is a pass or inconclusive" kernel_alone_is_no_regression
check "another kernel and $kUpgradeDelay of delay are regressed: n1, linux_kernel" kernel_and_delay_are_regressed_with_node_and_part
check "an upgrade after which RDMA is gone is lost function" upgrade_without_rdma_is_lost_function
summary
