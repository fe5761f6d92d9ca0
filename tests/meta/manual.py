#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The man pages are well formed and say what the programs' own help says."""
import glob
import os
import re
import shutil
import subprocess
import unittest

import tree

# Commands that a page of their own explains.
OWN_PAGES = {
    "msp-sandbox.1": ("create", "exec", "ps", "attach", "wait", "kill", "bridge", "cp", "list", "logs", "stop", "destroy", "checkpoint",
                      "checkpoints", "rollback", "fork", "forget"),
    "msp-diff.1": ("diff", "apply", "undo"),
    "msp-image.1": ("image", "commit"),
    "msp-vm.1": ("vm",),
    "msp-agent.1": ("agent",),
}
OWN = {command for commands in OWN_PAGES.values() for command in commands}
PAGES = sorted(glob.glob(os.path.join(tree.ROOT, "docs", "man", "*.[1-8]")))
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")


def page_text(name):
    """The page with its mdoc escapes undone, enough to look for options."""
    text = tree.read("docs/man/" + name)
    return re.sub(r"^\.(?:It|Op)?\s*Fl\s+Fl\s+", "--", text.replace("\\-", "-"), flags=re.M)


def page_options(name):
    text = tree.read("docs/man/" + name).replace("\\-", "-")
    options = set(OPTION.findall(text))
    options |= {"-" + option for option in re.findall(r"\bFl\s+(-[a-z][a-z0-9-]*)", text)}
    options |= {"--" + option for option in re.findall(r"\bFl\s+Fl\s+([a-z][a-z0-9-]*)", text)}
    return options


def help_text(*arguments):
    result = subprocess.run([tree.program("msp"), *arguments], capture_output=True, text=True,
                            stdin=subprocess.DEVNULL, timeout=20, check=False)
    return result.stdout + result.stderr


class Pages(unittest.TestCase):
    def test_there_are_pages(self):
        self.assertIn("msp.1", [os.path.basename(page) for page in PAGES])

    def test_mandoc_finds_nothing(self):
        if not shutil.which("mandoc"):
            self.skipTest("mandoc is not installed")
        for page in PAGES:
            with self.subTest(page=os.path.basename(page)):
                result = subprocess.run(["mandoc", "-Tlint", "-W", "warning", page],
                                        capture_output=True, text=True, check=False)
                self.assertEqual(result.stdout + result.stderr, "")


class Options(unittest.TestCase):
    def test_every_option_of_the_help_is_in_the_manual(self):
        text = help_text("help", "commands")
        commands = re.findall(r"^\s+(?:msp )?([a-z][a-z-]+)\b", text, re.M)
        self.assertIn("run", commands)
        known = page_options("msp.1")
        everywhere = known.union(*(page_options(name) for name in OWN_PAGES))
        for option in sorted(set(OPTION.findall(help_text("help", "options")))):
            with self.subTest(option=option):
                self.assertIn(option, known)
        for command in ("help", *(name for name in commands if name != "help" and
                                  name not in OWN)):
            shown = help_text(command) if command == "help" else help_text(command, "--help")
            for option in sorted(set(OPTION.findall(shown))):
                with self.subTest(command=command, option=option):
                    self.assertIn(option, everywhere if command == "help" else known)

    def test_commands_with_a_page_of_their_own(self):
        overview = page_text("msp.1")
        for name, commands in OWN_PAGES.items():
            known, page = page_options(name), page_text(name)
            self.assertIn(f".Xr {name[:-2]} 1", overview)
            shown = set()
            for command in commands:
                text = help_text(command, "--help")
                self.assertTrue(text.startswith(f"usage: msp {command} "), text)
                shown |= set(OPTION.findall(text))
                with self.subTest(page=name, command=command):
                    self.assertIn(f".It Cm {command}\n", page)
                    self.assertIn(f".Nm msp Cm {command}\n", page)
                    self.assertRegex(overview, rf"(?m)^\.(It )?Cm [a-z ,]*\b{command}\b")
                for option in sorted(set(OPTION.findall(text))):
                    with self.subTest(page=name, command=command, option=option):
                        self.assertIn(option, known)
            for option in sorted(known - shown - {"--help"}):  # of an example
                with self.subTest(page=name, unknown=option):
                    self.assertNotRegex(page, rf"(?m)^\.It Fl {option[1:]}\b")

    def test_profile_and_policy_have_a_page_of_their_own(self):
        known = page_options("msp-profile.1")
        page = page_text("msp-profile.1")
        for command in ("profile", "policy"):
            shown = help_text(command, "--help")
            actions = re.findall(r"^  ([a-z]+)\b", shown.split("options:")[0], re.M)
            self.assertGreaterEqual(len(actions), 3, shown)
            for action in actions:
                with self.subTest(command=command, action=action):
                    self.assertIn(f".It Cm {action}", page)
            for option in sorted(set(OPTION.findall(shown))):
                with self.subTest(command=command, option=option):
                    self.assertIn(option, known)

    def test_operations_are_those_of_the_help(self):
        shown = re.sub(r"\s+", " ", help_text("policy", "--help"))
        page = page_text("msp-profile.1")
        operations = re.findall(r"'([a-z]+ [A-Za-z:@]*[A-Z]+)'", shown)
        self.assertGreater(len(operations), 8, shown)
        for operation in operations:
            with self.subTest(operation=operation):
                self.assertIn(f".Ql {operation}", page)

    def test_every_command_of_the_help_is_in_the_manual(self):
        commands = ("run", "serve", "profile", "policy", "status", "doctor", "client-config",
                    "version")
        manual = page_text("msp.1")
        for command in commands:
            with self.subTest(command=command):
                self.assertIn(command, help_text("help"))
                self.assertIn(command, manual)


if __name__ == "__main__":
    unittest.main()
