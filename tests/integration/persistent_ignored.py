#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Changes are what git would show: what the project's rules ignore stays in the sandbox, counted,
until somebody asks for it."""
import json
import os
import re
import shutil
import unittest

import support
from persistent_support import PersistentCase, git, msp

LEFT_OUT = "3 ignored files not {} (--ignored)"


@unittest.skipUnless(shutil.which("git"), "git is not installed")
class Ignored(PersistentCase):
    def setUp(self):
        super().setUp()
        self.put(".gitignore", "build/\n*.log\n")
        self.put("a.c", "old\n")
        self.put("kept.log", "tracked\n")
        git(self.project, "init", "-q")
        git(self.project, "add", "-f", ".")
        git(self.project, "commit", "-qm", "First")
        self.put("build/old.o", "of the host\n")
        self.box = self.create()

    def change(self, more=""):
        self.sh(self.box, "cd /workspace; echo new >> a.c; echo more >> kept.log; mkdir docs; "
                          "echo d > docs/d; mkdir build/x; echo 1 > build/x/1.o; "
                          "echo 2 > build/old.o; echo l > new.log; " + more)

    def test_diff_shows_what_git_would(self):
        self.change()
        result = msp("diff", self.box, "--name-only")
        self.assertEqual(result.stdout.split(), ["a.c", "docs/", "docs/d", "kept.log"])
        self.assertIn(LEFT_OUT.format("shown"), result.stderr)
        all_of_it = msp("diff", self.box, "--name-only", "--ignored", cwd=self.project)
        self.assertEqual(set(all_of_it.stdout.split()), {
            "a.c", "docs/", "docs/d", "kept.log", "build/x/", "build/x/1.o", "build/old.o",
            "new.log"})
        self.assertEqual(all_of_it.stderr, "")
        self.assertEqual(msp("-q", "diff", self.box, "--name-only").stderr, "")

    def test_a_path_in_what_is_ignored_asks_for_it(self):
        self.change()
        self.assertEqual(set(self.changes(self.box, "build", "new.log")),
                         {"build/old.o", "build/x", "build/x/1.o", "new.log"})

    def test_apply_takes_what_was_shown(self):
        self.change()
        result = msp("apply", self.box)
        self.assertIn(LEFT_OUT.format("applied"), result.stderr)
        self.assertEqual(git(self.project, "status", "--short"),
                         b" M a.c\n M kept.log\n?? docs/\n")
        self.assertEqual(self.get("build/old.o"), b"of the host\n")
        self.assertEqual(sorted(os.listdir(os.path.join(self.project, "build"))), ["old.o"])
        told = json.loads(msp("apply", self.box, "--json", "--preview").stdout)
        self.assertEqual((told["changes"], told["ignored"]), ([], 3))
        msp("apply", self.box, "--ignored")
        self.assertEqual((self.get("build/x/1.o"), self.get("new.log")), (b"1\n", b"l\n"))

    def test_nothing_ignored_is_held_unasked(self):
        """A tree of dependencies brings names that are held elsewhere."""
        self.put(".mspignore", "build/\n")
        self.change("mkdir -p build/.vscode; echo x > build/.envrc; echo x > build/.vscode/t")
        result = msp("apply", self.box)
        self.assertNotIn("held", result.stderr)
        result = msp("apply", self.box, "--ignored", code=1)
        self.assertIn("build/.envrc (held back", result.stderr)
        self.assertNotIn("build/.vscode", result.stderr)

    def test_exclusions(self):
        self.change()
        self.assertEqual(set(self.changes(self.box, "--exclude", "docs/", "--exclude=*.log")),
                         {"a.c"})
        msp("apply", self.box, "--exclude", "*.c")
        self.assertEqual((self.get("a.c"), self.get("docs/d")), (b"old\n", b"d\n"))
        result = msp("diff", self.box, "--exclude", "!x", code=64)
        self.assertIn("'!x' is refused", result.stderr)

    def test_rules_that_git_does_not_know(self):
        self.put(".mspignore", "/docs/\n!new.log\n")
        self.change()
        self.assertEqual(set(self.changes(self.box)), {"a.c", "kept.log", "new.log"})

    def test_rules_of_the_sandbox_hide_nothing(self):
        self.change("echo '*' > .gitignore; echo '*' > .mspignore")
        self.assertEqual(set(self.changes(self.box)),
                         {".gitignore", ".mspignore", "a.c", "docs", "docs/d", "kept.log"})

    def test_a_path_without_changes(self):
        self.change()
        for verb in ("diff", "apply"):
            result = msp(verb, self.box, "a.c", "nothing", code=1)
            self.assertIn("nothing: nothing has changed there", result.stderr)
        self.assertEqual(self.get("a.c"), b"old\nnew\n")

    def test_what_a_model_is_told(self):
        self.change()
        server = support.Server()
        self.addCleanup(server.close)
        text = support.text_of(server.call("diff_changes", sandbox=self.box, text=False))
        self.assertIn("4 changes against", text)
        self.assertIn("3 ignored files left out: `paths` can name them", text)
        text = support.text_of(server.call("preview_changes", sandbox=self.box,
                                           paths=["build"]))
        self.assertIn("A build/x/1.o", text)
        self.assertNotIn("left out", text)

    def test_a_run_that_changes_ignored_files_alone(self):
        result = msp("run", *support.limits(), "--workspace=" + self.project, "--", "touch",
                     "x.log", cwd=self.project)
        self.assertIn("only ignored files changed", result.stderr)
        made = re.search(r"--ignored (\w{26})'", result.stderr).group(1)
        self.assertIn("x.log", msp("diff", "--name-only", "--ignored", made).stdout)
        self.assertIn("no run '-1' of this project", msp("diff", "-1", code=64,
                                                         cwd=self.project).stderr)
        msp("destroy", made)


if __name__ == "__main__":
    unittest.main()
