#!/usr/bin/env bash
# Tests labels and maintenance on real processes: a controller with a simulated clock, 16 agents of railgauge-fleet, a
# run a night. A port gets slow while its node is paused, and stays slow: nothing may be found before the node is back,
# and the fault has to be found then. Figures are synthetic.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

cat >"$work/scenario.yaml" <<'Y'
version: 1
metadata: {name: maintenance}
seed: 11
begin: 2026-01-05
fabric: {nodes: 16, rails: 2, leaves: 2, spines: 2}
classes: [{name: small, gpus: 2, nics: 2}]
noise: [{kind: gaussian, size: 0.01}]
faults: [{kind: port, node: sim0012, nic: 1, direction: sends, begin: 132h, takes: 0.2}]
Y
mkdir "$work/suites"
cat >"$work/suites/pairs.yaml" <<'Y'
version: 1
metadata: {name: pairs, summary: "bandwidth of some pairs on all rails, both ways"}
stages:
  - kernel: verbs.write_bw
    parameters: {sizes: 64KiB}
    placement: {pairs: quick, matchings: 2, directions: both, rails: same, rails_together: true}
Y
cat >"$work/labels" <<'Y'
sim[0001-0008] rack=r1 rack_row=a
sim[0009-0016] rack=r2 rack_row=a
Y
cat >"$work/site.yaml" <<Y
version: 1
metadata: {name: modelled}
defaults: {}
labels: {file: $work/labels}
groups: {gold: "sim[0001-0004],!sim0002", second: "rack=r2"}
Y

start() {
  "$bin/railgauge-controller" --socket "$socket" --database "$work/railgauge.db" --suites "$work/suites" \
    --site-profile "$work/site.yaml" --metrics-listen 127.0.0.1:0 --upgrade-policy off --simulated-clock 2026-01-05 \
    >>"$work/controller.log" 2>&1 &
  echo $! >"$work/controller.pid"
  wait_for "the controller answers" 20 cli version
  "$bin/railgauge-fleet" --controller "$RAILGAUGE_CONTROLLER" --scenario "$work/scenario.yaml" \
    --simulated-clock "$work/simulated-clock" >>"$work/fleet.log" 2>&1 &
  echo $! >"$work/fleet.pid"
  wait_for "16 nodes attach" 60 attached 16
  wait_for "the labels of the file count" 30 eval '[ "$(chosen -l rack=r1)" = 8 ]'
}

# The number of nodes that a choice has.
chosen() { cli nodes "$@" -o json | jq '.nodes | length'; }
pass_time_until() { cli clock "$work/simulated-clock" "$1" --wait 10min; }
about_sim0012() { cli findings -o json --limit 1000 | jq -e '[.findings[] | select(.suspect | test("sim0012"))] | '"$1"; }
nodes_of_newest_night() { cli runs -o json | jq -r '[.runs[] | select(.trigger == "schedule")][0].nodes | length'; }
metrics_page() { curl -s "http://127.0.0.1:$(sed -n 's/.*metrics on port \([0-9]*\).*/\1/p' "$work/controller.log" | tail -n 1)/metrics"; }

labels_choose_nodes() {
  [ "$(chosen -l rack=r2)" = 8 ]
  [ "$(chosen @r2)" = 8 ]
  [ "$(chosen @gold)" = 3 ]
  [ "$(chosen '@second,!sim0012')" = 7 ]
  [ "$(chosen 'sim[0007-0010]' -l rack=r1)" = 2 ]
  [ "$(chosen -l leaf=L1,rack=r2)" = 8 ]
  cli nodes show sim0001 | grep -x 'labels *leaf=L0,pod=P0,rack=r1,rack_row=a'
  expect_exit 2 cli nodes -l rak=r1 2>"$work/err"
  grep 'no node has a label "rak"; did you mean "rack"?' "$work/err"
  expect_exit 2 cli events -l rack=r3 2>"$work/err"
  grep 'no node has this value of "rack"; did you mean "r' "$work/err"
  cli run pairs -l rack=r1 >"$work/run.txt"
  [ "$(cli runs -o json | jq '.runs[0].nodes | length')" = 8 ]
}

