# shellcheck shell=bash disable=SC2034,SC2154 # settings are shared with ../vfabric and its other parts
# Starts a guest, waits for it, and runs commands in it.

readonly kProbeSeconds=6   # KVM either boots the initramfs in one second or not at all
readonly kBootSeconds=120  # three guests on two cores: 9 s; a busy machine takes several times that
readonly kDiskBootSeconds=600  # until systemd has begun all; two at once on two cores take a minute
readonly kLoginSeconds=60
readonly kGuestPath=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

qemu_quote() { printf '%s' "${1//,/,,}"; }

# probe_kvm: sets `accelerator` to kvm or tcg. /dev/kvm may exist and still run no guest, so a probe guest has to
# report that it booted. The answer is kept until the host boots again.
probe_kvm() {
  local memo answer key polls
  accelerator=tcg
  if ! [ -r /dev/kvm ] || ! [ -w /dev/kvm ]; then return; fi
  memo=$(cache_dir)/kvm
  key="$(cat /proc/sys/kernel/random/boot_id) $kernel"
  if [ -f "$memo" ] && read -r answer <"$memo" && [ "${answer#* }" = "$key" ]; then
    accelerator=${answer%% *}
    return
  fi
  spawn "$state/probe.pid" "$state/probe.log" qemu-system-x86_64 -accel kvm -cpu host \
    -m 256 -nodefaults -no-user-config -display none -no-reboot -kernel "$(kernel_image)" \
    -initrd "$state/boot/initramfs-$kernel" -append "console=ttyS0 panic=-1 vfabric.probe=1" \
    -serial "file:$state/probe.console"
  for ((polls = 0; polls < kProbeSeconds * 10; ++polls)); do
    sleep 0.1
    ! grep -qs 'vfabric: booted' "$state/probe.console" || { accelerator=kvm; break; }
    running "$state/probe.pid" >/dev/null || break
  done
  stop "$state/probe.pid"
  printf '%s %s\n' "$accelerator" "$key" >"$memo.$$" && mv -- "$memo.$$" "$memo"
}

# disk_words N: sets `root_words`, QEMU's words for the guest's root, and `kernel_words`. Its own disk is a copy that
# outlives a restart; QEMU begins again when the guest reboots, so that no message of the fabric is lost for good.
disk_words() {
  root_words=(-no-reboot -fsdev "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap"
    -device "virtio-9p-pci,fsdev=root,mount_tag=root")
  kernel_words=
  [ -n "$disk" ] || return 0
  [ -e "$(node_dir "$1")/disk" ] || cp --sparse=always -- "$disk" "$(node_dir "$1")/disk" || die 1 "cannot copy $disk for n$1"
  root_words=(-drive "file=$(qemu_quote "$(node_dir "$1")/disk"),format=raw,if=virtio,cache=unsafe")
  kernel_words=" vfabric.disk=1 net.ifnames=0 systemd.getty_auto=0 systemd.show_status=0"
}

# start_node N: starts the guest and returns at once; `wait_ready` fails when it does not boot. With room for one
# processor QEMU before 8.1 leaves out the guest's memory barriers, which its I/O thread needs too. A kick of a transmit
# queue can then be lost: one was seen, and the port sent nothing more. So there is room for two processors, and nr_cpus
# keeps the guest at one and at its TSC.
start_node() {
  local dir cpu=max index=0 share state_q devices=()
  dir=$(node_dir "$1")
  state_q=$(qemu_quote "$state")
  [ "$accelerator" = tcg ] || cpu=host
  mkdir -p -- "$dir/shared"
  disk_words "$1"
  rm -f -- "$dir"/{console.log,ready,faults,ssh} "$state/net/n.$1"
  printf '%s\n' "$kernel" >"$dir/kernel"
  for share in "${shares[@]}"; do
    devices+=(-fsdev "local,id=share$index,path=$(qemu_quote "$share"),security_model=none,readonly=on,multidevs=remap"
      -device "virtio-9p-pci,fsdev=share$index,mount_tag=share$index")
    index=$((index + 1))
  done
  spawn "$dir/qemu.pid" "$dir/qemu.log" qemu-system-x86_64 \
    -name "vfabric-n$1" -accel "$accelerator" -machine pc -cpu "$cpu" -smp 1,maxcpus=2 -m "$memory_mb" \
    -nodefaults -no-user-config -display none -serial "file:$dir/console.log" \
    -kernel "$(kernel_image)" -initrd "$state/boot/initramfs-$kernel" \
    -append "console=ttyS0 quiet nr_cpus=1 panic=-1 mitigations=off nowatchdog audit=0 apparmor=0 random.trust_cpu=on vfabric.node=$1 vfabric.nodes=$nodes vfabric.mtu=$mtu$kernel_words" \
    -netdev "$(network_backend "$1")" \
    -device "virtio-net-pci,netdev=fabric,addr=4,romfile=,host_mtu=$mtu,mac=52:54:00:b9:00:$(printf %02x "$1")" \
    -netdev "user,id=mgmt,ipv6=off,hostfwd=tcp:127.0.0.1:$(ssh_port "$1")-:22,hostfwd=tcp:127.0.0.1:$(metrics_port "$1")-:7471" \
    -device "virtio-net-pci,netdev=mgmt,addr=5,romfile=,mac=52:54:00:b9:01:$(printf %02x "$1")" \
    -device virtio-rng-pci \
    "${root_words[@]}" \
    -fsdev "local,id=modules,path=$(qemu_quote "$(kernel_dir)/lib/modules"),security_model=none,readonly=on" \
    -device virtio-9p-pci,fsdev=modules,mount_tag=modules \
    -fsdev "local,id=shared,path=$state_q/nodes/n$1/shared,security_model=none" \
    -device virtio-9p-pci,fsdev=shared,mount_tag=shared "${devices[@]}"
}

