#!/usr/bin/env bash
# Shared by the proofs of dashboards and alerts: a Prometheus with the shipped configuration and rules, at a test's pace.
# Source it before lib.sh, so that a test that ends with 77 here makes no temporary folder.
# shellcheck shell=bash disable=SC2154 # $work, $top and wait_for are lib.sh's
for program in prometheus promtool python3; do
  command -v "$program" >/dev/null || { echo "no $program here: deploy/deps.sh installs it"; exit 77; }
done
export PYTHONDONTWRITEBYTECODE=1

# port_of PROCESS: prints the metrics port of the controller or an agent, from its log.
port_of() { sed -n 's/.*metrics on .*port \([0-9]*\)$/\1/p' "$work/$1.log" | tail -n 1; }

# start_prometheus [NODE=HOST:PORT...]: starts one that scrapes the controller and its agents, or these where the
# controller's addresses lead elsewhere, and sets $url to its address.
start_prometheus() {
  local home=$work/prometheus agent agents='s|/sd$|&\n        refresh_interval: 1s|'
  mkdir -p "$home/railgauge"
  for agent in "$@"; do
    printf '{"targets": ["%s"], "labels": {"node": "%s"}}\n' "${agent#*=}" "${agent%%=*}"
  done | jq -s . >"$home/railgauge/agents.json"
  # The shipped files with other addresses and a faster pace.
  [ $# = 0 ] || agents='s|http_sd_configs:|file_sd_configs:|; s|- url: .*/sd|- files: [railgauge/agents.json]|'
  sed -e "$agents" -e "s/controller:7470/127.0.0.1:$(port_of controller)/" -e 's/: 30s/: 1s/' \
    -e 's/cluster: example/cluster: test/' -e 's/replacement: example/replacement: test/' "$top/deploy/monitoring/prometheus.yml" >"$home/prometheus.yml"
  sed 's/interval: 30s/interval: 1s/' "$top/dashboards/prometheus/records.yml" >"$home/railgauge/records.yml"
  sed 's/interval: 30s/interval: 1s/' "$top/dashboards/prometheus/alerts.yml" >"$home/railgauge/alerts.yml"
  prometheus --config.file="$home/prometheus.yml" --storage.tsdb.path="$home/data" --web.listen-address=127.0.0.1:0 \
    >"$work/prometheus.log" 2>&1 &
  echo $! >"$work/prometheus.pid"
  wait_for "Prometheus listens" 60 grep -q 'msg="Listening on"' "$work/prometheus.log"
  url=http://$(sed -n 's/.*msg="Listening on" address=\([0-9.:]*\).*/\1/p' "$work/prometheus.log" | head -n 1)
  wait_for "Prometheus is ready" 60 curl -fsS "$url/-/ready"
}
# answers QUERY: passes when the query has an answer.
answers() { curl -fsS --get "$url/api/v1/query" --data-urlencode "query=$1" | jq -e '.data.result | length > 0'; }
# alert_is_up NAME: passes when the alert is pending or firing.
alert_is_up() { curl -fsS "$url/api/v1/alerts" | jq -e --arg name "$1" 'any(.data.alerts[]; .labels.alertname == $name)'; }

# all_is_scraped SUITE NODES: waits for the series of a run of the suite and of a preflight of NODES nodes.
all_is_scraped() {
  wait_for "the run is scraped" 60 answers "railgauge_run_last_outcome{suite=\"$1\",outcome=\"passed\"}"
  wait_for "its pairs are scraped" 60 answers 'railgauge_worst_pair_ratio'
  wait_for "latency beside bandwidth" 60 answers 'railgauge_fabric_latency_seconds and on (cluster) railgauge_fabric_bandwidth_bytes_per_second'
  wait_for "the agents' figures are scraped" 60 answers 'count(count by (node) (railgauge_link_bandwidth_bytes_per_second)) >= 2'
  wait_for "the preflight is scraped" 60 answers "count(count by (node) (railgauge_preflight_results)) == $2"
  # The rate of a new series needs two scrapes.
  wait_for "rates have two samples" 60 answers 'sum by (outcome) (rate(railgauge_agent_tasks_total[1m]))'
}
