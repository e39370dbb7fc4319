#!/usr/bin/env bash
# Breaks a controller, agents and runners at random instants and counts afterwards. Real processes on loopback; the
# kernels pretend to measure, so no hardware is needed.
#   deploy/e2e/chaos.sh ROUNDS [SEED [STRIKES]]   round i has the seed SEED + i and so many strikes (default 5)
# A strike is one of: KILL or STOP of the controller, an agent or a runner; a full disk; a locked database; a clock
# beside the host's; a clock that jumps under a running process; a partition when a task is in a certain phase; a message
# of a phase that passes twice; delayed messages; bytes of a stream that change, come twice or in another order; a memory
# limit. Streams of odd seeds have TLS, as bytes that change must be noticed; those of even seeds show their phases.
# After each round an oracle compares the agents' spools with the database, sends all records again, which must change
# nothing, neither records nor outcomes nor findings, runs on all nodes, since no lease may be left, and looks for runs,
# processes and files left over. A failing round prints the one command that repeats it. RAILGAUGE_CHAOS_TABLE: the file
# that gets a row of counts.
# RAILGAUGE_CHAOS_MEMORY=1: every other strike is a memory limit, of several sizes.
# A partition, or another harm to a stream, is unmet when no message of its phase passed in time. Such a strike proves
# nothing: it is counted by phase, and a phase that was tried more than once and never met fails the whole, with the
# command that repeats it. The row says how many disks were full, or how many were to be and could not: no leave to mount.
# shellcheck source-path=SCRIPTDIR
rounds=${1:?chaos.sh: ROUNDS is needed} first_seed=${2:-1} strikes=${3:-5}
# File systems of its own, which end with the last process. Without leave to mount, the full disk is left out.
if [ "$(id -u)" = 0 ] && [ -z "${RAILGAUGE_CHAOS_INNER:-}" ] && unshare --mount true 2>/dev/null; then
  RAILGAUGE_CHAOS_INNER=1 exec unshare --mount --propagation private "$0" "$@"
fi
. "$(dirname "$0")/lib.sh"
attacker=$bin/railgauge-attacker
export TMPDIR=$work/tmp
mkdir -p "$work/suites" "$TMPDIR" "$work/disk-controller" "$work/disk-agents"
# By a name of its own, so that rounds of another process at the same time have other runners.
runner=$work/railgauge-runner-testing
ln -s "$(realpath "$bin/railgauge-runner-testing")" "$runner"
nodes="a b c"  # a and b dial through a proxy, c over the unix socket
cat >"$work/suites/chaos.yaml" <<'Y'
version: 1
metadata: {name: chaos}
rounds: {max_attempts: 3}
stages:
  - {kernel: test.local, deadline_seconds: 5, parameters: {sizes: "1,2,4,8,16,32,64,128", seconds: 0.05}, placement: {local: all}}
  - {kernel: test.latency, deadline_seconds: 5, parameters: {sizes: "1,2,4,8,16,32,64,128", seconds: 0.15}, placement: {pairs: all}}
  - {kernel: test.bandwidth, deadline_seconds: 5, parameters: {sizes: "1,2,4,8,16,32,64,128", seconds: 0.15}, placement: {pairs: all}}
Y
cat >"$work/suites/last.yaml" <<'Y'
version: 1
metadata: {name: last}
stages: [{kernel: test.local, parameters: {sizes: "1", seconds: 0.05}, placement: {local: all}}]
Y
# Wrong bytes are a finding at their first time.
cat >"$work/suites/wrong.yaml" <<'Y'
version: 1
metadata: {name: wrong}
stages: [{kernel: test.local, parameters: {sizes: "1", act: measure_corrupt}, placement: {local: all}}]
Y
cli pki init "$work/pki" >/dev/null
cli pki issue "$work/pki" controller ctl --san 127.0.0.1 >/dev/null
for node in $nodes; do cli pki issue "$work/pki" agent "$node" >/dev/null; done
can_mount=0  # a run wants 537 MB of room before it begins
for disk in controller agents; do
  if [ -n "${RAILGAUGE_CHAOS_INNER:-}" ] && mount -t tmpfs -o size=640m chaos "$work/disk-$disk" 2>/dev/null; then can_mount=1; fi
