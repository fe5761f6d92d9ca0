#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Held terminals: `msp exec -d -t`, `msp run -w -d -t` and `msp attach`, on real terminals."""
import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import termios
import time
import unittest

import support
from background import ID, find_keeper
from cli_tty import Terminal
from persistent_support import PersistentCase, msp
from service import Service

SECONDS = 60
DETACH = b"\x1cd"


def setUpModule():
    if not os.path.exists(os.path.join(support.BIN, "msp-layers")):
        raise unittest.SkipTest("msp-layers is not built")


class Case(PersistentCase):
    def setUp(self):
        super().setUp()
        self.made = msp("create", "--name=box").stdout.strip()
        self.addCleanup(msp, "destroy", "box", code=None)
        self.mark = f"mark-{os.getpid()}-{self.id()}"

    def start(self, script, *options):
        """Start a script with a terminal; its id."""
        result = msp("exec", "-d", "-t", *options, "box", "--", "sh", "-c", script, self.mark)
        self.assertRegex(result.stdout, rf"\A{ID}\n\Z")
        one = result.stdout.strip()
        self.addCleanup(msp, "kill", one, code=None)
        return one

    def attach(self, one, *options, **keywords):
        terminal = Terminal(words=["attach", *options, one], **keywords)
        self.addCleanup(terminal.process.wait)
        self.addCleanup(terminal.process.kill)
        terminal.wait_for_raw()
        return terminal

    def folder(self, one, *names):
        return os.path.join(self.state, "sandboxes", self.made, "commands", one, *names)

    def output(self, one):
        """The first that the command has written, with the heads of the pieces."""
        with open(self.folder(one, "output.0"), "rb") as file:
            return file.read().decode("latin-1")

    def check_end(self, terminal, code):
        ended, after = terminal.end()
        self.assertEqual(ended, code, terminal.seen)
        self.assertEqual(after, terminal.before, "the terminal is given back as it was")

    def detach(self, terminal, keys=DETACH):
        terminal.type(keys)
        terminal.read_until(b"the command goes on, and 'msp attach")
        self.check_end(terminal, 0)


