#!/usr/bin/env bash
# Tests MPI between nodes without ssh: a controller and four agents, each with an address of this host's loopback, and
# the real launchers of Open MPI and MPICH as `railgauge run` starts them. Exit 77 where neither MPI is built in.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
mpis=()
for mpi in openmpi mpich; do [ ! -x "$bin/railgauge-runner-$mpi" ] || mpis+=("$mpi"); done
[ ${#mpis[@]} -gt 0 ] || { echo "no MPI was found by this build"; exit 77; }

cat >"$work/site.yaml" <<'Y'
version: 1
metadata: {name: loopback}
defaults: {data_network: 127.0.0.0/8}
Y
suite() {
  printf 'version: 1\nmetadata: {name: %s}\nstages:\n' "$1"
  for mpi in "${mpis[@]}"; do
    printf '  - {kernel: mpi.lat, parameters: {mpi: %s, sizes: 8, iterations: 20, proof_time: 100ms}, placement: {pairs: all}}\n' "$mpi"
    printf '  - {kernel: mpi.bw, parameters: {mpi: %s, sizes: 64KiB, iterations: 10, proof_time: 100ms}, placement: {pairs: all}}\n' "$mpi"
    printf '  - {kernel: mpi.all_reduce, parameters: {mpi: %s, sizes: 4000, iterations: 5, proof_time: 100ms}, placement: {group: all}}\n' "$mpi"
  done
}
suite mpi4 >"$work/mpi4.yaml"
cat >"$work/mpilong.yaml" <<Y
version: 1
metadata: {name: mpilong}
stages:
  - {kernel: mpi.barrier, parameters: {mpi: ${mpis[0]}, time_cap: 60s, min_samples: 1000000, max_samples: 2000000}, placement: {group: all}}
Y

# Stand-ins of ssh and rsh, which a launcher must not call; a call leaves a file.
mkdir -p "$work/remote" "$work/tmp"
for remote in ssh rsh; do
  printf '#!/bin/sh\ntouch %s\nexit 255\n' "$work/ssh-was-called" >"$work/remote/$remote"; chmod +x "$work/remote/$remote"
done
# start_node NODE NUMBER: starts an agent at 127.0.0.NUMBER. UCX_TLS is not tcp,self alone, because Debian's MPICH over
# UCX's TCP hangs in MPI_Finalize, one time in three. Each node has its own TMPDIR, as each host has: a launcher that
# ends would otherwise remove the session folder that another is about to use.
start_node() {
  mkdir -p "$work/tmp/$1"
  RAILGAUGE_DATA_ADDRESS=127.0.0.$2 UCX_TLS=posix,sysv,cma,tcp,self UCX_NET_DEVICES=lo UCX_WARN_UNUSED_ENV_VARS=n TMPDIR=$work/tmp/$1 \
    PATH=$work/remote:$PATH start_agent "$1"
}
# Prints the processes of tasks: runners, launchers, daemons, shims, ranks. TMPDIR separates ours from another test's.
task_processes() {
  local folder
  for folder in /proc/[0-9]*; do
    tr '\0' '\n' 2>/dev/null <"$folder/environ" | grep -q "^TMPDIR=$work/tmp/" || continue
    tr '\0' ' ' 2>/dev/null <"$folder/cmdline" | grep -E 'railgauge-runner(-| --task)|launch-shim|mpirun|mpiexec|orted|prted|hydra' || true
  done
}

both_measure_four_nodes() {
  cli run "$work/mpi4.yaml" -o json >"$work/mpi4.json"
  jq -r '.tasks[] | select(.outcome != "passed") | "\(.task_id) \(.outcome) \(.reason)"' "$work/mpi4.json"
  jq -e --argjson mpis "${#mpis[@]}" '.run.outcome == "passed" and (.tasks | length == $mpis * 13)
    and all(.points[]; .point.verified and (.point.synthetic | not) and .point.median > 0 and .facts.launch == "agent"
      and .facts.mpi_network == "127.0.0.0/8" and (.facts.mpi_version | length > 0) and (.facts.mpi_library | test("[.]so")))' "$work/mpi4.json"
  jq -e 'all(.points[] | select(.facts.mpi == "mpich"); .facts.mpi_transports_configured | test("/"))
    and all(.points[] | select(.facts.mpi == "openmpi"); (.facts.mpi_btl_configured // .facts.mpi_transports_configured) | test("tcp"))' "$work/mpi4.json"
  [ ! -e "$work/ssh-was-called" ]
}
# Runs all kernels of the shipped suite. Two kinds are waived: device pointers for an MPI that is not CUDA-aware (the
# GPUs are fakes), and one-sided calls of Debian's Open MPI, which has none between nodes without UCX. MPICH measures
# them.
suite_shows_its_figures() {
  [ "${#mpis[@]}" = 2 ] || { echo "one of the MPIs is not in this build: the suite would be waived in part"; return 0; }
  cli run mpi --nodes a,b -o json >"$work/suite.json"
  jq -r '.tasks[] | select(.outcome != "passed") | "\(.task_id) \(.kernel) \(.outcome) \(.reason)"' "$work/suite.json"
  jq -e '.run.outcome == "passed" and ([.tasks[] | select(.outcome == "passed") | .kernel] | unique | length >= 15)
    and ([.points[] | select(.facts.mpi == "mpich") | .kernel] | unique | contains(["mpi.put_lat", "mpi.get_lat", "mpi.put_bw", "mpi.get_bw"]))
    and all(.tasks[] | select(.outcome != "passed"); .outcome == "waived" and (.reason | test("not CUDA-aware") or
      (test("one-sided calls") and (test("[Mm][Pp][Ii][Cc][Hh]") | not))))
    and all(.points[]; .point.verified and .facts.launch == "agent" and (.facts | has("mpi_transports_configured") or has("mpi_btl_configured")))' "$work/suite.json"
}
nothing_is_left() { [ -z "$(task_processes)" ] || { task_processes; return 1; }; }
all_ranks_are_up() { [ "$(pgrep -c -f "$bin/railgauge-runner-${mpis[0]} mpi.barrier")" -ge 4 ]; }
cancel_ends_everything() {
  local run; run=$(cli run "$work/mpilong.yaml" --detach)
  wait_for "four ranks run" 60 all_ranks_are_up
  cli runs cancel "$run"
  expect_exit 130 cli runs wait "$run"
  nothing_is_left
}

start_controller --site-profile "$work/site.yaml"
address=2
for node in a b c d; do start_node "$node" "$address"; address=$((address + 1)); done
wait_for "four agents attach" 20 attached 4

check "both MPIs measure pairs and all of four nodes without ssh" both_measure_four_nodes
check "the suite mpi shows the figures of all its kernels" suite_shows_its_figures
check "nothing of an MPI is left on any node" nothing_is_left
check "a cancelled MPI task leaves nothing on any node" cancel_ends_everything
summary
