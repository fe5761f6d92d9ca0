#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which file of a program calls which, by the symbols of all objects that the build links into it:
includes do not show it. Files call downward. A circle of files can only be read as a whole."""
import collections
import functools
import os
import re
import subprocess
import unittest

import ceilings
import sources
import tree


def read_statements(text):
    """Output to its inputs, of the build statements of a build.ninja, without those that only have
    to be there before."""
    result = {}
    for outputs, inputs in re.findall(r"^build (.+?): \S+(.*)$", text, re.M):
        inputs = inputs.partition(" || ")[0].split()
        result.update((output, [name for name in inputs if name != "|"])
                      for output in outputs.split() if output != "|")
    return result


@functools.cache
def statements():
    with open(os.path.join(tree.BUILD, "build.ninja"), encoding="utf-8") as file:
        return read_statements(file.read())


def objects(inputs_of, output):
    """File of ours to its object, for the objects that become this program, those of its libraries
    among them, in the order of the link. An object is FOLDER/CMakeFiles/TARGET.dir/FILE.o; the file of another folder, FILE,
    begins with __ for each step up."""
    found, seen, rest = {}, set(), [output]
    while rest:
        for name in inputs_of.get(rest.pop(0), ()):
            if name.endswith(".c.o"):
                folder, _, inside = name.partition("CMakeFiles/")
                inside = inside.partition("/")[2][:-2].replace("__/", "../")
                found[os.path.normpath(folder + inside)] = name
            elif name.endswith(".a") and name not in seen:
                seen.add(name)
                rest.append(name)
    return found


def symbols(paths):
    """Object to its (defined, used) names."""
    result = {path: (set(), set()) for path in paths}
    text = subprocess.run(["nm", "-A", *paths], capture_output=True, check=True, text=True,
                          cwd=tree.BUILD).stdout
    for line in text.splitlines():
        path, _, rest = line.partition(":")
        fields = rest.split()
        if fields[-2] == "U":
            result[path][1].add(fields[-1])
        elif fields[-2] in "TDBRVWC":
            result[path][0].add(fields[-1])
    return result


def calls(names, roots):
    """File to the files whose symbols it uses, of those that are linked; `names` has the (defined,
    used) symbols of each. The roots are the program's own; the first file that defines what another
    uses is taken out of its library."""
    owner, graph, rest = {}, {}, list(roots)
    for name, (defined, _) in names.items():
        for symbol in defined:
            owner.setdefault(symbol, name)
    while rest:
        name = rest.pop()
        if name not in graph:
            graph[name] = {owner[symbol] for symbol in names[name][1] if symbol in owner} - {name}
            rest += graph[name]
    return graph


@functools.cache
def calls_of(program):
    """Of the files of a program."""
    found = objects(statements(), "bin/" + program)
    names = symbols(found.values()) if found else {}
    return calls({name: names[path] for name, path in found.items()},
                 [name for name, path in found.items() if path in statements()["bin/" + program]])


def rooms(graph):
    """Folder to the folders that its files call."""
    result = collections.defaultdict(set)
    for name, others in graph.items():
        result[os.path.dirname(name)] |= {os.path.dirname(other) for other in others} - \
            {os.path.dirname(name)}
    return result


def reach(graph, name):
    seen, rest = set(), [name]
    while rest:
        for other in graph.get(rest.pop(), ()):
            if other not in seen:
                seen.add(other)
                rest.append(other)
    return seen


def circles(graph):
    """Sets of nodes that reach one another, each set once."""
    below = {name: reach(graph, name) for name in graph}
    return {frozenset(other for other in below[name] if name in below.get(other, ()))
            for name in graph if name in below[name]}


def largest(graph):
    """The nodes of the largest circle, sorted; of none, none."""
    return sorted(max(circles(graph), key=lambda circle: (len(circle), sorted(circle)), default=()))


class Graph(unittest.TestCase):
    def test_circles_are_found(self):
        graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set(), "x/e": {"y/f"},
                 "y/f": {"x/g"}, "x/g": set()}
        self.assertEqual(circles(graph), {frozenset("abc")})
        self.assertEqual(circles(rooms(graph)), {frozenset("xy")})
        self.assertEqual(largest(graph), ["a", "b", "c"])
        self.assertEqual(largest({"a": {"b"}, "b": set()}), [])

    def test_a_circle_through_a_library_and_an_event_is_found(self):
        inputs = read_statements(
            "build bin/p: LINK a/CMakeFiles/p.dir/main.c.o a/CMakeFiles/p.dir/__/x/y.c.o | "
            "b/libb.a || tools/t\n  FLAGS = -O1\n"
            "build b/libb.a: AR b/CMakeFiles/b.dir/low.c.o | c/libc.a\n"
            "build c/libc.a: AR c/CMakeFiles/c.dir/in/c.c.o | b/libb.a\n"
            "build tools/t: LINK t/CMakeFiles/t.dir/t.c.o\n")
        found = objects(inputs, "bin/p")
        self.assertEqual(sorted(found), ["a/main.c", "b/low.c", "c/in/c.c", "x/y.c"])
        self.assertEqual(found["x/y.c"], "a/CMakeFiles/p.dir/__/x/y.c.o")
        graph = calls({"a/main.c": ({"main", "event_done"}, {"act", "write"}),
                       "b/low.c": ({"act"}, {"event_done"}), "c/in/c.c": (set(), {"act"}),
                       "x/y.c": ({"act"}, {"event_done"})}, ["a/main.c"])
        self.assertEqual(sorted(graph), ["a/main.c", "b/low.c"])
        self.assertEqual(largest(graph), ["a/main.c", "b/low.c"])
        self.assertEqual(largest(rooms(graph)), ["a", "b"])

    def test_files_call_downward(self):
        for program in tree.PROGRAMS:
            with self.subTest(program=program):
                self.assertTrue(calls_of(program), "nothing is built of it")
                found = largest(calls_of(program))
                self.assertLessEqual(len(found), ceilings.CIRCLE_FILES.get(program, ceilings.CIRCLE_MAX), found)

    def test_rooms_call_one_way(self):
        for program in tree.PROGRAMS:
            with self.subTest(program=program):
                found = largest(rooms(calls_of(program)))
                self.assertLessEqual(len(found), ceilings.CIRCLE_FOLDERS.get(program, 0), found)

    def test_msp_opener_reaches_few_files(self):
        """Of launcher/: its library is linked with msp, too."""
        files = [name for name in calls_of("msp-opener") if name.startswith("launcher/")]
        self.assertIn("launcher/host/workspace.c", files)
        self.assertFalse([name for name in files if name.startswith("launcher/git/")])
        self.assertLessEqual(sum(sources.code_lines(tree.read(name)) for name in files),
                             ceilings.OPENER_LINES)


if __name__ == "__main__":
    unittest.main()
