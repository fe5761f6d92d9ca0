#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The line that shows the progress of a command: there while msp-layers is stopped, and gone
afterwards; never in a pipe, in JSON, with -q or on a terminal that cannot remove it."""
import contextlib
import os
import select
import signal
import subprocess
import time
import unittest

import leftovers
import support
from cli_tty import Terminal
from persistent_support import PersistentCase

FILES = 800
ATTEMPTS = 50
LINE = b"msp: comparing files: "


def setUpModule():
    leftovers.become_reaper()


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

    @contextlib.contextmanager
    def stopped(self, start):
        """A command whose msp-layers is stopped; begun again until that is in time."""
        for _ in range(ATTEMPTS):
            started = start()
            process = getattr(started, "process", started)
            found = None
            while not found and process.poll() is None:
                self.drain(started)
                found = next((pid for pid, name, _ in leftovers.describe(leftovers.living())
                              if name == "msp-layers"), None)
            if found and self.stop(found) and process.poll() is None:
                break
            while process.poll() is None:
                self.drain(started, 0.01)
        else:
            self.fail("msp-layers was always over before it could be stopped")
        try:
            yield started
        finally:
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
            terminal.read_until(LINE + b"1 s", 60)
            terminal.read_until(LINE + b"2 s", 60)
        seen = self.finish(terminal)
        self.assertIn(b"\r\033[K", seen)
        lines = shown(seen)
        self.assertEqual([line for line in lines if "comparing" in line], [])
        self.assertEqual([line.count("files changed") for line in lines].count(1), 1)

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
            return subprocess.Popen([support.MSP, "diff", self.box, "--stat"],
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE)
        with self.stopped(start) as process:
            time.sleep(1.5)
        self.assertEqual(process.communicate(timeout=60)[1], b"")


if __name__ == "__main__":
    unittest.main()
