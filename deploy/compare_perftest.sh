#!/usr/bin/env bash
# Compares the verbs kernels with perftest's programs in the virtual fabric. The programs take turns while the fabric
# stays up. The table gives the ratio of launch medians with its 95 % interval, and two controls for latency and for
# bandwidth (perftest against itself, ours with 20 % added cost). A table whose controls fail is invalid.
# Exit 0 passed, 1 failed, 3 too noisy for a statement, 4 invalid, 5 waived (no perftest, or none that validates data).
#   deploy/compare_perftest.sh [--full] [--rounds N] [--only VERB_KIND[_BYTES],...] [--bin DIR] [--keep FILE] [--from FILE]
#                              [--calls N] [--perftest FOLDER] [--built DIR] [--ours OPTIONS] [--theirs OPTIONS]
# --keep: also writes each launch's figure to FILE at once, as measure, program, figure.
# --from: launches nothing and prints the table of a kept FILE's whole rounds (with the --full or --only of that run).
# --calls: messages of each launch, in place of as many as take 3 s on an idle host; 256 or more.
# --ours, --theirs: more options, in one word each, of our clients and of perftest's programs.
# --perftest: what checked data costs, with a perftest that has --data_validation (release 26.04 and later): the FOLDER of
# its source or of its built programs. Each round has perftest with and without it, and ours with its proof (as always)
# and without (verify=false). Bound: ours with the proof at most 2 % slower than without. The receivers' words of each
# validation are counted. perftest checks while it measures and ours afterwards, so its own cost has no bound.
# --built: where the source is copied to and built (default: beside --bin, as perftest).
# Without --full: 8-byte write latency and 64 KiB write bandwidth, 9 launches each. --full: every row below, 27 each.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds="" only="" keep="" from="" perftest="" built="" calls="" ours="" theirs="" bin=${RAILGAUGE_BUILD_DIR:-build/ci}/bin full=${RAILGAUGE_CHECK_FULL:-0}
while [ $# -gt 0 ]; do
  case "$1" in
    --full) full=1; shift; continue ;;
    --rounds) rounds=${2:?} ;;
    --only) only=${2:?} ;;
    --bin) bin=${2:?} ;;
    --keep) keep=${2:?} ;;
    --from) from=$(realpath "${2:?}") ;;
    --calls) calls=${2:?} ;;
    --ours) ours=${2:?} ;;
    --theirs) theirs=${2:?} ;;
    --perftest) perftest=$(realpath "${2:?}") ;;
    --built) built=$(realpath -m "${2:?}") ;;
    *) echo "compare_perftest.sh: unknown option $1; allowed: --full, --rounds N, --only LIST, --bin DIR, --keep FILE, --from FILE, --calls N, --perftest FOLDER, --built DIR, --ours OPTIONS, --theirs OPTIONS" >&2; exit 2 ;;
  esac
  shift 2
done
[[ $calls =~ ^([1-9][0-9]{2,6})?$ ]] && [ "${calls:-256}" -ge 256 ] || { echo "compare_perftest.sh: --calls $calls: 256 or more, so that a queue of 128 is filled again" >&2; exit 2; }
# The first chosen measure of each kind carries the controls.
all=(write_lat_8 write_lat_4096 write_lat_65536 read_lat_8 read_lat_4096 send_lat_8 send_lat_4096 atomic_lat_8
  write_bw_65536 write_bw_4096 write_bw_1048576 read_bw_65536 read_bw_1048576 send_bw_65536 send_bw_1048576 atomic_bw_8)
short=(write_lat_8 write_bw_65536)
validation=0
if [ -n "$perftest" ] || { [ -n "$from" ] && grep -q $'\tvalidated\t' "$from"; }; then
  validation=1
  all=(write_bw_65536 read_bw_65536 write_bw_4096 write_bw_1048576 read_bw_1048576)
  short=(write_bw_65536 read_bw_65536)
fi
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
if [ "$validation" = 1 ]; then
  for measure in $chosen; do measures+=("$measure="); done
  chosen=""
fi
for kind in lat bw; do
  control=+
  for measure in $chosen; do
    [[ $measure == *_"$kind"_* ]] || continue
    measures+=("$measure$control")
    control=""
  done
