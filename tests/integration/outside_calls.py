#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs run as outside: calls that change nothing or only lower something, System V IPC, the
set-group-ID bit of directories, ports below 1024. Beside each, what stays refused, by name."""
import glob
import json
import os
import shutil
import socket
import subprocess
import tempfile
import unittest

import support

DEVELOPMENT = ("default", "python-dev", "node-dev", "go-dev", "rust-dev", "java-dev")

# The start of each program: sc() is a system call's answer, -errno or what it returned.
HEAD = """
import ctypes, fcntl, mmap, os, socket, sys
C = ctypes.CDLL(None, use_errno=True)
C.syscall.restype = ctypes.c_long
def sc(number, *arguments):
    ctypes.set_errno(0)
    got = C.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    return got if got >= 0 else -ctypes.get_errno()
def in_child(act):
    pid = os.fork()
    if pid == 0:
        os._exit(min(255, abs(act())))
    return -os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
def py(act):
    try:
        act()
        return 0
    except OSError as error:
        return -error.errno
def new(*parts):
    path = os.path.join(os.environ.get("MSP_PLACE", "/tmp"), *parts)
    return path
def file():
    open(new("f"), "w").close()
    return new("f")
def folder():
    os.makedirs(new("d"), exist_ok=True)
    return new("d")
