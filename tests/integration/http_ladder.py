#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an HTTP request must be like: each rung of the ladder, in its order, and framing that other
servers would read differently."""
import json
import unittest

from http_support import (EVENTS, JSON, META, MODERN, Client, HttpServer, LegacyClient,
                          ModernClient)

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
SERVER = None


def setUpModule():
    global SERVER
    SERVER = HttpServer()


def tearDownModule():
    SERVER.stop()


class Case(unittest.TestCase):
    def setUp(self):
        self.client = LegacyClient(SERVER)
        self.addCleanup(self.client.close)

    def refused(self, status, headers=None, method="POST", body=PING, path="/mcp", client=None):
        """The answer is this refusal, and the server goes on."""
        answer = (client or self.client).request(method, body, headers, path)
        self.assertEqual(answer.status, status, answer.body)
        if answer.body:
            error = answer.json()
            self.assertIsNone(error["id"])
            self.assertLess(error["error"]["code"], 0)
        return answer

    def served(self, headers=None, body=PING):
        answer = self.client.post(body, headers)
        self.assertEqual(answer.status, 200, answer.body)
        return answer


class Names(Case):
    def test_hosts(self):
        for host in ("localhost", "LOCALHOST", "127.0.0.1", f"127.0.0.1:{SERVER.port}", "[::1]",
                     "[::1]:1", "localhost:99", "127.0.0.2"):
            with self.subTest(host=host):
                self.served({"Host": host})
        for host in ("evil.example.com", "localhost.evil.com", "127.0.0.1.evil.com", "localhost:",
                     "localhost:80x", "128.0.0.1", "", "[::1", "::1", "localhost@evil.com",
                     "0.0.0.0", f"example.com:{SERVER.port}"):
            with self.subTest(host=host):
                self.refused(403, {"Host": host})
        self.refused(403, {"Host": None})

    def test_origins(self):
        for origin in ("http://localhost", "http://127.0.0.1:5173", "https://localhost:8443",
                       "http://[::1]:3000", "HTTP://LOCALHOST"):
            with self.subTest(origin=origin):
                self.served({"Origin": origin})
        for origin in ("http://evil.example.com", "null", "", "localhost", "file://",
                       "http://localhost.evil.com", "http://localhost/", "http://127.0.0.1@e.com",
                       "chrome-extension://abc", "ftp://localhost"):
            with self.subTest(origin=origin):
                self.refused(403, {"Origin": origin})

    def test_names_come_before_the_token(self):
        self.refused(403, {"Host": "evil.example.com", "Authorization": None})

    def test_absolute_targets(self):
        answer = self.client.request("POST", PING, path=f"http://localhost:{SERVER.port}/mcp")
        self.assertEqual(answer.status, 200)
        with LegacyClient(SERVER) as client:
            self.refused(403, path="http://evil.example.com/mcp", client=client)


class Tokens(Case):
    def test_none(self):
        answer = self.refused(401, {"Authorization": None})
        self.assertEqual(answer.headers["WWW-Authenticate"], 'Bearer realm="msp"')

    def test_wrong_ones(self):
        right = SERVER.tokens["alice"]
        for value in ("Bearer " + right[:-1], "Bearer " + right + "x", "Bearer alice",
                      "Bearer " + right.upper()):
            with self.subTest(value=value):
                answer = self.refused(401, {"Authorization": value})
                self.assertEqual(answer.headers["WWW-Authenticate"],
                                 'Bearer realm="msp", error="invalid_token"')
        for value in ("Basic " + right, right, "Bearer", ""):
            with self.subTest(value=value):
                answer = self.refused(401, {"Authorization": value})
                self.assertNotIn("invalid_token", answer.headers["WWW-Authenticate"])

    def test_the_schemes_letters_do_not_matter(self):
        self.served({"Authorization": "bearer " + SERVER.tokens["alice"]})

    def test_nothing_of_a_token_is_said(self):
        wrong = "msp_" + "secret" * 7
        answer = self.refused(401, {"Authorization": "Bearer " + wrong})
        self.assertNotIn(b"secret", answer.body + str(answer.headers).encode() + SERVER.stderr)
        self.assertNotIn(SERVER.tokens["alice"].encode(), SERVER.stderr)

    def test_the_token_comes_before_path_method_and_type(self):
        self.refused(401, {"Authorization": None, "Content-Type": "text/plain"}, "PUT", None,
                     path="/nothing")


class Requests(Case):
    def test_paths(self):
        for path in ("/", "/MCP", "/mcp/", "/mcp/x", "/sse", "/../mcp", "*"):
            with self.subTest(path=path):
                self.refused(404, path=path)
        self.assertEqual(self.client.request("POST", PING, path="/mcp?x=1").status, 200)
        self.refused(403, path="//mcp")

    def test_methods(self):
        for method in ("PUT", "PATCH", "OPTIONS", "HEAD", "TRACE"):
            with self.subTest(method=method), Client(SERVER) as client:
                answer = self.refused(405, method=method, body=None, client=client)
                self.assertEqual(answer.headers["Allow"], "POST, GET, DELETE")
                self.assertNotIn("Access-Control-Allow-Origin", answer.headers)
        with Client(SERVER) as client:
            self.assertEqual(client.request("BREW", PING).status, 501)

    def test_content_types(self):
        for value in ("application/json; charset=utf-8", "APPLICATION/JSON", "application/json;"):
            with self.subTest(value=value):
                self.served({"Content-Type": value})
        for value in (None, "", "text/plain", "application/jsonx", "application/x-www-form",
                      "multipart/form-data; application/json"):
            with self.subTest(value=value):
                self.refused(415, {"Content-Type": value})

    def test_accept(self):
        for value in (f"{EVENTS},{JSON}", "*/*", f"{JSON};q=0.5, text/*",
                      f"text/html, {EVENTS} ; q=1, application/*"):
            with self.subTest(value=value):
                self.served({"Accept": value})
        self.served({"Accept": [JSON, EVENTS]})
        for value in (None, "", JSON, EVENTS, "text/html", f"{JSON}, {EVENTS};q=0",
                      f"{JSON}, text/event-streams"):
            with self.subTest(value=value):
                self.refused(406, {"Accept": value})
        self.refused(406, {"Accept": JSON}, "GET", None)

    def test_the_type_comes_before_accept(self):
        self.refused(415, {"Content-Type": "text/plain", "Accept": "text/html"})


class Bodies(Case):
    def test_no_json(self):
        for body, code in (("", -32700), ("{", -32700), ("nothing", -32700), ('"x"', -32600),
                           (b"\xff", -32700), ("[]", -32600), ('{"id":1}', -32600),
                           ('{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
                           ("[" * 200 + "]" * 200, -32600)):
            with self.subTest(body=body[:20]):
                answer = self.client.post(body)
                self.assertEqual((answer.status, answer.code()), (400, code))

    def test_batches_belong_to_one_version(self):
        answer = self.client.post([PING, {**PING, "id": 2}])
        self.assertEqual((answer.status, answer.code()), (400, -32600))
        with LegacyClient(SERVER, version="2025-03-26") as client:
            answer = client.post([PING, {**PING, "id": 2},
                                  {"jsonrpc": "2.0", "method": "notifications/initialized"}])
            self.assertEqual(answer.status, 200)
            self.assertEqual(sorted(one["id"] for one in answer.json()), [1, 2])
            answer = client.post([{"jsonrpc": "2.0", "method": "notifications/initialized"}])
            self.assertEqual((answer.status, answer.body), (202, b""))
        answer = self.client.post([PING], {"MCP-Protocol-Version": MODERN})
        self.assertEqual((answer.status, answer.code()), (400, -32600))

    def test_unknown_methods(self):
        answer = self.served(body=self.client.message("unknown/method"))
        self.assertEqual(answer.code(), -32601)

    def test_long_bodies(self):
        limit = 4 << 20
        text = json.dumps({**PING, "params": {"x": ""}})
        self.served(body=text.replace('""', '"' + "x" * (limit - len(text)) + '"'))
        answer = self.client.post(text.replace('""', '"' + "x" * (limit - len(text) + 1) + '"'))
        self.assertEqual(answer.status, 413)
        self.client.close()
        with LegacyClient(SERVER) as client:
            answer = client.post(b"x" * (8 << 20))
            self.assertEqual((answer.status, answer.code()), (413, -32600))
            self.assertEqual(answer.headers["Connection"], "close")

    def test_long_headers(self):
        for headers in ({"X-Long": "x" * 20000}, {f"X-{i}": "x" * 900 for i in range(20)}):
            with LegacyClient(SERVER) as client:
                self.assertEqual(client.post(PING, headers).status, 431)
        self.served({"X-Long": "x" * 12000})


class Framing(Case):
    def exchange(self, text):
        """Send bytes, read until the server closes; the status lines that came back."""
        with SERVER.connect(10) as sock:
            sock.sendall(text.replace("\n", "\r\n").encode() if isinstance(text, str) else text)
            got = b""
            try:
                while piece := sock.recv(65536):
                    got += piece
            except ConnectionResetError:
                pass
        return got

    def head(self, *more, line="POST /mcp HTTP/1.1"):
        headers = {**self.client.headers, "Connection": "close"}
        return "".join(f"{one}\n" for one in
                       [line, *(f"{name}: {value}" for name, value in headers.items()), *more])

    def status(self, text):
        got = self.exchange(text)
        self.assertTrue(got, "an answer")
        return int(got.split(b" ", 2)[1])

    def test_the_frame_of_these_tests_is_right(self):
        body = json.dumps(PING)
        self.assertEqual(self.status(self.head(f"Content-Length: {len(body)}") + "\n" + body), 200)

    def test_two_of_a_kind(self):
        body = json.dumps(PING)
        length = f"Content-Length: {len(body)}"
        for extra in ("Authorization: Bearer x", "Content-Length: 1", length, "Host: localhost",
                      "Mcp-Session-Id: x", "Content-Type: application/json", "Origin: http://a\n"
                      "Origin: http://localhost"):
            with self.subTest(extra=extra):
                self.assertEqual(self.status(self.head(length, extra) + "\n" + body), 400)

    def test_odd_lengths(self):
        body = json.dumps(PING)
        for value in (f"+{len(body)}", "-1", "0x10", "", "99999999999999999999999", "1 1"):
            with self.subTest(value=value):
                self.assertIn(self.status(self.head(f"Content-Length: {value}") + "\n" + body),
                              (400, 413))

    def test_chunks(self):
        body = json.dumps(PING)
        chunks = "".join(f"1\n{c}\n" for c in body) + "0\n\n"
        self.assertEqual(self.status(self.head("Transfer-Encoding: chunked") + "\n" + chunks), 200)
        both = self.head("Transfer-Encoding: chunked", f"Content-Length: {len(body)}")
        self.assertEqual(self.status(both + "\n" + chunks), 400)
        for value in ("gzip, chunked", "gzip", "chunked, identity"):
            head = self.head(f"Transfer-Encoding: {value}")
            self.assertEqual(self.status(head + "\n" + chunks), 400)
        self.assertIn(self.status(self.head("Transfer-Encoding: chunked") + "\nx\n"), (400, 413))
        large = self.head("Transfer-Encoding: chunked") + "\nffffffff\n" + "x" * 100
        self.assertEqual(self.status(large), 413)

    def test_continue(self):
        body = json.dumps(PING)
        with SERVER.connect() as sock:
            head = self.head(f"Content-Length: {len(body)}", "Expect: 100-continue") + "\n"
            sock.sendall(head.replace("\n", "\r\n").encode())
            self.assertTrue(sock.recv(1000).startswith(b"HTTP/1.1 100 "))
            sock.sendall(body.encode())
            self.assertTrue(sock.recv(1000).startswith(b"HTTP/1.1 200 "))
        self.assertEqual(self.status(self.head("Content-Length: 2", "Expect: miracles") + "\n{}"),
                         417)

    def test_old_http(self):
        body = json.dumps(PING)
        length = f"Content-Length: {len(body)}"
        got = self.exchange(self.head(length, line="POST /mcp HTTP/1.0") + "\n" + body)
        self.assertTrue(got.startswith(b"HTTP/1.0 200 "))
        call = json.dumps(self.client.call("run_command", command="sleep 2; echo late"))
        got = self.exchange(self.head(f"Content-Length: {len(call)}", line="POST /mcp HTTP/1.0") +
                            "\n" + call)
        self.assertIn(b"text/event-stream", got)
        self.assertIn(b"late", got)
        self.assertNotIn(b"chunked", got)
        self.assertIn(self.status("GET /mcp HTTP/0.9\n\n"), (400, 505))
        self.assertEqual(self.status(self.head(line="POST /mcp HTTP/2.0") + "\n"), 505)

    def test_no_http(self):
        for text in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"hello there, server\r\n\r\n",
                     b"\0" * 100, b"GET\r\n\r\n", b"POST /mcp\r\n\r\n"):
            with self.subTest(text=text[:10]):
                self.assertIn(self.status(text), (400, 501))

    def test_two_requests_at_once(self):
        body = json.dumps(PING)
        one = self.head(f"Content-Length: {len(body)}").replace("Connection: close\n", "")
        text = (one + "\n").replace("\n", "\r\n") + body
        last = (self.head(f"Content-Length: {len(body)}") + "\n").replace("\n", "\r\n") + body
        got = self.exchange((text + last).encode())
        self.assertEqual(got.count(b"HTTP/1.1 200 OK"), 2)
        got = self.exchange((text + "BREW /mcp HTTP/1.1\r\n\r\n").encode())
        self.assertEqual((got.count(b"HTTP/1.1 200 OK"), got.count(b"HTTP/1.1 501 ")), (1, 1))


class Modern(unittest.TestCase):
    def setUp(self):
        self.client = ModernClient(SERVER)
        self.addCleanup(self.client.close)

    def refused(self, code, message, headers, status=400):
        answer = self.client.say(message, headers)
        self.assertEqual((answer.status, answer.code()), (status, code), answer.body)
        self.assertEqual(answer.json()["id"], message["id"])
        return answer

    def test_versions(self):
        meta = {META + "protocolVersion": "v9", META + "clientCapabilities": {}}
        discover = self.client.message("server/discover")
        self.refused(-32020, discover, {"MCP-Protocol-Version": "2025-11-25"})
        self.refused(-32020, discover, {"MCP-Protocol-Version": None})
        other = self.client.message("server/discover", {"_meta": meta})
        self.refused(-32020, other, {})
        answer = self.refused(-32022, other, {"MCP-Protocol-Version": "v9"})
        self.assertEqual(answer.json()["error"]["data"], {"supported": [MODERN], "requested": "v9"})

    def test_envelopes(self):
        for meta in (None, {}, {META + "protocolVersion": MODERN},
                     {META + "clientCapabilities": {}},
                     {META + "protocolVersion": 1, META + "clientCapabilities": {}}):
            with self.subTest(meta=meta):
                message = self.client.message("server/discover", {"_meta": meta})
                self.refused(-32602, message, {})
        message = {"jsonrpc": "2.0", "id": 5, "method": "server/discover"}
        self.refused(-32602, message, {"MCP-Protocol-Version": MODERN})

    def test_method_header(self):
        message = self.client.message("tools/list")
        for value in (None, "prompts/list", "TOOLS/LIST", ""):
            with self.subTest(value=value):
                self.refused(-32020, message, {"Mcp-Method": value})
        for value in (" tools/list ", "=?base64?dG9vbHMvbGlzdA==?="):
            self.assertEqual(self.client.say(message, {"Mcp-Method": value}).status, 200)

    def test_name_header(self):
        message = self.client.call("run_command", command="true")
        for value in (None, "wrong", "RUN_COMMAND", "=?base64?cnVu?=", "=?base64?cn?="):
            with self.subTest(value=value):
                self.refused(-32020, message, {"Mcp-Name": value})
        for value in ("  run_command  ", "=?base64?cnVuX2NvbW1hbmQ=?="):
            self.assertEqual(self.client.say(message, {"Mcp-Name": value}).status, 200)

    def test_unknown_methods(self):
        for method in ("unknown/method", "initialize", "ping"):
            with self.subTest(method=method):
                self.refused(-32601, self.client.message(method), {}, 404)

    def test_errors_of_handlers_are_answers(self):
        answer = self.client.say(self.client.call("no_such_tool"))
        self.assertEqual((answer.status, answer.code()), (200, -32602))

    def test_session_names_are_nothing_here(self):
        answer = self.client.say(self.client.message("tools/list"), {"Mcp-Session-Id": "x"})
        self.assertEqual(answer.status, 200)
        self.assertNotIn("Mcp-Session-Id", answer.headers)

    def test_there_is_no_get(self):
        for method in ("GET", "DELETE"):
            answer = self.client.request(method, None, {"MCP-Protocol-Version": MODERN})
            self.assertEqual((answer.status, answer.headers["Allow"]), (405, "POST"))

    def test_notifications(self):
        message = self.client.message("notifications/cancelled", {"requestId": 9})
        del message["id"]
        answer = self.client.say(message)
        self.assertEqual((answer.status, answer.body), (202, b""))


if __name__ == "__main__":
    unittest.main()
