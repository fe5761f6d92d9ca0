#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of each process of `msp serve`: the server works on, or nothing of it is left running."""
import os
import signal
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import leftovers  # noqa: E402  pylint: disable=wrong-import-position
import support  # noqa: E402  pylint: disable=wrong-import-position

SECONDS = 15
FACTORY = "memfd:msp-child"  # it runs from a sealed copy


def setUpModule():
    leftovers.become_reaper()


def everything():
    """Processes below this one, also the path opener, the audit log's writer and ready sandboxes."""
    return [pid for pid in support.descendants(os.getpid(), with_opener=True, with_ready=True)
            if support.is_alive(pid)]


def comm_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""


def parent_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return int(file.read().rpartition(")")[2].split()[1])


class Killed(unittest.TestCase):
    def setUp(self):
        self.machine = leftovers.Snapshot()

    def begin(self):
        server = support.Server()
        self.addCleanup(server.close)
        server.initialize()
        made = server.call("run_command", command="true")
        self.assertFalse(made["isError"], support.text_of(made))
        return server

    def kill(self, server, name):
        """Kill the process of this name; the visible one is the server itself."""
        if name == "msp serve":
            pids = [server.process.pid]
        else:
            pids = [pid for pid in everything() if comm_of(pid) == name
                    and parent_of(pid) == server.process.pid]
        self.assertEqual(len(pids), 1, f"{name}: {leftovers.describe(everything())}")
        os.kill(pids[0], signal.SIGKILL)

    def assert_nothing_is_left(self, server):
        """No process and no mount; a cgroup at most until the next start."""
        server.process.wait(SECONDS)
        self.assertTrue(support.wait_until(self.are_all_gone, SECONDS),
                        leftovers.describe(everything()))
        self.assertEqual(support.run("/bin/true").returncode, 0)
        left = self.machine.left(SECONDS)
        self.assertEqual({kind: left.get(kind, []) for kind in ("mounts", "cgroups")},
                         {"mounts": [], "cgroups": []})

    @staticmethod
    def are_all_gone():
        leftovers.reap_orphans()
        return not everything()

    def ends_after(self, name):
        server = self.begin()
        self.kill(server, name)
        self.assert_nothing_is_left(server)
        for reader in server.readers:
            reader.join(SECONDS)
        return server.process.returncode, server.error_text.decode()

    def test_the_path_opener(self):
        code, text = self.ends_after("msp-opener")
        self.assertEqual(code, 70)
        self.assertIn("the path opener (msp-opener) has ended", text)
        self.assertIn("start it again", text)

    def test_the_visible_process(self):
        self.assertEqual(self.ends_after("msp serve")[0], -signal.SIGKILL)

    def test_the_factory(self):
        code, text = self.ends_after(FACTORY)
        self.assertNotEqual(code, 0)
        self.assertNotEqual(text, "")

    def test_the_store(self):
        code, text = self.ends_after("msp-store")
        self.assertEqual(code, 70)
        self.assertIn("msp-store ended", text)

    def test_the_broker(self):
        server = self.begin()
        pids = [pid for pid in everything() if comm_of(pid) == "msp-broker"]
        self.assertEqual(len(pids), 1)
        os.kill(pids[0], signal.SIGKILL)
        self.assert_nothing_is_left(server)

    def test_a_signal_for_all_is_an_orderly_end(self):
        """As a terminal and systemd send it: the opener does not end before the supervisor."""
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number.name):
                server = self.begin()
                for pid in everything():
                    if comm_of(pid) == "msp-opener":
                        os.kill(pid, number)
                time.sleep(0.2)
                made = server.call("run_command", command="true")
                self.assertFalse(made["isError"], support.text_of(made))
                self.assertEqual(server.close(20), 0, server.error_text)


if __name__ == "__main__":
    unittest.main()
