#!/usr/bin/env bash
# A rollout as a shell pipeline: measures nodes, upgrades them, judges them. Start it again after any kill: it continues.
#   shell.sh NODES PART=VERSION COMMAND...
# COMMAND upgrades the nodes and may be repeated. The exit code is the verdict's, as gate.sh has it; a failed COMMAND is 4.
set -uo pipefail
[ $# -ge 3 ] || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
nodes=$1 expect=$2
state=${GATE_STATE:-railgauge-pipeline}
shift 2
"$here/gate.sh" prepare "$nodes" "$expect" || exit
if [ ! -e "$state/upgraded" ]; then
  "$@" || { echo "shell.sh: $1 failed; $nodes is not judged" >&2; exit 4; }
  touch "$state/upgraded"
fi
exec "$here/gate.sh" judge "$nodes" "$expect"