class Attached(Case):
    def test_it_is_a_terminal_and_goes_on_without_one(self):
        one = self.start("test -t 0 && test -t 1 && test -t 2 && echo first=$TERM; stty size; "
                         "read a; echo got=$a; read b; echo again=$b; exit 7")
        self.assertTrue(support.wait_until(lambda: "24 80" in self.output(one), SECONDS))
        terminal = self.attach(one)
        seen = terminal.read_until(b"24 80")
        self.assertIn(b"ctrl-\\ d detaches", seen)
        self.assertIn(b"first=", seen)
        terminal.type(b"hello\r")
        terminal.read_until(b"got=hello")
        self.detach(terminal)
        self.assertRegex(msp("ps").stdout, rf"{one} +box +running")
        terminal = self.attach(one)
        terminal.read_until(b"got=hello")  # what it has written before
        terminal.type(b"world\r")
        terminal.read_until(b"again=world")
        self.check_end(terminal, 7)
        self.assertEqual(msp("wait", one, code=7).stderr, "")
        self.assertIn("again=world", msp("attach", one, code=7).stdout)

    def test_its_kind_and_size_are_those_of_the_start(self):
        words = ["exec", *support.limits(), "-d", "-t", "box", "--", "sh", "-c",
                 "echo $TERM; stty size; exec sleep 100"]
        start = Terminal(words=words, size=(41, 99), term="vt220")
        one = re.search(rf"\b({ID})\r\n", start.read_until(b"shows its terminal").decode()).group(1)
        self.check_end(start, 0)
        self.assertTrue(support.wait_until(lambda: "99" in self.output(one), SECONDS))
        self.assertRegex(self.output(one), r"vt220\r\n[^v]*41 99\r\n")
        msp("kill", one)

    def test_resize(self):
        one = self.start("trap 'stty size' WINCH; echo go; while :; do sleep 0.1; done")
        terminal = self.attach(one, size=(50, 90))
        terminal.read_until(b"50 90")
        terminal.resize(33, 77)
        terminal.read_until(b"33 77")
        self.detach(terminal)
        # The same size as before: the program is made to draw, and then has it.
        terminal = self.attach(one, size=(33, 77))
        terminal.read_until(b"32 77")
        terminal.read_until(b"33 77")
        self.detach(terminal)

    def test_interrupt_key(self):
        one = self.start("trap 'echo caught; exit 9' INT; echo go; while :; do sleep 0.1; done")
        terminal = self.attach(one)
        terminal.read_until(b"go")
        terminal.type(b"\x03")
        terminal.read_until(b"caught")
        self.check_end(terminal, 9)

    def test_a_large_paste_is_whole(self):
        text = bytes(i * 7 % 94 + 33 for i in range(100_000))
        one = self.start("stty raw -echo; printf go; head -c 100012 | tail -c +7 | head -c 100000 | "
                         "sha256sum; exec sleep 100")
        terminal = self.attach(one)
        terminal.read_until(b"go")
        # Pasted text may have the keys that detach.
        text = text[:50_000] + DETACH + text[50_002:]
        data = b"\x1b[200~" + text + b"\x1b[201~"
        while data:
            data = data[os.write(terminal.master, data[:1000]):]
        terminal.read_until(hashlib.sha256(text).hexdigest().encode(), SECONDS)
        self.detach(terminal)

    def test_much_output(self):
        one = self.start("read a; seq 200000; echo o''ver; exec sleep 100")
        terminal = self.attach(one)
        terminal.type(b"\r")
        seen = terminal.read_until(b"over", SECONDS)
        self.assertIn(b"\r\n".join(b"%d" % i for i in range(1, 200001)), seen)
        self.detach(terminal)

    def test_a_terminal_that_takes_no_output(self):
        """The program goes on, and the next terminal has the newest of it."""
        one = self.start("read a; seq 300000; echo o''ver; exec sleep 100")
        terminal = self.attach(one)
        terminal.type(b"\r")
        self.assertTrue(support.wait_until(
            lambda: os.path.exists(self.folder(one, "output.1")) and "over" in self.tail(one),
            SECONDS))
        other = self.attach(one, "--detach")
        other.read_until(b"299999\r\n300000\r\nover")
        self.detach(other)

    def tail(self, one):
        names = [name for name in os.listdir(self.folder(one)) if name.startswith("output.")]
        with open(self.folder(one, max(names)), "rb") as file:
            return file.read()[-100:].decode("latin-1")

    def test_keys_that_detach(self):
        one = self.start("stty raw -echo; exec od -An -tx1 -v -w1")
        for options, keys in (((), b"\x1b[92;5u\x1b[100u"), ((), b"\x1b[27;5;92~d"),
                              ((), b"\x1b[92;5u\x1b[92;5:3u\x1b[100;1:1u"),
                              (("--detach-key=ctrl-p,ctrl-q",), b"\x10\x11"),
                              (("--detach-key=ctrl-g",), b"\x07")):
            with self.subTest(keys=keys):
                self.detach(self.attach(one, *options), keys)
        terminal = self.attach(one)
        terminal.type(b"\x1cx\x1c\x1c\x1b[A")
        terminal.read_until(b" 1c\n 78\n 1c\n 1b\n 5b\n 41\n")
        self.detach(terminal)
        terminal = self.attach(one, "--detach-key=none")
        terminal.type(DETACH)
        terminal.read_until(b" 1c\n 64\n")
        msp("kill", one)
        self.check_end(terminal, 143)


