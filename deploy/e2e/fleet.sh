#!/usr/bin/env bash
# Tests the whole service on a modelled fleet: real controller and CLI, 32 agents of railgauge-fleet in one process over
# gRPC. Faults of a scenario are named by the localiser, stack changes and sick agents are seen. Figures are synthetic.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

cat >"$work/pairs.yaml" <<'Y'
version: 1
metadata: {name: pairs, summary: "bandwidth of some pairs on all rails, both ways"}
stages:
  - kernel: verbs.write_bw
    parameters: {sizes: 64KiB}
    placement: {pairs: quick, matchings: 6, directions: both, rails: same, rails_together: true}
Y
sed 's/name: pairs/name: drilled/; /^stages:/i rounds: {drill_down: true}' "$work/pairs.yaml" >"$work/drilled.yaml"
# The nodes report their leaves.
cat >"$work/site.yaml" <<Y
version: 1
metadata: {name: modelled}
defaults: {}
topology: {source: labels}
Y
readonly kHead='version: 1
metadata: {name: test}
seed: 5
fabric: {nodes: 32, rails: 2, leaves: 4, spines: 4}
classes: [{name: small, gpus: 2, nics: 2}]
noise: [{kind: gaussian, size: 0.01}]'

# play SCENARIO-LINES...: ends the fleet before and starts one that plays the scenario; waits until COUNT nodes attach.
play() {
  local count=$1; shift
  if [ -e "$work/fleet.pid" ]; then kill -TERM "$(pid_of fleet)"; wait_for "the fleet ends" 15 eval '! alive fleet'; fi
  printf '%s\n' "$kHead" "$@" >"$work/scenario.yaml"
  "$bin/railgauge-fleet" --controller "unix:$socket" --scenario "$work/scenario.yaml" >>"$work/fleet.log" 2>&1 &
  echo $! >"$work/fleet.pid"
  wait_for "$count nodes attach" 60 attached "$count"
}

everything_is_marked_synthetic() {
  play 32
  cli run "$work/pairs.yaml" --all -o json >"$work/run.json"
  jq -e '[.points[].point.synthetic] | length > 0 and all' "$work/run.json"
  cli preflight sim0001 -o json >"$work/preflight.json" || true
  jq -e '[.checks[].observed | startswith("synthetic: ")] | length > 10 and all' "$work/preflight.json"
  cli nodes show sim0001 | grep synthetic
}

# use_of VERB RUN RUN: prints the words of one use; "none" where it asks no controller, "acts" where its answer is the page
# of a verb that is here.
use_of() {
  case $1 in
    report | findings | events | nodes | preflight | runs | results | history | baselines | "baselines diff" | certificate | upgrades) echo "$1" ;;
    suites | schedules | kernels | doctor | audit | tokens | console | version | "runs matrix" | "runs suspects" | "db stats" | "db check") echo "$1" ;;
    "nodes show" | topo) echo "$1 sim0001" ;;
    "nodes diff") echo "$1 sim0001 sim0002" ;;
    "nodes pause") echo "$1 sim0003 --for 1h --reason test" ;;
    "findings show") echo "$1 part-sim0020-rail-0" ;;
    run) echo "$1 $work/pairs.yaml --nodes sim0001,sim0002" ;;
    "runs show" | "runs wait" | "runs cancel") echo "$1 $2" ;;
    "runs compare") echo "$1 $2 $3" ;;
    bundle) echo "$1 $2 --file $work/bundle-$RANDOM$RANDOM.tar" ;;
    prove) echo "$1 sim0001" ;;
    "suites show" | "suites check" | "suites plan") echo "$1 quick" ;;
    "schedules add") echo "$1 marks$RANDOM$RANDOM quick --cron @daily --paused" ;;
    "kernels show") echo "$1 verbs.write_bw" ;;
    export) echo "$1 all" ;;
    sql) echo "$1 SELECT(1)" ;;
    "db prune") echo "$1 --raw-days 3650" ;;
    "db backup") echo "$1 marks$RANDOM$RANDOM.db" ;;
    "findings "* | "nodes rename" | "nodes resume" | "runs resume" | "schedules "* | "baselines pin" | "upgrades "* | "tokens "*) echo acts ;;
    status | verify | analyze | pki* | config* | metrics | help | completion | demo | clock | mcp | "db restore") echo none ;;
    *) return 1 ;;
  esac
}

# is_marked FORMAT: reads a verb's output. Lines of JSON may be none.
is_marked() {
  case $1 in
    table) grep -q '^\(railgauge: \|regressed: \|inconclusive: \|pass: \|invalid: \)\?SYNTHETIC: ' ;;
    csv) head -n 1 | grep -q ',data_kind$' ;;
    ndjson) jq -es 'all(.[]; .data_kind == "synthetic")' ;;
    json) jq -es 'map(.data_kind) == ["synthetic"]' ;;
  esac
}