# Five nights, then the pause; the port gets slow on the 10th at noon.
paused_node_is_left_out_with_the_reason() {
  cli schedules add every-night pairs --cron "0 1 * * *" --nodes @a
  pass_time_until 2026-01-10T06:00
  expect_exit 2 cli nodes pause sim0012 --for 2h 2>"$work/err"
  grep -- '--reason TEXT is needed' "$work/err"
  cli nodes pause sim0012 --until 2026-01-13T06:00 --reason 'DIMM swap' | grep '^sim0012: paused until 2026-01-13T06:00:00'
  pass_time_until 2026-01-12T06:00
  [ "$(nodes_of_newest_night)" = 15 ]
  local run; run=$(cli runs -o json | jq -r '.runs[0].run_id')
  cli runs show "$run" | grep -E '^left out +in maintenance, left out: sim0012 \(paused until 2026-01-13T06:00:00[.0-9]*Z by .*: DIMM swap\)'
  cli nodes | grep '16 nodes: 16 attached; 1 paused'
  cli events --kind maintenance -o json | jq -e '[.events[] | [.kind, .node]] == [["maintenance_paused", "sim0012"]]'
  cli audit --rpc PauseNodes -o json | jq -e '[.entries[] | select(.outcome == "ok")] | length == 1'
  cli report --since 2026-01-10 >"$work/report.txt" || [ $? = 3 ]
  grep -E 'paused +1 node: sim0012' "$work/report.txt"
  metrics_page >"$work/metrics.txt"
  grep -x 'railgauge_nodes_paused 1' "$work/metrics.txt"
  grep -E '^railgauge_node_pause_end_timestamp_seconds\{.*node="sim0012".*\} (1768284000|1\.768284e\+09)$' "$work/metrics.txt"
}

run_of_a_paused_node_by_name_says_so() {
  cli run pairs --nodes sim0011,sim0012,sim0013 >"$work/run.txt" 2>"$work/err"
  grep 'in maintenance, left out: sim0012' "$work/err"
  expect_exit 4 cli run pairs --nodes sim0012 2>"$work/err"
  grep 'no node can be used: node sim0012 is paused until .*: DIMM swap; railgauge nodes resume' "$work/err"
}

# A forced run shows the fault, and nobody may judge by it.
forced_figures_of_a_paused_node_are_no_finding() {
  local i
  for i in 1 2 3; do
    cli run pairs --all --force --reason "is it well?" >"$work/forced-$i.txt"
    [ "$(cli runs -o json | jq '.runs[0].nodes | length')" = 16 ]
  done
  wait_for "the run is judged" 60 eval '[ "$(cli runs -o json | jq ".runs[0].judged_at != null")" = true ]'
  about_sim0012 'length == 0'
}

node_comes_back_by_itself() {
  pass_time_until 2026-01-13T12:00
  cli nodes show sim0012 | grep -x 'maintenance *no'
  cli events --kind maintenance -o json | jq -e '[.events[] | .kind] == ["maintenance_over", "maintenance_paused"]'
  cli events --kind maintenance -o json | jq -e '.events[0].at | . >= "2026-01-13T06:00" and . < "2026-01-13T06:10"'
  metrics_page >"$work/metrics.txt"
  ! grep '^railgauge_node_pause_end_timestamp_seconds' "$work/metrics.txt"
  about_sim0012 'length == 0'
  pass_time_until 2026-01-14T06:00
  [ "$(nodes_of_newest_night)" = 16 ]
}

fault_is_found_once_the_node_is_back() {
  pass_time_until 2026-01-17T06:00
  about_sim0012 'length > 0 and ([.[].opened_at] | min | . >= "2026-01-14")'
}

people_resume_nodes() {
  cli nodes pause @gold --for 48h --reason rack
  cli nodes | grep '; 3 paused'
  cli nodes resume sim0001,sim0003 | grep '^sim\[0001,0003\]: resumed'
  cli nodes | grep '; 1 paused'
  expect_exit 2 cli nodes resume sim0001 2>"$work/err"
  grep 'none of them is paused' "$work/err"
}

check "the site starts" start
check "labels choose nodes" labels_choose_nodes
check "a paused node is left out, with the reason" paused_node_is_left_out_with_the_reason
check "a run of a paused node by name says so" run_of_a_paused_node_by_name_says_so
check "forced figures of a paused node are no finding" forced_figures_of_a_paused_node_are_no_finding
check "the node comes back by itself" node_comes_back_by_itself
check "the fault is found once the node is back" fault_is_found_once_the_node_is_back
check "people resume nodes" people_resume_nodes
summary
