#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of each process at each stage boundary of what is done with a persistent sandbox:
afterwards it is as before or as it was to be, the next msp works with it, and nothing is left of the
killed one: no process, mount, cgroup, lock, layer, and no file beside the host's."""
import concurrent.futures
import contextlib
import fcntl
import os
import random
import signal
import subprocess
import sys
import time
import unittest

import faults
import figures
import leftovers
import stages
import support
from persistent_mount import Place

LIMIT_S = 30
SAMPLE = 4  # pairs of boundary and victim in an ordinary run: each takes some ten starts of msp
THREADS = 2 * (os.cpu_count() or 1)  # each waits for others most of the time
RANDOM_KILLS = 24 if faults.IS_ALL else 6
HOOKED = os.path.join(faults.HOOKED, "msp")
ROLES = ("launcher", "opener", "supervisor", "factory", "init", "layers", "workload")
SYSEXITS = (0, 64, 70, 75, 125)

shared = {}


def setUpModule():
    faults.prepare("stages")
    shared["bystander"] = faults.Bystander()  # it may have a cgroup
    shared["before"] = leftovers.Snapshot()


def tearDownModule():
    shared["bystander"].server.close()


class Verb(unittest.TestCase):
    """How one command is killed; its subclasses are the commands."""
    most = SAMPLE
    creates = True
    before = {"a": "old", "b": "old", "c": "old"}

    def prepare(self, place):
        """What was done with the sandbox before."""

    def assert_settled(self, place, result, found):
        """The old or the new, and the new when that was told. `found`: the list of sandboxes."""
        raise NotImplementedError

    def attempt(self, place, boundary, victim):
        command = [HOOKED, *self.words(place)]
        return stages.attempt(boundary, victim, command,
                              lambda process: process.stdout.read().decode(),
                              env=place.environment)

    @contextlib.contextmanager
    def place(self):
        place = Place()
        try:
            if self.creates:
                place.create()
                self.prepare(place)
            yield place
        finally:
            place.close()

    def try_pair(self, pair):
        with self.place() as place:
            result, _ = self.attempt(place, *pair)
            self.assert_told(result)
            place.make_old()
            found = place.list()
            self.assertEqual([entry for entry in found.values()
                              if entry["damaged"] or entry["elsewhere"]], [], result)
            self.assert_settled(place, result, found)
            self.assert_host(place)
            self.assert_no_rest(place, found, result)
        return result

    def assert_told(self, result):
        self.assertLess(result.gone_s, LIMIT_S, result)
        if result.victim == "launcher" and result.killed:
            self.assertIn(result.code, (stages.KILLED, *self.codes), result)
            return
        self.assertIn(result.code, (*SYSEXITS, *self.codes), result)
        if result.code not in self.codes:
            self.assertRegex(result.errors, r"(?m)^msp: \w+: .", result)

    codes = (0,)

    def assert_host(self, place):
        self.assertEqual(place.host(), self.before)

    def assert_no_rest(self, place, found, result):
        for name in found:
            place.good("destroy", name)
        self.assertEqual(place.wait_rest(), {}, result)

    def walk(self):
        if not support.limits():
            self.skipTest("with cgroups each start has a scope made, which the tracer does not follow")
        with self.place() as place:
            result, text = self.attempt(place, None, None)
            self.assertIn(result.code, self.codes, result)
        boundaries = [stages.boundary_of(line) for line in text.splitlines()]
        pairs = faults.sample(stages.pairs_of(boundaries, ROLES), self.most)
        kills, failures, longest = 0, [], 0
        with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
            jobs = [(pair, pool.submit(self.try_pair, pair)) for pair in pairs]
        for pair, job in jobs:
            with self.subTest(boundary=pair[0].name, victim=pair[1]):
                result = job.result()
                kills += result.killed
                longest = max(longest, result.gone_s)
        self.assertGreater(kills, len(pairs) * 0.6, "hardly any process was there to be killed")
        figures.record("stages", what="persistent " + type(self).__name__.lower(),
                       boundaries=len(boundaries), pairs=len(pairs), kills=kills,
                       limits=support.limits_name(), longest_ms=round(longest * 1000))
        print(f"{type(self).__name__}: {len(boundaries)} boundaries, {len(pairs)} pairs, {kills} "
              f"kills, all gone after at most {longest * 1000:.0f} ms", file=sys.stderr)

    def tearDown(self):
        self.doCleanups()
        self.assertEqual(shared["bystander"].wait_others_gone(), [])
        self.assertTrue(shared["bystander"].is_well())
        # systemd removes a scope some moments after its last process
        self.assertEqual(shared["before"].left(LIMIT_S), {})


