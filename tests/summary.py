#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Say what ran: reads build/results (JUnit files of ctest and of tests/system/guest.py, and
steps-*.tsv) and prints one line per test program, then how many of each kind there were, then
`N passed, N failed, N skipped`; before that, which ceilings were raised or lowered since the last
release. Counts cases where the program's output says how many it had (unittest, Criterion), else the
program as one. A program that failed among others and passed alone (SUITE-alone.xml) counts as it
went alone and is called unsteady. Exits 1 when anything failed."""
import os
import re
import sys
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "meta"))
import ratchet  # noqa: E402  pylint: disable=wrong-import-position

UNITTEST_RAN = re.compile(r"^Ran (\d+) tests? in ", re.M)
UNITTEST_END = re.compile(r"^(OK|FAILED)(?: \((.*)\))?$", re.M)
CRITERION = re.compile(r"Tested: \D*(\d+).*?Passing: \D*(\d+).*?Failing: \D*(\d+).*?Crashing: \D*(\d+)")
CRITERION_SKIP = re.compile(r"^.*\[SKIP\]", re.M)
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def unittest_counts(text):
    """(passed, failed, skipped) from unittest's last lines, or None."""
    ran, end = UNITTEST_RAN.search(text), UNITTEST_END.search(text)
    if not ran or not end:
        return None
    words = dict(re.findall(r"(\w+)=(\d+)", end.group(2) or ""))
    bad = sum(int(words.get(key, 0)) for key in ("failures", "errors"))
    bad += int((re.search(r"unexpected successes=(\d+)", end.group(2) or "") or [0, 0])[1])
    skipped = int(words.get("skipped", 0))
    return max(int(ran.group(1)) - bad - skipped, 0), bad, skipped


def criterion_counts(text):
    match = CRITERION.search(text)
    if not match:
        return None
    _, good, bad, crashed = (int(number) for number in match.groups())
    return good, bad + crashed, len(CRITERION_SKIP.findall(text))


def case_counts(status, text):
    text = ESCAPES.sub("", text or "")
    counts = unittest_counts(text) or criterion_counts(text)
    if status == "notrun":
        return 0, 0, 1
    if counts is None:
        return (1, 0, 0) if status == "run" else (0, 1, 0)
    if status != "run" and counts[1] == 0:  # timed out or died after its cases
        return counts[0], 1, counts[2]
    return counts


def read_junit(path):
    suite = os.path.basename(path)[:-len(".xml")].partition("-")[0]  # system-2: a second machine
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        output = case.findtext("system-out")
        status = case.get("status", "fail")
        if case.find("skipped") is not None or status == "disabled":
            status = "notrun"
        yield f"{suite}: {case.get('name')}", case_counts(status, output), case.get("time")


def read_suites(folder):
    """The rows of all JUnit files, and the names of the programs that are unsteady."""
    rows, alone = {}, {}
    for entry in sorted(os.listdir(folder)):
        if entry.endswith(".xml"):
            found = alone if entry.endswith("-alone.xml") else rows
            for name, counts, seconds in read_junit(os.path.join(folder, entry)):
                found[name] = counts, seconds
    unsteady = [name for name, (counts, _) in alone.items() if not counts[1]]
    rows.update(alone)
    return [(name, *row) for name, row in rows.items()], unsteady


def read_steps(path):
    folder = os.path.dirname(path)
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            status, name = line.rstrip("\n").split("\t")
            log = os.path.join(folder, re.sub("[^a-z0-9]", "-", name) + ".log")
            text = ""
            # The tests that the system step ran have a file, and rows, of their own.
            if os.path.exists(log) and not name.startswith("system tests"):
                with open(log, encoding="utf-8", errors="replace") as log_file:
                    text = log_file.read()
            state = {"passed": "run", "skipped": "notrun"}.get(status, "fail")
            yield name, case_counts(state, text), None


# A test's name starts with its folder in tests/, a unit test's with its folder in tests/unit/.
FOLDERS = ("kernel", "meta", "integration", "edge", "clients", "conformance", "attack", "limits",
           "fault", "system")
OTHERS = {"demo": "integration", "as root": "integration", "fuzz": "fuzz",
          "build": "builds, linters", "lint": "builds, linters", "system tests": "system"}


def kind_of(row_name):
    """Of a row `SUITE: FOLDER-NAME` or a step's `KIND: NAME`."""
    first, _, rest = row_name.partition(": ")
    if not rest or first in OTHERS:
        return next((kind for start, kind in OTHERS.items() if first.startswith(start)), first)
    folder = rest.partition("-")[0]
    kind = folder if folder in FOLDERS else OTHERS.get(folder, "unit")
    suffix = {"asan": ", sanitizers", "system": ", real system"}.get(first, "")
    return kind if kind == "system" else kind + suffix


def print_table(title, rows):
    """rows: (name, (passed, failed, skipped), text behind them)."""
    print(f"\n{title:<50} {'passed':>8}{'failed':>8}{'skipped':>9}")
    for name, counts, text in rows:
        mark = "  <-- FAILED" if counts[1] else ""
        print(f"{name:<50} {counts[0]:>8}{counts[1]:>8}{counts[2]:>9} {text}{mark}")


def sums(rows):
    return tuple(sum(row[1][i] for row in rows) for i in range(3))


def by_kind(rows):
    """A row for each kind, and how many programs it has."""
    kinds = {}
    for row in rows:
        kinds.setdefault(kind_of(row[0]), []).append(row)
    return [(kind, sums(members), f"in {len(members)}") for kind, members in sorted(kinds.items())]


def main():
    folder = sys.argv[1]
    rows, unsteady = read_suites(folder)
    for entry in sorted(os.listdir(folder)):
        if entry.endswith(".tsv"):
            rows += read_steps(os.path.join(folder, entry))
    print_table("== what ran", [(name, counts, f"{float(seconds):8.1f} s" if seconds else "")
                                for name, counts, seconds in rows])
    print_table("== of each kind", by_kind(rows))
    passed, failed, skipped = sums(rows)
    print()
    print("\n".join(ratchet.report()))
    for name in unsteady:
        print(f"unsteady: {name} failed among others and passed alone")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
