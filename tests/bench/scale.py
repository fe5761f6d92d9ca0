# SPDX-License-Identifier: Apache-2.0
"""Many sandboxes alive at once, idle: how long a launch takes beside them, and what one of them
takes of the memory, ours and the kernel's."""
import contextlib
import re
import time

import floors
import groups
import programs
import rates

ALIVE = (200, 1000)
NONE = "none alive"
BATCH = 50
FLOOR_BATCHES = 5
SETTLE = 0.3
OURS = "ours (PSS)"
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

    def grow(self):
        for _ in range(BATCH):
            self.made.append(self.store.create()[0])
            self.store.server.run(sandbox=self.made[-1], argv=TRUE)

    def memory(self):
        return memory_below(self.context, self.store.server.process.pid)


class Resting:
    """Processes in namespaces of their own, and nothing else."""

    def __init__(self, context):
        self.context, self.client = context, rates.Client(context, "rest", BATCH, [])
        self.close = self.client.close

    def grow(self):
        self.client.turn(0)

    def memory(self):
        return memory_below(self.context, self.client.process.pid)


def memory_below(context, pid):
    """{part: kB} now, with the memory of these processes where somebody may read it."""
    time.sleep(SETTLE)
    parts = kernel_kb()
    ours = context.meter([pid, *context.support.descendants(pid, with_ready=True)])
    return parts if ours is None else {OURS: ours, **parts}


def measure_memory(growing, batches, rows):
    """Add to {part: [kB for each, of each batch]}."""
    before = growing.memory()
    for _ in range(batches):
        growing.grow()
        now = growing.memory()
        for part, value in now.items():
            rows.setdefault(part, []).append((value - before[part]) / BATCH)
        before = now


def in_all(rows):
    return [sum(values) for values in zip(*rows.values())]


def floor(context):
    """Beside what is alive: what that took and gave back would be used first."""
    rows = {}
    with contextlib.closing(Resting(context)) as resting:
        resting.grow()
        measure_memory(resting, FLOOR_BATCHES, rows)
    return in_all(rows)


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
        alive.grow()  # what the first ones take once is not theirs
        for count in ALIVE:
            measure_memory(alive, (count - len(alive.made)) // BATCH, memory)
            add(f"{count} alive")
        beside = floor(context)
    with contextlib.closing(programs.Store(context.support, context.place)) as store:
        add(NONE)
    memory["in all"] = in_all(memory)
    memory[floors.NAMESPACES] = beside
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
             "run in each, and they are idle. The kernel's parts are of the whole machine. At last, "
             f"beside all: a process in a sandbox's seven namespaces that sleeps, {FLOOR_BATCHES} "
             "batches."]
    left_out = {} if OURS in rows else {OURS: "only root may read it: start as root"}
    if left_out:
        notes.append("'in all' lacks ours.")
    return groups.Group("memory", "Memory of an idle sandbox", "kB", rows, notes=notes,
                        left_out=left_out)
