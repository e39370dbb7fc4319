#!/bin/sh
# Slurm's Prolog: marks for the agent that a job has this node, before the job begins. Its place among several prologs
# does not matter. A prolog that fails drains its node, so this one never fails: without the marker the agent still
# sees the job by its control group.
#   slurm.conf: Prolog=/etc/slurm/prolog.d/50-railgauge   PrologFlags=Alloc   (else it runs with the first step only)
#
# It runs as root, so it writes only into a folder of its own user that nobody else may write, given by a path without
# links (railgauge-agent.tmpfiles makes it), and never over anything: noclobber creates exclusively and follows no link.
folder=${RAILGAUGE_BUSY_JOBS_FOLDER:-/run/railgauge-jobs}
umask 022

refuse() { echo "railgauge prolog: $folder: not used: $1; the agent knows the job by its control group" >&2; exit 0; }

case "${SLURM_JOB_ID:-}" in '' | *[!0-9]*) exit 0 ;; esac
[ -e "$folder" ] || [ -L "$folder" ] || mkdir "$folder" 2>/dev/null
# The checks are of the folder that the process is in, so that no exchange of a path comes between.
cd -P "$folder" 2>/dev/null || refuse "it is no folder"
[ "$(pwd -P)" = "$folder" ] || refuse "its path has links"
[ -O . ] || refuse "it belongs to another user"
case "$(stat -c %A .)" in
  d????-??-?) ;;
  *) refuse "others may write it" ;;
esac
# In a shell of its own, which a failed redirection ends.
(set -C; : >"$SLURM_JOB_ID") 2>/dev/null
# A job on a node that failed its last preflight leaves a line in the system log, and nothing else: healthcheck.sh asks for
# drains. A system log that hangs may not keep the job.
verdict=${RAILGAUGE_VERDICT:-/usr/share/railgauge/slurm/verdict.sh}
# shellcheck disable=SC2016  # the inner shell expands its own arguments
[ ! -x "$verdict" ] || timeout -s KILL "${RAILGAUGE_HOOK_SECONDS:-0.9}" sh -c '"$1" | sed -n "s/^fail [0-9]* /$2/p" | logger -t railgauge' \
  sh "$verdict" "job $SLURM_JOB_ID begins on a node whose last preflight failed: " >/dev/null 2>&1
exit 0
