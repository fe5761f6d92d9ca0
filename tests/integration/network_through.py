#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sandboxes whose hosts are reached through a proxy, as programs, results and the log show it."""
import json
import os
import subprocess
import unittest

import connect_proxy
import network_support
from cli_support import LIMITS, msp
from config_support import WithFolder
from network_support import INSIDE, SERVER, asked

VALUE = "sesame-open-0123456789"
API, PROXY, PORT = "api.example.net", "proxy.example.org", 3128
CONFIG = f"""\
profiles:
  - name: net
    extends: default
    network: hosts
    through: {PROXY}:{PORT}
    hosts: ["web.example.org:80,443", only.example:80, forbidden.example:80, login.example:80,
      "{API}", "inside.example.org:80 private"]
    requests: ["GET {API}/v1/"]
    secrets:
      - {{name: API_TOKEN, hosts: [{API}], header: Authorization, file: FOLDER/token}}
  - {{name: dead, extends: default, network: hosts, through: {PROXY}:9, hosts: ["web.example.org:80"]}}
  - {{name: lost, extends: default, network: hosts, through: no-proxy.example.org:9,
     hosts: ["web.example.org:80"]}}
"""
HELLO = "hello from the server\n"


def answer_api(request):
    network_support.note("header", request.headers.get("Authorization", ""))
    request.answer(200, b"answer of the api\n", "text/plain")


network_support.HOSTS[API] = answer_api
network_support.NAMES[PROXY] = [INSIDE]
network_support.STARTS.append(lambda: connect_proxy.Proxy(
    INSIDE, PORT, dict.fromkeys(("web.example.org", "only.example", API), SERVER),
    note=lambda line: network_support.note("proxy", line.split(" ")[1])))


class Through(WithFolder):
    def setUp(self):
        super().setUp()
        token = self.write(VALUE + "\n", name="token", mode=0o600)
        self.config = self.write(CONFIG.replace("FOLDER", os.path.dirname(token)))

    def environment(self, **more):
        state = os.path.join(self.folder, "state")
        os.makedirs(state, 0o700, exist_ok=True)
        return super().environment(**{"MSP_STATE_DIR": state, **more})

    def curl(self, *words, options=()):
        return self.run_msp("sh", "-c", f"curl -sS {' '.join(words)}",
                            options=("--profile", "net", *options), MSP_CONFIG=self.config)

    def test_a_list_that_has_every_name(self):
        # No name server is asked for it: the name has an address at once.
        program = network_support.without_list(os.path.join(self.folder, "open"))
        result = subprocess.run([program, "run", "--standalone", *LIMITS, "--profile", "net", "--",
                                 "echo", "ran"], env=self.environment(MSP_CONFIG=self.config),
                                capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stdout), (78, ""), result.stderr)
        self.assertIn("'network namespace' is open", result.stderr)

    def test_http_and_tls(self):
        for url in ("http://web.example.org/p", "https://web.example.org/p", "http://only.example/"):
            result = self.curl(url)
            self.assertEqual((result.returncode, result.stdout), (0, HELLO), result.stderr)
        self.assertEqual(asked("proxy")[-3:], ["web.example.org:80", "web.example.org:443",
                                               "only.example:80"])
        self.assertIn(PROXY, asked("name"))
        for name in ("web.example.org", "only.example"):
            self.assertNotIn(name, asked("name"))

    def test_a_private_host_is_reached_directly(self):
        before = asked("proxy")
        result = self.curl("http://inside.example.org/")
        self.assertEqual((result.returncode, result.stdout), (0, HELLO), result.stderr)
        self.assertEqual(asked("proxy"), before)

    def test_requests_and_secrets(self):
        result = self.curl('-H "Authorization: Bearer $API_TOKEN"', f"https://{API}/v1/x")
        self.assertEqual((result.returncode, result.stdout), (0, "answer of the api\n"),
                         result.stderr)
        self.assertIn("no rule this path", self.curl(f"https://{API}/other").stdout)
        self.assertEqual(asked("header")[-1], f"Bearer {VALUE}")

    def test_a_refusal_is_explained(self):
        for host in ("forbidden.example", "login.example"):
            with self.subTest(host=host):
                result = self.curl(f"http://{host}/", options=("--json",))
                denial = json.loads(result.stdout)["denials"][0]
                self.assertEqual((denial["layer"], denial["operation"], denial["target"]),
                                 ("network", "connect", f"{host}:80"))
                self.assertIn("proxy refuses", denial["reason"])
                self.assertIn("through", denial["remedy"])

    def test_a_proxy_that_does_not_answer(self):
        """test_http_and_tls is the control."""
        for profile in ("dead", "lost"):
            result = self.run_msp("curl", "-sS", "http://web.example.org/",
                                  options=("--profile", profile), MSP_CONFIG=self.config)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("msp: run: web.example.org:80 is allowed, but the proxy of the profile's "
                          "`through` does not answer\n", result.stderr)
            self.assertNotIn("denied", result.stderr)

    def test_explain(self):
        for operation, part in (
                ("connect web.example.org:443", f"if the proxy {PROXY}:{PORT} connects to it"),
                ("connect inside.example.org:80", "if it has a public or private address"),
                ("resolve only.example", "allowed"), (f"connect {PROXY}:{PORT}", "refused")):
            self.assertIn(part, self.explain(operation))

    def test_the_log(self):
        server = self.serve("--default-profile", "net", MSP_CONFIG=self.config)
        self.assertFalse(server.call("create_sandbox", name="one").get("isError"))
        server.call("run_command", sandbox="one",
                    command="curl -sS http://web.example.org/; curl -sS http://inside.example.org/;"
                    "curl -sS http://forbidden.example/")
        server.close()
        said = msp("logs", "one", env=self.environment()).stdout
        self.assertRegex(said, r"connect +\d+ to web\.example\.org:80 through the proxy\n")
        self.assertRegex(said, rf"connect +\d+ closed, {INSIDE}, sent \d+ B, received \d+ B\n")
        self.assertRegex(said, r"connect +\d+ to inside\.example\.org:80\n")
        self.assertRegex(said, rf"connect +\d+ proxy refused, {INSIDE}, sent 0 B, received 0 B\n")
        self.assertRegex(said, r"denied +connect forbidden\.example:80 by network: proxy\n")


class Doctor(WithFolder):
    def test_a_proxy(self):
        for through, status, part in (
                (f"{INSIDE}:{PORT}", "ok", "each proxy takes a connection"),
                (f"{INSIDE}:{PORT + 1}", "missing",
                 f"the proxy {INSIDE}:{PORT + 1} of profile net takes no connection: "),
                (f"{PROXY}:{PORT}", "ok",
                 f"the name server {SERVER} answers, and each proxy takes a connection"),
                (f"{PROXY}:{PORT + 1}", "missing",
                 f"the proxy {PROXY}:{PORT + 1} of profile net takes no connection: "),
                (f"nobody.example.org:{PORT}", "missing", "no name server has an address of it"),
                (f"loop.example.org:{PORT}", "missing", "its name leads to this machine's loopback")):
            with self.subTest(through=through):
                config = self.write("profiles:\n  - {name: net, extends: default, network: hosts, "
                                    f'hosts: [web.example.org], through: "{through}"}}\n')
                result = msp("doctor", "--json", env=self.environment(MSP_CONFIG=config))
                row, = (row for row in json.loads(result.stdout)["probes"]
                        if row["name"] == "hosts")
                self.assertEqual(row["status"], status, row)
                self.assertIn(part, row["happened"])


if __name__ == "__main__":
    network_support.main()
