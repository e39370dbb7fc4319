# Shared by the drills of a site with two controllers: controllers a and b, a private PostgreSQL, and modelled nodes of
# railgauge-fleet over their unix sockets. All figures are SYNTHETIC. PostgreSQL is reached over a relay for each
# controller, and each controller by the other one likewise, so that a test can cut or slow a way: deploy/e2e/relay.py.
# Wants kNodes, kLeaseSeconds and kMatchings, and makes the work folder of lib.sh. STANDBY_ACKNOWLEDGE: store (default) or mirror.
# shellcheck shell=bash source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$(dirname "${BASH_SOURCE[0]}")/standby_judge.sh"
: "${kNodes:?}" "${kLeaseSeconds:?}" "${kMatchings:?}"

postgres=$(dirname "$(ls -d /usr/lib/postgresql/*/bin/initdb 2>/dev/null | sort -V | tail -n 1)" 2>/dev/null || true)
[ -x "$postgres/initdb" ] || { echo "waived: no PostgreSQL server is installed"; exit 77; }
# PostgreSQL refuses to run as root.
as_user=(); [ "$(id -u)" != 0 ] || as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
data=$work/pg ways=$work/ways
mkdir -p "$data" "$ways"
chmod 755 "$work"
# A small disk for PostgreSQL, where the script runs in a file system of its own.
has_small_disk=0
if [ -n "${STANDBY_INNER:-}" ] && mount -t tmpfs -o size="${STANDBY_DISK:-400m}",mode=755 standby "$data" 2>/dev/null; then has_small_disk=1; fi
[ "$(id -u)" != 0 ] || chown 65534:65534 "$data"
"${as_user[@]}" "$postgres/initdb" -D "$data/data" -U railgauge --auth=trust --no-sync -E UTF8 --no-locale >"$work/initdb.log" 2>&1
postgres_starts() {
  "${as_user[@]}" "$postgres/pg_ctl" -D "$data/data" -l "$data/log" -w -t 60 \
    -o "-k $data -c listen_addresses='' -c fsync=off -c max_wal_size=64MB -c min_wal_size=32MB" start >/dev/null
}
postgres_stops() { "${as_user[@]}" "$postgres/pg_ctl" -D "$data/data" -m immediate -w stop >/dev/null; }
# A test that is killed leaves no server behind.
setsid bash -c 'while kill -0 "$1" 2>/dev/null; do sleep 1; done; kill -QUIT "$(head -n 1 "$2")" 2>/dev/null' \
  watcher $$ "$data/data/postmaster.pid" </dev/null >/dev/null 2>&1 &
disown
trap 'code=$?; set +e; postgres_stops 2>/dev/null; [ $has_small_disk = 0 ] || umount -l "$data"; (exit $code); finish' EXIT
postgres_starts
"$postgres/createdb" -h "$data" -U railgauge archive
ask() { "$postgres/psql" -h "$data" -U railgauge -d archive -qAt -c "$1"; }

mkdir -p "$work/pg-a" "$work/pg-b"
"$top/deploy/e2e/relay.py" "$ways" "pg-a=$work/pg-a/.s.PGSQL.5432:$data/.s.PGSQL.5432" "pg-b=$work/pg-b/.s.PGSQL.5432:$data/.s.PGSQL.5432" \
  "to-a=$work/to-a.sock:$work/a.sock" "to-b=$work/to-b.sock:$work/b.sock" >"$work/relay.log" 2>&1 &
echo $! >"$work/relay.pid"
# way NAME STATE: pg-a, pg-b: from a controller to PostgreSQL; to-a, to-b: to a controller from the other one.
way() { echo "$2" >"$ways/$1.draft" && mv "$ways/$1.draft" "$ways/$1"; sleep 0.3; }

cat >"$work/night.yaml" <<Y
version: 1
metadata: {name: night, summary: "bandwidth of some pairs on all rails"}
stages:
  - kernel: verbs.write_bw
    parameters: {sizes: 64KiB}
    placement: {pairs: quick, matchings: $kMatchings, directions: one, rails: same, rails_together: true}
