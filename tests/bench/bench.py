#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long it takes to run a command isolated: `msp run`, an MCP run_command in a running server,
bwrap with the same binds and the same system call filter, and bare; then what a running server
does (sessions.py), sandboxes that last (lasting.py), and what a profile's system call filter costs
(filters.py). All launchers take turns in one run, in an order shuffled anew each round: only the
ratios mean something elsewhere."""
import argparse
import json
import os
import platform
import pwd
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import filters  # noqa: E402  (beside this file)
import lasting  # noqa: E402
import sessions  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMMANDS = {"/bin/true": ["/bin/true"],
            "python3 -c 'print(1)'": ["/usr/bin/python3", "-c", "print(1)"]}
BASELINE = "bwrap --unshare-all, seccomp"
# What the project promises, as a ratio to the baseline for /bin/true.
PROMISES = {"msp run": 1.5, "MCP run_command": 0.6}
# What observing refused calls may cost a run that has none, as a ratio.
UNOBSERVED = "msp run, not observed"
OBSERVING = 1.02
FILTER_FD = 9


def write_filter(folder, place):
    """The default profile's system call filter out of builtin.policy; its path."""
    reader, path = os.path.join(place, "reader"), os.path.join(place, "filter")
    subprocess.run(["gcc", "-D_GNU_SOURCE", "-I", ROOT, "-o", reader,
                    os.path.join(ROOT, "tests", "bench", "filter.c"),
                    os.path.join(ROOT, "common", "plan.c")], check=True)
    with open(os.path.join(folder, "builtin.policy"), "rb") as policy, open(path, "wb") as out:
        subprocess.run([reader, "default"], stdin=policy, stdout=out, check=True)
    return path


def copy_unobserved(folder, place):
    """The same programs with a plan whose filter answers EPERM itself; their folder."""
    tool, copy = os.path.join(place, "unobserved"), os.path.join(place, "bin-unobserved")
    subprocess.run(["gcc", "-D_GNU_SOURCE", "-I", ROOT, "-o", tool,
                    os.path.join(ROOT, "tests", "bench", "unobserved.c"),
                    os.path.join(ROOT, "common", "plan.c")], check=True)
    shutil.copytree(folder, copy)
    policy = os.path.join(copy, "builtin.policy")
    with open(policy, "rb") as file:
        result = subprocess.run([tool, "default"], stdin=file, capture_output=True, check=True)
    with open(policy, "wb") as file:
        file.write(result.stdout)
    return copy


def build_echo(place):
    subprocess.run(["gcc", "-O2", "-o", os.path.join(place, "echo"),
                    os.path.join(ROOT, "tests", "bench", "echo.c")], check=True)


class Spawned:
    """A command line, started anew for each measurement with posix_spawn (vfork underneath)."""

    def __init__(self, prefix, filter_path=None, environment=None):
        self.prefix, self.environment = prefix, environment or {"PATH": "/usr/bin:/bin"}
        null = (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0)
        self.actions = [null, (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
        if filter_path:
            self.actions.append((os.POSIX_SPAWN_OPEN, FILTER_FD, filter_path, os.O_RDONLY, 0))

    def measure(self, command):
        argv = self.prefix + command
        start = time.perf_counter_ns()
        pid = os.posix_spawn(argv[0], argv, self.environment, file_actions=self.actions)
        status = os.waitpid(pid, 0)[1]
        elapsed = time.perf_counter_ns() - start
        if status != 0:
            raise SystemExit(f"bench: {' '.join(argv)} ended with status {status:#x}")
        return elapsed / 1000

    def close(self):
        pass


class Session:
    """One running `msp serve`; a measurement is a tools/call, from writing the line to having read
    the answer's. Reads with os.read: a reader thread would add its own wake-up."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, bufsize=0)
        self.number = 0
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                "clientInfo": {"name": "bench", "version": "1"}})

    def ask(self, method, params):
        """The answer's line and the microseconds until it was there."""
        self.number += 1
        line = json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method,
                           "params": params}).encode() + b"\n"
        start = time.perf_counter_ns()
        os.write(self.process.stdin.fileno(), line)
        answer = b""
        while not answer.endswith(b"\n"):
            part = os.read(self.process.stdout.fileno(), 65536)
            if not part:
                raise SystemExit("bench: msp serve ended")
            answer += part
        return answer, (time.perf_counter_ns() - start) / 1000

    def measure(self, command):
        answer, elapsed = self.ask("tools/call", {"name": "run_command",
                                                  "arguments": {"argv": command}})
        if b'"isError":true' in answer or b'"error"' in answer or b"exit 0" not in answer:
            raise SystemExit(f"bench: run_command answered {answer!r}")
        return elapsed

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(10)


