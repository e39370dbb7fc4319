#!/bin/bash
# Drains nodes that ask for it (healthcheck.sh), at most 2 % of all nodes in any hour, and undrains those that it drained
# and that pass again. For a timer on one host, as a user that Slurm obeys; it does nothing unless /etc/railgauge/slurm.env
# has RAILGAUGE_SLURM_DRAIN=yes.
#   drain.sh             decides once
#   drain.sh --dry-run   prints what it would do
# A fabric of fewer than 50 nodes may lose one an hour. A node that has a reason already is left alone; so is every reason
# that does not begin with "railgauge:". A wish is granted once, so that a node which an administrator resumes stays
# resumed until a later preflight fails; one older than a verdict may be is ignored.
# Exit 0; 4 when Slurm does not answer, or a drain cannot be written down before it is made.
#   RAILGAUGE_SLURM_PERCENT  in place of 2
#   RAILGAUGE_VERDICT_HOURS  older preflights are no verdict [26]
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
# Lines "TIME NODE WISH begun" before a drain and "TIME NODE WISH done" after it; WISH is the time of the preflight. They
# are kept as long as a wish is valid.
keep=$((${RAILGAUGE_VERDICT_HOURS:-26} * 3600))
if ! { touch "$state/drained" && awk -v from=$((now - keep)) '$1 > from' "$state/drained" >"$state/drained.draft" &&
  mv "$state/drained.draft" "$state/drained"; }; then
  echo "drain.sh: $state/drained: cannot be written, so no node is drained" >&2
  exit 4
fi
# Nodes of the last hour: one whose drain is tried again has its place already.
recent=$(awk -v from=$((now - 3600)) '$1 > from { print $2 }' "$state/drained" | sort -u)
left=$((most - $(grep -c . <<<"$recent")))

# note NODE WISH WORD: on the disk before it returns, so that a killed drain has counted.
note() { [ $dry = 1 ] || { echo "$now $*" >>"$state/drained" && sync "$state/drained"; }; }
# granted NODE WISH: that drain was made.
granted() { awk -v node="$1" -v wish="$2" '$2 == node && $3 == wish && $4 == "done" { found = 1 } END { exit !found }' "$state/drained"; }
change() { # NODE WORD...
  [ $dry = 1 ] || timeout 20 scontrol update NodeName="$1" "${@:2}"
}
while IFS=$'\037' read -r node condition reason comment; do
  case $comment in
    "railgauge: wants drain: "*" at "*)
      [ -z "$reason" ] || [ "$reason" = "(null)" ] || continue
      wish=${comment##* at } checks=${comment#railgauge: wants drain: } checks=${checks%% *}
      case $wish in '' | *[!0-9]*) continue ;; esac
      if [ "$wish" -le $((now - keep)) ] || granted "$node" "$wish"; then continue; fi
      if ! grep -qxF -- "$node" <<<"$recent"; then
        if [ $left -le 0 ]; then
          echo "$node: not drained: $most of $total nodes were in the last hour ($checks)"
          continue
        fi
        left=$((left - 1))
      fi
      note "$node" "$wish" "begun" || { echo "drain.sh: $state/drained: cannot be written, so no node is drained" >&2; exit 4; }
      change "$node" State=DRAIN Reason="railgauge: $checks" || continue
      note "$node" "$wish" "done"
      echo "$node: drained: $checks"
      ;;
    "railgauge: passes")
      [[ $condition == *DRAIN* && $reason == railgauge:* ]] || continue
      change "$node" State=RESUME && echo "$node: undrained: it passes again"
      ;;
  esac
done <<<"$nodes"
exit 0
