#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast msp is, beside bare programs and other launchers, in one run. Groups of measurements are
in files of their own; what they have in common is in groups.py and context.py."""
import argparse
import contextlib
import json
import os
import pwd
import subprocess
import sys
import tempfile
import time

import account
import changes
import context
import facts
import filters
import gate
import groups
import image_costs
import persistent
import launch
import machines
import many
import neighbours
import network
import plot
import programs
import protocol
import rates
import reference
import report
import repository
import runtime_costs
import runtime_page
import scale
import stages
import streams
import targets

sys.path.insert(0, os.path.join(context.ROOT, "tests", "integration"))

JOBS = {"launch": launch.true, "burst": launch.burst, "python": launch.python,
        "node": launch.node, "stages": stages.stages, "protocol": protocol.protocol,
        "stream": streams.streams, "rates": rates.rates, "scale": scale.scale,
        "persistent": persistent.persistent, "filters": filters.filters,
        "changes": changes.changes, "configuration": launch.configuration, "turns": launch.turns,
        "repository": repository.repository, "status": repository.large, "large": changes.large, "many": many.many,
        "neighbours": neighbours.neighbours, "network": network.network,
        "runtimes": runtime_costs.runtimes,
        "images": image_costs.images, "machines": machines.machine_rows}
# What the gate looks at: launches, calls and streams, and what explains them.
GATED = ("launch", "burst", "python", "stages", "protocol", "stream", "rates", "scale", "persistent",
         "neighbours")
# Longest that one may take; all that ends well takes far less.
JOB_SECONDS = {"large": 3600, "changes": 900, "status": 900, "runtimes": 1200, "images": 1200,
               "machines": 600}
JOB_SECONDS_ELSE = 300
USAGE, BROKEN, NO_USER = 64, 65, 67


class Parser(argparse.ArgumentParser):
    def error(self, message):
        fail(USAGE, message)


def fail(code, text):
    print(f"bench: {text}", file=sys.stderr)
    sys.exit(code)


# --- one run ------------------------------------------------------------------------------------

def run_jobs(names, given):
    """{"groups", "failed", "limits", "user"} of these jobs, in the process that measures."""
    found, failed = [], {}
    for name in names:
        print(f"bench: {name}", file=sys.stderr, flush=True)
        try:
            with programs.deadline(JOB_SECONDS.get(name, JOB_SECONDS_ELSE)):
                done = JOBS[name](given)
            for group in done:
                group.job = name
            found += done
        except (programs.Failed, OSError, AssertionError,
                subprocess.SubprocessError) as problem:
            failed[name] = str(problem)[:400]
            print(f"bench: {name} failed: {failed[name]}", file=sys.stderr)
    return {"groups": groups.to_json(found), "failed": failed,
            "limits": given.support.limits_name(), "user": pwd.getpwuid(os.getuid()).pw_name}


def measure_here(names, place, arguments, meter):
    state = os.path.join(place, "state")
    os.mkdir(state, 0o700)
    os.environ.update(MSP_BIN=os.path.join(place, "bin"), MSP_STATE_DIR=state)
    programs.ENVIRONMENT["MSP_STATE_DIR"] = state  # the account of ./dev has no home directory
    import support  # after MSP_BIN is known

    with contextlib.closing(context.Context(support, place, arguments.quick, arguments.peers,
                                            meter)) as given:
        return run_jobs(names, given)


def run(names, arguments, build=None):
    """A whole result of a build, and its groups."""
    build = build or context.Build(arguments.bin, context.ROOT)
    start = time.monotonic()
    known = facts.gather(build)
    entry = pwd.getpwnam(arguments.account) if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="msp-bench-", dir="/var/tmp") as place:
        context.prepare(build, place)
        try:
            found = account.run_as(entry, place, lambda meter: measure_here(names, place, arguments,
                                                                            meter))
        finally:
            context.end_left(place)
    known |= {"load_after": round(os.getloadavg()[0], 2), "limits": found["limits"],
              "user": found["user"]}
    measured = groups.from_json(found["groups"])
    return {"version": 1, "facts": known, "quick": arguments.quick,
            "seconds": time.monotonic() - start, "failed": found["failed"],
            "targets": targets.judge_all(measured), "groups": found["groups"]}, measured


# --- what is done with it -----------------------------------------------------------------------

def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def write_page(result, measured, page, image):
    """The page, and beside it the image where there are launch times."""
    shown = next((group for group in measured if group.name == "true"), None)
    if shown:
        write(image, plot.distributions(shown))
    write(page, report.page(result, measured, os.path.basename(image) if shown else ""))


def fill_runtimes(result, measured, page):
    with open(page, encoding="utf-8") as file:
        text = file.read()
    write(page, runtime_page.fill(text, result, measured))


def finish(result, measured, arguments):
    os.makedirs(arguments.out, exist_ok=True)
    path = os.path.join(arguments.out, "bench")
    write(path + ".json", json.dumps(result) + "\n")
    write_page(result, measured, path + ".md", path + ".svg")
    if arguments.docs:
        docs = os.path.join(context.ROOT, "docs", "performance")
        write_page(result, measured, docs + ".md", docs + ".svg")
        fill_runtimes(result, measured, os.path.join(context.ROOT, "docs", "runtimes.md"))
    if arguments.json:
        print(json.dumps(result))
    else:
        with open(path + ".md", encoding="utf-8") as file:
            print(file.read(), end="")
    missed = [row["what"] for row in result["targets"] if row["met"] is False]
    return 1 if result["failed"] or arguments.check and missed else 0


def load(path):
    """A result that another run wrote."""
    try:
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
        measured = groups.from_json(result["groups"])
        return result | {"targets": targets.judge_all(measured)}, measured
    except (OSError, ValueError, KeyError, TypeError) as problem:
        return fail(BROKEN, f"{path} is not the result of a run: {problem}")


def pass_gate(arguments, names):
    """The build's first run is between those of the reference: what the machine does in the meantime
    is a spread of the reference."""
    def measure(jobs, build=None):
        result, measured = run(jobs, arguments, build)
        if result["failed"]:
            raise gate.Refused(f"not all was measured of {build or 'this build'}: " + "; ".join(
                f"{name}: {why}" for name, why in result["failed"].items()))
        return measured

    try:
        other = reference.build(context.ROOT, arguments.against)
        before, found, after = measure(names, other), measure(names), measure(names, other)
        prices = {} if arguments.against else reference.named()[1]
        is_kept, lines = gate.compare(gate.make([before, after], prices), found, measure)
    except gate.Refused as problem:
        fail(BROKEN, problem)
    print("\n".join(lines))
    return 0 if is_kept else 1


# --- arguments ----------------------------------------------------------------------------------

def names_of(text):
    names = text.split(",")
    for name in names:
        if name not in JOBS:
            raise argparse.ArgumentTypeError(
                f"there is no group '{name}'; there are {', '.join(JOBS)}")
    return names


def count_of(text):
    if not text.isdecimal() or not 1 <= int(text) <= 50:
        raise argparse.ArgumentTypeError(f"wants a number from 1 to 50, not '{text}'")
    return int(text)


def parse():
    parser = Parser(prog="./dev bench", description="Measure msp beside bare programs and other "
                    "launchers; writes bench.md, bench.json and bench.svg into build/.",
                    allow_abbrev=False)
    parser.add_argument("--peers", action="store_true", help="with all launchers that are here")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, and no group "
                        "large: some minutes")
    parser.add_argument("--only", type=names_of, metavar="GROUP,...", help=", ".join(JOBS))
    parser.add_argument("--json", action="store_true", help="print JSON instead of the page")
    parser.add_argument("--check", action="store_true", help="fail when a target is missed")
    parser.add_argument("--docs", action="store_true", help="also write docs/performance.md "
                        "and the table of docs/runtimes.md")
    parser.add_argument("--from", dest="source", metavar="FILE",
                        help="measure nothing: take what a run wrote, such as build/bench.json")
    parser.add_argument("--gate", action="store_true", help="compare the ratios with those of the "
                        "reference's build, measured in turns; fails when one grew")
    parser.add_argument("--against", metavar="COMMIT", help="the gate's reference, instead of the "
                        "commit in tests/bench/reference")
    parser.add_argument("--bin", default="build/release/bin", help=argparse.SUPPRESS)
    parser.add_argument("--out", default="build", metavar="DIR", help="where to write (build)")
    parser.add_argument("--account", default="msp", help="who measures when root starts it (msp)")
    arguments = parser.parse_args()
    if os.path.exists(arguments.out) and not os.path.isdir(arguments.out):
        parser.error(f"--out: '{arguments.out}' is not a folder: name one, or a new one")
    if arguments.gate and (arguments.source or arguments.docs or arguments.json or arguments.peers):
        parser.error("--gate goes without --from, --docs, --json and --peers")
    if arguments.against and not arguments.gate:
        parser.error("--against is for --gate: add it")
    return arguments


def main():
    arguments = parse()
    if arguments.source:
        return finish(*load(arguments.source), arguments)
    if os.geteuid() == 0:
        try:
            pwd.getpwnam(arguments.account)
        except KeyError:
            fail(NO_USER, f"there is no account '{arguments.account}': ./dev setup makes msp")
    try:
        if arguments.gate:
            arguments.quick = True
            return pass_gate(arguments, arguments.only or GATED)
        return finish(*run(arguments.only or list(JOBS), arguments), arguments)
    except context.Missing as problem:
        return fail(1, problem)


if __name__ == "__main__":
    sys.exit(main())
