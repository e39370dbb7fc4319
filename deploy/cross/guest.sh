#!/usr/bin/env bash
# Boots Debian's arm64 kernel on qemu's emulation of a machine, runs a shell script in it as root, and prints what that prints.
# The guest has busybox, the named programs and their libraries of ROOT in memory, and loopback as its only network.
#   deploy/cross/guest.sh ROOT SCRIPT PROGRAM...   ROOT is the folder that deploy/cross/root.sh printed
# Exit: the script's. 77 without qemu-system-aarch64 or a Debian mirror; 1 for a guest that does not end in 20 minutes.
set -euo pipefail
[ $# -ge 3 ] || { echo "guest.sh: needs ROOT SCRIPT PROGRAM..." >&2; exit 2; }
root=$1 script=$2; shift 2
programs=("$@")
for tool in qemu-system-aarch64 cpio readelf; do command -v $tool >/dev/null || { echo "waived: no $tool here; deploy/deps.sh --cross installs it"; exit 77; }; done
work=$(mktemp -d "${TMPDIR:-/tmp}/railgauge-cross.XXXXXX")
trap 'rm -rf "$work"' EXIT

# Kernel and busybox are kept beside the libraries, and are not installed.
kept=$root/guest
if [ ! -e "$kept/complete" ]; then
  apt() {
    local tool=$1; shift
    "$tool" -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$root/apt" -o Dir::State::status="$root/apt/status" \
      -o Dir::Cache="$root/apt" -o Dir::Etc="$root/apt/etc" -o APT::Sandbox::User=root "$@"
  }
  mkdir -p "$kept" "$root"/apt/{lists,archives}/partial "$work/debs"
  { apt apt-get update &&
    kernel=$(apt apt-cache depends linux-image-arm64 | sed -n 's/^ *Depends: \(linux-image-[^ ]*\)$/\1/p' | head -n 1) &&
    cd "$work/debs" && apt apt-get download "$kernel" busybox-static && cd - >/dev/null; } >"$work/log" 2>&1 ||
    { tail -n 3 "$work/log" >&2; echo "waived: no kernel for arm64 from $(cut -d ' ' -f 3 "$root/apt/etc/sources.list")"; exit 77; }
  dpkg-deb --fsys-tarfile "$work"/debs/linux-image-*.deb | tar -C "$work" --wildcards -xf - './boot/vmlinuz-*'
  dpkg-deb --fsys-tarfile "$work"/debs/busybox-static_*.deb | tar -C "$work" -xf - ./bin/busybox
  mv "$work"/boot/vmlinuz-* "$kept/vmlinuz" && mv "$work/bin/busybox" "$kept/"
  rm -rf "$root/apt/archives" "$root/apt/lists"
  touch "$kept/complete"
fi

libraries=("$(dirname "$1")/../lib" "$root/usr/lib/aarch64-linux-gnu")
tree=$work/tree
mkdir -p "$tree"/{bin,dev,etc,lib,proc,sys,tmp,usr}
echo "root:x:0:0:root:/:/bin/sh" >"$tree/etc/passwd"
echo "root:x:0:" >"$tree/etc/group"
# place FILE FOLDER: copies a file and the libraries that it names, each once.
place() {
  local needed folder
  [ ! -e "$tree/$2/$(basename "$1")" ] || return 0
  cp -L "$1" "$tree/$2/"
  while read -r needed; do
    for folder in "${libraries[@]}"; do [ ! -e "$folder/$needed" ] || { place "$folder/$needed" lib; break; }; done
  done < <(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
}
for program in "${programs[@]}"; do place "$program" bin; done
cp "$kept/busybox" "$tree/bin/" && cp "$script" "$tree/script"
cat >"$tree/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc && mount -t sysfs sysfs /sys && mount -t devtmpfs devtmpfs /dev
ip link set lo up
export PATH=/bin LD_LIBRARY_PATH=/lib
sh -e /script
echo "the script's exit code: $?"
poweroff -f
INIT
chmod +x "$tree/init"
(cd "$tree" && find . -print0 | cpio -0 -o -H newc -R 0:0 --quiet) >"$work/initramfs"
timeout 1200 qemu-system-aarch64 -M virt -cpu neoverse-n1 -smp 2 -m 1024 -nic none -nographic -no-reboot -kernel "$kept/vmlinuz" \
  -initrd "$work/initramfs" -append "console=ttyAMA0 quiet panic=-1" </dev/null 2>&1 | tr -d '\r' >"$work/console" || true
grep -v "^the script's exit code: " "$work/console" || true
code=$(sed -n "s/^the script's exit code: //p" "$work/console")
[ -n "$code" ] || { echo "guest.sh: the guest did not end by itself in 20 minutes" >&2; exit 1; }
exit "$code"