done
database=$work/disk-controller/railgauge.db
finish_chaos() {
  local code=$?
  stop_round
  umount "$work/disk-controller" "$work/disk-agents" 2>/dev/null || true
  (exit "$code")
  finish
}
trap finish_chaos EXIT

# chance N: a number from 0 to N - 1, by the round's seed. In `drawn`, since a subshell would not advance the seed.
chance() { drawn=$((RANDOM % $1)); }
sum() { local total=0 one; for one in "$@"; do total=$((total + one)); done; echo $total; }
pause_ms() { sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"; }
pause_up_to() { chance "$1"; pause_ms "$drawn"; }
note() { did+=" $1"; }

start() {  # PROCESS COMMAND...
  local process=$1; shift
  "$@" >>"$work/$process.log" 2>&1 &
  echo $! >"$work/$process.pid"
}
# set_clock PROCESS SECONDS: the process's clock, now and when it begins again, is so far beside the host's.
set_clock() {
  local bytes="" i
  for i in 0 1 2 3 4 5 6 7; do bytes+=$(printf '\\x%02x' $((($2 >> (8 * i)) & 255))); done
  printf '%b' "$bytes" | dd of="$work/clock-$1" conv=notrunc status=none
}
skewed() { echo "LD_PRELOAD=${bin%/bin}/lib/libskewed-clock.so RAILGAUGE_TEST_SKEW_FILE=$work/clock-$1"; }
begin_controller() {
  local port_flags=(--insecure)
  [ "$tls" = 0 ] || port_flags=(--tls-ca "$work/pki/ca.crt" --tls-cert "$work/pki/ctl.crt" --tls-key "$work/pki/ctl.key")
  : >"$work/controller.log"
  # shellcheck disable=SC2046  # two words
  start controller env $(skewed controller) "$bin/railgauge-controller" --socket "$socket" --database "$database" \
    --suites "$work/suites" --metrics-listen none --listen "127.0.0.1:$port" "${port_flags[@]}"
}
serves() { grep -q ' serves' "$work/controller.log"; }
# A controller that a full disk or a lock does not let begin is begun again, as systemd does.
ensure_controller() {
  local until=$(($(date +%s) + 20))
  until serves; do
    alive controller || { note_end; sleep 0.2; begin_controller; }
    [ "$(date +%s)" -lt "$until" ] || { echo "the controller does not begin: $(tail -n 1 "$work/controller.log")"; return 1; }
    sleep 0.02
  done
  alive controller || { note_end; begin_controller; ensure_controller; }
}
# Counts a controller that ended although nobody ended it. A signal is a fault, such as a failed check or a wild pointer,
# but for the end without memory or threads, which says so.
note_end() {
  local code=0
  wait "$(pid_of controller)" 2>/dev/null || code=$?
  ended_by_itself=$((ended_by_itself + 1))
  [ "$code" -lt 128 ] || grep -qE '^railgauge-controller: (memory|threads): ' "$work/controller.log" || crashed+=" $((code - 128)) after ${did##* }"
}
begin_agent() {  # NODE
  local node=$1 target=unix:$socket flags=(--insecure)
  case $node in a) target=127.0.0.1:$proxy_a ;; b) target=127.0.0.1:$proxy_b ;; esac
  if [ "$tls" = 1 ] && [ "$node" != c ]; then
    flags=(--tls-ca "$work/pki/ca.crt" --tls-cert "$work/pki/$node.crt" --tls-key "$work/pki/$node.key")
  fi
  : >"$work/agent-$node.log"
  # shellcheck disable=SC2046  # two words
  start "agent-$node" env $(skewed "$node") "$bin/railgauge-agent" --controller "$target" "${flags[@]}" --name "$node" \
    --state-dir "$work/disk-agents/$node" --runner "$runner" --sysfs-root "$work/sys-$node" \
    --proc-root "$work/proc-none" --metrics-listen none --busy-sources none --watch-seconds 0
}
# The wait before the next dial doubles up to 10 s. An agent that is in such a wait is begun anew, so that the next
# strike meets work under way.
ensure_agents() {
  local node until=$(($(date +%s%3N) + 700))
  for node in $nodes; do [ -e "$work/agent-$node.pid" ] && alive "agent-$node" || begin_agent "$node"; done
  while [ "$(date +%s%3N)" -lt "$until" ]; do
    [ "$(attached_nodes)" -lt 3 ] || return 0
    sleep 0.05
  done
  for node in $(local_cli nodes -o json 2>/dev/null | jq -r '.nodes[] | select(.state != "attached") | .name'); do
    stop_hard "agent-$node"; begin_agent "$node"
  done
  until=$(($(date +%s%3N) + 2000))
  while [ "$(attached_nodes)" -lt 2 ] && [ "$(date +%s%3N)" -lt "$until" ]; do sleep 0.05; done
}
local_cli() { timeout 15 "$bin/railgauge" --controller "unix:$socket" "$@"; }
# A call that ends late has printed a number before it fails: only one counts.
attached_nodes() {
  local count
  count=$(local_cli nodes -o json 2>/dev/null | jq '[.nodes[] | select(.state == "attached")] | length') || count=0
  echo "${count:-0}"
}
ensure_run() {
  [ -z "${run:-}" ] || [ "$(local_cli runs show "$run" -o json 2>/dev/null | jq -r .run.state)" = ended ] || return 0
  run=$(local_cli run chaos --detach 2>>"$work/cli.log") || run=""
}

