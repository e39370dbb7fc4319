#!/usr/bin/env bash
# Tests MPI over the virtual fabric: latency and bandwidth between two guests, both MPIs by their own launchers, which
# reach the other guest through the agents; no ssh server listens there. Runs over soft-RoCE by UCX, over TCP, and over
# each MPI's own choice. Sizes and windows are small: emulated guests carry some 16 MB/s. Exit 77 without a built-in MPI
# or without QEMU. --suite: also runs the shipped suite `mpi`, with a limit of an hour. deploy/compare_mpi.sh compares
# with OSU-style loops.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/guests.sh"
shipped=0
[ "${1:-}" != --suite ] || shipped=1
mpis=()
for mpi in openmpi mpich; do [ ! -x "$bin/railgauge-runner-$mpi" ] || mpis+=("$mpi"); done
[ ${#mpis[@]} -gt 0 ] || { echo "no MPI was found by this build"; exit 77; }
command -v qemu-system-x86_64 >/dev/null || { echo "no qemu-system-x86_64 here: apt-get install qemu-system-x86"; exit 77; }
# The network is named twice: the MPIs' ranks and launchers take it from here, UCX from the agents' own nodes.
cat >"$work/site.yaml" <<'Y'
version: 1
metadata: {name: vfabric}
defaults: {data_network: 192.0.2.0/24, qp_timeout: 18}
Y
export RAILGAUGE_SITE_PROFILE=$work/site.yaml
# Index 0 is the port's IPv6 GID: UCX 1.13 drops UD messages from an IPv4 GID of soft-RoCE, and its RC begins with UD.
guest_agent_settings=(UCX_IB_GID_INDEX=0)
# In MB: room for registered memory and 9p's cache beside two ranks' windows.
guest_memory=1024

# stages LABEL PARAMETERS: prints a latency and a bandwidth stage. Deadlines are long, because the first start of an MPI
# reads its libraries through 9p, which takes an emulated guest tens of seconds.
stages() {
  cat <<Y
  - {name: $1_lat, kernel: mpi.lat, deadline_seconds: 300, parameters: {$2, sizes: [8, 4KiB], iterations: 100, skip: 10}, placement: {pairs: all}}
  - {name: $1_bw, kernel: mpi.bw, deadline_seconds: 300, parameters: {$2, sizes: 64KiB, window: 8, iterations: 10, skip: 1}, placement: {pairs: all}}
Y
}
suite() { printf 'version: 1\nmetadata: {name: %s}\nstages:\n' "$1"; }
{ suite chosen; for mpi in "${mpis[@]}"; do stages "$mpi" "mpi: $mpi"; done; } >"$work/chosen.yaml"
{
  suite tcp
  for mpi in "${mpis[@]}"; do
    # Open MPI uses its own TCP. MPICH uses UCX's with a second transport: with TCP alone it hangs in MPI_Finalize.
    if [ "$mpi" = openmpi ]; then stages "$mpi" 'mpi: openmpi, layer: ob1, transports: "tcp,self"'
    else stages "$mpi" 'mpi: mpich, transports: "tcp,self,sysv", hca_list: eth0'; fi
  done
} >"$work/tcp.yaml"
{
  suite roce
  for mpi in "${mpis[@]}"; do
    layer=""; [ "$mpi" = mpich ] || layer=", layer: ucx"
    stages "$mpi" "mpi: $mpi$layer, hca_list: \"rxe0:1\""
  done
} >"$work/roce.yaml"

# print_figures FILE: prints one line for each figure, with its transport, and the reason of each task that did not
# pass, with the launcher's last lines.
print_figures() {
  jq -r '(.tasks[] | select(.outcome != "passed") | "\(.task_id) \(.kernel) \(.outcome): \(.reason)"),
    (.points[] | select(.point.pair == "") | "\(.kernel) \(.facts.mpi_version) \(.point.message_bytes) B: \(.point.median) \(.point.unit), "
      + ([.facts.mpi_pml, .facts.mpi_mtl, .facts.mpi_provider_configured, .facts.mpi_btl_configured, .facts.mpi_transports_configured] | map(select(. != null)) | join(" ")))' "$1"
}
# measures SUITE FILTER OBSERVED: passes when all tasks passed, each MPI and kernel has verified figures, the facts of
# every point's task satisfy FILTER, and the counters of the guests show a transport that matches OBSERVED.
measures() {
  cli run "$work/$1.yaml" -o json >"$work/$1.json" || true
  print_figures "$work/$1.json" | tee "$work/$1.txt"
  jq -e --argjson mpis "$(printf '%s\n' "${mpis[@]}" | jq -R . | jq -s .)" '. as $all | .run.outcome == "passed"
    and all($mpis[] as $mpi | ("mpi.lat", "mpi.bw") as $kernel
      | [$all.points[] | select(.facts.mpi == $mpi and .kernel == $kernel and .point.verified and .point.median > 0)] | length; . > 0)
    and all(.points[]; (.point.synthetic | not) and .facts.launch == "agent" and .facts.mpi_network == "192.0.2.0/24")
    and all(.points[] | select(.point.pair == ""); .point.facts.transport_observed | test("'"$3"'"))
    and all(.points[].facts; '"$2"')' "$work/$1.json"
}
says_by_which() { measures chosen '(.mpi_transports_configured // .mpi_btl_configured // .mpi_provider_configured // .mpi_mtl // "") != ""' 'rdma|netdev'; }
over_tcp() { measures tcp '((.mpi_transports_configured // .mpi_btl_configured) | test("tcp")) and (.mpi != "openmpi" or .mpi_pml == "ob1")' '^netdev$'; }
over_soft_roce() { measures roce '(.mpi_transports_configured | test("(rc|ud)_[a-z]+/rxe0:1")) and (.mpi != "openmpi" or .mpi_pml == "ucx")' '^rdma$'; }

# Runs after each MPI's slow first start, so that only the suite's own deadlines must fit an emulated guest.
shipped_suite_shows_its_figures() {
  timeout 3600 "$bin/railgauge" run mpi -o json >"$work/shipped.json" || true
  print_figures "$work/shipped.json" | tee "$work/shipped.txt"
  jq -e '.run.outcome == "passed"' "$work/shipped.json"
}
# Tries each guest from the other one: an ssh server listens on the way to the host alone, which this test itself uses.
no_ssh_on_the_fabric() {
  local node other=n2
  for node in n1 n2; do
    expect_exit 1 fabric exec "$other" "$(command -v bash)" -c "exec 3<>/dev/tcp/192.0.2.${node#n}/22"
    other=n1
  done
}
nothing_is_left() {
  local node
  for node in n1 n2; do
    expect_exit 1 fabric exec "$node" pgrep -fa '[m]pirun|[m]piexec|[o]rted|[p]rted|[h]ydra_pmi|[r]ailgauge-runner-|[l]aunch-shim'
  done
}

up_with 2
check "no ssh server listens on the fabric" no_ssh_on_the_fabric
check "each MPI measures latency and bandwidth by its own choice, and says which" says_by_which
check "each MPI measures over TCP" over_tcp
check "each MPI measures over soft-RoCE" over_soft_roce
check "nothing of an MPI is left on any guest" nothing_is_left
[ "$shipped" = 0 ] || check "the suite mpi shows its figures" shipped_suite_shows_its_figures
# The transport of each task is a result of this test too.
for name in chosen tcp roce shipped; do [ ! -s "$work/$name.txt" ] || sed "s/^/  $name: /" "$work/$name.txt"; done
summary
