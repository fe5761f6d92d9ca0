#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The profile of an agent, which msp-policy derives for one sandbox: it reaches the hosts of the agent's
row and one port of this machine, its key is nowhere inside, nobody else can name it, and a set that asks
for more opens nothing. The control: the same sandbox with the set as it was."""
import hashlib
import http.server
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import network_support  # noqa: E402
from cli_support import LIMITS, msp  # noqa: E402
from config_support import WithFolder  # noqa: E402
from network_support import asked  # noqa: E402
from support import RpcError, Server, text_of  # noqa: E402

API, LOGIN, OTHER = "api.example.net", "login.example.net", "web.example.org"
MODEL, HIDDEN = 8093, 8094  # ports of this machine's loopback
SERVERS = 16  # as launcher/start/trust.h has it
VALUE = "a-key-of-this-test-0123456789"
SUFFIX = "0123456789ab"
NAME_BYTES, HASH_BYTES = 64, 32  # of a profile's name in a sandbox's record, and at the end of that
CONFIG = f"""\
agents:
  - name: mine
    programs: [mine]
    hosts: [{API}]
    login_hosts: [{LOGIN}]
    keys:
      - {{name: MINE_KEY, header: X-Key, hosts: [{API}]}}
"""
FETCH = """\
import os, sys, urllib.request
for url in sys.argv[1:]:
    request = urllib.request.Request(url)
    request.add_header("X-Key", os.environ.get("MINE_KEY", ""))
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            print(answer.status)
    except OSError as error:
        print("none")
"""


def _answer(request):
    network_support.note("key", request.headers.get("X-Key", ""))
    request.answer(200, b"answer\n", "text/plain")


network_support.HOSTS.update({API: _answer, LOGIN: _answer})


class Here(http.server.BaseHTTPRequestHandler):
    """A server of this machine."""

    def do_GET(self):
        network_support.note("here", self.server.server_address[1])
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def serve_here():
    for port in (MODEL, HIDDEN):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Here)
        threading.Thread(target=server.serve_forever, daemon=True).start()


class WithSet(WithFolder):
    def setUp(self):
        super().setUp()
        self.config = self.write(CONFIG)
        self.key = os.path.join(self.folder, "key")
        with open(self.key, "w", encoding="ascii") as file:
            file.write(VALUE + "\n")
        os.chmod(self.key, 0o600)
        self.state = os.path.join(self.folder, "state")
        os.mkdir(self.state, 0o700)
        os.mkdir(os.path.join(self.state, "binds"), 0o700)

    def msp(self, verb, *words):
        limits = LIMITS if verb in ("run", "exec") else ()
        return msp(verb, *limits, *words,
                   env=self.environment(MSP_STATE_DIR=self.state, MSP_CONFIG=self.config))

    def keep(self, profile, *texts, suffix=SUFFIX):
        """Write a set, as `msp agent` does."""
        path = os.path.join(self.state, "binds", suffix)
        with open(path, "wb") as file:
            file.write(b"".join(text.encode() + b"\0" for text in (profile, *texts)))
        os.chmod(path, 0o600)

    def server(self):
        return Server(env=self.environment(MSP_STATE_DIR=self.state, MSP_CONFIG=self.config))

    def make(self, profile):
        """Make a sandbox of the set, whose name no option and no tool takes: another sandbox's record
        is changed, as only its owner could."""
        result = self.msp("create")
        self.assertEqual(result.returncode, 0, result.stderr)
        sandbox = result.stdout.strip()
        self.addCleanup(self.msp, "destroy", sandbox)
        path = os.path.join(self.state, "sandboxes", sandbox, "meta")
        with open(path, "r+b") as file:
            meta = bytearray(file.read()[:-HASH_BYTES])
            at = meta.index(b"default\0")
            meta[at:at + NAME_BYTES] = f"{profile}+{SUFFIX}".encode().ljust(NAME_BYTES, b"\0")
            file.seek(0)
            file.write(meta + hashlib.sha256(meta).digest())
        return sandbox

    def fetch(self, sandbox, *urls, code=0):
        result = self.msp("exec", sandbox, "--", "python3", "-c", FETCH, *urls)
        self.assertEqual(result.returncode, code, result.stderr)
        return result.stdout.split()


class Reached(WithSet):
    URLS = (f"https://{API}/", f"https://{LOGIN}/", f"http://{OTHER}/", "https://api.anthropic.com/",
            f"http://model.local:{MODEL}/", f"http://model.local:{HIDDEN}/", f"http://127.0.0.1:{HIDDEN}/")

    def reached(self, profile, *texts):
        self.keep(profile, *texts)
        sandbox = self.make(profile)
        before = len(asked("here"))
        answers = self.fetch(sandbox, *self.URLS)
        return [answer == "200" for answer in answers], asked("here")[before:]

    def test_with_a_key(self):
        self.assertEqual(self.reached("agent.mine", self.key, "=MINE_KEY"), ([True] + [False] * 6, []))
        self.assertEqual(asked("key")[-1], VALUE)

    def test_with_a_login_and_a_model(self):
        self.assertEqual(self.reached("agent.mine.login", f"model.local:{MODEL}", "=@host"),
                         ([True, True, False, False, True, False, False], [MODEL]))
        self.assertEqual(asked("key")[-1], "", "no key was given")

    def test_without_hosts(self):
        self.assertEqual(self.reached("agent.mine/none", self.key, "=MINE_KEY",
                                      f"model.local:{MODEL}", "=@host"), ([False] * 7, []))

    def test_the_key_is_nowhere_inside(self):
        self.keep("agent.mine", self.key, "=MINE_KEY")
        sandbox = self.make("agent.mine")
        result = self.msp("exec", sandbox, "--", "sh", "-c",
                          f"env; cat /proc/*/environ {self.key}; ls {self.folder}")
        self.assertIn("MINE_KEY=msp-MINE_KEY-secret", result.stdout)
        self.assertNotIn(VALUE, result.stdout)
        self.assertEqual(self.fetch(sandbox, f"https://{API}/"), ["200"])
        self.assertEqual(asked("key")[-1], VALUE, "the control")

    def test_without_its_file_a_key_is_in_no_request(self):
        """The sandbox can be used after the agent's end, as by `msp exec`."""
        self.keep("agent.mine", self.key, "=MINE_KEY")
        sandbox = self.make("agent.mine")
        os.rename(self.key, self.key + ".away")
        count = len(asked("key"))
        self.assertEqual(self.fetch(sandbox, f"https://{API}/"), ["none"])
        self.assertEqual(len(asked("key")), count, "the host was not asked")
        os.rename(self.key + ".away", self.key)
        self.msp("stop", sandbox)
        self.assertEqual(self.fetch(sandbox, f"https://{API}/"), ["200"])
        self.assertEqual(asked("key")[count:], [VALUE])

    def test_a_key_that_others_can_read_is_in_no_request(self):
        self.keep("agent.mine", self.key, "=MINE_KEY")
        sandbox = self.make("agent.mine")
        os.chmod(self.key, 0o644)
        self.assertEqual(self.fetch(sandbox, f"https://{API}/"), ["none"])