# order A|B LINE: a line for that proxy.
order() { echo "$2" >&"${proxy_in[$1]}"; }
triggered() { grep -q triggered "$work/proxy-$1.log"; }
begin_proxy() {  # A PORT
  rm -f "$work/proxy-$1.in"; mkfifo "$work/proxy-$1.in"
  "$attacker" proxy --listen="127.0.0.1:$2" --to="127.0.0.1:$port" <"$work/proxy-$1.in" >"$work/proxy-$1.log" 2>&1 &
  echo $! >"$work/proxy-$1.pid"
  local in
  exec {in}>"$work/proxy-$1.in"
  proxy_in[$1]=$in
}

# --- strikes -------------------------------------------------------------------------------------

some_node() { chance 3; node=$(cut -d ' ' -f $((drawn + 1)) <<<"$nodes"); }
runners() { pgrep -f "^$runner --task" || true; }
kill_controller() {
  note kill-controller
  stop_hard controller
  kills=$((kills + 1))
  wait "$(pid_of controller)" 2>/dev/null || true
  pause_up_to 200
  begin_controller
}
stop_controller() {
  note stop-controller
  kill -STOP "$(pid_of controller)"
  pause_up_to 1500
  kill -CONT "$(pid_of controller)"
}
kill_agent() {
  some_node; note "kill-$node"
  stop_hard "agent-$node"
  wait "$(pid_of "agent-$node")" 2>/dev/null || true
  pause_up_to 300
  begin_agent "$node"
}
stop_agent() {
  some_node; note "stop-$node"
  kill -STOP "$(pid_of "agent-$node")" 2>/dev/null || return 0
  pause_up_to 1500
  kill -CONT "$(pid_of "agent-$node")"
}
signal_runner() {  # SIGNAL
  local all
  mapfile -t all < <(runners)
  [ ${#all[@]} -gt 0 ] || { note no-runner; return 0; }
  chance ${#all[@]}
  note "$1-runner"
  kill "-$1" "${all[$drawn]}" 2>/dev/null || true
}
full_disk() {
  [ "$can_mount" = 1 ] || { note full-disk-skipped; skipped_disks=$((skipped_disks + 1)); return 0; }
  full_disks=$((full_disks + 1))
  chance 2
  local disk; disk=$([ "$drawn" = 0 ] && echo controller || echo agents)
  note "full-$disk"
  fallocate --length "$(df --block-size=1 --output=avail "$work/disk-$disk" | tail -n 1)" "$work/disk-$disk/filler" || true
  pause_up_to 1500
  rm -f "$work/disk-$disk/filler"
}
lock_database() {
  note lock
  printf '.timeout 3000\nBEGIN IMMEDIATE;\n.shell sleep 1\nROLLBACK;\n' | timeout 10 sqlite3 "$database" >/dev/null 2>>"$work/cli.log" || true
}
skew_clock() {
  some_node; chance 4
  local seconds; seconds=$(cut -d ' ' -f $((drawn + 1)) <<<"-34560000 -30 30 34560000")
  note "skew-$node:$seconds"
  stop_hard "agent-$node"
  wait "$(pid_of "agent-$node")" 2>/dev/null || true
  set_clock "$node" "$seconds"
  begin_agent "$node"
}
# Data of the controller is kept by its calendar, so that its clock jumps by hours alone.
jump_clock() {
  local process seconds
  chance 4; process=$(cut -d ' ' -f $((drawn + 1)) <<<"controller a b c")
  chance 4
  if [ "$process" = controller ]; then seconds=$(cut -d ' ' -f $((drawn + 1)) <<<"-3600 -30 30 3600")
  else seconds=$(cut -d ' ' -f $((drawn + 1)) <<<"-34560000 -3600 30 34560000"); fi
  note "jump-$process:$seconds"
  set_clock "$process" "$seconds"
  pause_up_to 1500
}
phases="prepare prepared go step answer records ack"
harms="flip double swap"
declare -A tried met  # partitions by phase, messages twice, harms to bytes
# await PROXY NAME ORDER: gives the order, and waits until what it waits for has passed.
await() {
  local which=$1 phase=$2 mode=$3 until
  : >"$work/proxy-$which.log"
  order "$which" "$mode"
  until=$(($(date +%s%3N) + 3000))  # two tasks of the longer kinds
  until triggered "$which" || [ "$(date +%s%3N)" -ge "$until" ]; do sleep 0.02; done
  tried[$phase]=$((${tried[$phase]:-0} + 1))
  if triggered "$which"; then
    met[$phase]=$((${met[$phase]:-0} + 1)); note "${mode// /-}-$which"
  else
    unmet=$((unmet + 1)); note "${mode// /-}-$which-unmet"
  fi
}
some_proxy() { chance 2; which=$([ "$drawn" = 0 ] && echo a || echo b); }
# Phases of a stream with TLS are not seen.
partition() {
  local which phase mode
  some_proxy
  chance 7; phase=$(cut -d ' ' -f $((drawn + 1)) <<<"$phases")
  chance 2; mode=$([ "$drawn" = 0 ] && echo cut || echo half)
  if [ "$tls" = 1 ]; then note "$mode-$which"; order "$which" "$mode"
  else await "$which" "$phase" "arm $phase $mode"; fi
  pause_up_to 1200
  order "$which" heal
}
# A message that passes twice, where messages are seen; else bytes that change, come twice or late.
spoil() {
  local which phase way
  some_proxy
  chance 7; phase=$(cut -d ' ' -f $((drawn + 1)) <<<"$phases")
  chance 3; way=$(cut -d ' ' -f $((drawn + 1)) <<<"$harms")
  if [ "$tls" = 0 ]; then await "$which" again "arm $phase again"
  else chance 2; await "$which" "$way" "spoil $way $([ "$drawn" = 0 ] && echo up || echo down)"; fi
  pause_up_to 800
  order "$which" heal
}
delay_messages() {
  local which
  chance 2; which=$([ "$drawn" = 0 ] && echo a || echo b)
  chance 300; note "delay-$which:$drawn"
  order "$which" "delay $drawn"
  pause_up_to 1000
  order "$which" heal
}
limit_memory() {
  local now room=2097152  # too little for a thread's stack
  if [ -n "${RAILGAUGE_CHAOS_MEMORY:-}" ]; then
    chance 5; room=$(cut -d ' ' -f $((drawn + 1)) <<<"0 262144 2097152 7340032 33554432")
  fi
  now=$(awk '$1 == "VmData:" { print $2 * 1024 }' "/proc/$(pid_of controller)/status" 2>/dev/null) || return 0
  note memory
  prlimit --pid "$(pid_of controller)" --data=$((now + room)):unlimited 2>/dev/null || return 0
  pause_up_to 1500
  prlimit --pid "$(pid_of controller)" --data=unlimited:unlimited 2>/dev/null || true
}
strike() {
  chance 26
  if [ -n "${RAILGAUGE_CHAOS_MEMORY:-}" ] && [ $((drawn % 2)) = 1 ]; then drawn=19; fi
  case $drawn in
    [0-8]) kill_controller ;;
    9) stop_controller ;;
    10) kill_agent ;;
    11) stop_agent ;;
    12) signal_runner KILL ;;
    13) signal_runner STOP ;;
    14) full_disk ;;
    15) lock_database ;;
    16) skew_clock ;;
    17) partition ;;
    18) delay_messages ;;
    19) limit_memory ;;
    2[0-1]) jump_clock ;;
    2[2-5]) spoil ;;
  esac
}

