#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A hostile repository in a persistent sandbox: its index, objects, packs and commits are read by
msp-layers and brought to the host's repository. Each attack has a control: the same act works on the
host by hand, or the same way works for a harmless commit."""
import hashlib
import json
import os
import shutil
import struct
import sys
import time
import unittest
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "integration"))
from persistent_support import PersistentCase, git, msp  # noqa: E402

HOOK = ".git/hooks/post-checkout"
SETUP = """
cd /workspace
printf '[user]\\nname=Agent\\nemail=agent@example.org\\n[safe]\\ndirectory=/workspace\\n' > ~/.gitconfig
printf '[gc]\\nauto=0\\n' >> ~/.gitconfig
"""
NAME = "box"
MAIN = f"refs/msp/{NAME}/main"


def loose(kind, content):
    """(id, the bytes of the loose object)."""
    whole = f"{kind} {len(content)}".encode() + b"\0" + content
    return hashlib.sha1(whole).hexdigest(), zlib.compress(whole)


def index_with(path, blob):
    """A git index with one entry."""
    name = path.encode()
    entry = struct.pack(">10I", 0, 0, 0, 0, 0, 0, 0o100755, 0, 0, 0) + bytes.fromhex(blob) + \
        struct.pack(">H", len(name)) + name
    entry += b"\0" * (8 - len(entry) % 8)
    head = b"DIRC" + struct.pack(">II", 2, 1) + entry
    return head + hashlib.sha1(head).digest()


# A pack of a MiB at random and of deltas of a few bytes, each of which repeats it; the tree on stdout.
DELTAS = """
import hashlib, os, struct, sys, zlib
def number(n):
    out = b""
    while n >> 7:
        out += bytes([n & 127 | 128]); n >>= 7
    return out + bytes([n])
def head(kind, n):
    first, n = kind << 4 | n & 15, n >> 4
    return bytes([first | 128]) + number(n) if n else bytes([first])
def blob(first, times):
    hash = hashlib.sha1(b"blob %d\\0" % (len(first) + len(base) * times) + first)
    for _ in range(times):
        hash.update(base)
    return hash.digest()
base = os.urandom(1 << 20)
count, times = int(sys.argv[1]), int(sys.argv[2])
pack = b"PACK" + struct.pack(">II", 2, count + 1)
rows = [(blob(b"", 1), len(pack))]
pack += head(3, len(base)) + zlib.compress(base, 0)
for i in range(count):
    delta = number(len(base)) + number(1 + times * len(base)) + bytes([1, i]) + b"\\xc0\\x10" * times
    rows.append((blob(bytes([i]), times), len(pack)))
    print("100644 blob %s\\tf%d" % (rows[-1][0].hex(), i))
    pack += head(7, len(delta)) + rows[0][0] + zlib.compress(delta)
pack += hashlib.sha1(pack).digest()
rows.sort()
index = b"\\xfftOc" + struct.pack(">I", 2) + b"".join(
    struct.pack(">I", sum(row[0][0] <= i for row in rows)) for i in range(256))
index += b"".join(row[0] for row in rows) + bytes(4 * len(rows))
index += b"".join(struct.pack(">I", row[1]) for row in rows) + pack[-20:]
for name, data in (("pack", pack), ("idx", index + hashlib.sha1(index).digest())):
    with open(".git/objects/pack/pack-%s.%s" % (pack[-20:].hex(), name), "wb") as file:
        file.write(data)
"""

# Trees in one another, each with the next one five times: 5 ** levels paths.
TREES = """
import subprocess, sys
def run(*words, text=b""):
    return subprocess.run(["git", *words], input=text, capture_output=True, check=True).stdout.strip()
tree = run("mktree", text=b"100644 blob %s\\tx\\n" % run("rev-parse", "HEAD:file"))
for level in range(int(sys.argv[1])):
    tree = run("mktree", text=b"".join(b"040000 tree %s\\t%d%s\\n" % (tree, i, 200 * b"b")
                                       for i in range(5)))
