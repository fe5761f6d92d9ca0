#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of `msp apply --conflict=merge` at its own system calls: of the job that reads, merges and
writes, and of its reader of repositories. No file is ever half written, and the next msp has the
project as it was before or as it was to be."""
import collections
import concurrent.futures
import contextlib
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import faults
import leftovers
import support
from persistent_mount import Place
from persistent_support import git

INJECT = faults.tool("inject")
THREADS = 2
JOB, READER = 10, 11  # by the order in which the processes come; a preview has both before
MERGE = ("apply", "box", "--conflict=merge")

# The calls that change the host or the journal, and those by which job and reader hear of each
# other; and how many of each are tried in an ordinary run.
CALLS = [(JOB, {"mkdirat", "fsync", "syncfs", "renameat", "renameat2", "unlinkat"}, 10),
         (JOB, {"read", "write"}, 3), (READER, {"read", "write"}, 8)]

LINES = "".join(f"line {number}\n" for number in range(1, 10)).strip()
HOST = LINES.replace("line 2", "the host's")
BOX = LINES.replace("line 8", "the sandbox's")
MERGED = HOST.replace("line 8", "the sandbox's")
NAMES = ("one", "two", "three")
BEFORE = {**dict.fromkeys(NAMES, HOST), "a": "old", "b": "old", "c": "old"}
AFTER = {**dict.fromkeys(NAMES, MERGED), "a": "new", "b": "old", "d": "new"}

Case = collections.namedtuple("Case", "role call number")
shared = {}

ENDED = ("msp: apply: nothing was changed: the process that reads git's objects ended early, killed or "
         "out of memory; try again\n")


def setUpModule():
    if not shutil.which("git"):
        raise unittest.SkipTest("git is not installed")
    faults.prepare("inject")
    shared["before"] = leftovers.Snapshot()


class Project(Place):
    """Both sides have changed some files; the sandbox has another change, a new file and a deletion."""

    def __init__(self):
        super().__init__()
        self.write(LINES)
        git(self.project, "init", "-q")
        git(self.project, "add", "-A")
        git(self.project, "commit", "-qm", "base")
        self.create()
        self.sh("echo new > a; echo new > d; rm c\n" +
                "".join(f"cat > {name} <<'END'\n{BOX}\nEND\n" for name in NAMES))
        self.write(HOST)

    def write(self, text):
        for name in NAMES:
            with open(os.path.join(self.project, name), "w", encoding="ascii") as file:
                file.write(text + "\n")

    def whole_files(self):
        """Whether each file is the old or the new one, whatever else is there."""
        for name in {*BEFORE, *AFTER}:
            found = None
            with contextlib.suppress(FileNotFoundError), \
                    open(os.path.join(self.project, name), encoding="ascii") as file:
                found = file.read()
            wanted = [text and text + "\n" for text in (BEFORE.get(name), AFTER.get(name))]
            if found not in wanted:
                return False
        return True

    def merge(self, case=None):
        """(its CompletedProcess, the report) of an apply; with a case it is killed there."""
        words = [*map(str, case), "0"] if case else ["0", "access", "0", "0"]
        with tempfile.NamedTemporaryFile("r", prefix="msp-test-") as report:
            done = subprocess.run([INJECT, report.name, *words, support.MSP, *MERGE],
                                  env=dict(self.environment, MSP_TRACE_STEWARDS="1"),
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=120, check=False)
            return done, report.read()


class Killed(unittest.TestCase):
    def tearDown(self):
        self.doCleanups()
        self.assertIsNotNone(leftovers.wait_gone(time.monotonic()),
                             leftovers.describe(leftovers.living()))
        self.assertEqual(shared["before"].left(), {})

    def project(self):
        project = Project()
        self.addCleanup(project.close)
        return project

    def cases(self, project):
        """A sample of the calls of one whole apply."""
        done, report = project.merge()
        self.assertEqual((done.returncode, project.host()), (0, AFTER), done.stderr)
        project.good("undo", "box")
        counts = {(int(role), call): int(count) for role, call, count in
                  re.findall(r"(?m)^(\d+) (\S+) (\d+)$", report)}
        self.assertGreater(counts.get((JOB, "renameat2"), 0), len(NAMES), report)
        return [case for role, calls, most in CALLS for case in faults.sample(
            (Case(role, call, number) for call in sorted(calls)
             for number in range(1, counts.get((role, call), 0) + 1)), most)]

    def attempt(self, projects, case):
        """Whether the kill came, and whether the apply was whole."""
        project = projects.get()
        try:
            return self.check(project, case)
        except AssertionError:
            project = self.project()  # for the next case
            raise
        finally:
            projects.put(project)

    def check(self, project, case):
        done, report = project.merge(case)
        self.assertTrue(project.whole_files(), (case, done))
        project.sh("true")  # the next msp settles what was begun
        found = project.host()
        self.assertIn(found, (BEFORE, AFTER), (case, done))
        if done.returncode == 0:
            self.assertEqual(found, AFTER, (case, done))
        else:
            self.assertRegex(done.stderr, r"(?m)^msp: apply: .", (case, done))
        if case.role == READER and report.startswith("hit"):
            self.check_reader(case, done, found)
        project.good(*MERGE)
        self.assertEqual(project.host(), AFTER, case)
        project.good("undo", "box")
        self.assertEqual(project.host(), BEFORE, case)
        return report.startswith("hit"), found == AFTER

    def check_reader(self, case, done, found):
        """The reader was killed: before its last answer nothing is applied, and the reason is said."""
        if done.returncode == 0:
            self.assertEqual((case.call, found), ("read", AFTER), done)
            return
        self.assertEqual((done.returncode, found), (70, BEFORE), (case, done))
        self.assertIn(ENDED, done.stderr, case)
        self.assertNotIn("no commit", done.stdout + done.stderr, case)

    def test_at_each_step(self):
        projects = queue.Queue()
        for _ in range(THREADS):
            projects.put(self.project())
        cases = self.cases(projects.queue[0])
        with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
            jobs = [(case, pool.submit(self.attempt, projects, case)) for case in cases]
        results = []
        for case, job in jobs:
            with self.subTest(case=case):
                results.append(job.result())
        kills, whole = (sum(column) for column in zip(*results))
        self.assertGreater(kills, len(cases) * 0.8, "hardly any process was there to be killed")
        print(f"{len(cases)} cases, {kills} kills, {whole} applies were whole", file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