# --- the oracle ----------------------------------------------------------------------------------

compare() {
  local words=() node
  for node in $nodes; do words+=("--spool=$work/disk-agents/$node/agent-spool.db"); done
  "$attacker" compare --database="$database" "${words[@]}"
}
all_delivered() { compare | grep -q ' waiting 0$'; }
all_runs_ended() { local_cli runs --limit 1000 -o json | jq -e '(.runs | length > 0) and all(.runs[]; .state == "ended" and .outcome != "")'; }
all_attached() { [ "$(attached_nodes)" = 3 ]; }
no_runner() { [ -z "$(runners)" ]; }
# All that a replay must leave as it is.
digest() {
  sqlite3 "$database" '.timeout 5000' "SELECT 'finding', finding_id, state, kind, suspect, summary, evidence FROM finding ORDER BY 2;
    SELECT 'run', run_id, outcome FROM run ORDER BY 2; SELECT 'points', count(*), total(median) FROM point;
    SELECT 'notes', count(*) FROM note; SELECT 'ranks', count(*), count(outcome) FROM rank"
}
has_findings() { [ "$(sqlite3 "$database" 'SELECT count(*) FROM finding')" = 3 ]; }
# Every agent sends its records from the first one on, to a controller that has them.
replay() {
  local node
  digest >"$work/before"
  for node in $nodes; do kill -TERM "$(pid_of "agent-$node")" || true; done
  for node in $nodes; do wait_for "agent $node ends" 15 eval "! alive agent-$node" || stop_hard "agent-$node"; done
  for node in $nodes; do
    sqlite3 "$work/disk-agents/$node/agent-spool.db" 'UPDATE acknowledgement SET through = 0'
    begin_agent "$node"
  done
  wait_for "three agents attach again" 40 all_attached || true
  wait_for "records are delivered again" 40 all_delivered || true
  digest >"$work/after"
  diff "$work/before" "$work/after" >"$work/changed" || { echo "a replay changed what was stored:"; head -n 6 "$work/changed"; }
}
# A run over all nodes passes only where no other run has one of them.
no_lease() { timeout 60 "$bin/railgauge" --controller "unix:$socket" run last --nodes "${nodes// /,}" >"$work/last.log" 2>&1; }
# Prints the remains of the round: runners, files of unfinished writes, open tasks, locks.
left_over() {
  local node
  runners | sed 's/^/runner /'
  find "$work/disk-controller" "$work/disk-agents" "$TMPDIR" -mindepth 1 \( -name '*.tmp' -o -name '*.draft' -o -path "$TMPDIR/*" \) | sed 's/^/file /'
  for node in $nodes; do
    sqlite3 "$work/disk-agents/$node/agent-spool.db" "SELECT 'open task ' || task_id FROM task WHERE NOT closed"
    flock --nonblock "$work/disk-agents/$node/agent.lock" true || echo "lock of $node"
  done
  sqlite3 "$database" 'BEGIN EXCLUSIVE; ROLLBACK' 2>&1 | sed 's/^/lock of the database: /'
}
# After every process has ended in its own way. Prints one line for each fault.
judge() {
  local node
  wait_for "three agents attach" 40 all_attached || true
  wait_for "every run has an outcome" 60 all_runs_ended || true
  wait_for "spools are delivered" 40 all_delivered || true
  wait_for "runners end" 15 no_runner || true
  all_runs_ended >/dev/null || { echo "runs without an outcome:"; local_cli runs --limit 1000 -o json | jq -c '.runs[] | select(.state != "ended")'; }
  all_delivered || echo "records wait in a spool"
  no_lease || { echo "a run over all nodes does not pass, a lease may be left:"; tail -n 2 "$work/last.log"; }
  timeout 60 "$bin/railgauge" --controller "unix:$socket" run wrong --nodes "${nodes// /,}" >"$work/wrong.log" 2>&1 || true
  wait_for "the findings" 20 has_findings || echo "wrong bytes are no finding: the replay proves little"
  wait_for "spools are delivered" 40 all_delivered || true
  replay
  for node in $nodes; do kill -TERM "$(pid_of "agent-$node")" || echo "agent $node had ended"; done
  for node in $nodes; do wait_for "agent $node ends" 15 eval "! alive agent-$node" || true; done
  # An agent that ends spools its last records; the comparison is of those that were acknowledged.
  local_cli db check >"$work/db-check" 2>&1 || cat "$work/db-check"
  local_cli runs --limit 1000 -o json | jq '.runs | length' >"$work/runs"
  kill -TERM "$(pid_of controller)" || echo "the controller had ended"
  wait_for "the controller ends" 30 eval '! alive controller' || true
  left_over
  compare | tee "$work/compared" | grep -vE '^acknowledged' || true
}