zeros = lambda size: (ctypes.c_ubyte * size)()
text = lambda word: ctypes.c_char_p(word.encode())
page = mmap.mmap(-1, 1 << 16)
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
header = (ctypes.c_uint32 * 2)(0x20080522, 0)
priority = (ctypes.c_int * 1)(0)
uid, gid = os.getuid(), os.getgid()
"""

# Of each call that only msp's filter refused: an expression, which is 0 or more if it worked.
ALLOWED = {
    "PR_SET_KEEPCAPS": "sc(157, 8, 0)",
    "capset nothing": "sc(126, header, (ctypes.c_uint32 * 6)())",
    "chmod 2755 dir": "py(lambda: os.chmod(folder(), 0o2755))",
    "getcpu": "sc(309, 0, 0, 0)",
    "ioprio_get": "sc(252, 1, 0)",
    "ioprio_set be4": "sc(251, 1, 0, 2 << 13 | 4)",
    "ioprio_set be7": "sc(251, 1, 0, 2 << 13 | 7)",
    "ioprio_set idle": "in_child(lambda: sc(251, 1, 0, 3 << 13))",
    "landlock version": "sc(444, 0, 0, 1)",
    "mlock 4k": "sc(149, address, 4096)",
    "mlock2": "sc(325, address, 4096, 0)",
    "munlockall": "sc(152)",
    "msgget": "sc(68, 0, 0o1600)",
    "semget": "sc(64, 0, 1, 0o1600)",
    "shmget": "sc(29, 0, 4096, 0o1600)",
    "sched_setparam 0": "sc(142, 0, priority)",
    "sched_setscheduler BATCH": "sc(144, 0, 3, priority)",
    "sched_setscheduler OTHER": "sc(144, 0, 0, priority)",
    "sched_setscheduler IDLE": "in_child(lambda: sc(144, 0, 5, priority))",
    "sched_setscheduler RESET_ON_FORK": "sc(144, 0, 0x40000000, priority)",
    "sched_getattr": "sc(315, 0, zeros(48), 48, 0)",
    "sched_get_priority_max": "sc(146, 1)",
    "sched_get_priority_min": "sc(147, 1)",
    "sched_rr_get_interval": "sc(148, 0, zeros(16))",
    "getitimer": "sc(36, 0, zeros(32))",
    "time": "sc(201, 0)",
    "utimes": "sc(235, text(file()), 0)",
    "eventfd": "sc(284, 0)",
    "setrlimit": "sc(160, 4, zeros(16))",
    "sigqueue": "sc(129, os.getpid(), 0, (ctypes.c_int * 32)(0, 0, -1))",
    "readahead": "sc(187, os.open(file(), os.O_RDONLY), 0, 4096)",
    "setfsuid self": "sc(122, uid)",
    "setgid self": "sc(106, gid)",
    "setreuid self": "sc(113, uid, uid)",
    "setuid self": "sc(105, uid)",
}

# What stays refused: the expression, the errno, and the call that the denial names.
REFUSED = {
    "AF_NETLINK SOCK_DIAG": ("sc(41, 16, 3, 4)", 1, "socket"),
    "AF_NETLINK UEVENT": ("sc(41, 16, 3, 15)", 1, "socket"),
    "AF_VSOCK": ("sc(41, 40, 1, 0)", 1, "socket"),
    "MPTCP": ("sc(41, 2, 1, 262)", 1, "socket"),
    "TCP_FASTOPEN": ("py(lambda: socket.socket().setsockopt(6, 23, 5))", 1, "setsockopt"),
    "FS_IOC_SETFLAGS": ("sc(16, os.open(file(), os.O_RDONLY), 0x40086602, zeros(8))", 1, "ioctl"),
    "F_NOTIFY": ("sc(72, os.open(folder(), os.O_RDONLY), 1026, 1)", 1, "fcntl"),
    "MADV_MERGEABLE": ("sc(28, address, 4096, 12)", 1, "madvise"),
    "MFD_HUGETLB": ("sc(319, text('x'), 4)", 1, "memfd_create"),
    "PR_MCE_KILL": ("sc(157, 33, 0, 0, 0, 0)", 1, "prctl"),
    "SHM_HUGETLB": ("sc(29, 0, 1 << 21, 0o5600)", 1, "shmget"),
    "add_key": ("sc(248, text('user'), text('k'), text('v'), 1, -1)", 1, "add_key"),
    "keyctl": ("sc(250, 0, -3, 0)", 1, "keyctl"),
    "adjtimex": ("sc(159, zeros(208))", 1, "adjtimex"),
    "clock_adjtime": ("sc(305, 0, zeros(208))", 1, "clock_adjtime"),
    "chmod 2644 file": ("py(lambda: os.chmod(file(), 0o2644))", 1, "chmod"),
    "chmod 4755 file": ("py(lambda: os.chmod(file(), 0o4755))", 1, "chmod"),
    "chmod 4755 dir": ("py(lambda: os.chmod(folder(), 0o4755))", 1, "chmod"),
    "fanotify_init": ("sc(300, 0x200, 0)", 1, "fanotify_init"),
    "get_mempolicy": ("sc(239, 0, 0, 0, 0, 0)", 1, "get_mempolicy"),
    "mbind": ("sc(237, address, 4096, 0, 0, 0, 0)", 1, "mbind"),
    "set_mempolicy": ("sc(238, 0, 0, 0)", 1, "set_mempolicy"),
    "move_pages": ("sc(279, 0, 0, 0, 0, 0, 0)", 1, "move_pages"),
    "io_setup": ("sc(206, 4, ctypes.byref(ctypes.c_ulong(0)))", 1, "io_setup"),
    "io_uring_setup": ("sc(425, 4, zeros(120))", 1, "io_uring_setup"),
    "mq_open": ("sc(240, text('q'), 0o102, 0o600, 0)", 1, "mq_open"),
    "memfd_secret": ("sc(447, 0)", 1, "memfd_secret"),
    "mknod whiteout": ("py(lambda: os.mknod(new('w'), 0o020600, 0))", 1, "mknodat"),
    "modify_ldt": ("sc(154, 0, zeros(16), 16)", 1, "modify_ldt"),
    "kcmp self": ("sc(312, os.getpid(), os.getpid(), 0, 0, 0)", 1, "kcmp"),
    "process_vm_readv self": ("sc(310, os.getpid(), 0, 0, 0, 0, 0)", 1, "process_vm_readv"),
    "ptrace TRACEME": ("in_child(lambda: sc(101, 0, 0, 0, 0))", 1, "ptrace"),
    "quotactl sync": ("sc(179, 0x80000100, 0, 0, 0)", 1, "quotactl"),
    "sync": ("sc(162)", 1, "sync"),
    "syncfs": ("sc(306, os.open('/tmp', 0))", 1, "syncfs"),
    "unshare files": ("sc(272, 0x400)", 1, "unshare"),
    "unshare fs": ("sc(272, 0x200)", 1, "unshare"),
    "unshare sysvsem": ("sc(272, 0x40000)", 1, "unshare"),
    "unshare user": ("in_child(lambda: sc(272, 0x10000000))", 1, "unshare"),
    "userfaultfd": ("sc(323, 1)", 1, "userfaultfd"),
    "vmsplice": ("sc(278, os.pipe()[1], 0, 0, 0)", 1, "vmsplice"),
    "sched_setscheduler FIFO": ("sc(144, 0, 1, (ctypes.c_int * 1)(1))", 1, "sched_setscheduler"),
    "ioprio_set be0": ("sc(251, 1, 0, 2 << 13)", 1, "ioprio_set"),
    "ioprio_set realtime": ("sc(251, 1, 0, 1 << 13)", 1, "ioprio_set"),
    "setuid root": ("sc(105, 0)", 1, "setuid"),
    "mlock 64k": ("sc(149, address, 1 << 16)", 1, "mlock"),
    "mlockall": ("sc(151, 3)", 1, "mlockall"),
    # In place of these, programs use the older form.
    "mseal": ("sc(462, address, 0, 0)", 38, None),
    "openat2": ("sc(437, -100, text('/tmp'), (ctypes.c_uint64 * 3)(0x10000, 0, 0), 24)", 38, None),
}


def setUpModule():
    if os.geteuid() == 0:
        raise unittest.SkipTest("needs an ordinary user")


def program(expressions):
    """Print NAME, a tab and the answer, for each."""
    return HEAD + "".join(f"print({name!r}, {expression}, sep='\\t', flush=True)\n"
                          for name, expression in expressions.items())


def answers(output):
    return {name: int(answer) for name, answer in
            (line.split("\t") for line in output.splitlines())}


def run_json(*command, profile="default", options=(), **keywords):
    result = subprocess.run(
        [support.MSP, "run", *support.limits(), "--json", *options, "--profile", profile, "--",
         *command], capture_output=True, text=True, timeout=120, check=False, **keywords)
    return json.loads(result.stdout)


class Verdicts(unittest.TestCase):
    def outside(self, expressions):
        with tempfile.TemporaryDirectory() as place:
            return answers(subprocess.run(
                ["python3", "-c", program(expressions)], capture_output=True, text=True,
                timeout=60, check=True, env={**os.environ, "MSP_PLACE": place}).stdout)

    def test_calls_that_lower_or_change_nothing_work(self):
        outside = self.outside(ALLOWED)
        inside = answers(support.run_python(program(ALLOWED)).stdout)
        self.assertEqual(inside.keys(), ALLOWED.keys())
        for name, answer in inside.items():
            with self.subTest(call=name):
                if outside[name] < 0:
                    self.skipTest(f"refused outside: {os.strerror(-outside[name])}")
                self.assertGreaterEqual(answer, 0)

    def test_refused_calls_are_named(self):
        for name, (expression, error, call) in REFUSED.items():
            with self.subTest(call=name):
                code = HEAD + f"got = {expression}\nprint(got)\nsys.exit(got != 0)\n"
                result = run_json("python3", "-c", code)
                self.assertEqual(result["exit_code"], 1)
                denied = {item["operation"]: item for item in result.get("denials", [])}
                self.assertEqual(result["stdout"].strip(), str(-error), result)
                if call is None:
                    self.assertEqual(denied, {})
                    continue
                self.assertEqual(denied[call]["layer"], "seccomp")
                self.assertRegex(denied[call]["hint"],
                                 f"{call} is refused|no root rights|use of {call} is refused")

    def test_nothing_is_won(self):
        """The kernel's own checks are behind these calls."""
        code = HEAD + """
import resource
all_of_them = (ctypes.c_uint32 * 6)(*[0xffffffff] * 6)
print(sc(126, header, all_of_them), sc(157, 8, 1), sc(157, 7))
print(resource.getrlimit(resource.RLIMIT_RTPRIO), sc(314, 0, (ctypes.c_uint32 * 12)(48, 1, 0, 0, 0, 1), 0))
print(sc(117, 0, 0, 0))
big = mmap.mmap(-1, 1 << 17)
start = ctypes.addressof(ctypes.c_char.from_buffer(big))
print(sc(149, start, 40960), sc(149, start + 40960, 40960))
print([line.split()[1] for line in open("/proc/self/status") if line.startswith("Cap")])
"""
        lines = support.run_python(code).stdout.splitlines()
        self.assertEqual(lines[0], "-1 -1 0", "capset of all; PR_SET_KEEPCAPS, which is locked")
        self.assertEqual(lines[1], "(0, 0) -1", "SCHED_FIFO by sched_setattr")
        self.assertEqual(lines[2], "-22", "setresuid to root")
        self.assertEqual(lines[3], "0 -12", "more locked memory than RLIMIT_MEMLOCK")
        self.assertEqual(set(eval(lines[4])), {"0" * 16})  # pylint: disable=eval-used

    def test_a_ruleset_of_ones_own_widens_nothing(self):
        """A domain below the sandbox's own: with a ruleset that governs no right at all but one."""
        code = HEAD + """
def inside():
    ruleset = sc(444, (ctypes.c_uint64 * 1)(1), 8, 0)  # LANDLOCK_ACCESS_FS_EXECUTE
    return ruleset if ruleset < 0 else sc(446, ruleset, 0)
print(py(lambda: open("/dev/shm/x", "w").close()), py(lambda: open("/x", "w")))
print(inside())
print(py(lambda: open("/dev/shm/x", "w").close()), py(lambda: open("/x", "w")),
      py(lambda: os.execv("/usr/bin/true", ["true"])))
"""
        result = support.run_python(code)
        first, entered, last = result.stdout.splitlines()
        self.assertEqual(entered, "0", result)
        self.assertTrue(first.startswith("0 -"))
        self.assertEqual(last, first + " -13")


