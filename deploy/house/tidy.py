#!/usr/bin/env python3
"""Runs clang-tidy on sources, two at once, and remembers those that pass.

  tidy.py TREE SOURCE...   TREE has compile_commands.json, with a GCC command for each source

A source is read again when its preprocessed text with comments, .clang-tidy or the version of clang-tidy
has changed. Only passes are remembered: in $XDG_CACHE_HOME/railgauge/tidy, files named by digest, which
anyone may remove. Exit 0 when every source passes; 1 otherwise, after the messages of clang-tidy.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import sys


def preprocessed(entry, root):
    """The text that the compiler reads for an entry, comments included, independent of the tree's path."""
    command = entry["command"].split(" -o ")[0] + " -E -CC -c " + entry["file"]
    done = subprocess.run(command, shell=True, cwd=entry["directory"], capture_output=True, check=False)
    return done.stdout.replace(root.encode(), b".") if done.returncode == 0 else None


def main():
    root = os.getcwd()
    tree, sources = sys.argv[1], {os.path.join(root, source) for source in sys.argv[2:]}
    folder = pathlib.Path(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "railgauge/tidy")
    folder.mkdir(parents=True, exist_ok=True)
    same = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
    same += pathlib.Path(".clang-tidy").read_bytes()
    entries = {entry["file"]: entry for entry in json.loads(pathlib.Path(tree, "compile_commands.json").read_text())}

    def read(source):
        # Without a command, as for fuzz targets, clang-tidy takes that of a similar source.
        text = preprocessed(entries[source], root) if source in entries else None
        kept = folder / hashlib.sha256(same + text).hexdigest() if text else None
        if kept and kept.exists():
            return source, "kept", ""
        done = subprocess.run(["clang-tidy", "-p", tree, "--quiet", source], capture_output=True, text=True, check=False)
        if kept and done.returncode == 0:
            kept.touch()
        return source, "passed" if done.returncode == 0 else "failed", done.stdout + done.stderr

    counts = {"kept": 0, "passed": 0, "failed": 0}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for source, result, output in pool.map(read, sorted(sources)):
            counts[result] += 1
            if result == "failed":
                print(source, output, sep="\n", flush=True)
    print(len(sources), "sources:", ", ".join(f"{count} {result}" for result, count in counts.items()))
    return counts["failed"] > 0 or not sources


if __name__ == "__main__":
    sys.exit(main())
