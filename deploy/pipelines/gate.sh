#!/usr/bin/env bash
# Measures nodes before an upgrade and judges them after it, in two steps that a pipeline may repeat after any kill:
#   gate.sh prepare NODES [PART=VERSION] measures the before side, once
#   gate.sh judge NODES [PART=VERSION]   measures the after side and ends with the verdict's exit code:
#                                        0 pass, 1 regressed, 3 inconclusive, 4 no verdict, 2 wrong use
# The state folder belongs to one upgrade of these nodes, and other nodes or versions are refused there (2); remove it
# before the next. A stored verdict is not measured again.
#   GATE_STATE  folder of the step's results [./railgauge-pipeline]
#   GATE_PREPARE_FLAGS, GATE_FLAGS  more flags of `upgrades prepare` and of `upgrades gate`
#   GATE_TRIES  tries of a step whose railgauge or controller was killed [5]
set -uo pipefail
[ $# -ge 2 ] || { sed -n '2,11s/^# //p' "$0" >&2; exit 2; }
step=$1 nodes=$2 expect=${3:-}
state=${GATE_STATE:-railgauge-pipeline} tries=${GATE_TRIES:-5}
mkdir -p "$state" || exit 4
read -r -a prepare_flags <<<"${GATE_PREPARE_FLAGS:-}"
read -r -a gate_flags <<<"${GATE_FLAGS:---wait-nodes 1h --time-limit 6h}"

# belongs FILE TEXT: FILE in the state folder has TEXT; the first step that names it writes it.
belongs() {
  [ -s "$state/$1" ] || { echo "$2" >"$state/$1.new" && mv "$state/$1.new" "$state/$1"; } || exit 4
  [ "$(cat "$state/$1")" = "$2" ] ||
    { echo "gate.sh: $state belongs to the upgrade of $(cat "$state/$1"), not of $2; remove it, or set GATE_STATE" >&2; exit 2; }
}
belongs nodes "$nodes"
[ -z "$expect" ] || belongs expect "$expect"

# Wrong use and an operator's interrupt are final.
is_final() { case $1 in 2 | 130 | 143) return 0 ;; *) return 1 ;; esac; }
is_verdict() { case $1 in 0 | 1 | 3) return 0 ;; *) return 1 ;; esac; }

# A before side that was cut short is measured once more, as an upgrade of its own; the gate takes the newest.
prepare() {
  [ ! -s "$state/upgrade" ] || return 0
  local code id try
  for ((try = 1; try <= tries; ++try)); do
    code=0
    railgauge upgrades prepare --nodes "$nodes" "${prepare_flags[@]}" -o json >"$state/prepared.json" || code=$?
    id=$(sed -n 's/.*"upgrade_id": *"\([^"]*\)".*/\1/p' "$state/prepared.json" | head -n 1)
    # 1: a task failed; its pair has no before side.
    if [ "$code" -le 1 ] && [ -n "$id" ]; then
      echo "$id" >"$state/upgrade.new" && mv "$state/upgrade.new" "$state/upgrade"
      return 0
    fi
    ! is_final "$code" || return "$code"
    echo "gate.sh: prepare ended with $code; try $try of $tries" >&2
    sleep 5
  done
  return 4
}

# Each try continues a run that is under way. A verdict that was reached meanwhile is the answer, unless it is that of a
# run which ended with its controller: that one is measured once more.
judge() {
  local id code try
  id=$(cat "$state/upgrade" 2>/dev/null) || { echo "gate.sh: $nodes has no before side here; start with: gate.sh prepare" >&2; return 2; }
  for ((try = 1; try <= tries; ++try)); do
    code=0
    railgauge upgrades show "$id" --exit-code --quiet >"$state/verdict.txt" 2>/dev/null || code=$?
    case $code in
      0 | 1) return "$code" ;;
      3) set -- extend "$id" ;;
      *) set -- gate --nodes "$nodes" ${expect:+--expect "$expect"} ;;
    esac
    code=0
    railgauge upgrades "$@" "${gate_flags[@]}" >"$state/verdict.txt" || code=$?
    ! is_verdict "$code" || return "$code"
    ! is_final "$code" || return "$code"
    echo "gate.sh: $1 ended with $code; try $try of $tries" >&2
    sleep 5
  done
  code=0
  railgauge upgrades show "$id" --exit-code >"$state/verdict.txt" || code=$?
  return "$code"
}

case $step in
  prepare) prepare ;;
  judge) code=0; judge || code=$?; [ ! -s "$state/verdict.txt" ] || cat "$state/verdict.txt"; exit "$code" ;;
  *) echo "gate.sh: $step is neither prepare nor judge" >&2; exit 2 ;;
esac
