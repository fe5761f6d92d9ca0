#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many executions of every kind through one server, and some through `msp run`: each gets its own
right answer, no process of ours grows, and nothing is left.

    soak.py [--executions N] [--runs N] [--out FILE]

The figures go to FILE as JSON. A process is flat when, from the end of the warm-up to the end, its
descriptors are the same and its resident memory has grown by at most 1 %, or by what the kernel's
own counting leaves open."""
import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import random
import statistics
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import leftovers  # noqa: E402  (its folder is known from here on)
import support  # noqa: E402

AT_ONCE = 8
SAMPLES = 40  # in all; for each of them the server is idle for a moment
WARM_UP = 0.2  # of the executions
GROWTH = 1.01
KEPT = 264  # more than a server keeps, in number and in bytes, of outputs that were cut
# The kernel counts resident pages per CPU, in batches of 32 pages.
COUNTING_KIB = 32 * os.cpu_count() * os.sysconf("SC_PAGE_SIZE") // 1024
ANSWER_S = 60

Kind = collections.namedtuple("Kind", "weight tool arguments is_right")


def command(text, **more):
    return lambda mark: dict(command=text.replace("MARK", mark), **more)


def says(expected):
    return lambda mark, text: expected.replace("MARK", mark) in text


KINDS = {
    "true": Kind(30, "run_command", command("true"), says("[exit 0")),
    "output": Kind(20, "run_command", command("echo MARK; echo MARK >&2"), says("MARK\n")),
    "argv": Kind(5, "run_command", lambda mark: {"argv": ["echo", mark]}, says("MARK\n[exit 0")),
    "input": Kind(5, "run_command", lambda mark: {"command": "cat", "stdin": mark * 100},
                  says("MARKMARK")),
    "much output": Kind(5, "run_command", command("head -c 300000 /dev/zero | tr '\\0' x; echo MARK"),
                        says("bytes omitted")),
    "exit code": Kind(8, "run_command", command("echo MARK; exit 3"), says("MARK\n[exit 3")),
    "killed": Kind(5, "run_command", command("kill -9 $$"), says("SIGKILL")),
    "left behind": Kind(4, "run_command", command("setsid sleep 60 & (sleep 60 &); echo MARK"),
                        says("MARK\n[2 background processes were ended with the command")),
    "timeout": Kind(2, "run_command", command("sleep 60", timeout_ms=150), says("timeout")),
    "code": Kind(6, "run_code", lambda mark: {"language": "bash", "code": f"echo {mark}"},
                 says("MARK\n[exit 0")),
    "not found": Kind(3, "run_command", lambda mark: {"argv": ["no-such-" + mark]},
                      says("no-such-MARK")),
    "no profile": Kind(3, "run_command", command("true", profile="none"), says("none")),
    "wrong arguments": Kind(2, "run_command", lambda mark: {"command": 7}, says("command")),
    "cancelled": Kind(2, "run_command", command("sleep 60"), None),
}


class Client:
    """One server, many calls at once."""

    def __init__(self):
        self.server = support.Server()
        self.server.initialize()
        below = support.descendants(self.server.process.pid)
        self.processes = {"supervisor": self.server.process.pid, "factory": below[0],
                          "broker": below[1]}
        self.lock = threading.Lock()
        self.waiting = {}
        threading.Thread(target=self.distribute, daemon=True).start()

    def distribute(self):
        while True:
            try:
                message = self.server.receive(timeout=3600)
            except (support.Gone, TimeoutError):
                break
            self.waiting.pop(message["id"]).set_result(message)
        for future in self.waiting.values():
            future.set_exception(support.Gone(self.server.error_text.decode()))

    def send(self, message):
        with self.lock:
            self.server.send(message)

    def execute(self, name, mark):
        """What was wrong with its answer, None for nothing."""
        kind = KINDS[name]
        future = concurrent.futures.Future()
        number = next(self.server.ids)
        self.waiting[number] = future
        self.send({"jsonrpc": "2.0", "id": number, "method": "tools/call",
                   "params": {"name": kind.tool, "arguments": kind.arguments(mark)}})
        if kind.is_right is None:
            self.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                       "params": {"requestId": number}})
            del self.waiting[number]  # an answer to it would end the distribution
            return None
        try:
            text = support.text_of(future.result(ANSWER_S)["result"])
        except (KeyError, support.Gone, concurrent.futures.TimeoutError) as error:
            return f"{name} {mark}: {error!r}"
        return None if kind.is_right(mark, text) else f"{name} {mark}: {text[:500]}"

    def descriptors(self):
        return {role: leftovers.idle_descriptor_count(pid, role == "supervisor")
                for role, pid in self.processes.items()}

    def sample(self):
        """Each process's memory and descriptors when nothing runs."""
        known = set(self.processes.values())
        if not support.wait_until(lambda: set(leftovers.living()) <= known, 60):
            raise AssertionError(f"still there: {leftovers.describe(leftovers.living(known))}")
        descriptors = self.descriptors()
        return {role: (leftovers.resident_kib(pid), descriptors[role])
                for role, pid in self.processes.items()}


