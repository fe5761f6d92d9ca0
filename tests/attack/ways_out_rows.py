#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ways out of a sandbox with hosts, as a table, and the acts that try them. ways_out.py runs this file in
a sandbox and, as the control, beside it as the owner of a network. Nothing here is a test.

A row is (what, act, arguments...). In a text, @ stands for the row's own mark, which tells its packets from
all others; a port that is None is the row's own."""
import contextlib
import ctypes
import fcntl
import json
import os
import select
import socket
import struct
import sys
import time

LIBC = ctypes.CDLL(None, use_errno=True)
WAIT_S = 0.4
PORT = 20000  # of row 0
WEB, WILD = "web.example.org", "cdn.example.org"  # the hosts of the profile
FAR = "8.8.8.8"
# Hosts of the profile, below example.org, that lead to addresses that are never dialled.
LED = ("private", "own", "loop", "mapped", "mapped-private", "nat64", "nat64-metadata", "metadata",
       "alias-private", "alias-metadata", "six-to-four", "unique-local", "link-local", "zero", "broadcast",
       "shared", "alibaba", "secondary", "mapped-secondary", "nat64-own", "isatap-own", "any-local")


def mark(number):
    return f"way{number:03}out"


# --- acts ----------------------------------------------------------------------------------------
# Each is called with the place that it is in, the row's mark and port, and the row's arguments. Its
# packets are what counts; one whose result counts returns True.

def _fill(value, text):
    return value.replace("@", text) if isinstance(value, str) else value


def _send_text(connection, data, answer=True):
    connection.sendall(data)
    if answer:
        with contextlib.suppress(OSError):
            connection.recv(64)


def tcp(_, text, own, host, port=None, protocol=0):
    """Connect to a name or an address in any spelling, and send the mark."""
    for family, kind, _, _, address in socket.getaddrinfo(host, port or own,
                                                          type=socket.SOCK_STREAM):
        with socket.socket(family, kind, protocol) as one, contextlib.suppress(OSError):
            one.settimeout(WAIT_S)
            one.connect(address)
            _send_text(one, f"GET /{text} HTTP/1.0\r\n\r\n".encode())


def often(place, text, own, host, port, count=6):
    """The same name again and again, which moves."""
    for _ in range(count):
        with contextlib.suppress(OSError):
            tcp(place, text, own, host, port)


def fast(_, text, own, host, port=None):
    """TCP with its first bytes in the SYN."""
    with socket.socket() as one:
        one.settimeout(WAIT_S)
        one.sendto(text.encode(), socket.MSG_FASTOPEN, (host, port or own))


def from_address(_, text, own, source, host):
    """From an address that the sandbox does not have."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        for name in (15, 19):  # IP_FREEBIND, IP_TRANSPARENT
            with contextlib.suppress(OSError):
                one.setsockopt(socket.SOL_IP, name, 1)
        one.bind((source, 0))
        one.sendto(text.encode(), (host, own))


def udp(_, text, own, host, port=None, options=(), protocol=0):
    for family, kind, _, _, address in socket.getaddrinfo(host, port or own,
                                                          type=socket.SOCK_DGRAM):
        with socket.socket(family, kind, protocol) as one:
            for level, name, value in options:
                one.setsockopt(level, name, value)
            one.sendto(text.encode(), address)


def quic(_, text, own, host):
    """An Initial packet to a host of the list, by name."""
    data = b"\xc0\0\0\0\1\x08" + text.encode()[:8].ljust(8) + text.encode() + bytes(1200)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.sendto(data, (socket.gethostbyname(host), 443))


def raw(_, text, own, family, protocol, host, head=b""):
    with socket.socket(family, socket.SOCK_RAW, protocol) as one:
        one.sendto(head + text.encode(), (host, 0))


def spoofed(_, text, own, source):
    """A datagram with a head of one's own."""
    data = struct.pack(">HHHH", 4444, own, 8 + len(text), 0) + text.encode()
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(data), 1, 0, 64, 17, 0,
                       socket.inet_aton(source), socket.inet_aton(FAR))
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as one:
        one.sendto(head + data, (FAR, 0))


