#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Signals that a frontend sends to its executions: whom they reach, and that nothing that a signal
does keeps an execution from its end."""
import os
import select
import signal
import time
import unittest

import ipc
import leftovers
import support

SECONDS = 20
# Says "ready" when its handlers are there, then each signal's number as it comes. Python runs a
# handler between two steps of its own: for one that comes just before a sleep, after that.
LISTENER = """
import os, signal, time
def heard(number, frame):
    os.write(1, b"%d\\n" % number)  # one may come in the middle of another's
for number in {numbers}:
    signal.signal(number, heard)
print("ready", flush=True)
while True:
    time.sleep(0.1)
"""
# A shell hears of a signal at once while it waits for what runs beside it.
SHELL = "exec 2>/dev/null; trap 'echo heard; exit 7' {}; sleep 60 & echo ready; wait"
# A parent and a child in one group, and a stranger in a session of its own.
FAMILY = """
import os, signal
def say(text):
    os.write(1, text.encode() + b"\\n")
def fork(name, after):
    pid = os.fork()
    if pid == 0:
        after()
        signal.signal(signal.SIGUSR1, lambda *_: say(name))
        say("ready")
        os.read(reader, 1)
        say(name + " goes")
        os._exit(0)
    return pid
reader, writer = os.pipe()
signal.signal(signal.SIGUSR1, lambda *_: (say("parent"), os.write(writer, b"xx")))
children = [fork("child", lambda: None), fork("stranger", os.setsid)]
for child in children:
    os.waitpid(child, 0)
"""
CATCHABLE = [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2,
             signal.SIGTERM, signal.SIGCONT, signal.SIGTSTP]


def setUpModule():
    if os.geteuid() == 0:
        raise unittest.SkipTest("needs an ordinary user")
    leftovers.become_reaper()


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return file.read().rpartition(")")[2].split()[0]


class Signals(unittest.TestCase):
    def setUp(self):
        self.peer = self.enterContext(ipc.Peer())
        self.peer.serve()
        self.output = -1

    def tearDown(self):
        self.peer.channel.close()
        code, error = self.peer.end()
        self.assertEqual(code, 0, error)
        gone = leftovers.wait_gone(time.monotonic())
        self.assertIsNotNone(gone, leftovers.describe(leftovers.living()))
        leftovers.reap_orphans()

    def start(self, *argv, request=1, **values):
        """Its standard output becomes self.output; with a terminal, that."""
        self.peer.send(ipc.execution_start(request, argv, **values))
        if values.get("use_tty"):
            self.output, = self.peer.receive().fds
        else:
            stdin, self.output, stderr = self.peer.receive().fds
            os.close(stdin)
            self.addCleanup(os.close, stderr)
        self.addCleanup(os.close, self.output)

    def signal(self, number, request=1):
        self.peer.send(ipc.execution_signal(request, number))

    def read_line(self):
        line = b""
        while not line.endswith(b"\n"):
            self.assertTrue(select.select([self.output], [], [], SECONDS)[0], line)
            byte = os.read(self.output, 1)
            self.assertTrue(byte, line)
            line += byte
        return line.decode().strip()

    def done(self):
        answer = self.peer.receive(SECONDS)
        self.assertEqual(answer.name, "execution_done")
        return ipc.parse_done(answer.body)

    def workload(self, name):
        """The host's number of the only process of that name below the supervisor."""
        def found():
            rows = leftovers.describe(support.descendants(self.peer.process.pid))
            return [pid for pid, comm, _ in rows if comm == name]
        self.assertTrue(support.wait_until(lambda: len(found()) == 1, SECONDS), found())
        return found()[0]

    def await_state(self, pid, state):
        self.assertTrue(support.wait_until(lambda: state_of(pid) == state, SECONDS), state_of(pid))


