#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Debuggers, which the development profiles allow: they reach processes of the same execution, and
nothing else of the sandbox, and a traced process keeps its filter."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import evidence
import probes

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "integration"))
import standby_support  # noqa: E402  (a folder of its own)
import support  # noqa: E402

PROFILE = "python-dev"
UNSHARE, GETPID = 272, 39

# seize(): trace a process of the own execution or another. enter(): the answer that a traced child
# gets to the call that its tracer puts in the place of getppid.
ACTS = r"""
import ctypes, errno, json, os, signal, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long
TRACEME, GETREGS, SETREGS, DETACH, SYSCALL = 0, 12, 13, 17, 24
SETOPTIONS, SEIZE = 0x4200, 0x4206
SUSPEND_SECCOMP = 1 << 21
def called(*arguments):
    return 0 if libc.ptrace(*arguments) >= 0 else ctypes.get_errno()
def seize(pid):
    error = called(SEIZE, pid, None, None)
    if not error:
        called(DETACH, pid, None, None)
    return errno.errorcode.get(error, "succeeded")
def child(act):
    pid = os.fork()
    if pid == 0:
        act()
        os._exit(0)
    return pid
def traced():
    libc.ptrace(TRACEME, 0, None, None)
    os.kill(os.getpid(), signal.SIGSTOP)
    os.getppid()
def enter(call):
    pid = child(traced)
    os.waitpid(pid, 0)
    registers = (ctypes.c_ulonglong * 27)()
    while called(SYSCALL, pid, None, None) == 0:
        os.waitpid(pid, 0)
        called(GETREGS, pid, None, registers)
        if registers[15] == 110:  # orig_rax: getppid
            break
    registers[15], registers[14] = call, 0x10000000  # rdi: CLONE_NEWUSER
    called(SETREGS, pid, None, registers)
    called(SYSCALL, pid, None, None)
    os.waitpid(pid, 0)
    called(GETREGS, pid, None, registers)
    os.kill(pid, signal.SIGKILL)
    return ctypes.c_longlong(registers[10]).value, pid  # rax
def suspend():
    pid = child(traced)
    os.waitpid(pid, 0)
    error = called(SETOPTIONS, pid, None, SUSPEND_SECCOMP)
    os.kill(pid, signal.SIGKILL)
    return errno.errorcode.get(error, "succeeded")
"""
OWN = ACTS + "pid = child(lambda: time.sleep(60)); print(seize(pid)); os.kill(pid, 9)\n"
OTHERS = ACTS + ("print(json.dumps({pid: seize(pid) for pid in range(1, 400) "
                 "if pid != os.getpid()}))\n")


def last_line(result):
    return support.text_of(result).splitlines()[0]


