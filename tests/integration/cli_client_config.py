#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `msp client-config` tells clients, and how it adds that to their own files."""
import json
import os
import resource
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

    def test_claudes_own_command(self):
        self.assertIn(f"claude mcp add --scope project --transport http msp '{self.URL}' --header "
                      "'Authorization: Bearer ${MSP_TOKEN}'", self.config("claude").stderr)

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


class Written(unittest.TestCase):
    """--write in a project of its own, with a home of its own. For a running server, because msp
    examines this machine for one that it shall start."""
    HTTP = "--http=http://127.0.0.1:8765/mcp"

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = os.path.realpath(folder.name)
        self.project = os.path.join(self.home, "project")
        os.mkdir(self.project)
        self.path = os.path.join(self.project, ".mcp.json")
        self.environment = {**os.environ, "HOME": self.home}
        self.environment.pop("CODEX_HOME", None)

    def write(self, *options, client="claude", code=0, **keywords):
        result = msp("client-config", self.HTTP, "--write", *options, client, cwd=self.project,
                     env=self.environment, **keywords)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def put(self, text):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)

    def text(self, path=None):
        with open(path or self.path, encoding="utf-8") as file:
            return file.read()

    def server(self):
        return json.loads(self.text())["mcpServers"]["msp"]

    def test_each_client(self):
        for client, path in (("claude", "project/.mcp.json"), ("codex", ".codex/config.toml"),
                             ("cursor", ".cursor/mcp.json"), ("gemini", ".gemini/settings.json"),
                             ("vscode", "project/.vscode/mcp.json")):
            with self.subTest(client=client):
                path = os.path.join(self.home, path)
                result = self.write("--yes", client=client)
                self.assertIn(f"+++ {path}\n", result.stdout)
                self.assertEqual(self.text(path), msp("client-config", self.HTTP, client).stdout)
                self.assertEqual(os.listdir(os.path.dirname(path)).count(os.path.basename(path)), 1)
                result = self.write(client=client)
                self.assertEqual(result.stdout, "")
                self.assertIn("has the server msp already", result.stderr)

    def test_a_place_of_ones_own(self):
        self.environment["CODEX_HOME"] = os.path.join(self.home, "elsewhere")
        self.write("--yes", client="codex")
        self.assertIn("[mcp_servers.msp]", self.text(os.path.join(self.home, "elsewhere",
                                                                  "config.toml")))
        self.path = os.path.join(self.home, "given.json")
        result = msp("client-config", f"--write={self.path}", "--yes", "cursor",
                     env=self.environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.server(), {"command": os.path.realpath(MSP), "args": ["serve"]})

    def test_a_change_is_shown_and_the_rest_is_kept(self):
        self.put('{\n  "z": [1.50, "\\u00e9"],\n  "mcpServers": {\n'
                 '    "msp": {"command": "/old", "args": [], "env": {"A": "b"}}\n  }\n}\n')
        os.chmod(self.path, 0o640)
        result = self.write("--yes")
        self.assertIn('-    "msp": {"command": "/old", "args": [], "env": {"A": "b"}}\n',
                      result.stdout)
        self.assertIn('+      "url": "http://127.0.0.1:8765/mcp",\n', result.stdout)
        self.assertIn('"z": [1.50, "\\u00e9"]', self.text())
        self.assertEqual(self.server()["env"], {"A": "b"})
        self.assertEqual(os.stat(self.path).st_mode & 0o7777, 0o640)

    def test_without_a_terminal_it_asks_for_yes(self):
        result = self.write(code=64)
        self.assertIn('+    "msp": {', result.stdout)
        self.assertIn("With --yes", result.stderr)
        self.assertEqual(os.listdir(self.project), [])
        self.assertEqual(msp("client-config", "--yes", "claude").returncode, 64)

    def ask(self):
        terminal = Terminal(words=["client-config", self.HTTP, "--write", "claude"], cwd=self.project,
                            environment=self.environment)
        terminal.read_until(b"[y/N]", seconds=60)
        return terminal

    def test_a_person_answers(self):
        for answer, code, there in ((b"n\n", 1, []), (b"\x04", 1, []), (b"y\n", 0, [".mcp.json"])):
            with self.subTest(answer=answer):
                terminal = self.ask()
                self.assertEqual(os.listdir(self.project), [])
                terminal.type(answer)
                self.assertEqual(terminal.end()[0], code)
                self.assertEqual(os.listdir(self.project), there)

    def test_a_file_that_changes_meanwhile(self):
        for before, after in (("{}", '{"a": 1}'), (None, "{}")):
            with self.subTest(before=before):
                if before:
                    self.put(before)
                elif os.path.exists(self.path):
                    os.unlink(self.path)
                terminal = self.ask()
                self.put(after)
                terminal.type(b"y\n")
                self.assertEqual(terminal.end()[0], 75)
                self.assertEqual(self.text(), after)
                self.assertEqual(os.listdir(self.project), [".mcp.json"])

    def refuse(self, says, client="claude"):
        result = self.write("--yes", client=client, code=78)
        self.assertRegex(result.stderr, says)
        self.assertEqual(result.stdout, msp("client-config", self.HTTP, client).stdout)

    def test_a_file_for_a_person(self):
        for text, says in (('{\n// mine\n}', "line 2 has a comment"), ("[]", "no JSON object"),
                           ('{"mcpServers": 1}', "no object")):
            with self.subTest(text=text):
                self.put(text)
                self.refuse(says)
                self.assertEqual(self.text(), text)
        os.mkdir(os.path.join(self.home, ".codex"))
        self.path = os.path.join(self.home, ".codex", "config.toml")
        self.put("[mcp_servers.msp]\ncommand = 'other'\n")
        self.refuse("another server msp", client="codex")
        self.assertEqual(self.text(), "[mcp_servers.msp]\ncommand = 'other'\n")

    def test_links(self):
        inside = os.path.join(self.project, "real.json")
        os.symlink("real.json", self.path)
        self.refuse("a link to nothing")
        with open(inside, "w", encoding="utf-8") as file:
            file.write("{}")
        self.write("--yes")
        self.assertEqual(os.readlink(self.path), "real.json")
        self.assertEqual(self.server()["type"], "http")
        os.unlink(self.path)
        outside = os.path.join(self.home, "outside.json")
        os.rename(inside, outside)
        os.symlink(outside, self.path)
        self.put("{}")
        self.refuse("leads out of this directory")
        self.assertEqual(self.text(), "{}")
        os.symlink(self.home, os.path.join(self.project, ".vscode"))
        self.refuse("leads out of this directory", client="vscode")
        os.unlink(self.path)
        os.link(outside, self.path)
        self.refuse("hard links")

    def test_a_full_disk(self):
        self.put("{}")
        result = self.write("--yes", code=70, preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_FSIZE, (10, 10)))
        self.assertIn("cannot be written", result.stderr)
        self.assertEqual((self.text(), os.listdir(self.project)), ("{}", [".mcp.json"]))


if __name__ == "__main__":
    unittest.main()
