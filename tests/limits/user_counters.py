#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The kernel counts some things for all processes of a user together. One sandbox must not use up
what msp itself, the other sandboxes and the user's own programs need of them."""
import errno
import json
import os
import resource
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import leftovers  # noqa: E402  (its folder is known from here on)
import support  # noqa: E402
from cli_support import SECONDS, msp  # noqa: E402
from service import Folder  # noqa: E402

# Of the service: less than many machines give, so that the attacks below could exceed it.
SERVICE_FILES = 8192

# Descriptors on their way in messages: pairs of sockets that are never read from.
HOLD = """
import socket, sys, time
pairs = []
sent = 0
try:
    while sent < 12000:
        pairs.append(socket.socketpair())
        for _ in range(9):
            socket.send_fds(pairs[-1][0], [b"x"], [1] * 200)
            sent += 200
except OSError as error:
    print(error.errno, end=" ")
print(sent, flush=True)
time.sleep(60)
"""

# Senders that wait for room: each has passed the kernel's check by then.
PARK = """
import os, socket, sys, tempfile, threading, time
folder = tempfile.mkdtemp()
receivers, kept, begun, sent = [], [], [], []
def park(path):
    sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    kept.append(sender)
    sender.connect(path)
    begun.append(path)
    socket.send_fds(sender, [b"x"], [1] * 250)
    sent.append(250)
for number in range(6):
    path = os.path.join(folder, str(number))
    receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    filler = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    receivers.append(receiver)
    kept.append(filler)
    receiver.bind(path)
    filler.connect(path)
    filler.setblocking(False)
    try:
        while True:
            filler.send(b"x")
    except BlockingIOError:
        pass
    for _ in range(10):
        threading.Thread(target=park, args=(path,), daemon=True).start()
while len(begun) < 60:
    time.sleep(0.01)
time.sleep(1)
for receiver in receivers:
    receiver.settimeout(0.01)
    try:
        for _ in range(11):
            receiver.recv(1)
    except OSError:
        pass
time.sleep(0.5)
print(sum(sent), flush=True)
time.sleep(60)
"""


# Inotify instances, as many as there are; a number says how many that was.
WATCHERS = """
import ctypes, time
libc = ctypes.CDLL(None, use_errno=True)
taken = 0
while taken < 5000 and libc.inotify_init() >= 0:
    taken += 1
print(taken, ctypes.get_errno(), flush=True)
time.sleep(60)
"""


def setUpModule():
    leftovers.become_reaper()


def files_of(count):
    """For Popen: both limits on descriptors, in the child."""
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))


def can_send():
    """A process of this user with the limit that most programs have sends a descriptor."""
    code = "import socket; a, b = socket.socketpair(); socket.send_fds(a, [b'x'], [1])"
    return subprocess.run([sys.executable, "-c", code], preexec_fn=files_of(1024), check=False,
                          stderr=subprocess.DEVNULL, timeout=SECONDS).returncode == 0


