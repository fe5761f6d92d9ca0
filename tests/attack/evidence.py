# SPDX-License-Identifier: Apache-2.0
"""What an attack's test declares, what it must have shown by its end, and the record of it that
matrix.py makes docs/containment.md from. Nothing here is a test.

    @evidence.attack("T12", "x32 system calls", "seccomp")
    def test_x32(self):
        self.prove("x32", 41, errors=(SIGSYS,))

Every such test runs its act in the product, where it must fail, and with exactly the named layers
off, where it must succeed. When several layers are named, each must stop it alone; with
`together=True` none of them does without the others. A test that has not shown that fails."""
import collections
import ctypes
import functools
import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import support  # noqa: E402  (its folder is known from here on)

# Name to meaning, in the order of the page's columns.
LAYERS = {
    "root": "a root of its own: the host's tree is detached, what is there is made for the profile",
    "readonly": "shown host files are mounted read-only",
    "resolve": "names are resolved beneath a tree's root and through no magic link",
    "pins": "a path of the operator's must lead, through no link, to what was checked at the start",
    "namespaces": "user, PID, IPC, UTS and cgroup namespaces of its own",
    "network": "a network namespace of its own",
    "landlock": "Landlock: files, TCP, abstract sockets, signals",
    "seccomp": "the profile's list of system calls",
    "capabilities": "no capability, none to be had, securebits locked",
    "privileges": "no_new_privs",
    "protect": "the init cannot be looked into: not dumpable, capabilities that nobody else has",
    "close": "every descriptor but 0, 1 and 2 is closed before the workload starts",
    "rlimits": "resource limits of each process",
    "cgroup": "cgroup v2",
    "sealed": "our own images and plans are sealed copies in memory",
    "checks": "checks in msp's processes: the launcher's of paths, the supervisor's of requests and "
              "plans, the broker's of output",
}
# What child-init can be built without (child-init/layers.h); "cgroup" is left out by asking for
# --limits=fallback.
BUILDS = {"root", "readonly", "resolve", "pins", "network", "landlock", "seccomp", "capabilities",
          "protect", "close", "rlimits", "cgroup"}

Declaration = collections.namedtuple("Declaration", "case act layers together")


@functools.lru_cache(maxsize=None)
def environment():
    """The kernel and the kind of limits that this runs under."""
    libc = ctypes.CDLL(None, use_errno=True)
    return {"kernel": re.match(r"\d+\.\d+", os.uname().release).group(),
            "landlock": libc.syscall(444, None, 0, 1),
            "limits": "fallback" if support.limits() else "cgroup"}


def effective(layers):
    """Without cgroups there is no such layer."""
    return tuple(layer for layer in layers if layer != "cgroup" or not support.limits())


class Evidence:
    """What one test has shown. `off`: the layers that were left out, "host" for no sandbox at all,
    "only LAYER" for nothing but that one."""

    def __init__(self, test, declaration):
        self.test = test
        self.declaration = declaration
        self.layers = effective(declaration.layers)
        self.seen = set()
        self.missing = []  # why something cannot be done here

    def add(self, off, word, error=None):
        self.seen.add((off if isinstance(off, str) else "-".join(sorted(off)), word, error))

    def skip(self, reason):
        self.missing.append(reason)

    def words(self, off):
        return {word for seen, word, _ in self.seen if seen == off}

    def check(self):
        """AssertionError unless what is declared was shown."""
        if not self.seen and self.missing:
            raise unittest.SkipTest(self.missing[0])
        control = "host" if self.words("host") else "-".join(sorted(self.layers))
        assert self.words("") and self.words("") <= {"refused", "killed"}, \
            f"the product was not shown to stop it: {self.seen}"
        assert self.words(control) and self.words(control) <= {"succeeded", "reached"}, \
            f"the act was not shown to work with {control} off: {self.seen}"
        for layer in self.layers:
            others = "-".join(sorted(set(self.layers) - {layer}))
            if self.declaration.together:
                assert self.words(layer) == {"succeeded"}, \
                    f"{layer} was not shown to be needed: {self.seen}"
            elif others and control != "host":
                alone = self.words(others) | self.words("only " + layer)
                assert alone and alone <= {"refused", "killed"}, \
                    f"{layer} was not shown to suffice alone: {self.seen}"

    def write(self):
        path = os.environ.get("MSP_RESULTS")
        if not path:
            return
        lines = [dict(test=self.test, off=off, word=word, error=error, **environment())
                 for off, word, error in sorted(self.seen, key=str)]
        lines += [dict(test=self.test, off=None, word="impossible", error=reason, **environment())
                  for reason in sorted(set(self.missing))]
        os.makedirs(path, exist_ok=True)
        with open(os.path.join(path, "attacks.jsonl"), "a", encoding="utf-8") as file:
            file.write("".join(json.dumps(line) + "\n" for line in lines))


def name_of(method):
    """FILE.Class.test, as the page has it."""
    module = os.path.splitext(os.path.basename(method.__code__.co_filename))[0]
    return module + "." + method.__qualname__


def attack(case, act, *layers, together=False):
    """Declare a test to be an attack: a case of cases.py, the act in words, what stops it."""
    unknown = set(layers) - set(LAYERS)
    if unknown or not layers:
        raise ValueError(f"{act}: no such layer: {unknown}")
    declaration = Declaration(case, act, layers, together)

    def decorate(method):
        @functools.wraps(method)
        def run(self):
            self.evidence = Evidence(name_of(method), declaration)
            try:
                method(self)
                self.evidence.check()
            except unittest.SkipTest as skipped:
                self.evidence.skip(str(skipped))
                raise
            finally:
                self.evidence.write()
        run.attack = declaration
        run.attack_name = name_of(method)
        return run
    return decorate


def declared(module):
    """Name to declaration of each attack in a module."""
    found = {}
    for value in vars(module).values():
        for method in vars(value).values() if isinstance(value, type) else ():
            if hasattr(method, "attack"):
                found[method.attack_name] = method.attack
    return found
