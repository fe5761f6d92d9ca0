#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The broker's own confinement, seen from outside, at the moment it says hello: before that it has
not read a byte of its client."""
import array
import fcntl
import os
import re
import socket
import subprocess
import termios
import unittest

import support

BROKER = os.path.join(support.BIN, "msp-broker")
SOFTWARE = 70


def status(pid):
    """Name to value of /proc/PID/status."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def start(channel, extra=(), **keywords):
    """msp-broker with `channel` as its descriptor 3."""
    def place():
        os.dup2(channel, 3)
        for number, fd in enumerate(extra, 10):
            os.dup2(fd, number)

    # pylint: disable-next=subprocess-popen-preexec-fn # one thread
    return subprocess.Popen([BROKER], preexec_fn=place, close_fds=False, stderr=subprocess.PIPE,
                            **keywords)


class Confined(unittest.TestCase):
    def check(self, pid):
        facts = status(pid)
        self.assertEqual(facts["NoNewPrivs"], "1")
        self.assertEqual(facts["Seccomp"], "2")
        self.assertEqual(facts["Threads"], "1")
        for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            self.assertEqual(int(facts[name], 16), 0, name)
        with open(f"/proc/{pid}/limits", encoding="utf-8") as file:
            limits = file.read()
        for name, most in (("Max address space", 1 << 30), ("Max core file size", 0)):
            found = re.search(rf"^{name}\s+(\d+)\s+(\d+)\s", limits, re.M)
            self.assertEqual([int(number) for number in found.groups()], [most, most], name)

    def test_before_the_first_byte(self):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        reader, writer = os.pipe()
        os.write(writer, b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        process = start(theirs.fileno(), extra=[writer, reader], stdin=reader,
                        stdout=subprocess.PIPE)
        theirs.close()
        try:
            self.assertTrue(ours.recv(1000), "hello")
            self.check(process.pid)
            left = array.array("i", [0])
            fcntl.ioctl(reader, termios.FIONREAD, left)
            self.assertEqual(left[0], 41, "nothing was read")
            self.check_descriptors(process.pid)
        finally:
            ours.close()
            self.assertEqual(process.wait(60), SOFTWARE)
            self.assertIn(b"supervisor is gone", process.stderr.read())
            process.stdout.close()
            process.stderr.close()
            os.close(reader)
            os.close(writer)

    def check_descriptors(self, pid):
        """0 to 3, an epoll and the event library's own pipe: nothing inherited is left."""
        try:
            names = os.listdir(f"/proc/{pid}/fd")
        except PermissionError: # it is not dumpable: only root may look
            return
        kinds = sorted(re.sub(r"[:\[].*", "", os.readlink(f"/proc/{pid}/fd/{name}"))
                       for name in names if int(name) > 3)
        self.assertEqual(kinds, ["anon_inode", "pipe", "pipe"])

    def test_under_the_supervisor(self):
        with support.Server() as server:
            server.initialize()
            found = [pid for pid in support.descendants(server.process.pid)
                     if status(pid)["Name"] == "msp-broker"]
            self.assertEqual(len(found), 1)
            self.check(found[0])
            self.assertEqual(int(status(found[0])["CapBnd"], 16), 0)

    def expect_refusal(self, process, part):
        text = process.stderr.read()
        self.assertEqual(process.wait(60), SOFTWARE)
        self.assertIn(part, text)
        process.stderr.close()

    def test_started_by_hand(self):
        null = os.open("/dev/null", os.O_RDWR)
        self.addCleanup(os.close, null)
        self.expect_refusal(start(null, stdin=null, stdout=null), b"started by msp-supervisor")
        stream, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.expect_refusal(start(stream.fileno(), stdin=null, stdout=null),
                            b"started by msp-supervisor")
        stream.close()
        other.close()


if __name__ == "__main__":
    unittest.main()
