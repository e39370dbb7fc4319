#!/usr/bin/env bash
# Compares railgauge-runner's nccl-tests aliases with nccl-tests' own programs on this machine's GPUs: they take turns,
# one launch each in a round, over the same sizes, out of place. The table gives ratios of the medians over the rounds:
# of bus bandwidth at 8, 128 and 512 MiB, 2 and 8 GiB (above 1: ours is larger) and of the time of the smallest message that both
# move (above 1: ours is slower), with spreads. With --mpi 1 also of the times of 2 KiB to 512 KiB, and their geometric
# mean. From six rounds on theirs runs a second time in each round, and a Markdown table has the paired ratio of every row
# with its 95 % interval (Hodges and Lehmann's estimate over the rounds) and two controls: theirs against itself, which
# must hold 1, and with 20 % added, which must be above 1. A row whose control fails is invalid and says so. A launch that
# fails, ends late or lacks a figure ends the comparison with one line: no median of the remaining rounds is printed.
# Exit 0 when both sides have every figure; 1 a ratio below the floor or above the ceiling, or ours found wrong bytes;
# 2 wrong use; 4 a program failed, crashed or timed out, or a figure is missing; 5 waived (no such program, no GPU).
#   deploy/compare_nccl.sh [--peer DIR] [--runner PATH] [--rounds N] [--gpus N] [--tests LIST] [--iterations N]
#     [--sizes FROM:TO] [--exact 0|1] [--graphs N] [--mpi 0|1] [--sockets 0|1] [--floor R] [--ceiling R] [--mean R]
#     [--json OUT] [--keep FILE] [--from FILE] [--markdown FILE] [--judge PATH]
# --peer        the folder with all_reduce_perf and its sisters (default: the PATH)
# --runner      railgauge-runner (default: beside this script in a bundle, else build/release/bin, else the PATH)
# --gpus        ranks (default 2): without --mpi theirs are GPUs of one process, each of ours is a process
# --mpi         1: both are started by mpirun with a process for each GPU; theirs must be built with MPI
# --tests       comma separated (default: all_reduce_perf,all_gather_perf,alltoall_perf,sendrecv_perf)
# --iterations  calls of a size, of theirs and with --exact 1 of ours (default 20)
# --sizes       the smallest and the largest, powers of 4 times 8 B (default: 8:512M; 2G:8G are large ones alone)
# --exact       1 (the default) takes that many; 0: ours stops when the interval is narrow enough (--adaptive)
# --graphs      N launches of a graph of as many calls as --iterations says, on both sides (-G N; default 0: no graph)
# --sockets     1 turns direct copies, shared memory and InfiniBand off, on both sides: a cluster without RDMA
# --floor       exit 1 when a ratio of bus bandwidths is below R, as 0.99 (default: none)
# --ceiling     exit 1 when a ratio of small messages' times is above R, as 1.00 (default: none)
# --mean        exit 1 when the geometric mean of a test's ratios of 2 KiB to 512 KiB is above R (default: none; --mpi 1)
# --keep        after each round writes every launch's figures so far: side, test, size in B, us, bus bandwidth in GB/s
# --from        launches nothing: the tables of a kept FILE (with the --mpi of that run)
# --markdown    appends the table of the paired ratios, below date and machine
# --judge       compare_launches, which estimates the paired ratios (default: beside the runner, else build/ci/bin, else
#               the PATH); without it the medians are printed alone, as in the bundle
# NCCL_... variables of the caller's environment apply to both programs and are written into the document.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
die() { local code=$1; shift; echo "compare_nccl.sh: $*" >&2; exit "$code"; }
waive() { echo "waived: $*"; exit 5; }
peer="" runner="" rounds=5 gpus=2 iterations=20 exact=1 graphs=0 mpi=0 sockets=0 floor="" ceiling="" mean="" json="" keep=""
from="" markdown="" judge="" range=8:512M
tests=all_reduce_perf,all_gather_perf,alltoall_perf,sendrecv_perf
while [ $# -gt 0 ]; do
  [ $# -gt 1 ] || die 2 "$1 needs a value"
  case "$1" in
    --peer) peer=$2 ;; --runner) runner=$2 ;; --rounds) rounds=$2 ;; --gpus) gpus=$2 ;; --tests) tests=$2 ;;
    --iterations) iterations=$2 ;; --sizes) range=$2 ;; --exact) exact=$2 ;; --graphs) graphs=$2 ;; --mpi) mpi=$2 ;; --sockets) sockets=$2 ;;
    --floor) floor=$2 ;; --ceiling) ceiling=$2 ;; --mean) mean=$2 ;; --json) json=$2 ;; --keep) keep=$2 ;;
    --from) from=$2 ;; --markdown) markdown=$2 ;; --judge) judge=$2 ;;
    *) die 2 "unknown option $1; allowed: --peer, --runner, --rounds, --gpus, --tests, --iterations, --sizes, --exact, --graphs, --mpi, --sockets, --floor, --ceiling, --mean, --json, --keep, --from, --markdown, --judge" ;;
  esac
  shift 2
