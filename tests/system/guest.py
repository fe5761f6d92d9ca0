#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run the tests that need a real system: cgroup v2 with its controllers, and a user's systemd.

    guest.py --build BUILD --out FOLDER [--vm] [--all] [--seconds N] [TEST...]

`./dev test` starts it, in the test machine or on a host that has all of that. It is a plain process
of a user's service, as an agent's client is: what it starts asks the system for a cgroup as it
would there. No test may fall back to weaker limits. FOLDER gets system.xml (JUnit as ctest writes
it, for tests/summary.py) and each test's output. A new file in a folder of WHOLE_FOLDERS is found;
TEST (`attack/files`, or a program's name) chooses some."""
import argparse
import glob
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from xml.sax import saxutils

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PYTHON = "/usr/bin/python3"

# In this order: `./dev test` has the sanitizers' builds beside the first minutes, and limits/ looks
# at what a neighbour takes.
WHOLE_FOLDERS = ("attack", "system", "limits")
# Of the other folders' tests, what a real system can change.
SINGLE = ("integration/cli_cgroup", "integration/cli_run", "integration/denials",
          "integration/mcp_tools", "integration/mcp_confined", "integration/sandbox_limits", "integration/stress_many",
          "integration/persistent_cli", "integration/used", "fault/killed", "fault/persistent")
# Unit tests that do more where cgroups are real, and what is asked of the kernel.
PROGRAMS = ("kernel-*", "*cgroup*")
# Of the above, what tells nothing in the test machine, and why.
LEFT_OUT_OF_VM = {
    "integration-sandbox_limits": "gigabytes within seconds: limits/ has sizes for an emulator",
    "integration-stress_many": "32 starts at once and 2 s for each: too much for an emulator",
    "attack-branches": "a real system changes nothing about repositories",
    "attack-commits": "a real system changes nothing about repositories",
    "attack-commits_fetched": "a real system changes nothing about repositories",
    "attack-commits_fsck": "a real system changes nothing about repositories",
    "attack-compromised": "its programs know the build's folder",
    "attack-consent": "a real system changes nothing about what is shown",
    "attack-filters": "a real system changes nothing about filters",
    "attack-held_paths": "a real system changes nothing about names",
    "attack-held_up": "an emulator holds up by itself what must not be held up",
    "attack-image_commits": "a real system changes nothing about names",
    "attack-protected_paths": "a real system changes nothing about the launcher's paths",
    "attack-ways_out": "its servers need openssl, and a real system changes nothing about them",
    "attack-requests": "as attack-ways_out",
    "attack-hellos": "as attack-ways_out",
    "attack-name_tunnel": "as attack-ways_out",
    "attack-secret_places": "as attack-ways_out",
    "attack-through": "as attack-ways_out",
    "attack-own_ports": "as attack-ways_out",
    "attack-agent_sets": "as attack-ways_out",
}

# What the host has shown, and cgroups of a real system change little about. Without --all the test
# machine runs it only if it is named.
SHOWN_ON_HOST = ("attack-binds", "attack-clients", "attack-denials", "attack-file_tools",
                 "attack-files", "attack-helper_images", "attack-image_roots",
                 "attack-images_taken_over", "attack-merges", "attack-network",
                 "attack-persistent", "attack-pinned", "attack-policies", "attack-proven",
                 "attack-system_calls", "attack-tracing",
                 "fault-persistent", "integration-persistent_cli")
SHOWN = "the host has shown it; ./dev test --all runs it here too"

# Of these, a real system changes some cases: cgroups end what runs, or count it. Without --all the
# test machine runs these alone of a test that is not named; the host runs all of them.
CASES_IN_VM = {
    "attack-executions": ("EveryExecution.test_by_one_server",),
    "attack-processes": ("Identity.test_more_processes", "Posture.test_nothing_is_missing"),
    "attack-standby": ("Limits",),
    "attack-standby_process": ("Waiting.test_what_runs_has_none_beside_it",
                               "Waiting.test_what_was_left_is_gone_before_one_is_begun"),
    "integration-denials": ("LeftBehind",),
    "limits-counts": ("Deep.test_path_beyond_a_page", "Names", "Unlinked.test_removed"),
}

# The emulator is ten times slower than what the tests were made for: fewer repetitions. --all has as
# many sandboxes at once as there is memory for, and more clients.
IN_VM = {"MSP_VM": "1", "MSP_STARTS": "40", "MSP_KILLS": "24", "MSP_FAULTS": "24",
         "MSP_NODE_CACHE": "/job/handed"}
SAMPLE = {"MSP_IDLE": "100", "MSP_AT_ONCE": "8", "MSP_SERVED": "40",
          "MSP_EXECUTIONS": "9", "MSP_KILLS": "12"}
EVERY = {"MSP_LIMITS": "all"}
TEST_SECONDS = 480
# The seconds of the long tests there, by which machines share them.
LONG = {"system-service": 110, "fault-killed": 95, "limits-verdicts": 100, "system-runtimes": 70,
        "system-setup": 58, "limits-neighbours": 55, "limits-counts": 39, "attack-standby": 38,
        "attack-executions": 38,
        "system-day": 60, "system-persistent": 37, "system-scope": 37, "system-idle": 32, "system-upgrade": 26,
        "system-serve_http": 25, "system-delegation": 25, "integration-cli_run": 24,
        "limits-persistent": 23, "attack-standby_process": 22, "limits-user_counters": 19,
        "integration-used": 17}
# The same with --all.
LONG_OF_ALL = {"limits-counts": 244, "system-runtimes": 210, "fault-killed": 204,
               "system-service": 200, "system-idle": 203, "system-day": 60,
               "limits-verdicts": 123, "limits-neighbours": 155, "attack-system_calls": 147,
               "attack-files": 128, "attack-processes": 105, "attack-pinned": 80,
               "attack-denials": 74, "attack-network": 66, "attack-standby": 58,
               "integration-persistent_cli": 41, "system-upgrade": 36, "attack-policies": 31,
               "attack-executions": 30, "attack-persistent": 30, "attack-file_tools": 28}
OTHER = 10
AGAIN_MOST = 4  # tests that failed and are tried once more
KILLED = -signal.SIGKILL

NOT_IN_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd]")

