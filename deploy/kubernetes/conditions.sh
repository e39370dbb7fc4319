#!/bin/bash
# Shows the last preflight of each node to Kubernetes: a condition Railgauge on the Node, and by wish a taint that keeps new
# pods away. It asks the controller for findings of the preflight and decides for all nodes at once, from one pod or host.
#   conditions.sh             decides once: a CronJob of the chart calls it
#   conditions.sh --dry-run   prints what it would do
# Off by default. Needs kubectl, jq and railgauge. Variables:
#   RAILGAUGE_NODE_CONDITIONS=yes   sets the condition
#   RAILGAUGE_NODE_TAINTS=yes       also taints, once two preflights of a node failed in the same check, with
#                                   railgauge.io/failed=CHECK:NoSchedule, which lets running pods be
#   RAILGAUGE_TAINT_PERCENT         most nodes with our taint, of all nodes of the cluster; at least one [2]
# A taint with another key is never touched, nor a node that is cordoned. Ours goes when the check passes again.
# Exit 0; 2 wrong use; 4 when the API or the controller does not answer: nothing is changed then.
set -uo pipefail
dry=0
case "${1:-}" in "") ;; --dry-run) dry=1 ;; *) echo "conditions.sh: unknown option $1; allowed: --dry-run" >&2; exit 2 ;; esac
taints=${RAILGAUGE_NODE_TAINTS:-no} percent=${RAILGAUGE_TAINT_PERCENT:-2}
[ "${RAILGAUGE_NODE_CONDITIONS:-no}" = yes ] || { echo "conditions.sh: off; RAILGAUGE_NODE_CONDITIONS=yes turns it on"; exit 0; }
[[ $percent =~ ^[0-9]+$ ]] && [ "$percent" -le 100 ] || { echo "conditions.sh: RAILGAUGE_TAINT_PERCENT: $percent is no percentage" >&2; exit 2; }
readonly kTaint=railgauge.io/failed kBefore=railgauge.io/failed-before

nodes=$(kubectl get nodes -o json) && jq -e '.items | length > 0' >/dev/null 2>&1 <<<"$nodes" ||
  { echo "conditions.sh: kubectl get nodes: no answer that names nodes; nothing is changed" >&2; exit 4; }
# Exit codes 1 to 4 are verdicts; only an answer without nodes is none.
verdicts=$(railgauge preflight --passed -o json)
jq -e '.nodes | length > 0' >/dev/null 2>&1 <<<"$verdicts" ||
  { echo "conditions.sh: railgauge preflight: no answer that names nodes; nothing is changed" >&2; exit 4; }

# A node a line: name, word (pass, fail, unknown), failed checks, passed checks, failed checks of the time before, the check of
# our taint, cordoned, between characters that are no white space. A node that Railgauge does not know is left alone.
lines=$(jq -rn --argjson nodes "$nodes" --argjson verdicts "$verdicts" --arg taint $kTaint --arg before $kBefore '
  ($verdicts.checks | group_by(.node) | map({key: .[0].node, value: .}) | from_entries) as $checks
  | $nodes.items[] | .metadata.name as $name | ($verdicts.nodes[] | select(.node == $name)) as $node
  | ($checks[$name] // []) as $all
  | ([$all[] | select(.state == "fail") | .id] | unique) as $failed
  | (([$all[] | select(.state == "pass") | .id] | unique) - [$all[] | select(.state | IN("fail", "error", "unknown")) | .id]) as $passed
  | [$name, (if ($node.error // "") != "" then "unknown" elif $failed != [] then "fail" else "pass" end), ($failed | join(",")), ($passed | join(",")),
     (.metadata.annotations[$before] // ""), ([.spec.taints[]? | select(.key == $taint) | .value] | first // ""), (.spec.unschedulable // false | tostring)]
  | join("\u001f")') || { echo "conditions.sh: the answers cannot be read; nothing is changed" >&2; exit 4; }

total=$(jq '.items | length' <<<"$nodes")
tainted=$(jq --arg taint $kTaint '[.items[] | select(any(.spec.taints[]?; .key == $taint))] | length' <<<"$nodes")
most=$((total * percent / 100))
[ $most -gt 0 ] || most=1
now=$(date -u +%FT%TZ)

change() { if [ $dry = 1 ]; then echo "would: kubectl $*"; else kubectl "$@" >/dev/null; fi; }
condition() { # NODE STATUS REASON MESSAGE
  local patch
  patch=$(jq -cn --arg status "$2" --arg reason "$3" --arg message "$4" --arg now "$now" \
    '{status: {conditions: [{type: "RailgaugeFault", status: $status, reason: $reason, message: $message, lastHeartbeatTime: $now}]}}')
  change patch node "$1" --subresource=status --type=strategic -p "$patch"
}
words() { tr , '\n' <<<"$1" | sed '/^$/d' | sort -u; }
both() { comm -12 <(words "$1") <(words "$2") | head -n 1; }

code=0
while IFS=$'\037' read -r node word failed passed before ours cordoned; do
  case $word in
    pass) condition "$node" False PreflightPassed "no check failed" || code=4 ;;
    fail) condition "$node" True PreflightFailed "$failed" || code=4 ;;
    *) condition "$node" Unknown NoAnswer "the node's agent does not answer" || code=4; continue ;;
  esac
  [ "$taints" = yes ] || continue
  # One wrong reading taints nothing: the check has to fail in two preflights.
  [ "$before" = "$failed" ] || change annotate node "$node" --overwrite "$kBefore=$failed" || { code=4; continue; }
  if [ -n "$ours" ]; then
    # A check that was not made is no pass.
    if grep -qxF -- "$ours" <(words "$passed") && change taint node "$node" "$kTaint:NoSchedule-"; then
      tainted=$((tainted - 1))
      echo "$node: its taint is gone: $ours passes again"
    fi
    continue
  fi
  twice=$(both "$before" "$failed")
  [ -n "$twice" ] && [ "$cordoned" != true ] || continue
  if [ $tainted -ge $most ]; then
    echo "$node: not tainted: $tainted of $total nodes are already ($twice)"
  elif change taint node "$node" "$kTaint=$twice:NoSchedule"; then
    tainted=$((tainted + 1))
    echo "$node: tainted: $twice failed in two preflights"
  else
    code=4
  fi
done <<<"$lines"
exit $code
