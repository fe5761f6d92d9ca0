#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The ceilings of ceilings.py as a ratchet: everything has one, it falls with what it bounds, and a
commit that raises one since the last release names the decision. ceilings.py is the command."""
import functools
import os
import re
import subprocess
import sys
import unittest
import unittest.mock

import ceilings
import tree

TABLE = "tests/meta/ceilings.py"
# Tables of it whose numbers the command sets. A program at the default is in neither of circles.
LOWERED = ("CODE_LINES", "UNCLEAR_VERBS", "CIRCLE_FILES", "CIRCLE_FOLDERS")


def part_sources(part, files, parts=tree.PARTS):
    """The .c files of a part, and what it is linked with."""
    return [path for path in files if path.endswith(".c") and tree.part(path, parts) == part] + \
        list(ceilings.LINKED.get(part, ()))


def part_lines(part):
    from sources import code_lines
    return sum(code_lines(tree.read(path)) for path in part_sources(part, tree.sources()))


def unbounded(files, parts):
    """The product's .c files that no ceiling counts."""
    return [path for path in files if path.endswith(".c") and not path.startswith("tests/") and
            not tree.part(path, parts)]


def git(*arguments):
    """The output of a git command in this checkout, or None."""
    try:
        return subprocess.run(["git", "-c", "safe.directory=*", "-C", tree.ROOT, *arguments],
                              capture_output=True, check=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None


def read_table(text):
    """The tables of a version of ceilings.py: {table: {part: number}}. They hold numbers alone."""
    return {name: {part: int(number) for part, number in re.findall(r'"([^"]+)":\s*(\d+)', body)}
            for name, body in re.findall(r"^(\w+) = \{(.*?)\}", text, re.M | re.S)}


@functools.cache
def release():
    """(name, its tables): the last tag, else the commit that ceilings.py names, else the first commit
    with ceilings; (None, {}) if this clone has none of them."""
    tag = git("describe", "--tags", "--abbrev=0")
    first = git("log", "--diff-filter=A", "--format=%H", "--", TABLE)
    for commit in (tag, ceilings.SINCE, first and first.split("\n")[-2]):
        text = commit and git("show", f"{commit.strip()}:{TABLE}")
        if text:
            return commit.strip()[:12], read_table(text)
    return None, {}


def changes(before, now):
    """(table, part, number before or None, number now or None) of the ceilings that differ."""
    for table in LOWERED:
        old, new = before.get(table, {}), now.get(table, {})
        for part in sorted({*old, *new}):
            if old.get(part) != new.get(part):
                yield table, part, old.get(part), new.get(part)


def undecided(before, now, decisions, pages):
    """The raised ceilings for which RAISED names no decision that there is. Where a table had no
    ceiling, there is none to raise."""
    for table, part, old, new in changes(before, now):
        if old is None and table in before and table.startswith("CIRCLE"):
            old = ceilings.CIRCLE_MAX if table == "CIRCLE_FILES" else 0
        if old is not None and new is not None and new > old and \
                not any(page.startswith(decisions.get(part, "?") + "-") for page in pages):
            yield f"{part}: {table} raised from {old} to {new} without a decision in RAISED"


def report():
    """Lines about the ceilings since the last release, for the end of a run."""
    name, before = release()
    if not name:
        return ["ceilings: cannot tell what changed: this clone has no history"]
    now = read_table(tree.read(TABLE))
    found = list(changes(before, now))
    lines = [f"ceilings: {'raised ' if new > old else 'lowered'} {part} from {old} to {new} ({table})"
             + (f", decision {ceilings.RAISED[part]}" if new > old and part in ceilings.RAISED else "")
             for table, part, old, new in found if old is not None and new is not None]
    added = [part for _, part, old, _ in found if old is None]
    gone = [part for _, part, _, new in found if new is None]
    lines += [f"ceilings: new for {', '.join(added)}"] * bool(added)
    lines += [f"ceilings: gone for {', '.join(gone)}"] * bool(gone)
    sum_now = sum(now["CODE_LINES"].values())
    return lines + [f"ceilings: {len(found)} changed since {name}; together {sum_now:,} lines of code"]


def measured():
    """The tables as they would be of what there is; those of circles, if something is built."""
    import graph
    from prose import prose
    found = {"CODE_LINES": {part: part_lines(part) for part in ceilings.CODE_LINES},
             "UNCLEAR_VERBS": prose.verb_counts()}
    if os.path.exists(os.path.join(tree.BUILD, "build.ninja")):
        called = {program: graph.calls_of(program) for program in tree.PROGRAMS}
        found["CIRCLE_FILES"] = {program: len(graph.largest(of)) for program, of in called.items()}
        found["CIRCLE_FOLDERS"] = {program: len(graph.largest(graph.rooms(of)))
                                   for program, of in called.items()}
    return found


def lower(text, found, raised=None):
    """ceilings.py with the numbers that are found, where these are less, and that of the part that may
    be raised."""
    least = {"CIRCLE_FILES": ceilings.CIRCLE_MAX}
    for table, numbers in found.items():
        def line(match):
            part, old = match.group(1), int(match.group(2))
            new = numbers.get(part, 0) if part == raised else min(old, numbers.get(part, 0))
            return f'    "{part}": {new},\n' if new > least.get(table, 0) else ""

        head, body, tail = re.split(rf"(^{table} = \{{\n.*?^\}})", text, maxsplit=1, flags=re.M | re.S)
        text = head + re.sub(r'    "([^"]+)": (\d+),\n', line, body) + tail
    return text


def name_decision(text, part, decision):
    """ceilings.py with a decision in RAISED."""
    head, body, tail = re.split(r"(^RAISED = \{.*?\})", text, maxsplit=1, flags=re.M | re.S)
    rows = dict(re.findall(r'"([^"]+)": "(\d{4})"', body))
    rows[part] = decision
    return head + "RAISED = {" + "".join(f'\n    "{key}": "{value}",' for key, value in
                                         sorted(rows.items())) + "\n}" + tail


def pages():
    return [os.path.basename(path) for path in tree.files() if path.startswith("docs/decisions/")]


class Ratchet(unittest.TestCase):
    OLD = {"CODE_LINES": {"a": 10, "b": 10}, "CIRCLE_FILES": {"p": 9}, "CIRCLE_FOLDERS": {}}

    def test_a_file_without_a_ceiling_is_found(self):
        files = ["a/x.c", "a/in/y.c", "ab/z.c", "tests/t.c", "a/x.h"]
        self.assertEqual(unbounded(files, ["a"]), ["ab/z.c"])
        self.assertEqual(part_sources("a", files, ("a", "ab")), ["a/x.c", "a/in/y.c"])
        self.assertEqual(part_sources("a", files, ("a", "a/in")), ["a/x.c"])

    def test_a_raised_ceiling_is_found(self):
        new = {"CODE_LINES": {"a": 11, "b": 9, "c": 5}, "CIRCLE_FILES": {"p": 9, "q": 5},
               "CIRCLE_FOLDERS": {"q": 2}}
        found = list(undecided(self.OLD, new, {"a": "0100"}, ["0099-other.md"]))
        self.assertEqual([line.partition(":")[0] for line in found], ["a", "q", "q"])
        found = list(undecided(self.OLD, new, {"a": "0100", "q": "0099"}, ["0100-x.md", "0099-y.md"]))
        self.assertEqual(found, [])

    def test_the_tables_are_only_lowered(self):
        text = 'CODE_LINES = {\n    "a": 10,\n    "b": 10,\n}\nCIRCLE_FILES = {\n    "p": 9,\n}\n' \
            'CIRCLE_FOLDERS = {\n    "p": 2,\n}\nRAISED = {}\nOTHER = {"a": 10}\n'
        found = {"CODE_LINES": {"a": 12, "b": 7}, "CIRCLE_FILES": {"p": 3}, "CIRCLE_FOLDERS": {"p": 1}}
        self.assertEqual(read_table(lower(text, found)),
                         {"CODE_LINES": {"a": 10, "b": 7}, "CIRCLE_FILES": {},
                          "CIRCLE_FOLDERS": {"p": 1}, "RAISED": {}, "OTHER": {"a": 10}})
        raised = name_decision(lower(text, found, "a"), "a", "0100")
        self.assertEqual(read_table(raised)["CODE_LINES"], {"a": 12, "b": 7})
        self.assertIn('RAISED = {\n    "a": "0100",\n}\n', raised)

    def test_every_source_has_a_ceiling(self):
        self.assertEqual(unbounded(tree.sources(), ceilings.CODE_LINES), [])
        self.assertEqual([part for part in ceilings.CODE_LINES if not part_lines(part)], [])
        self.assertEqual(set(ceilings.CIRCLE_FILES) - set(tree.PROGRAMS), set())
        self.assertEqual(set(ceilings.CIRCLE_FOLDERS) - set(tree.PROGRAMS), set())

    def test_a_raised_ceiling_names_its_decision(self):
        self.assertEqual(list(undecided(release()[1], read_table(tree.read(TABLE)),
                                        ceilings.RAISED, pages())), [])

    def test_a_clone_without_history_cannot_tell(self):
        with unittest.mock.patch.object(sys.modules[__name__], "release", return_value=(None, {})):
            self.assertIn("cannot tell", report()[0])
        with unittest.mock.patch.object(sys.modules[__name__], "release",
                                        return_value=("v1", {"CODE_LINES": {"gone": 1}})):
            self.assertRegex("\n".join(report()), "new for .*\n.*gone for gone\n.* since v1")


if __name__ == "__main__":
    unittest.main()
