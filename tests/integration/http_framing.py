#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests whose end two readers could see in different places. Each is followed on its connection by
a request that is right: that one must never be looked at, whatever the first is answered with."""
import json
import re
import unittest

from http_support import HttpServer, LegacyClient

PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
SERVER = None
# What the server gives a connection without a whole head, and something for a loaded machine.
CLOSE_SECONDS = 5 + 10


def setUpModule():
    global SERVER
    SERVER = HttpServer()


def tearDownModule():
    SERVER.stop()


class Case(unittest.TestCase):
    def setUp(self):
        self.client = LegacyClient(SERVER)
        self.addCleanup(self.client.close)

    def head(self, *more, line="POST /mcp HTTP/1.1", without=()):
        names = [f"{name}: {value}" for name, value in self.client.headers.items()
                 if name not in without]
        return "\r\n".join([line, *names, *more, "", ""]).encode("latin-1")

    def ping(self):
        """A request that is right."""
        return self.head(f"Content-Length: {len(PING)}") + PING.encode()

    def exchange(self, text, pieces=1):
        """The statuses of all answers to these bytes, and whether the server closed after them."""
        got = b""
        with SERVER.connect(CLOSE_SECONDS) as sock:
            try:
                step = max(1, -(-len(text) // pieces))
                for at in range(0, len(text), step):
                    sock.sendall(text[at:at + step])
                while piece := sock.recv(65536):
                    got += piece
            except TimeoutError:
                return self.statuses(got), False
            except ConnectionError:
                pass
        return self.statuses(got), True

    @staticmethod
    def statuses(got):
        return [int(one) for one in re.findall(rb"HTTP/1\.[01] (\d{3}) ", got)]

    def ends(self, text, statuses=(400,), pieces=1):
        """The bytes are refused so, the connection ends, and nothing after them is read."""
        found, is_closed = self.exchange(text + self.ping() + self.ping(), pieces)
        self.assertTrue(is_closed, f"still open after {found}")
        self.assertEqual(len(found), 1, f"answers to what follows: {found}")
        self.assertIn(found[0], statuses)


class Control(Case):
    """The harmless twin of each table below."""

    def test_requests_that_are_right_follow_each_other(self):
        last = self.head(f"Content-Length: {len(PING)}", "Connection: close") + PING.encode()
        self.assertEqual(self.exchange(self.ping() * 3 + last), ([200] * 4, True))
        self.assertEqual(self.exchange(self.ping() * 3 + last, len(self.ping())),
                         ([200] * 4, True))

    def test_chunks(self):
        size = f"{len(PING):x}"
        for chunks in (f"{size}\r\n{PING}\r\n0\r\n\r\n", f"000{size.upper()}\r\n{PING}\r\n00\r\n\r\n",
                       "".join(f"1\r\n{c}\r\n" for c in PING) + "0\r\n\r\n"):
            for pieces in (1, 7, len(chunks)):
                with self.subTest(chunks=chunks[:20], pieces=pieces):
                    first = self.head("Transfer-Encoding: Chunked") + chunks.encode()
                    last = self.head(f"Content-Length: {len(PING)}", "Connection: close") + \
                        PING.encode()
                    self.assertEqual(self.exchange(first + last, pieces), ([200, 200], True))

    def test_lengths(self):
        for text in (f"Content-Length:{len(PING)}", f"content-length:   {len(PING)}  ",
                     f"Content-Length: 000{len(PING)}"):
            with self.subTest(text=text):
                self.assertEqual(self.exchange(self.head(text, "Connection: close") +
                                               PING.encode()), ([200], True))

    def test_other_methods_without_a_body(self):
        last = self.head(f"Content-Length: {len(PING)}", "Connection: close") + PING.encode()
        for more in ((), ("Content-Length: 0",)):
            self.assertEqual(self.exchange(self.head(*more, line="PUT /mcp HTTP/1.1") + last),
                             ([405, 200], True))


class Chunks(Case):
    def test_sizes(self):
        for size in ("0x{:x}", "+{:x}", " {:x}", "{:x} ", "\t{:x}", "-{:x}", "{:x};a=b", "{:x}; a",
                     "{:x},", "{:x}\n", "\0{:x}", "{:x}\0", "{:x}g", "", "0000000{:x}"
                     .replace("0000000", "00000000")):
            text = size.format(len(PING))
            with self.subTest(size=text):
                self.ends(self.head("Transfer-Encoding: chunked") +
                          f"{text}\r\n{PING}\r\n0\r\n\r\n".encode())

    def test_sizes_that_overflow(self):
        for size in ("ffffffff", "100000000", "80000000", "ffffffffffffffff", "1" + "0" * 16,
                     "f" * 40, "0" * 5000 + "1"):
            with self.subTest(size=size):
                self.ends(self.head("Transfer-Encoding: chunked") + f"{size}\r\n".encode(),
                          (400, 413))

    def test_ends_of_lines(self):
        size = f"{len(PING):x}"
        for chunks in (f"{size}\n{PING}\r\n0\r\n\r\n", f"{size}\r{PING}\r\n0\r\n\r\n",
                       f"{size}\r\n{PING}\n0\r\n\r\n", f"{size}\r\n{PING}0\r\n\r\n",
                       f"{size}\r\n{PING}x\r\n0\r\n\r\n", f"{size}\r\n{PING}\r\n0\n\n",
                       f"{size}\r\n{PING}\r\n0\r\nx", f"{size}\r\n{PING}\r\n\r\n0\r\n\r\n"):
            with self.subTest(chunks=chunks):
                self.ends(self.head("Transfer-Encoding: chunked") + chunks.encode())

    def test_trailers(self):
        for trailer in ("Authorization: Bearer x", "X: y", "Content-Length: 3",
                        "Mcp-Session-Id: x", "Transfer-Encoding: chunked"):
            with self.subTest(trailer=trailer):
                self.ends(self.head("Transfer-Encoding: chunked") +
                          f"{len(PING):x}\r\n{PING}\r\n0\r\n{trailer}\r\n\r\n".encode())


class Lengths(Case):
    def test_forms(self):
        n = len(PING)
        for value in (f"+{n}", f"-{n}", f"0x{n:x}", "", f"{n}, {n}", f"{n},", f"{n} {n}", f"{n}.0",
                      f"{n}e0", f"\t{n}", f"{n}\t", f"\0{n}", f"{n}\0", f"{n}\x0b", f"{n};", "\u00b2"):
            with self.subTest(value=value):
                self.ends(self.head(f"Content-Length: {value}") + PING.encode())

    def test_overflows(self):
        for value in ("4294967296", "18446744073709551616", "18446744073709551615",
                      "9223372036854775808", "9" * 400):
            with self.subTest(value=value):
                self.ends(self.head(f"Content-Length: {value}"), (413,))

    def test_two(self):
        n = len(PING)
        for one, two in ((n, n), (n, 0), (0, n), (1, n)):
            with self.subTest(one=one, two=two):
                self.ends(self.head(f"Content-Length: {one}", f"content-length: {two}") +
                          PING.encode())

    def test_none(self):
        for more in ((), ("Connection: close",), ("Connection: keep-alive",)):
            with self.subTest(more=more):
                self.ends(self.head(*more), (411,))

    def test_bodies_of_methods_that_have_none(self):
        inner = self.ping()
        for method in ("GET", "DELETE", "HEAD", "OPTIONS", "TRACE", "PUT", "PATCH"):
            for more in ((f"Content-Length: {len(inner)}",), ("Transfer-Encoding: chunked",)):
                with self.subTest(method=method, more=more):
                    self.ends(self.head(*more, line=f"{method} /mcp HTTP/1.1"))


class Codings(Case):
    def test_forms(self):
        chunks = f"{len(PING):x}\r\n{PING}\r\n0\r\n\r\n".encode()
        for value in ("chunked, chunked", "chunked,", ",chunked", "identity", "chunked, identity",
                      "identity, chunked", "gzip, chunked", "gzip", "", "xchunked", "chunkedx",
                      "\"chunked\"", "chunked;q=1", "chunk ed", "chunked\0", "\x0bchunked", "\tchunked", "chunked\t"):
            with self.subTest(value=value):
                self.ends(self.head(f"Transfer-Encoding: {value}") + chunks)

    def test_beside_a_length(self):
        chunks = f"{len(PING):x}\r\n{PING}\r\n0\r\n\r\n".encode()
        for length in (0, len(PING), len(chunks)):
            for names in (("Transfer-Encoding: chunked", f"Content-Length: {length}"),
                          (f"Content-Length: {length}", "Transfer-Encoding: chunked")):
                with self.subTest(names=names):
                    self.ends(self.head(*names) + chunks)

    def test_twice(self):
        self.ends(self.head("Transfer-Encoding: chunked", "Transfer-Encoding: chunked") +
                  f"{len(PING):x}\r\n{PING}\r\n0\r\n\r\n".encode())

    def test_in_old_http(self):
        self.ends(self.head("Transfer-Encoding: chunked", "Connection: keep-alive",
                            line="POST /mcp HTTP/1.0") +
                  f"{len(PING):x}\r\n{PING}\r\n0\r\n\r\n".encode())

    def test_expectations(self):
        for value in ("miracles", "100-continue, x", "100-continuex", ""):
            with self.subTest(value=value):
                self.ends(self.head(f"Content-Length: {len(PING)}", f"Expect: {value}") +
                          PING.encode(), (417,))

    def test_upgrades_are_ignored(self):
        text = self.head(f"Content-Length: {len(PING)}", "Connection: Upgrade, close",
                         "Upgrade: h2c") + PING.encode()
        found, _ = self.exchange(text + self.ping())
        self.assertEqual(set(found), {200})


class Heads(Case):
    def test_names(self):
        length = f"Content-Length: {len(PING)}"
        for name in ("Content-Length : 5", "Content-Length\t: 5", " Content-Length: 5",
                     "\tfolded", " ", "X Y: 1", "X", ": 1", "X\0: 1", "X\x7f: 1", "X\u00e9: 1",
                     "X(: 1", "X\r: 1", "X: 1\r\n folded", "X: 1\r\n\tContent-Length: 0"):
            for names in ((length, name), (name, length)):
                with self.subTest(names=names):
                    self.ends(self.head(*names) + PING.encode())

    def test_bytes_of_values(self):
        length = f"Content-Length: {len(PING)}"
        for byte in (*range(0, 9), *range(10, 32), 127):
            for text in (f"X: a{chr(byte)}b", f"X:{chr(byte)}", f"X: a{chr(byte)}"):
                with self.subTest(text=text):
                    self.ends(self.head(length, text) + PING.encode())
        self.assertEqual(self.exchange(self.head(length, "X: a\tb \u00e9\u00ff~", "Connection: close")
                                       + PING.encode()), ([200], True), "the control")

    def test_ends_of_lines(self):
        right = self.ping()
        for text in (right.replace(b"\r\n", b"\n"), right.replace(b"\r\n", b"\r"),
                     right.replace(b"\r\n\r\n", b"\r\n\n"), right.replace(b"\r\n\r\n", b"\n\r\n"),
                     right.replace(b"\r\n", b"\n", 1), right.replace(b"\r\n", b"\n\r", 1),
                     right.replace(b"\r\n", b"\r\r\n", 1)):
            for pieces in (1, len(text)):
                with self.subTest(text=text[:60], pieces=pieces):
                    self.ends(text, pieces=pieces)

    def test_first_lines(self):
        for line, status in (("POST  /mcp HTTP/1.1", 400), ("POST /mcp  HTTP/1.1", 400),
                             ("POST\t/mcp HTTP/1.1", 501), ("POST /mcp HTTP/1.1 ", 400),
                             ("POST /mcp", 400), ("POST /m cp HTTP/1.1", 400),
                             ("POST /mcp\0 HTTP/1.1", 400), ("POST /mcp\u00e9 HTTP/1.1", 400),
                             ("POST /mcp http/1.1", 400), ("POST /mcp HTTP/1.1x", 400),
                             ("POST /mcp HTTP/1.10", 400), ("POST /mcp HTTP/01.1", 400),
                             ("POST /mcp HTTP/2.0", 505), ("POST /mcp HTTP/0.9", 505),
                             ("POST /mcp HTTP/1.2", 505), ("post /mcp HTTP/1.1", 501),
                             ("Post /mcp HTTP/1.1", 501), ("POSTX /mcp HTTP/1.1", 501),
                             ("CONNECT localhost:1 HTTP/1.1", 501), (" POST /mcp HTTP/1.1", 501),
                             ("\r\nPOST /mcp HTTP/1.1", 501), ("POST http://[::1 HTTP/1.1", 400),
                             ("POST http://localhost:99999999/mcp HTTP/1.1", 400)):
            with self.subTest(line=line):
                self.ends(self.head(f"Content-Length: {len(PING)}", line=line) + PING.encode(),
                          (status,))

    def test_two_of_a_kind(self):
        length = f"Content-Length: {len(PING)}"
        for extra in ("Authorization: Bearer x", "Host: localhost", "Mcp-Session-Id: x",
                      "Content-Type: application/json", "Expect: 100-continue\r\n"
                      "Expect: 100-continue"):
            with self.subTest(extra=extra):
                self.ends(self.head(length, extra) + PING.encode())

    def test_long_ones(self):
        length = f"Content-Length: {len(PING)}"
        self.ends(self.head(length, "X: " + "x" * 17000) + PING.encode(), (431,))
        self.ends(b"POST /" + b"x" * 20000, (431,))
        self.ends(self.head(length, *(f"X-{i}: {'x' * 900}" for i in range(20))) + PING.encode(),
                  (431,))


class Answers(Case):
    """A request is framed well, but what it says is refused."""

    def test_the_connection_ends_after_any_400(self):
        for body in ("{", "[]", "x" * 100):
            with self.subTest(body=body):
                self.ends(self.head(f"Content-Length: {len(body)}") + body.encode())
        self.ends(self.head(f"Content-Length: {len(PING)}", without=("Mcp-Session-Id",)) +
                  PING.encode())

    def test_the_connection_ends_after_a_wrong_token(self):
        self.ends(self.head(f"Content-Length: {len(PING)}", "Authorization: Bearer x",
                            without=("Authorization",)) + PING.encode(), (401,))

    def test_the_connection_ends_after_too_long_a_body(self):
        self.ends(self.head(f"Content-Length: {(4 << 20) + 1}"), (413,))
        chunk = f"{1 << 20:x}\r\n".encode() + b" " * (1 << 20) + b"\r\n"
        self.ends(self.head("Transfer-Encoding: chunked") + chunk * 5 + b"0\r\n\r\n", (413,))


if __name__ == "__main__":
    unittest.main()
