#!/usr/bin/env bash
# Tests dashboards and alerts: Debian's Prometheus with the shipped configuration and rules scrapes a live controller
# and three agents on this host, which the controller names to it (/sd). No query of a panel or alert may be an error, every query that must have data has it,
# every query of a panel has had data once all faults are injected, and each fault makes its alert pending or firing.
# Exit 77 without Prometheus.
#   deploy/e2e/monitoring.sh                  the test
#   deploy/e2e/monitoring.sh --render FILE    also writes each panel's data as a page
set -euo pipefail
render=()
[ "${1:-}" != --render ] || render=(--markdown "$(realpath "${2:?--render needs a file}")")
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/prometheus.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# Agents read counters often, so that a fault shows soon; a marker file reports maintenance.
export RAILGAUGE_WATCH_SECONDS=0.2 RAILGAUGE_BUSY_SETTLE_SECONDS=0.2

# found_in FILE: prints what a Prometheus with this configuration finds of agents, as lines of node, cluster, address.
found_in() {
  promtool check service-discovery --timeout=2s "$1" railgauge-agent >"$work/targets.json"
  jq -r '.[].labels | "\(.node) \(.cluster) \(.job) \(.__address__)"' "$work/targets.json" | sort
}
shipped_configuration_is_sound() {
  local config=$work/prometheus/prometheus.yml node
  promtool check config "$config"
  for node in a b c; do echo "$node test railgauge-agent 127.0.0.1:$(port_of "agent-$node")"; done >"$work/wanted"
  found_in "$config" | diff "$work/wanted" -
  # By the node's name, as the comment has it.
  sed 's/^\( *\)# - {source_labels: \[node,/\1- {source_labels: [node,/' "$config" >"$work/prometheus/by-name.yml"
  found_in "$work/prometheus/by-name.yml" | grep -x "a test railgauge-agent a:$(port_of agent-a)"
  # The files that compose.yaml mounts exist.
  local mounted
  for mounted in $(sed -n 's|^ *- \(\.[^:]*\):/.*|\1|p' "$top/deploy/monitoring/compose.yaml"); do
    [ -e "$top/deploy/monitoring/$mounted" ] || { echo "compose.yaml: no $mounted"; return 1; }
  done
  [ -n "$mounted" ]
}
# names_on PAGE: prints the names of the metrics on a page of /metrics.
names_on() { grep -oE '^[a-z][a-z_]*' "$1" | sort -u; }
# reference_of PROCESS: prints the names that its page may have; a summary also has its sum and count.
reference_of() {
  cli metrics -o json | jq -r --arg process "$1" '.metrics[] | select(.owner | . == "both" or startswith($process))
    | .name, if .type == "summary" then .name + "_sum", .name + "_count" else empty end' | sort
}
pages_hold_what_the_reference_names() {
  local process
  for process in controller agent; do
    [ "$(names_on "$work/$process.page" | wc -l)" -gt 20 ]
    comm -23 <(names_on "$work/$process.page") <(reference_of "$process") >"$work/unnamed"
    [ ! -s "$work/unnamed" ] || { echo "$process:"; cat "$work/unnamed"; return 1; }
  done
}
pages_are_as_promtool_wants_them() {
  curl -fsS "http://127.0.0.1:$(port_of controller)/metrics" >"$work/controller.page"
  promtool check metrics <"$work/controller.page"
  curl -fsS "http://127.0.0.1:$(port_of agent-a)/metrics" >"$work/agent.page"
  promtool check metrics <"$work/agent.page"
}
# Prometheus asks for gzip, and both kinds of servers reply with it.
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
  cat >"$work/gpus.yaml" <<'Y'
version: 1
metadata: {name: gpus}
stages:
  - {kernel: cuda.host_copy_bw, parameters: {sizes: 1MiB, iterations: 3}, placement: {local: all, each: gpu}}
