#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Persistent sandboxes where there is no room, no right, too much or nothing at all: one request gets
an error that says why, none hangs, and when things are right again all is as before."""
import concurrent.futures
import contextlib
import hashlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import faults
import leftovers
import support
from persistent_mount import Place
from service import Service

DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
SMALL = os.environ.get("MSP_TEST_SMALL")  # where this process has a small file system mounted
MANY = 1000
THREADS = 8  # that want one sandbox
ERRORS = (64, 70, 75, 78, 125)
NO_SPACE = "No space left on device"
LIST_S = 60  # of a thousand sandboxes
shared = {}


def setUpModule():
    faults.prepare("inject")
    shared["before"] = leftovers.Snapshot()


class Case(unittest.TestCase):
    def setUp(self):
        self.place = self.make_place()
        self.addCleanup(self.place.close)

    def make_place(self):
        return Place()

    def tearDown(self):
        self.doCleanups()
        self.assertIsNotNone(leftovers.wait_gone(time.monotonic()),
                             leftovers.describe(leftovers.living()))
        if not SMALL:
            self.assertEqual(shared["before"].left(), {})

    @contextlib.contextmanager
    def config(self, text):
        """msp is started with that configuration."""
        path = os.path.join(self.place.folder, "config.yaml")
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        self.place.environment["MSP_CONFIG"] = path
        yield
        del self.place.environment["MSP_CONFIG"]

    def fails(self, *words, says=".", codes=ERRORS, **keywords):
        """With one line that says why; that line."""
        result = self.place.msp(*words, **keywords)
        self.assertIn(result.returncode, codes, (words, result))
        self.assertRegex(result.stderr, r"(?m)^msp(-supervisor)?: .*" + says)
        return result.stderr

    def assert_all_well(self, content="1"):
        """The sandbox is as it was, everything works, and nothing stays of it."""
        place = self.place
        self.assertEqual(set(place.list()), {"box"})
        self.assertFalse(place.list()["box"]["damaged"])
        self.assertEqual(place.sh("cat a"), content + "\n")
        place.good("checkpoint", "box", "well")
        place.sh("echo again > a")
        place.good("rollback", "box", "well")
        place.good("fork", "box", "--name=twin")
        self.assertEqual(place.sh("cat a", "twin"), content + "\n")
        place.good("destroy", "box", "twin")
        self.assertEqual(place.wait_rest(), {})


if SMALL:
    class Inside(Case):
        """In a mount namespace with a small file system; see Room, which starts these."""

        def fill(self):
            """Up to the last byte."""
            with open(os.path.join(SMALL, "fill"), "ab", buffering=0) as file:
                for size in (1 << 16, 1 << 12, 1 << 8, 1):
                    try:
                        while True:
                            file.write(bytes(size))
                    except OSError:
                        pass

    class State(Inside):
        def make_place(self):
            return Place(state=os.path.join(SMALL, "state"))

        def test_full(self):
            place = self.place
            place.create()
            place.sh("echo 1 > a")
            for room in (0, 4096, 16384, 65536):
                self.fill()
                os.truncate(os.path.join(SMALL, "fill"),
                            os.path.getsize(os.path.join(SMALL, "fill")) - room)
                for words in (["checkpoint", "box"], ["fork", "box"], ["create"],
                              ["exec", "box", "--", "true"], ["list"], ["diff", "box"]):
                    result = place.msp(*words)
                    self.assertIn(result.returncode, (0, *ERRORS), (words, result))
                    if result.returncode:
                        self.assertRegex(result.stderr, r"(?m)^msp(: \w+|-supervisor): .")
                os.unlink(os.path.join(SMALL, "fill"))
            found = json.loads(place.good("list", "--json"))["sandboxes"]
            others = [entry["id"] for entry in found if entry["name"] != "box"]
            self.assertTrue(others, "there was never room for anything")
            place.good("destroy", *others)
            self.assert_all_well()

        def test_a_workload_fills_it(self):
            """Its own error, and the sandbox goes on."""
            place = self.place
            place.create()
            place.sh("echo 1 > a")
            result = place.msp("exec", "box", "--", "sh", "-c", "cat /dev/zero > big")
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(NO_SPACE, result.stderr)
            result = place.msp("checkpoint", "box")
            if result.returncode:  # no room for the log of it either, and the way out is told
                self.assertRegex(result.stderr, "'audit: optional'|" + NO_SPACE)
            with self.config("audit: optional\n"):
                place.good("exec", "box", "--", "rm", "big")
            self.assert_all_well()

        def test_a_background_command_fills_it(self):
            """Its output gives way, its result stays, and the sandbox goes on."""
            place = self.place
            place.create()
            place.sh("echo 1 > a")
            one = place.good("exec", "-d", "-q", "box", "--", "sh", "-c",
                             "head -c 3000000 /dev/zero; echo; echo last >&2; exit 3").strip()
            self.assertEqual(place.msp("wait", one).returncode, 3)
            shown = place.msp("attach", one)
            self.assertEqual(shown.returncode, 3)
            self.assertRegex(shown.stderr, "of the output were dropped here\n(last\n)?")
            with self.config("audit: optional\n"):
                self.fill()
                self.fails("exec", "-d", "box", "--", "true", says=NO_SPACE)
                os.unlink(os.path.join(SMALL, "fill"))
            ended = json.loads(place.good("ps", "--json", "--ended"))["commands"]
            self.assertEqual([each["id"] for each in ended], [one])
            self.assert_all_well()

    class Project(Inside):
        def make_place(self):
            return Place(project=os.path.join(SMALL, "project"))

        def test_full(self):
            place = self.place
            place.create()
            place.sh("echo new > a; head -c 3000000 /dev/urandom > big; rm b")
            before = place.host()
            self.fails("apply", "box", says=NO_SPACE)
            self.assertEqual(place.host(), before)
            place.good("apply", "box", "a", "b")
            self.assertEqual(place.host(), {"a": "new", "c": "old"})
            self.fill()
            self.fails("undo", "box", says=NO_SPACE)
            self.assertEqual(place.host(), {"a": "new", "c": "old"})
            os.unlink(os.path.join(SMALL, "fill"))
            place.good("undo", "box")
            self.assertEqual(place.host(), before)


class Room(unittest.TestCase):
    """Each of the above with a file system of its own, in a namespace."""
    SCRIPT = ('mount -t tmpfs -o mode=0700,size=2M none "$MSP_TEST_SMALL" && '
              'exec setpriv --inh-caps=-all --ambient-caps=-all "$@"')

    def inside(self, name):
        with tempfile.TemporaryDirectory(prefix="msp-test-", dir="/var/tmp") as folder:
            result = subprocess.run(
                ["unshare", "--user", "--map-current-user", "--keep-caps", "--mount", "--",
                 "/bin/sh", "-c", self.SCRIPT, "sh", sys.executable, "-B", __file__, name],
                env={**os.environ, "MSP_TEST_SMALL": folder}, stdin=subprocess.DEVNULL, text=True,
                capture_output=True, timeout=600, check=False)
            self.assertEqual(result.returncode, 0, result.stderr)

    def test_state(self):
        self.inside("State.test_full")

    def test_state_that_a_workload_fills(self):
        self.inside("State.test_a_workload_fills_it")

    def test_state_that_a_background_command_fills(self):
        self.inside("State.test_a_background_command_fills_it")

    def test_project(self):
        self.inside("Project.test_full")


class Refused(Case):
    """Calls of msp-store that a quota or a disk makes fail, and too few descriptors for all."""
    STORE = 6  # by the order in which the processes come

    def setUp(self):
        super().setUp()
        self.place.create()
        self.place.sh("echo 1 > a")

    def injected(self, call, number, error, *words):
        with tempfile.NamedTemporaryFile("r", prefix="msp-test-") as report:
            result = subprocess.run(
                [faults.tool("inject"), report.name, str(self.STORE), call, str(number),
                 str(error), support.MSP, *words],
                env=dict(self.place.environment, MSP_TRACE_STEWARDS="1"),
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False)
            return result, report.read()

    def test_quota_and_disk_errors(self):
        EIO, EDQUOT, EROFS = 5, 122, 30
        cases = [(call, number, error, words)
                 for call in ("mkdirat", "renameat", "fsync", "pwrite64", "write", "openat")
                 for number in (1, 2, 3, 4, 6, 9) for error in (EIO, EDQUOT, EROFS)
                 for words in (["checkpoint", "box"], ["fork", "box"], ["create"],
                               ["exec", *support.limits(), "box", "--", "true"])]
        hits = 0
        for call, number, error, words in faults.sample(cases, 8):
            with self.subTest(call=call, number=number, error=error, verb=words[0]):
                result, report = self.injected(call, number, error, *words)
                hits += report.startswith("hit")
                self.assertIn(result.returncode, (0, *ERRORS), (result, report))
                if result.returncode:
                    self.assertRegex(result.stderr, r"(?m)^msp(-supervisor|-store)?: .")
                self.place.make_old()
                found = json.loads(self.place.good("list", "--json"))["sandboxes"]
                self.assertEqual([entry["id"] for entry in found if entry["damaged"]], [])
                others = [entry["id"] for entry in found if entry["name"] != "box"]
                if others:
                    self.place.good("destroy", *others)
        self.assertGreater(hits, 0)
        self.assert_all_well()

    def test_few_descriptors(self):
        errors = 0
        for count in (*range(4, 40, 5), 64):
            for words in (["exec", "box", "--", "true"], ["checkpoint", "box"]):
                with self.subTest(count=count, verb=words[0]):
                    result = self.place.msp(*words, preexec_fn=lambda: resource.setrlimit(
                        resource.RLIMIT_NOFILE, (count, count)))
                    errors += result.returncode != 0
                    if result.returncode:
                        self.assertTrue(result.stderr, "no reason is given")
        self.assertGreater(errors, 3)
        self.assert_all_well()

    def test_read_only(self):
        for name in ("sandboxes", "layers", "trash"):
            os.chmod(self.place.path(name), 0o500)
        os.chmod(self.place.state, 0o500)
        try:
            for words in (["create"], ["checkpoint", "box"], ["fork", "box"], ["destroy", "box"]):
                self.fails(*words, says="Permission denied")
        finally:
            for name in (".", "sandboxes", "layers", "trash"):
                os.chmod(self.place.path(name), 0o700)
        self.assert_all_well()

    def test_nothing_is_kept(self):
        """A state directory that cannot be made: what lasts is refused, all else works."""
        for state in ("/proc/none", "relative", "/etc/passwd"):
            with self.subTest(state=state):
                self.place.environment["MSP_STATE_DIR"] = state
                self.fails("create", codes=(64, 78))
        self.place.environment["MSP_STATE_DIR"] = self.place.state
        self.assert_all_well()


class Damaged(Case):
    """Each one alone is told as damaged, and the others work."""

    def setUp(self):
        super().setUp()
        self.place.create()
        self.place.sh("echo 1 > a")
        self.ids = [self.place.create(f"d{number}") for number in range(5)]
        for number in range(5):
            self.place.sh("echo 2 > a", f"d{number}")

    def meta(self, number):
        return self.place.path("sandboxes", self.ids[number], "meta")

    def damage(self):
        with open(self.meta(0), "r+b") as file:  # one bit
            file.seek(300)
            byte = file.read(1)[0]
            file.seek(300)
            file.write(bytes([byte ^ 4]))
        os.truncate(self.meta(1), 100)
        with open(self.meta(2), "wb") as file:
            file.write(os.urandom(os.path.getsize(self.meta(0))))
        with open(self.meta(3), "rb") as file:
            one = file.read()
        with open(self.meta(4), "wb") as file:  # another one's
            file.write(one)

    def test_told_and_removed(self):
        self.damage()
        broken = [self.ids[number] for number in (0, 1, 2, 4)]
        found = {entry["id"]: entry["damaged"] for entry in
                 json.loads(self.place.good("list", "--json"))["sandboxes"]}
        self.assertEqual({name for name in found if found[name]}, set(broken))
        self.assertEqual(len(found), 6)
        for name in broken:
            for words in (["exec", name, "--", "true"], ["checkpoint", name], ["fork", name]):
                self.fails(*words, says="damaged", codes=(125,))
        self.assertEqual(self.place.sh("cat a"), "1\n")
        self.assertEqual(self.place.sh("cat a", "d3"), "2\n")
        self.place.good("checkpoint", "d3")
        layers = set(self.place.entries("layers"))
        self.place.good("destroy", "d3")
        self.assertEqual(self.place.sh("cat a"), "1\n")
        self.assertLessEqual(set(self.place.entries("layers")), layers)
        self.place.good("destroy", *broken)
        self.assert_all_well()

    def test_a_layer_is_missing(self):
        self.place.good("destroy", "d0", "d1", "d2", "d3", "d4")
        other = self.place.create("other")
        before = set(self.place.entries("layers"))
        self.place.good("fork", "box", "--name=twin")
        for name in set(self.place.entries("layers")) - before:
            os.rename(self.place.path("layers", name), self.place.path("layers", "gone-" + name))
        found = self.place.list()
        self.fails("exec", "twin", "--", "true", says="layer")
        self.assertEqual(self.place.sh("cat a", "other"), "old\n")
        self.assertIn("twin", found)
        self.assertEqual(found["other"]["id"], other)

    def test_destroyed_under_a_service(self):
        """Somebody removes the state directory while a service works with it."""
        folder = tempfile.TemporaryDirectory(prefix="msp-test-")
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "s.sock")
        os.environ["MSP_STATE_DIR"], before = self.place.state, os.environ["MSP_STATE_DIR"]
        self.addCleanup(os.environ.update, MSP_STATE_DIR=before)
        service = Service(path)
        self.addCleanup(service.end)
        socket = ["--socket", path]
        self.place.good("exec", *socket, "box", "--", "true")
        Place.close(self.place)
        os.makedirs(self.place.project)
        self.fails("exec", *socket, "d1", "--", "true")
        self.fails("create", *socket)
        self.fails("checkpoint", *socket, "box")
        self.assertEqual(service.status()["state"], "running")
        self.assertEqual(service.end(), 128 + signal.SIGTERM, service.error)
        os.makedirs(self.place.state, 0o700)
        self.place.create("box")
        self.place.sh("echo 1 > a")
        self.assert_all_well()


class Clocks(Case):
    """What is not used for its time goes; a clock that was wrong ends nothing that is in use."""

    def used(self, sandbox, seconds):
        os.utime(self.place.path("sandboxes", sandbox), (seconds, seconds))

    def test_time_to_live(self):
        place, day, now = self.place, 86400, time.time()
        ids = {name: place.create(name) for name in ("box", "past", "future", "epoch")}
        place.sh("echo 1 > a")
        self.used(ids["past"], now - 400 * day)
        self.used(ids["future"], now + 4000 * day)
        self.used(ids["epoch"], 1)
        self.assertEqual(set(place.list()), {"box", "future"})
        place.sh("true", "future")
        self.assertLess(abs(place.list()["future"]["used_s"] - now), 3600)
        place.good("destroy", "future")
        self.assert_all_well()

    def test_in_use(self):
        place = self.place
        made = place.create()
        place.sh("echo 1 > a")
        with subprocess.Popen([support.MSP, "exec", *support.limits(), "box", "--", "sh", "-c",
                               "echo ready; read x; echo 2 > a"], env=place.environment,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as user:
            self.assertEqual(user.stdout.readline(), "ready\n")
            self.used(made, 1)
            self.assertEqual(set(place.list()), {"box"})
            user.communicate("go on\n", timeout=60)
        self.assertEqual(user.returncode, 0)
        self.assert_all_well("2")


class Slow(Case):
    """What is to be done to the files at the end takes longer than ending does."""
    TRIES = 40
    STOPPED_S = 1.5  # more than LAUNCH_END_MS of launcher/start/launch.h

    def stop_helper(self, process):
        """Stop msp-layers when it works for this msp; its pid, None when it was not seen."""
        while process.poll() is None:
            for pid in support.descendants(process.pid):
                with contextlib.suppress(OSError):
                    with open(f"/proc/{pid}/cmdline", "rb") as file:
                        if file.read(10) == b"msp-layers":
                            os.kill(pid, signal.SIGSTOP)
                            return pid
        return None

    def counted(self, sandbox):
        """When the last count of a sandbox's files was written."""
        return os.stat(self.place.path("sandboxes", sandbox, "count")).st_mtime_ns

    def test_it_is_waited_for(self):
        """Begun again where msp-layers had answered before it was stopped: its count is written then."""
        made = self.place.create()
        self.place.sh("mkdir ~/many; cd ~/many; touch $(seq 8000)")  # it is there for a while
        for _ in range(self.TRIES):
            before, is_waiting = self.counted(made), False
            with subprocess.Popen([support.MSP, "exec", *support.limits(), "box", "--", "sh", "-c",
                                   "echo 1 > a"], env=self.place.environment,
                                  stdin=subprocess.DEVNULL) as process:
                helper = self.stop_helper(process)
                if helper:
                    time.sleep(self.STOPPED_S)
                    is_waiting = process.poll() is None
                    self.assertTrue(is_waiting or self.counted(made) != before, "it did not wait")
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(helper, signal.SIGCONT)
            self.assertEqual(process.returncode, 0)
            if is_waiting:
                break
        else:
            self.fail("msp-layers was never seen at work")
        self.assertEqual(sorted(os.listdir(self.place.path("sandboxes", made))),
                         ["count", "history", "journal", "meta"])
        self.assert_all_well()


