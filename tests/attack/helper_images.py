#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A taken-over supervisor starts a helper, which has neither filter nor Landlock before it confines
itself. Any file of a client passes through the supervisor, the code of a run_code call too, and it holds
the workspace's directory: a helper of its own choice reads and writes each file of the user by "..". The
control is a launcher that gave the factory that very program as msp-layers."""
import array
import fcntl
import os
import pathlib
import select
import socket
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import ipc  # noqa: E402
import support  # noqa: E402

HELPER_LAYERS = 1
SLOT = 300  # of a job
PATIENCE = 20
FREE = 40  # descriptors from here on are nobody's place

# What a shell executes that is given the workspace as its standard output.
SCRIPT = b"""exec 5<&1 1>&2
exec /usr/bin/python3 -ISc '
import os
print(os.read(os.open("../secret", os.O_RDONLY, dir_fd=5), 99).decode(), flush=True)
os.open("../new", os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=5)
print("written", flush=True)'
"""


def setUpModule():
    if os.geteuid() == 0:
        raise unittest.SkipTest("needs an ordinary user")


class Factory:
    """A factory with these files as msp-broker and msp-layers, and this test as its supervisor."""

    def __init__(self, broker, layers):
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with open(os.path.join(support.BIN, "msp-child-init"), "rb") as file:
            image = ipc.sealed(file.read())
        self.pid = os.fork()
        if self.pid == 0:
            files = [os.open(path, os.O_RDONLY) for path in ("/dev/null", broker, layers)]
            fds = [fcntl.fcntl(fd, fcntl.F_DUPFD, FREE) for fd in (theirs.fileno(), *files)]
            image = fcntl.fcntl(image, fcntl.F_DUPFD_CLOEXEC, FREE)
            for place, fd in enumerate(fds, ipc.CHANNEL_FD):
                os.dup2(fd, place)
            os.execve(image, ["msp-child-init"], {})
        theirs.close()
        os.close(image)
        with open(os.path.join(support.BIN, "builtin.policy"), "rb") as file:
            plan = ipc.sealed(file.read())
        self.send("factory_start", [plan], schema=ipc.SCHEMA, limits=ipc.LIMITS_FALLBACK)
        os.close(plan)
        self.send("factory_serve")
        self.receive()

    def send(self, name, fds=(), **fields):
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.channel.sendmsg([ipc.message(name, **fields)], rights)

    def receive(self):
        """The name of what it says, or None: it has ended."""
        if not select.select([self.channel], [], [], PATIENCE)[0]:
            raise TimeoutError("the factory says nothing")
        data, rights, _, _ = self.channel.recvmsg(1 << 18, 256)
        for _, _, part in rights:
            for fd in array.array("i", part):
                os.close(fd)
        return ipc.NAMES[int.from_bytes(data[:4], sys.byteorder)] if data else None

    def close(self):
        self.channel.close()
        os.waitpid(self.pid, 0)


class Helper(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir="/var/tmp")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "secret").write_text("a key")
        (self.folder / "project").mkdir()

    def start(self, factory, image=None):
        """What the factory says to a request for msp-layers, and what the helper writes to stderr."""
        script, ours = os.pipe()
        os.write(ours, SCRIPT)
        os.close(ours)
        said, errors = os.pipe()
        channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        workspace = os.open(self.folder / "project", os.O_PATH | os.O_DIRECTORY)
        fds = [*([] if image is None else [image]), script, workspace, errors, theirs.detach()]
        factory.send("helper_start", fds, slot=SLOT, kind=HELPER_LAYERS)
        for fd in fds:
            os.close(fd)
        answer = factory.receive()
        channel.close()
        with os.fdopen(said, "rb") as stream:
            return answer, stream.read().decode()

    def factory(self, layers):
        factory = Factory(os.path.join(support.BIN, "msp-broker"), layers)
        self.addCleanup(factory.close)
        return factory

    def test_a_program_of_the_supervisor(self):
        with open("/bin/sh", "rb") as file:
            image = ipc.sealed(file.read())
        answer, said = self.start(self.factory(os.path.join(support.BIN, "msp-layers")), image)
        self.assertIsNone(answer)
        self.assertNotIn("a key", said)
        self.assertFalse((self.folder / "new").exists())

    def test_a_helper_is_what_the_launcher_gave(self):
        answer, said = self.start(self.factory(os.path.join(support.BIN, "msp-layers")))
        self.assertEqual(answer, "helper_started")
        self.assertNotIn("a key", said)
        self.assertFalse((self.folder / "new").exists())

    def test_the_control(self):
        answer, said = self.start(self.factory("/bin/sh"))
        self.assertEqual((answer, said.split("\n")[:2]), ("helper_started", ["a key", "written"]))
        self.assertTrue((self.folder / "new").exists())


if __name__ == "__main__":
    unittest.main()
