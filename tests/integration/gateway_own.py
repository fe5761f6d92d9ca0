#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Addresses that the gateway never dials because the kernel keeps their packets on this machine, or
its routes forbid them: each in a list of hosts, while the machine's addresses change."""
import contextlib
import os
import socket
import threading
import unittest

import gateway
import gateway_world
from gateway_support import begin_module
from gateway_world import OWN_PRIVATE, SECONDARY

NAMES = ("secondary", "mapped-secondary", "nat64-own", "nat64-secondary", "isatap-secondary",
         "isatap-metadata", "own-private", "broadcast", "local", "anycast", "blackhole", "prohibited",
         "unreachable")
OTHERS = ("isatap-metadata", "blackhole", "prohibited", "unreachable")  # refused, but no address of its own
PORTS = f"""
      - {{host: "app.example:8080", to: "127.0.0.1:8080"}}
      - {{host: "six.example:9000", to: "[::1]:8080"}}
      - {{host: "late.example:8080", to: "{OWN_PRIVATE}:8080"}}
      - loopback.example:8080 private
      - own.example:8080 private
      - rebinding.example:8080 private
      - public.example:4430,5432
      - 93.184.216.0/24:8080
"""
POLICY = f"""
profiles:
  - name: web
    extends: default
    network: hosts
    hosts: ["public.example:8080", "10.0.1.0/24:8080",
      {", ".join(f'"{name}.example:8080{" private" * (name == "own-private")}"' for name in NAMES)}]
  - name: ports
    extends: default
    network: hosts
    hosts: {PORTS}
"""


def setUpModule():
    gateway.WORLD["resolv"] = os.path.join(begin_module(POLICY, gateway.WORLD), "resolv.conf")


class OwnAddresses(gateway.Served):
    def test_what_the_machines_routes_keep_here(self):
        """Addresses that the machine gets while the gateway runs, and routes that end here."""
        machine = self.world.machine
        for words in (["addr", "add", f"{SECONDARY}/24", "dev", "h0", "label", "h0:1"],
                      ["addr", "add", "10.0.1.1/24", "dev", "h0"],
                      ["addr", "add", f"{OWN_PRIVATE}/24", "dev", "h0"],
                      ["route", "add", "local", "94.2.0.0/16", "dev", "lo"],
                      ["route", "add", "anycast", "94.3.0.0/16", "dev", "lo"],
                      ["route", "add", "blackhole", "94.4.0.0/16"],
                      ["route", "add", "prohibit", "94.5.0.0/16"],
                      ["route", "add", "unreachable", "94.6.0.0/16"]):
            machine("ip", *words)
            undo = ["del" if word == "add" else word for word in words]
            self.addCleanup(machine, "ip", *(word for word in undo if word not in ("label", "h0:1")))
        with socket.create_server(("0.0.0.0", 8080)) as listener:
            for name in NAMES:
                with self.subTest(name=name):
                    self.expect_forbidden(f"{name}.example", "address" if name in OTHERS else "own")
            self.expect_forbidden(OWN_PRIVATE, "own")
            listener.settimeout(0)
            self.assertRaises(BlockingIOError, listener.accept)
            for address in (SECONDARY, OWN_PRIVATE, gateway_world.LOCAL):  # the control
                with socket.create_connection((address, 8080), 5):
                    listener.accept()[0].close()

    def test_an_address_that_is_this_machines_no_more(self):
        """The control: beside it in one network is a host, and the same address can be another's."""
        self.world.machine("ip", "addr", "add", f"{SECONDARY}/24", "dev", "h0")
        self.expect_forbidden("secondary.example", "own")
        self.connect("public.example")
        self.expect_echo()
        self.world.machine("ip", "addr", "del", f"{SECONDARY}/24", "dev", "h0")
        self.world("take_address", SECONDARY, 8080)
        self.connect("secondary.example")
        self.expect_echo()
        self.assertEqual(self.reached(f"{SECONDARY}:8080"), 1)


