#!/usr/bin/env bash
# Builds the Debian packages of a build by CPack and reads their content. Nothing is installed: clean_root.sh does that.
# Exit 77 without dpkg-deb, dpkg-shlibdeps or cpack.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 4
build=$(realpath "${RAILGAUGE_BUILD_DIR:-build/dev}")
for tool in dpkg-deb dpkg-shlibdeps cpack; do
  command -v $tool >/dev/null || { echo "waived: no $tool here"; exit 77; }
done
work=$(mktemp -d "${TMPDIR:-/tmp}/railgauge-packages.XXXXXX")
trap 'rm -rf "$work"' EXIT
failures=0 cases=0
expect() { # TITLE COMMAND...
  local title=$1; shift
  cases=$((cases + 1))
  "$@" >"$work/out" 2>&1 || { failures=$((failures + 1)); echo "FAILED: $title"; sed 's/^/    /' "$work/out"; }
}
# gzip packs in a third of the time that the shipped packages take.
cpack --config "$build/CPackConfig.cmake" -G DEB -B "$work" -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip >"$work/cpack.log" 2>&1 ||
  { tail -n 20 "$work/cpack.log"; exit 1; }
version=$(sed -n 's/^set(CPACK_PACKAGE_VERSION "\(.*\)")/\1/p' "$build/CPackConfig.cmake")
arch=$(dpkg --print-architecture)
deb() { echo "$work/$1_${version}_$arch.deb"; }
field() { dpkg-deb -f "$(deb "$1")" "$2"; }
has() { awk -v path=".$2" -v mode="${3:--rw-r--r--}" '$6 == path && $1 == mode && $2 == "root/root" { found = 1 } END { exit !found }' "$work/$1.list"; }
depends() { field "$1" Depends | grep -qE "(^|, )$2"; }

packages=(railgauge railgauge-controller railgauge-agent)
for mpi in openmpi mpich; do [ ! -x "$build/bin/railgauge-runner-$mpi" ] || packages+=("railgauge-runner-$mpi"); done
expect "there is a package for each component and no other" \
  test "$(cd "$work" && printf '%s\n' *.deb | sort | tr '\n' ' ')" = "$(for p in "${packages[@]}"; do basename "$(deb "$p")"; done | sort | tr '\n' ' ')"
for package in "${packages[@]}"; do
  dpkg-deb -c "$(deb "$package")" >"$work/$package.list"
  awk '{print $6}' "$work/$package.list" >>"$work/files"
  expect "$package: its fields" test "$(field "$package" Package) $(field "$package" Version) $(field "$package" Architecture)" = "$package $version $arch"
  expect "$package: it depends on the C++ library by shlibdeps" depends "$package" 'libstdc\+\+6 '
  expect "$package: its copyright" has "$package" "/usr/share/doc/$package/copyright"
  expect "$package: its program" has "$package" "/usr/bin/$package" -rwxr-xr-x
done
overlaps() { ! grep -v '/$' "$work/files" | sort | uniq -d | grep .; }
expect "no file is in two packages" overlaps
expect "nothing is outside /etc/railgauge and /usr" sh -c "! grep -vE '^\./(usr/|etc/\$|etc/railgauge/|\$)' '$work/files'"

for program in railgauge-runner railgauge-launch-shim railgauge-node-facts; do
  expect "the agent has $program" has railgauge-agent /usr/bin/$program -rwxr-xr-x
done
for unit in railgauge-agent.service railgauge-node-facts.socket railgauge-node-facts@.service; do
  expect "the agent has $unit" has railgauge-agent /usr/lib/systemd/system/$unit
done
expect "the controller has its unit" has railgauge-controller /usr/lib/systemd/system/railgauge-controller.service
expect "the agent makes root's folders" has railgauge-agent /usr/lib/tmpfiles.d/railgauge-agent.conf
for script in prolog epilog healthcheck verdict drain; do
  expect "the agent has Slurm's $script" has railgauge-agent /usr/share/railgauge/slurm/$script.sh -rwxr-xr-x
done
for pipeline in gate.sh shell.sh slurm.sh; do
  expect "the command has the pipeline $pipeline" has railgauge /usr/share/railgauge/pipelines/$pipeline -rwxr-xr-x
