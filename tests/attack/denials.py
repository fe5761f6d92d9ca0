#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attacks on the observing of refused calls: it is asked about every one of them, by workloads that
would have it say yes, fall silent, or be busy."""
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
import unittest

import probes
import support

MOUNT = 165
FLOOD = 100_000 if os.environ.get("MSP_VM") else 200_000
SHORT_S = 6 if os.environ.get("MSP_VM") else 3  # and yet long enough for a flood to begin
# What a filter of the workload's own may answer, beside the one that is in force.
ANSWERS = {"allow": 0x7fff0000, "log": 0x7ffc0000, "trace": 0x7ff00000 | 7, "notify": 0x7fc00000,
           "errno 0": 0x00050000, "errno": 0x00050000 | 22}

CALLS = """
import ctypes, errno, os, signal, struct, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    padded = [ctypes.c_long(a) for a in (*arguments, 0, 0, 0, 0, 0)[:6]]
    result = libc.syscall(ctypes.c_long(number), *padded)
    return ctypes.get_errno() if result == -1 else -result
def mount(target=b"/tmp"):
    result = libc.mount(b"none", target, b"tmpfs", 0, None)
    return ctypes.get_errno() if result == -1 else 0
def install(answer, flags=0):
    "A filter with this answer for mount(2)."
    code = b"".join(struct.pack("HBBI", *row) for row in (
        (0x20, 0, 0, 0), (0x15, 0, 1, 165), (0x06, 0, 0, answer), (0x06, 0, 0, 0x7fff0000)))
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("HxxxxxxP", 4, ctypes.addressof(buffer))
    return libc.syscall(ctypes.c_long(317), ctypes.c_long(1), ctypes.c_long(flags), program)
def mounts():
    return open("/proc/self/mounts").read()
"""

setUpModule = probes.needs_ordinary_user


def run_json(code, *options, **keywords):
    result = support.run("python3", "-c", CALLS + code, options=["--json", *options], timeout=120,
                         **keywords)
    return json.loads(result.stdout)


def count_of(told, operation="mount"):
    return sum(item["count"] for item in told.get("denials", ()) if item["operation"] == operation)


def inits_below(pid):
    """The inits of the sandboxes that a process, or one of its own, has: our program, as the first
    process of a namespace."""
    found = []
    for below in support.descendants(pid):
        try:
            with open(f"/proc/{below}/cmdline", "rb") as file:
                is_ours = file.read().startswith(b"msp-child-init")
            with open(f"/proc/{below}/status", encoding="ascii", errors="replace") as file:
                is_first = re.search(r"^NSpid:.*\t1$", file.read(), re.M)
        except OSError:
            continue
        if is_ours and is_first:
            found.append(below)
    return found


def memory_of(pid):
    """Resident and swapped KiB."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        rows = dict(line.split(":", 1) for line in file if line.startswith(("VmRSS", "VmSwap")))
    return sum(int(row.split()[0]) for row in rows.values())


