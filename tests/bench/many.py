# SPDX-License-Identifier: Apache-2.0
"""The price of many files and of many sandboxes for one command: `msp destroy` of a sandbox with
files beside one of an empty sandbox, `msp create` beside sandboxes and without any, `msp create` over
projects of many files beside find, which also looks at each file's owner and group."""
import os
import shutil
import time

import groups
import programs

FILES, SANDBOXES = 20000, 600
EMPTY, FILLED = "msp destroy, no file", "msp destroy, 20,000 files"
NONE, BESIDE = "msp create, no sandbox", "msp create, beside 600"
PROJECTS = {"10,000": 10000, "200,000": 200000}
SEARCH, OVER, OVER_LARGE = "find, 10,000 files", "msp create, 10,000 files", "msp create, 200,000 files"
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


def make_project(path, files):
    """A project of so many names, a hundred in each directory."""
    for number in range(files):
        folder = os.path.join(path, str(number // 99))
        if number % 99 == 0:
            os.makedirs(folder)
        else:
            os.symlink("a file of another directory", os.path.join(folder, str(number)))


def measure_projects(context, rounds):
    store = closed(context, 0)
    msp = commands(context, store)
    place = os.path.join(context.place, "projects")
    for name, files in PROJECTS.items():
        make_project(os.path.join(place, name), files)

    def create(name):
        elapsed = msp("create", "--name=one", f"--workspace={os.path.join(place, name)}")
        msp("destroy", "one")
        await_removal(store)
        return elapsed

    def find():
        return programs.spawn(["/usr/bin/find", os.path.join(place, "10,000"), "!", "-uid",
                               str(os.getuid()), "-o", "!", "-gid", str(os.getgid())],
                              programs.ENVIRONMENT)

    try:
        return groups.take_turns({SEARCH: find, OVER: lambda: create("10,000"),
                                  OVER_LARGE: lambda: create("200,000")}, rounds)
    finally:
        store.close()
        shutil.rmtree(place)


def many(context):
    return [groups.Group("create-over", "A new sandbox over a project of many files, on disk", "us",
                         measure_projects(context, context.rounds(20, 8)), base=SEARCH,
                         ours=[OVER, OVER_LARGE]),
            groups.Group("destroy", "Removal of a sandbox, on disk", "us",
                         measure_destroy(context, context.rounds(7, 3)), base=EMPTY, ours=[FILLED]),
            groups.Group("create", "A new sandbox beside others, on disk", "us",
                         measure_create(context, context.rounds(20, 8)), base=NONE, ours=[BESIDE])]
