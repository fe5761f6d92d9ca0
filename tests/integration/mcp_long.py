#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Executions that outlive the call that started them, through the real server: what a client does
with a handle, and what becomes of programs that one talks to."""
import re
import time
import unittest

import support

MEMORY_KIB = 160 * 1024
FLOOD_BYTES = 400_000_000  # more than twice as much
HANDLE = re.compile(r"\b[0-9a-hjkmnp-tv-z]{26}-\d+\b")


class Case(unittest.TestCase):
    def setUp(self):
        self.server = support.Server()
        self.server.initialize()
        self.addCleanup(self.server.close)

    def call(self, tool, **arguments):
        return self.server.call(tool, 90, **arguments)

    def text(self, tool, **arguments):
        """The text of a call that did what was asked."""
        result = self.call(tool, **arguments)
        self.assertFalse(result["isError"], result["content"])
        self.assertNotIn("structuredContent", result)
        return support.text_of(result)

    def problem(self, tool, **arguments):
        result = self.call(tool, **arguments)
        self.assertTrue(result["isError"], result["content"])
        return support.text_of(result)

    def start(self, command, **arguments):
        """Start in the background; the handle."""
        arguments.setdefault("yield_ms", 0)
        result = self.call("run_command", command=command, **arguments)
        text = support.text_of(result)
        self.assertFalse(result["isError"], text)
        self.assertIn("[still running after", text)
        handle = HANDLE.search(text).group()
        self.assertEqual(result["_meta"]["msp/execution"]["handle"], handle)
        self.assertEqual(result["_meta"]["msp/execution"]["state"], "running")
        return handle

    def read_until(self, handle, part, **arguments):
        """Read on until the text has this part; everything read so far."""
        text = ""
        end = time.monotonic() + 60
        arguments.setdefault("wait_ms", 500)
        while part not in text:
            self.assertLess(time.monotonic(), end, text)
            text += self.text("read_output", handle=handle, **arguments) + "\n"
        return text

    def write(self, handle, data, **arguments):
        return self.text("send_input", handle=handle, data=data, **arguments)

    def write_until(self, handle, data, part):
        """Type, and read on until the answer has this part."""
        text = self.write(handle, data, wait_ms=10000)
        return text if part in text else text + self.read_until(handle, part)

    def listed(self, **arguments):
        result = self.call("list_sandboxes", **arguments)
        self.assertEqual(support.json.loads(support.text_of(result)), result["structuredContent"])
        return result["structuredContent"]

    def all_listed(self):
        """The sandboxes of all pages."""
        page = self.listed()
        found = page["sandboxes"]
        while "next_offset" in page:
            page = self.listed(offset=page["next_offset"])
            found = found + page["sandboxes"]
        return found

    def broker(self):
        found = support.find(self.server.process.pid, "msp-broker")
        self.assertEqual(len(found), 1)
        return found[0]


class Yields(Case):
    def test_what_takes_longer_is_given_a_handle(self):
        result = self.call("run_command", command="echo first; sleep 2; echo second",
                           yield_ms=500, timeout_ms=58000)
        text = support.text_of(result)
        self.assertRegex(text, r"^first\n\[still running after [01]\.\d+ s · handle [a-z0-9]{26}-1 "
                               r"· will be killed in 5\d(\.\d)? s · read_output\(handle, wait_ms\) to go "
                               r"on, kill_execution to end\]$")
        handle = HANDLE.search(text).group()
        text = self.read_until(handle, "[exit 0", wait_ms=20000)
        self.assertRegex(text, r"^second\n(\[still running.*\n)?(\[exit 0 · \d+\.\d+ s.*\]\n)$")
        self.assertNotIn("first", text)

    def test_what_ends_in_time_leaves_nothing(self):
        result = self.call("run_command", command="echo all of it")
        self.assertNotIn("handle", result["_meta"]["msp/execution"])
        listed = self.listed()
        self.assertEqual((listed["sandboxes"], listed["omitted"]), ([], 0))

    def test_the_background(self):
        handle = self.start("sleep 1; echo done; exit 3")
        text = self.read_until(handle, "[exit 3", wait_ms=20000)
        self.assertTrue(text.startswith("done\n"), text)
        again = self.text("read_output", handle=handle)
        self.assertRegex(again, r"^\[exit 3 · \d+\.\d+ s · no new output\]$")
        meta = self.call("read_output", handle=handle)["_meta"]["msp/execution"]
        self.assertEqual((meta["state"], meta["verdict"], meta["exit_code"]),
                         ("ended", "exited", 3))

    def test_a_slow_build_is_one_turn(self):
        handle = self.start("for i in 1 2 3 4 5 6; do echo line $i; sleep 0.5; done; exit 4")
        text = self.text("read_output", handle=handle, wait_ms=50000)
        lines = "".join(f"line {number}\n" for number in range(1, 7))
        self.assertRegex(text, rf"\A{lines}\[exit 4 ")

    def test_a_slow_build_in_time(self):
        handle = self.start("for i in 1 2 3 4 5 6 7 8; do echo line $i; sleep 0.5; done; sleep 30")
        begin = time.monotonic()
        text = self.text("read_output", handle=handle, wait_ms=2000)
        self.assertGreater(time.monotonic() - begin, 1.9)
        self.assertRegex(text, r"\Aline 1\nline 2\n(line \d\n)+\[still running")
        last = int(re.findall(r"line (\d)", text)[-1])
        text = self.text("read_output", handle=handle, wait_ms=5000)
        self.assertTrue(text.startswith(f"line {last + 1}\n"), text)

    def test_a_full_page_and_a_prompt_come_at_once(self):
        begin = time.monotonic()
        handle = self.start("seq 1 5000; sleep 40")
        self.assertIn("[output cut", self.text("read_output", handle=handle, wait_ms=30000))
        handle = self.start("echo building; sleep 1; printf 'Go on? [y/n] '; read a; echo $a",
                            tty=True)
        text = self.text("read_output", handle=handle, wait_ms=30000)
        self.assertRegex(text, r"\Abuilding\r?\nGo on\? \[y/n\] \n\[still running")
        self.assertLess(time.monotonic() - begin, 20)

    def test_a_server_lives_as_long_whatever_it_yields(self):
        """With a moment to fail in it has the profile's most, as without; a plain command has not."""
        def time_of(**arguments):
            result = self.call("run_command", command="sleep 60", **arguments)
            handle = HANDLE.search(support.text_of(result)).group()
            text = self.read_until(handle, "will be killed in ", wait_ms=100)  # it has begun
            self.text("kill_execution", handle=handle)
            return re.search(r"will be killed in (.*?)( \(.*?\))? · ", text).group(1)
        for yield_ms in (0, 1, 300):
            self.assertRegex(time_of(yield_ms=yield_ms), r"^(3600|359\d(\.\d)?) s$")
        self.assertRegex(time_of(yield_ms=10000), r"^(4\d|50)(\.\d)? s$")
        self.assertRegex(time_of(yield_ms=300, timeout_ms=30000), r"^(2\d(\.\d)?|30) s$")

    def test_background_processes_end_with_their_command(self):
        """The control: a command of its own goes on after its call."""
        box = self.call("create_sandbox")["structuredContent"]["id"]
        self.addCleanup(self.call, "destroy_sandbox", sandbox=box)
        beat = "cd /workspace; while :; do date +%s%N > next; mv next beat; sleep 0.05; done"
        look = "cat beat; sleep 0.5; cat beat"
        self.text("run_command", sandbox=box, command=f"({beat}) & "
                  "until [ -s /workspace/beat ]; do sleep 0.05; done")
        before, after = self.text("run_command", sandbox=box, command=look).split()[:2]
        self.assertEqual(before, after)
        handle = self.start(beat, sandbox=box)
        before, after = self.text("run_command", sandbox=box, command=look).split()[:2]
        self.assertNotEqual(before, after)
        self.text("kill_execution", handle=handle)

    def test_code_yields_too(self):
        result = self.call("run_code", language="python", yield_ms=300, interactive=True,
                           code="print('name?', flush=True)\nprint('hello', input())")
        handle = HANDLE.search(support.text_of(result)).group()
        self.assertIn("send_input to type", support.text_of(result))
        self.assertIn("hello you\n", self.write_until(handle, "you\n", "[exit 0"))

    def test_a_start_that_fails_says_so_at_once(self):
        self.assertIn("ENOENT", self.problem("run_command", argv=["no-such"], yield_ms=5000))
        result = self.call("run_command", argv=["no-such"], yield_ms=0)
        if not result["isError"]:  # it was on its way
            handle = HANDLE.search(support.text_of(result)).group()
            self.assertIn("ENOENT", self.problem("read_output", handle=handle))

    def test_the_limit_of_time_holds(self):
        handle = self.start("echo begun; sleep 60", timeout_ms=1500)
        text = self.read_until(handle, "[stopped at")
        self.assertRegex(text, r"will be killed in [01]\.\d+ s")
        self.assertRegex(text, r"\[stopped at its time limit of 1\.50 s; next time pass "
                               r"timeout_ms, at most \d+ h · ")

    def test_more_time_for_what_runs(self):
        """Twice its first limit; test_the_limit_of_time_holds is the control."""
        handle = self.start("sleep 4; echo done", timeout_ms=2000)
        text = self.text("read_output", handle=handle, wait_ms=0, timeout_ms=20000)
        self.assertRegex(text, r"will be killed in (19|20)(\.\d)? s")
        self.assertIn("[exit 0", self.read_until(handle, "[exit"))
        handle = self.start("sleep 60", timeout_ms=2000)
        text = self.text("read_output", handle=handle, wait_ms=0, timeout_ms=4000000000)
        self.assertRegex(text, r"will be killed in 3[56]\d\d s, the most of its profile")
        self.text("kill_execution", handle=handle)
        handle = self.start("sleep 60", timeout_ms=2000)
        self.text("read_output", handle=handle, wait_ms=0, timeout_ms=3000)
        self.assertRegex(self.read_until(handle, "[stopped at"),
                         r"\[stopped at its time limit of [3-9](\.\d+)? s; next time pass timeout_ms, ")

    def test_input_ends_unless_asked_for(self):
        self.assertIn("[exit 0", self.text("run_command", command="cat"))
        handle = self.start("cat; sleep 5")
        self.assertIn("`interactive` or `tty`", self.problem("send_input", handle=handle,
                                                             data="x"))

    def test_cancelling_a_first_call_kills(self):
        number = self.server.post("tools/call", {"name": "run_command", "arguments": {
            "command": "sleep 4713.5"}})
        self.assertTrue(support.wait_until(lambda: support.find(self.server.process.pid, "sleep")))
        self.server.notify("notifications/cancelled", {"requestId": number})
        self.assertTrue(support.wait_until(
            lambda: not support.find(self.server.process.pid, "sleep"), 2))
        self.assertEqual(self.listed()["sandboxes"], [])

    def test_cancelling_a_wait_kills_nothing(self):
        handle = self.start("read line; echo got $line", interactive=True)
        for tool in ("read_output", "send_input"):
            number = self.server.post("tools/call", {"name": tool, "arguments": {
                "handle": handle, "wait_ms": 50000}})
            time.sleep(0.1)
            self.server.notify("notifications/cancelled", {"requestId": number})
            self.assertEqual(self.server.request("ping"), {})
            self.assertNotIn(number, self.server.answers)
        self.assertIn("got it", self.write_until(handle, "it\n", "[exit 0"))

    def test_two_wait_for_the_same(self):
        handle = self.start("sleep 1; echo both")
        numbers = [self.server.post("tools/call", {"name": "read_output", "arguments": {
            "handle": handle, "wait_ms": 20000}}) for _ in range(2)]
        texts = [support.text_of(self.server.answer(number)) for number in numbers]
        self.assertTrue(any("both" in text for text in texts), texts)

    def test_progress(self):
        number = self.server.post("tools/call", {
            "name": "run_command", "_meta": {"progressToken": "p"},
            "arguments": {"command": "echo 12345; sleep 3.5", "yield_ms": 20000}})
        self.assertIn("[exit 0", support.text_of(self.server.answer(number)))
        said = [message["params"] for message in self.server.other]
        self.assertGreaterEqual(len(said), 2)
        self.assertLessEqual(len(said), 7)
        values = [params["progress"] for params in said]
        self.assertEqual(values, sorted(set(values)))
        self.assertTrue(all(params["progressToken"] == "p" for params in said))
        self.assertRegex(said[0]["message"], r"^\d+ s, \d bytes of output$")