class Create(Verb):
    creates = False

    def words(self, place):
        return ["create", "--name=box", "--workspace", place.project]

    def assert_settled(self, place, result, found):
        self.assertLessEqual(set(found), {"box"})
        if result.code == 0:
            self.assertEqual(set(found), {"box"}, result)
        if found:
            self.assertEqual(place.sh("cat a"), "old\n")
        else:
            place.create()
            self.assertEqual(place.sh("cat a"), "old\n")
            found.update(place.list())

    def test_walk(self):
        self.walk()


class Exec(Verb):
    most = 2 * SAMPLE
    codes = (0, 7, stages.KILLED)  # the workload too may be killed

    def prepare(self, place):
        time.sleep(0.05)  # what the host changes as an execution begins has no known base

    def words(self, place):
        return ["exec", *support.limits(), "box", "--", "sh", "-c",
                "echo new > x && mv x a && rm b && echo up && exit 7"]

    def assert_settled(self, place, result, found):
        self.assertEqual(set(found), {"box"})
        content = place.sh("cat a; ls").split()
        self.assertIn(content, (["old", "a", "b", "c"], ["old", "a", "b", "c", "x"],
                                ["new", "a", "b", "c"], ["new", "a", "c"]), result)
        if result.output:
            self.assertEqual((result.output, content), ("up\n", ["new", "a", "c"]), result)
        changes = {line[-1]: line[0] for line in
                   place.good("apply", "box", "--preview").splitlines() if line[1:3] == "  "}
        if content == ["new", "a", "c"]:
            self.assertEqual(changes, {"a": "M", "b": "D"}, result)

    def test_walk(self):
        self.walk()


