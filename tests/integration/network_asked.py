#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A host that a sandbox was refused becomes a question, which a person answers with `msp network
approve`; and `msp network tighten` takes hosts away."""
import contextlib
import os
import re
import signal
import subprocess
import unittest

import audit_log
import network_support
import support
from cli_support import LIMITS, msp
from network_hosts import CONFIG, FETCH, HELLO, WithHosts
from network_support import INSIDE, NAMES, OTHER, OWN, asked
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
# Where names lead that are never dialled.
LED = {"private.example.org": INSIDE, "loop.example.org": "127.0.0.1", "own.example.org": OWN,
       "metadata.example.org": "169.254.169.254", "mapped.example.org": "::ffff:127.0.0.1",
       "nat64.example.org": "64:ff9b::a9fe:a9fe", "zero.example.org": "0.0.0.0"}
NAMES.update({name: [address] for name, address in LED.items()})
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


class WithService(WithHosts):
    """Sandboxes of the user's service."""

    def setUp(self):
        super().setUp()
        self.config = self.write(APPROVED)
        self.path = os.path.join(self.folder, "s.sock")
        self.state = os.path.join(self.folder, "state")
        os.makedirs(self.state, 0o700)
        self.service = Service(self.path, env=self.environment(
            MSP_CONFIG=self.config, MSP_STATE_DIR=self.state))
        self.addCleanup(self.service.end)

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
            running.kill()
            with contextlib.suppress(BrokenPipeError):
                running.communicate()
        self.addCleanup(end)
        return running

    def fetch_in(self, running, url):
        running.stdin.write(url + "\n")
        running.stdin.flush()
        return running.stdout.readline().strip()

    def records(self, event):
        return audit_log.Log(self.state).records(event)

    def await_records(self, event, expected, *keys):
        """The writer of the log may be behind what a client is told."""
        def found():
            return [tuple(record[key] for key in keys) for record in self.records(event)]
        self.assertTrue(support.wait_until(lambda: found() == expected), found())


class Asked(WithService):
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
        self.await_records("network_grant", [(HOST, 443, "person"), (HOST, 80, "person")],
                           "host", "port", "asks")
        self.network("tighten", "one", HOST)
        self.assertIn("refused", self.fetch_in(loop, url))
        self.assertIn(f"taken      {HOST}\n", self.network("list", "one").stdout)
        self.await_records("network_cut", [(HOST,)], "host")

    def test_a_port_that_no_host_of_the_list_has(self):
        """The sandbox that runs gets a listener for it, and nothing is restarted."""
        self.create("one", "asks")
        loop = self.start("one", LOOP)
        url = f"http://{HOST}:9000/"
        self.assertIn("refused", self.fetch_in(loop, url))
        self.network("approve", HOST)
        self.assertIn("Connection refused", self.fetch_in(loop, url), "no listener has the port")
        self.network("approve", "--sandbox=one", HOST + ":9000")
        self.assertEqual(self.fetch_in(loop, url), HELLO.strip())
        self.assertIn("9000/", asked("path"))

    def test_a_connection_ends_at_once(self):
        self.create("one", "asks")
        for host, words in (("web.example.org", ["web.example.org"]), ("many.example.org", [])):
            with self.subTest(host=host):
                before = len(asked("path"))
                hold = self.start("one", HOLD, host, "80")
                self.assertTrue(support.wait_until(lambda: len(asked("path")) > before))
                self.network("tighten", "one", *words)
                self.assertEqual(hold.stdout.readline().split()[0], "reset")
        self.await_records("connection_end", [("taken away",)] * 2, "reason")
        loop = self.start("one", LOOP)
        self.assertIn("refused", self.fetch_in(loop, "http://web.example.org/"))
        self.assertIn("taken      all hosts\n", self.network("list", "one").stdout)
        self.network("approve", "--sandbox=one", "web.example.org:80")
        self.assertEqual(self.fetch_in(loop, "http://web.example.org/"), HELLO.strip())
        self.assertIn("refused", self.fetch_in(loop, f"http://{OTHER}:8080/"))
        said = re.compile(r"(?s)taken +all hosts\n.*granted +web\.example\.org:80\n")
        environment = self.environment(MSP_STATE_DIR=self.state)
        self.assertTrue(support.wait_until(
            lambda: said.search(msp("logs", "one", env=environment).stdout)),
            msp("logs", "one", env=environment).stdout)

    def test_a_client_and_its_sandboxes(self):
        """A broker of the service: each call has a sandbox of its own."""
        self.create("one", "asks")
        server = support.Server("--socket=" + self.path, *LIMITS, with_limits=False,
                                env=self.environment())
        self.addCleanup(server.close)
        server.initialize()
        command = f"python3 -c '{FETCH}' http://{HOST}/"
        for _ in range(2):
            self.assertIn("error", server.call("run_command", command=command, profile="asks")[
                "content"][0]["text"].lower())
        rows = self.network("asked").stdout.splitlines()
        self.assertEqual(len(rows), 1)
        client = re.search(r"client (\d+)$", rows[0]).group(1)
        self.network("approve", HOST)
        server.call("run_command", command=command, profile="asks")
        said = self.network("approve", "--client=" + client, HOST).stdout
        self.assertIn(f"client {client} can reach {HOST}:80", said)
        for profile, is_reached in (("asks", True), ("mayask", True), ("net", False)):
            with self.subTest(profile=profile):
                result = server.call("run_command", command=command, profile=profile)
                self.assertEqual(HELLO.strip() in support.text_of(result), is_reached)
        other = self.start("one", LOOP)
        self.assertIn("refused", self.fetch_in(other, f"http://{HOST}/"), "another client")

    def test_refusals_say_what_to_do(self):
        self.create("one", "asks")
        self.create("never", "net")
        self.assertIn("refused", self.fetch_in(self.start("never", LOOP), f"http://{HOST}/"))
        for words, code, text in (
                (("approve", HOST), 64, "nobody asks for"),
                (("approve", "--sandbox=one", HOST), 75, "nothing runs in it"),
                (("approve", "--sandbox=none", HOST), 64, "there is no sandbox"),
                (("approve", "10.0.0.1"), 64, "is no address"),
                (("approve", "msp-probe.invalid"), 64, "no list can have"),
                (("approve", "*.example.org"), 64, "cannot be granted"),
                (("approve", HOST + ":53"), 64, "resolver"),
                (("approve", HOST + ":0"), 64, "from 1 to 65535"),
                (("approve", "--client=1", "--sandbox=one", HOST), 64, "exclude"),
                (("list", "--client=1", "one"), 64, "for approve"),
                (("tighten", "one", HOST + ":80"), 64, "all its ports")):
            with self.subTest(words=words):
                self.assertIn(text, self.network(*words, code=code).stderr)
        said = self.network("approve", "--sandbox=never", HOST, code=78).stderr
        self.assertIn("its profile lets no host be added", said)

    def test_several_that_ask(self):
        for name in ("one", "two"):
            self.create(name, "asks")
            self.assertIn("refused", self.fetch_in(self.start(name, LOOP), f"http://{HOST}/"))
        said = self.network("approve", HOST, code=64).stderr
        choices = re.findall(r"msp network approve (\S+ --sandbox \w+)$", said, re.M)
        self.assertEqual(len(choices), 2, said)
        self.network("approve", *choices[0].split())
        self.assertEqual(len(self.network("asked").stdout.splitlines()), 1)

    def test_a_gateway_that_is_killed(self):
        """Its grants are gone: the next gateway refuses."""
        self.create("one", "asks")
        loop = self.start("one", LOOP)
        self.assertIn("refused", self.fetch_in(loop, f"http://{HOST}/"))
        for port in ("443", "80"):
            self.network("approve", "--sandbox=one", f"{HOST}:{port}")
        self.assertEqual(self.fetch_in(loop, f"http://{HOST}/"), HELLO.strip())
        os.kill(support.named(self.service.process.pid, "msp-cable")[0], signal.SIGKILL)
        self.assertNotEqual(loop.wait(60), 0)

        def fetch():
            return self.msp("exec", *LIMITS, "one", "--", "python3", "-c", FETCH, f"http://{HOST}/")
        self.assertTrue(support.wait_until(lambda: "gateway" not in fetch().stderr, 60))
        self.assertIn("Name or service not known", fetch().stderr)
        self.assertNotIn("granted", self.network("list", "one").stdout)


class Led(WithService):
    """A name that is granted leads to public addresses alone."""

    def test_addresses_that_are_never_dialled(self):
        self.create("one", "asks")
        loop = self.start("one", LOOP)
        self.assertIn("refused", self.fetch_in(loop, f"http://{HOST}:9000/"))
        for name in (HOST, *LED):
            self.network("approve", "--sandbox=one", name + ":9000")
        for name, address in LED.items():
            with self.subTest(name=name, address=address):
                self.assertIn("refused", self.fetch_in(loop, f"http://{name}:9000/{name}"))
        # the controls: the same act to a public address, and to a private one that an entry allows
        self.assertEqual(self.fetch_in(loop, f"http://{HOST}:9000/public"), HELLO.strip())
        self.assertEqual(self.fetch_in(loop, "http://inside.example.org/inside"), HELLO.strip())
        self.assertEqual([path for path in asked("path") if path[len("9000/"):] in (*LED, "public")],
                         ["9000/public"])

        def refused():
            ends = [record["reason"] for record in self.records("connection_end")]
            return ends.count("address refused")
        self.assertTrue(support.wait_until(lambda: refused() == len(LED)), refused())


if __name__ == "__main__":
    network_support.main()
