# SPDX-License-Identifier: Apache-2.0
"""msp-http by itself, and a test in the places of msp-cable, msp-egress, the launcher, a workload and
a host. Nothing here is a test."""
import contextlib
import fcntl
import os
import re
import select
import socket
import ssl
import struct
import subprocess
import termios
import threading
import time

import gateway_support
import ipc
import support

PLAN = ipc.read_common("plan/plan.h")
HTTP, HTTPS = 2, 3
POLICY = "profiles:\n  - name: web\n    extends: default\n    network: hosts\n    hosts:\n"
PATIENCE = 20


def constant(name):
    return int(re.search(rf"#define {name} (\d+)U?$", PLAN, re.M).group(1))


SIZES = {"char": 1, "uint8_t": 1, "uint16_t": 2, "uint32_t": 4, "uint64_t": 8}


def measure(name):
    """Member to (offset, size) of a struct of the plan, and the struct's size and alignment."""
    text = re.sub(r"/\*.*?\*/", "", re.search(
        rf"^struct {name} \{{(.*?)^\}};", PLAN + ipc.read_common("limits.h"), re.S | re.M).group(1),
        flags=re.S)
    at, members, widest = 0, {}, 1
    for struct_name, kind, names in re.findall(r"(?:struct (\w+)|(\w+)) ([^;]+);", text):
        size, align = measure(struct_name)[1:] if struct_name else (SIZES[kind], SIZES[kind])
        for member, count in re.findall(r"(\w+)(?:\[([^\]]+)\])?", names):
            bound = re.sub(r"PLAN_\w+", lambda found: str(constant(found.group())), count or "1")
            whole = size * eval(bound.replace("/", "//"))  # of our own header
            at = (at + align - 1) // align * align
            members[member] = (at, whole)
            at += whole
            widest = max(widest, align)
    return members, (at + widest - 1) // widest * widest, widest


def layout(name):
    """Member to (offset, size) of a struct of the plan, and the struct's size."""
    return measure(name)[:2]


def record(struct_name, /, **values):
    members, size = layout(struct_name)
    data = bytearray(size)
    for member, value in values.items():
        at, width = members[member]
        value = value.encode() if isinstance(value, str) else value
        value = value if isinstance(value, bytes) else value.to_bytes(width, "little")
        data[at:at + len(value)] = value
    return bytes(data)


def add_records(plan, index, array, count, records):
    """Give a profile an array of records at the end of the plan."""
    members, size = layout("plan_profile")
    header, _ = layout("plan_header")
    first, = struct.unpack_from("=I", plan, header["profiles"][0])
    while len(plan) % 8:
        plan.append(0)
    struct.pack_into("=I", plan, first + index * size + members[array][0], len(plan))
    struct.pack_into("=I", plan, first + index * size + members[count][0], len(records))
    plan += b"".join(records) + bytes(8)
    struct.pack_into("=I", plan, header["size"][0], len(plan))


def make_plan(folder, hosts, requests=(), secrets=()):
    """A plan whose profile `web` has (host, port, kind), (index of host, methods, path) and
    (name, header, indexes of hosts)."""
    plan = bytearray(gateway_support.compile_plan(
        POLICY + "      - example.com\n", folder))
    index = gateway_support.index_of(bytes(plan), "web")
    add_records(plan, index, "hosts", "host_count", [
        record("plan_host", pattern=host, port=port, kind=kind, line=7)
        for host, port, kind in hosts])
    add_records(plan, index, "requests", "request_count", [
        record("plan_request", host=host, methods=methods, path=path, line=8)
        for host, methods, path in requests])
    add_records(plan, index, "secrets", "secret_count", [
        record("plan_secret", name=name, header=header, placeholder="msp-secret-" + name, line=9,
               hosts=sum(1 << host for host in of).to_bytes(32, "little"))
        for name, header, of in secrets])
    return bytes(plan), index


def make_authority():
    """The files of the CA, as the launcher has msp-http make them."""
    own, certificate = (os.memfd_create(name) for name in ("own", "certificate"))
    high = [os.dup2(fd, 50 + number) for number, fd in enumerate((own, certificate))]
    subprocess.run([os.path.join(support.BIN, "msp-http"), "authority"], env={}, check=True,
                   timeout=PATIENCE, close_fds=False, stdin=subprocess.DEVNULL,
                   preexec_fn=lambda: [os.dup2(fd, 3 + at) for at, fd in enumerate(high)])
    texts = []
    for fd in (own, certificate):
        texts.append(os.pread(fd, 1 << 16, 0))
        os.close(fd)
    for fd in high:
        os.close(fd)
    return texts


