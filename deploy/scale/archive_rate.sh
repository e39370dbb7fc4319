#!/usr/bin/env bash
# Measures a controller with its mirror in a private PostgreSQL while modelled agents (railgauge-fleet) deliver points over
# gRPC at a rate, all on the same cores, and prints a Markdown table. All figures are SYNTHETIC. It takes some 9 minutes.
#   deploy/scale/archive_rate.sh [--build DIR] [--rate N] [--seconds N] [--away N] [--cpus LIST]
# --build    build folder with railgauge-controller, railgauge-fleet and railgauge (build/release)
# --rate     points a second, of rounds that begin every six seconds (10000)
# --seconds  of the steady part (180)
# --away     seconds for which PostgreSQL is stopped afterwards (60)
# --cpus     cores of all processes, as taskset has them (0,1)
# Exit 0 measured, also where a lower rate came about, with a line on stderr; 1 points are missing; 77 no PostgreSQL server is installed.
# shellcheck source-path=SCRIPTDIR
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
build=$here/../build/release rate=10000 steady=180 away=60 cpus=0,1
while [ $# -gt 0 ]; do
  case "$1" in
    --build) build=${2:?archive_rate.sh: --build needs a folder} ;;
    --rate) rate=${2:?archive_rate.sh: --rate needs a number} ;;
    --seconds) steady=${2:?archive_rate.sh: --seconds needs a number} ;;
    --away) away=${2:?archive_rate.sh: --away needs a number} ;;
    --cpus) cpus=${2:?archive_rate.sh: --cpus needs cores} ;;
    *) echo "archive_rate.sh: unknown option $1; allowed: --build, --rate, --seconds, --away, --cpus" >&2; exit 2 ;;
  esac
  shift 2
done
if [ -z "${ARCHIVE_RATE_PINNED:-}" ]; then
  ARCHIVE_RATE_PINNED=1 exec taskset -c "$cpus" "$0" --build "$build" --rate "$rate" --seconds "$steady" --away "$away" --cpus "$cpus"
fi
export LC_ALL=C RAILGAUGE_BUILD_DIR=$build
# shellcheck source=../e2e/lib.sh
. "$here/e2e/lib.sh"
# A task has 64 sizes of 2 points; a pair of nodes has a task for each of 8 rails and each direction.
readonly kPointsOfTask=128 kTasksOfPair=16 kBeatSeconds=6 kRounds=10
postgres=$(dirname "$(ls -d /usr/lib/postgresql/*/bin/initdb 2>/dev/null | sort -V | tail -n 1)" 2>/dev/null || true)
[ -x "$postgres/initdb" ] || { echo "waived: no PostgreSQL server is installed"; exit 77; }
as_user=(); [ "$(id -u)" != 0 ] || as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
data=$work/pg
mkdir -p "$data" "$work/suites"; chmod 755 "$work"; : >"$work/refused"
[ "$(id -u)" != 0 ] || chown 65534:65534 "$data"
"${as_user[@]}" "$postgres/initdb" -D "$data/data" -U railgauge --auth=trust --no-sync -E UTF8 --no-locale >"$work/initdb.log" 2>&1
postgres_starts() {
  "${as_user[@]}" "$postgres/pg_ctl" -D "$data/data" -l "$data/log" -w -t 120 \
    -o "-k $data -c listen_addresses='' -c fsync=on -c shared_buffers=256MB -c max_wal_size=2GB" start >/dev/null
}
postgres_stops() { "${as_user[@]}" "$postgres/pg_ctl" -D "$data/data" -m fast -w stop >/dev/null; }
trap 'code=$?; set +e; touch "$work/over" "$work/no-probe"; postgres_stops 2>/dev/null; (exit $code); finish' EXIT
postgres_starts
"$postgres/createdb" -h "$data" -U railgauge archive
ask() { "$postgres/psql" -h "$data" -U railgauge -d archive -qAt -c "$1"; }
stored() { sqlite3 -readonly -cmd ".timeout 5000" "$work/railgauge.db" "SELECT count(*) FROM point"; }
archived() { ask "SELECT count(*) FROM railgauge.point"; }
metrics() { curl -sS --max-time 10 "$metrics_url"; }
metric() { metrics | awk -v name="$1" '$1 == name { print $2 }'; }
now() { date +%s.%N; }
less() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a < b) }'; }
per() { awk -v n="$1" -v s="$2" 'BEGIN { printf "%.0f", n / s }'; }
minus() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a - b }'; }
# median_largest: of the numbers on stdin, in seconds.
median_largest() { sort -g | awk '{ v[NR] = $1 } END { if (NR) printf "%.2f s; %.2f s", v[int((NR + 1) / 2)], v[NR]; else printf "-" }'; }
# CPU seconds of a process, or of PostgreSQL with all its children.
cpu_of() { awk -v hz="$(getconf CLK_TCK)" '{ print ($14 + $15) / hz }' "/proc/$1/stat"; }
cpu_of_postgres() {
  local head; head=$(head -n 1 "$data/data/postmaster.pid")
  # shellcheck disable=SC2046  # a list of processes
  cat "/proc/$head/stat" $(pgrep -P "$head" | sed 's,.*,/proc/&/stat,') 2>/dev/null |
    sed 's/^[^)]*) //' | awk -v hz="$(getconf CLK_TCK)" 'NR == 1 { all += $14 + $15 } { all += $12 + $13 } END { print all / hz }'
}
row() { printf '| %s | %s | %s |\n' "$1" "$2" "$3" | tee -a "$work/table" >&2; }

