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
if command -v shellcheck >/dev/null; then expect "shellcheck" shellcheck slurm/prolog.sh slurm/epilog.sh; fi

# The units have these privileges and no other.
expect "the agent has no capability" grep -qx 'CapabilityBoundingSet=' systemd/railgauge-agent.service
expect "nor has the controller" grep -qx 'CapabilityBoundingSet=' systemd/railgauge-controller.service
expect "the helper has two" grep -qx 'CapabilityBoundingSet=CAP_SYS_ADMIN CAP_SYSLOG' 'systemd/railgauge-node-facts@.service'
expect "nothing runs as root" sh -c '! grep -L -e "^User=railgauge$" -e "^DynamicUser=yes$" systemd/*.service | grep .'

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
[ $failures = 0 ] && echo "units and scripts: ok"
