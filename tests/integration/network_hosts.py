#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sandboxes of a profile with hosts reach these, and nothing else."""
import json
import os
import signal
import subprocess
import threading
import unittest

import network_support
import support
from cli_support import LIMITS, msp
from config_support import WithFolder
from network_support import INSIDE, OTHER, OWN, SERVER, asked

CONFIG = f"""\
profiles:
  - name: net
    extends: default
    network: hosts
    hosts:
      - web.example.org:80,443
      - "*.cdn.example.org:80"
      - private.example.org:80
      - inside.example.org:80 private
      - own.example.org:80
      - loop.example.org:80
      - many.example.org:80
      - gone.example.org:80
      - {OTHER}:8080
  - name: empty
    extends: default
    network: hosts
    hosts: []
"""
HELLO = "hello from the server\n"
CLOSED = ("ConnectionRefusedError", "ConnectionResetError", "closed")
FETCH = """\
import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode(), end="")
"""
CONNECT = """\
import socket, sys
try:
    s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 20)
    s.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
    print("answered" if s.recv(64).startswith(b"HTTP/1") else "closed")
except socket.gaierror as error:
    print("gaierror", error.errno)
except OSError as error:
    print(type(error).__name__)
"""


class WithHosts(WithFolder):
    def setUp(self):
        super().setUp()
        self.config = self.write(CONFIG)

    def run_in(self, profile, *words, options=(), **variables):
        return self.run_msp(*words, options=("--profile", profile, *options),
                            MSP_CONFIG=self.config, **variables)

    def fetch(self, url, profile="net"):
        return self.run_in(profile, "python3", "-c", FETCH, url)

    def connect(self, host, port, profile="net"):
        result = self.run_in(profile, "python3", "-c", CONNECT, host, str(port))
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.strip()


class Reached(WithHosts):
    def test_urllib(self):
        result = self.fetch("http://web.example.org/one")
        self.assertEqual((result.returncode, result.stdout), (0, HELLO), result.stderr)
        self.assertIn("80/one", asked("path"))

    def test_urllib_by_tls(self):
        code = ("import ssl, sys, urllib.request\n"
                "context = ssl.create_default_context(cadata=sys.argv[2])\n"
                "print(urllib.request.urlopen(sys.argv[1], timeout=20, context=context)"
                ".read().decode(), end='')")
        result = self.run_in("net", "python3", "-c", code, "https://web.example.org/tls",
                             network_support.certificate())
        self.assertEqual((result.returncode, result.stdout), (0, HELLO), result.stderr)
        self.assertIn("443/tls", asked("path"))

    @unittest.skipUnless(os.path.exists("/usr/bin/curl"), "curl is not installed")
    def test_curl(self):
        code = ('printf %s "$1" >/tmp/ca.pem; curl -sS --cacert /tmp/ca.pem '
                "https://web.example.org/curl http://web.example.org/curl")
        result = self.run_in("net", "sh", "-c", code, "sh", network_support.certificate())
        self.assertEqual((result.returncode, result.stdout), (0, 2 * HELLO), result.stderr)

    def test_wildcard_private_and_address(self):
        for host, port in (("a.cdn.example.org", 80), ("inside.example.org", 80), (OTHER, 8080),
                           ("many.example.org", 80)):
            with self.subTest(host=host):
                self.assertEqual(self.connect(host, port), "answered")

    def test_a_megabyte_each_way(self):
        code = ("import sys, urllib.request\n"
                "print(len(urllib.request.urlopen(sys.argv[1], timeout=20).read()))")
        result = self.run_in("net", "python3", "-c", code,
                             "http://web.example.org/bytes/10000000")
        self.assertEqual(result.stdout, "10000000\n", result.stderr)

    def test_loopback_is_the_sandboxes_own(self):
        code = ("import socket\n"
                "s = socket.create_server(('127.0.0.1', 8080))\n"
                "c = socket.create_connection(('127.0.0.1', 8080))\n"
                "print('own')\n"
                "try: socket.create_connection(('127.0.0.1', 443))\n"
                "except ConnectionRefusedError: print('refused')")
        result = self.run_in("net", "python3", "-c", code)
        self.assertEqual(result.stdout, "own\nrefused\n", result.stderr)

    def test_explain_agrees(self):
        """What `explain` says of a host is what a connection meets."""
        for host, port in (("web.example.org", 80), ("web.example.org", 8080),
                           ("unlisted.example.org", 80), ("a.cdn.example.org", 80),
                           ("b.a.cdn.example.org", 80), ("cdn.example.org", 80), (OTHER, 8080),
                           (SERVER, 8080), (OTHER, 80), ("127.0.0.1", 443),
                           ("169.254.169.254", 80), ("10.77.7.7", 80)):
            with self.subTest(host=host, port=port):
                said = self.explain(f"connect {host}:{port}")
                is_allowed = host != "127.0.0.1" and not said.startswith("refused")
                answer = self.connect(host, port)
                self.assertEqual(answer == "answered", is_allowed, said)
                said = self.explain(f"resolve {host}")
                self.assertEqual(answer.startswith("gaierror"), said.startswith("refused"), said)


