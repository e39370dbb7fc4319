#!/usr/bin/env bash
# From nothing to measured links: packages, build, a virtual fabric of three nodes with real RDMA verbs (soft-RoCE), a
# controller, an agent on each node, the suite `quick`; then everything is taken down.
#   deploy/demo.sh            asks before sudo
#   deploy/demo.sh --upgrade  seven nodes and a verdict: n1 is upgraded to another kernel and the gate says what that
#                             cost, first as it is, then with 50 ms of delay injected. Wants an idle host: on a loaded
#                             one guests drift by more than that delay
#   deploy/demo.sh --yes      does not ask
#   deploy/demo.sh --keep     leaves it running and prints the addresses and how to end it
#   deploy/demo.sh --down     ends what --keep left
set -euo pipefail
cd "$(dirname "$0")/.."

. deploy/vfabric/lib/upgrades.sh
keep=0 yes=() nodes=3 upgrade=0
state=${RAILGAUGE_DEMO_DIR:-${XDG_RUNTIME_DIR:-/tmp}/railgauge-demo-$(id -u)}
bin=$PWD/build/release/bin
fabric=("$PWD/deploy/vfabric/vfabric" --dir "$state/fabric")
port=17443 metrics_port=17470

take_down() {
  "${fabric[@]}" down >/dev/null 2>&1 || true
  if [ -f "$state/controller.pid" ]; then
    local pid; pid=$(cat "$state/controller.pid")
    # Only what we started: the pid may be somebody else's by now.
    if grep -qs railgauge-controller "/proc/$pid/cmdline"; then
      kill -TERM "$pid" && timeout 15 tail --pid="$pid" -f /dev/null || kill -KILL "$pid" || true
    fi
  fi
  rm -rf "$state"
}

for argument in "$@"; do
  case "$argument" in
    --keep) keep=1 ;;
    --yes) yes=(--yes) ;;
    --upgrade) upgrade=1 nodes=$kUpgradeNodes ;;
    --down) take_down; echo "demo: down"; exit 0 ;;
    *) echo "demo.sh: unknown option $argument; allowed: --upgrade, --yes, --keep, --down" >&2; exit 2 ;;
  esac
done