done
for number in rounds gpus iterations; do
  [[ ${!number} =~ ^[1-9][0-9]{0,3}$ ]] || die 2 "--$number ${!number}: 1 to 9999"
done
[[ $range =~ ^(8|32|128|512|2K|8K|32K|128K|512K|2M|8M|32M|128M|512M|2G|8G):(8M|32M|128M|512M|2G|8G)$ ]] ||
  die 2 "--sizes $range: FROM:TO, each 8, 32, 128 or 512 and K, 2, 8, 32, 128 or 512 and M, 2G or 8G, TO from 8M on"
smallest=$(numfmt --from=iec "${range%:*}") largest=$(numfmt --from=iec "${range#*:}")
((smallest <= largest)) || die 2 "--sizes $range: the first is larger than the second"
[[ $graphs =~ ^[0-9]{1,3}$ ]] || die 2 "--graphs $graphs: 0 to 999 launches"
for switch in exact mpi sockets; do [[ ${!switch} =~ ^[01]$ ]] || die 2 "--$switch ${!switch}: 0 or 1"; done
for ratio in floor ceiling mean; do [[ ${!ratio} =~ ^([0-9]+(\.[0-9]+)?)?$ ]] || die 2 "--$ratio ${!ratio}: a ratio, as 0.99"; done
[[ $tests =~ ^[a-z_]+_perf(,[a-z_]+_perf)*$ ]] || die 2 "--tests $tests: programs of nccl-tests separated by commas"
[ -z "$from" ] || [ -z "$keep$json" ] || die 2 "--from $from: launches nothing, so --keep and --json have nothing to write"
[ -z "$from" ] || [ -r "$from" ] || die 2 "--from $from: cannot be read"
export LC_ALL=C
readonly kRunSeconds=900
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The paired table, from six rounds on. The bundle has this script alone, without the awk programs.
find_judge() {
  local one
  [ -z "$judge" ] || { [ -x "$judge" ] || die 2 "--judge $judge: is no program"; return 0; }
  for one in "${runner:+$(dirname "$runner")/compare_launches}" "$here/../build/ci/bin/compare_launches" "$(command -v compare_launches || true)"; do
    [ ! -x "$one" ] || { judge=$one; return 0; }
  done
}
# check_markdown: ends the script, before a launch, where the Markdown table could not be made.
check_markdown() {
  [ -n "$markdown" ] || return 0
  [ -n "$judge" ] && [ -e "$here/compare/nccl_rows.awk" ] || die 2 "--markdown needs compare_launches and deploy/compare; name the program with --judge"
  [ "$rounds" -ge 6 ] || die 2 "--markdown needs 6 rounds or more, or there is no 95 % interval"
}
# paired ABOUT: prints the table of the paired ratios, and appends it with ABOUT to the Markdown file.
paired() {
  local code=0
  if [ -z "$judge" ] || [ ! -e "$here/compare/nccl_rows.awk" ]; then
    [ "$rounds" -lt 6 ] || echo "no paired ratios: compare_launches or deploy/compare is not here; --keep the launches, and take them with --from where both are"
    return 0
  fi
  [ "$rounds" -ge 6 ] || return 0
  # Its exit code judges rows within 5 % of 1, which is not this comparison's bound; 2 and above 4 are none of a table's.
  awk -v rounds="$rounds" -v mpi="$mpi" -f "$here/compare/nccl_rows.awk" "$work/figures" | "$judge" >"$work/judged" 2>"$work/err" || code=$?
  case $code in 0 | 1 | 3 | 4) ;; *) die 4 "$judge: exit $code: $(tail -n 1 "$work/err")" ;; esac
  awk -v markdown=1 -v medians=1 -v titles="test; figure; size" -v peer=theirs -f "$here/compare/launch_words.awk" "$work/judged" >"$work/table"
  { echo; cat "$work/table"; }
  [ -z "$markdown" ] || { echo; fold -s -w 98 <<<"$1" | sed 's/ *$//'; echo; cat "$work/table"; } >>"$markdown"
}
if [ "$sockets" = 1 ]; then
  export NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1 NCCL_IB_DISABLE=1 NCCL_SOCKET_IFNAME="${NCCL_SOCKET_IFNAME:-lo}"
