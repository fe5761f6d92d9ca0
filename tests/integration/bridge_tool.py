#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bridge_port: a port of this machine that an agent opens, with its user's consent, or not at all."""
import json
import os
import signal
import socket
import subprocess
import unittest

import audit_log
import support
from bridge_support import ECHO, SECONDS, free_port
from config_support import WithFolder
from http_support import HttpServer, ModernClient
from persistent_consent import CANCEL, DECLINE, META, MODERN, accept
from persistent_mcp import Case, Client, setUpModule  # noqa: F401  (unittest calls it)
from service import Service

OPEN, NOTHING = accept("open the port"), accept("open nothing")


def get(port):
    """The body of a GET; None: nothing listens there."""
    try:
        with socket.create_connection(("127.0.0.1", port), SECONDS) as client:
            client.sendall(f"GET /seen HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
                           .encode())
            parts = []
            while part := client.recv(1 << 16):
                parts.append(part)
    except ConnectionRefusedError:
        return None
    except ConnectionResetError:  # it ends
        return "reset"
    return b"".join(parts).rpartition(b"\r\n\r\n")[2].decode()


class BridgeTool(Case):
    APPLY = "ask\n      bridge: ask"

    def setUp(self):
        super().setUp()
        self.server.close()
        self.serve(OPEN)

    def serve(self, reply):
        """A client whose user replies so, and a server in its sandbox."""
        self.server = self.start(reply)
        self.id = self.create(name="web", workspace=None)
        self.text("run_command", sandbox="web", yield_ms=0, command=(
            f"cat >/tmp/echo.py <<'END'\n{ECHO}END\nexec python3 /tmp/echo.py 127.0.0.1 5000"))
        look = "import socket; socket.create_connection(('127.0.0.1', 5000))"
        self.assertTrue(support.wait_until(lambda: self.text(
            "run_command", sandbox="web", command=f'python3 -c "{look}" && echo up').startswith("up"),
                                           SECONDS, 0.1))

    def open(self, **arguments):
        return self.call("bridge_port", sandbox="web", **{"port": 5000, **arguments})

    def opened(self, **arguments):
        """The port of this machine."""
        result = self.open(**arguments)
        text = support.text_of(result)
        self.assertFalse(result["isError"], text)
        self.assertRegex(text, r"\Ahttp://127\.0\.0\.1:(\d+)/ on the user's machine leads to port 5000 of ")
        return int(text.split("/", maxsplit=3)[2].partition(":")[2])

    def refused(self, says, **arguments):
        result = self.open(**arguments)
        text = support.text_of(result)
        self.assertTrue(result["isError"], text)
        self.assertIn("No port was opened. ", text)
        self.assertIn(says, text)
        return text

    def names(self):
        return [tool["name"] for tool in self.server.request("tools/list")["tools"]]

    def events(self, name):
        return audit_log.Log(self.state).records(name)


