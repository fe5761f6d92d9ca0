#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bridges: ports of this machine that lead to servers in persistent sandboxes."""
import base64
import contextlib
import hashlib
import json
import os
import re
import signal
import socket
import struct
import subprocess
import threading
import time
import unittest

import audit_log
import cli_support
import support
from bridge_support import ECHO, SECONDS, BridgeCase, free_port, read_all
from persistent_support import msp

# Reads all that there is, and then sends the number of bytes, their hash, and as many zeros.
COUNT = """\
import hashlib, socket
server = socket.create_server(("127.0.0.1", 5000))
while True:
    client, _ = server.accept()
    digest, size = hashlib.sha256(), 0
    while part := client.recv(1 << 16):
        digest.update(part)
        size += len(part)
    try:
        client.sendall(f"{size} {digest.hexdigest()}\\n".encode())
        for _ in range(size >> 16):
            client.sendall(bytes(1 << 16))
    except OSError:
        pass
    client.close()
"""
# Speaks first, and takes nothing.
GREETER = """\
import selectors, socket
server = socket.create_server(("127.0.0.1", 5000), backlog=512)
waiting = selectors.DefaultSelector()
waiting.register(server, selectors.EVENT_READ)
while True:
    for key, _ in waiting.select():
        if key.fileobj is server:
            client, _ = server.accept()
            client.sendall(b"220 ready\\r\\n")
            waiting.register(client, selectors.EVENT_READ)
        else:
            waiting.unregister(key.fileobj)
            key.fileobj.close()
"""
# One WebSocket: the handshake of RFC 6455, then each text frame comes back unmasked.
WEBSOCKET = """\
import base64, hashlib, socket, struct
server = socket.create_server(("127.0.0.1", 5000))
while True:
    client, _ = server.accept()
    stream = client.makefile("rb")
    fields = {}
    while (line := stream.readline().strip()):
        name, _, value = line.partition(b":")
        fields[name.lower()] = value.strip()
    if b"sec-websocket-key" not in fields:
        client.close()
        continue
    key = fields[b"sec-websocket-key"] + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    client.sendall(b"HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n"
                   b"Sec-WebSocket-Accept: " + base64.b64encode(hashlib.sha1(key).digest()) + b"\\r\\n\\r\\n")
    while (head := stream.read(2)):
        size = head[1] & 127
        mask, data = stream.read(4), stream.read(size)
        client.sendall(bytes([head[0], size]) + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))
    client.close()
"""
EVIL = "evil.example"


def setUpModule():
    if not os.path.exists(os.path.join(support.BIN, "msp-bridge")):
        raise unittest.SkipTest("msp-bridge is not built")


def read_all_of(client):
    """The first bytes."""
    try:
        return client.recv(64)
    except ConnectionResetError:
        return b""


def bridges():
    """The processes of msp-bridge that this test has begun."""
    return [pid for pid in support.descendants(os.getpid()) if support.is_alive(pid) and
            cli_support.name_of(pid) == "msp-bridge"]


