#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`msp setup` on this machine, which it may not change here: every question gets a no."""
import json
import unittest

from cli_support import msp
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


if __name__ == "__main__":
    unittest.main()
