#!/usr/bin/env bash
# A rollout on a Slurm cluster: drains nodes, measures, upgrades and judges them by shell.sh, and resumes them after a
# pass alone. Other nodes stay drained with the verdict as reason. Start it again after any kill: it continues.
#   slurm.sh NODES PART=VERSION COMMAND...
# NODES as Slurm and Railgauge both read them: gpu[001-008]. Exit codes as shell.sh's.
#   GATE_DRAIN_SECONDS  how long running jobs may take to end [86400]
set -uo pipefail
[ $# -ge 3 ] || { sed -n '2,5s/^# //p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
nodes=$1
until=$((SECONDS + ${GATE_DRAIN_SECONDS:-86400}))
words=([0]="pass" [1]="regressed" [3]="inconclusive")

# Without jobs a draining node is "drained"; "drain*" does not answer, as during a reboot.
jobs_left() { squeue --noheader --nodelist "$nodes" --format %i; }

scontrol update "nodename=$nodes" state=drain reason="railgauge: upgrade" || exit 4
while [ -n "$(jobs_left)" ]; do
  [ "$SECONDS" -lt "$until" ] || { echo "slurm.sh: jobs on $nodes did not end" >&2; exit 4; }
  sleep 5
done
code=0
"$here/shell.sh" "$@" || code=$?
if [ "$code" = 0 ]; then
  scontrol update "nodename=$nodes" state=resume || exit 4
else
  scontrol update "nodename=$nodes" state=drain reason="railgauge: ${words[$code]:-no verdict}, exit code $code"
fi
exit "$code"
