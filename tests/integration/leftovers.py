# SPDX-License-Identifier: Apache-2.0
"""What a run leaves behind: processes, mounts, cgroups, files, sockets, descriptors. Nothing here
is a test.

The test program becomes the reaper of every orphan below it, so whatever ours leave comes to it:
nothing can hide by losing its parent, and no process of anybody else is counted."""
import ctypes
import os
import re
import signal
import time

import support

PR_SET_CHILD_SUBREAPER = 36
SETTLED_LOOKS = 4  # alike, one after another
SETTLING_LOOKS_MAX = 100
SETTLING_STEP_S = 0.02


def become_reaper():
    """For setUpModule."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_CHILD_SUBREAPER")


def living(known=()):
    """Processes below this one that are more than zombies, but for the known ones."""
    return [pid for pid in support.descendants(os.getpid())
            if pid not in known and support.is_alive(pid)]


def reap_orphans(keep=()):
    """Collect what ended and is nobody's: not a child that a Popen waits for."""
    for pid in support.descendants(os.getpid()):
        if pid not in keep and not support.is_alive(pid):
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass  # its parent is another


def wait_gone(since, known=(), limit=30.0):
    """Seconds from `since` (time.monotonic) until nothing of ours lives, or None after `limit`."""
    while True:
        alive = living(known)
        now = time.monotonic() - since
        if not alive:
            return now
        if now > limit:
            return None
        time.sleep(0.005)


def describe(pids):
    """The processes by name and command, for a failure's text."""
    rows = []
    for pid in pids:
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8") as comm, \
                    open(f"/proc/{pid}/cmdline", "rb") as command:
                rows.append((pid, comm.read().strip(), command.read(80)))
        except OSError:
            pass
    return rows


def end_all():
    """Kill whatever lives below this process, so that one fault is one failure; what it was."""
    rows = describe(living())
    for pid in living():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    wait_gone(time.monotonic())
    return rows


def mounts():
    """The host's mounts as this process sees them."""
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        return sorted(line.split(" - ")[0].split(" ", 3)[3] for line in file)


SUPERVISOR = re.compile(r"/msp\.(\d+)$")


def cgroups():
    """Every directory of the cgroup v2 hierarchies, where there are any, but for what is below a
    supervisor that lives: which sandboxes it has ready changes."""
    found = set()
    with open("/proc/self/mounts", encoding="utf-8") as file:
        roots = [line.split()[1] for line in file if line.split()[2] == "cgroup2"]
    for root in roots:
        for folder, folders, _ in os.walk(root):
            found.add(folder)
            own = SUPERVISOR.search(folder)
            if own and support.is_alive(int(own.group(1))):
                folders.clear()
    return found


# Folders and files of the tests themselves, which run beside each other. tests/meta/temporary.py
# looks whether each name that a test makes is one of these.
TEMPORARY = re.compile(
    r"(msp ro:|msp-(ahead|apply|attack|bench|bind|bridge|budget|cgroup|chroot|clients|clocks|commits|config|"
    r"conformance-out|counts|coverage|demo|etc|fd|frames|fuzz-[a-z]+|git-data|git-user|held|home|hostile|http|kept|"
    r"install|kernel|landlock|layers|limits|link|machines|"
    r"measured|mode|mounts|neighbours|network|outside|overlay|owners|packages|persistent|pins|policy|"
    r"protected|ro|secret|server|service|shared|shares|shown|socket|spawn|stages|standby|state|"
    r"suspended|test|text|tokens|tree|pack|unpack|vm|workspace)(-test)?[.-]|tmp|criterion_|bxfi_)[\w.-]+$")

# Where programs leave files that outlive them.
PLACES = ("/tmp", "/var/tmp", "/dev/shm", f"/run/user/{os.getuid()}")

# The copies of packages' configuration stay for the user's next start; tests are other users, too, in
# namespaces of their own.
KEPT = re.compile(r"/dev/shm/msp-\d+$")


def files():
    """What of this user's lies in those places and has msp in its name; inside of folders only what
    is right below. Ours have no business there at all, but others of this user have."""
    found = set()
    for place in PLACES:
        for folder, folders, names in os.walk(place):
            folders[:] = [name for name in folders if not TEMPORARY.match(name) and
                          not KEPT.match(os.path.join(folder, name))]
            for name in (*folders, *(name for name in names if not TEMPORARY.match(name))):
                path = os.path.join(folder, name)
                try:
                    if "msp" in name and os.lstat(path).st_uid == os.getuid():
                        found.add(path)
                except OSError:
                    pass  # it went meanwhile
            if folder.count("/") > place.count("/"):
                folders.clear()
    return found


def sockets():
    """The unix sockets with a name in those places, and the abstract ones that are called msp."""
    with open("/proc/net/unix", encoding="utf-8", errors="replace") as file:
        rows = [line.split() for line in file][1:]
    return {row[7] for row in rows if len(row) > 7 and row[7].startswith((*PLACES, "@msp")) and
            not any(TEMPORARY.match(part) for part in row[7].split("/"))}


def descriptor_count(pid):
    """How many descriptors a process holds, one that hides them from others too; None when the
    process is gone or the kernel (before Linux 6.2) does not say."""
    try:
        return os.stat(f"/proc/{pid}/fd").st_size or None
    except OSError:
        return None


def idle_descriptor_count(pid, is_supervisor):
    """Without what is ready: a supervisor has of each such sandbox the init's channel and pidfd, and
    the channel and three pipes of the process that waits in it. What is being made has others for a
    moment, so the count is one that stays."""
    looks = []
    for _ in range(SETTLING_LOOKS_MAX):
        count = descriptor_count(pid)
        if count and is_supervisor:
            count -= 6 * len(support.ready(pid))
        looks.append(count)
        if len(looks) >= SETTLED_LOOKS and len(set(looks[-SETTLED_LOOKS:])) == 1:
            break
        time.sleep(SETTLING_STEP_S)
    return looks[-1]


def resident_kib(pid):
    """The memory that a process has in use, 0 when it is gone."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024
    except (OSError, IndexError):
        return 0


class Snapshot:
    """The machine before a test, to be compared with after it."""

    KINDS = {"mounts": lambda: set(mounts()), "cgroups": cgroups, "files": files,
             "sockets": sockets}

    def __init__(self):
        self.before = {name: look() for name, look in self.KINDS.items()}

    def left(self, limit=30.0):
        """What there is now and was not then, by kind; {} when nothing stays for `limit` s."""
        end = time.monotonic() + limit
        while True:
            new = {name: sorted(look() - self.before[name]) for name, look in self.KINDS.items()}
            new = {name: found for name, found in new.items() if found}
            if not new or time.monotonic() > end:
                return new
            time.sleep(0.02)
