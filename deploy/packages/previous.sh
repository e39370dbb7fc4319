#!/usr/bin/env bash
# Builds the packages of an earlier commit, for tests of upgrades, and prints the folder of its .deb files. Its programs
# are those of that tree, built as the check builds. Kept by commit in build/previous, since a build takes minutes.
#   deploy/packages/previous.sh [COMMIT]   default: the last tag, or kFirst without one
# Exit 77 without cpack or dpkg-shlibdeps.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 4
. deploy/compile_cache.sh
# The first tree whose packages were tested: database version 15, units without notify.
readonly kFirst=872408fcc7
for tool in git cmake ninja cpack dpkg-shlibdeps; do
  command -v $tool >/dev/null || { echo "waived: no $tool here"; exit 77; }
done
named=${1:-$(git describe --tags --abbrev=0 2>/dev/null || echo $kFirst)}
commit=$(git rev-parse --verify --quiet "$named^{commit}") || { echo "previous.sh: $named: no such commit; fetch the whole history" >&2; exit 2; }
out=$PWD/build/previous/${commit:0:10}
if [ ! -e "$out/complete" ]; then
  mkdir -p "$out"
  [ -d "$out/source/.git" ] || git clone --quiet --shared --no-checkout . "$out/source" || exit 4
  git -C "$out/source" checkout --quiet --force "$commit" || exit 4
  cd "$out/source" || exit 4
  export CCACHE_BASEDIR=$PWD
  # Its own list of headers: the sums of name_precompiled are of this tree.
  { cmake --preset ci && name_precompiled build/ci &&
    cmake --build build/ci --target railgauge railgauge-controller railgauge-agent railgauge-runner railgauge-launch-shim railgauge-node-facts &&
    rm -rf "$out/debs" &&
    cpack --config build/ci/CPackConfig.cmake -G DEB -B "$out/debs" -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip -D "CPACK_COMPONENTS_ALL=cli;controller;agent"; } >"$out/log" 2>&1 ||
    { tail -n 20 "$out/log" >&2; echo "previous.sh: $named does not build; the whole log: $out/log" >&2; exit 1; }
  rm -rf "$out/debs/_CPack_Packages"
  touch "$out/complete"
fi
echo "$out/debs"
