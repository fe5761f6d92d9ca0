# SPDX-License-Identifier: Apache-2.0
"""What explain.py runs in a sandbox: operations as decide.h defines them, each of which may wait or
change the process that does it in one of its own. Reads a list of [operation, arguments] as JSON
from its standard input and prints what came of each: "ok", an errno's name, "signal N", or "" for an
error without one. Not a test."""
import contextlib
import ctypes
import errno
import json
import os
import shutil
import signal
import socket
import struct
import sys

# asm/unistd_64.h, those that the test asks about.
NUMBERS = {
    "openat": 257, "mmap": 9, "ioctl": 16, "socket": 41, "sendto": 44, "socketpair": 53,
    "fcntl": 72, "madvise": 28, "setpriority": 141,
    "setsockopt": 54, "clone": 56, "chmod": 90, "ptrace": 101, "syslog": 103, "mknod": 133,
    "personality": 135, "prctl": 157, "chroot": 161, "mount": 165, "init_module": 175,
    "inotify_init": 253, "mbind": 237, "keyctl": 250, "unshare": 272, "perf_event_open": 298,
    "prlimit64": 302, "open_by_handle_at": 304, "kcmp": 312, "seccomp": 317, "memfd_create": 319,
    "bpf": 321, "userfaultfd": 323, "io_uring_setup": 425, "clone3": 435, "openat2": 437,
    "futex_waitv": 449, "epoll_pwait2": 441, "landlock_create_ruleset": 444, "mlock": 149,
    "shmget": 29, "setuid": 105, "sched_setscheduler": 144, "getppid": 110, "sched_yield": 24,
    "timerfd_create": 283, "getxattr": 191, "pidfd_open": 434, "tee": 276, "capset": 126,
    "ustat": 136, "renameat2": 316, "mseal": 462, "statmount": 457,
}


def syscall(name, arguments):
    number = int(name) if name.isdigit() else NUMBERS[name]
    libc = ctypes.CDLL(None, use_errno=True)
    passed = [ctypes.c_char_p(value.encode()) if isinstance(value, str) else ctypes.c_long(value)
              for value in arguments]
    if libc.syscall(ctypes.c_long(number), *passed) < 0:
        error = ctypes.get_errno()
        if error in (errno.EPERM, errno.ENOSYS):  # the filter's answers
            raise OSError(error, name)


@contextlib.contextmanager
def opened(path, flags):
    fd = os.open(path, flags, 0o644)
    try:
        yield fd
    finally:
        os.close(fd)


def read(path):
    with opened(path, os.O_RDONLY | os.O_NONBLOCK) as fd, contextlib.suppress(BlockingIOError):
        os.read(fd, 1)


def write(path):
    with opened(path, os.O_WRONLY | os.O_TRUNC | os.O_NONBLOCK | os.O_NOCTTY):
        pass


def create(path):
    with opened(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY):
        pass


def list_names(path):
    with opened(path, os.O_RDONLY | os.O_DIRECTORY) as fd:
        os.listdir(fd)


def delete(path):
    with opened("/", os.O_PATH) as root:  # with it, Python makes the call unlinkat
        try:
            os.unlink(path, dir_fd=root)
        except IsADirectoryError:
            os.rmdir(path, dir_fd=root)


def connect(target):
    if target.startswith("unix:"):
        name = target[5:]
        peer = socket.socket(socket.AF_UNIX)
        peer.connect("\0" + name[1:] if name.startswith("@") else name)
        return
    kind = socket.SOCK_STREAM
    if target.startswith("udp:"):
        target, kind = target[4:], socket.SOCK_DGRAM
    host, _, port = target.rpartition(":")
    family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
    host = host.strip("[]")
    try:
        socket.inet_pton(family, host)
        peer = socket.socket(family, kind)
    except OSError as error:
        if error.errno is not None:
            raise
        peer = socket.socket(family, kind)
        host = socket.getaddrinfo(host, None, family)[0][4][0]
    peer.connect((host, int(port)))


def bind(target):
    kind = socket.SOCK_DGRAM if target.startswith("udp:") else socket.SOCK_STREAM
    socket.socket(socket.AF_INET, kind).bind(("0.0.0.0", int(target.removeprefix("udp:"))))


ACTS = {
    "read": read,
    "write": write,
    "create": create,
    "delete": delete,
    "list": list_names,
    "exec": lambda path: os.execve(path, [path], {}),
    "connect": connect,
    "resolve": lambda host: socket.getaddrinfo(host, None),
    "bind": bind,
}


# They neither wait nor leave anything but files, and a process for each takes twenty times as long.
AT_ONCE = ("read", "write", "create", "delete", "list")


def do(operation, arguments):
    verb, _, target = operation.partition(" ")
    if verb == "syscall":
        syscall(target, arguments)
    else:
        ACTS[verb](target)


def child(operation, arguments, report):
    # what is started prints nothing and reads nothing that is not there
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 1)
    os.dup2(null, 2)
    signal.alarm(5)
    try:
        do(operation, arguments)
        os.write(report, b"ok")
    except socket.gaierror:
        os.write(report, b"-")
    except OSError as error:
        os.write(report, errno.errorcode.get(error.errno, "?").encode())
    os._exit(0)


def outcome(operation, arguments):
    if operation.partition(" ")[0] in AT_ONCE:
        try:
            do(operation, arguments)
        except OSError as error:
            return errno.errorcode.get(error.errno, "?")
        return "ok"
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ours)
        child(operation, arguments, theirs)
    os.close(theirs)
    text = b""
    while piece := os.read(ours, 64):
        text += piece
    os.close(ours)
    status = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)}"
    if text == b"-":
        return ""
    if not text and os.waitstatus_to_exitcode(status) == 0:
        return "ok"  # nothing was said: another program took its place
    return text.decode() or f"broken: {status}"


def listener(family, address):
    server = socket.socket(family)
    server.bind(address)
    server.listen()
    return server


def make_files(folder):
    try:
        shutil.copyfile("/usr/bin/true", folder + "/there")
        os.chmod(folder + "/there", 0o755)
        os.mkdir(folder + "/folder")
        for name in ("first", "second"):
            os.close(os.open(f"{folder}/{name}", os.O_CREAT | os.O_WRONLY, 0o644))
    except OSError:
        return False
    return True


def prepare():
    """What operations suppose to be there, as far as the profile lets it be made; one without
    sockets has no listeners."""
    for folder in ("/tmp", "/dev/shm", "/workspace", "/home/agent"):
        if not make_files(folder):
            print("nothing can be made in", folder, file=sys.stderr)
    held = []
    for family, address in ((socket.AF_INET, ("0.0.0.0", 8080)), (socket.AF_UNIX, "/tmp/socket"),
                            (socket.AF_UNIX, "\0listens"),
                            (socket.AF_INET6, ("::1", 8081, 0, 0))):
        try:
            held.append(listener(family, address))
        except OSError:
            pass
    return held


def main():
    operations = json.load(sys.stdin)
    held = prepare()
    results = [outcome(operation, arguments) for operation, arguments in operations]
    del held
    # a line of its own, whatever the acts did to the terminal
    print(struct.calcsize("P") * 8, json.dumps(results))


main()
