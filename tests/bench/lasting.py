# SPDX-License-Identifier: Apache-2.0
"""Sandboxes that last: checkpoints and forks through one session, with the state directory in
memory (our time) and on a disk (with its syncs); a fork's first execution beside a fresh sandbox's;
an execution in a live one, and a cold `msp exec`, beside what they are like."""
import contextlib
import os
import random
import re
import shutil
import statistics
import subprocess
import tempfile
import time

import sessions

ROUNDS = 40
FORKS = 100
FILES = 20
# What the project promises: milliseconds of ours, a ratio, seconds.
STEP_MS = 1.0
FORK_RATIO = 2.0
FORKS_S = 0.5


class Store:
    """A session whose sandboxes lie in a state directory of their own, below `place`."""

    def __init__(self, support, place):
        self.folder = tempfile.mkdtemp(prefix="msp-bench-", dir=place)
        config = os.path.join(self.folder, "config.yaml")
        with open(config, "w", encoding="ascii") as file:
            file.write("sandboxes: {most: 1000}\n")
        self.state = os.path.join(self.folder, "state")
        os.mkdir(self.state, 0o700)
        with self.environment():
            self.server = sessions.serve(support)

    @contextlib.contextmanager
    def environment(self):
        new = {"MSP_STATE_DIR": self.state, "MSP_CONFIG": os.path.join(self.folder, "config.yaml")}
        before = {name: os.environ.get(name) for name in new}
        os.environ.update(new)
        try:
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name)
                if value:
                    os.environ[name] = value

    def call(self, tool, **arguments):
        """(answer, milliseconds)"""
        answer, elapsed = self.server.ask(sessions.call(1, tool, arguments))
        if b'"isError":true' in answer or b'"error"' in answer:
            raise SystemExit(f"bench: {tool} answered {answer!r}")
        return answer, elapsed / 1000

    def create(self):
        """(id, milliseconds)"""
        answer, elapsed = self.call("create_sandbox")
        return id_in(answer), elapsed

    def fork(self, sandbox):
        answer, elapsed = self.call("checkpoint", sandbox=sandbox, action="fork")
        return id_in(answer, sandbox), elapsed

    def sh(self, sandbox, command="true"):
        return self.call("run_command", sandbox=sandbox, command=command)[1]

    def destroy(self, sandbox):
        self.call("destroy_sandbox", sandbox=sandbox)

    def close(self):
        self.server.close()
        subprocess.run(["chmod", "-R", "u+rwx", self.folder], check=True)
        shutil.rmtree(self.folder)


def id_in(answer, known=""):
    """The id in an answer that is not the known one."""
    found = [one for one in re.findall(r"\b[0-9a-hjkmnp-tv-z]{26}\b", answer.decode())
             if one != known]
    return found[0]


def measure_steps(store):
    """{what: [milliseconds]} of what is done with a sandbox of some files."""
    times = {name: [] for name in ("save", "save after an execution", "rollback", "fork",
                                   "fork and its first execution",
                                   "create and its first execution")}
    sandbox, _ = store.create()
    store.sh(sandbox, f"for i in $(seq {FILES}); do echo $i > f$i; done")
    store.call("checkpoint", sandbox=sandbox, action="save", name="base")

    def step(what, action, **arguments):
        _, elapsed = store.call("checkpoint", sandbox=sandbox, action=action, **arguments)
        times[what].append(elapsed)

    def fresh(make, name):
        made, elapsed = make()
        times[name].append(elapsed + store.sh(made))
        store.destroy(made)

    for _ in range(ROUNDS):
        store.sh(sandbox, "echo more > more")
        step("save after an execution", "save", name="after")
        step("rollback", "rollback", checkpoint="base")
        step("save", "save", name="again")
        for name in ("after", "again"):
            store.call("checkpoint", sandbox=sandbox, action="delete", checkpoint=name)
        made, elapsed = store.fork(sandbox)
        times["fork"].append(elapsed)
        store.destroy(made)
        ways = [(lambda: store.fork(sandbox), "fork and its first execution"),
                (store.create, "create and its first execution")]
        random.shuffle(ways)
        for way in ways:
            fresh(*way)
    return times, sandbox


