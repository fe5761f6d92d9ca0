#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the driver makes of a suite's results: nothing that is wrong or missing may pass."""
import contextlib
import io
import json
import os
import unittest
from unittest import mock

import conformance

REVISION = "2026-07-28"


class Suite:
    """In place of the real one: writes these statuses of each scenario, and exits with this."""

    def __init__(self, results, code):
        self.results, self.code = results, code

    def __call__(self, _server, _arguments, out):
        for name, statuses in self.results.items():
            folder = os.path.join(out, f"server-{name}-2026-01-02T03-04-05-678Z")
            os.mkdir(folder)
            with open(os.path.join(folder, "checks.json"), "w", encoding="utf-8") as file:
                json.dump([{"id": f"c{i}", "status": status, "description": "d"}
                           for i, status in enumerate(statuses)], file)
        return self.code, "what it printed"


class Judgement(unittest.TestCase):
    def judge(self, results, code, all_count=False):
        """(exit code, text) of a run of two scenarios that count, and one that does not."""
        listed = (["one", "two-and-a-half"], {"extra": "pending"})
        text = io.StringIO()
        with mock.patch.object(conformance, "requirements", return_value=listed), \
                mock.patch.object(conformance, "run_suite", Suite(results, code)), \
                contextlib.redirect_stdout(text):
            runs = conformance.run_revision(None, REVISION, None, False)
            conformance.report(runs, [REVISION])
            return conformance.summarise(runs, 1, all_count), text.getvalue()

    def test_all_pass(self):
        code, text = self.judge({"one": ["SUCCESS"], "two-and-a-half": ["SUCCESS", "WARNING"],
                                 "extra": ["SUCCESS"]}, 0)
        self.assertEqual(code, 0)
        self.assertIn("scored: 2 of 2 pass; not scored: 1 of 1 pass", text)
        self.assertIn("pass 1/1 1w", text)
        self.assertRegex(text, r"Ran 3 tests in 1\.0s\n\nOK\n$")

    def test_a_failure_is_one(self):
        code, text = self.judge({"one": ["SUCCESS", "FAILURE"], "two-and-a-half": ["SUCCESS"],
                                 "extra": ["SUCCESS"]}, 1)
        self.assertEqual(code, 1)
        self.assertIn("FAIL 1/2", text)
        self.assertRegex(text, r"FAILED \(failures=1\)\n$")

    def test_what_is_missing_or_empty_fails(self):
        for results in ({"one": ["SUCCESS"]}, {"one": ["SUCCESS"], "two-and-a-half": []}):
            code, _ = self.judge({**results, "extra": ["SUCCESS"]}, 1)
            self.assertEqual(code, 1)

    def test_what_is_not_scored_fails_when_it_is_asked_for(self):
        results = {"one": ["SUCCESS"], "two-and-a-half": ["SUCCESS"], "extra": ["FAILURE"]}
        code, text = self.judge(results, 0)
        self.assertEqual(code, 0)
        self.assertRegex(text, r"OK \(skipped=1\)\n$")
        code, text = self.judge(results, 0, all_count=True)
        self.assertEqual(code, 1)
        self.assertRegex(text, r"FAILED \(failures=1\)\n$")

    def test_the_suite_must_agree(self):
        good = {"one": ["SUCCESS"], "two-and-a-half": ["SUCCESS"], "extra": ["SUCCESS"]}
        for results, code in ((good, 1), ({**good, "one": ["FAILURE"]}, 0), ({}, 0)):
            with self.subTest(code=code), self.assertRaises(conformance.Failure):
                self.judge(results, code)

    def test_a_server_without_its_fixture_or_its_token_is_refused(self):
        answer = (200, {"content": [{"type": "text", "text": conformance.SIMPLE_TEXT}]})
        other = (200, {"isError": True, "content": [{"type": "text", "text": "no such tool"}]})
        server = mock.Mock(token="secret")
        for answers in ([(200, None), answer], [(401, None), other], [(401, None), (500, None)]):
            with mock.patch.object(conformance, "post", side_effect=answers), \
                    self.assertRaises(conformance.Failure):
                conformance.check_server(server)
        with mock.patch.object(conformance, "post", side_effect=[(401, None), answer]):
            conformance.check_server(server)


if __name__ == "__main__":
    unittest.main()
