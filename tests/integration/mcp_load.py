#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many calls, much output, cancellation, and the end: through the real server."""
import contextlib
import json
import os
import signal
import subprocess
import time
import unittest

import support

FLOOD_GIB = int(os.environ.get("MSP_TEST_FLOOD_GIB", "2"))
MEMORY_KIB = 64 * 1024
END_S = 15


def find(above, name):
    """The processes below `above` with this name."""
    found = []
    for pid in support.descendants(above):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", encoding="utf-8") as file:
            if file.read().strip() == name and support.is_alive(pid):
                found.append(pid)
    return found


def peak_kib(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    return 0


class Load(unittest.TestCase):
    def setUp(self):
        self.server = support.Server()
        self.server.initialize()
        self.addCleanup(self.server.close)

    def broker(self):
        found = find(self.server.process.pid, "msp-broker")
        self.assertEqual(len(found), 1)
        return found[0]

    def sleepers(self):
        return find(self.server.process.pid, "sleep")

    def post(self, command, **arguments):
        arguments.setdefault("yield_ms", support.YIELD_MS)
        return self.server.post("tools/call", {"name": "run_command",
                                               "arguments": dict(arguments, command=command)})

    def until_over(self, result):
        """The result of the end of what this one is about."""
        facts = result["_meta"]["msp/execution"]
        while facts.get("state") == "running":
            result = self.server.call("read_output", 90, handle=facts["handle"], stream="stderr",
                                      wait_ms=support.YIELD_MS)
            facts = result["_meta"]["msp/execution"]
        return result

    def test_a_flood_costs_constant_memory(self):
        size = FLOOD_GIB << 30
        result = self.until_over(self.server.call(
            "run_command", 90, command=f"head -c {size} /dev/zero", timeout_ms=270000))
        self.assertEqual(result["_meta"]["msp/execution"]["stdout_bytes"], size)
        self.assertLess(peak_kib(self.broker()), MEMORY_KIB)

    def test_large_messages_cost_bounded_memory(self):
        body = "\\n" * 4900000
        for _ in range(3):
            line = ('{"jsonrpc":"2.0","id":"l","method":"tools/call","params":{'
                    '"name":"run_command","arguments":{"command":"wc -c","stdin":"%s"}}}\n' % body)
            self.server.send_bytes(line.encode())
            self.assertIn("4900000", json.dumps(self.server.receive()))
        self.server.send_bytes(b"x" * 100000000 + b"\n")
        self.assertEqual(self.server.receive()["error"]["code"], -32600)
        self.server.send_bytes(b"[" + b"1," * 5000000 + b"1]\n")
        self.assertEqual(self.server.receive()["error"]["code"], -32600)
        self.assertLess(peak_kib(self.broker()), MEMORY_KIB)

    def test_calls_run_side_by_side(self):
        """None ends before all of them have begun."""
        numbers = [self.post(f"sleep 1000; echo {index}") for index in range(20)]
        self.assertTrue(support.wait_until(lambda: len(self.sleepers()) == 20, 60))
        for pid in self.sleepers():
            os.kill(pid, signal.SIGKILL)
        for index, number in enumerate(numbers):
            text = support.text_of(self.server.answer(number, 60))
            self.assertTrue(text.startswith(f"{index}\n"), text)
            self.assertIn("[exit 0", text)

    def test_more_calls_than_there_is_room_for(self):
        """Those that got a place are ended once as many as have none were told."""
        for _ in range(160):
            self.post("sleep 4714.5")
        results = []
        end = time.monotonic() + 120
        while len(results) < 160 and time.monotonic() < end:
            with contextlib.suppress(TimeoutError):
                results.append(self.server.receive(0.2)["result"])
            if len(results) >= 32:
                for pid in self.sleepers():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGTERM)
        self.assertEqual(len(results), 160)
        refused = [result for result in results if result["isError"]]
        self.assertGreaterEqual(len(refused), 32)
        for result in refused:
            self.assertRegex(support.text_of(result), r"call again|Call again")
        for result in results:
            if not result["isError"]:
                self.assertIn("SIGTERM", support.text_of(result))
        self.assertIn("fine", support.text_of(self.server.call("run_command", command="echo fine")))

    def test_cancelling_kills_the_tree(self):
        marks = ("4711.125", "4711.25")
        number = self.post(f"sleep {marks[0]} & setsid sleep {marks[1]} & wait")
        self.assertTrue(support.wait_until(lambda: len(self.sleepers()) == 2))
        other = self.post("sleep 1; echo other")
        self.server.notify("notifications/cancelled", {"requestId": number, "reason": "enough"})
        self.assertTrue(support.wait_until(lambda: len(self.sleepers()) <= 1))
        self.assertIn("other", support.text_of(self.server.answer(other)))
        self.assertTrue(support.wait_until(lambda: not self.sleepers()))
        self.assertEqual(self.server.request("ping"), {})
        self.assertNotIn(number, self.server.answers)
        self.assertEqual(self.server.other, [])

    def test_end_of_input_ends_everything_at_once(self):
        self.post("sleep 4712.5 & sleep 4712.25")
        self.assertTrue(support.wait_until(lambda: len(self.sleepers()) == 2))
        below = support.descendants(self.server.process.pid) + [self.server.process.pid]
        self.server.send_bytes(b'{"jsonrpc":"2.0","id":"half')
        self.server.process.stdin.close()
        self.assertTrue(support.wait_until(
            lambda: self.server.process.poll() is not None and
            not any(support.is_alive(pid) for pid in below), END_S, 0.001))
        self.assertEqual(self.server.process.returncode, 0)

    def test_finished_answers_are_flushed(self):
        for index in range(50):
            self.server.send({"jsonrpc": "2.0", "id": f"f{index}", "method": "tools/list"})
        self.server.process.stdin.close()
        for index in range(50):
            self.assertEqual(self.server.receive()["id"], f"f{index}")
        with self.assertRaises(support.Gone):
            self.server.receive()
        self.assertEqual(self.server.process.wait(60), 0)


class SilentClients(unittest.TestCase):
    """Clients that do not read what they asked for."""

    def setUp(self):
        self.process = subprocess.Popen([support.MSP, "serve", *support.limits()],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.process.communicate)

    def test_a_stuck_client_does_not_fill_memory(self):
        line = b'{"jsonrpc":"2.0","id":"s","method":"tools/list"}\n'
        asked = 0
        os.set_blocking(self.process.stdin.fileno(), False)
        end = time.monotonic() + 1
        while time.monotonic() < end:
            try:
                asked += os.write(self.process.stdin.fileno(), line) == len(line)
            except BlockingIOError:
                time.sleep(0.001)
        self.assertLess(asked, 10000, "the server goes on reading")
        self.assertLess(peak_kib(find(self.process.pid, "msp-broker")[0]), MEMORY_KIB)
        for _ in range(asked):
            self.assertIn(b'"tools":[', self.process.stdout.readline())

    def test_a_closed_output_ends_it(self):
        self.process.stdout.close()
        self.process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        self.process.stdin.flush()
        self.assertIsNotNone(self.process.wait(60))
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout = self.process.stdin = None


if __name__ == "__main__":
    unittest.main()
