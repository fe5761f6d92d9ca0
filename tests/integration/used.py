#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CPU time and memory of an execution: the figures cover each of its processes, or are absent from
all that msp says. Cgroups count every process. The fallback has the processes that ended before the
report of an ephemeral execution, and in a persistent sandbox no process's parentage for certain."""
import ctypes
import json
import os
import signal
import subprocess
import unittest

import audit_log
import leftovers
import support
from persistent_support import PersistentCase, msp

PTRACE_SEIZE = 0x4206
IS_FALLBACK = bool(support.limits())
WALL = 0x40000000
FIGURES = ("cpu_ms", "peak_bytes")
RECORDED = ("cpu_us", "peak_bytes")
CPU_MS, MEMORY = 300, 64 << 20
TRIES = 10
TICK_MS = 1000 // os.sysconf("SC_CLK_TCK")

# A child uses that much and lives on; the first process ends when it is told to.
CODE = f"""
import os, signal, time
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
if os.fork():
    while True: signal.pause()
signal.signal(signal.SIGTERM, signal.SIG_DFL)
kept = bytearray(b"x" * 4096) * ({MEMORY} >> 12)
while time.process_time() < {CPU_MS / 1000}: pass
time.sleep(1000)
"""
COMMAND = ("python3", "-c", CODE)


def setUpModule():
    leftovers.become_reaper()
    if not os.path.exists(os.path.join(support.BIN, "msp-layers")):
        raise unittest.SkipTest("msp-layers is not built")


def seize(pid):
    """Become the tracer of a process: its parent cannot reap it before this program has."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    if libc.ptrace(PTRACE_SEIZE, pid, None, None) != 0:
        raise OSError(ctypes.get_errno(), "PTRACE_SEIZE")


def stat_of(pid):
    """The fields behind the name; of a process that has ended, zeros."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return ["0"] * 50


def find_burner():
    """(child, first process) once the child has used its time, or None."""
    both = support.named(os.getpid(), "python3")
    for pid in both:
        fields = stat_of(pid)
        used_ms = (int(fields[11]) + int(fields[12])) * TICK_MS
        if int(fields[1]) in both and fields[0] == "S" and used_ms > CPU_MS * 0.9:
            return pid, int(fields[1])
    return None


class Used(PersistentCase):
    def setUp(self):
        self.addCleanup(leftovers.end_all)
        super().setUp()

    def end(self, is_held=False):
        """End the first process when its child has used its time; msp has recorded that then. A held
        child is reaped after that."""
        found, count = [], len(self.records())
        self.assertTrue(support.wait_until(lambda: found.append(find_burner()) or found[-1], 60))
        child, first = found[-1]
        if is_held:
            seize(child)
        os.kill(first, signal.SIGTERM)
        self.assertTrue(support.wait_until(lambda: len(self.records()) > count, 60))
        if is_held:
            self.assertTrue(support.wait_until(lambda: stat_of(child)[0] == "Z", 60),
                            "killed, and not reaped")
            os.waitpid(child, WALL)

    def records(self):
        log = audit_log.Log(self.state)
        return log.records("execution_end") if os.path.exists(log.path()) else []

    def start(self, verb, *words):
        return subprocess.Popen([support.MSP, verb, *support.limits(), *words, "--", *COMMAND],
                                text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def finish(self, process):
        out, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, errors)
        return out, errors

    def told(self, verb, *words, is_held=False):
        """What msp prints of it as JSON, and the record of its end."""
        process = self.start(verb, "--json", *words)
        self.end(is_held)
        return json.loads(self.finish(process)[0]), self.records()[-1]

    def assert_counted(self, told, record):
        self.assertGreaterEqual(told["cpu_ms"], CPU_MS)
        self.assertLess(told["cpu_ms"], CPU_MS + 60000)
        self.assertGreaterEqual(told["peak_bytes"], MEMORY)
        self.assertLess(told["peak_bytes"], 4 * MEMORY)
        self.assertIn(told["cpu_ms"] - record["cpu_us"] // 1000, (0, 1), "cut off, or rounded")
        self.assertEqual(record["peak_bytes"], told["peak_bytes"])

    def assert_known_to_cgroups(self, told, record):
        if not IS_FALLBACK:
            self.assert_counted(told, record)
            return
        self.assertEqual([name for name in FIGURES if name in told], [], told)
        self.assertEqual([name for name in RECORDED if name in record], [], record)
        self.assertEqual((told["verdict"], record["verdict"]), ("exited", "exited"))
        self.assertIn("wall_ms", told)
        self.assertIn("wall_us", record)

    def assert_text(self, text):
        self.assertRegex(text, r"exited 0; \d+ ms wall\n" if IS_FALLBACK else
                         r"exited 0; \d+ ms wall, \d{3,} ms CPU, peak \d{5,} KiB\n")


class Ephemeral(Used):
    def test_processes_that_are_left_are_counted(self):
        """On a busy machine one may end too late for the figures, as in the next test."""
        for _ in range(TRIES):
            told, record = self.told("run")
            if "cpu_ms" in told:
                break
        self.assert_counted(told, record)

    def test_a_process_that_dies_slowly(self):
        self.assert_known_to_cgroups(*self.told("run", is_held=True))

    def test_what_people_read(self):
        process = self.start("run", "--verbose")
        self.end(is_held=True)
        self.assert_text(self.finish(process)[1])

    def test_what_models_read(self):
        with support.Server() as server:
            server.initialize()
            self.assert_known_to_cgroups(self.ask(server, True), self.records()[-1])
            for _ in range(TRIES):
                told = self.ask(server, False)
                if "cpu_ms" in told:
                    break
            self.assert_counted(told, self.records()[-1])

    def ask(self, server, is_held):
        number = server.post("tools/call", {"name": "run_command", "arguments": {"argv": COMMAND}})
        self.end(is_held)
        return server.answer(number)["_meta"]["msp/execution"]


class Persistent(Used):
    def setUp(self):
        super().setUp()
        self.box = self.create(workspace=False)

    def test_a_process_in_the_background(self):
        told, record = self.told("exec", self.box)
        self.assert_known_to_cgroups(told, record)
        row = [line for line in msp("logs", self.box).stdout.splitlines() if "  exec  " in line][-1]
        (self.assertNotRegex if IS_FALLBACK else self.assertRegex)(
            row, r"CPU \d.*, memory \d.*")

    def test_less_memory_than_before(self):
        """Only the sandbox as a whole has a peak, while it is live."""
        with support.Server() as server:
            server.initialize()
            much, little = (server.call("run_command", sandbox=self.box, argv=argv, timeout=60)
                            ["_meta"]["msp/execution"]
                            for argv in (["python3", "-c", f"bytearray(b'x') * {MEMORY}"], ["true"]))
        self.assertEqual([name in much for name in FIGURES], [not IS_FALLBACK] * 2, much)
        self.assertEqual([name in little for name in FIGURES], [not IS_FALLBACK, False], little)

    def test_what_people_read(self):
        process = self.start("exec", "--verbose", self.box)
        self.end()
        self.assert_text(self.finish(process)[1])


if __name__ == "__main__":
    unittest.main()
