#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plays the recorded edge cases to the real server: each gets the answers that the rules demand
and, word for word, those that were recorded; a request after each must get its own id."""
import difflib
import json
import re
import time
import unittest

import make_cases
import replay

import leftovers  # in a folder that replay knows

AGAIN = (
    "Where the change is meant: tests/edge/make_cases.py --record, and look at what it changes in "
         "cases.jsonl.")
SHOWN = 40


def lines_of(text):
    """An answer one member a line, so that a difference is one."""
    try:
        return json.dumps(json.loads(re.sub(r":(<\w+>)", r':"\1"', text)),
                          indent=1,
                          ensure_ascii=False).splitlines()
    except ValueError:
        return text.splitlines()


def difference(recorded, got):
    lines = []
    for old, new in zip(recorded + [""] * len(got), got + [""] * len(recorded)):
        if old != new:
            lines += list(difflib.unified_diff(lines_of(old), lines_of(new), "recorded", "now",
                                               lineterm="", n=1))[:SHOWN]
    return "\n".join(line[:400] for line in lines)


class Edge(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        leftovers.become_reaper()
        cls.cases = replay.load()

    def test_all_cases(self):
        count, failed = 0, []
        for case, results in replay.play_all(self.cases):
            count += 1
            wrong = []
            for step, (problems, got) in zip(case["steps"], results):
                wrong += problems or ([difference(step["got"], got)] if got != step["got"] else [])
            if wrong:
                failed.append("\n".join([case["name"], replay.show_input(case), *wrong]))
        self.assertEqual(count, len(self.cases))
        if failed:  # one change of a text may be in a thousand answers
            self.fail("\n\n".join([f"{len(failed)} of {count} cases", *failed[:SHOWN // 4], AGAIN]))
        self.assertIsNotNone(leftovers.wait_gone(time.monotonic()), leftovers.describe(
            leftovers.living()))

    def test_there_are_enough(self):
        self.assertGreaterEqual(len(self.cases), 2000)

    def test_the_recording_is_of_what_this_server_has(self):
        """A method, tool or argument without its cases would go unnoticed."""
        made = {case["name"]: [{key: step[key] for key in step if key != "got"}
                               for step in case["steps"]] for case in make_cases.build()}
        recorded = {case["name"]: [{key: step[key] for key in step if key != "got"}
                                   for step in case["steps"]] for case in self.cases}
        self.assertEqual(sorted(set(made) ^ set(recorded))[:SHOWN], [], AGAIN)
        self.assertEqual([name for name in made if made[name] != recorded[name]][:SHOWN], [], AGAIN)


class Judges(unittest.TestCase):
    """What judges must be able to find fault."""

    WANT = {"id": "1.0", "code": -32601, "says": "not found"}
    FINE = b'{"jsonrpc":"2.0","id":1.0,"error":{"code":-32601,"message":"Method not found"}}'

    def problems(self, *lines, want=(WANT,), **more):
        return replay.judge_step(list(lines), dict({"want": list(want)}, **more))[0]

    def test_a_right_answer(self):
        self.assertEqual(self.problems(self.FINE), [])

    def test_wrong_answers(self):
        fine = self.FINE
        for lines in ((), (fine, fine), (fine.replace(b"1.0,", b"1,"),), (fine.replace(b"1.0,",
                                                                                       b'"1.0",'),),
                      (fine.replace(b"-32601", b"-32600"),), (fine.replace(b"not", b"was"),),
                      (fine[:-1],),
                      (fine.replace(b"M", b"\xff"),), (fine.replace(b"error", b"result"),),
                      (fine[:-1] + b',"x":1}',), (fine.replace(b'"code"', b'"code":1,"code"'),),
                      (fine.replace(b"-32601", b"-32601.5"),)):
            self.assertTrue(self.problems(*lines), lines)

    def test_results(self):
        legacy = b'{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}'
        want = {"id": "1", "result": True, "era": "legacy", "failed": True}
        self.assertEqual(self.problems(legacy, want=[want]), [])
        for wrong in (dict(want, era="modern"), dict(want, failed=False), dict(want, equals={})):
            self.assertTrue(self.problems(legacy, want=[wrong]), wrong)

    def test_batches(self):
        ping = {"id": "1", "result": True, "equals": {}}
        batch = b'[{"jsonrpc":"2.0","id":1,"result":{}}]'
        self.assertEqual(self.problems(batch, want=[{"batch": [ping]}]), [])
        for wrong in ([], [ping, ping], [dict(ping, id="2")], [dict(ping, id="1.0")]):
            self.assertTrue(self.problems(batch, want=[{"batch": wrong}]), wrong)

    def test_progress_must_rise(self):
        notes = [b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,'
                 b'"progress":%d}}' % number for number in (1, 2, 2)]
        self.assertEqual(self.problems(*notes[:2], want=[]), [])
        self.assertTrue(self.problems(*notes, want=[]))


if __name__ == "__main__":
    unittest.main()
