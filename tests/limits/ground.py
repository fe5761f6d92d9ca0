# SPDX-License-Identifier: Apache-2.0
"""Where the limit tests run: programs with a policy of small limits, each start of msp in a cgroup
of its own where this machine has delegated cgroup v2, in the fallback where it has not. Nothing here
is a test."""
import atexit
import contextlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import leftovers  # noqa: E402  (its folder is known from here on)
import support  # noqa: E402
from own_cgroup import (  # noqa: E402
    CONTROLLERS, enter_scope, is_delegated, is_ours, own_cgroup, pids_in, read, write)

BUILD = os.environ.get("MSP_BUILD") or os.path.dirname(support.BIN)
HOG_FOLDER = os.path.join(BUILD, "limits")
PROGRAMS = ("msp", "msp-supervisor", "msp-broker", "msp-child-init", "msp-scope", "msp-layers",
            "msp-audit", "msp-opener", "msp-git-config", "msp-store")
# Set where the machine is known to have delegated cgroups: that they are not found is a failure.
REQUIRE_CGROUP = os.environ.get("MSP_REQUIRE_CGROUP") == "1"

MIB = 1 << 20
MEMORY = 64 * MIB
PIDS = 32
PLACES = {"/tmp": "1777", "/dev/shm": "1777", "/home/agent": "0700", "/workspace": "0755"}

# What every limit is in the profile "small", and what it is in a profile in whose name it stands
# ("small-memory"): so little that a test reaches it, and so much that the same act does not.
LIMITS = {
    "memory": ("64M", "1G"),
    "pids": (str(PIDS), "512"),
    "open_files": ("64", "4096"),
    "file_size": ("8M", "1T"),
    "output": ("1M", "0"),
    "cpu_seconds": ("4s", "0s"),
    "stack": ("8M", "64M"),
}
FILES = ({"size": "8M", "inodes": "512"}, {"size": "512M", "inodes": "64K"})


def raised(name):
    """The limits that a profile's name says are raised."""
    return name.split("-")[1:]


def profile_text(name):
    high = raised(name)
    unknown = set(high) - set(LIMITS) - {"files"}
    assert not unknown, unknown
    files = FILES["files" in high]
    rows = [f"name: {name}", "extends: default", f"description: {name}", "files:",
            f"  - {{at: /hog, kind: bind, from: {HOG_FOLDER}}}"]
    rows += [f"  - {{at: {place}, kind: tmpfs, size: {files['size']}, inodes: {files['inodes']}, "
             f"mode: {mode}}}" for place, mode in PLACES.items()]
    rows += ["landlock:", "  - {path: /hog, rights: [read, execute]}", "limits:",
             "  wall_default: 60s"]
    rows += [f"  {key}: {value[key in high]}" for key, value in LIMITS.items()]
    return "\n".join(rows) + "\n"


def find_ground():
    """The cgroup whose children we may make: our own when we are alone in it, for which we leave
    it, or its parent when that holds nobody; None."""
    own = own_cgroup()
    if own is None:
        return None
    if is_ours(own):
        os.mkdir(own + "/tests")
        write(own + "/tests/cgroup.procs", str(os.getpid()))
        return own
    parent = os.path.dirname(own)
    if is_delegated(parent) and not read(parent + "/cgroup.procs").split():
        return parent
    return None


class Ground:
    """Made once per test program, by prepare()."""

    def __init__(self, profiles, *more):
        self.cgroup = find_ground()
        self.numbers = itertools.count(1)
        if self.cgroup:
            write(self.cgroup + "/cgroup.subtree_control",
                  " ".join("+" + name for name in sorted(CONTROLLERS)))
        folder = tempfile.mkdtemp(prefix="msp-limits-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        os.chmod(folder, 0o755)
        config = os.path.join(folder, "config.yaml")
        write(config, support.config_of(*(profile_text(name) for name in sorted(profiles)),
                                        *more))
        os.chmod(config, 0o644)
        for name in PROGRAMS:
            shutil.copy(os.path.join(support.BIN, name), folder)
        subprocess.run([os.path.join(support.BIN, "msp-policy"), "compile", "-o",
                        os.path.join(folder, "builtin.policy"), "--config", config], check=True, timeout=60)
        self.msp = os.path.join(folder, "msp")

    @contextlib.contextmanager
    def place(self):
        """A cgroup for one start of msp, gone at the end; what Popen does before the exec."""
        if not self.cgroup:
            yield None
            return
        folder = f"{self.cgroup}/start-{os.getpid()}-{next(self.numbers)}"
        os.mkdir(folder)
        try:
            yield lambda: write(folder + "/cgroup.procs", str(os.getpid()))
        finally:
            remove(folder)

    def run(self, profile, *command, options=(), timeout=120):
        """`msp run --json` of a command; the object, with msp's own peak memory in KiB."""
        with self.place() as enter:
            process = subprocess.Popen(
                [self.msp, "run", "--json", "--limits=fallback", "--profile=" + profile, *options,
                 "--", *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, preexec_fn=enter)
            try:
                out, err = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                raise
        try:
            return json.loads(out)
        except ValueError:
            raise AssertionError(f"msp run: {process.returncode} {err[-2000:]}") from None

    def hog(self, profile, mode, amount=0, **keywords):
        return self.run(profile, "/hog/hog", mode, str(amount), **keywords)

    @contextlib.contextmanager
    def server(self):
        """An initialized `msp serve`."""
        with self.place() as enter:
            program, support.MSP = support.MSP, self.msp
            try:
                server = support.Server("--limits=fallback", with_limits=False, preexec_fn=enter)
            finally:
                support.MSP = program
            with server:
                server.initialize()
                yield server

    def cgroups(self):
        """What is there now; each start's own is gone with it."""
        return sorted(next(os.walk(self.cgroup))[1]) if self.cgroup else []

    def limits(self):
        """What is in force here, as a result says it."""
        return self.run("small", "true")["limits"]


def remove(folder, limit=5.0):
    """A cgroup with what msp left of its own in it; nobody outlives a supervisor to do that. A
    process in it is a failure."""
    end = time.monotonic() + limit
    folders = sorted((path for path, _, _ in os.walk(folder)), reverse=True)
    while any(pids_in(path) for path in folders):
        if time.monotonic() > end:
            raise AssertionError("processes are left in " + folder)
        time.sleep(0.01)
    for path in folders:
        if os.path.exists(path):
            os.rmdir(path)


def main():
    """For the end of a test program."""
    if os.geteuid() != 0 and not is_ours(own_cgroup()):
        enter_scope()
    unittest.main()


def prepare(profiles, *more):
    """For setUpModule: (Ground, "cgroup" or "fallback"). `more`: texts of other profiles."""
    if os.geteuid() == 0:
        raise unittest.SkipTest("needs an ordinary user")
    leftovers.become_reaper()
    ground = Ground(profiles, *more)
    limits = ground.limits()
    if REQUIRE_CGROUP and limits != "cgroup":
        raise AssertionError("MSP_REQUIRE_CGROUP=1, but limits: " + limits)
    return ground, limits
