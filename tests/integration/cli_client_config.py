#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `msp client-config --http` has clients do to reach a server that runs."""
import json
import unittest

from cli_support import msp


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


if __name__ == "__main__":
    unittest.main()
