#!/usr/bin/env bash
# Drills of a site with two controllers: real controllers, a private PostgreSQL, and modelled nodes of railgauge-fleet over
# their unix sockets. All figures are SYNTHETIC. Short: one kill of the active in the middle of a night of 512 nodes. With
# RAILGAUGE_CHECK_FULL=1 also cuts, the archive away, and kills again and again; rows go to STANDBY_ROWS.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

postgres=$(dirname "$(ls -d /usr/lib/postgresql/*/bin/initdb 2>/dev/null | sort -V | tail -n 1)" 2>/dev/null || true)
[ -x "$postgres/initdb" ] || { echo "waived: no PostgreSQL server is installed"; exit 77; }
readonly kNodes=${STANDBY_NODES:-512} kKills=${STANDBY_KILLS:-200}
rows=${STANDBY_ROWS:-/dev/null}
# PostgreSQL refuses to run as root.
as_user=(); [ "$(id -u)" != 0 ] || as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
data=$work/pg; mkdir -p "$data"; chmod 755 "$work"; [ "$(id -u)" != 0 ] || chown 65534:65534 "$data"
"${as_user[@]}" "$postgres/initdb" -D "$data/data" -U railgauge --auth=trust --no-sync -E UTF8 --no-locale >"$work/initdb.log" 2>&1
postgres_starts() { "${as_user[@]}" "$postgres/pg_ctl" -D "$data/data" -l "$data/log" -w -t 60 -o "-k $data -c listen_addresses='' -c fsync=off" start >/dev/null; }
postgres_stops() { "${as_user[@]}" "$postgres/pg_ctl" -D "$data/data" -m immediate -w stop >/dev/null; }
trap 'postgres_stops 2>/dev/null; finish' EXIT
postgres_starts
"$postgres/createdb" -h "$data" -U railgauge archive
url="postgres://railgauge@/archive?host=$data"
ask() { "$postgres/psql" -h "$data" -U railgauge -d archive -qAt -c "$1"; }

cat >"$work/night.yaml" <<'Y'
version: 1
metadata: {name: night, summary: "bandwidth of some pairs on all rails"}
stages:
  - kernel: verbs.write_bw
    parameters: {sizes: 64KiB}
    placement: {pairs: quick, matchings: 24, directions: one, rails: same, rails_together: true}
Y
cat >"$work/scenario.yaml" <<Y
version: 1
metadata: {name: test}
seed: 5
fabric: {nodes: $kNodes, rails: 2, leaves: 16, spines: 4}
classes: [{name: small, gpus: 2, nics: 2}]
noise: [{kind: gaussian, size: 0.01}]
Y
export RAILGAUGE_CONTROLLER="unix:$work/a.sock,unix:$work/b.sock" RAILGAUGE_CONSOLE_LISTEN=none
more=()

# Names of controllers are a and b.
start_one() {
  "$bin/railgauge-controller" --socket "$work/$1.sock" --database "$work/$1.db" --suites "$work" --metrics-listen "127.0.0.1:0" \
    --audit-log none --mirror "$url" --site east --standby --advertise "unix:$work/$1.sock" "${more[@]}" >>"$work/$1.log" 2>&1 &
  echo $! >"$work/$1.pid"
}
other_of() { if [ "$1" = a ]; then echo b; else echo a; fi; }
role_of() { cli status --controller "unix:$work/$1.sock" -o json 2>/dev/null | jq -r '.controllers[0].role'; }
is_role() { [ "$(role_of "$1")" = "$2" ]; }
active() { local name; for name in a b; do if is_role $name active; then echo $name; fi; done; }
is_ready() { [ "$(ask "SELECT count(*) FROM railgauge.controller c JOIN railgauge.lease l USING (site_name) WHERE c.role='ready' AND c.holder=ANY(l.admitted) AND c.seen_at > now() - interval '3 s'")" = 1 ]; }
now() { date +%s.%N; }
since() { echo "$(now) $1" | awk '{ printf "%.1f", $1 - $2 }'; }
row() { printf '%s\t%s\t%s\n' "$1" "$2" "$3" | tee -a "$rows"; }

