# SPDX-License-Identifier: Apache-2.0
"""Programs with a plan that shows more of the host than the shipped one, as an operator's file can
say it. Nothing here is a test.

A change is one tuple: ("bind" | "writable" | "overlay" | "copy", profile, from, at, words...),
("workspace", path) or ("protect", path); see tests/plans/plan_change.c."""
import os
import shutil
import subprocess

import support

BUILD = os.environ.get("MSP_BUILD") or os.path.dirname(support.BIN)
CHANGE = os.path.join(BUILD, "plans", "plan-change")
# Beside msp, whose own file has to lie in the folder.
OTHERS = ("msp-supervisor", "msp-broker", "msp-child-init", "msp-scope", "msp-audit", "msp-opener")


def programs(folder, *changes, child_init=None):
    """Fill the folder; msp's path. `child_init`: another file in its place, of a build that lacks a
    layer, and with it the supervisor beside it that does not have the layers tried."""
    shutil.copy(support.MSP, folder)
    for name in OTHERS:
        source = os.path.join(support.BIN, name)
        if name == "msp-child-init" and child_init:
            source = child_init
        if name == "msp-supervisor" and child_init:
            source = os.path.join(os.path.dirname(child_init), "supervisor-without-probe")
        if os.path.exists(source):
            os.symlink(source, os.path.join(folder, name))
    change_plan(folder, *changes)
    return os.path.join(folder, "msp")


def change_plan(folder, *changes):
    """The plan alone; the indexes (profile, mount) of the new records."""
    result = subprocess.run([CHANGE, os.path.join(support.BIN, "builtin.policy"),
                             os.path.join(folder, "builtin.policy"),
                             *(",".join(change) for change in changes)], check=True, text=True,
                            stdout=subprocess.PIPE)
    return [tuple(map(int, line.split())) for line in result.stdout.splitlines()]


def run(msp, *command, options=(), **keywords):
    """`msp run OPTIONS -- COMMAND` with these programs; a CompletedProcess."""
    keywords.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run([msp, "run", "--standalone", *support.limits(), *options, "--", *command],
                          text=True, capture_output=True, timeout=60, check=False, **keywords)
