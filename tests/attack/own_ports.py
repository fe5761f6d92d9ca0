#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A workload whose profile leads one name to one port of this machine reaches no other port of it: by
requests for another host, redirects, CONNECT, names that move, or secrets. The control: beside the
sandbox the same acts reach the other port, and in it the one port answers."""
import http.server
import json
import os
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import network_support  # noqa: E402
from config_support import WithFolder  # noqa: E402
from network_support import OWN, asked  # noqa: E402

APP, RAW, HIDDEN = 8090, 8091, 8092  # ports of this machine's loopback
VALUE = "a-value-of-this-test-0123456789"
CONFIG = f"""\
profiles:
  - name: net
    extends: default
    network: hosts
    hosts:
      - {{host: "app.local:{APP} http", to: "127.0.0.1:{APP}"}}
      - {{host: raw.local, to: "127.0.0.1:{RAW}"}}
      - web.example.org:80 http
      - moving.example.org:{HIDDEN} private
      - own.example.org:{HIDDEN} private
      - loop.example.org:{HIDDEN} private
    requests: ["GET app.local/open/"]
    secrets:
      - {{name: TOKEN, hosts: [app.local], header: X-Token, env: OWN_PORT_TOKEN, cleartext: true}}
"""
# What a workload does: (where it connects to, what it sends).
HEAD = "GET {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nX-Token: msp-TOKEN-secret\r\n\r\n"
ACTS = [("app.local", APP, HEAD.format(path, host)) for path, host in (
    (f"http://127.0.0.1:{HIDDEN}/open/", f"app.local:{APP}"), ("/open/", f"127.0.0.1:{HIDDEN}"),
    ("/open/", "localhost"), ("/open/", f"app.local:{HIDDEN}"), ("/closed/", f"app.local:{APP}"),
    ("/open/../closed/", f"app.local:{APP}"))]
ACTS += [("app.local", APP, f"CONNECT 127.0.0.1:{HIDDEN} HTTP/1.1\r\nHost: app.local:{APP}\r\n\r\n"),
         ("web.example.org", 80, HEAD.format("/", "web.example.org"))]
ACTS += [(host, HIDDEN, HEAD.format("/", host)) for host in (
    "app.local", "raw.local", "moving.example.org", "own.example.org", "loop.example.org", "127.0.0.1",
    "localhost", "::1", "0.0.0.0", "198.18.0.1", OWN)]
TRY = """\
import json, socket, sys
for host, port, text in json.loads(sys.argv[1]):
    try:
        with socket.create_connection((host, port), 2) as one:
            one.sendall(text.encode())
            while one.recv(4096):
                pass
    except OSError:
        pass
print("tried")
"""
FOLLOW = """\
import sys, urllib.request
try:
    print(urllib.request.urlopen(sys.argv[1], timeout=10).read().decode(), end="")
except OSError as error:
    print(type(error).__name__)
"""

# Texts of addresses that a gateway could take for a host, or end by: as names, addresses and requests.
SPELLINGS = ("::1", "::", "::ffff:127.0.0.1", "2001:db8::1", "64:ff9b::7f00:1", "fe80::1", "[::1]",
             "127.0.0.1", "127.1", "0x7f000001", "2130706433", "10.0.0.5/24", "APP.local", "app..local")
SPELL = """\
import contextlib, json, socket, struct, sys
spellings, app, raw = json.loads(sys.argv[1])
def ask(labels):
    text = b"".join(bytes([len(label)]) + label for label in labels)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.settimeout(5)
        one.sendto(struct.pack(">6H", 7, 256, 1, 0, 0, 0) + text + b"\\0\\0\\1\\0\\1", ("198.18.0.1", 53))
        one.recv(512)
def tell(family, address, port, text):
    with socket.socket(family, socket.SOCK_STREAM) as one:
        one.settimeout(5)
        one.connect((address, port))
        one.sendall(text.encode())
        return one.recv(4096).decode()
