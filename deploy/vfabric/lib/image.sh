# shellcheck shell=bash disable=SC2034,SC2154 # settings are shared with ../vfabric and its other parts
# The kernel and initramfs of a guest: Debian's own kernel package, unpacked into a cache, and a small initramfs.

# In load order; dependencies are resolved by modprobe. rdma_rxe's checksum needs crc32_generic.
readonly kBootModules=(virtio_pci virtio_net virtio_rng 9pnet_virtio 9p overlay)
readonly kDiskModules=(virtio_blk crc32c_generic ext4)  # of guests with a disk of their own
readonly kRdmaModules=(crc32_generic ib_uverbs rdma_ucm rdma_rxe)

# default_kernel: prints the package on which linux-image-amd64 depends now; without apt's lists, the last one fetched.
default_kernel() {
  local package
  package=$(apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-[^ ]*\)$/\1/p' | head -n 1)
  [ -n "$package" ] || package=$(newest_cached)
  [ -n "$package" ] || die 1 "apt-cache knows no linux-image-amd64: run 'apt-get update', or name one with --kernel"
  printf '%s\n' "$package"
}

newest_cached() {
  find "$(cache_dir)/kernels" -mindepth 1 -maxdepth 1 -name 'linux-image-*' -printf '%T@ %f\n' 2>/dev/null |
    sort -rn | sed -n '1s/^[^ ]* //p'
}

kernel_dir() { printf '%s/kernels/%s\n' "$(cache_dir)" "$kernel"; }
kernel_image() { printf '%s\n' "$(kernel_dir)"/boot/vmlinuz-*; }
kernel_release() { basename -- "$(kernel_dir)"/lib/modules/*; }

# fetch_kernel: downloads the package and unpacks it into the cache. apt checks the signature; nothing is installed. The
# folder is renamed into place when complete.
fetch_kernel() {
  local target work log
  target=$(kernel_dir)
  [ ! -e "$target" ] || return 0
  [[ $kernel =~ ^linux-image-[a-z0-9.+-]+$ ]] || die 2 "'$kernel' is not a Debian kernel package: linux-image-... is"
  mkdir -p -- "$(cache_dir)/kernels"
  work=$(mktemp -d -- "$(cache_dir)/kernels/.fetch.XXXXXX")
  unfinished=$work
  log=$state/kernel.log
  say "fetching $kernel (about 70 MB, once)"
  await env -C "$work" apt-get -o APT::Sandbox::User="$(id -un)" download "$kernel" >"$log" 2>&1 ||
    die 1 "apt-get download $kernel failed, see $log: run 'apt-get update' and try again$(cached_hint)"
  await dpkg -x "$work"/*.deb "$work/root" >>"$log" 2>&1 || die 1 "cannot unpack $kernel, see $log"
  await depmod -b "$work/root" "$(basename -- "$work"/root/lib/modules/*)" >>"$log" 2>&1 ||
    die 1 "depmod over $kernel failed, see $log"
  chmod 755 "$work/root"
  mv -T -- "$work/root" "$target" 2>/dev/null || [ -e "$target" ] || die 1 "cannot write $target"
  rm -rf -- "$work"
  unfinished=
}

cached_hint() {
  local cached
  cached=$(newest_cached)
  [ -z "$cached" ] || printf ', or up --kernel %s, which is here already' "$cached"
}

# module_list NAME...: prints the modules' files in load order, each once; a built-in module has no file.
module_list() {
  local name
  for name in "$@"; do
    modprobe -d "$(kernel_dir)" -S "$(kernel_release)" --show-depends "$name" ||
      die 1 "$kernel has no module $name: choose another with --kernel"
  done | awk 'sub(/^insmod /, "") { sub(/ *$/, ""); if (!seen[$0]++) print }'
}

# build_initramfs DIR: writes DIR/initramfs-PACKAGE, one for each fabric and kernel, since it holds the fabric's keys.
build_initramfs() {
  local root=$1/root module stage files names
  rm -rf -- "$root"
  mkdir -p -- "$root"/{bin,dev,proc,sys,lower,rw,newroot,vfabric/modules}
  cp -- "$(command -v busybox)" "$root/bin/busybox"
  cp -- "$here/guest/init" "$root/init"
  cp -r -- "$here"/guest/{boot,boot_rdma,systemd} "$1"/{host_key,key.pub} "$root/vfabric/"
  printf '%s\n' "${shares[@]}" >"$root/vfabric/shares"
  for stage in boot rdma; do
    if [ $stage = rdma ]; then names=("${kRdmaModules[@]}"); else names=("${kBootModules[@]}"); fi
    [ $stage = rdma ] || [ -z "$disk" ] || names+=("${kDiskModules[@]}")
    files=$(module_list "${names[@]}") || exit 1
    while read -r module; do
      cp -n -- "$module" "$root/vfabric/modules/"
      basename -- "$module"
    done <<<"$files" >"$root/vfabric/$stage.modules"
  done
  (cd -- "$root" && find . -print0 | cpio -0 -o -H newc -R 0:0 --quiet) >"$1/unfinished" ||
    die 1 "cannot write the initramfs in $1"
  mv -- "$1/unfinished" "$1/initramfs-$kernel"
  rm -rf -- "$root"
}

# make_keys DIR: makes the key that logs in to the guests, and the guests' host key, for this fabric only.
make_keys() {
  mkdir -p -- "$1"
  ssh-keygen -q -t ed25519 -N '' -C vfabric -f "$1/key" || die 1 "ssh-keygen failed in $1"
  dropbearkey -t ed25519 -f "$1/host_key" >/dev/null 2>&1 || die 1 "dropbearkey failed in $1"
  dropbearkey -y -f "$1/host_key" | sed -n 's/^\(ssh-ed25519 [^ ]*\).*/vfabric \1/p' >"$1/known_hosts"
}
