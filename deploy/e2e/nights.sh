#!/usr/bin/env bash
# Tests the simulated clock: real controller, database and gRPC, 16 agents of railgauge-fleet, nine nights by schedule,
# a port that gets slow, an upgrade. Figures are synthetic. NIGHTS=90 plays a quarter of a year and prints how long it took.
# Two sites of 24 nodes measure a seventh of all pairs a night: one has a slow port, its twin is healthy.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

readonly kNights=${NIGHTS:-9} kBegin=2026-01-05
end=$(date -u -d "$kBegin + $kNights days" +%F)
readonly end
cat >"$work/scenario.yaml" <<'Y'
version: 1
metadata: {name: nights}
seed: 11
begin: 2026-01-05
fabric: {nodes: 16, rails: 2, leaves: 2, spines: 2}
classes: [{name: small, gpus: 2, nics: 2}]
noise: [{kind: gaussian, size: 0.01}]
faults: [{kind: port, node: sim0012, nic: 1, direction: sends, begin: 132h, takes: 0.2}]
changes: [{nodes: "sim[0001-0004]", begin: 156h, reboot: 10min, versions: {gpu_driver: "999.1"}}]
Y
mkdir "$work/suites"
cat >"$work/suites/pairs.yaml" <<'Y'
version: 1
metadata: {name: pairs, summary: "bandwidth of some pairs on all rails, both ways"}
stages:
  - kernel: verbs.write_bw
    parameters: {sizes: 64KiB}
    placement: {pairs: quick, matchings: 2, directions: both, rails: same, rails_together: true}
Y

cat >"$work/suites/slices.yaml" <<'Y'
version: 1
metadata: {name: slices, summary: "bandwidth of a seventh of all pairs on all rails, both ways"}
stages:
  - kernel: verbs.write_bw
    parameters: {sizes: 64KiB}
    placement: {pairs: all, slice: 7, directions: both, rails: same, rails_together: true}
Y
cat >"$work/site.yaml" <<'Y'
version: 1
metadata: {name: modelled}
defaults: {}
topology: {source: labels}
Y
cat >"$work/twin.yaml" <<'Y'
version: 1
metadata: {name: slices}
seed: 7301
begin: 2026-01-05
fabric: {nodes: 24, rails: 2, leaves: 4, spines: 2}
classes: [{name: small, gpus: 2, nics: 2}]
noise: [{kind: gaussian, size: 0.01}]
Y
# From noon of the sixth day on, so that the night of the 11th is the first that shows it.
{
  cat "$work/twin.yaml"
  echo 'faults: [{kind: port, node: sim0012, nic: 1, begin: 132h, takes: 0.1}]'
} >"$work/slow.yaml"

# In a folder of its own: database, socket, clock. Names of processes end in the folder's.
# start_site SITE SCENARIO NODES FLAGS...
start_site() {
  local site=$work/$1 scenario=$2 nodes=$3
  mkdir -p "$site"
  "$bin/railgauge-controller" --socket "$site/c.sock" --database "$site/railgauge.db" --suites "$work/suites" \
    --metrics-listen none --upgrade-policy off --simulated-clock "$kBegin" "${@:4}" >>"$work/controller-$1.log" 2>&1 &
  echo $! >"$work/controller-$1.pid"
  export RAILGAUGE_CONTROLLER=unix:$site/c.sock
  wait_for "the controller answers" 20 cli version
  "$bin/railgauge-fleet" --controller "$RAILGAUGE_CONTROLLER" --scenario "$work/$scenario.yaml" \
    --simulated-clock "$site/simulated-clock" >>"$work/fleet-$1.log" 2>&1 &
  echo $! >"$work/fleet-$1.pid"
  wait_for "$nodes nodes attach" 60 attached "$nodes"
}

# play SITE: starts it, and lets its nights pass.
play() {
  start_site "$1" scenario 16
  cli schedules add every-night pairs --cron "0 1 * * *"
  local from; from=$(date +%s%N)
  cli clock "$work/$1/simulated-clock" "$end" --wait 30min
  echo $((($(date +%s%N) - from) / 1000000)) >"$work/$1/took_ms"
}

