# SPDX-License-Identifier: Apache-2.0
"""An HTTP proxy that does CONNECT and nothing else, and faults that one can have. Nothing here is a
test."""
import contextlib
import socket
import threading
import time

ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n"


def relay(source, target):
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def read_head(connection):
    head = b""
    while not head.endswith(b"\r\n\r\n") and (byte := connection.recv(1)):
        head += byte
    return head.decode()


def pieces(*parts, pause=0.05):
    """An answer that comes in parts, after which the connection echoes."""
    def answer(connection):
        for part in parts:
            connection.sendall(part)
            time.sleep(pause)
        relay(connection, connection)
    return answer


def whole(data):
    """An answer after which the connection ends."""
    return lambda connection: connection.sendall(data)


def long_head(connection):
    with contextlib.suppress(OSError):  # it is not read to its end
        connection.sendall(ESTABLISHED + b"".join(b"X-%d: y\r\n" % i for i in range(10_000)) + b"\r\n")
        relay(connection, connection)


def trickle(connection):
    with contextlib.suppress(OSError):
        for byte in ESTABLISHED:
            connection.sendall(bytes([byte]))
            time.sleep(1)


# Answers for a host, in place of a connection to it.
FAULTS = {
    "forbidden.example": whole(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno"),
    "login.example": whole(b"HTTP/1.1 407 Login\r\nProxy-Authenticate: Basic realm=\"a\"\r\n\r\n"),
    "failing.example": whole(b"HTTP/1.1 503 Service Unavailable\r\n\r\n"),
    "cut.example": whole(ESTABLISHED),
    "silent.example": lambda connection: connection.recv(1),
    "long.example": long_head,
    "trickling.example": trickle,
    "bare.example": whole(b"HTTP/1.1 200 OK\n\n"),
    "strange.example": whole(b"SSH-2.0-x\r\n"),
    "early.example": pieces(ESTABLISHED + b"\r\nSSH-2.0-x\r\n"),
    "parts.example": pieces(b"HTTP/1.1 20", b"0 OK\r\nVia: a\r", b"\n\r", b"\nSSH-", b"2.0-x\r\n"),
}


class Proxy:
    """`places`: the addresses of the names that it knows; `asked`: the request lines so far.
    `note`: called with each of them."""

    def __init__(self, address, port, places, note=None):
        self.places = places
        self.asked = []
        self.note = note or self.asked.append
        self.listener = socket.create_server((address, port), backlog=64)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):  # closed
            while True:
                connection, _ = self.listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection, contextlib.suppress(OSError):
            head = read_head(connection)
            if not head:
                return  # somebody has looked whether it listens
            line, _, fields = head.partition("\r\n")
            method, target, version = line.split(" ")
            self.note(line)
            if (method, version, fields) != ("CONNECT", "HTTP/1.1", f"Host: {target}\r\n\r\n"):
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                return
            host, _, port = target.rpartition(":")
            if host in FAULTS:
                FAULTS[host](connection)
                return
            self._connect(connection, self.places.get(host, host), int(port))

    @staticmethod
    def _connect(connection, address, port):
        try:
            far = socket.create_connection((address, port), 10)
        except OSError:
            connection.sendall(b"HTTP/1.1 502 Bad Gateway\r\n\r\n")
            return
        far.settimeout(None)
        with far:
            connection.sendall(ESTABLISHED + b"Proxy-Agent: test\r\n\r\n")
            back = threading.Thread(target=relay, args=(far, connection), daemon=True)
            back.start()
            relay(connection, far)
            back.join()

    def close(self):
        self.listener.close()