def ping(_, text, own, family, host):
    """As an ordinary user may ping."""
    kind = b"\x08" if family == socket.AF_INET else b"\x80"
    with socket.socket(family, socket.SOCK_DGRAM, 1 if family == socket.AF_INET else 58) as one:
        one.sendto(kind + bytes(7) + text.encode(), (host, 0))


def frame(place, text, own, kind):
    """Below IP, on the only device."""
    with socket.socket(socket.AF_PACKET, kind, socket.htons(0x88B5)) as one:
        address = (place["device"], 0x88B5, 0, 0, b"\xff" * 6)
        head = b"\xff" * 6 + bytes(6) + b"\x88\xb5" if kind == socket.SOCK_RAW else b""
        one.sendto(head + text.encode().ljust(60, b"\0"), address)


def resolve(_, text, own, name):
    """By the C library."""
    with contextlib.suppress(OSError):
        socket.getaddrinfo(name, 80)


def _question(labels, kind, group=1):
    return b"".join(bytes([len(label)]) + label for label in labels) + struct.pack(
        ">BHH", 0, kind, group)


def ask(place, text, own, name, kind=1, group=1, flags=0x100, more=b"", count=(1, 0, 0, 0)):
    """A question of one's own making; a name is a text, or its labels. It is allowed to be wrong."""
    labels = name.encode().split(b".") if isinstance(name, str) else [
        label.replace(b"@", text.encode()) for label in name]
    packet = struct.pack(">HHHHHH", 7, flags, *count) + _question(labels, kind, group) + \
        more.replace(b"@", text.encode())
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.settimeout(WAIT_S)
        one.connect((place["resolver"], 53))
        one.send(packet)
        one.recv(1024)


def ask_at(_, text, own, server, port=53, is_tcp=False):
    """Another server than the sandbox's."""
    packet = struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + _question([text.encode(), b"example"], 1)
    with socket.socket(socket.AF_INET6 if ":" in server else socket.AF_INET,
                       socket.SOCK_STREAM if is_tcp else socket.SOCK_DGRAM) as one:
        one.settimeout(WAIT_S)
        one.connect((server, port))
        _send_text(one, struct.pack(">H", len(packet)) + packet if is_tcp else packet)


def _extension(kind, data):
    return struct.pack(">HH", kind, len(data)) + data


def _names(*names):
    data = b"".join(struct.pack(">BH", 0, len(name)) + name for name in names)
    return _extension(0, struct.pack(">H", len(data)) + data)


def client_hello(text, extensions, version=0x0303):
    body = struct.pack(">H", version) + text.encode().ljust(32, b".") + b"\0\0\2\x13\1\1\0" + \
        struct.pack(">H", len(extensions)) + extensions
    return b"\x01" + struct.pack(">I", len(body))[1:] + body


def records(data, size=1 << 14, kind=22, version=0x0301):
    return b"".join(struct.pack(">BHH", kind, version, len(data[at:at + size])) + data[at:at + size]
                    for at in range(0, len(data), size))


