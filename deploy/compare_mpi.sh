#!/usr/bin/env bash
# Compares railgauge-runner's osu_* names with OSU's own programs, which it builds from OSU's source for each MPI. Both
# sides have one launcher, binding, sizes, iterations, warm-up and window, and take turns. A row has the ratio of the
# times of the launches with its 95 % interval and says `within 5 %`, or the interval. Two controls of each row: OSU's
# program against itself, and its figures with 20 % added against it. A row whose control fails is invalid and
# is named so in the Markdown table. A measure with fewer than six whole rounds has no row, and is named below the table.
# Exit 0 passed, 1 failed, 3 too noisy for a statement or a row is lacking, 4 invalid, 5 waived (no source named, no MPI
# in this build).
#   deploy/compare_mpi.sh --osu FOLDER [--fabric] [--mpi openmpi,mpich] [--ranks N,...] [--layer LAYER]
#                         [--transports LIST] [--devices LIST] [--rounds N] [--calls N] [--only PROGRAM:BYTES,...]
#                         [--bin DIR] [--built DIR] [--keep FILE] [--markdown FILE]
#   deploy/compare_mpi.sh --from FILE [--bin DIR] [--markdown FILE]
# --osu       OSU micro-benchmarks' source, the folder with its `configure`
# --mpi       one MPI or both, separated by commas (default: openmpi); one that this build lacks is left out
# --ranks     numbers of ranks (default 2); a program of two ranks runs with two, once
# --keep      appends every launch at once: MPI, ranks and measure, program, figure; a line with # has date and machine
# --from      launches nothing: the table of a kept FILE's whole rounds
# --fabric    between two guests of the virtual fabric; their launcher uses deploy/compare/rsh_by_host.sh in place of
#             ssh, for this comparison alone. Without it: ranks on this host
# --only      measures: PROGRAM:BYTES; PROGRAM:BYTES:overall is a non-blocking collective with the computation beside it.
#             osu_bw_fan_in and _out need --fabric, neighbourhoods more than two ranks: OSU's programs refuse the rest
# --calls     iterations of every program; a few are over before the scheduler of a busy machine comes
# --built     where OSU's programs are built, and found when built already, in a folder osu-MPI each (default: beside
#             --bin)
# --markdown  appends the table as Markdown, with date and machine
# --layer, --transports, --devices: as the kernels' parameters layer, transports and hca_list, for both sides through
# the MPI's own variables.
set -euo pipefail
cd "$(dirname "$0")/.."
fabric=0 mpis=openmpi all_ranks=2 from="" layer=auto transports="" devices="" rounds=12 bin=${RAILGAUGE_BUILD_DIR:-build/ci}/bin keep=""
osu="" built_in="" markdown="" calls=""
only=osu_latency:8,osu_latency:65536,osu_bw:65536,osu_bibw:65536,osu_mbw_mr:8,osu_put_latency:8,osu_get_latency:8,osu_put_bw:65536
only+=,osu_allreduce:8,osu_allreduce:65536,osu_alltoall:4096,osu_bcast:4096,osu_allgather:4096,osu_reduce:4096,osu_reduce_scatter:4096,osu_barrier:0
refuse() { echo "compare_mpi.sh: $*" >&2; exit 2; }
waive() { echo "waived: $*"; exit 5; }
while [ $# -gt 0 ]; do
  case "$1" in
    --fabric) fabric=1; shift; continue ;;
    --osu) osu=${2:?} ;;
    --mpi) mpis=${2:?} ;;
    --ranks) all_ranks=${2:?} ;;
    --layer) layer=${2:?} ;;
    --transports) transports=${2:?} ;;
    --devices) devices=${2:?} ;;
    --rounds) rounds=${2:?} ;;
    --calls) calls=${2:?} ;;
    --only) only=${2:?} ;;
    --bin) bin=${2:?} ;;
    --built) built_in=${2:?} ;;
    --keep) keep=$(realpath "${2:?}") ;;
    --from) from=$(realpath "${2:?}") ;;
    --markdown) markdown=$(realpath "${2:?}") ;;
    *) refuse "unknown option $1; allowed: --osu, --fabric, --mpi, --ranks, --layer, --transports, --devices, --rounds, --calls, --only, --bin, --built, --keep, --from, --markdown" ;;
  esac
  shift 2
