#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A workload that holds up the start of another execution: the init waits until a program's file
is open, so that no process may make that wait long. The control is a sandbox without the filter,
where a lease does."""
import os
import time
import unittest

import probes
import support

setUpModule = probes.needs_ordinary_user

SHORT_MS = 1500
SOON_S = 1.0

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


class Held(unittest.TestCase):
    """A server with a sandbox that lasts."""

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


if __name__ == "__main__":
    unittest.main()