every_night_is_measured_at_its_time() {
  play one
  cli schedules show every-night -o json >"$work/schedule.json"
  jq -e '[.schedules[0].dues[] | select(.result != "started")] == []' "$work/schedule.json"
  # The page shows the newest 20.
  jq -e --argjson nights "$((kNights < 20 ? kNights : 20))" '.schedules[0].dues | length == $nights' "$work/schedule.json"
  cli sql "SELECT count(*) AS runs, count(DISTINCT date(created_at, 'unixepoch')) AS days, min(time(created_at, 'unixepoch'))
    AS first, max(time(created_at, 'unixepoch')) AS last FROM run WHERE suite = 'pairs'" -o json >"$work/runs.json"
  jq -e --argjson nights "$kNights" '.rows[0] | .runs == $nights and .days == $nights and .first >= "01:00:00"
    and .last < "01:05:00"' "$work/runs.json"
}

slow_port_is_found_on_the_night_after() {
  cli findings -o json >"$work/findings.json"
  jq -e '[.findings[] | select(.suspect | test("sim0012"))] | length > 0' "$work/findings.json"
  # The fault begins on the 10th at noon. Peers need two nights that show it, and five before.
  jq -e '[.findings[] | select(.kind != "part" and (.suspect | test("sim0012"))) | .opened_at] | min | . >= "2026-01-12" and . < "2026-01-13"' "$work/findings.json"
}

changed_stack_is_seen_with_its_date() {
  cli nodes show sim0003 | grep 999.1
  cli sql "SELECT date(valid_from, 'unixepoch') AS day FROM epoch JOIN node ON node.id = epoch.node WHERE node.name = 'sim0003'
    ORDER BY valid_from DESC LIMIT 1" -o json | jq -e '.rows[0].day == "2026-01-11"'
}

data_is_pruned_by_the_simulated_calendar() {
  cli audit --rpc prune -o json --limit 5000 >"$work/prunes.json"
  jq -e --argjson nights "$kNights" '[.entries[] | select(.outcome == "ok")] | length >= $nights - 1' "$work/prunes.json"
}

# The findings without their ids, which are random.
findings_of() { jq -S '[.findings[] | {kind, state, suspect, summary, worse_percent}] | sort_by(.summary)' "$1"; }

same_seed_gives_the_same_findings() {
  play two
  cli findings -o json >"$work/findings-two.json"
  diff <(findings_of "$work/findings.json") <(findings_of "$work/findings-two.json")
}

# figures_of SITE: every stored figure with its day and series, sorted; without what is random (ids) or the host's (seconds).
figures_of() {
  local column figures=""
  for column in median median_low median_high p99 sample_count rate rate_low rate_high slot_p10 pause_share \
    min max mean stddev p25 p75 p90 p999 slot_p1 longest_pause_ns measure_ns; do figures+=", quote($column)"; done
  sqlite3 -readonly "$work/$1/railgauge.db" "SELECT date(measured_ms / 1000, 'unixepoch'), kernel, metric, meaning, message_bytes,
    (SELECT group_concat(label) FROM (SELECT node.name || '/' || slot || ':' || port || gpu_slot AS label FROM series_endpoint AS place
      JOIN endpoint ON endpoint.id = place.endpoint JOIN node ON node.id = endpoint.node WHERE place.series = series.id
      ORDER BY place.position))$figures
    FROM point JOIN series ON series.id = point.series LEFT JOIN distribution ON distribution.point = point.id" | sort
}

# Under a simulated clock alone: by the host's, other moments have other noise.
same_seed_gives_the_same_figures_bit_for_bit() {
  figures_of one >"$work/figures-one.txt"
  figures_of two >"$work/figures-two.txt"
  [ "$(wc -l <"$work/figures-one.txt")" -ge $((kNights * 64)) ]
  cmp "$work/figures-one.txt" "$work/figures-two.txt"
}

# Nobody measures the same pair on two of these nights.
sliced_nights_pass() {
  local site
  for site in slow twin; do
    start_site "$site" "$site" 24 --site-profile "$work/site.yaml"
    cli schedules add every-night slices --cron "0 1 * * *"
  done
  for site in slow twin; do
    cli --controller "unix:$work/$site/c.sock" clock "$work/$site/simulated-clock" 2026-01-13 --wait 10min
    cli --controller "unix:$work/$site/c.sock" findings -o json >"$work/findings-$site.json"
  done
}

