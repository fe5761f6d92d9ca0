#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processes are gone before msp is: in a container whose process 1 collects nobody, one that ended
after its parent would stay as a zombie. Only a reaper of orphans sees them."""
import os
import signal
import unittest

import cli_support
import support
from config_support import WithFolder

CONFIG = """\
profiles:
  - name: hosts
    extends: default
    network: hosts
    hosts: [web.example.org]
"""


def setUpModule():
    cli_support.adopt_orphans()


class NoOrphans(WithFolder):
    def setUp(self):
        super().setUp()
        self.config = self.write(CONFIG)

    def expect_no_orphan(self):
        orphans = [(pid, cli_support.name_of(pid)) for pid in cli_support.children()]
        cli_support.wait_until_alone(cli_support.SECONDS)
        self.assertEqual(orphans, [])

    def test_a_run(self):
        for profile in ("default", "hosts"):
            with self.subTest(profile=profile):
                self.output("true", options=("--profile", profile), MSP_CONFIG=self.config)
                self.expect_no_orphan()

    def test_a_client_that_leaves(self):
        for profile in ("default", "hosts"):
            with self.subTest(profile=profile):
                server = self.serve(MSP_CONFIG=self.config)
                result = server.call("run_command", argv=["true"], profile=profile)
                self.assertFalse(result.get("isError"), result)
                self.leave(server)

    def test_a_gateway_that_was_replaced(self):
        """Its successor has another parent."""
        server = self.serve(MSP_CONFIG=self.config)
        first = self.await_dial(server, [])
        os.kill(first[0], signal.SIGKILL)
        self.await_dial(server, first)
        cli_support.reap_orphans()  # the killed one's own child
        self.leave(server)

    def await_dial(self, server, known):
        def find():
            return [pid for pid in support.named(server.process.pid, "msp-dial")
                    if pid not in known]
        self.assertTrue(support.wait_until(find))
        return find()

    def leave(self, server):
        server.process.stdin.close()
        server.process.wait(cli_support.SECONDS)
        self.expect_no_orphan()


if __name__ == "__main__":
    unittest.main()
