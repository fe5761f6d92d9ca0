#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The three programs of the gateway as processes, without a supervisor: what a sandbox reaches, what
it does not, what is recorded, and what the end of each program means."""
import contextlib
import errno
import os
import resource
import signal
import socket
import threading
import time
import unittest

import gateway_world
import ipc
import support
from gateway_support import Gateway, begin_module, hello
from gateway_world import A, METADATA, PRIVATE, PUBLIC

NO_NAME, FAILURE = 3, 2
CABLE_CAPABILITIES = 1 << 12 | 1 << 21 | 1 << 10  # NET_ADMIN, SYS_ADMIN, NET_BIND_SERVICE
POLICY = """
profiles:
  - name: web
    extends: default
    network: hosts
    hosts:
      - public.example:443,8080
      - "*.wild.example:8080"
      - db.example:5432 private
      - sneaky.example:8080
      - metadata.example:8080
      - loopback.example:8080
      - mapped.example:8080
      - nat64.example:8080
      - own.example:8080
      - silent.example:8080
      - second.example:8080
      - closed.example:8080
      - both.example:8080
      - mixed.example:8080
      - rebinding.example:8080
      - moving.example:8080
      - nowhere.example:8080
      - long.example:8080
      - 10.0.0.0/24:5432
  - name: other
    extends: default
    network: hosts
    hosts: ["other.example:8080"]
  - name: bounded
    extends: default
    network: hosts
    hosts: ["public.example:8080"]
    limits: {connections: 3, connection_rate: 1, connection_idle: 1s, upload: 100K, download: 1M}
