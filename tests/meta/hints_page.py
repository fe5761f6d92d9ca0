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

    def test_faults_and_hints_agree(self):
        for row in self.rows:
            with self.subTest(line=row[6]):
                is_named = row[4].startswith("[sandbox: ")
                self.assertEqual(is_named, row[1] == "sandbox")
                self.assertTrue(row[1] != "note" or row[4] != "-")

    def test_no_command_stands_twice(self):
        keys = [(row[2], row[5]) for row in self.rows]
        self.assertEqual(sorted(keys), sorted(set(keys)))


if __name__ == "__main__":
    unittest.main()
