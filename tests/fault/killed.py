#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Dying well: whichever process of the chain ends, however and whenever, everything below it is
gone at once, and the next start works. MSP_KILLS: how many kills at random moments of a start."""
import collections
import contextlib
import os
import random
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import figures  # noqa: E402  (their folder is known from here on)
import leftovers  # noqa: E402
import support  # noqa: E402
from cli_support import name_of  # noqa: E402

KILLS = int(os.environ.get("MSP_KILLS", "96"))
# The promise is 0.2; a shared machine may be busy elsewhere, an emulated one is slow.
LIMIT_S = 30
# EMPTY_S of scope/main.c, and a little more.
SCOPE_AGE_S = 11.5
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# It leaves its session, forks twice, ignores every signal, and writes a line when all of it runs.
WORKLOAD = ("trap '' TERM INT HUP PIPE; setsid sleep 3600 & "
            "(setsid sh -c 'sleep 3600 & sleep 3600' &); sleep 3600 & echo up; wait")
# A signal between python's last look for one and its read would wait for the read.
CLIENT = """
import signal, subprocess, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
server.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\\n'); server.stdin.flush()
server.stdout.readline()
print("up", flush=True)
sys.stdin.read()
"""

times = collections.defaultdict(list)
before = {}


def setUpModule():
    if os.geteuid() == 0:
        raise unittest.SkipTest("needs an ordinary user")
    leftovers.become_reaper()
    support.limits()
    before["mounts"] = leftovers.mounts()
    before["cgroups"] = leftovers.cgroups()


def tearDownModule():
    for name, values in sorted(times.items()):
        figures.record("kills", what=name, kills=len(values),
                       longest_ms=round(max(values) * 1000), limits=support.limits_name())
        print(f"{name}: {len(values)} ends, longest {max(values) * 1000:.0f} ms, median "
              f"{sorted(values)[len(values) // 2] * 1000:.0f} ms", file=sys.stderr)


def children(pid):
    """Its children but the launcher's part that stays, oldest first."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(child) for child in file.read().split()
                    if name_of(int(child)) != support.OPENER]
    except OSError:
        return []


class Killed(unittest.TestCase):
    def assert_gone(self, name, start):
        gone = leftovers.wait_gone(start)
        left = [] if gone is not None else leftovers.end_all()
        leftovers.reap_orphans(keep=self.kept)
        self.assertEqual(left, [], name)
        self.assertLess(gone, LIMIT_S, name)
        times[name].append(gone)

    def setUp(self):
        self.kept = set()

    def tearDown(self):
        leftovers.reap_orphans()
        self.assertEqual(leftovers.mounts(), before["mounts"])
        # systemd removes a scope some moments after its last process.
        support.wait_until(lambda: leftovers.cgroups() == before["cgroups"])
        self.assertEqual(leftovers.cgroups(), before["cgroups"])
        self.assertEqual(support.run("echo", "next").stdout, "next\n")

    def start_run(self, *command, **keywords):
        process = subprocess.Popen([support.MSP, "run", *support.limits(), "--", *command],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, **keywords)
        self.kept.add(process.pid)
        self.addCleanup(self.close, process)
        return process

    def close(self, process):
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            try:
                stream.close()
            except BrokenPipeError:
                pass

    def running(self):
        """`msp run` with its workload up, and its chain by role."""
        process = self.start_run("/bin/sh", "-c", WORKLOAD)
        self.assertEqual(process.stdout.readline(), b"up\n")
        chain = {"msp": process.pid}
        for role, parent in (("supervisor", "msp"), ("factory", "supervisor"), ("init", "factory"),
                             ("workload", "init")):
            chain[role] = children(chain[parent])[0]
        return process, chain

    def server(self, is_busy):
        """`msp serve`, its chain by role, perhaps with an execution."""
        server = support.Server(stderr=subprocess.DEVNULL)
        self.kept.add(server.process.pid)
        self.addCleanup(server.close)
        server.initialize()
        chain = {"supervisor": server.process.pid}
        chain["factory"] = children(chain["supervisor"])[0]
        chain["broker"] = children(chain["factory"])[0]
        if is_busy:
            # What it writes comes at its end: a file is the sign.
            server.post("tools/call", {"name": "run_command", "arguments": {"command": WORKLOAD}})
            self.assertTrue(support.wait_until(
                lambda: len(support.descendants(server.process.pid)) >= 9))
            chain["init"] = children(chain["factory"])[1]
            chain["workload"] = children(chain["init"])[0]
        return server, chain


