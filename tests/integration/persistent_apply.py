#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`msp apply` and `msp undo` that are interrupted, with supervisors of their own: by what a terminal
or a service manager sends, they end what they began; killed, they are finished or taken back by the
next command. And what is changed in the sandbox after either is nobody's conflict."""
import contextlib
import hashlib
import json
import os
import random
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import time
import unittest

import leftovers
import support
from persistent_support import PersistentCase, git, msp

FILES = 60
# Each step of an apply and an undo is interrupted in tests/unit/layers.
ROUNDS = 15 if support.IS_ALL else 5
MINE = "for i in $(seq {}); do echo {} > f$i; done; rm -f gone; echo {} > new"


def setUpModule():
    leftovers.become_reaper()


def nothing_lives():
    leftovers.reap_orphans()
    return not leftovers.living()


class ApplyCase(PersistentCase):
    def setUp(self):
        super().setUp()
        for number in range(FILES):
            self.put(f"f{number + 1}", "old\n")
        self.put("gone", "old\n")
        self.box = self.create()

    def change(self, text):
        self.sh(self.box, MINE.format(FILES, text, text))

    def on_host(self):
        """The texts that the host's files have; gone files count, and what lies beside."""
        found = {}
        for name in sorted(os.listdir(self.project)):
            with open(os.path.join(self.project, name), encoding="utf-8") as file:
                found[name] = file.read()
        return found

    def all(self, text, **others):
        return {**{f"f{number + 1}": text + "\n" for number in range(FILES)}, **others}

    def conflicts(self):
        return json.loads(msp("apply", self.box, "--preview", "--json", code=None).stdout)[
            "conflicts"]


class AfterAnUndo(ApplyCase):
    def test_what_is_changed_again_is_no_conflict(self):
        self.change("one")
        msp("apply", self.box)
        self.assertEqual(self.on_host(), self.all("one", new="one\n"))
        msp("undo", self.box)
        self.assertEqual(self.on_host(), self.all("old", gone="old\n"))
        self.change("two")
        self.assertEqual(self.conflicts(), 0)
        msp("apply", self.box)
        self.assertEqual(self.on_host(), self.all("two", new="two\n"))
        msp("undo", self.box)
        self.sh(self.box, "echo three > f1")
        msp("apply", self.box, "f1")
        self.assertEqual(self.on_host(), {**self.all("old", gone="old\n"), "f1": "three\n"})

    def test_what_the_host_changed_is_one(self):
        self.change("one")
        msp("apply", self.box)
        msp("undo", self.box)
        self.put("f1", "theirs\n")
        self.change("two")
        self.assertEqual(self.conflicts(), 1)


    def test_a_conflict_that_ours_won_is_one_again(self):
        """What came back is this machine's edit, and not what the sandbox's was made from."""
        self.change("one")
        self.put("f1", "theirs\n")
        msp("apply", self.box, "--conflict=sandbox")
        msp("undo", self.box)
        self.assertEqual(self.get("f1"), b"theirs\n")
        self.assertEqual(self.conflicts(), 1)
        msp("apply", self.box, code=1)
        self.assertEqual(self.get("f1"), b"theirs\n")


