#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A client asks its user for a host that its sandboxes were refused: request_host, over stdio and
HTTP. What the user allows, the sandboxes of that client reach, and nobody else's."""
import errno
import json
import os
import signal
import subprocess
import time

import network_support
import support
from cli_support import LIMITS, msp
from http_support import META, MODERN, HttpServer, ModernClient
from network_hosts import CONFIG, FETCH, HELLO, WithHosts
from network_support import asked
from persistent_mcp import Client
from service import Service

HOST = "unlisted.example.org"
CONFIG = "default_profile: asks\n" + CONFIG + """\
  - name: asks
    extends: net
    description: the client's user can add hosts
    host_approval: ask
  - name: persons
    extends: net
    description: a person can add hosts
    host_approval: person
"""
ALLOW = {"action": "accept", "content": {"answer": "for this session"}}
REFUSE = {"action": "accept", "content": {"answer": "no"}}
HINT = f"[sandbox: {HOST} is refused by this profile; request_host asks the user]"


class Asking(WithHosts):
    def setUp(self):
        super().setUp()
        self.config = self.write(CONFIG)
        self.state = os.path.join(self.folder, "state")
        os.mkdir(self.state, 0o700)

    def start(self, reply):
        server = Client(reply=reply, env=self.environment(MSP_CONFIG=self.config,
                                                          MSP_STATE_DIR=self.state))
        self.addCleanup(server.close)
        server.initialize()
        return server

    def request(self, server, host=HOST, port=80, **more):
        result = server.call("request_host", host=host, port=port, reason="the tests need it",
                                  **more)
        return result["isError"], support.text_of(result)

    def fetch(self, server, url, **more):
        result = server.call("run_command", argv=["python3", "-c", FETCH, url], **more)
        return support.text_of(result)

    def test_the_user_allows_it(self):
        server, other = self.start(ALLOW), self.start(ALLOW)
        url = f"http://{HOST}/allowed"
        self.assertIn(HINT, self.fetch(server, url))
        self.assertEqual(server.asked, [])
        is_error, text = self.request(server)
        self.assertFalse(is_error, text)
        self.assertIn(f"Allowed for this session: {HOST}:80, at public addresses, in sandboxes of "
                      "the profiles asks.", text)
        (question,) = server.asked
        self.assertEqual(question["message"],
                         f'Let sandboxes reach {HOST}:80?\nThe agent says: "the tests need it"')
        self.assertIn(HELLO, self.fetch(server, url))
        self.assertIn("80/allowed", asked("path"))
        # neither in a profile where only a person allows it, nor of another client
        for where, more in ((server, {"profile": "persons"}), (other, {})):
            self.assertNotIn(HELLO, self.fetch(where, url, **more))
        # another port is another question, also one that no entry of the profile has
        self.assertNotIn(HELLO, self.fetch(server, f"http://{HOST}:9000/port"))
        self.assertFalse(self.request(server, port=9000)[0])
        self.assertIn(HELLO, self.fetch(server, f"http://{HOST}:9000/port"))
        self.assertEqual(len(server.asked), 2)

    def test_a_granted_host_that_is_not_reached(self):
        """The controls: before the grant it is refused, and a host that answers has no line."""
        server = self.start(ALLOW)
        unknown = "no-such-name.example.org"
        self.assertNotIn("is allowed", self.fetch(server, f"http://{unknown}/"))
        self.assertFalse(self.request(server, host=unknown)[0])
        self.assertIn(f"[{unknown} is allowed, but no name server knows it]",
                      self.fetch(server, f"http://{unknown}/"))
        self.assertFalse(self.request(server, port=9001)[0])
        self.assertIn(f"[{HOST}:9001 is allowed, but no server of it could be reached]",
                      self.fetch(server, f"http://{HOST}:9001/"))
        self.assertFalse(self.request(server)[0])
        self.assertNotIn("is allowed", self.fetch(server, f"http://{HOST}/"))

    def test_explain_policy_knows_the_grants(self):
        server, other = self.start(ALLOW), self.start(ALLOW)
        for operation in (f"connect {HOST}:443", f"resolve {HOST}"):
            self.assertTrue(support.text_of(server.call(
                "explain_policy", operation=operation)).startswith("refused: "), operation)
        self.assertFalse(self.request(server, port=443)[0])
        for operation in (f"connect {HOST}:443", f"resolve {HOST}"):
            said = server.call("explain_policy", operation=operation)
            self.assertEqual(support.text_of(said),
                             f"allowed: {operation}, at its public addresses, until this session ends"
                             "\nrule: the user has granted it (request_host)")
            self.assertEqual(said["structuredContent"]["answer"], "conditional")
            self.assertNotIn("remedy", said["structuredContent"])
        for where, operation, more in ((server, f"connect {HOST}:80", {}),
                                       (server, f"connect {HOST}:443", {"profile": "persons"}),
                                       (other, f"connect {HOST}:443", {})):
            self.assertTrue(support.text_of(where.call(
                "explain_policy", operation=operation, **more)).startswith("refused: "))

    def test_what_no_consent_opens(self):
        """Private addresses, a loopback, and this machine; the control is another host."""
        server = self.start(ALLOW)
        for host in ("private.example.org", "loop.example.org", "own.example.org"):
            self.assertFalse(self.request(server, host=host, port=9000)[0])
            self.assertNotIn(HELLO, self.fetch(server, f"http://{host}:9000/"))
        self.assertFalse(self.request(server, port=9000)[0])
        self.assertIn(HELLO, self.fetch(server, f"http://{HOST}:9000/"))

    def test_the_user_refuses_it(self):
        server = self.start(REFUSE)
        for reason in ('The user chose "no".', "The user has refused this host"):
            is_error, text = self.request(server)
            self.assertTrue(is_error)
            self.assertIn("Nothing was allowed. " + reason, text)
            self.assertIn(f'The operator can add "{HOST}:80"', text)
        self.assertEqual(len(server.asked), 1)
        self.assertIn(HINT, self.fetch(server, f"http://{HOST}/"))

    def test_a_client_that_cannot_ask(self):
        server = self.start(None)
        is_error, text = self.request(server)
        self.assertTrue(is_error)
        self.assertIn("this client cannot ask (it lacks elicitation)", text)
        said = server.call("explain_policy", operation=f"connect {HOST}:80")
        self.assertEqual(said["structuredContent"]["approval"], "request_host")
        self.assertIn(f"; can be approved with the tool request_host or msp network approve {HOST}:80;",
                      support.text_of(said))
        self.assertIn(HINT, self.fetch(server, f"http://{HOST}/"))

    def test_without_an_answer(self):
        server = self.start(ALLOW)
        self.fetch(server, f"http://{HOST}/late")
        cable = min(support.named(server.process.pid, "msp-cable"))  # not a child before its exec
        os.kill(cable, signal.SIGSTOP)
        begun = time.monotonic()
        try:
            is_error, text = self.request(server)
        finally:
            os.kill(cable, signal.SIGCONT)
        self.assertTrue(is_error)
        self.assertIn("The network has not answered in time, so it is unknown whether the host can be "
                      "reached.", text)
        self.assertGreater(time.monotonic() - begun, 9, "ten seconds")
        self.assertFalse(self.request(server)[0])  # it can be asked for again

    def test_the_audit_log_has_it(self):
        server = self.start(ALLOW)
        self.assertFalse(self.request(server)[0])
        server.close()
        with open(os.path.join(self.state, "audit", "audit.jsonl"), encoding="utf-8") as log:
            grants = [record for record in map(json.loads, log)
                      if record["event"] == "network_grant"]
        self.assertEqual([(g["host"], g["port"]) for g in grants], [(HOST, 80)])


