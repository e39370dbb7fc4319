#!/usr/bin/env bash
# Attacks a controller, agents and runners as real processes on loopback, and prints one line a case: its name, what is
# asked, what was seen, and whether that is ok. deploy/docs/guide/security.md has the threats; the short form takes at most
# 120 s. RAILGAUGE_CHECK_FULL=1 opens connections for a whole minute. A case by name: deploy/e2e/trust.sh WORD...
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/trust_bench.sh"
command -v openssl >/dev/null || { echo "waived: no openssl here"; exit 77; }
full=${RAILGAUGE_CHECK_FULL:-0}
mkdir -p "$work/suites"
cat >"$work/suites/pairs.yaml" <<'Y'
version: 1
metadata: {name: pairs}
stages:
  - {kernel: fake.lat, placement: {pairs: all}}
Y
cat >"$work/suites/tested.yaml" <<'Y'
version: 1
metadata: {name: tested}
stages:
  - {kernel: test.latency, parameters: {sizes: 8}, placement: {pairs: all}}
Y

# --- the listener --------------------------------------------------------------------------------

# idle_connections LIMITS COUNT: for each kind of unfinished handshake, COUNT connections for a second. The unix socket
# answers meanwhile, TLS after it, and /healthz stays right about the port.
idle_connections() {
  local limits=$1 send calls=0 answered=0 from took worst=0 lost=""
  serve
  for send in nothing half hello; do
    sleep 1 | "$attacker" hold --to="127.0.0.1:$port" --count="$2" --send="$send" --hold=5 &
    echo $! >"$work/hold.pid"
    while kill -0 "$(pid_of hold)" 2>/dev/null; do
      calls=$((calls + 1))
      ! timeout 2 "$bin/railgauge" --controller "unix:$socket" version >/dev/null || answered=$((answered + 1))
      sleep 0.1
    done
    from=$(now_ms)
    until timeout 2 "$bin/railgauge" --controller "127.0.0.1:$port" --tls-cert "$pki/op.crt" --tls-key "$pki/op.key" \
      --tls-ca "$pki/ca.crt" version >/dev/null || ! at_most "$(seconds_since "$from")" 2; do sleep 0.05; done
    took=$(seconds_since "$from")
    ! at_most "$worst" "$took" || worst=$took
    at_most "$took" 2 || { lost=$send; break; }
  done
  saw "TLS ${lost:+not }within $worst s${lost:+ after \"$lost\"}"
  saw "socket $answered of $calls"
  saw "healthz $(curl -s -o /dev/null --max-time 2 -w '%{http_code}' "http://127.0.0.1:$http_port/healthz" || true)"
  [ -z "$lost" ] && [ "$answered" = "$calls" ] && [ "$calls" -gt 2 ]
  [ "$(curl -s -o /dev/null --max-time 2 -w '%{http_code}' "http://127.0.0.1:$http_port/healthz" || true)" = 200 ]
}

# 65,000 openings in 60 s; the short form keeps the rate for 5 s. The agent begins anew in the middle of it.
openings() {
  local seconds=5 from took
  [ "$full" = 0 ] || seconds=60
  serve
  tls_agent n1 "$work/state-openings"
  wait_for "the agent attaches" 20 grep -q 'attached to' "$work/agent-n1.log"
  "$attacker" openings --to="127.0.0.1:$port" --rate=1084 --seconds="$seconds" --sources=32 --keep=800 --send=half >"$work/openings" &
  echo $! >"$work/openings.pid"
  sleep 1
  stop_hard agent-n1
  : >"$work/agent-n1.log"
  tls_agent n1 "$work/state-openings"
  from=$(now_ms)
  wait_for "the agent attaches again" 15 grep -q 'attached to' "$work/agent-n1.log" || true
  took=$(seconds_since "$from")
  wait "$(pid_of openings)" || true
  saw "$(cat "$work/openings") (scale $seconds/60)"
  saw "attached again after $took s"
  grep -q 'attached to' "$work/agent-n1.log"
  at_most "$took" 15
  from=$(now_ms)
  timeout 2 "$bin/railgauge" --controller "127.0.0.1:$port" --tls-cert "$pki/op.crt" --tls-key "$pki/op.key" --tls-ca "$pki/ca.crt" version
  saw "TLS after it $(seconds_since "$from") s"
}

idle_http() {
  local from took code
  serve
  sleep 3 | "$attacker" hold --to="127.0.0.1:$http_port" --count=12 --hold=5 >"$work/held" &
  echo $! >"$work/hold.pid"
  wait_for "12 connections are open" 5 grep -q held "$work/held"
  from=$(now_ms)
  code=$(curl -s -o /dev/null --max-time 4 -w '%{http_code}' "http://127.0.0.1:$http_port/healthz" || true)
  took=$(seconds_since "$from")
  saw "/healthz $code after $took s"
  [ "$code" = 200 ] && at_most "$took" 1
}

# --- identity ------------------------------------------------------------------------------------

# An image of a disk that holds agent-node-id: n2 begins with a copy of n1's state folder.
copied_state_folder() {
  local alike
  serve
  tls_agent n1 "$work/state-n1"
  wait_for "n1 attaches" 20 is_attached n1
  mkdir "$work/state-n2"; cp "$work/state-n1/agent-node-id" "$work/state-n2/"
  : >"$work/agent-n2.log"
  tls_agent n2 "$work/state-n2"
  tls_agent n3 "$work/state-n3"
  wait_for "n3 attaches" 20 is_attached n3
  wait_for "n2 has its answer" 20 grep -qE 'attached to|somebody has to act' "$work/agent-n2.log"
  timeout 60 "$bin/railgauge" --controller "unix:$socket" run tested || true
  alike=$(sqlite3 "$work/railgauge.db" "SELECT count(*) FROM (SELECT series FROM series_endpoint JOIN endpoint ON endpoint.id = endpoint
    GROUP BY series HAVING count(*) > 1 AND count(DISTINCT node) < count(*))")
  mixed=$(sqlite3 "$work/railgauge.db" "SELECT count(*) FROM (SELECT series FROM point JOIN rank ON rank.id = point.rank JOIN attempt ON attempt.id = rank.attempt
    JOIN task_rank ON task_rank.task = attempt.task GROUP BY series HAVING count(DISTINCT node_name) > 2)")
  saw "n2 $(grep -q 'attached to' "$work/agent-n2.log" && echo attached || echo refused)"
  saw "$alike series with both ends alike"
  saw "$mixed series of more than two nodes"
  saw "names: $(local_cli nodes -o json | jq -r '[.nodes[].name] | join(" ")')"
  grep -iE 'cop(y|ied)|clone' "$work/agent-n2.log" | grep -iE 'state|agent-node-id'
  lacks "$work/agent-n2.log" 'attached to'
  [ "$alike" = 0 ]
  [ "$mixed" = 0 ]
  is_attached n1
}

# Rows of nodes without times.
who_is_there() { local_cli nodes -o json | jq -c '[.nodes[] | {name, node_id, state}]'; }

# The certificate of n1 with the id of n2, while n2 is attached and after it has left; then with the name of n2.
anothers_id() {
  local before answer first second third
  serve
  puppet n1; puppet n2
  ask n2 "hello name=n2"; [ "$answer" = welcome ]
  before=$(who_is_there)
  ask n1 "hello name=n1 id=id-n2"; first=$answer
  [ "$(who_is_there)" = "$before" ] || first="$first and nodes changed"
  ask n1 "hello name=n2 id=id-n2"; second=$answer
  ask n2 "quit"
  wait_for "n2 has left" 10 eval '! is_attached n2'
  before=$(who_is_there)
  ask n1 "hello name=n1 id=id-n2"; third=$answer
  [ "$(who_is_there)" = "$before" ] || third="$third and nodes changed"
  saw "id of an attached node: $first"
  saw "name of another: $second"
  saw "id of one that left: $third"
  for answer in "$first" "$second" "$third"; do
    [[ $answer == "refused 7 "* && $answer != *"nodes changed" ]]  # 7: PERMISSION_DENIED
  done
}

# --- records -------------------------------------------------------------------------------------

# Everything that a reader sees of stored points, attempts that do not count too.
all_that_is_stored() {
  local id
  local_cli results all --all-attempts -o json
  local_cli results all -o json
  local_cli history -o json
  for id in $(sqlite3 "$work/railgauge.db" 'SELECT id FROM series'); do local_cli history "$id" -o json; done
}
# changes_nothing TITLE COMMAND...: the puppet of n1 sends these; no reader sees a difference.
changes_nothing() {
  local title=$1 command; shift
  all_that_is_stored >"$work/before"
  for command in "$@"; do
    ask n1 "$command"
    [[ $answer != ended* ]] || ask n1 "hello name=n1"
  done
  all_that_is_stored >"$work/after"
  cmp -s "$work/before" "$work/after" && return
  diff "$work/before" "$work/after" | head -20
  saw "$title CHANGED it"
  return 1
}
# One task of n1 (rank 0) and n2 (rank 1): begun, with a point, not ended.
begin_task() {
  serve
  puppet n1; puppet n2
  ask n1 "hello name=n1"; [ "$answer" = welcome ]
  ask n2 "hello name=n2"; [ "$answer" = welcome ]
  run=$(local_cli run pairs --detach)
  ask n1 go; [[ $answer == go* ]]
  ask n2 go; [[ $answer == go* ]]
  ask n1 "record started"; [ "$answer" = ack ]
  ask n2 "record started"; [ "$answer" = ack ]
  ask n1 "record point median=3319"; [ "$answer" = ack ]
  local_cli results all --all-attempts -o json | jq -e '.points | length == 1'
}
end_task() {
  ask n1 "record final sequence=50"; ask n1 "ended passed"
  ask n2 "record final sequence=50"; ask n2 "ended passed"
  wait_for "the run ends" 20 eval "[ \"\$(local_cli runs show $run -o json | jq -r .run.outcome)\" = passed ]"
}
forged_records() {
  local bad=0 moment attempt=4 at=60
  begin_task
  for moment in running ended; do
    [ "$moment" = running ] || end_task
    attempt=$((attempt + 1)) at=$((at + 10))
    changes_nothing "a forged attempt ($moment)" "record started attempt=$attempt sequence=0" \
      "record point attempt=$attempt sequence=1 median=1" "record final attempt=$attempt sequence=2" || bad=1
    changes_nothing "an undeclared metric ($moment)" "record point sequence=$at metric=made_up_ns median=1" || bad=1
    changes_nothing "a replay ($moment)" "record point sequence=1 median=1" || bad=1
    changes_nothing "a foreign rank ($moment)" "record started rank=1 sequence=0" "record point rank=1 sequence=$at median=1" || bad=1
    changes_nothing "a run of nobody ($moment)" "record started run=none sequence=0" "record point run=none sequence=1 median=1" || bad=1
  done
  changes_nothing "a point after the final record" "record point sequence=90 median=1" || bad=1
  changes_nothing "n2's rank by the id of n2" "hello name=n1 id=id-n2" "record point rank=1 sequence=91 median=1" || bad=1
  [ "$bad" = 1 ] || saw "byte-identical $(wc -c <"$work/after") bytes"
  [ "$bad" = 0 ]
}
# n1 declares kernels as jq's filter changes them; n2 and n3 are honest. Its words plan nobody's tasks.
declared_kernels() {
  local filter form=0 bad=0 state why
  printf 'version: 1\nmetadata: {name: declared}\nstages:\n  - {kernel: test.latency, parameters: {sizes: 8}, placement: {pairs: all}}\n' \
    >"$work/suites/declared.yaml"
  printf '#!/bin/sh\n[ "$1" = --list ] || exec "%s" "$@"\n"%s" --list --format json | jq "$(cat %s)"\n' "$bin/railgauge-runner-testing" \
    "$bin/railgauge-runner-testing" "$work/filter" >"$work/lying-runner"
  chmod +x "$work/lying-runner"
  serve
  tls_agent n2 "$work/declared-n2"; tls_agent n3 "$work/declared-n3"
  wait_for "n2 and n3 attach" 20 eval 'is_attached n2 && is_attached n3'
  for filter in \
    '.kernels |= map(if .name == "test.latency" then .parameters += [{name: "sizes", type: "text", default_value: "8"}] else . end)' \
    '.kernels |= map(if .name == "test.latency" then .metrics = [range(256) | "junk_\(.)_ns"] else . end)' \
    '.kernels |= map(.revision = 4000000000)' \
    '.kernels |= map(if .name == "test.latency" then .parameters |= map(.default_value |= (if . == "false" then "true" else . end) | .identity = false) else . end)'; do
    form=$((form + 1))
    echo "$filter" >"$work/filter"
    : >"$work/agent-n1.log"
    tls_agent n1 "$work/declared-n1" --runner "$work/lying-runner"
    wait_for "n1 attaches or is refused" 20 eval 'is_attached n1 || grep -q refused "$work/agent-n1.log"'
    state=$(is_attached n1 >/dev/null && echo attached || echo refused)
    timeout 40 "$bin/railgauge" --controller "unix:$socket" run declared --all -o json >"$work/declared.json" 2>"$work/declared.err" || true
    why=$(jq -r '[.points[] | select(.endpoints | map(startswith("n1/")) | any | not)] | length' "$work/declared.json" 2>/dev/null || echo 0)
    [ "$why" -ge 1 ] && alive controller || { bad=1; tail -n 3 "$work/declared.err"; }
    saw "form $form: n1 $state, n2 with n3: $why points"
    kill -KILL "$(pid_of agent-n1)"; rm -f "$work/agent-n1.pid"
    wait_for "n1 is gone" 20 eval '! is_attached n1'
  done
  [ "$bad" = 0 ]
}
# n1's clock is 400 days ahead.
skewed_clock() {
  local beside
  begin_task
  ask n1 "heartbeat 34560000"
  ask n1 "record point sequence=2 median=3320 time=34560000"
  ask n1 "record point sequence=3 median=3321 time=-34560000"
  beside=$(sqlite3 "$work/railgauge.db" "SELECT max(abs(measured_ms / 1000 - unixepoch())) FROM point")
  saw "points at most $beside s beside the controller's clock"
  saw "events: $(sqlite3 "$work/railgauge.db" "SELECT count(*) FROM event WHERE text LIKE '%clock%' OR kind LIKE '%clock%' OR kind LIKE '%skew%'")"
  [ "$beside" -lt 3700 ]
  [ "$(sqlite3 "$work/railgauge.db" "SELECT count(*) FROM event WHERE text LIKE '%clock%' OR kind LIKE '%clock%' OR kind LIKE '%skew%'")" -gt 0 ]
}
# 6,000 series by one rank.
many_series() {
  local series i
  begin_task
  for i in 1 2 3; do ask n1 "record point bytes=$((i * 10000)) step=1 sequence=$((i * 10000)) repeat=2000"; [[ $answer != ended* ]] || ask n1 "hello name=n1"; done
  series=$(sqlite3 "$work/railgauge.db" "SELECT count(*) FROM series")
  saw "$series series"
  [ "$series" -le 4096 ] && [ "$series" -ge 1 ]
}

# --- floods by one certificate -------------------------------------------------------------------

stream_flood() {
  local before peak after from took kind hello count bad=0
  serve
  puppet n2
  ask n2 "hello name=n2 incarnation=warm"
  for kind in silent greeting; do
    hello="" count=20400
    [ "$kind" = silent ] || hello="--hello" count=2000
    before=$(rss_of controller)
    # shellcheck disable=SC2046,SC2086  # words
    sleep 5 | "$attacker" streams --to="127.0.0.1:$port" $(by_certificate n1) --count=$count --channels=40 --name=n1 $hello --hold=8 >"$work/streams" 2>>"$work/puppets.log" &
    echo $! >"$work/streams.pid"
    peak_of controller 4 >"$work/peak" &
    echo $! >"$work/peak.pid"
    wait_for "the streams are asked for" 30 grep -q asked "$work/streams"
    from=$(now_ms)
    ask n2 "hello name=n2 incarnation=$kind"
    took=$(seconds_since "$from")
    wait "$(pid_of streams)" "$(pid_of peak)" || true
    peak=$(cat "$work/peak")
    after=$((peak - before))
    saw "$kind: attached after $took s"; saw "memory $(megabytes "$after")"; saw "$(tail -n 1 "$work/streams")"
    [ "$answer" = welcome ] && at_most "$took" 2 && [ "$after" -le 50000000 ] || bad=1
  done
  [ "$bad" = 0 ]
}

# A viewer asks for 32 MB a second and takes nothing of it.
untaken_answers() {
  local before peak
  serve
  before=$(rss_of controller)
  # shellcheck disable=SC2046  # words
  "$top/deploy/e2e/flood.py" --to="127.0.0.1:$port" $(by_certificate vi) --kind=window --connections=1 --seconds=9 >"$work/flood" &
  echo $! >"$work/flood.pid"
  peak_of controller 9 >"$work/peak"
  wait "$(pid_of flood)" || return 1
  peak=$(($(cat "$work/peak") - before))
  saw "$(cat "$work/flood"); memory $(megabytes "$peak"); $(grep -c 'answers to this caller are not taken' "$work/controller.log") refused"
  # At least one answer was held, so the attack reached what it is meant for.
  [ "$peak" -ge 30000000 ] && [ "$peak" -le 250000000 ]
}

# Frames that no gRPC client sends. Both ways to the controller answer meanwhile, and gRPC never has what it cannot bound.
frame_flood() {
  local before peak from took worst kind way bad=0
  serve
  for kind in reset open continuation settings; do
    before=$(rss_of controller)
    # shellcheck disable=SC2046  # words
    "$top/deploy/e2e/flood.py" --to="127.0.0.1:$port" $(by_certificate n1) --kind=$kind --connections=4 --seconds=2 >"$work/flood" &
    echo $! >"$work/flood.pid"
    peak_of controller 2 >"$work/peak" &
    echo $! >"$work/peak.pid"
    worst=0
    for way in tls socket tls socket; do
      sleep 0.3
      from=$(now_ms)
      if [ "$way" = tls ]; then
        timeout 10 "$bin/railgauge" --controller "127.0.0.1:$port" --tls-cert "$pki/op.crt" --tls-key "$pki/op.key" --tls-ca "$pki/ca.crt" version || bad=1
      else
        local_cli nodes >/dev/null || bad=1
      fi
      took=$(seconds_since "$from")
      at_most "$took" "$worst" || worst=$took
    done
    wait "$(pid_of flood)" "$(pid_of peak)" || bad=1
    peak=$(($(cat "$work/peak") - before))
    saw "$(cat "$work/flood")"
    saw "$kind: TLS and socket within $worst s, memory $(megabytes "$peak")"
    at_most "$worst" 2 && [ "$peak" -le 100000000 ] || bad=1
  done
  [ "$bad" = 0 ]
}

hello_flood() {
  local database log
  serve
  puppet n2
  ask n2 "hello name=n2"
  database=$(size_of "$work"/railgauge.db*) log=$(size_of "$work/controller.log")
  # shellcheck disable=SC2046  # words
  "$attacker" hellos --to="127.0.0.1:$port" $(by_certificate n1) --name=n1 --id=id-n1 --count=100 --bytes=7000000 >"$work/hellos" 2>>"$work/puppets.log"
  sleep 1
  database=$(($(size_of "$work"/railgauge.db*) - database)) log=$(($(size_of "$work/controller.log") - log))
  saw "$(cat "$work/hellos")"
  saw "database $(megabytes "$database"), log $(megabytes "$log")"
  saw "escapes in the log: $(grep -c $'\x1b' "$work/controller.log" || true), forged lines: $(grep -c '^2026-01-01.*forged' "$work/controller.log" || true)"
  [ "$database" -le 1000000 ]
  [ "$log" -le 1000000 ]
  lacks "$work/controller.log" $'\x1b'
  lacks "$work/controller.log" '^2026-01-01.*forged'
  ask n2 alive; [ "$answer" = alive ]
}

# 60 welcome Hellos, each with other facts, settings and firmware.
changing_hellos() {
  local database
  serve
  puppet n2
  ask n2 "hello name=n2"; [ "$answer" = welcome ]
  database=$(size_of "$work"/railgauge.db*)
  # shellcheck disable=SC2046  # words
  "$attacker" hellos --to="127.0.0.1:$port" $(by_certificate n1) --name=n1 --id=id-n1 --count=60 --changes=1 >"$work/hellos" 2>>"$work/puppets.log"
  sleep 1
  database=$(($(size_of "$work"/railgauge.db*) - database))
  saw "$(cat "$work/hellos")"
  saw "database $(megabytes "$database"), longest event $(sqlite3 "$work/railgauge.db" 'SELECT max(length(text)) FROM event') bytes"
  saw "$(sqlite3 "$work/railgauge.db" 'SELECT count(*) FROM epoch') epochs"
  [ "$database" -le 3000000 ]
  [ "$(sqlite3 "$work/railgauge.db" 'SELECT max(length(text)) FROM event')" -le 1100 ]
  grep -qE 'welcomed (5[0-9]|60) ' "$work/hellos"
  ask n2 alive; [ "$answer" = alive ]
}

# suite_of STAGES: a suite of so many stages, each a thousand times.
suite_of() {
  local i
  printf 'version: 1\nmetadata: {name: bomb}\nstages:\n'
  for ((i = 0; i < $1; i++)); do echo "  - {kernel: fake.lat, name: s$i, repetitions: 1000, placement: {pairs: all}}"; done
}
# A viewer plans a suite of 3,000,000 rounds, then four at once just below the bound, while an operator asks.
planned_bombs() {
  local from took before peak
  serve
  puppet n1; puppet n2; puppet n3
  for node in n1 n2 n3; do ask "$node" "hello name=$node"; [ "$answer" = welcome ]; done
  suite_of 1000 >"$work/bomb.yaml"
  suite_of 300 >"$work/large.yaml"
  before=$(rss_of controller)
  from=$(now_ms)
  if viewer_cli suites plan "$work/bomb.yaml" >"$work/planned" 2>&1; then return 1; fi
  saw "3,000,000 rounds: $(grep -o 'a plan has at most [0-9]*' "$work/planned") after $(seconds_since "$from") s"
  grep -q 'suite bomb: stage s333 has 3 rounds x 1000 repetitions' "$work/planned"
  if viewer_cli db check >"$work/checked" 2>&1; then return 1; fi
  grep -q 'this needs OU=operator' "$work/checked"
  peak_of controller 3 >"$work/peak" &
  echo $! >"$work/peak.pid"
  for i in 1 2 3 4; do
    viewer_cli suites plan "$work/large.yaml" >/dev/null 2>&1 &
    echo $! >"$work/viewer-$i.pid"
  done
  sleep 0.5
  from=$(now_ms)
  local_cli nodes >/dev/null
  took=$(seconds_since "$from")
  wait "$(pid_of peak)" || true
  peak=$(($(cat "$work/peak") - before))
  saw "four of 900,000: the socket after $took s, memory $(megabytes "$peak")"
  at_most "$took" 2 && [ "$peak" -le 700000000 ]
}

# An empty database stays open to real nodes.
modelled_agent() {
  local first
  serve
  puppet n1; puppet n2
  ask n1 "hello name=n1 synthetic=1"; first=$answer
  ask n2 "hello name=n2"
  saw "modelled: $first"; saw "real: $answer"
  [[ $first == "refused 9 "*"--synthetic"* ]] && [ "$answer" = welcome ]  # 9: FAILED_PRECONDITION
}

# readable_outputs FOLDER: what every list verb prints in every format, a file each.
readable_outputs() {
  local verb format run=$1 words file asked
  mkdir -p "$work/outputs"
  while read -r verb; do
    asked=()
    for format in table json csv ndjson; do
      file=$work/outputs/$(tr -c 'a-z0-9\n' '_' <<<"$verb").$format
      read -r -a words <<<"$verb"
      local_cli "${words[@]}" -o "$format" >"$file" 2>"$file.err" &
      asked+=($!)
    done
    wait "${asked[@]}" || true
  done <<V
nodes
audit
nodes show n1
nodes diff n1 n2
topo n1
kernels
kernels show fake.lat
suites
runs
runs show $run
runs show $run --phases
results all
results all --all-attempts
history
history 1
runs matrix
runs suspects
findings
upgrades
schedules
baselines
db stats
export all
preflight n1
preflight n1 --explain
metrics
events
report
report --since 24h
doctor
certificate $run
V
  for format in html md; do local_cli report -o "$format" >"$work/outputs/report.$format" 2>&1 || true; done
  local_cli certificate "$run" -o json >"$work/outputs/certificate" 2>&1 || true
  local_cli verify "$work/outputs/certificate" >"$work/outputs/verify" 2>&1 || true
  mkdir -p "$work/outputs/bundle"
  local_cli bundle n1 --file "$work/n1.tar" >"$work/outputs/bundle_n1" 2>&1 || true
  local_cli bundle "$run" --file "$work/run.tar" >"$work/outputs/bundle_run" 2>&1 || true
  for file in n1 run; do mkdir -p "$work/outputs/bundle/$file" && tar -xf "$work/$file.tar" -C "$work/outputs/bundle/$file"; done
  console_outputs "$run"
  local_cli sql "SELECT * FROM event" >"$work/outputs/sql" 2>&1 || true
  local_cli sql "SELECT * FROM fact_set" -o json >"$work/outputs/sql.json" 2>&1 || true
  curl -s --max-time 5 "http://127.0.0.1:$http_port/metrics" >"$work/outputs/metrics" || true
  cp "$work/controller.log" "$work/outputs/controller.log"
}
# console_session: the header of the session that $work/console, the answer to a ticket, has begun.
console_session() { sed -n 's/.*content="\([0-9a-f]*\)".*/X-Railgauge-Session: \1/p' "$work/console"; }
# console_outputs RUN: the console's JSON and pages, by a session of the socket.
console_outputs() {
  local url path
  url=$(local_cli console | grep -o 'http://[^ ]*ticket=[0-9a-f]*') || return 0
  curl -s --max-time 5 "$url" | tee "$work/console" >"$work/outputs/console_login"
  while read -r path; do
    curl -s --max-time 5 -H "$(console_session)" "${url%%/login*}/api/v1/$path" >"$work/outputs/console_$(tr -c 'a-z0-9\n' '_' <<<"$path")" || true
  done <<P
nodes
nodes/n1?with_facts=true
runs
runs/$1
runs/$1/results
results
series
findings
events
upgrades
schedules
suites
session
P
}
# receive_reports FOLDER: an HTTP port that keeps the bodies of what is posted; its number is in `reports_port`.
receive_reports() {
  mkdir -p "$1"
  python3 - "$1" >"$work/receiver.out" 2>/dev/null <<'P' &
import http.server, sys
class Keep(http.server.BaseHTTPRequestHandler):
    count = 0
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        Keep.count += 1
        open(f"{sys.argv[1]}/post{Keep.count}{self.path.replace('/', '_')}", "wb").write(body)
        self.send_response(200); self.end_headers()
server = http.server.HTTPServer(("127.0.0.1", 0), Keep)
print(server.server_port, flush=True)
server.serve_forever()
P
  echo $! >"$work/receiver.pid"
  wait_for "the receiver listens" 10 test -s "$work/receiver.out"
  reports_port=$(cat "$work/receiver.out")
}
have_reports() { [ "$(find "$work/reports" -type f -size +0 | wc -l)" -ge 3 ]; }
# n1 puts terminal escapes into each text of its Hello, its records, its reasons, its events and its preflight.
escapes_in_outputs() {
  local files dirty reports
  printf '#!/bin/sh\ncat >>%q\n' "$work/reports/mail" >"$work/sendmail"
  chmod +x "$work/sendmail"
  receive_reports "$work/reports"
  serve --console-listen "127.0.0.1:$("$attacker" port)" --webhook-url "http://127.0.0.1:$reports_port/json" \
    --chat-url "http://127.0.0.1:$reports_port/chat" --sendmail "$work/sendmail" --mail-to op@example.org
  puppet n1; puppet n2
  ask n1 "hello name=n1 escape=1"; saw "hostile Hello: ${answer%% *}"
  ask n1 "hello name=n1 incarnation=second"; [ "$answer" = welcome ]
  ask n2 "hello name=n2"; [ "$answer" = welcome ]
  local_cli schedules add evening pairs --cron "0 3 * * *"
  local_cli schedules run-now evening
  ask n1 go; [[ $answer == go* ]]
  run=$(cut -d ' ' -f 2 <<<"$answer")
  ask n2 go
  ask n1 "record started escape=1"; ask n1 "record point escape=1"; ask n1 "record note escape=1"; ask n2 "record started"
  ask n1 "record final outcome=failed escape=1"; ask n1 "ended failed"; ask n2 "record final"; ask n2 "ended passed"
  ask n1 "hello name=n1 incarnation=third escape=1"
  ask n1 "hello name=n1 incarnation=fourth"; [ "$answer" = welcome ]
  ask n1 trouble
  wait_for "the reports are sent" 15 have_reports || true
  readable_outputs "$run"
  reports=$(find "$work/reports" -type f -size +0 | wc -l)
  cp -r "$work/reports" "$work/outputs/"
  files=$(find "$work/outputs" -type f -size +0 | wc -l)
  dirty=$({ LC_ALL=C grep -lrP '\x1b|\xc2[\x80-\x9f]' "$work/outputs" || true; } | xargs -r -n 1 basename | sort | paste -sd ' ')
  saw "$files outputs and $reports reports, with ESC or C1: ${dirty:-none}"
  [ "$files" -gt 60 ] && [ "$reports" -ge 3 ] && [ -z "$dirty" ]
}

# --- certificates --------------------------------------------------------------------------------

serial_of_port() {
  openssl s_client -connect "127.0.0.1:$port" -cert "$pki/op.crt" -key "$pki/op.key" -CAfile "$pki/ca.crt" </dev/null 2>/dev/null | openssl x509 -noout -serial 2>/dev/null || true
}
has_new_serial() { [ "$(serial_of_port)" = "$(openssl x509 -in "$pki/controller.crt" -noout -serial)" ]; }
replaced_certificate() {
  local from old
  serve
  tls_agent n1 "$work/state-reload"
  puppet n2
  ask n2 "hello name=n2"; [ "$answer" = welcome ]
  wait_for "n1 attaches" 20 is_attached n1
  old=$(serial_of_port || true)
  mkdir "$work/renewed"
  cp "$pki/ca.crt" "$pki/ca.key" "$work/renewed/"
  "$top/deploy/pki.sh" controller "$work/renewed" 127.0.0.1 localhost
  mv "$work/renewed/controller.key" "$work/renewed/controller.crt" "$pki/"
  kill -HUP "$(pid_of controller)" "$(pid_of agent-n1)"
  from=$(now_ms)
  wait_for "the port shows the new serial" 5 has_new_serial || true
  saw "serial $(has_new_serial && echo new || echo "not new") after $(seconds_since "$from") s"
  saw "controller $(alive controller && echo runs || echo ended), agent $(alive agent-n1 && echo runs || echo ended)"
  sleep 1
  ask n2 alive
  saw "stream of n2 $answer, ends of streams: $(grep -c 'its stream ended' "$work/controller.log" || true)"
  [ "$answer" = alive ]
  alive controller
  alive agent-n1
  has_new_serial
  [ "$(serial_of_port)" != "$old" ]
  lacks "$work/controller.log" 'its stream ended'
}
revoked_certificate() {
  local from gone="" url page
  make_crl
  has_flag railgauge-controller tls-crl || { saw "no --tls-crl"; return 1; }
  serve --tls-crl "$pki/crl.pem" --console-listen "127.0.0.1:$("$attacker" port)"
  url=$(viewer_cli console | grep -o 'http://[^ ]*ticket=[0-9a-f]*')
  page=${url%%/login*}/api/v1/session
  curl -s --max-time 5 "$url" >"$work/console"
  [ "$(curl -s -o /dev/null --max-time 5 -H "$(console_session)" -w '%{http_code}' "$page")" = 200 ]
  puppet n1; puppet n2
  ask n1 "hello name=n1"; [ "$answer" = welcome ]
  ask n2 "hello name=n2"; [ "$answer" = welcome ]
  make_crl n1 vi
  kill -HUP "$(pid_of controller)"
  from=$(now_ms)
  while at_most "$(seconds_since "$from")" 10; do
    ask n1 alive
    [[ $answer != ended* ]] || { gone=$(seconds_since "$from"); break; }
    sleep 0.2
  done
  saw "n1 gone after ${gone:-more than 10} s"
  [ -n "$gone" ]
  ask n1 "hello name=n1 incarnation=again"; saw "again: ${answer%% *}"
  [[ $answer == refused* ]]
  ask n2 alive; saw "n2 $answer"
  [ "$answer" = alive ]
  page=$(curl -s -o /dev/null --max-time 5 -H "$(console_session)" -w '%{http_code}' "$page")
  saw "a revoked viewer's console session: $page"
  [ "$page" = 401 ]
}

# Strangers at the enrolment port: silent connections, guesses of tokens, an operator who asks for a token. A node enrols
# meanwhile, and nobody who has no token gets a certificate.
enrolment() {
  local enroll_port from code codes="" guess node=$work/enrolled
  enroll_port=$("$attacker" port)
  serve --enroll-listen "127.0.0.1:$enroll_port" --enroll-pki "$pki"
  local_cli --quiet tokens create --nodes n9 >"$work/token"
  code=0; tls_cli tokens create >"$work/refused" 2>&1 || code=$?
  saw "an operator who asks for a token ends with $code"
  [ "$code" != 0 ]
  lacks "$work/refused" rgt_
  guess=rgt_00000000_00000000000000000000000000000000_$(cut -d_ -f4 "$work/token")
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
    code=$(curl -s -o /dev/null --max-time 5 -w '%{http_code}' --interface 127.0.0.2 --cacert "$pki/ca.crt" \
      -H "Authorization: Bearer $guess" --data x "https://127.0.0.1:$enroll_port/v1/enrol")
    codes+=" $code"
  done
  saw "guesses:$(tr ' ' '\n' <<<"$codes" | grep . | sort | uniq -c | sed 's/^ */ /' | paste -sd ,)"
  sleep 8 | "$attacker" hold --to="127.0.0.1:$enroll_port" --count=100 --send=nothing --hold=8 &
  echo $! >"$work/hold.pid"
  sleep 0.5
  from=$(now_ms)
  "$bin/railgauge-agent" enroll --controller "127.0.0.1:$enroll_port" --token-file "$work/token" --name n9 --no-start \
    --state-dir "$node" --config "$node.conf"
  saw "a node enrols within $(seconds_since "$from") s"
  at_most "$(seconds_since "$from")" 5
  [ "$(curl -s -o /dev/null --max-time 5 -w '%{http_code}' --cacert "$pki/ca.crt" "https://127.0.0.1:$enroll_port/metrics")" = 404 ]
  [[ $codes == *401*429* && $codes != *20[0-9]* ]]
  openssl verify -CAfile "$pki/ca.crt" "$node/tls/agent.crt"
  [ "$(stat -c %a "$node/tls/agent.key")" = 600 ]
}

# --- the node ------------------------------------------------------------------------------------

# Names that a runner may see: the documented list of deploy/docs/guide/security.md.
allowed_variable() {
  case $1 in
    *_KEY | *TOKEN* | *SECRET* | *PASSWORD* | *CREDENTIAL*) return 1 ;;
    PATH | HOME | USER | LOGNAME | SHELL | TZ | LANG | LANGUAGE | LC_* | TMPDIR | LD_LIBRARY_PATH) ;;
    RAILGAUGE_LIB* | RAILGAUGE_FAKE_* | RAILGAUGE_DATA_ADDRESS | RAILGAUGE_MPI_INSTALLATIONS | RAILGAUGE_LOG_*) ;;
    RAILGAUGE_FAILPOINT | RAILGAUGE_TESTING_* | RAILGAUGE_LAUNCHER_*) ;;
    CUDA_* | NVIDIA_* | NVSHMEM_* | NCCL_* | RCCL_* | HSA_* | ROCR_* | HIP_* | VK_* | HWLOC_* | SLURM_*) ;;
    UCX_* | UCC_* | HCOLL_* | SHARP_* | FI_* | IBV_* | RDMAV_* | MLX4_* | MLX5_* | EFA_*) ;;
    OMPI_* | OPAL_* | PMIX_* | PRTE_* | PMI_* | PMI2_* | MPICH_* | MPIR_* | MPIEXEC_* | HYDRA_* | MV2_*) ;;
    ASAN_OPTIONS | LSAN_OPTIONS | TSAN_OPTIONS | UBSAN_OPTIONS) ;;
    *) return 1 ;;
  esac
}
# A hostile runner's report, as facts of its point in `facts`. Its agent has secrets in its environment.
hostile_task() {
  local mark=$1
  cat >"$work/suites/hostile.yaml" <<Y
version: 1
metadata: {name: hostile}
stages:
  - kernel: test.hostile
    parameters: {key: "$pki/n1.key", spool: "$work/state-hostile/agent-spool.db", escape: "$mark"}
    placement: {local: all}
Y
  serve
  runner=railgauge-hostile-runner SECRET_TOKEN=hunter2 AWS_SECRET_ACCESS_KEY=hunter2 NCCL_TOKEN=hunter2 \
    DATABASE_URL=sql://hunter2@host RAILGAUGE_SPOOL_KEEP_HOURS=3 tls_agent n1 "$work/state-hostile"
  wait_for "n1 attaches" 20 is_attached n1
  timeout 30 "$bin/railgauge" --controller "unix:$socket" run hostile -o json >"$work/hostile.json"
  facts=$(jq -c '.points[0].facts' "$work/hostile.json")
  [ "$facts" != null ]
}
fact() { jq -r --arg name "$1" '.[$name] // "absent"' <<<"$facts"; }
runner_leaves_a_child() {
  local mark=rge$$ from
  hostile_task "$mark"
  from=$(now_ms)
  while pgrep -x "$mark" && at_most "$(seconds_since "$from")" 3; do sleep 0.05; done
  saw "child $(pgrep -x "$mark" >/dev/null && echo alive || echo dead) after $(seconds_since "$from") s"
  saw "it had left its session: $(jq -r '[.. | .escape? | strings] | map(select(. != "'"$mark"'")) | first // "unknown"' "$work/hostile.json")"
  if pgrep -x "$mark" >/dev/null; then pkill -KILL -x "$mark"; return 1; fi
  jq -e '[.. | .escape? | strings] | index("escaped")' "$work/hostile.json"
}
runner_reads_secrets() {
  hostile_task none
  saw "key $(fact key)"; saw "spool $(fact spool)"; saw "the agent's environment $(fact agent_environment)"
  saw "its memory $(fact agent_memory)"; saw "no_new_privs $(fact no_new_privileges)"; saw "core limit $(fact core_limit)"
  saw "descriptors $(fact descriptors)"
  [ "$(fact key)" = EACCES ]
  [ "$(fact spool)" = EACCES ]
  [ "$(fact no_new_privileges)" = 1 ]
  [ "$(fact descriptors)" = none ] && [ "$(fact agent_environment)" = EACCES ] && [ "$(fact agent_memory)" = EACCES ]
}
runner_environment() {
  local name foreign=""
  hostile_task none
  for name in $(fact environment); do allowed_variable "$name" || foreign+=" $name"; done
  saw "$(fact environment | wc -w) variables, beyond the list:${foreign:- none}"
  [ -z "$foreign" ]
}