def wake(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


class Ports(BridgeCase):
    def test_a_port_is_had_or_the_reason_said(self):
        self.sandbox("--name=web")
        self.assertIn("nothing runs in sandbox 'web'", self.refused(75, "web", "5000"))
        for address in ("127.0.0.1", "::1"):
            with self.subTest(address=address):
                self.serve("web", 5000, address)
                bridge = self.bridge("web", 5000)
                self.assertEqual(bridge.get(path="/a?b"), (200, "path /a?b\n"))
                self.assertEqual(bridge.get("localhost:%d" % bridge.port)[0], 200)
                code, said = bridge.end()
                self.assertEqual(code, 130)
                self.assertRegex(said, r"leads to port 5000 of sandbox 'web', until Ctrl-C\n.*closed: "
                                       r"2 connections, 0 refused, sent \d+ B, received \d+ B\n\Z")
                self.msp("stop", "web")
        self.serve("web")
        self.assertIn("nothing in the sandbox takes connections at this port",
                      self.refused(75, "web", "5001"))
        with socket.create_server(("127.0.0.1", 0)) as other:
            taken = str(other.getsockname()[1])
            self.assertRegex(self.refused(64, "--host-port", taken, "web", "5000"),
                             f"port {taken} of 127.0.0.1 is taken by another program: .*--host-port")
        self.assertRegex(self.refused(64, "--host-port=80", "web", "5000"), "not yours to listen on")
        for words, says in ((("web", "0"), "a port: 1 to 65535"), (("web", "70000"), "1 to 65535"),
                            (("web", "5000x"), "1 to 65535"), (("web",), "a port are missing"),
                            (("--host-port=0", "web", "5000"), "1 to 65535"),
                            (("nosuch", "5000"), "no sandbox 'nosuch'")):
            self.assertIn(says, self.refused(64, *words))
        wish = free_port()
        bridge = self.bridge("web", 5000, f"--host-port={wish}")
        self.assertEqual(bridge.url, f"http://127.0.0.1:{wish}/")
        first = self.bridge("web", 5000)
        second = self.bridge("web", 5000)
        self.assertEqual(len({bridge.port, first.port, second.port}), 3)
        self.assertEqual(second.get()[0], 200)

    def test_what_does_not_belong_to_this_machine_is_refused(self):
        self.sandbox("--name=web")
        self.serve("web")
        bridge = self.bridge("web", 5000)
        for host in (EVIL, f"{EVIL}:{bridge.port}", f"127.0.0.1.{EVIL}:{bridge.port}", "127.0.0.1:1"):
            self.assertEqual(bridge.get(host)[0], 403)
            self.assertIn(f"The bridge is http://127.0.0.1:{bridge.port}/", bridge.get(host)[1])
        self.assertEqual(bridge.get(origin=f"https://{EVIL}")[0], 403)
        self.assertEqual(bridge.get(origin="null")[0], 403)
        self.assertEqual(bridge.get(origin="http://localhost:5173")[0], 200)
        self.assertTrue(bridge.ask(b"GET / HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 400 "))
        self.assertTrue(bridge.ask(b"GET /" + b"a" * 70000).startswith(b"HTTP/1.1 400 "))
        # The control: without the reader the same request reaches the server.
        raw = self.bridge("web", 5000, "--raw")
        self.assertRegex(raw.url, r"\A127\.0\.0\.1:\d+\Z")
        self.assertEqual(raw.get(EVIL), (200, "path /\n"))
        self.assertRegex(bridge.end()[1], "13 connections, 12 refused")
        self.assertRegex(raw.end()[1], "1 connections, 0 refused")

    def test_a_page_of_another_site_reaches_nothing(self):
        """Images, frames and links of it have no Origin; a browser says whose they are."""
        self.sandbox("--name=web")
        self.serve("web")
        bridge, raw = self.bridge("web", 5000), self.bridge("web", 5000, "--raw")
        cross = "Sec-Fetch-Site: cross-site"
        for fields in ((cross, "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image"),
                       (cross, "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: script"),
                       (cross, "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"),
                       (cross, "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"),
                       (cross, "Sec-Fetch-Mode: navigate", "Sec-Fetch-User: ?1"),
                       (cross, "Referer: http://localhost:5173/"), (f"Referer: https://{EVIL}/",)):
            with self.subTest(fields=fields):
                self.assertEqual(bridge.get(fields=fields)[0], 403)
                self.assertEqual(raw.get(fields=fields), (200, "path /\n"))  # the control
        for fields in (("Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate"), ("Sec-Fetch-Site: same-site",),
                       ("Sec-Fetch-Site: same-origin",), ("Referer: http://localhost:5173/a",),
                       (cross, "Origin: http://localhost:5173"), ()):
            with self.subTest(fields=fields):
                self.assertEqual(bridge.get(fields=fields), (200, "path /\n"))

    def test_each_request_of_a_connection_is_judged(self):
        """A browser uses the connection of a person's page for a page of another site, too."""
        self.sandbox("--name=web")
        self.start("web", "python3", "-c", ECHO.replace("def do_GET(self):", "def do_POST(self):\n        "
                   "self.rfile.read(int(self.headers['Content-Length']))\n        self.do_GET()\n    "
                   "def do_GET(self):"), "127.0.0.1", "5000")
        self.await_server("web")
        bridge, raw = self.bridge("web", 5000), self.bridge("web", 5000, "--raw")
        own = {"fields": ("Sec-Fetch-Site: same-origin",)}
        size = 300000
        post = {"fields": (f"Content-Length: {size}",), "path": "/post", "method": "POST"}
        for evil in ({"fields": ("Sec-Fetch-Site: cross-site",)}, {"host": EVIL},
                     {"origin": f"https://{EVIL}"}):
            with self.subTest(evil=evil), bridge.connect() as client:
                for number in range(3):
                    self.assertEqual(self.ask_again(client, bridge.head(path=f"/{number}", **own)),
                                     f"path /{number}\n")
                    self.assertEqual(self.ask_again(client, bridge.head(**post), b"x" * size),
                                     "path /post\n")
                client.sendall((bridge.head(path="/evil", **evil) + "\r\n").encode())
                self.assertIn(read_all(client), (b"", b"<reset>"))
            evil = {"host": f"127.0.0.1:{raw.port}", **evil}
            with raw.connect() as client:  # the control
                self.assertEqual(self.ask_again(client, raw.head(**own)), "path /\n")
                self.assertEqual(self.ask_again(client, raw.head(path="/evil", **evil)), "path /evil\n")
        # A body is no head, and a head in two pieces is one.
        with bridge.connect() as client:
            body = (bridge.head(path="/body", host=EVIL) + "\r\n").encode()
            head = bridge.head(fields=(f"Content-Length: {len(body)}",), path="/post", method="POST")
            self.assertEqual(self.ask_again(client, head, body), "path /post\n")
            client.sendall(head[:20].encode())
            time.sleep(0.1)
            self.assertEqual(self.ask_again(client, head[20:], body), "path /post\n")
        # Requests that do not wait for answers: none of them reaches the server.
        both = bridge.head(path="/a") + "\r\n" + bridge.head(path="/b", host=EVIL) + "\r\n"
        self.assertTrue(bridge.ask(both.encode()).startswith(b"HTTP/1.1 403 "))
        both = bridge.head(path="/a") + "\r\n" + bridge.head(path="/b") + "\r\n"
        self.assertRegex(bridge.ask(both.encode()), rb"(?s)path /a\n.*path /b\n\Z")

    @staticmethod
    def ask_again(client, head, body=b""):
        """The body of the answer to a request, after which the connection goes on."""
        client.sendall(f"{head}\r\n".encode() + body)
        stream = client.makefile("rb")
        size = 0
        while (line := stream.readline().strip()):
            if line.lower().startswith(b"content-length:"):
                size = int(line.split(b":")[1])
        return stream.read(size).decode()

    def test_its_process_has_nothing(self):
        self.sandbox("--name=web")
        self.serve("web")
        bridge = self.bridge("web", 5000)
        pids = bridges()
        self.assertEqual(len(pids), 1)
        with open(f"/proc/{pids[0]}/status", encoding="ascii") as file:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        self.assertEqual((status["Seccomp"], status["NoNewPrivs"]), ("2", "1"))
        for name in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
            self.assertEqual(int(status[name], 16), 0, name)
        self.assertEqual(bridge.end()[0], 130)
        self.assertTrue(support.wait_until(lambda: not bridges(), SECONDS))


class Bytes(BridgeCase):
    def setUp(self):
        super().setUp()
        self.sandbox("--name=web")

    def started(self, code, *options):
        self.start("web", "python3", "-c", code)
        self.await_server("web")
        return self.bridge("web", 5000, *options)

    def test_much_and_its_end(self):
        bridge = self.started(COUNT)
        size = 64 << 20
        with bridge.connect() as client:
            def send():
                client.sendall(b"\0")
                client.sendall(bytes(size - 1))
                client.shutdown(socket.SHUT_WR)
            sender = threading.Thread(target=send)
            sender.start()
            head = client.makefile("rb").readline()
            sender.join()
        self.assertEqual(head.split(), [str(size).encode(), hashlib.sha256(bytes(size)).hexdigest().encode()])
        with bridge.connect() as client:
            client.sendall(b"\0" + bytes((16 << 20) - 1))
            client.shutdown(socket.SHUT_WR)
            time.sleep(0.5)  # the server waits for us meanwhile, and the bridge's memory is bounded
            answer = read_all(client)
        self.assertEqual(len(answer), answer.index(b"\n") + 1 + (16 << 20))

    def test_a_server_that_speaks_first_and_a_crowd(self):
        bridge = self.started(GREETER)
        clients = [bridge.connect() for _ in range(200)]
        for client in clients:
            self.addCleanup(client.close)
            client.settimeout(SECONDS)
            self.assertEqual(client.recv(64), b"220 ready\r\n")
        more, reset = [], 0
        for _ in range(80):
            try:
                more.append(bridge.connect())
                more[-1].settimeout(SECONDS)
                reset += more[-1].recv(64) == b""
            except ConnectionResetError:
                reset += 1
        self.assertEqual(reset, 80 - 56)
        for client in more:
            client.close()
        for client in clients:
            client.close()

        def is_there_room():
            with contextlib.suppress(ConnectionResetError), bridge.connect() as client:
                return read_all_of(client) == b"220 ready\r\n"
            return False
        self.assertTrue(support.wait_until(is_there_room, SECONDS, 0.05))

    def test_a_websocket(self):
        bridge = self.started(WEBSOCKET)
        key = base64.b64encode(os.urandom(16)).decode()
        head = (f"GET /hmr HTTP/1.1\r\nHost: localhost:{bridge.port}\r\nUpgrade: websocket\r\n"
                f"Connection: Upgrade\r\nOrigin: http://localhost:{bridge.port}\r\n"
                f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode()
        with bridge.connect() as client:
            client.sendall(head)
            stream = client.makefile("rb")
            self.assertIn(b" 101 ", stream.readline())
            while stream.readline().strip():
                pass
            for word in (b"one", b"two"):
                mask = os.urandom(4)
                client.sendall(struct.pack("BB", 0x81, 0x80 | len(word)) + mask +
                               bytes(b ^ mask[i % 4] for i, b in enumerate(word)))
                self.assertEqual(stream.read(2 + len(word)), bytes([0x81, len(word)]) + word)
        # A page of another site has no CORS to stop it here.
        answer = bridge.ask(head.replace(b"Origin: http://localhost", b"Origin: http://evil"))
        self.assertTrue(answer.startswith(b"HTTP/1.1 403 "), answer)

    def test_a_server_that_has_gone(self):
        self.serve("web")
        bridge = self.bridge("web", 5000)
        one = self.msp("ps", "-q", "web").stdout.strip()
        self.start("web", "sleep", "60")  # the sandbox lives on
        msp("kill", one)
        self.assertTrue(support.wait_until(lambda: bridge.get()[0] == 502, SECONDS, 0.1))
        self.assertIn("nothing takes connections at this port", bridge.get()[1])
        self.assertEqual(bridge.ask(b"\x16\x03\x01"), b"<reset>")


class Ends(BridgeCase):
    def setUp(self):
        super().setUp()
        self.id = self.sandbox("--name=web")
        self.serve("web")
        self.one = self.bridge("web", 5000)
        self.assertEqual(self.one.get()[0], 200)

    def records(self, event):
        return audit_log.Log(self.state).records(event)

    def ended(self):
        support.wait_until(lambda: self.records("bridge_end"), SECONDS)
        return self.records("bridge_end")[0]

    def test_with_the_sandbox(self):
        with self.one.connect() as client:
            self.msp("destroy", "web")
            self.assertIn(read_all(client), (b"", b"<reset>"))
        code, said = self.one.end(None)
        self.assertEqual(code, 0)
        self.assertIn("closed, since the sandbox ended", said)
        self.assertEqual(self.ended()["reason"], "sandbox ended")

    def test_with_its_msp(self):
        said = re.compile(rf" bridge +port 5000 at 127\.0\.0\.1:{self.one.port}\n")
        self.assertTrue(support.wait_until(
            lambda: said.search(self.msp("logs", "web").stdout), SECONDS))
        self.one.end(signal.SIGKILL)
        begin, end = self.records("bridge_begin")[0], self.ended()
        self.assertEqual((begin["sandbox"], begin["port"], begin["host_port"]),
                         (self.id, 5000, self.one.port))
        self.assertEqual((end["bridge"], end["sandbox"], end["connections"], end["reason"]),
                         (begin["bridge"], self.id, 1, "closed"))
        self.assertGreater(end["received"], 10)
        self.assertTrue(support.wait_until(lambda: not bridges(), SECONDS))
        self.assertRegex(self.msp("logs", "web").stdout,
                         rf" bridge +port 5000 at 127\.0\.0\.1:{self.one.port} closed, 1 connections, "
                         r"sent \d+ B, received \d+ B\n")

    def test_by_another_msp(self):
        listed = json.loads(self.msp("bridge", "--list", "--json").stdout)["bridges"]
        self.assertEqual([(row["host_port"], row["port"], row["sandbox"], row["name"]) for row in listed],
                         [(self.one.port, 5000, self.id, "web")])
        self.assertLess(abs(time.time() - listed[0]["since_s"]), SECONDS)
        two = self.bridge("web", 5000)
        self.assertRegex(self.msp("bridge", "--list").stdout,
                         rf"\A127\.0\.0\.1:{self.one.port} +port 5000 +of web, opened .*\n"
                         rf"127\.0\.0\.1:{two.port} +port 5000 +of web, opened .*\n\Z")
        self.assertIn(f"no bridge has port {free_port()} ".split(" port ", maxsplit=1)[0],
                      self.refused(64, "--close", str(free_port())))
        with self.one.connect() as client:
            said = self.msp("bridge", "--close", str(self.one.port)).stderr
            self.assertIn("the bridge to port 5000 of sandbox 'web' is closed", said)
            self.assertEqual(self.ended()["reason"], "closed by another msp")
            self.assertIn(read_all(client), (b"", b"<reset>"))
        code, said = self.one.end(None)
        self.assertEqual(code, 0)
        self.assertIn("closed, by 'msp bridge --close'", said)
        self.assertEqual(self.msp("bridge", "--list", "-q").stdout, f"{two.port}\n")
        self.assertEqual(two.get()[0], 200)
        two.end()
        self.assertTrue(support.wait_until(lambda: self.msp("bridge", "--list", "-q").stdout == "",
                                           SECONDS))
        for words in (("--list", "web"), ("--close", "5000", "web", "1"), ("--json",),
                      ("--list", "--close=5000")):
            self.refused(64, *words)

    def test_with_a_bridge_that_hangs(self):
        """It is said that the bridge does not end, and the audit log does not say that it has."""
        pid, = bridges()
        os.kill(pid, signal.SIGSTOP)
        self.addCleanup(wake, pid)
        said = self.refused(70, "--close", str(self.one.port))
        self.assertIn("the bridge does not end: ", said)
        self.assertEqual(self.records("bridge_end"), [])
        wake(pid)
        self.assertEqual(self.ended()["reason"], "closed by another msp")

    def test_with_its_process(self):
        os.kill(bridges()[0], signal.SIGKILL)
        code, said = self.one.end(None)
        self.assertEqual(code, 70)
        self.assertIn("msp-bridge has ended", said)
        self.assertEqual(self.ended()["reason"], "not ready")

    def test_with_the_service(self):
        self.service.process.kill()
        self.service.process.wait(SECONDS)
        code, said = self.one.end(None)
        self.assertEqual(code, 0)
        self.assertRegex(said, "closed, since the (service|sandbox) ended")
        self.assertTrue(support.wait_until(lambda: not bridges(), SECONDS))


class Forks(BridgeCase):
    def test_each_sandbox_has_ports_of_its_own(self):
        self.sandbox("--name=web")
        self.msp("exec", "web", "--", "sh", "-c", "echo of web >/tmp/page")
        self.serve("web")
        bridge = self.bridge("web", 5000)
        msp("kill", self.msp("ps", "-q", "web").stdout.strip())
        self.msp("fork", "--name=copy", "web")
        # The fork has files, and neither the server nor the bridge.
        self.assertIn("nothing runs in sandbox 'copy'", self.refused(75, "copy", "5000"))
        self.serve("copy")
        own = self.bridge("copy", 5000)
        self.assertEqual(own.get(path="/copy"), (200, "path /copy\n"))
        # In the first one nothing serves any more, whether it was ended for the fork or not.
        if bridge.process.poll() is None:
            self.assertEqual(bridge.get()[0], 502)
        self.serve("web")
        again = self.bridge("web", 5000)
        self.assertEqual(again.get(path="/web"), (200, "path /web\n"))
        self.msp("destroy", "copy")
        self.assertEqual(own.end(None)[0], 0)
        self.assertEqual(again.get()[0], 200)

    def test_sandboxes_of_one_command_have_none(self):
        """Those are made ahead, and no frontend has a name for them."""
        self.sandbox("--name=web")
        other = subprocess.Popen([support.MSP, "run", *cli_support.LIMITS, *self.options, "--", "python3", "-c",
                                  "print('here', flush=True)\n" + ECHO, "127.0.0.1", "5000"],
                                 stdout=subprocess.PIPE)
        self.addCleanup(other.communicate)
        self.addCleanup(other.kill)
        self.assertEqual(other.stdout.readline(), b"here\n")
        self.assertIn("nothing runs in sandbox 'web'", self.refused(75, "web", "5000"))
        self.serve("web")
        self.assertEqual(self.bridge("web", 5000).get()[0], 200)
        self.assertEqual(self.msp("bridge", "--list", "-q").stdout.count("\n"), 1)


class WithoutTheService(BridgeCase):
    def test_another_supervisor_has_the_sandbox(self):
        server = support.Server()
        self.addCleanup(server.close)
        server.initialize()
        made = server.call("create_sandbox", name="held")
        self.assertFalse(made.get("isError"), made)
        server.call("run_command", sandbox="held", command="sleep 60", yield_ms=0)
        said = self.refused(75, "held", "5000")
        self.assertIn("held", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
