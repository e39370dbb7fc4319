#!/usr/bin/env bash
# Checks whether the health watch moves our own figures: runs cuda.copy_latency and the kernels of BAR copies with the
# watch running and still, or still and without NVML, in turns, and prints the ratio of the medians over the rounds of
# median and p99. A ratio of a p99 that differs from 1 by more than the bound, beyond its own scatter, is marked: that
# kernel's samples need a still watch.
# Exit 0 within the bound; 1 beyond it; 2 wrong use; 4 a run failed; 5 waived (no GPU).
#   deploy/check_watch.sh [--runner PATH] [--rounds N] [--endpoint GPU] [--bound R] [--compare A/B] [--json OUT]
# --rounds   launches of each kind (default 8), alternating
# --bound    largest share by which a p99 may move (default 0.02)
# --compare  running/still (default), still/none or running/none; with none the driver's NVML is not loaded
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
die() { local code=$1; shift; echo "check_watch.sh: $*" >&2; exit "$code"; }
runner="" rounds=8 endpoint=gpu0 bound=0.02 json="" sides=running/still
while [ $# -gt 0 ]; do
  [ $# -gt 1 ] || die 2 "$1 needs a value"
  case "$1" in
    --runner) runner=$2 ;; --rounds) rounds=$2 ;; --endpoint) endpoint=$2 ;; --bound) bound=$2 ;; --json) json=$2 ;;
    --compare) sides=$2 ;;
    *) die 2 "unknown option $1; allowed: --runner, --rounds, --endpoint, --bound, --compare, --json" ;;
  esac
  shift 2
done
[[ $rounds =~ ^[1-9][0-9]{0,2}$ ]] || die 2 "--rounds $rounds: 1 to 999"
[[ $bound =~ ^0\.[0-9]+$ ]] || die 2 "--bound $bound: a share, as 0.02"
case "$sides" in running/still | still/none | running/none) ;; *) die 2 "--compare $sides: running/still, still/none or running/none" ;; esac
first=${sides%/*} second=${sides#*/}
command -v jq >/dev/null || die 4 "no jq; install it"
if [ -z "$runner" ]; then
  for runner in "$here/bin/railgauge-runner" "$here/../bin/railgauge-runner" "$here/../build/release/bin/railgauge-runner" "$(command -v railgauge-runner || true)"; do
    [ ! -x "$runner" ] || break
  done
fi
[ -x "$runner" ] || die 2 "no railgauge-runner; name it with --runner"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C
# Name, kernel and parameters of each row; small messages, whose tails a reading beside them would move.
rows=(
  "copy_latency h2d|cuda.copy_latency --sizes 8 --direction h2d"
  "copy_latency d2h|cuda.copy_latency --sizes 8 --direction d2h"
  "bar.write_lat|bar.write_lat --sizes 8,4KiB"
  "bar.read_lat|bar.read_lat --sizes 8"
  "bar.write_bw|bar.write_bw --sizes 64KiB"
  "bar.ping_pong|bar.ping_pong"
)
: >"$work/figures"
for ((round = 0; round < rounds; round++)); do
  if ((round % 2 == 0)); then order=("$first" "$second"); else order=("$second" "$first"); fi
  for row in "${rows[@]}"; do
    IFS=' ' read -r -a words <<<"${row#*|}"
    for watch in "${order[@]}"; do
      code=0 launch=("$runner") kept=$watch
      [ "$watch" != none ] || { launch=(env RAILGAUGE_LIBNVML=/nonexistent "$runner"); kept=still; }
      "${launch[@]}" "${words[@]}" --endpoint "$endpoint" --watch "$kept" --format json >"$work/out" 2>"$work/err" || code=$?
      if [ $code = 5 ]; then echo "waived: ${row%%|*}: $(jq -r .reason "$work/out")"; break; fi
      [ $code = 0 ] || die 4 "${words[*]} --watch $watch: exit $code: $(tail -n 1 "$work/err")"
      jq -r --arg row "${row%%|*}" --arg watch "$watch" \
        '.points[] | [$row, $watch, .message_bytes, .median, .p99 // ""] | @tsv' "$work/out" >>"$work/figures"
    done
  done
done
[ -s "$work/figures" ] || exit 5
gpu=$(jq -r '.started.facts.gpu_model // "GPU"' "$work/out") driver=$(jq -r '.started.facts.cuda_driver // "unknown"' "$work/out")
date=$(date -u +%Y-%m-%dT%H:%M:%SZ)
echo "$date  $gpu, driver $driver, $rounds launches a side, $first / $second"
awk -F '\t' -v first="$first" -v second="$second" -v bound="$bound" -v json="$json" -v head="\"date\": \"$date\", \"gpu\": \"$gpu\", \"driver\": \"$driver\", \"rounds\": $rounds, \"bound\": $bound" '
  function sort_into(key,  n, i, j, v) {
    n = count[key]
    for (i = 1; i <= n; i++) { v = values[key, i]; for (j = i - 1; j >= 1 && sorted[j] > v; j--) sorted[j + 1] = sorted[j]; sorted[j + 1] = v }
    return n
  }
  function quantile(key, q,  n, at, low) { n = sort_into(key); at = 1 + q * (n - 1); low = int(at); return low >= n ? sorted[n] : sorted[low] + (at - low) * (sorted[low + 1] - sorted[low]) }
  function add(key, value) { if (value != "") values[key, ++count[key]] = value }
  # Ratio of the medians; its scatter is the larger relative distance of the quartiles of the two sides.
  function show(row, what,  ours, other, ratio, scatter, one, mark) {
    if (!count[row FS what FS first] || !count[row FS what FS second]) return
    ours = quantile(row FS what FS first, 0.5); other = quantile(row FS what FS second, 0.5)
    if (other <= 0) return
    ratio = ours / other
    scatter = (quantile(row FS what FS second, 0.75) - quantile(row FS what FS second, 0.25)) / other
    one = (quantile(row FS what FS first, 0.75) - quantile(row FS what FS first, 0.25)) / ours
    if (one > scatter) scatter = one
    mark = what == "p99" && (ratio > 1 + bound || ratio < 1 - bound) && (ratio > 1 + scatter || ratio < 1 - scatter)
    if (mark) missed++
    printf "%-20s %9s %-7s %12.5g %12.5g %8.3f %9.3f %s\n", name[row], size[row], what, ours, other, ratio, scatter, mark ? "moved" : ""
    document = document (shown++ ? "," : "") sprintf("\n    {\"kernel\": \"%s\", \"size_bytes\": %d, \"figure\": \"%s\", \"%s\": %.9g, \"%s\": %.9g, \"ratio\": %.6f, \"scatter\": %.6f, \"moved\": %s}", name[row], size[row], what, first, ours, second, other, ratio, scatter, mark ? "true" : "false")
  }
  { row = $1 FS $3; if (!(row in name)) { name[row] = $1; size[row] = $3; names[++n] = row }
    add(row FS "median" FS $2, $4); add(row FS "p99" FS $2, $5) }
  END {
    printf "%-20s %9s %-7s %12s %12s %8s %9s\n", "kernel", "size B", "figure", first, second, "ratio", "scatter"
    for (i = 1; i <= n; i++) { show(names[i], "median"); show(names[i], "p99") }
    if (json != "") printf "{\n  \"schema_version\": 1, %s,\n  \"figures\": [%s\n  ]\n}\n", head, document > json
    exit missed ? 1 : 0
  }' "$work/figures"
