"""Prints the table of figures, or checks the rules. deploy/house.sh says how to use it."""

import argparse
import pathlib
import sys

import figures
import rules
import tree as trees

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent


def arguments():
    parser = argparse.ArgumentParser(
        prog="house.sh", description="Measures the tree and checks the bounds that keep it readable.")
    parser.add_argument("--check", nargs="*", metavar="RULE",
                        help="check these rules (all without a name): " + " ".join(rules.RULES))
    parser.add_argument("--as-published", action="store_true",
                        help="count as the published column: no .proto, no modelled fabric, no test helpers")
    parser.add_argument("--root", default=REPOSITORY, metavar="FOLDER", help="read another checkout")
    given = parser.parse_args()
    unknown = [name for name in given.check or () if name not in rules.RULES]
    if unknown:
        parser.error(f"unknown rule {unknown[0]}; the rules: {' '.join(rules.RULES)}")
    return given


def check(tree, names):
    """Prints the offences and their counts; returns the exit status."""
    found = rules.check(tree, names)
    for name, offences in found.items():
        for path, line, text in offences:
            print(f"{path}:{line}: {name}: {text}")
    total = sum(len(offences) for offences in found.values())
    print("house: " + ", ".join(f"{name} {len(offences)}" for name, offences in found.items()))
    print(f"house: {total} offences" if total else "house: no offence")
    return 1 if total else 0


def main():
    given = arguments()
    try:
        tree = trees.Tree(given.root, given.as_published)
        if given.check is not None:
            return check(tree, given.check or list(rules.RULES))
        print("\n".join(figures.table(tree)))
    except (trees.Error, OSError) as error:
        print(f"house.sh: {error}", file=sys.stderr)
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main())
