#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Commits of a sandbox that bring content which the host has already, in none of its branches. Each
attack has a control: the same way with a harmless commit."""
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from commits import MAIN, NAME, Case, msp  # noqa: E402


@unittest.skipUnless(shutil.which("git"), "git is not installed")
class Fetched(Case):
    """Content that the host has fetched, and has in none of its branches: a request to merge that
    somebody sent. A merge of it, or a ref that names it, is no new content of the sandbox."""

    def setUp(self):
        super().setUp()
        self.put(".gitattributes", "*.sh text\n")
        self.git("add", "-A")
        self.git("commit", "-qm", "attributes")
        self.first = self.git("rev-parse", "HEAD")
        self.evil = self.fetch(7, {".envrc": "evil\n", ".github/workflows/x.yml": "evil\n"},
                               (".gitattributes",))
        self.harmless = self.fetch(8, {"lib/new": "new\n", "file": "one\ntwo\n"})
        self.git("reflog", "expire", "--expire=all", "--all")

    def fetch(self, number, files, gone=()):
        """A commit that only refs/pull/NUMBER/head names. Its id."""
        self.git("checkout", "-q", "--detach")
        for path, content in files.items():
            self.put(path, content)
        self.git("add", "-A")
        if gone:
            self.git("rm", "-q", *gone)
        self.git("commit", "-qm", f"request {number}")
        self.git("update-ref", f"refs/pull/{number}/head", "HEAD")
        made = self.git("rev-parse", "HEAD")
        self.git("checkout", "-q", "main")
        return made

    WAYS = {
        "a ref": "git update-ref refs/heads/main {id}",
        "a merge": "git checkout -q -B side; git commit -q --allow-empty -m x; "
                   "git merge -q --no-edit {id}; git update-ref refs/heads/main HEAD; "
                   "git checkout -q -f main; git branch -q -D side",
        "the other order": "git checkout -q --detach {id}; git commit -q --allow-empty -m x; "
                           "git merge -q --no-edit main; git update-ref refs/heads/main HEAD",
        "a merge that takes all": "git update-ref refs/heads/main $(echo x | git commit-tree "
                                  "{id}^{{tree}} -p main -p {id})",
        "a merge that takes half": "git update-ref refs/heads/main $(echo x | git commit-tree "
                                   "{id}^{{tree}} -p {id} -p main)",
        "a commit upon it": "git update-ref refs/heads/main $(echo x | git commit-tree "
                            "{id}^{{tree}} -p {id})",
    }
    # The tree is the host's in the end, and the way leads over the request.
    BETWEEN = {
        "a merge that takes nothing": "git update-ref refs/heads/main $(echo x | git commit-tree "
                                      "{id}~^{{tree}} -p main -p {id})",
        "behind new commits": "git update-ref refs/heads/main $(echo x | git commit-tree "
                              "{id}~^{{tree}} -p main -p $(echo y | git commit-tree "
                              "{id}^{{tree}} -p {id}))",
    }

    def reach(self, way, commit):
        """The way in a sandbox of its own, with a work tree like the host's. Its record."""
        msp("destroy", NAME)
        self.create("--name", NAME)
        self.inside(way.format(id=commit) + f"""
git symbolic-ref HEAD refs/heads/main
git read-tree {self.first}
git checkout -q -f {self.first} -- .
rm -rf .envrc .github lib
git reset -q
""")
        return self.listed()[f".git/{MAIN}"]

    def test_each_way_is_held_and_named(self):
        before = self.host_refs()
        for title, way in {**self.WAYS, **self.BETWEEN}.items():
            with self.subTest(title):
                record = self.reach(way, self.evil)
                self.assertTrue(record.get("held"), record)
                for name in (".envrc", ".github/workflows/x.yml", ".gitattributes"):
                    self.assertIn(name, record["link"])
                self.apply(code=None)
                self.assertEqual(self.host_refs(), before)

    def test_each_way_of_a_harmless_request(self):
        """The control."""
        for title, way in {**self.WAYS, **self.BETWEEN}.items():
            with self.subTest(title):
                record = self.reach(way, self.harmless)
                self.assertFalse(record.get("held"), record)
                self.apply(f".git/{MAIN}")
                self.assertEqual(self.git("rev-parse", MAIN), self.inside("git rev-parse main").strip())
                self.git("update-ref", "-d", MAIN)
        self.git("fsck", "--strict")

    def test_names_other_than_a_branch(self):
        self.inside(f"git tag v1 {self.evil}; git tag -a -m t v2 {self.evil}; "
                    f"git branch new {self.evil}; git checkout -q --detach; "
                    f"git update-ref HEAD {self.evil}; git reset -q --hard; git tag v3 main")
        listed = self.listed()
        for name in ("tags/v1", "tags/v2", "new", "HEAD"):
            record = listed[f".git/refs/msp/{NAME}/{name}"]
            self.assertTrue(record.get("held"), record)
            self.assertIn(".envrc", record["link"])
        self.assertFalse(listed[f".git/refs/msp/{NAME}/tags/v3"].get("held"), "the control")

    def test_other_refs_stay(self):
        self.inside("git notes add -m note; git update-ref refs/pull/9/head HEAD~; "
                    "git update-ref refs/remotes/origin/main HEAD; echo x >> file; git stash -q; "
                    f"git update-ref refs/replace/{self.first} {self.evil}; "
                    "git update-ref refs/msp/other HEAD; git symbolic-ref refs/heads/alias "
                    "refs/pull/7/head; git branch control")
        before = self.host_refs()
        self.apply(code=None)
        self.assertEqual(self.host_refs(), sorted(
            [*before, f"refs/msp/{NAME}/control {self.first}"]))

    def test_names_of_others(self):
        """Two refs that would be one here, and names that git itself refuses to make."""
        self.inside(f"git branch tags/v1 {self.evil}; git tag v1; git branch control; "
                    f"for i in HEAD -x --exec; do git rev-parse {self.evil} > .git/refs/heads/$i; "
                    f"git rev-parse HEAD > .git/refs/tags/$i; done; git checkout -q --detach; "
                    "git commit -q --allow-empty -m x; "
                    f"echo {self.first} refs/heads/control/below >> .git/packed-refs")
        records = [record for record in self.listed().values() if record.get("commits")]
        self.assertEqual(sorted((record["path"].partition(NAME + "/")[2], "has this name" in
                                 record["link"]) for record in records),
                         [("HEAD", False), ("control", True), ("control/below", False),
                          ("tags/v1", True)])
        before = self.host_refs()
        self.apply("--held", code=None)
        made = [line.split()[0].partition(NAME + "/")[2] for line in self.host_refs()
                if line not in before]
        self.assertEqual(sorted(made), ["HEAD", "control/below", "tags/v1"])
        self.git("fsck", "--strict", "--no-dangling")

    def test_a_branch_of_the_host_is_compared_with_itself(self):
        """Not with HEAD: what the branch has is no news."""
        self.git("branch", "request", self.evil)
        self.inside(f"git checkout -q request; echo x > x; git add x; git commit -qm x")
        record = self.listed()[f".git/refs/msp/{NAME}/request"]
        self.assertFalse(record.get("held"), record)
        self.assertIn("1 new commit", record["link"])

    def test_a_branch_set_back(self):
        self.inside("git update-ref refs/heads/main HEAD~")
        record = self.listed()[f".git/{MAIN}"]
        self.assertTrue(record.get("held"), record)
        self.assertIn(".gitattributes", record["link"])

    def test_a_submodule(self):
        """Its commit is in another repository, so nobody sees what it brings."""
        self.inside(f"git update-index --add --cacheinfo 160000,{self.first},sub; git commit -qm sub")
        record = self.listed()[f".git/{MAIN}"]
        self.assertTrue(record.get("held"), record)
        self.assertIn("sub", record["link"])

    def test_a_host_with_packs_alone(self):
        self.git("pack-refs", "--all")
        self.git("gc", "-q", "--prune=never")
        record = self.reach(self.WAYS["a merge that takes half"], self.evil)
        self.assertIn(".envrc", record["link"])

    def test_a_shallow_history_of_the_host(self):
        self.put(".git/shallow", f"{self.first}\n{self.evil}\n{self.harmless}\n")
        parent = self.git("cat-file", "-p", self.first).split("parent ")[1][:40] \
            if "parent " in self.git("cat-file", "-p", self.first) else None
        self.assertIsNotNone(parent)
        os.unlink(os.path.join(self.project, ".git/objects", parent[:2], parent[2:]))
        record = self.reach(self.WAYS["a commit upon it"], self.evil)
        self.assertIn(".envrc", record["link"])
        record = self.reach(self.WAYS["a commit upon it"], self.harmless)
        self.assertFalse(record.get("held") or record.get("repository"), record)


if __name__ == "__main__":
    unittest.main(verbosity=2)
