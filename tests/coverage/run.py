#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Line coverage of the trusted and the policy side over the test suites, real processes included.

    tests/coverage/run.py [--built] [--report] [--lines FILE...]

Builds the preset coverage, runs its tests, prints lines per folder and file, writes
build/results/coverage.json and fails when a test failed or a folder of WANTED is below LEAST
percent. --built: the programs are there. --report: only add up what was counted before.
--lines: also print the lines of these files that no test reached.

How lines of confined and killed processes are counted: tests/coverage/counters.c."""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, "build", "coverage")
COUNTERS = os.path.join(BUILD, "counters")
RESULT = os.path.join(ROOT, "build", "results", "coverage.json")
WANTED = ("common", "supervisor", "child-init", "policy", "stewards/audit", "stewards/store", "stewards/base")
SHOWN = WANTED + ("broker", "cli", "launcher", "frontend", "layers")
LEAST = 85.0
# What has to have counted, or the figures are those of the unit tests alone.
REAL = ("msp", "msp-supervisor", "msp-child-init", "msp-policy", "msp-audit", "msp-store")
# Built without a layer, to show that the layer's attack then succeeds: not what is installed.
CONTROLS = re.compile(r"^(child-init|supervisor)-without-")
# Programs that run while building and never again.
TOOLS = re.compile(r"-filtergen$")
# What these test is not in this build: sources, links and sizes of the release, another machine.
SUITES_OUT = "^(meta|kernel|system)$"
# Long, with many processes: they reach no line that the others do not. And failing calls of a
# program's start, which in this build maps its counters, or aborts.
TESTS_OUT = "stress|soak|neighbours|interrupted"


def run(command, **options):
    return subprocess.run(command, cwd=ROOT, check=True, **options)


def build():
    run(["cmake", "--preset", "coverage"], stdout=subprocess.DEVNULL)
    run(["cmake", "--build", BUILD, "--", "--quiet"])


def run_tests():
    """True when all passed."""
    for name in os.listdir(COUNTERS):  # what the build itself ran counts for its tools alone
        if not TOOLS.search(name):
            os.unlink(os.path.join(COUNTERS, name))
    os.makedirs(os.path.dirname(RESULT), exist_ok=True)
    return subprocess.run(
        ["ctest", "--test-dir", BUILD, "-j", str(2 * os.cpu_count()), "--output-on-failure",
         "--no-tests=error", "-LE", SUITES_OUT, "-E", TESTS_OUT,
         "--output-junit", os.path.join(os.path.dirname(RESULT), "coverage.xml")],
        check=False).returncode == 0


def find_programs():
    """(name, file) of every program of the build."""
    with open(os.path.join(BUILD, "counters.tsv"), encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file]


def read_program(path, lines):
    """Add what a program counted to `lines`: {file: {line: count}}."""
    with tempfile.TemporaryDirectory(prefix="msp-coverage-") as folder:
        run([path], env={"MSP_COVERAGE_DUMP": folder}, stdin=subprocess.DEVNULL)
        dumps = sorted(os.listdir(folder))
        if not dumps:  # nothing of ours in it
            return
        for name in dumps:
            notes = name.replace("#", "/")[:-len(".gcda")] + ".gcno"
            os.symlink(notes, os.path.join(folder, name[:-len(".gcda")] + ".gcno"))
        text = subprocess.run(["gcov", "--json-format", "--stdout", *dumps], cwd=folder,
                              check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL).stdout
    for document in text.splitlines():
        for file in json.loads(document)["files"]:
            counts = lines[os.path.relpath(os.path.join(ROOT, file["file"]), ROOT)]
            for line in file["lines"]:
                number = line["line_number"]
                counts[number] = counts.get(number, 0) + line["count"]


def collect():
    """{file: {line: count}} of the sources in SHOWN."""
    lines = collections.defaultdict(dict)
    for name, path in find_programs():
        if not CONTROLS.match(name):
            read_program(path, lines)
    return {file: counts for file, counts in sorted(lines.items())
            if file.startswith(tuple(folder + "/" for folder in SHOWN)) and file.endswith(".c")}


def share(counts):
    hit = sum(1 for count in counts if count > 0)
    return {"lines": len(counts), "hit": hit,
            "percent": round(100.0 * hit / len(counts), 1) if counts else 0.0}


def add_up(lines):
    """The content of coverage.json. A source that no program has would not be seen: refuse."""
    result = {"least": LEAST, "folders": {}, "files": {}}
    for folder in SHOWN:
        counts = []
        for file in lines:
            if file.startswith(folder + "/"):
                result["files"][file] = share(lines[file].values())
                counts += lines[file].values()
        result["folders"][folder] = share(counts)
    return result


def silent_programs():
    """Real processes that left no count."""
    for name in REAL:
        path = os.path.join(COUNTERS, name)
        if not os.path.exists(path) or not any(read_bytes(path)):
            yield name


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def missing_sources(lines):
    """Sources of WANTED with code that no program of the coverage build has."""
    for folder in WANTED:
        for place, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in names:
                file = os.path.relpath(os.path.join(place, name), ROOT)
                if file.endswith(".c") and file not in lines and has_code(file):
                    yield file


def has_code(file):
    with open(os.path.join(ROOT, file), encoding="utf-8") as text:
        return re.search(r"^\{", text.read(), re.M) is not None


def print_row(name, row, mark=""):
    print(f"{name:<44}{row['hit']:>7} of {row['lines']:>5}{row['percent']:>8.1f} %{mark}")


def report(result):
    print("\n== line coverage")
    for file, row in result["files"].items():
        print_row(file, row)
    print()
    for folder, row in result["folders"].items():
        is_low = folder in WANTED and row["percent"] < LEAST
        print_row(folder, row, f"  <-- below {LEAST:.0f} %" if is_low else "")


def ranges(numbers):
    """[1, 2, 3, 7] -> "1-3 7"."""
    parts = []
    for number in sorted(numbers):
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--built", action="store_true")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--lines", nargs="+", default=[], metavar="FILE")
    options = parser.parse_args()
    passed = True
    if not options.built and not options.report:
        build()
    if not options.report:
        passed = run_tests()
    lines = collect()
    result = add_up(lines)
    report(result)
    for file in options.lines:
        print(f"{file}: {ranges(n for n, count in lines[file].items() if count == 0)}")
    for problem in (*(f"{file}: in no program" for file in missing_sources(lines)),
                    *(f"{name}: counted nothing" for name in silent_programs())):
        print(problem)
        passed = False
    with open(RESULT, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
    low = [name for name in WANTED if result["folders"][name]["percent"] < LEAST]
    return 0 if passed and not low else 1


if __name__ == "__main__":
    sys.exit(main())
