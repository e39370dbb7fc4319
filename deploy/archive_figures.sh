#!/usr/bin/env bash
# Writes deploy/docs/results/archive.md: the drills of the mirror and its figures, on this machine.
#   deploy/archive_figures.sh [SECONDS] [MILLIONS]   of each rate, of points of a year [30, 9]
# RAILGAUGE_CHECK_FULL=1 makes the drills' long form. RAILGAUGE_ARCHIVE_KEPT=FOLDER takes rates.md and year.md from there,
# as mirror_bench printed them, in place of measuring.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-30}
millions=${2:-9}
build=${RAILGAUGE_BUILD_DIR:-build/ci}
page=deploy/docs/results/archive.md
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
kept=${RAILGAUGE_ARCHIVE_KEPT:-$work}

"$build/bin/mirror_test" --gtest_filter='MirrorTroubleTest.*:SiteLinkTest.*:ArchiveSchemaTest.*:MirrorTest.*' \
  --gtest_output="json:$work/drills.json" >"$work/log" 2>&1 || { tail -30 "$work/log" >&2; exit 1; }
[ -e "$kept/rates.md" ] || "$build/bin/mirror_bench" rates "$seconds" >"$kept/rates.md"
[ -e "$kept/year.md" ] || "$build/bin/mirror_bench" year "$millions" >"$kept/year.md"
form=short; [ -z "${RAILGAUGE_CHECK_FULL:-}" ] || form="long (100 kills of the server, 200 of the mirror's process)"

{
  cat <<PAGE
# The archive: drills and figures of the mirror

Machine: $(nproc) cores of a virtual machine (x86-64) that others used meanwhile, ext4, PostgreSQL 15,
built as the check builds (-O1). Date: $(date -u +%F). Commit: $(git rev-parse --short HEAD).
\`deploy/archive_figures.sh\` makes this page; all points are SYNTHETIC.

| figure | measured | wanted |
|---|---|---|
PAGE
  cat "$kept/rates.md" "$kept/year.md"
  cat <<PAGE

The server has fsync on and is a private cluster on the same disk as the controller's database.
Points are stored by the controller's store in one process with the mirror, without agents and gRPC.
The lag is from the commit of an event to the moment at which the archive shows it. The year is made
by SQL in the form in which the mirror leaves rows; its queries run after all rows were written.

| drill, after which both sides have the same rows | outcome | s |
|---|---|---|
PAGE
  jq -r '.testsuites[].testsuite[] | select(.classname != null) |
    "| \(.name | gsub("(?<a>[a-z])(?<b>[A-Z])"; "\(.a) \(.b)") | ascii_downcase) | \(
      if .result == "SKIPPED" then "waived" elif .failures then "failed" else "passed" end) | \(.time | rtrimstr("s")) |"' "$work/drills.json"
  printf '\nThe drills are those of the %s form. A standby, and with it RTO and fencing between two controllers\nthat are alive, is not built yet.\n' "$form"
} >"$page"
