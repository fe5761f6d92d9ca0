#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The user's service and the network: bridges out of it, and hosts."""
import os
import signal
import subprocess
import unittest

import units
from units import support

# The unit has its own place for what lasts.
PLACE = {key: value for key, value in os.environ.items() if key != "MSP_STATE_DIR"}
# The programs that begin before the service leaves the network. msp-audit and msp-store, too: no
# call of theirs makes a socket.
WITH_A_NETWORK = {"msp-dial", "msp-opener", "msp-audit", "msp-store"}
OTHER = "10.78.0.2"  # another machine, with a web server (vm/guest/job)
REMEDY = ("set PrivateNetwork=no below [Service] ('systemctl --user edit msp.service'), then 'systemctl --user restart "
          "msp.service'")
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


def interfaces(pid):
    return {line.split(":")[0].strip() for line in
            units.read(f"/proc/{pid}/net/dev").splitlines()[2:]}


def networks_of_service():
    """Program of the service to the interfaces that it sees, but for tunnels that each network has."""
    found = {}
    for folder, _, names in os.walk(units.cgroup()):
        for pid in units.read(folder + "/cgroup.procs").split() if "cgroup.procs" in names else ():
            name = os.path.basename(units.read(f"/proc/{pid}/cmdline").split("\0")[0])
            found.setdefault(name, set()).update(interfaces(pid) - {"sit0"})
    return found


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
    def fetch(self):
        path = os.path.expanduser("~/.config/msp/config.yaml")
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(CONFIG)
        os.chmod(path, 0o600)
        self.addCleanup(os.unlink, path)
        units.systemctl("start", "msp.service")
        result = self.run_fetch()
        self.assertEqual(units.status()["executions"]["started"], 1, result.stderr)
        return result

    @staticmethod
    def run_fetch():
        return units.msp("run", "--verbose", "--profile=net", "--", "python3", "-c", FETCH,
                         f"http://{OTHER}/")

    def test_the_shipped_unit_reaches_one(self):
        result = self.fetch()
        self.assertEqual((result.returncode, result.stdout), (0, "200\n"), result.stderr)
        self.assertFalse(units.status()["offline"])
        found = networks_of_service()
        self.assertGreaterEqual(set(found), {"msp-dial", "msp-opener", "msp-supervisor", "msp-child-init"})
        self.assertGreater(interfaces("self") - {"sit0"}, {"lo"})
        for name, seen in found.items():
            with self.subTest(name=name):
                if name in WITH_A_NETWORK:
                    self.assertEqual(seen, interfaces("self") - {"sit0"})
                else:
                    self.assertEqual(seen, {"lo"})

    def test_a_unit_without_the_network_says_so(self):
        self.addCleanup(os.unlink, units.FOLDER + "/msp.service.d/override.conf")
        self.edit("[Service]\nPrivateNetwork=yes\n")
        result = self.fetch()
        self.assertEqual((result.returncode, result.stdout), (1, ""), result.stderr)
        self.assertIn("msp: run: the service has no network, so no host can be reached; 'msp doctor' has the "
                      "remedy\n", result.stderr)
        self.assertTrue(units.status()["offline"])
        self.assertIn("no host is reached; 'msp doctor'", units.msp("status").stdout)
        for command in (["doctor"], ["setup", "--dry-run"]):
            with self.subTest(command=command):
                said = " ".join(units.msp(*command).stdout.split())
                self.assertRegex(said, r"process \d+ has no network: its sandboxes reach no host")
                self.assertIn(REMEDY, said)
        client = self.client()
        self.assertIn("[the service has no network, so no host can be reached; 'msp doctor' has the remedy]",
                      client.command(f"curl -s http://{OTHER}/ || exit 7", profile="net"))
        self.edit("[Service]\nPrivateNetwork=no\n")
        units.systemctl("restart", "msp.service")
        again = self.run_fetch()
        self.assertEqual((again.returncode, again.stdout), (0, "200\n"), again.stderr)
        self.assertFalse(units.status()["offline"])
        self.assertNotIn("no network", units.msp("doctor").stdout)

    @staticmethod
    def edit(text):
        """`systemctl --user edit`, in whose editor somebody writes this."""
        subprocess.run(["systemctl", "--user", "edit", "--stdin", "msp.service"], input=text, text=True,
                       env={**os.environ, "XDG_RUNTIME_DIR": units.RUNTIME}, capture_output=True,
                       timeout=units.SECONDS, check=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
