# SPDX-License-Identifier: Apache-2.0
"""What the system call filter of each shipped profile costs: nanoseconds of a call under it, beside
the same call without one. filter_cost.c says which calls. One value is the least in a process."""
import os
import re
import subprocess

import groups

CALLS = 100000
NONE = "no filter"


def names(folder):
    """The profiles that ship."""
    listed = subprocess.run([os.path.join(folder, "msp-policy"), "list"], capture_output=True,
                            text=True, check=True).stdout
    return [line.split()[0] for line in listed.splitlines()]


def filters(context):
    folder, tool = context.support.BIN, context.tool("filter_cost")
    counts = {}

    def cost(profile):
        with open(os.path.join(folder, "builtin.policy"), "rb") as plan:
            result = subprocess.run([tool, profile, str(CALLS)], stdin=plan, capture_output=True,
                                    text=True, check=True)
        count, plain, deep = re.match(r"(\d+) ([\d.]+) ([\d.]+)$", result.stdout).groups()
        counts[profile] = int(count)
        return float(plain), float(deep)

    ways = {NONE: lambda: cost("-"), **{name: lambda name=name: cost(name)
                                        for name in names(folder)}}
    series = groups.take_turns(ways, context.rounds(15, 5), warm=1)
    notes = ["Instructions: " + ", ".join(f"{name} {count}" for name, count in counts.items()
                                          if name != "-")]
    return [groups.Group(f"filter-{call}", f"`{call}` under a profile's filter: {what}", "ns",
                         {name: [value[index] for value in values]
                          for name, values in series.items()}, base=NONE, ours=["default"],
                         notes=notes)
            for index, (call, what) in enumerate((
                ("getppid", "always allowed, which the kernel remembers"),
                ("prctl", "the filter runs, with conditions on an argument")))]
