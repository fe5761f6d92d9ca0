#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The three programs of the gateway as processes, without a supervisor: what a sandbox reaches, what
it does not, what is recorded, and what the end of each program means."""
import contextlib
import errno
import os
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
import unittest

import gateway_world
import ipc
import support
from gateway_world import A, METADATA, PRIVATE, PUBLIC

NO_NAME, FAILURE = 3, 2
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
      - 10.0.0.0/24:5432
  - name: other
    extends: default
    network: hosts
    hosts: ["other.example:8080"]
"""
WORLD = {}


def setUpModule():
    if os.geteuid() == 0:
        raise unittest.SkipTest("needs an ordinary user")
    folder = tempfile.mkdtemp(prefix="gateway.")
    unittest.addModuleCleanup(support.remove_folder, folder)
    path = os.path.join(folder, "msp.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(POLICY)
    WORLD["plan"] = subprocess.run(
        [os.path.join(support.BIN, "msp-policy"), "compile", "--config", path, "--fd", "1"],
        check=True, capture_output=True, timeout=60).stdout
    WORLD["resolv"] = os.path.join(folder, "resolv.conf")
    WORLD["world"] = gateway_world.make_world(folder)


def hello(name, record=None):
    """A ClientHello with a name; in records of `record` bytes."""
    entry = b"\x00" + struct.pack(">H", len(name)) + name.encode()
    extension = struct.pack(">HHH", 0, len(entry) + 2, len(entry)) + entry
    body = b"\x03\x03" + bytes(32) + b"\x00" + b"\x00\x02\x13\x01" + b"\x01\x00" + struct.pack(
        ">H", len(extension)) + extension
    message = b"\x01" + struct.pack(">I", len(body))[1:] + body
    size = record or len(message)
    parts = [message[at:at + size] for at in range(0, len(message), size)]
    return b"".join(b"\x16\x03\x01" + struct.pack(">H", len(part)) + part
                    for part in parts).decode("latin-1")


class Gateway:
    """msp-cable with the programs that it starts, and this test in the place of the supervisor."""

    def __init__(self, nofile=None, schema=ipc.SCHEMA):
        self.told = []
        self.record_error = 0
        self.changed = threading.Condition()
        self.use = 0
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        images = [os.open(os.path.join(support.BIN, name), os.O_RDONLY)
                  for name in ("msp-egress", "msp-dial")]

        def prepare():
            for number, fd in enumerate([os.dup(theirs.fileno()), *map(os.dup, images)]):
                os.dup2(fd, 3 + number)
            if nofile:
                import resource
                resource.setrlimit(resource.RLIMIT_NOFILE, (nofile, nofile))
        self.process = subprocess.Popen(
            [os.path.join(support.BIN, "msp-cable")], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={}, close_fds=False,
            preexec_fn=prepare)
        theirs.close()
        for fd in images:
            os.close(fd)
        self.channel = ours
        self.send("gateway_start", schema=schema)
        plan = ipc.sealed(WORLD["plan"])
        self.send("gateway_policy", fds=[plan], slot=0)
        os.close(plan)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def send(self, name, fds=(), **values):
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            socket.send_fds(self.channel, [ipc.message(name, **values)], fds)

    def _read(self):
        while True:
            try:
                data, _, _, _ = socket.recv_fds(self.channel, 1 << 16, 4)
            except ConnectionResetError:
                continue  # it ended with messages unread; what it said comes next
            if not data:
                break
            name, values = parse(data)
            if name == "connection_begin":
                self.send("connection_begun", number=values["number"], error=self.record_error)
            with self.changed:
                self.told.append((name, values))
                self.changed.notify_all()
        with self.changed:
            self.told.append(("end", {}))
            self.changed.notify_all()

    def await_told(self, name, timeout=20, **wanted):
        """The first message of the name with these values."""
        def found():
            return [values for told, values in self.told if told == name and
                    all(values[key] == value for key, value in wanted.items())]
        with self.changed:
            if not self.changed.wait_for(found, timeout):
                raise AssertionError(f"no {name} {wanted} in {self.told}")
            return found()[0]

    def all_told(self, name):
        with self.changed:
            return [values for told, values in self.told if told == name]

    def make(self, slot, profile, sandbox, routing=None, generation=0):
        """The answer to cable_make, and whether the init was told."""
        self.use += 1
        reading, writing = os.pipe()
        self.send("cable_make", fds=[writing, routing or sandbox.fds[0]], slot=slot, use=self.use,
                  generation=generation, profile=index_of(profile))
        os.close(writing)
        made = self.await_told("cable_made", use=self.use)
        byte = os.read(reading, 1)
        os.close(reading)
        return made, byte

    def pids(self):
        return {support._name(pid): pid for pid in support.descendants(self.process.pid)}

    def close(self):
        if self.process.stderr.closed:
            return
        with contextlib.suppress(OSError):
            self.channel.shutdown(socket.SHUT_RDWR)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            self.channel.close()
            self.stderr = self.process.stderr.read().decode()
            self.process.stderr.close()


def index_of(profile):
    """The index of a profile in the plan, by the offsets of the names with which profiles begin."""
    plan = WORLD["plan"]
    count, first = struct.unpack_from("=II", plan, 12)

    def name_at(offset):
        at, = struct.unpack_from("=I", plan, offset)
        return plan[at:plan.find(b"\0", at)].decode("latin-1")
    for stride in range(64, (len(plan) - first) // count + 1, 8):
        names = [name_at(first + i * stride) for i in range(count)]
        if {"default", "web", "other"} <= set(names):
            return names.index(profile)
    raise AssertionError("no profile has its name in the plan")


def parse(data):
    name = ipc.NAMES[struct.unpack("I", data[:4])[0]]
    at, values = 4, {}
    for kind, _, field in ipc.FIELDS[name]:
        if kind in ("U32", "U64"):
            values[field], = struct.unpack_from("=I" if kind == "U32" else "=Q", data, at)
            at += 4 if kind == "U32" else 8
        else:
            size, = struct.unpack_from("=I", data, at)
            values[field] = data[at + 4:at + 4 + size].decode()
            at += 4 + size
    return name, values


class Served(unittest.TestCase):
    """A gateway with one sandbox of the profile web."""

    def setUp(self):
        self.world = WORLD["world"]
        self.factory = gateway_world.Factory()
        self.addCleanup(self.factory.close)
        self.sandbox = self.make_sandbox()
        self.gateway = Gateway()
        self.addCleanup(self.gateway.close)
        made, byte = self.gateway.make(5, "web", self.sandbox)
        self.assertEqual((made["step"], made["error"], byte), (0, 0, b"\0"))

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

    def reached(self, where):
        return self.world("reached").get(where, 0)


class Allowed(Served):
    def test_a_name_with_tcp_and_its_record(self):
        self.connect("public.example")
        begin = self.gateway.await_told("connection_begin", host="public.example")
        self.assertEqual((begin["slot"], begin["use"], begin["port"]), (5, self.gateway.use, 8080))
        self.expect_echo("x" * 1000)
        self.sandbox("close", "c")
        end = self.gateway.await_told("connection_end", number=begin["number"])
        self.assertEqual((end["slot"], end["use"], end["reason"], end["address"]),
                         (5, self.gateway.use, 0, PUBLIC))
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
        self.assertEqual(self.sandbox("exchange_many", address, 8080, 200), 200)
        for _ in range(200):
            self.gateway.await_told("connection_end")
        support.wait_until(lambda: len(self.gateway.all_told("connection_end")) == 200)

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
        self.gateway.make(6, "other", second)
        self.assertEqual(second("ask_name", "public.example"), [NO_NAME, None])
        code, address = second("ask_name", "other.example")
        self.assertEqual(code, 0)
        second("connect", "c", address, 8080)
        second("send", "c", "abc")
        self.assertEqual(second("receive", "c", 3), "abc")
        self.assertEqual(self.sandbox("ask_name", "other.example"), [NO_NAME, None])


class Refused(Served):
    def expect_no_dial(self, host, port=8080):
        """The workload is reset, and nobody is reached."""
        before = self.world("reached")
        self.expect_no_connection(host, port)
        self.assertEqual(self.world("reached"), before, host)

    def expect_forbidden(self, host):
        self.expect_no_dial(host)
        begin = self.gateway.await_told("connection_begin", host=host)
        end = self.gateway.await_told("connection_end", number=begin["number"])
        self.assertEqual(end["reason"], 3)  # FORBIDDEN
        self.gateway.await_told("connection_refused", host=host, port=8080, reason=2)

    def test_addresses_that_a_name_must_not_lead_to(self):
        for name in ("sneaky", "metadata", "loopback", "mapped", "nat64", "own"):
            with self.subTest(name=name):
                self.expect_forbidden(f"{name}.example")

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
        self.gateway.await_told("connection_refused", host="evil.example", port=0, reason=0)
        self.assertEqual(self.world("queries").get("evil.example", 0), 0)
        for host in ("wild.example", "a.b.wild.example"):
            self.assertEqual(self.sandbox("ask_name", host), [NO_NAME, None])
        self.expect_no_dial("db.example", 8080)
        self.gateway.await_told("connection_refused", host="db.example", port=8080, reason=1)
        for address in (PUBLIC, METADATA, PRIVATE):
            self.expect_no_dial(address, 8080)
            self.gateway.await_told("connection_refused", host=address, port=8080)
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
        self.gateway.await_told("connection_refused", host="public.example", port=443, reason=3)

    def test_first_bytes_that_are_not_the_hosts_hello(self):
        for what, text, reason in (
                ("another name", hello("evil.example"), 6),
                ("another allowed name", hello("db.example"), 6),
                ("HTTP", "GET / HTTP/1.1\r\n\r\n", 4),
                ("SSH", "SSH-2.0-x\r\n", 4),
                ("an alert", "\x15\x03\x01\x00\x02\x02\x28", 4)):
            with self.subTest(what=what):
                self.expect_tls_refused(text, reason)

    def test_a_hello_that_does_not_come(self):
        self.connect("public.example", 443)
        self.sandbox("send", "c", hello("public.example")[:40])
        begun = time.monotonic()
        with self.assertRaises(ConnectionResetError):
            self.sandbox("receive", "c", 1)
        self.assertTrue(8 < time.monotonic() - begun < 14)
        self.gateway.await_told("connection_end", reason=8)

    def test_hosts_that_take_no_connection(self):
        for host in ("closed.example", "silent.example"):
            with self.subTest(host=host):
                self.expect_no_connection(host)
                begin = self.gateway.await_told("connection_begin", host=host)
                end = self.gateway.await_told("connection_end", number=begin["number"])
                self.assertEqual(end["reason"], 2)

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
            made, byte = self.gateway.make(7, "web", None, other.fileno())
            self.assertEqual((made["step"], made["error"], byte), (2, 88, b""))
            made, byte = self.gateway.make(7, "web", None, own.fileno())
            self.assertNotEqual((made["error"], made["step"]), (0, 0))
            self.assertEqual(byte, b"")
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

    def test_answers_are_kept_for_their_time(self):
        before = self.world("queries").get("public.example", 0)
        for _ in range(5):
            self.address("public.example")
        self.assertLessEqual(self.world("queries")["public.example"] - before, 2)

    def test_no_server_answers(self):
        gateway_world.set_servers(WORLD["resolv"], gateway_world.SILENT)
        self.gateway.close()
        self.gateway = Gateway()
        self.addCleanup(self.gateway.close)
        second = self.make_sandbox()
        self.gateway.make(5, "web", second)
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
            self.assertIn(told.exception.errno, (errno.ECONNREFUSED, errno.ENETUNREACH))
            return told.exception.errno
        support.wait_until(lambda: error() == errno.ENETUNREACH)

    def pids_alive(self):
        return [pid for pid in self.pids.values() if support.is_alive(pid)]

    def begin(self):
        self.connect("public.example")
        self.expect_echo()
        self.pids = dict(self.gateway.pids(), **{"msp-cable": self.gateway.process.pid})
        self.assertLessEqual({"msp-cable", "msp-egress", "msp-dial", "msp-dial-names"}, set(self.pids))

    def test_each_program_takes_all_connections_with_it(self):
        for name in ("msp-egress", "msp-dial"):
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
        self.gateway.make(6, "web", second)
        self.connect("public.example")
        self.expect_echo()
        self.gateway.send("cable_end", slot=5)
        self.gateway.await_told("connection_end", reason=1)
        self.expect_reset()
        self.expect_unreachable()
        self.assertEqual(second("ask_name", "public.example")[0], 0)
        third = self.make_sandbox()
        made, _ = self.gateway.make(5, "other", third)
        self.assertEqual(made["error"], 0)
        self.assertEqual(third("ask_name", "public.example"), [NO_NAME, None])

    def test_a_sandbox_ends_while_its_host_is_dialled(self):
        self.connect("silent.example")
        begin = self.gateway.await_told("connection_begin")
        time.sleep(0.3)
        self.gateway.send("cable_end", slot=5)
        end = self.gateway.await_told("connection_end", number=begin["number"])
        self.assertEqual(end["reason"], 1)

    def test_a_new_policy(self):
        plan = ipc.sealed(WORLD["plan"])
        self.gateway.send("gateway_policy", fds=[plan], slot=1)
        os.close(plan)
        self.gateway.send("cable_end", slot=5)
        self.gateway.send("gateway_forget", slot=0)
        second = self.make_sandbox()
        made, _ = self.gateway.make(5, "web", second)
        self.assertEqual((made["step"], made["error"]), (1, 22))
        made, _ = self.gateway.make(5, "web", second, generation=1)
        self.assertEqual(made["error"], 0)
        self.assertEqual(second("ask_name", "public.example")[0], 0)

    def test_a_supervisor_that_breaks_the_protocol(self):
        for name, values in (("cable_end", {"slot": 5000}), ("gateway_forget", {"slot": 3}),
                             ("connection_begun", {"number": 99}),
                             ("gateway_start", {"schema": ipc.SCHEMA})):
            with self.subTest(name=name):
                gateway = Gateway()
                gateway.send(name, **values)
                gateway.await_told("end")
                self.assertNotEqual(gateway.process.wait(20), 0)
                gateway.close()

    def test_another_version(self):
        gateway = Gateway(schema=bytes(32))
        gateway.await_told("end")
        self.assertEqual(gateway.process.wait(20), 70)
        gateway.close()
        self.assertIn("not a supervisor of this version", gateway.stderr)


class Confined(Served):
    def test_their_status(self):
        self.connect("public.example")
        pids = dict(self.gateway.pids(), **{"msp-cable": self.gateway.process.pid})
        capabilities = {"msp-cable": 1 << 12 | 1 << 21 | 1 << 10}
        for name, pid in pids.items():
            with self.subTest(name=name), open(f"/proc/{pid}/status", encoding="ascii") as file:
                status = dict(line.split(":\t", 1) for line in file.read().splitlines())
                wanted = f"{capabilities.get(name, 0):016x}"
                for which in ("CapPrm", "CapEff"):
                    self.assertEqual(status[which], wanted)
                self.assertEqual(status["CapAmb"], "0" * 16)
                self.assertEqual((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"))
                if name == "msp-cable":
                    self.assertEqual(status["CapBnd"], "0" * 16)

    def test_a_small_limit_of_descriptors(self):
        """New connections wait in the kernel until others end, and nothing is lost."""
        self.gateway.close()
        self.gateway = Gateway(nofile=96)
        self.addCleanup(self.gateway.close)
        sandbox = self.make_sandbox()
        self.assertEqual(self.gateway.make(1, "web", sandbox)[0]["error"], 0)
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