class Hostile(WithHosts):
    """A broker that asks nobody."""

    def run_hostile(self, profile):
        """Its lines, and the events of the audit log about the host."""
        state = os.path.join(self.folder, "state-" + profile)
        os.mkdir(state, 0o700)
        program = network_support.with_control(os.path.join(self.folder, "hostile-" + profile),
                                               "msp-broker", "hostile-broker")
        result = subprocess.run(
            [program, "serve", "--standalone", *LIMITS], input=f"{profile} {HOST}\n", text=True,
            env=self.environment(MSP_CONFIG=self.write(CONFIG), MSP_STATE_DIR=state),
            capture_output=True, check=False, timeout=60)
        with open(os.path.join(state, "audit", "audit.jsonl"), encoding="utf-8") as log:
            events = [record["event"] for record in map(json.loads, log)
                      if record.get("host") == HOST]
        return result.stdout.splitlines(), events

    def test_it_opens_nothing_that_only_a_person_may(self):
        grants = ["grant 0 0: 0", *(f"grant {i} 0: {-errno.EPERM}" for i in (1, 2, 3)),
                  f"grant 0 1: {-errno.EPERM}"]
        lines, events = self.run_hostile("persons")
        self.assertEqual(lines, ["resolves 0", *grants, "resolves 0"])
        self.assertEqual(events, ["denial", "network_grant", "denial"])
        # Where the profile trusts the client with the question, it has what it takes.
        lines, events = self.run_hostile("asks")
        self.assertEqual(lines, ["resolves 0", *grants, "resolves 1"])
        self.assertEqual(events, ["denial", "network_grant"])


