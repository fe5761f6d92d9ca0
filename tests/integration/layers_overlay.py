#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What msp-layers says of layers that a real overlayfs wrote is what a comparison of the mounted
tree with the host's says. Random changes, from a seed that is printed; MSP_SEED repeats one."""
import errno
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import layers_support as layers

INSIDE = "MSP_TEST_NAMESPACE"
SEED = int(os.environ.get("MSP_SEED") or random.SystemRandom().randrange(1 << 32))
ROUNDS = int(os.environ.get("MSP_ROUNDS") or 12)
CHANGES = 60  # of a state

NAMES = [b"a", b"b", b"c.txt", b"a-b", b"a.b", b"line\nbreak", b"\xff\xfe", b"sp ace", b'quo"te',
         b"back\\slash", b"tab\there", "é".encode(), b"Makefile", b"-option", b"deep"]


def mounted(lowers, upper, work, at):
    escaped = ":".join(lowers)
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o",
                    f"userxattr,lowerdir={escaped},upperdir={upper},workdir={work}", at],
                   check=True)


def leads_to_itself(path):
    try:
        os.stat(path)
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


class Tree:
    """Random changes of a directory, as a workload's."""

    def __init__(self, root, dice):
        self.root, self.dice = os.fsencode(root), dice

    def paths(self, wanted):
        """Those of directories ("d"), of all else ("f") or of both."""
        found = []
        for folder, folders, files in os.walk(self.root):
            links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
            if "d" in wanted:
                found += [os.path.join(folder, name) for name in folders if name not in links]
            if "f" in wanted:
                found += [os.path.join(folder, name) for name in files + links]
        return sorted(found)

    def pick(self, wanted):
        paths = self.paths(wanted)
        return self.dice.choice(paths) if paths else None

    def free(self):
        folder = self.pick("d") if self.dice.random() < 0.7 else self.root
        path = os.path.join(folder or self.root, self.dice.choice(NAMES))
        return None if os.path.lexists(path) else path

    def content(self):
        if self.dice.random() < 0.1:
            return self.dice.randbytes(self.dice.randrange(300)) + b"\0"
        lines = [self.dice.choice([b"one", b"two", b"  three", b"}", b"", b"int f(void)"])
                 for _ in range(self.dice.randrange(40))]
        return b"\n".join(lines) + (b"\n" if self.dice.random() < 0.8 else b"")

    def write(self, path):
        with open(path, "wb") as file:
            file.write(self.content())

    def add(self):
        path = self.free()
        if path:
            self.write(path)

    def add_folder(self):
        path = self.free()
        if path and path.count(b"/") < 12:
            os.mkdir(path)

    def add_link(self):
        path = self.free()
        if path:
            os.symlink(self.dice.choice([b"a", b"../b", b"/etc", b"no such\n", b"c.txt"]), path)

    def change_link(self):
        links = [path for path in self.paths("f") if os.path.islink(path)]
        if links:
            path = self.dice.choice(links)
            os.unlink(path)
            os.symlink(b"elsewhere/%d" % self.dice.randrange(5), path)

    def add_name(self):
        old, new = self.pick("f"), self.free()
        if old and new and not os.path.islink(old):
            os.link(old, new)

    def change(self):
        path = self.pick("f")
        if path and not os.path.islink(path):
            with open(path, "r+b") as file:
                data = file.read()
                at = self.dice.randrange(len(data) + 1)
                file.seek(at)
                file.write(self.dice.choice([b"", b"new line\n", data[:at], b"x"]))
                if self.dice.random() < 0.3:
                    file.truncate()

    def copy_up_only(self):
        path = self.pick("f")
        if path and not os.path.islink(path):
            os.utime(path)

    def mode(self):
        path = self.pick("df")
        if path and not os.path.islink(path):
            os.chmod(path, self.dice.choice([0o755, 0o700, 0o750] if os.path.isdir(path)
                                            else [0o644, 0o755, 0o600, 0o666]))

    def delete(self):
        path = self.pick("f")
        if path:
            os.unlink(path)

    def delete_tree(self):
        path = self.pick("d")
        if path:
            shutil.rmtree(path)

    def make_again(self):
        path = self.pick("d")
        if path:
            shutil.rmtree(path)
            os.mkdir(path)
            self.write(os.path.join(path, self.dice.choice(NAMES)))

    def move(self):
        old, new = self.pick("df"), self.free()
        if old and new and not new.startswith(old + b"/"):
            # It copies what overlayfs does not rename.
            shutil.move(os.fsdecode(old), os.fsdecode(new))

    def replace(self):
        path = self.pick("df")
        if not path:
            return
        was_folder = os.path.isdir(path) and not os.path.islink(path)
        shutil.rmtree(path) if was_folder else os.unlink(path)
        choice = self.dice.random()
        if choice < 0.4 and not was_folder:
            os.mkdir(path)
            self.write(os.path.join(path, b"inside"))
        elif choice < 0.8:
            self.write(path)
        else:
            os.symlink(b"target", path)

    def disturb(self, count):
        acts = [self.add, self.change, self.move] * 5 + [self.add_folder, self.mode] * 3
        acts += [self.delete, self.change_link] * 2
        acts += [self.add_link, self.add_name, self.copy_up_only, self.delete_tree]
        acts += [self.make_again, self.replace]
        for _ in range(count):
            self.dice.choice(acts)()


