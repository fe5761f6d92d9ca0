#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a workload writes, against the client that reads of it and the protocol between client and
server; and what one execution's secrets show of themselves elsewhere."""
import json
import os
import re
import subprocess
import unittest
import uuid

import evidence
import probes
import support

setUpModule = probes.needs_ordinary_user

LINE_BYTES = int(os.environ.get("MSP_LINE_BYTES", "100000000"))
OUR_MEMORY = 64 << 20
CONTROLS = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")
# Everything that a terminal obeys, and bytes that are no text.
HOSTILE = (r"printf '\033]0;title\007\033[2J\033[31mred\033[0m\b\b\r\0\177"
           r"\302\233\342\200\256\xff\xc3(\xed\xa0\x80\xf4\x90\x80\x80\n'")


def text_outcome(data):
    """Do these bytes, as a client gets them, hold what a terminal would obey, or no UTF-8?"""
    try:
        data.decode("utf-8")
        is_text = not CONTROLS.search(data) and b"\xc2\x9b" not in data
    except UnicodeDecodeError:
        is_text = False
    return probes.Outcome("refused" if is_text else "succeeded", "EILSEQ" if is_text else None,
                          repr(data[:200]), None)


class Output(probes.Attack):
    def outcome(self, data, forged):
        """Is there a message among these lines that only the workload can have written?"""
        for line in data.splitlines():
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if isinstance(message, dict) and message.get("id") == forged:
                return probes.Outcome("succeeded", None, str(message), None)
        return probes.Outcome("refused", "EPERM", "", None)

    @evidence.attack("M4", "terminal escapes and bytes that are no UTF-8, to the client", "checks")
    def test_escapes(self):
        def serve(_):
            with support.Server() as server:
                server.initialize()
                server.post("tools/call", {"name": "run_command", "arguments": {
                    "command": HOSTILE + "; " + HOSTILE + " >&2"}})
                line = server.receive_line()
                shown = support.text_of(json.loads(line)["result"]).encode()
                return text_outcome(line.rstrip(b"\n") + shown.replace(b"\n", b""))

        def bare():
            return text_outcome(subprocess.run(["/bin/bash", "-c", HOSTILE], check=True,
                                               capture_output=True).stdout)

        self.prove_by(serve, ("EILSEQ",), bare)

    @evidence.attack("M5", "messages of the protocol, written wherever a workload can write",
                     "checks")
    def test_forged_messages(self):
        forged = "forged-" + uuid.uuid4().hex
        message = json.dumps({"jsonrpc": "2.0", "id": forged, "result": {}})
        places = ("/dev/stdout", "/dev/stderr", "/proc/self/fd/0", "/proc/self/fd/1", "/dev/tty",
                  "/dev/console", "/proc/1/fd/1", "/proc/1/fd/3", "/dev/pts/0", "/dev/fd/3")
        command = "".join(f"(printf '\\n%s\\n' '{message}' > {place}) 2> /dev/null; "
                          for place in places) + f"printf '\\n%s\\n' '{message}'; exit 9"

        def serve(_):
            with support.Server() as server:
                server.initialize()
                result = server.call("run_command", command=command)
                lines = [json.dumps(result).encode()]
                self.assertEqual(server.request("ping"), {})
                self.assertEqual(server.other, [])
                self.assertRegex(support.text_of(result), r"\[exit 9 ")
                while not server.lines.empty():
                    lines.append(server.lines.get())
            return self.outcome(b"\n".join(lines), forged)

        def bare():
            """A server that hands its output to what it starts, as earlier ones did."""
            return self.outcome(subprocess.run(["/bin/bash", "-c", command], check=False,
                                               capture_output=True).stdout, forged)

        self.prove_by(serve, ("EPERM",), bare)

    def memory_of(self, pid):
        """The most that a process of ours ever had in memory."""
        most = {}
        for each in (pid, *support.descendants(pid)):
            try:
                with open(f"/proc/{each}/status", encoding="utf-8", errors="replace") as file:
                    status = dict(line.split(":", 1) for line in file if ":" in line)
            except OSError:
                continue
            if "VmHWM" in status and status["Name"].strip().startswith(("msp", "memfd:msp")):
                most[status["Name"].strip()] = int(status["VmHWM"].split()[0]) << 10
        return most

    @evidence.attack("M5", "one line of 100 MB", "checks")
    def test_one_long_line(self):
        command = f"head -c {LINE_BYTES} /dev/zero | tr '\\0' x"

        def size_outcome(size):
            return probes.Outcome("succeeded" if size >= LINE_BYTES else "refused", "EMSGSIZE",
                                  str(size), None)

        def serve(_):
            with support.Server() as server:
                server.initialize()
                number = server.post("tools/call", {"name": "run_command", "arguments": {
                    "command": command, "timeout_ms": 120000, "yield_ms": support.YIELD_MS}})
                self.assertEqual(server.request("ping"), {}, "while it floods")
                result = server.answer(number, 150)
                self.assertIn(str(LINE_BYTES), support.text_of(result))
                memory = self.memory_of(server.process.pid)
                self.assertGreater(len(memory), 1, "processes of ours were measured")
                self.assertLess(sum(memory.values()), OUR_MEMORY, memory)
                return size_outcome(len(support.text_of(result)))

        def bare():
            result = subprocess.run(["/bin/bash", "-c", command + " | wc -c"], check=True,
                                    capture_output=True)
            return size_outcome(int(result.stdout))

        self.prove_by(serve, ("EMSGSIZE",), bare)


