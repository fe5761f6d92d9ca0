#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""msp-policy(5) against the program, in both directions: what the page lists is what msp-policy
accepts, as its own messages tell it, and the page's example is accepted."""
import os
import re
import subprocess
import tempfile
import unittest

import tree

PAGE = "docs/man/msp-policy.5"
HELP_PAGE = "docs/man/msp-policy.1"
UNKNOWN = "no-such-key"
# Where a key that does not exist is put, and what the page calls the place: section, list in it.
PLACES = {
    "%s: 1": ("Top-level keys", 0),
    "audit: {%s: 1}": ("Top-level keys", 1),
    "sandboxes: {%s: 1}": ("Top-level keys", 2),
    "images: {%s: 1}": ("Top-level keys", 3),
    "requirements: {%s: 1}": ("Top-level keys", 4),
    "profiles: [{%s: 1}]": ("Profiles", 0),
    "profiles: [{files: [{%s: 1}]}]": ("Files", 1),
    "profiles: [{landlock: [{%s: 1}]}]": ("Landlock", 0),
    "profiles: [{seccomp: {%s: 1}}]": ("System calls", 0),
    "profiles: [{limits: {%s: 1}}]": ("Limits", 0),
    "profiles: [{requirements: {%s: 1}}]": ("Requirements", 0),
    "profiles: [{lasting: {%s: 1}}]": ("Persistent sandboxes", 0),
    "profiles: [{languages: [{%s: 1}]}]": ("Languages", 0),
    "agents: [{%s: 1}]": ("Agents", 0),
    "agents: [{keys: [{%s: 1}]}]": ("Agents", 1),
    "agents: [{login: {%s: 1}}]": ("Agents", 2),
    "agents: [{files: [{%s: 1}]}]": ("Agents", 3),
}
# Keys whose values are words of a list, with one that is not among them.
WORDS = {
    "limits: x": ("Top-level keys", 0, "limits"),
    "audit: x": ("Top-level keys", 1, "records"),
    "audit: {records: x}": ("Top-level keys", 1, "records"),
    "audit: {commands: x}": ("Top-level keys", 1, "commands"),
    "profiles: [{name: a, extends: default, network: x}]": ("Profiles", 0, "network"),
    "profiles: [{name: a, extends: default, network: hosts, hosts: [], host_approval: x}]":
        ("Profiles", 0, "host_approval"),
    "profiles: [{name: a, extends: default, files: [{at: /a, kind: bind, access: x}]}]":
        ("Files", 1, "access"),
    "profiles: [{name: a, extends: default, requirements: {limits: x}}]":
        ("Requirements", 0, "limits"),
    "profiles: [{name: a, extends: default, lasting: {workspace: x}}]":
        ("Persistent sandboxes", 0, "workspace"),
    "profiles: [{name: a, extends: default, lasting: {apply: x}}]":
        ("Persistent sandboxes", 0, "apply"),
    "profiles: [{name: a, extends: default, lasting: {bridge: x}}]":
        ("Persistent sandboxes", 0, "bridge"),
}
# Where numbers are said, and what the page calls the place.
NUMBERS = {
    "profiles: [{name: a, extends: default, limits: {%s: %s}}]": ("Limits", 0),
    "profiles: [{name: a, extends: default, lasting: {%s: %s}}]": ("Persistent sandboxes", 0),
    "sandboxes: {%s: %s}": ("Top-level keys", 2),
    "images: {%s: %s}": ("Top-level keys", 3),
}
UNITS = {"a size": "Size", "a time": "Time", "whole seconds": "Whole seconds",
         "a whole number": "Number", "a span": "Span", "an amount": "Amount"}
MOST = {"Time": "1000h", "Whole seconds": "1000h", "Span": "10000d"}


def program(*arguments):
    return subprocess.run([tree.program("msp-policy"), *arguments], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=20, check=False)