done
[[ $mpis =~ ^(openmpi|mpich)(,(openmpi|mpich))?$ ]] || refuse "--mpi $mpis; allowed: openmpi, mpich"
for ranks in ${all_ranks//,/ }; do
  [[ $ranks =~ ^[1-9][0-9]{0,3}$ ]] && [ $((ranks % 2)) = 0 ] || refuse "--ranks $ranks: an even number, for osu_mbw_mr's pairs"
  [ "$fabric" = 0 ] || [ "$ranks" = 2 ] || refuse "--ranks $ranks: two on the virtual fabric, one a guest"
done
[[ $rounds =~ ^[1-9][0-9]*$ ]] && [ "$rounds" -ge 6 ] || refuse "--rounds $rounds: 6 or more, or there is no 95 % interval"
[[ $calls =~ ^([1-9][0-9]{0,8})?$ ]] || refuse "--calls $calls: a number of iterations"
[ -z "$from" ] || [ -z "$keep" ] || refuse "--from $from: launches nothing, so --keep has nothing to write"
[ -z "$from" ] || [ -r "$from" ] || refuse "--from $from: cannot be read"
[ "$layer" != auto ] || [ -z "$transports$devices" ] || [[ $mpis == mpich ]] || refuse "name the --layer whose transports and devices these are"
[[ $layer =~ ^(auto|ucx|ob1)$ ]] && { [ "$layer" = auto ] || [ "$mpis" = openmpi ]; } ||
  refuse "--layer $layer is none of $mpis; allowed: auto$([[ $mpis == *mpich* ]] || echo ", ucx, ob1")"
read -ra measures <<<"${only//,/ }"
blocks="allgatherv?|alltoall[vw]?|gatherv?|scatterv?|allreduce|barrier|bcast|reduce|reduce_scatter|reduce_scatter_block"
known="latency|latency_mt|bw|bibw|mbw_mr|multi_lat|(latency|bw|bibw)_persistent|(put|get)_(latency|bw)|put_bibw|(get_)?acc_latency"
known+="|i?($blocks)|($blocks)_persistent|i?neighbor_(allgatherv?|alltoall[vw]?)|(fop|cas)_latency|bw_fan_(in|out)|init"
for measure in "${measures[@]}"; do
  [[ $measure =~ ^osu_($known):[0-9]+$ || $measure =~ ^osu_i($blocks|neighbor_(allgatherv?|alltoall[vw]?)):[0-9]+:overall$ ]] ||
    refuse "--only $measure: PROGRAM:BYTES, as osu_bw:65536; osu_barrier:0; osu_iallreduce:8:overall"
  [[ $measure != osu_bw_fan_* ]] || [ "$fabric" = 1 ] || [ -n "$from" ] || refuse "--only $measure: OSU's program refuses ranks of one node; with --fabric there are two"
  [[ $measure != osu_*neighbor_* ]] || [[ ",$all_ranks," != *,2,* ]] || [ -n "$from" ] || refuse "--only $measure: OSU's program refuses two ranks; name --ranks 4 or more"
done
bin=$(realpath "$bin")
present=()
if [ -z "$from" ]; then
  for mpi in ${mpis//,/ }; do
    if [ -x "$bin/railgauge-runner-$mpi" ]; then present+=("$mpi")
    else echo "left out: no railgauge-runner-$mpi in $bin: that MPI was not found by this build" >&2; fi
  done
  [ ${#present[@]} != 0 ] || waive "no railgauge-runner-${mpis//,/, no railgauge-runner-} in $bin: that MPI was not found by this build"
  [ -n "$osu" ] || waive "OSU's own programs are needed: name the folder of their source with --osu"
  [ -x "$osu/configure" ] || refuse "--osu $osu: no configure in it; name the folder of OSU's source"
  osu=$(realpath "$osu")
fi
[ -x "$bin/compare_launches" ] || refuse "no $bin/compare_launches; build that target, or name another folder with --bin"
readonly kWindow=64 kLaunchSeconds=${RAILGAUGE_COMPARE_LAUNCH_SECONDS:-180}
vfabric=${RAILGAUGE_VFABRIC:-deploy/vfabric/vfabric}
state=$(mktemp -d)
figures=$state/figures
serving=""
finish() {
  [ -z "$serving" ] || kill "$serving" 2>/dev/null || true
  [ "$fabric" = 0 ] || "$vfabric" --dir "$state/fabric" down >/dev/null 2>&1 || true
  rm -rf "$state"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# OSU's programs: built outside of their source, with six digits behind the point in place of two, so that a latency of
# half a microsecond has more than two. Their Makefiles must not make themselves anew: a checkout has no order of times.
folder_of() {
  case $1 in
    osu_*neighbor_*) echo collective/neighborhood ;;
    osu_init) echo startup ;;
    osu_bw_fan_*) echo pt2pt/congestion ;;
    osu_i*) echo collective/non_blocking ;;
    osu_latency_persistent | osu_bw_persistent | osu_bibw_persistent) echo pt2pt/persistent ;;
    *_persistent) echo collective/persistent ;;
    osu_put_* | osu_get_* | osu_acc_* | osu_fop_* | osu_cas_*) echo one-sided ;;
    osu_latency | osu_latency_mt | osu_bw | osu_bibw | osu_mbw_mr | osu_multi_lat) echo pt2pt/standard ;;
    *) echo collective/blocking ;;
  esac
}
theirs_of() { local path; path=$built/c/mpi/$(folder_of "$1")/$1; [ ! -x "$path" ] || echo "$path"; }
# build_theirs: in the folders of this run's measures alone; Open MPI 4 has no persistent collectives of MPI 4's name.
build_theirs() {
  mkdir -p "$built"
  local compiler=mpicc.$mpi folder measure folders
  folders=$(for measure in "${measures[@]}"; do folder_of "${measure%%:*}"; done | sort -u)
  command -v "$compiler" >/dev/null || compiler=mpicc
  (
    cd "$built"
    [ -e Makefile ] || "$osu/configure" CC="$compiler" CXX="${compiler/mpicc/mpicxx}"
    for folder in $folders; do
      make -C "c/mpi/$folder" AUTOCONF=: AUTOMAKE=: ACLOCAL=: AUTOHEADER=: CPPFLAGS=-DFLOAT_PRECISION=6
    done
  ) >"$built/build.log" 2>&1 || refuse "OSU's programs did not build; see $built/build.log"
}
# find_programs: sets ours and theirs of $mpi; builds theirs where one is lacking.
find_programs() {
  local measure
  ours=$bin/railgauge-runner-$mpi
  built=$(realpath -m "${built_in:-$bin/..}/osu-$mpi")
  for measure in "${measures[@]}"; do [ -n "$(theirs_of "${measure%%:*}")" ] || { build_theirs; break; }; done
  for measure in "${measures[@]}"; do [ -n "$(theirs_of "${measure%%:*}")" ] || refuse "${measure%%:*}: not built from $osu; see $built/build.log"; done
}
# set_launcher: sets the words of $mpi's launcher for $ranks ranks, and the settings of the MPI, equal for both programs.
# UCX may use the fabric alone: mgmt0 has one address in all guests.
set_launcher() {
  local word hosts="192.0.2.1:1,192.0.2.2:1" threads=1
  # Two threads of a rank that share a core wait for its scheduler.
  [ "$program" != osu_latency_mt ] || threads=2
  settings=() launch=() words=()
  case $mpi-$layer in
    openmpi-auto) ;;
    openmpi-ucx) settings+=(OMPI_MCA_pml=ucx OMPI_MCA_osc=ucx) ;;
    openmpi-ob1) settings+=(OMPI_MCA_pml=ob1 "OMPI_MCA_btl=${transports:-^openib,uct,ofi}") ;;
    mpich-auto) ;;
  esac
  if [ "$mpi-$layer" != openmpi-ob1 ]; then
    [ -z "$transports" ] || settings+=("UCX_TLS=$transports")
    if [ -n "$devices" ]; then settings+=("UCX_NET_DEVICES=$devices")
    elif [ "$fabric" = 1 ]; then settings+=("UCX_NET_DEVICES=eth0,rxe0:1"); fi
    # UCX 1.13 throws away UD messages that come by an IPv4 GID of soft-RoCE.
    [ "$fabric" = 0 ] || settings+=(UCX_IB_GID_INDEX=0)
  fi
  if [ "$mpi" = openmpi ]; then
    launch=(mpirun.openmpi)
    command -v mpirun.openmpi >/dev/null || launch=(mpirun)
    [ "$(id -u)" != 0 ] || launch+=(--allow-run-as-root)
    if [ "$fabric" = 1 ]; then
      launch+=(--host "$hosts" --mca plm_rsh_agent "$(pwd)/deploy/compare/rsh_by_host.sh" --mca plm_rsh_no_tree_spawn 1
        --mca oob_tcp_if_include 192.0.2.0/24 --mca btl_tcp_if_include 192.0.2.0/24)
    else
      launch+=(--oversubscribe)
      [ "$whole" -lt $((count * threads)) ] || launch+=(--map-by "slot:PE=$threads" --bind-to core)
    fi
    for word in "${settings[@]}"; do words+=(-x "${word%%=*}"); done
  else
    launch=(mpiexec.hydra)
    command -v mpiexec.hydra >/dev/null || launch=(mpiexec)
    if [ "$fabric" = 1 ]; then launch+=(-launcher rsh -launcher-exec "$(pwd)/deploy/compare/rsh_by_host.sh" -iface eth0 -hosts "$hosts")
    elif [ "$whole" -ge $((count * threads)) ]; then launch+=(-bind-to "core:$threads"); fi
  fi
}