class Yes(unittest.TestCase):
    """Nothing makes a refused call succeed."""

    def test_own_filters(self):
        for name, answer in ANSWERS.items():
            with self.subTest(answer=name):
                told = run_json(f"""
before = mounts()
assert install({answer}) == 0
answers = [mount() for _ in range(20)]
assert mounts() == before
print(sorted(set(answers)))
""")
                self.assertEqual(told["exit_code"], 0, told)
                allowed = {"errno 0": {"[0]\n"}, "errno": {"[22]\n"}, "notify": {"[38]\n"}}
                self.assertIn(told["stdout"], allowed.get(name, {"[1]\n"}), told)
                self.assertEqual(count_of(told), 0 if name in allowed else 20, told)

    def test_own_filters_in_other_threads(self):
        told = run_json("""
before, seen = mounts(), set()
def work(answer):
    assert install(answer) == 0
    for _ in range(50):
        seen.add(mount())
threads = [threading.Thread(target=work, args=(answer,)) for answer in
           (0x7fff0000, 0x7ffc0000, 0x7ff00000, 0x7fc00000) * 4]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert mounts() == before
print(sorted(seen))
""")
        self.assertEqual((told["exit_code"], told["stdout"]), (0, "[1, 38]\n"), told)

    def test_an_own_listener(self):
        """Whoever holds one could tell the kernel to go on."""
        told = run_json("""
for flags in (8, 8 | 16, 8 | 1):
    assert install(0x7fc00000, flags) == -1 and ctypes.get_errno() == 1, flags
assert mount() == 1
""")
        self.assertEqual(told["exit_code"], 0, told)
        self.assertEqual(count_of(told, "seccomp"), 3, told)

    def test_the_listener_is_nowhere(self):
        told = run_json("""
def links(pid):
    found = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            found.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except FileNotFoundError:  # of the list itself
            pass
    return found
assert len(links("self")) == 3, links("self")
everything = [link for pid in os.listdir("/proc") if pid.isdigit() for link in links(pid)]
assert len(everything) == 3, everything
assert not [link for link in everything if "seccomp" in link or "socket" in link], everything
assert not os.path.exists("/proc/1/fd")
child = os.fork()
if child == 0:
    os._exit(len(links("self")))
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
""")
        self.assertEqual(told["exit_code"], 0, told)

    def test_a_working_directory_or_program_that_a_descriptor_leads_to(self):
        for number in range(16):
            with self.subTest(fd=number):
                result = support.run("pwd", options=[f"--cwd=/proc/self/fd/{number}"])
                self.assertEqual((result.returncode, result.stdout), (125, ""), result)
        for number in range(3, 16):
            with self.subTest(program=number):
                result = support.run(f"/proc/self/fd/{number}")
                self.assertIn(result.returncode, (126, 127), result)

    def test_signals_while_a_call_waits(self):
        """A handler may be called before the call was asked about; then it is tried again, or says
        that it was interrupted."""
        told = run_json("""
signals = [0]
def count(*_): signals[0] += 1
signal.signal(signal.SIGALRM, count)
before = mounts()
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
seen = {mount() for _ in range(10000)}
signal.setitimer(signal.ITIMER_REAL, 0)
assert mounts() == before and signals[0] > 20, signals
assert seen <= {1, errno.EINTR} and 1 in seen, seen
""")
        self.assertEqual(told["exit_code"], 0, told)


