# SPDX-License-Identifier: Apache-2.0
"""An HTTP server of msp for the tests, and clients of it that say exactly what they are told. Nothing
here is a test."""
import hashlib
import http.client
import itertools
import json
import os
import secrets
import socket
import subprocess
import tempfile
import threading
import time
import unittest

import support

JSON = "application/json"
EVENTS = "text/event-stream"
BOTH = f"{JSON}, {EVENTS}"
LEGACY = "2025-11-25"
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"


def new_token():
    return "msp_" + secrets.token_urlsafe(32)


def token_row(name, token):
    return f"{name} {hashlib.sha256(token.encode()).hexdigest()}\n"


class HttpServer:
    """`msp serve` over a socket that we open, with a token file of ours. Context manager."""

    def __init__(self, unix=False, tokens=("alice",), address="127.0.0.1", options=(), prefix=(),
                 is_standalone=True, **keywords):
        self.words = [*prefix, support.MSP, "serve",
                      *(("--standalone", *support.limits()) if is_standalone else ())]
        self.folder = tempfile.mkdtemp(prefix="msp-http-")
        self.tokens = {name: new_token() for name in tokens}
        self.token_file = os.path.join(self.folder, "tokens")
        self.path = os.path.join(self.folder, "socket") if unix else None
        with open(self.token_file, "w", encoding="ascii") as file:
            file.write("# tokens of a test\n")
            file.writelines(token_row(*item) for item in self.tokens.items())
        self.address = address
        self.listener = socket.socket(socket.AF_UNIX if unix else
                                      socket.AF_INET6 if ":" in address else socket.AF_INET)
        self.listener.bind(self.path or (address, 0))
        self.listener.listen(1024)
        self.listener.setblocking(False)
        self.port = None if unix else self.listener.getsockname()[1]
        self.stderr = b""
        self.process = None
        self._start(options, bool(tokens), keywords)

    def _start(self, options, has_tokens, keywords):
        with open(self.token_file if has_tokens else os.devnull, "rb") as file:
            self.process = subprocess.Popen(
                [*self.words, *options],
                stdin=self.listener.fileno(), stdout=file, stderr=subprocess.PIPE, **keywords)
        self.listener.close()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stderr:
            self.stderr += line

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        finally:
            self.process.kill()
            self.process.wait()
            self.reader.join(2)
            self.process.stderr.close()
            for name in os.listdir(self.folder):
                os.unlink(os.path.join(self.folder, name))
            os.rmdir(self.folder)

    def broker(self):
        """The pid of the process that serves."""
        for pid in support.descendants(self.process.pid):
            try:
                with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                    if file.read().strip() == "msp-broker":
                        return pid
            except OSError:
                continue
        raise LookupError("no msp-broker")

    def is_running(self, text):
        """Is there a process below the server with this in its command line?"""
        for pid in support.descendants(self.process.pid):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    if text.encode() in file.read():
                        return True
            except OSError:
                continue
        return False

    def write_tokens(self, tokens):
        """Change the file in place, as `msp token` does."""
        text = "".join(token_row(*item) for item in tokens.items())
        with open(self.token_file, "r+", encoding="ascii") as file:
            file.truncate(0)
            file.write(text)
        self.tokens.update(tokens)

    def connect(self, timeout=20):
        """A plain socket to the server."""
        if self.path:
            client = socket.socket(socket.AF_UNIX)
            client.settimeout(timeout)
            client.connect(self.path)
            return client
        client = socket.create_connection((self.address, self.port), timeout)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return client

    def host(self):
        if self.path:
            return "localhost"
        return f"[{self.address}]:{self.port}" if ":" in self.address else \
            f"{self.address}:{self.port}"


class Connection(http.client.HTTPConnection):
    """http.client over whatever the server listens on."""

    def __init__(self, server, timeout=20):
        super().__init__("localhost", timeout=timeout)
        self.server = server

    def connect(self):
        self.sock = self.server.connect(self.timeout)


class Answer:
    """A whole answer."""

    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    def json(self):
        return json.loads(self.body)

    def events(self):
        return list(parse_events(self.body.decode().splitlines(keepends=True)))

    def messages(self):
        """What was said, the answer last, whether it is JSON or events."""
        if self.headers.get("Content-Type") == EVENTS:
            return [json.loads(event["data"]) for event in self.events() if event["data"]]
        return [self.json()]

    def code(self):
        return self.json()["error"]["code"]


def parse_events(lines):
    """Server-sent events of an iterator of lines: dicts with data, id, retry, comment."""
    event = {"data": ""}
    for line in lines:
        line = line.rstrip("\r\n")
        if line:
            name, _, value = line.partition(":")
            event[name or "comment"] = value.removeprefix(" ")
        elif event != {"data": ""}:
            yield event
            event = {"data": ""}


