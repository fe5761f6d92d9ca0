#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/seccomp.md says what the table of groups and the shipped profiles say."""
import re
import unittest

import seccomp_page
import tree


class Page(unittest.TestCase):
    def test_it_is_what_the_table_says(self):
        self.assertEqual(seccomp_page.differences(), [], "tests/meta/seccomp_page.py makes it anew")

    def test_the_table_was_read_whole(self):
        """A row in a form that the page's reader does not know would be left out silently."""
        text = tree.read("policy/seccomp_groups.def")
        self.assertEqual(len(seccomp_page.groups()), len(re.findall(r"^GROUP\(", text, re.M)))
        for name, kind, reason, calls in seccomp_page.groups():
            with self.subTest(group=name):
                self.assertIn(kind, seccomp_page.KINDS)
                self.assertGreater(len(reason), 10)
                self.assertTrue(calls)

    def test_every_condition_is_on_it(self):
        """Those of calls that no shipped profile allows, too."""
        named = re.findall(r'^\tCONDITION\("(\w+)"', tree.read("policy/seccomp_conditions.c"), re.M)
        page = tree.read(seccomp_page.PAGE)
        self.assertGreater(len(named), 20)
        for call in named:
            with self.subTest(call=call):
                self.assertRegex(page, rf"(?m)^- `{call}`: .{{4}}")

    def test_no_profile_is_missing(self):
        page = tree.read(seccomp_page.PAGE)
        header = next(line for line in page.splitlines() if line.startswith("| group |"))
        self.assertEqual(header.strip("| ").split(" | ")[1:], seccomp_page.profiles())


if __name__ == "__main__":
    unittest.main(verbosity=2)
