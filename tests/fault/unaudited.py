#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An audit log that cannot be written, or whose writers are killed: nothing runs unaudited unless
the operator wants that, nothing hangs, and the chain stays whole."""
import fcntl
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import faults
import leftovers
import support

sys.path.insert(0, os.path.join(support.ROOT, "tests", "integration"))
import audit  # pylint: disable=wrong-import-position
import audit_log  # pylint: disable=wrong-import-position
from cli_support import LIMITS, MSP, command  # pylint: disable=wrong-import-position

KILLS = int(os.environ.get("MSP_AUDIT_KILLS", "60"))
# Of one `msp run`: start, execution_begin, posture, execution_end.
RECORDS = 4
WRITERS = 32
PREFIX = "the audit log in "


def setUpModule():
    faults.prepare()


def limited(size):
    """For a process that may write files of that size."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


class Writers(audit_log.Place):
    def test_many_at_once(self):
        """Each of many supervisors adds to the one chain."""
        processes = [subprocess.Popen([MSP, *command("true")], env=self.log.environment(),
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE) for _ in range(WRITERS)]
        for process in processes:
            _, error = process.communicate(timeout=120)
            self.assertEqual((process.returncode, error), (0, b""))
        self.assertEqual(self.assert_whole(), RECORDS * WRITERS)
        self.assertEqual(len(self.log.records("execution_end")), WRITERS)

    def test_they_are_killed(self):
        """At any moment, while others write."""
        stop = threading.Event()

        def go_on():
            while not stop.is_set():
                self.log.run("true")
        other = threading.Thread(target=go_on)
        other.start()
        generator = random.Random(faults.SEED)
        try:
            for _ in range(KILLS):
                process = subprocess.Popen([MSP, *command("true")], env=self.log.environment(),
                                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL)
                time.sleep(generator.uniform(0, 0.015))
                for pid in (*support.descendants(process.pid), process.pid):
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                process.wait()
        finally:
            stop.set()
            other.join()
        self.assertEqual(self.log.run("true").returncode, 0)
        result = self.log.audit("verify")
        self.assertEqual((result.returncode, result.stderr), (0, ""),
                         (result.stdout, faults.SEED))
        self.log.check()
        self.assertEqual(self.log.records("chain_broken"), [])
        started = len(self.log.records("start"))
        self.assertGreater(started, len(self.log.records("execution_end")), faults.SEED)


class Locked(audit_log.Place):
    """Somebody keeps the lock, as a supervisor does that was stopped while it had it."""

    def lock(self):
        os.makedirs(self.log.folder, mode=0o700, exist_ok=True)
        holder = subprocess.Popen(
            [sys.executable, "-c", "import fcntl, os, signal, sys\n"
             "fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)\n"
             "fcntl.flock(fd, fcntl.LOCK_EX)\n"
             "print(flush=True)\n"
             "os.kill(os.getpid(), signal.SIGSTOP)\n", self.log.path("head")],
            stdout=subprocess.PIPE)
        self.addCleanup(holder.communicate)
        self.addCleanup(holder.kill)
        holder.stdout.readline()
        return holder

    def test_a_start(self):
        self.lock()
        result = self.log.run("true")
        self.assertEqual(result.returncode, 78)
        self.assertIn("another process keeps its lock", result.stderr)

    def test_executions(self):
        with support.Server(env=self.log.environment()) as server:
            server.initialize()
            self.assertFalse(server.call("run_command", command="true").get("isError"))
            holder = self.lock()
            for limit in (10, 2, 2, 2, 2):  # the first one waits as long as may be
                start = time.monotonic()
                result = server.call("run_command", command="true")
                self.assertLess(time.monotonic() - start, limit)
                self.assertTrue(result["isError"])
                text = support.text_of(result)
                self.assertIn("No audit record can be made: " + PREFIX + self.log.folder, text)
                self.assertIn("another process keeps its lock", text)
                self.assertIn("Nothing was run.", text)
            holder.kill()
            holder.wait()
            self.assertFalse(server.call("run_command", command="true").get("isError"))
        self.assert_whole()
        self.assertEqual(len(self.log.records("execution_begin")), 2)
        self.assertEqual(len(self.log.records("refused")), 5, "what has happened is kept")
        self.assertEqual([record for record in self.log.records() if "lost" in record], [])

    def test_stopped_while_waiting(self):
        """Somebody stops the supervisor and lets it go on, as a shell does with a job."""
        with support.Server(env=self.log.environment()) as server:
            server.initialize()
            self.assertFalse(server.call("run_command", command="true").get("isError"))
            holder = self.lock()
            number = server.post("tools/call", {"name": "run_command",
                                                "arguments": {"command": "echo up"}})
            for _ in range(10):
                time.sleep(0.005)
                server.process.send_signal(signal.SIGSTOP)
                server.process.send_signal(signal.SIGCONT)
            holder.kill()
            holder.wait()
            self.assertIn("up\n", support.text_of(server.answer(number)))

    def test_who_reads_is_not_stopped(self):
        self.log.run("true")
        self.lock()
        self.assertEqual(len(self.log.audit("show").stdout.splitlines()), RECORDS)
        result = self.log.audit("verify")
        self.assertEqual(result.returncode, 0)
        self.assertIn("a process keeps the log's lock", result.stderr)


