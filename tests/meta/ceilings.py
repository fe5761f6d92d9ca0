# SPDX-License-Identifier: Apache-2.0
"""What may not grow: each number is what there is, or less, and only falls. Whoever has to raise one
says in a decision what for.

    ceilings.py             print what was raised and lowered since the last release
    ceilings.py --lower     set each ceiling to what there is, if that is less
    ceilings.py --raise PART --decision NNNN
                            the same, and that of PART to what there is: the decision says why
"""
import argparse
import os
import sys

# The commit that "since the last release" means as long as there is no tag; `ceilings.py` prints what
# changed since then, and ratchet.py allows no raised ceiling without a decision here.
SINCE = "0249e0a4"
RAISED = {
    "broker": "0023",
    "cli": "0084",
    "common": "0081",
    "file": "0047",
    "frontend": "0084",
    "launcher": "0084",
    "layers": "0046",
    "layers/apply": "0043",
    "layers/base": "0079",
    "layers/branches": "0046",
    "layers/changes": "0079",
    "layers/foreign": "0079",
    "layers/ignored": "0043",
    "layers/reader": "0046",
    "lib/heap": "0068",
    "policy": "0084",
}

# Lines of C that are neither blank, comment nor an include of a header, of all .c files beneath a folder
# and of those of other folders that its program is linked with.
CODE_LINES = {
    "child-init": 2228,
    "supervisor": 6425,
    "stewards/audit": 735,
    "stewards/store": 1502,
    "common": 1953,
    "gateway/cable": 1647,
    "gateway/egress": 1734,
    "gateway/dial": 1353,
    "gateway/http": 2678,
    "gateway/relay": 89,
    "gateway/bridge": 701,
    "image": 2712,
    "layers": 639,
    "layers/apply": 1797,
    "layers/base": 2657,
    "layers/changes": 618,
    "layers/reader": 1787,
    "layers/branches": 1240,
    "layers/foreign": 444,
    "layers/ignored": 380,
    "layers/merger": 346,
    "cli": 21965,
    "launcher": 8158,
    "broker": 15645,
    "frontend": 4032,
    "policy": 11028,
    "file": 2385,
    "vm": 1778,
    "gateway/hosts": 633,
    "lib/heap": 265,
    "lib/json": 485,
    "stewards/base": 141,
}
LINKED = {"supervisor": ("stewards/store/meta.c",), "stewards/audit": ("stewards/base/steward.c",),
          "stewards/store": ("stewards/base/steward.c",)}

# Static functions whose names begin with a verb of several meanings (docs/glossary.md).
UNCLEAR_VERBS = {
    "take": 190,
    "put": 196,
    "say": 32,
    "tell": 31,
    "explain": 32,
}

# Of the files of launcher/ that msp-opener reaches by calls.
OPENER_LINES = 5270

# Of each file, and of each function.
FILE_LINES = 600
FUNCTION_LINES = 65

# The installed program.
CHILD_INIT_BYTES = 111 * 1024

# Files of a program that reach one another by calls (graph.py), and folders, which are none: but in the
# programs that have more.
CIRCLE_MAX = 4
CIRCLE_FILES = {
}
CIRCLE_FOLDERS = {
}

# Objects of a build with tests that depend on one header of messages, and the files that are made anew
# for the programs when one changes (headers.py).
HEADER_OBJECTS = 122
HEADER_STEPS = 81


def main():
    import ratchet
    import tree

    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lower", action="store_true")
    parser.add_argument("--raise", dest="raised", metavar="PART",
                        choices={*CODE_LINES, *CIRCLE_FILES, *CIRCLE_FOLDERS})
    parser.add_argument("--decision", metavar="NNNN")
    given = parser.parse_args()
    if bool(given.raised) != bool(given.decision):
        parser.error("--raise needs --decision, and the other way round")
    if given.decision and not any(page.startswith(given.decision + "-") for page in ratchet.pages()):
        parser.error(f"docs/decisions has no {given.decision}")
    if given.lower or given.raised:
        text = ratchet.lower(tree.read(ratchet.TABLE), ratchet.measured(), given.raised)
        if given.raised:
            text = ratchet.name_decision(text, given.raised, given.decision)
        with open(os.path.join(tree.ROOT, ratchet.TABLE), "w", encoding="utf-8") as file:
            file.write(text)
    else:
        print("\n".join(ratchet.report()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
