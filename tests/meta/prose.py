#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The mechanical rules of HACKING.md ("Language"), with ceilings that only fall to nothing.
tests/prose.py shows the lines."""
import importlib.util
import os
import unittest

import ceilings
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

    def test_folders_stay_under_their_ceilings(self):
        self.assertEqual(sorted(ceilings.PROSE_FAULTS), sorted(prose.FOLDERS))
        for folder, most in ceilings.PROSE_FAULTS.items():
            with self.subTest(folder=folder):
                for count, ceiling in zip(prose.count(folder), most):
                    self.assertLessEqual(count, ceiling)

    def test_the_changelog_says_what_changed(self):
        self.assertEqual(prose.changelog_faults(), [])


if __name__ == "__main__":
    unittest.main()