def text_of(number):
    """An id as it is written, stewards/store/meta.c."""
    return "".join(DIGITS[number >> 5 * place & 31] for place in range(25, -1, -1))


def bytes_of(text):
    number = 0
    for digit in text:
        number = number << 5 | DIGITS.index(digit)
    return number.to_bytes(16, "big")


class Many(Case):
    def copy(self, made):
        """One more sandbox as `made` is, without a name, and with a layer of its own: making each
        by a command would take its time."""
        with open(self.place.path("sandboxes", made, "meta"), "rb") as file:
            meta = file.read()[:-32]
        self.assertEqual(meta.count(b"first\0"), 1)
        meta = meta.replace(b"first\0", bytes(6))
        for kind, old in (("sandboxes", made), ("layers", self.layer)):
            new = random.randbytes(16)
            self.assertEqual(meta.count(bytes_of(old)), 1)
            meta = meta.replace(bytes_of(old), new)
            path = self.place.path(kind, text_of(int.from_bytes(new, "big")))
            os.mkdir(path, 0o700)
            if kind == "sandboxes":
                folder = path
        with open(folder + "/meta", "wb") as file:
            file.write(meta + hashlib.sha256(meta).digest())

    def test_one_owner_at_a_time(self):
        """Supervisors race for one sandbox: whoever has it has it alone, nobody waits for ever."""
        self.place.create()
        script = "mkdir held || exit 9; echo x >> log; rmdir held"

        def work(_):
            for _ in range(2000):
                result = self.place.msp("exec", "box", "--", "sh", "-c", script)
                if result.returncode != 75:
                    return result
                time.sleep(0.02)
            return result
        with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
            results = list(pool.map(work, range(THREADS)))
        self.assertEqual({(result.returncode, result.stderr) for result in results}, {(0, "")})
        self.assertEqual(self.place.sh("wc -l < log; ls").split(),
                         [str(THREADS), "a", "b", "c", "log"])

    def test_a_thousand(self):
        with self.config(f"sandboxes: {{most: {MANY + 1}}}\n"):
            self.fill_and_sweep()

    def fill_and_sweep(self):
        made = self.place.create("first")
        self.layer, = self.place.entries("layers")
        for _ in range(MANY - 1):
            self.copy(made)
        self.assertEqual(len(self.place.entries("sandboxes")), MANY)
        start = time.monotonic()
        found = json.loads(self.place.good("list", "--json"))["sandboxes"]
        listed_s = time.monotonic() - start
        self.assertEqual(len(found), MANY)
        self.place.create()
        self.fails("create", codes=(75,))
        self.place.sh("echo 1 > a")
        for entry in found:
            os.utime(self.place.path("sandboxes", entry["id"]), (1, 1))
        start = time.monotonic()
        self.assertEqual(set(self.place.list()), {"box"})
        swept_s = time.monotonic() - start
        print(f"{MANY} sandboxes: listed in {listed_s * 1000:.0f} ms, swept in "
              f"{swept_s * 1000:.0f} ms", file=sys.stderr)
        self.assertLess(max(listed_s, swept_s), LIST_S)
        self.place.good("destroy", "box")
        self.assertEqual(self.place.wait_rest(), {})


del Case  # a frame of tests, not one

if __name__ == "__main__":
    unittest.main()
