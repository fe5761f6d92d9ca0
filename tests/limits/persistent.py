#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One execution of a persistent sandbox takes whatever it can get: it is ended with the verdict that
says what. Limits are the sandbox's as a whole: those beside it in the same one end with it, and the
next one there finds its files. Neighbours in another sandbox go on."""
import contextlib
import os
import tempfile
import time
import unittest

import ground
import leftovers
import support

DISK_MIB = 16
INODES = 2000
PROFILE = f"""name: persistent
extends: default
description: small, and keeps files
files:
  - {{at: /hog, kind: bind, from: {ground.HOG_FOLDER}}}
landlock:
  - {{path: /hog, rights: [read, execute]}}
lasting: {{disk: {DISK_MIB}M, inodes: {INODES}}}
limits:
  wall_default: 60s
  memory: 64M
  pids: 48
  file_size: 1T
"""
ANSWER_S = 10
# Files on disk are counted every two seconds, and at the end.
SLOW_WRITER = ("i=0; while [ $i -lt 400 ]; do head -c 1000000 /dev/zero | tr '\\0' x > f$i; "
               "i=$((i + 1)); sleep 0.05; done")
MANY_FILES = ("i=0; while [ $i -lt 200 ]; do mkdir d$i; (cd d$i; touch $(seq 50)); "
              "i=$((i + 1)); sleep 0.05; done")

# What the test machine need not take its time for.
NO_CGROUP = unittest.skipIf(os.environ.get("MSP_VM"), "cgroups have no part in it")

GROUND = None
LIMITS = None


def setUpModule():
    global GROUND, LIMITS
    if not os.path.exists(os.path.join(support.BIN, "msp-layers")):
        raise unittest.SkipTest("msp-layers is not built")
    GROUND, LIMITS = ground.prepare({"small"}, PROFILE)
    print("limits:", LIMITS)


class Persistent(unittest.TestCase):
    """Two sandboxes of one server: `box`, with an execution that was there before, and `other`."""

    def setUp(self):
        state = tempfile.TemporaryDirectory(prefix="msp-limits-", dir="/var/tmp")
        self.addCleanup(state.cleanup)
        self.addCleanup(support.await_removal, state.name)
        os.chmod(state.name, 0o700)
        before = os.environ["MSP_STATE_DIR"]
        os.environ["MSP_STATE_DIR"] = state.name
        self.addCleanup(os.environ.update, MSP_STATE_DIR=before)
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.server = stack.enter_context(GROUND.server())
        for name in ("box", "other"):
            result = self.server.call("create_sandbox", name=name, profile="persistent")
            self.assertFalse(result.get("isError"), support.text_of(result))
        self.beside = self.begin("box", "echo before > ~/mine; sleep 4; cat ~/mine; exit 3")

    def tearDown(self):
        self.doCleanups()
        gone = leftovers.wait_gone(time.monotonic())
        self.assertIsNotNone(gone, leftovers.describe(leftovers.living()))

    def begin(self, sandbox, command):
        return self.server.post("tools/call", {"name": "run_command", "arguments": {
            "command": command, "sandbox": sandbox, "yield_ms": support.YIELD_MS}})

    def told(self, number):
        """(verdict, text) of an execution's answer."""
        result = self.server.answer(number, timeout=120)
        about = result.get("_meta", {}).get("msp/execution", {})
        return about.get("verdict"), support.text_of(result)

    def hog(self, command, verdict):
        number = self.begin("box", command)
        start = time.monotonic()
        other = self.server.call("run_command", timeout=ANSWER_S * 10, command="echo other",
                                 sandbox="other")
        self.assertIn("other\n[exit 0", support.text_of(other))
        took = time.monotonic() - start
        found, text = self.told(number)
        self.assertEqual(found, verdict, text)
        print(f"\n{LIMITS} {verdict}: the neighbour's answer took {took * 1000:.0f} ms")

    def assert_beside(self, goes_on):
        verdict, text = self.told(self.beside)
        if goes_on:
            self.assertIn("before\n[exit 3", text)
        else:  # killed, or ended by itself since it could start nothing
            self.assertNotIn("before\n[exit 3", text)
            self.assertNotEqual(verdict, "exited", text)

    def assert_next(self):
        verdict, text = self.told(self.begin("box", "cat ~/mine"))
        self.assertEqual((verdict, text.splitlines()[0]), ("exited", "before"), text)

    def test_memory(self):
        self.hog("exec /hog/hog malloc 320", "memory")
        self.assert_beside(goes_on=False)
        self.assert_next()

    def test_segments(self):
        """No kill frees System V IPC: it is removed, and the files stay."""
        self.hog("exec /hog/hog segments 320", "memory")
        self.assert_beside(goes_on=False)
        self.assert_next()
        verdict, text = self.told(self.begin("box", "wc -l </proc/sysvipc/shm"))
        self.assertEqual((verdict, text.splitlines()[0]), ("exited", "1"), text)

    def test_processes(self):
        self.hog("exec /hog/hog forks 100", "pids")
        self.assert_beside(goes_on=False)
        self.assert_next()

    def assert_over_disk(self):
        """Nothing more is written in it; what can be done about it is told, and works."""
        result = self.server.call("run_command", command="echo more > more", sandbox="box")
        self.assertRegex(support.text_of(result), r"disk limit reached; remove files")
        result = self.server.call("run_code", language="python", sandbox="box", code="print(1)")
        self.assertRegex(support.text_of(result), "disk limit is reached.*run_command")
        result = self.server.call("run_command", command="ls", sandbox="box")
        self.assertRegex(support.text_of(result), r"(?s)\A(?!.*more).*\[exit 0")
        other = self.server.call("run_command", command="echo other", sandbox="other")
        self.assertIn("other\n[exit 0", support.text_of(other))
        result = self.server.call("destroy_sandbox", sandbox="box")
        self.assertFalse(result.get("isError"), support.text_of(result))
        result = self.server.call("create_sandbox", name="box", profile="persistent")
        self.assertFalse(result.get("isError"), support.text_of(result))
        verdict, text = self.told(self.begin("box", "echo again"))
        self.assertEqual((verdict, text.splitlines()[0]), ("exited", "again"))

    def test_disk(self):
        self.hog(SLOW_WRITER, "disk")
        self.assert_over_disk()

    @NO_CGROUP
    def test_inodes(self):
        self.hog(MANY_FILES, "disk")
        self.assert_over_disk()

    @NO_CGROUP
    def test_disk_control(self):
        """Half of it is no matter, again and again."""
        for _ in range(3):
            verdict, text = self.told(self.begin("box", f"head -c {DISK_MIB // 2}000000 "
                                                 "/dev/urandom > half; sleep 1; echo fine"))
            self.assertEqual((verdict, text.splitlines()[0]), ("exited", "fine"), text)
        self.assert_beside(goes_on=True)
        self.assert_next()


if __name__ == "__main__":
    ground.main()
