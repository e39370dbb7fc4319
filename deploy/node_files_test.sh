#!/usr/bin/env bash
# Tests the files that an operator installs on nodes: systemd-analyze reads the units, and Slurm's scripts run.
# Exit 77 without systemd-analyze: the units were not checked.
set -uo pipefail
cd "$(dirname "$0")" || exit 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
expect() { # TITLE COMMAND...
  local title=$1; shift
  "$@" >"$work/out" 2>&1 || { failures=$((failures + 1)); echo "FAILED: $title"; sed 's/^/    /' "$work/out"; }
}
holds() { [ "$(cat "$1")" = "$2" ]; }
jobs_are() { [ "$(ls "$work/jobs" 2>/dev/null | tr '\n' ' ')" = "$1" ]; }

export RAILGAUGE_BUSY_JOBS_FOLDER=$work/jobs
expect "a job leaves its marker" env SLURM_JOB_ID=4711 slurm/prolog.sh
expect "a second one too" env SLURM_JOB_ID=4712 slurm/prolog.sh
expect "both are there" jobs_are "4711 4712 "
expect "a job that ends takes its own away" env SLURM_JOB_ID=4711 slurm/epilog.sh
expect "and no other" jobs_are "4712 "
expect "an epilog without a marker passes" env SLURM_JOB_ID=4711 slurm/epilog.sh
expect "a name that is no number is no path" env SLURM_JOB_ID=../escaped slurm/prolog.sh
expect "nothing was written elsewhere" test ! -e "$work/escaped"
expect "a job without a number drains no node" env -u SLURM_JOB_ID slurm/prolog.sh
touch "$work/file"
expect "a folder that cannot be drains no node" env RAILGAUGE_BUSY_JOBS_FOLDER="$work/file/jobs" SLURM_JOB_ID=1 slurm/prolog.sh

# A user of the node may have planted where the prolog writes: a link to root's file, the folder itself as a link,
# a folder of somebody else or one that others may write.
plant() { # FOLDER: a folder with the link 4711 to the victim
  rm -rf "$1" "$work/victim"
  mkdir "$1"
  (umask 077; echo "root's words" >"$work/victim")
  ln -s "$work/victim" "$1/4711"
}
victim_is_unchanged() { holds "$work/victim" "root's words" && [ "$(stat -c %a "$work/victim")" = 600 ]; }
mark_in() { env RAILGAUGE_BUSY_JOBS_FOLDER="$1" SLURM_JOB_ID="$2" slurm/prolog.sh; }
unmark_in() { env RAILGAUGE_BUSY_JOBS_FOLDER="$1" SLURM_JOB_ID="$2" slurm/epilog.sh; }
plant "$work/planted"
expect "a planted link drains no node" mark_in "$work/planted" 4711
expect "and its victim is unchanged" victim_is_unchanged
ln -s "$work/gone" "$work/planted/4712"
expect "a link to nowhere drains no node" mark_in "$work/planted" 4712
expect "and nothing is made there" test ! -e "$work/gone"
plant "$work/open"
chmod 0777 "$work/open"
expect "a folder that others may write drains no node" mark_in "$work/open" 4713
expect "and is not written" test ! -e "$work/open/4713"
mkdir "$work/elsewhere"
: >"$work/elsewhere/4715"
ln -s "$work/elsewhere" "$work/linked"
expect "a folder that is a link drains no node" mark_in "$work/linked" 4714
expect "and is not written either" test ! -e "$work/elsewhere/4714"
expect "nor does its job's end drain it" unmark_in "$work/linked" 4715
expect "and nothing is removed there" test -e "$work/elsewhere/4715"
if [ "$(id -u)" = 0 ]; then
  plant "$work/foreign"
  chown 65534 "$work/foreign"
  expect "another user's folder drains no node" mark_in "$work/foreign" 4716
  expect "and is not written by root" test ! -e "$work/foreign/4716"
  expect "its links are left alone" victim_is_unchanged
fi
if command -v shellcheck >/dev/null; then expect "shellcheck" shellcheck slurm/prolog.sh slurm/epilog.sh; fi

# The units have these privileges and no other.
expect "the agent has no capability" grep -qx 'CapabilityBoundingSet=' systemd/railgauge-agent.service
expect "nor has the controller" grep -qx 'CapabilityBoundingSet=' systemd/railgauge-controller.service
expect "the helper has two" grep -qx 'CapabilityBoundingSet=CAP_SYS_ADMIN CAP_SYSLOG' 'systemd/railgauge-node-facts@.service'
expect "nothing runs as root" sh -c '! grep -L -e "^User=railgauge-agent$" -e "^User=railgauge-controller$" -e "^DynamicUser=yes$" systemd/*.service | grep .'
users_are_two() { [ "$(sed -n 's/^User=//p' systemd/*.service | sort -u | tr '\n' ' ')" = "railgauge-agent railgauge-controller " ]; }
expect "agent and controller are two users" users_are_two
expect "which sysusers.d makes" sh -c 'for u in $(sed -n "s/^User=//p" systemd/*.service); do grep -q "^u $u " systemd/*.sysusers || exit 1; done'
for service in agent controller; do
  expect "systemd waits until the $service is ready" grep -qx 'Type=notify' systemd/railgauge-$service.service
  expect "and ends a $service that hangs" grep -qE '^WatchdogSec=[1-9]' systemd/railgauge-$service.service
done
expect "no deadline interrupts a migration" grep -qx 'TimeoutStartSec=infinity' systemd/railgauge-controller.service
expect "the folder of Slurm's prolog is root's" grep -qx 'd /run/railgauge-jobs 0755 root root' systemd/railgauge-agent.tmpfiles

if ! command -v systemd-analyze >/dev/null; then
  [ $failures = 0 ] || exit 1
  echo "waived: no systemd-analyze here to read the units"
  exit 77
fi
# /bin/true replaces the programs, which need not be installed here.
mkdir "$work/units"
for unit in systemd/*.service systemd/*.socket; do
  sed 's|/usr/bin/railgauge-[a-z-]*|/bin/true|' "$unit" >"$work/units/$(basename "$unit")"
done
cd "$work/units" || exit 4
# Makes an instance, since systemd-analyze cannot verify a template.
cp railgauge-node-facts@.service railgauge-node-facts@1.service
for unit in railgauge-agent.service railgauge-controller.service railgauge-node-facts@1.service railgauge-node-facts.socket; do
  SYSTEMD_LOG_LEVEL=warning systemd-analyze verify --man=no --recursive-errors=no "./$unit" >"$work/told" 2>&1
  code=$?
  expect "systemd-analyze verify $unit" test $code = 0
  # systemd-analyze only warns of an unknown setting, and a misspelt one is unknown.
  expect "$unit: no line is ignored" sh -c "! grep -iE 'unknown|ignoring|failed to parse' '$work/told'"
done
# score_is_at_most UNIT TENTHS: the exposure that systemd computes from the unit, in tenths.
score_is_at_most() {
  local score
  score=$(systemd-analyze security --offline=true --no-pager "$1" | sed -n 's/.*Overall exposure level for .*: \([0-9]*\)\.\([0-9]\) .*/\1\2/p')
  echo "exposure of $1: ${score:-none} tenths, at most $2"
  [ -n "$score" ] && [ "$((10#$score))" -le "$2" ]
}
if systemd-analyze --help | grep -e '--offline' >/dev/null; then
  expect "the agent's exposure is at most 3.0" score_is_at_most ./railgauge-agent.service 30
  expect "the controller's is at most 1.5" score_is_at_most ./railgauge-controller.service 15
fi
[ $failures = 0 ] && echo "units and scripts: ok"
