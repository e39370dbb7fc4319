#!/usr/bin/env bash
# Tests bundle_symbols.sh on small programs that need symbols of made-up versions, from stand-ins of the C++ library.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc=${CC:-cc}
command -v "$cc" >/dev/null || { echo "waived: no C compiler"; exit 77; }
fails() { echo "bundle_symbols_test: $*"; cat "$work/err"; exit 1; }

# program NAME VERSION: builds a program that needs the function `newcomer` of that version.
program() {
  local lib=$work/lib$1.so
  printf '%s { global: newcomer; };\n' "$2" >"$work/versions"
  echo 'int newcomer(void) { return 0; }' >"$work/lib.c"
  "$cc" -shared -fPIC -Wl,--version-script="$work/versions" "$work/lib.c" -o "$lib"
  echo 'int newcomer(void); int main(void) { return newcomer(); }' >"$work/main.c"
  "$cc" "$work/main.c" "$lib" -o "$work/$1"
}
# ended CODE FILE...: fails unless bundle_symbols.sh on the files ends with CODE.
ended() {
  local wanted=$1 code=0
  shift
  ./bundle_symbols.sh "$@" 2>"$work/err" || code=$?
  [ $code = "$wanted" ] || fails "exit $code, wanted $wanted for $*"
}
says() { grep -qxF "bundle_symbols.sh: $1" "$work/err" || fails "not said: $1"; }

for version in GLIBCXX_3.4.30 CXXABI_1.3.13 GCC_12.0.0 GLIBC_2.35 GLIBCXX_3.4.9 OTHER_99; do
  program allowed $version
  ended 0 "$work/allowed"
done
for version in GLIBCXX_3.4.31 CXXABI_1.3.14 GCC_13.0.0 GLIBC_2.36 GLIBC_2.37; do
  program refused $version
  ended 4 "$work/allowed" "$work/refused"
  case $version in
    GLIBCXX*) limit=GLIBCXX_3.4.30 ;; CXXABI*) limit=CXXABI_1.3.13 ;; GCC*) limit=GCC_12.0.0 ;; *) limit=GLIBC_2.35 ;;
  esac
  says "refused: needs newcomer of $version, newer than $limit; build on an older distribution"
done
program refused GLIBC_PRIVATE
ended 4 "$work/refused"
says "refused: needs newcomer of GLIBC_PRIVATE, which is glibc's own; build on an older distribution"
program older GLIBC_2.4
program newest GLIBC_2.36
lowest() { ./bundle_symbols.sh --lowest "$@"; }
[ "$(lowest "$work/older" "$work/newest")" = GLIBC_2.36 ] || fails "the lowest glibc of two programs is the newer one's: $(lowest "$work/older" "$work/newest")"
beyond=$(./bundle_symbols.sh --beyond 2.35 "$work/older" "$work/newest")
[ "$beyond" = "newest GLIBC_2.36 newcomer" ] || fails "beyond 2.35 is the newcomer alone: $beyond"
[ -z "$(./bundle_symbols.sh --beyond 2.36 "$work/newest")" ] || fails "nothing is beyond 2.36"
ended 2 --beyond 2.34
echo text >"$work/text"
ended 4 "$work/text"
ended 2
echo "bundle_symbols_test: ok"
