#!/usr/bin/env bash
# Counts the instructions of a message on the post path, ours and perftest's: writes in the virtual fabric, each program
# under callgrind in a guest, counted from the first completion to the last, without polls of the completion queue and
# their callees (see kernels/fakes/verbs/counted_verbs.cc). Ours counts twice: with the proof of its data, as always, and
# without (verify=false). Exit 0: ours is at most perftest's, and at most 2 % more with the proof than without; 1: it is
# more; 4: no figure; 5: waived (no perftest, no valgrind). Takes a few minutes: callgrind runs in an emulated guest.
#   deploy/compare_post_path.sh [--bin DIR] [--messages N] [--post-list N] [--perftest FOLDER]
# --post-list  posts that one call hands over, as a chain, in both programs; perftest then asks for a completion a chain
# --perftest  a folder with another release's programs. Its --data_validation has threads and completions of its own,
#             which cannot be counted so: compare_perftest.sh takes its time.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${RAILGAUGE_BUILD_DIR:-build/ci}/bin messages="" list=1 perftest=""
while [ $# -gt 0 ]; do
  case "$1" in
    --bin) bin=${2:?} ;;
    --messages) messages=${2:?} ;;
    --post-list) list=${2:?} ;;
    --perftest) perftest=$(realpath "${2:?}") ;;
    *) echo "compare_post_path.sh: unknown option $1; allowed: --bin DIR, --messages N, --post-list N, --perftest FOLDER" >&2; exit 2 ;;
  esac
  shift 2
done
theirs=${perftest:+$perftest/}ib_write_bw
for tool in "$theirs":perftest valgrind:valgrind; do
  command -v "${tool%:*}" >/dev/null || { echo "waived: ${tool##*:} is not installed (Debian package ${tool##*:})"; exit 5; }
done
bin=$(realpath "$bin")
library=$(realpath -m "$bin/../lib/libibverbs-counted.so")
[ -e "$library" ] || { echo "waived: $library is not there: valgrind's headers were missing at build time"; exit 5; }
readonly kDepth=128
[[ $list =~ ^([1-9]|[1-5][0-9]|6[0-4])$ ]] || { echo "compare_post_path.sh: --post-list $list: 1 to 64" >&2; exit 2; }
signal_every=$((list == 1 ? 100 : list))
[ -n "$messages" ] || messages=$((1000 / signal_every * signal_every))
((messages % signal_every == 0 && messages > 2 * kDepth)) ||
  { echo "compare_post_path.sh: --messages $messages: whole ${signal_every}s from $(((2 * kDepth / signal_every + 1) * signal_every))" >&2; exit 2; }
fabric=(deploy/vfabric/vfabric --dir "${TMPDIR:-/tmp}/railgauge-post-path.$$")
logs=$(mktemp -d)
finish() { rm -rf "$logs"; "${fabric[@]}" down >/dev/null 2>&1 || true; }
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
"${fabric[@]}" up -n 2 --memory 1024 --share "$(pwd)" ${perftest:+--share "$perftest"} >&2

runner=$bin/railgauge-runner
shared=/run/vfabric/shared
port=20000  # another one each time: a server that was left alone must not be in the way
# command_of NODE SIZE PROGRAM: prints the command line of one side.
command_of() {
  local common="-d rxe0 -s $2 -n $messages -t $kDepth -Q $signal_every -p $port -F"
  [ "$list" = 1 ] || common+=" -l $list"
  case $3 in
    ours) echo "$runner ib_write_bw $common --set stall_timeout=60s" ;;
    unproved) echo "$runner ib_write_bw $common --set stall_timeout=60s --set verify=false" ;;
    theirs) echo "$theirs $common -x $("${fabric[@]}" exec "$1" cat /run/vfabric/gid_index)" ;;
  esac
}
# count SIZE PROGRAM: sets `counted` to the instructions of one message.
count() {
  local client server waiting
  port=$((port + 1))
  server=$(command_of n2 "$1" "$2")
  client=$(command_of n1 "$1" "$2")
  "${fabric[@]}" exec n2 sh -c "exec timeout -k 5 250 $server" >"$logs/server" 2>&1 &
  waiting=$!
  sleep 2
  # Posts before the first completion are not counted: they fill the queue.
  counted=$("${fabric[@]}" exec n1 sh -c "rm -f $shared/callgrind.*
    COUNTED_VERBS_COMPLETIONS=$((messages / signal_every)) RAILGAUGE_LIBIBVERBS=$library LD_PRELOAD=$library \
    timeout -k 5 240 valgrind --tool=callgrind --collect-atstart=no --callgrind-out-file=$shared/callgrind.%p $client 192.0.2.2 >&2
    cat $shared/callgrind.*" 2>"$logs/client" |
    awk -v messages=$((messages - kDepth)) '/^totals:/ { sum += $2 } END { if (sum) printf "%.1f", sum / messages }')
  [ -n "$counted" ] && wait $waiting && return
  echo "compare_post_path.sh: $2, $1 B: no figure" >&2
  tail -n 5 "$logs"/* >&2
  exit 4
}

echo "instructions per message of the post path; $messages writes, depth $kDepth, a completion every $signal_every$([ "$list" = 1 ] || echo ", chains of $list")"
ratio_of() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f", a / b }'; }
above() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > b) }'; }
printf '%8s %10s %10s %8s %10s %8s\n' bytes ours perftest ratio "no proof" ratio
worst=0
for size in 64 65536; do
  count $size ours; ours=$counted
  count $size theirs; plain=$counted
  count $size unproved; unproved=$counted
  printf '%8s %10s %10s %8s %10s %8s\n' $size "$ours" "$plain" "$(ratio_of "$ours" "$plain")" "$unproved" "$(ratio_of "$ours" "$unproved")"
  ! above "$ours" "$plain" || { worst=1; echo "$size B: ours is more than perftest's"; }
  ! above "$(ratio_of "$ours" "$unproved")" 1.02 || { worst=1; echo "$size B: the proof costs more than 2 %"; }
done
if [ $worst = 0 ]; then echo "passed: ours is at most perftest's, and the proof costs at most 2 %"; else echo "FAILED"; fi
exit $worst
