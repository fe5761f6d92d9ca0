# SPDX-License-Identifier: Apache-2.0
"""One table: each way of taking too much, how it must end with cgroups and in the fallback, and
with which one limit raised it ends in peace. Nothing here is a test."""
import collections
import os

# mode, amount: hog's arguments. limit: what it reaches; a profile with exactly that raised is its
# control. cgroup, fallback: the verdicts. said: what hog prints in the end, None when it was killed.
# profile: what else is raised, so that this limit is the first. seconds: its time, 0 for enough.
# both: this way stands for its kind where an ordinary run takes a sample.
Mode = collections.namedtuple("Mode", "mode amount limit cgroup fallback said profile seconds both",
                              defaults=(None, "small", 0, False))

# The limits that a cgroup keeps where there is one. The kernel keeps the others without it.
BY_CGROUP = ("memory", "pids")
EVERY_MODE = os.environ.get("MSP_LIMITS") == "all"


def same(mode, amount, limit, verdict, *more, **keywords):
    return Mode(mode, amount, limit, verdict, verdict, *more, **keywords)


def is_tried(mode, limits):
    """Is this way tried with these limits (`cgroup` or `fallback`) in an ordinary run? All ways of a
    limit are tried on one side: with cgroups those of the limits that cgroups keep, without cgroups
    the others. The other side has one way for each mechanism."""
    return EVERY_MODE or mode.both or (mode.limit in BY_CGROUP) == (limits == "cgroup")


# More than every bound on the peak, less than the raised limit.
MUCH = 256

# More than the limit of a process, which the kernel keeps to the second.
SPIN_MS = 6000

MODES = (
    same("malloc", MUCH, "memory", "memory", both=True),
    same("map-private", MUCH, "memory", "memory"),
    same("map-shared", MUCH, "memory", "memory", both=True),
    same("memfd-maps", MUCH, "memory", "memory"),
    # Held by descriptors alone, which the fallback's watch cannot see.
    Mode("memfd", 200, "memory", "memory", "exited", both=True),
    # Of System V, with no process that holds them.
    same("segments", MUCH, "memory", "memory", both=True),
    same("semaphores", MUCH, "memory", "memory", both=True),
    same("queues", MUCH, "memory", "memory", both=True),
    same("memory-processes", 96, "memory", "memory", both=True),
    same("memory-again", MUCH, "memory", "memory", both=True),
    same("fill-tmp", MUCH, "memory", "memory", profile="small-files", both=True),
    same("fill-shm", MUCH, "memory", "memory", profile="small-files"),
    same("fill-everywhere", MUCH, "memory", "memory", profile="small-files"),
    same("map-files", MUCH, "memory", "memory", profile="small-files", both=True),

    same("forks", 100, "pids", "pids", "refused EAGAIN", both=True),
    same("threads", 100, "pids", "pids", "refused EAGAIN"),
    same("zombies", 100, "pids", "pids", "refused EAGAIN"),

    same("spin", SPIN_MS, "cpu_seconds", "cpu_time", both=True),
    same("spin-threads", SPIN_MS, "cpu_seconds", "cpu_time"),

    same("fill-tmp", 16, "files", "disk", "refused ENOSPC", both=True),
    same("fill-shm", 16, "files", "disk", "refused ENOSPC"),
    same("fill-home", 16, "files", "disk", "refused ENOSPC"),
    same("fill-workspace", 16, "files", "disk", "refused ENOSPC"),
    same("inodes", 2000, "files", "disk", "refused ENOSPC", both=True),
    same("depth", 2000, "files", "disk", "refused ENOSPC"),
    same("sparse", 1 << 20, "file_size", "disk", both=True),
    same("large-file", 16, "file_size", "disk", profile="small-files"),

    # On a busy machine some of it comes before the end.
    same("output", 32, "output", "output", both=True),

    # No verdict of their own: the call fails, and what the program makes of it is its own.
    same("descriptors", 200, "open_files", "exited", "refused EMFILE", both=True),
    same("pipes", 200, "open_files", "exited", "refused EMFILE"),
    same("in-flight", 400, "open_files", "exited", "refused ETOOMANYREFS"),
    same("arguments", 4, "stack", "exited", "refused E2BIG", both=True),

    # Nothing but time ends these.
    same("spin-processes", 8, None, "timeout", seconds=1, both=True),
    same("stopped", 8, None, "timeout", seconds=1),
    same("ignore-signals", 0, None, "timeout", seconds=1),
    same("signals", 0, None, "timeout", seconds=1),
    same("disk-flood", 0, None, "timeout", seconds=1, both=True),
)


def control_profile(mode):
    return f"{mode.profile}-{mode.limit}"


def profiles():
    """Every profile that the table needs."""
    found = {mode.profile for mode in MODES}
    return found | {control_profile(mode) for mode in MODES if mode.limit}
