#!/usr/bin/env bash
# Packs railgauge-VERSION-linux-ARCH.tar.gz: programs, suites, and the shared libraries that they need; beside it its
# bill of materials (.spdx.json) and SHA256SUMS. The same build gives the same bytes. It runs on
# any Linux of that processor with glibc 2.35 or later and a libstdc++ of GCC 12 or later; nothing is installed.
#   deploy/bundle.sh [--out FOLDER] [--build DIR] [--with-tests]
# --build DIR   packs the existing build in DIR (default: builds preset release in build/release)
# --with-tests  also the tests that need a GPU, and run_gpu_tests.sh
#
# The host supplies glibc; the libraries that the programs load at run time (libibverbs and its providers, librdmacm,
# libcuda, NVML, NCCL, Vulkan, MPI), which are part of the measured system; and libstdc++ and libgcc_s, because a
# library loaded later may need newer ones than ours, and a process has only one of each. Every distribution with
# glibc 2.35 has those of GCC 12. libcrypt is the host's too: Debian 12's needs glibc 2.36, and every Debian and Ubuntu has one
# (libxcrypt-compat elsewhere). Why older systems cannot run it: deploy/bundle_symbols.sh --beyond 2.34.
set -euo pipefail
cd "$(dirname "$0")/.."
out=. build="" with_tests=0
while [ $# -gt 0 ]; do
  case "$1" in
    --out) out=${2:?bundle.sh: --out needs a folder}; shift ;;
    --build) build=${2:?bundle.sh: --build needs a folder}; shift ;;
    --with-tests) with_tests=1 ;;
    *) echo "bundle.sh: unknown option $1; allowed: --out FOLDER, --build DIR, --with-tests" >&2; exit 2 ;;
  esac
  shift
done
programs=(railgauge railgauge-agent railgauge-controller railgauge-fleet railgauge-runner railgauge-launch-shim)
# Programs that exist only in a build that found their MPI. The host supplies the MPI itself.
mpi_programs=(railgauge-runner-openmpi railgauge-runner-mpich)
readonly kMaxMegabytes=40
# Libraries of the host, by the beginning of the name.
readonly kHosts='^(linux-vdso|ld-linux|libc|libm|libdl|librt|libpthread|libresolv|libutil|libnsl|libanl|libcrypt|libstdc\+\+|libgcc_s|libibverbs|librdmacm|libmlx[45]|libefa|libnl-3|libnl-route-3|libcuda|libnvidia-[a-z]+|libnccl|libvulkan|libgdrapi|libmpi[a-z_]*)(\.|-)'

fail() { echo "bundle.sh: $*" >&2; exit 4; }
for tool in readelf strip ldconfig tar gzip python3 sha256sum; do
  PATH=$PATH:/sbin:/usr/sbin command -v $tool >/dev/null || fail "$tool is missing; Debian's packages binutils, libc-bin, python3 and coreutils have it"
done
PATH=$PATH:/sbin:/usr/sbin

# Prints the names of the tests with ctest's label gpu, which are also the names of their programs.
gpu_tests() { ctest --test-dir "$build" -N -L gpu | sed -n 's/^ *Test *#[0-9]*: \([A-Za-z0-9_]*\)$/\1/p'; }

