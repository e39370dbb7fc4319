#!/usr/bin/env bash
# Compares the MPI kernels with a plain loop in OSU's manner over the same MPI (kernels/mpi/testing/osu_loop.cc, target
# mpi-osu-loop-*), by the same launcher, with the same sizes, window, iterations and warm-up. The programs take turns.
# The table gives the ratio of the launches' medians with its 95 % interval, and two controls (the loop against itself,
# and against itself with 20 % added cost). A table whose controls fail is invalid.
# Exit 0 passed, 1 failed, 3 too noisy for a statement, 4 invalid, 5 waived (no MPI in this build).
#   deploy/compare_mpi.sh [--fabric] [--mpi openmpi|mpich] [--layer LAYER] [--transports LIST] [--devices LIST]
#                         [--rounds N] [--only MEASURE,...] [--bin DIR] [--keep FILE]
# Without --fabric: two ranks on this host. --fabric: between two guests of the virtual fabric; their launcher uses
# deploy/compare/rsh_by_host.sh in place of ssh, for this comparison alone. MEASURE: lat_8, lat_4096, bw_65536, ...
# --layer, --transports, --devices: as the kernels' parameters layer, transports and hca_list. Both programs get them
# through the MPI's own variables.
set -euo pipefail
cd "$(dirname "$0")/.."
fabric=0 mpi=openmpi layer=auto transports="" devices="" rounds=9 only=lat_8,lat_4096,bw_65536 bin=${RAILGAUGE_BUILD_DIR:-build/ci}/bin keep=""
refuse() { echo "compare_mpi.sh: $*" >&2; exit 2; }
while [ $# -gt 0 ]; do
  case "$1" in
    --fabric) fabric=1; shift; continue ;;
    --mpi) mpi=${2:?} ;;
    --layer) layer=${2:?} ;;
    --transports) transports=${2:?} ;;
    --devices) devices=${2:?} ;;
    --rounds) rounds=${2:?} ;;
    --only) only=${2:?} ;;
    --bin) bin=${2:?} ;;
    --keep) keep=${2:?} ;;
    *) refuse "unknown option $1; allowed: --fabric, --mpi, --layer, --transports, --devices, --rounds, --only, --bin, --keep" ;;
  esac
  shift 2
done
[[ $mpi =~ ^(openmpi|mpich)$ ]] || refuse "--mpi $mpi; allowed: openmpi, mpich"
[[ $rounds =~ ^[1-9][0-9]*$ ]] && [ "$rounds" -ge 6 ] || refuse "--rounds $rounds: 6 or more, or there is no 95 % interval"
read -ra measures <<<"${only//,/ }"
for measure in "${measures[@]}"; do [[ $measure =~ ^(lat|bw)_[0-9]+$ ]] || refuse "--only $measure: lat_BYTES or bw_BYTES"; done
bin=$(realpath "$bin")
ours=$bin/railgauge-runner-$mpi theirs=$bin/mpi-osu-loop-$mpi
[ -x "$ours" ] || { echo "waived: no railgauge-runner-$mpi in $bin: that MPI was not found by this build"; exit 5; }
for program in "$theirs" "$bin/compare_launches"; do [ -x "$program" ] || refuse "no $program; build the target ${program##*/}, or name another folder with --bin"; done
readonly kWindow=8 kCost=0.2 kLaunchSeconds=${RAILGAUGE_COMPARE_LAUNCH_SECONDS:-180}
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

# The settings of the MPI, equal for both programs. UCX may use the fabric alone: mgmt0 has one address in all guests.
settings=()
case $mpi-$layer in
  openmpi-auto) [ -z "$transports$devices" ] || refuse "name the --layer whose transports and devices these are" ;;
  openmpi-ucx) settings+=(OMPI_MCA_pml=ucx) ;;
  openmpi-ob1) settings+=(OMPI_MCA_pml=ob1 "OMPI_MCA_btl=${transports:-^openib,uct,ofi}") ;;
  mpich-auto) ;;
  *) refuse "--layer $layer is none of $mpi; allowed: auto$([ "$mpi" = mpich ] || echo ", ucx, ob1")" ;;
esac
if [ "$mpi-$layer" != openmpi-ob1 ]; then
  [ -z "$transports" ] || settings+=("UCX_TLS=$transports")
  if [ -n "$devices" ]; then settings+=("UCX_NET_DEVICES=$devices")
  elif [ "$fabric" = 1 ]; then settings+=("UCX_NET_DEVICES=eth0,rxe0:1"); fi
  # UCX 1.13 throws away UD messages that come by an IPv4 GID of soft-RoCE.
  [ "$fabric" = 0 ] || settings+=(UCX_IB_GID_INDEX=0)
fi
launch=() words=() hosts="192.0.2.1:1,192.0.2.2:1"
if [ "$mpi" = openmpi ]; then
  launch=(mpirun.openmpi)
  command -v mpirun.openmpi >/dev/null || launch=(mpirun)
  [ "$(id -u)" != 0 ] || launch+=(--allow-run-as-root)
  if [ "$fabric" = 1 ]; then
    launch+=(--host "$hosts" --mca plm_rsh_agent "$(pwd)/deploy/compare/rsh_by_host.sh" --mca plm_rsh_no_tree_spawn 1
      --mca oob_tcp_if_include 192.0.2.0/24 --mca btl_tcp_if_include 192.0.2.0/24)
  else
    launch+=(--oversubscribe)
  fi
  for word in "${settings[@]}"; do words+=(-x "${word%%=*}"); done
