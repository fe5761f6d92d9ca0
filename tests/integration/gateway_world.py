# SPDX-License-Identifier: Apache-2.0
"""A world for the gateway, in namespaces of a test: a host with one name server, servers at public,
private and forbidden addresses beyond it, and sandboxes. Nothing here is a test.

The test's own process becomes the host, as an ordinary user without a capability; each other place
is a child of it that does what it is told (Agent)."""
import collections
import contextlib
import ctypes
import errno
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
import traceback
import unittest

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x20000, 0x10000000, 0x40000000
MS_BIND, PR_SET_PDEATHSIG = 4096, 1
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
LIBC = ctypes.CDLL(None, use_errno=True)
NETLINK_ROUTE = 0
PATIENCE_S = 20
ACT_S = 12  # each step of an act in a sandbox

PUBLIC, REFUSING, NAME_SERVER, OTHER_NAME_SERVER = ("93.184.216.34", "93.184.216.35", "93.184.216.53",
                                                    "93.184.216.54")
OWN = "93.184.216.1"
PRIVATE, METADATA = "10.0.0.5", "169.254.169.254"
SILENT = "8.8.4.99"  # beyond the last router, which drops what is for it
ADDRESSES = (REFUSING, NAME_SERVER, OTHER_NAME_SERVER, PRIVATE, METADATA)
ECHO_PORTS = (80, 443, 5432, 8080)
# Addresses that the host gets while a gateway runs, and networks for which its routes say no.
SECONDARY, OWN_PRIVATE, BROADCAST, LOCAL, ANYCAST = ("93.184.216.77", "10.0.1.77", "93.184.216.255",
                                                     "94.2.0.9", "94.3.0.9")
BLACKHOLE, PROHIBITED, UNREACHABLE = "94.4.0.9", "94.5.0.9", "94.6.0.9"

A, AAAA = 1, 28
ZONE = {
    "public.example": [(A, PUBLIC)],
    "other.example": [(A, PUBLIC)],
    "www.wild.example": [(A, PUBLIC)],
    "db.example": [(A, PRIVATE)],
    "sneaky.example": [(A, PRIVATE)],
    "metadata.example": [(A, METADATA)],
    "loopback.example": [(A, "127.0.0.1")],
    "mapped.example": [(AAAA, "::ffff:127.0.0.1")],
    "nat64.example": [(AAAA, "64:ff9b::7f00:1")],
    "own.example": [(A, OWN)],
    "secondary.example": [(A, SECONDARY)],
    "mapped-secondary.example": [(AAAA, f"::ffff:{SECONDARY}")],
    "nat64-own.example": [(AAAA, f"64:ff9b::{OWN}")],
    "nat64-secondary.example": [(AAAA, f"64:ff9b::{SECONDARY}")],
    "isatap-secondary.example": [(AAAA, f"2606:2800:220:1:200:5efe:{SECONDARY}")],
    "isatap-metadata.example": [(AAAA, f"2606:2800:220:1:0:5efe:{METADATA}")],
    "own-private.example": [(A, OWN_PRIVATE)],
    "broadcast.example": [(A, BROADCAST)],
    "local.example": [(A, LOCAL)],
    "anycast.example": [(A, ANYCAST)],
    "blackhole.example": [(A, BLACKHOLE)],
    "prohibited.example": [(A, PROHIBITED)],
    "unreachable.example": [(A, UNREACHABLE)],
    "silent.example": [(A, SILENT)],
    "second.example": [(A, REFUSING), (A, PUBLIC)],
    "closed.example": [(A, REFUSING)],
    "both.example": [(AAAA, "2606:2800:220:1::1"), (A, PUBLIC)],
    "mixed.example": [(A, METADATA), (A, PUBLIC)],
    "rebinding.example": [(A, PUBLIC)],
    "moving.example": [(A, PUBLIC)],
    "long.example": [(A, PUBLIC)],
}
TRUNCATED = ("long.example",)  # whole by TCP alone


