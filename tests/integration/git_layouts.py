#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""git in a sandbox over each layout of a repository: what -w opens and where it starts, and git's data
that lies outside of the workspace. Each case has its control: the same command outside, or the same
layout that git finds nothing in."""
import os
import shutil
import unittest

from cli_support import LIMITS
from persistent_support import git
from trials import Project, setUpModule  # noqa: F401

COMMIT = "git -c user.name=A -c user.email=a@example.org -c commit.gpgsign=false commit -qam inside"


@unittest.skipUnless(shutil.which("git"), "git is not installed")
class Layouts(Project):
    def setUp(self):
        super().setUp()
        self.main = self.path("main")
        os.makedirs(self.path("main/pkg/a"))
        for name, text in (("f", "1\n"), ("pkg/a/g", "1\n"), (".gitignore", "build/\n")):
            self.put("main/" + name, text)
        git(self.main, "init", "-q")
        git(self.main, "add", ".")
        git(self.main, "commit", "-qm", "first")

    def path(self, name):
        return os.path.join(self.folder, name)

    def put(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def name_in(self, data, workspace):
        """What the line in the sandbox's notes says."""
        git(self.folder, "config", "--file", data + "/config", "--add", "msp.workspace", workspace)

    def run_in(self, name, script, *options, code=0):
        return self.good("run", *LIMITS, *(options or ["-w"]), "--", "sh", "-c", script,
                         cwd=self.path(name), code=code)

    def log(self, name, *options, code=0):
        return self.run_in(name, "git log -1 --format=%s; git status --short",
                           *(options or ["-w", "--discard"]), code=code)


class Directories(Layouts):
    def test_a_package_of_a_repository(self):
        result = self.run_in("main/pkg/a", "pwd; git log -1 --format=%s; mkdir build; "
                             "echo o >build/o; echo 2 >>g; echo 3 >>../../f")
        self.assertEqual(result.stdout, "/workspace/pkg/a\nfirst\n")
        self.assertIn(f"/workspace shows the repository {self.main}; --workspace=. shows this "
                      "directory alone", result.stderr)
        self.assertEqual(self.good("diff", "-1", "--name-only", cwd=self.main).stdout,
                         "f\npkg/a/g\n")
        self.good("apply", "-1", cwd=self.path("main/pkg/a"))
        self.assertEqual(git(self.main, "status", "--short").decode(), " M f\n M pkg/a/g\n")

    def test_a_directory_that_is_named_is_alone(self):
        for options in (["--workspace=."], ["-w=" + self.path("main/pkg/a")]):
            result = self.run_in("main/pkg/a", "pwd; ls -A; git status", *options, code=128)
            self.assertEqual(result.stdout, "/workspace\ng\n")
            self.assertIn(f"the repository is {self.main}/, and /workspace shows a part of it",
                          result.stderr)
        self.assertEqual(self.run_in("main/pkg/a", "pwd", "-w", "--cwd=/tmp").stdout, "/tmp\n")
        self.assertNotIn("repository", self.run_in("main", "pwd").stderr)
        self.assertNotIn("repository", self.run_in("project", "pwd").stderr)

    def test_a_way_upwards(self):
        for value in ("..", "../../pkg", self.main + "/pkg/a/.."):
            result = self.run_in("main/pkg/a", "ls -A", "--workspace=" + value)
            self.assertEqual(result.stdout, "a\n")

    def test_a_shell(self):
        result = self.good("shell", *LIMITS, "--discard", input="pwd\n", cwd=self.path("main/pkg"))
        self.assertEqual(result.stdout, "/workspace/pkg\n")

    def test_a_submodule(self):
        git(self.main, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", self.main,
            "libs/sub")
        result = self.run_in("main/libs/sub/pkg", "pwd; git rev-parse --show-toplevel; "
                             "git log -1 --format=%s", "-w", "--discard")
        self.assertEqual(result.stdout, "/workspace/libs/sub/pkg\n/workspace/libs/sub\nfirst\n")
        alone = self.run_in("main/libs/sub", "git log", "--workspace=.", code=128)
        self.assertIn("a submodule's", alone.stderr)

    def test_where_the_way_up_ends(self):
        """A home and git's own data are the roots of nothing."""
        os.mkdir(self.path("main/home"))
        self.environment["HOME"] = self.path("main/home")
        os.mkdir(self.path("main/home/work"))
        result = self.run_in("main/home/work", "pwd")
        self.assertEqual((result.stdout, result.stderr), ("/workspace\n", ""))
        self.assertEqual(self.run_in("main/.git/refs", "pwd").stdout, "/workspace\n")

    def test_a_repository_that_may_not_be_shown(self):
        """The directory is shown as before; the line has the reason."""
        self.put("config.yaml", f"workspaces: [{self.main}/pkg]\n")
        self.environment["MSP_CONFIG"] = self.path("config.yaml")
        result = self.run_in("main/pkg/a", "pwd; ls")
        self.assertEqual(result.stdout, "/workspace\ng\n")
        self.assertIn("/workspace shows this directory without its repository: '", result.stderr)


