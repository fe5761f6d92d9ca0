#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `msp client-config` tells clients, and how it has their own commands add that."""
import json
import os
import signal
import stat
import subprocess
import tempfile
import unittest

from cli_support import MSP, msp
from cli_tty import Terminal


class Configuration(unittest.TestCase):
    URL = "http://127.0.0.1:8765/mcp"

    def config(self, client, *options):
        result = msp("client-config", "--http=" + self.URL, *options, client)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def test_json_clients(self):
        for client, servers, url, kind, value in (
                ("claude", "mcpServers", "url", "http", "Bearer ${WORD}"),
                ("cursor", "mcpServers", "url", None, "Bearer ${env:WORD}"),
                ("gemini", "mcpServers", "httpUrl", None, "Bearer ${WORD}"),
                ("qwen", "mcpServers", "httpUrl", None, "Bearer ${WORD}"),
                ("opencode", "mcp", "url", "remote", "Bearer {env:WORD}"),
                ("copilot", "mcpServers", "url", "http", "Bearer ${WORD}"),
                ("vscode", "servers", "url", "http", "Bearer ${input:msp-token}")):
            with self.subTest(client=client):
                result = self.config(client, "--token-env=WORD")
                whole = json.loads(result.stdout)
                server = whole[servers]["msp"]
                self.assertEqual(server[url], self.URL)
                self.assertEqual(server.get("type"), kind)
                self.assertEqual(server["headers"], {"Authorization": value})
                self.assertNotIn("command", server)
                inputs = whole.get("inputs", [])
                self.assertEqual([(row["id"], row["password"]) for row in inputs],
                                 [("msp-token", True)] if client == "vscode" else [])

    def test_codex(self):
        self.assertEqual(self.config("codex").stdout,
                         f'[mcp_servers.msp]\nurl = "{self.URL}"\n'
                         'bearer_token_env_var = "MSP_TOKEN"\n')

    def test_a_unix_socket(self):
        url = "unix:///run/user/1000/msp/http.sock#/mcp"
        result = msp("client-config", "--http=" + url, "vscode")
        self.assertEqual(json.loads(result.stdout),
                         {"servers": {"msp": {"type": "http", "url": url}}})
        self.assertEqual(msp("client-config", "--http=" + url, "codex").returncode, 64)

    def test_wrong(self):
        for options in (["--http=127.0.0.1:1"], ["--http=http://a b"], ['--http=http://a"b'],
                        ["--token-env=A"], ["--http=" + self.URL, "--token-env=1A"],
                        ["--http=" + self.URL, "--token-env=msp_a-b"],
                        ["--http=" + self.URL, "--limits=fallback"]):
            with self.subTest(options=options):
                result = msp("client-config", *options, "claude")
                self.assertEqual((result.returncode, result.stdout), (64, ""), result.stderr)


# Add a server that the client starts, and a running one: the words after the client's program.
SERVE = [os.path.realpath(MSP), "serve", "--limits=fallback"]
URL = "http://127.0.0.1:8765/mcp"
HEADER = "Authorization: Bearer ${MSP_TOKEN}"
USER = ["mcp", "add", "--scope", "user"]
ADDED = {
    "claude": (["mcp", "add", "--scope", "project", "msp", "--", *SERVE],
               ["mcp", "add", "--scope", "project", "--transport", "http", "msp", URL, "--header", HEADER]),
    "codex": (["mcp", "add", "msp", "--", *SERVE],
              ["mcp", "add", "msp", "--url", URL, "--bearer-token-env-var", "MSP_TOKEN"]),
    "gemini": ([*USER, "msp", *SERVE], [*USER, "--transport", "http", "msp", URL, "--header", HEADER]),
    "qwen": ([*USER, "msp", *SERVE], [*USER, "--transport", "http", "msp", URL, "--header", HEADER]),
    "opencode": (["mcp", "add", "msp", "--", *SERVE],
                 ["mcp", "add", "msp", "--url", URL, "--header", "Authorization=Bearer {env:MSP_TOKEN}"]),
    "copilot": (["mcp", "add", "msp", "--", *SERVE],
                ["mcp", "add", "--transport", "http", "--header", HEADER, "msp", URL]),
}
CLIENT = """\
#!/usr/bin/python3
import json, os, sys
with open(os.environ["RECORD"], "a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\\n")
print("the client's word")
sys.stdout.flush()
exec(os.environ.get("CLIENT_ENDS", ""))
"""


