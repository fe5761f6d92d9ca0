#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of each process at each stage boundary of a start, an execution and an end: whoever asked
is told, everything is gone within a second, and nobody else notices. An ordinary run kills one
process at each boundary, and each process at some."""
import collections
import concurrent.futures
import contextlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import faults
import figures
import leftovers
import support

LIMIT_S = 30
HANG_S = 10
STAGES = faults.tool("stages")
MSP = os.path.join(faults.HOOKED, "msp")
LIFE = ("new", "executed", "ends")
ROLES = ("launcher", "opener", "supervisor", "factory", "broker", "prover", "init", "layers",
         "probe", "workload")
SESSION_ROLES = [role for role in ROLES if role != "opener"]  # idle here; persistent.py has it work
KILLED = 128 + 9
REFUSED_START = 125

shared = {}
times = collections.defaultdict(list)

# What the supervisor hears while it does something else.
ANSWERS = ("supervisor has factory_ready", "supervisor has sandbox_created")

Boundary = collections.namedtuple("Boundary", "role kind number name")
Result = collections.namedtuple("Result", "boundary victim code output errors killed gone_s")


def setUpModule():
    faults.prepare("stages")
    shared["before"] = leftovers.Snapshot()
    shared["bystander"] = faults.Bystander()


def tearDownModule():
    shared["bystander"].server.close()
    for name, values in sorted(times.items()):
        print(f"{name}: {len(values)} kills, all gone after at most {max(values) * 1000:.0f} ms",
              file=sys.stderr)


def read_names():
    """The words for what the hooks number, from the sources."""
    def rows(path, pattern):
        with open(os.path.join(support.ROOT, "common", path), encoding="utf-8") as file:
            return re.findall(pattern, file.read(), re.M)
    messages = [None, *rows("ipc/ipc_messages.def", r"^IPC\((\w+),")]
    return [LIFE, messages, messages, rows("text/stage.def", r"^STAGE\((\w+),"),
            [None, *rows("stage_hook.h", r"^\tSTAGE_POINT_(\w+)")]]


NAMES = read_names()
KINDS = ("", "sends ", "has ", "step ", "point ")


def boundary_of(line):
    role, kind, number = line.split()
    kind, number = int(kind), int(number)
    return Boundary(role, kind, number, f"{role} {KINDS[kind]}{NAMES[kind][number]}")


def attempt(boundary, victim, command, converse, **keywords):
    """(Result, report) of a command with this victim killed at this boundary; None: of one that is
    left alone. `converse` is its client: given the process, it reads what it says to the end."""
    words = [boundary.role, str(boundary.kind), str(boundary.number), victim] if boundary else \
        ["list", "0", "0", "none"]
    with tempfile.NamedTemporaryFile("r", prefix="msp-stages-", encoding="ascii") as report:
        process = subprocess.Popen([STAGES, report.name, *words, *command], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, **keywords)
        errors = []
        reader = threading.Thread(target=lambda: errors.append(process.stderr.read()))
        reader.start()
        timer = threading.Timer(HANG_S, process.kill)
        timer.start()
        output = converse(process)
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        code = process.wait()
        ended = time.monotonic()
        timer.cancel()
        reader.join()
        process.stdout.close()
        process.stderr.close()
        text = report.read()
    killed = re.match(r"killed (\d+)", text)
    gone_s = ended - int(killed.group(1)) / 1e9 if killed else 0
    return Result(boundary, victim, code, output, errors[0].decode(), bool(killed), gone_s), text


def pairs_of(boundaries, roles, replaced=()):
    """(boundary, victim) for each of these roles that is there by then, by the order of one run."""
    alive, pairs = set(), []
    for boundary in boundaries:
        alive.add(boundary.role)
        if boundary.name == "supervisor executed":
            alive -= set(replaced)
        pairs += [(boundary, victim) for victim in roles if victim in alive]
        if boundary.name.endswith(" ends"):
            alive.discard(boundary.role)
    return pairs


def some_of(pairs):
    """One victim for each boundary, which MSP_SEED chooses: there are several times as many victims
    of each role as kinds of boundaries, and every one that the walk reaches is tried."""
    victims = collections.defaultdict(list)
    for boundary, victim in pairs:
        victims[boundary].append(victim)
    numbers = random.Random(faults.SEED)
    print(f"MSP_SEED={faults.SEED}", file=sys.stderr)
    return [(boundary, numbers.choice(there)) for boundary, there in victims.items()]


class Walk(unittest.TestCase):
    """How a kind of session is held; its subclasses are the kinds."""

    def converse(self, process):
        """What the client sees: lines or bytes, to the end."""
        raise NotImplementedError

    def attempt(self, boundary, victim, programs=faults.HOOKED):
        return attempt(boundary, victim, [os.path.join(programs, "msp"), *self.command()],
                       self.converse)

    def boundaries(self):
        result, text = self.attempt(None, None)
        self.assertTrue(self.is_whole(result), result)
        return [boundary_of(line) for line in text.splitlines()]

    def walk(self):
        boundaries = self.boundaries()
        self.assertGreater(len(boundaries), 60, "hardly any stage is named")
        pairs = pairs_of(boundaries, SESSION_ROLES, self.replaced)
        if not faults.IS_ALL:
            pairs = some_of(pairs)
        first = next(number for number, boundary in enumerate(boundaries)
                     if boundary.name == "supervisor sends sandbox_create")
        own = [boundary for boundary in boundaries if boundary.role == "supervisor" and
               boundary.name not in ANSWERS]
        spawns = [boundary.name for boundary in own].index("supervisor sends spawn")
        self.early = {*boundaries[:first], *own[:spawns]}
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            results = list(pool.map(lambda pair: self.attempt(*pair)[0], pairs))
        kills = 0
        for result in results:
            with self.subTest(boundary=result.boundary.name, victim=result.victim):
                kills += result.killed
                self.check(result)
                times[type(self).__name__].append(result.gone_s)
        self.assertGreater(kills, len(results) * 0.8, "hardly any process was there to be killed")
        figures.record("stages", what=type(self).__name__, boundaries=len(boundaries),
                       pairs=len(pairs), kills=kills, limits=support.limits_name(),
                       longest_ms=round(max(result.gone_s for result in results) * 1000))
        print(f"{type(self).__name__}: {len(boundaries)} boundaries, {len(pairs)} pairs, "
              f"{kills} kills", file=sys.stderr)

    def check(self, result):
        self.assertLess(result.gone_s, LIMIT_S, result)
        if result.killed:
            self.check_client(result)
        else:
            self.assertTrue(self.is_whole(result), result)

    def is_too_early(self, result):
        """Whether no workload may have run: its request was not sent. An init that the factory has
        cloned needs it no more, and can end its work before the supervisor sees the death."""
        return result.boundary in self.early and result.victim != "factory"

    def tearDown(self):
        self.doCleanups()
        self.assertEqual(shared["bystander"].wait_others_gone(), [])
        self.assertTrue(shared["bystander"].is_well())
        self.assertEqual(shared["before"].left(), {})

    def test_the_product_has_no_hooks(self):
        _, text = self.attempt(None, None, programs=support.BIN)
        self.assertIn("init 0 0", text)
        self.assertEqual({line.split()[1] for line in text.splitlines()}, {"0"})


class Run(Walk):
    replaced = set()

    def command(self):
        return ["run", *support.limits(), "--", "/bin/sh", "-c", "echo up; exit 7"]

    def converse(self, process):
        return process.stdout.read().decode()

    def is_whole(self, result):
        return (result.code, result.output, result.errors) == (7, "up\n", "")

    def check_client(self, result):
        """Ended by that very kill, or an error with its reason, or as if nothing had been."""
        if result.victim == "launcher":
            self.assertEqual(result.code, 7 if result.boundary.name == "launcher ends" else KILLED,
                             result)
            return
        self.assertIn(result.code, (7, REFUSED_START,
                                    *([KILLED] if result.victim == "workload" else [])), result)
        if result.code == REFUSED_START:
            self.assertRegex(result.errors, r"(?m)^msp: run: .", result)
        if self.is_too_early(result):
            self.assertEqual((result.code, result.output), (REFUSED_START, ""), result)
        if result.code == 7:
            self.assertEqual(result.output, "up\n", result)

    def test_walk(self):
        self.walk()


class Serve(Walk):
    # They end one execution: verdict, isError. What was made ahead is no workload before its exec.
    SURVIVED = {"init": [("internal", True)],
                "workload": [("signalled", False), ("internal", True)]}
    replaced = {"launcher"}  # it becomes the supervisor

    def command(self):
        return ["serve", "--strict-start", *support.limits()]

    def converse(self, process):
        answers = {}
        for number, word in ((1, "one"), (2, "two")):
            try:
                process.stdin.write(faults.call_line(number, command=f"echo {word}; exit {number}"))
                process.stdin.flush()
            except BrokenPipeError:
                break
            line = process.stdout.readline()
            if not line:
                break
            message = json.loads(line)  # no half lines
            answers[message["id"]] = message
        return answers

    def is_answer(self, answers, number, word):
        result = answers.get(number, {}).get("result", {})
        return support.text_of(result).startswith(f"{word}\n[exit {number}") if result else False

    def is_whole(self, result):
        return result.code == 0 and self.is_answer(result.output, 1, "one") and \
            self.is_answer(result.output, 2, "two")

    def check_client(self, result):
        if result.victim in self.SURVIVED:
            self.assertEqual(result.code, 0, result)
            self.assertEqual(set(result.output), {1, 2}, result)
            failed = [number for number, word in enumerate(("one", "two"), 1)
                      if not self.is_answer(result.output, number, word)]
            # One process was killed, which may have been ready for the second.
            self.assertLessEqual(len(failed), 1, result)
            for number in failed:
                answer = result.output[number]["result"]
                said = answer["_meta"]["msp/execution"]["verdict"], answer["isError"]
                self.assertIn(said, self.SURVIVED[result.victim], result)
            return
        # The server is gone: its client reads its end, after whole answers or errors.
        for number, word in enumerate(("one", "two"), 1):
            if number in result.output and not self.is_answer(result.output, number, word):
                self.assertTrue(result.output[number]["result"]["isError"], result)
        if self.is_too_early(result):
            self.assertFalse(self.is_answer(result.output, 1, "one"), result)
        if result.boundary.name == "supervisor ends":
            return  # it has said how
        if result.victim in ("launcher", "supervisor"):
            self.assertEqual(result.code, KILLED, result)
        # A broker that was greeted may go at any time: that looks like the end of its client.
        elif result.code != 0 or result.victim != "broker" and 2 not in result.output:
            self.assertIn(result.code, (70, 125), result)
            self.assertRegex(result.errors, r"(?m)^msp-supervisor: .", result)

    def test_walk(self):
        self.walk()


del Walk  # a frame of tests, not one

if __name__ == "__main__":
    unittest.main()
