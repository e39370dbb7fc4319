#!/usr/bin/env bash
# Holds verbs.write_lat and verbs.write_bw against perftest's ib_write_lat and ib_write_bw in the virtual fabric:
# the programs take turns while the fabric stays up; the table gives the ratio of launch medians with its 95 %
# interval, and two controls (perftest against itself, ours with 20 % added cost). A table whose controls fail is
# invalid. Exit 0 passed, 1 failed, 3 too noisy for a statement, 4 invalid, 5 waived (no perftest).
#   deploy/compare_perftest.sh [--rounds N] [--bin DIR]
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=9 bin=${RAILGAUGE_BUILD_DIR:-build/ci}/bin
[ "${RAILGAUGE_CHECK_FULL:-0}" = 1 ] && rounds=27
while [ $# -gt 0 ]; do
  case "$1" in
    --rounds) rounds=${2:?} ;;
    --bin) bin=${2:?} ;;
    *) echo "compare_perftest.sh: unknown option $1; allowed: --rounds N, --bin DIR" >&2; exit 2 ;;
  esac
  shift 2
done
command -v ib_write_lat >/dev/null || { echo "waived: perftest is not installed (Debian package perftest)"; exit 5; }
bin=$(realpath "$bin")
lat_iterations=1000 bw_iterations=200
fabric=(deploy/vfabric/vfabric --dir "${TMPDIR:-/tmp}/railgauge-compare.$$")
figures=$(mktemp)
finish() { rm -f "$figures"; "${fabric[@]}" down >/dev/null 2>&1 || true; }
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

"${fabric[@]}" up -n 2 --share "$(pwd)" >&2
series=$(realpath deploy/compare/series.sh)
"${fabric[@]}" exec n2 "$series" server "$bin/railgauge-runner" 192.0.2.1 "$rounds" $lat_iterations $bw_iterations >&2 &
server=$!
"${fabric[@]}" exec n1 "$series" client "$bin/railgauge-runner" 192.0.2.2 "$rounds" $lat_iterations $bw_iterations >"$figures"
wait "$server"

# Figures to rows; for bandwidth the ratio is turned over, so that above 1 always means slower.
rows() {
  awk -F '\t' -v OFS='\t' '
    { value = $1 == "bw" ? 1 / $3 : $3; title = $1 == "bw" ? "write_bw 64 KiB (s per MiB)" : "write_lat 8 B (half RTT, us)"
      cost = $1 ": 20 % added cost against ours without" }
    $2 == "ours"   { print title, "equal", "ours", value
                     if ($1 == "lat") print cost, "excludes_one", "theirs", value }
    $2 == "theirs" { print title, "equal", "theirs", value
                     print $1 ": perftest against itself", "holds_one", "theirs", value }
    $2 == "again"  { print $1 ": perftest against itself", "holds_one", "ours", value }
    $2 == "slow"   { print cost, "excludes_one", "ours", value }
    $2 == "base"   { print cost, "excludes_one", "theirs", value }' "$figures"
}
echo "ours against perftest, $rounds launches each in turn, soft-RoCE in emulation: no hardware figures"
echo "ratio: Hodges and Lehmann's estimate over the pairs of launches; ours and theirs: medians of the launches"
echo "latency: $lat_iterations iterations; bandwidth: $bw_iterations iterations, depth 128, signalled every 100"
rows | "$bin/compare_launches"
