#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plans of earlier starts: found only for the same configuration, program and user, and never
in place of a check."""
import os
import pwd
import subprocess
import unittest

import support
from config_support import WithFolder

NORTH = "default_profile: a\nprofiles:\n  - name: a\n    extends: default\n    environment: [WAY=north]\n"
SOUTH = NORTH.replace("north", "south")
HEAD = 32  # the key's digest


class Cache(WithFolder):
    variables = {}  # in place of those of a home of its own

    def setUp(self):
        super().setUp()
        self.config = self.write(NORTH)
        self.cache = os.path.join(self.folder, "home/.cache/msp")

    def run_way(self):
        return self.run_msp("sh", "-c", "echo $WAY", options=("--config", self.config),
                            **self.variables)

    def expect(self, way):
        result = self.run_way()
        self.assertEqual((result.stdout, result.returncode), (way + "\n", 0), result.stderr)

    def slot(self):
        names = os.listdir(self.cache)
        self.assertEqual(len(names), 1, names)
        return os.path.join(self.cache, names[0])

    def read_slot(self):
        with open(self.slot(), "rb") as file:
            return file.read()

    def write_slot(self, content):
        with open(self.slot(), "wb") as file:
            file.write(content)

    def compile(self, text):
        return subprocess.run([os.path.join(support.BIN, "msp-policy"), "compile", "--fd", "1",
                               "--config", self.write(text, "other.yaml")],
                              capture_output=True, check=True).stdout

    def forge(self, plan, key=None):
        """A slot with another plan; the control of all refusals is that this one is taken."""
        self.write_slot((key or self.read_slot()[:HEAD]) + plan)

    def test_the_second_start_compiles_nothing(self):
        self.expect("north")
        first = os.stat(self.slot())
        self.expect("north")
        self.assertEqual(os.stat(self.slot()).st_ino, first.st_ino)
        self.assertEqual(first.st_mode & 0o777, 0o600)
        self.forge(self.compile(SOUTH))
        self.expect("south")

    def test_a_changed_configuration(self):
        self.expect("north")
        self.write(SOUTH)
        self.expect("south")
        self.write(NORTH)
        self.expect("north")
        self.slot()

    def test_a_file_that_others_can_write(self):
        self.expect("north")
        os.chmod(self.config, 0o666)
        result = self.run_way()
        self.assertEqual(result.returncode, 78)
        self.assertIn("write", result.stderr)
        os.chmod(self.config, 0o644)
        self.expect("north")

    def test_a_broken_configuration(self):
        self.expect("north")
        self.write("defualt_profile: a\n")
        result = self.run_way()
        self.assertEqual(result.returncode, 78)
        self.assertIn(":1: ", result.stderr)

    def test_what_is_no_slot(self):
        """It is compiled anew, and kept."""
        self.expect("north")
        whole = self.read_slot()
        south = self.compile(SOUTH)
        for name, content in (("empty", b""), ("cut", whole[:-1]), ("head", whole[:HEAD]),
                              ("longer", whole + b"x"), ("another key", bytes(HEAD) + south),
                              ("no plan", whole[:HEAD] + b"x" * 999)):
            with self.subTest(slot=name):
                self.write_slot(content)
                self.expect("north")
                self.assertEqual(self.read_slot(), whole)

    def test_a_link(self):
        self.expect("north")
        slot = self.slot()
        self.forge(self.compile(SOUTH))
        elsewhere = os.path.join(self.folder, "slot")
        os.rename(slot, elsewhere)
        os.symlink(elsewhere, slot)
        self.expect("north")
        self.assertFalse(os.path.islink(slot))

    def test_a_directory_that_others_can_write(self):
        self.expect("north")
        self.forge(self.compile(SOUTH))
        os.chmod(self.cache, 0o777)
        self.expect("north")
        os.chmod(self.cache, 0o700)
        self.expect("south")

    @unittest.skipIf(os.path.isdir(pwd.getpwuid(os.getuid()).pw_dir), "this account has a home")
    def test_an_account_without_a_home(self):
        """Its plans are kept in memory."""
        self.cache = f"/dev/shm/msp-{os.getuid()}"
        self.variables = {"HOME": "/nonexistent",
                          "MSP_STATE_DIR": os.path.join(self.folder, "state")}
        before = self.kept()
        self.expect("north")
        (slot,) = self.kept() - before
        self.addCleanup(os.unlink, os.path.join(self.cache, slot[0]))
        self.slot = lambda: os.path.join(self.cache, slot[0])
        self.assertEqual(os.stat(self.slot()).st_mode & 0o777, 0o600)
        self.expect("north")
        self.assertEqual(self.kept() - before, {slot})
        self.forge(self.compile(SOUTH))
        self.expect("south")
        os.chmod(self.cache, 0o750)
        self.addCleanup(os.chmod, self.cache, 0o700)
        self.expect("north")

    @unittest.skipIf(os.path.isdir(pwd.getpwuid(os.getuid()).pw_dir), "this account has a home")
    def test_beside_an_account_with_a_home(self):
        """What is watched is the same, so that neither makes the other compile anew."""
        self.expect("north")
        mine = os.stat(self.slot()).st_ino
        self.test_an_account_without_a_home()
        self.cache = os.path.join(self.folder, "home/.cache/msp")
        del self.slot
        self.variables = {}
        os.chmod(f"/dev/shm/msp-{os.getuid()}", 0o700)
        self.expect("north")
        self.assertEqual(os.stat(self.slot()).st_ino, mine)

    def kept(self):
        return {(name, os.stat(os.path.join(self.cache, name)).st_ino)
                for name in os.listdir(self.cache) if name.startswith("plan-")}

    def test_no_room(self):
        """A cache that cannot be made is none."""
        os.makedirs(os.path.join(self.folder, "home"), exist_ok=True)
        with open(os.path.join(self.folder, "home/.cache"), "w", encoding="ascii"):
            pass
        self.expect("north")


if __name__ == "__main__":
    unittest.main()