fi
# program NAME: prints the path of the peer's program, or nothing when there is none.
program() { if [ -n "$peer" ]; then [ ! -x "$peer/$1" ] || echo "$peer/$1"; else command -v "$1" || true; fi; }
# ours_code CODE: prints this script's exit code after the runner ended with CODE: any code but 1, 2, 5, 130 and 143,
# such as a crash, gives 4.
ours_code() { case "$1" in 1 | 2 | 5 | 130 | 143) echo "$1" ;; *) echo 4 ;; esac; }
# Prints the last line of the last launch's output, as a reason.
last_words() { { grep -v '^ *$' "$work/err" || grep -v '^ *$' "$work/out" || true; } | tail -n 1; }
fact() { sed -n "s/^ *\"$1\": \"\([^\"]*\)\",\{0,1\}\$/\1/p" "$work/out" | head -n 1; }

# prepare: finds both sides' programs. One small run shows whether this machine can run the comparison, and with which
# versions.
prepare() {
  local name code=0 reason
  if [ -z "$runner" ]; then
    for runner in "$here/bin/railgauge-runner" "$here/../bin/railgauge-runner" "$here/../build/release/bin/railgauge-runner" "$(command -v railgauge-runner || true)"; do
      [ ! -x "$runner" ] || break
    done
  fi
  [ -x "$runner" ] || die 2 "no railgauge-runner; name it with --runner"
  IFS=, read -r -a programs <<<"$tests"
  for name in "${programs[@]}"; do
    [ -n "$(program "$name")" ] || waive "$name is not here; name its folder with --peer"
  done
  # Both sides' first words: mpirun with a process for each GPU, or nothing.
  start=() each=(-g "$gpus")
  if [ "$mpi" = 1 ]; then
    command -v mpirun >/dev/null || waive "mpirun is not here; --mpi 1 needs it"
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    start=(mpirun -np "$gpus") each=(-g 1)
    ! mpirun --version 2>&1 | grep -q 'Open MPI' || start+=(--bind-to none)
  fi
  timeout $kRunSeconds "${start[@]}" "$runner" "${programs[0]}" -b 1K -e 1K -n 1 "${each[@]}" --placement out --format json >"$work/out" 2>"$work/err" || code=$?
  reason=$(sed -n 's/^  "reason": "\(.*\)",$/\1/p' "$work/out" | head -n 1)
  [ $code != 5 ] || waive "${reason:-$(last_words)}"
  [ $code = 0 ] || die "$(ours_code $code)" "ours: try ${programs[0]}: exit $code: ${reason:-$(last_words)}"
  gpu=$(fact gpu_model) driver=$(fact cuda_driver) nccl=$(fact nccl) transports=$(fact nccl_transports)
}

# The sizes go up by 4, so that 8 B, 8 MiB, 128 MiB and 512 MiB are among them.
sizes=(-b "${range%:*}" -e "${range#*:}" -f 4)
readonly kLarge="8388608 134217728 536870912 2147483648 8589934592"
# wanted_sizes: prints those of the large sizes that are measured.
wanted_sizes() { local size; for size in $kLarge; do ((size < smallest || size > largest)) || echo "$size"; done; }
counts=(-n "$iterations") graph=()
[ "$exact" = 1 ] || counts=(--adaptive --set time_cap=1s)
[ "$graphs" = 0 ] || graph=(-G "$graphs")

