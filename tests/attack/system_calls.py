#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""System calls that a workload shall not have, each shown to be refused by the filter: the same
act reaches the kernel in a sandbox without it."""
import os
import pty
import unittest

import evidence
import probes
import support

setUpModule = probes.needs_ordinary_user

SIGSYS = 31
# The number of a call whose arguments are all -1: the filter says EPERM, the kernel something else,
# or EPERM as well to a process without capabilities.
MOUNT_CALLS = {"open_tree": 428, "fsconfig": 431, "mount_setattr": 442}
PRIVILEGED_MOUNT_CALLS = {"move_mount": 429, "fsmount": 432, "fspick": 433, "pivot_root": 155}
# The same for calls that the filter says do not exist.
HIDDEN_CALLS = {"openat2": 437, "execveat": 322, "epoll_pwait2": 441, "futex_waitv": 449,
                "preadv2": 327, "pwritev2": 328}
NAMESPACES = {"mnt": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000, "ipc": 0x8000000,
              "user": 0x10000000, "pid": 0x20000000, "net": 0x40000000, "time": 0x80}
CLONE_NEWUSER = 0x10000000
# What no socket may be of, by family, type and protocol; each may have a module to be loaded.
FAMILIES = {"AF_ALG": (38, 5, 0), "AF_VSOCK": (40, 1, 0), "SCTP": (2, 5, 132),
            "AF_CAN": (29, 3, 1), "AF_BLUETOOTH": (31, 5, 0), "AF_TIPC": (30, 5, 0),
            "AF_RDS": (21, 5, 0), "AF_KEY": (15, 3, 2), "AF_SMC": (43, 1, 0),
            "NETLINK_AUDIT": (16, 3, 9), "NETLINK_KOBJECT_UEVENT": (16, 3, 15),
            "NETLINK_NETFILTER": (16, 3, 12), "NETLINK_XFRM": (16, 3, 6)}


class Namespaces(probes.Attack):
    @evidence.attack("T11", "new namespaces by unshare and clone", "seccomp")
    def test_new_namespaces(self):
        acts = {"unshare " + kind: ("unshare", hex(flag | CLONE_NEWUSER))
                for kind, flag in NAMESPACES.items()}
        acts.update({"clone " + kind: ("clone", hex(flag | CLONE_NEWUSER))
                     for kind, flag in NAMESPACES.items()
                     if kind != "time"})  # clone() has no room for its flag
        self.prove_each(acts)
        self.assert_each_refused([("unshare", hex(flag)) for flag in NAMESPACES.values()], "EPERM")

    @evidence.attack("T11", "clone3, whose flags no filter can read", "seccomp")
    def test_clone3(self):
        for flags in (0, CLONE_NEWUSER):
            with self.subTest(flags=hex(flags)):
                self.prove("clone3", hex(flags), errors=("ENOSYS",))

    @evidence.attack("T11", "joining another namespace", "seccomp", "capabilities")
    def test_joining(self):
        self.prove("setns")

    @evidence.attack("T11", "another host name", "seccomp", "capabilities")
    def test_host_name(self):
        self.prove("sethostname")

    @evidence.attack("T11", "another host name, from a user namespace of one's own", "seccomp")
    def test_host_name_with_own_namespace(self):
        self.prove("sethostname", "own")

    @evidence.attack("T11", "another root directory", "seccomp", "capabilities")
    def test_chroot(self):
        self.prove("chroot")

    @evidence.attack("T11", "another root directory, from a user namespace of one's own", "seccomp")
    def test_chroot_with_own_namespace(self):
        self.prove("chroot", "own")


class Mounts(probes.Attack):
    @evidence.attack("T11", "mounting, from namespaces of one's own", "landlock", "seccomp")
    def test_mount(self):
        self.prove("mount", "own")

    @evidence.attack("T11", "a new file system by the new calls", "seccomp")
    def test_new_mount_calls(self):
        self.prove("fsopen", "own")

    @evidence.attack("T11", "a descriptor of a mount", "seccomp")
    def test_open_tree(self):
        self.prove("open-tree")

    @evidence.attack("T11", "mount calls that need no capability to be made", "seccomp")
    def test_mount_calls(self):
        self.prove_each({name: ("call", number) for name, number in MOUNT_CALLS.items()},
                        reached=True)

    @evidence.attack("T11", "further calls that change mounts", "seccomp", "capabilities")
    def test_privileged_mount_calls(self):
        self.prove_each({name: ("call", number)
                         for name, number in PRIVILEGED_MOUNT_CALLS.items()}, reached=True)
        self.assert_refused(probes.in_sandbox("umount", "/proc"), "EPERM")

    @evidence.attack("T11", "making a read-only mount writable", "seccomp", "capabilities")
    def test_no_mount_becomes_writable(self):
        self.prove("remount", "/usr", host=("/tmp", "own"), prefix=probes.AS_OWNER)

    @evidence.attack("T11", "calls that the list says do not exist", "seccomp")
    def test_hidden_calls(self):
        self.prove_each({name: ("call", number) for name, number in HIDDEN_CALLS.items()},
                        errors=("ENOSYS",), reached=True)


class Kernel(probes.Attack):
    """Parts of the kernel with a record of faults. Where its own settings keep an ordinary user
    out, the control shows that it was asked."""

    @evidence.attack("T11", "every number above the table", "seccomp")
    def test_numbers_above_the_table(self):
        self.prove("unknown-calls", errors=("ENOSYS",))

    @evidence.attack("K1", "bpf", "seccomp")
    def test_bpf(self):
        if probes.sysctl("kernel/unprivileged_bpf_disabled") in ("", "0"):
            self.prove("bpf", reached=True)
        else:  # the kernel's own answer is EPERM, too
            self.assert_refused(probes.in_sandbox("bpf"), "EPERM")
            self.not_here("this kernel refuses bpf to every ordinary user")

    @evidence.attack("K1", "performance events", "seccomp")
    def test_perf(self):
        self.prove("perf", reached=True)

    @evidence.attack("K1", "page faults handled by the workload", "seccomp")
    def test_userfaultfd(self):
        self.prove("userfaultfd")

    @evidence.attack("K1", "key rings", "seccomp")
    def test_keys(self):
        for act in ("keyctl", "add-key"):
            with self.subTest(act=act):
                self.prove(act)
        with self.subTest(act="request-key"):
            self.prove("request-key", reached=True)

    @evidence.attack("K1", "asynchronous input and output", "seccomp")
    def test_aio(self):
        self.prove("aio")

    @evidence.attack("K1", "segments of one's own", "seccomp")
    def test_ldt(self):
        self.prove("ldt")

    @evidence.attack("K1", "pages given to a pipe", "seccomp")
    def test_vmsplice(self):
        self.prove("vmsplice")

    @evidence.attack("K1", "memory that the kernel does not see", "seccomp")
    def test_secret_memory(self):
        outcome = probes.on_host("secret-memory")
        if outcome.error == "ENOSYS":
            self.assert_refused(probes.in_sandbox("secret-memory"), "EPERM")
            self.not_here("this kernel has no secret memory switched on")
        self.prove("secret-memory")

    @evidence.attack("K1", "watching a whole file system", "seccomp")
    def test_fanotify(self):
        self.prove("fanotify")

    @evidence.attack("K1", "pages mapped anew", "seccomp")
    def test_remap(self):
        self.prove("remap", reached=True)

    @evidence.attack("K1", "an execution domain of other rules", "seccomp")
    def test_personality(self):
        self.prove("personality")

    @evidence.attack("T22", "answering system calls of other processes", "seccomp")
    def test_listener(self):
        self.prove("seccomp-listener")

    @evidence.attack("K1", "opening files by number", "seccomp")
    def test_handles(self):
        self.prove("name-to-handle")
        if probes.on_host("open-by-handle").error == "EPERM":  # before Linux 6.13
            self.assert_refused(probes.in_sandbox("open-by-handle"), "EPERM")
        else:
            self.prove("open-by-handle", reached=True)


class Requests(probes.Attack):
    """Calls that every program makes, with requests that none needs."""

    @evidence.attack("K1", "settings of the process that no program needs", "seccomp")
    def test_prctl(self):
        options = {"PR_SET_MEMORY_MERGE": (67, 1), "PR_MCE_KILL": (33, 0),
                   "PR_TASK_PERF_EVENTS_ENABLE": (32,), "PR_TIMER_CREATE_RESTORE_IDS": (77, 0),
                   "PR_FUTEX_HASH": (78, 2), "PR_SPEC_ENABLE": (53, 0, 2)}
        self.prove_each({name: ("prctl", *numbers) for name, numbers in options.items()},
                        reached=True)
        with self.subTest(option="the own name, a control"):
            self.assert_succeeded(probes.in_sandbox("prctl", 4, 1))

    @evidence.attack("K1", "equal pages merged with those of other sandboxes", "seccomp")
    def test_merging(self):
        if not os.path.exists("/sys/kernel/mm/ksm"):
            self.assert_refused(probes.in_sandbox("merge-pages"), "EPERM")
            self.not_here("this kernel cannot merge pages")
        self.prove("merge-pages")

    @evidence.attack("K1", "leases and notices: opening the file waits", "seccomp")
    def test_leases(self):
        self.prove_each({
            "F_SETLEASE, F_RDLCK": ("fcntl", 1024, 1), "F_SETLEASE, F_WRLCK": ("fcntl", 1024, 1),
            "F_NOTIFY": ("fcntl", 1026, 1),
            "F_SETDELEG": ("fcntl", 1040, 0),  # Linux 6.19; EINVAL before
        }, reached=True)
        with self.subTest(command="F_GETFL, a control"):
            self.assert_succeeded(probes.in_sandbox("fcntl", 3, 0))

    @evidence.attack("K1", "flags, keys and volumes of the file system", "seccomp")
    def test_file_systems(self):
        requests = {"FS_IOC_SETFLAGS": 0x40086602, "FS_IOC_ENABLE_VERITY": 0x40806685,
                    "FS_IOC_SET_ENCRYPTION_POLICY": 0x800c6613, "FIDEDUPERANGE": 0xc0189436,
                    "BTRFS_IOC_SUBVOL_CREATE": 0x5000940e}
        self.prove_each({name: ("file-request", number) for name, number in requests.items()},
                        reached=True)
        with self.subTest(request="FIGETBSZ, a control"):
            self.assert_succeeded(probes.in_sandbox("file-request", 2))

    @evidence.attack("K2", "programs that the kernel runs on packets, tunnels", "seccomp")
    def test_packets(self):
        self.prove("packet-filter", 26)  # SO_ATTACH_FILTER
        for option in (50, 51, 52):
            with self.subTest(option=option):
                if option == 50 and probes.on_host("packet-filter", option).error == "EPERM":
                    self.assert_refused(probes.in_sandbox("packet-filter", option), "EPERM")
                else:
                    self.prove("packet-filter", option, reached=True)
        self.prove("udp-tunnel", reached=True)

    @evidence.attack("R2", "the priority of the init", "seccomp")
    def test_priority(self):
        if support.limits():  # there the init has a capability that the workload lacks
            self.assert_refused(probes.in_sandbox("renice"), "EPERM")
            self.not_here("without cgroups the kernel refuses it as well")
        self.prove("renice")


class Debugging(probes.Attack):
    @evidence.attack("T2", "tracing, reading memory and descriptors of processes", "seccomp")
    def test_other_processes(self):
        self.prove_each({act: (act,) for act in ("traceme", "process-vm", "pidfd-getfd", "kcmp")})


class Sockets(probes.Attack):
    @evidence.attack("T17", "raw sockets of every kind", "seccomp", "capabilities")
    def test_raw(self):
        kinds = {"packet": (17, 3, 0x300), "IPv4": (2, 3, 1), "IPv6": (10, 3, 58),
                 "XDP": (44, 3, 0)}
        if probes.on_host("socket", *kinds["XDP"],
                          prefix=probes.AS_OWNER).error == "EAFNOSUPPORT":
            del kinds["XDP"]
        self.prove_each({kind: ("socket", *numbers) for kind, numbers in kinds.items()})

    @evidence.attack("K2", "socket families with kernel code of their own", "seccomp")
    def test_families(self):
        acts = {name: ("socket", *numbers) for name, numbers in FAMILIES.items()}
        closed = {name for name, act in acts.items() if probes.on_host(*act).error == "EPERM"}
        self.prove_each({**{name: act for name, act in acts.items() if name not in closed},
                         "a pair": ("socketpair", 30)}, reached=True)  # AF_TIPC
        self.assert_each_refused([acts[name] for name in sorted(closed)], "EPERM")

    @evidence.attack("R5", "multipath TCP, which Landlock does not see", "seccomp")
    def test_multipath(self):
        self.prove_each({"IPv4": ("socket", 2, 1, 262), "IPv6": ("socket", 10, 1, 262)},
                        reached=True)

    @evidence.attack("R5", "TCP Fast Open, which Landlock does not see", "seccomp")
    def test_fast_open(self):
        self.prove_each({way: ("fast-open", way)
                         for way in ("sendto", "sendmsg", "sendmmsg", "option")})

    @evidence.attack("K2", "another protocol on a TCP socket", "seccomp")
    def test_upper_protocol(self):
        self.prove("ulp", reached=True)


class Uring(probes.Attack):
    """Its operations pass no filter at all."""

    def setUp(self):
        self.is_off = probes.sysctl("kernel/io_uring_disabled") not in ("0", "")

    def prove_or_skip(self, act, *arguments, **keywords):
        self.assert_refused(probes.in_sandbox(act, *arguments), "EPERM")
        if self.is_off:
            self.not_here("this kernel refuses io_uring to everybody")
        self.prove(act, *arguments, **keywords)

    @evidence.attack("T13", "setting up a ring", "seccomp")
    def test_setup(self):
        self.prove_or_skip("io-uring-setup")

    @evidence.attack("T13", "a socket through a ring", "seccomp")
    def test_socket(self):
        self.prove_or_skip("io-uring-socket", 2, 1, 0)
        self.prove_or_skip("io-uring-socket", 38, 5, 0, reached=True)  # AF_ALG

    @evidence.attack("T13", "using a ring that exists", "seccomp")
    def test_use(self):
        for act in ("io-uring-enter", "io-uring-register"):
            with self.subTest(act=act):
                self.prove_or_skip(act, reached=True)


class OtherTables(probes.Attack):
    """32-bit calls have numbers of their own: the filter kills on both."""

    def prove_killed(self, act, number):
        self.prove(act, number, errors=(SIGSYS,))
        self.assertEqual(probes.in_sandbox(act, number).verdict, "denied")

    @evidence.attack("T12", "system calls of the x32 table", "seccomp")
    def test_x32(self):
        for number in (39, 41, 272, 520):  # getpid, socket, unshare, execve
            with self.subTest(number=number):
                self.prove_killed("x32", number)

    @evidence.attack("T12", "32-bit system calls by int 0x80", "seccomp")
    def test_i386(self):
        control = probes.on_host("i386", 20)
        if (control.word, control.error) == ("killed", 11):
            self.assert_refused(probes.in_sandbox("i386", 20), 11, SIGSYS)
            self.not_here("this kernel has no 32-bit calls at all")
        for number in (20, 359, 310):  # getpid, socket, unshare
            with self.subTest(number=number):
                self.prove_killed("i386", number)


class Terminal(probes.Attack):
    """The kernel looks at the lower half of an ioctl's request only."""

    UPPER = (0, 1 << 32, 0xffffffff << 32, 1 << 63)

    @evidence.attack("T3", "TIOCSTI, input for whoever reads the terminal next", "seccomp")
    def test_no_input_can_be_pushed(self):
        self.prove_each({hex(upper): ("terminal", hex(upper | 0x5412)) for upper in self.UPPER},
                        reached=probes.sysctl("dev/tty/legacy_tiocsti") == "0")

    @evidence.attack("T3", "TIOCLINUX and other requests to a terminal's driver", "seccomp")
    def test_other_requests(self):
        self.prove_each({f"{name} {upper:#x}": ("terminal", hex(upper | request))
                         for name, request in (("TIOCLINUX", 0x541c), ("TIOCSETD", 0x5423))
                         for upper in self.UPPER}, reached=True)
        # The kernel's own answer to TIOCCONS is EPERM.
        self.assert_each_refused([("terminal", hex(upper | 0x541d)) for upper in self.UPPER],
                                 "EPERM")

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

    @evidence.attack("T3", "the caller's terminal, through /dev/tty", "namespaces")
    def test_the_callers_terminal_is_out_of_reach(self):
        """Not one of its streams, but what /dev/tty would lead to."""
        self.report = os.path.join(probes.scratch(), "report")
        run = (support.MSP, "run", *support.limits(), "--ro", probes.PROBE_FOLDER + ":/probe", "--",
               "/probe/probe")
        probe = (os.path.join(probes.PROBE_FOLDER, "probe"),)

        def outcome(command, act):
            text = self.in_callers_terminal(*command, act, "/dev/tty")
            return probes.parse(10 if text.startswith("refused") else 0, text, None)

        for act in ("open-read", "open-write"):
            with self.subTest(act=act):
                self.prove_by(lambda without, act=act: outcome(run, act), ("ENXIO",),
                              host=lambda act=act: outcome(probe, act))

    def test_ordinary_requests_work(self):
        for request in (0x5401, 0x5413):  # TCGETS, TIOCGWINSZ
            with self.subTest(request=hex(request)):
                self.assert_succeeded(probes.in_sandbox("terminal", hex(request)))


