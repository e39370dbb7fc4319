#!/usr/bin/env bash
# Tests the examples of deploy/pipelines on real processes: controller, CLI and 10 modelled nodes of railgauge-fleet,
# which change their stack one after the other. CLI and controller are killed in each step of a rollout, and the exit code
# is still the verdict's. Slurm's commands are stand-ins; the part of Ansible needs ansible-playbook. Figures are synthetic.
# shellcheck source-path=SCRIPTDIR disable=SC2119
. "$(dirname "$0")/lib.sh"

readonly kNodes=10 kNew=6.8.0-55-generic
pipelines=$top/deploy/pipelines
export PATH=$bin:$PATH GATE_FLAGS="--wait-nodes 60s --time-limit 5min"
mkdir "$work/suites" "$work/stand-ins"
suites=$work/suites
cat >"$work/suites/upgrade.yaml" <<'Y'
version: 1
metadata: {name: upgrade, summary: "bandwidth on a ring"}
rounds: {settle: 300ms}
stages:
  - kernel: verbs.write_bw
    parameters: {sizes: 64KiB}
    repetitions: 5
    placement: {pairs: ring, rails: same, rails_together: true}
Y
{
  cat <<Y
version: 1
metadata: {name: pipelines}
seed: 3
fabric: {nodes: $kNodes, rails: 2, leaves: 2, spines: 2}
classes: [{name: small, gpus: 2, nics: 2}]
noise: [{kind: gaussian, size: 0.001}]
changes:
Y
  # Node n has another kernel from hour n on; the even ones lose a third of their bandwidth by it.
  for ((n = 1; n <= kNodes; ++n)); do
    printf '  - {nodes: sim%04d, begin: %dh, versions: {linux_kernel: %s}%s}\n' "$n" "$n" "$kNew" \
      "$( ((n % 2)) || echo ', effect: {takes: 0.33}')"
  done
} >"$work/scenario.yaml"

# The upgrade of node N: the fleet continues at a later hour. Repeated, it does no harm.
cat >"$work/upgrade.sh" <<Y
#!/bin/bash
[ ! -e "$work/fleet.pid" ] || kill -KILL "\$(cat "$work/fleet.pid")" 2>/dev/null
setsid "$bin/railgauge-fleet" --controller "unix:$socket" --scenario "$work/scenario.yaml" --kernels verbs.write_bw \\
  --at "\$((10#\${1#sim}))h" >>"$work/fleet.log" 2>&1 </dev/null &
echo \$! >"$work/fleet.pid"
sleep "\${UPGRADE_SECONDS:-0}"
Y
chmod +x "$work/upgrade.sh"

# rollout NODE [PROGRAM]: starts a pipeline for the node in the background, whose pid is in rollout.pid.
rollout() {
  GATE_STATE=$work/state-$1 "$pipelines/${2:-shell.sh}" "$1" "linux_kernel=$kNew" "$work/upgrade.sh" "$1" \
    >>"$work/rollout-$1.log" 2>&1 &
  echo $! >"$work/rollout.pid"
}
# ends_with CODE: the pipeline ends so.
ends_with() {
  local code=0
  wait "$(pid_of rollout)" || code=$?
  [ "$code" = "$1" ] || { echo "the pipeline ended with $code, wanted $1"; tail -30 "$work"/rollout-*.log; cli upgrades; return 1; }
}
# The railgauge below a process.
cli_below() {
  local child
  for child in $(ps -o pid= --ppid "$1"); do
    if [ "$(ps -o comm= -p "$child")" = railgauge ]; then echo "$child"; else cli_below "$child"; fi
  done
}
kill_cli() {
  local pid; pid=$(cli_below "$(pid_of rollout)" | head -n 1)
  [ -n "$pid" ] && kill -KILL "$pid"
}
kill_controller() {
  stop_hard controller
  wait_for "the controller is gone" 10 eval '! alive controller'
  start_controller
}
newest() { cli runs -o json --limit 1 | jq -er ".runs[0].$1"; }
runs() { cli runs -o json | jq '.runs | length'; }
# measures RUNS: the run after so many has measured something.
measures() { [ "$(runs)" -gt "$1" ] && [ "$(newest state)" = running ] && [ "$(newest tasks_ended)" -ge 1 ]; }
# after_is NODE STATE TASKS: the after side's run is in that state, with so many tasks ended.
after_is() {
  local run; run=$(cli upgrades show "$(cat "$work/state-$1/upgrade")" -o json | jq -er '.after_runs[-1] // empty')
  cli runs show "$run" -o json | jq -e --arg state "$2" --argjson tasks "$3" '.run.state == $state and .run.tasks_ended >= $tasks'
}
all_attached() { wait_for "all nodes are attached" 60 attached "$kNodes"; }

