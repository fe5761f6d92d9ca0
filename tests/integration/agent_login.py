#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The login of an agent against a server of identities: the page of the login sends the browser to a
port of this machine, the agent in the sandbox gets the code, and has a token from then on."""
import json
import os
import re
import signal
import socket
import ssl
import unittest
import urllib.error
import urllib.parse
import urllib.request

import network_support
import support
from cli_support import LIMITS, SECONDS, msp
from cli_tty import Terminal
from config_support import WithFolder
from network_support import asked
from service import Service

PORT = 14711
LOGIN, API = "login.example.net", "api.example.net"
CODE, TOKEN = "code-of-the-person", "token-of-the-person"
CONFIG = f"""\
agents:
  - name: seeker
    programs: [seeker]
    hosts: [{API}]
    login_hosts: [{LOGIN}]
    login: {{arguments: [login], port: {PORT}}}
"""
AGENT = """\
#!/usr/bin/env python3
import http.server, json, os, sys, urllib.parse, urllib.request
home, state = os.path.expanduser("~/.seeker"), os.urandom(8).hex()


class Callback(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        assert query["state"] == state, query
        body = urllib.parse.urlencode({"code": query["code"]}).encode()
        with urllib.request.urlopen("https://LOGIN/token", body, timeout=20) as answer:
            os.makedirs(home, exist_ok=True)
            with open(home + "/token", "w") as file:
                file.write(json.load(answer)["token"])
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"You can close this page.\\n")

    def log_message(self, *_):
        pass


if sys.argv[1:] == ["login"]:
    server = http.server.HTTPServer(("127.0.0.1", PORT), Callback)
    print(f"open https://LOGIN/authorize?state={state}&redirect=http://localhost:PORT/callback", flush=True)
    while not os.path.exists(home + "/token"):
        server.handle_request()
    print("logged in", flush=True)
else:
    with open(home + "/token") as file:
        head = {"Authorization": "Bearer " + file.read()}
    with urllib.request.urlopen(urllib.request.Request("https://API/", headers=head), timeout=20) as answer:
        print(answer.read().decode(), end="")
"""


def answer_login(request):
    parts = urllib.parse.urlsplit(request.path)
    query = dict(urllib.parse.parse_qsl(parts.query))
    if parts.path == "/authorize":
        request.send_response(302)
        request.send_header("Location", f"{query['redirect']}?code={CODE}&state={query['state']}")
        request.send_header("Content-Length", "0")
        request.end_headers()
        return
    body = request.rfile.read(int(request.headers["Content-Length"])).decode()
    is_right = parts.path == "/token" and body == f"code={CODE}"
    request.answer(200 if is_right else 403, json.dumps({"token": TOKEN}).encode())


def answer_api(request):
    network_support.note("authorization", request.headers.get("Authorization", ""))
    request.answer(200, b"answer of the api\n", "text/plain")


network_support.HOSTS.update({LOGIN: answer_login, API: answer_api})


class Login(WithFolder):
    def setUp(self):
        super().setUp()
        self.write(CONFIG, "home/.config/msp/config.yaml")
        script = AGENT.replace("LOGIN", LOGIN).replace("API", API).replace("PORT", str(PORT))
        self.write("{}", "home/.npm-global/lib/node_modules/seeker/package.json")
        self.write(script, "home/.npm-global/lib/node_modules/seeker/seeker", 0o755)
        os.makedirs(os.path.join(self.folder, "home/.npm-global/bin"))
        os.symlink("../lib/node_modules/seeker/seeker",
                   os.path.join(self.folder, "home/.npm-global/bin/seeker"))
        self.project = os.path.join(self.folder, "project")
        os.makedirs(os.path.join(self.project, ".git"))
        self.socket = os.path.join(self.folder, "s.sock")
        self.addCleanup(self.msp, "destroy", "--all", "--yes")

    def msp(self, *words):
        return msp(words[0], "--socket=" + self.socket, *words[1:], cwd=self.project,
                   env=self.environment())

    def serve(self):
        service = Service(self.socket, env=self.environment())
        self.addCleanup(service.end)
        return service

    def start_login(self, *options):
        return Terminal(words=["agent", *LIMITS, "--socket=" + self.socket, *options, "seeker",
                               "--login"], cwd=self.project,
                        environment=self.environment(MSP_STATE_DIR=""))

    def browse(self, address):
        """As a browser: follow the page's way, until somebody listens at its end."""
        context = ssl.create_default_context(cadata=network_support.certificate())
        said = []

        def is_answered():
            try:
                with urllib.request.urlopen(address, timeout=20, context=context) as answer:
                    said.append(answer.read().decode())
            except (urllib.error.URLError, ConnectionError):
                return False
            return True

        self.assertTrue(support.wait_until(is_answered, SECONDS, 0.2))
        return said[0]

    def test_the_callback_reaches_the_agent(self):
        self.serve()
        terminal = self.start_login()
        shown = terminal.read_until(b"/callback").decode()
        self.assertIn(f"port {PORT} of this machine, which leads to the agent", shown)
        page = self.browse(re.search(r"https://\S+", shown).group())
        self.assertEqual(page, "You can close this page.\n")
        terminal.read_until(b"logged in")
        self.assertEqual(terminal.end()[0], 0)
        with self.assertRaises(ConnectionRefusedError), \
                socket.create_connection(("127.0.0.1", PORT), timeout=5):
            pass
        result = self.msp("agent", *LIMITS, "seeker")
        self.assertEqual((result.returncode, result.stdout), (0, "answer of the api\n"),
                         result.stderr)
        self.assertEqual(asked("authorization")[-1], "Bearer " + TOKEN)

    def check_refusal(self, terminal, text):
        shown = re.sub(r"\s+", " ", terminal.read_until(b"/callback").decode())
        self.assertIn(text, shown)
        terminal.type(b"\x03")
        terminal.end()

    def test_a_port_that_is_taken(self):
        self.serve()
        with socket.create_server(("127.0.0.1", PORT)):
            self.check_refusal(self.start_login(), f"port {PORT} of this machine: Address already "
                               "in use")

    def test_without_a_service(self):
        self.check_refusal(self.start_login("--standalone"), "through the user's service alone: "
                           "'msp setup' starts one. A login by a code needs none")

    def test_msp_is_killed(self):
        """No bridge stays, and the agent goes on."""
        service = self.serve()
        terminal = self.start_login()
        terminal.read_until(b"/callback")
        self.assertTrue(support.wait_until(self.listens, SECONDS))
        terminal.process.send_signal(signal.SIGKILL)
        terminal.end()
        self.assertTrue(support.wait_until(lambda: not self.listens(), SECONDS))
        self.assertEqual(len(service.find("seeker\0login")), 1)

    def listens(self):
        with open("/proc/net/tcp", encoding="ascii") as file:
            return f"0100007F:{PORT:04X} 00000000:0000 0A" in file.read()


if __name__ == "__main__":
    network_support.main()
