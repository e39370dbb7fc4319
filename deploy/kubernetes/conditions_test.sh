#!/usr/bin/env bash
# shellcheck disable=SC2119,SC2120  # run is given its flag by expect
# Tests conditions.sh with a kubectl that keeps nodes in files and a railgauge that answers from a file. Exit 77 without jq.
set -uo pipefail
cd "$(dirname "$0")" || exit 4
command -v jq >/dev/null || { echo "waived: no jq here"; exit 77; }
work=$(cd "$(mktemp -d)" && pwd -P)
trap 'rm -rf "$work"' EXIT
failures=0 cases=0
expect() { # TITLE COMMAND...
  local title=$1; shift
  cases=$((cases + 1))
  "$@" >"$work/out" 2>&1 || { failures=$((failures + 1)); echo "FAILED: $title"; sed 's/^/    /' "$work/out"; }
}
mkdir "$work/bin" "$work/nodes"
cat >"$work/bin/kubectl" <<'K'
#!/bin/bash
echo "$*" >>"$WORK/calls"
[ ! -e "$WORK/api_is_away" ] || exit 1
edit() { jq "$@" "$file" >"$file.draft" && mv "$file.draft" "$file"; }
file=$WORK/nodes/${3:-}
case "$1 $2" in
  "get nodes") jq -s '{items: .}' "$WORK"/nodes/* ;;
  "patch node") [ "$4" = --subresource=status ] && edit --argjson patch "$7" '.status.conditions = $patch.status.conditions' ;;
  "annotate node") edit --arg key "${5%%=*}" --arg value "${5#*=}" '.metadata.annotations[$key] = $value' ;;
  "taint node")
    case $4 in
      *-) edit --arg key "${4%%:*}" '.spec.taints |= map(select(.key != $key))' ;;
      *) edit --arg key "${4%%=*}" --arg value "$(sed 's/.*=\(.*\):.*/\1/' <<<"$4")" '.spec.taints += [{key: $key, value: $value, effect: "NoSchedule"}]' ;;
    esac ;;
  *) exit 1 ;;
esac
K
# Answers: a line a node and check, "NODE CHECK STATE", or "NODE error".
cat >"$work/bin/railgauge" <<'R'
#!/bin/bash
[ ! -e "$WORK/controller_is_away" ] || exit 4
jq -R -s 'split("\n") | map(select(. != "") | split(" ")) | {
  nodes: (group_by(.[0]) | map({node: .[0][0], error: (if any(.[]; .[1] == "error") then "no answer" else "" end)})),
  checks: map(select(length == 3) | {node: .[0], id: .[1], state: .[2]})}' "$WORK/answers"
