#!/usr/bin/env bash
# Tests that check_includes.sh finds forbidden includes: each line below is planted in a scratch tree.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir "$tree/deploy"
cp "$here/check_includes.sh" "$tree/deploy/"
git -C "$tree" init -q

# planted WANTED_EXIT FILE LINE: fails unless check_includes.sh ends so on a tree with FILE, which holds LINE alone.
planted() {
  local got=0
  mkdir -p "$tree/$(dirname "$2")"
  printf '%s\n' "$3" >"$tree/$2"
  git -C "$tree" add -A
  "$tree/deploy/check_includes.sh" >"$tree/out" || got=$?
  rm "$tree/$2"
  [ "$got" = "$1" ] || { echo "exit $got, wanted $1: $2 with $3"; cat "$tree/out"; exit 1; }
}
planted 0 kernels/verbs/a.cc '#include "kernels/core/base/result.h"'
planted 1 kernels/core/a.cc '#include "kernels/verbs/transport/device.h"'
planted 1 agent/a.cc '#include "controller/store/store.h"'
planted 0 controller/history/a.cc '#include "controller/store/store.h"'
planted 1 controller/store/a.cc '#include "controller/history/archive.h"'
planted 1 kernels/verbs/a.cc '#include "kernels/runner/task/run.h"'
planted 1 agent/a.cc '#include <infiniband/verbs.h>'
planted 1 kernels/runner/a.cc '#include <grpcpp/grpcpp.h>'
planted 1 agent/os/a.cc '#include <spawn.h>'
planted 1 controller/plan/a.cc '#include <sqlite3.h>'
planted 1 newroom/a.cc '#include <vector>'
planted 1 controller/stats/a.cc '#include <chrono>'
planted 1 controller/verdict/a.cc 'double seed() { return std::time(nullptr); }'
planted 1 controller/localise/retest/a.cc 'double f(double x) { return std::lgamma(x); }'
planted 0 controller/stats/a.cc 'double run_time(double x);  // std::lgamma'
planted 0 controller/stats/a_bench.cc '#include <chrono>'
# The table itself is refused when two of its rooms may include each other.
sed -i 's,^controller/stats: =core$,controller/stats: =core controller/detect,' "$tree/deploy/check_includes.sh"
planted 1 controller/stats/a.cc '#include "controller/detect/fit.h"'
echo "17 passed, 0 failed"
