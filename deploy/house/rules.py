"""The rules. Each is a generator of offences: path, line, text."""

import posixpath
import re

import lists
import markdown
import tree as trees

SQL = re.compile(
    r"\bSELECT\s.*\bFROM\s|\bINSERT\s+(?:OR\s+\w+\s+)?INTO\s|\bREPLACE\s+INTO\s|\bUPDATE\s+[\w%{}]+\s+SET\s"
    r"|\bDELETE\s+FROM\s"
    r"|\b(?:CREATE|DROP|ALTER)\s+(?:TEMP\w*\s+|UNIQUE\s+|VIRTUAL\s+)*(?:TABLE|INDEX|VIEW|TRIGGER)\s"
    r"|\bPRAGMA\s+\w|\bBEGIN\s+(?:IMMEDIATE|EXCLUSIVE|TRANSACTION)\b|\bATTACH\s+DATABASE\s|\bVACUUM\s+INTO\s",
    re.S)
# In a file that people read: the verb of SQL, or a statement.
ASKS_IN_SQL = re.compile(r"\brailgauge sql\b|\bSELECT\s+\S.*\bFROM\b")
# A call of the C library, not a member or another name that ends so.
SPAWN = re.compile(r"(?:^|[^\w.>:]|(?:^|[^\w>])::|\bstd::)(v?fork|posix_spawnp?|popen|system)\s*\(")
# Calls of the log, the words that its fields are read from, and names that a message is about.
LOG_CALL = re.compile(r"\bspdlog::(?:debug|info|warn|error|critical)\(")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
LITERALS = re.compile(r'\s*(?:"(?:[^"\\]|\\.)*"\s*)+')
LOG_SUBJECT = re.compile(r"(?:run|task|node) \{\}")
LOG_WORDS = re.compile(r",\s*(?:\w+::)*(?:name_of|subject_of_delivery)\(")
LOG_NAMES = re.compile(r"\b(?:run|task|node) \{\}")
LOG_ARGUMENT = re.compile(r"\b(?:run_id|task_id|node_id|delivery_id|node_name|node)\b(?!\s*[<:])")
OPENING = re.compile(r"(?:^|[.?!][\"')]*\s+|\(|^[*_\"']+)(" + "|".join(lists.BANNED_OPENINGS) + r")(?=\s)")
SENTENCE_END = re.compile(r"[.?!](?=[\"')*_]*(?:\s|$))")
WORDS = {re.compile(rf"\b(?:{pattern})\b", re.I): advice for pattern, advice in lists.BANNED_WORDS.items()}
REMOTE = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]*:|^//")
DECISION = re.compile(r"^deploy/docs/decisions/\d{3}-[^/]*\.md$")


def folders(tree):
    for folder, count in tree.folders.items():
        if count > lists.FOLDER_FILES:
            yield folder, 1, f"{count} product files, at most {lists.FOLDER_FILES}"


def includers(tree):
    lone = tree.untested_lone_headers
    if len(lone) <= lists.LONE_HEADERS:
        return
    for header, includer in lone.items():
        yield header, 1, (f"only {includer} includes it, and it has no test of its own;"
                          f" {len(lone)} such headers, at most {lists.LONE_HEADERS}")


def file_lines(tree):
    for source in tree.sources:
        if source.lines > lists.FILE_LINES:
            yield source.path, source.lines, f"{source.lines} lines, at most {lists.FILE_LINES}"


def function_lines(tree):
    for function in tree.functions:
        if function.lines > lists.FUNCTION_LINES:
            yield (function.path, function.line,
                   f"{function.name} has {function.lines} lines, at most {lists.FUNCTION_LINES}")


def comments(tree):
    total = sum(source.lines for source in tree.product)
    have = sum(source.comment_lines for source in tree.product)
    if total and have < lists.COMMENT_SHARE * total:
        wanted = int(lists.COMMENT_SHARE * total) + 1
        yield ".", 1, (f"{have:,} of {total:,} product lines are whole-line comments,"
                       f" {100 * have / total:.1f} %; at least {100 * lists.COMMENT_SHARE:.0f} %,"
                       f" which is {wanted:,}")


def readme(tree):
    content = tree.markdown.get("README.md", "")
    lines, size = len(content.splitlines()), len(content.encode())
    if lines > lists.README_LINES:
        yield "README.md", lines, f"{lines} lines, at most {lists.README_LINES}"
    if size > lists.README_BYTES:
        yield "README.md", lines, f"{size:,} bytes, at most {lists.README_BYTES:,}"


def architecture(tree):
    lines = len(tree.markdown.get("ARCHITECTURE.md", "").splitlines())
    if lines > lists.ARCHITECTURE_LINES:
        yield "ARCHITECTURE.md", lines, f"{lines} lines, at most {lists.ARCHITECTURE_LINES}"


