#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A workload whose hosts are reached through a proxy cannot reach the proxy itself, nor by it a host
that its profile does not have. The control: beside the sandbox each act leads to the proxy."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import connect_proxy  # noqa: E402
import network_support  # noqa: E402
from config_support import WithFolder  # noqa: E402
from network_support import INSIDE, OTHER, SERVER, asked  # noqa: E402

PROXY, PORT, HERE, EVIL = "proxy.example.org", 3128, 3129, "evil.example"
HOSTS = ["web.example.org:80", "*.cdn.example.org:80", f"{OTHER}:8080"]
CONFIG = f"""\
profiles:
  - name: net
    extends: default
    network: hosts
    hosts: {HOSTS}
    through: {PROXY}:{PORT}
  - {{name: here, extends: net, through: "127.0.0.1:{HERE}"}}
"""
CONNECT = f"CONNECT {EVIL}:80 HTTP/1.1\r\nHost: {EVIL}:80\r\n\r\n"
# What a workload does: (where it connects to, what it sends).
ACTS = [(host, port, CONNECT)
        for host, port in (
            (PROXY, PORT), (PROXY.upper() + ".", PORT), (INSIDE, PORT), (f"::ffff:{INSIDE}", PORT),
            ("127.0.0.1", HERE), ("127.0.0.2", HERE), ("localhost", HERE), ("::1", HERE),
            ("0.0.0.0", HERE), ("198.18.0.1", HERE), ("198.18.0.1", PORT),
            (network_support.OWN, HERE), ("web.example.org", PORT), ("web.example.org", HERE),
            ("web.example.org", 80), ("a.cdn.example.org", 80), (OTHER, 8080))]
ACTS += [(EVIL, 80, "x"), (f"{EVIL}:80 HTTP/1.1\r\nX: .cdn.example.org", 80, "x"),
         (f"{EVIL}:80#.cdn.example.org", 80, "x"), (f"{EVIL}/.cdn.example.org", 80, "x"),
         (f"{EVIL}@a.cdn.example.org", 80, "x")]
TRY = """\
import json, socket, struct, sys
def ask(name):
    labels = name.encode("latin-1").split(b".")
    query = bytes.fromhex("000701000001000000000000") + b"".join(
        bytes([len(label)]) + label for label in labels) + bytes.fromhex("0000010001")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(1)
        asking.connect(("198.18.0.1", 53))
        asking.send(query)
        answer = asking.recv(1024)
        return socket.inet_ntoa(answer[-4:]) if answer[7] else None
for host, port, text in json.loads(sys.argv[1]):
    try:
        try:
            address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        except (OSError, UnicodeError):
            address = (socket.AF_INET, 0, 0, 0, (ask(host), port))
        with socket.socket(address[0]) as one:
            one.settimeout(1)
            one.connect(address[4])
            one.sendall(text.encode())
            one.recv(64)
    except (OSError, TypeError):
        pass
print("tried")
"""


def serve():
    """In the servers' namespace: the proxy, which knows every host."""
    places = dict.fromkeys(("web.example.org", "a.cdn.example.org", EVIL), SERVER)
    connect_proxy.Proxy(INSIDE, PORT, places,
                        note=lambda line: network_support.note("proxy", line))


def serve_here():
    """On the machine itself: a proxy of its loopback, and the control."""
    connect_proxy.Proxy("127.0.0.1", HERE, {EVIL: SERVER},
                        note=lambda line: network_support.note("proxy", line))


network_support.NAMES[PROXY] = [INSIDE]
network_support.STARTS.append(serve)


class Through(WithFolder):
    def setUp(self):
        super().setUp()
        self.config = self.write(CONFIG)

    def attempt(self, acts, profile=None):
        """Do the acts in a sandbox, or beside it. The hosts that a proxy was asked for meanwhile."""
        before = len(asked("proxy"))
        words = ("python3", "-c", TRY, json.dumps(acts))
        result = self.run_msp(*words, options=("--profile", profile), MSP_CONFIG=self.config) \
            if profile else subprocess.run(words, capture_output=True, text=True, check=False,
                                           timeout=60)
        self.assertEqual(result.stdout, "tried\n", result.stderr)
        return [line.split(" ")[1] for line in asked("proxy")[before:]]

    def test_controls(self):
        reached = [(PROXY, PORT), (PROXY.upper() + ".", PORT), (INSIDE, PORT),
                   (f"::ffff:{INSIDE}", PORT), ("127.0.0.1", HERE), ("0.0.0.0", HERE)]
        acts = [act for act in ACTS if act[:2] in reached]
        self.assertEqual(self.attempt(acts), [f"{EVIL}:80"] * len(reached))
        for profile in ("net", "here"):
            self.assertEqual(self.attempt([("web.example.org", 80, "x")], profile),
                             ["web.example.org:80"])

    def test_no_act_reaches_a_proxy_or_another_host(self):
        allowed = {"web.example.org:80", "a.cdn.example.org:80", f"{OTHER}:8080"}
        for profile in ("net", "here"):
            with self.subTest(profile=profile):
                self.assertEqual(set(self.attempt(ACTS, profile)), allowed)


if __name__ == "__main__":
    if os.environ.get("MSP_TEST_NETWORK_STAGE") == "inside":
        serve_here()
    network_support.main()
