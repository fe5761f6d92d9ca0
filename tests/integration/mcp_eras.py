#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Both eras of the protocol through the real server, and what their answers must carry."""
import json
import unittest

import support

PREFIX = "io.modelcontextprotocol/"
MODERN = {PREFIX + "protocolVersion": "2026-07-28", PREFIX + "clientCapabilities": {},
          PREFIX + "clientInfo": {"name": "tests", "version": "1"}}
# The same in both eras; what never changes is not said to.
CAPABILITIES = {"tools": {"listChanged": True}, "prompts": {},
                "resources": {"listChanged": True, "subscribe": True}, "completions": {},
                "logging": {}}

# Each tool with what its annotations say: does it only read, is twice the same as once; may it
# destroy what is not its own to.
TOOLS = {"run_command": (False, False), "run_code": (False, False), "read_output": (True, False),
         "send_input": (False, False), "kill_execution": (False, False),
         "list_sandboxes": (True, True), "create_sandbox": (False, False),
         "destroy_sandbox": (False, False), "checkpoint": (False, False),
         "diff_changes": (True, True), "preview_changes": (True, True),
         "apply_changes": (False, False),
         "read_sandbox_file": (True, True), "write_sandbox_file": (False, False),
         "patch_sandbox_files": (False, False), "list_sandbox_files": (True, True),
         "import_files": (False, False), "explain_policy": (True, True)}
DESTRUCTIVE = ("destroy_sandbox", "apply_changes")
# Parameters that no text explains where the name, or run_command's row, says it.
PLAIN = {"handle", "env", "args", "language", "stdin", "interactive", "yield_ms", "timeout_ms",
         "profile", "sandbox", "wait_ms", "max_bytes", "limit", "data", "tty_rows", "tty_columns"}
# Tools that agents bring themselves: a model that has two of one name takes the wrong one.
CLIENTS_OWN = {
    "Codex": {"exec_command", "write_stdin", "apply_patch", "update_plan", "view_image", "shell",
              "web_search", "request_user_input", "read_file", "list_dir", "grep_files"},
    "Claude Code": {"Bash", "Read", "Write", "Edit", "Glob", "Grep", "Task", "WebFetch"},
    "Gemini CLI, Qwen Code": {"read_file", "write_file", "read_many_files", "replace", "edit", "glob",
                              "list_directory", "grep_search", "search_file_content",
                              "run_shell_command", "read_background_output", "save_memory"},
    "opencode": {"bash", "read", "write", "edit", "patch", "list", "glob", "grep", "todowrite"},
    "others": {"list_files", "execute_command", "write_to_file", "replace_in_file",
               "search_files"}}
# What a session of a model pays for: 4,000 tokens (o200k) have about 16,800 bytes of this text.
MODEL_BYTES = 16800
# Whose results are data.


