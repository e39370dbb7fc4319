#!/usr/bin/env bash
# Installs what kubernetes_test.sh needs into build/kubernetes, from npm: the schemas of Kubernetes' API, of the Prometheus
# operator's and of cert-manager's, a YAML reader, and a helm. Exit 77 without npm or its registry.
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v npm >/dev/null || { echo "waived: no npm here; Debian's package npm has it"; exit 77; }
mkdir -p build/kubernetes
cd build/kubernetes
[ -e package.json ] || echo '{"private": true}' >package.json
npm install --no-audit --no-fund --silent kubernetes-models@5.1.0 @kubernetes-models/prometheus-operator @kubernetes-models/cert-manager yaml@2 @aws-cdk/asset-kubectl-v20@2.1.4 ||
  { echo "waived: npm's registry does not answer"; exit 77; }
# That package is a zip of kubectl and helm.
python3 -c 'import zipfile; zipfile.ZipFile("node_modules/@aws-cdk/asset-kubectl-v20/lib/layer.zip").extractall(".")'
chmod 755 helm/helm kubectl/kubectl
echo "kubernetes: $(helm/helm version --short), schemas of kubernetes-models 5.1.0"
