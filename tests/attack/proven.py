#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A layer that is not there is found by the probe before anything runs: the positive control of
each of its acts is a build without exactly that layer."""
import json
import os
import re
import subprocess
import unittest

import probes
import support

setUpModule = probes.needs_ordinary_user

REFUSED = 78
# What child-init is built without, and the layers of common/text/layer.def that are open then. The
# build without "resolve" is another way to make the same tree: no act in a sandbox tells it.
OPEN = {
    "capabilities": {"capabilities"},
    "close": {"descriptors"},
    "landlock": {"landlock files", "landlock scopes"},
    "network": {"network namespace"},
    "protect": {"protected init"},
    "readonly": {"read-only mounts"},
    "rlimits": {"resource limits"},
    "root": {"root"},
    "seccomp": {"seccomp"},
    "landlock-seccomp": {"landlock files", "landlock scopes", "seccomp"},
}
HELLO = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-06-18", "capabilities": {},
    "clientInfo": {"name": "test", "version": "0"}}}) + "\n"


def names(errors):
    return set(re.findall(r"'([^']+)' is open", errors))


class Open(unittest.TestCase):
    def run_msp(self, folder, *arguments, **keywords):
        return subprocess.run([os.path.join(folder, "msp"), *arguments], capture_output=True,
                              text=True, timeout=60, check=False, **keywords)

    def run_echo(self, folder, *options):
        return self.run_msp(folder, "run", *support.limits(), *options, "--", "echo", "ran",
                            stdin=subprocess.DEVNULL)

    def test_nothing_runs(self):
        for without, layers in OPEN.items():
            with self.subTest(without=without):
                result = self.run_echo(probes.installed(without, is_probed=True))
                self.assertEqual(result.returncode, REFUSED, result)
                self.assertEqual(result.stdout, "", "the workload did not run")
                self.assertEqual(names(result.stderr), layers, result.stderr)
                self.assertIn("profile default", result.stderr)
                self.assertIn("was tried, and", result.stderr)

    def test_a_profile_without_tcp(self):
        result = self.run_echo(probes.installed("landlock", is_probed=True), "--profile=strict")
        self.assertEqual(result.returncode, REFUSED, result)
        self.assertEqual(names(result.stderr),
                         {"landlock files", "landlock tcp", "landlock scopes"})
        self.assertIn("profile strict", result.stderr)

    def test_nobody_is_served(self):
        for without, layers in OPEN.items():
            with self.subTest(without=without):
                result = self.run_msp(probes.installed(without, is_probed=True), "serve",
                                      *support.limits(), input=HELLO)
                self.assertEqual(result.returncode, REFUSED, result)
                self.assertEqual(result.stdout, "", "no client had an answer")
                self.assertEqual(names(result.stderr), layers, result.stderr)

    def test_the_doctor_finds_it(self):
        result = self.run_msp(probes.installed("seccomp", is_probed=True), "doctor", "--json")
        found = {probe["name"]: probe for probe in json.loads(result.stdout)["probes"]}["posture"]
        self.assertEqual(result.returncode, REFUSED)
        self.assertEqual(found["status"], "missing", found)
        self.assertEqual(names(result.stderr), {"seccomp"})

    def test_with_all_layers_it_runs(self):
        for profile in ("default", "strict"):
            result = self.run_echo(support.BIN, "--profile=" + profile)
            self.assertEqual((result.returncode, result.stdout), (0, "ran\n"), result)

    def test_without_the_probe_it_would_run(self):
        """The control of all of the above: it is the probe that refuses."""
        result = self.run_echo(probes.installed("seccomp", is_probed=False))
        self.assertEqual((result.returncode, result.stdout), (0, "ran\n"), result)


if __name__ == "__main__":
    unittest.main()