# Where tests leave figures: apart from those of the same tests on the host.
FIGURES = "system"


class Result:
    """How one test went; status as in ctest's files: run, fail, notrun."""

    def __init__(self, name, status, text, seconds=0.0):
        self.name, self.status, self.text, self.seconds = name, status, text, seconds

    def line(self):
        words = {"run": "passed", "fail": "FAILED", "notrun": "left out"}
        last = self.text.strip().rpartition("\n")[2] if self.status != "fail" else ""
        return f"{self.name:<34} {words[self.status]:<8} {self.seconds:6.1f} s  {last[:60]}"

    def xml(self):
        name = saxutils.quoteattr(self.name)
        text = saxutils.escape(NOT_IN_XML.sub("?", self.text))
        inside = {"run": "", "fail": '<failure message="failed"/>', "notrun": "<skipped/>"}
        return (f'\t<testcase name={name} classname={name} time="{self.seconds:.3f}" '
                f'status="{self.status}">{inside[self.status]}\n'
                f"\t\t<system-out>{text}</system-out>\n\t</testcase>\n")


def is_test(path):
    """A file without this line is a helper; this one is no test either."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return "__main__" in text and "sys.exit(main" not in text  # which a tool has


def find_tests(build):
    """(name, command) of each: scripts by folder and name, programs by name, as ctest has them."""
    scripts = [path for folder in WHOLE_FOLDERS
               for path in sorted(glob.glob(os.path.join(TESTS, folder, "*.py"))) if is_test(path)]
    scripts += [os.path.join(TESTS, name + ".py") for name in SINGLE]
    for path in scripts:
        folder, name = os.path.split(os.path.relpath(path, TESTS)[:-len(".py")])
        yield f"{folder}-{name}", [PYTHON, "-B", path]
    for pattern in PROGRAMS:
        for path in sorted(glob.glob(os.path.join(build, "tests", pattern))):
            yield os.path.basename(path), [path, "--verbose"]


def run_test(name, command, environment, seconds):
    """Its Result; whatever it started in its own session ends with it."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                   env=environment, start_new_session=True)
        try:
            code, note = process.wait(seconds), ""
        except subprocess.TimeoutExpired:
            code, note = KILLED, f"\nended after {seconds:.0f} s: it took too long\n"
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        output.seek(0)
        text = output.read().decode(errors="replace") + note
    return Result(name, "fail" if code else "run", text, time.monotonic() - start)


def write_results(folder, results, name="system"):
    """After each test: an end before the last one shall not cost what is known."""
    for result in results[-1:]:
        with open(os.path.join(folder, result.name + ".log"), "w", encoding="utf-8") as file:
            file.write(result.text)
    bad = sum(result.status == "fail" for result in results)
    with open(os.path.join(folder, name + ".xml"), "w", encoding="utf-8") as file:
        file.write(f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuite name="system" '
                   f'tests="{len(results)}" failures="{bad}">\n')
        file.writelines(result.xml() for result in results)
        file.write("</testsuite>\n")


