#!/usr/bin/env bash
# Builds and runs the fuzz targets of deploy/fuzz: parsers of everything that comes from outside, under libFuzzer and
# the address and undefined behaviour sanitizers. A failure is a crash, a broken property, a leak, an input that takes
# 5 s, or 1 GiB of memory.
#   deploy/fuzz.sh                   build; in the manner of OSS-Fuzz with $CXX, $CXXFLAGS, $LIB_FUZZING_ENGINE, $OUT
#   deploy/fuzz.sh --check [SECONDS] build, then each target for 5 s, two at once
#   deploy/fuzz.sh --long [MINUTES]  build, then all targets on two cores, 45 minutes in all, from the kept corpora;
#                                    adds what ran to deploy/docs/results/fuzz.tsv
#   deploy/fuzz.sh --adopt           add small inputs of the kept corpora that reach new code to deploy/fuzz/corpus
#   deploy/fuzz.sh --sum             CPU hours so far, by target
# Variables: RAILGAUGE_FUZZ_CORPORA, the folder of kept corpora (default: build/fuzz-corpora);
# RAILGAUGE_FUZZ_TARGETS, the targets to run, separated by blanks (default: all); for a larger machine without a
# compiler: RAILGAUGE_FUZZ_WORKERS, processes of each target (then all targets run at once), and RAILGAUGE_FUZZ_COMMIT,
# the commit of the programs that build/fuzz/bin has already.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 4
. deploy/compile_cache.sh

all="suite agent_messages kernels runner_frames launch logs node_sets http certificates connections"
targets=${RAILGAUGE_FUZZ_TARGETS:-$all}
tree=${WORK:+$WORK/railgauge-fuzz} tree=${tree:-build/fuzz}
corpora=${RAILGAUGE_FUZZ_CORPORA:-build/fuzz-corpora}
findings=build/fuzz-findings
seeds=deploy/fuzz/corpus
dictionaries=deploy/fuzz/dictionaries
table=deploy/docs/results/fuzz.tsv
page=deploy/docs/results/fuzz.md
goal_hours=24
workers=${RAILGAUGE_FUZZ_WORKERS:-1}
most_seeds=20 most_seed_bytes=512