HIDDEN = _extension(0xFE0D, b"\0\0\1\0\1\x07\0\x20" + bytes(32) + b"\0\x20" + bytes(32))
OWN_HELLO = records(client_hello("", _names(WEB.encode())))
HELLOS = {
    "another name": lambda text: records(client_hello(text, _names(b"evil.example"))),
    "another host of the list": lambda text: records(client_hello(text, _names(b"a.cdn.example.org"))),
    "its parent": lambda text: records(client_hello(text, _names(b"example.org"))),
    "a name below": lambda text: records(client_hello(text, _names(b"x.web.example.org"))),
    "no name": lambda text: records(client_hello(text, b"")),
    "an empty name": lambda text: records(client_hello(text, _names(b""))),
    "an address": lambda text: records(client_hello(text, _names(b"5.6.7.8"))),
    "two names": lambda text: records(client_hello(text, _names(WEB.encode(), b"evil.example"))),
    "two names, the other first": lambda text: records(
        client_hello(text, _names(b"evil.example", WEB.encode()))),
    "two extensions": lambda text: records(
        client_hello(text, _names(WEB.encode()) + _names(b"evil.example"))),
    "a NUL in the name": lambda text: records(
        client_hello(text, _names(WEB.encode() + b"\0.evil.example"))),
    "two dots at the end": lambda text: records(client_hello(text, _names(WEB.encode() + b".."))),
    "another name in small records": lambda text: records(
        client_hello(text, _names(b"evil.example")), 40),
    "another name in its own record": lambda text: records(
        client_hello(text, _names(b"evil.example")), 60),
    "a hidden name": lambda text: records(client_hello(text, _names(WEB.encode()) + HIDDEN)),
    "a hidden name alone": lambda text: records(client_hello(text, HIDDEN)),
    "another name behind the first hello": lambda text: OWN_HELLO + records(
        client_hello(text, _names(b"evil.example"))),
    "another name behind a change of ciphers": lambda text: OWN_HELLO + records(b"\1", kind=20) + records(
        client_hello(text, _names(b"evil.example"))),
    "another name behind early data": lambda text: OWN_HELLO + records(bytes(100), kind=23) + records(
        client_hello(text, _names(b"evil.example")), 40),
    "another name in the record of the first hello": lambda text: records(
        client_hello("", _names(WEB.encode())) + client_hello(text, _names(b"evil.example"))),
    "no length": lambda text: records(client_hello(text, b""))[:-2],
    "a record of alerts": lambda text: records(text.encode(), kind=21),
    "a record of data": lambda text: records(text.encode(), kind=23),
    "SSL 2": lambda text: b"\x80\x2e\x01\x03\x01\0\x15\0\0\0\x10" + text.encode().ljust(64, b"."),
    "a server's hello": lambda text: records(b"\x02" + client_hello(text, b"")[1:]),
    "DTLS": lambda text: b"\x16\xfe\xfd" + bytes(8) + b"\0\x40" + text.encode().ljust(64, b"."),
    "HTTP": lambda text: f"GET /{text} HTTP/1.1\r\nHost: {WEB}\r\n\r\n".encode(),
    "HTTP/2 in clear": lambda text: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + text.encode(),
    "an upgrade to HTTP/2": lambda text: (f"GET /{text} HTTP/1.1\r\nHost: {WEB}\r\nConnection: Upgrade"
                                          "\r\nUpgrade: h2c\r\n\r\n").encode(),
    "CONNECT": lambda text: f"CONNECT {text}.evil.example:443 HTTP/1.1\r\n\r\n".encode(),
    "SSH": lambda text: f"SSH-2.0-{text}\r\n".encode(),
    "SOCKS 5": lambda text: b"\x05\x01\x00" + text.encode(),
    "SMTP": lambda text: f"EHLO {text}\r\n".encode(),
    "PROXY protocol": lambda text: f"PROXY TCP4 1.1.1.1 2.2.2.2 1 2\r\n{text}".encode(),
    "zeros": lambda text: bytes(64) + text.encode(),
    "a first byte alone": lambda text: b"\x16" + text.encode(),
}


def first_bytes(_, text, own, what, step=None):
    """To the port for TLS of a host of the list; `step`: in pieces."""
    data = HELLOS[what](text)
    with socket.create_connection((WEB, 443), WAIT_S) as one:
        if step:
            at = data.index(text.encode())
            for part in (data[:at], data[at:at + len(text)], data[at + len(text):]):
                one.sendall(part)
                time.sleep(step)
        else:
            one.sendall(data)
        one.shutdown(socket.SHUT_WR)
        with contextlib.suppress(OSError):
            one.recv(64)


def abstract(_, text, own, kind, name="ways-out", with_fd=False):
    """A socket of the machine without a file."""
    with socket.socket(socket.AF_UNIX, kind) as one:
        one.connect("\0" + name + {1: "", 2: "-datagram", 5: "-packet"}[int(kind)])
        if with_fd:
            socket.send_fds(one, [text.encode()], [0])
        else:
            one.send(text.encode())


def crowd(place, text, own, count=300):
    """Take each connection that there is, then go to another host."""
    held = []
    with contextlib.suppress(OSError):
        for _ in range(count):
            held.append(socket.create_connection((WEB, 80), WAIT_S))
    held and held.pop().close()
    tcp(place, text, own, FAR)


def opened(_, text, own, family, kind=socket.SOCK_STREAM, protocol=0):
    """A socket of a family that leads elsewhere."""
    with socket.socket(family, kind, protocol):
        return True


