#!/usr/bin/env python3
"""The table of other tools' tests and options with ours: checks it, and renders its page.

  table.py [--runner FILE] [PEER=FOLDER...]   check; FOLDER is the tool's source, whose own list is compared
  table.py --release PEER=FOLDER...           the same before a release: no source may be left out
  table.py --take PEER=FOLDER...              add the items that a source has and the table lacks, as empty rows
  table.py --page                             print the page
Peers: perftest, nccl-tests, nvbandwidth, osu, gdrcopy. PEER.tsv beside this script has a row for each item: kind, name,
state, ours, note. Ours are words: a kernel, KERNEL:PARAMETER, KERNEL:PARAMETER=VALUE, a name that the runner takes in
place of a kernel, cli:OPTION of the runner, suite:KEY of a stage.
With --runner each of ours is looked up in that program, and each option that the runner takes or refuses under the
tool's name must have a state that says so. Exit 0 right, 1 wrong: one line for each fault on stderr.
"""
import argparse
import functools
import json
import pathlib
import re
import subprocess
import sys

import extract

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
COLUMNS = ["kind", "name", "state", "ours", "note"]
STATES = {
    "same": "the tool's own spelling works here, by what \"ours\" names",
    "near": "what \"ours\" names measures or shows it, by another spelling",
    "always": "it is always so here; the spelling is accepted or needless",
    "waived": "needs hardware or a library, which the note names",
    "no": "not measured here; the note says why",
    "": "no answer yet",
}
MOST_EMPTY = 0.05
# The first line of a table: tool and release, repository and commit unless it is released as an archive, the day; and
# where the names are from, when not from that source alone.
HEAD = re.compile(r"(?P<tool>[^,]+) (?P<release>[0-9][\w.]*)(?:, (?P<repository>\S+) (?P<commit>[0-9a-f]{7,40}))? "
                  r"of (?P<day>\d{4}-\d\d-\d\d)(?:; (?P<names>.+))?")
# The programs whose --help lists the options that the runner takes, for each tool.
PROGRAMS = {
    "perftest": ["ib_write_bw", "ib_write_lat", "ib_read_bw", "ib_read_lat", "ib_send_bw", "ib_send_lat",
                 "ib_atomic_bw", "ib_atomic_lat"],
    "nccl-tests": ["all_reduce_perf"],
    "nvbandwidth": ["nvbandwidth"],
    "gdrcopy": ["gdrcopy_apiperf", "gdrcopy_copybw", "gdrcopy_copylat", "gdrcopy_pplat", "gdrcopy_sanity"],
    "osu": ["osu_latency", "osu_bw", "osu_iallreduce", "osu_put_latency"],
}


def rows_of(peer):
    """The head line and the rows of a tool's table."""
    lines = (HERE / f"{peer}.tsv").read_text(encoding="utf-8").splitlines()
    if lines[1].split("\t") != COLUMNS:
        raise ValueError(f"{peer}.tsv: its second line is not {' '.join(COLUMNS)}")
    rows = []
    for number, line in enumerate(lines[2:], 3):
        cells = line.split("\t")
        if len(cells) != len(COLUMNS):
            raise ValueError(f"{peer}.tsv:{number}: {len(cells)} cells, not {len(COLUMNS)}")
        rows.append(dict(zip(COLUMNS, cells)))
    head = lines[0].removeprefix("# ")
    if not HEAD.fullmatch(head):
        raise ValueError(f"{peer}.tsv: its first line is not \"# TOOL RELEASE, REPOSITORY COMMIT of DAY\"")
    return head, rows


def write_rows(peer, head, rows):
    text = [f"# {head}", "\t".join(COLUMNS)] + ["\t".join(row[column] for column in COLUMNS) for row in rows]
    (HERE / f"{peer}.tsv").write_text("\n".join(text) + "\n", encoding="utf-8")


