#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients of an HTTP server that want too much of it: too many, too long, not reading."""
import json
import os
import resource
import socket
import unittest

import support
from http_support import LegacyClient, ServerCase, Stream, request_head, wait_for_text

CONNECTIONS = 500


def enough_descriptors():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4 * CONNECTIONS:
        return False
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4 * CONNECTIONS), hard))
    return True


class Case(ServerCase):
    def memory(self):
        """Of the broker, in bytes."""
        with open(f"/proc/{self.broker}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def serves(self, client=None):
        client = client or self.client()
        answer = client.say(client.message("server/discover"))
        self.assertEqual(answer.status, 200)


@unittest.skipUnless(enough_descriptors(), "too few descriptors for this many clients")
class Many(Case):
    def test_executions_beside_many_connections(self):
        client = self.client()
        for _ in range(CONNECTIONS - 60):
            self.connect()  # silent
        calls = [client.call("run_command", command=f"sleep 2; echo number {i}")
                 for i in range(40)]
        begun = [client.begin("POST", call, client.fitting(call)) for call in calls]
        for i, connection in enumerate(begun):
            stream = Stream(connection)
            self.assertIn(f"number {i}", support.text_of(stream.message()["result"]))
            stream.close()


class Long(Case):
    def setUp(self):
        super().setUp()
        self.serves()
        self.broker = self.server.broker()

    def test_many_long_requests_stay_bounded(self):
        client = self.client()
        before = self.memory()
        for _ in range(60):
            sock = self.connect()
            sock.settimeout(5)
            try:
                sock.sendall(request_head(client, 4000000) + b" " * 3000000)
            except OSError:  # it has been refused
                pass
        self.assertLess(self.memory() - before, 200 << 20)
        self.assertTrue(wait_for_text(self.server, b"beyond the memory limit of arriving requests"))
        for sock in self.socks:
            sock.close()
        self.socks.clear()
        self.assertTrue(support.wait_until(lambda: self.is_served(), 10))

    def is_served(self):
        client = self.client()
        return client.say(client.message("server/discover")).status == 200

    def test_a_client_that_does_not_read_answers(self):
        client = self.client(LegacyClient)
        before = self.memory()
        sock = self.connect()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        call = json.dumps(client.message("tools/list")).encode()
        request = request_head(client, len(call)) + call
        sock.settimeout(2)
        try:
            for _ in range(20000):
                sock.sendall(request)
        except OSError:  # it takes no more, or has closed
            pass
        self.assertLess(self.memory() - before, 30 << 20)
        self.serves()

    def test_what_comes_during_an_answer_is_bounded(self):
        client = self.client()
        sock = self.connect()
        call = json.dumps(client.call("run_command", command="sleep 20; echo mark")).encode()
        head = request_head(client, len(call))
        fitting = "".join(f"{n}: {v}\r\n" for n, v in client.fitting(json.loads(call)).items())
        sock.sendall(head[:-2] + fitting.encode() + b"\r\n" + call)
        self.assertTrue(support.wait_until(lambda: self.server.is_running("mark")))
        sock.settimeout(5)
        with self.assertRaises(OSError):
            for _ in range(1000):
                sock.sendall(b"x" * 10000)
        self.assertTrue(support.wait_until(lambda: not self.server.is_running("mark")))
        self.serves()


if __name__ == "__main__":
    unittest.main()
