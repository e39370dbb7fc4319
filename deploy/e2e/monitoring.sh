#!/usr/bin/env bash
# The proof of dashboards and alerts: Debian's Prometheus with the shipped configuration and rules against a live
# controller and three agents on this host. Every query of every panel and alert is asked; none may be an error, those
# that must have data have it, and a fault makes its alert pending or firing. 77 where Prometheus is not there.
#   deploy/e2e/monitoring.sh                  the test
#   deploy/e2e/monitoring.sh --render FILE    also writes each panel's data as a page
set -euo pipefail
render=()
[ "${1:-}" != --render ] || render=(--markdown "$(realpath "${2:?--render needs a file}")")
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/prometheus.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# Looks at counters often, so that a fault shows soon; a marker file tells of maintenance.
export RAILGAUGE_WATCH_SECONDS=0.2 RAILGAUGE_BUSY_SETTLE_SECONDS=0.2

shipped_configuration_is_sound() {
  promtool check config "$work/prometheus/prometheus.yml"
  jq -e . "$top/deploy/monitoring/agents.json"
}
pages_are_as_promtool_wants_them() {
  curl -fsS "http://127.0.0.1:$(port_of controller)/metrics" >"$work/controller.page"
  promtool check metrics <"$work/controller.page"
  # prometheus-cpp's own summary counts microseconds, which promtool would have otherwise.
  curl -fsS "http://127.0.0.1:$(port_of agent-a)/metrics" | grep -v exposer_ >"$work/agent.page"
  promtool check metrics <"$work/agent.page"
}
# Prometheus asks for gzip, and both kinds of servers give it.
pages_come_packed() {
  local process packed plain
  for process in controller agent-a; do
    packed=$(curl -fsS -H 'Accept-Encoding: gzip' "http://127.0.0.1:$(port_of "$process")/metrics" | tee "$work/packed" | wc -c)
    plain=$(gzip -dc "$work/packed" | wc -c)
    echo "$process: $packed of $plain bytes"
    [ "$((packed * 3))" -lt "$plain" ]
  done
}
all_targets_are_up() { answers 'count(up == 1) == 4'; }
everything_was_measured() {
  cli run quick -o json >"$work/quick.json"
  cli preflight >/dev/null || true  # hosts of tests fail some
  all_is_scraped quick 3
  wait_for "recording rules are made" 60 answers 'railgauge:link_bandwidth:ratio'
}
every_query_is_answered() { "$top/dashboards/prove.py" "$url" "${render[@]}"; }
# The proof itself can fail: a query that is wrong, and one that must have data and has none.
spoilt_queries_are_seen() {
  cp -r "$top/dashboards" "$work/dashboards"
  local boards=$work/dashboards/source/boards.py
  sed -i 's/sum(railgauge_nodes_busy{{{C}}})/sum(railgauge_nodes_busy{{{C}}}/' "$boards"
  expect_exit 1 "$work/dashboards/prove.py" "$url" >"$work/spoilt.log"
  grep -F 'railgauge-fleet: Nodes busy: ' "$work/spoilt.log" | grep -F 'parse error'
  sed 's/railgauge_run_active{/railgauge_run_asleep{/' "$top/dashboards/source/boards.py" >"$boards"
  expect_exit 1 "$work/dashboards/prove.py" "$url" >"$work/spoilt.log"
  grep -F 'railgauge-service: Run active: no data' "$work/spoilt.log"
}
a_link_that_goes_down_makes_its_alerts_pending() {
  expect_exit 1 alert_is_up RailgaugeNodeFaults
  echo 9 >"$work/sys-a/class/infiniband/fake0/ports/1/counters/link_downed"
  wait_for "the fault is an alert" 60 alert_is_up RailgaugeNodeFaults
}
a_node_that_is_gone_makes_its_alerts_pending() {
  stop_hard agent-c
  wait_for "not scraped is an alert" 60 alert_is_up RailgaugeAgentsNotScraped
  wait_for "stale is an alert" 120 alert_is_up RailgaugeNodesStale
}
a_controller_that_is_gone_makes_its_alert_pending() {
  stop_hard controller
  wait_for "the controller's alert" 60 alert_is_up RailgaugeControllerDown
}

start_controller
make_gpus a
for node in a b c; do
  [ -d "$work/sys-$node/class" ] || make_sysfs "$work/sys-$node"
  mkdir -p "$work/sys-$node/class/infiniband/fake0/ports/1/counters"
  echo 3 >"$work/sys-$node/class/infiniband/fake0/ports/1/counters/link_downed"
  start_agent "$node"
done
wait_for "three agents attach" 60 attached 3
agents=()
for node in a b c; do agents+=("$node=127.0.0.1:$(port_of "agent-$node")"); done
start_prometheus "${agents[@]}"
check "the shipped configuration is sound" shipped_configuration_is_sound
check "all targets are up" wait_for "four targets" 60 all_targets_are_up
check "a run and a preflight are scraped" everything_was_measured
check "/metrics is as promtool wants it" pages_are_as_promtool_wants_them
check "/metrics comes packed" pages_come_packed
check "every query of panels and alerts is answered" every_query_is_answered
check "the proof sees queries that are wrong or empty" spoilt_queries_are_seen
check "a link that goes down makes its alert pending" a_link_that_goes_down_makes_its_alerts_pending
check "a node that is gone makes its alerts pending" a_node_that_is_gone_makes_its_alerts_pending
check "a controller that is gone makes its alert pending" a_controller_that_is_gone_makes_its_alert_pending
summary