nothing_is_killed() {
  rollout sim0001
  ends_with 0
}
# The folder has the verdict of sim0001's upgrade, which is no verdict of anything else.
folder_of_another_upgrade() {
  local state=$work/state-sim0001 code
  for words in "sim0002 linux_kernel=$kNew" "sim0001 linux_kernel=9.9"; do
    code=0
    # shellcheck disable=SC2086  # words
    GATE_STATE=$state "$pipelines/shell.sh" $words touch "$work/upgraded-wrongly" >"$work/wrong" 2>&1 || code=$?
    [ "$code" = 2 ] && grep -q "belongs to the upgrade of" "$work/wrong" && [ ! -e "$work/upgraded-wrongly" ] || { cat "$work/wrong"; return 1; }
  done
}

# killed_in_prepare_and_gate NODE CODE KILL: kills by KILL while the before side is measured, and the after side.
killed_in_prepare_and_gate() {
  local before; before=$(runs)
  rollout "$1"
  wait_for "the before side is measured" 60 measures "$before"
  "$3"
  wait_for "the after side is measured" 120 after_is "$1" running 1
  "$3"
  ends_with "$2"
}

# The pipeline itself is killed during its command, and started again.
killed_in_the_upgrade() {
  UPGRADE_SECONDS=20 rollout sim0005
  wait_for "it upgrades" 60 upgrades sim0005
  local command; command=$(ps -o pid= --ppid "$(pid_of rollout)" | tr -d ' ')
  stop_hard rollout
  kill -KILL "$command"
  kill_controller
  all_attached
  rollout sim0005
  ends_with 0
}
upgrades() { [ -s "$work/state-$1/upgrade" ] && [ "$(ps -o comm= --ppid "$(pid_of rollout)")" = upgrade.sh ]; }

# The run has ended and nobody has judged it.
killed_before_the_verdict() {
  rollout sim0006
  wait_for "the after side has ended" 120 after_is sim0006 ended 1
  kill_controller
  ends_with 1
}

# No pipeline comes back.
controller_judges_by_itself() {
  rollout sim0008
  wait_for "the after side is measured" 120 after_is sim0008 running 1
  local gate; gate=$(cli_below "$(pid_of rollout)")
  stop_hard rollout
  kill -KILL "$gate"
  expect_exit 1 cli upgrades show "$(cat "$work/state-sim0008/upgrade")" --exit-code --wait 2min
  cli findings | grep -F "$(cat "$work/state-sim0008/upgrade")-performance"
}

# Slurm's commands write what they were asked for, and no job is under way.
make_stand_ins() {
  printf '#!/bin/sh\necho "$*" >>"%s"\n' "$work/scontrol.log" >"$work/stand-ins/scontrol"
  printf '#!/bin/sh\n' >"$work/stand-ins/squeue"
  chmod +x "$work/stand-ins/"*
  export PATH=$work/stand-ins:$PATH
}
slurm_resumes_after_a_pass_alone() {
  make_stand_ins
  rollout sim0007 slurm.sh
  ends_with 0
  grep -qx 'update nodename=sim0007 state=drain reason=railgauge: upgrade' "$work/scontrol.log"
  [ "$(tail -n 1 "$work/scontrol.log")" = "update nodename=sim0007 state=resume" ]
  # A verdict that is stored is not measured again.
  local before; before=$(runs)
  GATE_STATE=$work/state-sim0006 expect_exit 1 "$pipelines/slurm.sh" sim0006 "linux_kernel=$kNew" false
  [ "$(tail -n 1 "$work/scontrol.log")" = "update nodename=sim0006 state=drain reason=railgauge: regressed, exit code 1" ]
  [ "$(runs)" = "$before" ]
}

# play HOST: one host by the playbook.
play() {
  printf '%s ansible_connection=local\n' "$1" >"$work/hosts"
  ANSIBLE_NOCOWS=1 ANSIBLE_HOME=$work/ansible ansible-playbook -i "$work/hosts" "$pipelines/ansible.yml" \
    -e "expect=linux_kernel=$kNew" -e "upgrade=$work/upgrade.sh" -e "state=$work"
}
ansible_ends_with_the_batch_that_lost() {
  play sim0009
  expect_exit 2 play sim0010 >"$work/play.log"
  grep -F 'regressed' "$work/play.log"
}

start_controller
"$work/upgrade.sh" sim0000
all_attached
check "a rollout that nothing disturbs passes" nothing_is_killed
check "a state folder serves no other nodes and no other version" folder_of_another_upgrade
check "the CLI is killed in prepare and in gate: regressed" killed_in_prepare_and_gate sim0002 1 kill_cli
check "the controller is killed in prepare and in gate: pass" killed_in_prepare_and_gate sim0003 0 kill_controller
check "the controller is killed in prepare and in gate: regressed" killed_in_prepare_and_gate sim0004 1 kill_controller
check "pipeline and controller are killed in the upgrade: pass" killed_in_the_upgrade
check "the controller is killed between run and verdict: regressed" killed_before_the_verdict
check "Slurm's nodes are resumed after a pass alone" slurm_resumes_after_a_pass_alone
check "all of the pipeline is killed and the controller judges" controller_judges_by_itself
if command -v ansible-playbook >/dev/null; then
  check "Ansible ends with the batch that lost" ansible_ends_with_the_batch_that_lost
else
  echo "waived: no ansible-playbook here"
fi
summary
