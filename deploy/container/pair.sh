#!/usr/bin/env bash
# Starts the images as real containers, by runc, and measures a pair: two agents and a controller, each in a network of its
# own on a bridge, with TCP kernels over that bridge. First as deploy/container/compose.yaml has the controller, then with
# nodes that enrol by a token, then as the kustomization's DaemonSet and StatefulSet have all three: variables, user, mounts,
# probes. deploy/container/oci.py reads these files. The RDMA ports in the agents' /sys are made up; TCP and its figures are
# this machine's own.
#   deploy/container/pair.sh VERSION    RAILGAUGE_STORAGE has the images, which deploy/container/images_test.sh makes
# Exit 77 where no container can run. Not tested here: a kubelet, its secrets, volumes and services; seccomp's profile; RDMA.
# shellcheck source-path=SCRIPTDIR
PATH=$PATH:/usr/sbin:/sbin
version=${1:?pair.sh: VERSION of the images}
for tool in runc buildah ip jq curl python3; do command -v $tool >/dev/null || { echo "waived: no $tool here; deploy/deps.sh installs it"; exit 77; }; done
python3 -c 'import yaml' 2>/dev/null || { echo "waived: no python3-yaml here; Debian's package has it"; exit 77; }
if [ "${RAILGAUGE_PAIR:-}" != inside ]; then
  unshare -m -n true 2>/dev/null || { echo "waived: no mount and network namespaces here"; exit 77; }
  RAILGAUGE_PAIR=inside exec unshare -m -n --propagation private "$0" "$@"
