# shellcheck shell=bash
# A guest's true upgrade, for the demo and the end-to-end test: another of Debian's 6.1 kernels is booted, and the agent
# that is started afterwards is the node's old one.

# A guest's files are gone with its reboot, but for this folder. The id alone is kept there: the spool's WAL wants a
# file system that maps memory for writing.
readonly kKeptId=/run/vfabric/shared/agent-node-id

# find_two_kernels: the two newest that apt knows into `kernels`, the older first ("linux-image-6.1.0-56-amd64"); fails
# where there are fewer.
find_two_kernels() {
  mapfile -t kernels < <(apt-cache search --names-only '^linux-image-6\.1\.0-[0-9]+-amd64$' | cut -d ' ' -f 1 | sort -V | tail -n 2)
  [ ${#kernels[@]} = 2 ] || { echo "apt-cache knows fewer than two linux-image-6.1.0-*-amd64: apt-get update" >&2; return 1; }
}

# reboot_into NODE KERNEL VFABRIC...: VFABRIC is the command, or function, that speaks to the fabric.
reboot_into() {
  local node=$1 kernel=$2
  shift 2
  "$@" exec "$node" cp /var/lib/railgauge/agent-node-id "$kKeptId" &&
    "$@" restart "$node" --kernel "$kernel" &&
    "$@" exec "$node" sh -c "mkdir -p /var/lib/railgauge && cp $kKeptId /var/lib/railgauge/"
}

# suites_for_guests FOLDER: the shipped suites, and the one that judges an upgrade of emulated guests.
suites_for_guests() { mkdir -p "$1" && cp suites/*.yaml deploy/vfabric/suites/*.yaml "$1/"; }

# One changed node wants controls: six are five pairs on the ring. With four a loss of tenfold was called chance here:
# three pairs show little of the drift of guests.
# shellcheck disable=SC2034
readonly kUpgradeNodes=7

# The delay that a fault adds to n1's messages: 8 bytes take 0.3 to 0.5 ms one way between these guests, so half a round trip is 50 to
# 80 times what it was. Fifteenfold was no sure loss beside what these guests drift by from run to run.
# shellcheck disable=SC2034  # its users are the scripts that read this
readonly kUpgradeDelay=50ms