def check(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def unshare(flags, inside=None):
    """Enter new namespaces; in a new user namespace be the user `inside`."""
    user, group = os.geteuid(), os.getegid()
    check(LIBC.unshare(flags))
    if inside is None:
        return
    for name, text in (("setgroups", "deny"), ("uid_map", f"{inside} {user} 1"),
                       ("gid_map", f"{inside} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def drop_capabilities():
    check(LIBC.syscall(126, struct.pack("Ii", 0x20080522, 0), bytes(24)))  # capset


def raise_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        LIBC.ioctl(own.fileno(), SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", IFF_UP))


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, timeout=PATIENCE_S)


# --- agents --------------------------------------------------------------------------------------

def serve_acts(channel, enter, acts):
    """Enter a place, say so with the descriptors that `enter` returns, and do one act after the
    other until the other end is closed. Does not return."""
    try:
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        socket.send_fds(channel, [b"ready"], enter(channel) or [])
        while data := channel.recv(1 << 20):
            name, words = json.loads(data)
            try:
                answer = acts[name](*words)
            except OSError as error:
                answer = {"errno": error.errno or errno.ETIMEDOUT}
            channel.send(json.dumps(answer).encode())
    except (ConnectionResetError, BrokenPipeError):
        os._exit(0)  # the test has ended
    except BaseException:  # pylint: disable=broad-exception-caught
        traceback.print_exc()
    os._exit(0)


class Agent:
    """A process in a place of its own, which does one act after the other. `between`: done by its
    maker when it says that its place is made. `fork(channel, enter, acts)`: makes the process."""

    def __init__(self, enter, acts, between=None, fork=None):
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = fork(theirs, enter, acts) if fork else self._fork(theirs, enter, acts)
        theirs.close()
        if between and self.channel.recv(16) == b"made":
            between(self.pid)
            self.channel.send(b"go")
        data, self.fds, _, _ = socket.recv_fds(self.channel, 64, 4)
        if data != b"ready":
            raise RuntimeError("a place of the test could not be made")

    def _fork(self, channel, enter, acts):
        pid = os.fork()
        if pid == 0:
            self.channel.close()
            serve_acts(channel, enter, acts)
        return pid

    def __call__(self, name, *words, timeout=PATIENCE_S):
        self.channel.send(json.dumps([name, words]).encode())
        if not select.select([self.channel], [], [], timeout)[0]:
            raise TimeoutError(f"{name}{words} takes longer than {timeout} s")
        answer = json.loads(self.channel.recv(1 << 20))
        if isinstance(answer, dict) and "errno" in answer:
            raise OSError(answer["errno"], os.strerror(answer["errno"]))
        return answer

    def close(self):
        self.channel.close()
        for fd in self.fds:
            os.close(fd)
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


# --- the world -----------------------------------------------------------------------------------

REACHED = collections.Counter()
QUERIES = collections.Counter()
ANSWERS = {}  # name: addresses in place of the zone's, by query
TTL_S = [30]


def echo(connection, where):
    with connection, contextlib.suppress(OSError):
        while data := connection.recv(1 << 16):
            REACHED[f"{where} bytes"] += len(data)
            connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)


def listen(address, port):
    listener = socket.create_server((address, port), backlog=512)

    def accept():
        while True:
            connection, _ = listener.accept()
            REACHED[f"{address}:{port}"] += 1
            threading.Thread(target=echo, args=(connection, f"{address}:{port}"),
                             daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()


def read_question(query):
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode())
        at += 1 + query[at]
    return ".".join(labels).lower(), struct.unpack(">H", query[at + 1:at + 3])[0], query[12:at + 5]


def answer_query(query, is_tcp=False):
    name, kind, question = read_question(query)
    if name in TRUNCATED and not is_tcp:
        QUERIES[f"{name} truncated"] += 1
        return query[:2] + struct.pack(">HHHHH", 0x8380, 1, 0, 0, 0) + question
    QUERIES[name] += 1
    rows = ANSWERS[name][min(QUERIES[f"{name} {kind}"], len(ANSWERS[name]) - 1)] \
        if name in ANSWERS else ZONE.get(name)
    QUERIES[f"{name} {kind}"] += 1
    found = [row for row in rows or () if row[0] == kind]
    code = 3 if rows is None else 0
    records = b"".join(
        b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, TTL_S[0], 4 if kind == A else 16) +
        socket.inet_pton(socket.AF_INET if kind == A else socket.AF_INET6, address)
        for _, address in found)
    return query[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, len(found), 0, 0) + question + records


def serve_names(address):
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((address, 53))

    def serve():
        while True:
            query, source = server.recvfrom(512)
            QUERIES[address] += 1
            server.sendto(answer_query(query), source)
    threading.Thread(target=serve, daemon=True).start()
    listener = socket.create_server((address, 53))

    def serve_stream():
        while True:
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError, struct.error):
                while True:
                    size, = struct.unpack(">H", connection.recv(2, socket.MSG_WAITALL))
                    answer = answer_query(connection.recv(size, socket.MSG_WAITALL), is_tcp=True)
                    connection.sendall(struct.pack(">H", len(answer)) + answer)
    threading.Thread(target=serve_stream, daemon=True).start()


