#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sessions of the legacy era over HTTP: their names, streams, what survives a lost connection."""
import unittest

import support
from http_support import (EVENTS, JSON, Client, HttpServer, LegacyClient)

SERVER = None


def setUpModule():
    global SERVER
    SERVER = HttpServer(tokens=("alice", "bob"))


def tearDownModule():
    SERVER.stop()


def running(text):
    """Is there a process with this in its command line?"""
    return SERVER.is_running(text)


class Case(unittest.TestCase):
    def client(self, *arguments, **keywords):
        client = LegacyClient(SERVER, *arguments, **keywords)
        self.addCleanup(client.close)
        return client

    def open(self, client, *arguments, **keywords):
        stream = client.stream(*arguments, **keywords)
        self.addCleanup(stream.close)
        return stream

    def sleeping(self, client, seconds, text="done"):
        """A call that takes a while; its stream, after the first event."""
        call = client.call("run_command", command=f"sleep {seconds}; echo {text}")
        stream = self.open(client, "POST", call)
        self.assertEqual(stream.headers["Content-Type"], EVENTS)
        return stream, call


class Names(Case):
    def test_a_session_has_an_unguessable_name(self):
        names = {self.client().headers["Mcp-Session-Id"] for _ in range(5)}
        self.assertEqual(len(names), 5)
        for name in names:
            self.assertRegex(name, r"^[0-9a-f]{64}$")

    def test_initialize_is_answered_in_plain_json(self):
        answer = self.client().initialized
        self.assertEqual(answer.headers["Content-Type"], JSON)
        self.assertEqual(answer.headers["Cache-Control"], "no-store")
        self.assertEqual(answer.json()["result"]["protocolVersion"], "2025-11-25")

    def test_a_failed_initialize_makes_none(self):
        with Client(SERVER) as client:
            answer = client.post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": []})
            self.assertEqual(answer.status, 400)
            self.assertNotIn("Mcp-Session-Id", answer.headers)

    def test_missing_and_unknown(self):
        client = self.client()
        ping = client.message("ping")
        for method, body in (("POST", ping), ("GET", None), ("DELETE", None)):
            self.assertEqual(client.request(method, body, {"Mcp-Session-Id": None}).status, 400)
            for name in ("x", "0" * 64, client.headers["Mcp-Session-Id"] + "0", ""):
                with self.subTest(method=method, name=name):
                    answer = client.request(method, body, {"Mcp-Session-Id": name})
                    self.assertEqual(answer.status, 404)

    def test_another_token_does_not_know_it(self):
        alice, bob = self.client("alice"), self.client("bob")
        name = {"Mcp-Session-Id": alice.headers["Mcp-Session-Id"]}
        for method, body in (("POST", bob.message("ping")), ("GET", None), ("DELETE", None)):
            self.assertEqual(bob.request(method, body, name).status, 404)
        self.assertEqual(alice.post(alice.message("ping")).status, 200)

    def test_delete_ends_it(self):
        client = self.client()
        self.assertIn(client.request("DELETE").status, (200, 204))
        for method, body in (("POST", client.message("ping")), ("GET", None), ("DELETE", None)):
            self.assertEqual(client.request(method, body).status, 404)

    def test_versions(self):
        client = self.client()
        ping = client.message("ping")
        for version in (None, "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"):
            answer = client.post(ping, {"MCP-Protocol-Version": version})
            self.assertEqual(answer.status, 200, version)
        for version in ("2030-01-01", "x", ""):
            for method in ("POST", "GET", "DELETE"):
                answer = client.request(method, ping if method == "POST" else None,
                                        {"MCP-Protocol-Version": version})
                self.assertEqual(answer.status, 400, version)

    def test_what_needs_no_answer(self):
        client = self.client()
        for body in ({"jsonrpc": "2.0", "method": "notifications/initialized"},
                     {"jsonrpc": "2.0", "method": "notifications/nothing"},
                     {"jsonrpc": "2.0", "id": 77, "result": {}},
                     {"jsonrpc": "2.0", "id": 77, "error": {"code": 1, "message": "x"}}):
            answer = client.post(body)
            self.assertEqual((answer.status, answer.body), (202, b""))

    def test_there_can_be_many_and_the_oldest_idle_one_makes_room(self):
        first, second = self.client(), self.client()
        stream = self.open(first, "GET")
        names = [self.client().headers["Mcp-Session-Id"] for _ in range(258)]
        self.assertEqual(first.post(first.message("ping")).status, 200, "it is in use")
        self.assertEqual(second.post(second.message("ping")).status, 404)
        last = {"Mcp-Session-Id": names[-1]}
        self.assertEqual(first.post(first.message("ping"), last).status, 200)
        stream.close()


