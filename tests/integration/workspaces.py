#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Directories that requests name (T19): the path opener that a real `msp serve` leaves behind, asked as
its supervisor asks it. In the supervisor's place is a program that only waits; its descriptor 3 is
taken from it. Every refusal has its control: the path is opened for a person, or where it is open."""
import ctypes
import os
import queue
import shutil
import socket
import struct
import subprocess
import unittest

import ipc
import leftovers
import support
from cli_service_wrong import Fake, receive
from cli_support import SECONDS, children, msp, name_of
from config_support import WithFolder
from service import LIMITS, Folder

BUILD = os.environ.get("MSP_BUILD") or os.path.dirname(support.BIN)
STAND_IN = os.path.join(BUILD, "tests", "cli-stand-in")
PIDFD_GETFD = 438
LIBC = ctypes.CDLL(None, use_errno=True)
MOST = 8


def setUpModule():
    leftovers.become_reaper()


def descriptor_of(process, number):
    """A copy of a child's descriptor, once it is the stand-in's."""
    def is_there():
        return os.readlink(f"/proc/{process.pid}/exe").endswith("msp-supervisor")

    if not support.wait_until(is_there, SECONDS):
        raise AssertionError("msp did not become its supervisor")
    pidfd = os.pidfd_open(process.pid)
    try:
        copy = LIBC.syscall(PIDFD_GETFD, pidfd, number, 0)
        if copy < 0:
            raise OSError(ctypes.get_errno(), "pidfd_getfd")
        return copy
    finally:
        os.close(pidfd)


class Opener:
    """A process of msp with its opener, and the supervisor's end of their channel."""

    def __init__(self, msp_path, words, **options):
        self.process = subprocess.Popen([msp_path, "serve", "--standalone", "--limits=fallback",
                                         *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, **options)
        self.channel = socket.socket(fileno=descriptor_of(self.process, ipc.CHANNEL_FD))
        self.channel.settimeout(SECONDS)
        self.heard = []
        while not self.heard or self.heard[-1] != "supervisor_run":
            self.heard.append(self.receive().name)

    def receive(self):
        data, rights, flags, _ = socket.recv_fds(self.channel, 1 << 18, 8)
        if not data or flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
            raise AssertionError("the path opener is gone")
        message = ipc.Message(ipc.NAMES[struct.unpack_from("I", data)[0]], data[4:], rights)
        if message.name.startswith("supervisor"):
            for fd in rights:
                os.close(fd)
        return message

    def ask(self, path, is_person=0, generation=1, within=()):
        """(path, inode of what was opened) or (None, the line)."""
        for folder, is_start in within:
            fd = os.open(folder, os.O_PATH)
            message = ipc.message("workspace_within", is_start=is_start)
            socket.send_fds(self.channel, [message], [fd])
            os.close(fd)
        self.channel.send(ipc.message("workspace_ask", number=5, generation=generation,
                                      is_person=is_person, path=os.fsencode(path)))
        answer = self.receive()
        begin = 12 if answer.name == "workspace_open" else 8  # has_git is in between
        number, = struct.unpack_from("=I", answer.body)
        size, = struct.unpack_from("=I", answer.body, begin - 4)
        text = os.fsdecode(answer.body[begin:])
        if (number, size) != (5, len(answer.body) - begin):
            raise AssertionError(f"an answer to another question: {answer}")
        if answer.name == "workspace_bad":
            return None, text
        fd, named, data = answer.fds
        os.close(named)
        os.close(data)
        with open(f"/proc/self/fdinfo/{fd}", encoding="ascii") as file:
            flags = int(next(line for line in file if line.startswith("flags:")).split()[1], 8)
        found = os.fstat(fd)
        os.close(fd)
        if not flags & os.O_PATH:
            raise AssertionError("what was opened can be read")
        return text, (found.st_dev, found.st_ino)

    def close(self):
        self.channel.close()
        self.process.kill()
        self.process.communicate(timeout=SECONDS)


class Asked(WithFolder):
    """msp serve in PROJECT, a directory in a home; all of it in a folder of the test's."""

    def setUp(self):
        super().setUp()
        self.programs = os.path.join(self.folder, "bin")
        os.mkdir(self.programs)
        for name in os.listdir(support.BIN):
            if name not in ("msp", "msp-supervisor"):
                os.symlink(os.path.join(support.BIN, name), os.path.join(self.programs, name))
        shutil.copy(support.MSP, self.programs)
        shutil.copy(STAND_IN, os.path.join(self.programs, "msp-supervisor"))
        self.home = os.path.join(self.folder, "home")
        self.project = self.make("home", "project")
        self.other = self.make("home", "other")
        self.make("home", "project", "src")
        self.make("home", ".ssh")
        self.state = self.make("state")
        os.chmod(self.state, 0o700)

    def make(self, *names):
        path = os.path.join(self.folder, *names)
        os.makedirs(path, exist_ok=True)
        return path

    def serve(self, *words, cwd=None, **variables):
        opener = Opener(os.path.join(self.programs, "msp"), words, cwd=cwd or self.project,
                        env=self.environment(MSP_STATE_DIR=self.state, **variables))
        self.addCleanup(opener.close)
        return opener

    def assert_opened(self, opener, path, canonical, **keywords):
        found = os.stat(canonical)
        self.assertEqual(opener.ask(path, **keywords), (canonical, (found.st_dev, found.st_ino)))

    def assert_refused(self, opener, path, rule, **keywords):
        opened, text = opener.ask(path, **keywords)
        self.assertIsNone(opened, f"{path} was opened")
        self.assertTrue(text.startswith("'"), text)
        self.assertIn("' is refused: ", text)
        self.assertRegex(text, rule)
        self.assertEqual(len(text.splitlines()), 1)
        return text


class Requests(Asked):
    def test_what_a_model_asks_for(self):
        """The whole of T19: /, the directories above by name, by .. and by links, links of /proc."""
        opener = self.serve()
        for name, text in (("up", ".."), ("root", "/"), ("keys", "../.ssh"), ("out", "../other"),
                           ("self", "/proc/self/cwd"), ("loop", "loop"), ("in", "src")):
            os.symlink(text, os.path.join(self.project, name))
        for path in ("/", self.folder, self.home, self.other, self.project + "-evil",
                     os.path.join(self.home, ".ssh"), "/etc", "/proc/self/cwd", "/proc/self/root",
                     "/proc/self/fd/3", f"/proc/{opener.process.pid}/cwd", "/dev/shm", "/root",
                     self.state, *(os.path.join(self.project, name) for name in
                                   ("up", "root", "keys", "out", "self", "loop", "up/other",
                                    "root/etc"))):
            with self.subTest(path=path):
                self.assert_refused(opener, path, rf"does not lie in {self.project}, where msp was "
                                                  "started")
        for path in ("..", "/..", self.project + "/..", self.project + "/src/../../other",
                     self.project + "/src/../../missing", self.project + "/out/../.ssh"):
            with self.subTest(path=path):
                self.assert_refused(opener, path, "does not lie in|no absolute path")
        self.assert_opened(opener, self.project + "/../project", self.project)
        self.assert_opened(opener, self.project, self.project)
        self.assert_opened(opener, self.project + "//./src/", self.project + "/src")
        self.assert_opened(opener, self.project + "/in", self.project + "/src")

    def test_what_a_person_asks_for(self):
        """The control of the test above: what is protected stays so, the rest is opened."""
        opener = self.serve()
        os.symlink("../other", os.path.join(self.project, "out"))
        self.assert_opened(opener, self.other, self.other, is_person=1)
        self.assert_opened(opener, self.project + "/out", self.other, is_person=1)
        for path in ("/", "/etc", "/root", "/dev/shm", self.folder, self.home, self.state,
                     os.path.join(self.home, ".ssh")):
            with self.subTest(path=path):
                self.assert_refused(opener, path, "holds what no sandbox may see", is_person=1)
        self.assert_refused(opener, "/proc/self/cwd", "a link of /proc", is_person=1)
        self.assert_refused(opener, self.home + "/missing", "no such directory", is_person=1)
        self.assert_refused(opener, os.path.join(self.programs, "msp"), "no directory", is_person=1)

    def test_names_of_any_bytes(self):
        opener = self.serve()
        for name in (b"new\nline", b"\xff\xfe", b"\x1b[31m", "äöü".encode(), b"a" * 255):
            path = os.path.join(os.fsencode(self.project), name)
            os.mkdir(path)
            self.assert_opened(opener, os.fsdecode(path), os.fsdecode(path))
        self.assert_refused(opener, self.project + "/no\nsuch\x1b", r"no\?such\?' is refused")

    def test_what_others_may_not_reach(self):
        if os.geteuid() == 0:
            self.skipTest("root reads everything")
        opener = self.serve()
        closed = self.make("home", "project", "closed")
        self.make("home", "project", "closed", "inner")
        os.chmod(closed, 0)
        self.addCleanup(os.chmod, closed, 0o700)
        self.assert_refused(opener, closed, "cannot read it")
        self.assert_refused(opener, closed + "/inner", "cannot reach it")

    def test_a_directory_that_was_exchanged(self):
        """What is open is what was opened at the start, whatever its name is now."""
        opener = self.serve()
        moved = self.project + "-moved"
        os.rename(self.project, moved)
        os.symlink(self.other, self.project)
        self.assert_refused(opener, self.project, f"does not lie in {moved}")
        self.assert_opened(opener, moved + "/src", moved + "/src")

    def test_nothing_is_open_where_something_is_protected(self):
        for cwd in ("/", self.home, self.folder, os.path.join(self.home, ".ssh")):
            with self.subTest(cwd=cwd):
                opener = self.serve(cwd=cwd)
                self.assert_refused(opener, self.project, "where msp was started, is or holds what")
                self.assert_refused(opener, self.project,
                                    f"msp client-config --workspace {self.project} CLIENT")
                self.assert_refused(opener, self.project + " x", r"--workspace DIR CLIENT")
                self.assert_opened(opener, self.project, self.project, is_person=1)


class Options(Asked):
    def test_directories_that_the_command_line_opens(self):
        opener = self.serve("--workspace", self.other, "--workspace=src")
        self.assert_opened(opener, self.other, self.other)
        self.assert_opened(opener, self.project + "/src", self.project + "/src")
        text = self.assert_refused(opener, self.project, "'msp serve --workspace' opened")
        self.assertIn(f"({self.other}, {self.project}/src)", text)

    def test_directories_that_the_file_opens(self):
        path = self.write(f"workspaces: [{self.project}, {self.folder}/later]\n")
        opener = self.serve("--config", path, cwd=self.other)
        self.assert_opened(opener, self.project + "/src", self.project + "/src")
        for is_person in (0, 1):
            self.assert_refused(opener, self.other, "none of the workspaces that the operator's "
                                                    f"file names .{self.project}",
                                is_person=is_person)
        later = self.make("later")
        self.assert_opened(opener, later, later)
        opener = self.serve("--config", path, "--workspace", self.project + "/src")
        self.assert_opened(opener, self.project + "/src", self.project + "/src")
        self.assert_refused(opener, self.project, "'msp serve --workspace' opened")
        self.assert_opened(opener, self.project, self.project, is_person=1)

    def test_another_policy(self):
        """A path opener goes by the policy that its supervisor took."""
        path = self.write(f"protect: [{self.other}]\n")
        opener = self.serve("--config", path)
        protected = "which holds what no sandbox may see"
        self.assert_refused(opener, self.other, protected, is_person=1)
        self.assert_opened(opener, self.project, self.project)
        self.write(f"workspaces: [{self.other}]\n")
        opener.channel.send(ipc.message("policy_ask", generation=1))
        answer = opener.receive()
        self.assertEqual(answer.name, "policy_new")
        os.close(answer.fds[0])
        self.assert_refused(opener, self.other, protected, is_person=1)
        self.assert_opened(opener, self.project, self.project)
        self.assert_opened(opener, self.other, self.other, generation=2)
        self.assert_refused(opener, self.project, "none of the workspaces", generation=2)

    def test_wrong_ones_end_the_start(self):
        file = self.write("")
        config = self.write(f"workspaces: [{self.project}]\n", "ws.yaml")
        for words, code, says in (
                (("--workspace", self.home), 78, "--workspace: '.*' is refused: it is"),
                (("--workspace=/",), 78, "--workspace: '/' is refused: it contains"),
                (("--workspace", self.state), 78, "is refused: it is "),
                (("--workspace", file), 78, "cannot be opened: Not a directory"),
                (("--workspace", self.home + "/missing"), 78, "No such file or directory"),
                (("--workspace=",), 64, "workspace"),
                (("--workspace", self.other, "--config", config), 78, "none of the workspaces"),
                (("--service", "--workspace", self.project), 64, "is said for a client"),
                (("--workspace=src",) * (MOST + 1), 64, "at most 8")):
            with self.subTest(words=words):
                result = msp("serve", "--limits=fallback", *words, cwd=self.project,
                             env=self.environment(MSP_STATE_DIR=self.state))
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertRegex(result.stderr, says)
                self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)


