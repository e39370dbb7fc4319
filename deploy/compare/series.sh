#!/usr/bin/env bash
# One side of the comparison, inside a guest: launches perftest and railgauge-runner in turn.
#   series.sh server|client RUNNER PEER ROUNDS LAT_ITERATIONS BW_ITERATIONS
# Both sides go through the same order; the client retries until the server of the launch listens. The client
# prints "measure<TAB>program<TAB>figure" for each launch: half round trips in us, bandwidths in MiB/s.
set -euo pipefail
side=$1 runner=$2 peer=$3 rounds=$4 lat_iterations=$5 bw_iterations=$6
# `slow` has 20 % added cost. For bandwidth it completes group by group, so `base` does the same at next to no cost:
# the control then shows the added cost and nothing else.
programs=(theirs ours again slow base)
readonly kLaunchSeconds=60 kCost=0.2 kNoCost=0.000001 kDepth=128 kSignalEvery=100 kLatBytes=8 kBwBytes=65536

# The GID that the rule chooses: RoCE v2 with an IPv4 address.
gid_index() {
  local types=/sys/class/infiniband/rxe0/ports/1/gid_attrs/types gids=/sys/class/infiniband/rxe0/ports/1/gids index
  for index in 0 1 2 3 4 5 6 7; do
    [ "$(cat "$types/$index" 2>/dev/null)" = "RoCE v2" ] || continue
    case "$(cat "$gids/$index")" in 0000:0000:0000:0000:0000:ffff:*) echo "$index"; return ;; esac
  done
  echo "series.sh: rxe0 has no RoCE v2 GID with an IPv4 address" >&2
  return 1
}

perftest() {
  local measure=$1 index; shift
  index=$(gid_index)
  case $measure in
    lat) timeout $kLaunchSeconds ib_write_lat -d rxe0 -x "$index" -s $kLatBytes -n "$lat_iterations" -F "$@" ;;
    bw) timeout $kLaunchSeconds ib_write_bw -d rxe0 -x "$index" -s $kBwBytes -n "$bw_iterations" -t $kDepth -Q $kSignalEvery -F "$@" ;;
  esac
}

ours() {
  local measure=$1; shift
  case $measure in
    lat) timeout $kLaunchSeconds "$runner" verbs.write_lat -d rxe0 --inline-bytes 0 --time-cap 60s --sizes $kLatBytes --iterations "$lat_iterations" "$@" ;;
    bw) timeout $kLaunchSeconds "$runner" verbs.write_bw -d rxe0 --time-cap 60s --sizes $kBwBytes --iterations "$bw_iterations" \
      --depth $kDepth --signal-every $kSignalEvery "$@" ;;
  esac
}

serve() {
  case $2 in
    theirs | again) perftest "$1" ;;
    ours | slow | base) "$runner" "verbs.write_$1" -d rxe0 --listen 0.0.0.0 ;;
  esac
}

# The figure of a run that measured all its iterations; nothing otherwise.
our_figure() {
  local measure=$1 metric=$2 value=$3; shift 3
  ours "$measure" --connect "$peer" --format json "$@" |
    jq ".points[] | select(.metric == \"$metric\" and .stop_reason == \"iterations\") | $value"
}
figure_of() {
  local extra=()
  case $2 in slow) extra=(--added-cost-fraction "$kCost") ;; base) extra=(--added-cost-fraction "$kNoCost") ;; esac
  case $1-$2 in
    lat-theirs | lat-again) perftest lat "$peer" | awk -v size=$kLatBytes '$1 == size { print $5 }' ;;
    bw-theirs | bw-again) perftest bw "$peer" | awk -v size=$kBwBytes '$1 == size { print $4 }' ;;
    lat-*) our_figure lat latency_ns '.median / 1e3' "${extra[@]}" ;;
    bw-*) our_figure bw bandwidth_bytes_per_second '.mean / 1048576' "${extra[@]}" ;;
  esac
}

launch() {
  local figure
  if [ "$side" = server ]; then serve "$1" "$2" >/dev/null; return; fi
  for _ in $(seq 100); do
    figure=$(figure_of "$1" "$2" 2>/dev/null) && [ -n "$figure" ] && { printf '%s\t%s\t%s\n' "$1" "$2" "$figure"; return; }
    sleep 0.1
  done
  echo "series.sh: $1 $2 never reached its server" >&2
  return 1
}

for ((round = 0; round < rounds; round++)); do
  for measure in lat bw; do
    for ((place = 0; place < ${#programs[@]}; place++)); do  # another one begins each round
      program=${programs[(round + place) % ${#programs[@]}]}
      [ "$measure-$program" = lat-base ] || launch "$measure" "$program"
    done
  done
done
