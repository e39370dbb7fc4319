#!/usr/bin/env bash
# Checks the tree on a plain Debian 12 machine: installs packages, then format, rules of the house, build, unit tests,
# sanitizers, and end-to-end tests on the virtual fabric. Exit 0 only when every step passed.
#   deploy/check.sh              the short check; its measured time is in deploy/docs/results/check.md
#   deploy/check.sh --only STEP  one step of it: format house build unit none asan tsan fuzz e2e
#   deploy/check.sh --no-fabric  leaves out the step that boots guests, and reports that the check is not complete
#   deploy/check.sh --full PART  one part of the long check, at most 60 minutes; the result is kept by commit
#   deploy/check.sh --full       lists the parts, their last results, and whether each result is of this commit
set -uo pipefail
cd "$(dirname "$0")/.." || exit 4
. deploy/compile_cache.sh

steps="deps format house build unit none asan tsan fuzz e2e"
parts="unit asan tsan grpc-asan grpc-tsan fuzz chaos standby nights truth tidy-kernels tidy-agent tidy-controller headers demo e2e pairs upgrade stalls coverage corruption packages bundle services versions slurm images kubernetes aarch64 rebuild compare path"
kept=deploy/docs/results/full-check.tsv

# The purpose of each part of the long check, for the list.
title_of() {
  case $1 in
    unit) echo "unit tests with the issues' counts of kills and rounds" ;;
    asan) echo "every program without gRPC under the address and undefined behaviour sanitizers" ;;
    tsan) echo "every threaded program without gRPC under the thread sanitizer" ;;
    grpc-asan) echo "the programs with gRPC under the address and undefined behaviour sanitizers" ;;
    grpc-tsan) echo "controller and agent under the thread sanitizer" ;;
    fuzz) echo "fuzz targets from the kept corpora, 45 minutes on two cores" ;;
    chaos) echo "1,000 seeds of kills, partitions, spoilt streams, jumping clocks and full disks; rows of chaos.tsv" ;;
    standby) echo "two controllers: cuts, PostgreSQL away for 10 minutes, slow and full; then kills of the active one; rows of standby*.tsv" ;;
    nights) echo "two times 90 nights of 16 modelled nodes on a simulated clock" ;;
    truth) echo "faults of 64 modelled nodes found by the whole service, ten seeds a kind over several parts" ;;
    tidy-*) echo "clang-tidy on every source of ${1#tidy-}" ;;
    headers) echo "each source by itself, without precompiled headers: it includes what it uses" ;;
    demo) echo "the newcomer's demo: the shipped build and one run on guests" ;;
    e2e) echo "end to end on the host and on guests" ;;
    pairs) echo "localisation on four guests" ;;
    upgrade) echo "a kernel upgrade on seven guests" ;;
    stalls) echo "a sender that stalls after an upgrade, on seven guests" ;;
    coverage) echo "the tables of coverage and pauses again, beside the kept pages" ;;
    corruption) echo "the table of wrong messages again, beside the kept page" ;;
    packages) echo "packages in a clean root: install, a measured pair, upgrade, remove, purge" ;;
    bundle) echo "the bundle in a bare root: its content, a run of a suite, the demo" ;;
    services) echo "packages under a real systemd in two guests: notify, watchdog, reboots, upgrade from the last release, purge" ;;
    versions) echo "agents and controllers of the last release beside this one, a controller replaced while a run measures" ;;
    slurm) echo "Debian's Slurm of one node: hooks, verdicts, draining, a run in a reservation" ;;
    images) echo "container images on a base from debootstrap; by runc a measured pair, of enrolled nodes and of pods too" ;;
    kubernetes) echo "chart, kustomization and boards against published schemas, from npm" ;;
    aarch64) echo "cross-built for aarch64 and run under emulation: versions, unit programs, a measured pair" ;;
    rebuild) echo "two small programs of the release built at two paths without a cache: the same bytes" ;;
    compare) echo "compared with perftest, whole table" ;;
    path) echo "instructions of a post, compared with perftest" ;;
  esac
}