print(tree.decode())
"""


@unittest.skipUnless(shutil.which("git"), "git is not installed")
class Case(PersistentCase):
    def setUp(self):
        super().setUp()
        self.put("file", "one\n")
        self.put("scripts/known.sh", "#!/bin/sh\necho known\n", mode=0o755)
        git(self.project, "init", "-q")
        git(self.project, "add", "-A")
        git(self.project, "commit", "-qm", "first")
        self.first = self.git("rev-parse", "HEAD")
        self.create("--name", NAME)

    def git(self, *arguments, **keywords):
        return git(self.project, *arguments, **keywords).decode().strip()

    def inside(self, script):
        return self.sh(NAME, SETUP + script)

    def apply(self, *arguments, code=0):
        return msp("apply", NAME, *arguments, code=code)

    def listed(self):
        """{path: record} of a preview."""
        found = json.loads(msp("apply", NAME, "--preview", "--json", code=None).stdout)
        return {record["path"]: record for record in found["changes"]}

    def host_refs(self):
        return self.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()

    def assert_nothing_crossed(self):
        """The host's repository is as it was."""
        self.assertEqual(self.host_refs(), [f"refs/heads/main {self.first}"])
        self.assertEqual(self.git("rev-parse", "HEAD"), self.first)
        self.git("fsck", "--strict")

    def commit_by_hand(self, tree, message="by hand"):
        """A shell script that makes a commit of a tree's id and moves main there."""
        return f"""
commit=$(echo {message} | git commit-tree {tree} -p {self.first})
git update-ref refs/heads/main $commit
"""

    def put_object(self, kind, content):
        """A shell script that writes a loose object which git may refuse to make; and its id."""
        name, data = loose(kind, content)
        octal = "".join(f"\\{byte:03o}" for byte in data)
        return f"""
mkdir -p .git/objects/{name[:2]}
printf '%b' '{octal.replace(chr(92), chr(92) + '0')}' > .git/objects/{name[:2]}/{name[2:]}
""", name


class Crossing(Case):
    """The control of all: ordinary work with git arrives, as objects and refs."""

    def test_a_commit(self):
        self.inside("echo two >> file; git commit -qam second; git tag -a -m note v1; "
                    "git checkout -q -b topic/x; echo three > new; git add new; "
                    "git commit -qm third")
        index = self.get(".git/index")
        inside = dict(line.split() for line in self.inside(
            "git for-each-ref --format='%(refname) %(objectname)'").splitlines())
        self.apply()
        refs = dict(line.split() for line in self.host_refs())
        self.assertEqual(refs, {"refs/heads/main": self.first,
                                MAIN: inside["refs/heads/main"],
                                f"refs/msp/{NAME}/topic/x": inside["refs/heads/topic/x"],
                                f"refs/msp/{NAME}/tags/v1": inside["refs/tags/v1"]})
        self.assertEqual(self.get(".git/index"), index)
        self.assertEqual(self.git("symbolic-ref", "HEAD"), "refs/heads/main")
        self.git("fsck", "--strict", "--no-dangling")
        self.assertEqual(self.git("show", f"refs/msp/{NAME}/topic/x:new"), "three")
        self.assertFalse(os.path.exists(os.path.join(self.project, "new")))
        self.apply(code=None)
        self.assertEqual(dict(line.split() for line in self.host_refs()), refs)
        self.git("merge", "-q", f"refs/msp/{NAME}/topic/x")
        self.assertEqual(self.get("new"), b"three\n")

    def test_packed_and_collected(self):
        self.inside("for i in $(seq 12); do seq $i 400 > file; git commit -qam $i; done; "
                    "git gc -q --aggressive; git pack-refs --all")
        inside = self.inside("git rev-parse main").strip()
        self.apply()
        self.assertEqual(self.git("rev-parse", MAIN), inside)
        self.assertEqual(self.git("rev-list", "--count", MAIN), "13")
        self.git("fsck", "--strict")
        self.assertFalse(os.listdir(os.path.join(self.project, ".git/objects/pack")))

    def test_over_the_hosts_own_packs(self):
        for number in range(8):
            self.put("file", "".join(f"{line}\n" for line in range(number, 300)))
            git(self.project, "commit", "-qam", str(number))
        git(self.project, "gc", "-q", "--aggressive")
        self.first = self.git("rev-parse", "HEAD")
        self.inside("echo x >> file; git commit -qam more; git checkout -q -b side HEAD~5; "
                    "echo y > side; git add side; git commit -qm side; git checkout -q main; "
                    "git merge -q --no-edit side")
        inside = self.inside("git rev-parse main").strip()
        self.assertIn("3 new commits", self.listed()[f".git/{MAIN}"]["link"])
        self.apply()
        self.assertEqual(self.git("rev-parse", MAIN), inside)
        self.git("fsck", "--strict")

    def test_undo(self):
        self.inside("echo two >> file; git commit -qam second")
        before = self.git("count-objects")
        self.apply()
        self.assertEqual(len(self.host_refs()), 2)
        result = msp("undo", NAME)
        self.assertNotIn("objects", result.stdout)
        self.assert_nothing_crossed()
        self.assertEqual(self.git("count-objects"), before)

    def test_undo_of_what_the_host_uses_meanwhile(self):
        self.inside("echo two >> file; git commit -qam second; echo x > x; git add x; "
                    "git commit -qm third")
        self.apply()
        self.git("update-ref", MAIN, MAIN + "~")
        msp("undo", NAME, code=1)
        self.assertEqual(len(self.host_refs()), 2)
        self.git("fsck", "--strict")
        self.assertEqual(self.get("file"), b"one\n")

    def test_without_the_ref_among_the_paths(self):
        self.inside("echo two >> file; git commit -qam second")
        self.apply("file")
        self.assertEqual(self.get("file"), b"one\ntwo\n")
        self.assert_nothing_crossed()

    def test_a_detached_commit(self):
        self.inside("git checkout -q --detach; echo two >> file; git commit -qam second")
        self.apply()
        self.assertEqual(len(self.host_refs()), 2)
        self.assertIn(f"refs/msp/{NAME}/HEAD", self.host_refs()[1])