class Asked(BridgeTool):
    def test_with_consent(self):
        self.assertIn("bridge_port", self.names())
        wish = free_port()
        self.assertEqual(self.opened(host_port=wish), wish)
        (question,) = self.server.asked
        lines = question["message"].split("\n")
        self.assertEqual(lines, [f'Open port 5000 of sandbox "web" on 127.0.0.1:{wish}?',
                                 "Programs of this machine reach the agent's server then."])
        self.assertLessEqual(max(map(len, lines)), 72)
        self.assertEqual(question["requestedSchema"]["properties"]["answer"]["default"], "open nothing")
        self.assertEqual(get(wish), "path /seen\n")
        self.assertEqual(self.opened(), wish)  # it is open: nobody is asked again
        self.assertEqual(len(self.server.asked), 1)
        self.assertTrue(support.wait_until(lambda: self.events("bridge_begin"), SECONDS))
        begin, = self.events("bridge_begin")
        self.assertEqual((begin["sandbox"], begin["port"], begin["host_port"]), (self.id, 5000, wish))
        self.assertEqual(self.text("bridge_port", sandbox="web", port=5000, close=True),
                         "The port is closed.")
        self.assertTrue(support.wait_until(lambda: get(wish) is None, SECONDS))
        self.assertIn("no bridge", self.problem("bridge_port", sandbox="web", port=5000, close=True))
        second = self.opened()
        self.assertEqual(len(self.server.asked), 2)
        self.call("destroy_sandbox", sandbox="web")
        self.assertTrue(support.wait_until(lambda: get(second) is None, SECONDS))

    def test_it_ends_with_the_session(self):
        port = self.opened()
        self.assertEqual(get(port), "path /seen\n")
        self.server.close()
        self.assertTrue(support.wait_until(lambda: get(port) is None, SECONDS))
        self.assertTrue(support.wait_until(lambda: self.events("bridge_end"), SECONDS))

    def test_answers_that_open_nothing(self):
        for reply, reason in ((DECLINE, "The user refused"), (CANCEL, "Nobody answered"),
                              (NOTHING, 'chose "open nothing"'), (accept("yes"), "which is no consent"),
                              ({"action": "accept"}, "which is no consent")):
            with self.subTest(reply=reply):
                self.server.reply = reply
                self.assertIn(f"`msp bridge {self.id} 5000`", self.refused(reason))
        self.server.reply = OPEN
        self.assertIn("run_command", self.refused("takes connections at port 5001", port=5001))
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            self.assertIn("EADDRINUSE", self.refused("`host_port`", host_port=port))
        self.assertEqual(self.events("bridge_begin")[1:], [])  # that of port 5001
        self.text("run_command", sandbox="web", command="pkill -f echo.py; true")

    def test_a_client_that_cannot_ask(self):
        self.server.close()
        self.server = self.start()
        self.assertIn(f"`msp bridge {self.id} 5000`", self.refused("lacks elicitation"))


