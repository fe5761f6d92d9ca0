#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients of an HTTP server that take their time: requests that arrive slowly end, streams live."""
import time
import unittest

import support
from http_support import LegacyClient, ServerCase, request_head, wait_for_text

# What the broker promises, and something for a loaded machine.
REQUEST_SECONDS = 30 + 15
# The same for a connection without any request.
IDLE_SECONDS = 60 + 15


def is_closed(sock):
    """Has the server closed it? What it said is thrown away."""
    try:
        while sock.recv(65536):
            pass
    except (BlockingIOError, TimeoutError):
        return False
    except ConnectionError:
        return True
    return True


class Slow(ServerCase):
    def test_slow_requests_end_and_streams_live_on(self):
        reader = self.client(LegacyClient)
        stream = reader.stream("GET")
        stream.event()
        call = self.client()
        listening = call.open(call.message("subscriptions/listen", {"notifications": {}}))
        self.assertIsNotNone(listening.message())
        started = time.monotonic()
        slow = {
            "nothing at all": (self.connect(), b""),
            "half a first line": (self.connect(), b"POST /m"),
            "half a header": (self.connect(), b"POST /mcp HTTP/1.1\r\nHost: loc"),
            "half a body": (self.connect(), request_head(call, 100) + b"{"),
            "no end of a chunk": (self.connect(), b"POST /mcp HTTP/1.1\r\nTransfer-Encoding: "
                                  b"chunked\r\n\r\n5\r\nab"),
        }
        for sock, text in slow.values():
            sock.sendall(text)
        drip = self.connect()
        drip.sendall(request_head(call, 4000))
        for sock in self.socks:
            sock.setblocking(False)
        waiting = {name: sock for name, (sock, _) in slow.items()}
        waiting["a byte at a time"] = drip
        while waiting and time.monotonic() - started < IDLE_SECONDS:
            try:
                drip.send(b" ")
            except OSError:
                pass
            for name, sock in list(waiting.items()):
                if is_closed(sock):
                    waiting.pop(name)
                    if name != "nothing at all":
                        self.assertLess(time.monotonic() - started, REQUEST_SECONDS, name)
            time.sleep(0.2)
        self.assertFalse(waiting, "these are still open")
        self.assertTrue(wait_for_text(self.server, b"took too long to arrive"))
        for one in (stream, listening):
            self.assertIn("comment", one.raw_event(), "a stream is kept alive")
            one.close()
        answer = call.say(call.message("server/discover"))
        self.assertEqual(answer.status, 200)

    def test_a_stream_is_kept_alive_in_a_call(self):
        client = self.client()
        stream = client.open(client.call("run_command", command="sleep 17; echo late",
                                         yield_ms=20000))
        event = stream.raw_event()
        self.assertEqual(event["comment"], "keep-alive")
        self.assertIn("late", support.text_of(stream.message()["result"]))
        stream.close()


if __name__ == "__main__":
    unittest.main()
