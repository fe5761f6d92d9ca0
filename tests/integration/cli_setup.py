#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`msp setup` on this machine, which it may not change here: every question gets a no."""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import unittest

import support
from cli_support import MSP, SECONDS, msp
from cli_tty import Terminal

# Findings that are about another one; without it they are told.
CONSEQUENCES = {"overlay", "posture"}


class Setup(unittest.TestCase):
    def doctor(self):
        result = msp("doctor", "--json")
        probes = json.loads(result.stdout)["probes"]
        return result.returncode, {row["name"]: row for row in probes
                                   if row["status"] == "missing"}

    def test_without_a_terminal(self):
        result = msp("setup")
        self.assertEqual((result.returncode, result.stdout), (64, ""))
        self.assertRegex(result.stderr, "^msp: setup: nothing was done: .* no terminal .*"
                                        "--dry-run .* --yes ")

    def test_dry_and_agreed_exclude_each_other(self):
        self.assertEqual(msp("setup", "--dry-run", "--yes").returncode, 64)

    def assert_told(self, text, missing):
        told = text.replace("\r", "").splitlines()
        words = " ".join(text.split())
        for name, row in missing.items():
            if name in CONSEQUENCES:
                continue
            self.assertIn(name, told)
            self.assertIn(" ".join(row["happened"].split()), words)
            self.assertRegex(words, r" remedy: | act: ")

    def test_a_dry_run_tells_what_the_doctor_misses(self):
        code, missing = self.doctor()
        result = msp("setup", "--dry-run")
        self.assertEqual(result.returncode, code, result.stderr)
        self.assert_told(result.stdout, missing)
        self.assertNotIn("result:", result.stdout)

    def test_a_no_changes_nothing(self):
        code, missing = self.doctor()
        terminal = Terminal(words=["setup"], size=(24, 200))
        terminal.type(b"n\n" * 8)
        seen = terminal.read_until(b"on this machine:", 60)
        self.assert_told(seen.decode(), missing)
        self.assertNotIn(b"result: done", seen)
        terminal.read_until(b"\r\nmsp ", 60)
        self.assertEqual(terminal.process.wait(60), code)


@unittest.skipIf(os.path.exists("/run/systemd/system") or
                 os.path.exists(f"/run/user/{os.getuid()}"),
                 "systemd would start it, or its socket would be that of this user's own service")
class WithoutSystemd(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()  # 0700
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.makedirs(os.path.join(self.folder, "home", ".config", "msp"))
        os.mkdir(os.path.join(self.folder, "run"), 0o700)
        self.environment = {"PATH": os.environ["PATH"], "HOME": self.folder + "/home",
                            "MSP_STATE_DIR": self.folder + "/state",
                            "XDG_RUNTIME_DIR": self.folder + "/run"}

    def msp(self, *words):
        return subprocess.run([MSP, *words], env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=SECONDS)

    def configure(self, text):
        place = os.path.join(self.folder, "home", ".config", "msp", "config.yaml")
        with open(place, "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(place, 0o600)

    def end_service(self):
        said = json.loads(self.msp("status", "--json").stdout)
        if said["state"] == "running":
            os.kill(said["pid"], signal.SIGTERM)
            self.assertTrue(support.wait_until(lambda: not support.is_alive(said["pid"]), SECONDS))

    def test_a_service_is_started_and_shares_a_sandbox(self):
        self.configure("limits: fallback\n")
        self.addCleanup(self.end_service)
        self.assertEqual(self.msp("create", "--name=box").returncode, 0)
        self.assertRegex(self.msp("status").stderr, "'msp setup' starts the service")
        alone = self.msp("exec", "-d", "box", "--", "sleep", "60")
        self.assertIn("no service runs here, and 'msp setup' starts one", alone.stderr)
        refused = self.msp("exec", "box", "--", "true")
        self.assertEqual(refused.returncode, 75)
        self.assertIn("a service ('msp setup') shares it", refused.stderr)
        self.assertEqual(self.msp("stop", "box").returncode, 0)
        done = self.msp("setup", "--yes")
        self.assertIn("serve --service, in the background", done.stdout)
        self.assertIn("result: done", done.stdout)
        self.assertEqual(json.loads(self.msp("status", "--json").stdout)["state"], "running")
        through = self.msp("exec", "-d", "box", "--", "sleep", "60")
        self.assertEqual(through.returncode, 0, through.stderr)
        self.assertNotIn("msp setup", through.stderr)
        self.assertEqual(self.msp("exec", "box", "--", "true").returncode, 0)
        self.assertNotIn("serve --service", self.msp("setup", "--dry-run").stdout)

    def test_a_service_that_does_not_start_says_why(self):
        self.configure("no_such_key: 1\n")
        done = self.msp("setup", "--yes")
        self.assertIn("result: failed", done.stdout)
        self.assertRegex(done.stderr, "serve --service' failed: .*no_such_key")
        self.assertEqual(json.loads(self.msp("status", "--json").stdout)["state"], "not_running")

    def test_without_a_place_for_the_socket(self):
        del self.environment["XDG_RUNTIME_DIR"]
        said = self.msp("setup", "--dry-run").stdout
        self.assertRegex(said, r"root may do it: sudo install -d -m 0700 -o \S+ "
                               rf"/run/user/{os.getuid()}\n")
        self.assertNotIn("serve --service, in the background", said)


if __name__ == "__main__":
    unittest.main()
