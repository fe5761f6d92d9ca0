#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The user's service and the network: bridges out of a unit that has none, and hosts in one that has."""
import os
import signal
import subprocess
import unittest

import units
from units import support

# The unit has its own place for what lasts.
PLACE = {key: value for key, value in os.environ.items() if key != "MSP_STATE_DIR"}
OTHER = "10.78.0.2"  # another machine, with a web server (vm/guest/job)
FETCH = ("import sys, urllib.request\n"
         "print(urllib.request.urlopen(sys.argv[1], timeout=30).status)")
CONFIG = f"""\
profiles:
  - name: net
    extends: default
    description: reaches the other machine
    network: hosts
    hosts: ["{OTHER}:80 private"]
"""


class Bridges(units.ServiceCase):
    """Of the unit as it is shipped."""

    def setUp(self):
        super().setUp()
        units.systemctl("start", "msp.service")
        self.addCleanup(units.msp, "destroy", "web", env=PLACE)
        self.run_msp("create", "--name=web")

    def run_msp(self, *words):
        result = units.msp(*words, env=PLACE)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def bridge(self, *words):
        process = subprocess.Popen([support.MSP, "bridge", *words], stdin=subprocess.DEVNULL, text=True,
                                   env=PLACE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        url = process.stdout.readline().strip()
        self.assertTrue(url, "" if url else process.communicate()[1])
        return process, url

    def test_a_server_is_reached_from_outside(self):
        self.run_msp("exec", "-d", "web", "--", "python3", "-m", "http.server", "5000", "--bind",
                     "127.0.0.1")
        look = ["exec", "web", "--", "python3", "-c", FETCH, "http://127.0.0.1:5000/"]
        self.assertTrue(support.wait_until(lambda: units.msp(*look, env=PLACE).returncode == 0,
                                           units.SECONDS, 1))
        process, url = self.bridge("web", "5000")
        fetched = subprocess.run(["python3", "-c", FETCH, url], text=True, capture_output=True,
                                 timeout=units.SECONDS, check=False)
        self.assertEqual(fetched.stdout, "200\n", fetched.stderr)
        port = url.rstrip("/").rpartition(":")[2]
        self.assertEqual(self.run_msp("bridge", "--list", "-q"), port + "\n")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(units.SECONDS), 130)
        process, _ = self.bridge("web", "5000")
        units.systemctl("stop", "msp.service")
        said = process.communicate(timeout=units.SECONDS)[1]
        self.assertEqual(process.returncode, 0, said)
        self.assertIn("closed, since the s", said)


@unittest.skipUnless(os.environ.get("MSP_VM"), "the test machine alone has another machine beside it")
class Hosts(units.ServiceCase):
    def fetch(self, *lines):
        """With these lines in a drop-in."""
        path = os.path.expanduser("~/.config/msp/config.yaml")
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(CONFIG)
        os.chmod(path, 0o600)
        self.addCleanup(os.unlink, path)
        self.install(lines=lines)
        units.systemctl("start", "msp.service")
        result = units.msp("run", "--verbose", "--profile=net", "--", "python3", "-c", FETCH,
                           f"http://{OTHER}/")
        self.assertEqual(units.status()["executions"]["started"], 1, result.stderr)
        return result

    def test_a_unit_with_the_network_reaches_one(self):
        result = self.fetch("PrivateNetwork=no")
        self.assertEqual((result.returncode, result.stdout), (0, "200\n"), result.stderr)

    def test_the_shipped_unit_reaches_none(self):
        result = self.fetch()
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(result.stdout, "")


if __name__ == "__main__":
    unittest.main(verbosity=2)