else
  launch=(mpiexec.hydra)
  command -v mpiexec.hydra >/dev/null || launch=(mpiexec)
  [ "$fabric" = 0 ] || launch+=(-launcher rsh -launcher-exec "$(pwd)/deploy/compare/rsh_by_host.sh" -iface eth0 -hosts "$hosts")
fi
launch+=(-n 2 "${words[@]}")

# run WORD...: launches a program here or from guest n1, through `env`, so that the settings reach the launcher.
run() {
  if [ "$fabric" = 1 ]; then
    timeout "$kLaunchSeconds" "$vfabric" --dir "$state/fabric" exec n1 env "${settings[@]}" "${launch[@]}" "$@"
  else
    timeout "$kLaunchSeconds" env "${settings[@]}" "${launch[@]}" "$@"
  fi </dev/null 2>>"$state/errors"
}
# describe MEASURE: sets kind, bytes, iterations and warm-up, few for slow emulated guests and alike for both programs.
describe() {
  IFS=_ read -r kind bytes <<<"$1"
  if [ "$kind" = lat ]; then iterations=4000 skipped=400 window=(); else iterations=160 skipped=16 window=(--window "$kWindow"); fi
}
# figure PROGRAM: launches it and prints its figure: of latencies the median of the iterations, in us one way; of a
# bandwidth all bytes over all time, per second; "-" where the launch failed. The loop prints mean and median.
figure() {
  local value="" ours_key=median theirs_column=2
  [ "$kind" = lat ] || { ours_key=rate theirs_column=1; }
  case $1 in
    ours) value=$(run "$ours" "mpi.$kind" --sizes "$bytes" --iterations "$iterations" --skip "$skipped" \
      "${window[@]}" --format json |
      jq -r --arg key "$ours_key" 'select(.outcome == "passed") | [.points[] | select(.pair == "")][0][$key]') || value=""
      [ "$kind" = bw ] || [ -z "$value" ] || value=$(awk -v ns="$value" 'BEGIN { printf "%.6g", ns / 1e3 }') ;;
    theirs | again) value=$(run "$theirs" "$kind" "$bytes" "$iterations" "$skipped" "$kWindow" | awk -v n="$theirs_column" 'NF == 2 { print $n }') || value="" ;;
    slow) value=$(run "$theirs" "$kind" "$bytes" "$iterations" "$skipped" "$kWindow" "$kCost" | awk -v n="$theirs_column" 'NF == 2 { print $n }') || value="" ;;
  esac
  [[ $value =~ ^[0-9.e+-]+$ ]] || { value=-; tail -n 3 "$state/errors" >&2; }
  printf '%s\t%s\t%s\n' "$measure" "$1" "$value" | tee -a ${keep:+"$keep"} "$figures"
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

if [ "$fabric" = 1 ]; then
  nice -n -10 "$vfabric" --dir "$state/fabric" up -n 2 --memory 1024 --share "$(pwd)" 2> >(grep --line-buffered -v '^nice: ' >&2) >&2
  serve &
  serving=$!
fi
began=$SECONDS
orders=("ours theirs slow again" "theirs again ours slow" "again slow theirs ours" "slow ours again theirs")
for measure in "${measures[@]}"; do
  describe "$measure"
  # The first launch of an MPI reads its libraries; its figure is dropped.
  run "$theirs" "$kind" "$bytes" "$iterations" "$skipped" "$kWindow" >/dev/null || true
  for ((round = 0; round < rounds; ++round)); do
    # Over four rounds each program runs at each place once, and once after each other program.
    read -ra order <<<"${orders[round % 4]}"
    for program in "${order[@]}"; do figure "$program" >&2; done
  done
done
[ ! -s "$state/daemons" ] || { echo "what the other guest's daemons said:"; tail -n 5 "$state/daemons"; } >&2

awk -F '\t' -f deploy/compare/whole_rounds.awk "$figures" "$figures" >"$figures.whole"
left_out=$(($(wc -l <"$figures") - $(wc -l <"$figures.whole")))
# For bandwidth the ratio is turned over, so that above 1 always means slower.
rows() {
  awk -F '\t' -v OFS='\t' '
    { split($1, part, "_"); lat = part[1] == "lat"
      value = lat ? $3 : 1048576 / $3
      title = "mpi." part[1] " " part[2] " B (" (lat ? "half RTT, us" : "s per MiB") ")"
      cost = "mpi." part[1] " " part[2] " B: 20 % added cost"
      self = "mpi." part[1] " " part[2] " B: loop against itself" }
    $2 == "ours"   { print title, "equal", "ours", value }
    $2 == "theirs" { print title, "equal", "theirs", value; print self, "holds_one", "theirs", value; print cost, "excludes_one", "theirs", value }
    $2 == "again"  { print self, "holds_one", "ours", value }
    $2 == "slow"   { print cost, "excludes_one", "ours", value }' "$figures.whole"
}
where="two ranks on this host"
[ "$fabric" = 0 ] || where="two emulated guests: no hardware figures"
echo "ours against a loop in OSU's manner over $mpi, layer $layer${settings[*]:+ (${settings[*]})}, $rounds launches each in turn, $where"
echo "ratio: Hodges and Lehmann's estimate over the pairs of launches; ours and theirs: medians of the launches"
echo "bandwidth: window $kWindow; $left_out launches left out; $(wc -l <"$figures") launches took $(((SECONDS - began) / 60)) min $(((SECONDS - began) % 60)) s"
rows | "$bin/compare_launches"
