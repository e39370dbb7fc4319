"""Reads the tracked files of a tree: sources with comments, strings and includes; Markdown; functions."""

import bisect
import dataclasses
import functools
import pathlib
import re
import shutil
import subprocess

import lists

INCLUDE = re.compile(r'^[ \t]*(?:#[ \t]*include|import(?:[ \t]+public)?)[ \t]+"([^"\n]+)"', re.M)
# Comments and literals in the order in which they are tried. A number comes before a character literal: 1'000.
TOKENS = (
    r"//[^\n]*",
    r"/\*.*?(?:\*/|\Z)",
    r'R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)"',
    r'"(?:\\.|[^"\\\n])*"',
    r"\b\d(?:'?[\w.])*",
    r"'(?:\\.|[^'\\\n])*'",
)
CPP_TOKEN = re.compile("|".join(TOKENS), re.S)
TS_TOKEN = re.compile("|".join(TOKENS) + r"|`(?:\\.|[^`\\])*`", re.S)


class Error(Exception):
    """The tree cannot be read. The text is for the user."""


class Text:
    """Lines joined into one string that still knows the line of each position."""

    def __init__(self, lines):
        """`lines`: pairs of line number and text."""
        self.starts, self.numbers, parts, at = [], [], [], 0
        for number, part in lines:
            self.starts.append(at)
            self.numbers.append(number)
            parts.append(part)
            at += len(part) + 1
        self.text = " ".join(parts)

    def line_of(self, position):
        return self.numbers[bisect.bisect_right(self.starts, position) - 1]


@dataclasses.dataclass
class Comment:
    line: int
    column: int
    whole_line: bool  # nothing but the comment is on its line
    text: str  # without the marks; a block comment keeps its line ends


@dataclasses.dataclass
class Source:
    path: str
    content: str
    product: bool
    comments: list = dataclasses.field(default_factory=list)
    strings: list = dataclasses.field(default_factory=list)  # pairs of line and text
    blank_lines: int = 0
    comment_lines: int = 0

    @functools.cached_property
    def lines(self):
        return self.content.count("\n") + (not self.content.endswith("\n") and self.content != "")

    @property
    def folder(self):
        return self.path.rpartition("/")[0] or "."

    @property
    def module(self):
        """The path without its ending: a header and its source share it."""
        return self.path.rpartition(".")[0]

    @functools.cached_property
    def includes(self):
        """Pairs of line and included path, as spelled."""
        found = []
        for match in INCLUDE.finditer(self.content):
            found.append((self.content.count("\n", 0, match.start(1)) + 1, match.group(1)))
        return found


@dataclasses.dataclass
class Function:
    path: str
    line: int
    name: str
    lines: int


def is_product(path):
    parts = path.split("/")
    stem = parts[-1].split(".")[0]
    return (parts[0] in lists.PRODUCT_FOLDERS and path.endswith(lists.SOURCE_ENDINGS)
            and not stem.endswith(lists.NOT_PRODUCT_STEMS)
            and not any(part in lists.NOT_PRODUCT_FOLDERS for part in parts[:-1]))


def scan(source):
    """Fills in the comments, strings and counts of lines of a source."""
    content = source.content
    line_starts = [0] + [match.end() for match in re.finditer("\n", content)]
    source.blank_lines = sum(1 for line in content.splitlines() if not line.strip())
    pattern = TS_TOKEN if source.path.endswith(".ts") else CPP_TOKEN
    for match in pattern.finditer(content):
        token = match.group()
        if token[0].isdigit() or token[0] == "'":
            continue
        line = bisect.bisect_right(line_starts, match.start())
        if not token.startswith(("//", "/*")):
            source.strings.append((line, match.start(), match.end(), token))
            continue
        start = line_starts[line - 1]
        before = content[start:match.start()].strip()
        end = content.find("\n", match.end())
        after = content[match.end():end if end >= 0 else len(content)].strip()
        marks = r"^/[/*][/!*<]*|\*/$"
        comment = Comment(line, match.start() - start, not before and not after,
                          re.sub(marks, "", token))
        source.comments.append(comment)
        rows = token.split("\n")
        whole = [row.strip() != "" for row in rows]
        whole[0] = whole[0] and not before
        whole[-1] = whole[-1] and not after
        source.comment_lines += sum(whole)


def scan_script(source):
    """Fills in the comments of a script, build, YAML or unit file: whole lines, and a docstring's first line."""
    for number, row in enumerate(source.content.splitlines(), 1):
        match = re.match(r"""(\s*)#(\s.*|)$""", row) or re.match(r"""(\s*)\"{3}([^"]+)""", row)
        if match and not match.group(2).startswith(" shellcheck "):
            source.comments.append(Comment(number, len(match.group(1)), True, match.group(2)))


def is_script(path):
    return path.endswith(lists.SCRIPT_ENDINGS) or path in lists.SCRIPTS


