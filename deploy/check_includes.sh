#!/usr/bin/env bash
# Compares every #include of the tree with the dependency direction of the house: which room may include which,
# which rooms own a foreign header, which rooms are pure. Prints offenders; exit 1 when there are any.
set -euo pipefail
cd "$(dirname "$0")/.."

# room: rooms that it may include (itself always). A file belongs to the longest room that its path begins with.
# A test or benchmark may include any room of its own part (agent, controller, kernels), fakes and contracts.
rooms='
@KERNELS@
@AGENT@
controller/metric: kernels/core
controller/api: kernels/core
controller/stats: kernels/core
controller/detect: kernels/core controller/stats
controller/verdict: kernels/core controller/stats
controller/localise: kernels/core
controller/localise/retest: kernels/core controller/localise
controller/sim: kernels/core controller/localise
controller/plan/policy: kernels/core
controller/plan/suite: kernels/core controller/api controller/plan/policy
controller/plan/topology: kernels/core controller/plan/suite
controller/plan/rounds: kernels/core controller/plan/suite controller/plan/topology
controller/plan: kernels/core controller/plan/policy controller/plan/rounds controller/plan/suite controller/plan/topology
controller/run: kernels/core controller/plan/policy
controller/store/sqlite: kernels/core
controller/store/rows: kernels/core controller/store/sqlite
controller/store/ingest: kernels/core controller/store/rows controller/store/sqlite
controller/store/queries: kernels/core controller/store/ingest controller/store/rows controller/store/sqlite
controller/store/upkeep: kernels/core controller/store/rows controller/store/sqlite
controller/store: kernels/core controller/store/*
controller/http: kernels/core
controller/fleet: kernels/core controller/api controller/plan controller/plan/* controller/store controller/store/*
controller/history: kernels/core controller/api controller/fleet controller/localise controller/localise/retest controller/plan controller/plan/topology controller/store controller/store/*
controller/control: kernels/core controller/api controller/fleet controller/history controller/localise/retest controller/metric controller/plan controller/plan/* controller/run controller/stats controller/store
controller/schedule: kernels/core controller/api controller/control controller/fleet controller/plan/suite controller/store
controller/upgrades: kernels/core controller/api controller/detect controller/fleet controller/plan/suite controller/store controller/store/rows controller/verdict
controller/findings/run: kernels/core controller/detect controller/fleet controller/history controller/stats controller/store controller/store/rows controller/upgrades
controller/findings: kernels/core controller/api controller/findings/run controller/fleet controller/stats controller/store controller/store/rows controller/upgrades controller/verdict
controller/gate: kernels/core controller/api controller/control controller/schedule controller/store controller/upgrades
controller/exporter: kernels/core controller/findings/run controller/fleet controller/history controller/metric controller/schedule controller/store
controller/rpc: kernels/core controller/api controller/control controller/findings controller/fleet controller/gate controller/history controller/schedule controller/upgrades
controller: kernels/core controller/control controller/exporter controller/findings/run controller/fleet controller/gate controller/history controller/http controller/metric controller/rpc controller/schedule controller/store controller/store/upkeep
@CLI@
deploy/vfabric: kernels/core
deploy/compare: kernels/core
'
# foreign header (a prefix): rooms that own it
owners='
infiniband/: kernels/verbs/* kernels/verbs kernels/dl kernels/fakes
rdma/: kernels/verbs/* kernels/verbs kernels/dl kernels/fakes
dlfcn.h: kernels/dl kernels/fakes
sqlite3.h: controller/store/sqlite agent/link agent/inventory/* agent/inventory kernels/fakes
mpi.h: kernels/mpi/* kernels/mpi
grpc: agent/link controller controller/fleet controller/rpc controller/cli controller/cli/* controller/api
yaml-cpp: controller/plan/suite
prometheus/: agent controller/metric
httplib.h: controller/http
date/tz.h: controller/schedule
CLI/: agent controller controller/cli controller/cli/* kernels/runner
spdlog/: agent agent/* controller controller/control controller/exporter controller/findings/run controller/fleet controller/gate controller/history controller/rpc controller/run controller/schedule controller/store controller/store/* controller/upgrades
'
# These judge: they know no clock, file, socket, chance or other state of the process (std::lgamma writes `signgam`).
pure='controller/stats controller/detect controller/localise controller/localise/retest controller/verdict'
impure='_clock|[^_a-z]time\(|random_device|std::rand|srand\(|std::lgamma|getenv|std::[io]?fstream|thread_local'
impure+='|#include <(chrono|ctime|fstream|iostream|thread|mutex|unistd\.h|sys/[a-z]*\.h)>'

# Every #include and, in the pure rooms, every impure word, as "file<TAB>kind<TAB>text".
facts() {
  git ls-files -z '*.h' '*.cc' '*.cu' | xargs -0 -r grep -HE '^#include ' |
    sed -nE 's/^([^:]*):#include "([^"]*)".*/\1\town\t\2/p; s/^([^:]*):#include <([^>]*)>.*/\1\tforeign\t\2/p'
  local patterns=()
  for room in $pure; do patterns+=("$room/*.h" "$room/*.cc"); done
  git ls-files -z "${patterns[@]}" | grep -zvE '_(test|bench)\.cc$|/testing/' |
    xargs -0 -r awk -v impure="$impure" '{ line = $0; sub(/\/\/.*/, "", line); if (match(line, impure)) printf "%s\timpure\t%s\n", FILENAME, substr(line, RSTART, RLENGTH) }' | sort -u
  git ls-files '*.h' '*.cc' '*.cu' | sed 's/$/\tfile\t/'
}

