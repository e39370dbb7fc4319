#!/usr/bin/env bash
# Compares railgauge-runner's profiles with nvbandwidth and gdrcopy's tools on this machine: the programs take turns,
# each with all tests of a round in one process. The table gives the ratio of the medians over the rounds (above 1: our
# figure is larger) and the duration of each program's rounds. A launch that fails, ends late or lacks a figure ends
# the comparison with one line: the script prints no median of the remaining rounds and no partial sum.
# Exit 0 when both sides have every figure; 1 a ratio below the floor, or ours found wrong bytes; 2 wrong use;
# 4 a program failed, crashed or timed out, or a figure is missing; 5 waived (no such program, no GPU).
#   deploy/compare_gpu.sh [--peer PATH] [--runner PATH] [--rounds N] [--tests LIST] [--json OUT]
#     [--exact 0|1] [--floor R] [--keep FILE] [--from FILE[,FILE...]]
# --peer    nvbandwidth itself or a folder with it and gdrcopy's tools (default: the PATH)
# --runner  railgauge-runner (default: beside this script in a bundle, else build/release/bin, else the PATH)
# --tests   comma separated: nvbandwidth's names, gdrcopy_copybw, gdrcopy_copylat; all_nvbandwidth is its whole list
#           (default: see below)
# --exact   1 takes the tool's own counts; else ours stops when the interval is narrow enough (--adaptive)
# --floor   exit 1 when a copy-engine test's ratio is below R, as 0.97 (default: none)
# --keep    after each round writes every launch's figures and times so far
# --from    launches nothing: the table of kept files of one machine, as a longer list is measured in parts
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
peer="" runner="" rounds=5 json="" exact=0 floor="" keep="" from=""
tests=host_to_device_memcpy_ce,device_to_host_memcpy_ce,host_to_device_memcpy_sm,device_to_host_memcpy_sm,device_local_copy,host_device_latency_sm
while [ $# -gt 0 ]; do
  case "$1" in
    --peer) peer=${2:?compare_gpu.sh: --peer needs a path} ;;
    --runner) runner=${2:?compare_gpu.sh: --runner needs a path} ;;
    --rounds) rounds=${2:?compare_gpu.sh: --rounds needs a number} ;;
    --tests) tests=${2:?compare_gpu.sh: --tests needs a list} ;;
    --exact) exact=${2:?compare_gpu.sh: --exact needs 0 or 1} ;;
    --floor) floor=${2:?compare_gpu.sh: --floor needs a ratio} ;;
    --json) json=${2:?compare_gpu.sh: --json needs a file} ;;
    --keep) keep=${2:?compare_gpu.sh: --keep needs a file} ;;
    --from) from=${2:?compare_gpu.sh: --from needs a file} ;;
    *) echo "compare_gpu.sh: unknown option $1; allowed: --peer, --runner, --rounds, --tests, --exact, --floor, --json, --keep, --from" >&2; exit 2 ;;
  esac
  shift 2
done
[[ $rounds =~ ^[1-9][0-9]{0,3}$ ]] || { echo "compare_gpu.sh: --rounds $rounds: 1 to 9999" >&2; exit 2; }
[[ $tests =~ ^[A-Za-z0-9_]+(,[A-Za-z0-9_]+)*$ ]] || { echo "compare_gpu.sh: --tests $tests: names separated by commas" >&2; exit 2; }
[[ $floor =~ ^([0-9]+(\.[0-9]+)?)?$ ]] || { echo "compare_gpu.sh: --floor $floor: a ratio, as 0.97" >&2; exit 2; }
export LC_ALL=C
readonly kRunSeconds=900

