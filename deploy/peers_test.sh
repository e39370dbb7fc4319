#!/usr/bin/env bash
# Tests the table of other tools' tests and options (deploy/peers): each of ours exists in the program, the options that
# the program takes are those that the table names, few rows are empty, and the page is the table's. And that the check
# can fail: on a made-up source with a test more and one less, on a kernel that does not exist, on an empty row.
# RAILGAUGE_PEER_SOURCES=FOLDER, with a folder for each tool, also compares the table with the tools' own sources.
set -euo pipefail
cd "$(dirname "$0")/.."
runner=${RAILGAUGE_BUILD_DIR:-build/dev}/bin/railgauge-runner
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fails() { echo "peers_test: $*"; cat "$work/out" "$work/err"; exit 1; }
# table FOLDER WORD...: runs the script of that folder.
table() { local folder=$1; shift; code=0; PYTHONDONTWRITEBYTECODE=1 python3 "$folder/table.py" "$@" >"$work/out" 2>"$work/err" || code=$?; }

table deploy/peers --runner "$runner"
[ $code = 0 ] || fails "the table and the program differ"
if [ -n "${RAILGAUGE_UPDATE_GOLDEN:-}" ]; then
  table deploy/peers --page
  cp "$work/out" deploy/docs/reference/peers.md
fi
table deploy/peers --page
if [ -n "${RAILGAUGE_PEER_SOURCES:-}" ]; then
  sources=(); for peer in perftest nccl-tests nvbandwidth osu gdrcopy; do sources+=("$peer=$RAILGAUGE_PEER_SOURCES/$peer"); done
  table deploy/peers --release "${sources[@]}"
  [ $code = 0 ] || fails "the table and the tools' sources differ"
  table deploy/peers --page
fi
cmp "$work/out" deploy/docs/reference/peers.md || fails "the page is another; RAILGAUGE_UPDATE_GOLDEN=1 writes it"

grep -q '^| nvbandwidth | [0-9.]* | NVIDIA/nvbandwidth [0-9a-f]* | 20' "$work/out" || fails "the page has no release and commit of a tool"

# A copy of the scripts, with the two files that they read of the tree.
mkdir -p "$work/tree/deploy/docs/reference"
cp -r deploy/peers "$work/tree/deploy/"
cp deploy/docs/reference/suite-keys.md "$work/tree/deploy/docs/reference/"
copy=$work/tree/deploy/peers
mkdir -p "$work/gdrcopy/tests"
for program in apiperf copybw copylat pplat sanity; do
  letters=$(awk -F '\t' -v program=$program '$1 == "option" && split($2, word, " ") == 2 && word[1] == program { printf "%s", substr(word[2], 2) }' deploy/peers/gdrcopy.tsv)
  echo "c = getopt(argc, argv, \"$letters\");" >"$work/gdrcopy/tests/$program.cpp"
done
table "$copy" "gdrcopy=$work/gdrcopy"
[ $code = 0 ] || fails "a source with the table's own names"

# The other four readers, each on a source made of the table's own names, in the tool's form; then with one name more.
names() { awk -F '\t' -v kind="$2" 'NR > 2 && $1 == kind { print $2 }' "deploy/peers/$1.tsv"; }
make_perftest() {
  mkdir -p "$1/src"
  { echo "bin_PROGRAMS = $(names perftest test | head -3 | xargs)"; echo "bin_PROGRAMS += $(names perftest test | tail -n +4 | xargs)"; } >"$1/Makefile.am"
  { echo "const char *connStr[] = {\"RawEth\", $(names perftest value | sed 's/.*=\(.*\)/"\1"/' | paste -sd,)};"
    names perftest option | sed 's/^--\(.*\)/{ .name = "\1", .has_arg = 0 },/'; } >"$1/src/perftest_parameters.c"
}
make_nccl_tests() {
  mkdir -p "$1/src/device_api/gin/utils"
  for test in $(names nccl-tests test); do
    case $test in gin*) touch "$1/src/device_api/gin/${test%_perf}_main.cu" ;; *) touch "$1/src/${test%_perf}.cu" ;; esac
  done
  { echo 'static const struct option longOpts[] = {'; names nccl-tests option | sed -n 's/^gin --\(.*\)/    {"\1", 0, 0, 0},/p'; echo '  };'
  } >"$1/src/device_api/gin/utils/args.cc"
  { echo 'static struct option longopts[] = {'; names nccl-tests option | sed -n 's/^--\(.*\)/    {"\1", 0, 0, 0},/p'; echo '  };'
    names nccl-tests variable | sed 's/.*/getenv("&");/'; } >"$1/src/common.cu"
}
make_nvbandwidth() {
  mkdir -p "$1"
  # Both forms of the tool's releases: boost's options and argparse's, tests by their class and by their name alone.
  names nvbandwidth test | sed '1,20s/.*/  Testcase("&", "words");/; 21,$s/.*/  make<Copy>("&", "words");/' >"$1/testcase.h"
  names nvbandwidth option | sed '1,5s/^--\(.*\)/    ("\1", "words")/; 6,$s/^--\(.*\)/  program.add_argument("-x", "--\1")/' >"$1/nvbandwidth.cpp"
}
# One folder for all programs: the table has their names alone.
make_osu() {
  mkdir -p "$1/c/mpi/startup" "$1/c/util"
  for test in $(names osu test); do touch "$1/c/mpi/startup/$test.c"; done
  { echo '#define OMBOP_LONG_OPTIONS_ALL \'; names osu option | sed 's/^--\(.*\)/    {"\1", no_argument, 0, 0}, \\/'; echo '    {0}'; echo '#define OTHER'
  } >"$1/c/util/osu_util_options.h"
}
for peer in perftest nccl-tests nvbandwidth osu; do
  "make_${peer//-/_}" "$work/$peer"
  table "$copy" "$peer=$work/$peer"
  [ $code = 0 ] || fails "$peer: a source with the table's own names"
