#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The habits that a compiler does not check: sizes, licence lines, who includes whom."""
import os
import re
import unittest

import ceilings
import ratchet
import tree

SPDX = "SPDX-License-Identifier: Apache-2.0"
SPDX_ENDINGS = (".c", ".h", ".def", ".py", ".sh", ".cmake", ".yaml", ".yml", "CMakeLists.txt",
                ".clang-tidy", ".1", ".5", ".7", ".8")
# Places of one machine, and of nobody else's.
MACHINE_PATHS = re.compile(r"/wor[k]/|/tmp/buil[d]-|/home/(?!agent\b|user\b|you\b|"
                           r"[A-Z<$\"'{%])[a-z]+/|file:///")
# Headers that the build writes.
GENERATED_HEADERS = {"seccomp_filter.h", "starter_filter.h", "seccomp_http_filter.h", "seccomp_write_filter.h",
                     "servers_filter.h"}
# What a plan answers: a library that whoever holds one may use, and what it is made of.
DECIDE_HEADERS = ("policy/decide/decide.h", "policy/decide/operation.h")
DECIDE_PARTS = (*DECIDE_HEADERS, "policy/decide/decide_parts.h")
# The rooms of msp-layers, of which graph.py says which call which.
LAYERS = tuple(part for part in tree.PARTS if part.split("/")[0] == "layers")
# What a part shows to others, by the beginning of a header's path. Trusted processes have no heap.
SHARED = {
    "common/": tree.PARTS,
    "frontend/": ("frontend", *tree.FRONTENDS),
    "frontend/utf8.h": ("lib/json", "policy"),
    "lib/heap/": ("broker", "cli", "file", "frontend", "gateway/bridge", "gateway/dial", "gateway/egress",
                  "gateway/http", "image", "launcher", "lib/json", "policy", "vm", *LAYERS),
    "gateway/hosts/": ("cli", "frontend", "gateway/cable", "gateway/dial", "gateway/egress", "gateway/http",
                       "policy"),
    "image/keep.h": ("cli", "launcher"), "image/manifest.h": ("cli",), "image/name.h": ("cli",),
    "image/report.h": ("cli",), "image/store.h": ("cli", "launcher", "policy"),
    "lib/json/read.h": ("broker", "image"), "lib/json/string.h": ("broker", "image"),
    "layers/": LAYERS,
    "launcher/": ("cli",),
    "layers/base/remove.h": ("image",),
    "policy/decide/decide.h": ("frontend", *tree.FRONTENDS),
    "policy/decide/operation.h": ("frontend", *tree.FRONTENDS),
    "policy/read/units.h": ("cli",),
    "gateway/relay/relay.h": ("gateway/egress", "gateway/bridge"),
    "stewards/base/child.h": ("gateway/cable", "gateway/dial"),
    "stewards/base/counters.h": ("gateway/egress", "gateway/dial"),
    "stewards/base/peer.h": ("gateway/egress", "gateway/dial", "gateway/http"),
    "stewards/base/record.h": ("gateway/cable", "gateway/dial", "launcher"),
    "stewards/base/steward.h": ("gateway/bridge", "gateway/cable", "gateway/dial", "gateway/egress",
                                "gateway/http", "stewards/audit", "stewards/store"),
    "stewards/store/store.h": ("supervisor", "cli", "launcher"),
    "vm/prepare/report.h": ("cli", "launcher"),
}


def functions(text):
    """(name, lines) of each function of a C file: its body starts and ends in the first column."""
    start, name = None, None
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if line == "{":
            head = " ".join(lines[max(0, number - 6):number])
            names = re.findall(r"(\w+)\s*\(", head)
            start, name = number, names[-1] if names else "?"
        elif line.startswith("}") and start is not None:
            yield name, number - start + 1
            start = None


HEADER = re.compile(r'#include [<"].*\.h[>"]$')


def code_lines(text):
    """How many lines are neither blank, comment nor an include of a header: a file that names each
    header that it uses is no longer to read. No string of ours holds a comment's mark."""
    text = re.sub(r"/\*.*?\*/", lambda match: "\n" * match.group().count("\n"), text, flags=re.S)
    return sum(1 for line in text.splitlines() if line.strip() and not HEADER.match(line))


def may_include(path, header):
    """From its own folder, from its part, or what another part shows to it."""
    part = tree.part(path)
    if header in GENERATED_HEADERS:
        return True
    if ".." in header.split("/"):
        return False
    own = (os.path.dirname(path), part)
    if any(os.path.exists(os.path.join(tree.ROOT, folder, header)) for folder in own):
        return True
    return os.path.exists(os.path.join(tree.ROOT, header)) and (
        tree.part(header) == part or
        any(header.startswith(shown) and part in parts for shown, parts in SHARED.items()))


class Sizes(unittest.TestCase):
    def test_code_is_counted_without_comments_and_headers(self):
        self.assertEqual(code_lines("#include \"a.h\"\n#include \"a.def\"\n/* a\n b */\n"
                                    "int x; /* c */\n\n/* d */ int y;\n"), 3)

    def test_parts_stay_within_their_ceilings(self):
        for part, ceiling in ceilings.CODE_LINES.items():
            with self.subTest(part=part):
                self.assertLessEqual(ratchet.part_lines(part), ceiling)

    def test_files_are_short(self):
        for path in tree.files():
            if path.endswith((".c", ".h", ".def", ".py", ".sh", ".cmake")) or path == "dev":
                with self.subTest(path=path):
                    self.assertLessEqual(len(tree.read(path).splitlines()), ceilings.FILE_LINES)

    def test_functions_are_short(self):
        seen = 0
        for path in tree.sources():
            for name, lines in functions(tree.read(path)):
                seen += 1
                with self.subTest(path=path, function=name):
                    self.assertLessEqual(lines, ceilings.FUNCTION_LINES)
        self.assertGreater(seen, 100, "the heuristic finds functions")

    def test_the_heuristic_measures(self):
        body = "static int f(int a,\n\t     int b)\n{\n" + "\tx();\n" * 70 + "}\n"
        self.assertEqual(list(functions(body)), [("f", 72)])


