# SPDX-License-Identifier: Apache-2.0
"""One table: each way of taking too much, how it must end with cgroups and in the fallback, and
with which one limit raised it ends in peace. Nothing here is a test."""
import collections

# mode, amount: hog's arguments. limit: what it reaches; a profile with exactly that raised is its
# control. cgroup, fallback: the verdicts. said: what hog prints in the end, None when it was killed.
# profile: what else is raised, so that this limit is the first. seconds: its time, 0 for enough.
Mode = collections.namedtuple("Mode", "mode amount limit cgroup fallback said profile seconds",
                              defaults=(None, "small", 0))


def same(mode, amount, limit, verdict, *more, **keywords):
    return Mode(mode, amount, limit, verdict, verdict, *more, **keywords)


# More than every bound on the peak, less than the raised limit.
MUCH = 320

MODES = (
    same("malloc", MUCH, "memory", "memory"),
    same("map-private", MUCH, "memory", "memory"),
    same("map-shared", MUCH, "memory", "memory"),
    same("memfd-maps", MUCH, "memory", "memory"),
    # Held by descriptors alone, which the fallback's watch cannot see.
    Mode("memfd", 200, "memory", "memory", "exited"),
    same("memory-processes", 96, "memory", "memory"),
    same("memory-again", MUCH, "memory", "memory"),
    same("fill-tmp", MUCH, "memory", "memory", profile="small-files"),
    same("fill-shm", MUCH, "memory", "memory", profile="small-files"),
    same("fill-everywhere", MUCH, "memory", "memory", profile="small-files"),
    same("map-files", MUCH, "memory", "memory", profile="small-files"),

    same("forks", 100, "pids", "pids", "refused EAGAIN"),
    same("threads", 100, "pids", "pids", "refused EAGAIN"),
    same("zombies", 100, "pids", "pids", "refused EAGAIN"),

    same("spin", 20000, "cpu_seconds", "cpu_time"),
    same("spin-threads", 20000, "cpu_seconds", "cpu_time"),

    same("fill-tmp", 16, "files", "disk", "refused ENOSPC"),
    same("fill-shm", 16, "files", "disk", "refused ENOSPC"),
    same("fill-home", 16, "files", "disk", "refused ENOSPC"),
    same("fill-workspace", 16, "files", "disk", "refused ENOSPC"),
    same("inodes", 2000, "files", "disk", "refused ENOSPC"),
    same("depth", 2000, "files", "disk", "refused ENOSPC"),
    same("sparse", 1 << 20, "file_size", "disk"),
    same("large-file", 16, "file_size", "disk", profile="small-files"),

    same("output", 32, "output", "output"),  # on a busy machine some of it comes before the end

    # No verdict of their own: the call fails, and what the program makes of it is its own.
    same("descriptors", 200, "open_files", "exited", "refused EMFILE"),
    same("pipes", 200, "open_files", "exited", "refused EMFILE"),
    same("in-flight", 400, "open_files", "exited", "refused ETOOMANYREFS"),
    same("arguments", 4, "stack", "exited", "refused E2BIG"),

    # Nothing but time ends these.
    same("spin-processes", 8, None, "timeout", seconds=1),
    same("stopped", 8, None, "timeout", seconds=1),
    same("ignore-signals", 0, None, "timeout", seconds=1),
    same("signals", 0, None, "timeout", seconds=1),
    same("disk-flood", 0, None, "timeout", seconds=1),
)


def control_profile(mode):
    return f"{mode.profile}-{mode.limit}"


def profiles():
    """Every profile that the table needs."""
    found = {mode.profile for mode in MODES}
    return found | {control_profile(mode) for mode in MODES if mode.limit}
