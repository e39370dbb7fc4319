#!/usr/bin/env bash
# Prints one Markdown table of what a byte costs the CPUs of both hosts: RDMA from GPU memory (GPUDirect), RDMA staged
# through host memory, RDMA from host memory, and TCP, with completions polled and waited for. The ways take turns. A way
# that cannot run here has its row with the reason. The cost is that of all CPUs of a host, threads, softirqs and
# interrupts together, so the hosts must be idle otherwise.
# Exit 0 a row or more, 1 a way failed, 3 no cost because a host was busy, 5 waived (no way can run here, no jq, or no
# guests can be started).
#   deploy/compare_cpu_cost.sh [--rounds N] [--bytes SIZE] [--seconds S] [--bin DIR] [--markdown FILE]
#                              [--peer ADDRESS --on-peer COMMAND [--device DEV:PORT] [--netdev NAME[,PEERS]]]
# Without --peer between two guests of the virtual fabric, whose figures are no hardware figures.
# --peer      the other host, where the same folder of programs is; --on-peer "ssh HOST" runs a command there. Two ends
#             on one host (--on-peer "sh -c") try the script: each end's cost then has the other's in it, which is said
# --device    both ends' RDMA port; without it each end chooses
# --netdev    TCP's network interface here, and there where its name is another; without it that of the RDMA port
# --markdown  appends the table, with date and machine
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=5 bytes=64KiB seconds=3 bin=${RAILGAUGE_BUILD_DIR:-build/ci}/bin peer="" on_peer="" device="" netdev="" markdown=""
refuse() { echo "compare_cpu_cost.sh: $*" >&2; exit 2; }
while [ $# -gt 0 ]; do
  case "$1" in
    --rounds) rounds=${2:?} ;;
    --bytes) bytes=${2:?} ;;
    --seconds) seconds=${2:?} ;;
    --bin) bin=${2:?} ;;
    --peer) peer=${2:?} ;;
    --on-peer) on_peer=${2:?} ;;
    --device) device=${2:?} ;;
    --netdev) netdev=${2:?} ;;
    --markdown) markdown=$(realpath "${2:?}") ;;
    *) refuse "unknown option $1; allowed: --rounds, --bytes, --seconds, --bin, --peer, --on-peer, --device, --netdev, --markdown" ;;
  esac
  shift 2
