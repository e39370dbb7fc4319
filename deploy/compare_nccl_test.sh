#!/usr/bin/env bash
# Tests compare_nccl.sh with stand-ins that print in nccl-tests' format and with the runner's testing build: figures
# must be read, paired and counted. The figures themselves are made up.
set -euo pipefail
cd "$(dirname "$0")/.."
runner=$(realpath "${RAILGAUGE_BUILD_DIR:-build/dev}")/bin/railgauge-runner-testing
judge=$(realpath "${RAILGAUGE_BUILD_DIR:-build/dev}")/bin/compare_launches
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/peer" "$work/bad"
# peer FILE WRONG: writes a stand-in with bus bandwidth 120 GB/s and 5 us at every size, and WRONG as its count of wrong
# elements; alltoall_perf moves nothing below 32 B.
peer() {
  cat >"$1" <<P
#!/bin/sh
echo "\$*" >>"\$0.words"
echo "# nccl-tests version 2.17.6 nccl-headers=22803 nccl-library=29901"
echo "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong"
size=8
while [ \$size -le 536870912 ]; do
  moved=\$size
  case "\$0" in *alltoall_perf) [ \$size -ge 32 ] || moved=0 ;; esac
  time=5.00; [ \$moved != 0 ] || time=0.10
  echo "  \$moved \$((moved / 4)) float sum -1 \$time 80.00 120.00 $2 9.99 1.00 1.00 N/A"
  size=\$((size * 4))
done
echo "# Out of bounds values : 0 OK"
P
  chmod +x "$1"
}
peer "$work/peer/all_reduce_perf" 0
peer "$work/peer/alltoall_perf" 0

fails() { echo "compare_nccl_test: $*"; cat "$work/out" "$work/err"; exit 1; }
compare() { code=0; deploy/compare_nccl.sh --runner "$runner" --rounds 2 "$@" >"$work/out" 2>"$work/err" || code=$?; }
row() { tr -s ' ' <"$work/out" | grep -qx "$1 *" || fails "no line: $1"; }

compare --peer "$work/peer" --tests all_reduce_perf,alltoall_perf --json "$work/json" --keep "$work/kept"
[ $code = 0 ] || fails "a whole table exits with $code"
row 'all_reduce_perf busbw GB/s 8 MiB 150 120 1.250 0.00 0.00'
row 'all_reduce_perf busbw GB/s 512 MiB 150 120 1.250 0.00 0.00'
row 'all_reduce_perf time us 8 B 8e-05 5 0.000 0.00 0.00'
# A size that theirs rounds to 0 is no figure: the row has the next size that both move.
row 'alltoall_perf time us 32 B 0.00032 5 0.000 0.00 0.00'
grep -q 'NCCL 2.99.0, nccl-tests 2.17.6' "$work/out" || fails "no versions"
grep -q 'warning: theirs runs NCCL 29901, ours 29900' "$work/err" || fails "two libraries are not told"
grep -q '"test": "all_reduce_perf", "figure": "busbw", "unit": "GB/s", "size_bytes": 134217728, "ours": 150, "theirs": 120, "ratio": 1.25, "spread_percent_ours": 0' "$work/json" || fails "JSON"
if command -v jq >/dev/null; then jq -e '.schema_version == 1 and (.figures | length == 8) and .sockets == 0' "$work/json" >/dev/null || fails "JSON"; fi
[ "$(grep -c -P '^ours\tall_reduce_perf\t134217728\t.*\t150$' "$work/kept")" = 2 ] || fails "the kept launches: $(head -n 3 "$work/kept")"

