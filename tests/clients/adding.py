#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`msp client-config --write` with the real Claude Code, Codex and Gemini CLI: what their own commands
write is what `msp client-config` prints, and a second time is told."""
import glob
import json
import os
import subprocess
import sys
import tempfile
import tomllib
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

import packages  # noqa: E402
import support  # noqa: E402

HTTP = "--http=http://127.0.0.1:8765/mcp"
SECONDS = 120


def setUpModule():
    try:
        packages.folder()
        packages.folder(packages.AGENTS)
    except packages.Unreachable as error:
        raise unittest.SkipTest(str(error)) from error


class Adding(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir="/var/tmp")  # Codex refuses a home below /tmp
        self.addCleanup(folder.cleanup)
        self.home = os.path.realpath(folder.name)
        for name in ("bin", "project"):
            os.mkdir(os.path.join(self.home, name))
        (codex,) = glob.glob(packages.module("@openai", "codex-linux-x64", "vendor", "*", "bin", "codex",
                                             source=packages.AGENTS))
        self.put("claude", packages.module("@anthropic-ai", "claude-code-linux-x64", "claude",
                                           source=packages.AGENTS))
        self.put("codex", codex)
        self.put("gemini", packages.node(), packages.module("@google", "gemini-cli", "bundle", "gemini.js",
                                                            source=packages.AGENTS))

    def put(self, name, *words):
        path = os.path.join(self.home, "bin", name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nexec " + " ".join(f"'{word}'" for word in words) + ' "$@"\n')
        os.chmod(path, 0o755)

    def config(self, *words, code=0):
        result = subprocess.run(
            [support.MSP, "client-config", *words], capture_output=True, text=True, timeout=SECONDS,
            check=False, stdin=subprocess.DEVNULL, cwd=os.path.join(self.home, "project"),
            env={"HOME": self.home, "PATH": os.path.join(self.home, "bin") + ":/usr/bin:/bin",
                 "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                 "GEMINI_CLI_NO_RELAUNCH": "true"})
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result

    def read(self, path):
        with open(os.path.join(self.home, path), encoding="utf-8") as file:
            text = file.read()
        return (tomllib if path.endswith(".toml") else json).loads(text)

    def add(self, client, path, servers, *options):
        """The server that the client has written, and the printed one."""
        self.config("--write", "--yes", *options, client)
        printed = self.config(*options, client).stdout
        printed = tomllib.loads(printed) if client == "codex" else json.loads(printed)
        return self.read(path)[servers]["msp"], printed[servers]["msp"]

    def test_claude_code(self):
        stdio = [*support.limits(), f"--workspace={self.home}/project"]
        written, printed = self.add("claude", "project/.mcp.json", "mcpServers", *stdio)
        self.assertEqual(written, {"type": "stdio", **printed, "env": {}})
        again = self.config("--write", "--yes", *stdio, "claude", code=70)
        self.assertIn("already exists", again.stderr)
        self.assertIn("claude mcp remove --scope project msp", again.stderr)
        os.unlink(os.path.join(self.home, "project", ".mcp.json"))
        self.assertEqual(*self.add("claude", "project/.mcp.json", "mcpServers", HTTP))

    def test_codex(self):
        self.assertEqual(*self.add("codex", ".codex/config.toml", "mcp_servers", *support.limits(),
                                   f"--workspace={self.home}/project"))
        self.assertEqual(*self.add("codex", ".codex/config.toml", "mcp_servers", HTTP))

    def test_gemini_cli(self):
        self.assertEqual(*self.add("gemini", ".gemini/settings.json", "mcpServers", *support.limits(),
                                   f"--workspace={self.home}/project"))
        written, printed = self.add("gemini", ".gemini/settings.json", "mcpServers", HTTP)
        printed["url"] = printed.pop("httpUrl")
        self.assertEqual(written, {**printed, "type": "http"})


if __name__ == "__main__":
    unittest.main()
