#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`msp run --json` and a result's `_meta` describe one execution with equal members."""
import json
import os
import subprocess
import tempfile
import unittest

import support
from network_hosts import WithHosts

SMALL = """
name: small
extends: default
limits:
  memory: 64M
  output: 4M
"""
# A member of one side only: the output is a text in the tool's result, and a handle is a server's.
OWN = {"stdout", "stdout_encoding", "stdout_omitted_bytes", "stdout_omitted_at", "stderr",
       "stderr_encoding", "stderr_omitted_bytes", "stderr_omitted_at", "handle", "state"}
# A figure that differs between two runs.
FIGURES = {"wall_ms", "cpu_ms", "peak_bytes"}
PARTS = ("prepare", "sandbox", "start", "run", "report")  # of wall_ms
SOMETIMES = {"cpu_ms", "peak_bytes"}  # absent if not known
FILL = "import sys; sys.stdout.write('x' * (3 << 20))"
TAKE = "x = bytearray(1 << 28); print(len(x))"


class Same(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if os.geteuid() == 0:
            raise unittest.SkipTest("needs an ordinary user")
        with tempfile.NamedTemporaryFile("w", suffix=".yaml", delete=False) as file:
            file.write(support.config_of(SMALL.strip()))
        cls.addClassCleanup(os.unlink, file.name)
        cls.environment = {**os.environ, "MSP_CONFIG": file.name}
        cls.server = support.Server(stderr=subprocess.DEVNULL, env=cls.environment)
        cls.addClassCleanup(cls.server.close)
        cls.server.initialize()

    def assert_same(self, ran, served):
        """Compare members that are no figures, and the order of all. Only msp knows the launch."""
        for facts in (ran, served):
            timings = facts.get("timings_us", {})
            timings.pop("launch", None)
            if timings:
                parts = sum(timings[part] for part in PARTS)
                self.assertEqual((parts + 500) // 1000, facts["wall_ms"], facts)
        order = [[key for key in facts if key not in OWN] for facts in (ran, served)]
        self.assertEqual(*([key for key in keys if key not in SOMETIMES] for keys in order))
        self.assertEqual(*(list(facts.pop("timings_us", ())) for facts in (ran, served)))
        for key in set(order[0]) - FIGURES - {"timings_us"}:
            self.assertEqual(ran[key], served[key], key)

    def check(self, command, timeout_s=None, argv=None, **expected):
        options = ["--timeout", str(timeout_s)] if timeout_s else []
        result = support.run(*(argv or ("sh", "-c", command)), env=self.environment,
                             options=["--json", "--profile", "small", *options])
        ran = json.loads(result.stdout)
        more = {"timeout_ms": timeout_s * 1000} if timeout_s else {}
        more.update({"argv": argv} if argv else {"command": command})
        result = self.server.call("run_command", profile="small", yield_ms=support.YIELD_MS, **more)
        for key, value in expected.items():
            self.assertEqual(ran.get(key), value, key)
        self.assert_same(ran, result["_meta"]["msp/execution"])
        return ran

    def test_exit(self):
        self.check("exit 0", verdict="exited", exit_code=0, signal=None, truncated=False)

    def test_exit_with_a_code(self):
        self.check("echo out; echo err >&2; exit 3", verdict="exited", exit_code=3,
                   stdout_bytes=4, stderr_bytes=4)

    def test_signal(self):
        self.check("kill -TERM $$", verdict="signalled", exit_code=None, signal=15)

    def test_timeout(self):
        self.check("sleep 60", timeout_s=1, verdict="timeout", exit_code=None, signal=9)

    def test_memory(self):
        self.check(f"python3 -c '{TAKE}'", verdict="memory")

    def test_output_that_is_cut(self):
        self.check(f'python3 -c "{FILL}"', verdict="exited", truncated=True, stdout_bytes=3 << 20)

    def test_a_failed_start(self):
        self.check("", argv=["/no/such/program"], verdict="internal", exit_code=None, errno=2,
                   stage="executing the command")

    def test_a_file_that_is_denied(self):
        told = self.check("touch /etc/x", verdict="exited")
        self.assertTrue(told["denials"])

    def test_a_system_call_that_is_denied(self):
        told = self.check("unshare -U true; exit 4", exit_code=4)
        self.assertEqual(told["denials"][0]["operation"], "unshare")


class Hosts(WithHosts):
    def test_a_host_that_is_denied(self):
        command = "getent hosts unlisted.example.org; exit 4"
        result = self.run_in("net", "sh", "-c", command, options=("--json",))
        ran = json.loads(result.stdout)
        server = self.serve("--default-profile", "net", MSP_CONFIG=self.config)
        served = server.call("run_command", command=command)["_meta"]["msp/execution"]
        self.assertEqual(ran["denials"][0]["target"], "unlisted.example.org")
        Same.assert_same(self, ran, served)


if __name__ == "__main__":
    unittest.main()
