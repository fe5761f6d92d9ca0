#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""While one client's apply goes on and further requests of its own wait for the same sandbox, other
requests are answered before it: those of another token over HTTP, and those of the same client over
stdio. A kill is answered before it, too, and so is the kill of a request that waits.

The order of the answers is what counts, so a busy machine changes nothing; `./dev bench --only
neighbours` has the times. The control is a request for the same sandbox: it is answered when the host's
files are changed, and not before."""
import os
import tempfile
import threading
import unittest

import support
from http_support import HttpServer, ModernClient
from persistent_mcp import Client, setUpModule  # noqa: F401  (unittest calls it)

FILES = 1500  # of a round: an apply of as many takes some ten times as long as a call beside it
ROUNDS = 2
WRITE = "mkdir -p d{0} && cd d{0} && for i in $(seq {1}); do echo {0} > f$i; done"


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

    def true(self):
        result = self.result(self.bob, "run_command", command="true")
        self.assertFalse(result["isError"], result)

    def start(self, client, command, **arguments):
        result = self.result(client, "run_command", command=command, yield_ms=0, **arguments)
        return result["_meta"]["msp/execution"]["handle"]

    def write(self, number):
        result = self.result(self.alice, "run_command", sandbox="box", timeout_ms=300000,
                             yield_ms=55000, command=WRITE.format(number, FILES))
        self.assertFalse(result["isError"], result)

    def apply(self, order):
        """In a thread of its own."""
        with ModernClient(self.server) as client:
            client.connection.timeout = 300
            result = self.result(client, "apply_changes", sandbox="box")
            order.append("apply")
            self.assertFalse(result["isError"], result)

    def wait_for_it(self, order):
        """A request of the same owner that has to wait while the host's files are changed."""
        support.wait_until(lambda: order or self.is_applying(), 120)
        with ModernClient(self.server) as client:
            client.connection.timeout = 300
            self.result(client, "run_command", sandbox="box", command="true")
            order.append("early" if self.is_applying() else "waits")

    def test_a_neighbour(self):
        for number in range(ROUNDS):
            self.write(number)
            handle = self.start(self.bob, "sleep 600")
            order = []
            threads = [threading.Thread(target=self.apply, args=(order,)),
                       threading.Thread(target=self.wait_for_it, args=(order,))]
            for thread in threads:
                thread.start()
            self.assertTrue(support.wait_until(lambda: order or self.is_applying(), 120))
            self.true()
            order.append("call")
            result = self.result(self.bob, "kill_execution", handle=handle)
            order.append("kill")
            self.assertIn("[cancelled", support.text_of(result))
            for thread in threads:
                thread.join()
            self.assertEqual(order[:2], ["call", "kill"])
            self.assertIn("waits", order, "no request waited for the apply")
            self.assertEqual(len(os.listdir(os.path.join(self.project, f"d{number}"))), FILES)


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
                self.answers[message["id"]] = message["result"]
        return self.answers[number]

    def call(self, tool, **arguments):
        return self.take(self.send(tool, **arguments))

    def prepare(self, number, files):
        result = self.call("run_command", sandbox="box", yield_ms=55000, command=WRITE.format(number, files))
        self.assertFalse(result["isError"], result)

    def test_the_same_client(self):
        self.call("create_sandbox", name="box", workspace=self.project)
        for number in range(ROUNDS):
            self.prepare(number, FILES)
            result = self.call("run_command", command="sleep 600", yield_ms=0)
            handle = result["_meta"]["msp/execution"]["handle"]
            apply = self.send("apply_changes", sandbox="box")
            self.assertTrue(support.wait_until(self.is_applying, 120))
            waiting = self.send("run_command", sandbox="box", command="true")
            self.assertFalse(self.call("run_command", command="true")["isError"])
            self.assertIn("[cancelled", support.text_of(self.call("kill_execution", handle=handle)))
            self.assertNotIn(apply, self.answers, "others wait for the apply, or it was over too soon")
            self.assertFalse(self.take(waiting)["isError"])
            self.assertFalse(self.is_applying(), "no request waited for the apply")
            self.assertFalse(self.take(apply)["isError"], self.answers[apply])

    def test_a_request_that_waits_is_killed(self):
        """At once, and it never runs."""
        self.call("create_sandbox", name="box", workspace=self.project)
        self.prepare(0, 2 * FILES)
        apply = self.send("apply_changes", sandbox="box")
        self.assertTrue(support.wait_until(self.is_applying, 120))
        result = self.call("run_command", sandbox="box", command="touch ran", yield_ms=50)
        handle = result["_meta"]["msp/execution"]["handle"]
        result = self.call("kill_execution", handle=handle)
        self.assertIn("cancelled before it began.", support.text_of(result))
        self.assertNotIn(apply, self.answers, "the kill waited for the apply, or it was over too soon")
        self.take(apply)
        self.assertIn("No such file",
                      support.text_of(self.call("run_command", sandbox="box", command="ls ran")))


if __name__ == "__main__":
    unittest.main()