# run WORD...: launches a program here or from guest n1, through `env`, so that the settings reach the launcher.
run() {
  local all=("${launch[@]}" -n "$count" "${words[@]}" "$@")
  if [ "$fabric" = 1 ]; then
    timeout "$kLaunchSeconds" "$vfabric" --dir "$state/fabric" exec n1 env "${settings[@]}" "${all[@]}"
  else
    timeout "$kLaunchSeconds" env "${settings[@]}" "${all[@]}"
  fi </dev/null 2>>"$state/errors"
}
# describe MEASURE: sets what both programs get: ranks, counts and options; few iterations for slow emulated guests, and
# more on one host, whose messages are fast, so that no single wait of a rank is a large part of a launch.
describe() {
  program=${1%%:*} bytes=${1#*:}
  local part=""
  [[ $bytes != *:* ]] || { part=${bytes#*:}; bytes=${bytes%:*}; }
  count=$ranks column=2 key=mean
  local few=$((fabric == 1 ? 10 : 1)) more=$((fabric == 1 ? 1 : bytes < 1024 ? 10 : 2))
  common=() extra=() proof=(--set proof_time=200ms)
  case $program in
    osu_latency | osu_latency_mt | osu_latency_persistent | osu_*_latency) count=2 iterations=$((20000 / few * more)) ;;
    osu_bw | osu_bibw | osu_bw_persistent | osu_bibw_persistent | osu_put_bw | osu_put_bibw | osu_get_bw) count=2 iterations=$((2000 / few)) key=rate common=(-W "$kWindow") ;;
    osu_mbw_mr) iterations=$((4000 / few * more)) key=rate column=3 common=(-W "$kWindow") ;;
    osu_bw_fan_*) iterations=$((2000 / few)) key=rate common=(-W "$kWindow") ;;
    *) iterations=$((10000 / few * more)) ;;
  esac
  [ "$bytes" -le 8192 ] || [ "$key" = rate ] || iterations=$((iterations / 4))
  [ -z "$calls" ] || iterations=$calls
  common+=(-i "$iterations" -x $((iterations / 10)))
  case $program in
    osu_barrier | osu_barrier_persistent) column=1 proof=() ;;
    osu_ibarrier) column=4 proof=() ;;
    osu_init) common=() proof=() ;;
    # Both calls are on one number, of four bytes in OSU's programs and of eight in ours.
    osu_fop_latency | osu_cas_latency) proof=() ;;
    *) common+=(-m "$bytes:$bytes") ;;
  esac
  # Ours sums 32-bit floats, exposes memory that it has, adds 32-bit numbers to it, and completes each call by a flush.
  case $program in
    *reduce*) extra=(-T mpi_float) ;;
    osu_acc_latency) extra=(-w create -T mpi_int) ;;
    # OSU's program ends without a figure where it is given a type.
    osu_get_acc_latency) extra=(-w create) ;;
    osu_put_* | osu_get_*) extra=(-w create) ;;
    osu_fop_latency | osu_cas_latency) extra=(-w create -T mpi_int) ;;
  esac
  # A non-blocking collective is compared by its time alone, or with the computation beside it (overall).
  case $program in
    osu_init) ;;
    osu_ibarrier) column=3 ;;
    osu_i*) column=4 ;;
  esac
  if [ -n "$part" ]; then
    key=$part column=2
    [ "$program" != osu_ibarrier ] || column=1
  fi
}
# figure PROGRAM: launches ours or theirs and prints its figure as the program has it: us, or of a rate MB or messages a
# second; "-" where the launch failed.
figure() {
  local value=""
  case $1 in
    ours) value=$(run "$ours" "$program" "${common[@]}" "${proof[@]}" --format json |
      jq -r --arg key "$key" 'select(.outcome == "passed") | [.points[] | select((.pair // "") == "")][0] |
        if $key == "overall" then .facts.overall_ns else .[$key] end') || value=""
      [[ $value =~ ^[0-9.e+-]+$ ]] || value=""
      case $program in
        osu_mbw_mr) ;;
        *) [ -z "$value" ] || value=$(awk -v value="$value" -v by="$([ "$key" = rate ] && echo 1e6 || echo 1e3)" 'BEGIN { printf "%.7g", value / by }') ;;
      esac ;;
    theirs | again) value=$(run "$(theirs_of "$program")" "${common[@]}" "${extra[@]}" |
      awk -v program="$program" -v bytes="$bytes" -v column="$column" -f deploy/compare/osu_figure.awk) || value="" ;;
  esac
  [[ $value =~ ^[0-9.e+-]+$ ]] || { value=-; tail -n 3 "$state/errors" >&2; }
  printf '%s\t%s\t%s\n' "$mpi $count $measure" "$1" "$value" | tee -a ${keep:+"$keep"} "$figures"
}
# serve: the host's side of rsh_by_host.sh. Runs any words of a launcher in n1 in the other guest, without a check:
# both are guests of a test.
serve() {
  local ask address words
  while sleep 0.05; do
    for ask in "$state"/fabric/nodes/n1/shared/ask.*; do
      [[ $ask =~ /ask\.[0-9]+$ ]] && [ -e "$ask" ] || continue
      { read -r address; read -r words; } <"$ask"
      rm -f "$ask"
      {
        code=0
        "$vfabric" --dir "$state/fabric" exec "n${address##*.}" sh -c "$words" </dev/null >>"$state/daemons" 2>&1 || code=$?
        echo "$code" >"$ask.wrote" && mv "$ask.wrote" "$ask.done"
      } &
    done
  done
}

