#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""msp-http by itself, between workloads and hosts that are this test: requests and answers as they
are and as they should not be, secrets, certificates, and the ends of its peers."""
import base64
import os
import signal
import socket
import ssl
import tempfile
import threading
import time
import unittest
import warnings

import gateway_http_support as rig
import ipc

NAME, OPEN, PLAIN = "api.example.com", "a.open.example.com", "plain.example.com"
TOKEN, PASS = "tok/en+value?0123456789", "a pass word"
GET, POST, ALL = 1, 4, 0
REQUEST, SECRET, HOST, TLS = 4, 5, 0, 3  # enum connection_refused


def numbers(name):
    text = ipc.read_common("ipc/ipc_gateway.h")
    rows = text[text.index(f"enum {name} {{"):]
    rows = rows[:rows.index("};")].splitlines()[1:]
    return {row.split("=")[0].split(",")[0].strip(): at for at, row in enumerate(
        row for row in rows if row.strip().startswith("CONNECTION_"))}


END = numbers("connection_end")
REFUSED = numbers("connection_refused")


class Http(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        place = cls.folder.name
        cls.authority, cls.certificate = rig.make_authority()
        cls.keys = {name: rig.make_certificate(place, name) for name in (NAME, OPEN)}
        cls.roots = b""
        for name in cls.keys:
            with open(cls.keys[name][0], "rb") as file:
                cls.roots += file.read()
        cls.plan, cls.index = rig.make_plan(
            place, [(NAME, 443, rig.HTTPS), ("*.open.example.com", 443, rig.HTTPS),
                    (PLAIN, 80, rig.HTTP)],
            [(0, GET | POST, "/repos/"), (0, GET, "/user")],
            [("TOKEN", "Authorization", [0]), ("PASS", "Authorization", [2])])

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        self.http = rig.Http(self.plan, self.index, self.authority, self.roots,
                             [TOKEN.encode(), PASS.encode()])

    def tearDown(self):
        self.assertEqual(self.http.close(), "")

    def connect(self, name=PLAIN, answer=rig.respond, certificate=None, **options):
        """A workload's socket and stream, and the host."""
        is_tls = name != PLAIN
        ours, theirs = self.http.open(name, 443 if is_tls else 80, **options)
        host = rig.Host(theirs, answer, (certificate or self.keys[name]) if is_tls else None)
        context = rig.workload(ours, self.certificate if is_tls else None, name)
        sock, stream = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return sock, stream, host

    def ask(self, peer, text, body=b""):
        """Send a request; the answer's first line, fields and body."""
        sock, stream, _ = peer
        sock.sendall(text.replace("\n", "\r\n").encode("latin-1") + b"\r\n\r\n" + body)
        line, fields = rig.read_head(stream)
        while line.startswith("HTTP/1.1 1"):
            line, fields = rig.read_head(stream)
        return line, fields, rig.read_body(stream, fields)

    @staticmethod
    def leave(peer):
        """Close the workload's end: else msp-http waits for that a while."""
        peer[1].close()
        peer[0].close()

    def hear_end(self, reason):
        name, values = self.http.hear()
        self.assertEqual((name, values["reason"]), ("http_done", END[f"CONNECTION_END_{reason}"]))
        return values

    def hear_refusal(self, reason):
        name, values = self.http.hear()
        self.assertEqual((name, values["reason"]),
                         ("http_refused", REFUSED[f"CONNECTION_REFUSED_{reason}"]))


