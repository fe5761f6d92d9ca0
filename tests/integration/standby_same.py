#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An interpreter that waited for its code does what one does that is started with it; and what
else is asked of its sandbox does not meet it."""
import os
import random
import re
import signal
import sys
import time
import unittest

import standby_support
import support
from standby_programs import PROGRAMS

NUMBER = re.compile(r"/tmp/msp-code/\d+")
HANDLE = re.compile(r"\b[0-9a-hjkmnp-tv-z]{26}-\d+\b")
ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
TIME = re.compile(r" · [0-9.]+ s")
SAMPLE = 36  # programs of an ordinary run
WHERE = 'import os; print(__file__, os.getpid(), end="")\n'


def setUpModule():
    if not os.path.exists(os.path.join(support.BIN, "msp-layers")):
        raise unittest.SkipTest("this build has no msp-layers, and no sandbox is persistent without it")


def outcome(result):
    """All that a client is told, but for when, and the numbers that differ between two runs."""
    told = result["_meta"]["msp/execution"]
    text = support.text_of(result)
    for pattern, put in ((TIME, ""), (ADDRESS, "0x"), (HANDLE, "H"), (NUMBER, "/tmp/msp-code/N")):
        text = pattern.sub(put, text)
    return text, result["isError"], {key: value for key, value in told.items() if key in (
        "verdict", "exit_code", "signal", "truncated", "denials", "posture")}


class Same(standby_support.Case):
    def test_programs_do_not_tell_the_difference(self):
        """Each program looks at one thing by itself: which ones an ordinary run takes, MSP_SEED
        chooses."""
        self.assertGreaterEqual(len(PROGRAMS), 100)
        programs = PROGRAMS if support.IS_ALL else \
            random.Random(support.SEED).sample(PROGRAMS, SAMPLE)
        print(f"{len(programs)} of {len(PROGRAMS)} programs, MSP_SEED={support.SEED}",
              file=sys.stderr)
        cold, warm = self.create(profile="cold"), self.create()
        self.run_code(cold, "pass")
        self.run_code(warm, "pass")
        taken = {}
        for program in programs:
            with self.subTest(program=program[:200]):
                expected = outcome(self.run_code(cold, program))
                pid, path = self.waiting()
                found = outcome(self.run_code(warm, program))
                self.assertEqual(expected, found)
                self.assertNotIn(pid, standby_support.interpreters(self.server.process.pid))
                taken[path] = program
        look = "cd /workspace; find . ~ -type f -exec sha256sum {} + | sort"
        self.assertEqual(self.run_in(cold, look), self.run_in(warm, look))
        sizes = dict(reversed(line.split(" ", 1)) for line in self.run_in(
            warm, "stat -c '%s %n' /tmp/msp-code/*/main.py").splitlines())
        # The file that each waited for is the one that its code was written to; three change it.
        other = [program[:60] for path, program in taken.items()
                 if sizes.get(path) != str(len(program.encode()))]
        self.assertEqual([program for program in other if "(__file__" not in program], [])
        self.assertEqual(len(taken), len(programs))

    def test_what_it_was_given_standby_is_as_asked(self):
        """With other arguments it is not used, and its file does not stay."""
        box = self.create()
        show = "import os, sys; print(os.getcwd(), os.environ.get('A'), sys.argv[1:], __file__)"
        self.run_code(box, "pass", args=["before"])
        for arguments, text in (({"args": ["x", "y"]}, "/workspace None ['x', 'y']"),
                                ({"args": ["before", "more"]}, "None ['before', 'more']"),
                                ({}, "/workspace None []")):
            _, path = self.waiting()
            told = support.text_of(self.run_code(box, show, **arguments))
            self.assertIn(text, told)
            self.assertNotIn(path, told)
            self.assertNotIn(path, self.run_in(box, "ls -d /tmp/msp-code/*/main.py"))
            for _ in range(2):  # code comes after code
                self.run_code(box, "pass", args=["before"])

    def test_input_comes_to_it(self):
        box = self.create()
        self.run_code(box, "pass")
        _, path = self.waiting()
        told = support.text_of(self.run_code(box, "print(input(), __file__)", stdin="hello\n"))
        self.assertIn(f"hello {path}", told)

    def test_a_time_limit_counts_from_the_request(self):
        box = self.create()
        self.run_code(box, "pass")
        _, path = self.waiting()
        result = self.run_code(box, "print(__file__)\nwhile True: pass", timeout_ms=400)
        self.assertIn(path, support.text_of(result))
        self.assertEqual(result["_meta"]["msp/execution"]["verdict"], "timeout")


class Beside(standby_support.Case):
    def test_what_else_runs_does_not_meet_it(self):
        """A shell sees no process but its own, and no file that waits."""
        box = self.create()
        self.run_code(box, "pass")
        pid, path = self.waiting()
        seen = self.run_in(box, "ls -d /proc/[0-9]*; ls /tmp/msp-code/*; "
                                "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
        self.assertNotIn(path, seen)
        self.assertNotIn("python", seen)
        self.assertFalse(os.path.exists(f"/proc/{pid}"))

    def test_what_was_left_running_is_not_beside_it(self):
        """A process that an execution leaves behind, in a session of its own, with what it would
        need to feed or trace another one, is gone before one waits."""
        box = self.create()
        left = ("import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
                "        open('/workspace/alive', 'w').write(str(os.getpid()))\n"
                "        while True:\n            time.sleep(0.001)\n"
                "            for n in range(99):\n"
                "                try: open(f'/tmp/msp-code/{n}/main.py', 'r+').write('stolen')\n"
                "                except OSError: pass\n    os._exit(0)\n"
                "while not os.path.exists('/workspace/alive'): time.sleep(0.01)\n")
        self.run_code(box, left)
        _, path = self.waiting()
        told = support.text_of(self.run_code(
            box, "import os; print(__file__, sorted(n for n in os.listdir('/proc') "
            "if n.isdigit() and n not in ('1', str(os.getpid()))))"))
        self.assertIn(f"{path} []", told)
        self.assertIn("[exit 0", told)
        self.assertRegex(self.run_in(box, "cat /workspace/alive"), r"\d+")  # it did live

    def test_code_at_its_start_ends_with_it(self):
        """What a user's own start-up file begins is begun by the execution, and ends with it."""
        box = self.create()
        count = "ls -d /proc/[0-9]* | wc -l"
        before = self.run_in(box, count)
        self.run_code(box, "import os, site\nos.makedirs(site.getusersitepackages())\n"
                           "open(site.getusersitepackages() + '/usercustomize.py', 'w').write('''\n"
                           "import os, time\nif os.fork() == 0:\n    os.setsid()\n"
                           "    time.sleep(1000)\n    os._exit(0)\n''')\n")
        self.waiting()
        self.assertEqual(len(standby_support.interpreters(self.server.process.pid)), 1)
        told = support.text_of(self.run_code(
            box, "import os; print(len([n for n in os.listdir('/proc') if n.isdigit()]))"))
        self.assertIn("2\n", told)
        wait_for = standby_support.wait_for
        wait_for(lambda: self.run_in(box, count) == before)  # it is seen until it is reaped
        self.no_waiting()

    def test_a_diff_does_not_show_it(self):
        box = self.create()
        self.run_code(box, "open('made', 'w').write('x')")
        self.waiting()
        result = self.server.call("diff_changes", 60, sandbox=box)
        self.assertNotIn("main.py", support.text_of(result))
        self.no_waiting()

    def test_a_checkpoint_and_a_rollback_come_to_none(self):
        box = self.create()
        self.run_code(box, "open('made', 'w').write('x')")
        self.waiting()
        self.server.call("checkpoint", 60, action="save", sandbox=box)
        self.no_waiting()
        self.run_code(box, "open('made', 'w').write('y')")
        self.waiting()
        result = self.server.call("checkpoint", 60, action="rollback", sandbox=box, checkpoint="1")
        self.assertFalse(result["isError"], result["content"])
        self.no_waiting()
        self.assertIn("x", self.run_in(box, "cat made"))


