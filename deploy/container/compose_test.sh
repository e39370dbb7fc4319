#!/usr/bin/env bash
# Reads the compose files as Compose does, without starting anything: every file that they mount is there, every variable of
# Railgauge is a setting, and each board has its data source. Exit 77 without python3-yaml.
set -euo pipefail
cd "$(dirname "$0")"
python3 -c 'import yaml' 2>/dev/null || { echo "waived: no python3-yaml here; Debian's package has it"; exit 77; }
python3 - <<'P'
import json, pathlib, re, sys
import yaml

faults, cases = [], 0
def expect(title, holds):
    global cases
    cases += 1
    if not holds: faults.append(title)

page = pathlib.Path("../docs/reference/controller-settings.md").read_text()
services, files = {}, [pathlib.Path("compose.yaml")]
for file in files:
    text = file.read_text()
    read = yaml.safe_load(text)
    files += [file.parent / other for other in read.get("include", [])]
    for name, service in read["services"].items():
        expect(f"{file}: {name} is there once", name not in services)
        services[name] = service
        expect(f"{file}: {name} has an image", re.fullmatch(r"(\$\{RAILGAUGE_IMAGE:-)?[a-z./]+:v?[0-9.]+\}?", service.get("image", "")))
        expect(f"{file}: {name} restarts", service.get("restart") == "unless-stopped")
        for mount in service.get("volumes", []):
            source, target = re.sub(r"\$\{[A-Z_]+:-(.*?)\}", r"\1", mount).split(":")[:2]
            expect(f"{file}: {name}: {target} is absolute", target.startswith("/"))
            if source.startswith("."):
                expect(f"{file}: {name}: {source} is a file of the tree", source == "./pki" or (file.parent / source).exists())
            else:
                expect(f"{file}: {name}: {source} is a volume", source in read.get("volumes", {}))
controller = services["controller"]
for name in controller["environment"]: expect(f"controller: {name} is a setting", f"`{name}`" in page)
expect("controller: it has a health check by its own command", controller["healthcheck"]["test"] == ["CMD", "railgauge", "status"])
expect("controller: it may change nothing of its image", controller["read_only"] and controller["cap_drop"] == ["ALL"])

grafana = pathlib.Path("../monitoring/grafana")
sources = yaml.safe_load((grafana / "datasources/railgauge.yaml").read_text())["datasources"]
for source in sources:
    for variable in re.findall(r"\$([A-Z_]+)", json.dumps(source)):
        expect(f"grafana: {variable} is given", variable in services["grafana"]["environment"])
folder = yaml.safe_load((grafana / "dashboards/railgauge.yaml").read_text())["providers"][0]["options"]["path"]
mounts = dict(reversed(mount.split(":")[:2]) for mount in services["grafana"]["volumes"])
boards = 0
for target, source in mounts.items():
    if not target.startswith(folder + "/"): continue
    for board in sorted((pathlib.Path("../monitoring") / source).glob("*.json")):
        boards += 1
        for wanted in (each["query"] for each in json.loads(board.read_text())["templating"]["list"] if each["type"] == "datasource"):
            expect(f"grafana: {board.name} finds its {wanted}", any(source["type"] == wanted for source in sources))
expect("grafana: all boards are mounted", boards == len(list(pathlib.Path("../../dashboards").glob("[gp]*/*.json"))))
for fault in faults: print(f"FAILED: {fault}")
print(f"compose: {cases - len(faults)} of {cases} cases passed")
sys.exit(bool(faults) or boards < 6)
P
