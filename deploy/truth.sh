#!/usr/bin/env bash
# The truth of localiser and judge through the whole service, as a table: real controller, store and gRPC, a modelled
# fleet, nights on a simulated clock with a fault at a place that the seed draws. The same nights go through the judge
# alone. All figures are synthetic.
#   deploy/truth.sh [--build DIR] [--nodes N] [--rails N] [--slices N] [--before N] [--kinds "K ..."] [--takes SHARE]
#                   [--first-seed N] [--seeds N] [--minutes N] [--keep FILE]   one row a kind and seed through the whole service, with
#                   the judge's answer to the same nights; rows are added to FILE, and those that it has are skipped
#   deploy/truth.sh --judge ... [--seeds N] [--keep FILE]        the judge alone
#   deploy/truth.sh --table FILE...                              the tables of kept rows; starts nothing
# --kinds   none port port-sends port-receives gpu node leaf trunk rail flapping pair two (all)
# --takes   share of bandwidth that the fault takes; the kind's own unless named: 0.1, of a pair 0.55
# --slices  a night measures 1/N of all pairs (7)
# --before  healthy nights first (7)
# --minutes no case begins after so long; kept rows make a later call go on (none)
# Pauses between seeds while the file TRUTH_PAUSE exists.
# Exit 0 measured; 1 service and judge disagree; 2 wrong use; 4 a program failed.
# shellcheck source-path=SCRIPTDIR
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build="" nodes=64 rails=8 slices=7 before=7 takes="" seed=1 seeds=10 keep="" form=service minutes=""
kinds="none port port-sends port-receives gpu node leaf trunk rail flapping pair two"
usage() { echo "truth.sh: $1" >&2; exit 2; }

# table FILE...: rows grouped by form, size and kind.
table() {
  awk -F '\t' '
    FNR == 1 && $1 == "commit" { next }
    { key = $3 "\t" $4 "\t" $5 "\t" $6 "\t" $7 "\t" $8 "\t" $10 "\t" $11
      if (!(key in seeds)) order[++keys] = key
      ++seeds[key]; nights[key] += $10; wrong[key] += $14; commits[$1 " of " $2] = 1
      if ($13 > 0) { ++found[key] }
      if ($12 > 0) { ++word[key]; words[key] += $12 - 0.5 + 1 / 24 }
      if ($16 != "-") { ++compared[key]; agree[key] += $16 } }
    END {
      print "| judged by | nodes | rails | slice | fault | takes | seeds | within | found | false a night | first word, days | agree |"
      print "| --- | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
      for (k = 1; k <= keys; k++) { key = order[k]; split(key, c, "\t")
        healthy = c[5] == "none"
        printf "| %s | %d | %d | 1/%d | %s | %s | %d | %s | %s | %.3f | %s | %s |\n", c[1], c[2], c[3], c[4], c[5], \
          healthy ? "-" : sprintf("%.0f %%", 100 * c[6]), seeds[key], healthy ? c[7] " nights" : c[8] " nights", \
          healthy ? "-" : sprintf("%d of %d", found[key], seeds[key]), wrong[key] / nights[key], \
          word[key] ? sprintf("%.1f", words[key] / word[key]) : "-", \
          compared[key] ? agree[key] " of " compared[key] : "-" }
      printf "\nCommits:"; for (commit in commits) printf " %s;", commit; print "" }' "$@"
}

while [ $# -gt 0 ]; do
  case "$1" in
    --table) shift; [ $# -gt 0 ] || usage "--table needs files"; table "$@"; exit 0 ;;
    --judge) form=judge; shift; continue ;;
    --build | --nodes | --rails | --slices | --before | --kinds | --takes | --first-seed | --seeds | --minutes | --keep)
      [ $# -gt 1 ] || usage "$1 needs a value" ;;&
    --build) build=$2 ;;
    --nodes) nodes=$2 ;;
    --rails) rails=$2 ;;
    --slices) slices=$2 ;;
    --before) before=$2 ;;
    --kinds) kinds=$2 ;;
    --takes) takes=$2 ;;
    --first-seed) seed=$2 ;;
    --seeds) seeds=$2 ;;
    --minutes) minutes=$2 ;;
    --keep) keep=$(realpath -m "$2") ;;
    *) usage "unknown option $1; allowed: --judge, --table, --build, --nodes, --rails, --slices, --before, --kinds, --takes, --first-seed, --seeds, --minutes, --keep" ;;
  esac
  shift 2
done
export LC_ALL=C RAILGAUGE_BUILD_DIR=${build:-$here/../build/ci}
[ -x "$RAILGAUGE_BUILD_DIR/bin/truth_nights" ] || usage "no truth_nights in $RAILGAUGE_BUILD_DIR/bin; build the target truth_nights, or name a build with --build"
# shellcheck source=e2e/lib.sh
. "$here/e2e/lib.sh"
readonly kBegin=2026-01-05 kNightSeconds=3600
[ -n "$keep" ] || keep=$work/rows.tsv
if [ ! -s "$keep" ]; then
  printf 'commit\tdate\tform\tnodes\trails\tslices\tkind\ttakes\tseed\tnights\twithin\tfirst_word\tfound\twrong\tconfirmed\tagrees\n' >"$keep"
fi

