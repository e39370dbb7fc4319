#!/usr/bin/env bash
# Tests compare_gpu.sh with stand-ins that print in the peers' formats and with the runner's testing build: figures
# must be read, paired and counted. The figures themselves are made up.
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
  --tests host_to_device_memcpy_ce,device_to_device_memcpy_read_ce,device_to_device_bidirectional_memcpy_read_ce,gdrcopy_copybw,gdrcopy_copylat >"$work/out" 2>"$work/err" || code=$?
row() { tr -s ' ' <"$work/out" | grep -qx "$1 *" || fails "no line: $1"; }
row 'host_to_device_memcpy_ce sum 100 80 1.250 0.00 0.00'
row 'device_to_device_memcpy_read_ce sum 300 80 3.750 0.00 0.00'
# A bidirectional test counts its first direction alone, and once.
row 'device_to_device_bidirectional_memcpy_read_ce sum 300 30 10.000 0.00 0.00'
row 'copybw write 47684 47684 1.000 0.00 0.00'
row 'copylat write 4 B 1.004 1.004 1.000 0.00 0.00'
row 'copylat read 4 KiB 5.096 10.192 0.500 0.00 0.00'
grep -q '^nvbandwidth, all tests of a round *seconds ' "$work/out" || fails "no times"
# Ours has sizes that the stand-in lacks: the script reports them and does not pass.
[ $code = 4 ] || fails "exit $code, wanted 4"
grep -Eqx 'compare_gpu.sh: copylat .*: figures of 3 of our 3 launches and of 0 of theirs' "$work/err" || fails "what is lacking is not said: $(cat "$work/err")"
grep -q '"test": "host_to_device_memcpy_ce", "figure": "sum", "ours": 100, "theirs": 80, "ratio": 1.25, "spread_percent_ours": 0, "spread_percent_theirs": 0, "launches_ours": 3, "launches_theirs": 3, "each_ours": \[100, 100, 100\], "each_theirs": \[80, 80, 80\]' "$work/json" || fails "JSON"
if command -v jq >/dev/null; then jq -e '.schema_version == 1 and (.times | length == 3)' "$work/json" >/dev/null || fails "JSON"; fi

deploy/compare_gpu.sh --peer "$work" --runner "$runner" --rounds 1 --tests host_to_device_memcpy_ce >"$work/out" || fails "a whole table is no pass"
# Two kept parts of a list are one table; a row of one part alone is not shown as whole.
for part in 1 2; do deploy/compare_gpu.sh --peer "$work" --runner "$runner" --rounds 2 --tests host_to_device_memcpy_ce --keep "$work/kept-$part" >/dev/null; done
deploy/compare_gpu.sh --from "$work/kept-1,$work/kept-2" --json "$work/json" >"$work/out" || fails "kept launches are no table"
row 'host_to_device_memcpy_ce sum 100 80 1.250 0.00 0.00'
grep -q '"launches_ours": 4, "launches_theirs": 4,' "$work/json" || fails "kept launches are not counted"
echo 'ours	device_to_host_memcpy_ce	sum	100' >>"$work/kept-2"
code=0
deploy/compare_gpu.sh --from "$work/kept-1,$work/kept-2" >"$work/out" 2>"$work/err" || code=$?
[ $code = 4 ] && grep -q 'figures of 1 of our 4 launches and of 0 of theirs' "$work/err" || fails "a launch that is lacking: exit $code"
code=0
deploy/compare_gpu.sh --from "$work/none" >"$work/out" 2>"$work/err" || code=$?
[ $code = 2 ] && grep -q -- '--from .*/none: cannot be read' "$work/err" || fails "a kept file that is not there: exit $code"

deploy/compare_gpu.sh --peer "$work" --runner "$runner" --rounds 1 --floor 1.2 --tests host_to_device_memcpy_ce >"$work/out" || fails "above the floor is a pass"
code=0
deploy/compare_gpu.sh --peer "$work" --runner "$runner" --rounds 1 --floor 1.3 --tests host_to_device_memcpy_ce >"$work/out" || code=$?
[ $code = 1 ] && grep -q 'ratio 1.250 is below 1.3' "$work/out" || fails "below the floor is no pass"