class Handles(Case):
    def test_handles_that_are_none(self):
        handle = self.start("sleep 20")
        for wrong in ("", "x", handle.upper(), handle[:-1], handle + "1", " " + handle,
                      handle[:26], handle[:-1] + "2"):
            for tool in ("read_output", "send_input", "kill_execution"):
                with self.subTest(tool=tool, handle=wrong):
                    text = self.problem(tool, handle=wrong)
                    self.assertIn("no execution with the handle", text)
                    self.assertIn("list_sandboxes", text)

    def test_handles_of_another_server(self):
        handle = self.start("sleep 20")
        with support.Server() as other:
            other.initialize()
            result = other.call("read_output", handle=handle)
            self.assertTrue(result["isError"])
            self.assertEqual(other.call("list_sandboxes")["structuredContent"]["sandboxes"], [])

    def test_handles_are_unlike(self):
        handles = {self.start("sleep 5") for _ in range(20)}
        self.assertEqual(len(handles), 20)
        self.assertGreater(len({handle[:3] for handle in handles}), 10)

    def test_the_list(self):
        first = self.start("echo $0; sleep 20 # the first", timeout_ms=30000)
        second = self.start("sleep 0.1; exit 7", profile="strict")
        self.read_until(second, "[exit 7")
        boxes = self.listed()["sandboxes"]
        self.assertEqual([box["executions"][0]["handle"] for box in boxes], [second, first])
        self.assertEqual([box["profile"] for box in boxes], ["strict", "default"])
        for box in boxes:
            self.assertEqual(box["kind"], "ephemeral")
            self.assertEqual(box["executions"][0]["handle"], box["id"] + "-1")
        ended, running = (box["executions"][0] for box in boxes)
        self.assertEqual((ended["state"], ended["verdict"], ended["exit_code"]),
                         ("ended", "exited", 7))
        self.assertEqual(running["state"], "running")
        self.assertNotIn("verdict", running)
        self.assertEqual(running["command"], "echo $0; sleep 20 # the first")
        self.assertLess(running["age_ms"] + running["left_ms"], 31000)
        self.assertGreater(running["left_ms"], 20000)

    def test_kill(self):
        handle = self.start("echo here; sleep 4714.5 & sleep 4714.25")
        self.assertTrue(support.wait_until(
            lambda: len(support.find(self.server.process.pid, "sleep")) == 2))
        text = self.text("kill_execution", handle=handle)
        self.assertRegex(text, r"^here\n\[cancelled: every process was killed\]$")
        self.assertEqual(support.find(self.server.process.pid, "sleep"), [])
        self.assertIn("[cancelled", self.text("kill_execution", handle=handle), "once more")

    def test_signals(self):
        handle = self.start("for s in HUP INT QUIT USR1 USR2 TERM; do trap \"echo got-$s\" $s; "
                            "done; echo ready; while :; do sleep 0.05; done")
        self.read_until(handle, "ready")
        for name in ("HUP", "INT", "QUIT", "USR1", "USR2", "TERM"):
            with self.subTest(signal=name):
                self.assertIn(f"[SIG{name} was sent to {handle}",
                              self.text("kill_execution", handle=handle, signal=name))
                self.read_until(handle, f"got-{name}")
        self.text("kill_execution", handle=handle, signal="STOP")
        time.sleep(0.3)
        self.text("read_output", handle=handle, wait_ms=0)
        self.text("kill_execution", handle=handle, signal="USR1")
        self.assertIn("no new output", self.text("read_output", handle=handle, wait_ms=500))
        self.text("kill_execution", handle=handle, signal="CONT")
        self.read_until(handle, "got-USR1")
        self.assertIn("[cancelled", self.text("kill_execution", handle=handle, signal="KILL"))

    def test_many_in_the_background(self):
        handles = [self.start(f"sleep 3; echo number-{index}; sleep 0.2") for index in range(60)]
        self.assertIn("next_offset", self.listed(), "more than a page")
        self.assertEqual(len(self.all_listed()), 60)
        for index, handle in enumerate(handles):
            self.assertIn(f"number-{index}\n", self.read_until(handle, "[exit 0"))

    def test_the_end_of_the_client_ends_all(self):
        for _ in range(5):
            self.start("sleep 4715.5 & sleep 4715.25")
        self.start("exec bash -i", tty=True)
        self.assertTrue(support.wait_until(
            lambda: len(support.find(self.server.process.pid, "sleep")) == 10))
        below = support.descendants(self.server.process.pid)
        self.server.process.stdin.close()
        self.assertTrue(support.wait_until(
            lambda: not any(support.is_alive(pid) for pid in below), 20, 0.001))