def make_certificate(folder, name):
    """A certificate of a name, signed by itself, and its key."""
    paths = [os.path.join(folder, f"{name}.{part}") for part in ("pem", "key")]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                    "-addext", f"subjectAltName=DNS:{name}", "-out", paths[0], "-keyout", paths[1]],
                   check=True, capture_output=True)
    return paths


class Http:
    """msp-http with one server."""

    def __init__(self, plan, index, authority, roots, values=()):
        self.cable, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.process = subprocess.Popen(
            [os.path.join(support.BIN, "msp-http")], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={}, close_fds=False,
            preexec_fn=lambda: os.dup2(theirs.fileno(), 3))
        theirs.close()
        self.number = 0
        self._send(self.cable, "gateway_start", schema=ipc.SCHEMA)
        self.given = authority, roots, values
        self.egress, self.launcher = self.begin(plan, index)

    def begin(self, plan, index):
        """Start a server; the other ends of its channels."""
        ends = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(2)]
        self._send(self.cable, "http_begin", [os.dup(ends[0][1].fileno()),
                                              os.dup(ends[1][1].fileno()), ipc.sealed(plan)],
                   profile=index)
        for _, theirs in ends:
            theirs.close()
        self._send(ends[1][0], "http_trust", [ipc.sealed(data) for data in self.given[:2]])
        for number, value in enumerate(self.given[2]):
            self._send(ends[1][0], "http_secret", [ipc.sealed(value)], index=number)
        return ends[0][0], ends[1][0]

    def server(self):
        """The process of the first server."""
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with open(path, encoding="ascii") as file:
                if pids := file.read().split():
                    return int(pids[0])
            time.sleep(0.01)
        raise AssertionError("there is no server")

    def more(self, number):
        self._send(self.egress, "http_more", number=number)

    @staticmethod
    def _send(channel, name, fds=(), **values):
        socket.send_fds(channel, [ipc.message(name, **values)], fds)
        for fd in fds:
            os.close(fd)

    def give(self, number, value):
        self._send(self.launcher, "http_secret", [ipc.sealed(value)], index=number)

    def open(self, host, port, is_counted=0, idle_s=0, is_watched=False):
        """The ends of a workload and of a host of a new connection."""
        self.number += 1
        pairs = [connected_pair() for _ in range(2)]
        fds = [os.dup(pair[1].fileno()) for pair in pairs]
        self.last = pairs
        for fd in fds:
            os.set_blocking(fd, False)
        for pair in pairs:
            pair[0].settimeout(PATIENCE)
            if not is_watched:
                pair[1].close()
        self._send(self.egress, "http_open", fds, number=self.number, port=port, host=host,
                   is_counted=is_counted, idle_s=idle_s)
        return pairs[0][0], pairs[1][0]

    def end(self, number, reason):
        self._send(self.egress, "http_end", number=number, reason=reason)

    def hear(self, timeout=PATIENCE):
        """The next message to msp-egress: its name and numbers."""
        if not select.select([self.egress], [], [], timeout)[0]:
            raise AssertionError("msp-http says nothing")
        data = self.egress.recv(4096)
        if not data:
            raise AssertionError("the server has ended")
        number, = struct.unpack_from("=I", data)
        name = ipc.NAMES[number]
        at, values = 4, {}
        for kind, field in ipc.FIELDS[name]:
            values[field], = struct.unpack_from("=Q" if kind == "U64" else "=I", data, at)
            at += 8 if kind == "U64" else 4
        return name, values

    def close(self):
        self.cable.close()
        self.egress.close()
        self.launcher.close()
        self.process.wait(PATIENCE)
        text = self.process.stderr.read().decode()
        self.process.stderr.close()
        return text


def has_ended(channel):
    """Wait for the end of a channel: of a peer with a message that it had not read, it is a reset."""
    channel.settimeout(PATIENCE)
    try:
        return channel.recv(100) == b""
    except ConnectionResetError:
        return True


