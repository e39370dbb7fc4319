#!/usr/bin/env bash
# Sourced: where ccache is installed, what was compiled once is taken from it, in other clones of the same machine too.
# Without ccache nothing changes.
if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1
  export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
fi

# name_precompiled TREE: a precompiled header's bytes differ from build to build. ccache compares them by the sum
# beside them instead: of the list of headers, of the compiler, and of the packages that the headers came from.
name_precompiled() {
  local list
  command -v ccache >/dev/null || return 0
  while read -r list; do
    { cat "$list"; g++ --version | head -n 1; dpkg-query -W 'lib*-dev' | sha256sum; } | sha256sum >"$list.gch.sum"
  done < <(find "$1" -name cmake_pch.hxx)
}