class Run(Killed):
    def test_each_process_by_each_signal(self):
        for role in ("msp", "supervisor", "factory", "init"):
            for number in SIGNALS:
                if role == "init" and number != signal.SIGKILL:
                    continue  # a PID 1 has no others
                with self.subTest(role=role, signal=number):
                    process, chain = self.running()
                    start = time.monotonic()
                    os.kill(chain[role], number)
                    self.assert_gone(f"run, {role}", start)
                    self.assertNotEqual(process.wait(60), 0)

    def test_signals_that_the_init_does_not_know(self):
        process, chain = self.running()
        for number in SIGNALS[1:]:
            os.kill(chain["init"], number)
        self.assertIsNone(process.poll())
        start = time.monotonic()
        process.terminate()
        self.assert_gone("run, msp", start)

    def test_the_workload_itself(self):
        """What it left running goes with it."""
        process, chain = self.running()
        start = time.monotonic()
        os.kill(chain["workload"], signal.SIGKILL)
        self.assert_gone("run, workload", start)
        self.assertEqual(process.wait(60), 128 + signal.SIGKILL)

    def test_a_workload_that_ends_by_itself(self):
        process = self.start_run("/bin/sh", "-c", "setsid sleep 3600 >/dev/null 2>&1 & echo up")
        self.assertEqual(process.stdout.readline(), b"up\n")
        self.assert_gone("run, end", time.monotonic())
        self.assertEqual(process.wait(60), 0)

    def test_output_that_a_child_keeps_open(self):
        process = self.start_run("/bin/sh", "-c", "setsid sleep 3600 & echo up")
        self.assertEqual(process.stdout.readline(), b"up\n")
        self.assert_gone("run, end", time.monotonic())
        self.assertEqual(process.wait(60), 0)

    def test_nobody_reads(self):
        process = self.start_run("/bin/sh", "-c", "setsid sleep 3600 & echo up; exec yes")
        process.stdout.readline()
        start = time.monotonic()
        process.stdout.close()
        self.assert_gone("run, EPIPE", start)

    def test_stopped_processes(self):
        """One that was stopped cannot clean up: the others do."""
        for role in ("msp", "supervisor", "factory", "init", "workload"):
            with self.subTest(role=role):
                process, chain = self.running()
                os.kill(chain[role], signal.SIGSTOP)
                start = time.monotonic()
                os.kill(chain["msp" if role != "msp" else "supervisor"], signal.SIGKILL)
                if role in ("msp", "supervisor"):  # it is its own master now
                    os.kill(chain[role], signal.SIGCONT)
                self.assert_gone(f"run, stopped {role}", start)

    def test_all_at_once(self):
        process, chain = self.running()
        start = time.monotonic()
        for role in ("init", "supervisor", "factory", "msp"):
            with contextlib.suppress(ProcessLookupError):  # it has ended with one before
                os.kill(chain[role], signal.SIGKILL)
        self.assert_gone("run, all", start)


