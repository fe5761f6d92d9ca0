#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""While one client's apply goes on and further requests of its own wait for the same sandbox, other
requests are answered as if it were not: those of another token over HTTP, and those of the same
client over stdio. A kill is answered at once, and so is the kill of a request that waits.

Each round measures `run_command true` alone and then beside an apply, so that a noisy machine is
noisy in both. The control is the apply itself: the request that waits for it takes as long as it."""
import os
import statistics
import tempfile
import threading
import time
import unittest

import support
from http_support import HttpServer, ModernClient
from persistent_mcp import Client, setUpModule  # noqa: F401  (unittest calls it)

FILES = 1500  # of a round: an apply of as many takes some ten times as long as a call beside it
ROUNDS = 2
ALONE = 20  # calls
TIMES = 2.0
# Below this a ratio is one of the scheduler's: msp-layers and the neighbour share two processors.
FLOOR = 0.05
# Whatever the machine does, no call may take this part of the apply that it runs beside.
PART = 0.5
WRITE = "mkdir -p d{0} && cd d{0} && for i in $(seq {1}); do echo {0} > f$i; done"


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="msp-neighbours-", dir="/var/tmp")
        self.addCleanup(folder.cleanup)
        self.project = os.path.join(folder.name, "project")
        os.mkdir(self.project)
        self.state = os.path.join(folder.name, "state")
        os.mkdir(self.state, 0o700)
        config = os.path.join(folder.name, "config.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write("default_profile: mine\nprofiles:\n  - name: mine\n    description: a test\n"
                       "    extends: default\n    lasting:\n      apply: agent\n")
        self.environment = {**os.environ, "MSP_CONFIG": config, "MSP_STATE_DIR": self.state}

    def is_applying(self):
        """Is msp-layers between the first and the last of the host's files?"""
        boxes = os.path.join(self.state, "sandboxes")
        return any(os.path.exists(os.path.join(boxes, box, "journal", state))
                   for box in os.listdir(boxes) for state in ("staging", "swapping"))

    def judge(self, alone, beside, applies):
        """By round: seconds of each call, and of the apply."""
        figures = [(percentile(one, 0.99), percentile(other, 0.99), max(other), took)
                   for one, other, took in zip(alone, beside, applies)]
        text = "; ".join(f"alone {a * 1000:.1f} ms, beside {b * 1000:.1f} ms, at most "
                         f"{c * 1000:.0f} ms of {d * 1000:.0f} ms" for a, b, c, d in figures)
        print(text)
        ratios = [beside / max(alone, FLOOR / TIMES) for alone, beside, _, _ in figures]
        self.assertLess(statistics.median(ratios), TIMES, text)
        self.assertLess(statistics.median(c / d for _, _, c, d in figures), PART, text)


class OverHttp(Case):
    """One token applies, another one works."""

    def setUp(self):
        super().setUp()
        self.server = HttpServer(tokens=("alice", "bob"), env=self.environment,
                                 options=["--workspace", self.project])
        self.addCleanup(self.server.stop)
        self.alice, self.bob = ModernClient(self.server), ModernClient(self.server, "bob")
        for client in (self.alice, self.bob):
            client.connection.timeout = 300
            self.addCleanup(client.close)
        self.result(self.alice, "create_sandbox", name="box", workspace=self.project)

    def result(self, client, tool, **arguments):
        return client.say(client.call(tool, **arguments)).messages()[-1]["result"]

    def timed(self, client, tool, **arguments):
        begun = time.monotonic()
        result = self.result(client, tool, **arguments)
        return time.monotonic() - begun, result

    def true(self):
        took, result = self.timed(self.bob, "run_command", command="true")
        self.assertFalse(result["isError"], result)
        return took

    def start(self, client, command, **arguments):
        result = self.result(client, "run_command", command=command, yield_ms=0, **arguments)
        return result["_meta"]["msp/execution"]["handle"]

    def write(self, number):
        result = self.result(self.alice, "run_command", sandbox="box", timeout_ms=300000,
                             yield_ms=55000, command=WRITE.format(number, FILES))
        self.assertFalse(result["isError"], result)

    def apply(self, results):
        """In a thread of its own."""
        with ModernClient(self.server) as client:
            client.connection.timeout = 300
            results.append(self.timed(client, "apply_changes", sandbox="box"))

    def wait_for_it(self, results, waits):
        """A request of the same owner that has to wait while the host's files are changed."""
        support.wait_until(lambda: results or self.is_applying(), 120)
        with ModernClient(self.server) as client:
            client.connection.timeout = 300
            waits.append(self.timed(client, "run_command", sandbox="box", command="true"))

    def test_a_neighbour(self):
        alone, beside, applies, kills = [], [], [], []
        for number in range(ROUNDS):
            self.write(number)
            handle = self.start(self.bob, "sleep 600")
            alone.append([self.true() for _ in range(ALONE)])
            results, waits, calls = [], [], []
            threads = [threading.Thread(target=self.apply, args=(results,)),
                       threading.Thread(target=self.wait_for_it, args=(results, waits))]
            for thread in threads:
                thread.start()
            while any(thread.is_alive() for thread in threads):
                calls.append(self.true())
                if handle and self.is_applying():
                    took, result = self.timed(self.bob, "kill_execution", handle=handle)
                    self.assertIn("[cancelled", support.text_of(result))
                    kills.append(took)
                    handle = None
            beside.append(calls)
            (took, result), = results
            self.assertFalse(result["isError"], result)
            applies.append(took)
            self.assertGreater(waits[0][0], took * 0.1, "no request waited for the apply")
        self.assertEqual(len(os.listdir(os.path.join(self.project, "d0"))), FILES)
        self.judge(alone, beside, applies)
        self.assertLess(statistics.median(kills) / statistics.median(applies), PART,
                        (kills, applies))


