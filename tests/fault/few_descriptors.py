#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A running server whose processes may open few descriptors, step by step: that request gets an
error, none hangs, and when there is room again everything works as before."""
import contextlib
import resource
import sys
import unittest

import faults
import leftovers
import support

ANSWER_S = 5
MOST_MORE = 16  # descriptors above what a process holds when it is idle
READY_MOST = 32  # POOL_MAX
shared = {}


def setUpModule():
    faults.prepare()
    shared["before"] = leftovers.Snapshot()
    shared["bystander"] = faults.Bystander()


def tearDownModule():
    shared["bystander"].server.close()


def set_limit(pid, count):
    """The soft limit alone: the hard one could not be raised again."""
    hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (min(count, hard), hard))


class Few(unittest.TestCase):
    def setUp(self):
        self.start()

    def start(self):
        self.limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        self.server = support.Server()
        self.server.initialize()
        self.addCleanup(self.server.close)
        below = support.descendants(self.server.process.pid)
        self.chain = {"supervisor": self.server.process.pid, "factory": below[0],
                      "broker": below[1]}
        self.counts = {role: leftovers.descriptor_count(pid) for role, pid in self.chain.items()}

    def tearDown(self):
        self.doCleanups()
        self.assertEqual(shared["bystander"].wait_others_gone(), [])
        self.assertTrue(shared["bystander"].is_well())
        self.assertEqual(shared["before"].left(), {})

    def assert_well(self, text):
        result = self.server.call("run_command", command=f"echo {text}", timeout=ANSWER_S)
        self.assertIn(f"{text}\n[exit 0", support.text_of(result))

    def is_well(self, text):
        with contextlib.suppress(AssertionError, support.Gone, BrokenPipeError):
            self.assert_well(text)
            return True
        return False

    def request(self, number):
        """A request of each kind; was it an error?"""
        tool, arguments = (("run_command", {"command": "echo few", "stdin": "x"}),
                           ("run_code", {"language": "bash", "code": "echo few"}))[number % 2]
        result = self.server.call(tool, timeout=ANSWER_S, **arguments)
        text = support.text_of(result)
        if result["isError"]:
            self.assertGreater(len(text), 20)
        else:
            self.assertIn("few\n[exit 0", text)
        return result["isError"]

    def step_by_step(self, role):
        pid = self.chain[role]
        is_supervisor = role == "supervisor"
        idle = leftovers.idle_descriptor_count(pid, is_supervisor)
        errors = 0
        for count in range(idle - 3, idle + MOST_MORE):
            for kind in range(2) if faults.IS_ALL else ((count + faults.SEED) % 2,):
                with self.subTest(role=role, descriptors=count, kind=kind):
                    set_limit(pid, count)
                    # What is ready has descriptors already.
                    for _ in range(len(support.ready(pid)) + 1):
                        errors += self.request(kind)
                    set_limit(pid, self.limit)
                    self.assert_well("again")
        self.assertGreater(errors, 0, "it never had too few")
        self.assertTrue(support.wait_until(
            lambda: leftovers.idle_descriptor_count(pid, is_supervisor) == idle),
            "descriptors are lost")
        print(f"{role}: {errors} requests refused, {idle} descriptors when idle",
              file=sys.stderr)

    def test_supervisor(self):
        self.step_by_step("supervisor")

    def test_factory(self):
        """It fails closed: what it cannot hold ends it, and everything with it, with a reason. That
        may be the next sandbox that is made ahead, after a request that one was ready for. What was
        made ahead meanwhile has few descriptors too: the request that gets it is refused."""
        ended = 0
        for count in range(self.counts["factory"] - 3, self.counts["factory"] + 4):
            with self.subTest(descriptors=count):
                pid = self.chain["factory"]
                set_limit(pid, count)
                with contextlib.suppress(support.Gone, BrokenPipeError):
                    self.request(0)
                has_ended = support.wait_until(lambda: self.server.process.poll() is not None, 1)
                if not has_ended:  # or it does right now
                    with contextlib.suppress(ProcessLookupError):
                        set_limit(pid, self.limit)
                    has_ended = not any(self.is_well("again") for _ in range(READY_MOST))
                if has_ended:
                    ended += 1
                    self.assertEqual(self.server.close(), 70)
                    self.assertIn(b"msp-supervisor: the factory ended", self.server.error_text)
                    self.start()
        self.assertGreater(ended, 0)

    def test_broker(self):
        self.step_by_step("broker")

    def test_many_at_once(self):
        """Too few for all: some fail, none is lost."""
        pid = self.chain["broker"]
        set_limit(pid, self.counts["broker"] + 40)
        numbers = [self.server.post("tools/call", {"name": "run_command", "arguments": {
            "command": "sleep 0.5; echo many"}}) for _ in range(60)]
        results = [self.server.answer(number, 30) for number in numbers]
        failed = sum(result["isError"] for result in results)
        self.assertGreater(failed, 0)
        self.assertLess(failed, 60)
        set_limit(pid, self.limit)
        self.assert_well("again")


if __name__ == "__main__":
    unittest.main()