class Special(PersistentCase):
    """FIFOs and sockets have no content: one that goes is a deletion, and none blocks the rest."""

    def setUp(self):
        super().setUp()
        self.put("keep", "old\n")
        os.mkfifo(os.path.join(self.project, "fifo"), 0o600)
        os.makedirs(os.path.join(self.project, "data/run"))
        os.mkfifo(os.path.join(self.project, "data/run/fifo"))
        self.listen("socket")
        self.listen("data/run/.s.PGSQL.5432")
        self.box = self.create()

    def listen(self, name):
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        folder = os.open(os.path.dirname(os.path.join(self.project, name)), os.O_PATH)
        listener.bind(f"/proc/self/fd/{folder}/{os.path.basename(name)}")
        os.close(folder)
        listener.listen(8)

    def names(self):
        return sorted(os.path.relpath(os.path.join(base, name), self.project)
                      for base, folders, files in os.walk(self.project) for name in folders + files)

    def reach(self, name):
        client = socket.socket(socket.AF_UNIX)
        self.addCleanup(client.close)
        client.settimeout(10)
        folder = os.open(os.path.dirname(os.path.join(self.project, name)), os.O_PATH)
        client.connect(f"/proc/self/fd/{folder}/{os.path.basename(name)}")
        os.close(folder)

    def test_a_deletion_is_applied_and_taken_back(self):
        self.sh(self.box, "rm -r fifo socket data; echo more >> keep")
        before = self.names()
        self.assertEqual({path for path, kind in self.changes(self.box).items() if kind == "deleted"},
                         {"data", "data/run", "data/run/fifo", "data/run/.s.PGSQL.5432", "fifo", "socket"})
        msp("apply", self.box)
        self.assertEqual((self.names(), self.get("keep")), (["keep"], b"old\nmore\n"))
        msp("undo", self.box)
        self.assertEqual((self.names(), self.get("keep")), (before, b"old\n"))
        self.reach("socket")  # it is the very one that the service listens on
        self.reach("data/run/.s.PGSQL.5432")
        self.assertEqual(os.stat(os.path.join(self.project, "fifo")).st_mode, stat.S_IFIFO | 0o600)

    def test_a_file_in_its_place(self):
        self.sh(self.box, "rm fifo socket; echo new > fifo; mkdir socket; echo in > socket/in")
        before = self.names()
        msp("apply", self.box)
        self.assertEqual((self.get("fifo"), self.get("socket/in")), (b"new\n", b"in\n"))
        msp("undo", self.box)
        self.assertEqual(self.names(), before)
        self.reach("socket")

    def test_what_is_never_applied_blocks_nothing(self):
        self.sh(self.box, "chmod 644 fifo; mkfifo other; rm keep; mkfifo keep; echo new > new")
        shown = msp("apply", self.box, code=1)
        self.assertNotIn("conflict", shown.stdout + shown.stderr)
        for line in (r"M  fifo  \(mode 600 -> 644; never applied: a device, socket or FIFO\)",
                     r"A  other  \(never applied: a device, socket or FIFO\)",
                     r"T  keep  \(never applied: a device, socket or FIFO\)"):
            self.assertRegex(shown.stdout + shown.stderr, line)
        self.assertEqual((self.get("new"), self.get("keep")), (b"new\n", b"old\n"))

    def test_a_service_that_started_again_keeps_its_socket(self):
        self.sh(self.box, "rm socket; echo more >> keep")
        os.unlink(os.path.join(self.project, "socket"))
        self.listen("socket")
        msp("apply", self.box, code=1)
        self.assertEqual(self.get("keep"), b"old\nmore\n")
        self.reach("socket")


