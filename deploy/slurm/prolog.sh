#!/bin/sh
# Slurm's Prolog: marks for the agent that a job has this node, before the job begins. Its place among several prologs
# does not matter. A prolog that fails drains its node, so this one never fails: without the marker the agent still
# sees the job by its control group.
#   slurm.conf: Prolog=/etc/slurm/prolog.d/50-railgauge   PrologFlags=Alloc   (else it runs with the first step only)
folder=${RAILGAUGE_BUSY_JOBS_FOLDER:-/run/railgauge/jobs}
case "${SLURM_JOB_ID:-}" in
  '' | *[!0-9]*) ;;
  *) { mkdir -p "$folder" && : >"$folder/$SLURM_JOB_ID" && chmod 0644 "$folder/$SLURM_JOB_ID"; } 2>/dev/null ;;
esac
exit 0