class Streams(Case):
    def test_a_quick_answer_is_plain_json(self):
        client = self.client()
        answer = client.post(client.message("tools/list"))
        self.assertEqual(answer.headers["Content-Type"], JSON)

    def test_a_slow_answer_is_a_stream(self):
        client = self.client()
        stream, call = self.sleeping(client, 2)
        self.assertEqual(stream.headers["X-Accel-Buffering"], "no")
        self.assertEqual(stream.headers["Cache-Control"], "no-store")
        first = stream.event()
        self.assertEqual((first["data"], first["retry"]), ("", "1000"))
        self.assertRegex(first["id"], r"^[0-9]+-0$")
        answer = stream.message()
        self.assertEqual(answer["id"], call["id"])
        self.assertIn("done", support.text_of(answer["result"]))
        self.assertIsNone(stream.event())

    def test_older_versions_are_not_primed(self):
        client = self.client(version="2025-06-18")
        stream, call = self.sleeping(client, 2)
        event = stream.event()
        self.assertIn(f'"id":{call["id"]},', event["data"])

    def test_several_at_once(self):
        client = self.client()
        streams = [self.sleeping(client, 2, f"number {i}") for i in range(5)]
        for i, (stream, call) in enumerate(streams):
            answer = stream.message()
            self.assertEqual(answer["id"], call["id"])
            self.assertIn(f"number {i}", support.text_of(answer["result"]))

    def test_the_sessions_own_stream(self):
        client = self.client()
        stream = self.open(client, "GET")
        self.assertEqual((stream.status, stream.headers["Content-Type"]), (200, EVENTS))
        self.assertEqual(stream.event()["id"], "0-0")
        self.assertEqual(client.request("GET").status, 409)
        stream.close()
        self.assertTrue(support.wait_until(lambda: self.reopened(client)))

    def reopened(self, client):
        stream = client.stream("GET")
        stream.close()
        return stream.status == 200

    def test_delete_ends_streams_and_what_runs(self):
        client = self.client()
        own = self.open(client, "GET")
        own.event()
        stream, _ = self.sleeping(client, 60, "mark-of-delete")
        stream.event()
        self.assertTrue(running("mark-of-delete"))
        self.assertIn(client.request("DELETE").status, (200, 204))
        self.assertIsNone(own.event())
        self.assertIsNone(stream.event())
        self.assertTrue(support.wait_until(lambda: not running("mark-of-delete")))

    def test_cancelled_calls_end_their_stream(self):
        client = self.client()
        stream, call = self.sleeping(client, 60, "mark-of-cancel")
        stream.event()
        client.post({"jsonrpc": "2.0", "method": "notifications/cancelled",
                     "params": {"requestId": call["id"]}})
        self.assertIsNone(stream.message())
        self.assertTrue(support.wait_until(lambda: not running("mark-of-cancel")))


