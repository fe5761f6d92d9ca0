# SPDX-License-Identifier: Apache-2.0
"""What a run leaves behind: processes, mounts, cgroups. Nothing here is a test.

The test program becomes the reaper of every orphan below it, so whatever ours leave comes to it:
nothing can hide by losing its parent, and no process of anybody else is counted."""
import ctypes
import os
import signal
import time

import support

PR_SET_CHILD_SUBREAPER = 36


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


def wait_gone(since, known=(), limit=2.0):
    """Seconds from `since` (time.monotonic) until nothing of ours lives, or None after `limit`."""
    while True:
        alive = living(known)
        now = time.monotonic() - since
        if not alive:
            return now
        if now > limit:
            return None
        time.sleep(0.001)


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


def cgroups():
    """Every directory of the cgroup v2 hierarchies, where there are any."""
    found = set()
    with open("/proc/self/mounts", encoding="utf-8") as file:
        roots = [line.split()[1] for line in file if line.split()[2] == "cgroup2"]
    for root in roots:
        found.update(folder for folder, _, _ in os.walk(root))
    return found