def bwrap(options=()):
    """bwrap as one would use it for the same job: the binds of the default profile."""
    arguments = ["/usr/bin/bwrap", "--unshare-all", "--die-with-parent", "--new-session",
                 "--clearenv", "--setenv", "PATH", "/usr/bin:/bin", "--uid", "1000", "--gid", "1000",
                 "--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib64"):
        if os.path.islink("/" + name):
            arguments += ["--symlink", "usr/" + name, "/" + name]
    for path in ("/etc/ld.so.cache", "/etc/alternatives", "/etc/ssl/certs", "/etc/localtime"):
        if os.path.exists(path):
            arguments += ["--ro-bind", path, path]
    arguments += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/dev/shm",
                  "--tmpfs", "/home/agent", "--tmpfs", "/workspace", "--chdir", "/workspace"]
    return [*arguments, *options, "--"]


def launchers(support, filter_path, unobserved):
    table = {
        "bare": Spawned([]),
        UNOBSERVED: Spawned([os.path.join(unobserved, "msp"), "run", *support.limits(), "--"]),
        "msp run": Spawned([support.MSP, "run", *support.limits(), "--"]),
        "MCP run_command": Session([support.MSP, "serve", *support.limits()]),
    }
    if os.path.exists("/usr/bin/bwrap"):
        table["bwrap --unshare-all"] = Spawned(bwrap())
        table[BASELINE] = Spawned(bwrap(["--seccomp", str(FILTER_FD)]), filter_path)
    return table


def measure(table, rounds):
    """{command: {launcher: [microseconds]}}"""
    times = {name: {launcher: [] for launcher in table} for name in COMMANDS}
    for name, command in COMMANDS.items():
        jobs = list(table)
        for number in range(-3, rounds[name]):  # the first rounds only warm up
            random.shuffle(jobs)
            for job in jobs:
                elapsed = table[job].measure(command)
                if number >= 0:
                    times[name][job].append(elapsed)
    return times


def report(times, rounds):
    lines = ["# Launch times", "",
             f"Kernel {platform.release()}, {os.cpu_count()} CPUs, load "
             f"{os.getloadavg()[0]:.1f} at the end. Microseconds; launchers shuffled within one "
             f"run. Ratios are to `{BASELINE}`."]
    for name, rows in times.items():
        base = rows.get(BASELINE)
        lines += ["", f"## `{name}`, {rounds[name]} rounds", "",
                  "| launcher | min | median | p90 | ratio of medians | ratio of minima |",
                  "|---|---:|---:|---:|---:|---:|"]
        for launcher, values in sorted(rows.items(), key=lambda row: statistics.median(row[1])):
            middle, least = statistics.median(values), min(values)
            ratios = (f"{middle / statistics.median(base):.2f} | {least / min(base):.2f}"
                      if base else "- | -")
            nine = sorted(values)[int(len(values) * 0.9)]
            lines.append(f"| {launcher} | {least:.0f} | {middle:.0f} | {nine:.0f} | {ratios} |")
    return lines


