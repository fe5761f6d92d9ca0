#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The hint of the programs in programs.txt, as a model reads it.

hints.py            compare the hints with the table, for some of its rows; MSP_HINTS=all: for all,
                    and run each program outside of a sandbox as well
hints.py --record   write the table with the hints that there are
"""
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import hints_table  # noqa: E402  pylint: disable=wrong-import-position
import leftovers  # noqa: E402  pylint: disable=wrong-import-position
import support  # noqa: E402  pylint: disable=wrong-import-position

PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
SHELL_WORDS = ("bash", "exec", "test", "kill", "false")  # in every shell
AT_ONCE = 4
ALL = os.environ.get("MSP_HINTS") == "all"
SAMPLE = {"sandbox": 12, "note": 6, "program": 12}  # of so many rows of a fault one runs
# Their runs take seconds of a processor: of those in the sample a part runs.
DEAR = {"go", "java", "javac", "mvn", "gradle", "cargo", "npm"}
DEAR_SAMPLE = 3
HINT_MAX = 130  # characters, some 35 tokens
LEAST = {"sandbox": 25, "note": 4, "program": 15}  # that run on any machine of ours
VERDICT = re.compile(r"\[(?:exit \d+|killed by|(?:disk|memory|process|output) limit|stopped at its)")


def is_installed(program):
    return program in SHELL_WORDS or shutil.which(program, path=PATH) is not None


def hints_of(text):
    """The lines in brackets before the verdict: hints, but neither output nor its marks."""
    lines = text.splitlines()
    while lines and not VERDICT.match(lines[-1]):
        lines.pop()
    found = []
    for line in reversed(lines[:-1]):
        if re.match(r"\[\d+ background process", line):
            continue
        if not re.fullmatch(r"\[(sandbox: |not the sandbox: |/|nothing in |this run |\S+ is allowed, but ).*\]", line):
            break
        found.insert(0, line)
    return found


def is_expected(row, found):
    """Are these the hints of the row? `*` stands for any text."""
    pattern = row[4].replace("[", "(")
    return (not found if row[4] == "-" else
            len(found) == 1 and fnmatch.fnmatchcase(found[0].replace("[", "("), pattern))


class Runs:
    """The rows' commands in one server, some at a time; each has an ephemeral sandbox of its own, or
    the one persistent sandbox."""

    def __init__(self):
        self.server = support.Server(stderr=subprocess.DEVNULL)
        self.server.initialize()
        made = self.server.call("create_sandbox", name="hints")
        if made["isError"]:
            raise AssertionError(support.text_of(made))

    def close(self):
        self.server.call("destroy_sandbox", sandbox="hints")
        self.server.close(20)

    def post(self, row):
        arguments = {"command": row[5], "yield_ms": support.YIELD_MS,
                     "timeout_ms": 40000}
        if row[2] == "persistent":
            arguments["sandbox"] = "hints"
        elif row[2]:
            arguments["profile"] = row[2]
        return self.server.post("tools/call", {"name": "run_command", "arguments": arguments})

    def texts(self, rows):
        """(row, text) of each."""
        waiting = []
        for row in rows:
            waiting.append((row, self.post(row)))
            if len(waiting) == AT_ONCE:
                first, number = waiting.pop(0)
                yield first, support.text_of(self.server.answer(number, 60))
        for row, number in waiting:
            yield row, support.text_of(self.server.answer(number, 60))


def rows_here(every):
    """The rows whose programs are installed: all, or a sample."""
    rows = [row for row in hints_table.read_table() if is_installed(row[3])]
    if every:
        return rows
    sample = [row for fault, step in SAMPLE.items()
              for row in [row for row in rows if row[1] == fault][::step]]
    dear = [row for row in sample if row[3] in DEAR]
    return [row for row in sample if row[3] not in DEAR] + dear[::DEAR_SAMPLE]


def run_all(every):
    runs = Runs()
    try:
        return list(runs.texts(rows_here(every)))
    finally:
        runs.close()


class Hints(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if os.geteuid() == 0:
            raise unittest.SkipTest("needs an ordinary user")
        leftovers.become_reaper()
        support.limits()
        begun = time.monotonic()
        cls.results = run_all(ALL)
        counts = {fault: sum(row[1] == fault for row, _ in cls.results) for fault in LEAST}
        named = sum(row[1] != "program" and hints_of(text) != [] for row, text in cls.results)
        cls.counts = counts
        print(f"programs that ran: {counts}; named: {named}; "
              f"{time.monotonic() - begun:.1f} s", file=sys.stderr)

    def test_enough_programs_ran(self):
        for fault, least in LEAST.items():
            self.assertGreaterEqual(self.counts[fault], least, fault)

    def test_each_has_the_hint_of_the_table(self):
        for row, text in self.results:
            found = hints_of(text)
            with self.subTest(line=row[6], command=row[5]):
                self.assertTrue(is_expected(row, found), f"{found}, not {row[4]}, in:\n{text}")

    def test_none_is_long_and_none_has_yaml(self):
        for row, text in self.results:
            for hint in hints_of(text):
                with self.subTest(line=row[6]):
                    self.assertLessEqual(len(hint), HINT_MAX, hint)
                    self.assertNotRegex(hint, r"[{}]|kind:|seccomp:|landlock:")

    def test_no_failure_of_a_program_is_the_sandboxs(self):
        for row, text in self.results:
            if row[1] == "program":
                with self.subTest(line=row[6], command=row[5]):
                    self.assertNotIn("[sandbox: ", text)


# What such a run does to the account or machine that it runs on, or waits for, is not tried outside.
UNSAFE = re.compile(r"kill|reboot|shutdown|systemctl|service |docker|npm |npx|git config --(system|global)"
                    r"|/proc/sys|sysctl|swap|go env -w|cargo|gpg|ssh|mvn|pip|terraform|kubectl|apt|tmux"
                    r"|ulimit|/etc/|/usr/|bytearray|os.open|dd |exec |server|listen|fork|nice|chrt")


@unittest.skipUnless(ALL, "a long sweep")
class Outside(unittest.TestCase):
    """The control: a program that fails for reasons of its own fails outside of a sandbox too."""

    def test_programs_fail_outside_too(self):
        tried = 0
        for row in rows_here(True):
            if row[1] != "program" or UNSAFE.search(row[5]) or row[2]:
                continue
            with tempfile.TemporaryDirectory() as folder, self.subTest(line=row[6], command=row[5]):
                result = subprocess.run(
                    ["/bin/bash", "-c", row[5]], cwd=folder, stdin=subprocess.DEVNULL,
                    capture_output=True, timeout=60, check=False,
                    env={"PATH": PATH, "HOME": folder, "LANG": "C.UTF-8", "TMPDIR": folder})
                self.assertNotEqual(result.returncode, 0, result.stdout)
                tried += 1
        self.assertGreater(tried, 60)

    def test_refused_files_can_be_seen_or_do_not_exist_outside(self):
        """A hint "is not visible here" names what this host has, or has not either; a path that the
        sandbox shows would make it a lie."""
        for row in rows_here(True):
            named = re.search(r"sandbox: (/\S+) is not visible here\]", row[4])
            if named and row[1] == "sandbox":
                with self.subTest(line=row[6]):
                    inside = support.run("/bin/sh", "-c", 'test -e "$1"', "sh", named.group(1))
                    self.assertNotEqual(inside.returncode, 0, named.group(1))


class Remedies(unittest.TestCase):
    """What a hint tells a model to do works."""

    @classmethod
    def setUpClass(cls):
        if os.geteuid() == 0:
            raise unittest.SkipTest("needs an ordinary user")
        cls.project = tempfile.mkdtemp()
        with open(os.path.join(cls.project, "main.py"), "w", encoding="utf-8") as file:
            file.write("print('here')\n")
        cls.server = support.Server("--workspace", cls.project, stderr=subprocess.DEVNULL)
        cls.server.initialize()

    @classmethod
    def tearDownClass(cls):
        cls.server.close(20)
        support.remove_folder(cls.project)

    def assert_ends_well(self, command, **arguments):
        result = self.server.call("run_command", command=command, **arguments)
        self.assertIn("\n[exit 0 ", "\n" + support.text_of(result), support.text_of(result))

    def test_places_to_write_to_and_to_execute_in(self):
        self.assert_ends_well("touch /workspace/x /tmp/x && cp /bin/true /tmp/t && /tmp/t && "
                              "cp /bin/true /workspace/t && /workspace/t")

    def test_a_port_from_1024(self):
        self.assert_ends_well("python3 -c 'import socket; socket.socket().bind((\"\", 1024))'")

    @unittest.skipUnless(shutil.which("strace", path=PATH), "needs strace")
    def test_the_profile_that_allows_a_call(self):
        self.assert_ends_well("strace -o /tmp/log true", profile="python-dev")

    def test_a_sandbox_with_the_project(self):
        made = self.server.call("create_sandbox", workspace=self.project, name="project")
        self.assertFalse(made["isError"], support.text_of(made))
        self.assert_ends_well("cd /workspace && python3 main.py", sandbox="project")
        self.server.call("destroy_sandbox", sandbox="project")


def record():
    """Write the table with the hints that there are."""
    with open(hints_table.TABLE, encoding="utf-8") as file:
        lines = file.read().splitlines()
    for row, text in run_all(True):
        if not is_expected(row, hints_of(text)):
            fault, program, _, command = lines[row[6] - 1].split(" ;; ", 3)
            hint = "; ".join(hints_of(text)) or "-"
            lines[row[6] - 1] = f"{fault} ;; {program} ;; {hint} ;; {command}"
    with open(hints_table.TABLE, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        record()
    else:
        unittest.main()
