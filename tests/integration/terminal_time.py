#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The time limit of a command with a terminal: `wall_terminal` of its profile, a request's own limit, and
the line that says when a limit was lowered."""
import unittest

from cli_support import command
from cli_tty import Terminal
from config_support import WithFolder
from support import Server, text_of

CONFIG = """\
profiles:
  - name: short
    extends: default
    limits: {wall_default: 1s, wall_max: 2s}
  - name: free
    extends: short
    limits: {wall_terminal: none}
  - name: longer
    extends: short
    limits: {wall_terminal: 4s}
"""
WORDS = ("sh", "-c", "echo go; sleep 3; echo over; sleep ${1:-0}", "sh")
TIMEOUT = 124


class Time(WithFolder):
    def setUp(self):
        super().setUp()
        self.config = self.write(CONFIG)

    def terminal(self, profile, *words, options=()):
        return Terminal(words=command(*words, options=(
            "--standalone", f"--config={self.config}", f"--profile={profile}", *options)))

    def on_terminal(self, profile, *words, options=()):
        """The exit code, and what was seen."""
        terminal = self.terminal(profile, *words, options=options)
        terminal.read_until(b"go")
        code, _ = terminal.end()
        return code, terminal.seen

    def piped(self, profile, *words, options=()):
        result = self.run_msp(*words, options=(f"--config={self.config}", f"--profile={profile}", *options))
        return result.returncode, result.stderr

    def test_a_terminal_has_no_limit_where_its_profile_says_so(self):
        code, seen = self.on_terminal("free", *WORDS)
        self.assertEqual(code, 0)
        self.assertIn(b"over", seen)

    def test_without_the_key_it_has_that_of_others(self):
        code, seen = self.on_terminal("short", *WORDS)
        self.assertEqual(code, TIMEOUT)
        self.assertNotIn(b"over", seen)

    def test_without_a_terminal_the_key_is_without_effect(self):
        for profile in ("free", "longer"):
            with self.subTest(profile=profile):
                self.assertEqual(self.piped(profile, *WORDS)[0], TIMEOUT)

    def test_a_time_of_its_own_ends_it(self):
        code, seen = self.on_terminal("longer", *WORDS, "9")
        self.assertEqual(code, TIMEOUT)
        self.assertIn(b"over", seen)

    def test_a_request_is_obeyed_and_lowered_with_a_line(self):
        code, seen = self.on_terminal("free", *WORDS, options=("--timeout=500ms",))
        self.assertEqual(code, TIMEOUT)
        self.assertNotIn(b"lowered", seen)
        terminal = self.terminal("free", *WORDS, options=("--timeout=5m",))
        terminal.read_until(b"--timeout is lowered to 2 s, the most that the profile allows")
        self.assertEqual(terminal.end()[0], TIMEOUT)

    def test_a_lowered_limit_is_said_without_a_terminal_too(self):
        code, error = self.piped("short", *WORDS, options=("--timeout=1h",))
        self.assertEqual(code, TIMEOUT)
        self.assertIn("msp: run: --timeout is lowered to 2 s, the most that the profile allows\n", error)
        for timeout in ("2s", "1500ms"):
            self.assertNotIn("lowered", self.piped("short", "true", options=(f"--timeout={timeout}",))[1])
        self.assertNotIn("lowered", self.piped("short", "true")[1])

    def test_a_terminal_that_an_agents_tool_opens_has_the_most_of_others(self):
        with Server("--config", self.config) as server:
            server.initialize()
            result = server.call("run_command", command="sleep 30", profile="free", tty=True)
            self.assertEqual(result["_meta"]["msp/execution"]["verdict"], "timeout", text_of(result))


if __name__ == "__main__":
    unittest.main()