@unittest.skipUnless(shutil.which("git"), "git is not installed")
class Committed(PersistentCase):
    """What a brought commit contains does not come as files, too: git can take the commit over."""

    SANDBOX = ("git config --global user.name A; git config --global user.email a@b; cd /workspace; "
               "echo new >> a; mkdir -p new/deep; echo x > new/deep/x; git rm -qr gone; mv b b2; "
               "ln -sf b2 link; chmod 755 run; git add -A; git commit -qm second; echo mine > note")

    def setUp(self):
        super().setUp()
        for name in ("a", "b", "gone/c", "run"):
            self.put(name, name + "\n")
        os.symlink("b", os.path.join(self.project, "link"))
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-qm", "first")
        self.create("--name", "box")

    def git(self, *arguments, **keywords):
        return git(self.project, *arguments, **keywords).decode().strip()

    def expect_merged(self):
        self.assertEqual((self.get("a"), self.get("new/deep/x"), self.get("b2")),
                         (b"a\nnew\n", b"x\n", b"b\n"))
        self.assertFalse(os.path.exists(os.path.join(self.project, "gone")))
        self.assertEqual(os.readlink(os.path.join(self.project, "link")), "b2")
        self.assertEqual(self.git("status", "--porcelain"), "?? note")

    def test_a_merge_right_after_it(self):
        self.sh("box", self.SANDBOX)
        result = msp("apply", "box")
        self.assertRegex(result.stdout, r"(?m)^M  a  \(comes with the commits\)$")
        self.assertRegex(result.stdout, r"(?m)^A  note$")
        self.assertRegex(result.stdout, r"(?m)^2 applied, \d+ in the commits$")
        self.assertIn("'git merge refs/msp/box/main'", result.stderr)
        self.assertEqual(self.git("status", "--porcelain"), "?? note")
        again = msp("apply", "box")
        self.assertRegex(again.stdout, r"(?m)^0 applied, \d+ in the commits$")
        self.git("merge", "-q", "refs/msp/box/main")
        self.expect_merged()
        self.assertIn("nothing to apply", msp("apply", "box").stderr)

    def test_a_preview_says_so(self):
        self.sh("box", self.SANDBOX)
        shown = json.loads(msp("apply", "box", "--preview", "--json").stdout)
        found = {entry["path"]: entry.get("committed", False) for entry in shown["changes"]}
        self.assertEqual({path for path, is_committed in found.items() if not is_committed},
                         {"note", ".git/refs/msp/box/main"})

    def test_a_branch_to_check_out(self):
        self.sh("box", "cd /workspace; git checkout -qb topic; " + self.SANDBOX)
        msp("apply", "box", "--commits=branch")
        self.git("checkout", "-q", "topic")
        self.expect_merged()

    def test_a_branch_that_is_checked_out_takes_files_along(self):
        self.sh("box", self.SANDBOX)
        msp("apply", "box", "--commits=branch")
        self.expect_merged()

    def test_files_that_are_asked_for(self):
        self.sh("box", self.SANDBOX)
        msp("apply", "box", "a")
        self.assertEqual(self.get("a"), b"a\nnew\n")
        self.assertFalse(os.path.exists(os.path.join(self.project, "new")))
        msp("apply", "box", "--commits=files")
        self.assertEqual(self.get("new/deep/x"), b"x\n")
        self.assertEqual(self.git("rev-parse", "HEAD^{tree}", "refs/msp/box/main^"),
                         self.git("rev-parse", "HEAD^{tree}", "HEAD"))

    def test_what_the_commit_does_not_have(self):
        """Changes after the commit are files; so is a new file beside committed ones."""
        self.sh("box", self.SANDBOX + "; echo later >> a; echo beside > new/beside")
        msp("apply", "box")
        self.assertEqual((self.get("a"), self.get("new/beside")), (b"a\nnew\nlater\n", b"beside\n"))
        self.assertFalse(os.path.exists(os.path.join(self.project, "new/deep")))

    def test_a_change_of_both_is_gits_to_merge(self):
        self.sh("box", self.SANDBOX)
        self.put("a", "zero\na\n")
        msp("apply", "box")
        self.assertEqual(self.get("a"), b"zero\na\n")
        self.git("commit", "-qam", "host")
        self.git("merge", "-q", "-X", "ours", "-m", "merged", "refs/msp/box/main")

    def test_a_commit_that_stays_brings_none(self):
        """Where its commit is held back, files come as files."""
        self.sh("box", "cd /workspace; mkdir .husky; echo x > .husky/pre-commit; " + self.SANDBOX)
        msp("apply", "box", code=1)
        self.assertEqual(self.get("a"), b"a\nnew\n")

    POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 3\n"

    def test_content_of_git_lfs_that_is_not_here(self):
        """git-lfs would fail at the merge: the file's own content is in no commit. Where the host has it,
        the commit comes; a text that is no pointer is like any other."""
        names = [hashlib.sha256(content).hexdigest() for content in (b"one", b"two")]
        texts = [self.POINTER.format(name) for name in names]
        others = ["version https://example.org\n", texts[0].replace("oid", "id"), texts[0].replace(names[0], "0" * 63),
                  texts[0] + "x" * 1024]
        files = [f"printf %s {shlex.quote(text)} >p{number}" for number, text in enumerate([*texts, *others])]
        self.sh("box", "\n".join(["cd /workspace", *files, self.SANDBOX]))
        lacking = msp("apply", "box", code=1)
        self.assertRegex(lacking.stdout + lacking.stderr, r"refs/msp/box/main -> \w{12}: this project's \.git/lfs lacks "
                         r"content that they name; they change p0, p1\b(?!,)")
        self.assertEqual(self.git("for-each-ref", "refs/msp"), "")
        for name, content in zip(names, (b"one", b"two")):
            self.put(f".git/lfs/objects/{name[:2]}/{name[2:4]}/{name}", content.decode())
        msp("apply", "box")
        self.git("cat-file", "-e", "refs/msp/box/main:p5")


