#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A hostile workload and the interpreter that waits in its sandbox for another request's code: it
is not to be traced, read, signalled or fed. Each attack has its control beside it: the same acts
reach the workload's own child."""
import json
import os
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "integration"))
import standby_support  # noqa: E402  (a folder of its own)
import support  # noqa: E402

ALL = ["memory", "read", "signal", "trace"]
INSIDE = ["memory", "signal"]  # of the own child: the filter refuses the other two of everybody
TRIES = 20

# own(): what reaches the own child. others(): what reaches anybody else until then, or the file
# "stop" is there; its file has {pid: acts} of that, and is empty meanwhile.
ACTS = r"""
import ctypes, errno, json, os, signal, sys, time
libc = ctypes.CDLL(None, use_errno=True)
class Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
word = ctypes.create_string_buffer(8)
piece = Piece(ctypes.addressof(word), 8)
def can_signal(pid):
    os.kill(pid, 0)
def can_memory(pid):
    os.close(os.open(f"/proc/{pid}/mem", os.O_RDWR))
def called(result):
    if result < 0 and ctypes.get_errno() != errno.EFAULT:
        raise OSError
def can_read(pid):
    called(libc.process_vm_readv(pid, ctypes.byref(piece), 1, ctypes.byref(piece), 1, 0))
def can_trace(pid):
    called(libc.ptrace(0x4206, pid, None, None))
def acts(pid):
    found = []
    for name in ("memory", "read", "signal", "trace"):
        try:
            globals()["can_" + name](pid)
            found.append(name)
        except OSError:
            pass
    return found
def others(path, seconds):
    end, found = time.monotonic() + seconds, {}
    with open(path, "w"):
        pass
    while time.monotonic() < end and not os.path.exists("/workspace/stop"):
        for pid in set(range(1, 400)) - {os.getpid()}:
            reached = acts(pid)
            if reached:
                found[pid] = reached
        if found:
            break
    with open(path, "w") as file:
        json.dump(found, file)
def own():
    child = os.fork()
    if child == 0:
        time.sleep(60)
    found = acts(child)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return found
"""
OWN = ACTS + "print(json.dumps(own()))\n"
BESIDE = ACTS + "others('/workspace/reached', 30)\n"
# It looks when those are gone that it comes from, which it reaches.
LEFT = ACTS + ("kin = [os.getpid()]\nif os.fork() == 0:\n    os.setsid()\n"
               "    kin.append(os.getpid())\n    if os.fork() == 0:\n"
               "        open('/workspace/left', 'w').close()\n"
               "        while any(map(acts, kin)): pass\n"
               "        others('/workspace/left', 30)\n    os._exit(0)\n"
               "while not os.path.exists('/workspace/left'): time.sleep(0.005)\n")
BEGUN = ACTS + ("if sys.orig_argv[-1].endswith('/main.py') and os.fork() == 0:\n"
                "    with open('/workspace/begun', 'w') as file:\n"
                "        json.dump(acts(os.getppid()), file)\n    os._exit(0)\n")


def setUpModule():
    if not os.path.exists(os.path.join(support.BIN, "msp-layers")):
        raise unittest.SkipTest("this build has no msp-layers, and no sandbox is persistent without it")


class Waiting(standby_support.Case):
    def setUp(self):
        super().setUp()
        self.box = self.create()

    def read(self, name):
        return json.loads(self.run_in(self.box, f"cat /workspace/{name}"))

    def own(self):
        return json.loads(support.text_of(self.run_code(self.box, OWN)).splitlines()[0])

    def test_the_acts_reach_what_is_not_protected(self):
        host = subprocess.run([sys.executable, "-c", OWN], capture_output=True, check=True)
        self.assertEqual(json.loads(host.stdout), ALL)
        self.assertEqual(self.own(), INSIDE)

    def test_what_runs_has_none_beside_it(self):
        """None is begun while it runs, and what is asked for meanwhile is out of its reach."""
        result = self.run_code(self.box, BESIDE, yield_ms=0)
        self.assertFalse(result["isError"], result["content"])
        standby_support.wait_for(lambda: "reached" in self.run_in(self.box, "ls /workspace"))
        self.run_code(self.box, "import time; time.sleep(0.3)")
        self.assertEqual(self.run_in(self.box, "cat /workspace/reached"), "", "it still looks")
        self.assertEqual(len(standby_support.interpreters(self.server.process.pid)), 1,
                         "it, and none that waits")
        self.run_in(self.box, "touch /workspace/stop")
        standby_support.wait_for(lambda: self.run_in(self.box, "cat /workspace/reached"))
        self.assertEqual(self.read("reached"), {})

    def test_what_was_left_is_gone_before_one_is_begun(self):
        self.run_code(self.box, LEFT)
        _, path = self.waiting()
        self.assertEqual(list(standby_support.interpreters(self.server.process.pid).values()), [path])
        time.sleep(0.1)
        self.assertIn(path, support.text_of(self.run_code(self.box, "print(__file__)")))
        self.assertEqual(self.run_in(self.box, "cat /workspace/left"), "", "it had just begun")

    def test_the_next_command_meets_none(self):
        """From its first moment on; that it sees itself shows that it looks."""
        look = ("p=2; while [ $p -lt 400 ]; do if kill -0 $p 2>/dev/null; then "
                "[ $p = $$ ] && echo self || echo other; fi; p=$((p+1)); done")
        for _ in range(TRIES):
            for _ in range(2):  # code comes after code
                self.run_code(self.box, "pass")
            self.waiting()
            self.assertEqual(self.run_in(self.box, look), "self\n")

    def test_the_next_command_has_not_left_it_behind(self):
        """It may still be dying at that command's end. The control: what the command itself left."""
        for _ in range(TRIES):
            for _ in range(2):
                self.run_code(self.box, "pass")
            self.waiting()
            self.assertEqual(self.run_in(self.box, ":"), "")
        self.assertRegex(self.run_in(self.box, "sleep 60 &"), "^.1 background process was ended")

    def test_what_it_begins_itself_cannot_trace_it(self):
        """A start-up file of the workload's runs in it, confined as it is, when its code is there,
        and the init that held it up until then does not help."""
        self.run_code(self.box, "import os, site\nos.makedirs(site.getusersitepackages())\n"
                                "open(site.getusersitepackages() + '/usercustomize.py', 'w')"
                                f".write({BEGUN!r})\n")
        _, path = self.waiting()
        told = support.text_of(self.run_code(
            self.box, "import os, time\nprint(__file__)\n"
            "while not os.path.exists('/workspace/begun') or "
            "not os.path.getsize('/workspace/begun'): time.sleep(0.01)\n"))
        self.assertIn(path, told)
        self.assertEqual(self.read("begun"), INSIDE)


if __name__ == "__main__":
    unittest.main()