done
echo '{ .name = "new_option" },' >>"$work/perftest/src/perftest_parameters.c"
touch "$work/nccl-tests/src/new_test.cu" "$work/osu/c/mpi/startup/osu_new_test.c"
echo '  Testcase("new_test", "words");' >>"$work/nvbandwidth/testcase.h"
for item in 'perftest option --new_option' 'nccl-tests test new_test_perf' 'nvbandwidth test new_test' 'osu test osu_new_test'; do
  peer=${item%% *}
  table "$copy" "$peer=$work/$peer"
  [ $code = 1 ] && grep -q "${item#* }: in its source, and not in the table" "$work/err" || fails "$peer: a new name is not found"
done

mv "$work/gdrcopy/tests/pplat.cpp" "$work/gdrcopy/tests/other.cpp"
table "$copy" "gdrcopy=$work/gdrcopy"
[ $code = 1 ] || fails "a source with another test: exit $code"
grep -q 'test other: in its source, and not in the table' "$work/err" || fails "a new test of the tool is not named"
grep -q 'test pplat: in the table, and not in its source' "$work/err" || fails "a test that the tool lost is not named"
table "$copy" --take "gdrcopy=$work/gdrcopy"
table "$copy" "gdrcopy=$work/gdrcopy"
grep -q 'in its source, and not in the table' "$work/err" && fails "--take left a row out"
table "$copy" "osu=$work/gdrcopy"
[ $code = 1 ] && grep -q "not osu's source" "$work/err" || fails "a folder of something else: exit $code"

sed -i 's/bar\.sanity/bar.insanity/' "$copy/gdrcopy.tsv"
table "$copy" --runner "$runner"
[ $code = 1 ] && grep -q 'bar.insanity is no kernel' "$work/err" || fails "a kernel that does not exist: exit $code"
cp deploy/peers/gdrcopy.tsv "$copy/"
sed -i 's/gdrcopy_copybw/gdrcopy_copycow/' "$copy/gdrcopy.tsv"
table "$copy" --runner "$runner"
[ $code = 1 ] && grep -q 'gdrcopy_copycow is no name that the runner takes' "$work/err" || fails "a name that nobody takes: exit $code"
cp deploy/peers/gdrcopy.tsv "$copy/"
git init -q "$work/gdrcopy" && git -C "$work/gdrcopy" -c user.name=test -c user.email=test@localhost commit -q --allow-empty -m other
mv "$work/gdrcopy/tests/other.cpp" "$work/gdrcopy/tests/pplat.cpp"
table "$copy" --release "gdrcopy=$work/gdrcopy" "perftest=$work/perftest" "nccl-tests=$work/nccl-tests" "nvbandwidth=$work/nvbandwidth" "osu=$work/osu"
[ $code = 1 ] && grep -q 'gdrcopy: the table is of commit fcec3ce, and .* is at' "$work/err" || fails "a source of another commit: exit $code"
[ "$(grep -c 'in the table, and not in its source' "$work/err")" = 0 ] || fails "a release beside all sources"
sed -i '1s/.*/# GDRCopy/' "$copy/gdrcopy.tsv"
table "$copy"
[ $code = 1 ] && grep -q 'gdrcopy.tsv: its first line is not' "$work/err" || fails "a table without a release: exit $code"
cp deploy/peers/gdrcopy.tsv "$copy/"
table "$copy" --release "gdrcopy=$work/gdrcopy"
[ $code = 1 ] && grep -q 'release compares all sources' "$work/err" || fails "a release without a source: exit $code"
sed -i 's/^option\tcopybw -w\tsame\t/option\tcopybw -w\tno\t/' "$copy/gdrcopy.tsv"
table "$copy" --runner "$runner"
[ $code = 1 ] && grep -q 'copybw -w: the runner takes it, and the table says no' "$work/err" || fails "an option that is taken: exit $code"
cp deploy/peers/gdrcopy.tsv "$copy/"
awk -F '\t' -v OFS='\t' '$1 == "test" { $3 = $4 = $5 = "" } { print }' deploy/peers/osu.tsv >"$copy/osu.tsv"
table "$copy"
[ $code = 1 ] && grep -q 'rows are empty, more than 5%' "$work/err" || fails "many empty rows: exit $code"
echo "peers_test: passed"
