"""Reads the part of PromQL that the lint needs: metrics that an expression names, and the labels of their selectors."""
import re

STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"')
GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)")
RANGES = re.compile(r"\[[^\]]*\]")
OFFSETS = re.compile(r"\boffset\s+\S+?(?=[\s)]|$)")
WORDS = {"and", "or", "unless", "bool", "offset", "by", "without", "on", "ignoring", "group_left", "group_right"}
SELECTOR = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(\{[^}]*\})?(?!\s*\()(?![a-zA-Z0-9_:])")
MATCHER = re.compile(r"([a-zA-Z_][a-zA-Z0-9_]*)\s*(?:=~|!~|!=|=)")


def selectors(expression):
    """Returns pairs of a metric's name and the labels that its selector names."""
    text = STRINGS.sub('""', expression)
    text = OFFSETS.sub(" ", RANGES.sub(" ", GROUPING.sub(" ", text)))
    found = []
    for match in SELECTOR.finditer(text):
        name, inside = match[1], match[2] or ""
        if name in WORDS or (match.start() > 0 and (text[match.start() - 1].isdigit() or text[match.start() - 1] == "$")):
            continue
        found.append((name, MATCHER.findall(inside)))
    return found
