#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Workspaces with files of other owners and groups, which only root can make. Root also makes a
sandbox's layer as it is without the preparation: then each change fails with EOVERFLOW."""
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import support  # noqa: E402  (its folder is known from here on)
from cli_tty import Terminal  # noqa: E402
from persistent_support import msp  # noqa: E402

ACCOUNT = "msp"
LARGE = 2 << 20
OVERFLOW = "Value too large for defined data type"


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class ForeignCase(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="msp-persistent-", dir="/var/tmp")
        self.addCleanup(place.cleanup)
        self.addCleanup(support.remove_folder, place.name)
        os.chmod(place.name, 0o755)
        self.account = pwd.getpwnam(ACCOUNT)
        self.state = os.path.join(place.name, "state")
        self.project = os.path.join(place.name, "project")
        for path in (self.state, self.project):
            os.mkdir(path)
        os.chmod(self.state, 0o700)
        os.chown(self.state, self.account.pw_uid, self.account.pw_gid)
        before = os.environ.get("MSP_STATE_DIR")
        os.environ["MSP_STATE_DIR"] = self.state
        self.addCleanup(lambda: os.environ.update(MSP_STATE_DIR=before) if before
                        else os.environ.pop("MSP_STATE_DIR"))
        self.give("", self.account.pw_gid)

    def give(self, path, group, owner=None):
        os.chown(os.path.join(self.project, path), self.account.pw_uid if owner is None else owner,
                 group, follow_symlinks=False)

    def put(self, path, data, group=0, owner=None, mode=0o644):
        whole = os.path.join(self.project, path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, "w", encoding="utf-8") as file:
            file.write(data)
        os.chmod(whole, mode)
        self.give(path, group, owner)

    def get(self, path):
        with open(os.path.join(self.project, path), encoding="utf-8") as file:
            return file.read()

    def create(self):
        """The new sandbox's id, what was counted, and the lines."""
        time.sleep(0.05)  # the host's files are older than the sandbox
        made = msp("create", "--workspace", self.project, "--json")
        found = json.loads(made.stdout)
        self.addCleanup(msp, "destroy", found["id"], code=None)
        return found["id"], found["foreign"], made.stderr

    def sh(self, box, script):
        time.sleep(0.02)
        return msp("exec", box, "--", "bash", "-c", script, code=None)

    def changes(self, box):
        found = json.loads(msp("diff", box, "--json").stdout)
        return {change["path"]: change["kind"] for change in found["changes"]}

    def team_project(self):
        """A directory of a team's group, as after `chgrp -R` and `chmod g+s`."""
        self.put("src/a", "a\n")
        self.put("src/deep/b", "b\n")
        self.put("own", "own\n", group=self.account.pw_gid)
        os.symlink("a", os.path.join(self.project, "src/link"))
        for path in ("src", "src/deep", "src/link"):
            self.give(path, 0)
        os.chmod(os.path.join(self.project, "src"), 0o2775)


