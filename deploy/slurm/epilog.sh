#!/bin/sh
# Slurm's Epilog: the job has left this node. Never fails, since a failing epilog drains the node.
#   slurm.conf: Epilog=/etc/slurm/epilog.d/50-railgauge
folder=${RAILGAUGE_BUSY_JOBS_FOLDER:-/run/railgauge/jobs}
case "${SLURM_JOB_ID:-}" in
  '' | *[!0-9]*) ;;
  *) rm -f "$folder/$SLURM_JOB_ID" 2>/dev/null ;;
esac
exit 0
