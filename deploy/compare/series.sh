#!/usr/bin/env bash
# One side of the comparison, inside a guest: launches perftest's programs and ours in turn.
#   series.sh server|client RUNNER PEER ROUNDS MEASURE...      MEASURE: write_lat_8, atomic_bw_8; with "+" it carries the controls
# Both sides go through the same order; the client retries until the server of the launch listens. The client
# prints "measure<TAB>program<TAB>figure" for each launch: latencies in us, bandwidths in MiB/s.
set -euo pipefail
side=$1 runner=$2 peer=$3 rounds=$4
shift 4
measures=("$@")
# `slow` has 20 % added cost. For bandwidth it completes group by group, so `base` does the same at next to no cost:
# the control then shows the added cost and nothing else.
readonly kLaunchSeconds=60 kCost=0.2 kNoCost=0.000001 kDepth=128 kOurPort=7479
gid_index=$(cat /run/vfabric/gid_index)

# Of measure VERB_KIND_BYTES.
verb_of() { echo "${1%%_*}"; }
kind_of() { local rest=${1#*_}; echo "${rest%_*}"; }
bytes_of() { echo "${1##*_}"; }

# Launches differ by 9 to 20 %, whether they take 300 or 1000 round trips: more launches tell more than longer ones.
iterations_of() {
  local bytes=$2
  if [ "$1" = lat ]; then echo $((bytes > 4096 ? 100 : 400)); return; fi
  echo $((bytes > 65536 ? 24 : bytes > 4096 ? 200 : 1000))
}
# Completions: ours come every 8 MiB at least, so theirs do.
signal_every() { echo $((8388608 / $1 < 100 ? 8388608 / $1 : 100)); }

# The options that perftest and our alias both take, on one line.
options_of() {
  local verb kind bytes line
  verb=$(verb_of "$1") kind=$(kind_of "$1") bytes=$(bytes_of "$1")
  line="-d rxe0 -F -n $(iterations_of "$kind" "$bytes")"
  [ "$verb" = atomic ] || line+=" -s $bytes"
  case $kind-$verb in lat-write | lat-send) line+=" -I 0" ;; esac
  [ "$kind" = lat ] || line+=" -t $kDepth -Q $(signal_every "$bytes")"
  echo "$line"
}
program_of() { echo "ib_$(verb_of "$1")_$(kind_of "$1")"; }

theirs() {
  local options
  read -ra options <<<"$(options_of "$1")"
  timeout $kLaunchSeconds "$(program_of "$1")" "${options[@]}" -x "$gid_index" "${@:2}"
}
ours() {
  local options
  read -ra options <<<"$(options_of "$1")"
  timeout $kLaunchSeconds "$runner" "$(program_of "$1")" "${options[@]}" -p $kOurPort "${@:2}"
}
serve() {
  case $2 in
    theirs | again) theirs "$1" ;;
    *) timeout $kLaunchSeconds "$runner" "$(program_of "$1")" -d rxe0 -p $kOurPort ;;
  esac
}

# The figure of a run that measured all its iterations; nothing otherwise.
our_figure() {
  local metric=latency_ns value='.median / 1e3'
  [ "$(kind_of "$1")" = lat ] || metric=bandwidth_bytes_per_second value='.mean / 1048576'
  ours "$1" "$peer" --format json "${@:2}" |
    jq ".points[] | select(.metric == \"$metric\" and .stop_reason == \"iterations\") | $value"
}
# Latency's median. For bandwidth MiB/s have two decimals, which a few thousand messages of 8 B in a second do not
# reach: small ones by the message rate in millions, which has six.
their_figure() {
  theirs "$1" "$peer" | awk -v size="$(bytes_of "$1")" -v kind="$(kind_of "$1")" '$1 == size {
    if (kind == "lat") print $5
    else if (size < 1024) printf "%.9g\n", $5 * 1e6 * size / 1048576
    else print $4 }'
}
figure_of() {
  case $2 in
    theirs | again) their_figure "$1" ;;
    ours) our_figure "$1" ;;
    slow) our_figure "$1" --set added_cost_fraction=$kCost ;;
    base) our_figure "$1" --set added_cost_fraction=$kNoCost ;;
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

# The programs in an order drawn anew each time, so that none always follows the same one. Both sides draw from one
# seed: bash's RANDOM gives both the same sequence.
RANDOM=20261121
shuffled() {
  local i j held
  order=("$@")
  for ((i = ${#order[@]} - 1; i > 0; i--)); do
    j=$((RANDOM % (i + 1))) held=${order[i]}
    order[i]=${order[j]} order[j]=$held
  done
}

for ((round = 0; round < rounds; round++)); do
  for given in "${measures[@]}"; do
    measure=${given%+}
    programs=(theirs ours)
    [ "$measure" = "$given" ] || programs+=(again slow)
    [ "$measure" = "$given" ] || [ "$(kind_of "$measure")" = lat ] || programs+=(base)
    shuffled "${programs[@]}"  # the order must live in this shell: a subshell would draw the same numbers again
    for program in "${order[@]}"; do launch "$measure" "$program"; done
  done
done
