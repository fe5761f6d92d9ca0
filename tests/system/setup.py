#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`msp setup` where it may change something: the service of a user is enabled and serves."""
import json
import os
import shutil
import signal
import tempfile
import time
import unittest

import units
from units import support

PROGRAMS = ("msp", "msp-supervisor", "msp-broker", "msp-child-init", "msp-scope", "msp-audit",
            "msp-opener", "msp-git-config", "msp-store", "msp-policy", "msp-layers", "msp-file", "builtin.policy")
ACT = "/systemctl --user enable --now msp.socket"


class Setup(units.ServiceCase):
    """A place as `cmake --install` makes it: the act is offered where the units lie beside."""

    def setUp(self):
        # Not in /tmp: the service has one of its own.
        folder = tempfile.TemporaryDirectory(prefix=".msp-setup-", dir=os.path.expanduser("~"))
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)
        os.mkdir(folder.name + "/bin")
        for name in PROGRAMS:
            shutil.copy(os.path.join(support.BIN, name), folder.name + "/bin")
        self.units = folder.name + "/lib/systemd/user"
        os.makedirs(self.units)
        shutil.copy(units.PACKAGING + "/msp.socket", self.units)
        self.program = folder.name + "/bin/msp"
        self.install(folder=folder.name + "/bin")
        self.addCleanup(units.systemctl, "disable", "--now", "msp.socket", check=False)

    def setup(self, *options):
        return units.msp("setup", *options, program=self.program)

    def enabled(self):
        return units.systemctl("is-enabled", "msp.socket", check=False).strip()

    def test_the_service_is_enabled_once(self):
        dry = self.setup("--dry-run")
        self.assertEqual(dry.returncode, 0, dry.stderr)
        self.assertIn(ACT, dry.stdout)
        self.assertEqual((self.enabled(), os.path.exists(units.SOCKET)), ("disabled", False))
        done = self.setup("--yes")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, ACT + r"\n +result: done\n")
        self.assertEqual((self.enabled(), os.path.exists(units.SOCKET)), ("enabled", True))
        served = units.msp("run", "--", "echo", "served", program=self.program)
        self.assertEqual((served.returncode, served.stdout), (0, "served\n"), served.stderr)
        self.assertEqual(units.status()["executions"]["started"], 1)
        again = self.setup("--yes")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertTrue(again.stdout.startswith("There is nothing to do."), again.stdout)

    def told_of_service(self):
        told = units.msp("doctor", "--json", program=self.program)
        (finding,) = [one for one in json.loads(told.stdout)["probes"] if one["name"] == "service"]
        return finding

    def test_a_service_that_is_starting_is_no_fault(self):
        """On a slow machine it takes longer than the doctor waits for it."""
        self.install(lines=["ExecStartPre=/bin/sleep 15"], folder=os.path.dirname(self.program))
        units.systemctl("start", "msp.socket")
        finding = self.told_of_service()
        self.assertEqual(finding["status"], "note", finding)
        self.assertRegex(finding["happened"], r"^it is starting, for \d+ s now: wait, and ask again")
        self.assertTrue(support.wait_until(lambda: self.told_of_service()["status"] == "ok", 60))

    def test_a_service_that_hangs_is_one(self):
        self.install(folder=os.path.dirname(self.program))
        units.systemctl("start", "msp.service")
        pid = units.main_pid()
        time.sleep(11)  # after that it is no longer taken for new
        os.kill(pid, signal.SIGSTOP)
        try:
            finding = self.told_of_service()
        finally:
            os.kill(pid, signal.SIGCONT)
        self.assertEqual(finding["status"], "missing", finding)
        self.assertIn("did not answer", finding["happened"])

    def test_an_act_that_fails_is_told(self):
        """systemd knows no unit of that name: the program's place has one, its own folders none."""
        self.remove()
        done = self.setup("--yes")
        self.assertEqual(done.returncode, 70, done.stdout)
        self.assertRegex(done.stderr, r"(?m)^msp: setup: 'systemctl .* msp\.socket' failed: ")
        self.assertIn("result: failed", done.stdout)
        self.assertEqual(self.enabled(), "not-found")


if __name__ == "__main__":
    unittest.main()
