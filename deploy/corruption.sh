#!/usr/bin/env bash
# Writes the table of wires that treat one message of so many wrongly, and of what each kernel says, to
# deploy/docs/results/corruption.md. The lines come from *corruption_test, verbs_proof_test and nccl_gin_test, which
# run on fakes. A test whose time ended on a busy machine runs again, after all others, and the page names
# it; a fault that was missed does not. Exit 1 where a program fails, or none is there; the page then stays as it was.
#   deploy/corruption.sh --bin DIR [--only PROGRAM,...] [--keep FOLDER] [--page FILE]
# --bin   a folder with the built programs (build/ci/bin)
# --only  these programs alone; the page names those that were left out
# --keep  the programs' logs; a program whose whole log is there is not run again
# --page  another page than that of the results
set -euo pipefail
fail() { printf 'corruption.sh: %s\n' "$*" >&2; exit 1; }
bin='' keep='' only='' page=deploy/docs/results/corruption.md
cd "$(dirname "$0")/.."
while (($# > 0)); do
  case $1 in
    --bin) bin=$(realpath "${2:?--bin: names a folder}") ;;
    --keep) mkdir -p "${2:?--keep: names a folder}" && keep=$(realpath "$2") ;;
    --only) only=${2:?--only: names programs} ;;
    --page) page=$(realpath -m "${2:?--page: names a file}") ;;
    *)
      printf 'corruption.sh: %s: is no option; --bin DIR names the built programs, --only some of them, --keep FOLDER their logs, --page FILE the page\n' "$1" >&2
      exit 2
      ;;
  esac
  shift 2
