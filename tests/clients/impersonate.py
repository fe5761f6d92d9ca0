#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sessions as Claude Code, Codex and Gemini CLI hold them, to the end: whatever an agent does to
end its server, nothing of it may be left, not even of a workload that ignores signals."""
import os
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

import agents  # noqa: E402
import figures  # noqa: E402
import leftovers  # noqa: E402
import support  # noqa: E402
from workload import Workload, is_running  # noqa: E402

# From the agent's first step until nothing is left; the agents themselves wait less, or for ever.
GONE_SECONDS = 15
STUBBORN = ("trap '' TERM INT HUP PIPE; "
            "(setsid sh -c 'trap \"\" TERM INT HUP; while :; do sleep 0.1; done' &) ; echo started")


def setUpModule():
    leftovers.become_reaper()


class Sessions:
    agent = None

    def assert_gone(self, agent, what):
        leftovers.reap_orphans(keep=(agent.server.process.pid,))
        seconds = leftovers.wait_gone(agent.left, limit=GONE_SECONDS)
        self.assertIsNotNone(seconds, leftovers.describe(leftovers.living()))
        figures.record("clients", agent=agent.name, what=what, gone_ms=round(seconds * 1000, 1),
                       killed=getattr(agent, "was_killed", False))

    def leave_while(self, work, what):
        with self.agent() as agent:
            agent.greet()
            agent.start_call("run_command", command=work.command)
            self.assertTrue(work.is_seen())
            agent.leave()
            self.assert_gone(agent, what)
            self.assertFalse(is_running(work.word))

    def test_a_session(self):
        with self.agent() as agent:
            told = agent.greet()
            self.assertEqual((told["version"], told["server"]["name"]), (agent.offers, "msp"))
            self.assertIn("run_code", told["instructions"])
            self.assertIn("run_command", {tool["name"] for tool in agent.tools()})
            text = support.text_of(agent.call("run_code", language="python", code="print(6 * 7)"))
            self.assertTrue(text.startswith("42\n"), text)
            agent.leave()
            self.assert_gone(agent, "idle")

    def test_cancelling_frees_the_way(self):
        work = Workload()
        with self.agent() as agent:
            agent.greet()
            number = agent.start_call("run_command", command=work.command)
            self.assertTrue(work.is_seen())
            agent.cancel(number)
            self.assertTrue(work.is_gone())
            self.assertIn("after", support.text_of(agent.call("run_command",
                                                              command="echo after")))
            self.assertNotIn(number, agent.server.answers)  # nobody waits for it any more

    def test_leaving_while_a_command_runs(self):
        self.leave_while(Workload(), "running")

    def test_leaving_while_a_stubborn_command_runs(self):
        self.leave_while(Workload(STUBBORN), "stubborn")

    def test_leaving_before_a_word_was_said(self):
        with self.agent() as agent:
            agent.leave()
            self.assert_gone(agent, "at once")

    def test_leaving_without_a_way_to_signal(self):
        """The agent itself died: all that the server sees is the end of input."""
        work = Workload(STUBBORN)
        with self.agent() as agent:
            agent.greet()
            agent.start_call("run_command", command=work.command)
            self.assertTrue(work.is_seen())
            agent.left = time.monotonic()
            agent.close_input()
            self.assert_gone(agent, "died")


class ClaudeCode(Sessions, unittest.TestCase):
    agent = agents.ClaudeCode


class Codex(Sessions, unittest.TestCase):
    agent = agents.Codex

    def test_no_tool_is_refused_without_a_person(self):
        """`codex exec` calls only what reads, or neither destroys nor reaches out: of ours all but
        what loses files of a sandbox, or changes those of the host."""
        with self.agent() as agent:
            agent.greet()
            for tool in agent.tools():
                hints = tool["annotations"]
                with self.subTest(tool=tool["name"]):
                    is_called = hints["readOnlyHint"] or not (
                        hints["destructiveHint"] or hints["openWorldHint"])
                    self.assertEqual(is_called, tool["name"] not in (
                        "destroy_sandbox", "apply_changes"), hints)


class GeminiCli(Sessions, unittest.TestCase):
    agent = agents.GeminiCli


if __name__ == "__main__":
    unittest.main()
