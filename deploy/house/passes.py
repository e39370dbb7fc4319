"""Remembers which compiler units pass a check, so that a second pass over the tree takes minutes.

A unit is known by its preprocessed text with comments, its command and what the check depends on besides. Only passes are
remembered: in $XDG_CACHE_HOME/railgauge/passes, files named by digest, which anyone may remove.
"""
import concurrent.futures
import hashlib
import os
import pathlib
import subprocess


def options_of(entry):
    """The compiler and its options in an entry of compile_commands.json, without input and output."""
    return entry["command"].split(" -o ")[0]


def content(entry, root):
    """The command and the text that the compiler reads, macros included, independent of the tree's path; None when it cannot."""
    command = f"{options_of(entry)} -E -CC -dD -c {entry['file']}"
    done = subprocess.run(command, shell=True, cwd=entry["directory"], capture_output=True, check=False)
    return (command.encode() + done.stdout).replace(root.encode(), b".") if done.returncode == 0 else None


def check(entries, same, run):
    """Checks two entries at once and prints the output of those that fail; returns the counts by result.

    `same`: bytes of what the check depends on besides the text. `run`: from an entry to a finished process.
    """
    root = os.getcwd()
    folder = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "railgauge/passes")
    folder.mkdir(parents=True, exist_ok=True)

    def one(entry):
        read = content(entry, root)
        kept = folder / hashlib.sha256(same + read).hexdigest() if read else None
        if kept and kept.exists():
            return "kept", ""
        done = run(entry)
        if done.returncode != 0:
            return "failed", done.stdout + done.stderr
        if kept and content(entry, root) == read:  # else somebody changed it meanwhile
            kept.touch()
        return "passed", ""

    counts = {"kept": 0, "passed": 0, "failed": 0}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for result, output in pool.map(one, entries):
            counts[result] += 1
            if output:
                print(output[:8000], flush=True)
    return counts
