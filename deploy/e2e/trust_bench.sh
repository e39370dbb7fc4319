# Shared by trust.sh: controllers with mutual TLS on loopback, agents as puppets of the attacking client, and bars, which
# print one line each. Everything is below the temporary folder of lib.sh and ends with the test.
# shellcheck shell=bash source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
attacker=$bin/railgauge-attacker
pki=$work/pki
waived=0
declare -A puppet_in puppet_out

# bar NAME ASKED FUNCTION...: runs one case and prints its line: ok or FAILED, the name, what is asked, what was seen.
# The function passes its sightings to `saw`; 77 is "waived", with the reason as the sighting.
bar() {
  local name=$1 asked=$2 word=ok code=0 log; shift 2
  log=$work/bar-$((passed + failed + waived)).log
  : >"$work/seen"
  set +e  # a condition would switch errexit off inside the case
  (set -e; "$@") >"$log" 2>&1
  code=$?
  set -e
  stop_all
  case $code in
    0) passed=$((passed + 1)) ;;
    77) waived=$((waived + 1)) word=waived ;;
    *) failed=$((failed + 1)) word=FAILED ;;
  esac
  printf '%-6s %s | %s | %s\n' "$word" "$name" "$asked" "$(paste -sd ';' "$work/seen" | sed 's/;/; /g')"
  [ "$word" != FAILED ] || tail -n 12 "$log" | cut -c 1-300 | sed 's/^/         /'
}
saw() { echo "$*" | tee -a "$work/seen"; }
waive() { saw "$*"; exit 77; }

