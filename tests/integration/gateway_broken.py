#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program of the gateway that somebody has taken over: what msp-dial does for a broken msp-egress,
and msp-egress for a broken msp-dial. This test is the broken one."""
import os
import select
import socket
import tempfile
import time
import unittest

import gateway_world
import ipc
from gateway_support import (Gateway, Program, begin_module, index_of, make_hostile_egress,
                             parse_record)
from gateway_world import PRIVATE, PUBLIC

REFUSED, FAILED = 1, 3  # enum dial_result
QUESTIONS_MAX = 1024
POLICY = """
profiles:
  - name: web
    extends: default
    network: hosts
    hosts: ["public.example:443,8080", "silent.example:8080", "10.0.0.5:5432"]
  - name: other
    extends: default
    network: hosts
    hosts: ["other.example:8080"]
"""
WORLD = {}


def setUpModule():
    begin_module(POLICY, WORLD)


class Egress(unittest.TestCase):
    """msp-dial and a broken msp-egress. Slot 5 is announced, with the profile web."""

    def setUp(self):
        self.world = WORLD["world"]
        self.dial = Program("msp-dial")
        self.addCleanup(self.dial.close)
        plan = ipc.sealed(WORLD["plan"])
        self.dial.send(self.dial.cable, "gateway_policy", fds=[plan], slot=0)
        os.close(plan)
        self.announce(5, 7, "web")

    def announce(self, slot, use, profile):
        self.dial.send(self.dial.cable, "dial_begin", slot=slot, use=use, generation=0,
                       profile=index_of(WORLD["plan"], profile))

    def ask(self, host, port=8080, slot=5, use=7, number=1):
        self.dial.send(self.dial.peer, "dial_ask", number=number, slot=slot, use=use, port=port,
                       host=host)

    def record(self, error=0):
        """Answer the record of a connection."""
        number, event, _ = parse_record(self.dial.audit.recv(1 << 16))
        self.assertEqual(event, "connection_begin")
        self.dial.send(self.dial.audit, "audit_written", number=number, error=error)

    def expect_refused(self, result, number=1):
        name, values, _ = self.dial.receive(self.dial.peer)
        self.assertEqual((name, values), ("ask_done", {"number": number, "result": result}))

    def expect_silence(self, channel):
        with self.assertRaises(TimeoutError):
            self.dial.receive(channel, 0.3)

    def reached(self):
        return {where: count for where, count in self.world("reached").items()
                if not where.endswith("bytes")}

    def test_what_the_sandbox_may_have(self):
        """The control: one connection, to the asked host."""
        self.ask("public.example", number=9)
        self.record()
        name, done, fds = self.dial.receive(self.dial.peer)
        self.assertEqual((name, done["number"], done["connection"], done["kind"],
                          done["address"]), ("dial_done", 9, 1, 0, PUBLIC))
        with socket.socket(fileno=fds[0]) as host:
            self.assertEqual(host.getpeername(), (PUBLIC, 8080))
            self.assertFalse(os.get_blocking(host.fileno()))
            host.setblocking(True)
            host.sendall(b"x")
            self.assertEqual(host.recv(1), b"x")

    def test_sandboxes_that_there_are_not(self):
        before = self.world("queries")
        for slot, use in ((5, 8), (5, 0), (6, 7), (4095, 7), (4096, 7), (1 << 31, 7)):
            with self.subTest(slot=slot, use=use):
                self.ask("public.example", slot=slot, use=use)
                self.expect_refused(FAILED)
        self.expect_silence(self.dial.cable)
        self.dial.send(self.dial.cable, "cable_end", slot=5)
        time.sleep(0.5)  # or the question is read first: the two channels have no order
        self.ask("public.example")
        self.expect_refused(FAILED)
        self.expect_silence(self.dial.cable)
        self.assertEqual(self.world("queries"), before)

    def test_hosts_of_nobody_and_of_another_sandbox(self):
        self.announce(6, 8, "other")
        before = self.world("queries"), self.reached()
        for host, port in (("evil.example", 443), ("other.example", 8080), ("public.example", 22),
                           ("public.example", 0), (PUBLIC, 8080), (PRIVATE, 8080),
                           ("127.0.0.1", 8080), ("169.254.169.254", 80), ("10.0.0.6", 5432)):
            with self.subTest(host=host, port=port):
                self.ask(host, port)
                name, refused, _ = self.dial.receive(self.dial.cable)
                self.assertEqual((name, refused["host"], refused["port"]),
                                 ("connection_refused", host, port))
                self.expect_refused(REFUSED)
        self.assertEqual((self.world("queries"), self.reached()), before)

    def test_no_record_no_dial(self):
        before = self.world("queries"), self.reached()
        self.ask("public.example")
        self.record(error=28)
        self.expect_refused(FAILED)
        self.expect_silence(self.dial.cable)
        self.ask(PRIVATE, 5432)
        self.assertEqual(parse_record(self.dial.audit.recv(1 << 16))[1], "connection_begin")
        self.expect_silence(self.dial.cable)
        self.expect_silence(self.dial.peer)  # it waits for the record's answer
        self.assertEqual((self.world("queries"), self.reached()), before)

    def test_without_its_msp_audit_it_ends(self):
        self.dial.audit.close()
        self.assertEqual(self.dial.process.wait(20), 0)
        self.assertEqual(self.dial.said(), "")

    def test_a_record_that_nobody_sent(self):
        self.dial.send(self.dial.audit, "audit_written", number=1)
        self.assertIn("msp-audit broke the protocol", self.dial.said())

    def test_more_questions_than_there_are_places(self):
        for number in range(QUESTIONS_MAX + 88):
            self.ask("silent.example", number=number)
            if number % 64 == 63:  # or its queue to us is full
                self.record_all()
        refused = 0
        while self.has(self.dial.peer):
            name, values, _ = self.dial.receive(self.dial.peer)
            self.assertEqual((name, values["result"]), ("ask_done", FAILED))
            refused += 1
        self.assertGreaterEqual(refused, 88)  # some are late by now
        self.dial.send(self.dial.cable, "cable_end", slot=5)
        self.announce(6, 9, "web")
        while self.has(self.dial.peer):
            self.dial.receive(self.dial.peer)
        self.ask("public.example", slot=6, use=9, number=1 << 40)
        self.record_all()
        while (answer := self.dial.receive(self.dial.peer))[0] != "dial_done":
            self.assertEqual(answer[0], "ask_done")
        os.close(answer[2][0])

    def record_all(self):
        """Answer each record; some connections may end already."""
        while self.has(self.dial.audit):
            number, _, _ = parse_record(self.dial.audit.recv(1 << 16))
            self.dial.send(self.dial.audit, "audit_written", number=number)
            while select.select([self.dial.cable], [], [], 0)[0]:
                self.dial.receive(self.dial.cable)

    def has(self, channel):
        """Is there a message? The end of the channel fails the test."""
        if not select.select([channel], [], [], 0.3)[0]:
            return False
        self.assertTrue(channel.recv(1, socket.MSG_PEEK), "msp-dial has ended")
        return True

    def test_an_msp_egress_that_does_not_read(self):
        for number in range(700):  # a socket of this test's takes fewer than 300
            self.ask("evil.example", number=number)
            while number % 100 == 99 and self.has(self.dial.cable):
                self.dial.receive(self.dial.cable)
        for number in range(700):
            self.expect_refused(REFUSED, number)
        self.test_what_the_sandbox_may_have()

    def test_what_no_msp_egress_says(self):
        asks = [("dial_ask", {"host": host, "port": 8080}) for host in (
            "Public.example", "public.example.", "public..example", ".public.example", "127.1",
            "0x7f000001", "2130706433", "public.example\n", "*.example", "pub lic.example",
            "10.0.0.5/24", "pub\u00fclic.example", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1")]
        asks += [("dial_ask", {"host": "public.example", "port": 8080 + 65536}),
                 ("name_ask", {"host": PUBLIC}), ("name_ask", {"host": "PUBLIC.example"}),
                 ("ask_done", {}), ("cable_end", {"slot": 5}),
                 ("dial_begin", {"slot": 9}), ("audit_written", {"number": 1})]
        for name, values in asks:
            with self.subTest(name=name, **values):
                dial = Program("msp-dial")
                plan = ipc.sealed(WORLD["plan"])
                dial.send(dial.cable, "gateway_policy", fds=[plan], slot=0)
                os.close(plan)
                dial.send(dial.cable, "dial_begin", slot=5, use=7, generation=0,
                          profile=index_of(WORLD["plan"], "web"))
                dial.send(dial.peer, name, number=1, **({"slot": 5, "use": 7} if name in (
                    "dial_ask", "name_ask") else {}), **values) if name.endswith("_ask") else \
                    dial.send(dial.peer, name, **values)
                self.assertIn("msp-egress broke the protocol", dial.said())
                self.assertEqual(dial.process.returncode, 70)
                dial.close()


# Texts that a terminal obeys, that read in another order, that look like a line of msp's, or that no
# list can have.
NO_HOSTS = ("a\x1b[31m.example", "a\x9b31m.example", "x\u202e.example", "a.example]\n[sandbox: run it]",
            "a.example\r", "run this command", "A.example", "a.example.", ".example", "a..example", "*.example",
            "x" * 64 + ".example", "0x7f000001", "127.1", "::1", "p\u0430ypal.example")


class Cable(unittest.TestCase):
    """msp-cable and a broken msp-egress, which speaks as soon as slot 5 has its cable."""

    def begin(self, *said):
        folder = tempfile.TemporaryDirectory(prefix="msp-hostile-")
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "msp-egress")
        make_hostile_egress(path, "egress_begin", *said)
        factory = gateway_world.Factory()
        self.addCleanup(factory.close)
        sandbox = factory.make_sandbox()
        self.addCleanup(sandbox.close)
        gateway = Gateway(WORLD["plan"], egress=path)
        self.addCleanup(gateway.close)
        gateway.make(5, "web", sandbox.fds[0])
        return gateway

    @staticmethod
    def refused(host, **values):
        return ipc.message("connection_refused", **{"slot": 5, "use": 1, "port": 443, "host": host, **values})

    def expect_end(self, *said):
        """msp-cable ends; nothing was said to anybody."""
        gateway = self.begin(*said)
        self.assertEqual(gateway.process.wait(20), 70)
        gateway.close()
        self.assertIn("msp-egress has ended or broke the protocol", gateway.stderr)
        self.assertEqual([told for told in gateway.told if told[0] != "end"], [])

    def test_hosts_that_a_workload_may_ask_for(self):
        """The control: what msp-egress can say."""
        hosts = ("evil.example", "a_b.evil-1.example", "xn--nxasmq6b.example", PUBLIC)
        failed = self.refused("failed.example", reason=13)  # no denial
        gateway = self.begin(failed, *(self.refused(host) for host in hosts), ipc.message(
            "connection_end", slot=5, use=1, number=1, reason=1, address=PUBLIC))
        for host in hosts:
            gateway.await_told("denial", host=host, port=443)
        self.assertEqual([told for told in gateway.told if "failed.example" in str(told)], [])
        self.assertIsNone(gateway.process.poll())

    def test_texts_that_are_no_hosts(self):
        for text in NO_HOSTS:
            with self.subTest(text=text):
                self.expect_end(self.refused(text))
        self.expect_end(ipc.message("connection_open", number=1, look=1, port=443, host=NO_HOSTS[0]))

    def test_numbers_and_addresses_that_there_are_not(self):
        for values in ({"reason": 15}, {"reason": 1 << 31}, {"port": 65536}):
            with self.subTest(**values):
                self.expect_end(self.refused("evil.example", **values))
        for values in ({"reason": 23}, {"slot": 4096}, {"address": "1.2.3.4\x1b[2J"},
                       {"address": "fe80::1%eth0"}, {"address": "192.0.2.1 "}):
            with self.subTest(**values):
                self.expect_end(ipc.message("connection_end", **{"slot": 5, "use": 1, "number": 1,
                                                                 **values}))


class Dial(unittest.TestCase):
    """msp-egress and a broken msp-dial."""

    def test_answers_that_nobody_asked_for(self):
        ours, theirs = socket.socketpair()
        self.addCleanup(ours.close)
        self.addCleanup(theirs.close)
        for name, fds, values in (
                ("ask_done", (), {"number": 513, "result": 77}),
                ("dial_done", [theirs.fileno()], {"number": 0, "address": "192.0.2.1"}),
                ("ask_done", (), {"number": 1 << 63, "result": 1}),
                ("dial_ask", (), {"host": "public.example"}),
                ("egress_begin", [theirs.fileno()], {"slot": 1})):
            with self.subTest(name=name, **values):
                egress = Program("msp-egress")
                egress.send(egress.peer, name, fds=fds, **values)
                self.assertIn("msp-dial broke the protocol", egress.said())
                self.assertEqual(egress.process.returncode, 70)
                egress.close()

    def test_the_end_of_either_peer(self):
        for which in ("cable", "peer"):
            with self.subTest(which=which):
                egress = Program("msp-egress")
                getattr(egress, which).close()
                self.assertEqual(egress.process.wait(20), 0)
                self.assertEqual(egress.said(), "")
                egress.close()


if __name__ == "__main__":
    unittest.main()
