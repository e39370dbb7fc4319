#!/usr/bin/env bash
# Makes a certificate authority and certificates for a railgauge installation; a short form of `railgauge pki`.
#
#   pki.sh ca DIR                   the authority: DIR/ca.crt, DIR/ca.key (keep that one off the nodes)
#   pki.sh controller DIR HOST...   DIR/controller.crt and .key, for these host names and addresses
#   pki.sh agent DIR NODE           DIR/NODE.crt and .key: may speak for that node only
#   pki.sh operator DIR NAME        DIR/NAME.crt and .key: may run and cancel
#   pki.sh viewer DIR NAME          DIR/NAME.crt and .key: may look
#
# `railgauge pki` also renews, revokes and shows. PKI_DAYS sets the days for which certificates are valid (ca 3650,
# others 730). RAILGAUGE_BUILD_DIR names the build whose railgauge is called; without it the one of a bundle, the
# newest of a build below this folder's parent, or that of the PATH is.
set -euo pipefail

readonly program=${0##*/}
die() { echo "$program: $1" >&2; exit "${2:-4}"; }
usage() { die "usage: $program ca DIR | controller DIR HOST... | agent|operator|viewer DIR NAME" 2; }

# The railgauge to call.
find_railgauge() {
  local top found
  top=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
  if [ -n "${RAILGAUGE_BUILD_DIR:-}" ]; then
    echo "$RAILGAUGE_BUILD_DIR/bin/railgauge"
  elif [ -x "$top/bin/railgauge" ]; then
    echo "$top/bin/railgauge"
  elif found=$(find "$top"/build/*/bin -maxdepth 1 -name railgauge -printf '%T@ %p\n' 2>/dev/null | sort -rn | head -n 1) &&
    [ -n "$found" ]; then
    echo "${found#* }"
  else
    command -v railgauge || true
  fi
}

# Words, then the call.
[ $# -ge 2 ] || usage
role=$1 dir=$2
shift 2
days=()
[ -z "${PKI_DAYS:-}" ] || days=(--days "$PKI_DAYS")
case $role in
  ca)
    [ $# = 0 ] || usage
    words=(init "$dir")
    ;;
  controller)
    [ $# -ge 1 ] || usage
    words=(issue "$dir" controller controller --san "$(IFS=,; echo "$*")")
    ;;
  agent | operator | viewer)
    [ $# = 1 ] || usage
    words=(issue "$dir" "$role" "$1")
    ;;
  *) usage ;;
esac

railgauge=$(find_railgauge)
[ -x "$railgauge" ] || die "${railgauge:-railgauge}: not found; build it (cmake --build --preset dev), or name a build with RAILGAUGE_BUILD_DIR"
code=0
said=$("$railgauge" -o table pki "${words[@]}" ${days[@]+"${days[@]}"} 2>&1) || code=$?
# Words that are right and cannot be carried out are 4 here, whatever `railgauge pki` makes of them.
case $code:$said in
  0:*) echo "$said"; exit 0 ;;
  2:*"makes an authority"* | 2:*"is not overwritten"*) code=4 ;;
esac
echo "$said" >&2
exit "$code"
