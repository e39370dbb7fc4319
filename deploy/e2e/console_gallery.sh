#!/usr/bin/env bash
# Makes the gallery of the web console from what `railgauge demo` plays: each page in light and in dark, with the line
# that says that its figures are synthetic. Fails where axe finds a fault on any of them, and where the bad port's
# evidence is more than three clicks or six keys from the overview.
#   console_gallery.sh [FOLDER]   pictures go there; without it into a folder that is removed
#   console_gallery.sh --walk     the clicks and keys alone
# Exit 77 without Chromium, Node.js or the built pages.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

pages=$top/dashboards/console
chromium=$(command -v chromium || true)
waive() { echo "waived: $1"; exit 77; }
[ -n "$chromium" ] || waive "there is no chromium; deploy/deps.sh installs it"
command -v node >/dev/null || waive "there is no node; deploy/deps.sh installs it"
[ -d "$pages/node_modules/puppeteer-core" ] || waive "the packages of dashboards/console are missing; deploy/deps.sh fetches them"
[ -e "$bin/../share/railgauge/console/index.html" ] || waive "this build has no pages of the console"

walk=""
if [ "${1:-}" = --walk ]; then walk=yes; shift; fi
folder=${1:-$work/pictures}
mkdir -p "$folder" "$work/tmp"
export TMPDIR=$work/tmp
unset RAILGAUGE_CONTROLLER
"$bin/railgauge" demo --nodes 32 >"$work/demo.txt" 2>"$work/demo.err" &
echo $! >"$work/demo.pid"
wait_for "the demo's story ends" 90 grep 'Ctrl-C ends it' "$work/demo.txt"
command=$(sed -n 's/^console  //p' "$work/demo.txt")
case $command in
  none:*) echo "    the demo has no console: $command"; exit 1 ;;
esac
node "$pages/tests/demo.e2e.mjs" "$chromium" "$(bash -c "$command" 2>/dev/null)"
[ -n "$walk" ] || node "$pages/tests/gallery.mjs" "$chromium" "$(bash -c "$command" 2>/dev/null)" "$folder"
kill -INT "$(pid_of demo)"
wait_for "the demo ends" 30 eval '! alive demo'
