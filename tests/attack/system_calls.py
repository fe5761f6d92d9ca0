#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""System calls that a workload shall not have, each shown to be refused by the filter: the same
act reaches the kernel in a sandbox without it."""
import os
import pty
import unittest

import probes
import support

setUpModule = probes.needs_ordinary_user

# act, arguments, errno of the refusal, the layers to leave out for the control
SUCCEEDS_WITHOUT = [
    ("unshare", ["0x10000000"], "EPERM", "seccomp"),  # CLONE_NEWUSER
    ("clone", ["0x10000000"], "EPERM", "seccomp"),
    ("clone3", ["0"], "ENOSYS", "seccomp"),
    ("clone3", ["0x10000000"], "ENOSYS", "seccomp"),
    ("mount", ["own"], "EPERM", "landlock-seccomp"),
    ("fsopen", ["own"], "EPERM", "landlock-seccomp"),
    ("open-tree", [], "EPERM", "seccomp"),
    ("chroot", ["own"], "EPERM", "seccomp"),
    ("sethostname", ["own"], "EPERM", "seccomp"),
    ("keyctl", [], "EPERM", "seccomp"),
    ("add-key", [], "EPERM", "seccomp"),
    ("personality", [], "EPERM", "seccomp"),
    ("seccomp-listener", [], "EPERM", "seccomp"),
    ("name-to-handle", [], "EPERM", "seccomp"),
    ("traceme", [], "EPERM", "seccomp"),
    ("process-vm", [], "EPERM", "seccomp"),
    ("pidfd-getfd", [], "EPERM", "seccomp"),
    ("unknown-calls", [], "ENOSYS", "seccomp"),
    ("fast-open", ["sendto"], "EPERM", "seccomp"),
    ("fast-open", ["sendmsg"], "EPERM", "seccomp"),
    ("fast-open", ["sendmmsg"], "EPERM", "seccomp"),
    ("fast-open", ["option"], "EPERM", "seccomp"),
    ("rename-whiteout", [], "EPERM", "landlock-seccomp"),
    ("mknod", ["c", "0"], "EPERM", "landlock-seccomp"),
]
# The same where the kernel's configuration decides what comes after the filter: the control shows
# that the kernel was asked.
REACHES_KERNEL_WITHOUT = [
    ("unshare", ["0x20000"], "EPERM", None),  # the other kinds need capabilities as well
    ("io-uring-enter", [], "EPERM", "seccomp"),
    ("io-uring-register", [], "EPERM", "seccomp"),
    ("bpf", [], "EPERM", "seccomp"),
    ("perf", [], "EPERM", "seccomp"),
    ("userfaultfd", [], "EPERM", "seccomp"),
    ("request-key", [], "EPERM", "seccomp"),
    ("kcmp", [], "EPERM", "seccomp"),
    ("open-by-handle", [], "EPERM", "seccomp"),
    ("ulp", [], "EPERM", "seccomp"),
    ("socket", [38, 5, 0], "EPERM", "seccomp"),   # AF_ALG
    ("socket", [40, 1, 0], "EPERM", "seccomp"),   # AF_VSOCK
    ("socket", [2, 1, 262], "EPERM", "seccomp"),  # IPPROTO_MPTCP
    ("socket", [2, 5, 132], "EPERM", "seccomp"),  # SCTP
    ("socket", [29, 3, 1], "EPERM", "seccomp"),   # AF_CAN
    ("socket", [31, 5, 0], "EPERM", "seccomp"),   # AF_BLUETOOTH
    ("socket", [16, 3, 9], "EPERM", "seccomp"),   # NETLINK_AUDIT
    ("socket", [16, 3, 15], "EPERM", "seccomp"),  # NETLINK_KOBJECT_UEVENT
    ("socketpair", [30], "EPERM", "seccomp"),     # AF_TIPC
]
# What a capability over the own namespaces gives, on the host.
NEEDS_CAPABILITIES = [
    ("socket", [17, 3, 0x300]),  # AF_PACKET
    ("socket", [2, 3, 1]),       # raw IPv4
    ("socket", [10, 3, 58]),     # raw IPv6
    ("mount", []),
    ("fsopen", []),
    ("setns", []),
    ("chroot", []),
    ("socket", [44, 3, 0]),  # AF_XDP
]


class Filter(probes.Attack):
    def test_refused_and_possible_without_the_filter(self):
        for act, arguments, error, without in SUCCEEDS_WITHOUT:
            with self.subTest(act=act, arguments=arguments):
                self.assert_refused(probes.in_sandbox(act, *arguments), error)
                self.assert_succeeded(probes.in_sandbox(act, *arguments, without=without))

    def test_refused_and_asked_of_the_kernel_without_the_filter(self):
        for act, arguments, error, without in REACHES_KERNEL_WITHOUT:
            with self.subTest(act=act, arguments=arguments):
                self.assert_refused(probes.in_sandbox(act, *arguments), error)
                if without:
                    self.assert_reached(probes.in_sandbox(act, *arguments, without=without))

    def test_refused_and_possible_with_capabilities(self):
        for act, arguments in NEEDS_CAPABILITIES:
            with self.subTest(act=act, arguments=arguments):
                self.assert_refused(probes.in_sandbox(act, *arguments), "EPERM")
                self.assert_succeeded(probes.on_host(act, *arguments, prefix=probes.AS_OWNER))

    def test_no_mount_becomes_writable(self):
        self.assert_refused(probes.in_sandbox("remount", "/usr"), "EPERM")
        self.assert_succeeded(probes.on_host("remount", "/tmp", "own", prefix=probes.AS_OWNER))

    def test_one_layer_is_enough_against_mounts(self):
        """Each of the two walls holds when the other is gone."""
        for without in ("seccomp", "landlock"):
            with self.subTest(without=without):
                self.assert_refused(probes.in_sandbox("mount", "own", without=without), "EPERM")

    def test_every_new_namespace_is_refused(self):
        flags = {"mnt": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000, "ipc": 0x8000000,
                 "user": 0x10000000, "pid": 0x20000000, "net": 0x40000000, "time": 0x80}
        for kind, flag in flags.items():
            with self.subTest(kind=kind):
                both = hex(flag | 0x10000000)
                self.assert_refused(probes.in_sandbox("unshare", hex(flag)), "EPERM")
                self.assert_refused(probes.in_sandbox("unshare", both), "EPERM")
                self.assert_succeeded(probes.in_sandbox("unshare", both, without="seccomp"))
                if kind != "time":  # clone() has no room for its flag
                    self.assert_refused(probes.in_sandbox("clone", both), "EPERM")
                    self.assert_succeeded(probes.in_sandbox("clone", both, without="seccomp"))


class Uring(probes.Attack):
    def test_setup_is_refused(self):
        self.assert_refused(probes.in_sandbox("io-uring-setup"), "EPERM")

    def test_control(self):
        if probes.sysctl("kernel/io_uring_disabled") not in ("0", ""):
            self.skipTest("this kernel refuses io_uring to everybody")
        self.assert_succeeded(probes.in_sandbox("io-uring-setup", without="seccomp"))


class OtherTables(probes.Attack):
    """32-bit calls have numbers of their own: the filter kills on both."""

    def assert_killed(self, act, number):
        outcome = probes.in_sandbox(act, number)
        self.assertEqual((outcome.word, outcome.error), ("killed", 31), outcome)  # SIGSYS
        self.assertEqual(outcome.verdict, "denied", outcome)

    def test_x32(self):
        for number in (39, 41, 272, 520):  # getpid, socket, unshare, execve
            with self.subTest(number=number):
                self.assert_killed("x32", number)
                self.assert_succeeded(probes.in_sandbox("x32", number, without="seccomp"))

    def test_i386(self):
        for number in (20, 359, 310):  # getpid, socket, unshare
            with self.subTest(number=number):
                control = probes.in_sandbox("i386", number, without="seccomp")
                if (control.word, control.error) == ("killed", 11):
                    self.skipTest("this kernel has no 32-bit calls at all")
                self.assert_succeeded(control)
                self.assert_killed("i386", number)


class Terminal(probes.Attack):
    """The kernel looks at the lower half of an ioctl's request only."""

    UPPER = (0, 1 << 32, 0xffffffff << 32, 1 << 63)

    def test_no_input_can_be_pushed(self):
        for upper in self.UPPER:
            with self.subTest(upper=hex(upper)):
                self.assert_refused(probes.in_sandbox("terminal", hex(upper | 0x5412)), "EPERM")

    def test_no_input_control(self):
        outcome = probes.in_sandbox("terminal", hex(1 << 32 | 0x5412), without="seccomp")
        if probes.sysctl("dev/tty/legacy_tiocsti") == "0":
            self.assert_refused(outcome, "EIO")
        else:
            self.assert_succeeded(outcome)

    def test_other_requests(self):
        for name, request in (("TIOCLINUX", 0x541c), ("TIOCCONS", 0x541d), ("TIOCSETD", 0x5423)):
            for upper in self.UPPER:
                with self.subTest(request=name, upper=hex(upper)):
                    outcome = probes.in_sandbox("terminal", hex(upper | request))
                    self.assert_refused(outcome, "EPERM")
            with self.subTest(control=name):
                control = probes.in_sandbox("terminal", hex(request), without="seccomp")
                if name != "TIOCCONS":  # the kernel's own answer to that one is EPERM
                    self.assert_reached(control)

    def in_callers_terminal(self, *command):
        """A command whose terminal is one of this test's, and whose streams are not."""
        pid, terminal = pty.fork()
        if pid == 0:
            with open(os.devnull, "r+b") as null, open(self.report, "wb") as report:
                os.dup2(null.fileno(), 0)
                os.dup2(report.fileno(), 1)
                os.dup2(report.fileno(), 2)
                os.execv(command[0], command)
        os.waitpid(pid, 0)
        os.close(terminal)
        with open(self.report, encoding="utf-8") as file:
            return file.read()

    def test_the_callers_terminal_is_out_of_reach(self):
        """Not one of its streams, but what /dev/tty would lead to."""
        self.report = os.path.join(probes.scratch(), "report")
        run = (support.MSP, "run", *support.limits(), "--ro", probes.PROBE_FOLDER + ":/probe", "--")
        for act in ("open-read", "open-write"):
            with self.subTest(act=act):
                text = self.in_callers_terminal(*run, "/probe/probe", act, "/dev/tty")
                self.assertEqual(text, "refused ENXIO\n")
                text = self.in_callers_terminal(os.path.join(probes.PROBE_FOLDER, "probe"), act,
                                                "/dev/tty")
                self.assertEqual(text, "succeeded\n")

    def test_ordinary_requests_work(self):
        for request in (0x5401, 0x5413):  # TCGETS, TIOCGWINSZ
            with self.subTest(request=hex(request)):
                self.assert_succeeded(probes.in_sandbox("terminal", hex(request)))


class SetId(probes.Attack):
    """No file that would run as somebody else, by any call that sets a mode."""

    def test_every_way(self):
        for way in ("chmod", "fchmod", "fchmodat", "open", "openat", "tmpfile", "creat", "mknod"):
            with self.subTest(way=way):
                self.assert_refused(probes.in_sandbox("setid", way), "EPERM")
                self.assert_succeeded(probes.in_sandbox("setid", way, without="seccomp"))

    def test_the_newest_call(self):
        self.assert_refused(probes.in_sandbox("setid", "fchmodat2"), "ENOSYS")
        control = probes.in_sandbox("setid", "fchmodat2", without="seccomp")
        if control.error == "ENOSYS":
            self.skipTest("this kernel has no fchmodat2")
        self.assert_succeeded(control)

    def test_block_device(self):
        self.assert_refused(probes.in_sandbox("mknod", "b", 8), "EPERM")


if __name__ == "__main__":
    unittest.main()
