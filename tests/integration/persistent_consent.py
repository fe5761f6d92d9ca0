#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Previews and applies through the real server: what reaches the host, and on whose answer."""
import os
import re
import unittest

import support
from http_support import META, MODERN
from persistent_mcp import HANDLE, Case, setUpModule  # noqa: F401  (unittest calls it)

HOOK = ".husky/pre-commit"


def accept(answer):
    """The reply of a client whose user chose this answer."""
    return {"action": "accept", "content": {"answer": answer}}


EVERYTHING, BUT_HELD = accept("apply everything"), accept("apply all but held")
DECLINE, CANCEL = {"action": "decline"}, {"action": "cancel"}


class Asked(Case):
    """The policy `ask`."""

    def setUp(self):
        super().setUp()
        self.box = self.create(name="build")
        self.run_in("build", "echo new > README; mkdir -p .husky; echo evil > " + HOOK)

    def asked(self, reply, **arguments):
        """apply_changes by a client whose user replies so."""
        self.server.close()
        self.server = self.start(reply)
        return self.call("apply_changes", sandbox="build", **arguments)

    def on_host(self):
        return self.read("README"), os.path.exists(os.path.join(self.project, HOOK))

    def test_a_client_that_cannot_ask(self):
        text = self.problem("apply_changes", sandbox="build")
        self.assertIn(f"`msp apply {self.box}`", text)
        self.assertEqual(self.on_host(), ("old\n", False))

    def test_the_question_says_what_will_be_done(self):
        self.asked(DECLINE)
        (question,) = self.server.asked
        lines = question["message"].split("\n")
        self.assertEqual(lines, [f"Apply 3 changes (+2 -1) to {self.project}?",
                                 f"1 can run by itself: {HOOK}"])
        self.assertLessEqual(max(map(len, lines)), 72)
        self.assertEqual(question["requestedSchema"], {
            "type": "object", "required": ["answer"], "properties": {"answer": {
                "type": "string", "title": "Choose 1 of 3", "default": "apply nothing",
                "description": f"Held: runs or leads out. Review: msp diff {self.box}",
                "enum": ["apply nothing", "apply all but held", "apply everything"]}}})

    def test_answers_that_apply_nothing(self):
        for reply, reason in (
                (DECLINE, "The user refused"), (CANCEL, "Nobody answered"),
                (accept("apply nothing"), 'chose "apply nothing"'),
                ({"action": "accept"}, "without one of the offered answers"),
                ({"action": "accept", "content": {}}, "without one of the offered answers"),
                ({"action": "accept", "content": {"include_held": True}},
                 "without one of the offered answers"),
                (accept("yes"), "without one of the offered answers"),
                (accept(True), "without one of the offered answers"),
                ({"action": "agree"}, "could not ask its user")):
            with self.subTest(reply=reply):
                result = self.asked(reply)
                self.assertTrue(result["isError"], result["content"])
                text = support.text_of(result)
                self.assertIn("Nothing was applied. ", text)
                self.assertIn(reason, text)
                self.assertIn(f"`msp apply {self.box}`", text)
                self.assertEqual(self.on_host(), ("old\n", False))

    def test_answers_that_apply(self):
        for reply, expected in ((BUT_HELD, ("new\n", False)), (EVERYTHING, ("new\n", True))):
            with self.subTest(reply=reply):
                result = self.asked(reply)
                self.assertFalse(result["isError"], result["content"])
                self.assertEqual(self.on_host(), expected)
                self.assertEqual("host-executed, left out" in support.text_of(result),
                                 reply == BUT_HELD)
        self.assertEqual(self.text("diff_changes", sandbox="build"),
                         "[no file differs from the project on the host]")

    def test_chosen_paths(self):
        self.run_in("build", "echo more > other")
        self.assertFalse(self.asked(EVERYTHING, paths=["other"])["isError"])
        self.assertEqual(self.read("other"), "more\n")
        self.assertEqual(self.on_host(), ("old\n", False))

    def preview(self, **arguments):
        return self.text("preview_changes", sandbox="build", **arguments)

    def test_a_preview_asks_nobody(self):
        self.server.close()
        self.server = self.start(DECLINE)
        text = self.preview()
        for part in ("[preview: ", "[host-executed]", "2 held: need the user's consent",
                     "apply_changes asks the user"):
            self.assertIn(part, text)
        self.assertEqual(self.server.asked, [])
        self.assertEqual(self.on_host(), ("old\n", False))

    def test_a_mistyped_path_is_named(self):
        for tool in ("preview_changes", "apply_changes"):
            with self.subTest(tool=tool):
                self.server.close()
                self.server = self.start(EVERYTHING)
                text = self.problem(tool, sandbox="build", paths=["README", "src/mian.c"])
                self.assertIn('There is no change at "src/mian.c": mistyped, or unchanged.', text)
                self.assertEqual(self.server.asked, [])
                self.assertEqual(self.on_host(), ("old\n", False))
        self.assertIn("[preview: 1 change ", self.preview(paths=["README"]))

    def test_a_digest_binds_to_a_preview(self):
        digest, other = (re.search(r"digest ([0-9a-f]{32}) ", self.preview(paths=paths)).group(1)
                         for paths in (["README"], [".husky"]))
        self.assertNotEqual(digest, other)
        self.run_in("build", "echo other > README")
        result = self.asked(EVERYTHING, paths=["README"], digest=digest)
        self.assertIn("not those of this `digest`", support.text_of(result))
        self.assertEqual((self.on_host(), self.server.asked), (("old\n", False), []))
        self.run_in("build", "echo new > README")
        result = self.asked(EVERYTHING, paths=["README"], digest=digest)
        self.assertFalse(result["isError"], result["content"])
        self.assertEqual(self.on_host(), ("new\n", False))

    def test_conflicts(self):
        self.write("README", "theirs\n")
        result = self.asked(EVERYTHING, paths=["README"])
        self.assertIn("1 change in conflict", support.text_of(result))
        self.assertEqual((result["isError"], self.server.asked), (True, []))
        self.assertEqual(self.read("README"), "theirs\n")
        self.asked(EVERYTHING, paths=["README"], conflict="host")
        self.assertEqual(self.read("README"), "theirs\n")
        result = self.asked(EVERYTHING, paths=["README"], conflict="sandbox")
        self.assertFalse(result["isError"], result["content"])
        self.assertIn("1 REPLACES a newer file of the host", self.server.asked[0]["message"])
        self.assertEqual(self.read("README"), "new\n")

    def test_what_runs_is_in_the_way(self):
        self.server.close()
        self.server = self.start(EVERYTHING)
        handle = HANDLE.search(self.run_in("build", "sleep 600", yield_ms=0)).group()
        self.assertIn("An execution in the sandbox", self.problem("apply_changes", sandbox="build"))
        self.text("kill_execution", handle=handle)
        self.assertFalse(self.call("apply_changes", sandbox="build")["isError"])

    def test_the_modern_era(self):
        able = {META + "protocolVersion": MODERN, META + "clientCapabilities": {"elicitation": {}}}
        params = {"name": "apply_changes", "arguments": {"sandbox": "build"}, "_meta": able}
        first = self.server.request("tools/call", params)
        self.assertEqual(first["resultType"], "input_required")
        self.assertIn(HOOK, first["inputRequests"]["apply"]["params"]["message"])
        again = dict(params, inputResponses={"apply": BUT_HELD}, requestState=first["requestState"])
        self.run_in("build", "echo other > README")  # not what was shown
        result = self.server.request("tools/call", again)
        self.assertTrue(result["isError"])
        self.assertIn("differ from the preview", support.text_of(result))
        self.assertEqual(self.on_host(), ("old\n", False))
        first = self.server.request("tools/call", params)
        again["requestState"] = first["requestState"]
        result = self.server.request("tools/call", again)
        self.assertFalse(result["isError"], result["content"])
        self.assertEqual(self.on_host(), ("other\n", False))