slow_port_of_slices_is_confirmed_on_the_second_night() {
  jq -e '[.findings[] | [.kind, .state, .suspect]] == [["part", "confirmed", "sim0012 rail 1"]]' "$work/findings-slow.json"
  jq -e '.findings[0] | .opened_at >= "2026-01-11" and .worse_percent > 8 and .worse_percent < 12' "$work/findings-slow.json"
  cli findings show part-sim0012-rail-1 -o json >"$work/part.json"
  jq -e '.good_at >= "2026-01-10" and .good_at < "2026-01-11" and .since >= "2026-01-11" and .since < "2026-01-12"' "$work/part.json"
  jq -e '[.steps[] | select(.action == "confirm") | .at] | length == 1 and .[0] < "2026-01-13"' "$work/part.json"
}

healthy_twin_of_slices_accuses_nobody() {
  jq -e '.findings == []' "$work/findings-twin.json"
}

run_that_confirms_a_finding_ends_with_1() {
  local run
  run=$(jq -r .run_id "$work/part.json")
  expect_exit 1 cli runs wait "$run" >"$work/confirming.txt"
  grep 'part-sim0012-rail-1' "$work/confirming.txt"
  grep "run $run passed" "$work/confirming.txt"
  run=$(cli runs -o json | jq -r '[.runs[] | select(.created_at < "2026-01-10")][0].run_id')
  cli runs wait "$run" >"$work/quiet.txt"
}

real_agent_is_refused() {
  make_sysfs "$work/sys-real"
  "$bin/railgauge-agent" --controller "unix:$work/two/c.sock" --name real --state-dir "$work/state-real" \
    --sysfs-root "$work/sys-real" --proc-root "$work/proc-real" --metrics-listen none >"$work/agent-real.log" 2>&1 &
  echo $! >"$work/agent-real.pid"
  wait_for "the refusal" 30 grep 'node real is real, and the database is synthetic' "$work/agent-real.log"
}

simulated_clock_wants_a_database_without_real_data() {
  expect_exit 2 "$bin/railgauge-controller" --socket "$work/r.sock" --database "$work/real.db" --suites "$work/suites" \
    --metrics-listen none --simulated-clock "$kBegin" 2>"$work/refused.txt"
  [ "$(grep -c . "$work/refused.txt")" = 1 ]
  grep -- '--simulated-clock: .*real.db: it has data of real nodes' "$work/refused.txt"
}

# The time continues from the database where the clock's file is gone.
clock_goes_on_without_its_file() {
  mkdir "$work/gone"
  local start
  # The second begin is earlier, and does not count.
  for start in 2026-03-01 2025-01-01; do
    "$bin/railgauge-controller" --socket "$work/gone/c.sock" --database "$work/gone/railgauge.db" --suites "$work/suites" \
      --metrics-listen none --simulated-clock "$start" >>"$work/controller-gone.log" 2>&1 &
    echo $! >"$work/controller-gone.pid"
    wait_for "the controller answers" 20 cli --controller "unix:$work/gone/c.sock" version
    cli clock "$work/gone/simulated-clock" 5d
    cli --controller "unix:$work/gone/c.sock" schedules add "s$start" pairs --cron "0 1 * * *"
    kill -TERM "$(pid_of controller-gone)"
    wait_for "the controller ends" 30 eval '! alive controller-gone'
    cli clock "$work/gone/simulated-clock" >>"$work/gone/times"
    rm "$work/gone/simulated-clock"
  done
  cat "$work/gone/times"
  head -n 1 "$work/gone/times" | grep '^2026-03-06'
  tail -n 1 "$work/gone/times" | grep '^2026-03-11'
}

# Nobody waits for a fleet that ended without a word.
killed_fleet_is_not_waited_for() {
  kill -KILL "$(pid_of fleet-two)"
  wait_for "the fleet ends" 10 eval '! alive fleet-two'
  local from; from=$(date +%s)
  cli clock "$work/two/simulated-clock" 1d --wait 30s
  echo "a day without the fleet took $(($(date +%s) - from)) s"
}

# The database of a controller with a real agent on it.
make_real_database() {
  "$bin/railgauge-controller" --socket "$work/r.sock" --database "$work/real.db" --suites "$work/suites" --metrics-listen none \
    >>"$work/controller-real.log" 2>&1 &
  echo $! >"$work/controller-real.pid"
  RAILGAUGE_CONTROLLER=unix:$work/r.sock wait_for "the controller answers" 20 cli version
  make_sysfs "$work/sys-kept"
  "$bin/railgauge-agent" --controller "unix:$work/r.sock" --name kept --state-dir "$work/state-kept" \
    --sysfs-root "$work/sys-kept" --proc-root "$work/proc-kept" --metrics-listen none >>"$work/agent-kept.log" 2>&1 &
  echo $! >"$work/agent-kept.pid"
  RAILGAUGE_CONTROLLER=unix:$work/r.sock wait_for "the agent attaches" 30 attached 1
}