class Process(Asked):
    """What stays of the launcher."""

    def test_what_it_holds_and_when_it_ends(self):
        opener = self.serve("--workspace", self.other)
        self.assertIn("supervisor_audit", opener.heard)
        self.assertEqual(("supervisor_state" in opener.heard) +
                         ("supervisor_stateless" in opener.heard), 1)

        def openers():
            return [pid for pid in children(opener.process.pid) if name_of(pid) == "msp-opener"]

        # Each takes its name when it begins.
        self.assertTrue(support.wait_until(openers, SECONDS))
        pid, = openers()
        self.assertTrue(support.wait_until(
            lambda: [name_of(child) for child in children(pid)] == ["msp-starter"], SECONDS))
        starter, = children(pid)
        # It is confined when it answers.
        self.assert_opened(opener, self.other, self.other, is_person=1)
        for each, privileges, filters in ((pid, 1, 2), (starter, 0, 0)):
            with self.assertRaises(PermissionError):  # nobody else sees a secret in its memory
                os.listdir(f"/proc/{each}/fd")
            with open(f"/proc/{each}/status", encoding="ascii") as file:
                said = dict(line.split(":", 1) for line in file)
            self.assertEqual(int(said["CapPrm"], 16), 0)
            self.assertEqual((int(said["NoNewPrivs"]), int(said["Seccomp"])), (privileges, filters))
        opener.close()
        self.assertTrue(support.wait_until(lambda: not os.path.exists(f"/proc/{pid}/exe") or
                                           name_of(pid) != "msp-opener", SECONDS))

    def test_other_clients_directories(self):
        """As a service's supervisor says them before the question, for that one alone."""
        opener = self.serve()
        self.assert_opened(opener, self.other, self.other, within=[(self.other, 0)])
        self.assert_refused(opener, self.project, "--workspace", within=[(self.other, 0)])
        self.assert_opened(opener, self.other, self.other, within=[(self.other, 1)])
        self.assert_refused(opener, self.other, "is or holds what no", within=[(self.home, 1)])
        self.assert_refused(opener, self.other, "where msp was started")
        self.assert_opened(opener, self.other, self.other,
                           within=[(self.project, 0)] * (MOST - 1) + [(self.other, 0)])