# Prints each part's last result and whether it is of this commit.
list_parts() {
  local part row commit
  commit=$(git rev-parse --short=10 HEAD)
  for part in $parts; do
    row=$(awk -F '\t' -v part="$part" '$1 == part { row = $0 } END { print row }' "$kept" 2>/dev/null)
    if [ -z "$row" ]; then printf '%-15s never run      %s\n' "$part" "$(title_of "$part")"; continue; fi
    printf '%-15s %-14s %s\n' "$part" "$([ "$(cut -f 2 <<<"$row")" = "$commit" ] && echo "this commit" || echo "another commit")" \
      "$(awk -F '\t' '{ printf "%s at %s on %s, %d min %d s: %s", $4, $2, $3, $5 / 60, $5 % 60, $6 }' <<<"$row")"
  done
}

full=0 only="" fabric=1 part=""
while [ $# -gt 0 ]; do
  case "$1" in
    --full) full=1 part=${2:-}; [ $# = 1 ] || shift ;;
    --no-fabric) fabric=0 ;;
    --only) only=${2:?check.sh: --only needs a step}; shift ;;
    *) echo "check.sh: unknown option $1; allowed: --full [PART], --no-fabric, --only STEP" >&2; exit 2 ;;
  esac
  shift
done
case " $steps  " in *" $only "*) ;; *) echo "check.sh: --only $only: no such step; allowed: $steps" >&2; exit 2 ;; esac
case " $parts  " in *" $part "*) ;; *) echo "check.sh: --full $part: no such part; allowed: $parts" >&2; exit 2 ;; esac
if [ "$full" = 1 ] && [ -z "$part" ]; then list_parts; exit 0; fi
export RAILGAUGE_CHECK_FULL=$full
logs=build/check
mkdir -p "$logs"
passed=0 failed=0 skipped=0 failed_steps=()
began=$(date +%s)

# step NAME TITLE COMMAND...: runs a step and prints one line, and its log's tail when it fails. 77 is no statement.
step() {
  local name=$1 title=$2; shift 2
  [ -z "$only" ] || [ "$only" = "$name" ] || return 0
  local from; from=$(date +%s)
  printf '%-8s %s ... ' "$name" "$title"
  local code=0
  "$@" >"$logs/$name.log" 2>&1 || code=$?
  if [ $code = 0 ]; then
    passed=$((passed + 1)); echo "ok ($(($(date +%s) - from)) s)"
  elif [ $code = 77 ]; then
    skipped=$((skipped + 1)); echo "no statement ($(($(date +%s) - from)) s): $(tail -n 1 "$logs/$name.log")"
  else
    failed=$((failed + 1)); failed_steps+=("$name"); echo "FAILED ($(($(date +%s) - from)) s)"
    tail -n 60 "$logs/$name.log" | sed 's/^/    /'
    echo "    whole log: $logs/$name.log; again: deploy/check.sh $([ -n "$part" ] && echo "--full $part" || echo "--only $name")"
  fi
}

# Prints the lines of a step's log that name its failures, for a reader who sees only the end of the output.
essence() {
  grep -nE -A 4 'FAILED  \]|Failure$|ERROR: |WARNING: ThreadSanitizer|runtime error|left running|(error|fatal):| error: |\*\*\*(Failed|Timeout|Exception)' "$logs/$1.log" |
    head -n 60 | cut -c 1-220 | sed "s/^/  $1: /"
}

tracked() { git ls-files -co --exclude-standard "$@"; }

