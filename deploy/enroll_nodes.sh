#!/usr/bin/env bash
# Enrols a list of nodes with their controller over ssh, some at a time, without Ansible. Runs on the controller's host.
#   deploy/enroll_nodes.sh --controller HOST[:7444] [OPTION...] NODE...
#   --nodes-file FILE   a node a line, # starts a comment; beside those of the command line
#   --parallel N        nodes at a time [32]
#   --seconds N         bound of one node [120]
#   --token-file FILE   a token of your own, for all of them; without it each node has one of its own, good for an hour
#   --replace           also nodes that have a certificate, which is revoked
#   --ssh COMMAND       [ssh -o BatchMode=yes -o ConnectTimeout=10]
#   --agent COMMAND     how the agent is called there [sudo -n railgauge-agent]
#   --cli COMMAND       how the command line is called here [railgauge]
# The token goes to a node on stdin, so that no list of processes shows it. A node that is enrolled is left as it is: the
# same call again enrols the rest. A line a node; exit 1 when one failed, 2 for wrong use.
set -uo pipefail
wrong() { echo "enroll_nodes.sh: $1" >&2; exit 2; }

# One node, as xargs calls this script.
if [ "${1-}" = --one ]; then
  node=$2 token=$ENROLL_TOKEN
  read -ra ssh_words <<<"$ENROLL_SSH"
  # A node's token is for that node alone: one that is taken over enrols no other.
  if [ -z "$token" ]; then
    token=$ENROLL_FOLDER/$node
    read -ra cli_words <<<"$ENROLL_CLI"
    # shellcheck disable=SC2086  # words
    said=$("${cli_words[@]}" --quiet tokens create --nodes "$node" $ENROLL_REPLACE 2>&1 >"$token") ||
      { echo "$node: FAILED: no token: $(tail -n 1 <<<"$said")"; exit 0; }
  fi
  said=$(timeout "$ENROLL_SECONDS" "${ssh_words[@]}" "$node" "$ENROLL_AGENT enroll --controller $ENROLL_CONTROLLER --name $node --token-file - $ENROLL_FLAGS" \
    <"$token" 2>&1)
  code=$?
  last=$(tail -n 1 <<<"$said")
  if [ $code = 0 ]; then echo "$node: enrolled"
  elif [[ $said == *"this node is enrolled as"* ]]; then echo "$node: kept, it is enrolled"
  elif [ $code = 124 ]; then echo "$node: FAILED: no answer within $ENROLL_SECONDS s"
  else echo "$node: FAILED: ${last:-exit code $code}"; fi
  exit 0
fi

nodes=() controller='' parallel=32 seconds=120 token_file='' replace='' agent='sudo -n railgauge-agent' cli=railgauge
shell='ssh -o BatchMode=yes -o ConnectTimeout=10'
while [ $# -gt 0 ]; do
  case $1 in
    --controller | --nodes-file | --parallel | --seconds | --token-file | --ssh | --agent | --cli)
      [ $# -ge 2 ] || wrong "$1 needs a value" ;;&
    --controller) controller=$2; shift ;;
    --nodes-file)
      [ -r "$2" ] || wrong "--nodes-file $2: cannot be read"
      mapfile -t -O "${#nodes[@]}" nodes < <(sed 's/#.*//' "$2" | tr -s ' \t' '\n' | grep .)
      shift ;;
    --parallel) parallel=$2; shift ;;
    --seconds) seconds=$2; shift ;;
    --token-file) token_file=$2; shift ;;
    --replace) replace=1 ;;
    --ssh) shell=$2; shift ;;
    --agent) agent=$2; shift ;;
    --cli) cli=$2; shift ;;
    -h | --help) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    -*) wrong "there is no flag $1; --help lists them" ;;
    *) nodes+=("$1") ;;
  esac
  shift
done
[ -n "$controller" ] || wrong "--controller HOST is needed"
[ ${#nodes[@]} -gt 0 ] || wrong "no node is given"
for number in "$parallel" "$seconds"; do
  [[ $number =~ ^[1-9][0-9]{0,3}$ ]] || wrong "$number: a number from 1 to 9999 is needed"
done
# Words of a remote shell: nothing but names goes there.
[[ $controller =~ ^[][A-Za-z0-9.:_-]+$ ]] || wrong "--controller $controller: HOST or HOST:PORT is needed"
for node in "${nodes[@]}"; do
  [[ $node =~ ^[A-Za-z0-9][A-Za-z0-9._-]*$ ]] || wrong "node $node: letters, digits, '.', '_' and '-' are needed"
done

work=$(umask 077 && mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
if [ -n "$token_file" ]; then
  [ -r "$token_file" ] || wrong "--token-file $token_file: cannot be read"
  cp "$token_file" "$work/token"
fi
begin=$(date +%s.%N)
export ENROLL_SSH=$shell ENROLL_SECONDS=$seconds ENROLL_AGENT=$agent ENROLL_CONTROLLER=$controller ENROLL_TOKEN=${token_file:+$work/token}
export ENROLL_CLI=$cli ENROLL_FOLDER=$work ENROLL_REPLACE=${replace:+--replace}
export ENROLL_FLAGS=${replace:+--force}
printf '%s\0' "${nodes[@]}" | xargs -0 -n 1 -P "$parallel" "$0" --one | tee "$work/lines"
took=$(awk -v from="$begin" -v to="$(date +%s.%N)" 'BEGIN { printf "%.1f", to - from }')
failed=$(grep -c ': FAILED: ' "$work/lines")
good=$(grep -c ': enrolled$' "$work/lines")
kept=$(grep -c ': kept, ' "$work/lines")
echo "${#nodes[@]} nodes: $good enrolled, $kept kept, $failed failed, in $took s, $parallel at a time"
[ "$failed" = 0 ] && [ $((good + kept)) = ${#nodes[@]} ]