def set_answers(name, rows):
    ANSWERS[name] = rows
    for kind in (A, AAAA):
        QUERIES[f"{name} {kind}"] = 0


def set_ttl(seconds):
    TTL_S[0] = seconds


def take_address(address, port):
    """Be the host with this address, beside those that there are."""
    ip("addr", "add", f"{address}/32", "dev", "w0")
    listen(address, port)


WORLD_ACTS = {
    "serve": lambda: [serve_names(NAME_SERVER), serve_names(OTHER_NAME_SERVER)] + [
        listen(address, port) for address in (PUBLIC, PRIVATE, METADATA) for port in ECHO_PORTS],
    "reached": lambda: dict(REACHED), "queries": lambda: dict(QUERIES),
    "set_answers": set_answers, "set_ttl": set_ttl, "take_address": take_address,
}


def enter_world(channel):
    unshare(CLONE_NEWNET)
    channel.send(b"made")
    channel.recv(16)  # the cable to it is there
    raise_loopback()
    ip("addr", "add", f"{PUBLIC}/24", "dev", "w0")
    ip("link", "set", "w0", "up")
    for address in ADDRESSES:
        ip("addr", "add", f"{address}/32", "dev", "w0")


def connect_world(pid):
    ip("link", "add", "h0", "type", "veth", "peer", "name", "w0", "netns", str(pid))
    ip("addr", "add", f"{OWN}/24", "dev", "h0")
    ip("link", "set", "h0", "up")


def set_servers(path, *servers):
    with open(path, "w", encoding="ascii") as file:
        file.writelines(f"nameserver {server}\n" for server in servers)


def make_world(folder):
    """Make this process the host, with a resolv.conf in `folder`. The world's Agent; its `machine`
    changes the host's addresses and routes."""
    if not shutil.which("ip"):
        raise unittest.SkipTest("ip is missing (package iproute2)")
    try:
        unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET, inside=0)
    except OSError as error:
        raise unittest.SkipTest(f"no user namespaces here: {error}") from error
    raise_loopback()
    world = Agent(enter_world, WORLD_ACTS, connect_world)
    ip("route", "add", "default", "via", PUBLIC)
    path = os.path.join(folder, "resolv.conf")
    set_servers(path, NAME_SERVER)
    check(LIBC.mount(path.encode(), os.path.realpath("/etc/resolv.conf").encode(), None, MS_BIND,
                     None))
    world("serve")
    world.machine = Agent(lambda channel: None, {"ip": ip})  # the host's root
    # From here on the host's network is another user's, as on any machine.
    unshare(CLONE_NEWUSER, inside=1000)
    drop_capabilities()
    return world


# --- a sandbox -----------------------------------------------------------------------------------

CONNECTIONS = {}


