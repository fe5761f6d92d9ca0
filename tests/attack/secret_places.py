#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The value of a secret, looked for wherever a workload or another process of the user could find it,
while requests with it go out. The control: the same search finds a text that was planted there."""
import json
import os
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import network_support  # noqa: E402
import support  # noqa: E402
from cli_support import LIMITS, msp  # noqa: E402
from config_support import WithFolder  # noqa: E402
from network_support import asked  # noqa: E402
from searching import SEARCH, halves  # noqa: E402

VALUE = "sesame-open-0123456789-abcdefghijkl"
PLANTED = "planted-text-9876543210-zyxwvutsrqp"
API = "api.example.net"
CONFIG = f"""\
profiles:
  - name: net
    extends: default
    network: hosts
    hosts: [{API}]
    secrets:
      - {{name: TOKEN, hosts: [{API}], header: Authorization, file: FOLDER/token}}
"""
# In a sandbox: the request, a sibling that has planted what the third argument is, and the search.
INSIDE = SEARCH + r"""
import subprocess, time, urllib.request
request = urllib.request.Request(sys.argv[5], headers={"Authorization": os.environ["TOKEN"]})
print(urllib.request.urlopen(request, timeout=20).read().decode(), file=sys.stderr)
sibling = None
if sys.argv[3]:
    text = sys.argv[3] + sys.argv[4]
    with open("/tmp/planted", "w") as file:
        file.write(text)
    sibling = subprocess.Popen(["sleep", "60"], env={"PLANTED": text})
    time.sleep(0.2)
    del text
    sys.argv[3:5] = ["", ""]
tops = ("/tmp", "/workspace", "/home", "/etc", "/dev/shm", "/run", "/var")
search(tops, [pid for pid in os.listdir("/proc") if pid.isdigit()])
if sibling:
    sibling.kill()
print(json.dumps(sorted(places)))
"""
OUTSIDE = SEARCH + r"""
search(json.loads(sys.argv[3]), json.loads(sys.argv[4]))
print(json.dumps(sorted(places)))
"""


def answer_api(request):
    network_support.note("header", request.headers.get("Authorization", ""))
    request.answer(200, f"echo {request.headers.get('Authorization')}\n".encode(), "text/plain")


network_support.HOSTS[API] = answer_api


class WithSecret(WithFolder):
    def setUp(self):
        super().setUp()
        self.write(VALUE + "\n", name="token", mode=0o600)
        self.config = self.write(CONFIG.replace("FOLDER", self.folder))
        self.state = os.path.join(self.folder, "state")
        os.makedirs(self.state, 0o700)

    def environment(self, **more):
        return super().environment(**{"MSP_STATE_DIR": self.state, **more})


class Inside(WithSecret):
    def search(self, text, planted=""):
        before = len(asked("header"))
        result = self.run_msp("python3", "-c", INSIDE, *halves(text), *halves(planted),
                              f"https://{API}/", options=("--profile", "net"),
                              MSP_CONFIG=self.config)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(asked("header")[before:], [VALUE], "the request had it")
        return json.loads(result.stdout)

    def test_nowhere(self):
        self.assertEqual(self.search(VALUE), [])

    def test_control(self):
        """A planted text, and the placeholder that the workload has."""
        self.assertEqual(set(self.search(PLANTED, PLANTED)),
                         {"/proc/N/environ", "memory of N", "file below /tmp"})
        self.assertIn("memory of N", self.search("msp-TOKEN-secret"))


class Outside(WithSecret):
    """By another process of the user who runs msp, while msp serves."""

    def search(self, text, pids):
        result = subprocess.run([sys.executable, "-c", OUTSIDE, *halves(text),
                                 json.dumps([self.state, os.path.join(self.folder, "home")]),
                                 json.dumps(pids)], capture_output=True, text=True, check=False,
                                timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_processes_files_and_logs(self):
        server = self.serve("--default-profile", "net", MSP_CONFIG=self.config)
        self.assertFalse(server.call("create_sandbox", name="one").get("isError"))
        said = server.call("run_command", sandbox="one",
                           command=f"curl -sS -H \"Authorization: $TOKEN\" https://{API}/")
        self.assertIn("echo msp-TOKEN-secret", support.text_of(said))
        self.assertEqual(asked("header")[-1], VALUE)
        pids = [server.process.pid, *support.descendants(server.process.pid, with_opener=True,
                                                         with_ready=True)]
        readers = support.named(server.process.pid, "msp-http")
        self.assertEqual(len(readers), 2, "the starter, and the server that has the value")
        for pid in readers:
            with self.assertRaises(PermissionError), open(f"/proc/{pid}/mem", "rb"):
                pass
        self.assertEqual(self.search(VALUE, pids), [])
        for pid in pids:  # no core dump of any
            with open(f"/proc/{pid}/limits", encoding="ascii") as file:
                core = next(line.split()[4] for line in file if line.startswith("Max core"))
            if core != "0":
                with self.assertRaises(PermissionError), open(f"/proc/{pid}/mem", "rb"):
                    pass
        server.close()
        self.assertEqual(self.search(VALUE, []), [])
        log = msp("audit", "show", "--json", env=self.environment()).stdout
        history = msp("logs", "one", env=self.environment()).stdout
        self.assertIn(API, log)
        self.assertIn("curl", history)
        for text in (log, history, json.dumps(said)):
            self.assertNotIn(VALUE, text)

    def test_control(self):
        """What is planted in a process and in a file of the state is found."""
        with open(os.path.join(self.state, "planted"), "w", encoding="ascii") as file:
            file.write(PLANTED)
        with subprocess.Popen(["sleep", "60"], env={"PLANTED": PLANTED}) as process:
            try:
                time.sleep(0.2)
                found = self.search(PLANTED, [process.pid])
            finally:
                process.kill()
        self.assertIn("/proc/N/environ", found)
        self.assertIn("memory of N", found)
        self.assertEqual(len(found), 3, found)


if __name__ == "__main__":
    network_support.main()
