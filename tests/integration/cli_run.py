#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`msp run`: streams, exit codes, options, and what it says when something goes wrong."""
import base64
import errno
import json
import os
import re
import signal
import subprocess
import time
import unittest

import leftovers
from cli_support import MSP, children, command, msp, run, start, wait_until_alone

# Where the time of a command goes, in order.
STAGES = ("launch", "queue", "prepare", "sandbox", "start", "run", "report", "answer")


class ExitCodes(unittest.TestCase):
    def test_the_commands_own(self):
        for code in (0, 1, 7, 124, 125, 255):
            with self.subTest(code=code):
                result = run("sh", "-c", f"exit {code}")
                self.assertEqual((result.returncode, result.stderr), (code, ""))

    def test_a_signal(self):
        for number in (1, 6, 9, 15):
            with self.subTest(signal=number):
                self.assertEqual(run("sh", "-c", f"kill -{number} $$").returncode, 128 + number)

    def test_not_found(self):
        result = run("no-such-command")
        self.assertEqual(result.returncode, 127)
        self.assertRegex(result.stderr, r"^msp: run: no-such-command: not found in the sandbox")

    def test_not_executable(self):
        result = run("/etc/passwd")
        self.assertEqual(result.returncode, 126)
        self.assertRegex(result.stderr, r"/etc/passwd: cannot be executed .*Permission denied")

    def test_a_folder_is_not_executable(self):
        self.assertEqual(run("/usr").returncode, 126)

    def test_timeout(self):
        result = run("sleep", "30", options=["--timeout=0.3"])
        self.assertEqual(result.returncode, 124)
        self.assertRegex(result.stderr, r"timeout: stopped after 0\.[3-9]")

    def test_timeout_ends_everything_and_keeps_the_output(self):
        result = run("sh", "-c", "echo before; (sleep 90 &) ; sleep 90", options=["--timeout=5"])
        self.assertEqual((result.returncode, result.stdout), (124, "before\n"))

    def test_cwd_that_is_not_there(self):
        result = run("true", options=["--cwd=/no/such/folder"])
        self.assertEqual(result.returncode, 125)
        self.assertIn("/no/such/folder", result.stderr)
        self.assertIn("--cwd", result.stderr)

    def test_without_cgroups_it_refuses(self):
        result = msp("run", "--", "true")
        if result.returncode == 0:
            self.skipTest("cgroup v2 is delegated here")
        self.assertEqual(result.returncode, 78)
        self.assertIn("cpu, memory", result.stderr)
        self.assertIn("'limits: fallback' in the configuration", result.stderr)
        self.assertIn("loginctl enable-linger", result.stderr)