class Directories(unittest.TestCase):
    """cp -a, tar, install, git init --shared and their like keep the set-group-ID bit of a directory."""

    COMMANDS = {
        "cp -a": "cp -a shared copy && stat -c %a copy copy/f",
        "tar": "tar xpf t.tar -C /tmp && stat -c %a /tmp/shared /tmp/shared/f",
        "mkdir": "mkdir -m 2775 d && stat -c %a d && touch d/f && stat -c %a d/f",
        "install": "install -d -m 2750 i && stat -c %a i",
        "chmod": "mkdir c && chmod g+s c && stat -c %a c && chmod g-s c && stat -c %a c",
        "chmod -R": "cp -r shared r && chmod -R g+s r",
        "copytree": "python3 -c 'import shutil; shutil.copytree(\"shared\", \"t\")' && stat -c %a t",
        "git": "git init -q --shared=group g && stat -c %a g/.git",
        "rsync": "rsync -a shared/ s && stat -c %a s",
    }
    EXPECTED = {"cp -a": "2775\n664\n", "tar": "2775\n664\n", "mkdir": "2775\n644\n",
                "install": "2750\n", "chmod": "2755\n755\n", "copytree": "2775\n", "git": "2775\n",
                "rsync": "2775\n"}

    def setUp(self):
        self.project = tempfile.mkdtemp(prefix="msp-shared-")
        self.addCleanup(shutil.rmtree, self.project, ignore_errors=True)
        os.mkdir(f"{self.project}/shared")
        with open(f"{self.project}/shared/f", "w", encoding="utf-8") as file:
            file.write("x")
        os.chmod(f"{self.project}/shared/f", 0o664)
        os.chmod(f"{self.project}/shared", 0o2775)
        subprocess.run(["tar", "cf", "t.tar", "shared"], cwd=self.project, check=True)

    def in_project(self, command):
        return subprocess.run([support.MSP, "run", *support.limits(), "-w", "--discard", "--json",
                               "--", "sh", "-c", command], cwd=self.project, capture_output=True,
                              text=True, timeout=120, check=False)

    def test_tools(self):
        for name, command in self.COMMANDS.items():
            with self.subTest(tool=name):
                if name in ("git", "rsync") and not shutil.which(name):
                    self.skipTest(f"{name} is not installed")
                result = json.loads(self.in_project(command).stdout)
                if name == "chmod -R":  # the file in it stays refused, and is named
                    self.assertEqual(result["exit_code"], 1)
                    self.assertEqual([item["operation"] for item in result.get("denials", [])],
                                     ["fchmodat"])
                    continue
                self.assertEqual((result["exit_code"], result["stdout"]),
                                 (0, self.EXPECTED[name]), result)
                self.assertNotIn("denials", result)

    def test_directories_of_others_stay(self):
        result = json.loads(self.in_project("chmod 2755 /usr; chmod 2755 /proc; chmod 2755 none; "
                                            "chmod 2755 /tmp; stat -c %a /tmp").stdout)
        self.assertEqual(result["stdout"], "2755\n", "/tmp is the sandbox's own")
        self.assertRegex(result["stderr"], "/usr.*Read-only file system")
        self.assertRegex(result["stderr"], "none.*No such file")

    def test_watchman(self):
        if not shutil.which("watchman"):
            self.skipTest("watchman is not installed")
        result = support.run("timeout", "3", "watchman", "-n", "--foreground", "--logfile=/tmp/l",
                             "--sockname=/tmp/s", "get-sockname")
        self.assertEqual(result.returncode, 124, f"it stays up: {result.stdout}{result.stderr}")

    def test_an_apply_brings_no_set_id_bit(self):
        """On the host a directory has what its parent gives, and the caller's umask."""
        made = subprocess.run([support.MSP, "run", *support.limits(), "-w", "--", "sh", "-c",
                               "mkdir -m 2775 made; touch made/f"], cwd=self.project,
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(made.returncode, 0, made.stderr)
        applied = subprocess.run([support.MSP, "apply", "-1"], cwd=self.project, umask=0o002,
                                 capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(applied.returncode, 0, applied.stderr)
        self.assertEqual(os.stat(f"{self.project}/made").st_mode & 0o7777, 0o775)
        self.assertEqual(os.stat(f"{self.project}/shared").st_mode & 0o7777, 0o2775)


IPC = HEAD + """
C.shmat.restype = ctypes.c_void_p
key = 0x6d7370
segment = sc(29, key, 4096, 0o1600)
place = C.shmat(segment, None, 0)
ctypes.memmove(place, b"42", 3)
semaphores = sc(64, key, 3, 0o1600)
queue = sc(68, key, 0o1600)
message = ctypes.create_string_buffer(b"\\1" + 7 * b"\\0" + b"hello", 32)
sent = sc(69, queue, message, 5, 0)
got = ctypes.create_string_buffer(32)
child = os.fork()
if child == 0:
    os._exit(int(ctypes.string_at(C.shmat(sc(29, key, 0, 0), None, 0))) - 42)
print(os.waitpid(child, 0)[1], sent, sc(70, queue, got, 24, 0, 0), got.raw[8:13].decode(),
      sc(66, semaphores, 0, 16, 7), sc(66, semaphores, 0, 12))
"""


class SystemV(unittest.TestCase):
    def test_each_kind(self):
        for profile in DEVELOPMENT:
            with self.subTest(profile=profile):
                result = support.run_python(IPC, options=("--profile", profile))
                self.assertEqual(result.stdout, "0 0 5 hello 0 7\n", result.stderr)

    def test_strict_and_minimal_have_none(self):
        for profile in ("strict", "minimal"):
            with self.subTest(profile=profile):
                result = run_json("python3", "-c", HEAD + "print(sc(29, 0, 4096, 0o1600))",
                                  profile=profile)
                self.assertEqual(result["stdout"], "-1\n")

    def test_an_entry_of_the_operators_that_adds_it_still_loads(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("profiles:\n  - name: db\n    extends: default\n    description: d\n"
                       "    seccomp:\n      add: [ipc]\n")
            file.flush()
            os.chmod(file.name, 0o600)
            result = support.run_python(IPC, options=("--config", file.name, "--profile", "db"))
            self.assertEqual(result.stdout, "0 0 5 hello 0 7\n", result.stderr)

    def test_the_hosts_are_out_of_reach(self):
        """What the host has by a key, no sandbox finds; nor what another sandbox has."""
        code = HEAD + "print(sc(29, 0x6d7371, 0, 0), len(open('/proc/sysvipc/shm').readlines()))"
        make = subprocess.run(["python3", "-c", HEAD + "print(sc(29, 0x6d7371, 4096, 0o1600))"],
                              capture_output=True, text=True, check=True)
        number = int(make.stdout)
        self.assertGreaterEqual(number, 0, "control: the host has System V IPC")
        try:
            outside = subprocess.run(["python3", "-c", code], capture_output=True, text=True,
                                     check=True).stdout.split()
            self.assertEqual(outside[0], str(number), "control: by its key")
            self.assertEqual(support.run_python(code).stdout, "-2 1\n")
        finally:
            subprocess.run(["python3", "-c", HEAD + f"sc(31, {number}, 0, 0)"], check=True)

    def test_what_a_sandbox_left_is_gone_with_it(self):
        self.assertEqual(support.run_python(IPC).stdout, "0 0 5 hello 0 7\n")
        left = HEAD + "print(sc(29, 0x6d7370, 0, 0), sc(64, 0x6d7370, 0, 0), sc(68, 0x6d7370, 0))"
        self.assertEqual(support.run_python(left).stdout, "-2 -2 -2\n")

    def test_fakeroot(self):
        if not shutil.which("fakeroot"):
            self.skipTest("fakeroot is not installed")
        for profile in ("default", "python-dev"):
            with self.subTest(profile=profile):
                result = support.run("sh", "-c", "fakeroot sh -c 'touch f; chown 0:0 f; id -u; "
                                     "stat -c %u f'", options=("--profile", profile))
                self.assertEqual((result.stdout, result.returncode), ("0\n0\n", 0), result.stderr)

    def test_postgresql(self):
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
        if not found:
            self.skipTest("postgresql is not installed")
        script = ("set -e; initdb -D /tmp/pg -A trust >/dev/null 2>&1; "
                  "pg_ctl -D /tmp/pg -o '-k /tmp -p 5433' -w start >/dev/null; "
                  "psql -h /tmp -p 5433 postgres -Atc 'select 6*7'; "
                  "pg_ctl -D /tmp/pg -m fast stop >/dev/null")
        for profile in ("default", "python-dev"):
            with self.subTest(profile=profile):
                result = support.run(
                    "sh", "-c", f"PATH=$PATH:{os.path.dirname(found[-1])}; {script}", timeout=120,
                    options=("--profile", profile))
                self.assertEqual((result.stdout, result.returncode), ("42\n", 0), result.stderr)


class Ports(unittest.TestCase):
    CODE = ("import socket, sys\n"
            "s = socket.socket(); s.bind(('127.0.0.1', 80)); s.listen()\n"
            "u = socket.socket(type=socket.SOCK_DGRAM); u.bind(('', 53))\n"
            "socket.create_connection(('127.0.0.1', 80)).send(b'x')\n"
            "print(s.accept()[0].recv(1)); sys.stdout.flush(); sys.stdin.read()\n")

    def test_low_ports_of_the_own_network(self):
        for profile in ("default", "node-dev"):
            with self.subTest(profile=profile):
                result = support.run_python(self.CODE, options=("--profile", profile))
                self.assertEqual(result.stdout, "b'x'\n", result.stderr)

    def test_the_hosts_ports_are_as_before(self):
        """The setting is of each network: a sandbox with port 80 changes no other."""
        with open("/proc/sys/net/ipv4/ip_unprivileged_port_start", encoding="ascii") as file:
            first = int(file.read())
        command = [support.MSP, "run", *support.limits(), "--", "python3", "-c", self.CODE]
        both = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                for _ in range(2)]
        try:
            self.assertEqual([process.stdout.readline() for process in both], 2 * ["b'x'\n"])
            with open("/proc/sys/net/ipv4/ip_unprivileged_port_start", encoding="ascii") as file:
                self.assertEqual(int(file.read()), first)
            if first > 80:
                with socket.socket() as control, self.assertRaises(PermissionError):
                    control.bind(("127.0.0.1", 80))
        finally:
            for process in both:
                process.communicate()

    def test_the_setting_itself_stays(self):
        result = support.run("sh", "-c", "echo 9 >/proc/sys/net/ipv4/ip_unprivileged_port_start; "
                             "cat /proc/sys/net/ipv4/ip_unprivileged_port_start")
        self.assertEqual(result.stdout, "0\n")
        self.assertRegex(result.stderr, "Permission denied|Read-only")


if __name__ == "__main__":
    unittest.main()
