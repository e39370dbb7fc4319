# shellcheck shell=bash disable=SC2034,SC2154 # settings are shared with ../vfabric and its other parts
# One small RDMA write: it proves the whole path, and its time says whether the fabric itself is sick.

readonly kSickMicroseconds=10000  # typical 300 to 600; 22,000 was once a fault of the network backend
readonly kMeasureSeconds=60
readonly kMeasureTries=3  # a busy moment of the machine is not a sick fabric
readonly kMeasurePort=18515

# measure_write FROM TO: the median of half the round trip, in microseconds.
measure_write() {
  local words gid
  gid=$(in_guest "$1" cat /run/vfabric/gid_index) || return 1
  if command -v ib_write_lat >/dev/null; then
    words=(ib_write_lat -d rxe0 -x "$gid" -s 8 -n 200 -F -p "$kMeasurePort")
  else
    words=(ibv_rc_pingpong -d rxe0 -g "$gid" -s 8 -n 200 -p "$kMeasurePort")
  fi
  in_guest "$2" timeout $kMeasureSeconds "${words[@]}" </dev/null >"$state/measure.$2.log" 2>&1 &
  in_guest "$2" sh -c "for i in \$(seq 200); do grep -qi ':$(printf %04x $kMeasurePort) .* 0A ' /proc/net/tcp /proc/net/tcp6 && exit 0; sleep 0.05; done; exit 1" </dev/null &&
    in_guest "$1" timeout $kMeasureSeconds "${words[@]}" "192.0.2.$2" </dev/null >"$state/measure.$1.log" 2>&1
  wait
  # perftest's fifth column (t_typical) is the median; pingpong prints a round trip.
  awk '$1 == "8" && NF >= 7 { print $5; exit } /usec\/iter/ { print $(NF - 1) / 2; exit }' "$state/measure.$1.log"
}

check_fabric() {
  local median try
  if ((nodes < 2)); then
    say "one node: no write to measure"
    return
  fi
  if ! command -v ib_write_lat >/dev/null && ! command -v ibv_rc_pingpong >/dev/null; then
    say "neither perftest nor ibverbs-utils is installed: no write measured"
    return
  fi
  for ((try = 1; try <= kMeasureTries; ++try)); do
    await measure_write 1 2 >"$state/measured"
    median=$(cat -- "$state/measured")
    [ -n "$median" ] ||
      die 1 "no RDMA write from n1 to n2, see $state/measure.1.log and $state/measure.2.log: try 'vfabric up' again"
    say "8-byte RDMA write n1 to n2: median $median us"
    ! awk -v m="$median" -v bound="$kSickMicroseconds" 'BEGIN { exit !(m < bound) }' || return 0
  done
  die 1 "the fabric is sick: $median us, below $kSickMicroseconds us is usual; see $state/measure.1.log, stop what loads this machine and run up again"
}

cmd_measure() {
  local from to median
  [ $# = 0 ] || [ $# = 2 ] || die 2 "measure [FROM TO]"
  from=$(node_number "${1:-n1}") && to=$(node_number "${2:-n2}") || exit
  [ "$from" != "$to" ] || die 2 "measure needs two nodes"
  require_alive "$from"
  require_alive "$to"
  median=$(measure_write "$from" "$to")
  [ -n "$median" ] || die 1 "no RDMA write from n$from to n$to, see $state/measure.$from.log"
  printf '%s us\n' "$median"
}