class Files(unittest.TestCase):
    def test_each_source_starts_with_its_licence(self):
        for path in tree.files():
            is_script = tree.read(path).startswith("#!") if "." not in os.path.basename(path) \
                and not path.startswith("tests/fuzz/corpus") else False
            if path.endswith(SPDX_ENDINGS) or is_script:
                with self.subTest(path=path):
                    head = tree.read(path).splitlines()[:2]
                    first = head[1] if head and head[0].startswith("#!") else "".join(head[:1])
                    self.assertIn(SPDX, first)

    def test_the_licence_is_there(self):
        text = tree.read("LICENSE")
        self.assertIn("Apache License", text)
        self.assertIn("END OF TERMS AND CONDITIONS", text)

    def test_no_paths_of_one_machine(self):
        for path in tree.files():
            if path == "tests/meta/sources.py" or path.startswith("tests/fuzz/corpus"):
                continue
            with self.subTest(path=path):
                self.assertNotRegex(tree.read(path), MACHINE_PATHS)

    def test_an_errno_is_named_in_our_own_words(self):
        """musl has none for some. msp-scope has nothing of common/ and a C library that does."""
        for path in tree.sources(*tree.PARTS):
            if not path.startswith("launcher/scope/"):
                with self.subTest(path=path):
                    self.assertNotRegex(tree.read(path), r"\bstrerror\w*\s*\(")

    def test_no_open_ends(self):
        for path in tree.sources():
            with self.subTest(path=path):
                self.assertNotRegex(tree.read(path), r"\b(TODO|FIXME|XXX)\b(?!XX)")


class UnitTests(unittest.TestCase):
    def test_each_stands_where_its_subject_does(self):
        for path in tree.files():
            place = re.fullmatch(r"tests/unit/(.+)/(\w+)_test\.c", path)
            subjects = place and {os.path.dirname(source) for source in tree.sources()
                                  if os.path.basename(source) == place[2] + ".c"
                                  and source.split("/")[0] == place[1].split("/")[0]}
            if subjects and len(subjects) == 1:
                with self.subTest(path=path):
                    self.assertEqual(subjects, {place[1]})


class Includes(unittest.TestCase):
    def includes(self, path):
        return re.findall(r'^\s*#\s*include\s+"([^"]+)"', tree.read(path), re.M)

    def test_no_process_includes_another(self):
        for path in tree.sources(*tree.PARTS):
            for header in self.includes(path):
                with self.subTest(path=path, header=header):
                    self.assertTrue(may_include(path, header))

    def test_a_header_of_another_process_is_found(self):
        self.assertTrue(may_include("gateway/egress/dns.c", "gateway/egress/dns.h"))
        self.assertTrue(may_include("supervisor/main.c", "base/state.h"))
        self.assertTrue(may_include("gateway/egress/dns.c", "lib/heap/buffer.h"))
        for header in ("gateway/dial/asks.h", "heap/none.h", "../dial/asks.h", "stewards/base/child.h"):
            self.assertFalse(may_include("gateway/egress/dns.c", header))
        self.assertFalse(may_include("supervisor/main.c", "lib/heap/buffer.h"))

    def test_what_decides_needs_nothing_of_the_compiler(self):
        for path in tree.sources("policy"):
            if os.path.basename(path).startswith(("decide", "operation")):
                for header in self.includes(path):
                    with self.subTest(path=path, header=header):
                        self.assertTrue(header.startswith(("common/", "gateway/hosts/")) or
                                        header in DECIDE_PARTS)

    def test_common_includes_common_alone(self):
        for path in tree.sources("common"):
            for header in self.includes(path):
                with self.subTest(path=path, header=header):
                    self.assertTrue(header.startswith("common/"))

    def test_hosts_includes_the_plan_alone(self):
        for path in tree.sources("gateway/hosts"):
            for header in self.includes(path):
                with self.subTest(path=path, header=header):
                    self.assertTrue(header.startswith("gateway/hosts/") or header == "common/plan/plan.h")

    def test_headers_are_guarded_by_their_place(self):
        for path in tree.sources(*tree.PARTS):
            if path.endswith(".h"):
                guard = re.sub(r"[^A-Z0-9]", "_", path.upper())  # or without its first folder
                found = re.search(r"^#ifndef (\w+)\n#define \1$", tree.read(path), re.M)
                with self.subTest(path=path):
                    self.assertIsNotNone(found)
                    self.assertIn(found.group(1), (guard, guard.split("_", 1)[1]))

    def test_own_header_comes_first(self):
        for path in tree.sources(*tree.PARTS):
            header = path[:-2] + ".h"
            if path.endswith(".c") and os.path.exists(os.path.join(tree.ROOT, header)):
                first = re.search(r'^\s*#\s*include\s+["<]([^">]+)[">]', tree.read(path), re.M)
                with self.subTest(path=path):
                    self.assertIsNotNone(first)
                    self.assertTrue(header.endswith(first.group(1)), first.group(1))


if __name__ == "__main__":
    unittest.main()
