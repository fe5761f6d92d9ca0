#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`msp agent`: an agent that is a script in a prefix of npm; its sandbox, its key, its terminal, the
review at its end, and what a person can do wrong."""
import hashlib
import http.server
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
import unittest
import urllib.request

from cli_support import LIMITS, MSP, children
from cli_tty import Terminal
from service import Service
from support import remove_folder, wait_until
from trials import Project, setUpModule  # noqa: F401  (unittest calls it)

KEY = f"sk-planted-{0:08}{os.getpid():08}"

# It does what the variable DO says.
SCRIPT = """\
echo "args: $*"
eval "$DO"
"""
FLAG = "--dangerously-skip-permissions"

# In a shell of the sandbox: everything that it can read, and the processes that it can see. The mark
# itself is in two parts, so that the search does not find its own text.
SEARCH = ("M=planted-; M=sk-${M}00000000; "
          "grep -raslF -e $M /home /workspace /tmp /var /etc /opt /run /srv /dev/shm 2>/dev/null; "
          "grep -alF -e $M /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null; echo searched")

ROW = """\
agents:
  - name: other
    programs: [other-agent]
    hosts: [api.example.org]
    install: npm install -g other-agent
    keys:
      - {name: OTHER_KEY, header: x-api-key, hosts: [api.example.org]}
"""


class Agents(Project):
    def setUp(self):
        super().setUp()
        self.prefix = os.path.join(self.folder, "prefix")
        self.install(self.prefix)
        self.environment.update(PATH=f"{self.prefix}/bin:/usr/bin:/bin", PAGER="cat",
                                ANTHROPIC_API_KEY=KEY)
        for name in ("ANTHROPIC_BASE_URL", "OTHER_KEY"):
            os.environ.pop(name, None)
        self.addCleanup(self.end_agents)

    def end_agents(self):
        commands = [line.split()[0] for line in self.msp("ps").stdout.splitlines()[1:]]
        if commands:
            self.msp("kill", *commands)

    def install(self, prefix, name="claude", line="#!/bin/sh"):
        package = os.path.join(prefix, "lib/node_modules/@fake", name)
        os.makedirs(package)
        os.makedirs(os.path.join(prefix, "bin"), exist_ok=True)
        for path, text in (("package.json", "{}"), ("cli.js", f"{line}\n{SCRIPT}")):
            with open(os.path.join(package, path), "w", encoding="ascii") as file:
                file.write(text)
        os.chmod(os.path.join(package, "cli.js"), 0o755)
        os.symlink(f"../lib/node_modules/@fake/{name}/cli.js", os.path.join(prefix, "bin", name))

    def agent(self, do, *words, name="claude", **keywords):
        return self.good("agent", name, *LIMITS, "--env=DO=" + do, *words, **keywords)

    def begin(self, do):
        """An agent that runs, and has printed "go"."""
        process = subprocess.Popen([MSP, "agent", "claude", *self.OPTIONS, *LIMITS, "--env=DO=" + do],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   stderr=subprocess.DEVNULL, cwd=self.project,
                                   env={**os.environ, **self.environment})
        process.stdout.readline()
        self.assertEqual(process.stdout.readline(), "go\n")
        return process

    def key_files(self):
        """The files of this test's key: others of the account run agents, too."""
        mark = "." + hashlib.sha256(self.environment["ANTHROPIC_API_KEY"].encode()).hexdigest()[:8]
        found = []
        for place in (f"/run/user/{os.getuid()}/msp/keys", f"/dev/shm/msp-{os.getuid()}/keys"):
            if os.path.isdir(place):
                found += [os.path.join(place, name) for name in os.listdir(place) if name.endswith(mark)]
        return found

    def configure(self, text=ROW):
        path = os.path.join(self.folder, "config.yaml")
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(path, 0o600)
        return "--config=" + path