compare --peer "$work/peer" --tests all_reduce_perf --floor 1.2 --ceiling 1.0 --exact 0
[ $code = 0 ] || fails "above the floor and below the ceiling exits with $code"
! grep -q -- -G "$work/peer/all_reduce_perf.words" || fails "a graph that nobody asked for"
# Calls that ours launches as graphs are so in both.
compare --peer "$work/peer" --tests all_reduce_perf --graphs 3
[ $code = 0 ] && grep -q -- '-n 20 -G 3' "$work/peer/all_reduce_perf.words" && grep -q -- ' -G 3, ' "$work/out" || fails "--graphs: exit $code"
# hypercube_perf's lines have no operation; this stand-in's are so.
mkdir "$work/bare"
sed 's/ float sum -1 / float -1 /' "$work/peer/all_reduce_perf" >"$work/bare/all_reduce_perf"
chmod +x "$work/bare/all_reduce_perf"
compare --peer "$work/bare" --tests all_reduce_perf
row 'all_reduce_perf busbw GB/s 8 MiB 150 120 1.250 0.00 0.00'
compare --peer "$work/peer" --tests all_reduce_perf --graphs many
[ $code = 2 ] && grep -q 'graphs many: 0 to 999' "$work/err" || fails "--graphs many: exit $code"
compare --peer "$work/peer" --tests all_reduce_perf --floor 1.3
[ $code = 1 ] && grep -q 'busbw 8 MiB: ratio 1.250 is below 1.3' "$work/out" || fails "below the floor is no failure"
sed -i 's/time=5.00/time=0.00001/' "$work/peer/all_reduce_perf"
compare --peer "$work/peer" --tests all_reduce_perf --ceiling 1.0
[ $code = 1 ] && grep -q 'time 8 B: ratio 8.000 is above 1.0' "$work/out" || fails "above the ceiling is no failure"

# --mpi 1 starts both sides by mpirun with one GPU a process, and has the times of small messages and their mean.
mkdir "$work/path"
cat >"$work/path/mpirun" <<'P'
#!/bin/sh
[ "$1" = --version ] && { echo 'mpirun (Open MPI) 4.1.6'; exit 0; }
[ "$1 $2 $3 $4" = '-np 2 --bind-to none' ] || exit 9
shift 4
case "$*" in *'-g 1'*) ;; *) exit 8 ;; esac
exec "$@"
P
chmod +x "$work/path/mpirun"
peer "$work/peer/all_reduce_perf" 0
cat >"$work/bad/runner" <<'P'
#!/bin/sh
case "$*" in *"-b 1K -e 1K"*) exit 0 ;; esac
echo kernel,size
size=8
while [ $size -le 536870912 ]; do echo "k,$size,,,,out,5.1,1,150,,passed"; size=$((size * 4)); done
P
chmod +x "$work/bad/runner"
by_mpi() { PATH=$work/path:$PATH runner=$work/bad/runner compare --peer "$work/peer" --tests all_reduce_perf --mpi 1 "$@"; }
by_mpi
[ $code = 0 ] || fails "--mpi 1 exits with $code"
row 'all_reduce_perf time us 2 KiB 5.1 5 1.020 0.00 0.00'
row 'all_reduce_perf time us 512 KiB 5.1 5 1.020 0.00 0.00'
row 'all_reduce_perf geometric mean 1.020'
by_mpi --mean 1.02 --ceiling 1.05
[ $code = 0 ] || fails "a mean at its ceiling exits with $code"
by_mpi --mean 1.01
[ $code = 1 ] && grep -q 'geometric mean of the times: ratio 1.020 is above 1.01' "$work/out" || fails "above the mean is no failure: $code"