# shellcheck disable=SC2016  # the program is awk's
facts | awk -F '\t' -v rooms="$rooms" -v owners="$owners" '
  function room_of(path,   room) {
    room = path
    while (sub(/\/[^\/]*$/, "", room)) if (room in is_room) return room
    return ""
  }
  # Adds every room that the pattern names, "*" any room below.
  function allow(table, key, pattern,   other, stem) {
    if (pattern !~ /\*$/) { table[key, pattern]; return }
    stem = substr(pattern, 1, length(pattern) - 1)
    for (other in is_room) if (index(other, stem) == 1) table[key, other]
  }
  function complain(file, text) { print file ": " text; bad = 1 }
  BEGIN {
    lines = split(rooms, row, "\n")
    for (i = 1; i <= lines; ++i) if (split(row[i], part, ":") > 1) { is_room[part[1]]; allowed_text[part[1]] = part[2] }
    for (room in is_room) {
      words = split(allowed_text[room], word, " ")
      for (i = 1; i <= words; ++i) allow(may, room, word[i])
    }
    for (pair in may) {
      split(pair, end, SUBSEP)
      if (end[1] != end[2] && (end[2], end[1]) in may) complain("deploy/check_includes.sh", end[1] " and " end[2] " may include each other")
    }
    lines = split(owners, row, "\n")
    for (i = 1; i <= lines; ++i) if (split(row[i], part, ": ") > 1) {
      prefixes[++count] = part[1]; owner_text[count] = part[2]
      words = split(part[2], word, " ")
      for (j = 1; j <= words; ++j) allow(owns, count, word[j])
    }
  }
  { room = room_of($1); part = $1; sub(/\/.*/, "", part); is_test = $1 ~ /_(test|bench)\.(cc|cu)$|\/testing\// }
  $2 == "file" && room == "" { complain($1, "no rule for its folder in check_includes.sh") }
  $2 == "own" && $3 ~ /^(kernels|agent|controller|deploy)\// && room != "" {
    target = room_of($3)
    if (target == room || (room, target) in may) next
    if (room ~ /^kernels\/fakes/ && $3 ~ /\.cu$/) next  # the fake driver compiles device code for the CPU
    if (is_test && (index(target, part) == 1 || target ~ /^kernels|^controller\/(api|metric)$/)) next
    complain($1, "includes " $3 ", which " room " may not (allowed:" (allowed_text[room] == "" ? " nothing" : allowed_text[room]) ")")
  }
  $2 == "foreign" && room != "" && !is_test {
    for (i = 1; i <= count; ++i)
      if (index($3, prefixes[i]) == 1 && !((i, room) in owns)) complain($1, "includes <" $3 ">, owned by " owner_text[i])
  }
  $2 == "impure" { complain($1, "has " $3 "; " room " knows no clock, file, socket or state of the process") }
  END { exit bad }'
