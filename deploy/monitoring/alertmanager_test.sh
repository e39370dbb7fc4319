#!/usr/bin/env bash
# Tests the shipped Alertmanager example with Debian's Alertmanager: it is valid, critical alerts and warnings go to their own
# receivers, and a controller that is down mutes the alerts that follow from it and no other. Exit 77 without
# Alertmanager.
set -euo pipefail
for program in prometheus-alertmanager amtool curl jq; do
  command -v "$program" >/dev/null || { echo "no $program here: deploy/deps.sh installs it"; exit 77; }
done
here=$(cd "$(dirname "$0")" && pwd)
export no_proxy='*' NO_PROXY='*'
work=$(mktemp -d "${TMPDIR:-/tmp}/railgauge-alertmanager.XXXXXX")
pid=
finish() {
  [ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT
fail() { echo "alertmanager_test: $*"; sed 's/^/    /' "$work/log" 2>/dev/null | tail -n 20; exit 1; }

amtool check-config "$here/alertmanager.yml" >"$work/checked" || { cat "$work/checked"; fail "amtool refuses alertmanager.yml"; }
receiver() { amtool config routes test --config.file="$here/alertmanager.yml" "$@"; }
[ "$(receiver severity=critical alertname=RailgaugeLinksDown)" = pager ] || fail "a critical alert goes elsewhere"
[ "$(receiver severity=warning alertname=RailgaugeNodesStale)" = tickets ] || fail "a warning goes elsewhere"

prometheus-alertmanager --config.file="$here/alertmanager.yml" --storage.path="$work/data" --cluster.listen-address= \
  --web.listen-address=127.0.0.1:0 >"$work/log" 2>&1 &
pid=$!
# wait_for TITLE COMMAND...: repeats the command until it succeeds, for at most a minute.
wait_for() {
  local what=$1 until; shift
  until=$(($(date +%s) + 60))
  until "$@"; do
    kill -0 "$pid" 2>/dev/null || fail "it ended"
    [ "$(date +%s)" -lt "$until" ] || fail "waited in vain: $what"
    sleep 0.1
  done
}
url=
listens() { url=http://$(sed -n 's/.*msg="Listening on" address=\([0-9.:]*\).*/\1/p' "$work/log" | head -n 1); [ "$url" != http:// ]; }
wait_for "it listens" listens
wait_for "it is ready" curl -fsS -o /dev/null "$url/-/ready"

# alert NAME SEVERITY [CLUSTER]: prints the alert as JSON; CLUSTER is c where it is not given.
alert() { printf '{"labels": {"alertname": "%s", "severity": "%s", "cluster": "%s"}}\n' "$1" "$2" "${3-c}"; }
post() { jq -s . | curl -fsS -X POST -H 'Content-Type: application/json' --data @- "$url/api/v2/alerts"; }
# inhibited: prints the names of the alerts that another alert inhibits now.
inhibited() { curl -fsS "$url/api/v2/alerts" | jq -r '[.[] | select(.status.inhibitedBy | length > 0) | .labels.alertname] | sort | join(" ")'; }
is_inhibited() { [ "$(inhibited)" = "$1" ]; }
known() { [ "$(curl -fsS "$url/api/v2/alerts" | jq length)" = "$1" ]; }

{ alert RailgaugeNodesStale warning; alert RailgaugeLinksDown critical; alert RailgaugeLinksFlapping warning; alert RailgaugePreflightFailing warning; } | post
wait_for "four alerts are known" known 4
wait_for "a port that is down flaps no more" is_inhibited RailgaugeLinksFlapping
alert RailgaugeControllerDown critical other | post
wait_for "five alerts are known" known 5
is_inhibited RailgaugeLinksFlapping || fail "another cluster's controller keeps this one quiet"
alert RailgaugeControllerDown critical | post
wait_for "without the controller stale nodes are no news" is_inhibited "RailgaugeLinksFlapping RailgaugeNodesStale"
{ alert RailgaugeRegressionConfirmed critical; alert RailgaugeRegressionUnconfirmed warning; } | post
wait_for "a critical alert needs no warning beside it" is_inhibited "RailgaugeLinksFlapping RailgaugeNodesStale RailgaugeRegressionUnconfirmed"
alert RailgaugeNodesStale warning third | post
wait_for "nine alerts are known" known 9
is_inhibited "RailgaugeLinksFlapping RailgaugeNodesStale RailgaugeRegressionUnconfirmed" || fail "a cluster whose controller answers is kept quiet"
alert RailgaugeControllerDown critical "" | post
wait_for "a controller that nobody knows keeps all quiet" is_inhibited "RailgaugeLinksFlapping RailgaugeNodesStale RailgaugeNodesStale RailgaugeRegressionUnconfirmed"
echo "routes and inhibitions are as they should be"
