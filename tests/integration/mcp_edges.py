#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a client may send by mistake or malice, to the real server, and the answer it gets. After
each the connection lives."""
import contextlib
import json
import unittest

import support

PING = {"jsonrpc": "2.0", "method": "ping"}
CANCEL = b'{"jsonrpc":"2.0","method":"notifications/cancelled"'


def ping(raw_id):
    return b'{"jsonrpc":"2.0","id":' + raw_id + b',"method":"ping"}'


class Edges(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = support.Server()

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def tearDown(self):
        self.assertEqual(self.server.request("ping"), {}, "the connection lives")

    def say(self, line):
        self.server.send_bytes(line + b"\n")
        answer = self.server.receive_line()
        answer.decode("utf-8")
        return json.loads(answer)

    def expect_error(self, line, code, number=None):
        answer = self.say(line)
        self.assertEqual((answer["jsonrpc"], answer["id"]), ("2.0", number), line[:80])
        self.assertEqual(answer["error"]["code"], code, line[:80])
        self.assertTrue(answer["error"]["message"])

    def expect_silence(self, line):
        """What comes next is the answer to the ping that follows."""
        self.server.send_bytes(line + b"\n")
        self.assertEqual(self.say(ping(b'"after"'))["id"], "after")

    def test_bad_json(self):
        for line in (b"nonsense", b"{", b'{"jsonrpc":"2.0"', b"{}}", b'{"a":1,}', b"'a'", b"NaN"):
            self.expect_error(line, -32700)

    def test_invalid_utf8(self):
        for line in (b"\xff", ping(b'"\xc0\xaf"'), ping(b'"\xed\xa0\x80"'), ping(b'"\xe2\x82"')):
            self.expect_error(line, -32700)

    def test_no_object(self):
        for line in (b"7", b'"x"', b"null", b"true", b"[]"):
            self.expect_error(line, -32600)

    def test_wrong_jsonrpc(self):
        for line in (b'{"id":1,"method":"ping"}', b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
                     b'{"jsonrpc":2,"id":1,"method":"ping"}', b"{}"):
            self.expect_error(line, -32600)

    def test_ids_that_are_none(self):
        for raw in (b"null", b"1.5", b"1e400", b"true", b"{}", b"[]", b"9007199254740993"):
            self.expect_error(ping(raw), -32600)

    def test_ids_are_echoed_exactly(self):
        for raw in (b'""', b"-7", b"1.0", b'"a\\u0041"', b'"\\ud800"', b'"\xc3\xa9"', b"0",
                    b"9007199254740991", b'"' + b"i" * 10000 + b'"'):
            self.server.send_bytes(ping(raw) + b"\n")
            self.assertEqual(self.server.receive_line(),
                             b'{"jsonrpc":"2.0","id":' + raw + b',"result":{}}\n')

    def test_id_in_flight(self):
        number = self.server.post("tools/call", {
            "name": "run_command", "arguments": {"command": "sleep 0.5; echo first"}})
        self.expect_error(ping(str(number).encode()), -32600, number)
        self.assertIn("first", support.text_of(self.server.answer(number)))

    def test_params(self):
        for raw in (b"[]", b"7", b'"x"', b"true"):
            self.expect_error(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + raw + b"}",
                              -32602, 1)
        self.assertEqual(self.say(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":null}'),
                         {"jsonrpc": "2.0", "id": 1, "result": {}})

    def test_extra_members(self):
        answer = self.say(b'{"x":[1],"jsonrpc":"2.0","id":1,"method":"ping","y":{}}')
        self.assertEqual(answer["result"], {})

    def test_unknown_method_and_tool(self):
        self.expect_error(b'{"jsonrpc":"2.0","id":1,"method":"no/such"}', -32601, 1)
        self.expect_error(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}',
                          -32602, 1)

    def test_what_needs_no_answer(self):
        for line in (b"", b"\r", b'{"jsonrpc":"2.0","method":"notifications/unknown"}',
                     b'{"jsonrpc":"2.0","id":77,"result":{}}',
                     b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}',
                     CANCEL + b',"params":{"requestId":7}}', CANCEL + b"}"):
            self.expect_silence(line)

    def test_a_call_without_id_never_runs(self):
        self.expect_silence(b'{"jsonrpc":"2.0","method":"tools/call","params":{'
                            b'"name":"run_command","arguments":{"command":"sleep 60"}}}')
        for pid in support.descendants(self.server.process.pid):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                self.assertNotEqual(file.read().strip(), "sleep")

    def test_line_ends_and_byte_order_mark(self):
        for line in (ping(b"1") + b"\r", b"\xef\xbb\xbf" + ping(b"1"), b"\r\n\n" + ping(b"1")):
            self.assertEqual(self.say(line)["result"], {})

    def test_text_that_the_kernel_cannot_take(self):
        for raw in ("a\x00b", "a\ud800b"):
            for name in ("command", "cwd", "profile"):
                result = self.server.call("run_command", **{"command": "true", name: raw})
                self.assertTrue(result["isError"], (name, raw))
            result = self.server.call("run_command", argv=["echo", raw])
            self.assertTrue(result["isError"])
            result = self.server.call("run_command", command="true", env={"A": raw})
            self.assertTrue(result["isError"])
            result = self.server.call("run_code", language="python", code=raw)
            self.assertTrue(result["isError"])

    def test_nesting(self):
        def nested(depth):
            return (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":' + b"[" * depth +
                    b"]" * depth + b"}}")
        self.assertEqual(self.say(nested(126))["result"], {})
        self.expect_error(nested(127), -32600, 1)
        self.expect_error(nested(200000), -32600, 1)
        self.expect_error(b"[" * 1000000, -32700)

    def test_long_lines(self):
        line = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"' + b"a" * 1000000 + b'"}}'
        self.assertEqual(self.say(line)["result"], {})
        self.expect_error(b"x" * (10 * 1024 * 1024 + 1), -32600)
        self.expect_error(b'{"jsonrpc":"2.0","id":1,"a":"' + b"x" * (40 * 1024 * 1024), -32600)

    def test_duplicate_keys(self):
        self.expect_error(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,"\\u0061":2}}',
                          -32600, 1)
        self.expect_error(b'{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}', -32600)


class Batches(unittest.TestCase):
    BATCH = b'[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"}]\n'

    def test_each_version(self):
        for version in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"):
            with self.subTest(version=version), support.Server() as server:
                server.initialize(version)
                server.send_bytes(self.BATCH)
                answer = server.receive()
                if version == "2025-03-26":
                    self.assertEqual(answer, [{"jsonrpc": "2.0", "id": 1, "result": {}}])
                else:
                    self.assertEqual((answer["id"], answer["error"]["code"]), (None, -32600))

    def test_calls_in_a_batch(self):
        call = {"jsonrpc": "2.0", "method": "tools/call", "params": {
            "name": "run_command", "arguments": {"command": "echo $((6*7))"}}}
        with support.Server() as server:
            server.initialize("2025-03-26")
            server.send([dict(call, id="a"), dict(call, id="b"), dict(PING, id="c")])
            answer = server.receive()
            self.assertEqual(sorted(entry["id"] for entry in answer), ["a", "b", "c"])
            self.assertEqual(sum("42" in json.dumps(entry) for entry in answer), 2)


class TenBrokenLines(unittest.TestCase):
    """What a person would try with printf."""

    def test_ten_broken_lines_and_a_good_one(self):
        lines = [b"hello", b"{", b"[]", b"null", b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
                 b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', b"\xff", b'{"a":1,"a":2}',
                 b'{"jsonrpc":"2.0","id":2}', b'{"jsonrpc":"2.0","id":3,"method":"x"}',
                 b'{"jsonrpc":"2.0","id":4,"method":"tools/list"}']
        with support.Server() as server:
            server.send_bytes(b"\n".join(lines) + b"\n")
            codes = [server.receive()["error"]["code"] for _ in range(10)]
            self.assertEqual(codes, [-32700, -32700, -32600, -32600, -32600, -32600, -32700, -32600,
                                     -32600, -32601])
            self.assertEqual(server.receive()["id"], 4)


if __name__ == "__main__":
    unittest.main()
