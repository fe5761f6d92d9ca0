#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The question of apply_changes, answered as clients were measured or reported to answer it
(docs/clients.md, "The question before an apply"), in the era that each of them speaks. The control
is a client whose user chooses what to apply."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

import agents  # noqa: E402
import persistent_consent  # noqa: E402
import persistent_mcp  # noqa: E402
import support  # noqa: E402

META = agents.META
LEGACY, MODERN = agents.Codex.offers, agents.ClaudeCode.offers
NO_CHOICE = "without one of the offered answers"

# Client, era, its answer (None: it declares no elicitation), and the result's reason.
NOTHING = (
    ("claude -p", MODERN, {"action": "cancel"}, "Nobody answered"),
    ("Claude Code: Enter at a list that is not opened", MODERN,
     persistent_consent.accept("apply nothing"), 'The user chose "apply nothing"'),
    ("Claude Agent SDK without a callback", MODERN, {"action": "decline"}, "The user refused"),
    ("a dialogue that could not be drawn", MODERN, {"action": "accept", "content": None}, NO_CHOICE),
    ("Codex: Deny", LEGACY, {"action": "decline"}, "The user refused"),
    ("Codex: Cancel", LEGACY, {"action": "cancel"}, "Nobody answered"),
    ("Codex: Allow, for a form that it cannot show", LEGACY, {"action": "accept", "content": {}},
     NO_CHOICE),
    ("SDK 1 with a handler that accepts", LEGACY, {"action": "accept"}, NO_CHOICE),
    ("a client that asks True or False", LEGACY,
     {"action": "accept", "content": {"answer": False}}, NO_CHOICE),
    ("Gemini CLI", LEGACY, None, "this client cannot ask (it lacks elicitation)"),
    ("a modern client without elicitation", MODERN, None, "this client cannot ask"),
)
SOMETHING = (
    ("Claude Code", MODERN, persistent_consent.BUT_HELD, ("new\n", False)),
    ("Codex", LEGACY, persistent_consent.EVERYTHING, ("new\n", True)),
)


def setUpModule():
    persistent_mcp.setUpModule()


class Consent(persistent_mcp.Case):
    """The policy `ask`, and a change that the host would execute beside another one."""

    def setUp(self):
        super().setUp()
        self.box = self.create(name="build")
        self.run_in("build", "echo new > README; mkdir .husky; echo x > .husky/pre-commit")

    def on_host(self):
        return self.read("README"), os.path.exists(os.path.join(self.project, ".husky/pre-commit"))

    def apply(self, era, reply):
        self.server.close()
        self.server = persistent_mcp.Client("--workspace", self.project, reply=reply,
                                            env=self.environment)
        self.addCleanup(self.server.close)
        if era == LEGACY:
            self.server.initialize(era)
            return self.call("apply_changes", sandbox="build")
        able = {} if reply is None else {"elicitation": {}}
        params = {"name": "apply_changes", "arguments": {"sandbox": "build"},
                  "_meta": {META + "protocolVersion": era, META + "clientCapabilities": able}}
        result = self.server.request("tools/call", params)
        if result["resultType"] == "input_required":
            result = self.server.request("tools/call", {
                **params, "inputResponses": {"apply": reply},
                "requestState": result["requestState"]})
        return result

    def test_answers_that_apply_nothing(self):
        for client, era, reply, reason in NOTHING:
            with self.subTest(client=client):
                result = self.apply(era, reply)
                self.assertTrue(result["isError"], result)
                text = support.text_of(result)
                self.assertIn("Nothing was applied. ", text)
                self.assertIn(reason, text)
                self.assertIn(f"`msp apply {self.box}`", text)
                self.assertEqual(self.on_host(), ("old\n", False))

    def test_answers_that_apply(self):
        for client, era, reply, expected in SOMETHING:
            with self.subTest(client=client):
                result = self.apply(era, reply)
                self.assertFalse(result["isError"], result)
                self.assertEqual(self.on_host(), expected)

    def test_codex_exec_previews(self):
        """It calls what only reads; the rest is the user's."""
        tools = {tool["name"]: tool["annotations"]
                 for tool in self.server.request("tools/list")["tools"]}
        self.assertTrue(tools["preview_changes"]["readOnlyHint"])
        self.assertTrue(tools["apply_changes"]["destructiveHint"])
        text = self.text("preview_changes", sandbox="build")
        self.assertIn("[preview: 3 changes", text)
        self.assertEqual(self.on_host(), ("old\n", False))


if __name__ == "__main__":
    unittest.main()
