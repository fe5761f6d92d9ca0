#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/seccomp.md says what the table of groups and the shipped profiles say, and the gateway's lists
keep to what its programs never do."""
import re
import unittest

import seccomp_page
import tree


class Page(unittest.TestCase):
    def test_it_is_what_the_table_says(self):
        self.assertEqual(seccomp_page.differences(), [], "tests/meta/seccomp_page.py makes it anew")

    def test_the_table_was_read_whole(self):
        """A row in a form that the page's reader does not know would be left out silently."""
        text = tree.read("policy/read/seccomp_groups.def")
        self.assertEqual(len(seccomp_page.groups()), len(re.findall(r"^GROUP\(", text, re.M)))
        for name, kind, reason, calls in seccomp_page.groups():
            with self.subTest(group=name):
                self.assertIn(kind, seccomp_page.KINDS)
                self.assertGreater(len(reason), 10)
                self.assertTrue(calls)

    def test_every_condition_is_on_it(self):
        """Those of calls that no shipped profile allows, too."""
        named = re.findall(r'^\tCONDITION\("(\w+)"', tree.read("policy/write/seccomp_conditions.c"), re.M)
        page = tree.read(seccomp_page.PAGE)
        self.assertGreater(len(named), 20)
        for call in named:
            with self.subTest(call=call):
                self.assertRegex(page, rf"(?m)^- `{call}`: .{{4}}")

    def test_no_profile_is_missing(self):
        page = tree.read(seccomp_page.PAGE)
        header = next(line for line in page.splitlines() if line.startswith("| group |"))
        self.assertEqual(header.strip("| ").split(" | ")[1:], seccomp_page.profiles())


STARTING = {"clone", "clone3", "fork", "vfork", "execve", "execveat", "ptrace", "process_vm_readv",
            "process_vm_writev", "pidfd_getfd", "bpf", "io_uring_setup", "userfaultfd"}
OPENING = {"open", "openat", "openat2", "creat", "memfd_create", "mount", "name_to_handle_at",
           "open_by_handle_at"}
# What a program of the gateway has no system call for, by its list.
NEVER = {
    "gateway/cable/seccomp_list.def": STARTING | OPENING | {"connect", "accept", "accept4", "kill"},
    "gateway/egress/seccomp_list.def": STARTING | OPENING | {
        "socket", "socketpair", "connect", "bind", "listen", "setns", "unshare", "ioctl", "kill"},
    "gateway/bridge/seccomp_list.def": STARTING | OPENING | {
        "bind", "accept", "setns", "unshare", "ioctl", "kill", "socketpair"},
    "gateway/dial/seccomp_list.def": STARTING | (OPENING - {"openat"}) | {
        "bind", "listen", "accept", "accept4", "setns", "unshare", "ioctl", "kill"},
    "gateway/dial/servers_list.def": STARTING | (OPENING - {"openat"}) | {
        "socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "sendmsg",
        "recvmsg", "setns", "unshare", "ioctl", "kill", "write"},
    "image/seccomp_list.def": STARTING | (OPENING - {"openat", "openat2"}) | {
        "socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "sendmsg", "recvmsg",
        "setns", "unshare", "ioctl", "kill", "chmod", "chown", "fchown", "fchownat", "setxattr",
        "renameat", "prctl", "seccomp"},
    "vm/prepare/seccomp_list.def": STARTING | (OPENING - {"openat"}) | {
        "socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "sendmsg", "recvmsg",
        "setns", "unshare", "ioctl", "kill", "chmod", "fchmod", "chown", "fchown", "setxattr",
        "unlinkat", "renameat", "renameat2", "prctl", "seccomp"},
    "gateway/http/seccomp_list.def": STARTING | OPENING | {
        "socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "setns", "unshare",
        "ioctl", "kill", "prctl", "seccomp"},
    "gateway/http/starter_list.def": (STARTING - {"clone"}) | OPENING | {
        "socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "setns", "unshare",
        "ioctl", "kill"},
}
ROW = re.compile(r"^ALLOW(?:_IF|_WHEN)?\((\w+),(.*)", re.M)


class Gateway(unittest.TestCase):
    def test_what_no_program_of_it_may_call(self):
        for path, never in NEVER.items():
            rows = ROW.findall(tree.read(path))
            with self.subTest(path=path):
                self.assertGreater(len(rows), 5)
                self.assertEqual({name for name, _ in rows} & never, set())

    def test_the_starter_of_msp_http_may_all_that_its_servers_may(self):
        """Their filter is installed beside its own."""
        starter, server = (set(ROW.findall(tree.read(f"gateway/http/{name}_list.def")))
                           for name in ("starter", "seccomp"))
        self.assertLess(server, starter)

    def test_the_conditions_of_msp_cable_and_msp_dial(self):
        """A namespace is of the network, and a socket of the families that are needed."""
        for path, families in (("gateway/cable/seccomp_list.def", {"AF_NETLINK", "AF_INET"}),
                               ("gateway/dial/seccomp_list.def", {"AF_INET", "AF_INET6"}),
                               ("gateway/bridge/seccomp_list.def", {"AF_INET", "AF_INET6"})):
            rows = ROW.findall(tree.read(path))
            with self.subTest(path=path):
                self.assertEqual({re.search(r" IS\(0, (\w+)\), TYPE\(1, SOCK_\w+\), IS\(2, 0\)",
                                            rest)[1]
                                  for name, rest in rows if name == "socket"}, families)
                for name, rest in rows:
                    if name in ("unshare", "setns"):
                        self.assertRegex(rest, r" IS(_LONG)?\([01], CLONE_NEWNET\)\)$")
                    if name in ("mmap", "mprotect"):
                        self.assertRegex(rest, r"^ 2, (PROT_EXEC, 0|0xffffffff, PROT_READ),")


if __name__ == "__main__":
    unittest.main(verbosity=2)
