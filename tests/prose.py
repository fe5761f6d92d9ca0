#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Show comments, function names and CHANGELOG lines that break the rules of HACKING.md ("Language").

prose.py [PATH...]   the offending lines beneath the paths (none: all of the project); fails if any
tests/meta/prose.py holds the number in each folder under a ceiling that only falls.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "meta"))
import tree  # noqa: E402  pylint: disable=wrong-import-position

# A sentence has a noun as its subject: no comment begins with one of these.
NO_SUBJECT = re.compile(r"(?:what|who|whose|whoever|whatever|where|of|those|these|the same|one that|"
                        r"ones that|nothing|nobody|the other|as [a-z_]+\(\))\b", re.I)
COMMENT = re.compile(r"/\*(.*?)\*/", re.S)
FUNCTION = re.compile(r"^static [^\n;={}]*?\*?\b([a-z0-9_]+)\([^;{]*?\)\n\{", re.M)
FOLDERS = ("cli", "frontend", "broker", "supervisor", "child-init", "policy", "layers", "commits",
           "file", "scope", "common", "audit")


def comments(text):
    """(line, first words) of each comment of a C file, but for rules of dashes and licences."""
    for match in COMMENT.finditer(text):
        words = re.sub(r"(?:\s*\n\s*\*?)+\s*", " ", match.group(1)).strip()
        if not words.startswith(("SPDX-", "---")):
            yield text.count("\n", 0, match.start()) + 1, words
        elif words.startswith("SPDX-") and words.split("Apache-2.0", 1)[-1].strip():
            yield (text.count("\n", 0, match.start()) + 1,
                   words.split("Apache-2.0", 1)[-1].strip())


def comment_faults(path):
    return [(line, words) for line, words in comments(tree.read(path)) if NO_SUBJECT.match(words)]


def name_faults(path):
    """Static functions that are one bare word."""
    text = tree.read(path)
    return [(text.count("\n", 0, match.start()) + 1, match.group(1))
            for match in FUNCTION.finditer(text) if "_" not in match.group(1)]


def changelog_faults():
    """Entries that begin with no noun or verb."""
    return [(number, line) for number, line in enumerate(tree.read("CHANGELOG.md").splitlines(), 1)
            if line.startswith("- ") and NO_SUBJECT.match(line[2:])]


def sources(folder):
    return [path for path in tree.sources(folder) if path.endswith((".c", ".h", ".def"))]


def count(folder):
    """(comments, names) that break the rules."""
    paths = sources(folder)
    return (sum(len(comment_faults(path)) for path in paths),
            sum(len(name_faults(path)) for path in paths if path.endswith(".c")))


def main():
    wanted = [os.path.normpath(path) for path in sys.argv[1:]] or list(FOLDERS) + ["CHANGELOG.md"]
    found = 0
    for path in tree.files():
        if not any(path == one or path.startswith(one + "/") for one in wanted):
            continue
        if path == "CHANGELOG.md":
            faults = changelog_faults()
        elif path.endswith((".c", ".h", ".def")):
            faults = comment_faults(path) + (name_faults(path) if path.endswith(".c") else [])
        else:
            continue
        for line, words in sorted(faults):
            print(f"{path}:{line}: {words[:100]}")
        found += len(faults)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
