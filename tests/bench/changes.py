# SPDX-License-Identifier: Apache-2.0
"""Changes of many files on a disk: an apply and its undo beside `git checkout` of the same files, in
two copies of one project, and a list of them beside git's. msp syncs what it writes, git does not."""
import os
import shutil
import subprocess

import groups
import programs

FEW, MANY, MORE = "1,000 files", "5,000 files", "10,000 files"
SIZES = {FEW: 1000, MANY: 5000, MORE: 10000}
# Those of the job that a quick run leaves out, with its rounds. Making the files takes minutes.
LARGE, LARGEST = "50,000 files", "200,000 files"
LARGE_SIZES = {MANY: (5000, 2), LARGE: (50000, 2), LARGEST: (200000, 1)}
PER_FOLDER = 100
LINES = 40
CHECKOUT, BACK = "git checkout", "git checkout, back"
LIST, APPLY, UNDO = "msp diff --stat", "msp apply", "msp undo"
GIT_LIST = "git diff --stat"
# What a sandbox does to its files: the words of fill() for "after".
CHANGE = """
import os
for folder, _, names in os.walk("."):
    for name in names if "/folder" in folder else ():
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(f"after {name}\\n" * %d)
""" % LINES


def git(folder, *words):
    subprocess.run(["git", "-C", folder, "-c", "user.name=bench", "-c", "user.email=bench@localhost",
                    *words], check=True, capture_output=True, env=programs.ENVIRONMENT)


def fill(folder, files, word):
    for number in range(files):
        below = os.path.join(folder, f"folder{number // PER_FOLDER}")
        os.makedirs(below, exist_ok=True)
        with open(os.path.join(below, f"{number}.txt"), "w", encoding="ascii") as file:
            file.write(f"{word} {number}.txt\n" * LINES)


def commit(folder, files, word):
    fill(folder, files, word)
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", word)


def make_branch(folder, files):
    """A repository with the branch `before`."""
    os.mkdir(folder)
    git(folder, "init", "-q", "-b", "before")
    commit(folder, files, "before")


def make_project(folder, files):
    """A repository with the branches `before`, which is checked out, and `after`."""
    make_branch(folder, files)
    git(folder, "checkout", "-q", "-b", "after")
    commit(folder, files, "after")
    git(folder, "checkout", "-q", "before")


def measure(context, files, rounds):
    """{what: [microseconds]}; a round brings the files to `after`, and back, in both ways."""
    support = context.support
    place = os.path.join(context.place, f"changes-{files}")
    project, other = os.path.join(place, "project"), os.path.join(place, "other")
    environment = {**programs.ENVIRONMENT, "HOME": place,
                   "MSP_STATE_DIR": os.path.join(place, "state")}

    msp = programs.commands(support, environment)

    def timed(call, *words):
        os.sync()
        return call(*words)

    def in_git(*words):
        return timed(programs.spawn, ["/usr/bin/git", "-C", other, *words], environment)

    os.mkdir(place)
    try:
        make_project(project, files)
        shutil.copytree(project, other, symlinks=True)
        git(other, "status")  # the copies' times go to its index
        msp("create", "--name=bench", f"--workspace={project}")
        msp("exec", *support.limits(), "bench", "--", "/usr/bin/python3", "-c", CHANGE)
        series = {name: [] for name in (CHECKOUT, BACK, GIT_LIST, LIST, APPLY, UNDO)}
        for _ in range(rounds):
            series[CHECKOUT].append(in_git("checkout", "-q", "after"))
            series[BACK].append(in_git("checkout", "-q", "before"))
            series[GIT_LIST].append(in_git("diff", "--stat", "before", "after"))
            series[LIST].append(timed(msp, "diff", "bench", "--stat"))
            series[APPLY].append(timed(msp, "apply", "bench"))
            series[UNDO].append(timed(msp, "undo", "bench"))
        msp("destroy", "bench")
        return series
    finally:
        shutil.rmtree(place, ignore_errors=True)


def measure_sizes(context, sizes, prefix=""):
    """The groups of {name: (files, rounds)}, whose first size the others are compared with."""
    found, per_file = [], {}
    for name, (files, rounds) in sizes.items():
        series = measure(context, files, rounds)
        found.append(groups.Group(f"{prefix}changes-{files}", f"Changes of {name}, on disk", "us",
                                  series, base=CHECKOUT, bases={UNDO: BACK, LIST: GIT_LIST},
                                  ours=[APPLY, UNDO]))
        per_file[name] = [value / files for value in series[APPLY]]
    first, *others = sizes
    return [*found, groups.Group(f"{prefix}changes-per-file", "An apply, for each file", "us",
                                 per_file, base=first, ours=others)]


def changes(context):
    rounds = context.rounds(5, 2)
    return measure_sizes(context, {name: (files, rounds) for name, files in SIZES.items()})


def large(context):
    return [] if context.quick else measure_sizes(context, LARGE_SIZES, "large-")