# From six rounds on theirs runs twice in a round, and a row has its paired ratio and its controls.
by_mpi --rounds 6 --judge "$judge" --keep "$work/kept6" --markdown "$work/page.md"
[ $code = 0 ] || fails "six rounds exit with $code"
paired() { grep -qF "| $2 |" "$1" || fails "no row in $1: $2"; }
paired "$work/page.md" 'all_reduce | time us | 2 KiB | 6 | 5.1 | 5 | 1.020 | 1.020 | 1.020 to 1.020 | 1.000 | 1.200 | '
paired "$work/page.md" 'all_reduce | geometric mean of the times, us | 2 KiB to 512 KiB | 6 |  |  | 1.020 | 1.020 | 1.020 to 1.020 | 1.000 | 1.200 | '
paired "$work/page.md" 'all_reduce | busbw GB/s | 512 MiB | 6 | 150 | 120 | 1.250 | 1.250 | 1.250 to 1.250 | 1.000 | 1.200 | '
grep -q "^$(date -u +%F)T.* nccl-tests 2.17.6" "$work/page.md" || fails "no date and versions in the page"
[ "$(grep -c '^again' "$work/kept6")" = "$(grep -c '^ours' "$work/kept6")" ] || fails "theirs does not run twice in a round"
# tables FILE: the page's table of a kept file, without a launch.
tables() { rm -f "$work/from.md"; code=0; deploy/compare_nccl.sh --from "$1" --mpi 1 ${2:+--sizes "$2"} --judge "$judge" --markdown "$work/from.md" >"$work/out" 2>"$work/err" || code=$?; }
tables "$work/kept6"
[ $code = 0 ] && cmp "$work/from.md" "$work/page.md" || fails "the table of the kept launches is another: $code"
# A launch whose smallest message is one of the small ones has one row of it, with each launch once.
sed -i 's/^size=8$/size=2048/' "$work/bad/runner" "$work/peer/all_reduce_perf"
by_mpi --rounds 6 --judge "$judge" --sizes 2K:512M --markdown "$work/from2k.md"
[ $code = 0 ] && [ "$(grep -c '| time us | 2 KiB | 6 |' "$work/from2k.md")" = 1 ] || fails "--sizes 2K:512M: exit $code"
[ "$(grep -c 'time us *2 KiB' "$work/out")" = 1 ] || fails "2 KiB has two rows"
sed -i 's/^size=2048$/size=8/' "$work/bad/runner" "$work/peer/all_reduce_perf"
# Large sizes alone: a row for each, and none of small messages; a size that is no power of 4 times 8 B is wrong use.
sed -i 's/^size=8$/size=2147483648/; s/-le 536870912/-le 8589934592/' "$work/bad/runner" "$work/peer/all_reduce_perf"
by_mpi --sizes 2G:8G
[ $code = 0 ] && ! grep -q 'time us' "$work/out" || fails "large sizes alone exit with $code"
row 'all_reduce_perf busbw GB/s 2 GiB 150 120 1.250 0.00 0.00'
row 'all_reduce_perf busbw GB/s 8 GiB 150 120 1.250 0.00 0.00'
by_mpi --sizes 8:8G
[ $code = 4 ] && grep -q 'no figure of 8388608 B' "$work/err" || fails "a launch without 8 MiB exits with $code"
for range in 9:8G 2G:8M 8:64K 8G; do
  by_mpi --sizes $range
  [ $code = 2 ] && grep -q -- "--sizes $range: " "$work/err" || fails "--sizes $range exits with $code"
