#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which file calls which, by the symbols of the linked objects: includes do not show it. Files call
downward. A circle of files can only be read as a whole."""
import collections
import functools
import os
import subprocess
import unittest

import ceilings
import tree

# Objects of each program that is looked at, by the target that compiles them.
TARGETS = {"cli": ("msp",), "launcher": ("msp_launcher",), "launcher/scope": ("msp-scope",), "broker": ("broker_core", "msp-broker"), "frontend": ("msp_frontend",), "lib/heap": ("msp_heap",), "gateway/hosts": ("msp_hosts",), "gateway/cable": ("msp_cable_core",), "gateway/egress": ("msp_egress_core",), "gateway/dial": ("msp_dial_core",), "gateway/http": ("msp_http_core", "msp-http"), "gateway/bridge": ("msp_bridge_core", "msp-bridge"), "gateway/relay": ("msp_relay",), "image": ("msp_images", "msp_image_core", "msp-image"), "lib/json": ("msp_json",), "vm": ("msp-vm", "msp-vm-init", "msp_vm_prepare_core", "msp-vm-prepare"),
           "supervisor": ("msp-supervisor",), "child-init": ("msp-child-init",),
           "policy": ("msp_policy_lib", "msp-policy"), "decide": ("msp_decide",),
           "layers": ("layers_core", "msp-layers"), "layers/reader": ("commits_core",), "layers/branches": ("branches_core",), "layers/merger": ("threeway_core",), "layers/foreign": ("foreign_core",), "layers/ignored": ("ignored_core",),
           "file": ("msp-file",), "stewards/audit": ("msp-audit",), "stewards/store": ("msp-store", "msp_store_shared"), "stewards/base": ("msp_steward",),
           "common": ("msp_common",)}


def symbols(paths):
    """Object to its (defined, used) names."""
    result = {path: (set(), set()) for path in paths}
    text = subprocess.run(["nm", "-A", *paths], capture_output=True, check=True, text=True).stdout
    for line in text.splitlines():
        path, _, rest = line.partition(":")
        fields = rest.split()
        if fields[-2] == "U":
            result[path][1].add(fields[-1])
        elif fields[-2] in "TDBRVWC":
            result[path][0].add(fields[-1])
    return result


def objects(part, targets):
    """File of ours to its object, for files that these targets compile."""
    found = {}
    source = {"decide": "policy"}.get(part, part)
    for target in targets:
        top = os.path.join(tree.BUILD, source, "CMakeFiles", target + ".dir")
        for folder, _, names in os.walk(top):
            inside = os.path.join(source, os.path.relpath(folder, top))
            found.update((os.path.normpath(os.path.join(inside, name[:-4])),
                          os.path.join(folder, name)) for name in names if name.endswith(".c.o"))
    return found


def calls(found, has_events=False):
    """File to the files whose symbols it uses, other than events, which a part that has them reports
    upward (supervisor/base/events.h)."""
    owner, uses = {}, {}
    names = symbols(found.values())
    for name, path in found.items():
        defined, uses[name] = names[path]
        owner.update(dict.fromkeys(defined, name))
    return {name: {owner[symbol] for symbol in used
                   if owner.get(symbol, name) != name and
                   not (has_events and symbol.startswith("event_"))}
            for name, used in uses.items()}


@functools.cache
def calls_of(part):
    """Of the files of a part."""
    return calls(objects(part, TARGETS[part]), part == "supervisor")


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


class Graph(unittest.TestCase):
    def test_circles_are_found(self):
        graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set(), "x/e": {"y/f"},
                 "y/f": {"x/g"}, "x/g": set()}
        self.assertEqual(circles(graph), {frozenset("abc")})
        self.assertEqual(circles(rooms(graph)), {frozenset("xy")})

    def test_files_call_downward(self):
        for part in TARGETS:
            with self.subTest(part=part):
                self.assertTrue(calls_of(part), "nothing is built of it")
                largest = max(map(len, circles(calls_of(part))), default=1)
                self.assertLessEqual(largest, ceilings.CIRCLE_MAX)

    def test_rooms_call_one_way(self):
        for part in TARGETS:
            with self.subTest(part=part):
                self.assertEqual([sorted(circle) for circle in circles(rooms(calls_of(part)))], [])


if __name__ == "__main__":
    unittest.main()