class AtAnyTime(Exec):
    """The programs as they ship, whatever is there at some moment."""

    def start(self, place):
        return subprocess.Popen([support.MSP, *self.words(place)], env=place.environment,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def whole_s(self):
        with self.place() as place:
            start = time.monotonic()
            self.assertEqual(self.start(place).communicate()[0], "up\n")
            return time.monotonic() - start

    def kill_one(self, place, delay):
        """(what was killed, the Result)"""
        process = self.start(place)
        time.sleep(delay)
        names = [name for name in leftovers.describe([process.pid,
                                                      *support.descendants(process.pid)])
                 if "msp-scope" not in str(name)]  # whose scope stays for a while, as killed.py has
        names = [shared["random"].choice(names)] if names else []
        victim = names[0][0] if names else process.pid
        start = time.monotonic()
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        output, errors = process.communicate(timeout=60)
        gone = shared["bystander"].wait_others_gone(LIMIT_S)
        self.assertEqual(gone, [], names)
        return stages.Result(f"after {delay * 1000:.1f} ms", names, process.returncode, output,
                             errors, True, time.monotonic() - start)

    def test_walk(self):
        longest, whole_s = 0, self.whole_s()
        shared["random"] = random.Random(faults.SEED)
        print(f"MSP_SEED={faults.SEED}", file=sys.stderr)
        for _ in range(RANDOM_KILLS):
            delay = shared["random"].random() * whole_s
            with self.place() as place, self.subTest(delay_ms=delay * 1000):
                result = self.kill_one(place, delay)
                longest = max(longest, result.gone_s)
                found = place.list()
                self.assert_settled(place, result, found)
                self.assert_host(place)
                self.assert_no_rest(place, found, result)
        figures.record("kills", what="msp exec, any moment", kills=RANDOM_KILLS,
                       longest_ms=round(longest * 1000), limits=support.limits_name())
        print(f"msp exec: {RANDOM_KILLS} kills, all gone after at most {longest * 1000:.0f} ms",
              file=sys.stderr)


class Checkpoint(Verb):
    def words(self, place):
        return ["checkpoint", "box", "point"]

    def prepare(self, place):
        place.sh("echo 1 > a")

    def assert_settled(self, place, result, found):
        self.assertEqual(set(found), {"box"})
        self.assertEqual(place.sh("cat a"), "1\n")
        points = place.checkpoints()
        self.assertIn(points, ([], ["point"]), result)
        if result.code == 0:
            self.assertEqual(points, ["point"], result)
            place.sh("echo 2 > a")
            place.good("rollback", "box", "point")
            self.assertEqual(place.sh("cat a"), "1\n")

    def test_walk(self):
        self.walk()


class Rollback(Verb):
    def words(self, place):
        return ["rollback", "box", "point"]

    def prepare(self, place):
        place.sh("echo 1 > a")
        place.good("checkpoint", "box", "point")
        place.sh("echo 2 > a; rm b")

    def assert_settled(self, place, result, found):
        self.assertEqual(set(found), {"box"})
        self.assertEqual(place.checkpoints(), ["point"])
        content = place.sh("cat a; ls").split()
        self.assertIn(content, (["1", "a", "b", "c"], ["2", "a", "c"]), result)
        if result.code == 0:
            self.assertEqual(content[0], "1", result)

    def test_walk(self):
        self.walk()


class Fork(Verb):
    def words(self, place):
        return ["fork", "box", "--name=twin"]

    def prepare(self, place):
        place.sh("echo 1 > a")

    def assert_settled(self, place, result, found):
        self.assertLessEqual({"box"}, set(found))
        self.assertLessEqual(set(found), {"box", "twin"})
        if result.code == 0:
            self.assertIn("twin", found, result)
        for name in found:
            self.assertEqual(place.sh("cat a; echo $$ > a", name), "1\n", result)

    def test_walk(self):
        self.walk()


class Destroy(Verb):
    def words(self, place):
        return ["destroy", "box"]

    def prepare(self, place):
        place.sh("echo 1 > a")
        place.good("checkpoint", "box", "point")
        place.sh("echo 2 > a")

    def assert_settled(self, place, result, found):
        self.assertLessEqual(set(found), {"box"})
        if result.code == 0:
            self.assertEqual(found, {}, result)
        if found:
            self.assertEqual(place.sh("cat a"), "2\n")
            self.assertEqual(place.checkpoints(), ["point"])

    def test_walk(self):
        self.walk()


class Apply(Verb):
    """The journal's own steps are in the unit tests, each system call of them."""
    most = 2 * SAMPLE
    after = {"a": "new", "b": "new", "d": "new"}

    def words(self, place):
        return ["apply", "box"]

    def prepare(self, place):
        place.sh("echo new > a; echo new > b; rm c; echo new > d")

    def assert_host(self, place):
        self.assertIn(place.host(), (self.before, self.after))

    def assert_settled(self, place, result, found):
        self.assertEqual(set(found), {"box"})
        if result.code == 0:
            self.assertEqual(place.host(), self.after, result)
        self.assertEqual(place.sh("cat a b d").split(), ["new"] * 3)  # what was begun is settled
        self.assert_host(place)
        place.good("apply", "box")
        self.assertEqual(place.host(), self.after)

    def test_walk(self):
        self.walk()


class Undo(Apply):
    def words(self, place):
        return ["undo", "box"]

    def prepare(self, place):
        super().prepare(place)
        place.good("apply", "box")

    def assert_settled(self, place, result, found):
        self.assertEqual(set(found), {"box"})
        if result.code == 0:
            self.assertEqual(place.host(), self.before, result)
        place.sh("true")
        self.assert_host(place)
        place.good("apply", "box")
        self.assertEqual(place.host(), self.after)


class Removal(unittest.TestCase):
    """What is destroyed is out of sight at once. Nobody waits for the removal of its files, and the
    next msp goes on with one that was killed."""

    def fill(self, place, folders):
        """A hundred files in each, as a workload would make them."""
        layer, = place.entries("layers")
        for number in range(folders):
            folder = place.path("layers", layer, f"many-{number}")
            os.mkdir(folder)
            for name in range(100):
                with open(os.path.join(folder, str(name)), "wb"):
                    pass

    def assert_out_of_sight(self, place):
        self.assertEqual((place.entries("sandboxes"), place.entries("layers")), ([], []))
        self.assertEqual(place.list(), {})
        place.create()
        self.assertEqual(place.sh("cat a; ls"), "old\na\nb\nc\n")

    def assert_gone(self, place):
        place.good("destroy", "box")
        self.assertEqual(place.wait_rest(), {})
        self.assertEqual(shared["bystander"].wait_others_gone(60), [])

    def test_nobody_waits(self):
        """Another remover, which is this test, has the trash and does nothing."""
        with contextlib.closing(Place()) as place:
            place.create()
            self.fill(place, 1)
            trash = os.open(place.path("trash"), os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(trash, fcntl.LOCK_EX)
            place.good("destroy", "box")
            self.assert_out_of_sight(place)
            self.assertEqual(len(place.entries("trash")), 2, "the sandbox and its layer")
            os.close(trash)
            self.assert_gone(place)

    def kill_removers(self):
        """The number of them; one that has just begun has another name."""
        killed = 0
        for pid, _, command in leftovers.describe(shared["bystander"].others()):
            if b"msp-layers" in command:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    killed += 1
        return killed

    def kill_remover(self, place, folders):
        """Whether it was killed in the middle."""
        place.create()
        self.fill(place, folders)
        place.good("destroy", "box")
        support.wait_until(lambda: self.kill_removers() or not place.entries("trash"), 60)
        self.assertEqual(shared["bystander"].wait_others_gone(60), [])
        return bool(place.entries("trash"))

    def test_killed(self):
        with contextlib.closing(Place()) as place:
            self.assertTrue(any(self.kill_remover(place, folders) for folders in (10, 40, 160)))
            self.assert_out_of_sight(place)
            self.assert_gone(place)


del Verb  # a frame of tests, not one


if __name__ == "__main__":
    unittest.main()
