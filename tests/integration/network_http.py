#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests that msp-http reads: rules and secrets of a profile, as a workload and a host see them."""
import base64
import contextlib
import glob
import json
import os
import shutil
import signal
import subprocess
import unittest

import network_support
import support
from cli_support import LIMITS, SECONDS, msp
from config_support import WithFolder
from network_support import asked
from service import Service

VALUE = "sesame-open-0123456789"
ROTATED = "another-value-9876543210"
API, ECHO, PLAIN = "api.example.net", "echo.example.net", "plain.example.net"
CONFIG = """\
profiles:
  - name: net
    extends: default
    network: hosts
    hosts:
      - api.example.net
      - echo.example.net
      - "plain.example.net:80 http"
      - web.example.org
    requests:
      - "GET,POST api.example.net/v1/"
    secrets:
      - {name: API_TOKEN, hosts: [api.example.net, echo.example.net], header: Authorization,
         file: FOLDER/token}
  - name: bounded
    extends: default
    network: hosts
    hosts: [echo.example.net]
    requests: ["GET,POST echo.example.net/"]
    limits: {upload: 1M, download: 1M, connection_idle: 1s}
  - name: broken
    extends: default
    network: hosts
    hosts: [api.example.net]
    secrets:
      - {name: GONE, hosts: [api.example.net], header: X-Key, file: FOLDER/missing}
"""


def _answer_api(request):
    network_support.note("header", request.headers.get("Authorization", ""))
    length = int(request.headers.get("Content-Length", 0))
    network_support.note("body", request.rfile.read(length).decode())
    request.answer(200, b"answer of the api\n", "text/plain")


def _send_back(request, text):
    """What the workload stored, in a chunk of its own, and others behind it."""
    request.send_response(200)
    request.send_header("Transfer-Encoding", "chunked")
    request.end_headers()
    for chunk in (text, b"-" * 9, b"." * 700, b""):
        request.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))


