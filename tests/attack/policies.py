#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An empty, broken or half-written policy denies; none of them means that everything may be."""
import os
import random
import shutil
import subprocess
import tempfile
import unittest

import evidence
import probes
import support

setUpModule = probes.needs_ordinary_user

COMPILER = os.path.join(support.BIN, "msp-policy")
REFUSED = 78
EMPTY_PARTS = ("seccomp: {allow: []}", "seccomp:", "seccomp: {allow: }", "seccomp: {}",
               "landlock: []", "landlock:", "files: []", "files:", "network:", "network: null",
               "network: []", "network: all", "limits:", "limits: {}", "limits: {pids: 0}",
               "limits: {memory: 0}", "requirements:", "requirements: {}",
               "requirements: {landlock: 1}", "requirements: {limits: none}", "environment: []",
               "seccmop: {allow: [basic]}")
# A profile from nothing, whose one part is left to say.
WHOLE = """name: whole
description: as little as can be run
hostname: sandbox
cwd: /usr
shell: [/bin/sh, -c]
network: none
environment: [PATH=/usr/bin]
files:
  - {at: /usr, kind: bind}
  - {at: /bin, kind: symlink, to: usr/bin}
  - {at: /lib, kind: symlink, to: usr/lib}
  - {at: /lib64, kind: symlink, to: usr/lib64}
  - {at: /dev/null, kind: device, device: "1:3"}
  - {at: /proc, kind: proc}
limits: {memory: 64M, file_size: 1M, output: 0, log: 1M, pids: 16, open_files: 64,
  cpu_percent: 0, cpu_weight: 100, cpu_seconds: 0s, wall_default: 9s, wall_max: 9s, stack: 8M}
requirements: {landlock: 6, limits: required}
"""
PARTS = {"landlock": ("landlock: [{path: /usr, rights: [read, execute]}]", "landlock: []"),
         "seccomp": ("seccomp: {allow: [basic, files, process, threads, memory, signals, time]}",
                     "seccomp: {allow: []}")}


class Installed(probes.Attack):
    """Programs of their own folder, with a policy of this test's."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=probes.scratch())
        for name in set(probes.PROGRAMS) - {"msp-policy"}:  # which compiles the built-in profiles
            shutil.copy(os.path.join(support.BIN, name), self.folder)
        self.policy = os.path.join(self.folder, "builtin.policy")

    def compile(self, keys):
        """Install the built-in profiles and one of these keys; the compiler's exit code."""
        source = os.path.join(self.folder, "config.yaml")
        with open(source, "w", encoding="ascii") as file:
            file.write(support.config_of(keys))
        os.chmod(source, 0o644)
        return subprocess.run([COMPILER, "compile", "-o", self.policy, "--config", source],
                              capture_output=True, check=False).returncode

    def run_msp(self, *command, options=()):
        return subprocess.run(
            [os.path.join(self.folder, "msp"), "run", *support.limits(), *options, "--", *command],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)

    def outcome(self, *command, options=()):
        """Did the command run?"""
        result = self.run_msp(*command, options=options)
        ran = "it runs" in result.stdout
        return probes.Outcome("succeeded" if ran else "refused",
                              None if ran else result.returncode, result.stdout + result.stderr,
                              None)


