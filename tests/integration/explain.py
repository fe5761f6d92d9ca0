#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`msp-policy explain` and the tool explain_policy against reality: each operation is asked about
and then done in a sandbox of the same profile. An answer that says allowed has to succeed, one that
says refused or absent has to fail, with the errno that it names."""
import functools
import json
import os
import random
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import support

POLICY = os.path.join(support.BIN, "msp-policy")
ACTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "explain_acts.py")
LEAST = 60
PART = 3

# (operation, does its condition hold; arguments of a system call). Not said: it holds. What a
# condition is about, explain_acts.prepare() makes, or every host has, or has not.
FILES = (
    # binds of the host, read-only
    ("read /usr/bin/env",), ("read /usr/bin/there-is-no-such", False), ("write /usr/bin/env",),
    ("create /usr/bin/new",), ("delete /usr/bin/env",), ("list /usr",),
    ("list /usr/bin/env", False),
    ("exec /usr/bin/true",), ("exec /usr/bin/there-is-no-such", False), ("write /usr",),
    ("exec /usr/lib/os-release", False), ("delete /usr",), ("create /usr",),
    ("delete /usr/bin/there-is-no-such",),
    # links of the plan
    ("read /bin/sh",), ("exec /bin/true",), ("list /lib",), ("write /bin/env",), ("delete /bin",),
    ("create /bin",), ("create /bin/new",), ("create /var/run/x",), ("create /var/tmp/x",),
    ("read /dev/stdin",), ("write /dev/stdout",), ("list /dev/fd",), ("read /etc/os-release",),
    ("read /etc/mtab",), ("delete /etc/mtab",),
    # the tree that the plan makes
    ("read /etc/passwd",), ("write /etc/passwd",), ("delete /etc/passwd",), ("create /etc/passwd",),
    ("exec /etc/passwd",), ("list /etc/passwd",), ("read /etc/passwd/x",), ("create /etc/new",),
    ("create /new",), ("delete /new",), ("write /new",), ("list /",), ("read /",), ("list /etc",),
    ("read /etc",), ("create /run/x",), ("list /run",), ("delete /run",), ("list /var/empty",),
    ("create /var/empty/x",), ("write /run",), ("exec /run",), ("delete /",), ("create /",),
    ("list /home",), ("create /home/other",),
    # what a sandbox does not have
    ("read /root/.ssh/id_rsa",), ("list /root",), ("create /root/x",), ("delete /root/x",),
    ("delete /root",), ("read /etc/shadow",), ("list /home/somebody-else",), ("list /sys",),
    ("write /sys/kernel/mm/x",), ("list /boot",), ("read /var/log/syslog",), ("exec /root/x",),
    ("read /run/../root/x",), ("list /mnt",),
    # file systems of the sandbox's own
    ("create /tmp/new",), ("write /tmp/second",), ("read /tmp/there",), ("delete /tmp/first",),
    ("list /tmp",), ("exec /tmp/there",), ("delete /tmp/folder",), ("delete /tmp",), ("read /tmp",),
    ("write /tmp",), ("create /tmp",), ("create /workspace/new",), ("exec /workspace/there",),
    ("read /workspace/../tmp/second",), ("write /home/agent/there",), ("create /home/agent/new",),
    ("create /dev/shm/new",), ("exec /dev/shm/there",), ("read /dev/shm/there",),
    ("delete /dev/shm/first",), ("delete /workspace",), ("list /workspace/folder",),
    # devices
    ("read /dev/null",), ("write /dev/null",), ("write /dev/full",), ("read /dev/zero",),
    ("read /dev/urandom",), ("read /dev/tty", False), ("exec /dev/null",), ("list /dev/null",),
    ("delete /dev/null",), ("create /dev/null",), ("create /dev/new",), ("read /dev/sda",),
    ("read /dev/mem",), ("read /dev/kmsg",), ("read /dev/null/x",), ("list /dev",),
    ("read /dev/ptmx",), ("write /dev/ptmx",), ("list /dev/pts",), ("create /dev/pts/new",),
    ("delete /dev/pts/ptmx",), ("read /dev/pts/77", False), ("write /dev/pts",),
    # procfs and what is masked in it
    ("read /proc/self/status",), ("read /proc/version",), ("write /proc/self/oom_score_adj",),
    ("write /proc/sys/kernel/hostname", False), ("write /proc/sysrq-trigger", False),
    ("read /proc/kcore", False), ("create /proc/new",), ("delete /proc/version",),
    ("exec /proc/version",), ("read /proc/1/environ",), ("list /proc/1",), ("read /proc/1/mem",),
    ("exec /proc/self/exe",), ("write /proc/self/exe", False), ("read /proc/self/root/usr/bin/env",),
    ("write /proc/self/root/etc/passwd", False), ("delete /proc/self/fd/0",),
    ("list /proc/self/cwd",), ("list /proc",), ("read /proc",), ("write /proc",),
    ("read /proc/kallsyms",), ("read /proc/cmdline",), ("write /proc/cmdline",),
    ("exec /proc/cmdline",), ("list /proc/bus",), ("read /proc/bus/pci",), ("create /proc/bus/x",),
    ("delete /proc/bus",), ("delete /proc/cmdline",), ("list /proc/cmdline", False),
    ("create /proc/cmdline",), ("write /proc/bus", False), ("exec /proc/bus",),
)
SOCKETS = (
    ("connect unix:/tmp/socket",), ("connect unix:/tmp/nothing", False),
    ("connect unix:/etc/passwd",),
    ("connect unix:/tmp",), ("connect unix:/run/user/1000/bus",), ("connect unix:/dev/log",),
    ("connect unix:/var/run/docker.sock",), ("connect unix:/tmp/there", False),
    ("connect unix:/dev/null",), ("connect unix:/var/empty",), ("connect unix:/etc/passwd/x",),
    ("connect unix:/usr/bin/env", False), ("connect unix:/",), ("connect unix:@listens",),
    ("connect unix:@/tmp/.X11-unix/X0", False), ("connect 127.0.0.1:8080",),
    ("connect 127.0.0.1:9", False), ("connect 127.9.9.9:8080",), ("connect 0.0.0.0:8080",),
    ("connect localhost:8080",), ("connect sandbox:8080",), ("connect [::1]:8081",),
    ("connect [::1]:9", False), ("connect 192.0.2.1:443",), ("connect 10.0.0.1:22",),
    ("connect [2001:db8::1]:443",), ("connect example.com:443",), ("connect udp:192.0.2.1:53",),
    ("resolve localhost",), ("resolve sandbox",), ("resolve example.com",), ("resolve 192.0.2.1",),
    ("connect udp:127.0.0.1:53",), ("connect udp:[::1]:53",), ("connect 169.254.169.254:80",),
    ("bind 8082",), ("bind 8080", False), ("bind 0",), ("bind 80",), ("bind 1023",),
    ("bind 1024",), ("bind udp:5353",), ("bind udp:53",),
)
ALLOWED_CALLS = (
    "getppid", "sched_yield", "timerfd_create", "getxattr", "pidfd_open", "capset", "tee",
    "landlock_create_ruleset",
)
REFUSED_CALLS = (
    "inotify_init", "ptrace", "syslog", "chroot", "mount", "init_module", "mbind", "keyctl",
    "unshare", "perf_event_open", "open_by_handle_at", "kcmp", "bpf", "userfaultfd",
    "io_uring_setup", "clone3", "openat2", "futex_waitv", "epoll_pwait2",
    "ustat", "mseal", "statmount", "9999", "425", "512", "1073741824",
)
# With arguments that the condition leaves, and with such that it is about.
CONDITIONAL_CALLS = (
    ("clone", (0x800,), (0x10000000,)),
    ("openat", (-1, "x", 0o100 | 0o1, 0o644), (-1, "x", 0o100 | 0o1, 0o4755)),
    ("mmap", (0, 0, 0, 0x22), (0, 0x200000, 3, 0x40022)),
    ("ioctl", (-1, 0x5401), (-1, 0x5412)),
    ("fcntl", (-1, 3), (-1, 1024, 0)), ("madvise", (0, 0, 4), (0, 0, 12)),
    ("setpriority", (0, 0, 0), (0, 1, 0)),
    ("socketpair", (1, 1, 0, 0), (2, 1, 0, 0)),
    ("setsockopt", (-1, 1, 2), (-1, 6, 23)),
    ("sendto", (-1, 0, 0, 0), (-1, 0, 0, 0x20000000)),
    ("chmod", ("/tmp/there", 0o755), ("/tmp/there", 0o4755)),
    ("mknod", ("/tmp/fifo", 0o010644), ("/tmp/device", 0o020666, 0x103)),
    ("personality", (0xffffffff,), (0x0400000,)),
    ("prctl", (3,), (35,)),
    ("prlimit64", (0, 7, 0, 0), (1, 7, 0, 0)),
    ("renameat2", (-1, "a", -1, "b", 0), (-1, "a", -1, "b", 4)),
    ("memfd_create", ("x", 0), ("x", 4)),
    ("seccomp", (2, 0, 0), (1, 8, 0)),
    ("mlock", (0, 4096), (0, 65536)),
    ("setuid", (-1,), (0,)),
    ("sched_setscheduler", (-1, 3), (-1, 1)),
    ("shmget", (0, 4096, 0o600), (0, 2 << 20, 0o4600)),
    ("socket", (2, 1, 0), (17, 3, 0)),
    ("socket", (2, 2, 17), (2, 1, 262)),
)


def calls():
    for name in ALLOWED_CALLS + REFUSED_CALLS:
        yield (f"syscall {name}", True, (-1, -1, -1, -1, -1, -1))
    for name, kept, broken in CONDITIONAL_CALLS:
        yield (f"syscall {name}", True, kept)
        yield (f"syscall {name}", False, broken)


def cases():
    for row in FILES + SOCKETS:
        yield (row[0], row[1] if len(row) > 1 else True, ())
    yield from calls()


def setUpModule():
    if os.geteuid() == 0:
        raise unittest.SkipTest("needs an ordinary user")


@functools.lru_cache(maxsize=None)
def profiles():
    result = subprocess.run([POLICY, "list"], capture_output=True, text=True, check=True)
    return [line.split()[0] for line in result.stdout.splitlines()]


def is_whole(profile):
    """Is each operation done in this one? Those for languages are the default with a few more
    rights: an ordinary run does a part of them in each, which MSP_SEED chooses."""
    return support.IS_ALL or not profile.endswith("-dev")


def explain(profile, operations):
    """The two lines of each."""
    result = subprocess.run([POLICY, "explain", profile, *operations], capture_output=True,
                            text=True, check=True)
    lines = result.stdout.splitlines()
    return ["\n".join(lines[i:i + 2]) for i in range(0, len(lines), 2)]


def done(profile, operations):
    """What comes of each in a sandbox."""
    with open(ACTS, encoding="ascii") as file:
        program = file.read()
    result = support.run("python3", "-c", program, timeout=120,
                         options=("--profile", profile, "--timeout", "60"),
                         input=json.dumps(operations))
    if result.returncode != 0:
        raise AssertionError(result.stderr)
    return json.loads(result.stdout.partition(" ")[2])


def first_line(text):
    """(answer, is it conditional, errno's name or None)"""
    line = text.splitlines()[0]
    error = re.search(r"\((E[A-Z]+)\)(?:, if .*)?$", line)
    return line.partition(":")[0], ", if " in line, error and error[1]


def contradiction(text, outcome, holds):
    """How an answer and what happened differ; None: they agree."""
    answer, is_conditional, error = first_line(text)
    if not holds and answer == "allowed" and not is_conditional:
        return "says allowed whatever the condition"
    if answer == "allowed":
        return None if (outcome == "ok") == holds else "says allowed"
    if outcome == "ok":
        return f"says {answer}"
    if is_conditional and outcome in ("ENOENT", "ENOTDIR", "EISDIR"):
        return None
    return None if error in (None, outcome) else f"says {error}"


class Reality(unittest.TestCase):
    def check(self, profile):
        rows = list(cases())
        if not is_whole(profile):
            rows = random.Random(f"{support.SEED} {profile}").sample(rows, len(rows) // PART)
        texts = explain(profile, [row[0] for row in rows])
        outcomes = done(profile, [(row[0], row[2]) for row in rows])
        self.assertEqual((len(texts), len(outcomes)), (len(rows), len(rows)))
        self.assertGreaterEqual(len({row[0] for row in rows}), LEAST)
        for (operation, holds, arguments), text, outcome in zip(rows, texts, outcomes):
            with self.subTest(operation=operation, arguments=arguments, holds=holds):
                problem = contradiction(text, outcome, holds)
                self.assertIsNone(problem, f"{outcome} happened, and it {problem}:\n{text}")
        return texts

    def test_each_profile(self):
        print(f"MSP_SEED={support.SEED}", file=sys.stderr)
        for profile in set(profiles()) & set(support.PROFILES_HERE):
            with self.subTest(profile=profile):
                texts = self.check(profile)
                answers = {first_line(text)[:2] for text in texts}
                if is_whole(profile):
                    self.assertEqual(answers, {("allowed", False), ("allowed", True),
                                               ("refused", False), ("refused", True),
                                               ("absent", False)})

    def test_a_wrong_answer_is_found(self):
        wrong = (("allowed: x\nrule: y", "EROFS", True), ("refused: x\nrule: y", "ok", True),
                 ("refused: x: z (EACCES)\nrule: y", "EROFS", True),
                 ("allowed: x, if y\nrule: z", "ok", False), ("absent: x\nrule: y", "ok", True),
                 ("allowed: x, if y\nrule: z", "ENOENT", True))
        right = (("allowed: x\nrule: y", "ok", True), ("refused: x: y (EROFS)\nz", "EROFS", True),
                 ("refused: x\nrule: y", "EACCES", True), ("allowed: x, if y\nz", "ENOENT", False))
        for row in wrong:
            self.assertIsNotNone(contradiction(*row), row)
        for row in right:
            self.assertIsNone(contradiction(*row), row)


# Corners that no shipped profile has: directories of the host in two places, modes, rights that
# differ, TCP behind Landlock.
NARROW = """profiles:
- name: narrow
  extends: default
  description: corners of the answers
  network: none
  files:
    - {at: /data, kind: bind, from: /usr}
    - {at: /part, kind: bind, from: /usr/lib}
    - {at: /plain, kind: bind, from: /usr/bin, noexec: true}
    - {at: /closed, kind: directory, mode: 0600}
    - {at: /closed/file, kind: file, text: x}
    - {at: /unreadable, kind: file, text: x, mode: 0200}
    - {at: /loop, kind: symlink, to: loop/x}
    - {at: /up, kind: symlink, to: ../../tmp/./folder}
    - {at: /fixed, kind: tmpfs, size: 1M, inodes: 1K, mode: 0500}
    - {at: /narrow, kind: tmpfs, size: 1M, inodes: 1K, mode: 0700}
    - {at: /half, kind: tmpfs, size: 1M, inodes: 1K, mode: 0700}
    - {at: /usr/share/doc, kind: mask}
  landlock:
    - {path: /, rights: [list]}
    - {path: /etc, rights: [list]}
    - {path: /plain, rights: [read, execute]}
    - {path: /fixed, rights: [read, write, create]}
    - {path: /narrow, rights: [read]}
    - {path: /narrow/later, rights: [read, write]}
    - {path: /half, rights: [read, create]}
    - {path: /dev, rights: [read]}
    - {path: /dev/null, rights: [write]}
    - {path: /home/agent, rights: [read, write]}
  seccomp:
    refuse: [unlinkat, getxattr]
"""
NARROW_CASES = (
    ("read /data/bin/env",), ("exec /data/bin/true",), ("write /data/bin/env",), ("write /data",),
    ("list /part",), ("read /part/os-release",), ("exec /part/os-release",),
    ("read /plain/env",),
    ("exec /plain/true",), ("write /plain/env",), ("create /plain/x",), ("list /closed",),
    ("read /closed/file",), ("read /closed/nothing",), ("create /closed/x",), ("read /unreadable",),
    ("write /unreadable",), ("read /loop",), ("read /loop/x",), ("create /loop",),
    ("delete /loop",),
    ("list /up",), ("read /up/../there",), ("create /fixed/x",), ("list /fixed",),
    ("create /narrow/x",), ("list /narrow",), ("create /half/x",), ("read /usr/share/doc/x",),
    ("list /usr/share/doc",), ("create /usr/share/doc/x",), ("list /data/share/doc",),
    ("read /etc/passwd",), ("list /etc",), ("read /etc/hosts",), ("write /etc/hosts",),
    ("exec /etc/hosts",), ("write /dev/null",), ("write /dev/full",), ("read /dev/full",),
    ("write /dev/ptmx",), ("create /home/agent/x",), ("list /home/agent",),
    ("delete /home/agent/first",), ("connect 127.0.0.1:8080",), ("connect 192.0.2.1:80",),
    ("connect [::1]:80",), ("connect nobody.example:80",), ("connect udp:127.0.0.1:53",),
    ("resolve nobody.example",), ("resolve localhost",),
    ("connect udp:192.0.2.1:53",), ("bind 8082",), ("bind 80",), ("bind 0",), ("bind udp:5353",),
    ("connect unix:/tmp/socket",), ("connect unix:@listens",), ("connect unix:/closed/file",),
    ("connect unix:/unreadable",), ("connect unix:/fixed",), ("syscall getxattr", True, (-1,) * 6),
    ("syscall getppid", True, (-1,) * 6), ("list /data",), ("read /data", False),
)


# Directories of the operator's, each with what prepare_host() makes.
SHOWN = """profiles:
- name: shown
  extends: default
  description: what an operator shows of the host
  files:
    - {{at: /srv/ro, kind: bind, from: {0}/ro}}
    - {{at: /srv/rw, kind: bind, from: {0}/rw, access: writable}}
    - {{at: /srv/cow, kind: bind, from: {0}/cow, access: copy-on-write, size: 1M, inodes: 1K}}
    - {{at: /srv/twin, kind: bind, from: {0}/rw, access: writable}}
    - {{at: /srv/copy, kind: bind, from: {0}/rw, access: copy-on-write, size: 1M, inodes: 1K}}
    - {{at: /srv/dark, kind: bind, from: {0}/ro}}
    - {{at: /srv/part, kind: bind, from: {0}/rw/folder, access: writable}}
  landlock:
    - {{path: /srv/rw, rights: [read, write, create, execute]}}
    - {{path: /srv/ro/folder, rights: [read]}}
    - {{path: /srv/cow, rights: [read, write, create]}}
"""
SHOWN_PLACES = ("ro", "rw", "cow", "twin", "copy", "dark")
SHOWN_ACTS = ("read /srv/{0}/file", "list /srv/{0}", "write /srv/{0}/file",
              "create /srv/{0}/new-{0}", "exec /srv/{0}/program", "delete /srv/{0}/old-{0}", "read /srv/{0}/folder/file",
              "list /srv/{0}/folder", "delete /srv/{0}", "create /srv/{0}")
SHOWN_CASES = (
    ("read /srv/rw/nothing", False), ("write /srv/cow/nothing", False), ("write /srv/cow",),
    ("read /srv/cow",), ("exec /srv/cow",), ("read /srv/part/file",), ("write /srv/part/file",),
    ("connect unix:/srv/cow",), ("connect unix:/srv/ro/socket",), ("connect unix:/srv/rw/socket",),
    ("connect unix:/srv/cow/socket", False), ("connect unix:/srv/rw/file", False),
    ("create /srv/new",), ("list /srv",),
)


def prepare_host(folder):
    """Returns the sockets, which listen as long as they are held."""
    held = []
    for name in ("ro", "rw", "cow"):
        place = os.path.join(folder, name)
        os.makedirs(os.path.join(place, "folder"))
        for file in ("file", "folder/file", *("old-" + other for other in SHOWN_PLACES)):
            with open(os.path.join(place, file), "w", encoding="ascii") as out:
                out.write("x")
        shutil.copy("/usr/bin/true", os.path.join(place, "program"))
        server = socket.socket(socket.AF_UNIX)
        server.bind(os.path.join(place, "socket"))
        server.listen()
        held.append(server)
    return held


class Installed(unittest.TestCase):
    """Profiles of an operator's, in a copy of the programs; asked through the protocol."""

    def install(self, text):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        support.limits()  # of the programs as they are
        for name in os.listdir(support.BIN):
            shutil.copy(os.path.join(support.BIN, name), folder)
        source = os.path.join(folder, "config.yaml")
        with open(source, "w", encoding="ascii") as file:
            file.write(text)
        subprocess.run([POLICY, "compile", "-o", os.path.join(folder, "builtin.policy"),
                        "--config", source], check=True)
        os.unlink(os.path.join(folder, "msp-policy"))  # else the built-in profiles are its own
        patch = unittest.mock.patch.object(support, "MSP", os.path.join(folder, "msp"))
        patch.start()
        self.addCleanup(patch.stop)

    def check(self, profile, rows):
        rows = [(row[0], row[1] if len(row) > 1 else True, row[2] if len(row) > 2 else ())
                for row in rows]
        outcomes = done(profile, [(row[0], row[2]) for row in rows])
        with support.Server() as server:
            server.initialize()
            for (operation, holds, _), outcome in zip(rows, outcomes):
                text = support.text_of(server.call("explain_policy", profile=profile,
                                                   operation=operation))
                with self.subTest(operation=operation, holds=holds):
                    problem = contradiction(text, outcome, holds)
                    self.assertIsNone(problem, f"{outcome} happened, and it {problem}:\n{text}")

    def test_corners(self):
        self.install(NARROW)
        self.check("narrow", NARROW_CASES)

    def test_directories_of_the_operators(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        held = prepare_host(folder)
        self.addCleanup(lambda: [server.close() for server in held])
        self.install(SHOWN.format(folder))
        self.check("shown", [(act.format(place),) for place in SHOWN_PLACES for act in SHOWN_ACTS
                             ] + list(SHOWN_CASES))


class Documents(unittest.TestCase):
    """What the documents show is what is printed, but for line breaks and line numbers."""

    def flat(self, text):
        return re.sub(r"\.yaml:\d+", ".yaml:N", " ".join(text.split()))

    def check(self, name):
        shown = 0
        with open(os.path.join(support.ROOT, name), encoding="utf-8") as file:
            blocks = re.findall(r"^```console\n(.*?)^```", file.read(), re.M | re.S)
        for block in blocks:
            for command, output in re.findall(r"^\$ msp-policy explain (.*)\n((?:[^$].*\n)*)",
                                              block, re.M):
                result = subprocess.run([POLICY, "explain", *shlex.split(command)], check=True,
                                        capture_output=True, text=True)
                self.assertEqual(self.flat(output), self.flat(result.stdout), command)
                shown += 1
        self.assertGreater(shown, 0)

    def test_examples(self):
        for name in ("README.md", "docs/policy.md"):
            with self.subTest(name=name):
                self.check(name)


class Tool(unittest.TestCase):
    """The same through the protocol."""

    def test_same_text(self):
        operations = sorted({row[0] for row in cases()})
        with support.Server() as server:
            server.initialize()
            for profile in profiles():
                for operation, text in zip(operations, explain(profile, operations)):
                    with self.subTest(profile=profile, operation=operation):
                        result = server.call("explain_policy", profile=profile,
                                             operation=operation)
                        self.assertFalse(result.get("isError"), result)
                        self.assertEqual(support.text_of(result), text)
                        self.check_data(result["structuredContent"], profile, operation, text)

    def check_data(self, data, profile, operation, text):
        answer, is_conditional, error = first_line(text)
        self.assertEqual((data["profile"], data["operation"]), (profile, operation))
        self.assertEqual(data["answer"],
                         "conditional" if is_conditional and answer == "allowed" else answer)
        self.assertEqual(data.get("error"), error)
        self.assertIn(data["rule"], text)
        self.assertEqual("remedy" in data, "; remedy: " in text)
        self.assertIn(data.get("remedy", ""), text)
        self.assertIn(data.get("condition", ""), text)
        if "origin" in data:
            self.assertIn(f"({data['origin']['file']}:{data['origin']['line']})", text)


if __name__ == "__main__":
    unittest.main()
