#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One client of an HTTP server takes what it can get; another, with a token of another name, still
gets its part of everything."""
import os
import tempfile
import unittest

import support
from http_support import HttpServer, LegacyClient, ModernClient

EXECUTIONS = 8
SANDBOXES = 8
SESSIONS = 256


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="msp-shares-")
        self.addCleanup(folder.cleanup)
        config = os.path.join(folder.name, "config.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"sandboxes: {{most: {SANDBOXES}}}\n")
        self.server = HttpServer(tokens=("alice", "bob", "carol"), options=(
            f"--max-executions={EXECUTIONS}", f"--config={config}"))
        self.addCleanup(self.server.stop)

    def client(self, name, kind=ModernClient):
        client = kind(self.server, name)
        self.addCleanup(client.close)
        return client

    def call(self, client, tool, **arguments):
        """The result of a call."""
        call = client.call(tool, **arguments)
        answer = client.say(call) if isinstance(client, ModernClient) else client.post(call)
        self.assertEqual(answer.status, 200, answer.body)
        return answer.messages()[-1]["result"]

    def until_refused(self, client, tool, most, **arguments):
        """How often the call succeeds, and what is said when it does not any more."""
        for count in range(most + 1):
            result = self.call(client, tool, **arguments)
            if result.get("isError"):
                return count, support.text_of(result)
        return self.fail(f"more than {most}")


class Shares(Case):
    def test_executions(self):
        alice, bob, carol = map(self.client, ("alice", "bob", "carol"))
        sleep = {"command": "sleep 100", "yield_ms": 0}
        count, said = self.until_refused(alice, "run_command", EXECUTIONS, **sleep)
        self.assertEqual(count, 6)
        self.assertIn("share of executions is running", said)
        self.assertIn("mine", support.text_of(self.call(bob, "run_command", command="echo mine")))
        self.call(bob, "run_command", **sleep)
        self.assertIn("mine", support.text_of(self.call(carol, "run_command",
                                                        command="echo mine")))
        self.assertTrue(self.call(alice, "run_command", **sleep)["isError"], "no more for it")

    def test_executions_of_many_sessions(self):
        total = 0
        for _ in range(4):
            client = self.client("alice", LegacyClient)
            total += self.until_refused(client, "run_command", EXECUTIONS, command="sleep 100",
                                        yield_ms=0)[0]
        self.assertEqual(total, 6, "sessions of a name share its part")
        bob = self.client("bob", LegacyClient)
        self.assertIn("mine", support.text_of(self.call(bob, "run_command", command="echo mine")))

    def test_sandboxes(self):
        alice, bob = map(self.client, ("alice", "bob"))
        count, said = self.until_refused(alice, "create_sandbox", SANDBOXES)
        self.assertEqual(count, 6)
        self.assertIn("destroy", said.lower())
        made = self.call(bob, "create_sandbox")
        self.assertFalse(made.get("isError"), made)
        self.assertTrue(self.call(alice, "create_sandbox")["isError"], "no more for it")

    def test_sessions(self):
        first = self.client("bob", LegacyClient)
        mine = [self.client("alice", LegacyClient) for _ in range(SESSIONS)]
        self.assertEqual(first.post(first.message("ping")).status, 200, "nobody else's is ended")
        alive = sum(one.post(one.message("ping")).status == 200 for one in mine)
        self.assertEqual(alive, SESSIONS // 4 * 3)
        self.assertEqual(mine[0].post(mine[0].message("ping")).status, 404, "its oldest ended")

    def test_sessions_in_use(self):
        streams = []
        self.addCleanup(lambda: [stream.close() for stream in streams])
        refused = None
        while refused is None and len(streams) <= SESSIONS:
            try:
                client = self.client("alice", LegacyClient)
            except ConnectionError as error:
                refused = str(error)
                break
            client.close()
            streams.append(client.stream("GET"))
            self.assertEqual(streams[-1].status, 200)
        self.assertEqual(len(streams), SESSIONS // 4 * 3)
        self.assertIn("503", refused)
        self.assertIn("share of the 256 sessions", refused)
        for _ in range(20):
            bob = self.client("bob", LegacyClient)
            self.assertEqual(bob.post(bob.message("ping")).status, 200)

    def test_output_that_is_kept(self):
        alice, bob = map(self.client, ("alice", "bob"))
        kept = self.call(bob, "run_command", command="echo word", yield_ms=0)
        handle = kept["_meta"]["msp/execution"]["handle"]
        self.assertIn("word", support.text_of(self.call(bob, "read_output", handle=handle,
                                                        wait_ms=5000)))
        for _ in range(12):
            self.call(alice, "run_command", command="head -c 9000000 /dev/zero | tr '\\0' x")
        again = self.call(bob, "read_output", handle=handle, offset=0)
        self.assertIn("word", support.text_of(again))


if __name__ == "__main__":
    unittest.main()
