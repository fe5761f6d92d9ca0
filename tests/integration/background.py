#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Background commands: `msp exec -d`, `ps`, `attach`, `wait` and `kill`; with a supervisor of their
own and through a service, and the end of each process that has a part in them."""
import contextlib
import json
import os
import pty
import re
import shutil
import signal
import stat
import subprocess
import tempfile
import unittest

import support
from cli_tty import Terminal
from persistent_support import PersistentCase, msp
from service import Service

SECONDS = 60
ID = r"[0-9a-hjkmnp-tv-z]{6}"


def setUpModule():
    if not os.path.exists(os.path.join(support.BIN, "msp-layers")):
        raise unittest.SkipTest("msp-layers is not built")


def find_keeper(word):
    """The process of msp whose command line has this word, and whose parent's has not."""
    found = set()
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if word.encode() in words and os.path.basename(words[0]) == b"msp":
            found.add(int(entry))
    for pid in set(found):
        found -= set(support.descendants(pid, with_opener=True))
    (keeper,) = found
    return keeper


def is_waiting(path, pid):
    """Does the process wait for the lock of this file before long?"""
    inode = os.stat(path).st_ino

    def is_there():
        with open("/proc/locks", encoding="ascii") as file:
            return re.search(rf"(?m)^\d+: -> POSIX .* {pid} [\da-f]+:[\da-f]+:{inode} ",
                             file.read())
    return support.wait_until(is_there, SECONDS)


