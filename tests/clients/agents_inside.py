#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Claude Code, Codex, Gemini CLI, Qwen Code, opencode and GitHub Copilot CLI in a sandbox, as `msp
agent` starts them: from an empty home to the prompt without a question, one prompt worked to its
end, the review, and the same without a terminal. Each row of policy/agents/agents.yaml with a
version is tried here."""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

import inside_agents  # noqa: E402
import support  # noqa: E402
from agent_terminals import setUpModule, tearDownModule  # noqa: E402, F401  (unittest calls them)
from inside_agents import KEY, PROMPT, WRITTEN, Inside  # noqa: E402

EVERY = unittest.skipUnless(os.environ.get("MSP_CLIENTS") == "all", "MSP_CLIENTS=all")


class Tried:
    """The tests of one agent."""

    agent = None

    def assert_key_outside(self, inside):
        """The command inside saw the placeholder, and the model no key."""
        placeholder = self.agent.placeholder()
        shown = placeholder if self.agent.has_shown_key else ""
        self.assertRegex(inside.model.results[0], f"key={shown}(\n|$)")
        self.assertNotIn(KEY, inside.model.asked)
        self.assertLessEqual(inside.model.keys, {None, placeholder, "Bearer " + placeholder})
        self.assertEqual(inside.model.outside, set())

    def test_in_a_terminal(self):
        with Inside(self.agent) as inside:
            inside.open(*self.agent.model)
            inside.see(*self.agent.ready)
            self.assertEqual(inside.model.results, [])
            inside.send(PROMPT)
            inside.wait_results(1)
            inside.see("Done.")
            self.assert_key_outside(inside)
            self.assertIsNone(inside.read("NEW"), "the project is as it was until the review")
            inside.leave()
            inside.terminal.type("apply\n")
            is_applied = support.wait_until(lambda: inside.read("NEW") == WRITTEN, 20)
            self.assertTrue(is_applied, inside.terminal.screen())
            self.assertEqual(inside.read("README"), "old\n")

    def test_without_a_terminal(self):
        with Inside(self.agent) as inside:
            result = inside.prompt_once()
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertIn("Done.", result.stdout)
            self.assert_key_outside(inside)
            self.assertIsNone(inside.read("NEW"))
            name = self.agent.name + "-greeter"
            self.assertEqual(inside.msp("diff", "--name-only", name).stdout, "NEW\n")
            self.assertEqual(inside.msp("apply", name).returncode, 0)
            self.assertEqual(inside.read("NEW"), WRITTEN)

    def test_a_model_of_this_machine_needs_no_key(self):
        with Inside(self.agent, has_key=False) as inside:
            result = inside.prompt_once()
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assert_key_outside(inside)

    @EVERY
    def test_without_its_files_it_asks(self):
        if not self.agent.question:
            self.skipTest("the row has no file")
        with Inside(self.agent, inside_agents.without_files(self.agent)) as inside:
            inside.open(*self.agent.model)
            inside.see(self.agent.question)

    @EVERY
    def test_with_its_own_questions(self):
        if not self.agent.asks:
            self.skipTest("its model or its sandbox decides what it asks")
        with Inside(self.agent) as inside:
            inside.open(*self.agent.model, options=("--ask",))
            inside.see(self.agent.ready[-1])
            inside.send(PROMPT)
            inside.see(self.agent.asks)
            self.assertEqual(inside.model.results, [])

    @EVERY
    def test_its_login_begins(self):
        if not self.agent.login:
            self.skipTest("its login begins with a request")
        with Inside(self.agent) as inside:
            inside.open(options=("--login",))
            inside.see(self.agent.login)

    @EVERY
    def test_its_session_goes_on(self):
        with Inside(self.agent) as inside:
            inside.open(*self.agent.model)
            inside.see(*self.agent.ready)
            inside.send(PROMPT)
            inside.see("Done.")
            inside.leave()
            inside.terminal.type("keep\n")
            inside.close()
            inside.open()
            inside.see(PROMPT, "Done.")

    @EVERY
    def test_it_is_the_version_of_the_row(self):
        (version,) = [line.split("\t")[1] for line in print_rows(self.agent.name).splitlines()
                      if line.startswith("version\t")]
        with Inside(self.agent) as inside:
            result = inside.run(inside_agents.start_command(self.agent, "--version"))
            self.assertIn(version, result.stdout)


def print_rows(*names):
    return subprocess.run([os.path.join(support.BIN, "msp-policy"), "agents", *names],
                          capture_output=True, text=True, timeout=60, check=True).stdout


class Rows(unittest.TestCase):
    def test_each_row_with_a_version_is_tried(self):
        rows = print_rows().split("agent\t")[1:]
        named = {row.split("\n")[0] for row in rows if "\nversion\t" in row}
        self.assertEqual(named, {kind.agent.name for kind in Tried.__subclasses__()})


class Claude(Tried, unittest.TestCase):
    agent = inside_agents.Claude()


class Codex(Tried, unittest.TestCase):
    agent = inside_agents.Codex()


class Gemini(Tried, unittest.TestCase):
    agent = inside_agents.Gemini()


class Qwen(Tried, unittest.TestCase):
    agent = inside_agents.Qwen()


class OpenCode(Tried, unittest.TestCase):
    agent = inside_agents.OpenCode()


class Copilot(Tried, unittest.TestCase):
    agent = inside_agents.Copilot()

    def test_without_a_login_it_is_refused(self):
        with Inside(self.agent, has_model=False) as inside:
            result = inside.prompt_once()
            self.assertEqual((result.returncode, result.stderr), (support.REFUSED, "msp: agent: "
                             "copilot has no login here: 'msp agent copilot --login'\n"))


if __name__ == "__main__":
    unittest.main()
