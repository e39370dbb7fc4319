#!/usr/bin/env bash
# Starts what the compose files say, without their images: in namespaces of its own, this build's controller and Debian's
# Prometheus and Alertmanager, each with the command, the environment and the mounted files that its service has there, and
# the services' names in /etc/hosts. Two agents attach over TLS and measure a pair (fake wire, synthetic); Prometheus finds
# all of them, its rules give series, and an alert arrives at Alertmanager. Grafana is not in Debian: compose_test.sh reads
# its files. Exit 77 without Debian's programs, python3-yaml or namespaces.
# shellcheck source-path=SCRIPTDIR
if [ "${1:-}" != inside ]; then
  for tool in prometheus prometheus-alertmanager jq curl; do command -v $tool >/dev/null || { echo "waived: no $tool here; deploy/deps.sh installs it"; exit 77; }; done
  python3 -c 'import yaml' 2>/dev/null || { echo "waived: no python3-yaml here; Debian's package has it"; exit 77; }
  unshare -r -m -n true 2>/dev/null || { echo "waived: no user, mount and network namespaces here"; exit 77; }
  exec unshare -r -m -n "$0" inside
fi
. "$(dirname "$0")/../e2e/lib.sh"
cd "$top"
PATH=$PATH:/usr/sbin:/sbin
chroot=$(command -v chroot)
ip link set lo up

# ---- a root that looks like each service's container ---------------------------------------------------
# In memory, at a place that only this mount namespace has: what is bound below it is never where the test removes files.
root=/mnt
mount -t tmpfs -o mode=755 none $root
mkdir -p $root/{etc,tmp,proc,dev,tls,prometheus,suites,run/railgauge,var/lib/railgauge}
# bind FROM TO: a folder or file of this machine, which the services can only read.
bind() { mount --bind "$1" "$2" && mount -o remount,ro,bind "$2"; }
for folder in usr bin sbin lib lib64; do
  if [ -L /$folder ]; then ln -s "$(readlink /$folder)" "$root/$folder"; elif [ -d /$folder ]; then mkdir "$root/$folder" && bind /$folder "$root/$folder"; fi
done
mount --rbind /proc $root/proc
for device in null zero random urandom; do : >$root/dev/$device && mount --bind /dev/$device $root/dev/$device; done
cp -r /etc/ld.so.cache /etc/nsswitch.conf /etc/passwd /etc/group $root/etc/
# `controller` is this host, as the compose file's extra_hosts has it; the other services are by their names.
echo "127.0.0.1 localhost controller prometheus alertmanager" >$root/etc/hosts
bind $root/etc/hosts /etc/hosts
built=$(realpath "$bin/..")
mkdir -p "$root$built"
bind "$built" "$root$built"
bind "$top/suites" $root/suites

# read_services: for each service a folder with its words, its environment, and its mounts of files.
read_services() {
  python3 - "$top/deploy/container/compose.yaml" "$work/services" <<'P'
import pathlib, re, sys
import yaml

files, out = [pathlib.Path(sys.argv[1])], pathlib.Path(sys.argv[2])
for file in files:
    read = yaml.safe_load(file.read_text())
    files += [file.parent / other for other in read.get("include", [])]
    for name, service in read["services"].items():
        folder = out / name
        folder.mkdir(parents=True)
        (folder / "command").write_text("".join(f"{word}\n" for word in service.get("command", [])))
        (folder / "environment").write_text("".join(f"{key}={value}\n" for key, value in service.get("environment", {}).items()))
        mounts = (re.sub(r"\$\{[A-Z_]+:-(.*?)\}", r"\1", mount).split(":")[:2] for mount in service.get("volumes", []))
        (folder / "mounts").write_text("".join(f"{(file.parent / source).resolve()} {target}\n" for source, target in mounts
                                                if source.startswith(".") and source != "./pki"))
P
}
# start SERVICE PROGRAM [FLAG...]: the flags are for what an image has and this root has not.
start() {
  local service=$1 program=$2 command environment; shift 2
  mapfile -t command <"$work/services/$service/command"
  mapfile -t environment <"$work/services/$service/environment"
  (exec env -i PATH=/usr/bin:/bin "${environment[@]}" "$chroot" "$root" "$program" "${command[@]}" "$@") >"$work/$service.log" 2>&1 &
  echo $! >"$work/$service.pid"
}
mounts_the_files() {
  local source target
  read_services
  while read -r source target; do
    mkdir -p "$root$(dirname "$target")" && : >"$root$target"
    cp "$source" "$root$target"
  done < <(cat "$work"/services/{prometheus,alertmanager}/mounts)
  find "$root/etc/prometheus" "$root/etc/alertmanager" -type f | sort
  [ "$(find "$root/etc/prometheus" "$root/etc/alertmanager" -type f | wc -l)" = 4 ]
}

