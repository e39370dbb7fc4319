#!/bin/bash
# Slurm's HealthCheckProgram: asks the local agent for its last verdict and ends within a second. It measures nothing.
#   slurm.conf: HealthCheckProgram=/usr/share/railgauge/slurm/healthcheck.sh   HealthCheckInterval=300
# Exit 0 always: a node whose agent is away, silent or without a preflight is left alone.
#
# By default it only writes a failure to the system log. With RAILGAUGE_SLURM_DRAIN=yes in /etc/railgauge/slurm.env it also
# asks for a drain, by the node's Comment, once two preflights failed in the same check. Each preflight reads the node anew,
# so that one wrong reading drains nothing. drain.sh on the controller's host decides, since only there all nodes are known.
# A Comment that is not ours is never replaced.
here=$(dirname "$(readlink -f "$0")")
settings=${RAILGAUGE_SLURM_SETTINGS:-/etc/railgauge/slurm.env}
# shellcheck source=/dev/null
[ ! -r "$settings" ] || { set -a; . "$settings"; set +a; }
folder=${RAILGAUGE_SLURM_STATE:-/run/railgauge-slurm}
node=${SLURMD_NODENAME:-$(hostname -s)}
umask 077
mkdir -p "$folder" 2>/dev/null
[ -O "$folder" ] && [ ! -L "$folder" ] || exit 0

# say TEXT: sets the node's Comment, unless it is another program's or says so already.
say() {
  [ "$(cat "$folder/said" 2>/dev/null)" != "$1" ] || return
  local now
  now=$(timeout 5 scontrol show node "$node" 2>/dev/null | sed -n 's/^ *Comment=//p') || return
  case $now in '' | '(null)' | railgauge:*) ;; *) return ;; esac
  timeout 5 scontrol update NodeName="$node" Comment="$1" >/dev/null 2>&1 && echo "$1" >"$folder/said"
}

read -r verdict at checks <<<"$("$here/verdict.sh")"
case $verdict in
  pass)
    rm -f "$folder/failed" "$folder/logged"
    [ ! -e "$folder/said" ] || say "railgauge: passes"
    ;;
  fail)
    if [ "$(cat "$folder/logged" 2>/dev/null)" != "$at" ]; then
      logger -t railgauge "preflight failed: $checks" 2>/dev/null
      echo "$at" >"$folder/logged"
    fi
    if ! read -r first before 2>/dev/null <"$folder/failed"; then
      echo "$at $checks" >"$folder/failed"
    elif [ "$first" != "$at" ]; then
      # Failed in both.
      both=$(comm -12 <(tr , '\n' <<<"$before" | sort) <(tr , '\n' <<<"$checks" | sort) | paste -sd ,)
      if [ -n "$both" ]; then
        [ "${RAILGAUGE_SLURM_DRAIN:-no}" != yes ] || say "railgauge: wants drain: $both"
      else
        echo "$at $checks" >"$folder/failed"
      fi
    fi
    ;;
esac
exit 0
