#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A workload that holds up the init of its sandbox, which starts, watches and ends the executions
beside it: by a program whose opening waits, and by memory whose measuring takes long. The controls
are a sandbox without the filter, where a lease holds it up, and the time that the measuring takes
when nothing bounds it."""
import os
import time
import unittest

import probes
import support

setUpModule = probes.needs_ordinary_user

SHORT_MS = 8000
SOON_S = 6.0

# Leases the program /workspace/leased, if it can, and stays; then "planted" is there.
PLANT = r"""
import fcntl, os, signal, time
signal.signal(signal.SIGIO, signal.SIG_IGN)
with open("/workspace/leased", "w") as file:
    file.write("#!/bin/sh\necho leased ran\n")
os.chmod("/workspace/leased", 0o755)
kept = os.open("/workspace/leased", os.O_RDONLY)
try:
    fcntl.fcntl(kept, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    word = "leased"
except PermissionError:
    word = "refused"
with open("/workspace/planted.new", "w") as file:
    file.write(word)
os.rename("/workspace/planted.new", "/workspace/planted")
time.sleep(60)
"""
# What else an exec could have to wait for: a program, an interpreter, a folder that is no file.
OTHERS = r"""
mkfifo fifo && chmod 755 fifo
printf '#!/workspace/fifo\n' > of-fifo; printf '#!/dev/tty\n' > of-terminal
printf '#!/proc/self/fd/0\n' > of-stdin; ln -s /proc/1/exe of-init
cp /bin/true own && chmod 755 own; exec 9>>own
chmod 755 of-fifo of-terminal of-stdin; echo made; sleep 60
"""
# Processes with as many mappings as the kernel lets them have; "mapped" says how long a reader of
# them all takes. Without cgroups the init is one.
MAPPED = r"""
import ctypes, os, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
base = libc.mmap(None, ctypes.c_size_t(60000 * 4096), 1, 0x22, -1, ctypes.c_long(0))
for page in range(0, 60000, 2):
    assert libc.mprotect(base + page * 4096, 4096, 0) == 0
children = []
for _ in range(80):
    children.append(os.fork())
    if children[-1] == 0:
        time.sleep(100)
start = time.monotonic()
for child in children:
    with open(f"/proc/{child}/smaps_rollup") as file:
        file.read()
with open("/workspace/mapped.new", "w") as file:
    file.write(str(time.monotonic() - start))
os.rename("/workspace/mapped.new", "/workspace/mapped")
time.sleep(100)
"""


class Held(unittest.TestCase):
    """A server with a persistent sandbox."""

    def serve(self, without=None):
        server = support.Server(program=os.path.join(probes.programs(without), "msp"))
        self.addCleanup(server.close)
        server.initialize()
        self.assertFalse(server.call("create_sandbox", name="box").get("isError"))
        self.addCleanup(server.call, "destroy_sandbox", sandbox="box")
        return server

    def begin(self, server, *argv, **arguments):
        return server.post("tools/call", {"name": "run_command", "arguments": {
            "argv": list(argv), "sandbox": "box", **arguments}})

    def planted(self, server):
        server.answer(self.begin(server, "/usr/bin/python3", "-c", PLANT, yield_ms=0))
        return support.text_of(server.call("run_command", sandbox="box", command=(
            "until [ -e planted ]; do sleep 0.05; done; cat planted"))).partition("\n")[0]

    def start_both(self, server, *argv):
        """(what the execution's own answer is, how long another one took beside it, its answer)"""
        number = self.begin(server, *argv, timeout_ms=SHORT_MS)
        time.sleep(0.1)
        start = time.monotonic()
        beside = support.text_of(server.call("run_command", sandbox="box", argv=["echo", "beside"]))
        took = time.monotonic() - start
        return support.text_of(server.answer(number)), took, beside

    def assert_not_held(self, took, beside):
        self.assertTrue(beside.startswith("beside\n[exit 0"), beside)
        self.assertLess(took, SOON_S)

    def test_a_leased_program(self):
        server = self.serve()
        self.assertEqual(self.planted(server), "refused")
        text, took, beside = self.start_both(server, "/workspace/leased")
        self.assertTrue(text.startswith("leased ran\n[exit 0"), text)
        self.assert_not_held(took, beside)

    def test_without_the_filter_a_lease_holds_all_up(self):
        server = self.serve("seccomp")
        self.assertEqual(self.planted(server), "leased")
        text, took, beside = self.start_both(server, "/workspace/leased")
        self.assertNotIn("leased ran", text)
        self.assertFalse(beside.startswith("beside\n[exit 0") and took < SOON_S,
                         f"{took:.1f} s: {beside}")

    def test_what_else_could_be_waited_for(self):
        server = self.serve()
        server.answer(self.begin(server, "/bin/sh", "-c", OTHERS, yield_ms=200))
        for program in ("fifo", "of-fifo", "of-terminal", "of-stdin", "of-init", "own"):
            with self.subTest(program=program):
                text, took, beside = self.start_both(server, "/workspace/" + program)
                self.assertNotIn("timeout", text)
                self.assert_not_held(took, beside)

    def test_memory_that_takes_long_to_measure(self):
        server = self.serve()
        server.answer(self.begin(server, "/usr/bin/python3", "-c", MAPPED, yield_ms=0,
                                 timeout_ms=120000))
        waiting = server.post("tools/call", {"name": "run_command", "arguments": {
            "sandbox": "box", "yield_ms": support.YIELD_MS, "timeout_ms": 90000,
            "command": "until [ -e mapped ]; do sleep 0.1; done; cat mapped"}})
        measured = float(support.text_of(server.answer(waiting, 120)).splitlines()[0])
        self.assertGreater(measured, 0.3, "the control")
        start = time.monotonic()
        text = support.text_of(server.answer(self.begin(server, "sleep", "30",
                                                        timeout_ms=SHORT_MS)))
        took = time.monotonic() - start - SHORT_MS / 1000
        self.assertIn("timeout", text)
        print(f"\nmeasured in {measured:.2f} s; the end came {took:.2f} s late")
        self.assertLess(took, 0.3 + measured / 2)


if __name__ == "__main__":
    unittest.main()
