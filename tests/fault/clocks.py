#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time that jumps and time that stops: the clock that can be set has no say in anything, and
processes that were stopped for seconds, as in a suspend, go on where they were, their deadlines
right."""
import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile
import time
import unittest

import faults
import leftovers
import support

INJECT = faults.tool("inject")
# The processes of `msp serve`, as they come: the layers are tried in a sandbox of its own. Opener,
# starter, factory, broker and prover begin at the same time, in any order. The writer of the audit log is none of
# them: the tracer does not follow it.
BESIDE = tuple(f"{place} beside others" for place in ("first", "second", "third", "fourth", "fifth"))
ROLES = ("supervisor", *BESIDE, "probe", "init", "workload")
RUN_ROLES = ("msp", "supervisor", "factory", "init", "workload")
TURNS_MAX = 4
GAP_S = 3
END_S = 60  # what hangs
LEFT = "left\n[1 background process was ended with the command: "
shared = {}


def setUpModule():
    faults.prepare("inject")
    shared["before"] = leftovers.Snapshot()
    shared["bystander"] = faults.Bystander()


def tearDownModule():
    shared["bystander"].server.close()


class Clocked(unittest.TestCase):
    def tearDown(self):
        self.doCleanups()
        self.assertEqual(shared["bystander"].wait_others_gone(), [])
        self.assertTrue(shared["bystander"].is_well())
        self.assertEqual(shared["before"].left(), {})


class Jumps(Clocked):
    """A tracer hides the calls without a kernel, counts the looks at each clock, and lets the
    other clock answer: the two are decades apart."""

    def traced(self, role, clock, number, *command, lines=()):
        """(answers by id with the seconds they took, report, exit code)."""
        with tempfile.NamedTemporaryFile("r", prefix="msp-clocks-") as report:
            process = subprocess.Popen(
                [INJECT, report.name, str(role), clock, str(number), "0", *command],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            start = time.monotonic()
            process.stdin.write(b"".join(lines))
            process.stdin.flush()
            answers = {}
            for _ in lines:
                line = process.stdout.readline()
                if not line:
                    break
                message = json.loads(line)
                answers[message["id"]] = (message["result"], time.monotonic() - start)
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
            rest, errors = process.stdout.read(), process.stderr.read()
            process.stdout.close()
            process.stderr.close()
            self.assertEqual(errors, b"", rest)
            code = process.wait(60)
            return answers, report.read(), code

    def session(self, role=0, clock="access", number=0, longer=()):
        return self.traced(role, clock, number, support.MSP, "serve", "--strict-start",
                           *support.limits(), lines=[
            *longer,
            faults.call_line(1, command="echo quick"),
            faults.call_line(2, command="sleep 300", timeout_ms=700),
            faults.call_line(3, command="sleep 0.3; echo slow", timeout_ms=60000),
            faults.call_line(4, command="sleep 300 & echo left")])

    def assert_right(self, answers):
        self.assertLessEqual({1, 2, 3, 4}, set(answers))
        for number, text in ((1, "quick\n[exit 0"), (3, "slow\n[exit 0"), (4, LEFT)):
            self.assertTrue(support.text_of(answers[number][0]).startswith(text), answers)
        self.assertIn("\n[exit 0", support.text_of(answers[4][0]))
        self.assertEqual(answers[2][0]["_meta"]["msp/execution"].get("verdict"), "timeout")
        self.assertGreater(answers[2][1], 0.6)
        self.assertLess(answers[2][1], 200)  # it and the next did not wait for their sleep
        self.assertLess(answers[4][1], 200)

    @staticmethod
    def looks(report, roles):
        return {(roles[int(role) - 1], clock): int(count) for role, clock, count in
                re.findall(r"(?m)^(\d) (real-time|monotonic) (\d+)$", report)}

    def test_who_asks_for_the_time_of_day(self):
        answers, report, code = self.session()
        self.assertEqual(code, 0)
        self.assert_right(answers)
        looks = self.looks(report, ROLES)
        self.assertGreater(looks["supervisor", "monotonic"], 5, "the tracer sees clocks")
        others = {role for role, clock in looks if clock == "real-time"}
        self.assertLessEqual(others, set(BESIDE),
                             "the broker's library notes it")
        self.assertLessEqual(len(others), 1, "the factory and the prover have no use for it")
        _, report, code = self.traced(0, "access", 0, support.MSP, "run", *support.limits(),
                                      "--timeout", "5", "--", "/bin/true")
        looks = {role for role, clock in self.looks(report, RUN_ROLES) if clock == "real-time"}
        self.assertEqual((code, looks), (0, set()))
        _, report, _ = self.traced(0, "access", 0, "/bin/date", "-u", "+")
        self.assertIn(("msp", "real-time"), self.looks(report, RUN_ROLES), "it sees this one too")

    def test_jumps_of_the_time_of_day(self):
        """Decades back at one look and forth again at the next; the library looks every 5 s. Which
        process is the broker differs from session to session."""
        hits = 0
        for role in BESIDE * TURNS_MAX:
            answers, report, code = self.session(
                ROLES.index(role) + 1, "real-time", 2,
                longer=[faults.call_line(5, command="sleep 6; echo late")])
            hits += report.startswith("hit")
            self.assertEqual(code, 0)
            self.assert_right(answers)
            self.assertTrue(support.text_of(answers[5][0]).startswith("late\n[exit 0"), answers)
            self.assertGreater(answers[5][1], 5.5)
            if hits:
                break
        self.assertGreater(hits, 0)

    def test_the_same_jump_of_the_other_clock(self):
        """The control: were deadlines kept with a clock that jumps, it would be seen. About every
        tenth look decides something, the first ones hardly anything: sandboxes are made ahead then.
        Which one it is differs from run to run."""
        _, report, _ = self.session()
        count = self.looks(report, ROLES)["supervisor", "monotonic"]
        step = max(1, count // 128)
        for number in (number for first in range(step)
                       for number in range(count // 2 + first, 0, -step)):
            try:
                answers, _, _ = self.session(ROLES.index("supervisor") + 1, "monotonic", number)
                self.assert_right(answers)
            except AssertionError:  # also that of a supervisor that complains
                return
        self.fail("no jump was seen")


class Gaps(Clocked):
    def setUp(self):
        self.server = support.Server()
        self.addCleanup(self.server.close)
        self.server.initialize()
        below = support.descendants(self.server.process.pid)
        self.chain = {"supervisor": self.server.process.pid, "factory": below[0],
                      "broker": below[1]}

    def post(self, command, **arguments):
        return self.server.post("tools/call", {"name": "run_command",
                                               "arguments": dict(arguments, command=command)})

    def running(self, command, **arguments):
        """Its request and its init, once it runs."""
        before = set(support.descendants(self.server.process.pid))
        number = self.post(command, **arguments)
        self.assertTrue(support.wait_until(
            lambda: len(set(support.descendants(self.server.process.pid)) - before) >= 2))
        new = sorted(set(support.descendants(self.server.process.pid)) - before)
        return number, new[0]

    @contextlib.contextmanager
    def stopped(self, *pids):
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    def verdict(self, number, timeout):
        result = self.server.answer(number, timeout)
        return result["_meta"]["msp/execution"]["verdict"], support.text_of(result)

    def gap(self, *roles):
        """Three executions across a gap: one ends in it, one times out in it, one goes on."""
        ends, _ = self.running("sleep 1; echo ended", timeout_ms=60000)
        times_out, _ = self.running("sleep 30", timeout_ms=GAP_S * 800)
        goes_on, _ = self.running(f"sleep {GAP_S + 1}; echo went on", timeout_ms=60000)
        with self.stopped(*(self.chain[role] for role in roles)):
            time.sleep(GAP_S)
            self.assertTrue(shared["bystander"].is_well())
        start = time.monotonic()
        self.assertEqual(self.verdict(ends, END_S)[1][:6], "ended\n")
        self.assertEqual(self.verdict(times_out, END_S)[0], "timeout")
        self.assertLess(time.monotonic() - start, END_S, "what was due comes at once")
        verdict, text = self.verdict(goes_on, END_S)
        self.assertEqual((verdict, text[:8]), ("exited", "went on\n"))
        self.assertIn("next", support.text_of(self.server.call("run_command", command="echo next")))

    def test_supervisor(self):
        self.gap("supervisor")

    def test_broker(self):
        self.gap("broker")

    def test_factory(self):
        self.gap("factory")

    def test_all(self):
        """A suspend, as far as it can be had."""
        self.gap("broker", "factory", "supervisor")

    def test_a_request_while_the_factory_is_stopped(self):
        """It waits, and its own time counts. One that finds a sandbox ready does not wait."""
        with self.stopped(self.chain["factory"]):
            for _ in support.ready(self.chain["supervisor"]):
                self.assertEqual(self.verdict(self.post("echo ready"), END_S)[0], "exited")
            waits = self.post("echo waited", timeout_ms=60000)
            gives_up = self.post("echo never", timeout_ms=500)
            self.assertEqual(self.verdict(gives_up, END_S)[0], "timeout")
        self.assertEqual(self.verdict(waits, END_S)[1][:7], "waited\n")

    def test_init(self):
        """It cannot act on the timeout: the supervisor does without it."""
        times_out, init = self.running("sleep 30", timeout_ms=GAP_S * 800)
        with self.stopped(init):
            start = time.monotonic()
            self.assertEqual(self.verdict(times_out, END_S)[0], "timeout")
            self.assertLess(time.monotonic() - start, END_S)
            self.assertTrue(support.wait_until(lambda: not support.is_alive(init), END_S))
        goes_on, init = self.running("sleep 0.5; echo went on", timeout_ms=60000)
        with self.stopped(init):
            time.sleep(GAP_S)
        self.assertEqual(self.verdict(goes_on, END_S)[1][:8], "went on\n")

    def test_a_client_that_goes_while_the_supervisor_is_stopped(self):
        """The broker ends by itself; all else as soon as the supervisor can."""
        self.running("sleep 30")
        with self.stopped(self.chain["supervisor"]):
            self.server.process.stdin.close()
            self.assertTrue(support.wait_until(
                lambda: not support.is_alive(self.chain["broker"]), END_S))
        start = time.monotonic()
        self.assertEqual(self.server.process.wait(END_S), 0)
        self.assertEqual(shared["bystander"].wait_others_gone(END_S), [])
        self.assertLess(time.monotonic() - start, END_S)

    def test_a_supervisor_that_is_killed_while_it_is_stopped(self):
        number, _ = self.running("setsid sleep 30 & sleep 30")
        os.kill(self.chain["supervisor"], signal.SIGSTOP)
        os.kill(self.chain["supervisor"], signal.SIGKILL)
        self.server.process.wait(END_S)
        self.assertEqual(shared["bystander"].wait_others_gone(END_S), [])
        try:
            self.assertTrue(self.server.answer(number, 1)["isError"])
        except support.Gone:
            pass  # there was no time to say so


if __name__ == "__main__":
    unittest.main()
