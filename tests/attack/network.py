#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nothing of the host answers over any kind of socket; the host's listeners here are real and
answer the same act outside."""
import os
import shutil
import socket
import tempfile
import threading
import unittest
import uuid

import evidence
import probes
import support
from http_support import HttpServer

setUpModule = probes.needs_ordinary_user


class Listener:
    """A socket of the host that accepts or echoes until it is closed."""

    def __init__(self, family, kind, address):
        self.socket = socket.socket(family, kind)
        self.socket.bind(address)
        self.accepted = []
        if kind != socket.SOCK_DGRAM:
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


HOSTS = """\
profiles:
  - name: net
    extends: default
    network: hosts
    hosts: ["example.org:443,80", "10.20.30.40:5432"]
"""


class Listeners(probes.Attack):
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


class Hosts(Listeners):
    """With a way to some hosts, which are others. In the control that has the host's network, no
    cable is made."""

    def setUp(self):
        super().setUp()
        path = os.path.join(probes.scratch(), "hosts.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(HOSTS)
        self.options = ("--config", path, "--profile", "net")

    @evidence.attack("T17", "TCP to a listener of the host, where the profile has hosts", "network")
    def test_tcp_listener_of_the_host(self):
        listener = self.listener(socket.AF_INET, socket.SOCK_STREAM, ("0.0.0.0", 0))
        for address in self.own_addresses():
            with self.subTest(address=address):
                port = listener.socket.getsockname()[1]
                self.assert_refused(probes.in_sandbox("connect", address, port,
                                                      options=self.options), "ECONNREFUSED")
                self.assertEqual(listener.accepted, [])
        for address in self.own_addresses():
            with self.subTest(address=address):
                self.prove("connect", address, port, errors=("ECONNREFUSED",),
                           options=self.options)

    @evidence.attack("T17", "UDP to a listener of the host, where the profile has hosts", "network")
    def test_udp_listener_of_the_host(self):
        listener = self.listener(socket.AF_INET, socket.SOCK_DGRAM, ("0.0.0.0", 0))
        for address in self.own_addresses():
            self.prove("datagram", address, listener.socket.getsockname()[1],
                       errors=("ECONNREFUSED",), options=self.options)

    @evidence.attack("T17", "data in the name of a DNS query, where the profile has hosts",
                     "network")
    def test_tunnel_through_names(self):
        listener = self.listener(socket.AF_INET, socket.SOCK_DGRAM, ("0.0.0.0", 0))
        secret = "secret-" + uuid.uuid4().hex
        for address in self.own_addresses():
            self.prove("ask-name", secret, address, listener.socket.getsockname()[1],
                       errors=("EAGAIN", "ECONNREFUSED"), options=self.options)
        self.assertTrue(any(secret.encode() in data for data in listener.accepted), "the control")

    def test_there_is_no_other_way_out(self):
        for act, port in (("connect", 81), ("connect", 22), ("datagram", 443)):
            for address in ("192.0.2.1", "169.254.169.254", "10.0.0.1", "127.0.0.1"):
                with self.subTest(act=act, address=address, port=port):
                    outcome = probes.in_sandbox(act, address, port, options=self.options)
                    self.assert_refused(outcome, "ECONNREFUSED")


class Sockets(Listeners):
    @evidence.attack("T17", "TCP to a listener of the host", "network")
    def test_tcp_listener_of_the_host(self):
        listener = self.listener(socket.AF_INET, socket.SOCK_STREAM, ("0.0.0.0", 0))
        port = listener.socket.getsockname()[1]
        for address in self.own_addresses():
            with self.subTest(address=address):
                self.assert_refused(probes.in_sandbox("connect", address, port),
                                    "ECONNREFUSED" if address == "127.0.0.1" else "ENETUNREACH")
                self.assertEqual(listener.accepted, [])
        for address in self.own_addresses():
            with self.subTest(address=address):
                self.prove("connect", address, port, errors=("ECONNREFUSED", "ENETUNREACH"))

    @evidence.attack("T17", "TCP to a listener of the host, where the profile gives no network",
                     "landlock", "network", "seccomp")
    def test_tcp_without_a_network(self):
        listener = self.listener(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        self.prove("connect", "127.0.0.1", listener.socket.getsockname()[1],
                   errors=("EPERM", "EACCES", "ECONNREFUSED"), options=("--profile", "strict"))

    @evidence.attack("T17", "TCP over IPv6 to a listener of the host", "network")
    def test_ipv6_listener_of_the_host(self):
        try:
            listener = self.listener(socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0))
        except OSError:
            self.not_here("this machine has no IPv6")
        self.prove("connect", "::1", listener.socket.getsockname()[1],
                   errors=("ECONNREFUSED", "EADDRNOTAVAIL", "ENETUNREACH"))

    @evidence.attack("T17", "UDP to a listener of the host", "network")
    def test_udp_listener_of_the_host(self):
        listener = self.listener(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))
        port = listener.socket.getsockname()[1]
        self.assert_refused(probes.in_sandbox("datagram", "127.0.0.1", port), "ECONNREFUSED")
        self.assertEqual(listener.accepted, [])
        self.prove("datagram", "127.0.0.1", port, errors=("ECONNREFUSED",))

    @evidence.attack("T17", "data in the name of a DNS query", "network")
    def test_tunnel_through_names(self):
        listener = self.listener(socket.AF_INET, socket.SOCK_DGRAM, ("0.0.0.0", 0))
        port = listener.socket.getsockname()[1]
        secret = "secret-" + uuid.uuid4().hex
        for address in self.own_addresses():
            # Nobody listens on the sandbox's own loopback: no answer comes.
            self.prove("ask-name", secret, address, port, errors=("EAGAIN", "ENETUNREACH"))
        self.assertTrue(any(secret.encode() in data for data in listener.accepted), "the control")

    @evidence.attack("T17", "any interface but a loopback", "network")
    def test_interfaces(self):
        if [name for _, name in socket.if_nameindex()] == ["lo"]:
            self.not_here("this machine has no other interface either")
        self.prove("see-interfaces", errors=("ENODEV", "ENXIO"))

    def test_there_is_no_way_out(self):
        self.assert_each_refused([
            (act, address, port) for act, port in (("connect", 80), ("datagram", 53))
            for address in ("192.0.2.1", "8.8.8.8", "169.254.169.254", "10.0.0.1", "2001:db8::1")],
            "ENETUNREACH")

    @evidence.attack("T14", "abstract unix sockets of the host", "landlock", "network")
    def test_abstract_sockets(self):
        for name in ("msp-test-" + uuid.uuid4().hex, f"/tmp/.X11-unix/X{os.getpid()}"):
            listener = self.listener(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + name)
            self.assert_refused(probes.in_sandbox("unix-connect", "@" + name), "ECONNREFUSED")
            # In the host's network namespace Landlock's scope is what stops it.
            self.assert_refused(probes.in_sandbox("unix-connect", "@" + name, without="network"),
                                "EPERM")
            self.assertEqual(listener.accepted, [])
            self.prove("unix-connect", "@" + name, errors=("ECONNREFUSED", "EPERM"))

    @evidence.attack("T14", "datagrams to abstract unix sockets of the host", "landlock", "network",
                     "seccomp")
    def test_abstract_datagrams(self):
        name = "msp-test-" + uuid.uuid4().hex
        listener = self.listener(socket.AF_UNIX, socket.SOCK_DGRAM, "\0" + name)
        self.assert_refused(probes.in_sandbox("unix-datagram", "@" + name), "EPERM")
        self.assertEqual(listener.accepted, [])
        self.prove("unix-datagram", "@" + name, errors=("ECONNREFUSED", "EPERM"))

    def known_sockets(self):
        """Where servers of a desktop and of a machine listen; one of them is there for sure."""
        run = f"/run/user/{os.getuid()}"
        made = os.path.join("/tmp/.X11-unix", f"X{os.getpid()}")
        folder = os.path.dirname(made)
        if not os.path.isdir(folder):
            os.mkdir(folder)
            self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        self.listener(socket.AF_UNIX, socket.SOCK_STREAM, made)
        self.addCleanup(os.unlink, made)
        return (made, run + "/msp/supervisor.sock", run + "/bus", run + "/systemd/private",
                run + "/systemd/notify", "/run/dbus/system_bus_socket", "/run/systemd/private",
                "/run/systemd/journal/stdout", "/run/systemd/journal/dev-log", "/dev/log",
                "/run/docker.sock", "/var/run/docker.sock", "/run/containerd/containerd.sock",
                "/run/podman/podman.sock", "/tmp/.X11-unix/X0", run + "/wayland-0",
                run + "/gnupg/S.gpg-agent", run + "/pipewire-0")

    @evidence.attack("T14", "session and system bus, systemd, Docker, X11 by their paths", "root")
    def test_known_sockets(self):
        paths = self.known_sockets()
        self.assert_each_refused([("unix-datagram", path) for path in paths], "EPERM")
        self.assert_each_refused([("unix-connect", path) for path in paths], "ENOENT")
        for path in paths:
            with self.subTest(path=path):
                if probes.on_host("unix-connect", path).word == "succeeded":
                    self.prove_by(lambda without, path=path: probes.in_sandbox(
                        "unix-connect", "/../host" + os.path.realpath(path), without=without),
                        ("ENOENT",))

    @evidence.attack("T14", "a server's socket by its path", "root")
    def test_sockets_with_paths(self):
        """Connecting to a path is no right of Landlock's before ABI 9: the file must not be there.
        The control is the host's tree left in reach."""
        path = os.path.join(probes.scratch(), "socket")
        listener = self.listener(socket.AF_UNIX, socket.SOCK_STREAM, path)
        self.assert_refused(probes.in_sandbox("unix-connect", path), "ENOENT")
        self.assertEqual(listener.accepted, [])
        self.prove_by(lambda without: probes.in_sandbox(
            "unix-connect", "/../host" + path, without=without), ("ENOENT",))

    @evidence.attack("T24", "the supervisor's own socket", "root")
    def test_control_socket(self):
        """Of the service where one runs, else of a server in its place: by its name, and where the
        tree that a sandbox is made in has it."""
        path = f"/run/user/{os.getuid()}/msp/supervisor.sock"
        self.assert_refused(probes.in_sandbox("unix-packet", path), "ENOENT")
        if not os.path.exists(path):
            path = os.path.join(probes.scratch(), "supervisor.sock")
            self.listener(socket.AF_UNIX, socket.SOCK_SEQPACKET, path)
        acts = [act for act in ("unix-packet", "unix-connect")
                if probes.on_host(act, path).word == "succeeded"]
        self.assertTrue(acts, "somebody answers there")
        self.assert_refused(probes.in_sandbox(acts[0], path), "ENOENT")
        self.prove_by(lambda without: probes.in_sandbox(
            acts[0], "/../host" + path, without=without), ("ENOENT",))

    @evidence.attack("T24", "the HTTP server", "network")
    def test_http_server(self):
        with HttpServer() as server:
            self.prove("connect", "127.0.0.1", server.port, errors=("ECONNREFUSED",))

    @evidence.attack("T24", "the HTTP server's socket file", "root")
    def test_http_socket(self):
        with HttpServer(unix=True, tokens=()) as server:
            self.assert_refused(probes.in_sandbox("unix-connect", server.path), "ENOENT")
            self.prove_by(lambda without: probes.in_sandbox(
                "unix-connect", "/../host" + server.path, without=without), ("ENOENT",))

    def test_a_socket_in_a_shown_folder(self):
        """What README says of --ro: before Landlock's ABI 9 nothing stops it but not showing it."""
        folder = tempfile.mkdtemp(dir=probes.scratch())
        path = os.path.join(folder, "socket")
        self.listener(socket.AF_UNIX, socket.SOCK_STREAM, path)
        outcome = probes.in_sandbox("unix-connect", "/shown/socket",
                                    options=("--ro", folder + ":/shown"))
        if evidence.environment()["landlock"] < 9:
            self.assert_succeeded(outcome)

    @evidence.attack("T14", "finding a socket or a block device anywhere", "root")
    def test_no_socket_or_block_device_anywhere(self):
        path = os.path.join(probes.scratch(), "another")
        self.listener(socket.AF_UNIX, socket.SOCK_STREAM, path)
        self.prove("find-special", "/", errors=("ENOENT",), host=(probes.scratch(),))

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


if __name__ == "__main__":
    unittest.main()