# Every record that one database has is in the other, as a point or put aside as an orphan, and none twice: NAME OTHER.
# Prints points, those that are missing, those that are there twice, and those that are put aside.
has_all_of() {
  sqlite3 "$work/$2.db" "ATTACH '$work/kept-$1.db' AS old;
    CREATE TEMP VIEW theirs AS SELECT run_id, task_id, attempt.attempt, rank.rank, sequence, median FROM old.point JOIN old.rank ON rank.id=point.rank
      JOIN old.attempt ON attempt.id=rank.attempt JOIN old.task ON task.id=attempt.task JOIN old.run ON run.id=task.run;
    CREATE TEMP VIEW ours AS SELECT run_id, task_id, attempt.attempt, rank.rank, sequence, median FROM main.point JOIN main.rank ON rank.id=point.rank
      JOIN main.attempt ON attempt.id=rank.attempt JOIN main.task ON task.id=attempt.task JOIN main.run ON run.id=task.run;
    CREATE TEMP TABLE absent AS SELECT * FROM theirs EXCEPT SELECT * FROM ours;
    CREATE TEMP VIEW aside AS SELECT a.* FROM absent a JOIN main.orphan_record o USING (run_id, task_id, attempt, rank, sequence);
    SELECT (SELECT count(*) FROM theirs), (SELECT count(*) FROM absent) - (SELECT count(*) FROM aside),
      (SELECT count(*) - count(DISTINCT run_id || task_id || '/' || attempt || '/' || rank || '/' || sequence) FROM ours), (SELECT count(*) FROM aside)" 2>"$work/compare.err"
}
# The database of a killed controller, before anybody opens it.
keep_database() {
  rm -f "$work/kept-$1.db"*
  for end in "" -wal; do [ ! -e "$work/$1.db$end" ] || cp "$work/$1.db$end" "$work/kept-$1.db$end"; done
}
dispatched_since() { sqlite3 -readonly "$work/$1.db" "SELECT coalesce(min(dispatched_at), 0) FROM attempt WHERE dispatched_at > $2"; }
has_dispatched_since() { [[ $(dispatched_since "$1" "$2" 2>/dev/null) =~ ^[1-9] ]]; }
nothing_is_missing() { local found; found=$(has_all_of "$1" "$2"); echo "$found" >"$work/found"; [[ $found =~ ^[1-9][0-9]*\|0\|0\|[0-9]+$ ]]; }

both_start() {
  start_one a
  wait_for "a is active" 30 is_role a active
  start_one b
  "$bin/railgauge-fleet" --controller "$RAILGAUGE_CONTROLLER" --scenario "$work/scenario.yaml" >>"$work/fleet.log" 2>&1 &
  echo $! >"$work/fleet.pid"
  wait_for "$kNodes nodes attach" 60 attached "$kNodes"
  wait_for "b has a copy" 30 is_ready
}
a_night_begins() {
  cli schedules add "night$1" night --cron @yearly >/dev/null
  cli schedules run-now "night$1" >/dev/null
}
# kill_in_the_night NAME NUMBER: prints the time to the next dispatch.
kill_the_active() {
  local name=$1 begin
  begin=$(now)
  kill -KILL "$(pid_of "$name")"; wait "$(pid_of "$name")" 2>/dev/null || true
  keep_database "$name"
  wait_for "the other one dispatches" 60 has_dispatched_since "$(other_of "$name")" "$begin"
  echo "$(dispatched_since "$(other_of "$name")" "$begin") $begin" | awk '{ printf "%.1f\n", $1 - $2 }' >"$work/rto"
}

the_active_is_killed_in_the_night() {
  both_start
  a_night_begins 1
  wait_for "points are stored" 30 eval '[ "$(sqlite3 -readonly $work/a.db "SELECT count(*) FROM point")" -gt 500 ]'
  kill_the_active a
  wait_for "nothing is missing" 30 nothing_is_missing a b
  row "kill -9 of the active in a night of $kNodes nodes" "$(cat "$work/rto") s to the next task; points of the dead one | missing | twice | put aside: $(cat "$work/found")" "passed"
  awk '{ exit !($1 <= 30) }' "$work/rto"
}

# Its run was interrupted, and the schedule measures the rest of it.
the_night_goes_on() {
  wait_for "the rest of the run begins" 30 eval '[ "$(sqlite3 -readonly $work/b.db "SELECT count(*) FROM run WHERE reason LIKE '\''the rest of run%'\''")" = 1 ]'
  local before after
  before=$(sqlite3 -readonly "$work/b.db" "SELECT count(*) FROM point")
  sleep 2
  after=$(sqlite3 -readonly "$work/b.db" "SELECT count(*) FROM point")
  echo "points: $before, then $after"
  [ "$after" -gt "$before" ]
}

the_old_one_comes_back_as_a_standby() {
  start_one a
  wait_for "a is a standby" 30 is_role a standby
  wait_for "a has a copy" 60 is_ready
  [ -e "$work/a.db.deposed" ]
  ! cli runs --controller "unix:$work/a.sock" 2>"$work/refused" || return 1
  grep "this controller is a standby of site east: unix:$work/b.sock is active, generation 2" "$work/refused"
  ! cli schedules set night1 paused --controller "unix:$work/a.sock" 2>/dev/null || return 1
  cli status | tee "$work/status"
  [ "$(active)" = b ]
  row "the old active comes back" "standby, with a copy; its database is kept" "passed"
}

# PostgreSQL refuses what a deposed controller writes.
an_old_generation_is_refused_by_postgresql() {
  ! ask "BEGIN; INSERT INTO railgauge.event (site, id, at, kind, node_id, run_id, text) VALUES (1, 999999999, now(), 'x', '', '', ''); SELECT railgauge.require_lease('east', 1); COMMIT" 2>"$work/fence" || return 1
  grep "generation 1 has lost the lease of site east" "$work/fence"
  [ "$(ask "SELECT count(*) FROM railgauge.event WHERE id=999999999")" = 0 ]
}

