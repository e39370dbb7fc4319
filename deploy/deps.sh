#!/usr/bin/env bash
# Installs the packages that building, testing and the demo need on Debian 12. CUDA is optional and never installed
# by this script: with nvcc in the PATH, GPU device code is built too.
#   deploy/deps.sh            print the missing packages, ask before sudo, install them
#   deploy/deps.sh --list     print all package names
#   deploy/deps.sh --missing  print the missing ones; exit 1 when there are any
#   deploy/deps.sh --yes      do not ask
#   deploy/deps.sh --cross ...  likewise, with what deploy/cross.sh needs beside it
set -euo pipefail

build=(g++ lld cmake ninja-build pkg-config git make
  libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc
  prometheus-cpp-dev libsqlite3-dev libibverbs-dev librdmacm-dev
  libexpected-dev libspdlog-dev libfmt-dev libcli11-dev libyaml-cpp-dev
  libboost-math-dev libcpp-httplib-dev libzstd-dev libssl-dev
  libhowardhinnant-date-dev tzdata
  libgtest-dev libgmock-dev libbenchmark-dev)
check=(clang-format clang-tidy clang libclang-rt-14-dev shellcheck jq sqlite3 curl openssl procps valgrind zsh fish
  prometheus prometheus-alertmanager python3 universal-ctags ansible-core postgresql-15 libpq-dev)
mpi=(libopenmpi-dev openmpi-bin libmpich-dev mpich)
fabric=(qemu-system-x86 vde2 busybox-static kmod cpio iproute2 dropbear-bin openssh-client perftest
  ibverbs-providers ibverbs-utils rdma-core)
# The console's pages are built with any Node.js from 18 on; one that is there already stays.
console=(chromium)
command -v node >/dev/null && command -v npm >/dev/null || console+=(nodejs npm)
slurm=(munge slurmctld slurmd slurm-client)
packages=(debootstrap dpkg-dev e2fsprogs rpm buildah runc)
cross=()
if [ "${1:-}" = --cross ]; then shift; cross=(qemu-user qemu-system-arm); fi

all=("${build[@]}" "${mpi[@]}" "${check[@]}" "${fabric[@]}" "${packages[@]}" "${console[@]}" "${slurm[@]}" "${cross[@]}")
# The packages of the console's pages, as its lock file names them. Without them everything else works.
fetch_pages() {
  local folder; folder=$(cd "$(dirname "$0")/.." && pwd)/dashboards/console
  command -v npm >/dev/null || return 0
  [ ! "$folder/node_modules/.package-lock.json" -nt "$folder/package-lock.json" ] || return 0
  (cd "$folder" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null) ||
    echo "deps.sh: npm ci in $folder failed: the web console is built without pages" >&2
}

missing=()
for package in "${all[@]}"; do
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
done

case "${1:-}" in
  --list) printf '%s\n' "${all[@]}"; exit 0 ;;
  --missing) [ ${#missing[@]} -eq 0 ] && exit 0; printf '%s\n' "${missing[@]}"; exit 1 ;;
  --yes | "") ;;
  *) echo "deps.sh: unknown option $1; allowed: --cross, then --list, --missing or --yes" >&2; exit 2 ;;
esac

if [ ${#missing[@]} -eq 0 ]; then
  fetch_pages
  echo "deps: all ${#all[@]} packages are installed"
  exit 0
fi
echo "deps: ${#missing[@]} of ${#all[@]} packages are missing: ${missing[*]}"

as_root=()
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || { echo "deps.sh: installing needs root and there is no sudo; run as root: apt-get install ${missing[*]}" >&2; exit 4; }
  as_root=(sudo)
fi
if [ -z "${1:-}" ]; then
  [ -t 0 ] || { echo "deps.sh: nobody to ask on this terminal; say deploy/deps.sh --yes, or run ${as_root[*]} apt-get install ${missing[*]}" >&2; exit 2; }
  read -r -p "deps: install them with '${as_root[*]} apt-get install'? [Y/n] " answer
  case "$answer" in [nN]*) echo "deps.sh: nothing installed" >&2; exit 130 ;; esac
fi
"${as_root[@]}" apt-get update -qq
# Keeps services of these packages from running: the guests load modules of their own kernel, and a Prometheus would
# listen on every address. Nothing starts during the installation, and systemd is kept from starting it later.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee $policy >/dev/null
  "${as_root[@]}" chmod 755 $policy
  trap '"${as_root[@]}" rm -f $policy' EXIT
fi
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
if [[ " ${missing[*]} " =~ " prometheus "|" prometheus-alertmanager "|" slurmd "|" postgresql-15 " ]] && [ -d /run/systemd/system ]; then
  for service in prometheus prometheus-node-exporter prometheus-alertmanager munge slurmctld slurmd postgresql; do
    package=${service/prometheus-node-exporter/prometheus}
    [[ " ${missing[*]} " != *" ${package/%postgresql/postgresql-15} "* ]] ||
      "${as_root[@]}" systemctl disable --quiet "$service" 2>/dev/null || true
  done
fi
fetch_pages
echo "deps: installed"
