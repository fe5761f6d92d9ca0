#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A person's `msp network tighten` holds whatever an agent does with the sandbox, and whatever becomes of
the processes, until a person gives the host back."""
import os
import signal
import unittest

import network_asked
import network_support
import support
from cli_support import LIMITS
from network_hosts import FETCH, HELLO
from service import Service

HOST = "web.example.org"


class Cuts(network_asked.WithService):
    def setUp(self):
        super().setUp()
        self.create("one", "asks")
        self.run_in("one", "true")
        self.assertEqual(self.msp("checkpoint", "one").returncode, 0)

    def run_in(self, sandbox, *words):
        return self.msp("exec", *LIMITS, sandbox, "--", *words)

    def fetch(self, host=HOST, sandbox="one"):
        return self.run_in(sandbox, "python3", "-c", FETCH, f"http://{host}/")

    def expect_cut(self, sandbox="one", hosts=(HOST,)):
        for host in hosts:
            self.assertNotIn(HELLO.strip(), self.fetch(host, sandbox).stdout)
        for host in {HOST, "a.cdn.example.org"} - set(hosts):  # the control: other hosts of the list
            self.assertIn(HELLO.strip(), self.fetch(host, sandbox).stdout)

    def tighten(self, *words):
        loop = self.start("one", network_asked.LOOP)
        self.assertEqual(self.fetch_in(loop, f"http://{HOST}/"), HELLO.strip())
        self.network("tighten", "one", *words)
        self.assertIn("refused", self.fetch_in(loop, f"http://{HOST}/"))
        loop.communicate(timeout=60)
        self.assertEqual(loop.returncode, 0)

    def approve(self, host=HOST, sandbox="one"):
        loop = self.start(sandbox, network_asked.LOOP)
        self.assertIn("refused", self.fetch_in(loop, f"http://{host}/"))
        self.network("approve", f"--sandbox={sandbox}", f"{host}:80")
        self.assertEqual(self.fetch_in(loop, f"http://{host}/"), HELLO.strip())
        loop.communicate(timeout=60)
        self.assertEqual(loop.returncode, 0)

    def test_acts_of_an_agent(self):
        self.tighten(HOST)
        self.expect_cut()
        self.assertNotEqual(self.msp("rollback", "one", "99").returncode, 0)
        self.expect_cut()
        for words in (("stop", "one"), ("rollback", "one", "1"), ("stop", "one")):
            with self.subTest(words=words):
                self.assertEqual(self.msp(*words).returncode, 0)
                self.expect_cut()
        self.msp("stop", "one")
        for name, words in (("copy", ["one"]), ("again", ["copy"])):
            with self.subTest(name=name):
                made = self.msp("fork", f"--name={name}", *words)
                self.assertEqual(made.returncode, 0, made.stderr)
                self.expect_cut(name)
                self.msp("stop", name)
        self.approve()
        self.msp("stop", "one")
        self.expect_cut(hosts=())
        self.expect_cut("copy")  # a sandbox of its own by now

    def test_the_end_of_processes(self):
        self.tighten()
        os.kill(support.named(self.service.process.pid, "msp-cable")[0], signal.SIGKILL)
        self.assertTrue(support.wait_until(lambda: "gateway" not in self.fetch().stderr, 60))
        self.expect_cut(hosts=(HOST, "a.cdn.example.org"))
        self.service.end()
        self.service = Service(self.path, env=self.environment(
            MSP_CONFIG=self.config, MSP_STATE_DIR=self.state))
        self.addCleanup(self.service.end)
        self.expect_cut(hosts=(HOST, "a.cdn.example.org"))
        self.approve()
        self.msp("stop", "one")
        self.expect_cut(hosts=("a.cdn.example.org",))


if __name__ == "__main__":
    network_support.main()
