#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of docs/agents.md says what the rows of policy/agents/agents.yaml say.

agents_page.py --write   writes the table anew
"""
import os
import re
import subprocess
import sys
import unittest

import tree

PAGE = "docs/agents.md"
TABLE = re.compile(r"(?<=<!-- agents -->\n)(.*?\n.*?\n)(.*?)(?=<!-- end -->)", re.S)


def rows():
    """The lines of each agent: a list of values for each word."""
    printed = subprocess.run([tree.program("msp-policy"), "agents"], capture_output=True, text=True,
                             check=True).stdout
    found = []
    for line in printed.splitlines():
        word, value = line.split("\t", 1)
        if word == "agent":
            found.append({})
        found[-1].setdefault(word, []).append(value)
    return found


def table():
    lines = []
    for row in rows():
        cells = [f"`{row['agent'][0]}`", row["description"][0],
                 ", ".join(f"`{key}`" for key in row.get("key", [])) or "none: `--login`",
                 f"`{' '.join(row['argument'])}`" if "argument" in row else "none",
                 f"`{row['base_url'][0]}`" if "base_url" in row else "-",
                 row.get("version", ["-"])[0]]
        lines.append("| " + " | ".join(cells) + " |\n")
    return "".join(lines)


class Page(unittest.TestCase):
    maxDiff = None

    def test_the_table(self):
        self.assertEqual(TABLE.search(tree.read(PAGE)).group(2), table())


def write():
    path = os.path.join(tree.ROOT, PAGE)
    text = TABLE.sub(lambda match: match.group(1) + table(), tree.read(PAGE))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    else:
        unittest.main()
