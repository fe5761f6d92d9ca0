#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nothing of the host answers over any kind of socket; the host's listeners here are real and
answer the same act outside."""
import os
import socket
import threading
import unittest
import uuid

import probes
import support

setUpModule = probes.needs_ordinary_user


class Listener:
    """A socket of the host that accepts or echoes until it is closed."""

    def __init__(self, family, kind, address):
        self.socket = socket.socket(family, kind)
        self.socket.bind(address)
        self.accepted = []
        if kind == socket.SOCK_STREAM:
            self.socket.listen(8)
            threading.Thread(target=self._accept, daemon=True).start()
        else:
            threading.Thread(target=self._echo, daemon=True).start()

    def _accept(self):
        while True:
            try:
                self.accepted.append(self.socket.accept()[0])
            except OSError:
                return

    def _echo(self):
        while True:
            try:
                data, sender = self.socket.recvfrom(64)
            except OSError:
                return
            self.accepted.append(data)
            if sender:
                self.socket.sendto(data, sender)

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()
        for connection in self.accepted:
            if isinstance(connection, socket.socket):
                connection.close()


class Sockets(probes.Attack):
    def listener(self, family, kind, address):
        listener = Listener(family, kind, address)
        self.addCleanup(listener.close)
        return listener

    def own_addresses(self):
        """127.0.0.1 and the address that the host would use towards the world, if it has one."""
        addresses = ["127.0.0.1"]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect(("192.0.2.1", 9))
                addresses.append(probe.getsockname()[0])
            except OSError:
                pass
        return addresses

    def test_tcp_listener_of_the_host(self):
        listener = self.listener(socket.AF_INET, socket.SOCK_STREAM, ("0.0.0.0", 0))
        port = listener.socket.getsockname()[1]
        for address in self.own_addresses():
            with self.subTest(address=address):
                self.assert_refused(probes.in_sandbox("connect", address, port),
                                    "ECONNREFUSED" if address == "127.0.0.1" else "ENETUNREACH")
        self.assertEqual(listener.accepted, [])
        self.assert_succeeded(probes.in_sandbox("connect", "127.0.0.1", port, without="network"))
        self.assert_succeeded(probes.on_host("connect", "127.0.0.1", port))

    def test_udp_listener_of_the_host(self):
        listener = self.listener(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))
        port = listener.socket.getsockname()[1]
        self.assert_refused(probes.in_sandbox("datagram", "127.0.0.1", port), "ECONNREFUSED")
        self.assertEqual(listener.accepted, [])
        self.assert_succeeded(probes.in_sandbox("datagram", "127.0.0.1", port, without="network"))

    def test_there_is_no_way_out(self):
        for address in ("192.0.2.1", "8.8.8.8", "169.254.169.254", "10.0.0.1"):
            with self.subTest(address=address):
                self.assert_refused(probes.in_sandbox("connect", address, 80), "ENETUNREACH")
                self.assert_refused(probes.in_sandbox("datagram", address, 53), "ENETUNREACH")

    def test_abstract_sockets(self):
        name = "msp-test-" + uuid.uuid4().hex
        listener = self.listener(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + name)
        self.assert_refused(probes.in_sandbox("unix-connect", "@" + name), "ECONNREFUSED")
        # In the host's network namespace Landlock's scope is what stops it, without both nothing.
        self.assert_refused(probes.in_sandbox("unix-connect", "@" + name, without="network"),
                            "EPERM")
        self.assertEqual(listener.accepted, [])
        self.assert_succeeded(
            probes.in_sandbox("unix-connect", "@" + name, without="landlock-network"))
        self.assert_succeeded(probes.on_host("unix-connect", "@" + name))

    def test_abstract_datagrams(self):
        name = "msp-test-" + uuid.uuid4().hex
        listener = self.listener(socket.AF_UNIX, socket.SOCK_DGRAM, "\0" + name)
        self.assert_refused(probes.in_sandbox("unix-datagram", "@" + name), "ECONNREFUSED")
        self.assert_refused(probes.in_sandbox("unix-datagram", "@" + name, without="network"),
                            "EPERM")
        self.assertEqual(listener.accepted, [])
        self.assert_succeeded(
            probes.in_sandbox("unix-datagram", "@" + name, without="landlock-network"))

    def test_sockets_with_paths(self):
        folder = probes.scratch()
        path = os.path.join(folder, "socket")
        self.listener(socket.AF_UNIX, socket.SOCK_STREAM, path)
        self.assert_succeeded(probes.on_host("unix-connect", path))
        self.assert_refused(probes.in_sandbox("unix-connect", path), "ENOENT")
        for known in ("/run/dbus/system_bus_socket", "/var/run/docker.sock", "/run/docker.sock",
                      f"/run/user/{os.getuid()}/bus", "/run/systemd/private", "/dev/log",
                      "/tmp/.X11-unix/X0", "/run/containerd/containerd.sock",
                      f"/run/user/{os.getuid()}/msp/supervisor.sock"):
            with self.subTest(path=known):
                self.assert_refused(probes.in_sandbox("unix-connect", known), "ENOENT")
                self.assert_refused(probes.in_sandbox("unix-datagram", known), "ENOENT")

    def test_no_socket_or_block_device_anywhere(self):
        path = os.path.join(probes.scratch(), "another")
        self.listener(socket.AF_UNIX, socket.SOCK_STREAM, path)
        self.assert_succeeded(probes.on_host("find-special", probes.scratch()))
        self.assert_refused(probes.in_sandbox("find-special", "/"), "ENOENT")

    def test_run_is_empty(self):
        result = support.run("ls", "-A", "/run", "/var/run/")
        self.assertEqual(result.stdout, "/run:\n\n/var/run/:\n")

    def test_names_are_not_resolved(self):
        code = ("import socket, time\n"
                "for name in ('example.com', 'host.docker.internal', 'metadata.google.internal'):\n"
                "    try:\n"
                "        print(socket.getaddrinfo(name, 80))\n"
                "    except socket.gaierror:\n"
                "        pass\n"
                "print(socket.getaddrinfo('localhost', 80)[0][4][0])\n")
        result = support.run_python(code)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn(result.stdout.strip(), ("127.0.0.1", "::1"))

    def test_loopback_is_the_only_interface(self):
        result = support.run_python("import socket; print(socket.if_nameindex())")
        self.assertEqual(result.stdout, "[(1, 'lo')]\n", result.stderr)
        self.assertNotEqual([name for _, name in socket.if_nameindex()], ["lo"],
                            "the host has more, or this shows nothing")


if __name__ == "__main__":
    unittest.main()