for text in spellings:
    for act, words in ((ask, ([text.encode()],)), (ask, ([text.encode(), b"local"],)),
                       (ask, ([label.encode() for label in text.split(".") if label],)),
                       (tell, (socket.AF_INET6, text, raw, "x")), (tell, (socket.AF_INET, text, raw, "x")),
                       (tell, (socket.AF_INET, "app.local", app,
                               f"GET http://{text}/ HTTP/1.1\\r\\nHost: {text}\\r\\n\\r\\n")),
                       (tell, (socket.AF_INET, "app.local", app,
                               f"CONNECT {text}:{raw} HTTP/1.1\\r\\nHost: {text}\\r\\n\\r\\n"))):
        with contextlib.suppress(OSError, UnicodeError):
            act(*words)
mapped = "::ffff:" + socket.gethostbyname("raw.local")
print(tell(socket.AF_INET6, mapped, raw, "GET /mapped HTTP/1.0\\r\\n\\r\\n").split()[1])
"""


class Here(http.server.BaseHTTPRequestHandler):
    """A server of this machine, which says what it was asked."""
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        port = self.server.server_address[1]
        network_support.note("here", [port, self.path, self.headers.get("X-Token")])
        is_moved = "/to/" in self.path
        self.send_response(302 if is_moved else 200)
        if is_moved:
            self.send_header("Location", "http://" + self.path.partition("/to/")[2])
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"here\n")

    def log_message(self, *_):
        pass


def serve_here():
    for address, port in (("127.0.0.1", APP), ("127.0.0.1", RAW), ("0.0.0.0", HIDDEN)):
        server = http.server.ThreadingHTTPServer((address, port), Here)
        threading.Thread(target=server.serve_forever, daemon=True).start()


network_support.NAMES["moving.example.org"] = [["127.0.0.1"], [OWN]]


class OwnPorts(WithFolder):
    def setUp(self):
        super().setUp()
        self.config = self.write(CONFIG)

    def reached(self, *words, inside=True):
        """What a program prints, and what this machine's servers were asked meanwhile."""
        before = len(asked("here"))
        result = self.run_msp("python3", "-c", *words, options=("--profile", "net"),
                              MSP_CONFIG=self.config, OWN_PORT_TOKEN=VALUE) \
            if inside else subprocess.run(("python3", "-c", *words), capture_output=True, text=True,
                                          check=False, timeout=120)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout, asked("here")[before:]

    def test_the_one_port_answers(self):
        """The control: also with its rule and its secret."""
        text = HEAD.format("/open/x", f"app.local:{APP}")
        acts = [("app.local", APP, text), ("raw.local", RAW, HEAD.format("/raw", "raw.local"))]
        self.assertEqual(self.reached(TRY, json.dumps(acts))[1],
                         [[APP, "/open/x", VALUE], [RAW, "/raw", "msp-TOKEN-secret"]])

    def test_no_act_reaches_another_port(self):
        self.assertEqual(self.reached(TRY, json.dumps(ACTS)), ("tried\n", []))
        acts = [act for act in ACTS if act[0] in ("127.0.0.1", "localhost", "0.0.0.0", OWN)]
        self.assertEqual(self.reached(TRY, json.dumps(acts), inside=False)[1],
                         [[HIDDEN, "/", "msp-TOKEN-secret"]] * len(acts))

    def test_no_spelling_ends_the_gateway(self):
        """After them the one port answers in the same sandbox. The control: msp-dial ends by such a
        text if msp-egress were to send it (tests/integration/gateway_broken.py)."""
        words = json.dumps([SPELLINGS, APP, RAW])
        self.assertEqual(self.reached(SPELL, words), ("200\n", [[RAW, "/mapped", None]]))

    def test_a_redirect_leads_to_no_other_port(self):
        for target in (f"127.0.0.1:{HIDDEN}/", f"app.local:{HIDDEN}/", f"{OWN}:{HIDDEN}/"):
            with self.subTest(target=target):
                url = f"http://app.local:{APP}/open/to/{target}"
                said, here = self.reached(FOLLOW, url)
                self.assertNotEqual(said, "here\n")
                self.assertEqual([port for port, _, _ in here], [APP])
        url = f"http://127.0.0.1:{APP}/open/to/127.0.0.1:{HIDDEN}/"
        said, here = self.reached(FOLLOW, url, inside=False)  # the control
        self.assertEqual((said, [port for port, _, _ in here]), ("here\n", [APP, HIDDEN]))


if __name__ == "__main__":
    if os.environ.get("MSP_TEST_NETWORK_STAGE") == "inside":
        serve_here()
    network_support.main()
