#!/usr/bin/env bash
# Tests Slurm's scripts without Slurm: an agent's state folder, and a scontrol that keeps nodes in files.
# deploy/e2e/slurm.sh has the real ones. Exit 77 without flock.
set -uo pipefail
cd "$(dirname "$0")" || exit 4
command -v flock >/dev/null || { echo "waived: no flock here"; exit 77; }
work=$(cd "$(mktemp -d)" && pwd -P)
trap 'rm -rf "$work"' EXIT
failures=0 cases=0
expect() { # TITLE COMMAND...
  local title=$1; shift
  cases=$((cases + 1))
  "$@" >"$work/out" 2>&1 || { failures=$((failures + 1)); echo "FAILED: $title"; sed 's/^/    /' "$work/out"; }
}
says() { [ "$("${@:2}")" = "$1" ] || { "${@:2}"; return 1; }; }
matches() { [[ $("${@:2}") =~ ^$1$ ]] || { "${@:2}"; return 1; }; }

# ---- an agent ------------------------------------------------------------------------------------
mkdir -m 700 "$work/agent"
export RAILGAUGE_AGENT_STATE=$work/agent RAILGAUGE_VERDICT_SECONDS=30 RAILGAUGE_HEALTH_SECONDS=30 RAILGAUGE_HOOK_SECONDS=30  # this machine may be busy
# preflight TIME CHECK[:STATE]...: the agent's file after a preflight in which these failed or had the state; gid passed.
preflight() {
  local time=$1 word; shift
  { echo 'railgauge_link_bandwidth_bytes_per_second{device="fail"} 1'
    echo 'railgauge_preflight_results{check="gid",state="pass"} 2'
    echo 'railgauge_preflight_results{check="link",state="fail"} 0'
    for word in "$@"; do
      case $word in *:*) ;; *) word+=:fail ;; esac
      echo "railgauge_preflight_results{check=\"${word%:*}\",state=\"${word#*:}\"} 1"
    done
    echo "railgauge_preflight_timestamp_seconds{} $time"; } >"$work/agent/agent-shown"
}
now=$(date +%s)
expect "an agent without a file has no verdict" says "unknown no preflight was made" ./verdict.sh
echo 'railgauge_agent_info{version="1"} 1' >"$work/agent/agent-shown"
expect "nor has one without a preflight" says "unknown no preflight was made" ./verdict.sh
preflight "$now"
expect "no failed check is a pass" says "pass $now
passed gid" ./verdict.sh
preflight "$now.5e0" acs port_state mtu:pass mtu:warn gid:unknown
expect "failed checks are named, and those that passed" says "fail $now acs,port_state
passed mtu" ./verdict.sh
preflight "$now" mtu:error acs:pass acs:error
expect "a check in error is no pass" says "unknown not made for an error: mtu,acs" ./verdict.sh
preflight $((now - 30 * 3600)) acs
expect "an old preflight is no verdict" says "unknown the last preflight is 30 h old" ./verdict.sh
expect "unless it may be older" says "fail $((now - 30 * 3600)) acs
passed gid" env RAILGAUGE_VERDICT_HOURS=31 ./verdict.sh
expect "an agent that is not here has none" matches "unknown no folder .*" env RAILGAUGE_AGENT_STATE="$work/none" ./verdict.sh
preflight "$now" acs
chmod 777 "$work/agent"
expect "a folder that others may write is not believed" says "unknown others may write $work/agent" ./verdict.sh
chmod 700 "$work/agent"
ln -s agent "$work/link"
expect "nor is a path with links" matches "unknown the path .* has links" env RAILGAUGE_AGENT_STATE="$work/link" ./verdict.sh
mv "$work/agent/agent-shown" "$work/elsewhere"; ln -s "$work/elsewhere" "$work/agent/agent-shown"
expect "nor a link in it" matches "unknown .*agent-shown is no file of the agent" ./verdict.sh
rm "$work/agent/agent-shown"; mkfifo "$work/agent/agent-shown"
expect "nor a pipe, for which nobody waits" matches "unknown .*agent-shown is no file of the agent" timeout 5 ./verdict.sh
rm "$work/agent/agent-shown"
if [ "$(id -u)" = 0 ]; then
  preflight "$now" acs
  chown 65534 "$work/agent/agent-shown"
  expect "nor a file of another user" matches "unknown .*agent-shown is no file of the agent" ./verdict.sh
  chown 65534 "$work/agent"
  expect "nor a folder of one" matches "unknown .* belongs to neither root nor railgauge-agent" ./verdict.sh
  chown 0 "$work/agent"; rm "$work/agent/agent-shown"
fi

