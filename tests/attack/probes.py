# SPDX-License-Identifier: Apache-2.0
"""Starting the acts of probe.c: in a sandbox, in a sandbox without one of its layers, and bare on
the host. Nothing here is a test."""
import atexit
import collections
import functools
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

import evidence
import support

BUILD = os.environ.get("MSP_BUILD") or os.path.dirname(support.BIN)
PROBE_FOLDER = os.path.join(BUILD, "probe")
CONTROLS = os.path.join(BUILD, "controls")
PROGRAMS = ("msp", "msp-supervisor", "msp-broker", "msp-child-init", "msp-scope", "msp-layers",
            "msp-audit", "msp-opener", "msp-git-config", "msp-policy", "msp-store", "msp-cable", "msp-egress", "msp-dial",
            "msp-http", "msp-bridge", "msp-image", "msp-vm", "msp-vm-prepare", "builtin.policy")

# Between the acts of one sandbox.
MARK = "----msp-attack----"

# How an act went. word: "succeeded", "refused", "unprepared", "killed"; error: the errno's name or
# the signal's number; text: what it printed; verdict: the sandbox's, None on the host.
Outcome = collections.namedtuple("Outcome", "word error text verdict")


def needs_ordinary_user():
    """For setUpModule: as root nothing here would mean anything."""
    if os.geteuid() == 0:
        raise unittest.SkipTest("needs an ordinary user: setpriv --reuid USER --init-groups ...")