class Output(ApplyCase):
    def test_a_list_comes_before_what_is_said_of_it(self):
        """Where both go to one place that is no terminal."""
        self.change("one")
        result = subprocess.run([support.MSP, "apply", "--preview", self.box, "f1", "typo"],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd=self.project,
                                stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
        self.assertRegex(result.stdout, r"\AM  f1\nmsp: apply: typo: nothing has changed there")

    def test_the_exit_codes_are_told(self):
        for verb in ("diff", "apply", "undo"):
            text = msp(verb, "--help").stdout
            self.assertIn("not the one it was", " ".join(text.split()))
            self.assertRegex(text, r"\n  78  the configuration is wrong\n  125 the sandbox is damaged")
            self.assertNotIn("the policy does not let it", text)


class Interrupted(ApplyCase):
    """At moments spread over what it takes."""

    def start(self, verb):
        return subprocess.Popen([support.MSP, verb, self.box], start_new_session=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)

    def took(self):
        begun = time.monotonic()
        msp("apply", self.box)
        taken = time.monotonic() - begun
        msp("undo", self.box)
        return taken

    def interrupt(self, verb, interrupt, taken, seed):
        """Its exit code, when nothing of it lives any more."""
        process = self.start(verb)
        time.sleep(random.Random(seed).uniform(0, 1.1) * taken)
        interrupt(process)
        code = process.wait(70)
        self.assertTrue(support.wait_until(nothing_lives), leftovers.living())
        return code

    def check(self, interrupt, is_finished):
        old, new = self.all("old", gone="old\n"), self.all("new", new="new\n")
        self.change("new")
        taken, seen = self.took(), set()
        for number in range(ROUNDS):
            with self.subTest(number=number):
                code = self.interrupt("apply", interrupt, taken, f"apply {number}")
                if not is_finished:
                    msp("diff", self.box, code=None)  # the next use
                self.assertIn(self.on_host(), (old, new), code)
                seen.add(self.on_host() == new)
                self.assertEqual(self.conflicts(), 0)
                msp("apply", self.box)
                self.assertEqual(self.on_host(), new)
                code = self.interrupt("undo", interrupt, taken, f"undo {number}")
                if not is_finished:
                    msp("diff", self.box, code=None)
                self.assertIn(self.on_host(), (old, new), code)
                if self.on_host() == new:
                    msp("undo", self.box)
                self.assertEqual(self.on_host(), old)
        return seen

    def test_by_a_terminal(self):
        """All processes in the foreground get it."""
        self.check(lambda process: os.killpg(process.pid, signal.SIGINT), True)

    def test_by_a_service_manager(self):
        self.check(lambda process: process.send_signal(signal.SIGTERM), True)

    def test_an_apply_that_takes_long_is_waited_for(self):
        """msp-layers is stopped in the middle, for longer than anything else is waited for."""
        self.change("new")
        with self.stopped_apply() as (process, layers):
            process.send_signal(signal.SIGTERM)
            time.sleep(8)
            self.assertIsNone(process.poll())
            self.assertIn(layers, leftovers.living())
        self.assertEqual(process.wait(30), 128 + signal.SIGTERM)
        self.assertEqual(self.on_host(), self.all("new", new="new\n"))
        self.assertEqual(os.listdir(self.journal()), ["done"])

    def journal(self):
        return os.path.join(self.state, "sandboxes", self.box, "journal")

    @contextlib.contextmanager
    def stopped_apply(self):
        """An apply with its msp-layers stopped while its journal says that it is at work."""
        process = self.start("apply")
        self.addCleanup(process.wait)
        found = None
        while not found and process.poll() is None:
            if set(self.at_work()):
                found = next((pid for pid, name, _ in leftovers.describe(leftovers.living())
                              if name == "msp-layers"), None)
        self.assertIsNotNone(found, "it was over before it could be stopped")
        os.kill(found, signal.SIGSTOP)
        try:
            yield process, found
        finally:
            os.kill(found, signal.SIGCONT)

    def at_work(self):
        try:
            return {"staging", "swapping"} & set(os.listdir(self.journal()))
        except FileNotFoundError:
            return ()

    def test_killed_with_all_that_belongs_to_it(self):
        def kill(process):
            for pid in [process.pid, *leftovers.living()]:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        self.check(kill, False)


if __name__ == "__main__":
    unittest.main()
