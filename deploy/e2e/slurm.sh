#!/usr/bin/env bash
# Tests the busy guard with a real Slurm of one node on this host (own munged, slurmctld and slurmd below the test's
# folder, on free ports). Agent a sees jobs only by the files of deploy/slurm's prolog and epilog, agent b only by
# slurmstepd's control groups. Measuring is on the fake verbs provider. Exit 77 where Slurm is not installed, or the host forbids it
# its control groups; a Slurm that does not start for another reason is a failure.
# shellcheck source-path=SCRIPTDIR disable=SC2119
waive() { echo "waived: $1"; exit 77; }
for program in munged slurmctld slurmd sbatch srun scancel; do
  command -v "$program" >/dev/null || [ -x "/usr/sbin/$program" ] || waive "no $program here: deploy/deps.sh installs it"
done
[ "$(id -u)" = 0 ] || waive "slurmd starts jobs, which needs root"
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/slurm_host.sh"
PATH=$PATH:/usr/sbin:/sbin
slurm=$work/slurm
export SLURM_CONF=$slurm/slurm.conf

# Ends the jobs first, because slurmd ends their steps, then the daemons, and removes the control groups that they left.
finish_slurm() {
  local code=$?
  set +e  # a failed test still ends its processes
  if [ -e "$work/slurmctld.pid" ]; then
    timeout 20 scancel --full --user root 2>/dev/null || true
    wait_for "all jobs are gone" 20 no_job || true
  fi
  for daemon in slurmd slurmctld munged; do
    [ ! -e "$work/$daemon.pid" ] || { kill "$(pid_of "$daemon")" 2>/dev/null && wait "$(pid_of "$daemon")" 2>/dev/null; } || true
  done
  [ -n "$had_trees" ] || slurm_trees | while read -r tree; do find "$tree" -depth -type d -exec rmdir {} + 2>/dev/null || true; done
  (exit "$code")
  finish
}
slurm_trees() { find /sys/fs/cgroup -mindepth 1 -maxdepth 3 -type d -name '*slurm*' -prune 2>/dev/null || true; }
had_trees=$(slurm_trees)
trap finish_slurm EXIT

free_ports() {
  python3 -c 'import socket
sockets = [socket.socket() for _ in range(2)]
for s in sockets: s.bind(("127.0.0.1", 0))
print(*[s.getsockname()[1] for s in sockets])'
}

# configure TRACKING: writes slurm.conf, with this process tracking, and the files beside it.
configure() {
  local host ports script
  host=$(hostname -s)
  read -r -a ports <<<"$(free_ports)"
  for script in prolog epilog; do
    # slurmd does not pass its own environment on to them.
    printf '#!/bin/sh\nRAILGAUGE_BUSY_JOBS_FOLDER=%s exec %s/deploy/slurm/%s.sh\n' "$work/jobs" "$top" "$script" >"$slurm/$script"
    chmod 755 "$slurm/$script"
  done
  printf '#!/bin/sh\nexport SLURM_CONF=%s RAILGAUGE_SLURM_SETTINGS=%s RAILGAUGE_SLURM_STATE=%s\nexec %s/deploy/slurm/healthcheck.sh\n' \
    "$SLURM_CONF" "$slurm/settings" "$slurm/health" "$top" >"$slurm/healthcheck"
  chmod 755 "$slurm/healthcheck"
  cat >"$SLURM_CONF" <<C
ClusterName=railgauge-test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=${ports[0]}
SlurmdPort=${ports[1]}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$slurm/munge/socket
StateSaveLocation=$slurm/state
SlurmdSpoolDir=$slurm/spool
SlurmctldPidFile=$slurm/slurmctld.pid
SlurmdPidFile=$slurm/slurmd.pid
ProctrackType=proctrack/$1
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/linear
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
KillWait=2
Prolog=$slurm/prolog
Epilog=$slurm/epilog
PrologFlags=Alloc
HealthCheckProgram=$slurm/healthcheck
HealthCheckInterval=1
SlurmdTimeout=3600
NodeName=$host NodeAddr=127.0.0.1 CPUs=1 State=UNKNOWN
NodeName=away[001-099] NodeAddr=127.0.0.1 Port=1 CPUs=1 State=UNKNOWN
PartitionName=test Nodes=$host Default=YES State=UP
C
  local version=v1
  [ "$(stat -fc %T /sys/fs/cgroup)" != cgroup2fs ] || version=v2
  printf 'CgroupPlugin=cgroup/%s\nCgroupAutomount=no\nCgroupMountpoint=/sys/fs/cgroup\n' $version >"$slurm/cgroup.conf"
}

