# SPDX-License-Identifier: Apache-2.0
"""The checkout's files and the built programs, for the tests in this folder."""
import functools
import os
import subprocess

import ceilings

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("MSP_BUILD") or os.path.join(ROOT, "build", "dev")
BIN = os.environ.get("MSP_BIN") or os.path.join(BUILD, "bin")

# Folders of sources: each is a program or a library, and has a ceiling.
PARTS = tuple(ceilings.CODE_LINES)
# Its library is of those that ask a supervisor for something.
FRONTENDS = ("cli", "launcher", "broker")
PROGRAMS = ("msp", "msp-supervisor", "msp-broker", "msp-child-init", "msp-policy", "msp-scope",
            "msp-layers", "msp-file", "msp-audit", "msp-store", "msp-cable", "msp-egress", "msp-dial",
            "msp-http", "msp-bridge", "msp-opener", "msp-git-config", "msp-image", "msp-vm", "msp-vm-init", "msp-vm-prepare")
STATIC_PROGRAMS = ("msp", "msp-supervisor", "msp-child-init", "msp-file", "msp-audit",
                   "msp-store", "msp-cable", "msp-egress", "msp-bridge", "msp-opener", "msp-git-config",
                   "msp-vm", "msp-vm-init")
DYNAMIC_PROGRAMS = tuple(name for name in PROGRAMS if name not in STATIC_PROGRAMS)


@functools.cache
def files():
    """Paths of the project's files, relative to ROOT: what git knows or would add, or, in a copy
    without git, everything but build/."""
    command = ["git", "-c", "safe.directory=*", "-C", ROOT, "ls-files", "-co", "--exclude-standard"]
    if os.path.exists(os.path.join(ROOT, ".git")):
        try:
            listed = subprocess.run(command, capture_output=True, check=True).stdout
            return sorted(path for path in listed.decode().splitlines()
                          if os.path.exists(os.path.join(ROOT, path)))
        except (OSError, subprocess.CalledProcessError):
            pass
    found = []
    for folder, folders, names in os.walk(ROOT):
        inside = os.path.relpath(folder, ROOT)
        folders[:] = [name for name in folders if name not in (".git", "__pycache__")
                      and not (inside == "." and name == "build")]
        found += [os.path.normpath(os.path.join(inside, name)) for name in names]
    return sorted(found)


def part(path, parts=PARTS):
    """The program or library that a file belongs to: the deepest one that it lies beneath."""
    return max((name for name in parts if path.startswith(name + "/")), key=len, default=None)


def sources(*parts):
    """The .c, .h and .def files of these parts (none: all)."""
    return [path for path in files() if path.endswith((".c", ".h", ".def"))
            and (not parts or part(path) in parts)]


@functools.cache
def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def program(name):
    return os.path.join(BIN, name)


@functools.cache
def readelf(*arguments):
    return subprocess.run(["readelf", "-W", *arguments], capture_output=True, check=True,
                          text=True).stdout


def names_message(name):
    """A pattern for a message's number, or for a macro that sends a request with it."""
    return (rf"\bIPC_TYPE_{name}\b|"
            rf"\b(?:supervisor_request|errand_ask)\([^;]*?,\s*{name},")
