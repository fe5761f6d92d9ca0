# SPDX-License-Identifier: Apache-2.0
"""What a running server does: how many calls a second through one session, beside a bare loop of
fork and exec with as many at once, and what the protocol itself costs, beside a program that only
echoes lines of the same sizes. Both take turns with what they are compared with."""
import itertools
import json
import os
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
        lines.append(f"| {name} | {len(times)} | 0 | {rate:.0f} | {quantile(times, 0.5) / 1000:.2f} "
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
    server = serve(support)
    loads = measure_load({"stdio": lambda part: load_server(server, numbers, part)}, seconds)
    what, line = overhead_line(server)
    answer, _ = server.ask(line)
    echo = Lines([os.path.join(place, "echo"), str(len(answer) + 1)])
    times = measure_overhead({"echo": echo.ask, "stdio": server.ask}, line, calls)
    for program in (server, echo):
        program.close()
    verdict, is_kept = promise_overhead(times)
    sizes = (len(line), len(answer) + 1)
    return report_load(loads) + report_overhead(times, what, sizes), verdict, is_kept