done
expect "the command has the pipeline of Ansible" has railgauge /usr/share/railgauge/pipelines/ansible.yml
for suite in suites/*.yaml; do
  expect "the controller has $suite" has railgauge-controller "/usr/share/railgauge/$suite"
done
expect "the controller has the alerts" has railgauge-controller /usr/share/railgauge/dashboards/prometheus/alerts.yml
expect "and the board of the archive" has railgauge-controller /usr/share/railgauge/dashboards/postgres/railgauge-archive.json
for board in dashboards/grafana/*.json; do
  expect "the controller has $board" has railgauge-controller "/usr/share/railgauge/$board"
done
# A build without Node.js has no pages, and says so itself.
if [ -e "$build/share/railgauge/console/index.html" ]; then
  expect "the controller has the console's pages" has railgauge-controller /usr/share/railgauge/console/index.html
  expect "with all their parts" test "$(grep -c '/usr/share/railgauge/console/.*[^/]$' "$work/railgauge-controller.list")" = "$(find "$build/share/railgauge/console" -type f | wc -l)"
else
  echo "waived: this build has no pages of the console, so no package has them: install nodejs and npm"
fi
expect "tests stay at home" sh -c "! grep -q _test '$work/files'"
# A service manager of a half-broken host: each call fails.
mkdir "$work/broken"
printf '#!/bin/sh\necho "systemctl $*" >>%s\nexit 1\n' "$work/calls" >"$work/broken/systemctl"
printf '#!/bin/sh\nexit 0\n' | tee "$work/broken/systemd-sysusers" >"$work/broken/systemd-tmpfiles"
chmod +x "$work"/broken/*
# survives SCRIPT ARGUMENT...: the maintainer script ends with 0 there. A test's host need not be one of systemd.
survives() {
  # Every path of the host is one below the work folder: a purge must not find the machine's own agent.
  sed "s|-d /run/systemd/system|-d /|; s|/var/|$work/host/var/|g; s|/etc/|$work/host/etc/|g; s|/run/|$work/host/run/|g" "$1" >"$work/script"
  ! sed "s|$work/host/||g" "$work/script" | grep -nE '(^|[^a-z])/(var|etc|run)/' || return
  PATH="$work/broken:$PATH" sh "$work/script" "${@:2}"
}
for service in agent controller; do
  mkdir "$work/$service"
  dpkg-deb -e "$(deb railgauge-$service)" "$work/$service"
  expect "$service: settings are conffiles" test "$(sort "$work/$service/conffiles")" = "$(sed -n 's|.* \./etc/railgauge/\(.\)|/etc/railgauge/\1|p' "$work/railgauge-$service.list" | sort)"
  expect "$service: they are there" has railgauge-$service /etc/railgauge/$service.conf
  expect "$service: its user" has railgauge-$service /usr/lib/sysusers.d/railgauge-$service.conf
  expect "$service: which something makes" depends railgauge-$service 'default-systemd-sysusers'
  for script in postinst prerm postrm; do
    expect "$service: $script is POSIX sh" sh -n "$work/$service/$script"
    if command -v shellcheck >/dev/null; then expect "$service: $script" shellcheck -s sh "$work/$service/$script"; fi
  done
  : >"$work/calls"
  expect "$service: a systemd that fails stops no removal" survives "$work/$service/prerm" remove
  expect "$service: which asked it to stop" grep -q "systemctl disable --now railgauge-$service.service" "$work/calls"
  expect "$service: nor a purge" survives "$work/$service/postrm" purge
  expect "$service: nor an installation" survives "$work/$service/postinst" configure
  expect "$service: nor an upgrade" survives "$work/$service/postinst" configure 0.1.0
  if [ $service = agent ] && [ "$(id -u)" = 0 ]; then
    mkdir -p "$work/host/run/railgauge" "$work/host/run/railgauge-agent"
    touch "$work/host/run/railgauge/busy"
    survives "$work/agent/postinst" configure 2>/dev/null
    expect "agent: a first installation takes over no marker" test ! -e "$work/host/run/railgauge-agent/busy"
    expect "agent: an upgrade" survives "$work/agent/postinst" configure 0.1.0
    expect "agent: keeps a marked node busy" test -e "$work/host/run/railgauge-agent/busy"
  fi
  dpkg-deb -x "$(deb railgauge-$service)" "$work/root"
  expect "$service: every unset setting of its file is a known one" \
    sh -c "sed -n 's/^# \([a-z_]*\) = .*/\1/p' '$work/root/etc/railgauge/$service.conf' | while read -r key; do
      '$work/root/usr/bin/railgauge-$service' --help | grep -q -- \"--\$(echo \$key | tr _ -) \" || { echo \"unknown: \$key\"; exit 1; }; done"
  for script in prerm postinst; do
    units=$(grep -o 'railgauge-[a-z-]*\.\(service\|socket\)' "$work/$service/$script" | sort -u)
    expect "$service: rpm's $script stops or restarts the units that Debian's does" \
      test "$(grep -o 'railgauge-[a-z-]*\.\(service\|socket\)' "deploy/packages/rpm/$service.$script" | sort -u)" = "$units"
  done
  expect "$service: its unit reads its environment file" grep -qx "EnvironmentFile=-/etc/railgauge/$service.env" "$work/root/usr/lib/systemd/system/railgauge-$service.service"
