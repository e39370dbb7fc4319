#!/usr/bin/env bash
# Renders chart and kustomization and validates them against published API schemas. No cluster runs here: that a kubelet
# starts them is not shown. Exit 77 without the tools (deploy/kubernetes/tools.sh installs them into build/kubernetes).
#   RAILGAUGE_UPDATE_GOLDEN=1 writes kustomize/railgauge.yaml, which is the chart's rendering.
set -uo pipefail
cd "$(dirname "$0")" || exit 4
tools=${RAILGAUGE_KUBERNETES_TOOLS:-../../build/kubernetes}
[ -x "$tools/helm/helm" ] && command -v node >/dev/null || { echo "waived: no helm and schemas in $tools; deploy/kubernetes/tools.sh installs them"; exit 77; }
tools=$(realpath "$tools")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0 cases=0
expect() { # TITLE COMMAND...
  local title=$1; shift
  cases=$((cases + 1))
  "$@" >"$work/out" 2>&1 || { failures=$((failures + 1)); echo "FAILED: $title"; sed 's/^/    /' "$work/out" | head -n 20; }
}
template() { "$tools/helm/helm" template railgauge chart --namespace railgauge --kube-version 1.30.0 "$@" 2>"$work/err" || { grep -v walk.go "$work/err" >&2; return 1; }; }
valid() { node validate.mjs "$tools" <"$1"; }
refuses() { ! template "$@" >/dev/null; }

expect "helm lints the chart" "$tools/helm/helm" lint --strict chart
template >"$work/plain.yaml"
expect "its defaults are valid" valid "$work/plain.yaml"
template --set monitoring.enabled=true --set tls.certManager.enabled=true --set-string controller.site='version: 1' --set controller.storageClass=fast \
  --set agent.podLabels=true --set-string controller.labels='gpu001 rack=r1' \
  --set agent.gpuCount=1 --set agent.settings.NCCL_DEBUG=INFO --set 'image.pullSecrets={a}' --set agent.nodeSelector.gpu=h100 >"$work/all.yaml"
expect "with all that can be turned on it is valid" valid "$work/all.yaml"
for kind in ServiceMonitor PrometheusRule Certificate ConfigMap NetworkPolicy; do expect "then there is a $kind" grep -q "^kind: $kind\$" "$work/all.yaml"; done
expect "the agent reads its pod's labels" grep -q 'downwardAPI: {items: \[{path: labels, fieldRef: {fieldPath: metadata.labels}}\]}' "$work/all.yaml"
expect "the controller has a file of labels" grep -qx '    gpu001 rack=r1' "$work/all.yaml"
boards=$(find ../../dashboards/grafana -name '*.json' | wc -l)
expect "each board is a ConfigMap" test "$(grep -c -- '-board$' "$work/all.yaml")" = "$boards"
expect "that of the archive is none without an archive" sh -c "! grep -q 'name: railgauge-archive-board' '$work/all.yaml'"
template --set monitoring.enabled=true --set 'archive.url=postgres://railgauge@db/railgauge' >"$work/archive.yaml"
expect "with an archive its board is there too" test "$(grep -c -- '-board$' "$work/archive.yaml")" = $((boards + 1))
expect "it is valid" valid "$work/archive.yaml"
template --set agent.rdmaResource= --set agent.runtimeClass= --set agent.hostNetwork=false --set networkPolicy.enabled=false >"$work/less.yaml"
expect "without RDMA resource, runtime class and the host's network it is valid" valid "$work/less.yaml"
expect "an agent elsewhere needs no controller here" sh -c "'$tools/helm/helm' template railgauge chart --kube-version 1.30.0 --set controller.enabled=false --set agent.controller=c:7443 2>/dev/null | grep -q 'value: \"c:7443\"'"
template --set 'networkPolicy.controllerEgress[0].ports[0].port=443,networkPolicy.controllerEgress[0].ports[0].protocol=TCP' >"$work/egress.yaml"
expect "with a rule of egress it is valid" valid "$work/egress.yaml"
expect "and the controller's policy has the rule" grep -q '^  egress: \[{"ports":\[{"port":443,"protocol":"TCP"}\]}\]$' "$work/egress.yaml"
pair=(--set controller.standby.enabled=true --set 'archive.url=postgres://railgauge@db/railgauge?sslmode=verify-full&sslrootcert=/archive/ca.crt' --set archive.secret=archive)
template "${pair[@]}" --set tls.certManager.enabled=true --set 'networkPolicy.controllerEgress[0].ports[0].port=443,networkPolicy.controllerEgress[0].ports[0].protocol=TCP' >"$work/pair.yaml"
expect "with a standby it is valid" valid "$work/pair.yaml"
expect "then there are two controllers" grep -qx '  replicas: 2' "$work/pair.yaml"
expect "on two hosts" grep -q 'topologyKey: kubernetes.io/hostname' "$work/pair.yaml"
expect "each under a name of its own" grep -qF 'value: $(POD_NAME).railgauge-controllers.railgauge.svc:7443' "$work/pair.yaml"
expect "agents know both" grep -qF '"railgauge-controller-0.railgauge-controllers.railgauge.svc:7443,railgauge-controller-1.railgauge-controllers.railgauge.svc:7443"' "$work/pair.yaml"
expect "the certificate is good for both and for clients" sh -c "grep -q 'usages: .*client auth' '$work/pair.yaml' && grep -q -- '- railgauge-controller-1.railgauge-controllers.railgauge.svc\$' '$work/pair.yaml' && grep -q 'organizationalUnits: \[controller\]' '$work/pair.yaml'"
expect "the password is the secret's" grep -q 'name: PGPASSWORD, valueFrom: {secretKeyRef: {name: archive, key: password}}' "$work/pair.yaml"
expect "they reach DNS, the archive, the receiver and each other alone" grep -qxF '  egress: [{"ports":[{"port":53,"protocol":"UDP"},{"port":53,"protocol":"TCP"}]},{"ports":[{"port":5432,"protocol":"TCP"}]},{"ports":[{"port":443,"protocol":"TCP"}]},{"ports":[{"port":7443,"protocol":"TCP"}],"to":[{"podSelector":{"matchLabels":{"app.kubernetes.io/component":"controller","app.kubernetes.io/name":"railgauge"}}}]}]' "$work/pair.yaml"
expect "a standby without an archive is refused" refuses --set controller.standby.enabled=true
expect "an archive alone makes no pair" sh -c "'$tools/helm/helm' template railgauge chart --kube-version 1.30.0 --set archive.url=postgres://u@db/x 2>/dev/null | grep -qx '  replicas: 1'"
expect "a password in the address is refused" refuses --set archive.url=postgres://u:secret@db/x
conditions=(--set conditions.enabled=true --set conditions.image=r/conditions:1 --set conditions.secret=s)
template "${conditions[@]}" >"$work/conditions.yaml"
expect "with conditions it is valid" valid "$work/conditions.yaml"
expect "their account may patch the status of nodes alone" sh -c "grep -qF 'resources: [nodes], verbs: [get, list]}' '$work/conditions.yaml' && grep -qF 'resources: [nodes/status], verbs: [patch]}' '$work/conditions.yaml'"
template "${conditions[@]}" --set conditions.taints=true >"$work/taints.yaml"
expect "with taints it may patch nodes too" grep -qF 'resources: [nodes], verbs: [get, list, patch]}' "$work/taints.yaml"
expect "by default there is neither account nor role" sh -c "! grep -E '^kind: (ServiceAccount|ClusterRole|CronJob)' '$work/plain.yaml'"
expect "conditions without an image are refused" refuses --set conditions.enabled=true --set conditions.secret=s
expect "an unknown value is refused" refuses --set agent.hostNetwrok=true
expect "a wrong type too" refuses --set-string agent.gpuCount=two
expect "a setting is a variable's name" refuses --set controller.settings.keep-points=1

