#!/usr/bin/env bash
# Tests the packages as a site has them: two guests of the virtual fabric with Debian 12 on a disk of their own and a real
# systemd, a controller and an agent on n1, an agent on n2, real RDMA verbs over soft-RoCE. Installation, a measured pair,
# upgrade from the last release with runs under way, watchdog, the helper's socket, reboots, purge, reinstallation.
#   deploy/packages/systemd_guests.sh [--previous DIR]   RAILGAUGE_BUILD_DIR names the build [build/dev]
# DIR has the packages of an earlier version; deploy/packages/previous.sh builds them by default. RAILGAUGE_GUESTS_KEEP=1
# leaves the guests running. Exit 77 where no root can be made or no guest can boot.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../e2e/lib.sh"
. "$top/deploy/packages/root.sh"
cd "$top"
build=$(realpath "${RAILGAUGE_BUILD_DIR:-build/dev}")
previous=""
[ "${1:-}" != --previous ] || previous=$(realpath "${2:?--previous needs a folder}")
for tool in cpack dpkg-deb dpkg-shlibdeps jq qemu-system-x86_64; do
  command -v $tool >/dev/null || { echo "waived: no $tool here"; exit 77; }
done
fabric() { "$top/deploy/vfabric/vfabric" --dir "$work/fabric" "$@"; }
tear_down() {
  local code=$?
  if [ "${RAILGAUGE_GUESTS_KEEP:-}" = 1 ]; then echo "kept: deploy/vfabric/vfabric --dir $work/fabric exec n1 ..."; exit $code; fi
  [ "$failed" = 0 ] && [ $code = 0 ] || save_logs
  fabric down >/dev/null 2>&1 || true
  (exit $code) || true
  finish
}
save_logs() {
  local node
  for node in n1 n2; do
    cp "$work/fabric/nodes/$node/console.log" "$work/$node.console" 2>/dev/null || true
    timeout 60 "$top/deploy/vfabric/vfabric" --dir "$work/fabric" exec $node journalctl -b --no-pager -o short-monotonic >"$work/$node.journal" 2>/dev/null || true
  done
}
trap tear_down EXIT
began=$SECONDS
since() { echo "$1: $((SECONDS - began)) s after the beginning"; }

# ---- packages and guests ---------------------------------------------------------------------------
if [ -z "$previous" ]; then
  code=0
  previous=$(deploy/packages/previous.sh) || code=$?
  [ $code = 0 ] || { echo "waived: an upgrade from an earlier release: $previous; it is from the same programs with a lower number"; previous=""; }