class Added(unittest.TestCase):
    """--write with clients that record their words. Mostly for a running server, because msp examines
    this machine for one that it shall start."""
    HTTP = "--http=" + URL

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)
        self.bin, self.record = os.path.join(self.folder, "bin"), os.path.join(self.folder, "record")
        os.mkdir(self.bin)
        for name in (*ADDED, "code"):
            self.put_program(os.path.join(self.bin, name))
        self.environment = {**os.environ, "PATH": self.bin + ":/usr/bin:/bin", "RECORD": self.record}

    @staticmethod
    def put_program(path):
        with open(path, "w", encoding="utf-8") as file:
            file.write(CLIENT)
        os.chmod(path, 0o755)

    def write(self, *options, client="claude", code=0, http=True):
        result = msp("client-config", *([self.HTTP] if http else []), "--write", *options, client,
                     cwd=self.folder, env=self.environment)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def words(self):
        """The words of each start of a client."""
        if not os.path.exists(self.record):
            return []
        with open(self.record, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def test_each_client(self):
        for client, (serve, http) in ADDED.items():
            with self.subTest(client=client):
                result = self.write("--yes", client=client)
                self.assertEqual(self.words()[-1], http)
                self.assertIn(f"{self.bin}/{client} mcp add ", result.stdout.splitlines()[0])
                self.assertIn("the client's word\n", result.stdout)
                self.assertIn(f"{client} has the server msp now", result.stderr)
                self.assertIn("in the variable MSP_TOKEN", result.stderr)
                self.write("--yes", "--limits=fallback", client=client, http=False)
                self.assertEqual(self.words()[-1], serve)

    def test_the_shown_command_is_the_one_that_is_run(self):
        result = self.write("--yes", "--token-env=WORD")
        shown = result.stdout.splitlines()[0]
        self.assertIn("'Authorization: Bearer ${WORD}'", shown)
        again = subprocess.run(["sh", "-c", shown], env=self.environment, capture_output=True, check=True)
        self.assertEqual(again.stdout, b"the client's word\n")
        self.assertEqual(*self.words())

    def test_visual_studio_code(self):
        self.write("--yes", client="vscode")
        option, word = self.words()[-1]
        server = json.loads(word)
        self.assertEqual(option, "--add-mcp")
        self.assertEqual({name: server[name] for name in ("name", "type", "url")},
                         {"name": "msp", "type": "http", "url": URL})
        self.assertEqual([row["id"] for row in server["inputs"]], ["msp-token"])
        self.write("--yes", "--limits=fallback", client="vscode", http=False)
        self.assertEqual(json.loads(self.words()[-1][1]),
                         {"name": "msp", "type": "stdio", "command": SERVE[0], "args": SERVE[1:]})

    def test_no_shell(self):
        project = os.path.join(self.folder, "$(touch here) 'b' ;")
        os.mkdir(project)
        self.write("--yes", f"--workspace={project}", client="codex", http=False)
        self.assertEqual(self.words()[-1][-1], f"--workspace={project}")
        self.assertFalse(os.path.exists(os.path.join(self.folder, "here")))

    def test_a_server_of_the_same_name(self):
        self.assertIn("if codex has a server msp already, this replaces it",
                      self.write("--yes", client="codex").stderr)
        self.environment["CLIENT_ENDS"] = "sys.exit(3)"
        result = self.write("--yes", code=70)
        self.assertIn("claude has not added the server msp: exit code 3", result.stderr)
        self.assertIn("remove that first: claude mcp remove --scope project msp", result.stderr)
        self.assertNotIn("has the server msp now", result.stderr)
        self.assertIn("the text for its file is printed", self.write("--yes", client="codex", code=70).stderr)

    def test_a_client_that_is_killed(self):
        self.environment["CLIENT_ENDS"] = f"os.kill(os.getpid(), {int(signal.SIGKILL)})"
        self.assertIn("ended by signal 9", self.write("--yes", code=70).stderr)

    def refuse(self, says, client="claude"):
        result = self.write("--yes", client=client, code=78)
        self.assertIn("nothing was added: " + says, result.stderr)
        self.assertIn("this belongs into", result.stderr)
        self.assertEqual(result.stdout, msp("client-config", self.HTTP, client).stdout)
        self.assertEqual(self.words(), [])

    def test_no_program(self):
        self.refuse("cursor has no command that adds a server", client="cursor")
        os.unlink(os.path.join(self.bin, "claude"))
        self.refuse("there is no program claude in PATH")
        del self.environment["PATH"]
        self.refuse("there is no program codex in PATH", client="codex")

    def test_the_working_directory_is_not_searched(self):
        """A project's own file is not the user's program."""
        self.put_program(os.path.join(self.folder, "claude"))
        os.unlink(os.path.join(self.bin, "claude"))
        for path in (".:/usr/bin", ":/usr/bin", "/usr/bin:", "bin/..:/usr/bin"):
            with self.subTest(path=path):
                self.environment["PATH"] = path
                self.refuse("there is no program claude in PATH")
        self.environment["PATH"] = self.folder
        os.chmod(os.path.join(self.folder, "claude"), stat.S_IRUSR)
        self.refuse("there is no program claude in PATH")

    def test_without_a_terminal_it_asks_for_yes(self):
        result = self.write(code=64)
        self.assertIn("claude mcp add", result.stdout)
        self.assertIn("With --yes", result.stderr)
        self.assertEqual(self.words(), [])
        self.assertEqual(msp("client-config", "--yes", "claude").returncode, 64)
        self.assertEqual(msp("client-config", "--write=file", "claude").returncode, 64)

    def test_a_person_answers(self):
        for answer, code, count in ((b"n\n", 1, 0), (b"\x04", 1, 0), (b"y\n", 0, 1)):
            with self.subTest(answer=answer):
                terminal = Terminal(words=["client-config", self.HTTP, "--write", "claude"],
                                    cwd=self.folder, environment=self.environment)
                terminal.read_until(b"[y/N]", seconds=60)
                self.assertEqual(self.words(), [])
                terminal.type(answer)
                self.assertEqual(terminal.end()[0], code)
                self.assertEqual(len(self.words()), count)


if __name__ == "__main__":
    unittest.main()