done
# Two services with one folder: whoever starts last owns it.
runtime=$(sed -n 's/^RuntimeDirectory=//p' "$work"/root/usr/lib/systemd/system/railgauge-*.service | tr ' ' '\n' | sed 's|^|/run/|')
expect "the controller has a folder below /run" test "$runtime" = /run/railgauge
tmpfiles=$work/root/usr/lib/tmpfiles.d
expect "no line of tmpfiles.d makes a folder that a service owns" sh -c "! awk '\$1 ~ /^[a-zA-Z]/ { print \$2 }' '$tmpfiles'/*.conf | grep -xF '$runtime'"
expect "the agent's busy marker is in one of root's" sh -c "'$work/root/usr/bin/railgauge-agent' --help | tr -s ' \n' ' ' | grep -q 'busy-marker TEXT=/run/railgauge-agent/busy '"
expect "an MPI's runner needs the agent of its own version" sh -c "! [ -x '$build/bin/railgauge-runner-openmpi' ] || dpkg-deb -f '$(deb railgauge-runner-openmpi)' Depends | grep -qF 'railgauge-agent (= $version)'"
expect "the agent depends on no MPI" sh -c "! dpkg-deb -f '$(deb railgauge-agent)' Depends | grep -qE 'openmpi|mpich'"
expect "nor on a library that it loads at run time" sh -c "! dpkg-deb -f '$(deb railgauge-agent)' Depends | grep -qE 'ibverbs|cuda|nccl|rdmacm'"

dpkg-deb -x "$(deb railgauge)" "$work/root"
expect "the packed command starts" "$work/root/usr/bin/railgauge" --help
expect "it is stripped" sh -c "! readelf -S '$work/root/usr/bin/railgauge' | grep -q '\.symtab'"
expect "its bash completion is what it prints" sh -c "'$work/root/usr/bin/railgauge' completion bash | cmp - '$work/root/usr/share/bash-completion/completions/railgauge'"
expect "its fish completion too" sh -c "'$work/root/usr/bin/railgauge' completion fish | cmp - '$work/root/usr/share/fish/vendor_completions.d/railgauge.fish'"
expect "its zsh completion too" sh -c "'$work/root/usr/bin/railgauge' completion zsh | cmp - '$work/root/usr/share/zsh/vendor-completions/_railgauge'"
for page in railgauge railgauge-agent railgauge-controller railgauge-runner; do
  expect "the page of $page has its help" sh -c "zcat '$work/root/usr/share/man/man1/$page.1.gz' | tr -d '\\\\' | grep -q '^Usage: $page'"
  expect "the page of $page has no path of the build" sh -c "! zcat '$work/root/usr/share/man/man1/$page.1.gz' | grep -F '$build'"
  # groff warns of what it does not understand.
  if command -v man >/dev/null; then
    expect "man reads the page of $page" sh -c "man -l --warnings -E UTF-8 -P cat '$work/root/usr/share/man/man1/$page.1.gz' 2>&1 >/dev/null | grep . && exit 1 || exit 0"
  fi
done
[ $failures = 0 ] || { echo "$failures of $cases cases failed"; exit 1; }
echo "packages: $cases cases passed, ${#packages[@]} packages"
