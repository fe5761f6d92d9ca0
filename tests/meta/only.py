#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`./dev test --only REGEX` says before a build when no test matches: tests/names.py knows them."""
import glob
import os
import re
import subprocess
import sys
import unittest

import tree

sys.path.append(os.path.join(tree.ROOT, "tests"))
import names  # noqa: E402  pylint: disable=wrong-import-position

TEXT = """
function(msp_unit_test name)
	msp_test(${name} of a function)
endfunction()
foreach(module pool
		loop) # of a comment: msp_test(none)
	msp_unit_test(run-${module} ${module}_test.c)
endforeach()
msp_unit_tests(run MODULES
	leaf base/state
	SOURCES rig.c LIBRARIES msp_run)
msp_python_tests(attack 10)
msp_test(soak fault 600)
"""


class Names(unittest.TestCase):
    def test_they_are_read(self):
        found = names.read_names(TEXT, lambda folder: ["files"] if folder == "attack" else [])
        self.assertEqual(found, ["run-pool", "run-loop", "run-leaf", "run-state", "attack-files", "soak"])

    def test_they_are_those_of_the_build(self):
        """In the files that ctest reads."""
        found = set()
        for path in glob.glob(os.path.join(tree.BUILD, "tests/**/CTestTestfile.cmake"), recursive=True):
            with open(path, encoding="utf-8") as file:
                found.update(re.findall(r"^add_test\(\[=\[(.+?)\]=\]", file.read(), re.M))
        self.assertEqual(sorted(found), sorted(set(names.all_names())))

    def test_a_near_name_is_found(self):
        self.assertEqual(names.near("run-pol", ["run-pool", "run-loop", "soak"])[0], "run-pool")
        self.assertEqual(names.near("pol", ["run-pool", "soak"]), ["run-pool"])
        self.assertEqual(names.near("zzz", ["run-pool", "soak"]), [])

    def test_no_match_ends_before_the_build(self):
        for wanted, says in (("attack-reqests", "near: attack-requests"), ("foo(", "no regular")):
            with self.subTest(wanted=wanted):
                result = subprocess.run([os.path.join(tree.ROOT, "dev"), "test", "--only", wanted],
                                        stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                        check=False)
                self.assertEqual((result.returncode, result.stdout), (64, ""))
                self.assertIn(says, result.stderr)
        for wanted in ("^meta-only$", "supervisor-po"):
            subprocess.run([sys.executable, "-B", os.path.join(tree.ROOT, "tests/names.py"), wanted],
                           check=True)


if __name__ == "__main__":
    unittest.main()