class Index(Case):
    """T25: an index that names files in .git, above the project, or anywhere."""

    def test_an_index_that_names_a_hook(self):
        self.put("payload", "#!/bin/sh\ntouch evil\n", mode=0o755)
        git(self.project, "add", "payload")
        git(self.project, "commit", "-qm", "payload")
        self.first = self.git("rev-parse", "HEAD")
        blob = self.git("rev-parse", "HEAD:payload")
        for path in (HOOK, "../beside", os.path.join(self.state, "absolute")):
            with self.subTest(path):
                crafted = index_with(path, blob)
                self.put("crafted", crafted)
                self.inside("cp crafted .git/index")
                os.unlink(os.path.join(self.project, "crafted"))
                before = self.get(".git/index")
                self.apply(code=None)
                self.apply("--held", code=None)
                self.assertEqual(self.get(".git/index"), before)
                git(self.project, "restore", ".", check=False)
                self.assertFalse(os.path.exists(os.path.join(self.project, HOOK)))

    def test_the_index_would_do_it(self):
        """The control: the same bytes, brought by hand."""
        self.put("payload", "#!/bin/sh\ntouch evil\n", mode=0o755)
        blob = self.git("hash-object", "-w", "payload")
        self.put(".git/index", index_with(HOOK, blob))
        git(self.project, "restore", ".", check=False)
        self.assertTrue(os.path.exists(os.path.join(self.project, HOOK)))

    def test_nothing_else_of_a_repository(self):
        """Hooks, configuration and what a rebase would run stay, with and without a word."""
        self.inside("""
echo evil > .git/hooks/pre-push
git config core.fsmonitor 'touch evil'
mkdir -p .git/rebase-merge; echo 'exec touch evil' > .git/rebase-merge/git-rebase-todo
echo ../elsewhere > .git/objects/info/alternates
echo '* filter=evil' > .git/info/attributes
echo 'ref: refs/heads/other' > .git/HEAD
mkdir -p nested/.git/hooks; echo evil > nested/.git/hooks/pre-push
echo 'gitdir: ../elsewhere' > gitfile; mkdir sub; mv gitfile sub/.git
mkdir .GIT; echo evil > .GIT/config
echo control > control
""")
        names = (".git/hooks/pre-push", ".git/rebase-merge", ".git/objects/info/alternates",
                 ".git/info/attributes", "nested/.git", "sub/.git", ".GIT")
        before = {name: self.get(f".git/{name}") for name in ("config", "HEAD", "index")}
        for words in ((), ("--held",)):
            result = self.apply(*words, code=None)
            self.assertEqual(self.get("control"), b"control\n")
            for name in names:
                self.assertFalse(os.path.lexists(os.path.join(self.project, name)), name)
            self.assertEqual({name: self.get(f".git/{name}") for name in before}, before)
            self.assertIn(".git/hooks/pre-push", result.stdout)
            self.assertIn(".git/config", result.stdout)
            self.assertIn("nested/.git", result.stdout)


