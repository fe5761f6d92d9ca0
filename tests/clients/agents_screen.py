#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The terminal of each agent in a sandbox beside the same program outside: its colours, a new size, a
paste and an interrupt, and the person's terminal after the agent's processes were killed."""
import glob
import os
import re
import signal
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

import inside_agents  # noqa: E402
import support  # noqa: E402
from agent_terminals import setUpModule, tearDownModule  # noqa: E402, F401  (unittest calls them)
from agents_inside import EVERY  # noqa: E402
from inside_agents import Inside  # noqa: E402
from terminal import Terminal  # noqa: E402

COLOUR = re.compile(r"\x1b\[([0-9;:]+)m")
# No sandbox has these, by which agents choose fewer colours.
OUTSIDE_TMUX = ("env", "-u", "TMUX", "-u", "TMUX_PANE")
PASTED = "\n".join(f"line {i} of what was pasted" for i in range(3)) + " END"


class Session(Inside):
    """Also of the program without msp, with the files and the words of its row."""

    def open_outside(self):
        row = self.run([os.path.join(support.BIN, "msp-policy"), "agents", self.agent.name]).stdout
        facts = [line.split("\t") for line in row.splitlines()]
        path = None
        for key, *values in facts:
            if key == "file":
                path = values[0]
            elif key == "text":
                self.put(path, values[0].replace(r"\n", "\n").replace(r"\\", "\\")
                         .replace("@WORKSPACE@", self.project).replace("@KEY_END@", self.key()[-20:]))
        variables = dict(value.split("=", 1) for key, value in facts if key == "environment")
        words = [value for key, value in facts if key == "argument"]
        self.terminal = Terminal(self.home, [*OUTSIDE_TMUX, self.agent.name, *words, *self.agent.model],
                                 {**self.environment(), **variables, **self.own_variables()}, self.project)

    def key(self):
        return inside_agents.KEY

    def own_variables(self):
        return dict(option.split("=", 2)[1:] for option in self.agent.options
                    if option.startswith("--env="))

    def colours(self):
        return set(COLOUR.findall(self.terminal.coloured()))


class Tried:
    agent = None

    def test_colours(self):
        with Session(self.agent) as inside:
            inside.open(*self.agent.model)
            inside.see(*self.agent.ready)
            found = inside.colours()
        with Session(self.agent) as outside:
            outside.open_outside()
            outside.see(*self.agent.ready)
            self.assertEqual(found, outside.colours())
            for key in 2 * self.agent.leave:  # Gemini CLI's second process outlives its terminal
                outside.terminal.keys(key)
                time.sleep(0.3)
            self.assertGreater(len(found), 1, "the control: it has colours")

    def test_size_paste_and_kill(self):
        with Session(self.agent) as inside:
            inside.open(*self.agent.model)
            inside.see(*self.agent.ready)
            inside.terminal.resize(120, 40)
            self.assertTrue(support.wait_until(lambda: self.width(inside) > 80, 20),
                            inside.terminal.screen())
            inside.terminal.paste(PASTED)
            self.assertTrue(support.wait_until(
                lambda: re.search(r"END|[Pp]asted|#1", inside.terminal.screen()), 20),
                inside.terminal.screen())
            self.assertEqual(inside.model.results, [], "a line's end in a paste sends nothing")
            self.kill_msp(inside)
            screen = inside.see("msp: agent:")
            self.assertNotIn("line 0 of what", screen.split("msp: agent:")[-1])
            self.assertEqual(inside.terminal.modes(), "0 0 0", "alternate screen, mouse, keypad")

    @staticmethod
    def width(inside):
        return max(map(len, inside.terminal.screen().split("\n")))

    def kill_msp(self, inside):
        """The keeper, with all that runs for it: it has the lock of the command's note."""
        (note,) = glob.glob(os.path.join(inside.home, "state/sandboxes/*/commands/*/note"))
        with open("/proc/locks", encoding="ascii") as file:
            (keeper,) = [int(line.split()[4]) for line in file
                         if line.split()[5].endswith(f":{os.stat(note).st_ino}")]
        os.kill(keeper, signal.SIGKILL)


class Claude(Tried, unittest.TestCase):
    agent = inside_agents.Claude()


@EVERY
class Codex(Tried, unittest.TestCase):
    agent = inside_agents.Codex()


@EVERY
class Gemini(Tried, unittest.TestCase):
    agent = inside_agents.Gemini()


@EVERY
class Qwen(Tried, unittest.TestCase):
    agent = inside_agents.Qwen()


@EVERY
class OpenCode(Tried, unittest.TestCase):
    agent = inside_agents.OpenCode()


@EVERY
class Copilot(Tried, unittest.TestCase):
    agent = inside_agents.Copilot()


if __name__ == "__main__":
    unittest.main()
