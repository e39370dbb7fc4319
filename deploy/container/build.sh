#!/usr/bin/env bash
# Builds the images localhost/railgauge/agent and controller with buildah, on a base from debootstrap.
#   deploy/container/build.sh [--build DIR]      packs the build in DIR [build/release]
# Needs root, buildah, debootstrap, cpack and a Debian mirror (RAILGAUGE_DEBIAN_MIRROR). The base root is kept in build/roots.
# Exit 77 without one of them. RAILGAUGE_STORAGE names a folder for images in place of the machine's own.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=build/release
case "${1:-}" in "") ;; --build) build=${2:?build.sh: --build needs a folder} ;; *) echo "build.sh: unknown option $1; allowed: --build DIR" >&2; exit 2 ;; esac
mirror=${RAILGAUGE_DEBIAN_MIRROR:-http://deb.debian.org/debian}
PATH=$PATH:/usr/sbin:/sbin
[ "$(id -u)" = 0 ] || { echo "waived: debootstrap and a chroot need root"; exit 77; }
for tool in buildah debootstrap cpack; do
  command -v $tool >/dev/null || { echo "waived: no $tool here; apt-get install buildah debootstrap cmake"; exit 77; }
done
# vfs and chroot need neither overlay file systems nor namespaces, so that this runs within a container too.
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
store=(buildah)
[ -z "${RAILGAUGE_STORAGE:-}" ] || store=(buildah --root "$RAILGAUGE_STORAGE/root" --runroot "$RAILGAUGE_STORAGE/run")
work=$(mktemp -d "${TMPDIR:-/tmp}/railgauge-image.XXXXXX")
trap 'rm -rf "$work"' EXIT

root=build/roots/bookworm.tar
if [ ! -e $root ]; then
  mkdir -p build/roots
  debootstrap --variant=minbase bookworm "$work/bare" "$mirror" >"$work/debootstrap.log" 2>&1 ||
    { tail -n 3 "$work/debootstrap.log"; echo "waived: debootstrap got no root from $mirror"; exit 77; }
  tar -C "$work/bare" -cf $root.draft . && mv $root.draft $root && rm -rf "$work/bare"
fi
base=$("${store[@]}" from scratch)
"${store[@]}" add -q "$base" $root / >/dev/null
"${store[@]}" commit -q --rm "$base" localhost/railgauge/base:bookworm >/dev/null

cpack --config "$build/CPackConfig.cmake" -G DEB -B "$work/debs" -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip >"$work/cpack.log" 2>&1 ||
  { tail "$work/cpack.log" >&2; exit 4; }
mkdir "$work/packages"
mv "$work"/debs/*.deb "$work/packages/"
version=$(sed -n 's/^set(CPACK_PACKAGE_VERSION "\(.*\)")/\1/p' "$build/CPackConfig.cmake")
for image in agent controller; do
  "${store[@]}" build -q --network host --target $image --build-arg VERSION="$version" --build-arg COMMIT="$(git rev-parse --short=10 HEAD 2>/dev/null || echo unknown)" \
    -t "localhost/railgauge/$image:$version" -f deploy/container/Containerfile "$work" >/dev/null
  echo "localhost/railgauge/$image:$version: $("${store[@]}" inspect --type image --format '{{.OCIv1.Config.User}}' "localhost/railgauge/$image:$version")"
done