def measure_forks(store, sandbox):
    """Seconds for so many, one after another."""
    start = time.perf_counter()
    made = [store.fork(sandbox)[0] for _ in range(FORKS)]
    elapsed = time.perf_counter() - start
    for one in made:
        store.destroy(one)
    return elapsed


def spawn(argv, environment):
    start = time.perf_counter()
    pid = os.posix_spawn(argv[0], argv, environment, file_actions=[
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
    status = os.waitpid(pid, 0)[1]
    if status:
        raise SystemExit(f"bench: {' '.join(argv)} ended with status {status:#x}")
    return (time.perf_counter() - start) * 1000


def measure_commands(support, store, sandbox):
    """{what: [milliseconds]} of `true`: in a live sandbox, bare, and by commands of their own."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": store.folder, "MSP_STATE_DIR": store.state}
    limits = support.limits()
    cold, _ = store.create()
    ways = {"bare": lambda: spawn(["/bin/true"], environment),
            "run_command in a live one": lambda: store.call(
                "run_command", sandbox=sandbox, argv=["/bin/true"])[1],
            "run_command without one": lambda: store.call("run_command", argv=["/bin/true"])[1],
            "msp run": lambda: spawn([support.MSP, "run", *limits, "--", "/bin/true"], environment),
            "msp exec, cold": lambda: spawn([support.MSP, "exec", *limits, cold, "--",
                                             "/bin/true"], environment)}
    times = {name: [] for name in ways}
    for number in range(-2, ROUNDS):  # the first rounds only warm up
        for name in random.sample(list(ways), len(ways)):
            elapsed = ways[name]()
            if number >= 0:
                times[name].append(elapsed)
    return times


def table(title, columns):
    """`columns`: place -> {what: [milliseconds]}."""
    lines = ["", f"## {title}", "",
             "| what |" + "".join(f" {name}: p50 ms | p90 ms |" for name in columns),
             "|---|" + "---:|---:|" * len(columns)]
    for what in next(iter(columns.values())):
        lines.append(f"| {what} |" + "".join(
            f" {statistics.median(times[what]):.2f} | {sessions.quantile(times[what], 0.9):.2f} |"
            for times in columns.values()))
    return lines


def judge(name, value, unit, most):
    return f"- {name}: {value:.2f}{unit}, promised at most {most}{unit} " \
           f"({'kept' if value <= most else 'NOT kept'})", value <= most


def bench(support, place):
    """(tables, promises, whether all are kept)."""
    steps, commands, forks = {}, {}, {}
    for name, folder in (("in memory", "/dev/shm"), ("on disk", place)):
        store = Store(support, folder)
        try:
            steps[name], sandbox = measure_steps(store)
            forks[name] = measure_forks(store, sandbox)
            commands[name] = measure_commands(support, store, sandbox)
        finally:
            store.close()
    lines = table(f"Sandboxes that last: through one session, {FILES} files", steps)
    lines += ["", f"{FORKS} forks, one after another: " + ", ".join(
        f"{seconds:.2f} s {name}" for name, seconds in forks.items())]
    lines += table("Sandboxes that last: `true`", commands)
    ours = {what: statistics.median(values) for what, values in steps["in memory"].items()}
    ratio = ours["fork and its first execution"] / ours["create and its first execution"]
    verdicts = [judge("a checkpoint", ours["save"], " ms", STEP_MS),
                judge("a rollback", ours["rollback"], " ms", STEP_MS),
                judge("a fork to its first execution, by a fresh sandbox's", ratio, " x",
                      FORK_RATIO),
                judge(f"{FORKS} forks", forks["in memory"], " s", FORKS_S)]
    return lines, [text for text, _ in verdicts], all(kept for _, kept in verdicts)
