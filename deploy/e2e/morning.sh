#!/usr/bin/env bash
# Plays a site of 512 nodes with 8 rails until its morning, and prints its report: real controller, database and gRPC, a
# simulated clock, 512 agents of railgauge-fleet, a slice of the pairs a night. Three faults (a slow port that two nights
# show, one that the last night shows, wrong bytes), a driver that changed on 16 nodes, five paused nodes, a dead agent.
# All figures are synthetic.
#   deploy/e2e/morning.sh                 compares the report's shape with the one that the guide shows
#   deploy/e2e/morning.sh --render FILE   puts the report as it was printed in place of the one that FILE shows
# shellcheck source-path=SCRIPTDIR
render=""
if [ "${1:-}" = --render ]; then
  render=${2:?morning.sh: --render needs a file}
elif [ $# -gt 0 ]; then
  echo "morning.sh: unknown option $1; allowed: --render FILE" >&2
  exit 2
fi
. "$(dirname "$0")/lib.sh"

readonly kBegin=2026-11-18 kLastNoon=2026-11-25T12:00 kMorning=2026-11-26T08:00
readonly kMostLines=110  # two screens
guide=$top/deploy/docs/guide/morning.md
ulimit -n "$(ulimit -Hn)"

cat >"$work/scenario.yaml" <<'Y'
version: 1
metadata: {name: morning}
seed: 2711
begin: 2026-11-18
fabric: {nodes: 512, rails: 8, leaves: 32, spines: 8, prefix: gpu}
noise: [{kind: gaussian, size: 0.01}]
faults:
  - {name: cable, kind: port, node: gpu0017, nic: 3, direction: receives, begin: 2026-11-24T12:00, takes: 0.25}
  - {name: lane, kind: port, node: gpu0120, nic: 0, begin: 2026-11-25T12:00, takes: 0.12}
losses:
  - {nodes: gpu0200, kernels: [verbs], begin: 2026-11-25T12:00, outcome: failed, reason: "wrong bytes at offset 4096 of 65536"}
changes:
  - {nodes: "gpu[0401-0416]", begin: 2026-11-22T14:00, reboot: 10min, versions: {gpu_driver: "580.95"}}
agents: [{kind: lost, nodes: gpu0077, begin: 2026-11-25T20:00}]
Y
mkdir "$work/suites"
cat >"$work/suites/night.yaml" <<'Y'
version: 1
metadata: {name: night, summary: "bandwidth of a slice of all pairs on all rails, both ways"}
stages:
  - kernel: verbs.write_bw
    parameters: {sizes: 64KiB}
    placement: {pairs: all, slice: 256, directions: both, rails: same, rails_together: true}
Y
cat >"$work/site.yaml" <<'Y'
version: 1
metadata: {name: modelled}
defaults: {}
topology: {source: labels}
Y

pass_time_until() { cli clock "$work/simulated-clock" "$1" --wait 10min; }

begin_controller() {
  "$bin/railgauge-controller" --socket "$socket" --database "$work/railgauge.db" --suites "$work/suites" \
    --site-profile "$work/site.yaml" --metrics-listen none --upgrade-policy propose --simulated-clock "$kBegin" \
    >>"$work/controller.log" 2>&1 &
  echo $! >"$work/controller.pid"
  wait_for "the controller answers" 20 cli version
}

site_starts() {
  begin_controller
  "$bin/railgauge-fleet" --controller "$RAILGAUGE_CONTROLLER" --scenario "$work/scenario.yaml" \
    --simulated-clock "$work/simulated-clock" >>"$work/fleet.log" 2>&1 &
  echo $! >"$work/fleet.pid"
  wait_for "512 nodes attach" 120 attached 512
  cli schedules add every-night night --cron "30 1 * * *"
}

nights_pass() {
  pass_time_until "$kLastNoon"
  cli nodes pause "gpu[0301-0305]" --until 2026-11-26T16:00 --reason 'rack work'
  pass_time_until "$kMorning"
  wait_for "the dead agent is lost" 120 eval '[ "$(cli nodes -o json | jq "[.nodes[] | select(.state == \"lost\")] | length")" = 1 ]'
}

report_is_printed() {
  expect_exit 1 cli report >"$work/morning.txt"
  cat "$work/morning.txt"
  [ "$(wc -l <"$work/morning.txt")" -le "$kMostLines" ]
  [ "$(awk '{ if (length($0) > most) most = length($0) } END { print most }' "$work/morning.txt")" -le 80 ]
  head -n 2 "$work/morning.txt" | grep SYNTHETIC
}

# Both screens name each thing that happened.
all_of_it_is_there() {
  grep -E '^  confirmed +gpu0017 rail 3' "$work/morning.txt"
  grep -E '^  new +gpu0120 rail 0' "$work/morning.txt"
  grep -E '^  confirmed +gpu0200' "$work/morning.txt"
  grep -E '^  failed +[0-9]+ x verbs.write_bw' "$work/morning.txt"
  grep -E '^  lost +1 node: gpu0077' "$work/morning.txt"
  grep -E '^  paused +5 nodes: gpu\[0301-0305\]' "$work/morning.txt"
  grep -E '^  proposed +gpu\[0401-0416\], 2026-11-23' "$work/morning.txt"
}

# Each thing that somebody has to do is a step, and none of them is only counted.
steps_name_what_is_to_do() {
  sed -n '/^Next/,$p' "$work/morning.txt" >"$work/next.txt"
  grep -F 'railgauge findings show part-gpu0017-rail-3' "$work/next.txt"
  grep -F 'bring back gpu0077' "$work/next.txt"
  grep -F 'railgauge upgrades gate --nodes gpu[0401-0416]' "$work/next.txt"
  grep -F 'why tasks failed' "$work/next.txt"
  grep -F 'railgauge findings show part-gpu0120-rail-0' "$work/next.txt"
  ! grep -E '^  and [0-9]+ more' "$work/next.txt"
}

# shape: the sections, the counts of findings, and the mark of each entry; figures and runs' ids differ by chance.
shape() { awk '/^Findings:/ { print; next } /^[A-Z][a-z]/ { sub(/:.*/, ""); print; next } /^  [^ ]/ { print "  " $1 }' | sed 1d; }
# shown FILE: the report that the page shows.
shown() { awk '/^```/ { inside = 0 } inside { print } /^```$/ { getline; if (/^Railgauge report, /) { inside = 1; print } }' "$1"; }

guide_shows_it() {
  diff <(shown "$guide" | shape) <(shape <"$work/morning.txt")
}

# put_into FILE: replaces the shown report.
put_into() {
  [ -n "$(shown "$1")" ] || { echo "$1 shows no report"; return 1; }
  awk -v new="$work/morning.txt" '
    /^```$/ && !inside { print; getline; if (/^Railgauge report, /) { inside = 1; while ((getline line < new) > 0) print line; next } }
    /^```/ { inside = 0 }
    !inside { print }' "$1" >"$work/page.md"
  cp "$work/page.md" "$1"
}

# The next controller has nobody to ask when the dead agent was there.
lost_node_is_known_after_a_restart() {
  kill -TERM "$(pid_of controller)"
  wait_for "the controller ends" 60 eval '! alive controller'
  begin_controller
  cli nodes show gpu0077 | tee "$work/lost.txt"
  grep -E '^last seen +2026-11-2[56]T' "$work/lost.txt"
}

check "the site starts" site_starts
check "its nights pass" nights_pass
check "the report is printed, on two screens" report_is_printed
check "it has the faults, the upgrade, the paused nodes and the dead agent" all_of_it_is_there
check "its steps name what is to do" steps_name_what_is_to_do
if [ -n "$render" ]; then
  check "the page is written" put_into "$render"
else
  check "the guide shows such a report" guide_shows_it
fi
check "a restarted controller knows when the dead agent was there" lost_node_is_known_after_a_restart
summary
