# shellcheck shell=bash
# A guest's true upgrade, for the demo and the end-to-end test: the guest boots another of Debian's 6.1 kernels, and the
# agent started afterwards keeps the node's id.

# A reboot deletes a guest's files except those of this folder. Only the id is kept there: the spool's WAL needs a file
# system that maps memory for writing.
readonly kKeptId=/run/vfabric/shared/agent-node-id

# find_two_kernels: sets `kernels` to the two newest that apt knows, the older first ("linux-image-6.1.0-56-amd64");
# fails when there are fewer.
find_two_kernels() {
  mapfile -t kernels < <(apt-cache search --names-only '^linux-image-6\.1\.0-[0-9]+-amd64$' | cut -d ' ' -f 1 | sort -V | tail -n 2)
  [ ${#kernels[@]} = 2 ] || { echo "apt-cache knows fewer than two linux-image-6.1.0-*-amd64: apt-get update" >&2; return 1; }
}

# reboot_into NODE KERNEL VFABRIC...: reboots the node and restores its id; VFABRIC is the command, or function, that
# controls the fabric.
reboot_into() {
  local node=$1 kernel=$2
  shift 2
  "$@" exec "$node" cp /var/lib/railgauge/agent-node-id "$kKeptId" &&
    "$@" restart "$node" --kernel "$kernel" &&
    "$@" exec "$node" sh -c "mkdir -p /var/lib/railgauge && cp $kKeptId /var/lib/railgauge/"
}

# suites_for_guests FOLDER: copies the shipped suites, and the one that judges an upgrade of emulated guests.
suites_for_guests() { mkdir -p "$1" && cp suites/*.yaml deploy/vfabric/suites/*.yaml "$1/"; }

# One changed node and six controls, which are five pairs on the ring. With four controls, a tenfold loss was judged as
# chance here: three pairs show little of the drift of guests.
# shellcheck disable=SC2034
readonly kUpgradeNodes=7

# The delay that a fault adds to n1's messages. 8 bytes take 0.3 to 0.5 ms one way between these guests, so half a round
# trip grows 50 to 80 times. A growth of 15 times was no certain loss beside the drift of these guests between runs.
# shellcheck disable=SC2034  # its users are the scripts that read this
readonly kUpgradeDelay=50ms