class Person(Case):
    """The policy `person`."""
    APPLY = "person"

    def test_no_agent_applies(self):
        box = self.create(name="build")
        self.run_in("build", "echo new > README")
        for reply in (None, EVERYTHING):
            self.server.close()
            self.server = self.start(reply)
            text = self.problem("apply_changes", sandbox="build")
            self.assertIn(f"`msp apply {box}`", text)
            self.assertEqual(self.server.asked, [])
        text = self.text("preview_changes", sandbox="build")
        self.assertIn("[preview: 1 change", text)
        self.assertIn(f"only the user can apply: `msp apply {box}`", text)
        self.assertEqual(self.read("README"), "old\n")


class Agent(Case):
    """The policy `agent`."""
    APPLY = "agent"

    def test_all_but_what_the_host_executes(self):
        box = self.create(name="build")
        self.run_in("build", "echo new > README; mkdir -p .husky; echo evil > " + HOOK)
        text = self.text("apply_changes", sandbox="build")
        self.assertIn("1 host-executed, left out", text)
        self.assertIn(f"`msp undo {box}`", text)
        self.assertEqual(self.read("README"), "new\n")
        self.assertFalse(os.path.exists(os.path.join(self.project, HOOK)))

    def test_an_answer_counts_for_everything(self):
        """A client that can ask: without an answer nothing is applied, not even the rest."""
        self.create(name="build")
        self.run_in("build", "echo new > README; mkdir -p .husky; echo evil > " + HOOK)
        self.server.close()
        self.server = self.start(CANCEL)
        text = self.problem("apply_changes", sandbox="build")
        self.assertIn("Nobody answered", text)
        self.assertIn("not held need no consent: choose them with `paths`", text)
        self.assertEqual(self.read("README"), "old\n")
        self.text("apply_changes", sandbox="build", paths=["README"])
        self.assertEqual((self.read("README"), len(self.server.asked)), ("new\n", 1))


if __name__ == "__main__":
    unittest.main()