done
if [ -z "$rounds" ]; then rounds=9; [ "$full" = 0 ] || rounds=27; fi
[ -n "$from" ] || [ "$validation" = 1 ] || command -v ib_write_lat >/dev/null || { echo "waived: perftest is not installed (Debian package perftest)"; exit 5; }
bin=$(realpath "$bin")
for program in railgauge-runner compare_launches; do
  [ -x "$bin/$program" ] || { echo "compare_perftest.sh: no $program in $bin; build it, or name another folder with --bin" >&2; exit 2; }
done
# find_perftest: sets perftest to a folder with built programs that validate data; builds them from a source.
find_perftest() {
  local version needed="autoconf automake libtool pkg-config libibverbs-dev librdmacm-dev libibumad-dev libpci-dev"
  if [ ! -x "$perftest/ib_write_bw" ]; then
    [ -e "$perftest/configure.ac" ] || { echo "compare_perftest.sh: --perftest $perftest: neither ib_write_bw nor perftest's source is in it" >&2; exit 2; }
    built=${built:-$(dirname "$bin")/perftest}
    if [ ! -x "$built/ib_write_bw" ]; then
      mkdir -p "$built"
      cp -r "$perftest/." "$built/"
      (cd "$built" && ./autogen.sh && ./configure && make ib_write_bw ib_read_bw) >"$built/build.log" 2>&1 ||
        { echo "compare_perftest.sh: perftest did not build: $(grep -m 1 'error:' "$built/build.log" || tail -n 1 "$built/build.log"); see $built/build.log; it needs Debian's packages $needed" >&2; exit 2; }
    fi
    perftest=$built
  fi
  version=$({ "$perftest/ib_write_bw" --version 2>/dev/null || true; } | sed -n 's/^.*[Vv]ersion *:* *//p' | head -n 1)  # it ends with 1
  if ! grep -aq -- data_validation "$perftest/ib_write_bw"; then
    echo "waived: perftest ${version:-of $perftest} has no --data_validation; release 26.04 brought it"
    exit 5
  fi
  about="perftest ${version:-of $perftest} with and without --data_validation"
}
about="ours against perftest"
[ -n "$from" ] || [ "$validation" = 0 ] || find_perftest
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
  nice -n -10 "${fabric[@]}" up -n 2 --share "$(pwd)" --share "$state" ${perftest:+--share "$perftest"} 2> >(grep --line-buffered -v '^nice: ' >&2) >&2
  series=$(realpath deploy/compare/series.sh)
  began=$SECONDS
  words=(env "RAILGAUGE_PERFTEST=$perftest" "RAILGAUGE_SERIES_CALLS=$calls" "RAILGAUGE_SERIES_OURS=$ours" "RAILGAUGE_SERIES_THEIRS=$theirs")
  "${fabric[@]}" exec n2 "${words[@]}" "$series" server "$bin/railgauge-runner" 192.0.2.1 "$rounds" /run/vfabric/shared/turn "${measures[@]}" >"$state/validated" &
  server=$!
  "${fabric[@]}" exec n1 "${words[@]}" "$series" client "$bin/railgauge-runner" 192.0.2.2 "$rounds" "$state/fabric/nodes/n2/shared/turn" "${measures[@]}" | tee ${keep:+"$keep"} >"$figures"
  wait "$server"
  took=$((SECONDS - began))
else
  rounds=$(awk -F '\t' '{ n[$1, $2]++ } END { for (k in n) if (least == "" || n[k] < least) least = n[k]; print least + 0 }' "$from")
  awk -F '\t' -v rounds="$rounds" 'n[$1, $2]++ < rounds' "$from" >"$figures"
  for measure in "${measures[@]}"; do
    grep -q "^${measure%[+=]}"$'\t' "$figures" || { echo "compare_perftest.sh: --from $from: no whole round with ${measure%[+=]}" >&2; exit 2; }
  done
fi

awk -F '\t' -f deploy/compare/whole_rounds.awk "$figures" "$figures" >"$figures.whole"
left_out=$(($(wc -l <"$figures") - $(wc -l <"$figures.whole")))
mv "$figures.whole" "$figures"

