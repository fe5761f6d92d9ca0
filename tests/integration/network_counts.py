#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The result of an execution has the refusals of its network, as msp-cable counted them."""
import contextlib
import json
import os
import signal
import subprocess
import unittest

import network_support
import support
from cli_support import LIMITS, SECONDS, msp
from http_support import HttpServer, ModernClient
from network_hosts import CONNECT, WithHosts
from service import Service

UNLISTED = "unlisted.example.org"
RESOLVE = "for i in $(seq %d); do getent hosts %s; done; true"


def resolve(count, host=UNLISTED):
    return RESOLVE % (count, host)


def kinds(denials):
    """{(operation, target): count} of refusals of the network that were counted."""
    return {(denial["operation"], denial["target"]): denial["count"] for denial in denials
            if denial["layer"] == "network" and not denial.get("inferred")}


class OneShot(WithHosts):
    def denials(self, command):
        result = self.run_in("net", "sh", "-c", command, options=("--json",))
        self.assertTrue(result.stdout, result.stderr)
        return json.loads(result.stdout).get("denials", [])

    def test_names_and_ports(self):
        connect = CONNECT.replace('"', "'")
        got = self.denials(f'{resolve(3)}; python3 -c "{connect}" web.example.org 8080; exit 4')
        self.assertEqual(kinds(got), {("resolve", UNLISTED): 3,
                                      ("connect", "web.example.org:8080"): 1})
        self.assertIn("hosts: no entry covers the name", got[0]["rule"])
        self.assertIn('hosts: ["web.example.org:8080"]', got[1]["remedy"])

    def test_addresses(self):
        got = self.denials("curl -s http://private.example.org/")
        self.assertEqual(kinds(got), {("connect", "private.example.org:80"): 1})
        self.assertIn("private", got[0]["remedy"])

    def test_what_is_counted_is_not_inferred_too(self):
        got = self.denials(f"curl -sS http://{UNLISTED}/")
        self.assertEqual([denial["target"] for denial in got], [UNLISTED])
        self.assertNotIn("inferred", got[0])

    def test_what_only_the_kernel_refused_is_inferred(self):
        got = self.denials("echo 'connect to web.example.org port 81: Connection refused' >&2;"
                           f"{resolve(1)}; exit 1")
        self.assertEqual({(denial["target"], denial.get("inferred", False)) for denial in got},
                         {(UNLISTED, False), ("web.example.org", True)})

    def test_more_kinds_than_are_told_apart(self):
        got = self.denials("for i in $(seq 20); do getent hosts $i.example.net; done")
        self.assertEqual(len(kinds(got)), 17)
        self.assertEqual(sum(kinds(got).values()), 20)

    def test_a_person_reads_them(self):
        result = self.run_in("net", "sh", "-c", f"{resolve(2)}; exit 4")
        self.assertIn(f"denied: resolve {UNLISTED} (2 times) by network: the profile does not have "
                      "this host", result.stderr)


class Served(WithHosts):
    def setUp(self):
        super().setUp()
        self.server = self.serve("--default-profile", "net", MSP_CONFIG=self.config)

    def denials(self, result):
        return result["_meta"]["msp/execution"].get("denials", [])

    def test_ephemeral_and_persistent(self):
        self.assertFalse(self.server.call("create_sandbox", name="one").get("isError"))
        for more in ({}, {"sandbox": "one"}):
            for count in (3, 1):
                got = self.denials(self.server.call("run_command", command=resolve(count), **more))
                self.assertEqual(kinds(got), {("resolve", UNLISTED): count}, more)
                self.assertNotIn("shared", got[0])
            got = self.denials(self.server.call("run_command", command="true", **more))
            self.assertEqual(got, [])

    def test_several_at_once_share_their_counts(self):
        self.assertFalse(self.server.call("create_sandbox", name="one").get("isError"))
        until = "while [ ! -e /tmp/%s ]; do sleep 0.02; done"
        waiting = self.server.post("tools/call", {"name": "run_command", "arguments": {
            "command": "touch /tmp/up; " + until % "go", "sandbox": "one",
            "yield_ms": support.YIELD_MS}})
        got = self.denials(self.server.call(
            "run_command", sandbox="one",
            command=f"{until % 'up'}; {resolve(2)}; touch /tmp/go"))
        self.assertEqual((kinds(got), got[0]["shared"]), ({("resolve", UNLISTED): 2}, True))
        got = self.denials(self.server.answer(waiting, SECONDS))
        self.assertEqual((kinds(got), got[0]["shared"]), ({("resolve", UNLISTED): 2}, True))

    def test_without_msp_cable_the_result_comes(self):
        running = self.server.post("tools/call", {"name": "run_command", "arguments": {
            "command": resolve(1) + "; curl -s http://web.example.org/slow/killed; sleep 60",
            "yield_ms": support.YIELD_MS}})
        self.assertTrue(support.wait_until(
            lambda: "80/slow/killed" in network_support.asked("path")))
        os.kill(support.named(self.server.process.pid, "msp-cable")[0], signal.SIGKILL)
        result = self.server.answer(running, SECONDS)
        self.assertIn("gateway to the network has ended", support.text_of(result))


