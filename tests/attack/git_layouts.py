#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""T35: a workspace whose .git, commondir or alternates lead elsewhere, as a workload or an archive may
have left them. None of it shows the sandbox another directory. Each has its control: a worktree that
git made is shown by the same way."""
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "integration"))
from persistent_support import PersistentCase, git, msp  # noqa: E402

SECRET = "a-secret-of-another-repository"


@unittest.skipUnless(shutil.which("git"), "git is not installed")
class Case(PersistentCase):
    """`private` is a repository that nobody named; the workspace is hostile."""

    def setUp(self):
        super().setUp()
        self.private = os.path.join(self.project, "..", "private")
        self.private = os.path.realpath(self.private)
        self.workspace = os.path.join(self.project, "ws")
        os.mkdir(self.private)
        os.mkdir(self.workspace)
        self.write(self.private, "secret", SECRET + "\n")
        git(self.private, "init", "-q")
        git(self.private, "add", "-A")
        git(self.private, "commit", "-qm", SECRET)
        self.data = os.path.join(self.private, ".git")

    def write(self, folder, name, text):
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def look(self):
        """What the place shows, and whether any of the secret can be read in the sandbox."""
        name = msp("create", "--workspace", self.workspace).stdout.strip()
        shown = self.sh(name, f"set +e; ls -A /var/git; cat /var/git/HEAD 2>/dev/null; git log 2>/dev/null; "
                              f"grep -rs {SECRET} /var/git /workspace; cat {self.private}/secret "
                              "2>/dev/null; true")
        msp("destroy", name)
        return shown


class Elsewhere(Case):
    def assert_nothing(self):
        self.assertEqual(self.look(), "")

    def assert_shown(self):
        shown = self.look()
        self.assertIn("objects", shown)
        self.assertIn(SECRET, shown)

    def test_the_control(self):
        os.rmdir(self.workspace)
        git(self.private, "worktree", "add", "-q", self.workspace, "-b", "feat")
        self.assert_shown()

    def test_a_file_that_names_another_repository(self):
        self.write(self.workspace, ".git", f"gitdir: {self.data}\n")
        self.assert_nothing()
        git(self.private, "config", "msp.workspace", self.workspace)
        self.assert_shown()

    def test_a_link_to_another_repository(self):
        os.symlink(self.data, os.path.join(self.workspace, ".git"))
        self.assert_nothing()

    def test_the_worktree_of_another_workspace(self):
        other = os.path.join(self.project, "other")
        git(self.private, "worktree", "add", "-q", other, "-b", "feat")
        self.write(self.workspace, ".git", f"gitdir: {self.data}/worktrees/other\n")
        self.assert_nothing()

    def test_a_link_to_the_worktree_of_another_workspace(self):
        other = os.path.join(self.project, "other")
        git(self.private, "worktree", "add", "-q", other, "-b", "feat")
        os.symlink(os.path.join(other, ".git"), os.path.join(self.workspace, ".git"))
        self.assert_nothing()

    def fake(self, common):
        """Data of the attacker's, which names the workspace and whose commondir leads elsewhere."""
        data = os.path.join(self.project, "fake", "worktrees", "x")
        for name, text in (("gitdir", f"{self.workspace}/.git\n"), ("commondir", common + "\n"),
                           ("HEAD", "ref: refs/heads/main\n")):
            self.write(data, name, text)
        self.write(self.workspace, ".git", f"gitdir: {data}\n")

    def test_a_commondir_elsewhere(self):
        for common in (self.data, self.private, "../../../../private/.git", "/", "/etc"):
            with self.subTest(common=common):
                self.fake(common)
                self.assert_nothing()

    def test_a_link_in_the_place_of_the_worktrees(self):
        """`worktrees` in the attacker's data is a link into the other repository, or its parent is."""
        self.fake("../..")
        shutil.rmtree(os.path.join(self.project, "fake"))
        os.symlink(self.data, os.path.join(self.project, "fake"))
        self.assert_nothing()

    def test_data_in_the_workspace(self):
        """It is in sight already; nothing more comes."""
        self.fake(self.data)
        shutil.copytree(os.path.join(self.project, "fake"), os.path.join(self.workspace, "fake"))
        self.write(self.workspace, ".git", "gitdir: fake/worktrees/x\n")
        self.assert_nothing()

    def test_objects_of_another_repository(self):
        git(self.workspace, "init", "-q")
        for line in (self.data + "/objects", "../../../../private/.git/objects", self.private, "/etc",
                     self.data + "/objects/../objects", "# x\n" + self.data + "/objects"):
            with self.subTest(line=line):
                self.write(self.workspace, ".git/objects/info/alternates", line + "\n")
                self.assertNotIn(SECRET, self.look())

    def test_what_is_no_repository(self):
        keys = os.path.join(self.project, "home", ".ssh")
        self.write(keys, "id_test", SECRET + "\n")
        for text in (f"gitdir: {keys}\n", "gitdir: /etc\n", "gitdir: /\n", "gitdir: \n", "gitdir:\0x",
                     "gitdir: " + "a/" * 5000, "gitdir: ..\n", "gitdir: .\n"):
            with self.subTest(text=text[:40]):
                self.write(self.workspace, ".git", text)
                self.assert_nothing()
        os.unlink(os.path.join(self.workspace, ".git"))
        os.mkfifo(os.path.join(self.workspace, ".git"))
        self.assert_nothing()

    def test_a_protected_directory_that_names_the_workspace(self):
        """The proof opens nothing that the policy protects."""
        home = os.path.join(self.project, "home")
        keys = os.path.join(home, ".ssh")
        os.makedirs(keys)
        git(keys, "init", "-q", "--bare")
        git(keys, "config", "msp.workspace", self.workspace)
        self.write(self.workspace, ".git", f"gitdir: {keys}\n")
        before = os.environ.get("HOME")
        os.environ["HOME"] = home
        self.addCleanup(lambda: os.environ.update(HOME=before or "/"))
        self.assert_nothing()
        shutil.move(keys, os.path.join(home, "keys"))
        self.write(self.workspace, ".git", f"gitdir: {home}/keys\n")
        self.assertIn("objects", self.look())