def complaint(text):
    """What `check` says of a configuration, without the file's name; "" when it is right."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "config.yaml")
        with open(path, "w", encoding="ascii") as file:
            file.write(text + "\n")
        os.chmod(path, 0o600)
        result = program("check", "--config", path)
    return result.stderr.partition("config.yaml:")[2].strip() if result.returncode else ""


def sections(page):
    """{title: [{item: lines of its body}, ...]}: the lists of each section, inner ones too."""
    found, lists, around = {}, None, []
    for line in tree.read(page).splitlines():
        title = re.match(r'\.S[hs] (.+)', line)
        if title:
            lists = found.setdefault(title[1], [])
        elif line.startswith(".Bl"):
            around.append(({}, [None]))
            lists.append(around[-1][0])
        elif line.startswith(".El"):
            around.pop()
        elif around:
            items, item = around[-1]
            if line.startswith(".It"):
                item[0] = items.setdefault(re.sub(r"^\.It (Sy|Cm|Fl|Pa) ?", "", line), [])
            elif item[0] is not None:
                item[0].append(line)
    return found


def words_after(verb, body):
    """The words in bold that follow a line "VERB", up to the end of its sentence."""
    found = set()
    for line, following in zip(body, body[1:]):
        if line.endswith(verb) and following.startswith(".Sy "):
            found |= set(re.findall(r"[a-z]+", following[4:]))
    return found


class Manual(unittest.TestCase):
    def setUp(self):
        self.sections = sections(PAGE)

    def items(self, title, index=0):
        return self.sections[title][index]

    def test_keys(self):
        for text, (title, index) in PLACES.items():
            with self.subTest(section=title):
                told = complaint(text % UNKNOWN)
                self.assertIn(UNKNOWN + ": unknown key; expected one of: ", told)
                self.assertEqual(set(told.rpartition(": ")[2].split(", ")),
                                 set(self.items(title, index)))

    def test_words(self):
        for text, (title, index, key) in WORDS.items():
            with self.subTest(section=title, key=key):
                told = re.search(r"expected ([a-z ,-]+?)(?:, since .*)?$", complaint(text))[1]
                body = "\n".join(self.items(title, index)[key])
                self.assertEqual(set(re.split(r", | or ", told)),
                                 set(re.findall(r"^\.Sy ([a-z-]+) [:,]$", body, re.M)))

    def test_rights(self):
        told = complaint("profiles: [{name: a, extends: default, "
                         "landlock: [{path: /a, rights: [x]}]}]")
        self.assertEqual(set(re.split(r", | or ", told.rpartition("expected ")[2])),
                         set(self.items("Landlock", 1)))

    def test_numbers(self):
        for text, (title, index) in NUMBERS.items():
            for name, body in self.items(title, index).items():
                with self.subTest(section=title, key=name):
                    told = complaint(text % (name, "x"))
                    unit = next((word for start, word in UNITS.items()
                                 if f"expected {start}" in told), None)
                    if unit:
                        told = complaint(text % (name, MOST.get(unit, 10 ** 16)))
                        least, most = re.search(r"out of range; expected (\S+) to (\S+)$",
                                                told).groups()
                        self.assertEqual(body[0], f"{unit} from {least} to {most}.")
                    else:
                        self.assertIn((title, name), {("Persistent sandboxes", key) for key in
                                                      ("workspace", "apply", "bridge", "hold")})

    def test_smallest_sizes_and_largest_abi(self):
        text = "profiles: [{name: a, extends: default, files: [{at: /a, kind: tmpfs, size: %s, " \
               "inodes: %s, mode: %s}]}]"
        keys = self.items("Files", 1)
        for key, values, pattern in (("size", ("x", 16, "0700"), r"at least (\S+)[,.]"),
                                     ("inodes", ("1M", "x", "0700"), r"at least (\S+)[,.]"),
                                     ("mode", ("1M", 16, "4755"), r"at most (\S+?)\.?$")):
            with self.subTest(key=key):
                told = complaint(text % values)
                self.assertIn(key + ": ", told)
                self.assertEqual(re.search(pattern, told, re.I)[1],
                                 re.search(pattern, " ".join(keys[key]), re.I)[1])
        told = complaint("profiles: [{name: a, extends: default, requirements: {landlock: 99}}]")
        least, most = re.search(r"expected (\d+) to (\d+)$", told).groups()
        self.assertIn(f"from {least} to {most}.", self.items("Requirements")["landlock"][0])

    def test_longest_file(self):
        told = complaint("#" * (1 << 20))
        most = int(re.search(r"expected at most (\d+) bytes", told)[1])
        self.assertIn(f"at most {most >> 10} KiB long", tree.read(PAGE))

    def test_groups(self):
        lists = self.sections["Groups"]
        told = [re.fullmatch(r"(\w+)(?: \((\w+)\))?: (.*)", line).groups()
                for line in program("groups").stdout.splitlines()]
        for index, kind in enumerate((None, "never", "hidden")):
            with self.subTest(kind=kind):
                self.assertEqual({name: reason for name, its, reason in told if its == kind},
                                 {name: " ".join(body).removesuffix(".")
                                  for name, body in lists[index].items()})

    def test_example(self):
        example = re.findall(r"^\.Bd -literal.*?\n(.*?)\n\.Ed", tree.read(PAGE), re.S | re.M)
        self.assertEqual([complaint(text) for text in example], [""])


class Kinds(unittest.TestCase):
    """What an entry of `files` takes and needs, kind by kind."""

    def setUp(self):
        self.kinds, self.keys = sections(PAGE)["Files"]

    def complaint(self, kind, keys):
        entry = ", ".join(f"{key}: {value}" for key, value in
                          {"at": "/added", "kind": kind, **keys}.items())
        told = complaint("profiles: [{name: a, extends: default, files: [{" + entry + "}]}]")
        return re.match(r"1: profiles\[0\]\.files\[0\]\.(\w+): (missing|does not belong)", told)

    def needed(self, kind, **keys):
        told = self.complaint(kind, keys)
        while told and told[2] == "missing":
            keys[told[1]] = "x"
            told = self.complaint(kind, keys)
        self.assertIsNone(told)
        return keys

    def taken(self, kind, needed):
        """What may be said beside what has to be."""
        taken = set()
        for key in set(self.keys) - {"at", "kind"} - set(needed):
            value = "read-only" if key == "access" else "x"
            told = self.complaint(kind, {**needed, key: value})
            if told is None:
                taken.add(key)
            else:
                self.assertEqual(told[2], "does not belong")
        return taken

    def test_kinds(self):
        told = complaint("profiles: [{name: a, extends: default, files: [{at: /a, kind: x}]}]")
        self.assertEqual(set(re.split(r", | or ", told.rpartition("expected ")[2])),
                         set(self.kinds))

    def test_keys_of_each_kind(self):
        for kind, body in self.kinds.items():
            with self.subTest(kind=kind):
                needed = self.needed(kind)
                self.assertEqual(set(needed), words_after("Needs", body))
                self.assertEqual(self.taken(kind, needed), words_after("Takes", body))

    def test_what_copy_on_write_needs(self):
        body = self.kinds["bind"]
        needed = self.needed("bind", access="copy-on-write")
        self.assertEqual(set(needed) - {"access"}, words_after("copy-on-write it also needs", body))
        self.assertEqual(self.taken("bind", needed), words_after("Takes", body) - {"access"} -
                         words_after("and has no", body))


class Commands(unittest.TestCase):
    """The help against msp-policy(1)."""

    def setUp(self):
        self.help = program("--help").stdout
        self.options, self.commands, *_ = sections(HELP_PAGE)["DESCRIPTION"]
        self.synopsis = re.search(r"^\.Sh SYNOPSIS\n(.*?)^\.Sh", tree.read(HELP_PAGE),
                                  re.S | re.M)[1]

    def test_commands(self):
        told = set(re.findall(r"^  ([a-z]+)\b", self.help, re.M))
        self.assertIn("compile", told)
        self.assertEqual(told, set(self.commands))
        self.assertEqual(told, set(re.findall(r"^\.Cm (\w+)$", self.synopsis, re.M)))

    def test_options(self):
        told = set(re.findall(r"(?<![\w-])--?[a-z]+", self.help))
        listed = {"-" + name.split()[0] for name in self.options}
        self.assertEqual(told, listed | {"--help", "--version"})
        for option in told:
            with self.subTest(option=option):
                self.assertRegex(self.synopsis, rf"[ |]{option[1:]}\b")


if __name__ == "__main__":
    unittest.main()
