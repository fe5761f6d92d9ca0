#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A request takes the hosts of its profile away, and nothing else; it can add none."""
import json
import os
import unittest

import network_support
import support
from cli_support import LIMITS, msp
from network_hosts import CONFIG, HELLO, WithHosts
from service import Service

# Prints the names of the sandbox's devices, and whether a name of the list and the loopback answer.
LOOK = """\
import socket
devices = sorted(name for _, name in socket.if_nameindex())
try:
    socket.getaddrinfo("web.example.org", 80)
    name = "resolves"
except OSError:
    name = "unknown"
server = socket.create_server(("127.0.0.1", 0))
socket.create_connection(server.getsockname()).close()
print(devices, name, "loopback")
"""
HAS = "['eth0', 'lo'] resolves loopback\n"
HAS_NONE = "['lo'] unknown loopback\n"


class OneShot(WithHosts):
    def look(self, *options):
        return self.run_in("net", "python3", "-c", LOOK, options=options)

    def test_the_hosts_are_gone(self):
        self.assertEqual(self.look().stdout, HAS)
        result = self.look("--network=none")
        self.assertEqual((result.returncode, result.stdout), (0, HAS_NONE), result.stderr)

    def test_a_profile_without_hosts_stays_as_it_is(self):
        result = self.run_in("default", "echo", "ran", options=("--network=none", "--json"))
        said = json.loads(result.stdout)
        self.assertEqual((said["stdout"], said["profile"]), ("ran\n", "default"))

    def test_the_refusal_names_the_profile(self):
        result = self.run_in("net", "curl", "-sS", "http://web.example.org/",
                             options=("--network=none", "--json"))
        said = json.loads(result.stdout)
        self.assertEqual(said["profile"], "net/none")
        self.assertIn("the profile net reaches it", json.dumps(said["denials"]))

    def test_explain_agrees(self):
        said = msp("policy", "explain", "net/none", "connect", "web.example.org:80",
                   env=self.environment(MSP_CONFIG=self.config)).stdout
        self.assertIn("refused: ", said)
        self.assertIn("remedy: a request without network: none", said)

    def test_no_more_can_be_asked_for(self):
        for value in ("hosts", "loopback", "", "net"):
            result = self.look("--network=" + value)
            self.assertEqual(result.returncode, 64, value)
            self.assertIn(f"--network: '{value}' is refused: it must be 'none'", result.stderr)

    def test_no_list_shows_it(self):
        result = self.run_in("nope", "true", options=("--network=none",))
        self.assertIn("use --profile with one of", result.stderr)
        self.assertNotIn("/none", result.stderr)


class Served(WithHosts):
    def setUp(self):
        super().setUp()
        self.server = self.serve("--default-profile", "net", MSP_CONFIG=self.config)

    def look(self, **more):
        return support.text_of(self.server.call("run_command", argv=["python3", "-c", LOOK], **more))

    def test_commands_and_code(self):
        self.assertIn(HAS, self.look())
        for _ in range(3):  # from the second one on of a pool
            self.assertIn(HAS_NONE, self.look(network="none"))
        self.assertIn(HAS, self.look())
        text = support.text_of(self.server.call("run_code", language="python", code=LOOK,
                                                network="none"))
        self.assertIn(HAS_NONE, text)

    def test_a_sandbox_keeps_its_network(self):
        for name, more, has in (("wide", {}, HAS), ("narrow", {"network": "none"}, HAS_NONE)):
            made = self.server.call("create_sandbox", name=name, **more)
            self.assertFalse(made.get("isError"), made)
            self.assertIn(has, self.look(sandbox=name))
            result = self.server.call("run_command", command="true", sandbox=name, network="none")
            self.assertTrue(result["isError"])
            self.assertIn("a sandbox keeps the network that it was created with",
                          support.text_of(result))

    def test_no_more_can_be_asked_for(self):
        result = self.server.call("run_command", command="true", network="hosts")
        self.assertTrue(result["isError"])
        self.assertIn("none", support.text_of(result))

    def test_the_tools_have_it_where_a_profile_has_hosts(self):
        def properties(server):
            tools = server.request("tools/list")["tools"]
            return {tool["name"] for tool in tools if "network" in tool["inputSchema"]["properties"]}
        self.assertEqual(properties(self.server), {"run_command", "run_code", "create_sandbox"})
        self.assertEqual(properties(self.serve()), set())


class WithAService(WithHosts):
    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.folder, "s.sock")
        state = os.path.join(self.folder, "state")
        os.makedirs(state, 0o700)
        service = Service(self.path, env=self.environment(MSP_CONFIG=self.config,
                                                          MSP_STATE_DIR=state))
        self.addCleanup(service.end)

    def msp(self, command, *words):
        result = msp(command, "--socket=" + self.path, *words, env=self.environment())
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_run_and_create(self):
        look = ("--", "python3", "-c", LOOK)
        self.assertEqual(self.msp("run", *LIMITS, "--profile=net", *look), HAS)
        self.assertEqual(self.msp("run", *LIMITS, "--profile=net", "--network=none", *look), HAS_NONE)
        self.msp("create", "--profile=net", "--network=none", "--name=one")
        self.assertEqual(self.msp("exec", *LIMITS, "one", *look), HAS_NONE)
        self.assertIn("net/none", self.msp("list"))


if __name__ == "__main__":
    network_support.main()