def paragraphs(source):
    """The comments of a source as texts: lines that belong together are joined, an empty line separates."""
    found, rows, previous = [], [], None

    def flush():
        if rows:
            found.append(Text(list(rows)))
            rows.clear()

    for comment in source.comments:
        joined = (previous is not None and comment.whole_line and comment.column == previous.column
                  and comment.line == previous.line + 1)
        if not joined:
            flush()
        for offset, row in enumerate(comment.text.split("\n")):
            row = re.sub(r"^\s*\*(?=\s|$)", "", row).strip()
            if not row or row.startswith(("- ", "* ")):
                flush()
            if row:
                rows.append((comment.line + offset, re.sub(r"^[-*] +", "", row)))
        previous = comment
    flush()
    return found


class Tree:
    def __init__(self, root, published=False):
        self.root = pathlib.Path(root)
        self.paths = self._tracked()
        leave_out = re.compile("|".join(lists.PUBLISHED_LEAVES_OUT)) if published else None
        self.sources, self.markdown, self.scripts = [], {}, []
        for path in self.paths:
            if path.endswith(".md"):
                self.markdown[path] = self.read(path)
            elif path.endswith(lists.SOURCE_ENDINGS) and path.split("/")[0] in lists.PRODUCT_FOLDERS:
                product = is_product(path) and not (leave_out and leave_out.search(path))
                source = Source(path, self.read(path), product)
                scan(source)
                self.sources.append(source)
            elif is_script(path):
                script = Source(path, self.read(path), False)
                scan_script(script)
                self.scripts.append(script)
        self.product = [source for source in self.sources if source.product]

    def _tracked(self):
        listed = subprocess.run(["git", "-C", str(self.root), "ls-files", "-z"],
                                capture_output=True, text=True, check=False)
        if listed.returncode != 0:
            raise Error(f"{self.root}: git cannot list its files: {listed.stderr.strip()}")
        paths = sorted(path for path in listed.stdout.split("\0") if path)
        return [path for path in paths if (self.root / path).is_file()]

    def read(self, path):
        return (self.root / path).read_text(encoding="utf-8", errors="replace")

    @functools.cached_property
    def tags(self):
        """All rows of ctags: path, line, name, kind (one letter), last line or 0."""
        if shutil.which("ctags") is None:
            raise Error("there is no ctags; install universal-ctags, or run deploy/deps.sh")
        wanted = [source.path for source in self.sources if not source.path.endswith((".proto", ".ts"))]
        run = subprocess.run(
            ["ctags", "--options=NONE", "--language-force=C++", "--kinds-C++=fpcsgut", "--fields=ke",
             "--sort=no", "-n", "-f", "-", "-L", "-"],
            input="\n".join(wanted), capture_output=True, text=True, cwd=self.root, check=False)
        if run.returncode != 0:
            raise Error(f"ctags fails: {run.stderr.strip()}; universal-ctags is needed")
        rows = []
        for row in run.stdout.splitlines():
            name, path, line, kind, *fields = row.split("\t")
            ends = [int(field[4:]) for field in fields if field.startswith("end:")]
            rows.append((path, int(line.rstrip(';"')), name, kind, ends[0] if ends else 0))
        return rows

    @functools.cached_property
    def functions(self):
        """The functions of product files that have a body, shortest first.

        A lambda inside a function is part of that function.
        """
        product = {source.path for source in self.product}
        found, outer = [], ("", 0)
        for path, line, name, kind, end in sorted(self.tags):
            if kind != "f" or not end or path not in product:
                continue
            if name.startswith("__anon") and path == outer[0] and line <= outer[1]:
                continue
            found.append(Function(path, line, name, end - line + 1))
            outer = (path, end)
        return sorted(found, key=lambda function: (function.lines, function.path))

    @functools.cached_property
    def folders(self):
        """Folder -> number of product files, largest first."""
        counts = {}
        for source in self.product:
            counts[source.folder] = counts.get(source.folder, 0) + 1
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    @functools.cached_property
    def modules(self):
        """Path without ending -> the endings that product files have."""
        found = {}
        for source in self.product:
            found.setdefault(source.module, set()).add(source.path[len(source.module):])
        return found

    @functools.cached_property
    def lone_headers(self):
        """Header with exactly one product includer -> that includer. Its own source does not count."""
        includers = {}
        for source in self.product:
            for _, included in source.includes:
                if included.rpartition(".")[0] != source.module:
                    includers.setdefault(included, set()).add(source.path)
        return {source.path: next(iter(includers[source.path])) for source in self.product
                if source.path.endswith((".h", ".cuh")) and len(includers.get(source.path, ())) == 1}

    @functools.cached_property
    def untested_lone_headers(self):
        """Those of lone_headers that no test source includes."""
        tested = {included for source in self.sources if "_test." in source.path
                  for _, included in source.includes}
        return {header: includer for header, includer in self.lone_headers.items() if header not in tested}

    @functools.cached_property
    def mutual_pairs(self):
        """Pair of folders that include each other -> two lists of (path, line, included), one a direction."""
        arrows = {}
        for source in self.product:
            for line, included in source.includes:
                folder = included.rpartition("/")[0]
                if folder in self.folders and folder != source.folder:
                    arrows.setdefault((source.folder, folder), []).append((source.path, line, included))
        return {(one, other): (there, arrows[other, one]) for (one, other), there in arrows.items()
                if one < other and (other, one) in arrows}
