# SPDX-License-Identifier: Apache-2.0
"""What the tests in this folder share: their tools, and which cases are tried. Nothing here is a
test.

MSP_FAULTS=all tries every case; else each test tries as many as an ordinary run has time for,
chosen by MSP_SEED, which is printed."""
import json
import os
import random
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "integration"), os.path.join(HERE, "..", "attack")]
import leftovers  # noqa: E402  (their folders are known from here on)
import support  # noqa: E402

BUILD = os.environ.get("MSP_BUILD") or os.path.dirname(support.BIN)
HOOKED = os.path.join(BUILD, "hooked")  # programs that name their stages
IS_ALL = support.IS_ALL
SEED = support.SEED


def tool(name):
    return os.path.join(BUILD, "fault", name)


def prepare(*tools):
    """For setUpModule."""
    if os.geteuid() == 0:
        raise unittest.SkipTest("needs an ordinary user")
    for name in tools:
        if not os.access(tool(name), os.X_OK):
            raise unittest.SkipTest(f"needs {tool(name)}, which the dev build makes")
    leftovers.become_reaper()
    support.limits()


def sample(cases, most):
    """At most so many of the cases, in their order."""
    cases = list(cases)
    if IS_ALL or len(cases) <= most:
        return cases
    print(f"{most} of {len(cases)} cases, MSP_SEED={SEED}", file=sys.stderr)
    chosen = set(random.Random(SEED).sample(range(len(cases)), most))
    return [case for number, case in enumerate(cases) if number in chosen]


def call_line(number, tool_name="run_command", **arguments):
    """A client's line that calls a tool."""
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {
        "name": tool_name, "arguments": arguments}}).encode() + b"\n"


class Bystander:
    """Another client with a server of its own, which nothing may touch."""

    def __init__(self):
        self.server = support.Server()
        self.server.initialize()
        self.pids = self.processes()
        self.is_well()  # not of its processes: a sandbox that waited for the first command
        self.pids &= self.processes()

    def processes(self):
        return {self.server.process.pid, *support.descendants(self.server.process.pid)}

    def is_well(self):
        result = self.server.call("run_command", command="echo bystander", timeout=30)
        return support.text_of(result).startswith("bystander\n[exit 0") and \
            self.pids <= self.processes()

    def others(self):
        """What lives below this test and is not the bystander's."""
        return [pid for pid in leftovers.living() if pid not in self.processes()]

    def wait_others_gone(self, limit=15):
        """What is left of everything else then, described."""
        support.wait_until(lambda: not self.others(), limit)
        return leftovers.describe(self.others())
