# Says whether a host lets no slurmd run, or a slurmd was set up wrongly.
# shellcheck shell=bash

# host_forbids_slurmd LOG: its log says that this host or its container keeps control groups from it.
host_forbids_slurmd() {
  local denied='Permission denied|Read-only file system|Operation not permitted'
  grep -qiE "cgroup.*($denied)|($denied).*cgroup|cgroup namespace .* not mounted" "$1"
}
