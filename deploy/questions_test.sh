#!/usr/bin/env bash
# Checks that each command on the page of standing questions, and of the guides to a first cluster, RoCE and InfiniBand, exists: its help
# appears. The commands themselves need a fabric.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 4
bin=$(realpath "${RAILGAUGE_BUILD_DIR:-build/dev}")/bin
failures=0 cases=0
while read -r line; do
  read -r -a words <<<"$line"
  cases=$((cases + 1))
  # A kernel's and a verb's help lists the flags; a flag that is not there is refused before the help.
  help=$("$bin/${words[0]}" "${words[@]:1}" --help 2>/dev/null) || { failures=$((failures + 1)); echo "FAILED: $line: no such command"; }
  for word in "${words[@]:1}"; do
    # The help is read whole: grep -q on a pipe ends early, and a program that writes in pieces fails by SIGPIPE.
    case $word in
      --*) grep -q -- "$word" <<<"$help" || { failures=$((failures + 1)); echo "FAILED: $line: the help has no $word"; } ;;
    esac
  done
done < <(grep -oh '`railgauge[a-z-]* [^`]*`' deploy/docs/guide/{questions,first-cluster,roce,infiniband}.md | tr -d '`"' | sed 's/--cron .*/--cron x/')
[ $failures = 0 ] || { echo "$failures of $cases commands failed"; exit 1; }
[ $cases -gt 10 ] || { echo "only $cases commands were found"; exit 1; }
echo "questions: $cases commands exist"
