#!/usr/bin/env python3
"""Makes the configuration by which runc starts a container as a Compose service or a pod of a manifest has it.

  oci.py FILE WHAT --spec SPEC --image CONFIG --netns PATH --folder DIR --out CONFIG [--env NAME=VALUE]... [--field PATH=VALUE]... [--arg TEXT]...
FILE is a Compose file and WHAT a service of it, or FILE has manifests and WHAT is KIND/NAME, of which the first container is
taken, or its init container with a third part, KIND/NAME/init. FILE may be "-": the image as it is. SPEC is the output of
`runc spec`, --image the image's configuration as OCI has it. --folder has the volumes: a folder DIR/NAME of each, and what
`--mount SOURCE:TARGET` names besides. --field is what a fieldRef means, as spec.nodeName=n1. --arg is added to the command.
"""

import argparse
import json
import os
import re

import yaml


def from_compose(service, volumes, folder):
    """Entry point and user are the image's; a named volume and ./pki are folders of the test."""
    mounts = []
    for volume in service.get("volumes", []):
        source, target, *mode = re.sub(r"\$\{[A-Z_]+:-(.*?)\}", r"\1", volume).split(":")
        name = source if source in volumes else os.path.basename(source)
        mounts.append((os.path.join(folder, name), target, mode == ["ro"]))
    return {"env": service.get("environment", {}), "read_only": service.get("read_only", False), "mounts": mounts,
            "tmpfs": [entry.split(":")[0] for entry in service.get("tmpfs", [])]}


def from_pod(pod, container, folder, fields):
    """Each volume of the pod is the folder of its name, whatever gives it in a cluster."""
    env = {}
    expand = lambda text: re.sub(r"\$\(([A-Z_]+)\)", lambda name: env[name[1]], text)
    for entry in container.get("env", []):
        env[entry["name"]] = expand(entry["value"]) if "value" in entry else fields[entry["valueFrom"]["fieldRef"]["fieldPath"]]
    mounts = []
    for mount in container.get("volumeMounts", []):
        part = expand(mount.get("subPathExpr", mount.get("subPath", "")))
        mounts.append((os.path.join(folder, mount["name"], part).rstrip("/"), mount["mountPath"], mount.get("readOnly", False)))
    context = {**pod.get("securityContext", {}), **container.get("securityContext", {})}
    assert context["capabilities"] == {"drop": ["ALL"]} and not context["allowPrivilegeEscalation"]
    groups = [context["fsGroup"]] if "fsGroup" in context else []
    return {"env": env, "read_only": context["readOnlyRootFilesystem"], "mounts": mounts, "args": container.get("command"),
            "user": {"uid": context["runAsUser"], "gid": context["runAsGroup"], "additionalGids": groups}}


def wanted(options):
    if options.file == "-":
        return {"read_only": True, "tmpfs": ["/tmp"]}
    with open(options.file, encoding="utf-8") as file:
        documents = list(yaml.safe_load_all(file))
    if "/" not in options.what:
        return from_compose(documents[0]["services"][options.what], documents[0].get("volumes", {}), options.folder)
    kind, name, *init = options.what.split("/")
    pod = next(each for each in documents if (each["kind"], each["metadata"]["name"]) == (kind, name))["spec"]["template"]["spec"]
    container = pod["initContainers" if init else "containers"][0]
    return from_pod(pod, container, options.folder, dict(field.split("=", 1) for field in options.field))


def main():
    parser = argparse.ArgumentParser()
    for name in ("file", "what", "--spec", "--image", "--netns", "--rootfs", "--folder", "--out"):
        parser.add_argument(name)
    for name in ("--env", "--field", "--mount", "--arg"):
        parser.add_argument(name, action="append", default=[])
    options = parser.parse_args()
    with open(options.spec, encoding="utf-8") as file:
        spec = json.load(file)
    with open(options.image, encoding="utf-8") as file:
        image = json.load(file)
    container = wanted(options)
    uid, gid = (int(part) for part in image["User"].split(":"))
    env = {**dict(entry.split("=", 1) for entry in image.get("Env", [])), **container.get("env", {}),
           **dict(entry.split("=", 1) for entry in options.env)}
    spec["process"].update(terminal=False, args=(container.get("args") or image["Entrypoint"]) + options.arg, env=[f"{name}={value}" for name, value in env.items()],
                           user=container.get("user", {"uid": uid, "gid": gid}), capabilities={}, noNewPrivileges=True, cwd="/")
    spec["process"].pop("rlimits", None)
    spec["root"] = {"path": options.rootfs, "readonly": container["read_only"]}
    for space in spec["linux"]["namespaces"]:
        if space["type"] == "network":
            space["path"] = options.netns
    for target in container.get("tmpfs", []):
        owner = [f"uid={uid}", f"gid={gid}"] if target != "/tmp" else ["mode=1777"]
        spec["mounts"].append({"destination": target, "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev", *owner]})
    mounts = container.get("mounts", []) + [(*mount.split(":"), False) for mount in options.mount]
    # A file's folder first, as the kubelet sorts them.
    for source, target, is_read_only in sorted(mounts, key=lambda mount: mount[1]):
        spec["mounts"] = [mount for mount in spec["mounts"] if mount["destination"] != target]
        spec["mounts"].append({"destination": target, "type": "bind", "source": source, "options": ["rbind", "ro" if is_read_only else "rw"]})
    with open(options.out, "w", encoding="utf-8") as file:
        json.dump(spec, file)


if __name__ == "__main__":
    main()
