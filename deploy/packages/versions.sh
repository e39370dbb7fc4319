#!/usr/bin/env bash
# Tests versions side by side with the programs of an earlier release: its agents at this controller, this release's
# agents at its controller, and a controller that is replaced while a run measures. Real processes on loopback; figures
# of the fake wire and of modelled nodes are synthetic. deploy/packages/systemd_guests.sh has real verbs of two versions.
#   deploy/packages/versions.sh [--previous DIR]   RAILGAUGE_BUILD_DIR names the build [build/dev]
# DIR has the packages of the earlier release; deploy/packages/previous.sh builds them by default.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../e2e/lib.sh"
cd "$top"
previous=""
[ "${1:-}" != --previous ] || previous=$(realpath "${2:?--previous needs a folder}")
code=0
[ -n "$previous" ] || previous=$(deploy/packages/previous.sh) || code=$?
[ $code = 0 ] || { echo "$previous"; exit $code; }
for deb in "$previous"/*.deb; do dpkg-deb -x "$deb" "$work/previous"; done
new=$bin old=$work/previous/usr/bin
cp -rs "$(realpath "$(dirname "$bin")/lib")" "$work/previous/usr/"  # the fake libraries
echo "previous: $("$old/railgauge-controller" --version)"
echo "this:     $("$new/railgauge-controller" --version)"

readonly kNodes=16
suites=$work/suites
mkdir "$suites"
cat >"$suites/pair.yaml" <<'Y'
version: 1
metadata: {name: pair, summary: "latency of the pair, on the fake wire"}
stages:
  - kernel: verbs.write_lat
    parameters: {sizes: 8, time_cap: 2s, proof_time: 200ms}
    placement: {pairs: all}
Y
# The pauses between the rounds are the length of the night: modelled tasks take no time.
cat >"$suites/night.yaml" <<'Y'
version: 1
metadata: {name: night, summary: "bandwidth of many pairs"}
rounds: {settle: 1s}
stages:
  - kernel: verbs.write_bw
    parameters: {sizes: 64KiB}
    placement: {pairs: quick, matchings: 12, rails: same, rails_together: true}
Y
cat >"$work/scenario.yaml" <<Y
version: 1
metadata: {name: versions}
seed: 3
fabric: {nodes: $kNodes, rails: 2, leaves: 4, spines: 2}
classes: [{name: small, gpus: 2, nics: 2}]
noise: [{kind: gaussian, size: 0.01}]
Y

# ---- one measured pair of each combination -----------------------------------------------------------
end_all() {
  local process
  for process in agent-a agent-b fleet controller; do
    [ ! -e "$work/$process.pid" ] || ! alive "$process" || kill -TERM "$(pid_of "$process")" 2>/dev/null || true
  done
  wait_for "all processes end" 90 nothing_alive
  rm -rf "$work"/*.pid "$work"/railgauge.db* "$work"/state-*
}
nothing_alive() { local pid; for pid in "$work"/*.pid; do [ ! -e "$pid" ] || ! kill -0 "$(cat "$pid")" 2>/dev/null || return 1; done; }
agent_of() { bin=$1; start_agent "$2"; bin=$new; }  # FOLDER NODE
# pair CONTROLLER AGENT-A AGENT-B: folders of programs; the command line is the controller's own.
pair_of() {
  end_all
  bin=$1
  start_controller
  agent_of "$2" a
  agent_of "$3" b
  bin=$1
  wait_for "both agents attach" 30 attached 2
  cli run pair -o json >"$work/pair.json"
  jq -e '.run.outcome == "passed" and (.points | length > 0 and all(.kernel == "verbs.write_lat" and .point.median > 0 and .point.verified))' "$work/pair.json"
  cli nodes -o json | jq -c '[.nodes[] | [.name, .state, .version]]'
  bin=$new
}

# ---- a controller that is replaced under way ---------------------------------------------------------
field() { cli runs show "$1" -o json | jq -r ".run.$2 // \"\""; }
is_ended() { [ "$(field "$1" state)" = ended ]; }
ended_tasks() { [ "$(field "$1" tasks_ended)" -ge "$2" ]; }
start_fleet() {
  "$new/railgauge-fleet" --controller "unix:$socket" --scenario "$work/scenario.yaml" --kernels verbs.write_bw >>"$work/fleet.log" 2>&1 &
  echo $! >"$work/fleet.pid"
  wait_for "$kNodes nodes attach" 60 attached "$kNodes"
}
schema() { sqlite3 "$work/railgauge.db" 'PRAGMA user_version'; }
# No task passed twice, no point came twice, no record is left without its run; every passed task has its points.
nothing_lost_or_twice() {
  [ "$(sqlite3 "$work/railgauge.db" "SELECT count(*) FROM (SELECT 1 FROM attempt WHERE outcome = 'passed' GROUP BY task HAVING count(*) > 1)")" = 0 ]
  [ "$(sqlite3 "$work/railgauge.db" "SELECT count(*) - count(DISTINCT rank || ' ' || series) FROM point")" = 0 ]
  [ "$(sqlite3 "$work/railgauge.db" 'SELECT count(*) FROM orphan_record')" = 0 ]
  [ "$(sqlite3 "$work/railgauge.db" "SELECT count(*) FROM task WHERE outcome = 'passed' AND id NOT IN
    (SELECT attempt.task FROM attempt JOIN rank ON rank.attempt = attempt.id JOIN point ON point.rank = rank.id)")" = 0 ]
  cli db check
}
# measured_once FIRST SECOND: the tasks of both runs that passed are all planned ones, each in one of the two.
measured_once() {
  sqlite3 "$work/railgauge.db" "SELECT task.task_id FROM task JOIN run ON run.id = task.run WHERE run.run_id IN ('$1', '$2') AND task.outcome = 'passed'" | sort >"$work/passed"
  echo "$(wc -l <"$work/passed") tasks passed, $(field "$1" tasks_total) were planned"
  [ -z "$(uniq -d "$work/passed")" ] && [ "$(wc -l <"$work/passed")" = "$(field "$1" tasks_total)" ]
}
replace_controller() { # SIGNAL
  local from; from=$(date +%s%N)
  kill "-$1" "$(pid_of controller)"
  wait_for "the old controller ends" 60 eval '! alive controller'
  bin=$new
  start_controller
  wait_for "$kNodes nodes attach" 60 attached "$kNodes"
  echo "$((($(date +%s%N) - from) / 1000000)) ms from the signal until all $kNodes nodes are attached again"
}
begin_night() { # NAME
  bin=$old
  start_controller
  start_fleet
  cli run night --all --detach >"$work/$1.id"
  wait_for "the night measures" 60 ended_tasks "$(cat "$work/$1.id")" 8
  schema >"$work/$1.schema"
}
a_person_resumes_a_run_over_the_upgrade() { # SIGNAL
  local run resumed
  end_all
  begin_night person
  run=$(cat "$work/person.id")
  replace_controller "$1"
  echo "database version $(cat "$work/person.schema") became $(schema)"
  wait_for "the run has its end" 30 is_ended "$run"
  cli runs show "$run" -o json | jq -c '.run | [.outcome, .reason, .tasks_total, .outcomes]'
  resumed=$(cli runs resume "$run" --detach)
  wait_for "the resumed run ends" 90 is_ended "$resumed"
  [ "$(field "$resumed" outcome)" = passed ]
  measured_once "$run" "$resumed"
  nothing_lost_or_twice
}
a_schedule_resumes_its_run_by_itself() {
  local run
  end_all
  bin=$old
  start_controller
  start_fleet
  # Due in the next minute but one: a run that a person starts by run-now is not resumed by itself.
  cli schedules add every-night night --cron "$(date -u -d '+90 seconds' '+%-M %-H') * * *"
  wait_for "the night begins" 120 new_run none
  run=$(cat "$work/new.id")
  wait_for "the night measures" 60 ended_tasks "$run" 8
  replace_controller TERM
  wait_for "the schedule begins a new run" 120 new_run "$run"
  wait_for "it ends" 90 is_ended "$(cat "$work/new.id")"
  [ "$(field "$(cat "$work/new.id")" outcome)" = passed ]
  measured_once "$run" "$(cat "$work/new.id")"
  nothing_lost_or_twice
}
new_run() { cli runs -o json | jq -er --arg old "$1" '[.runs[] | select(.run_id != $old)][0].run_id' >"$work/new.id"; }

# Continues with the database of the check before.
older_controller_refuses_the_newer_database() {
  end_all_but_database
  expect_exit 4 timeout 20 "$old/railgauge-controller" --socket "$socket" --database "$work/railgauge.db" --suites "$suites" --metrics-listen none 2>"$work/refusal"
  cat "$work/refusal"
  [ "$(wc -l <"$work/refusal")" = 1 ] && grep -F 'written by a newer Railgauge' "$work/refusal"
}
end_all_but_database() {
  mkdir -p "$work/aside" && cp "$work"/railgauge.db* "$work/aside/"
  end_all
  cp "$work"/aside/* "$work/"
}
# The way back: the copy that the newer program made before it migrated, put in place by the older one.
older_controller_returns_by_the_copy_of_before() {
  end_all
  begin_night back
  replace_controller TERM
  end_all_but_database
  local copies=("$work"/railgauge.db.before-*)
  [ -e "${copies[0]}" ]
  cp "${copies[0]}" "$work/kept.db"
  "$old/railgauge-controller" --database "$work/railgauge.db" --restore "$work/kept.db"
  bin=$old
  start_controller
  [ "$(schema)" = "$(cat "$work/back.schema")" ]
  cli runs -o json | jq -e '.runs | length == 1'
  bin=$new
}

check "agents of the last release measure a pair at this controller" pair_of "$new" "$old" "$old"
check "agents of two releases measure a pair at this controller" pair_of "$new" "$old" "$new"
check "agents of this release measure a pair at the last one's controller" pair_of "$old" "$new" "$new"
check "a run that a person began is resumed over a stop" a_person_resumes_a_run_over_the_upgrade TERM
check "and over a kill" a_person_resumes_a_run_over_the_upgrade KILL
check "a schedule's run continues by itself" a_schedule_resumes_its_run_by_itself
end_all_but_database
if [ "$(cat "$work/person.schema")" != "$(schema)" ]; then
  check "the older controller refuses the newer database in one line" older_controller_refuses_the_newer_database
  check "the older controller returns by the copy of before" older_controller_returns_by_the_copy_of_before
else
  echo "waived: a migrated database: both releases have version $(schema)"
fi
for log in "$work"/check-*.log; do grep -hE 'ms from the signal|became|tasks passed' "$log" || true; done
summary
