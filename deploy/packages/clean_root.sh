#!/usr/bin/env bash
# Installs the packages of a build in a clean Debian 12 root, which has nothing else: installation, a measured pair,
# upgrade from an older version, removal, reinstallation, purge; then the rpm packages likewise, where rpmbuild is.
# Figures are of the fake wire (synthetic).
#   deploy/packages/clean_root.sh      RAILGAUGE_BUILD_DIR names the build [build/dev]
# Needs root, debootstrap and a Debian mirror (RAILGAUGE_DEBIAN_MIRROR [http://deb.debian.org/debian]); exit 77 without one. The
# bare root is kept in build/roots. The older version has a lower number and other default
# settings; its programs are those of RAILGAUGE_PREVIOUS, a folder of deploy/packages/previous.sh, or the same ones.
# No systemd runs in a chroot: deploy/packages/systemd_guests.sh starts the services in guests, from the last release.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 4
. deploy/packages/root.sh
build=$(realpath "${RAILGAUGE_BUILD_DIR:-build/dev}")
PATH=$PATH:/usr/sbin:/sbin
[ "$(id -u)" = 0 ] || { echo "waived: a chroot needs root"; exit 77; }
for tool in debootstrap dpkg-deb cpack unshare; do
  command -v $tool >/dev/null || { echo "waived: no $tool here; apt-get install debootstrap dpkg-dev cmake"; exit 77; }
done
# In a mount namespace of its own: nothing that is mounted here outlives the script.
if [ "${1:-}" != inside ]; then
  unshare -m true 2>/dev/null || { echo "waived: no mount namespaces here"; exit 77; }
  exec unshare -m --propagation private "$0" inside
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/railgauge-root.XXXXXX")
root=$work/root pids=() passed=0 failed=0
finish() {
  local code=$? pid
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null
  umount -l "$root/proc" 2>/dev/null
  if [ $failed = 0 ] && [ $code != 1 ]; then rm -rf "$work"; else echo "left: $work"; fi
}
trap finish EXIT
check() { # TITLE COMMAND...
  local title=$1; shift
  if "$@" >"$work/draft" 2>&1; then passed=$((passed + 1)); echo "ok     $title"; mv "$work/draft" "$work/out"; else
    failed=$((failed + 1)); echo "FAILED $title"; mv "$work/draft" "$work/out"; tail -n 20 "$work/out" | sed 's/^/    /'; fi
}
within() { in_root "$root" "$@"; }

