# shellcheck shell=bash disable=SC2034,SC2154 # settings are shared with ../vfabric and its other parts
# The wire between the guests: our switch (any MTU), or Debian's VDE where it is not built.

readonly kSwitchMtu=4200  # path MTU 4096 and RoCE's headers
readonly kVdeMtu=1500     # vde_switch loses longer frames

# switch_program: prints the path of the newest build of the switch, or nothing.
switch_program() {
  local candidate newest=
  for candidate in "$here"/vfabric-switch "$here"/../../build/*/bin/vfabric-switch; do
    [ -x "$candidate" ] && { [ -z "$newest" ] || [ "$candidate" -nt "$newest" ]; } && newest=$candidate
  done
  [ -z "$newest" ] || realpath -- "$newest"
}

# choose_network: replaces `network` auto by switch or vde, and an empty `mtu` by the default of that network.
choose_network() {
  [ "$network" != auto ] || { [ -n "$(switch_program)" ] && network=switch || network=vde; }
  case $network in
    switch)
      [ -n "$(switch_program)" ] ||
        die 1 "vfabric-switch is not built: cmake --build build/dev --target vfabric-switch, or use --network vde"
      mtu=${mtu:-$kSwitchMtu} ;;
    vde)
      command -v vde_switch >/dev/null || die 1 "neither vfabric-switch nor vde_switch is here: install vde2"
      mtu=${mtu:-$kVdeMtu}
      ((mtu <= kVdeMtu)) || die 2 "VDE loses frames above MTU $kVdeMtu: build vfabric-switch for MTU $mtu" ;;
    *) die 2 "--network is switch, vde or auto, not '$network'" ;;
  esac
}

start_network() {
  local polls
  mkdir -p -- "$state/net"
  if [ "$network" = switch ]; then
    spawn "$state/net/switch.pid" "$state/net/switch.log" "$(switch_program)" --dir "$state/net" --ports "$nodes"
  else
    mkfifo -- "$state/net/console"  # vde_switch ends when its console does; a fifo open both ways never does
    # shellcheck disable=SC2016
    spawn "$state/net/switch.pid" "$state/net/switch.log" \
      bash -c 'exec vde_switch -s "$1/vde" -n 64 0<>"$1/console"' bash "$state/net"
  fi
  for ((polls = 0; polls < 100; ++polls)); do
    [ ! -S "$state/net/sw.$nodes" ] && [ ! -S "$state/net/vde/ctl" ] || return 0
    sleep 0.05
  done
  die 1 "the switch did not start, see $state/net/switch.log"
}

# network_backend N: prints QEMU's option for node N's end of the wire.
network_backend() {
  if [ "$network" = switch ]; then
    printf 'dgram,id=fabric,local.type=unix,local.path=%s,remote.type=unix,remote.path=%s' \
      "$state_q/net/n.$1" "$state_q/net/sw.$1"
  else
    printf 'vde,id=fabric,sock=%s' "$state_q/net/vde"
  fi
}
