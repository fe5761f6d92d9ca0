#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What each built program is linked with, what it may call, and how it is hardened."""
import collections
import functools
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import ceilings
import graph
import tree

# The shared libraries that each program may need; none for the static ones.
ALLOWED_LIBRARIES = {
    "msp": set(),
    "msp-broker": {"libc", "libevent_core-2.1", "libevent_extra-2.1", "libsodium", "libyajl"},
    "msp-scope": {"libc", "libsystemd"},
    "msp-layers": {"libc"},  # and libgit2 and zlib in some jobs: gitdiff.c, layers/reader/library.c
    "msp-policy": {"libc", "libpsl", "libyaml-0", "libseccomp"},
    "msp-supervisor": set(),
    "msp-child-init": set(),
    "msp-file": set(),
    "msp-opener": set(),
    "msp-git-config": set(),
    "msp-audit": set(),
    "msp-store": set(),
    "msp-cable": set(),
    "msp-egress": set(),
    "msp-dial": {"libc", "libcares"},
    "msp-http": {"libc", "libcrypto", "libssl"},
    "msp-bridge": set(),
    "msp-image": {"libc", "libarchive", "libcrypto", "libsodium", "libyajl"},
    "msp-vm": set(),
    "msp-vm-init": set(),
    "msp-vm-prepare": {"libc", "libarchive"},
}
# Functions that nobody calls: no bound, hidden state, or a shell.
FORBIDDEN = {"strcpy", "strcat", "sprintf", "vsprintf", "gets", "strtok", "system", "popen",
             "atoi", "atol", "mktemp", "tmpnam", "rand"}
# The broker reads bytes of strangers: it opens, starts and dials nothing.
FORBIDDEN_BROKER = {"open", "open64", "openat", "openat64", "creat", "fopen", "fopen64", "execve",
                    "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve",
                    "execveat", "fork", "vfork", "clone", "posix_spawn", "posix_spawnp", "connect",
                    "socket", "bind", "listen", "accept", "dlopen", "getenv"}
HEAP = {"malloc", "calloc", "realloc", "reallocarray", "free", "strdup", "posix_memalign"}
STDIO = {"fopen", "fdopen", "printf", "fprintf", "puts", "fputs", "perror", "scanf", "fscanf"}
FORBIDDEN_OF = {
    "msp-broker": FORBIDDEN_BROKER,
    "msp-supervisor": HEAP | {"fork", "vfork", "clone", "execv", "execvp", "execve", "fexecve",
                              "posix_spawn"},
    "msp-audit": HEAP | {"fork", "vfork", "clone", "execve", "socket", "connect", "getenv"},
    "msp-store": HEAP | {"fork", "vfork", "clone", "execve", "socket", "connect", "getenv"},
    # It forks and executes the other two before it is confined; its filter knows neither.
    "msp-cable": HEAP | STDIO | {"connect", "accept4", "open", "getenv", "system"},
    "msp-egress": FORBIDDEN_BROKER,
    # Its sockets are of the sandbox's network, which it enters before it is confined.
    "msp-bridge": FORBIDDEN_BROKER - {"socket", "connect", "listen"},
    # It forks its reader of resolv.conf before it is confined.
    "msp-dial": FORBIDDEN_BROKER - {"open", "open64", "fork", "socket", "connect"},
    # Its starter forks servers, which its own filter knows and theirs does not.
    "msp-http": FORBIDDEN_BROKER - {"fork"},
    "msp-child-init": HEAP | STDIO | {"snprintf", "sscanf", "getenv"},
    "msp-policy": {"getenv", "fork", "execve", "socket"},
    # It forks its reader of repositories before it is confined; its filters know no clone.
    "msp-layers": FORBIDDEN_BROKER - {"open", "open64", "openat", "openat64", "dlopen", "fork"},
    # It forks its starter, which executes programs with the launcher's library, before it is confined.
    "msp-opener": FORBIDDEN_BROKER - {"open", "fork"},
    "msp-git-config": FORBIDDEN_BROKER - {"open", "open64", "openat", "openat64", "fopen", "fopen64", "getenv"},
    "msp-file": FORBIDDEN_BROKER - {"open", "open64", "openat", "openat64"},
    # Of what it links: layers_core opens files, and loads libgit2 in parts that are not linked here.
    "msp-image": FORBIDDEN_BROKER - {"openat", "openat64"},
    "msp-vm-prepare": FORBIDDEN_BROKER - {"openat", "openat64"},
}


