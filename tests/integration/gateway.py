#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The three programs of the gateway as processes, without a supervisor: what a sandbox reaches, what
it does not, what is recorded, and what the end of each program means."""
import contextlib
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

RESET, NO_NAME, FAILURE = ConnectionResetError, 3, 2
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

    def __init__(self, profiles=("web", "other"), nofile=None):
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
        self.profiles = profiles
        self.send("gateway_start", schema=ipc.SCHEMA)
        plan = ipc.sealed(WORLD["plan"])
        self.send("gateway_policy", fds=[plan], slot=0)
        os.close(plan)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def send(self, name, fds=(), **values):
        socket.send_fds(self.channel, [ipc.message(name, **values)], fds)

    def _read(self):
        while True:
            data, _, _, _ = socket.recv_fds(self.channel, 1 << 16, 4)
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

    def make(self, slot, profile, sandbox, routing=None):
        """The answer to cable_make, and whether the init was told."""
        self.use += 1
        reading, writing = os.pipe()
        self.send("cable_make", fds=[writing, routing or sandbox.fds[0]], slot=slot, use=self.use,
                  generation=0, profile=index_of(profile))
        os.close(writing)
        made = self.await_told("cable_made", use=self.use)
        byte = os.read(reading, 1)
        os.close(reading)
        return made, byte

    def pids(self):
        return {support._name(pid): pid for pid in support.descendants(self.process.pid)}

    def close(self):
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
        self.sandbox = gateway_world.make_sandbox()
        self.addCleanup(self.sandbox.close)
        self.gateway = Gateway()
        self.addCleanup(self.gateway.close)
        made, byte = self.gateway.make(5, "web", self.sandbox)
        self.assertEqual((made["step"], made["error"], byte), (0, 0, b"\0"))

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
        self.assertEqual((end["sent"], end["received"], end["reason"], end["address"]),
                         (1000, 1000, 0, PUBLIC))


if __name__ == "__main__":
    unittest.main()