class Headless(Agents):
    def test_a_first_run_and_the_next(self):
        first = self.agent("pwd; cat ~/.claude.json; echo new > made; echo more >> a")
        lines = first.stdout.splitlines()
        self.assertEqual(lines[:2], ["args: " + FLAG, "/workspace"])
        self.assertEqual(json.loads("".join(lines[2:])), {
            "hasCompletedOnboarding": True,
            "customApiKeyResponses": {"approved": ["ROPIC_API_KEY-secret"]},
            "projects": {"/workspace": {"hasTrustDialogAccepted": True}}})
        self.assertIn("claude in a sandbox: this directory copy-on-write, hosts api.anthropic.com",
                      first.stderr)
        self.assertIn("claude's own questions are off", first.stderr)
        self.assertRegex(first.stderr, "2 files changed, kept as \"claude-project\": 'msp agent claude' "
                                       "goes on with it, 'msp diff claude-project' shows")
        self.assertEqual((self.read("a"), sorted(os.listdir(self.project))), ("a\n", ["a", "b"]))
        second = self.agent("cat made; echo > ~/.claude.json", "--", "one", "two words")
        self.assertEqual(second.stdout, f"args: {FLAG} one two words\nnew\n")
        third = self.agent("cat ~/.claude.json")
        self.assertEqual(third.stdout, f"args: {FLAG} --continue\n\n", "its files are its own by then")
        self.assertEqual(self.sandboxes(), ["claude-project"])
        self.good("apply", "claude-project")
        self.assertEqual((self.read("made"), self.read("a")), ("new\n", "a\nmore\n"))

    def test_the_streams_are_passed_on(self):
        result = self.agent("cat; echo wrong >&2; exit 7", input="typed\n", code=7)
        self.assertEqual(result.stdout, f"args: {FLAG}\ntyped\n")
        self.assertTrue(re.search("^wrong$", result.stderr, re.M))

    def test_with_its_own_questions(self):
        self.assertEqual(self.agent("", "--ask").stdout, "args: \n")

    def test_the_key_is_nowhere_inside(self):
        seen = []
        watch = threading.Thread(target=lambda: seen.append(wait_until(self.key_files)))
        watch.start()
        result = self.agent("echo $ANTHROPIC_API_KEY; sleep 0.5; " + SEARCH)
        watch.join()
        self.assertEqual(result.stdout.splitlines(),
                         ["args: " + FLAG, "msp-ANTHROPIC_API_KEY-secret", "searched"])
        self.assertTrue(wait_until(lambda: not self.key_files()), "it goes with the agent")
        for folder, _, names in os.walk(self.environment["MSP_STATE_DIR"]):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    self.assertNotIn(KEY.encode(), file.read(), name)

    def test_the_search_finds_what_is_there(self):
        """The control of the case above."""
        result = self.agent("echo $PLAIN > ~/kept; " + SEARCH, "--env=PLAIN=" + KEY)
        lines = result.stdout.splitlines()[1:]
        self.assertIn("/home/agent/kept", lines)
        self.assertTrue([line for line in lines if line.endswith("/environ")], lines)

    def test_the_file_of_the_key_while_it_runs(self):
        process = self.begin("echo go; read line")
        (path,) = self.key_files()
        for part, mode in ((path, 0o600), (os.path.dirname(path), 0o700)):
            self.assertEqual(stat.S_IMODE(os.stat(part).st_mode), mode)
        with open(path, encoding="ascii") as file:
            self.assertEqual(file.read(), KEY)
        process.kill() # nothing of msp is left to remove it but the process that waits
        process.communicate()
        self.assertTrue(wait_until(lambda: not self.key_files()))
        self.assertEqual(self.agent("echo again").stdout.splitlines()[-1], "again", "the sandbox is there")

    def test_two_agents_on_one_project(self):
        self.install(self.prefix, "other-agent")
        config = self.configure()
        self.agent("echo one > made")
        self.environment["OTHER_KEY"] = "another-secret"
        other = self.agent("echo $OTHER_KEY $ANTHROPIC_API_KEY; echo two > made", config, name="other")
        self.assertEqual(other.stdout, "args: \nmsp-OTHER_KEY-secret\n")
        self.agent("echo three > made", "--name=3rd")
        self.assertEqual(sorted(self.sandboxes()), ["claude-project", "claude-project-3rd", "other-project"])
        for name, text in (("claude-project", "one"), ("other-project", "two"), ("claude-project-3rd", "three")):
            self.assertIn("+" + text, self.good("diff", name, *([config] if "other" in name else [])).stdout)
        status = self.good("agent", "status", config).stdout
        for row in ("claude +claude-project +- +- +1", "claude --name=3rd +claude-project-3rd +- +- +1",
                    "other +other-project +- +- +1"):
            self.assertRegex(status, row)
        self.good("apply", "claude-project")
        refused = self.msp("apply", "claude-project-3rd")
        self.assertIn("conflict", refused.stdout + refused.stderr)

    def test_an_interpreter_of_its_own_prefix(self):
        shutil.rmtree(self.prefix)
        self.install(self.prefix, line="#!/usr/bin/env -S node --flag")
        with open(os.path.join(self.prefix, "bin/node"), "w", encoding="ascii") as file:
            file.write('#!/bin/sh\nshift\necho "node: $0"\nexec sh "$@"\n')
        os.chmod(os.path.join(self.prefix, "bin/node"), 0o755)
        result = self.agent("command -v node")
        self.assertEqual(result.stdout, f"node: {self.prefix}/bin/node\nargs: {FLAG}\n{self.prefix}/bin/node\n")

    def test_a_program_that_moved(self):
        self.agent("echo kept > ~/mine")
        other = os.path.join(self.folder, "other")
        os.rename(self.prefix, other)
        self.environment["PATH"] = f"{other}/bin:/usr/bin:/bin"
        self.assertEqual(self.agent("cat ~/mine").stdout, f"args: {FLAG} --continue\nkept\n")
        self.assertEqual(self.sandboxes(), ["claude-project"])

    def test_another_sandbox_in_its_place(self):
        self.agent("echo one > made")
        result = self.agent("ls", "--new")
        self.assertIn("the sandbox claude-project stays", result.stderr)
        self.assertEqual(result.stdout, f"args: {FLAG}\na\nb\n")
        self.assertEqual(sorted(self.sandboxes()), ["claude-project", "claude-project-2"])
        self.good("destroy", "claude-project-2")
        result = self.agent("ls")
        self.assertIn("is gone, and another one is made", result.stderr)
        self.assertEqual(result.stdout, f"args: {FLAG}\na\nb\n")

    def test_a_directory_of_a_repository(self):
        subprocess.run(["git", "init", "-q", self.project], check=True)
        os.mkdir(os.path.join(self.project, "deep"))
        result = self.agent("pwd; ls ..", cwd=os.path.join(self.project, "deep"))
        self.assertEqual(result.stdout, f"args: {FLAG}\n/workspace/deep\na\nb\ndeep\n")
        self.assertIn(f"claude in a sandbox: {self.project} copy-on-write", result.stderr)

    def test_a_session_that_cannot_be_continued(self):
        self.agent("")
        result = self.agent("exit 1", code=1)
        self.assertIn("its next start here begins a new one", result.stderr)
        self.assertEqual(self.agent("").stdout, f"args: {FLAG}\n")

    def test_the_list(self):
        self.agent("")
        rows = {row["name"]: row for row in json.loads(self.good("agent", "list", "--json").stdout)["agents"]}
        self.assertEqual(rows["claude"]["program"], f"{self.prefix}/bin/claude")
        self.assertEqual((rows["claude"]["key"], rows["claude"]["sandboxes"]),
                         ("ANTHROPIC_API_KEY", "claude-project"))
        self.assertEqual((rows["codex"]["program"], rows["codex"]["install"]),
                         ("", "npm install -g @openai/codex"))
        self.assertRegex(self.good("agent", "list").stdout, r"\ANAME +PROGRAM +KEY +SANDBOXES\n")


