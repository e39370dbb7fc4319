#!/usr/bin/env bash
# Writes the table of pauses and of who finds them to deploy/docs/results/stalls.md, from stalls_bench. The figures are
# synthetic and alike on every machine. Exit 1 where a bound is missed; the page shows the row.
#   deploy/stalls_table.sh [BUILD]     a build folder with the target stalls_bench (build/ci)
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/ci} page=deploy/docs/results/stalls.md
fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
code=0
{
  printf '# Pauses of a stream, and who finds them\n\n'
  "$build/bin/stalls_bench" || code=$?
  [ "$code" -le 1 ] || exit "$code"
  printf '\nCommit %s, %s, `deploy/stalls_table.sh`.\n' "$(git rev-parse --short HEAD)" "$(date -u +%F)"
  # The sections below the table, of runs on guests, are written by hand and stay.
  [ ! -e "$page" ] || sed -n '/^## /,$p' "$page" | sed '1s/^/\n/'
} >"$fresh"
cp "$fresh" "$page"
exit "$code"