# ---- the services ------------------------------------------------------------------------------------------
controller_is_healthy() {
  "$bin/railgauge" pki init "$work/pki" && "$bin/railgauge" pki issue "$work/pki" controller controller --san controller
  "$bin/railgauge" pki issue "$work/pki" agent "n[1-2]"
  cp "$work"/pki/{ca.crt,controller.crt,controller.key} "$root/tls/"
  start controller "$built/bin/railgauge-controller" --suites /suites
  # As its health check, which is the image's own command.
  wait_for "the controller is healthy" 60 env -i PATH=/usr/bin:/bin "$chroot" "$root" "$built/bin/railgauge" status
}
agents_measure_a_pair() {
  local node
  for node in n1 n2; do
    RAILGAUGE_TLS_CA=$work/pki/ca.crt RAILGAUGE_TLS_CERT=$work/pki/$node.crt RAILGAUGE_TLS_KEY=$work/pki/$node.key \
      agent_dials=controller:7443 start_agent $node
  done
  wait_for "both agents attach" 60 attached 2
  cli run quick -o json >"$work/quick.json"
  jq -e '.run.outcome == "passed" and ([.points[].endpoints | join(" ")] | unique | length) >= 1' "$work/quick.json"
}
prometheus_and_alertmanager_begin() {
  start prometheus prometheus
  # Without a cluster: in this network namespace there is no address to advertise.
  start alertmanager prometheus-alertmanager --cluster.listen-address=
  wait_for "Prometheus is ready" 60 curl -fsS http://prometheus:9090/-/ready
  wait_for "Alertmanager is ready" 60 curl -fsS http://alertmanager:9093/-/ready
}

# ---- what Prometheus finds -----------------------------------------------------------------------------------
prometheus() { curl -fsS --get "http://prometheus:9090/api/v1/$1" "${@:2}"; }
all_are_up() {
  prometheus targets | jq -e '[.data.activeTargets[] | select(.health == "up") | [.labels.job, .labels.node]] | sort
    == [["railgauge-agent", "n1"], ["railgauge-agent", "n2"], ["railgauge-controller", null]]'
}
answers() { prometheus query --data-urlencode "query=$1" | jq -e '.data.result | length > 0'; }
# The pace is the shipped one: a scrape and an evaluation each 30 s.
finds_all_and_has_the_rules() {
  wait_for "controller and agents are scraped" 90 all_are_up
  prometheus rules | jq -e '[.data.groups[].rules[]] | length > 40 and all(.lastError == null or .lastError == "")'
  wait_for "the run is there" 90 answers 'railgauge_run_last_outcome{suite="quick",outcome="passed"} == 1'
  wait_for "a recorded series is there" 90 answers '{__name__=~"railgauge:.+"}'
}
an_alert_arrives() {
  stop_hard controller
  prometheus alertmanagers | jq -e '.data.activeAlertmanagers | map(.url) == ["http://alertmanager:9093/api/v2/alerts"]'
  wait_for "the alert arrives" 300 alert_is_there
}
alert_is_there() { curl -fsS http://alertmanager:9093/api/v2/alerts | jq -e 'any(.[]; .labels.alertname == "RailgaugeControllerDown" and .labels.cluster == "example")'; }

export RAILGAUGE_CONTROLLER=unix:$root/run/railgauge/controller.sock
check "every file that a service mounts is there" mounts_the_files
check "the controller is healthy with the compose file's environment" controller_is_healthy
check "agents attach over TLS and measure a pair" agents_measure_a_pair
check "Prometheus and Alertmanager begin with the compose file's commands and files" prometheus_and_alertmanager_begin
check "Prometheus finds controller and agents, and the rules give series" finds_all_and_has_the_rules
check "a controller that is down arrives at Alertmanager" an_alert_arrives
summary