def listens(_, text, own, groups):
    """Hear of the machine's own changes."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, groups) as one:
        one.bind((0, 0xFFFFFFFF))
        return True


def option(_, text, own, level, name, value, kind=socket.SOCK_DGRAM):
    with socket.socket(socket.AF_INET, kind) as one:
        one.setsockopt(level, name, value)
        return True


def device(place, text, own, request, data):
    """An ioctl that changes the device."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        fcntl.ioctl(one, request, place["device"].encode().ljust(16, b"\0") + data.ljust(24, b"\0"))
        return True


def route(place, text, own, kind, body, flags=0x605):
    """A message of rtnetlink; $ in the body is the device's index."""
    index = struct.pack("I", socket.if_nametoindex(place["device"]))
    body = body.replace(b"$$$$", index)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as one:
        one.settimeout(WAIT_S)
        one.send(struct.pack("IHHII", 16 + len(body), kind, flags, 1, 0) + body)
        answer = one.recv(4096)
        code, = struct.unpack_from("i", answer, 16)
        if struct.unpack_from("H", answer, 4)[0] == 2 and code:
            raise OSError(-code, os.strerror(-code))
        return True


def attribute(kind, data):
    return struct.pack("HH", 4 + len(data), kind) + data.ljust((len(data) + 3) & ~3, b"\0")


def link_of(kind):
    """RTM_NEWLINK for a device of that kind."""
    return struct.pack("BxHiII", 0, 0, 0, 0, 0) + attribute(18, attribute(1, kind))


def call(_, text, own, number, *words):
    """A system call; what is not negative has succeeded."""
    words = [ctypes.create_string_buffer(word) if isinstance(word, bytes) else ctypes.c_long(word)
             for word in words]
    if LIBC.syscall(number, *words) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return True


def enter(_, text, own, path, kind=0x40000000):
    """Another process's namespace."""
    fd = os.open(path, os.O_RDONLY)
    if LIBC.setns(fd, kind) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return True


def writes(_, text, own, path, data="1"):
    with open(path, "w", encoding="ascii") as file:
        file.write(data)
    return True


def opens(_, text, own, path):
    os.close(os.open(path, os.O_RDWR))
    return True


# --- rows ----------------------------------------------------------------------------------------

def names():
    for name in ("@.example", "@.web.example.org", "web.example.org.@.example", "@web.example.org",
                 "@-web.example.org", "@.a.cdn.example.org", "@.b.c.cdn.example.org", "@.example.org",
                 "@.cdn.example.org.example", "@cdn.example.org", "@.internal", "@.google.internal",
                 "@.local", "@.localhost.example", "@.onion", "@.test.", "@.EXAMPLE.ORG", "@",
                 "@.xn--wb-eka.example.org", "xn--@.example.org", "_https._tcp.@.example.org",
                 "@.8.8.8.8.in-addr.arpa", "@.ip6.arpa", "@.1.168.192.nip.io", "a." * 40 + "@.example",
                 "@" + "x" * 50 + ".example.org", "@_.example.org", "@.5.6.7.8", "@.com", "@.wpad"):
        yield (f"the name {name[:60]}", resolve, name)


