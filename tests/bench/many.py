# SPDX-License-Identifier: Apache-2.0
"""The price of many files and of many sandboxes for one command: `msp destroy` of a sandbox with
files beside one of an empty sandbox, `msp create` beside sandboxes and without any."""
import os
import time

import groups
import programs

FILES, SANDBOXES = 20000, 600
EMPTY, FILLED = "msp destroy, no file", "msp destroy, 20,000 files"
NONE, BESIDE = "msp create, no sandbox", "msp create, beside 600"
WAIT_S = 120
FILL = f"""
import os
for number in range({FILES}):
    if number % 100 == 0:
        os.mkdir(f"d{{number // 100}}")
    with open(f"d{{number // 100}}/{{number}}", "w", encoding="ascii") as file:
        file.write("a line\\n" * 10)
"""


def await_removal(store):
    """What is destroyed is removed in the background, beside which nothing else is measured."""
    trash = os.path.join(store.state, "trash")
    end = time.monotonic() + WAIT_S
    while os.path.exists(trash) and os.listdir(trash):
        if time.monotonic() > end:
            raise programs.Failed("the files of a destroyed sandbox were not removed")
        time.sleep(0.05)


def commands(context, store):
    return programs.commands(context.support, {**programs.ENVIRONMENT, "MSP_STATE_DIR": store.state,
                                               "MSP_CONFIG": store.config})


def closed(context, count):
    """A store with so many sandboxes, which no server holds."""
    store = programs.Store(context.support, context.place)
    for _ in range(count):
        store.create()
    store.server.close()
    return store


def measure_destroy(context, rounds):
    store = closed(context, 0)
    msp = commands(context, store)
    series = {EMPTY: [], FILLED: []}
    for _ in range(rounds):
        for name in ("empty", "filled"):
            msp("create", f"--name={name}")
            msp("exec", *context.support.limits(), name, "--", "/usr/bin/python3", "-c",
                FILL if name == "filled" else "")
        for row, name in ((EMPTY, "empty"), (FILLED, "filled")):
            os.sync()
            series[row].append(msp("destroy", name))
            await_removal(store)
    store.close()
    return series


def measure_create(context, rounds):
    stores = {NONE: closed(context, 0), BESIDE: closed(context, SANDBOXES)}

    def create(store):
        msp = commands(context, store)
        elapsed = msp("create", "--name=one")
        msp("destroy", "one")
        await_removal(store)
        return elapsed

    series = groups.take_turns({name: lambda store=store: create(store)
                                for name, store in stores.items()}, rounds)
    for store in stores.values():
        store.close()
    return series


def many(context):
    return [groups.Group("destroy", "Removal of a sandbox, on disk", "us",
                         measure_destroy(context, context.rounds(7, 3)), base=EMPTY, ours=[FILLED]),
            groups.Group("create", "A new sandbox beside others, on disk", "us",
                         measure_create(context, context.rounds(20, 8)), base=NONE, ours=[BESIDE])]
