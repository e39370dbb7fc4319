#!/usr/bin/env bash
# Tests enroll_nodes.sh with a stand-in for ssh that carries out the command here, where railgauge-agent is a script.
set -uo pipefail
cd "$(dirname "$0")" || exit 4
work=$(cd "$(mktemp -d)" && pwd -P)
trap 'rm -rf "$work"' EXIT
failures=0 cases=0
check() { # TITLE COMMAND...
  local title=$1; shift
  cases=$((cases + 1))
  "$@" || { failures=$((failures + 1)); echo "FAILED: $title"; sed 's/^/    /' "$work/out"; }
}
says() { grep -q -e "$1" "$work/out"; }
ended() { [ "$code" = "$1" ]; }
enroll() { PATH=$work:$PATH ./enroll_nodes.sh --ssh "$work/ssh" --agent railgauge-agent "$@" >"$work/out" 2>&1; code=$?; }

mkdir "$work/nodes" "$work/running"
cat >"$work/ssh" <<'SH'
#!/usr/bin/env bash
# ssh NODE COMMAND
cd "$(dirname "$0")" || exit 255
mark=$(mktemp -p running); trap 'rm -f "$mark"' EXIT
find running -type f | wc -l >>widest
[ "$1" != away ] || { echo "ssh: connect to host away port 22: No route to host" >&2; exit 255; }
[ "$1" != stuck ] || exec sleep 60
PATH=$PWD:$PATH bash -c "$2"
SH
cat >"$work/railgauge-agent" <<'SH'
#!/usr/bin/env bash
token=$(cat)
cd "$(dirname "$0")" || exit 4
echo "$* token=$token" >>calls
while [ $# -gt 0 ]; do [ "$1" != --name ] || name=$2; [ "$1" != --force ] || force=1; shift; done
if [ -e "nodes/$name" ] && [ -z "${force-}" ]; then
  echo "railgauge-agent: enroll: /state/tls: this node is enrolled as $name, serial 1, until 2027; --force enrols it anew" >&2; exit 4
fi
sleep 0.05
echo "$token" >"nodes/$name"
SH
cat >"$work/railgauge" <<'SH'
#!/usr/bin/env bash
cd "$(dirname "$0")" || exit 4
echo "$*" >>asked
echo rgt_secret
SH
chmod +x "$work/ssh" "$work/railgauge-agent" "$work/railgauge"

printf '# first rack\nn1 n2\nn3 # spare\n\n' >"$work/list"
enroll --controller ctl --nodes-file "$work/list" n4
check "each node of both lists is enrolled" ended 0
check "each has a token for itself alone" test "$(sort "$work/asked" | paste -sd ' ')" = "$(printf -- '--quiet tokens create --nodes n%d ' 1 2 3 4 | sed 's/ $//')"
check "the sum is said" says '^4 nodes: 4 enrolled, 0 kept, 0 failed, in .* s, 32 at a time$'
check "the token came on stdin" grep -q 'enroll --controller ctl --name n3 --token-file - token=rgt_secret' "$work/calls"
check "and is in no argument of ssh" test "$(grep -c 'rgt_secret.*token=' "$work/calls")" = 0
enroll --controller ctl n1 n5
check "an enrolled node is kept" says '^n1: kept, it is enrolled$'
check "and is no failure" ended 0
enroll --controller ctl --seconds 1 n6 away stuck
check "a node that is away fails with its line" says '^away: FAILED: ssh: connect to host away port 22: No route to host$'
check "a node that hangs fails in its time" says '^stuck: FAILED: no answer within 1 s$'
check "others are enrolled all the same" says '^n6: enrolled$'
check "a failure is the exit code" ended 1
echo rgt_own >"$work/own"
enroll --controller ctl --token-file "$work/own" --replace n1
check "a token of one's own is used" test "$(cat "$work/nodes/n1")" = rgt_own
check "replacing is forced on the node" grep -q 'name n1 --token-file - --force token=rgt_own' "$work/calls"
: >"$work/widest"; rm -f "$work"/running/*
enroll --controller ctl --parallel 4 $(seq -f 'm%g' 24)
check "24 nodes are enrolled" says '^24 nodes: 24 enrolled'
check "never more at a time than asked for" test "$(sort -n "$work/widest" | tail -n 1)" -le 4
for words in "n1" "--controller ctl" "--controller ctl --parallel 0 n1" "--controller ctl;x n1" "--controller ctl -x" "--controller"; do
  # shellcheck disable=SC2086
  enroll $words
  check "wrong use: $words" ended 2
done
enroll --controller ctl 'n1;reboot'
check "a name is nothing but a name" ended 2
enroll --help
check "help shows the flags" says '--parallel N'
[ "$failures" = 0 ] || { echo "$failures of $cases cases failed"; exit 1; }
echo "$cases cases"
