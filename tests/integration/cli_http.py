#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`msp serve --http` up to the point where a broker serves: addresses, the file of tokens, the
descriptors that are handed on, and the end of it all. And `msp token`."""
import concurrent.futures
import fcntl
import hashlib
import json
import os
import queue
import re
import shutil
import signal
import socket
import stat
import subprocess
import threading
import unittest

import ipc
import leftovers
import support
from cli_service_wrong import Fake, receive, receive_fds
from cli_support import MSP, SECONDS, msp
from service import LIMITS, Folder

BUILD = os.environ.get("MSP_BUILD") or os.path.dirname(support.BIN)
STAND_IN = os.path.join(BUILD, "tests", "cli-stand-in")
TOKEN = re.compile(r"msp_[A-Za-z0-9_-]{43}")
ANY_PORT = "127.0.0.1:0"


def setUpModule():
    leftovers.become_reaper()


def ready_line(process):
    """What the server says when it listens: where, as the rest of the line."""
    line = process.stderr.readline()
    if not line.startswith("msp: serving MCP at "):
        raise AssertionError(line + process.communicate(timeout=SECONDS)[1])
    return line[len("msp: serving MCP at "):].rstrip("\n")


def port_of(where):
    return int(re.fullmatch(r"http://(?:127\.0\.0\.1|\[::1\]):(\d+)/mcp", where).group(1))


def listening_ports():
    """{inode: port} of the sockets that listen on IPv4."""
    with open("/proc/net/tcp", encoding="ascii") as file:
        rows = [line.split() for line in file][1:]
    return {row[9]: int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A"}


def is_open(port):
    """Does anybody listen there? Nobody is disturbed by the question."""
    return port in listening_ports().values()


class Tokens(Folder):
    """A folder with a file of tokens in it, which holds one."""

    def setUp(self):
        super().setUp()
        self.file = os.path.join(self.folder, "tokens")
        self.secret = self.create("first")

    def msp_token(self, *words, **keywords):
        return msp("token", *words, "--token-file=" + self.file, **keywords)

    def create(self, name):
        result = self.msp_token("create", name)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, rf"\A{TOKEN.pattern}\n\Z")
        return result.stdout.strip()

    def content(self):
        with open(self.file, encoding="ascii") as file:
            return file.read()

    def names(self):
        return [row["name"] for row in json.loads(self.msp_token("list", "--json").stdout)["tokens"]]

    def start(self, *options, program=MSP, address=ANY_PORT, tokens=True, **keywords):
        """A server; not awaited."""
        words = ["--token-file=" + self.file] if tokens else []
        process = subprocess.Popen([program, "serve", LIMITS, "--http=" + address, *words, *options],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, **keywords)
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=SECONDS)

    def refused(self, code, pattern, *options, address=ANY_PORT, tokens=True, **keywords):
        words = ["--token-file=" + self.file] if tokens else []
        result = msp("serve", LIMITS, "--http=" + address, *words, *options, **keywords)
        self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertRegex(result.stderr, pattern)


class Addresses(Tokens):
    def test_only_this_machine(self):
        for address in ("0.0.0.0:8765", "[::]:8765", "*:8765", ":8765", "192.0.2.1:8765",
                        "example.org:8765"):
            with self.subTest(address=address):
                self.refused(64, r"speaks no TLS.*reverse proxy.*ssh -L", address=address)

    def test_what_is_no_address(self):
        for address in ("", "8765", "127.0.0.1", "127.0.0.1:http", "127.0.0.1:70000"):
            with self.subTest(address=address):
                self.refused(64, r"127\.0\.0\.1:PORT", address=address)
        self.refused(64, "107 bytes.*sun_path", address="unix:relative")
        self.refused(64, "107 bytes.*sun_path", address="unix:/" + "long/" * 30 + "s")

    def test_options_that_contradict(self):
        self.refused(64, "start the service, and then 'msp serve --http", "--service")
        result = msp("serve", "--token-file=" + self.file)
        self.assertEqual(result.returncode, 64)
        self.assertIn("--token-file is for --http", result.stderr)

    def test_a_port_in_use(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            address = "127.0.0.1:%d" % other.getsockname()[1]
            self.refused(75, "another program listens on " + re.escape(address) + ".*port 0",
                         address=address)

    def test_a_port_of_a_server_that_just_ended(self):
        """It has connections in TIME_WAIT, and its end may take a moment."""
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            client = socket.create_connection(("127.0.0.1", port))
            server, _ = other.accept()
            server.close()
            client.close()
            threading.Timer(0.2, other.close).start()
            process = self.start("--standalone", address=f"127.0.0.1:{port}")
            self.assertEqual(port_of(ready_line(process)), port)

    @unittest.skipIf(os.geteuid() == 0, "root may use every port until it is an ordinary account")
    def test_a_port_of_the_system(self):
        with open("/proc/sys/net/ipv4/ip_unprivileged_port_start", encoding="ascii") as file:
            if int(file.read()) <= 1:
                self.skipTest("every port is free here")
        self.refused(78, "below 1024", address="127.0.0.1:1")

    def unix(self, name="http.sock"):
        return "unix:" + os.path.join(self.folder, name)

    def test_folders_of_unix_sockets(self):
        self.refused(78, "No such file", address=self.unix("none/s"), tokens=False)
        os.mkdir(os.path.join(self.folder, "open"))
        for mode in (0o770, 0o707, 0o1777):
            os.chmod(os.path.join(self.folder, "open"), mode)
            self.refused(78, "writable by nobody else", address=self.unix("open/s"), tokens=False)
        if os.geteuid() != 0:
            self.refused(78, "belongs to user 0", address="unix:/s", tokens=False)

    def test_a_unix_socket_in_use(self):
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(self.unix()[5:])
            other.listen()
            self.refused(75, "another program listens", address=self.unix(), tokens=False)

    def test_a_file_that_is_no_socket_stays(self):
        with open(self.unix()[5:], "w", encoding="ascii") as file:
            file.write("mine")
        self.refused(78, "File exists", address=self.unix(), tokens=False)
        self.assertTrue(os.path.isfile(self.unix()[5:]))


class TokenFile(Tokens):
    """What the file must be like, for the server and for those who change it."""

    def unfit(self, pattern):
        self.refused(78, pattern)
        for words in (["list"], ["create", "other"], ["revoke", "first"]):
            result = self.msp_token(*words)
            self.assertEqual((result.returncode, result.stdout), (78, ""), result.stderr)
            self.assertRegex(result.stderr, pattern)

    def test_modes(self):
        for mode in (0o640, 0o604, 0o660, 0o601, 0o777):
            os.chmod(self.file, mode)
            self.unfit(r"has mode 0%o.*chmod 600" % mode)

    def test_a_symbolic_link(self):
        os.rename(self.file, self.file + ".real")
        os.symlink(self.file + ".real", self.file)
        self.unfit("is a symbolic link")

    def test_no_regular_file(self):
        os.unlink(self.file)
        os.mkfifo(self.file, 0o600)
        self.unfit("no regular file")

    def test_of_another_user(self):
        if os.geteuid() == 0:
            os.chown(self.file, 65534, 65534)
        else:
            self.file = "/etc/passwd"
        self.refused(78, r"belongs to user \d+: it must be ours")

    def test_sizes(self):
        with open(self.file, "a", encoding="ascii") as file:
            file.write("#" * (65536 - os.path.getsize(self.file) - 1) + "\n")
        self.assertEqual(os.path.getsize(self.file), 65536)
        self.assertEqual(self.names(), ["first"])
        self.assertEqual(self.msp_token("create", "x").returncode, 78)
        with open(self.file, "a", encoding="ascii") as file:
            file.write("\n")
        self.unfit("larger than 65536 bytes")

    def test_missing(self):
        os.unlink(self.file)
        self.refused(78, "'msp token create NAME' makes it")
        self.assertFalse(os.path.exists(self.file))

    def test_nobody_could_come_in(self):
        for text in ("", "# nobody\n", "first\n", "first " + "0" * 63 + "\n",
                     "first " + "A" * 64 + "\n", "fi rst " + "0" * 64 + "\n"):
            with open(self.file, "w", encoding="ascii") as file:
                file.write(text)
            self.refused(78, "nobody could come in: 'msp token create NAME'")
        with open(self.file, "w", encoding="ascii") as file:
            file.write("".join(f"n{number} {'0' * 64}\n" for number in range(257)))
        self.refused(78, "holds 257 tokens, and 256 are the most")

    def test_a_unix_socket_needs_none_but_what_was_named_is_checked(self):
        os.chmod(self.file, 0o644)
        self.refused(78, "chmod 600", address="unix:" + self.folder + "/s")
        self.assertFalse(os.path.exists(self.folder + "/s"))


class Changes(Tokens):
    def test_what_is_kept(self):
        self.assertEqual(self.content(),
                         f"first {hashlib.sha256(self.secret.encode()).hexdigest()}\n")
        self.assertEqual(stat.S_IMODE(os.stat(self.file).st_mode), 0o600)
        self.assertNotEqual(self.create("second"), self.secret)
        self.assertEqual(self.names(), ["first", "second"])

    def test_the_default_place(self):
        home = os.path.join(self.folder, "home")
        os.mkdir(home)
        environment = {**os.environ, "HOME": home}
        environment.pop("XDG_CONFIG_HOME", None)
        old = os.umask(0)
        try:
            result = msp("token", "create", "me", env=environment)
        finally:
            os.umask(old)
        self.assertEqual(result.returncode, 0, result.stderr)
        for path, mode in ((".config", 0o700), (".config/msp", 0o700), (".config/msp/tokens", 0o600)):
            self.assertEqual(stat.S_IMODE(os.stat(os.path.join(home, path)).st_mode), mode, path)
        self.assertEqual(msp("token", "list", env=environment).stdout, "me\n")

    def test_a_list_without_a_file(self):
        os.unlink(self.file)
        result = self.msp_token("list")
        self.assertEqual((result.returncode, result.stdout), (0, ""))
        self.assertIn("msp token create NAME", result.stderr)
        self.assertEqual(self.names(), [])
        self.assertFalse(os.path.exists(self.file))

    def test_a_list_shows_no_secrets(self):
        self.create("second")
        for words in (["list"], ["list", "--json"]):
            result = self.msp_token(*words)
            text = result.stdout + result.stderr
            self.assertNotRegex(text, TOKEN)
            self.assertNotRegex(text, r"[0-9a-f]{16}")
            self.assertIn("second", text)

    def test_wrong_lines_are_said(self):
        with open(self.file, "a", encoding="ascii") as file:
            file.write("# a comment\n\nnobody\n")
        result = self.msp_token("list")
        self.assertEqual(result.stdout, "first\n")
        self.assertRegex(result.stderr, r"\Amsp: token list: line 4 of \S+ is no token, and admits "
                                        r"nobody\n\Z")

    def test_a_revoked_one_goes_in_place(self):
        self.create("second")
        before = os.stat(self.file)
        with open(self.file, "rb") as held:  # as a broker does
            self.assertEqual(self.msp_token("revoke", "first").returncode, 0)
            seen = held.read()
        after = os.stat(self.file)
        self.assertEqual((before.st_ino, before.st_size), (after.st_ino, after.st_size))
        self.assertNotIn(hashlib.sha256(self.secret.encode()).hexdigest().encode(), seen)
        self.assertEqual(self.names(), ["second"])
        self.create("third")
        self.assertEqual(os.stat(self.file).st_size, before.st_size, "its line is used again")
        self.assertEqual(sorted(self.names()), ["second", "third"])

    def test_two_of_one_name(self):
        with open(self.file, "a", encoding="ascii") as file:
            file.write("first " + "0" * 64 + "\n")
        self.assertEqual(self.msp_token("revoke", "first").returncode, 0)
        self.assertEqual(self.names(), [])

    def test_wrong_words(self):
        for words, pattern in ((["create", "first"], "has a token already"),
                               (["revoke", "nobody"], "'msp token list' shows"),
                               (["create", "a b"], "must be of letters"),
                               (["create", "n" * 64], "at most 63"),
                               (["create"], "a name is missing"), (["revok", "x"], "did you mean"),
                               ([], r"create NAME \| list \| revoke"), (["list", "x"], "no name"),
                               (["create", "x", "y"], "one word too many"),
                               (["create", "x", "--json"], "--json is for list")):
            with self.subTest(words=words):
                result = self.msp_token(*words)
                self.assertEqual((result.returncode, result.stdout), (64, ""), result.stderr)
                self.assertRegex(result.stderr, pattern)
        self.assertEqual(self.names(), ["first"])

    def test_a_token_that_cannot_be_shown_is_taken_back(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            result = self.msp_token("create", "unseen", stdout=full)
        self.assertEqual(result.returncode, 70)
        self.assertEqual(self.names(), ["first"])

    def test_many_at_once_lose_nothing(self):
        names = [f"client-{number}" for number in range(60)]
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            secrets = dict(zip(names, pool.map(self.create, names)))
            gone = names[::3]
            list(pool.map(lambda name: self.msp_token("revoke", name), gone))
        self.assertEqual(sorted(self.names()), sorted(["first", *set(names) - set(gone)]))
        kept = dict(line.split() for line in self.content().splitlines() if line[:1] not in ("", "#"))
        for name in set(names) - set(gone):
            self.assertEqual(kept[name], hashlib.sha256(secrets[name].encode()).hexdigest())

    def test_it_waits_for_who_holds_the_lock(self):
        with open(self.file, "rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            process = subprocess.Popen([MSP, "token", "create", "later", "--token-file=" + self.file],
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE)
            with self.assertRaises(subprocess.TimeoutExpired):
                process.communicate(timeout=0.5)
            self.assertNotIn("later", self.content())
            fcntl.flock(held, fcntl.LOCK_UN)
            process.communicate(timeout=SECONDS)
        self.assertEqual(self.names(), ["first", "later"])


@unittest.skipUnless(os.path.exists(STAND_IN), "needs the test programs of a build with tests")
class Descriptors(Tokens):
    """What the supervisor that msp becomes finds."""

    def setUp(self):
        super().setUp()
        self.bin = os.path.join(self.folder, "bin")
        shutil.copytree(support.BIN, self.bin)
        shutil.copy(STAND_IN, os.path.join(self.bin, "msp-supervisor"))

    def begin(self, **keywords):
        process = self.start("--standalone", program=os.path.join(self.bin, "msp"), **keywords)
        where = ready_line(process)
        self.assertTrue(support.wait_until(
            lambda: b"msp-supervisor" in self.read(process, "cmdline"), SECONDS))
        return process, where

    def read(self, process, name):
        with open(f"/proc/{process.pid}/{name}", "rb") as file:
            return file.read()

    def flags(self, process, fd):
        text = self.read(process, f"fdinfo/{fd}").decode()
        return int(re.search(r"flags:\s+(\d+)", text).group(1), 8)

    def link(self, process, fd):
        return os.readlink(f"/proc/{process.pid}/fd/{fd}")

    def test_over_tcp(self):
        process, where = self.begin()
        inode = re.fullmatch(r"socket:\[(\d+)\]", self.link(process, 0)).group(1)
        self.assertEqual(listening_ports()[inode], port_of(where))
        self.assertTrue(self.flags(process, 0) & os.O_NONBLOCK)
        self.assertEqual(self.link(process, 1), self.file)
        self.assertEqual(self.flags(process, 1) & os.O_ACCMODE, os.O_RDONLY)
        self.assertRegex(self.link(process, 2), r"^pipe:")
        fds = f"/proc/{process.pid}/fd"  # one more while a library is loaded
        self.assertTrue(support.wait_until(
            lambda: sorted(map(int, os.listdir(fds))) == list(range(6))), os.listdir(fds))

    def test_over_a_unix_socket(self):
        path = os.path.join(self.folder, "h.sock")
        process, where = self.begin(address="unix:" + path, tokens=False)
        self.assertEqual(where, f"unix:{path}, over HTTP at /mcp")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
        self.assertRegex(self.link(process, 0), r"^socket:")
        self.assertTrue(self.flags(process, 0) & os.O_NONBLOCK)
        self.assertEqual(self.link(process, 1), "/dev/null")
        process.kill()
        process.wait(SECONDS)
        self.begin(address="unix:" + path, tokens=False)  # in place of the dead one

    def test_over_a_unix_socket_with_tokens(self):
        process, _ = self.begin(address="unix:" + self.folder + "/h.sock")
        self.assertEqual(self.link(process, 1), self.file)

    def test_no_secret_in_what_others_can_see(self):
        process, _ = self.begin()
        digest = hashlib.sha256(self.secret.encode()).hexdigest().encode()
        for name in ("cmdline", "environ"):
            text = self.read(process, name)
            self.assertNotIn(self.secret.encode(), text)
            self.assertNotIn(digest, text)

    def test_without_standard_streams(self):
        """Nothing of ours may land where a stream is missing."""
        process = subprocess.Popen(
            ["/bin/sh", "-c", 'exec "$0" serve "$@" <&- >&-', os.path.join(self.bin, "msp"), LIMITS,
             "--standalone", "--http=" + ANY_PORT, "--token-file=" + self.file],
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        port = port_of(ready_line(process))
        self.assertTrue(support.wait_until(
            lambda: b"msp-supervisor" in self.read(process, "cmdline"), SECONDS))
        inode = re.fullmatch(r"socket:\[(\d+)\]", self.link(process, 0)).group(1)
        self.assertEqual(listening_ports()[inode], port)
        self.assertEqual(self.link(process, 1), self.file)


class Standalone(Tokens):
    """The end, with all of the real processes."""

    def begin(self):
        process = self.start("--standalone")
        port = port_of(ready_line(process))
        self.assertTrue(support.wait_until(
            lambda: support.named(process.pid, "msp-broker"), SECONDS))
        self.assertTrue(is_open(port))
        return process, port

    def assert_gone(self, port, everything):
        self.assertTrue(support.wait_until(lambda: not any(map(support.is_alive, everything)), SECONDS))
        self.assertFalse(is_open(port))

    def test_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            process, port = self.begin()
            everything = support.descendants(process.pid)
            process.send_signal(number)
            self.assertEqual(process.wait(SECONDS), 128 + number)
            self.assert_gone(port, everything)

    def test_killed(self):
        process, port = self.begin()
        everything = support.descendants(process.pid)
        process.kill()
        process.wait(SECONDS)
        self.assert_gone(port, everything)

    def test_the_broker_is_killed(self):
        process, port = self.begin()
        everything = support.descendants(process.pid)
        for pid in everything:
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    if b"msp-broker" in file.read():
                        os.kill(pid, signal.SIGKILL)
            except FileNotFoundError:
                pass  # of the sandbox in which the layers were tried
        self.assertEqual(process.wait(SECONDS), 70)
        self.assert_gone(port, everything)


class HandedOver(Tokens):
    def begin(self):
        process = self.start("--socket=" + self.socket)
        return process, port_of(ready_line(process))

    def test_what_the_service_gets(self):
        """A service that only looks."""
        taken, ended = queue.Queue(), queue.Queue()

        def take(connection):
            receive(connection)
            connection.send(ipc.message("status", clients=1))
            taken.put(receive_fds(connection)[1])
            connection.send(ipc.message("client_started"))
            ended.put(connection.recv(1))

        with Fake(self.socket, take):
            process, port = self.begin()
            listener, tokens, error = taken.get(timeout=SECONDS)
            for fd in (tokens, error):
                self.addCleanup(os.close, fd)
            with socket.socket(fileno=listener) as server:
                self.assertEqual(server.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN), 1)
                self.assertEqual(server.getsockname(), ("127.0.0.1", port))
                self.assertTrue(fcntl.fcntl(server, fcntl.F_GETFL) & os.O_NONBLOCK)
                self.assertTrue(stat.S_ISREG(os.fstat(tokens).st_mode))
                self.assertEqual(os.pread(tokens, 1 << 17, 0).decode(), self.content())
                self.assertEqual(fcntl.fcntl(tokens, fcntl.F_GETFL) & os.O_ACCMODE, os.O_RDONLY)
                self.assertEqual(self.msp_token("revoke", "first").returncode, 0)
                self.assertEqual(os.pread(tokens, 1 << 17, 0).decode(), self.content(),
                                 "what is changed is this file, not another in its place")
                with self.assertRaises(OSError):
                    os.write(tokens, b"x")
            # The broker's copy was the last: msp itself holds none.
            self.assertTrue(support.wait_until(lambda: not is_open(port), SECONDS))
            process.kill()
            self.assertEqual(ended.get(timeout=SECONDS), b"", "msp's end is seen")

    def test_with_a_service(self):
        service = self.service()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            process, port = self.begin()
            self.assertTrue(support.wait_until(lambda: service.find("msp-broker"), SECONDS))
            self.assertEqual(support.descendants(process.pid), [], "nothing of its own")
            self.assertEqual(service.status()["clients"], 1)
            self.assertTrue(is_open(port))
            process.send_signal(number)
            self.assertEqual(process.wait(SECONDS), -number)
            self.assertTrue(support.wait_until(lambda: not service.find("msp-broker"), SECONDS))
            self.assertTrue(support.wait_until(lambda: not is_open(port), SECONDS))
        self.assertIsNone(service.process.poll())

    def test_the_next_one_has_the_port_at_once(self):
        """The service ends the broker of one that was killed; the next need not know when."""
        self.service()
        process, port = self.begin()
        for _ in range(5):
            process.kill()
            process.wait(SECONDS)
            process = self.start("--socket=" + self.socket, address=f"127.0.0.1:{port}")
            self.assertEqual(port_of(ready_line(process)), port)

    def test_the_service_stops(self):
        service = self.service()
        process, port = self.begin()
        self.assertTrue(support.wait_until(lambda: service.find("msp-broker"), SECONDS))
        self.assertTrue(support.wait_until(lambda: service.status()["clients"] == 1, SECONDS))
        service.process.terminate()
        self.assertEqual(process.wait(SECONDS), 75)
        self.assertIn("start this server again", process.stderr.read())
        self.assertTrue(support.wait_until(lambda: not is_open(port), SECONDS))


if __name__ == "__main__":
    unittest.main()