fleet_is_refused_by_a_real_database() {
  make_real_database
  "$bin/railgauge-fleet" --controller "unix:$work/r.sock" --nodes 1 >"$work/fleet-refused.log" 2>&1 &
  echo $! >"$work/fleet-refused.pid"
  wait_for "the refusal" 30 grep 'node sim0001 is modelled, and the database has data of real nodes' "$work/fleet-refused.log"
  kill -TERM "$(pid_of controller-real)"
  wait_for "the controller ends" 30 eval '! alive controller-real'
}

# Certificates of today are not valid yet in the year of the clock.
certificates_follow_the_clock() {
  "$top/deploy/pki.sh" ca "$work/pki" && "$top/deploy/pki.sh" controller "$work/pki" localhost 127.0.0.1
  "$top/deploy/pki.sh" operator "$work/pki" somebody
  local start
  mkdir "$work/tls-2020-01-01" "$work/tls-$(date -u +%F -d tomorrow)"
  for start in 2020-01-01 "$(date -u +%F -d tomorrow)"; do
    "$bin/railgauge-controller" --socket "$work/t.sock" --database "$work/tls-$start/railgauge.db" --suites "$work/suites" \
      --metrics-listen none --simulated-clock "$start" --listen 127.0.0.1:0 --tls-ca "$work/pki/ca.crt" \
      --tls-cert "$work/pki/controller.crt" --tls-key "$work/pki/controller.key" >"$work/controller-tls.log" 2>&1 &
    echo $! >"$work/controller-tls.pid"
    wait_for "the port" 20 grep 'TCP port' "$work/controller-tls.log"
    local port code=0
    port=$(sed -n 's/.*TCP port \([0-9]*\) with.*/\1/p' "$work/controller-tls.log")
    cli --controller "127.0.0.1:$port" --tls-ca "$work/pki/ca.crt" --tls-cert "$work/pki/somebody.crt" \
      --tls-key "$work/pki/somebody.key" nodes || code=$?
    echo "$start: $code" >>"$work/tls.txt"
    kill -TERM "$(pid_of controller-tls)"
    wait_for "the controller ends" 30 eval '! alive controller-tls'
  done
  grep '^2020.*: 4$' "$work/tls.txt"
  tail -n 1 "$work/tls.txt" | grep ': 0$'
}

check "every night is measured at its time" every_night_is_measured_at_its_time
export RAILGAUGE_CONTROLLER=unix:$work/one/c.sock
check "a slow port is found after the night that shows it" slow_port_is_found_on_the_night_after
check "a changed stack is seen with its date" changed_stack_is_seen_with_its_date
check "data is pruned by the simulated calendar" data_is_pruned_by_the_simulated_calendar
check "the same seed gives the same findings" same_seed_gives_the_same_findings
check "the same seed gives the same figures, bit for bit" same_seed_gives_the_same_figures_bit_for_bit
check "nights of slices pass on two sites" sliced_nights_pass
export RAILGAUGE_CONTROLLER=unix:$work/slow/c.sock
check "a port that loses a tenth is confirmed on the second night of slices" slow_port_of_slices_is_confirmed_on_the_second_night
check "the healthy twin accuses nobody" healthy_twin_of_slices_accuses_nobody
check "a run that confirms a finding ends with 1" run_that_confirms_a_finding_ends_with_1
check "a real agent is refused by a synthetic database" real_agent_is_refused
check "a fleet is refused by a database of real nodes" fleet_is_refused_by_a_real_database
check "a simulated clock is refused by a database of real nodes" simulated_clock_wants_a_database_without_real_data
check "a clock whose file is gone continues from the database" clock_goes_on_without_its_file
check "a fleet that was killed is not waited for" killed_fleet_is_not_waited_for
check "certificates are valid by the simulated clock" certificates_follow_the_clock
for site in one two; do
  echo "synthetic: $kNights nights of 16 nodes took $(($(cat "$work/$site/took_ms") / 100))e-1 s"
done
summary
