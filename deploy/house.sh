#!/usr/bin/env bash
# Measures the tree and checks the bounds that keep it readable. Compiles nothing; reads tracked files only.
#   deploy/house.sh                    print the table of figures, beside those of the six anchors
#   deploy/house.sh --as-published     the same, counted as the published column was
#   deploy/house.sh --check            print one line per offence; exit 1 when there are any
#   deploy/house.sh --check RULE...    check these rules only
#   deploy/house.sh --root FOLDER ...  read another checkout
# The rules: folders includers file_lines function_lines comments readme architecture pairs sql sends_to_sql spawns stems unbuilt decisions
# markdown links words. The bounds and the lists of words are in deploy/house/lists.py.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
exec python3 -B "$here/house/house.py" "$@"
