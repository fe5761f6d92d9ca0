#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A machine or a configuration on which nothing may run: a client and its model are told the reason
and the fix, where they would otherwise see a server that ended."""
import ctypes
import json
import os
import re
import struct
import subprocess
import tempfile
import unittest

import support

SECONDS = 20
LANDLOCK_CREATE_RULESET = 444
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2


def hide_landlock():
    """In the child: the kernel says that it has no Landlock (ENOSYS)."""
    libc = ctypes.CDLL(None, use_errno=True)
    rows = [(0x20, 0, 0, 0),  # the number of the call
            (0x15, 0, 1, LANDLOCK_CREATE_RULESET),
            (0x06, 0, 0, 0x00050000 | 38),  # errno ENOSYS
            (0x06, 0, 0, 0x7fff0000)]  # allow
    code = b"".join(struct.pack("HBBI", *row) for row in rows)
    held = ctypes.create_string_buffer(code)
    program = ctypes.create_string_buffer(
        struct.pack("HxxxxxxQ", len(rows), ctypes.addressof(held)))
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or \
            libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0) != 0:
        os._exit(99)


def end(server):
    if not server.process.stdout.closed:
        server.close()


class Refused(unittest.TestCase):
    def serve(self, *options, **keywords):
        server = support.Server(*options, stderr=subprocess.DEVNULL, **keywords)
        self.addCleanup(end, server)
        return server

    def assert_told(self, server, *patterns):
        """The reason is in the instructions and in the answer of the one tool."""
        first = server.request("initialize", {"protocolVersion": support.PROTOCOL,
                                              "capabilities": {},
                                              "clientInfo": {"name": "tests", "version": "1"}})
        self.assertEqual(set(first["capabilities"]), {"tools", "logging"})
        tools = server.request("tools/list")["tools"]
        self.assertEqual([tool["name"] for tool in tools], ["msp_status"])
        self.assertTrue(tools[0]["annotations"]["readOnlyHint"])
        result = server.call("msp_status")
        self.assertFalse(result["isError"])
        for text in (first["instructions"], support.text_of(result)):
            for pattern in ("refuses to run anything", *patterns):
                self.assertRegex(text, pattern)
        with self.assertRaisesRegex(support.RpcError, "The tools are: msp_status"):
            server.call("run_command", command="true")
        self.assertEqual(server.close(), support.REFUSED)

    def test_without_cgroups(self):
        if not support.limits():
            self.skipTest("cgroup v2 is here: tests/system has a machine without")
        self.assert_told(self.serve(with_limits=False), r"Missing: cgroup ",
                         r"(?m)^Fix: .*limits: fallback")

    def test_without_landlock(self):
        self.assert_told(self.serve(preexec_fn=hide_landlock), r"Missing: landlock ",
                         r"(?m)^Fix: run a kernel")

    def without(self, kind):
        """A program that starts msp where there can be no more namespaces of a kind."""
        with tempfile.NamedTemporaryFile("w", suffix=".sh", delete=False) as script:
            script.write("#!/bin/sh\n"
                         "exec unshare --user --map-current-user --keep-caps sh -c '\n"
                         f"echo 0 >/proc/sys/user/max_{kind}_namespaces &&\n"
                         'exec setpriv --ambient-caps=-all --inh-caps=-all "$0" "$@"\' '
                         f'{support.MSP} "$@"\n')
        self.addCleanup(os.unlink, script.name)
        os.chmod(script.name, 0o755)
        return script.name

    def test_without_user_namespaces(self):
        server = self.serve(program=self.without("user"))
        self.assert_told(server, r"Missing: user-namespace [^\n]*\n"
                         r"Fix: sysctl -w user.max_user_namespaces=\d+\n\n")  # and no consequence

    def test_a_start_that_fails(self):
        """The doctor makes one, and tells the step that failed with its remedy."""
        for kind in ("net", "pid", "ipc", "uts", "cgroup"):
            with self.subTest(kind=kind):
                told = subprocess.run([self.without(kind), "doctor", "--json"], capture_output=True,
                                      stdin=subprocess.DEVNULL, timeout=SECONDS, check=False)
                rows = {row["name"]: row for row in json.loads(told.stdout)["probes"]}
                self.assertEqual((told.returncode, rows["user-namespace"]["status"]), (78, "ok"))
                self.assertEqual(rows["posture"]["happened"],
                                 "creating the namespaces: No space left on device (ENOSPC)")
                self.assertIn("inside a container, start the container with this allowed",
                              rows["posture"]["fix"])

    def test_a_configuration_with_a_mistake(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("profiles:\n  - name: a\n    colour: red\n")
            file.flush()
            self.assert_told(self.serve("--config", file.name), r"colour",
                             re.escape(file.name) + r":3")

    def test_each_line_is_one_on_standard_error(self):
        said = subprocess.run([support.MSP, "serve", *support.limits()], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=SECONDS, check=False,
                              preexec_fn=hide_landlock)
        lines = said.stderr.splitlines()
        self.assertEqual((said.returncode, said.stderr.count("?")), (support.REFUSED, 0), said.stderr)
        self.assertGreater(len(lines), 1)
        for start, line in zip(("Missing: landlock", "Fix: "), lines, strict=False):
            self.assertTrue(line.startswith("msp: serve: " + start), said.stderr)

    def test_the_modern_era(self):
        server = self.serve(preexec_fn=hide_landlock)
        meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"}}
        found = server.request("server/discover", {"_meta": meta})
        self.assertIn("Missing: landlock", found["instructions"])
        result = server.request("tools/call",
                                {"name": "msp_status", "arguments": {}, "_meta": meta})
        self.assertIn("Missing: landlock", support.text_of(result))

    def test_where_nobody_wants_it(self):
        """--strict-start ends at once; so does what is no server of a client."""
        server = self.serve("--strict-start", preexec_fn=hide_landlock)
        self.assertEqual(server.process.wait(SECONDS), support.REFUSED)
        with self.assertRaises(support.Gone):
            server.receive_line()
        result = support.run("true", preexec_fn=hide_landlock)
        self.assertNotEqual(result.returncode, 0)

    def test_where_everything_is_there(self):
        """The control: the same client gets the tools."""
        server = self.serve()
        server.initialize()
        names = [tool["name"] for tool in server.request("tools/list")["tools"]]
        self.assertIn("run_command", names)
        self.assertNotIn("msp_status", names)
        self.assertEqual(server.close(), 0)


class Configuration(unittest.TestCase):
    def config(self, *options, **keywords):
        return subprocess.run([support.MSP, "client-config", *options], capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=SECONDS, check=False,
                              **keywords)

    def test_a_warning(self):
        result = self.config(*support.limits(), "claude", preexec_fn=hide_landlock)
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr,
                         r"(?s)warning: msp will refuse.*\n.*Missing: landlock.*\n.*Fix: ")
        control = self.config(*support.limits(), "claude")
        self.assertNotIn("warning", control.stderr)
        self.assertEqual(control.stdout, result.stdout)

    def test_workspaces(self):
        with tempfile.TemporaryDirectory(prefix="a b") as folder:
            os.mkdir(folder + "/in")
            claude = self.config("--workspace=in", "--workspace", folder, "claude", cwd=folder)
            self.assertIn(f'"--workspace={folder}/in",\n        "--workspace={folder}"\n',
                          claude.stdout)
            codex = self.config("--workspace=in", "codex", cwd=folder)
            self.assertIn(f'args = ["serve", "--workspace={folder}/in"]\n', codex.stdout)
            for wrong in (folder + "/none", folder + "/in/..\n", ""):
                with self.subTest(wrong=wrong):
                    self.assertEqual(self.config("--workspace=" + wrong, "codex").returncode, 64)
            self.assertEqual(self.config("--workspace=" + folder,
                                         "--http=http://127.0.0.1:1/mcp", "codex").returncode, 64)


if __name__ == "__main__":
    unittest.main()
