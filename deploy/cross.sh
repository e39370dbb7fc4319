#!/usr/bin/env bash
# Builds agent, runner, CLI and unit programs for aarch64 on a machine of another processor, and runs them under emulation.
# qemu emulates a process for versions and pure unit programs. It emulates a machine with Debian's arm64 kernel for a measured
# pair and for unit programs that need a whole kernel. An emulated time is no figure of a machine.
#   deploy/cross.sh            build in build/aarch64, and run
#   deploy/cross.sh --build    build alone
#   deploy/cross.sh --run      run what is built
# Exit 77 without clang, lld, qemu or a Debian mirror.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/e2e/lib.sh"
cd "$top"
. deploy/compile_cache.sh
case "${1:-}" in --build | --run | "") ;; *) echo "cross.sh: unknown option $1; allowed: --build, --run" >&2; exit 2 ;; esac
for tool in clang++ ld.lld qemu-aarch64 readelf jq; do command -v $tool >/dev/null || { echo "waived: no $tool here; deploy/deps.sh --cross installs it"; exit 77; }; done
products=(railgauge railgauge-agent railgauge-runner railgauge-launch-shim railgauge-node-facts)
# Pure rooms by an emulated process.
units=(memory_test dl_test host_cost_test log_test plan_test run_machines_test agent_checks_test)
# By an emulated machine: Landlock, children and the keeper, which an emulated process has not, and the processor's counter.
whole=(core_test launch_test)
# The statistics of core_test last for minutes there and are no code of a processor.
filter='MonotonicNow*:Clocksource*:TickClock*:Sampler.*:StartProgram*:ForkProcess*:WaitForEnd*:Descendants*:RelayTest*:TcpGroupTest*:FdTest*'
tree=$top/build/aarch64
root=$(deploy/cross/root.sh) || { echo "$root"; exit 77; }

if [ "${1:-}" != --run ]; then
  cmake --preset aarch64 -DRAILGAUGE_ROOT="$root" >"$work/configure.log" 2>&1 || { tail "$work/configure.log"; exit 1; }
  name_precompiled "$tree"
  cmake --build "$tree" --target "${products[@]}" "${units[@]}" "${whole[@]}"
fi
[ "${1:-}" != --build ] || exit 0

emulated() { qemu-aarch64 -L "$root" "$tree/bin/$1" "${@:2}"; }
# By the files: the processor, and the lowest C library, which is that of a bundle for amd64.
is_of_the_processor() {
  local program
  for program in "${products[@]}"; do readelf -h "$tree/bin/$program" | grep -E 'Machine: +AArch64' >/dev/null || { echo "$program is for another processor"; return 1; }; done
  deploy/bundle_symbols.sh "${products[@]/#/$tree/bin/}"
  deploy/bundle_symbols.sh --lowest "${products[@]/#/$tree/bin/}"
}
names_its_version() {
  local program
  for program in railgauge railgauge-agent railgauge-runner; do
    emulated $program --version | tee "$work/version"
    grep -qE "^$program [0-9.]+ .*commit ([0-9a-f]{10}|unknown)" "$work/version"
  done
}
lists_its_kernels() { emulated railgauge-runner --list --format json | jq -e '.kernels | length > 50'; }
# ctest's 5 minutes are short for an emulated program on a busy machine.
runs() { RAILGAUGE_BUILD_DIR=$tree timeout 1200 qemu-aarch64 -L "$root" "$tree/bin/$1" --gtest_brief=1; }

# The guest runs these: each output is between a line "begin NAME" and a line "end NAME CODE".
cat >"$work/script" <<'G'
export RAILGAUGE_BUILD_DIR=  # programs are in /bin
of() { echo "begin $1"; shift; code=0; "$@" || code=$?; echo "end $name $code"; }
for name in net.tcp_lat net.tcp_bw; do
  railgauge-runner $name --set address=127.0.0.1 --listen 127.0.0.1:20000 --deadline 240s >/dev/null 2>&1 &
  of $name railgauge-runner $name --set address=127.0.0.1 --connect 127.0.0.1:20000 --deadline 240s --format json
  wait $!
done
G
for name in "${whole[@]}"; do printf 'name=%s; of %s %s --gtest_brief=1 %s 2>&1\n' "$name" "$name" "$name" "$([ "$name" != core_test ] || echo "--gtest_filter='$filter'")"; done >>"$work/script"
boots_a_guest() {
  local code=0
  deploy/cross/guest.sh "$root" "$work/script" "$tree/bin/railgauge-runner" "$tree/bin/railgauge-launch-shim" "${whole[@]/#/$tree/bin/}" >"$work/guest" 2>&1 || code=$?
  [ $code = 0 ] || tail -n 20 "$work/guest"
  return $code
}
output_of() { sed -n "/^begin $1\$/,/^end $1 /p" "$work/guest" | sed '1d;$d'; }
# The counter, the timer's overhead, TCP and the proof of the bytes, between two processes.
measures_a_pair() {
  local kernel
  for kernel in net.tcp_lat net.tcp_bw; do
    output_of $kernel | jq -c '[.kernel, .outcome, .started.facts.clock_source, [.points[].median]]'
    output_of $kernel | jq -e '.outcome == "passed" and .started.facts.clock_source == "cntvct" and (.points | length > 0)
      and all(.points[]; .median > 0 and .verified)'
  done
}
passed_in_the_guest() { output_of "$1" | tail -n 40; grep -qx "end $1 0" "$work/guest"; }

check "each program is for aarch64" is_of_the_processor
check "each names its version" names_its_version
check "the runner lists its kernels" lists_its_kernels
for unit in "${units[@]}"; do check "$unit" runs "$unit"; done
check "a guest of this processor boots, runs all and ends" boots_a_guest
check "two runners measure there as a pair, by the processor's own counter" measures_a_pair
for unit in "${whole[@]}"; do check "$unit in the guest" passed_in_the_guest "$unit"; done
summary