class Lost(Case):
    def lose(self, client, seconds):
        """Begin a call and lose its connection; what the client knows of it."""
        stream, call = self.sleeping(client, seconds, "survivor")
        first = stream.event()
        stream.close()
        return first["id"], call

    def again(self, client, last):
        return self.open(client, "GET", headers={"Last-Event-ID": last})

    def test_the_answer_is_kept(self):
        client = self.client()
        last, call = self.lose(client, 2)
        ping = client.post(client.message("run_command", {}))
        self.assertEqual(ping.status, 200)
        self.assertTrue(support.wait_until(lambda: not running("survivor"), 10))
        stream = self.again(client, last)
        answer = stream.message()
        self.assertEqual(answer["id"], call["id"])
        self.assertIn("survivor", support.text_of(answer["result"]))
        self.assertIsNone(stream.event())

    def test_a_stream_goes_on(self):
        client = self.client()
        last, call = self.lose(client, 5)
        stream = self.again(client, last)
        self.assertTrue(running("survivor"), "a lost connection cancels nothing")
        event = stream.event()
        self.assertIn(f'"id":{call["id"]},', event["data"])
        self.assertEqual(event["id"].split("-")[0], last.split("-")[0])
        self.assertIsNone(stream.event())

    def test_only_what_follows_and_only_of_that_stream(self):
        client = self.client()
        one, _ = self.sleeping(client, 2, "one")
        two, _ = self.sleeping(client, 2, "two")
        ids = []
        for stream in (one, two):
            stream.event()
            ids.append(stream.event()["id"])
        for last, text in ((ids[0], "one"), (ids[1], "two")):
            self.assertIsNone(self.again(client, last).event())
            stream = self.again(client, last.split("-")[0] + "-0")
            self.assertIn(text, support.text_of(stream.message()["result"]))
            self.assertIsNone(stream.event())

    def test_a_replay_beside_the_open_stream(self):
        client = self.client()
        own = self.open(client, "GET")
        own.event()
        last, _ = self.lose(client, 2)
        self.assertIn("survivor", support.text_of(self.again(client, last).message()["result"]))

    def test_ids_that_were_never_made(self):
        client = self.client()
        for last in ("1-0", "x", "0-5", "-1-0", "1", "0-0-0", "99999999999999999999-1", ""):
            with self.subTest(last=last):
                answer = client.request("GET", None, {"Last-Event-ID": last})
                self.assertEqual(answer.status, 400)

    def test_others_cannot_replay(self):
        client = self.client("alice")
        last, _ = self.lose(client, 2)
        other = self.client("alice")
        self.assertEqual(other.request("GET", None, {"Last-Event-ID": last}).status, 400)
        bob = self.client("bob")
        answer = bob.request("GET", None, {"Last-Event-ID": last, "Mcp-Session-Id":
                                           client.headers["Mcp-Session-Id"]})
        self.assertEqual(answer.status, 404)

    def test_the_own_stream_can_be_taken_back(self):
        client = self.client()
        first = self.open(client, "GET")
        last = first.event()["id"]
        second = self.again(client, last)
        self.assertEqual(second.status, 200)
        self.assertIsNone(first.event(), "the older one ends")


class Isolation(Case):
    def test_ids_of_two_clients_do_not_meet(self):
        one, two = self.client("alice"), self.client("bob")
        first = one.message("tools/call", {"name": "run_command",
                                           "arguments": {"command": "sleep 2; echo first"}})
        second = {**first, "params": {"name": "run_command",
                                      "arguments": {"command": "echo second"}}}
        stream = self.open(one, "POST", first)
        self.assertIn("second", support.text_of(two.post(second).json()["result"]))
        two.post({"jsonrpc": "2.0", "method": "notifications/cancelled",
                  "params": {"requestId": first["id"]}})
        self.assertIn("first", support.text_of(stream.message()["result"]))

    def test_the_same_id_twice_in_one_session(self):
        client = self.client()
        stream, call = self.sleeping(client, 2)
        answer = client.post(call)
        self.assertEqual((answer.status, answer.code()), (400, -32600))
        self.assertIn("done", support.text_of(stream.message()["result"]))


if __name__ == "__main__":
    unittest.main()
