#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""programs.txt as rows, and as docs/hints.md.

hints_table.py --page   write the page
"""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, "programs.txt")
PAGE = os.path.join(HERE, "..", "..", "docs", "hints.md")
ROW = re.compile(r"(sandbox|note|program)(?: @(\S+))? ;; (\S+) ;; (.*?) ;; (.*)")

HEAD = """# Hints

When a command has failed, a model reads one line about it above the verdict, at most two, each of at
most 130 characters:

    [sandbox: no network; example.org cannot be reached]
    [exit 6 · 0.05 s]

- `[sandbox: ...]`: the policy refused it. The policy was asked about the host, path or call that the
  program named, and the line says only the policy's answer. A place to write to, a profile or a tool
  is named only where the policy allows it. Rules and the operator's remedies are in `_meta`, not in
  the line ([policy-denials.md](policy-denials.md)).
- `[PATH does not exist; ...]`, `[nothing in this sandbox listens on ...]`, `[nothing in this sandbox has
  process ID ...]`: the host may have it, and the sandbox has not.
- `[not the sandbox: ...]`: the policy allows it.

Hints are looked for in the error output; in the output, if the errors tell nothing; and in the command.
No line means that nothing is known. The tables list {count} commands, with their hints, of which
{own} fail for reasons of their own; `tests/agents/hints.py` runs a third of those that are installed, or
all with `MSP_HINTS=all`, and compares each line. This page is made by `tests/agents/hints_table.py --page`.
"""


def read_table():
    """[(section, fault, place, program, hint, command, line number)]"""
    rows, section = [], ""
    with open(TABLE, encoding="utf-8") as file:
        for number, line in enumerate(file.read().splitlines(), 1):
            if line.startswith("## "):
                section = line[3:]
            elif line and not line.startswith("#"):
                match = ROW.fullmatch(line)
                if not match:
                    raise ValueError(f"programs.txt:{number}: no row: {line}")
                rows.append((section, *match.groups(default=""), number))
    return rows


def cell(text):
    """Code in a cell of a table."""
    text = text.replace("|", "\\|")
    mark = "``" if "`" in text else "`"
    return f"{mark} {text} {mark}" if "`" in text else f"{mark}{text}{mark}"


def page():
    rows = read_table()
    lines = HEAD.format(count=len(rows), own=sum(row[1] == "program" for row in rows)).splitlines()
    section = ""
    for row in rows:
        if row[0] != section:
            section = row[0]
            lines += ["", f"## {section}", "", "| command | in | hint |", "|---|---|---|"]
        lines.append(f"| {cell(row[5])} | {row[2]} | {'' if row[4] == '-' else cell(row[4])} |")
    return "\n".join(lines) + "\n"


def main():
    if sys.argv[1:] != ["--page"]:
        print(__doc__, file=sys.stderr)
        return 2
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