class InAUnit(WithFolder):
    """MCP over HTTP, of a server that is handed over to the service."""

    def serve(self, *prefix):
        """A call of a client, by a `msp serve` that is started with these words before it."""
        self.path = os.path.join(self.folder, "s.sock")
        state = os.path.join(self.folder, "state")
        os.mkdir(state, 0o700)
        self.service = Service(self.path, env=self.environment(
            MSP_STATE_DIR=state, MSP_CONFIG=self.write(
                "default_profile: bridged\nprofiles:\n  - name: bridged\n    extends: default\n"
                "    description: agents may open ports\n    lasting: {bridge: ask}\n")))
        self.addCleanup(self.service.end)
        server = HttpServer(prefix=prefix, options=("--socket=" + self.path, *support.limits()),
                            is_standalone=False, env=self.environment())
        self.addCleanup(server.stop)
        client = ModernClient(server, "alice")
        self.addCleanup(client.close)

        def call(tool, **arguments):
            params = {"name": tool, "arguments": arguments,
                      "_meta": {META + "protocolVersion": MODERN,
                                META + "clientCapabilities": {"elicitation": {}}}}
            result = client.say(client.message("tools/call", params)).messages()[-1]["result"]
            if result["resultType"] == "input_required":
                key, = result["inputRequests"]
                params.update(inputResponses={key: OPEN}, requestState=result["requestState"])
                result = client.say(client.message("tools/call", params)).messages()[-1]["result"]
            return result
        return call

    def start(self, call):
        """A server in a sandbox, whose id it returns."""
        sandbox = call("create_sandbox", name="web")["structuredContent"]["id"]
        call("run_command", sandbox=sandbox, yield_ms=0, command=(
            f"cat >/tmp/echo.py <<'END'\n{ECHO}END\nexec python3 /tmp/echo.py 127.0.0.1 5000"))
        look = "import socket; socket.create_connection(('127.0.0.1', 5000))"
        self.assertTrue(support.wait_until(lambda: "exit 0" in support.text_of(call(
            "run_command", sandbox=sandbox, command=f'python3 -c "{look}"')), SECONDS, 0.1))
        return sandbox

    def test_a_port(self):
        call = self.serve()
        result = call("bridge_port", sandbox=self.start(call), port=5000)
        self.assertFalse(result["isError"], result)

    def test_a_user_namespace_of_its_own(self):
        """As PrivateUsers= of the shipped unit has it: the message names a command that works."""
        call = self.serve("unshare", "--user", "--map-current-user")
        sandbox = self.start(call)
        result = call("bridge_port", sandbox=sandbox, port=5000)
        self.assertTrue(result["isError"])
        command = f"msp bridge {sandbox} 5000"
        self.assertIn(f"The user can run `{command}`.", support.text_of(result))
        with subprocess.Popen([support.MSP, *command.split()[1:], "--socket=" + self.path],
                              env=self.environment(), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as person:
            try:
                port = int(person.stdout.readline().rstrip("/\n").rpartition(":")[2])
                self.assertEqual(get(port), "path /seen\n")
            finally:
                person.send_signal(signal.SIGINT)
                person.communicate(timeout=SECONDS)


class Person(BridgeTool):
    """The default of the policy."""

    APPLY = "ask"

    def test_no_tool_opens_a_port(self):
        self.assertNotIn("bridge_port", self.names())
        with self.assertRaisesRegex(support.RpcError, "Unknown tool"):
            self.open()


class Modern(BridgeTool):
    def test_the_question_is_the_answer(self):
        able = {META + "protocolVersion": MODERN, META + "clientCapabilities": {"elicitation": {}}}
        params = {"name": "bridge_port", "arguments": {"sandbox": "web", "port": 5000}, "_meta": able}
        first = self.server.request("tools/call", params)
        self.assertEqual(first["resultType"], "input_required")
        self.assertIn("Open port 5000", first["inputRequests"]["bridge"]["params"]["message"])
        done = self.server.request("tools/call", dict(params, inputResponses={"bridge": OPEN},
                                                      requestState=first["requestState"]))
        self.assertFalse(done["isError"], done)
        port = int(support.text_of(done).split("/", maxsplit=3)[2].partition(":")[2])
        self.assertEqual(get(port), "path /seen\n")
        # The consent is to this port alone.
        other = dict(params, arguments={"sandbox": "web", "port": 5001}, requestState=first["requestState"],
                     inputResponses={"bridge": OPEN})
        with self.assertRaises(support.RpcError):
            self.server.request("tools/call", other)


class Through(BridgeTool):
    """A client that is handed over to the service: its own msp binds the port."""

    def setUp(self):
        self.service = None
        super().setUp()

    def start(self, reply=None):
        path = os.path.join(self.folder, "s.sock")
        if not self.service:
            self.service = Service(path, env=self.environment)
            self.addCleanup(self.service.end)
        server = Client.__new__(Client)
        self.of_client = {key: value for key, value in self.environment.items() if key != "MSP_CONFIG"}
        support.Server.__init__(server, "--socket=" + path, "--workspace", self.project,
                                env=self.of_client)
        server.reply, server.asked = reply, []
        self.addCleanup(server.close)
        server.initialize()
        return server

    def test_its_own_msp_binds_the_port(self):
        port = self.opened()
        self.assertEqual(get(port), "path /seen\n")
        names = [support._name(pid) for pid in support.descendants(self.server.process.pid)]
        self.assertEqual(names, ["msp-bridge"])
        listed = subprocess.run([support.MSP, "bridge", "--list", "--json", "--socket=" +
                                 self.service.path], env=self.of_client, capture_output=True, check=True)
        self.assertEqual([row["host_port"] for row in json.loads(listed.stdout)["bridges"]], [port])
        self.server.close()
        self.assertTrue(support.wait_until(lambda: get(port) is None, SECONDS))


if __name__ == "__main__":
    unittest.main(verbosity=2)
