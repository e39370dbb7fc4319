#!/usr/bin/env bash
# Rounds, matrices and suspects over real RDMA verbs, on four guests of the virtual fabric: all pairs in three rounds,
# a slow sender named with its direction, and what a stopped run left, run afterwards.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/guests.sh"

# Short, and by bytes rather than by time: the guests share the host's cores, and one pair at a time bends figures least.
cat >"$work/pairs.yaml" <<'Y'
version: 1
metadata: {name: pairs, summary: "bandwidth of all pairs, both ways"}
rounds: {max_tasks: 1}
stages:
  - kernel: verbs.write_bw
    parameters: {sizes: 64KiB, depth: 4, signal_every: 2, min_samples: 30, max_samples: 300, time_cap: 3s}
    placement: {pairs: all, directions: both}
Y
cat >"$work/slow.yaml" <<'Y'
version: 1
metadata: {name: slow, summary: long enough to be cancelled}
stages:
  - kernel: verbs.write_bw
    parameters: {sizes: 64KiB, depth: 16, signal_every: 4, time_cap: 4s, min_samples: 1000000, max_samples: 2000000, stall_timeout: 5s}
    placement: {pairs: all}
Y

all_pairs_of_four_are_three_rounds() {
  cli suites plan "$work/slow.yaml" -o json >"$work/plan.json"
  jq -e '.rounds == 3 and .tasks_total == 6 and ([.planned_rounds[].tasks] == [2, 2, 2])' "$work/plan.json"
}

matrix_has_both_directions_of_all_pairs() {
  cli run "$work/pairs.yaml" -o json >"$work/healthy.json"
  healthy=$(jq -r .run.run_id "$work/healthy.json")
  cli matrix "$healthy"
  cli matrix "$healthy" -o json >"$work/matrix.json"
  jq -e '([.pairs[].from] | unique == ["n1", "n2", "n3", "n4"]) and ([.pairs[] | select(.value > 0)] | length == 12)
    and (.synthetic | not)' "$work/matrix.json"
  wait_for "the matrix is stored" 20 matrix_is_stored
}
matrix_is_stored() { [ "$(sqlite3 "$work/railgauge.db" 'SELECT count(*) FROM pair_matrix')" -ge 1 ]; }

# A third or less of what a guest sends otherwise. Acknowledgements are small, so what it receives stays as it is.
slow_sender_is_named_with_its_direction() {
  local run code=0
  fabric fault n2 rate 30mbit
  cli run "$work/pairs.yaml" -o json >"$work/faulty.json" || code=$?
  fabric fault n2 clear
  [ "$code" = 0 ]
  run=$(jq -r .run.run_id "$work/faulty.json")
  cli suspects "$run" -o json >"$work/suspects.json" || code=$?
  cli suspects "$run" || true
  [ "$code" = 1 ]
  jq -e '.suspects[0] | .node == "n2" and .direction == "sends" and .confirmed' "$work/suspects.json"
}

rest_of_a_cancelled_run_is_run() {
  local first
  first=$(cli run "$work/slow.yaml" --detach)
  wait_for "a task has passed" 60 some_task_passed "$first"
  cli runs cancel "$first" || true
  cli runs resume "$first" -o json >"$work/rest.json"
  cli runs show "$first" -o json >"$work/first.json"
  jq -e --slurpfile first "$work/first.json" '
    ([$first[0].tasks[] | select(.outcome == "passed") | .task_id] | length) as $done
    | .run.outcome == "passed" and (.run.tasks_total == 6 - $done) and (.run.reason | startswith("the rest of run"))' "$work/rest.json"
}
some_task_passed() { cli runs show "$1" -o json | jq -e '[.tasks[] | select(.outcome == "passed")] | length > 0'; }

up_with 4

check "all pairs of four nodes are three rounds" all_pairs_of_four_are_three_rounds
check "the matrix has both directions of all pairs" matrix_has_both_directions_of_all_pairs
check "a slow sender is named with its direction" slow_sender_is_named_with_its_direction
check "what a cancelled run left is run" rest_of_a_cancelled_run_is_run
summary
