#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`msp run` on a terminal: the workload has one of its own, and the caller gets theirs back."""
import fcntl
import os
import pty
import select
import shlex
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest

from cli_support import MSP, SECONDS, command, run

ECHO_AND_LINES = termios.ECHO | termios.ICANON | termios.ISIG


class Terminal:
    """A terminal with msp on it, as a shell would start it: own session, controlling terminal."""

    def __init__(self, *arguments, size=(37, 121), term="vt100", stdin=None,
                 words=None, program=MSP, **options):
        self.master, slave = pty.openpty()
        self.resize(*size)
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.process = subprocess.Popen(
            [program, *(words or command(*arguments))], stdin=slave if stdin is None else stdin,
            stdout=slave, stderr=slave, preexec_fn=self.take_terminal,
            env={**os.environ, "TERM": term, **options.pop("environment", {})}, **options)
        self.seen = b""

    @staticmethod
    def take_terminal():
        os.setsid()
        fcntl.ioctl(1, termios.TIOCSCTTY, 0)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.master, text)

    def read_until(self, text, seconds=20):
        deadline = time.monotonic() + seconds
        while text not in self.seen:
            ready, _, _ = select.select([self.master], [], [],
                                        max(0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError(f"{text!r} is not in {self.seen!r}")
            self.seen += os.read(self.master, 65536)
        before, _, self.seen = self.seen.partition(text)
        return before + text

    def local_flags(self):
        return termios.tcgetattr(self.slave)[3] & ECHO_AND_LINES

    def wait_for_raw(self):
        deadline = time.monotonic() + 20
        while self.local_flags() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not self.local_flags(), "the terminal did not become raw"

    def end(self):
        code = self.process.wait(SECONDS)
        after = termios.tcgetattr(self.slave)
        while select.select([self.master], [], [], 0)[0]:
            self.seen += os.read(self.master, 65536)
        os.close(self.master)
        os.close(self.slave)
        return code, after


class OwnTerminal(unittest.TestCase):
    def check_end(self, terminal, expected):
        code, after = terminal.end()
        self.assertEqual(code, expected)
        self.assertEqual(after, terminal.before, "the terminal is given back as it was")

    def test_it_is_a_terminal_of_its_own(self):
        terminal = Terminal("sh", "-c", "test -t 0 && test -t 1 && test -t 2 && tty && echo $TERM")
        seen = terminal.read_until(b"vt100")
        self.assertIn(b"/dev/pts/", seen)
        self.check_end(terminal, 0)

    def test_exit_code(self):
        self.check_end(Terminal("sh", "-c", "exit 5"), 5)

    def test_lines_end_as_a_terminal_ends_them(self):
        terminal = Terminal("printf", "a\\nb\\n")
        self.assertIn(b"a\r\nb\r\n", terminal.read_until(b"b\r\n"))
        self.check_end(terminal, 0)

    def test_keys_arrive_and_are_echoed_once(self):
        terminal = Terminal("sh", "-c", "echo go; read line; echo got=$line")
        terminal.read_until(b"go")
        terminal.wait_for_raw()
        terminal.type(b"hello\r")
        seen = terminal.read_until(b"got=hello")
        self.assertEqual(seen.count(b"hello"), 2, seen)
        self.check_end(terminal, 0)

    def test_interrupt_key_is_the_workloads(self):
        terminal = Terminal("sh", "-c", "trap 'echo caught; exit 9' INT; echo go; "
                                        "while :; do sleep 0.1; done")
        terminal.read_until(b"go")
        terminal.wait_for_raw()
        terminal.type(b"\x03")
        terminal.read_until(b"caught")
        self.check_end(terminal, 9)

    def test_end_of_file_key(self):
        terminal = Terminal("sh", "-c", "echo go; cat; echo over")
        terminal.read_until(b"go")
        terminal.wait_for_raw()
        terminal.type(b"\x04")
        terminal.read_until(b"over")
        self.check_end(terminal, 0)

    def test_window_size(self):
        terminal = Terminal("sh", "-c", "stty size; trap 'stty size; exit' WINCH; "
                                        "echo go; while :; do sleep 0.1; done")
        terminal.read_until(b"37 121")
        terminal.read_until(b"go")
        terminal.resize(50, 90)
        terminal.read_until(b"50 90")
        self.check_end(terminal, 0)

    def test_much_output(self):
        terminal = Terminal("sh", "-c", "seq 200000; echo over")
        seen = terminal.read_until(b"over", SECONDS)
        self.assertEqual(seen.count(b"\r\n"), 200000)
        self.check_end(terminal, 0)

    def test_signals_from_outside_end_it(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            with self.subTest(signal=number):
                terminal = Terminal("sh", "-c", "echo go; sleep 30")
                terminal.read_until(b"go")
                terminal.wait_for_raw()
                terminal.process.send_signal(number)
                self.check_end(terminal, 128 + number)

    def test_stopped_and_continued(self):
        terminal = Terminal("sh", "-c", "echo go; read line; echo got=$line")
        terminal.read_until(b"go")
        terminal.wait_for_raw()
        terminal.process.send_signal(signal.SIGTSTP)
        deadline = time.monotonic() + 10
        while not terminal.local_flags() and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertTrue(terminal.local_flags(), "given back while msp is stopped")
        terminal.process.send_signal(signal.SIGCONT)
        terminal.wait_for_raw()
        terminal.type(b"again\r")
        terminal.read_until(b"got=again")
        self.check_end(terminal, 0)

    def test_a_terminal_that_goes_away(self):
        terminal = Terminal("sh", "-c", "echo go; sleep 30")
        terminal.read_until(b"go")
        os.close(terminal.slave)
        os.close(terminal.master)
        self.assertEqual(terminal.process.wait(SECONDS), 129)


class Jobs(unittest.TestCase):
    """`msp run CMD &` in a shell with job control: it runs on, and the keys are the shell's."""

    def shell(self):
        terminal = Terminal(program="bash", words=["--norc", "--noprofile", "-i"])
        terminal.type(f"PS1=; set -b; msp() {{ {MSP} \"$@\"; }}; echo rea''dy\n".encode())
        terminal.read_until(b"ready\r\n")
        return terminal

    def start(self, terminal, script, behind=""):
        words = " ".join(shlex.quote(word) for word in command("sh", "-c", script))
        terminal.type(f"{MSP} {words} {behind} & echo st''arted\n".encode())
        terminal.read_until(b"started\r\n")

    def finish(self, terminal):
        terminal.type(b"exit 7\n")
        self.assertEqual(terminal.end()[0], 7)
        self.assertNotIn(b"Stopped", terminal.seen)

    def test_it_runs_and_the_keys_are_the_shells(self):
        terminal = self.shell()
        self.start(terminal, "echo be''gun; sleep 1; echo en''ded")
        terminal.read_until(b"begun")
        terminal.type(b"echo mi''ne\njobs -r | wc -l; jobs -s | wc -l\n")
        terminal.read_until(b"mine\r\n")
        self.assertEqual(terminal.read_until(b"0\r\n").split()[-2:], [b"1", b"0"])
        terminal.read_until(b"ended")
        terminal.type(b"wait; echo co''de=$?\n")
        terminal.read_until(b"code=0")
        self.finish(terminal)

    def test_brought_to_the_foreground(self):
        terminal = self.shell()
        self.start(terminal, "echo be''gun; read line; echo g''ot=$line; exit 3")
        terminal.read_until(b"begun")
        terminal.type(b"fg; echo co''de=$?\n")
        terminal.wait_for_raw()
        terminal.type(b"hello\r")
        terminal.read_until(b"got=hello")
        terminal.read_until(b"code=3")
        self.finish(terminal)

    def test_without_the_terminal_as_output(self):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out")
            terminal = self.shell()
            self.start(terminal, "sleep 1; cat", f">{out} 2>&1")
            terminal.type(b"echo mi''ne\n")
            terminal.read_until(b"mine\r\n")
            terminal.type(b"jobs -s | wc -l; fg\n")
            terminal.read_until(b"0\r\n")
            terminal.type(b"typed\n\x04")
            terminal.type(b"echo co''de=$?\n")
            terminal.read_until(b"code=0")
            with open(out, encoding="ascii") as file:
                self.assertEqual(file.read(), "typed\n")
            self.finish(terminal)

    def test_control_the_foreground(self):
        terminal = self.shell()
        words = " ".join(shlex.quote(word) for word in command("sh", "-c", "read a; echo g''ot=$a"))
        terminal.type(f"{MSP} {words}; echo co''de=$?\n".encode())
        terminal.wait_for_raw()
        terminal.type(b"hello\r")
        terminal.read_until(b"got=hello")
        terminal.read_until(b"code=0")
        self.finish(terminal)


class NoTerminal(unittest.TestCase):
    def test_only_the_output_is_one(self):
        terminal = Terminal("sh", "-c", "test -t 1; echo is=$?", stdin=subprocess.DEVNULL)
        terminal.read_until(b"is=1")
        self.assertEqual(terminal.end()[0], 0)

    def test_not_with_json(self):
        terminal = Terminal("sh", "-c", "exit 0")
        terminal.end()
        self.assertEqual(run("sh", "-c", "test -t 1", options=["--json"]).returncode, 1)

    def test_term_is_for_terminals(self):
        result = run("sh", "-c", "echo $TERM", env={**os.environ, "TERM": "vt100"})
        self.assertNotIn("vt100", result.stdout)


if __name__ == "__main__":
    unittest.main()