class Commits(Case):
    """T26: files that the host executes, in a commit instead of the work tree."""

    def assert_held(self, *names):
        record = self.listed()[f".git/{MAIN}"]
        self.assertTrue(record.get("held"), record)
        for name in names:
            self.assertIn(name, record["link"])
        self.apply(code=None)
        self.assert_nothing_crossed()
        self.apply("--held", code=None)
        self.assertTrue(any(line.startswith(MAIN) for line in self.host_refs()))
        self.git("fsck", "--strict")

    def test_added_and_gone_from_the_work_tree(self):
        self.inside("mkdir -p .github/workflows .vscode; echo evil > .github/workflows/x.yml; "
                    "echo evil > .vscode/tasks.json; echo evil > .envrc; git add -A; "
                    "git commit -qm evil; rm -r .github .vscode .envrc")
        self.assert_held(".github/workflows/x.yml", ".vscode/tasks.json", ".envrc")

    def test_only_between_two_commits(self):
        self.inside("echo evil > .envrc; git add -A; git commit -qm evil; git rm -q .envrc; "
                    "git commit -qm clean")
        self.assert_held(".envrc")

    def test_in_a_side_that_is_merged(self):
        self.inside("git checkout -q -b side; echo evil > .envrc; git add -A; "
                    "git commit -qm evil; git checkout -q main; echo x > x; git add x; "
                    "git commit -qm x; git merge -q -s ours --no-edit side")
        self.assert_held(".envrc")

    def test_in_the_merge_itself(self):
        self.inside("git checkout -q -b side; echo y > y; git add y; git commit -qm y; "
                    "git checkout -q main; echo x > x; git add x; git commit -qm x; "
                    "git merge -q --no-commit side; echo evil > .envrc; git add .envrc; "
                    "git commit -qm merged; git branch -D side")
        self.assert_held(".envrc")

    def test_content_that_the_host_has(self):
        self.inside("cp scripts/known.sh .envrc; cp -r scripts .husky; git add -A; "
                    "git commit -qm evil")
        self.assert_held(".envrc", ".husky/known.sh")

    def test_a_root_commit(self):
        self.inside("git checkout -q --orphan other; echo evil > .envrc; git add -A; "
                    "git commit -qm evil; git branch -M main")
        self.assert_held(".envrc")

    def test_a_link_to_such_a_file(self):
        self.inside("ln -s .git/hooks/pre-push harmless; git add -A; git commit -qm evil")
        self.assert_held("harmless")

    def test_packed(self):
        self.inside("echo evil > .envrc; git add -A; git commit -qm evil; git rm -q .envrc; "
                    "git commit -qm clean; git gc -q; git pack-refs --all")
        self.assert_held(".envrc")

    def test_a_tag_alone(self):
        self.inside("echo evil > .envrc; git add -A; git commit -qm evil; git tag -a -m t v1; "
                    f"git reset -q --hard {self.first}")
        record = self.listed()[f".git/refs/msp/{NAME}/tags/v1"]
        self.assertTrue(record.get("held"), record)
        self.apply(code=None)
        self.assert_nothing_crossed()