waive() { echo "waived: $*"; exit 5; }
die() { local code=$1; shift; echo "compare_gpu.sh: $*" >&2; exit "$code"; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# program TOOL: prints the path of the peer's program, or nothing when there is none.
program() {
  if [ -n "$peer" ] && [ -f "$peer" ] && [ "$(basename "$peer")" = "$1" ]; then echo "$peer"
  elif [ -n "$peer" ] && [ -x "$peer/$1" ]; then echo "$peer/$1"
  elif [ -n "$peer" ] && [ -x "$(dirname "$peer")/$1" ]; then echo "$(dirname "$peer")/$1"
  else command -v "$1" || true; fi
}

# Groups the tests by tool, because nvbandwidth takes several in one process.
tools=() nvbandwidth_tests=() whole=0
IFS=, read -r -a wanted <<<"$tests"
for test in "${wanted[@]}"; do
  case "$test" in
    gdrcopy_copybw | gdrcopy_copylat) tools+=("$test") ;;
    all_nvbandwidth) whole=1 ;;
    *) nvbandwidth_tests+=(-t "$test") ;;
  esac
done
[ $whole = 0 ] || nvbandwidth_tests=()
[ ${#nvbandwidth_tests[@]} = 0 ] && [ $whole = 0 ] || tools=(nvbandwidth "${tools[@]}")
# ours_code CODE: prints this script's exit code after the runner ended with CODE: any code but 1, 2, 5, 130 and 143,
# such as a crash, gives 4.
ours_code() { case "$1" in 1 | 2 | 5 | 130 | 143) echo "$1" ;; *) echo 4 ;; esac; }
# prepare: finds both sides' programs. One small copy shows whether this machine can run the comparison.
prepare() {
  local code=0
  if [ -z "$runner" ]; then
    for runner in "$here/bin/railgauge-runner" "$here/../bin/railgauge-runner" "$here/../build/release/bin/railgauge-runner" "$(command -v railgauge-runner || true)"; do
      [ ! -x "$runner" ] || break
    done
  fi
  [ -x "$runner" ] || { echo "compare_gpu.sh: no railgauge-runner; name it with --runner" >&2; exit 2; }
  for tool in "${tools[@]}"; do
    [ -n "$(program "$tool")" ] || waive "$tool is not here; name its folder with --peer"
  done
  "$runner" nvbandwidth -t host_to_device_memcpy_ce -b 1 -i 1 >"$work/try" 2>&1 || code=$?
  [ $code != 5 ] || waive "$(sed -n 's/.*: waived: //p' "$work/try" | head -n 1)"
  [ $code = 0 ] || die "$(ours_code $code)" "ours: try host_to_device_memcpy_ce: exit $code: $(tail -n 1 "$work/try")"
}

