# SPDX-License-Identifier: Apache-2.0
"""A service that says what a test wants about persistent sandboxes, in place of a supervisor: the
commands can be tried with answers that no supervisor gives at will. Nothing here is a test."""
import array
import os
import socket
import stat
import struct
import tempfile
import threading

import ipc
from cli_support import msp

REFUSALS = ["NONE"] + ipc.re.findall(r"^REFUSAL\((\w+),", ipc.read_common("ipc/refusal.def"), ipc.re.M)
KINDS = ["NONE"] + ipc.re.findall(r"^CHANGE\((\w+),", ipc.read_common("records/changes.def"), ipc.re.M)
FLAGS = {name: int(value) for name, value in ipc.re.findall(
    r"^\tCHANGE_IS_(\w+) = (\d+)", ipc.read_common("records/changes.h"), ipc.re.M)}
IDS = ("2rgbftc2erh915t6ckfprby7fr", "2rgbvqk90000000000000000aa", "9zzzzzzzzzzzzzzzzzzzzzzzzz")


def decode(data):
    """(name, fields) of a message."""
    name = ipc.NAMES[struct.unpack_from("I", data)[0]]
    at, fields = 4, {}
    for kind, field in ipc.FIELDS[name]:
        if kind in ("U32", "U64"):
            size = 4 if kind == "U32" else 8
            fields[field] = int.from_bytes(data[at:at + size], "little")
        else:
            size = ipc.HASH_BYTES
            if kind != "RAW":
                size = struct.unpack_from("I", data, at)[0]
                at += 4
            fields[field] = data[at:at + size]
            if kind in ("STR", "OPT"):
                fields[field] = fields[field].decode()
        at += size
    return name, fields


def record(kind, path, flags=(), old_path=b"", link=b"", patch=b"", modes=(0o100644, 0o100644),
           sizes=(1, 1)):
    """A change record with its texts."""
    bits = sum(FLAGS[flag] for flag in flags)
    path = path.encode() if isinstance(path, str) else path
    patch = patch.encode() if isinstance(patch, str) else patch
    return struct.pack("=IIIIQQIIIIII", KINDS.index(kind), bits, *modes, *sizes, len(path),
                       len(old_path), len(link), len(patch), 0, 0) + path + old_path + link + patch


class Scripted:
    """Listens as the service. `answers[name]` takes the fields of a request and gives what is sent:
    a list of (name, fields), and for changes records first, as bytes. Requests are in `asked`."""

    def __init__(self, **answers):
        # Before a question about changes, msp looks for the project.
        self.answers = {"sandbox_list": lambda fields: [("request_done", {})], **answers}
        self.asked = []
        self.chosen = []
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "supervisor.sock")
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(self.path)
        self.listener.listen(8)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join(20)
        self.listener.close()
        self.folder.cleanup()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                try:
                    while self.take(connection):
                        pass
                except OSError:
                    pass

    def take(self, connection):
        data, rights, _, _ = connection.recvmsg(1 << 18, 256)
        if not data:
            return False
        for _, _, part in rights:
            for fd in array.array("i", part[:len(part) // 4 * 4]):
                if stat.S_ISREG(os.fstat(fd).st_mode):
                    self.chosen.append(os.pread(fd, os.fstat(fd).st_size, 0))
                os.close(fd)
        name, fields = decode(data)
        if name == "changes_start": # the bits of the umask are apart
            fields["umask"] = fields["flags"] >> 7
            fields["flags"] &= 127
        self.asked.append((name, fields))
        self.answer(connection, name, fields)
        return True

    def answer(self, connection, name, fields):
        if name == "status_ask":
            connection.send(ipc.message("status", pid=1))
        elif name == "hello":
            plan = ipc.sealed(b"plan")
            socket.send_fds(connection, [ipc.message("welcome", schema=ipc.SCHEMA,
                                                     default_profile="default")], [plan])
            os.close(plan)
        elif name != "goodbye":
            for told in self.answers[name](fields):
                self.tell(connection, fields["request"], told)

    @staticmethod
    def tell(connection, request, told):
        if isinstance(told, bytes):
            reading, writing = os.pipe()
            socket.send_fds(connection, [ipc.message("changes_started", request=request)],
                            [reading])
            os.close(reading)
            threading.Thread(target=write_all, args=(writing, told), daemon=True).start()
            return
        name, values = told
        fds = values.pop("fds", ())
        socket.send_fds(connection, [ipc.message(name, **{"request": request, **values})],
                        list(fds))
        for fd in fds:
            os.close(fd)

    def msp(self, command, *arguments, **keywords):
        return msp(command, "--socket", self.path, *arguments, **keywords)

    def requests(self, name):
        return [fields for asked, fields in self.asked if asked == name]


def write_all(fd, data):
    try:
        while data:
            data = data[os.write(fd, data):]
    except BrokenPipeError:
        pass
    os.close(fd)


def refuse(reason, detail=""):
    return [("execution_refused", {"reason": REFUSALS.index(reason), "detail": detail})]


def sandbox(number=0, **values):
    return ("sandbox_info", {"id": IDS[number], "profile": "default", **values})


def changes(*records, **done):
    """Answers changes_start with these records."""
    return lambda fields: [b"".join(records),
                           ("changes_done", {"total": len(records), **done})]