class Silence(unittest.TestCase):
    """It cannot be kept from answering."""

    def test_signals_for_the_init(self):
        told = run_json("""
for number in (*range(1, 32), *range(34, 65)):
    try:
        os.kill(1, number)
    except OSError:
        pass
    assert mount() == 1, number
""")
        self.assertEqual((told["exit_code"], count_of(told)), (0, 62), told)

    def test_what_ends_with_calls_in_flight(self):
        """By its time, by its own end, and by a kill from inside."""
        flood = """
for _ in range(8):
    if os.fork() == 0:
        while True: mount()
for _ in range(4):
    threading.Thread(target=lambda: [mount() for _ in iter(int, 1)], daemon=True).start()
time.sleep(0.2)
"""
        for ending, seconds, expected in (
                ("time.sleep(60)", SHORT_S, ("timeout", 9)),
                ("os._exit(3)", 40, ("exited", 3)),
                ("os.kill(-1, 9); os._exit(4)", 40, ("exited", 4)),
                ("os.kill(0, 9)", 40, ("signalled", 9))):
            with self.subTest(ending=ending):
                start = time.monotonic()
                told = run_json(flood + ending, f"--timeout={seconds}")
                self.assertEqual((told["verdict"], told.get("exit_code", told.get("signal"))), expected, told)
                self.assertGreater(count_of(told), 100)
                self.assertLess(time.monotonic() - start, 55)

    def test_without_its_init_nothing_goes_on(self):
        process = subprocess.Popen(
            [support.MSP, "run", *support.limits(), "--", "python3", "-c", CALLS +
             "for _ in range(3):\n    if os.fork() == 0: break\n"
             "print('up', flush=True)\nwhile True: mount()\n"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.assertEqual(process.stdout.readline(), b"up\n")
        below = support.descendants(process.pid)
        init, = inits_below(process.pid)
        os.kill(init, signal.SIGKILL)
        self.assertEqual(process.wait(20), 125)
        self.assertTrue(support.wait_until(lambda: not any(map(support.is_alive, below))))


class Busy(unittest.TestCase):
    """A flood is its own cost."""

    def test_a_flood(self):
        with support.Server(stderr=subprocess.DEVNULL) as server:
            server.initialize()
            others = []
            call = server.post("tools/call", {"name": "run_code", "arguments": {
                "language": "python", "yield_ms": support.YIELD_MS, "timeout_ms": 600000,
                "code": CALLS + f"""
number, zero = ctypes.c_long({MOUNT}), ctypes.c_long(0)
print("up", flush=True)
for _ in range({FLOOD}):
    if libc.syscall(number, zero, zero, zero, zero, zero) != -1:
        os._exit(99)
"""}})
            self.assertTrue(support.wait_until(lambda: inits_below(server.process.pid)))
            init, = inits_below(server.process.pid)
            least = memory_of(init)
            most, stop = least, threading.Event()

            def others_run():
                while not stop.is_set():
                    others.append(support.run("echo", "well").stdout)
            thread = threading.Thread(target=others_run)
            thread.start()
            try:
                while support.is_alive(init):
                    try:
                        most = max(most, memory_of(init))
                    except (OSError, ValueError):
                        break
                    time.sleep(0.05)
            finally:
                stop.set()
                thread.join()
            result = server.answer(call, 600)
            while result["_meta"]["msp/execution"].get("state") == "running":
                result = server.call("read_output", wait_ms=support.YIELD_MS,
                                     handle=result["_meta"]["msp/execution"]["handle"])
            self.assertIn("denials", result["_meta"]["msp/execution"], result)
            denial, = result["_meta"]["msp/execution"]["denials"]
            self.assertEqual((denial["operation"], denial["count"]), ("mount", FLOOD), result)
            self.assertLess(most - least, 256, "KiB more of the init's memory")
            self.assertEqual(set(others), {"well\n"})
            self.assertGreater(len(others), 2)

    def test_a_flood_can_be_killed_by_its_client(self):
        with support.Server(stderr=subprocess.DEVNULL) as server:
            server.initialize()
            result = server.call("run_code", language="python", yield_ms=300, code=CALLS + """
for _ in range(20): mount()
print("it begins", flush=True)
for _ in range(20):
    if os.fork() == 0: break
while True: mount()
""")
            handle = result["_meta"]["msp/execution"]["handle"]
            while "it begins" not in support.text_of(result):
                result = server.call("read_output", handle=handle, wait_ms=20000)
                self.assertEqual(result["_meta"]["msp/execution"]["state"], "running", result)
            server.call("kill_execution", handle=handle)
            result = server.call("read_output", handle=handle, wait_ms=20000)
            meta = result["_meta"]["msp/execution"]
            self.assertEqual(meta["verdict"], "cancelled", result)
            self.assertGreater(meta["denials"][0]["count"], 10, result)
            self.assertIn("[exit 0", support.text_of(server.call("run_command", command="true")))

    def test_limits_are_watched_meanwhile(self):
        """Refused calls do not put off the look at memory, where a look it is."""
        config = tempfile.NamedTemporaryFile("w", suffix=".yaml")
        self.addCleanup(config.close)
        config.write(support.config_of("name: little\nextends: strict\ndescription: a test\n"
                                       "limits: {memory: 96M}"))
        config.flush()
        told = run_json("""
if os.fork() == 0:
    while True: mount()
kept = []
while True:
    kept.append(bytearray(os.urandom(1 << 16)) * 16)
""", "--profile", "little", "--timeout=50", env={**os.environ, "MSP_CONFIG": config.name})
        self.assertEqual(told["verdict"], "memory", told)


if __name__ == "__main__":
    unittest.main()