# ---- a waiver of deploy/e2e/slurm.sh ------------------------------------------------------------
. ../e2e/slurm_host.sh
# forbids LINE: slurmd's log has it.
forbids() { echo "slurmd: error: $1" >"$work/slurmd.log"; host_forbids_slurmd "$work/slurmd.log"; }
expect "a host without leave for control groups waives" forbids "unable to create cgroup '/sys/fs/cgroup/system.slice': Read-only file system"
expect "so does one where they are not mounted" forbids "cgroup namespace 'freezer' not mounted. aborting"
expect "a wrong slurm.conf does not" eval '! forbids "Parsing error at unrecognized key: SlurmdPrt"'
expect "nor does a port that is in use" eval '! forbids "Unable to bind listen port (36818): Address already in use"'
expect "nor a spool that is not its own" eval '! forbids "mkdir(/var/spool/slurmd): Permission denied"'

# ---- a node's health check ---------------------------------------------------------------------------
# Nodes are files with the lines of `scontrol show node`; calls are counted.
mkdir "$work/bin" "$work/nodes"
cat >"$work/bin/scontrol" <<'S'
#!/bin/bash
echo "$*" >>"$SCONTROL/calls"
cd "$SCONTROL/nodes" || exit 1
[ ! -e "$SCONTROL/refuses $1" ] || exit 1
case "$1 $2 ${3:-}" in
  "show node --oneliner") for node in *; do tr '\n' ' ' <"$node"; echo; done ;;
  "show node "*) sed 's/^/   /' "$3" ;;
  update*)
    node=${2#NodeName=}
    for word in "${@:3}"; do sed -i "/^${word%%=*}=/d" "$node"; echo "$word" >>"$node"; done
    ! grep -q '^State=RESUME' "$node" || sed -i 's/^State=.*/State=IDLE/; /^Reason=/d' "$node" ;;
  *) exit 1 ;;
esac
S
chmod +x "$work/bin/scontrol"
export SCONTROL=$work PATH=$work/bin:$PATH SLURMD_NODENAME=n1
export RAILGAUGE_SLURM_SETTINGS=$work/slurm.env RAILGAUGE_SLURM_STATE=$work/run RAILGAUGE_SLURM_DRAIN_STATE=$work/lib
node() { printf 'NodeName=%s\nArch=x86_64\nState=%s\n' "$1" "${2:-IDLE}" >"$work/nodes/$1"; }
has() { grep -qx "$2" "$work/nodes/$1" || { cat "$work/nodes/$1"; return 1; }; }
lacks() { ! grep "$2" "$work/nodes/$1"; }
node n1
: >"$work/calls"
preflight "$now" acs
expect "a first failure asks for nothing" ./healthcheck.sh
preflight $((now + 60)) acs
expect "by default nor does a second one" ./healthcheck.sh
expect "Slurm was not asked" test ! -s "$work/calls"
echo RAILGAUGE_SLURM_DRAIN=yes >"$work/slurm.env"
rm -r "$work/run"
preflight "$now" acs
./healthcheck.sh
./healthcheck.sh
expect "one preflight that is read twice is one failure" lacks n1 Comment
preflight $((now + 60)) mtu
./healthcheck.sh
expect "two failures of different checks are not two of one" lacks n1 Comment
preflight $((now + 120)) gid mtu
./healthcheck.sh
expect "two preflights that failed in one check ask for a drain" has n1 "Comment=railgauge: wants drain: mtu at $((now + 120))"
: >"$work/calls"
./healthcheck.sh
expect "and ask once" test ! -s "$work/calls"
expect "exit code 0 with no agent" env RAILGAUGE_AGENT_STATE="$work/none" ./healthcheck.sh
expect "which changes nothing" has n1 "Comment=railgauge: wants drain: mtu at $((now + 120))"
preflight $((now + 130)) mtu; ./healthcheck.sh
expect "a later failure asks anew" has n1 "Comment=railgauge: wants drain: mtu at $((now + 130))"
for state in waived unknown error warn; do
  preflight $((now + 140)) "mtu:$state"; ./healthcheck.sh
  expect "an accused check that is $state has not passed" has n1 "Comment=railgauge: wants drain: mtu at $((now + 130))"
