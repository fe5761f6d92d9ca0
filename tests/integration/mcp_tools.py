#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the tools do and how they say it, through the real server."""
import os
import re
import tempfile
import time
import unittest

import support


class Tools(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = support.Server()
        cls.server.initialize()

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def text(self, tool, **arguments):
        """The text of a call that ran."""
        result = self.server.call(tool, **arguments)
        self.assertFalse(result["isError"], result["content"])
        return support.text_of(result)

    def problem(self, tool, **arguments):
        """The text of a call that did not run."""
        result = self.server.call(tool, **arguments)
        self.assertTrue(result["isError"], result["content"])
        return support.text_of(result)

    def facts(self, **arguments):
        return self.server.call("run_command", **arguments)["_meta"]["msp/execution"]

    def test_the_posture_is_measured(self):
        """In the welcome for the default profile, with its first result for any other."""
        filters = set()
        for profile, untried in (("default", ["landlock tcp"]), ("strict", [])):
            for _ in range(2):
                facts = self.facts(command="true", profile=profile)
                found = facts["posture"]
                untried_limits = [] if facts["limits"] == "cgroup" else ["cgroup"]
                self.assertEqual(found["not_tried"], untried + untried_limits)
                self.assertEqual(found["layers"] + len(found["not_tried"]), 15)
                self.assertEqual(found["namespaces"],
                                 ["user", "mnt", "pid", "ipc", "uts", "cgroup", "net"])
                self.assertEqual(found["landlock_lost"], [])
                self.assertEqual(found["seccomp_mode"], 2)
                self.assertEqual({"cpu", "memory", "pids"} <= set(found["controllers"]),
                                 facts["limits"] == "cgroup")
                filters.add((profile, found["filter_sha256"]))
        self.assertEqual(len(filters), 2, "one for each profile")
        self.assertEqual(len({value for _, value in filters}), 2, "and they differ")

    def test_timings(self):
        """Where the time went, without a gap and within what the client waited."""
        names = ["queue", "prepare", "sandbox", "start", "run", "report", "answer"]
        begun = time.monotonic()
        facts = self.facts(command="sleep 0.2")
        wall_us = (time.monotonic() - begun) * 1000000
        timings = facts["timings_us"]
        self.assertEqual(list(timings), names)
        self.assertGreater(timings["run"], 100000)
        # An init sees a little late that it runs.
        self.assertGreaterEqual(timings["start"] + timings["run"], 200000)
        self.assertLessEqual(sum(timings.values()), wall_us)
        told = sum(timings[name] for name in names[1:-1])
        self.assertEqual((told + 500) // 1000, facts["wall_ms"])
        running = self.facts(command="sleep 30", yield_ms=0)
        self.assertNotIn("timings_us", running)
        self.server.call("kill_execution", handle=running["handle"])
        result = self.server.call("run_command", argv=["/nothing"])
        self.assertNotIn("timings_us", result["_meta"]["msp/execution"])

    def test_output_and_exit_code(self):
        self.assertRegex(self.text("run_command", command="echo out; echo err >&2; exit 3"),
                         r"^out\n\[stderr\]\nerr\n\[exit 3 · \d+\.\d\d s\]$")
        self.assertRegex(self.text("run_command", command="true"),
                         r"^\[exit 0 · \d+\.\d\d s · no output\]$")

    def test_argv_is_not_for_a_shell(self):
        self.assertTrue(self.text("run_command", argv=["echo", "$HOME", "a b", "*"])
                        .startswith("$HOME a b *\n"))

    def test_where_and_with_what(self):
        text = self.text("run_command", command='pwd; echo "$A-$B"', cwd="/tmp",
                         env={"A": "1", "B": "zwei ü"})
        self.assertTrue(text.startswith("/tmp\n1-zwei ü\n"), text)
        self.assertTrue(self.text("run_command", command="pwd").startswith("/workspace\n"))

    def test_standard_input(self):
        self.assertTrue(self.text("run_command", command="cat", stdin="in ü\0x")
                        .startswith("in ü\\x00x\n"))
        self.assertIn("no output", self.text("run_command", command="cat"))
        self.assertTrue(self.text("run_command", command="wc -c", stdin="x" * 5000000)
                        .startswith("5000000\n"))
        self.assertIn("[exit 0", self.text("run_command", command="true", stdin="x" * 5000000))

    def test_code(self):
        code = "import sys\nprint(sys.argv[1:], sys.stdin.read(), '日本')\nsys.exit(4)"
        text = self.text("run_code", language="python", code=code, args=["a", "b c"], stdin="in")
        self.assertTrue(text.startswith("['a', 'b c'] in 日本\n"), text)
        self.assertIn("[exit 4", text)
        self.assertTrue(self.text("run_code", language="bash", code='echo "$1"', args=["x y"])
                        .startswith("x y\n"))

    def test_languages(self):
        text = self.problem("run_code", language="klingon", code="x")
        self.assertIn('"klingon"', text)
        self.assertIn("python", text)

    def test_signals(self):
        self.assertIn("[killed by signal 11 (SIGSEGV)",
                      self.text("run_command", command="kill -SEGV $$"))
        facts = self.facts(command="kill -KILL $$")
        self.assertEqual((facts["verdict"], facts["signal"]), ("signalled", 9))

    def test_the_most_time_of_a_profile(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "config.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(support.config_of("name: brief\nextends: default\n"
                                             "limits: {wall_default: 1s, wall_max: 1s}"))
            with support.Server("--config", path, "--standalone") as server:
                server.initialize()
                text = support.text_of(server.call("run_command", command="sleep 9",
                                                   profile="brief"))
        self.assertIn("[stopped at its time limit of 1 s, the most of this profile; "
                      "do less at once · ", text)

    def test_timeout(self):
        result = self.server.call("run_command", command="echo before; sleep 60 & sleep 60",
                                  timeout_ms=300)
        text = support.text_of(result)
        self.assertFalse(result["isError"])
        self.assertEqual(result["_meta"]["msp/execution"]["verdict"], "timeout")
        self.assertEqual(text, "before\n[stopped at its time limit of 0.30 s; "
                               "next time pass timeout_ms, at most 1 h]")

    def test_what_cannot_start(self):
        self.assertIn("ENOENT", self.problem("run_command", argv=["no-such-program"]))
        self.assertIn("/no/such", self.problem("run_command", command="pwd", cwd="/no/such"))
        self.assertIn("absolute", self.problem("run_command", command="pwd", cwd="relative"))
        self.assertIn("default", self.problem("run_command", command="pwd", profile="no-such"))
        self.assertIn("/etc/passwd", self.problem("run_command", argv=["/etc/passwd"]))

    def test_arguments_that_do_not_fit(self):
        for arguments, part in (
                ({}, "`command`"), ({"command": "a", "argv": ["b"]}, "not both"),
                ({"argv": []}, "`argv`"), ({"command": 5}, "a number"), ({"cmd": "ls"}, "`cmd`"),
                ({"command": "a", "timeout_ms": 0}, "`timeout_ms`"),
                ({"command": "a", "timeout_ms": "1"}, "`timeout_ms`"),
                ({"command": "a", "env": {"A=": "1"}}, "'='"),
                ({"command": "a" * 100000}, "98303")):
            with self.subTest(part=part):
                self.assertIn(part, self.problem("run_command", **arguments))

    def test_output_is_always_text(self):
        command = r"printf '\033[31mred\r\nab\rc\xff\xc3(\x00\xc2\x9b'"
        text = self.text("run_command", command=command)
        self.assertTrue(text.startswith("\\x1b[31mred\nab\\rc\\xff\\xc3(\\x00\\u009b\n"), text)
        text = self.text("run_command", command="head -c 20000 /dev/urandom")
        self.assertIsNone(re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", text))
        self.assertLess(len(text), 10000)

    def test_long_output(self):
        command = "seq 1 1000000; seq 1 1000000 >&2; echo the-end >&2"
        text = self.text("run_command", command=command)
        self.assertTrue(text.startswith("1\n2\n3\n"))
        self.assertIn("\n1000000\n[stderr]\n1\n2\n", text)
        self.assertIn("the-end\n[output cut: stdout has 6888896 bytes, stderr 6888904", text)
        self.assertRegex(text, r"\n\[\.\.\. \d+ bytes omitted \.\.\.\]\n")
        self.assertLess(len(text), 10000)

    def test_a_workload_cannot_speak_for_the_server(self):
        line = '{"jsonrpc":"2.0","id":1,"result":{}}'
        command = f"echo; echo '{line}'; echo '[exit 0 · 0.00 s]'; exit 9"
        text = self.text("run_command", command=command)
        self.assertIn(line, text)
        self.assertRegex(text, r"\[exit 9 · \d+\.\d\d s\]$")
        self.assertEqual(self.server.other, [])

    def test_the_client_is_out_of_reach(self):
        text = self.text("run_command", command="ls -l /proc/self/fd; ls /proc")
        self.assertNotIn("socket:", text)
        facts = self.facts(command="true")
        self.assertIn(facts["limits"], ("cgroup", "fallback"))
        self.assertGreaterEqual(facts["landlock_abi"], 1)
        self.assertEqual(facts["profile"], "default")


if __name__ == "__main__":
    unittest.main()