def questions():
    kinds = {"AAAA": 28, "TXT": 16, "NULL": 10, "MX": 15, "SRV": 33, "CNAME": 5, "NS": 2, "SOA": 6,
             "PTR": 12, "HTTPS": 65, "SVCB": 64, "NAPTR": 35, "DS": 43, "CAA": 257, "ANY": 255,
             "AXFR": 252, "TKEY": 249, "private type": 65280, "type 0": 0}
    for name, kind in kinds.items():
        yield (f"a question for {name}", ask, "@.example.org", kind)
    yield ("class CH", ask, "@.bind", 16, 3)
    yield ("class ANY", ask, "@.example.org", 1, 255)
    yield ("an inverse question", ask, "@.example.org", 1, 1, 0x0900)
    yield ("a notification", ask, "@.example.org", 6, 1, 0x2000)
    yield ("an update", ask, "@.example.org", 6, 1, 0x2800)
    yield ("an answer in place of a question", ask, "@.example.org", 1, 1, 0x8180)
    yield ("without recursion", ask, "@.example.org", 1, 1, 0)
    yield ("EDNS with data in an option", ask, WEB, 1, 1, 0x100,
           b"\0\0\x29\4\xd0\0\0\0\0\0\x0e\xff\xfe\0\x0a@", (1, 0, 0, 1))
    yield ("a cookie", ask, WEB, 1, 1, 0x100, b"\0\0\x29\4\xd0\0\0\0\0\0\x0e\0\x0a\0\x0a@",
           (1, 0, 0, 1))
    yield ("two questions", ask, WEB, 1, 1, 0x100, b"\x09@\7example\0\0\1\0\1", (2, 0, 0, 0))
    yield ("bytes after the question", ask, WEB, 1, 1, 0x100, b"@")
    yield ("an answer in a question", ask, WEB, 1, 1, 0x100, b"\xc0\x0c\0\x10\0\1\0\0\0\1\0\x0a\x09@",
           (1, 1, 0, 0))
    yield ("a signature in a question", ask, WEB, 1, 1, 0x100,
           b"\x09@\0\0\xfa\0\xff\0\0\0\0\0\0", (1, 0, 0, 1))
    for what, labels in (("a space", [b"@ x", b"example"]), ("a NUL", [b"@\0x", b"example"]),
                         ("a dot in a label", [b"@.web", b"example", b"org"]),
                         ("bytes above 127", [b"@\xc3\xa4", b"example"]),
                         ("a slash", [b"@/x", b"example"]), ("an asterisk", [b"@*", WILD.encode()]),
                         ("a dot, then the host", [b"@.x", b"web", b"example", b"org"]),
                         ("a dot below the wildcard", [b"@.x", b"cdn", b"example", b"org"]),
                         ("a space below the wildcard", [b"@ x", b"cdn", b"example", b"org"]),
                         ("a NUL below the wildcard", [b"@\0x", b"cdn", b"example", b"org"]),
                         ("a quote below the wildcard", [b"@'x", b"cdn", b"example", b"org"]),
                         ("two labels below the wildcard", [b"@", b"x", b"cdn", b"example", b"org"])):
        yield (f"a name with {what}", ask, labels)


def servers():
    for server in (FAR, "1.1.1.1", "9.9.9.9", "5.6.7.8", "169.254.169.253", "10.0.0.2",
                   "168.63.129.16", "2001:db8:5::8"):
        yield (f"the name server {server}", ask_at, server)
        yield (f"the name server {server} by TCP", ask_at, server, 53, True)
    yield ("multicast DNS", udp, "224.0.0.251", 5353)
    yield ("LLMNR", udp, "224.0.0.252", 5355)
    yield ("NetBIOS", udp, FAR, 137)
    yield ("DNS over TLS", tcp, "9.9.9.9", 853)
    yield ("DNS over HTTPS", tcp, "9.9.9.10", 443)


def addresses():
    for address in (FAR, "1.1.1.1", "203.0.113.80", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1",
                    "169.254.169.254", "169.254.170.2", "100.100.100.200", "192.0.0.192",
                    "168.63.129.16", "198.18.0.77", "198.19.255.1", "192.88.99.1", "5.6.7.8", "5.6.7.9",
                    "5.6.7.1", "127.0.0.1", "127.1.2.3", "0.0.0.0"):
        yield (f"TCP to {address}", tcp, address, 80 if address in (
            "5.6.7.1", "127.0.0.1", "127.1.2.3", "0.0.0.0") else None)
    for spelling in ("134744072", "0x08080808", "0x8.0x8.0x8.0x8", "010.010.010.010", "8.8.2056",
                     "8.526344", "0X8080808", "01002004010", "::ffff:8.8.8.8", "::ffff:808:808",
                     "0:0:0:0:0:ffff:0808:0808", "::ffff:169.254.169.254", "::ffff:10.0.0.1",
                     "2852039166", "0xa9fea9fe", "0251.0376.0251.0376"):
        yield (f"the address {spelling}", tcp, spelling)
    for address in ("2001:db8::1", "2606:4700:4700::1111", "64:ff9b::808:808", "64:ff9b::a00:1",
                    "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808", "2002:808:808::1", "2001:0:808:808::1",
                    "fd00:ec2::254", "fd00::1", "2001:db8:5::8", "2001:20::1", "100::1", "3fff::1"):
        yield (f"TCP to {address}", tcp, address)
        yield (f"UDP to {address}", udp, address)
    yield ("the machine's own loopback by IPv6", tcp, "::1", 80)
    yield ("the machine's loopback, mapped", tcp, "::ffff:127.0.0.1", 80)
    for port in (1, 7, 20, 21, 22, 23, 25, 53, 110, 123, 143, 389, 445, 465, 587, 631, 853, 993, 1080, 1194,
                 2375, 3128, 3306, 5222, 5432, 6379, 6443, 8080, 8443, 8888, 9418, 51820, 65535):
        yield (f"port {port} of a host of the list", tcp, WEB, port)
    yield ("port 443 of a host for 80", tcp, "a.cdn.example.org", 443)
    yield ("another port of an address of the list", tcp, "5.6.7.9", 81)
    for name in LED:
        yield (f"a host of the list that leads to an address: {name}", tcp, f"{name}.example.org", 80)
    yield ("a host that moves to a private address", often, "moving.example.org", 80)
    yield ("a host that moves to the metadata service", often, "turning.example.org", 80)