# boots N: prints how often the guest has booted since QEMU began.
boots() { cat -- "$(node_dir "$1")/console.log" 2>/dev/null | grep -c 'vfabric: ready' || true; }

# wait_ready N...: waits until all have booted, with one deadline for all. `boots_before` is how often they had.
boots_before=0
wait_ready() {
  local seconds=$kBootSeconds deadline node dir
  [ -z "$disk" ] || seconds=$kDiskBootSeconds
  deadline=$((SECONDS + seconds))
  for node in "$@"; do
    dir=$(node_dir "$node")
    until [ "$(boots "$node")" -gt "$boots_before" ]; do
      if ! running "$dir/qemu.pid" >/dev/null; then
        sleep 0.2
        [ -e "$dir/qemu.pid" ] && running "$dir/qemu.pid" >/dev/null && continue
        die 1 "n$node ended while booting ($(tail -qn 1 "$dir/qemu.log" | tr -d '\r')), see $dir/qemu.log and $dir/console.log: vfabric up again, or --port-base if a port is taken"
      fi
      ! grep -qs 'vfabric: boot failed' "$dir/console.log" ||
        die 1 "n$node failed to boot, see $dir/console.log"
      ((SECONDS < deadline)) ||
        die 1 "n$node did not boot in $seconds s, see $dir/console.log: try again on a quieter machine"
      sleep 0.1
    done
    touch "$dir/ready"
  done
}

# ssh_words N: sets `ssh_command`. One connection to each guest stays open, so that a command needs a channel
# and no handshake. Without that connection ssh makes its own, without a message.
ssh_words() {
  ssh_command=(ssh -F none -T -a -x -S "$(node_dir "$1")/ssh" -p "$(ssh_port "$1")" -i "$state/boot/key"
    -o HostKeyAlias=vfabric -o UserKnownHostsFile="$state/boot/known_hosts" -o GlobalKnownHostsFile=none
    -o StrictHostKeyChecking=yes -o IdentitiesOnly=yes -o BatchMode=yes -o LogLevel=ERROR
    -o ConnectTimeout=20)
}

# open_login N...: opens these standing connections.
open_login() {
  local deadline=$((SECONDS + kLoginSeconds)) node dir
  for node in "$@"; do
    dir=$(node_dir "$node")
    until [ -S "$dir/ssh" ]; do
      if ! running "$dir/ssh.pid" >/dev/null; then
        ssh_words "$node"
        spawn "$dir/ssh.pid" "$dir/ssh.log" "${ssh_command[@]}" -M -N root@127.0.0.1
      fi
      running "$dir/qemu.pid" >/dev/null || die 1 "n$node ended, see $dir/console.log"
      ((SECONDS < deadline)) || die 1 "no login to n$node in $kLoginSeconds s, see $dir/ssh.log"
      sleep 0.1
    done
  done
}

# quote WORD...: prints the words quoted for the guest's shell.
quote() {
  local word
  for word in "$@"; do
    printf " '%s'" "${word//\'/\'\\\'\'}"
  done
}

require_alive() {
  running "$(node_dir "$1")/qemu.pid" >/dev/null || die 4 "n$1 is dead: 'vfabric restart n$1' boots it again"
  [ -e "$(node_dir "$1")/ready" ] || die 4 "n$1 has not booted"
}