@functools.lru_cache(maxsize=None)
def scratch():
    """A folder of this test program, gone at its end; what lies in it, a sandbox may be shown."""
    folder = tempfile.mkdtemp(prefix="msp-attack-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@functools.lru_cache(maxsize=None)
def programs(without=None):
    """The folder of the programs under test; `without`: a copy whose child-init lacks the named
    layers, such as "landlock-seccomp", and whose supervisor does not look."""
    return installed(without, is_probed=False) if without else support.BIN


@functools.lru_cache(maxsize=None)
def installed(without, is_probed):
    """The same with a supervisor that has the layers tried, or not."""
    folder = os.path.join(scratch(), ("probed-" if is_probed else "") + "without-" + without)
    os.mkdir(folder)
    for name in PROGRAMS:
        source = os.path.join(support.BIN, name)
        if name == "msp-child-init":
            source = os.path.join(CONTROLS, "child-init-without-" + without)
        if name == "msp-supervisor" and not is_probed:
            source = os.path.join(CONTROLS, "supervisor-without-probe")
        shutil.copy(source, os.path.join(folder, name))
    return folder


def split_cgroup(without):
    """(the layers to build without, whether cgroups are to be left out)"""
    layers = (without or "").split("-")
    return "-".join(layer for layer in layers if layer != "cgroup"), "cgroup" in layers


def msp_run(*command, options=(), without=None, **keywords):
    """`msp run --json`; (CompletedProcess, the object or None)."""
    without, is_fallback = split_cgroup(without)
    limits = ["--limits=fallback"] if is_fallback else support.limits()
    prefix = NO_CGROUP if is_fallback else ()
    keywords.setdefault("stdin", subprocess.DEVNULL)
    keywords.setdefault("timeout", 60)
    result = subprocess.run(
        [*prefix, os.path.join(programs(without), "msp"), "run", "--json", *limits, *options,
         "--", *command], capture_output=True, text=True, check=False, **keywords)
    try:
        return result, json.loads(result.stdout)
    except ValueError:
        return result, None


def parse(code, text, verdict):
    last = text.rstrip("\n").rpartition("\n")[2].split()
    if code == 0 and last == ["succeeded"]:
        return Outcome("succeeded", None, text, verdict)
    if code in (10, 20) and len(last) == 2:
        return Outcome(last[0], last[1], text, verdict)
    return Outcome("killed" if code > 128 else "broken", code - 128, text, verdict)


def in_sandbox(act, *arguments, without=None, options=(), **keywords):
    """One act in a fresh sandbox."""
    result, told = msp_run("/probe/probe", act, *map(str, arguments), without=without,
                           options=("--ro", PROBE_FOLDER + ":/probe", *options), **keywords)
    if told is None:
        raise AssertionError(f"msp run said nothing: {result.returncode} {result.stderr}")
    return parse(result.returncode, told["stdout"], told["verdict"])


def in_one_sandbox(acts, without=None, options=(), **keywords):
    """The outcomes of several acts, each a process of its own, one after the other in one sandbox."""
    script = "".join(f"/probe/probe {shlex.join(map(str, act))}; code=$?; echo; echo {MARK} $code\n"
                     for act in acts)
    result, told = msp_run("/bin/sh", "-c", script, without=without,
                           options=("--ro", PROBE_FOLDER + ":/probe", *options), **keywords)
    found = re.findall(rf"(.*?)\n{MARK} (\d+)\n", told["stdout"] if told else "", re.S)
    if len(found) != len(acts):
        raise AssertionError(f"{len(found)} of {len(acts)} acts: {result.stderr} {told}")
    return [parse(int(code), text, told["verdict"]) for text, code in found]


def on_host(act, *arguments, prefix=(), **keywords):
    """The same act by the same user without any sandbox."""
    keywords.setdefault("stdin", subprocess.DEVNULL)
    result = subprocess.run([*prefix, os.path.join(PROBE_FOLDER, "probe"), act,
                             *map(str, arguments)],
                            capture_output=True, text=True, timeout=60, check=False, **keywords)
    code = result.returncode if result.returncode >= 0 else 128 - result.returncode
    return parse(code, result.stdout, None)


# Where no cgroup can be found, so that --limits=fallback has none to use.
NO_CGROUP = ("unshare", "--user", "--map-current-user", "--keep-caps", "--mount", "--", "/bin/sh",
             "-c", 'mount -t tmpfs none /sys/fs/cgroup && exec setpriv --inh-caps=-all '
             '--ambient-caps=-all "$0" "$@"')
# As the owner of a new user namespace, where every capability over one's own namespaces is there.
AS_OWNER = ("unshare", "--user", "--map-root-user", "--net", "--mount", "--uts", "--")


def sysctl(name):
    """A kernel setting as text, "" where the kernel does not have it."""
    try:
        with open("/proc/sys/" + name, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


# What a filter answers; the kernel's own answer may be the same, and then nothing is shown.
FILTER_ERRORS = ("EPERM", "ENOSYS")


def name_of(layers):
    """What `without` takes for these layers."""
    return "-".join(sorted(layers))


def can_leave_out(layers):
    """Is there a build without exactly these?"""
    name, _ = split_cgroup(name_of(layers))
    return set(layers) <= evidence.BUILDS and (
        not name or os.path.exists(os.path.join(CONTROLS, "child-init-without-" + name)))


class Attack(unittest.TestCase):
    """Assertions about outcomes; a message always shows the whole outcome."""

    def assert_refused(self, outcome, *errors):
        """Refused with one of these errors, or killed by one of these signals."""
        self.assertIn(outcome.word, ("refused", "killed"), outcome)
        self.assertIn(outcome.error, errors, outcome)

    def assert_succeeded(self, outcome):
        self.assertEqual(outcome.word, "succeeded", outcome)

    def assert_reached(self, outcome):
        """The kernel answered, not a filter: it worked, or failed for a reason of the kernel."""
        self.assertIn(outcome.word, ("succeeded", "refused"), outcome)
        self.assertNotIn(outcome.error, FILTER_ERRORS, outcome)

    def not_here(self, reason):
        """Part of an attack that this machine cannot do, by its own setting."""
        self.evidence.skip(reason)
        self.skipTest(reason)

    def show_refused(self, off, outcome, *errors):
        self.evidence.add(off, outcome.word, outcome.error)
        self.assert_refused(outcome, *errors)

    def show_succeeded(self, off, outcome, reached=False):
        """The control. `reached`: the kernel was asked, and no more than that can be had of it."""
        is_reached = (reached and outcome.word == "refused" and
                      outcome.error not in FILTER_ERRORS)
        word = "reached" if is_reached else outcome.word
        self.evidence.add(off, word, outcome.error if word != "succeeded" else None)
        if reached:
            self.assert_reached(outcome)
        else:
            self.assert_succeeded(outcome)

    def prove_by(self, run, errors, host=None, reached=False, alone=None):
        """One act of a declared attack. `run(without)` gives its outcome in a sandbox without
        those layers, `host()` without any sandbox, which is the control of layers that no build can
        leave out; `alone`: layer to what gives the outcome with that layer alone, where there is no
        build for it."""
        layers = set(self.evidence.layers)
        self.show_refused("", run(None), *errors)
        if host:
            self.show_succeeded("host", host(), reached)
        else:
            self.show_succeeded(layers, run(name_of(layers)), reached)
        for layer in sorted(layers):
            others = layers - {layer}
            if alone and layer in alone:
                self.show_refused("only " + layer, alone[layer](), *errors)
            elif self.evidence.declaration.together:
                self.show_succeeded({layer}, run(layer), reached)
            elif others and can_leave_out(others):
                self.show_refused(others, run(name_of(others)), *errors)

    def prove(self, act, *arguments, errors=("EPERM",), host=None, prefix=None, reached=False,
              alone=None, **keywords):
        """The same for an act of the probe. `prefix`: what starts it on the host; `host`: its
        arguments there, where they differ."""
        bare = None
        if prefix is not None or host is not None:
            def bare():
                return on_host(act, *(arguments if host is None else host), prefix=prefix or ())
        self.prove_by(lambda without: in_sandbox(act, *arguments, without=without, **keywords),
                      errors, bare, reached, alone)

    def prove_each(self, acts, errors=("EPERM",), reached=False):
        """The same for several acts of the probe, {name: (act, argument...)}, which leave nothing that
        another one finds: one sandbox for all of them in place of one for each."""
        @functools.cache
        def outcomes(without):
            return dict(zip(acts, in_one_sandbox(acts.values(), without)))

        for name in acts:
            with self.subTest(name=name):
                self.prove_by(lambda without, name=name: outcomes(without)[name], errors,
                              reached=reached)

    def assert_each_refused(self, acts, *errors, **keywords):
        """Each of several acts in one sandbox is refused with one of these errors."""
        acts = list(acts)
        for act, outcome in zip(acts, in_one_sandbox(acts, **keywords)):
            with self.subTest(act=act):
                self.assert_refused(outcome, *errors)
