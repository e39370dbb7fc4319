#!/usr/bin/env bash
# compare_gpu.sh against stand-ins of the peers that print what the peers print, and the runner's testing build:
# whether figures are read, paired and counted; the figures themselves are made up.
set -euo pipefail
cd "$(dirname "$0")/.."
runner=$(realpath "${RAILGAUGE_BUILD_DIR:-build/dev}")/bin/railgauge-runner-testing
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export RAILGAUGE_TESTING_GPUS=2
cat >"$work/nvbandwidth" <<'P'
#!/bin/sh
# Both ways between GPUs it prints both directions and their sum.
while [ $# -gt 1 ]; do
  case "$1 $2" in
    "-t device_to_device_bidirectional_"*) printf 'SUM %s_read1 30.00\n\nSUM %s_read2 31.00\n\nSUM %s_total 61.00\n\n' "$2" "$2" "$2"; shift; continue ;;
  esac
  [ "$1" != -t ] || printf 'Running %s.\nmemcpy bandwidth (GB/s)\n           0         1\n 0     40.00     40.00\n\nSUM %s 80.00\n\n' "$2" "$2"; shift
done
P
cat >"$work/gdrcopy_copybw" <<'P'
#!/bin/sh
printf 'writing test, size=131072 offset=0 num_iters=10000\nwrite BW: 47683.7MB/s\nreading test, size=131072 offset=0 num_iters=100\nread BW: 100MB/s\n'
P
cat >"$work/gdrcopy_copylat" <<'P'
#!/bin/sh
printf 'Test \t\t Size(B) \t Median Time(us) \t Min. Time(us)\ngdr_copy_to_mapping \t        4 \t      1.0040 \t      0.5000\ngdr_copy_from_mapping \t     4096 \t     10.1920 \t      1.0000\n'
P
chmod +x "$work"/*

fails() { echo "compare_gpu_test: $*"; cat "$work/out"; exit 1; }
code=0
deploy/compare_gpu.sh --peer "$work" --runner "$runner" --rounds 3 --json "$work/json" \
  --tests host_to_device_memcpy_ce,device_to_device_memcpy_read_ce,device_to_device_bidirectional_memcpy_read_ce,gdrcopy_copybw,gdrcopy_copylat >"$work/out" || code=$?
row() { tr -s ' ' <"$work/out" | grep -qx "$1 *" || fails "no line: $1"; }
row 'host_to_device_memcpy_ce sum 100 80 1.250 0.00 0.00'
row 'device_to_device_memcpy_read_ce sum 300 80 3.750 0.00 0.00'
# The first direction alone, and once.
row 'device_to_device_bidirectional_memcpy_read_ce sum 300 30 10.000 0.00 0.00'
row 'copybw write 47684 47684 1.000 0.00 0.00'
row 'copylat write 4 B 1.004 1.004 1.000 0.00 0.00'
row 'copylat read 4 KiB 5.096 10.192 0.500 0.00 0.00'
grep -q '^nvbandwidth, all tests of a round *seconds ' "$work/out" || fails "no times"
# Ours has sizes that the stand-in has not: said, and no pass.
[ $code = 1 ] || fails "exit $code, wanted 1"
grep -q 'not every launch had every figure' "$work/out" || fails "what is lacking is not said"
grep -q '"test": "host_to_device_memcpy_ce", "figure": "sum", "ours": 100, "theirs": 80, "ratio": 1.25, "spread_percent_ours": 0, "spread_percent_theirs": 0, "launches_ours": 3' "$work/json" || fails "JSON"
if command -v jq >/dev/null; then jq -e '.schema_version == 1 and (.times | length == 3)' "$work/json" >/dev/null || fails "JSON"; fi

deploy/compare_gpu.sh --peer "$work" --runner "$runner" --rounds 1 --tests host_to_device_memcpy_ce >"$work/out" || fails "a whole table is no pass"
deploy/compare_gpu.sh --peer "$work" --runner "$runner" --rounds 1 --floor 1.2 --tests host_to_device_memcpy_ce >"$work/out" || fails "above the floor is a pass"
code=0
deploy/compare_gpu.sh --peer "$work" --runner "$runner" --rounds 1 --floor 1.3 --tests host_to_device_memcpy_ce >"$work/out" || code=$?
[ $code = 1 ] && grep -q 'ratio 1.250 is below 1.3' "$work/out" || fails "below the floor is no pass"
code=0
PATH=/usr/bin:/bin deploy/compare_gpu.sh --peer "$work/none/none" --runner "$runner" --tests host_to_device_memcpy_ce >"$work/out" 2>&1 || code=$?
[ $code = 5 ] && grep -q 'waived: nvbandwidth is not here' "$work/out" || fails "a missing peer does not waive"
code=0
deploy/compare_gpu.sh --rounds none >"$work/out" 2>&1 || code=$?
[ $code = 2 ] || fails "wrong words exit with $code"
echo "compare_gpu_test: ok"
