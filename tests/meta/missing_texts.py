#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No message says "(null)": a text that can be missing is no argument of "%s", and a table that such an
argument comes from has a row for each word of its enumeration."""
import re
import unittest

import tree

# Functions of libraries that return NULL instead of a text.
LIBRARY = {"archive_error_string", "archive_entry_pathname", "archive_entry_symlink",
           "archive_entry_hardlink", "getenv", "secure_getenv", "sigabbrev_np", "strchr", "strrchr",
           "strstr", "strpbrk", "strtok", "strtok_r", "strsep", "memchr", "realpath"}
# Arguments that are never missing, as the caller has asked before.
ASKED = {("cli/commands/client_config.c", "strsep"), ("cli/commands/commit.c", "find_place"),
         ("cli/help.c", "command_group"), ("cli/commands/image_import.c", "strrchr"),
         ("policy/read/http.c", "host_method_name"), ("gateway/http/message.c", "host_method_name"),
         ("policy/decide/decide_http.c", "host_path_fault"), ("gateway/http/message.c", "host_path_fault")}
# Words that have no row, as the caller has dealt with them before.
LEFT = set()
FUNCTION = re.compile(r"^(?:static |inline |extern )*(?:const )?char \*(\w+)\([^;{}]*\)\s*\{(.*?)^\}",
                      re.S | re.M)
LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"')
DIRECTIVE = re.compile(r"%[-+ #0]*(\*|\d+)?(?:\.(\*|\d+)?)?(?:hh|h|ll|l|z|j|t)?([a-zA-Z%])")


def without_comments(text):
    return re.sub(r"/\*.*?\*/", lambda match: "\n" * match.group().count("\n"), text, flags=re.S)


def arguments(text, start):
    """The arguments of the call whose bracket opens before `start`."""
    found, depth, at, begin = [], 0, start, start
    while at < len(text):
        literal = LITERAL.match(text, at) or re.match(r"'(?:[^'\\]|\\.)+'", text[at:at + 8])
        if literal:
            at += len(literal.group())
            continue
        if text[at] in ",)" and depth == 0:
            found.append(text[begin:at].strip())
            begin = at + 1
            if text[at] == ")":
                return found
        depth += (text[at] in "([{") - (text[at] in ")]}")
        at += 1
    return []


def texts_of(words):
    """The arguments of "%s" among those of a call."""
    place = next((i for i, word in enumerate(words) if word.startswith('"') and "%" in word), None)
    if place is None:
        return
    form = "".join(part[1:-1] for part in LITERAL.findall(re.sub(r"\bPRI\w+", '"u"', words[place])))
    rest = iter(words[place + 1:])
    for width, precision, kind in DIRECTIVE.findall(form):
        for _ in range((width == "*") + (precision == "*")):
            next(rest, None)
        if kind != "%":
            word = next(rest, "")
            if kind == "s":
                yield word


def can_be_missing(sources):
    """Names of the functions whose text can be missing."""
    return LIBRARY | {name for text in sources.values() for name, body in FUNCTION.findall(text)
                      if re.search(r"\breturn\b[^;]*\bNULL;", body)}


def faults(sources):
    """(path, function) of each text that can be missing and is printed as it is."""
    names = can_be_missing(sources)
    for path, text in sources.items():
        for call in re.finditer(r"\b\w+\(", text):
            for word in texts_of(arguments(text, call.end())):
                called = re.match(r"(\w+)\(", word)
                if called and called.group(1) in names:
                    yield path, called.group(1)


def enumerations(sources):
    """Name of the count at the end of an enumeration to the words before it."""
    found = {}
    for text in sources.values():
        for body in re.findall(r"\benum(?: \w+)? \{([^{}#]*)\}", text):
            words = [word.split("=")[0].strip() for word in body.split(",") if word.strip()]
            found[words[-1]] = words[:-1]
    return found


def holes(sources):
    """(path, table, word) of each word for which a table of texts has no row."""
    known = enumerations(sources)
    for path, text in sources.items():
        for name, count, body in re.findall(
                r"\bconst (?:char \*const|struct (?:step|verdict)_words) (\w+)\[(\w+)\] = "
                r"\{((?:[^{}#]|\{[^{}]*\})*)\};", text):
            rows = re.findall(r"\[(\w+)\] =", body)
            for word in known.get(count, []):
                if rows and word not in rows:
                    yield path, name, word


class Missing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sources = {path: without_comments(tree.read(path)) for path in tree.sources()
                       if not path.startswith("tests/")}

    def test_a_fault_is_found(self):
        text = ('const char *none(int x)\n{\n\treturn x ? "a" : NULL;\n}\n'
                'const char *some(int x)\n{\n\treturn x ? "a" : "b";\n}\n'
                'void f(void)\n{\n\tsay("a, (%d) %-*s" "%" PRIu64 " %s", g(1, \')\'), 3, some(1), n, none(2));\n}\n')
        self.assertEqual(list(faults({"a.c": text})), [("a.c", "none")])
        self.assertEqual(list(faults({"a.c": text.replace("none(2)", "some(2)")})), [])
        self.assertEqual(list(faults({"a.c": 'say("%s", getenv("A"));'})), [("a.c", "getenv")])
        table = "enum e { A, B, COUNT };\nstatic const char *const t[COUNT] = { [A] = \"a\"%s };\n"
        self.assertEqual(list(holes({"a.c": table % ""})), [("a.c", "t", "B")])
        self.assertEqual(list(holes({"a.c": table % ', [B] = "b"'})), [])

    def test_no_text_that_can_be_missing_is_printed(self):
        self.assertGreater(len(self.sources), 500)
        self.assertEqual(set(faults(self.sources)), ASKED)

    def test_no_table_of_texts_has_a_hole(self):
        self.assertEqual(set(holes(self.sources)), LEFT)


if __name__ == "__main__":
    unittest.main()
