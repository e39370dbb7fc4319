#!/usr/bin/env python3
"""Runs clang-tidy on all sources of folders, two compiler units at once, and remembers those that pass.

  tidy.py TREE FOLDER...   TREE has compile_commands.json, with a GCC command for each unit

A unit is a source, or up to eight of a room that the build compiles together. It is read again when its
preprocessed text with comments, .clang-tidy or the version of clang-tidy has changed. Only passes are
remembered: in $XDG_CACHE_HOME/railgauge/tidy, files named by digest, which anyone may remove. Exit 0 when
every source passes; 1 otherwise, after the messages of clang-tidy.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys


def preprocessed(entry, root):
    """The text that the compiler reads for an entry, comments included, independent of the tree's path."""
    command = entry["command"].split(" -o ")[0] + " -E -CC -c " + entry["file"]
    done = subprocess.run(command, shell=True, cwd=entry["directory"], capture_output=True, check=False)
    return done.stdout.replace(root.encode(), b".") if done.returncode == 0 else None


def sources_of(file):
    """The sources that a unit compiles together; a source by itself is its own."""
    if "/Unity/" not in file:
        return {file}
    return set(re.findall(r'#include "([^"]+\.cc)"', pathlib.Path(file).read_text(encoding="utf-8")))


def units_of(tree, sources):
    """From each file that clang-tidy reads to its entry. Fuzz targets, which this tree does not build, get that of a test."""
    commands = pathlib.Path(tree, "compile_commands.json")
    entries = json.loads(commands.read_text(encoding="utf-8"))
    units, left = {}, set(sources)
    for entry in entries:
        own = sources_of(entry["file"]) & left
        if own:
            units[entry["file"]] = entry
            left -= own
    like = next(entry for entry in entries if entry["file"].endswith("_test.cc"))
    for file in sorted(left):
        units[file] = dict(like, file=file, command=like["command"].replace(like["file"], file), output=file + ".o")
    if left:
        commands.write_text(json.dumps(entries + [units[file] for file in sorted(left)], indent=1), encoding="utf-8")
    return units


def main():
    root = os.getcwd()
    tree, folders = sys.argv[1], sys.argv[2:]
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *(f"{folder}/*.cc" for folder in folders)],
                            capture_output=True, text=True, check=True).stdout.split()
    units = units_of(tree, [os.path.join(root, source) for source in listed])
    folder = pathlib.Path(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "railgauge/tidy")
    folder.mkdir(parents=True, exist_ok=True)
    same = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
    same += pathlib.Path(".clang-tidy").read_bytes()

    def read(file):
        text = preprocessed(units[file], root)
        kept = folder / hashlib.sha256(same + text).hexdigest() if text else None
        if kept and kept.exists():
            return "kept", ""
        done = subprocess.run(["clang-tidy", "-p", tree, "--quiet", file], capture_output=True, text=True, check=False)
        if kept and done.returncode == 0:
            kept.touch()
        return ("passed", "") if done.returncode == 0 else ("failed", done.stdout + done.stderr)

    counts = {"kept": 0, "passed": 0, "failed": 0}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for result, output in pool.map(read, sorted(units)):
            counts[result] += 1
            if output:
                print(output, flush=True)
    print(f"{len(listed)} sources in {len(units)} units:", ", ".join(f"{count} {result}" for result, count in counts.items()))
    return counts["failed"] > 0 or not listed


if __name__ == "__main__":
    sys.exit(main())