class Runner:
    """The program's own knowledge: kernels with their parameters, and the names of other tools."""

    def __init__(self, program):
        self.program = program
        kernels = json.loads(self.out("--list", "--format", "json"))["kernels"]
        self.kernels = {one["name"]: {each["name"]: each.get("choices", []) for each in one["parameters"]}
                        for one in kernels}
        self.suite_keys = set(re.findall(r"^\| `(\w+)` ", (ROOT / "deploy/docs/reference/suite-keys.md").read_text(
            encoding="utf-8"), re.M))

    def out(self, *words):
        return subprocess.run([self.program, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              stdin=subprocess.DEVNULL, check=False, timeout=60).stdout

    @functools.cache
    def help_of(self, *words):
        """The options in the help, each by its word and its letter; empty where the program takes no such name."""
        found = set()
        for line in self.out(*words, "--help").splitlines():
            spelled = re.match(r"^ {2,6}((?:-{1,2}[\w-]+(?:, ?)?)+)", line)
            if spelled:
                found.update(re.split(r", ?", spelled.group(1)))
        return found

    def fault(self, word):
        """None, or why `word` is none of ours."""
        if word.startswith("cli:"):
            return None if word[4:] in self.help_of() else "is no option of the runner"
        if word.startswith("suite:"):
            return None if word[6:] in self.suite_keys else "is no key of a suite"
        kernel, _, parameter = word.partition(":")
        parameter, _, value = parameter.partition("=")
        if kernel not in self.kernels:
            if "." in kernel or parameter:
                return "is no kernel"
            # The general help names no tool in its first line.
            named = self.out(kernel, "--help").startswith(f"Measures what {kernel} ")
            return None if named else "is no name that the runner takes"
        if parameter and parameter not in self.kernels[kernel]:
            return "is no parameter of that kernel"
        choices = self.kernels[kernel].get(parameter, [])
        return f"is none of {', '.join(choices)}" if value and choices and value not in choices else None


def faults_of_rows(peer, rows):
    seen = set()
    for row in rows:
        name, item = f"{peer}: {row['kind']} {row['name']}", (row["kind"], row["name"])
        if item in seen:
            yield f"{name}: twice"
        seen.add(item)
        if row["state"] not in STATES:
            yield f"{name}: state {row['state']} is none of {', '.join(filter(None, STATES))}"
        elif row["state"] in ("same", "near") and not row["ours"]:
            yield f"{name}: {row['state']}, and names nothing of ours"
        elif row["state"] in ("no", "waived", "always") and not row["note"]:
            yield f"{name}: {row['state']}, and says no reason"


def faults_beside_source(peer, rows, items):
    ours, theirs = {(row["kind"], row["name"]) for row in rows}, set(items)
    yield from (f"{peer}: {kind} {name}: in its source, and not in the table" for kind, name in items
                if (kind, name) not in ours)
    yield from (f"{peer}: {kind} {name}: in the table, and not in its source" for kind, name in sorted(ours - theirs))


def faults_of_commit(peer, head, folder):
    """Before a release the source is the commit that the table names, where the folder knows its own."""
    named = HEAD.fullmatch(head)["commit"]
    if not named or not (pathlib.Path(folder) / ".git").exists():
        return
    done = subprocess.run(["git", "-C", folder, "rev-parse", "HEAD"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, check=False, timeout=60)
    if done.returncode == 0 and not done.stdout.startswith(named):
        yield f"{peer}: the table is of commit {named}, and {folder} is at {done.stdout[:12]}"


def faults_beside_runner(peer, rows, runner):
    """Each of ours exists; and the options of the tool's programs here are those that the table says."""
    for row in rows:
        for word in row["ours"].split():
            fault = runner.fault(word)
            if fault:
                yield f"{peer}: {row['kind']} {row['name']}: {word} {fault}"
    for row in rows:
        if row["kind"] != "option" or not PROGRAMS[peer]:
            continue
        words = row["name"].split()
        programs = [f"{peer}_{words[0]}"] if len(words) == 2 else PROGRAMS[peer]
        is_taken = any(words[-1] in runner.help_of(program) for program in programs)
        if is_taken and row["state"] in ("no", "waived", ""):
            yield f"{peer}: option {row['name']}: the runner takes it, and the table says {row['state'] or 'nothing'}"
        # nccl-tests' help leaves out what it accepts and ignores.
        if not is_taken and (row["state"] == "same" or row["state"] == "always" and peer != "nccl-tests"):
            yield f"{peer}: option {row['name']}: the table says {row['state']}, and no program's --help has it"


def count(rows, state):
    return sum(1 for row in rows if row["state"] == state)


def share_of_empty(tables):
    rows = [row for _, own in tables.values() for row in own]
    return count(rows, ""), len(rows)


def cell(text):
    return text.replace("|", "\\|")


def page(tables):
    empty, total = share_of_empty(tables)
    lines = [
        "# Other tools' tests and options", "",
        "Rendered from `deploy/peers/*.tsv` by `deploy/peers/table.py --page`; a test compares the two,",
        "and each name of ours with the program. `table.py PEER=FOLDER` compares the rows with the",
        "tool's own source, and `table.py --release` before a release with all five.", "",
        f"{total} rows, {empty} of them without an answer ({100 * empty / total:.1f} %).", "",
        "| state | meaning |", "|---|---|"]
    lines += [f"| {state or 'empty'} | {meaning} |" for state, meaning in STATES.items()]
    lines += ["", "| tool | release | commit | of | names are from |", "|---|---|---|---|---|"]
    for peer, (head, _) in tables.items():
        found = HEAD.fullmatch(head)
        commit = f"{found['repository']} {found['commit']}" if found["commit"] else "none: released as an archive"
        lines.append(f"| {peer} | {found['release']} | {commit} | {found['day']} | "
                     f"{found['names'] or 'its source'} |")
    lines += ["", "| tool | rows | " + " | ".join(state or "empty" for state in STATES) + " |",
              "|---|---|" + "---|" * len(STATES)]
    for peer, (_, rows) in tables.items():
        lines.append(f"| [{peer}](#{peer}) | {len(rows)} | " +
                     " | ".join(str(count(rows, state)) for state in STATES) + " |")
    for peer, (head, rows) in tables.items():
        lines += ["", f"## {peer}", "", f"{head.partition(';')[0]}.", "", "| what | state | ours | note |", "|---|---|---|---|"]
        for row in rows:
            ours = " ".join(f"`{word}`" for word in row["ours"].split())
            lines.append(f"| `{cell(row['name'])}` | {row['state']} | {ours} | {cell(row['note'])} |")
    return "\n".join(lines) + "\n"


def take(tables, sources):
    """New items of the sources become empty rows in the tool's order; rows that it no longer has are kept."""
    for peer, folder in sources.items():
        head, rows = tables[peer]
        items = extract.read(peer, folder)
        have = {(row["kind"], row["name"]): row for row in rows}
        new = [have.pop(item, dict(zip(COLUMNS, (*item, "", "", "")))) for item in items]
        write_rows(peer, head, new + list(have.values()))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--runner")
    parser.add_argument("--release", action="store_true")
    parser.add_argument("--take", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("sources", nargs="*")
    given = parser.parse_args()
    sources = dict(word.partition("=")[::2] for word in given.sources)
    if given.release and set(sources) != set(extract.READERS):
        sys.exit(f"table.py: --release compares all sources; missing: {', '.join(set(extract.READERS) - set(sources))}")
    unknown = [peer for peer in sources if peer not in extract.READERS]
    if unknown:
        sys.exit(f"table.py: {unknown[0]} is no tool of the table; {', '.join(extract.READERS)} are")
    try:
        tables = {peer: rows_of(peer) for peer in extract.READERS}
        if given.take:
            return take(tables, sources)
        if given.page:
            return print(page(tables), end="")
        faults = [fault for peer, (_, rows) in tables.items() for fault in faults_of_rows(peer, rows)]
        for peer, folder in sources.items():
            faults += faults_beside_source(peer, tables[peer][1], extract.read(peer, folder))
            faults += faults_of_commit(peer, tables[peer][0], folder) if given.release else []
    except ValueError as error:
        sys.exit(f"table.py: {error}")
    if given.runner:
        runner = Runner(given.runner)
        for peer, (_, rows) in tables.items():
            faults += faults_beside_runner(peer, rows, runner)
    empty, total = share_of_empty(tables)
    if empty > MOST_EMPTY * total:
        faults.append(f"{empty} of {total} rows are empty, more than {MOST_EMPTY:.0%}")
    for fault in faults:
        print(f"table.py: {fault}", file=sys.stderr)
    print(f"{total} rows of {len(tables)} tools, {empty} empty ({100 * empty / total:.1f} %), {len(faults)} faults; "
          f"sources compared: {' '.join(sources) or 'none'}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