[ ! -e "$state/controller.pid" ] || { echo "demo.sh: a demo is up in $state; end it with deploy/demo.sh --down" >&2; exit 2; }
rm -rf "$state"
(umask 077 && mkdir -p "$state")
suites_for_guests "$state/suites"
# An emulated guest may lack its processor for half a second, which is all that the kernels' default allows a message.
printf 'version: 1\nmetadata: {name: demo}\ndefaults: {qp_timeout: 18}\n' >"$state/site.yaml"
export RAILGAUGE_SITE_PROFILE=$state/site.yaml
current="" measured=0 log=$state/demo.log
finish() {
  local code=$?
  trap '' INT TERM
  [ -z "$current" ] || { echo " FAILED"; tail -n 15 "$log" | sed 's/^/    /'; cp "$log" "$PWD/build/demo.log" 2>/dev/null || true
    echo "    whole log: build/demo.log; try again: deploy/demo.sh"; }
  [ "$keep" = 1 ] && [ "$measured" = 1 ] || take_down
  exit "$code"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# step TITLE COMMAND...: one line, its output to the log.
step() {
  local from; from=$(date +%s); current=$1; shift
  printf '%-62s' "$current"
  "$@" >>"$log" 2>&1
  current=""; echo " $(($(date +%s) - from)) s"
}

missing_packages=$(deploy/deps.sh --missing || true)  # exit 1 says that there are any
missing=$(wc -w <<<"$missing_packages")
cat <<TEXT
Railgauge demo: $nodes virtual machines with real RDMA verbs (soft-RoCE), measured end to end.
It will install $missing Debian packages, build Railgauge below build/release (the first time; 28 min on 2 cores),
download one Debian kernel package for the guests (about 70 MB, kept in the cache), boot the guests without touching the
host's network or kernel, and take everything down again. In all $([ "$upgrade" = 1 ] && echo "20 to 30" || echo "2 to 10") minutes when it is built. State: $state
TEXT

if [ "$missing" -gt 0 ]; then
  tr '\n' ' ' <<<"$missing_packages"; echo
  if [ ${#yes[@]} = 0 ]; then
    [ -t 0 ] || { echo "demo.sh: nobody to ask on this terminal; say deploy/demo.sh --yes" >&2; exit 2; }
    read -r -p "Install these with apt-get (sudo unless you are root)? [Y/n] " answer
    case "$answer" in [nN]*) echo "demo.sh: nothing installed" >&2; exit 130 ;; esac
  fi
  [ "$(id -u)" = 0 ] || sudo -v  # its password is asked for here, not inside a logged step
  step "packages" deploy/deps.sh --yes
fi
# The share of the build's time, in percent, that had passed at each tenth of its steps; measured on 2 cores at v0.2.0.
kShareOfTime=(0 6 12 18 28 33 45 56 68 87 100)
# seconds_left DONE ALL ELAPSED: the time left, if the build takes the course of the measured one.
seconds_left() {
  local tenth=$(($1 * 10 / $2)) share
  [ "$tenth" -lt 10 ] || { echo 0; return; }
  share=$((kShareOfTime[tenth] * $2 + (kShareOfTime[tenth + 1] - kShareOfTime[tenth]) * ($1 * 10 % $2)))  # percent * steps
  echo $(($3 * (100 * $2 - share) / share))
}
# Prints how far the build is: "n of m, about T left", T once a twentieth is done. A terminal gets one line drawn anew,
# a log one line each tenth.
show_progress() {
  local line done_steps all elapsed left text tenth=-1
  while IFS= read -r line; do
    echo "$line" >>"$log"
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\ ([0-9]+) ]] || continue
    [[ $line != *globbed* ]] || continue  # ninja's look for new files, before it knows how many steps there are
    done_steps=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]} elapsed=${BASH_REMATCH[3]}
    text="build: $done_steps of $all"
    if [ $((done_steps * 20)) -ge "$all" ]; then
      left=$(seconds_left "$done_steps" "$all" "$elapsed")
      text+=$(printf ', about %d min %02d s left' $((left / 60)) $((left % 60)))
    fi
    if [ -t 1 ]; then
      printf '\r%-60s' "$text"
    elif [ $((done_steps * 10 / all)) != "$tenth" ]; then
      tenth=$((done_steps * 10 / all))
      echo "$text"
    fi
  done
  [ ! -t 1 ] || printf '\r%*s\r' 60 ''
}
build() {
  local from; from=$(date +%s); current=build
  cmake --preset release >>"$log" 2>&1 || return
  NINJA_STATUS='[%f/%t %e] ' cmake --build build/release --target railgauge railgauge-controller railgauge-agent railgauge-launch-shim railgauge-runner vfabric-switch 2>&1 | show_progress || return
  current=""; printf '%-62s %d s\n' build $(($(date +%s) - from))
}
certificates() {
  deploy/pki.sh ca "$state/pki" && deploy/pki.sh controller "$state/pki" localhost 127.0.0.1 10.0.2.2
  for node in $(seq "$nodes"); do deploy/pki.sh agent "$state/pki" "n$node" || return; done
}
tls_of() { printf -- '--tls-ca %s --tls-cert %s --tls-key %s' "$state/pki/ca.crt" "$state/pki/$1.crt" "$state/pki/$1.key"; }
controller() {
  # shellcheck disable=SC2046
  setsid "$bin/railgauge-controller" --listen "127.0.0.1:$port" $(tls_of controller) --socket "$state/controller.sock" \
    --database "$state/railgauge.db" --suites "$state/suites" --metrics-listen "127.0.0.1:$metrics_port" \
    >>"$state/controller.log" 2>&1 </dev/null &
  echo $! >"$state/controller.pid"
  for _ in $(seq 100); do
    "$bin/railgauge" version >/dev/null 2>&1 && return
    sleep 0.1
  done
  cat "$state/controller.log"
  return 1
}
agent() {
  # shellcheck disable=SC2046
  "${fabric[@]}" exec "$1" --detach --log agent "$bin/railgauge-agent" --controller "10.0.2.2:$port" $(tls_of "$1") \
    --name "$1" --state-dir /var/lib/railgauge --metrics-listen 0.0.0.0:7471
}
# all_have JQ: until every node is attached, its port active, and JQ holds for it.
all_have() {
  for _ in $(seq 300); do
    "$bin/railgauge" nodes -o json | jq -e --argjson nodes "$nodes" "[.nodes[] | select(.state == \"attached\" and
      any(.nics[]; .state == \"active\") and ($1))] | length == \$nodes" && return
    sleep 0.2
  done
  return 1
}
agents() {
  for node in $(seq "$nodes"); do agent "n$node" || return; done
  all_have true && return
  echo "not all of $nodes agents attached within 60 s"
  for node in $(seq "$nodes"); do "${fabric[@]}" logs "n$node" agent; done
  return 1
}
# n1_boots KERNEL
n1_boots() {
  reboot_into n1 "$1" "${fabric[@]}" && agent n1 && all_have ".name != \"n1\" or .stack_versions.linux_kernel == \"${1#linux-image-}\""
}
metrics_address() { "${fabric[@]}" status --format json | jq -r ".nodes[] | select(.name == \"$1\") | \"http://127.0.0.1:\(.metrics_port)/metrics\""; }

export RAILGAUGE_CONTROLLER=unix:$state/controller.sock
build
step "certificates: a CA, the controller, an agent a node" certificates
boot=()
if [ "$upgrade" = 1 ]; then
  # Where apt has one kernel only there is nothing to upgrade to; the demo then says so and ends with the suite's tables.
  if find_two_kernels; then boot=(--kernel "${kernels[0]}"); else upgrade=0; fi
fi
step "virtual fabric: $nodes guests boot, one small write is measured" "${fabric[@]}" up -n "$nodes" "${boot[@]}" --share "$PWD" --share "$state/pki"
step "controller on the host (gRPC with mutual TLS, unix socket)" controller
step "agents in the guests attach" agents

# show CODES WORD...: what a user would type, and what it prints; its exit code is to be one of CODES, a regular expression.
show() {
  local codes=$1 code=0
  shift
  echo; echo "\$ railgauge $*"
  "$bin/railgauge" "$@" || code=$?
  [[ $code =~ ^($codes)$ ]] || { echo "exit code $code, expected $codes" | tee -a "$log"; return 1; }
}
current="measuring"
show 0 nodes
outcome=0
quick=(run quick)
[ "$upgrade" = 0 ] || quick+=(--nodes 'n[1-3]')
show 0 "${quick[@]}" || outcome=1
measured=1 current=""
echo; echo "\$ curl the controller's metrics | grep _total"
curl -fsS "http://127.0.0.1:$metrics_port/metrics" | grep -E '^railgauge_(runs|tasks|records)[a-z_]*_total' || true
echo; echo "\$ curl n1's metrics | grep railgauge_link"
curl -fsS "$(metrics_address n1)" | grep -E '^railgauge_link' | head -6 || true
# A pass, or inconclusive with what would settle it; then regressed.
upgrade_and_judge() {
  local new=${kernels[1]}
  local gate=(upgrades gate --nodes n1 --expect "linux_kernel=${new#linux-image-}" --wait-nodes 20min --time-limit 40min --on-inconclusive fail)
  show '0|1' upgrades prepare --nodes n1 --suite upgrade_guests || return
  echo; step "n1 reboots into $new" n1_boots "$new"
  show '0|3' "${gate[@]}" || return
  echo; step "the same upgrade with a fault: $kUpgradeDelay of delay on what n1 sends" "${fabric[@]}" fault n1 delay "$kUpgradeDelay"
  show 1 "${gate[@]}"
}
if [ "$upgrade" = 1 ]; then
  current="upgrade"
  upgrade_and_judge || outcome=1
  current=""
fi
echo
echo "These guests run soft-RoCE in emulation: the path is real from the CLI to the verbs and back, the figures are no hardware figures."
if [ "$keep" = 1 ]; then
  cat <<TEXT
Left running. Try:
  export PATH=$bin:\$PATH RAILGAUGE_CONTROLLER=$RAILGAUGE_CONTROLLER
  railgauge results -o json | jq .
  deploy/vfabric/vfabric --dir $state/fabric fault n2 delay 5ms && railgauge run quick
controller  grpc 127.0.0.1:$port (mutual TLS, certificates in $state/pki), metrics http://127.0.0.1:$metrics_port/metrics
TEXT
  for node in $(seq "$nodes"); do echo "agent n$node   metrics $(metrics_address "n$node")"; done
  echo "End it with deploy/demo.sh --down"
fi
exit "$outcome"
