#!/usr/bin/env bash
# Checks that programs and libraries need no newer C and C++ libraries on the host than those of glibc 2.35 and GCC 12:
# each symbol imported from them carries the version that introduced it.
#   deploy/bundle_symbols.sh FILE...                exit 4 and a line for the first symbol of each newer version; 2 wrong use
#   deploy/bundle_symbols.sh --lowest FILE...       prints the lowest glibc that has all symbols: GLIBC_2.35
#   deploy/bundle_symbols.sh --beyond 2.34 FILE...  prints "FILE VERSION SYMBOL" for each symbol of a newer glibc: why a system
#                                                   with that glibc cannot run it
set -euo pipefail
# The newest version of each kind that the bundle promises: glibc of Ubuntu 22.04, GCC of Debian 12.
declare -A newest=([GLIBC]=2.35 [GLIBCXX]=3.4.30 [CXXABI]=1.3.13 [GCC]=12.0.0)

# imported FILE...: prints "FILE VERSION SYMBOL" for each symbol that a file takes from glibc.
imported() {
  local file
  for file in "$@"; do
    readelf -W --dyn-syms "$file" | awk -v file="$(basename "$file")" '$7 == "UND" && match($8, /@+GLIBC_[0-9.]+$/) {
      version = substr($8, RSTART); sub(/^@+/, "", version); sub(/@.*/, "", $8); print file, version, $8 }'
  done
}
case "${1:-}" in
  --lowest)
    shift
    imported "$@" | cut -d' ' -f2 | sort -uV | tail -n 1
    exit
    ;;
  --beyond)
    [ $# -gt 2 ] || { echo "bundle_symbols.sh: --beyond needs a version and files" >&2; exit 2; }
    limit=GLIBC_$2
    shift 2
    imported "$@" | while read -r file version symbol; do
      [ "$version" = "$limit" ] || [ "$(printf '%s\n' "$version" "$limit" | sort -V | tail -n 1)" = "$limit" ] || echo "$file $version $symbol"
    done | sort -u
    exit
    ;;
esac
[ $# -gt 0 ] || { echo "bundle_symbols.sh: which files?" >&2; exit 2; }
newer() { [ "$(printf '%s\n' "$1" "$2" | sort -V | tail -n 1)" != "$2" ]; }
code=0
for file in "$@"; do
  table=$(readelf -W --dyn-syms "$file") || { echo "bundle_symbols.sh: $file: readelf does not read it" >&2; exit 4; }
  # Undefined symbols as NAME@VERSION, one for each version.
  while read -r symbol version; do
    kind=${version%_*} number=${version##*_}
    if [ "$version" = GLIBC_PRIVATE ]; then
      why="which is glibc's own"
    elif [ -n "${newest[$kind]:-}" ] && [[ $number =~ ^[0-9.]+$ ]] && newer "$number" "${newest[$kind]}"; then
      why="newer than ${kind}_${newest[$kind]}"
    else
      continue
    fi
    echo "bundle_symbols.sh: $(basename "$file"): needs $(c++filt "$symbol" 2>/dev/null || echo "$symbol") of $version, $why; build on an older distribution" >&2
    code=4
  done < <(awk '$7 == "UND" && $8 ~ /@/ { split($8, part, "@"); if (!(part[2] in seen)) { seen[part[2]] = 1; print part[1], part[2] } }' <<<"$table")
done
exit $code