class Requests(Http):
    def test_many_on_one_connection(self):
        peer = self.connect()
        for size in (0, 1, 70000, 300000):
            body = os.urandom(size)
            line, _, got = self.ask(
                peer, f"POST /{size} HTTP/1.1\nHost: {PLAIN}\nContent-Length: {size}", body)
            self.assertEqual((line, got), ("HTTP/1.1 200 OK", body))
        chunks = b"5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nTrailer: a\r\n\r\n"
        self.assertEqual(self.ask(
            peer, f"POST /c HTTP/1.1\nHost: {PLAIN}\nTransfer-Encoding: chunked", chunks)[2],
            b"hello world")
        self.assertEqual(peer[2].asked[-1][2], b"hello world")
        self.leave(peer)
        self.assertGreater(self.hear_end("SIDES")["sent"], 370000)

    def test_tls_of_both_sides(self):
        peer = self.connect(NAME)
        self.assertEqual(peer[0].version(), "TLSv1.3")
        self.assertEqual(peer[0].selected_alpn_protocol(), "http/1.1")
        for _ in range(3):
            self.assertEqual(self.ask(peer, f"GET /user HTTP/1.1\nHost: {NAME}")[0],
                             "HTTP/1.1 200 OK")
        other = self.connect(OPEN)
        self.assertEqual(self.ask(other, f"PURGE //x HTTP/1.1\nHost: {OPEN}")[0],
                         "HTTP/1.1 200 OK")

    def test_pipelined(self):
        sock, stream, host = self.connect()
        one = f"GET /%d HTTP/1.1\r\nHost: {PLAIN}\r\n\r\n"
        sock.sendall("".join(one % number for number in range(50)).encode())
        for _ in range(50):
            line, fields = rig.read_head(stream)
            self.assertEqual((line, rig.read_body(stream, fields)), ("HTTP/1.1 200 OK", b""))
        self.assertEqual([asked[0] for asked in host.asked],
                         [f"GET /{number} HTTP/1.1" for number in range(50)])

    def test_a_second_request_to_another_host_is_refused(self):
        peer = self.connect(NAME)
        self.ask(peer, f"GET /user HTTP/1.1\nHost: {NAME}")
        line, fields, body = self.ask(peer, f"GET /user HTTP/1.1\nHost: {OPEN}")
        self.assertEqual(line.split()[1], "421")
        self.assertEqual(fields["connection"], "close")
        self.assertIn(b"rule: hosts: ", body)
        self.assertEqual(peer[1].read(), b"")
        self.hear_refusal("HOST")
        self.leave(peer)
        self.hear_end("REQUEST")
        self.assertEqual(len(peer[2].asked), 1)

    def test_what_no_rule_allows(self):
        for target, words in (("PUT /repos/x", b"api.example.com allows GET, POST below /repos/"),
                              ("GET /", b"no rule this path"), ("GET /userx", b"no rule"),
                              ("GET /repos/../user", b".."), ("GET /repos/%2e%2e/x", b"%")):
            with self.subTest(target=target):
                peer = self.connect(NAME)
                line, _, body = self.ask(peer, f"{target} HTTP/1.1\nHost: {NAME}")
                self.assertEqual(line, "HTTP/1.1 403 Refused by msp")
                self.assertIn(words, body)
                self.assertRegex(body, rb"\(.*msp\.yaml:8\)\n$")
                self.hear_refusal("REQUEST")
                self.leave(peer)
                self.hear_end("REQUEST")
                self.assertEqual(peer[2].asked, [])

    def test_a_form_that_gives_another_method(self):
        """Its end does not reach the host. The control: another field's name."""
        kind = "application/x-www-form-urlencoded"
        for form, status in ((b"a=b&_method=DELETE", 403), (b"a=b&methods=DELETE", 200)):
            with self.subTest(form=form):
                peer = self.connect(NAME)
                line, _, body = self.ask(peer, f"POST /repos/ HTTP/1.1\nHost: {NAME}\nContent-Type: "
                                         f"{kind}\nContent-Length: {len(form)}", form)
                self.assertEqual(line.split()[1], str(status))
                self.assertEqual(b"_method" in body, status == 403)
                self.leave(peer)
                if status == 403:
                    self.hear_refusal("REQUEST")
                self.hear_end("REQUEST" if status == 403 else "SIDES")
                self.assertEqual(len(peer[2].asked), status == 200)

    def test_what_two_servers_could_read_differently(self):
        for status, text in (
                (400, f"GET / HTTP/1.1\nHost: {PLAIN}\nHost: {PLAIN}"),
                (400, f"POST / HTTP/1.1\nHost: {PLAIN}\nContent-Length: 1\nContent-Length: 1"),
                (400, f"POST / HTTP/1.1\nHost: {PLAIN}\nContent-Length: 1\n"
                      "Transfer-Encoding: chunked"),
                (501, f"POST / HTTP/1.1\nHost: {PLAIN}\nTransfer-Encoding: gzip, chunked"),
                (400, f"GET / HTTP/1.1\nHost : {PLAIN}"),
                (400, f"GET / HTTP/1.1\nHost: {PLAIN}\n folded: x"),
                (400, f"GET / HTTP/1.1\rHost: {PLAIN}"),
                (400, f"GET / HTTP/1.1\nHost: {PLAIN}\nX: \0"),
                (400, f"GET http://{OPEN}/ HTTP/1.1\nHost: {PLAIN}"),
                (405, f"CONNECT {OPEN}:443 HTTP/1.1\nHost: {PLAIN}"),
                (403, f"GET / HTTP/1.1\nHost: {PLAIN}\nConnection: Upgrade\nUpgrade: websocket"),
                (505, f"GET / HTTP/1.0\nHost: {PLAIN}"),
                (400, "\x16\x03\x01\x02\x00\x01\x00\nX"),
                (431, f"GET / HTTP/1.1\nHost: {PLAIN}\nX: " + "a" * 65536)):
            with self.subTest(text=text[:90]):
                peer = self.connect()
                line, _, body = self.ask(peer, text)
                self.assertEqual(line.split()[1], str(status))
                self.assertIn(b"\nrule: ", body)
                self.hear_refusal("REQUEST")
                self.leave(peer)
                self.hear_end("REQUEST")
                self.assertEqual(peer[2].asked, [])

    def test_a_bare_line_feed_is_no_line(self):
        sock, stream, host = self.connect()
        sock.sendall(b"GET / HTTP/1.1\nHost: plain.example.com\n\n")
        self.assertEqual(rig.read_head(stream)[0].split()[1], "400")
        self.assertEqual(host.asked, [])

    def test_a_broken_chunk_cuts_the_request(self):
        sock, stream, host = self.connect()
        sock.sendall(f"POST / HTTP/1.1\r\nHost: {PLAIN}\r\nTransfer-Encoding: chunked\r\n\r\n"
                     "5\r\nhello\r\n-1\r\n".encode())
        self.assertEqual(rig.read_head(stream)[0].split()[1], "400")
        self.leave((sock, stream))
        host.thread.join(rig.PATIENCE)
        self.assertEqual(host.asked, [])  # no end of it
        self.assertIsNotNone(host.trouble)

    def test_a_head_that_comes_byte_by_byte(self):
        sock, stream, host = self.connect()
        for byte in f"GET /slow HTTP/1.1\r\nHost: {PLAIN}\r\n\r\n".encode():
            sock.send(bytes([byte]))
        self.assertEqual(rig.read_head(stream)[0], "HTTP/1.1 200 OK")
        self.assertEqual(host.asked[0][0], "GET /slow HTTP/1.1")

    def test_continue_is_passed_on(self):
        def answer(sock, *rest):
            sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            rig.respond(sock, *rest)
        sock, stream, _ = self.connect(answer=answer)
        sock.sendall(f"POST / HTTP/1.1\r\nHost: {PLAIN}\r\nExpect: 100-continue\r\n"
                     "Content-Length: 2\r\n\r\nhi".encode())
        self.assertEqual(rig.read_head(stream)[0], "HTTP/1.1 100 Continue")
        self.assertEqual(rig.read_head(stream)[0], "HTTP/1.1 200 OK")

    def test_a_half_closed_workload_gets_its_answer(self):
        sock, stream, _ = self.connect()
        sock.sendall(f"GET / HTTP/1.1\r\nHost: {PLAIN}\r\n\r\n".encode())
        sock.shutdown(socket.SHUT_WR)
        self.assertEqual(rig.read_head(stream)[0], "HTTP/1.1 200 OK")
        self.assertEqual(stream.read(), b"")
        self.hear_end("SIDES")