format() {
  ! git grep -nE '^@[A-Z]+@$' -- README.md || return  # an output that was never pasted
  tracked '*.h' '*.cc' '*.cu' | xargs -P 2 -n 200 clang-format --dry-run -Werror || return
  { tracked '*.sh'; echo deploy/vfabric/vfabric; echo .ci/run; } | xargs shellcheck -x -S warning || return
  # A path below /home or /root exists on its author's machine only.
  ! git grep -nIE '(^|[^]A-Za-z0-9_"}*/])/(home|root)/[a-z]' -- ':!deploy/check.sh' || return
}
house() { deploy/check_includes.sh && deploy/check_includes_test.sh && deploy/house_test.sh && deploy/house.sh --check; }
configure_and_build() { cmake --preset "$1" && name_precompiled "build/$1" && cmake --build "build/$1" "${@:2}"; }
# build_programs [PATTERN]: builds what is installed, the fakes that its tests measure with, and targets of a pattern.
build_programs() {
  local programs
  cmake --preset ci && mapfile -t programs < <(ninja -C build/ci -t targets all |
    sed -nE 's/^(railgauge(-(agent|console|controller|fleet|launch-shim|node-facts|runner(-mpich|-openmpi)?))?|[a-z-]+-fake'"${1:+|$1}"'): phony$/\1/p')
  [ ${#programs[@]} -ge 12 ] || { echo "${#programs[@]} programs and fakes are known, at least 12 were expected"; return 1; }
  configure_and_build ci --target "${programs[@]}"
}

# Prints the processes of this tree that outlived their test, and fails when there is one.
leftovers() {
  local pid left=""
  for pid in $(pgrep -f railgauge || true); do
    case "$(readlink "/proc/$pid/exe" 2>/dev/null)" in
      "$PWD"/build/* | */railgauge-bundle.*) left+="$pid $(tr '\0' ' ' <"/proc/$pid/cmdline" | cut -c 1-160)"$'\n' ;;
    esac
  done
  [ -z "$left" ] && return
  printf 'left running after the tests:\n%s' "$left"
  return 1
}
# tests PRESET JOBS MAX-MISSED CTEST-ARGUMENTS...: tests of real processes have deadlines, and two at once on two busy
# cores miss one now and then. Up to MAX-MISSED failed tests run once more, each alone. A test that passes only alone
# counts as passed and is named at the end, because it needs mending. A sanitizer's report is never chance.
alone=$logs/passed_only_alone
rm -f "$alone"
tests() {
  local preset=$1 jobs=$2 most=$3 tree=build/$1 missed; shift 3
  if ! ctest --test-dir "$tree" "$@" -j"$jobs" --output-on-failure --no-tests=error; then
    ! grep -qE 'WARNING: ThreadSanitizer|ERROR: (Address|Leak)Sanitizer|runtime error:' "$tree/Testing/Temporary/LastTest.log" || return
    mapfile -t missed < <(sed 's/^[0-9]*://' "$tree/Testing/Temporary/LastTestsFailed.log")
    [ ${#missed[@]} -ge 1 ] && [ ${#missed[@]} -le "$most" ] || return 1
    echo "once more, alone: ${missed[*]}"
    ctest --test-dir "$tree" -R "^($(IFS='|'; echo "${missed[*]}"))\$" -j1 --output-on-failure --no-tests=error || return
    printf "$preset %s\n" "${missed[@]}" >>"$alone"
  fi
  leftovers
}
# Most tests of processes wait, so four share two cores. The label long marks tests that the short check leaves out.
unit() { if [ "$full" = 1 ]; then tests ci 4 3 -L unit; else tests ci 4 3 -L unit -LE long; fi; }
# Without nvcc (as in CI) every other step builds without CUDA, so this one adds nothing. With nvcc, the step configures
# a tree without it and compiles its device code, the only files that differ; no_device_code_test, a unit test of every
# build, runs the programs.
none() {
  grep -q '^RAILGAUGE_NVCC:.*=/' build/ci/CMakeCache.txt || { echo "no nvcc here: the whole check is without it"; return 0; }
  local tree=build/ci-none objects
  cmake --preset ci -B $tree -DRAILGAUGE_NVCC= -DCMAKE_OPTIMIZE_DEPENDENCIES=ON || return
  grep -q '^RAILGAUGE_NVCC:[A-Z]*=$' $tree/CMakeCache.txt || { echo "nvcc is found although it was declined"; return 1; }
  mapfile -t objects < <(ninja -C $tree -t targets all | sed -n 's/^\([^:]*_code\.dir\/[^:]*\.o\): .*/\1/p')
  [ ${#objects[@]} -ge 4 ] || { echo "${#objects[@]} files of device code are known, at least 4 were expected"; return 1; }
  cmake --build $tree --target "${objects[@]}" || return
  ! find $tree/kernels -name 'k*Code.cc' -print0 | xargs -0 grep -l kPtx || { echo "device code in a build without nvcc"; return 1; }
}
# tidy FOLDER...: clang-tidy on the sources of folders. It reads a unit in seconds, one with gRPC in half a minute.
tidy() {
  # A command for each unit, without precompiled headers. CMake ends clang's own commands in words that clang-tidy
  # takes for a file, so these are GCC's.
  cmake --preset ci -B build/tidy -DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++ -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >/dev/null || return
  sed -i "s,$PWD/build/tidy,$PWD/build/ci,g" build/tidy/compile_commands.json
  deploy/house/tidy.py build/tidy "$@"
}
# The short check runs the address sanitizer on rooms that parse foreign bytes or hold C handles, and the thread
# sanitizer on rooms with several threads, in programs that share most objects. A cold build of all programs took
# 38 minutes on two cores, so --full alone checks the planner, the store and the catalog of kernels. gRPC's library is
# not instrumented: programs that use gRPC run in parts of --full of their own, under the thread sanitizer with
# deploy/tsan_suppressions.txt.
asan_programs=(core_test fake_verbs_test vfabric_switch_test)
tsan_programs=(core_test event_loop_test)
full_tsan_programs=(core_test relay_test runner_test store_test event_loop_test fake_cuda_test cuda_lanes_test gpu_session_test net_test nccl_test
  nccl_collectives_test verbs_links_test)
# Controller and agent: servers, links, and the programs themselves as processes.
grpc_tsan_programs=(controller_test controller_server_test schedules_test agent_link_test controller_process_test busy_process_test)
# programs_of PRESET CTEST-ARGUMENTS...: the test programs that ctest selects, which are targets of the same name.
programs_of() {
  local preset=$1; shift
  cmake --preset "$preset" >/dev/null && comm -12 <(ctest --test-dir "build/$preset" -N "$@" | sed -n 's/^ *Test *#[0-9]*: //p' | sort) \
    <(ninja -C "build/$preset" -t targets all | sed -n 's/^\([a-z_0-9]*\): phony$/\1/p' | sort)
}
sanitized() {
  local preset=$1 programs; shift
  programs=("$@")
  case $1 in
    plain) mapfile -t programs < <(programs_of "$preset" -L unit -LE rpc) ;;
    rpc) mapfile -t programs < <(programs_of "$preset" -L rpc) ;;
  esac
  [ ${#programs[@]} -gt 0 ] || { echo "no program is known"; return 1; }
  configure_and_build "$preset" --target "${programs[@]}" &&
    tests "$preset" 2 2 -L unit -R "^($(IFS='|'; echo "${programs[*]}"))\$"
}
# Fails on a source that uses a header which only the precompiled headers include, or that GCC warns of. GCC reads each
# source without making code, which takes a third of a build's time; generated sources are made first.
headers() {
  local tree=build/headers
  cmake --preset ci -B $tree -DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++ -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DRAILGAUGE_UNITY=OFF || return
  ninja -C $tree -t targets all | sed -n 's/^\(.*\.pb\.h\|.*_code\.cc\|.*Code\(_none\)\?\.cc\|.*commit\.cc\): CUSTOM_COMMAND.*/\1/p' | xargs ninja -C $tree || return
  ninja -C $tree headers_alone || return
  deploy/house/headers.py $tree
}
# Rounds continue from the last seed of the kept table, so that parts add up.
chaos() {
  local table=deploy/docs/results/chaos.tsv seed
  seed=$(awk -F '\t' 'NR > 1 { split($3, seeds, "-"); last = seeds[2] } END { print last + 1 }' "$table")
  RAILGAUGE_BUILD_DIR=$PWD/build/ci RAILGAUGE_CHAOS_TABLE=$PWD/$table deploy/e2e/chaos_seeds.sh 1000 "$seed" 5 6 && leftovers
}
# Each part adds rows of counts, so that parts of one commit add up: no statement before there are 200.
standby_kills() {
  local table=$PWD/deploy/docs/results/standby-kills.tsv kept code=0
  kept=$(. deploy/e2e/standby_judge.sh && kept_kills "$(git rev-parse --short=10 HEAD)" <"$table")
  [ "$kept" -lt 200 ] || return 0
  RAILGAUGE_BUILD_DIR=$PWD/build/ci STANDBY_KILLS_TABLE=$table deploy/e2e/standby_kills.sh $((200 - kept)) 4 30 || code=$?
  leftovers || return
  return $code
}
# Rows are kept by commit, so that parts go on where the last one ended.
truth() {
  deploy/truth.sh --build build/ci --minutes 50 --keep deploy/docs/results/kept/truth.tsv && leftovers
}
# e2e [SUFFIX]: label e2e_long marks tests that run for minutes, most on guests; the short check leaves them out. Tests
# that mostly wait run two at once; RUN_SERIAL marks the others.
e2e() { tests ci 2 1 -L "^e2e${1:-}\$"; }

# The folder of the last release's packages; built once a commit.
previous() { deploy/packages/previous.sh; }

# Noise that forbids a statement is neither a failure of the programs nor a pass: exit code 77, counted as skipped.
compare() { local code=0; deploy/compare_perftest.sh || code=$?; case $code in 5) return 77 ;; *) return $code ;; esac; }
post_path() { local code=0; deploy/compare_post_path.sh || code=$?; case $code in 5) return 77 ;; *) return $code ;; esac; }

# Runs one part of the long check and keeps its result.
run_part() {
  case $part in
    aarch64) step deps "packages" deploy/deps.sh --cross --yes ;;
    *) step deps "packages" deploy/deps.sh --yes ;;
  esac
  case $part in
    unit | chaos | standby | nights | truth | e2e | pairs | upgrade | stalls | corruption | tidy-*) step build "configure and build (preset ci)" configure_and_build ci ;;
    coverage) step build "configure and build (preset release)" configure_and_build release --target coverage_bench stalls_bench ;;
    bundle) step build "configure, and build the programs (preset ci)" build_programs '[a-z]+(_[a-z]+)?_gpu_test' ;;
    images | packages | services | versions | slurm) step build "configure, and build the programs (preset ci)" build_programs ;;
    compare | path)
      step build "configure and build (preset release)" configure_and_build release --target railgauge-runner compare_launches vfabric-switch ibverbs-counted
      export RAILGAUGE_BUILD_DIR=$PWD/build/release
      ;;
  esac
  case $part in
    unit) step unit "$(title_of unit)" unit ;;
    asan) step asan "$(title_of asan)" sanitized asan plain ;;
    tsan) step tsan "$(title_of tsan)" sanitized tsan "${full_tsan_programs[@]}" ;;
    grpc-asan) step asan "$(title_of grpc-asan)" sanitized asan rpc ;;
    grpc-tsan)
      export TSAN_OPTIONS="suppressions=$PWD/deploy/tsan_suppressions.txt history_size=4 ${TSAN_OPTIONS:-}"
      step tsan "$(title_of grpc-tsan)" sanitized tsan "${grpc_tsan_programs[@]}"
      ;;
    fuzz) step fuzz "$(title_of fuzz)" deploy/fuzz.sh --long 45 ;;
    chaos) step chaos "$(title_of chaos)" chaos ;;
    truth) step truth "$(title_of truth)" truth ;;
    standby)
      step drills "cuts, and PostgreSQL away, slow and full" env RAILGAUGE_BUILD_DIR="$PWD/build/ci" STANDBY_NODES=64 \
        STANDBY_ROWS="$PWD/deploy/docs/results/standby.tsv" deploy/e2e/standby.sh
      step kills "200 kills of the active one, as many as 30 minutes allow at a time" standby_kills
      step cost "what acknowledge=mirror costs" env RAILGAUGE_BUILD_DIR="$PWD/build/ci" STANDBY_COST_ROWS="$PWD/deploy/docs/results/standby-cost.tsv" deploy/e2e/standby_cost.sh
      ;;
    nights) NIGHTS=90 step nights "$(title_of nights)" tests ci 1 0 -R '^e2e_nights$' ;;
    tidy-agent) step tidy "$(title_of "$part")" tidy agent deploy ;;
    tidy-*) step tidy "$(title_of "$part")" tidy "${part#tidy-}" ;;
    headers) step headers "$(title_of headers)" headers ;;
    demo) step demo "$(title_of demo)" deploy/demo.sh --yes ;;
    e2e) step e2e "$(title_of e2e)" e2e "(_long)?" ;;
    pairs) step pairs "$(title_of pairs)" tests ci 1 0 -R '^e2e_pairs$' ;;
    upgrade) step upgrade "$(title_of upgrade)" tests ci 1 0 -R '^e2e_upgrade$' ;;
    stalls) step stalls "$(title_of stalls)" tests ci 1 0 -R '^e2e_stalls$' ;;
    coverage)
      step coverage "coverage of the intervals" deploy/coverage.sh build/release 200 "$PWD/$logs/coverage.md"
      step pauses "pauses and who finds them" build/release/bin/stalls_bench
      ;;
    corruption) step corruption "$(title_of corruption)" deploy/corruption.sh --bin build/ci/bin --page "$PWD/$logs/corruption.md" ;;
    packages)
      step previous "packages of the last release" previous
      step packages "$(title_of packages)" env RAILGAUGE_BUILD_DIR=build/ci RAILGAUGE_PREVIOUS="$(previous)" deploy/packages/clean_root.sh
      ;;
    services | versions)
      step previous "packages of the last release" previous
      export RAILGAUGE_BUILD_DIR=$PWD/build/ci
      case $part in
        services) step services "$(title_of services)" deploy/packages/systemd_guests.sh ;;
        versions) step versions "$(title_of versions)" deploy/packages/versions.sh ;;
      esac
      ;;
    bundle) step bundle "$(title_of bundle)" env RAILGAUGE_BUILD_DIR=build/ci deploy/bundle_test.sh ;;
    slurm) step slurm "$(title_of slurm)" env RAILGAUGE_BUILD_DIR=build/ci deploy/e2e/slurm.sh ;;
    images) step images "$(title_of images)" env RAILGAUGE_BUILD_DIR=build/ci deploy/container/images_test.sh ;;
    kubernetes) step kubernetes "$(title_of kubernetes)" sh -c "deploy/kubernetes/tools.sh && dashboards/schema_tools.sh && deploy/kubernetes/kubernetes_test.sh && dashboards/schema_test.sh" ;;
    aarch64)
      step build "cross build (preset aarch64)" deploy/cross.sh --build
      step aarch64 "$(title_of aarch64)" deploy/cross.sh --run
      ;;
    rebuild) step rebuild "$(title_of rebuild)" deploy/rebuild_test.sh ;;
    compare) step compare "$(title_of compare)" compare ;;
    path) step path "$(title_of path)" post_path ;;
  esac
}
# keep_result: writes the row of this part, newest last: part, commit, date, result, seconds, counts.
keep_result() {
  local result=passed dirty=""
  [ "$skipped" = 0 ] || result="no statement"
  [ "$failed" = 0 ] || result=failed
  # The kept results of other parts change no program.
  git diff --quiet HEAD -- . ':!deploy/docs/results' || dirty=+changes
  mkdir -p "$(dirname "$kept")"
  { [ ! -e "$kept" ] || awk -F '\t' -v part="$part" '$1 != part' "$kept"
    printf '%s\t%s%s\t%s\t%s\t%s\t%s\n' "$part" "$(git rev-parse --short=10 HEAD)" "$dirty" "$(date -u +%F)" "$result" \
      "$(($(date +%s) - began))" "$passed passed, $failed failed, $skipped skipped"; } >"$kept.draft" && mv "$kept.draft" "$kept"
}

if [ -n "$part" ]; then
  run_part
  keep_result
else
  step deps "packages" deploy/deps.sh --yes
  step format "clang-format, shellcheck" format
  step house "include rules and the house's bounds" house
  step build "configure and build (preset ci)" configure_and_build ci
  step unit "unit tests" unit
  step none "configure and device code without nvcc" none
  step asan "address and undefined behaviour sanitizers" sanitized asan "${asan_programs[@]}"
  step tsan "thread sanitizer" sanitized tsan "${tsan_programs[@]}"
  step fuzz "fuzz targets, 5 s each" deploy/fuzz.sh --check
  [ "$fabric" = 0 ] || step e2e "end to end on the virtual fabric" e2e
fi

for name in "${failed_steps[@]}"; do essence "$name"; done
[ ! -e "$alone" ] || { for name in unit asan tsan e2e; do [ ! -e "$logs/$name.log" ] || grep -A 4 'Failure$' "$logs/$name.log" | head -n 20; done
  echo "passed only alone, to be mended: $(paste -sd ',' "$alone")"; }
echo "check took $((($(date +%s) - began) / 60)) min $((($(date +%s) - began) % 60)) s; logs in $logs"
[ "$fabric" = 1 ] || echo "not complete: --no-fabric left out e2e"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
