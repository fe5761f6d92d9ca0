# SPDX-License-Identifier: Apache-2.0
"""The protocol between our processes, spoken from Python: a launcher and frontend of the supervisor
for tests that need to say what no program of ours would. Nothing here is a test.

Types and the schema hash come from the protocol's definition, so a change of it changes this."""
import array
import collections
import fcntl
import hashlib
import os
import re
import select
import socket
import struct
import subprocess
import types

import support

FRONTEND_BROKER, FRONTEND_LAUNCHER = 1, 2
LIMITS_FALLBACK = 1
PATIENCE = 60  # seconds: it ends what hangs
CHANNEL_FD, FACTORY_FD, FACTORY_PIDFD = 3, 4, 5
F_ADD_SEALS, ALL_SEALS = 1033, 15

Message = collections.namedtuple("Message", "name body fds")


def read_common(name):
    with open(os.path.join(support.ROOT, "common", name), encoding="utf-8") as file:
        return file.read()


NAMES = [None] + re.findall(r"^IPC\((\w+),", read_common("ipc/ipc_messages.def"), re.M)
TYPES = {name: number for number, name in enumerate(NAMES)}
FILES = re.search(r"set\(SCHEMA_FILES([^)]*)\)", read_common("CMakeLists.txt")).group(1).split()
SCHEMA = hashlib.sha256("".join(read_common(name) for name in FILES).encode()).digest()
VERDICTS = re.findall(r'^VERDICT\(\w+, "(\w+)"\)', read_common("text/verdict.def"), re.M)
STAGES = re.findall(r'^STAGE\((\w+),', read_common("text/stage.def"), re.M)


def read_fields():
    """Message to its (kind, member), and the type of each member that is a struct."""
    text = re.sub(r"/\*.*?\*/", "", "".join(map(read_common, FILES)), flags=re.S)
    found, structs = {}, {}
    for name, rows in re.findall(r"^IPC_MESSAGE\((\w+),(.*?)\);", text, re.S | re.M):
        found[name] = []
        for kind, member, rest in re.findall(r"\((\w+), (\w+)(?:, ([^()]+))?\)", rows):
            if kind == "HEAD":
                found[name] += [("U64", "request"), (member, "sandbox"), ("OPT", "owner")]
            else:
                found[name].append(("RAW" if kind.startswith("STRUCT") else kind, member))
                if kind == "STRUCT":
                    structs[name, member] = rest
    return found, structs


def struct_bytes(name):
    """The size of a struct that a message has, of numbers, hashes and other such structs."""
    text = "".join(map(read_common, FILES))
    body = re.sub(r"/\*.*?\*/", "", re.search(rf"struct {name} {{(.*?)}};", text, re.S).group(1),
                  flags=re.S)
    sizes = {"uint32_t": 4, "uint64_t": 8}
    return sum(struct_bytes(kind[7:]) if kind.startswith("struct ") else
               HASH_BYTES if count else sizes[kind]
               for kind, count in re.findall(r"(struct \w+|\w+)\s+\w+(\[\w+\])?;", body))


FIELDS, STRUCTS = read_fields()
HASH_BYTES = 32


def string(text):
    data = text.encode() if isinstance(text, str) else text
    return struct.pack("I", len(data)) + data


def encode_field(kind, value):
    if kind in ("U32", "U64"):
        return struct.pack("=I" if kind == "U32" else "=Q", value or 0)
    if kind == "RAW":
        return value or bytes(HASH_BYTES)
    if kind == "BYTES":  # a list: a NUL after each
        return string(value if isinstance(value, bytes) else
                      b"".join(item.encode() + b"\0" for item in value or ()))
    return string(value or "")


def raw_message(name, body=b""):
    return struct.pack("I", TYPES[name]) + body


def message(name, /, **values):
    """A message of the table; what is not named is 0 or empty."""
    unknown = set(values) - {field for _, field in FIELDS[name]}
    if unknown:
        raise ValueError(f"{name} has no {unknown}")
    for field in {field for of, field in STRUCTS if of == name} - set(values):
        values[field] = bytes(struct_bytes(STRUCTS[name, field]))
    return raw_message(name, b"".join(encode_field(kind, values.get(field))
                                      for kind, field in FIELDS[name]))


