#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lines of real clients, spoiled in every way, to the real server: it lives, each of its answers is
a line of JSON-RPC to an id that waits for one, as the rules foresee it; nothing grows or is left.

MSP_SEED repeats a run, MSP_FUZZ_LINES makes it longer."""
import collections
import json
import os
import random
import re
import sys
import time
import unittest

import make_cases
import mutate
import replay
import rules

import leftovers  # in a folder that replay knows
import support

SEED = int(os.environ.get("MSP_SEED") or random.SystemRandom().randrange(1 << 32))
LINES = int(os.environ.get("MSP_FUZZ_LINES", "10000"))
BLOCK = 100
# Methods of which the rules foresee what is wrong at once; what else they answer may come later.
OPEN = {"tools/call", "subscriptions/listen"}
CALLS = {"run_command": {"command": "echo x", "timeout_ms": 500},
         "run_code": {"language": "bash", "code": "echo $((6*7))", "timeout_ms": 500}}
RAW_ID = re.compile(r'\{"jsonrpc":"2\.0","id":("(?:[^"\\]|\\.)*"|[-+.eE0-9]+|null),')
GROWTH_KIB = 1024


def entries_of(text):
    """The texts of a batch's answers."""
    entries, place = [], 1
    while place < len(text):
        _, end = json.JSONDecoder().raw_decode(text, place)
        entries.append(text[place:end])
        place = end + 1
    return entries


def meaning(number):
    """Ids that mean the same are the same while in flight."""
    value = json.loads(number)
    return ("s" if isinstance(value, str) else "n", value)


def is_sandboxes(method, params):
    """What is there is asked of the supervisor, also of a sandbox that is not there."""
    uri = params.get("uri") if method in ("resources/read", "resources/subscribe") else None
    return bool(uri) and str(uri.text()).startswith("sandbox://")


class Expected(rules.Rules):
    """Which answers are due: at once, or at some time because something runs."""

    def __init__(self, surface):
        super().__init__(surface, "2025-11-25")
        self.due = collections.defaultdict(list)  # id -> wants, all before the next control
        self.later = collections.Counter()        # id -> how many may still come
        self.flying = set()                       # what these ids mean
        self.is_version_open = False              # an initialize may have been refused

    def request(self, number, method, params, meta, is_batched):
        want = super().request(number, method, params, meta, is_batched)
        may_clash = meaning(number) in self.flying
        if method == "initialize" and "result" in want:
            self.is_version_open = may_clash
        is_open = method in OPEN and "code" not in want or is_sandboxes(method, params)
        if is_open:
            self.flying.add(meaning(number))
        return dict(want, open=is_open, may_clash=may_clash)

    def send(self, line):
        """False: it is not foreseeable, and better not sent."""
        if self.is_version_open and b"[" in line[:8]:
            return False
        for want in self.line(line):
            wants = want.get("batch", [want])
            is_open = any(entry.get("open") for entry in wants)
            for entry in wants:
                if is_open:
                    self.later[entry["id"]] += 1
                else:
                    self.due[entry["id"]].append(entry)
        return True

    def take(self, text):
        """What is wrong with an answer that came."""
        found = RAW_ID.match(text)
        if not found:
            return "no frame of an answer"
        number, answer = found.group(1), json.loads(text, object_pairs_hook=replay.unique)
        if len({"result", "error"} & set(answer)) != 1 or len(answer) != 3:
            return "neither a result nor an error"
        code = answer.get("error", {}).get("code")
        for want in self.due[number]:
            is_clash = want.get("may_clash") and "in flight" in text
            if is_clash or want.get("code") == code and want.get("says", "") in text:
                self.due[number].remove(want)
                return None
        if self.later[number] > 0:
            self.later[number] -= 1
            return None
        return f"expected was {self.due[number]}" if self.due[number] else "nobody waits for it"

    def forget(self):
        """All that was in flight has been cancelled: nothing may come for it."""
        self.later.clear()
        self.due.clear()
        self.flying.clear()

    def take_line(self, line):
        text = line.decode("utf-8")
        if replay.is_note(line):
            json.loads(text)
            return None
        if not text.startswith("["):
            return self.take(text)
        return next(filter(None, map(self.take, entries_of(text))), None)


class Fuzzed(unittest.TestCase):
    def setUp(self):
        leftovers.become_reaper()
        self.snapshot = leftovers.Snapshot()
        self.numbers = random.Random(SEED)
        self.session = replay.Session("2025-11-25")
        self.surface = make_cases.look(self.session)
        self.expected = Expected(self.surface)
        self.seeds = self.numbers.sample(replayed_lines(), 400) + 20 * mutate.client_lines(
            {name: CALLS.get(name, {}) for name in self.surface.tools})
        self.answers = 0

    def broker(self):
        for pid in support.descendants(self.session.process.pid):
            with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                if file.read().strip() == "msp-broker":
                    return pid
        raise AssertionError("no broker")

    def judge(self, lines, block):
        for line in lines:
            self.answers += 1
            try:
                problem = self.expected.take_line(line)
            except ValueError as error:
                problem = repr(error)
            if problem:
                self.fail(f"{problem}: {line[:500]!r}\nMSP_SEED={SEED}, one of:\n" +
                          "\n".join(repr(sent[:1000]) for sent in block))

    def play(self, lines):
        """A block; then everything is answered that is due, and what still runs is cancelled."""
        block = [line for line in lines if self.expected.send(line)]
        self.session.write(b"".join(line + b"\n" for line in block))
        self.judge(self.session.until_control(), block)
        due = {number: wants for number, wants in self.expected.due.items() if wants}
        self.assertEqual(due, {}, f"not answered: MSP_SEED={SEED} {block}")
        for number in +self.expected.later:
            self.session.write(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{'
                               b'"requestId":%s}}\n' % number.encode())
        self.judge(self.session.until_control(), block)
        self.expected.forget()

    def test_lines(self):
        print(f"MSP_SEED={SEED}", file=sys.stderr)
        broker, sizes = self.broker(), []
        for _ in range(LINES // BLOCK):
            block = [part for _ in range(BLOCK)
                     for part in mutate.spoil(self.numbers, self.seeds).split(b"\n")]
            self.play(block)
            sizes.append(leftovers.resident_kib(broker))
        self.assertGreater(self.answers, LINES // 2)
        warm = max(sizes[:len(sizes) // 2])
        self.assertLessEqual(max(sizes[len(sizes) // 2:]), warm + GROWTH_KIB, sizes)
        self.assertEqual(replay.judge_end(self.session), [])
        self.assertIsNotNone(leftovers.wait_gone(time.monotonic()),
                             leftovers.describe(leftovers.living()))
        self.assertEqual(self.snapshot.left(), {})


def replayed_lines():
    """The recorded cases' lines that are not huge."""
    lines = set()
    for case in replay.load():
        for step in case["steps"]:
            data = b"".join(map(replay.bytes_of, step["in"]))
            lines.update(line for line in data.split(b"\n") if 1 < len(line) < 2000)
    return sorted(lines)


if __name__ == "__main__":
    unittest.main()
