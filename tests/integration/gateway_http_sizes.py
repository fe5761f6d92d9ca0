#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""msp-http by itself: the sizes of what a workload gets tell nothing of a value, and the bytes of a
sandbox with a limit are counted while they move."""
import base64
import contextlib
import json
import queue
import random
import string
import threading
import time
import unittest
import urllib.parse

import gateway_http_support as rig
from gateway_http import END, NAME, PASS, PLAIN, TOKEN, Http


class Sizes(Http):
    """The sizes of pieces, of chunks and of records of TLS tell nothing of a value. A host sends what a
    workload has it send, in pieces; after each one, a request on another connection shows that
    msp-http has come to it."""

    FRAMINGS = {"chunked": (b"Transfer-Encoding: chunked\r\n\r\n", b"%x\r\n%b\r\n", b"0\r\n\r\n"),
                "length": (b"Content-Length: %d\r\n\r\n", b"%b", b""),
                "close": (b"\r\n", b"%b", b"")}

    def play(self, name, pieces, framing="chunked"):
        """Have a host answer in pieces. For each of them, the sizes of the records of TLS (or of
        what comes at once), and all text that came."""
        turns, done = queue.Queue(), queue.Queue()
        head, form, end = self.FRAMINGS[framing]
        whole = sum(len(piece) for piece in pieces)

        def answer(sock, *_):
            while (data := turns.get()) is not None:
                sock.sendall(data)
                done.put(True)
            return False
        is_tls = name != PLAIN
        ours, theirs = self.http.open(name, 443 if is_tls else 80, is_watched=True)
        near_client, near_host = (pair[1] for pair in self.http.last)
        far_host = theirs.dup()
        rig.Host(theirs, answer, self.keys[name] if is_tls else None)
        far = rig.Records(ours, self.certificate if is_tls else None, name)
        far.send(f"GET {'/user' if is_tls else '/'} HTTP/1.1\r\nHost: {name}\r\n\r\n".encode())
        sizes = []
        parts = [form % ((len(piece), piece) if framing == "chunked" else piece) for piece in pieces]
        parts = [b"HTTP/1.1 200 OK\r\n" + (head % whole if b"%" in head else head)] + parts
        for part in parts + ([end] if end else []):
            turns.put(part)
            done.get(timeout=rig.PATIENCE)
            rig.await_quiet(far_host, near_host)
            self.ask(self.other, f"GET / HTTP/1.1\nHost: {PLAIN}")
            rig.await_quiet(near_client, None)
            sizes.append(far.take())
        for sock in (near_client, near_host, far_host):
            sock.close()
        turns.put(None)
        sizes.append(far.take_all())
        self.http.hear()
        return sizes, far.text

    def setUp(self):
        super().setUp()
        self.other = self.connect()

    def tearDown(self):
        self.leave(self.other)
        self.hear_end("SIDES")
        super().tearDown()

    @staticmethod
    def old_sizes(value, pieces):
        """The sizes of a redactor that holds back what is like the beginning of a value: the control."""
        sizes, kept = [], ""
        for piece in pieces:
            kept += piece.decode()
            held = max(size for size in range(len(value)) if kept.endswith(value[:size]))
            sizes.append(len(kept) - held)
            kept = kept[len(kept) - held:]
        return sizes

    def test_guesses_byte_by_byte(self):
        for name, value in ((PLAIN, PASS), (NAME, TOKEN)):
            for framing in self.FRAMINGS:
                seen, old = set(), set()
                for known in (1, 4, len(value) - 2):
                    for guess in (value[:known], value[:known - 1] + "\x7e", "z" * known):
                        guess = guess.rjust(len(value), "z").encode()
                        pieces = [b"<" + guess, b"-" * 7, b"-" * 400, b"end"]
                        sizes, text = self.play(name, pieces, framing)
                        self.assertIn(guess, text)
                        seen.add(str(sizes))
                        old.add(str(self.old_sizes(value, pieces)))
                with self.subTest(name=name, framing=framing):
                    self.assertEqual(len(seen), 1, seen)
                    self.assertGreater(len(old), 2, "the control: prefixes differ")

    def test_two_values_of_one_length(self):
        """The same stream, with all and parts of one of them, in each form."""
        draw = random.Random(37)
        values = [TOKEN] + ["".join(draw.choices(string.ascii_letters + "+/=%<", k=len(TOKEN)))
                            for _ in range(2)]
        forms = [value.encode() for value in values[:2]]
        forms += [base64.b64encode(b"a" * shift + forms[1]) for shift in range(3)]
        forms += [forms[1].hex().encode(), urllib.parse.quote(values[1]).encode(),
                  json.dumps(values[1]).encode()]
        stream = b"".join(form[:draw.randrange(len(form) + 1)] + form + b"\n" * draw.randrange(2)
                          for form in forms for _ in range(3))
        pieces = []
        while stream:
            size = draw.choice((1, 7, 60, 300))
            pieces.append(stream[:size])
            stream = stream[size:]
        for framing in self.FRAMINGS:
            seen, texts = set(), set()
            for value in values:
                for again in (b"", value.encode()):  # not beside the one before
                    self.http.give(0, again)
                    self.http.give(0, again)
                sizes, text = self.play(NAME, pieces, framing)
                seen.add(str(sizes))
                texts.add(text)
                self.assertNotIn(value.encode(), text)
            with self.subTest(framing=framing):
                self.assertEqual(len(seen), 1, seen)
                self.assertGreater(len(texts), 1, "the control: values are covered")

    def test_a_length_is_the_same_for_head(self):
        def echo(sock, line, *_):
            text = f"<{PASS}>".encode()
            coding = b"Content-Encoding: gzip\r\n" if "/coded" in line else b""
            sock.sendall(b"HTTP/1.1 200 OK\r\n%bContent-Length: %d\r\n\r\n" % (coding, len(text)) +
                         (b"" if line.startswith("HEAD") else text))
        sock, stream, _ = peer = self.connect(PLAIN, echo)
        lengths = []
        for method, path in (("HEAD", "/"), ("HEAD", "/coded"), ("GET", "/")):
            sock.sendall(f"{method} {path} HTTP/1.1\r\nHost: {PLAIN}\r\n\r\n".encode())
            fields = rig.read_head(stream)[1]
            lengths.append(fields.get("content-length"))
        size = str(len(PASS) + 2)
        self.assertEqual(lengths, [size, None, size])
        self.assertEqual(stream.read(int(size)), b"<msp-secret->")
        self.leave(peer)
        self.hear_end("SIDES")


class Counted(Http):
    """Bytes of a sandbox that has a limit."""

    def move(self, is_counted):
        """Upload 8 MB; the bytes that the host has when msp-http has nothing more to do."""
        taken = []

        def drain(sock):
            with contextlib.suppress(OSError):
                while data := sock.recv(65536):
                    taken.append(len(data))
        ours, theirs = self.http.open(PLAIN, 80, is_counted=is_counted)
        reader = threading.Thread(target=drain, args=(theirs,), daemon=True)
        writer = threading.Thread(target=self.write, args=(ours,), daemon=True)
        reader.start()
        writer.start()
        return ours, theirs, taken, reader, writer

    @staticmethod
    def write(sock):
        with contextlib.suppress(OSError):
            sock.sendall(f"POST / HTTP/1.1\r\nHost: {PLAIN}\r\n"
                         "Content-Length: 8000000\r\n\r\n".encode() + b"x" * 8000000)

    def test_a_connection_waits_for_more(self):
        ours, theirs, taken, reader, writer = self.move(1)
        seen = []
        for _ in range(3):
            name, values = self.http.hear()
            self.assertEqual(name, "http_moved")
            seen.append(values["sent"])
            with self.assertRaisesRegex(AssertionError, "says nothing"):
                self.http.hear(0.1)
            self.assertLess(values["sent"], (seen[-2] if len(seen) > 1 else 0) + 600000)
            self.http.more(self.http.number)
        self.http.hear()
        self.http.end(self.http.number, END["CONNECTION_END_SPENT"])
        self.assertEqual(self.hear_end("SPENT")["sent"], sum(taken))
        for thread in (writer, reader):
            thread.join(rig.PATIENCE)
        self.assertLess(sum(taken), 2500000)
        ours.close()
        theirs.close()

    def test_without_a_limit_it_does_not(self):
        """The control."""
        ours, theirs, taken, reader, writer = self.move(0)
        writer.join(rig.PATIENCE)
        deadline = time.monotonic() + rig.PATIENCE
        while sum(taken) < 8000000 and time.monotonic() < deadline:
            time.sleep(0.01)
        self.http.end(self.http.number, END["CONNECTION_END_SANDBOX"])
        self.hear_end("SANDBOX")
        reader.join(rig.PATIENCE)
        ours.close()
        self.assertGreater(sum(taken), 7900000)
        theirs.close()

    def test_an_idle_connection(self):
        ours, theirs = self.http.open(PLAIN, 80, idle_s=1)
        with ours, theirs:
            self.hear_end("IDLE")


if __name__ == "__main__":
    unittest.main()