# start_daemon NAME COMMAND...: starts it in the background; NAME names its log and pid file.
start_daemon() {
  local name=$1; shift
  "$@" >>"$work/$name.log" 2>&1 &
  echo $! >"$work/$name.pid"
}

no_job() { [ -z "$(squeue --noheader 2>&1)" ]; }
node_is_up() { sinfo --noheader --partition test --format %t | grep -qx idle; }

start_slurm() {
  mkdir -p "$slurm/munge" "$slurm/state" "$slurm/spool" "$work/jobs"
  chmod 711 "$work"; chmod 755 "$slurm" "$slurm/munge"
  head -c 1024 /dev/urandom >"$slurm/munge/key"; chmod 600 "$slurm/munge/key"
  start_daemon munged munged --foreground --force --key-file "$slurm/munge/key" --socket "$slurm/munge/socket" \
    --pid-file "$slurm/munge/pid" --log-file "$slurm/munge/log" --seed-file "$slurm/munge/seed"
  wait_for "munged listens" 20 test -S "$slurm/munge/socket" || return 1
  start_daemon slurmctld slurmctld -D -c -f "$SLURM_CONF"
  start_daemon slurmd slurmd -D -c -f "$SLURM_CONF"
  wait_for "the node is idle in Slurm" 60 node_is_up
}

# Submits a job that sleeps for 10 minutes, and prints its number.
submit() { sbatch --parsable --output /dev/null --wrap "sleep 600"; }
job_runs() { [ "$(squeue --noheader --jobs "$1" --format %T)" = RUNNING ]; }
# busy_by NODE TEXT: passes when the node is busy and TEXT is among its reasons.
busy_by() { cli nodes -o json | jq -e --arg name "$1" --arg text "$2" '.nodes[] | select(.name == $name) | .busy and (.busy_reasons | join(" ") | contains($text))'; }
idle() { cli nodes -o json | jq -e --arg name "$1" '.nodes[] | select(.name == $name) | .busy == false'; }
both_idle() { idle a && idle b; }
running_task() { cli runs show "$1" -o json | jq -e '[.tasks[] | select(.state == "running")] | length > 0'; }

a_job_makes_the_node_busy_both_ways() {
  local job; job=$(submit)
  wait_for "job $job runs" 30 job_runs "$job"
  wait_for "a knows it by the prolog's file" 10 busy_by a "slurm: job $job here"
  wait_for "b knows it by its control group" 10 busy_by b "slurm: job $job here"
  expect_exit 4 cli run quick --nodes a,b 2>"$work/refused.err"
  grep "is busy: slurm: job $job here" "$work/refused.err"
  scancel "$job"
  wait_for "both are idle again" 40 both_idle
  [ -z "$(ls "$work/jobs")" ]
}

# An allocation without a step has no control group yet; only the prolog's file shows it.
an_allocation_without_a_step_is_seen_by_the_prolog() {
  salloc --no-shell 2>"$work/salloc.err"
  local job; job=$(sed -n 's/.*Granted job allocation \([0-9]*\).*/\1/p' "$work/salloc.err")
  wait_for "a knows it by the prolog's file" 10 busy_by a "slurm: job $job here"
  scancel "$job"
  wait_for "both are idle again" 40 both_idle
}

a_step_of_srun_is_seen() {
  srun --output /dev/null sleep 600 &
  local client=$!
  wait_for "b knows the step" 30 busy_by b "slurm: job "
  scancel --full --user root
  wait "$client" || true
  wait_for "both are idle again" 40 both_idle
}

