#!/usr/bin/env bash
# Compares the verbs kernels with perftest's programs in the virtual fabric. The programs take turns while the fabric
# stays up. The table gives the ratio of launch medians with its 95 % interval, and two controls for latency and for
# bandwidth (perftest against itself, ours with 20 % added cost). A table whose controls fail is invalid.
# Exit 0 passed, 1 failed, 3 too noisy for a statement, 4 invalid, 5 waived (no perftest).
#   deploy/compare_perftest.sh [--full] [--rounds N] [--only VERB_KIND[_BYTES],...] [--bin DIR] [--keep FILE] [--from FILE]
# --keep: also writes each launch's figure to FILE at once, as measure, program, figure.
# --from: launches nothing and prints the table of a kept FILE's whole rounds (with the --full or --only of that run).
# Without --full: 8-byte write latency and 64 KiB write bandwidth, 9 launches each. --full: every row below, 27 each.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds="" only="" keep="" from="" bin=${RAILGAUGE_BUILD_DIR:-build/ci}/bin full=${RAILGAUGE_CHECK_FULL:-0}
while [ $# -gt 0 ]; do
  case "$1" in
    --full) full=1; shift; continue ;;
    --rounds) rounds=${2:?} ;;
    --only) only=${2:?} ;;
    --bin) bin=${2:?} ;;
    --keep) keep=${2:?} ;;
    --from) from=$(realpath "${2:?}") ;;
    *) echo "compare_perftest.sh: unknown option $1; allowed: --full, --rounds N, --only LIST, --bin DIR, --keep FILE, --from FILE" >&2; exit 2 ;;
  esac
  shift 2
done
# The first chosen measure of each kind carries the controls.
all=(write_lat_8 write_lat_4096 write_lat_65536 read_lat_8 read_lat_4096 send_lat_8 send_lat_4096 atomic_lat_8
  write_bw_65536 write_bw_4096 write_bw_1048576 read_bw_65536 read_bw_1048576 send_bw_65536 send_bw_1048576 atomic_bw_8)
short=(write_lat_8 write_bw_65536)
choose() {
  local measure word
  if [ -z "$only" ]; then
    if [ "$full" = 1 ]; then echo "${all[@]}"; else echo "${short[@]}"; fi
    return
  fi
  for word in ${only//,/ }; do
    [[ " ${all[*]} " == *" $word"[\ _]* ]] || { echo "compare_perftest.sh: --only $word: allowed: ${all[*]}" >&2; exit 2; }
  done
  for measure in "${all[@]}"; do
    for word in ${only//,/ }; do [[ ${measure}_ != "$word"_* ]] || echo "$measure"; done
  done
}
chosen=$(choose)
measures=()
for kind in lat bw; do
  control=+
  for measure in $chosen; do
    [[ $measure == *_"$kind"_* ]] || continue
    measures+=("$measure$control")
    control=""
  done
done
if [ -z "$rounds" ]; then rounds=9; [ "$full" = 0 ] || rounds=27; fi
[ -n "$from" ] || command -v ib_write_lat >/dev/null || { echo "waived: perftest is not installed (Debian package perftest)"; exit 5; }
bin=$(realpath "$bin")
for program in railgauge-runner compare_launches; do
  [ -x "$bin/$program" ] || { echo "compare_perftest.sh: no $program in $bin; build it, or name another folder with --bin" >&2; exit 2; }
done
state=$(mktemp -d)
fabric=(deploy/vfabric/vfabric --dir "$state/fabric")
figures=$state/figures
finish() { "${fabric[@]}" down >/dev/null 2>&1 || true; rm -rf "$state"; }
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

took=0
if [ -z "$from" ]; then
  # Raises the guests' priority over the host's other work, where that is allowed: scheduling causes most of the spread.
  nice -n -10 "${fabric[@]}" up -n 2 --share "$(pwd)" --share "$state" 2> >(grep --line-buffered -v '^nice: ' >&2) >&2
  series=$(realpath deploy/compare/series.sh)
  began=$SECONDS
  "${fabric[@]}" exec n2 "$series" server "$bin/railgauge-runner" 192.0.2.1 "$rounds" /run/vfabric/shared/turn "${measures[@]}" >&2 &
  server=$!
  "${fabric[@]}" exec n1 "$series" client "$bin/railgauge-runner" 192.0.2.2 "$rounds" "$state/fabric/nodes/n2/shared/turn" "${measures[@]}" | tee ${keep:+"$keep"} >"$figures"
  wait "$server"
  took=$((SECONDS - began))
else
  rounds=$(awk -F '\t' '{ n[$1, $2]++ } END { for (k in n) if (least == "" || n[k] < least) least = n[k]; print least + 0 }' "$from")
  awk -F '\t' -v rounds="$rounds" 'n[$1, $2]++ < rounds' "$from" >"$figures"
  for measure in "${measures[@]}"; do
    grep -q "^${measure%+}"$'\t' "$figures" || { echo "compare_perftest.sh: --from $from: no whole round with ${measure%+}" >&2; exit 2; }
  done
fi

awk -F '\t' -f deploy/compare/whole_rounds.awk "$figures" "$figures" >"$figures.whole"
left_out=$(($(wc -l <"$figures") - $(wc -l <"$figures.whole")))
mv "$figures.whole" "$figures"

# Turns figures into rows. Bandwidths are inverted, so that a ratio above 1 always means slower.
rows() {
  awk -F '\t' -v OFS='\t' -v controls="${measures[*]}" '
    { split($1, part, "_"); lat = part[2] == "lat"
      # Small messages come as millions a second.
      mebibytes = part[3] < 1024 ? $3 * 1e6 * part[3] / 1048576 : $3
      value = lat ? $3 : 1 / mebibytes
      meaning = !lat ? "s per MiB" : part[1] == "read" || part[1] == "atomic" ? "RTT, us" : "half RTT, us"
      title = part[1] "_" part[2] " " part[3] " B (" meaning ")"
      cost = part[1] "_" part[2] ": 20 % added cost against without"
      self = part[1] "_" part[2] ": perftest against itself"
      control = index(" " controls " ", " " $1 "+ ") > 0 }
    $2 == "ours"   { print title, "equal", "ours", value
                     if (control && lat) print cost, "excludes_one", "theirs", value }
    $2 == "theirs" { print title, "equal", "theirs", value
                     if (control) print self, "holds_one", "theirs", value }
    $2 == "again"  { print self, "holds_one", "ours", value }
    $2 == "slow"   { print cost, "excludes_one", "ours", value }
    $2 == "base"   { print cost, "excludes_one", "theirs", value }' "$figures"
}
echo "ours against perftest, $rounds launches each in turn, soft-RoCE in emulation: no hardware figures"
echo "ratio: Hodges and Lehmann's estimate over the pairs of launches; ours and theirs: medians of the launches"
echo "bandwidth: depth 128, of 1 MiB 16, signalled every 100 or 8 MiB; $left_out launches left out; $(wc -l <"$figures") launches$([ -n "$from" ] || echo " took $((took / 60)) min $((took % 60)) s")"
rows | "$bin/compare_launches"
