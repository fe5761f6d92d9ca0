#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every n-th allocation of the broker refused, for each kind of request: the request is answered,
or the broker ends with a reason and its exit code; it never crashes, and nothing is left."""
import concurrent.futures
import contextlib
import errno
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import faults
import figures
import leftovers
import support

INJECT = faults.tool("inject")
BROKER = 1  # any: it alone has hooked allocations
SOFTWARE = 70
HANG_S = 10
MOST = 8  # allocations of a kind of request in an ordinary run
shared = {}


def setUpModule():
    faults.prepare("inject")
    shared["before"] = leftovers.Snapshot()


def line(method, number=2, **params):
    message = {"jsonrpc": "2.0", "id": number, "method": method}
    if params:
        message["params"] = params
    return json.dumps(message).encode() + b"\n"


INITIALIZE = line("initialize", 1, protocolVersion=support.PROTOCOL, capabilities={},
                  clientInfo={"name": "tests", "version": "1"})
CANCEL = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}\n'

# By name: what is sent after the initialisation; what the answer to request 2 must have in it.
KINDS = {
    "nothing": (line("ping"), b"{}"),
    "tools/list": (line("tools/list"), b"run_code"),
    "run_command": (faults.call_line(2, command="echo out; echo err >&2", timeout_ms=5000,
                                     stdin="in" * 1000, env={"A": "b"}), b"out"),
    "argv": (faults.call_line(2, argv=["echo", "word"] + ["x"] * 200), b"word"),
    "run_code": (faults.call_line(2, "run_code", language="bash", code="echo code", args=["a"]),
                 b"code"),
    "refused": (faults.call_line(2, command="true", profile="none"), b"isError\":true"),
    "wrong": (faults.call_line(2, command=7), b"isError\":true"),
    "no JSON": (b'{"jsonrpc":"2.0","id":2,"x":[1,2,{"y":"\\u00e4"}],,\n' + line("ping"), b"{}"),
    "long": (faults.call_line(2, command="wc -c", stdin="x" * 300000), b"300000"),
    "output": (faults.call_line(2, command="head -c 200000 /dev/zero"), b"omitted"),
    "cancelled": (faults.call_line(9, command="sleep 30") + CANCEL + line("ping"), b"{}"),
}


def session(data, occurrence):
    """`msp serve` with that allocation refused (0: none); (answer to request 2, exit code, errors,
    report)."""
    handle, report = tempfile.mkstemp(dir=shared["folder"])
    os.close(handle)
    words = [str(BROKER), "allocation", str(occurrence)] if occurrence else ["0", "allocation", "0"]
    process = subprocess.Popen(
        [INJECT, report, *words, str(errno.ENOMEM), os.path.join(faults.HOOKED, "msp"), "serve",
         "--strict-start", *support.limits()], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    timer = threading.Timer(HANG_S, process.kill)
    timer.start()
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(INITIALIZE + data)
        process.stdin.flush()
    answer = None
    for text in process.stdout:
        if json.loads(text).get("id") == 2:
            answer = text
            break
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()
    rest = process.stdout.read()
    errors = process.stderr.read().decode()
    code = process.wait()
    timer.cancel()
    process.stdout.close()
    process.stderr.close()
    with open(report, encoding="ascii") as file:
        text = file.read()
    os.unlink(report)
    return answer, rest, code, errors, text


def count(data):
    answer, _, code, errors, text = session(data, 0)
    return answer, code, errors, int(re.search(r"(?m)^\d+ allocation (\d+)$", text).group(1))


class Refused(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="msp-stages-")
        self.addCleanup(folder.cleanup)
        shared["folder"] = folder.name

    def tearDown(self):
        self.doCleanups()
        self.assertIsNotNone(leftovers.wait_gone(time.monotonic()),
                             leftovers.describe(leftovers.living()))
        self.assertEqual(shared["before"].left(), {})

    def check(self, kind, occurrence):
        """1 when it ended the broker."""
        data, expected = KINDS[kind]
        answer, rest, code, errors, text = session(data, occurrence)
        told = (kind, occurrence, answer, rest, code, errors, text)
        if not text.startswith("hit"):
            return 0  # this time it needed fewer
        status = int(text.split()[1])
        self.assertTrue(os.WIFEXITED(status), told)
        if os.WEXITSTATUS(status) == 0:
            self.assertIsNotNone(answer, told)
            self.assertTrue(expected in answer or b"isError\":true" in answer or
                            b'"error":' in answer, told)
            return 0
        self.assertIn(os.WEXITSTATUS(status), (SOFTWARE, 78), told)
        self.assertRegex(errors, r"(?m)^msp-broker: .", told)
        self.assertNotIn("bug", errors, told)
        return 1

    def test_each_allocation_of_each_kind_of_request(self):
        base = count(KINDS["nothing"][0])[3]
        cases = [("nothing", number) for number in faults.sample(range(1, base + 1), 2 * MOST)]
        for kind, (data, expected) in KINDS.items():
            answer, code, errors, total = count(data)
            self.assertEqual((code, errors), (0, ""), kind)
            self.assertIn(expected, answer, kind)
            if kind != "nothing":
                # What a request needs comes after what every session needs.
                cases += [(kind, number) for number in
                          faults.sample(range(max(1, base - 10), total + 1), MOST)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            futures = [(case, pool.submit(self.check, *case)) for case in cases]
            ended = 0
            for case, future in futures:
                with self.subTest(kind=case[0], allocation=case[1]):
                    ended += future.result()
        figures.record("calls", what="allocations of the broker", cases=len(cases), ended=ended,
                       survived=len(cases) - ended)
        print(f"{len(cases)} allocations refused, {ended} ended the broker", file=sys.stderr)
        self.assertGreater(ended, len(cases) / 4)


class Limited(unittest.TestCase):
    """The same from the kernel: a broker that may not grow."""

    def test_no_room_for_a_large_request(self):
        server = support.Server()
        server.initialize()
        factory = support.descendants(server.process.pid)[0]
        broker = support.descendants(factory)[0]
        with open(f"/proc/{broker}/statm", encoding="ascii") as file:
            size = int(file.read().split()[0]) * resource.getpagesize()
        hard = resource.prlimit(broker, resource.RLIMIT_AS)[1]
        resource.prlimit(broker, resource.RLIMIT_AS, (size + (1 << 20), hard))
        self.assertIn("small", support.text_of(server.call("run_command", command="echo small")))
        start = time.monotonic()
        with contextlib.suppress(BrokenPipeError):
            server.send_bytes(faults.call_line(5, command="wc -c", stdin="x" * 9000000))
        with self.assertRaises(support.Gone):
            server.receive()
        server.process.wait(60)
        self.assertIsNotNone(leftovers.wait_gone(start))
        server.close()
        self.assertIn(b"msp-broker: cannot go on without more memory", server.error_text)


if __name__ == "__main__":
    unittest.main()
