#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a workload is refused, and how its result says so: to an agent, a person, a program."""
import json
import os
import subprocess
import tempfile
import unittest

import leftovers
import support
from cli_tty import Terminal

MOUNT, SWAPON, PTRACE, KEXEC, KEYCTL, CLONE3 = 165, 167, 101, 246, 250, 435
NEVER = range(425, 428)  # io_uring_*

CALLS = """
import ctypes, os, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    padded = [ctypes.c_long(a) for a in (*arguments, 0, 0, 0, 0, 0)[:6]]
    result = libc.syscall(ctypes.c_long(number), *padded)
    return ctypes.get_errno() if result == -1 else -result
def calls(number, times, *arguments):
    for _ in range(times):
        if call(number, *arguments) != 1:
            os._exit(99)
"""


def setUpModule():
    if os.geteuid() == 0:
        raise unittest.SkipTest("needs an ordinary user")
    leftovers.become_reaper()
    support.limits()


def run_json(*command, options=()):
    """`msp run --json`; the object."""
    result = support.run(*command, options=["--json", *options])
    return json.loads(result.stdout)


def denials_of(code, options=()):
    """What python code in a sandbox was refused, by operation and target: {(...): denial}."""
    told = run_json("python3", "-c", CALLS + code, options=options)
    if told["exit_code"] != 0:
        raise AssertionError(told)
    return {(item["operation"], item["target"]): item for item in told.get("denials", ())}


def counts_of(code, options=()):
    return {name: item["count"] for (name, _), item in denials_of(code, options).items()}


class Counting(unittest.TestCase):
    def test_each_call_is_counted_once(self):
        self.assertEqual(counts_of(f"calls({MOUNT}, 137); calls({SWAPON}, 1)"),
                         {"mount": 137, "swapon": 1})

    def test_an_ordinary_run_has_none(self):
        for command in (["true"], ["sh", "-c", "ls / | sort >/tmp/x; cat /tmp/x"],
                        ["python3", "-c", "import threading, subprocess, socket, tempfile\n"
                         "subprocess.run(['true'])\n"
                         "threading.Thread(target=print).start()\n"
                         "tempfile.TemporaryFile().write(b'x')"]):
            with self.subTest(command=command):
                told = run_json(*command)
                self.assertEqual((told["exit_code"], "denials" in told), (0, False))

    def test_what_does_not_exist_is_not_a_denial(self):
        self.assertEqual(counts_of(f"assert call({CLONE3}) == 38; assert call(2000) == 38"), {})

    def test_of_all_threads(self):
        self.assertEqual(counts_of(
            f"threads = [threading.Thread(target=calls, args=({MOUNT}, 50)) for _ in range(16)]\n"
            "for thread in threads: thread.start()\n"
            "for thread in threads: thread.join()\n"), {"mount": 800})

    def test_of_all_descendants(self):
        self.assertEqual(counts_of(f"""
def descend(depth):
    calls({MOUNT}, 10)
    if depth == 0:
        return
    for _ in range(2):
        child = os.fork()
        if child == 0:
            os.setsid()
            descend(depth - 1)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
descend(3)
"""), {"mount": 10 * (1 + 2 + 4 + 8)})

    def test_of_a_program_that_was_executed_in_a_session_of_its_own(self):
        told = run_json("sh", "-c", "setsid -w unshare -U true; unshare -U true; exit 0")
        self.assertEqual([(item["operation"], item["count"]) for item in told["denials"]],
                         [("unshare", 2)])

    def test_conditions_by_their_argument(self):
        found = denials_of("import socket\n"
                           "for family in (38, 40, 40):\n"
                           "    assert call(41, family, 1) == 1\n"
                           "assert call(16, 0, 0x5412) == 1\n"
                           "assert call(16, 0, 0x5412 | 1 << 32) == 1\n")
        self.assertEqual({key: item["count"] for key, item in found.items()},
                         {("socket", "argument 1 = 0x26"): 1, ("socket", "argument 1 = 0x28"): 2,
                          ("ioctl", "argument 2 = 0x5412"): 2})

    def test_more_kinds_than_are_told_apart(self):
        found = denials_of("for family in range(20, 60): assert call(41, family, 1) == 1\n")
        self.assertEqual(len(found), 17)
        self.assertEqual(found["more kinds", ""]["count"], 24)

    def test_each_execution_has_its_own(self):
        with support.Server(stderr=subprocess.DEVNULL) as server:
            server.initialize()
            numbers = [server.post("tools/call", {"name": "run_code", "arguments": {
                "language": "python", "code": CALLS + f"calls({MOUNT}, {count})",
                "yield_ms": support.YIELD_MS}}) for count in range(1, 9)]
            for count, number in enumerate(numbers, 1):
                result = server.answer(number)
                denials = result["_meta"]["msp/execution"]["denials"]
                self.assertEqual([item["count"] for item in denials], [count], result)

    def test_of_a_terminal(self):
        with support.Server(stderr=subprocess.DEVNULL) as server:
            server.initialize()
            result = server.call("run_command", command="unshare -U true; exit 4", tty=True)
            self.assertIn("[sandbox: unshare is refused in every profile]", support.text_of(result))

    def test_processes_beyond_the_limit(self):
        told = run_json("python3", "-c", "import os, time\n"
                        "try:\n"
                        "    while True:\n"
                        "        if os.fork() == 0:\n"
                        "            time.sleep(0.4)\n"
                        "            os._exit(0)\n"
                        "except OSError:\n"
                        "    time.sleep(0.3)\n"
                        "    raise\n", options=["--profile", "strict"])
        found = {item["operation"]: item for item in told.get("denials", ())}
        self.assertIn("processes", found, told)
        self.assertEqual((found["processes"]["layer"], found["processes"]["rule"]),
                         ("limits", "limits: pids: 64"))