# The job begins at the time of the prolog's file; the runner's end is polled every 20 ms.
a_run_gives_way_and_comes_again() {
  cat >"$work/long.yaml" <<'Y'
version: 1
metadata: {name: long}
stages:
  - kernel: verbs.write_bw
    parameters: {sizes: 64KiB, time_cap: 4s, min_samples: 1000000, max_samples: 2000000, proof_time: 200ms}
    placement: {pairs: all}
Y
  local run job began ended took
  run=$(cli run "$work/long.yaml" --nodes a,b --detach)
  wait_for "a task runs" 20 running_task "$run"
  pgrep -f "$bin/railgauge-runner --task"
  job=$(submit)
  wait_for "the prolog ran" 30 test -e "$work/jobs/$job"
  began=$(stat -c %.3Y "$work/jobs/$job")
  while pgrep -f "$bin/railgauge-runner --task" >/dev/null; do sleep 0.02; done
  ended=$(date +%s.%3N)
  took=$(awk -v a="$began" -v b="$ended" 'BEGIN { printf "%.2f", b - a }')
  echo "gave way after $took s" | tee "$work/took"
  awk -v took="$took" 'BEGIN { exit !(took < 2) }' || { awk -v took="$took" 'BEGIN { exit !(took < 10) }' && [ "$(cut -d. -f1 /proc/loadavg)" -ge "$(nproc)" ]; }
  wait_for "the task waits for the node" 10 task_waits "$run" "$job"
  scancel "$job"
  expect_exit 0 cli runs wait "$run"
  cli runs show "$run" -o json | jq -e '.run.outcome == "passed" and any(.tasks[]; .attempts > 1)'
}
# As the guide has it, but for the daily hour: jobs outside the reservation wait, and the run has the node.
a_run_in_a_reservation_is_alone() {
  local job state
  scontrol create reservation ReservationName=railgauge Users=root Nodes="$(hostname -s)" StartTime=now Duration=10 Flags=MAINT
  job=$(submit)
  cli run quick --nodes a,b
  cli runs show "$(cli runs -o json | jq -r '.runs[0].run_id')" -o json | jq -e '.run.outcome == "passed" and all(.tasks[]; .attempts == 1)'
  state=$(squeue --noheader --jobs "$job" --format '%T %r')
  [[ $state == PENDING\ * ]] || { echo "job $job: $state"; return 1; }
  scontrol delete ReservationName=railgauge
  wait_for "job $job runs after it" 60 job_runs "$job"
  scancel "$job"
  wait_for "both are idle again" 40 both_idle
}
task_waits() {
  cli runs show "$1" -o json | jq -e --arg text "slurm: job $2 here" \
    'any(.tasks[]; .state == "waiting" and .outcome == "cancelled" and (.reason | contains($text)))'
}

# ---- the health check -------------------------------------------------------------------------------
# slurmd calls it each second; agent a is this node's. 99 more nodes are in Slurm's books alone, for the share of 2 %.
value_of() { scontrol show node "$1" | sed -n "s/^ *$2=//p"; }
comment_is() { [ "$(value_of "$(hostname -s)" Comment)" = "$1" ]; }
state_is() { value_of "$(hostname -s)" State | grep -qE "^$1 "; }
drain() { RAILGAUGE_SLURM_SETTINGS=$slurm/settings RAILGAUGE_SLURM_DRAIN_STATE=$slurm/drained "$top/deploy/slurm/drain.sh"; }
# verdict [HOURS [SECONDS]]: the test's machine may be busy; the bound of a hook itself is 0.8 s.
verdict() { RAILGAUGE_AGENT_STATE=$work/state-a RAILGAUGE_VERDICT_HOURS=${1:-26} RAILGAUGE_VERDICT_SECONDS=${2:-10} "$top/deploy/slurm/verdict.sh"; }
# preflight_of_a: one more, at another second than the last. The agent writes its verdict within a second.
preflight_of_a() { sleep 1.1; cli preflight a >/dev/null || true; sleep 1.2; }
takes_less_than_a_second() {
  local began; began=$(date +%s%N)
  verdict 26 0.8 >"$work/verdict"
  echo "a verdict took $((($(date +%s%N) - began) / 1000000)) ms" | tee "$work/verdict_took"
  [ $((($(date +%s%N) - began) / 1000000)) -lt 1000 ]
}
fails_by_device_nodes() { verdict | grep -E '^fail [0-9]+ rdma_device_nodes$'; }

the_verdict_is_that_of_the_last_preflight() {
  verdict | grep -x "unknown no preflight was made"
  preflight_of_a
  wait_for "the agent has written it" 20 fails_by_device_nodes
  at_most_tries 3 takes_less_than_a_second
  grep -E '^fail [0-9]+ rdma_device_nodes$' "$work/verdict"
  verdict 0 | grep -x 'unknown the last preflight is 0 h old'
  RAILGAUGE_AGENT_STATE=$work/none "$top/deploy/slurm/verdict.sh" | grep '^unknown no folder '
}

nothing_is_drained_by_default() {
  preflight_of_a; sleep 3; preflight_of_a; sleep 3
  comment_is ""
  drain | grep 'drain.sh: off'
  state_is IDLE
}