def chosen(name, wanted):
    return not wanted or any(name == one.replace("/", "-").removesuffix(".py") for one in wanted)


def left_out_of(options):
    """The tests that this run leaves out, each with the reason."""
    if not options.vm:
        return {}
    shown = () if options.all or options.tests else SHOWN_ON_HOST
    other = {} if "MSP_KERNEL" in os.environ else {"system-old_kernel": "its kernel has a machine of its own"}
    return {**LEFT_OUT_OF_VM, **other, **dict.fromkeys(shown, SHOWN)}


def cases_of(name, options):
    """The cases that this run has of a test; none for all of them."""
    is_sample = options.vm and not options.all and not options.tests
    return CASES_IN_VM.get(name, ()) if is_sample else ()


def part(tests, left_out, seconds, number, count):
    """The share of machine `number`: of the tests, the longest first, each goes to the machine that
    has least to do so far. They stay in their order."""
    loads, names = [0] * count, [set() for _ in range(count)]
    for name, _ in sorted(tests, key=lambda test: -seconds.get(test[0], OTHER)):
        least = loads.index(min(loads))
        loads[least] += 0 if name in left_out else seconds.get(name, OTHER)
        names[least].add(name)
    return [test for test in tests if test[0] in names[number - 1]]


def share(text):
    """(K, N) of `K/N`."""
    number, _, count = text.partition("/")
    if not 1 <= int(number) <= int(count):
        raise ValueError
    return int(number), int(count)


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="the folder with bin/, probe/ and the like")
    parser.add_argument("--out", required=True)
    parser.add_argument("--list", action="store_true", help="only name what would run")
    parser.add_argument("--vm", action="store_true", help="this is the test machine")
    parser.add_argument("--share", type=share, default=(1, 1), metavar="K/N",
                        help="the K-th machine's of N")
    parser.add_argument("--all", action="store_true", help="also what the host has shown")
    parser.add_argument("--seconds", type=float, default=1200, help="for all tests (1200)")
    parser.add_argument("tests", nargs="*", metavar="TEST")
    return parser.parse_args()


def main():
    options = parse()
    build = os.path.abspath(options.build)
    deadline = time.monotonic() + options.seconds
    if options.list:
        print("\n".join("  " + name for name, _ in find_tests(build)))
        return 0
    environment = {**os.environ, "MSP_BIN": os.path.join(build, "bin"), "MSP_BUILD": build,
                   "MSP_REQUIRE_CGROUP": "1", "PYTHONDONTWRITEBYTECODE": "1",
                   **(IN_VM if options.vm else {}),
                   **(EVERY if options.all else SAMPLE if options.vm else {})}
    os.makedirs(os.path.join(options.out, FIGURES), exist_ok=True)
    environment["MSP_RESULTS"] = os.path.abspath(os.path.join(options.out, FIGURES))
    results, again = [], []
    tests = [(name, [*command, *cases_of(name, options)]) for name, command in find_tests(build)
             if chosen(name, options.tests)]
    left_out = left_out_of(options)
    seconds = LONG_OF_ALL if options.all else LONG
    for name, command in part(tests, left_out, seconds, *options.share):
        left = deadline - time.monotonic()
        if name in left_out:
            result = Result(name, "notrun", left_out[name])
        elif left < 1:
            result = Result(name, "fail", f"not started: {options.seconds:.0f} s were over\n")
        else:
            result = run_test(name, command, environment, min(TEST_SECONDS, left))
        results.append(result)
        print(result.line(), flush=True)
        if result.status == "fail":
            print(result.text, flush=True)
            if options.vm:  # what an ended test left running would serve the others
                subprocess.run(["systemctl", "--user", "stop", "msp.socket", "msp.service"],
                               check=False, capture_output=True)
            left = deadline - time.monotonic()
            if 1 < left and len(again) < AGAIN_MOST:  # as tests/run.sh does
                again.append(run_test(name, command, environment, min(TEST_SECONDS, left)))
                print("again: " + again[-1].line(), flush=True)
                write_results(options.out, again, "system-alone")
        write_results(options.out, results)
    if not results:
        print("guest.py: no test has such a name", file=sys.stderr)
    passed = {result.name for result in again if result.status == "run"}
    bad = {result.name for result in results if result.status == "fail"} - passed
    return 1 if not results or bad else 0


if __name__ == "__main__":
    sys.exit(main())