def imports(name):
    """The names that a dynamic program takes from its libraries."""
    rows = tree.readelf("--dyn-syms", tree.program(name)).splitlines()
    return {row.split()[-1].split("@")[0] if "(" not in row.split()[-1] else
            row.split()[-2].split("@")[0] for row in rows if " UND " in row and len(row.split()) > 7}


@functools.cache
def object_folders():
    """{target: the folders with its objects}."""
    found = collections.defaultdict(list)
    for folder, _, _ in os.walk(tree.BUILD):
        target = re.search(r"CMakeFiles/([^/]+)\.dir(?:/|$)", folder)
        if target:
            found[target[1]].append(folder)
    return found


@functools.cache
def object_imports(name):
    """The names that the program's own objects take from elsewhere, by object."""
    paths = [os.path.join(folder, entry) for folder in object_folders()[name]
             for entry in os.listdir(folder) if entry.endswith(".o")]
    found = {os.path.basename(path): set() for path in paths}
    if paths:
        text = subprocess.run(["nm", "-A", "-u", *paths], check=True, capture_output=True,
                              text=True).stdout
        for line in text.splitlines():
            path, _, rest = line.partition(": ")
            found[os.path.basename(path)].add(rest.split()[-1])
    return found


class Linkage(unittest.TestCase):
    def test_programs_are_built(self):
        for name in tree.PROGRAMS:
            with self.subTest(program=name):
                self.assertTrue(os.access(tree.program(name), os.X_OK))

    def test_libraries(self):
        for name, allowed in ALLOWED_LIBRARIES.items():
            with self.subTest(program=name):
                text = tree.readelf("-d", tree.program(name))
                needed = set(re.findall(r"\(NEEDED\).*\[(.+?)\.so", text))
                self.assertLessEqual(needed, allowed)
                if name in tree.DYNAMIC_PROGRAMS:
                    self.assertIn("libc", needed, "the parser finds libraries")

    def test_no_search_path_for_libraries(self):
        for name in tree.PROGRAMS:
            with self.subTest(program=name):
                text = tree.readelf("-d", tree.program(name))
                self.assertNotRegex(text, r"\((RPATH|RUNPATH|TEXTREL)\)")

    def test_static_programs_have_twins_alone(self):
        for name in tree.STATIC_PROGRAMS:
            archives = [path for path in graph.statements()["bin/" + name] if path.endswith(".a")]
            with self.subTest(program=name):
                self.assertTrue(archives)
                self.assertEqual([path for path in archives if not path.endswith("_static.a")], [],
                                 "compiled with the headers of another C library")

    def test_static_programs_have_no_interpreter(self):
        for name in tree.STATIC_PROGRAMS:
            with self.subTest(program=name):
                self.assertNotIn("INTERP", tree.readelf("-l", tree.program(name)))

    def test_imports(self):
        for name in tree.DYNAMIC_PROGRAMS:
            with self.subTest(program=name):
                names = imports(name)
                self.assertGreater(len(names), 10, "the parser finds imports")
                self.assertFalse(names & FORBIDDEN)
                self.assertFalse(names & FORBIDDEN_OF.get(name, set()))

    def test_objects(self):
        for name in tree.PROGRAMS:
            objects = object_imports(name)
            with self.subTest(program=name):
                self.assertTrue(objects, "the build's objects are found")
            for entry, names in objects.items():
                with self.subTest(program=name, object=entry):
                    self.assertFalse(names & FORBIDDEN)
                    self.assertFalse(names & FORBIDDEN_OF.get(name, set()))

    def test_common_objects(self):
        for name in ("msp_common", "msp_common_static", "msp_ipc", "msp_ipc_static"):
            for entry, names in object_imports(name).items():
                with self.subTest(library=name, object=entry):
                    self.assertFalse(names & (FORBIDDEN | HEAP | {"getenv"}))


BECOME = """
import os, socket, sys, fcntl
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
child = os.fork()
if child == 0:
    # Its parent's end orphans its process group. If that were the group of all tests, and one of
    # them had a stopped process in it, the kernel would hang up on all.
    os.setpgid(0, 0)
    ours.close()
    sys.exit(theirs.recv(1) != b"")
fds = [int(sys.argv[1]), ours.fileno(), os.pidfd_open(child), os.open("/dev/null", os.O_RDONLY)]
for place, fd in enumerate([fcntl.fcntl(fd, fcntl.F_DUPFD, 16) for fd in fds], 3):
    os.dup2(fd, place)
os.execv(sys.argv[2], sys.argv[2:])
"""