Y
  cli run "$work/gpus.yaml" --nodes a -o json >"$work/gpus.json"
  cli schedules add by-hand quick --cron "0 0 1 1 *"
  cli schedules run-now by-hand >"$work/run-now.txt"
  wait_for "the schedule's run ends" 120 answers 'railgauge_run_last_outcome{suite="quick",outcome="passed"}'
  cli preflight >/dev/null || true  # hosts of tests fail some
  all_is_scraped quick 3
  wait_for "recording rules are made" 60 answers 'railgauge:link_bandwidth:ratio'
}
# No pair is measured with NCCL, and nothing twice.
prove() { "$top/dashboards/prove.py" "$url" --without collectives,repeats --seen "$work/seen.json" "$@"; }
every_query_is_answered() {
  wait_for "the report is tried" 60 answers 'railgauge_deliveries_total{target="webhook",outcome="postponed"} > 0'
  wait_for "a backup is made" 90 answers 'railgauge_backup_timestamp_seconds > 0'
  prove
}
# Inserts the rows that the judge would write, on a real series; nothing was measured.
open_a_finding() {
  sqlite3 -cmd '.timeout 5000' "$work/railgauge.db" "INSERT INTO finding (finding_id, kind, state, severity, suspect, summary, evidence,
    opened_at, changed_at) VALUES ('f-made-up', 'step', 'new', 'warning', 'a', 'made up by a test', '{}', unixepoch(), unixepoch());
    INSERT INTO finding_series SELECT max(finding.id), min(series.id), 2, 1 FROM finding, series;"
}
# With a fault of each kind, every panel has data: a is busy and its port down, b is paused, c is gone.
every_panel_had_data() {
  open_a_finding
  touch "$work/held-a"
  echo "1: DOWN" >"$work/sys-a/class/infiniband/fake0/ports/1/state"
  cli nodes pause b --for 10min --reason "a test"
  wait_for "the finding is an alert" 60 alert_is_up RailgaugeRegressionUnconfirmed
  wait_for "a failing preflight is an alert" 60 alert_is_up RailgaugePreflightFailing
  wait_for "a busy node is scraped" 60 answers 'railgauge_node_busy{node="a",source="hook"} == 1'
  wait_for "a paused node is scraped" 60 answers 'railgauge_node_pause_end_timestamp_seconds{node="b"} > time()'
  wait_for "and quiet" 60 answers 'railgauge:node_quiet:bool{node="b"} == 1'
  wait_for "a port that is down is scraped" 120 answers 'railgauge_link_up{node="a"} == 0'
  wait_for "its agent has attached again to say so" 60 answers 'railgauge_nodes{state="attached"} == 2 and on (cluster) railgauge_nodes_busy == 1'
  prove --complete "${render[@]}"
}
# annotation_of ALERT NAME: prints an annotation of the alert.
annotation_of() { curl -fsS "$url/api/v1/alerts" | jq -r --arg name "$1" --arg key "$2" '.data.alerts[] | select(.labels.alertname == $name) | .annotations[$key]'; }
# is_annotated ALERT NAME VALUE: passes when the alert's annotation is that.
is_annotated() { annotation_of "$1" "$2" | grep -qxF -- "$3"; }
alerts_have_names_and_runbooks() {
  local alert
  for alert in "RailgaugeAgentsNotScraped c" "RailgaugeNodesStale c" "RailgaugeLinksDown a/fake0:1"; do
    wait_for "${alert% *} names ${alert#* }" 20 is_annotated "${alert% *}" named "Among them: ${alert#* }" || { curl -fsS "$url/api/v1/alerts" | jq -c '.data.alerts[] | [.labels.alertname, .annotations.named]'; return 1; }
  done
  is_annotated RailgaugeLinksDown runbook_url 'https://docs.example/railgauge/alerts.md#railgaugelinksdown'
}
figures_of_b() {
  curl -fsS "http://127.0.0.1:$(port_of agent-b)/metrics" | grep -E '^railgauge_(link_bandwidth|link_latency|preflight_results|preflight_timestamp)'
}
shows_them_again() { [ -n "$(port_of agent-b)" ] && figures_of_b | diff "$work/figures" -; }
an_agent_that_starts_anew_shows_what_was_measured_last() {
  figures_of_b >"$work/figures"
  [ "$(wc -l <"$work/figures")" -gt 10 ]
  stop_hard agent-b; : >"$work/agent-b.log"
  start_weak_agent b
  wait_for "the figures are shown again" 60 shows_them_again
  wait_for "Prometheus finds its new port" 60 answers "up{node=\"b\",instance=\"127.0.0.1:$(port_of agent-b)\"} == 1"
}
# prove.py must fail on a wrong query, and on one that must have data and has none.
spoilt_queries_are_seen() {
  cp -r "$top/dashboards" "$work/dashboards"
  local boards=$work/dashboards/source/boards.py
  sed -i 's/sum(railgauge_nodes_busy{{{C}}})/sum(railgauge_nodes_busy{{{C}}}/' "$boards"
  expect_exit 1 "$work/dashboards/prove.py" "$url" >"$work/spoilt.log"
  grep -F 'railgauge-fleet: Nodes busy: ' "$work/spoilt.log" | grep -F 'parse error'
  sed 's/railgauge_run_active{/railgauge_run_asleep{/' "$top/dashboards/source/boards.py" >"$boards"
  expect_exit 1 "$work/dashboards/prove.py" "$url" >"$work/spoilt.log"
  grep -F 'railgauge-service: Runs: no data' "$work/spoilt.log"
}
a_link_that_goes_down_makes_its_alerts_pending() {
  expect_exit 1 alert_is_up RailgaugeNodeFaults
  echo 9 >"$work/sys-a/class/infiniband/fake0/ports/1/counters/link_downed"
  wait_for "the fault is an alert" 60 alert_is_up RailgaugeNodeFaults
  wait_for "its counter has grown" 60 answers 'railgauge:device_trouble:increase30m > 0'
}
a_node_that_is_gone_makes_its_alerts_pending() {
  touch "$work/busy-c"
  wait_for "maintenance is scraped" 60 answers 'railgauge:node_maintenance:bool{node="c"} == 1'
  rm "$work/busy-c"  # or it would be maintenance
  wait_for "maintenance is over" 60 answers 'railgauge:node_maintenance:bool{node="c"} == 0'
  stop_hard agent-c
  wait_for "not scraped is an alert" 60 alert_is_up RailgaugeAgentsNotScraped
  wait_for "stale is an alert" 120 alert_is_up RailgaugeNodesStale
}
a_controller_that_is_gone_makes_its_alert_pending() {
  stop_hard controller
  wait_for "the controller's alert" 60 alert_is_up RailgaugeControllerDown
}