class OfTheService(Headless):
    # By options of the file, for which the service is not asked; the service cannot be killed by these.
    test_two_agents_on_one_project = None

    def setUp(self):
        folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(remove_folder, folder)
        self.socket = os.path.join(folder, "s.sock")
        self.service = Service(self.socket, env={**os.environ, "MSP_STATE_DIR": os.path.join(folder, "state")})
        self.addCleanup(self.service.end)
        super().setUp()
        self.environment["MSP_STATE_DIR"] = os.path.join(folder, "state")
        self.OPTIONS = ("--socket", self.socket)

    def test_another_key_for_the_next_run(self):
        """The service reads it anew; each run is in the service's own process."""
        self.agent("echo one")
        self.environment["ANTHROPIC_API_KEY"] = KEY + "-new"
        process = self.begin("echo go; read line")
        (path,) = self.key_files()
        with open(path, encoding="ascii") as file:
            self.assertEqual(file.read(), KEY + "-new")
        self.assertTrue(self.service.find("claude-project") or self.service.find("cli.js") or
                        self.service.find("sh"), "the service runs it")
        self.assertEqual(self.good("exec", *LIMITS, "claude-project", "--", "sh", "-c",
                                   "echo $ANTHROPIC_API_KEY").stdout, "msp-ANTHROPIC_API_KEY-secret\n")
        process.communicate("\n")
        self.assertTrue(wait_until(lambda: not self.key_files()))
        self.assertEqual(self.good("diff", "claude-project").returncode, 0, "without the key")

    def test_a_login_whose_answer_comes_to_a_port(self):
        self.install(self.prefix, "codex")
        server = ("import http.server as h; C = type('C', (h.BaseHTTPRequestHandler,), dict(do_GET=lambda s: "
                  "(s.send_response(200), s.end_headers(), s.wfile.write(s.path.encode())))); "
                  "h.HTTPServer(('127.0.0.1', 1455), C).serve_forever()")
        terminal = Terminal(words=["agent", "codex", "--socket", self.socket, *LIMITS, "--login",
                                   f'--env=DO=sleep 1; python3 -c "{server}" 2>/dev/null & read line; echo over'],
                            cwd=self.project, environment=self.environment)

        def answer():
            try:
                request = urllib.request.Request("http://localhost:1455/auth/callback?code=1",
                                                 headers={"Sec-Fetch-Site": "cross-site"})
                with urllib.request.urlopen(request, timeout=5) as response:
                    return response.read()
            except OSError:
                return b""
        self.assertTrue(wait_until(lambda: answer() == b"/auth/callback?code=1"))
        terminal.type(b"\r")
        terminal.read_until(b"over")
        self.assertEqual(terminal.end()[0], 0)