class Others(Case):
    def test_a_second_terminal(self):
        one = self.start("echo go; read a; echo got=$a; exec sleep 100")
        first = self.attach(one)
        first.read_until(b"go")
        second = Terminal(words=["attach", one])
        second.read_until(b"another terminal is attached to " + one.encode())
        self.check_end(second, 75)
        second = self.attach(one, "--detach")
        first.read_until(b"detached by another terminal: the command goes on")
        self.check_end(first, 0)
        second.type(b"hello\r")
        second.read_until(b"got=hello")
        result = msp("attach", "--detach", one)
        self.assertEqual((result.stdout, result.stderr), ("", ""))
        second.read_until(b"detached by another terminal")
        self.check_end(second, 0)
        self.assertRegex(msp("attach", "--detach", one, code=1).stderr, "no terminal is attached")

    def test_the_terminal_is_closed(self):
        one = self.start("trap 'echo hung' HUP; echo go; read a; echo got=$a; exec sleep 100")
        terminal = self.attach(one)
        terminal.read_until(b"go")
        os.close(terminal.slave)
        os.close(terminal.master)
        self.assertEqual(terminal.process.wait(SECONDS), 129)
        terminal = self.attach(one)
        terminal.type(b"hello\r")
        self.assertNotIn(b"hung", terminal.read_until(b"got=hello"))
        self.detach(terminal)

    def test_signals_to_the_attached_one(self):
        one = self.start("echo go; exec sleep 1000")
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            with self.subTest(signal=number):
                terminal = self.attach(one)
                terminal.process.send_signal(number)
                self.check_end(terminal, 128 + number)
        terminal = self.attach(one)
        os.kill(terminal.process.pid, signal.SIGKILL)
        terminal.process.wait()
        terminal = self.attach(one)
        terminal.read_until(b"go")
        self.detach(terminal)

    def test_stopped_and_continued(self):
        one = self.start(r"printf '\033[?1049h\033[?25l'; stty raw -echo; echo go; head -c 1; "
                         "exec sleep 100")
        terminal = self.attach(one)
        terminal.read_until(b"go")
        terminal.process.send_signal(signal.SIGTSTP)
        terminal.read_until(b"\x1b[?1049l")
        self.assertTrue(support.wait_until(terminal.local_flags, SECONDS))
        terminal.process.send_signal(signal.SIGCONT)
        terminal.wait_for_raw()
        terminal.read_until(b"\x1b[?1049h")
        terminal.read_until(b"go")
        terminal.type(b"x")
        terminal.read_until(b"x")
        self.detach(terminal)

    def test_only_the_account_reaches_it(self):
        one = self.start("exec sleep 1000")
        path = self.folder(one, "terminal")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        for folder in (self.folder(one), self.folder("")):
            self.assertEqual(stat.S_IMODE(os.stat(folder).st_mode), 0o700)
        # Rubbish ends its own connection alone.
        for rubbish in (b"", b"x", b"\x01\0\0\0", os.urandom(28), os.urandom(8196), b"\x03\0\0\0keys"):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as link:
                link.settimeout(SECONDS)
                link.connect(self.short(path))
                link.send(rubbish)
                with contextlib.suppress(ConnectionError):
                    while link.recv(9000):
                        pass
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as link:
            link.settimeout(SECONDS)
            link.connect(self.short(path))  # says nothing: others are not kept waiting for ever
            self.detach(self.attach(one))

    def short(self, path):
        """A path that an address has room for."""
        place = tempfile.mkdtemp(prefix="msp-held-", dir="/tmp")
        self.addCleanup(shutil.rmtree, place)
        os.symlink(os.path.dirname(path), os.path.join(place, "d"))
        return os.path.join(place, "d", "terminal")

    def test_wrong_words(self):
        one = self.start("exec sleep 1000")
        for words, says in ((["attach", "--detach-key=d", one], "first key.*ctrl-"),
                            (["attach", "--detach-key=ctrl-a,b,c", one], "one or two keys"),
                            (["attach", "--detach-key=", one], "one or two keys"),
                            (["attach", "--detach-key=ctrl-[", one], "Escape"),
                            (["exec", "-t", "box", "--", "true"], "--terminal is for --detach"),
                            (["run", *support.limits(), "-d", "-t", "true"], "--detach is for --workspace"),
                            (["run", *support.limits(), "-d", "-w", "--discard", "true"],
                             "--detach excludes --discard")):
            with self.subTest(words=words):
                self.assertRegex(msp(*words, code=64).stderr, says)
        plain = msp("exec", "-d", "box", "--", "true", code=None)
        self.assertNotEqual(plain.returncode, 64)
        msp("kill", one)
        two = msp("exec", "-d", "box", "--", "true").stdout.strip()
        self.assertRegex(msp("attach", "--detach", two, code=64).stderr,
                         "--detach is for a command with a terminal")

    def test_the_sandbox_names_it(self):
        one = self.start("echo go; exec sleep 1000")
        for word in ("box", self.made, self.made[:6]):
            with self.subTest(word=word):
                terminal = self.attach(word)
                terminal.read_until(b"attached to " + one.encode())
                self.detach(terminal)
        msp("kill", one)
        self.assertRegex(msp("attach", "box", code=64).stderr, "no background command 'box'")

    def test_a_start_that_fails(self):
        for words, code, says in ((["no-such-program"], 127, "not found"),
                                  (["/etc/passwd"], 126, "cannot be executed")):
            with self.subTest(words=words):
                result = msp("exec", "-d", "-t", "box", "--", *words, code=code)
                self.assertEqual(result.stdout, "")
                self.assertRegex(result.stderr, rf"\Amsp: exec: [^\n]*{says}")
        self.assertFalse(os.path.exists(self.folder("")))


MODES_ON = (r"\033[?1049h\033[?25l\033[?2004h\033[?1002h\033[?1006h\033[?1h\033=\033[>5u\033[>4;2m"
            r"\033[5 q")
