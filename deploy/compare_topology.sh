#!/usr/bin/env bash
# Compares `railgauge topo` with `nvidia-smi topo -m` on this machine, cell by cell, and prints the time of reading the
# node and of preflight, and the agent's peak memory with NVML. A controller and an agent run for this in a temporary
# folder, on a unix socket. Nothing is installed, and work on the GPUs is left alone but for --probe's small
# registrations.
# Exit 0 when every cell agrees; 1 one differs or is missing on a side, or with --limits a limit is passed; 2 wrong
# use; 4 a program failed or gave no matrix; 5 waived (no nvidia-smi, no GPU).
#   deploy/compare_topology.sh [--bin FOLDER] [--limits] [--ours FILE --theirs FILE]
# --bin     folder of railgauge, -agent, -controller, -runner (default: beside this script in a bundle, else build/release/bin)
# --limits  exit 1 unless inventory < 300 ms, preflight < 2 s, with the probe < 10 s, and the agent < 60 MB
# --ours, --theirs  compare saved output of the two programs, and run nothing
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin="" ours="" theirs="" limits=0
while [ $# -gt 0 ]; do
  case "$1" in
    --bin) bin=${2:?compare_topology.sh: --bin needs a folder}; shift ;;
    --ours) ours=${2:?compare_topology.sh: --ours needs a file}; shift ;;
    --theirs) theirs=${2:?compare_topology.sh: --theirs needs a file}; shift ;;
    --limits) limits=1 ;;
    *) echo "compare_topology.sh: unknown option $1; allowed: --bin, --limits, --ours, --theirs" >&2; exit 2 ;;
  esac
  shift
