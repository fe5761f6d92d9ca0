#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/containment.md says of each attack what its test declares, and of no other; every case of
the catalogue is shown by something that exists, or says why not."""
import os
import re
import sys
import unittest

import tree

sys.path.insert(0, os.path.join(tree.ROOT, "tests", "attack"))
import cases  # noqa: E402  (its folder is known from here on)
import matrix  # noqa: E402

PAGE = "docs/containment.md"


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text = tree.read(PAGE)
        cls.claims = matrix.read_page(cls.text)
        cls.declared = matrix.declarations()

    def test_it_can_be_read(self):
        self.assertGreater(len(self.declared), 100)
        self.assertGreater(len(self.claims), 100)

    def test_each_declared_attack_is_there(self):
        self.assertEqual(sorted(set(self.declared) - set(self.claims)), [])

    def test_each_line_is_a_declared_attack(self):
        self.assertEqual(sorted(set(self.claims) - set(self.declared)), [])

    def test_lines_say_what_is_declared(self):
        for name, declaration in self.declared.items():
            case, act, marks, kernels = self.claims.get(name, ("", "", {}, []))
            with self.subTest(name=name):
                self.assertEqual((case, act), (declaration.case, declaration.act))
                self.assertLessEqual(set(marks), set(declaration.layers))
                self.assertLessEqual(set(marks.values()),
                                     {matrix.ALONE, matrix.TOGETHER, matrix.WHOLE})
                if kernels:
                    self.assertEqual(set(marks) | {"cgroup"}, set(declaration.layers) | {"cgroup"})
                else:
                    self.assertIn("Not possible on a kernel", self.text)
                    self.assertRegex(self.text.partition("## Not possible")[2],
                                     re.escape(f"| {case} | {act} |"))

    def test_layers_and_cases_are_the_ones_of_the_sources(self):
        self.assertIn(matrix.layers_part(), self.text)
        self.assertIn(matrix.cases_part(self.declared), self.text)

    def test_a_changed_page_is_noticed(self):
        line = next(line for line in self.text.splitlines() if " | alone | " in line)
        changed = matrix.read_page(self.text.replace(line, line.replace("alone", "part", 1)))
        self.assertNotEqual(changed, self.claims)
        self.assertEqual(len(matrix.read_page(self.text.replace(line + "\n", ""))),
                         len(self.claims) - 1)


class Cases(unittest.TestCase):
    def test_each_attack_has_a_case(self):
        for name, declaration in matrix.declarations().items():
            with self.subTest(name=name):
                self.assertIn(declaration.case, cases.CASES)

    def test_each_case_is_shown_or_says_why_not(self):
        attacked = {declaration.case for declaration in matrix.declarations().values()}
        for name, case in cases.CASES.items():
            with self.subTest(case=name):
                self.assertTrue(name in attacked or case.elsewhere or case.absent)

    def test_no_case_is_missing(self):
        for letter, count in (("T", 24), ("F", 13), ("M", 7), ("R", 6)):
            for number in range(1, count + 1):
                self.assertIn(f"{letter}{number}", cases.CASES)

    def test_the_other_tests_exist(self):
        for name, case in cases.CASES.items():
            for reference in case.elsewhere:
                with self.subTest(case=name, reference=reference):
                    path, _, test = reference.partition(": ")
                    self.assertTrue(re.search(rf"\b(def|class|Test\(\w+,) {test}\b",
                                              tree.read(path)))


class Records(unittest.TestCase):
    """The page is made of records that show what is declared, or not at all."""

    NAME = "system_calls.Mounts.test_mount"  # landlock, seccomp
    GOOD = (("", "refused"), ("landlock-seccomp", "succeeded"), ("landlock", "refused"),
            ("seccomp", "refused"))

    def collect(self, *facts):
        records = [{"test": self.NAME, "off": off, "word": word, "error": None, "kernel": "6.12",
                    "landlock": 6, "limits": "cgroup"} for off, word in facts]
        return matrix.collect(records, matrix.declarations())[self.NAME]

    def test_shown(self):
        marks, control, shown, _ = self.collect(*self.GOOD)
        self.assertEqual(marks, {"landlock": "alone", "seccomp": "alone"})
        self.assertEqual((control, shown), ("build", [((6, 12), 6, "cgroup")]))

    def test_layers_that_need_each_other(self):
        declaration = matrix.evidence.Declaration("T1", "", ("root", "landlock"), True)
        good = [{"off": off, "word": word, "error": None, "limits": "cgroup"} for off, word in (
            ("", "refused"), ("landlock-root", "succeeded"), ("root", "succeeded"),
            ("landlock", "succeeded"))]
        self.assertEqual(matrix.judge("x", declaration, good),
                         ({"root": "together", "landlock": "together"}, "build"))
        with self.assertRaises(ValueError):
            matrix.judge("x", declaration, good[:3])

    def test_contradictions(self):
        for facts in ((("", "succeeded"), *self.GOOD[1:]), (*self.GOOD, ("", "succeeded")),
                      (self.GOOD[0], ("landlock-seccomp", "refused"), *self.GOOD[2:]),
                      self.GOOD[:1], self.GOOD[:3]):
            with self.subTest(facts=facts), self.assertRaises(ValueError):
                self.collect(*facts)

    def test_records_of_no_attack(self):
        with self.assertRaises(ValueError):
            matrix.collect([{"test": "x", "off": "", "word": "refused"}], {})


if __name__ == "__main__":
    unittest.main()