OPENS = """
import os, sys
path = sys.orig_argv[-1]
if path.endswith("/main.py"):
    with open("/workspace/seen", "w") as file:
        file.write(open(path).read())
"""


class StartFiles(standby_support.Case):
    """What a user's own start-up file does at the start, it does when the code is there."""

    def start_with(self, text):
        self.box = self.create()
        self.run_code(self.box, "import os, site\nfolder = site.getusersitepackages()\n"
                                "os.makedirs(folder, exist_ok=True)\n"
                                f"open(folder + '/usercustomize.py', 'w').write({text!r})\n")
        return self.waiting()[1]

    def test_who_opens_the_file_gets_all_of_the_code(self):
        path = self.start_with(OPENS)
        told = support.text_of(self.run_code(self.box, WHERE))
        self.assertIn(path, told)
        self.assertIn("[exit 0", told)
        self.assertEqual(self.run_in(self.box, "cat seen"), WHERE)

    def test_a_file_that_was_taken_away(self):
        """As with a start of its own, there is nothing to run then."""
        self.start_with("import os, sys; os.unlink(sys.orig_argv[-1])")
        told = support.text_of(self.run_code(self.box, WHERE))
        self.assertIn("can't open file", told)
        self.assertIn("[exit 2", told)

    def test_what_is_installed_for_the_user_is_found(self):
        path = self.start_with("import builtins; builtins.left = 'found'")
        told = support.text_of(self.run_code(self.box, "import os; print(left, __file__)"))
        self.assertIn(f"found {path}", told)


