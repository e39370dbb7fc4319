#!/usr/bin/env bash
# The whole check, on a plain Debian 12 machine: installs what it needs, then format, build, include rules,
# unit tests, sanitizers, and end-to-end tests on the virtual fabric. Exit 0 only when every step passed.
#   deploy/check.sh              the short check (every kind of test once)
#   deploy/check.sh --full       with the issues' counts: more launches, more kills, whole-tree clang-tidy
#   deploy/check.sh --only STEP  one step: format build unit none tidy asan tsan e2e compare path
#   deploy/check.sh --no-fabric  leave out what boots guests (then the check is not complete, and says so)
set -uo pipefail
cd "$(dirname "$0")/.." || exit 4
. deploy/compile_cache.sh

full=0 only="" fabric=1
while [ $# -gt 0 ]; do
  case "$1" in
    --full) full=1 ;;
    --no-fabric) fabric=0 ;;
    --only) only=${2:?check.sh: --only needs a step}; shift ;;
    *) echo "check.sh: unknown option $1; allowed: --full, --no-fabric, --only STEP" >&2; exit 2 ;;
  esac
  shift
done
steps="deps format build unit none tidy asan tsan e2e compare path"
case " $steps  " in *" $only "*) ;; *) echo "check.sh: --only $only: no such step; allowed: $steps" >&2; exit 2 ;; esac
export RAILGAUGE_CHECK_FULL=$full
logs=build/check
mkdir -p "$logs"
passed=0 failed=0 skipped=0 failed_steps=()
began=$(date +%s)

# step NAME TITLE COMMAND...: one line a step; the log's tail when it fails.
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
    echo "    whole log: $logs/$name.log; again: deploy/check.sh --only $name"
  fi
}

# What a step's log says of its failures, in a few lines: who sees only the end of the output sees the cause.
essence() {
  grep -nE -A 4 'FAILED  \]|Failure$|ERROR: |WARNING: ThreadSanitizer|runtime error|(error|fatal):| error: |\*\*\*(Failed|Timeout|Exception)' "$logs/$1.log" |
    head -n 60 | cut -c 1-220 | sed "s/^/  $1: /"
}

tracked() { git ls-files -co --exclude-standard "$@"; }

