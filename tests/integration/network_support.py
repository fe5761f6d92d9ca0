# SPDX-License-Identifier: Apache-2.0
"""A machine of one's own with a network: a test program runs again as an ordinary user in a user,
network and mount namespace, from which a cable leads to another network namespace with servers of
names, HTTP and TLS. Nothing here is a test."""
import collections
import contextlib
import ctypes
import http.server
import json
import os
import shutil
import signal
import socket
import socketserver
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import support

CLONE_NEWNS, CLONE_NEWNET, PR_SET_PDEATHSIG = 0x20000, 0x40000000, 1
OWN, SERVER, OTHER, INSIDE = "5.6.7.1", "5.6.7.8", "5.6.7.9", "10.77.7.7"
# The addresses of names, in the order in which they are answered; "=name": an alias of that name. A list
# of lists is one answer after the other, each for no time at all.
NAMES = {
    "web.example.org": [SERVER],
    "a.cdn.example.org": [SERVER],
    "unlisted.example.org": [SERVER],
    "private.example.org": [INSIDE],
    "inside.example.org": [INSIDE],
    "own.example.org": [OWN],
    "loop.example.org": ["127.0.0.1"],
    "many.example.org": [INSIDE, "127.0.0.1", SERVER],
}
PORTS = (80, 8080, 9000)
# What a test program adds before main(): answers of a host, {name: function(request)}; and functions
# without an argument, which the servers' namespace, and the machine as its root, call at last.
HOSTS = {}
STARTS = []
CONTROLS = []
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
_LIBC = ctypes.CDLL(None, use_errno=True)


def folder():
    """Where the certificate lies and the servers write what they were asked."""
    return os.environ["MSP_TEST_NETWORK"]


def certificate():
    """The certificate of the authority that vouches for the servers, as text."""
    with open(os.path.join(folder(), "ca.pem"), encoding="ascii") as file:
        return file.read()


