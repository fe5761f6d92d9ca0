#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whose resources they are over HTTP: logs are their principal's, lists a session's where there is
one, and who is told of changes has a stream for it."""
import unittest

from http_support import META, HttpServer, LegacyClient, ModernClient


class Resources(unittest.TestCase):
    def setUp(self):
        self.server = HttpServer(tokens=("alice", "bob"))
        self.addCleanup(self.server.stop)

    def modern(self, name):
        client = ModernClient(self.server, name)
        self.addCleanup(client.close)
        return client

    def legacy(self, name):
        client = LegacyClient(self.server, name)
        self.addCleanup(client.close)
        return client

    def ask(self, client, method, params=None):
        """The answer's message."""
        message = client.message(method, params)
        if isinstance(client, ModernClient):
            return client.say(message).messages()[-1]
        return client.post(message).messages()[-1]

    def start(self, client):
        """A program that goes on until it is told more: its handle and its log's URI."""
        answer = self.ask(client, "tools/call", {"name": "run_command", "arguments": {
            "command": "echo ready; cat", "interactive": True, "yield_ms": 0}})
        handle = answer["result"]["_meta"]["msp/execution"]["handle"]
        sandbox, _, number = handle.rpartition("-")
        return handle, f"sandbox://{sandbox}/log/{number}"

    def type_to(self, client, handle, text):
        self.ask(client, "tools/call", {"name": "send_input", "arguments": {
            "handle": handle, "data": text, "wait_ms": 0}})

    def logs(self, client):
        listed = self.ask(client, "resources/list")["result"]["resources"]
        return [entry["uri"] for entry in listed if entry["uri"].startswith("sandbox:")]

    def test_a_log_is_its_principals(self):
        _, uri = self.start(self.modern("alice"))
        self.assertIn("result", self.ask(self.modern("alice"), "resources/read", {"uri": uri}))
        self.assertEqual(self.logs(self.modern("alice")), [uri])
        bob = self.modern("bob")
        self.assertEqual(self.logs(bob), [])
        refused = self.ask(bob, "resources/read", {"uri": uri})["error"]
        self.assertEqual((refused["code"], refused["data"]), (-32602, {"uri": uri}))
        # the words are those for a log that nobody has
        other = uri.replace(uri[10:12], "00")
        unknown = self.ask(bob, "resources/read", {"uri": other})["error"]
        self.assertEqual(unknown["message"].replace(other, uri), refused["message"])
        values = self.ask(bob, "completion/complete", {
            "ref": {"type": "ref/resource", "uri": "sandbox://{id}/log/{execution}"},
            "argument": {"name": "id", "value": ""}})["result"]["completion"]["values"]
        self.assertEqual(values, [])

    def test_a_legacy_session_lists_its_own(self):
        one, other = self.legacy("alice"), self.legacy("alice")
        _, uri = self.start(one)
        self.assertEqual((self.logs(one), self.logs(other)), ([uri], []))
        self.assertIn("result", self.ask(other, "resources/read", {"uri": uri}))

    def test_a_listen_hears_of_its_principals_logs(self):
        alice = self.modern("alice")
        handle, uri = self.start(alice)
        for name, honoured in (("alice", [uri]), ("bob", [])):
            client = self.modern(name)
            message = client.message("subscriptions/listen",
                                     {"notifications": {"resourceSubscriptions": [uri]}})
            stream = client.open(message)
            self.addCleanup(stream.close)
            ack = stream.message()
            self.assertEqual(ack["method"], "notifications/subscriptions/acknowledged")
            self.assertEqual(ack["params"]["notifications"], {"resourceSubscriptions": honoured})
            if honoured:
                self.type_to(alice, handle, "more\n")
                self.assertEqual(stream.message()["params"], {
                    "_meta": {META + "subscriptionId": message["id"]}, "uri": uri})

    def test_a_closed_listen_makes_room(self):
        alice = self.modern("alice")
        for _ in range(40):
            stream = alice.open(alice.message("subscriptions/listen", {"notifications": {}}))
            self.assertEqual(stream.message()["params"]["notifications"], {})
            stream.close()

    def test_a_legacy_subscriber_hears_on_its_sessions_stream(self):
        client = self.legacy("alice")
        stream = client.stream("GET")
        self.addCleanup(stream.close)
        handle, uri = self.start(client)
        self.assertEqual(self.ask(client, "resources/subscribe", {"uri": uri})["result"], {})
        self.type_to(client, handle, "more\n")
        self.assertEqual(stream.message(), {
            "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}})


if __name__ == "__main__":
    unittest.main()
