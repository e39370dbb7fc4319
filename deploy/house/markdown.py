"""Cuts a Markdown page into blocks of prose, table cells and headings; leaves code out."""

import dataclasses
import re

FENCE = re.compile(r"^\s*(```+|~~~+)")
ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
HEADING = re.compile(r"^\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
REFERENCE = re.compile(r"^\s{0,3}\[[^\]]+\]:\s*(\S+)")
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\](?:\([^)]*\))?)*\]\(\s*<?([^)\s>]*)>?(?:\s+\"[^\"]*\")?\s*\)")
CODE = re.compile(r"(`+)(?!`)(.{1,200}?)(?<!`)\1(?!`)", re.S)


@dataclasses.dataclass
class Block:
    kind: str  # paragraph, item, heading, cell, reference
    lines: list  # pairs of line number and text


def kind_of(line, previous, in_list):
    """The kind of a line outside a fence. `previous`: the kind of the line before."""
    if not line.strip():
        return "blank"
    if HEADING.match(line):
        return "heading"
    if line.lstrip().startswith("|"):
        return "table"
    if REFERENCE.match(line):
        return "reference"
    if line.startswith("    ") and previous in ("blank", "code") and not in_list:
        return "code"
    if ITEM.match(line):
        return "item"
    if previous in ("item", "paragraph"):
        return previous
    return "item" if in_list and line.startswith("  ") else "paragraph"


def blocks(content):
    """The blocks of a page that hold prose or links. Code blocks are left out."""
    found, fence, previous, in_list = [], None, "blank", False
    for number, line in enumerate(content.splitlines(), 1):
        mark = FENCE.match(line)
        if fence or mark:
            if not fence:
                fence = mark.group(1)
            elif mark and mark.group(1).startswith(fence):
                fence = None
            previous = "fence"
            continue
        kind = kind_of(line, previous, in_list)
        starts = kind != previous or kind in ("heading", "reference") or ITEM.match(line)
        if kind == "table":
            for cell in line.strip().strip("|").split("|"):
                found.append(Block("cell", [(number, cell.strip())]))
        elif kind not in ("blank", "code"):
            text = re.sub(r"^\s*(>\s?)*", "", line)
            if starts:
                found.append(Block(kind, []))
            found[-1].lines.append((number, ITEM.sub("", text) if kind == "item" and starts else text))
        if kind != "blank":
            in_list = kind == "item"
        previous = kind
    return found


def without_code(text):
    """The text with code spans replaced by as many underscores."""
    return CODE.sub(lambda match: "_" * len(match.group()), text)


def slugs(content):
    """The anchors that the headings of a page have, as GitHub makes them."""
    found = set()
    for block in blocks(content):
        if block.kind != "heading":
            continue
        title = HEADING.match(block.lines[0][1])
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title.group(2) if title else "")
        slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        unique, count = slug, 0
        while unique in found:
            count += 1
            unique = f"{slug}-{count}"
        found.add(unique)
    return found