class Objects(Case):
    """T32: objects that are not what their names say, and trees that git would refuse."""

    def assert_refused(self):
        record = self.listed()[f".git/{MAIN}"]
        self.assertTrue(record.get("repository"), record)
        self.apply(code=None)
        self.apply("--held", code=None)
        self.assert_nothing_crossed()

    def test_an_object_of_the_hosts_is_replaced(self):
        blob = self.git("rev-parse", "HEAD:file")
        path = f".git/objects/{blob[:2]}/{blob[2:]}"
        before = self.get(path)
        evil = loose("blob", b"evil\n")[1]
        self.put("evil", evil)
        self.inside(f"chmod u+w {path}; cat evil > {path}; rm evil; echo new > new; "
                    "git add new; git commit -qm second")
        self.apply(code=None)
        self.assertEqual(self.get(path), before)
        self.git("fsck", "--strict")

    def test_a_new_object_with_another_content(self):
        self.inside("echo two > file; git commit -qam second; "
                    "new=$(git rev-parse HEAD:file); old=$(git rev-parse HEAD~:file); "
                    "path() { echo .git/objects/${1:0:2}/${1:2}; }; "
                    "chmod u+w $(path $new); cat $(path $old) > $(path $new)")
        self.assert_refused()

    def test_an_index_of_a_pack_that_lies(self):
        self.inside("for i in 1 2 3; do echo $i > file; git commit -qam $i; done; git gc -q")
        script = """
import glob, hashlib
path, = glob.glob(".git/objects/pack/*.idx")
data = bytearray(open(path, "rb").read())
count = int.from_bytes(data[8 + 1020:8 + 1024], "big")
at = 8 + 1024 + 24 * count
first, last = data[at:at + 4], data[at + 4 * (count - 1):at + 4 * count]
data[at:at + 4], data[at + 4 * (count - 1):at + 4 * count] = last, first
data[-20:] = hashlib.sha1(data[:-20]).digest()
import os
os.chmod(path, 0o644)
open(path, "wb").write(data)
"""
        self.inside(f"python3 - <<'E'\n{script}\nE\n")
        record = self.listed().get(f".git/{MAIN}")
        self.apply(code=None)
        refs = self.host_refs()
        if record and record.get("repository"):
            self.assertEqual(len(refs), 1)
        self.git("fsck", "--strict")

    def test_a_missing_object(self):
        self.inside("echo two > file; git commit -qam second; new=$(git rev-parse HEAD:file); "
                    "rm .git/objects/${new:0:2}/${new:2}")
        self.assert_refused()

    def assert_refused_trees(self, contents):
        """Each tree is the commit of a branch, and none of these crosses; the branch of a harmless
        commit beside them does, as the control."""
        script = ""
        for number, content in enumerate(contents):
            write, tree = self.put_object("tree", content)
            write_commit, commit = self.put_object(
                "commit", f"tree {tree}\nparent {self.first}\nauthor a <a> 0 +0000\n"
                          f"committer a <a> 0 +0000\n\nx\n".encode())
            script += write + write_commit + f"echo {commit} > .git/refs/heads/b{number}\n"
        self.inside(script + "echo two >> file; git commit -qam second")
        listed = self.listed()
        for number, content in enumerate(contents):
            with self.subTest(content):
                record = listed[f".git/refs/msp/{NAME}/b{number}"]
                self.assertTrue(record.get("repository"), record)
        self.apply(code=None)
        self.apply("--held", code=None)
        self.assertEqual([line.split()[0] for line in self.host_refs()], ["refs/heads/main", MAIN])
        self.git("fsck", "--strict")

    def test_names_that_git_would_refuse(self):
        blob = bytes.fromhex(self.git("rev-parse", "HEAD:file"))
        self.assert_refused_trees([
            b"100644 " + name + b"\0" + blob
            for name in (b".git", b"..", b".", b".GIT", b"git~1", b".git ", b"a/b", b".git::$INDEX",
                         b"a\\b", b"", b".g\xe2\x80\x8cit")])

    def test_modes_and_orders_that_git_would_refuse(self):
        blob = bytes.fromhex(self.git("rev-parse", "HEAD:file"))
        self.assert_refused_trees([
            b"100644 a\0" + blob + b"100644 a\0" + blob,
            b"100644 b\0" + blob + b"100644 a\0" + blob, b"104755 a\0" + blob,
            b"020000 a\0" + blob, b"100644 a\0" + blob[:-1], b"0100644 a\0" + blob])

    def test_what_is_no_file(self):
        """A FIFO and a link in the place of objects and refs do not stop or mislead the reader."""
        self.inside("echo two > file; git commit -qam second; new=$(git rev-parse HEAD:file); "
                    "path=.git/objects/${new:0:2}/${new:2}; mv $path object; mkfifo $path; "
                    "mkfifo .git/refs/heads/fifo; ln -s /etc/passwd .git/refs/heads/link; "
                    "ln -s main .git/refs/heads/alias")
        self.assert_refused()
        self.inside("new=$(git rev-parse HEAD:file); path=.git/objects/${new:0:2}/${new:2}; "
                    "rm $path; mv object $path; rm .git/refs/heads/fifo")
        self.apply(code=None)
        self.assertEqual(len(self.host_refs()), 2)

    def test_a_bomb(self):
        """An object that says it is small, and one that is too large."""
        whole = b"blob 5\0" + b"x" * 1000000
        name = hashlib.sha1(whole).hexdigest()
        self.put("bomb", zlib.compress(whole))
        self.inside(f"mkdir -p .git/objects/{name[:2]}; "
                    f"cp bomb .git/objects/{name[:2]}/{name[2:]}; "
                    f"tree=$(printf '100644 blob {name}\\tfile\\n' | git mktree --missing)\n"
                    + self.commit_by_hand("$tree"))
        self.assert_refused()


