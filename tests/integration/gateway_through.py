#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The gateway's processes with profiles whose hosts are reached through a proxy: what the proxy is
asked, what is dialled directly, what is recorded, and the faults of a proxy."""
import time
import unittest

import connect_proxy
import gateway
import gateway_world
import support
from gateway_support import begin_module, hello
from gateway_world import A, OWN, PRIVATE, PUBLIC

PORT = 3128
HOSTS = sorted(connect_proxy.FAULTS)
POLICY = f"""
profiles:
  - name: web
    extends: default
    network: hosts
    through: "127.0.0.1:{PORT}"
    hosts:
      - public.example:443,8080
      - inner.example:8080
      - db.example:5432 private
      - {PUBLIC}:8080
      - {OWN}:8080
      - 10.0.0.0/24:5432
      - evil.example:443
{"".join(f"      - {host}:8080{chr(10)}" for host in HOSTS)}
  - {{name: named, extends: web, through: "proxy.corp.example:{PORT}"}}
  - {{name: gone, extends: web, through: "127.0.0.1:{PORT + 1}"}}
  - {{name: nameless, extends: web, through: "nowhere.example:{PORT}"}}
  - {{name: turned, extends: web, through: "loopback.example:{PORT}"}}
"""
# What the proxy knows and the name servers do not.
PLACES = {"public.example": PUBLIC, "inner.example": PUBLIC}
PROXIES = {}


def serve_proxy():
    """In the world: the proxy of a company's network."""
    PROXIES["corp"] = connect_proxy.Proxy(PRIVATE, PORT, PLACES)


def setUpModule():
    gateway_world.ZONE["proxy.corp.example"] = [(A, PRIVATE)]
    gateway_world.WORLD_ACTS.update(serve_proxy=serve_proxy, asked=lambda: PROXIES["corp"].asked)
    begin_module(POLICY, gateway.WORLD)
    gateway.WORLD["world"]("serve_proxy")
    PROXIES["own"] = connect_proxy.Proxy("127.0.0.1", PORT, PLACES)
    unittest.addModuleCleanup(PROXIES["own"].close)


class Through(gateway.Served):
    def setUp(self):
        super().setUp()
        self.proxy = PROXIES["own"]
        self.proxy.asked.clear()
        self.before = self.world("queries")

    def queries(self):
        """The names that name servers were asked for since the test began."""
        return {name for name, count in self.world("queries").items()
                if name.endswith(".example") and count > self.before.get(name, 0)}

    def use(self, profile):
        self.sandbox = self.make_sandbox()
        self.make(6, profile, self.sandbox)


class Reached(Through):
    def test_a_connection_and_its_record(self):
        self.connect("public.example")
        self.expect_echo("x" * 1000)
        self.assertEqual(self.proxy.asked, ["CONNECT public.example:8080 HTTP/1.1"])
        self.assertEqual(self.queries(), set())
        begin = self.gateway.await_told("connection_begin", host="public.example")
        self.assertEqual((begin["port"], begin["through"]), (8080, 1))
        self.sandbox("close", "c")
        end = self.gateway.await_told("connection_end", connection=begin["connection"])
        self.assertEqual((end["reason"], end["address"], end["sent"], end["received"]),
                         ("closed", "127.0.0.1", 1000, 1000))

    def test_tls(self):
        self.connect("public.example", 443)
        self.expect_echo(hello("public.example"))
        self.connect("public.example", 443)
        self.expect_reset(hello("evil.example"))
        self.gateway.await_told("connection_end", reason="another name in TLS")

    def test_a_name_that_only_the_proxy_knows(self):
        self.connect("inner.example")
        self.expect_echo()

    def test_an_address(self):
        self.connect(PUBLIC)
        self.expect_echo()
        self.assertEqual(self.proxy.asked, [f"CONNECT {PUBLIC}:8080 HTTP/1.1"])

    def test_private_hosts_are_dialled_directly(self):
        for host in ("db.example", PRIVATE):
            with self.subTest(host=host):
                self.connect(host, 5432)
                self.expect_echo()
                begin = self.gateway.await_told("connection_begin", host=host)
                self.assertNotIn("through", begin)
                self.sandbox("close", "c")
                self.gateway.await_told("connection_end", address=PRIVATE,
                                        connection=begin["connection"])
        self.assertEqual(self.proxy.asked, [])
        self.assertEqual(self.queries(), {"db.example"})

    def test_bytes_of_the_host_that_come_with_the_head(self):
        for host in ("early.example", "parts.example"):
            with self.subTest(host=host):
                self.connect(host)
                self.assertEqual(self.sandbox("receive", "c", 11), "SSH-2.0-x\r\n")
                self.expect_echo()

    def test_a_proxy_with_a_name_and_a_private_address(self):
        self.use("named")
        self.connect("public.example")
        self.expect_echo()
        self.assertEqual(self.world("asked"), ["CONNECT public.example:8080 HTTP/1.1"])
        self.assertEqual(self.queries(), {"proxy.corp.example"})
        self.gateway.await_told("connection_begin", through=1)


