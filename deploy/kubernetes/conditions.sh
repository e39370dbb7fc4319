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
# A taint with another key or effect is never touched, and a cordoned node gets none. Ours goes when the check passes again, or
# with the first call after taints were turned off.
# Exit 0; 2 wrong use; 4 when the API or the controller does not answer: nothing is changed then.
set -uo pipefail
dry=0
case "${1:-}" in "") ;; --dry-run) dry=1 ;; *) echo "conditions.sh: unknown option $1; allowed: --dry-run" >&2; exit 2 ;; esac
taints=${RAILGAUGE_NODE_TAINTS:-no} percent=${RAILGAUGE_TAINT_PERCENT:-2}
[ "${RAILGAUGE_NODE_CONDITIONS:-no}" = yes ] || { echo "conditions.sh: off; RAILGAUGE_NODE_CONDITIONS=yes turns it on"; exit 0; }
[[ $percent =~ ^[0-9]+$ ]] && [ "$percent" -le 100 ] || { echo "conditions.sh: RAILGAUGE_TAINT_PERCENT: $percent is no percentage" >&2; exit 2; }
readonly kTaint=railgauge.io/failed kBefore=railgauge.io/failed-before

work=$(mktemp -d) || exit 4
trap 'rm -rf "$work"' EXIT
# In files: the answers of a large cluster are longer than an argument may be.
kubectl get nodes -o json >"$work/nodes" && jq -e '.items | length > 0' "$work/nodes" >/dev/null 2>&1 ||
  { echo "conditions.sh: kubectl get nodes: no answer that names nodes; nothing is changed" >&2; exit 4; }
# Exit codes 1 to 4 are verdicts; only an answer without nodes is none.
railgauge preflight -o json >"$work/verdicts"
jq -e '.nodes | length > 0' "$work/verdicts" >/dev/null 2>&1 ||
  { echo "conditions.sh: railgauge preflight: no answer that names nodes; nothing is changed" >&2; exit 4; }

# A node a line: name, word (pass, fail, unknown), failed checks, passed checks, failed checks of the time before, the check of
# our taint, cordoned, its condition as it is, between characters that are no white space. An agent that is down is in no answer:
# its node is unknown where it has our condition or taint, and else left alone, since it may have no agent.
jq -rn --slurpfile nodes "$work/nodes" --slurpfile verdicts "$work/verdicts" --arg taint $kTaint --arg before $kBefore '
  ($verdicts[0].checks | group_by(.node) | map({key: .[0].node, value: .}) | from_entries) as $checks
  | ($verdicts[0].nodes | map({key: .node, value: .}) | from_entries) as $answers
  | $nodes[0].items[] | .metadata.name as $name | ($checks[$name] // []) as $all
  | ([.spec.taints[]? | select(.key == $taint and .effect == "NoSchedule") | .value] | first // "") as $ours
  | ([.status.conditions[]? | select(.type == "RailgaugeFault") | "\(.status) \(.reason) \(.message)"] | first // "") as $shown
  | select($answers[$name] != null or $ours != "" or $shown != "")
  | ([$all[] | select(.state == "fail") | .id] | unique) as $failed
  | ([$all[] | select(.state | IN("fail", "error", "unknown")) | .id]) as $open
  | (([$all[] | select(.state == "pass") | .id] | unique) - $open) as $passed
  | [$name, (if $answers[$name] == null or ($answers[$name].error // "") != "" then "absent" elif $failed != [] then "fail"
       elif any($all[]; .state == "error") then "error" else "pass" end), ($failed | join(",")), ($passed | join(",")),
     (.metadata.annotations[$before] // ""), $ours, (.spec.unschedulable // false | tostring), $shown]
  | join("\u001f")' >"$work/lines" || { echo "conditions.sh: the answers cannot be read; nothing is changed" >&2; exit 4; }

total=$(jq '.items | length' "$work/nodes")
tainted=$(jq --arg taint $kTaint '[.items[] | select(any(.spec.taints[]?; .key == $taint and .effect == "NoSchedule"))] | length' "$work/nodes")
most=$((total * percent / 100))
[ $most -gt 0 ] || most=1
now=$(date -u +%FT%TZ)

change() { if [ $dry = 1 ]; then echo "would: kubectl $*"; else kubectl "$@" >/dev/null; fi; }
condition() { # NODE SHOWN STATUS REASON MESSAGE: a call for what changed alone, since each takes a part of a second
  local patch
  [ "$2" != "$3 $4 $5" ] || return 0
  patch=$(jq -cn --arg status "$3" --arg reason "$4" --arg message "$5" --arg now "$now" \
    '{status: {conditions: [{type: "RailgaugeFault", status: $status, reason: $reason, message: $message, lastHeartbeatTime: $now, lastTransitionTime: $now}]}}')
  change patch node "$1" --subresource=status --type=strategic -p "$patch"
}
words() { tr , '\n' <<<"$1" | sed '/^$/d' | sort -u; }
both() { comm -12 <(words "$1") <(words "$2") | head -n 1; }

code=0
while IFS=$'\037' read -r node word failed passed before ours cordoned shown; do
  case $word in
    pass) condition "$node" "$shown" False PreflightPassed "no check failed" || code=4 ;;
    fail) condition "$node" "$shown" True PreflightFailed "$failed" || code=4 ;;
    error) condition "$node" "$shown" Unknown PreflightError "a check ended in an error" || code=4 ;;
    *) condition "$node" "$shown" Unknown NoAnswer "the node's agent does not answer" || code=4; continue ;;
  esac
  # Ours goes also where taints are off by now. A check that was not made is no pass.
  if [ -n "$ours" ]; then
    if [ "$taints" != yes ] || grep -qxF -- "$ours" <(words "$passed"); then
      change taint node "$node" "$kTaint:NoSchedule-" || { code=4; continue; }
      tainted=$((tainted - 1))
      echo "$node: its taint is gone: $([ "$taints" = yes ] && echo "$ours passes again" || echo "taints are off")"
    fi
    continue
  fi
  [ "$taints" = yes ] && [ "$cordoned" != true ] || continue
  # One wrong reading taints nothing: the check has to fail in two preflights.
  [ "$before" = "$failed" ] || change annotate node "$node" --overwrite "$kBefore=$failed" || { code=4; continue; }
  twice=$(both "$before" "$failed")
  [ -n "$twice" ] || continue
  if [ $tainted -ge $most ]; then
    echo "$node: not tainted: $tainted of $total nodes are already ($twice)"
  elif change taint node "$node" "$kTaint=$twice:NoSchedule"; then
    tainted=$((tainted + 1))
    echo "$node: tainted: $twice failed in two preflights"
  else
    code=4
  fi
done <"$work/lines"
exit $code