class Refused(WithHosts):
    def test_names_outside_the_list(self):
        for host in ("unlisted.example.org", "b.a.cdn.example.org", "cdn.example.org",
                     "example.com"):
            with self.subTest(host=host):
                self.assertRegex(self.connect(host, 80), "^gaierror")
                self.assertNotIn(host, asked("name"), "no server was asked")

    def test_ports_outside_the_list(self):
        for host, port in (("web.example.org", 8080), ("a.cdn.example.org", 443),
                           ("web.example.org", 9000), ("web.example.org", 22)):
            with self.subTest(host=host, port=port):
                self.assertIn(self.connect(host, port), CLOSED)
        self.assertFalse([path for path in asked("path") if path.startswith("9000")])

    def test_addresses(self):
        for host, port in (("private.example.org", 80), ("own.example.org", 80),
                           ("loop.example.org", 80), (SERVER, 80), (SERVER, 8080), (INSIDE, 80),
                           (OWN, 80), ("169.254.169.254", 80), ("8.8.8.8", 443)):
            with self.subTest(host=host):
                self.assertIn(self.connect(host, port), CLOSED)

    def test_a_name_that_does_not_exist(self):
        self.assertRegex(self.connect("gone.example.org", 80), "^gaierror")
        self.assertIn("gone.example.org", asked("name"))

    def test_tls_for_another_name(self):
        code = ("import socket, ssl, sys\n"
                "context = ssl._create_unverified_context()\n"
                "s = socket.create_connection(('web.example.org', 443), 20)\n"
                "try: context.wrap_socket(s, server_hostname=sys.argv[1]); print('shaken')\n"
                "except OSError as error: print(type(error).__name__)")
        for name, answer in (("web.example.org", "shaken"),  # the control
                             ("unlisted.example.org", "ConnectionResetError")):
            result = self.run_in("net", "python3", "-c", code, name)
            self.assertEqual(result.stdout.strip(), answer, result.stderr)

    def test_other_bytes_where_tls_is_expected(self):
        self.assertIn(self.connect("web.example.org", 443), CLOSED)

    def test_an_empty_list_has_no_host(self):
        self.assertRegex(self.connect("web.example.org", 80, profile="empty"), "^gaierror")

    def test_udp_and_ipv6(self):
        code = ("import socket\n"
                "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5)\n"
                "s.connect(('8.8.8.8', 443)); s.send(b'x')\n"
                "try: s.recv(1)\n"
                "except OSError as error: print(type(error).__name__)\n"
                "try: socket.create_connection(('2001:db8::1', 80), 5)\n"
                "except OSError as error: print(error.errno)")
        result = self.run_in("net", "python3", "-c", code)
        self.assertEqual(result.stdout, "ConnectionRefusedError\n101\n", result.stderr)

    def test_another_profile_has_no_network(self):
        result = self.run_in("default", "python3", "-c", CONNECT, "web.example.org", "80")
        self.assertRegex(result.stdout, "^gaierror")
        result = self.run_in("default", "cat", "/proc/net/dev")
        self.assertNotIn("eth0", result.stdout)

    def test_the_refusal_is_explained(self):
        result = self.run_in("net", "curl", "-sS", "http://unlisted.example.org/",
                             options=("--json",))
        self.assertNotEqual(result.returncode, 0)
        denial = json.loads(result.stdout)["denials"][0]
        self.assertEqual((denial["layer"], denial["target"]), ("network", "unlisted.example.org"))
        self.assertIn("no entry covers the name", denial["rule"])
        self.assertIn("hosts:", denial["remedy"])

    def test_a_profile_that_reaches_the_host_is_named(self):
        for profile, host, expected in (
                ("empty", "web.example.org", "the profile net reaches web.example.org"),
                ("default", "a.cdn.example.org", "the profile net reaches a.cdn.example.org"),
                ("default", "deb.debian.org", "offer: [debian-net]"),
                ("default", "unlisted.example.org", "hosts: [\"unlisted.example.org:80\"]")):
            with self.subTest(profile=profile, host=host):
                result = self.run_in(profile, "curl", "-sS", f"http://{host}/",
                                     options=("--json",))
                denial = json.loads(result.stdout)["denials"][0]
                self.assertIn(expected, denial["remedy"])

    def test_a_package_manager_has_its_index(self):
        self.write(CONFIG + "offer: [python-net]\n")
        server = self.serve(MSP_CONFIG=self.config)
        said = server.call("run_command", command="pip download --no-deps greet-py")
        self.assertIn("the profile python-net reaches pypi.org", support.text_of(said))


