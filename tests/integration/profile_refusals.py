#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What each shipped profile refuses: acts that no workload may do in any of them, and those that
`strict` and `minimal` refuse beyond. Each of the latter succeeds in `default`, so that a refusal is
the profile's."""
import json
import os
import re
import resource
import subprocess
import tempfile
import unittest

import support

# Runs inside: {act: "done", or the name of its error}.
PROBE = r"""
import ctypes, errno, json, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)

def call(number, *arguments):
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), "")

def connect(family, kind, address):
    with socket.socket(family, kind) as one:
        one.settimeout(5)
        one.connect(address)

def bind_loopback():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen()

def make(path):
    with open(path, "x"):
        os.unlink(path)

def look(path):
    with open(path, "rb") as file:
        file.read(1)

def pass_descriptor():
    one, other = socket.socketpair()
    with one, other:
        socket.send_fds(one, [b"x"], [0])

acts = {
    "tcp": lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("192.0.2.1", 80)),
    "udp": lambda: connect(socket.AF_INET, socket.SOCK_DGRAM, ("192.0.2.1", 53)),
    "tcp6": lambda: connect(socket.AF_INET6, socket.SOCK_STREAM, ("2001:db8::1", 80)),
    "write /usr": lambda: make("/usr/mark"),
    "write /usr/bin": lambda: open("/usr/bin/env", "r+b"),
    "write /etc": lambda: make("/etc/mark"),
    "write /": lambda: make("/mark"),
    "the user's home": lambda: look(sys.argv[1]),
    "the user's home, listed": lambda: os.listdir(os.path.dirname(sys.argv[1])),
    "/root": lambda: os.listdir("/root"),
    "/etc/shadow": lambda: look("/etc/shadow"),
    "/sys": lambda: os.listdir("/sys"),
    "mount": lambda: call(165, b"none", b"/tmp", b"tmpfs", 0, None),
    "open_tree": lambda: call(428, -100, b"/", 1),
    "unshare": lambda: call(272, 0x10000000),
    "clone": lambda: call(56, 0x10000011, 0, 0, 0, 0),
    "setns": lambda: call(308, 0, 0),
    "ptrace": lambda: call(101, 0, 0, 0, 0),
    "keyctl": lambda: call(250, 0, -3, 0, 0, 0),
    "add_key": lambda: call(248, b"user", b"x", b"y", 1, -3),
    "bpf": lambda: call(321, 0, 0, 0),
    "io_uring": lambda: call(425, 1, 0),
    "set-ID file": lambda: os.chmod("/workspace", 0o4755),
    "unix socket": lambda: socket.socket(socket.AF_UNIX).close(),
    "loopback": bind_loopback,
    "watch": lambda: call(294, 0),
    "own filter": lambda: call(317, 2, 0, ctypes.byref(ctypes.c_uint32(0x7fff0000))),
    "large file": lambda: os.truncate(open("/tmp/large", "x").name, 200 << 20),
    "socket pair": lambda: socket.socketpair()[0].close(),
    "descriptor passed": pass_descriptor,
    "/proc": lambda: look("/proc/self/status"),
    "/proc, listed": lambda: os.listdir("/proc"),
    "another's /proc": lambda: look("/proc/1/cmdline"),
    "/, listed": lambda: os.listdir("/"),
    "/etc/passwd": lambda: look("/etc/passwd"),
    "/home/agent": lambda: os.listdir("/home/agent"),
    "/dev/urandom": lambda: look("/dev/urandom"),
    "/dev/shm": lambda: make("/dev/shm/mark"),
}
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
told = {}
for name, act in acts.items():
    try:
        act()
        told[name] = "done"
    except OSError as error:
        told[name] = errno.errorcode.get(error.errno, str(error))
print(json.dumps(told))
"""

# In every profile; where several layers stand behind one another, any of them may be first.
NEVER = {
    "tcp": {"ENETUNREACH", "EPERM"}, "udp": {"ENETUNREACH", "EPERM"},
    "tcp6": {"ENETUNREACH", "EADDRNOTAVAIL", "EPERM"},
    "write /usr": {"EROFS", "EACCES"}, "write /usr/bin": {"EROFS", "EACCES"},
    "write /etc": {"EROFS", "EACCES"}, "write /": {"EROFS", "EACCES"},
    "the user's home": {"ENOENT"}, "the user's home, listed": {"ENOENT"},
    "/root": {"ENOENT"}, "/etc/shadow": {"ENOENT"}, "/sys": {"ENOENT"},
    "mount": {"EPERM"}, "open_tree": {"EPERM"}, "unshare": {"EPERM"}, "clone": {"EPERM"},
    "setns": {"EPERM"}, "keyctl": {"EPERM"}, "add_key": {"EPERM"},
    "bpf": {"EPERM"}, "io_uring": {"EPERM"}, "set-ID file": {"EPERM"},
    "another's /proc": {"ENOENT", "EACCES"},
}
STRICT = {
    "tcp": {"EPERM"}, "udp": {"EPERM"}, "tcp6": {"EPERM"},
    "unix socket": {"EPERM"}, "loopback": {"EPERM"}, "watch": {"EPERM"}, "own filter": {"EPERM"},
    "large file": {"EFBIG"}, "ptrace": {"EPERM"},
}
MINIMAL = {
    **STRICT, "socket pair": {"EPERM"}, "descriptor passed": {"EPERM"},
    "/proc": {"EACCES"}, "/proc, listed": {"EACCES"}, "/, listed": {"EACCES"},
    "/etc/passwd": {"ENOENT"}, "/home/agent": {"ENOENT"}, "/dev/urandom": {"ENOENT"},
    "/dev/shm": {"ENOENT"},
}
DEVELOPMENT = [name for name in support.PROFILES_HERE if name.endswith("-dev")]
BEYOND = {"strict": STRICT, "minimal": MINIMAL}


