# SPDX-License-Identifier: Apache-2.0
"""The stages of one launch, as results tell them, each beside a bare launch of the same round: of a
tool's call, in a fresh sandbox and in a live one, and of `msp run`. What the stages do not have,
such as the start of msp itself, is `outside`."""
import contextlib
import json
import re
import subprocess
import time

import groups
import launch
import programs

TRUE = launch.TRUE


def of_call(server, **arguments):
    """{stage: microseconds} of a tool's call."""
    answer, elapsed = server.tool("run_command", argv=TRUE, **arguments)
    facts = json.loads(answer)["result"].get("_meta", {}).get("msp/execution", {})
    return with_outside(facts.get("timings_us"), elapsed)


def of_run(argv):
    """The same of `msp run --timings`, which says it on its standard error."""
    start = time.perf_counter_ns()
    result = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            env=programs.ENVIRONMENT, check=False)
    elapsed = (time.perf_counter_ns() - start) / 1000
    found = re.search(r"microseconds: (.*), together", result.stderr)
    if result.returncode != 0 or not found:
        raise programs.Failed(f"msp run --timings said {result.stderr[-200:]!r}")
    return with_outside({name: int(value) for name, value in
                         re.findall(r"([a-z]+) (\d+)", found.group(1))}, elapsed)


def with_outside(timings, elapsed):
    if not timings:
        raise programs.Failed("the result does not tell its timings")
    return timings | {"outside": max(0.0, elapsed - sum(timings.values()))}


def spread(series):
    """Of rows of stages a series for each stage; their order is that of the launch."""
    found = {"bare": series["bare"]}
    for name, rows in series.items():
        for stage in rows[0] if name != "bare" else ():
            found[f"{name}: {stage}"] = [row[stage] for row in rows]
    return found


def stages(context):
    with contextlib.ExitStack() as stack:
        msp = launch.Msp(context, stack)
        run = [context.support.MSP, "run", "--timings", *msp.limits]
        ways = {"bare": lambda: programs.spawn(TRUE),
                "MCP run_command": lambda: of_call(msp.server),
                "MCP run_command, live sandbox": lambda: of_call(msp.store.server,
                                                                 sandbox=msp.sandbox),
                "msp run, alone": lambda: of_run([*run, "--standalone", "--", *TRUE]),
                "msp run, service": lambda: of_run([*run, "--socket=" + msp.socket, "--", *TRUE])}
        series = spread(groups.take_turns(ways, context.rounds(120, 40), pause=launch.PAUSE))
        return [groups.Group("stages", "Stages of a launch of `/bin/true`", "us", series,
                             base="bare", ours=[name for name in series if name != "bare"],
                             stages=True)]
