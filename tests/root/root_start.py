#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Started as root, msp becomes the account msp before anything else. Only root can show it, so
this is not one of ctest's: `./dev test` runs it as root. Nothing of the checkout need be readable
for the account."""
import os
import pwd
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import support  # noqa: E402  (its folder is known from here on)

ACCOUNT = "msp"


def status_of(pid):
    """Uid, gid, groups and capabilities of a process, as /proc tells."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class RootStart(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.account = pwd.getpwnam(ACCOUNT)

    def assert_is_the_account(self, pid):
        status = status_of(pid)
        self.assertEqual(set(status["Uid"].split()), {str(self.account.pw_uid)}, status["Name"])
        self.assertEqual(set(status["Gid"].split()), {str(self.account.pw_gid)}, status["Name"])
        self.assertLessEqual(set(status["Groups"].split()), {str(self.account.pw_gid)})

    def test_a_command_runs(self):
        result = support.run("/bin/echo", "hello")
        self.assertEqual((result.returncode, result.stdout), (0, "hello\n"), result.stderr)

    def test_the_workload_is_the_account_outside(self):
        code = "import os; print(os.getuid(), open('/proc/self/uid_map').read().split())"
        result = support.run_python(code)
        self.assertEqual(result.returncode, 0, result.stderr)
        inside, mapped = result.stdout.split(" ", 1)
        self.assertEqual(inside, "1000")
        self.assertNotIn("'0'", mapped.split(",")[1], "the host's root is not mapped")

    def test_no_process_stays_root(self):
        with support.Server() as server:
            server.initialize()
            number = server.post("tools/call", {
                "name": "run_command", "arguments": {"command": "sleep 5"}})
            support.wait_until(lambda: len(support.descendants(server.process.pid)) >= 3)
            chain = [server.process.pid, *support.descendants(server.process.pid)]
            self.assertGreater(len(chain), 2)
            for pid in chain:
                with self.subTest(pid=pid):
                    self.assert_is_the_account(pid)
            server.notify("notifications/cancelled", {"requestId": number})

    def test_doctor_works(self):
        result = subprocess.run([support.MSP, "doctor"], capture_output=True, text=True,
                                stdin=subprocess.DEVNULL, timeout=60, check=False)
        self.assertIn(result.returncode, (0, support.REFUSED), result.stderr)
        self.assertTrue(result.stdout)


if __name__ == "__main__":
    unittest.main()
