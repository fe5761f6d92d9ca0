#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of failing programs: its page, its size, and a control for every section."""
import os
import sys
import unittest

import tree

sys.path.insert(0, os.path.join(tree.ROOT, "tests", "agents"))
import hints_table  # noqa: E402  pylint: disable=wrong-import-position


class Page(unittest.TestCase):
    def test_the_page_is_the_table(self):
        self.assertTrue(tree.read("docs/hints.md") == hints_table.page(),
                        "run tests/agents/hints_table.py --page")


class Table(unittest.TestCase):
    rows = hints_table.read_table()

    def of(self, fault):
        return [row for row in self.rows if row[1] == fault]

    def test_it_is_large_enough(self):
        self.assertGreaterEqual(len(self.rows), 150)
        self.assertGreaterEqual(len(self.of("program")), 40)

    def test_each_section_has_a_control(self):
        """A program that fails for its own reason beside those that fail by the sandbox."""
        controlled = {row[0] for row in self.of("program")}
        self.assertEqual({row[0] for row in self.rows} - controlled, set())

    def test_a_program_of_its_own_is_never_the_sandboxs(self):
        for row in self.rows:
            if row[1] != "sandbox":
                with self.subTest(line=row[6]):
                    self.assertFalse(row[4].startswith("[sandbox: "))

    def test_the_sandbox_is_named(self):
        """Never wrongly cleared, and named in 96 of 100 rows: a row that has no hint stays."""
        rows = self.of("sandbox")
        for row in rows:
            with self.subTest(line=row[6]):
                self.assertNotIn("not the sandbox", row[4])
        named = [row for row in rows if row[4].startswith("[sandbox: ")]
        self.assertGreaterEqual(len(named), 0.96 * len(rows))
        notes = self.of("note")
        self.assertGreaterEqual(sum(row[4] != "-" for row in notes), 0.96 * len(notes))

    def test_no_command_stands_twice(self):
        keys = [(row[2], row[5]) for row in self.rows]
        self.assertEqual(sorted(keys), sorted(set(keys)))


if __name__ == "__main__":
    unittest.main()