# Folders as an attacker leaves them who owns the agent's runtime folder: a link in place of the job's file, and a link
# in place of the folder.
planted_link() {
  local script=$top/deploy/slurm/prolog.sh run=$work/run victim=$work/victim before form seen=""
  local owner=nobody
  [ "$(id -u)" = 0 ] || owner=$(id -un)
  chmod 711 "$work"
  for form in file folder hardlink; do
    rm -rf "$run" "$victim" "$victim.d"; mkdir -p "$run" "$victim.d"
    echo secret >"$victim"; chmod 600 "$victim"
    case $form in
      file) mkdir "$run/jobs"; ln -s "$victim" "$run/jobs/4711" ;;
      folder) ln -s "$victim.d" "$run/jobs"; cp -p "$victim" "$victim.d/4711" ;;
      hardlink) mkdir "$run/jobs"; ln "$victim" "$run/jobs/4711" ;;
    esac
    chown -h -R "$owner" "$run"
    before=$(stat -c '%a %s %U' "$victim" "$victim.d/4711" 2>/dev/null || true)
    SLURM_JOB_ID=4711 RAILGAUGE_BUSY_JOBS_FOLDER=$run/jobs sh "$script"
    [ "$(stat -c '%a %s %U' "$victim" "$victim.d/4711" 2>/dev/null || true)" = "$before" ] || seen+=" $form"
  done
  saw "victim changed by:${seen:- none}"
  # In a sound folder the prolog still marks the job.
  rm -rf "$run"; mkdir -p "$run/jobs"; chmod 755 "$run" "$run/jobs"
  SLURM_JOB_ID=4712 RAILGAUGE_BUSY_JOBS_FOLDER=$run/jobs sh "$script"
  saw "a sound folder $([ -e "$run/jobs/4712" ] && echo "has" || echo "lacks") the mark"
  [ -z "$seen" ] && [ -e "$run/jobs/4712" ]
}