build() {
  local options=()
  [ -z "${RAILGAUGE_FUZZ_COMMIT:-}" ] || return 0
  # Flags from outside replace our own sanitizers: $CXXFLAGS has its own, and the engine is not always libFuzzer.
  if [ -n "${LIB_FUZZING_ENGINE:-}" ]; then
    options=(-DCMAKE_C_COMPILER="${CC:-clang}" -DCMAKE_CXX_COMPILER="${CXX:-clang++}" -DRAILGAUGE_SANITIZE=
      -DCMAKE_CXX_FLAGS="${CXXFLAGS:-}" -DRAILGAUGE_FUZZ_ENGINE="$LIB_FUZZING_ENGINE")
  fi
  cmake --preset fuzz -B "$tree" "${options[@]}" >"$tree.log" 2>&1 && cmake --build "$tree" --target fuzzers >>"$tree.log" 2>&1 ||
    { tail -n 40 "$tree.log"; return 1; }
  [ -n "${OUT:-}" ] || return 0
  local target
  for target in $all; do
    cp "$tree/bin/${target}_fuzz" "$OUT/" || return
    python3 -m zipfile -c "$OUT/${target}_fuzz_seed_corpus.zip" "$seeds/$target"/* || return
    [ ! -e $dictionaries/"$target".dict ] || cp $dictionaries/"$target".dict "$OUT/${target}_fuzz.dict" || return
  done
}

# fuzz_one TARGET SECONDS FOLDER: runs one target; new inputs go to FOLDER. Leaves "CPU-SECONDS RUNS" in
# $findings/TARGET/last and the output in $findings/TARGET/log. Fails with the command that repeats the finding.
fuzz_one() {
  local target=$1 seconds=$2 folder=$3 cpu runs code=0 input
  local kept=$findings/$target options=()
  mkdir -p "$kept" "$folder"
  rm -f "$kept"/crash-* "$kept"/leak-* "$kept"/timeout-* "$kept"/oom-* "$kept/last"
  local TIMEFORMAT='%U %S'
  # With several processes libFuzzer writes a log for each into the working folder.
  [ "$workers" = 1 ] || options+=("-jobs=$workers" "-workers=$workers")
  local here=$PWD program folders=()
  program=$(realpath "$tree/bin/${target}_fuzz")
  folders=("$(realpath "$folder")" "$here/$seeds/$target")
  [ ! -e "$here/$dictionaries/$target.dict" ] || options+=("-dict=$here/$dictionaries/$target.dict")
  cpu=$({ cd "$kept" && rm -f fuzz-*.log && time "$program" "${options[@]}" -max_total_time="$seconds" -timeout=5 \
    -rss_limit_mb=1024 -max_len=8192 -print_final_stats=1 -artifact_prefix=./ "${folders[@]}" >log 2>&1; } 2>&1) || code=$?
  [ "$workers" = 1 ] || cat "$kept"/fuzz-*.log >>"$kept/log"
  awk -v cpu="$cpu" '/stat::number_of_executed_units/ { runs += $2 } END { split(cpu, part, " "); printf "%.1f %d\n", part[1] + part[2], runs }' \
    "$kept/log" >"$kept/last"
  if [ $code = 0 ]; then
    read -r cpu runs <"$kept/last"
    printf '%-14s ok: %s CPU seconds, %s runs, %s inputs\n' "$target" "$cpu" "$runs" "$(find "$folder" -type f | wc -l)"
    return 0
  fi
  input=$(find "$kept" -name 'crash-*' -o -name 'leak-*' -o -name 'timeout-*' -o -name 'oom-*' | head -n 1)
  printf '%-14s FAILED\n' "$target"
  grep -E -A 12 'property does not hold|ERROR: |runtime error|CHECK failed|SUMMARY' "$kept/log" | head -n 40 | cut -c 1-240
  echo "again: $tree/bin/${target}_fuzz -timeout=5 -rss_limit_mb=1024 ${input:-$kept/log (the log: no input was kept)}"
  return 1
}

# fuzz_all SECONDS FOLDER: all targets, two at once, or all at once with several processes each.
fuzz_all() {
  local target failed=0 most=2
  [ "$workers" = 1 ] || most=$(wc -w <<<"$targets")
  for target in $targets; do
    while [ "$(jobs -rp | wc -l)" -ge "$most" ]; do wait -n || failed=1; done
    fuzz_one "$target" "$1" "$2/$target" &
  done
  while [ "$(jobs -p | wc -l)" -gt 0 ]; do wait -n || failed=1; jobs >/dev/null; done
  return $failed
}

# Adds the CPU seconds of the last run to the row of each target and this commit: target, commit, date, CPU seconds, runs,
# inputs kept, findings.
keep_result() {
  local target commit dirty="" cpu runs found
  commit=${RAILGAUGE_FUZZ_COMMIT:-}
  if [ -z "$commit" ]; then
    git diff --quiet HEAD -- . ":!$table" ":!$page" || dirty=+changes
    commit=$(git rev-parse --short=10 HEAD)$dirty
  fi
  for target in $targets; do
    read -r cpu runs <"$findings/$target/last" || continue
    found=$(find "$findings/$target" -name 'crash-*' -o -name 'leak-*' -o -name 'timeout-*' -o -name 'oom-*' | wc -l)
    awk -F '\t' -v OFS='\t' -v target="$target" -v commit="$commit" -v date="$(date -u +%F)" -v cpu="$cpu" -v runs="$runs" \
      -v inputs="$(find "$corpora/$target" -type f | wc -l)" -v found="$found" '
      $1 == target && $2 == commit { cpu += $4; runs += $5; found += $7; next }
      { print }
      END { printf "%s\t%s\t%s\t%.1f\t%.0f\t%d\t%d\n", target, commit, date, cpu, runs, inputs, found }' \
      <(cat "$table" 2>/dev/null) >"$table.draft" && mv "$table.draft" "$table"
  done
  { sed '/^| target/,$d' "$page"; sum; } >"$page.draft" && mv "$page.draft" "$page"
}

# Prints CPU hours by target as a table of the page, and the sum against the goal.
sum() {
  awk -F '\t' -v goal=$goal_hours -v all="$all" '
    { cpu[$1] += $4; runs[$1] += $5; found[$1] += $7; inputs[$1] = $6; sum += $4 }
    END {
      print "| target | CPU hours | runs | inputs kept | findings |\n|---|---|---|---|---|"
      count = split(all, names, " ")
      for (i = 1; i <= count; ++i) printf "| `%s` | %.2f | %d | %d | %d |\n", names[i], cpu[names[i]] / 3600, runs[names[i]], inputs[names[i]], found[names[i]]
      printf "\nIn all %.2f of %d CPU hours.\n", sum / 3600, goal
    }' <(cat "$table" 2>/dev/null)
}

# Replaces each kept corpus by the smallest inputs that reach the same code.
minimise() {
  local target folder
  for target in $targets; do
    folder=$corpora/$target
    mkdir -p "$folder.smaller"
    "$tree/bin/${target}_fuzz" -merge=1 -timeout=5 -rss_limit_mb=1024 "$folder.smaller" "$folder" >"$findings/$target/merge.log" 2>&1 &&
      rm -r "$folder" && mv "$folder.smaller" "$folder" || { rm -rf "$folder.smaller"; echo "$target: merge failed, see $findings/$target/merge.log"; }
  done
}

# Adds inputs to the corpus in the repository, smallest first, while it has few files.
adopt() {
  local target new input room
  for target in $targets; do
    new=$(mktemp -d)
    cp "$seeds/$target"/* "$new/" || return
    "$tree/bin/${target}_fuzz" -merge=1 -max_len=$most_seed_bytes "$new" "$corpora/$target" >/dev/null 2>&1 || return
    room=$((most_seeds - $(find "$seeds/$target" -type f | wc -l)))
    for input in $(cd "$new" && find . -type f -size -${most_seed_bytes}c -printf '%s %f\n' | sort -n | awk '{ print $2 }'); do
      [ "$room" -gt 0 ] || break
      [ ! -e "$seeds/$target/$input" ] || continue
      cp "$new/$input" "$seeds/$target/found_$(cut -c 1-8 <<<"$input")" && room=$((room - 1))
    done
    rm -r "$new"
  done
}

mkdir -p build "$findings" "$(dirname "$tree")"
case "${1:-}" in
  "") build ;;
  --check)
    build || exit
    new=$(mktemp -d "${TMPDIR:-/tmp}/rg_fuzz.XXXXXX")
    trap 'rm -rf "$new"' EXIT
    fuzz_all "${2:-5}" "$new"
    ;;
  --long)
    build || exit
    count=$(wc -w <<<"$targets")
    seconds=$((${2:-45} * 60))
    [ "$workers" != 1 ] || seconds=$((seconds * 2 / count))
    fuzz_all "$seconds" "$corpora"
    code=$?
    keep_result
    minimise
    sum | tail -n 1
    exit $code
    ;;
  --adopt) build && adopt ;;
  --sum) sum ;;
  *) echo "fuzz.sh: unknown option $1; allowed: --check [SECONDS], --long [MINUTES], --adopt, --sum" >&2; exit 2 ;;
esac
