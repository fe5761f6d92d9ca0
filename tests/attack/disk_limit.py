#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A hostile workload in a persistent sandbox beyond its disk limit: commands begin there, so that they
can remove files, and no number of them takes more of the disk. The control is each barrier left out:
then exactly the ways that it closes are open."""
import os
import sys
import unittest
from unittest import mock

import probes

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "integration"))
import support  # noqa: E402  (a folder of its own)
from persistent_support import PersistentCase, msp  # noqa: E402

CONFIGURATION = """profiles:
  - name: small
    extends: default
    lasting: {disk: 16M}
"""
# Each way to have the disk take more, by its name. `sparse` has holes, `owned` is the host's.
GROW = """
import ctypes, mmap, os, signal
libc = ctypes.CDLL(None, use_errno=True)
MANY = bytes(1 << 20)

def fill(path, flags=os.O_RDWR):
    file = os.open(path, flags, 0o644)
    try:
        return file, os.write(file, MANY)
    except OSError:
        os.close(file)
        raise

def holes():
    file = os.open("sparse", os.O_RDWR)
    with mmap.mmap(file, 1 << 20) as shown:
        shown[:] = b"x" * len(shown)

def reserve():
    file = os.open("sparse", os.O_RDWR)
    if libc.fallocate(file, 1, ctypes.c_long(0), ctypes.c_long(1 << 20)) != 0:
        raise OSError(ctypes.get_errno(), "fallocate")

ways = {
    "append": lambda: fill("sparse", os.O_WRONLY | os.O_APPEND),
    "make": lambda: fill("made", os.O_CREAT | os.O_RDWR),
    "home": lambda: fill(os.path.expanduser("~/made"), os.O_CREAT | os.O_RDWR),
    "unnamed": lambda: fill(".", os.O_TMPFILE | os.O_RDWR),
    "lengthen": lambda: os.truncate("sparse", 8 << 20),
    "holes": holes,
    "reserve": reserve,
    "directory": lambda: os.mkdir("directory"),
    "link": lambda: os.link("sparse", "linked"),
    "symlink": lambda: os.symlink("sparse", "symlinked"),
    "fifo": lambda: os.mkfifo("fifo"),
    "mode": lambda: os.chmod("owned", 0o600),
    "times": lambda: os.utime("owned"),
}
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
for name, way in ways.items():
    try:
        way()
        print(name)
    except OSError:
        pass
print("tried")
"""
# The kernel copies a file of the host up into the sandbox's layer.
COPIED = {"mode", "times"}
# The file size limit is reached by what has a size.
SIZED = {"append", "make", "home", "unnamed", "lengthen"}
SHAPED = {"holes", "reserve", "directory", "link", "symlink", "fifo"}


def setUpModule():
    probes.needs_ordinary_user()


class DiskLimit(PersistentCase):
    def setUp(self):
        super().setUp()
        with open(os.path.join(self.project, "owned"), "wb") as file:
            file.write(bytes(range(256)) * 4096)
        path = os.path.join(os.path.dirname(self.state), "config.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(CONFIGURATION)
        self.environment = {**os.environ, "MSP_CONFIG": path}

    def msp(self, *words, **keywords):
        return msp(*words, env=self.environment, **keywords)

    def make(self):
        """A sandbox with a file that has holes."""
        box = self.msp("create", "--profile=small", "--workspace", self.project).stdout.strip()
        self.addCleanup(msp, "destroy", box, code=None)
        self.msp("exec", box, "--", "truncate", "-s", "4M", "sparse")
        return box

    def make_full(self):
        box = self.make()
        self.msp("exec", box, "--", "sh", "-c", "head -c 20M /dev/zero > big", code=None)
        return box

    def grow(self, box):
        """The ways that were open."""
        result = self.msp("exec", box, "--", "python3", "-c", GROW, code=None)
        *ways, last = result.stdout.split()
        self.assertEqual(last, "tried", result.stderr)
        return set(ways)

    def blocks(self):
        """What all sandboxes take of the disk."""
        layers = os.path.join(self.state, "layers")
        return sum(os.lstat(os.path.join(folder, name)).st_blocks
                   for folder, folders, names in os.walk(layers) for name in names + folders)

    def test_beyond_it_no_way_is_open(self):
        box = self.make_full()
        before = self.blocks()
        for _ in range(3):
            self.assertEqual(self.grow(box), set())
        self.assertLessEqual(self.blocks(), before)
        self.msp("exec", box, "--", "rm", "big")
        self.assertIn("append", self.grow(box))

    def test_within_it_each_is(self):
        """The first control."""
        self.assertEqual(self.grow(self.make()), COPIED | SIZED | SHAPED)

    def test_without_a_barrier(self):
        """The second: Landlock and the file size limit close each what the other does not."""
        for without, ways in (("landlock", SHAPED), ("rlimits", COPIED)):
            program = os.path.join(probes.programs(without), "msp")
            with self.subTest(without=without), mock.patch.object(support, "MSP", program):
                self.assertEqual(self.grow(self.make_full()), ways)


if __name__ == "__main__":
    unittest.main()
