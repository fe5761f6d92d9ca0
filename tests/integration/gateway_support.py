# SPDX-License-Identifier: Apache-2.0
"""The gateway's programs, and a test in the places of the supervisor and of msp-audit. Nothing here
is a test."""
import contextlib
import os
import pathlib
import re
import select
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import unittest

import gateway_world
import ipc
import support

AUDIT_KIND_NUMBER = 1
EVENTS = re.findall(r'^AUDIT\(\w+, "(\w+)"\)', ipc.read_common("records/audit.def"), re.M)
KEYS = [None] + re.findall(r"^AUDIT_KEY\((\w+)\)", ipc.read_common("records/audit_key.def"), re.M)


def compile_plan(policy, folder):
    """The plan of a policy's text."""
    path = os.path.join(folder, "msp.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(policy)
    return subprocess.run(
        [os.path.join(support.BIN, "msp-policy"), "compile", "--config", path, "--fd", "1"],
        check=True, capture_output=True, timeout=60).stdout


def begin_module(policy, world):
    """Put the plan of a policy and a world with servers into a test module's dictionary. Return the
    module's folder."""
    if os.geteuid() == 0:
        raise unittest.SkipTest("needs an ordinary user")
    folder = tempfile.mkdtemp(prefix="msp-network-")
    unittest.addModuleCleanup(support.remove_folder, folder)
    world["plan"] = compile_plan(policy, folder)
    world["world"] = gateway_world.make_world(folder)
    return folder


def index_of(plan, profile):
    """The index of a profile in the plan, by the offsets of the names with which profiles begin."""
    count, first = struct.unpack_from("=II", plan, 12)

    def name_at(offset):
        at, = struct.unpack_from("=I", plan, offset)
        return plan[at:plan.find(b"\0", at)].decode("latin-1")
    for stride in range(64, (len(plan) - first) // count + 1, 8):
        names = [name_at(first + i * stride) for i in range(count)]
        if {"default", profile} <= set(names) and len(set(names)) == count and \
                all(re.fullmatch(r"[\w/-]+", name) for name in names):
            return names.index(profile)
    raise AssertionError("no profile has its name in the plan")


def parse_record(data):
    """The number, the event and the fields of an audit_record."""
    rows = {field: kind for kind, field in ipc.FIELDS["audit_record"]}
    at, said = 4, {}
    for field, kind in rows.items():
        if kind == "RAW":
            break
        said[field], = struct.unpack_from("=Q" if kind == "U64" else "=I", data, at)
        at += 8 if kind == "U64" else 4
    texts = at + 16 * ipc_fields_max() + 4
    values = {}
    for number in range(said["field_count"]):
        key, kind, value = struct.unpack_from("=IIQ", data, at + 16 * number)
        if kind != AUDIT_KIND_NUMBER:
            text = data[texts:texts + value].decode()
            texts += value
            value = text
        values[KEYS[key]] = value
    return said["number"], EVENTS[said["event"]], values


def ipc_fields_max():
    return int(re.search(r"IPC_AUDIT_FIELDS_MAX (\d+)", ipc.read_common("limits.h")).group(1))


class Counters:
    """The counters of refusals, as the launcher makes them."""

    def __init__(self):
        self.fd = os.memfd_create("counters")
        os.ftruncate(self.fd, 8 * int(re.search(r"GATEWAY_SLOTS (\d+)", ipc.read_common(
            "records/counters.h")).group(1)))

    def __getitem__(self, slot):
        return struct.unpack("=Q", os.pread(self.fd, 8, 8 * slot))[0]


class Gateway:
    """msp-cable with the programs that it starts."""

    def __init__(self, plan, nofile=None, schema=ipc.SCHEMA, egress=None):
        """`egress`: the path of another msp-egress."""
        self.plan = plan
        self.blob = ipc.sealed(plan)
        self.told = []  # (event, fields) of the audit log
        self.record_error = 0
        self.record_late = None  # an event: no record is written before it
        self.changed = threading.Condition()
        self.use = 0
        self.stderr = None
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.audit, audit_theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        images = [os.open(os.path.join(support.BIN, name), os.O_RDONLY)
                  for name in (egress or "msp-egress", "msp-dial", "msp-http")]
        self.launcher, launcher_theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.counters = Counters()
        fds = [theirs.fileno(), *images, launcher_theirs.fileno(), audit_theirs.fileno(),
               self.counters.fd]

        def prepare():
            for number, fd in enumerate([os.dup(fd) for fd in fds]):
                os.dup2(fd, 3 + number)
            if nofile:
                import resource
                resource.setrlimit(resource.RLIMIT_NOFILE, (nofile, nofile))
        self.process = subprocess.Popen(
            [os.path.join(support.BIN, "msp-cable")], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={}, close_fds=False,
            preexec_fn=prepare)
        theirs.close()
        audit_theirs.close()
        launcher_theirs.close()
        for fd in images:
            os.close(fd)
        self.send("gateway_start", schema=schema)
        threading.Thread(target=self._read, daemon=True).start()

    def send(self, name, fds=(), **values):
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            socket.send_fds(self.channel, [ipc.message(name, **values)], fds)

    def _read(self):
        """Record what is to be recorded, until the end."""
        with contextlib.suppress(OSError):  # reset by its end, or closed by ours
            while data := self.audit.recv(1 << 16):
                number, event, values = parse_record(data)
                if number:
                    if self.record_late:
                        self._tell(event, values)
                        self.record_late.wait(20)
                    self.audit.send(ipc.message("audit_written", number=number,
                                                error=self.record_error))
                self._tell(event, values)
        self._tell("end", {})

    def _tell(self, event, values):
        with self.changed:
            self.told.append((event, values))
            self.changed.notify_all()

    def await_told(self, event, timeout=20, **wanted):
        """The fields of the first record of the event with these values."""
        def found():
            return [values for told, values in self.told if told == event and
                    all(values.get(key) == value for key, value in wanted.items())]
        with self.changed:
            if not self.changed.wait_for(found, timeout):
                raise AssertionError(f"no {event} {wanted} in {self.told}")
            return found()[0]

    def all_told(self, event):
        with self.changed:
            return [values for told, values in self.told if told == event]

    def change_plan(self):
        """From now on cables are of another policy, which says the same."""
        os.close(self.blob)
        self.blob = ipc.sealed(self.plan)

    def make(self, slot, profile, routing, index=None):
        """Make a cable; the byte that an init waits for, or b"": it could not be made."""
        self.use += 1
        reading, writing = os.pipe()
        self.send("cable_make", fds=[writing, routing, self.blob], slot=slot, use=self.use,
                  profile=index_of(self.plan, profile) if index is None else index)
        os.close(writing)
        if not select.select([reading], [], [], 20)[0]:
            raise TimeoutError("nothing is said of the cable")
        byte = os.read(reading, 1)
        os.close(reading)
        return byte

    def ask(self, *said, slot=4096, frontend=1, request=0, is_broker=0):
        """What msp-cable answers a frontend that has said that before: (name, fields) in turn."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours, theirs:
            for data in said:
                ours.send(data)
            self.send("cable_watch", fds=[theirs.fileno()], slot=slot, frontend=frontend,
                      is_broker=is_broker, request=request)
            theirs.close()
            answers = []
            while (answer := Program.receive(ours)) is not None:
                answers.append(answer[:2])
            return answers

    def await_programs(self):
        """The pids of the programs by name: msp-http begins last, and has its name before its filter."""
        names = {"msp-cable", "msp-egress", "msp-dial", "msp-dial-names", "msp-http"}
        if not support.wait_until(lambda: names <= set(self.pids())):
            raise AssertionError(f"not all programs run: {self.pids()}")
        pids = self.pids()
        status = pathlib.Path(f"/proc/{pids['msp-http']}/status")
        last = "NoNewPrivs:\t1" if os.environ.get("MSP_UNFILTERED") else "Seccomp:\t2"
        support.wait_until(lambda: last in status.read_text())
        return pids

    def pids(self):
        """The programs' pids by name."""
        pids = [self.process.pid, *support.descendants(self.process.pid)]
        return {support._name(pid): pid for pid in pids}

    def close(self):
        if self.stderr is not None:
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
            os.close(self.counters.fd)
            self.channel.close()
            self.audit.close()
            self.launcher.close()
            os.close(self.blob)
            self.stderr = self.process.stderr.read().decode()
            self.process.stderr.close()


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


def make_hostile_egress(path, after, *said):
    """Make an msp-egress that says these messages when one of the type `after` has come."""
    words = struct.pack("I", ipc.TYPES[after]) + b"".join(struct.pack("I", len(data)) + data
                                                           for data in said)
    shutil.copy(os.path.join(os.path.dirname(support.BIN), "controls", "hostile-egress"), path)
    with open(path, "ab") as file:
        file.write(words + struct.pack("Q", len(words)))


class Program:
    """msp-egress or msp-dial by itself, and a test in the places of msp-cable and of the other."""

    def __init__(self, name):
        self.cable, cable = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.peer, peer = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.audit, audit = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.counters = Counters()
        fds = [cable.fileno(), peer.fileno(), self.counters.fd,
               audit.fileno()][:4 if name == "msp-dial" else 3]

        def prepare():
            for number, fd in enumerate([os.dup(fd) for fd in fds]):
                os.dup2(fd, 3 + number)
        self.process = subprocess.Popen(
            [os.path.join(support.BIN, name)], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={}, close_fds=False,
            preexec_fn=prepare)
        cable.close()
        peer.close()
        audit.close()
        self.send(self.cable, "gateway_start", schema=ipc.SCHEMA)

    @staticmethod
    def send(channel, name, fds=(), **values):
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            socket.send_fds(channel, [ipc.message(name, **values)], fds)

    @staticmethod
    def receive(channel, timeout=20):
        """The name, fields and descriptors of the next message; None at the end."""
        if not select.select([channel], [], [], timeout)[0]:
            raise TimeoutError(f"nothing for {timeout} s")
        try:
            data, fds, _, _ = socket.recv_fds(channel, 1 << 16, 4)
        except ConnectionResetError:
            return Program.receive(channel, timeout)  # what it said comes next
        return (*parse_message(data), fds) if data else None

    def said(self):
        """What a program that has ended wrote on stderr."""
        self.process.wait(20)
        return self.process.stderr.read().decode()

    def close(self):
        self.cable.close()
        self.peer.close()
        self.audit.close()
        os.close(self.counters.fd)
        self.process.wait(20)
        self.process.stderr.close()


def parse_message(data):
    name = ipc.NAMES[struct.unpack("I", data[:4])[0]]
    at, values = 4, {}
    for kind, field in ipc.FIELDS[name]:
        if kind in ("U32", "U64"):
            values[field], = struct.unpack_from("=I" if kind == "U32" else "=Q", data, at)
            at += 4 if kind == "U32" else 8
        else:
            size, = struct.unpack_from("=I", data, at)
            values[field] = data[at + 4:at + 4 + size].decode()
            at += 4 + size
    return name, values
