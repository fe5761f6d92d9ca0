#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where there is no network, the launcher says so, and the service's results and status; elsewhere
nobody does."""
import os
import unittest

import network_support
from cli_support import msp
from gateway_world import CLONE_NEWNET, CLONE_NEWUSER, ip, unshare
from network_hosts import FETCH, WithHosts
from service import LIMITS, Service

LOGGED = "there is no network here, so hosts cannot be reached; if this is the service, set PrivateNetwork=no"
SAID = "the service has no network, so no host can be reached; 'msp doctor' has the remedy"
FAR = """\
profiles:
  - name: far
    description: a test
    extends: default
    network: hosts
    hosts: ["192.0.2.7:80"]
"""


def leave_network():
    """As a unit with PrivateNetwork=yes does: all but a loopback is gone."""
    unshare(CLONE_NEWUSER | CLONE_NEWNET, os.geteuid())


class Offline(WithHosts):
    def launch(self, profile="net", **keywords):
        return msp("run", LIMITS, "--standalone", "--profile=" + profile, "--", "true",
                   env={**os.environ, "MSP_CONFIG": self.config}, **keywords)

    def test_the_launcher_logs_it(self):
        result = self.launch(preexec_fn=leave_network)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(LOGGED, result.stderr)
        self.assertNotIn(LOGGED, self.launch().stderr)
        self.assertNotIn(LOGGED, self.launch("default", preexec_fn=leave_network).stderr)

    def test_a_card_that_is_down_may_come_up(self):
        own = os.geteuid()

        def add_card():
            unshare(CLONE_NEWUSER | CLONE_NEWNET, 0)
            ip("link", "add", "card0", "type", "veth", "peer", "name", "card1")
            unshare(CLONE_NEWUSER, own)

        result = self.launch(preexec_fn=add_card)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn(LOGGED, result.stderr)

    def fetch_by_service(self, **keywords):
        """(its status, the result) of a service that was started so."""
        path = os.path.join(self.folder, "s.sock")
        with Service(path, "--config=" + self.config, **keywords) as service:
            result = msp("run", LIMITS, "--socket=" + path, "--profile=net", "--", "python3", "-c", FETCH,
                         "http://web.example.org/")
            shown = msp("status", "--socket=" + path)
            return service.status(), result, shown.stdout

    def test_the_log_tells_no_route_from_a_dead_server(self):
        """192.0.2.7 is nobody's (RFC 5737)."""
        config = self.write(FAR)
        path = os.path.join(self.folder, "s.sock")
        dial = ("import socket; s = socket.create_connection(('192.0.2.7', 80)); s.recv(1)",)
        with Service(path, "--config=" + config, preexec_fn=leave_network):
            msp("create", "--socket=" + path, "--name=far", "--profile=far")
            msp("exec", LIMITS, "--socket=" + path, "far", "--", "python3", "-c", *dial)
            logs = msp("logs", "--socket=" + path, "far").stdout
            msp("destroy", "--socket=" + path, "far")
        self.assertRegex(logs, r"connect +1 to 192\.0\.2\.7:80\n.* connect +1 no route, ")

    def test_a_service_and_its_results_say_it(self):
        status, result, shown = self.fetch_by_service(preexec_fn=leave_network)
        self.assertEqual((result.returncode, result.stdout), (1, ""), result.stderr)
        self.assertIn(SAID, result.stderr)
        self.assertTrue(status["offline"])
        self.assertIn("no host is reached; 'msp doctor' has the remedy", shown)
        status, result, shown = self.fetch_by_service()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn(SAID, result.stderr)
        self.assertFalse(status["offline"])
        self.assertNotIn("no host is reached", shown)


if __name__ == "__main__":
    network_support.main()