def setUpModule():
    if os.geteuid() == 0:
        raise unittest.SkipTest("needs an ordinary user")


def shown(profile):
    """`msp-policy show PROFILE`."""
    result = subprocess.run([os.path.join(support.BIN, "msp-policy"), "show", profile],
                                    capture_output=True, text=True, check=True)
    return result.stdout


def number_of(text):
    """What "2G" stands for."""
    return int(text.rstrip("KMGT")) << 10 * " KMGT".index(text[-1] if text[-1] in "KMGT" else " ")


class Refusals(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        home = os.path.expanduser("~")
        with tempfile.NamedTemporaryFile(dir=home if os.access(home, os.W_OK) else None) as secret:
            cls.told = {profile: cls.probe(profile, secret.name) for profile in support.PROFILES_HERE}

    @staticmethod
    def probe(profile, secret):
        result = support.run("python3", "-c", PROBE, secret, options=("--profile", profile))
        if result.returncode:
            raise AssertionError(f"{profile}: {result.stderr}")
        return json.loads(result.stdout)

    def test_the_list_is_all_that_ships(self):
        listed = subprocess.run([os.path.join(support.BIN, "msp-policy"), "list"],
                                        capture_output=True, text=True, check=True).stdout
        self.assertEqual(tuple(line.split()[0] for line in listed.splitlines()), support.PROFILES)

    def test_what_no_profile_allows(self):
        for profile in support.PROFILES_HERE:
            for act, errors in NEVER.items():
                with self.subTest(profile=profile, act=act):
                    self.assertIn(self.told[profile][act], errors)

    def test_what_a_narrow_profile_refuses_beyond_default(self):
        for profile, refused in BEYOND.items():
            for act, errors in refused.items():
                with self.subTest(profile=profile, act=act):
                    self.assertIn(self.told[profile][act], errors)

    def test_default_allows_what_narrow_profiles_refuse(self):
        told = self.told["default"]
        for act in {*STRICT, *MINIMAL} - {*NEVER, "ptrace"}:
            with self.subTest(act=act):
                self.assertEqual(told[act], "done")

    def test_a_profile_for_development_refuses_what_default_refuses(self):
        for profile in DEVELOPMENT:
            with self.subTest(profile=profile):
                told = dict(self.told[profile])
                self.assertEqual(told.pop("ptrace"), "done")  # of the own execution: attack/tracing
                default = dict(self.told["default"])
                self.assertEqual(default.pop("ptrace"), "EPERM")
                self.assertEqual(told, default)


class Room(unittest.TestCase):
    """What a profile says of sizes is what its sandbox has."""

    def test_file_systems_and_limits(self):
        code = ("import json, os, resource, sys\n"
                "sizes = {path: (os.statvfs(path).f_blocks * os.statvfs(path).f_frsize,\n"
                "                os.statvfs(path).f_files) for path in sys.argv[1:]}\n"
                "print(json.dumps([sizes, resource.getrlimit(resource.RLIMIT_NOFILE),\n"
                "                  resource.getrlimit(resource.RLIMIT_FSIZE)]))\n")
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1] // 2
        for profile in support.PROFILES_HERE:
            text = shown(profile)
            sizes = {path: [number_of(size), number_of(inodes)] for path, size, inodes in
                     re.findall(r"^  tmpfs +(\S+) size (\w+), inodes (\w+),", text, re.M)}
            limits = dict(re.findall(r"^  (open_files|file_size) +(\w+)(?: \(.*\))?$", text, re.M))
            self.assertGreaterEqual(len(sizes), 2)
            result = support.run("python3", "-c", code, *sizes, options=("--profile", profile))
            told = json.loads(result.stdout)
            with self.subTest(profile=profile):
                self.assertEqual(told[0], sizes)
                # Half of what msp has at most, as each start of it says.
                self.assertEqual(told[1], [min(number_of(limits["open_files"]), most)] * 2)
                self.assertEqual(told[2], [number_of(limits["file_size"])] * 2)

    def test_more_for_development_and_less_for_the_narrow(self):
        """Memory and time, in the order that the names promise."""
        def memory(profile):
            return number_of(re.search(r"^  memory +(\w+)(?: \(.*\))?$", shown(profile), re.M).group(1))

        for profile in DEVELOPMENT:
            self.assertGreater(memory(profile), memory("default"), profile)
        self.assertGreater(memory("default"), memory("strict"))
        self.assertGreater(memory("strict"), memory("minimal"))


class Shells(unittest.TestCase):
    def test_the_shell_of_minimal_reads_nothing_of_its_own_accord(self):
        """It has no sockets, and bash takes a refused getpeername() for a remote shell: it would run
        what lies in HOME. /bin/sh must not."""
        script = "for file in .bashrc .profile; do echo 'echo read' > $file; done; sh -c 'echo ran'"
        result = support.run("/bin/sh", "-c", script, options=("--profile", "minimal"))
        self.assertEqual((result.stdout, result.stderr), ("ran\n", ""))

    def test_a_terminal(self):
        """Every profile has terminals: `msp run` in one asks for it."""
        with support.Server() as server:
            server.initialize()
            for profile in support.PROFILES_HERE:
                with self.subTest(profile=profile):
                    result = server.call("run_command", profile=profile, tty=True,
                                         command="test -t 0 && test -t 1 && stty size")
                    self.assertFalse(result["isError"], support.text_of(result))
                    self.assertRegex(support.text_of(result), r"\d+ \d+")


if __name__ == "__main__":
    unittest.main(verbosity=2)