# By the program's own list: a new verb has no use here, and fails.
each_verb_is_marked() {
  local verb use format faults=0 seen=0 ids
  mapfile -t ids < <(cli runs -o json | jq -r '.runs[] | select(.state == "ended") | .run_id')
  while IFS= read -r verb; do
    use=$(use_of "$verb" "${ids[@]:0:2}") || { echo "$verb: this test has no use of it"; faults=$((faults + 1)); continue; }
    [[ $use != none && $use != acts ]] || continue
    for format in table json ndjson csv; do
      case $verb/$format in
        export/table | report/csv | certificate/[jnc]* | prove/[jnc]*) continue ;;  # refused, or a signed document
      esac
      # shellcheck disable=SC2046
      cli $(use_of "$verb" "${ids[@]:0:2}") -o "$format" >"$work/marked.txt" 2>"$work/marked.err" || true
      seen=$((seen + 1))
      [ "$format" != table ] || cat "$work/marked.err" >>"$work/marked.txt"
      is_marked "$format" <"$work/marked.txt" >/dev/null || { echo "$verb -o $format: no mark"; head -n 3 "$work/marked.txt" "$work/marked.err"; faults=$((faults + 1)); }
    done
  done < <(cli help | grep -oE '^  [a-z]+( [a-z][a-z-]*)?( |$)' | sed 's/^ *//; s/ *$//')
  echo "$seen outputs, $faults without the mark"
  [ "$seen" -gt 100 ] && [ "$faults" = 0 ]
}

metrics_are_marked() {
  local port; port=$(sed -n 's/.*metrics on port \([0-9]*\).*/\1/p' "$work/controller.log" | tail -n 1)
  curl -fsS --noproxy '*' "http://127.0.0.1:$port/metrics" | grep -x 'railgauge_data_synthetic 1'
}

healthy_fabric_accuses_nobody() {
  cli runs suspects -o json >"$work/suspects.json" || true
  jq -e '[.suspects[] | select(.confirmed)] == []' "$work/suspects.json"
}

# is_named TEXT SCENARIO-LINES...: passes when the first confirmed suspect's words have the text, and is the only one.
is_named() {
  local text=$1; shift
  play 32 "$@"
  cli run "$work/pairs.yaml" --all >"$work/run.txt"
  cli runs suspects >"$work/suspects.txt" || true
  grep -E '^[0-9]+\. confirmed' "$work/suspects.txt" >"$work/confirmed.txt"
  cat "$work/confirmed.txt"
  [ "$(wc -l <"$work/confirmed.txt")" = 1 ]
  grep -E "$text" "$work/confirmed.txt"
}

# The first estimate is the longest time that the kernels may take. Those after it are what runs took.
estimate_matches() {
  play 32
  sed 's/name: pairs/name: timed/; s/64KiB/"64KiB,1MiB"/' "$work/pairs.yaml" >"$work/timed.yaml"
  local first later took
  first=$(cli suites plan "$work/timed.yaml" -o json | tee "$work/plan1.json" | jq .expected_seconds)
  jq -e '[.notes[] | select(startswith("time: no earlier run of"))] | length == 1' "$work/plan1.json"
  cli run "$work/timed.yaml" --all >/dev/null
  later=$(cli suites plan "$work/timed.yaml" -o json | tee "$work/plan2.json" | jq .expected_seconds)
  jq -e '[(.notes // [])[] | select(startswith("time:"))] == []' "$work/plan2.json"
  cli run "$work/timed.yaml" --all >/dev/null
  took=$(cli runs -o json | jq '.runs[0] | [.ended_at, .started_at] | map(sub("\\.[0-9]+"; "") | fromdate) | .[0] - .[1]')
  echo "first estimate $first s, later one $later s, the run took $took s"
  awk -v first="$first" -v later="$later" -v took="$took" \
    'BEGIN { exit !(first > later && later > 0.7 * took - 1 && later < 1.3 * took + 1) }'  # the run's times are whole seconds
}

# The first run of its suite has no night to compare with: its own retests with known-good partners decide.
retested_suspect_is_a_finding() {
  play 32 'faults: [{kind: port, node: sim0020, nic: 0, takes: 0.15}]'
  expect_exit 1 cli run "$work/drilled.yaml" --all >"$work/run.txt"
  grep -E '^run .* passed' "$work/run.txt"
  grep -E '^confirmed +part-sim0020-rail-0 ' "$work/run.txt"
  cli findings show part-sim0020-rail-0 -o json >"$work/part.json"
  jq -e '.kind == "part" and .state == "confirmed" and .suspect == "sim0020 rail 0"' "$work/part.json"
  jq -e '[.causes[] | select(test("sim0020 rail 0: confirmed"))] | length > 0' "$work/part.json"
}

