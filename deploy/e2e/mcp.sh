#!/usr/bin/env bash
# Speaks the protocol of assistants with `railgauge mcp` over a pipe: real controller, 32 modelled nodes, one port that
# sends slowly. Figures are synthetic.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

cat >"$work/pairs.yaml" <<'Y'
version: 1
metadata: {name: pairs, summary: "bandwidth of some pairs on all rails, both ways"}
stages:
  - kernel: verbs.write_bw
    parameters: {sizes: 64KiB}
    placement: {pairs: quick, matchings: 6, directions: both, rails: same, rails_together: true}
Y
cat >"$work/scenario.yaml" <<'Y'
version: 1
metadata: {name: test}
seed: 5
fabric: {nodes: 32, rails: 2, leaves: 4, spines: 4}
classes: [{name: small, gpus: 2, nics: 2}]
noise: [{kind: gaussian, size: 0.01}]
faults: [{kind: port, node: sim0012, nic: 1, direction: sends, takes: 0.15}]
Y

# ask METHOD [PARAMETERS]: sends one request to the program and reads its answer into $work/answer.
ask() {
  local asked=$RANDOM line
  local parameters=${2:-}
  [ -n "$parameters" ] || parameters='{}'
  printf '{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}\n' "$asked" "$1" "$parameters" >&"$to_mcp"
  IFS= read -r -t 60 line <&"$from_mcp" || { echo "no answer to $1 ${2:-}"; return 1; }
  printf '%s\n' "$line" >"$work/answer"
  jq -e --argjson id "$asked" '.jsonrpc == "2.0" and .id == $id' "$work/answer" >/dev/null
}
tool() { ask tools/call "{\"name\":\"$1\",\"arguments\":$2}"; }
# document_is FILTER: passes when it is true of the last answer's document.
document_is() { jq -e ".result.structuredContent.document | $1" "$work/answer" >/dev/null || { cat "$work/answer"; return 1; }; }

handshake() {
  ask initialize '{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}'
  jq -e '.result | .protocolVersion == "2025-06-18" and .serverInfo.name == "railgauge" and (.capabilities | has("tools"))' "$work/answer"
  printf '{"jsonrpc":"2.0","method":"notifications/initialized"}\n' >&"$to_mcp"
  ask ping
  ask tools/list
  jq -e '[.result.tools[] | .name] == ["list", "show", "compare", "report"] and all(.result.tools[]; .annotations.readOnlyHint)' "$work/answer"
}

finds_the_slow_port() {
  tool list '{"what":"nodes","limit":5}'
  document_is '.nodes | length == 5'
  jq -e '.result.structuredContent.notes | any(startswith("SYNTHETIC")) and any(contains("offset 5 shows them"))' "$work/answer"
  tool list '{"what":"nodes","limit":5,"offset":30}'
  document_is '[.nodes[].name] == ["sim0031", "sim0032"]'
  tool show "{\"what\":\"suspects\",\"id\":\"$run\"}"
  document_is '.synthetic and any(.suspects[]; tostring | contains("sim0012"))'
  tool show "{\"what\":\"run_groups\",\"id\":\"$run\"}"
  document_is '.run.tasks_total > 0 and (.groups | length) > 0'
  tool report '{"what":"since","since":"1h"}'
  document_is '.verdict == "regressed" and .synthetic'
}

follows_a_series() {
  tool list '{"what":"series","nodes":"sim0012","limit":1}'
  local id; id=$(jq -r '.result.structuredContent.document.series[0].series_id' "$work/answer")
  tool show "{\"what\":\"series\",\"id\":\"$id\"}"
  document_is '.points | length == 2'
  tool compare "{\"what\":\"runs\",\"a\":\"$first\",\"b\":\"$run\",\"limit\":10}"
  document_is '.series | length == 10'
}

# The same JSON as the CLI's: one schema.
is_as_the_cli_prints() {
  tool list '{"what":"runs"}'
  jq '.result.structuredContent.document' "$work/answer" >"$work/mine"
  cli runs -o json | jq -e --slurpfile mine "$work/mine" '$mine[0].runs == .runs'
}

answers_are_bounded() {
  tool show "{\"what\":\"run\",\"id\":\"$run\",\"limit\":1000}"
  [ "$(jq -c '.result.structuredContent.document' "$work/answer" | wc -c)" -le 49153 ]
  jq -e '.result.structuredContent.notes | any(contains("more follow: offset"))' "$work/answer"
}

refuses_what_it_cannot() {
  local line
  ask tools/call '{"name":"run","arguments":{"suite":"quick"}}'
  jq -e '.error.code == -32602' "$work/answer"
  ask tools/nothing
  jq -e '.error.code == -32601' "$work/answer"
  tool show '{"what":"run","id":"no-such-run"}'
  jq -e '.result.isError and (.result.content[0].text | contains("no-such-run"))' "$work/answer"
  printf 'no json\n' >&"$to_mcp"
  IFS= read -r -t 60 line <&"$from_mcp"
  jq -e '.error.code == -32700' <<<"$line"
}

changed_nothing() { [ "$(cli runs -o json | jq '.runs | length')" = 2 ]; }

start_controller
"$bin/railgauge-fleet" --controller "unix:$socket" --scenario "$work/scenario.yaml" >>"$work/fleet.log" 2>&1 &
echo $! >"$work/fleet.pid"
wait_for "32 nodes attach" 60 attached 32
for _ in 1 2; do cli run "$work/pairs.yaml" --all >"$work/run.txt" 2>&1 || true; done
run=$(cli runs -o json | jq -r '.runs[0].run_id')
first=$(cli runs -o json | jq -r '.runs[1].run_id')
mkfifo "$work/in" "$work/out"
"$bin/railgauge" mcp <"$work/in" >"$work/out" 2>"$work/mcp.log" &
program=$!
echo "$program" >"$work/mcp.pid"
exec {to_mcp}>"$work/in" {from_mcp}<"$work/out"

check "the handshake names a revision and four tools that only read" handshake
check "a slow port is found by pages, suspects and the report, all marked synthetic" finds_the_slow_port
check "a series has its history, and two runs are compared" follows_a_series
check "documents are those of the CLI" is_as_the_cli_prints
check "an answer is bounded and says how to get the rest" answers_are_bounded
check "what it cannot do is refused" refuses_what_it_cannot
check "nothing was started" changed_nothing
exec {to_mcp}>&-
code=0
wait "$program" || code=$?
rm "$work/mcp.pid"
check "it ends with its input" test "$code" = 0
summary