fi
unset RAILGAUGE_PAIR
. "$(dirname "$0")/../e2e/lib.sh"
cd "$top"
store() { buildah --root "$RAILGAUGE_STORAGE/root" --runroot "$RAILGAUGE_STORAGE/run" "$@"; }
run_c() { runc --root "$work/runc" "$@"; }
held=()  # containers of buildah, whose roots are mounted here alone
tear_down() {
  local code=$?
  end_containers || true
  [ ${#held[@]} = 0 ] || store rm "${held[@]}" >/dev/null || true
  (exit $code) || true
  finish
}
trap tear_down EXIT
end_containers() {
  local each
  for each in controller n1 n2; do [ ! -e "$work/$each.pid" ] || ! alive $each || kill -TERM "$(pid_of $each)"; done
  wait_for "all containers end" 60 none_runs
  rm -f "$work"/*.pid
}
none_runs() { local each; for each in controller n1 n2; do [ ! -e "$work/$each.pid" ] || ! alive $each || return 1; done; }

# ---- networks, roots, certificates -----------------------------------------------------------------
mkdir -p /run/netns && mount -t tmpfs tmpfs /run/netns
ip link set lo up && ip link add fabric type bridge && ip link set fabric up || { echo "waived: no bridge can be made here"; exit 77; }
number=0
for name in controller n1 n2; do
  number=$((number + 1))
  ip netns add $name && ip link add to-$name type veth peer name eth0 netns $name || { echo "waived: no network of its own can be made here"; exit 77; }
  ip link set to-$name master fabric up
  ip -n $name link set lo up && ip -n $name addr add 198.51.100.$number/24 dev eth0 && ip -n $name link set eth0 up
  mkdir "$work/net-$name" && ip netns exec $name sh -c 'cd /sys/class/net/eth0 && cat mtu >'"$work/net-$name/mtu"' && cat speed >'"$work/net-$name/speed"
done
printf '%s\n' "127.0.0.1 localhost" "198.51.100.1 controller railgauge-controller.railgauge.svc" >"$work/hosts"
(cd "$work" && runc spec) && mv "$work/config.json" "$work/spec.json"
for image in agent controller; do
  store inspect --type image "localhost/railgauge/$image:$version" | jq .OCIv1.config >"$work/$image.json"
  held+=("$(store from "localhost/railgauge/$image:$version")")
  store mount "${held[-1]}" >"$work/$image.root"
done
"$bin/railgauge" pki init "$work/pki" && "$bin/railgauge" pki issue "$work/pki" controller controller --san controller,railgauge-controller.railgauge.svc
cp -r "$work/pki" "$work/authority"  # knows no node
"$bin/railgauge" pki issue "$work/pki" agent n1,n2
cat >"$work/pair.yaml" <<'Y'
version: 1
metadata: {name: pair, summary: "TCP between two containers"}
stages:
  - kernel: net.tcp_lat
    parameters: {sizes: [8, 4KiB], time_cap: 2s, proof_time: 200ms}
    placement: {pairs: all}
  - kernel: net.tcp_bw
    parameters: {sizes: 64KiB, time_cap: 2s, proof_time: 200ms}
    placement: {pairs: all}
Y

# container NAME IMAGE FILE WHAT [OPTION...]: starts a container in the network of its name; its volumes are below $folder/NAME.
folder=""
container() {
  local name=$1 image=$2
  configure "$name" "$image" "${@:3}"
  runc --root "$work/runc" run --bundle "$work/bundle-$name" "$name" >>"$work/$name.log" 2>&1 &
  echo $! >"$work/$name.pid"
}
configure() {
  local name=$1 image=$2; shift 2
  mkdir -p "$work/bundle-$name"
  deploy/container/oci.py "$@" --spec "$work/spec.json" --image "$work/$image.json" --rootfs "$(cat "$work/$image.root")" \
    --netns "/run/netns/$name" --folder "$folder/$name" --mount "$work/hosts:/etc/hosts" --out "$work/bundle-$name/config.json"
}
in_controller() { run_c exec controller railgauge "$@"; }
# volume OWNER NAME/VOLUME...: makes folders of volumes.
volume() { local owner=$1 each; shift; for each in "$@"; do mkdir -p "$folder/$each" && chown "$owner" "$folder/$each"; done; }
# adapter NAME: prints the mount of a /sys that has an RDMA port, made up, on the container's interface.
adapter() {
  make_sysfs "$folder/$1/sysfs"
  echo eth0 >"$folder/$1/sysfs/class/infiniband/fake0/ports/1/gid_attrs/ndevs/0"
  mkdir -p "$folder/$1/sysfs/class/net/eth0" && cp "$work/net-$1"/* "$folder/$1/sysfs/class/net/eth0/"
  echo "$folder/$1/sysfs:/sys"
}
attached_here() { [ "$(in_controller nodes -o json | jq '[.nodes[] | select(.state == "attached")] | length')" = 2 ]; }
answers() { ip netns exec "$1" curl -fsS --noproxy '*' "http://127.0.0.1:$2"; }
measures_a_pair() {
  in_controller run /var/lib/railgauge/pair.yaml -o json >"$work/pair.json"
  jq -c '.points[] | [.kernel, .point.size, .point.median]' "$work/pair.json"
  jq -e '.run.outcome == "passed" and ([.points[].kernel] | unique == ["net.tcp_bw", "net.tcp_lat"])
    and (.points | length >= 3 and all(.facts.netdev == "eth0" and .point.median > 0 and .point.verified and (.point.synthetic | not)))' "$work/pair.json"
  in_controller results "$(jq -r .run.run_id "$work/pair.json")" -o json | jq -e '.points | length >= 3'
}
# confined NAME UID: the program is that user's, has no capability and cannot get one, and changes nothing of its image.
confined() {
  run_c exec "$1" cat /proc/1/status >"$work/status"
  grep -P "^Uid:\t$2\t" "$work/status" && grep -P '^CapEff:\t0000000000000000' "$work/status" && grep -P '^CapBnd:\t0000000000000000' "$work/status"
  grep -P '^NoNewPrivs:\t1' "$work/status"
  ! run_c exec "$1" touch /usr/bin/changed
}

# ---- as Compose has it -----------------------------------------------------------------------------
compose_controller_is_healthy() {
  volume 7443:7443 controller/railgauge controller/pki
  chmod 700 "$folder/controller/railgauge"
  install -o 7443 -g 7443 -m 0400 "$work/pki"/{ca.crt,controller.crt,controller.key} "$folder/controller/pki/"
  cp "$work/pair.yaml" "$folder/controller/railgauge/"
  container controller controller deploy/container/compose.yaml controller
  mapfile -t health < <(python3 -c 'import yaml
print(*yaml.safe_load(open("deploy/container/compose.yaml"))["services"]["controller"]["healthcheck"]["test"][1:], sep="\n")')
  wait_for "its health check passes" 60 run_c exec controller "${health[@]}"
  confined controller 7443
}
agents_attach_by_the_images_own_command() {
  local name
  for name in n1 n2; do
    volume 7443:7443 $name/state $name/cache $name/tls
    chmod 700 "$folder/$name/state"
    install -o 7443 -g 7443 -m 0400 "$work/pki"/{ca.crt,$name.crt,$name.key} "$folder/$name/tls/"
    container $name agent - agent --mount "$folder/$name/state:/var/lib/railgauge-agent" --mount "$folder/$name/cache:/var/cache/railgauge-agent" \
      --mount "$folder/$name/tls:/tls" --mount "$(adapter $name)" --env RAILGAUGE_NAME=$name \
      --env RAILGAUGE_CONTROLLER=controller:7443 --env RAILGAUGE_TLS_CA=/tls/ca.crt --env RAILGAUGE_TLS_CERT=/tls/$name.crt --env RAILGAUGE_TLS_KEY=/tls/$name.key
  done
  wait_for "both agents attach" 60 attached_here
  confined n1 7443
}

# ---- by enrolment ------------------------------------------------------------------------------------
# As the image has it, with a folder of settings: the node has no certificate before, and each token is one node's.
controller_enrols() {
  volume 7443:7443 controller/railgauge controller/pki
  chmod 700 "$folder/controller/railgauge"
  cp -r "$work/authority" "$folder/controller/railgauge/pki" && chown -R 7443:7443 "$folder/controller/railgauge/pki"
  cp "$work/pair.yaml" "$folder/controller/railgauge/"
  local pki=/var/lib/railgauge/pki
  container controller controller deploy/container/compose.yaml controller --env RAILGAUGE_ENROLL_LISTEN=7444 --env RAILGAUGE_ENROLL_PKI=$pki \
    --env RAILGAUGE_TLS_CA=$pki/ca.crt --env RAILGAUGE_TLS_CERT=$pki/controller.crt --env RAILGAUGE_TLS_KEY=$pki/controller.key --env RAILGAUGE_TLS_CRL=$pki/crl.pem
  wait_for "its health check passes" 60 run_c exec controller railgauge status
}
of_node() { # NAME: the options of its container
  options=(agent - agent --mount "$folder/$1/state:/var/lib/railgauge-agent" --mount "$folder/$1/cache:/var/cache/railgauge-agent" \
    --mount "$folder/$1/settings:/etc/railgauge" --mount "$(adapter "$1")")
}
nodes_enrol_by_a_token_and_attach() {
  local name options
  for name in n1 n2; do
    volume 7443:7443 $name/state $name/cache $name/settings
    chmod 700 "$folder/$name/state"
    in_controller --quiet tokens create --nodes $name >"$folder/$name/settings/token"
    of_node $name
    configure $name "${options[@]}" --arg=enroll --arg=--controller --arg=controller --arg=--name "--arg=$name" --arg=--token-file --arg=/etc/railgauge/token
    run_c run --bundle "$work/bundle-$name" enroll-$name
    [ "$(stat -c '%u %a' "$folder/$name/state/tls/agent.key")" = "7443 600" ]
    container $name "${options[@]}"
  done
  wait_for "both agents attach" 60 attached_here
}
a_used_token_enrols_nobody() {
  local options
  of_node n1
  configure n1 "${options[@]}" --arg=enroll --arg=--controller --arg=controller --arg=--name --arg=n1 --arg=--token-file --arg=/etc/railgauge/token --arg=--force
  expect_exit 4 run_c run --bundle "$work/bundle-n1" enroll-again >"$work/again" 2>&1
  grep -F 'all its uses are taken' "$work/again"
}

# ---- as Kubernetes has it --------------------------------------------------------------------------
readonly kManifests=deploy/kubernetes/kustomize/railgauge.yaml
# The kubelet's work by hand: volumes with the owners and modes that the manifests ask for.
pod_of_the_controller_is_ready() {
  volume 7443:7443 controller/data controller/run controller/tmp controller/tls
  install -o 0 -g 7443 -m 0440 "$work/pki/ca.crt" "$folder/controller/tls/ca.crt"
  install -o 0 -g 7443 -m 0440 "$work/pki/controller.crt" "$folder/controller/tls/tls.crt"
  install -o 0 -g 7443 -m 0440 "$work/pki/controller.key" "$folder/controller/tls/tls.key"
  cp "$work/pair.yaml" "$folder/controller/data/"
  container controller controller $kManifests StatefulSet/railgauge-controller
  wait_for "its probe passes" 60 answers controller 7470/healthz
  confined controller 7443
}
pods_of_the_agents_are_ready_and_attach() {
  local name
  for name in n1 n2; do
    volume 0:0 $name/state $name/cache $name/tmp $name/shm $name/pod-resources $name/tls
    install -m 0400 "$work/pki/ca.crt" "$work/pki"/n[12].{crt,key} "$folder/$name/tls/"
    field=(--field "spec.nodeName=$name" --field "metadata.name=railgauge-agent-$name" --field metadata.namespace=railgauge)
    configure $name agent $kManifests DaemonSet/railgauge-agent/init "${field[@]}"
    run_c run --bundle "$work/bundle-$name" init-$name
    [ "$(stat -c %a "$folder/$name/state")" = 700 ]
    container $name agent $kManifests DaemonSet/railgauge-agent "${field[@]}" --mount "$(adapter $name)"
    wait_for "the probe of $name passes" 60 answers $name 7471/metrics
  done
  wait_for "both agents attach" 60 attached_here
  confined n1 0
}
# A pod that is replaced keeps its node's identity and attaches again.
a_replaced_pod_is_the_same_node() {
  local before; before=$(cat "$folder/n2/state/agent-node-id")
  kill -TERM "$(pid_of n2)"
  wait_for "the pod ends within its grace period" 30 eval '! alive n2'
  container n2 agent $kManifests DaemonSet/railgauge-agent --field spec.nodeName=n2 --field metadata.name=railgauge-agent-again \
    --field metadata.namespace=railgauge --mount "$(adapter n2)"
  wait_for "both agents attach" 60 attached_here
  [ "$(cat "$folder/n2/state/agent-node-id")" = "$before" ]
  measures_a_pair
}

folder=$work/first
configure n1 agent - agent
run_c run --bundle "$work/bundle-n1" first >"$work/first.log" 2>&1 || true
grep -q 'no controller is given' "$work/first.log" || { tail -n 2 "$work/first.log"; echo "waived: runc starts no container here"; exit 77; }

folder=$work/compose
check "the controller of the Compose file is healthy" compose_controller_is_healthy
check "two agents attach to it, by their images' own command and user" agents_attach_by_the_images_own_command
check "a pair of containers is measured" measures_a_pair
figures=$(jq -r '[.points[] | "\(.kernel) \(.point.median)"] | join(", ")' "$work/pair.json" 2>/dev/null || true)
end_containers
folder=$work/enrolment
check "a controller opens enrolment" controller_enrols
check "nodes without a certificate enrol by a token in one command, and attach" nodes_enrol_by_a_token_and_attach
check "a pair of enrolled nodes is measured" measures_a_pair
check "a used token enrols nobody" a_used_token_enrols_nobody
end_containers
folder=$work/kubernetes
check "the pod of the controller is ready" pod_of_the_controller_is_ready
check "the pods of the agents are ready and attach" pods_of_the_agents_are_ready_and_attach
check "a pair of pods is measured" measures_a_pair
check "a pod that is replaced is the same node, and measures" a_replaced_pod_is_the_same_node
echo "figures of this machine's bridge: $figures"
summary
