#!/usr/bin/env bash
# Kills the active one of two controllers again and again, each time in a night: standby_lib.sh has the site. Several
# sites at once, as most of a takeover is waiting.
#   deploy/e2e/standby_kills.sh KILLS [LANES [MINUTES]]   (4 lanes unless given; no kill begins after 50 minutes)
# Half of the sites have acknowledge=mirror, the others store; STANDBY_ACKNOWLEDGE is for all of them.
# After each kill: the next task begins within 30 s, every record that the dead one had acknowledged is at the new one, no
# measurement is there or in the archive twice, the night continues, and one controller alone is active, with the next
# generation. With mirror the archive has every acknowledged point at the moment of the kill. Prints a row of counts for each
# setting; STANDBY_KILLS_TABLE: the file that gets it. Exit 0: every kill passed; 77: so did those that the time allowed.
# shellcheck source-path=SCRIPTDIR
kills=${1:?standby_kills.sh: KILLS is needed} lanes=${2:-4} minutes=${3:-50}
readonly kNodes=${STANDBY_NODES:-16} kLeaseSeconds=${STANDBY_LEASE:-5} kMatchings=${STANDBY_MATCHINGS:-60}

# One site: kills the active one so many times, and writes a line for each kill to the file.
lane() {
  local count=$1 lines=$2
  . "$(dirname "$0")/standby_lib.sh"
  both_start
  local number name other before until over=0
  until=$((SECONDS + minutes * 60))
  for ((number = 1; number <= count && SECONDS < until; ++number)); do
    name=$(active) before=$(generation)
    other=$(other_of "$name")
    local night; night=$(now)
    a_night_begins "k${number}x$over"
    wait_for "a night begins" 60 has_dispatched_since "$name" "$night" || return 1
    # A kill before that could lose nothing.
    wait_for "points of the night are acknowledged" 60 acknowledges "$name" || return 1
    sleep "$((RANDOM % 3)).$((RANDOM % 10))"
    # On a quick machine the night may be over: the next controller would have nothing to dispatch.
    if [ "$(sql_of "$name" "SELECT count(*) FROM run WHERE state <> 'ended'")" = 0 ]; then
      number=$((number - 1)) over=$((over + 1))
      [ $over -lt 20 ] || { echo "20 nights ended before the kill"; return 1; }
      continue
    fi
    kill_the_active "$name" || { printf '60.0\t1\t\t0\t\tnobody took over\n' >>"$lines"; echo "kill $number: nobody took over"; return 1; }
    # The dead one starts while the night continues: it must not act.
    start_one "$name"
    local missing=0 fault=""
    wait_for "nothing is missing" 60 nothing_is_missing "$name" "$other" || missing=1
    wait_for "the night ends" 120 eval '[ "$(sql_of '"$other"' "SELECT count(*) FROM run WHERE state <> '\''ended'\''")" = 0 ]' || fault+="the night does not end; "
    [ "$(sql_of "$other" "SELECT outcome FROM run ORDER BY id DESC LIMIT 1")" = passed ] || fault+="the rest of the night does not pass; "
    [ "$(generation)" = $((before + 1)) ] || fault+="generation $before, then $(generation); "
    wait_for "$name is ready" 120 is_ready || fault+="$name is not ready; "
    [ "$(active)" = "$other" ] || fault+="active: $(active); "
    [ "$(archived_twice)" = 0 ] || fault+="twice in the archive: $(archived_twice); "
    fault+=$(takeover_fault "$(cat "$work/rto")")$(archive_fault "$setting" "$(cat "$work/look")" "$before")
    printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$(cat "$work/rto")" "$missing" "$(cat "$work/found")" "$(measured_again "$other")" "$(cat "$work/look")" "$fault" >>"$lines"
    [ -z "$fault" ] && [ "$missing" = 0 ] || { echo "kill $number: $fault; points|missing|twice|put aside: $(cat "$work/found")"; return 1; }
  done
}

if [ "$kills" = lane ]; then lane "$STANDBY_LANE_KILLS" "$STANDBY_LANE_LINES"; exit; fi
. "$(dirname "$0")/standby_judge.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d "${TMPDIR:-/tmp}/railgauge-kills.XXXXXX")
pids=() bad=0 began=$SECONDS
declare -A lanes_of=()
# shellcheck disable=SC2317  # called by the trap
finish_all() { [ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$folder"; }
trap finish_all EXIT
for ((one = 0; one < lanes; ++one)); do
  count=$((kills / lanes + (one < kills % lanes ? 1 : 0)))
  [ "$count" -gt 0 ] || continue
  if [ $((one % 2)) = 0 ]; then of_lane=mirror; else of_lane=store; fi
  of_lane=${STANDBY_ACKNOWLEDGE:-$of_lane}
  lanes_of[$of_lane]=$((${lanes_of[$of_lane]:-0} + 1))
  STANDBY_ACKNOWLEDGE=$of_lane STANDBY_LANE_KILLS=$count STANDBY_LANE_LINES=$folder/lines-$of_lane-$one "$0" lane "$lanes" "$minutes" >"$folder/log-$one" 2>&1 &
  pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || bad=$((bad + 1)); done
pids=()
[ "$bad" = 0 ] || grep -hv ' Killed  ' "$folder"/log-* | tail -n 60
for of_lane in "${!lanes_of[@]}"; do
  cat "$folder/lines-$of_lane"-* 2>/dev/null | kills_row "$(git -C "$top" rev-parse --short=10 HEAD)" "$(date -u +%F)" "$of_lane" "${lanes_of[$of_lane]}" \
    "$kNodes" "$kLeaseSeconds" $((SECONDS - began)) >>"$folder/rows" || { echo "acknowledge=$of_lane: no kill was judged"; bad=$((bad + 1)); }
done
cat "$folder/rows"
[ -z "${STANDBY_KILLS_TABLE:-}" ] || cat "$folder/rows" >>"$STANDBY_KILLS_TABLE"
[ "$bad" = 0 ] || exit 1
killed=$(cat "$folder"/lines-* | wc -l)
[ "$killed" -ge "$kills" ] || { echo "$killed of $kills kills began within $minutes minutes: no statement about the others"; exit 77; }
