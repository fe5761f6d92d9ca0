#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The era without sessions over HTTP: each POST by itself, and the end of its connection is the end
of what it asked for. And sockets of a file."""
import os
import signal
import socket
import subprocess
import sys
import unittest

import support
from http_support import EVENTS, JSON, Client, HttpServer, LegacyClient, ModernClient, wait_for_text


class Case(unittest.TestCase):
    unix = False

    @classmethod
    def setUpClass(cls):
        cls.server = HttpServer(unix=cls.unix, tokens=() if cls.unix else ("alice",))
        cls.addClassCleanup(cls.server.stop)

    def setUp(self):
        self.client = ModernClient(self.server)
        self.addCleanup(self.client.close)

    def ends(self, text):
        return support.wait_until(lambda: not self.server.is_running(text), 10)


class Modern(Case):
    def test_a_quick_answer_is_plain_json(self):
        answer = self.client.say(self.client.call("run_command", command="echo hello"))
        self.assertEqual(answer.headers["Content-Type"], JSON)
        self.assertIn("hello", support.text_of(answer.json()["result"]))

    def test_a_slow_answer_is_a_stream(self):
        call = self.client.call("run_command", command="sleep 2; echo hello")
        stream = self.client.open(call)
        self.assertEqual(stream.headers["Content-Type"], EVENTS)
        event = stream.event()
        self.assertNotIn("id", event, "nothing can be resumed")
        self.assertIn("hello", event["data"])
        self.assertIsNone(stream.event())
        stream.close()

    def test_the_same_ids_at_the_same_time(self):
        calls = [self.client.call("run_command", command=f"sleep 2; echo number {i}")
                 for i in range(4)]
        for call in calls:
            call["id"] = "same"
        streams = [self.client.open(call) for call in calls]
        for i, stream in enumerate(streams):
            answer = stream.message()
            self.assertEqual(answer["id"], "same")
            self.assertIn(f"number {i}", support.text_of(answer["result"]))
            stream.close()

    def test_ids_come_back_as_they_were(self):
        for number in ('a"b', "\\", "line\n\ttab", 'x","result":{},"y":"', "\u0000", "é", "", -7):
            with self.subTest(id=number):
                message = self.client.message("tools/list")
                message["id"] = number
                answer = self.client.say(message)
                self.assertEqual((answer.status, answer.json()["id"]), (200, number))

    def test_closing_a_stream_cancels(self):
        stream = self.client.open(self.client.call("run_command", command="sleep 60; echo mark-s"))
        self.assertTrue(self.server.is_running("mark-s"))
        stream.close()
        self.assertTrue(self.ends("mark-s"))

    def test_closing_before_the_answer_begins_cancels(self):
        call = self.client.call("run_command", command="sleep 60; echo mark-p")
        connection = self.client.begin("POST", call, self.client.fitting(call))
        self.assertTrue(support.wait_until(lambda: self.server.is_running("mark-p")))
        connection.close()
        self.assertTrue(self.ends("mark-p"))

    def test_a_client_that_is_killed_cancels(self):
        script = ("import sys; sys.path.insert(0, sys.argv[1]); import http_support as h;"
                  "s = h.HttpServer.__new__(h.HttpServer); s.path = sys.argv[2] or None;"
                  "s.address = '127.0.0.1'; s.port = int(sys.argv[3]); s.tokens = {'alice': sys.argv[4]};"
                  "c = h.ModernClient(s); c.open(c.call('run_command', command='sleep 60;"
                  " echo mark-k')).event()")
        here = os.path.dirname(os.path.abspath(__file__))
        client = subprocess.Popen([sys.executable, "-B", "-c", script, here,
                                   self.server.path or "", str(self.server.port or 0),
                                   self.server.tokens.get("alice", "")])
        try:
            self.assertTrue(support.wait_until(lambda: self.server.is_running("mark-k")))
        finally:
            client.send_signal(signal.SIGKILL)
            client.wait()
        self.assertTrue(self.ends("mark-k"))

    def test_a_half_closed_connection_is_closed(self):
        call = self.client.call("run_command", command="sleep 60; echo mark-h")
        connection = self.client.begin("POST", call, self.client.fitting(call))
        self.assertTrue(support.wait_until(lambda: self.server.is_running("mark-h")))
        connection.sock.shutdown(socket.SHUT_WR)
        self.assertTrue(self.ends("mark-h"))
        connection.close()

    def test_a_call_of_the_legacy_era_survives(self):
        client = LegacyClient(self.server)
        call = client.call("run_command", command="sleep 6; echo mark-l")
        stream = client.stream("POST", call)
        stream.close()
        self.assertTrue(self.server.is_running("mark-l"))
        answer = client.post(client.message("ping"))
        self.assertEqual(answer.status, 200)
        self.assertTrue(self.server.is_running("mark-l"))
        self.assertTrue(self.ends("mark-l"))
        client.close()

    def test_answers_follow_each_other_on_one_connection(self):
        for i in range(50):
            answer = self.client.say(self.client.message("tools/list"))
            self.assertEqual((answer.status, answer.json()["id"]), (200, i + 1))


@unittest.skipIf(os.geteuid() == 0, "the server becomes another user, and serves only that one")
class Unix(Modern):
    """The same over a socket file, where who may connect needs no token."""
    unix = True

    def test_no_token_is_needed(self):
        answer = self.client.say(self.client.message("server/discover"))
        self.assertEqual(answer.status, 200)
        answer = self.client.say(self.client.message("server/discover"),
                                 {"Authorization": "Bearer anything"})
        self.assertEqual(answer.status, 200)

    def test_hosts(self):
        message = self.client.message("server/discover")
        for host, status in ((None, 200), ("localhost", 200), ("evil.example.com", 403)):
            self.assertEqual(self.client.say(message, {"Host": host}).status, status)


class Start(unittest.TestCase):
    def test_tcp_without_tokens_is_refused(self):
        server = HttpServer(tokens=())
        try:
            server.process.wait(20)
            self.assertNotEqual(server.process.returncode, 0)
            self.assertIn(b"needs a token file", server.stderr)
        finally:
            server.stop()

    @unittest.skipUnless(os.geteuid() == 0, "only root can be another user than the server")
    def test_a_socket_file_serves_only_its_user(self):
        with HttpServer(unix=True, tokens=()) as server, server.connect() as client:
            client.sendall(b"POST /mcp HTTP/1.1\r\n\r\n")
            self.assertTrue(client.recv(99).startswith(b"HTTP/1.1 403 "))
            self.assertTrue(wait_for_text(server, b"from another user of this machine"))

    def test_ipv6(self):
        try:
            server = HttpServer(address="::1")
        except OSError as error:
            self.skipTest(f"no IPv6 here: {error}")
        self.addCleanup(server.stop)
        with ModernClient(server) as client:
            self.assertEqual(client.say(client.message("server/discover")).status, 200)

    def test_it_opens_nothing_later(self):
        with HttpServer() as server:
            with Client(server) as client:
                client.post("x")
            pid = server.broker()
            with open(f"/proc/{pid}/status", encoding="utf-8") as file:
                status = file.read()
        self.assertIn("Seccomp:\t2", status)
        self.assertIn("NoNewPrivs:\t1", status)
        self.assertRegex(status, r"CapEff:\t0+\n")


if __name__ == "__main__":
    unittest.main()
