#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The key `runner`: words before every command of a profile, which no request can leave out."""
import unittest

from cli_support import msp
from config_support import WithFolder
from support import Server, text_of

PROFILES = """\
profiles:
  - name: marked
    extends: default
    runner: [/usr/bin/env, RUNNER=before, "WORDS=two words"]
  - {name: below, extends: marked}
  - {name: free, extends: marked, runner: []}
  - {name: missing, extends: default, runner: [/usr/bin/no-such-runner]}
  - {name: slow, extends: default, runner: [/usr/bin/nice, -n, "7"]}
"""


class WithRunner(WithFolder):
    def setUp(self):
        super().setUp()
        self.config = self.write(PROFILES)

    def environment(self, **more):
        return super().environment(MSP_CONFIG=self.config, **more)

    def says(self, *words, profile="marked"):
        result = self.run_msp(*words, options=("--profile", profile))
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout


class Every(WithRunner):
    def test_command_of_a_person(self):
        self.assertEqual(self.says("/usr/bin/printenv", "RUNNER", "WORDS"), "before\ntwo words\n")
        self.assertEqual(self.says("printenv", "RUNNER", profile="below"), "before\n")
        result = self.run_msp("printenv", "RUNNER", options=("--profile", "free"))
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertEqual(self.says("nice", profile="slow"), "7\n")

    def test_its_own_words_are_the_commands(self):
        """What looks like an option or a variable of the runner comes behind it."""
        self.assertEqual(self.says("RUNNER=other", "printenv", "RUNNER"), "other\n")
        self.assertEqual(self.run_msp("exit", options=("--profile", "slow")).returncode, 127)

    def test_request_of_a_client(self):
        with Server(env=self.environment()) as server:
            server.initialize()
            for tool, arguments in (
                    ("run_command", {"command": "echo $RUNNER"}),
                    ("run_command", {"argv": ["printenv", "RUNNER"]}),
                    ("run_command", {"argv": ["printenv", "RUNNER"], "env": {"RUNNER": "mine"}}),
                    ("run_code", {"language": "python",
                                  "code": "import os; print(os.environ['RUNNER'])"}),
                    ("run_code", {"language": "sh", "code": "echo $RUNNER"})):
                result = server.call(tool, profile="marked", **arguments)
                self.assertIn("before", text_of(result), (tool, arguments))

    def test_runner_that_is_not_there_is_named(self):
        result = self.run_msp("true", options=("--profile", "missing"))
        self.assertEqual(result.returncode, 127)
        self.assertIn("/usr/bin/no-such-runner", result.stderr)
        with Server(env=self.environment()) as server:
            server.initialize()
            text = text_of(server.call("run_command", profile="missing", argv=["true"]))
        self.assertIn("/usr/bin/no-such-runner", text)
        self.assertIn("runner", text)

    def test_it_is_shown(self):
        result = msp("profile", "show", "marked", env=self.environment())
        self.assertIn("runner: /usr/bin/env RUNNER=before 'WORDS=two words' (", result.stdout)


class Mistakes(WithFolder):
    ROWS = (
        ("[bin/x]", '"bin/x" is not a path'),
        ("[faketime, now]", '"faketime" is not a path'),
        ("[/usr/../bin/x]", "is not a path"),
        ("[/nowhere/x]", "/nowhere/x is not in the sandbox"),
        ("[/tmp/x]", "a file that a workload can write"),
        ("[/workspace/venv/bin/python]", "a file that a workload can write"),
        ("/usr/bin/env", "runner"),
        ("['']", "is not a path"),
        ("[/usr/bin/env, %s]" % ("x" * 30000), "too long"),
    )

    def test_each_is_refused_with_its_reason(self):
        for value, reason in self.ROWS:
            path = self.write(f"profiles:\n  - {{name: p, extends: default, runner: {value}}}\n")
            result = self.run_msp("true", options=("--config", path, "--profile", "p"))
            self.assertEqual(result.returncode, 78, (value, result.stderr))
            self.assertIn(reason, result.stderr, value)


if __name__ == "__main__":
    unittest.main(verbosity=2)