# weaken_agents: makes agents with 64 KiB of lockable memory, which their preflight must report. All nodes get one: the
# fake wire writes into the peer's process, which Linux permits only when the peer has no capability more.
weaken_agents() {
  mkdir -p "$work/weak/bin"
  ln -s "$(dirname "$bin")/lib" "$work/weak/lib"
  cat >"$work/weak/bin/railgauge-agent" <<W
#!/bin/sh
ulimit -l 64
[ "\$(id -u)" != 0 ] || exec setpriv --bounding-set=-ipc_lock "$bin/railgauge-agent" "\$@"
exec "$bin/railgauge-agent" "\$@"
W
  chmod +x "$work/weak/bin/railgauge-agent"
}
# start_weak_agent NODE: starts an agent over TLS that is in maintenance while busy-NODE is there, and busy while held-NODE.
start_weak_agent() {
  printf '#!/bin/sh\n[ ! -e "%s" ] || { echo "held by a test"; exit 1; }\n' "$work/held-$1" >"$work/hook-$1"
  chmod +x "$work/hook-$1"
  RAILGAUGE_BUSY_SOURCES=marker,hook RAILGAUGE_BUSY_MARKER=$work/busy-$1 RAILGAUGE_BUSY_HOOK=$work/hook-$1 \
    RAILGAUGE_TLS_CA=$work/pki/ca.crt RAILGAUGE_TLS_CERT=$work/pki/$1.crt RAILGAUGE_TLS_KEY=$work/pki/$1.key \
    agent_dials=127.0.0.1:$port bin=$work/weak/bin start_agent "$1"
}
weaken_agents
"$top/deploy/pki.sh" ca "$work/pki" >/dev/null
"$top/deploy/pki.sh" controller "$work/pki" localhost 127.0.0.1 >/dev/null
# Nobody takes the reports.
start_controller --listen 127.0.0.1:0 --tls-ca "$work/pki/ca.crt" --tls-cert "$work/pki/controller.crt" --tls-key "$work/pki/controller.key" \
  --webhook-url http://127.0.0.1:1/ --backup-every 1min
port=$(sed -n 's/.*TCP port \([0-9]*\) with.*/\1/p' "$work/controller.log")
make_gpus a
for node in a b c; do
  [ -d "$work/sys-$node/class" ] || make_sysfs "$work/sys-$node"
  mkdir -p "$work/sys-$node/class/infiniband/fake0/ports/1/counters"
  echo 3 >"$work/sys-$node/class/infiniband/fake0/ports/1/counters/link_downed"
  "$top/deploy/pki.sh" agent "$work/pki" "$node" >/dev/null
  start_weak_agent "$node"
done
wait_for "three agents attach" 60 attached 3
start_prometheus
check "all targets are up" wait_for "four targets" 60 all_targets_are_up
check "the shipped configuration is sound" shipped_configuration_is_sound
check "a run and a preflight are scraped" everything_was_measured
check "/metrics is as promtool wants it" pages_are_as_promtool_wants_them
check "/metrics holds what the reference names" pages_hold_what_the_reference_names
check "/metrics comes packed" pages_come_packed
check "every query of panels and alerts is answered" every_query_is_answered
check "the proof sees queries that are wrong or empty" spoilt_queries_are_seen
check "a link that goes down makes its alert pending" a_link_that_goes_down_makes_its_alerts_pending
check "a node that is gone makes its alerts pending" a_node_that_is_gone_makes_its_alerts_pending
check "every panel had data once" every_panel_had_data
check "alerts have names and runbooks" alerts_have_names_and_runbooks
check "an agent that starts anew shows what was measured last" an_agent_that_starts_anew_shows_what_was_measured_last
check "a controller that is gone makes its alert pending" a_controller_that_is_gone_makes_its_alert_pending
summary