class OwnAddresses(WithHosts):
    """What is said of this machine's addresses is one thing, and true."""

    def test_a_refusal_names_the_entry_that_works(self):
        for host in ("own.example.org", "loop.example.org"):
            with self.subTest(host=host):
                result = self.run_in("net", "curl", "-sS", f"http://{host}/", options=("--json",))
                denial = json.loads(result.stdout)["denials"][0]
                self.assertEqual(denial["remedy"],
                                 "if one port of this machine is meant, in the operator's profile, "
                                 f'hosts: [{{host: "{host}:80", to: "ADDRESS:80"}}]')
        result = self.run_in("net", "curl", "-sS", "http://private.example.org/", options=("--json",))
        denial = json.loads(result.stdout)["denials"][0]  # the control
        self.assertIn("the word `private` in its entry", denial["remedy"])

    def test_profile_check_finds_the_entries(self):
        self.write(f"""\
profiles:
  - name: net
    extends: default
    network: hosts
    hosts:
      - {OWN}:5432
      - {OTHER}:5432
      - {{host: a.local, to: "{OWN}:80"}}
      - {{host: b.local, to: "127.0.0.1:80"}}
      - {{host: c.local, to: "{OTHER}:80"}}
""")
        result = msp("profile", "check", self.config, env=self.environment())
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = [line for line in result.stderr.splitlines() if "profile net" in line]
        self.assertEqual(len(lines), 2, result.stderr)
        self.assertIn(f"hosts: {OWN}:5432 is an address of this machine, which only an entry with `to` "
                      f'reaches; expected {{host: NAME, to: "{OWN}:5432"}}', lines[0])
        self.assertIn("hosts: c.local:80 leads to an address that no device of this machine has",
                      lines[1])

    def test_a_port_of_this_machine_that_nobody_serves(self):
        self.write(CONFIG + """\
  - name: own
    extends: net
    hosts: ["+", {host: db.local, to: "127.0.0.1:5999"}]
""")
        result = self.run_in("own", "curl", "-sS", "http://db.local:5999/")
        self.assertIn("db.local:5999 is allowed, but no server of this machine listens where its entry "
                      "leads", result.stderr)
        self.assertEqual(self.connect("web.example.org", 80, profile="own"), "answered")


PROBE = "msp-probe.invalid"


