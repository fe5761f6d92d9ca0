#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/profiles.md says what the shipped profiles say."""
import re
import subprocess
import unittest

import tree

PAGE = "docs/profiles.md"
SCALE = {"K": 1, "M": 2, "G": 3, "KiB": 1, "MiB": 2, "GiB": 3, "": 0}
SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600}


def policy(*arguments):
    return subprocess.run([tree.program("msp-policy"), *arguments], capture_output=True, text=True,
                          check=True).stdout


def profiles():
    return [line.split()[0] for line in policy("list").splitlines()]


def size(text):
    number, unit = re.fullmatch(r"([\d,]+) ?([KMG]i?B?)?", text).groups()
    return int(number.replace(",", "")) << 10 * SCALE[unit or ""]


def seconds(text):
    number, unit = re.fullmatch(r"(\d+) ?(s|m|min|h)", text).groups()
    return int(number) * SECONDS[unit]


def row(profile):
    """The cells of the profile's first row."""
    return re.search(rf"^\| `{profile}` \| (.*) \|$", tree.read(PAGE), re.M).group(1).split(" | ")


class Page(unittest.TestCase):
    def test_every_profile_has_a_row_with_its_limits(self):
        for profile in profiles():
            shown = policy("show", profile)
            said = dict(re.findall(r"^  (\w+) +(\w+)(?: \(.*\))?$", shown[shown.index("\nlimits:"):shown.index("\nrequirements:")], re.M))
            _, memory, pids, files, times, _ = row(profile)
            with self.subTest(profile=profile):
                self.assertEqual(size(memory), size(said["memory"]))
                self.assertEqual(size(pids), size(said["pids"]))
                self.assertEqual(size(files), size(said["open_files"]))
                self.assertEqual([seconds(time) for time in times.split(", ")],
                                 [seconds(said["wall_default"]), seconds(said["wall_max"])])

    def test_every_variable_that_it_names_is_set(self):
        text = tree.read(PAGE)
        table = text[text.index("| profile | set |"):text.index("Facts about")]
        profile, count = None, 0
        for line in table.splitlines()[2:]:
            cells = line.strip("| ").split(" | ") if line.startswith("| `") else \
                [None, *line.strip("| ").split(" | ")]
            profile = cells[0].strip("`") if cells[0] else profile
            names = re.findall(r"`([A-Za-z_]+)(?:=[^`]*)?`", cells[1]) if line else []
            for name in names:
                with self.subTest(profile=profile, name=name):
                    self.assertRegex(policy("show", profile), rf"(?m)^  \w*{name}=")
                    count += 1
        self.assertGreater(count, 15)


if __name__ == "__main__":
    unittest.main(verbosity=2)