done
peer "$work/peer/all_reduce_perf" 0
# A round that the end of the run cut off is no round.
head -n -3 "$work/kept6" >"$work/cut"
tables "$work/cut"
[ $code = 2 ] && grep -q '6 rounds or more' "$work/err" || fails "--markdown of five rounds exits with $code"
# Alone, as in the bundle, it has the medians and says where the rest is made.
mkdir "$work/alone"
cp deploy/compare_nccl.sh "$work/alone/"
code=0
"$work/alone/compare_nccl.sh" --from "$work/kept6" --mpi 1 --judge "$judge" >"$work/out" 2>"$work/err" || code=$?
[ $code = 0 ] && grep -q '^no paired ratios: .*--from' "$work/out" && ! grep -q '^|' "$work/out" || fails "the script alone: exit $code"
# Kept without the second launch of theirs, the controls are of the round before; six rounds have too few for that.
grep -v '^again' "$work/kept6" >"$work/kept_once"
tables "$work/kept_once"
paired "$work/from.md" 'all_reduce | time us | 2 KiB | 6 | 5.1 | 5 | 1.020 | 1.020 | 1.020 to 1.020 | - | - | no control'
awk -F '\t' '!/^#/ && !n[$1, $2, $3]++' "$work/kept_once" >"$work/seventh"
cat "$work/seventh" >>"$work/kept_once"
tables "$work/kept_once"
paired "$work/from.md" 'all_reduce | time us | 2 KiB | 7 | 5.1 | 5 | 1.020 | 1.020 | 1.020 to 1.020 | 1.000 | 1.200 | '
# A program that is no longer itself makes its row invalid, and the mean that holds it, and no other.
awk -F '\t' -v OFS='\t' '$1 == "again" && $3 == 8192 { $4 *= 1.1 } { print }' "$work/kept6" >"$work/moved"
tables "$work/moved"
paired "$work/from.md" 'all_reduce | time us | 8 KiB | 6 | 5.1 | 5 | 1.020 | 1.020 | 1.020 to 1.020 | 1.100 | 1.320 | invalid: a control failed'
[ "$(grep invalid "$work/from.md" | cut -d "|" -f 3,4 | paste -sd ";")" = " time us | 8 KiB ; geometric mean of the times, us | 2 KiB to 512 KiB " ] || fails "other rows are invalid: $(cat "$work/from.md")"
# The pages of the results are what the script makes of the launches beside them.
for page in nccl-mpirun: nccl-others:8:128M nccl-graph-launches:2K:128M; do
  sizes=${page#*:} page=${page%%:*}
  tables "deploy/docs/results/kept/$page.tsv" "$sizes"
  [ $code = 0 ] && diff <(grep '^|' "$work/from.md") <(grep '^|' deploy/docs/results/$page.md) || fails "deploy/docs/results/$page.md is another table than that of its launches"
done
tables "$work/none"
[ $code = 2 ] || fails "a kept file that is not there: $code"

# --sockets 1 sets the environment of both sides.
printf '#!/bin/sh\n[ "$NCCL_P2P_DISABLE$NCCL_SHM_DISABLE$NCCL_IB_DISABLE" = 111 ] || exit 9\nexec %s\n' "$work/peer/alltoall_perf" >"$work/bad/alltoall_perf"
chmod +x "$work/bad/alltoall_perf"
compare --peer "$work/bad" --tests alltoall_perf --sockets 1
[ $code = 0 ] && grep -q 'NCCL_SHM_DISABLE=1' "$work/out" || fails "sockets: exit $code"
compare --peer "$work/bad" --tests alltoall_perf
[ $code = 4 ] || fails "without sockets the variables are set, exit $code"

# ended CODE LINE OPTIONS...: fails unless the comparison ends with CODE, one line that matches LINE, and no table.
ended() {
  local wanted=$1 line=$2
  shift 2
  compare "$@"
  [ $code = "$wanted" ] || fails "exit $code, wanted $wanted"
  grep -Eqx "compare_nccl.sh: $line" "$work/err" || fails "wanted $line"
  [ "$(wc -l <"$work/err")" = 1 ] && ! grep -q ratio "$work/out" || fails "more than one line"
}
bad() { cat >"$work/bad/$1"; chmod +x "$work/bad/$1"; }
peer "$work/bad/all_reduce_perf" 3
ended 4 'theirs: .*: 3 wrong elements at 8 B' --peer "$work/bad" --tests all_reduce_perf
bad all_reduce_perf <<'P'
#!/bin/sh
echo ' 8388608 2097152 float sum -1 5.00 80.00 120.00 0 5.00 80.00 120.00 0'; echo 'Test NCCL failure common.cu:1021' >&2; exit 3
P
ended 4 'theirs: .*: exit 3: Test NCCL failure common.cu:1021' --peer "$work/bad" --tests all_reduce_perf
sed -i 's/; echo .*//' "$work/bad/all_reduce_perf"
ended 4 'theirs: .*: no figure of 134217728 B: .*' --peer "$work/bad" --tests all_reduce_perf
# A runner that fails with wrong bytes.
bad runner <<'P'
#!/bin/sh
case "$*" in *"-b 1K -e 1K"*) exit 0 ;; esac
echo 'rank 1: element 3 is 1, not 2' >&2; exit 1
P
runner=$work/bad/runner
ended 1 'ours: .*: exit 1: rank 1: element 3 is 1, not 2' --peer "$work/peer" --tests all_reduce_perf
bad runner <<'P'
#!/bin/sh
printf '{\n  "reason": "libnccl.so.2: not found",\n}\n'; exit 5
P
compare --peer "$work/peer" --tests all_reduce_perf
[ $code = 5 ] && grep -qx 'waived: libnccl.so.2: not found' "$work/out" || fails "no NCCL does not waive: $code"
compare --peer "$work/none" --tests all_reduce_perf
[ $code = 5 ] && grep -q 'waived: all_reduce_perf is not here' "$work/out" || fails "a missing peer does not waive"
ended 2 '--rounds none: 1 to 9999' --rounds none
ended 2 'unknown option --frob; .*' --frob 1
ended 2 '--json needs a value' --json
runner=$(dirname "$judge")/railgauge-runner-testing ended 2 '--markdown needs 6 rounds or more, .*' --markdown "$work/none.md" --judge "$judge" --peer "$work/peer" --tests all_reduce_perf
echo "compare_nccl_test: ok"