def expected(old, new):
    """path -> kind, of two listings; renames are two."""
    found = {}
    for path in set(old) | set(new):
        before, after = old.get(path), new.get(path)
        if before == after:
            continue
        if not before or not after:
            found[path] = "added" if after else "deleted"
        elif before[0] != after[0]:
            found[path] = "type"
        elif before[2] != after[2]:
            found[path] = "symlink" if after[0] == "link" else "modified"
        else:
            found[path] = "mode"
    return found


def told(changes):
    """The same of what was told, a rename as two."""
    found = {}
    for change in changes:
        if change.kind == "renamed":
            found[change.old_path] = "deleted"
        found[change.path] = "added" if change.kind == "renamed" else change.kind
    return found


class Overlay(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="msp-overlay-")
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", self.root], check=True)
        self.addCleanup(lambda: (subprocess.run(["umount", "-R", self.root], check=True),
                                 os.rmdir(self.root)))
        self.layers = []  # the highest first
        self.counts = {}
        self.clear()

    def path(self, *names):
        return os.path.join(self.root, *names)

    def disturb_by(self, act):
        """A state more on those that there are. Returns what it shows."""
        layer = self.path(f"layer{len(self.layers)}")
        for name in ("", "workspace", "work-workspace"):
            os.mkdir(os.path.join(layer, name))
        lowers = [os.path.join(below, "workspace") for below in self.layers] + [self.path("host")]
        mounted(lowers, os.path.join(layer, "workspace"), os.path.join(layer, "work-workspace"),
                self.path("merged"))
        try:
            act(self.path("merged"))
            shown = layers.listing(self.path("merged"))
        finally:
            subprocess.run(["umount", self.path("merged")], check=True)
        self.layers.insert(0, layer)
        return shown

    def add_layer(self, dice):
        return self.disturb_by(lambda merged: Tree(merged, dice).disturb(CHANGES))

    def check(self, old, new, changes):
        self.assertEqual(told(changes), expected(old, new))
        for change in changes:
            self.counts[change.kind] = self.counts.get(change.kind, 0) + 1
            before = old.get(change.old_path or change.path)
            after = new.get(change.path)
            for side, mode, size in ((before, change.old_mode, change.old_size),
                                     (after, change.new_mode, change.new_size)):
                self.assertEqual(mode & 0o7777 if side else mode, side[1] if side else 0)
                self.assertEqual(size, len(side[2]) if side and side[0] == "file" else 0)
            if change.kind == "renamed":
                self.assertEqual(before[2], after[2])
            self.assertEqual(change.link, after[2] if after and after[0] == "link" else b"")
        paths = [change.path for change in changes]
        self.assertEqual(paths, sorted(paths))

    def check_patches(self, old_root, new, changes):
        """git makes of the old tree the new one, but for what is binary. Where a directory takes the
        place of a link that leads to itself, git follows the link and gives up."""
        if any(leads_to_itself(path)
               and new.get(os.path.relpath(path, os.fsencode(old_root)), "")[:1] == ("directory",)
               for path in Tree(old_root, None).paths("f")):
            return
        copy = self.path("copy")
        shutil.copytree(old_root, copy, symlinks=True)
        patch = b"".join(change.patch for change in changes)
        binary = {change.path for change in changes if "binary" in change.flags}
        for path in binary:
            whole = os.path.join(os.fsencode(copy), path)
            if os.path.islink(whole) or os.path.isfile(whole):
                os.unlink(whole)
        for folder, _, _ in os.walk(copy, topdown=False):
            if not os.listdir(folder) and folder != copy:  # git knows of none
                os.rmdir(folder)
        if patch:
            done = subprocess.run(["git", "apply", "--whitespace=nowarn", "-"], cwd=copy,
                                  input=patch, capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        made = layers.listing(copy)
        shutil.rmtree(copy)
        for path, (kind, mode, content) in new.items():
            if kind != "directory" and path not in binary:
                self.assertIn(path, made)
                self.assertEqual((made[path][0], made[path][2]), (kind, content), path)
                self.assertEqual(bool(made[path][1] & 0o100), bool(mode & 0o100), path)
        left = {path for path, (kind, _, _) in made.items() if kind != "directory"}
        self.assertLessEqual(left, set(new) | binary)

    def test_each_kind(self):
        for name in ("move", "mode"):
            with open(self.path("host", name), "w", encoding="utf-8") as file:
                file.write(name * 9)
        os.symlink("here", self.path("host", "link"))
        host = layers.listing(self.path("host"))

        def act(merged):
            os.rename(os.path.join(merged, "move"), os.path.join(merged, "moved"))
            os.chmod(os.path.join(merged, "mode"), 0o751)
            os.unlink(os.path.join(merged, "link"))
            os.symlink("there", os.path.join(merged, "link"))

        state = self.disturb_by(act)
        _, changes = layers.run("DIFF", self.path("host"), self.layers, flags=layers.TEXT)
        self.check(host, state, changes)
        self.check_patches(self.path("host"), state, changes)
        self.assertEqual([(c.kind, c.path) for c in changes],
                         [("symlink", b"link"), ("mode", b"mode"), ("renamed", b"moved")])

    def one_round(self, seed):
        dice = random.Random(seed)
        Tree(self.path("host"), dice).disturb(2 * CHANGES)
        host = layers.listing(self.path("host"))
        states = [host]
        for _ in range(3):
            time.sleep(0.03)  # the host's files are older than that
            since = layers.now_us()
            states.append(self.add_layer(dice))
            done, changes = layers.run("DIFF", self.path("host"), self.layers,
                                       flags=layers.TEXT)
            self.check(host, states[-1], changes)
            self.assertEqual(done.total, len(changes))
            self.check_patches(self.path("host"), states[-1], changes)
            layers.run("SCAN", self.path("host"), self.layers, since_us=since)
            done, changes = layers.run("PREVIEW", self.path("host"), self.layers)
            self.assertEqual([c.path for c in changes if "conflict" in c.flags], [])
            self.assertEqual(done.conflicts, 0)
        for number in range(1, 3):  # and since the states before
            _, changes = layers.run("DIFF", self.path("host"), self.layers,
                                    self.layers[-number:])
            self.check(states[number], states[-1], changes)
        self.assertEqual(layers.listing(self.path("host")), host)

    def clear(self):
        self.layers.clear()
        for name in os.listdir(self.root):
            shutil.rmtree(self.path(name))
        for name in ("host", "merged"):
            os.mkdir(self.path(name))

    def test_random_changes(self):
        for number in range(ROUNDS):
            with self.subTest(seed=SEED + number):
                self.clear()
                self.one_round(SEED + number)
        for kind in ("added", "modified", "deleted", "type"):
            self.assertGreater(self.counts.get(kind, 0), 0, f"no change was of the kind {kind}")

    def test_a_file_of_the_host_that_was_changed_and_noted(self):
        """overlayfs' own mark says that a file was copied up, also when the host has it no more."""
        with open(self.path("host", "file"), "w", encoding="utf-8") as file:
            file.write("host")
        layer = self.path("layer")
        for name in ("", "workspace", "work-workspace"):
            os.mkdir(os.path.join(layer, name))
        mounted([self.path("host")], os.path.join(layer, "workspace"),
                os.path.join(layer, "work-workspace"), self.path("merged"))
        since = layers.now_us()
        with open(self.path("merged", "file"), "a", encoding="utf-8") as file:
            file.write(" and sandbox")
        subprocess.run(["umount", self.path("merged")], check=True)
        os.unlink(self.path("host", "file"))
        layers.run("SCAN", self.path("host"), [layer], since_us=since)
        done, changes = layers.run("PREVIEW", self.path("host"), [layer])
        self.assertEqual([(c.kind, c.path, c.flags) for c in changes],
                         [("added", b"file", {"conflict"})])
        self.assertEqual(done.conflicts, 1)


    def git(self, at, *arguments):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "gc.auto=0",
                        "-C", self.path(at), *arguments], check=True, capture_output=True,
                       env={"PATH": os.environ["PATH"], "HOME": self.root})

    def test_a_commit_is_a_ref_and_a_hook_stays(self):
        self.git("host", "init", "-q")
        with open(self.path("host", "file"), "w", encoding="utf-8") as file:
            file.write("host\n")
        self.git("host", "add", "file")
        self.git("host", "commit", "-q", "-m", "first")

        def commit(*_):
            with open(self.path("merged", "file"), "a", encoding="utf-8") as file:
                file.write("sandbox\n")
            self.git("merged", "commit", "-q", "-a", "-m", "second")
            self.git("merged", "branch", "feature/x")
            self.git("merged", "commit", "-q", "--amend", "-m", "third")
            self.git("merged", "repack", "-q", "-a", "-d")

        def hook(*_):
            with open(self.path("merged", ".git/hooks/pre-push"), "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\n")
            self.git("merged", "config", "core.pager", "evil")

        ours = b".git/refs/msp/box/"
        for act, stays in ((commit, []), (hook, [b".git/config", b".git/hooks/pre-push"])):
            with self.subTest(act.__name__):
                self.disturb_by(act)
                done, changes = layers.run("DIFF", self.path("host"), self.layers, name=b"box")
                self.assertEqual([c.path for c in changes if "gits" in c.flags], stays)
                self.assertEqual([c.path for c in changes if "commits" in c.flags],
                                 [ours + b"feature/x", ours + b"master"])
                self.assertEqual(len(changes), 3 + len(stays))
                self.assertEqual(done.held, 0)


def main():
    if os.environ.get(INSIDE):
        print(f"seed {SEED}", file=sys.stderr)
        unittest.main(verbosity=2)
    os.environ[INSIDE] = "1"
    os.execvp("unshare", ["unshare", "--user", "--map-root-user", "--mount", sys.executable, "-B",
                          *sys.argv])


if __name__ == "__main__":
    main()