# --- a round -------------------------------------------------------------------------------------

declare -A proxy_in
# One round with the seed in `seed`. Its line is printed; fails when the oracle found a fault.
round() {
  local i fault kept node
  RANDOM=$seed tls=$((seed % 2))
  did="" kills=0 ended_by_itself=0 run="" crashed=""
  rm -rf "${database:?}"* "${work:?}"/disk-agents/* "$socket" "${TMPDIR:?}"/*
  read -r port proxy_a proxy_b <<<"$("$attacker" port --count=3)"
  for node in $nodes; do mkdir -p "$work/disk-agents/$node"; [ -d "$work/sys-$node/class" ] || make_sysfs "$work/sys-$node"; done
  for node in controller $nodes; do set_clock "$node" 0; done
  begin_controller
  begin_proxy a "$proxy_a"; begin_proxy b "$proxy_b"
  for ((i = 0; i < strikes; ++i)); do
    ensure_controller; ensure_agents; ensure_run
    pause_up_to 500
    strike
  done
  for node in a b; do order $node heal; done
  # Clocks are right again at the end, as after a repair.
  for node in controller $nodes; do set_clock "$node" 0; done
  for node in $nodes; do alive "agent-$node" || begin_agent "$node"; done
  ensure_controller
  fault=$(judge)
  stop_round
  read -r -a kept < <(tail -n 1 "$work/compared")
  all_kills=$((all_kills + kills)) all_records=$((all_records + ${kept[1]:-0}))
  missing=$((missing + ${kept[3]:-0})) twice=$((twice + ${kept[5]:-0} + ${kept[7]:-0}))
  [ "${kept[9]:-0}" = 0 ] || fault+=$'\n'"${kept[9]} acknowledged records were put aside"
  [ -z "$crashed" ] || fault+=$'\n'"the controller died by signal:$crashed"
  [ "${kept[1]:-0}" -gt 0 ] || fault+=$'\n'"no record was acknowledged: the round proves nothing"
  printf '%-6s seed %d:%s; %d kills, %d runs, %s; ended by itself %d\n' "$([ -z "$fault" ] && echo ok || echo FAILED)" "$seed" "$did" \
    "$kills" "$(cat "$work/runs" 2>/dev/null || echo 0)" "$(tail -n 1 "$work/compared")" "$ended_by_itself"
  [ -n "$fault" ] || return 0
  faults=$((faults + $(grep -c . <<<"$fault")))
  grep . <<<"$fault" | head -n 20 | sed 's/^/       /'
  say_again 1 "$seed"
  return 1
}
# say_again ROUNDS SEED: the one command that repeats them.
say_again() { echo "       again: ${RAILGAUGE_CHAOS_MEMORY:+RAILGAUGE_CHAOS_MEMORY=1 }deploy/e2e/chaos.sh $1 $2 $strikes"; }
# Ends what the round began.
stop_round() {
  local pidfile
  for pidfile in "$work"/*.pid; do [ -e "$pidfile" ] || continue; kill -CONT "$(cat "$pidfile")" 2>/dev/null || true; stop_hard "$(basename "$pidfile" .pid)"; rm -f "$pidfile"; done
  runners | xargs -r kill -KILL 2>/dev/null || true
  wait 2>/dev/null || true
}

# Prints the partitions of each phase. Fails when one was tried more than once and never met.
count_partitions() {
  local phase shown="" never=""
  for phase in $phases again $harms; do
    shown+=" $phase ${met[$phase]:-0} of ${tried[$phase]:-0},"
    [ "${tried[$phase]:-0}" -lt 2 ] || [ "${met[$phase]:-0}" -gt 0 ] || never+=" $phase"
  done
  echo "harms to streams met:${shown%,}"
  [ -z "$never" ] || { echo "FAILED no harm to a stream met its phase:$never"; say_again "$rounds" "$first_seed"; return 1; }
}

disks() { if [ "$can_mount" = 1 ]; then echo "$full_disks"; else echo "$skipped_disks skipped, no leave to mount"; fi; }

all_kills=0 all_records=0 missing=0 twice=0 faults=0 bad=0 unmet=0 never_met=0 full_disks=0 skipped_disks=0
began=$(date +%s)
set +e
for ((seed = first_seed; seed < first_seed + rounds; ++seed)); do
  round || bad=$((bad + 1))
  failed=$bad
done
count_partitions || never_met=1 failed=1
if [ -n "${RAILGAUGE_CHAOS_TABLE:-}" ]; then
  printf '%s\t%s\t%d-%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n' "$(git -C "$top" rev-parse --short=10 HEAD)" "$(date -u +%F)" "$first_seed" \
    $((first_seed + rounds - 1)) "$rounds" "$strikes" "$all_kills" "$all_records" "$missing" "$twice" "$faults" "$(sum "${tried[@]}")" "$unmet" "$(disks)" >>"$RAILGAUGE_CHAOS_TABLE"
fi
echo "$rounds rounds in $(($(date +%s) - began)) s: $all_kills kills of the controller, $all_records records acknowledged, $missing missing, $twice twice or changed, $bad rounds with a fault, $unmet of $(sum "${tried[@]}") partitions unmet, full disks: $(disks)"
[ "$bad" = 0 ] && [ "$never_met" = 0 ]
