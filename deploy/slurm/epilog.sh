#!/bin/sh
# Slurm's Epilog: the job has left this node. Never fails, since a failing epilog drains the node. Removes only from the
# folder into which the prolog writes, and by a name that is a number.
#   slurm.conf: Epilog=/etc/slurm/epilog.d/50-railgauge
folder=${RAILGAUGE_BUSY_JOBS_FOLDER:-/run/railgauge-jobs}
case "${SLURM_JOB_ID:-}" in '' | *[!0-9]*) exit 0 ;; esac
cd -P "$folder" 2>/dev/null || exit 0
[ "$(pwd -P)" = "$folder" ] && [ -O . ] && rm -f "./$SLURM_JOB_ID" 2>/dev/null
# As the prolog, and as bounded: which job was on a node that failed meanwhile.
verdict=${RAILGAUGE_VERDICT:-/usr/share/railgauge/slurm/verdict.sh}
# shellcheck disable=SC2016  # the inner shell expands its own arguments
[ ! -x "$verdict" ] || timeout -s KILL "${RAILGAUGE_HOOK_SECONDS:-0.9}" sh -c '"$1" | sed -n "s/^fail [0-9]* /$2/p" | logger -t railgauge' \
  sh "$verdict" "job $SLURM_JOB_ID ended on a node whose last preflight failed: " >/dev/null 2>&1
exit 0
