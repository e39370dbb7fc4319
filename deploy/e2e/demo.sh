#!/usr/bin/env bash
# Tests `railgauge demo`: the five commands that it prints work as they are pasted, Ctrl-C ends it, and nothing is left.
# Figures are synthetic.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
export TMPDIR=$work/tmp
mkdir "$TMPDIR"
unset RAILGAUGE_CONTROLLER

# Nothing of a demo: no folder, and no process that names one.
nothing_is_left() {
  [ -z "$(ls -A "$TMPDIR")" ] || { ls -A "$TMPDIR"; return 1; }
  ! grep -lz "$TMPDIR/railgauge-demo" /proc/[0-9]*/cmdline 2>/dev/null
}

once_ends_after_the_verdict() {
  cli demo --nodes 16 --once >"$work/once.txt"
  grep 'every figure is synthetic' "$work/once.txt"
  grep 'regressed: performance' "$work/once.txt"
  grep 'explains it' "$work/once.txt"
  nothing_is_left
}

findings_are_shown() { curl -fsS --noproxy '*' "$1" | grep railgauge_findings; }

commands_work_as_printed() {
  "$bin/railgauge" demo --nodes 16 >"$work/demo.txt" 2>"$work/demo.err" &
  echo $! >"$work/demo.pid"
  wait_for "the story ends" 60 grep 'Ctrl-C ends it' "$work/demo.txt"
  sed -n 's|^  \(/.* --controller unix:.*\)|\1|p' "$work/demo.txt" >"$work/commands.txt"
  [ "$(wc -l <"$work/commands.txt")" = 5 ]
  local command
  while IFS= read -r command; do
    echo "$command"
    local code=0
    bash -c "$command" >"$work/answer.txt" </dev/null || code=$?
    # The port is still slow: one run more confirms what the nights found.
    [ "$code" = 0 ] || { [ "$code" = 1 ] && [[ $command == *" run night "* ]]; }
    [ -s "$work/answer.txt" ]
  done <"$work/commands.txt"
  # Metrics of what is stored are read anew every few seconds.
  wait_for "findings are in the metrics" 30 findings_are_shown "$(sed -n 's/^metrics  //p' "$work/demo.txt")"
}

ctrl_c_ends_it() {
  kill -INT "$(pid_of demo)"
  wait_for "the demo ends" 30 eval '! alive demo'
  nothing_is_left
}

missing_program_is_one_line() {
  mkdir "$work/bin"
  cp "$bin/railgauge" "$work/bin"
  expect_exit 2 "$work/bin/railgauge" demo 2>"$work/missing.err"
  [ "$(wc -l <"$work/missing.err")" = 1 ]
  grep railgauge-controller "$work/missing.err"
  nothing_is_left
}

check "--once ends after the verdict and leaves nothing" once_ends_after_the_verdict
check "the five commands work as they are printed" commands_work_as_printed
check "Ctrl-C ends it and leaves nothing" ctrl_c_ends_it
check "a program that is not there is named in one line" missing_program_is_one_line
summary