class Stream:
    """An answer that is read bit by bit."""

    def __init__(self, connection):
        self.connection = connection
        self.response = connection.getresponse()
        self.status = self.response.status
        self.headers = self.response.headers
        self._events = parse_events(self._lines())

    def _lines(self):
        while line := self.response.readline():
            yield line.decode()

    def event(self):
        """The next event that is no comment; None at the end."""
        for event in self._events:
            if "comment" not in event:
                return event
        return None

    def raw_event(self):
        return next(self._events, None)

    def message(self):
        """The next message; None at the end."""
        while event := self.event():
            if event["data"]:
                return json.loads(event["data"])
        return None

    def close(self):
        self.response.close()
        self.connection.close()


class Client:
    """One client with one token (None: without), whose requests are what its caller says."""

    def __init__(self, server, name="alice", **headers):
        self.server = server
        self.ids = itertools.count(1)
        self.headers = {"Host": server.host(), "Content-Type": JSON, "Accept": BOTH}
        token = server.tokens.get(name)
        if token:
            self.headers["Authorization"] = f"Bearer {token}"
        self.headers.update(headers)
        self.connection = Connection(server)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.connection.close()

    def _send(self, connection, method, body, headers, path="/mcp"):
        merged = {**self.headers, **headers}
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        if isinstance(body, str):
            body = body.encode()
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in merged.items():
            for one in value if isinstance(value, list) else [value]:
                if one is not None:
                    connection.putheader(name, one)
        if body is not None and "Content-Length" not in merged and \
                "Transfer-Encoding" not in merged:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)

    def request(self, method, body=None, headers=None, path="/mcp"):
        """A whole request and its whole answer, on the kept connection."""
        self._send(self.connection, method, body, headers or {}, path)
        return Answer(self.connection.getresponse())

    def post(self, body, headers=None):
        return self.request("POST", body, headers)

    def begin(self, method, body=None, headers=None):
        """A request on a connection of its own, for Stream(); nothing of its answer is awaited."""
        connection = Connection(self.server)
        self._send(connection, method, body, headers or {})
        return connection

    def stream(self, method, body=None, headers=None):
        """The same, with its answer to be read bit by bit."""
        return Stream(self.begin(method, body, headers))

    def message(self, method, params=None, **more):
        message = {"jsonrpc": "2.0", "id": next(self.ids), "method": method, **more}
        if params is not None:
            message["params"] = params
        return message


class LegacyClient(Client):
    """A client that holds a session of the legacy era."""

    def __init__(self, server, name="alice", version=LEGACY, **headers):
        super().__init__(server, name, **headers)
        answer = self.post(self.message("initialize", {
            "protocolVersion": version, "capabilities": {},
            "clientInfo": {"name": "tests", "version": "1"}}))
        if answer.status != 200:
            raise ConnectionError(f"initialize: {answer.status} {answer.body!r}")
        self.headers["Mcp-Session-Id"] = answer.headers["Mcp-Session-Id"]
        self.headers["MCP-Protocol-Version"] = version
        self.initialized = answer

    def call(self, tool, **arguments):
        return self.message("tools/call", {"name": tool, "arguments": arguments})


class ModernClient(Client):
    """A client of the era without sessions."""

    def message(self, method, params=None, **more):
        params = dict(params or {})
        params.setdefault("_meta", {META + "protocolVersion": MODERN,
                                    META + "clientCapabilities": {}})
        return super().message(method, params, **more)

    def call(self, tool, **arguments):
        return self.message("tools/call", {"name": tool, "arguments": arguments})

    def fitting(self, message):
        """The headers that a message asks for."""
        params = message.get("params", {})
        headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": message["method"]}
        for name in ("name", "uri", "taskId"):
            if name in params:
                headers["Mcp-Name"] = params[name]
        return headers

    def say(self, message, headers=None):
        return self.post(message, {**self.fitting(message), **(headers or {})})

    def open(self, message):
        return self.stream("POST", message, self.fitting(message))


def request_head(client, length):
    """The beginning of a POST of this client, as bytes."""
    headers = {**client.headers, "Content-Length": length}
    return ("POST /mcp HTTP/1.1\r\n" +
            "".join(f"{name}: {value}\r\n" for name, value in headers.items()) +
            "\r\n").encode()


class ServerCase(unittest.TestCase):
    """Each test has a server of its own; what it opens is closed with it."""

    def setUp(self):
        self.server = HttpServer()
        self.addCleanup(self.server.stop)
        self.socks = []
        self.addCleanup(lambda: [sock.close() for sock in self.socks])

    def client(self, kind=ModernClient):
        client = kind(self.server)
        self.addCleanup(client.close)
        return client

    def connect(self):
        sock = self.server.connect()
        self.socks.append(sock)
        return sock


def wait_for_text(server, text, timeout=10):
    """Does the server say so on stderr?"""
    return support.wait_until(lambda: text in server.stderr, timeout)


def tick():
    """Longer than the clock of files takes to move."""
    time.sleep(0.02)