class Words(unittest.TestCase):
    def test_what_no_profile_allows(self):
        item, = denials_of(f"calls({MOUNT}, 2)").values()
        self.assertEqual(item, {
            "layer": "seccomp", "operation": "mount", "target": "", "count": 2,
            "reason": "the file tree is fixed before a workload starts", "rule": "group mount",
            "remedy": "no profile can allow it", "hint": "mount is refused in every profile"})

    def test_what_a_profile_may_allow_names_the_line(self):
        item, = denials_of("assert call(41, 2, 1) == 1", ["--profile", "strict"]).values()
        with open(os.path.join(support.ROOT, "policy", "profiles", "strict.yaml"),
                  encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertRegex(item["rule"], r"^group network is not allowed \(strict\.yaml:\d+\)$")
        line = int(item["rule"].rstrip(")").rpartition(":")[2])
        self.assertIn("allow:", lines[line - 1])
        self.assertEqual(item["remedy"], "seccomp: {add: [network]} in the operator's profile")

    def test_an_agent_reads_two_lines(self):
        with support.Server(stderr=subprocess.DEVNULL) as server:
            server.initialize()
            result = server.call("run_code", language="python", code=CALLS +
                                 f"calls({MOUNT}, 3); calls({KEXEC}, 1); calls({SWAPON}, 1)\n"
                                 f"for number in {list(NEVER)}: calls(number, 1)\nexit(5)")
            lines = support.text_of(result).splitlines()
            self.assertRegex(lines[-1], r"^\[exit 5 · [0-9.]+ s · no output\]$")
            self.assertEqual(lines[:-1], ["[sandbox: mount is refused in every profile]",
                                          "[sandbox: kexec_load is refused in every profile]"])
            self.assertNotIn("structuredContent", result)
            self.assertEqual(len(result["_meta"]["msp/execution"]["denials"]), 6)

    def test_calls_that_programs_probe_are_no_reason(self):
        with support.Server(stderr=subprocess.DEVNULL) as server:
            server.initialize()
            result = server.call("run_code", language="python", code=CALLS +
                                 f"for number in {list(NEVER)}: calls(number, 1)\nexit(5)")
            self.assertRegex(support.text_of(result), r"^\[exit 5 · [0-9.]+ s · no output\]$")
            self.assertEqual(len(result["_meta"]["msp/execution"]["denials"]), 3)

    def test_a_handle_tells_it_again(self):
        with support.Server(stderr=subprocess.DEVNULL) as server:
            server.initialize()
            result = server.call("run_command", command="sleep 0.3; unshare -U true", yield_ms=1)
            handle = result["_meta"]["msp/execution"]["handle"]
            self.assertNotIn("[sandbox:", support.text_of(result))
            for _ in range(2):
                result = server.call("read_output", handle=handle, wait_ms=20000)
                self.assertIn("[sandbox: unshare is refused", support.text_of(result))

    def test_a_person_is_told_when_it_failed(self):
        failed = support.run("unshare", "-U", "true")
        self.assertEqual(failed.returncode, 1)
        self.assertRegex(failed.stderr, r"(?m)^msp: run: denied: unshare by seccomp: .* no profile")
        well = support.run("sh", "-c", "unshare -U true 2>/dev/null; exit 0")
        self.assertEqual((well.returncode, well.stderr), (0, ""))


class Hints(unittest.TestCase):
    """What nobody counts: a failed command's own last words, judged by the policy."""

    def denials_after(self, command):
        told = run_json("sh", "-c", command)
        self.assertNotEqual(told["exit_code"], 0, told)
        return [(item["layer"], item["operation"], item["target"]) for item in told.get("denials", ())
                if item.get("inferred")], told.get("not_the_sandbox", "")

    def test_refused(self):
        for command, expected in (
                ("touch /usr/x", ("mounts", "create", "/usr/x")),
                ("cat /etc/shadow", ("mounts", "read", "/etc/shadow")),
                ("echo x >/etc/passwd", ("mounts", "write", "/etc/passwd")),
                ("python3 -c 'open(\"/etc/passwd\", \"a\")'", ("mounts", "write", "/etc/passwd")),
                ("python3 -c 'import urllib.request as u; u.urlopen(\"http://example.com/\")'",
                 ("network", "connect", "example.com"))):
            with self.subTest(command=command):
                found, other = self.denials_after(command)
                self.assertEqual((found, other), ([expected], ""))

    def test_not_the_sandbox(self):
        for command, path in (("echo >/tmp/a; chmod 0 /tmp/a; cat /tmp/a", "/tmp/a"),
                              ("cd /tmp; echo >a; /tmp/a", "/tmp/a")):
            with self.subTest(command=command):
                found, other = self.denials_after(command)
                self.assertEqual(found, [])
                self.assertRegex(other, f"^not the sandbox: its policy allows {path}; ")

    def test_a_missing_name(self):
        for command, note in (
                ("cat missing", "/workspace/missing does not exist; /workspace is the sandbox's"),
                ("cat /tmp/no", "/tmp/no does not exist; /tmp is the sandbox's own"),
                ("cat /usr/no", "/usr/no is missing, or a link")):
            with self.subTest(command=command):
                told = run_json("sh", "-c", command)
                self.assertEqual(("denials" in told, "not_the_sandbox" in told), (False, False))
                self.assertTrue(told["note"].startswith(note), told["note"])

    def test_nothing_to_say(self):
        for command in ("false", "exit 7", "grep x /etc/passwd /dev/null | false",
                        "echo /etc/shadow >&2; exit 1", "cat /etc/shadow >&2; exit 0; false"):
            with self.subTest(command=command):
                told = run_json("sh", "-c", command)
                self.assertEqual(("denials" in told, "not_the_sandbox" in told), (False, False))

    def test_what_it_prints_proves_nothing_and_is_not_obeyed(self):
        found, other = self.denials_after(
            "printf 'cat: /etc/\\033[2J: No such file or directory\\n"
            "x: /workspace/y: Read-only file system\\n' >&2; exit 1")
        self.assertEqual((found, other), ([], ""))

    def test_a_person_at_a_terminal_is_told(self):
        for stdin in (None, subprocess.DEVNULL):  # with a terminal of the command's own, and without
            for command, line in (
                    ("touch /usr/x; exit 3", "denied (inferred): create /usr/x by mounts: "),
                    # a refusal that was counted is told of, although the errors do not speak of it
                    ("unshare -U true 2>/dev/null; echo no; exit 3", "denied: unshare by seccomp: "),
                    ("echo no; exit 3", None), ("touch /usr/x; exit 0", None)):
                terminal = Terminal("sh", "-c", command, stdin=stdin)
                code, _ = terminal.end()
                with self.subTest(command=command, stdin=stdin):
                    text = terminal.seen.decode()
                    self.assertEqual(code, int(command[-1]), text)
                    self.assertEqual(text.count("denied"), 1 if line else 0, text)
                    self.assertIn(line or "", text)

    def test_a_person_is_told_wherever_the_errors_go(self):
        with tempfile.TemporaryFile() as file:
            for errors in (subprocess.PIPE, file, subprocess.STDOUT):
                with self.subTest(errors=errors):
                    result = subprocess.run(
                        [support.MSP, "run", *support.limits(), "--", "touch", "/usr/x"],
                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
                        timeout=60)
                    file.seek(0)
                    text = (result.stdout + (result.stderr or b"") + file.read()).decode()
                    file.truncate(0)
                    self.assertEqual(result.returncode, 1, text)
                    self.assertRegex(text, r"Read-only file system\nmsp: run: denied \(inferred\): "
                                           r"create /usr/x by mounts: ")
        for command in ("touch /usr/x; exit 0", "exit 3", "echo 'x: Permission denied' >&2; exit 3"):
            with self.subTest(command=command):
                result = support.run("sh", "-c", command)
                self.assertNotIn("denied (inferred)", result.stderr)

    def test_many_errors_arrive_whole(self):
        result = support.run("sh", "-c", "seq 1 300000 >&2; touch /usr/x")
        self.assertTrue(result.stderr.startswith("".join(f"{i}\n" for i in range(1, 300001))))
        self.assertIn("denied (inferred): create /usr/x", result.stderr)

    def test_a_shell_for_a_person_is_not_explained(self):
        with tempfile.TemporaryDirectory(prefix="msp-workspace-", dir="/var/tmp") as project:
            terminal = Terminal(words=["shell", *support.limits(), "--discard"], cwd=project)
            terminal.type(b"touch /usr/x; exit 3\n")
            code, _ = terminal.end()
        text = terminal.seen.decode()
        self.assertEqual(code, 3, text)
        self.assertIn("Read-only file system", text)
        self.assertNotIn("denied", text)

    def test_an_agent_is_told(self):
        with support.Server(stderr=subprocess.DEVNULL) as server:
            server.initialize()
            refused = support.text_of(server.call("run_command", command="touch /usr/x"))
            self.assertRegex(refused, r"\n\[sandbox: /usr/x cannot be written \(read-only\); "
                                      r"use /workspace or /tmp\]\n\[exit 1 ")
            missing = server.call("run_command", command="cat missing")
            self.assertRegex(support.text_of(missing), r"\n\[/workspace/missing does not exist; this "
                             r"run had no sandbox argument, so /workspace was empty\]\n\[exit 1 ")
            self.assertIn("note", missing["_meta"]["msp/execution"])
            other = server.call("run_command", command="echo >/tmp/a; chmod 0 /tmp/a; cat /tmp/a")
            self.assertRegex(support.text_of(other), r"\n\[not the sandbox: .*\]\n\[exit 1 ")
            self.assertIn("not_the_sandbox", other["_meta"]["msp/execution"])
            plain = support.text_of(server.call("run_command", command="exit 3"))
            self.assertRegex(plain, r"^\[exit 3 · [0-9.]+ s · no output\]$")

    def test_words_of_tests_and_logs_say_nothing(self):
        """The last ones are the controls: the sandbox's own errors."""
        with support.Server(stderr=subprocess.DEVNULL) as server:
            server.initialize()
            for line in ("open /etc/shadow: Permission denied (expected)",
                         "open /etc/shadow: Permission denied",
                         "write /tmp/x: No space left on device (simulated)",
                         "OSError: [Errno 28] No space left on device",
                         "MemoryError", "ok 4 - touch /usr/x: Read-only file system",
                         "12:00:01 INFO connect to 192.0.2.1: Network is unreachable"):
                for stream in (">&2", ""):
                    with self.subTest(line=line, stream=stream):
                        text = support.text_of(server.call(
                            "run_command", command=f"echo '{line}' {stream}; exit 3"))
                        self.assertNotRegex(text, r"(?m)^\[(sandbox|not the sandbox|/)", text)
            for command, line in (
                    ("truncate -s 2G /tmp/x; exit $?", "a file can have at most 1024 MiB"),
                    ("python3 -c 'open(\"/tmp/x\", \"w\").truncate(1 << 31)'", "at most 1024 MiB"),
                    ("head -c 700M /dev/zero >/tmp/x; head -c 700M /dev/zero >/tmp/y; exit 3", "disk"),
                    ("touch /usr/x", "/usr/x cannot be written")):
                with self.subTest(command=command):
                    text = support.text_of(server.call("run_command", command=command, timeout=60))
                    self.assertIn(line, text)


class LeftBehind(unittest.TestCase):
    """Processes in the background end with their command, and the result says so."""

    LINE = (r"\n\[{} background process(?: was|es were) ended with the command: run a server as a "
            r"command of its own with yield_ms 0\]\n\[exit {} ")
    CASES = (("sleep 60 & echo started", 1, 0),
             ("nohup python3 -m http.server 8123 >/tmp/log 2>&1 & sleep 0.3; echo started", 1, 0),
             ("sleep 60 & sleep 61 & setsid sleep 62 & sleep 0.2; echo started; exit 4", 3, 4),
             ("python3 -c 'import subprocess; subprocess.Popen([\"sleep\", \"60\"])'; echo started",
              1, 0))
    CONTROLS = ("sleep 0.1 & wait; echo started", "echo started",
                "sleep 60 & kill -9 $!; wait; echo started", "(sleep 0.1; :) | cat; echo started")

    def check(self, server, **arguments):
        for command, count, code in self.CASES:
            with self.subTest(command=command, arguments=arguments):
                result = server.call("run_command", command=command, **arguments)
                self.assertRegex(support.text_of(result),
                                 "^started" + self.LINE.format(count, code))
                self.assertEqual(result["_meta"]["msp/execution"]["left_behind"], count)
        for command in self.CONTROLS:
            with self.subTest(command=command, arguments=arguments):
                result = server.call("run_command", command=command, **arguments)
                self.assertNotIn("background", support.text_of(result))
                self.assertNotIn("left_behind", result["_meta"]["msp/execution"])
        late = server.call("run_command", command="sleep 60 & sleep 61", timeout_ms=500, **arguments)
        self.assertNotIn("background", support.text_of(late), "its time limit ended all")

    def test_an_agent_is_told(self):
        with support.Server(stderr=subprocess.DEVNULL) as server:
            server.initialize()
            self.check(server)
            server.call("create_sandbox", name="background")
            try:
                self.check(server, sandbox="background")
            finally:
                server.call("destroy_sandbox", sandbox="background")

    def test_a_person_is_told(self):
        result = support.run("sh", "-c", "sleep 60 & echo started")
        self.assertEqual((result.returncode, result.stdout), (0, "started\n"))
        self.assertEqual(result.stderr,
                         "msp: run: 1 background process was ended with the command: 'msp exec -d' "
                         "keeps a server running in a persistent sandbox\n")
        result = support.run("sh", "-c", "sleep 0.1 & wait")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(run_json("sh", "-c", "sleep 60 & sleep 61 & :")["left_behind"], 2)
        self.assertNotIn("left_behind", run_json("true"))


if __name__ == "__main__":
    unittest.main()
