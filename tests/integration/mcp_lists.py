#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The lists of the product's own mode: the same in both eras but for what an era itself adds, the
same on every connection, over both transports, and whole over all pages."""
import unittest

import http_support
import support

PREFIX = "io.modelcontextprotocol/"
MODERN = {PREFIX + "protocolVersion": "2026-07-28", PREFIX + "clientCapabilities": {}}
# What the modern era adds to a list's result; the list itself is no part of it.
ERA_MEMBERS = {"resultType", "ttlMs", "cacheScope", "_meta"}
LISTS = {"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources",
         "resources/templates/list": "resourceTemplates"}
# The capability without which a server has no such list.
CAPABILITY = {"tools/list": "tools", "prompts/list": "prompts"}
LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


def ask(server, method, is_modern, cursor=None):
    params = {"_meta": MODERN} if is_modern else {}
    if cursor is not None:
        params["cursor"] = cursor
    return server.request(method, params)


def pages(server, method, is_modern):
    """Each page's result."""
    found, cursor = [], None
    while True:
        found.append(ask(server, method, is_modern, cursor))
        cursor = found[-1].get("nextCursor")
        if cursor is None:
            return found


class Lists(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = support.Server()
        capabilities = cls.server.initialize()["capabilities"]
        cls.methods = [method for method in LISTS
                       if CAPABILITY.get(method, "resources") in capabilities]

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def test_there_are_tools(self):
        self.assertIn("tools/list", self.methods)
        self.assertTrue(ask(self.server, "tools/list", False)["tools"])

    def test_both_eras_have_the_same(self):
        for method in self.methods:
            with self.subTest(method=method):
                legacy, modern = (pages(self.server, method, era) for era in (False, True))
                self.assertEqual(len(legacy), len(modern))
                for old, new in zip(legacy, modern):
                    self.assertEqual(set(old) & ERA_MEMBERS, set())
                    self.assertEqual(set(new) & ERA_MEMBERS, ERA_MEMBERS)
                    self.assertEqual({key: value for key, value in new.items()
                                      if key not in ERA_MEMBERS}, old)
                    self.assertEqual(list(new[LISTS[method]]), old[LISTS[method]], "the order too")

    def test_every_revision_has_the_same(self):
        expected = {method: pages(self.server, method, False) for method in self.methods}
        for version in LEGACY:
            with self.subTest(version=version), support.Server() as other:
                other.initialize(version)
                for method in self.methods:
                    self.assertEqual(pages(other, method, False), expected[method])

    def test_nothing_said_before_changes_them(self):
        expected = {method: ask(self.server, method, True) for method in self.methods}
        with support.Server() as other:
            for method in self.methods:  # without a handshake
                self.assertEqual(ask(other, method, True), expected[method])
            other.initialize("2024-11-05")
            other.notify("notifications/roots/list_changed")
            other.call("run_command", command="true")
            for method in reversed(self.methods):
                self.assertEqual(ask(other, method, True), expected[method])

    def test_http_has_the_same(self):
        with http_support.HttpServer() as server:
            for client, era in ((http_support.LegacyClient(server), False),
                                (http_support.ModernClient(server), True)):
                say = client.say if era else client.post
                for method in self.methods:
                    with self.subTest(method=method, era=era):
                        answer = say(client.message(method))
                        self.assertEqual(answer.status, 200)
                        self.assertEqual(answer.messages()[-1]["result"],
                                         ask(self.server, method, era))
                client.close()

    def test_names_come_once(self):
        for method, key in LISTS.items():
            if method in self.methods:
                entries = [entry for page in pages(self.server, method, False)
                           for entry in page[key]]
                names = [entry.get("uri") or entry.get("uriTemplate") or entry["name"]
                         for entry in entries]
                self.assertEqual(len(names), len(set(names)), names)

    def test_the_product_has_no_fixtures(self):
        """What conformance tests need is in a build of its own."""
        for method, key in LISTS.items():
            if method in self.methods:
                for page in pages(self.server, method, False):
                    for entry in page[key]:
                        self.assertNotRegex(str(entry.get("uri", "")) + entry["name"], r"\btest")


if __name__ == "__main__":
    unittest.main()
