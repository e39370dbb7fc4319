#!/usr/bin/env bash
# Tests Slurm's scripts without Slurm: a page of an agent's metrics from a file, and a scontrol that keeps nodes in files.
# deploy/e2e/slurm.sh has the real ones. Exit 77 without python3 or flock.
set -uo pipefail
cd "$(dirname "$0")" || exit 4
for tool in python3 flock; do command -v $tool >/dev/null || { echo "waived: no $tool here"; exit 77; }; done
work=$(mktemp -d)
server=""
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
failures=0 cases=0
expect() { # TITLE COMMAND...
  local title=$1; shift
  cases=$((cases + 1))
  "$@" >"$work/out" 2>&1 || { failures=$((failures + 1)); echo "FAILED: $title"; sed 's/^/    /' "$work/out"; }
}
says() { [ "$("${@:2}")" = "$1" ] || { "${@:2}"; return 1; }; }
matches() { [[ $("${@:2}") =~ ^$1$ ]] || { "${@:2}"; return 1; }; }

# ---- an agent ------------------------------------------------------------------------------------
# Serves $work/page at every path. "silent" in place of the file: accepts and never answers.
python3 - "$work" <<'P' &
import os, socket, sys
work = sys.argv[1]
listener = socket.create_server(('127.0.0.1', 0))
with open(work + '/port.draft', 'w') as file:
    file.write(str(listener.getsockname()[1]))
os.rename(work + '/port.draft', work + '/port')
kept = []
while True:
    connection, _ = listener.accept()
    if os.path.exists(work + '/silent'):
        kept.append(connection)
        continue
    asked = b''
    while b'\r\n\r\n' not in asked and (part := connection.recv(4096)):
        asked += part
    with open(work + '/page', 'rb') as page:
        connection.sendall(b'HTTP/1.0 200 OK\r\n\r\n' + page.read())
    connection.close()
P
server=$!
for _ in $(seq 100); do [ -e "$work/port" ] && break; sleep 0.05; done
RAILGAUGE_METRICS=127.0.0.1:$(cat "$work/port")
export RAILGAUGE_METRICS RAILGAUGE_VERDICT_SECONDS=30  # this machine may be busy
# preflight TIME CHECK...: the page after a preflight in which these failed.
preflight() {
  local time=$1 check; shift
  { echo '# TYPE railgauge_preflight_results gauge'
    echo 'railgauge_preflight_results{check="gid",state="pass"} 2'
    echo 'railgauge_preflight_results{check="mtu",state="fail"} 0'
    for check in "$@"; do echo "railgauge_preflight_results{check=\"$check\",state=\"fail\"} 1"; done
    echo "railgauge_preflight_timestamp_seconds $time"; } >"$work/page"
}
now=$(date +%s)
echo 'railgauge_agent_info{version="1"} 1' >"$work/page"
expect "an agent without a preflight has no verdict" says "unknown no preflight was made" ./verdict.sh
preflight "$now"
expect "no failed check is a pass" says "pass $now" ./verdict.sh
preflight "$now.5e0" acs port_state
expect "failed checks are named" says "fail $now acs,port_state" ./verdict.sh
preflight $((now - 30 * 3600)) acs
expect "an old preflight is no verdict" says "unknown the last preflight is 30 h old" ./verdict.sh
expect "unless it may be older" says "fail $((now - 30 * 3600)) acs" env RAILGAUGE_VERDICT_HOURS=31 ./verdict.sh
expect "an agent that is away has none" says "unknown no agent answers at 127.0.0.1:1" env RAILGAUGE_METRICS=127.0.0.1:1 ./verdict.sh
touch "$work/silent"
expect "nor has a silent one, and it is not waited for" says "unknown no agent answers at $RAILGAUGE_METRICS" env RAILGAUGE_VERDICT_SECONDS=0.8 timeout 5 ./verdict.sh
rm "$work/silent"

# ---- a node's health check ---------------------------------------------------------------------------
# Nodes are files with the lines of `scontrol show node`; calls are counted.
mkdir "$work/bin" "$work/nodes"
cat >"$work/bin/scontrol" <<'S'
#!/bin/bash
echo "$*" >>"$SCONTROL/calls"
cd "$SCONTROL/nodes" || exit 1
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
expect "two preflights that failed in one check ask for a drain" has n1 "Comment=railgauge: wants drain: mtu"
: >"$work/calls"
./healthcheck.sh
expect "and ask once" test ! -s "$work/calls"
expect "exit code 0 with no agent" env RAILGAUGE_METRICS=127.0.0.1:1 ./healthcheck.sh
expect "which changes nothing" has n1 "Comment=railgauge: wants drain: mtu"
node n2
echo "Comment=the site's own" >>"$work/nodes/n2"
export SLURMD_NODENAME=n2 RAILGAUGE_SLURM_STATE=$work/run2
preflight "$now" mtu; ./healthcheck.sh
preflight $((now + 60)) mtu; ./healthcheck.sh
expect "a foreign Comment stays" has n2 "Comment=the site's own"
export SLURMD_NODENAME=n1 RAILGAUGE_SLURM_STATE=$work/run

# ---- the drain -------------------------------------------------------------------------------------
expect "it is off by default" matches "drain.sh: off; .*" env RAILGAUGE_SLURM_SETTINGS="$work/none" ./drain.sh
expect "a dry run changes nothing" ./drain.sh --dry-run
expect "and it says so" lacks n1 Reason
expect "a node that asks is drained" ./drain.sh
expect "with our prefix" has n1 "Reason=railgauge: mtu"
expect "as a drain" has n1 "State=DRAIN"
preflight $((now + 180)); ./healthcheck.sh
expect "a node that passes again says so" has n1 "Comment=railgauge: passes"
expect "it is undrained" ./drain.sh
expect "and has no reason" lacks n1 Reason
node n3 IDLE+DRAIN
printf 'Reason=%s\nComment=%s\n' "disk is full [root@now]" "railgauge: passes" >>"$work/nodes/n3"
./drain.sh >/dev/null
expect "another's drain is never undone" has n3 "Reason=disk is full .*"
# 2 % of 150 nodes is 3 an hour.
rm -r "${work:?}/lib"
for i in $(seq -w 101 247); do node "m$i"; done
for i in 101 102 103 104 105; do echo "Comment=railgauge: wants drain: acs" >>"$work/nodes/m$i"; done
drained() { [ "$(grep -l '^Reason=railgauge: acs' "$work"/nodes/m* | wc -l)" = "$1" ]; }
./drain.sh >"$work/first"
expect "no more than 2 % of all nodes are drained" drained 3
expect "the others are named" test "$(grep -c 'not drained: 3 of 150 nodes' "$work/first")" = 2
./drain.sh >/dev/null
expect "nor by a second call within the hour" drained 3
sed -i "s/^[0-9]*/$((now - 3601))/" "$work/lib/drained"
./drain.sh >/dev/null
expect "the next hour has places again" drained 5
for i in 106 107 108 109; do echo "Comment=railgauge: wants drain: acs" >>"$work/nodes/m$i"; done
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