class Answers(Http):
    def answer_with(self, data, name=PLAIN):
        def answer(sock, *_):
            for piece in data if isinstance(data, list) else [data]:
                sock.sendall(piece)
                time.sleep(0.002)
            return False
        return self.connect(name, answer)

    def test_until_close(self):
        peer = self.answer_with([b"HTTP/1.1 200 OK\r\n\r\nab", b"cd"])
        _, fields, body = self.ask(peer, f"GET / HTTP/1.1\nHost: {PLAIN}")
        self.assertEqual((body, fields["connection"]), (b"abcd", "close"))

    def test_without_a_body(self):
        peer = self.answer_with(b"HTTP/1.1 304 No\r\nContent-Length: 5\r\n\r\n")
        sock, stream, _ = peer
        sock.sendall(f"HEAD / HTTP/1.1\r\nHost: {PLAIN}\r\n\r\n".encode())
        self.assertEqual(rig.read_head(stream)[1]["content-length"], "5")

    def test_what_is_no_answer(self):
        for data in (b"SSH-2.0-x\r\n\r\n", b"HTTP/1.1 200 OK\nX: y\n\n",
                     b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
                     b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
                     b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
                     b"HTTP/1.1 200 OK\r\nX: " + b"a" * 65536):
            with self.subTest(data=data[:60]):
                peer = self.answer_with(data)
                line, _, body = self.ask(peer, f"GET / HTTP/1.1\nHost: {PLAIN}")
                self.assertEqual(line, "HTTP/1.1 502 Failed at msp")
                self.assertIn(b"rule: ", body)
                self.leave(peer)
                self.hear_end("ANSWER")

    def test_an_answer_that_is_cut_is_not_whole(self):
        """All its bytes come, and no end."""
        for data, end, reason in (
                (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", b"\r\n\r\nab", "PARTIAL"),
                (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
                 b"\r\n\r\n2\r\nab\r\n", "PARTIAL"),
                (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabX",
                 b"\r\n\r\n2\r\nab\r\n", "ANSWER")):
            with self.subTest(data=data[-20:]):
                sock, stream, _ = peer = self.answer_with(data)
                sock.sendall(f"GET / HTTP/1.1\r\nHost: {PLAIN}\r\n\r\n".encode())
                self.assertTrue(stream.read().endswith(end))
                self.leave(peer)
                self.hear_end(reason)

    def test_a_host_that_ends_without_the_alert_of_tls(self):
        """A body with a length is whole; one without is not, and all its bytes come."""
        for data, is_whole in ((b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n", True),
                               (b"HTTP/1.1 200 OK\r\n\r\n", False)):
            with self.subTest(is_whole=is_whole):
                def answer(sock, *_, data=data):
                    sock.sendall(data + b"x" * 300000)
                    host.detached = sock.detach()  # the end of the socket alone is seen
                    return False
                ours, theirs = self.http.open(NAME, 443)
                host = rig.Host(theirs, answer, self.keys[NAME])
                with rig.workload(ours, self.certificate, NAME) as (sock, stream):
                    sock.sendall(f"GET /user HTTP/1.1\r\nHost: {NAME}\r\n\r\n".encode())
                    host.thread.join(rig.PATIENCE)
                    os.close(host.detached)
                    _, fields = rig.read_head(stream)
                    if is_whole:
                        self.assertEqual(rig.read_body(stream, fields), b"x" * 300000)
                    else:
                        with self.assertRaises((ssl.SSLError, ValueError)):
                            rig.read_body(stream, fields)
                self.hear_end("SIDES" if is_whole else "PARTIAL")

    def test_an_answer_that_nobody_asked_for(self):
        twice = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" * 2
        peer = self.answer_with(twice)
        self.assertEqual(self.ask(peer, f"GET / HTTP/1.1\nHost: {PLAIN}")[0], "HTTP/1.1 200 OK")
        self.assertEqual(peer[1].read(), b"")


class Secrets(Http):
    def test_it_comes_to_its_host_alone(self):
        peer = self.connect(NAME)
        line, _, _ = self.ask(peer, f"GET /user HTTP/1.1\nHost: {NAME}\n"
                              "Authorization: Bearer msp-secret-TOKEN")
        self.assertEqual(line, "HTTP/1.1 200 OK")
        self.assertEqual(peer[2].asked[0][1]["authorization"], f"Bearer {TOKEN}")
        basic = base64.b64encode(b"me:msp-secret-PASS").decode()
        other = self.connect()
        self.ask(other, f"GET / HTTP/1.1\nHost: {PLAIN}\nAuthorization: Basic {basic}")
        self.assertEqual(base64.b64decode(other[2].asked[0][1]["authorization"][6:]),
                         f"me:{PASS}".encode())

    def test_elsewhere_it_is_refused(self):
        for name, text in ((NAME, "GET /user?a=msp-secret-TOKEN HTTP/1.1\nHost: %s"),
                           (NAME, "GET /user HTTP/1.1\nHost: %s\nX-Y: msp-secret-TOKEN"),
                           (NAME, "GET /user HTTP/1.1\nHost: %s\nAuthorization: msp-secret-PASS"),
                           (OPEN, "GET / HTTP/1.1\nHost: %s\nAuthorization: msp-secret-TOKEN")):
            with self.subTest(text=text):
                peer = self.connect(name)
                line, _, body = self.ask(peer, text % name)
                self.assertEqual(line, "HTTP/1.1 403 Refused by msp")
                self.assertIn(b"rule: secrets: ", body)
                self.hear_refusal("SECRET")
                self.leave(peer)
                self.hear_end("REQUEST")
                self.assertEqual(peer[2].asked, [])

    def test_a_body_is_not_looked_at(self):
        peer = self.connect(NAME)
        self.ask(peer, f"POST /repos/ HTTP/1.1\nHost: {NAME}\nContent-Length: 16",
                 b"msp-secret-TOKEN")
        self.assertEqual(peer[2].asked[0][2], b"msp-secret-TOKEN")

    def test_an_echo_does_not_tell_it(self):
        """In head and body, plain and in base64, and in pieces of any size."""
        coded = [base64.b64encode(before + TOKEN.encode() + b"!").decode()
                 for before in (b"", b"a", b"ab")]
        text = f"<{TOKEN}> <{TOKEN}{TOKEN}> " + " ".join(coded) + f" {PASS} end"

        def answer(sock, *_):
            sock.sendall(f"HTTP/1.1 200 {TOKEN}\r\nX-Echo: {TOKEN}; {coded[1]}\r\n"
                         f"Content-Length: {len(text)}\r\n\r\n".encode())
            for byte in text.encode():
                sock.sendall(bytes([byte]))
        peer = self.connect(NAME, answer)
        sock, stream, host = peer
        sock.sendall(f"GET /user HTTP/1.1\r\nHost: {NAME}\r\nAccept-Encoding: gzip\r\n"
                     "Range: bytes=0-5\r\n\r\n".encode())
        line, fields = rig.read_head(stream)
        self.assertEqual(line, "HTTP/1.1 200 msp-secret-TOKEN*******")
        self.assertTrue(fields["x-echo"].startswith("msp-secret-TOKEN*******; "))
        body = rig.read_body(stream, fields).decode()
        self.assertEqual(body.count("msp-secret-TOKEN"), 6)
        self.assertTrue(body.endswith(" msp-secret- end"))
        self.assertEqual(len(body), len(text))
        for part in (TOKEN[:12], *(code[4:20] for code in coded)):
            self.assertNotIn(part, line + str(fields) + body)
        self.assertEqual(host.asked[0][1]["accept-encoding"], "identity")
        self.assertNotIn("range", host.asked[0][1])

    def test_an_answer_that_cannot_be_looked_through_is_not_passed_on(self):
        def answer(sock, *_):
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx")
        peer = self.connect(NAME, answer)
        self.assertEqual(self.ask(peer, f"GET /user HTTP/1.1\nHost: {NAME}")[0],
                         "HTTP/1.1 502 Failed at msp")

    def test_a_stream_does_not_wait(self):
        """Events are passed on as they come."""
        goes_on = threading.Event()

        def answer(sock, *_):
            sock.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\ndata: 1\n\r\n")
            goes_on.wait(rig.PATIENCE)
            sock.sendall(b"0\r\n\r\n")
        sock, stream, _ = self.connect(NAME, answer)
        sock.sendall(f"GET /user HTTP/1.1\r\nHost: {NAME}\r\n\r\n".encode())
        rig.read_head(stream)
        self.assertEqual(stream.readline(), b"8\r\n")
        self.assertEqual(stream.readline(), b"data: 1\n")
        goes_on.set()

    def test_a_new_value_takes_the_place_of_the_old_one(self):
        self.http.give(0, b"another value")
        peer = self.connect(NAME)
        deadline = time.monotonic() + rig.PATIENCE
        said = None
        while said != "another value" and time.monotonic() < deadline:
            self.ask(peer, f"GET /user HTTP/1.1\nHost: {NAME}\nAuthorization: msp-secret-TOKEN")
            said = peer[2].asked[-1][1]["authorization"]
        self.assertEqual(said, "another value")
        self.http.give(0, b"")
        while True:
            line, _, body = self.ask(
                peer, f"GET /user HTTP/1.1\nHost: {NAME}\nAuthorization: msp-secret-TOKEN")
            if line != "HTTP/1.1 200 OK":
                break
        self.assertEqual(line, "HTTP/1.1 503 Failed at msp")
        self.assertIn(b"msp secret check", body)


class Certificates(Http):
    def test_a_host_with_a_wrong_certificate(self):
        with tempfile.TemporaryDirectory() as place:
            strange = rig.make_certificate(place, NAME)
            for certificate, words in ((strange, b"self-signed certificate"),
                                       (self.keys[OPEN], b"hostname mismatch")):
                with self.subTest(words=words):
                    peer = self.connect(NAME, certificate=certificate)
                    line, _, body = self.ask(peer, f"GET /user HTTP/1.1\nHost: {NAME}\n"
                                             "Authorization: msp-secret-TOKEN")
                    self.assertEqual(line, "HTTP/1.1 502 Failed at msp")
                    self.assertIn(words, body)
                    self.leave(peer)
                    self.hear_end("CERTIFICATE")
                    self.assertEqual(peer[2].asked, [])

    def test_a_host_without_tls(self):
        ours, theirs = self.http.open(NAME, 443)
        theirs.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        with rig.workload(ours, self.certificate, NAME) as (sock, stream), theirs:
            line, _, body = self.ask((sock, stream, None), f"GET /user HTTP/1.1\nHost: {NAME}")
            self.assertEqual(line, "HTTP/1.1 502 Failed at msp")
            self.assertIn(b"wrong version number", body)

    def test_a_workload_that_asks_for_another_name(self):
        for name, reason in ((OPEN, "OTHER_NAME"), (None, "NO_NAME")):
            with self.subTest(name=name):
                ours, theirs = self.http.open(NAME, 443)
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
                with ours, theirs, self.assertRaises((ssl.SSLError, OSError)):
                    context.wrap_socket(ours, server_hostname=name)
                self.hear_refusal("TLS")
                self.hear_end(reason)

    def test_a_workload_without_tls(self):
        ours, theirs = self.http.open(NAME, 443)
        with ours, theirs:
            ours.sendall(b"GET / HTTP/1.1\r\n\r\n")
            self.hear_refusal("TLS")
            self.hear_end("NO_TLS")

    def test_old_tls_and_http_2_alone(self):
        for protocols, most, alert in (
                (["h2"], "TLSv1_3", "alert no application protocol"),
                (["http/1.1"], "TLSv1_1", "alert protocol version"),
                (["http/1.1"], "TLSv1_2", "fine")):
            with self.subTest(alert=alert):
                ours, theirs = self.http.open(NAME, 443)
                context = ssl.create_default_context(cadata=self.certificate.decode())
                context.set_ciphers("ALL:@SECLEVEL=0")
                context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
                context.set_alpn_protocols(protocols)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", DeprecationWarning)
                    context.maximum_version = ssl.TLSVersion[most]
                said = "fine"
                with ours, theirs:
                    try:
                        context.wrap_socket(ours, server_hostname=NAME).close()
                    except ssl.SSLError as error:
                        said = str(error)
                self.assertIn(alert, said)


class Ends(Http):
    def test_the_end_of_a_sandbox_cuts_its_connections(self):
        sock, stream, host = self.connect(answer=lambda *_: None)
        sock.sendall(f"GET / HTTP/1.1\r\nHost: {PLAIN}\r\n\r\n".encode())
        while not host.asked:
            time.sleep(0.01)
        self.http.end(self.http.number, END["CONNECTION_END_SANDBOX"])
        self.hear_end("SANDBOX")
        with self.assertRaises(ConnectionResetError):
            stream.read()

    def test_no_memory_of_it_is_readable(self):
        """Not even by the user who started it."""
        pids = self.http.process.pid, self.http.server()
        for pid in pids:
            self.assertEqual(os.stat(f"/proc/{pid}/maps").st_uid, 0)

    def test_it_ends_with_its_peers(self):
        for name in ("egress", "launcher"):
            with self.subTest(peer=name):
                egress, launcher = self.http.begin(self.plan, self.index)
                (egress if name == "egress" else launcher).close()
                other = launcher if name == "egress" else egress
                self.assertTrue(rig.has_ended(other))
                other.close()

    def test_a_server_that_is_killed_resets_its_connections(self):
        sock, stream, _ = self.connect()
        os.kill(self.http.server(), signal.SIGKILL)
        self.assertTrue(rig.has_ended(self.http.egress))
        with self.assertRaises(OSError):
            self.ask((sock, stream, None), f"GET / HTTP/1.1\nHost: {PLAIN}")
            raise ConnectionResetError  # it read the end


if __name__ == "__main__":
    unittest.main()
