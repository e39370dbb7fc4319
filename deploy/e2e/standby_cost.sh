#!/usr/bin/env bash
# Measures what acknowledge=mirror costs beside acknowledge=store, on a site of two controllers (standby_lib.sh): how long a night
# takes, and how many records wait at the agents, at most and on average.
#   deploy/e2e/standby_cost.sh [NIGHTS]   (3 nights a setting unless given)
# Prints a row for each setting and night: commit, date, setting, nodes, points, seconds, most and mean records that wait.
# STANDBY_COST_ROWS: the file that gets the rows. All figures are SYNTHETIC.
# shellcheck source-path=SCRIPTDIR
nights=${1:-3}
readonly kNodes=${STANDBY_NODES:-64} kLeaseSeconds=${STANDBY_LEASE:-10} kMatchings=${STANDBY_MATCHINGS:-24}

# Records that wait at all agents, as their last heartbeats had them.
waiting_at_agents() { cli nodes -o json | jq '[.nodes[].spool_records // 0] | add'; }

one_setting() {
  . "$(dirname "$0")/standby_lib.sh"
  both_start
  local number most sum looks now_waiting points
  for ((number = 1; number <= nights; ++number)); do
    most=0 sum=0 looks=0
    a_night_begins "$number"
    wait_for "the night begins" 30 eval '[ "$(sql_of a "SELECT count(*) FROM run")" = '"$number"' ]'
    while [ "$(sql_of a "SELECT count(*) FROM run WHERE state <> 'ended'")" != 0 ]; do
      now_waiting=$(waiting_at_agents)
      [ "$now_waiting" -le "$most" ] || most=$now_waiting
      sum=$((sum + now_waiting)) looks=$((looks + 1))
      sleep 0.2
    done
    points=$(sql_of a "SELECT count(*) FROM point p JOIN rank r ON r.id=p.rank JOIN attempt a ON a.id=r.attempt JOIN task t ON t.id=a.task
      WHERE t.run=(SELECT max(id) FROM run)")
    [ "$(sql_of a "SELECT outcome FROM run ORDER BY id DESC LIMIT 1")" = passed ] || { echo "night $number does not pass"; return 1; }
    printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$(git -C "$top" rev-parse --short=10 HEAD)" "$(date -u +%F)" "$setting" "$kNodes" "$points" \
      "$(sql_of a "SELECT printf('%.1f', ended_at - started_at) FROM run ORDER BY id DESC LIMIT 1")" "$most" "$((looks > 0 ? sum / looks : 0))" >>"$1"
  done
}

if [ "${1:-}" = setting ]; then nights=$2; one_setting "$3"; exit; fi
folder=$(mktemp -d "${TMPDIR:-/tmp}/railgauge-cost.XXXXXX")
trap 'rm -rf "$folder"' EXIT
for each in store mirror; do
  STANDBY_ACKNOWLEDGE=$each "$0" setting "$nights" "$folder/rows" >"$folder/log" 2>&1 || { code=$?; tail -n 30 "$folder/log"; exit $code; }
done
cat "$folder/rows"
[ -z "${STANDBY_COST_ROWS:-}" ] || cat "$folder/rows" >>"$STANDBY_COST_ROWS"