def protocols():
    for port in (443, 80, 53, 123, 161, 500, 514, 1194, 3478, 4500, 4789, 51820):
        yield (f"UDP to port {port}", udp, "8.8.4.4", port)
    for address in (FAR, "5.6.7.8", "5.6.7.9", "169.254.169.254", "10.0.0.1", "224.0.0.1", "239.1.2.3",
                    "ff02::1%device", "ff05::2"):
        yield (f"UDP to {address}", udp, address)
    yield ("a broadcast", udp, "255.255.255.255", None, ((1, 6, 1),))
    yield ("a broadcast of the subnet", udp, "5.6.7.255", None, ((1, 6, 1),))
    yield ("UDP with a source route", udp, FAR, None, ((0, 4, b"\x83\x07\x04\5\6\7\x08\0"),))
    yield ("UDP with a mark for policy routing", udp, FAR, None, ((1, 36, 1),))
    yield ("UDP past the routing table", udp, "5.6.7.8", None, ((1, 5, 1),))
    yield ("UDP in one segment of many", udp, FAR, None, ((17, 103, 8),))
    yield ("UDP-Lite", udp, FAR, None, (), 136)
    yield ("QUIC to a host of the list", quic, WEB)
    yield ("MPTCP", tcp, FAR, None, 262)
    yield ("MPTCP to another port of a host of the list", tcp, WEB, 8081, 262)
    yield ("TCP with bytes in the SYN", fast, FAR)
    yield ("TCP with bytes in the SYN to another port", fast, "5.6.7.9")
    for source in ("9.9.9.9", "5.6.7.8", "198.18.0.1", "127.0.0.1"):
        yield (f"a datagram of one's own making from {source}", spoofed, source)
    yield ("UDP from a foreign address", from_address, "9.9.9.9", FAR)
    yield ("UDP from the name server's address", from_address, "198.18.0.1", FAR)
    for name, number in (("ICMP", 1), ("IGMP", 2), ("IP in IP", 4), ("TCP", 6), ("UDP", 17), ("DCCP", 33),
                         ("IPv6 in IP", 41), ("GRE", 47), ("ESP", 50), ("AH", 51), ("OSPF", 89),
                         ("PIM", 103), ("VRRP", 112), ("L2TP", 115), ("SCTP", 132), ("MPLS", 137),
                         ("protocol 253", 253)):
        yield (f"a raw packet of {name}", raw, socket.AF_INET, number, FAR, b"\x08\0" + bytes(6))
    for name, number in (("ICMP", 58), ("TCP", 6), ("UDP", 17), ("SCTP", 132), ("protocol 253", 253)):
        yield (f"a raw packet of {name} by IPv6", raw, socket.AF_INET6, number, "2001:db8:5::8",
               b"\x80\0" + bytes(6))
    yield ("a ping", ping, socket.AF_INET, FAR)
    yield ("a ping to a host's address", ping, socket.AF_INET, "5.6.7.8")
    yield ("a ping by IPv6", ping, socket.AF_INET6, "2001:db8:5::8")
    yield ("a frame", frame, socket.SOCK_RAW)
    yield ("a frame with the kernel's head", frame, socket.SOCK_DGRAM)
    yield ("another host when every connection is taken", crowd)