class Talking(Case):
    def test_python_without_a_terminal(self):
        handle = self.start("exec python3 -iq", interactive=True)
        self.assertIn("42", self.write_until(handle, "x = 21\nprint(x * 2)\n", "42"))
        self.assertIn("ZeroDivisionError", self.write_until(handle, "1 / 0\n", "ZeroDivision"))
        self.assertIn("[exit 4", self.write_until(handle, "exit(4)\n", "[exit 4"))

    def test_python_with_a_terminal(self):
        handle = self.start("exec python3 -q", tty=True)
        self.read_until(handle, ">>> ")
        text = self.write_until(handle, "import os; print(os.isatty(0), 6 * 7)\n", "True 42")
        self.assertNotIn("[stderr]", text)
        self.assertIn("[exit 0", self.text("send_input", handle=handle, eof=True, wait_ms=10000))

    def test_bash_without_a_terminal(self):
        handle = self.start("exec bash", interactive=True)
        self.assertIn("/workspace", self.write_until(handle, "pwd\n", "/workspace"))
        self.assertIn("kept", self.write_until(handle, "a=kept\necho $a\n", "kept\n"))
        text = self.write(handle, "echo last; exit 5\n", eof=True, wait_ms=10000)
        self.assertRegex(text, r"^last\n\[exit 5 ")

    def test_bash_with_a_terminal(self):
        handle = self.start("exec bash --norc -i", tty=True)
        self.read_until(handle, "bash-")
        self.assertIn("24 80\n", self.write_until(handle, "stty size\n", "24 80"))
        self.text("send_input", handle=handle, tty_rows=50, tty_columns=132)
        self.assertIn("50 132\n", self.write_until(handle, "stty size\n", "50 132"))
        self.write(handle, "sleep 4716.5\n")
        self.assertTrue(support.wait_until(lambda: support.find(self.server.process.pid, "sleep")))
        self.assertIn("^C", self.write_until(handle, "\u0003", "bash-"))
        self.assertEqual(support.find(self.server.process.pid, "sleep"), [])
        self.assertIn("[exit 130", self.write_until(handle, "exit\n", "[exit"))

    def test_a_terminal_of_another_size(self):
        text = self.text("run_command", command="stty size", tty=True, tty_rows=7,
                         tty_columns=300)
        self.assertTrue(text.startswith("7 300\n"), text)

    def test_resizing_is_told(self):
        handle = self.start("trap 'stty size' WINCH; echo ready; while :; do sleep 0.05; done",
                            tty=True)
        self.read_until(handle, "ready")
        text = self.text("send_input", handle=handle, tty_rows=11, tty_columns=22, wait_ms=5000)
        self.assertIn("11 22", text)
        self.assertIn("both `tty_rows` and", self.problem("send_input", handle=handle,
                                                          tty_rows=3))

    def test_what_has_no_terminal_has_no_size(self):
        handle = self.start("cat", interactive=True)
        self.assertIn("no terminal", self.problem("send_input", handle=handle, tty_rows=3,
                                                  tty_columns=3))

    def test_the_end_of_input(self):
        handle = self.start("wc -c", interactive=True)
        self.assertIn("no new output", self.write(handle, "12345", wait_ms=300))
        self.assertRegex(self.write(handle, "678", eof=True, wait_ms=10000), r"^8\n\[exit 0")
        self.assertIn("has ended", self.problem("send_input", handle=handle, data="x"))

    def test_input_after_its_end(self):
        handle = self.start("cat; sleep 20", interactive=True)
        self.assertIn("x\n", self.write_until(handle, "x\n", "x\n"))
        self.text("send_input", handle=handle, eof=True, wait_ms=0)
        self.assertIn("is closed", self.problem("send_input", handle=handle, data="x"))

    def test_input_that_nobody_wants(self):
        handle = self.start("exec <&-; echo closed; sleep 20", interactive=True)
        self.read_until(handle, "closed")
        self.assertIn("is closed", self.problem("send_input", handle=handle, data="x"))

    def test_much_input_in_pieces(self):
        handle = self.start("sleep 1; wc -c", interactive=True)
        for _ in range(8):
            self.write(handle, "x" * 1000000, wait_ms=0)
        self.assertRegex(self.text("send_input", handle=handle, data="y", eof=True,
                                   wait_ms=30000), r"^8000001\n\[exit 0")

    def test_input_is_bounded(self):
        handle = self.start("sleep 60", interactive=True)
        self.write(handle, "x" * 8000000, wait_ms=0)
        self.assertIn("12 MiB", self.problem("send_input", handle=handle, data="x" * 5000000))
        self.text("kill_execution", handle=handle)
        handle = self.start("wc -c", interactive=True)
        self.assertIn("5000000", self.write_until(handle, "x" * 5000000, "still"
                                                  ) + self.text("send_input", handle=handle,
                                                                eof=True, wait_ms=20000))