def _move_bytes(request):
    """Take what comes, or send as much; the host's count of it."""
    moved = 0
    try:
        left = int(request.headers.get("Content-Length", 0))
        while left > moved and (data := request.rfile.read1(65536)):
            moved += len(data)
        if request.path == "/flood":
            request.send_response(200)
            request.send_header("Content-Length", str(FLOOD))
            request.end_headers()
            for _ in range(FLOOD // 65536):
                request.wfile.write(b"x" * 65536)
                moved += 65536
        else:
            request.answer(200, b"taken\n")
    except OSError:
        request.close_connection = True
    network_support.note("moved", str(moved))


def _answer_echo(request):
    if request.path.startswith("/store/"):
        return _send_back(request, bytes.fromhex(request.path[7:]))
    if request.path in ("/sink", "/flood"):
        return _move_bytes(request)
    network_support.note("header", request.headers.get("Authorization", ""))
    text = request.headers.get("Authorization", "")
    coded = base64.b64encode(text.encode()).decode()
    return request.answer(200, json.dumps({"said": text, "coded": coded}).encode(),
                          "application/json")


def _answer_plain(request):
    request.answer(200, b"answer in clear\n", "text/plain")


network_support.HOSTS.update({API: _answer_api, ECHO: _answer_echo, PLAIN: _answer_plain})

FETCH = """\
import os, sys, urllib.request, urllib.error
request = urllib.request.Request(sys.argv[2], method=sys.argv[1])
for field in sys.argv[3:]:
    name, _, value = field.partition(": ")
    request.add_header(name, os.path.expandvars(value))
try:
    with urllib.request.urlopen(request, timeout=20) as answer:
        print(answer.status, answer.read().decode(), end="")
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode(), end="")
"""
BEARER = "Authorization: Bearer $API_TOKEN"
FLOOD = 20 << 20
CONNECT = """\
import socket, ssl, sys, time
def connect():
    sock = socket.create_connection((sys.argv[1], 443), timeout=20)
    return ssl.create_default_context().wrap_socket(sock, server_hostname=sys.argv[1])
def ask(sock, line, more=""):
    sock.sendall(f"{line} HTTP/1.1\\r\\nHost: {sys.argv[1]}\\r\\n{more}\\r\\n".encode())
"""
GUESS = CONNECT + """\
for guess in sys.argv[2:]:
    with connect() as sock, sock.makefile("rb") as stream:
        ask(sock, "GET /store/" + guess.encode().hex())
        while stream.readline() != b"\\r\\n":
            pass
        sizes, text = [], b""
        while size := int(stream.readline(), 16):
            text += stream.read(size + 2)[:size]
            sizes.append(size)
        print(sizes, guess.encode() in text)
"""
MOVE = CONNECT + """\
sock, moved = connect(), 0
try:
    if sys.argv[2] == "sink":
        ask(sock, "POST /sink", f"Content-Length: {sys.argv[3]}\\r\\n")
        for _ in range(int(sys.argv[3]) // 65536):
            sock.sendall(b"x" * 65536)
            moved += 65536
        sock.recv(100)
    elif sys.argv[2] == "flood":
        ask(sock, "GET /flood")
        while moved < int(sys.argv[3]) and (data := sock.recv(65536)):
            moved += len(data)
    else:
        moved = len(sock.recv(1))
except OSError:
    pass
print(moved, flush=True)
sys.stdin.read()
"""


class WithRequests(WithFolder):
    def setUp(self):
        super().setUp()
        self.token = self.write_token(VALUE)
        self.config = self.write(CONFIG.replace("FOLDER", self.folder))

    def write_token(self, value, mode=0o600):
        path = os.path.join(self.folder, "token")
        with open(path, "w", encoding="ascii") as file:
            file.write(value + "\n")
        os.chmod(path, mode)
        return path

    def run_in(self, *words, profile="net", options=(), **variables):
        return self.run_msp(*words, options=("--profile", profile, *options),
                            MSP_CONFIG=self.config, **variables)

    def fetch(self, method, url, *fields, **more):
        result = self.run_in("python3", "-c", FETCH, method, url, *fields, **more)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout


class Secrets(WithRequests):
    """The value is in the host's header, and nowhere inside."""

    def check_header(self):
        self.assertEqual(asked("header")[-1], f"Bearer {VALUE}")

    def test_urllib(self):
        self.assertEqual(self.fetch("GET", f"https://{API}/v1/items", BEARER),
                         "200 answer of the api\n")
        self.check_header()

    def test_a_folder_that_is_shown(self):
        shown = os.path.join(self.folder, "shown")
        os.mkdir(shown)
        with open(os.path.join(shown, "fetch.py"), "w", encoding="ascii") as file:
            file.write(FETCH)
        result = self.run_in("python3", "/shown/fetch.py", "GET", f"https://{API}/v1/items", BEARER,
                             options=(f"--ro={shown}:/shown",))
        self.assertEqual((result.returncode, result.stdout), (0, "200 answer of the api\n"),
                         result.stderr)
        self.check_header()

    @unittest.skipUnless(shutil.which("curl"), "curl is not installed")
    def test_curl(self):
        result = self.run_in("sh", "-c", f'curl -sS -H "Authorization: Bearer $API_TOKEN" '
                             f"https://{API}/v1/items -d x=1")
        self.assertEqual((result.returncode, result.stdout), (0, "answer of the api\n"),
                         result.stderr)
        self.check_header()
        self.assertEqual(asked("body")[-1], "x=1")

    @unittest.skipUnless(shutil.which("node"), "node is not installed")
    def test_node(self):
        code = ("fetch(process.argv[1], {headers: {authorization: 'Bearer ' + "
                "process.env.API_TOKEN}}).then(a => a.text()).then(t => process.stdout.write(t))")
        result = self.run_in("node", "-e", code, f"https://{API}/v1/items")
        self.assertEqual((result.returncode, result.stdout), (0, "answer of the api\n"),
                         result.stderr)
        self.check_header()

    @unittest.skipUnless(shutil.which("java"), "java is not installed")
    def test_java(self):
        text = ("class Main { public static void main(String[] a) throws Exception { "
                "var c = new java.net.URL(a[0]).openConnection(); "
                'c.setRequestProperty("Authorization", "Bearer " + '
                'System.getenv("API_TOKEN")); '
                "System.out.print(new String(c.getInputStream().readAllBytes())); } }")
        result = self.run_in("sh", "-c", 'printf %s "$2" >/tmp/Main.java; java /tmp/Main.java "$1"',
                             "sh", f"https://{API}/v1/items", text)
        self.assertEqual((result.returncode, result.stdout), (0, "answer of the api\n"),
                         result.stderr)
        self.check_header()

    def test_basic(self):
        code = ('import base64, os, sys\n'
                'print(base64.b64encode(("me:" + os.environ["API_TOKEN"]).encode()).decode())')
        coded = self.run_in("python3", "-c", code).stdout.strip()
        self.assertEqual(self.fetch("GET", f"https://{API}/v1/items",
                                    f"Authorization: Basic {coded}"), "200 answer of the api\n")
        self.assertEqual(base64.b64decode(asked("header")[-1].split()[1]).decode(),
                         f"me:{VALUE}")

    def test_an_echo_is_redacted(self):
        answer = self.fetch("GET", f"https://{ECHO}/say", BEARER)
        said = json.loads(answer.partition(" ")[2])
        self.assertEqual(asked("header")[-1], f"Bearer {VALUE}")
        self.assertEqual(said["said"], "Bearer msp-API_TOKEN-secret**")  # as long as the value
        self.assertNotIn(VALUE, base64.b64decode(said["coded"] + "===").decode("latin-1"))

    def test_nowhere_inside(self):
        code = ("import glob, os, sys\n"
                "wanted = (sys.argv[1] + sys.argv[2]).encode()\n"
                "paths = [os.path.join(top, name) for place in ('/tmp', '/workspace', '/etc', "
                "'/home', '/dev/shm') for top, _, names in os.walk(place) for name in names]\n"
                "found = [k for k, v in os.environ.items() if wanted.decode() in v]\n"
                "for path in paths + glob.glob('/proc/[0-9]*/environ') + "
                "glob.glob('/proc/[0-9]*/cmdline'):\n"
                "    try:\n"
                "        with open(path, 'rb') as file:\n"
                "            found += [path] if wanted in file.read(1 << 20) else []\n"
                "    except OSError:\n"
                "        continue\n"
                "print(os.environ['API_TOKEN'], len(paths) > 10, found)")
        result = self.run_in("python3", "-c", code, VALUE[:8], VALUE[8:])
        self.assertEqual(result.stdout, "msp-API_TOKEN-secret True []\n", result.stderr)
        self.fetch("GET", f"https://{API}/v1/items", BEARER)
        for path in glob.glob(os.path.join(self.folder, "home", "**"), recursive=True,
                              include_hidden=True):
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    self.assertNotIn(VALUE.encode(), file.read(), path)

    def test_guesses_have_one_size(self):
        """A host gives back what the workload stored: what comes is the same for each guess."""
        guesses = [VALUE[:known - 1] + last for known in (1, 2, 9, len(VALUE) - 1)
                   for last in (VALUE[known - 1], "~")]
        guesses = [guess.rjust(len(VALUE), "z") for guess in guesses]
        result = self.run_in("python3", "-c", GUESS, ECHO, *guesses, VALUE)
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = [row.rsplit(" ", 1) for row in result.stdout.splitlines()]
        self.assertEqual(len({row[0] for row in rows}), 1, rows)
        # The control: the guesses come back, and the value does not.
        self.assertEqual([row[1] for row in rows], ["True"] * len(guesses) + ["False"])

    def test_another_place_is_refused(self):
        for url, field in ((f"https://{API}/v1/x?t=msp-API_TOKEN-secret", "X-A: b"),
                           (f"https://{API}/v1/x", "X-Other: msp-API_TOKEN-secret")):
            with self.subTest(url=url, field=field):
                before = len(asked("header"))
                self.assertEqual(self.fetch("GET", url, field)[:3], "403")
                self.assertEqual(len(asked("header")), before)

    def test_a_host_that_is_not_read(self):
        """The control: what passes unread has the placeholder, and the host's own certificate."""
        answer = self.fetch("GET", "https://web.example.org/x", BEARER)
        self.assertEqual(answer, "200 hello from the server\n")

    def test_a_source_that_cannot_be_read(self):
        self.write_token(VALUE, 0o644)
        result = self.run_in("true")
        self.assertEqual(result.returncode, 78, result.stderr)
        self.assertIn("profile net: secret API_TOKEN: the file", result.stderr)
        self.assertIn("is open to others (mode 0644); chmod 600", result.stderr)
        result = self.run_in("true", profile="broken")
        self.assertEqual(result.returncode, 78, result.stderr)
        self.assertIn("secret GONE: the file", result.stderr)
        self.assertEqual(self.run_in("true", profile="default").returncode, 0)

    def doctor(self):
        result = msp("doctor", "--json", env=self.environment(MSP_CONFIG=self.config))
        row, = (row for row in json.loads(result.stdout)["probes"] if row["name"] == "secrets")
        self.assertNotIn(VALUE, result.stdout)
        return row

    def test_the_doctor_tries_the_sources(self):
        row = self.doctor()
        self.assertEqual(row["status"], "missing")
        self.assertIn("profile broken: secret GONE: the file", row["happened"])
        self.write(CONFIG.replace("FOLDER/missing", self.token).replace("FOLDER", self.folder))
        row = self.doctor()
        self.assertEqual((row["status"], row["happened"]), (
            "ok", "2 have a value; 0 have a command, which 'msp secret check' runs"))


class Requests(WithRequests):
    ROWS = (
        ("GET", f"https://{API}/v1/items", 200), ("POST", f"https://{API}/v1/items", 200),
        ("DELETE", f"https://{API}/v1/items", 403), ("GET", f"https://{API}/v2/items", 403),
        ("GET", f"https://{API}/v1/../v2/items", 403), ("GET", f"https://{API}/v1/%2e%2e/x", 403),
        ("GET", f"https://{ECHO}/anything", 200), ("GET", f"http://{PLAIN}/", 200),
    )

    def test_explain_agrees(self):
        for method, url, status in self.ROWS:
            with self.subTest(method=method, url=url):
                answer = self.fetch(method, url)
                self.assertEqual(answer[:3], str(status), answer)
                self.assertEqual(self.explain(f"request {method} {url}").startswith("allowed"),
                                 status == 200)

    def test_a_refusal_has_the_rule(self):
        answer = self.fetch("DELETE", f"https://{API}/v1/items")
        self.assertIn("requests", answer)
        self.assertIn("DELETE", answer)

    def test_a_refusal_is_counted(self):
        fetch = ["python3", "-c", FETCH + "import time; time.sleep(0.3)\n"]
        for method, count in (("DELETE", 1), ("GET", 0)):
            result = self.run_in(*fetch, method, f"https://{API}/v1/items", options=("--json",))
            denials = [(denial["operation"], denial["target"], denial["count"])
                       for denial in json.loads(result.stdout).get("denials", ())
                       if denial["layer"] == "network" and not denial.get("inferred")]
            self.assertEqual(denials, [("connect", f"{API}:443", 1)] * count, method)

    def test_a_denial_is_recorded(self):
        self.fetch("DELETE", f"https://{API}/v1/items")
        self.fetch("GET", f"https://{API}/v1/x?t=msp-API_TOKEN-secret")
        said = msp("audit", "show", "--json", env=self.environment()).stdout
        lines = [json.loads(line) for line in said.splitlines()]
        reasons = [line["reason"] for line in lines
                   if line["event"] == "denial" and line.get("host") == API]
        self.assertEqual(reasons, ["request", "secret"])
        ends = [line for line in lines if line["event"] == "connection_end"]
        self.assertTrue(all(end["sent"] > 0 and end["received"] > 0 for end in ends), ends)
        self.assertNotIn("/v1/", said)


class Limits(WithRequests):
    """Limits of a profile hold where requests are read."""

    def move(self, profile, way):
        result = self.run_in("python3", "-c", MOVE, ECHO, way, str(FLOOD), profile=profile)
        self.assertEqual(result.returncode, 0, result.stderr)
        return int(result.stdout)

    @contextlib.contextmanager
    def moving(self, profile, way):
        """How many bytes it moved, while its sandbox is there: a run does not wait for records."""
        with subprocess.Popen(
                [support.MSP, "run", "--standalone", *LIMITS, "--profile", profile, "--", "python3", "-c",
                 MOVE, ECHO, way, str(FLOOD)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                env=self.environment(MSP_CONFIG=self.config)) as process:
            yield int(process.stdout.readline())
            process.communicate()
            self.assertEqual(process.returncode, 0)

    def recorded(self, event):
        said = msp("audit", "show", "--json", env=self.environment()).stdout
        return [line["reason"] for line in map(json.loads, said.splitlines())
                if line["event"] == event]

    def await_recorded(self, event, expected):
        self.assertTrue(support.wait_until(lambda: self.recorded(event) == expected),
                        self.recorded(event))

    def test_upload(self):
        before = len(asked("moved"))
        with self.moving("bounded", "sink") as moved:
            self.assertLess(moved, FLOOD)
            self.assertTrue(support.wait_until(lambda: len(asked("moved")) > before))
            self.assertLess(int(asked("moved")[-1]), 2 << 20)
            self.await_recorded("denial", ["limit"])
            self.await_recorded("connection_end", ["limit"])
        self.assertEqual(self.move("net", "sink"), FLOOD, "the control: without a limit")
        self.assertTrue(support.wait_until(lambda: len(asked("moved")) > before + 1))
        self.assertEqual(int(asked("moved")[-1]), FLOOD)

    def test_download(self):
        self.assertLess(self.move("bounded", "flood"), 2 << 20)
        self.assertGreaterEqual(self.move("net", "flood"), FLOOD, "the control")

    def test_idle(self):
        with self.moving("bounded", "wait"):
            self.await_recorded("connection_end", ["idle"])


class Served(WithRequests):
    """By a service that stays: sandboxes of its pool and persistent ones."""

    def begin(self, *options):
        return self.serve("--default-profile", "net", *options, MSP_CONFIG=self.config)

    def call(self, server, url=f"https://{API}/v1/items", **more):
        command = f"python3 -c '{FETCH}' GET {url} '{BEARER}'"
        return support.text_of(server.call("run_command", command=command, **more))

    def test_a_persistent_sandbox(self):
        server = self.begin()
        self.assertFalse(server.call("create_sandbox", name="one").get("isError"))
        for _ in range(2):
            self.assertIn("answer of the api", self.call(server, sandbox="one"))
        self.assertEqual(asked("header")[-1], f"Bearer {VALUE}")

    def test_a_killed_server_of_requests(self):
        server = self.begin()
        self.assertIn("answer of the api", self.call(server))
        pids = support.named(server.process.pid, "msp-http")
        self.assertEqual(len(pids), 2, "the starter and one server")
        os.kill(max(pids), signal.SIGKILL)
        self.assertIn("hello from the server",
                      self.call(server, url="https://web.example.org/"))
        os.kill(min(pids), signal.SIGKILL)
        self.assertTrue(support.wait_until(
            lambda: not set(pids) & set(support.named(server.process.pid, "msp-http"))))

    def test_nowhere_outside(self):
        server = self.begin()
        self.assertIn("answer of the api", self.call(server))
        pids = support.descendants(server.process.pid, with_opener=True, with_ready=True)
        self.assertGreater(len(pids), 5)
        for pid in (server.process.pid, *pids):
            for name in ("cmdline", "environ"):
                try:
                    with open(f"/proc/{pid}/{name}", "rb") as file:
                        self.assertNotIn(VALUE.encode(), file.read(), f"{pid} {name}")
                except OSError:
                    continue


class Reloaded(WithRequests):
    """In the service, whose secrets change."""

    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.folder, "s.sock")
        self.service = Service(self.path, env=self.environment(MSP_CONFIG=self.config))
        self.addCleanup(self.service.end)

    def msp(self, command, *words):
        return msp(command, *LIMITS, "--socket=" + self.path, *words, env=self.environment())

    def said(self, command, *words):
        result = self.msp(command, *words, "--", "python3", "-c", FETCH, "GET",
                          f"https://{API}/v1/items", BEARER)
        self.assertEqual((result.returncode, result.stdout), (0, "200 answer of the api\n"),
                         result.stderr)
        return asked("header")[-1].removeprefix("Bearer ")

    def reload(self, generation):
        os.kill(self.service.process.pid, signal.SIGHUP)
        self.assertTrue(support.wait_until(
            lambda: self.service.status()["policy"]["generation"] == generation, SECONDS))

    def test_rotation(self):
        created = msp("create", "--socket=" + self.path, "--profile", "net", "--name=one",
                      env=self.environment())
        self.assertEqual(created.returncode, 0, created.stderr)
        self.assertEqual(self.said("exec", "one"), VALUE)
        self.assertEqual(self.said("run", "--profile", "net"), VALUE)
        self.write_token(ROTATED)
        self.reload(2)
        self.assertEqual(self.said("run", "--profile", "net"), ROTATED)
        self.assertEqual(self.said("exec", "one"), ROTATED, "a sandbox of the older policy")

    def test_a_source_that_is_lost(self):
        self.assertEqual(self.said("run", "--profile", "net"), VALUE)
        os.unlink(self.token)
        self.reload(2)
        result = self.msp("run", "--profile", "net", "--", "true")
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(self.msp("run", "--profile", "default", "--", "true").returncode, 0)
        self.write_token(ROTATED)
        self.reload(3)
        self.assertEqual(self.said("run", "--profile", "net"), ROTATED)


class Later(WithRequests):
    def test_secrets_that_come_with_a_reload(self):
        """A gateway that began without a profile whose requests are read gets its servers later."""
        path = os.path.join(self.folder, "s.sock")
        live = self.write("profiles:\n  - name: other\n    extends: default\n    network: hosts\n"
                          "    hosts: [web.example.org]\n", "live.yaml")
        service = Service(path, env=self.environment(MSP_CONFIG=live))
        self.addCleanup(service.end)

        def fetch(profile, url, *fields):
            return msp("run", *LIMITS, "--socket=" + path, "--profile", profile, "--", "python3",
                       "-c", FETCH, "GET", url, *fields, env=self.environment())
        result = fetch("other", "https://web.example.org/")
        self.assertEqual(result.stdout, "200 hello from the server\n", result.stderr)
        self.write(CONFIG.replace("FOLDER", self.folder), "live.yaml")
        os.kill(service.process.pid, signal.SIGHUP)
        self.assertTrue(support.wait_until(
            lambda: service.status()["policy"]["generation"] == 2, SECONDS))
        result = fetch("net", f"https://{API}/v1/items", BEARER)
        self.assertEqual(result.stdout, "200 answer of the api\n", result.stderr)
        self.assertEqual(asked("header")[-1], f"Bearer {VALUE}")

    def test_the_first_policy_had_no_hosts(self):
        """Secrets wait for the first gateway, which begins after them."""
        path = os.path.join(self.folder, "s.sock")
        service = Service(path, env=self.environment(MSP_CONFIG=self.write("{}\n", "live.yaml")))
        self.addCleanup(service.end)
        self.write(CONFIG.replace("FOLDER", self.folder), "live.yaml")
        for generation in (2, 3):
            os.kill(service.process.pid, signal.SIGHUP)
            self.assertTrue(support.wait_until(
                lambda: service.status()["policy"]["generation"] == generation, SECONDS))
            result = msp("run", *LIMITS, "--socket=" + path, "--profile", "net", "--", "python3",
                         "-c", FETCH, "GET", f"https://{API}/v1/items", BEARER,
                         env=self.environment())
            self.assertEqual(result.stdout, "200 answer of the api\n", result.stderr)
            self.assertEqual(asked("header")[-1], f"Bearer {VALUE}")


if __name__ == "__main__":
    network_support.main()