class Eras(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = support.Server()

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def expect_error(self, code, method, params=None):
        with self.assertRaises(support.RpcError) as caught:
            self.server.request(method, params)
        self.assertEqual(caught.exception.code, code, method)
        return caught.exception

    def check_tools(self, tools):
        self.assertEqual([tool["name"] for tool in tools], list(TOOLS))
        for tool in tools:
            self.assertRegex(tool["name"], r"^[A-Za-z0-9_-]{1,64}$")
            self.assertGreaterEqual(tool["description"].count(". "), 1)
            schema = tool["inputSchema"]
            self.assertEqual((schema["type"], schema["additionalProperties"]), ("object", False))
            for name, entry in schema["properties"].items():
                self.assertIn(entry["type"], ("string", "array", "object", "integer", "boolean"),
                              name)
                self.assertTrue(entry.get("description", name in PLAIN), name)
            self.assertLessEqual(set(schema.get("required", [])), set(schema["properties"]))
            is_read_only, is_idempotent = TOOLS[tool["name"]]
            self.assertEqual(tool["annotations"],
                             {"readOnlyHint": is_read_only,
                              "destructiveHint": tool["name"] in DESTRUCTIVE,
                              "idempotentHint": is_idempotent, "openWorldHint": False})

    def test_the_price_of_the_tools(self):
        """The name, description and schema of each tool, and the instructions."""
        told = self.server.initialize("2025-11-25")["instructions"]
        tools = self.server.request("tools/list")["tools"]
        parts = [{key: tool[key] for key in ("name", "description", "inputSchema")}
                 for tool in tools]
        text = json.dumps(parts, separators=(",", ":"), ensure_ascii=False) + told
        self.assertLessEqual(len(text.encode()), MODEL_BYTES)
        self.assertGreater(len(text.encode()), MODEL_BYTES / 2, "the bound says something")

    def test_no_tool_has_the_name_of_a_clients_own(self):
        names = {tool["name"] for tool in self.server.request("tools/list")["tools"]}
        for client, own in CLIENTS_OWN.items():
            self.assertFalse(names & own, client)

    def check_modern(self, result):
        self.assertEqual(result["resultType"], "complete")
        self.assertEqual(result["_meta"][PREFIX + "serverInfo"]["name"], "msp")
        self.assertTrue(result["_meta"][PREFIX + "serverInfo"]["version"])

    def check_cached(self, result):
        self.assertGreaterEqual(result["ttlMs"], 0)
        self.assertIn(result["cacheScope"], ("public", "private"))

    def check_call(self, result, text):
        self.assertEqual([part["type"] for part in result["content"]], ["text"])
        self.assertTrue(result["content"][0]["text"].startswith(text))
        self.assertFalse(result["isError"])
        self.assertNotIn("structuredContent", result)
        facts = result["_meta"]["msp/execution"]
        self.assertEqual((facts["verdict"], facts["exit_code"]), ("exited", 0))
        self.assertEqual(facts["stdout_bytes"], len(text) + 1)

    def test_legacy_session(self):
        for version in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"):
            result = self.server.initialize(version)
            self.assertEqual(result["protocolVersion"], version)
            self.assertEqual(result["capabilities"], CAPABILITIES)
            self.assertEqual(result["serverInfo"]["name"], "msp")
            for word in ("run_command", "run_code", "no network"):
                self.assertIn(word, result["instructions"])
            tools = self.server.request("tools/list")
            self.assertEqual(set(tools), {"tools"})
            self.check_tools(tools["tools"])
            self.check_call(self.server.call("run_command", command="echo legacy"), "legacy")

    def test_other_versions(self):
        for version in ("2026-07-28", "1999-01-01", ""):
            self.assertEqual(self.server.initialize(version)["protocolVersion"], "2025-11-25")

    def test_modern_session(self):
        result = self.server.request("server/discover", {"_meta": MODERN})
        self.check_modern(result)
        self.check_cached(result)
        self.assertEqual(result["supportedVersions"], ["2026-07-28"])
        self.assertEqual(result["capabilities"],
                         CAPABILITIES | {"extensions": {"io.modelcontextprotocol/tasks": {}}})
        self.assertIn("run_code", result["instructions"])
        result = self.server.request("tools/list", {"_meta": MODERN})
        self.check_modern(result)
        self.check_cached(result)
        self.check_tools(result["tools"])
        result = self.server.request("tools/call", {
            "_meta": dict(MODERN, progressToken="p"), "name": "run_code",
            "arguments": {"language": "python", "code": "print(6*7)"}})
        self.check_modern(result)
        self.check_call(result, "42")

    def test_what_the_modern_era_removed(self):
        for method in ("initialize", "ping", "logging/setLevel", "resources/subscribe"):
            self.expect_error(-32601, method, {"_meta": MODERN})
        self.assertEqual(self.server.request("ping"), {})

    def test_claims_that_are_not_whole(self):
        for key in (PREFIX + "protocolVersion", PREFIX + "clientCapabilities"):
            meta = {name: value for name, value in MODERN.items() if name != key}
            self.expect_error(-32602, "tools/list", {"_meta": meta})
            self.expect_error(-32602, "tools/list", {"_meta": dict(MODERN, **{key: 7})})

    def test_version_not_supported(self):
        for version in ("2099-01-01", "2025-11-25"):
            error = self.expect_error(-32022, "tools/list", {
                "_meta": dict(MODERN, **{PREFIX + "protocolVersion": version})})
            self.assertEqual(error.data, {"supported": ["2026-07-28"], "requested": version})

    def test_discover_belongs_to_the_modern_era(self):
        self.expect_error(-32601, "server/discover")

    def test_a_list_does_not_vary(self):
        first = self.server.request("tools/list")
        self.server.initialize("2025-06-18")
        self.assertEqual(self.server.request("tools/list"), first)
        with support.Server() as other:
            self.assertEqual(other.request("tools/list"), first)


if __name__ == "__main__":
    unittest.main()
