# SPDX-License-Identifier: Apache-2.0
"""Persistent sandboxes: checkpoints and forks through one session, with the state directory in
memory (our time) and on a disk (with its syncs); a fork's first execution beside a fresh sandbox's;
an execution in a live one, and a cold `msp exec`, beside what they are like."""
import contextlib
import random
import time

import groups
import programs

FORKS = 100
FILES = 20
FORKED, CREATED = "fork and its first execution", "create and its first execution"
STEPS = ("save", "save after an execution", "rollback", "fork", FORKED, CREATED)


def measure_steps(store, rounds):
    """({what: [microseconds]} of what is done with a sandbox of some files, the sandbox)"""
    times = {name: [] for name in STEPS}
    sandbox, _ = store.create()
    store.run(sandbox, f"for i in $(seq {FILES}); do echo $i > f$i; done")
    store.server.tool("checkpoint", sandbox=sandbox, action="save", name="base")

    def step(what, action, **arguments):
        _, elapsed = store.server.tool("checkpoint", sandbox=sandbox, action=action, **arguments)
        times[what].append(elapsed)

    def fresh(make, name):
        made, elapsed = make()
        times[name].append(elapsed + store.run(made))
        store.destroy(made)

    for _ in range(rounds):
        store.run(sandbox, "echo more > more")
        step("save after an execution", "save", name="after")
        step("rollback", "rollback", checkpoint="base")
        step("save", "save", name="again")
        for name in ("after", "again"):
            store.server.tool("checkpoint", sandbox=sandbox, action="delete", checkpoint=name)
        made, elapsed = store.fork(sandbox)
        times["fork"].append(elapsed)
        store.destroy(made)
        ways = [(lambda: store.fork(sandbox), FORKED), (store.create, CREATED)]
        random.shuffle(ways)
        for way in ways:
            fresh(*way)
    return times, sandbox


def measure_forks(store, sandbox):
    """Microseconds for so many, one after another."""
    start = time.perf_counter()
    made = [store.fork(sandbox)[0] for _ in range(FORKS)]
    elapsed = time.perf_counter() - start
    for one in made:
        store.destroy(one)
    return elapsed * 1e6


def measure_commands(context, store, sandbox, rounds):
    """{what: [microseconds]} of `true`: in a live sandbox, bare, and by commands of their own."""
    support = context.support
    environment = {**programs.ENVIRONMENT, "HOME": store.folder, "MSP_STATE_DIR": store.state}
    limits, command = [*support.limits(), "--standalone"], ["--", "/bin/true"]
    cold, _ = store.create()
    ways = {"bare": lambda: programs.spawn(["/bin/true"]),
            "run_command in a live one":
            lambda: store.server.run(sandbox=sandbox, argv=["/bin/true"]),
            "run_command without one": lambda: store.server.run(argv=["/bin/true"]),
            "msp run": lambda: programs.spawn([support.MSP, "run", *limits, *command]),
            "msp exec, cold": lambda: programs.spawn(
                [support.MSP, "exec", *limits, cold, *command], environment)}
    return groups.take_turns(ways, rounds)


def persistent(context):
    found, rounds = [], context.rounds(40, 10)
    for name, where, folder in (("memory", "in memory", context.memory),
                                ("disk", "on disk", context.place)):
        with contextlib.closing(programs.Store(context.support, folder)) as store:
            steps, sandbox = measure_steps(store, rounds)
            forks = measure_forks(store, sandbox)
            commands = measure_commands(context, store, sandbox, rounds)
        found += [
            groups.Group(f"persistent-{name}", f"Persistent sandboxes, {where}, {FILES} files", "us",
                         steps, base=CREATED, ours=[FORKED]),
            groups.Group(f"forks-{name}", f"{FORKS} forks, one after another, {where}", "us",
                         {"all": [forks]}),
            groups.Group(f"persistent-true-{name}", f"`true` in a persistent sandbox, {where}", "us",
                         commands, base="bare", ours=list(commands)[1:])]
    return found
