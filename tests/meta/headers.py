#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A message that changes rebuilds its users: few steps of a build depend on one header of messages,
and its struct is taken from a message by ipc_body() alone, which compares the type.

    headers.py --steps [HEADER...]    print the steps after a change of each, of the programs and in all
"""
import functools
import json
import os
import re
import shlex
import sys
import unittest

import ceilings
import graph
import tree

INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
# The message as a whole: the channel, the copy of a deferred request, the hash that comes first, and
# the pages of a request to come.
WHOLE = {"common/ipc/channel.c", "common/ipc/channel.h", "supervisor/run/deferred.c", "stewards/base/steward.c",
         "child-init/standby.c", "lib/heap/outbox.c"}
OTHER_BODIES = {"connection", "copy"}  # of an HTTP request, of a file


def message_headers():
    return [path for path in tree.sources("common") if re.fullmatch(r"common/ipc/ipc_(?!all|message)\w+\.h", path)]


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
    """(object, files that it depends on), for each object of the build."""
    with open(os.path.join(tree.BUILD, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    for command in commands:
        words = shlex.split(command["command"])
        folders = tuple(os.path.realpath(os.path.join(command["directory"], word[2:]))
                        for word in words if word.startswith("-I"))
        yield words[words.index("-o") + 1], reached(command["file"], folders)


@functools.cache
def made_of():
    """Output to what it is made of: outputs by their names in the build, other files by their real paths."""
    build = os.path.realpath(tree.BUILD) + os.sep
    found = {output: {path.removeprefix(build) for path in inputs}
             for output, inputs in graph.statements().items()}
    for name, files in objects():
        found[name] |= {path.removeprefix(build) for path in files}
    return found


def steps(header, goals):
    """The files that are compiled, archived, linked or generated anew for these outputs of the build
    when a header has changed."""
    stale = {os.path.join(tree.ROOT, header): True}

    def is_stale(name):
        if name not in stale:
            stale[name] = any([is_stale(part) for part in made_of().get(name, ())])
        return stale[name]

    for goal in goals:
        is_stale(goal)
    return [name for name, is_old in stale.items()
            if is_old and name in made_of() and os.path.isfile(os.path.join(tree.BUILD, name))]


def program_steps(header):
    return len(steps(header, ["bin/" + name for name in tree.PROGRAMS]))


class Objects(unittest.TestCase):
    def test_few_depend_on_one_header_of_messages(self):
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
                self.assertLessEqual(count, ceilings.HEADER_OBJECTS)


class Steps(unittest.TestCase):
    def test_few_of_the_programs_follow_one_header_of_messages(self):
        for path in message_headers():
            with self.subTest(header=path):
                count = program_steps(path)
                self.assertGreater(count, 20, "the hash is in a library of a dozen programs")
                self.assertLessEqual(count, ceilings.HEADER_STEPS)

    def test_steps_follow_headers_and_generated_files(self):
        self.assertGreater(program_steps("common/ipc/channel.h"), ceilings.HEADER_STEPS)
        self.assertEqual(program_steps("common/ipc/ipc_none.h"), 0)
        made = steps("policy/write/filter_conditions.h", ["bin/msp-bridge"])
        for end in ("-filtergen", "/seccomp_filter.h", "/main.c.o", "bin/msp-bridge"):
            with self.subTest(end=end):
                self.assertEqual(len([name for name in made if name.endswith(end)]), 1)


class Bodies(unittest.TestCase):
    def test_a_body_is_taken_by_its_type(self):
        for path in tree.sources(*tree.PARTS):
            if path not in WHOLE:
                with self.subTest(path=path):
                    owners = set(re.findall(r"(\w+)(?:\.|->)body\b", tree.read(path)))
                    self.assertEqual(owners - OTHER_BODIES, set())


if __name__ == "__main__":
    if sys.argv[1:2] == ["--steps"]:
        for path in sys.argv[2:] or message_headers():
            print(f"{program_steps(path):5} {len(steps(path, ['all'])):5}  {path}")
    else:
        unittest.main()
