#!/usr/bin/env bash
# Shared by the end-to-end tests on the virtual fabric: a controller with mutual TLS on the host, an agent in each guest.
# shellcheck source-path=SCRIPTDIR shell=bash
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
port=$((20000 + RANDOM % 10000))
fabric() { "$top/deploy/vfabric/vfabric" --dir "$work/fabric" "$@"; }

tear_down() {
  local code=$?
  fabric down >/dev/null 2>&1 || true
  (exit $code) || true
  finish
}
trap tear_down EXIT

tls_of() { printf -- '--tls-ca %s/ca.crt --tls-cert %s/%s.crt --tls-key %s/%s.key' "$work/pki" "$work/pki" "$1" "$work/pki" "$1"; }
guest_agent_flags=() guest_agent_settings=()  # settings: NAME=VALUE for the agent's environment
start_guest_agent() {
  # shellcheck disable=SC2046
  fabric exec "$1" --detach --log agent env "${guest_agent_settings[@]}" "$bin/railgauge-agent" --controller "10.0.2.2:$port" $(tls_of "$1") --name "$1" \
    --state-dir "${agent_state:-/var/lib/railgauge}" --metrics-listen 0.0.0.0:7471 "${guest_agent_flags[@]}"
}
# up_with N: boots guests n1 to nN (with Debian's package $kernel and $guest_memory MB where these are set), starts the
# controller and an agent in each guest, and waits until all attach.
up_with() {
  local nodes; nodes=$(seq -f 'n%.0f' -s ' ' "$1")
  "$top/deploy/pki.sh" ca "$work/pki" >/dev/null
  "$top/deploy/pki.sh" controller "$work/pki" localhost 127.0.0.1 10.0.2.2 >/dev/null
  for node in $nodes; do "$top/deploy/pki.sh" agent "$work/pki" "$node" >/dev/null; done
  fabric up -n "$1" ${kernel:+--kernel "$kernel"} ${guest_memory:+--memory "$guest_memory"} --share "$top" --share "$work/pki"
  # An emulated guest may lack its processor for half a second, which is all that the kernels' default allows a message.
  [ -e "$work/site.yaml" ] || printf 'version: 1\nmetadata: {name: guests}\ndefaults: {qp_timeout: 18}\n' >"$work/site.yaml"
  export RAILGAUGE_SITE_PROFILE=$work/site.yaml
  # shellcheck disable=SC2046
  start_controller --listen "127.0.0.1:$port" $(tls_of controller)
  for node in $nodes; do start_guest_agent "$node"; done
  wait_for "all agents attach" 120 attached "$1"
}
