#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Addresses that the gateway never dials because the kernel keeps their packets on this machine, or
its routes forbid them: each in a list of hosts, while the machine's addresses change."""
import os
import socket
import unittest

import gateway
import gateway_world
from gateway_support import begin_module
from gateway_world import OWN_PRIVATE, SECONDARY

NAMES = ("secondary", "mapped-secondary", "nat64-own", "nat64-secondary", "isatap-secondary",
         "isatap-metadata", "own-private", "broadcast", "local", "anycast", "blackhole", "prohibited",
         "unreachable")
POLICY = f"""
profiles:
  - name: web
    extends: default
    network: hosts
    hosts: ["public.example:8080", "10.0.1.0/24:8080",
      {", ".join(f'"{name}.example:8080{" private" * (name == "own-private")}"' for name in NAMES)}]
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
                    self.expect_forbidden(f"{name}.example")
            self.expect_forbidden(OWN_PRIVATE)
            listener.settimeout(0)
            self.assertRaises(BlockingIOError, listener.accept)
            for address in (SECONDARY, OWN_PRIVATE, gateway_world.LOCAL):  # the control
                with socket.create_connection((address, 8080), 5):
                    listener.accept()[0].close()

    def test_an_address_that_is_this_machines_no_more(self):
        """The control: beside it in one network is a host, and the same address can be another's."""
        self.world.machine("ip", "addr", "add", f"{SECONDARY}/24", "dev", "h0")
        self.expect_forbidden("secondary.example")
        self.connect("public.example")
        self.expect_echo()
        self.world.machine("ip", "addr", "del", f"{SECONDARY}/24", "dev", "h0")
        self.world("take_address", SECONDARY, 8080)
        self.connect("secondary.example")
        self.expect_echo()
        self.assertEqual(self.reached(f"{SECONDARY}:8080"), 1)


if __name__ == "__main__":
    unittest.main()
