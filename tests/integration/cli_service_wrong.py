#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A service's socket that cannot be used: another version's, a hanging one's, somebody else's; wrong
command lines; and what a service manager passes, right and wrong."""
import array
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import threading
import time
import unittest

import ipc
import leftovers
import support
from cli_support import MSP, SECONDS, msp
from service import LIMITS, Folder, Service, end_of

OWN = "gets a supervisor of its own"
WELCOME = ipc.message("welcome", schema=ipc.SCHEMA, default_profile="default")


def setUpModule():
    leftovers.become_reaper()


class Fake:
    """Listens where a service would; `answer(connection)` is all that it does for each."""

    def __init__(self, path, answer, kind=socket.SOCK_SEQPACKET):
        self.listener = socket.socket(socket.AF_UNIX, kind)
        self.listener.bind(path)
        self.listener.listen(8)
        self.answer = answer
        self.heard = []
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                self.answer(connection)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join(SECONDS)
        self.listener.close()


def receive_fds(connection):
    """One message and its descriptors. What a client's requests may name comes before it, and is
    passed over."""
    while True:
        data, rights, _, _ = connection.recvmsg(1 << 18, 256)
        fds = [fd for _, _, part in rights
               for fd in array.array("i", part[:len(part) // 4 * 4])]
        if data[:4] != ipc.raw_message("client_workspace"):
            return data, fds
        for fd in fds:
            os.close(fd)


def receive(connection):
    """The same with its descriptors closed."""
    data, fds = receive_fds(connection)
    for fd in fds:
        os.close(fd)
    return data


def say(*messages):
    """Read what comes first, then say this and close."""
    def answer(connection):
        receive(connection)
        for data in messages:
            plan = [ipc.sealed(b"plan")] if data is WELCOME else []
            socket.send_fds(connection, [data], plan)
            for fd in plan:
                os.close(fd)
    return answer


def take(*messages):
    """Be of this version, and then say this to a client that is handed over."""
    def answer(connection):
        receive(connection)
        connection.send(ipc.message("status", clients=1))
        say(*messages)(connection)
    return answer


class OtherVersion(Folder):
    def assert_standalone(self, says):
        """Both ways in say why and work all the same; the status says so too."""
        client = support.Server(LIMITS, "--socket=" + self.socket, with_limits=False)
        self.addCleanup(self.close, client)
        client.initialize()
        text = support.text_of(client.call("run_command", command="echo works"))
        self.assertTrue(text.startswith("works\n"), text)
        self.assertEqual(client.close(SECONDS), 0)
        self.assertRegex(client.error_text.decode(), rf"^msp: serve: .*{says}.*{OWN}\n$")
        result = self.run_msp("echo", "works")
        self.assertEqual((result.returncode, result.stdout), (0, "works\n"))
        self.assertRegex(result.stderr, rf"^msp: run: .*{says}.*{OWN}\n$")

    def assert_status(self, state, code):
        result = msp("status", "--json", "--socket=" + self.socket)
        self.assertEqual((json.loads(result.stdout)["state"], result.returncode), (state, code))
        result = msp("status", "--socket=" + self.socket)
        self.assertEqual((result.stdout, result.returncode), ("", code))
        return result.stderr

    def test_it_closes_without_a_word(self):
        with Fake(self.socket, receive):
            self.assert_standalone("no answer of this version: 'systemctl --user restart msp.service'")
            self.assertIn("restart msp.service", self.assert_status("other_version", 75))

    def test_it_ends_before_it_reads(self):
        """Its listener goes with a client that nobody accepted, or it closes one unread."""
        def close_unread(connection):
            support.wait_until(lambda: connection.recv(1, socket.MSG_PEEK), SECONDS)

        with Fake(self.socket, close_unread):
            self.assert_standalone("no answer of this version")
        os.unlink(self.socket)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(self.socket)
        listener.listen(1)
        process = self.start_run("echo", "works")
        time.sleep(0.3)
        listener.close()
        out, error = process.communicate(timeout=SECONDS)
        self.assertEqual((process.returncode, out), (0, "works\n"))
        self.assertRegex(error, rf"no answer of this version.*{OWN}")

    def test_it_answers_with_what_we_do_not_know(self):
        for data in (struct.pack("I", 4000), b"x", ipc.raw_message("status", b"short"),
                     ipc.message("client_started") + b"more"):
            with self.subTest(data=data[:8]), Fake(self.socket, say(data)):
                self.assert_standalone("no answer of this version")
                self.assert_status("other_version", 75)
            os.unlink(self.socket)

    def test_it_answers_what_was_not_asked(self):
        with Fake(self.socket, say(WELCOME)):
            result = msp("serve", LIMITS, "--socket=" + self.socket)
            self.assertEqual(result.returncode, 0)
            self.assertRegex(result.stderr, rf"what was not asked.*{OWN}")
        os.unlink(self.socket)
        with Fake(self.socket, say(ipc.message("status"))):
            result = self.run_msp("echo", "works")
            self.assertEqual((result.returncode, result.stdout), (0, "works\n"))
            self.assertRegex(result.stderr, rf"no answer of this version.*{OWN}")

    def test_it_turns_a_command_away(self):
        """Which was asked for already; whoever runs it instead gets all of its input."""
        for reason, code in ((3, 75), (5, 75), (4, 0), (77, 0)):
            with self.subTest(reason=reason), \
                    Fake(self.socket, say(ipc.message("client_end", reason=reason))):
                result = self.run_msp("cat", input="all of it\n")
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertEqual(result.stdout, "" if code else "all of it\n")
                self.assertEqual(OWN in result.stderr, code == 0)
            os.unlink(self.socket)

    def test_weaker_limits_that_a_configuration_accepts(self):
        """It is read when the service turns the command away for them, which is then said."""
        def weaker(connection):
            heard.append(receive(connection)[-4:])
            connection.send(ipc.message("client_end", reason=4))

        heard = []
        folder = os.path.join(self.folder, ".config", "msp")
        os.makedirs(folder)
        with open(os.path.join(folder, "config.yaml"), "w", encoding="ascii") as file:
            file.write("limits: fallback\n")
        with Fake(self.socket, weaker):
            result = msp("run", "--socket=" + self.socket, "--", "echo", "works",
                         env={**os.environ, "HOME": self.folder})
            self.assertEqual((result.returncode, result.stdout), (0, "works\n"), result.stderr)
        self.assertEqual(len(heard), 2)
        self.assertNotEqual(heard[0], struct.pack("I", ipc.LIMITS_FALLBACK))
        self.assertEqual(heard[1], struct.pack("I", ipc.LIMITS_FALLBACK))

    def test_it_stops(self):
        with Fake(self.socket, say(ipc.message("client_end", reason=5))):
            result = msp("serve", LIMITS, "--socket=" + self.socket)
            self.assertEqual(result.returncode, 75)
            self.assertIn("the service is stopping", result.stderr)
            self.assertEqual(self.run_msp("true").returncode, 75)
            self.assert_status("stopping", 75)

    def test_it_fails_after_it_took_the_client(self):
        started = ipc.message("client_started", limits=1)
        for reason, code in ((2, 70), (5, 75), (1, 0), (77, 70)):
            with self.subTest(reason=reason), \
                    Fake(self.socket, take(started, ipc.message("client_end", reason=reason))):
                self.assertEqual(msp("serve", LIMITS, "--socket=" + self.socket).returncode, code)
            os.unlink(self.socket)
        with Fake(self.socket, take(started, ipc.message("status"))):
            self.assertEqual(msp("serve", LIMITS, "--socket=" + self.socket).returncode, 70)

    def test_it_refuses_after_all(self):
        for reason, code in ((3, 75), (5, 75), (4, 0), (77, 0)):
            with self.subTest(reason=reason), \
                    Fake(self.socket, take(ipc.message("client_end", reason=reason))):
                result = msp("serve", LIMITS, "--socket=" + self.socket)
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertEqual(OWN in result.stderr, code == 0)
            os.unlink(self.socket)
        with Fake(self.socket, take(WELCOME)):
            result = msp("serve", LIMITS, "--socket=" + self.socket)
            self.assertEqual(result.returncode, 0)
            self.assertIn("what was not asked", result.stderr)

    def test_it_takes_the_client_too_late(self):
        """Once msp has stopped waiting, nobody can take its client any more."""
        def late(connection):
            receive(connection)
            connection.send(ipc.message("status", clients=1))
            receive(connection)
            connection.recv(1)  # until msp gives up
            try:
                connection.send(ipc.message("client_started", limits=1))
            except BrokenPipeError:
                refused.append(True)

        refused = []
        with Fake(self.socket, late):
            result = msp("serve", LIMITS, "--socket=" + self.socket)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("not answer", result.stderr)
            self.assertTrue(support.wait_until(lambda: refused, SECONDS))

    def test_it_hangs(self):
        def hang(connection):
            while connection.recv(1):  # until the other side gives up
                pass

        with Fake(self.socket, hang):
            self.assert_standalone("not answer")
            self.assert_status("silent", 75)

    def test_a_stopped_service_hangs(self):
        service = self.service()
        service.process.send_signal(signal.SIGSTOP)
        self.addCleanup(service.process.send_signal, signal.SIGCONT)
        result = msp("serve", LIMITS, "--socket=" + self.socket)
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, rf"not answer.*{OWN}")
        service.process.send_signal(signal.SIGCONT)
        self.assertTrue(support.wait_until(lambda: service.status()["clients"] == 0, SECONDS))
        self.assertEqual(service.find("msp-broker"), [], "the client was not taken after all")


class Untrusted(Folder):
    def assert_refused(self, says, path=None):
        path = path or self.socket
        result = msp("run", LIMITS, "--socket=" + path, "--", "echo", "works")
        self.assertEqual((result.returncode, result.stdout), (0, "works\n"), result.stderr)
        self.assertRegex(result.stderr, rf"^msp: run: .*{says}.*{OWN}\n$")
        self.assertEqual(msp("status", "--socket=" + path).returncode, 78)
        result = msp("serve", "--service", LIMITS, "--socket=" + path)
        self.assertEqual(result.returncode, 78)
        self.assertRegex(result.stderr, rf"^msp: serve: .*{says}.*\n$")

    def test_a_folder_that_others_may_write_to(self):
        for mode in (0o770, 0o777, 0o1777, 0o702):
            with self.subTest(mode=oct(mode)), Fake(self.socket, receive) as fake:
                os.chmod(self.folder, mode)
                self.assert_refused(f"{mode:04o}: it must be ours")
                self.assertEqual(fake.heard, [])
            os.unlink(self.socket)
        os.chmod(self.folder, 0o700)

    def test_a_folder_of_somebody_else(self):
        if os.getuid() == 0:
            self.skipTest("root owns it")
        self.assert_refused("user 0 with mode", "/etc/s.sock")

    def test_a_folder_by_a_symbolic_link(self):
        link = os.path.join(self.folder, "link")
        os.symlink(self.folder, link)
        self.assert_refused("no folder, or a symbolic link", link + "/s.sock")

    def test_a_folder_that_is_none(self):
        path = os.path.join(self.folder, "file")
        with open(path, "wb"):
            pass
        self.assert_refused("no folder", path + "/s.sock")

    def test_a_socket_of_another_kind(self):
        with Fake(self.socket, receive, socket.SOCK_STREAM):
            result = self.run_msp("true")
            self.assertEqual(result.returncode, 0)
            self.assertRegex(result.stderr, OWN)


class WrongWords(Folder):
    def test_ten(self):
        long = "/" + "x" * 64
        for words, says in (
                (["serve", "--max-executions=0"], "at least 1 and at most 1024"),
                (["serve", "--max-executions=1025"], "at least 1 and at most 1024"),
                (["serve", "--max-executions=-1"], "at least 1"),
                (["serve", "--max-executions=7up"], "at least 1"),
                (["serve", "--max-memory=8Q"], "such as 8G"),
                (["serve", "--max-memory=1M"], "from 16M"),
                (["serve", "--max-memory=99999999999999999999"], "1024T"),
                (["serve", "--max-memory="], "such as 8G"),
                (["serve", "--socket=s.sock"], "absolute path"),
                (["status", "--socket=" + long], "shorter than 64 bytes"),
                (["run", "--socket=/tmp/", "true"], "absolute path"),
                (["run", "--socket=/tmp/..", "true"], "absolute path"),
                (["serve", "--service", "--standalone"], "exclude each other"),
                (["serve", "--standalone", "--socket=/a/b"], "asks no service"),
                (["serve", "--servce"], "did you mean '--service'"),
                (["status", "now"], "one word too many"),
                (["statsu"], "did you mean 'status'")):
            with self.subTest(words=words):
                result = msp(*words)
                self.assertEqual((result.returncode, result.stdout), (64, ""), result.stderr)
                self.assertIn(says, result.stderr)
                self.assertEqual(len(result.stderr.splitlines()), 1)


class Starts(Folder):
    def refuse(self, says, code, **environment):
        result = msp("serve", "--service", LIMITS, "--socket=" + self.socket,
                     env={**os.environ, **environment})
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertRegex(result.stderr, says)

    def test_a_second_one(self):
        service = self.service()
        self.refuse(r"^msp: serve: a service already listens on .*'msp status' shows it", 75)
        self.assertEqual(service.status()["pid"], service.process.pid)

    def test_many_at_once(self):
        """However they race: one serves, the others are refused."""
        started = [subprocess.Popen([MSP, "serve", "--service", LIMITS, "--socket=" + self.socket],
                                    stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
                   for _ in range(8)]
        self.addCleanup(lambda: [process.communicate() for process in started])
        self.assertTrue(support.wait_until(
            lambda: sum(process.poll() is not None for process in started) == 7, SECONDS))
        self.assertEqual(sorted(process.poll() or 0 for process in started), [0] + [75] * 7)
        survivor = [process for process in started if process.poll() is None][0]
        status = json.loads(msp("status", "--json", "--socket=" + self.socket).stdout)
        self.assertEqual(status["pid"], survivor.pid)
        survivor.terminate()
        self.assertEqual(survivor.wait(SECONDS), 143)

    def test_starts_take_turns(self):
        """What would race is done under the lock."""
        with open(self.socket + ".lock", "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            process = subprocess.Popen(
                [MSP, "serve", "--service", LIMITS, "--socket=" + self.socket],
                stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
            self.addCleanup(process.communicate)
            self.addCleanup(process.kill)
            self.assertFalse(support.wait_until(lambda: os.path.exists(self.socket), 1))
        self.assertTrue(support.wait_until(
            lambda: msp("status", "--socket=" + self.socket).returncode == 0, SECONDS))
        process.terminate()
        self.assertEqual(process.wait(SECONDS), 143)

    def test_a_file_in_the_sockets_place_stays(self):
        with open(self.socket, "w", encoding="ascii") as file:
            file.write("mine")
        self.refuse("cannot listen on .*File exists", 78)
        with open(self.socket, encoding="ascii") as file:
            self.assertEqual(file.read(), "mine")

    def test_its_folder_is_made(self):
        path = os.path.join(self.folder, "msp", "s.sock")
        with Service(path):
            self.assertEqual(os.stat(os.path.dirname(path)).st_mode & 0o7777, 0o700)
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)

    def test_no_folder_for_its_folder(self):
        self.socket = os.path.join(self.folder, "a", "b", "s.sock")
        self.refuse("cannot be made", 78)

    def test_the_users_own_place(self):
        if os.path.exists(f"/run/user/{os.getuid()}"):
            self.skipTest("the real one is there")
        environment = {**os.environ, "XDG_RUNTIME_DIR": self.folder}
        process = subprocess.Popen([MSP, "serve", "--service", LIMITS], env=environment,
                                   stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.terminate)
        self.assertTrue(support.wait_until(
            lambda: msp("status", env=environment).returncode == 0, SECONDS))
        self.assertTrue(os.path.exists(os.path.join(self.folder, "msp", "supervisor.sock")))
        self.assertEqual(msp("run", LIMITS, "--", "true", env=environment).returncode, 0)
        status = json.loads(msp("status", "--json", env=environment).stdout)
        self.assertEqual(status["executions"]["started"], 1)
        os.chmod(self.folder, 0o755)  # not closed to others: not a runtime folder
        self.assertEqual(msp("status", env=environment).returncode, 3)
        environment["XDG_RUNTIME_DIR"] = "run"
        self.assertEqual(msp("status", env=environment).returncode, 3)


class Manager(Folder):
    """What systemd does: the socket is its own, and it wants to hear from us."""

    def start(self, listener, count=1, words="LISTEN_PID=$$", **environment):
        fds = [listener.fileno()]
        process = subprocess.Popen(
            ["/bin/bash", "-c", f'{words} LISTEN_FDS={count} exec "$0" "$@" 3<&{fds[0]}',
             MSP, "serve", "--service", LIMITS, "--socket=" + self.socket],
            pass_fds=fds, env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def listen(self, kind=socket.SOCK_SEQPACKET, listens=True):
        listener = socket.socket(socket.AF_UNIX, kind)
        self.addCleanup(listener.close)
        listener.bind(self.socket)
        if listens:
            listener.listen(8)
        return listener

    def notified(self, path, **environment):
        """Start with NOTIFY_SOCKET; the process and a function that waits for the next word."""
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(manager.close)
        manager.bind("\0" + path[1:] if path.startswith("@") else path)
        manager.settimeout(SECONDS)
        process = self.start(self.listen(), NOTIFY_SOCKET=path, **environment)
        return process, lambda: manager.recv(256).decode()

    def test_one_that_cannot_start_turns_clients_away(self):
        """Each of them hears it at once, has a supervisor of its own, and the reason from that."""
        config = os.path.join(self.folder, "config.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write("nonsense: 1\n")
        process = self.start(self.listen(), MSP_CONFIG=config)
        for _ in range(3):
            result = msp("run", LIMITS, "--socket=" + self.socket, "--", "echo", "mine")
            self.assertEqual((result.returncode, result.stdout), (0, "mine\n"), result.stderr)
            self.assertIn("the service cannot start: 'journalctl --user -u msp.service' says why; this "
                          "command " + OWN, result.stderr)
        self.assertEqual(json.loads(msp("status", "--json", "--socket=" + self.socket).stdout)["state"],
                         "unfit")
        self.assertEqual(process.wait(SECONDS), 78)
        self.assertIn("nonsense", process.stderr.read())

    def test_activation(self):
        listener = self.listen()
        waiting = self.start_run("echo", "waited")  # it connects before anybody answers
        process = self.start(listener)
        out, error = waiting.communicate(timeout=SECONDS)
        self.assertEqual((waiting.returncode, out), (0, "waited\n"), error)
        process.terminate()
        self.assertEqual(process.wait(SECONDS), 143)
        self.assertTrue(os.path.exists(self.socket), "it is the manager's")
        process = self.start(listener)  # and serves the next one
        self.assertEqual(self.run_msp("echo", "again").stdout, "again\n")
        process.terminate()
        process.wait(SECONDS)

    def test_a_socket_of_another_kind(self):
        for kind, listens in ((socket.SOCK_STREAM, True), (socket.SOCK_SEQPACKET, False)):
            with self.subTest(kind=kind):
                process = self.start(self.listen(kind, listens))
                self.assertEqual(process.wait(SECONDS), 78)
                self.assertIn("ListenSequentialPacket=", process.stderr.read())
            os.unlink(self.socket)

    def test_more_than_one_socket(self):
        process = self.start(self.listen(), count=2)
        self.assertEqual(process.wait(SECONDS), 78)

    def test_what_is_for_another_process(self):
        """An environment that was inherited: the descriptor is not ours."""
        listener = self.listen()
        listener.close()
        os.unlink(self.socket)
        other = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(other.close)
        process = self.start(other, words="LISTEN_PID=1")
        self.assertTrue(support.wait_until(
            lambda: msp("status", "--socket=" + self.socket).returncode == 0, SECONDS))
        process.terminate()
        self.assertEqual(process.wait(SECONDS), 143)

    def test_it_hears_from_us(self):
        for path in (os.path.join(self.folder, "notify"), f"@msp-test-{os.getpid()}"):
            with self.subTest(path=path):
                process, word = self.notified(path)
                self.assertEqual(word(), "READY=1")
                process.terminate()
                self.assertEqual(word(), "STOPPING=1")
                process.wait(SECONDS)
            os.unlink(self.socket)

    def test_the_watchdog(self):
        process, word = self.notified(os.path.join(self.folder, "notify"), WATCHDOG_USEC="100000")
        self.assertEqual([word() for _ in range(4)], ["READY=1"] + ["WATCHDOG=1"] * 3)
        process.terminate()
        process.wait(SECONDS)

    def test_a_watchdog_for_another_process(self):
        process, word = self.notified(os.path.join(self.folder, "notify"), WATCHDOG_USEC="20000",
                                      WATCHDOG_PID="1")
        self.assertEqual(word(), "READY=1")
        time.sleep(0.2)
        process.terminate()
        self.assertEqual(word(), "STOPPING=1", "and no sign of life before")
        process.wait(SECONDS)

    def test_a_manager_that_is_not_there(self):
        process = self.start(self.listen(), NOTIFY_SOCKET=self.folder + "/nobody")
        self.assertEqual(process.wait(SECONDS), 78)
        self.assertIn("NOTIFY_SOCKET=", process.stderr.read())


class Status(Folder):
    def test_nobody(self):
        result = msp("status", "--socket=" + self.socket)
        self.assertEqual((result.returncode, result.stdout), (3, ""))
        self.assertRegex(result.stderr, r"nobody answers on .*('systemctl --user start msp\.service'|'msp setup') starts "
                                        "the service; ")
        result = msp("status", "--json", "--socket=" + self.socket)
        self.assertEqual((result.returncode, result.stderr), (3, ""))
        self.assertEqual(json.loads(result.stdout)["state"], "not_running")

    def test_true_numbers(self):
        service = self.service("--max-executions=7", "--max-memory=64G")
        client = self.client()
        process = self.start_run("sleep", "300")
        self.assertTrue(support.wait_until(
            lambda: service.status()["executions"]["now"] == 1, SECONDS))
        client.call("run_command", command="true")
        self.assertTrue(support.wait_until(
            lambda: service.status()["executions"]["now"] == 1, SECONDS))
        status = service.status()
        self.assertEqual(status["pid"], service.process.pid)
        self.assertEqual(status["clients"], 2)
        self.assertEqual(status["executions"], {"now": 1, "max": 7, "started": 2, "refused": 0})
        self.assertEqual(status["memory"]["max_bytes"], 64 << 30)
        self.assertGreater(status["memory"]["bytes"], 0)
        self.assertGreaterEqual(status["posture"]["landlock_abi"], 6)
        self.assertGreater(status["posture"]["layers"], 10)
        self.assertLess(status["uptime_ms"], SECONDS * 1000)
        text = msp("status", "--socket=" + self.socket).stdout
        for pattern in (rf"process {service.process.pid},", r"clients +2 of at most 64",
                        r"executions +1 of at most 7; 2 were started, 0 refused",
                        r"memory +\d+ MiB of at most 65536 MiB", r"limits +(cgroup|fallback)",
                        r"Landlock ABI \d", r"posture +1\d layers hold; not tried: landlock tcp"):
            self.assertRegex(text, pattern)
        process.terminate()

    def test_a_full_disk(self):
        self.service()
        with open("/dev/full", "wb") as full:
            for words in ([], ["--json"]):
                result = msp("status", "--socket=" + self.socket, *words, stdout=full)
                self.assertEqual(result.returncode, 70)


if __name__ == "__main__":
    unittest.main()
