#!/usr/bin/env bash
# Tests compare_cpu_cost.sh with stand-ins of our program and of the virtual fabric: rows, waived ways with the reason,
# failed launches, and hosts that are not idle. The figures are made up.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v jq >/dev/null || { echo "waived: no jq"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export WORK=$work
mkdir "$work/bin"
stand_in() { cat >"$1"; chmod +x "$1"; }
stand_in "$work/vfabric" <<'P'
#!/bin/bash
shift 2
echo "$1" >>"$WORK/fabric"
[ "$1" = exec ] || exit 0
shift 2
[ "$1" != --detach ] || { shift 3; "$@" >/dev/null 2>&1 & echo $!; exit 0; }
exec "$@"
P
stand_in "$work/bin/railgauge-runner" <<'P'
#!/bin/bash
case "$*" in
  *--version*) echo "railgauge-runner 0"; exit 0 ;;
  *--listen*) echo "$*" >>"$WORK/listened"; [ -z "${DEAD:-}" ] || exit 1; echo $$ >>"$WORK/listeners"; exec sleep 60 ;;
  *memory=cuda* | *memory=staged*) echo "waived: no GPU here" >&2; exit 5 ;;
esac
[ -z "${WAIVED:-}" ] || { echo "waived: no RDMA port here" >&2; exit 5; }
echo "$*" >>"$WORK/launched"
[ -z "${EMPTY:-}" ] || { echo '{"outcome":"passed"}'; exit 0; }
[ "${FAIL:-}" != "$1" ] || { echo "it went wrong" >&2; exit 4; }
rate=2000000000
[ "$1" = verbs.write_bw ] || rate=1000000000
cost="{\"metric\":\"host_cpu_ns_per_byte\",\"median\":0.25,\"facts\":{\"softirq_cpus\":\"0.100\",\"interrupt_cpus\":\"0.025\"}"
points=",$cost,\"meaning\":\"initiator\"},$cost,\"meaning\":\"target\"}" notes=""
[ -z "${BUSY:-}" ] || { points=""; notes="{\"text\":\"lo: no host_cpu_ns_per_byte of the target: 0.90 CPUs are busy\"}"; }
echo "{\"outcome\":\"passed\",\"notes\":[$notes],\"points\":[{\"metric\":\"bandwidth_bytes_per_second\",\"pair\":\"\",\"rate\":$rate}$points]}"
P
export RAILGAUGE_VFABRIC=$work/vfabric RAILGAUGE_COMPARE_WAIT_SECONDS=0
run() { code=0; deploy/compare_cpu_cost.sh --bin "$work/bin" --rounds 2 "$@" >"$work/out" 2>"$work/err" || code=$?; }
expect() { grep -qF -- "$1" "$work/out" || { echo "no '$1' in:"; cat "$work/out" "$work/err"; exit 1; }; }

run --markdown "$work/page.md"
[ "$code" = 0 ] || { echo "exit $code"; cat "$work/out" "$work/err"; exit 1; }
expect "| RDMA, GPU memory (GPUDirect) | polled | waived: no GPU here |"
expect "| RDMA, host memory | events | 2 (2 to 2) | 0.25 (0.25 to 0.25) | 0.25 (0.25 to 0.25) | 0.5 (0.5 to 0.5) | 0.5 (0.5 to 0.5) | 0.125 (0.125 to 0.125) |"
expect "| TCP | the socket's | 1 (1 to 1) |"
[ "$(grep -c 'poll=events' "$work/launched")" = 2 ] && [ "$(wc -l <"$work/launched")" = 6 ]
[ "$(tail -n 1 "$work/fabric")" = down ] || { echo "the guests are left"; exit 1; }
[ "$(wc -l <"$work/listened")" = 2 ] || { cat "$work/listened"; exit 1; }
grep -q 'launches of 3 s' "$work/page.md" && grep -q '| TCP |' "$work/page.md"
BUSY=1 run
[ "$code" = 3 ] || { echo "a busy host: exit $code"; exit 1; }
expect "0.90 CPUs are busy"
FAIL=net.tcp_bw run
[ "$code" = 1 ] || { echo "a failed launch: exit $code"; exit 1; }
expect "| TCP | the socket's | failed |"
run --rounds 0
[ "$code" = 2 ] || { echo "no rounds: exit $code"; exit 1; }
WAIVED=1 run
[ "$code" = 5 ] || { echo "nothing can run: exit $code"; cat "$work/out" "$work/err"; exit 1; }
expect "| TCP | the socket's | waived: no RDMA port here |"
expect "waived: no way can run here"
EMPTY=1 run
[ "$code" = 1 ] || { echo "a document without a figure: exit $code"; exit 1; }
expect "| TCP | the socket's | failed |"

# Another host: words of ssh, the RDMA port of both ends, and TCP's own interface at each.
rm "$work/listened" "$work/launched"
run --peer 127.0.0.1 --on-peer "sh -c" --device mlx5_0:1 --netdev eth0,eth1 --markdown "$work/one.md"
[ "$code" = 0 ] || { echo "a peer: exit $code"; cat "$work/out" "$work/err"; exit 1; }
sort "$work/listened" | diff - <(printf '%s\n' 'net.tcp_bw --set netdev=eth1 --listen 0.0.0.0:7482 --keep' 'verbs.write_bw -d mlx5_0:1 --listen 0.0.0.0:7481 --keep')
grep -q '^net.tcp_bw --set netdev=eth0 --deadline' "$work/launched" && grep -q '^verbs.write_bw -d mlx5_0:1 ' "$work/launched"
paste -sd ' ' "$work/one.md" | grep -q 'both ends on ONE host' || { echo "one host is not told: $(cat "$work/one.md")"; exit 1; }
# A process that has ended may be there until somebody asks for its exit code.
lives() { grep -qs '^State:[[:space:]]*[^ZX]' "/proc/$1/status"; }
while read -r one; do
  for ((i = 0; i < 50; ++i)); do if lives "$one"; then sleep 0.1; else break; fi; done
  ! lives "$one" || { echo "listener $one is left"; exit 1; }
done <"$work/listeners"
DEAD=1 RAILGAUGE_COMPARE_WAIT_SECONDS=4 run --peer 127.0.0.1 --on-peer "sh -c"
[ "$code" = 1 ] && grep -q 'a listener on the other end has ended' "$work/err" || { echo "no listener: exit $code"; cat "$work/err"; exit 1; }
run --peer 127.0.0.1 --on-peer true
[ "$code" = 2 ] || { echo "a command that runs nothing: exit $code"; exit 1; }