def asked(kind=None):
    """What the servers were asked: [kind, text] in turn."""
    with open(os.path.join(folder(), "asked"), encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    return [text for its, text in lines if kind in (None, its)]


def with_control(place, name, control):
    """A folder of the programs under test with a test's program in the place of one; the path of its
    msp."""
    shutil.copytree(support.BIN, place)
    shutil.copy(os.path.join(os.path.dirname(support.BIN), "controls", control),
                os.path.join(place, name))
    return os.path.join(place, "msp")


def without_list(place):
    """The same, with an msp-dial whose list has every host."""
    return with_control(place, "msp-dial", "dial-without-list")


def note(kind, text):
    with open(os.path.join(folder(), "asked"), "a", encoding="utf-8") as file:
        file.write(json.dumps([kind, text]) + "\n")


def _read_name(packet):
    labels, at = [], 12
    while packet[at]:
        labels.append(packet[at + 1:at + 1 + packet[at]].decode())
        at += 1 + packet[at]
    return ".".join(labels).lower(), packet[at + 1:at + 3], packet[12:at + 5]


def _answers(name, kind, turn):
    """The records of a name, those of an alias' target after it; None if it does not exist."""
    rows = {**NAMES, **dict.fromkeys(HOSTS, [SERVER])}.get(name)
    if rows is None:
        return None
    is_moving = bool(rows) and isinstance(rows[0], list)
    if is_moving:
        rows = rows[turn % len(rows)]
    owner = b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"
    found = []
    for row in rows:
        kind_of = 5 if row.startswith("=") else 28 if ":" in row else 1
        if kind_of == 5:
            data = b"".join(bytes([len(label)]) + label.encode() for label in row[1:].split(".")) + b"\0"
        else:
            data = socket.inet_pton(socket.AF_INET if kind_of == 1 else socket.AF_INET6, row)
        if kind_of in (kind, 5):
            found.append(owner + struct.pack("!HHIH", kind_of, 1, 0 if is_moving else 60, len(data)) +
                         data)
        if kind_of == 5:
            found += _answers(row[1:], kind, turn)
    return found


class _Dns(socketserver.BaseRequestHandler):
    turns = collections.Counter()

    def handle(self):
        packet, sock = self.request
        try:
            name, kind, question = _read_name(packet)
        except (IndexError, UnicodeDecodeError):
            return
        kind = struct.unpack("!H", kind)[0]
        note("name", name)
        found = _answers(name, kind, self.turns[name, kind])
        self.turns[name, kind] += 1
        sock.sendto(packet[:2] + struct.pack("!HHHHH", 0x8183 if found is None else 0x8180, 1,
                                             len(found or ()), 0, 0) + question + b"".join(found or ()),
                    self.client_address)


class _Http(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body, kind="application/octet-stream"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(OSError):  # a client need not read all
            self.wfile.write(body)

    def do_GET(self):
        host = self.headers.get("Host", "").partition(":")[0]
        if host in HOSTS:
            note(host, self.path)
            return HOSTS[host](self)
        note("path", f"{self.server.server_address[1]}{self.path}")
        if self.path.startswith("/slow"):
            time.sleep(60)
        size = int(self.path[7:]) if self.path.startswith("/bytes/") else 0
        return self.answer(200, b"x" * size if size else b"hello from the server\n")

    do_POST = do_GET

    def log_message(self, *_):
        pass


def _serve(ready):
    _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if _LIBC.unshare(CLONE_NEWNET | CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    os.write(ready[1], b"n")
    while not os.path.exists("/sys/class/net/x") and not _has_device("srv0"):
        time.sleep(0.01)
    for words in (["link", "set", "lo", "up"], ["addr", "add", f"{SERVER}/24", "dev", "srv0"],
                  ["addr", "add", f"{OTHER}/24", "dev", "srv0"],
                  ["addr", "add", f"{INSIDE}/32", "dev", "lo"], ["link", "set", "srv0", "up"]):
        subprocess.run(["ip", *words], check=True)
    servers = [socketserver.ThreadingUDPServer(("0.0.0.0", 53), _Dns)]
    servers += [http.server.ThreadingHTTPServer(("0.0.0.0", port), _Http) for port in PORTS]
    servers.append(http.server.ThreadingHTTPServer(("0.0.0.0", 443), _Http))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.path.join(folder(), "certificate.pem"),
                            os.path.join(folder(), "key.pem"))
    servers[-1].socket = context.wrap_socket(servers[-1].socket, server_side=True)
    for start in STARTS:
        start()
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    os.write(ready[1], b"s")
    signal.pause()


def _has_device(name):
    return any(name == device for _, device in socket.if_nameindex())


def _make_machine():
    """In the namespaces, as their root: the cable, the servers, and the file with their address."""
    ready = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _serve(ready)
        finally:
            os._exit(1)
    os.read(ready[0], 1)
    for words in (["link", "add", "up0", "type", "veth", "peer", "name", "srv0", "netns",
                   str(child)],
                  ["link", "set", "lo", "up"], ["addr", "add", f"{OWN}/24", "dev", "up0"],
                  ["link", "set", "up0", "up"], ["route", "add", "default", "via", SERVER]):
        subprocess.run(["ip", *words], check=True)
    with open(os.path.join(folder(), "resolv.conf"), "w", encoding="ascii") as file:
        file.write(f"nameserver {SERVER}\n")
    subprocess.run(["mount", "--bind", os.path.join(folder(), "resolv.conf"),
                    os.path.realpath("/etc/resolv.conf")], check=True)
    if HOSTS:
        _trust_authority()
    os.close(ready[1])
    if os.read(ready[0], 1) != b"s":
        raise RuntimeError("the servers did not start")
    return child


def _make_certificate(place):
    """An authority of one's own, and the servers' certificate for all names."""
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    names = ",".join(f"DNS:{name}" for name in (*NAMES, *HOSTS))
    for words in (["-subj", "/CN=authority of the tests", "-keyout", "ca.key", "-out", "ca.pem"],
                  ["-subj", "/CN=tests", "-CA", "ca.pem", "-CAkey", "ca.key", "-addext",
                   "basicConstraints=critical,CA:FALSE", "-addext", f"subjectAltName={names}",
                   "-keyout", "key.pem", "-out", "certificate.pem"]):
        subprocess.run(["openssl", "req", "-x509", *key, *words], cwd=place, check=True,
                       capture_output=True)


def _trust_authority():
    """The machine's bundle with the authority in it, as an operator adds one of his own."""
    own = os.path.join(folder(), "certs")
    shutil.copytree(os.path.dirname(BUNDLE), own, symlinks=True)
    name = os.path.join(own, os.path.basename(BUNDLE))
    with open(BUNDLE, encoding="utf-8") as file:
        text = file.read()
    os.unlink(name)
    with open(name, "w", encoding="utf-8") as file:
        file.write(text + certificate())
    os.chmod(name, 0o644)
    subprocess.run(["mount", "--bind", own, os.path.dirname(BUNDLE)], check=True)


def main(run=unittest.main):
    """Run the tests of the main program in such a machine, or something else."""
    stage = os.environ.get("MSP_TEST_NETWORK_STAGE")
    if stage == "inside":
        run()
        sys.exit(0)
    missing = [name for name in ("ip", "mount", "openssl", "unshare") if not shutil.which(name)]
    if missing or subprocess.run(["unshare", "--user", "--map-root-user", "--net", "true"],
                                 capture_output=True, check=False).returncode != 0:
        print("skipped: a network namespace cannot be made here:", *missing)
        sys.exit(77)
    if stage is None:
        os.umask(0o022)
        with tempfile.TemporaryDirectory(prefix="msp-network-") as place:
            os.chmod(place, 0o755)
            _make_certificate(place)
            with open(os.path.join(place, "asked"), "w", encoding="ascii"):
                pass
            os.environ.update(MSP_TEST_NETWORK=place, MSP_TEST_NETWORK_STAGE="root")
            sys.exit(subprocess.run(["unshare", "--user", "--map-root-user", "--net", "--mount",
                                     "--", sys.executable, "-B", *sys.argv], check=False).returncode)
    child = _make_machine()
    for control in CONTROLS:
        control()
    os.environ["MSP_TEST_NETWORK_STAGE"] = "inside"
    try:
        code = subprocess.run(["unshare", "--user", "--map-user=1000", "--map-group=1000", "--",
                               sys.executable, "-B", *sys.argv], check=False).returncode
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    sys.exit(code)