class Faults(standby_support.Case):
    def waits(self):
        box = self.create()
        self.run_code(box, "pass")
        return box, *self.waiting()

    def test_one_that_is_killed_is_not_missed(self):
        box, pid, _ = self.waits()
        os.kill(pid, signal.SIGKILL)
        standby_support.wait_for(lambda: pid not in standby_support.interpreters(
            self.server.process.pid))  # it is dead, and may not have been reaped
        told = support.text_of(self.run_code(box, WHERE))
        self.assertIn("[exit 0", told)
        self.assertIn("/main.py", told)
        self.waiting()

    def test_one_that_ended_is_not_missed(self):
        box, pid, path = self.waits()
        os.kill(pid, signal.SIGKILL)
        standby_support.wait_for(lambda: not os.path.exists(f"/proc/{pid}"))
        time.sleep(0.05)  # its supervisor knows
        told = support.text_of(self.run_code(box, WHERE))
        self.assertIn("[exit 0", told)
        self.assertNotIn(path, told)

    def test_one_that_stopped_waiting_is_not_used(self):
        """Its lease is taken by nobody but the kernel; a stopped one stands for what takes long."""
        box, pid, _ = self.waits()
        os.kill(pid, signal.SIGSTOP)
        handle = self.run_code(box, WHERE, yield_ms=200)
        os.kill(pid, signal.SIGCONT)
        self.assertFalse(handle["isError"])

    def test_destroying_the_sandbox_ends_it(self):
        box, pid, _ = self.waits()
        result = self.server.call("destroy_sandbox", 60, sandbox=box)
        self.assertFalse(result["isError"], result["content"])
        self.assertFalse(os.path.exists(f"/proc/{pid}"))

    def test_it_does_not_outlive_the_supervisor(self):
        _, pid, _ = self.waits()
        os.kill(self.server.process.pid, signal.SIGKILL)
        standby_support.wait_for(lambda: not os.path.exists(f"/proc/{pid}"))

    def test_it_does_not_outlive_the_server(self):
        _, pid, _ = self.waits()
        self.server.close()
        standby_support.wait_for(lambda: not os.path.exists(f"/proc/{pid}"))


if __name__ == "__main__":
    unittest.main()
