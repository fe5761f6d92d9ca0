#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An upgrade while the service runs: the service of one version, clients of another.

The other version is the same programs with another protocol: the hash of its definition, which
each program carries and says first, is changed in copies of them."""
import os
import shutil
import tempfile
import unittest

import units
from units import support
import ipc

PROGRAMS = ("msp", "msp-supervisor", "msp-broker", "msp-child-init", "msp-scope", "msp-audit", "msp-opener")


def make_other_version(folder):
    """How many programs carry the hash."""
    old = ipc.SCHEMA
    new = bytes(byte ^ 0xff for byte in old)
    changed = 0
    for name in PROGRAMS:
        shutil.copy(os.path.join(support.BIN, name), folder)
        with open(os.path.join(folder, name), "r+b") as file:
            data = file.read()
            changed += old in data
            file.seek(0)
            file.write(data.replace(old, new))
    shutil.copy(os.path.join(support.BIN, "builtin.policy"), folder)
    return changed


class Upgrade(units.ServiceCase):
    def setUp(self):
        # Not in /tmp: the service has one of its own.
        folder = tempfile.TemporaryDirectory(prefix=".msp-other-", dir=os.path.expanduser("~"))
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)
        self.other = folder.name + "/msp"
        self.assertEqual(make_other_version(folder.name), 6, "all that use the protocol")
        self.install(folder=folder.name)
        units.systemctl("start", "msp.service")

    def other_client(self):
        """A client of the version that the service is of."""
        before, support.MSP = support.MSP, self.other
        try:
            return self.client()
        finally:
            support.MSP = before

    def test_the_service_is_named(self):
        result = units.msp("status")
        self.assertEqual(result.returncode, 75, result.stderr)
        self.assertIn("of this version", result.stderr)
        self.assertIn("systemctl --user restart msp.service", result.stderr)
        self.assertEqual(units.msp("status", program=self.other).returncode, 0)

    def test_a_new_client_gets_a_supervisor_of_its_own(self):
        client = self.client()
        self.assertTrue(client.command("echo hello").startswith("hello\n"))
        self.assertNotEqual(support.descendants(client.process.pid), [])
        self.assertIn(b"of this version", client.error_text)
        client.close()

    def test_a_new_command_too(self):
        result = units.msp("run", "--", "echo", "hello")
        self.assertEqual((result.returncode, result.stdout), (0, "hello\n"), result.stderr)
        self.assertIn("of this version", result.stderr)

    def test_an_old_client_goes_on(self):
        old = self.other_client()
        new = self.client()
        for _ in range(3):
            self.assertTrue(new.command("echo new").startswith("new\n"))
            self.assertTrue(old.command("echo old").startswith("old\n"))
        self.assertEqual(support.descendants(old.process.pid), [])

    def test_a_restart_brings_them_together(self):
        old = self.other_client()
        self.install()
        units.systemctl("restart", "msp.service")
        self.assertEqual(old.process.wait(10), units.STOPPED)
        client = self.client()
        self.assertTrue(client.command("echo hello").startswith("hello\n"))
        self.assertEqual(units.status()["clients"], 1)


if __name__ == "__main__":
    unittest.main()
