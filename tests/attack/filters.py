#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The system call filter of each of msp's own programs, tried with calls that it has to refuse
(filter_rows.def) and with the neighbours of the arguments that it allows. Each row has its control:
the same call reaches the kernel when the filter allows it, and nothing else has changed."""
import os
import pathlib
import subprocess
import unittest

CONTROLS = pathlib.Path(os.environ["MSP_BUILD"], "controls")
PREFIX = "filter-rows-"
SOURCES = pathlib.Path(__file__).resolve().parents[2]


def setUpModule():
    if os.geteuid() == 0:
        raise unittest.SkipTest("needs an ordinary user")


class Filters(unittest.TestCase):
    def test_each_program(self):
        programs = sorted(CONTROLS.glob(PREFIX + "*"))
        running = [(program.name[len(PREFIX):], subprocess.Popen(
            [program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
            for program in programs]
        for name, process in running:
            with self.subTest(program=name):
                said = process.communicate(timeout=120)[0]
                self.assertEqual(process.returncode, 0, said)

    def test_each_list_has_a_program(self):
        """A list that the build makes a filter of is tried; one that it forgot would not be."""
        lists = {path for path in SOURCES.glob("*/**/*_list.def") if "build" not in path.parts}
        self.assertGreater(len(lists), 10)
        self.assertEqual(len(list(CONTROLS.glob(PREFIX + "*"))), len(lists), sorted(lists))


if __name__ == "__main__":
    unittest.main()
