# SPDX-License-Identifier: Apache-2.0
"""A service, sandboxes with a server in the background, and bridges to them."""
import os
import signal
import socket
import subprocess
import tempfile

import leftovers
import support
from persistent_support import PersistentCase, msp
from service import Service

SECONDS = 60
# One request after the other: a server that says its port, then answers with what it was asked.
ECHO = """\
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = ("path " + self.path + "\\n").encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 512
    address_family = __import__("socket").AF_INET6 if ":" in sys.argv[1] else 2
Server((sys.argv[1], int(sys.argv[2])), Handler).serve_forever()
"""


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Bridge:
    """A running `msp bridge`; `url` is what it printed."""

    def __init__(self, *words, **keywords):
        self.process = subprocess.Popen([support.MSP, "bridge", *words], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        **keywords)
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise AssertionError(self.process.communicate(timeout=SECONDS)[1])
        self.port = int(self.url.rstrip("/").rpartition(":")[2])

    def end(self, number=signal.SIGINT):
        """Its exit code, and what it said on stderr."""
        if self.process.poll() is None and number:
            self.process.send_signal(number)
        error = self.process.communicate(timeout=SECONDS)[1]
        return self.process.returncode, error

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), SECONDS)

    def ask(self, head):
        """Send bytes and return all that comes until the end."""
        with self.connect() as client:
            try:
                client.sendall(head)
                client.shutdown(socket.SHUT_WR)
            except OSError:  # it was reset meanwhile, which the read says
                pass
            return read_all(client)

    def head(self, host=None, path="/", origin=None, fields=(), method="GET"):
        """The lines of a request without its end."""
        head = f"{method} {path} HTTP/1.1\r\nHost: {host or f'127.0.0.1:{self.port}'}\r\n"
        return head + "".join(f"{field}\r\n" for field in fields) + (f"Origin: {origin}\r\n" if origin
                                                                     else "")

    def get(self, *words, **keywords):
        """The status of a GET and its body."""
        head = self.head(*words, **keywords)
        with self.connect() as client:
            client.sendall(f"{head}Connection: close\r\n\r\n".encode())
            answer = read_all(client)
        status, _, rest = answer.partition(b"\r\n")
        return int(status.split()[1]), rest.partition(b"\r\n\r\n")[2].decode()


def read_all(client):
    parts = []
    try:
        while part := client.recv(1 << 16):
            parts.append(part)
    except OSError:
        parts.append(b"<reset>")
    return b"".join(parts)


def await_server(execute, port):
    """Until something in a sandbox, in which `execute` runs words, takes connections at the port."""
    look = ("import socket, sys\nfor host in ('127.0.0.1', '::1'):\n try:\n  socket.create_"
            "connection((host, int(sys.argv[1]))).close()\n  sys.exit(0)\n except OSError:\n  "
            "pass\nsys.exit(1)")
    if not support.wait_until(
            lambda: execute("python3", "-c", look, str(port)).returncode == 0, SECONDS, 0.1):
        raise AssertionError("the server does not start")


class BridgeCase(PersistentCase):
    CONFIG = None

    def setUp(self):
        super().setUp()
        leftovers.become_reaper()
        folder = tempfile.TemporaryDirectory(prefix="msp-bridge-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.socket = os.path.join(self.folder, "s.sock")
        self.service = Service(self.socket)
        self.addCleanup(self.service.end)
        self.options = ("--socket=" + self.socket,)

    def msp(self, verb, *words, **keywords):
        return msp(verb, *self.options, *words, **keywords)

    def sandbox(self, *options):
        return self.msp("create", *options).stdout.strip()

    def start(self, sandbox, *words):
        """Run a command in the background, with what it says in a file of the sandbox."""
        self.msp("exec", "-d", sandbox, "--", *words)

    def serve(self, sandbox, port=5000, address="127.0.0.1"):
        self.start(sandbox, "python3", "-c", ECHO, address, str(port))
        self.await_server(sandbox, port)

    def await_server(self, sandbox, port=5000):
        await_server(lambda *words: self.msp("exec", sandbox, "--", *words, code=None), port)

    def bridge(self, sandbox, port, *options):
        bridge = Bridge(*self.options, *options, sandbox, str(port))
        self.addCleanup(bridge.end)
        return bridge

    def refused(self, code, *words):
        """What a bridge that cannot be had says."""
        result = self.msp("bridge", *words, code=code)
        self.assertEqual(result.stdout, "")
        return result.stderr