# figures TEST SIDE: parses an output into lines of test, requested size, time in us, bus bandwidth in GB/s. A call
# rounds the requested size down; a size of 0 is no figure. hypercube_perf prints no operation before the root.
figures() {
  awk -v OFS='\t' -v test="$1" -v side="$2" '
    function asked(size,  s) { for (s = 8; s < size; s *= 4); return sprintf("%.0f", s) }
    BEGIN { if (side == "ours") FS = "," }
    side == "ours" && NR > 1 && $6 == "out" && $11 == "passed" { size = $2; time = $7; rate = $9 }
    side != "ours" && $1 ~ /^[0-9]+$/ && NF >= 9 {
      root = $4 ~ /^-?[0-9]+$/ ? 4 : 5
      size = $1; time = $(root + 1); rate = $(root + 3); wrong = $(root + 4)
      if (wrong ~ /^[0-9]+$/ && wrong > 0) print test, "wrong", size, wrong
    }
    size > 0 && time + 0 > 0 { print test, asked(size), time + 0, rate + 0 }
    { size = 0 }'
}

# launch SIDE NAME: runs one process tree and keeps its figures. SIDE: ours, theirs, or again for theirs a second time.
launch() {
  local side=$1 name=$2 command=() code=0 wrong size
  if [ "$side" = ours ]; then
    command=("${start[@]}" "$runner" "$name" "${sizes[@]}" "${each[@]}" "${counts[@]}" "${graph[@]}" --placement out --format csv)
  else
    command=("${start[@]}" "$(program "$name")" "${sizes[@]}" "${each[@]}" -n "$iterations" "${graph[@]}")
  fi
  { timeout $kRunSeconds "${command[@]}" >"$work/out"; } 2>"$work/err" || code=$?  # the shell's own words of a crash too
  [ $code != 124 ] || die 4 "$side: ${command[*]}: not done after $kRunSeconds s"
  if [ $code != 0 ] && [ "$side" = ours ]; then die "$(ours_code $code)" "ours: ${command[*]}: exit $code: $(last_words)"; fi
  [ $code = 0 ] || die 4 "$side: ${command[*]}: exit $code: $(last_words)"
  figures "$name" "$side" <"$work/out" >"$work/launch"
  wrong=$(awk -F '\t' '$2 == "wrong" { print $4 " wrong elements at " $3 " B"; exit }' "$work/launch")
  [ -z "$wrong" ] || die 4 "$side: ${command[*]}: $wrong"
  for size in $(wanted_sizes); do
    awk -F '\t' -v size="$size" '$2 == size && $4 > 0 { found = 1 } END { exit !found }' "$work/launch" ||
      die 4 "$side: ${command[*]}: no figure of $size B: $(last_words)"
  done
  sed "s/^/$side\t/" "$work/launch" >>"$work/figures"
  [ "$side" = ours ] || grep -o 'nccl-tests version [0-9.]*\|nccl-library=[0-9]*' "$work/out" >"$work/versions" || true
}

# describe: sets `about` to the line of date, machine and versions.
describe() {
  tests_version=$(sed -n 's/^nccl-tests version //p' "$work/versions" | head -n 1)
  library=$(sed -n 's/^nccl-library=//p' "$work/versions" | head -n 1)
  environment=$(env | sed -n 's/^\(NCCL_[A-Za-z0-9_]*=[^"\\]*\)$/\1/p' | sort | tr '\n' ' ')
  date=$(date -u +%Y-%m-%dT%H:%M:%SZ)
  about="$date  ${graph[*]:+-G $graphs, }$gpus x ${gpu:-GPU}, driver ${driver:-unknown}, NCCL ${nccl:-unknown}, nccl-tests ${tests_version:-unknown}, ${environment:-no NCCL_ variable set}"
}

