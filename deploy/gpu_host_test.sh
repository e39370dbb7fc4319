#!/usr/bin/env bash
# Tests gpu_host.sh where there is no GPU: wrong use, a host without one, and two fake GPUs, between which the suspects
# are asked for. Figures of fakes are made up, so that no GPU is named.
# shellcheck source-path=SCRIPTDIR
set -euo pipefail
. "$(dirname "$0")/e2e/lib.sh"
cd "$top"
code=0
fails() { echo "gpu_host_test: $*"; cat "$work/out"; exit 1; }
host() { code=0; deploy/gpu_host.sh --bin "$bin" "$@" >"$work/out" 2>&1 || code=$?; }
host --speed 3
[ $code = 2 ] && grep -q 'unknown option --speed' "$work/out" || fails "an unknown option exits with $code"
host --slow gpu1
[ $code = 2 ] || fails "--slow gpu1 exits with $code"
make_sysfs "$work/sys-none"
host --suites "" -- --sysfs-root "$work/sys-none" --proc-root "$work/proc-none"
[ $code = 5 ] && grep -qx 'waived: no GPU on this host' "$work/out" || fails "a host without GPU exits with $code"
make_gpus two
lib=$(dirname "$bin")/lib
export RAILGAUGE_LIBCUDA=$lib/libcuda-fake.so RAILGAUGE_LIBNVML=$lib/libnvidia-ml-fake.so RAILGAUGE_FAKE_CUDA=gpus=2
host --suites copies --slow 1 --size 64KiB -- --sysfs-root "$work/sys-two" --proc-root "$work/proc-two" --runner-landlock false
grep -qE '^\| copies \| 0 \| [0-9.]+ s \| 1 passed, 1 waived \| 1 bar.write_bw \| [1-9][0-9]* MiB \|$' "$work/out" || fails "the row of suite copies"
grep -q '^2 GPUs, ' "$work/out" || fails "two fake GPUs exit with $code"
[ $code = 1 ] && [ "$(grep -c '2 GPUs, run .*: 4 of 4 figures of pairs' "$work/out")" = 2 ] || fails "suspects between two fake GPUs exit with $code"
grep -q 'SYNTHETIC' "$work/out" || fails "figures of a delayed GPU are not marked"
echo "gpu_host_test: ok"
