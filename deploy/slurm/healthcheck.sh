#!/bin/bash
# Slurm's HealthCheckProgram: reads the local agent's last verdict and ends within a second. It measures nothing.
# RAILGAUGE_HEALTH_SECONDS: how long it waits for its own work, which continues without it [0.9].
#   slurm.conf: HealthCheckProgram=/usr/share/railgauge/slurm/healthcheck.sh   HealthCheckInterval=300
# Exit 0 always: a node whose agent made no preflight lately is left alone.
#
# By default it only writes a failure to the system log. With RAILGAUGE_SLURM_DRAIN=yes in /etc/railgauge/slurm.env it also
# asks for a drain, by the node's Comment, once two preflights failed in the same check. Each preflight reads the node anew,
# so that one wrong reading drains nothing. drain.sh on the controller's host decides, since only there all nodes are known.
# A node that asked passes again once each check of the Comment passed; one that was not made is no pass.
# A Comment that is not ours is never replaced.
here=$(dirname "$(readlink -f "$0")")
# The work has a session of its own, in which it outlives this process where Slurm or the system log answers late.
if [ -z "${RAILGAUGE_HEALTH_INNER:-}" ]; then
  RAILGAUGE_HEALTH_INNER=1 setsid "$0" </dev/null >/dev/null 2>&1 &
  timeout -s KILL "${RAILGAUGE_HEALTH_SECONDS:-0.9}" tail --pid=$! -s 0.02 -f /dev/null
  exit 0
fi
settings=${RAILGAUGE_SLURM_SETTINGS:-/etc/railgauge/slurm.env}
# shellcheck source=/dev/null
[ ! -r "$settings" ] || { set -a; . "$settings"; set +a; }
folder=${RAILGAUGE_SLURM_STATE:-/run/railgauge-slurm}
umask 077
mkdir -p "$folder" 2>/dev/null
[ -O "$folder" ] && [ ! -L "$folder" ] || exit 0
exec 9>"$folder/lock"
flock -n 9 || exit 0  # the last one still waits for Slurm
node=${SLURMD_NODENAME:-$(timeout 2 hostname -s)}

# learn: leaves the node's Comment in $folder/said when it is ours, else nothing. Fails when Slurm does not answer, or the
# Comment is another program's.
learn() {
  local shown comment
  shown=$(timeout 5 scontrol show node "$node" 2>/dev/null) && [[ $shown == *NodeName=* ]] || return
  comment=$(sed -n 's/^ *Comment=//p' <<<"$shown")
  [ "$comment" != "(null)" ] || comment=""
  case $comment in
    '' | railgauge:*) echo "$comment" >"$folder/said" ;;
    *) : >"$folder/said"; return 1 ;;
  esac
}
# say TEXT: sets the node's Comment, unless it is another program's or says so already.
say() {
  [ "$(cat "$folder/said" 2>/dev/null)" != "$1" ] || return
  learn && timeout 5 scontrol update NodeName="$node" Comment="$1" >/dev/null 2>&1 && echo "$1" >"$folder/said"
}
# Sets of checks, by commas: both and either; accused: those of the node's Comment that have not passed now.
lines() { tr , '\n' <<<"$1" | sed '/^$/d' | sort -u; }
both() { comm -12 <(lines "$1") <(lines "$2") | paste -sd ,; }
either() { lines "$1,$2" | paste -sd ,; }
accused() {
  local said; said=$(cat "$folder/said" 2>/dev/null)
  [[ $said == "railgauge: wants drain: "* ]] || return
  said=${said#railgauge: wants drain: }
  comm -23 <(lines "${said%% *}") <(lines "$passed") | paste -sd ,
}

{ read -r verdict at checks; read -r _ passed; } <<<"$("$here/verdict.sh")"
# Slurm keeps a Comment over a reboot of the node, and this folder does not.
[ "${RAILGAUGE_SLURM_DRAIN:-no}" != yes ] || [ -e "$folder/said" ] || learn
case $verdict in
  pass)
    rm -f "$folder/failed" "$folder/logged"
    case "$(cat "$folder/said" 2>/dev/null)" in
      "railgauge: wants drain: "*) [ -n "$(accused)" ] || say "railgauge: passes" ;;
    esac
    ;;
  fail)
    if [ "$(cat "$folder/logged" 2>/dev/null)" != "$at" ]; then
      timeout -s KILL 5 logger -t railgauge "preflight failed: $checks" 2>/dev/null
      echo "$at" >"$folder/logged"
    fi
    if ! read -r first before 2>/dev/null <"$folder/failed"; then
      echo "$at $checks" >"$folder/failed"
    elif [ "$first" != "$at" ]; then
      twice=$(both "$before" "$checks")
      if [ -n "$twice" ]; then
        # By the time drain.sh knows an old wish from a new one.
        [ "${RAILGAUGE_SLURM_DRAIN:-no}" != yes ] || say "railgauge: wants drain: $(either "$twice" "$(accused)") at $at"
      else
        echo "$at $checks" >"$folder/failed"
      fi
    fi
    ;;
esac
exit 0