ALL_OFF = (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?2004l", b"\x1b[?1002l", b"\x1b[?1006l", b"\x1b[?1l",
           b"\x1b>", b"\x1b[<1u", b"\x1b[>4m", b"\x1b[0 q", b"\x1b[m")


class Modes(Case):
    """A program with all modes of a terminal ends in each way that there is."""

    def begin(self):
        one = self.start(f"printf '{MODES_ON}'; echo drawn; exec sleep 1000")
        terminal = self.attach(one)
        terminal.read_until(b"\x1b[5 q")
        return one, terminal

    def assert_restored(self, terminal, code):
        ended, after = terminal.end()
        self.assertEqual(ended, code, terminal.seen)
        self.assertEqual(after, terminal.before)
        for mode in ALL_OFF:
            self.assertIn(mode, terminal.seen)

    def test_detached_and_attached(self):
        one, terminal = self.begin()
        terminal.type(DETACH)
        self.assert_restored(terminal, 0)
        terminal = self.attach(one)
        seen = terminal.read_until(b"\x1b[5 q")
        self.assertRegex(seen, rb"\x1b\[\?1049h\x1b\[H\x1b\[Jdrawn\r\n")
        for mode in (b"\x1b[?25l", b"\x1b[?2004h", b"\x1b[?1002h", b"\x1b[?1006h", b"\x1b[?1h",
                     b"\x1b=", b"\x1b[>5u", b"\x1b[>4;2m"):
            self.assertEqual(seen.count(mode), 1, mode)
        terminal.type(DETACH)
        self.assert_restored(terminal, 0)

    def test_each_process_is_killed(self):
        for name, code in (("msp", 125), ("msp-supervisor", 125), ("sleep", 137),
                           ("msp-child-init", 125)):
            with self.subTest(process=name):
                self.mark += "+"
                one, terminal = self.begin()
                keeper = find_keeper(self.mark)
                below = support.descendants(keeper, with_opener=True, with_ready=True)
                victim = keeper if name == "msp" else next(
                    pid for pid in below if self.name_of(pid) == name)
                os.kill(victim, signal.SIGKILL)
                self.assert_restored(terminal, code)
                self.assertTrue(support.wait_until(
                    lambda: not any(map(support.is_alive, [keeper, *below])), SECONDS))
                self.assertEqual(msp("ps", "-q").stdout, "")
                shown = msp("attach", one, code=code)
                self.assertIn("drawn", shown.stdout)

    @staticmethod
    def name_of(pid):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            return os.path.basename(file.read().split(b"\0")[0].decode())
        return ""  # it is gone

    def test_the_attached_process_is_killed(self):
        one, terminal = self.begin()
        below = support.descendants(terminal.process.pid)
        self.assertEqual(len(below), 1)
        terminal.process.kill()
        terminal.process.wait()
        self.assertTrue(support.wait_until(lambda: not any(map(support.is_alive, below)), SECONDS))
        self.assert_restored(terminal, -signal.SIGKILL)
        self.detach(self.attach(one))

    def test_questions_are_answered_once(self):
        """A terminal that comes later does not answer into the program what was asked long ago."""
        one = self.start(r"printf 'a\033[6nb\033]52;c;?\007c\033[cd\n'; exec sleep 1000")
        time.sleep(2.5)
        terminal = self.attach(one)
        seen = terminal.read_until(b"abcd")
        self.assertNotIn(b"\x1b[6n", seen)
        self.assertNotIn(b"\x1b[c", seen)
        self.detach(terminal)

    def test_the_output_of_an_ended_one_is_text(self):
        one = self.start(rf"printf '{MODES_ON}hidden\033[?1049l\033[6nshown\n'")
        msp("wait", one)
        terminal = Terminal(words=["attach", one])
        seen = terminal.read_until(b"shown")
        self.check_end(terminal, 0)
        self.assertEqual(re.sub(rb"\x1b\[m", b"", seen), b"shown")


class WithService(Case):
    def setUp(self):
        PersistentCase.setUp(self)
        place = tempfile.TemporaryDirectory(prefix="msp-service-")
        self.addCleanup(place.cleanup)
        path = os.path.join(place.name, "supervisor.sock")
        self.service = Service(path)
        self.addCleanup(self.service.end)
        self.options = ["--socket=" + path]
        self.made = msp("create", "--name=box", *self.options).stdout.strip()
        self.mark = f"mark-{os.getpid()}-{self.id()}"

    def test_the_service_runs_it(self):
        one = self.start("echo go; read a; echo got=$a; exec sleep 1000", *self.options)
        terminal = self.attach(one)
        terminal.read_until(b"go")
        msp("exec", *self.options, "box", "true")  # another command beside it
        self.detach(terminal)
        terminal = self.attach(one)
        terminal.type(b"hello\r")
        terminal.read_until(b"got=hello")
        self.service.process.kill()
        terminal.read_until(b"the service ended before the command did")
        self.check_end(terminal, 75)


@unittest.skipUnless(shutil.which("tmux"), "tmux is not installed")
class InTmux(Case):
    """The picture that a person has, of a terminal that obeys."""

    def setUp(self):
        super().setUp()
        place = tempfile.mkdtemp(prefix="msp-held-", dir="/tmp")
        self.addCleanup(shutil.rmtree, place)
        self.socket = os.path.join(place, "tmux")
        self.tmux("-f/dev/null", "new-session", "-d", "-x100", "-y30", "env", "PS1=> ", "bash",
                  "--norc", "--noprofile")
        self.addCleanup(self.tmux, "kill-server")

    def tmux(self, *words):
        return subprocess.run(["tmux", "-S", self.socket, *words], check=True, capture_output=True,
                              text=True, timeout=SECONDS).stdout

    def type(self, text, *keys):
        if text:
            self.tmux("send-keys", "-l", text)
        if keys:
            self.tmux("send-keys", *keys)

    def await_picture(self, pattern):
        self.assertTrue(support.wait_until(
            lambda: re.search(pattern, self.tmux("capture-pane", "-p")), SECONDS),
            self.tmux("capture-pane", "-p"))

    def flags(self):
        return self.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag} #{mouse_any_flag} "
                                                  "#{keypad_cursor_flag}").strip()

    def test_the_shell_is_as_before(self):
        one = self.start(f"printf '{MODES_ON}drawn here'; exec sleep 1000")
        self.type("echo bef''ore", "Enter")
        self.await_picture("(?m)^before$")
        before = self.flags()
        for _ in range(2):
            self.type(f"{support.MSP} attach {one}", "Enter")
            self.await_picture(r"\A *drawn here")
            self.assertEqual(self.flags(), "1 0 1 1")
            self.type("", "C-\\", "d")
            self.await_picture("(?m)^before$(.|\n)*the command goes on, and(.|\n)*\n> *$")
            self.assertEqual(self.flags(), before)
        keeper = find_keeper(self.mark)
        self.type(f"{support.MSP} attach {one}", "Enter")
        self.await_picture(r"\A *drawn here")
        os.kill(keeper, signal.SIGKILL)
        self.await_picture("(?m)^before$(.|\n)*was lost")
        self.assertEqual(self.flags(), before)
        self.type("stty -a | grep -c ' icanon'; echo ty''ped", "Enter")
        self.await_picture("(?m)^1\ntyped$")


class Trials(Case):
    def setUp(self):
        super().setUp()
        with open(os.path.join(self.project, "file"), "w", encoding="ascii") as file:
            file.write("old\n")

    def run_held(self, script, *options):
        result = msp("run", *support.limits(), f"-w={self.project}", "-d", *options, "--", "sh", "-c",
                     script, cwd=self.project)
        one = result.stdout.strip()
        self.assertRegex(one, rf"\A{ID}\Z")
        return one

    def test_a_project(self):
        one = self.run_held("echo go; read a; echo $a >file; exit 4", "-t")
        self.detach(self.attach(one))
        terminal = self.attach("-1", cwd=self.project)
        terminal.read_until(b"go")
        terminal.type(b"new\r")
        seen = terminal.read_until(b"msp apply -1")
        self.assertIn(b"1 file changed, kept for an hour", seen)
        self.check_end(terminal, 4)
        self.assertRegex(msp("wait", one, code=4).stderr, "1 file changed")
        self.assertIn("+new", msp("diff", "-1", cwd=self.project).stdout)
        msp("apply", "-1", cwd=self.project)
        with open(os.path.join(self.project, "file"), encoding="ascii") as file:
            self.assertEqual(file.read(), "new\n")

    def test_without_a_terminal_and_changes(self):
        one = self.run_held("echo out; exit 3")
        self.assertRegex(msp("wait", one, code=3).stderr, r"\Amsp: run: no file changed\n\Z")
        self.assertEqual(msp("attach", one, code=3).stdout, "out\n")
        (ended,) = json.loads(msp("ps", "--json", "--ended").stdout)["commands"]
        msp("destroy", ended["sandbox"])

    def test_a_start_that_fails(self):
        result = msp("run", *support.limits(), f"-w={self.project}", "-d", "-t", "--", "no-such-program",
                     code=127, cwd=self.project)
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, "not found")


if __name__ == "__main__":
    unittest.main()
