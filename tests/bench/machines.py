# SPDX-License-Identifier: Apache-2.0
"""A virtual machine's whole life, start to end: by `msp run` in the profile vm, and by the same msp-vm,
kernel and QEMU without a sandbox. The difference is what msp costs."""
import os
import shutil
import subprocess
import sys

import context as bench_context
import groups
import programs

sys.path.insert(0, os.path.join(bench_context.ROOT, "tests", "integration"))
import machines_support  # noqa: E402

IN_MSP, OUTSIDE = "machine, in msp", "machine, bare"


def machine_rows(context):
    """A group, for the page of runtimes; without QEMU or a kernel it says what is missing."""
    folder = os.path.join(context.place, "machines")
    os.mkdir(folder, 0o700)
    try:
        return [_measure(context, folder)]
    except machines_support.Missing as problem:
        return [groups.Group("machines", "A virtual machine, start to end", "us", {},
                             left_out={IN_MSP: str(problem), OUTSIDE: str(problem)})]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _measure(context, folder):
    environment = {**programs.ENVIRONMENT, "HOME": folder, "MSP_STATE_DIR": folder}
    msp = context.support.MSP
    subprocess.run([msp, "vm", "prepare", machines_support.kernel_package()], env=environment,
                   check=True, capture_output=True)
    bare = [os.path.join(folder, "vm", "current", "msp-vm"), "--memory", "1G", "--", "/bin/true"]
    inside = [msp, "run", "--standalone", *context.support.limits(), "--profile", "vm", "--",
              "/bin/true"]
    series = groups.take_turns({IN_MSP: lambda: programs.spawn(inside, environment),
                                OUTSIDE: lambda: programs.spawn(bare, environment)},
                               context.rounds(20, 2), warm=1)
    return groups.Group("machines", "A virtual machine, start to end", "us", series, base=OUTSIDE,
                        ours=[IN_MSP])
