#!/usr/bin/env bash
# Writes the manual pages and completions of programs, from the programs' own help, below an install prefix.
#   pages.sh BIN PREFIX PROGRAM...     BIN: the folder of the built programs
# Programs that only other programs start (the launch shim, the helper, the MPI runners) have none.
set -euo pipefail
[ $# -ge 3 ] || { echo "pages.sh: usage: pages.sh BIN PREFIX PROGRAM..." >&2; exit 2; }
bin=$1 prefix=$2
shift 2

# Text for roff: its own escapes, and dashes that can be copied.
# shellcheck disable=SC1003
escaped() { sed -E 's/\\/\\e/g; s/-/\\-/g; s/^([.'"'"'])/\\\&\1/'; }

# nouns: a section for each noun of railgauge with the flags of its verbs, as its own table has them.
nouns() {
  local noun
  "$bin/railgauge" help | awk '/^Help:/ { exit } /^  [a-z]/ && !seen[$1]++ { print $1 }' | while read -r noun; do
    printf '.SH "RAILGAUGE %s"\n.nf\n' "${noun^^}"
    "$bin/railgauge" help "$noun" | sed '/^railgauge help lists the flags/d' | escaped
    printf '.fi\n'
  done
}

# manual PROGRAM SUMMARY: a page whose text is the program's help, line by line.
manual() {
  local version help
  version=$("$bin/railgauge" version 2>/dev/null | head -n 1) || true
  # The host's name is a default that depends on this machine.
  help=$("$bin/$1" --help | sed -E "s|^Usage: .*/$1|Usage: $1|; s|(--name TEXT)=[^ ]*|\\1|")
  printf '.TH %s 1 "" "%s" "Railgauge"\n.SH NAME\n%s \\- %s\n.SH DESCRIPTION\n.nf\n' "${1^^}" "${version:-railgauge}" "$1" "$2"
  escaped <<<"$help"
  printf '.fi\n'
  if [ "$1" = railgauge ]; then nouns; fi
  if [ "$1" = railgauge-agent ]; then
    printf '.SH "RAILGAUGE-AGENT ENROLL"\n.nf\n'
    "$bin/$1" enroll --help | sed -E "s|^([^ ]*/)?$1 enroll|$1 enroll|; s|^Usage: .*/$1|Usage: $1|" | escaped
    printf '.fi\n'
  fi
  printf '.SH EXIT STATUS\n'
  printf '0 passed; 1 failed or regressed; 2 wrong use; 3 inconclusive; 4 invalid, crashed, timed out or unreachable; 5 waived.\n'
  printf '.SH FILES\n/etc/railgauge, /var/lib/railgauge, /var/lib/railgauge\\-agent\n'
}
page() {
  mkdir -p "$prefix/share/man/man1"
  manual "$1" "$2" | gzip -9n >"$prefix/share/man/man1/$1.1.gz"
}

for program in "$@"; do
  case $program in
    railgauge)
      page railgauge "runs suites, shows results, findings and nodes"
      zsh=$prefix/share/zsh/site-functions
      [ ! -e /etc/debian_version ] || zsh=$prefix/share/zsh/vendor-completions
      fish=$prefix/share/fish/vendor_completions.d
      mkdir -p "$prefix/share/bash-completion/completions" "$zsh" "$fish"
      "$bin/railgauge" completion fish >"$fish/railgauge.fish"
      "$bin/railgauge" completion bash >"$prefix/share/bash-completion/completions/railgauge"
      "$bin/railgauge" completion zsh >"$zsh/_railgauge"
      ;;
    railgauge-controller) page railgauge-controller "plans, relays, stores and judges measurements" ;;
    railgauge-agent) page railgauge-agent "measures this node when its controller asks" ;;
    railgauge-runner) page railgauge-runner "measures one thing, between two hosts or on this one" ;;
  esac
done