class Tracing(standby_support.Case, probes.Attack):
    config = "default_profile: " + PROFILE + "\n"

    def begin(self, without):
        """A server of the programs without those layers, and a persistent sandbox of it."""
        self.program = os.path.join(probes.programs(without), "msp")
        standby_support.Case.setUp(self)
        self.box = self.create()

    def setUp(self):
        """Each test begins its own."""

    def reach(self, without):
        """Whether a debugger reaches another execution of its sandbox."""
        self.begin(without)
        self.server.call("run_command", 60, sandbox=self.box, command="sleep 60", yield_ms=0)
        found = json.loads(last_line(self.run_code(self.box, OTHERS)))
        words = {pid: word for pid, word in found.items() if word != "ESRCH"}
        self.assertIn("1", words)
        self.server.close()
        reached = [pid for pid, word in words.items() if word == "succeeded"]
        self.assertGreater(len(words), 1, "the other execution is not there")
        return probes.Outcome("succeeded", None, str(words), None) if reached else \
            probes.Outcome("refused", words["1"], str(words), None)

    @evidence.attack("T2", "tracing another execution of the sandbox, where debuggers are allowed",
                     "landlock")
    def test_another_execution(self):
        self.prove_by(self.reach, ("EPERM",))

    def test_the_own_execution(self):
        """The control: it is what debuggers are for; the default profile refuses it."""
        self.begin(None)
        self.assertEqual(last_line(self.run_code(self.box, OWN)), "succeeded")
        self.assertEqual(last_line(self.server.call("run_code", 60, language="python", code=OWN,
                                                    profile="default")), "EPERM")

    def test_the_filter_stays(self):
        """A tracer that puts another call in the place of a traced process's gets it refused."""
        self.begin(None)
        acts = f"print(json.dumps([enter({UNSHARE}), enter({GETPID}), suspend()]))\n"
        told = json.loads(last_line(self.run_code(self.box, ACTS + acts)))
        (refused, _), (answer, pid), suspended = told
        self.assertEqual(refused, -1)  # EPERM
        self.assertEqual(answer, pid)  # the control: the call was put in its place
        self.assertEqual(suspended, "EPERM")
        host = subprocess.run([sys.executable, "-c", ACTS + f"print(enter({UNSHARE})[0])\n"],
                              capture_output=True, text=True, check=True)
        self.assertEqual(host.stdout, "0\n")

    def test_an_init_that_is_made_a_tracer(self):
        """PTRACE_TRACEME names the parent, which of a first process is the init: it lets go."""
        self.begin(None)
        me = ACTS + "libc.ptrace(TRACEME, 0, None, None)\n"
        for act, told in (("os.execv('/bin/echo', ['echo', 'begun'])", "begun"),
                          ("signal.signal(15, lambda *_: print('heard'))\n"
                           "os.kill(os.getpid(), 15)", "heard"),
                          ("os.waitpid(os.fork() or print('forked', flush=True) or os._exit(0), 0)",
                           "forked")):
            with self.subTest(told=told):
                self.assertIn(told, support.text_of(self.run_code(self.box, me + act)))
        stop = me + "os.kill(os.getpid(), signal.SIGSTOP)"
        ended = self.run_code(self.box, stop, timeout_ms=1000)
        self.assertIn("timeout", support.text_of(ended))
        self.assertEqual(self.run_in(self.box, "echo alive"), "alive\n")


NEEDS_COMPILER = unittest.skipUnless(os.access("/usr/bin/cc", os.X_OK), "there is no compiler here")


class Debuggers(unittest.TestCase):
    """What people start works in the development profiles, and in the others says what it lacks."""

    def run_in(self, profile, command):
        with tempfile.TemporaryDirectory(dir=probes.scratch()) as folder:
            with open(folder + "/main.c", "w", encoding="ascii") as file:
                file.write("#include <stdlib.h>\nint main(int n, char **words) {\n"
                           "\tchar *volatile lost = n > 1 ? malloc(10) : 0;\n\tlost = 0;\n\t"
                           "return 0;\n}\n")
            return support.run("sh", "-c", "cd /tmp && " + command,
                               options=("--profile=" + profile, "--ro", folder + ":/probe"))

    @NEEDS_COMPILER
    def test_leaks_are_found(self):
        build = "cc -g -fsanitize=address -o main /probe/main.c && "
        for profile, code in ((PROFILE, 1), ("default", 0)):
            with self.subTest(profile=profile):
                self.assertEqual(self.run_in(profile, build + "./main").returncode, 0)
                leak = self.run_in(profile, build + "./main x")
                self.assertEqual(leak.returncode, code, leak.stderr)
                self.assertEqual("10 byte(s) leaked" in leak.stderr, code == 1)

    @NEEDS_COMPILER
    @unittest.skipUnless(os.access("/usr/bin/gdb", os.X_OK), "there is no gdb here")
    def test_gdb(self):
        result = self.run_in(PROFILE, "cc -g -o main /probe/main.c && gdb -q -batch -ex "
                             "'break main' -ex run -ex bt ./main")
        self.assertRegex(result.stdout, r"Breakpoint 1, main \(n=1")

    @unittest.skipUnless(os.access("/usr/bin/strace", os.X_OK), "there is no strace here")
    def test_strace(self):
        result = self.run_in(PROFILE, "strace -f -e trace=execve sh -c 'ls /; true' 2>&1")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertRegex(result.stdout, r'execve\("/[a-z/]*bin/ls", \["ls", "/"\]')


if __name__ == "__main__":
    unittest.main()
