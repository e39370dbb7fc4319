#!/bin/bash
# Drains nodes that ask for it (healthcheck.sh), at most 2 % of all nodes in any hour, and undrains those that it drained
# and that pass again. For a timer on one host, as a user that Slurm obeys; it does nothing unless /etc/railgauge/slurm.env
# has RAILGAUGE_SLURM_DRAIN=yes.
#   drain.sh             decides once
#   drain.sh --dry-run   prints what it would do
# A fabric of fewer than 50 nodes may lose one an hour. A node that has a reason already is left alone; so is every reason
# that does not begin with "railgauge:". Exit 0; 4 when Slurm does not answer.
#   RAILGAUGE_SLURM_PERCENT  in place of 2
set -uo pipefail
dry=0
case "${1:-}" in "") ;; --dry-run) dry=1 ;; *) echo "drain.sh: unknown option $1; allowed: --dry-run" >&2; exit 2 ;; esac
settings=${RAILGAUGE_SLURM_SETTINGS:-/etc/railgauge/slurm.env}
# shellcheck source=/dev/null
[ ! -r "$settings" ] || { set -a; . "$settings"; set +a; }
[ "${RAILGAUGE_SLURM_DRAIN:-no}" = yes ] || { echo "drain.sh: off; RAILGAUGE_SLURM_DRAIN=yes in $settings turns it on"; exit 0; }
state=${RAILGAUGE_SLURM_DRAIN_STATE:-/var/lib/railgauge-slurm}
percent=${RAILGAUGE_SLURM_PERCENT:-2}
mkdir -p "$state" || exit 4
# One decision at a time, or two would both use the last place of an hour.
exec 9>"$state/lock"
flock -w 10 9 || { echo "drain.sh: $state/lock: another one decides for 10 s already" >&2; exit 4; }

# A node a line: name, state, reason, comment, between characters that are no white space, so that a field may be empty.
nodes=$(timeout 20 scontrol show node --oneliner 2>/dev/null | awk '{
    split("", value)
    for (i = 1; i <= NF; ++i) {
      if (match($i, /^[A-Za-z]+=/)) { key = substr($i, 1, RLENGTH - 1); value[key] = substr($i, RLENGTH + 1) }
      else value[key] = value[key] " " $i
    }
    print value["NodeName"] "\037" value["State"] "\037" value["Reason"] "\037" value["Comment"]
  }')
[ -n "$nodes" ] || { echo "drain.sh: scontrol show node: no answer; is slurmctld running?" >&2; exit 4; }
total=$(wc -l <<<"$nodes")
most=$((total * percent / 100))
[ $most -gt 0 ] || most=1
now=$(date +%s)
# Lines "TIME NODE" of the last hour.
touch "$state/drained"
recent=$(awk -v now="$now" '$1 > now - 3600' "$state/drained")
left=$((most - $(grep -c . <<<"$recent")))

change() { # NODE WORD...
  [ $dry = 1 ] || timeout 20 scontrol update NodeName="$1" "${@:2}"
}
while IFS=$'\037' read -r node condition reason comment; do
  case $comment in
    "railgauge: wants drain: "*)
      [ -z "$reason" ] || [ "$reason" = "(null)" ] || continue
      if [ $left -le 0 ]; then
        echo "$node: not drained: $most of $total nodes were in the last hour (${comment#railgauge: wants drain: })"
        continue
      fi
      change "$node" State=DRAIN Reason="railgauge: ${comment#railgauge: wants drain: }" || continue
      left=$((left - 1))
      recent+=${recent:+$'\n'}"$now $node"
      echo "$node: drained: ${comment#railgauge: wants drain: }"
      ;;
    "railgauge: passes")
      case "$condition $reason" in *DRAIN*" railgauge:"*) ;; *) continue ;; esac
      change "$node" State=RESUME && echo "$node: undrained: it passes again"
      ;;
  esac
done <<<"$nodes"
[ $dry = 1 ] || { echo "$recent" >"$state/drained.draft" && mv "$state/drained.draft" "$state/drained"; }
exit 0
