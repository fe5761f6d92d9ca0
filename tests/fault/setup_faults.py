#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every call of a set-up made to fail, one at a time: the start ends at once, says at which stage,
and no workload runs with less around it."""
import collections
import concurrent.futures
import errno
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "integration"), os.path.join(HERE, "..", "attack")]
import faults  # noqa: E402
import figures  # noqa: E402  (their folders are known from here on)
import leftovers  # noqa: E402
import plans  # noqa: E402
import probes  # noqa: E402
import support  # noqa: E402

# At how many places each call is made to fail, at most: the first, the last, and of an ordinary run
# one of each third between them, which MSP_SEED chooses. Calls beside each other serve one purpose.
BETWEEN = 1000 if faults.IS_ALL else 3
HANG_S = 5
STARVED_S = 60
FAILED = (64, 70, 78, 125)
REFUSED_PROBE = 10  # the probe's "refused": it ran, and nothing is missing
ROLES = ("msp", "supervisor", "factory", "init", "workload")

# Calls that the set-up of a sandbox consists of: when one fails, nothing may run.
MUST = {
    "supervisor": """memfd_create socketpair vfork pidfd_open epoll_create1 signalfd4 prctl capset
        landlock_create_ruleset landlock_restrict_self seccomp pipe2 sendfile mmap
        close_range""",
    "factory": """unshare clone3 pipe2 mount fsopen fsconfig fsmount open_tree move_mount mount_setattr
        pivot_root fchdir chdir mkdir mkdirat symlinkat openat2 openat dup3 write mmap execveat
        setpgid prctl mknodat close_range""",
    "init": """unshare fsopen fsconfig fsmount open_tree move_mount pivot_root umount2 fchdir chdir
        mkdirat openat2 openat write socket ioctl sethostname prctl capset landlock_create_ruleset
        landlock_add_rule clone3 signalfd4 rt_sigprocmask dup3 close_range socketpair""",
    "workload": """setpgid dup2 prlimit64 capset prctl landlock_restrict_self dup3 close_range
        chdir seccomp sendmsg rt_sigprocmask utimensat sethostname setresuid connect""",
}
# The same for what a profile of the operator's adds.
MUST_SHOWN = {
    "factory": "openat2 open_tree move_mount mount_setattr mkdir mkdirat mknodat",
    "init": "mount fsopen fsconfig fsmount open_tree move_mount openat2 fchdir chdir mkdirat",
}
ERRORS = {"EPERM": errno.EPERM, "ENOMEM": errno.ENOMEM}
OTHER_ERRORS = {"clone3": "EAGAIN", "landlock_create_ruleset": "ENOSYS", "seccomp": "EINVAL",
                "landlock_restrict_self": "E2BIG", "unshare": "ENOSPC", "mount_setattr": "EINVAL",
                "openat2": "ENOSYS", "pipe2": "EMFILE", "fsopen": "ENODEV", "socketpair": "EMFILE",
                "pivot_root": "EINVAL", "capset": "EINVAL", "prctl": "EINVAL"}


def tried(errors, *case):
    """The errors that a case is tried with: an ordinary run takes one, which MSP_SEED chooses."""
    return errors if faults.IS_ALL else [random.Random(f"{faults.SEED} {case}").choice(errors)]


def errors_of(role, call, number):
    """The names of the errors to try there."""
    return tried(sorted({*ERRORS, OTHER_ERRORS.get(call, "EPERM")}), role, call, number)


def positions(count, call):
    """The calls to fail of so many."""
    if count <= BETWEEN + 2:
        return range(1, count + 1)
    numbers = random.Random(f"{faults.SEED} {call}")
    edges = [2 + part * (count - 2) // BETWEEN for part in range(BETWEEN + 1)]
    return [1, *(numbers.randrange(low, high) for low, high in zip(edges, edges[1:])), count]


# Limits of the default profile: each is asked for and then set, and after all of them comes an act
# against each but that of processor time, which is none.
LIMITS = 9
LIMIT_ACTS = 8

# Where a failure is also survived, and why that is no less confinement.
TOLERATED = {
    ("supervisor", "mmap"): "its C library's start asks for more than it needs",
    ("supervisor", "memfd_create", 2): "no sandbox lasts then, and this one is not to",
    ("supervisor", "close_range", 3): "the last call: its children are not waited for then",
    ("factory", "prctl", 1): "the kernel's stack stays, with the name that is shown",
    ("init", "prctl"): "EINVAL is how the end of the bounding set is found",
    # The whole counts as 0 then, and the share of it is none.
    ("factory", "openat", 4): "the user's number of inotify instances",
    ("factory", "openat", 6): "the user's number of inotify watches",
    ("init", "openat"): "a process that ended before its memory was looked at",
    ("init", "ioctl", 2): "answers for refused calls come later; the first is for the loopback",
    **{("workload", "prlimit64", 2 * LIMITS + act): "EPERM is the right answer to an act"
       for act in range(1, LIMIT_ACTS + 1)},
    ("workload", "sethostname"): "EPERM is the right answer to an act",
}
COMMAND = ("run", "--ro", probes.PROBE_FOLDER + ":/probe")
INJECT = os.path.join(probes.BUILD, "fault", "inject")

Result = collections.namedtuple("Result", "role call number error code output errors is_hit")


def setUpModule():
    probes.needs_ordinary_user()
    if not os.access(INJECT, os.X_OK):
        raise unittest.SkipTest(f"needs {INJECT}, which the dev build makes")
    leftovers.become_reaper()
    support.limits()


def stages():
    with open(os.path.join(support.ROOT, "common/text/stage.def"), encoding="utf-8") as file:
        texts = re.findall(r'^STAGE\(\w+, "(.+)"\)', file.read(), re.M)
    return texts[1:] + ["the working directory"]  # msp's own words for that stage


def end_tree(process):
    for pid in (*support.descendants(process.pid), process.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def run_traced(role, call, number, error, msp=support.MSP):
    """`msp run` of the probe with that failure; (exit code or None, output, errors, report)."""
    handle, report = tempfile.mkstemp(dir=probes.scratch())
    os.close(handle)
    process = subprocess.Popen(
        [INJECT, report, str(role), call, str(number), str(error), msp, *COMMAND,
         *support.limits(), "--", "/probe/probe", "less-confined"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        output, errors = process.communicate(timeout=HANG_S)
        code = process.returncode
    except subprocess.TimeoutExpired:
        end_tree(process)
        output, errors = process.communicate()
        code = None
    with open(report, encoding="ascii") as file:
        text = file.read()
    os.unlink(report)
    return code, output, errors, text


class Injecting(unittest.TestCase):
    """A tracer makes the chosen call of the chosen process fail."""

    must = MUST
    what = ""

    @classmethod
    def program(cls):
        return support.MSP

    @classmethod
    def setUpClass(cls):
        cls.stages = stages()
        cls.msp = cls.program()
        code, _, errors, report = run_traced(0, "unshare", 0, 0, cls.msp)
        if code != REFUSED_PROBE:
            raise unittest.SkipTest(f"nothing can be traced here: {errors}")
        cls.counts = {(ROLES[int(role) - 1], call): int(count) for role, call, count in
                      (line.split() for line in report.splitlines())}

    def inject(self, role, call, number, error):
        code, output, errors, report = run_traced(ROLES.index(role) + 1, call, number,
                                                  getattr(errno, error), self.msp)
        return Result(role, call, number, error, code, output, errors, report.startswith("hit"))

    def plan(self, role):
        for call in self.must[role].split():
            for number in positions(self.counts.get((role, call), 0), f"{role} {call}"):
                for error in errors_of(role, call, number):
                    yield role, call, number, error

    def check(self, result):
        # How often memory is looked at is a matter of time.
        if (result.role, result.call) != ("init", "openat") or result.code != REFUSED_PROBE:
            self.assertTrue(result.is_hit, result)
        self.assertIsNotNone(result.code, f"hangs: {result}")
        self.assertNotIn("missing:", result.output, result)
        if result.code == REFUSED_PROBE:
            self.assertTrue({(result.role, result.call),
                             (result.role, result.call, result.number)} & set(TOLERATED), result)
            return 0
        self.assertIn(result.code, FAILED, result)
        said = result.output + result.errors
        self.assertTrue(said.strip(), f"it ends without a word: {result}")
        if result.role in ("init", "workload"):
            self.assertTrue(any(stage in said for stage in self.stages), result)
        return 1

    def run_role(self, role):
        ended = 0
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            futures = [pool.submit(self.inject, *case) for case in self.plan(role)]
            for future in futures:
                result = future.result()
                with self.subTest(role=role, call=result.call, number=result.number,
                                  error=result.error):
                    ended += self.check(result)
        self.assertGreater(ended, len(self.must[role].split()), "hardly any call was made to fail")
        self.assertIsNotNone(leftovers.wait_gone(time.monotonic()))
        figures.record("calls", what=f"set-up, {role}{self.what}", cases=len(futures), ended=ended,
                       survived=len(futures) - ended)
        print(f"{role}: {len(futures)} failures, {ended} ended the start", file=sys.stderr)


class Injected(Injecting):
    def test_supervisor(self):
        self.run_role("supervisor")

    def test_factory(self):
        self.run_role("factory")

    def test_init(self):
        self.run_role("init")

    def test_workload(self):
        self.assertEqual(self.counts["workload", "prlimit64"], 2 * LIMITS + LIMIT_ACTS,
                         "which of them are acts")
        self.run_role("workload")

    def test_failing_for_ever(self):
        """A call that fails every time is not tried for ever."""
        for role in ROLES[1:]:
            for call in (call for call in MUST[role].split() if self.counts.get((role, call))):
                # To try again after EINTR is right there, and the kernel ends it.
                errors = ["EAGAIN"] if call in ("write", "sendfile", "sendmsg") else \
                    ["EAGAIN", "EINTR"]
                for error in tried(errors, role, call):
                    with self.subTest(role=role, call=call, error=error):
                        result = self.inject(role, call, 0, error)
                        self.assertIsNotNone(result.code, f"hangs: {result}")
                        self.assertNotIn("missing:", result.output, result)
                        self.assertIn(result.code, (*FAILED, REFUSED_PROBE), result)

    def test_a_kernel_without_landlock(self):
        for error in ("ENOSYS", "EOPNOTSUPP"):
            result = self.inject("supervisor", "landlock_create_ruleset", 1, error)
            self.assertEqual(result.code, 78, result)
            self.assertIn("Landlock", result.errors)


class InjectedShown(Injecting):
    """With a folder of the host's that is read-only, one that can be written, and one that is
    copied when it is written to."""

    must = MUST_SHOWN
    what = ", files of the host"

    @classmethod
    def program(cls):
        data = tempfile.mkdtemp(dir=probes.scratch())
        return plans.programs(tempfile.mkdtemp(dir=probes.scratch()),
                              ("bind", "default", data, "/shown"),
                              ("writable", "default", data, "/writable"),
                              ("overlay", "default", data, "/copied"))

    def test_each_call_is_there(self):
        self.assertEqual([(role, call) for role, calls in self.must.items()
                          for call in calls.split() if not self.counts.get((role, call))], [])

    def test_factory(self):
        self.run_role("factory")

    def test_init(self):
        self.run_role("init")


class Starved(unittest.TestCase):
    """Too little of a resource for a start: a clear error, or a sandbox like any other."""

    def attempt(self, kind, value):
        def limit():
            resource.setrlimit(kind, (value, value))
        result = subprocess.run(
            [support.MSP, *COMMAND, *support.limits(), "--", "/probe/probe", "less-confined"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, preexec_fn=limit,
            timeout=STARVED_S, check=False)
        self.assertNotIn("missing:", result.stdout)
        if result.returncode != REFUSED_PROBE and result.returncode > 0:
            self.assertTrue(result.stderr.strip(), f"{value}: {result}")
        return result

    def assert_bounded(self, kind, values):
        codes = collections.Counter()
        for value in values:
            with self.subTest(value=value):
                codes[self.attempt(kind, value).returncode] += 1
        self.assertGreater(codes[REFUSED_PROBE], 0, "enough is enough")
        self.assertGreater(len(codes), 1, "too little is too little")
        # Below what msp itself needs to start, its dynamic loader or the kernel ends it.
        self.assertLessEqual({code for code in codes if code >= 0},
                             {REFUSED_PROBE, *FAILED, 126, 127, 137, 139}, codes)

    def test_descriptors(self):
        self.assert_bounded(resource.RLIMIT_NOFILE, [*faults.sample(range(3, 40), 12), 64, 1024])

    def test_address_space(self):
        self.assert_bounded(resource.RLIMIT_AS, [size << 20 for size in
                                                 (1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 256, 4096)])

    def test_data(self):
        self.assert_bounded(resource.RLIMIT_DATA, [size << 10 for size in
                                                   (4, 64, 128, 256, 512, 1024, 4096, 65536)])

    def test_file_size(self):
        """The sealed copies are files too."""
        self.assert_bounded(resource.RLIMIT_FSIZE, [0, 1, 4096, 65536, 1 << 20, 1 << 30])

    def test_processes(self):
        """Counted per user on this machine, so others of the same user count as well."""
        count = sum(1 for entry in os.listdir("/proc") if entry.isdigit() and
                    self.is_ours(entry))
        self.assert_bounded(resource.RLIMIT_NPROC, [0, 1, 2, *range(count, count + 7), count + 200])

    def is_ours(self, entry):
        try:
            return os.stat("/proc/" + entry).st_uid == os.getuid()
        except OSError:
            return False


if __name__ == "__main__":
    unittest.main()