done
preflight $((now + 150)) acs mtu:unknown; ./healthcheck.sh
preflight $((now + 160)) acs mtu:unknown; ./healthcheck.sh
expect "nor is it forgotten for another" has n1 "Comment=railgauge: wants drain: acs,mtu at $((now + 160))"
node n2
echo "Comment=the site's own" >>"$work/nodes/n2"
export SLURMD_NODENAME=n2 RAILGAUGE_SLURM_STATE=$work/run2
preflight "$now" mtu; ./healthcheck.sh
touch "$work/refuses show"
preflight $((now + 60)) mtu; ./healthcheck.sh
expect "without an answer of Slurm no Comment is written" has n2 "Comment=the site's own"
rm "$work/refuses show"
./healthcheck.sh
expect "a foreign Comment stays" has n2 "Comment=the site's own"
# A reboot empties /run.
node n4 IDLE+DRAIN
printf 'Reason=%s\nComment=%s\n' "railgauge: mtu" "railgauge: wants drain: mtu at $now" >>"$work/nodes/n4"
export SLURMD_NODENAME=n4 RAILGAUGE_SLURM_STATE=$work/run4
preflight $((now + 60)) mtu:waived; ./healthcheck.sh
expect "after a reboot the accused check is still known" has n4 "Comment=railgauge: wants drain: mtu at $now"
preflight $((now + 120)) mtu:pass; ./healthcheck.sh
expect "and a pass is said" has n4 "Comment=railgauge: passes"
rm "$work/nodes/n4"
node n5
export SLURMD_NODENAME=n5 RAILGAUGE_SLURM_STATE=$work/run5
./healthcheck.sh
expect "a node that never asked says nothing" lacks n5 Comment
rm "$work/nodes/n5"
export SLURMD_NODENAME=n1 RAILGAUGE_SLURM_STATE=$work/run