exposure_of() {
  systemd-analyze security --offline=true --no-pager "$top/deploy/systemd/$1.service" 2>/dev/null | sed -n 's/.*Overall exposure level for .*: \([0-9.]*\).*/\1/p'
}
units() {
  systemd-analyze security --help 2>/dev/null | grep -e --offline >/dev/null || waive "no systemd-analyze with --offline here"
  local agent controller
  agent=$(exposure_of railgauge-agent) controller=$(exposure_of railgauge-controller)
  saw "agent $agent"; saw "controller $controller"
  at_most "$agent" 3.0 && at_most "$controller" 1.5
}

# Chaos mostly waits, as do the attacks, so it runs beside them.
begin_chaos() {
  { code=0; "$(dirname "$0")/chaos.sh" 5 >"$work/chaos" 2>&1 || code=$?; echo "$code" >"$work/chaos.draft"; mv "$work/chaos.draft" "$work/chaos.code"; } &
}
chaos() {
  local code
  wait_for "chaos ends" 110 test -e "$work/chaos.code"
  code=$(cat "$work/chaos.code")
  cat "$work/chaos"
  saw "$(grep -E '^[0-9]+ rounds in' "$work/chaos" || echo "it did not end")"
  return "$code"
}

# --- the bars ------------------------------------------------------------------------------------