# suite MILLISECONDS: writes the suite, whose run measures the same pairs in round after round, with a pause between two.
suite() {
  cat >"$work/suites/points.yaml" <<Y
version: 1
metadata: {name: points, summary: many points a task}
stages:
  - kernel: verbs.write_bw
    parameters: {sizes: "$(seq -s , 1024 1024 65536)"}
    placement: {pairs: halves, directions: both, rails: same, rails_together: true}
    repetitions: $kRounds
rounds: {settle: $1ms}
Y
}
suite 0
pairs=$(((rate * kBeatSeconds + kPointsOfTask * kTasksOfPair / 2) / (kPointsOfTask * kTasksOfPair)))
points_of_round=$((pairs * kTasksOfPair * kPointsOfTask)) rounds=$kRounds
cat >"$work/scenario.yaml" <<Y
version: 1
metadata: {name: rate}
seed: 1
fabric: {nodes: $((2 * pairs)), rails: 8, leaves: 2, spines: 4}
classes: [{name: node, gpus: 8, nics: 8}]
noise: [{kind: gaussian, size: 0.01}]
Y
suites=$work/suites start_controller --mirror "postgres://railgauge@/archive?host=$data" --site rate
metrics_url=http://127.0.0.1:$(sed -n 's/.*metrics on port \([0-9]*\).*/\1/p' "$work/controller.log" | head -n 1)/metrics
"$bin/railgauge-fleet" --controller "unix:$socket" --scenario "$work/scenario.yaml" >"$work/fleet.log" 2>&1 &
echo $! >"$work/fleet.pid"
wait_for "the nodes attach" 120 attached $((2 * pairs))

# The seconds from a run's start to the end of its last task; 0 while it has tasks.
tasks_seconds() { sqlite3 -readonly -cmd ".timeout 5000" "$work/railgauge.db" "SELECT coalesce(ended_at-started_at,0) FROM run WHERE run_id='$1'"; }
# Begins a run when the tasks of the one before have ended, beside its judging, until the file over is there. The file newest is for
# the probe.
feed() {
  local run
  while [ ! -e "$work/over" ]; do
    if run=$(cli run points --all --detach 2>"$work/why" | tail -n 1) && [ -n "$run" ]; then
      echo "$run $(now)" >"$work/newest"
      until [ -e "$work/over" ] || [ "$(tasks_seconds "$run")" != 0 ]; do sleep 0.2; done
    else
      [ -s "$work/refused" ] || cat "$work/why" >&2
      echo refused >>"$work/refused"
      sleep 1
    fi
  done
}
# The time from the answer to the newest run's command until the archive has the run, over and over.
probe() {
  local run begin
  while [ ! -e "$work/no-probe" ]; do
    if ! read -r run begin <"$work/newest"; then sleep 0.1; continue; fi
    : >"$work/newest"
    until [ -e "$work/no-probe" ] || [ "$(ask "SELECT count(*) FROM railgauge.run WHERE run_id='$run'" 2>/dev/null)" = 1 ]; do sleep 0.05; done
    [ -e "$work/no-probe" ] || { minus "$(now)" "$begin"; echo; } >>"$work/probes"
  done
}
watch_lag() { while [ ! -e "$work/over" ]; do metric railgauge_mirror_lag_seconds >>"$work/lags" || true; sleep 0.5; done; }

