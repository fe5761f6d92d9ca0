#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nowhere to write: full devices behind our own outputs, and a sandbox whose file systems have no
room for its code. The error says what could not be written; nothing hangs or stays.

That memory files and set-up files find no room is among interrupted.py's errors."""
import atexit
import json
import os
import resource
import shutil
import subprocess
import tempfile
import time
import unittest

import faults
import leftovers
import support

NO_SPACE = "No space left on device"
PROGRAMS = ("msp", "msp-supervisor", "msp-broker", "msp-child-init", "msp-audit", "msp-opener")
SMALL = """name: small
extends: default
files:
  - {at: /tmp, kind: tmpfs, size: 64K, inodes: 16, mode: 1777}
"""
shared = {}


def setUpModule():
    faults.prepare()
    shared["before"] = leftovers.Snapshot()
    shared["programs"] = with_profile()


def with_profile():
    """The programs with one more profile, `small`: default, and next to no room in /tmp."""
    folder = tempfile.mkdtemp(prefix="msp-test-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name in PROGRAMS:
        shutil.copy(os.path.join(support.BIN, name), folder)
    path = os.path.join(folder, "config.yaml")
    with open(path, "w", encoding="ascii") as file:
        file.write(support.config_of(SMALL))
    os.chmod(path, 0o644)
    subprocess.run([os.path.join(support.BIN, "msp-policy"), "compile", "-o",
                    os.path.join(folder, "builtin.policy"), "--config", path], check=True,
                   timeout=60)
    return folder


class Full(unittest.TestCase):
    def tearDown(self):
        self.doCleanups()
        self.assertIsNotNone(leftovers.wait_gone(time.monotonic()),
                             leftovers.describe(leftovers.living()))
        self.assertEqual(shared["before"].left(), {})

    def full(self):
        file = open("/dev/full", "wb")
        self.addCleanup(file.close)
        return file

    def run_msp(self, *words, **keywords):
        keywords.setdefault("stdin", subprocess.DEVNULL)
        for name in ("stdout", "stderr"):
            keywords.setdefault(name, subprocess.PIPE)
        return subprocess.run([support.MSP, "run", *support.limits(), *words], timeout=60,
                              check=False, **keywords)


class Outputs(Full):
    def test_run(self):
        """It ends with what it could not do, and its workload with it."""
        for stream, words in (("stdout", "echo up; setsid sleep 600 & sleep 600"),
                              ("stderr", "echo up >&2; setsid sleep 600 & sleep 600")):
            with self.subTest(stream=stream):
                result = self.run_msp("--", "/bin/sh", "-c", words, **{stream: self.full()})
                self.assertEqual(result.returncode, 125)
                if stream == "stdout":
                    self.assertIn(f"writing standard output: {NO_SPACE}", result.stderr.decode())

    def test_run_json(self):
        result = self.run_msp("--json", "--", "/bin/true", stdout=self.full())
        self.assertEqual(result.returncode, 70)
        self.assertIn(NO_SPACE, result.stderr.decode())

    def test_run_into_a_file_at_its_limit(self):
        """A write beyond that limit is an error, and no signal kills msp. Its audit log is below
        it: one that is not would be no log."""
        with tempfile.TemporaryFile() as file, tempfile.TemporaryDirectory() as state:
            result = self.run_msp(
                "--", "yes", stdout=file, env={**os.environ, "MSP_STATE_DIR": state},
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)))
            self.assertEqual(result.returncode, 125)
            self.assertIn("File too large", result.stderr.decode())
            self.assertEqual(os.fstat(file.fileno()).st_size, 1 << 20)

    def test_run_where_no_file_can_be_written(self):
        for size in (0, (1 << 20) - 1):
            result = self.run_msp(
                "--", "/bin/true",
                preexec_fn=lambda size=size: resource.setrlimit(resource.RLIMIT_FSIZE,
                                                                (size, size)))
            self.assertIn(result.returncode, (70, 78, 125), result.stderr)
            self.assertIn(f"the limit for the size of files is {size} bytes here",
                          result.stderr.decode())
            self.assertIn("ulimit -f", result.stderr.decode())

    def test_log(self):
        """A full log changes nothing."""
        result = self.run_msp("--", "no such command", stderr=self.full())
        self.assertEqual(result.returncode, 127)
        result = self.run_msp("--verbose", "--", "/bin/sh", "-c", "echo up; exit 3",
                              stderr=self.full())
        self.assertEqual((result.returncode, result.stdout), (3, b"up\n"))

    def test_log_of_a_server(self):
        server = support.Server(stderr=self.full())
        server.initialize()
        self.assertIn("well", support.text_of(server.call("run_command", command="echo well")))
        server.send_bytes(b"no JSON\n" * 100)
        self.assertIn("well", support.text_of(server.call("run_command", command="echo well")))
        self.assertEqual(server.close(), 0)

    def test_answers_of_a_server(self):
        """The client will never know: the operator is told, and everything ends."""
        process = subprocess.Popen([support.MSP, "serve", *support.limits()],
                                   stdin=subprocess.PIPE, stdout=self.full(),
                                   stderr=subprocess.PIPE)
        process.stdin.write(faults.call_line(1, command="setsid sleep 60 & echo up"))
        process.stdin.flush()
        process.wait(60)
        self.assertIn(f"msp-broker: writing to the client: {NO_SPACE}",
                      process.stderr.read().decode())
        process.stdin.close()
        process.stderr.close()


class Sandboxes(Full):
    def converse(self, *lines):
        process = subprocess.Popen(
            [os.path.join(shared["programs"], "msp"), "serve", *support.limits()],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for line in lines:
            process.stdin.write(line)
            process.stdin.flush()
            yield json.loads(process.stdout.readline())["result"]
        process.stdin.close()
        errors = process.stderr.read()
        process.stdout.close()
        process.stderr.close()
        self.assertEqual((process.wait(60), errors), (0, b""))

    def test_no_room_for_the_code(self):
        fits, too_large, after = self.converse(
            faults.call_line(1, "run_code", language="bash", profile="small", code="echo fits"),
            faults.call_line(2, "run_code", language="bash", profile="small",
                             code="echo large\n#" + "x" * 100000),
            faults.call_line(3, command="echo after", profile="small"))
        self.assertIn("fits\n[exit 0", support.text_of(fits))
        self.assertTrue(too_large["isError"])
        self.assertIn("No room for the code's file: the disk limit is reached or /tmp is full",
                      support.text_of(too_large))
        self.assertIn("after\n[exit 0", support.text_of(after))

    def test_a_workload_that_fills_everything(self):
        """Its own error; the next sandbox has all of its room again."""
        fill = "cat /dev/zero >/tmp/large; for i in $(seq 100); do : >/tmp/$i; done; echo $?"
        first, second = self.converse(
            faults.call_line(1, command=fill, profile="small"),
            faults.call_line(2, command="head -c 60000 /dev/zero >/tmp/x && echo room",
                             profile="small"))
        self.assertIn(NO_SPACE, support.text_of(first))
        self.assertIn("room\n[exit 0", support.text_of(second))


if __name__ == "__main__":
    unittest.main()
