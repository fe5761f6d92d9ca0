#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests run beside each other, and some look whether a file of ours is left in the places for
temporary files: they have to know the names that other tests make there."""
import os
import re
import sys
import unittest

import tree

sys.path.insert(0, os.path.join(tree.ROOT, "tests", "integration"))
import leftovers  # noqa: E402  (its folder is known from here on)

# In Python, in C and in a shell; the random part follows.
MADE = re.compile(r"""prefix=f?"(msp[^"]*)"|"/(?:var/)?tmp/(msp[^"]*)XXXXXX|/(msp[^/"]*)XXXXXX""")


class Temporary(unittest.TestCase):
    def test_the_names_that_tests_make_are_known(self):
        seen = set()
        for path in tree.files():
            if path.startswith("tests/") and path.endswith((".py", ".c", ".h", ".sh")):
                seen |= {next(filter(None, groups)) for groups in MADE.findall(tree.read(path))}
        self.assertGreater(len(seen), 40, "the pattern finds them")
        for name in sorted(seen):
            with self.subTest(name=name):
                self.assertRegex(name + "a1_B2c3d", leftovers.TEMPORARY)

    def test_others_are_not(self):
        for name in ("msp", "msp-1000", "msp.sock", "msp-supervisor-a1_B2c3d"):
            with self.subTest(name=name):
                self.assertIsNone(leftovers.TEMPORARY.match(name))


if __name__ == "__main__":
    unittest.main()
