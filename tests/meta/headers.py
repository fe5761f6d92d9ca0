#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A message that changes rebuilds its users: few objects of a build depend on one header of messages,
and its struct is taken from a message by ipc_body() alone, which compares the type."""
import functools
import json
import os
import re
import shlex
import unittest

import ceilings
import tree

INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
# The message as a whole: the channel, the copy of a deferred request, the hash that comes first, and
# the pages of a request to come.
WHOLE = {"common/channel.c", "common/channel.h", "supervisor/run/deferred.c", "stewards/base/steward.c",
         "child-init/standby.c", "lib/heap/outbox.c"}
OTHER_BODIES = {"connection", "copy"}  # of an HTTP request, of a file


def message_headers():
    return [path for path in tree.sources("common") if re.fullmatch(r"common/ipc_(?!all|message)\w+\.h", path)]


@functools.lru_cache(None)
def included(path, folders):
    """The real paths of what a file includes directly; a header of the system is in no folder."""
    with open(path, encoding="utf-8") as file:
        names = INCLUDE.findall(file.read())
    found = set()
    for name in names:
        for folder in (os.path.dirname(path), *folders):
            if os.path.exists(os.path.join(folder, name)):
                found.add(os.path.realpath(os.path.join(folder, name)))
                break
    return found


def reached(path, folders):
    """All files that a file includes, and that these do."""
    seen, left = set(), [os.path.realpath(path)]
    while left:
        for name in included(left.pop(), folders) - seen:
            seen.add(name)
            left.append(name)
    return seen


def objects():
    """(source, files that it depends on), for each object of the build."""
    with open(os.path.join(tree.BUILD, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    for command in commands:
        words = shlex.split(command["command"])
        folders = tuple(os.path.realpath(os.path.join(command["directory"], word[2:]))
                        for word in words if word.startswith("-I"))
        yield command["file"], reached(command["file"], folders)


class Objects(unittest.TestCase):
    def test_few_depend_on_one_header_of_messages(self):
        bounds = ceilings.HEADER_OBJECTS
        counts = dict.fromkeys(message_headers(), 0)
        total = 0
        for _, files in objects():
            total += 1
            for path in counts:
                counts[path] += os.path.join(tree.ROOT, path) in files
        self.assertGreater(len(counts), 5)
        self.assertGreater(total, 300)
        for path, count in counts.items():
            with self.subTest(header=path):
                self.assertGreater(count, 0, "the includes were not followed")
                self.assertLessEqual(count, bounds.get(path, bounds["default"]))


class Bodies(unittest.TestCase):
    def test_a_body_is_taken_by_its_type(self):
        for path in tree.sources(*tree.PARTS):
            if path not in WHOLE:
                with self.subTest(path=path):
                    owners = set(re.findall(r"(\w+)(?:\.|->)body\b", tree.read(path)))
                    self.assertEqual(owners - OTHER_BODIES, set())


if __name__ == "__main__":
    unittest.main()