class Model(Agents):
    """A variable that leads the agent to another server."""

    def test_a_host_of_its_own(self):
        self.environment["ANTHROPIC_BASE_URL"] = "https://api.anthropic.com/v1"
        self.assertEqual(self.agent("echo $ANTHROPIC_BASE_URL").stdout,
                         f"args: {FLAG}\nhttps://api.anthropic.com/v1\n")

    def test_the_port_is_reached_and_no_other(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self): # noqa: N802
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"the model\n")

            def log_message(self, *arguments): # pylint: disable=arguments-differ
                pass

        del self.environment["ANTHROPIC_API_KEY"]
        servers = [http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) for _ in range(2)]
        for server in servers:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.addCleanup(server.server_close)
            self.addCleanup(server.shutdown)
        ports = [server.server_address[1] for server in servers]
        self.environment["ANTHROPIC_BASE_URL"] = f"http://localhost:{ports[0]}/v1"
        fetch = ('f() { python3 -c "import sys, urllib.request as u; print(u.urlopen(sys.argv[1], '
                 'timeout=10).read().decode(), end=str())" $1 2>/dev/null || echo refused; }; ')
        result = self.agent(fetch + f"echo $ANTHROPIC_BASE_URL; f $ANTHROPIC_BASE_URL; "
                                    f"f http://model.local:{ports[1]}/v1")
        if "network" in result.stderr and "cannot" in result.stderr:
            self.skipTest(result.stderr)
        self.assertEqual(result.stdout, f"args: {FLAG}\nhttp://model.local:{ports[0]}/v1\nthe model\nrefused\n")
        self.assertIn(f"the model on port {ports[0]} of this machine", result.stderr)


