#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""32 threads at once, through one server and through `msp run`: every execution gives its own
answer, and when they are done nothing is left and nothing has grown."""
import concurrent.futures
import os
import re
import subprocess
import sys
import threading
import time
import unittest

import leftovers
import support

THREADS = 32
CALLS = 20
RUNS = 4
KINDS_EACH = 2  # of the ends of a run, by each thread: THREADS times as many in all
GROWTH_KIB = 1024
# A table of descriptors only ever grows, to the next power of two of the most that were open at
# once: THREADS executions begun at one moment need at most this, one kept of every third would
# need more.
SLOTS = 512
before = {}


def setUpModule():
    if os.geteuid() == 0:
        raise unittest.SkipTest("needs an ordinary user")
    leftovers.become_reaper()
    support.limits()
    before["mounts"] = leftovers.mounts()
    before["cgroups"] = leftovers.cgroups()


class SharedServer:
    """One server for many threads: each waits for its own answer."""

    def __init__(self):
        self.server = support.Server(stderr=subprocess.DEVNULL)
        self.server.initialize()
        self.lock = threading.Lock()
        self.waiting = {}
        threading.Thread(target=self.distribute, daemon=True).start()

    def distribute(self):
        while True:
            try:
                message = self.server.receive(timeout=600)
            except (support.Gone, TimeoutError):
                break
            self.waiting.pop(message["id"]).set_result(message)
        for future in self.waiting.values():
            future.set_exception(support.Gone())

    def call(self, tool, **arguments):
        future = concurrent.futures.Future()
        with self.lock:
            number = next(self.server.ids)
            self.waiting[number] = future
            self.server.send({"jsonrpc": "2.0", "id": number, "method": "tools/call",
                              "params": {"name": tool, "arguments": arguments}})
        return future.result(120)["result"]

    def measure(self):
        """Of the supervisor, the factory and the broker: resident KiB and descriptor slots."""
        rows = {}
        pids = [self.server.process.pid, *support.descendants(self.server.process.pid)]
        for role, pid in zip(("supervisor", "factory", "broker"), pids):
            with open(f"/proc/{pid}/status", encoding="utf-8") as file:
                text = file.read()
            rows[role] = tuple(int(re.search(rf"^{key}:\s+(\d+)", text, re.M).group(1))
                               for key in ("VmRSS", "FDSize"))
        return rows


class Stress(unittest.TestCase):
    def tearDown(self):
        gone = leftovers.wait_gone(time.monotonic())
        self.assertIsNotNone(gone, leftovers.describe(leftovers.living()))
        self.assertEqual(leftovers.mounts(), before["mounts"])
        # systemd removes a scope some moments after its last process.
        support.wait_until(lambda: leftovers.cgroups() == before["cgroups"])
        self.assertEqual(leftovers.cgroups(), before["cgroups"])

    def side_by_side(self, work, count):
        """`work(thread, number)` by THREADS threads; the list of what they found wrong."""
        def repeat(thread):
            return [wrong for wrong in (work(thread, number) for number in range(count)) if wrong]
        start = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
            wrong = [one for found in pool.map(repeat, range(THREADS)) for one in found]
        seconds = time.monotonic() - start
        print(f"{THREADS} threads x {count}: {seconds:.1f} s, {THREADS * count / seconds:.0f}/s",
              file=sys.stderr)
        return wrong

    def test_one_server(self):
        shared = SharedServer()
        self.addCleanup(shared.server.process.kill)

        def work(thread, number):
            mark = f"mark-{thread}-{number}"
            if number % 3 == 0:
                result = shared.call("run_command", command=f"cat; echo {mark} >&2", stdin=mark)
                expected = 2
            elif number % 3 == 1:
                result = shared.call("run_command", argv=["echo", mark])
                expected = 1
            else:
                result = shared.call("run_code", language="bash", code=f"echo {mark}")
                expected = 1
            text = support.text_of(result)
            right = not result.get("isError") and text.count(mark) == expected \
                and text.count("mark-") == expected
            return None if right else text

        self.assertEqual(self.side_by_side(work, 5), [])  # until here everything may grow
        first = shared.measure()
        self.assertEqual(self.side_by_side(work, CALLS), [])
        support.wait_until(lambda: len(leftovers.living()) == 3)
        self.assertEqual(len(leftovers.living()), 3, leftovers.describe(leftovers.living()))
        last = shared.measure()
        for role, (resident, _) in first.items():
            with self.subTest(role=role):
                self.assertLess(last[role][0], resident + GROWTH_KIB)
                self.assertLessEqual(last[role][1], SLOTS)
        print(f"resident KiB and descriptor slots: {first} -> {last}", file=sys.stderr)
        self.assertEqual(shared.server.close(), 0)

    def test_many_runs(self):
        def work(thread, number):
            mark = f"mark-{thread}-{number}"
            result = support.run("/bin/sh", "-c", f"cat; echo {mark} >&2; exit 7", input=mark)
            right = (result.returncode, result.stdout, result.stderr) == (7, mark, mark + "\n")
            return None if right else (result.returncode, result.stdout, result.stderr)

        self.assertEqual(self.side_by_side(work, RUNS), [])

    def test_runs_that_end_in_every_way(self):
        """Timeouts, signals, failed starts and floods beside each other."""
        commands = [("sleep", "60"), ("/bin/sh", "-c", "kill -9 $$"), ("no such command",),
                    ("/bin/sh", "-c", "head -c 3000000 /dev/zero"), ("/bin/true",),
                    ("/bin/sh", "-c", "setsid sleep 3600 & echo up")]
        codes = [124, 137, 127, 0, 0, 0]

        def work(thread, number):
            index = (thread + number) % len(commands)
            limit = "2" if codes[index] == 124 else "60"
            result = support.run(*commands[index], options=("--timeout", limit))
            right = result.returncode == codes[index]
            return None if right else (commands[index], result.returncode, result.stderr)

        self.assertEqual(self.side_by_side(work, KINDS_EACH), [])


if __name__ == "__main__":
    unittest.main()
