#!/usr/bin/env bash
# Makes the disk of a guest that systemd begins: a Debian 12 root with systemd, udev, an ssh server for the fabric and the
# libraries that packages of ours depend on, but no package of ours. Prints the file's path, an ext4 image, which is kept
# in build/roots by its content. `deploy/vfabric/vfabric up --disk` boots it.
#   deploy/packages/guest_disk.sh DEB...   the packages whose dependencies it has
# Needs root, debootstrap, mke2fs and a Debian mirror; exit 77 without them.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 4
. deploy/packages/root.sh
PATH=$PATH:/usr/sbin:/sbin
[ "$(id -u)" = 0 ] || { echo "waived: a chroot needs root"; exit 77; }
for tool in debootstrap dpkg-deb mke2fs unshare; do
  command -v $tool >/dev/null || { echo "waived: no $tool here; apt-get install debootstrap dpkg-dev e2fsprogs"; exit 77; }
done
[ $# -ge 1 ] || { echo "guest_disk.sh: DEB..." >&2; exit 2; }
readonly kPackages="systemd systemd-sysv udev dbus kmod iproute2 iputils-ping procps dropbear-bin perftest ibverbs-providers librdmacm1 ca-certificates"
# Those of our own packages are left out, and what both versions want is there.
depends=$(for deb in "$@"; do dpkg-deb -f "$deb" Depends; done | tr ',' '\n' | sed 's/^ *//; s/ *$//' | grep -v '^railgauge' | sort -u | paste -sd ,)
key=$(printf '%s\n' "$kPackages" "$depends" "$(cat "$0")" | sha256sum | cut -c 1-16)
disk=$PWD/build/roots/guest-$key.ext4
[ ! -e "$disk" ] || { echo "$disk"; exit 0; }
if [ "${RAILGAUGE_GUEST_DISK:-}" != inside ]; then
  unshare -m true 2>/dev/null || { echo "waived: no mount namespaces here"; exit 77; }
  RAILGAUGE_GUEST_DISK=inside exec unshare -m --propagation private "$0" "$@"
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/railgauge-disk.XXXXXX")
root=$work/root
finish() { umount -l "$root/proc" 2>/dev/null; rm -rf "$work"; }
trap finish EXIT
bare_root "$root" || exit
mount -t proc proc "$root/proc" || exit 4
{ in_root "$root" apt-get update -qq && in_root "$root" apt-get install -y -qq --no-install-recommends $kPackages &&
  in_root "$root" apt-get satisfy -y -qq --no-install-recommends "$depends" && in_root "$root" apt-get clean; } >"$work/apt.log" 2>&1 ||
  { tail -n 5 "$work/apt.log" >&2; echo "waived: the mirror lacks a package, or does not answer"; exit 77; }
umount "$root/proc"
rm -rf "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,man,locale}/* "$root/etc/resolv.conf"
mkdir -p "$root/usr/lib/modules"
# The guest writes its own id; an empty one would be a first boot, which begins every unit that is there.
echo 00000000000000000000000000000001 >"$root/etc/machine-id"
: >"$root/etc/fstab"
for unit in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer systemd-pstore.service; do
  ln -sf /dev/null "$root/etc/systemd/system/$unit"
done
mib=$(($(du -sm "$root" | cut -f 1) + 700))
mke2fs -q -t ext4 -L railgauge -d "$root" "$disk.draft" "${mib}M" >&2 || { rm -f "$disk.draft"; exit 4; }
mv "$disk.draft" "$disk"
echo "$disk"
