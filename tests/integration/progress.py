#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The line that shows the progress of a command: there while msp-layers is stopped, and gone
afterwards; never in a pipe, in JSON, with -q or on a terminal that cannot remove it."""
import contextlib
import os
import re
import select
import signal
import subprocess
import time
import unittest

import leftovers
import support
from cli_tty import Terminal
from persistent_support import PersistentCase, msp

FILES = 2400  # a fast machine compares hundreds in the moment that it is given here
ATTEMPTS = 50
LINE = b"msp: comparing files: "
COUNT = re.compile(rb"\r\033\[Kmsp: preparing files: (\d+) of (\d+)")


def setUpModule():
    leftovers.become_reaper()


def layers_at_work():
    return [pid for pid, name, _ in leftovers.describe(leftovers.living()) if name == "msp-layers"]


def shown(data):
    """The lines that a terminal shows in the end."""
    lines = [""]
    for piece in data.decode().replace("\r\n", "\n").replace("\r\033[K", "\0").split("\n"):
        for part in piece.split("\0")[1:]:
            lines[-1] = part
        if "\0" not in piece:
            lines[-1] += piece
        lines.append("")
    return lines


class Line(PersistentCase):
    def setUp(self):
        super().setUp()
        self.box = self.create()
        self.sh(self.box, f"for i in $(seq {FILES}); do echo $i > f$i; done")

    def is_preparing(self):
        """Does an apply's journal say that its files are prepared?"""
        journal = os.path.join(self.state, "sandboxes", self.box, "journal")
        return os.path.exists(os.path.join(journal, "staging"))

    @contextlib.contextmanager
    def stopped(self, start, when=lambda: True):
        """A command whose msp-layers is stopped; begun again until that is in time."""
        for _ in range(ATTEMPTS):
            started = start()
            process = getattr(started, "process", started)
            found = None
            while not found and process.poll() is None:
                self.drain(started)
                found = when() and next(iter(layers_at_work()), None)
            if found and self.stop(found) and process.poll() is None:
                break
            while process.poll() is None:
                self.drain(started, 0.01)
        else:
            self.fail("msp-layers was always over before it could be stopped")
        try:
            yield started
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(found, signal.SIGCONT)

    @staticmethod
    def stop(pid):
        """Stop a process; false if it was over."""
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):
            os.kill(pid, signal.SIGSTOP)
            while True:
                with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
                    state = file.read().rpartition(")")[2].split()[0]
                if state in "TZX":
                    return state == "T"
        return False

    @staticmethod
    def drain(started, seconds=0.0):
        """A command that was too fast must not wait for a reader of its output."""
        if isinstance(started, Terminal):
            if select.select([started.master], [], [], seconds)[0]:
                started.seen += os.read(started.master, 65536)

    def in_terminal(self, *words, **options):
        return lambda: Terminal(words=words, stdin=subprocess.DEVNULL, **options)

    def await_match(self, terminal, pattern):
        """The match of a pattern in what the terminal gets, up to whose end it is then forgotten."""
        self.assertTrue(support.wait_until(
            lambda: self.drain(terminal, 0.01) or re.search(pattern, terminal.seen), 60), terminal.seen)
        match = re.search(pattern, terminal.seen)
        terminal.seen = terminal.seen[match.end():]
        return match

    def finish(self, terminal):
        """All that the terminal got."""
        while terminal.process.poll() is None:
            self.drain(terminal, 0.01)
        code, _ = terminal.end()
        self.assertEqual(code, 0)
        return terminal.seen

    def test_it_comes_and_goes_within_the_width(self):
        start = self.in_terminal("diff", self.box, "--stat", size=(20, 19))
        with self.stopped(start) as terminal:
            terminal.read_until(b"\r\033[Kmsp: comparing fil\r", 60)
        self.finish(terminal)
        with self.stopped(self.in_terminal("diff", self.box, "--stat")) as terminal:
            first = self.await_match(terminal, LINE + rb"(\d+) s")
            self.await_match(terminal, LINE + rb"(?!" + first.group(1) + rb" )\d+ s")  # it goes on
        seen = self.finish(terminal)
        self.assertIn(b"\r\033[K", seen)
        lines = shown(seen)
        self.assertEqual([line for line in lines if "comparing" in line], [])
        self.assertEqual([line.count("files changed") for line in lines].count(1), 1)

    def is_counted(self, terminal):
        """Let msp-layers go on for moments, the first of which has a report that is due; false: it was
        over before."""
        self.await_match(terminal, rb"msp: \w+ing files: ")
        while not COUNT.search(terminal.seen) and terminal.process.poll() is None:
            for pid in layers_at_work():
                os.kill(pid, signal.SIGCONT)
                time.sleep(0.002)
                self.stop(pid)
            self.drain(terminal, 0.5)
        return COUNT.search(terminal.seen) and layers_at_work()

    def test_it_counts_files(self):
        for _ in range(ATTEMPTS):
            with self.stopped(self.in_terminal("apply", self.box), self.is_preparing) as terminal:
                if self.is_counted(terminal):
                    self.check_count(terminal)
                    break
            self.finish(terminal)
            msp("undo", self.box)
        else:
            self.fail("msp-layers was always over before it was counted")
        self.assertEqual([line for line in shown(self.finish(terminal)) if "preparing" in line], [])
        self.assertEqual(len(os.listdir(self.project)), FILES)

    def check_count(self, terminal):
        seen = COUNT.search(terminal.seen)
        self.assertEqual(int(seen.group(2)), FILES)
        self.assertLessEqual(int(seen.group(1)), FILES)
        terminal.read_until(f" of {FILES}, waiting for the disk".encode(), 60)
        terminal.seen = b""
        with self.assertRaises(TimeoutError):  # no rate and no time that nobody knows
            terminal.read_until(b" left", 1)

    def test_where_it_does_not_come(self):
        self.check_terminals()
        self.check_pipe()

    def check_terminals(self):
        for words, options in ((("diff", self.box, "--stat", "-q"), {}),
                               (("diff", self.box, "--json"), {}),
                               (("diff", self.box, "--stat"), {"term": "dumb"})):
            with self.subTest(words=words, options=options):
                with self.stopped(self.in_terminal(*words, **options)) as terminal:
                    time.sleep(1.5)
                self.assertNotIn(b"comparing", self.finish(terminal))

    def check_pipe(self):
        def start():
            return subprocess.Popen([support.MSP, "diff", self.box, "--stat"], cwd=self.project,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE)
        with self.stopped(start) as process:
            time.sleep(1.5)
        self.assertEqual(process.communicate(timeout=60)[1], b"")

    def ask_over_mcp(self, server, **meta):
        """Call diff_changes while msp-layers takes long; the notifications until its answer."""
        for _ in range(ATTEMPTS):
            del server.other[:]
            number = server.post("tools/call", {"name": "diff_changes", "_meta": meta,
                                                "arguments": {"sandbox": self.box}})
            support.wait_until(layers_at_work, 1, 0)
            found = next(iter(layers_at_work()), None)
            if found and self.stop(found):
                break
            server.answer(number, 60)
        else:
            self.fail("msp-layers was always over before it could be stopped")
        time.sleep(1.5)
        for _ in range(3):  # one of them is behind the first second, and before the last files
            os.kill(found, signal.SIGCONT)
            time.sleep(0.002)
            if not self.stop(found):
                break
            time.sleep(0.6)
        for pid in layers_at_work():
            os.kill(pid, signal.SIGCONT)
        self.assertIn("f1", support.text_of(server.answer(number, 60)))
        return [message["params"] for message in server.other
                if message["method"] == "notifications/progress"]

    def test_over_mcp(self):
        with support.Server("--standalone") as server:
            server.initialize()
            said = []
            for _ in range(ATTEMPTS):  # until one is not over before its first report
                said = said or self.ask_over_mcp(server, progressToken="p")
            self.assertGreaterEqual(len(said), 1)
            values = [params["progress"] for params in said]
            self.assertEqual(values, sorted(set(values)))
            for params in said:
                self.assertEqual(params["progressToken"], "p")
                self.assertRegex(params["message"],
                                 r"^(comparing files|reading changes): \d+( of \d+)?$")
            self.assertEqual(self.ask_over_mcp(server), [])


if __name__ == "__main__":
    unittest.main()
