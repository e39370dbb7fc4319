#!/usr/bin/env bash
# Tests compare_perftest.sh's tables from kept launches, whose figures are made up, and its waivers. No guest is started.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "${RAILGAUGE_BUILD_DIR:-build/dev}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/perftest"
ln -s "$build/bin/compare_launches" "$work/bin/"
printf '#!/bin/sh\nexit 9\n' >"$work/bin/railgauge-runner"
chmod +x "$work/bin/railgauge-runner"
fails() { echo "compare_perftest_test: $*"; cat "$work/out" "$work/err"; exit 1; }
compare() { code=0; deploy/compare_perftest.sh --bin "$work/bin" "$@" >"$work/out" 2>"$work/err" || code=$?; }
row() { tr -s ' ' <"$work/out" | grep -q "^$1" || fails "no line: $1"; }
# kept MEASURE PROGRAM FIGURE...: six launches of each program.
kept() {
  local round measure=$1 i
  shift
  for ((round = 0; round < 6; ++round)); do
    for ((i = 1; i < $#; i += 2)); do printf '%s\t%s\t%s\n' "$measure" "${!i}" "$(eval "echo \${$((i + 1))}")"; done
  done
}

kept write_lat_8 theirs 10 ours 10.1 again 10 slow 12.12 >"$work/kept"
compare --only write_lat_8 --from "$work/kept"
[ $code = 0 ] || fails "a plain table exits with $code"
row 'write_lat 8 B (half RTT, us) 6 10.1 10 1.010 '
row 'write_lat: 20 % added cost against without 6 12.12 10.1 1.200 '

# Checked data: MiB/s, so that a smaller figure is slower.
checked() { kept write_bw_65536 theirs 1000 ours 990 again 1000 validated 500 unproved "$1" >"$work/checked"; compare --only write_bw_65536 --from "$work/checked"; }
checked 1000
[ $code = 0 ] || fails "1 % slower with the proof exits with $code"
row 'write_bw 65536 B: ours against perftest 6 0.0010101 0.001 1.010 '
row 'write_bw 65536 B: ours, proved against not 6 .* 1.010 1.010 to 1.010 equal passed; at most 2 % slower$'
row 'write_bw 65536 B: perftest with 20 % added 6 0.0012 0.001 1.200 '
row 'without a bound:$'
row 'write_bw 65536 B: perftest, validated against not 6 0.002 0.001 2.000 2.000 to 2.000$'
row 'write_bw 65536 B: ours, proved against perftest, validated 6 0.0010101 0.002 0.505 '
checked 1030
[ $code = 1 ] || fails "4 % slower with the proof exits with $code"
row 'write_bw 65536 B: ours, proved against not 6 .* 1.040 1.040 to 1.040 equal passed; more than 2 % slower$'
# A ratio within 2 % whose interval is wider shows nothing.
awk -F '\t' -v OFS='\t' '$2 == "ours" { $3 = 1000 + 40 * (n++ % 3 - 1) } { print }' "$work/checked" | sed 's/unproved.1030/unproved\t1000/' >"$work/wide"
compare --only write_bw_65536 --from "$work/wide"
[ $code = 3 ] || fails "a wide interval exits with $code"
row 'write_bw 65536 B: ours, proved against not 6 .* equal passed; 2 % neither held nor missed$'
compare --only write_lat_8 --from "$work/checked"
[ $code = 2 ] && grep -q -- '--only write_lat_8: allowed: write_bw_65536' "$work/err" || fails "a latency has no validation: exit $code"

# A perftest without the option waives, and a folder with neither programs nor source is no perftest.
printf '#!/bin/sh\necho "Version: 6.11"\nexit 1\n' >"$work/perftest/ib_write_bw"
chmod +x "$work/perftest/ib_write_bw"
compare --perftest "$work/perftest"
[ $code = 5 ] && grep -q '^waived: perftest 6.11 has no --data_validation; release 26.04 brought it$' "$work/out" || fails "an older perftest: exit $code"
rm "$work/perftest/ib_write_bw"
compare --perftest "$work/perftest"
[ $code = 2 ] && grep -q "neither ib_write_bw nor perftest's source" "$work/err" || fails "an empty folder: exit $code"
# From a source: it is built in another folder, and asked again.
touch "$work/perftest/configure.ac"
printf '#!/bin/sh\ntouch configure; chmod +x configure\n' >"$work/perftest/autogen.sh"
chmod +x "$work/perftest/autogen.sh"
printf 'ib_write_bw ib_read_bw:\n\tprintf "#!/bin/sh\\necho Version: 6.12" >$@ && chmod +x $@\n' >"$work/perftest/Makefile"
compare --perftest "$work/perftest" --built "$work/built"
[ $code = 5 ] && grep -q '^waived: perftest 6.12 has no' "$work/out" && [ ! -e "$work/perftest/ib_write_bw" ] || fails "its source: exit $code"
echo "compare_perftest_test: passed"
