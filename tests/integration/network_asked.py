#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A host that a sandbox was refused becomes a question, which a person answers with `msp network
approve`; and `msp network tighten` takes hosts away."""
import json
import os
import signal
import subprocess
import unittest

import network_support
import support
from cli_support import LIMITS, msp
from network_hosts import CONFIG, HELLO, WithHosts
from network_support import asked
from service import Service

HOST = "unlisted.example.org"
APPROVED = CONFIG + """\
  - name: asks
    extends: net
    description: a person can add hosts
    host_approval: person
  - name: mayask
    extends: net
    description: the client's user can, too
    host_approval: ask
"""
# Fetches each URL that it reads, and says how that went.
LOOP = """\
import sys, urllib.request
for line in sys.stdin:
    try:
        answer = urllib.request.urlopen(line.strip(), timeout=20).read().decode().strip()
    except OSError as error:
        answer = "refused " + str(error)
    print(answer, flush=True)
"""
# Connects to a host that it does not let go.
HOLD = """\
import socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 20)
s.sendall(b"GET /slow/hold HTTP/1.0\\r\\n\\r\\n")
try:
    print("ended", s.recv(100), flush=True)
except ConnectionResetError:
    print("reset", flush=True)
"""


class Asked(WithHosts):
    def setUp(self):
        super().setUp()
        self.config = self.write(APPROVED)
        self.path = os.path.join(self.folder, "s.sock")
        self.state = os.path.join(self.folder, "state")
        os.makedirs(self.state, 0o700)
        service = Service(self.path, env=self.environment(MSP_CONFIG=self.config,
                                                          MSP_STATE_DIR=self.state))
        self.addCleanup(service.end)

    def create(self, name, profile):
        made = self.msp("create", "--profile=" + profile, "--name=" + name)
        self.assertEqual(made.returncode, 0, made.stderr)

    def msp(self, command, *words):
        return msp(command, "--socket=" + self.path, *words, env=self.environment())

    def network(self, *words, code=0):
        result = self.msp("network", *words)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def start(self, name, program, *words):
        running = subprocess.Popen(
            [support.MSP, "exec", *LIMITS, "--socket=" + self.path, name, "--", "python3", "-c",
             program, *words], env=self.environment(), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)

        def end():
            running.stdin.close()
            running.stdout.close()
            running.kill()
            running.wait()
        self.addCleanup(end)
        return running

    def fetch_in(self, running, url):
        running.stdin.write(url + "\n")
        running.stdin.flush()
        return running.stdout.readline().strip()

    def records(self, event):
        with open(os.path.join(self.state, "audit", "audit.jsonl"), encoding="utf-8") as log:
            return [record for record in map(json.loads, log) if record["event"] == event]

    def test_a_question_and_its_answer(self):
        self.create("one", "asks")
        loop = self.start("one", LOOP)
        url = f"http://{HOST}/"
        self.assertIn("refused", self.fetch_in(loop, url))
        self.assertIn("refused", self.fetch_in(loop, url))
        said = self.network("asked").stdout
        self.assertRegex(said, rf"^{HOST}:443  2 times, \d+ s ago  profile asks  sandbox \w+ one\n$")
        said = self.network("approve", HOST)
        self.assertIn(f"can reach {HOST}:443", said.stdout)
        self.assertRegex(said.stderr, rf'to keep it, add "{HOST}:443" to the hosts of profile asks '
                                      r"\(.*config\.yaml:\d+\)")
        self.assertEqual(self.network("asked").stdout, "")
        # the name is known now, and the port is asked for in its turn
        self.assertIn("refused", self.fetch_in(loop, url))
        self.assertRegex(self.network("asked").stdout, rf"^{HOST}:80  1 time, ")
        self.network("approve", HOST)
        self.assertEqual(self.fetch_in(loop, url), HELLO.strip())
        said = self.network("list", "one").stdout
        self.assertIn(f"granted    {HOST}:443\n", said)
        self.assertIn(f"granted    {HOST}:80\n", said)
        grants = self.records("network_grant")
        self.assertEqual([(g["host"], g["port"], g["asks"]) for g in grants],
                         [(HOST, 443, "person"), (HOST, 80, "person")])
        self.network("tighten", "one", HOST)
        self.assertIn("refused", self.fetch_in(loop, url))
        self.assertIn(f"taken      {HOST}\n", self.network("list", "one").stdout)
        self.assertEqual([g["host"] for g in self.records("network_cut")], [HOST])


if __name__ == "__main__":
    network_support.main()
