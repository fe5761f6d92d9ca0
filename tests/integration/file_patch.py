#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""msp-file's patches by themselves, on the files of a folder: both forms, where hunks go, what is
refused, and that either all files are changed or none."""
import ctypes
import errno
import os
import platform
import random
import signal
import stat
import struct
import subprocess
import time
import unittest

from file_program import CUT_OFF, DONE, ERROR, EXISTS, NOT_REGULAR, PROGRAM, TOO_LARGE
from file_program import Answer, Files, pieces

UNFIT, TORN = 10, 11

# Of x86_64: numbers of system calls, the filter's answers.
UNLINK, RENAMEAT2, NOREPLACE = 87, 316, 1
FAIL_WITH_EIO, KILL, TRACE, ALLOW = 0x50000 | errno.EIO, 0x80000000, 0x7ff00000, 0x7fff0000
TRACE_ME, CONTINUE, SET_OPTIONS, TRACE_SECCOMP = 0, 7, 0x4200, 0x80


def filtered(answer, calls):
    """A preexec_fn: the system calls (number, fifth argument or None) get that answer."""
    rows = [(0x20, 0, 0, 0)]
    for number, argument in calls:
        check = [(0x20, 0, 0, 48), (0x15, 0, 1, argument)] if argument is not None else []
        rows += [(0x15, 0, len(check) + 1, number), *check, (0x06, 0, 0, answer), (0x20, 0, 0, 0)]
    rows.append((0x06, 0, 0, ALLOW))
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *row) for row in rows))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(rows), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)

    def install():
        if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
            raise OSError(ctypes.get_errno(), "seccomp")
        assert code  # kept until here
    return install


def trace(request, pid=0, data=0):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(request, pid, None, ctypes.c_void_p(data)) < 0:
        raise OSError(ctypes.get_errno(), "ptrace")


class Patches(Files):
    def send(self, text, **keywords):
        data = text if isinstance(text, bytes) else text.encode()
        done = subprocess.run([PROGRAM, "patch"], input=pieces(data), cwd=self.folder, check=True,
                              capture_output=True, timeout=30, **keywords)
        self.assertEqual(done.stderr, b"")
        return Answer(done.stdout)

    def apply(self, text, *says):
        answer = self.send(text)
        self.assertEqual((answer.problem, answer.error), (DONE, 0), answer.rest)
        if says:
            self.assertEqual(answer.rest.decode().splitlines(), list(says))

    def refuse(self, text, *parts, problem=UNFIT):
        """Refused with these parts, and nothing is changed."""
        before = self.tree()
        answer = self.send(text)
        self.assertEqual(answer.problem, problem, answer.rest)
        for part in parts:
            self.assertIn(part, answer.rest.decode())
        self.assertEqual(self.tree(), before)

    def tree(self):
        """{path: mode and content} of all files and folders."""
        found = {}
        for folder, folders, files in os.walk(self.folder):
            for name in folders + files:
                path = os.path.join(folder, name)
                content = self.get(path) if os.path.isfile(path) else None
                found[os.path.relpath(path, self.folder)] = os.lstat(path).st_mode, content
        return found


def wrap(*lines):
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""])


class ApplyForm(Patches):
    def test_every_kind(self):
        self.put("a", b"one\ntwo\nthree\n", 0o640)
        self.put("old", b"1\n2\n", 0o755)
        self.put("gone", b"x")
        self.apply(wrap("*** Add File: src/deep/new", "+first", "+", "+last",
                        "*** Update File: a", "@@", " one", "-two", "+2", "+2b", " three",
                        "*** Update File: old", "*** Move to: moved/new", "@@", " 1", "-2", "+3",
                        "*** Delete File: gone"),
                   "A src/deep/new +3 -0", "M a +2 -1", "R old -> moved/new +1 -1", "D gone")
        self.assertEqual(self.get("src/deep/new"), b"first\n\nlast\n")
        self.assertEqual(self.get("a"), b"one\n2\n2b\nthree\n")
        self.assertEqual(self.get("moved/new"), b"1\n3\n")
        self.assertEqual(stat.S_IMODE(os.stat(self.path("a")).st_mode), 0o640)
        self.assertEqual(stat.S_IMODE(os.stat(self.path("moved/new")).st_mode), 0o755)
        self.assert_no_more_than("a", "moved", "src")

    def test_anchors(self):
        self.put("a.py", b"class A:\n  def f(self):\n    x = 1\n    return x\n"
                         b"class B:\n  def f(self):\n    x = 1\n    return x\n")
        self.refuse(wrap("*** Update File: a.py", "@@", "-    x = 1", "+    x = 2"),
                    "hunk 1 (line 3 of the patch) fits in more than one place: lines 3, 7")
        self.refuse(wrap("*** Update File: a.py", "@@ def f(self):", "-    x = 1", "+    x = 2"),
                    "fits in more than one place: lines 3, 7")
        self.apply(wrap("*** Update File: a.py", "@@ class B:", "@@ def f(self):", "-    x = 1",
                        "+    x = 2"), "M a.py +1 -1")
        self.assertTrue(self.get("a.py").endswith(b"class B:\n  def f(self):\n    x = 2\n"
                                                  b"    return x\n"))
        self.apply(wrap("*** Update File: a.py", "@@ class A:", "-    return x", "+    return 7"),
                   "M a.py +1 -1", "  hunk 1: line 4, the first behind its @@ line; the same lines "
                   "are at 8")
        self.refuse(wrap("*** Update File: a.py", "@@ class C:", "-    x = 1", "+    x = 3"),
                    "has an @@ line that is not in the file: class C:")
        self.apply(wrap("*** Update File: a.py", "@@ class B:", "+  y = 1"))
        self.assertIn(b"class B:\n  y = 1\n", self.get("a.py"))

    def test_ends(self):
        self.put("a", b"x\ny\nx\ny\n")
        self.apply(wrap("*** Update File: a", "@@", " x", "-y", "+z", "*** End of File"))
        self.assertEqual(self.get("a"), b"x\ny\nx\nz\n")
        self.apply(wrap("*** Update File: a", "@@", "+end", "*** End of File"))
        self.assertEqual(self.get("a"), b"x\ny\nx\nz\nend\n")
        self.refuse(wrap("*** Update File: a", "@@", "+somewhere"), "has only new lines")

    def test_several_hunks(self):
        self.put("a", b"".join(b"line %d\n" % number for number in range(1, 51)))
        hunks = [["@@", f" line {number}", f"-line {number + 1}", f"+new {number + 1}"]
                 for number in (5, 40, 20)]
        self.apply(wrap("*** Update File: a", *sum(hunks, [])), "M a +3 -3")
        self.assertEqual([line for line in self.get("a").split(b"\n") if line.startswith(b"new")],
                         [b"new 6", b"new 21", b"new 41"])
        self.refuse(wrap("*** Update File: a", "@@", "-new 6", "+x", "@@", "-new 6", "+y"),
                    "hunk 2 (line 6 of the patch) fits only where an earlier hunk is, line 6")

    def test_what_is_no_patch(self):
        self.put("a", b"x\n")
        for text, says in (
                ("hello", "this is no patch"), ("", "this is no patch"),
                (wrap(), "the patch changes no file"),
                ("*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n", "may have been cut"),
                (wrap("*** Update File: a", "@@", "x", "+y"), "line 4 of the patch: a line of a hunk"),
                (wrap("*** Update File: a", "@@"), "has no lines"),
                (wrap("*** Update File: a"), "an update has no hunk"),
                (wrap("*** Update File:", "@@", "-x"), "name of a file is missing"),
                (wrap("*** Add File: b", "text"), "a line of a new file begins with +"),
                (wrap("*** Remove File: a"), "belongs to no hunk"),
                (wrap(*[f"*** Delete File: f{number}" for number in range(257)]), "256 files")):
            with self.subTest(text=text[:60]):
                self.refuse(text, says)

    def test_wrapped_in_prose(self):
        self.put("a", b"x\n")
        self.apply("Here it is:\n```diff\n" + wrap("*** Update File: a", "@@", "-x", "+y")
                   + "```\nDone.\n", "M a +1 -1")


class UnifiedForm(Patches):
    def test_git(self):
        """What git makes of two trees is what git applies, and what msp-file does."""
        self.put("mod", b"".join(b"%d\n" % number for number in range(30)))
        self.put("gone", b"bye\n")
        self.put("from", b"".join(b"m%d\n" % number for number in range(10)))
        self.put("no end", b"a\nb")
        self.put("tool", b"#!/bin/sh\n")
        self.git("init", "-q", ".")
        self.git("add", "-A")
        self.git("commit", "-qm", "x")
        self.put("mod", self.get("mod").replace(b"3\n", b"three\n") + b"end\n")
        os.remove(self.path("gone"))
        os.makedirs(self.path("sub"))
        os.rename(self.path("from"), self.path("sub/to"))
        self.put("sub/to", self.get("sub/to").replace(b"m4\n", b"M4\n"))
        self.put("no end", b"a\nc")
        self.put("new \303\244", b"fresh\n")
        self.put("empty", b"")
        self.put("tool", b"#!/bin/sh\n", 0o755)
        self.git("add", "-A")
        diff = self.git("diff", "--cached", "-M")
        wanted = {path: (mode & 0o100, content) for path, (mode, content) in self.tree().items()
                  if not path.startswith(".git")}
        self.git("reset", "-q", "--hard")
        self.assertNotIn("sub", os.listdir(self.folder))
        self.apply(diff)
        self.assertEqual({path: (mode & 0o100, content) for path, (mode, content)
                          in self.tree().items() if not path.startswith(".git")}, wanted)

    def git(self, *words):
        return subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@example.org",
                               *words], cwd=self.folder, check=True, capture_output=True).stdout

    def test_places(self):
        self.put("a", b"".join(b"%d\n" % (number % 10) for number in range(40)))
        self.apply("--- a/a\n+++ b/a\n@@ -12,3 +12,3 @@\n 1\n-2\n+two\n 3\n", "M a +1 -1")
        self.assertEqual(self.get("a").split(b"\n")[12], b"two")
        self.refuse("--- a\n+++ a\n@@ -14,3 +14,3 @@\n 1\n-2\n+two\n 3\n",
                    "fits in more than one place: lines 2, 22, 32")
        self.apply("--- a\n+++ a\n@@ -30,2 +30,2 @@\n-two\n+2\n 3\n", "M a +1 -1",
                   "  hunk 1: line 13; the patch says 30")
        self.apply("--- a\n+++ a\n@@ -40,0 +41,1 @@\n+end\n")
        self.assertTrue(self.get("a").endswith(b"9\nend\n"))

    def test_wrong_counts(self):
        self.put("a", b"1\n2\n3\n")
        self.apply("--- a\n+++ a\n@@ -1,9 +1,7 @@\n 1\n-2\n+two\n 3\n", "M a +1 -1")
        self.assertEqual(self.get("a"), b"1\ntwo\n3\n")

    def test_lines_like_headers(self):
        self.put("a", b"-- x\ny\n")
        self.apply("--- a\n+++ a\n@@ -1,2 +1,2 @@\n--- x\n+++ x\n y\n", "M a +1 -1")
        self.assertEqual(self.get("a"), b"++ x\ny\n")

    def test_what_is_refused(self):
        self.put("a", b"1\n2\n")
        for text, says in (
                ("--- a\n+++ b\n@@ -1 +1 @@\n-1\n+2\n", "names two files"),
                ("diff --git a/a b/a\nBinary files a/a and b/a differ\n", "binary file"),
                ("diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n"
                 "+x\n", "only regular files"),
                ("--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n", "does not list"),
                ("--- a\n+++ a\n@@ -1 +1 @@\n-1\n+2\nrubbish\n", "belongs to no hunk"),
                ("--- a\n+++ a\n", "a hunk, @@, must follow")):
            with self.subTest(text=text):
                self.refuse(text, says)


class Matches(Patches):
    def test_line_ends_stay(self):
        self.put("a", b"one\r\ntwo\r\nthree\r\n")
        self.apply(wrap("*** Update File: a", "@@", " one", "-two", "+2", "+2b"))
        self.assertEqual(self.get("a"), b"one\r\n2\r\n2b\r\nthree\r\n")
        self.apply(wrap("*** Update File: a", "@@", "-2", "+II").replace("\n", "\r\n"))
        self.assertEqual(self.get("a"), b"one\r\nII\r\n2b\r\nthree\r\n")

    def test_most_line_ends(self):
        self.put("a", b"one\r\ntwo")  # the last line has none
        self.apply(wrap("*** Update File: a", "@@", " one", "+more"))
        self.assertEqual(self.get("a"), b"one\r\nmore\r\ntwo")
        self.put("a", b"one\ntwo\r\nthree\n")
        self.apply(wrap("*** Update File: a", "@@", "-one", "+1", " two"))
        self.assertEqual(self.get("a"), b"1\ntwo\r\nthree\n")

    def test_a_byte_order_mark_stays(self):
        mark = "\ufeff"
        for patch, after in (((" one", "+more"), "one\nmore\ntwo\n"), (("-one", "+1"), "1\ntwo\n"),
                             (("+zero", " one"), "zero\none\ntwo\n"), (("-one",), "two\n"),
                             (("-two", "+2"), "one\n2\n"),
                             ((f"-{mark}one", f"+{mark}1"), "1\ntwo\n"),
                             ((f" {mark}one", "-two"), "one\n")):
            self.put("a", (mark + "one\ntwo\n").encode())
            self.apply(wrap("*** Update File: a", "@@", *patch))
            self.assertEqual(self.get("a"), (mark + after).encode(), patch)
        # the patch takes it away, and puts one there
        self.put("a", (mark + "one\ntwo\n").encode())
        self.apply(wrap("*** Update File: a", "@@", f"-{mark}one", "+one"))
        self.assertEqual(self.get("a"), b"one\ntwo\n")
        self.apply(wrap("*** Update File: a", "@@", "-one", f"+{mark}one"))
        self.assertEqual(self.get("a"), (mark + "one\ntwo\n").encode())
        self.apply("--- a/a\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n")
        self.assertFalse(os.path.exists(self.path("a")))

    def test_a_last_line_without_end(self):
        for old, new in ((b"a\nb", b"a\nc"), (b"a\nb\n", b"a\nc\n")):
            self.put("a", old)
            self.apply(wrap("*** Update File: a", "@@", " a", "-b", "+c"))
            self.assertEqual(self.get("a"), new)
        self.put("a", b"a\nb")
        self.apply(wrap("*** Update File: a", "@@", " b", "+c"))
        self.assertEqual(self.get("a"), b"a\nb\nc\n")

    def test_spaces(self):
        self.put("a", b"if x:  \n\tfoo()\n\tbar()\n")
        self.apply(wrap("*** Update File: a", "@@", " if x:", "-\tfoo()", "+\tbaz()"),
                   "M a +1 -1", "  hunk 1: line 1, where spaces at line ends differ")
        self.assertEqual(self.get("a"), b"if x:  \n\tbaz()\n\tbar()\n")
        self.apply(wrap("*** Update File: a", "@@", "-    bar()", "+    end()"), "M a +1 -1",
                   "  hunk 1: line 3, where spaces or tabs differ; new lines are as in the patch")
        self.put("a", b"foo( )\n foo()\n\tfoo()\n")
        self.refuse(wrap("*** Update File: a", "@@", "-    foo()", "+x"),
                    "fits in more than one place: lines 2, 3")
        self.put("a", b"ab c\n")
        self.refuse(wrap("*** Update File: a", "@@", "-a bc", "+x"), "does not fit")

    def test_the_nearest(self):
        self.put("a", b"int a;\nint b;\nint c;\n\nint a;\nint x;\n")
        self.refuse(wrap("*** Update File: a", "@@", " int a;", "-int bb;", " int c;"),
                    "a: hunk 1 (line 3 of the patch) does not fit.\nlooked for: int bb;\n"
                    "nearest:    line 2 (2 lines of the hunk fit there): int b;\n"
                    "            line 6 (1 line of the hunk fits there): int x;\n")
        self.refuse(wrap("*** Update File: a", "@@", "-nothing like it"),
                    "looked for: nothing like it\nNo line of the hunk is in the file.")


class AllOrNothing(Patches):
    def setUp(self):
        super().setUp()
        self.put("a", b"1\n")
        self.put("b", b"1\n", 0o755)
        os.mkdir(self.path("folder"))
        self.put("folder/c", b"1\n")
        os.mkfifo(self.path("fifo"))
        os.symlink("none", self.path("dangling"))

    FINE = ("*** Add File: x/y/new", "+n", "*** Update File: a", "@@", "-1", "+2",
            "*** Delete File: b")

    def test_each_fault(self):
        for lines, problem in (
                (["*** Update File: folder/c", "@@", "-2", "+3"], UNFIT),
                (["*** Update File: none", "@@", "-2", "+3"], ERROR),
                (["*** Update File: fifo", "@@", "-2", "+3"], NOT_REGULAR),
                (["*** Update File: dangling", "@@", "-2", "+3"], 3),
                (["*** Add File: folder/c", "+3"], EXISTS),
                (["*** Add File: a/below", "+3"], ERROR),
                (["*** Update File: folder/c", "*** Move to: fifo", "@@", "-1", "+3"], NOT_REGULAR),
                (["*** Delete File: folder"], NOT_REGULAR), (["*** Delete File: none"], ERROR),
                (["*** Delete File: ./a"], UNFIT), (["*** Add File: x/../x/y/new", "+"], UNFIT)):
            for order in (0, 1):
                with self.subTest(lines=lines, order=order):
                    parts = [list(self.FINE), lines]
                    self.refuse(wrap(*parts[order], *parts[1 - order]), problem=problem)
        self.apply(wrap(*self.FINE))
        self.assertEqual(sorted(os.listdir(self.folder)), ["a", "dangling", "fifo", "folder", "x"])

    def test_the_path_stands_in_the_answer(self):
        answer = self.send(wrap(*self.FINE, "*** Delete File: no/where"))
        self.assertEqual((answer.problem, answer.rest), (ERROR, b"no/where"))

    def test_links(self):
        os.symlink("a", self.path("link"))
        self.apply(wrap("*** Update File: link", "@@", "-1", "+2"))
        self.assertEqual((os.readlink(self.path("link")), self.get("a")), ("a", b"2\n"))
        self.refuse(wrap("*** Update File: link", "@@", "-2", "+3", "*** Update File: a", "@@", "-2",
                         "+4"), "is in the patch twice")
        self.apply(wrap("*** Delete File: link"))
        self.assertEqual(self.get("a"), b"2\n")

    def test_cut_off(self):
        whole = pieces(wrap(*self.FINE).encode(), 30)
        before = self.tree()
        for size in range(len(whole)):
            done = subprocess.run([PROGRAM, "patch"], input=whole[:size], cwd=self.folder,
                                  capture_output=True, timeout=30, check=True)
            self.assertEqual(Answer(done.stdout).problem, CUT_OFF, size)
        self.assertEqual(self.tree(), before)

    @unittest.skipUnless(platform.machine() == "x86_64", "the numbers are those of x86_64")
    def test_an_error_in_the_switch(self):
        """The last switch, which puts b aside, fails: the others are taken back."""
        before = self.tree()
        for calls, problem in (([(RENAMEAT2, NOREPLACE)], ERROR),
                               ([(RENAMEAT2, NOREPLACE), (UNLINK, None)], TORN)):
            answer = self.send(wrap(*self.FINE), preexec_fn=filtered(FAIL_WITH_EIO, calls))
            self.assertEqual((answer.problem, answer.error, answer.rest),
                             (problem, errno.EIO, b"b"))
            if problem == ERROR:
                self.assertEqual(self.tree(), before)
        self.assertEqual(self.get("a"), b"1\n")
        self.assertTrue(os.path.exists(self.path("x/y/new")), "the control: it could not be removed")

    @unittest.skipUnless(platform.machine() == "x86_64", "the numbers are those of x86_64")
    def test_changed_by_another_before_the_switch(self):
        """Stopped before its first renameat2(): all was read and written, nothing has its name."""
        def overwrite(name, content):
            return lambda: self.put(name, content, 0o755)

        for act, says in (
                (overwrite("a", b"5\n"), "a was changed by another program meanwhile: read it and "
                 "make the patch again."),
                (overwrite("b", b"12345\n"), "b was changed by another program meanwhile: read it "
                 "and make the patch again."),
                (lambda: os.remove(self.path("a")), "a"), (lambda: os.remove(self.path("b")), "b")):
            with self.subTest(says=says):
                self.put("a", b"1\n")
                self.put("b", b"1\n", 0o755)
                answer, there = self.send_traced(wrap(*self.FINE), act)
                self.assertEqual((answer.problem, answer.error, answer.rest.decode()),
                                 (UNFIT if " " in says else ERROR,
                                  0 if " " in says else errno.ENOENT, says))
                self.assertEqual(self.tree(), there, "as the other program left it")
        self.put("a", b"1\n")
        self.put("b", b"1\n", 0o755)
        answer, _ = self.send_traced(wrap(*self.FINE), lambda: None)
        self.assertEqual((answer.problem, self.get("a")), (DONE, b"2\n"), "the control")

    def send_traced(self, text, act):
        """Send a patch and act before the first name is switched; the answer, and the tree that the
        act has left, without what is new in it."""
        install = filtered(TRACE, [(RENAMEAT2, None)])
        process = subprocess.Popen([PROGRAM, "patch"], cwd=self.folder, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE,
                                   preexec_fn=lambda: (trace(TRACE_ME), install()))
        os.waitpid(process.pid, 0)
        trace(SET_OPTIONS, process.pid, TRACE_SECCOMP)
        process.stdin.write(pieces(text.encode()))
        process.stdin.close()
        stops = 0
        while True:
            trace(CONTINUE, process.pid)
            _, status = os.waitpid(process.pid, 0)
            if not os.WIFSTOPPED(status):
                break
            if stops == 0:
                act()
                there = {name: value for name, value in self.tree().items()
                         if name.partition("/")[0] != "x" and ".msp-" not in name}
            stops += 1
        self.assertGreater(stops, 0)
        answer = Answer(process.stdout.read())
        process.stdout.close()
        process.wait()
        return answer, there

    @unittest.skipUnless(platform.machine() == "x86_64", "the numbers are those of x86_64")
    def test_killed_in_the_switch(self):
        """What holds then: every file is whole, and the old content is still there."""
        done = subprocess.run([PROGRAM, "patch"], input=pieces(wrap(*self.FINE).encode()),
                              cwd=self.folder, check=False, timeout=30, capture_output=True,
                              preexec_fn=filtered(KILL, [(RENAMEAT2, NOREPLACE)]))
        self.assertEqual((done.returncode, done.stdout), (-signal.SIGSYS, b""))
        self.assertEqual((self.get("a"), self.get("b"), self.get("x/y/new")),
                         (b"2\n", b"1\n", b"n\n"))
        beside, = [name for name in os.listdir(self.folder) if name.startswith(".msp-")]
        self.assertEqual(self.get(beside), b"1\n")

    def test_killed_at_any_moment(self):
        names = [f"f{number}" for number in range(40)]
        numbers = random.Random(1)
        for name in names:
            self.put(name, b"0\n" * 1000)
        mixed = 0
        for turn in range(60):
            old = self.get("f0")[:2].decode().strip()
            patch = wrap(*sum([[f"*** Update File: {name}", "@@", *[f"-{old}"] * 1000,
                                *[f"+{turn + 1}"] * 1000] for name in names], []))
            process = subprocess.Popen([PROGRAM, "patch"], stdin=subprocess.PIPE, cwd=self.folder,
                                       stdout=subprocess.DEVNULL)
            try:
                process.stdin.write(pieces(patch.encode()))
                process.stdin.flush()
            except BrokenPipeError:
                pass
            time.sleep(numbers.random() * 0.05)
            process.kill()
            process.stdin.close()
            process.wait()
            found = {self.get(name) for name in names}
            for content in found:
                self.assertEqual((len(content.splitlines()), len(set(content.splitlines()))),
                                 (1000, 1))
            mixed += len(found) > 1
            if len(found) > 1:
                for name in names:
                    self.put(name, b"0\n" * 1000)
        self.assertLess(mixed, 20, "a switch is short")

    def test_too_large(self):
        with open(self.path("a"), "wb") as file:
            file.truncate((16 << 20) + 1)
        self.assertEqual(self.send(wrap(*self.FINE)).problem, TOO_LARGE)
        self.assertTrue(os.path.exists(self.path("b")))


if __name__ == "__main__":
    unittest.main()