class Proven(WithHosts):
    """A name that no list has is asked for before the first workload."""

    def test_a_list_that_has_every_name(self):
        # The world's name server says that there is no such host, as the list would.
        program = network_support.without_list(os.path.join(self.folder, "open"))
        result = subprocess.run([program, "run", "--standalone", *LIMITS, "--profile", "empty", "--",
                                 "echo", "ran"], env=self.environment(MSP_CONFIG=self.config),
                                capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stdout), (78, ""), result.stderr)
        self.assertIn("'network namespace' is open: reaching a host that the profile does not name was "
                      "tried, and succeeded", result.stderr)
        self.assertIn(PROBE, asked("name"))

    def test_a_resolver_without_an_answer(self):
        """It ends the execution and not the server, and is asked again by the next one."""
        server = self.serve(MSP_CONFIG=self.config)
        fetch = {"profile": "net", "argv": ["python3", "-c", FETCH, "http://web.example.org/late"]}
        dials = support.named(server.process.pid, "msp-dial")
        self.assertTrue(dials)
        for pid in dials:
            os.kill(pid, signal.SIGSTOP)
        try:
            result = server.call("run_command", **fetch)
        finally:
            for pid in dials:
                os.kill(pid, signal.SIGCONT)
        self.assertTrue(result["isError"])
        self.assertIn("EAGAIN", support.text_of(result))
        self.assertIn(HELLO, support.text_of(server.call("run_command", **fetch)))

    def test_the_question_is_nobodys(self):
        state = os.path.join(self.folder, "state")
        os.mkdir(state)

        def refused():
            """The words about refused names: of the result, and of the log."""
            result = self.run_in("empty", "getent", "hosts", "other.invalid", MSP_STATE_DIR=state)
            log = msp("audit", "show", "--json", env=self.environment(MSP_STATE_DIR=state)).stdout
            self.assertIn('"event":"posture"', log)
            return [line for line in (result.stderr + log).splitlines() if "invalid" in line]
        found = refused()
        self.assertEqual([line for line in found if PROBE in line], [])
        self.assertEqual(len(found), 2, found)  # a workload's question counts


class Recorded(WithHosts):
    def records(self, *events):
        """What the audit log has of these events."""
        result = msp("audit", "show", "--json", env=self.environment())
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        return [line for line in lines if line["event"] in events]

    def environment(self, **more):
        state = os.path.join(self.folder, "state")
        os.makedirs(state, exist_ok=True)
        return super().environment(MSP_STATE_DIR=state, **more)

    def test_a_connection(self):
        self.assertEqual(self.fetch("http://web.example.org/audit").returncode, 0)
        support.wait_until(lambda: self.records("connection_end"))
        begin, end = self.records("connection_begin")[0], self.records("connection_end")[0]
        self.assertEqual((begin["host"], begin["port"]), ("web.example.org", 80))
        self.assertEqual((end["address"], end["reason"]), (SERVER, "closed"))
        self.assertEqual((begin["connection"], begin["cable"]), (end["connection"], end["cable"]))
        self.assertGreater(end["received"], len(HELLO))
        self.assertGreater(end["sent"], 0)
        self.assertEqual(self.records("execution_end")[0]["cable"], begin["cable"])

    def test_a_refusal(self):
        self.assertRegex(self.connect("unlisted.example.org", 80), "^gaierror")
        support.wait_until(lambda: self.records("denial"))
        self.assertEqual({key: self.records("denial")[0][key]
                          for key in ("layer", "operation", "host", "reason")},
                         {"layer": "network", "operation": "resolve",
                          "host": "unlisted.example.org", "reason": "host"})

    def test_a_refusal_just_before_the_end(self):
        """msp-cable, which was paused, hears of the refusal and of the end at once."""
        words = [os.path.join(support.BIN, "msp"), "run", *LIMITS, "--profile", "net", "--", "sh",
                 "-c", "echo begun; read line; getent hosts unlisted.example.org; exit 3"]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env=self.environment(MSP_CONFIG=self.config)) as process:
            self.assertEqual(process.stdout.readline(), "begun\n")
            cable = min(support.named(process.pid, "msp-cable"))  # not a child before its exec
            os.kill(cable, signal.SIGSTOP)
            awake = threading.Timer(1, os.kill, (cable, signal.SIGCONT))
            awake.start()
            process.communicate("\n")
            self.assertEqual(process.returncode, 3)
            awake.join()
        self.assertTrue(support.wait_until(lambda: self.records("denial")))


if __name__ == "__main__":
    network_support.main()