class Widened(WithSet):
    """A set that was changed behind msp's back."""

    def test_it_opens_nothing(self):
        good = ("agent.mine", f"model.local:{MODEL}", "=@host")
        self.keep(*good)
        sandbox = self.make("agent.mine")
        for texts in ((f"{OTHER}:80", "=@host"), ("localhost:80", "=@host"), ("model.local:53", "=@host"),
                      (f"model.local:{MODEL}", "=@host", f"model.local:{HIDDEN}", "=@host"),
                      (self.key, "=OTHER_KEY"), ("/etc/shadow", "/data"), (self.key,)):
            with self.subTest(texts=texts):
                self.keep("agent.mine", *texts)
                result = self.msp("exec", sandbox, "--", "sh", "-c", "echo ran; cat /data")
                self.assertNotEqual(result.returncode, 0)
                self.assertEqual(result.stdout, "")
        self.keep(*good)
        self.assertEqual(self.fetch(sandbox, f"http://model.local:{MODEL}/"), ["200"])


class Many(WithSet):
    """More sets with keys than there are servers that read requests."""

    def keep_many(self, digit):
        for number in range(SERVERS):
            self.keep("agent.mine", self.key, "=MINE_KEY", suffix=f"{number:x}".rjust(12, digit))

    def test_they_stop_nobody_else(self):
        self.keep("agent.mine", self.key, "=MINE_KEY")
        sandbox = self.make("agent.mine")
        self.keep_many("f")
        self.assertEqual(self.fetch(sandbox, f"https://{API}/"), ["200"])
        self.keep_many("0")  # these come before that of the sandbox
        result = self.msp("exec", sandbox, "--", "true")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("too many profiles have secrets or rules of requests", result.stderr)
        self.assertEqual(self.msp("run", "--", "true").returncode, 0)


class Named(WithSet):
    """Requests that name the profile without the sandbox that it was derived for."""
    NAMES = ("agent.mine", "agent.mine.login", "agent.claude", "agent", "agent.mine+000000000000",
             "agent.mine+", f"agent.mine/none+{SUFFIX[:-1]}")

    def test_by_a_person(self):
        self.keep("agent.mine")
        for name in self.NAMES:
            with self.subTest(name=name):
                result = self.msp("run", "--profile", name, "--", "true")
                self.assertEqual(result.returncode, 64, result.stderr)
        for words in (("profile", "list"), ("network", "groups")):
            self.assertNotIn("agent.", self.msp(*words).stdout)
        self.assertEqual(self.fetch(self.make("agent.mine")), [], "the control")

    def test_by_a_client(self):
        """And no refusal, list or hint tells the name."""
        self.keep("agent.mine")
        self.make("agent.mine")
        with self.server() as server:
            server.initialize()
            texts = [str(server.request("tools/list")), str(server.request("resources/list"))]
            for name in self.NAMES:
                try:
                    result = server.call("run_command", argv=["true"], profile=name)
                    self.assertTrue(result.get("isError"), name)
                    texts.append(text_of(result))
                except RpcError as error:
                    texts.append(str(error))
            result = server.call("run_command", command=f"curl -sS https://{API}/; getent hosts {API}")
            texts.append(str(result))
            texts.append(text_of(server.call("explain_policy", operations=[f"connect {API}:443"])))
            self.assertNotIn(SUFFIX, " ".join(texts))
            self.assertTrue(server.call("run_command", argv=["true"],
                                        profile=f"agent.mine+{SUFFIX}").get("isError"), "not even by its name")


if __name__ == "__main__":
    if os.environ.get("MSP_TEST_NETWORK_STAGE") == "inside":
        serve_here()
    network_support.main()
