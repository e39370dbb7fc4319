#!/usr/bin/env bash
# Tests dashboards and alerts over real RDMA verbs: Debian's Prometheus with the shipped configuration and rules scrapes
# a live controller with mutual TLS and an agent in each of two guests of the virtual fabric. A suite runs and every
# query of every panel and alert is asked. A guest's port that goes down, and a guest that dies, each make an alert
# pending or firing. Exit 77 without Prometheus.
#   deploy/e2e/monitoring_fabric.sh                  the test
#   deploy/e2e/monitoring_fabric.sh --render FILE    also writes each panel's data as a page
set -euo pipefail
render=()
[ "${1:-}" != --render ] || render=(--markdown "$(realpath "${2:?--render needs a file}")")
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/prometheus.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/guests.sh"

# Few samples, since the guests share the host's cores: the test proves the path of the figures, not their values.
cat >"$work/proof.yaml" <<'Y'
version: 1
metadata: {name: proof, summary: latency and bandwidth of all pairs}
rounds: {max_tasks: 1}
stages:
  - kernel: verbs.write_lat
    parameters: {sizes: 8, min_samples: 30, max_samples: 200, time_cap: 3s, proof_time: 200ms}
    placement: {pairs: all}
  - kernel: verbs.write_bw
    parameters: {sizes: 64KiB, depth: 4, signal_every: 2, min_samples: 20, max_samples: 100, time_cap: 3s, proof_time: 200ms}
    placement: {pairs: all, directions: both}
Y

metrics_of() { fabric status --format json | jq -r --arg name "$1" '.nodes[] | select(.name == $name) | "127.0.0.1:\(.metrics_port)"'; }

all_targets_are_up() { answers 'count(up == 1) == 3'; }
everything_was_measured() {
  # On a busy host an agent may see its port only when it reads its node for the second time.
  wait_for "both ports are up" 120 answers 'count(railgauge_link_up == 1) == 2'
  wait_for "the controller has heard of them" 60 active_ports 2
  cli run "$work/proof.yaml"
  cli preflight >/dev/null || true  # guests of an emulated fabric fail some
  all_is_scraped proof 2
  # No point is synthetic: all were measured on real verbs.
  cli results -o json | jq -e '[.points[] | .point.synthetic] | any | not'
}
active_ports() { [ "$(cli nodes -o json | jq '[.nodes[].nics[]? | select(.state == "active")] | length')" = "$1" ]; }
# soft-RoCE's rate is only nominal, so no port has a line rate to compare with.
every_query_is_answered() { "$top/dashboards/prove.py" "$url" --without line_rate,deliveries,backups,collectives,repeats "${render[@]}"; }
nothing_is_down_yet() {
  expect_exit 1 alert_is_up RailgaugeLinksDown
  expect_exit 1 alert_is_up RailgaugeAgentsNotScraped
  expect_exit 1 alert_is_up RailgaugeNodesStale
}
# The agent reads its ports every 30 s.
a_port_that_goes_down_makes_its_alert_pending() {
  fabric fault n2 down
  wait_for "the port is scraped as down" 120 answers 'railgauge_link_up{node="n2",device="rxe0"} == 0'
  wait_for "links down is an alert" 60 alert_is_up RailgaugeLinksDown
  fabric fault n2 up
  wait_for "the port is up again" 120 answers 'railgauge_link_up{node="n2",device="rxe0"} == 1'
  wait_for "and the alert is over" 60 alert_is_over RailgaugeLinksDown
}
alert_is_over() { ! alert_is_up "$1"; }
a_guest_that_dies_makes_its_alerts_pending() {
  fabric fault n2 kill
  wait_for "not scraped is an alert" 60 alert_is_up RailgaugeAgentsNotScraped
  wait_for "stale is an alert" 120 alert_is_up RailgaugeNodesStale
}

up_with 2
start_prometheus "n1=$(metrics_of n1)" "n2=$(metrics_of n2)"

check "all targets are up" wait_for "three targets" 120 all_targets_are_up
check "a run and a preflight are scraped" everything_was_measured
check "every query of panels and alerts is answered" every_query_is_answered
check "no alert of what is broken later" nothing_is_down_yet
check "a port that goes down makes its alert pending, and ends it" a_port_that_goes_down_makes_its_alert_pending
check "a guest that dies makes its alerts pending" a_guest_that_dies_makes_its_alerts_pending
summary
