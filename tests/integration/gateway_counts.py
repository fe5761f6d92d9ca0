#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The gateway without a supervisor: what it counts of refusals, and what it tells frontends."""
import contextlib
import errno
import unittest

import gateway_world
import ipc
from gateway_support import Gateway, begin_module

NO_NAME = 3
POLICY = """
profiles:
  - name: web
    extends: default
    network: hosts
    hosts: ["public.example:443,8080", "db.example:5432 private"]
  - name: asking
    extends: default
    network: hosts
    host_approval: ask
    hosts: ["other.example:8080"]
"""
WORLD = {}


def setUpModule():
    begin_module(POLICY, WORLD)


class Counted(unittest.TestCase):
    """A gateway with a sandbox of the profile web in slot 5 and one of the profile asking in slot 6."""

    def setUp(self):
        factory = gateway_world.Factory()
        self.addCleanup(factory.close)
        self.gateway = Gateway(WORLD["plan"])
        self.addCleanup(self.gateway.close)
        self.sandbox, self.asking = (self.make(factory, *each) for each in ((5, "web"), (6, "asking")))

    def make(self, factory, slot, profile):
        sandbox = factory.make_sandbox()
        self.addCleanup(sandbox.close)
        self.assertEqual(self.gateway.make(slot, profile, sandbox.fds[0]), b"\0")
        return sandbox

    def connect(self, host, port, key="c"):
        code, address = self.sandbox("ask_name", host)
        self.assertEqual(code, 0, host)
        self.sandbox("connect", key, address, port)

    def expect_reset(self, text="x", key="c"):
        with self.assertRaises((ConnectionResetError, BrokenPipeError)):
            self.sandbox("send", key, text)
            self.sandbox("receive", key, 1)
            self.sandbox("send", key, text)
            raise AssertionError("the connection goes on")

    def refused(self, **question):
        """{(host, port): how often}"""
        return {(said["host"], said["port"]): said["count"]
                for name, said in self.gateway.ask(**question) if name == "network_denial"}

    def test_a_counter_is_raised_before_the_workload_hears(self):
        """Of its own sandbox alone; and msp-cable has the refusal by then."""
        counters = self.gateway.counters
        self.connect("public.example", 443, "t")
        self.assertEqual(counters[5], 0)
        for number in range(1, 20):
            self.assertEqual(self.sandbox("ask_name", "evil.example"), [NO_NAME, None])
            self.assertEqual(counters[5], number)
            self.assertEqual(self.refused(slot=5), {("evil.example", 0): number})
        with contextlib.suppress(ConnectionResetError):
            self.connect("db.example", 8080)
            self.expect_reset()
        self.assertEqual(counters[5], 20)
        self.expect_reset("GET / HTTP/1.1\r\n\r\n", "t")
        self.assertEqual(counters[5], 21)
        self.assertEqual(counters[6], 0)

    def test_an_executions_refusals_are_told_its_frontend_alone(self):
        self.sandbox("ask_name", "evil.example")
        self.gateway.send("cable_execution", slot=5, place=2, frontend=1, request=7, is_over=1)
        self.assertEqual(self.refused(frontend=2, request=7), {})
        self.assertEqual(self.refused(frontend=1, request=8), {})
        self.assertEqual(self.refused(frontend=1, request=7), {("evil.example", 0): 1})
        self.assertEqual(self.refused(frontend=1, request=7), {}, "it is told once")

    def test_only_a_person_sees_what_others_ask_for(self):
        self.gateway.send("cable_execution", slot=6, place=2, frontend=1, request=7, owner="alice")
        self.asking("ask_name", "new.example")
        (name, host), = self.gateway.ask(frontend=9)
        self.assertEqual((name, host["host"], host["frontend"], host["owner"]),
                         ("network_host", "new.example", 1, "alice"))
        self.assertEqual(self.gateway.ask(frontend=1, is_broker=1), [])

    def test_frontends_that_say_what_they_must_not(self):
        for said in (b"", b"x", bytes(8000), ipc.message("network_granted"),
                     ipc.message("network_grant")[:-1]):
            with self.subTest(size=len(said)):
                self.assertEqual(self.gateway.ask(said, slot=5), [])
        (name, answer), = self.gateway.ask(ipc.message(
            "network_grant", host="new.example", port=443), slot=5)
        self.assertEqual((name, answer["error"]), ("network_granted", errno.EACCES))
        self.connect("public.example", 8080)

    def test_a_supervisor_that_breaks_the_protocol(self):
        for values in ({"slot": 4096}, {"slot": 5, "place": 1024}):
            with self.subTest(**values):
                gateway = Gateway(WORLD["plan"])
                gateway.send("cable_execution", **values)
                gateway.await_told("end")
                self.assertNotEqual(gateway.process.wait(20), 0)
                gateway.close()


if __name__ == "__main__":
    unittest.main()