# The manifests themselves.
expect "the RDMA resource is asked for" grep -q 'rdma/hca_shared_devices_a: 1' "$work/plain.yaml"
expect "no GPU is reserved by default" sh -c "! grep -q 'nvidia.com/gpu:' '$work/plain.yaml'"
# The kubelet's socket of pod resources is root's alone, and what the busy guard may not ask counts as busy.
pod_of() { sed -n "/^kind: $1\$/,/^---\$/p" "$work/plain.yaml" >"$work/pod"; grep -q 'kind: '"$1" "$work/pod"; }
agent_may_ask_the_kubelet() { pod_of DaemonSet && grep -q 'runAsUser: 0,' "$work/pod" && ! grep -E 'runAsNonRoot|runAsUser: [1-9]' "$work/pod" && grep -q 'mountPath: /var/lib/kubelet/pod-resources' "$work/pod"; }
expect "the agent may ask the kubelet which devices are assigned" agent_may_ask_the_kubelet
expect "no other pod is root's" test "$(grep -c 'runAsUser: 0' "$work/plain.yaml")" = 1
expect "no capability is added" sh -c "! grep -n 'add: \[' '$work/plain.yaml' '$work/all.yaml'"
expect "no container is privileged" sh -c "! grep -q 'privileged: true' '$work/plain.yaml'"
expect "every capability is dropped" test "$(grep -c 'drop: \[ALL\]' "$work/plain.yaml")" = 3
expect "no pod has a token of the API" test "$(grep -c 'automountServiceAccountToken: false' "$work/plain.yaml")" = 2
variables() { grep -oh 'RAILGAUGE_[A-Z_]*' "$work/plain.yaml" "$work/all.yaml" "$work/pair.yaml" | sort -u; }
known() { variables | while read -r name; do grep -qrF "\`$name\`" ../docs/reference/agent-settings.md ../docs/reference/controller-settings.md || { echo "unknown: $name"; exit 1; }; done; }
expect "every variable is a setting of a program" known
expect "a misspelt field is a fault" sh -c "sed 's/hostNetwork:/hostNetwrok:/' '$work/plain.yaml' | node validate.mjs '$tools' | grep -q 'hostNetwrok: unknown field'"

# The kustomization is the chart without Helm's labels.
sed '/managed-by: Helm/d; /^# Source:/d' "$work/plain.yaml" >"$work/kustomize.yaml"
[ -z "${RAILGAUGE_UPDATE_GOLDEN:-}" ] || cp "$work/kustomize.yaml" kustomize/railgauge.yaml
expect "the kustomization's manifests are the chart's (RAILGAUGE_UPDATE_GOLDEN=1 writes them)" cmp "$work/kustomize.yaml" kustomize/railgauge.yaml
if command -v kubectl >/dev/null && kubectl kustomize kustomize >"$work/kustomized.yaml" 2>"$work/out"; then
  expect "kustomize's output is valid" valid "$work/kustomized.yaml"
  expect "and in its namespace" sh -c "! grep '^  namespace:' '$work/kustomized.yaml' | grep -v 'namespace: railgauge'"
else
  echo "not run: kustomize: $(head -n 1 "$work/out" 2>/dev/null)"
fi
[ $failures = 0 ] || { echo "$failures of $cases cases failed"; exit 1; }
echo "kubernetes: $cases cases passed"
