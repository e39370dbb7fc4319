#!/usr/bin/env bash
# Tests compare_mpi.sh with stand-ins of a launcher, of OSU's source, of our program and of the virtual fabric: OSU's
# programs must be built, figures read, paired and judged, and the words for the other guest must arrive. The figures
# themselves are made up.
set -euo pipefail
cd "$(dirname "$0")/.."
for tool in jq make; do command -v $tool >/dev/null || { echo "waived: no $tool"; exit 77; }; done
build=$(realpath "${RAILGAUGE_BUILD_DIR:-build/dev}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export WORK=$work
mkdir "$work/bin" "$work/path" "$work/osu"
ln -s "$build/bin/compare_launches" "$work/bin/"
stand_in() { cat >"$1"; chmod +x "$1"; }
# With FAIL_ONCE set, our program fails in its first launch.
stand_in "$work/bin/railgauge-runner-mpich" <<'P'
#!/bin/bash
[ "${2:-}" != --version ] || { echo "railgauge-runner 0"; exit 0; }
[ -z "${FAIL_ONCE:-}" ] || [ -e "$WORK/failed" ] || { touch "$WORK/failed"; echo "it went wrong" >&2; exit 4; }
figure="\"mean\":${OURS:-10100},\"median\":1"  # OSU's figure is the mean
case $1 in
  osu_bw) figure="\"median\":1,\"rate\":99000000" ;;  # a median of windows is no bandwidth
  osu_mbw_mr) figure="\"median\":1,\"rate\":2000000" ;;
esac
echo "$* UCX_TLS=${UCX_TLS:-}" >>"$WORK/ours"
facts='"facts":{"overall_ns":"30300.0"}'
echo "{\"outcome\":\"passed\",\"points\":[{\"pair\":\"rank0\",\"mean\":7,\"rate\":7,$facts},{\"pair\":\"\",$figure,$facts}]}"
P
# OSU's source: its configure writes the Makefiles, which make one script under every program's name.
stand_in "$work/osu_program" <<'P'
#!/bin/bash
program=$(basename "$0")
echo "$program $*" >>"$WORK/theirs"
echo "# OSU MPI stand-in"
case $program in
  osu_latency | osu_allreduce) echo "8 $((10 + ${NOISY:-0} * ($(wc -l <"$WORK/theirs") % 3))).000000" ;;
  osu_bw) echo "65536 100.000000" ;;
  osu_mbw_mr) echo "8 16.000000 2000000.000000" ;;
  osu_barrier) printf '%17s\n' 10.100000 ;;
  osu_iallreduce) echo "8 30.000000 20.000000 10.000000 95.0" ;;
  osu_ibarrier) echo "30.000000 20.000000 10.000000 95.0" ;;
  osu_fop_latency) echo "4 10.000000" ;;
  osu_init) echo "nprocs: 2, min: 1 ms, max: 13 ms, avg: 12 ms" ;;
esac
P
stand_in "$work/osu/configure" <<'P'
#!/bin/bash
touch Makefile
for folder in pt2pt/standard one-sided collective/blocking collective/non_blocking startup; do
  mkdir -p "c/mpi/$folder"
  case $folder in
    pt2pt/standard) programs="osu_latency osu_bw osu_mbw_mr" ;;
    collective/blocking) programs="osu_allreduce osu_barrier" ;;
    collective/non_blocking) programs="osu_iallreduce osu_ibarrier" ;;
    startup) programs="osu_init" ;;
    *) programs="osu_put_latency osu_fop_latency" ;;
  esac
  printf 'all:\n\tfor one in %s; do cp %s/osu_program $$one; done\n\techo $(CPPFLAGS) >>%s/flags\n' "$programs" "$WORK" "$WORK" >"c/mpi/$folder/Makefile"