# ---- the root and the packages -----------------------------------------------------------------
bare_root "$root" || exit
mount -t proc proc "$root/proc" || exit 4
make_debs "$build" "$work/new" || exit 1
version=$(sed -n 's/^set(CPACK_PACKAGE_VERSION "\(.*\)")/\1/p' "$build/CPackConfig.cmake")
readonly older=0.0.9
mkdir -p "$root/old" "$root/new"
cp "$work"/new/*.deb "$root/new/"
for deb in "${RAILGAUGE_PREVIOUS:-$root/new}"/*.deb; do renumber "$deb" $older "$root/old" || exit 4; done
within apt-get update -qq >"$work/apt.log" 2>&1 || { tail -n 3 "$work/apt.log"; echo "waived: no Debian mirror answers in the root"; exit 77; }

install_from() { within sh -c "apt-get install -y -qq --no-install-recommends -o Dpkg::Options::=--force-confold -o Dpkg::Options::=--force-confdef /$1/*.deb"; }
versions_are() { [ "$(within dpkg-query -W -f '${db:Status-Abbrev}${Version}\n' railgauge railgauge-agent railgauge-controller | sort -u)" = "ii $1" ]; }
holds() { grep -qx "$2" "$root/etc/railgauge/$1"; }

# ---- installation --------------------------------------------------------------------------------
check "the older version is installed, with what it depends on" install_from old
check "its version is the older one" versions_are $older
for user in railgauge-agent railgauge-controller; do check "user $user is there" within id $user; done
check "they are system users without a shell" within sh -c "getent passwd | awk -F: '/^railgauge/ { if (\$3 >= 1000 || \$7 !~ /nologin/) exit 1; n++ } END { exit n != 2 }'"
check "the controller's user is in the group of its socket" within sh -c "id -nG railgauge-controller | grep -qw railgauge"
check "all programs start" within sh -c "railgauge --version && railgauge-agent --version && railgauge-controller --version && railgauge-runner --list"
check "the shipped settings are in order, but for the controller that the agent lacks" within sh -c "railgauge-controller --check-config && railgauge config check 2>&1 | grep -qx 'railgauge-agent: no controller is given; use --controller HOST:PORT'"

# ---- upgrade -------------------------------------------------------------------------------------
echo "log_level = debug" >>"$root/etc/railgauge/agent.conf"
install -d -m 0700 "$root/var/lib/railgauge-agent" "$root/var/lib/railgauge"
within chown railgauge-agent: /var/lib/railgauge-agent
within chown railgauge-controller: /var/lib/railgauge
echo kept >"$root/var/lib/railgauge-agent/agent-node-id.test"
check "the new version is installed over it" install_from new
check "its version is the new one" versions_are "$version"
check "settings that a person changed stay" holds agent.conf "log_level = debug"
check "settings that nobody changed are the new ones" sh -c "! grep -q 'older version' '$root/etc/railgauge/controller.conf'"
check "the node's state stays" grep -qx kept "$root/var/lib/railgauge-agent/agent-node-id.test"

# ---- a measured pair -----------------------------------------------------------------------------
# Over TLS, as between hosts; the network is the host's, on a port that is free there.
make_certificates() {
  within sh -ec "cd /etc/railgauge && railgauge pki init pki && railgauge pki issue pki controller controller --san 127.0.0.1 && railgauge pki issue pki agent a,b
    chown railgauge-controller: pki/controller.key && chown railgauge-agent: pki/a.key pki/b.key && chmod 755 pki && chmod 644 pki/*.crt"
}
# become USER COMMAND...: replaces this shell, so that the background process is the program.
become() { exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin RAILGAUGE_LIBIBVERBS="${fake:-}" chroot --userspec="$1:$1" "$root" "${@:2}"; }
make_node() {
  local files=$root/tmp/sys-$1/class/infiniband/fake0/ports/1
  rm -rf "$root/tmp/state-$1"
  mkdir -p "$files/gid_attrs/ndevs" "$root/tmp/state-$1"
  echo "4: ACTIVE" >"$files/state"; echo "100 Gb/sec (4X EDR)" >"$files/rate"
  echo Ethernet >"$files/link_layer"; echo lo >"$files/gid_attrs/ndevs/0"
  within chown -R railgauge-agent: "/tmp/state-$1"
}
tls=(--tls-ca /etc/railgauge/pki/ca.crt)
cli() { env -i PATH=/usr/sbin:/usr/bin:/bin RAILGAUGE_CONTROLLER=unix:/tmp/c.sock chroot "$root" railgauge "$@"; }
attached() { for _ in $(seq 300); do [ "$(cli nodes --format csv 2>/dev/null | grep -cw attached)" = 2 ] && return; sleep 0.1; done; tail -n 4 "$work"/controller.log "$work"/agent-*.log; return 1; }
measure_pair() {
  local port=$((20000 + RANDOM % 10000))
  check "the command makes certificates" make_certificates
  mkdir -p "$root/tmp/fake" && cp "$build/lib/libibverbs-fake.so" "$root/tmp/fake/"
  [ -e "$root/dev/null" ] || mknod -m 666 "$root/dev/null" c 1 3
  within chown railgauge-controller: /tmp
  (become railgauge-controller railgauge-controller --socket /tmp/c.sock --database /var/lib/railgauge/railgauge.db --metrics-listen none \
    --listen 127.0.0.1:$port "${tls[@]}" --tls-cert /etc/railgauge/pki/controller.crt --tls-key /etc/railgauge/pki/controller.key) >"$work/controller.log" 2>&1 &
  pids+=($!)
  fake=/tmp/fake/libibverbs-fake.so
  for node in a b; do
    make_node $node
    # The fake wire writes into the peer's process, which Landlock forbids.
    (become railgauge-agent railgauge-agent --controller 127.0.0.1:$port --name $node --state-dir /tmp/state-$node --sysfs-root /tmp/sys-$node \
      --proc-root /tmp/proc-$node --runner-landlock false --metrics-listen none \
      "${tls[@]}" --tls-cert /etc/railgauge/pki/$node.crt --tls-key /etc/railgauge/pki/$node.key) >"$work/agent-$node.log" 2>&1 &
    pids+=($!)
  done
  fake=
  check "two agents attach to the controller, each as its own user" attached
  check "a run of an installed suite passes" cli run quick
  check "its figures are stored" sh -c "env -i PATH=/usr/sbin:/usr/bin:/bin RAILGAUGE_CONTROLLER=unix:/tmp/c.sock chroot '$root' railgauge results | grep -q verbs.write_lat"
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; done
  wait 2>/dev/null
  pids=()
}
measure_pair

# ---- removal and purge -----------------------------------------------------------------------------
remove() { within apt-get -y -qq "$@"; }
# As railgauge-agent enroll leaves it.
mkdir "$root/etc/railgauge/agent.d" && touch "$root/etc/railgauge/agent.d/enrolment.conf"
check "a removal" remove remove railgauge-agent
check "takes the program" test ! -e "$root/usr/bin/railgauge-agent"
check "and keeps the settings" holds agent.conf "log_level = debug"
check "a reinstallation" install_from new
check "finds them again" holds agent.conf "log_level = debug"
check "and what enroll wrote" test -e "$root/etc/railgauge/agent.d/enrolment.conf"
check "a purge of the agent" remove purge railgauge-agent
check "takes settings, identity and spool" sh -c "! ls -d '$root'/etc/railgauge/agent.* '$root/var/lib/railgauge-agent' 2>/dev/null | grep ."
check "a purge of the rest" remove purge railgauge railgauge-controller
check "says where the measurements are" grep -q 'the measurements in /var/lib/railgauge stay' "$work/out"
check "and keeps them" test -s "$root/var/lib/railgauge/railgauge.db"
rm -r "$root/etc/railgauge/pki"
rmdir "$root/etc/railgauge" 2>/dev/null
check "no file of the packages is left" sh -c "! find '$root/usr' '$root/etc' -path '$root/usr/share/doc' -prune -o -name '*railgauge*' -print | grep ."
check "a second purge changes nothing" within dpkg --purge railgauge railgauge-agent railgauge-controller
check "after a purge it installs as new" install_from new
check "with the shipped settings" sh -c "! grep -q '^log_level' '$root/etc/railgauge/agent.conf'"

# ---- rpm packages ----------------------------------------------------------------------------------
# Of this build, so that they need this distribution's libraries; rpm knows nothing of what dpkg installed.
rpm_packages() {
  local packages=(railgauge railgauge-agent railgauge-controller)
  rpms() { rpm --root "$root" --dbpath /var/lib/rpm "$@"; }
  check "rpm packages are built" make_rpms "$build" "$work/rpms" "$version"
  check "and those of an older version" make_rpms "$build" "$work/rpms-old" $older
  check "the debs are purged" remove purge "${packages[@]}"
  rm -rf "$root/etc/railgauge" "$root/var/lib/railgauge"
  check "the older version is installed" rpms --nodeps -i "$work"/rpms-old/*.rpm
  for user in railgauge-agent railgauge-controller; do check "user $user is there" within id $user; done
  check "the shipped settings are in order" within railgauge-controller --check-config
  echo "log_level = debug" >>"$root/etc/railgauge/agent.conf"
  check "the new version is installed over it" rpms --nodeps -U "$work"/rpms/*.rpm
  check "all three have its version" sh -c "[ \"\$(rpm --root '$root' --dbpath /var/lib/rpm -q --qf '%{VERSION}\n' ${packages[*]} | sort -u)\" = '$version' ]"
  check "settings that a person changed stay" holds agent.conf "log_level = debug"
  check "no file differs from its package but those" sh -c "[ \"\$(rpm --root '$root' --dbpath /var/lib/rpm -V --nodeps ${packages[*]} | grep -v ' c /etc/railgauge/agent.conf' | grep -cvF '.......T.')\" = 0 ]"
  install -d -m 0700 "$root/var/lib/railgauge"
  within chown railgauge-controller: /var/lib/railgauge
  measure_pair
  check "they are removed" rpms -e "${packages[@]}"
  check "changed settings are kept beside" test -e "$root/etc/railgauge/agent.conf.rpmsave"
  check "the measurements stay" test -s "$root/var/lib/railgauge/railgauge.db"
  check "no program is left" sh -c "! ls '$root'/usr/bin/railgauge* 2>/dev/null | grep ."
}
if command -v rpmbuild >/dev/null; then rpm_packages; else echo "waived: the rpm packages, no rpmbuild here; apt-get install rpm"; fi
echo "$passed passed, $failed failed"
[ $failed = 0 ] && [ $passed -gt 0 ]
