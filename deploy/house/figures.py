"""The table of figures: this tree, its figures before the rooms were made, and the six anchors."""

import lists
import rules


def quantile(values, share):
    """The value at `share` of sorted values; 0 where there are none."""
    return values[min(int(share * len(values)), len(values) - 1)] if values else 0


def page(tree, path):
    content = tree.markdown.get(path, "")
    return f"{len(content.splitlines())}/{len(content.encode()) / 1000:.0f}"


def figures(tree):
    """Pairs of a figure's name and its text."""
    sizes = sorted(source.lines for source in tree.product)
    total = sum(sizes)
    blank = sum(source.blank_lines for source in tree.product)
    comments = sum(source.comment_lines for source in tree.product)
    functions = [function.lines for function in tree.functions]
    files = max(len(sizes), 1)
    endings = tree.modules.values()
    words = sum(len(content.split()) for content in tree.markdown.values())
    sql = sum(1 for _ in rules.sql(tree))
    return [
        ("product files", f"{len(sizes):,}"),
        ("product lines", f"{total / 1000:.1f}k"),
        ("code lines", f"{total - blank - comments:,}"),
        ("file lines p50/p90/max", f"{quantile(sizes, 0.5)}/{quantile(sizes, 0.9)}/{quantile(sizes, 1)}"),
        ("files under 50 lines", f"{100 * sum(size < 50 for size in sizes) / files:.0f} %"),
        ("largest folder", f"{max(tree.folders.values(), default=0)}"),
        ("function p50/p99/max",
         f"{quantile(functions, 0.5)}/{quantile(functions, 0.99)}/{quantile(functions, 1)}"),
        ("whole-line comments", f"{100 * comments / max(total, 1):.1f} %"),
        ("README lines/kB", page(tree, "README.md")),
        ("ARCHITECTURE lines/kB", page(tree, "ARCHITECTURE.md")),
        ("modules", f"{len(tree.modules):,}"),
        ("headers with one includer", f"{len(tree.lone_headers)}"),
        ("of these without a test", f"{len(tree.untested_lone_headers)}"),
        ("headers without .cc", f"{sum('.h' in kinds and '.cc' not in kinds for kinds in endings)}"),
        (".cc without header", f"{sum('.cc' in kinds and '.h' not in kinds for kinds in endings)}"),
        ("mutual pairs of folders", f"{len(tree.mutual_pairs)}"),
        ("SQL outside its owners", f"{sql}"),
        ("words of Markdown", f"{words:,}"),
    ]


BOUNDS = {
    "largest folder": f"<= {lists.FOLDER_FILES}",
    "file lines p50/p90/max": f"max <= {lists.FILE_LINES}",
    "function p50/p99/max": f"max <= {lists.FUNCTION_LINES}",
    "whole-line comments": f">= {100 * lists.COMMENT_SHARE:.0f} %",
    "README lines/kB": f"<= {lists.README_LINES}/{lists.README_BYTES / 1000:.0f}",
    "ARCHITECTURE lines/kB": f"<= {lists.ARCHITECTURE_LINES} lines",
    "of these without a test": f"<= {lists.LONE_HEADERS}",
    "mutual pairs of folders": "0",
    "SQL outside its owners": "0",
}


def table(tree):
    """The lines of the table, then the names behind the two maxima."""
    rows = [("", "this tree", "bound", "at ace4749", *lists.ANCHORS)]
    for name, value in figures(tree):
        anchors = lists.ANCHOR_FIGURES.get(name, ("",) * len(lists.ANCHORS))
        rows.append((name, value, BOUNDS.get(name, ""), lists.BEFORE.get(name, ""), *anchors))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        lines.append("  ".join(cells).rstrip())
    lines.append("")
    for folder, count in list(tree.folders.items())[:1]:
        lines.append(f"largest folder: {folder}, {count} product files")
    for function in tree.functions[-1:]:
        lines.append(f"longest function: {function.name}, {function.path}:{function.line},"
                     f" {function.lines} lines")
    lines.append("The anchors' figures and those at ace4749 are published figures, not counted here.")
    return lines
