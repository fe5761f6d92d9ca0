#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An import or a commit that is killed, or whose disk is full, at any system call: the store has the image whole or
not at all, other images stay, and the next command removes what was left."""
import errno
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import faults  # noqa: E402
import image_store  # noqa: E402
import images_support  # noqa: E402  (faults knows its folder)
from images_support import Image, device, entry, hard_link, layer, sha256, symlink  # noqa: E402

INJECT = faults.tool("inject")
LOWER = layer(entry("etc"), entry("etc/name", "x" * 5000))
UPPER = layer(entry("usr"), entry("usr/big", os.urandom(600_000)), hard_link("usr/same", "usr/big"),
              symlink("bin", "usr"), entry("etc"), entry("etc/.wh.name", ""), device("null", 1, 3),
              entry("usr/.wh..wh..opq", ""), entry("usr/big", "again"), entry("d/e/f", "f"))
MSP = 1
# Calls that change files or bring something that changes are made with, and how many places of each
# process are tried. ENOSPC for those that can have it, EIO for others.
FULL = ("openat", "mkdirat", "write", "pwrite64", "renameat", "symlinkat", "linkat", "mknodat", "fsetxattr",
        "ftruncate", "fsync", "syncfs")
OTHERS = ("openat2", "read", "lseek", "fchmod", "utimensat", "unlinkat", "newfstatat", "flock", "mmap",
          "getdents64", "poll", "vfork", "pipe2")
seen = {"kill": 0, "old": 0, "new": 0, "error": 0}


def setUpModule():
    faults.prepare("inject")


def tearDownModule():
    print(f"images: {seen}", file=sys.stderr)


class Faults:
    """A command that brings the image new:1 into a store which has old:1."""
    most_kills, most_errors = 30, 20
    hit_share = 2

    @classmethod
    def setUpClass(cls):
        cls.store = images_support.Store(tempfile.mkdtemp())
        cls.addClassCleanup(cls.store.close)
        cls.environment = {**os.environ, "MSP_STATE_DIR": cls.store.state}
        cls.prepare()
        cls.kept = cls.store.images + ".kept"
        shutil.copytree(cls.store.images, cls.kept, symlinks=True)
        cls.before = cls.store.contents()
        cls.count()  # what is kept for later commands is made by a process of its own
        cls.reset()
        cls.counts = cls.count()
        cls.unpacker = max(role for role, call in cls.counts if call == "fsetxattr")
        cls.reader = cls.unpacker + 1  # its second thread
        cls.after = cls.store.contents()
        assert cls.after != cls.before and len(cls.store.msp("list").stdout.splitlines()) == 3

    @classmethod
    def bring(cls, case):
        """(CompletedProcess, report) of an import in which the case happens."""
        with tempfile.NamedTemporaryFile("r", prefix="msp-test-") as report:
            done = subprocess.run(
                [INJECT, report.name, *map(str, case), images_support.MSP, *cls.words],
                env={**cls.environment, "MSP_TRACE_STEWARDS": "1"}, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False)
            return done, report.read()

    @classmethod
    def count(cls):
        done, report = cls.bring((0, "openat", 0, 0))
        assert done.returncode == 0, done.stderr
        return {(int(role), call): int(number) for role, call, number in
                re.findall(r"(?m)^(\d+) (\S+) (\d+)$", report)}

    @classmethod
    def reset(cls):
        shutil.rmtree(cls.store.images)
        shutil.copytree(cls.kept, cls.store.images, symlinks=True)

    def cases(self, calls):
        return [(role, call, number) for role in (MSP, self.unpacker, self.reader) for call in calls
                for number in range(1, self.counts.get((role, call), 0) + 1)]

    def check_after(self):
        """The next command leaves the old state or the new one."""
        shown = self.store.msp("show", "old:1")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        pruned = self.store.msp("prune")
        self.assertEqual(pruned.returncode, 0, pruned.stderr)
        found = self.store.contents()
        differing = [sorted(name for name in {*found, *state} if found.get(name, 0) != state.get(name, 0))
                     for state in (self.before, self.after)]
        self.assertIn([], differing)
        seen["new" if found == self.after else "old"] += 1
        return found == self.after

    def test_calls_are_counted(self):
        for call in ("renameat", "syncfs"):
            self.assertGreater(self.counts.get((MSP, call), 0), 0, (call, self.counts))
        for call in ("mknodat", "linkat", "fsetxattr", "pwrite64", "openat2"):
            self.assertGreater(self.counts.get((self.unpacker, call), 0), 0, (call, self.counts))
        self.assertGreater(self.counts.get((self.reader, "read"), 0), 0, self.counts)

    def test_killed(self):
        cases = faults.sample(self.cases((*FULL, *OTHERS, "close")), self.most_kills)
        for case in cases:
            with self.subTest(case=case):
                self.reset()
                _, report = self.bring((*case, 0))
                if report.startswith("hit"):
                    seen["kill"] += 1
                self.check_after()
        self.assertGreater(seen["kill"], len(cases) // self.hit_share)

    def fail_at(self, calls, error, most):
        for case in faults.sample(self.cases(calls), most):
            with self.subTest(case=case, error=errno.errorcode[error]):
                self.reset()
                done, report = self.bring((*case, error))
                if not report.startswith("hit"):
                    continue
                seen["error"] += 1
                is_new = self.check_after()
                if done.returncode == 0:
                    self.assertTrue(is_new, "it says that the image is here")
                else:
                    self.assertIn(done.returncode, (64, 70, 78, 125))
                    self.assertTrue(done.stderr.strip(), "it says why")

    def test_full(self):
        self.fail_at(FULL, errno.ENOSPC, self.most_errors)

    def test_other_errors(self):
        self.fail_at(OTHERS, errno.EIO, self.most_errors)


class Import(Faults, unittest.TestCase):
    @classmethod
    def prepare(cls):
        result = cls.store.import_files(Image(LOWER).oci("old:1"))
        assert result.returncode == 0, result.stderr
        cls.words = ("image", "import", images_support.write_archive(
            os.path.join(cls.store.folder, "new.tar"), Image(LOWER, UPPER).docker("new:1")))


class Commit(Faults, unittest.TestCase):
    most_kills, most_errors = 10, 6
    hit_share = 5  # how often the supervisor of the command is waited for differs
    words = ("commit", "box", "new:1")

    @classmethod
    def prepare(cls):
        """A sandbox, made without faults, that has changed something of each kind."""
        store = image_store.Store(cls.store.state)
        lower = store.layer("lower")
        image_store.fill_distro(lower)
        image_store.put_program(lower, "/bin/ln")
        for name in ("gone", "covered/one"):
            image_store.put_file(lower, f"/opt/{name}", name)
        store.keep("old:1", [lower])
        cls.environment["MSP_CONFIG"] = os.path.join(cls.store.folder, "config.yaml")
        with open(cls.environment["MSP_CONFIG"], "w", encoding="utf-8") as file:
            file.write("profiles:\n  - {name: own, extends: image, image: 'old:1', root: writable}\n")
        for words in (("create", "--profile=own", "--name=box"),
                      ("exec", "--limits=fallback", "box", "--", "sh", "-c",
                       "rm -r /opt/gone /opt/covered; mkdir /opt/covered; echo x > /opt/x; ln /opt/x /opt/y")):
            subprocess.run([images_support.MSP, *words], env=cls.environment, stdin=subprocess.DEVNULL,
                           capture_output=True, timeout=60, check=True)
        cls.store.msp("prune")  # makes the directories that are missing


@unittest.skipUnless(shutil.which("unshare"), "needs unshare(1)")
class Disk(unittest.TestCase):
    def test_a_disk_that_is_full(self):
        """In a namespace with a small tmpfs; a larger one has room for the image."""
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        path = images_support.write_archive(os.path.join(folder, "a.tar"), Image(
            layer(entry("one", os.urandom(1 << 20)), entry("two", os.urandom(3 << 20)))).oci("a:1"))
        state = os.path.join(folder, "state")
        os.mkdir(state)
        # Root of the namespace may mount, and msp does not run as root.
        script = 'mount -t tmpfs -o mode=700,size=$1 none "$2" && shift 2 && ' \
            'exec unshare -U --map-user=1 --map-group=1 "$@"'
        results = []
        for size in ("2M", "16M"):
            result = subprocess.run(
                ["unshare", "-Urm", "sh", "-c", script, "sh", size, state, "sh", "-c",
                 '"$@"; echo $?; find "$MSP_STATE_DIR" -type f -size +0', "sh",
                 images_support.MSP, "image", "import", path],
                env={**os.environ, "MSP_STATE_DIR": os.path.join(state, "s")},
                capture_output=True, text=True, timeout=60, check=False)
            results.append(result)
        if "mount:" in results[1].stderr or "unshare:" in results[1].stderr:
            self.skipTest("no tmpfs in a user namespace here: " + results[1].stderr)
        self.assertEqual(results[0].stdout, "78\n", results[0].stderr)
        self.assertRegex(results[0].stderr, r"layer 1 of 1 \([0-9a-f]{12}\), 'two': writing it: .*ENOSPC")
        self.assertRegex(results[1].stdout, r"^a:1\n0\n", results[1].stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