class OwnPorts(gateway.Served):
    """A name that leads to one port of this machine."""

    def make(self, slot, profile, sandbox):
        super().make(slot, "ports", sandbox)

    def listen(self, address, port):
        """A server of this machine that echoes. Return what it has accepted."""
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        listener = socket.create_server((address, port), family=family)
        accepted = []

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    accepted.append(listener.accept()[0])
                    threading.Thread(target=gateway_world.echo, daemon=True,
                                     args=(accepted[-1], address)).start()

        def stop():
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        threading.Thread(target=serve, daemon=True).start()
        self.addCleanup(stop)
        return accepted

    def test_the_port_is_reached_and_recorded(self):
        for host, port, address in (("app.example", 8080, "127.0.0.1"), ("six.example", 9000, "::1")):
            with self.subTest(host=host):
                accepted = self.listen(address, 8080)
                self.connect(host, port)
                self.expect_echo()
                self.assertEqual(len(accepted), 1)
                begin = self.gateway.await_told("connection_begin", host=host)
                self.sandbox("close", "c")
                end = self.gateway.await_told("connection_end", connection=begin["connection"])
                self.assertEqual((begin["port"], end["address"], end["reason"]),
                                 (port, address, "closed"))
                self.assertEqual(self.world("queries").get(host, 0), 0, "no name server was asked")

    def test_no_other_port_is_reached(self):
        """Other ports of the name, other names that lead here, and addresses: whether somebody
        listens or not, nobody is dialled, and the workload sees the same."""
        self.world("set_ttl", 0)
        self.addCleanup(self.world, "set_ttl", 30)
        self.world("set_answers", "rebinding.example", [[(gateway_world.A, "127.0.0.1")]])
        acts = (("app.example", 4430, "port"), ("app.example", 5432, "port"),
                ("app.example", 9000, "port"), ("six.example", 8080, "port"),
                ("loopback.example", 8080, "own"), ("own.example", 8080, "own"),
                ("rebinding.example", 8080, "own"), (gateway_world.OWN, 8080, "own"),
                ("127.0.0.1", 8080, None), (OWN_PRIVATE, 8080, "host"))
        seen = []
        for is_open in (False, True):
            accepted = [self.listen("0.0.0.0", port) for port in (4430, 5432, 8080, 9000)] \
                if is_open else []
            seen.append([self.attempt(host, port) for host, port, _ in acts])
            self.assertEqual([len(each) for each in accepted], [0] * len(accepted))
            for host, port, reason in acts:
                if reason:
                    self.gateway.await_told("denial", host=host, port=port, reason=reason)
        self.assertEqual(seen[0], seen[1])
        self.connect("app.example")  # the control
        self.expect_echo()
        self.assertEqual([len(each) for each in accepted], [0, 0, 1, 0])

    def attempt(self, host, port):
        """What a workload sees."""
        try:
            self.connect(host, port)
            self.expect_reset()
        except ConnectionRefusedError:
            return "refused"
        except OSError:
            pass
        return "reset"

    def test_an_address_counts_while_it_is_this_machines(self):
        self.expect_forbidden("late.example")
        self.world("take_address", OWN_PRIVATE, 8080)  # another machine has it
        self.world.machine("ip", "route", "add", f"{OWN_PRIVATE}/32", "via", gateway_world.PUBLIC)
        self.addCleanup(self.world.machine, "ip", "route", "del", f"{OWN_PRIVATE}/32")
        self.expect_forbidden("late.example")
        self.assertEqual(self.reached(f"{OWN_PRIVATE}:8080"), 0)
        self.world.machine("ip", "addr", "add", f"{OWN_PRIVATE}/32", "dev", "lo")
        self.addCleanup(self.world.machine, "ip", "addr", "del", f"{OWN_PRIVATE}/32", "dev", "lo")
        accepted = self.listen(OWN_PRIVATE, 8080)
        self.connect("late.example")
        self.expect_echo()
        self.assertEqual(len(accepted), 1)


if __name__ == "__main__":
    unittest.main()
