#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""msp-bridge by itself, in the network of a namespace that stands for a sandbox's. This test is the
frontend, the path opener, the server and the clients, of which some mean harm."""
import contextlib
import os
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import unittest

import ipc
import support
from bridge_support import read_all
from gateway_support import Program

SEED = int(os.environ.get("MSP_SEED", "7"))
STEP_NONE, STEP_RECORD, STEP_CONNECT = 0, 1, 3  # enum bridge_step
FRONTEND, SANDBOX, SUPERVISOR, CLOSED = range(4)  # enum bridge_end
# A sandbox's init: a namespace in a namespace, whose servers return what they get, or never read.
INSIDE = """\
import fcntl, socket, struct, sys, threading
with socket.socket() as link:
    fcntl.ioctl(link, 0x8914, struct.pack("16sh14x", b"lo", 1))  # SIOCSIFFLAGS: up
def echo(client):
    with client:
        while part := client.recv(1 << 16):
            client.sendall(part)
def serve(port, act):
    server = socket.create_server(("127.0.0.1", port), backlog=256)
    def take():
        while True:
            act(server.accept()[0])
    threading.Thread(target=take, daemon=True).start()
kept = []
serve(5000, lambda client: threading.Thread(target=echo, args=(client,), daemon=True).start())
serve(5001, kept.append)
channel = socket.socket(fileno=int(sys.argv[1]))
routing = socket.socket()
socket.send_fds(channel, [b"ready"], [routing.fileno()])
channel.recv(1)
"""


def setUpModule():
    if not os.path.exists(os.path.join(support.BIN, "msp-bridge")):
        raise unittest.SkipTest("msp-bridge is not built")
    if os.geteuid() == 0:
        raise unittest.SkipTest("needs an ordinary user")


class Sandbox:
    def __init__(self):
        self.ours, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                ["unshare", "--user", "--map-root-user", "--", "unshare", "--user", "--net",
                 "--map-root-user", "--", sys.executable, "-c", INSIDE, str(theirs.fileno())],
                pass_fds=[theirs.fileno()])
        self.ours.settimeout(20)
        _, (self.network,), _, _ = socket.recv_fds(self.ours, 16, 1)
        self.init = os.pidfd_open(self.process.pid)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.ours.close()
        os.close(self.network)
        os.close(self.init)


class Bridge:
    """One msp-bridge, its two channels, and the port that it was handed."""

    def __init__(self, port=5000, is_raw=0, schema=ipc.SCHEMA):
        self.control, control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.opener, opener = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        bound = socket.socket()
        bound.setblocking(False)
        bound.bind(("127.0.0.1", 0))
        self.port = bound.getsockname()[1]
        fds = [control, bound]

        def prepare():
            for number, fd in enumerate([os.dup(fd.fileno()) for fd in fds]):
                os.dup2(fd, 3 + number)
        self.process = subprocess.Popen(
            [os.path.join(support.BIN, "msp-bridge")], stdin=subprocess.DEVNULL, env={},
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, close_fds=False, preexec_fn=prepare)
        Program.send(self.control, "bridge_begin", fds=[opener.fileno()], schema=schema, port=port,
                     is_raw=is_raw)
        for fd in (*fds, opener):
            fd.close()

    def hear(self, channel=None):
        """The name and the fields of the next message of either channel; None at its end."""
        found = Program.receive(channel or self.control)
        return found[:2] if found else None

    def let_in(self, sandbox):
        Program.send(self.opener, "bridge_open", fds=[sandbox.network, sandbox.init])

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), 20)

    def ask(self, data):
        with self.connect() as client:
            try:
                client.sendall(data)
                client.shutdown(socket.SHUT_WR)
            except OSError:  # it was reset, which the read says
                pass
            return read_all(client)

    def close(self):
        """Its exit code, and what it wrote on stderr."""
        self.control.close()
        self.opener.close()
        error = self.process.communicate(timeout=60)[1].decode()
        return self.process.returncode, error


class Case(unittest.TestCase):
    def bridge(self, *args, **keywords):
        bridge = Bridge(*args, **keywords)

        def end():
            code, said = bridge.close()
            self.assertEqual((code, said), self.ending)
        self.ending = (0, "")
        self.addCleanup(end)
        return bridge

    def opened(self, *args, **keywords):
        self.sandbox = Sandbox()
        self.addCleanup(self.sandbox.close)
        bridge = self.bridge(*args, **keywords)
        self.assertEqual(bridge.hear(), ("bridge_bound", {"host_port": bridge.port}))
        bridge.let_in(self.sandbox)
        self.assertEqual(bridge.hear(), ("bridge_ready", {"step": STEP_NONE, "error": 0}))
        return bridge

    def head(self, bridge, **fields):
        fields = {"Host": f"127.0.0.1:{bridge.port}", **fields}
        return b"GET / HTTP/1.1\r\n" + b"".join(
            f"{key}: {value}\r\n".encode() for key, value in fields.items()) + b"\r\n"


class Begin(Case):
    def test_it_waits_for_the_record(self):
        bridge = self.bridge()
        self.assertEqual(bridge.hear()[0], "bridge_bound")
        with self.assertRaises(ConnectionRefusedError):
            bridge.connect()
        bridge.opener.close()
        self.assertEqual(bridge.hear(), ("bridge_ready", {"step": STEP_RECORD, "error": 0}))

    def test_no_server_and_a_broken_opener(self):
        self.sandbox = Sandbox()
        self.addCleanup(self.sandbox.close)
        bridge = self.bridge(port=5002)
        bridge.hear()
        bridge.let_in(self.sandbox)
        self.assertEqual(bridge.hear()[1]["step"], STEP_CONNECT)
        with self.assertRaises(ConnectionRefusedError):
            bridge.connect()
        for said in (b"?", b"", ipc.message("bridge_open")):  # without its descriptors
            bridge = self.bridge()
            bridge.hear()
            bridge.opener.send(said)
            if said == b"":
                bridge.opener.close()
            self.assertEqual(bridge.hear(), ("bridge_ready", {"step": STEP_RECORD, "error": 0}))

    def test_another_version_is_refused(self):
        bridge = Bridge(schema=bytes(32))
        code, said = bridge.process.wait(20), bridge.close()[1]
        self.assertEqual(code, 70)
        self.assertIn("is not a supervisor of this version", said)


class Connections(Case):
    def test_heads_of_all_kinds(self):
        """Bytes of any kind get an answer or reach the server whole, and end nothing else."""
        bridge = self.opened()
        good = self.head(bridge)
        self.assertEqual(bridge.ask(good), good)
        self.assertIn(b" 403 ", bridge.ask(self.head(bridge, Host="evil.example")))
        self.assertIn(b" 403 ", bridge.ask(self.head(bridge, Origin="http://evil.example")))
        self.assertEqual(bridge.ask(b"\x16\x03\x01 no HTTP"), b"\x16\x03\x01 no HTTP")
        self.assertIn(b" 400 ", bridge.ask(b"GET / HTTP/1.1\r\nHost: " + b"a" * 70000))
        chance = random.Random(SEED)
        for turn in range(300):
            data = bytearray(good)
            for _ in range(chance.randrange(1, 6)):
                at = chance.randrange(len(data))
                data[at:at + chance.randrange(3)] = chance.randbytes(chance.randrange(3))
            answer = bridge.ask(bytes(data))
            with self.subTest(seed=SEED, turn=turn, data=bytes(data)):
                if answer != data:
                    self.assertRegex(answer, rb"\AHTTP/1\.1 (400|403) ")
        self.assertEqual(bridge.ask(good), good)
        self.assertEqual(bridge.process.poll(), None)

    def test_clients_that_go_and_a_server_that_never_reads(self):
        bridge = self.opened(5001, 1)
        for _ in range(40):
            client = bridge.connect()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.send(bytes(1000))
            client.close()  # a reset
        full = bridge.connect()
        full.setblocking(False)
        sent = 0
        while select.select([], [full], [], 1)[1]:
            sent += full.send(bytes(1 << 16))
        self.assertLess(sent, 64 << 20)  # the kernel's buffers and one of 64 KiB
        full.close()
        self.assertEqual(bridge.process.poll(), None)

    def test_more_connections_than_there_is_room_for(self):
        bridge = self.opened(5001, 1)
        clients = []
        for _ in range(300):
            with contextlib.suppress(ConnectionResetError):
                clients.append(bridge.connect())
        self.assertTrue(support.wait_until(  # the others hear nothing
            lambda: len(clients) - len(select.select(clients, [], [], 0)[0]) == 256))
        bridge.control.shutdown(socket.SHUT_WR)
        self.assertEqual(bridge.hear()[1]["refused"], 300 - 256)
        for client in clients:
            client.close()


class Ends(Case):
    def told(self, bridge, reason):
        for channel in (bridge.control, bridge.opener):
            name, end = bridge.hear(channel)
            self.assertEqual((name, end["reason"], end["connections"]), ("bridge_end", reason, 1))

    def opened(self, *args, **keywords):
        bridge = super().opened(*args, **keywords)
        self.assertEqual(bridge.ask(b"\x16"), b"\x16")
        return bridge

    def test_by_its_frontend(self):
        for is_breach in (False, True):
            bridge = self.opened()
            if is_breach:
                bridge.control.send(b"anything")
            else:
                bridge.control.shutdown(socket.SHUT_WR)
            self.told(bridge, FRONTEND)

    def test_by_a_person(self):
        bridge = self.opened()
        bridge.opener.shutdown(socket.SHUT_WR)
        self.told(bridge, CLOSED)

    def test_with_the_path_opener(self):
        bridge = self.opened()
        bridge.opener.close()
        self.assertEqual(bridge.hear()[1]["reason"], SUPERVISOR)

    def test_with_the_sandbox(self):
        bridge = self.opened()
        self.sandbox.process.send_signal(signal.SIGKILL)
        self.told(bridge, SANDBOX)


if __name__ == "__main__":
    unittest.main(verbosity=2)
