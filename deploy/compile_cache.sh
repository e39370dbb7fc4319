#!/usr/bin/env bash
# Sourced by other scripts. With ccache installed, builds reuse its objects, also those of other clones on this machine.
# Without ccache nothing changes.
if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1
  export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
fi

# name_precompiled TREE: writes a sum beside each precompiled header, by which ccache compares them, since their bytes
# differ from build to build. The sum is of the list of headers, the messages, the compilers, and the packages of the headers.
# Messages that no precompiled header has are left out.
name_precompiled() {
  local list
  command -v ccache >/dev/null || return 0
  while read -r list; do
    { cat "$list"; printf '%s\n' controller/api/*.proto kernels/core/base/*.proto | grep -v -e /enrolment -e /standby | xargs cat; g++ --version | head -n 1; clang++ --version | head -n 1; dpkg-query -W 'lib*-dev' | sha256sum; } 2>/dev/null |
      sha256sum | tee "$list.gch.sum" >"$list.pch.sum"
  done < <(find "$1" -name cmake_pch.hxx)
}
