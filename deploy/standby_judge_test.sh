#!/usr/bin/env bash
# Tests the judges of the drills of two controllers with takeovers that were right and with such that were not.
# shellcheck source-path=SCRIPTDIR
set -euo pipefail
cd "$(dirname "$0")"
. e2e/standby_judge.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fails() { echo "standby_judge_test: $*"; exit 1; }
same() { [ "$2" = "$3" ] || fails "$1: ${2:-nothing}, not ${3:-nothing}"; }

same "30 s" "$(takeover_fault 30.0)" ""
same "31 s" "$(takeover_fault 30.1)" "next task after 30.1 s, more than 30 s"
same "59 s" "$(takeover_fault 59)" "next task after 59 s, more than 30 s"
same "no time" "$(takeover_fault "")" "the time to the next task is not known"

# database NAME: the tables that are compared. point NAME ATTEMPT SEQUENCE SERIES TIME MEDIAN.
database() {
  rm -f "$work/$1"
  sqlite3 "$work/$1" "CREATE TABLE run (id INTEGER PRIMARY KEY, run_id TEXT); CREATE TABLE task (id INTEGER PRIMARY KEY, run INTEGER, task_id TEXT);
    CREATE TABLE attempt (id INTEGER PRIMARY KEY, task INTEGER, attempt INTEGER); CREATE TABLE rank (id INTEGER PRIMARY KEY, attempt INTEGER, rank INTEGER);
    CREATE TABLE point (rank INTEGER, sequence INTEGER, series INTEGER, measured_at REAL, median REAL, PRIMARY KEY (rank, sequence)) WITHOUT ROWID;
    CREATE TABLE orphan_record (run_id TEXT, task_id TEXT, attempt INTEGER, rank INTEGER, sequence INTEGER);
    INSERT INTO run VALUES (1, 'r1'); INSERT INTO task VALUES (1, 1, 't1');
    INSERT INTO attempt VALUES (1, 1, 1), (2, 1, 2); INSERT INTO rank VALUES (1, 1, 0), (2, 2, 0)"
}
point() { sqlite3 "$work/$1" "INSERT INTO point VALUES ($2, $3, $4, $5, $6)"; }
compared() { compare_records "$work/kept" "$work/ours"; }
database kept; database ours
for name in kept ours; do point $name 1 0 7 1000.5 12.25; point $name 1 1 7 1001.5 12.25; done
same "all is there" "$(compared)" "2|0|0|0"
compared_well "$(compared)" || fails "all is there: refused"
point kept 1 2 7 1002.5 12.5
same "one is missing" "$(compared)" "3|1|0|0"
compared_well "$(compared)" && fails "one is missing: passed"
sqlite3 "$work/ours" "INSERT INTO orphan_record VALUES ('r1', 't1', 1, 0, 2)"
same "one is put aside" "$(compared)" "3|0|0|1"
point ours 2 0 7 1000.5 12.25
same "one is there under two keys" "$(compared)" "3|0|1|1"
compared_well "$(compared)" && fails "one is there under two keys: passed"
point ours 2 1 8 1001.5 12.25
same "another series at the same time" "$(compared)" "3|0|1|1"
database kept
compared_well "$(compared)" && fails "a dead one without a point: passed"
compared_well "" && fails "a look that failed: passed"

printf 'a\nb\nc' >"$work/grows"
same "a line that is being written" "$(whole_lines "$work/grows" 1)" b
same "nothing new" "$(whole_lines "$work/grows" 2)" ""

same "mirror, all archived" "$(archive_fault mirror '12|0|4' 4)" ""
same "mirror, some lacking" "$(archive_fault mirror '12|3|4' 4)" "the archive lacks 3 of 12 acknowledged records"
same "mirror, nothing acknowledged" "$(archive_fault mirror '0|0|4' 4)" "nothing was acknowledged before the kill"
same "store, some lacking" "$(archive_fault store '12|3|4' 4)" ""
same "a late look" "$(archive_fault mirror '12|0|5' 4)" "the look at the archive came after the takeover"
same "no look" "$(archive_fault store 'psql: error' 4)" "the archive could not be looked at: psql: error"

{ printf '9.5\t0\t100|0|0|1\t4\t20|0|1\t\n'; printf '12.5\t0\t200|0|0|0\t5\t30|2|2\t\n'; printf '31.0\t0\t10|0|0|0\t0\t1|0|3\tlate\n'; } >"$work/lines"
same "a row" "$(kills_row c d mirror 2 16 5 60 <"$work/lines" | tr '\t' ' ')" "c d 3 2 16 5 60 17.7 31.0 310 0 0 1 9 1 mirror 51 2"
kills_row c d mirror 2 16 5 60 </dev/null && fails "no kill has a row"

{ kills_row c d mirror 2 16 5 60 <"$work/lines"; printf '9.5\t0\t100|0|0|1\t4\t20|0|1\t\n' | kills_row c d store 1 16 5 60
  printf '9.5\t0\t100|0|1|1\t0\t20|0|1\t\n' | kills_row c d store 1 16 5 60; printf '9.5\t0\t100|0|0|1\t4\t20|0|1\t\n' | kills_row e d store 1 16 5 60; } >"$work/rows"
same "kills that add up: of this commit, without a fault" "$(kept_kills c <"$work/rows")" 1
echo "standby_judge_test: passed"