class Amounts(Case):
    """Few bytes in the sandbox that are many on the host."""

    def crossed(self, program, *numbers, tree="cat"):
        """Did a commit of what the program makes cross? The sandbox has some 2 MiB."""
        self.inside(f"cat > /tmp/make.py <<'E'\n{program}\nE\n"
                    f"python3 /tmp/make.py {' '.join(map(str, numbers))} | {tree} > /tmp/tree\n" +
                    self.commit_by_hand("$(cat /tmp/tree)"))
        begin = time.monotonic()
        result = self.apply(code=None)
        self.assertLess(time.monotonic() - begin, 60)
        crossed = any(line.startswith(MAIN) for line in self.host_refs())
        if not crossed:
            self.assertIn("more than 512 MiB, 200,000 objects, 32 MiB", result.stdout)
        return crossed

    def test_deltas_that_grow(self):
        self.assertFalse(self.crossed(DELTAS, 6, 86, tree="git mktree"))
        self.assert_nothing_crossed()

    def test_deltas_that_grow_little(self):
        """The control."""
        self.assertTrue(self.crossed(DELTAS, 2, 10, tree="git mktree"))
        self.git("fsck", "--strict")
        self.assertEqual(self.git("cat-file", "-s", f"{MAIN}:f1"), str(1 + (10 << 20)))

    def test_trees_that_grow(self):
        self.assertFalse(self.crossed(TREES, 12))
        self.assert_nothing_crossed()

    def test_trees_in_one_another(self):
        """A kilobyte of trees without a file, and so without a path: 2 ** 30 directories. Neither the
        listing nor the apply of all else ends with it."""
        def nested(levels):
            write, tree = self.put_object("tree", b"")
            script = write
            for _ in range(levels):
                write, tree = self.put_object("tree", b"".join(
                    b"40000 %s\0%s" % (name, bytes.fromhex(tree)) for name in (b"a", b"b")))
                script += write
            return script + f"git update-ref refs/heads/t{levels} " \
                            f"$(echo x | git commit-tree {tree} -p {self.first})\n"
        self.inside(nested(30) + nested(5) + "echo new > new")
        listed = self.listed()
        self.assertIn("trees again", listed[f".git/refs/msp/{NAME}/t30"]["link"])
        self.apply(code=None)
        self.assertEqual(self.get("new"), b"new\n")
        self.assertEqual([line.split()[0] for line in self.host_refs()],
                         ["refs/heads/main", f"refs/msp/{NAME}/t5"])

    def test_trees_that_grow_little(self):
        """The control: 125 paths."""
        self.assertTrue(self.crossed(TREES, 3))

    def test_many_refs(self):
        """Those beyond the bound stay; all else goes on, and they come by their names."""
        self.inside("for i in $(seq 300); do echo update refs/heads/b$i HEAD; done | "
                    "git update-ref --stdin; echo new > new")
        listed = self.listed()
        self.assertIn("new", listed)
        rest = [record for record in listed.values() if "beyond the first 256" in
                str(record.get("link"))]
        self.assertEqual(len(rest), 1, listed)
        self.assertIn("one of 44 ", rest[0]["link"])
        self.assertTrue(rest[0].get("repository"))
        self.apply(code=None)
        self.assertEqual(self.get("new"), b"new\n")
        self.assertEqual(len(self.host_refs()), 257)
        self.apply(code=None)
        self.assertEqual(len(self.host_refs()), 301)

    def test_many_packed_refs(self):
        self.inside("for i in $(seq 300); do echo update refs/heads/b$i HEAD; done | "
                    "git update-ref --stdin; git pack-refs --all; "
                    "for i in $(seq 20000); do echo " + self.first + " refs/tags/t$i; done | "
                    "sort -k 2 > /tmp/tags; cat /tmp/tags >> .git/packed-refs; echo new > new")
        self.apply(code=None)
        self.assertEqual(self.get("new"), b"new\n")
        self.assertEqual(len(self.host_refs()), 257)

    def test_what_two_refs_need_is_fetched_once(self):
        self.inside("echo two >> file; git commit -qam second; git branch other; git branch third")
        before = int(self.git("count-objects").split()[0])
        self.apply()
        self.assertEqual(len(self.host_refs()), 4)
        self.assertEqual(int(self.git("count-objects").split()[0]), before + 3)
        self.git("fsck", "--strict")


if __name__ == "__main__":
    unittest.main(verbosity=2)
