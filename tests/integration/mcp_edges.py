#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a client may send by mistake or malice, to the real server, and the answer it gets. After
each the connection lives."""
import contextlib
import json
import re
import unittest

import support
from persistent_support import PersistentCase

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


# Of each tool: a call that would be done, and arguments that are added to it, or replace its own,
# with the error: the value, the rule, the remedy. Calls of BOX, HANDLE and PROJECT are of what is
# there; None leaves an argument out.
BOX, LONG = "box", "l" * 6000
UNKNOWN = "00000000000000000000000000"
INTEGER = r"The argument `{}` is {}, but must be an integer from \d+ to \d+. Leave it out"
NAMED = r"The argument `{}` is \"{}\", but must be one of: "
NEEDED = r"needs the argument `{}`, which is missing"
PATH = (r"contains \"{}\", but each path must be inside the workspace and relative to it, such as "
        r"\"src/main.c\"")
ADDS = "--- /dev/null\n+++ {}\n@@ -0,0 +1 @@\n+x\n"
HOLDS = "write_sandbox_file takes `content`, or `old_text` and `new_text`, not both. Give one"
WRONG = {
    "run_command": ({"command": "touch made; sleep 0.1", "sandbox": BOX}, (
        ({"command": None}, "needs `command` .* or `argv` .*; neither was given"),
        ({"argv": ["touch", "made"]}, "takes `command` or `argv`, not both. Give one"),
        ({"command": None, "argv": []}, "`argv` is empty, but must begin with the program"),
        ({"cwd": "here"}, '"here" is not an absolute path inside the sandbox. Use one such as'),
        ({"cwd": "/no/such"}, '"/no/such" .* could not be entered: .*Use an existing directory'),
        ({"timeout_ms": -1}, INTEGER.format("timeout_ms", "-1")),
        ({"yield_ms": 10 ** 18}, INTEGER.format("yield_ms", 10 ** 18)),
        ({"env": {"A=B": "x"}}, 'variable named "A=B", but a name must not .*Rename it'),
        ({"tty_rows": 9}, "`tty_rows` and `tty_columns` are the size .* Set `tty` to true"),
        ({"profile": "strict"}, '"default", and the argument `profile` is "strict". Leave'))),
    "run_code": ({"language": "bash", "code": "touch made", "sandbox": BOX}, (
        ({"language": "cobol"}, 'has no language "cobol". Installed are: .*Use one of these'),
        ({"language": ""}, NAMED.format("language", "")),
        ({"code": None}, "needs `code` .* or `code_base64` .*; neither was given"),
        ({"code_base64": "dG91Y2ggbWFkZQ=="}, "takes `code` or `code_base64`, not both. Give one"),
        ({"code": None, "code_base64": "dG91Y2g"}, "is not base64 with padding. Encode the bytes"),
        ({"args": "a"}, "`args` is a string, but must be an array of strings"),
        ({"args": [["a"]]}, "`args` contains an array, but must be made of strings only"),
        ({"timeout_ms": 0}, INTEGER.format("timeout_ms", "0")),
        ({"yield_ms": -10 ** 15}, INTEGER.format("yield_ms", -10 ** 15)),
        ({"interactive": "no"}, "`interactive` is a string, but must be true or false"))),
    "read_output": ({"handle": "HANDLE", "wait_ms": 0}, (
        ({"handle": UNKNOWN + "-1"}, f'"{UNKNOWN}-1". Handles work until .* shows the valid ones'),
        ({"handle": ""}, 'no execution with the handle "". .* list_sandboxes shows'),
        ({"offset": -1}, INTEGER.format("offset", "-1")),
        ({"max_bytes": 0}, INTEGER.format("max_bytes", "0")),
        ({"wait_ms": 1.5}, "`wait_ms` is 1.5, but must be an integer"),
        ({"stream": "both"}, NAMED.format("stream", "both") + "stdout, stderr"))),
    "send_input": ({"handle": "HANDLE", "data": "x", "wait_ms": 0}, (
        ({"handle": "x"}, 'no execution with the handle "x". .* list_sandboxes shows'),
        ({"eof": "yes"}, "`eof` is a string, but must be true or false"),
        ({"data": []}, "`data` is an array, but must be a string"),
        ({"tty_rows": 0}, INTEGER.format("tty_rows", "0")),
        ({"tty_columns": 10 ** 12}, INTEGER.format("tty_columns", 10 ** 12)),
        ({"wait_ms": -7}, INTEGER.format("wait_ms", "-7")))),
    "kill_execution": ({"handle": "HANDLE"}, (
        ({"handle": None}, NEEDED.format("handle")),
        ({"handle": BOX}, 'no execution with the handle "box". .* list_sandboxes shows'),
        ({"signal": "9"}, NAMED.format("signal", "9")),
        ({"signal": "SIGKILL"}, NAMED.format("signal", "SIGKILL")))),
    "list_sandboxes": ({"offset": 0}, (
        ({"offset": -1}, INTEGER.format("offset", "-1")),
        ({"offset": 10 ** 18}, INTEGER.format("offset", 10 ** 18)),
        ({"offset": 0.5}, "`offset` is 0.5, but must be an integer"),
        ({"offset": True}, "`offset` is true, but must be an integer"),
        ({"offset": "0"}, "`offset` is a string, but must be an integer"),
        ({"offset": []}, "`offset` is an array, but must be an integer"),
        ({"offset": {}}, "`offset` is an object, but must be an integer"))),
    "create_sandbox": ({"name": "second"}, (
        ({"name": ""}, 'is "", and so is no name. Leave it out for'),
        ({"name": "-rf"}, 'is "-rf", but may have letters, .*Choose another'),
        ({"name": UNKNOWN}, f'is "{UNKNOWN}", which looks like an id. Choose another'),
        ({"name": BOX}, '"box" exists already, with the id .*Use it, or choose another'),
        ({"workspace": "src"}, 'is "src", but must be an absolute path .*Leave it out'),
        ({"workspace": "/etc"}, "'/etc' is refused: it lies in none .*: name a directory in one"),
        ({"workspace_mode": "read-only"}, "needs a `workspace`, which is missing. Give"),
        ({"workspace": "PROJECT", "workspace_mode": "rw"}, NAMED.format("workspace_mode", "rw")),
        ({"profile": "strict"}, "allows no persistent sandbox: strict. Use another profile"),
        ({"ttl_s": -3600}, INTEGER.format("ttl_s", "-3600")))),
    "destroy_sandbox": ({"sandbox": BOX}, (
        ({"sandbox": None}, NEEDED.format("sandbox")),
        ({"sandbox": ""}, "`sandbox` is empty, but must be .* list_sandboxes shows them"),
        ({"sandbox": "*"}, r'no sandbox "\*". list_sandboxes shows yours'),
        ({"sandbox": "../box"}, 'no sandbox "../box". list_sandboxes shows yours'))),
    "checkpoint": ({"sandbox": BOX, "action": "save"}, (
        ({"action": "create"}, NAMED.format("action", "create")),
        ({"name": "a/b"}, 'is "a/b", but may have letters, .*Choose another'),
        ({"name": "12"}, 'is "12", which looks like the number .*Choose another'),
        ({"checkpoint": "1"}, "is for rollback, fork and delete. With save, use `name`"),
        ({"action": "rollback"}, "needs the argument `checkpoint`, .*shows them"),
        ({"action": "delete", "checkpoint": "none"}, 'no checkpoint "none" .*save"\\) makes one'),
        ({"action": "rollback", "checkpoint": "-1"}, 'no checkpoint "-1" of this sandbox'),
        ({"action": "rollback", "checkpoint": "9" * 20}, 'is "9{20}", but must be the number or'),
        ({"action": "fork", "name": BOX}, '"box" exists already, .*choose another name'))),
    "diff_changes": ({"sandbox": BOX}, (
        ({"paths": "a"}, "`paths` is a string, but must be an array of strings"),
        ({"paths": []}, "`paths` is empty. Leave it out"),
        ({"paths": ["../x"]}, PATH.format(r"\.\./x")), ({"paths": [""]}, PATH.format("")),
        ({"since": "none"}, 'no checkpoint "none" of this sandbox'),
        ({"limit": 0}, INTEGER.format("limit", "0")),
        ({"offset": -1}, INTEGER.format("offset", "-1")))),
    "preview_changes": ({"sandbox": BOX}, (
        ({"paths": [7]}, "`paths` contains a number, but must be made of strings only"),
        ({"paths": ["/etc"]}, PATH.format("/etc")),
        ({"paths": ["a\0"]}, "element of the argument `paths` contains a NUL .*Remove it"),
        ({"paths": ["none"]}, 'no change at "none": mistyped, or unchanged. diff_changes'))),
    "apply_changes": ({"sandbox": BOX}, (
        ({"paths": {}}, "`paths` is an object, but must be an array of strings"),
        ({"paths": ["a/../../x"]}, PATH.format(r"a/\.\./\.\./x")),
        ({"paths": ["a.txt", LONG]}, PATH.format("l+\\.\\.\\.")),
        ({"conflict": "mine"}, NAMED.format("conflict", "mine") + "refuse, sandbox, host, merge"))),
    "read_sandbox_file": ({"sandbox": BOX, "path": "a.txt"}, (
        ({"path": ""}, "`path` is empty. Give a path such as"),
        ({"path": "none"}, "none does not exist: list its directory"),
        ({"path": "/home/user/x"}, 'nor does its directory: .* is "/home". List that, or'),
        ({"path": "~/x"}, "begins with ~, which .* The home directory is /home/agent"),
        ({"path": "."}, "is a directory, and only regular files"),
        ({"offset": -1}, INTEGER.format("offset", "-1")),
        ({"limit": 0}, INTEGER.format("limit", "0")),
        ({"encoding": "utf8"}, NAMED.format("encoding", "utf8") + "text, base64"))),
    "write_sandbox_file": ({"sandbox": BOX, "path": "made/too", "content": "x"}, (
        ({"content": None}, "needs `content`, or `old_text` and `new_text` to edit; neither"),
        ({"old_text": "a", "new_text": "b"}, HOLDS),
        ({"path": "/home/user/x"}, 'cannot be made in "/home". Write to /workspace or /tmp'),
        ({"path": "/etc/x"}, "/etc/x is in a part .* read-only: write to /workspace or /tmp"),
        ({"path": "made/"}, "made/ is a directory: name a file in it"),
        ({"path": "a.txt/below"}, "a.txt/below is no directory, or leads through"),
        ({"path": "a.txt", "mode": "create"}, "a.txt exists already: change that file, or"),
        ({"mode": "w"}, NAMED.format("mode", "w")),
        ({"encoding": "base64"}, "is not base64 with padding. Encode it again"),
        ({"path": "made/" + 300 * "l"}, "is too long for a path: use a shorter one"))),
    "patch_sandbox_files": ({"sandbox": BOX, "patch": ADDS.format("made/too")}, (
        ({"patch": ""}, "`patch` is empty. Begin it with"),
        ({"patch": "hello"}, "line 1 of the patch: this is no patch: one begins with"),
        ({"patch": "*** Begin Patch\n*** Add File: made/x\n+x\n"}, "line 3 .* may have been cut"),
        ({"patch": "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-onE\n+1\n"},
         "a.txt: hunk 1 .line 3 of the patch. does not fit"),
        ({"patch": ADDS.format("a.txt")}, "a.txt exists already: change that file, or"),
        ({"patch": ADDS.format("~/x")}, "line 1 .* begins with ~, which .* is /home/agent"),
        ({"patch": ADDS.format("/home/user/x")}, 'cannot be made in "/home". Write to'))),
    "list_sandbox_files": ({"sandbox": BOX}, (
        ({"path": "none"}, "none does not exist: list its directory"),
        ({"path": "none/none"}, 'nor does its directory: .* is "/workspace". List that'),
        ({"path": "a.txt"}, "is no directory, or leads through what is none: list"),
        ({"depth": 0}, INTEGER.format("depth", "0")),
        ({"depth": 10 ** 6}, INTEGER.format("depth", 10 ** 6)),
        ({"limit": -1}, INTEGER.format("limit", "-1")))),
    "import_files": ({"sandbox": BOX, "from": "PROJECT"}, (
        ({"from": "src"}, 'is "src", but must be an absolute path .* give its name in `paths`'),
        ({"from": "/etc"}, "'/etc' is refused: it lies in none .*: name a directory in one"),
        ({"paths": ["../x"]}, PATH.format(r"\.\./x")), ({"to": ""}, 'is "", but must be a directory'),
        ({"to": "/etc/x"}, 'cannot be made in "/etc". Write to /workspace or /tmp'))),
    "explain_policy": ({"operation": "read /etc/passwd"}, (
        ({"operation": None}, NEEDED.format("operation")),
        ({"operation": ""}, 'is "", but an operation is one of: read PATH'),
        ({"operation": "fly /etc"}, 'is "fly /etc", but an operation is one of: read PATH'),
        ({"operation": "read etc"}, 'is "read etc", but a path is needed that begins with /'),
        ({"operation": "connect a:99999"}, 'is "connect a:99999", but a port is a number from 1'))),
}
# Of each tool's text arguments, without those that any text is fine for.
TEXTS = ("command", "code", "handle", "name", "sandbox", "path", "patch", "operation", "profile")
ANY_LENGTH = ("command", "code", "patch")


class WrongInputs(PersistentCase):
    """At least ten of each tool: each error has the value, the rule and the remedy, and nothing is
    done."""

    def setUp(self):
        super().setUp()
        self.put("a.txt", "one\n")
        self.server = support.Server("--standalone", "--workspace", self.project)
        self.addCleanup(self.server.close)
        self.server.initialize()
        self.server.call("create_sandbox", 60, workspace=self.project, name=BOX)
        result = self.server.call("run_command", 60, yield_ms=0, interactive=True,
                                  command="read line; echo $line")
        self.words = {"HANDLE": result["_meta"]["msp/execution"]["handle"],
                      "PROJECT": self.project}

    def answer(self, line):
        """The whole answer to a line of bytes."""
        self.server.send_bytes(line + b"\n")
        while True:
            message = self.server.receive(60)
            if "method" not in message:
                return message

    def line_of(self, tool, arguments):
        return json.dumps(dict(PING, id=1, method="tools/call",
                               params={"name": tool, "arguments": arguments})).encode()

    def say(self, tool, arguments):
        return self.answer(self.line_of(tool, arguments))

    def look(self):
        """All that a tool could have changed."""
        listed = self.server.call("list_sandboxes", 60)["structuredContent"]
        running = self.server.call("read_output", 60, handle=self.words["HANDLE"], wait_ms=0)
        files = self.server.call("run_command", 60, sandbox=BOX, command=(
            "find /workspace /home/agent /tmp -printf '%p %s %m\\n' | sort"))
        saved = self.server.call("checkpoint", 60, sandbox=BOX, action="list")
        return ([entry["id"] for entry in listed["sandboxes"] if entry["kind"] == "persistent"],
                re.sub(r"\d+(\.\d+)? s\b", "", support.text_of(running)),
                support.text_of(files).rpartition("[exit")[0], support.text_of(saved), self.tree())

    def test_each_tool(self):
        tools = {tool["name"]: tool["inputSchema"]
                 for tool in self.server.request("tools/list")["tools"]}
        self.assertEqual(set(tools), set(WRONG))
        before = self.look()
        self.assertIn("a.txt", before[2])
        for tool, (fine, rows) in WRONG.items():
            fine = self.put_words(fine)
            count = self.check_texts(tool, fine, tools[tool]) + self.check_forms(tool, fine)
            for wrong, says in rows:
                with self.subTest(tool=tool, wrong=str(wrong)[:100]):
                    wanted = {**fine, **self.put_words(wrong)}
                    self.expect(self.say(tool, {name: value for name, value in wanted.items()
                                                if value is not None}), says)
                    count += 1
            self.assertGreaterEqual(count, 10, tool)
            self.assertEqual(self.look(), before, tool)
        for tool in ("write_sandbox_file", "kill_execution"):  # the controls
            self.assertFalse(self.say(tool, self.put_words(WRONG[tool][0]))["result"]["isError"])
        self.assertNotEqual(self.look()[1], before[1])
        self.assertIn("made/too", self.look()[2])

    def put_words(self, arguments):
        return {name: self.words.get(value, value) if isinstance(value, str) else value
                for name, value in arguments.items()}

    def expect(self, answer, says):
        text = support.text_of(answer["result"])
        self.assertTrue(answer["result"]["isError"], text)
        self.assertRegex(text, "(?s)" + says)

    def check_texts(self, tool, fine, schema):
        """What no text argument can be; the number of inputs."""
        count = 0
        for name in set(TEXTS) & set(schema["properties"]):
            for value, says in ((7, f"`{name}` is a number, but must be a string"),
                                ("a\0b", f"`{name}` contains a NUL .*Remove it"),
                                ("a\ud800", f"`{name}` contains an unpaired surrogate .*Remove it"),
                                (LONG, f"`{name}` is (6000 bytes long, but at most \\d+ are "
                                 "possible. Use a shorter one|\"l+...\", but must be one of: )"),
                                ("no-such", 'no sandbox "no-such". list_sandboxes shows')):
                if (value == LONG and name in ANY_LENGTH) or (
                        value == "no-such" and name != "sandbox") or (
                            value == "a\0b" and name == "patch"):
                    continue
                with self.subTest(tool=tool, name=name, value=str(value)[:20]):
                    self.expect(self.say(tool, {**fine, name: value}), says)
                    count += 1
        return count

    def check_forms(self, tool, fine):
        """An unknown member, no object, and bytes that are no text; the number of inputs."""
        with self.subTest(tool=tool):
            self.expect(self.say(tool, {**fine, "no_such": 1}),
                        f"{tool} has no argument `no_such`. Its arguments are: ")
            self.assertEqual(self.say(tool, list(fine))["error"]["code"], -32602)
            line = self.line_of(tool, {**fine, "note": "?"})
            answer = self.answer(line.replace(b"?", b"\xff"))
            self.assertEqual((answer["id"], answer["error"]["code"]), (None, -32700))
            self.assertIn("UTF-8", answer["error"]["message"])
        return 3


if __name__ == "__main__":
    unittest.main()
