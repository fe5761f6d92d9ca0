#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`msp apply --commits=branch`: a branch of the host moves to a sandbox's commits, with index and files,
or nothing happens. The sandbox is hostile where it can be; the host is in every state in which git
itself would refuse."""
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import commits  # noqa: E402
import commits_fetched  # noqa: E402
from commits import MAIN, NAME, msp  # noqa: E402

BRANCH = "--commits=branch"


@unittest.skipUnless(shutil.which("git"), "git is not installed")
class Case(commits.Case):
    def head(self, name="main"):
        return self.git("rev-parse", name)

    def status(self):
        """As git shows it, which it also writes into the index."""
        return self.git("status", "--porcelain=v1")

    def move(self, code=0, words=()):
        return self.apply(BRANCH, *words, code=code)

    def assert_refused(self, reason, branch="main", words=()):
        """Nothing is applied, with this reason and a remedy; the repository is as it was."""
        before = (self.host_refs(), self.get(".git/index"), self.get("file"))
        result = self.move(1, words)
        self.assertIn(reason, result.stdout)
        self.assertIn(f".git/refs/heads/{branch} -> ", result.stdout)
        self.assertIn(f"msp apply {NAME} .git", result.stderr)
        self.assertEqual((self.host_refs(), self.get(".git/index"), self.get("file")), before)


class Moving(Case):
    def test_the_branch_that_is_checked_out(self):
        inside = self.inside("echo two >> file; mkdir -p sub; echo new > sub/new; git rm -q scripts/known.sh; "
                             "git add -A; git commit -qm second; echo three >> file; "
                             "git commit -qam third; git rev-parse HEAD; "
                             "echo more >> file").split()[-1]
        result = self.move()
        self.assertIn("M  .git/refs/heads/main -> ", result.stdout)
        self.assertEqual(self.head(), inside)
        self.assertEqual(self.host_refs(), [f"refs/heads/main {inside}"])
        self.assertEqual(self.status(), "M file")  # what the sandbox has not committed
        self.assertEqual(self.git("ls-files"), "file\nsub/new")
        self.assertEqual(self.git("rev-parse", "main@{1}"), self.first)
        self.assertEqual(self.git("log", "-g", "--format=%gs", "-1"), f"msp apply {NAME}: Fast-forward")
        self.git("fsck", "--strict", "--no-dangling")
        # The sandbox goes on, and nothing is said of what is here already.
        self.assertNotIn(".git", msp("diff", NAME, "--stat", code=None).stdout)
        self.inside("git commit -qam fourth")
        self.move()
        self.assertEqual(self.status(), "")
        self.assertEqual(self.git("log", "--format=%s"), "fourth\nthird\nsecond\nfirst")

    def test_undo_after_git_has_looked(self):
        self.inside("echo two >> file; echo new > new; git add -A; git commit -qm second")
        self.move()
        self.assertEqual(self.status(), "")
        git_wrote = self.get(".git/index")
        self.git("update-index", "--refresh")
        self.assertNotEqual(self.get(".git/index"), git_wrote)
        msp("undo", NAME)
        self.assertEqual(self.head(), self.first)
        self.assertEqual(self.status(), "")
        self.git("fsck", "--strict")

    def test_undo_of_what_the_host_went_on_from(self):
        self.inside("echo two >> file; git commit -qam second")
        self.move()
        self.git("commit", "-q", "--allow-empty", "-m", "the host's")
        last = self.head()
        msp("undo", NAME, code=1)
        self.assertEqual(self.head(), last)
        self.git("fsck", "--strict")

    def test_branches_that_are_not_checked_out(self):
        self.git("branch", "other")
        self.git("pack-refs", "--all")
        msp("destroy", NAME)
        self.create("--name", NAME)
        made = self.inside("git checkout -q other; echo x > x; git add x; git commit -qm x; "
                           "git checkout -q -b topic/new; git commit -q --allow-empty -m y; "
                           "git checkout -q main; git rev-parse other topic/new").split()
        self.move()
        self.assertEqual([self.head("other"), self.head("topic/new"), self.head()],
                         [*made, self.first])
        self.assertEqual(self.status(), "")
        self.assertEqual(self.git("rev-parse", "other@{1}"), self.first)
        self.git("fsck", "--strict")

    def test_other_work_of_the_host_stays(self):
        """As with git pull --ff-only: what the commits do not change, staged or not."""
        self.put("staged", "s\n")
        self.git("add", "staged")
        self.put("scripts/known.sh", "changed\n", mode=0o755)
        self.inside("echo two >> file; git commit -qm second file")
        self.move()
        self.assertEqual(self.status(), "M scripts/known.sh\nA  staged")

    def test_every_version_of_an_index(self):
        for version in ("2", "3", "4"):
            with self.subTest(version):
                self.git("update-index", "--index-version", version)
                self.inside(f"echo {version} >> file; echo {version} > name-{version}-{'n' * 90}; "
                            f"git add -A; git commit -qm {version}")
                self.move()
                self.assertEqual(self.status(), "")
                self.git("fsck", "--strict")
                self.assertEqual(self.git("ls-files", "-s"), self.git("ls-tree", "-r", "--format="
                                 "%(objectmode) %(objectname) 0%x09%(path)", "main"))

    def test_hooks_are_not_run(self):
        self.inside("echo two >> file; git commit -qam second")
        for hook in ("reference-transaction", "post-merge", "post-checkout", "post-index-change"):
            self.put(f".git/hooks/{hook}", f"#!/bin/sh\ntouch {self.project}/ran\n", mode=0o755)
        self.git("update-ref", "refs/x", "HEAD")
        self.assertTrue(os.path.exists(os.path.join(self.project, "ran")), "the control")
        self.git("update-ref", "-d", "refs/x")
        os.unlink(os.path.join(self.project, "ran"))
        self.move()
        self.assertNotEqual(self.head(), self.first)
        self.assertFalse(os.path.exists(os.path.join(self.project, "ran")))


class Refusing(Case):
    def second(self):
        self.inside("echo two >> file; git commit -qam second")

    def test_commits_of_the_host(self):
        self.second()
        self.git("commit", "-q", "--allow-empty", "-m", "the host's")
        self.assert_refused("no fast-forward")
        # The remedy works.
        self.apply(".git")
        self.git("merge", "-q", MAIN)
        self.assertEqual(self.get("file"), b"one\ntwo\n")

    def test_a_history_that_is_another(self):
        self.inside("echo two >> file; git commit -q --amend -am other")
        self.assert_refused("no fast-forward")

    def test_what_git_is_at(self):
        self.second()
        for name in ("MERGE_HEAD", "CHERRY_PICK_HEAD", "rebase-merge/x", "rebase-apply/x",
                     "BISECT_START"):
            with self.subTest(name):
                self.put(f".git/{name}", self.first + "\n")
                self.assert_refused("under way")
                shutil.rmtree(os.path.join(self.project, ".git", name.partition("/")[0]),
                              ignore_errors=True)
                if os.path.exists(os.path.join(self.project, ".git", name)):
                    os.unlink(os.path.join(self.project, ".git", name))
        for name in ("refs/heads/main", "index", "HEAD"):
            with self.subTest(name):
                self.put(f".git/{name}.lock", "")
                self.assert_refused(".lock")
                os.unlink(os.path.join(self.project, f".git/{name}.lock"))
        self.move()

    def test_another_work_tree(self):
        self.git("branch", "side")
        self.git("worktree", "add", "-q", self.state + "/side", "side")
        self.inside("git commit -q --allow-empty -m x; git branch -f other; "
                    "git update-ref refs/heads/side HEAD; git reset -q --hard HEAD~")
        self.assert_refused("another work tree", "side")
        self.git("worktree", "remove", "--force", self.state + "/side")
        self.move()
        self.assertEqual(self.head("side"), self.head("other"))

    def test_staged_changes_of_its_files(self):
        self.second()
        self.put("file", "staged\n")
        self.git("add", "file")
        self.put("file", "one\n")
        self.assert_refused("its index has other changes")

    def test_an_index_that_is_not_understood(self):
        self.second()
        self.git("update-index", "--split-index")
        self.assert_refused("split")
        self.git("update-index", "--no-split-index")
        self.git("update-index", "--skip-worktree", "scripts/known.sh")
        self.assert_refused("sparse")
        self.git("update-index", "--no-skip-worktree", "scripts/known.sh")
        index = self.get(".git/index")
        self.put(".git/index", index[:-30] + bytes(10))
        self.assert_refused("cannot be read")
        self.put(".git/index", index)
        self.move()

    def test_files_that_would_not_follow(self):
        self.put(".gitignore", "ignored\n")
        self.inside("echo two >> file; echo x > ignored; git add -f ignored; git commit -qam second")
        for words in (("file",), (".git",)):
            with self.subTest(words):
                self.assertIn("not all of its files", self.move(1, ("--json", ".git/refs", *words[1:]))
                              .stdout + self.apply(BRANCH, "--json", *words, ".git", code=1).stdout)
        self.assertEqual(self.head(), self.first)
        self.assertEqual(self.get("file"), b"one\n")
        self.move(1)
        self.assertEqual(self.head(), self.first)
        self.move(words=("--ignored",))
        self.assertEqual(self.status(), "?? .gitignore")

    def test_another_branch_in_the_sandbox(self):
        self.inside("echo two >> file; git commit -qam second; git checkout -q -b back HEAD~")
        self.assert_refused("another one in the sandbox")

    def test_names_that_are_directories_of_others(self):
        self.git("branch", "topic/x")
        self.git("pack-refs", "--all")
        for path in ("refs/heads/topic", ".lock"):
            if os.path.isdir(os.path.join(self.project, ".git", path)):
                os.rmdir(os.path.join(self.project, ".git", path))
        self.inside("git commit -q --allow-empty -m x; mkdir -p .git/refs/heads; "
                    "rm -rf .git/refs/heads/topic; git rev-parse HEAD > .git/refs/heads/topic; "
                    "git reset -q --hard HEAD~")
        self.assert_refused("a name of which", "topic")

    def test_no_commit_here(self):
        self.git("update-ref", "-d", "HEAD")
        self.second()
        self.assert_refused("has no commit yet")


class Hostile(Case):
    """T26, T32 on the way to a branch."""

    def test_a_file_that_the_host_executes(self):
        self.inside("echo evil > .envrc; git add -A; git commit -qm evil; git rm -q .envrc; "
                    "git commit -qm clean")
        self.move(None)
        self.assertEqual(self.head(), self.first)
        self.move(words=("--held",))
        self.assertNotEqual(self.head(), self.first)
        self.assertEqual(self.status(), "")

    def request(self, files, gone=()):
        """A commit of the host that no branch has."""
        return commits_fetched.Fetched.fetch(self, 7, files, gone)

    def move_request(self, way, files, words=(), keep=False, code=None):
        evil = self.request(files)
        msp("destroy", NAME)
        self.create("--name", NAME)
        remove = "" if keep else f"rm -rf {' '.join(files)}"
        self.inside(way.format(id=evil) + f"; git reset -q --hard; {remove}")
        before = (self.host_refs(), self.get(".git/index"))
        result = self.move(code, words)
        if code == 0:
            self.assertEqual(self.head(), self.inside("git rev-parse HEAD").strip())
            self.assertEqual(self.status(), "")
        else:
            self.assertEqual((self.host_refs(), self.get(".git/index")), before)
            self.git("restore", ".")
            for path in files:
                self.assertFalse(os.path.exists(os.path.join(self.project, path)))
        return result

    def test_a_fetched_request_to_the_branch(self):
        files = {".envrc": "evil\n", ".github/workflows/x.yml": "evil\n"}
        for way in (commits_fetched.Fetched.WAYS["a ref"],
                    "git commit -q --allow-empty -m x; git merge -q --no-edit {id}"):
            with self.subTest(way):
                result = self.move_request(way, files)
                self.assertIn(".envrc", result.stdout)
                # With a word it is in no work tree still, and git would write it.
                result = self.move(None, ("--held",))
                self.assertIn("lacks a host-executed file", result.stderr)
                self.assertEqual(self.head(), self.first)
                self.git("restore", ".")
                self.assertFalse(os.path.exists(os.path.join(self.project, ".envrc")))

    def test_a_fetched_request_that_is_harmless(self):
        """The control: a merge and a fast-forward, and an agreed file that is in the work tree."""
        self.move_request("git merge -q --ff-only {id}", {"a": "a\n"}, keep=True, code=0)
        self.move_request("git commit -q --allow-empty -m x; git merge -q --no-edit {id}",
                          {"b/b": "b\n"}, keep=True, code=0)
        self.move_request("git merge -q --ff-only {id}", {".envrc": "x\n"}, ("--held",), keep=True,
                          code=0)

    def test_a_host_executed_file_that_is_another_in_the_work_tree(self):
        """The index would have a content that nobody saw."""
        self.put(".envrc", "harmless\n")
        self.inside("cp .envrc /tmp/a; echo evil > .envrc; git add .envrc; git commit -qm x; "
                    "cp /tmp/a .envrc")
        self.assertIn("lacks a host-executed file", self.move(None, ("--held",)).stderr)
        self.assertEqual(self.head(), self.first)
        self.inside("echo other > .envrc")
        self.assertIn("lacks a host-executed file", self.move(None, ("--held",)).stderr)
        self.assertEqual(self.head(), self.first)
        self.inside("git add .envrc; git commit -q --amend -m x; ln -s a .vscode; git add .vscode; "
                    "git commit -q --amend -m x; ln -sfn b .vscode")
        self.assertIn("lacks a host-executed file", self.move(None, ("--held",)).stderr)
        self.assertEqual(self.head(), self.first)
        self.inside("ln -sfn a .vscode")
        self.move(words=("--held",))
        self.assertNotEqual(self.head(), self.first, "the control")
        self.assertEqual(self.status(), "")

    def test_a_parent_that_is_none(self):
        """The commit names main as its parent; the tree, or a commit between, is missing."""
        self.inside("git commit -q --allow-empty -m a; gone=$(git rev-parse HEAD); "
                    "echo two >> file; git commit -qam b; "
                    "rm -f .git/objects/${gone:0:2}/${gone:2}")
        self.move(None)
        self.assertEqual(self.head(), self.first)
        self.git("fsck", "--strict")

    def test_a_ref_that_is_a_link_or_names_another(self):
        self.inside("echo two >> file; git commit -qam second; git branch other; "
                    "rm .git/refs/heads/main; ln -s other .git/refs/heads/main")
        self.move(None)
        self.assertEqual(self.head(), self.first)

    def test_names_that_git_would_refuse(self):
        blob = self.git("rev-parse", "HEAD:file")
        write, tree = self.put_object("tree", b"100644 .git\0" + bytes.fromhex(blob))
        write_commit, commit = self.put_object(
            "commit", f"tree {tree}\nparent {self.first}\nauthor a <a> 0 +0000\n"
                      f"committer a <a> 0 +0000\n\nx\n".encode())
        before = self.get(".git/index")
        self.inside(write + write_commit + f"echo {commit} > .git/refs/heads/main")
        self.move(None, words=("--held",))
        self.assertEqual(self.head(), self.first)
        self.assertEqual(self.get(".git/index"), before)


if __name__ == "__main__":
    unittest.main(verbosity=2)
