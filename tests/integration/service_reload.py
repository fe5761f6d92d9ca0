#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The service is told that the operator's policy may have changed, while clients use it."""
import os
import re
import resource
import signal
import unittest

import leftovers
import support
from cli_support import SECONDS
from service import Folder


# Of each process. The system counts those that are on their way in messages against the same limit,
# for all processes of the user together: other tests' too.
DESCRIPTORS = 160


def setUpModule():
    leftovers.become_reaper()


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def size(pid):
    """Of what the process has mapped."""
    return int(re.search(r"^VmSize:\s*(\d+)", read(f"/proc/{pid}/status"), re.M).group(1))


def is_running(pid):
    """A process that has ended maps nothing."""
    try:
        return "VmSize:" in read(f"/proc/{pid}/status")
    except OSError:
        return False


def openers_of(service):
    found = []
    for pid in support.descendants(service.process.pid, with_opener=True):
        try:
            if read(f"/proc/{pid}/comm") == "msp-opener\n":
                found.append(pid)
        except OSError:  # it ended meanwhile
            pass
    return found


class Reload(Folder):
    def reload(self, service, generation):
        """Tell it, and wait for what it makes of it."""
        os.kill(service.process.pid, signal.SIGHUP)
        self.assertTrue(support.wait_until(
            lambda: service.status()["policy"]["generation"] == generation, SECONDS),
            service.status())

    def test_what_runs_is_left_alone(self):
        service = self.service()
        client = self.client()
        self.assertEqual(service.status()["policy"], {"generation": 1, "reload_failed": False})
        waiting = client.post("tools/call", {"name": "run_command", "arguments": {
            "command": "echo before; sleep 2; echo after"}})
        self.assertTrue(support.wait_until(lambda: service.find("sleep\x002"), SECONDS))
        self.reload(service, 2)
        self.assertIn("new", support.text_of(client.call("run_command", command="echo new")))
        result = client.answer(waiting)
        self.assertIn("after", support.text_of(result))
        self.assertIsNone(service.process.poll())

    def test_many_times(self):
        """No generation is kept that nothing uses: there is room for few descriptors, and no
        process grows by what it has mapped."""
        service = self.service(preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS)))
        client = self.client()
        client.call("run_command", command="true")
        # Without the init of what ended just now.
        self.assertTrue(support.wait_until(lambda: len(service.find("msp-child-init")) == 1))
        pids = [service.process.pid, *service.find("msp-child-init")]
        sizes = []

        def measure():
            sizes.append([size(pid) for pid in pids])
            return sizes[-1]
        for generation in range(2, DESCRIPTORS + 10):
            self.reload(service, generation)
            result = client.call("run_command", command="true")
            self.assertFalse(result.get("isError"), result)
            measure()
        # A sandbox that is about to end keeps the plan of its generation for a moment.
        least = [min(column) for column in zip(*sizes[10:])]
        self.assertTrue(support.wait_until(lambda: measure() == least, SECONDS), (sizes[-1], least))

    def test_a_log_that_is_not_written(self):
        """The new policy needs its record: the old one stays, and the reason is no errno."""
        service = self.service()
        writer, = support.named(service.process.pid, "msp-audit")
        os.kill(writer, signal.SIGSTOP)
        try:
            os.kill(service.process.pid, signal.SIGHUP)
            self.assertTrue(support.wait_until(
                lambda: service.status()["policy"]["reload_failed"], SECONDS))
        finally:
            os.kill(writer, signal.SIGCONT)
        self.assertEqual(service.status()["policy"]["generation"], 1)
        service.end()
        self.assertIn("cannot be written: msp-audit does not keep up", service.error)
        self.assertNotIn("in progress", service.error)

    def test_without_the_launcher_it_ends(self):
        """Its unit starts it again; a service that could never reload would be left otherwise."""
        service = self.service()
        openers = openers_of(service)
        self.assertEqual(len(openers), 1)
        os.kill(openers[0], signal.SIGKILL)
        self.assertEqual(service.process.wait(SECONDS), 70)

    def test_the_launcher_ends_with_it(self):
        service = self.service()
        openers = openers_of(service)
        self.assertTrue(all(is_running(pid) for pid in openers))
        service.process.kill()
        service.process.wait(SECONDS)
        self.assertTrue(support.wait_until(
            lambda: not any(is_running(pid) for pid in openers), SECONDS))


if __name__ == "__main__":
    unittest.main()
