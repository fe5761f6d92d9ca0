#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ways to hide files of a persistent sandbox from the count of what they take. Each attack hides and
then writes far more than the profile allows: it is ended with the verdict `disk`. Its control hides
in the same way and writes little: it goes on, is shown, and what it took is told."""
import contextlib
import os
import subprocess
import sys
import tempfile
import time
import unittest

import ground
import leftovers
import modes
import support

MIB = 1 << 20
SMALL = os.environ.get("MSP_TEST_SMALL")  # where this process has a small file system mounted
SMALL_MIB = 128

# More than a count holds open at once, a process may have open, or a path has room for. Making and
# removing them takes the time.
LEVELS = 4000 if modes.EVERY_MODE else 2100
SHUT = 3000 if modes.EVERY_MODE else 1200

DISK_MIB = 16
MUCH_MIB = 96
LITTLE_MIB = 2
PROFILE = f"""name: {{name}}
extends: default
description: for what hides from a count
lasting: {{{{disk: {DISK_MIB}M, inodes: {{inodes}}}}}}
limits:
  wall_default: 100s
  file_size: 1T
"""
FEW = PROFILE.format(name="persistent", inodes=20000)
MANY = PROFILE.format(name="many", inodes=200000).replace(f"{DISK_MIB}M", "64M")

# In the sandbox. `hide` leaves the process in the hiding place; `mib` are written then, slowly.
INSIDE = '''
import os, signal, sys, time
def deep(levels, name="d"):
    for i in range(levels):
        os.mkdir(name)
        os.chdir(name)
def renamed(levels, parts):
    """A chain of chains: no path given to the kernel is long."""
    top = os.open(".", os.O_RDONLY)
    for part in range(parts):
        os.fchdir(top)
        os.mkdir("next")
        os.chdir("next")
        deep(levels, "n" * 200)
        if part:
            os.rename("../" * (levels + 1) + "last", "last")
        os.fchdir(top)
        os.rename("next", "last")
    os.chdir("last")
    while True:
        inner = [name for name in os.listdir() if os.path.isdir(name)]
        if not inner:
            return
        os.chdir(inner[0])
def shut(count):
    """Directories that their owner may not look into, all of them in the last one, and so on."""
    shut.opened = os.open(".", os.O_RDONLY)
    for i in range(count):
        os.mkdir(f"s{i}")
        os.mkdir(f"s{i}/in")
        os.chmod(f"s{i}/in", 0)
        if i:
            os.chmod(f"s{i}", 0)
    os.chdir("s0")
def write(mib, file=None):
    block = os.urandom(1 << 20)
    for i in range(mib):
        fd = file if file is not None else os.open(f"f{i}", os.O_WRONLY | os.O_CREAT, 0o644)
        os.write(fd, block)
        if file is None:
            os.close(fd)
        time.sleep(0.02)
mib, stay = int(sys.argv[1]), int(sys.argv[2])
'''
# The file is all that there is; or, with `keep`, a mapping of a page of it.
WITHOUT_NAME = '''
import mmap
try:
    for i in range(mib):
        os.write(fd, os.urandom(1 << 20))
except OSError as error:
    print(error, end=" ")
if "keep" in globals():
    keep = mmap.mmap(fd, 4096)
    os.closerange(3, 100)  # a mapping of Python's has a descriptor too
print("written", flush=True)
time.sleep(stay)
print("fine")
'''
OUTSIDE = "write(mib); print('written', flush=True); time.sleep(stay); print('fine')"

GROUND = None
LIMITS = None


def setUpModule():
    global GROUND, LIMITS
    if not os.path.exists(os.path.join(support.BIN, "msp-layers")):
        raise unittest.SkipTest("msp-layers is not built")
    GROUND, LIMITS = ground.prepare({"small"}, FEW, MANY)
    print("limits:", LIMITS)


class Case(unittest.TestCase):
    profile = "persistent"
    disk_mib = DISK_MIB

    def setUp(self):
        self.state = tempfile.mkdtemp(prefix="msp-counts-", dir=SMALL or "/var/tmp")
        self.addCleanup(subprocess.run, ["rm", "-rf", self.state], check=True)
        before = os.environ["MSP_STATE_DIR"]
        os.environ["MSP_STATE_DIR"] = self.state
        self.addCleanup(os.environ.update, MSP_STATE_DIR=before)
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.server = stack.enter_context(GROUND.server())

    def tearDown(self):
        self.doCleanups()
        gone = leftovers.wait_gone(time.monotonic())
        self.assertIsNotNone(gone, leftovers.describe(leftovers.living()))

    def create(self, name):
        result = self.server.call("create_sandbox", name=name, profile=self.profile)
        self.assertFalse(result.get("isError"), support.text_of(result))

    def run_in(self, name, command):
        """(verdict, text)"""
        result = self.server.answer(self.server.post("tools/call", {
            "name": "run_command", "arguments": {"argv": command, "sandbox": name,
                                                 "timeout_ms": 100000,
                                                 "yield_ms": support.YIELD_MS}}), timeout=150)
        about = result.get("_meta", {}).get("msp/execution", {})
        return about.get("verdict"), support.text_of(result)

    def bytes_of(self, name):
        """What the list says that a sandbox takes."""
        found = self.server.call("list_sandboxes")["structuredContent"]["sandboxes"]
        row, = (row for row in found if row["name"] == name)
        return row["disk_bytes"]

    def hide(self, script, mib, stay):
        return ["python3", "-c", INSIDE + script, str(mib), str(stay)]

    def check(self, script, then=OUTSIDE):
        script = script + "\n" + then
        self.create("control")
        verdict, text = self.run_in("control", self.hide(script, LITTLE_MIB, 0))
        self.assertEqual((verdict, text.splitlines()[1:2]), ("exited", ["fine"]), text)
        self.assert_works("control")
        self.destroy("control")
        self.create("attack")
        begun = time.monotonic()
        verdict, text = self.run_in("attack", self.hide(script, MUCH_MIB, 60))
        took = time.monotonic() - begun
        self.assertEqual(verdict, "disk", text)
        print(f"\n{self.id().split('.')[-1]}: ended after {took:.1f} s")
        self.assert_over("attack")

    def assert_works(self, name):
        """What it took is told, and what it has is shown."""
        support.wait_until(lambda: self.bytes_of(name) >= LITTLE_MIB * MIB, 30, 0.1)
        self.assertGreaterEqual(self.bytes_of(name), LITTLE_MIB * MIB)
        self.assertLess(self.bytes_of(name), self.disk_mib * MIB)
        verdict, text = self.run_in(name, ["true"])
        self.assertEqual(verdict, "exited", text)

    def assert_over(self, name):
        """Nothing more is written in it, and it can be removed."""
        verdict, text = self.run_in(name, ["sh", "-c", "echo more >more"])
        self.assertEqual(verdict, "disk", text)
        self.assertIn("remove files", text)
        self.assertGreater(self.bytes_of(name), self.disk_mib * MIB)
        self.destroy(name)

    def destroy(self, name):
        """And all of its files are removed."""
        result = self.server.call("destroy_sandbox", sandbox=name)
        self.assertFalse(result.get("isError"), support.text_of(result))
        trash = os.path.join(self.state, "trash")
        end = time.monotonic() + 60
        while os.listdir(trash) and time.monotonic() < end:
            time.sleep(0.1)
        self.assertEqual(os.listdir(trash), [], "it is not removed")


class Deep(Case):
    def test_path_beyond_a_page(self):
        self.check("deep(50, 'd' * 200)")

    def test_path_beyond_64_kib(self):
        self.check("deep(300, 'd' * 255)")

    def test_chains_put_together_by_renaming(self):
        self.check("renamed(15, 6)")


class Levels(Case):
    profile = "many"
    disk_mib = 64

    def test_many_levels(self):
        """An overlay takes minutes for ten times as many; tests/unit/layers has those."""
        self.check(f"deep({LEVELS})")


class Shut(Case):
    profile = "many"
    disk_mib = 64

    @unittest.skipIf(os.environ.get("MSP_VM"), "an emulator takes too long to shut so many")
    def test_many(self):
        self.check(f"shut({SHUT})", then="write(mib); os.chmod('.', 0); print('written', flush=True); "
                   "time.sleep(stay); print('fine')")


class Names(Case):
    def test_sparse_and_linked(self):
        """A hole and a thousand names are no files: with them, little is still little."""
        self.check("fd = os.open('hole', os.O_WRONLY | os.O_CREAT); os.ftruncate(fd, 1 << 36)\n"
                   "[os.link('hole', f'l{i}') for i in range(1000)]")


if SMALL:
    class Without(Case):
        """Files without a name, on a file system of this size; see Unlinked."""
        def hidden(self, way, mib, stay):
            return self.run_in("box", self.hide(way + WITHOUT_NAME, mib, stay))

        def check_hidden(self, way):
            self.create("box")
            verdict, text = self.hidden(way, SMALL_MIB // 2, 5)
            self.assertEqual((verdict, text.splitlines()[1:2]), ("exited", ["fine"]), text)
            begun = time.monotonic()
            verdict, text = self.hidden(way, SMALL_MIB, 60)
            self.assertEqual(verdict, "disk", text)
            print(f"ended after {time.monotonic() - begun:.1f} s")
            self.assertGreater(os.statvfs(SMALL).f_bavail * os.statvfs(SMALL).f_frsize,
                               SMALL_MIB * MIB * 3 // 4, "it is still taken")
            verdict, text = self.run_in("box", ["true"])
            self.assertEqual(verdict, "exited", text)

        def test_removed(self):
            self.check_hidden("fd = os.open('x', os.O_RDWR | os.O_CREAT); os.unlink('x')\n")

        def test_never_named(self):
            self.check_hidden("fd = os.open('.', os.O_RDWR | os.O_TMPFILE)\n")

        def test_mapped_only(self):
            self.check_hidden("fd = os.open('.', os.O_RDWR | os.O_TMPFILE)\nkeep = True\n")


class Unlinked(unittest.TestCase):
    """No count sees a file that is open and has no name: what runs ends when the file system of the
    state directory is nearly full, and with it the files."""
    SCRIPT = (f'mount -t tmpfs -o mode=0700,size={SMALL_MIB}M none "$MSP_TEST_SMALL" && '
              'exec setpriv --inh-caps=-all --ambient-caps=-all "$@"')

    def inside(self, name):
        with tempfile.TemporaryDirectory(prefix="msp-test-", dir="/var/tmp") as folder:
            result = subprocess.run(
                ["unshare", "--user", "--map-current-user", "--keep-caps", "--mount", "--",
                 "/bin/sh", "-c", self.SCRIPT, "sh", sys.executable, "-B", __file__,
                 "Without." + name],
                env={**os.environ, "MSP_TEST_SMALL": folder}, stdin=subprocess.DEVNULL, text=True,
                capture_output=True, timeout=200, check=False)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_removed(self):
        self.inside("test_removed")

    def test_never_named(self):
        self.inside("test_never_named")

    def test_mapped_only(self):
        self.inside("test_mapped_only")


if __name__ == "__main__":
    ground.main()
