#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients that do not read, hardly write, or hold half a connection: their own server stays bounded
and loses nothing, everybody else's does not notice, and their end is the end of everything."""
import contextlib
import json
import os
import re
import socket
import subprocess
import threading
import time
import unittest

import faults
import leftovers
import support

MEMORY_KIB = (64 + 32) * 1024  # what is kept of all outputs, and everything else
# Far above what a busy machine takes, far below what a wait for the other side would take.
OTHERS_S = 20  # another client's `true` takes at most this long
END_S = 20
FLOOD_BYTES = 10_000_000
REQUESTS = 4_000  # more than fits into pipes
shared = {}


def setUpModule():
    faults.prepare()
    shared["before"] = leftovers.Snapshot()
    shared["bystander"] = faults.Bystander()


def tearDownModule():
    shared["bystander"].server.close()


def peak_kib(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return int(re.search(r"^VmHWM:\s+(\d+)", file.read(), re.M).group(1))


class Slow(unittest.TestCase):
    def setUp(self):
        self.watching = True
        self.longest = 0.0
        self.wrong = []
        self.watcher = threading.Thread(target=self.watch_others)
        self.watcher.start()

    def watch_others(self):
        """The bystander runs `echo` all the time."""
        while self.watching:
            start = time.monotonic()
            if not shared["bystander"].is_well():
                self.wrong.append(start)
            self.longest = max(self.longest, time.monotonic() - start)
            time.sleep(0.2)

    def tearDown(self):
        self.watching = False
        self.watcher.join()
        self.doCleanups()
        self.assertEqual(self.wrong, [], "another client's execution went wrong")
        self.assertLess(self.longest, OTHERS_S)
        self.assertEqual(shared["bystander"].wait_others_gone(), [])
        self.assertEqual(shared["before"].left(), {})

    def start(self, stdin=subprocess.PIPE, stdout=subprocess.PIPE):
        process = subprocess.Popen([support.MSP, "serve", *support.limits()], stdin=stdin,
                                   stdout=stdout, stderr=subprocess.PIPE)
        self.addCleanup(self.close, process)
        return process

    def close(self, process):
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream and not stream.closed:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        process.wait(END_S)

    def broker(self, process):
        """Its broker, once it is there."""
        self.assertTrue(support.wait_until(lambda: support.named(process.pid, "msp-broker")))
        return support.named(process.pid, "msp-broker")[0]

    def assert_ends(self, process, limit=END_S):
        start = time.monotonic()
        process.wait(limit + 5)
        self.assertEqual(shared["bystander"].wait_others_gone(limit), [])
        self.assertLess(time.monotonic() - start, limit)

    def test_much_output_that_is_not_read(self):
        process = self.start()
        for number in range(1, 11):
            process.stdin.write(faults.call_line(
                number, command=f"head -c {FLOOD_BYTES} /dev/zero; echo {number} >&2"))
        process.stdin.flush()
        broker = self.broker(process)
        # Every execution gets its end although no answer is taken.
        self.assertTrue(support.wait_until(lambda: len(support.descendants(process.pid)) > 2))
        self.assertTrue(support.wait_until(
            lambda: len(support.descendants(process.pid)) == 2, 60), "executions wait for a reader")
        self.assertLess(peak_kib(broker), MEMORY_KIB)
        seen = {}
        for _ in range(10):
            message = json.loads(process.stdout.readline())
            seen[message["id"]] = message["result"]
        self.assertEqual(set(seen), set(range(1, 11)))
        for number, result in seen.items():
            execution = result["_meta"]["msp/execution"]
            self.assertEqual((execution["verdict"], execution["stdout_bytes"]),
                             ("exited", FLOOD_BYTES))
            self.assertIn(f"{number}\n", support.text_of(result))
        process.stdin.close()
        self.assertEqual(process.stdout.read(), b"")
        self.assertEqual(process.wait(END_S), 0)

    def test_requests_without_reading(self):
        """All are answered, in order, once somebody reads."""
        process = self.start()
        broker = self.broker(process)
        lines = b"".join(json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/list"}
                                    ).encode() + b"\n" for number in range(REQUESTS))
        writer = threading.Thread(target=lambda: (process.stdin.write(lines),
                                                  process.stdin.flush()))
        writer.start()
        time.sleep(1)
        self.assertTrue(writer.is_alive(), "it took all of them without a reader")
        self.assertLess(peak_kib(broker), MEMORY_KIB)
        for number in range(REQUESTS):
            self.assertEqual(json.loads(process.stdout.readline())["id"], number)
        writer.join()
        self.assertLess(peak_kib(broker), MEMORY_KIB)
        process.stdin.close()
        self.assertEqual(process.wait(END_S), 0)

    def test_executions_without_reading(self):
        """More than run at once: each is executed or refused, none is lost."""
        process = self.start()
        broker = self.broker(process)
        count = 300
        lines = b"".join(faults.call_line(number, command=f"echo {number}", yield_ms=support.YIELD_MS)
                         for number in range(count))
        writer = threading.Thread(target=lambda: (process.stdin.write(lines),
                                                  process.stdin.flush()))
        writer.start()
        time.sleep(1)
        seen = {}
        for _ in range(count):
            message = json.loads(process.stdout.readline())
            seen[message["id"]] = message["result"]
        writer.join()
        self.assertEqual(len(seen), count)
        executed = 0
        for number, result in seen.items():
            if result["isError"]:
                self.assertRegex(support.text_of(result), "[Cc]all again")
            else:
                text = support.text_of(result)
                self.assertTrue(text.startswith(f"{number}\n[exit 0"), (number, text))
                executed += 1
        self.assertGreaterEqual(executed, 128)
        self.assertLess(peak_kib(broker), MEMORY_KIB)
        process.stdin.close()
        self.assertEqual(process.wait(END_S), 0)

    def test_one_byte_a_second(self):
        process = self.start()
        line = faults.call_line(1, command="echo slowly")
        for byte in line[:5]:
            process.stdin.write(bytes([byte]))
            process.stdin.flush()
            time.sleep(1)
        process.stdin.write(line[5:])
        process.stdin.flush()
        self.assertIn("slowly", json.loads(process.stdout.readline())["result"]["content"][0]
                      ["text"])
        # Half a line is no line, and its end is the end.
        process.stdin.write(line[:20])
        process.stdin.close()
        self.assertEqual(process.stdout.read(), b"")
        self.assert_ends(process)

    def test_a_reader_of_one_byte_at_a_time(self):
        process = self.start()
        process.stdin.write(faults.call_line(1, command="seq 1 2000"))
        process.stdin.flush()
        text = b""
        while not text.endswith(b"\n"):
            text += os.read(process.stdout.fileno(), 1)
        self.assertEqual(json.loads(text)["id"], 1)

    def test_only_its_output_is_closed(self):
        """Seen when the first answer cannot be written."""
        process = self.start()
        process.stdin.write(faults.call_line(1, command="sleep 60") +
                            faults.call_line(2, command="sleep 0.3; echo answer"))
        process.stdin.flush()
        self.broker(process)
        process.stdout.close()
        time.sleep(0.3)
        self.assert_ends(process)

    def test_half_open_sockets(self):
        for how in (socket.SHUT_WR, socket.SHUT_RD, socket.SHUT_RDWR):
            with self.subTest(how=how):
                ours, theirs = socket.socketpair()
                process = self.start(theirs, theirs)
                theirs.close()
                ours.sendall(faults.call_line(1, command="echo first"))
                self.assertIn(b"first", ours.makefile("rb").readline())
                ours.sendall(faults.call_line(2, command="sleep 60"))
                self.assertTrue(support.wait_until(
                    lambda: len(support.descendants(process.pid)) > 3))
                ours.shutdown(how)
                if how == socket.SHUT_RD:  # it learns it when it has something to say
                    ours.sendall(b'{"jsonrpc":"2.0","id":3,"method":"ping"}\n')
                self.assert_ends(process)
                ours.close()

    def test_an_end_while_nothing_is_read(self):
        """It looks for the end of its client once a second then."""
        process = self.start()
        line = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'
        os.set_blocking(process.stdin.fileno(), False)
        end = time.monotonic() + 1
        while time.monotonic() < end:
            with contextlib.suppress(BlockingIOError):
                os.write(process.stdin.fileno(), line)
        process.stdin.close()
        self.assert_ends(process)

    def test_run_into_a_closed_pipe(self):
        process = subprocess.Popen([support.MSP, "run", *support.limits(), "--", "yes"],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        process.stdout.readline()
        process.stdout.close()
        self.assertEqual(process.wait(END_S), 128 + 13)
        process.stderr.close()

    def test_run_whose_output_nobody_reads(self):
        """msp run waits and keeps no more than its buffer; the timeout still counts."""
        process = subprocess.Popen(
            [support.MSP, "run", *support.limits(), "--timeout", "1", "--", "yes"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(2)
        self.assertLess(peak_kib(process.pid), 4096)
        self.assertEqual([name for _, name, _ in leftovers.describe(
            support.descendants(process.pid)) if name == "yes"], [], "the timeout did not count")
        self.assertTrue(process.stdout.read().startswith(b"y\n"))
        self.assertEqual(process.wait(END_S), 124)
        self.assertIn(b"timeout", process.stderr.read())
        process.stdout.close()
        process.stderr.close()


if __name__ == "__main__":
    unittest.main()
