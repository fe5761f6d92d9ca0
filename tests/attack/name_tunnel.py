#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Data in names below a wildcard of the list, which the world's name servers read: few of them leave the
sandbox, and the refusal is recorded. Control: beside the sandbox each name comes there, and in the sandbox
those of a program that needs some hosts do."""
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import network_support  # noqa: E402
from config_support import WithFolder  # noqa: E402

WILD = "cdn.example.org"
AT_ONCE = 64  # BELOW_BURST
MANY, FEW = 600, 40
CONFIG = f"""\
profiles:
  - name: net
    extends: default
    network: hosts
    hosts: ["*.{WILD}:80", "web.example.org:80"]
"""
# Asks for names, one after the other; prints how many answers are no refusal or failure, and the code of
# the answer to a host of the list after them.
CLIENT = """\
import socket, struct, sys, time
server, mark, count, wild = sys.argv[1:]

def ask(name):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.settimeout(5)
        one.sendto(struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + labels + b"\\0\\0\\1\\0\\1", (server, 53))
        return one.recv(512)[3] & 15

begun = time.monotonic()
got = sum(ask(f"{mark}{number}.{wild}") == 3 for number in range(int(count)))
print(got, ask("web.example.org"), int(time.monotonic() - begun) + 1)
"""


class Tunnel(WithFolder):
    def setUp(self):
        super().setUp()
        self.config = self.write(CONFIG)

    def arrived(self, mark):
        return len({name for name in network_support.asked("name") if name.startswith(mark)})

    def within(self, mark, count):
        result = self.run_msp("python3", "-c", CLIENT, "198.18.0.1", mark, str(count), WILD,
                              options=("--profile", "net", "--json"), MSP_CONFIG=self.config)
        said = json.loads(result.stdout)
        self.assertEqual(said["exit_code"], 0, said)
        return *map(int, said["stdout"].split()), said.get("denials", [])

    def test_the_act_works_beside_the_sandbox(self):
        subprocess.run([sys.executable, "-c", CLIENT, network_support.SERVER, "out", str(MANY), WILD],
                       check=True, capture_output=True)
        self.assertEqual(self.arrived("out"), MANY)

    def test_many_names(self):
        resolved, listed, seconds, denials = self.within("many", MANY)
        self.assertLessEqual(resolved, AT_ONCE + seconds)
        self.assertEqual(self.arrived("many"), resolved)
        self.assertEqual(listed, 0, "a host by its name")
        refused = [denial for denial in denials if "below a wildcard" in denial["reason"]]
        self.assertTrue(refused, denials)
        self.assertTrue(all(denial["operation"] == "resolve" for denial in refused))

    def test_some_names(self):
        resolved, listed, _, denials = self.within("some", FEW)
        self.assertEqual((resolved, listed, denials), (FEW, 0, []))
        self.assertEqual(self.arrived("some"), FEW)


if __name__ == "__main__":
    network_support.main()
