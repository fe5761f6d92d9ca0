# SPDX-License-Identifier: Apache-2.0
"""The first `git status` in a new sandbox over a repository, beside one that does without the git
configuration which every sandbox has: files of a copy-on-write workspace have other inodes and
times than git's index says, so that it would read them all. And `git status` of a large one: the first
and the second in a sandbox which the service keeps alive, and one in a run of its own, beside the host's.
The floor is the same overlay without msp: the kernel makes an inode and a name for each file that is
looked at through it."""
import contextlib
import os
import shutil
import subprocess

import changes
import groups
import programs

FILES = 10000
WITH, WITHOUT = "git status", "git status, without the sandbox's git configuration"
HOST = "git status, on the host"
STATUS = ["/usr/bin/git", "-c", "safe.directory=*", "status"]
LARGE = 100000
FIRST, SECOND = "first git status", "second git status"
OUTSIDE, RUN = "git status, on the host", "msp run --workspace, git status"
FLOOR, SECOND_FLOOR = "first git status, bare overlay", "second git status, bare overlay"
# $1: the repository, $2: a folder for the overlay. Prints the time before, between and behind.
OVERLAY = """
mkdir -p "$2/upper" "$2/work" "$2/tree"
mount -t overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work,userxattr" none "$2/tree"
cd "$2/tree"
date +%s%N
for turn in 1 2; do
    git -c core.checkStat=minimal -c core.trustctime=false status >&2
    date +%s%N
done
"""


def repository(context):
    support = context.support
    place = os.path.join(context.place, "repository")
    project = os.path.join(place, "project")
    environment = {**programs.ENVIRONMENT, "HOME": place,
                   "MSP_STATE_DIR": os.path.join(place, "state")}

    msp = programs.commands(support, environment)

    def first(*words):
        """Microseconds; the sandbox is new."""
        msp("create", "--name=bench", f"--workspace={project}")
        try:
            return msp("exec", *support.limits(), "bench", "--", *words)
        finally:
            msp("destroy", "bench")

    os.mkdir(place)
    try:
        changes.make_project(project, FILES)
        ways = {HOST: lambda: programs.spawn(["/usr/bin/git", "-C", project, "status"], environment),
                WITH: lambda: first(*STATUS),
                WITHOUT: lambda: first("/usr/bin/env", "GIT_CONFIG_NOSYSTEM=1", *STATUS)}
        series = groups.take_turns(ways, context.rounds(10, 4), warm=1)
        return [groups.Group("repository", f"First git status of {FILES:,} files in a sandbox", "us",
                             series, base=WITHOUT, ours=[WITH])]
    finally:
        shutil.rmtree(place, ignore_errors=True)


def bare_overlay(project, folder, environment):
    """Microseconds of the first and the second `git status` in an overlay of namespaces of its own."""
    done = subprocess.run(["/usr/bin/unshare", "--user", "--map-root-user", "--mount", "/bin/sh", "-ec",
                           OVERLAY, "sh", project, folder], env=environment, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    times = [int(word) / 1000 for word in done.stdout.split()]
    subprocess.run(["chmod", "-R", "u+rwx", folder], check=True)
    shutil.rmtree(folder)
    return [behind - before for before, behind in zip(times, times[1:])]


def measure_large(context, place, stack):
    """{what: [microseconds]}"""
    support = context.support
    project = os.path.join(place, "project")
    environment = {**programs.ENVIRONMENT, "HOME": place,
                   "MSP_STATE_DIR": os.path.join(place, "state")}
    socket = "--socket=" + context.start_service(stack, env={**os.environ, **environment})

    def msp(name, *words):
        return programs.spawn([support.MSP, name, socket, *words], environment)

    def status(name):
        return msp("exec", *support.limits(), name, "--", *STATUS)

    def on_the_host():
        return programs.spawn(["/usr/bin/git", "-C", project, "status"], environment)

    changes.make_branch(project, LARGE)
    on_the_host()
    series = {name: [] for name in (OUTSIDE, FIRST, SECOND, RUN, FLOOR, SECOND_FLOOR)}
    for number in range(context.rounds(10, 4)):
        name = f"bench{number}"
        series[OUTSIDE].append(on_the_host())
        msp("create", f"--name={name}", f"--workspace={project}")
        series[FIRST].append(status(name))
        series[SECOND].append(status(name))
        msp("destroy", name)
        series[RUN].append(msp("run", *support.limits(), f"--workspace={project}", "--", *STATUS))
        first, second = bare_overlay(project, os.path.join(place, "overlay"), environment)
        series[FLOOR].append(first)
        series[SECOND_FLOOR].append(second)
    return series


def large(context):
    if context.quick:
        return []
    place = os.path.join(context.place, "repository-large")
    os.mkdir(place)
    try:
        with contextlib.ExitStack() as stack:
            series = measure_large(context, place, stack)
        return [groups.Group("repository-large", f"git status of {LARGE:,} files in a sandbox", "us",
                             series, base=OUTSIDE, ours=[FIRST, SECOND, RUN])]
    finally:
        shutil.rmtree(place, ignore_errors=True)
