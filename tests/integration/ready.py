#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sandboxes that are made ahead: each for one execution, of the policy in force, and none in the way
of a request."""
import os
import re
import signal
import unittest

import leftovers
import support
from cli_support import SECONDS
from persistent_mcp import HANDLE
from service import Folder

NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
# What a run can leave, and what it would see of one before.
MARK = "; ".join((
    "ls -A /tmp /dev/shm /workspace /home/agent", "set -- /proc/[0-9]*; echo $#", "hostname",
    "for at in /tmp /dev/shm /home/agent; do echo left > $at/left; done",
    "sleep 100 >/dev/null 2>&1 &"))


def setUpModule():
    leftovers.become_reaper()


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Ready(Folder):
    def wait_ready(self, service, least=1):
        """Of the service, when there are so many."""
        self.assertTrue(support.wait_until(
            lambda: len(support.ready(service.process.pid)) >= least, SECONDS))
        return support.ready(service.process.pid)

    def wait_other(self, service, before):
        self.assertTrue(support.wait_until(
            lambda: set(support.ready(service.process.pid)) - set(before), SECONDS))

    def run_text(self, client, command):
        result = client.call("run_command", command=command)
        self.assertFalse(result.get("isError"), result)
        return support.text_of(result)

    def test_two_runs_have_no_namespace_in_common(self):
        service = self.service()
        client = self.client()
        self.wait_ready(service, 2)
        command = "; ".join(f"readlink /proc/self/ns/{name}" for name in NAMESPACES)
        both = [client.post("tools/call", {"name": "run_command", "arguments": {
            "command": command + "; sleep 1"}}) for _ in range(2)]
        texts = [support.text_of(client.answer(request)) for request in both]
        namespaces = [set(re.findall(r"\w+:\[\d+\]", text)) for text in texts]
        self.assertEqual([len(each) for each in namespaces], [len(NAMESPACES)] * 2, texts)
        self.assertFalse(namespaces[0] & namespaces[1])

    def test_one_finds_nothing_of_another(self):
        service = self.service()
        client = self.client()
        outputs = []
        for _ in range(4):
            self.wait_ready(service)
            outputs.append(re.sub(r"\d+\.\d+ s", "", self.run_text(client, MARK)))
        self.assertNotIn("left", outputs[0])
        self.assertEqual(len(set(outputs)), 1, outputs)

    def test_one_is_taken_and_ends(self):
        service = self.service()
        client = self.client()
        before = self.wait_ready(service, 2)
        waiting = client.post("tools/call", {"name": "run_command", "arguments": {
            "command": "sleep 1"}})
        self.assertTrue(support.wait_until(lambda: service.find("sleep\x001"), SECONDS))
        taken = [pid for pid in before if pid not in support.ready(service.process.pid)]
        self.assertEqual(len(taken), 1, before)
        self.assertTrue(support.is_alive(taken[0]))
        client.answer(waiting)
        self.assertTrue(support.wait_until(lambda: not support.is_alive(taken[0]), SECONDS))
        self.wait_other(service, before)

    def test_nobody_notices_that_one_was_killed(self):
        service = self.service()
        client = self.client()
        for _ in range(3):
            pids = self.wait_ready(service)
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            self.assertTrue(support.wait_until(
                lambda pids=pids: not any(support.is_alive(pid) for pid in pids), SECONDS))
            self.assertIn("here", self.run_text(client, "echo here"))
        self.wait_ready(service)
        self.assertIsNone(service.process.poll())

    def test_a_signal_waits_until_there_is_a_workload(self):
        """What waits in them is stopped here before it has its request."""
        service = self.service()
        client = self.client()
        pids = [child for pid in self.wait_ready(service, 2)
                for child in support.descendants(pid, with_ready=True)]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        text = support.text_of(client.call("run_command", argv=["sleep", "100"], yield_ms=0))
        handle = HANDLE.search(text).group()
        client.call("kill_execution", handle=handle, signal="TERM")
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        self.assertTrue(support.wait_until(lambda: "killed by signal 15" in support.text_of(
            client.call("read_output", handle=handle)), SECONDS))

    def test_a_new_policy_ends_them(self):
        service = self.service()
        client = self.client()
        before = self.wait_ready(service, 2)
        os.kill(service.process.pid, signal.SIGHUP)
        self.assertTrue(support.wait_until(
            lambda: service.status()["policy"]["generation"] == 2, SECONDS))
        self.assertTrue(support.wait_until(
            lambda: not any(support.is_alive(pid) for pid in before), SECONDS))
        self.assertIn("here", self.run_text(client, "echo here"))
        self.assertFalse(set(self.wait_ready(service)) & set(before))

    def test_more_at_once_than_are_ready(self):
        service = self.service("--max-executions=4")
        client = self.client()
        self.wait_ready(service)
        waiting = [client.post("tools/call", {"name": "run_command", "arguments": {
            "command": f"sleep 0.3; echo mark-{number}"}}) for number in range(4)]
        for number, request in enumerate(waiting):
            self.assertIn(f"mark-{number}", support.text_of(client.answer(request)))
        self.assertEqual(service.status()["executions"]["refused"], 0)

    def test_the_time_limit_begins_with_the_request(self):
        service = self.service()
        client = self.client()
        self.wait_ready(service)
        support.time.sleep(4)
        result = client.call("run_command", command="true")
        self.assertLess(result["_meta"]["msp/execution"]["wall_ms"], 4000)

    def test_they_end_with_a_service_that_was_killed(self):
        service = self.service()
        pids = self.wait_ready(service, 2)
        service.process.kill()
        service.process.wait(SECONDS)
        self.assertTrue(support.wait_until(
            lambda: not any(support.is_alive(pid) for pid in pids), SECONDS))


class Without(unittest.TestCase):
    def test_one_run_has_none_made(self):
        with support.subprocess.Popen(
                [support.MSP, "run", "--limits=" + support.limits_name(), "--", "cat"],
                stdin=support.subprocess.PIPE, stdout=support.subprocess.PIPE) as process:
            process.stdin.write(b"x")
            process.stdin.flush()
            self.assertEqual(process.stdout.read(1), b"x")
            support.time.sleep(0.2)
            self.assertEqual(support.ready(process.pid), [])
            process.stdin.close()
            self.assertEqual(process.wait(SECONDS), 0)


if __name__ == "__main__":
    unittest.main()
