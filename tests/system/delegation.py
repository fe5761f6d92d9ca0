#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which controllers reach the sandboxes, and that the doctor says so."""
import os
import unittest

import units
from units import support

DROP_IN = "/etc/systemd/system/user@.service.d/delegate.conf"
ALL = {"cpu", "cpuset", "io", "memory", "pids"}


def delegated():
    """What this user's systemd was given."""
    group = units.properties("ControlGroup", unit="-.slice")["ControlGroup"]
    return set(units.read(f"/sys/fs/cgroup{group}/cgroup.controllers").split()) & ALL


class Delegation(units.ServiceCase):
    def doctor(self):
        result = units.msp("doctor")
        self.assertEqual(result.returncode, 0, result.stdout)
        return " ".join(result.stdout.split())

    def sandbox(self):
        """The cgroup of a sandbox of the service; it lives until the test's end."""
        client = self.client()
        client.post("tools/call", units.LASTING)
        self.assertTrue(support.wait_until(lambda: units.sleepers(), 20))
        return f"{units.cgroup()}/msp.{units.main_pid()}/sandboxes/s0"

    def test_a_sandbox_has_what_the_user_has(self):
        units.systemctl("start", "msp.service")
        folder = self.sandbox()
        wanted = delegated() - {"cpuset"}
        self.assertLessEqual({"cpu", "memory", "pids"}, wanted)
        self.assertEqual(set(units.read(folder + "/cgroup.controllers").split()), wanted)
        self.assertEqual(os.path.exists(folder + "/io.max"), "io" in wanted)

    @unittest.skipUnless(os.path.exists(DROP_IN), "delegate.conf is not installed")
    def test_the_drop_in_works(self):
        self.assertEqual(delegated(), ALL)
        self.assertIn("io and cpuset in that cgroup: both are there", self.doctor())

    def test_the_doctor_says_what_is_there(self):
        words = self.doctor()
        for name in sorted(delegated()):
            self.assertRegex(words, rf"controllers \"[a-z ]*\b{name}\b")
        missing = [name for name in ("io", "cpuset") if name not in delegated()]
        if missing:
            self.assertIn(f"not there: {', '.join(missing)} ", words)
            self.assertIn("Delegate=cpu cpuset io memory pids", words)

    def test_the_packaged_drop_in_is_the_recommended_one(self):
        lines = [line for line in units.read(units.PACKAGING + "/delegate.conf").splitlines()
                 if line and not line.startswith("#")]
        self.assertEqual(lines, ["[Service]", "Delegate=cpu cpuset io memory pids"])


if __name__ == "__main__":
    unittest.main()