@unittest.skipIf(os.geteuid() == 0, "root's descriptors in flight are not counted")
class InFlight(Folder):
    def attack(self, profile, code):
        """Start it in a sandbox of the service's; what it says, which client stays."""
        self.service(preexec_fn=files_of(SERVICE_FILES))
        client = self.client()
        client.call("run_command", command="true")
        attacker = self.start_run("python3", "-c", code,
                                  options=["--profile=" + profile, "--timeout=50"])
        return attacker, attacker.stdout.readline(), client

    def assert_all_are_served(self, client):
        result = client.call("run_command", command="echo served")
        self.assertFalse(result["isError"], result)
        self.assertIn("served", support.text_of(result))
        newcomer = self.client().call("run_command", command="echo new")
        self.assertIn("new", support.text_of(newcomer))
        result = self.run_msp("echo", "alone")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "alone\n", ""))

    def test_senders_cannot_wait_past_the_limit(self):
        attacker, told, client = self.attack("default", PARK)
        self.assertEqual(told, "")
        self.assertIn("PermissionError", attacker.communicate()[1])
        self.assert_all_are_served(client)
        self.assertTrue(can_send())

    def test_control_senders_that_wait_pass_the_limit(self):
        """The same program without a sandbox: more than its limit is in flight, and a process with
        that limit sends nothing any more."""
        attacker = subprocess.Popen([sys.executable, "-c", PARK], stdout=subprocess.PIPE, text=True,
                                    preexec_fn=files_of(1024))
        try:
            told = int(attacker.stdout.readline())
            if told <= 1024 + 250:
                self.skipTest("this kernel counts what senders that wait have attached")
            self.assertGreater(told, 10_000)
            self.assertFalse(can_send())
        finally:
            attacker.kill()
            attacker.communicate()
        self.assertTrue(support.wait_until(can_send, SECONDS))

    def test_what_a_workload_may_have_stops_nobody_else(self):
        """Its profile allows more than the service has."""
        attacker, told, client = self.attack("node-dev", HOLD)
        error, sent = map(int, told.split())
        self.assertEqual(error, errno.ETOOMANYREFS)
        self.assertGreater(sent, SERVICE_FILES // 2)
        self.assert_all_are_served(client)
        # The control: a process that may have fewer than are in flight sends none.
        self.assertFalse(can_send())
        attacker.kill()
        self.assertTrue(support.wait_until(can_send, SECONDS))

    def test_the_share_is_half_and_is_said(self):
        result = support.run_python(
            "import resource; print(*resource.getrlimit(resource.RLIMIT_NOFILE))",
            options=["--profile=node-dev"], preexec_fn=files_of(SERVICE_FILES))
        self.assertEqual((result.returncode, result.stdout),
                         (0, f"{SERVICE_FILES // 2} {SERVICE_FILES // 2}\n"))
        self.assertIn(f"profile node-dev gets open_files: {SERVICE_FILES // 2} instead of 16384",
                      result.stderr)
        self.assertIn("raise the hard limit of descriptors to 32768", result.stderr)
        result = support.run_python("", preexec_fn=files_of(SERVICE_FILES))
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_the_doctor_compares_the_limits(self):
        for limit, status in ((SERVICE_FILES, "missing"), (1 << 15, "ok")):
            if limit > resource.getrlimit(resource.RLIMIT_NOFILE)[1]:
                continue
            result = msp("doctor", "--json", preexec_fn=files_of(limit))
            probe, = [one for one in json.loads(result.stdout)["probes"]
                      if one["name"] == "descriptors"]
            self.assertEqual(probe["status"], status, probe)

    def test_the_default_profile_leaves_room_for_ordinary_programs(self):
        """They may have 1,024 descriptors, by an old convention, and send some."""
        attacker, told, _ = self.attack("default", HOLD)
        error, sent = map(int, told.split())
        self.assertEqual(error, errno.ETOOMANYREFS)
        self.assertGreater(sent, 768)
        self.assertTrue(can_send())

    def test_a_client_is_told_by_name_what_is_used_up(self):
        """By a program of the user's, outside of any sandbox, that may have more than the service."""
        self.service(preexec_fn=files_of(SERVICE_FILES // 4))
        client = self.client()
        client.call("run_command", command="true")
        other = subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True,
                                 preexec_fn=files_of(SERVICE_FILES // 2))
        try:
            self.assertGreater(int(other.stdout.readline().split()[1]), SERVICE_FILES // 4)
            result = client.call("run_command", command="true")
        finally:
            other.kill()
            other.communicate()
        self.assertTrue(result["isError"], result)
        self.assertIn("Too many descriptors of this user are in flight between sockets "
                      "(ETOOMANYREFS)", support.text_of(result))
        self.assertTrue(support.wait_until(can_send, SECONDS))
        self.assertFalse(client.call("run_command", command="true")["isError"])

    def test_ordinary_sockets_work(self):
        code = ("import socket\n"
                "for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):\n"
                "    a, b = socket.socketpair(socket.AF_UNIX, kind)\n"
                "    socket.send_fds(a, [b'x'], [1])\n"
                "    print(len(socket.recv_fds(b, 1, 1)[1]))\n")
        result = support.run_python(code)
        self.assertEqual((result.returncode, result.stdout), (0, "1\n1\n"), result.stderr)


def inotify_limit(name):
    with open("/proc/sys/fs/inotify/max_user_" + name, encoding="ascii") as file:
        return int(file.read())


@unittest.skipIf(os.geteuid() == 0, "root is another user than a sandbox")
class Inotify(Folder):
    def begin(self, command, **keywords):
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   text=True, **keywords)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        taken, error = map(int, process.stdout.readline().split())
        return process, taken, error

    def attack(self):
        return self.begin([support.MSP, "run", *support.limits(), "--", "python3", "-c", WATCHERS])

    def has_room(self):
        """Takes the user one, outside of any sandbox."""
        code = "import ctypes, sys; sys.exit(ctypes.CDLL(None).inotify_init() < 0)"
        return subprocess.run([sys.executable, "-c", code], check=False,
                              timeout=SECONDS).returncode == 0

    def test_a_sandbox_has_a_quarter(self):
        _, taken, error = self.attack()
        self.assertEqual((taken, error), (inotify_limit("instances") // 4, errno.EMFILE))
        self.assertTrue(self.has_room())
        _, taken, _ = self.attack()
        self.assertEqual(taken, inotify_limit("instances") // 4)

    def test_all_sandboxes_of_a_service_have_half(self):
        self.service()
        taken = [self.begin([support.MSP, "run", *support.limits(), "--socket=" + self.socket,
                             "--", "python3", "-c", WATCHERS])[1] for _ in range(3)]
        self.assertEqual(sum(taken), inotify_limit("instances") // 2, taken)
        self.assertTrue(self.has_room())

    def test_control_without_a_sandbox_nothing_is_left(self):
        process, taken, error = self.begin([sys.executable, "-c", WATCHERS])
        self.assertGreater(taken, inotify_limit("instances") // 2)
        self.assertEqual(error, errno.EMFILE)
        self.assertFalse(self.has_room())
        process.kill()
        process.wait()
        self.assertTrue(support.wait_until(self.has_room, SECONDS))

    def test_the_bounds_stay(self):
        code = ("for name in ('instances', 'watches'):\n"
                "    path = '/proc/sys/user/max_inotify_' + name\n"
                "    print(open(path).read().strip())\n"
                "    try:\n"
                "        open(path, 'w')\n"
                "    except PermissionError:\n"
                "        print('refused')\n")
        result = support.run_python(code)
        self.assertEqual(result.stdout.split(), [
            str(inotify_limit("instances") // 4), "refused",
            str(inotify_limit("watches") // 4), "refused"], result.stderr)

    def test_a_development_server_can_watch(self):
        code = ("import ctypes, os\n"
                "libc = ctypes.CDLL(None)\n"
                "for _ in range(8):\n"
                "    instance = libc.inotify_init()\n"
                "    for number in range(250):\n"
                "        path = f'/tmp/{number}'\n"
                "        os.makedirs(path, exist_ok=True)\n"
                "        assert libc.inotify_add_watch(instance, path.encode(), 0xfff) > 0\n"
                "os.mkdir('/tmp/0/new')\n"
                "print(len(os.read(instance, 4096)) > 0)\n")
        result = support.run_python(code)
        self.assertEqual((result.returncode, result.stdout), (0, "True\n"), result.stderr)


# Terminals, in more processes than one may have descriptors for.
TERMINALS = """
import os, time
taken = 0
for _ in range(4):
    reading, writing = os.pipe()
    if os.fork() == 0:
        count = 0
        try:
            while True:
                os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)
                count += 1
        except OSError:
            os.write(writing, str(count).encode())
        time.sleep(60)
    taken += int(os.read(reading, 100))
print(taken, flush=True)
time.sleep(60)
"""
SANDBOX_TERMINALS = 64


class Terminals(Folder):
    """Counted for all sandboxes of a machine; the host has some for itself."""

    def test_a_sandbox_has_its_share(self):
        attacker = subprocess.Popen([support.MSP, "run", *support.limits(), "--", "python3", "-c",
                                     TERMINALS], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.addCleanup(attacker.communicate)
        self.addCleanup(attacker.kill)
        self.assertEqual(int(attacker.stdout.readline()), SANDBOX_TERMINALS)
        result = support.run_python("import pty; print(len(pty.openpty()))")
        self.assertEqual((result.returncode, result.stdout), (0, "2\n"), result.stderr)

    def test_control_without_a_sandbox_there_are_more(self):
        result = subprocess.Popen([sys.executable, "-c", TERMINALS], stdout=subprocess.PIPE,
                                  preexec_fn=files_of(40), start_new_session=True)
        try:
            self.assertGreater(int(result.stdout.readline()), SANDBOX_TERMINALS)
        finally:
            os.killpg(result.pid, signal.SIGKILL)
            result.communicate()


if __name__ == "__main__":
    unittest.main()