def promises(times):
    """Lines that say which promise holds, and whether all do."""
    rows = times["/bin/true"]
    if BASELINE not in rows:
        return ["", "bwrap is not installed: nothing to compare with."], True
    lines, is_kept = [""], True
    for launcher, most in PROMISES.items():
        ratio = statistics.median(rows[launcher]) / statistics.median(rows[BASELINE])
        is_kept &= ratio <= most
        lines.append(f"- {launcher}: {ratio:.2f} x bwrap with seccomp, promised at most {most} "
                     f"({'kept' if ratio <= most else 'NOT kept'})")
    ratio = statistics.median(rows["msp run"]) / statistics.median(rows[UNOBSERVED])
    is_kept &= ratio <= OBSERVING
    lines.append(f"- observing what is refused, where nothing is: {ratio:.3f} x without, promised "
                 f"at most {OBSERVING} ({'kept' if ratio <= OBSERVING else 'NOT kept'})")
    return lines, is_kept


def as_ordinary(account, place, work):
    """As root: do the work in a child that is the account; its exit code."""
    entry = pwd.getpwnam(account)
    for folder, _, names in os.walk(place):
        for path in (folder, *(os.path.join(folder, name) for name in names)):
            os.chown(path, entry.pw_uid, entry.pw_gid)
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    try:
        os.setgroups([])
        os.setresgid(entry.pw_gid, entry.pw_gid, entry.pw_gid)
        os.setresuid(entry.pw_uid, entry.pw_uid, entry.pw_uid)
        os.environ.update(HOME=place, USER=account, LOGNAME=account)
        os.chdir(place)
        code = work()
        sys.stdout.flush()
    except (Exception, SystemExit) as problem:  # the parent cleans up; this ends here
        print(problem, file=sys.stderr)
        code = 1
    os._exit(code)


def bench(support, filter_path, unobserved, place, arguments, out):
    counts = dict(zip(COMMANDS, (arguments.rounds, max(10, arguments.rounds // 4))))
    table = launchers(support, filter_path, unobserved)
    times = measure(table, counts)
    for launcher in table.values():
        launcher.close()
    verdict, is_kept = promises(times)
    tables, more, is_kept_too = sessions.bench(support, place, arguments.seconds, arguments.calls)
    is_kept &= is_kept_too
    lasting_tables, lasting_more, is_kept_too = lasting.bench(support, place)
    is_kept &= is_kept_too
    costs = filters.report(filters.measure(support.BIN, place))
    text = "\n".join(report(times, counts) + tables + lasting_tables + costs + verdict + more +
                     lasting_more)
    print(text)
    if out:
        out.write(text + "\n")
        out.close()
    return 0 if is_kept or not arguments.check else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--out", help="also write the table to this file")
    parser.add_argument("--rounds", type=int, default=200, help="of /bin/true; python3: a quarter")
    parser.add_argument("--seconds", type=float, default=30, help="of calls under load")
    parser.add_argument("--calls", type=int, default=5000, help="that start nothing")
    parser.add_argument("--account", default="msp", help="who runs it when root starts it")
    parser.add_argument("--check", action="store_true", help="fail when a promise is not kept")
    arguments = parser.parse_args()
    out = open(arguments.out, "w", encoding="utf-8") if arguments.out else None
    with tempfile.TemporaryDirectory(prefix="msp-bench-", dir="/var/tmp") as place:
        # A copy: the account need not be able to reach the checkout.
        folder = shutil.copytree(arguments.bin, os.path.join(place, "bin"))
        filter_path = write_filter(folder, place)
        unobserved = copy_unobserved(folder, place)
        build_echo(place)
        filters.build(ROOT, place)
        os.environ["MSP_BIN"] = folder
        import support  # after MSP_BIN is known

        if os.geteuid() != 0:
            return bench(support, filter_path, unobserved, place, arguments, out)
        return as_ordinary(arguments.account, place,
                           lambda: bench(support, filter_path, unobserved, place, arguments, out))


if __name__ == "__main__":
    sys.exit(main())
