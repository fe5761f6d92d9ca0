#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A TLS server of the list asks for another ClientHello (HelloRetryRequest), and serves the host that the
second one names; and a ClientHello that may hide another name (ECH). Clients and servers are OpenSSL.
Control: the same act beside the sandbox reaches the other host, and in the sandbox a client that keeps to
its name, or whose TLS is ended, is served."""
import os
import socket
import ssl
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import network_support  # noqa: E402
from config_support import WithFolder  # noqa: E402

NAME, HIDDEN = "web.example.org", "unlisted.example.org"
RETRY, PLAIN = 8443, 8444  # a server that knows one group of keys alone, and one that has no reason to ask
CONFIG = f"""\
profiles:
  - name: net
    extends: default
    network: hosts
    hosts: ["{NAME}:{RETRY},{PLAIN} tls", "{NAME}:443 https"]
"""
# A client that says one name in its first hello and another one from the host's first message on. Prints
# the server's line, or the reason why there is none.
CLIENT = """\
import ctypes, socket, sys
host, port, first, second, kind = sys.argv[1:]
lib = ctypes.CDLL("libssl.so.3")
for name in ("TLS_client_method", "SSL_CTX_new", "SSL_new"):
    getattr(lib, name).restype = ctypes.c_void_p
context = ctypes.c_void_p(lib.SSL_CTX_new(ctypes.c_void_p(lib.TLS_client_method())))
lib.SSL_CTX_ctrl(context, 92, 0, b"X25519:P-384:P-256")  # the key share is of the first
if kind == "old":
    lib.SSL_CTX_ctrl(context, 124, 0x303, None)
data = ctypes.create_string_buffer(b"\\0\\0\\1\\0\\1\\7\\0\\40" + bytes(32) + b"\\0\\40" + bytes(31))

@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.POINTER(ctypes.c_void_p),
                  ctypes.POINTER(ctypes.c_size_t), ctypes.c_void_p, ctypes.c_void_p)
def add(ssl, extension, out, size, alert, _):
    out[0], size[0] = ctypes.addressof(data), len(data)
    return 1

if kind == "hidden":  # as clients send it that have nothing to hide, and those that do
    lib.SSL_CTX_add_client_custom_ext(context, 0xFE0D, add, None, None, None, None)
tls = ctypes.c_void_p(lib.SSL_new(context))

def name(text):
    lib.SSL_ctrl(tls, 55, 0, text.encode())

@ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t,
                  ctypes.c_void_p, ctypes.c_void_p)
def heard(is_own, version, kind, data, size, ssl, _):
    if not is_own and kind == 22:
        name(second)

lib.SSL_set_msg_callback(tls, heard)
name(first)
connection = socket.create_connection((host, int(port)), 20)
connection.setblocking(True)
lib.SSL_set_fd(tls, connection.fileno())
if lib.SSL_connect(tls) != 1:
    sys.exit("no handshake")
if port == "443":
    lib.SSL_write(tls, b"GET /tls HTTP/1.1\\r\\nHost: web.example.org\\r\\n\\r\\n", 45)
line = ctypes.create_string_buffer(64)
size = lib.SSL_read(tls, line, 64)
print(line.raw[:max(size, 0)].decode().partition("\\r")[0])
"""


def serve():
    """In the servers' namespace: virtual hosts, each of which says its name."""
    for port in (RETRY, PLAIN):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(network_support.folder(), "certificate.pem"),
                                os.path.join(network_support.folder(), "key.pem"))
        if port == RETRY:
            context.set_ecdh_curve("secp384r1")
        context.sni_callback = lambda connection, name, _: setattr(connection, "host", name)
        listener = socket.create_server(("0.0.0.0", port))
        threading.Thread(target=take, args=(listener, context), daemon=True).start()


def take(listener, context):
    while True:
        threading.Thread(target=answer, args=(listener.accept()[0], context), daemon=True).start()


def answer(connection, context):
    try:
        with context.wrap_socket(connection, server_side=True) as tls:
            network_support.note("tls", tls.host)
            tls.sendall(f"{tls.host} over {tls.version()}".encode())
            tls.recv(1)
    except (OSError, AttributeError):
        pass


def beside(*words):
    return subprocess.run([sys.executable, "-c", CLIENT, *map(str, words)], capture_output=True,
                          text=True, check=False).stdout


class WithHellos(WithFolder):
    def setUp(self):
        super().setUp()
        self.config = self.write(CONFIG)

    def within(self, *words):
        return self.run_msp("python3", "-c", CLIENT, *map(str, words), options=("--profile", "net"),
                            MSP_CONFIG=self.config)


class SecondHello(WithHellos):
    def test_the_act_works_beside_the_sandbox(self):
        self.assertEqual(beside(NAME, RETRY, NAME, HIDDEN, "new"), f"{HIDDEN} over TLSv1.3\n")

    def test_a_second_hello_for_another_host(self):
        before = network_support.asked("tls").count(HIDDEN)
        result = self.within(NAME, RETRY, NAME, HIDDEN, "new")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("no handshake", result.stderr)
        self.assertIn(f"denied: connect {NAME}:{RETRY}", result.stderr)
        self.assertEqual(network_support.asked("tls").count(HIDDEN), before)

    def test_a_second_hello_for_the_same_host(self):
        result = self.within(NAME, RETRY, NAME, NAME.upper(), "new")
        self.assertEqual(result.stdout.lower(), f"{NAME} over tlsv1.3\n", result.stderr)

    def test_hosts_that_do_not_ask(self):
        for port, versions, shown in ((PLAIN, "new", "TLSv1.3"), (PLAIN, "old", "TLSv1.2"),
                                      (RETRY, "old", "TLSv1.2")):
            with self.subTest(port=port, versions=versions):
                result = self.within(NAME, port, NAME, HIDDEN, versions)
                self.assertEqual(result.stdout, f"{NAME} over {shown}\n", result.stderr)


class HiddenName(WithHellos):
    def test_a_hello_that_may_hide_a_name(self):
        served = network_support.asked("tls").count(NAME)
        result = self.within(NAME, PLAIN, NAME, NAME, "hidden")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(f"denied: connect {NAME}:{PLAIN} by network: hidden name: use kind https",
                      result.stderr)
        self.assertNotIn("tcp", result.stderr)
        self.assertEqual(network_support.asked("tls").count(NAME), served)

    def test_a_server_that_is_told_beside_the_sandbox(self):
        self.assertEqual(beside(NAME, PLAIN, NAME, NAME, "hidden"), f"{NAME} over TLSv1.3\n")

    def test_the_kind_of_the_remedy(self):
        """msp ends this TLS, and has the keys of no hidden name."""
        result = self.within(NAME, 443, NAME, NAME, "hidden")
        self.assertEqual(result.stdout, "HTTP/1.1 200 OK\n", result.stderr)


network_support.STARTS.append(serve)
network_support.HOSTS[NAME] = lambda request: request.answer(200, b"")

if __name__ == "__main__":
    network_support.main()
