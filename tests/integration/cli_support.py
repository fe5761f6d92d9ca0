# SPDX-License-Identifier: Apache-2.0
"""Starting msp from the tests, and seeing what is left of it."""
import ctypes
import os
import subprocess
import time

from support import MSP

SECONDS = 60  # longest that one start may take on a busy machine

PR_SET_CHILD_SUBREAPER = 36

# What an `msp run` needs to work on every machine the tests run on, unless it shall be a real one.
LIMITS = () if os.environ.get("MSP_REQUIRE_CGROUP") == "1" else ("--limits=fallback",)


def msp(*arguments, **options):
    """Run msp to its end; text by default, no input by default."""
    options.setdefault("stdin", subprocess.DEVNULL if "input" not in options else None)
    if options["stdin"] is None:
        del options["stdin"]
    options.setdefault("text", True)
    return subprocess.run([MSP, *arguments], stdout=options.pop("stdout", subprocess.PIPE),
                          stderr=options.pop("stderr", subprocess.PIPE), timeout=SECONDS,
                          check=False, **options)


def command(*arguments, options=()):
    """The words of an `msp run`."""
    return ["run", *LIMITS, *options, "--", *arguments]


def run(*arguments, options=(), **keywords):
    return msp(*command(*arguments, options=options), **keywords)


def start(*arguments, options=(), **keywords):
    """The same, not awaited."""
    for stream in ("stdin", "stdout", "stderr"):
        keywords.setdefault(stream, subprocess.PIPE)
    return subprocess.Popen([MSP, *command(*arguments, options=options)], **keywords)


def adopt_orphans():
    """Processes whose parent dies become ours, so that children() shows what msp left."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def children(pid="self"):
    try:
        with open(f"/proc/{pid}/task/{os.getpid() if pid == 'self' else pid}/children",
                  encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def reap_orphans():
    """Collect those of our adopted children that have ended; the pids that still live."""
    left = []
    for pid in children():
        try:
            if os.waitpid(pid, os.WNOHANG) == (0, 0):
                left.append(pid)
        except ChildProcessError:
            pass
    return left


def wait_until_alone(seconds):
    """True when nothing that msp started lives any more within that time."""
    deadline = time.monotonic() + seconds
    while reap_orphans():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True