class Full(audit_log.Place):
    """No room for the next record: a limit for files stands for a full disk where only one number
    decides, a small file system for the real thing."""

    def setUp(self):
        super().setUp()
        self.log.fill(2 << 20)  # beyond what else is written: programs and plans in memory

    def room_for(self, records):
        """The size of the log with so many records of a run more, and half of one."""
        other = audit_log.Log(self.place())
        other.fill(2 << 20)
        before = len(other.lines())
        other.run("echo", "up")
        sizes = [len(line) for line in other.lines()[before:]]
        return len(self.log.read()) + sum(sizes[:records]) + sizes[records] // 2

    def run_limited(self, records, program=MSP):
        return subprocess.run([program, *command("echo", "up")], text=True, timeout=60,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False,
                              env=self.log.environment(),
                              preexec_fn=limited(self.room_for(records)))

    def test_a_start(self):
        before = self.log.read()
        result = self.run_limited(0)
        self.assertEqual((result.returncode, result.stdout), (78, ""), result.stderr)
        self.assertIn("File too large", result.stderr)
        self.assertEqual(self.log.lines()[:len(before.splitlines())],
                         before.splitlines(keepends=True))
        self.log.check()

    def test_an_execution(self):
        result = self.run_limited(1)
        self.assertEqual((result.returncode, result.stdout), (125, ""), result.stderr)
        self.assertRegex(result.stderr, f"nothing was run: {PREFIX}.*: File too large")
        self.assertEqual(self.log.records("execution_begin"), [])
        self.assert_whole()

    def test_an_end_is_counted(self):
        """What ran has run: its writer says how many records are missing when it ends."""
        result = self.run_limited(2)
        self.assertEqual((result.returncode, result.stdout), (0, "up\n"))
        self.assertIn("cannot be written: File too large", result.stderr)
        self.assertRegex(result.stderr, r"msp-audit: records missing from the audit log in .*: [12]\n")
        self.assertEqual(len(self.log.records("execution_begin")), 1)
        self.assertEqual(self.log.records("execution_end"), [])
        self.assert_whole()

    def test_the_operator_can_choose_otherwise(self):
        with tempfile.TemporaryDirectory() as folder:
            program = audit_log.programs_with(folder, audit.optional)
            for records, missing in ((0, RECORDS), (1, RECORDS - 1)):
                result = self.run_limited(records, program)
                self.assertEqual((result.returncode, result.stdout), (0, "up\n"), result.stderr)
                self.assertIn("cannot be written: File too large", result.stderr)
                self.assertRegex(result.stderr, f"records missing from .*: {missing}\n")
        self.assert_whole()

    def test_a_small_file_system(self):
        """It fills up while a server is used, and has room again."""
        script = f"""
            set -e
            mount -t tmpfs -o size=16k,mode=700 none "$0"
            export MSP_STATE_DIR="$0/state"
            exec setpriv --inh-caps=-all --ambient-caps=-all /bin/sh -c '
                run() {{ {MSP} run {' '.join(LIMITS)} -- echo up 2>"$1/../said"; }}
                i=0
                dd if=/dev/zero of="$0/fill" bs=1 count=1 2>/dev/null
                while run "$0/fill" >/dev/null; do
                    i=$((i + 1)); [ $i -lt 100 ] || exit 9
                done
                run "$0/fill" || echo "code $?"
                {MSP} audit verify
                rm "$0/fill"
                run "$0/fill"
                {MSP} audit verify' "$0"
        """
        result = subprocess.run(
            ["unshare", "--user", "--map-current-user", "--keep-caps", "--mount", "--", "/bin/sh",
             "-c", script.replace('2>"$1/../said"', "2>/dev/null"), self.place()],
            capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL)
        lines = result.stdout.splitlines()
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn(lines[0], ("code 78", "code 125"))
        self.assertRegex(lines[1], "the chain is whole")
        self.assertEqual(lines[2], "up")
        self.assertRegex(lines[3], "the chain is whole")


if __name__ == "__main__":
    unittest.main()