"""
WORLD = {}


def setUpModule():
    WORLD["resolv"] = os.path.join(begin_module(POLICY, WORLD), "resolv.conf")


class Served(unittest.TestCase):
    """A gateway with one sandbox of the profile web."""

    def setUp(self):
        self.world = WORLD["world"]
        self.factory = gateway_world.Factory()
        self.addCleanup(self.factory.close)
        self.sandbox = self.make_sandbox()
        self.gateway = Gateway(WORLD["plan"])
        self.addCleanup(self.gateway.close)
        self.make(5, "web", self.sandbox)

    def make(self, slot, profile, sandbox):
        self.assertEqual(self.gateway.make(slot, profile, sandbox.fds[0]), b"\0")

    def make_sandbox(self):
        sandbox = self.factory.make_sandbox()
        self.addCleanup(sandbox.close)
        return sandbox

    def address(self, name):
        code, address = self.sandbox("ask_name", name)
        self.assertEqual(code, 0, name)
        return address

    def connect(self, host, port=8080, key="c"):
        address = host if host[0].isdigit() else self.address(host)
        self.sandbox("connect", key, address, port)

    def expect_echo(self, text="SSH-2.0-x\r\n", key="c"):
        self.sandbox("send", key, text)
        self.assertEqual(self.sandbox("receive", key, len(text)), text)

    def expect_reset(self, text="x", key="c"):
        with self.assertRaises((ConnectionResetError, BrokenPipeError)):
            self.sandbox("send", key, text)
            self.sandbox("receive", key, 1)
            self.sandbox("send", key, text)
            raise AssertionError("the connection goes on")

    def expect_no_connection(self, host, port=8080):
        """The workload is reset, perhaps before it has heard that it is connected."""
        with contextlib.suppress(ConnectionResetError):
            self.connect(host, port)
            self.expect_reset()

    def expect_no_dial(self, host, port=8080):
        """The workload is reset, and nobody is reached."""
        before = self.world("reached")
        self.expect_no_connection(host, port)
        self.assertEqual(self.world("reached"), before, host)

    def expect_forbidden(self, host, reason="address"):
        self.expect_no_dial(host)
        begin = self.gateway.await_told("connection_begin", host=host)
        end = self.gateway.await_told("connection_end", connection=begin["connection"])
        self.assertEqual(end["reason"], "address refused")
        self.gateway.await_told("denial", host=host, port=8080, reason=reason)

    def reached(self, where):
        return self.world("reached").get(where, 0)


class Allowed(Served):
    def test_a_name_with_tcp_and_its_record(self):
        self.connect("public.example")
        begin = self.gateway.await_told("connection_begin", host="public.example")
        self.assertEqual((begin["cable"], begin["port"]), (self.gateway.use, 8080))
        self.expect_echo("x" * 1000)
        self.sandbox("close", "c")
        end = self.gateway.await_told("connection_end", connection=begin["connection"])
        self.assertEqual((end["cable"], end["reason"], end["address"]),
                         (self.gateway.use, "closed", PUBLIC))
        self.assertEqual((end["sent"], end["received"]), (1000, 1000))

    def test_each_kind_of_entry(self):
        for host, where in (("www.wild.example", f"{PUBLIC}:8080"), (PRIVATE, f"{PRIVATE}:5432"),
                            ("db.example", f"{PRIVATE}:5432")):
            with self.subTest(host=host):
                before = self.reached(where)
                self.connect(host, int(where.rpartition(":")[2]))
                self.expect_echo()
                self.assertEqual(self.reached(where), before + 1)
                self.gateway.await_told("connection_begin", host=host)

    def test_a_hello_in_one_piece_and_in_many(self):
        address = self.address("public.example")
        for text in (hello("public.example"), hello("PUBLIC.example."[:-1]),
                     hello("public.example", record=7)):
            with self.subTest(size=len(text)):
                self.connect(address, 443)
                self.expect_echo(text)
        self.connect(address, 443)
        for byte in hello("public.example"):
            self.sandbox("send", "c", byte)
            time.sleep(0.001)
        text = hello("public.example")
        self.assertEqual(self.sandbox("receive", "c", len(text)), text)

    def test_the_next_address_is_tried(self):
        for host in ("second.example", "both.example", "mixed.example"):
            with self.subTest(host=host):
                self.connect(host)
                self.expect_echo()
        self.assertEqual(self.reached(f"{METADATA}:8080"), 0)

    def test_many_connections_at_once(self):
        address = self.address("public.example")
        runs = [self.sandbox("exchange_many", address, 8080, 200) for _ in range(3)]
        self.assertEqual([whole for whole, _ in runs], [200] * 3)
        # A SYN that the kernel does not take comes again after a second.
        self.assertEqual(sorted(again for _, again in runs)[1], 0)
        support.wait_until(lambda: len(self.gateway.all_told("connection_end")) == 600)

    def test_a_half_closed_connection_goes_on(self):
        self.connect("public.example")
        self.sandbox("send", "c", "last words")
        self.sandbox("close", "c", True)
        self.assertEqual(self.sandbox("receive", "c", 100), "last words")

    def test_names_that_there_are_not(self):
        self.assertEqual(self.sandbox("ask_name", "nowhere.example"), [NO_NAME, None])
        self.assertEqual(self.sandbox("ask_name", "public.example", gateway_world.AAAA), [0, None])

    def test_two_sandboxes_have_their_own_lists(self):
        second = self.make_sandbox()
        self.make(6, "other", second)
        self.assertEqual(second("ask_name", "public.example"), [NO_NAME, None])
        code, address = second("ask_name", "other.example")
        self.assertEqual(code, 0)
        second("connect", "c", address, 8080)
        second("send", "c", "abc")
        self.assertEqual(second("receive", "c", 3), "abc")
        self.assertEqual(self.sandbox("ask_name", "other.example"), [NO_NAME, None])


class Refused(Served):
    def test_addresses_that_a_name_must_not_lead_to(self):
        for name, reason in (("sneaky", "address"), ("metadata", "address"), ("loopback", "own"),
                             ("mapped", "own"), ("nat64", "address"), ("own", "own")):
            with self.subTest(name=name):
                self.expect_forbidden(f"{name}.example", reason)

    def test_the_servers_there_can_be_reached(self):
        """The control: only the refusal is between the workload and these addresses."""
        with socket.create_server((gateway_world.OWN, 8080)), \
                socket.create_connection((gateway_world.OWN, 8080), 5):
            pass
        for address in (PRIVATE, METADATA):
            with socket.create_connection((address, 8080), 5) as connection:
                connection.sendall(b"x")
                self.assertEqual(connection.recv(1), b"x")

    def test_hosts_and_ports_outside_the_list(self):
        self.assertEqual(self.sandbox("ask_name", "evil.example"), [NO_NAME, None])
        self.gateway.await_told("denial", host="evil.example", operation="resolve", reason="host")
        self.assertEqual(self.world("queries").get("evil.example", 0), 0)
        for host in ("wild.example", "a.b.wild.example"):
            self.assertEqual(self.sandbox("ask_name", host), [NO_NAME, None])
        self.expect_no_dial("db.example", 8080)
        self.gateway.await_told("denial", host="db.example", port=8080, reason="port")
        for address in (PUBLIC, METADATA, PRIVATE):
            self.expect_no_dial(address, 8080)
            self.gateway.await_told("denial", host=address, port=8080, operation="connect")
        with self.assertRaises(ConnectionRefusedError):
            self.sandbox("connect", "c", PUBLIC, 22)

    def test_a_name_that_moves_to_a_private_address(self):
        self.world("set_ttl", 0)
        self.addCleanup(self.world, "set_ttl", 30)
        self.world("set_answers", "rebinding.example", [[(A, PUBLIC)], [(A, METADATA)],
                                                        [(A, PRIVATE)], [(A, PUBLIC)]])
        address = self.address("rebinding.example")
        for _ in range(2):
            self.expect_no_dial(address)
        self.connect(address)
        self.expect_echo()

    def expect_tls_refused(self, text, reason, key="c"):
        before = self.reached(f"{PUBLIC}:443 bytes")
        self.connect("public.example", 443, key)
        self.expect_reset(text, key)
        support.wait_until(lambda: any(end["reason"] == reason for end in
                                       self.gateway.all_told("connection_end")))
        self.assertEqual(self.reached(f"{PUBLIC}:443 bytes"), before)
        self.gateway.await_told("denial", host="public.example", port=443, reason="TLS")

    def test_first_bytes_that_are_not_the_hosts_hello(self):
        for what, text, reason in (
                ("another name", hello("evil.example"), "another name in TLS"),
                ("another allowed name", hello("db.example"), "another name in TLS"),
                ("HTTP", "GET / HTTP/1.1\r\n\r\n", "no TLS"),
                ("SSH", "SSH-2.0-x\r\n", "no TLS"),
                ("an alert", "\x15\x03\x01\x00\x02\x02\x28", "no TLS")):
            with self.subTest(what=what):
                self.expect_tls_refused(text, reason)

    def test_a_hello_that_does_not_come(self):
        self.connect("public.example", 443)
        self.sandbox("send", "c", hello("public.example")[:40])
        begun = time.monotonic()
        with self.assertRaises(ConnectionResetError):
            self.sandbox("receive", "c", 1)
        self.assertGreater(time.monotonic() - begun, 8)
        self.gateway.await_told("connection_end", reason="no TLS in time")

    def test_hosts_that_take_no_connection(self):
        for host in ("closed.example", "silent.example"):
            with self.subTest(host=host):
                self.expect_no_connection(host)
                begin = self.gateway.await_told("connection_begin", host=host)
                end = self.gateway.await_told("connection_end", connection=begin["connection"])
                self.assertEqual(end["reason"], "not reached")

    def test_no_record_no_dial(self):
        address = self.address("public.example")
        self.gateway.record_error = 28
        self.expect_no_dial(address)
        self.assertEqual(self.gateway.all_told("connection_end"), [])
        self.gateway.record_error = 0
        self.connect(address)
        self.expect_echo()

    def test_a_socket_that_is_no_sandboxes(self):
        with socket.socket(socket.AF_INET) as other, \
                socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as own:
            self.assertEqual(self.gateway.make(7, "web", other.fileno()), b"")
            self.assertEqual(self.gateway.make(7, "web", own.fileno()), b"")
        for profile in (0, 999):  # without hosts, and none
            self.assertEqual(self.gateway.make(7, "web", self.sandbox.fds[0], index=profile), b"")
        self.connect("public.example")
        self.expect_echo()
        self.gateway.close()
        for step in ("looking at its socket", "reading its hosts"):
            self.assertIn(f"the network of a sandbox cannot be made: {step}", self.gateway.stderr)


class Limits(Served):
    def setUp(self):
        super().setUp()
        self.sandbox = self.make_sandbox()
        self.make(6, "bounded", self.sandbox)

    def begun(self):
        return len(self.gateway.all_told("connection_begin"))

    def test_connections_at_once(self):
        address = self.address("public.example")
        for key in "abcd":
            self.sandbox("connect", key, address, 8080)
        time.sleep(0.5)
        self.assertEqual(self.begun(), 3)  # the fourth waits in the kernel
        self.sandbox("close", "a")
        self.expect_echo(key="d")

    def test_connections_each_second(self):
        address = self.address("public.example")
        since = time.monotonic()
        for number in range(16):  # the burst
            self.sandbox("connect", "c", address, 8080)
            self.expect_echo()
            self.sandbox("close", "c")
        self.sandbox("connect", "c", address, 8080)
        begun = self.begun()  # before the time is taken
        self.assertLessEqual(begun, 16 + int(time.monotonic() - since))
        self.expect_echo()
        self.assertTrue(support.wait_until(lambda: self.begun() == 17), self.begun())

    def test_an_idle_connection(self):
        self.connect("public.example")
        self.expect_echo()
        with self.assertRaises(ConnectionResetError):
            self.sandbox("receive", "c", 1)
        self.assertEqual(self.gateway.await_told("connection_end")["reason"], "idle")

    def test_bytes_to_hosts(self):
        self.connect("public.example", key="d")
        self.expect_echo(key="d")
        self.connect("public.example")
        with contextlib.suppress(OSError):  # the reset may come later
            self.sandbox("send", "c", "x" * 150_000)
        self.gateway.await_told("denial", host="public.example", port=8080, operation="connect",
                                reason="limit")
        support.wait_until(lambda: len(self.gateway.all_told("connection_end")) == 2)
        self.expect_reset(key="d")  # all connections of the sandbox end
        ends = self.gateway.all_told("connection_end")
        self.assertEqual({end["reason"] for end in ends}, {"limit"})
        self.assertLess(sum(end["sent"] for end in ends), 500_000)
        before = self.begun()
        self.expect_no_connection("public.example")
        self.assertEqual(self.begun(), before)  # no further one is begun
        other = self.make_sandbox()
        self.make(7, "bounded", other)
        self.sandbox = other
        self.connect("public.example")
        self.expect_echo()


class Resolver(Served):
    def tearDown(self):
        gateway_world.set_servers(WORLD["resolv"], gateway_world.NAME_SERVER)

    def test_other_servers_are_asked_when_the_file_changes(self):
        self.address("moving.example")
        other = gateway_world.OTHER_NAME_SERVER
        self.assertEqual(self.world("queries").get(other, 0), 0)
        gateway_world.set_servers(WORLD["resolv"], other)
        time.sleep(1.1)
        self.address("both.example")
        self.assertGreater(self.world("queries").get(other, 0), 0)

    def test_a_file_that_says_nothing_changes_nothing(self):
        self.address("public.example")
        gateway_world.set_servers(WORLD["resolv"])
        time.sleep(1.1)
        self.address("both.example")
        os.chmod(WORLD["resolv"], 0)
        try:
            time.sleep(1.1)
            self.address("second.example")
        finally:
            os.chmod(WORLD["resolv"], 0o644)

    def test_an_answer_too_long_for_a_datagram(self):
        """c-ares asks again by TCP, under msp-dial's own filter and Landlock."""
        self.connect("long.example")
        self.expect_echo()
        self.assertGreater(self.world("queries")["long.example truncated"], 0)

    def test_answers_are_kept_for_their_time(self):
        before = self.world("queries").get("public.example", 0)
        for _ in range(5):
            self.address("public.example")
        self.assertLessEqual(self.world("queries")["public.example"] - before, 2)

    def test_no_server_answers(self):
        gateway_world.set_servers(WORLD["resolv"], gateway_world.SILENT)
        self.gateway.close()
        self.gateway = Gateway(WORLD["plan"])
        self.addCleanup(self.gateway.close)
        second = self.make_sandbox()
        self.make(5, "web", second)
        self.assertEqual(second("ask_name", "public.example"), [FAILURE, None])
        # The questions that wait for the old servers are asked again.
        gateway_world.set_servers(WORLD["resolv"], gateway_world.NAME_SERVER)
        time.sleep(1.1)
        self.assertEqual(second("ask_name", "public.example")[0], 0)


