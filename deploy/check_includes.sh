#!/usr/bin/env bash
# The dependency direction of the house, held against every #include of the tree:
# who may include whom, and the one owner of each foreign header. Prints offenders; exit 1 when there are any.
set -euo pipefail
cd "$(dirname "$0")/.."

# folder -> project folders that it may include (itself always). Tests may also use kernels/fakes.
declare -A allowed=(
  [kernels/core]=""
  [kernels/dl]="kernels/core"
  [kernels/memory]="kernels/core kernels/dl"
  [kernels/gpu]="kernels/core kernels/dl kernels/memory"
  [kernels/cuda]="kernels/core kernels/dl kernels/memory kernels/gpu"
  [kernels/bar]="kernels/core kernels/dl kernels/memory kernels/gpu"
  [kernels/nccl]="kernels/core kernels/dl kernels/memory kernels/gpu"
  [kernels/mpi]="kernels/core kernels/dl kernels/memory kernels/gpu"
  [kernels/net]="kernels/core kernels/memory"
  [kernels/verbs]="kernels/core kernels/dl kernels/memory kernels/gpu"
  [kernels/fakes]="kernels/core kernels/dl"
  [kernels]="kernels/core kernels/gpu kernels/mpi kernels/nccl kernels/net kernels/verbs kernels/fakes"
  [kernels/launch]="kernels/core"
  [kernels/runner]="kernels kernels/core kernels/launch"
  [agent]="kernels/core kernels/dl controller/api controller/metric"
  [controller/metric]=""
  [controller/api]="kernels/core"
  [controller/plan]="kernels/core controller/api controller/run"
  [controller/store]="kernels/core"
  [controller/run]="kernels/core controller/api controller/plan"
  [controller/fleet]="kernels/core controller/api controller/store"
  [controller/http]="kernels/core"
  [controller/analysis]="kernels/core"
  [controller/cli]="kernels/core controller/api controller/analysis controller/metric"
  [controller]="kernels/core controller/analysis controller/api controller/metric controller/plan controller/store controller/run controller/fleet controller/http"
  [deploy/vfabric]="kernels/core"
  [deploy/compare]="kernels/core"
)
# foreign header (pattern) -> folders that own it
owners=(
  'infiniband/|kernels/verbs kernels/dl kernels/fakes'
  'rdma/|kernels/verbs kernels/dl kernels/fakes'
  'dlfcn\.h|kernels/dl kernels/fakes'
  'sqlite3\.h|controller/store agent kernels/fakes'
  'mpi\.h|kernels/mpi'
  'grpc|agent controller controller/fleet controller/cli controller/api'
  'yaml-cpp|controller/plan'
  'prometheus/|agent controller/metric'
  'httplib\.h|controller/http'
  'date/tz\.h|controller/run'
  'CLI/|agent controller controller/cli kernels/runner'
  'spdlog/|agent controller controller/fleet controller/run controller/store'
)

# What judges has no clock, file, socket, chance or other state of the process (std::lgamma writes `signgam`).
impure='_clock|[^_a-z]time\(|random_device|std::rand|srand\(|std::lgamma|getenv|std::[io]?fstream|thread_local'
impure+='|#include <(chrono|ctime|fstream|iostream|thread|mutex|unistd\.h|sys/[a-z]*\.h)>'
is_pure() {
  case "$1" in controller/analysis/simulator/* | *_test.cc | *_bench.cc) return 1 ;; controller/analysis/*) return 0 ;; esac
  return 1
}

# The rule's folder of a file: the longest prefix that `allowed` knows.
folder_of() {
  local folder
  folder=$(dirname "$1")
  while [ "$folder" != . ] && [ -z "${allowed[$folder]+set}" ]; do folder=$(dirname "$folder"); done
  echo "$folder"
}

bad=0
complain() { echo "$1: $2"; bad=1; }

while read -r file; do
  folder=$(folder_of "$file")
  [ "$folder" = . ] && { complain "$file" "no rule for its folder in check_includes.sh"; continue; }
  may=" $folder ${allowed[$folder]} "
  case "$file" in *_test.cc | *_bench.cc | */testing/*) may+="kernels kernels/dl kernels/fakes kernels/verbs kernels/memory controller/api " ;; esac
  while read -r included; do
    # The fake driver compiles device code for the CPU.
    [[ $file == kernels/fakes/* && $included == *.cu ]] && continue
    target=$(folder_of "$included")
    case "$may" in *" $target "*) ;; *) complain "$file" "includes $included, which $folder may not (allowed: ${allowed[$folder]:-nothing})" ;; esac
  done < <(sed -n 's/^#include "\([^"]*\)".*/\1/p' "$file" | grep -E '^(kernels|agent|controller|deploy)/' || true)
  while read -r foreign; do
    for row in "${owners[@]}"; do
      [[ $foreign =~ ^${row%%|*} ]] || continue
      case " ${row##*|} " in *" $folder "*) ;; *) [[ $file == *_test.cc ]] || complain "$file" "includes <$foreign>, owned by ${row##*|}" ;; esac
    done
  done < <(sed -n 's/^#include <\([^>]*\)>.*/\1/p' "$file")
  is_pure "$file" || continue
  while read -r word; do
    complain "$file" "has $word; controller/analysis knows no clock, file, socket or state of the process"
  done < <(sed 's,//.*,,' "$file" | grep -oE "$impure" | sort -u || true)
done < <(git ls-files '*.h' '*.cc' '*.cu')
exit $bad