def start_steward(name, folder, programs=None):
    """The supervisor's end of the channel to a steward, msp-audit or msp-store, that has `folder`; it
    ends with that, and init or the test's own end reaps it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20) for fd in (theirs.fileno(), directory)]
    program = os.path.join(programs or support.BIN, name)
    os.posix_spawn(program, [name], {}, file_actions=[
        (os.POSIX_SPAWN_DUP2, high[0], 3), (os.POSIX_SPAWN_DUP2, high[1], 4)])
    for fd in high + [directory]:
        os.close(fd)
    theirs.close()
    return ours


def hello(schema=SCHEMA, limits=LIMITS_FALLBACK):
    return message("hello", schema=schema, limits=limits)


def execution_start(request, argv, profile="default", **values):
    return message("execution_start", request=request, argv=argv, profile=profile, **values)


def code_start(request, language, arguments=(), profile="default"):
    return message("code_start", request=request, language=language, argv=arguments,
                   profile=profile)


def execution_end(request, reason=1):
    return message("execution_end", request=request, reason=reason)


def execution_signal(request, number):
    return message("execution_signal", request=request, signal=number)


def execution_extend(request, wall_ms):
    return message("execution_extend", request=request, wall_ms=wall_ms)


def parse_done(body):
    """The numbers of an execution_done, the enums by name, and the bytes of its denials."""
    *rows, (_, last) = FIELDS["execution_done"]
    names = [field for _, field in rows]
    layout = "=" + "".join("Q" if kind == "U64" else "I" for kind, _ in rows) + "I"
    *numbers, size = struct.unpack_from(layout, body)
    values = dict(zip(names, numbers))
    values.update(verdict=VERDICTS[values["verdict"]], stage=STAGES[values["stage"]])
    values[last] = body[struct.calcsize(layout):]
    if len(values[last]) != size:
        raise AssertionError(f"{last}: {size} bytes are said, {len(values[last])} are there")
    return types.SimpleNamespace(**values)


def sealed(data):
    """A memfd as fd_sealed_from_bytes() makes it."""
    fd = os.memfd_create("test", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(fd, data)
    fcntl.fcntl(fd, F_ADD_SEALS, ALL_SEALS)
    return fd


def start_factory(program):
    """In the process that becomes the supervisor: start its factory as msp does."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with open(program, "rb") as file:
        image = sealed(file.read())
    child = os.fork()
    if child == 0:
        helpers = [os.path.join(os.path.dirname(program), name)
                   for name in ("msp-broker", "msp-layers")]
        files = [os.open(path if os.path.exists(path) else "/dev/null", os.O_RDONLY)
                 for path in ("/dev/null", *helpers)]
        others = [fcntl.fcntl(fd, fcntl.F_DUPFD, 32) for fd in (theirs.fileno(), *files)]
        image = fcntl.fcntl(image, fcntl.F_DUPFD_CLOEXEC, 32)
        for place, fd in enumerate(others, CHANNEL_FD):
            os.dup2(fd, place)
        os.execve(image, ["msp-child-init"], {})
    pidfd = fcntl.fcntl(os.pidfd_open(child), fcntl.F_DUPFD_CLOEXEC, FACTORY_PIDFD + 1)
    os.dup2(ours.detach(), FACTORY_FD)
    os.dup2(pidfd, FACTORY_PIDFD)


class Peer:
    """A supervisor, and this test at the other end of its channel."""

    def __init__(self, stderr=subprocess.PIPE, programs=support.BIN, preexec=None, factory=None):
        """`factory`: a function that puts something else at its descriptors."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        self.channel = ours
        self.postures = []
        self.programs = programs

        def prepare():
            if preexec:
                preexec()
            os.dup2(theirs.fileno(), CHANNEL_FD)
            (factory or start_factory)(os.path.join(programs, "msp-child-init"))

        self.process = subprocess.Popen(
            [os.path.join(programs, "msp-supervisor")], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=stderr, env={}, close_fds=False, preexec_fn=prepare)
        theirs.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.channel.close()
        try:
            self.process.wait(PATIENCE)
        finally:
            if self.process.stderr:
                self.process.stderr.close()

    def send(self, data, fds=()):
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.channel.sendmsg([data], rights)

    def receive(self, timeout=PATIENCE):
        """The next Message; None at the end of the channel. Raises TimeoutError. What is said of
        postures is kept aside."""
        told = self.receive_any(timeout)
        while told and told.name == "profile_posture":
            self.postures.append(told)
            told = self.receive_any(timeout)
        return told

    def receive_any(self, timeout=PATIENCE):
        if not select.select([self.channel], [], [], timeout)[0]:
            raise TimeoutError(f"the supervisor said nothing for {timeout} s")
        try:
            data, rights, _, _ = self.channel.recvmsg(1 << 18, 256)
        except ConnectionResetError:
            return self.receive_any(timeout)  # it ended with messages unread; what it said comes next
        fds = [fd for _, _, part in rights for fd in array.array("i", part[:len(part) // 4 * 4])]
        if not data:
            return None
        return Message(NAMES[struct.unpack("I", data[:4])[0]], data[4:], fds)

    def launch(self, frontend=FRONTEND_LAUNCHER, limits=LIMITS_FALLBACK, runs=True, executions=128,
               audit=None):
        """What msp says before it becomes a frontend, with its last word if it `runs`. `audit`: the log's
        directory."""
        with open(os.path.join(self.programs, "builtin.policy"), "rb") as file:
            fds = [sealed(file.read())]
        self.send(message("supervisor_start", schema=SCHEMA, frontend=frontend, limits=limits,
                          executions=executions), fds)
        for fd in fds:
            os.close(fd)
        self.send_audit(audit)
        if runs:
            self.send(message("supervisor_run"))

    def send_audit(self, path=None):
        """An msp-audit with its log in the directory of the tests, or in `path`."""
        path = path or os.path.join(os.environ["MSP_STATE_DIR"], "audit")
        os.makedirs(path, mode=0o700, exist_ok=True)
        ours = start_steward("msp-audit", path, self.programs)
        self.send(message("supervisor_audit", path=path), [ours.fileno()])
        ours.close()

    def greet(self):
        """Say hello; the welcome, whose plan is the caller's to close."""
        self.send(hello())
        welcome = self.receive()
        if welcome is None or welcome.name != "welcome":
            raise AssertionError(f"no welcome but {welcome}")
        return welcome

    def serve(self):
        """Launch, and greet; the channel serves from here on."""
        self.launch()
        os.close(self.greet().fds[0])

    def run(self, request, argv, **keywords):
        """One execution, its streams read to their end: (output, Done)."""
        self.send(execution_start(request, argv, **keywords))
        started = self.receive()
        if started is None or started.name != "execution_started":
            raise AssertionError(f"not started but {started}")
        os.close(started.fds[0])
        output = b""
        for fd in started.fds[1:]:
            with os.fdopen(fd, "rb") as stream:
                output += stream.read()
        return output, parse_done(self.receive().body)

    def end(self, timeout=PATIENCE):
        """Wait for the supervisor's own end; its exit code and what it wrote to stderr."""
        _, error = self.process.communicate(timeout=timeout)
        return self.process.returncode, (error or b"").decode(errors="replace")