def soak_server(count, seed):
    """(figures, what was wrong)."""
    client = Client()
    numbers = random.Random(seed)
    names = numbers.choices(list(KINDS), [kind.weight for kind in KINDS.values()], k=count)
    marks = (f"mark{number}" for number in itertools.count())
    wrong, samples = [], []
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        wrong += [text for text in pool.map(client.execute, ["much output"] * KEPT,
                                            itertools.islice(marks, KEPT)) if text]
        for start in range(0, count, max(1, count // SAMPLES)):
            part = names[start:start + max(1, count // SAMPLES)]
            wrong += [text for text in pool.map(client.execute, part, itertools.islice(
                marks, len(part))) if text]
            samples.append(client.sample())
            if len(wrong) > 20:
                break
    seconds = time.monotonic() - begin
    code = client.server.close()
    if code != 0 or client.server.error_text:
        wrong.append(f"the server ended with {code}: {client.server.error_text!r}")
    processes, grown = judge(samples)
    return {"executions": len(names), "seconds": round(seconds, 1),
            "kinds": dict(collections.Counter(names)), "processes": processes}, wrong + grown


def judge(samples):
    """Each process from the end of the warm-up to the end."""
    rest = samples[int(len(samples) * WARM_UP):]
    part = max(1, len(rest) // 4)
    rows, wrong = {}, []
    for role in samples[0]:
        def middle(of):
            return round(statistics.median(sample[role][0] for sample in of))
        first, last = middle(rest[:part]), middle(rest[-part:])
        fds = [sample[role][1] for sample in rest]
        rows[role] = {"rss_kib_first": first, "rss_kib_last": last,
                      "rss_kib_all": [sample[role][0] for sample in samples],
                      "fds_first": fds[0], "fds_last": fds[-1]}
        if last > max(first * GROWTH, first + COUNTING_KIB):
            wrong.append(f"{role} has grown from {first} to {last} KiB")
        if len(set(fds)) != 1:
            wrong.append(f"{role} held {sorted(set(fds))} descriptors")
    return rows, wrong


# Exit code and output of `msp run`.
RUNS = (
    (["true"], 0, ""), (["/bin/sh", "-c", "echo up; exit 7"], 7, "up\n"),
    (["/bin/sh", "-c", "kill -9 $$"], 137, ""), (["no such command"], 127, ""),
    (["/bin/sh", "-c", "setsid sleep 60 & echo up"], 0, "up\n"), (["sleep", "60"], 124, ""),
)


def run_once(number):
    words, code, output = RUNS[number % len(RUNS)]
    result = support.run(*words, options=("--timeout", "0.2") if words[0] == "sleep" else ())
    if (result.returncode, result.stdout) == (code, output):
        return None
    return f"run {words}: {result.returncode} {result.stdout!r} {result.stderr!r}"


def soak_runs(count):
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        wrong = [text for text in pool.map(run_once, range(count)) if text]
    return {"runs": count, "run_seconds": round(time.monotonic() - begin, 1)}, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--executions", type=int, default=500)
    parser.add_argument("--runs", type=int, help="of msp run (a twentieth of the executions)")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--out", default=os.path.join(support.ROOT, "build", "results",
                                                      "soak.json"))
    options = parser.parse_args()
    if os.geteuid() == 0:
        print("soak: needs an ordinary user", file=sys.stderr)
        return 1
    leftovers.become_reaper()
    support.limits()
    before = leftovers.Snapshot()
    print(f"{options.executions} executions, seed {options.seed}", flush=True)
    figures, wrong = soak_server(options.executions, options.seed)
    more, wrong_runs = soak_runs(options.runs or max(1, options.executions // 20))
    gone = leftovers.wait_gone(time.monotonic())
    leaks = before.left()
    if gone is None:
        leaks["processes"] = leftovers.describe(leftovers.living())
    figures.update(more, leaks=leaks, wrong=wrong + wrong_runs, seed=options.seed,
                   limits="fallback" if support.limits() else "cgroup")
    os.makedirs(os.path.dirname(options.out), exist_ok=True)
    with open(options.out, "w", encoding="utf-8") as file:
        json.dump(figures, file, indent=1)
        file.write("\n")
    for text in figures["wrong"]:
        print(f"WRONG {text}")
    for name, found in leaks.items():
        print(f"LEFT {name}: {found}")
    for role, row in figures["processes"].items():
        print(f"{role}: {row['rss_kib_first']} -> {row['rss_kib_last']} KiB, {row['fds_first']} -> "
              f"{row['fds_last']} descriptors")
    print(f"{figures['executions']} executions in {figures['seconds']} s, {figures['runs']} runs "
          f"in {figures['run_seconds']} s")
    return 1 if figures["wrong"] or leaks else 0


if __name__ == "__main__":
    sys.exit(main())
