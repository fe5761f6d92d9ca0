# SPDX-License-Identifier: Apache-2.0
"""A delegated cgroup v2 of a test program's own: looked at, and asked of the user's systemd. Nothing
here is a test."""
import errno
import os
import subprocess
import sys

CONTROLLERS = {"cpu", "memory", "pids"}
IN_SCOPE = "MSP_TEST_IN_SCOPE"


def read(path):
    with open(path, encoding="ascii") as file:
        return file.read()


def pids_in(cgroup):
    """What runs there; nothing where it is gone, or goes at this moment."""
    try:
        return read(cgroup + "/cgroup.procs").split()
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENODEV):
            raise
        return []


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def own_cgroup():
    """Its folder, or None."""
    for line in read("/proc/self/cgroup").splitlines():
        if line.startswith("0::") and os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
            return os.path.normpath("/sys/fs/cgroup" + line[3:])
    return None


def is_delegated(folder):
    try:
        return (os.access(folder + "/cgroup.procs", os.W_OK)
                and os.access(folder + "/cgroup.subtree_control", os.W_OK)
                and CONTROLLERS <= set(read(folder + "/cgroup.controllers").split()))
    except OSError:
        return False


def is_alone(folder):
    return read(folder + "/cgroup.procs").split() == [str(os.getpid())]


def is_ours(folder):
    """Delegated, and nobody else in it."""
    return folder is not None and is_delegated(folder) and is_alone(folder)


def enter_scope():
    """Run this test program again where it is alone in a delegated cgroup; does not return when
    the user's systemd gives one, nor asks twice."""
    if IN_SCOPE in os.environ:
        return
    words = ["systemd-run", "--user", "--scope", "--quiet", "-p", "Delegate=yes", "--"]
    try:
        found = subprocess.run([*words, "true"], capture_output=True, timeout=30, check=False,
                               stdin=subprocess.DEVNULL).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        found = False
    if found:
        os.execvpe(words[0], [*words, sys.executable, "-B", *sys.argv],
                   {**os.environ, IN_SCOPE: "1"})