# ended CODE LINE TESTS: fails unless the comparison of the peer in $work/bad with the runner $bad_runner ends with
# CODE, one line that matches LINE, and no table.
bad_runner=$runner
ended() {
  local wanted=$1 line=$2
  code=0
  deploy/compare_gpu.sh --peer "$work/bad" --runner "$bad_runner" --rounds 2 --tests "$3" >"$work/out" 2>"$work/err" || code=$?
  [ $code = "$wanted" ] || fails "exit $code, wanted $wanted: $(cat "$work/err")"
  grep -Eqx "compare_gpu.sh: $line" "$work/err" || fails "wanted $line, got: $(cat "$work/err")"
  [ "$(wc -l <"$work/err")" = 1 ] && ! grep -q ratio "$work/out" || fails "more than one line"
}
bad() { mkdir -p "$work/bad"; cat >"$work/bad/$1"; chmod +x "$work/bad/$1"; }
# A peer that prints no line for the second of two tests: no figure of the first is shown either.
bad nvbandwidth <<'P'
#!/bin/sh
printf 'SUM host_to_device_memcpy_ce 80.00\n'
P
ended 4 'theirs: .*nvbandwidth -t .*: no figure of device_to_host_memcpy_ce: SUM host_to_device_memcpy_ce 80.00' host_to_device_memcpy_ce,device_to_host_memcpy_ce
bad nvbandwidth <<'P'
#!/bin/sh
printf 'SUM host_to_device_memcpy_ce nan\n'
P
ended 4 'theirs: .*: no figure of host_to_device_memcpy_ce: .*' host_to_device_memcpy_ce
# A peer that prints its line and fails afterwards, or crashes.
bad nvbandwidth <<'P'
#!/bin/sh
printf 'SUM host_to_device_memcpy_ce 80.00\n'; echo 'CUDA_ERROR_LAUNCH_FAILED' >&2; exit 1
P
ended 4 'theirs: .*: exit 1: CUDA_ERROR_LAUNCH_FAILED' host_to_device_memcpy_ce
bad nvbandwidth <<'P'
#!/bin/sh
kill -SEGV $$
P
ended 4 'theirs: .*: exit 139: .*' host_to_device_memcpy_ce
bad gdrcopy_copybw <<'P'
#!/bin/sh
printf 'Error in gdr_open\n'; exit 1
P
ended 4 'theirs: .*gdrcopy_copybw *: exit 1: Error in gdr_open' gdrcopy_copybw
# A runner with wrong bytes, and one with a pair that lacks a figure: no partial sum is taken.
cp "$work/nvbandwidth" "$work/bad/nvbandwidth"
bad runner <<'P'
#!/bin/sh
case "$*" in *"-b 1 -i 1"*) exit 0 ;; esac
echo 'railgauge-runner: byte 17 is 0x00' >&2; exit 1
P
bad_runner=$work/bad/runner
ended 1 'ours: .*: exit 1: railgauge-runner: byte 17 is 0x00' host_to_device_memcpy_ce
bad runner <<'P'
#!/bin/sh
case "$*" in *"-b 1 -i 1"*) exit 0 ;; esac
echo test,kernel,unit,row,column,value,throttled,outcome
echo host_to_device_memcpy_ce,cuda.host_copy_bw,GB/s,gpu0,,40,false,passed
echo host_to_device_memcpy_ce,cuda.host_copy_bw,GB/s,gpu1,,,false,passed
P
ended 4 'ours: .*: no figure of host_to_device_memcpy_ce: .*' host_to_device_memcpy_ce
bad runner <<'P'
#!/bin/sh
echo 'railgauge-runner: no such option' >&2; exit 2
P
ended 2 'ours: try host_to_device_memcpy_ce: exit 2: railgauge-runner: no such option' host_to_device_memcpy_ce

code=0
PATH=/usr/bin:/bin deploy/compare_gpu.sh --peer "$work/none/none" --runner "$runner" --tests host_to_device_memcpy_ce >"$work/out" 2>&1 || code=$?
[ $code = 5 ] && grep -q 'waived: nvbandwidth is not here' "$work/out" || fails "a missing peer does not waive"
code=0
deploy/compare_gpu.sh --rounds none >"$work/out" 2>&1 || code=$?
[ $code = 2 ] || fails "wrong words exit with $code"
echo "compare_gpu_test: ok"
