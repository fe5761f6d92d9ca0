#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a frontend learns of the policy it is under: the plan, which it cannot change, and how much
output each profile wants kept."""
import fcntl
import mmap
import os
import re
import struct
import subprocess
import unittest

import ipc
import leftovers
import support

F_GET_SEALS = 1034
M = 1 << 20


def setUpModule():
    if os.geteuid() == 0:
        raise unittest.SkipTest("needs an ordinary user")
    leftovers.become_reaper()


def members(struct_name):
    """(name, bytes, alignment) of each member of a struct of the plan."""
    text = ipc.read_common("plan/plan.h") + ipc.read_common("limits.h")
    body = re.search(rf"struct {struct_name} \{{(.*?)\n\}};", text, re.S)[1]
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    found = []
    for bits, inner, names in re.findall(r"(?:uint(\d+)_t|struct (\w+)|char) ([^;]+);", body):
        bits = bits or not inner and 8  # a char
        size = int(bits) // 8 if bits else sum(part for _, part, _ in members(inner))
        alignment = size if bits else max(part for _, _, part in members(inner))
        for name in names.split(","):
            name, _, count = name.strip().rstrip("]").partition("[")
            if count and not count.isdigit():
                count = re.search(rf"#define {count} (\d+)", text)[1]
            times = int(count) if count else 1
            found.append((name, size * times, alignment))
    return found


def record(struct_name, data, at):
    """The struct's members at an offset, by name; and the offset behind it."""
    values, largest = {}, 1
    for name, size, alignment in members(struct_name):
        largest = max(largest, alignment)
        at += -at % alignment
        values[name] = int.from_bytes(data[at:at + size], "little")
        at += size
    return values, at + -at % largest


class Plan(unittest.TestCase):
    def setUp(self):
        self.peer = self.enterContext(ipc.Peer())
        self.peer.launch()
        self.plan, = self.peer.greet().fds
        self.addCleanup(os.close, self.plan)

    def read(self):
        return os.pread(self.plan, os.fstat(self.plan).st_size, 0)

    def texts(self):
        """The text of each profile by its name."""
        data = self.read()

        def string(offset):
            return data[offset:data.index(b"\0", offset)].decode()
        header, _ = record("plan_header", data, 0)
        self.assertEqual(header["size"], len(data))
        texts, at = {}, header["profiles"]
        for _ in range(header["profile_count"]):
            profile, at = record("plan_profile", data, at)
            texts[string(profile["name"])] = string(profile["text"])
        return texts

    def test_it_is_what_the_launcher_handed_over(self):
        with open(os.path.join(support.BIN, "builtin.policy"), "rb") as file:
            self.assertEqual(self.read(), file.read())

    def test_nobody_can_change_it(self):
        self.assertEqual(fcntl.fcntl(self.plan, F_GET_SEALS) & ipc.ALL_SEALS, ipc.ALL_SEALS)
        for change in (lambda: os.pwrite(self.plan, b"x", 0), lambda: os.ftruncate(self.plan, 1),
                       lambda: os.ftruncate(self.plan, 1 << 20),
                       lambda: mmap.mmap(self.plan, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE)):
            with self.assertRaises(PermissionError):
                change()
        self.assertEqual(len(mmap.mmap(self.plan, 4096, prot=mmap.PROT_READ)), 4096)

    def test_it_holds_what_is_shown_of_each_profile(self):
        texts = self.texts()
        self.assertEqual(set(texts), {"_helper", *support.PROFILES})
        for name, text in texts.items():
            shown = subprocess.run([os.path.join(support.BIN, "msp-policy"), "show", name],
                                   capture_output=True, text=True, timeout=20, check=True).stdout
            self.assertEqual(text, shown)
            self.assertTrue(text.startswith(f"name: {name} ("), text)

    def test_what_is_to_be_kept(self):
        for request, (profile, size) in enumerate((("default", 8 * M), ("strict", 2 * M))):
            for use_tty, name in ((0, "execution_started"), (1, "execution_tty")):
                with self.subTest(profile=profile, message=name):
                    number = 2 * request + use_tty
                    self.peer.send(ipc.execution_start(number, ["/bin/true"], profile=profile,
                                                       use_tty=use_tty))
                    told = self.peer.receive()
                    for fd in told.fds:
                        os.close(fd)
                    self.assertEqual(told.name, name)
                    got = dict(zip((field for _, field in ipc.FIELDS[name]),
                                   struct.unpack_from("=QQQQ", told.body)))
                    self.assertEqual((got["request"], got["log_bytes"]), (number, size))
                    self.assertEqual(self.peer.receive().name, "execution_done")


if __name__ == "__main__":
    unittest.main()
