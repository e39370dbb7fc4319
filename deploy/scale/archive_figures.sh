#!/usr/bin/env bash
# Writes deploy/docs/results/archive.md: the drills of the mirror and its figures, on this machine. Notes behind
# "## Notes" on the page stay.
#   deploy/scale/archive_figures.sh [SECONDS] [MILLIONS]   of each rate, of points of a year [30, 9]
# RAILGAUGE_CHECK_FULL=1 makes the drills' long form. RAILGAUGE_ARCHIVE_KEPT=FOLDER has the files of this script from an
# earlier call: those that are there are not measured again.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-30}
millions=${2:-9}
build=${RAILGAUGE_BUILD_DIR:-build/ci}
page=deploy/docs/results/archive.md
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
kept=${RAILGAUGE_ARCHIVE_KEPT:-$work}

# drill PROGRAM FILTER: its outcomes as JSON.
drill() {
  [ ! -e "$kept/drills-$1.json" ] || return 0
  RAILGAUGE_BUILD_DIR=$build "$build/bin/$1" --gtest_filter="$2" --gtest_output="json:$kept/drills-$1.json" >"$work/log" 2>&1 ||
    { tail -30 "$work/log" >&2; exit 1; }
}
drill mirror_process_test 'MirrorProcessTest.*-*Password*'
RAILGAUGE_BOARD_ROWS=$kept/board.md drill mirror_test 'MirrorTroubleTest.*:SiteLinkTest.*:ArchiveSchemaTest.*:MirrorTest.*:MonthIndexTest.*:BoardTest.*'
# The same points as one of each series a night, and as all points of a port in one series.
nightly=$((millions * 1000000 / 8192 / 365))
[ -e "$kept/rates.md" ] || "$build/bin/mirror_bench" rates "$seconds" >"$kept/rates.md"
for form in 1 $((nightly > 1 ? nightly : 2)); do
  [ -e "$kept/year-$form.md" ] || RAILGAUGE_BUILD_DIR=$build "$build/bin/mirror_bench" year "$millions" "$form" >"$kept/year-$form.md"
done
notes=$(sed -n '/^## Notes$/,$p' "$page")
form="short one"; [ "${RAILGAUGE_CHECK_FULL:-0}" != 1 ] || form=$'long one: 100 kills of the server, 200 of\nthe controller, 200 of a process that stores and mirrors'

{
  cat <<PAGE
# The archive: drills and figures of the mirror

Machine: $(nproc) cores of a virtual machine (x86-64) that others used meanwhile, ext4, PostgreSQL 15,
built as the check builds (-O1). Date: $(date -u +%F). Commit: $(git rev-parse --short HEAD).
\`deploy/scale/archive_figures.sh\` makes this page; all points are SYNTHETIC.

| figure | measured | wanted |
|---|---|---|
PAGE
  cat "$kept/rates.md" "$kept"/year-*.md
  cat <<PAGE

The server has fsync on and is a private cluster on the same disk as the controller's database.
Points are stored by the controller's store in one process with the mirror, without agents and gRPC.
The lag is from the commit of an event to the moment at which the archive shows it.

The year is made by SQL in the form in which the mirror leaves rows, in the order of their arrival;
its queries run after all rows were written. \`history\` is the program with its start; its joins to
runs are in it. Indexes of past months: decision
[190](../decisions/190-a-past-months-history-has-an-index.md).

A controller with its mirror, PostgreSQL and modelled agents that deliver over gRPC has
[a page of its own](archive-rate.md).

Each query of the board, with the data of two sites, SYNTHETIC:

| panel | rows | the first one |
|---|---|---|
PAGE
  cat "$kept/board.md" 2>/dev/null || echo "| - | - | not kept |"
  cat <<PAGE

| drill | outcome | s |
|---|---|---|
PAGE
  jq -r '.testsuites[].testsuite[] |
    "| \(.name | gsub("(?<a>[a-z])(?<b>[A-Z])"; "\(.a) \(.b)") | gsub(" A(?<b>[A-Z])"; " a \(.b)") | gsub("^A(?<b>[A-Z])"; "a \(.b)") | ascii_downcase) | \(
      if .result == "SKIPPED" then "waived" elif .failures then "failed" else "passed" end) | \(.time | rtrimstr("s")) |"' \
    "$kept"/drills-mirror_process_test.json "$kept"/drills-mirror_test.json
  cat <<PAGE

Where a drill ends with a mirror that works, all rows of all mirrored tables are the same on both
sides, in number and content. The form is the $form.

A site with two controllers has a page of its own: [standby](standby.md).
PAGE
  [ -z "$notes" ] || printf '\n%s\n' "$notes"
} >"$page"
