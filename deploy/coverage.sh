#!/usr/bin/env bash
# Writes the page of the intervals' coverage, deploy/docs/results/coverage.md, whole from coverage_bench. The figures
# are synthetic and alike on every machine. Exit 1 where a bound is missed; the page names the cell.
#   deploy/coverage.sh [BUILD [RUNS [PAGE [SEED]]]]   a build folder with the target coverage_bench (build/ci); runs a cell
# (200); another page than that of the results; the first seed, of which no rule was made (100001)
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/ci} runs=${2:-200} page=${3:-deploy/docs/results/coverage.md} seed=${4:-100001}
# The page names this tree's commit, so that its bench is of this tree.
cmake --build "$build" --target coverage_bench >&2
fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
code=0
{
  printf '# Coverage of the intervals\n\n'
  printf 'Commit %s, %s, `deploy/coverage.sh`.\n\n' "$(git rev-parse --short HEAD)" "$(date -u +%F)"
  nice -n 10 "$build/bin/coverage_bench" --runs "$runs" --seed "$seed" || code=$?
} >"$fresh"
[ "$code" -le 1 ] || exit "$code"
cp "$fresh" "$page"
exit "$code"
