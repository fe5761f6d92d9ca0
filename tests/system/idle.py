#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many sandboxes held at once by one service: all start, none is lost, all end; and what one costs.

MSP_IDLE is how many (1,000; fewer where that does not fit). The figures go to MSP_RESULTS/idle.jsonl.
Memory is not judged here: the kernel keeps some of what removed cgroups had for a while, and
service.py looks for what grows."""
import concurrent.futures
import json
import os
import time
import unittest

import units
import figures
from units import support

CLIENTS = 8
READY_MOST = 32  # POOL_MAX in supervisor/base/state.h


def default_count():
    """What fits into three quarters of the memory that is free, at most 1,000: each takes 0.9 MiB,
    namespaces and cgroups included."""
    return min(1000, available_kib() * 3 // 4 // 1024)


def available_kib():
    with open("/proc/meminfo", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("MemAvailable:"))


class Idle(units.ServiceCase):
    def setUp(self):
        self.count = int(os.environ.get("MSP_IDLE") or default_count())
        # Each has a shell that waits, so that all of them live until they are told.
        self.install(options=f"--max-executions={self.count} --max-memory=none")
        units.systemctl("start", "msp.service")
        self.home = f"{units.cgroup()}/msp.{units.main_pid()}"

    def group_kib(self, name=""):
        return int(units.read(f"{self.home}/{name}memory.current")) >> 10

    def sandboxes(self):
        return [entry.name for entry in os.scandir(self.home + "/sandboxes") if entry.is_dir()]

    def is_running(self, name):
        """In one that was made ahead there is a process too, which waits to be the command's."""
        try:
            pids = units.read(f"{self.home}/sandboxes/{name}/e0/cgroup.procs").split()
            return any(units.read(f"/proc/{pid}/comm").strip() == "sleep" for pid in pids)
        except OSError:
            return False  # half made, or half removed

    def running(self):
        """Sandboxes whose command runs, by what the kernel has in their cgroups."""
        return sum(1 for name in self.sandboxes() if self.is_running(name))

    @staticmethod
    def hold(client, count):
        """Start that many that do not end by themselves; their handles."""
        numbers = [client.post("tools/call", {"name": "run_command", "arguments": {
            "command": "exec sleep 3600", "timeout_ms": 3600000, "yield_ms": 0}})
                   for _ in range(count)]
        return [client.answer(number, 900)["_meta"]["msp/execution"]["handle"]
                for number in numbers]

    def test_all_of_them(self):
        clients = [self.client() for _ in range(CLIENTS)]
        for client in clients:
            client.command("true")
        before = {"available": available_kib(), "sandboxes": self.group_kib("sandboxes/"),
                  "supervisor": self.group_kib("supervisor/")}
        shares = [self.count // CLIENTS + (number < self.count % CLIENTS)
                  for number in range(CLIENTS)]
        start = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            handles = list(pool.map(self.hold, clients, shares))
        self.assertTrue(support.wait_until(lambda: self.running() == self.count, 900, 0.5),
                        f"{self.running()} of {self.count}")
        started = time.monotonic() - start
        self.assertEqual(units.status()["executions"]["now"], self.count)
        self.assertEqual(units.status()["executions"]["refused"], 0)
        held = {"available": available_kib(), "sandboxes": self.group_kib("sandboxes/"),
                "supervisor": self.group_kib("supervisor/")}
        time.sleep(2)
        self.assertEqual(self.running(), self.count, "none is lost")
        start = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(self.end, clients, handles))
        self.assertTrue(support.wait_until(lambda: self.running() == 0, 600, 0.1))
        self.assertTrue(support.wait_until(lambda: len(self.sandboxes()) <= READY_MOST, 600, 0.1))
        ended = time.monotonic() - start
        self.assertEqual(units.status()["executions"]["now"], 0)
        for client in clients:
            self.assertTrue(client.command("echo after").startswith("after\n"))
        self.report(before, held, started, ended)
        self.assertEqual(units.properties("NRestarts")["NRestarts"], "0")

    @staticmethod
    def end(client, handles):
        numbers = [client.post("tools/call", {"name": "kill_execution", "arguments": {
            "handle": handle}}) for handle in handles]
        for number in numbers:
            client.answer(number, 600)

    def report(self, before, held, started, ended):
        after = {"available": available_kib(), "sandboxes": self.group_kib("sandboxes/"),
                 "supervisor": self.group_kib("supervisor/")}
        found = {
            "sandboxes": self.count,
            "clients": CLIENTS,
            "start_ms": round(1000 * started / self.count, 2),
            "end_ms": round(1000 * ended / self.count, 2),
            "kib_by_cgroup": round((held["sandboxes"] - before["sandboxes"]) / self.count, 1),
            "kib_by_available": round((before["available"] - held["available"]) / self.count, 1),
            "supervisor_kib": held["supervisor"] - before["supervisor"],
            "supervisor_kib_kept": after["supervisor"] - before["supervisor"],
            "sandboxes_kib_kept": after["sandboxes"] - before["sandboxes"],
        }
        print("idle:", json.dumps(found))
        figures.record("idle", **found)


if __name__ == "__main__":
    unittest.main()