class Read(WithHosts):
    """By a client, as a resource."""

    def setUp(self):
        super().setUp()
        self.server = self.serve("--default-profile", "net", MSP_CONFIG=self.config)
        made = self.server.call("create_sandbox", name="one")
        self.uri = f"sandbox://{made['structuredContent']['id']}/network"

    def read(self):
        content, = self.server.request("resources/read", {"uri": self.uri})["contents"]
        self.assertEqual((content["uri"], content["mimeType"]), (self.uri, "application/json"))
        return json.loads(content["text"])

    def refused(self, server):
        with self.assertRaises(support.RpcError) as raised:
            server.request("resources/read", {"uri": self.uri})
        return raised.exception.message

    def test_what_runs(self):
        self.assertIs(self.read()["running"], False)
        waiting = self.server.post("tools/call", {"name": "run_command", "arguments": {
            "command": f"{resolve(3)}; curl -s http://web.example.org/slow/read", "sandbox": "one",
            "yield_ms": support.YIELD_MS}})
        self.assertTrue(support.wait_until(
            lambda: "80/slow/read" in network_support.asked("path")))
        said = self.read()
        self.assertEqual([(row["host"], row["port"]) for row in said["connections"]],
                         [("web.example.org", 80)])
        self.assertEqual(said["refused"], [
            {"host": UNLISTED, "reason": "the profile does not have this host", "count": 3}])
        self.server.call("destroy_sandbox", sandbox="one")
        self.server.answer(waiting, SECONDS)
        refused = self.refused(self.server)
        self.assertIn("Resource not found", refused)

    def test_it_is_listed_where_a_profile_has_hosts(self):
        def listed(server):
            templates = server.request("resources/templates/list")["resourceTemplates"]
            return ("sandbox://{id}/network" in [row["uriTemplate"] for row in templates],
                    [row["uri"] for row in server.request("resources/list")["resources"]
                     if row["uri"].endswith("/network")])
        self.assertEqual(listed(self.server), (True, [self.uri]))
        self.assertEqual(listed(self.serve()), (False, []))

    def test_another_clients(self):
        server = HttpServer(tokens=("alice", "bob"), options=("--default-profile", "net"),
                            env=self.environment(MSP_CONFIG=self.config))
        self.addCleanup(server.stop)

        def ask(name, method, params):
            with contextlib.closing(ModernClient(server, name)) as client:
                return client.say(client.message(method, params)).messages()[-1]
        made = ask("alice", "tools/call", {"name": "create_sandbox", "arguments": {}})
        uri = f"sandbox://{made['result']['structuredContent']['id']}/network"
        self.assertIn("result", ask("alice", "resources/read", {"uri": uri}))
        refused = ask("bob", "resources/read", {"uri": uri})["error"]
        self.assertIn("Resource not found", refused["message"])

    def test_without_an_answer(self):
        self.assertIn("exit 0", support.text_of(self.server.call(
            "run_command", command="true", sandbox="one")))
        cable = min(support.named(self.server.process.pid, "msp-cable"))  # not a child before its exec
        os.kill(cable, signal.SIGSTOP)
        try:
            refused = self.refused(self.server)
        finally:
            os.kill(cable, signal.SIGCONT)
        self.assertIn("does not answer", refused)


class Looked(WithHosts):
    """By `msp network list`, at the service."""

    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.folder, "s.sock")
        service = Service(self.path, env=self.environment(MSP_CONFIG=self.config))
        self.addCleanup(service.end)
        made = msp("create", "--socket=" + self.path, "--profile=net", "--name=one",
                   env=self.environment())
        self.assertEqual(made.returncode, 0, made.stderr)

    def look(self, name="one", *options):
        return msp("network", "list", "--socket=" + self.path, *options, name,
                   env=self.environment())

    def look_json(self):
        return json.loads(self.look("one", "--json").stdout)

    def test_connections_and_refusals(self):
        result = self.look()
        self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)
        self.assertIn("nothing runs in sandbox 'one'", result.stderr)
        self.assertEqual(self.look_json(), {"running": False, "connections": [], "granted": [],
                                            "taken": [], "refused": []})
        words = [support.MSP, "exec", *LIMITS, "--socket=" + self.path, "one", "--", "sh", "-c"]
        subprocess.run([*words, "curl -s http://web.example.org/"], check=True,
                       stdout=subprocess.DEVNULL, env=self.environment())
        self.assertTrue(support.wait_until(lambda: self.look().stdout == ""))
        words.append(f"{resolve(2)}; curl -s http://web.example.org/slow/look")
        with subprocess.Popen(words, env=self.environment()) as running:
            self.assertTrue(support.wait_until(
                lambda: "80/slow/look" in network_support.asked("path")))
            self.assertRegex(self.look().stdout,
                             r"^connected  web\.example\.org:80  \d+  \d+ B sent, 0 B received\n"
                             rf"refused    {UNLISTED}  2 times\n$")
            said = self.look_json()
            for key in ("number", "sent"):
                self.assertGreater(said["connections"][0].pop(key), 0)
            self.assertEqual(said, {
                "running": True, "connections": [
                    {"host": "web.example.org", "port": 80, "received": 0}],
                "granted": [], "taken": [], "refused": [
                    {"host": UNLISTED, "reason": "the profile does not have this host", "count": 2}]})
            running.send_signal(signal.SIGINT)

    def test_unknown_sandboxes(self):
        result = self.look("nobody")
        self.assertEqual(result.returncode, 64)
        self.assertIn("no sandbox 'nobody'", result.stderr)


if __name__ == "__main__":
    network_support.main()