class InTerminal(Agents):
    def terminal(self, do, *words, **keywords):
        return Terminal(words=["agent", "claude", *LIMITS, "--env=DO=" + do, *words], cwd=self.project,
                        environment=self.environment, **keywords)

    LOOP = 'echo begun; while read line; do echo "got $line"; [ "$line" = end ] && exit 0; done'

    def test_the_review_applies(self):
        terminal = self.terminal("mkdir .husky; echo x > .husky/pre-commit; echo new > made")
        seen = terminal.read_until(b"[apply / keep / discard] ")
        self.assertIn(b"Take over the changes of 2 files into " + self.project.encode(), seen)
        self.assertRegex(seen, rb"held, since a tool of this machine runs it by itself: \.husky/pre-commit")
        self.assertRegex(seen, rb"\+new")
        terminal.type(b"a\n")
        terminal.read_until(b"[y/N] ")
        terminal.type(b"n\n")
        terminal.end()
        self.assertEqual(self.read("made"), "new\n")
        self.assertFalse(os.path.exists(os.path.join(self.project, ".husky/pre-commit")))

    def test_the_review_keeps_and_discards(self):
        for answer, left in ((b"\n", ["claude-project"]), (b"what\n", ["claude-project"]),
                             (b"keep\n", ["claude-project"]), (b"discard\n", [])):
            with self.subTest(answer=answer):
                terminal = self.terminal("echo new >> made")
                terminal.read_until(b"[apply / keep / discard] ")
                terminal.type(answer)
                self.assertEqual(terminal.end()[0], 0)
                self.assertIn(b"kept as" if left else b"the sandbox is gone", terminal.seen)
                self.assertEqual(self.sandboxes(), left)
                self.assertNotIn("made", os.listdir(self.project))
        self.assertNotIn("claude-project", self.good("agent", "list").stdout)

    def test_a_session_that_cannot_be_continued(self):
        self.agent("")
        terminal = self.terminal('[ "$2" ] && exit 1; test -e made || exit 0')
        terminal.read_until(f"args: {FLAG} --continue".encode())
        terminal.read_until(b"could not go on with its session, and begins a new one")
        terminal.read_until(f"args: {FLAG}\r".encode())
        self.assertEqual(terminal.end()[0], 0)
        self.assertEqual(self.agent("").stdout, f"args: {FLAG} --continue\n")

    def test_an_interrupt_is_no_failure(self):
        self.agent("")
        terminal = self.terminal("trap 'exit 130' INT; echo begun; while :; do sleep 0.1; done")
        terminal.read_until(b"begun")
        terminal.type(b"\x03")
        self.assertEqual(terminal.end()[0], 130)
        self.assertEqual(self.agent("").stdout, f"args: {FLAG} --continue\n")

    def test_without_a_change_there_is_no_question(self):
        terminal = self.terminal("test -t 0 && test -t 1 && echo tty $COLORTERM",
                                 term="xterm-256color")
        self.environment["COLORTERM"] = "truecolor"
        self.assertEqual(terminal.end()[0], 0)
        self.assertIn(b"no file changed; kept as", terminal.seen)

    def test_killed_it_goes_on_and_is_attached_again(self):
        terminal = self.terminal(self.LOOP + "; echo never")
        terminal.read_until(b"begun")
        terminal.process.kill()
        terminal.end()
        self.assertRegex(self.good("agent", "list").stdout, r"claude-project \(runs\)")
        self.assertRegex(self.good("agent", "status").stdout,
                         r"claude +claude-project +\w{6} +(\d+ s ago|now) ")
        refused = self.msp("agent", "claude", *LIMITS)
        self.assertEqual(refused.returncode, 75)
        self.assertRegex(refused.stderr, r"'claude' runs here already: .*'msp kill \w{6}' ends it, and "
                                         r"--name=WORD starts a second one")
        self.assertTrue(self.key_files())
        terminal = self.terminal("never used")
        terminal.read_until(b"begun") # drawn again
        terminal.type(b"hello\r")
        terminal.read_until(b"got hello")
        terminal.type(b"end\r")
        self.assertEqual(terminal.end()[0], 0)
        self.assertTrue(wait_until(lambda: not self.key_files()))

    def test_a_killed_keeper_keeps_the_files(self):
        terminal = self.terminal("echo new > made; echo begun; sleep 60")
        terminal.read_until(b"begun")
        (keeper,) = [pid for pid in self.processes("sleep 60")
                     if os.getsid(pid) == pid != terminal.process.pid and children(pid)]
        os.kill(keeper, signal.SIGKILL)
        terminal.read_until(b"[apply / keep / discard] ")
        terminal.type(b"apply\n")
        code, after = terminal.end()
        self.assertEqual((code, after), (125, terminal.before))
        self.assertEqual(self.read("made"), "new\n")

    def processes(self, mark):
        """The processes of msp whose words have this."""
        found = []
        for pid in os.listdir("/proc"):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read()
                if mark.encode() in words and os.readlink(f"/proc/{pid}/exe") == os.path.realpath(MSP):
                    found.append(int(pid))
            except (OSError, ValueError):
                pass
        return found

    def test_left_by_keys(self):
        terminal = self.terminal(self.LOOP)
        terminal.read_until(b"begun")
        terminal.type(b"\x1cd")
        code, after = terminal.end()
        self.assertEqual((code, after), (0, terminal.before))
        self.assertRegex(terminal.seen, rb"claude goes on: 'msp agent claude' attaches to it again, "
                                        rb"'msp kill \w{6}' ends it")


