#!/usr/bin/env bash
# Tests compare_mpi.sh with stand-ins of a launcher, of both programs and of the virtual fabric: figures must be read,
# paired and judged, and the words for the other guest must arrive. The figures themselves are made up.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v jq >/dev/null || { echo "waived: no jq"; exit 77; }
build=$(realpath "${RAILGAUGE_BUILD_DIR:-build/dev}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export WORK=$work
mkdir "$work/bin" "$work/path"
ln -s "$build/bin/compare_launches" "$work/bin/"
stand_in() { cat >"$1"; chmod +x "$1"; }
# With FAIL_ONCE set, our program fails in its first launch.
stand_in "$work/bin/railgauge-runner-mpich" <<'P'
#!/bin/bash
[ -z "${FAIL_ONCE:-}" ] || [ -e "$WORK/failed" ] || { touch "$WORK/failed"; echo "it went wrong" >&2; exit 4; }
figure="\"median\":${OURS:-10100}"
[ "$1" = mpi.lat ] || figure="\"median\":1,\"rate\":99000000"  # a median of windows is no bandwidth
echo "$* UCX_TLS=${UCX_TLS:-}" >>"$WORK/ours"
echo "{\"outcome\":\"passed\",\"points\":[{\"pair\":\"\",$figure}]}"
P
stand_in "$work/bin/mpi-osu-loop-mpich" <<'P'
#!/bin/bash
if [ "$1" = lat ]; then echo "99 $([ $# = 6 ] && echo 12.0 || echo 10.0)"; else echo "$([ $# = 6 ] && echo 80000000 || echo 100000000) 1"; fi
P
stand_in "$work/path/mpiexec.hydra" <<'P'
#!/bin/bash
remote=""
while :; do
  case $1 in
    -launcher-exec) remote=$2; shift 2 ;;
    -launcher | -iface | -hosts | -n) shift 2 ;;
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
compare() { code=0; PATH=$work/path:$PATH deploy/compare_mpi.sh --mpi mpich --bin "$work/bin" "$@" >"$work/out" 2>"$work/err" || code=$?; }
row() { tr -s ' ' <"$work/out" | grep -q "^$1" || fails "no line: $1"; }

compare --rounds 6 --only lat_8,bw_65536 --transports tcp,self
[ $code = 0 ] || fails "equal within 5 % exits with $code"
row 'mpi.lat 8 B (half RTT, us) 6 10.1 10 1.010 1.010 to 1.010 equal passed'
row 'mpi.bw 65536 B (s per MiB) 6 0.010592 0.010486 1.010 '
row 'mpi.lat 8 B: 20 % added cost 6 12 10 1.200 '
row 'mpi.bw 65536 B: loop against itself 6 0.010486 0.010486 1.000 '
grep -q 'mpi.bw --sizes 65536 --iterations 160 --skip 16 --window 8 --format json UCX_TLS=tcp,self' "$work/ours" || fails "ours was told otherwise"
OURS=12000 compare --rounds 6 --only lat_8
[ $code = 1 ] || fails "20 % slower exits with $code"
FAIL_ONCE=1 compare --rounds 7 --only lat_8
[ $code = 0 ] && grep -q ' 4 launches left out; 28 launches' "$work/out" && grep -q 'it went wrong' "$work/err" || fails "a failed launch: exit $code"

RAILGAUGE_VFABRIC=$work/path/vfabric compare --fabric --rounds 6 --only lat_8
[ $code = 0 ] || fails "on the fabric exits with $code"
[ "$(sort -u "$work/nodes" | paste -sd ' ')" = 'n1 n2' ] || fails "the launcher's words did not reach the other guest"
[ "$(sort -u "$work/daemon_words")" = '3: --word a b' ] || fails "its words came out as $(sort -u "$work/daemon_words")"

compare --rounds 5
[ $code = 2 ] || fails "five rounds exit with $code"
compare --layer ucx
[ $code = 2 ] || fails "a layer of another MPI exits with $code"
echo "compare_mpi_test: passed"