def greetings():
    for what in HELLOS:
        yield (f"to the port for TLS: {what}", first_bytes, what)
    for what in ("another name", "no name", "HTTP", "a hidden name", "an address",
                 "another name behind the first hello", "another name behind a change of ciphers"):
        yield (f"to the port for TLS, in pieces: {what}", first_bytes, what, 0.02)


def machine():
    yield ("a socket without a file", abstract, socket.SOCK_STREAM)
    yield ("a datagram to a socket without a file", abstract, socket.SOCK_DGRAM)
    yield ("a packet to a socket without a file", abstract, socket.SOCK_SEQPACKET)
    yield ("a descriptor over a socket without a file", abstract, socket.SOCK_STREAM, "ways-out", True)
    for name, family, kind, protocol in (
            ("netlink of the firewall", 16, 3, 12), ("netlink of connections", 16, 3, 4),
            ("netlink of XFRM", 16, 3, 6), ("generic netlink", 16, 3, 16), ("netlink of audit", 16, 3, 9),
            ("netlink of devices", 16, 3, 15), ("a packet socket", 17, 3, 0), ("a packet socket, cooked",
            17, 2, 0), ("a vsock", 40, 1, 0), ("AF_ALG", 38, 5, 0), ("AF_XDP", 44, 3, 0), ("AF_KEY", 15, 3, 2),
            ("SCTP", 2, 1, 132), ("SCTP, one to many", 2, 5, 132), ("DCCP", 2, 6, 33), ("TIPC", 30, 5, 0),
            ("RDS", 21, 5, 0), ("SMC", 43, 1, 0), ("Bluetooth", 31, 3, 1), ("CAN", 29, 3, 1),
            ("L2TP", 2, 2, 115), ("PPPoX", 24, 2, 0), ("MCTP", 45, 2, 0), ("Qualcomm IPC", 42, 2, 0),
            ("raw IPv4", 2, 3, 255), ("raw IPv6", 10, 3, 255), ("KCM", 41, 5, 0), ("Phonet", 35, 2, 0)):
        yield (f"opening {name}", opened, family, kind, protocol)
    yield ("hearing of changed routes", listens, 0)
    for name, level, number, value, kind in (
            ("a mark for policy routing", 1, 36, 1, 2), ("packets for other addresses", 0, 19, 1, 2),
            ("a raw head", 0, 3, 1, 3), ("another device's bytes", 1, 25, b"lo\0", 3),
            ("debugging", 1, 1, 1, 2), ("a program of BPF", 1, 50, 1 << 20, 2),
            ("a buffer beyond the bound", 1, 32, 1 << 20, 2), ("a transparent TCP socket", 0, 19, 1, 1),
            ("repairing TCP", 6, 19, 1, 1)):
        yield (f"an option: {name}", option, level, number, value, kind)
    inet = struct.pack("HH4s8x", 2, 0, socket.inet_aton("5.6.7.77"))
    for name, request, data in (
            ("its address", 0x8916, inet), ("its netmask", 0x891C, struct.pack("HH4s8x", 2, 0, b"\xff\0\0\0")),
            ("its MTU", 0x8922, struct.pack("i", 1400)), ("its queue", 0x8943, struct.pack("i", 10)),
            ("its flags", 0x8914, struct.pack("H", 0x1043)),
            ("its hardware address", 0x8924, struct.pack("H6s", 1, b"\2\0\0\0\0\7")),
            ("a bridge", 0x89A0, b"")):
        yield (f"changing the device: {name}", device, request, data)
    target = struct.pack("BBBBBBBBI", 2, 32, 0, 0, 254, 3, 253, 1, 0) + attribute(
        1, socket.inet_aton("9.9.9.99")) + attribute(4, b"$$$$")
    address = struct.pack("BBBBI", 2, 32, 0, 0, 0)[:4] + b"$$$$" + attribute(
        2, socket.inet_aton("5.6.7.78")) + attribute(1, socket.inet_aton("5.6.7.78"))
    neighbour = struct.pack("BxxxIHBB", 2, 0, 0x80, 0, 0)[:4] + b"$$$$" + struct.pack(
        "HBB", 0x80, 0, 1) + attribute(1, socket.inet_aton("5.6.7.79")) + attribute(2, b"\2\0\0\0\0\x09")
    yield ("a route of one's own", route, 24, target)
    yield ("an address of one's own", route, 20, address)
    yield ("a neighbour of one's own", route, 28, neighbour)
    yield ("a rule of one's own", route, 32, struct.pack("BBBBBxxBI", 2, 0, 0, 0, 254, 1, 0))
    yield ("a queue of one's own", route, 36, struct.pack("BxxxiIII", 0, 0, 0x10000, 0xFFFFFFFF, 0)[:4] +
           b"$$$$" + struct.pack("III", 0x10000, 0xFFFFFFFF, 0) + attribute(1, b"pfifo\0"))
    for kind in (b"veth", b"dummy", b"bridge", b"vlan", b"macvlan", b"ipvlan", b"ifb", b"vxlan", b"gre",
                 b"sit", b"ipip", b"wireguard", b"vrf", b"bond", b"tun"):
        yield (f"a device of the kind {kind.decode()}", route, 16, link_of(kind))
    for name, words in (
            ("unshare: a network", (272, 0x40000000)),
            ("unshare: a user and a network", (272, 0x50000000)), ("unshare: mounts", (272, 0x20000)),
            ("io_uring", (425, 8, bytes(120))), ("bpf: a map", (321, 0, struct.pack("IIII", 2, 4, 4, 1).ljust(
                72, b"\0"), 72)),
            ("perf_event_open", (298, struct.pack("IIQ", 1, 120, 0).ljust(120, b"\0"), 0, -1, -1, 0)),
            ("userfaultfd", (323, 1)), ("a key", (248, b"user\0", b"x\0", b"y\0", 1, -3)),
            ("mount", (165, b"none\0", b"/tmp\0", b"tmpfs\0", 0, 0)), ("fsopen", (430, b"tmpfs\0", 0)),
            ("chroot", (161, b"/tmp\0")), ("sethostname", (170, b"x\0", 1)),
            ("open_tree", (428, -100, b"/\0", 1))):
        yield (name, call, *words)
    yield ("the network of the first process", enter, "/proc/1/ns/net")
    yield ("forwarding", writes, "/proc/sys/net/ipv4/ip_forward")
    yield ("foreign addresses", writes, "/proc/sys/net/ipv4/ip_nonlocal_bind")
    yield ("IPv6 on the device", writes, "/proc/sys/net/ipv6/conf/all/disable_ipv6", "0")
    yield ("the ports of ordinary users", writes, "/proc/sys/net/ipv4/ip_unprivileged_port_start", "80")


