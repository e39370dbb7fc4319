#!/usr/bin/env bash
# One side of the comparison, inside a guest: launches perftest's programs and ours in turn.
#   series.sh server|client RUNNER PEER ROUNDS TURN MEASURE...  MEASURE: write_lat_8, atomic_bw_8; with "+" it carries the
# controls, with "=" both programs also run with their data unchecked or checked in the timed loop. RAILGAUGE_PERFTEST is
# a folder with perftest's programs in place of the installed ones, RAILGAUGE_SERIES_CALLS another number of messages,
# RAILGAUGE_SERIES_OURS and RAILGAUGE_SERIES_THEIRS more options of our clients and of perftest's programs.
# Both sides launch in the same order. The server writes the number of the last launch whose server listens into the
# file TURN, which the client reads: a perftest client that connects too early loses a second. The client prints
# "measure<TAB>program<TAB>figure" for each launch: latency in us, bandwidth in MiB/s, bandwidth of messages below 1 KiB
# in millions of messages a second; - where the launch failed.
# A process costs a guest 50 to 300 ms, so nothing but the two programs is started between the launches.
set -euo pipefail
side=$1 peer=$3 rounds=$4 turn=$5
# perftest's programs are read from the guest's cache, so ours are too: a shared folder would slow each start.
cp "$2" /run/railgauge-runner
runner=/run/railgauge-runner
if [ -n "${RAILGAUGE_PERFTEST:-}" ]; then
  mkdir -p /run/railgauge-perftest
  cp "$RAILGAUGE_PERFTEST"/ib_* /run/railgauge-perftest/
  PATH=/run/railgauge-perftest:$PATH
fi
shift 5
measures=("$@")
# `slow` has 20 % added cost. For bandwidth it completes group by group, so `base` does the same at next to no cost:
# the control then shows the added cost and nothing else.
readonly kLaunchSeconds=60 kCost=0.2 kNoCost=0.000001 kOurPort=7479 kTheirPort=18515
readonly kOutput=/run/railgauge-series.txt
read -ra our_words <<<"${RAILGAUGE_SERIES_OURS:-}"
read -ra their_words <<<"${RAILGAUGE_SERIES_THEIRS:-}"
gid_index=$(cat /run/vfabric/gid_index)

# For each measure VERB_KIND_BYTES: the program's name, the options that perftest and our alias both take, and the column
# of the figure in the table that both print. Latency: the median. Bandwidth: MiB/s, which have two decimals. Small
# messages: the message rate, which has six, because a few thousand messages of 8 B a second do not reach two decimals.
declare -A program options bytes iterations column
# Launches differ by 9 to 20 %, whether they take 400 or 1600 round trips: more launches help more than longer ones. With
# small messages sent in a row, pairs of launches differ by 28 % (atomics) and 48 % (writes) with 1000 messages, by 13 %
# and 8 % with 4000.
# The cost of a launch's start is not the same for both: with 4000 writes of 4 KiB ours took 0.93 and 0.94 of
# perftest's time (23 and 16 pairs), with 16000 0.99 (27); so launches last 3 s or more where a message takes long.
describe() {
  local measure=$1 verb kind size count depth
  IFS=_ read -r verb kind size <<<"$measure"
  if [ "$kind" = lat ]; then count=400; else count=$((size > 65536 ? 192 : size > 4096 ? 1280 : 16000)); fi
  count=${RAILGAUGE_SERIES_CALLS:-$count}
  depth=$((size > 65536 ? 16 : 128))  # twice as many messages at least, so that the queue is refilled
  program[$measure]=ib_${verb}_$kind bytes[$measure]=$size iterations[$measure]=$count
  column[$measure]=4
  [ "$kind" = bw ] && [ "$size" -ge 1024 ] || column[$measure]=5
  options[$measure]="-d rxe0 -F -n $count"
  [ "$verb" = atomic ] || options[$measure]+=" -s $size"
  case $kind-$verb in lat-write | lat-send) options[$measure]+=" -I 0" ;; esac
  # -Q gives perftest the completions of ours: one every 8 MiB at least.
  [ "$kind" = lat ] || options[$measure]+=" -t $depth -Q $((8388608 / size < 100 ? 8388608 / size : 100))"
}
for given in "${measures[@]}"; do describe "${given%[+=]}"; done

is_theirs() { [ "$1" = theirs ] || [ "$1" = again ] || [ "$1" = validated ]; }