def pairs(tree):
    for (one, other), (there, back) in sorted(tree.mutual_pairs.items()):
        few = min(there, back, key=len)
        path, line, included = few[0]
        yield path, line, (f"{one} includes {other} {len(there)} times and is included by it"
                           f" {len(back)} times; this one is {included}")


def sql(tree):
    owned = re.compile("|".join(lists.SQL_OWNERS))
    for path in tree.paths:
        if path.endswith(".sql") and trees.is_product(path[:-4] + ".cc") and not owned.search(path):
            yield path, 1, "a file of SQL outside the store"
    for source in tree.product:
        if owned.search(source.path):
            continue
        for line, statement in statements(source):
            yield source.path, line, f"SQL outside the store: {' '.join(statement.split())[:60]}"


def sends_to_sql(tree):
    """Alerts, boards and pages name a verb: nobody who is woken at night writes SQL."""
    for path in tree.paths:
        if not lists.PAGES_FOR_PEOPLE.match(path) or path in lists.PAGES_ABOUT_SQL:
            continue
        for line, text in enumerate(tree.read(path).splitlines(), 1):
            if found := ASKS_IN_SQL.search(text):
                yield path, line, f"sends a person to SQL ({found.group()}); name the verb, as railgauge events"


def statements(source):
    """Line and text of each SQL statement. Adjacent literals are one, as for the compiler."""
    joined, end = [], None
    for line, start, stop, token in source.strings:
        if end is not None and not source.content[end:start].strip():
            joined[-1][1] += token.strip('R"')
        else:
            joined.append([line, token.strip('R"')])
        end = stop
    return [(line, text) for line, text in joined if SQL.search(text)]


def spawns(tree):
    for source in tree.product:
        if source.path in lists.SPAWN_OWNERS:
            continue
        for number, line in enumerate(source.content.splitlines(), 1):
            if match := SPAWN.search(line.partition("//")[0]):
                yield source.path, number, f"{match.group(1)}() starts a process; call {min(lists.SPAWN_OWNERS)}"


def log_subjects(tree):
    """A message about a run, task or node begins with it: the log's fields are read from its beginning."""
    for source in tree.product:
        if not source.path.startswith(("agent/", "controller/")):
            continue
        for match in LOG_CALL.finditer(source.content):
            text, arguments = call_parts(source.content, match.end())
            if text is None or LOG_SUBJECT.match(text) or (text.startswith("{}") and LOG_WORDS.match(arguments)):
                continue
            about = LOG_NAMES.search(text) or LOG_ARGUMENT.search(STRING.sub('""', arguments))
            if about:
                line = source.content.count("\n", 0, match.start()) + 1
                yield source.path, line, (f'a message about {about.group().strip()} begins with "run {{}}", '
                                          f'"task {{}}" or "node {{}}": {text[:50]}')


def call_parts(content, start):
    """The first literals and the other arguments of the call whose parenthesis ends before `start`."""
    depth, end = 1, start
    while depth and end < len(content):
        if content[end] == '"':
            end = STRING.match(content, end).end()
            continue
        depth += {"(": 1, ")": -1}.get(content[end], 0)
        end += 1
    inside = content[start:end - 1]
    literals = LITERALS.match(inside)
    if not literals:
        return None, ""
    return "".join(part[1:-1] for part in STRING.findall(literals.group())), inside[literals.end():]


def stems(tree):
    for room in ("agent", "controller"):
        owners = {}
        for module, endings in tree.modules.items():
            folder, _, stem = module.rpartition("/")
            if f"{folder}/".startswith(f"{room}/") and endings != {".proto"}:
                owners.setdefault(stem, []).append((module, sorted(endings)[-1]))
        for stem, found in sorted(owners.items()):
            if stem in lists.SHARED_STEMS:
                continue
            for module, ending in found[1:]:
                yield module + ending, 1, f"{found[0][0]}{found[0][1]} has the same name"


def unbuilt(tree):
    """A test that no CMakeLists.txt names, and no folder of which takes all tests, never runs."""
    built, whole = set(), set()
    for path in tree.paths:
        if not path.endswith("CMakeLists.txt"):
            continue
        folder, text = posixpath.dirname(path), re.sub(r"#.*", "", tree.read(path))
        for word in re.findall(r"[^\s()]+_test\.cc", text):
            built.add(posixpath.normpath(posixpath.join(folder, word)))
        for called in re.findall(r"railgauge_tests_in\(([^)]*)\)", text):
            whole.update(posixpath.normpath(posixpath.join(folder, word)) for word in called.split()[1:])
    for path in tree.paths:
        if path.endswith("_test.cc") and path not in built and posixpath.dirname(path) not in whole:
            yield path, 1, "no CMakeLists.txt names it, so it never runs"