class Inside(Case):
    """What a workload does to the data that it is shown."""

    def setUp(self):
        super().setUp()
        os.rmdir(self.workspace)
        git(self.private, "worktree", "add", "-q", self.workspace, "-b", "feat")
        self.name = msp("create", "--workspace", self.workspace).stdout.strip()

    def files(self):
        """{path: content} of the host's data."""
        found = {}
        for folder, _, names in os.walk(self.data):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    found[os.path.join(folder, name)] = file.read()
        return found

    def test_nothing_of_it_crosses(self):
        before = self.files()
        self.sh(self.name, "cd /var/git; echo '#!/bin/sh' >hooks/pre-commit; chmod +x hooks/pre-commit; "
                           "printf '[core]\\n\\tfsmonitor = /tmp/x\\n[msp]\\n\\tworkspace = /etc\\n' >>config; "
                           "echo x >HEAD; rm -r objects; mkdir -p worktrees/y; rm -f packed-refs; "
                           "echo /etc >worktrees/ws/gitdir; ln -s /etc refs/link; true")
        self.sh(self.name, "cd /workspace; rm .git; mkdir .git; echo x >.git/config; echo y >new")
        msp("apply", self.name, "--held", code=None)
        self.assertTrue(os.path.exists(os.path.join(self.workspace, "new")))
        self.assertEqual(self.files(), before)
        with open(os.path.join(self.workspace, ".git"), encoding="utf-8") as file:
            self.assertEqual(file.read(), f"gitdir: {self.data}/worktrees/ws\n")

    def test_a_pointer_that_a_workload_wrote_anew(self):
        """The workspace's .git in the sandbox is nobody's word for the next one."""
        other = os.path.join(self.project, "third")
        git(self.project, "init", "-q", other)
        self.sh(self.name, f"echo 'gitdir: {other}/.git' >/workspace/.git")
        msp("stop", self.name)
        shown = self.sh(self.name, "cat /var/git/HEAD; ls /var/git/worktrees")
        self.assertEqual(shown.split()[-1], "ws")
        msp("apply", self.name, "--held", code=None)
        with open(os.path.join(self.workspace, ".git"), encoding="utf-8") as file:
            self.assertEqual(file.read(), f"gitdir: {self.data}/worktrees/ws\n")


if __name__ == "__main__":
    unittest.main()
