#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the operator lets persistent sandboxes take, with a configuration of the test's own: how many
there are, and how much of the disk one has, with everything that its checkpoints keep."""
import json
import os
import unittest

import leftovers
import support
from persistent_support import PersistentCase, msp

LIMIT = 4 << 20
SMALL = """profiles:
  - name: small
    extends: default
    lasting: {disk: 4M}
"""


def setUpModule():
    leftovers.become_reaper()
    if not os.path.exists(os.path.join(support.BIN, "msp-layers")):
        raise unittest.SkipTest("msp-layers is not built")


class LimitCase(PersistentCase):
    def configure(self, text):
        path = os.path.join(os.path.dirname(self.state), "config.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        self.environment = {**os.environ, "MSP_CONFIG": path}

    def msp(self, *words, **keywords):
        return msp(*words, env=self.environment, **keywords)

    def refused(self, *words, code, says):
        result = self.msp(*words, code=code)
        self.assertRegex(result.stderr, rf"\Amsp: {words[0]}: [^\n]+\n\Z")
        self.assertRegex(result.stderr, says)


class Nothing(LimitCase):
    def test_none_are_none(self):
        self.configure("sandboxes: {most: 0}\n")
        self.refused("create", code=75, says="0 of 0 sandboxes")
        self.configure("sandboxes: {disk: 0}\n")
        self.refused("create", code=75, says="0 of 0 MiB")
        self.assertEqual(json.loads(self.msp("list", "--json").stdout)["sandboxes"], [])


class Disk(LimitCase):
    def setUp(self):
        super().setUp()
        self.configure(SMALL)
        self.box = self.msp("create", "--profile=small").stdout.strip()
        self.addCleanup(msp, "destroy", self.box, code=None)
        self.msp("checkpoint", self.box, "empty")

    def fill(self, name, code=0):
        return self.msp("exec", self.box, "--", "sh", "-c", f"head -c 3M /dev/zero > {name}",
                        code=code)

    def nothing_is_written(self):
        result = self.msp("exec", self.box, "--", "sh", "-c", "echo more > more", code=None)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("limit", result.stderr)
        self.assertNotIn("more", self.msp("exec", self.box, "--", "ls").stdout)

    def taken(self):
        """By msp, and as the file system has it."""
        layers = os.path.join(self.state, "layers")
        real = sum(os.lstat(os.path.join(folder, name)).st_blocks * 512
                   for folder, _, names in os.walk(layers) for name in names)
        said = json.loads(self.msp("list", "--json").stdout)["sandboxes"][0]["disk_bytes"]
        return said, real

    def test_checkpoints_do_not_go_around_it(self):
        """Filled, saved and rolled back: what was filled is there for the checkpoint."""
        rounds = 0
        while rounds < 6 and self.fill("big", code=None).returncode == 0:
            self.msp("checkpoint", self.box, f"full{rounds}")
            self.msp("rollback", self.box, "empty")
            rounds += 1
        self.assertLess(rounds, 3)
        said, real = self.taken()
        self.assertGreaterEqual(said, real)
        self.assertLess(real, 3 * LIMIT)
        self.nothing_is_written()
        for number in range(rounds):
            self.msp("forget", self.box, f"full{number}")
        self.assertLess(self.taken()[0], LIMIT)
        self.fill("again")

    def test_what_is_beyond_it_can_be_left(self):
        self.fill("first")
        self.msp("checkpoint", self.box, "first")
        self.fill("second", code=None)
        self.nothing_is_written()
        self.assertIn("second", self.msp("diff", self.box, "--name-only").stdout)
        self.msp("rollback", self.box, "first")
        self.assertEqual(self.msp("exec", self.box, "--", "ls").stdout, "first\n")

    def test_what_is_removed_makes_room(self):
        self.fill("first")
        self.fill("second", code=None)
        self.nothing_is_written()
        self.msp("exec", self.box, "--", "rm", "second")
        self.msp("exec", self.box, "--", "sh", "-c", "echo more > more")
        self.assertEqual(self.msp("exec", self.box, "--", "ls").stdout, "first\nmore\n")


# Deep directories with many files, whose bases take long to be noted, and then the disk. A command
# that is not ended says so.
SLOW_TREE = """
import os, sys, time
os.chdir("/workspace"); os.mkdir("tree"); os.chdir("tree")
for level in range(int(sys.argv[1])):
    os.mkdir("a"); os.chdir("a")
for number in range(int(sys.argv[2])):
    os.close(os.open("f%d" % number, os.O_CREAT | os.O_WRONLY))
os.chdir("/workspace")
begin = time.monotonic()
with open("big", "wb", 0) as file:
    while time.monotonic() - begin < 40:
        file.write(os.urandom(1 << 20)); time.sleep(0.2)
print("not ended")
"""


class Slow(LimitCase):
    """A count must not wait for what a workload makes slow."""

    def run_beyond(self, *numbers):
        """How many bytes a command of 8 MiB wrote until it was ended."""
        self.configure(SMALL.replace("4M", "8M"))
        box = self.msp("create", "--profile=small", "--workspace", self.project).stdout.strip()
        self.addCleanup(msp, "destroy", box, code=None)
        result = self.msp("exec", box, "--", "python3", "-c", SLOW_TREE, *map(str, numbers),
                          code=None, timeout=150)
        self.assertNotIn("not ended", result.stdout)
        self.assertIn("disk", result.stderr)
        layers = os.path.join(self.state, "layers")
        return sum(os.lstat(os.path.join(folder, "big")).st_size
                   for folder, _, names in os.walk(layers) if "big" in names)

    def test_a_deep_tree(self):
        self.assertLess(self.run_beyond(900, 20000), 64 << 20)

    def test_a_flat_one(self):
        """The control."""
        self.assertLess(self.run_beyond(0, 10), 64 << 20)


if __name__ == "__main__":
    unittest.main()