if [ -z "$build" ]; then
  build=build/release
  cmake --preset release >&2
  targets=("${programs[@]}")
  [ $with_tests = 0 ] || mapfile -t -O ${#targets[@]} targets < <(gpu_tests)
  for program in "${mpi_programs[@]}" railgauge-console; do
    ! cmake --build $build --target help | grep "^$program:" >/dev/null || targets+=("$program")
  done
  cmake --build $build --target "${targets[@]}" >&2
fi
for program in "${mpi_programs[@]}"; do [ ! -x "$build/bin/$program" ] || programs+=("$program"); done
for program in "${programs[@]}"; do [ -x "$build/bin/$program" ] || fail "$build/bin/$program: not built"; done
version=$("$build/bin/railgauge-runner" --version | cut -d' ' -f2)
name=railgauge-$version-linux-$(uname -m)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/$name
mkdir -p "$root"/{bin,lib,share/railgauge,share/doc}

for program in "${programs[@]}"; do cp "$build/bin/$program" "$root/bin/"; done
if [ $with_tests = 1 ]; then
  mapfile -t tests < <(gpu_tests)
  for test in "${tests[@]}"; do
    [ -x "$build/bin/$test" ] || fail "$build/bin/$test: not built"
    cp "$build/bin/$test" "$root/bin/"
  done
  # The wire of the tests that need a GPU and have no NIC: they look for it beside their folder.
  cp "$build/lib/libibverbs-fake.so" "$root/lib/"
  cat >"$root/run_gpu_tests.sh" <<'RUN'
#!/bin/sh
# Runs every test that needs a GPU; 77 is waived. Exit 0 when none failed and one passed, 5 when all were waived.
cd "$(dirname "$0")" || exit 4
RAILGAUGE_BUILD_DIR=$(pwd); export RAILGAUGE_BUILD_DIR
passed=0 failed=0 waived=0
for test in bin/*_test; do
  [ -x "$test" ] || continue
  "$test" "$@"; code=$?
  case $code in
    0) passed=$((passed + 1)); word=passed ;;
    77) waived=$((waived + 1)); word=waived ;;
    *) failed=$((failed + 1)); word="FAILED (exit $code)" ;;
  esac
  echo "== ${test#bin/}: $word"
done
echo "$passed passed, $failed failed, $waived waived"
[ $failed = 0 ] || exit 1
[ $passed -gt 0 ] || exit 5
RUN
  chmod +x "$root/run_gpu_tests.sh"
fi

needed_by() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }
declare -A place
while read -r lib _ _ path; do [ -n "${place[$lib]:-}" ] || place[$lib]=$path; done < <(ldconfig -p | grep 'x86-64\|AArch64' | sed 's/ (.*) => / x => /')
declare -A packed
walk() {
  local lib
  while read -r lib; do
    [[ ! $lib =~ $kHosts ]] && [ -z "${packed[$lib]:-}" ] || continue
    [ -n "${place[$lib]:-}" ] || fail "$1 needs $lib, which this machine has not"
    packed[$lib]=${place[$lib]}
    cp -L "${place[$lib]}" "$root/lib/$lib"
    walk "${place[$lib]}"
  done < <(needed_by "$1")
}
for program in "$root"/bin/*; do walk "$program"; done

# Their licences, where the distribution's packages have them.
mkdir -p "$root/share/doc/licences"
if command -v dpkg-query >/dev/null; then
  while read -r package; do
    [ ! -e "/usr/share/doc/$package/copyright" ] || cp -L "/usr/share/doc/$package/copyright" "$root/share/doc/licences/$package"
  done < <(for path in "${packed[@]}"; do dpkg-query -S "$(readlink -f "$path")" 2>/dev/null || dpkg-query -S "$path" 2>/dev/null || true; done | cut -d: -f1 | sort -u)
fi
cp deploy/enroll_nodes.sh deploy/compare_gpu.sh deploy/compare_nccl.sh deploy/compare_topology.sh deploy/gpu_host.sh "$root/"
cp README.md LICENSE "$root/share/doc/"
cp -r suites deploy/pipelines "$root/share/railgauge/"
[ ! -d "$build/share/railgauge/console" ] || cp -r "$build/share/railgauge/console" "$root/share/railgauge/"

strip --strip-all "$root"/bin/*
strip --strip-unneeded "$root"/lib/*
chmod -R u=rwX,go=rX "$root"  # whatever the umask
chmod 755 "$root"/bin/* "$root"/lib/*

# The bundle needs nothing else from the host.
deploy/bundle_symbols.sh "$root"/bin/* "$root"/lib/*
glibc=$(deploy/bundle_symbols.sh --lowest "$root"/bin/* "$root"/lib/*)
for program in "${programs[@]}"; do
  readelf -d "$root/bin/$program" | grep 'RPATH.*\[$ORIGIN/../lib' >/dev/null || fail "$program does not look into ../lib"
  readelf -n "$root/bin/$program" | grep 'Build ID' >/dev/null || fail "$program has no build id"
done

time=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
commit=$("$build/bin/railgauge" --version | sed -n 's/.*commit \([^,)]*\).*/\1/p')
libraries=()
for lib in "${!packed[@]}"; do libraries+=(--library "$lib=${packed[$lib]}"); done
deploy/sbom.py "$root" --name railgauge --version "$version" --commit "${commit:-unknown}" --time "$time" "${libraries[@]}" >"$root/share/doc/sbom.spdx.json"
chmod 644 "$root/share/doc/sbom.spdx.json"

mkdir -p "$out"
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$time" \
  -C "$work" -cf - "$name" | gzip -9n >"$out/$name.tar.gz"
bytes=$(stat -c %s "$out/$name.tar.gz")
[ "$bytes" -lt $((kMaxMegabytes * 1000000)) ] || fail "$name.tar.gz has $bytes bytes; at most $kMaxMegabytes MB are allowed"
cp "$root/share/doc/sbom.spdx.json" "$out/$name.spdx.json"
(cd "$out" && sha256sum "$name.spdx.json" "$name.tar.gz" >SHA256SUMS)
echo "$out/$name.tar.gz: $((bytes / 1000)) kB, ${#packed[@]} libraries, needs $glibc"
