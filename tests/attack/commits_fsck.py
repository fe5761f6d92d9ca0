#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Objects that git fsck refuses, against git fsck itself."""
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from commits import NAME, Case  # noqa: E402

WHO = b"a <a> 0 +0000"


def commit_of(tree, author=b"author " + WHO + b"\n", committer=b"committer " + WHO + b"\n",
              more=b"", body=b"\nx\n"):
    return b"tree " + tree.encode() + b"\n" + author + committer + more + body


@unittest.skipUnless(shutil.which("git"), "git is not installed")
class Fsck(Case):
    """Malformed objects. The oracle is git's own fsck in a copy of the host's repository: it refuses
    a row if and only if msp does. The rows that it accepts are the controls."""

    PEOPLE = (b"a <a> 0 +0000", b" <a> 0 +0000", b"a b <> 1 -1200", b"a <a> 1700000000 +0530",
              b"<a> 0 +0000", b"a<a> 0 +0000", b"a <a 0 +0000", b"a <<a> 0 +0000", b"a> <a> 0 +0000",
              b"a <a>0 +0000", b"a <a> 01 +0000", b"a <a> 99999999999999999999 +0000",
              b"a <a> x +0000", b"a <a> 0", b"a <a> 0 0000", b"a <a> 0 +000", b"a <a> 0 +00000",
              b"a <a> 0  +0000", b"a 0 +0000", b"")
    MODULES = (b'[submodule "a"]\n\tpath = a\n\turl = https://example.org/a\n',
               b'# note\n[submodule "a/b"]\r\n path=a\r\n url = ../a.git\r\n update = rebase\n',
               b'[submodule "a"]\nurl = -u\n', b'[submodule "a"]\npath = -p\n',
               b'[submodule "a"]\nupdate = !touch x\n', b'[submodule "../a"]\nurl = x\n',
               b'[submodule "a/.."]\nurl = x\n', b'[submodule "a"]\nURL = -u\n',
               b'[submodule "a"]\nurl = https://a%0ahost=b/\n', b'[submodule "a"]\nurl = ../../:b\n',
               b'[submodule "a"]\nurl = https:///a\n')
    # Forms that git reads and nobody writes.
    STRICTER = (b'[submodule "a"]\nurl = "-u"\n', b'[submodule "a"] url = -u\n',
                b'[submodule.a]\nurl = -u\n', b'[submodule "a"]\nurl = https://:80/a\n', b'[submodule "a"]\nurl = \\\n -u\n', b"\0")

    def rows(self):
        """Yield (title, the objects by kind and bytes): the last is the ref's. `@` before bytes is a
        function of the ids before."""
        blob = self.git("rev-parse", "HEAD:file")
        folder = self.git("rev-parse", "HEAD:scripts")
        tree = self.git("rev-parse", "HEAD^{tree}")
        raw, below = bytes.fromhex(blob), bytes.fromhex(folder)

        def entry(mode, name, of=raw):
            return mode + b" " + name + b"\0" + of

        for content in (
                entry(b"100644", b"a"), entry(b"100755", b"a"), entry(b"100664", b"a"),
                entry(b"40000", b"a", below), entry(b"160000", b"a"),
                entry(b"100644", b"a") + entry(b"100644", b"a-") + entry(b"40000", b"b", below),
                entry(b"100644", b"a-") + entry(b"40000", b"a", below),
                entry(b"100644", b"gitx"), entry(b"100644", b".gitattributes"),
                entry(b"100644", b".gitignore"), entry(b"100644", b".g\xe2\x81\x89it"),
                entry(b"0100644", b"a"), entry(b"040000", b"a", below),
                entry(b"100644", b"a") * 2, entry(b"100644", b"b") + entry(b"100644", b"a"),
                entry(b"100644", b"a") + entry(b"40000", b"a", below),
                entry(b"100644", b"a") + entry(b"100644", b"a-") + entry(b"40000", b"a", below),
                entry(b"100644", b"a") + entry(b"100644", b"a-") + entry(b"40000", b"a-", below) +
                entry(b"100644", b"a.b"),
                entry(b"40000", b"a", below) + entry(b"100644", b"a-"),
                entry(b"100644", b""), entry(b"100644", b"."), entry(b"100644", b".."),
                entry(b"100644", b"a/b"), entry(b"100644", b"a", bytes(20)),
                entry(b"160000", b"a", bytes(20)), entry(b"100644", b".git"),
                entry(b"40000", b".GIT", below), entry(b"100644", b"git~1"), entry(b"100644", b"GIT~1 ."),
                entry(b"100644", b".git. ."), entry(b"100644", b".git:x"),
                entry(b"100644", b".g\xe2\x80\x8cit"), entry(b"100644", b"\xef\xbb\xbf.giT"),
                entry(b"40000", b".gi\xe2\x81\xaft", bytes.fromhex("4b825dc642cb6eb9a060e54bf8d69288fbee4904")),
                entry(b"120000", b".gitmodules"), entry(b"120000", b"gitmod~1"),
                entry(b"120000", b"gi7eba~1"), entry(b"120000", b".gitmodules ."),
                entry(b"40000", b".gitmodules", below), entry(b"100644", b"a", raw[:-1])):
            yield repr(content), [("tree", content), ("commit", lambda ids: commit_of(ids[0]))]
        for person in self.PEOPLE:
            for field in (b"author", b"committer"):
                line = field + b" " + person + b"\n"
                yield repr(line), [("commit", commit_of(tree, **{field.decode(): line}))]
        good = commit_of(tree)
        for content in (
                commit_of(tree, more=b"gpgsig x\n y\nencoding z\n"), commit_of(tree, body=b"\nx"),
                commit_of(tree, body=b""), commit_of(tree, author=b""), commit_of(tree, committer=b""),
                commit_of(tree, author=2 * (b"author " + WHO + b"\n")), commit_of(tree, body=b"x"),
                commit_of(tree, body=b"\nx\0y\n"), commit_of(tree, more=b"a b\0c\n"),
                good.replace(b"tree ", b"tree  ", 1), good.replace(b"\nauthor", b"x\nauthor", 1),
                good.replace(b"author", b"parent x\nauthor", 1), good[46:],
                good.replace(b"author", b"parent " + self.first[:-1].encode() + b"\nauthor", 1)):
            yield repr(content), [("commit", content)]
        first = self.first.encode()
        tag = b"object " + first + b"\ntype commit\ntag v\ntagger " + WHO + b"\n\nx\n"
        for content in (
                tag, tag.replace(b"tagger " + WHO + b"\n", b""), tag.replace(b"<a>", b"<a"),
                tag.replace(b"type commit\n", b""), tag.replace(b"type commit", b"type x"),
                tag.replace(b"type commit", b"type blob"), tag.replace(b"tag v\n", b""),
                tag.replace(b"object ", b"object x"), tag.replace(b"tag v", b"tag v\0w")):
            yield repr(content), [("tag", content)]
        for content in self.MODULES:
            yield repr(content), self.with_file(b".gitmodules", content)
        for content in (b"a" * 2047 + b" text\n", b"a" * 2040 + b" text\n"):
            yield content[2039:].decode(), self.with_file(b".gitattributes", content)

    def with_file(self, name, content):
        return [("blob", content),
                ("tree", lambda ids: b"100644 " + name + b"\0" + bytes.fromhex(ids[0])),
                ("commit", lambda ids: commit_of(ids[1]))]

    def put_rows(self, rows, prefix):
        """The ids of the rows' refs, and a script that makes them."""
        refs, script = [], ""
        for number, (_, contents) in enumerate(rows):
            ids = []
            for kind, content in contents:
                write, made = self.put_object(kind, content(ids) if callable(content) else content)
                script += write
                ids.append(made)
            kind = "tags" if contents[-1][0] == "tag" else "heads"
            refs.append(f"{kind}/{prefix}{number}")
            script += f"echo {ids[-1]} > .git/refs/{refs[-1]}\n"
        return refs, script

    def is_refused_by_git(self, row):
        copy = os.path.join(self.state, "copy")
        shutil.copytree(self.project, copy)
        _, script = self.put_rows([row], "x")
        subprocess.run(["bash", "-c", script], cwd=copy, check=True)
        result = subprocess.run(["git", "-C", copy, "fsck", "--strict", "--no-dangling"], check=False,
                                capture_output=True, env={"PATH": os.environ["PATH"], "HOME": "/none"})
        shutil.rmtree(copy)
        return result.returncode != 0, result.stderr

    def test_as_git_does(self):
        rows = list(self.rows())
        refs, script = self.put_rows(rows, "r")
        self.put("script", script)
        self.inside("bash script")
        os.unlink(os.path.join(self.project, "script"))
        listed = self.listed()
        refused = 0
        for row, ref in zip(rows, refs):
            with self.subTest(row[0]):
                record = listed[f".git/refs/msp/{NAME}/" + ref.replace("heads/", "")]
                wanted, said = self.is_refused_by_git(row)
                self.assertEqual(bool(record.get("repository")), wanted, (record, said))
                refused += wanted
        self.assertGreater(refused, 50)
        self.apply("--held", code=None)
        self.assertEqual(len(self.host_refs()), 1 + len(rows) - refused)
        self.git("fsck", "--strict", "--no-dangling")

    def test_stricter_than_git(self):
        rows = [(repr(content), self.with_file(b".gitmodules", content)) for content in self.STRICTER]
        refs, script = self.put_rows([*rows, ("", self.with_file(b".gitmodules", self.MODULES[0]))], "r")
        self.inside(script)
        listed = self.listed()
        for ref in refs:
            record = listed[f".git/refs/msp/{NAME}/" + ref.replace("heads/", "")]
            self.assertEqual(bool(record.get("repository")), ref != refs[-1], (ref, record))


if __name__ == "__main__":
    unittest.main(verbosity=2)
