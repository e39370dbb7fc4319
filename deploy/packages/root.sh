# shellcheck shell=bash
# Sourced by the tests of packages: a bare Debian 12 root, kept in build/roots, and commands in it.

# bare_root DIR: unpacks a root of debootstrap into DIR; `work` is a folder for what comes and goes. 77 without a mirror.
bare_root() {
  local kept=build/roots/bookworm.tar mirror=${RAILGAUGE_DEBIAN_MIRROR:-http://deb.debian.org/debian}
  if [ ! -e $kept ]; then
    mkdir -p build/roots
    echo "debootstrap bookworm from $mirror" >&2
    # shellcheck disable=SC2154
    debootstrap --variant=minbase bookworm "$work/bare" "$mirror" >"$work/debootstrap.log" 2>&1 ||
      { tail -n 3 "$work/debootstrap.log" >&2; rm -rf "$work/bare"; echo "waived: debootstrap got no root from $mirror"; return 77; }
    tar -C "$work/bare" -cf $kept.draft . && mv $kept.draft $kept && rm -rf "$work/bare"
  fi
  mkdir "$1" && tar -C "$1" -xpf $kept && cp /etc/resolv.conf "$1/etc/"
}

# in_root DIR COMMAND...: runs it in the root, without this shell's environment but a proxy of the site.
in_root() {
  local dir=$1; shift
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C ${http_proxy:+http_proxy="$http_proxy"} chroot "$dir" "$@"
}

# make_debs BUILD DIR: the packages of a build but the MPI runners, which would need hundreds of others.
make_debs() {
  cpack --config "$1/CPackConfig.cmake" -G DEB -B "$2" -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip \
    -D "CPACK_COMPONENTS_ALL=cli;controller;agent" >"$2.log" 2>&1 || { tail "$2.log" >&2; return 1; }
  rm -rf "$2/_CPack_Packages"
}

# make_rpms BUILD DIR VERSION: likewise as rpm packages, with a version.
make_rpms() {
  cpack --config "$1/CPackConfig.cmake" -G RPM -B "$2" -D CPACK_RPM_COMPRESSION_TYPE=gzip -D CPACK_PACKAGE_VERSION="$3" \
    -D "CPACK_COMPONENTS_ALL=cli;controller;agent" >"$2.log" 2>&1 || { tail "$2.log" >&2; return 1; }
  rm -rf "$2/_CPack_Packages"
}

# renumber DEB VERSION DIR: the package with another version, into DIR. Settings get a line, as those of another version.
renumber() {
  local file tree
  tree=$(mktemp -d "$work/unpacked.XXXXXX")
  dpkg-deb -R "$1" "$tree" && sed -i "s/^Version: .*/Version: $2/" "$tree/DEBIAN/control" || return
  for file in "$tree"/etc/railgauge/*.conf; do [ ! -e "$file" ] || echo "# a line of the older version" >>"$file"; done
  dpkg-deb -Zgzip -b "$tree" "$3/" >/dev/null && rm -rf "$tree"
}