# measure: runs the rounds.
measure() {
  local round name side order orders=("theirs ours" "ours theirs")
  # Over six rounds each program runs at each place twice, and twice after each other program.
  [ "$rounds" -lt 6 ] || orders=("theirs ours again" "ours again theirs" "again theirs ours" "ours theirs again" "theirs again ours" "again ours theirs")
  for ((round = 0; round < rounds; round++)); do
    read -ra order <<<"${orders[round % ${#orders[@]}]}"
    for name in "${programs[@]}"; do
      for side in "${order[@]}"; do launch "$side" "$name"; done
    done
    describe
    [ -z "$keep" ] || { echo "# $about"; [ -z "$transports" ] || echo "# ours by $transports"; cat "$work/figures"; } >"$keep"
  done
}

# read_kept: takes the whole rounds of a kept file, whose lines with # say date and machine.
read_kept() {
  about=$(sed -n 's/^# //p' "$from")
  [ -n "$about" ] || about="$from names no machine"
  rounds=$(awk -F '\t' -v largest="$largest" '$3 == largest { n[$1, $2, $3]++ } END { for (k in n) if (least == "" || n[k] < least) least = n[k]; print least + 0 }' "$from")
  [ "$rounds" -gt 0 ] || die 2 "--from $from: no launch with a figure of ${range#*:}; wanted lines of side, test, size, us, GB/s"
  awk -F '\t' -v rounds="$rounds" '!/^#/ && n[$1, $2, $3]++ < rounds' "$from" >"$work/figures"
}

: >"$work/figures"
: >"$work/versions"
gpu="" driver="" nccl="" transports="" tests_version="" library="" environment="" date=""
if [ -n "$from" ]; then
  read_kept
  find_judge
  check_markdown
else
  prepare
  find_judge
  check_markdown
  measure
