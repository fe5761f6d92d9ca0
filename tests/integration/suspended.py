#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A machine that was suspended for two hours: from then on the time since its boot is ahead of the
clock that ran meanwhile. A time namespace has both clocks so, for whatever starts in it."""
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest

import leftovers
from cli_support import LIMITS, MSP, SECONDS

AWAY = 7200
NAMESPACE = ("unshare", "--user", "--map-current-user", "--time", f"--boottime={AWAY}", "--")


def setUpModule():
    leftovers.become_reaper()


class Suspended(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="msp-suspended-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.project = os.path.join(self.folder, "project")
        os.mkdir(self.project)

    def run_later(self, *words):
        home = os.path.join(self.folder, "home")
        os.makedirs(home, exist_ok=True)
        return subprocess.run(
            [*NAMESPACE, *words], env={**os.environ, "HOME": home}, text=True, timeout=SECONDS,
            stdin=subprocess.DEVNULL, capture_output=True, cwd=self.project, check=False)

    def msp(self, command, *words):
        return self.run_later(MSP, command, "--standalone", *words)

    def test_the_clocks_differ(self):
        """The control, outside and inside: programs there see a machine that has been up longer."""
        script = "import time; print(time.clock_gettime(time.CLOCK_BOOTTIME)"\
                 " - time.clock_gettime(time.CLOCK_MONOTONIC))"
        own = time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()
        for result in (self.run_later("python3", "-c", script),
                       self.msp("run", *LIMITS, "--", "python3", "-c", script)):
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertAlmostEqual(float(result.stdout) - own, AWAY, delta=60)

    def test_the_wall_clock_did_not_run(self):
        result = self.msp("run", *LIMITS, "--timeout=30s", "--", "sh", "-c", "sleep 1; echo done")
        self.assertEqual((result.returncode, result.stdout), (0, "done\n"), result.stderr)

    def test_it_runs_now(self):
        result = self.msp("run", *LIMITS, "--timeout=1s", "--", "sleep", "600")
        self.assertEqual(result.returncode, 124, result.stderr)
        self.assertRegex(result.stderr, r"timeout: stopped after [1-9][0-9]?\.[0-9]+ s")

    def test_what_was_kept(self):
        """Sandboxes and background commands: by the calendar, which a suspension does move."""
        result = self.msp("run", *LIMITS, "-w", "--", "sh", "-c", "echo new > file")
        self.assertEqual(result.returncode, 0, result.stderr)
        listed = self.msp("list").stdout
        self.assertRegex(listed, "in (59|60) min")
        (name,) = re.findall(r"^([0-9a-z]{26}) ", listed, re.M)
        started = self.msp("exec", *LIMITS, "-d", name, "--", "sh", "-c", "echo later")
        self.assertEqual(started.returncode, 0, started.stderr)
        waited = self.run_later(MSP, "wait", started.stdout.split()[0])
        self.assertEqual(waited.returncode, 0, waited.stderr)
        shown = self.run_later(MSP, "ps", "--ended", name)
        self.assertIn("echo later", shown.stdout, shown.stderr)
        self.assertEqual(self.msp("apply", "-1").returncode, 0)
        with open(os.path.join(self.project, "file"), encoding="ascii") as file:
            self.assertEqual(file.read(), "new\n")


if __name__ == "__main__":
    unittest.main()