class Serve(Killed):
    def test_idle(self):
        self.each_process(is_busy=False, roles=("supervisor", "factory", "broker"))

    def test_busy(self):
        self.each_process(is_busy=True, roles=("supervisor", "factory", "broker"))

    def each_process(self, is_busy, roles):
        state = "busy" if is_busy else "idle"
        for role in roles:
            for number in SIGNALS:
                if role == "broker" and number != signal.SIGKILL:
                    continue
                with self.subTest(role=role, signal=number):
                    server, chain = self.server(is_busy)
                    start = time.monotonic()
                    os.kill(chain[role], number)
                    self.assert_gone(f"serve, {state}, {role}", start)

    def test_init_and_workload(self):
        """They end one execution; the server answers it and the next."""
        for role in ("init", "workload"):
            with self.subTest(role=role):
                server, chain = self.server(is_busy=True)
                os.kill(chain[role], signal.SIGKILL)
                self.assertIn("content", server.answer(2, 5))
                self.assertIn("next", support.text_of(server.call("run_command",
                                                                  command="echo next")))
                start = time.monotonic()
                server.process.stdin.close()
                self.assert_gone("serve, EOF", start)

    def test_end_of_input(self):
        for is_busy in (False, True):
            with self.subTest(is_busy=is_busy):
                server, _ = self.server(is_busy)
                start = time.monotonic()
                server.process.stdin.close()
                self.assert_gone("serve, EOF", start)

    def test_one_that_does_not_end(self):
        """A broker or an init that was taken over would not go by itself."""
        for role in ("broker", "init", "factory"):
            for number in SIGNALS[:2]:
                if role == "factory" and number == signal.SIGKILL:
                    continue  # then nobody is left to end it
                with self.subTest(role=role, signal=number):
                    server, chain = self.server(is_busy=True)
                    os.kill(chain[role], signal.SIGSTOP)
                    start = time.monotonic()
                    os.kill(chain["supervisor"], number)
                    self.assert_gone(f"serve, stopped {role}", start)

    def test_nobody_reads(self):
        for is_busy in (False, True):
            with self.subTest(is_busy=is_busy):
                reading, writing = os.pipe()
                process = subprocess.Popen([support.MSP, "serve", *support.limits()],
                                           stdin=subprocess.PIPE, stdout=writing,
                                           stderr=subprocess.DEVNULL)
                self.kept.add(process.pid)
                os.close(writing)
                process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
                process.stdin.flush()
                os.read(reading, 4096)
                os.close(reading)
                start = time.monotonic()
                process.stdin.write(b'{"jsonrpc":"2.0","id":2,"method":"ping"}\n')
                process.stdin.flush()
                self.assert_gone("serve, EPIPE", start)
                process.wait()
                process.stdin.close()

    def test_the_client_is_killed(self):
        for number in SIGNALS:
            with self.subTest(signal=number):
                client = subprocess.Popen(
                    [sys.executable, "-c", CLIENT, support.MSP, "serve", *support.limits()],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                self.kept.add(client.pid)
                self.assertEqual(client.stdout.readline(), b"up\n")
                start = time.monotonic()
                client.send_signal(number)
                self.assert_gone("serve, client", start)
                self.close(client)


class DuringStart(Killed):
    """A kill at any moment of a start, of any process that there is by then."""

    def tearDown(self):
        """Where msp-scope itself was killed, systemd keeps an empty scope, which the next start that
        has a scope made clears away once it is old enough."""
        if not support.wait_until(lambda: leftovers.cgroups() == before["cgroups"]):
            time.sleep(SCOPE_AGE_S)
            self.assertEqual(support.run("echo", "next").stdout, "next\n")
        super().tearDown()

    def pick(self, top, numbers):
        """One of the processes that exist now, the whole chain being equally likely."""
        return numbers.choice([top, *support.descendants(top)])

    def test_run(self):
        numbers = random.Random(4)
        for count in range(KILLS):
            delay = numbers.random() * 0.015
            with self.subTest(delay_us=int(delay * 1e6), count=count):
                process = self.start_run("/bin/sh", "-c", WORKLOAD)
                time.sleep(delay)
                start = time.monotonic()
                try:
                    os.kill(self.pick(process.pid, numbers), numbers.choice(SIGNALS))
                except ProcessLookupError:
                    pass
                time.sleep(0.002)
                process.kill()  # the one that was picked may be one that ignores that signal
                self.assert_gone("run, during start", start)
                self.close(process)

    def test_serve(self):
        numbers = random.Random(5)
        call = (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_command",'
                b'"arguments":{"command":"setsid sleep 3600 & sleep 3600"}}}\n')
        for count in range(KILLS // 2):
            delay = numbers.random() * 0.03
            with self.subTest(delay_us=int(delay * 1e6), count=count):
                process = subprocess.Popen([support.MSP, "serve", *support.limits()],
                                           stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                           stderr=subprocess.DEVNULL)
                self.kept.add(process.pid)
                process.stdin.write(call)
                process.stdin.flush()
                time.sleep(delay)
                start = time.monotonic()
                try:
                    os.kill(self.pick(process.pid, numbers), numbers.choice(SIGNALS))
                except ProcessLookupError:
                    pass
                process.stdin.close()
                self.assert_gone("serve, during start", start)
                process.wait()
                process.stdout.close()


if __name__ == "__main__":
    unittest.main()