fi
own=$(awk -F . '{ if (NF >= 3) print $1 * 10000 + $2 * 100 + $3 }' <<<"$nccl")
echo "$about"
[ -z "$transports" ] || echo "ours by $transports"
[ -z "$library" ] || [ -z "$own" ] || [ "$library" = "$own" ] || echo "compare_nccl.sh: warning: theirs runs NCCL $library, ours $own: the ratios compare these too" >&2
code=0
# Turns lines of side, test, size, time, rate into a table and a JSON document.
awk -F '\t' -v rounds="$rounds" -v json="$json" -v floor="$floor" -v ceiling="$ceiling" -v mpi="$mpi" -v mean="$mean" -v smallest="$smallest" -v large="$(wanted_sizes | tr '\n' ' ')" -v head="\"date\": \"$date\", \"gpus\": $gpus, \"gpu\": \"$gpu\", \"driver\": \"$driver\", \"nccl\": \"$nccl\", \"nccl_tests\": \"$tests_version\", \"environment\": \"${environment% }\", \"mpi\": $mpi, \"sockets\": $sockets, \"iterations\": $iterations, \"exact\": $exact" '
  function median(key,  n, i, j, v, sorted) {
    n = count[key]
    for (i = 1; i <= n; i++) {
      v = values[key, i]
      for (j = i - 1; j >= 1 && sorted[j] > v; j--) sorted[j + 1] = sorted[j]
      sorted[j + 1] = v
    }
    return n == 0 ? "" : n % 2 == 1 ? sorted[(n + 1) / 2] : (sorted[n / 2] + sorted[n / 2 + 1]) / 2
  }
  # Largest less smallest, over the median: per cent.
  function spread(key,  n, i, low, high, middle) {
    n = count[key]
    if (n < 2) return ""
    low = high = values[key, 1]
    for (i = 2; i <= n; i++) { if (values[key, i] < low) low = values[key, i]; if (values[key, i] > high) high = values[key, i] }
    middle = median(key)
    return middle == 0 ? "" : sprintf("%.2f", 100 * (high - low) / middle)
  }
  function number(v) { return v == "" ? "null" : sprintf("%.9g", v) }
  function bytes(size) { return size >= 1073741824 ? size / 1073741824 " GiB" : size >= 1048576 ? size / 1048576 " MiB" : size >= 1024 ? size / 1024 " KiB" : size " B" }
  function add(key, value) { values[key, ++count[key]] = value }
  function show(test, what, unit, size, field,  key, ours, theirs, ratio) {
    key = FS test FS size FS field
    ours = median("ours" key); theirs = median("theirs" key)
    ratio = ours != "" && theirs != "" && theirs > 0 ? ours / theirs : ""
    if (lacking == "" && (count["ours" key] != rounds || count["theirs" key] != rounds))
      lacking = sprintf("%s %s %s: figures of %d of our %d launches and of %d of theirs", test, what, bytes(size), count["ours" key], rounds, count["theirs" key])
    if (ratio != "" && field == "rate" && floor != "" && ratio < floor + 0) missed = missed sprintf("%s %s %s: ratio %.3f is below %s\n", test, what, bytes(size), ratio, floor)
    if (ratio != "" && field == "time" && ceiling != "" && ratio > ceiling + 0) missed = missed sprintf("%s %s %s: ratio %.3f is above %s\n", test, what, bytes(size), ratio, ceiling)
    printf "%-22s %-14s %9s %10s %10s %8s %9s %9s\n", test, what " " unit, bytes(size), ours == "" ? "-" : sprintf("%.5g", ours), theirs == "" ? "-" : sprintf("%.5g", theirs), ratio == "" ? "-" : sprintf("%.3f", ratio), spread("ours" key), spread("theirs" key)
    document = document (shown++ ? "," : "") sprintf("\n    {\"test\": \"%s\", \"figure\": \"%s\", \"unit\": \"%s\", \"size_bytes\": %.0f, \"ours\": %s, \"theirs\": %s, \"ratio\": %s, \"spread_percent_ours\": %s, \"spread_percent_theirs\": %s, \"launches_ours\": %d, \"launches_theirs\": %d}", test, what, unit, size, number(ours), number(theirs), number(ratio), number(spread("ours" key)), number(spread("theirs" key)), count["ours" key], count["theirs" key])
  }
  # The times of small messages, and their geometric mean.
  function show_small(test,  size, key, logs, n, ratio) {
    for (size = 2048; size <= 524288; size *= 4) {
      show(test, "time", "us", size, "time")
      key = FS test FS size FS "time"
      if (median("theirs" key) > 0) { logs += log(median("ours" key) / median("theirs" key)); n++ }
    }
    if (n == 0) return
    ratio = exp(logs / n)
    printf "%-22s %-14s %9s %10s %10s %8.3f\n", test, "geometric mean", "", "", "", ratio
    if (mean != "" && ratio > mean + 0) missed = missed sprintf("%s geometric mean of the times: ratio %.3f is above %s\n", test, ratio, mean)
  }
  { if (!($2 in seen)) { seen[$2] = 1; names[++n] = $2 }
    # Several sizes asked for may end as one: the last counts, once a launch.
    add($1 FS $2 FS $3 FS "time", $4); add($1 FS $2 FS $3 FS "rate", $5) }
  END {
    printf "%-22s %-14s %9s %10s %10s %8s %9s %9s\n", "test", "figure", "size", "ours", "theirs", "ratio", "spread %", "theirs %"
    for (i = 1; i <= n; i++) {
      # The smallest that every launch of both moved; larger than 32 KiB is no small message.
      for (size = 8; size <= 32768; size *= 4)
        if (count["ours" FS names[i] FS size FS "time"] == rounds && count["theirs" FS names[i] FS size FS "time"] == rounds) break
      if (smallest > 32768) size = 0
      else if (size < 2048 || size <= 32768 && !(mpi && smallest <= 2048)) show(names[i], "time", "us", size, "time")
      else if (size > 32768 && lacking == "") lacking = names[i] ": no small message that both moved in every launch"
      if (mpi && smallest <= 2048) show_small(names[i])
      wanted = split(large, sizes, " ")
      for (k = 1; k <= wanted; k++) show(names[i], "busbw", "GB/s", sizes[k], "rate")
    }
    if (json != "") printf "{\n  \"schema_version\": 1, %s,\n  \"rounds\": %d,\n  \"figures\": [%s\n  ]\n}\n", head, rounds, document > json
    printf "%s", missed
    if (n == 0) lacking = "no figure at all"
    if (lacking != "") print "compare_nccl.sh: " lacking > "/dev/stderr"
    exit missed != "" ? 1 : lacking != "" ? 4 : 0
  }' "$work/figures" || code=$?
[ "$code" -gt 1 ] || paired "$about"
exit "$code"
