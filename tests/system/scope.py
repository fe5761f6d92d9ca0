#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""msp without the service, in a cgroup that it shares: it has the user's systemd give it a scope."""
import concurrent.futures
import os
import shutil
import signal
import subprocess
import unittest

import units
from units import support


def scopes():
    """The names of msp's scopes that systemd knows."""
    text = units.systemctl("list-units", "--all", "--plain", "--no-legend", "msp-*.scope")
    return [line.split()[0] for line in text.splitlines()]


def scope_folder(name):
    return "/sys/fs/cgroup" + units.properties("ControlGroup", unit=name)["ControlGroup"]


def hidden(*command, hide="/run/user"):
    """The words that run `command` as this user where `hide` is empty."""
    inner = ["unshare", "--user", f"--map-user={os.getuid()}", f"--map-group={os.getgid()}", "--",
             *command]
    return ["unshare", "--user", "--map-root-user", "--mount", "--", "sh", "-c",
            f"mount -t tmpfs none {hide} && exec \"$@\"", "sh", *inner]


@unittest.skipIf(units.REASON, units.REASON)
class Scopes(unittest.TestCase):
    def setUp(self):
        # What shares our cgroup for the whole test: nothing may be limited there.
        neighbour = subprocess.Popen(["sleep", "600"])
        self.addCleanup(neighbour.wait)
        self.addCleanup(neighbour.kill)
        self.assertEqual(scopes(), [])
        self.addCleanup(self.assert_gone)

    def assert_gone(self):
        self.assertTrue(support.wait_until(lambda: scopes() == [], 10), scopes())
        self.assertTrue(support.wait_until(lambda: not units.ours(), units.SECONDS), units.ours())

    def start(self, *words):
        process = subprocess.Popen([support.MSP, *words], stdin=subprocess.PIPE, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def test_a_command_has_limits(self):
        result = units.msp("run", "--verbose", "--", "cat", "/proc/self/cgroup")
        self.assertEqual((result.returncode, result.stdout), (0, "0::/e0\n"), result.stderr)
        self.assertIn("limits: cgroup", result.stderr)

    def test_the_scope(self):
        process = self.start("run", "--", "sh", "-c", "echo ready; sleep 60")
        self.assertEqual(process.stdout.readline(), "ready\n")
        found = scopes()
        self.assertEqual(len(found), 1)
        self.assertRegex(found[0], rf"^msp-{process.pid}-[0-9a-f]{{16}}\.scope$")
        self.assertEqual(units.properties("Delegate", "CollectMode", unit=found[0]),
                         {"Delegate": "yes", "CollectMode": "inactive-or-failed"})
        folder = scope_folder(found[0])
        leaf = f"{folder}/msp.{process.pid}/supervisor/cgroup.procs"
        self.assertIn(str(process.pid), units.read(leaf).split())
        limit = units.read(f"{folder}/msp.{process.pid}/sandboxes/s0/memory.max")
        self.assertTrue(limit.isdigit(), limit)
        process.terminate()
        process.wait(10)
        self.assert_gone()
        self.assertFalse(os.path.exists(folder))

    def test_a_client_has_limits(self):
        with units.Client() as client:
            client.begin()
            self.assertTrue(client.command("echo hello").startswith("hello\n"))
            self.assertEqual(len(scopes()), 1)
            self.assertEqual(units.processes("msp-supervisor"), [client.process.pid])

    def test_all_of_it_is_killed(self):
        """Whoever is killed, the scope goes with the last process."""
        for victim in ("msp", "msp-supervisor", "msp-child-init"):
            with self.subTest(victim=victim):
                process = self.start("run", "--", "sh", "-c", "echo ready; sleep 60")
                self.assertEqual(process.stdout.readline(), "ready\n")
                for pid in units.processes(victim):
                    os.kill(pid, signal.SIGKILL)
                process.wait(10)
                self.assert_gone()

    def test_many_at_once(self):
        with concurrent.futures.ThreadPoolExecutor(10) as pool:
            found = list(pool.map(
                lambda number: units.msp("run", "--verbose", "--", "echo", str(number)),
                range(10)))
        for number, result in enumerate(found):
            self.assertEqual((result.returncode, result.stdout), (0, f"{number}\n"),
                             result.stderr)
            self.assertIn("limits: cgroup", result.stderr)

    def test_without_an_environment(self):
        """As MCP clients start it: no XDG_RUNTIME_DIR, no address of a bus."""
        result = units.msp("run", "--verbose", "--", "true", env={"PATH": os.environ["PATH"]})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("limits: cgroup", result.stderr)

    def test_without_a_bus(self):
        """The manager's own socket is the second way."""
        for address in ("unix:path=/nonexistent", "nonsense"):
            with self.subTest(address=address):
                result = units.msp("run", "--verbose", "--", "true",
                                   env={"DBUS_SESSION_BUS_ADDRESS": address})
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn("limits: cgroup", result.stderr)

    def test_the_doctor_says_so_and_makes_nothing(self):
        result = units.msp("doctor")
        words = " ".join(result.stdout.split())
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("msp asks the user's systemd", words)
        self.assertIn("for a scope of its own", words)
        self.assertEqual(scopes(), [])

    def test_scope_program_moves_nobody_else(self):
        """It takes its parent's number and no other."""
        program = os.path.join(support.BIN, "msp-scope")
        for argument in ("1", "0", "-1", str(os.getpid()) + "x", "", "4294967297"):
            result = subprocess.run([program, argument], capture_output=True, text=True,
                                    timeout=units.SECONDS, check=False)
            self.assertEqual((result.returncode, result.stderr),
                             (1, "msp-scope: this program is started by msp\n"))
        self.assertEqual(scopes(), [])


@unittest.skipIf(units.REASON, units.REASON)
class WithoutSystemd(unittest.TestCase):
    def setUp(self):
        neighbour = subprocess.Popen(["sleep", "600"])
        self.addCleanup(neighbour.wait)
        self.addCleanup(neighbour.kill)
        if not shutil.which("unshare"):
            self.skipTest("no unshare(1)")

    def run_hidden(self, *words, hide):
        return subprocess.run(hidden(support.MSP, *words, hide=hide), capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=units.SECONDS,
                              check=False, env={"PATH": os.environ["PATH"]})

    def test_it_refuses_and_says_what_was_tried(self):
        for hide, text in (("/run/user", "neither /run/user"),
                           ("/run/systemd", "systemd does not run here")):
            with self.subTest(hide=hide):
                result = self.run_hidden("run", "--", "true", hide=hide)
                self.assertEqual(result.returncode, support.REFUSED, result.stderr)
                self.assertIn("holds other processes too", result.stderr)
                self.assertIn(text, result.stderr)
                self.assertIn("'limits: fallback' in the configuration", result.stderr)

    def test_a_bus_that_is_none(self):
        result = subprocess.run(
            hidden(support.MSP, "run", "--", "true"), capture_output=True, text=True,
            stdin=subprocess.DEVNULL, timeout=units.SECONDS, check=False,
            env={"PATH": os.environ["PATH"],
                 "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"})
        self.assertEqual(result.returncode, support.REFUSED, result.stderr)
        self.assertIn("unix:path=/nonexistent: No such file or directory", result.stderr)

    def test_with_weaker_limits_accepted(self):
        result = self.run_hidden("run", "--limits=fallback", "--verbose", "--", "echo", "hello",
                                 hide="/run/user")
        self.assertEqual((result.returncode, result.stdout), (0, "hello\n"), result.stderr)
        self.assertIn("limits: fallback", result.stderr)


if __name__ == "__main__":
    unittest.main()