# ---- nothing of it waits for others ------------------------------------------------------------------
# hangs PROGRAM: it sleeps for a minute. ends HOOK: the hook ends with 0 all the same, long before.
hangs() { printf '#!/bin/sh\nsleep 60\n' >"$work/hung/$1"; chmod +x "$work/hung/$1"; }
ends() { local from=$EPOCHREALTIME; env PATH="$work/hung:$PATH" "$@" || return; awk -v from="$from" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.1f s\n", to - from; exit to - from > 5 }'; }
mkdir -m 755 "$work/hung" "$work/jobs"
node n6
export SLURMD_NODENAME=n6 RAILGAUGE_SLURM_STATE=$work/run6 RAILGAUGE_BUSY_JOBS_FOLDER=$work/jobs SLURM_JOB_ID=7
export RAILGAUGE_VERDICT=$PWD/verdict.sh
preflight "$now" acs
hangs logger
unset RAILGAUGE_VERDICT_SECONDS RAILGAUGE_HEALTH_SECONDS RAILGAUGE_HOOK_SECONDS
expect "a system log that hangs keeps no job from its begin" ends ./prolog.sh
expect "which is marked all the same" test -e "$work/jobs/7"
expect "nor from its end" ends ./epilog.sh
expect "which is marked too" test ! -e "$work/jobs/7"
expect "nor does it hold the health check" ends ./healthcheck.sh
rm "$work/hung/logger"
# Whose folder it is has to be looked up, unless it is root's.
[ "$(id -u)" != 0 ] || chown 65534 "$work/agent"
hangs id
expect "a name service that hangs is no verdict" matches "unknown the verdict was not read within 0.8 s" env PATH="$work/hung:$PATH" ./verdict.sh
expect "and holds no hook" ends ./prolog.sh
rm "$work/hung/id"; hangs scontrol
[ "$(id -u)" != 0 ] || chown 0 "$work/agent"
expect "a Slurm that hangs does not hold the health check" ends ./healthcheck.sh
rm -r "$work/hung"
unset RAILGAUGE_VERDICT SLURM_JOB_ID
export RAILGAUGE_VERDICT_SECONDS=30 RAILGAUGE_HEALTH_SECONDS=30 RAILGAUGE_HOOK_SECONDS=30 SLURMD_NODENAME=n1 RAILGAUGE_SLURM_STATE=$work/run
rm "$work/nodes/n6"

# ---- the drain -------------------------------------------------------------------------------------
expect "it is off by default" matches "drain.sh: off; .*" env RAILGAUGE_SLURM_SETTINGS="$work/none" ./drain.sh
expect "a dry run changes nothing" ./drain.sh --dry-run
expect "and it says so" lacks n1 Reason
expect "a node that asks is drained" ./drain.sh
expect "with our prefix" has n1 "Reason=railgauge: acs,mtu"
expect "as a drain" has n1 "State=DRAIN"
sed -i 's/^State=.*/State=IDLE/; /^Reason=/d' "$work/nodes/n1"
rm "$work/lib/lock"; sed -i "s/^[0-9]*/$((now - 3601))/" "$work/lib/drained"
expect "a node that an administrator resumes" ./drain.sh
expect "is not drained for the same preflight" lacks n1 Reason
preflight $((now + 170)) acs mtu; ./healthcheck.sh
expect "but for a later one" ./drain.sh
expect "which failed too" has n1 "Reason=railgauge: acs,mtu"
preflight $((now + 180)) acs:pass mtu:pass; ./healthcheck.sh
expect "a node that passes again says so" has n1 "Comment=railgauge: passes"
expect "it is undrained" ./drain.sh
expect "and has no reason" lacks n1 Reason
for reason in "disk is full" "see railgauge: acs"; do
  node n3 IDLE+DRAIN
  printf 'Reason=%s\nComment=%s\n' "$reason [root@now]" "railgauge: passes" >>"$work/nodes/n3"
  ./drain.sh >/dev/null
  expect "another's drain is never undone: $reason" has n3 "Reason=$reason .*"
done
rm "$work/nodes/n3"
rm -r "${work:?}/lib"
node n3
echo "Comment=railgauge: wants drain: acs at $((now - 27 * 3600))" >>"$work/nodes/n3"
./drain.sh >/dev/null
expect "an old wish is ignored" lacks n3 Reason
wants() { echo "Comment=railgauge: wants drain: acs at $now" >>"$work/nodes/$1"; }
node n3; wants n3
touch "$work/refuses update"
./drain.sh >/dev/null
expect "a drain that Slurm refuses has counted" grep -qx "[0-9]* n3 $now begun" "$work/lib/drained"
rm "$work/refuses update"
./drain.sh >/dev/null
expect "and is tried again, in the same place" has n3 "Reason=railgauge: acs"
node n3; wants n3
rm -r "${work:?}/lib"; mkdir "$work/lib"
printf '#!/bin/sh\nexit 1\n' >"$work/bin/sync"; chmod +x "$work/bin/sync"
expect "a drain that cannot be written down ends with 4" sh -c './drain.sh; test $? = 4'
expect "and is not made" lacks n3 Reason
rm "$work/bin/sync"
node n3
# 2 % of 150 nodes is 3 an hour.
rm -r "${work:?}/lib"
for i in $(seq -w 101 247); do node "m$i"; done
for i in 101 102 103 104 105; do wants "m$i"; done
drained() { [ "$(grep -l '^Reason=railgauge: acs' "$work"/nodes/m* | wc -l)" = "$1" ]; }
./drain.sh >"$work/first"
expect "no more than 2 % of all nodes are drained" drained 3
expect "the others are named" test "$(grep -c 'not drained: 3 of 150 nodes' "$work/first")" = 2
./drain.sh >/dev/null
expect "nor by a second call within the hour" drained 3
sed -i "s/^[0-9]*/$((now - 3601))/" "$work/lib/drained"
./drain.sh >/dev/null
expect "the next hour has places again" drained 5
for i in 106 107 108 109; do wants "m$i"; done
sed -i "s/^[0-9]*/$((now - 3601))/" "$work/lib/drained"
together=()
for _ in 1 2 3 4; do ./drain.sh >/dev/null & together+=($!); done
wait "${together[@]}"
expect "calls at once share the hour's places" drained 8
mv "$work/bin/scontrol" "$work/bin/gone"
expect "without an answer it ends with 4" sh -c './drain.sh; test $? = 4'

# ---- prolog and epilog -------------------------------------------------------------------------------
printf '#!/bin/sh\ncat >>"%s/log"\n' "$work" >"$work/bin/logger"
chmod +x "$work/bin/logger"
export RAILGAUGE_BUSY_JOBS_FOLDER=$work/jobs SLURM_JOB_ID=7 RAILGAUGE_VERDICT=$PWD/verdict.sh
preflight "$now" acs mtu
expect "a prolog on a node that failed passes" ./prolog.sh
expect "an epilog too" ./epilog.sh
expect "both leave a line in the log" says "job 7 begins on a node whose last preflight failed: acs,mtu
job 7 ended on a node whose last preflight failed: acs,mtu" cat "$work/log"
preflight "$now"
rm "$work/log"
./prolog.sh; ./epilog.sh
expect "and none on a node that passed" test ! -e "$work/log" -o ! -s "$work/log"

# ---- labels ----------------------------------------------------------------------------------------
cat >"$work/gres.conf" <<'G'
# a comment
AutoDetect=nvml
NodeName=gpu[01-16] Name=gpu Type=h100 File=/dev/nvidia[0-7]
NodeName=old1 Name=gpu Type=v100 File=/dev/nvidia0
NodeName=old1 Name=gpu Type=a100 File=/dev/nvidia[1,3-4]
NodeName=any1 Name=gpu Count=2
Name=gpu Type=x File=/dev/nvidia0
NodeName=fpga1 Name=fpga Count=2
G
expect "gres.conf gives labels" says "gpu[01-16] gpu=h100 gpus=8
old1 gpu=v100,a100 gpus=4
any1 gpu=gpu gpus=2" awk -f labels.awk "$work/gres.conf"

if command -v shellcheck >/dev/null; then expect "shellcheck" shellcheck -x verdict.sh healthcheck.sh drain.sh; fi
[ $failures = 0 ] || { echo "$failures of $cases cases failed"; exit 1; }
echo "Slurm's scripts: $cases cases passed"