class HandedOver(Folder):
    """What a client's msp tells the service before it hands the client over."""

    def told(self, *words, cwd="/"):
        told = queue.Queue()

        def answer(connection):
            receive(connection)
            connection.send(ipc.message("status", clients=1))
            while True:
                data, fds, _, _ = socket.recv_fds(connection, 1 << 18, 8)
                found = [os.readlink(f"/proc/self/fd/{fd}") for fd in fds]
                for fd in fds:
                    os.close(fd)
                told.put((ipc.NAMES[struct.unpack_from("I", data)[0]], data[4:], found))
                if data[:4] != ipc.raw_message("client_workspace"):
                    break
            connection.send(ipc.message("client_end", reason=3))

        with Fake(self.socket, answer):
            result = msp("serve", LIMITS, "--socket=" + self.socket, *words, cwd=cwd)
        os.unlink(self.socket)
        self.assertEqual(result.returncode, 75, result.stderr)
        messages = [told.get(timeout=SECONDS) for _ in range(told.qsize())]
        self.assertEqual(messages.pop()[0], "client_start")
        return [(struct.unpack("=I", body)[0], *found) for _, body, found in messages]

    def test_where_it_was_started(self):
        self.assertEqual(self.told(), [(1, "/")])
        self.assertEqual(self.told(cwd="/usr/lib"), [(1, "/usr/lib")])

    def test_what_it_was_given(self):
        self.assertEqual(self.told("--workspace=/usr/include", "--workspace=/usr/share"),
                         [(0, "/usr/include"), (0, "/usr/share")])


if __name__ == "__main__":
    unittest.main()