def connected_pair():
    """Two ends of a TCP connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ours = socket.create_connection(listener.getsockname())
        theirs, _ = listener.accept()
    for end in (ours, theirs):
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return ours, theirs


def read_head(stream):
    """A head from a buffered stream; its first line, and its fields."""
    lines = []
    while (line := stream.readline()) not in (b"\r\n", b""):
        lines.append(line.decode("latin-1").rstrip("\r\n"))
    fields = [line.split(": ", 1) for line in lines[1:]]
    return lines[0] if lines else "", {name.lower(): value for name, value in fields}


def read_body(stream, fields):
    """The body that the fields tell the end of."""
    if fields.get("transfer-encoding") == "chunked":
        body = b""
        while size := int(stream.readline(), 16):
            body += stream.read(size)
            stream.read(2)
        stream.readline()
        return body
    return stream.read(int(fields.get("content-length", 0)))


class Host:
    """A host in a thread: each request, with its body, is kept, and `answer` answers it."""

    def __init__(self, sock, answer, certificate=None):
        self.asked = []
        self.answer = answer
        self.trouble = None
        self.sock, self.certificate = sock, certificate
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        try:
            if self.certificate:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(*self.certificate)
                context.set_alpn_protocols(["h2", "http/1.1"])
                self.sock = context.wrap_socket(self.sock, server_side=True)
            with self.sock, self.sock.makefile("rb") as stream:
                while True:
                    line, fields = read_head(stream)
                    if not line:
                        return
                    self.asked.append((line, fields, read_body(stream, fields)))
                    if self.answer(self.sock, line, fields, self.asked[-1][2]) is False:
                        return
        except (OSError, ValueError) as error:
            self.trouble = error


def await_quiet(sender, receiver):
    """Wait until a socket has sent all, and the other end has read it."""
    deadline = time.monotonic() + PATIENCE
    for sock, request in ((sender, termios.TIOCOUTQ), (receiver, termios.FIONREAD)):
        while sock and any(fcntl.ioctl(sock, request, bytes(4))) and time.monotonic() < deadline:
            time.sleep(0.001)


class Records:
    """A workload that keeps the sizes of what comes: of records of TLS, or of what is read at once."""

    def __init__(self, sock, authority, name):
        self.sock, self.text, self.raw, self.tls = sock, b"", b"", None
        if not authority:
            return
        self.coming, self.going = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = ssl.create_default_context(cadata=authority.decode())
        self.tls = context.wrap_bio(self.coming, self.going, server_hostname=name)
        while True:
            try:
                self.tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self.sock.sendall(self.going.read())
                self.coming.write(self.sock.recv(65536))

    def send(self, data):
        if self.tls:
            self.tls.write(data)
            data = self.going.read()
        self.sock.sendall(data)

    def _keep(self, data):
        """Take bytes; their sizes."""
        if not self.tls:
            self.text += data
            return [len(data)] if data else []
        sizes = []
        self.coming.write(data)
        self.raw += data
        while len(self.raw) >= 5 and len(self.raw) >= (size := 5 + int.from_bytes(self.raw[3:5], "big")):
            sizes.append(size)
            self.raw = self.raw[size:]
        with contextlib.suppress(ssl.SSLWantReadError, ssl.SSLZeroReturnError):
            while data := self.tls.read(65536):
                self.text += data
        return sizes

    def take(self):
        """The sizes of what has come."""
        data = b""
        self.sock.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while more := self.sock.recv(65536):
                data += more
        self.sock.settimeout(PATIENCE)
        return self._keep(data)

    def take_all(self):
        """The sizes up to the end, which is the workload's, too."""
        data = b""
        while more := self.sock.recv(65536):
            data += more
        self.sock.close()
        return self._keep(data)


def respond(sock, _line, _fields, body):
    """Answer with the request's body."""
    sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


@contextlib.contextmanager
def workload(sock, authority=None, name=None):
    """A workload's socket with its stream, in TLS with the CA's certificate."""
    if authority:
        context = ssl.create_default_context(cadata=authority.decode())
        context.set_alpn_protocols(["h2", "http/1.1"])
        sock = context.wrap_socket(sock, server_hostname=name)
    with sock, sock.makefile("rb") as stream:
        yield sock, stream
