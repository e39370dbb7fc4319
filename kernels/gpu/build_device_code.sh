#!/usr/bin/env bash
# Compiles one .cu file to one .cc file that defines `DeviceCode SYMBOL`: machine code for the GPU architectures that
# this nvcc knows, and PTX. A driver reads PTX of its own version or older, so the PTX is stamped with the lowest
# version and target with which ptxas still accepts it: drivers before and after an upgrade must run the same code.
#   build_device_code.sh NVCC SOURCE.cu SYMBOL NAMESPACE OUT.cc     NVCC empty: no code, kernels waive
# A source may need a header that the toolkit has not ("// Needs header: x.h"): no code where nvcc does not find it.
set -euo pipefail
nvcc=$1 source=$2 symbol=$3 namespace=$4 out=$5
work=${out%.cc}.parts
mkdir -p "$work"

# array NAME FILE: prints the file's bytes as a C++ array.
array() {
  printf 'alignas(16) constexpr unsigned char %s[] = {' "$1"
  od -An -v -tu1 "$2" | awk '{ for (i = 1; i <= NF; ++i) printf "%s,", $i } END { print "0};" }'
}

# lowest_ptx PTXAS: prints the lowest "version target" that ptxas accepts; tries versions in ascending order, each with
# ascending targets.
lowest_ptx() {
  local ptxas=$1 version target
  for version in 3.0 3.1 3.2 4.0 4.1 4.2 4.3 5.0 6.0 6.1 6.3 6.4 6.5 7.0 7.1 7.4 7.8 8.0 8.1 8.2 8.6 9.0; do
    for target in ${least:-30 35 50 52 60 61 70 75}; do
      sed "s/^\.version .*/.version $version/; s/^\.target .*/.target sm_$target/" "$work/full.ptx" >"$work/low.ptx"
      if "$ptxas" -arch="sm_${least:-75}" "$work/low.ptx" -o "$work/low.cubin" 2>/dev/null; then
        echo "${version/./} $target"
        return
      fi
    done
  done
  echo "build_device_code.sh: ptxas takes no version of $source" >&2
  return 1
}

header() {
  printf '// Made from %s by build_device_code.sh.\n#include "kernels/gpu/device_code.h"\n\nnamespace {\n' "$source"
}
# footer PTX_EXPRESSION VERSION TARGET TOOLKIT [LACKING]: prints the definition of SYMBOL.
footer() {
  printf '}  // namespace\n\nnamespace %s {\nextern const railgauge::gpu::DeviceCode %s;\n' "$namespace" "$symbol"
  printf 'const railgauge::gpu::DeviceCode %s{"%s", %s, %s, %s, %s, "%s"};\n}\n' "$symbol" "$source" "$1" "$2" "$3" "$4" "${5:-}"
}
# empty LACKING: writes a definition without code.
empty() {
  { header; footer '{}, {}' 0 0 0 "$1"; } >"$out"
  exit 0
}

[ -n "$nvcc" ] || empty nvcc
needed=$(sed -n 's,^// Needs header: \(.*\)$,\1,p' "$source")
if [ -n "$needed" ] && ! printf '#include <%s>\n' "$needed" | "$nvcc" -E -x cu - >/dev/null 2>&1; then
  empty "$needed"
fi

# A source may say the lowest compute capability that has its instructions; else the code is as old as it can be.
least=$(sed -n 's,^// Least compute capability: \([0-9]*\)$,\1,p' "$source")

tools=$(dirname "$(readlink -f "$nvcc")")
arch=$("$nvcc" --list-gpu-arch | head -n 1)
[ -z "$least" ] || arch=compute_$least
# nvcc runs the host's compiler even for PTX alone; the source uses no header of either.
"$nvcc" -ptx -O3 -std=c++17 -arch="$arch" "$source" -o "$work/full.ptx"
read -r version target <<<"$(lowest_ptx "$tools/ptxas")"
sed "s/^\.version .*/.version ${version%?}.${version: -1}/; s/^\.target .*/.target sm_$target/; /^\/\//d" "$work/full.ptx" >"$work/low.ptx"
release=$("$nvcc" --version | sed -n 's/.*release \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
toolkit=$((${release% *} * 1000 + ${release#* } * 10))

{
  header
  array kPtx "$work/low.ptx"
  rows=""
  for code in $("$nvcc" --list-gpu-code | sed -n 's/^sm_\([0-9]*\)$/\1/p'); do
    [ "$code" -ge "${least:-0}" ] || continue
    case "$code" in 72 | 87 | 88 | 101 | 110) continue ;; esac  # embedded boards
    "$tools/ptxas" -O3 -arch="sm_$code" "$work/low.ptx" -o "$work/$code.cubin"
    array "kSm$code" "$work/$code.cubin"
    rows+="railgauge::gpu::CubinImage{$code, kSm$code}, "
  done
  printf 'constexpr railgauge::gpu::CubinImage kCubins[] = {%s};\n' "${rows%, }"
  footer 'kCubins, kPtx' "$version" "$target" "$toolkit"
} >"$out.new"
mv "$out.new" "$out"
rm -rf "$work"
# The first driver that reads this PTX, from the table in device_code.cc; --version lists a driver's other requirements.
driver=$(sed -n "s/.*Release{$version, [0-9]*, \"\([0-9.]*\)\"}.*/\1/p" "$(dirname "$0")/device_code.cc")
echo "device code $source: PTX ${version%?}.${version: -1} for compute capability ${target%?}.${target: -1} and later," \
  "read by driver ${driver:-unknown} and later"