class SetId(probes.Attack):
    """No file that would run as somebody else, or with capabilities, by any call."""

    WAYS = ("chmod", "fchmod", "fchmodat", "open", "openat", "tmpfile", "creat", "mknod",
            "group", "group-at", "link", "own-file", "exchange")

    @evidence.attack("T10", "files with set-user-ID and set-group-ID bits", "seccomp")
    def test_every_way(self):
        self.prove_each({way: ("setid", way) for way in self.WAYS})
        with self.subTest(way="fchmodat2"):
            self.assert_refused(probes.in_sandbox("setid", "fchmodat2"), "ENOSYS")
            if probes.on_host("setid", "fchmodat2").error != "ENOSYS":  # Linux 6.6
                self.prove("setid", "fchmodat2", errors=("ENOSYS",))

    @evidence.attack("T10", "files with capabilities", "capabilities")
    def test_file_capabilities(self):
        self.prove("file-capability")

    @evidence.attack("R5", "whiteouts, made as device nodes", "seccomp")
    def test_whiteouts(self):
        """Landlock takes them for device nodes or, since Linux 6.12.117, for regular files: the
        control is without it, and the filter stands alone."""
        self.prove_by(lambda without: probes.in_sandbox(
            "mknod", "c", 0, without="landlock-seccomp" if without else None), ("EPERM",))

    @evidence.attack("R5", "whiteouts, left behind by a rename", "seccomp")
    def test_whiteouts_by_rename(self):
        self.prove("rename-whiteout")

    def test_devices(self):
        """Nobody without uid 0 of the host can make one anywhere: there is no control."""
        for kind in ("b", "c"):
            with self.subTest(kind=kind):
                self.assert_refused(probes.in_sandbox("mknod", kind, 8), "EPERM")
                self.assert_refused(probes.in_sandbox("mknod", kind, 8, without="seccomp"),
                                    "EACCES")


if __name__ == "__main__":
    unittest.main()
