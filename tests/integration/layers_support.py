# SPDX-License-Identifier: Apache-2.0
"""msp-layers, started as the factory starts it, and this test as its supervisor. Nothing here is a
test."""
import array
import collections
import os
import re
import socket
import stat
import struct
import subprocess
import time
import types

import ipc
import support

RECORD = struct.Struct("=IIIIQQIIIIII")
LIMIT_S = 60


def read_enum(text, name):
    """The names of an enum of ours, in order, with the values that stand there."""
    values, following = {}, 0
    body = re.search(rf"enum {name} \{{(.*?)\n\}};", text, re.S).group(1)
    for entry, value in re.findall(r"^\s*([A-Z_]+)(?: = (\d+))?,", body, re.M):
        following = int(value) if value else following
        values[entry] = following
        following += 1
    return values


IPC_LAYERS = ipc.read_common("ipc/ipc_layers.h")
OPERATIONS = read_enum(IPC_LAYERS, "layers_operation")
ROLES = read_enum(IPC_LAYERS, "layers_role")
STEPS = read_enum(ipc.read_common("ipc/ipc_changes.h"), "changes_step")
KINDS = ["none"] + re.findall(r'^CHANGE\(\w+, "(\w+)"', ipc.read_common("records/changes.def"), re.M)
STAGES = range(1, len(read_enum(ipc.read_common("records/changes.h"), "change_stage")))
FLAGS = read_enum(ipc.read_common("records/changes.h"), "change_flag")
TEXT, HELD_TOO, FROM_CHECKPOINT = 1, 2, 4

Change = collections.namedtuple(
    "Change", "kind flags old_mode new_mode old_size new_size path old_path link patch")


def parse_changes(data):
    found, at = [], 0
    while at < len(data):
        kind, flags, old_mode, new_mode, old_size, new_size, *sizes, _, _ = RECORD.unpack_from(data, at)
        at += RECORD.size
        texts = []
        for size in sizes:
            texts.append(data[at:at + size])
            at += size
        if len(data) < at:
            raise AssertionError("the last record is not whole")
        if KINDS[kind] == "none":  # of progress, which depends on the time
            if flags not in STAGES or any(texts) or new_size and old_size > new_size:
                raise AssertionError(f"a wrong record of progress: {flags} {old_size} {new_size}")
            continue
        names = {name[len("CHANGE_IS_"):].lower() for name, bit in FLAGS.items()
                 if name.startswith("CHANGE_IS_") and flags & bit}
        found.append(Change(KINDS[kind], names, old_mode, new_mode, old_size, new_size, *texts))
    return found


def parse_done(body):
    rows = ipc.FIELDS["layers_done"]
    layout = "=" + "".join({"U32": "I", "U64": "Q", "RAW": "32s"}[kind] for kind, _ in rows)
    return types.SimpleNamespace(**dict(zip([field for _, field in rows],
                                            struct.unpack(layout, body))))


class Job:
    """One process of msp-layers."""

    def __init__(self, command=(), preexec=None):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        self.channel = ours
        self.process = subprocess.Popen(
            [*command, "/bin/bash", "-c", f'exec "$0" {ipc.CHANNEL_FD}<&{theirs.fileno()}',
             os.path.join(support.BIN, "msp-layers")],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={},
            pass_fds=[theirs.fileno()], preexec_fn=preexec)
        theirs.close()

    def send(self, data, fds=()):
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.channel.sendmsg([data], rights)

    def hand(self, role, path):
        how = os.O_PATH if role == "HOST" else os.O_RDONLY
        fd = path if isinstance(path, int) else os.open(path, how | os.O_DIRECTORY)
        self.send(ipc.message("layers_host") if role == "HOST" else
                  ipc.message("layers_directory", role=ROLES[f"LAYERS_{role}"]), [fd])
        if not isinstance(path, int):
            os.close(fd)

    def ask(self, operation, chosen=b"", named=b"", **values):
        values.setdefault("schema", ipc.SCHEMA)
        fds = [ipc.sealed(chosen), ipc.sealed(named)]
        self.send(ipc.message("layers_do", operation=OPERATIONS[f"LAYERS_{operation}"], **values),
                  fds)
        for fd in fds:
            os.close(fd)

    def end(self):
        """(exit code, layers_done or None, what it told of, stderr)"""
        output, errors = self.process.communicate(timeout=LIMIT_S)
        try:
            data = self.channel.recv(4096)
        except ConnectionResetError:  # it ended with messages unread
            data = b""
        self.channel.close()
        done = parse_done(data[4:]) if data else None
        return self.process.returncode, done, output, errors.decode(errors="replace")


def run(operation, host=None, layers=(), since=(), journal=None, target=None, preexec=None,
        **values):
    """Do a job that shall succeed: (layers_done, its changes)."""
    job = Job(preexec=preexec)
    for role, paths in (("HOST", [host]), ("LAYER", layers), ("SINCE", since),
                        ("JOURNAL", [journal]), ("TARGET", [target])):
        for path in paths:
            if path is not None:
                job.hand(role, path)
    job.ask(operation, **values)
    code, done, output, errors = job.end()
    if code != 0 or not done or done.error:
        raise AssertionError(f"{operation}: exit code {code}, {done}, {errors}")
    return done, parse_changes(output)


def now_us():
    return time.time_ns() // 1000


def listing(root):
    """What is beneath a directory: path -> (type, mode, content or target), all bytes."""
    found = {}
    waiting = [b""]
    while waiting:
        inside = waiting.pop()
        for name in os.listdir(os.path.join(os.fsencode(root), inside)):
            path = os.path.join(inside, name)
            whole = os.path.join(os.fsencode(root), path)
            status = os.lstat(whole)
            mode = stat.S_IMODE(status.st_mode)
            if stat.S_ISLNK(status.st_mode):
                found[path] = ("link", 0o777, os.readlink(whole))
            elif stat.S_ISDIR(status.st_mode):
                found[path] = ("directory", mode, None)
                waiting.append(path)
            elif stat.S_ISREG(status.st_mode):
                with open(whole, "rb") as file:
                    found[path] = ("file", mode, file.read())
            else:
                found[path] = ("other", mode, stat.S_IFMT(status.st_mode))
    return found