class Broken(Installed):
    """The plan is checked as if it came from an enemy before anything is started."""

    def versions(self):
        with open(self.policy, "rb") as file:
            whole = file.read()
        yield b""
        yield bytes(len(whole))
        yield b"null\n"
        yield b"[]\n"
        yield b"{}\n"
        yield whole + b"x"
        for size in (1, 64, 4096, len(whole) // 2, len(whole) - 8):
            yield whole[:size]
        for at in range(0, 96, 4):  # the header and the first profile
            yield whole[:at] + b"\xff\xff\xff\xff" + whole[at + 4:]
        numbers = random.Random(15)
        yield numbers.randbytes(len(whole))

    @evidence.attack("T15", "an empty, cut off or damaged plan", "checks")
    def test_plans(self):
        with open(self.policy, "rb") as file:
            whole = file.read()
        refused = 0
        for number, version in enumerate(self.versions()):
            with self.subTest(number=number):
                with open(self.policy, "wb") as file:
                    file.write(version)
                outcome = self.outcome("echo", "it runs")
                if outcome.word == "succeeded":  # bytes that this start does not need
                    self.assert_confined()
                    continue
                refused += 1
                self.assertIn(outcome.error, (REFUSED, 125, 70, 64), outcome)
                self.show_refused("", outcome, REFUSED, 125, 70, 64)
        self.assertGreater(refused, 20)
        with open(self.policy, "wb") as file:
            file.write(whole)
        self.show_succeeded("host", self.outcome("echo", "it runs"))

    def assert_confined(self):
        result = self.run_msp("/probe/probe", "less-confined",
                              options=("--ro", probes.PROBE_FOLDER + ":/probe"))
        self.assertIn("refused EPERM", result.stdout, result)

    @evidence.attack("T15", "no plan at all", "checks")
    def test_no_plan(self):
        control = self.outcome("echo", "it runs")
        os.unlink(self.policy)
        self.show_refused("", self.outcome("echo", "it runs"), 125)
        self.show_succeeded("host", control)


class Empty(Installed):
    @evidence.attack("T15", "an empty part of a profile that takes something away", "checks")
    def test_empty_parts(self):
        """Refused by the compiler, or what is inherited stands."""
        refused = []
        for part in EMPTY_PARTS:
            with self.subTest(part=part):
                text = f"name: extra\nextends: default\ndescription: for tests\n{part}\n"
                if self.compile(text) != 0:
                    refused.append(part)
                    continue
                result = self.run_msp("/probe/probe", "less-confined", options=(
                    "--profile", "extra", "--ro", probes.PROBE_FOLDER + ":/probe"))
                self.show_refused("", probes.parse(result.returncode, result.stdout, None), "EPERM")
        self.assertGreater(len(refused), 10, refused)
        self.show_succeeded("host", probes.on_host("less-confined"))

    @evidence.attack("T15", "a profile from nothing that leaves a part empty or out", "checks")
    def test_a_whole_profile(self):
        full = {name: parts[0] for name, parts in PARTS.items()}
        for name, (_, empty) in PARTS.items():
            for text in (empty, name + ":", ""):
                with self.subTest(part=name, text=text):
                    code = self.compile(WHOLE + "\n".join(dict(full, **{name: text}).values()))
                    self.show_refused("", probes.Outcome(
                        "refused" if code else "succeeded", code or None, text, None), REFUSED)
        self.assertEqual(self.compile(WHOLE + "\n".join(full.values())), 0)
        self.show_succeeded("host", self.outcome("echo", "it runs",
                                                 options=("--profile", "whole")))


class Replaced(Installed):
    """A running server keeps the plan that it started with."""

    EXTRA = "name: extra\nextends: default\ndescription: more than there was\n"

    def knows(self, server):
        result = server.call("run_command", command="echo it runs", profile="extra")
        return probes.Outcome("refused" if result.get("isError") else "succeeded",
                              1 if result.get("isError") else None, support.text_of(result), None)

    def serve(self):
        server = support.Server.__new__(support.Server)
        original, support.MSP = support.MSP, os.path.join(self.folder, "msp")
        try:
            server.__init__()
        finally:
            support.MSP = original
        return server

    @evidence.attack("T15", "a plan replaced while a server runs", "sealed")
    def test_replaced(self):
        with self.serve() as server:
            server.initialize()
            server.call("run_command", command="true")
            with open(self.policy, "r+b") as file:  # the very file that was opened
                self.assertEqual(self.compile(self.EXTRA), 0)
                with open(self.policy, "rb") as new:
                    file.write(new.read())
                    file.truncate()
            self.show_refused("", self.knows(server), 1)
            self.assertIn("it runs", support.text_of(
                server.call("run_command", command="echo it runs")))
        with self.serve() as server:
            server.initialize()
            self.show_succeeded("host", self.knows(server))


if __name__ == "__main__":
    unittest.main()