format() {
  ! git grep -nE '^@[A-Z]+@$' -- README.md || return  # an output that was never pasted
  tracked '*.h' '*.cc' '*.cu' | xargs clang-format --dry-run -Werror || return
  { tracked '*.sh'; echo deploy/vfabric/vfabric; echo .ci/run; } | xargs shellcheck -x -S warning || return
  # A path of the machine that it was written on helps nobody.
  ! git grep -nIE '(^|[^]A-Za-z0-9_"}*/])/(home|root)/[a-z]' -- ':!deploy/check.sh' || return
}
configure_and_build() { cmake --preset "$1" && name_precompiled "build/$1" && cmake --build "build/$1" "${@:2}"; }
# tests PRESET JOBS MAX-MISSED CTEST-ARGUMENTS...: Tests of real processes have deadlines, and two at once on two busy
# cores miss one now and then. Those that failed, if few, are run once more, each alone; one that passes only so is
# counted as passed and named at the end, for it is to be mended. What a sanitizer reported stands: it is not chance.
alone=$logs/passed_only_alone
rm -f "$alone"
tests() {
  local preset=$1 jobs=$2 most=$3 tree=build/$1 missed; shift 3
  ctest --test-dir "$tree" "$@" -j"$jobs" --output-on-failure --no-tests=error && return
  ! grep -qE 'WARNING: ThreadSanitizer|ERROR: (Address|Leak)Sanitizer|runtime error:' "$tree/Testing/Temporary/LastTest.log" || return
  mapfile -t missed < <(sed 's/^[0-9]*://' "$tree/Testing/Temporary/LastTestsFailed.log")
  [ ${#missed[@]} -ge 1 ] && [ ${#missed[@]} -le "$most" ] || return 1
  echo "once more, alone: ${missed[*]}"
  ctest --test-dir "$tree" -R "^($(IFS='|'; echo "${missed[*]}"))\$" -j1 --output-on-failure --no-tests=error &&
    printf "$preset %s\n" "${missed[@]}" >>"$alone"
}
unit() { tests ci 2 3 -L unit; }
# "With CUDA and with none": on a machine without nvcc (CI's) all other steps are the leg with none, so this one has
# nothing to add. Where nvcc is, a tree without it is configured and its device code compiled, the only files that
# differ; what a program does with them is no_device_code_test, a unit test of every build.
none() {
  grep -q '^RAILGAUGE_NVCC:.*=/' build/ci/CMakeCache.txt || { echo "no nvcc here: the whole check is without it"; return 0; }
  local tree=build/ci-none objects
  cmake --preset ci -B $tree -DRAILGAUGE_NVCC= -DCMAKE_OPTIMIZE_DEPENDENCIES=ON || return
  grep -q '^RAILGAUGE_NVCC:[A-Z]*=$' $tree/CMakeCache.txt || { echo "nvcc is found although it was declined"; return 1; }
  mapfile -t objects < <(ninja -C $tree -t targets all | sed -n 's/^\([^:]*_code\.dir\/[^:]*\.o\): .*/\1/p')
  [ ${#objects[@]} -ge 4 ] || { echo "${#objects[@]} files of device code are known, at least 4 were expected"; return 1; }
  cmake --build $tree --target "${objects[@]}" || return
  ! grep -rl --include='k*Code.cc' kPtx $tree/kernels || { echo "device code in a build without nvcc"; return 1; }
}
# clang-tidy reads a file in seconds, one with gRPC in half a minute: the short check reads the pure core.
tidy() {
  local files
  if [ "$full" = 1 ]; then files=$(tracked '*.cc'); else
    files=$(tracked 'kernels/core/*.cc' 'controller/plan/*.cc' 'controller/run/*.cc' | grep -v -E '_(test|bench)\.cc$'); fi
  # Without GCC's precompiled headers, which clang cannot read.
  mkdir -p build/tidy
  sed 's/-Winvalid-pch -include [^ ]*cmake_pch.hxx//' build/ci/compile_commands.json >build/tidy/compile_commands.json
  echo "$files" | xargs -P 2 -n 3 clang-tidy -p build/tidy --quiet
}
# What the sanitizers read: memory where strangers' bytes and C handles are, threads where there are several.
# gRPC's own library is not instrumented, so its programs are left to --full under the address sanitizer only.
asan_programs=(core_test kernel_contract_test verbs_test net_test fake_verbs_test bar_test fake_cuda_test gpu_contract_test gpu_session_test
  nccl_collectives_test runner_test plan_test store_test store_fault_test run_machines_test compare_table_test vfabric_switch_test)
tsan_programs=(core_test runner_test store_test event_loop_test fake_cuda_test cuda_lanes_test gpu_session_test net_test nccl_test
  nccl_collectives_test verbs_links_test)
sanitized() {
  local preset=$1 regex; shift
  [ "$full$preset" != 1asan ] || set -- all
  regex="^($(IFS='|'; echo "$*"))\$"
  [ "$1" != all ] || regex=.
  configure_and_build "$preset" --target "$@" &&
    tests "$preset" 2 2 -L unit -R "$regex"
}
e2e() {
  local label='^e2e$'
  [ "$full" = 0 ] || label='^e2e'
  tests ci 1 1 -L "$label"
}

# Noise that forbids a statement is no failure of the programs and no pass: it is counted as skipped. --full insists,
# and measures the whole table. Without perftest there is nothing to hold against.
compare() {
  local code=0
  deploy/compare_perftest.sh || code=$?
  case $full$code in 03 | 04 | ?5) return 77 ;; *) return $code ;; esac
}
post_path() {
  local code=0
  deploy/compare_post_path.sh || code=$?
  case $code in 5) return 77 ;; *) return $code ;; esac
}

step deps "packages" deploy/deps.sh --yes
step format "clang-format, shellcheck" format
step build "configure and build (preset ci)" configure_and_build ci
step unit "unit tests and include rules" unit
step none "configure and device code without nvcc" none
step tidy "clang-tidy" tidy
step asan "address and undefined behaviour sanitizers" sanitized asan "${asan_programs[@]}"
step tsan "thread sanitizer" sanitized tsan "${tsan_programs[@]}"
if [ "$fabric" = 1 ]; then
  step e2e "end to end on the virtual fabric" e2e
  step compare "held against perftest" compare
  [ "$full$only" = 0 ] || step path "instructions of a post, held against perftest" post_path
fi

for name in "${failed_steps[@]}"; do essence "$name"; done
[ ! -e "$alone" ] || { for name in unit asan tsan e2e; do [ ! -e "$logs/$name.log" ] || grep -A 4 'Failure$' "$logs/$name.log" | head -n 20; done
  echo "passed only alone, to be mended: $(paste -sd ',' "$alone")"; }
echo "check took $((($(date +%s) - began) / 60)) min $((($(date +%s) - began) % 60)) s; logs in $logs"
[ "$fabric" = 1 ] || echo "not complete: --no-fabric left out e2e and compare"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