class Data(Layouts):
    def test_a_worktree(self):
        git(self.main, "worktree", "add", "-q", "../wt", "-b", "feat")
        result = self.log("wt")
        self.assertEqual((result.stdout, result.stderr), ("first\n", ""))
        self.assertEqual(self.log("wt", "--workspace=.", "--discard").stdout, "first\n")

    def test_a_worktree_with_links_upon_its_way(self):
        os.symlink("main", self.path("short"))
        git(self.path("short"), "worktree", "add", "-q", "../main/trees/wt", "-b", "feat")
        self.assertEqual(self.log("main/trees/wt").stdout, "first\n")

    def test_commits_of_a_worktree_stay_and_are_named(self):
        git(self.main, "worktree", "add", "-q", "../wt", "-b", "feat")
        before = git(self.main, "for-each-ref")
        result = self.run_in("wt", f"echo 2 >>f; {COMMIT}; git log -1 --format=%s; git branch other")
        self.assertEqual(result.stdout, "inside\n")
        result = self.good("apply", "-1", code=1, cwd=self.path("wt"))
        self.assertRegex(result.stderr, r"left out: \.git \(stays in the sandbox's repository\)")
        self.assertEqual(git(self.main, "for-each-ref"), before)
        self.assertEqual(git(self.path("wt"), "status", "--short").decode(), " M f\n")
        self.assertEqual(git(self.path("wt"), "diff").decode().count("+2"), 1)

    def test_only_files_of_a_worktree(self):
        git(self.main, "worktree", "add", "-q", "../wt", "-b", "feat")
        self.run_in("wt", "echo 2 >>f; git add f; git stash list")
        self.assertEqual(self.good("diff", "-1", "--name-only", cwd=self.path("wt")).stdout, "f\n")
        self.good("apply", "-1", cwd=self.path("wt"))

    def unnamed(self, name, data, expected="first\n"):
        """Without the word, and with it."""
        result = self.run_in(name, "git log -1 --format=%s", "-w", "--discard", code=128)
        self.assertIn(f"git lacks the data in {data}, which does not name this directory. If commands "
                      f"may read all of it: git config --file {data}/config --add msp.workspace "
                      f"{self.path(name)}", result.stderr)
        self.name_in(data, self.path(name))
        self.assertEqual(self.log(name).stdout, expected)
        self.assertEqual(self.log(name).stderr, "")

    def test_separate_data(self):
        git(self.folder, "clone", "-q", "--separate-git-dir=" + self.path("data"), self.main,
            self.path("sep"))
        self.unnamed("sep", self.path("data"))

    def test_a_link(self):
        os.mkdir(self.path("link"))
        os.symlink("../main/.git", self.path("link/.git"))
        self.unnamed("link", self.path("main/.git"), "first\n D .gitignore\n D f\n D pkg/a/g\n")

    def test_a_shared_clone(self):
        git(self.folder, "clone", "-q", "--shared", self.main, self.path("shared"))
        self.unnamed("shared", self.path("main/.git"))
        result = self.run_in("shared", f"echo 2 >>f; {COMMIT}; git log --format=%s; ls /var/git; "
                             "grep -rs core /var/git; true")
        names = sorted(os.listdir(self.path("main/.git/objects")))
        self.assertEqual(result.stdout.split(), ["inside", "first", *names])

    def test_a_relative_loan(self):
        git(self.folder, "clone", "-q", "--shared", self.main, self.path("shared"))
        self.put("shared/.git/objects/info/alternates", "../../../main/.git/objects\n")
        self.unnamed("shared", self.path("main/.git"))

    def test_what_cannot_be_shown(self):
        git(self.folder, "clone", "-q", "--shared", self.main, self.path("shared"))
        git(self.path("shared"), "worktree", "add", "-q", "../wt", "-b", "feat")
        self.assertIn("borrows more", self.log("wt", code=128).stderr)

    def test_a_persistent_sandbox(self):
        git(self.main, "worktree", "add", "-q", "../wt", "-b", "feat")
        self.good("create", "--name=box", "--workspace=.", cwd=self.path("wt"))
        self.good("exec", *LIMITS, "box", "--", "sh", "-c", f"echo 2 >>f; {COMMIT}")
        self.good("checkpoint", "box", "one")
        self.good("stop", "box")
        read = ["exec", *LIMITS, "box", "--", "git", "log", "--format=%s"]
        self.assertEqual(self.good(*read).stdout, "inside\nfirst\n")
        self.good("fork", "box", "--name=other")
        read[-5] = "other"
        self.assertEqual(self.good(*read).stdout, "inside\nfirst\n")
        self.assertEqual(git(self.path("wt"), "log", "--format=%s").decode(), "first\n")


