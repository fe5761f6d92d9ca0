# SPDX-License-Identifier: Apache-2.0
"""The build that the gate compares with. Figures of another day or machine are no reference: a bare
launch alone changes by more than what the gate looks for. So the reference is a commit, whose programs
are built once and measured in turns with those of this checkout."""
import os
import shutil
import subprocess
import sys

import context
import facts
import gate

FILE = os.path.join(context.HERE, "reference")


def run(argv, purpose, **keywords):
    """The output of a command."""
    try:
        return subprocess.run(argv, check=True, capture_output=True, **keywords).stdout
    except (OSError, subprocess.CalledProcessError) as problem:
        last = getattr(problem, "stderr", b"").decode(errors="replace") or str(problem)
        raise gate.Refused(f"{purpose} failed: {last.strip()[-300:]}") from None


def named(path=FILE):
    """(a commit, {group: how much more it may cost}) of a file in which a # begins a comment: a line
    with the commit, then one for each price."""
    with open(path, encoding="utf-8") as file:
        rows = [line.partition("#")[0].split() for line in file]
    (commit,), *prices = [row for row in rows if row]
    return commit, {group: float(factor) for group, factor in prices}


def commit_of(root, name):
    """The hash that a commit's name stands for."""
    words = facts.git(root, "rev-parse", "--verify", "--end-of-options", name + "^{commit}")
    purpose = f"looking for the commit '{name}' (a whole history has it: git fetch --unshallow)"
    return run(words, purpose).decode().strip()


def build(root, name=None):
    """The Build of a commit, by default of the one in FILE; made anew unless it is whole."""
    commit = commit_of(root, name or named()[0])
    folder = os.path.join(root, "build", "reference", commit[:12])
    programs = os.path.join(folder, "build", "release", "bin")
    whole = os.path.join(folder, "whole")
    if not os.path.exists(whole):
        print(f"bench: building the reference {commit[:12]}", file=sys.stderr, flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        source = run(facts.git(root, "archive", "--format=tar", commit), f"git archive {commit[:12]}")
        run(["tar", "-x", "-C", folder], "unpacking the reference", input=source)
        run(["cmake", "--preset", "release"], "configuring the reference", cwd=folder)
        run(["cmake", "--build", "build/release"], "building the reference", cwd=folder)
        with open(whole, "w", encoding="ascii"):
            pass
    return context.Build(programs, folder)
