# SPDX-License-Identifier: Apache-2.0
"""The price of a neighbour's work: `run_command true` of a client alone, and while an apply of many
files of the same server goes on."""
import json
import os
import time

import groups
import programs

FILES = 3000  # an apply of as many takes some thirty times as long as a call beside it
ALONE, BESIDE = "run_command, alone", "run_command, beside an apply"
PROFILE = """default_profile: mine
profiles:
  - {name: mine, description: a bench, extends: default, lasting: {apply: agent}}
"""
WRITE = "mkdir -p d{0} && cd d{0} && for i in $(seq {1}); do echo {0} > f$i; done"
APPLY = 1000  # the number of the request


class Neighbours:
    def __init__(self, context):
        self.store = programs.Store(context.support, context.place, PROFILE)
        self.project = os.path.join(self.store.folder, "project")
        os.mkdir(self.project)
        self.store.server.close()
        with self.store.environment():
            self.store.server = programs.serve(context.support, "--workspace", self.project)
        answer, _ = self.store.server.tool("create_sandbox", workspace=self.project)
        self.sandbox = programs.id_in(answer)

    def alone(self):
        return self.store.server.run(argv=["/bin/true"])

    def beside(self, number):
        """Microseconds of each call that was asked and answered before the apply's answer."""
        server, times = self.store.server, []
        server.tool("run_command", sandbox=self.sandbox, yield_ms=55000, timeout_ms=300000,
                    command=WRITE.format(number, FILES))
        server.send(programs.call(APPLY, "apply_changes", {"sandbox": self.sandbox}))
        while True:
            start, answered = time.perf_counter_ns(), set()
            server.send(programs.call(1, "run_command", {"argv": ["/bin/true"]}))
            while 1 not in answered:
                for line in server.receive():
                    message = json.loads(line)
                    if "result" in message:
                        answered.add(message["id"])
                        if message["result"].get("isError"):
                            raise programs.Failed(f"a call failed: {line[:400]!r}")
            if APPLY in answered:
                return times
            times.append((time.perf_counter_ns() - start) / 1000)


def neighbours(context):
    here = Neighbours(context)
    series = {ALONE: [], BESIDE: []}
    try:
        for number in range(context.rounds(4, 2)):
            beside = here.beside(number)
            series[ALONE] += [here.alone() for _ in beside]
            series[BESIDE] += beside
    finally:
        here.store.close()
    return [groups.Group("neighbours", f"A call beside an apply of {FILES:,} files, on disk", "us",
                         series, base=ALONE, ours=[BESIDE])]