# stop_all: ends every process of the case. A stopped process ends as well. Programs that run beside the cases stay.
stop_all() {
  local pidfile pid
  for pidfile in "$work"/*.pid; do
    [ -e "$pidfile" ] || continue
    pid=$(cat "$pidfile")
    kill -KILL "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
    rm -f "$pidfile"
  done
}

now_ms() { date +%s%3N; }
# seconds_since MS: "1.25"
seconds_since() { awk -v ms="$(($(now_ms) - $1))" 'BEGIN { printf "%.2f", ms / 1000 }'; }
at_most() { awk -v value="$1" -v limit="$2" 'BEGIN { exit !(value <= limit) }'; }
# lacks FILE PATTERN: errexit ignores a command that begins with "!", so a case asks this way.
lacks() { if grep -q -- "$2" "$1"; then return 1; fi; }
has_flag() { grep -q -- "--$2 " <<<"$("$bin/$1" --help 2>&1)"; }

# make_certificates: an authority, and certificates of the controller, an operator, a viewer and five agents.
make_certificates() {
  local node
  { "$top/deploy/pki.sh" ca "$pki" && "$top/deploy/pki.sh" controller "$pki" 127.0.0.1 localhost &&
    "$top/deploy/pki.sh" operator "$pki" op && "$top/deploy/pki.sh" viewer "$pki" vi
    for node in n1 n2 n3 n4 n5; do "$top/deploy/pki.sh" agent "$pki" "$node"; done; } >"$work/pki.log" 2>&1
}
# make_crl NAME...: writes pki/crl.pem, in which these certificates are revoked.
make_crl() {
  local name folder=$work/crl
  mkdir -p "$folder"; : >"$folder/index"; echo 01 >"$folder/number"
  printf '[ca]\ndefault_ca = here\n[here]\ndatabase = %s/index\ncrlnumber = %s/number\ndefault_md = sha256\ndefault_crl_days = 30\n' \
    "$folder" "$folder" >"$folder/config"
  for name in "$@"; do
    openssl ca -config "$folder/config" -cert "$pki/ca.crt" -keyfile "$pki/ca.key" -revoke "$pki/$name.crt"
  done
  openssl ca -config "$folder/config" -cert "$pki/ca.crt" -keyfile "$pki/ca.key" -gencrl -out "$pki/crl.draft"
  mv "$pki/crl.draft" "$pki/crl.pem"
}

# serve [FLAG...]: starts the case's controller with mutual TLS. Variables: `limits` ("-Sn 64") for ulimit, port,
# http_port, and socket, which lib.sh's functions use.
serve() {
  read -r port http_port <<<"$("$attacker" port --count=2)"
  socket=$work/controller.sock
  rm -rf "$work"/railgauge.db* "$socket"
  : >"$work/controller.log"
  (
    # shellcheck disable=SC2086  # words
    [ -z "${limits:-}" ] || for limit in $limits; do ulimit "${limit%%=*}" "${limit#*=}"; done
    exec "$bin/railgauge-controller" --socket "$socket" --database "$work/railgauge.db" --suites "${suites:-$work/suites}" \
      --metrics-listen "127.0.0.1:$http_port" --listen "127.0.0.1:$port" --tls-cert "$pki/controller.crt" \
      --tls-key "$pki/controller.key" --tls-ca "$pki/ca.crt" "$@"
  ) >>"$work/controller.log" 2>&1 &
  echo $! >"$work/controller.pid"
  wait_for "the controller serves" 20 local_cli version || { tail -n 3 "$work/controller.log"; return 1; }
}
local_cli() { timeout 10 "$bin/railgauge" --controller "unix:$socket" "$@"; }
tls_cli() {
  "$bin/railgauge" --controller "127.0.0.1:$port" --tls-cert "$pki/op.crt" --tls-key "$pki/op.key" --tls-ca "$pki/ca.crt" "$@"
}
viewer_cli() {
  "$bin/railgauge" --controller "127.0.0.1:$port" --tls-cert "$pki/vi.crt" --tls-key "$pki/vi.key" --tls-ca "$pki/ca.crt" "$@"
}
by_certificate() { echo "--cert=$pki/$1.crt --key=$pki/$1.key --ca=$pki/ca.crt"; }

# tls_agent NODE STATE [FLAG...]: starts an agent with the certificate of NODE; its log is agent-NODE.log.
tls_agent() {
  local node=$1 state=$2; shift 2
  [ -d "$work/sys-$node/class" ] || make_sysfs "$work/sys-$node"
  "$bin/railgauge-agent" --controller "127.0.0.1:$port" --tls-cert "$pki/$node.crt" --tls-key "$pki/$node.key" \
    --tls-ca "$pki/ca.crt" --name "$node" --state-dir "$state" --runner "$bin/${runner:-railgauge-runner-testing}" \
    --sysfs-root "$work/sys-$node" --proc-root "$work/proc-$node" --metrics-listen none --busy-sources none --watch-seconds 0 \
    "$@" >>"$work/agent-$node.log" 2>&1 &
  echo $! >"$work/agent-$node.pid"
}
is_attached() { local_cli nodes -o json | jq -e --arg node "$1" 'any(.nodes[]; .name == $node and .state == "attached")'; }

# puppet NODE: an agent on strings with the certificate of NODE.
puppet() {
  local node=$1 in out
  rm -f "$work/$node.in" "$work/$node.out"
  mkfifo "$work/$node.in" "$work/$node.out"
  # shellcheck disable=SC2046  # words
  "$attacker" puppet --to="127.0.0.1:$port" $(by_certificate "$node") <"$work/$node.in" >"$work/$node.out" 2>>"$work/puppets.log" &
  echo $! >"$work/puppet-$node.pid"
  exec {in}>"$work/$node.in" {out}<"$work/$node.out"
  puppet_in[$node]=$in puppet_out[$node]=$out
}
# ask NODE COMMAND: passes the command to the puppet; its line is in `answer`.
ask() {
  echo "$2" >&"${puppet_in[$1]}"
  answer=""
  IFS= read -t 30 -r answer <&"${puppet_out[$1]}" || true
  echo "$1: $2 -> $answer"
}

# rss_of PROCESS: its resident memory in bytes.
rss_of() { awk '$1 == "VmRSS:" { print $2 * 1024 }' "/proc/$(pid_of "$1")/status"; }
# peak_of PROCESS SECONDS: the largest resident memory of that time.
peak_of() {
  local until peak=0 rss
  until=$(($(now_ms) + $2 * 1000))
  while [ "$(now_ms)" -lt "$until" ]; do
    rss=$(rss_of "$1"); [ "${rss:-0}" -le "$peak" ] || peak=$rss
    sleep 0.05
  done
  echo "$peak"
}
megabytes() { awk -v bytes="$1" 'BEGIN { printf "%.1f MB", bytes / 1e6 }'; }
size_of() { cat "$@" 2>/dev/null | wc -c; }
