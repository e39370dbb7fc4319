#!/usr/bin/env bash
# Runs the programs under the system call filter of the agent's unit, without systemd (deploy/systemd/under_filter.py):
# kernels of the CPU, RDMA on a fake wire, MPI with 2 ranks, and a confined runner of the keeper. Nothing that they need
# is refused. Exit 77 without systemd-analyze or off x86_64: the filter was not made.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 4
build=$(realpath "${RAILGAUGE_BUILD_DIR:-build/dev}")
bin=$build/bin
if [ "$(uname -m)" != x86_64 ] || ! command -v systemd-analyze python3 >/dev/null; then
  echo "waived: needs systemd-analyze, python3 and x86_64"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0 cases=0
readonly calls=$work/agent.calls
deploy/systemd/under_filter.py --write "$calls" || exit 4
under() { timeout 60 deploy/systemd/under_filter.py --list "$calls" "$@"; }

# passes TITLE COMMAND...: the command passes under the filter, which refused it nothing.
passes() {
  local title=$1; shift
  cases=$((cases + 1))
  if under "$@" >"$work/out" 2>&1 && ! grep '^refused' "$work/out" >"$work/refused"; then return; fi
  failures=$((failures + 1))
  echo "FAILED: $title"
  sed 's/^/    /' "$work/out"
}

# refuses TITLE CALL COMMAND...: the filter refuses the call of that name.
refuses() {
  local title=$1 call=$2; shift 2
  cases=$((cases + 1))
  under "$@" >"$work/out" 2>&1
  if grep -q "^refused $call " "$work/out"; then return; fi
  failures=$((failures + 1))
  echo "FAILED: $title"
  sed 's/^/    /' "$work/out"
}

# pair TITLE WORDS...: a kernel between two runners of this host, both under the filter.
pair() {
  local title=$1 port=$((20000 + RANDOM % 10000)); shift
  under "$bin/railgauge-runner" "$@" --listen "127.0.0.1:$port" >"$work/listener" 2>&1 &
  local listener=$!
  for _ in $(seq 100); do grep -q listening "$work/listener" && break; sleep 0.1; done
  passes "$title" "$bin/railgauge-runner" "$@" --connect "127.0.0.1:$port" --sizes 8
  wait "$listener"
  cases=$((cases + 1))
  if grep '^refused' "$work/listener"; then failures=$((failures + 1)); echo "FAILED: $title, listener"; fi
}

refuses "a unit's filter is in force" mount python3 -c 'import ctypes; ctypes.CDLL(None).mount(b"a", b"/mnt", b"tmpfs", 0, None)'
refuses "a packet socket is refused" socket python3 -c 'import socket; socket.socket(17, 3, 0)'
pair "TCP" net.tcp_lat --address 127.0.0.1
RAILGAUGE_LIBIBVERBS=$build/lib/libibverbs-fake.so pair "verbs" verbs.write_lat
for mpi in openmpi mpich; do
  if ! [ -x "$bin/railgauge-runner-$mpi" ]; then echo "not run: MPI: $mpi: $bin/railgauge-runner-$mpi is not built"; continue; fi
  # 1 MiB: ranks of one host copy from each other's memory (process_vm_readv).
  passes "MPI: $mpi" "$bin/railgauge-runner" mpi.bw --set "mpi=$mpi" --ranks 2 --sizes 1MiB
done
mkdir "$work/hidden"
echo secret >"$work/hidden/key"
# shellcheck disable=SC2016
passes "the keeper confines its program" sh -c \
  "$bin/railgauge-launch-shim --keep \$\$ 1000 --confine --hide $work/hidden --limit core=0 $bin/railgauge-runner railgauge-runner --list; exit \$?"
# shellcheck disable=SC2016
passes "and hides what it must" sh -c \
  "! $bin/railgauge-launch-shim --keep \$\$ 1000 --confine --hide $work/hidden /bin/cat cat $work/hidden/key; exit \$?"
[ $failures = 0 ] || { echo "$failures of $cases cases failed"; exit 1; }
echo "the agent's system call filter: $cases cases passed, $(wc -l <"$calls") rules"