class InTheService(WithHosts):
    """A command of a person reaches the supervisor, so that a refusal names it."""

    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.folder, "s.sock")
        state = os.path.join(self.folder, "state")
        os.mkdir(state, 0o700)
        self.config = self.write(CONFIG)
        service = Service(self.path, env=self.environment(MSP_CONFIG=self.config,
                                                          MSP_STATE_DIR=state))
        self.addCleanup(service.end)

    def msp(self, command, *words):
        return msp(command, "--socket=" + self.path, *words, env=self.environment())

    def test_a_client_hears_the_command(self):
        server = support.Server("--socket=" + self.path, env=self.environment())
        self.addCleanup(server.close)
        server.initialize()
        fetch = {"profile": "persons", "argv": ["python3", "-c", FETCH, f"http://{HOST}/person"]}
        for target, port in ((HOST, 443), (f"{HOST}:80", 80)):
            result = server.call("run_command", **fetch)
            self.assertIn(f"[sandbox: {target} is refused by this profile; the user may run `msp network "
                          "approve`]", support.text_of(result))
            (denial,) = result["_meta"]["msp/execution"]["denials"]
            command = denial["remedy"].partition(", or ")[0]
            self.assertEqual(command, f"msp network approve {HOST}:{port}")
            done = self.msp(*command.split()[1:])
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(HELLO, support.text_of(server.call("run_command", **fetch)))

    def test_a_person_hears_it_where_it_helps(self):
        made = self.msp("create", "--profile=persons", "--name=one")
        self.assertEqual(made.returncode, 0, made.stderr)
        words = ("--", "python3", "-c", FETCH, f"http://{HOST}/")
        command = f"; msp network approve {HOST}:443, or in the operator's profile, hosts: ["
        lasting = self.msp("exec", *LIMITS, "one", *words)
        self.assertIn(command, lasting.stderr)
        self.assertNotIn("request_host", lasting.stderr)
        # an ephemeral sandbox ends with its command, and a supervisor of one command with it
        for options in (["--profile=persons"], ["--profile=persons", "--standalone", "--config=" + self.config]):
            ended = self.msp("run", *LIMITS, *options, *words)
            self.assertIn("; in the operator's profile, hosts: [", ended.stderr)
            self.assertNotIn("approve", ended.stderr)


class OverHttp(WithHosts):
    def setUp(self):
        super().setUp()
        self.server = HttpServer(tokens=("alice", "bob"), env=self.environment(
            MSP_CONFIG=self.write(CONFIG)))
        self.addCleanup(self.server.stop)

    def client(self, name):
        client = ModernClient(self.server, name)
        self.addCleanup(client.close)
        return client

    def call(self, client, tool, answers=None, **arguments):
        """A call; its question is answered, if it has one."""
        params = {"name": tool, "arguments": arguments,
                  "_meta": {META + "protocolVersion": MODERN,
                            META + "clientCapabilities": {"elicitation": {}}}}
        result = client.say(client.message("tools/call", params)).messages()[-1]["result"]
        if result["resultType"] == "input_required":
            params.update(inputResponses={"host": answers}, requestState=result["requestState"])
            result = client.say(client.message("tools/call", params)).messages()[-1]["result"]
        return support.text_of(result)

    def test_each_principal_asks_for_itself(self):
        alice, bob = self.client("alice"), self.client("bob")
        url = f"http://{HOST}/http"
        self.assertIn("Allowed for this session: ", self.call(
            alice, "request_host", ALLOW, host=HOST, port=80, reason="r"))
        self.assertIn("Nobody answered", self.call(
            bob, "request_host", {"action": "cancel"}, host=HOST, port=80, reason="r"))
        fetch = {"argv": ["python3", "-c", FETCH, url]}
        for _ in range(2):
            self.assertIn(HELLO, self.call(alice, "run_command", **fetch))
            self.assertNotIn(HELLO, self.call(bob, "run_command", **fetch))
        # a refusal of one is none of the other's
        self.assertIn("The user refused", self.call(
            bob, "request_host", {"action": "decline"}, host=HOST, port=9000, reason="r"))
        self.assertIn("The user has refused this host", self.call(
            bob, "request_host", ALLOW, host=HOST, port=9000, reason="r"))
        self.assertIn("Allowed for this session: ", self.call(
            alice, "request_host", ALLOW, host=HOST, port=9000, reason="r"))


if __name__ == "__main__":
    network_support.main()