class Wrong(Agents):
    """Each answer has the value, the rule and what helps."""

    def test_wrong_words(self):
        for words, says, code in (
                ([], r"an agent is missing: msp agent AGENT, or 'msp agent list'", 64),
                (["claud"], r"there is no agent 'claud' \(did you mean 'claude'\?\); known are claude, "
                            r"codex.*'agents:' in the configuration adds one", 64),
                (["a\x1b[31mb"], "there is no agent", 64),
                (["codex"], r"codex is not installed: 'codex' is neither on PATH nor where installers put "
                            r"it. To install it: npm install -g @openai/codex", 78),
                (["claude", "--name=a/b"], "must be 1 to 16 letters, digits", 64),
                (["claude", "--name="], "must be 1 to 16 letters, digits", 64),
                (["claude", "--name=" + "x" * 17], "must be 1 to 16 letters, digits", 64),
                (["claude", "--logni"], r"did you mean '--login'", 64),
                (["claude", "--timeout=soon"], "a time such as", 64),
                (["claude", "--json"], "--json is for 'msp agent list'", 64),
                (["claude", "--ask", "--login"], "exclude each other", 64),
                (["claude", "-C", "/nowhere"], "a directory that can be entered", 64),
                (["claude", "-C", "a"], "a directory that can be entered", 64),
                (["claude", "-C", "/"], "/ is no project, but all of this machine: name a directory", 64),
                (["list", "x"], "'x' is one word too many", 64),
                (["list", "--name=x"], "--name, --ask, --login and --new are for the run", 64),
                (["status", "x"], "'x' is one word too many", 64),
                (["claude", "--config=/nowhere"], "/nowhere", 78)):
            with self.subTest(words=words):
                result = self.msp("agent", *words)
                self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)
                self.assertRegex(result.stderr, rf"\Amsp: agent: [^\n]*{says}[^\n]*\n\Z")
                self.assertNotRegex(result.stderr.rstrip("\n"), r"[\x00-\x1f\x7f]")
        self.assertEqual(self.sandboxes(), [])

    def test_the_home_is_no_project(self):
        home = os.path.join(self.folder, "home")
        os.mkdir(home)
        self.environment["HOME"] = home
        self.refused("agent", "claude", cwd=home, says="home is no project, but your home: name a directory")

    def test_no_key(self):
        del self.environment["ANTHROPIC_API_KEY"]
        self.refused("agent", "claude", code=78,
                     says="claude has no key here: set ANTHROPIC_API_KEY, or 'msp agent claude --login'")
        self.environment["ANTHROPIC_API_KEY"] = ""
        self.refused("agent", "claude", code=78, says="claude has no key here")
        self.install(self.prefix, "other-agent")
        self.refused("agent", "other", self.configure(), code=78, says=r"has no key here: set OTHER_KEY\n")

    def test_no_value_of_a_key_is_shown(self):
        for value, says in (("zxcvb", "too short: at least 8"), ("two words of it", "one word"),
                            ("x" * 5000, "too long: at most 4096"), ("line\nend-of-it", "one word")):
            self.environment["ANTHROPIC_API_KEY"] = value
            result = self.good("agent", "claude", *LIMITS, code=78)
            self.assertRegex(result.stderr, "the variable ANTHROPIC_API_KEY holds no key: .*" + says)
            self.assertNotIn(value, result.stderr)

    def test_a_model_elsewhere(self):
        for url in ("https://api.example.org", "http://10.0.0.1:80/", "http://127.0.0.1", "127.0.0.1:80",
                    "http://127.0.0.1:0/", "http://127.0.0.1:70000/", "http://127.0.0.1:80x/",
                    "http://api.anthropic.com", "https://api.anthropic.com.example/",
                    "https://api.anthropic.com:444/"):
            self.environment["ANTHROPIC_BASE_URL"] = url
            self.refused("agent", "claude", says="only a model on this machine can be used")

    def test_a_program_that_may_not_be_shown(self):
        home = os.path.join(self.folder, "home")
        for folder, says in ((".ssh", "holds? |secret|credential|lies inside"), (".config/x", "hidden files")):
            shutil.rmtree(home, ignore_errors=True)
            self.install(os.path.join(home, folder))
            self.environment.update(HOME=home, PATH=f"{home}/{folder}/bin:/usr/bin:/bin")
            self.refused("agent", "claude", code=78, says="which no sandbox may be shown: .*" + says)

    def test_an_interpreter_that_is_missing(self):
        shutil.rmtree(self.prefix)
        self.install(self.prefix, line="#!/usr/bin/env no-such-node")
        self.refused("agent", "claude", code=78, says="but 'no-such-node', which runs it, is not installed")

    def test_a_login_in_a_sandbox_of_a_key(self):
        self.agent("")
        self.refused("agent", "claude", "--login", says="was made for a key, .*--login --new' makes another")

    def test_a_login_is_known_later(self):
        del self.environment["ANTHROPIC_API_KEY"]
        first = self.agent("", "--login")
        self.assertEqual(first.stdout, "args: auth login\n")
        self.assertEqual(self.agent("echo $ANTHROPIC_API_KEY.").stdout, f"args: {FLAG}\n.\n")
        self.assertRegex(self.good("agent", "list").stdout, "claude .* login +claude-project")

    def test_a_sandbox_that_cannot_be_remembered(self):
        os.mkdir(os.path.join(self.environment["MSP_STATE_DIR"], "agents"))
        self.refused("agent", "claude", *LIMITS, code=78,
                     says=r"the sandbox cannot be remembered: .*/agents: Is a directory")
        self.assertEqual(self.sandboxes(), [], "none is left that no start goes on with")

    def test_too_many_sets_of_paths(self):
        folder = os.path.join(self.environment["MSP_STATE_DIR"], "binds")
        os.mkdir(folder, 0o700)
        for number in range(16):
            with open(os.path.join(folder, f"{number:012x}"), "wb") as file:
                file.write(b"default\0/usr/share\0/data%d\0" % number)
        self.refused("agent", "claude", *LIMITS, code=75,
                     says="msp agent: sandboxes that last show 16 different sets of paths already")
        self.assertTrue(wait_until(lambda: not self.key_files()), "the key goes though nothing ran")

    def test_one_that_runs_without_a_terminal(self):
        process = self.begin("echo go; read line")
        self.refused("agent", "claude", *LIMITS, code=75, says="msp has (it|the sandbox|sandbox)")
        process.communicate("\n")
        self.assertEqual(process.returncode, 0)

    def test_a_file_of_lines_that_is_damaged(self):
        self.agent("echo one > made")
        path = os.path.join(self.environment["MSP_STATE_DIR"], "agents")
        with open(path, "r+", encoding="ascii") as file:
            good = file.read()
            file.write("half of a line")
            file.seek(0)
            file.write("x" * 5 + "\n" + "a b c d e f g /x\n" + good + "0" * 26 + " claude - - -")
        self.assertEqual(self.agent("cat made").stdout, f"args: {FLAG} --continue\none\n")


if __name__ == "__main__":
    unittest.main()