# nights VERB KIND SEED [FLAG...]: the program of cases.
nights() {
  local verb=$1 kind=$2 one=$3; shift 3
  "$bin/truth_nights" "$verb" --kind "$kind" --first-seed "$one" --nodes "$nodes" --rails "$rails" --slices "$slices" \
    --before "$before" ${takes:+--takes "$takes"} "$@"
}
# is_kept KIND SEED SHARE
is_kept() {
  awk -F '\t' -v form="$form" -v nodes="$nodes" -v rails="$rails" -v slices="$slices" -v kind="$1" -v seed="$2" -v takes="$3" '
    $3 == form && $4 == nodes && $5 == rails && $6 == slices && $7 == kind && $8 + 0 == takes + 0 && $9 == seed { found = 1 }
    END { exit !found }' "$keep"
}
# keep_row ROW AGREES: a row of truth_nights has the nodes first. The commit is that of the programs.
keep_row() {
  printf '%s\t%s\t%s\t%s\t%s\n' "$("$bin/railgauge-fleet" --version | sed -n 's/.*(commit \([0-9a-f]*\).*/\1/p')" "$(date -u +%F)" "$form" "$1" "$2" >>"$keep"
}

# Findings as truth_nights reads them: by the number of the night that said so. A night's run begins at one o'clock.
said() {
  local begin; begin=$(date -u -d "$kBegin" +%s)
  cli sql "SELECT finding_id, suspect, CAST((opened_at - $begin) / 86400 AS INTEGER) + 1 AS opened,
    coalesce((SELECT CAST((min(at) - $begin) / 86400 AS INTEGER) + 1 FROM finding_step
              WHERE finding_step.finding = finding.id AND action = 'confirm'), 0) AS confirmed
    FROM finding WHERE kind = 'part' ORDER BY finding.id" --limit 1000 -o json |
    jq -r '.rows[] | [.finding_id, .suspect, .opened, .confirmed] | @tsv'
}
stop_site() {
  local process
  for process in fleet controller; do
    kill -TERM "$(pid_of $process)" 2>/dev/null || true
    wait_for "$process ends" 60 eval "! alive $process" || stop_hard $process
    rm -f "$work/$process.pid"
  done
}
# serve KIND SEED: plays the nights of the case in the whole service, and prints its row.
serve() {
  local kind=$1 one=$2 count
  rm -rf "$work/site" "$work/suites"; mkdir -p "$work/site" "$work/suites"
  nights scenario "$kind" "$one" >"$work/scenario.yaml"
  nights suite "$kind" "$one" >"$work/suites/slices.yaml"
  count=$(nights nights "$kind" "$one")
  printf 'version: 1\nmetadata: {name: modelled}\ndefaults: {}\ntopology: {source: labels}\n' >"$work/site.yaml"
  "$bin/railgauge-controller" --socket "$socket" --database "$work/site/railgauge.db" --suites "$work/suites" \
    --site-profile "$work/site.yaml" --metrics-listen none --upgrade-policy off --simulated-clock "$kBegin" >"$work/controller.log" 2>&1 &
  echo $! >"$work/controller.pid"
  wait_for "the controller answers" 20 cli version
  "$bin/railgauge-fleet" --controller "unix:$socket" --scenario "$work/scenario.yaml" --kernels verbs.write_bw \
    --simulated-clock "$work/site/simulated-clock" >"$work/fleet.log" 2>&1 &
  echo $! >"$work/fleet.pid"
  wait_for "$nodes nodes attach" 120 attached "$nodes"
  cli schedules add every-night slices --cron "0 1 * * *" >"$work/schedule.log"
  cli clock "$work/site/simulated-clock" "$(date -u -d "$kBegin + $count days" +%F)" --wait "$((count * kNightSeconds))s" >"$work/clock.log"
  said >"$work/said"
  stop_site
  nights row "$kind" "$one" <"$work/said"
}

disagreed=0 began=$(date +%s)
is_late() { [ -n "$minutes" ] && [ $(($(date +%s) - began)) -ge $((minutes * 60)) ]; }
# A bound of time leaves every kind with as many seeds.
for ((one = seed; one < seed + seeds; ++one)); do
  for kind in $kinds; do
    while [ -e "${TRUTH_PAUSE:-/nonexistent}" ]; do sleep 5; done
    share=$(nights scenario "$kind" "$one" | sed -n 's/.*takes: \([0-9.]*\).*/\1/p' | head -n 1)
    ! is_kept "$kind" "$one" "${share:-0}" || continue
    ! is_late || break 2
    if [ "$form" = judge ]; then
      nights judge "$kind" "$one" --seeds $((seed + seeds - one)) --runner "$bin/railgauge-runner" >"$work/judged"
      while IFS= read -r row; do keep_row "$row" -; done <"$work/judged"
      continue
    fi
    alone=$(nights judge "$kind" "$one" --runner "$bin/railgauge-runner")
    served=$(serve "$kind" "$one")
    agrees=1
    if [ "$served" != "$alone" ]; then
      agrees=0 disagreed=1
      printf '%s, seed %s: service and judge disagree\n  service %s\n  judge   %s\n' "$kind" "$one" "$served" "$alone" >&2
    fi
    keep_row "$served" "$agrees"
  done
done
# shellcheck disable=SC2034  # lib.sh keeps the logs then
failed=$disagreed
table "$keep"
[ "$disagreed" = 0 ]
