#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `systemd-analyze --user security` makes of msp.service: a figure that may not grow.

The figure says which of systemd's options are in use, not how safe msp is; it is here so that none
of them is lost unnoticed. When it gets better, security.json gets the new one."""
import json
import os
import re
import subprocess
import unittest

import units

RECORD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "security.json")


def analyze(*arguments):
    return subprocess.run(["systemd-analyze", "--user", "--no-pager", "security", *arguments,
                           "msp.service"], capture_output=True, text=True, check=True,
                          timeout=units.SECONDS, stdin=subprocess.DEVNULL,
                          env={**os.environ, "XDG_RUNTIME_DIR": units.RUNTIME, "NO_COLOR": "1",
                               "SYSTEMD_COLORS": "0", "SYSTEMD_URLIFY": "0"}).stdout


def exposure():
    text = analyze()
    return float(re.search(r"Overall exposure level for \S+: ([0-9.]+)", text).group(1))


def not_in_use():
    return {row["name"] for row in json.loads(analyze("--json=short")) if row["set"] is False}


class Security(units.ServiceCase):
    def setUp(self):
        super().setUp()
        with open(RECORD, encoding="utf-8") as file:
            self.record = json.load(file)

    def test_the_exposure_does_not_grow(self):
        units.systemctl("start", "msp.service")
        found = exposure()
        print(f"security: exposure {found}, recorded {self.record['exposure']}")
        self.assertLessEqual(found, self.record["exposure"])

    def test_no_option_is_lost(self):
        self.assertLessEqual(not_in_use(), set(self.record["not_in_use"]))

    def test_a_lost_option_is_seen(self):
        self.install(lines=["PrivateTmp=no"])
        self.assertGreater(exposure(), self.record["exposure"])
        self.assertIn("PrivateTmp=", not_in_use() - set(self.record["not_in_use"]))


if __name__ == "__main__":
    unittest.main()
