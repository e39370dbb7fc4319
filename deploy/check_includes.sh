#!/usr/bin/env bash
# Compares every #include of the tree with the dependency direction of the house: which room may include which,
# which rooms own a foreign header, which rooms are pure. Prints offenders; exit 1 when there are any.
set -euo pipefail
cd "$(dirname "$0")/.."

# room: rooms that it may include (itself always); =name means the rooms of the row =name. A file belongs to the longest
# room with which its path begins. A test, benchmark or fuzz target may include any room of its own part (agent, controller,
# kernels), fakes and contracts.
rooms='
=core: kernels/core kernels/core/base kernels/core/cpu kernels/core/group kernels/core/proof kernels/core/stats kernels/core/text
=gpu: =core kernels/dl kernels/memory kernels/gpu
kernels/core/base:
kernels/core/text: kernels/core/base
kernels/core/stats: kernels/core/base
kernels/core/group: kernels/core/base kernels/core/text
kernels/core/cpu: kernels/core/base kernels/core/text
kernels/core/proof: kernels/core/base kernels/core/text
kernels/core/report: kernels/core/base kernels/core/text
kernels/core/version:
kernels/core: kernels/core/base kernels/core/group kernels/core/stats kernels/core/text
kernels/peers/osu: =core kernels/core/report
kernels/peers: =core kernels/core/report
kernels/peers/nccl_tests: =core kernels/core/report kernels/peers
kernels/peers/perftest: =core kernels/core/report kernels/peers/nccl_tests kernels/peers/osu
kernels/dl: kernels/core/base kernels/core/text
kernels/memory: =core kernels/dl
kernels/gpu: =core kernels/dl kernels/memory
kernels/gpu/ceiling: =gpu
kernels/gpu/session: =gpu kernels/gpu/ceiling
kernels/gpu/together: =gpu
kernels/bar/backend: =gpu
kernels/bar/routine: =gpu kernels/bar/backend
kernels/bar: =gpu kernels/gpu/ceiling kernels/gpu/session kernels/gpu/together kernels/bar/backend kernels/bar/routine
kernels/cuda/route: =gpu kernels/gpu/session
kernels/cuda: =gpu kernels/gpu/ceiling kernels/gpu/session kernels/gpu/together kernels/cuda/route
kernels/fakes: =core kernels/dl
kernels/launch/node: =core kernels/launch/shim
kernels/launch/shim: kernels/core/base
kernels/launch: =core kernels/launch/node kernels/launch/shim kernels/runner/task
kernels/mpi/binding: =core kernels/dl
kernels/mpi/collective: kernels/mpi
kernels/mpi/one_sided: kernels/mpi
kernels/mpi/pt2pt: kernels/mpi
kernels/mpi/path: =core kernels/net/device
kernels/mpi: =gpu kernels/gpu/ceiling kernels/mpi/binding kernels/mpi/path
kernels/nccl/collective: kernels/nccl
kernels/nccl/communicator: =gpu kernels/net/device
kernels/nccl/gin: =gpu kernels/gpu/session kernels/nccl kernels/nccl/communicator
kernels/nccl/pt2pt: kernels/nccl
kernels/nccl: =gpu kernels/gpu/ceiling kernels/gpu/session kernels/nccl/communicator
kernels/host_cost: =core
kernels/net/device: =core
kernels/net: =core kernels/memory kernels/host_cost kernels/net/device
kernels/runner/task: =core kernels/core/report
kernels/runner: =core kernels/core/version kernels/core/report kernels kernels/launch kernels/peers kernels/peers/nccl_tests kernels/peers/osu kernels/peers/perftest kernels/runner/task
kernels/verbs/link: =gpu kernels/gpu/session kernels/verbs/memory kernels/verbs/transport
kernels/verbs/memory: =gpu kernels/gpu/session kernels/verbs/transport
kernels/verbs/proof: =gpu kernels/gpu/session kernels/verbs/link kernels/verbs/memory kernels/verbs/transport
kernels/verbs/rails: =gpu kernels/gpu/session kernels/host_cost kernels/verbs/link kernels/verbs/memory kernels/verbs/proof kernels/verbs/stream kernels/verbs/transport
kernels/verbs/staged: =gpu kernels/gpu/session kernels/host_cost kernels/verbs/link kernels/verbs/memory kernels/verbs/proof kernels/verbs/stream kernels/verbs/transport
kernels/verbs/stream: =gpu kernels/gpu/session kernels/host_cost kernels/verbs/link kernels/verbs/memory kernels/verbs/proof kernels/verbs/transport
kernels/verbs/transport: =core kernels/dl kernels/memory kernels/host_cost
kernels/verbs: =gpu kernels/gpu/session kernels/host_cost kernels/verbs/link kernels/verbs/memory kernels/verbs/proof kernels/verbs/rails kernels/verbs/staged kernels/verbs/stream kernels/verbs/transport
kernels: =core kernels/gpu kernels/mpi/binding kernels/verbs/memory kernels/verbs/transport
agent/os: =core
agent/node_facts:
agent/inventory/facts: =core controller/api
agent/inventory/sources: =core kernels/dl agent/inventory/facts agent/node_facts
agent/inventory: =core controller/api agent/inventory/facts agent/inventory/sources
agent/tasks: =core controller/api agent/os
agent/link: =core controller/api controller/trust agent/os
agent/enrol: =core agent/os controller/api controller/http controller/trust
agent/watch: =core kernels/dl controller/api agent/inventory/facts
agent/busy: =core kernels/dl controller/api agent/inventory/facts agent/os agent/tasks agent/watch
agent/preflight/rules: =core controller/api agent/inventory/facts
agent/preflight/checks: =core controller/api agent/inventory/facts agent/preflight/rules agent/watch
agent/preflight/probe: =core controller/api agent/inventory/facts agent/node_facts agent/os agent/preflight/rules agent/tasks
agent/preflight: =core controller/api agent/inventory agent/inventory/facts agent/os agent/preflight/checks agent/preflight/probe agent/preflight/rules
agent/fleet/scenario: =core controller/plan/suite controller/plan/topology
agent/fleet/model: =core agent/fleet/scenario
agent/fleet/node: =core controller/api agent/fleet/model agent/fleet/scenario agent/inventory agent/inventory/facts agent/preflight agent/preflight/rules
agent/fleet/agents: =core controller/api agent/fleet/model agent/fleet/node agent/fleet/scenario agent/link
agent/fleet: =core kernels/core/version controller/api controller/clock controller/log controller/trust agent/enrol agent/fleet/* agent/os agent/tasks
agent: =core kernels/core/version kernels/dl controller/api controller/http controller/log controller/metric controller/trust agent/busy agent/enrol agent/inventory agent/inventory/facts agent/link agent/os agent/preflight agent/preflight/probe agent/tasks agent/watch
controller/metric: =core
controller/clock: =core
controller/api: =core
controller/stats: =core
controller/trust: =core controller/clock
controller/trust/authority: =core controller/trust
controller/detect: =core controller/stats
controller/verdict: =core controller/stats
controller/localise: =core
controller/localise/retest: =core controller/localise
controller/parts/kept: =core controller/parts
controller/parts: =core controller/localise controller/stats
controller/sim: =core controller/localise controller/parts
controller/plan/policy: =core controller/api
controller/plan/suite: =core kernels/peers/osu kernels/peers/perftest controller/api controller/plan/policy
controller/plan/topology: =core kernels/peers/nccl_tests controller/plan/suite
controller/plan/rounds: =core controller/plan/suite controller/plan/topology
controller/plan: =core controller/plan/policy controller/plan/rounds controller/plan/suite controller/plan/topology
controller/run: =core controller/api controller/plan/policy
controller/report: =core controller/api controller/plan/topology
controller/store/sqlite: =core
controller/store/rows: =core controller/api controller/store/sqlite
controller/store/ingest: =core controller/api controller/store/rows controller/store/sqlite
controller/store/queries: =core controller/api controller/store/ingest controller/store/rows controller/store/sqlite
controller/store/outbox: =core controller/store/sqlite
controller/store/pairs: =core controller/store/rows controller/store/sqlite
controller/store/nodes: =core controller/store/ingest controller/store/rows controller/store/sqlite
controller/store/upkeep: =core controller/store/rows controller/store/sqlite
controller/store: =core controller/clock controller/store/*
controller/audit: =core controller/clock controller/store controller/store/rows
controller/http: =core
controller/enrol: =core controller/api controller/audit controller/http controller/plan/topology controller/store controller/store/nodes controller/trust controller/trust/authority
controller/deliver: =core controller/api controller/http controller/metric controller/report controller/store controller/store/outbox controller/trust
controller/mirror/pq: =core kernels/dl
controller/mirror: =core controller/clock controller/metric controller/mirror/pq controller/store controller/store/outbox controller/store/queries controller/trust
controller/console/views: =core controller/api controller/detect controller/report controller/stats
controller/console: =core controller/api controller/console/views controller/http controller/report
controller/log: =core
controller/fleet: =core controller/api controller/audit controller/clock controller/plan controller/plan/* controller/store controller/store/* controller/trust
controller/nodes: =core controller/api controller/fleet controller/plan/suite controller/plan/topology controller/store controller/store/nodes controller/store/queries controller/store/rows
controller/standby: =core controller/api controller/clock controller/fleet controller/http controller/listen controller/metric controller/mirror controller/mirror/pq controller/store/outbox controller/store/queries controller/store/sqlite controller/store/upkeep controller/trust
controller/listen: =core controller/fleet
controller/relay: =core controller/listen controller/trust
controller/history: =core controller/api controller/fleet controller/localise controller/localise/retest controller/nodes controller/plan controller/plan/topology controller/store controller/store/*
controller/control: =core controller/api controller/fleet controller/history controller/localise/retest controller/metric controller/nodes controller/plan controller/plan/* controller/run controller/stats controller/store controller/store/nodes controller/store/queries
controller/schedule: =core controller/api controller/control controller/fleet controller/plan/suite controller/store
controller/certificate/evidence: =core controller/api controller/certificate controller/findings controller/findings/changes controller/findings/proof controller/fleet controller/history controller/parts controller/stats controller/store controller/store/nodes controller/store/queries controller/trust controller/upgrades
controller/certificate: =core controller/trust
controller/upgrades: =core controller/api controller/detect controller/fleet controller/history controller/parts controller/parts/kept controller/plan/suite controller/stats controller/store controller/store/rows controller/verdict
controller/findings/changes: =core controller/api controller/detect controller/fleet controller/history controller/nodes controller/parts controller/parts/kept controller/stats controller/store controller/store/rows controller/upgrades
controller/findings/proof: =core controller/api controller/findings controller/findings/changes controller/fleet controller/history controller/nodes controller/parts controller/parts/kept controller/plan/rounds controller/plan/suite controller/stats controller/store controller/store/nodes controller/store/queries controller/store/rows controller/upgrades controller/verdict
controller/findings: =core controller/api controller/findings/changes controller/fleet controller/history controller/localise controller/nodes controller/parts controller/stats controller/store controller/store/nodes controller/store/queries controller/store/rows controller/upgrades controller/verdict
controller/gate: =core controller/api controller/control controller/findings controller/findings/changes controller/report controller/schedule controller/store controller/store/queries controller/upgrades
controller/exporter: =core controller/findings controller/findings/changes controller/fleet controller/history controller/metric controller/schedule controller/store
controller/rpc: =core controller/api controller/audit controller/control controller/enrol controller/findings controller/fleet controller/gate controller/history controller/schedule controller/upgrades
controller: =core kernels/core/version controller/api controller/audit controller/certificate/evidence controller/console controller/clock controller/control controller/deliver controller/enrol controller/exporter controller/findings controller/findings/proof controller/fleet controller/gate controller/history controller/http controller/listen controller/log controller/metric controller/mirror controller/mirror/pq controller/nodes controller/plan/topology controller/relay controller/report controller/rpc controller/schedule controller/standby controller/store controller/store/outbox controller/store/queries controller/store/upkeep controller/trust controller/trust/authority controller/upgrades
controller/cli/render: =core kernels/core/report controller/api
controller/cli/input: =core controller/api controller/cli/render controller/plan/topology controller/trust
controller/cli/live: =core controller/api controller/cli/input controller/cli/render
controller/cli/peers: =core kernels/peers kernels/peers/perftest kernels/peers/nccl_tests kernels/peers/osu controller/api controller/cli/render
controller/cli/report: =core kernels/peers/nccl_tests controller/api controller/detect controller/stats controller/cli/input controller/cli/render
controller/cli/bundle: =core controller/api controller/cli/peers controller/cli/render controller/cli/report controller/cli/verbs
controller/cli/demo: =core controller/api controller/clock controller/cli/input controller/cli/render controller/cli/verbs
controller/cli/site: =core controller/api controller/certificate controller/cli/live controller/metric controller/report controller/trust controller/cli/input controller/cli/render controller/cli/report controller/cli/verbs
controller/cli/mcp: =core controller/api controller/report controller/cli/input controller/cli/render controller/cli/site controller/cli/verbs
controller/cli/verbs: =core kernels/peers kernels/peers/perftest controller/api controller/clock controller/metric controller/plan/topology controller/trust/authority controller/cli/input controller/cli/live controller/cli/peers controller/cli/render controller/cli/report
controller/cli/archive: =core controller/api controller/mirror/pq controller/plan/topology controller/cli/input controller/cli/render controller/cli/verbs
controller/cli: =core kernels/core/version controller/api controller/cli/archive controller/cli/input controller/cli/live controller/cli/render controller/cli/verbs
deploy/vfabric: =core
deploy/compare: =core
deploy/truth: =core agent/fleet/* agent/tasks controller/api controller/findings controller/fleet controller/parts controller/parts/kept controller/plan controller/plan/* controller/localise
deploy/fuzz: =core kernels/* agent/* controller controller/*
'
# foreign header (a prefix): rooms that own it
owners='
infiniband/: kernels/verbs kernels/verbs/* kernels/dl kernels/fakes
rdma/: kernels/verbs/transport kernels/dl kernels/fakes
dlfcn.h: kernels/dl kernels/fakes kernels/core/base
spawn.h: kernels/core/base
sqlite3.h: controller/store/* agent/link agent/inventory/sources kernels/fakes
mpi.h: kernels/mpi/binding
grpc: agent/busy agent/fleet agent/link controller controller/fleet controller/console controller/listen controller/rpc controller/standby controller/cli controller/cli/* controller/api
yaml-cpp: controller/plan/suite controller/http
crypt.h: controller/http
prometheus/: agent controller/metric controller/exporter
httplib.h: controller/http
openssl/: controller/http controller/trust controller/trust/*
date/tz.h: controller/schedule
CLI/: agent agent/enrol agent/fleet controller controller/cli controller/cli/* kernels/runner
spdlog/: agent agent/* controller controller/audit controller/control controller/deliver controller/enrol controller/exporter controller/findings controller/findings/proof controller/fleet controller/gate controller/history controller/http controller/listen controller/log controller/mirror controller/nodes controller/relay controller/rpc controller/run controller/standby controller/schedule controller/store controller/store/* controller/upgrades
'
# Rooms that judge, and the modelled fabric. Their code reads no clock, file, socket, random number or other state of the process (std::lgamma
# writes `signgam`).
pure='controller/stats controller/detect controller/localise controller/localise/retest controller/parts controller/verdict controller/run controller/plan/rounds agent/fleet/model agent/fleet/agents'
impure='_clock|[^_a-z]time\(|random_device|std::rand|srand\(|std::lgamma|getenv|std::[io]?fstream|thread_local'
impure+='|#include <(chrono|ctime|fstream|iostream|thread|mutex|unistd\.h|sys/[a-z]*\.h)>'

# Prints every file, every #include and, in the pure rooms, every impure word, as "file<TAB>kind<TAB>text".
facts() {
  { git ls-files -z '*.h' '*.cc' '*.cu' | xargs -0 -r grep -HE '^#include ' || true; } |
    sed -nE 's/^([^:]*):#include "([^"]*)".*/\1\town\t\2/p; s/^([^:]*):#include <([^>]*)>.*/\1\tforeign\t\2/p'
  local patterns=()
  for room in $pure; do patterns+=("$room/*.h" "$room/*.cc"); done
  { git ls-files -z "${patterns[@]}" | grep -zvE '_(test|bench)\.cc$|/testing/' || true; } |
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
  # Adds every room that the pattern names: "=name" those of that row, "*" any room below.
  function allow(table, key, pattern,   other, stem, words, word, i) {
    if (pattern in alias) {
      words = split(alias[pattern], word, " ")
      for (i = 1; i <= words; ++i) allow(table, key, word[i])
      return
    }
    if (pattern !~ /\*$/) { table[key, pattern]; return }
    stem = substr(pattern, 1, length(pattern) - 1)
    for (other in is_room) if (index(other, stem) == 1) table[key, other]
  }
  function complain(file, text) { print file ": " text; bad = 1 }
  BEGIN {
    lines = split(rooms, row, "\n")
    for (i = 1; i <= lines; ++i) if (split(row[i], part, ":") > 1) {
      if (part[1] ~ /^=/) alias[part[1]] = part[2]; else { is_room[part[1]]; allowed_text[part[1]] = part[2] }
    }
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
  { room = room_of($1); top = $1; sub(/\/.*/, "", top); is_test = $1 ~ /_(test|bench|fuzz)\.(cc|cu)$|\/testing\// }
  $2 == "file" && room == "" { complain($1, "no rule for its folder in check_includes.sh") }
  $2 == "own" && $3 ~ /^(kernels|agent|controller|deploy)\// && room != "" {
    target = room_of($3)
    if (target == room || (room, target) in may) next
    if (room ~ /^kernels\/fakes/ && $3 ~ /\.cu$/) next  # the fake driver compiles device code for the CPU
    if (is_test && (index(target, top) == 1 || target ~ /^kernels|^controller\/(api|metric)$/)) next
    complain($1, "includes " $3 ", which " room " may not (allowed:" (allowed_text[room] == "" ? " nothing" : allowed_text[room]) ")")
  }
  $2 == "foreign" && room != "" && !is_test {
    for (i = 1; i <= count; ++i)
      if (index($3, prefixes[i]) == 1 && !((i, room) in owns)) complain($1, "includes <" $3 ">, owned by " owner_text[i])
  }
  $2 == "impure" { complain($1, "has " $3 "; " room " knows no clock, file, socket or state of the process") }
  END { exit bad }'
