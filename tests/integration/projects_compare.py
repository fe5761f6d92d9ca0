#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./dev projects finds a suite that has another result in the sandbox, with made-up suites."""
import os
import sys
import tempfile
import unittest

import support
from persistent_support import PersistentCase

sys.path.insert(0, os.path.join(support.ROOT, "tests", "projects"))
import projects  # noqa: E402
import table  # noqa: E402

COUNTS = {"passed": r"^(\d+) passed", "failed": r"^not ok"}
INSIDE = "[ -d /workspace ]"


class Compare(PersistentCase):
    def setUp(self):
        super().setUp()
        if os.geteuid() == 0:
            self.skipTest("needs an ordinary user")
        logs = tempfile.TemporaryDirectory()
        self.addCleanup(logs.cleanup)
        self.addCleanup(setattr, projects, "LOGS", projects.LOGS)
        projects.LOGS = logs.name

    def compare(self, command):
        made_up = table.Project("made-up", None, "default", [], ".", None, command, COUNTS)
        return projects.compare(made_up, self.project, {**projects.ENVIRONMENT, "HOME": self.state})

    def assert_different(self, words, command):
        with self.assertRaisesRegex(projects.Different, words):
            self.compare(command)

    def test_an_equal_result(self):
        self.assertRegex(self.compare("echo 3 passed; echo 4 passed; echo not ok; exit 1"),
                         r"^exit 1, 7 passed, 1 failed \(")

    def test_other_results(self):
        self.assert_different("outside exit 0, 1 passed, 0 failed; inside exit 3",
                              f"echo 1 passed; {INSIDE} && exit 3; exit 0")
        self.assert_different("outside exit 0, 1 passed, 0 failed; inside exit 0, 1 passed, 1 failed",
                              f"echo 1 passed; {INSIDE} && echo not ok; exit 0")
        self.assert_different("the suite has not run", "exit 0")

    def test_a_changed_project(self):
        self.addCleanup(setattr, projects, "run_inside", projects.run_inside)
        projects.run_inside = lambda project, workspace: projects.run_outside(
            project, workspace, projects.ENVIRONMENT)
        self.assert_different("changed the project on the host", "echo 1 passed; touch new")


class Unreachable(unittest.TestCase):
    def test_a_source_without_a_mirror_is_skipped(self):
        with tempfile.TemporaryDirectory() as place:
            debian = projects.Debian(place)
            debian.has_lists = True
            self.assertRaises(projects.Unreachable, debian.fetch, "no-such-source", place + "/x")

    def test_an_unknown_name_is_an_error(self):
        self.assertRaisesRegex(SystemExit, "there is no project rails", projects.choose, ["rails"])


if __name__ == "__main__":
    unittest.main()
