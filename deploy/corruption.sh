#!/usr/bin/env bash
# Writes the table of wires that treat one message of so many wrongly, and of what each kernel says, to
# deploy/docs/results/corruption.md. The lines come from the test programs *corruption_test and verbs_proof_test, which
# run on fakes. Exit 1 where a program fails, or none is there; the page then stays as it was.
#   deploy/corruption.sh --bin DIR     a folder with the built programs (build/ci/bin)
set -euo pipefail
bin=''
while (($# > 0)); do
  case $1 in
    --bin)
      bin=$(realpath "${2:?--bin: names a folder}")
      shift 2
      ;;
    *)
      printf 'corruption.sh: %s: is no option; --bin DIR names the built programs\n' "$1" >&2
      exit 2
      ;;
  esac
done
[[ -d $bin ]] || { printf 'corruption.sh: --bin: names the folder of the built programs, as in build/ci/bin\n' >&2 && exit 2; }
cd "$(dirname "$0")/.."
page=deploy/docs/results/corruption.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
shopt -s nullglob
programs=()
for program in "$bin"/*corruption_test "$bin"/verbs_proof_test; do [[ -x $program ]] && programs+=("$program"); done
((${#programs[@]} > 0)) || { printf 'corruption.sh: %s: has no corruption test; build them first\n' "$bin" >&2 && exit 1; }
for program in "${programs[@]}"; do
  name=$(basename "$program")
  printf 'corruption.sh: %s\n' "$name" >&2
  RAILGAUGE_CHECK_FULL=1 "$program" >"$work/$name.log" 2>&1 ||
    { printf 'corruption.sh: %s: failed\n' "$name" >&2 && grep -a 'FAILED' "$work/$name.log" | cut -c1-200 >&2 && exit 1; }
  grep -a $'corruption\t' "$work/$name.log" | sed 's/.*\(corruption\t\)/\1/' >>"$work/lines" ||
    { printf 'corruption.sh: %s: wrote no line of the table\n' "$name" >&2 && exit 1; }
done
{
  printf '# Wires that change one message of so many\n\n'
  printf 'Each row is a task on a fake wire whose operations all end with success. A run without a fault passes.\n'
  printf 'A run with one must fail; its error names the message and the fault, which the test compares.\n\n'
  printf '| kernel | fault | one message in | outcome | proved messages |\n|---|---|---|---|---|\n'
  awk -F'\t' '{ printf "| %s | %s | %s | %s | %s |\n", $2, $3, $4 == 0 ? "" : $4, $5, $5 == "passed" ? $6 : "" }' "$work/lines"
  printf '\n%s rows, %s without a fault.\n' "$(wc -l <"$work/lines")" "$(awk -F'\t' '$3 == "none"' "$work/lines" | wc -l)"
  printf '\nCommit %s, %s, `deploy/corruption.sh`. Synthetic: fakes of the wire.\n' "$(git rev-parse --short HEAD)" "$(date -u +%F)"
} >"$work/page"
cp "$work/page" "$page"