# Turns figures into rows. Bandwidths are inverted, so that a ratio above 1 always means slower.
rows() {
  awk -F '\t' -v OFS='\t' -v unbound="${1:-}" -v controls="${measures[*]}" '
    # Checked data: each row is one program against another.
    function pair(name, expected, slower, base, side) {
      if (side == slower) print name, expected, "ours", value
      if (side == base) print name, expected, "theirs", value
    }
    function checked(side) {
      sub(/ \(.*/, "", title)
      if (!unbound) {
        pair(title ": ours against perftest", "equal", "ours", "theirs", side)
        pair(title ": ours, proved against not", "equal", "ours", "unproved", side)
        pair(title ": perftest against itself", "holds_one", "again", "theirs", side)
        if (side == "again") print title ": perftest with 20 % added", "excludes_one", "ours", value * 1.2
        if (side == "theirs") print title ": perftest with 20 % added", "excludes_one", "theirs", value
        return
      }
      pair(title ": perftest, validated against not", "equal", "validated", "theirs", side)
      pair(title ": ours, proved against perftest, validated", "equal", "ours", "validated", side)
    }
    { split($1, part, "_"); lat = part[2] == "lat"
      # Small messages come as millions a second.
      mebibytes = part[3] < 1024 ? $3 * 1e6 * part[3] / 1048576 : $3
      value = lat ? $3 : 1 / mebibytes
      meaning = !lat ? "s per MiB" : part[1] == "read" || part[1] == "atomic" ? "RTT, us" : "half RTT, us"
      title = part[1] "_" part[2] " " part[3] " B (" meaning ")"
      cost = part[1] "_" part[2] ": 20 % added cost against without"
      self = part[1] "_" part[2] ": perftest against itself"
      control = index(" " controls " ", " " $1 "+ ") > 0
      if (index(" " controls " ", " " $1 "= ")) { checked($2); next } }
    $2 == "ours"   { print title, "equal", "ours", value
                     if (control && lat) print cost, "excludes_one", "theirs", value }
    $2 == "theirs" { print title, "equal", "theirs", value
                     if (control) print self, "holds_one", "theirs", value }
    $2 == "again"  { print self, "holds_one", "ours", value }
    $2 == "slow"   { print cost, "excludes_one", "ours", value }
    $2 == "base"   { print cost, "excludes_one", "theirs", value }' "$figures"
}
echo "$about, $rounds launches each in turn, soft-RoCE in emulation: no hardware figures"
echo "ratio: Hodges and Lehmann's estimate over the pairs of launches; ours and theirs: medians of the launches"
echo "bandwidth: depth 128, of 1 MiB 16, signalled every 100 or 8 MiB; $left_out launches left out; $(wc -l <"$figures") launches$([ -n "$from" ] || echo " took $((took / 60)) min $((took % 60)) s")"
[ "$validation" = 1 ] || { rows | "$bin/compare_launches"; exit; }
code=0
rows | "$bin/compare_launches" >"$state/table" || code=$?
# The bound of a proved row is 2 %, where compare_launches has 5, and its whole interval must hold it.
awk '
  match($0, / +[0-9.]+ +[0-9.]+ to +[0-9.]+ +equal/) && /proved against not/ {
    split(substr($0, RSTART), f, " ")
    if (f[4] <= 1.02) said = "at most 2 % slower"
    else if (f[2] > 1.02) { said = "more than 2 % slower"; missed = 1 }
    else { said = "2 % neither held nor missed"; noisy = 1 }
    print $0 "; " said
    next
  }
  { print }
  END { exit missed ? 1 : noisy ? 3 : 0 }' "$state/table" || { bound=$?; [ "$code" != 0 ] || code=$bound; }
echo "without a bound:"
{ rows 1 | "$bin/compare_launches" || true; } | sed '1d; /^table: /d; s/ *equal .*$//'
[ -n "$from" ] || { echo "perftest's receivers said:"; sed 's/^.*VALIDATION: //; s/ - .*//' "$state/validated" | sort | uniq -c; }
exit "$code"
