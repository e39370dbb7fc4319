# shellcheck shell=bash disable=SC2034,SC2154 # settings are shared with ../vfabric and its other parts
# Measures small RDMA writes, which prove the whole path. Their times separate two causes of slow writes: a busy machine
# raises the median, a sick fabric raises the minimum too.

readonly kSickMicroseconds=5000   # minimum; 280 to 350 is usual, 20,000 was once a fault of the backend
readonly kBusyMicroseconds=10000  # median; 300 to 600 is usual on a quiet machine
readonly kMeasureSeconds=60
readonly kMeasurePort=18515
readonly kMeasureTimeout=18  # of the queue pair, 1 s: seven guests that boot take each other's processor for longer than perftest's 67 ms

# measure_write FROM TO: prints median and minimum of half the round trip of 8 bytes, in us.
measure_write() {
  local words gid
  gid=$(in_guest "$1" cat /run/vfabric/gid_index) || return 1
  if command -v ib_write_lat >/dev/null; then
    words=(ib_write_lat -d rxe0 -x "$gid" -s 8 -n 200 -F -u "$kMeasureTimeout" -p "$kMeasurePort")
  else
    words=(ibv_rc_pingpong -d rxe0 -g "$gid" -s 8 -n 200 -p "$kMeasurePort")
  fi
  in_guest "$2" timeout $kMeasureSeconds "${words[@]}" </dev/null >"$state/measure.$2.log" 2>&1 &
  in_guest "$2" sh -c "for i in \$(seq 200); do grep -qi ':$(printf %04x $kMeasurePort) .* 0A ' /proc/net/tcp /proc/net/tcp6 && exit 0; sleep 0.05; done; exit 1" </dev/null &&
    in_guest "$1" timeout $kMeasureSeconds "${words[@]}" "192.0.2.$2" </dev/null >"$state/measure.$1.log" 2>&1
  wait
  # perftest's columns are size, count, minimum, maximum, typical; pingpong prints a mean round trip
  awk '$1 == "8" && NF >= 7 { print $5, $3; exit }
       /usec\/iter/ { print $(NF - 1) / 2, $(NF - 1) / 2; exit }' "$state/measure.$1.log"
}

# judge FROM TO MEDIAN MINIMUM: ends with 1 without a figure or on a sick fabric; warns on a busy machine.
judge() {
  [ -n "$4" ] || die 1 "no RDMA write from n$1 to n$2, see $state/measure.$1.log and $state/measure.$2.log: try again"
  ! at_least "$4" "$kSickMicroseconds" ||
    die 1 "the fabric is sick: no write below $4 us, 300 us is usual, see $state/measure.$1.log: 'vfabric status' shows faults, else up again"
  ! at_least "$3" "$kBusyMicroseconds" || say "this machine is busy: figures from here will scatter"
}

at_least() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a >= b) }'; }

# ping_ring: each node pings the next, the last one n1, so every port has to send and to receive.
ping_ring() {
  local node jobs=() silent=()
  for ((node = 1; node <= nodes; ++node)); do
    in_guest "$node" ping -q -c 3 -W 5 "192.0.2.$((node % nodes + 1))" </dev/null >"$state/ping.$node.log" 2>&1 &
    jobs[node]=$!
  done
  for ((node = 1; node <= nodes; ++node)); do
    wait "${jobs[node]}" || silent+=("n$node to n$((node % nodes + 1))")
  done
  [ ${#silent[@]} = 0 ] ||
    die 1 "no answer to a ping: $(printf '%s, ' "${silent[@]}")see $state/ping.*.log and the consoles: up again"
}

check_fabric() {
  local median='' minimum=''
  if ((nodes < 2)); then
    say "one node: no write to measure"
    return
  fi
  await ping_ring || exit
  if ! command -v ib_write_lat >/dev/null && ! command -v ibv_rc_pingpong >/dev/null; then
    say "neither perftest nor ibverbs-utils is installed: no write measured"
    return
  fi
  await measure_write 1 2 >"$state/measured"
  read -r median minimum <"$state/measured"
  say "8-byte RDMA write n1 to n2: median ${median:-none} us, minimum ${minimum:-none} us"
  judge 1 2 "$median" "$minimum"
}

cmd_measure() {
  local from to median='' minimum=''
  [ $# = 0 ] || [ $# = 2 ] || die 2 "measure [FROM TO]"
  from=$(node_number "${1:-n1}") && to=$(node_number "${2:-n2}") || exit
  [ "$from" != "$to" ] || die 2 "measure needs two nodes"
  require_alive "$from"
  require_alive "$to"
  read -r median minimum < <(measure_write "$from" "$to")
  [ -z "$median" ] || printf 'median %s us, minimum %s us\n' "$median" "$minimum"
  judge "$from" "$to" "$median" "$minimum"
}