class Ends(unittest.TestCase):
    """What msp started is gone and reaped when it ends: its caller may be nobody who collects the
    children of others."""

    def setUp(self):
        leftovers.become_reaper()
        self.addCleanup(wait_until_alone, 5)
        self.addCleanup(leftovers.end_all)

    def assert_alone(self):
        self.assertEqual(children(), [])

    def test_nothing_is_left(self):
        for words, code in ((("true",), 0), (("sh", "-c", "sleep 60 & exit 3"), 3),
                            (("sh", "-c", "kill -9 $$"), 137), (("no-such-program",), 127)):
            with self.subTest(words=words):
                self.assertEqual(run(*words).returncode, code)
                self.assert_alone()

    def test_of_a_caller_that_ignores_its_children(self):
        result = run("true", preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual(result.returncode, 0)
        self.assert_alone()

    def test_children_of_before_are_left_alone(self):
        """A shell that executes msp may have started something."""
        line = 'sleep 60 <&- >&- 2>&- & exec "$0" "$@"'
        for words in (command("true"), ("list", "--standalone")):
            with self.subTest(words=words):
                result = subprocess.run(["/bin/sh", "-c", line, MSP, *words], timeout=30,
                                        stdout=subprocess.DEVNULL, check=False)
                self.assertEqual(result.returncode, 0)
                left, = children()
                with open(f"/proc/{left}/cmdline", "rb") as file:
                    self.assertEqual(file.read(), b"sleep\x0060\0")
                os.kill(left, signal.SIGKILL)
                os.waitpid(left, 0)

    def test_a_factory_that_is_stopped(self):
        process = start("sh", "-c", "echo ready; read line", stdin=subprocess.PIPE)
        with process:
            self.assertEqual(process.stdout.readline(), b"ready\n")
            supervisor = children(process.pid)[0]
            factory, = children(supervisor)
            os.kill(factory, signal.SIGSTOP)
            process.communicate(b"\n", timeout=30)
        self.assertEqual(process.returncode, 0)
        self.assert_alone()

    def test_a_supervisor_that_is_killed(self):
        process = start("sh", "-c", "echo ready; sleep 60")
        with process:
            self.assertEqual(process.stdout.readline(), b"ready\n")
            supervisor = children(process.pid)[0]
            os.kill(supervisor, signal.SIGKILL)
            process.communicate(timeout=30)
        self.assert_alone()


class Streams(unittest.TestCase):
    def test_three_of_them(self):
        result = run("sh", "-c", "cat; echo error >&2", input="hello\n")
        self.assertEqual((result.stdout, result.stderr), ("hello\n", "error\n"))

    def test_bytes_are_not_touched(self):
        data = bytes(range(256)) * 300
        self.assertEqual(run("cat", input=data, text=False).stdout, data)

    def test_stdin_from_a_file(self):
        with open(__file__, "rb") as file:
            result = run("cat", stdin=file, text=False)
            file.seek(0)
            self.assertEqual(result.stdout, file.read())

    def test_the_command_gets_none_of_ours(self):
        """Its streams are pipes of the sandbox, and there is nothing else."""
        result = run("sh", "-c", "ls /proc/self/fd; readlink /proc/self/fd/1")
        self.assertEqual(result.stdout.split()[:3], ["0", "1", "2"])
        self.assertRegex(result.stdout, r"pipe:\[\d+\]\n$")

    def test_closed_streams(self):
        for closed in (0, 1, 2):
            with self.subTest(closed=closed):
                words = " ".join(["'" + MSP + "'", *command("true")])
                result = subprocess.run(["sh", "-c", f"exec {words} {closed}>&-"], timeout=60,
                                        capture_output=True, stdin=subprocess.DEVNULL, check=False)
                self.assertEqual(result.returncode, 0, result.stderr)


class Options(unittest.TestCase):
    def test_options_of_the_command_are_its_own(self):
        self.assertEqual(run("echo", "--json", "--help").stdout, "--json --help\n")
        result = msp("run", "--limits=fallback", "echo", "--timeout", "x", "--")
        self.assertEqual(result.stdout, "--timeout x --\n")

    def test_environment(self):
        result = run("sh", "-c", 'echo "$A|$B|$PATH|$HOME|$SECRET"',
                     options=["--env=A=1", "--env", "B=x y=z"],
                     env={**os.environ, "SECRET": "mine"})
        a, b, path, home, secret = result.stdout.rstrip("\n").split("|")
        self.assertEqual((a, b, home, secret), ("1", "x y=z", "/home/agent", ""))
        self.assertIn("/usr/bin", path.split(":"))

    def test_cwd(self):
        self.assertEqual(run("pwd").stdout, "/workspace\n")
        self.assertEqual(run("pwd", options=["--cwd=/tmp"]).stdout, "/tmp\n")

    def test_profile(self):
        self.assertEqual(run("echo", "x", options=["--profile=strict"]).stdout, "x\n")

    def test_unknown_profile(self):
        result = run("true", options=["--profile=relaxed"])
        self.assertEqual(result.returncode, 64)
        self.assertRegex(result.stderr, r"no profile 'relaxed'.*default.*strict")

    def test_verbose(self):
        result = run("true", options=["--verbose"])
        first, posture, last = result.stderr.splitlines()
        self.assertRegex(first, r"profile default, Landlock ABI \d+, limits: (fallback|cgroup)")
        self.assertRegex(posture, r"1[34] layers hold; not tried: landlock tcp.*; "
                                  r"own namespaces: user, mnt, pid, ipc, uts, cgroup, net.*; "
                                  r"system call filter [0-9a-f]{12}$")
        self.assertRegex(last, r"exited 0; \d+ ms wall, \d+ ms CPU, peak \d+ KiB")

    def test_timings(self):
        result = run("sh", "-c", "sleep 0.2; exit 3", options=["--timings"])
        line = result.stderr.rstrip("\n")
        self.assertEqual(result.returncode, 3)
        self.assertRegex(line, r"^msp: run: microseconds:( [a-z]+ \d+,){8} together \d+$")
        parts = dict(re.findall(r"([a-z]+) (\d+)", line.partition("microseconds:")[2]))
        parts = {name: int(value) for name, value in parts.items()}
        together = parts.pop("together")
        self.assertEqual(tuple(parts), STAGES)
        self.assertEqual(sum(parts.values()), together)
        self.assertGreater(parts["run"], 100000)
        # An init sees a little late that it runs.
        self.assertGreaterEqual(parts["start"] + parts["run"], 200000)

    def test_no_timings_of_what_did_not_run(self):
        result = run("/nothing", options=["--timings"])
        self.assertEqual(result.returncode, 127)
        self.assertNotIn("microseconds", result.stderr)

    def test_a_long_command_line(self):
        self.assertEqual(run("sh", "-c", "echo ${#1}", "sh", "x" * 90000).stdout, "90000\n")
        result = run("true", "x" * 100000)
        self.assertEqual(result.returncode, 64)
        self.assertIn("longer than", result.stderr)

    def test_many_arguments(self):
        result = run("sh", "-c", "echo $#", "sh", *["x"] * 20000)
        self.assertEqual(result.stdout, "20000\n")

    def test_empty_arguments(self):
        self.assertEqual(run("sh", "-c", 'echo "$#$1$2"', "sh", "", "").stdout, "2\n")


class Json(unittest.TestCase):
    def object_of(self, *arguments, options=(), **keywords):
        result = run(*arguments, options=["--json", *options], **keywords)
        return result, json.loads(result.stdout)

    def test_a_result(self):
        result, value = self.object_of("sh", "-c", "cat; echo '\"é\"' >&2; exit 3", input="in\n")
        self.assertEqual(result.returncode, 3)
        self.assertEqual(result.stderr, "")
        self.assertEqual(value["verdict"], "exited")
        self.assertEqual(value["exit_code"], 3)
        self.assertNotIn("signal", value)
        self.assertEqual(value["stdout"], "in\n")
        self.assertEqual(value["stderr"], '"é"\n')
        self.assertEqual(value["stdout_encoding"], "utf-8")
        self.assertEqual(value["profile"], "default")
        self.assertIn(value["limits"], ("fallback", "cgroup"))
        self.assertGreaterEqual(value["landlock_abi"], 6)
        self.assertGreater(value["posture"]["layers"], 10)
        self.assertIn("landlock tcp", value["posture"]["not_tried"], "the profile allows it")
        self.assertRegex(value["posture"]["filter_sha256"], r"^[0-9a-f]{64}$")
        for name in ("wall_ms", "cpu_ms", "peak_bytes", "stdout_bytes", "stderr_bytes"):
            self.assertIsInstance(value[name], int)

    def test_timings(self):
        begun = time.monotonic()
        _, value = self.object_of("sleep", "0.2")
        wall_us = (time.monotonic() - begun) * 1000000
        timings = value["timings_us"]
        self.assertEqual(tuple(timings), STAGES)
        self.assertGreater(timings["run"], 100000)
        # An init sees a little late that it runs.
        self.assertGreaterEqual(timings["start"] + timings["run"], 200000)
        self.assertLessEqual(sum(timings.values()), wall_us)
        told = sum(timings[name] for name in STAGES[2:-1])
        self.assertEqual((told + 500) // 1000, value["wall_ms"])
        _, value = self.object_of("/nothing")
        self.assertNotIn("timings_us", value)

    def test_bytes(self):
        _, value = self.object_of("printf", r"a\377\000b")
        self.assertEqual(value["stdout_encoding"], "base64")
        self.assertEqual(base64.b64decode(value["stdout"]), b"a\xff\0b")

    def test_control_characters(self):
        result, value = self.object_of("printf", r"\033[31mred\007")
        self.assertEqual(value["stdout"], "\x1b[31mred\x07")
        self.assertNotIn("\x1b", result.stdout)

    def test_a_signal(self):
        result, value = self.object_of("sh", "-c", "kill -9 $$")
        self.assertEqual((result.returncode, value["verdict"], value["signal"]),
                         (137, "signalled", 9))
        self.assertNotIn("exit_code", value)

    def test_timeout(self):
        result, value = self.object_of("sh", "-c", "echo before; sleep 30",
                                       options=["--timeout=0.4"])
        self.assertEqual((result.returncode, value["verdict"], value["stdout"]),
                         (124, "timeout", "before\n"))

    def test_a_failed_start(self):
        result, value = self.object_of("no-such-command")
        self.assertEqual((result.returncode, value["verdict"], value["stage"], value["errno"]),
                         (127, "internal", "executing the command", errno.ENOENT))
        self.assertNotIn("exit_code", value)

    def test_head_and_tail(self):
        _, value = self.object_of("sh", "-c", "echo first; yes | head -c 5000000; echo last")
        self.assertEqual(value["stdout_bytes"], 5000011)
        self.assertLessEqual(len(value["stdout"]), 1 << 20)
        self.assertTrue(value["stdout"].startswith("first\ny\n"))
        self.assertTrue(value["stdout"].endswith("y\nlast\n"))
        self.assertEqual(len(value["stdout"]) + value["stdout_omitted_bytes"], 5000011)
        self.assertEqual(value["stdout_omitted_at"], 1 << 19)


if __name__ == "__main__":
    unittest.main()