class Reach(Signals):
    def test_a_trap(self):
        self.start("/bin/bash", "-c", SHELL.format("TERM"))
        self.assertEqual(self.read_line(), "ready")
        self.signal(signal.SIGTERM)
        self.assertEqual(self.read_line(), "heard")
        done = self.done()
        self.assertEqual((done.verdict, done.exit_code), ("exited", 7))

    def test_each_signal_that_can_be_caught(self):
        numbers = [int(number) for number in CATCHABLE]
        self.start("python3", "-c", LISTENER.format(numbers=numbers))
        self.assertEqual(self.read_line(), "ready")
        for number in numbers:
            self.signal(number)
            self.assertEqual(self.read_line(), str(number))
        self.peer.send(ipc.execution_end(1))
        self.assertEqual(self.done().verdict, "cancelled")

    def test_who_does_not_catch_it_is_ended_by_it(self):
        self.start("sleep", "60")
        self.signal(signal.SIGTERM)  # it comes behind the start, however soon
        done = self.done()
        self.assertEqual((done.verdict, done.signal), ("signalled", signal.SIGTERM))

    def test_the_whole_group_and_nobody_else(self):
        self.start("python3", "-uc", FAMILY)
        self.assertEqual({self.read_line(), self.read_line()}, {"ready"})
        self.signal(signal.SIGUSR1)
        heard = {self.read_line() for _ in range(4)}
        self.assertEqual(heard, {"parent", "child", "child goes", "stranger goes"})
        self.assertEqual(self.done().verdict, "exited")

    def test_a_leader_that_left_its_group_is_not_found(self):
        self.start("python3", "-c",
                   "import os, signal, sys, time\n"
                   "reader, writer = os.pipe()\n"
                   "child = os.fork()\n"
                   "if child == 0:\n"
                   "    os.close(writer); os.read(reader, 1); os._exit(0)\n"
                   "os.setpgid(child, child)\n"
                   "os.setpgid(0, child)\n"
                   "print('ready', flush=True)\n"
                   "sys.stdin.readline(); time.sleep(1); print('unhurt', flush=True)")
        self.assertEqual(self.read_line(), "ready")
        self.signal(signal.SIGTERM)
        self.assertEqual(self.read_line(), "unhurt")
        self.assertEqual(self.done().verdict, "exited")

    def test_with_a_terminal(self):
        self.start("/bin/bash", "-c", SHELL.format("HUP"), use_tty=1)
        self.assertEqual(self.read_line(), "ready")
        self.signal(signal.SIGHUP)
        self.assertEqual(self.read_line(), "heard")
        self.assertEqual(self.done().exit_code, 7)

    def test_what_is_not_there_is_ignored(self):
        self.signal(signal.SIGTERM, request=99)
        self.start("/bin/true")
        self.assertEqual(self.done().verdict, "exited")
        self.signal(signal.SIGTERM)
        output, done = self.peer.run(2, ["echo", "well"])
        self.assertEqual((output, done.verdict), (b"well\n", "exited"))


class Stopped(Signals):
    """The clock goes on, and so does what ends an execution."""

    def stop(self, *argv, name, **values):
        self.start(*argv, **values)
        pid = self.workload(name)
        self.signal(signal.SIGSTOP)
        self.await_state(pid, "T")
        return pid

    def test_it_goes_on(self):
        pid = self.stop("python3", "-c", LISTENER.format(numbers=[int(signal.SIGCONT)]),
                        name="python3")
        self.signal(signal.SIGCONT)
        self.assertTrue(support.wait_until(lambda: state_of(pid) != "T", SECONDS))
        self.signal(signal.SIGTERM)
        self.assertEqual(self.done().verdict, "signalled")

    def test_its_time_is_limited(self):
        self.stop("sleep", "60", name="sleep", timeout_ms=3000)
        self.assertEqual(self.done().verdict, "timeout")

    def test_it_can_be_ended(self):
        self.stop("sleep", "60", name="sleep")
        self.peer.send(ipc.execution_end(1))
        self.assertEqual(self.done().verdict, "cancelled")

    def test_a_signal_that_would_end_it_waits(self):
        pid = self.stop("sleep", "60", name="sleep")
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)
        self.assertEqual(self.done().verdict, "signalled")
        self.assertFalse(support.is_alive(pid))

    def test_with_a_terminal(self):
        self.stop("sleep", "60", name="sleep", use_tty=1, timeout_ms=3000)
        self.assertEqual(self.done().verdict, "timeout")


if __name__ == "__main__":
    unittest.main()
