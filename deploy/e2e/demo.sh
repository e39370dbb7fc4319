#!/usr/bin/env bash
# Tests `railgauge demo`: the five commands that it prints work as they are pasted, the console opens, Ctrl-C and every
# other end leave nothing. Figures are synthetic. DEMO_NODES=64 prints rows of deploy/docs/results/demo.md besides.
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

# The promise is 20 s on an idle machine, the bound here of a busy one.
once_ends_after_the_verdict() {
  local from; from=$(date +%s%3N)
  timeout 60 "$bin/railgauge" demo --nodes 16 --once >"$work/once.txt"
  echo $(($(date +%s%3N) - from)) >"$work/once_ms"
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
  # The console is none of the five: it opens a browser. Its URL is good once.
  local console
  console=$(sed -n 's/^console  //p' "$work/demo.txt")
  case $console in
    none:*) ;;
    *) curl -fsS --noproxy '*' --max-time 10 "$(bash -c "$console" 2>/dev/null)" | grep -i '<html' ;;
  esac
  # Metrics of what is stored are read anew every few seconds.
  wait_for "findings are in the metrics" 30 findings_are_shown "$(sed -n 's/^metrics  //p' "$work/demo.txt")"
}

ctrl_c_ends_it() {
  kill -INT "$(pid_of demo)"
  wait_for "the demo ends" 30 eval '! alive demo'
  nothing_is_left
}

# begin_demo: one whose programs run, in the middle of its story.
begin_demo() {
  "$bin/railgauge" demo --nodes 64 >"$work/demo.txt" 2>"$work/demo.err" &
  echo $! >"$work/demo.pid"
  wait_for "its agents are attached" 60 grep 'agents are attached' "$work/demo.txt"
}
# ends_by SIGNAL...: the signals, one right after the other, as by `timeout` or an impatient person.
ends_by() {
  local signal
  begin_demo
  for signal in "$@"; do kill "-$signal" "$(pid_of demo)" 2>/dev/null || true; sleep 0.1; done
  wait_for "the demo ends after $*" 40 eval '! alive demo'
  nothing_is_left
}
every_signal_leaves_nothing() {
  ends_by TERM
  ends_by TERM TERM
  ends_by INT INT INT
  ends_by HUP HUP
  ends_by QUIT
}
killed_demo_takes_its_programs_along() {
  begin_demo
  kill -KILL "$(pid_of demo)"
  rm -rf "$TMPDIR"/railgauge-demo-*
  wait_for "its programs end" 20 nothing_is_left
}

# A folder whose path no socket can have gets one line.
odd_folder_is_one_line() {
  local odd
  for odd in "a b" 'a"b' a%41b "$(printf 'x%.0s' {1..80})"; do
    mkdir "$TMPDIR/$odd"
    TMPDIR=$TMPDIR/$odd expect_exit 2 "$bin/railgauge" demo --nodes 16 --once 2>"$work/odd.err"
    [ "$(wc -l <"$work/odd.err")" = 1 ]
    grep 'TMPDIR=/tmp would do' "$work/odd.err"
    rmdir "$TMPDIR/$odd"
  done
  mkdir "$TMPDIR/rel"
  (cd "$TMPDIR" && TMPDIR=rel "$bin/railgauge" demo --nodes 16 --once) >"$work/relative.txt"
  grep 'regressed: performance' "$work/relative.txt"
  rmdir "$TMPDIR/rel"
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
check "TERM, Ctrl-C three times, HUP and QUIT leave nothing" every_signal_leaves_nothing
check "a demo that is killed takes its programs along" killed_demo_takes_its_programs_along
check "a folder that no socket can have is one line" odd_folder_is_one_line
check "a program that is not there is named in one line" missing_program_is_one_line
echo "synthetic: the verdict of 16 nodes came after $(cat "$work/once_ms") ms"
if [ -n "${DEMO_NODES:-}" ]; then
  "$bin/railgauge" demo --nodes "$DEMO_NODES" --once >"$work/table.txt"
  sed -n 's/^ *\([0-9.]*\) s  \(.*\)/| \2 | \1 s |/p' "$work/table.txt"
fi
summary
