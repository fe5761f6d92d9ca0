#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Crowds of connections: those that say nothing, those of one client, and an honest client among
them, which must get in and stay."""
import json
import resource
import threading
import time
import unittest

import support
from http_support import (HttpServer, LegacyClient, ModernClient, Stream, request_head,
                          wait_for_text)

SILENT = 600
# Of 400 for known clients: three quarters.
SHARE = 300
# What the server gives a connection without a whole head and its token, and something for a loaded
# machine.
UNKNOWN_SECONDS = 5 + 5
ANSWER_SECONDS = 4  # less than a connection may wait without a word


def enough_descriptors():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4 * SILENT:
        return False
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4 * SILENT), hard))
    return True


def is_open(sock):
    """Has the server neither closed it nor said anything?"""
    sock.setblocking(False)
    try:
        sock.recv(1, 2)  # MSG_PEEK
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


@unittest.skipUnless(enough_descriptors(), "too few descriptors for this many clients")
class Crowd(unittest.TestCase):
    unix = False

    def setUp(self):
        self.server = HttpServer(unix=self.unix, tokens=("alice", "bob"))
        self.addCleanup(self.server.stop)
        self.socks = []
        self.addCleanup(lambda: [sock.close() for sock in self.socks])

    def client(self, kind=ModernClient, name="alice"):
        client = kind(self.server, name)
        self.addCleanup(client.close)
        return client

    def connect(self, count):
        socks = [self.server.connect() for _ in range(count)]
        self.socks += socks
        return socks

    def expect_quick_answer(self, name="alice"):
        client = self.client(name=name)
        begun = time.monotonic()
        answer = None
        while not answer:
            try:
                answer = client.say(client.message("server/discover"))
            # The kernel's queue of a socket file is full; or, on a busy machine, a hundred others
            # came between this connection and its first byte. A client tries again.
            except (BlockingIOError, ConnectionError):
                self.assertLess(time.monotonic() - begun, ANSWER_SECONDS)
                client.close()
        self.assertEqual(answer.status, 200)
        self.assertLess(time.monotonic() - begun, ANSWER_SECONDS)

    def ping(self, client):
        text = json.dumps(client.message("ping")).encode()
        return request_head(client, len(text)) + text


class Silent(Crowd):
    def test_an_honest_client_gets_in(self):
        self.expect_quick_answer()
        self.connect(SILENT)
        self.expect_quick_answer()
        self.expect_quick_answer("bob")
        self.assertTrue(wait_for_text(self.server, b"beyond the limit of connections"))

    def test_so_it_does_while_they_keep_coming(self):
        self.client().say(self.client().message("server/discover"))
        ends = threading.Event()

        def flood():
            mine = []
            while not ends.is_set():
                try:
                    mine.append(self.server.connect())
                except OSError:  # the listener's queue is full
                    time.sleep(0.001)
                    continue
                if len(mine) > SILENT:
                    mine.pop(0).close()
            for sock in mine:
                sock.close()

        thread = threading.Thread(target=flood)
        thread.start()
        try:
            for _ in range(20):
                self.expect_quick_answer()
        finally:
            ends.set()
            thread.join()

    def test_a_slow_client_that_is_known_stays(self):
        client = self.client(LegacyClient)
        stream = client.stream("GET")
        stream.event()
        slow, idle = self.connect(2)
        text = self.ping(client)
        idle.sendall(text)
        self.assertTrue(idle.recv(1000).startswith(b"HTTP/1.1 200 "))
        slow.sendall(text[:-20])
        for _ in range(8):
            self.connect(SILENT // 8)
            time.sleep(1)
        slow.sendall(text[-20:])
        self.assertTrue(slow.recv(1000).startswith(b"HTTP/1.1 200 "), "a slow body")
        idle.sendall(text)
        self.assertTrue(idle.recv(1000).startswith(b"HTTP/1.1 200 "), "a kept connection")
        self.assertEqual(client.request("GET").status, 409, "the stream is open")
        stream.close()

    def test_they_have_little_time(self):
        client = self.client(LegacyClient)
        text = self.ping(client).replace(b"Bearer msp_", b"Bearer wrong")
        cases = self.connect(4)
        for sock, said in zip(cases, (b"", b"POST /mcp HT", text[:len(text) - 70], text[:-5])):
            sock.sendall(said)
        begun = time.monotonic()
        self.assertTrue(support.wait_until(lambda: not any(map(is_open, cases)),
                                           UNKNOWN_SECONDS))
        self.assertGreater(time.monotonic() - begun, 4)

    def test_the_newest_of_them_are_there(self):
        socks = self.connect(SILENT)
        self.expect_quick_answer()
        self.assertTrue(support.wait_until(lambda: not is_open(socks[0])))
        self.assertGreater(sum(map(is_open, socks[-100:])), 50, "the control")
        self.assertLessEqual(sum(map(is_open, socks)), 100)

    def test_long_bodies_are_not_read_for_them(self):
        client = self.client(LegacyClient)
        text = request_head(client, 3 << 20).replace(b"Bearer msp_", b"Bearer wrong")
        sock, = self.connect(1)
        sock.sendall(text)
        answer = sock.recv(1000)
        self.assertTrue(answer.startswith(b"HTTP/1.1 401 "), answer)
        self.assertIn(b"WWW-Authenticate: Bearer", answer)


class SilentOnSocketFile(Silent):
    unix = True


class OneName(Crowd):
    """Connections of one name, all of which prove it."""

    def fill(self, count, client):
        """Connections that have asked something and wait, idle, for more."""
        text = self.ping(client)
        socks = []
        for _ in range(count):
            sock, = self.connect(1)
            socks.append(sock)
            sock.sendall(text)
            self.assertTrue(sock.recv(1000).startswith(b"HTTP/1.1 200 "))
        return socks

    def test_idle_ones_make_room_for_its_own(self):
        client = self.client(LegacyClient)
        socks = self.fill(SHARE + 20, client)
        self.assertLessEqual(sum(map(is_open, socks)), SHARE)
        self.assertFalse(is_open(socks[0]), "the oldest")
        self.assertTrue(is_open(socks[-1]), "the control")
        self.expect_quick_answer()

    def test_another_name_has_room(self):
        alice, bob = self.client(), self.client(name="bob")
        kept = self.fill(3, self.client(LegacyClient, "bob"))
        listen = alice.message("subscriptions/listen", {"notifications": {}})
        streams = [alice.begin("POST", listen, alice.fitting(listen)) for _ in range(SHARE + 30)]
        opened = [Stream(one) for one in streams]
        self.addCleanup(lambda: [stream.close() for stream in opened])
        statuses = [stream.status for stream in opened]
        self.assertEqual(set(statuses), {200, 503})
        self.assertLessEqual(statuses.count(200), SHARE)
        self.assertGreater(statuses.count(200), SHARE - 10)
        refused = opened[statuses.index(503)]
        self.assertIn(b"share of the 400 connections", refused.response.read())
        for _ in range(20):
            self.expect_quick_answer("bob")
        begun = [bob.begin("POST", listen, bob.fitting(listen)) for _ in range(20)]
        mine = [Stream(one) for one in begun]
        self.assertEqual({stream.status for stream in mine}, {200})
        for stream in mine:
            stream.close()
        self.assertTrue(all(map(is_open, kept)), "nobody else's are closed for it")


if __name__ == "__main__":
    unittest.main()
