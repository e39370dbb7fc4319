#!/usr/bin/env bash
# The seeded simulation of faults in several lanes at once, as most of a round is waiting: deploy/e2e/chaos.sh with the
# seeds SEED to SEED + SEEDS - 1.
#   deploy/e2e/chaos_seeds.sh SEEDS [SEED [STRIKES [LANES]]]   (20 seeds take a minute on two cores; 1, 5 and 4 unless given)
# Prints a line a round, and what repeats a failed one. RAILGAUGE_CHAOS_TABLE: the file that gets one row of counts.
# Exit 0 every seed passed; 1 one did not.
set -euo pipefail
seeds=${1:?chaos_seeds.sh: SEEDS is needed} first=${2:-1} strikes=${3:-5} lanes=${4:-4}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/railgauge-chaos.XXXXXX")
pids=()
# shellcheck disable=SC2317  # called by the trap
finish() {
  [ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT
at=$first
for ((lane = 0; lane < lanes; ++lane)); do
  count=$((seeds / lanes + (lane < seeds % lanes ? 1 : 0)))
  [ "$count" -gt 0 ] || continue
  RAILGAUGE_CHAOS_TABLE=$work/table-$lane "$here/chaos.sh" "$count" "$at" "$strikes" >"$work/log-$lane" 2>&1 &
  pids+=($!)
  at=$((at + count))
done
bad=0
for pid in "${pids[@]}"; do wait "$pid" || bad=$((bad + 1)); done
pids=()
# Lines of killed processes are the shell's own.
cat "$work"/log-* | grep -v ' Killed  ' || true
if [ -n "${RAILGAUGE_CHAOS_TABLE:-}" ]; then
  cat "$work"/table-* | awk -F '\t' -v OFS='\t' -v seeds="$first-$((first + seeds - 1))" '
    NR == 1 { commit = $1; date = $2; strikes = $5 }
    { rounds += $4; kills += $6; records += $7; missing += $8; twice += $9; faults += $10; tried += $11; unmet += $12
      if ($13 ~ /skipped/) { skipped += $13; cannot = 1 } else disks += $13 }
    END { print commit, date, seeds, rounds, strikes, kills, records, missing, twice, faults, tried, unmet,
      (cannot ? skipped " skipped, no leave to mount" : disks + 0) }' >>"$RAILGAUGE_CHAOS_TABLE"
fi
echo "$seeds seeds from $first in $lanes lanes: $([ "$bad" = 0 ] && echo "all passed" || echo "$bad lanes with a fault")"
[ "$bad" = 0 ]
