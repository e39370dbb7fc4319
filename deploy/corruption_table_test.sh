#!/usr/bin/env bash
# Tests corruption.sh with stand-ins that write as googletest does: the page has the rows of the tests that passed, a
# test whose time ended runs again and is named, and a missed fault leaves the page as it was.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export WORK=$work
mkdir "$work/bin"
printf '#!/bin/sh\necho "railgauge-runner 0 (commit abc123, no GPU code)"\n' >"$work/bin/railgauge-runner"
# One test without a fault and two with; SHORT: the first launch of the last proved too few messages, or always.
cat >"$work/bin/one_corruption_test" <<'P'
#!/bin/bash
[ "$RAILGAUGE_CHECK_FULL" = 1 ] && [ -d "$RAILGAUGE_BUILD_DIR/bin" ] || exit 9
echo "${1:-all}" >>"$WORK/launches"
bad=0
one() {  # NAME, the table's line, passed or not
  case "${filter:-$1}" in "$1") ;; *) return ;; esac
  echo "[ RUN      ] $1"
  printf 'corruption\t%s\n' "$2"
  if [ "$3" = 1 ]; then echo "[       OK ] $1 (3 ms)"; else bad=1; echo "one_test.cc:7: Failure"; echo "[  FAILED  ] $1, where GetParam() = (x) (3 ms)"; fi
}
filter=""
case "${1:-}" in --gtest_filter=*) filter=${1#*=} ;; esac
one A/One.Is/none $'net.a\tnone\t0\tpassed\t600000' 1
one A/One.Is/corrupt $'net.a\tcorrupt\t100000\tfailed\t0' 1
case "${LAST:-found}" in
  found | beside) one A/One.Is/dropped $'net.a\tdropped\t100000\tfailed\t0' 1 ;;
  missed) one A/One.Is/dropped $'net.a\tdropped\t100000\tpassed\t200000' 0 ;;
  words) one A/One.Is/dropped $'net.a\tdropped\t100000\tfailed\t0' 0 ;;
  short) if [ "$(wc -l <"$WORK/launches")" = 1 ]; then one A/One.Is/dropped $'net.a\tdropped\t100000\tpassed\t400' 0; else one A/One.Is/dropped $'net.a\tdropped\t100000\tfailed\t0' 1; fi ;;
  slow) one A/One.Is/dropped $'net.a\tdropped\t100000\ttimed_out\t0' 0 ;;
  crash) echo "[ RUN      ] A/One.Is/dropped"; exit 134 ;;
esac
# A test beside the table: its first launch has no time, its second passes; neither has a line.
if [ "${LAST:-found}" = beside ] && [ "${filter:-Proof.Long}" = Proof.Long ]; then
  echo "[ RUN      ] Proof.Long"
  if [ "$(wc -l <"$WORK/launches")" = 1 ]; then bad=1; echo "[  FAILED  ] Proof.Long (3 ms)"; else echo "[       OK ] Proof.Long (3 ms)"; fi
fi
echo "[==========] 3 tests from 1 test suite ran. (9 ms total)"
[ "$bad" = 1 ] || echo "[  PASSED  ] $([ -n "$filter" ] && echo 1 test. || echo 3 tests.)"
[ "$bad" = 0 ] || echo "[  FAILED  ] A/One.Is/dropped, where GetParam() = (x)"
exit "$bad"
P
chmod +x "$work"/bin/*
fails() { echo "corruption_table_test: $*"; cat "$work/err" "$work/page"; exit 1; }
table() { : >"$work/launches"; echo before >"$work/page"; code=0; LAST=$1 deploy/corruption.sh --bin "$work/bin" --page "$work/page" "${@:2}" 2>"$work/err" || code=$?; }

table found
[ $code = 0 ] && [ "$(grep -c '^| net.a' "$work/page")" = 3 ] || fails "three tests: exit $code"
grep -qxF '| net.a | none |  | passed | 600000 |' "$work/page" && grep -qxF '| net.a | dropped | 100000 | failed |  |' "$work/page" || fails "rows"
grep -q '^3 rows, 1 without a fault' "$work/page" && grep -q 'commit abc123' "$work/page" && ! grep -q 'ran again' "$work/page" || fails "words"
for last in missed words; do
  table $last
  [ $code = 1 ] && [ "$(cat "$work/page")" = before ] && grep -q 'one_corruption_test: A/One.Is/dropped: failed: one_test.cc:7' "$work/err" || fails "$last: exit $code"
  [ "$(wc -l <"$work/launches")" = 1 ] || fails "$last: ran again"
done
table short
[ $code = 0 ] && [ "$(cat "$work/launches")" = $'all\n--gtest_filter=A/One.Is/dropped' ] || fails "a short time: exit $code, $(cat "$work/launches")"
grep -qxF '| net.a | dropped | 100000 | failed |  |' "$work/page" && [ "$(grep -c '^| net.a' "$work/page")" = 3 ] || fails "its row"
paste -sd ' ' "$work/page" | grep -q 'ran again after all others:  - one_corruption_test, dropped' || fails "the second launch is not told"
table beside
[ $code = 0 ] && [ "$(cat "$work/launches")" = $'all\n--gtest_filter=Proof.Long' ] && [ "$(grep -c '^| net.a' "$work/page")" = 3 ] || fails "a test without a line: exit $code"
# With kept logs the third launch is of the test that failed alone.
rm -rf "$work/logs"
table slow --keep "$work/logs"
table found --keep "$work/logs"
[ $code = 0 ] && [ "$(cat "$work/launches")" = --gtest_filter=A/One.Is/dropped ] || fails "later: exit $code, $(cat "$work/launches")"
table found --keep "$work/logs"
[ $code = 0 ] && [ ! -s "$work/launches" ] && grep -q 'one_corruption_test, dropped' "$work/page" || fails "later still: exit $code"
# Some of the programs: the page says which are not in it.
cp "$work/bin/one_corruption_test" "$work/bin/two_corruption_test"
table found --only one_corruption_test
[ $code = 0 ] && [ "$(grep -c '^| net.a' "$work/page")" = 3 ] && grep -qxF 'Not run, so without rows here: `two_corruption_test`.' "$work/page" || fails "one of two: exit $code"
table found --only three_corruption_test
[ $code = 1 ] && grep -q 'three_corruption_test: is not in' "$work/err" || fails "a program that is not there: exit $code"
rm "$work/bin/two_corruption_test"
rm -rf "$work/logs"
table slow
[ $code = 1 ] && [ "$(cat "$work/page")" = before ] && grep -q 'failed again' "$work/err" || fails "no time twice: exit $code"
table crash
[ $code = 1 ] && grep -q 'ended in the middle' "$work/err" || fails "a crash: exit $code"
table found --keep "$work/logs"
table found --keep "$work/logs"
[ $code = 0 ] && [ ! -s "$work/launches" ] && [ "$(grep -c '^| net.a' "$work/page")" = 3 ] || fails "kept logs: exit $code"
echo "corruption_table_test: passed"