done
P
stand_in "$work/path/mpiexec.hydra" <<'P'
#!/bin/bash
remote=""
while :; do
  case $1 in
    -launcher-exec) remote=$2; shift 2 ;;
    -n) echo "$2" >>"$WORK/ranks"; shift 2 ;;
    -launcher | -iface | -hosts | -bind-to) shift 2 ;;
    *) break ;;
  esac
done
if [ -n "$remote" ]; then "$remote" -x 192.0.2.2 "\"$WORK/path/daemon\"" --word "a b" || exit 9; fi
exec "$@"
P
stand_in "$work/path/daemon" <<'P'
#!/bin/bash
echo "$#: $*" >>"$WORK/daemon_words"
P
stand_in "$work/path/vfabric" <<'P'
#!/bin/bash
dir=$2 verb=$3
shift 3
case $verb in
  up) mkdir -p "$dir/nodes/n1/shared" ;;
  exec) echo "$1" >>"$WORK/nodes"; shift; RAILGAUGE_RSH_FOLDER=$dir/nodes/n1/shared exec "$@" ;;
esac
P
fails() { echo "compare_mpi_test: $*"; cat "$work/out" "$work/err"; exit 1; }
compare() { code=0; PATH=$work/path:$PATH deploy/compare_mpi.sh --osu "$work/osu" --mpi mpich --bin "$work/bin" --built "$work/built" "$@" >"$work/out" 2>"$work/err" || code=$?; }
row() { tr -s ' ' <"$work/out" | grep -q "^$1" || fails "no line: $1"; }

compare --rounds 6 --only osu_latency:8,osu_bw:65536,osu_mbw_mr:8,osu_barrier:0,osu_allreduce:8 --ranks 4 --transports tcp,self --markdown "$work/table.md"
[ $code = 0 ] || fails "equal within 5 % exits with $code"
row 'MPICH; 2; osu_latency 8 B, us 6 10.1 10 1.010 1.010 to 1.010 equal passed; within 5 %'
row 'MPICH; 2; osu_bw 65536 B, us a MB 6 10101 10000 1.010 '
row 'MPICH; 4; osu_mbw_mr 8 B, us a message 6 0.5 0.5 1.000 '
row 'MPICH; 4; osu_barrier, us 6 10.1 10.1 1.000 '
row 'MPICH; 2; osu_latency 8 B: with 20 % added 6 12 10 1.200 '
row 'MPICH; 2; osu_bw 65536 B: against itself 6 10000 10000 1.000 '
grep -q 'osu_bw -W 64 -i 2000 -x 200 -m 65536:65536 --set proof_time=200ms --format json UCX_TLS=tcp,self' "$work/ours" || fails "ours was told otherwise"
grep -q 'osu_bw -W 64 -i 2000 -x 200 -m 65536:65536$' "$work/theirs" || fails "OSU's was told otherwise"
grep -q 'osu_allreduce .*-m 8:8 -T mpi_float$' "$work/theirs" || fails "OSU's sum is of other numbers than ours"
[ "$(sort -u "$work/ranks" | paste -sd ' ')" = '2 4' ] || fails "programs of pairs run with all ranks, or others with two"
[ "$(grep -c FLOAT_PRECISION=6 "$work/flags")" = 2 ] || fails "OSU's programs were built with few digits, or again"
grep -q '^| MPICH | 2 | osu_latency 8 B, us | 6 | 10.1 | 10 | 1.010 | 1.010 to 1.010 | 1.000 | 1.200 | within 5 % |$' "$work/table.md" || fails "the Markdown table: $(cat "$work/table.md")"
grep -q "^$(date -u +%F). Machine: " "$work/table.md" || fails "no date and machine: $(cat "$work/table.md")"
compare --rounds 6 --only osu_iallreduce:8,osu_iallreduce:8:overall,osu_ibarrier:0:overall,osu_fop_latency:8
[ $code = 0 ] || fails "the newer forms exit with $code"
row 'MPICH; 2; osu_iallreduce 8 B, us 6 10.1 10 1.010 '
row 'MPICH; 2; osu_iallreduce 8 B overall, us 6 30.3 30 1.010 '
row 'MPICH; 2; osu_ibarrier overall, us 6 30.3 30 1.010 '
row 'MPICH; 2; osu_fop_latency 8 B, us 6 10.1 10 1.010 '
grep -q 'osu_fop_latency .*-w create -T mpi_int$' "$work/theirs" || fails "OSU's sum is of other numbers than it can be"
OURS=12120000 compare --rounds 6 --only osu_init:0
[ $code = 0 ] || fails "osu_init exits with $code"
row 'MPICH; 2; osu_init, us 6 12120 12000 1.010 '
OURS=12000 compare --rounds 6 --only osu_latency:8 --calls 300
grep -q 'osu_latency -i 300 -x 30 -m 8:8 --set proof_time=200ms --format json' "$work/ours" && grep -q 'osu_latency -i 300 -x 30 -m 8:8$' "$work/theirs" || fails "--calls is not both sides' count"
[ $code = 1 ] || fails "20 % slower exits with $code"
row 'MPICH; 2; osu_latency 8 B, us 6 12 10 1.200 1.200 to 1.200 equal FAILED; interval 1.200 to 1.200'
FAIL_ONCE=1 compare --rounds 7 --only osu_latency:8
[ $code = 0 ] && grep -q '^3 launches left out; 21 launches' "$work/out" && grep -q 'it went wrong' "$work/err" || fails "a failed launch: exit $code"