class Case(PersistentCase):
    OPTIONS = ()  # of each command

    def msp(self, verb, *words, **keywords):
        return msp(verb, *self.OPTIONS, *words, **keywords)

    def sandbox(self, *options):
        found = self.msp("create", *options).stdout.strip()
        self.addCleanup(self.msp, "destroy", found, code=None)
        return found

    def start(self, sandbox, script, *words, options=()):
        """Start a script in the background; its id."""
        result = self.msp("exec", "-d", *options, sandbox, "--", "sh", "-c", script, *words)
        self.assertRegex(result.stdout, rf"\A{ID}\n\Z")
        return result.stdout.strip()

    def wait(self, one, code=0):
        return msp("wait", one, code=code, timeout=SECONDS)

    def open(self, verb, *words, **keywords):
        """Start `msp VERB WORDS` without waiting for it."""
        process = subprocess.Popen([support.MSP, verb, *words], stdin=subprocess.DEVNULL, text=True,
                                   **keywords)
        for stream in filter(None, (process.stdout, process.stderr)):
            self.addCleanup(stream.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def listed(self, *words):
        commands = json.loads(self.msp("ps", "--json", *words).stdout)["commands"]
        return {one["id"]: one for one in commands}

    def folder(self, sandbox, *names):
        return os.path.join(self.state, "sandboxes", sandbox, "commands", *names)

    def is_in(self, text, one):
        """Has the command written this by now?"""
        found = b""
        for name in sorted(os.listdir(one)):
            if name.startswith("output."):
                with open(os.path.join(one, name), "rb") as file:
                    found += file.read()
        return text.encode() in found


class Life(Case):
    def test_all_of_it(self):
        made = self.sandbox("--name=box")
        result = self.msp("exec", "-d", "box", "--", "sh", "-c",
                          "echo out; echo err >&2; sleep 6; echo last; exit 3")
        one = result.stdout.strip()
        self.assertRegex(result.stderr,
                         r"\Amsp: exec: the command ends after 10 min at the latest: "
                         rf"'msp attach {one}' shows its output, 'msp wait {one}' its end\n"
                         r"msp: exec: until it ends no other command can use the sandbox, [^\n]* 'msp setup' starts one\n\Z")
        self.assertRegex(self.msp("ps").stdout, rf"\AID +SANDBOX +STATE +SINCE +COMMAND\n"
                         rf"{one}  box +running +[^\n]*  sh -c 'echo out;[^\n]* exit 3'\n\Z")
        self.assertEqual(self.msp("ps", "-q", "box").stdout, one + "\n")
        shown = msp("attach", one, code=3)
        self.assertEqual((shown.stdout, shown.stderr), ("out\nlast\n", "err\n"))
        self.assertEqual((self.wait(one, 3).stdout, self.wait(one[:4], 3).stderr), ("", ""))
        self.assertEqual(msp("attach", one, "-n", "1", code=3).stdout, "last\n")
        self.assertEqual(msp("attach", "--tail=2", one, code=3).stderr, "err\n")
        self.assertEqual(self.listed(), {})
        self.assertIn("no command to show", self.msp("ps").stderr)
        ended = self.listed("--ended")[one]
        self.assertEqual((ended["state"], ended["exit_code"], ended["verdict"], ended["name"],
                          ended["sandbox"], ended["output_bytes"], ended["lost_bytes"]),
                         ("ended", 3, "exited", "box", made, 13, 0))
        self.assertEqual(ended["argv"][:2], ["sh", "-c"])
        self.assertRegex(self.msp("ps", "--ended", made[:6]).stdout, rf"{one}  box +exit 3 ")
        for path, mode in ((self.folder(made), 0o700), (self.folder(made, one), 0o700),
                           (self.folder(made, one, "note"), 0o600),
                           (self.folder(made, one, "output.0"), 0o600)):
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), mode, path)
        self.msp("destroy", "box")
        self.assertFalse(os.path.exists(self.folder(made)))
        self.assertRegex(self.wait(one, 64).stderr, rf"no background command '{one}'.*gone with")

    def test_a_start_that_fails(self):
        made = self.sandbox("--name=box")
        for words, code, says in ((["box", "--", "no-such-program"], 127, "not found"),
                                  (["box", "--", "/etc/passwd"], 126, "cannot be executed"),
                                  (["--cwd=/none", "box", "--", "true"], 125, "--cwd"),
                                  (["nobody", "--", "true"], 64, "no sandbox 'nobody'"),
                                  (["box"], 64, "a command is missing")):
            with self.subTest(words=words):
                result = self.msp("exec", "-d", *words, code=code)
                self.assertEqual(result.stdout, "")
                self.assertRegex(result.stderr, rf"\Amsp: exec: [^\n]*{says}")
        self.assertEqual(self.listed("--ended"), {})
        self.assertEqual(os.listdir(self.folder(made)), [])

    def test_the_end_is_explained_as_at_once(self):
        self.sandbox("--name=box")
        one = self.start("box", "exec sleep 100", options=["--timeout=1"])
        self.assertRegex(self.wait(one, 124).stderr, r"\Amsp: exec: timeout: stopped after")
        self.assertRegex(msp("attach", one, code=124).stderr, r"\Amsp: exec: timeout")
        result = self.msp("exec", "-d", "--json", "-q", "box", "--", "sh", "-c", "kill -9 $$")
        told = json.loads(result.stdout)
        self.assertEqual((sorted(told), result.stderr), (["id", "sandbox", "wall_ms"], ""))
        self.wait(told["id"], 137)
        self.assertEqual([one["verdict"] for one in self.listed("--ended").values()],
                         ["signalled", "timeout"])

    def test_without_an_id(self):
        """The only one that runs is meant, or for its output and end the only one that has ended."""
        self.sandbox("--name=box")
        for verb in ("attach", "wait", "kill"):
            self.assertRegex(msp(verb, code=64).stderr, rf"\Amsp: {verb}: no background command runs")
        one = self.start("box", "echo one; sleep 100")
        self.assertEqual(msp("kill").stderr, "")
        self.assertRegex(msp("kill", code=64).stderr, "no background command runs")
        self.assertEqual((msp("wait", code=143).stdout, msp("attach", code=143).stdout), ("", "one\n"))
        two = self.start("box", "echo two; sleep 100")
        process = self.open("attach", stdout=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), "two\n")
        three = self.start(self.sandbox(), "sleep 100")
        for verb in ("attach", "wait", "kill"):
            self.assertRegex(msp(verb, code=64).stderr, rf"\Amsp: {verb}: an id is needed, since 2 "
                                                        "background commands run: 'msp ps' shows them")
        self.assertEqual(set(self.listed()), {two, three})
        msp("kill", two, three)
        self.assertRegex(msp("wait", code=64).stderr, "no background command runs, and 3 have ended")
        self.assertEqual(self.wait(one, 143).stdout, "")

    def test_wrong_ids(self):
        made = self.sandbox("--name=box")
        one = self.start("box", "true")
        self.wait(one)
        shutil.copytree(self.folder(made, one), self.folder(made, one[:5] + "01"[one[5] == "0"]))
        for verb in ("attach", "wait", "kill"):
            for word, says in (("zzzzzz", "no background command 'zzzzzz'"), ("", "command ''"),
                               (one[:2], f"'{one[:2]}'.*msp ps --ended"), ("../x", "'../x'"),
                               (one[:4], f"'{one[:4]}' is no command: 2 ids"),
                               ("\x1b[31m", "[^\x1b]*")):
                with self.subTest(verb=verb, word=word):
                    result = msp(verb, word, code=64)
                    self.assertEqual(result.stdout, "")
                    self.assertRegex(result.stderr, rf"\Amsp: {verb}: [^\n]*{says}[^\n]*\n\Z")
        self.assertRegex(msp("kill", one, code=1).stderr, rf"{one} has ended already")
        self.assertRegex(self.msp("ps", "none", code=64).stderr, "no sandbox 'none'")

    def test_a_terminal_obeys_nothing_of_a_command(self):
        self.sandbox("--name=box")
        self.start("box", "sleep 100", "\x1b]0;title\x07\u202e\r\x9b")
        shown = self.msp("ps").stdout
        self.assertIn("^[]0;title^G", shown)
        self.assertNotRegex(shown, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")
        self.assertIn("title", next(iter(self.listed().values()))["argv"][3])

    def test_huge_output_that_nobody_reads(self):
        made = self.sandbox("--name=box")
        one = self.start("box", "i=0; while [ $i -lt 40 ]; do head -c 524288 /dev/zero; echo $i; "
                         "i=$((i+1)); done; echo last >&2")
        self.wait(one)
        size = sum(os.stat(self.folder(made, one, name)).st_size
                   for name in os.listdir(self.folder(made, one)))
        self.assertLess(size, (4 << 20) + 8192)
        self.assertGreater(size, 3 << 20)
        result = subprocess.run([support.MSP, "attach", one], stdin=subprocess.DEVNULL,
                                capture_output=True, timeout=SECONDS, check=False)
        self.assertTrue(result.stdout.endswith(b"39\n"))
        self.assertRegex(result.stderr, rb"\Amsp: attach: 1[67] MiB of the output were dropped "
                         rb"here\nlast\n\Z")
        self.assertEqual(self.listed("--ended")[one]["output_bytes"], 40 * 524288 + 110 + 5)
        self.assertEqual(msp("attach", one, "-n", "2").stderr, "last\n")


class Ends(Case):
    """Each process that has a part in it is killed, and its terminal goes."""

    def setUp(self):
        super().setUp()
        self.made = self.sandbox("--name=box")
        self.mark = f"mark-{os.getpid()}-{self.id()}"
        self.begin()

    def begin(self):
        self.one = self.start("box", "echo begun; echo $$; exec sleep 1000", self.mark)
        self.assertTrue(support.wait_until(
            lambda: self.is_in("begun", self.folder(self.made, self.one)), SECONDS))
        self.keeper = find_keeper(self.mark)
        # The shell has written that before it becomes the sleep.
        self.assertTrue(support.wait_until(self.has_begun, SECONDS), self.below)

    def has_begun(self):
        self.below = support.descendants(self.keeper, with_opener=True, with_ready=True)
        return "sleep" in map(self.name_of, self.below)

    def assert_nothing_runs(self):
        self.assertTrue(support.wait_until(
            lambda: not any(map(support.is_alive, [self.keeper, *self.below])), SECONDS))

    def test_the_keeper(self):
        waiting = self.open("wait", self.one, stderr=subprocess.PIPE)
        os.kill(self.keeper, signal.SIGKILL)
        self.assertRegex(waiting.communicate(timeout=SECONDS)[1], "was lost")
        self.assertEqual(waiting.returncode, 125)
        self.assert_nothing_runs()
        self.assertEqual(self.listed(), {})
        self.assertEqual(self.listed("--ended")[self.one]["state"], "lost")
        self.assertRegex(self.msp("ps", "--ended").stdout, rf"{self.one}  box +lost ")
        shown = msp("attach", self.one, code=125)
        self.assertRegex(shown.stdout, r"\Abegun\n\d+\n\Z")
        self.assertRegex(shown.stderr, "was lost")
        self.assertRegex(msp("kill", self.one, code=1).stderr, "has ended already")
        self.assertEqual(self.msp("exec", "box", "--", "echo", "well").stdout, "well\n")

    def test_its_supervisor(self):
        (supervisor,) = [pid for pid in self.below if self.name_of(pid) == "msp-supervisor"]
        os.kill(supervisor, signal.SIGKILL)
        self.assertRegex(self.wait(self.one, 125).stderr, "supervisor was killed by signal 9")
        self.assert_nothing_runs()
        self.assertRegex(self.msp("ps", "--ended").stdout, rf"{self.one}  box +failed ")

    def test_each_other_process(self):
        """An end is told whoever dies, and nothing runs on."""
        for name in ("msp-child-init", "msp-audit", "msp-store", "sleep"):
            with self.subTest(process=name):
                if not support.is_alive(self.keeper):
                    self.mark += "+"
                    self.begin()
                victim = next(pid for pid in self.below if self.name_of(pid) == name)
                os.kill(victim, signal.SIGKILL)
                self.assertIn(msp("wait", self.one, code=None, timeout=SECONDS).returncode,
                              (125, 137))
                self.assert_nothing_runs()
                self.assertEqual(self.listed("--ended")[self.one]["state"], "ended")

    @staticmethod
    def name_of(pid):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            return os.path.basename(file.read().split(b"\0")[0].decode())
        return ""  # it is gone

    def test_a_signal_to_the_keeper(self):
        os.kill(self.keeper, signal.SIGTERM)
        self.wait(self.one, 143)
        self.assert_nothing_runs()

    def test_kill_of_one_that_is_stopped(self):
        os.kill(self.keeper, signal.SIGSTOP)
        self.assertIn(self.one, self.listed())
        msp("kill", self.one, timeout=SECONDS)
        self.wait(self.one, 143)
        self.assert_nothing_runs()

    def test_kill(self):
        attached = self.open("attach", self.one, stdout=subprocess.PIPE)
        waiting = self.open("wait", self.one)
        self.assertEqual(attached.stdout.readline(), "begun\n")
        self.assertTrue(is_waiting(self.folder(self.made, self.one, "note"), waiting.pid))
        self.assertEqual(msp("kill", self.one, "zzz", code=64).stdout, "")
        self.assertEqual((attached.wait(SECONDS), waiting.wait(SECONDS)), (143, 143))
        self.assert_nothing_runs()
        self.assertEqual(self.listed("--ended")[self.one]["verdict"], "cancelled")

    def test_a_reader_that_leaves(self):
        for leave in (lambda one: one.send_signal(signal.SIGINT), lambda one: one.stdout.close()):
            attached = self.open("attach", self.one, stdout=subprocess.PIPE)
            self.assertEqual(attached.stdout.readline(), "begun\n")
            leave(attached)
            self.assertIn(attached.wait(SECONDS), (-signal.SIGINT, 128 + signal.SIGPIPE))
            self.assertIn(self.one, self.listed())
        msp("kill", self.one)

    def test_destroy(self):
        for verb, rest in (("destroy", ()), ("exec", ("--", "true")), ("diff", ())):
            self.assertIn(f"another msp has sandbox 'box' now: process {self.keeper} ('msp exec' in the "
                          "background): 'msp stop box' ends it; a service ('msp setup') shares it",
                          self.msp(verb, "box", *rest, code=75).stderr)
        self.assertIn(self.one, self.listed())
        msp("kill", self.one)
        self.msp("destroy", "box")

    def test_stop(self):
        for sandbox in ("box", self.made[:6]):
            if not support.is_alive(self.keeper):
                self.mark += "+"
                self.begin()
            os.kill(self.keeper, signal.SIGSTOP)
            self.assertEqual(self.msp("stop", sandbox, timeout=SECONDS).stderr, "")
            self.wait(self.one, 143)
            self.assert_nothing_runs()
            self.assertEqual(self.listed("--ended")[self.one]["verdict"], "cancelled")
        self.assertEqual(self.msp("exec", "box", "--", "echo", "well").stdout, "well\n")


class OtherHolders(Case):
    """Another msp that has the sandbox, and no service."""

    def test_a_command_of_another_terminal(self):
        self.sandbox("--name=box")
        terminal = Terminal(words=["-q", "-C", "/", "exec", *support.limits(), "box", "--", "sh", "-c",
                                   "echo go; exec sleep 1000"])
        terminal.read_until(b"go")
        name = os.ttyname(terminal.slave).removeprefix("/dev/")
        self.assertIn(f"now: process {terminal.process.pid} ('msp exec' on {name}): 'msp stop box' "
                      "ends it; a service", self.msp("checkpoint", "box", code=75).stderr)
        self.msp("stop", "box", timeout=SECONDS)
        code, after = terminal.end()
        self.assertEqual((code, after), (143, terminal.before))

    def test_a_server_is_named_and_goes_on(self):
        self.sandbox("--name=box")
        with support.Server(stderr=subprocess.DEVNULL) as server:
            server.initialize()
            server.call("run_command", command="true", sandbox="box")
            refused = self.msp("stop", "box", code=75).stderr
            self.assertIn("'msp serve'", refused)
            self.assertIn("true", support.text_of(server.call("run_command", command="echo true")))
            pid = int(re.search(r"'kill (\d+)' ends it\n", refused).group(1))
            os.kill(pid, signal.SIGTERM)  # the remedy
            self.assertTrue(support.wait_until(lambda: not support.is_alive(pid), SECONDS))
            self.msp("stop", "box")


class Others(Case):
    """Commands without a keeper."""

    def others(self, *words):
        return [one for one in json.loads(self.msp("ps", "--json", *words).stdout)["commands"]
                if one["id"] is None]

    def foreground(self, sandbox, *words):
        process = self.open("exec", *support.limits(), *self.OPTIONS, sandbox, "--", *words)
        self.assertTrue(support.wait_until(lambda: any(
            one["argv"] == list(words) for one in self.others()), SECONDS))
        return process

    def test_a_foreground_command(self):
        made = self.sandbox("--name=box")
        process = self.foreground("box", "sleep", "1000")
        (one,) = self.others("box")
        self.assertEqual((one["sandbox"], one["name"], one["state"]), (made, "box", "running"))
        self.assertRegex(self.msp("ps").stdout, r"\n-       box +running +[^\n]*  sleep 1000\n")
        self.assertEqual(self.msp("ps", "-q").stdout, "")
        process.send_signal(signal.SIGTERM)
        process.wait(SECONDS)
        self.assertEqual(self.others(), [])

    def test_a_killed_one(self):
        self.sandbox("--name=box")
        process = self.foreground("box", "sleep", "1000")
        process.kill()
        process.wait(SECONDS)
        self.assertTrue(support.wait_until(lambda: self.others() == [], SECONDS))

    def test_one_of_an_agent(self):
        with support.Server() as agent:
            agent.initialize()
            agent.call("create_sandbox", name="box")
            agent.call("run_command", sandbox="box", command="sleep 1000", yield_ms=0)
            agent.call("run_code", sandbox="box", language="python", yield_ms=0,
                       code="import time\n\ntime.sleep(1000)\n")
            self.assertTrue(support.wait_until(lambda: all(
                one["argv"] for one in self.others()), SECONDS))
            self.assertRegex(self.msp("ps").stdout, r"box +running +[^\n]*sleep 1000")
            self.assertRegex(self.msp("ps").stdout, r"box +running +[^\n]*code: import time")
            self.assertEqual([one.get("code") for one in self.others()],
                             ["import time\n\ntime.sleep(1000)\n", None])
        self.msp("destroy", "box")


class Logout(Case):
    def test_the_terminal_goes(self):
        self.sandbox("--name=box")
        parent, child = pty.openpty()
        mark = f"mark-{os.getpid()}-{self.id()}"
        words = [support.MSP, "exec", *support.limits(), "-d", "box", "--", "sleep", "1000"]
        shell = subprocess.Popen(
            ["setsid", "--ctty", "sh", "-c", '"$@"; read x', "sh", *words], stdin=child,
            stdout=child, stderr=child, env={**os.environ, "MARK": mark})
        os.close(child)
        shown = b""
        while b"msp wait" not in shown:
            shown += os.read(parent, 4096)
        one = re.search(rf"(?m)^({ID})\r?$", shown.decode()).group(1)
        os.close(parent)  # hangs up
        shell.wait(SECONDS)
        self.assertIn(one, self.listed())
        msp("kill", one)


class Through(Case):
    """Through a service, in which several run in one sandbox."""

    def setUp(self):
        super().setUp()
        folder = tempfile.mkdtemp()
        self.addCleanup(support.remove_folder, folder)
        socket = os.path.join(folder, "s.sock")
        self.service = Service(socket)
        self.addCleanup(self.service.end)
        self.OPTIONS = ("--socket=" + socket,)

    def test_several_in_one_sandbox(self):
        self.sandbox("--name=box")
        ids = [self.start("box", f"echo {i}; sleep {i % 2}; exit {i}") for i in range(6)]
        self.assertEqual(len(set(ids)), 6)
        for i, one in enumerate(ids):
            self.assertEqual(msp("attach", one, code=i).stdout, f"{i}\n")

    def test_beside_a_command_that_waits(self):
        self.sandbox("--name=box")
        one = self.start("box", "exec sleep 1000")
        words = ("sh", "-c", "exec sleep 1000")
        process = self.open("exec", *support.limits(), *self.OPTIONS, "box", "--", *words)
        self.await_rows((None, list(words)), (one, list(words)))
        os.rename(os.path.join(self.state, "audit"), os.path.join(self.state, "moved"))
        self.await_rows((one, list(words)), (None, None))
        self.assertRegex(self.msp("ps").stdout, r"\n-       box +running +\? +\?\n")
        os.rename(os.path.join(self.state, "moved"), os.path.join(self.state, "audit"))
        process.terminate()
        process.wait(SECONDS)
        self.await_rows((one, list(words)))

    def await_rows(self, *rows):
        """The service's count, the notes and the log are read one after the other."""
        def listed():
            found = json.loads(self.msp("ps", "--json").stdout)["commands"]
            return [(each["id"], each["argv"]) for each in found]
        self.assertTrue(support.wait_until(lambda: listed() == list(rows), SECONDS), listed())

    def test_the_service_stops(self):
        self.sandbox("--name=box")
        one = self.start("box", "echo begun; exec sleep 1000")
        self.service.end()
        self.assertRegex(self.wait(one, 75).stderr, r"\Amsp: exec: the service stops, and the "
                         r"command was ended with it: try again\n\Z")
        self.assertEqual(msp("attach", one, code=75).stdout, "begun\n")

    def test_the_service_is_killed(self):
        self.sandbox("--name=box")
        one = self.start("box", "echo begun; exec sleep 1000")
        self.service.process.kill()
        self.assertRegex(self.wait(one, 75).stderr, "the service ended before the command did")

    def test_the_sandbox_is_destroyed(self):
        made = self.sandbox("--name=box")
        one = self.start("box", "echo begun; exec sleep 1000")
        waiting = self.open("wait", one, stderr=subprocess.PIPE)
        self.assertTrue(is_waiting(self.folder(made, one, "note"), waiting.pid))
        self.msp("destroy", "box")
        self.assertRegex(waiting.communicate(timeout=SECONDS)[1], "was stopped or destroyed")
        self.assertEqual(waiting.returncode, 137)
        self.assertTrue(support.wait_until(lambda: not os.path.exists(
            os.path.join(self.state, "trash", made)), SECONDS))
        self.wait(one, 64)

    def test_stop(self):
        self.sandbox("--name=box")
        one = self.start("box", "exec sleep 1000")
        self.msp("stop", "box")
        self.wait(one, 137)
        self.assertEqual(self.listed("--ended")[one]["verdict"], "stopped")

    def test_a_hundred_at_once(self):
        names = [f"box{i}" for i in range(7)]
        for name in names:
            self.sandbox("--name=" + name)
        started = [self.open("exec", *support.limits(), *self.OPTIONS, "-d", "-q", names[i % 7],
                             "--", "sh", "-c", f"echo {i}; exec sleep 1000",
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE) for i in range(100)]
        told = [one.communicate(timeout=SECONDS * 2) for one in started]
        self.assertEqual({one.returncode for one in started}, {0, 75})
        ids = {text.strip(): i for i, (text, _) in enumerate(told) if text}
        for text, error in told:
            self.assertTrue(text or "already serves 64 clients" in error, error)
        self.assertIn(len(ids), range(32, 65))
        self.assertEqual(set(self.msp("ps", "-q").stdout.split()), set(ids))
        msp("kill", *ids, timeout=SECONDS * 2)
        self.assertEqual(self.listed(), {})
        self.assertEqual(set(self.listed("--ended", "box1")),
                         {one for one, i in ids.items() if i % 7 == 1})
        for one, i in list(ids.items())[::10]:
            self.assertEqual(msp("attach", one, code=143).stdout, f"{i}\n")


if __name__ == "__main__":
    unittest.main()
