#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""msp-store as a process: what it may do, which questions it answers, and that its end is that of its
supervisor, whose sandboxes keep their files."""
import os
import signal
import struct
import subprocess
import unittest

import audit_log
import ipc
import leftovers
import support

GONE_S = 10
CENSUS = bytes(64)
(LIST, FIND, LOOK, TAKE, CREATE, COUNT, MARK, UNMARK, DESTROY, DISCARD, CHECKPOINT, ROLLBACK, FORGET,
 FORK, MERGE_TARGET, MERGE_DONE, LAYER, JOURNAL, INTERRUPTED, IS_EMPTY, TRASH) = range(21)
META_BYTES = 14656
EINVAL, ENOENT = 22, 2


def setUpModule():
    if os.geteuid() == 0:
        raise unittest.SkipTest("needs an ordinary user")
    leftovers.become_reaper()


class Alone(audit_log.Place):
    """msp-store without a supervisor, which the test is."""

    def setUp(self):
        super().setUp()
        self.folder = self.place()
        self.channel = ipc.start_steward("msp-store", self.folder)
        self.addCleanup(self.channel.close)

    def begin(self):
        self.channel.send(ipc.message("store_start", schema=ipc.SCHEMA))
        self.assertEqual(self.answer()[0], 0)

    def ask(self, operation, **fields):
        self.channel.send(ipc.message("store_ask", operation=operation, census=CENSUS, **fields))

    def answer(self):
        """(errno, value) of an answer; None: it has ended."""
        data, fds, _, _ = ipc.socket.recv_fds(self.channel, 1 << 17, 4)
        for fd in fds:
            os.close(fd)
        if not data:
            return None
        if fds:
            return self.answer()
        self.assertEqual(struct.unpack_from("I", data)[0], ipc.TYPES["store_answer"])
        return struct.unpack_from("2I", data, 4)

    def test_it_makes_the_places_and_answers(self):
        self.begin()
        self.assertEqual(sorted(os.listdir(self.folder)), ["layers", "sandboxes", "stamp", "trash"])
        for operation, expected in ((LIST, (0, 0)), (FIND, (0, 0)),
                                    (TRASH, (ENOENT, 0)), (TAKE, (ENOENT, 0))):
            with self.subTest(operation=operation):
                self.ask(operation, name="0" * 26)
                self.assertEqual(self.answer(), expected)

    def test_another_version_is_refused(self):
        self.channel.send(ipc.message("store_start", schema=bytes(32)))
        self.assertIsNone(self.answer())

    def test_names_lead_nowhere(self):
        self.begin()
        for ids, expected in ((b"", EINVAL), (bytes(15), EINVAL), (bytes(32), EINVAL),
                              (bytes(16), ENOENT)):
            with self.subTest(ids=len(ids)):
                self.ask(LAYER, ids=ids)
                self.assertEqual(self.answer()[0], expected)
        for name in ("../../etc", "..", "/etc"):
            for operation in (TAKE, LOOK, DISCARD, DESTROY):
                with self.subTest(name=name, operation=operation):
                    self.ask(operation, name=name)
                    self.assertIn(self.answer()[0], (EINVAL, ENOENT))

    def test_wrong_questions_end_it(self):
        for fields in ({"operation": 99}, {"operation": COUNT}, {"operation": MARK},
                       {"operation": CHECKPOINT, "meta": bytes(META_BYTES)},
                       {"operation": CREATE, "meta": bytes(100)},
                       {"operation": LIST, "meta": bytes(META_BYTES)}):
            with self.subTest(fields=str(fields)[:60]):
                with ipc.start_steward("msp-store", self.folder) as self.channel:
                    self.begin()
                    self.ask(**fields)
                    self.assertIsNone(self.answer())

    def test_a_sandbox_with_nothing_in_it_is_not_written(self):
        self.begin()
        self.ask(CREATE, meta=bytes(META_BYTES))
        self.assertNotEqual(self.answer()[0], 0)
        self.assertEqual(os.listdir(os.path.join(self.folder, "sandboxes")), [])
        self.assertEqual(os.listdir(os.path.join(self.folder, "layers")), [])

    def test_started_by_hand(self):
        result = subprocess.run([os.path.join(support.BIN, "msp-store")], capture_output=True,
                                stdin=subprocess.DEVNULL, timeout=10, check=False)
        self.assertEqual(result.returncode, 64)
        self.assertIn(b"this program is started by msp", result.stderr)


class Served(audit_log.Place):
    def setUp(self):
        super().setUp()
        before = set(support.named(os.getpid(), "msp-store"))
        self.server = support.Server(env=self.log.environment())
        self.addCleanup(self.server.close)
        self.server.initialize()
        self.store, = set(support.named(os.getpid(), "msp-store")) - before

    def test_its_status(self):
        self.assert_confined(self.store)

    def test_killed(self):
        """Without it no limit of files holds: everything ends; the files stay."""
        self.server.call("create_sandbox", name="box")
        self.server.call("run_command", sandbox="box", command="echo kept > a")
        os.kill(self.store, signal.SIGKILL)
        self.assertEqual(self.server.process.wait(GONE_S), 70)
        self.assertTrue(support.wait_until(
            lambda: b"msp-store ended" in self.server.error_text), self.server.error_text)
        self.assertTrue(support.wait_until(lambda: not leftovers.living()))
        with support.Server(env=self.log.environment()) as server:
            server.initialize()
            shown = server.call("run_command", sandbox="box", command="cat a")
            self.assertIn("kept\n", support.text_of(shown))

    def test_signals_that_end_others(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(self.store, number)
        self.server.call("create_sandbox", name="box")
        self.assertTrue(support.is_alive(self.store))

    def test_it_ends_with_its_supervisor(self):
        supervisor = self.server.process.pid
        os.kill(supervisor, signal.SIGKILL)
        self.assertTrue(support.wait_until(lambda: not support.is_alive(self.store)))


if __name__ == "__main__":
    unittest.main()