class OverStdio(Case):
    """The same client goes on while its own apply does."""

    def setUp(self):
        super().setUp()
        self.server = Client("--workspace", self.project, env=self.environment)
        self.addCleanup(self.server.close)
        self.server.initialize()
        self.number = 1000
        self.answers = {}

    def send(self, tool, **arguments):
        self.number += 1
        self.server.send({"jsonrpc": "2.0", "id": self.number, "method": "tools/call",
                          "params": {"name": tool, "arguments": arguments}})
        return self.number

    def take(self, number, timeout=300):
        while number not in self.answers:
            message = self.server.receive(timeout)
            if "result" in message:
                self.answers[message["id"]] = (time.monotonic(), message["result"])
        return self.answers[number]

    def call(self, tool, **arguments):
        """(seconds, result)"""
        begun = time.monotonic()
        ended, result = self.take(self.send(tool, **arguments))
        return ended - begun, result

    def true(self):
        took, result = self.call("run_command", command="true")
        self.assertFalse(result["isError"], result)
        return took

    def test_the_same_client(self):
        alone, beside, applies, kills = [], [], [], []
        self.call("create_sandbox", name="box", workspace=self.project)
        for number in range(ROUNDS):
            _, result = self.call("run_command", sandbox="box", yield_ms=55000,
                                  command=WRITE.format(number, FILES))
            self.assertFalse(result["isError"], result)
            _, result = self.call("run_command", command="sleep 600", yield_ms=0)
            handle = result["_meta"]["msp/execution"]["handle"]
            alone.append([self.true() for _ in range(ALONE)])
            begun, calls, waiting = time.monotonic(), [], None
            apply = self.send("apply_changes", sandbox="box")
            while apply not in self.answers:
                calls.append(self.true())
                if not waiting and self.is_applying():
                    waiting = self.send("run_command", sandbox="box", command="true")
                    took, result = self.call("kill_execution", handle=handle)
                    self.assertIn("[cancelled", support.text_of(result))
                    kills.append(took)
            beside.append(calls)
            applies.append(self.answers[apply][0] - begun)
            self.assertFalse(self.answers[apply][1]["isError"], self.answers[apply])
            self.assertFalse(self.take(waiting)[1]["isError"])
        self.judge(alone, beside, applies)
        self.assertLess(statistics.median(kills) / statistics.median(applies), PART,
                        (kills, applies))

    def test_a_request_that_waits_is_killed(self):
        """At once, and it never runs."""
        self.call("create_sandbox", name="box", workspace=self.project)
        _, result = self.call("run_command", sandbox="box", yield_ms=55000,
                              command=WRITE.format(0, 2 * FILES))
        self.assertFalse(result["isError"], result)
        begun = time.monotonic()
        apply = self.send("apply_changes", sandbox="box")
        self.assertTrue(support.wait_until(self.is_applying, 120))
        _, result = self.call("run_command", sandbox="box", command="touch ran", yield_ms=50)
        handle = result["_meta"]["msp/execution"]["handle"]
        took, result = self.call("kill_execution", handle=handle)
        self.assertIn("cancelled before it began.", support.text_of(result))
        self.assertNotIn(apply, self.answers, "the apply was over too soon to tell")
        applied = self.take(apply)[0] - begun
        self.assertLess(took, applied * PART)
        _, result = self.call("run_command", sandbox="box", command="ls ran")
        self.assertIn("No such file", support.text_of(result))


if __name__ == "__main__":
    unittest.main()