def ask_name(name, kind=A):
    """The answer's code and addresses."""
    query = struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + b"".join(
        bytes([len(label)]) + label.encode() for label in name.split(".")) + struct.pack(
            ">BHH", 0, kind, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(ACT_S)
        asking.connect(("198.18.0.1", 53))
        asking.send(query)
        answer = asking.recv(1024)
    found = struct.unpack(">H", answer[6:8])[0]
    return [answer[3] & 15, socket.inet_ntoa(answer[-4:]) if found else None]


def connect(key, address, port):
    if key in CONNECTIONS:
        CONNECTIONS.pop(key).close()
    connection = CONNECTIONS[key] = socket.socket()
    connection.settimeout(ACT_S)
    connection.connect((address, port))


def send(key, text, encoding="latin-1"):
    CONNECTIONS[key].sendall(text.encode(encoding))


def receive(key, size):
    data = b""
    while len(data) < size and (part := CONNECTIONS[key].recv(size - len(data))):
        data += part
    return data.decode("latin-1")


def close(key, is_half=False):
    if is_half:
        CONNECTIONS[key].shutdown(socket.SHUT_WR)
    else:
        CONNECTIONS.pop(key).close()


def syns_again():
    """How often this place has sent a SYN again."""
    with open("/proc/self/net/netstat", encoding="ascii") as file:
        names, values = [line.split() for line in file if line.startswith("TcpExt:")]
    return int(values[names.index("TCPSynRetrans")])


def exchange_many(address, port, count):
    """Open connections at once; how many give back what they are sent, and how many SYNs the kernel
    at the other end did not take."""
    before = syns_again()
    opened = [socket.socket() for _ in range(count)]
    for connection in opened:
        connection.setblocking(False)
        connection.connect_ex((address, port))
    whole = 0
    for connection in opened:
        with contextlib.suppress(OSError):
            select.select([], [connection], [], ACT_S)
            connection.settimeout(ACT_S)
            connection.sendall(b"x" * 64)
    for connection in opened:
        with connection, contextlib.suppress(OSError):
            whole += len(connection.recv(64, socket.MSG_WAITALL)) == 64
    return [whole, syns_again() - before]


def transfer(key, size):
    """Send `size` bytes and get them back. Seconds."""
    begun = time.monotonic()
    connection = CONNECTIONS[key]
    sender = threading.Thread(target=lambda: connection.sendall(bytes(size)))
    sender.start()
    left = size
    while left > 0:
        got = len(connection.recv(1 << 18))
        if got == 0:
            raise ConnectionResetError(104, "")
        left -= got
    sender.join()
    return time.monotonic() - begun


SANDBOX_ACTS = {"ask_name": ask_name, "connect": connect, "send": send, "receive": receive,
                "close": close, "exchange_many": exchange_many, "transfer": transfer}


def enter_sandbox(_):
    unshare(CLONE_NEWUSER | CLONE_NEWNET, inside=1000)
    raise_loopback()
    routing = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_ROUTE)
    drop_capabilities()
    return [routing.detach()]


class Factory:
    """A process in a user namespace above those of its sandboxes."""

    def __init__(self):
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = os.fork()
        if self.pid == 0:
            self.channel.close()
            self._run(theirs)
        theirs.close()

    @staticmethod
    def _run(control):
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        unshare(CLONE_NEWUSER, inside=1000)
        while True:
            data, fds, _, _ = socket.recv_fds(control, 16, 4)
            if not data:
                os._exit(0)
            if os.fork() == 0:
                control.close()
                serve_acts(socket.socket(fileno=fds[0]), enter_sandbox, SANDBOX_ACTS)
            os.close(fds[0])

    def make_sandbox(self):
        """A sandbox's Agent; `fds` has its routing socket."""
        def fork(channel, _enter, _acts):
            socket.send_fds(self.channel, [b"make"], [channel.fileno()])
        return Agent(enter_sandbox, SANDBOX_ACTS, fork=fork)

    def close(self):
        self.channel.close()
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