wants_drain() { value_of "$(hostname -s)" Comment | grep -xE 'railgauge: wants drain: rdma_device_nodes at [0-9]+'; }
accused_was_not_made() { verdict | grep '^pass ' && ! verdict | grep -w rdma_device_nodes; }
accused_passes() { verdict | grep '^passed .*rdma_device_nodes'; }
two_failures_drain_and_a_pass_undrains() {
  local root=$work/sys-a/class file=""
  printf 'RAILGAUGE_AGENT_STATE=%s\nRAILGAUGE_SLURM_DRAIN=yes\n' "$work/state-a" >"$slurm/settings"
  preflight_of_a
  wait_for "the node asks for a drain" 30 wants_drain
  drain
  state_is 'IDLE\+DRAIN'
  value_of "$(hostname -s)" Reason | grep '^railgauge: rdma_device_nodes'
  # Without the adapter nothing fails, and the check is not made.
  mv "$root/infiniband/fake0" "$work/fake0"
  preflight_of_a
  wait_for "no check fails" 60 accused_was_not_made
  sleep 3
  wants_drain
  drain
  state_is 'IDLE\+DRAIN'
  # A reboot forgets what the node had said.
  rm -r "$slurm/health"
  mv "$work/fake0" "$root/infiniband/fake0"
  [ -e /dev/infiniband ] || { mkdir /dev/infiniband; file=/dev/infiniband/uverbs0; touch $file; }
  mkdir -p "$root/infiniband_verbs/uverbs0"; echo fake0 >"$root/infiniband_verbs/uverbs0/ibdev"
  preflight_of_a
  wait_for "the accused check passes" 60 accused_passes || true
  [ -z "$file" ] || rm -r /dev/infiniband
  wait_for "the node says that it passes" 30 comment_is "railgauge: passes"
  drain
  wait_for "the node is idle again" 20 state_is IDLE
  rm -r "$root/infiniband_verbs"
}

at_most_2_percent_are_drained() {
  local node
  rm -rf "$slurm/drained"
  scontrol update NodeName=away001 State=DRAIN Reason="the site's own"
  for node in away001 away002 away003 away004 away005; do scontrol update NodeName=$node Comment="railgauge: wants drain: acs at $(date +%s)"; done
  drain
  drain
  scontrol show node --oneliner | grep -o 'NodeName=[^ ]*\|Reason=railgauge: acs' | grep -B 1 Reason | grep -c NodeName | grep -x 2
  value_of away001 Reason | grep "^the site's own"
}

mkdir -p "$slurm"
configure cgroup
start_slurm || {
  tail -5 "$work"/{munged,slurmctld,slurmd}.log
  ! host_forbids_slurmd "$work/slurmd.log" || waive "this host's kernel or container lets no slurmd run"
  echo "FAILED Slurm does not start; its logs are above"
  exit 1
}
start_controller
mkdir -p "$work/sys-b/fs"; make_sysfs "$work/sys-b"; ln -s /sys/fs/cgroup "$work/sys-b/fs/cgroup"
RAILGAUGE_BUSY_SOURCES=slurm RAILGAUGE_BUSY_JOBS_FOLDER=$work/jobs RAILGAUGE_BUSY_SETTLE_SECONDS=0.5 start_agent a
RAILGAUGE_BUSY_SOURCES=auto RAILGAUGE_BUSY_JOBS_FOLDER=$work/none RAILGAUGE_BUSY_SETTLE_SECONDS=0.5 start_agent b
wait_for "two agents attach" 20 attached 2
wait_for "both are idle" 20 both_idle

check "a job makes its node busy, by the prolog and by its control group, until it ends" a_job_makes_the_node_busy_both_ways
check "an allocation without a step is seen by the prolog" an_allocation_without_a_step_is_seen_by_the_prolog
check "a step of srun is seen" a_step_of_srun_is_seen
check "a run gives way to a job within 2 s and comes again after it" a_run_gives_way_and_comes_again
[ ! -e "$work/took" ] || cat "$work/took"
echo "RAILGAUGE_AGENT_STATE=$work/state-a" >"$slurm/settings"
check "the verdict is that of the last preflight, within a second; no file, none and an old one are unknown" the_verdict_is_that_of_the_last_preflight
check "nothing is drained by default" nothing_is_drained_by_default
check "two preflights that fail drain the node, and only a pass of the accused check undrains it" two_failures_drain_and_a_pass_undrains
check "at most 2 % of the nodes are drained an hour, and no other reason is touched" at_most_2_percent_are_drained
check "a run in a reservation is alone, and jobs wait for its end" a_run_in_a_reservation_is_alone
[ ! -e "$work/verdict_took" ] || cat "$work/verdict_took"
summary
