#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Executions that outlive their call, over HTTP: a handle is its principal's, a list a session's
where there is one, and what ends with whom."""
import unittest

import support
from http_support import HttpServer, LegacyClient, ModernClient


class Long(unittest.TestCase):
    def setUp(self):
        self.server = HttpServer(tokens=("alice", "bob"))
        self.addCleanup(self.server.stop)

    def client(self, kind, name="alice"):
        client = kind(self.server, name)
        self.addCleanup(client.close)
        return client

    def result(self, client, tool, **arguments):
        say = client.say if isinstance(client, ModernClient) else client.post
        return say(client.call(tool, **arguments)).messages()[-1]["result"]

    def start(self, client, command, **arguments):
        result = self.result(client, "run_command", command=command, yield_ms=0, **arguments)
        self.assertFalse(result["isError"], result)
        return result["_meta"]["msp/execution"]["handle"]

    def text(self, client, tool, **arguments):
        return support.text_of(self.result(client, tool, **arguments))

    def listed(self, client):
        boxes = self.result(client, "list_sandboxes")["structuredContent"]["sandboxes"]
        return [box["executions"][0]["handle"] for box in boxes]

    def test_a_handle_outlives_the_request(self):
        handle = self.start(self.client(ModernClient), "read line; echo got $line",
                            interactive=True)
        other = self.client(ModernClient)
        self.assertEqual(self.listed(other), [handle])
        text = self.text(other, "send_input", handle=handle, data="it\n", wait_ms=10000)
        self.assertRegex(text, r"^got it\n\[exit 0")

    def test_a_handle_is_its_principals(self):
        alice, bob = self.client(ModernClient), self.client(ModernClient, "bob")
        handle = self.start(alice, "sleep 60; echo mark-a")
        unknown = self.text(bob, "read_output", handle=handle[:-1] + "7")
        for tool in ("read_output", "send_input", "kill_execution"):
            result = self.result(bob, tool, handle=handle)
            self.assertTrue(result["isError"])
            self.assertEqual(support.text_of(result), unknown.replace(handle[:-1] + "7", handle))
        self.assertEqual((self.listed(alice), self.listed(bob)), ([handle], []))
        self.assertTrue(support.wait_until(lambda: self.server.is_running("mark-a")))
        self.assertIn("[cancelled", self.text(alice, "kill_execution", handle=handle))

    def test_a_session_lists_and_ends_its_own(self):
        one, other = self.client(LegacyClient), self.client(LegacyClient)
        modern = self.client(ModernClient)
        ones, others = self.start(one, "sleep 60; echo mark-1"), self.start(other, "sleep 60")
        moderns = self.start(modern, "sleep 60; echo mark-m")
        self.assertEqual((self.listed(one), self.listed(other), self.listed(modern)),
                         ([ones], [others], [moderns]))
        self.assertIn("still running", self.text(other, "read_output", handle=ones, wait_ms=0))
        waiting = other.stream("POST", other.call("read_output", handle=ones, wait_ms=50000))
        self.addCleanup(waiting.close)
        self.assertEqual(one.request("DELETE").status // 100, 2)
        self.assertTrue(support.wait_until(lambda: not self.server.is_running("mark-1")))
        answer = waiting.message()["result"]
        self.assertTrue(answer["isError"])
        self.assertIn("ended with its session", support.text_of(answer))
        self.assertIn("no execution", self.text(other, "read_output", handle=ones))
        self.assertTrue(support.wait_until(lambda: self.server.is_running("mark-m")))

    def test_who_goes_after_the_handle_leaves_it_running(self):
        client = self.client(ModernClient)
        handle = self.start(client, "sleep 2; echo mark-s")
        stream = client.open(client.call("read_output", handle=handle, wait_ms=50000))
        stream.close()
        text = self.text(self.client(ModernClient), "read_output", handle=handle, wait_ms=20000)
        self.assertIn("mark-s", text)


if __name__ == "__main__":
    unittest.main()