ROWS = [*names(), *questions(), *servers(), *addresses(), *protocols(), *greetings(), *machine()]


# --- running -------------------------------------------------------------------------------------

def _run_row(place, number):
    """Whether its act says that it has succeeded."""
    _, act, *words = ROWS[number]
    words = [_fill(word, mark(number)).replace("%device", "%" + place["device"])
             if isinstance(word, str) else word for word in words]
    try:
        return act(place, mark(number), PORT + number, *words) is True
    except (OSError, OverflowError, UnicodeError):
        return False


def main():
    """Do each row in a process of its own, some at once. Print the numbers of those that say that
    they have succeeded."""
    place = json.loads(sys.argv[1])
    left, running, done = list(place["rows"]), {}, []
    while left or running:
        while left and len(running) < place["at_once"]:
            number = left.pop(0)
            reading, writing = os.pipe()
            if os.fork() == 0:
                with contextlib.suppress(Exception):
                    if _run_row(place, number):
                        os.write(writing, b"y")
                os._exit(0)
            os.close(writing)
            running[reading] = number
        for reading in select.select(list(running), [], [])[0]:
            if os.read(reading, 1):
                done.append(running[reading])
            os.close(reading)
            del running[reading]
            os.waitpid(-1, 0)
    print(json.dumps(done))


if __name__ == "__main__":
    sys.exit(main())