def decisions(tree):
    for path, content in tree.markdown.items():
        lines = len(content.splitlines())
        if DECISION.match(path) and lines > lists.DECISION_LINES:
            yield path, lines, f"{lines} lines, at most {lists.DECISION_LINES}"


def columns(text):
    """The width of a line of Markdown; targets of links and addresses do not count."""
    text = re.sub(r"\]\([^)\s]*\)", "]()", text)
    return len(re.sub(r"<?https?://\S+", "", text))


def markdown_form(tree):
    for path, content in tree.markdown.items():
        rows = content.splitlines()
        for block in markdown.blocks(content):
            if block.kind in ("cell", "reference"):
                continue
            for line, _ in block.lines:
                width = columns(rows[line - 1])
                if width > lists.MARKDOWN_COLUMNS:
                    yield path, line, f"{width} columns, at most {lists.MARKDOWN_COLUMNS}"
            count = len(block.lines)
            if block.kind in ("paragraph", "item") and count > lists.PARAGRAPH_LINES:
                thing = "list item" if block.kind == "item" else "paragraph"
                yield path, block.lines[0][0], f"a {thing} of {count} lines, at most {lists.PARAGRAPH_LINES}"


def links(tree):
    present = set(tree.paths)
    for path in list(present):
        while "/" in path:
            path = path.rpartition("/")[0]
            present.add(path)
    for path, content in tree.markdown.items():
        for line, target in link_targets(content):
            if not target or REMOTE.match(target):
                continue
            name, _, anchor = target.partition("#")
            folder = "" if name.startswith("/") else posixpath.dirname(path)
            file = posixpath.normpath(posixpath.join(folder, name.lstrip("/"))) if name else path
            if file != "." and file not in present:
                yield path, line, f"{target}: there is no {file}"
            elif anchor and file in tree.markdown and anchor not in markdown.slugs(tree.markdown[file]):
                yield path, line, f"{target}: {file} has no heading for #{anchor}"


def link_targets(content):
    """Line and target of each link."""
    for block in markdown.blocks(content):
        if block.kind == "reference":
            line, text = block.lines[0]
            yield line, markdown.REFERENCE.match(text).group(1).strip("<>")
            continue
        text = trees.Text(block.lines)
        for match in markdown.LINK.finditer(markdown.without_code(text.text)):
            yield text.line_of(match.start()), match.group(1)


def words(tree):
    for source in tree.sources + tree.scripts:
        for text in trees.paragraphs(source):
            yield from prose(source.path, text)
    for path, content in tree.markdown.items():
        for block in markdown.blocks(content):
            if block.kind != "reference":
                yield from prose(path, trees.Text(block.lines))
    for path, line, name, _, _ in tree.tags:
        if name in lists.BANNED_NAMES:
            yield path, line, f"the name {name}; write {lists.BANNED_NAMES[name]}"


def prose(path, text):
    """Banned openings and words of a text. Code spans and targets of links are not prose."""
    plain = markdown.without_code(text.text)
    plain = re.sub(r"\]\([^)\s]*\)", lambda match: "]" + "_" * (len(match.group()) - 1), plain)
    plain = re.sub(r"^#{1,6} ", lambda match: " " * len(match.group()), plain)
    plain = re.sub(r"^ *[*_\"'(]+", lambda match: " " * len(match.group()), plain)
    at = len(plain) - len(plain.lstrip())
    for match in OPENING.finditer(plain[at:]):
        end = SENTENCE_END.search(plain, at + match.end())
        if end is None or end.group() != "?":
            start = at + match.start(1)
            opening = text.text[start:start + 50]
            yield path, text.line_of(start), f'a sentence opens with "{match.group(1)}": {opening}'
    for pattern, advice in WORDS.items():
        for match in pattern.finditer(plain):
            near = text.text[max(match.start() - 25, 0):match.end() + 25]
            yield path, text.line_of(match.start()), f'"{match.group()}" in "{near}"; {advice}'


RULES = {
    "folders": folders,
    "includers": includers,
    "file_lines": file_lines,
    "function_lines": function_lines,
    "comments": comments,
    "readme": readme,
    "architecture": architecture,
    "pairs": pairs,
    "sql": sql,
    "sends_to_sql": sends_to_sql,
    "spawns": spawns,
    "log_subjects": log_subjects,
    "stems": stems,
    "unbuilt": unbuilt,
    "decisions": decisions,
    "markdown": markdown_form,
    "links": links,
    "words": words,
}


def check(tree, names):
    """The offences by rule, each list sorted; exceptions are taken out."""
    found = {}
    for name in names:
        offences = sorted(set(RULES[name](tree)))
        found[name] = [offence for offence in offences
                       if name not in lists.EXCEPTIONS.get(offence[0], {})]
    return found