counts=()
[ "$exact" = 1 ] || counts=(--adaptive)
arguments() { if [ "$1" = nvbandwidth ] && [ ${#nvbandwidth_tests[@]} -gt 0 ]; then printf '%s\n' "${nvbandwidth_tests[@]}"; fi; }

# peer_figures TOOL: parses TOOL's output into lines of test, label, value. Only positive numbers count.
peer_figures() {
  awk -v tool="$1" -v OFS='\t' '
    function size(bytes) { return bytes % 1048576 == 0 ? bytes / 1048576 " MiB" : bytes % 1024 == 0 ? bytes / 1024 " KiB" : bytes " B" }
    # For two streams at once it prints both and their sum; ours is the first.
    function figure(test, label, value) { if (value + 0 > 0) print test, label, value + 0 }
    tool == "nvbandwidth" && $1 == "SUM" && $2 !~ /_(read2|write2|total)$/ { sub(/_(read|write)1$/, "", $2); figure($2, "sum", $3) }
    tool == "gdrcopy_copybw" && $2 == "BW:" { figure("copybw", $1, $3) }
    tool == "gdrcopy_copylat" && $1 == "gdr_copy_to_mapping" { figure("copylat", "write " size($2), $3) }
    tool == "gdrcopy_copylat" && $1 == "gdr_copy_from_mapping" { figure("copylat", "read " size($2), $3) }'
}
# our_figures TOOL: the same from a profile as CSV, with columns test, kernel, unit, row, column, value, throttled,
# outcome. A test that did not pass, or has a cell without a value, has no sum.
our_figures() {
  awk -F, -v tool="$1" -v OFS='\t' '
    NR == 1 { next }
    !($6 + 0 > 0) || $8 != "passed" { lacks[$1] = 1; next }
    tool == "nvbandwidth" { if (!($1 in sum)) order[++n] = $1; sum[$1] += $6; next }
    { way = $2 ~ /write/ ? "write" : "read"; print $1, $4 == "" ? way : way " " $4, $6 }
    END { for (i = 1; i <= n; i++) if (!(order[i] in lacks)) print order[i], "sum", sum[order[i]] }'
}

# expected TOOL: prints the tests whose figures a launch must have; none when nvbandwidth runs its whole list.
expected() {
  case "$1" in
    nvbandwidth) if [ ${#nvbandwidth_tests[@]} -gt 0 ]; then printf '%s\n' "${nvbandwidth_tests[@]}" | grep -vx -- -t; fi ;;
    *) echo "${1#gdrcopy_}" ;;
  esac
}
# Prints the last line of the last launch's output, as a reason.
last_words() { { grep -v '^ *$' "$work/err" || grep -v '^ *$' "$work/out" || true; } | tail -n 1; }

# launch SIDE TOOL: runs one process and keeps its figures and its duration in us.
launch() {
  local side=$1 tool=$2 command=() code=0 from
  mapfile -t command < <(arguments "$tool")
  if [ "$side" = ours ]; then command=("$runner" "$tool" "${command[@]}" "${counts[@]}" --format csv); else command=("$(program "$tool")" "${command[@]}"); fi
  from=${EPOCHREALTIME/./}
  { timeout $kRunSeconds "${command[@]}" >"$work/out"; } 2>"$work/err" || code=$?  # the shell's own words of a crash too
  printf '%s\t%s\t%s\n' "$side" "$tool" "$((${EPOCHREALTIME/./} - from))" >>"$work/times"
  [ $code != 124 ] || die 4 "$side: ${command[*]}: not done after $kRunSeconds s"
  if [ $code != 0 ]; then
    if [ "$side" = ours ]; then die "$(ours_code $code)" "ours: ${command[*]}: exit $code: $(last_words)"; fi
    die 4 "theirs: ${command[*]}: exit $code: $(last_words)"
  fi
  if [ "$side" = ours ]; then our_figures "$tool"; else peer_figures "$tool"; fi <"$work/out" >"$work/launch"
  for test in $(expected "$tool"); do
    grep -q "^$test"$'\t' "$work/launch" || die 4 "$side: ${command[*]}: no figure of $test: $(last_words)"
  done
  sed "s/^/$side\t/" "$work/launch" >>"$work/figures"
}

: >"$work/figures"
: >"$work/times"
# measure: runs the rounds.
measure() {
  local round tool side order
  for ((round = 0; round < rounds; round++)); do
    for tool in "${tools[@]}"; do
      if ((round % 2 == 0)); then order=(theirs ours); else order=(ours theirs); fi
      for side in "${order[@]}"; do launch "$side" "$tool"; done
    done
    [ -z "$keep" ] || { sed 's/^/time\t/' "$work/times"; cat "$work/figures"; } >"$keep"
  done
}
if [ -n "$from" ]; then
  IFS=, read -r -a kept <<<"$from"
  for file in "${kept[@]}"; do
    [ -r "$file" ] || die 2 "--from $file: cannot be read"
    sed -n 's/^time\t//p' "$file" >>"$work/times"
    grep -E $'^(ours|theirs)\t' "$file" >>"$work/figures" || die 2 "--from $file: has no figure"
  done
  rounds=$(awk -F '\t' '$1 == "ours" { if (++n[$2] > most) most = n[$2] } END { print most + 0 }' "$work/times")
else
  prepare
  measure
fi

# Turns lines of side, test, label, value and the file of durations into a table and a JSON document.
awk -F '\t' -v rounds="$rounds" -v json="${json:-}" -v times="$work/times" -v floor="$floor" '
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
  # The figures of each launch, in order.
  function each(key,  i, out) { for (i = 1; i <= count[key]; i++) out = out (i > 1 ? ", " : "") number(values[key, i]); return "[" out "]" }
  function number(v) { return v == "" ? "null" : sprintf("%.9g", v) }
  { name = $2 FS $3
    if (!(name in seen)) { seen[name] = 1; names[++n] = name }
    key = $1 FS name
    values[key, ++count[key]] = $4 + 0 }
  END {
    while ((getline line < times) > 0) {
      split(line, part, "\t")
      if (!((part[2]) in toolseen)) { toolseen[part[2]] = 1; tools[++t] = part[2] }
      key = "time" FS part[1] FS part[2]
      values[key, ++count[key]] = part[3] / 1e6
    }
    printf "%-48s %-16s %12s %12s %8s %9s %9s\n", "test", "figure", "ours", "theirs", "ratio", "spread %", "theirs %"
    document = "{\n  \"schema_version\": 1,\n  \"rounds\": " rounds ",\n  \"figures\": ["
    for (i = 1; i <= n; i++) {
      split(names[i], part, FS)
      ours = median("ours" FS names[i]); theirs = median("theirs" FS names[i])
      ratio = ours != "" && theirs != "" && theirs != 0 ? ours / theirs : ""
      if (lacking == "" && (count["ours" FS names[i]] != rounds || count["theirs" FS names[i]] != rounds))
        lacking = sprintf("%s %s: figures of %d of our %d launches and of %d of theirs", part[1], part[2], count["ours" FS names[i]], rounds, count["theirs" FS names[i]])
      if (floor != "" && part[1] ~ /(_ce|device_local_copy)$/ && ratio != "" && ratio < floor + 0) below = below sprintf("%s %s: ratio %.3f is below %s\n", part[1], part[2], ratio, floor)
      printf "%-48s %-16s %12s %12s %8s %9s %9s\n", part[1], part[2], ours == "" ? "-" : sprintf("%.5g", ours), theirs == "" ? "-" : sprintf("%.5g", theirs), ratio == "" ? "-" : sprintf("%.3f", ratio), spread("ours" FS names[i]), spread("theirs" FS names[i])
      document = document (i > 1 ? "," : "") sprintf("\n    {\"test\": \"%s\", \"figure\": \"%s\", \"ours\": %s, \"theirs\": %s, \"ratio\": %s, \"spread_percent_ours\": %s, \"spread_percent_theirs\": %s, \"launches_ours\": %d, \"launches_theirs\": %d, \"each_ours\": %s, \"each_theirs\": %s}", part[1], part[2], number(ours), number(theirs), number(ratio), number(spread("ours" FS names[i])), number(spread("theirs" FS names[i])), count["ours" FS names[i]], count["theirs" FS names[i]], each("ours" FS names[i]), each("theirs" FS names[i]))
    }
    document = document "\n  ],\n  \"times\": ["
    for (i = 1; i <= t; i++) {
      ours = median("time" FS "ours" FS tools[i]); theirs = median("time" FS "theirs" FS tools[i])
      printf "%-48s %-16s %12.4g %12.4g %8.3f\n", tools[i] ", all tests of a round", "seconds", ours, theirs, (theirs > 0 ? ours / theirs : 0)
      document = document (i > 1 ? "," : "") sprintf("\n    {\"tool\": \"%s\", \"ours_seconds\": %s, \"theirs_seconds\": %s}", tools[i], number(ours), number(theirs))
    }
    document = document "\n  ]\n}"
    if (json != "") print document > json
    printf "%s", below
    if (n == 0) lacking = "no figure at all"
    if (lacking != "") print "compare_gpu.sh: " lacking > "/dev/stderr"
    exit below != "" ? 1 : lacking != "" ? 4 : 0
  }' "$work/figures"