echo "a first run of $points_of_round series makes no pause; its time sets the pause of the others, which have two rounds for each repetition" >&2
begin=$(now)
first=$(cli run points --all --detach | tail -n 1)
cli runs wait "$first" >"$work/run.txt" 2>&1
judged=$(now)
# 7 % more than the rate, for the planning between two runs.
settle=$(awk -v n="$points_of_round" -v r="$rate" -v s="$(tasks_seconds "$first")" -v k="$rounds" 'BEGIN { left = n / (1.07 * r) - s / k; printf "%.0f", (left > 0 ? 500 * left : 0) }')
echo "$(tasks_seconds "$first") s for $rounds rounds, judged $(minus "$judged" "$begin") s after the command; pause between two rounds: $settle ms" >&2
suite "$settle"
wait_for "the archive has it" 300 eval '[ "$(archived)" = "$(stored)" ]'
: >"$work/newest"; : >"$work/probes"; : >"$work/lags"
feed & feeder=$!
sleep 10
probe & prober=$!
watch_lag & watcher=$!
from=$(now) stored_from=$(stored) archived_from=$(archived)
controller_from=$(cpu_of "$(pid_of controller)") fleet_from=$(cpu_of "$(pid_of fleet)") postgres_from=$(cpu_of_postgres)
sleep "$steady"
stored_to=$(stored) archived_to=$(archived) to=$(now)
took=$(minus "$to" "$from")
rate_stored=$(per $((stored_to - stored_from)) "$took")
row "points stored a second, over $(per "$took" 1) s" "$rate_stored" "$rate"
row "points that arrived in the archive a second" "$(per $((archived_to - archived_from)) "$took")" "$rate"
row "railgauge_mirror_lag_seconds: median; largest of $(wc -l <"$work/lags")" "$(median_largest <"$work/lags")" "-"
row "lag of a run by a probe: median; largest of $(wc -l <"$work/probes")" "$(median_largest <"$work/probes")" "-"
row "rows of the outbox at the end" "$(metric railgauge_mirror_waiting_rows)" "-"
cores() { awk -v a="$1" -v b="$2" -v s="$took" 'BEGIN { printf "%.2f", (b - a) / s }'; }
row "cores: controller; PostgreSQL; modelled agents" \
  "$(cores "$controller_from" "$(cpu_of "$(pid_of controller)")"); $(cores "$postgres_from" "$(cpu_of_postgres)"); $(cores "$fleet_from" "$(cpu_of "$(pid_of fleet)")")" "2 in all"

touch "$work/no-probe"
kept=$(archived)
postgres_stops
sleep "$away"
backlog=$(($(stored) - kept))
postgres_starts
back=$(now)
wait_for "the mirror is back" 120 eval '[ "$(archived)" -gt "$kept" ]'
begin=$(now)
# Samples for what the mirror's session waits: an event of PostgreSQL, its next command, or nothing.
waits() { ask "SELECT CASE state WHEN 'active' THEN coalesce(wait_event, 'none') ELSE 'next command' END FROM pg_stat_activity WHERE application_name LIKE 'railgauge-controller%' LIMIT 1" >>"$work/waits" || true; }
is_drained() { local lag; waits; lag=$(metric railgauge_mirror_lag_seconds); [ -n "$lag" ] && less "$lag" 2; }
wait_for "the backlog is drained" 900 is_drained
drained=$(minus "$(now)" "$begin")
sent=$(($(stored) - kept))
row "until the first point after PostgreSQL is back, which the mirror tries each 1 to 30 s" "$(minus "$begin" "$back") s" "-"
row "a backlog of $backlog points, PostgreSQL away for $away s: drained while points are measured, points a second" \
  "$(per "$sent" "$drained") in $drained s" "$((3 * rate))"
row "the mirror's session waits in $(wc -l <"$work/waits") samples of the drain for" \
  "$(sort "$work/waits" | uniq -c | sort -rn | head -n 4 | awk '{ n = $1; $1 = ""; printf "%s%s %d", (NR > 1 ? "; " : ""), substr($0, 2), n }')" "-"
touch "$work/over"
run=$(sqlite3 -readonly "$work/railgauge.db" "SELECT run_id FROM run WHERE state <> 'ended' LIMIT 1")
[ -z "$run" ] || cli runs cancel "$run" >/dev/null 2>&1 || true
wait "$feeder" "$watcher" "$prober" 2>/dev/null || true
wait_for "the runs end" 300 eval '[ "$(metric railgauge_run_active)" = 0 ]'
wait_for "the archive has everything" 120 eval '[ "$(archived)" = "$(stored)" ]' || true
row "points stored; points in the archive" "$(stored); $(archived)" "equal"
row "runs that were refused" "$(wc -l <"$work/refused")" "0"

printf '\n| figure | measured | wanted |\n|---|---|---|\n'
cat "$work/table"
[ "$(stored)" = "$(archived)" ] || { echo "archive_rate.sh: the archive lacks points" >&2; exit 1; }
! less "$rate_stored" "$(awk -v r="$rate" 'BEGIN { print 0.97 * r }')" ||
  echo "archive_rate.sh: $rate_stored points a second came about, not $rate; the row of the cores says who was busy" >&2
