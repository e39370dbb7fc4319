# shellcheck shell=bash disable=SC2034,SC2154 # settings are shared with ../vfabric and its other parts
# State folder, messages, and processes. A pidfile names a process; its /proc entry proves that it belongs to us.

readonly kMaxNodes=32
readonly kMaxStatePath=70  # unix socket paths end at 107 bytes, ssh adds a suffix of 17
readonly kStopPolls=40     # of 50 ms, then SIGKILL

say() { printf 'vfabric: %s\n' "$*" >&2; }

# die CODE MESSAGE: one line; codes as everywhere in Railgauge (1 failed, 2 wrong use, 4 unreachable).
die() {
  local code=$1
  shift
  say "$*"
  exit "$code"
}

# The default folder depends on the user's environment alone, and the ports on the folder's name alone.
default_state_dir() { printf '%s/railgauge-vfabric-%s\n' "${XDG_RUNTIME_DIR:-/tmp}" "$UID"; }
cache_dir() { printf '%s/railgauge/vfabric\n' "${XDG_CACHE_HOME:-$HOME/.cache}"; }

# default_port_base DIR: prints the first of a fabric's 128 ports, below Linux's ephemeral range.
default_port_base() {
  local sum
  sum=$(printf '%s' "$1" | cksum)
  printf '%s\n' $((20000 + 128 * (${sum%% *} % 80)))
}

ssh_port() { printf '%s\n' $((port_base + $1)); }
metrics_port() { printf '%s\n' $((port_base + 64 + $1)); }
node_dir() { printf '%s/nodes/n%s\n' "$state" "$1"; }

# use_state DIR: sets `state` to the absolute path; refuses one too long for sockets, or another user's folder.
use_state() {
  state=$(realpath -m -- "$1")
  [ ${#state} -le $kMaxStatePath ] ||
    die 2 "$state is longer than $kMaxStatePath characters, which sockets do not allow: use a shorter --dir"
  [ ! -e "$state" ] || [ -O "$state" ] || die 2 "$state belongs to somebody else: use another --dir"
}

# load_fabric: reads the settings that `up` wrote, for every other command.
load_fabric() {
  [ -f "$state/fabric" ] || die 4 "no fabric in $state: start one with 'vfabric up -n 3'"
  # shellcheck source=/dev/null
  . "$state/fabric"
}

save_fabric() {
  declare -p nodes mtu network accelerator kernel port_base memory_mb disk shares |
    sed 's/^declare --/declare -g/; s/^declare -a/declare -ga/' >"$state/fabric"
}

# node_number NAME: prints 3 for n3; refuses a node that the fabric lacks.
node_number() {
  if ! [[ $1 =~ ^n([1-9][0-9]?)$ ]] || ((BASH_REMATCH[1] > nodes)); then
    die 2 "no node '$1' in this fabric: it has n1 to n$nodes"
  fi
  printf '%s\n' "${BASH_REMATCH[1]}"
}

# lock_state: allows one up, down or restart at a time. Processes started by us close the lock's descriptor.
lock_state() {
  until exec {lock_fd}>"$state.lock" && flock -w 30 "$lock_fd" && [ "$state.lock" -ef "/proc/$$/fd/$lock_fd" ]; do
    [ "$state.lock" -ef "/proc/$$/fd/$lock_fd" ] &&
      die 1 "$state is busy with another up or down: try again when it has ended"
    exec {lock_fd}>&-  # its holder removed it when done
  done
}

# spawn PIDFILE LOG COMMAND...: starts it in a session of its own. The child writes the pidfile before it becomes
# COMMAND, so a running process is always in the pidfile or in `jobs -p`.
spawn() {
  local pidfile=$1 log=$2
  shift 2
  (
    echo "$BASHPID" >"$pidfile"
    [ -z "${lock_fd:-}" ] || exec {lock_fd}>&-
    exec setsid "$@" </dev/null >>"$log" 2>&1
  ) &
}

# running PIDFILE: prints the pid when the process lives and its command line names our state folder, else fails.
running() {
  local pid
  { read -r pid <"$1"; } 2>/dev/null || return 1
  [[ $pid =~ ^[0-9]+$ ]] || return 1
  { tr '\0' '\n' <"/proc/$pid/cmdline"; } 2>/dev/null | grep -qF -- "$state/" || return 1
  printf '%s\n' "$pid"
}

# stop PIDFILE...: sends TERM, then KILL, and returns when all have ended. CONT wakes a frozen process so that it ends.
stop() {
  local pidfile pid polls left
  for pidfile in "$@"; do
    pid=$(running "$pidfile") && kill -TERM "$pid" 2>/dev/null && kill -CONT "$pid" 2>/dev/null
  done
  for ((polls = 0; polls < 2 * kStopPolls; ++polls)); do
    left=0
    for pidfile in "$@"; do
      pid=$(running "$pidfile") || continue
      left=1
      ((polls < kStopPolls)) || kill -KILL "$pid" 2>/dev/null
    done
    ((left)) || break
    sleep 0.05
  done
  rm -f -- "$@"
}

stop_everything() {
  local pidfiles=()
  shopt -s nullglob
  pidfiles=("$state"/nodes/*/ssh.pid "$state"/nodes/*/qemu.pid "$state"/probe.pid "$state"/net/*.pid)
  shopt -u nullglob
  stop "${pidfiles[@]}"
}

# await COMMAND...: runs it, but this shell handles a signal at once, not after the command's end.
await() {
  "$@" <&0 &
  wait $!
}
