#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each call of each of our processes, in a start, in executions and at the end, made to fail the way
a busy machine makes it fail: interrupted, no descriptor, no memory, no room. What was asked for is
done right, or refused with a reason; nothing hangs, crashes or stays."""
import collections
import concurrent.futures
import contextlib
import errno
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import unittest

import faults
import figures
import leftovers
import support

INJECT = faults.tool("inject")
HANG_S = 8
MOST = 60  # cases of a kind in an ordinary run
FAILED = (64, 70, 78, 125)
WORKLOAD = "workload"  # its own calls are its own affair; those before its exec are in setup_faults

# What can be interrupted by a stop or a signal, and must be tried again.
RETRIED = """read readv write writev recvmsg sendmsg poll ppoll epoll_wait epoll_pwait wait4
    sendfile"""
CALLS = {
    # waitid: only ever asked without waiting, which no signal interrupts
    "EINTR": RETRIED + " waitid pread64 open openat openat2 clone clone3 fork vfork getdents64 splice",
    "EMFILE": """open openat openat2 open_tree fsopen fsmount memfd_create pipe2 socket socketpair
        epoll_create1 eventfd2 signalfd4 pidfd_open clone3 dup dup2 dup3
        landlock_create_ruleset""",
    "ENFILE": "open openat memfd_create pipe2 socketpair clone3",
    "ENOMEM": """mmap brk mprotect mremap munmap clone clone3 fork vfork sendmsg recvmsg epoll_ctl
        epoll_create1 memfd_create pipe2 socketpair open openat openat2 write mount fsmount
        move_mount seccomp read poll epoll_wait epoll_pwait""",
    "ENOSPC": "write sendfile memfd_create mkdir mkdirat mknodat symlinkat open openat",
    "EDQUOT": "write sendfile mkdirat open openat",
    "ENOBUFS": "sendmsg",
    "EAGAIN": "clone clone3 fork vfork sendmsg recvmsg read",
}
shared = {}
Case = collections.namedtuple("Case", "role name call number error")


def setUpModule():
    faults.prepare("inject")
    shared["before"] = leftovers.Snapshot()
    shared["bystander"] = faults.Bystander()


def tearDownModule():
    shared["bystander"].server.close()


class Kind:
    """A frame for the two ways to run something; not a test itself."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="msp-stages-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def tearDown(self):
        self.doCleanups()
        self.assertEqual(shared["bystander"].wait_others_gone(), [])
        self.assertTrue(shared["bystander"].is_well())
        self.assertEqual(shared["before"].left(), {})

    def attempt(self, case):
        """(what came out, exit code or None for a hang, errors, report)."""
        handle, report = tempfile.mkstemp(dir=self.folder)
        os.close(handle)
        words = [str(case.role), case.call, str(case.number), str(getattr(errno, case.error))] \
            if case else ["0", "access", "0", "0"]
        process = subprocess.Popen([INJECT, report, *words, support.MSP, *self.command()],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        hung = threading.Event()
        timer = threading.Timer(HANG_S, lambda: (hung.set(), process.kill()))
        timer.start()
        output = self.converse(process)
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        errors = process.stderr.read().decode(errors="replace")
        code = process.wait()
        timer.cancel()
        process.stdout.close()
        process.stderr.close()
        with open(report, encoding="ascii") as file:
            text = file.read()
        os.unlink(report)
        return output, None if hung.is_set() else code, errors, text

    def cases(self):
        output, code, errors, text = self.attempt(None)
        self.assertTrue(self.is_right(output, code), (output, code, errors))
        counts = {(int(role), call): int(count) for role, call, count in
                  re.findall(r"(?m)^(\d) (\S+) (\d+)$", text)}
        for (role, call), count in sorted(counts.items()):
            if self.ROLES[role - 1] == WORKLOAD:
                continue
            for error, calls in CALLS.items():
                if call in calls.split():
                    for number in range(1, count + 1):
                        yield Case(role, self.ROLES[role - 1], call, number, error)

    def check_interrupted(self, case, told):
        """Set-up steps fail closed; the dynamic loader is not ours."""
        if "error while loading shared libraries" not in told[-1]:
            self.assertFalse(case.error == "EINTR" and case.call in RETRIED.split(), told)

    def walk(self):
        cases = faults.sample(self.cases(), MOST)
        counts = collections.Counter()
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for case, result in zip(cases, pool.map(self.attempt, cases)):
                output, code, errors, text = result
                with self.subTest(case=case):
                    if not text.startswith("hit"):
                        counts["not reached"] += 1
                        continue
                    self.assertIsNotNone(code, f"hangs: {case}")
                    if self.is_right(output, code):
                        counts["survived"] += 1
                        continue
                    counts["failed"] += 1
                    self.check_failure(case, output, code, errors)
        figures.record("calls", what=type(self).__name__, cases=len(cases),
                       ended=counts["failed"], survived=counts["survived"])
        print(f"{type(self).__name__}: {len(cases)} cases: {dict(counts)}", file=sys.stderr)
        self.assertGreater(counts["survived"], len(cases) / 10)
        self.assertGreater(counts["failed"], len(cases) / 10)


class Run(Kind, unittest.TestCase):
    ROLES = ("msp", "supervisor", "factory", "init", WORKLOAD)

    def command(self):
        return ["run", *support.limits(), "--", "/bin/sh", "-c", "cat; exit 7"]

    def converse(self, process):
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(b"through\n")
            process.stdin.close()
        return process.stdout.read()

    def is_right(self, output, code):
        return (output, code) == (b"through\n", 7)

    def check_failure(self, case, output, code, errors):
        told = (case, output, code, errors)
        self.assertIn(code, FAILED, told)
        self.assertTrue(errors.strip(), told)
        self.assertIn(output, (b"", b"through\n"), told)
        self.check_interrupted(case, told)

    def test_walk(self):
        self.walk()


class Serve(Kind, unittest.TestCase):
    ROLES = ("supervisor", "opener", "factory", "starter", "broker", "prover", "probe", "init", WORKLOAD)

    def command(self):
        return ["serve", "--strict-start", *support.limits()]

    def converse(self, process):
        answers = {}
        for number, line in ((1, faults.call_line(1, command="cat", stdin="one\n")),
                             (2, faults.call_line(2, "run_code", language="bash",
                                                  code="echo two"))):
            try:
                process.stdin.write(line)
                process.stdin.flush()
            except BrokenPipeError:
                break
            line = process.stdout.readline()
            if not line:
                break
            message = json.loads(line)
            answers[message["id"]] = message.get("result")
        return answers

    def is_right(self, answers, code):
        return code == 0 and set(answers) == {1, 2} and all(
            result and support.text_of(result).startswith(f"{word}\n[exit 0")
            for result, word in ((answers[1], "one"), (answers[2], "two")))

    def check_failure(self, case, answers, code, errors):
        told = (case, answers, code, errors)
        for result in answers.values():  # each is right or an error
            self.assertTrue(result["isError"] or "[exit 0" in support.text_of(result), told)
        self.assertIn(code, (0, *FAILED, 127), told)
        if code != 0 or set(answers) != {1, 2}:
            self.assertTrue(errors.strip(), told)
        self.check_interrupted(case, told)

    def test_walk(self):
        self.walk()


if __name__ == "__main__":
    unittest.main()