class Prepared(ForeignCase):
    def test_each_change_succeeds_and_is_applied(self):
        self.team_project()
        box, foreign, lines = self.create()
        self.assertEqual(foreign, {"total": 5, "prepared": 5, "unchangeable": 0,
                                   "searched": 6, "complete": True})
        self.assertIn("3 files and 2 directories", lines)
        self.assertEqual(self.changes(box), {})
        done = self.sh(box, "set -e; cd /workspace; echo x >> src/a; echo n > src/deep/new; "
                            "mv src/deep/b src/c; rm src/link; chmod 700 src/deep")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.changes(box), {
            "src/a": "modified", "src/c": "renamed", "src/deep": "mode", "src/deep/new": "added",
            "src/link": "deleted"})
        msp("apply", box)
        self.assertEqual((self.get("src/a"), self.get("src/c")), ("a\nx\n", "b\n"))
        for path in ("src", "src/deep"):
            is_now = os.stat(os.path.join(self.project, path))
            self.assertEqual((is_now.st_uid, is_now.st_gid), (self.account.pw_uid, 0), path)
        msp("undo", box)
        self.assertEqual((self.get("src/a"), self.get("src/deep/b")), ("a\n", "b\n"))

    def test_without_the_preparation_each_change_fails(self):
        self.team_project()
        box, _, _ = self.create()
        layers = os.path.join(self.state, "layers")
        for layer in os.listdir(layers):
            shutil.rmtree(os.path.join(layers, layer, "workspace"))
        for script in ("echo x >> src/a", "echo n > src/deep/new", "mv src/deep/b src/c"):
            done = self.sh(box, f"cd /workspace; {script}")
            self.assertEqual(done.returncode, 1, script)
            self.assertIn(OVERFLOW, done.stderr, script)
        self.assertEqual(self.sh(box, "echo x >> /workspace/own").returncode, 0)

    def test_a_copy_keeps_time_and_mode(self):
        self.put("old", "old\n", mode=0o640)
        os.utime(os.path.join(self.project, "old"), (10 ** 9, 10 ** 9))
        box, _, _ = self.create()
        self.assertEqual(self.sh(box, "stat -c '%Y %a %u' /workspace/old").stdout,
                         "1000000000 640 1000\n")

    def test_a_change_of_the_host_is_not_the_sandboxes(self):
        self.team_project()
        self.put("src/gone", "gone\n")
        box, _, _ = self.create()
        self.assertEqual(self.sh(box, "echo x >> /workspace/src/a").returncode, 0)
        self.put("src/deep/b", "host\n")
        os.remove(os.path.join(self.project, "src/gone"))
        self.assertEqual(self.changes(box), {"src/a": "modified"})
        msp("apply", box)
        self.assertEqual((self.get("src/a"), self.get("src/deep/b")), ("a\nx\n", "host\n"))
        self.assertFalse(os.path.exists(os.path.join(self.project, "src/gone")))

    def test_a_change_of_both_is_a_conflict(self):
        self.team_project()
        box, _, _ = self.create()
        self.assertEqual(self.sh(box, "echo x >> /workspace/src/a").returncode, 0)
        self.put("src/a", "host\n")
        self.assertNotEqual(msp("apply", box, code=None).returncode, 0)
        self.assertEqual(self.get("src/a"), "host\n")


class Left(ForeignCase):
    def test_what_the_user_may_not_write_stays_so(self):
        self.put("roots", "r\n", owner=0)
        self.put("large", "x" * LARGE)
        self.put("closed/in/it", "c\n", owner=0)
        for path in ("closed", "closed/in"):
            self.give(path, 0, 0)
        box, foreign, lines = self.create()
        self.assertEqual(foreign, {"total": 5, "prepared": 0, "unchangeable": 5,
                                   "searched": 5, "complete": True})
        for name in ("roots", "large", "closed/"):
            self.assertIn(f"cannot be changed in the sandbox: {name}\n", lines)
        self.assertNotIn("closed/in", lines)
        self.assertIn("Permission denied", self.sh(box, "echo x >> /workspace/roots").stderr)
        done = self.sh(box, "echo x >> /workspace/large")
        self.assertIn(OVERFLOW, done.stderr)
        self.assertEqual(self.changes(box), {})

    def test_a_failing_program_gets_the_cause(self):
        self.put("large", "x" * LARGE)
        box, _, _ = self.create()
        result = msp("exec", "--json", box, "--", "bash", "-c", "echo x >> /workspace/large",
                     code=None)
        self.assertIn("another owner or group", result.stdout)

    def test_a_person_gets_the_cause(self):
        self.put("large", "x" * LARGE)
        box, _, _ = self.create()
        words = ["exec", *support.limits(), box, "--", "sh", "-c", "cp /dev/null /workspace/large"]
        for stdin in (None, subprocess.DEVNULL):  # with a terminal of the command's own, and without
            terminal = Terminal(words=words, stdin=stdin)
            self.assertEqual(terminal.end()[0], 1)
            text = terminal.seen.decode()
            self.assertIn(OVERFLOW, text)
            self.assertIn("msp: exec: denied (inferred): write /workspace/large by mounts: it has "
                          "another owner or group on the host: ", text)
            self.assertIn("chown it", text)

    def test_a_project_that_the_account_may_not_write_is_named(self):
        self.give("", 0, 0)
        _, _, lines = self.create()
        self.assertIn("is not writable for the account", lines)
        self.assertIn("Chown", lines)

    def test_a_search_ends(self):
        for number in range(50001):
            os.mknod(os.path.join(self.project, str(number)), 0o644)
        box, foreign, lines = self.create()
        self.assertEqual((foreign["complete"], foreign["searched"]), (False, 50000))
        self.assertIn("only its first 50000 names were searched", lines)


if __name__ == "__main__":
    unittest.main(verbosity=2)
