#!/usr/bin/env bash
# Packs the build with its GPU tests, unpacks the bundle in a root folder that has only the host's C and C++ libraries,
# and runs it there: lists, a GPU test, a controller, two agents on the fake verbs provider (synthetic), and a run.
# Exit 77: no chroot.
set -euo pipefail
self=$(realpath "$0")
cd "$(dirname "$0")/.."
build=$(realpath "${RAILGAUGE_BUILD_DIR:-build/dev}")
pids=()
finish() {
  local code=$?
  for pid in "${pids[@]}"; do kill -KILL "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  umount -l "$work/root/proc" 2>/dev/null || true
  if [ $code = 0 ] || [ $code = 77 ]; then rm -rf "$work"; else cat "$work"/*.log 2>/dev/null | tail -n 40; echo "left: $work"; fi
}
# Runs this script again in a mount namespace of its own, where it mounts the root's /proc.
if [ "${1:-}" != inside ]; then
  unshare -r -m true 2>/dev/null || { echo "waived: no user and mount namespaces here"; exit 77; }
  exec unshare -r -m "$self" inside
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/railgauge-bundle.XXXXXX")
trap finish EXIT
deploy/bundle.sh --build "$build" --out "$work" --with-tests
archive=$(echo "$work"/railgauge-*.tar.gz)
(cd "$work" && sha256sum --quiet -c SHA256SUMS)
echo "the same build gives the same bytes, whatever umask, time zone and language"
(umask 077; TZ=Asia/Tokyo LC_ALL=C deploy/bundle.sh --build "$build" --out "$work/again" --with-tests >/dev/null)
cmp "$archive" "$work/again/$(basename "$archive")"
cmp "$work/SHA256SUMS" "$work/again/SHA256SUMS"
root=$work/root
mkdir -p "$root"/{proc,tmp,dev}
from=$(date +%s%3N)
tar -xzf "$archive" -C "$root"
unpack_ms=$(($(date +%s%3N) - from))
bundle=/$(basename "$archive" .tar.gz)
mount --rbind /proc "$root/proc"
: >"$root/dev/null"  # a mere file does here
# The C and C++ libraries of the host, by the names that the bundle leaves to it.
host_libraries=(libc.so.6 libm.so.6 libdl.so.2 librt.so.1 libpthread.so.0 libresolv.so.2 libcrypt.so.1 libstdc++.so.6 libgcc_s.so.1)
for lib in "${host_libraries[@]}"; do
  path=$(PATH=$PATH:/sbin ldconfig -p | awk -v lib="$lib" '$1 == lib && !found { print $NF; found = 1 }')
  [ -z "$path" ] || { mkdir -p "$root$(dirname "$path")"; cp -L "$path" "$root$path"; }
done
loader=$(readelf -l "$root$bundle/bin/railgauge-runner" | sed -n 's/.*interpreter: \(.*\)\]/\1/p')
mkdir -p "$root$(dirname "$loader")"
cp -L "$loader" "$root$loader"
cp "$build/lib/libibverbs-fake.so" "$root/tmp/"

chroot=$(PATH=$PATH:/usr/sbin command -v chroot)
# Replaces this shell, so that the process id of a background call is the program's own.
become_within() { exec env -i PATH="$bundle/bin" RAILGAUGE_CONTROLLER=unix:/tmp/controller.sock "${extra[@]}" "$chroot" "$root" "$@"; }
within() { (become_within "$@"); }
extra=()
wait_for() {
  local limit=$1; shift
  for _ in $(seq $((limit * 10))); do "$@" >/dev/null 2>&1 && return; sleep 0.1; done
  echo "waited $limit s in vain: $*"; return 1
}
make_sysfs() {
  local port=$root/tmp/sys-$1/class/infiniband/fake0/ports/1
  mkdir -p "$port/gid_attrs/ndevs"
  echo "4: ACTIVE" >"$port/state"; echo "100 Gb/sec (4X EDR)" >"$port/rate"
  echo Ethernet >"$port/link_layer"; echo lo >"$port/gid_attrs/ndevs/0"
}

echo "the bill of materials has each file, its digest, and the packages of the libraries"
jq -e '.spdxVersion == "SPDX-2.3" and (.packages | length) > 5 and all(.packages[]; .versionInfo != "NOASSERTION")
  and ([.relationships[] | select(.relationshipType == "DESCRIBES")] | length) == 1' "$root$bundle/share/doc/sbom.spdx.json" >/dev/null
jq -r '.files[] | "\(.checksums[0].checksumValue)  \(.fileName)"' "$root$bundle/share/doc/sbom.spdx.json" >"$work/digests"
(cd "$root$bundle" && sha256sum --quiet -c "$work/digests")
[ "$(wc -l <"$work/digests")" = "$(find "$root$bundle/bin" "$root$bundle/lib" -type f | wc -l)" ]
echo "programs start and name their version"
for program in railgauge railgauge-agent railgauge-controller railgauge-fleet railgauge-runner; do
  within "$bundle/bin/$program" --version | tee "$work/version"
  grep -qE 'commit ([0-9a-f]{10}|unknown)' "$work/version"
done
[ -x "$root$bundle/bin/railgauge-launch-shim" ]
for script in compare_gpu.sh compare_nccl.sh compare_topology.sh gpu_host.sh; do [ -x "$root$bundle/$script" ]; done
for mpi in openmpi mpich; do
  [ ! -x "$build/bin/railgauge-runner-$mpi" ] || [ -x "$root$bundle/bin/railgauge-runner-$mpi" ]
done
within "$bundle/bin/railgauge-runner" --list
echo "a kernel whose hardware is not here waives"
code=0; within "$bundle/bin/railgauge-runner" nvbandwidth -t host_to_device_memcpy_ce || code=$?
[ $code = 5 ] || { echo "exit code $code, wanted 5"; exit 1; }
echo "the GPU tests start, and waive where no driver is"
for test in "$root$bundle"/bin/*_gpu_test; do
  code=0; within "$bundle/bin/$(basename "$test")" >"$work/gpu_test.log" || code=$?
  [ $code = 77 ] || { echo "$(basename "$test"): exit code $code, wanted 77"; exit 1; }
done
code=0; env -i PATH=/usr/bin:/bin RAILGAUGE_LIBCUDA=absent.so RAILGAUGE_LIBNVML=absent.so "$root$bundle/run_gpu_tests.sh" >"$work/gpu_tests.log" || code=$?
tail -n 1 "$work/gpu_tests.log"
[ $code = 5 ] || { echo "run_gpu_tests.sh: exit code $code, wanted 5"; exit 1; }

become_within "$bundle/bin/railgauge-controller" --socket /tmp/controller.sock --database /tmp/railgauge.db --metrics-listen none >"$work/controller.log" 2>&1 &
pids+=($!)
wait_for 10 within "$bundle/bin/railgauge" version
for node in a b; do
  make_sysfs $node
  # The fake wire writes into the peer's process, which Landlock forbids.
  extra=(RAILGAUGE_LIBIBVERBS=/tmp/libibverbs-fake.so)
  become_within "$bundle/bin/railgauge-agent" --name $node --state-dir /tmp/state-$node --sysfs-root /tmp/sys-$node \
    --proc-root /tmp/proc-$node --runner-landlock false --metrics-listen none >"$work/agent-$node.log" 2>&1 &
  pids+=($!)
  extra=()
done
attached() { [ "$(within "$bundle/bin/railgauge" nodes -o json | grep -c '"state": "attached"')" = 2 ]; }
wait_for 10 attached
echo "a run of a suite that came with the bundle"
within "$bundle/bin/railgauge" run quick
within "$bundle/bin/railgauge" suites
echo "the demo needs nothing else: its verdict is there within 60 s on a busy machine, 20 s on an idle one"
from=$(date +%s%3N)
within "$bundle/bin/railgauge" demo --once | tee "$work/demo.out"
demo_ms=$(($(date +%s%3N) - from))
grep -q 'regressed: performance' "$work/demo.out"
echo "synthetic: from the archive to the verdict $((unpack_ms + demo_ms)) ms, of them $unpack_ms to unpack"
[ $((unpack_ms + demo_ms)) -lt 60000 ] || { echo "the verdict came too late"; exit 1; }
echo "bundle: ok"
