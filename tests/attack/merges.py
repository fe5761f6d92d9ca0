#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A sandbox that wants to choose the base of a merge: with the host's version as base, its own side
would win and the host's change be lost. The control shows that the sandbox's repository is searched: the
true version, committed in there alone, is found."""
import json
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "integration"))
from persistent_support import PersistentCase, git, msp  # noqa: E402

BASE = "".join(f"line {number}\n" for number in range(1, 10))
HOST = BASE.replace("line 2\n", "the host's\n")
BOX = BASE.replace("line 8\n", "the sandbox's\n")
MERGED = HOST.replace("line 8\n", "the sandbox's\n")
COMMIT = "git -c user.name=a -c user.email=a@example.org -c safe.directory=/workspace commit -qam {}"


@unittest.skipUnless(shutil.which("git"), "git is not installed")
class ForgedBase(PersistentCase):
    def begin(self, committed):
        self.put("file", committed)
        git(self.project, "init", "-q")
        git(self.project, "add", "-A")
        git(self.project, "commit", "-qm", "first")
        self.put("file", BASE)
        self.box = self.create()

    def write(self, text):
        """The sandbox's version, not committed."""
        self.sh(self.box, f"cat > file <<'END'\n{text}END")

    def apply(self):
        done = msp("apply", self.box, "file", "--conflict=merge", "--markers", "--json", code=None)
        return {record["path"]: record for record in json.loads(done.stdout)["changes"]}["file"]

    def test_a_version_that_is_not_the_base_is_none(self):
        """The base is in no commit of the host, and the sandbox offers the host's version."""
        self.begin("never seen\n")
        self.write(HOST)
        self.sh(self.box, COMMIT.format("forged"))
        self.write(BOX)
        self.put("file", HOST)
        self.assertEqual(self.apply()["unmerged"], "no base")
        self.assertEqual(self.get("file").decode(), HOST)

    def test_control_the_base_in_the_sandboxs_commits_is_found(self):
        self.begin("never seen\n")
        self.sh(self.box, COMMIT.format("true"))
        self.write(BOX)
        self.put("file", HOST)
        self.assertTrue(self.apply()["merged"])
        self.assertEqual(self.get("file").decode(), MERGED)

    def test_a_newer_commit_does_not_hide_the_base(self):
        self.begin(BASE)
        self.write(HOST)
        self.sh(self.box, COMMIT.format("forged"))
        self.write(BOX)
        self.put("file", HOST)
        self.assertTrue(self.apply()["merged"])
        self.assertEqual(self.get("file").decode(), MERGED)

    def test_an_object_under_the_id_of_another_is_none(self):
        """The forged version lies where git looks for the base."""
        self.begin("never seen\n")
        self.sh(self.box, COMMIT.format("true"))
        self.write(HOST)
        forge = """
import hashlib, os, zlib
data = {{}}
for name in ("base", "forged"):
    with open(name, "rb") as file:
        data[name] = b"blob %d\\0" % os.path.getsize(name) + file.read()
at = hashlib.sha1(data["base"]).hexdigest()
path = ".git/objects/%s/%s" % (at[:2], at[2:])
os.chmod(path, 0o644)
with open(path, "wb") as file:
    file.write(zlib.compress(data["forged"]))
"""
        self.sh(self.box, f"git cat-file blob HEAD:file > base; cp file forged; python3 - <<'END'\n"
                f"{forge.format()}END\nrm base forged")
        self.write(BOX)
        self.put("file", HOST)
        self.assertEqual(self.apply()["unmerged"], "no base")
        self.assertEqual(self.get("file").decode(), HOST)


if __name__ == "__main__":
    unittest.main(verbosity=2)
