#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The mechanical rules of HACKING.md ("Language"). tests/prose.py shows the lines."""
import importlib.util
import os
import unittest

import tree

SPEC = importlib.util.spec_from_file_location("prose", os.path.join(tree.ROOT, "tests/prose.py"))
prose = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(prose)


class Prose(unittest.TestCase):
    def test_faults_are_found(self):
        text = ("/* SPDX-License-Identifier: Apache-2.0\n *\n * What it is.\n */\n"
                "/* Where it ends. */\n/* Whatever. */ /* Return it. */\n/* --- of this --- */\n"
                "static int find(int a)\n{\n}\nstatic int find_it(int a)\n{\n}\n")
        found = [words for _, words in prose.comments(text) if prose.NO_SUBJECT.match(words)]
        self.assertEqual(found, ["What it is.", "Where it ends.", "Whatever."])
        self.assertEqual(prose.FUNCTION.findall(text), ["find", "find_it"])

    def test_every_comment_has_a_subject_and_every_function_a_noun(self):
        for folder in prose.FOLDERS:
            with self.subTest(folder=folder):
                self.assertEqual(prose.count(folder), (0, 0), "see ./dev lint --prose")

    def test_the_changelog_says_what_changed(self):
        self.assertEqual(prose.changelog_faults(), [])


if __name__ == "__main__":
    unittest.main()