done
[ -n "$ours" ] && [ -n "$theirs" ] || [ -z "$ours$theirs" ] || { echo "compare_topology.sh: --ours and --theirs go together" >&2; exit 2; }
export LC_ALL=C
readonly kNode=here kWaitSeconds=60  # a GPU machine needs some seconds in all
work=$(mktemp -d)
pids=()
finish() {
  for pid in "${pids[@]}"; do kill -KILL "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT
waive() { echo "waived: $*"; exit 5; }
die() { echo "compare_topology.sh: $*" >&2; exit 4; }

# Prints a matrix as lines "DEVICE DEVICE WORD", with our device names; nothing when the text has no matrix. The device
# columns end where those of processors begin (ours leaves out an empty one). A NIC's column is its name, or a number
# that the legend explains.
cells_of() {
  sed 's/\x1b\[[0-9;]*m//g' "$1" | awk -v last="$2" -v first="$3" '
    function name(word) { if (word in legend) return legend[word]; if (word ~ /^GPU[0-9]+$/) return tolower(word); return word }
    !n { start = $1 ~ first ? 2 : 1
         for (i = start; i <= NF && $i !~ last; i++) device[++n] = $i
         if (i > NF || n == 0) n = 0
         next }
    $1 ~ /^NIC[0-9]+:$/ { legend[substr($1, 1, length($1) - 1)] = $2; next }
    NF > n && ($1 in row) == 0 { for (i = 1; i <= n; i++) if (device[i] == $1) row[$1] = $0 }
    END {
      for (i = 1; i <= n; i++) {
        if (!(device[i] in row)) continue
        split(row[device[i]], cell)
        for (j = 1; j <= n; j++) if (j != i) print name(device[i]), name(device[j]), cell[j + 1]
      }
    }' | sort
}

# run_ours: starts a controller and an agent, waits until both answer, and saves our matrix.
run_ours() {
  for bin in ${bin:+"$bin"} "$here/bin" "$here/../build/release/bin"; do [ ! -x "$bin/railgauge" ] || break; done
  for program in railgauge railgauge-agent railgauge-controller railgauge-launch-shim railgauge-runner; do
    [ -x "$bin/$program" ] || { echo "compare_topology.sh: no $program in $bin; name the folder with --bin" >&2; exit 2; }
  done
  export RAILGAUGE_CONTROLLER=unix:$work/socket
  "$bin/railgauge-controller" --socket "$work/socket" --database "$work/db" --metrics-listen none >"$work/controller.log" 2>&1 &
  pids+=($!)
  wait_until "the controller answers" "$work/controller.log" "$bin/railgauge" version
  "$bin/railgauge-agent" --name $kNode --state-dir "$work/state" --metrics-listen none >"$work/agent.log" 2>&1 &
  pids+=($!)
  wait_until "the agent attaches" "$work/agent.log" attached
  wait_until "railgauge topo" "$work/err" tells_topology
  ours=$work/ours
}
tells_topology() { "$bin/railgauge" topo $kNode >"$work/ours" 2>"$work/err"; }
attached() { "$bin/railgauge" nodes | grep -q " attached "; }
wait_until() {
  local what=$1 log=$2; shift 2
  local until=$(($(date +%s) + kWaitSeconds))
  while [ "$(date +%s)" -lt $until ]; do "$@" >/dev/null 2>&1 && return; sleep 0.1; done
  die "waited $kWaitSeconds s in vain: $what: $(tail -n 1 "$log")"
}
# print_limit NAME FIGURE UNIT LIMIT: prints a line, and sets `past` unless 0 < FIGURE < LIMIT; `past` counts with
# --limits alone.
past=0
print_limit() {
  local word
  word=$(awk -v have="$2" -v most="$4" 'BEGIN { print (have + 0 > 0 && have + 0 < most + 0) ? "below" : "NOT below" }')
  echo "$1: $2 $3, $word the limit of $4"
  [ "$word" = below ] || past=1
}
# The exit code of preflight is ignored: it reports the state of the node, not of the request.
asks_preflight() {
  timeout $kWaitSeconds "$bin/railgauge" preflight $kNode "$@" -o json >"$work/preflight.json" 2>"$work/err" || true
  tr ',{' '\n\n' <"$work/preflight.json" | sed -n 's/^ *"seconds": *\([0-9.e+-]*\).*/\1/p' >"$work/seconds"
  [ -s "$work/seconds" ]
}
preflight_of() { wait_until "railgauge preflight $*" "$work/err" asks_preflight "$@" && head -n 1 "$work/seconds"; }
measure() {
  local agent=${pids[1]} plain probed bytes checks reading
  reading=$(timeout $kWaitSeconds "$bin/railgauge-agent" --inventory 2>"$work/err" | sed -n 's/^all took \([0-9.]*\) ms$/\1/p')
  [ -n "$reading" ] || die "railgauge-agent --inventory: $(tail -n 1 "$work/err")"
  plain=$(preflight_of)
  checks=$({ grep -o '"id": *"[a-z0-9_]*"' "$work/preflight.json" || true; } | sort -u | wc -l)
  probed=$(preflight_of --probe)
  bytes=$(awk '$1 == "VmHWM:" { print $2 * 1024 }' "/proc/$agent/status")
  print_limit "reading the node's inventory" "$reading" ms 300
  print_limit "preflight, $checks checks" "$plain" s 2
  print_limit "preflight with the probe" "$probed" s 10
  if grep -q libnvidia-ml "/proc/$agent/maps"; then print_limit "the agent's most resident memory (VmHWM), with NVML" "$bytes" bytes 60000000
  else print_limit "the agent's most resident memory (VmHWM), NVML not loaded" "$bytes" bytes 25000000; fi
}

if [ -z "$ours" ]; then
  command -v nvidia-smi >/dev/null || waive "nvidia-smi is not here"
  timeout $kWaitSeconds nvidia-smi topo -m >"$work/theirs" 2>"$work/err" || waive "nvidia-smi topo -m: $(cat "$work/theirs" "$work/err" | tail -n 1)"
  theirs=$work/theirs
  run_ours
  measure
fi
cells_of "$ours" '^(CPUS|NUMA|RAIL|NEAREST)$' . >"$work/our_cells"
cells_of "$theirs" '^CPU$' '^nothing$' >"$work/their_cells"
if [ ! -s "$work/their_cells" ] && grep -q '^GPU0.* X ' "$theirs"; then
  [ $limits = 0 ] || [ $past = 0 ] || exit 1
  waive "nvidia-smi topo -m shows one device: there is no distance"
fi
[ -s "$work/our_cells" ] || die "railgauge topo: no matrix: $(tail -n 1 "$ours")"
[ -s "$work/their_cells" ] || die "nvidia-smi topo -m: no matrix of two devices: $(tail -n 1 "$theirs")"
code=0
awk '
  FNR == NR { ours[$1 " " $2] = $3; next }
  { pair = $1 " " $2; n++
    if (!(pair in ours)) { print pair ": nvidia-smi " $3 ", railgauge has no such pair"; wrong++ }
    else if (ours[pair] != $3) { print pair ": nvidia-smi " $3 ", railgauge " ours[pair]; wrong++ }
    seen[pair] = 1 }
  END {
    for (pair in ours) if (!(pair in seen)) { print pair ": railgauge " ours[pair] ", nvidia-smi has no such pair"; wrong++ }
    print n " cells of nvidia-smi, " wrong + 0 " differ or lack on a side"
    exit wrong > 0
  }' "$work/our_cells" "$work/their_cells" || code=$?
[ $limits = 0 ] || [ $past = 0 ] || code=1
exit $code
