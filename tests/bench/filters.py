# SPDX-License-Identifier: Apache-2.0
"""What the system call filter of each shipped profile costs: nanoseconds of a call under it, beside
the same call without one. filter_cost.c says which calls."""
import os
import random
import re
import subprocess

CALLS = 100000
ROUNDS = 15


def build(root, place):
    """Compile the program into `place`."""
    sources = ("tests/bench/filter_cost.c", "common/plan.c", "common/confine/seccomp.c")
    subprocess.run(["gcc", "-O2", "-D_GNU_SOURCE", "-I", root, "-o",
                    os.path.join(place, "filter_cost"),
                    *(os.path.join(root, source) for source in sources)], check=True)


def names(folder):
    """The profiles that ship."""
    listed = subprocess.run([os.path.join(folder, "msp-policy"), "list"], capture_output=True,
                            text=True, check=True).stdout
    return [line.split()[0] for line in listed.splitlines()]


def measure(folder, place, rounds=ROUNDS, calls=CALLS):
    """{profile, or "-" for none: (instructions, [ns of getppid], [ns of prctl])}"""
    rows = {name: (0, [], []) for name in ("-", *names(folder))}
    order = list(rows)
    for _ in range(rounds):
        random.shuffle(order)
        for name in order:
            with open(os.path.join(folder, "builtin.policy"), "rb") as plan:
                result = subprocess.run([os.path.join(place, "filter_cost"), name, str(calls)],
                                        stdin=plan, capture_output=True, text=True, check=True)
            count, plain, deep = re.match(r"(\d+) ([\d.]+) ([\d.]+)$", result.stdout).groups()
            rows[name] = (int(count), rows[name][1] + [float(plain)], rows[name][2] + [float(deep)])
    return rows


def report(rows):
    """Lines of a table."""
    bare = [min(times) for times in rows["-"][1:]]
    lines = ["", "## A system call under a profile's filter", "",
             f"Nanoseconds, the least in {len(rows['-'][1])} processes of {CALLS} calls each. "
             "`getppid` is always allowed, which the kernel remembers; for `prctl` the filter runs, "
             "with conditions on an argument.", "",
             "| profile | instructions | getppid | more | prctl | more |",
             "|---|---:|---:|---:|---:|---:|",
             f"| no filter | - | {bare[0]:.0f} | - | {bare[1]:.0f} | - |"]
    for name, (count, *times) in rows.items():
        if name != "-":
            plain, deep = (min(values) for values in times)
            lines.append(f"| {name} | {count} | {plain:.0f} | {plain - bare[0]:+.0f} | "
                         f"{deep:.0f} | {deep - bare[1]:+.0f} |")
    return lines
