# SPDX-License-Identifier: Apache-2.0
"""What is measured: command lines that are started anew, servers that answer lines, and a session
whose sandboxes last. Times are microseconds."""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}
FILTER_FD = 9
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {},
         "clientInfo": {"name": "bench", "version": "1"}}


class Failed(Exception):
    """Something that is measured did not do what it shall."""


@contextlib.contextmanager
def deadline(seconds):
    """Failed when what is awaited in here takes longer."""
    def fail(*_):
        raise Failed(f"it did not end within {seconds} s")

    before, left = signal.signal(signal.SIGALRM, fail), signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(left)  # of one around this
        signal.signal(signal.SIGALRM, before)


def spawn(argv, environment=None, filter_path=None):
    """Microseconds of a command from posix_spawn (vfork underneath) to its end."""
    start = time.perf_counter_ns()
    status = spawn_to(argv, environment, filter_path, "/dev/null")
    elapsed = time.perf_counter_ns() - start
    if status != 0:
        raise Failed(f"{os.path.basename(argv[0])} ended with status {status:#x}: " +
                     last_words(argv, environment, filter_path))
    return elapsed / 1000


def begin(argv, environment=None, filter_path=None, errors="/dev/null"):
    """The pid of a command that reads nothing and writes to nobody."""
    actions = [(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
               (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0),
               (os.POSIX_SPAWN_OPEN, 2, errors, os.O_WRONLY, 0)]
    if filter_path:
        actions.append((os.POSIX_SPAWN_OPEN, FILTER_FD, filter_path, os.O_RDONLY, 0))
    return os.posix_spawn(argv[0], argv, environment or ENVIRONMENT, file_actions=actions)


def spawn_to(argv, environment, filter_path, errors):
    pid = begin(argv, environment, filter_path, errors)
    try:
        return os.waitpid(pid, 0)[1]
    except Failed:  # too late
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise


def last_words(argv, environment, filter_path):
    """What a command that failed says when it is started again."""
    with tempfile.NamedTemporaryFile() as file:
        spawn_to(argv, environment, filter_path, file.name)
        lines = file.read().decode(errors="replace").split("\n")
    return "; ".join(line.strip() for line in lines if line.strip())[-200:] or "no message"


def request(number, method, params):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params},
                      separators=(",", ":")).encode() + b"\n"


def call(number, tool, arguments):
    return request(number, "tools/call", {"name": tool, "arguments": arguments})


def is_good(answer):
    return b'"result"' in answer[:80] and b'"isError":true' not in answer


class Asker:
    """What answers one line after another. `receive` gives the next lines, at least one."""

    def ask(self, line):
        """The answer, and microseconds until it was there."""
        start = time.perf_counter_ns()
        self.send(line)
        answer, = self.receive()
        return answer, (time.perf_counter_ns() - start) / 1000

    def tool(self, name, /, **arguments):
        """The same of a tool's call, which must succeed."""
        answer, elapsed = self.ask(call(1, name, arguments))
        if not is_good(answer):
            raise Failed(f"{name} answered {answer[:400]!r}")
        return answer, elapsed

    def run(self, tool="run_command", **arguments):
        """Microseconds of an execution that ends with 0."""
        answer, elapsed = self.tool(tool, **arguments)
        if b"exit 0" not in answer:
            raise Failed(f"{tool} answered {answer[:400]!r}")
        return elapsed


class Lines(Asker):
    """A program that answers lines, over its pipes: many requests may be on their way. Reads with
    os.read: a reader thread would add its own wake-up."""

    def __init__(self, command, environment=None):
        self.errors = tempfile.TemporaryFile()  # a pipe that nobody reads holds up who fills it
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors, bufsize=0, env=environment)
        self.name = os.path.basename(command[0])
        self.input, self.output = self.process.stdin.fileno(), self.process.stdout.fileno()
        self.rest = b""

    def send(self, line):
        os.write(self.input, line)

    def receive(self):
        """The next lines, at least one."""
        while b"\n" not in self.rest:
            part = os.read(self.output, 1 << 18)
            if not part:
                self.errors.seek(0)
                raise Failed(f"{self.name} ended: {self.errors.read(400).decode()}")
            self.rest += part
        *lines, self.rest = self.rest.split(b"\n")
        return lines

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.errors.close()
        self.process.wait(10)