fi
make_debs "$build" "$work/new"
mkdir -p "$work/old"
for deb in "${previous:-$work/new}"/*.deb; do renumber "$deb" 0.0.9 "$work/old"; done
new_version=$(dpkg-deb -f "$work"/new/railgauge-agent_*.deb Version)
code=0
disk=$(deploy/packages/guest_disk.sh "$work"/new/*.deb "$work"/old/*.deb) || code=$?
[ $code = 0 ] || { echo "$disk"; exit $code; }
since "packages and disk"
fabric up -n 2 --disk "$disk" --memory 768
since "guests up"
for node in n1 n2; do cp -r "$work/old" "$work/new" "$work/fabric/nodes/$node/shared/"; done
debs=/run/vfabric/shared

on() { fabric exec "$@"; }
sh_on() { fabric exec "$1" sh -ec "$2"; }
show() { on "$1" systemctl show "$2" -p "$3" --value; }  # NODE UNIT PROPERTY
active() { local unit node=$1; shift; for unit in "$@"; do [ "$(show "$node" "$unit" ActiveState)" = active ] || { echo "$node: $unit is $(show "$node" "$unit" ActiveState)"; return 1; }; done; }
id_of() { on "$1" cat /var/lib/railgauge-agent/agent-node-id; }
attached_on() { [ "$(on n1 railgauge nodes -o json | jq '[.nodes[] | select(.state == "attached")] | length')" = "$1" ]; }
install_on() { # NODE old|new PACKAGE...
  local node=$1 from=$2 names=""; shift 2
  for package in "$@"; do names+=" $debs/$from/${package}_*.deb"; done
  sh_on "$node" "DEBIAN_FRONTEND=noninteractive dpkg --force-confold --force-confdef --force-unsafe-io -i$names"
}
versions_on() { # NODE VERSION PACKAGE...
  local node=$1 version=$2; shift 2
  # shellcheck disable=SC2016
  [ "$(on "$node" dpkg-query -W -f '${db:Status-Abbrev}${Version}\n' "$@" | sort -u)" = "ii $version" ]
}

cat >"$work/pair.yaml" <<'Y'
version: 1
metadata: {name: pair, summary: "latency of the pair"}
stages:
  - kernel: verbs.write_lat
    parameters: {sizes: [8, 4KiB], time_cap: 3s, proof_time: 500ms}
    placement: {pairs: all}
Y
cat >"$work/long.yaml" <<'Y'
version: 1
metadata: {name: long, summary: "bandwidth that lasts"}
stages:
  - kernel: verbs.write_bw
    parameters: {sizes: 64KiB, depth: 16, signal_every: 4, time_cap: 4s, min_samples: 1000000, max_samples: 2000000, stall_timeout: 5s, proof_time: 200ms}
    repetitions: 6
    placement: {pairs: all}
Y
# An emulated guest may lack its processor for half a second, which is all that the kernels' default allows a message.
printf 'version: 1\nmetadata: {name: guests}\ndefaults: {qp_timeout: 18}\n' >"$work/site.yaml"

# ---- installation ----------------------------------------------------------------------------------
installs_the_older_version() {
  install_on n1 old railgauge railgauge-controller railgauge-agent
  install_on n2 old railgauge-agent
  versions_on n1 0.0.9 railgauge railgauge-controller railgauge-agent && versions_on n2 0.0.9 railgauge-agent
}
installation_starts_nothing() {
  local unit
  for unit in railgauge-controller railgauge-agent railgauge-node-facts.socket; do
    [ "$(show n1 $unit ActiveState)" = inactive ] && [ "$(show n1 $unit UnitFileState)" != enabled ] || { echo "$unit began"; return 1; }
  done
}
# As deploy/docs/guide/first-cluster.md has it, with the fabric's folder in the place of scp.
configures() {
  local node
  fabric push n1 "$work/site.yaml" /etc/railgauge/site.yaml
  fabric push n1 "$work/pair.yaml" /etc/railgauge/pair.yaml
  fabric push n1 "$work/long.yaml" /etc/railgauge/long.yaml
  sh_on n1 'cd /etc/railgauge && railgauge pki init pki && railgauge pki issue pki controller controller --san n1
    railgauge pki issue pki agent "n[1-2]"
    chown railgauge-controller: pki/controller.key && chmod 755 pki && chmod 644 pki/*.crt
    printf "%s\n" "listen = 0.0.0.0:7443" "tls_ca = /etc/railgauge/pki/ca.crt" "tls_cert = /etc/railgauge/pki/controller.crt" \
      "tls_key = /etc/railgauge/pki/controller.key" >>controller.conf
    cp pki/ca.crt pki/n1.crt pki/n1.key . && mkdir -p /run/vfabric/shared/pki && cp pki/ca.crt pki/n2.crt pki/n2.key /run/vfabric/shared/pki/'
  mv "$work/fabric/nodes/n1/shared/pki" "$work/fabric/nodes/n2/shared/"
  sh_on n2 'install -m 644 /run/vfabric/shared/pki/*.crt /etc/railgauge/ && install -m 600 /run/vfabric/shared/pki/n2.key /etc/railgauge/ && rm -r /run/vfabric/shared/pki'
  for node in n1 n2; do
    sh_on $node "cd /etc/railgauge && chown railgauge-agent: $node.key && printf '%s\n' 'controller = n1:7443' 'name = $node' \
      'tls_ca = /etc/railgauge/ca.crt' 'tls_cert = /etc/railgauge/$node.crt' 'tls_key = /etc/railgauge/$node.key' >>agent.conf"
  done
}
services_begin_and_attach() {
  on n1 systemctl enable --now railgauge-controller
  on n1 systemctl enable --now railgauge-node-facts.socket railgauge-agent
  on n2 systemctl enable --now railgauge-node-facts.socket railgauge-agent
  wait_for "both agents attach" 120 attached_on 2
  active n1 railgauge-controller railgauge-agent railgauge-node-facts.socket && active n2 railgauge-agent railgauge-node-facts.socket
}
# Real verbs between two services without a capability; the points are in the database.
measures_a_pair() {
  on n1 railgauge run /etc/railgauge/pair.yaml -o json >"$work/pair.json"
  jq -e '.run.outcome == "passed" and ([.points[] | select(.kernel == "verbs.write_lat")] | length == 2
    and all(.facts.driver == "rdma_rxe" and .point.median > 0 and .point.verified and (.point.synthetic | not)))' "$work/pair.json"
  on n1 railgauge results "$(jq -r .run.run_id "$work/pair.json")" -o json | jq -e '.points | length == 2'
}

# ---- upgrade -----------------------------------------------------------------------------------------
run_is() { [ "$(on n1 railgauge runs show "$1" -o json | jq -r .run.state)" = "$2" ]; }
run_measures() { on n1 railgauge runs show "$1" -o json | jq -e '[.tasks[] | select(.state == "running")] | length > 0'; }
# begin_long NAME: a run under way; its id is in NAME.id.
begin_long() {
  on n1 railgauge run /etc/railgauge/long.yaml --detach >"$work/$1.id"
  wait_for "the run measures" 60 run_measures "$(cat "$work/$1.id")"
}
# ended_with_an_outcome NAME: the run ends, by itself or as cut short, and each task has an outcome.
ended_with_an_outcome() {
  local run; run=$(cat "$work/$1.id")
  wait_for "the run ends" 240 run_is "$run" ended
  on n1 railgauge runs show "$run" -o json >"$work/$1.json"
  jq -c '[.run.outcome, .run.reason, ([.tasks[].outcome] | group_by(.) | map({(.[0]): length}))]' "$work/$1.json" | tee "$work/$1.outcome"
  jq -e '.run.outcome != null and all(.tasks[]; .outcome != null)' "$work/$1.json"
}
upgrades_an_agent_while_a_run_measures() {
  begin_long agent-upgrade
  install_on n2 new railgauge-agent
  versions_on n2 "$new_version" railgauge-agent
  wait_for "both agents attach" 120 attached_on 2
  ended_with_an_outcome agent-upgrade
}
measures_a_pair_of_two_versions() {
  measures_a_pair
  on n1 railgauge nodes -o json | jq -c '[.nodes[] | [.name, .version]]'
}
upgrades_the_controller_while_a_run_measures() {
  begin_long controller-upgrade
  install_on n1 new railgauge railgauge-controller railgauge-agent
  versions_on n1 "$new_version" railgauge railgauge-controller railgauge-agent
  active n1 railgauge-controller railgauge-agent
  wait_for "both agents attach" 120 attached_on 2
  ended_with_an_outcome controller-upgrade
}
resumes_what_the_upgrade_cut_short() {
  local run; run=$(cat "$work/controller-upgrade.id")
  if [ "$(jq -r .run.outcome "$work/controller-upgrade.json")" = passed ]; then echo "the run had ended before"; return; fi
  on n1 railgauge runs resume "$run" -o json >"$work/resumed.json"
  jq -e '.run.outcome == "passed"' "$work/resumed.json"
}
# The same ids, and the points of before; nothing twice.
upgrade_keeps_what_was_there() {
  [ "$(id_of n1) $(id_of n2)" = "$(cat "$work/ids")" ]
  on n1 railgauge results "$(cat "$work/first.id")" -o json | jq -e '.points | length == 2'
  on n1 railgauge sql "SELECT count(*) - count(DISTINCT rank || ' ' || series) AS twice FROM point" -o json | jq -e '.rows[0].twice == 0'
  on n1 railgauge sql "SELECT count(*) AS orphans FROM orphan_record" -o json | jq -e '.rows[0].orphans == 0'
}

# ---- notify, watchdog, helper --------------------------------------------------------------------------
status_is() { show "$1" "$2" StatusText | tee "$work/status" | grep -E "$3"; }
systemd_shows_the_state() {
  [ "$(show n1 railgauge-controller Type) $(show n1 railgauge-controller WatchdogUSec)" = "notify 2min" ]
  [ "$(show n2 railgauge-agent Type) $(show n2 railgauge-agent WatchdogUSec)" = "notify 1min" ]
  wait_for "the controller's state" 10 status_is n1 railgauge-controller '^attached nodes: 2; no run'
  wait_for "the agent's state" 10 status_is n2 railgauge-agent '^attached to n1:7443 as n2; no task runs'
}
# A connection as the agent's user gets an answer from an instance that ends; another user gets none.
helper_begins_on_demand_and_ends() {
  local ask='use IO::Socket::UNIX; my $s = IO::Socket::UNIX->new(Peer => "/run/railgauge-node-facts.sock") or die "no: $!\n"; local $/; print length(<$s>), "\n"'
  local before after; before=$(show n2 railgauge-node-facts.socket NAccepted)
  on n2 setpriv --reuid=railgauge-agent --regid=railgauge-agent --clear-groups perl -e "$ask" | tee "$work/facts" | grep -E '^[1-9]'
  after=$(show n2 railgauge-node-facts.socket NAccepted)
  [ "$after" -gt "$before" ]
  wait_for "the helper ends" 15 no_helper_runs
  ! on n2 setpriv --reuid=nobody --regid=nogroup --clear-groups perl -e "$ask"
}
no_helper_runs() { [ "$(on n2 systemctl show railgauge-node-facts.socket -p NConnections --value)" = 0 ] && ! on n2 pgrep -f '^/usr/bin/railgauge-node-facts'; }
began_again() { [ "$(show "$1" "$2" MainPID)" != "$3" ] && [ "$(show "$1" "$2" ActiveState)" = active ] && [ "$(show "$1" "$2" NRestarts)" -ge 1 ]; }
# A stopped process is what a hung loop looks like from outside.
watchdog_ends_what_hangs() {
  local agent controller id
  id=$(id_of n2) agent=$(show n2 railgauge-agent MainPID) controller=$(show n1 railgauge-controller MainPID)
  on n2 kill -STOP "$agent"
  on n1 kill -STOP "$controller"
  wait_for "the agent begins again" 120 began_again n2 railgauge-agent "$agent"
  wait_for "the controller begins again" 150 began_again n1 railgauge-controller "$controller"
  sh_on n2 "journalctl -b --no-pager -u railgauge-agent | grep -i 'watchdog timeout'"
  sh_on n1 "journalctl -b --no-pager -u railgauge-controller | grep -i 'watchdog timeout'"
  wait_for "both agents attach" 120 attached_on 2
  [ "$(id_of n2)" = "$id" ]
}

# ---- reboot --------------------------------------------------------------------------------------------
reboots() { # NODE
  local before; before="$(id_of n1) $(id_of n2)"
  fabric reboot "$1"
  wait_for "both agents attach" 240 attached_on 2
  [ "$(id_of n1) $(id_of n2)" = "$before" ]
  [ "$(show "$1" railgauge-agent NRestarts)" = 0 ] || show "$1" railgauge-agent NRestarts
  measures_a_pair
}

# ---- purge and reinstallation ----------------------------------------------------------------------------
purge_on() { local node=$1; shift; on "$node" env DEBIAN_FRONTEND=noninteractive dpkg --purge "$@"; }
purge_of_an_agent_leaves_nothing() {
  purge_on n2 railgauge-agent
  sh_on n2 '! ls -d /etc/railgauge/agent.* /etc/railgauge/slurm.env /var/lib/railgauge-agent /var/cache/railgauge-agent /run/railgauge-jobs /run/railgauge-node-facts.sock 2>/dev/null &&
    ! pgrep -u railgauge-agent && ! systemctl list-unit-files "railgauge-*" --no-legend | grep . &&
    ! find /etc/systemd /usr -path /usr/share/doc -prune -o -name "*railgauge*" -print | grep .'
}
# The key and certificate are the site's own and stay; the identity is a new one, which takes the name when the old one is lost.
reinstalls_an_agent() {
  local old; old=$(cut -d ' ' -f 2 "$work/ids")
  install_on n2 new railgauge-agent
  sh_on n2 "printf '%s\n' 'controller = n1:7443' 'name = n2' 'tls_ca = /etc/railgauge/ca.crt' 'tls_cert = /etc/railgauge/n2.crt' 'tls_key = /etc/railgauge/n2.key' >>/etc/railgauge/agent.conf
    systemctl enable --now railgauge-node-facts.socket railgauge-agent"
  wait_for "both agents attach" 180 attached_on 2
  [ "$(id_of n2)" != "$old" ]
  measures_a_pair
}
purge_of_a_controller_keeps_the_measurements() {
  purge_on n1 railgauge-controller railgauge >"$work/purge.txt" 2>&1
  grep -F 'the measurements in /var/lib/railgauge stay' "$work/purge.txt"
  sh_on n1 'test -s /var/lib/railgauge/railgauge.db && ! ls -d /etc/railgauge/controller.* 2>/dev/null &&
    ! pgrep -u railgauge-controller && ! systemctl list-unit-files "railgauge-controller*" --no-legend | grep .'
}
reinstalled_controller_has_the_measurements() {
  install_on n1 new railgauge railgauge-controller
  sh_on n1 'printf "%s\n" "listen = 0.0.0.0:7443" "tls_ca = /etc/railgauge/pki/ca.crt" "tls_cert = /etc/railgauge/pki/controller.crt" \
      "tls_key = /etc/railgauge/pki/controller.key" >>/etc/railgauge/controller.conf
    systemctl enable --now railgauge-controller'
  wait_for "both agents attach" 180 attached_on 2
  on n1 railgauge results "$(cat "$work/first.id")" -o json | jq -e '.points | length == 2'
  measures_a_pair
}

check "the older version is installed" installs_the_older_version
check "a first installation starts nothing" installation_starts_nothing
check "certificates and settings are made" configures
check "services begin and attach" services_begin_and_attach
check "a pair is measured and stored" measures_a_pair
jq -r .run.run_id "$work/pair.json" >"$work/first.id" || true
echo "$(id_of n1) $(id_of n2)" >"$work/ids" || true
check "an agent is upgraded while a run measures" upgrades_an_agent_while_a_run_measures
check "a pair of two versions is measured" measures_a_pair_of_two_versions
check "the controller is upgraded while a run measures" upgrades_the_controller_while_a_run_measures
check "what the upgrade cut short is resumed" resumes_what_the_upgrade_cut_short
check "an upgrade keeps identities and measurements" upgrade_keeps_what_was_there
check "a pair is measured after the upgrade" measures_a_pair
since "upgraded"
check "systemd shows the state, and watches" systemd_shows_the_state
check "the helper begins on demand and ends, for the agent alone" helper_begins_on_demand_and_ends
check "the watchdog ends what hangs, and it comes back" watchdog_ends_what_hangs
check "a pair is measured after the watchdog" measures_a_pair
since "watchdog"
check "an agent's node reboots and measures by itself" reboots n2
check "the controller's node reboots and measures by itself" reboots n1
since "reboots"
check "a purge of an agent leaves nothing" purge_of_an_agent_leaves_nothing
check "a reinstalled agent measures" reinstalls_an_agent
check "a purge of the controller keeps the measurements" purge_of_a_controller_keeps_the_measurements
check "a reinstalled controller has them" reinstalled_controller_has_the_measurements
since "all"
for name in agent-upgrade controller-upgrade; do [ ! -e "$work/$name.outcome" ] || echo "$name: $(cat "$work/$name.outcome")"; done
summary
