#!/usr/bin/env python3
"""Has GCC read each source of a tree by itself, without making code, two at once, and remembers those that pass.

  headers.py TREE   TREE has compile_commands.json without precompiled headers and unity

Fails on a source that uses a header it does not include, or that GCC warns of (passes.py).
"""
import json
import pathlib
import subprocess
import sys

import passes

LEAST_SOURCES = 500  # fewer: the tree is not the whole one


def main():
    entries = json.loads(pathlib.Path(sys.argv[1], "compile_commands.json").read_text(encoding="utf-8"))
    entries = [entry for entry in entries if "/CMakeFiles/cmake_pch" not in entry["file"]]
    same = subprocess.run(["g++", "--version"], capture_output=True, check=True).stdout

    def read(entry):
        command = f"{passes.options_of(entry)} -fsyntax-only -c {entry['file']}"
        return subprocess.run(command, shell=True, cwd=entry["directory"], capture_output=True, text=True, check=False)

    counts = passes.check(entries, same + b"headers", read)
    print(f"{len(entries)} sources:", ", ".join(f"{count} {result}" for result, count in counts.items()))
    return counts["failed"] > 0 or len(entries) < LEAST_SOURCES


if __name__ == "__main__":
    sys.exit(main())