all_verbs_work_after_the_takeover() {
  local verb
  for verb in nodes runs findings schedules events baselines "results --limit 10" history suites upgrades audit "db stats"; do
    # shellcheck disable=SC2086
    cli $verb >"$work/verb" 2>"$work/verb.err" || { echo "$verb: $(cat "$work/verb.err")"; return 1; }
  done
  [ "$(cli schedules -o json | jq '[.schedules[] | select(.name == "night1")] | length')" = 1 ]
}

# Both are alive; the active one hears nothing for 20 s.
a_frozen_one_acts_no_more() {
  local from to begin taken
  from=$(active)
  to=$(other_of "$from")
  a_night_begins 2
  wait_for "the night begins" 30 has_dispatched_since "$from" "$(now)"
  begin=$(now)
  kill -STOP "$(pid_of "$from")"
  wait_for "$to takes over" 30 is_role "$to" active
  wait_for "$to dispatches" 30 has_dispatched_since "$to" "$begin"
  taken=$(dispatched_since "$to" "$begin")
  sleep 3
  kill -CONT "$(pid_of "$from")"
  wait_for "$from is a standby" 30 is_role "$from" standby
  wait_for "$from has a copy" 60 is_ready
  local late
  late=$(sqlite3 -readonly "$work/$from.db.deposed" "SELECT count(*) FROM attempt WHERE dispatched_at > $taken")
  row "the active is frozen for $(since "$begin") s, both alive" "$late tasks of the old one after the first of the new one" "$([ "$late" = 0 ] && echo passed || echo failed)"
  [ "$late" = 0 ] && [ "$(active)" = "$to" ]
}

# The archive is away for longer than two leases; the standby promises to wait.
the_archive_is_away() {
  local name before generation begin
  name=$(active)
  generation=$(ask "SELECT generation FROM railgauge.lease")
  a_night_begins 3
  wait_for "the night begins" 30 has_dispatched_since "$name" "$(now)"
  postgres_stops
  begin=$(now)
  sleep 22
  before=$(now)
  a_night_begins 4
  wait_for "it measures" 15 has_dispatched_since "$name" "$before"
  [ "$(active)" = "$name" ]
  grep -q "wait by promise, and this one stays active" "$work/$name.log"
  postgres_starts
  wait_for "the standby is ready again" 30 is_ready
  [ "$(ask "SELECT generation FROM railgauge.lease")" = "$generation" ]
  row "the archive is away for $(since "$begin") s, both controllers alive" "the active one measures; generation $generation before and after" "passed"
}

# Archive and standby are both away: nobody can promise, so nobody acts.
the_archive_and_the_standby_are_away() {
  local name other begin
  name=$(active)
  other=$(other_of "$name")
  kill -KILL "$(pid_of "$other")"
  postgres_stops
  begin=$(now)
  wait_for "$name acts no more" 30 is_role "$name" standby
  postgres_starts
  start_one "$other"
  wait_for "$name acts again" 40 is_role "$name" active
  row "archive and standby are away" "the active one stops; it acts again once the archive is back" "passed"
  wait_for "the standby is ready" 60 is_ready
}

# Kills of whoever is active, in a night, again and again.
kills_again_and_again() {
  local number name longest=0 sum=0 missing=0
  for ((number = 1; number <= kKills; ++number)); do
    name=$(active)
    a_night_begins "k$number"
    wait_for "a night begins" 60 has_dispatched_since "$name" "$(now)"
    sleep "0.$((RANDOM % 9))"
    kill_the_active "$name" || { echo "kill $number"; return 1; }
    wait_for "nothing is missing" 60 nothing_is_missing "$name" "$(other_of "$name")" || missing=$((missing + 1))
    start_one "$name"
    wait_for "$name is ready" 120 is_ready
    longest=$(echo "$longest $(cat "$work/rto")" | awk '{ print ($2 > $1) ? $2 : $1 }')
    sum=$(echo "$sum $(cat "$work/rto")" | awk '{ print $1 + $2 }')
  done
  row "$kKills kills of the active" "to the next task: mean $(echo "$sum $kKills" | awk '{ printf "%.1f", $1 / $2 }') s, longest $longest s; kills after which something was missing or twice: $missing" "$([ "$missing" = 0 ] && echo passed || echo failed)"
  [ "$missing" = 0 ]
}

check "the active controller is killed in a night: the other one takes over, and nothing is missing" the_active_is_killed_in_the_night
check "the night goes on" the_night_goes_on
if [ "${RAILGAUGE_CHECK_FULL:-0}" = 1 ]; then
  check "the old one comes back as a standby, and names the active one" the_old_one_comes_back_as_a_standby
  check "an old generation is refused by PostgreSQL" an_old_generation_is_refused_by_postgresql
  check "verbs work after the takeover" all_verbs_work_after_the_takeover
  check "a frozen active controller acts no more once it wakes" a_frozen_one_acts_no_more
  check "the archive is away: the active one measures by promise" the_archive_is_away
  check "archive and standby are away: nobody acts" the_archive_and_the_standby_are_away
  check "kills again and again lose and double nothing" kills_again_and_again
fi
summary
