#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The client's root as a workspace (`"."`): it stands for a path that the model does not know, and
opens nothing that the operator did not. In both eras, with the real path opener."""
import os
import unittest

import persistent_mcp
import support
from http_support import META, MODERN
from persistent_mcp import setUpModule  # noqa: F401  (unittest calls it)


class Client(persistent_mcp.Client):
    """A client with roots; None: it lacks them."""

    def __init__(self, *options, roots, **keywords):
        super().__init__(*options, **keywords)
        self.roots, self.asked_roots = roots, 0

    def reply_roots(self):
        self.asked_roots += 1
        return {"roots": [{"uri": uri} for uri in self.roots]}

    def initialize(self, version=support.PROTOCOL):
        result = self.request("initialize", {
            "protocolVersion": version, "clientInfo": {"name": "tests", "version": "1"},
            "capabilities": {} if self.roots is None else {"roots": {"listChanged": True}}})
        self.notify("notifications/initialized")
        return result

    def receive(self, timeout=20):
        message = super().receive(timeout)
        if message.get("method") == "roots/list":
            self.send({"jsonrpc": "2.0", "id": message["id"], "result": self.reply_roots()})
        return message


class Roots(persistent_mcp.Case):
    def connect(self, roots, *options, cwd=None):
        self.server.close()
        self.server = Client(*options, roots=roots, env=self.environment, cwd=cwd or self.project)
        self.addCleanup(self.server.close)
        self.server.initialize()

    def uri(self, path):
        return "file://" + path

    def assert_refused(self, *parts, workspace="."):
        text = self.problem("create_sandbox", workspace=workspace)
        for part in parts:
            self.assertIn(part, text)
        self.assertEqual(self.listed(), [])

    def test_an_allowed_root(self):
        self.write("part/file", "in it\n")
        opened = (f"--workspace={self.project}",)
        for path, options, cwd in ((self.project, opened, "/"), (self.project, (), self.project),
                                   (self.project + "/part", opened, "/")):
            with self.subTest(path=path, options=options):
                self.connect([self.uri(path)], *options, cwd=cwd)
                made = self.call("create_sandbox", workspace=".")["structuredContent"]
                self.assertEqual((made["workspace"], made["workspace_mode"]),
                                 (path, "copy-on-write"))
                self.assertEqual(self.server.asked_roots, 1)
                self.assertIn("in it\n", self.run_in(made["id"], "cat part/file file 2>/dev/null"))
                self.text("destroy_sandbox", sandbox=made["id"])

    def test_a_root_opens_nothing(self):
        """The control is above: the same root, where the operator opened it."""
        other = self.make("other")
        self.connect([self.uri(self.project)], f"--workspace={other}")
        self.assert_refused(f"'{self.project}' is refused: it lies in none of the directories that "
                            f"'msp serve --workspace' opened ({other})")
        for root in ("/", "/etc", os.path.expanduser("~/.ssh"), self.project + "/../other/.."):
            with self.subTest(root=root):
                self.connect([self.uri(root)], f"--workspace={self.project}")
                self.assert_refused("is refused: ")

    def test_a_server_that_was_started_in_the_root_directory(self):
        """As desktop clients start it: the refusal names the cause and the operator's remedy."""
        self.connect([self.uri(self.project)], cwd="/")
        parts = (f"'{self.project}' is refused: no directory of the host is open to requests",
                 "'/', where msp was started, is or holds what no sandbox may see",
                 f"'msp client-config --workspace {self.project} CLIENT'")
        self.assert_refused(*parts)
        self.assert_refused(*parts, workspace=self.project)

    def test_roots_that_do_not_name_one_directory(self):
        other = self.make("other")
        for roots, part in (
                ([self.uri(self.project), self.uri(other)],
                 f'The client has 2 roots: "{self.project}", "{other}". Give one of them'),
                ([], "The client has no root that is a directory"),
                (["https://example.org/", "file://host/p", "file://", "/p"], "has no root that is"),
                (None, "This client has no roots")):
            with self.subTest(roots=roots):
                self.connect(roots, f"--workspace={self.project}")
                self.assert_refused(part)

    def test_nobody_is_asked_without_need(self):
        self.connect([self.uri(self.project)], f"--workspace={self.project}")
        self.create(name="named")
        self.create(name="empty", workspace=None)
        self.assertEqual(self.server.asked_roots, 0)

    def test_the_modern_era(self):
        self.connect([self.uri(self.project)], f"--workspace={self.project}")
        params = {"name": "create_sandbox", "arguments": {"workspace": "."},
                  "_meta": {META + "protocolVersion": MODERN,
                            META + "clientCapabilities": {"roots": {}}}}
        asked = self.server.request("tools/call", params)
        (key, question), = asked["inputRequests"].items()
        self.assertEqual((asked["resultType"], question["method"]),
                         ("input_required", "roots/list"))
        made = self.server.request("tools/call", {
            **params, "inputResponses": {key: self.server.reply_roots()},
            "requestState": asked["requestState"]})
        self.assertEqual(made["structuredContent"]["workspace"], self.project)


if __name__ == "__main__":
    unittest.main()
