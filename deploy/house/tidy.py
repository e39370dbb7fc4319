#!/usr/bin/env python3
"""Runs clang-tidy on all sources of folders, two compiler units at once, and remembers those that pass.

  tidy.py TREE FOLDER...   TREE has compile_commands.json, with a GCC command for each unit

A unit is a source, or up to eight of a room that the build compiles together. It is read again when its text,
.clang-tidy or the version of clang-tidy has changed (passes.py). Exit 0 when every source passes; 1 otherwise,
after the messages of clang-tidy.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

import passes


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
    same = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
    counts = passes.check(
        [units[file] for file in sorted(units)], same + pathlib.Path(".clang-tidy").read_bytes(),
        lambda entry: subprocess.run(["clang-tidy", "-p", tree, "--quiet", entry["file"]], capture_output=True, text=True, check=False))
    print(f"{len(listed)} sources in {len(units)} units:", ", ".join(f"{count} {result}" for result, count in counts.items()))
    return counts["failed"] > 0 or not listed


if __name__ == "__main__":
    sys.exit(main())