NOISY=4 compare --rounds 6 --only osu_latency:8,osu_barrier:0 --markdown "$work/noisy.md"
[ $code = 4 ] || fails "a control that fails exits with $code"
grep -q '^| MPICH | 2 | osu_latency 8 B, us | 6 .* | invalid: a control failed |$' "$work/noisy.md" || fails "its row: $(cat "$work/noisy.md")"
grep -q '^| MPICH | 2 | osu_barrier, us | 6 .* | within 5 % |$' "$work/noisy.md" || fails "another's failed control: $(cat "$work/noisy.md")"

# One run has both MPIs and several numbers of ranks; a program of two ranks runs once. Its kept file gives its table.
cp "$work/bin/railgauge-runner-mpich" "$work/bin/railgauge-runner-openmpi"
printf '#!/bin/bash\nwhile [ "$1" != -n ]; do shift; done; shift 2; while [ "$1" = -x ]; do shift 2; done; exec "$@"\n' >"$work/path/mpirun.openmpi"
chmod +x "$work/bin/railgauge-runner-openmpi" "$work/path/mpirun.openmpi"
compare --mpi openmpi,mpich --ranks 2,4 --rounds 6 --only osu_latency:8,osu_allreduce:8 --keep "$work/kept" --markdown "$work/both.md"
[ $code = 0 ] || fails "both MPIs exit with $code"
[ "$(grep -o '^| [OM][^|]*| [24] | osu_[a-z]*' "$work/both.md" | paste -sd ';')" = '| Open MPI | 2 | osu_latency;| Open MPI | 2 | osu_allreduce;| Open MPI | 4 | osu_allreduce;| MPICH | 2 | osu_latency;| MPICH | 2 | osu_allreduce;| MPICH | 4 | osu_allreduce' ] || fails "its rows: $(cat "$work/both.md")"
table_of() { rm -f "$work/from.md"; code=0; deploy/compare_mpi.sh --from "$1" --bin "$work/bin" --markdown "$work/from.md" >"$work/out" 2>"$work/err" || code=$?; }
table_of "$work/kept"
[ $code = 0 ] && cmp "$work/from.md" "$work/both.md" || fails "the table of the kept launches is another: $code"
# A run that was stopped: the last round counts where it is whole, and a measure with fewer than six has no row.
head -n -1 "$work/kept" >"$work/cut"
table_of "$work/cut"
[ $code = 3 ] && grep -q '^- No row: MPICH, 4 ranks, osu_allreduce 8 B: 5 whole rounds, 6 are wanted$' "$work/from.md" && [ "$(grep -c 'within 5 %' "$work/from.md")" = 5 ] || fails "a run that was stopped: exit $code, $(cat "$work/from.md")"
echo "mpich osu_latency:8	ours	1" >"$work/old"
table_of "$work/old"
[ $code = 2 ] && grep -q 'line 1:.*: wanted MPI RANKS PROGRAM:BYTES' "$work/err" || fails "a line of another kind: exit $code"
rm "$work/bin/railgauge-runner-openmpi"
compare --mpi openmpi,mpich --rounds 6 --only osu_latency:8
[ $code = 0 ] && grep -q 'left out: no railgauge-runner-openmpi' "$work/err" || fails "one MPI of two: exit $code"
# The pages of the results are what the script makes of the launches beside them.
table_of deploy/docs/results/kept/mpi-osu-four.tsv
diff <(grep '^|' "$work/from.md") <(grep '^|' deploy/docs/results/mpi-osu-four.md) || fails "deploy/docs/results/mpi-osu-four.md is another table than that of its launches"
for page in mpi-osu mpi-osu-other; do
  table_of deploy/docs/results/kept/$page.tsv
  [ $code = 4 ] && diff <(grep '^|' "$work/from.md") <(grep '^|' deploy/docs/results/$page.md) || fails "deploy/docs/results/$page.md is another table than that of its launches: $code"