exit 1
R
chmod +x "$work"/bin/*
export WORK=$work PATH=$work/bin:$PATH
node() { jq -n --arg name "$1" '{metadata: {name: $name, annotations: {}}, spec: {taints: []}, status: {}}' >"$work/nodes/$1"; }
answers() { printf '%s\n' "$@" >"$work/answers"; }
is() { [ "$(jq -r "$2" "$work/nodes/$1")" = "$3" ] || { cat "$work/nodes/$1"; return 1; }; }
tainted() { is "$1" '[.spec.taints[] | select(.key == "railgauge.io/failed") | .value] | join(",")' "$2"; }
condition() { is "$1" '.status.conditions[0] | "\(.type) \(.status) \(.message)"' "$2"; }
run() { ./conditions.sh "$@" >"$work/said" 2>&1; }

node n1; node n2; node n3
answers "n1 acs fail" "n1 mtu pass" "n2 acs pass" "n3 error"
expect "it is off by default" run
expect "and says so" grep -q "^conditions.sh: off" "$work/said"
expect "then nobody is asked" test ! -e "$work/calls"
export RAILGAUGE_NODE_CONDITIONS=yes
expect "a dry run" run --dry-run
expect "changes nothing" is n1 '.status | length' 0
expect "conditions alone" run
expect "a failed check is a fault" condition n1 "RailgaugeFault True acs"
expect "a node that passes has none" condition n2 "RailgaugeFault False no check failed"
expect "one that does not answer is unknown" condition n3 "RailgaugeFault Unknown the node's agent does not answer"
run
expect "no node is tainted by default" tainted n1 ""
export RAILGAUGE_NODE_TAINTS=yes
run
expect "a first failure taints nothing" tainted n1 ""
answers "n1 mtu fail" "n1 acs pass" "n2 acs pass" "n3 acs pass"; run
expect "nor do two of different checks" tainted n1 ""
answers "n1 mtu fail" "n1 acs fail" "n2 acs pass" "n3 acs pass"; run
expect "two failures of one check taint" tainted n1 mtu
answers "n1 mtu fail" "n2 acs fail" "n3 acs fail"; run; run
expect "a second node is beyond the cap" tainted n2 ""
expect "which is said" grep -q "^n2: not tainted: 1 of 3 nodes are already (acs)" "$work/said"
for state in waived unknown error; do
  answers "n1 mtu $state" "n1 acs pass" "n2 acs pass" "n3 acs pass"; run
  expect "a check that is $state is no pass" tainted n1 mtu
done
jq '.spec.taints += [{key: "example.org/disk", value: "full", effect: "NoSchedule"}]' "$work/nodes/n1" >"$work/draft" && mv "$work/draft" "$work/nodes/n1"
answers "n1 mtu pass" "n2 acs fail" "n3 acs pass"; run
expect "a pass of the accused check ends the taint" tainted n1 ""
expect "and leaves that of others" is n1 '.spec.taints[0].key' example.org/disk
run
expect "then the place is free" tainted n2 acs
jq '.spec.unschedulable = true' "$work/nodes/n3" >"$work/draft" && mv "$work/draft" "$work/nodes/n3"
export RAILGAUGE_TAINT_PERCENT=100
answers "n1 mtu pass" "n2 acs fail" "n3 acs fail"; run; run
expect "a cordoned node is left alone" tainted n3 ""
: >"$work/calls"; run
expect "where nothing changed nothing is written" eval '! grep -v "^get nodes" "$work/calls"'
answers "n1 mtu error" "n2 acs fail" "n3 acs fail"; run
expect "a check in error is no pass" condition n1 "RailgaugeFault Unknown a check ended in an error"
answers "n1 mtu pass" "n3 acs fail"; run
expect "a node whose agent is down is in no answer, and unknown" condition n2 "RailgaugeFault Unknown the node's agent does not answer"
expect "and keeps its taint" tainted n2 acs
node n9; run
expect "one that never had an agent is left alone" is n9 '.status | length' 0
rm "$work/nodes/n9"
jq --arg long "$(head -c 100000 /dev/zero | tr '\0' x)" '.metadata.annotations.long = $long + $long + $long' "$work/nodes/n1" >"$work/draft" && mv "$work/draft" "$work/nodes/n1"
answers "n1 mtu fail" "n2 acs fail" "n3 acs fail"; run
expect "an answer longer than an argument is read" condition n1 "RailgaugeFault True mtu"
RAILGAUGE_NODE_TAINTS=no run
expect "taints that are turned off go" tainted n2 ""
before=$(cat "$work"/nodes/*)
touch "$work/controller_is_away"; : >"$work/calls"
expect "without the controller the exit code is 4" eval 'run; [ $? = 4 ]'
rm "$work/controller_is_away"; touch "$work/api_is_away"
expect "without the API too" eval 'run; [ $? = 4 ]'
rm "$work/api_is_away"
expect "and nothing is changed" test "$before" = "$(cat "$work"/nodes/*)"
expect "a wrong percentage is refused" eval 'RAILGAUGE_TAINT_PERCENT=many run; [ $? = 2 ]'
[ $failures = 0 ] || { echo "$failures of $cases cases failed"; exit 1; }
echo "Kubernetes' conditions: $cases cases passed"