class Secrets(probes.Attack):
    """What a client gives one execution by env, stdin or code is seen by that one alone."""

    @staticmethod
    def command_lines():
        """Of every process on the machine."""
        found = b""
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    with open(f"/proc/{entry}/cmdline", "rb") as file:
                        found += file.read()
                except OSError:
                    continue
        return found

    def outcome(self, secret, *places):
        for place in places:
            if secret.encode() in place:
                return probes.Outcome("succeeded", None, "", None)
        return probes.Outcome("refused", "ENOENT", "", None)

    def during(self, secret, arguments, tool="run_command"):
        """Everything that shows what is going on while such an execution runs."""
        with support.Server() as server:
            server.initialize()
            number = server.post("tools/call", {"name": tool, "arguments": arguments})
            lines = b"".join(self.command_lines() for _ in range(10))
            other = support.text_of(server.call(
                "run_command", command="cat /proc/*/environ /proc/*/cmdline 2>&1; env; set; "
                "find / -xdev -newer /proc/self -type f 2>/dev/null"))
            failed = support.text_of(server.call("run_command", command="true", cwd="/nowhere"))
            server.answer(number)
        return self.outcome(secret, lines, other.encode(), failed.encode(), server.error_text)

    @evidence.attack("M6", "a secret given by env, stdin or code, seen on a command line, in "
                     "another execution, in an error or in the log", "checks")
    def test_given_to_one_execution(self):
        secret = "secret-" + uuid.uuid4().hex
        ways = {"env": ("run_command", {"command": "sleep 0.5", "env": {"TOKEN": secret}}),
                "stdin": ("run_command", {"command": "sleep 0.5; cat >/dev/null", "stdin": secret}),
                "code": ("run_code", {"language": "bash", "code": f"sleep 0.5\n: {secret}"})}

        def bare():
            with subprocess.Popen(["/bin/sh", "-c", "sleep 2; :", secret]) as process:
                support.wait_until(lambda: secret.encode() in self.command_lines())
                outcome = self.outcome(secret, self.command_lines())
                process.kill()
            return outcome

        for way, (tool, arguments) in ways.items():
            with self.subTest(way=way):
                self.prove_by(lambda _, tool=tool, arguments=arguments: self.during(
                    secret, arguments, tool), ("ENOENT",), bare)

    @evidence.attack("M6", "leftovers of an execution in the next one", "root")
    def test_nothing_is_left(self):
        secret = "secret-" + uuid.uuid4().hex
        places = ("/tmp/x", "/workspace/x", "/home/agent/x", "/dev/shm/x", "/var/tmp/x")
        write = "; ".join(f"echo {secret} > {place}" for place in places)
        read = f"cat {' '.join(places)} /tmp/msp-code/* 2>&1"
        with support.Server() as server:
            server.initialize()

            def outcome(command):
                return self.outcome(secret, support.text_of(
                    server.call("run_command", command=command)).encode())

            server.call("run_command", command=write)
            server.call("run_code", language="bash", code=f": {secret}")
            self.prove_by(lambda _: outcome(read), ("ENOENT",),
                          lambda: outcome(write + "; " + read))


if __name__ == "__main__":
    unittest.main()
