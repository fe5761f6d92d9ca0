# SPDX-License-Identifier: Apache-2.0
"""Many sandboxes alive at once, idle: how long a launch takes beside them, and what one of them
takes of the memory, ours and the kernel's."""
import contextlib
import re
import time

import groups
import programs

ALIVE = (200, 1000)
NONE = "none alive"
BATCH = 50
SETTLE = 0.3
TRUE = ["/bin/true"]
# Parts of what the kernel takes, by the names of /proc/meminfo.
KERNEL = {"slab": ("Slab",), "page tables": ("PageTables", "SecPageTables"), "percpu": ("Percpu",),
          "stacks and vmalloc": ("VmallocUsed",), "tmpfs": ("Shmem",)}


def kernel_kb():
    with open("/proc/meminfo", encoding="ascii") as file:
        table = {name: int(value) for name, value in re.findall(r"(\w+): +(\d+)", file.read())}
    return {part: sum(table.get(name, 0) for name in names) for part, names in KERNEL.items()}


class Alive:
    """Sandboxes that something has run in, and that are idle."""

    def __init__(self, context, store):
        self.context, self.store, self.made = context, store, []

    def grow(self, count):
        while len(self.made) < count:
            self.made.append(self.store.create()[0])
            self.store.server.run(sandbox=self.made[-1], argv=TRUE)

    def memory(self):
        """{part: kB} now; ours only where somebody may read it."""
        time.sleep(SETTLE)
        parts = kernel_kb()
        pid = self.store.server.process.pid
        below = self.context.support.descendants(pid, with_ready=True)
        ours = self.context.meter([pid, *below])
        return parts if ours is None else {"ours (PSS)": ours, **parts}


def measure_memory(alive, count, rows):
    """Add to {part: [kB per sandbox, of each batch]} while they become so many."""
    before = alive.memory()
    while len(alive.made) < count:
        alive.grow(len(alive.made) + BATCH)
        now = alive.memory()
        for part, value in now.items():
            rows.setdefault(part, []).append((value - before[part]) / BATCH)
        before = now


def measure_launch(context, store, rounds):
    ways = {"bare": lambda: programs.spawn(TRUE),
            "MCP run_command": lambda: store.server.run(argv=TRUE)}
    return groups.take_turns(ways, rounds, pause=0.004)


def scale(context):
    series, memory, rounds = {}, {}, context.rounds(120, 40)

    def add(name):
        for way, values in measure_launch(context, store, rounds).items():
            series.setdefault(f"{way}, {name}", []).extend(values)

    with contextlib.closing(programs.Store(context.support, context.place)) as store:
        add(NONE)
        alive = Alive(context, store)
        alive.grow(BATCH)  # what the first ones take once is not theirs
        for count in ALIVE:
            measure_memory(alive, count, memory)
            add(f"{count} alive")
    with contextlib.closing(programs.Store(context.support, context.place)) as store:
        add(NONE)
    memory["in all"] = [sum(values) for values in zip(*memory.values())]
    return [launch_group(series), memory_group(memory)]


def launch_group(series):
    """With none alive it was measured before and after, so its rounds are thinned to as many."""
    for name in (f"bare, {NONE}", f"MCP run_command, {NONE}"):
        series[name] = series[name][::2]
    ours = [f"MCP run_command, {count} alive" for count in ALIVE]
    bases = {f"bare, {count} alive": f"bare, {NONE}" for count in ALIVE}
    return groups.Group("alive", "Launch of `/bin/true` beside idle sandboxes", "us", series,
                        base=f"MCP run_command, {NONE}", bases=bases, ours=ours,
                        notes=["One after another, not in turns; none alive: before and after."])


def memory_group(rows):
    notes = [f"Growth per sandbox while {ALIVE[-1]} are made, by batches of {BATCH}; something has "
             "run in each, and they are idle. The kernel's parts are of the whole machine."]
    left_out = {} if "ours (PSS)" in rows else {
        "ours (PSS)": "only root may read it: start as root"}
    if left_out:
        notes.append("'in all' lacks ours.")
    return groups.Group("memory", "Memory of an idle sandbox", "kB", rows, notes=notes,
                        left_out=left_out)
