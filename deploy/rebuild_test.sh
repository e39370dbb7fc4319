#!/usr/bin/env bash
# Builds programs of the release preset twice, from copies of this tree at two paths and without a compiler cache, and compares
# every byte of their objects and of themselves: whoever builds the same sources by the same compiler gets the same program.
#   deploy/rebuild_test.sh [TARGET...]   default: two small programs
set -euo pipefail
cd "$(dirname "$0")/.."
targets=("$@")
[ $# -gt 0 ] || targets=(railgauge-launch-shim railgauge-node-facts)
work=$(mktemp -d "${TMPDIR:-/tmp}/railgauge-rebuild.XXXXXX")
trap 'rm -rf "$work"' EXIT
export CCACHE_DISABLE=1
unset CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER
trees=("$work/first" "$work/at/another/place")
for tree in "${trees[@]}"; do
  mkdir -p "$tree"
  git ls-files -co --exclude-standard -z | tar -cf - --null -T - | tar -C "$tree" -xf -
  (cd "$tree" && cmake --preset release -DRAILGAUGE_COMMIT=0123456789 && cmake --build build/release --target "${targets[@]}") >"$work/log" 2>&1 ||
    { tail -n 20 "$work/log"; exit 1; }
done
compared=0 differ=0
while read -r file; do
  compared=$((compared + 1))
  cmp "${trees[0]}/build/release/$file" "${trees[1]}/build/release/$file" || differ=$((differ + 1))
done < <(cd "${trees[0]}/build/release" && find bin -type f && find . -path '*.dir/*' -name '*.o')
named=$({ grep -rlF "$work" "${trees[0]}/build/release/bin" || true; } | wc -l)
echo "rebuild: $compared files compared, $differ differ; $named programs name the path of their tree"
[ "$compared" -gt ${#targets[@]} ] && [ "$differ" = 0 ] && [ "$named" = 0 ]