done
[[ -d $bin ]] || { printf 'corruption.sh: --bin: names the folder of the built programs, as in build/ci/bin\n' >&2 && exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
logs=${keep:-$work}
# Where the programs find the runner that they start.
RAILGAUGE_BUILD_DIR=$(dirname "$bin")
export RAILGAUGE_BUILD_DIR RAILGAUGE_CHECK_FULL=1
shopt -s nullglob
programs=() left_out=()
# Those of MPI last: their ranks want the machine for themselves.
for program in "$bin"/verbs_proof_test "$bin"/nccl_gin_test "$bin"/[!m]*corruption_test "$bin"/m*corruption_test; do
  [[ -x $program ]] || continue
  if [[ -z $only || ,$only, == *",$(basename "$program"),"* ]]; then programs+=("$program"); else left_out+=("$(basename "$program")"); fi
done
for name in ${only//,/ }; do [[ -x $bin/$name ]] || fail "--only $name: is not in $bin"; done
((${#programs[@]} > 0)) || fail "$bin: has no corruption test; build them first"

# rows LOG: the table's lines of the tests that passed, and "missed" or "time<TAB>TEST" of those that did not. Time is no
# excuse for a row whose proof saw the wrong message and passed, or for an error of other words.
rows() {
  awk -F '\t' -v OFS='\t' '
    { sub(/\r$/, "") }
    /^\[ RUN      \] / { test = substr($0, 14); count = 0; ended = 1; next }
    at = index($0, "corruption\t") {
      line[++count] = substr($0, at)
      split(line[count], part, "\t")
      # Cut short: the wrong message had not come, or a limit of time ended the task.
      if (!(part[5] == "passed" && part[6] + 0 < part[4] + 0) && part[5] != "timed_out") ended = 0
      next
    }
    /^\[       OK \] / { for (i = 1; i <= count; i++) print line[i]; count = 0; test = ""; next }
    /^\[  FAILED  \] / && test != "" && index($0, test " (") + index($0, test ", where") {
      print (count == 0 || ended ? "time" : "missed"), test
      test = ""; count = 0
    }' "$1"
}

: >"$work/short"
: >"$work/again"
for program in "${programs[@]}"; do
  name=$(basename "$program")
  if [[ ! -e $logs/$name.whole ]]; then
    printf 'corruption.sh: %s\n' "$name" >&2
    "$program" >"$logs/$name.log" 2>&1 || true
    # A crash has no summary: it is no lack of time.
    grep -aq '^\[==========\] .* ran\.' "$logs/$name.log" || fail "$name: ended in the middle: $(tail -n 1 "$logs/$name.log" | cut -c1-200)"
    touch "$logs/$name.whole"
  fi
  rows "$logs/$name.log" >"$work/rows"
  if missed=$(grep -a -m 1 $'^missed\t' "$work/rows"); then
    fail "$name: ${missed#*$'\t'}: failed: $(grep -a -m 1 'Failure' "$logs/$name.log" | cut -c1-200)"
  fi
  sed -n "s|^time\t|$name\t|p" "$work/rows" >>"$work/short"
  grep -a $'^corruption\t' "$work/rows" >"$work/lines.$name" || fail "$name: wrote no line of the table"
done
# The tests whose time ended run after all others.
late=0
while IFS=$'\t' read -r name test; do
  log=$logs/$name.again.${test//[^A-Za-z0-9]/_}.log
  if ! grep -aqs '^\[  PASSED  \] 1 test' "$log"; then
    printf 'corruption.sh: %s: %s: again\n' "$name" "$test" >&2
    "$bin/$name" --gtest_filter="$test" >"$log" 2>&1 || true
  fi
  # A test beside the table, as that of a long proof, has no line.
  rows "$log" | grep -a $'^corruption\t' >>"$work/lines.$name" || true
  if grep -aqs '^\[  PASSED  \] 1 test' "$log"; then
    printf '%s, %s\n' "$name" "${test##*/}" >>"$work/again"
  else
    printf 'corruption.sh: %s: %s: failed again: %s\n' "$name" "$test" "$(grep -a -m 1 'Failure' "$log" | cut -c1-200)" >&2
    late=1
  fi
done <"$work/short"
((late == 0)) || fail "run it again${keep:+ with --keep $keep, which has the other tests,} when the machine has less to do"
for program in "${programs[@]}"; do cat "$work/lines.$(basename "$program")"; done >"$work/lines"
commit=$("$bin/railgauge-runner" --version 2>/dev/null | sed -n 's/.*commit \([^,)]*\).*/\1/p')
{
  printf '# Wires that change one message of so many\n\n'
  printf 'Each row is a task on a fake wire whose operations all end with success. A run without a\n'
  printf 'fault passes. A run with one must fail; its error names the message and the fault, which the test\ncompares.\n\n'
  printf 'With `buffers single`, as by default, the messages of an MPI window share one place: the timed\n'
  printf 'part shows the last of a window, and each call of the proof has one message. A fault of\n'
  printf 'another timed message is not seen.\n\n'
  printf '| kernel | fault | one message in | outcome | proved messages |\n| --- | --- | ---: | --- | ---: |\n'
  awk -F'\t' '{ printf "| %s | %s | %s | %s | %s |\n", $2, $3, $4 == 0 ? "" : $4, $5, $5 == "passed" ? $6 : "" }' "$work/lines"
  printf '\n%s rows, %s without a fault.\n' "$(wc -l <"$work/lines")" "$(awk -F'\t' '$3 == "none"' "$work/lines" | wc -l)"
  [[ ${#left_out[@]} == 0 ]] || printf '\nNot run, so without rows here: %s.\n' "$(printf '`%s`, ' "${left_out[@]}" | sed 's/, $//')"
  if [[ -s $work/again ]]; then
    printf '\nThe time of these ended on a busy machine, and they ran again after all others:\n\n'
    sed 's/^/- /' "$work/again"
  fi
  printf '\n%s\n' "Programs of commit ${commit:-unknown}, $(date -u +%F), $(nproc) cores of $(awk -F ': ' '/^model name/ { print $2; exit }' /proc/cpuinfo), \`deploy/corruption.sh\`. Synthetic: fakes of the wire." | fold -s -w 98 | sed 's/ *$//'
} >"$work/page"
cp "$work/page" "$page"