class Ends(Served):
    def expect_closed(self):
        """The sandbox has no network, and no program is left."""
        with contextlib.suppress(OSError):
            self.sandbox("send", "c", "x")
            self.assertEqual(self.sandbox("receive", "c", 1), "")
        support.wait_until(lambda: not self.pids_alive())
        self.expect_unreachable()

    def expect_unreachable(self):
        """Nothing listens at once; the kernel takes the cable down when it comes to it."""
        def error():
            with self.assertRaises(OSError) as told:
                self.sandbox("connect", "d", PUBLIC, 8080)
            self.assertIn(told.exception.errno, (errno.ECONNREFUSED, errno.ENETUNREACH,
                                                   errno.EHOSTUNREACH, errno.ETIMEDOUT))
            return told.exception.errno
        support.wait_until(lambda: error() == errno.ENETUNREACH)

    def pids_alive(self):
        return [pid for pid in self.pids.values() if support.is_alive(pid)]

    def begin(self):
        self.connect("public.example")
        self.expect_echo()
        self.pids = self.gateway.await_programs()

    def test_each_program_takes_all_connections_with_it(self):
        for name in ("msp-egress", "msp-dial", "msp-http"):
            with self.subTest(name=name):
                self.begin()
                os.kill(self.pids[name], signal.SIGKILL)
                self.gateway.await_told("end")
                self.gateway.process.wait(20)
                self.expect_closed()
                self.doCleanups()
                self.setUp()
        self.begin()
        os.kill(self.pids["msp-dial-names"], signal.SIGKILL)
        self.assertEqual(self.sandbox("ask_name", "public.example")[0], 0)
        time.sleep(1.1)
        with self.assertRaises(OSError):
            self.sandbox("ask_name", "public.example")
        self.expect_closed()
        self.doCleanups()
        self.setUp()
        self.begin()
        self.gateway.process.kill()
        self.gateway.process.wait(20)
        self.expect_closed()

    def test_the_end_of_the_supervisor(self):
        self.begin()
        self.gateway.channel.shutdown(socket.SHUT_RDWR)
        self.assertEqual(self.gateway.process.wait(20), 0)
        self.expect_closed()

    def test_the_end_of_a_sandbox(self):
        second = self.make_sandbox()
        self.make(6, "web", second)
        self.connect("public.example")
        self.expect_echo()
        self.gateway.send("cable_end", slot=5)
        self.gateway.await_told("connection_end", reason="sandbox ended")
        self.expect_reset()
        self.expect_unreachable()
        self.assertEqual(second("ask_name", "public.example")[0], 0)
        third = self.make_sandbox()
        self.make(5, "other", third)
        self.assertEqual(third("ask_name", "public.example"), [NO_NAME, None])

    def test_a_sandbox_ends_while_its_host_is_dialled(self):
        self.connect("silent.example")
        begin = self.gateway.await_told("connection_begin")
        time.sleep(0.3)
        self.gateway.send("cable_end", slot=5)
        end = self.gateway.await_told("connection_end", connection=begin["connection"])
        self.assertEqual(end["reason"], "sandbox ended")

    def test_plans_come_and_go(self):
        """There are more policies than are kept: those without sandboxes make room."""
        for number in range(12):
            self.gateway.change_plan()
            second = self.make_sandbox()
            self.make(6, "web" if number % 2 else "other", second)
            self.assertEqual(second("ask_name", "other.example")[0], NO_NAME if number % 2 else 0)
            self.gateway.send("cable_end", slot=6)
        self.connect("public.example")
        self.expect_echo()

    def test_a_supervisor_that_breaks_the_protocol(self):
        for name, values in (("cable_end", {"slot": 5000}), ("gateway_forget", {"slot": 3}),
                             ("gateway_start", {"schema": ipc.SCHEMA})):
            with self.subTest(name=name):
                gateway = Gateway(WORLD["plan"])
                gateway.send(name, **values)
                gateway.await_told("end")
                self.assertNotEqual(gateway.process.wait(20), 0)
                gateway.close()

    def test_another_version(self):
        gateway = Gateway(WORLD["plan"], schema=bytes(32))
        gateway.await_told("end")
        self.assertEqual(gateway.process.wait(20), 70)
        gateway.close()
        self.assertIn("not a supervisor of this version", gateway.stderr)


