#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The jobs of msp-layers that change something, as the process they are: confined, and killed for
real. Each system call of theirs as the last one is in tests/unit/layers/apply/apply_faults_test.c."""
import os
import signal
import stat
import tempfile
import time
import unittest

import layers_support as layers
import support

LATER_US = layers.now_us() + 3_600_000_000  # nothing of the host changed since then
KILLS = 12
FILES = 400


class Scene(unittest.TestCase):
    def setUp(self):
        memory = "/dev/shm"  # jobs sync whole file systems
        self.root = tempfile.mkdtemp(dir=memory if os.access(memory, os.W_OK) else None)
        self.addCleanup(support.remove_folder, self.root)
        for name in ("host", "journal", "target", "0/workspace", "1/workspace"):
            os.makedirs(os.path.join(self.root, name))

    def at(self, *path):
        return os.path.join(self.root, *path)

    def put(self, path, content=""):
        whole = self.at(path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, "w", encoding="utf-8") as file:
            file.write(content)

    def whiteout(self, path):
        os.makedirs(os.path.dirname(self.at(path)), exist_ok=True)
        os.mknod(self.at(path), stat.S_IFCHR, 0)

    def run_job(self, operation, **values):
        return layers.run(operation, host=self.at("host"), layers=[self.at("0")],
                          journal=self.at("journal"), **values)

    def host(self):
        return layers.listing(self.at("host"))


class Confined(Scene):
    def test_an_apply_and_an_undo(self):
        self.put("host/changed", "old")
        self.put("host/gone", "old")
        self.put("host/tree/deep/file", "old")
        self.put("host/mode", "x")
        before = self.host()
        self.put("0/workspace/changed", "new")
        self.whiteout("0/workspace/gone")
        self.whiteout("0/workspace/tree")
        self.put("0/workspace/new/file", "new")
        self.put("0/workspace/mode", "x")
        os.chmod(self.at("0/workspace/mode"), 0o4755)
        os.symlink("anywhere", self.at("0/workspace/link"))
        self.run_job("SCAN", since_us=LATER_US)
        done, changes = self.run_job("APPLY")
        self.assertEqual((done.conflicts, done.held), (0, 0))
        self.assertEqual(done.applied, len(changes))
        self.assertTrue(all("applied" in change.flags for change in changes), changes)
        self.assertEqual(self.host(), {
            b"changed": ("file", 0o644, b"new"), b"link": ("link", 0o777, b"anywhere"),
            b"mode": ("file", 0o755, b"x"), b"new": ("directory", 0o755, None),
            b"new/file": ("file", 0o644, b"new")})
        self.assertEqual(self.run_job("DIFF")[1], [])
        done, changes = self.run_job("UNDO")
        self.assertEqual(done.conflicts, 0)
        self.assertEqual(self.host(), before)
        self.assertEqual(os.listdir(self.at("journal")), [])

    def test_layers_become_one(self):
        self.put("1/workspace/low", "low")
        self.put("1/workspace/both", "low")
        os.link(self.at("1/workspace/low"), self.at("1/workspace/linked"))
        os.mkfifo(self.at("1/workspace/fifo"))
        os.symlink("low", self.at("1/workspace/link"))
        self.whiteout("1/workspace/hidden")
        self.put("0/workspace/both", "high")
        self.put("0/workspace/folder/in", "high")
        os.chmod(self.at("0/workspace/folder"), 0o555)
        done, _ = layers.run("MERGE", layers=[self.at("0"), self.at("1")],
                             target=self.at("target"))
        self.assertGreater(done.inodes, 0)
        merged = layers.listing(self.at("target"))
        self.assertEqual(merged[b"workspace/both"], ("file", 0o644, b"high"))
        self.assertEqual(merged[b"workspace/low"], ("file", 0o644, b"low"))
        self.assertEqual(merged[b"workspace/folder"], ("directory", 0o555, None))
        self.assertEqual(os.stat(self.at("target/workspace/low")).st_ino,
                         os.stat(self.at("1/workspace/linked")).st_ino)
        self.assertTrue(stat.S_ISCHR(os.lstat(self.at("target/workspace/hidden")).st_mode))
        self.assertTrue(stat.S_ISFIFO(os.lstat(self.at("target/workspace/fifo")).st_mode))
        os.chmod(self.at("target/workspace/folder"), 0o755)
        os.chmod(self.at("0/workspace/folder"), 0o755)

    def test_a_tree_goes(self):
        self.put("target/a/b/c", "x")
        os.makedirs(self.at("target/w/inner"))
        os.symlink("/etc", self.at("target/a/link"))
        os.chmod(self.at("target/a/b"), 0)
        os.chmod(self.at("target/w/inner"), 0)
        layers.run("REMOVE", target=self.at("target"))
        self.assertEqual(os.listdir(self.at("target")), [])


class Killed(Scene):
    def setUp(self):
        super().setUp()
        for number in range(FILES):
            self.put(f"host/{number % 7}/{number}", f"old {number}")
            if number % 3:
                self.put(f"0/workspace/{number % 7}/{number}", f"new {number}")
            else:
                self.whiteout(f"0/workspace/{number % 7}/{number}")
            self.put(f"0/workspace/new-{number % 5}/{number}", "new")
        self.run_job("SCAN", since_us=LATER_US)
        self.old = self.host()
        began = time.monotonic()
        self.run_job("APPLY")
        self.whole_s = time.monotonic() - began
        self.new = self.host()
        self.assertIn(b"new-1/1", self.new)
        self.run_job("UNDO")
        self.assertEqual(self.host(), self.old)

    def kill(self, after_s):
        job = layers.Job()
        for role, path in (("HOST", "host"), ("LAYER", "0"), ("JOURNAL", "journal")):
            job.hand(role, self.at(path))
        job.ask("APPLY")
        time.sleep(after_s)
        job.process.send_signal(signal.SIGKILL)
        return job.end()[0]

    def test_an_apply_is_killed_at_any_time(self):
        killed = 0
        for kill in range(KILLS):
            killed += self.kill(self.whole_s * kill / KILLS) == -signal.SIGKILL
            done, _ = self.run_job("RECOVER")
            self.assertEqual(done.conflicts, 0)
            now = self.host()
            self.assertTrue(now in (self.old, self.new), "neither old nor new")
            if now == self.new:
                self.run_job("UNDO")
                self.assertTrue(self.host() == self.old)
        self.assertGreater(killed, 2)


if __name__ == "__main__":
    unittest.main()
