#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real cgroups: msp's own directory is made, filled, limited, cleared, and swept after a crash.

Needs a delegated cgroup v2 that this process has for itself: it is started again in a scope of the
user's systemd for that, and skipped where there is none."""
import fcntl
import json
import os
import signal
import subprocess
import unittest

import support
from cli_support import MSP, SECONDS
from own_cgroup import enter_scope, is_ours, own_cgroup, read, write

# What msp asks for a scope where its cgroup is shared.
HAS_MANAGER = (os.path.exists("/run/systemd/system")
               and os.path.exists(f"/run/user/{os.getuid()}/systemd/private"))


@unittest.skipUnless(is_ours(own_cgroup()), "no delegated cgroup v2 of its own")
class Cgroups(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.top = own_cgroup()
        cls.work = cls.top + "/work"
        os.mkdir(cls.top + "/tests")
        write(cls.top + "/tests/cgroup.procs", str(os.getpid()))
        write(cls.top + "/cgroup.subtree_control", "+cpu +memory +pids")

    def setUp(self):
        os.mkdir(self.work)
        self.addCleanup(os.rmdir, self.work)

    def enter(self):
        write(self.work + "/cgroup.procs", str(os.getpid()))

    def start(self, *arguments):
        return subprocess.Popen([MSP, "run", *arguments], stdin=subprocess.DEVNULL, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                preexec_fn=self.enter)

    def run_there(self, *arguments):
        process = self.start(*arguments)
        process.out, process.err = process.communicate(timeout=SECONDS)
        return process

    def inside(self):
        return sorted(os.path.relpath(folder, self.work)
                      for folder, _, _ in os.walk(self.work) if folder != self.work)

    def number(self, path):
        return read(f"{self.work}/{path}").strip()

    def assert_clear(self):
        self.assertTrue(support.wait_until(lambda: self.inside() == [], SECONDS), self.inside())
        self.assertEqual(read(self.work + "/cgroup.subtree_control").split(), [])

    def test_limits_are_cgroups(self):
        result = self.run_there("--verbose", "--", "cat", "/proc/self/cgroup")
        self.assertEqual(result.returncode, 0, result.err)
        self.assertIn("limits: cgroup", result.err)
        self.assertRegex(result.out, r"^0::/")
        self.assert_clear()

    def test_the_layout(self):
        process = self.start("--", "sh", "-c", "echo ready; sleep 60")
        self.assertEqual(process.stdout.readline(), "ready\n")
        home = f"msp.{process.pid}"
        sandboxes = home + "/sandboxes"
        self.assertEqual(self.inside(), [home, sandboxes, sandboxes + "/s0", sandboxes + "/s0/e0",
                                         home + "/supervisor"])
        self.assertIn(str(process.pid), read(f"{self.work}/{home}/supervisor/cgroup.procs").split())
        self.assertNotEqual(self.number(sandboxes + "/s0/memory.max"), "max")
        self.assertNotEqual(self.number(sandboxes + "/s0/pids.max"), "max")
        self.assertEqual(self.number(sandboxes + "/memory.swap.max"), "0")
        self.assertGreaterEqual(int(self.number(home + "/supervisor/cpu.weight")),
                                10 * int(self.number(sandboxes + "/cpu.weight")))
        self.assertGreater(int(self.number(home + "/supervisor/memory.min")), 0)
        self.assertEqual(self.number(home + "/supervisor/memory.max"), str(5 << 30))
        self.assertGreater(int(self.number(home + "/memory.min")), 0)
        self.assertEqual(self.number(sandboxes + "/memory.min"), "0")
        process.terminate()
        process.communicate(timeout=SECONDS)
        self.assertEqual(process.returncode, 143)
        self.assert_clear()

    def test_too_much_memory(self):
        code = "x = []\nwhile True: x.append(b'x' * (32 << 20))"
        result = self.run_there("--profile=strict", "--json", "--timeout=25", "--", "python3",
                                "-c", code)
        self.assertEqual(json.loads(result.out)["verdict"], "memory", result.out)
        self.assert_clear()

    def test_the_supervisor_is_killed(self):
        process = self.start("--", "sh", "-c", "echo ready; sleep 60")
        self.assertEqual(process.stdout.readline(), "ready\n")
        os.kill(support.descendants(process.pid)[0], signal.SIGKILL)
        process.communicate(timeout=SECONDS)
        self.assertEqual(process.returncode, 125)
        self.assert_clear()

    def test_a_dead_start_is_swept(self):
        """Also when it was killed before it had made all of it."""
        for place in ("msp.1", "msp.1/sandboxes/s0/e0"):
            with self.subTest(place=place):
                os.makedirs(f"{self.work}/{place}")
                sleeper = subprocess.Popen(["sleep", "60"])
                write(f"{self.work}/{place}/cgroup.procs", str(sleeper.pid))
                result = self.run_there("--", "echo", "x")
                self.assertEqual((result.returncode, result.out), (0, "x\n"), result.err)
                self.assertEqual(sleeper.wait(SECONDS), -signal.SIGKILL)
                self.assert_clear()

    def test_a_living_start_is_left_alone(self):
        """msp holds the first lock while it sets up, the supervisor the second one."""
        for locked in ("msp.1", "msp.1/sandboxes"):
            with self.subTest(locked=locked):
                os.makedirs(self.work + "/msp.1/sandboxes/s0")
                lock = os.open(f"{self.work}/{locked}", os.O_RDONLY)
                fcntl.flock(lock, fcntl.LOCK_EX)
                result = self.run_there("--", "echo", "x")
                self.assertEqual((result.returncode, result.out), (0, "x\n"), result.err)
                self.assertEqual(self.inside(), ["msp.1", "msp.1/sandboxes",
                                                 "msp.1/sandboxes/s0"])
                os.close(lock)
                self.assertEqual(self.run_there("--", "echo", "x").returncode, 0)
                self.assert_clear()

    def add_neighbour(self):
        neighbour = subprocess.Popen(["sleep", "60"], preexec_fn=self.enter)
        self.addCleanup(neighbour.wait)
        self.addCleanup(neighbour.kill)
        return neighbour

    @unittest.skipUnless(HAS_MANAGER, "no systemd of this user")
    def test_not_alone_with_systemd(self):
        neighbour = self.add_neighbour()
        result = self.run_there("--verbose", "--", "true")
        self.assertEqual(result.returncode, 0, result.err)
        self.assertIn("limits: cgroup", result.err)
        self.assertEqual(self.inside(), [])
        neighbour.kill()
        neighbour.wait()

    @unittest.skipIf(HAS_MANAGER, "a systemd of this user gives it a scope")
    def test_not_alone(self):
        neighbour = self.add_neighbour()
        result = self.run_there("--", "true")
        self.assertEqual(result.returncode, 78)
        self.assertIn("holds other processes too", result.err)
        result = self.run_there("--limits=fallback", "--verbose", "--", "true")
        self.assertEqual(result.returncode, 0)
        self.assertIn("limits: fallback", result.err)
        self.assertEqual(self.inside(), [])
        neighbour.kill()
        neighbour.wait()

    def test_serve_leaves_no_process(self):
        """Nobody outlives the supervisor to clear its own folder away: systemd does it with the
        scope, or the next start."""
        subprocess.run([MSP, "serve"], stdin=subprocess.DEVNULL, capture_output=True,
                       timeout=SECONDS, check=False, preexec_fn=self.enter)
        left = self.inside()
        for name in left:
            self.assertRegex(name, r"^msp\.\d+(/supervisor|/sandboxes)?$")
            self.assertEqual(read(f"{self.work}/{name}/cgroup.procs"), "")
        for name in reversed(left):
            os.rmdir(f"{self.work}/{name}")
        write(f"{self.work}/cgroup.subtree_control", "-cpu -memory -pids -io")


if __name__ == "__main__":
    enter_scope()
    unittest.main()