wanted=("$@")
is_wanted() { [ ${#wanted[@]} = 0 ] || [[ " ${wanted[*]} " == *" $1 "* ]]; }
# want WORD NAME ASKED FUNCTION...: the bar, unless other words were given.
want() {
  local word=$1; shift
  ! is_wanted "$word" || bar "$@"
}
began=$(date +%s)
make_certificates
! is_wanted chaos || begin_chaos
want idle64 "80 idle connections at soft limit 64" "TLS within 2 s of their end, unix socket always" idle_connections "-Sn=64" 80
want idle128 "160 idle connections at hard limit 128" "TLS within 2 s of their end, unix socket always" idle_connections "-Sn=128 -Hn=128" 160
want openings "65,000 openings in 60 s" "an agent attaches again within 15 s" openings
want http "12 idle HTTP connections" "/healthz within 1 s" idle_http
want enrolment "100 silent connections and 12 guesses at the enrolment port" "a node enrols within 5 s, nobody else" enrolment
want copied "a copied state folder" "refused with the cure, no series with both ends alike" copied_state_folder
want identity "certificate n1 with the id of n2" "PERMISSION_DENIED, nodes unchanged" anothers_id
want forged "forged attempt, undeclared metric, replay, foreign rank" "results and history byte-identical" forged_records
want kernels "kernels that one node of three declares otherwise" "n2 and n3 measure as ever" declared_kernels
want series "6,000 series by one rank" "at most 4,096" many_series
want skew "clocks at +-400 days" "the controller's time, an event" skewed_clock
want streams "20,400 streams by one certificate" "another agent within 2 s, at most 50 MB" stream_flood
want frames "floods of raw HTTP/2 frames by one certificate" "TLS and the socket within 2 s, at most 100 MB" frame_flood
want answers "answers of 32 MB for which a viewer opens no window" "at most 250 MB, the rest refused" untaken_answers
want hellos "100 Hellos of 7 MB" "database and log at most 1 MB" hello_flood
want changes "60 Hellos with other facts" "database at most 3 MB, events cut" changing_hellos
want plans "suites of millions of rounds by a viewer" "refused; the socket within 2 s" planned_bombs
want modelled "a modelled agent at an empty database" "refused, real ones welcome" modelled_agent
want escapes "terminal escapes from an agent" "no ESC byte in any output" escapes_in_outputs
want reload "a replaced certificate and HUP" "new serial within 5 s, no stream lost" replaced_certificate
want revoked "a revoked certificate" "gone within 10 s, its console session too" revoked_certificate
want child "a setsid child of a runner" "dead within 3 s of the task's end" runner_leaves_a_child
want secrets "a runner that opens the agent's key" "EACCES" runner_reads_secrets
want environment "a runner's environment" "within the list" runner_environment
want prolog "a planted link in the prolog's folder" "victim unchanged" planted_link
want units "systemd-analyze security" "agent at most 3.0, controller at most 1.5" units
want chaos "chaos, 5 rounds" "nothing lost, twice or left over" chaos
took=$(($(date +%s) - began))
echo "took $took s of at most 120 s, $waived waived"
if [ "$full" = 0 ] && [ "$took" -gt 120 ]; then echo "FAILED too slow: the short form takes at most 120 s" && failed=$((failed + 1)); fi
summary
