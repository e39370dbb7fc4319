#!/usr/bin/env bash
# The manual page of railgauge has a section for each noun, with every flag that the program's help has. No line of any
# program's help is longer than 80 columns.
set -euo pipefail
cd "$(dirname "$0")/../.."
bin=${RAILGAUGE_BUILD_DIR:-build/dev}/bin
[ -x "$bin/railgauge" ] || { echo "$bin/railgauge is not built; set RAILGAUGE_BUILD_DIR" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "$1" >&2; exit 1; }

deploy/packages/pages.sh "$bin" "$work" railgauge
# As a person reads it.
zcat "$work/share/man/man1/railgauge.1.gz" | sed 's/\\-/-/g' >"$work/page"
for noun in nodes runs upgrades findings schedules pki; do
  grep -qx ".SH \"RAILGAUGE ${noun^^}\"" "$work/page" || fail "no section about $noun"
done
flags=0
while read -r flag; do
  grep -q -e "$flag" "$work/page" || fail "the page lacks $flag"
  flags=$((flags + 1))
done < <(for noun in nodes run runs results upgrades findings schedules preflight pki; do "$bin/railgauge" help "$noun"; done | grep -oE '^  (-., )?--[a-z-]+' | grep -oE '\-\-[a-z-]+' | sort -u)
[ "$flags" -gt 40 ] || fail "only $flags flags were compared"
grep -q 'min.coverage' "$work/page" || fail "the page lacks --min-coverage"
for shell in bash-completion/completions/railgauge fish/vendor_completions.d/railgauge.fish; do
  [ -s "$work/share/$shell" ] || fail "no completion in $shell"
done
if command -v groff >/dev/null; then
  zcat "$work/share/man/man1/railgauge.1.gz" | groff -man -Tutf8 -ww >"$work/shown" 2>"$work/said"
  [ ! -s "$work/said" ] || fail "groff: $(head -n 3 "$work/said")"
fi
# narrow TEXT...: the help that these words print.
helps=0
narrow() {
  local wide
  wide=$("$bin/$1" "${@:2}" | awk 'length($0) > 80' | head -n 3)
  [ -z "$wide" ] || fail "$*: lines longer than 80 columns: $wide"
  helps=$((helps + 1))
}
for program in railgauge railgauge-controller railgauge-agent railgauge-runner railgauge-fleet; do narrow "$program" --help; done
for noun in $("$bin/railgauge" help | awk '/^Help:/ { exit } /^  [a-z]/ && !seen[$1]++ { print $1 }'); do narrow railgauge help "$noun"; done
for kernel in $("$bin/railgauge-runner" --list | cut -d" " -f1); do narrow railgauge-runner "$kernel" --help; done
for tool in nvbandwidth gdrcopy_copybw gdrcopy_sanity ib_write_bw ib_send_lat all_reduce_perf sendrecv_perf osu_latency; do narrow railgauge-runner "$tool" --help; done
[ "$helps" -gt 60 ] || fail "only $helps helps were read"
echo "$flags flags in the manual page, $helps helps within 80 columns"