class Refused(Through):
    def test_the_own_address_is_not_asked_for(self):
        self.expect_no_connection(OWN)
        self.gateway.await_told("denial", host=OWN, reason="own")
        end = self.gateway.await_told("connection_end")
        self.assertEqual((end["reason"], end["address"]), ("address refused", ""))
        self.assertEqual(self.proxy.asked, [])

    def test_proxies_that_are_not_reached(self):
        for profile in ("gone", "nameless", "turned"):
            with self.subTest(profile=profile):
                self.use(profile)
                told = len(self.gateway.all_told("connection_end"))
                self.expect_no_connection("public.example")
                support.wait_until(lambda: len(self.gateway.all_told("connection_end")) > told)
                self.assertEqual(self.gateway.all_told("connection_end")[told]["reason"],
                                 "proxy not reached")
                self.gateway.send("cable_end", slot=6)
        self.assertEqual(self.proxy.asked, [])

    def test_answers_of_a_proxy(self):
        rows = {"forbidden.example": "proxy refused", "failing.example": "proxy refused",
                "login.example": "proxy wants a login", "cut.example": "no answer of the proxy",
                "silent.example": "no answer of the proxy",
                "long.example": "no answer of the proxy",
                "trickling.example": "no answer of the proxy",
                "bare.example": "no answer of the proxy",
                "strange.example": "no answer of the proxy"}
        addresses = {host: self.address(host) for host in rows}
        since = time.monotonic()
        for host, address in addresses.items():
            self.sandbox("connect", host, address, 8080)
        for host, reason in rows.items():
            with self.subTest(host=host):
                begin = self.gateway.await_told("connection_begin", host=host)
                end = self.gateway.await_told("connection_end", connection=begin["connection"])
                self.assertEqual(end["reason"], reason)
                self.expect_reset(key=host)
        self.assertGreater(time.monotonic() - since, 9)  # the two that are slow
        self.assertEqual({denial["host"] for denial in self.gateway.all_told("denial")
                          if denial["reason"] == "proxy"},
                         {"forbidden.example", "failing.example", "login.example"})
        self.connect("public.example")
        self.expect_echo()

    def test_a_host_that_the_proxy_does_not_reach(self):
        self.expect_no_connection("evil.example", 443)
        self.gateway.await_told("connection_end", reason="proxy refused")

    def test_a_sandbox_ends_while_the_proxy_is_asked(self):
        self.connect("silent.example")
        begin = self.gateway.await_told("connection_begin")
        self.assertTrue(support.wait_until(lambda: self.proxy.asked))
        self.gateway.send("cable_end", slot=5)
        end = self.gateway.await_told("connection_end", connection=begin["connection"])
        self.assertEqual(end["reason"], "sandbox ended")


if __name__ == "__main__":
    unittest.main()