done

RAILGAUGE_VFABRIC=$work/path/vfabric compare --fabric --rounds 6 --only osu_latency:8
[ $code = 0 ] || fails "on the fabric exits with $code"
[ "$(sort -u "$work/nodes" | paste -sd ' ')" = 'n1 n2' ] || fails "the launcher's words did not reach the other guest"
[ "$(sort -u "$work/daemon_words")" = '3: --word a b' ] || fails "its words came out as $(sort -u "$work/daemon_words")"

# Programs of the newer forms are known; one without a figure is not.
compare --rounds 6 --only osu_get_acc_latency:8 --calls 10
[ $code = 2 ] && grep -q 'osu_get_acc_latency: not built from' "$work/err" || fails "osu_get_acc_latency: exit $code"
compare --rounds 6 --only osu_latency_mt:8 --calls 10
[ $code = 2 ] && grep -q 'osu_latency_mt: not built from' "$work/err" || fails "osu_latency_mt: exit $code"
compare --rounds 6 --only osu_allreduce:8:overall
[ $code = 2 ] && grep -q 'PROGRAM:BYTES' "$work/err" || fails "a blocking call beside a computation: exit $code"
compare --rounds 6 --only osu_bw_fan_in:8
[ $code = 2 ] && grep -q 'refuses ranks of one node' "$work/err" || fails "a fan on one node: exit $code"
compare --rounds 6 --only osu_neighbor_allgather:8
[ $code = 2 ] && grep -q 'refuses two ranks' "$work/err" || fails "neighbours of two ranks: exit $code"
compare --rounds 6 --only osu_hello:8
[ $code = 2 ] && grep -q 'PROGRAM:BYTES' "$work/err" || fails "a program that has no figure to compare: exit $code"
compare --rounds 5
[ $code = 2 ] || fails "five rounds exit with $code"
compare --layer ucx
[ $code = 2 ] || fails "a layer of another MPI exits with $code"
compare --ranks 3
[ $code = 2 ] || fails "three ranks exit with $code"
compare --only osu_put_bw:8
[ $code = 2 ] && grep -q 'osu_put_bw: not built from' "$work/err" || fails "a program that OSU's source lacks: exit $code"
code=0
deploy/compare_mpi.sh --mpi mpich --bin "$work/bin" >"$work/out" 2>&1 || code=$?
[ $code = 5 ] && grep -q '^waived: .* name the folder of their source with --osu' "$work/out" || fails "without OSU's source: exit $code"
echo "compare_mpi_test: passed"
