#!/usr/bin/env bash
# Drills of a site with two controllers, standby_lib.sh. Short: one kill of the active in the middle of a night of 512
# nodes. With RAILGAUGE_CHECK_FULL=1 also cuts, and PostgreSQL away, slow and full; rows go to STANDBY_ROWS.
# Kills again and again are standby_kills.sh.
# shellcheck source-path=SCRIPTDIR
# A file system of its own, for a disk that gets full; it ends with the last process.
if [ "${RAILGAUGE_CHECK_FULL:-0}" = 1 ] && [ "$(id -u)" = 0 ] && [ -z "${STANDBY_INNER:-}" ] && unshare --mount true 2>/dev/null; then
  STANDBY_INNER=1 exec unshare --mount --propagation private "$0" "$@"
fi
readonly kNodes=${STANDBY_NODES:-512} kLeaseSeconds=${STANDBY_LEASE:-10} kMatchings=24
readonly kAwaySeconds=${STANDBY_AWAY:-600}
rows=${STANDBY_ROWS:-/dev/null}
. "$(dirname "$0")/standby_lib.sh"
commit=$(git -C "$top" rev-parse --short=10 HEAD 2>/dev/null || echo unknown)
# row DRILL FIGURES WANTED: of a drill that passed.
row() { printf '%s\t%s\t%s\t%s\t%s\n' "$commit" "$(date -u +%F)" "$1" "$2" "$3" | tee -a "$rows"; }

# The database of a controller that was set aside last: NAME.
deposed_of() {
  find "$work" -name "$1.db.deposed-*" ! -name '*-wal' ! -name '*-shm' -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d ' ' -f 2-
}

the_active_is_killed_in_the_night() {
  both_start
  a_night_begins 1
  wait_for "points are stored" 30 eval '[ "$(sql_of a "SELECT count(*) FROM point")" -gt 500 ]'
  local fault
  kill_the_active a
  wait_for "nothing is missing" 30 nothing_is_missing a b || { echo "points|missing|twice|put aside: $(cat "$work/found")"; return 1; }
  IFS='|' read -r points missing twice aside <"$work/found"
  fault=$(takeover_fault "$(cat "$work/rto")"; archive_fault "$setting" "$(cat "$work/look")" 1)
  [ -z "$fault" ] && [ "$(archived_twice)" = 0 ] || { echo "$fault; twice in the archive: $(archived_twice)"; return 1; }
  IFS='|' read -r told lacking _ <"$work/look"
  row "kill -9 of the active in a night of $kNodes nodes, acknowledge=$setting" \
    "next task after $(cat "$work/rto") s; of $points points of the dead one $missing missing, $twice twice, $aside put aside; of $told acknowledged ones the archive lacked $lacking" \
    "30 s; 0; 0; 0; 0 with mirror"
}

# Its run was interrupted, and the schedule measures the rest of it.
the_night_goes_on() {
  wait_for "the rest of the run begins" 30 eval '[ "$(sql_of b "SELECT count(*) FROM run WHERE reason LIKE '\''the rest of run%'\''")" = 1 ]'
  local before; before=$(sql_of b "SELECT count(*) FROM point")
  wait_for "points follow" 30 eval '[ "$(sql_of b "SELECT count(*) FROM point")" -gt '"$before"' ]'
  row "the night after it" "the rest of the run begins and stores points; $(measured_again b) of them were measured before" "it continues"
}

the_old_one_comes_back_as_a_standby() {
  start_one a
  wait_for "a is a standby" 30 is_role a standby
  wait_for "a has a copy" 60 is_ready
  [ -e "$(deposed_of a)" ]
  ! cli runs --controller "unix:$work/a.sock" 2>"$work/refused" || return 1
  grep "this controller is a standby of site east: unix:$work/to-b.sock is active, generation 2" "$work/refused"
  ! cli schedules set night1 paused --controller "unix:$work/a.sock" 2>/dev/null || return 1
  cli status | tee "$work/status"
  [ "$(active)" = b ]
  row "the old active comes back" "a standby with a copy; its database is kept as .deposed-1" "fenced"
}

# PostgreSQL refuses what a deposed controller writes.
an_old_generation_is_refused_by_postgresql() {
  ! ask "BEGIN; INSERT INTO railgauge.event (site, id, at, kind, node_id, run_id, text) VALUES (1, 999999999, now(), 'x', '', '', ''); SELECT railgauge.require_lease('east', 1); COMMIT" 2>"$work/fence" || return 1
  grep "generation 1 has lost the lease of site east" "$work/fence"
  [ "$(ask "SELECT count(*) FROM railgauge.event WHERE id=999999999")" = 0 ]
  row "a write of an old generation" "refused by PostgreSQL at its commit" "refused"
}

