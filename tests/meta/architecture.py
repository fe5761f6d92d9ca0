#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/architecture.md: its ways through the code lead from file to file, and its figures hold.
`architecture.py --write` sets the figures of its reading table to what there is."""
import math
import os
import re
import sys
import unittest

import tree
from sources import code_lines

PAGE = "docs/architecture.md"
HOPS_MAX = 12
LINES_READ = 900  # an hour
LINES_REVIEWED = 300
PARTS = {  # the folders of a row
    "msp-child-init": ("child-init",), "msp-supervisor": ("supervisor",), "msp-audit": ("stewards/audit",),
    "msp-store": ("stewards/store",), "both stewards": ("stewards/base",),
    "msp-layers": ("layers", "layers/base", "layers/changes", "layers/apply"),
    "the reader of repositories": ("layers/reader",), "the branches that follow commits": ("layers/branches",),
    "the merger of files in conflict": ("layers/merger",),
    "the preparer of new sandboxes": ("layers/foreign",), "the rules of ignored files": ("layers/ignored",), "msp-file": ("file",),
    "msp-cable": ("gateway/cable",), "msp-egress": ("gateway/egress",), "msp-dial": ("gateway/dial",),
    "msp-http": ("gateway/http",), "msp-bridge": ("gateway/bridge",), "msp-image": ("image",),
    "msp-vm and its helpers": ("vm",), "the reader of JSON": ("lib/json",),
    "msp-broker": ("broker",), "msp-policy": ("policy",), "msp": ("cli",),
    "the launcher, msp-opener, msp-git-config, msp-scope": ("launcher",),
    "shared by all": ("common",), "shared by frontends": ("frontend",),
}
FOLDERS = tuple(name for names in PARTS.values() for name in names)


def ways(page):
    """{title: [(file, functions, passed on by)]} of the tables of hops."""
    found = {}
    for section in re.split(r"^### ", page, flags=re.M)[1:]:
        rows = re.findall(r"^\| \d+ \| `([^`]+)` \| (.+?) \| (.*?) \|$", section, re.M)
        found[section.splitlines()[0]] = [(path, re.findall(r"`(\w+)\(\)`", functions), handed)
                                          for path, functions, handed in rows]
    return found


def defines(text, name):
    return re.search(rf"^(?:[a-z][\w \*]*[ \*])?{name}\((?:[^;{{]|\n)*?\)\n\{{", text, re.M)


def broken_hops(hops, read=tree.read):
    """What is wrong with a way: each function is defined in its file, and each file calls the next
    one's first function, registers it in a row, or sends the message that it takes."""
    for number, (path, functions, handed) in enumerate(hops, 1):
        text = read(path)
        for name in functions:
            if not defines(text, name):
                yield f"{path} does not define {name}()"
        if number == len(hops):
            continue
        after, (wanted, *_), _ = hops[number]
        message = re.search(r"message `(\w+)`", handed)
        if message:
            if not re.search(tree.names_message(message.group(1)), text):
                yield f"{path} does not send {message.group(1)}"
            if not re.search(rf"IPC_TYPE_{message.group(1)}\b|handle_{message.group(1)}\b",
                             read(after)):
                yield f"{after} does not take {message.group(1)}"
        elif not (re.search(rf"\b{wanted}\b", text) or
                  re.search(rf"\.\w+ = {wanted}\b", read(after))):
            yield f"{path} does not call {wanted}() of {after}"


def counted(folders):
    return sum(code_lines(tree.read(path)) for path in tree.sources(*folders)
               if path.endswith(".c"))


def hours(lines, speed):
    return math.ceil(lines / speed * 2) / 2


def figures(page, lines_of):
    """The page with the figures of the rows whose lines are known: {name: lines}."""
    def row(match):
        lines = lines_of.get(match.group(1))
        return match.group() if lines is None else \
            f"| {match.group(1)} | {lines:,} | {hours(lines, LINES_READ)} | {hours(lines, LINES_REVIEWED)} |"

    return re.sub(r"^\| ([^|]+?) \| [\d,]+ \| [\d.]+ \| [\d.]+ \|", row, page, flags=re.M)


def write_figures():
    page = figures(tree.read(PAGE), {name: counted(folders) for name, folders in PARTS.items()})
    with open(os.path.join(tree.ROOT, PAGE), "w", encoding="utf-8") as file:
        file.write(page)


