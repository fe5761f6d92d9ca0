# SPDX-License-Identifier: Apache-2.0
"""What a running server does: how many calls a second through one session, beside a bare loop of
fork and exec with as many at once, and what the protocol itself costs, beside a program that only
echoes lines of the same sizes. Both take turns with what they are compared with."""
import itertools
import json
import os
import re
import select
import socket
import statistics
import subprocess
import time

AT_ONCE = 8
SLICES = 10
OVERHEAD_BLOCK = 100
# What the project promises, in microseconds.
OVERHEAD_P50 = 300
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {},
         "clientInfo": {"name": "bench", "version": "1"}}


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


class Lines:
    """A program that answers lines, over its pipes: many requests may be on their way. Reads with
    os.read: a reader thread would add its own wake-up."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, bufsize=0)
        self.input, self.output = self.process.stdin.fileno(), self.process.stdout.fileno()
        self.rest = b""

    def send(self, line):
        os.write(self.input, line)

    def receive(self):
        """The next lines, at least one."""
        while b"\n" not in self.rest:
            part = os.read(self.output, 1 << 18)
            if not part:
                raise SystemExit("bench: the server ended")
            self.rest += part
        *lines, self.rest = self.rest.split(b"\n")
        return lines

    def ask(self, line):
        """The answer, and microseconds until it was there."""
        start = time.perf_counter_ns()
        self.send(line)
        answer, = self.receive()
        return answer, (time.perf_counter_ns() - start) / 1000

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(10)


class Posts:
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
            raise SystemExit(f"bench: the HTTP server answered {head!r}")
        while not self.rest.endswith(b"0\r\n\r\n"):
            self.read()
        events, self.rest = re.findall(rb"(?m)^data: (\{.*)$", self.rest), b""
        return events[-1:]

    def read(self):
        part = self.socket.recv(1 << 18)
        if not part:
            raise SystemExit("bench: the HTTP server hung up")
        self.rest += part

    def ask(self, line):
        start = time.perf_counter_ns()
        self.send(line)
        answer, = self.receive()
        return answer, (time.perf_counter_ns() - start) / 1000

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
            raise SystemExit("bench: there is no HTTP server")

    def connect(self, count):
        """So many connections of one session."""
        first = Posts(self)
        first.ask(request(0, "initialize", HELLO))
        return [first, *(Posts(self, first.session) for _ in range(count - 1))]

    def close(self):
        self.process.terminate()
        self.process.wait(10)


def request(number, method, params):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params},
                      separators=(",", ":")).encode() + b"\n"


def call(number, tool, arguments):
    return request(number, "tools/call", {"name": tool, "arguments": arguments})


def serve(support):
    server = Lines([support.MSP, "serve", *support.limits()])
    server.ask(request(0, "initialize", HELLO))
    return server


# --- load ---------------------------------------------------------------------------------------

def load_server(server, numbers, seconds):
    """Microseconds of each call; the next one is sent when one is answered."""
    begun, times = {}, []
    end = time.perf_counter() + seconds

    def begin():
        number = next(numbers)
        begun[number] = time.perf_counter_ns()
        server.send(call(number, "run_command", {"command": "true"}))

    for _ in range(AT_ONCE):
        begin()
    while begun:
        for line in server.receive():
            answer = json.loads(line)
            result = answer.get("result", {"isError": True})
            if result["isError"] or "exit 0" not in result["content"][0]["text"]:
                raise SystemExit(f"bench: under load, run_command answered {line!r}")
            times.append((time.perf_counter_ns() - begun.pop(answer["id"])) / 1000)
            if time.perf_counter() < end:
                begin()
    return times


def load_posts(connections, numbers, seconds):
    """The same over HTTP: one call at a time on each connection."""
    begun, times = {}, []
    end = time.perf_counter() + seconds
    waiting = {connection.socket: connection for connection in connections}

    def begin(connection):
        begun[connection] = time.perf_counter_ns()
        connection.send(call(next(numbers), "run_command", {"command": "true"}))

    for connection in connections:
        begin(connection)
    while begun:
        for ready in select.select([entry.socket for entry in begun], [], [])[0]:
            connection = waiting[ready]
            answer, = connection.receive()
            if b'"isError":false' not in answer or b"exit 0" not in answer:
                raise SystemExit(f"bench: under load, HTTP answered {answer!r}")
            times.append((time.perf_counter_ns() - begun.pop(connection)) / 1000)
            if time.perf_counter() < end:
                begin(connection)
    return times


def load_bare(seconds):
    """The same with processes that nobody isolates."""
    begun, times = {}, []
    end = time.perf_counter() + seconds

    def begin():
        start = time.perf_counter_ns()
        begun[os.posix_spawn("/bin/true", ["true"], {"PATH": "/usr/bin:/bin"})] = start

    for _ in range(AT_ONCE):
        begin()
    while begun:
        pid, status = os.waitpid(-1, 0)
        if status != 0 or pid not in begun:
            raise SystemExit(f"bench: process {pid} ended with status {status:#x}")
        times.append((time.perf_counter_ns() - begun.pop(pid)) / 1000)
        if time.perf_counter() < end:
            begin()
    return times


def measure_load(servers, seconds):
    """{name: (microseconds of each, seconds in all)}; `servers`: name -> what is given seconds."""
    jobs = dict(servers, bare=load_bare)
    found = {name: ([], 0.0) for name in jobs}
    for _ in range(SLICES):
        for name, job in jobs.items():
            start = time.perf_counter()
            times = job(seconds / SLICES)
            found[name] = (found[name][0] + times, found[name][1] + time.perf_counter() - start)
    return found


def report_load(found):
    bare = len(found["bare"][0]) / found["bare"][1]
    lines = ["", f"## Load: `true`, {AT_ONCE} at once", "",
             "| how | calls | errors | calls/s | p50 ms | p99 ms | of the bare rate |",
             "|---|---:|---:|---:|---:|---:|---:|"]
    for name, (times, seconds) in found.items():
        rate = len(times) / seconds
        lines.append(
            f"| {name} | {len(times)} | 0 | {rate:.0f} | {quantile(times, 0.5) / 1000:.2f} "
                     f"| {quantile(times, 0.99) / 1000:.2f} | {rate / bare:.2f} |")
    return lines


# --- overhead -----------------------------------------------------------------------------------

def overhead_line(server):
    """A call that starts nothing: its line, and what to call it."""
    answer, _ = server.ask(request("tools", "tools/list", {}))
    names = [tool["name"] for tool in json.loads(answer)["result"]["tools"]]
    if "list_sandboxes" in names:
        return "list_sandboxes", call(1, "list_sandboxes", {})
    return "tools/list", request(1, "tools/list", {})


def measure_overhead(askers, line, count):
    """{name: [microseconds]}; `askers`: name -> what answers a line."""
    times = {name: [] for name in askers}
    for number in range(-1, count // OVERHEAD_BLOCK):  # the first block only warms up
        for name, asker in askers.items():
            for _ in range(OVERHEAD_BLOCK):
                answer, elapsed = asker(line)
                if b'"error"' in answer or b'"isError":true' in answer:
                    raise SystemExit(f"bench: {name} answered {answer!r}")
                if number >= 0:
                    times[name].append(elapsed)
    return times


def report_overhead(times, what, sizes):
    lines = ["", f"## Protocol overhead: `{what}`, a line of {sizes[0]} bytes, answered with "
             f"{sizes[1]}", "", "| how | calls | p50 ms | p99 ms | p50 above the echo |",
             "|---|---:|---:|---:|---:|"]
    floor = statistics.median(times["echo"])
    for name, values in times.items():
        middle = statistics.median(values)
        lines.append(f"| {name} | {len(values)} | {middle / 1000:.3f} | "
                     f"{quantile(values, 0.99) / 1000:.3f} | {(middle - floor) / 1000:.3f} |")
    return lines


def promise_overhead(times):
    middle = statistics.median(times["stdio"])
    is_kept = middle < OVERHEAD_P50
    return [f"- a call that starts nothing: p50 {middle / 1000:.3f} ms, promised below "
            f"{OVERHEAD_P50 / 1000} ms ({'kept' if is_kept else 'NOT kept'})"], is_kept


def bench(support, place, seconds, calls):
    """(tables, promises, whether all are kept)."""
    numbers = itertools.count(10)
    # their own servers: what calls leave behind is what list_sandboxes lists
    servers, http = [serve(support), serve(support)], HttpServer(support, place)
    posts = http.connect(AT_ONCE)
    loads = measure_load({"stdio": lambda part: load_server(servers[0], numbers, part),
                          "HTTP": lambda part: load_posts(posts, numbers, part)}, seconds)
    what, line = overhead_line(servers[1])
    answer, _ = servers[1].ask(line)
    echo = Lines([os.path.join(place, "echo"), str(len(answer) + 1)])
    times = measure_overhead({"echo": echo.ask, "stdio": servers[1].ask,
                              "HTTP": http.connect(1)[0].ask}, line, calls)
    for program in (*servers, echo, *posts, http):
        program.close()
    verdict, is_kept = promise_overhead(times)
    sizes = (len(line), len(answer) + 1)
    return report_load(loads) + report_overhead(times, what, sizes), verdict, is_kept