def rights_when_waiting(program):
    """{page's address in the file: rights} of a process that waits at its descriptor 3. It hides
    itself from its user; who made the user namespace that it runs in may look all the same. A
    supervisor has a child and a channel to it besides, at 5 and 4, and a factory the launcher's
    descriptors from 4 to 6."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        child = subprocess.Popen(
            ["unshare", "--user", "--map-user=1000", sys.executable, "-c", BECOME,
             str(theirs.fileno()), program], pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + 30
            while call_of(child.pid) != "47":  # recvmsg
                if time.monotonic() > deadline or child.poll() is not None:
                    raise AssertionError(f"{program} does not wait")
                time.sleep(0.005)
            with open(f"/proc/{child.pid}/maps", encoding="ascii") as file:
                rows = [row.split() for row in file if program in row]
        finally:
            child.kill()
            child.wait()
    spans = [[int(end, 16) for end in row[0].split("-")] for row in rows]
    return {page - spans[0][0]: row[1] for row, span in zip(rows, spans)
            for page in range(*span, 4096)}


def call_of(pid):
    """The number of the system call that a process is in."""
    with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
        return file.read().split()[0]


class Hardening(unittest.TestCase):
    def test_position_independent(self):
        for name in tree.PROGRAMS:
            with self.subTest(program=name):
                self.assertRegex(tree.readelf("-h", tree.program(name)), r"Type:\s+DYN")

    def test_relro_and_no_executable_stack(self):
        for name in tree.PROGRAMS:
            with self.subTest(program=name):
                text = tree.readelf("-l", tree.program(name))
                self.assertIn("GNU_RELRO", text)
                self.assertRegex(text, r"GNU_STACK.*\bRW\b\s")
                self.assertNotRegex(text, r"LOAD.*\bRWE\b")

    def test_relro_holds_where_nothing_loads(self):
        """Of a static program: as its process has it, when it waits for its first message."""
        for name in ("msp-supervisor", "msp-child-init"):
            with self.subTest(program=name):
                found = re.search(r"GNU_RELRO +0x\w+ (0x\w+) 0x\w+ 0x\w+ (0x\w+)",
                                  tree.readelf("-lW", tree.program(name)))
                begin = int(found[1], 16) & -4096
                end = (int(found[1], 16) + int(found[2], 16)) & -4096
                self.assertLess(begin, end)
                rights = rights_when_waiting(tree.program(name))
                for page in range(begin, end, 4096):
                    self.assertEqual(rights[page], "r--p")
                self.assertIn("rw-p", rights.values())

    def test_bound_at_start(self):
        for name in tree.PROGRAMS:
            with self.subTest(program=name):
                self.assertRegex(tree.readelf("-d", tree.program(name)), r"BIND_NOW|FLAGS_1.*NOW")

    def test_stack_protector(self):
        for name in tree.DYNAMIC_PROGRAMS:
            with self.subTest(program=name):
                self.assertIn("__stack_chk_fail", imports(name))

    def test_nothing_is_setuid(self):
        for name in tree.PROGRAMS:
            with self.subTest(program=name):
                self.assertEqual(os.stat(tree.program(name)).st_mode & 0o6000, 0)

    def test_the_checkouts_path_is_not_in_them(self):
        for name in tree.PROGRAMS:
            with self.subTest(program=name), open(tree.program(name), "rb") as file:
                self.assertNotIn(tree.ROOT.encode() + b"/", file.read())


class ChildInit(unittest.TestCase):
    def stripped_size(self):
        with tempfile.NamedTemporaryFile() as copy:
            subprocess.run(["strip", "-o", copy.name, tree.program("msp-child-init")], check=True)
            return os.stat(copy.name).st_size

    def test_size(self):
        self.assertLessEqual(self.stripped_size(), ceilings.CHILD_INIT_BYTES)

    def test_no_heap_in_it(self):
        text = subprocess.run(["nm", tree.program("msp-child-init")], capture_output=True,
                              text=True, check=False).stdout
        names = {line.split()[-1] for line in text.splitlines()}
        if not names:
            self.skipTest("stripped: no names to look at")
        self.assertFalse(names & (HEAP | STDIO))


if __name__ == "__main__":
    unittest.main()
