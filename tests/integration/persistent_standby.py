#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The process that waits in a live sandbox for its next execution: each for one, beside nothing
else, and nobody sees a difference."""
import os
import re
import signal
import time
import unittest

import support
from persistent_mcp import Case, HANDLE, setUpModule  # noqa: F401  (the same is needed)

SECONDS = 20
AGAIN_SECONDS = 2  # the longest pause before another is tried is shorter (supervisor/run/standby.h)
RESTING_KB = 60  # of which it shares a half with the factory; where its stack begins decides two pages
LONG = "sleep 314.15"


def read(pid, name):
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""


def children(pid):
    return [int(child) for child in read(pid, f"task/{pid}/children").split()]


def anonymous_kb(pid):
    return int(re.search(rb"^RssAnon:\s+(\d+) kB$", read(pid, "status"), re.M).group(1))


def waiting(init):
    """Those below the init that have not executed anything."""
    return [pid for pid in children(init) if read(pid, "cmdline").startswith(b"msp-child-init\0")]


class Ahead(Case):
    def setUp(self):
        super().setUp()
        self.box = self.create(workspace=None)
        self.init = int(read(self.run_long(), "stat").rpartition(b")")[2].split()[1])
        self.end_long()

    def find_long(self):
        return [pid for pid in support.descendants(self.server.process.pid, with_ready=True)
                if read(pid, "cmdline") == LONG.replace(" ", "\0").encode() + b"\0"]

    def run_long(self):
        """The process on the host that runs for a while."""
        self.handle = HANDLE.search(self.text("run_command", sandbox=self.box, argv=LONG.split(),
                                              yield_ms=0)).group()
        self.assertTrue(support.wait_until(self.find_long, SECONDS))
        return self.find_long()[0]

    def end_long(self):
        self.text("kill_execution", handle=self.handle)
        self.assertTrue(support.wait_until(lambda: not self.find_long(), SECONDS))

    def await_waiting(self):
        self.assertTrue(support.wait_until(lambda: waiting(self.init), SECONDS))
        time.sleep(0.05)  # and the supervisor has heard of it
        return waiting(self.init)[0]

    def sh(self, command, **arguments):
        return self.run_in(self.box, command, **arguments)

    def test_it_is_the_next_executions_process(self):
        for _ in range(3):
            pid = self.await_waiting()
            self.assertEqual(self.run_long(), pid)
            self.end_long()

    def test_it_finds_what_is_there(self):
        self.await_waiting()
        self.sh("mkdir there; echo one > there/file")
        self.await_waiting()
        self.assertIn("one", self.sh("cat file", cwd="/workspace/there"))
        self.await_waiting()
        self.assertIn("mine", self.text("run_code", sandbox=self.box, language="bash",
                                        code="echo mine"))
        self.await_waiting()
        self.assertIn("typed", self.sh("cat", stdin="typed"))
        self.await_waiting()
        self.assertIn("[exit 127", self.sh("no-such-program"))

    def test_nobody_notices_that_it_was_killed(self):
        for _ in range(3):
            pid = self.await_waiting()
            os.kill(pid, signal.SIGKILL)
            self.assertTrue(support.wait_until(lambda pid=pid: not support.is_alive(pid), SECONDS))
            self.assertIn("here", self.sh("echo here"))

    def test_another_comes_for_one_that_was_killed(self):
        pid = self.await_waiting()
        os.kill(pid, signal.SIGKILL)
        self.assertTrue(support.wait_until(lambda: waiting(self.init) not in ([], [pid]), SECONDS))

    def end_waiting(self):
        """Each that ends so is followed by another, but not forever."""
        def none_comes():
            for pid in waiting(self.init):
                os.kill(pid, signal.SIGKILL)
            return not support.wait_until(lambda: waiting(self.init), AGAIN_SECONDS)

        self.assertTrue(support.wait_until(none_comes, 2 * SECONDS))

    def test_an_init_where_nothing_waits_gives_memory_back(self):
        self.await_waiting()
        used = anonymous_kb(self.init)
        self.end_waiting()
        self.assertTrue(support.wait_until(lambda: anonymous_kb(self.init) <= RESTING_KB, SECONDS),
                        anonymous_kb(self.init))
        self.assertGreater(used, RESTING_KB, "it had more")
        self.assertIn("mine", self.text("run_code", sandbox=self.box, language="bash",
                                        code="echo mine"))
        self.assertIn("typed", self.sh("cat", stdin="typed"))

    def test_none_beside_an_execution(self):
        self.await_waiting()
        self.run_long()
        self.assertIn("here", self.sh("echo here"))
        time.sleep(0.1)
        self.assertEqual(waiting(self.init), [])
        self.end_long()
        self.await_waiting()

    def test_a_terminal_is_not_for_it(self):
        pid = self.await_waiting()
        self.assertIn("here", self.sh("tty >/dev/null && echo here", tty=True))
        self.assertFalse(support.is_alive(pid))
        self.await_waiting()

    def test_a_signal_reaches_what_it_became(self):
        for _ in range(5):
            self.await_waiting()
            text = self.text("run_command", sandbox=self.box, argv=LONG.split(), yield_ms=0)
            self.text("kill_execution", handle=HANDLE.search(text).group(), signal="TERM")
            self.assertTrue(support.wait_until(lambda: not self.find_long(), SECONDS))
            self.assertIn("here", self.sh("echo here"))

    def test_a_signal_waits_until_it_has_its_request(self):
        """As long as it has none it is stopped here; a busy machine does the same."""
        pid = self.await_waiting()
        os.kill(pid, signal.SIGSTOP)
        text = self.text("run_command", sandbox=self.box, argv=LONG.split(), yield_ms=0)
        handle = HANDLE.search(text).group()
        self.text("kill_execution", handle=handle, signal="TERM")
        os.kill(pid, signal.SIGCONT)
        self.assertTrue(support.wait_until(
            lambda: "killed by signal 15" in self.text("read_output", handle=handle), SECONDS))
        self.assertIn("here", self.sh("echo here"))

    def test_it_is_no_execution_and_holds_no_layer(self):
        self.sh("echo one > file")
        self.await_waiting()
        self.text("checkpoint", sandbox=self.box, action="save", name="first")
        self.sh("echo two > file")
        time.sleep(0.1)  # one waits in what lives by now
        self.text("checkpoint", sandbox=self.box, action="rollback", checkpoint="first")
        self.assertIn("one", self.sh("cat file"))
        self.text("destroy_sandbox", sandbox=self.box)

    def test_an_interpreter_waits_in_its_place(self):
        pid = self.await_waiting()
        self.text("run_code", sandbox=self.box, language="python", code="print(1)")
        self.await_interpreter()
        self.assertFalse(support.is_alive(pid))
        self.assertIn("here", self.sh("echo here"))
        self.assertIn("here", self.sh("echo here"))  # so code comes after no command
        self.await_waiting()

    def await_interpreter(self):
        self.assertTrue(support.wait_until(
            lambda: children(self.init) and not waiting(self.init), SECONDS))

    def test_a_session_that_takes_turns(self):
        for _ in range(3):
            self.text("run_code", sandbox=self.box, language="python", code="print(1)")
            self.assertIn("here", self.sh("echo here"))
        self.await_interpreter()
        self.text("run_code", sandbox=self.box, language="python", code="print(1)")
        self.await_waiting()


del Case

if __name__ == "__main__":
    unittest.main()