class Confined(Served):
    def test_their_status(self):
        self.connect("public.example")
        pids = self.gateway.await_programs()
        for name, pid in pids.items():
            with self.subTest(name=name), open(f"/proc/{pid}/status", encoding="ascii") as file:
                status = dict(line.split(":\t", 1) for line in file.read().splitlines())
                wanted = f"{CABLE_CAPABILITIES if name == 'msp-cable' else 0:016x}"
                for which in ("CapPrm", "CapEff"):
                    self.assertEqual(status[which], wanted)
                self.assertEqual(status["CapAmb"], "0" * 16)
                filters = "0" if os.environ.get("MSP_UNFILTERED") else "2"
                self.assertEqual((status["NoNewPrivs"], status["Seccomp"]), ("1", filters))
                if name == "msp-cable":
                    self.assertEqual(status["CapBnd"], "0" * 16)

    def test_no_descriptor_left(self):
        """A connection waits, msp-egress does not spin, and the connection goes on later."""
        address = self.address("public.example")
        egress = self.gateway.await_programs()["msp-egress"]
        before = resource.prlimit(egress, resource.RLIMIT_NOFILE)
        resource.prlimit(egress, resource.RLIMIT_NOFILE, (3, before[1]))
        self.sandbox("connect", "c", address, 8080)
        used = self.ticks(egress)
        time.sleep(2)
        self.assertLess(self.ticks(egress) - used, 20)  # of 200
        self.assertEqual(self.gateway.all_told("connection_begin"), [])
        resource.prlimit(egress, resource.RLIMIT_NOFILE, before)
        self.expect_echo()

    def test_a_socket_that_finds_no_descriptor(self):
        """What msp-egress cannot take it cannot count either: it ends, and all connections with it."""
        egress = self.gateway.await_programs()["msp-egress"]
        self.connect("public.example", key="d")
        self.expect_echo(key="d")
        limit = resource.prlimit(egress, resource.RLIMIT_NOFILE)
        self.gateway.record_late = threading.Event()
        self.connect("second.example", key="e")
        self.gateway.await_told("connection_begin", host="second.example")
        resource.prlimit(egress, resource.RLIMIT_NOFILE, (3, limit[1]))
        self.gateway.record_late.set()
        self.gateway.await_told("end")
        self.assertNotEqual(self.gateway.process.wait(20), 0)
        with contextlib.suppress(OSError):
            self.sandbox("send", "d", "x")
            self.assertEqual(self.sandbox("receive", "d", 1), "")

    @staticmethod
    def ticks(pid):
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return sum(map(int, file.read().rpartition(")")[2].split()[11:13]))

    def test_a_small_limit_of_descriptors(self):
        """New connections wait in the kernel until others end, and nothing is lost."""
        self.gateway.close()
        self.gateway = Gateway(WORLD["plan"], nofile=96)
        self.addCleanup(self.gateway.close)
        sandbox = self.make_sandbox()
        self.make(1, "web", sandbox)
        _, address = sandbox("ask_name", "public.example")
        for key in range(60):
            sandbox("connect", f"k{key}", address, 8080)
        time.sleep(1)
        self.assertLess(len(self.gateway.all_told("connection_begin")), 45)
        for key in range(60):
            sandbox("send", f"k{key}", "abc")
            self.assertEqual(sandbox("receive", f"k{key}", 3), "abc")
            sandbox("close", f"k{key}")
        self.assertEqual(len(self.gateway.all_told("connection_begin")), 60)


if __name__ == "__main__":
    unittest.main()
