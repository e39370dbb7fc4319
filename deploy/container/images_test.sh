#!/usr/bin/env bash
# Builds the images and starts what is in them, by buildah: the programs run as user 7443, the controller answers /healthz
# and the packed command. Exit 77 where deploy/container/build.sh cannot build.
#   RAILGAUGE_BUILD_DIR names the build [build/dev]; RAILGAUGE_STORAGE keeps the images there.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 4
build=${RAILGAUGE_BUILD_DIR:-build/dev}
work=$(mktemp -d "${TMPDIR:-/tmp}/railgauge-images.XXXXXX")
export RAILGAUGE_STORAGE=${RAILGAUGE_STORAGE:-$work/storage} STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
pid="" failed=0 passed=0
finish() {
  # buildah does not pass a signal on: the program itself is asked to end, by the port that only it has.
  [ -z "$pid" ] || { pgrep -f "^/usr/bin/railgauge-controller --metrics-listen 127.0.0.1:$port\$" | xargs -r kill; wait "$pid" 2>/dev/null; }
  store umount -a >/dev/null 2>&1
  rm -rf "$work"
}
trap finish EXIT
store() { buildah --root "$RAILGAUGE_STORAGE/root" --runroot "$RAILGAUGE_STORAGE/run" "$@"; }
check() { # TITLE COMMAND...
  local title=$1; shift
  if "$@" >"$work/out" 2>&1; then passed=$((passed + 1)); echo "ok     $title"; else
    failed=$((failed + 1)); echo "FAILED $title"; tail -n 10 "$work/out" | sed 's/^/    /'; fi
}
code=0
deploy/container/build.sh --build "$build" >"$work/build.log" 2>&1 || code=$?
[ $code = 0 ] || { tail -n 3 "$work/build.log"; exit $code; }
version=$(sed -n 's/^set(CPACK_PACKAGE_VERSION "\(.*\)")/\1/p' "$build/CPackConfig.cmake")
label() { store inspect --type image --format "{{index .OCIv1.Config.Labels \"org.opencontainers.image.$2\"}}" "localhost/railgauge/$1:$version"; }
for image in agent controller; do
  container=$(store from "localhost/railgauge/$image:$version")
  run() { store run --network host "$container" -- "$@"; }
  check "$image: its program starts" run railgauge-$image --version
  check "$image: it is not root" test "$(run id -u)" = 7443
  check "$image: it has a version" test "$(label $image version)" = "$version"
  check "$image: and its commit" test "$(label $image revision)" = "$(git rev-parse --short=10 HEAD)"
  check "$image: no packages and no lists of apt are left" sh -c "! ls -d '$(store mount "$container")'/packages '$(store mount "$container")'/var/lib/apt/lists/*_Packages 2>/dev/null | grep ."
  check "$image: nothing of it is its user's to change, but its state" test -z "$(find "$(store mount "$container")"/usr "$(store mount "$container")"/etc -user 7443 -print -quit)"
done
check "controller: PostgreSQL's client library is there, for an archive" run sh -c 'ls /usr/lib/*/libpq.so.5'
port=$((20000 + RANDOM % 10000))
store run --network host "$container" -- railgauge-controller --metrics-listen "127.0.0.1:$port" >"$work/controller.log" 2>&1 &
pid=$!
healthy() { for _ in $(seq 100); do curl -fsS --noproxy '*' "http://127.0.0.1:$port/healthz" && return; sleep 0.2; done; cat "$work/controller.log"; return 1; }
check "the controller is healthy" healthy
check "the packed command speaks with it" store run --network host "$container" -- railgauge nodes
code=0
deploy/container/pair.sh "$version" || code=$?
[ $code = 0 ] || [ $code = 77 ] || failed=$((failed + 1))
echo "$passed passed, $failed failed"
[ $failed = 0 ] && [ $passed -gt 0 ]
