#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""import_files: files of a directory of the host in a sandbox that has another workspace, or none."""
import os
import re
import unittest

import support
from persistent_support import PersistentCase


class Import(PersistentCase):
    def setUp(self):
        super().setUp()
        self.put("data/x.csv", "1,2\n")
        self.put("data/sub/run.sh", "#!/bin/sh\necho ran\n", 0o755)
        self.put("other/secret", "closed\n", 0)
        self.server = support.Server("--standalone", "--workspace", self.project)
        self.addCleanup(self.server.close)
        self.server.initialize()
        self.server.call("create_sandbox", 60, name="box")
        self.data = os.path.join(self.project, "data")

    def bring(self, source, **arguments):
        """Whether it failed, and the text."""
        result = self.server.call("import_files", 90, **{"sandbox": "box", "from": source, **arguments})
        return result["isError"], support.text_of(result)

    def run_in(self, command):
        return support.text_of(self.server.call("run_command", 90, sandbox="box", command=command))

    def sandboxes(self):
        found = self.server.call("list_sandboxes")["structuredContent"]["sandboxes"]
        return [row["name"] for row in found if row["kind"] == "persistent"]

    def test_a_directory(self):
        failed, text = self.bring(self.data, to="in")
        self.assertEqual((failed, text), (False, f"2 files (23 bytes) were imported from {self.data} "
                                                 "to \"in\" in the sandbox."))
        self.assertIn("1,2\nran\n[exit 0", self.run_in("cat in/x.csv; in/sub/run.sh"))
        self.assertEqual(self.sandboxes(), ["box"])

    def test_chosen_files_and_directories(self):
        self.put("data/left", "left\n")
        failed, text = self.bring(self.data, paths=["x.csv", "sub"], to="/home/agent/in")
        self.assertFalse(failed, text)
        self.assertIn("/home/agent/in\n/home/agent/in/sub\n/home/agent/in/sub/run.sh\n"
                      "/home/agent/in/x.csv\n[exit 0", self.run_in("find ~/in | sort"))
        self.put("data/x.csv", "new\n")  # it replaces what is there
        self.assertFalse(self.bring(self.data, paths=["x.csv"], to="/home/agent/in")[0])
        self.assertIn("new\n[exit", self.run_in("cat ~/in/x.csv"))

    def test_what_is_left_out_is_named(self):
        self.put("data/big", b"x" * (5 << 20))
        os.symlink("x.csv", os.path.join(self.data, "link"))
        os.mkfifo(os.path.join(self.data, "fifo"))
        self.assertRegex(self.bring(self.data, paths=["none", "x.csv"])[1],
                         r"^1 file \(4 bytes\) was .*\n\[left out: none \(does not exist\)\]$")
        failed, text = self.bring(self.data)
        self.assertFalse(failed, text)
        for part in ("2 files ", 'to "/workspace" in', "link (symbolic link)", "fifo (FIFO)",
                     "big (larger than 4 MiB)"):
            self.assertIn(part, text)
        failed, text = self.bring(os.path.join(self.project, "other"))
        self.assertRegex(text, r"^0 files .*\n\[left out: secret \(is refused ")

    def test_what_cannot_be(self):
        for source, more, says in (
                ("data", {}, "must be an absolute path of a directory"),
                (os.path.join(self.data, "x.csv"), {}, "it is no directory"),
                (os.path.dirname(self.project), {}, "it lies in none of the directories"),
                (self.state, {}, "it lies in none of the directories"),
                ("/etc", {}, "it lies in none of the directories"),
                (self.data, {"paths": ["../other"]}, 'without ".."'),
                (self.data, {"to": "~/in"}, "must be a directory of the sandbox"),
                (self.data, {"to": "/etc/in"}, "cannot be written"),
                (self.data, {"sandbox": "none"}, "There is no sandbox \"none\"")):
            with self.subTest(source=source, more=more):
                failed, text = self.bring(source, **more)
                self.assertTrue(failed, text)
                self.assertIn(says, text)
        self.assertEqual(self.sandboxes(), ["box"])
        self.assertFalse(self.bring(self.data)[0], "the control")

    def test_too_many_files(self):
        for number in range(501):
            self.put(f"many/{number}", "")
        failed, text = self.bring(os.path.join(self.project, "many"))
        self.assertTrue(failed, text)
        self.assertRegex(text, "^There are more than 500 files. Choose some with `paths`. 0 files")
        self.assertTrue(re.search("^2 files", self.bring(os.path.join(self.project, "many"),
                                                         paths=["1", "2"])[1]))


if __name__ == "__main__":
    unittest.main()