done
[[ $rounds =~ ^[1-9][0-9]?$ ]] || refuse "--rounds $rounds: 1 to 99"
[[ $seconds =~ ^[1-9][0-9]?$ ]] || refuse "--seconds $seconds: 1 to 99"
[ -n "$peer" ] || [ -z "$on_peer$device$netdev" ] || refuse "--on-peer, --device and --netdev belong to a --peer"
[[ $netdev =~ ^([A-Za-z0-9_.@-]+(,[A-Za-z0-9_.@-]+)?)?$ ]] || refuse "--netdev $netdev: an interface, as eth0, or eth0,eth1 where the peer's is another"
[ -z "$peer" ] || [ -n "$on_peer" ] || refuse "--peer $peer: say how a command runs there, as --on-peer 'ssh HOST'"
bin=$(realpath "$bin")
[ -x "$bin/railgauge-runner" ] || refuse "no railgauge-runner in $bin; build it, or name another folder with --bin"
command -v jq >/dev/null || { echo "waived: jq is not here, which reads the programs' documents; install the package jq"; exit 5; }
state=$(mktemp -d)
vfabric=("${RAILGAUGE_VFABRIC:-deploy/vfabric/vfabric}" --dir "$state/fabric")
readonly kVerbsPort=7481 kTcpPort=7482
listeners=() fabric=0
finish() {
  for one in "${listeners[@]}"; do there kill "$one" 2>/dev/null || true; done
  [ "$fabric" = 0 ] || "${vfabric[@]}" down >/dev/null 2>&1 || true
  rm -rf "$state"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

where="two emulated guests with soft-RoCE: no hardware figures"
if [ -z "$peer" ]; then
  peer=192.0.2.2 fabric=1 device=rxe0
  here() { "${vfabric[@]}" exec n1 "$@" </dev/null; }
  there() { "${vfabric[@]}" exec n2 "$@" </dev/null; }
  start_there() { "${vfabric[@]}" exec n2 --detach --log listener "$@" </dev/null; }
  nice -n -10 "${vfabric[@]}" up -n 2 --share "$bin" 2> >(grep --line-buffered -v '^nice: ' >&2) >&2 ||
    { echo "waived: the virtual fabric did not come up, and no --peer is named"; exit 5; }
else
  where="two hosts, RDMA over ${device:-a port that each end chose}, TCP over ${netdev:-the port of RDMA}"
  here() { "$@" </dev/null; }
  # shellcheck disable=SC2086  # the command has words
  there() { $on_peer "$(printf '%q ' "$@")" </dev/null; }
  start_there() { there sh -c "$(printf '%q ' "$@") >/dev/null 2>&1 & echo \$!"; }
fi

# A host's own name of its boot: two ends of one host count each other's work.
boot() { "$1" cat /proc/sys/kernel/random/boot_id 2>/dev/null || true; }
if [ "$fabric" = 0 ]; then
  peers_boot=$(boot there)
  [ -n "$peers_boot" ] || refuse "--on-peer $on_peer: does not run a command; wanted words that take one more, as 'ssh HOST'"
  [ "$peers_boot" != "$(boot here)" ] || where="both ends on ONE host, so that each cost has the other end's in it, ${where#two hosts, }"
fi
endpoint=() own_netdev=() peers_netdev=()
[ -z "$device" ] || endpoint=(-d "$device")
if [ -n "$netdev" ]; then own_netdev=(--set "netdev=${netdev%,*}") peers_netdev=(--set "netdev=${netdev#*,}"); fi
# end KERNEL NETDEV-WORDS...: sets `ends` to the words of one end: with an interface of its own TCP needs no RDMA port.
ends=()
end() { if [ "$1" = net.tcp_bw ] && [ $# -gt 1 ]; then ends=("${@:2}"); else ends=("${endpoint[@]}"); fi; }
# One listener a kernel serves every launch; this side's parameters rule.
listen() {
  local id
  end "$1" "${peers_netdev[@]}"
  id=$(start_there "$bin/railgauge-runner" "$1" "${ends[@]}" --listen "0.0.0.0:$2" --keep) && [[ $id =~ ^[0-9]+$ ]] ||
    { echo "compare_cpu_cost.sh: $1: no listener started on the other end: ${id:-no process id}" >&2; exit 1; }
  listeners+=("$id")
}
listen verbs.write_bw "$kVerbsPort"
listen net.tcp_bw "$kTcpPort"
sleep "${RAILGAUGE_COMPARE_WAIT_SECONDS:-2}"  # until they listen
# A launch would wait for a listener that has ended.
for one in "${listeners[@]}"; do
  there kill -0 "$one" 2>/dev/null ||
    { echo "compare_cpu_cost.sh: a listener on the other end has ended; run there: $bin/railgauge-runner verbs.write_bw --listen 0.0.0.0:$kVerbsPort, and net.tcp_bw on $kTcpPort" >&2; exit 1; }
done

# way, completions, kernel, its parameters
ways=(
  "RDMA, GPU memory (GPUDirect)|polled|verbs.write_bw|memory=cuda"
  "RDMA, GPU memory (GPUDirect)|events|verbs.write_bw|memory=cuda poll=events"
  "RDMA, GPU memory staged through the host|polled|verbs.write_bw|memory=staged"
  "RDMA, host memory|polled|verbs.write_bw|memory=host"
  "RDMA, host memory|events|verbs.write_bw|memory=host poll=events"
  "TCP|the socket's|net.tcp_bw|"
)
# launch NUMBER: one launch of a way; adds what it found to its file, or the reason why not.
launch() {
  local way completions kernel words port code=0 set=() word
  IFS='|' read -r way completions kernel words <<<"${ways[$1]}"
  [ ! -e "$state/waived.$1" ] || return 0
  port=$kVerbsPort
  [ "$kernel" = verbs.write_bw ] || port=$kTcpPort
  for word in $words host_cpu=true "sizes=$bytes" "least_time=${seconds}s" "time_cap=$((seconds + 1))s" proof_time=200ms; do
    set+=(--set "$word")
  done
  end "$kernel" "${own_netdev[@]}"
  here timeout $((seconds + 100)) "$bin/railgauge-runner" "$kernel" "${ends[@]}" --deadline $((seconds + 90))s --connect "$peer:$port" --format json "${set[@]}" \
    >"$state/out" 2>"$state/errors" || code=$?
  case $code in
    0) ;;
    5) tail -n 1 "$state/errors" | sed 's/^.*waived: //' >"$state/waived.$1"; return 0 ;;
    *) echo "$way, $completions: exit $code: $(tail -n 1 "$state/errors")" | tee -a "$state/failed" >&2; return 0 ;;
  esac
  # Its own exit code 5 would be read as waived.
  jq -ce '{rate: [.points[]? | select(.metric == "bandwidth_bytes_per_second" and (.pair // "") == "") | .rate // empty][0],
    ends: [.points[]? | select(.metric == "host_cpu_ns_per_byte") | {key: .meaning, value: {
      ns: .median, low: .median_low, high: .median_high, softirq: (.facts.softirq_cpus | tonumber), irq: (.facts.interrupt_cpus | tonumber)}}] | from_entries,
    reasons: [.notes[]? | .text | select(test("no host_cpu_ns_per_byte"))]} | select(.rate != null)' "$state/out" >"$state/one" 2>"$state/errors" ||
    { echo "$way, $completions: a document without a bandwidth: $(tail -n 1 "$state/errors")" | tee -a "$state/failed" >&2; return 0; }
  cat "$state/one" >>"$state/found.$1"
  echo "$way, $completions: $(tail -n 1 "$state/found.$1")" >&2
}
for ((round = 0; round < rounds; ++round)); do
  # Each second round in the other direction, so that a drift of the machine meets no way alone.
  for ((i = 0; i < ${#ways[@]}; ++i)); do launch $((round % 2 ? ${#ways[@]} - 1 - i : i)); done
done

# The GPUs of this host, or nothing.
gpus() { { nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null || true; } | sort | uniq -c | sed -n 's/^ *\([0-9]*\) \(.*\), \(.*\)$/\1 x \2 with driver \3, /p'; }
{
  echo "| way | completions | GB/s | initiator, ns/B | target, ns/B | initiator's CPUs | target's CPUs | of it softirqs and interrupts (mean), initiator | target |"
  echo "|---|---|---:|---:|---:|---:|---:|---:|---:|"
  for ((i = 0; i < ${#ways[@]}; ++i)); do
    IFS='|' read -r way completions _ <<<"${ways[$i]}"
    if [ -s "$state/found.$i" ]; then
      echo "| $way | $completions | $(jq -rs -f deploy/compare/cpu_cost.jq "$state/found.$i") |"
    else
      echo "| $way | $completions | $([ -e "$state/waived.$i" ] && echo "waived: $(cat "$state/waived.$i")" || echo failed) | | | | | | |"
    fi
  done
} >"$state/table"
cat "$state/table"
echo
echo "$rounds launches of $seconds s each in turn, messages of $bytes: the middle one's figure (least to most of the launches)"
reasons=$(find "$state" -name 'found.*' -exec cat {} + | jq -r '.reasons[]' | sort | uniq -c)
[ -z "$reasons" ] || printf 'launches without a cost:\n%s\n' "$reasons"
if [ -n "$markdown" ]; then
  {
    printf '\n%s. Machine: %s, %s cores, %sLinux %s; %s. Programs: %s. %s launches of %s s each in turn, messages of %s.\n' \
      "$(date -u +%F)" "$(awk -F ': ' '/^model name/ { print $2; exit }' /proc/cpuinfo)" "$(nproc)" "$(gpus)" "$(uname -r)" "$where" \
      "$("$bin/railgauge-runner" --version | head -n 1)" "$rounds" "$seconds" "$bytes" | fold -s -w 98 | sed 's/ *$//'
    echo
    cat "$state/table"
  } >>"$markdown"
fi
[ ! -e "$state/failed" ] || exit 1
ls "$state"/found.* >/dev/null 2>&1 || { echo "waived: no way can run here"; exit 5; }
cat "$state"/found.* | jq -es 'any(.[]; .ends != {})' >/dev/null || exit 3
