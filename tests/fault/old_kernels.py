#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels with an older Landlock: refused as they are, and run on where the operator's
configuration accepts what they lack, which every answer then names. `old_landlock` stands for such
a kernel."""
import json
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "integration")]
import support  # noqa: E402  (its folder is known from here on)
from cli_support import LIMITS  # noqa: E402
from config_support import WithFolder  # noqa: E402

OLD = os.path.join(os.environ.get("MSP_BUILD", os.path.join(support.ROOT, "build", "dev")),
                   "fault", "old_landlock")
SECONDS = 120
SCOPES = ["abstract_unix_socket", "signal"]
LOST = {6: [], 5: SCOPES, 4: ["ioctl_dev", *SCOPES],
        2: ["truncate", "bind_tcp", "connect_tcp", "ioctl_dev", *SCOPES]}
# Of the profile strict, which has no network and so Landlock's rules on TCP.
UNTRIED = {6: set(), 5: {"landlock scopes"}, 4: {"landlock scopes"},
           2: {"landlock scopes", "landlock tcp"}}


class OldKernels(WithFolder):
    def on(self, abi, *words, **keywords):
        return subprocess.run([OLD, str(abi), support.MSP, *words], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=SECONDS, check=False,
                              env=self.environment(**keywords))

    def configuration(self, abi):
        return f"--config={self.write(f'requirements: {{landlock: {abi}}}' + chr(10))}"

    def run_json(self, abi, *words, options=()):
        result = self.on(abi, "run", "--standalone", *LIMITS, self.configuration(abi), "--json",
                         *options, "--", *words)
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        return json.loads(result.stdout)

    def test_the_built_in_policy_is_refused_with_the_way_out(self):
        for abi in (5, 2):
            with self.subTest(abi=abi):
                result = self.on(abi, "run", "--standalone", *LIMITS, "--", "true")
                self.assertEqual(result.returncode, 78, result.stderr)
                self.assertIn(f"this kernel has {abi}", result.stderr)
                self.assertIn("requirements: {landlock: N}", result.stderr)

    def test_more_than_the_kernel_has_is_refused(self):
        result = self.on(2, "run", "--standalone", *LIMITS, self.configuration(4), "--", "true")
        self.assertEqual(result.returncode, 78, result.stderr)
        self.assertIn("requires Landlock ABI 4", result.stderr)

    def test_no_profile_alone_lowers_what_the_own_processes_need(self):
        path = self.write("default_profile: mine\nprofiles:\n"
                          "  - {name: mine, extends: default, requirements: {landlock: 4}}\n")
        result = self.on(4, "run", "--standalone", *LIMITS, f"--config={path}", "--", "true")
        self.assertEqual(result.returncode, 78, result.stderr)

    def test_it_runs_and_says_what_is_lost(self):
        for abi, lost in LOST.items():
            with self.subTest(abi=abi):
                value = self.run_json(abi, "echo", "old", options=("--profile=strict",))
                self.assertEqual(value["stdout"], "old\n")
                self.assertEqual(value["landlock_abi"], abi)
                self.assertEqual(value["posture"]["landlock_lost"], lost)
                self.assertEqual(set(value["posture"]["not_tried"]) - {"cgroup"}, UNTRIED[abi])

    def test_what_remains_is_enforced(self):
        """Landlock's files, where no mount and no mode forbids reading; and the network."""
        code = ("import socket\n"
                "try: socket.create_connection(('192.0.2.1', 9), 1)\n"
                "except OSError as error: print(error.errno)\n"
                "try: open('/usr/x', 'w')\n"
                "except OSError as error: print(error.errno)\n")
        self.assertEqual(self.run_json(2, "python3", "-c", code)["stdout"], "101\n30\n")

    def test_the_doctor_names_the_loss_and_the_way_out(self):
        refused = self.on(4, "doctor", "--json")
        probe = {row["name"]: row for row in json.loads(refused.stdout)["probes"]}["landlock"]
        self.assertEqual(refused.returncode, 78)
        self.assertEqual(probe["status"], "missing")
        self.assertIn("requirements: {landlock: 4}", probe["fix"])
        accepted = self.on(4, "doctor", "--json", self.configuration(4))
        probe = {row["name"]: row for row in json.loads(accepted.stdout)["probes"]}["landlock"]
        self.assertEqual(probe["status"], "ok", probe)
        self.assertIn("ABI 4, needed is 4; this kernel does not control: ioctl on devices, "
                      "signals and abstract sockets", probe["happened"])

    def test_a_client_is_served(self):
        with support.Server("--standalone", *LIMITS, self.configuration(4), with_limits=False,
                            launcher=(OLD, "4"), env=self.environment()) as server:
            server.initialize()
            result = server.call("run_command", command="echo served")
            self.assertIn("served", support.text_of(result))
            facts = result["_meta"]["msp/execution"]
            self.assertEqual((facts["landlock_abi"], facts["posture"]["landlock_lost"]),
                             (4, LOST[4]))


if __name__ == "__main__":
    unittest.main()