class Below(Layouts):
    def test_commits_of_a_repository_below(self):
        os.mkdir(self.path("multi"))
        for name in "ab":
            git(self.folder, "clone", "-q", self.main, self.path("multi/" + name))
        self.run_in("multi", f"cd a; echo 2 >>f; {COMMIT}")
        result = self.good("apply", "-1", "--commits=branch", code=1, cwd=self.path("multi"))
        self.assertIn("left out: a/.git/refs/heads/main (stays in the sandbox's repository)",
                      result.stderr)
        self.assertEqual(git(self.path("multi/a"), "log", "--format=%s").decode(), "first\n")
        self.assertEqual(git(self.path("multi/a"), "status", "--short").decode(), " M f\n")
        self.assertEqual(git(self.path("multi/b"), "status", "--short").decode(), "")

        self.run_in("multi", f"cd b; git checkout -q --detach; echo 3 >>f; {COMMIT}")
        self.assertIn("left out: b/.git/HEAD (stays in", self.good("apply", "-1", code=1, cwd=self.path("multi")).stderr)

    def add_submodule(self):
        git(self.main, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", self.main, "libs/sub")
        git(self.main, "commit", "-qm", "sub")

    def test_commits_of_a_submodule(self):
        self.add_submodule()
        for before, name in (("true", "refs/heads/main"), ("git checkout -q --detach", "HEAD")):
            with self.subTest(name=name):
                self.run_in("main/libs/sub", f"{before}; echo 2 >>f; {COMMIT}")
                result = self.good("apply", "-1", code=1, cwd=self.main)
                self.assertIn(f"left out: .git/modules/libs/sub/{name} (stays in the sandbox's repository)",
                              result.stderr)
                self.assertEqual(git(self.path("main/libs/sub"), "status", "--short").decode(), " M f\n")
                git(self.path("main/libs/sub"), "checkout", "-q", "f")
        self.run_in("main/libs/sub", "echo 2 >>f; git add f; git stash -q; git stash pop -q; git branch -a")
        self.assertEqual(self.good("apply", "-1", cwd=self.main).stderr, "")

    def test_a_commit_that_names_one_of_a_submodule(self):
        """It comes if the submodule here has that commit."""
        self.add_submodule()
        self.run_in("main/libs/sub", f"echo 2 >>f; {COMMIT}; cd ../..; {COMMIT}")
        result = self.good("apply", "-1", "--held", code=1, cwd=self.main)
        self.assertRegex(result.stdout + result.stderr, r"refs/msp/\S+ -> \w{12}: the submodule here lacks the commit that "
                         r"they name; they change libs/sub\b")
        self.assertEqual(git(self.main, "for-each-ref", "refs/msp"), b"")
        sub = self.path("main/libs/sub")
        git(sub, "checkout", "-q", "f")
        git(sub, "commit", "-q", "--allow-empty", "-m", "known")
        known = git(sub, "rev-parse", "HEAD").decode().strip()
        git(sub, "reset", "-q", "--hard", "HEAD^")
        self.run_in("main", f"git -C libs/sub reset -q --hard {known}; {COMMIT}")
        self.good("apply", "-1", "--held", code=1, cwd=self.main)
        self.assertEqual(git(self.main, "for-each-ref", "refs/msp").count(b"\n"), 1)

    def test_files_of_a_repository_below(self):
        os.mkdir(self.path("multi"))
        git(self.folder, "clone", "-q", self.main, self.path("multi/a"))
        self.run_in("multi", "cd a; echo 2 >>f; git add f; git status")
        self.assertEqual(self.good("apply", "-1", cwd=self.path("multi")).stderr, "")


if __name__ == "__main__":
    unittest.main()
