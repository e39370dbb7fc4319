#!/usr/bin/env bash
# Tests, with real guests, the properties of the virtual fabric that its users rely on. Prints PASS or FAIL for
# each, exits 1 when one failed and 77 when the fabric cannot be tried here. About two minutes.
# shellcheck disable=SC2016,SC2317 # guests expand words, cases are called by name
set -uo pipefail
set -m  # jobs get their own process group, as at a terminal, so that Ctrl-C can be sent to one
here=$(cd -- "$(dirname -- "$0")" && pwd)
for tool in qemu-system-x86_64 ib_write_lat jq; do
  command -v "$tool" >/dev/null || { echo "WAIVED: $tool is not installed"; exit 77; }
done
work=$(mktemp -d "${TMPDIR:-/tmp}/vfabric-test.XXXX")
failures=0

fabric() { "$here/vfabric" --dir "$work/state" "$@"; }
finish() {
  fabric down 2>/dev/null
  [ "$failures" = 0 ] && rm -rf -- "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

# check NAME FUNCTION: runs a case, which passes when its function returns 0; its output is shown when it fails.
check() {
  if "$2" >"$work/$2.log" 2>&1; then
    echo "PASS $1"
  else
    echo "FAIL $1"
    sed 's/^/  | /' "$work/$2.log"
    failures=$((failures + 1))
  fi
}

expect() {
  [ "$1" = "$2" ] || { echo "expected '$2', got '$1'"; return 1; }
}

# processes DIR: prints the processes with DIR in their command line, except this shell.
processes() {
  local entry pid
  for entry in /proc/[0-9]*; do
    pid=${entry#/proc/}
    [ "$pid" != $$ ] && tr '\0' ' ' 2>/dev/null <"$entry/cmdline" | grep -F -- "$1/" | sed "s/^/$pid /"
  done
}

state_of() { fabric status --format json | jq -r ".nodes[] | select(.name == \"$1\") | .state"; }
median() { fabric measure "$1" "$2" | sed -n 's/median \([0-9.]*\) us.*/\1/p'; }

minimum() { fabric measure "$1" "$2" | sed -n 's/.*minimum \([0-9.]*\) us.*/\1/p'; }

# above A FACTOR B: passes when A > FACTOR * B.
above() { awk -v a="$1" -v f="$2" -v b="$3" 'BEGIN { print a, f, b; exit !(a != "" && b > 0 && a > f * b) }'; }

# --- cases ----------------------------------------------------------------------------------------
interrupted_up_leaves_nothing() {
  local dir=$work/interrupted job polls
  "$here/vfabric" --dir "$dir" up -n 2 2>"$work/interrupted.log" &
  job=$!
  for ((polls = 0; polls < 600; ++polls)); do
    [ ! -e "$dir/nodes/n2/qemu.pid" ] || break
    sleep 0.1
  done
  [ -n "$(processes "$dir")" ] || { echo "nothing was running yet"; return 1; }
  kill -INT -- "-$job"
  wait "$job"
  expect $? 130 || return 1
  expect "$(processes "$dir")" "" || return 1
  "$here/vfabric" --dir "$dir" down
}

failing_up_leaves_nothing() {
  local dir=$work/failing code
  # a port that n1 wants is taken: by the fabric that is up
  "$here/vfabric" --dir "$dir" up -n 1 --port-base "$(fabric status --format json | jq '.nodes[0].exec_port - 1')" \
    >"$work/failing.log" 2>&1
  code=$?
  cat "$work/failing.log"
  expect $code 1 && expect "$(processes "$dir")" "" && grep -q 'port-base' "$work/failing.log" &&
    expect "$(grep -c . "$work/failing.log")" "$(grep -c '^vfabric: ' "$work/failing.log")"
}

exec_returns_what_the_command_did() {
  local out
  fabric exec n1 sh -c 'exit 42'
  expect $? 42 || return 1
  fabric exec n1 sh -c 'kill -9 $$'
  expect $? 137 || return 1
  fabric exec n1 /nonexistent
  expect $? 127 || return 1
  fabric exec n9 true
  expect $? 2 || return 1
  out=$(printf 'one\ntwo\n' | fabric exec n1 sh -c 'echo to-stderr >&2; cat' 2>"$work/stderr") || return 1
  expect "$out" $'one\ntwo' && expect "$(cat "$work/stderr")" to-stderr || return 1
  expect "$(fabric exec n2 printf '%s|' "it's" 'a "b" $c' '' '*')" "it's|a \"b\" \$c||*|"
}

a_shared_folder_shows_a_rebuilt_program() {
  fabric exec n1 "$work/share/program" && expect "$(fabric exec n1 cat "$work/share/file")" before || return 1
  echo after >"$work/share/file" && cp /usr/bin/false "$work/share/program" || return 1
  fabric exec n1 "$work/share/program"
  expect $? 1 && expect "$(fabric exec n1 cat "$work/share/file")" after
}

a_pushed_file_arrives_with_its_mode() {
  fabric push n2 "$here/vfabric" /opt/pushed && fabric exec n2 test -x /opt/pushed &&
    expect "$(fabric exec n2 cksum /opt/pushed)" "$(cksum "$here/vfabric" | sed "s|$here/vfabric|/opt/pushed|")" &&
    [ ! -e /opt/pushed ]
}

no_guest_has_an_ssh_server_on_the_fabric() {
  local code=0
  fabric exec n1 pgrep -x dropbear >/dev/null || return 1
  fabric exec n2 "$(command -v bash)" -c 'exec 3<>/dev/tcp/192.0.2.1/22' || code=$?
  expect $code 1
}

exec_runs_many_at_once() {
  local i jobs=()
  for ((i = 1; i <= 12; ++i)); do
    fabric exec n$((i % 3 + 1)) sh -c "sleep 1; exit $i" &
    jobs+=($!)
  done
  for ((i = 1; i <= 12; ++i)); do
    wait "${jobs[i - 1]}"
    expect $? $i || return 1
  done
}

interrupted_exec_ends_the_command() {
  local job
  fabric exec n1 sh -c 'sleep 4711' &
  job=$!
  sleep 2
  expect "$(fabric exec n1 pgrep -fc '^sleep 4711')" 1 || return 1
  kill -INT -- "-$job"
  wait $job
  expect $? 130 && expect "$(fabric exec n1 pgrep -fc '^sleep 4711')" 0
}

detached_command_outlives_exec() {
  local pid
  pid=$(fabric exec n1 --detach --log ticker sh -c 'echo begun; exec sleep 1000') || return 1
  fabric exec n1 kill -0 "$pid" && expect "$(fabric logs n1 ticker)" begun && fabric exec n1 kill "$pid"
}

guests_have_the_fabric() {
  local node
  for node in n1 n2 n3; do
    fabric exec $node rdma link | grep -q 'rxe0/1 state ACTIVE' || return 1
    expect "$(fabric exec $node sh -c 'cat /sys/class/infiniband/rxe0/ports/1/gids/$(cat /run/vfabric/gid_index)')" \
      "0000:0000:0000:0000:0000:ffff:c000:020${node#n}" || return 1
  done
}

perftest_measures_every_pair() {
  local pair value
  for pair in "n1 n2" "n1 n3" "n2 n3"; do
    # shellcheck disable=SC2086
    value=$(median $pair) && above "$value" 1 10 || return 1
    # shellcheck disable=SC2086
    value=$(bandwidth $pair) && above "$value" 1 0.5 || return 1
  done
}

# bandwidth FROM TO: prints the MB/s of 64 KiB writes.
bandwidth() {
  local job i
  fabric exec "$2" timeout 60 ib_write_bw -d rxe0 -x 1 -s 65536 -n 200 -F -p 18600 </dev/null >/dev/null 2>&1 &
  job=$!
  for ((i = 0; i < 20; ++i)); do  # until it listens
    fabric exec "$1" timeout 60 ib_write_bw -d rxe0 -x 1 -s 65536 -n 200 -F -p 18600 "192.0.2.${2#n}" \
      </dev/null >"$work/bw.log" 2>&1 && break
    sleep 0.3
  done
  wait $job
  awk '$1 == 65536 { print $4 }' "$work/bw.log"
}

a_delay_shows_and_clears() {
  local before during after  # minima: other work on this machine raises medians
  before=$(minimum n1 n2) && fabric fault n2 delay 30ms || return 1
  during=$(minimum n1 n2)
  expect $? 1 || return 1  # the fabric calls itself sick
  expect "$(fabric status --format json | jq -c '.nodes[1].faults')" '[{"kind":"delay","value":"30ms"}]' || return 1
  fabric fault n2 clear || return 1
  after=$(minimum n1 n2) || return 1
  # half a round trip with 30 ms in one direction
  above "$during" 1 14000 && above "$during" 3 "$before" && above "$during" 3 "$after"
}

a_loss_loses() {
  fabric fault n2 loss 40% || return 1
  local lost
  lost=$(fabric exec n1 ping -q -c 40 -i 0.05 -W 1 n2 | sed -n 's/.* \([0-9]*\)% packet loss.*/\1/p')
  fabric fault n2 clear && above "$lost" 1 9
}

a_rate_limits() {
  local value
  fabric fault n1 rate 24mbit || return 1  # 3 MB/s, against 7 to 16
  value=$(bandwidth n1 n2)
  fabric fault n1 clear && above 3.3 1 "$value" && above "$value" 1 0.5
}

a_flap_and_a_lost_nic_come_back() {
  fabric fault n3 down || return 1
  ! fabric exec n1 ping -q -c 1 -W 1 n3 || return 1
  fabric fault n3 up && fabric exec n1 ping -q -c 1 -W 5 n3 || return 1
  fabric fault n3 nic-gone || return 1
  expect "$(fabric exec n3 rdma link)" "" || return 1
  fabric fault n3 clear && above "$(median n1 n3)" 1 10
}

a_wrong_fault_is_refused() {
  fabric fault n1 delay 5
  expect $? 2 || return 1
  fabric fault n1 explode
  expect $? 2 && expect "$(fabric status --format json | jq -c '.nodes[0].faults')" '[]'
}

a_frozen_node_thaws() {
  fabric fault n3 freeze && expect "$(state_of n3)" frozen || return 1
  fabric exec n3 true
  expect $? 4 || return 1
  fabric fault n3 thaw && expect "$(state_of n3)" booted && fabric exec n3 true
}

a_killed_node_takes_nobody_along() {
  local job
  fabric exec n1 ping -q -i 0.1 -c 60 -W 2 n2 >"$work/ping.log" &
  job=$!
  sleep 1
  fabric fault n3 kill && expect "$(state_of n3)" dead || return 1
  fabric exec n3 true
  expect $? 4 || return 1
  above "$(median n1 n2)" 1 10 || return 1
  wait $job || return 1
  grep ' 0% packet loss' "$work/ping.log"
}

a_killed_node_boots_again() { fabric restart n3 && expect "$(state_of n3)" booted && above "$(median n1 n3)" 1 10; }

a_second_up_is_refused() {
  fabric up -n 2
  expect $? 2 && expect "$(state_of n1)" booted
}

down_leaves_nothing_and_may_be_repeated() {
  fabric down && expect "$(processes "$work/state")" "" && [ ! -e "$work/state" ] && fabric down
}

bring_up() {
  mkdir "$work/share" && echo before >"$work/share/file" && cp /usr/bin/true "$work/share/program" || return 1
  fabric up -n 3 --share "$work/share" && expect "$(fabric status --format json | jq -r '[.nodes[].state] | unique[]')" booted
}

# --------------------------------------------------------------------------------------------------
check "Ctrl-C during up leaves no process" interrupted_up_leaves_nothing
check "up boots three nodes and measures a write" bring_up
[ "$failures" = 0 ] || exit 1
check "a failing up says why in one line each and leaves no process" failing_up_leaves_nothing
check "a second up is refused and harms nothing" a_second_up_is_refused
check "every guest has rxe0 and its RoCE v2 GID" guests_have_the_fabric
check "exec passes exit code, stdin, stdout, stderr and words" exec_returns_what_the_command_did
check "no guest has an ssh server on the fabric" no_guest_has_an_ssh_server_on_the_fabric
check "a shared folder shows a rebuilt program" a_shared_folder_shows_a_rebuilt_program
check "a pushed file arrives with its mode, in the guest only" a_pushed_file_arrives_with_its_mode
check "exec runs twelve commands at once" exec_runs_many_at_once
check "an interrupted exec ends its command in the guest" interrupted_exec_ends_the_command
check "a detached command outlives exec and leaves a log" detached_command_outlives_exec
check "perftest measures latency and bandwidth of every pair" perftest_measures_every_pair
check "a delay raises latency, is called sick, and clears" a_delay_shows_and_clears
check "a loss loses packets" a_loss_loses
check "a rate limit limits bandwidth" a_rate_limits
check "a flapped port and a lost NIC come back" a_flap_and_a_lost_nic_come_back
check "a fault that is none is refused" a_wrong_fault_is_refused
check "a frozen node thaws" a_frozen_node_thaws
check "a killed node takes nobody along" a_killed_node_takes_nobody_along
check "a killed node boots again" a_killed_node_boots_again
check "down leaves no process and may be repeated" down_leaves_nothing_and_may_be_repeated
[ "$failures" = 0 ]
