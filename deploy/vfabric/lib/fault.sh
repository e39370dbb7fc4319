# shellcheck shell=bash disable=SC2034,SC2154 # settings are shared with ../vfabric and its other parts
# Injects the faults of a fleet's fabric, one node at a time. The file `faults` in a node's folder has one
# `kind value` line for each active fault; dead and frozen are read from /proc.

readonly kFaultUsage="fault NODE delay TIME | loss PERCENT | rate RATE | down | up | nic-gone | freeze | thaw | kill | clear"

# set_fault N KIND VALUE: writes the fault's line; an empty value removes it.
set_fault() {
  local file
  file=$(node_dir "$1")/faults
  touch "$file"
  { grep -v "^$2 " "$file"; [ -z "$3" ] || printf '%s %s\n' "$2" "$3"; } >"$file.new"
  mv -- "$file.new" "$file"
}

get_fault() { sed -n "s/^$2 //p" "$(node_dir "$1")/faults" 2>/dev/null; }

# apply_netem N: sets one qdisc for the packets that the node sends. A rate alone uses tbf, which leaves packets
# with their socket, so that the sender slows down as at a slow port; netem takes them and would only queue.
apply_netem() {
  local words=() delay loss rate
  delay=$(get_fault "$1" delay) loss=$(get_fault "$1" loss) rate=$(get_fault "$1" rate)
  [ -z "$delay" ] || words+=(delay "$delay")
  [ -z "$loss" ] || words+=(loss "$loss")
  if [ ${#words[@]} != 0 ]; then
    [ -z "$rate" ] || words+=(rate "$rate")
    words=(netem limit 10000 "${words[@]}")
  elif [ -n "$rate" ]; then
    words=(tbf rate "$rate" burst 64kb limit 8mb)
  else
    in_guest "$1" sh -c '! tc qdisc show dev eth0 | grep -qE "netem|tbf" || tc qdisc del dev eth0 root'
    return
  fi
  in_guest "$1" tc qdisc replace dev eth0 root "${words[@]}"
}

# netem_fault N KIND VALUE PATTERN EXAMPLE: applies the fault, and keeps its line only when the guest accepted it.
netem_fault() {
  local before
  [[ $3 =~ ^$4$ ]] || die 2 "fault n$1 $2 '$3': expected for example '$5'"
  before=$(get_fault "$1" "$2")
  set_fault "$1" "$2" "$3"
  apply_netem "$1" || {
    set_fault "$1" "$2" "$before"
    die 1 "n$1 did not take $2 $3"
  }
}

clear_faults() {
  local pid
  pid=$(running "$(node_dir "$1")/qemu.pid") || die 4 "n$1 is dead: 'vfabric restart n$1' boots it again"
  kill -CONT "$pid"
  rm -f -- "$(node_dir "$1")/faults"
  apply_netem "$1" || die 1 "n$1 kept a network fault"
  in_guest "$1" sh -c 'ip link set eth0 up && /run/vfabric/boot_rdma' || die 1 "n$1 has no rxe0: see 'vfabric logs n$1'"
}

cmd_fault() {
  local node pid value=${3:-}
  [ $# -ge 2 ] || die 2 "$kFaultUsage"
  node=$(node_number "$1") || exit
  case $2 in delay | loss | rate) [ $# = 3 ] ;; *) [ $# = 2 ] ;; esac || die 2 "$kFaultUsage"
  require_alive "$node"
  pid=$(running "$(node_dir "$node")/qemu.pid")
  case $2 in
    kill) kill -KILL "$pid" && stop "$(node_dir "$node")/qemu.pid" "$(node_dir "$node")/ssh.pid" ;;
    freeze) kill -STOP "$pid" ;;
    thaw) kill -CONT "$pid" ;;
    clear) clear_faults "$node" ;;
    *)
      [ "$(node_state "$node")" = booted ] || die 4 "n$node is frozen: 'vfabric fault n$node thaw' first"
      case $2 in
        delay) netem_fault "$node" delay "$value" '[0-9]+(\.[0-9]+)?(us|ms|s)' 5ms ;;
        loss) netem_fault "$node" loss "$value" '[0-9]+(\.[0-9]+)?%' 1% ;;
        rate) netem_fault "$node" rate "$value" '[0-9]+(\.[0-9]+)?[kmg]?bit' 100mbit ;;
        down) in_guest "$node" ip link set eth0 down && set_fault "$node" down yes ;;
        up) in_guest "$node" ip link set eth0 up && set_fault "$node" down '' ;;
        nic-gone) in_guest "$node" rdma link delete rxe0 && set_fault "$node" nic-gone yes ;;
        *) die 2 "unknown fault '$2': $kFaultUsage" ;;
      esac ;;
  esac
}
