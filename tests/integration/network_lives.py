#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The network of sandboxes with hosts as long as they live: in the pool, persistent and forked ones,
with a gateway that ends, and under a new policy."""
import json
import os
import signal
import subprocess
import unittest

import network_support
import support
from cli_support import LIMITS, SECONDS, msp
from network_hosts import FETCH, HELLO, WithHosts
from network_support import asked
from service import Service

PROGRAMS = ("msp-cable", "msp-egress", "msp-dial")
ANSWER = HELLO.strip()
URL = "http://web.example.org/"


def fetch_command(url=URL):
    return f"python3 -c '{FETCH}' {url}"


class Served(WithHosts):
    """By `msp serve`, for a model."""

    def begin(self, profile="net", config=None):
        return self.serve("--default-profile", profile, MSP_CONFIG=config or self.config)

    def call(self, server, url=URL, **more):
        return support.text_of(server.call("run_command", command=fetch_command(url), **more))

    def named(self, server, name):
        return support.named(server.process.pid, name)

    def await_gateway(self, server, before=()):
        """Wait until each program of the gateway runs, other ones than before."""
        def is_new():
            pids = [pid for name in PROGRAMS for pid in self.named(server, name)]
            return all(self.named(server, name) for name in PROGRAMS) and not set(pids) & set(before)
        self.assertTrue(support.wait_until(is_new), "there is no gateway")

    def test_sandboxes_of_the_pool(self):
        server = self.begin()
        self.assertIn(ANSWER, self.call(server))
        for _ in range(8):
            self.assertTrue(support.wait_until(lambda: support.ready(server.process.pid)))
            self.assertIn(ANSWER, self.call(server))

    def test_many_at_once(self):
        server = self.begin()
        numbers = [server.post("tools/call", {"name": "run_command", "arguments": {
            "command": fetch_command(f"{URL}{i}"), "yield_ms": support.YIELD_MS}})
            for i in range(8)]
        for number in numbers:
            self.assertIn(ANSWER, support.text_of(server.answer(number, SECONDS)))

    def test_a_persistent_sandbox_and_its_fork(self):
        server = self.begin()
        self.assertFalse(server.call("create_sandbox", name="one").get("isError"))
        for _ in range(3):
            self.assertIn(ANSWER, self.call(server, sandbox="one"))
        forked = server.call("checkpoint", sandbox="one", action="fork", name="two")
        self.assertFalse(forked.get("isError"), forked)
        for name in ("two", "one"):
            self.assertIn(ANSWER, self.call(server, sandbox=name))

    def test_its_history(self):
        state = os.path.join(self.folder, "state")
        os.makedirs(state, 0o700)
        server = self.serve("--default-profile", "net", MSP_CONFIG=self.config,
                            MSP_STATE_DIR=state)
        self.assertFalse(server.call("create_sandbox", name="one").get("isError"))
        self.assertIn(ANSWER, self.call(server, sandbox="one"))
        self.call(server, "http://unlisted.example.org/", sandbox="one")
        server.close()
        said = msp("logs", "one", env=self.environment(MSP_STATE_DIR=state)).stdout
        self.assertRegex(said, r"connect +\d+ to web\.example\.org:80\n")
        self.assertRegex(said, r"connect +\d+ closed, 5\.6\.7\.8, sent \d+ B, received \d+ B\n")
        self.assertRegex(said, r"denied +resolve unlisted\.example\.org by network: host\n")

    def test_one_that_lives_again(self):
        server = self.begin()
        self.assertFalse(server.call("create_sandbox", name="one").get("isError"))
        self.assertIn(ANSWER, self.call(server, sandbox="one"))
        stopped = msp("stop", "--standalone", *LIMITS, "one",
                      env=self.environment(MSP_CONFIG=self.config))
        if stopped.returncode != 0:  # this server has it
            server.close()
            server = self.begin()
        self.assertIn(ANSWER, self.call(server, sandbox="one"))

    def test_a_model_is_told(self):
        server = self.serve("--default-profile", "net", MSP_CONFIG=self.config)
        said = server.request("tools/list")["tools"]
        tools = {tool["name"]: tool for tool in said}
        self.assertIn("hosts", tools["run_command"]["description"])
        self.assertNotIn("no network", tools["run_command"]["description"])
        self.assertTrue(tools["run_command"]["annotations"]["openWorldHint"])
        self.assertFalse(tools["read_sandbox_file"]["annotations"]["openWorldHint"])
        other = self.serve("--default-profile", "default",
                           MSP_CONFIG=self.write("{}\n", "other.yaml"))
        tools = {tool["name"]: tool for tool in other.request("tools/list")["tools"]}
        self.assertIn("no network", tools["run_command"]["description"])
        self.assertFalse(tools["run_command"]["annotations"]["openWorldHint"])

    def test_without_hosts_there_is_no_gateway(self):
        server = self.begin("default", self.write("{}\n", "other.yaml"))
        self.assertFalse(server.call("run_command", command="true").get("isError"))
        self.assertEqual([self.named(server, name) for name in PROGRAMS], [[], [], []])

    def test_each_program_that_is_killed(self):
        """The whole gateway goes, and what used it ends; another one comes. One that ends again so
        soon does not, and its profiles are refused while others work."""
        for name in PROGRAMS:
            with self.subTest(program=name):
                server = self.begin()
                self.assertIn(ANSWER, self.call(server))
                before = [pid for each in PROGRAMS for pid in self.named(server, each)]
                self.assertGreaterEqual(len(before), 3)
                running = server.post("tools/call", {"name": "run_command", "arguments": {
                    "command": fetch_command(URL + "slow/" + name) + "; sleep 60",
                    "yield_ms": support.YIELD_MS}})
                self.assertTrue(support.wait_until(lambda: f"80/slow/{name}" in asked("path")))
                os.kill(self.named(server, name)[0], signal.SIGKILL)
                result = server.answer(running, SECONDS)
                self.assertIn("gateway to the network has ended", support.text_of(result))
                self.assertTrue(support.wait_until(
                    lambda: not any(map(support.is_alive, before))))
                self.assertTrue(support.wait_until(
                    lambda: ANSWER in self.call(server)), "another gateway comes")
                self.await_gateway(server, before)
                os.kill(self.named(server, name)[0], signal.SIGKILL)
                self.assertTrue(support.wait_until(
                    lambda: "gateway" in self.call(server)), "it is refused with its cause")
                other = server.call("run_command", command="echo works", profile="default")
                self.assertIn("works", support.text_of(other))
                server.close()

    def test_the_end_of_the_server_leaves_nothing(self):
        server = self.begin()
        self.assertIn(ANSWER, self.call(server))
        pids = [pid for name in PROGRAMS for pid in self.named(server, name)]
        os.kill(server.process.pid, signal.SIGKILL)
        self.assertTrue(support.wait_until(lambda: not any(map(support.is_alive, pids))))


class Examined(WithHosts):
    """By the doctor."""

    def finding(self, config, servers=None):
        words = [support.MSP, "doctor", "--json"]
        if servers is not None:
            path = self.write(servers, "resolv.conf")
            words = ["unshare", "--user", "--map-current-user", "--keep-caps", "--mount", "--",
                     "/bin/sh", "-c", f"mount --bind {path} $(realpath /etc/resolv.conf) && "
                     'exec "$@"', "sh", *words]
        result = subprocess.run(words, capture_output=True, text=True, check=False,
                                env=self.environment(MSP_CONFIG=config))
        probes = {probe["name"]: probe for probe in json.loads(result.stdout)["probes"]}
        return probes["hosts"]

    def test_devices_and_name_server(self):
        self.assertEqual(self.finding(self.config)["status"], "ok")
        self.assertEqual(self.finding(self.write("{}\n", "other.yaml"))["status"], "skipped")
        silent = self.finding(self.config, f"nameserver {network_support.OTHER}9\n")
        self.assertEqual(silent["status"], "missing")
        self.assertIn(f"{network_support.OTHER}9", silent["happened"])
        self.assertIn("/etc/resolv.conf", silent["fix"])


class Reloaded(WithHosts):
    """In the service, whose policy changes."""

    def reload(self, service, generation):
        os.kill(service.process.pid, signal.SIGHUP)
        self.assertTrue(support.wait_until(
            lambda: service.status()["policy"]["generation"] == generation, SECONDS))

    def test_a_new_policy(self):
        path = os.path.join(self.folder, "s.sock")
        environment = self.environment(MSP_CONFIG=self.write("{}\n", "live.yaml"))
        service = Service(path, env=environment)
        self.addCleanup(service.end)

        def fetch(url=URL, profile="net"):
            return msp("run", *LIMITS, "--socket=" + path, "--profile", profile, "--", "python3",
                       "-c", FETCH, url, env=self.environment())

        self.assertNotEqual(fetch().returncode, 0)
        self.assertEqual(support.named(service.process.pid, "msp-cable"), [])
        with open(self.config, encoding="utf-8") as file:
            text = file.read()
        self.write(text, "live.yaml")
        self.reload(service, 2)
        result = fetch()
        self.assertEqual((result.returncode, result.stdout), (0, HELLO), result.stderr)
        gateway = support.named(service.process.pid, "msp-cable")
        self.write(text.replace("web.example.org:80", "web.example.org:8080"), "live.yaml")
        self.reload(service, 3)
        self.assertNotEqual(fetch().returncode, 0, "the old port")
        result = fetch("http://web.example.org:8080/")
        self.assertEqual((result.returncode, result.stdout), (0, HELLO), result.stderr)
        self.assertEqual(support.named(service.process.pid, "msp-cable"), gateway)
        for generation in range(4, 24):
            self.reload(service, generation)
            self.assertEqual(fetch("http://web.example.org:8080/").stdout, HELLO)


if __name__ == "__main__":
    network_support.main()
