#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of the tests of the dev build, known without one: by the CMakeLists.txt in tests/ and the
Python files of the folders that these name.

names.py REGEX   succeed if a name matches; else say so, with near names
"""
import difflib
import glob
import itertools
import os
import re
import sys

TESTS = os.path.dirname(os.path.abspath(__file__))
NOT_OF_DEV = ("sanitized", "fuzz")
COMMAND = re.compile(r"^\s*(foreach|endforeach|msp_unit_tests?|msp_test|msp_python_tests)\s*\(([^)]*)", re.M)
NEAR, NEAR_MOST = 0.5, 5


def read_names(text, scripts=lambda folder: ()):
    """The names that a CMakeLists.txt registers; `scripts` has the Python tests of a folder."""
    text = re.sub(r"^function.*?^endfunction", "", re.sub(r"#.*", "", text), flags=re.M | re.S)
    loops, found = [], []
    for command, words in COMMAND.findall(text):
        words = words.split()
        if command == "foreach":
            loops.append((words[0], words[1:]))
        elif command == "endforeach":
            loops.pop()
        elif command == "msp_python_tests":
            found += [f"{words[0]}-{name}" for name in scripts(words[0])]
        elif command == "msp_unit_tests":
            modules = itertools.takewhile(str.islower, words[2:])
            found += [f"{words[0]}-{os.path.basename(module)}" for module in modules]
        else:
            names = [words[0]]
            for variable, values in loops:
                names = [name.replace("${%s}" % variable, value) for name in names for value in values]
            names = [name for name in dict.fromkeys(names) if "$" not in name]
            found += names
    return found


def scripts_of(folder):
    """The names of its Python files that are tests, as tests/CMakeLists.txt tells them from tools."""
    for path in sorted(glob.glob(os.path.join(TESTS, folder, "*.py"))):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if "__main__" in text and not re.search(r"sys.exit.main", text):
            yield os.path.basename(path)[:-len(".py")]


def all_names():
    found = []
    for folder, folders, files in os.walk(TESTS):
        folders[:] = [name for name in folders if name not in NOT_OF_DEV]
        if "CMakeLists.txt" in files:
            with open(os.path.join(folder, "CMakeLists.txt"), encoding="utf-8") as file:
                found += read_names(file.read(), scripts_of)
    return sorted(found)


def near(wanted, names):
    """The names that are most like the one wanted, or like it behind their folder."""
    def likeness(name):
        return max(difflib.SequenceMatcher(None, wanted, one).ratio()
                   for one in (name, name.partition("-")[2]))
    return [name for name in sorted(names, key=likeness, reverse=True)[:NEAR_MOST]
            if likeness(name) >= NEAR]


def main():
    wanted, names = sys.argv[1], all_names()
    try:
        if any(re.search(wanted, name) for name in names):
            return 0
    except re.error as error:
        print(f"'{wanted}' is no regular expression: {error}", file=sys.stderr)
        return 1
    found = near(wanted, names)
    print(f"no test matches '{wanted}'" + (f"; near: {', '.join(found)}" if found else ""),
          file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
