# SPDX-License-Identifier: Apache-2.0
"""The first `git status` in a new sandbox over a repository, beside one that does without the git
configuration which every sandbox has: files of a copy-on-write workspace have other inodes and
times than git's index says, so that it would read them all."""
import os
import shutil

import changes
import groups
import programs

FILES = 10000
WITH, WITHOUT = "git status", "git status, without the sandbox's git configuration"
HOST = "git status, on the host"
STATUS = ["/usr/bin/git", "-c", "safe.directory=*", "status"]


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
