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
        text = help_text("help")
        commands = re.findall(r"^\s+(?:msp )?([a-z][a-z-]+)\b", text, re.M)
        self.assertIn("run", commands)
        known = page_options("msp.1")
        for command in ("help", *(name for name in commands if name != "help")):
            shown = help_text(command) if command == "help" else help_text(command, "--help")
            for option in sorted(set(OPTION.findall(shown))):
                with self.subTest(command=command, option=option):
                    self.assertIn(option, known)

    def test_every_command_of_the_help_is_in_the_manual(self):
        commands = ("run", "serve", "status", "doctor", "client-config", "version")
        manual = page_text("msp.1")
        for command in commands:
            with self.subTest(command=command):
                self.assertIn(command, help_text("help"))
                self.assertIn(command, manual)


if __name__ == "__main__":
    unittest.main()
