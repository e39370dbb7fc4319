#!/usr/bin/env bash
# Installs what schema_test.sh needs into build/grafana, from npm: the types of boards that Grafana publishes, of the
# version that deploy/monitoring/compose.yaml starts, and a TypeScript compiler. Exit 77 without npm or its registry.
set -euo pipefail
cd "$(dirname "$0")/.."
grafana=10.4.19
command -v npm >/dev/null || { echo "waived: no npm here; Debian's package npm has it"; exit 77; }
mkdir -p build/grafana
cd build/grafana
[ -e package.json ] || echo '{"private": true}' >package.json
away() { echo "waived: npm's registry does not answer"; exit 77; }
npm install --no-audit --no-fund --silent "@grafana/schema@$grafana" typescript@5.9.3 || away
# Its units and lists of names alone: what it depends on is large.
npm pack --silent "@grafana/data@$grafana" >packed || away
rm -rf node_modules/@grafana/data
mkdir node_modules/@grafana/data
tar -xzf "$(tail -n 1 packed)" -C node_modules/@grafana/data --strip-components=1
echo "grafana: types of $grafana"