class Posts(Asker):
    """One kept connection of a legacy session to an HTTP server behind a unix socket, which needs
    no token. What is asked is the body of a POST."""

    def __init__(self, server, session=None):
        self.server, self.session = server, session
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(server.path)
        self.rest = b""

    def send(self, line):
        session = b"Mcp-Session-Id: %s\r\n" % self.session if self.session else b""
        self.socket.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/"
                            b"json\r\nAccept: application/json, text/event-stream\r\n%sContent-"
                            b"Length: %d\r\n\r\n%s" % (session, len(line), line))

    def receive(self):
        """The next answer's body, or the last event of its stream."""
        while b"\r\n\r\n" not in self.rest:
            self.read()
        head, _, self.rest = self.rest.partition(b"\r\n\r\n")
        found = re.search(rb"(?i)^mcp-session-id: *(\S+)", head, re.M)
        if found:
            self.session = found.group(1)
        length = re.search(rb"(?i)^content-length: *(\d+)", head, re.M)
        if not head.startswith(b"HTTP/1.1 200") or not length:
            return self.receive_chunks(head)
        while len(self.rest) < int(length.group(1)):
            self.read()
        body, self.rest = self.rest[:int(length.group(1))], self.rest[int(length.group(1)):]
        return [body]

    def receive_chunks(self, head):
        """The last event of a stream in chunks."""
        if b"chunked" not in head.lower():
            raise Failed(f"the HTTP server answered {head!r}")
        while not self.rest.endswith(b"0\r\n\r\n"):
            self.read()
        events, self.rest = re.findall(rb"(?m)^data: (\{.*)$", self.rest), b""
        return events[-1:]

    def read(self):
        part = self.socket.recv(1 << 18)
        if not part:
            raise Failed("the HTTP server hung up")
        self.rest += part

    def close(self):
        self.socket.close()


class HttpServer:
    """`msp serve --http` on a socket in this folder."""

    def __init__(self, support, place):
        self.path = os.path.join(place, "http")
        self.process = subprocess.Popen(
            [support.MSP, "serve", "--standalone", "--http", "unix:" + self.path,
             *support.limits()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        if not support.wait_until(lambda: os.path.exists(self.path), 10):
            raise Failed("there is no HTTP server")

    def connect(self, count):
        """So many connections of one session."""
        first = Posts(self)
        first.ask(request(0, "initialize", HELLO))
        return [first, *(Posts(self, first.session) for _ in range(count - 1))]

    def close(self):
        self.process.terminate()
        self.process.wait(10)


def serve(support, *options):
    """A server of its own for one session."""
    server = Lines([support.MSP, "serve", "--standalone", *support.limits(), *options])
    server.ask(request(0, "initialize", HELLO))
    return server


def commands(support, environment):
    """A function: microseconds of a command of msp's with a supervisor of its own."""
    return lambda name, *words: spawn([support.MSP, name, "--standalone", *words], environment)


class Store:
    """A session whose sandboxes lie in a state directory of their own, below `place`. `profile` is
    the text of one more profile, which its clients then have."""

    def __init__(self, support, place, profile=""):
        self.folder = tempfile.mkdtemp(prefix="msp-bench-", dir=place)
        self.config = os.path.join(self.folder, "config.yaml")
        with open(self.config, "w", encoding="ascii") as file:
            file.write("sandboxes: {most: 1024}\n" + profile)
        self.state = os.path.join(self.folder, "state")
        os.mkdir(self.state, 0o700)
        with self.environment():
            self.server = serve(support)

    @contextlib.contextmanager
    def environment(self):
        new = {"MSP_STATE_DIR": self.state, "MSP_CONFIG": self.config}
        before = {name: os.environ.get(name) for name in new}
        os.environ.update(new)
        try:
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name)
                if value:
                    os.environ[name] = value

    def create(self):
        """(id, microseconds)"""
        answer, elapsed = self.server.tool("create_sandbox")
        return id_in(answer), elapsed

    def fork(self, sandbox):
        answer, elapsed = self.server.tool("checkpoint", sandbox=sandbox, action="fork")
        return id_in(answer, sandbox), elapsed

    def run(self, sandbox, command="true"):
        return self.server.run(sandbox=sandbox, command=command)

    def destroy(self, sandbox):
        self.server.tool("destroy_sandbox", sandbox=sandbox)

    def close(self):
        self.server.close()
        subprocess.run(["chmod", "-R", "u+rwx", self.folder], check=True)
        shutil.rmtree(self.folder)


def id_in(answer, known=""):
    """The id in an answer that is not the known one."""
    found = [one for one in re.findall(r"\b[0-9a-hjkmnp-tv-z]{26}\b", answer.decode())
             if one != known]
    return found[0]
