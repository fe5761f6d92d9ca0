#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Started as root, msp becomes the account msp before anything else. Only root can show it, so
this is not one of ctest's: `./dev test` runs it as root. Nothing of the checkout need be readable
for the account."""
import os
import pwd
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import support  # noqa: E402  (its folder is known from here on)

ACCOUNT = "msp"


def status_of(pid):
    """Uid, gid, groups and capabilities of a process, as /proc tells."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def identities_in(pid):
    """(device, inode) of each descriptor of a process."""
    found = set()
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            status = os.stat(f"/proc/{pid}/fd/{name}")
        except OSError:  # closed meanwhile
            continue
        found.add((status.st_dev, status.st_ino))
    return found


def identity_of(descriptor):
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


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
            self.assertTrue(support.wait_until(lambda: support.named(server.process.pid, "sleep")))
            chain = [server.process.pid, *support.descendants(server.process.pid)]
            self.assertGreater(len(chain), 2)
            for pid in chain:
                with self.subTest(pid=pid):
                    self.assert_is_the_account(pid)
            server.notify("notifications/cancelled", {"requestId": number})

    def test_no_descriptor_of_root_comes_along(self):
        """A file that only root can open, and a socket, open in root's shell: in none of the
        processes, the frontend first of all."""
        secret = tempfile.TemporaryFile()  # pylint: disable=consider-using-with
        secret.write(b"root's")
        ours, theirs = socket.socketpair()
        with secret, ours, theirs:
            inherited = {identity_of(one.fileno()) for one in (secret, theirs)}
            # What a service manager passed to another process is nothing to keep.
            with support.Server(
                    pass_fds=(secret.fileno(), theirs.fileno()),
                    env={**os.environ, "LISTEN_FDS": "1", "LISTEN_PID": "1"}) as server:
                server.initialize()
                self.assert_none_has(server.process.pid, inherited)
            process = subprocess.Popen(
                [support.MSP, "run", *support.limits(), "--", "sleep", "20"],
                stdin=subprocess.DEVNULL, pass_fds=(secret.fileno(), theirs.fileno()))
            try:
                self.assertTrue(support.wait_until(lambda: support.named(process.pid, "sleep")))
                self.assert_none_has(process.pid, inherited)
                # The control: a program that root starts the same way has them.
                with subprocess.Popen(["sleep", "20"], stdin=subprocess.DEVNULL,
                                      pass_fds=(secret.fileno(), theirs.fileno())) as other:
                    try:
                        self.assertEqual(identities_in(other.pid) & inherited, inherited)
                    finally:
                        other.kill()
            finally:
                process.terminate()
                process.wait()

    def assert_none_has(self, pid, inherited):
        chain = [pid, *support.descendants(pid)]
        self.assertGreater(len(chain), 2)
        for one in chain:
            with self.subTest(pid=one):
                self.assertEqual(identities_in(one) & inherited, set(), status_of(one)["Name"])

    def test_doctor_works(self):
        result = subprocess.run([support.MSP, "doctor"], capture_output=True, text=True,
                                stdin=subprocess.DEVNULL, timeout=60, check=False)
        self.assertIn(result.returncode, (0, support.REFUSED), result.stderr)
        self.assertTrue(result.stdout)


if __name__ == "__main__":
    unittest.main()