class Ways(unittest.TestCase):
    def test_a_broken_hop_is_found(self):
        files = {"a.c": "static int f(int x,\n\t     int y)\n{\n\tg();\n}\n",
                 "b.c": "int g(void)\n{\n\tsend(IPC_TYPE_do);\n}\n",
                 "c.c": "\t[IPC_TYPE_do] = h,\nint h(void)\n{\n}\n"}
        good = [("a.c", ["f"], ""), ("b.c", ["g"], "message `do`"), ("c.c", ["h"], "")]
        self.assertEqual(list(broken_hops(good, files.get)), [])
        for bad in ([("a.c", ["g"], "")], [good[0], good[2]], [good[1], good[0]],
                    [good[0], ("b.c", ["g"], "message `other`"), good[2]]):
            self.assertNotEqual(list(broken_hops(bad, files.get)), [])

    def test_each_way_leads_through_the_code(self):
        found = ways(tree.read(PAGE))
        self.assertEqual(len(found), 4)
        for title, hops in found.items():
            with self.subTest(way=title):
                self.assertGreater(len(hops), 2)
                self.assertLessEqual(len(hops), HOPS_MAX)
                self.assertEqual(list(broken_hops(hops)), [])


class Reading(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        rows = re.findall(r"^\| ([^|]+?) \| ([\d,]+) \| ([\d.]+) \| ([\d.]+) \| (.+?) \|$",
                          tree.read(PAGE), re.M)
        cls.rows = {name: (int(lines.replace(",", "")), float(read), float(reviewed),
                           re.findall(r"`([\w./-]+)`", order))
                    for name, lines, read, reviewed, order in rows}

    def test_every_folder_has_a_row(self):
        self.assertEqual(set(self.rows), set(PARTS))
        self.assertEqual(set(FOLDERS), set(tree.PARTS) - {"lib/heap", "gateway/hosts", "gateway/relay"})

    def test_the_figures_are_those_of_the_tree(self):
        for name, (lines, read, reviewed, _) in self.rows.items():
            with self.subTest(part=name):
                self.assertLess(abs(lines - counted(PARTS[name])), 20 + lines * 0.1)
                self.assertAlmostEqual(read, hours(lines, LINES_READ))
                self.assertAlmostEqual(reviewed, hours(lines, LINES_REVIEWED))

    def test_figures_are_set(self):
        page = "| a b | 1,000 | 1.0 | 1.5 | `x.c` |\n| other | 9 | 1 | 1 | `y.c` |\n"
        self.assertEqual(figures(page, {"a b": 1801}),
                         page.replace("1,000 | 1.0 | 1.5", "1,801 | 2.5 | 6.5"))

    def test_every_file_of_an_order_is_there(self):
        for name, (_, _, _, order) in self.rows.items():
            self.assertGreater(len(order), 0, name)
            for file in order:
                with self.subTest(part=name, file=file):
                    self.assertTrue(os.path.exists(os.path.join(tree.ROOT, PARTS[name][0], file)))


class Names(unittest.TestCase):
    """Other pages name files by path, or by name within a section about one program."""

    def test_every_named_file_is_there(self):
        parts = [path.split("/") for path in tree.files()]
        names = {part[-1] for part in parts}
        ends = {"/" + "/".join(part[i:]) for part in parts for i in range(len(part))}
        for path in tree.files():
            if not path.endswith(".md") or path == "CHANGELOG.md":
                continue
            for name in re.findall(r"`((?:[\w-]+/)*[\w-]+\.(?:c|h|def))`", tree.read(path)):
                with self.subTest(page=path, file=name):
                    self.assertTrue(("/" + name) in ends or os.path.basename(name) == name and
                                    name in names, "there is no such file")

    def test_every_named_function_is_there(self):
        known = set()
        for path in tree.files():
            if path.endswith((".c", ".h", ".py")):
                known.update(re.findall(r"\b(\w+)\(", tree.read(path)))
        for path in tree.files():
            if path.endswith(".md") and path != "HACKING.md":  # its names are examples
                for name in re.findall(r"`(\w+)\(\)`", tree.read(path)):
                    with self.subTest(page=path, function=name):
                        self.assertTrue(name in known, "there is no such function")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write_figures()
    else:
        unittest.main()