# start MEASURE PROGRAM [PEER]: runs this side's program, with its output in kOutput.
start() {
  local words command
  read -ra words <<<"${options[$1]}"
  if is_theirs "$2"; then
    command=("${program[$1]}" "${words[@]}" -x "$gid_index" "${their_words[@]}")
    [ "$2" != validated ] || command+=(--data_validation)
  elif [ "$side" = server ]; then
    command=("$runner" "${program[$1]}" -d rxe0 -p "$kOurPort")
  else
    command=("$runner" "${program[$1]}" "${words[@]}" -p "$kOurPort" "${our_words[@]}")
    case $2 in
      slow) command+=(--set "added_cost_fraction=$kCost") ;;
      unproved) command+=(--set verify=false) ;;
      base) command+=(--set "added_cost_fraction=$kNoCost") ;;
    esac
  fi
  "${command[@]}" "${@:3}" >$kOutput 2>&1
}

# find_figure MEASURE: sets `figure` to the last run's figure; fails unless that run measured all its iterations.
figure=""
find_figure() {
  local line words
  mapfile -t lines <$kOutput
  for line in "${lines[@]}"; do
    read -ra words <<<"$line"
    if [ "${words[0]:-}" = "${bytes[$1]}" ] && [ "${words[1]:-}" = "${iterations[$1]}" ]; then
      figure=${words[${column[$1]} - 1]}
      return
    fi
  done
  return 1
}

# pipe NAME: opens an unnamed pipe and sets NAME to its descriptor.
idle="" alive=""
pipe() {
  local path
  path=$(mktemp -u)
  mkfifo "$path"
  eval "exec {$1}<>\"\$path\""
  rm -f "$path"
}
pipe idle
rest() { read -r -t 0.05 -u "$idle" || true; }

# One watchdog for all launches: a launch that takes too long is ended, and the series continues.
pipe alive
watch() {
  local said=on
  while [ "$said" != end ]; do
    read -r -t $kLaunchSeconds -u "$alive" said && continue
    echo "series.sh: a launch took more than $kLaunchSeconds s" >&2
    pkill -f 'ib_(write|read|send|atomic)_(lat|bw) ' || true
  done
}
watch &
trap 'echo end >&"$alive"' EXIT

is_listening() {
  local hex line lines
  printf -v hex ':%04X' "$1"
  mapfile -t lines </proc/net/tcp
  mapfile -t -O ${#lines[@]} lines </proc/net/tcp6
  for line in "${lines[@]}"; do [[ $line != *"$hex "*" 0A "* ]] || return 0; done
  return 1
}

# said_of_data: prints what perftest said of the data of the last launch.
said_of_data() {
  local line lines said="VALIDATION: said nothing"
  mapfile -t lines <$kOutput
  for line in "${lines[@]}"; do [[ $line != *VALIDATION:* ]] || said=$line; done
  printf '%s\n' "$said"
}

number=0
serve() {
  local server
  start "$1" "$2" &
  server=$!
  # Our client waits for its server by itself; perftest's does not.
  if is_theirs "$2"; then
    until is_listening $kTheirPort || [ ! -d "/proc/$server" ]; do rest; done
    echo "$number" >"$turn"
  fi
  wait "$server" || echo "series.sh: launch $number, $1 $2: the server ended with an error" >&2
  # The receiver says what it found; of reads that is the other end.
  [ "$2" != validated ] || said_of_data
}
ask() {
  local said=0
  if is_theirs "$2"; then
    until { read -r said <"$turn"; } 2>/dev/null && [ "$said" -ge "$number" ]; do rest; done
  fi
  if start "$1" "$2" "$peer" && find_figure "$1"; then
    printf '%s\t%s\t%s\n' "$1" "$2" "$figure"
  else
    echo "series.sh: launch $number, $1 $2, gave no figure: $(tail -n 2 $kOutput)" >&2
    printf '%s\t%s\t-\n' "$1" "$2"  # perftest's client fails by itself now and then; the round is left out
  fi
}
launch() {
  number=$((number + 1))
  echo on >&"$alive"
  if [ "$side" = server ]; then serve "$1" "$2"; else ask "$1" "$2"; fi
}

# Sets `order` to the programs in an order drawn anew at each call, so that none always follows the same one. Both sides
# draw from one seed, with which bash's RANDOM gives both the same sequence.
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
    measure=${given%[+=]}
    programs=(theirs ours)
    [[ $given != *= ]] || programs+=(again validated unproved)
    [[ $given != *+ ]] || programs+=(again slow)
    [[ $given != *+ ]] || [[ $measure == *_lat_* ]] || programs+=(base)
    shuffled "${programs[@]}"  # the order must live in this shell: a subshell would draw the same numbers again
    for each in "${order[@]}"; do launch "$measure" "$each"; done
  done
done