# measure_all: launches every program of every MPI, a measure once for each number of ranks.
measure_all() {
  local measure program one round order orders seen=" "
  orders=("ours theirs again" "theirs again ours" "again ours theirs" "again theirs ours" "ours again theirs" "theirs ours again")
  for ranks in ${all_ranks//,/ }; do
    for measure in "${measures[@]}"; do
      describe "$measure"
      [[ $seen != *" $count:$measure "* ]] || continue
      seen+="$count:$measure "
      set_launcher
      # The first launch of an MPI reads its libraries; its figure is dropped.
      run "$(theirs_of "$program")" "${common[@]}" "${extra[@]}" >/dev/null || true
      for ((round = 0; round < rounds; ++round)); do
        # Over six rounds each program runs at each place twice, and twice after each other program.
        read -ra order <<<"${orders[round % 6]}"
        for one in "${order[@]}"; do figure "$one" >&2; done
      done
    done
  done
}
# keep_about: writes what is known of this run into the kept file.
keep_about() { [ -z "$keep" ] || echo "# $1" >>"$keep"; }

cores=$(nproc)
# A rank a core, where there are as many; a core's second thread is none.
whole=$(lscpu -p=CORE,SOCKET 2>/dev/null | grep -v '^#' | sort -u | wc -l) || whole=0
[ "$whole" -gt 0 ] && [ "$whole" -lt "$cores" ] || whole=$cores
began=$SECONDS
if [ -n "$from" ]; then
  about=$(sed -n 's/^# //p' "$from")
  [ -n "$about" ] || about="$from names no machine"
  grep -v '^#' "$from" >"$figures" || refuse "--from $from: has no launch"
  bad=$(grep -nvP '^(openmpi|mpich) [0-9]+ osu_[a-z_]+:[0-9]+(:overall)?\t(ours|theirs|again)\t[0-9.e+-]+$' "$figures" | head -n 1) || true
  [ -z "$bad" ] || refuse "--from $from: line $bad: wanted MPI RANKS PROGRAM:BYTES, ours, theirs or again, figure"
else
  for mpi in "${present[@]}"; do find_programs; done
  if [ "$fabric" = 1 ]; then
    nice -n -10 "$vfabric" --dir "$state/fabric" up -n 2 --memory 1024 --share "$(pwd)" 2> >(grep --line-buffered -v '^nice: ' >&2) >&2
    serve &
    serving=$!
  fi
  where="ranks on this host, $cores cores"
  [ "$fabric" = 0 ] || where="two emulated guests: no hardware figures"
  about=$(printf '%s. Machine: %s, %s cores, Linux %s; %s. Ours: %s. Layer %s, %s launches each in turn.' "$(date -u +%F)" \
    "$(awk -F ': ' '/^model name/ { print $2; exit }' /proc/cpuinfo)" "$cores" "$(uname -r)" "$where" \
    "$("$bin/railgauge-runner-${present[0]}" osu_barrier --version 2>/dev/null | head -n 1)" "$layer" "$rounds")
  keep_about "$about"
  for mpi in "${present[@]}"; do
    find_programs
    measure_all
  done
  [ ! -s "$state/daemons" ] || { echo "what the other guest's daemons said:"; tail -n 5 "$state/daemons"; } >&2
fi

awk -F '\t' -f deploy/compare/whole_rounds.awk "$figures" "$figures" >"$figures.whole"
left_out=$(($(wc -l <"$figures") - $(wc -l <"$figures.whole")))
[ -n "$from" ] || echo "ours against OSU's own programs: ${present[*]}, layer $layer${settings[*]:+ (${settings[*]})}"
echo "$about"
echo "ratio: Hodges and Lehmann's estimate over the pairs of launches; ours and theirs: medians of the launches"
echo "$left_out launches left out; $(wc -l <"$figures") launches$([ -n "$from" ] || echo " took $(((SECONDS - began) / 60)) min $(((SECONDS - began) % 60)) s")"
code=0
: >"$state/few"
awk -v few="$state/few" -f deploy/compare/osu_rows.awk "$figures.whole" "$figures.whole" | "$bin/compare_launches" >"$state/table" || code=$?
awk -f deploy/compare/launch_words.awk "$state/table"
if [ -s "$state/few" ]; then
  sed 's/^/no row: /' "$state/few"
  [ "$code" != 0 ] || code=3
fi
if [ -n "$markdown" ]; then
  {
    echo
    fold -s -w 98 <<<"$about" | sed 's/ *$//'
    echo
    awk -v markdown=1 -v within=1 -v titles="MPI; ranks; program" -v peer=OSU -f deploy/compare/launch_words.awk "$state/table"
    [ ! -s "$state/few" ] || { echo; sed 's/^/- No row: /' "$state/few"; }
  } >>"$markdown"
fi
exit "$code"