# The slow port fails its proof and keeps its finding; after the repair a proof ends it, also where somebody paused the
# node. The certificate is checked offline.
proof_ends_the_finding() {
  play 32 'faults: [{kind: port, node: sim0020, nic: 0, takes: 0.15}]'
  expect_exit 1 cli prove sim0020 --file "$work/bad.json" >"$work/bad.txt" 2>"$work/bad.log"
  cat "$work/bad.txt" "$work/bad.log"
  grep -E 'suite prove: .* on 8 nodes .* about ' "$work/bad.log"
  jq -e '.verdict == "not_proved" and (.proof.nodes[0].worse | map(test("^sim0020 rail 0, ")) | any)' "$work/bad.json"
  jq -e '[.proof.nodes[0].worse[] | select(test("rail 1"))] == []' "$work/bad.json"
  cli findings show part-sim0020-rail-0 -o json | jq -e '.state == "confirmed" and (.steps[-1].text | test("not proved"))'
  play 32
  cli nodes pause sim0020 --for 2h --reason "new cable" >/dev/null
  cli prove sim0020 --file "$work/good.json" >"$work/good.txt"
  cat "$work/good.txt"
  cli nodes resume sim0020 >/dev/null
  jq -e '.verdict == "proved" and .trigger == "prove" and (.proof.partners | length > 0)' "$work/good.json"
  cli verify "$work/good.json"
  cli findings show part-sim0020-rail-0 -o json | jq -e '.state == "fixed" and (.steps[-1].text | test("proved: as its peers"))'
}

# By the plan at most ten minutes for eight nodes; the modelled tasks take no time.
eight_nodes_are_proved_in_time() {
  cli suites plan prove --nodes 'sim[0001-0008]' -o json >/dev/null
  cli prove 'sim[0001-0008]' -o json >"$work/eight.json" 2>"$work/eight.log"
  cat "$work/eight.log"
  jq -e '[.proof.nodes[] | select(.verdict == "proved")] | length == 8' "$work/eight.json"
}

stack_change_is_seen() {
  play 32 'changes: [{nodes: sim0003, versions: {gpu_driver: "999.1"}}]'
  cli nodes show sim0003 | grep 999.1
  ! cli nodes show sim0004 | grep 999.1
}

lost_agents_are_missing() {
  play 30 'agents: [{kind: lost, nodes: "sim[0001-0002]"}]'
  cli nodes -o json >"$work/nodes.json"
  jq -e '[.nodes[] | select(.state == "attached") | .name] | index("sim0001", "sim0002") | not' "$work/nodes.json"
}

lost_function_fails_its_tasks() {
  play 32 'losses: [{nodes: sim0007, outcome: failed, reason: no verbs here}]'
  expect_exit 1 cli run "$work/pairs.yaml" --nodes sim0007,sim0008 >"$work/run.txt"
  grep 'no verbs here' "$work/run.txt"
}

impossible_scenario_is_one_line() {
  printf '%s\n' "$kHead" 'faults: [{kind: leaf, leaf: 9, takes: 0.1}]' >"$work/bad.yaml"
  expect_exit 2 "$bin/railgauge-fleet" --controller "unix:$socket" --scenario "$work/bad.yaml" 2>"$work/bad.err"
  [ "$(wc -l <"$work/bad.err")" = 1 ]
  grep 'bad.yaml:7:.*faults\[0\].leaf: is 9; allowed: 0 to 3' "$work/bad.err"
}

start_controller --site-profile "$work/site.yaml" --console-listen 127.0.0.1:0
check "everything is marked synthetic" everything_is_marked_synthetic
check "a healthy fabric accuses nobody" healthy_fabric_accuses_nobody
check "a slow sending port is named" is_named 'sim0012 rail 1 sends' \
  'faults: [{kind: port, node: sim0012, nic: 1, direction: sends, takes: 0.15}]'
check "a slow leaf is named" is_named 'leaf L2' 'faults: [{kind: leaf, leaf: 2, takes: 0.15}]'
check "a slow rail is named" is_named 'rail 0' 'faults: [{kind: rail, rail: 0, takes: 0.15}]'
check "an estimate that earlier runs made matches the run" estimate_matches
check "a suspect that the drill-down confirmed is a finding, and its run ends with 1" retested_suspect_is_a_finding
check "a proof fails while the port is slow, and ends its finding after the repair" proof_ends_the_finding
check "eight nodes are proved by one run" eight_nodes_are_proved_in_time
check "another stack is seen on its node" stack_change_is_seen
check "lost agents are missing" lost_agents_are_missing
check "a lost function fails its tasks with the reason" lost_function_fails_its_tasks
check "each verb that asks the controller says that its data is synthetic" each_verb_is_marked
check "the metrics say that the data is synthetic" metrics_are_marked
check "an impossible scenario is refused in one line" impossible_scenario_is_one_line
summary