all_verbs_work_after_the_takeover() {
  local verb
  for verb in nodes runs findings schedules events baselines "results --limit 10" history suites upgrades audit "db stats"; do
    # shellcheck disable=SC2086
    cli $verb >"$work/verb" 2>"$work/verb.err" || { echo "$verb: $(cat "$work/verb.err")"; return 1; }
  done
  [ "$(cli schedules -o json | jq '[.schedules[] | select(.name == "night1")] | length')" = 1 ]
  row "12 reading verbs at the new active one" "all answer" "all"
}

# Attempts of the old one that began after the first of the new one: OLD MOMENT. Its database is set aside.
acts_after() { sqlite3 -readonly "$(deposed_of "$1")" "SELECT count(*) FROM attempt WHERE dispatched_at > $2"; }

# Both are alive; the active one hears nothing for longer than its lease.
a_frozen_one_acts_no_more() {
  local from to begin taken late
  from=$(active)
  to=$(other_of "$from")
  a_night_begins 2
  wait_for "the night begins" 30 has_dispatched_since "$from" "$(now)"
  kill -STOP "$(pid_of "$from")"
  begin=$(now)
  wait_for "$to takes over" 30 is_role "$to" active
  wait_for "$to dispatches" 75 has_dispatched_since "$to" "$begin"
  taken=$(dispatched_since "$to" "$begin")
  sleep 3
  kill -CONT "$(pid_of "$from")"
  wait_for "$from is a standby" 30 is_role "$from" standby
  wait_for "$from has a copy" 60 is_ready
  late=$(acts_after "$from" "$taken")
  [ "$late" = 0 ] && [ "$(active)" = "$to" ]
  row "the active is frozen for $(since "$begin") s, both alive" "$late tasks of the old one after the first of the new one" "0"
}

# The active one is cut from PostgreSQL and from the standby, and its agents reach it still.
a_cut_one_acts_no_more() {
  local from to begin taken late
  from=$(active)
  to=$(other_of "$from")
  a_night_begins 5
  wait_for "the night begins" 30 has_dispatched_since "$from" "$(now)"
  way "pg-$from" cut; way "to-$to" cut; way "to-$from" cut
  begin=$(now)
  wait_for "$to takes over" 40 is_role "$to" active
  wait_for "$to dispatches" 75 has_dispatched_since "$to" "$begin"
  taken=$(dispatched_since "$to" "$begin")
  wait_for "$from acts no more" 10 is_role "$from" standby
  sleep 3
  way "pg-$from" pass; way "to-$to" pass; way "to-$from" pass
  wait_for "$from has a copy" 60 is_ready
  late=$(acts_after "$from" "$taken")
  cp "$(deposed_of "$from")" "$work/kept-$from.db"; rm -f "$work/kept-$from.db-wal"
  wait_for "nothing is missing" 60 nothing_is_missing "$from" "$to"
  [ "$late" = 0 ] && [ "$(active)" = "$to" ]
  row "the active is cut from PostgreSQL and the standby for $(since "$begin") s, both alive" \
    "the standby acts; $late tasks of the old one after its first; points of the old one|missing|twice|put aside: $(cat "$work/found")" "one acts; 0"
}

# Both reach PostgreSQL, and not each other: the lease alone decides.
cut_from_each_other_they_stay() {
  local name before begin
  name=$(active); before=$(generation); begin=$(now)
  way to-a cut; way to-b cut
  sleep $((3 * kLeaseSeconds))
  [ "$(active)" = "$name" ] && [ "$(generation)" = "$before" ]
  is_ready
  way to-a pass; way to-b pass
  row "both are cut from each other for $(since "$begin") s, PostgreSQL is reached" "the same one acts, generation $before before and after" "one acts"
}

# measures_through NUMBER NAME SECONDS: a night that begins now measures on controller NAME, and no lease changes within.
measures_through() {
  local begin generation
  generation=$(generation)
  begin=$(now)
  a_night_begins "$1"
  wait_for "the night begins" 30 has_dispatched_since "$2" "$begin"
  sleep "$3"
  is_role "$2" active
  begin=$(now)
  a_night_begins "$1b"
  wait_for "it measures still" 40 has_dispatched_since "$2" "$begin"
  [ "$(generation)" = "$generation" ] || { echo "generation $generation, then $(generation)"; return 1; }
}

