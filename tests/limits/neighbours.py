#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""While one sandbox takes whatever it can get, again and again, another client's and the same
client's next `run_command true` is answered.

On cgroup v2 within 2 s, every time. That is said of a real machine: one that is slower when nothing
else runs (an emulator) is given as much more time. In the fallback nothing shares out processors and
kernel time: there it is answered, within a time that only a standstill exceeds."""
import os
import time
import unittest

import ground
import figures
import leftovers
import modes
import support

SECONDS = 2.0
FALLBACK_SECONDS = 20.0

# Longer than one `run_command true` takes on a machine with two processors and nothing else to do.
ORDINARY_IDLE = 0.01

# For each way: how long it goes on at least, in seconds, and so how often it is begun again.
SPAN = float(os.environ.get("MSP_SPAN", "1"))

# The longest time of one, by the limits; an emulator has hardly begun after a second.
HOG_MS = {"cgroup": 2000, "fallback": 1000}

# (mode, amount, profile): the lines of the table, of which an ordinary run tries some, and those with
# more that can be had, which are always tried.
LINES = sorted({(mode.mode, mode.amount, mode.profile) for mode in modes.MODES})
MORE = [
    ("spin-processes", 24, "small"),
    ("forks", 500, "small-pids"),
    ("output", 1 << 12, "small-output"),
    ("line", 100, "small-output"),
    ("core", 16, "small"),
    ("timers", 3000, "small"),
    ("daemons", 20, "small"),
]

GROUND = None
LIMITS = None


def setUpModule():
    global GROUND, LIMITS
    GROUND, LIMITS = ground.prepare(modes.profiles())


def answer_time(server):
    start = time.monotonic()
    result = server.call("run_command", timeout=120, command="true")
    took = time.monotonic() - start
    if result["isError"]:
        raise AssertionError(support.text_of(result))
    return took


def is_tried(way):
    return way in MORE or any(modes.is_tried(mode, LIMITS) for mode in modes.MODES
                              if (mode.mode, mode.amount, mode.profile) == way)


class Neighbours(unittest.TestCase):
    """One test for each way, made below."""

    @classmethod
    def setUpClass(cls):
        first, second = GROUND.server(), GROUND.server()
        cls.first = cls.enterClassContext(first)
        cls.second = cls.enterClassContext(second)
        for server in (cls.first, cls.second):  # what is made once is made before
            answer_time(server)
        idle = sorted(answer_time(cls.second) for _ in range(9))[4]
        cls.factor = max(1.0, idle / ORDINARY_IDLE)
        cls.bound = (SECONDS if LIMITS == "cgroup" else FALLBACK_SECONDS) * cls.factor
        print(f"\n{LIMITS}: idle {idle * 1000:.1f} ms, so within {cls.bound:.1f} s")

    def begin(self, mode, amount, profile):
        return self.first.post("tools/call", {"name": "run_command", "arguments": {
            "command": f"exec /hog/hog {mode} {amount}", "profile": profile, "timeout_ms": HOG_MS[LIMITS]}})

    def check(self, mode, amount, profile):
        if not is_tried((mode, amount, profile)):
            self.skipTest("MSP_LIMITS=all: the other side tries all ways of this limit")
        times = {"other client": [], "same client": []}
        end = time.monotonic() + SPAN
        hog = self.begin(mode, amount, profile)
        rounds = 1
        while time.monotonic() < end:
            if hog in self.first.answers:
                self.first.answer(hog)
                hog = self.begin(mode, amount, profile)
                rounds += 1
            times["other client"].append(answer_time(self.second))
            times["same client"].append(answer_time(self.first))
        self.first.answer(hog, timeout=120)
        print(f"\n{LIMITS} {mode} {amount} {profile}, {rounds} rounds: " + ", ".join(
            f"{who} {len(took)} answers, worst {max(took) * 1000:.0f} ms"
            for who, took in times.items()))
        figures.record("neighbours", what=f"{mode} {amount}", mode=LIMITS,
                       answers=sum(map(len, times.values())), bound_ms=round(self.bound * 1000),
                       worst_ms=round(max(map(max, times.values())) * 1000))
        for who, took in times.items():
            self.assertLess(max(took), self.bound, who)


def add_tests():
    for way in LINES + MORE:
        name = f"test_{way[0]}_{way[1]}_{way[2]}".replace("-", "_")
        setattr(Neighbours, name, lambda self, way=way: self.check(*way))


add_tests()


def tearDownModule():
    if GROUND:
        gone = leftovers.wait_gone(time.monotonic())
        assert gone is not None, leftovers.describe(leftovers.living())


if __name__ == "__main__":
    ground.main()