Y
cat >"$work/scenario.yaml" <<Y
version: 1
metadata: {name: test}
seed: 5
fabric: {nodes: $kNodes, rails: 2, leaves: $((kNodes >= 64 ? 16 : 4)), spines: 4}
classes: [{name: small, gpus: 2, nics: 2}]
noise: [{kind: gaussian, size: 0.01}]
Y
export RAILGAUGE_CONTROLLER="unix:$work/a.sock,unix:$work/b.sock" RAILGAUGE_CONSOLE_LISTEN=none
readonly setting=${STANDBY_ACKNOWLEDGE:-store}
: >"$work/acknowledged"
acknowledged_seen=0

# Names of controllers are a and b.
start_one() {
  "$bin/railgauge-controller" --socket "$work/$1.sock" --database "$work/$1.db" --suites "$work" --metrics-listen "127.0.0.1:0" \
    --audit-log none --mirror "postgres://railgauge@/archive?host=$work/pg-$1" --site east --standby --lease-seconds "$kLeaseSeconds" \
    --advertise "unix:$work/to-$1.sock" --acknowledge "$setting" >>"$work/$1.log" 2>&1 &
  echo $! >"$work/$1.pid"
}
other_of() { if [ "$1" = a ]; then echo b; else echo a; fi; }
role_of() { timeout 5 "$bin/railgauge" status --controller "unix:$work/$1.sock" -o json 2>/dev/null | jq -r '.controllers[0].role'; }
is_role() { [ "$(role_of "$1")" = "$2" ]; }
active() { local name; for name in a b; do if is_role $name active; then echo $name; fi; done; }
is_ready() { [ "$(ask "SELECT count(*) FROM railgauge.controller c JOIN railgauge.lease l USING (site_name) WHERE c.role='ready' AND c.holder=ANY(l.admitted) AND c.seen_at > now() - interval '3 s'")" = 1 ]; }
generation() { ask "SELECT generation FROM railgauge.lease"; }
now() { date +%s.%N; }
since() { echo "$(now) $1" | awk '{ printf "%.1f", $1 - $2 }'; }
sql_of() { sqlite3 -readonly -cmd ".timeout 5000" "$work/$1.db" "$2"; }