# guest_program NAME: prints its path, looked up on the host: the guest has the host's files, and its login
# shell, busybox, would run its own applet for `tc` or `ip`. A guest with a disk of its own has its own programs.
guest_program() {
  [[ -n $disk || $1 == */* ]] && printf '%s\n' "$1" && return
  (PATH=$kGuestPath && type -P -- "$1") || printf '%s\n' "$1"
}

# in_guest N COMMAND...: runs it with our stdin, stdout and stderr and returns its exit code, 128 + signal as
# in any shell. VFABRIC_EXEC marks the command and its children, so that an interrupt finds them.
in_guest() {
  local node=$1 token="$$.$RANDOM" program pid code
  program=$(guest_program "$2")
  shift 2
  ssh_words "$node"
  "${ssh_command[@]}" root@127.0.0.1 "cd /; export PATH=$kGuestPath VFABRIC_EXEC=$token;$(quote "$program" "$@"); exit \$?" <&0 &
  pid=$!
  # shellcheck disable=SC2064
  trap "interrupt_guest $node $token $pid 130" INT
  # shellcheck disable=SC2064
  trap "interrupt_guest $node $token $pid 143" TERM HUP
  wait "$pid"
  code=$?
  trap - INT TERM HUP
  return $code
}

interrupt_guest() {
  trap '' INT TERM HUP
  ssh_words "$1"
  timeout 10 "${ssh_command[@]}" root@127.0.0.1 \
    "for p in \$(grep -lE 'VFABRIC_EXEC=$2' /proc/[0-9]*/environ 2>/dev/null); do p=\${p#/proc/}; kill -TERM \${p%/environ}; done" \
    </dev/null >/dev/null 2>&1
  kill -TERM "$3" 2>/dev/null
  exit "$4"
}

cmd_exec() {
  local node detach=0 log='' code
  [ $# -ge 2 ] || die 2 "exec NODE [--detach [--log NAME]] COMMAND..."
  node=$(node_number "$1") || exit
  shift
  while [[ ${1:-} == --* ]]; do
    case $1 in
      --detach) detach=1 ;;
      --log) log=${2:?} && shift ;;
      --) shift && break ;;
      *) die 2 "exec knows --detach, --log NAME and --, not '$1'" ;;
    esac
    shift
  done
  [ $# -ge 1 ] || die 2 "exec n$node: no command"
  require_alive "$node"
  [ "$(node_state "$node")" != frozen ] || die 4 "n$node is frozen: 'vfabric fault n$node thaw' first"
  if ((detach)); then
    log=${log:-$(basename -- "$1")}
    [[ $log =~ ^[A-Za-z0-9._+-]+$ ]] || die 2 "--log takes a plain name, not '$log'"
    set -- /run/vfabric/bin/sh -c "log=\$1; shift; unset VFABRIC_EXEC
      /run/vfabric/busybox setsid \"\$@\" </dev/null >>/run/vfabric/shared/\$log.log 2>&1 & echo \$!" sh "$log" "$(guest_program "$1")" "${@:2}"
  fi
  in_guest "$node" "$@"
  code=$?
  if [ $code = 255 ] && ! running "$(node_dir "$node")/qemu.pid" >/dev/null; then
    die 4 "n$node died during the command, see $(node_dir "$node")/console.log"
  fi
  return $code
}

# push NODE SOURCE TARGET: copies one file with its mode, and renames it into place when complete.
cmd_push() {
  local node mode
  [ $# = 3 ] || die 2 "push NODE SOURCE TARGET"
  node=$(node_number "$1") || exit
  [ -f "$2" ] || die 2 "push: '$2' is not a file"
  require_alive "$node"
  mode=$(stat -c %a -- "$2")
  # shellcheck disable=SC2016
  in_guest "$node" sh -c 'cat >"$1.push" && chmod "$2" "$1.push" && mv "$1.push" "$1"' sh "$3" "$mode" <"$2"
}

# logs NODE [NAME]: prints the console, or the output of an `exec --detach`, also of a dead guest.
cmd_logs() {
  local node file
  [ $# -ge 1 ] || die 2 "logs NODE [NAME]"
  node=$(node_number "$1") || exit
  file=$(node_dir "$node")/console.log
  [ $# = 1 ] || file=$(node_dir "$node")/shared/$(basename -- "$2").log
  [ -f "$file" ] || die 2 "n$node has no log '${2:-console}' in $(dirname -- "$file")"
  cat -- "$file"
}

# reboot NODE: through the guest's own systemd, and waits until it is there again.
cmd_reboot() {
  local node
  [ $# = 1 ] || die 2 "reboot NODE"
  node=$(node_number "$1") || exit
  [ -n "$disk" ] || die 2 "reboot is for guests with a disk of their own; 'vfabric restart n$node' boots this one"
  require_alive "$node"
  lock_state
  guard nothing
  boots_before=$(boots "$node")
  # The guest may end before the connection does.
  in_guest "$node" systemctl reboot </dev/null >/dev/null 2>&1 &
  wait_ready "$node"
  kill $! 2>/dev/null
  stop "$(node_dir "$node")/ssh.pid"
  rm -f -- "$(node_dir "$node")/ssh"
  open_login "$node"
  unguard
}