class Logs(Case):
    def original(self, count):
        return "".join(f"{number}\n" for number in range(1, count + 1))

    def fetch(self, handle, stream, offset, **arguments):
        """Everything from there on, piece by piece."""
        pieces = []
        while True:
            text = self.text("read_output", handle=handle, stream=stream, offset=offset,
                             wait_ms=0, **arguments)
            match = re.search(r"\n\[(\w+) from (\d+) to before (\d+) of (\d+) bytes · [^\]]*"
                              r"offset=(\d+)\]\n\[exit 0[^\]]*\]$", text)
            if not match:
                self.assertIn("no new output", text)
                return "".join(pieces)
            self.assertEqual(match.group(1), stream)
            self.assertEqual(int(match.group(2)), offset)
            self.assertEqual(match.group(3), match.group(5))
            offset = int(match.group(5))
            pieces.append(text[:offset - int(match.group(2))])

    def test_what_was_cut_can_be_had(self):
        result = self.call("run_command", command="seq 1 100000; seq 1 50000 >&2")
        text = support.text_of(result)
        self.assertLess(len(text), 10000)
        match = re.search(r"\[output cut: stdout has 588895 bytes, stderr 288894 · "
                          r'read_output\(handle="([^"]+)", stream="stdout", offset=(\d+)\) and '
                          r'read_output\(handle="([^"]+)", stream="stderr", offset=(\d+)\) shows '
                          r"what was omitted\]\n\[exit 0 ", text)
        self.assertTrue(match, text[-1000:])
        handle, offset = match.group(1), int(match.group(2))
        self.assertEqual(result["_meta"]["msp/execution"]["handle"], handle)
        whole = self.original(100000)
        self.assertTrue(text.startswith(whole[:offset]))
        self.assertTrue(self.fetch(handle, "stdout", 0, max_bytes=100000) == whole)
        self.assertTrue(self.fetch(handle, "stdout", offset, max_bytes=77777) == whole[offset:])
        self.assertTrue(self.fetch(handle, "stderr", 0, max_bytes=33333) == self.original(50000))

    def test_every_piece_is_text(self):
        whole = "日本語 äöü €\n" * 3000
        result = self.call("run_code", language="python",
                           code=f"print({whole[:10]!r} * 3000, end='')")
        handle = result["_meta"]["msp/execution"]["handle"]
        total, offset, pieces = len(whole.encode()), 0, []
        while offset < total:
            text = self.text("read_output", handle=handle, offset=offset, wait_ms=0,
                             max_bytes=997)
            begin, offset = offset, int(re.search(r"offset=(\d+)\]", text).group(1))
            pieces.append(text.encode()[:offset - begin].decode())
        self.assertTrue("".join(pieces) == whole)

    def test_the_middle_of_too_much_is_gone(self):
        result = self.call("run_command", command="seq 1 2000000", yield_ms=50000)
        handle = result["_meta"]["msp/execution"]["handle"]
        total = result["_meta"]["msp/execution"]["stdout_bytes"]
        whole = self.original(2000000)
        self.assertEqual(total, len(whole))
        text = self.text("read_output", handle=handle, offset=total // 2, wait_ms=0)
        match = re.match(r"\[bytes (\d+) to (\d+) of stdout are not kept: [^\]]*\]\n", text)
        self.assertEqual(int(match.group(1)), total // 2)
        after = int(match.group(2)) + 1
        self.assertTrue(text[match.end():].startswith(whole[after:after + 9000]))
        self.assertGreater(total - after, 3 << 20, "the end is kept")
        head = self.text("read_output", handle=handle, offset=4000000, wait_ms=0)
        self.assertTrue(head.startswith(whole[4000000:4009000]))
        self.assertIn(f"[stdout has only {total} bytes so far]",
                      self.text("read_output", handle=handle, offset=total + 5, wait_ms=0))

    def test_one_stream_at_a_time(self):
        handle = self.start("echo out; echo err >&2; sleep 20")
        self.assertTrue(self.text("read_output", handle=handle, stream="stderr", wait_ms=3000)
                        .startswith("[stderr]\nerr\n[still"))
        self.assertTrue(self.text("read_output", handle=handle, wait_ms=500)
                        .startswith("out\n[still"))

    def test_an_offset_waits(self):
        handle = self.start("printf 12345; sleep 1; printf 6789; sleep 20")
        text = self.text("read_output", handle=handle, offset=5, wait_ms=5000)
        self.assertTrue(text.startswith("6789\n[stdout from 5 to before 9 of 9 bytes"), text)

    def test_a_flood_that_nobody_reads(self):
        handle = self.start(f"yes | head -c {FLOOD_BYTES}; echo; echo the-end; sleep 30")
        end = time.monotonic() + 120
        while "the-end" not in (text := self.text("read_output", handle=handle, wait_ms=50000)):
            self.assertLess(time.monotonic(), end)
            self.assertLess(len(text), 10500)
        self.assertLess(len(text), 10500)
        meta = self.call("read_output", handle=handle, wait_ms=0)["_meta"]["msp/execution"]
        self.assertEqual(meta["stdout_bytes"], FLOOD_BYTES + 9)
        self.assertLess(self.peak_kib(), MEMORY_KIB)

    def test_the_limit_of_output(self):
        handle = self.start("yes", profile="strict")
        self.assertIn("[output limit reached", self.read_until(handle, "limit reached"))

    def test_old_logs_make_room(self):
        handles = []
        for index in range(12):
            result = self.call("run_command", command=f"echo {index}; head -c 9000000 /dev/zero",
                               yield_ms=50000)
            handles.append(result["_meta"]["msp/execution"]["handle"])
        text = self.text("read_output", handle=handles[0], offset=0, wait_ms=0)
        self.assertIn("[the log was dropped", text)
        self.assertIn("stdout has 9000002 bytes", text)
        self.assertIn("[exit 0", text)
        text = self.text("read_output", handle=handles[-1], offset=0, wait_ms=0, max_bytes=10)
        self.assertTrue(text.startswith("11\n"), text)
        self.assertLess(self.peak_kib(), MEMORY_KIB)

    @unittest.skipUnless(support.IS_ALL,
                         "tests/unit/broker/executions/executions_kept_test.c has the number")
    def test_only_so_many_are_kept(self):
        first = self.start("true; sleep 0.05")
        self.read_until(first, "[exit 0")
        for _ in range(260):
            self.call("run_command", command="head -c 20000 /dev/zero")
        self.assertIn("no execution", self.problem("read_output", handle=first))
        listed = self.listed()
        self.assertEqual(len(listed["sandboxes"]) + listed["omitted"], 256)

    def peak_kib(self):
        with open(f"/proc/{self.broker()}/status", encoding="utf-8") as file:
            return int(re.search(r"^VmHWM:\s+(\d+)", file.read(), re.M).group(1))


if __name__ == "__main__":
    unittest.main()