# The database of a killed controller, before anybody opens it.
keep_database() {
  rm -f "$work/kept-$1.db"*
  for end in "" -wal; do [ ! -e "$work/$1.db$end" ] || cp "$work/$1.db$end" "$work/kept-$1.db$end"; done
}
dispatched_since() { sql_of "$1" "SELECT coalesce(min(dispatched_at), 0) FROM attempt WHERE dispatched_at > $2"; }
has_dispatched_since() { [[ $(dispatched_since "$1" "$2" 2>/dev/null) =~ ^[1-9] ]]; }
nothing_is_missing() {
  local found
  found=$(compare_records "$work/kept-$1.db" "$work/$2.db" 2>"$work/compare.err")
  echo "$found" >"$work/found"
  compared_well "$found"
}
# Measurements that the archive has under two keys.
archived_twice() { ask "SELECT coalesce(sum(times - 1), 0) FROM (SELECT count(*) AS times FROM railgauge.point GROUP BY site, series, measured_at, median) AS each"; }
# Points were acknowledged to agents since the last look.
# acknowledges NAME: a record of the newest run is acknowledged; those of the run before it may still come.
acknowledges() { grep -q "^$(sql_of "$1" "SELECT run_id FROM run ORDER BY id DESC LIMIT 1")" "$work/acknowledged"; }
# look_at_the_archive NAME: prints how many points were acknowledged to agents since the last look, how many of them the
# archive lacks, and its generation, all of one moment. Points that the dead NAME had put aside are in no archive.
look_at_the_archive() {
  whole_lines "$work/acknowledged" "$acknowledged_seen" >"$work/told"
  : >"$work/aside"
  [ ! -e "$work/kept-$1.db" ] || sqlite3 -separator $'\t' "$work/kept-$1.db" \
    "SELECT DISTINCT run_id, task_id, attempt, rank, sequence FROM orphan_record" >"$work/aside"
  "$postgres/psql" -h "$data" -U railgauge -d archive -qAt -v ON_ERROR_STOP=1 2>&1 <<Q
SET search_path=railgauge; BEGIN ISOLATION LEVEL REPEATABLE READ;
CREATE TEMP TABLE told (run_id text, task_id text, attempt integer, rank integer, sequence bigint) ON COMMIT DROP;
CREATE TEMP TABLE aside (LIKE told) ON COMMIT DROP;
\\copy told FROM '$work/told'
\\copy aside FROM '$work/aside'
DELETE FROM told USING aside WHERE told = aside;
CREATE TEMP TABLE wanted ON COMMIT DROP AS SELECT (r.id << 20) + t.sequence AS id FROM told t JOIN run ON run.run_id = t.run_id
  JOIN task ON task.run = run.id AND task.task_id = t.task_id JOIN attempt a ON a.task = task.id AND a.attempt = t.attempt
  JOIN rank r ON r.attempt = a.id AND r.rank = t.rank;
SELECT (SELECT count(*) FROM told), (SELECT count(*) FROM told) - (SELECT count(DISTINCT id) FROM point WHERE id IN (SELECT id FROM wanted)),
  (SELECT generation FROM lease);
COMMIT;
Q
}
# Points of the newest run whose series the run that it continues had measured too, in the database of NAME.
measured_again() {
  sql_of "$1" "WITH first AS (SELECT DISTINCT t.run, p.series FROM point p JOIN rank r ON r.id=p.rank JOIN attempt a ON a.id=r.attempt JOIN task t ON t.id=a.task)
    SELECT count(*) FROM first rest JOIN run ON run.id=rest.run JOIN run whole ON whole.run_id=run.parent_run_id JOIN first ON first.run=whole.id AND first.series=rest.series
    WHERE rest.run=(SELECT max(id) FROM run)"
}
# The archive has as many points as the database of NAME, and nothing waits.
archive_is_even() {
  [ "$(ask "SELECT count(*) FROM railgauge.point")" = "$(sql_of "$1" "SELECT count(*) FROM point")" ] &&
    [ "$(ask "SELECT waiting FROM railgauge.site WHERE name='east'")" = 0 ]
}

both_start() {
  start_one a
  wait_for "a is active" 30 is_role a active
  start_one b
  "$bin/railgauge-fleet" --controller "$RAILGAUGE_CONTROLLER" --scenario "$work/scenario.yaml" --acknowledged "$work/acknowledged" \
    >>"$work/fleet.log" 2>&1 &
  echo $! >"$work/fleet.pid"
  wait_for "$kNodes nodes attach" 120 attached "$kNodes"
  wait_for "b has a copy" 120 is_ready
}
a_night_begins() {
  cli schedules add "night$1" night --cron @yearly >/dev/null
  cli schedules run-now "night$1" >/dev/null
}
# kill_the_active NAME: writes the look at the archive to the file look, and the time to the next dispatch of the other one to rto.
kill_the_active() {
  local name=$1 begin
  rm -f "$work/rto" "$work/look"
  kill -KILL "$(pid_of "$name")"; wait "$(pid_of "$name")" 2>/dev/null || true
  begin=$(now)  # what the dead one dispatched before is no answer to its death
  keep_database "$name"
  look_at_the_archive "$name" >"$work/look" || true
  acknowledged_seen=$((acknowledged_seen + $(wc -l <"$work/told")))
  wait_for "the other one dispatches" 60 has_dispatched_since "$(other_of "$name")" "$begin" || return 1
  echo "$(dispatched_since "$(other_of "$name")" "$begin") $begin" | awk '{ printf "%.1f\n", $1 - $2 }' >"$work/rto"
}
