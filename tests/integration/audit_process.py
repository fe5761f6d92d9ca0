#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""msp-audit as a process: what it may do, what its end means for its supervisor, and that waiting
for the log's lock delays nobody but the request that needs the record."""
import contextlib
import fcntl
import os
import re
import signal
import subprocess
import time
import unittest

import audit_log
import ipc
import leftovers
import support

GONE_S = 10


def setUpModule():
    if os.geteuid() == 0:
        raise unittest.SkipTest("needs an ordinary user")
    leftovers.become_reaper()


def writers():
    """The pids of all msp-audit below this test."""
    return support.named(os.getpid(), "msp-audit")


class Served(audit_log.Place):
    def serve(self, program=None):
        before = set(writers())
        self.server = support.Server(env=self.log.environment(), program=program)
        self.addCleanup(self.server.close)
        self.server.initialize()
        self.writer, = set(writers()) - before

    @contextlib.contextmanager
    def locked(self):
        fd = os.open(self.log.path("head"), os.O_RDWR)
        fcntl.flock(fd, fcntl.LOCK_EX)
        try:
            yield
        finally:
            os.close(fd)

    def post(self, command, **arguments):
        return self.server.post("tools/call", {
            "name": "run_command", "arguments": dict(arguments, command=command)})


class Confined(Served):
    def test_its_status(self):
        self.serve()
        self.assert_confined(self.writer)

    def test_a_supervisor_of_this_version_is_served(self):
        with ipc.start_steward("msp-audit", self.make_folder()) as channel:
            channel.send(ipc.message("audit_start", schema=ipc.SCHEMA, pid=1, path="/x"))
            channel.send(self.record(number=1))
            self.assertEqual(self.answer(channel), (1, 0))

    def test_another_version_is_refused(self):
        with ipc.start_steward("msp-audit", self.make_folder()) as channel:
            channel.send(ipc.message("audit_start", schema=bytes(32), pid=1, path="/x"))
            self.assertEqual(channel.recv(100), b"")

    def test_a_wrong_record_ends_it(self):
        for fields in ({"event": 99}, {"field_count": 17}, {"event": 99, "number": 1}):
            with self.subTest(fields=fields), ipc.start_steward("msp-audit", self.make_folder()) as channel:
                channel.send(ipc.message("audit_start", schema=ipc.SCHEMA, pid=1, path="/x"))
                channel.send(self.record(**fields))
                self.assertEqual(channel.recv(100), b"")
                self.assertEqual(os.path.exists(self.log.path()) and self.log.lines(), False)

    def make_folder(self):
        os.makedirs(self.log.folder, mode=0o700, exist_ok=True)
        return self.log.folder

    @staticmethod
    def record(**fields):
        return ipc.message("audit_record", **{"event": 13, "fields": bytes(256), **fields})

    @staticmethod
    def answer(channel):
        data = channel.recv(100)
        return int.from_bytes(data[4:12], "little"), int.from_bytes(data[12:16], "little")

    def test_started_by_hand(self):
        result = subprocess.run([os.path.join(support.BIN, "msp-audit")], capture_output=True,
                                stdin=subprocess.DEVNULL, timeout=10, check=False)
        self.assertEqual(result.returncode, 64)
        self.assertIn(b"this program is started by msp", result.stderr)


class Ends(Served):
    def test_killed(self):
        """Nothing runs unaudited: everything ends, and the message names the reason."""
        self.serve()
        self.post("sleep 60")
        self.assertTrue(support.wait_until(lambda: self.log.records("execution_begin")))
        os.kill(self.writer, signal.SIGKILL)
        self.assertEqual(self.server.process.wait(GONE_S), 70)
        self.assertTrue(support.wait_until(
            lambda: b"msp-audit ended" in self.server.error_text), self.server.error_text)
        self.assertTrue(support.wait_until(lambda: not leftovers.living()))

    def test_killed_where_the_operator_does_without(self):
        import audit  # pylint: disable=import-outside-toplevel
        program = audit_log.programs_with(self.place(), audit.optional)
        self.serve(program)
        os.kill(self.writer, signal.SIGKILL)
        self.assertIn("up\n", support.text_of(self.server.call("run_command", command="echo up")))
        self.assertTrue(support.wait_until(
            lambda: b"nothing is audited any more" in self.server.error_text), self.server.error_text)

    def test_signals_that_end_others(self):
        self.serve()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(self.writer, number)
        self.assertIn("up\n", support.text_of(self.server.call("run_command", command="echo up")))
        self.assertTrue(support.is_alive(self.writer))

    def test_a_supervisor_that_is_killed_loses_no_record(self):
        self.serve()
        with self.locked():
            number = self.post("sleep 60")
            time.sleep(0.3)
            os.kill(self.server.process.pid, signal.SIGKILL)
            self.server.process.wait(GONE_S)
            time.sleep(0.3)
            self.assertTrue(support.is_alive(self.writer), number)
        self.assertTrue(support.wait_until(lambda: not support.is_alive(self.writer)))
        self.assertEqual(len(self.log.records("execution_begin")), 1)
        self.assert_whole()


class Contended(Served):
    def test_nobody_else_waits(self):
        """Executions that run are served as without, and so are questions; the request that needs
        a record is carried out when the lock is free."""
        self.serve()
        self.server.call("run_command", command="true")
        running = self.post("for i in 1 2 3 4 5 6; do echo $i; sleep 0.1; done")
        self.assertTrue(support.wait_until(lambda: len(self.log.records("execution_begin")) == 2))
        with self.locked():
            waiting = [self.post("echo late") for _ in range(3)]
            self.assertIn("6\n", support.text_of(self.server.answer(running)))
            for _ in range(20):
                self.server.call("list_sandboxes")
            self.assertEqual([number for number in waiting if number in self.server.answers], [],
                             "nothing was answered because it had waited long enough")
        for number in waiting:
            self.assertIn("late\n", support.text_of(self.server.answer(number)))
        self.server.close()
        self.assertTrue(support.wait_until(lambda: not support.is_alive(self.writer)))
        self.assert_whole()
        self.assertEqual(len(self.log.records("execution_begin")), 5)
        self.assertEqual(len(self.log.records("execution_end")), 5)
        self.assertEqual([record for record in self.log.records() if "lost" in record], [])

    def test_a_request_that_is_given_up_meanwhile_has_an_end(self):
        self.serve()
        with self.locked():
            number = self.post("echo never")
            time.sleep(0.3)
            self.server.notify("notifications/cancelled", {"requestId": number})
            time.sleep(0.3)
        self.server.call("run_command", command="true")
        self.server.close()
        self.assertTrue(support.wait_until(lambda: not support.is_alive(self.writer)))
        begins, ends = (self.log.records(event) for event in ("execution_begin", "execution_end"))
        self.assertEqual(sorted(record["execution"] for record in begins),
                         sorted(record["execution"] for record in ends))
        self.assertEqual(len(begins), 2)
        self.assertRegex(ends[0]["verdict"], re.compile("internal|cancelled"))
        self.assert_whole()


if __name__ == "__main__":
    unittest.main()