# Each statement takes 100 ms more, of both controllers.
the_archive_is_slow() {
  local name begin lag
  name=$(active); begin=$(now)
  way pg-a "slow 100"; way pg-b "slow 100"
  measures_through slow "$name" 30
  is_ready
  lag=$(cli status -o json | jq '[.controllers[] | select(.role == "active")][0].lag_seconds')
  way pg-a pass; way pg-b pass
  wait_for "the archive catches up" 60 archive_is_even "$name"
  row "100 ms more for each statement, $(since "$begin") s of a night" "it measures; generation unchanged; lag $(printf %.1f "$lag") s; the archive has every point afterwards" "it measures; no flap"
}

# PostgreSQL has no room: it may refuse writes, or end.
the_archives_disk_is_full() {
  local name before begin full
  [ "$has_small_disk" = 1 ] || { echo "waived: a small disk needs leave to mount one; run this as root"; return 77; }
  name=$(active); before=$(generation); begin=$(now)
  dd if=/dev/zero of="$data/filler" bs=64k status=none 2>/dev/null || true
  a_night_begins full
  wait_for "the night begins" 30 has_dispatched_since "$name" "$begin"
  # Its log needs a new file now and then: writes fail once there is none.
  wait_for "the archive is behind" 120 grep -q 'mirror: .*the outbox keeps what is new' "$work/$name.log"
  full=$(now)
  sleep $((3 * kLeaseSeconds))
  a_night_begins full2
  wait_for "it measures still" 40 has_dispatched_since "$name" "$full"
  is_role "$name" active
  rm "$data/filler"
  postgres_stops 2>/dev/null || true
  postgres_starts
  wait_for "the archive catches up" 120 archive_is_even "$name"
  wait_for "the standby is ready" 60 is_ready
  [ "$(generation)" = "$before" ] || { echo "generation $before, then $(generation)"; return 1; }
  row "PostgreSQL's disk is full for $(since "$begin") s" "it measures; generation unchanged; the archive has every point afterwards" "it measures; no flap"
}

# The archive is away for much longer than a lease; the standby promises to wait.
the_archive_is_away() {
  local name before begin
  name=$(active)
  before=$(generation)
  a_night_begins 3
  wait_for "the night begins" 30 has_dispatched_since "$name" "$(now)"
  postgres_stops
  begin=$(now)
  sleep "$kAwaySeconds"
  local late; late=$(now)
  a_night_begins 4
  wait_for "it measures" 30 has_dispatched_since "$name" "$late"
  [ "$(active)" = "$name" ]
  grep -q "wait by promise, and this one stays active" "$work/$name.log"
  postgres_starts
  local back; back=$(now)
  wait_for "the archive catches up" 120 archive_is_even "$name"
  local caught; caught=$(since "$back")
  wait_for "the standby is ready again" 60 is_ready
  [ "$(generation)" = "$before" ]
  row "PostgreSQL is away for $(since "$begin") s, both controllers alive" "it measures; generation unchanged; the archive has every point $caught s after it is back" "it measures; no flap"
}

# Archive and standby are both away: nobody can promise, so nobody acts.
the_archive_and_the_standby_are_away() {
  local name other
  name=$(active)
  other=$(other_of "$name")
  kill -KILL "$(pid_of "$other")"
  postgres_stops
  wait_for "$name acts no more" 30 is_role "$name" standby
  postgres_starts
  start_one "$other"
  wait_for "$name acts again" 40 is_role "$name" active
  wait_for "the standby is ready" 60 is_ready
  row "archive and standby are away" "the active one stops; it acts again once the archive is back" "nobody acts"
}

check "the active controller is killed in a night: the other one takes over, and nothing is missing" the_active_is_killed_in_the_night
check "the night goes on" the_night_goes_on
check "the old one comes back as a standby, and names the active one" the_old_one_comes_back_as_a_standby
check "an old generation is refused by PostgreSQL" an_old_generation_is_refused_by_postgresql
if [ "${RAILGAUGE_CHECK_FULL:-0}" = 1 ]; then
  check "verbs work after the takeover" all_verbs_work_after_the_takeover
  check "a frozen active controller acts no more once it wakes" a_frozen_one_acts_no_more
  check "an active controller that is cut off acts no more" a_cut_one_acts_no_more
  check "two controllers that are cut from each other keep the lease" cut_from_each_other_they_stay
  check "a slow archive costs neither the night nor the lease" the_archive_is_slow
  check "nor does one whose disk is full" the_archives_disk_is_full
  check "the archive is away: the active one measures by promise" the_archive_is_away
  check "archive and standby are away: nobody acts" the_archive_and_the_standby_are_away
fi
summary
