#!/usr/bin/env bash
# Tests the web console in headless Chromium: real controller, 32 modelled nodes, one port that sends slowly. Figures
# are synthetic.
#   console.sh [PICTURES]   also writes screenshots into the folder PICTURES
# Exit 77 without Chromium, Node.js or the built pages.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

pages=$top/dashboards/console
chromium=$(command -v chromium || true)
waive() { echo "waived: $1"; exit 77; }
[ -n "$chromium" ] || waive "there is no chromium; deploy/deps.sh installs it"
command -v node >/dev/null || waive "there is no node; deploy/deps.sh installs it"
[ -d "$pages/node_modules/puppeteer-core" ] || waive "the packages of dashboards/console are missing; deploy/deps.sh fetches them"
[ -e "$bin/../share/railgauge/console/index.html" ] || waive "this build has no pages of the console"

# By name for the pages: the shipped quick one, one that ends at once, and one that takes a while.
suites=$work/suites
mkdir "$suites"
cp "$top/suites/quick.yaml" "$suites"
cat >"$suites/pairs.yaml" <<'Y'
version: 1
metadata: {name: pairs, summary: "bandwidth of some pairs on all rails, both ways"}
stages:
  - kernel: verbs.write_bw
    parameters: {sizes: 64KiB}
    placement: {pairs: quick, matchings: 6, directions: both, rails: same, rails_together: true}
Y
sed 's/name: pairs,/name: slow,/; s/^stages:/rounds: {settle: 700ms}\nstages:/' "$suites/pairs.yaml" >"$suites/slow.yaml"
printf 'sim[0001-0008] leaf=L0\nsim[0009-0016] leaf=L1\nsim[0017-0024] leaf=L2\nsim[0025-0032] leaf=L3\n' >"$work/leaves"
for slot in 1 2 3 4 5 6 7 8; do
  printf 'sim[%04d,%04d,%04d,%04d] slot=%d\n' "$slot" $((slot + 8)) $((slot + 16)) $((slot + 24)) "$slot"
done >>"$work/leaves"
cat >"$work/site.yaml" <<Y
version: 1
metadata: {name: modelled}
defaults: {}
topology: {source: labels, file: "$work/leaves"}
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
group=()
if [ "$(id -u)" = 0 ]; then chmod 711 "$work"; group=(--socket-group daemon); fi
start_controller --site-profile "$work/site.yaml" --console-listen 127.0.0.1:0 "${group[@]}"
"$bin/railgauge-fleet" --controller "unix:$socket" --scenario "$work/scenario.yaml" >>"$work/fleet.log" 2>&1 &
echo $! >"$work/fleet.pid"
wait_for "32 nodes attach" 60 attached 32
cli run pairs --all >"$work/run.txt" 2>&1 || true
login=$(cli console 2>/dev/null)
# A process keeps a group that its user has lost, and may use the socket; a session would outlive it.
if [ "$(id -u)" = 0 ]; then
  left=$(setpriv --reuid=65534 --regid=1 --clear-groups "$bin/railgauge" console 2>&1) && { echo "    a shell of old opens a console"; exit 1; }
  grep -q "in no group that may use the controller's socket" <<<"$left" || { echo "    $left"; exit 1; }
fi
# The same controller again, on the port that its pages know.
cat >"$work/restart.sh" <<R
. "$top/deploy/e2e/lib.sh"
trap - EXIT
rmdir "\$work"
work=$work socket=$socket suites=$suites
export RAILGAUGE_CONTROLLER=unix:$socket
start_controller --site-profile "$work/site.yaml" --console-listen "\$1"
R
export RAILGAUGE_BIN=$bin RAILGAUGE_RESTART=$work/restart.sh
node "$pages/tests/console.e2e.mjs" "$chromium" "$login" "$(pid_of controller)" "$@"
