#!/usr/bin/env bash
# Tests compare_topology.sh on saved texts. All are synthetic: written by hand in the form of nvidia-smi topo -m (580,
# with tabs and underlined headings; an older one with the NICs' own names) and of railgauge topo.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fails() { echo "compare_topology_test: $*"; cat "$work/out"; exit 1; }
ended() {
  local want=$1 code=0; shift
  deploy/compare_topology.sh "$@" >"$work/out" 2>&1 || code=$?
  [ $code = "$want" ] || fails "exit $code, wanted $want: $*"
}
says() { grep -qxF -- "$1" "$work/out" || fails "no line: $1"; }

printf '\t\033[4mGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\033[0m
GPU0\t X \tNV18\tPIX\tSYS\t0-55,112-167\t0\t\tN/A
GPU1\tNV18\t X \tSYS\tPXB\t56-111,168-223\t1\t\tN/A
NIC0\tPIX\tSYS\t X \tSYS\t\t\t\t
NIC1\tSYS\tPXB\tSYS\t X \t\t\t\t

Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect
  NV#  = Connection traversing a bonded set of # NVLinks

NIC Legend:

  NIC0: mlx5_0
  NIC1: mlx5_3
' >"$work/theirs"
cat >"$work/ours" <<'T'
here    gpu0  gpu1  mlx5_0  mlx5_3  CPUS            NUMA  RAIL  NEAREST NICS
gpu0    X     NV18  PIX     SYS     0-55,112-167       0        mlx5_0
gpu1    NV18  X     SYS     PXB     56-111,168-223     1        mlx5_3
mlx5_0  PIX   SYS   X       SYS     0-55,112-167       0     0
mlx5_3  SYS   PXB   SYS     X       56-111,168-223     1     1

X    the device itself
NV#  # NVLinks, directly or through NVSwitches
T
both=(--ours "$work/ours" --theirs "$work/theirs")
ended 0 "${both[@]}"
says '12 cells of nvidia-smi, 0 differ or lack on a side'

# Another word, in one direction alone.
sed -i.bak 's/^gpu1    NV18  X     SYS     PXB/gpu1    NV18  X     SYS     PIX/' "$work/ours"
ended 1 "${both[@]}"
says 'gpu1 mlx5_3: nvidia-smi PXB, railgauge PIX'
says '12 cells of nvidia-smi, 1 differ or lack on a side'
mv "$work/ours.bak" "$work/ours"

# A NIC that one side lacks.
sed 's/NIC1: mlx5_3/NIC1: mlx5_7/' "$work/theirs" >"$work/other"
ended 1 --ours "$work/ours" --theirs "$work/other"
says 'gpu0 mlx5_7: nvidia-smi SYS, railgauge has no such pair'
says 'gpu0 mlx5_3: railgauge SYS, nvidia-smi has no such pair'

# One GPU and nothing else: no distance to compare. Ours alone with one device is no matrix.
printf '\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \t0-15\t0\t\tN/A\n' >"$work/one_of_theirs"
printf 'here  gpu0  CPUS  NUMA  NEAREST NICS\ngpu0  X     0-15     0\n\nX    the device itself\n' >"$work/one_of_ours"
ended 5 --ours "$work/one_of_ours" --theirs "$work/one_of_theirs"
says 'waived: nvidia-smi topo -m shows one device: there is no distance'
ended 4 --ours "$work/one_of_ours" --theirs "$work/theirs"

# An older form: NICs under their names, no last column.
cat >"$work/older" <<'T'
        GPU0    GPU1    mlx5_0  mlx5_3  CPU Affinity    NUMA Affinity
GPU0     X      NV18    PIX     SYS     0-55,112-167    0
GPU1    NV18     X      SYS     PXB     56-111,168-223  1
mlx5_0  PIX     SYS      X      SYS
mlx5_3  SYS     PXB     SYS      X
T
ended 0 --ours "$work/ours" --theirs "$work/older"

# Output without a matrix never counts as agreement.
echo 'Failed to initialize NVML: Driver/library version mismatch' >"$work/none"
ended 4 --ours "$work/ours" --theirs "$work/none"
grep -q 'nvidia-smi topo -m: no matrix of two devices: Failed to initialize NVML' "$work/out" || fails "why is not said"
ended 4 --ours "$work/none" --theirs "$work/theirs"
printf '\tGPU0\tCPU Affinity\nGPU0\t X \t0-7\n' >"$work/one"
ended 5 --ours "$work/ours" --theirs "$work/one"
ended 2 --ours "$work/ours"
ended 2 --matrix
mkdir "$work/bin"
for tool in bash dirname mktemp rm; do ln -s "$(command -v $tool)" "$work/bin/"; done
code=0; PATH=$work/bin deploy/compare_topology.sh >"$work/out" 2>&1 || code=$?
[ $code = 5 ] || fails "exit $code without nvidia-smi, wanted 5"

# The whole path with the built programs: a node of files (two GPUs on one switch, one NIC on another), and a stand-in
# of nvidia-smi.
bin=$(realpath "${RAILGAUGE_BUILD_DIR:-build/dev}")/bin
sys=$work/sys
place() {  # PATH CLASS VENDOR
  local folder=$sys/devices/$1
  mkdir -p "$folder" "$sys/bus/pci/devices"
  echo "$2" >"$folder/class"; echo "$3" >"$folder/vendor"; echo 0 >"$folder/numa_node"
  ln -s "../../../devices/$1" "$sys/bus/pci/devices/${1##*/}"
}
place pci0000:15/0000:15:01.0/0000:16:00.0/0000:16:01.0/0000:17:00.0 0x030200 0x10de
place pci0000:15/0000:15:01.0/0000:16:00.0/0000:16:02.0/0000:18:00.0 0x030200 0x10de
place pci0000:15/0000:15:02.0/0000:19:00.0 0x020700 0x15b3
port=$sys/devices/pci0000:15/0000:15:02.0/0000:19:00.0/infiniband/mlx5_0/ports/1
mkdir -p "$port" "$sys/class/infiniband"
echo "4: ACTIVE" >"$port/state"
ln -s ../../../../0000:19:00.0 "$port/../../device"
ln -s ../../devices/pci0000:15/0000:15:02.0/0000:19:00.0/infiniband/mlx5_0 "$sys/class/infiniband/mlx5_0"
mkdir "$work/stand_in"
cat >"$work/stand_in/nvidia-smi" <<'P'
#!/bin/sh
printf '\tGPU0\tGPU1\tNIC0\tCPU Affinity\nGPU0\t X \tPIX\tPHB\t0-7\nGPU1\tPIX\t X \tPHB\t0-7\nNIC0\tPHB\tPHB\t X \n\nNIC Legend:\n\n  NIC0: mlx5_0\n'
P
chmod +x "$work/stand_in/nvidia-smi"
export PATH=$work/stand_in:$PATH RAILGAUGE_SYSFS_ROOT=$sys RAILGAUGE_PROC_ROOT=$work/proc
ended 0 --bin "$bin"
says '6 cells of nvidia-smi, 0 differ or lack on a side'
grep -Eq "^reading the node's inventory: [0-9.]+ ms, " "$work/out" || fails "the inventory's time is not told"
grep -Eq '^preflight, 37 checks: [0-9.e+-]+ s, ' "$work/out" || fails "preflight's time is not told"
grep -Eq '^preflight with the probe: [0-9.e+-]+ s, ' "$work/out" || fails "the probe's time is not told"
grep -Eq "^the agent's most resident memory \(VmHWM\), NVML not loaded: [0-9]+ bytes, " "$work/out" || fails "memory is not told"
echo "compare_topology_test: ok"
