# SPDX-License-Identifier: Apache-2.0
"""What the project promises, and whether a run kept it."""
import dataclasses

import changes
import floors
import image_costs
import launch
import machines
import many
import network
import repository
import runtime_costs
import stats

SECCOMP = "bwrap, seccomp"
MCP, ALONE, SERVED = "MCP run_command", launch.ALONE, launch.SERVED
LIVE = "MCP run_command, live sandbox"
# The runtimes of which a start in msp has a target.
STARTED = (runtime_costs.PYTHON, runtime_costs.NODE, runtime_costs.TYPESCRIPT, runtime_costs.WORKER)


@dataclasses.dataclass
class Target:
    """Of the series in the group: its ratio to `base`, or without one its median, is at most (or at
    least) so much. `floor` is a series of the group that does the same without msp."""
    what: str
    group: str
    series: str
    base: str
    bound: float
    least: bool = False
    floor: str = ""


TARGETS = (
    Target("MCP `run_command /bin/true`, by bare", "true", MCP, "bare", 1.35, floor=floors.RELAY),
    Target("MCP `run_command /bin/true`, by bwrap with seccomp", "true", MCP, SECCOMP, 0.25),
    Target("`msp run -- /bin/true` with the service, by bwrap", "true", SERVED, "bwrap", 0.30),
    Target("`msp run -- /bin/true` without it, by bwrap", "true", ALONE, "bwrap", 0.60),
    Target("execution in a live sandbox, by bare", "true", LIVE, "bare", 1.15,
           floor=floors.RELAY),
    Target("`run_code` python, by bare `python3 -c`", "python", "MCP run_code", "bare", 1.10),
    Target("`run_code` python with a waiting interpreter, by bare", "python",
           launch.WAITING, "bare", 0.20, floor=floors.LEASE),
    Target("`run_code` python in turns with `run_command`, by bare", "turns",
           launch.TURNS, "bare", 0.40),
    Target("launches per second of 2 clients, by bwrap's", "rates-2",
           "MCP run_command, a session each", SECCOMP, 4, least=True, floor=floors.NAMESPACES),
    Target("p50 with 1,000 sandboxes alive, by that with none", "alive",
           "MCP run_command, 1000 alive", "MCP run_command, none alive", 1.3),
    Target("an idle sandbox, in all, kB", "memory", "in all", "", 400,
           floor=floors.NAMESPACES),
    Target("an idle sandbox, ours, kB PSS", "memory", "ours (PSS)", "", 32),
    Target("output of `msp run | cat`, by the bare pipe", "stream", SERVED, "bare", 0.8,
           least=True),
    Target("output through MCP, read and cut, MB/s", "stream-mcp", MCP, "", 150, least=True),
    Target("observing what is refused, where nothing is", "true", ALONE, launch.UNOBSERVED, 1.02),
    Target("`msp run` with a configuration, by that with none", "configuration",
           ALONE + launch.CONFIGURED, ALONE, 1.03),
    Target("`msp run` with service and configuration, by that with the service", "configuration",
           SERVED + launch.CONFIGURED, SERVED, 1.03),
    Target("first `git status` of 10,000 files, by that without our git configuration",
           "repository", repository.WITH, repository.WITHOUT, 0.6),
    Target("first `git status` of 100,000 files in a sandbox, by that on the host", "repository-large",
           repository.FIRST, repository.OUTSIDE, 2.0, floor=repository.FLOOR),
    Target("second `git status` of 100,000 files in a sandbox, by that on the host", "repository-large",
           repository.SECOND, repository.OUTSIDE, 1.2, floor=repository.SECOND_FLOOR),
    Target("a call that starts nothing, us", "protocol-list_sandboxes", "stdio", "", 300),
    Target("a checkpoint, in memory, us", "persistent-memory", "save", "", 1000),
    Target("a rollback, in memory, us", "persistent-memory", "rollback", "", 1000),
    Target("a fork to its first execution, by a fresh sandbox's", "persistent-memory",
           "fork and its first execution", "create and its first execution", 2.0),
    Target("an apply of 5,000 files, by `git checkout` of the same", "changes-5000", changes.APPLY,
           changes.CHECKOUT, 1.5),
    Target("an apply of 10,000 files, by `git checkout` of the same", "changes-10000", changes.APPLY,
           changes.CHECKOUT, 1.5),
    Target("an apply of 5,000 files, for each, by that of 1,000", "changes-per-file", changes.MANY,
           changes.FEW, 1.5),
    Target("an undo of 5,000 files, by `git checkout` back", "changes-5000", changes.UNDO,
           changes.BACK, 2.0),
    Target("an apply of 50,000 files, by `git checkout` of the same", "large-changes-50000",
           changes.APPLY, changes.CHECKOUT, 1.5),
    Target("an apply of 200,000 files, for each, by that of 5,000", "large-changes-per-file",
           changes.LARGEST, changes.MANY, 1.5),
    Target("`msp diff --stat` of 50,000 files, by git's", "large-changes-50000", changes.LIST,
           changes.GIT_LIST, 2.0),
    Target("`msp destroy` of 20,000 files, by that of none", "destroy", many.FILLED, many.EMPTY,
           1.5),
    Target("`msp create` beside 600 sandboxes, by that beside none", "create", many.BESIDE,
           many.NONE, 1.3),
    Target("`msp create` over 10,000 files, by `find` of a foreign one", "create-over", many.OVER,
           many.SEARCH, 4.0),
    Target("`msp create` over 200,000 files, by that over 10,000", "create-over", many.OVER_LARGE,
           many.OVER, 5.0),
    Target("MCP `run_command /bin/true` with hosts, by that without", "network", network.HOSTS,
           network.LOOPBACK, 1.05),
    Target("a cold start with hosts, what it adds, by bwrap's start", "network-cold", network.ADDED,
           "bwrap", 0.20),
    Target("a connection to a host and its first answer, by that without msp", "network-answer",
           network.INSIDE, network.DIRECT, 4.5),
    Target("1 GiB from a host, by that without msp", "network-stream", network.INSIDE, network.DIRECT,
           0.30, least=True),
    Target("a TLS connection and a request that msp reads, by that without msp", "network-request",
           network.INSIDE, network.DIRECT, 4.0),
    Target("an answer of 256 MiB that msp reads, by that without msp", "network-bulk", network.INSIDE,
           network.DIRECT, 0.40, least=True),
    Target("1,000 connections at once, by those without msp", "network-many", network.INSIDE,
           network.DIRECT, 2.5),
    Target("memory of the kernel for a sandbox with hosts, more, kB", "network-memory", network.KERNEL,
           "", 350),
    Target("100 forks, in memory, us", "forks-memory", "all", "", 500000),
    Target("`msp run` of an image, by rootless `podman run` of it", "image", image_costs.IMAGE,
           image_costs.PODMAN, 0.06, floor=image_costs.BWRAP),
    Target("`msp run` of an image, by crun on its unpacked tree", "image",
           image_costs.IMAGE, image_costs.CRUN, 1.0, floor=image_costs.BWRAP),
    Target("`msp run` of an image, by that of the default profile", "image", image_costs.IMAGE,
           image_costs.DEFAULT, 1.05),
    Target("`msp run` of an image with a writable root, by that of the default profile", "image",
           image_costs.WRITABLE, image_costs.DEFAULT, 1.15),
    Target("`msp run` of an image of 30 layers, by that of 2", "image", image_costs.MANY,
           image_costs.FEW, 1.10),
    Target("python in an image of 30 layers, by that of 2", "image-python", image_costs.MANY,
           image_costs.FEW, 1.10),
    Target("`msp image import`, by `umoci unpack`", "image-import", image_costs.IMPORT,
           image_costs.UMOCI, 0.35, floor=image_costs.BSDTAR),
    Target("`msp image import`, by bsdtar of its layer", "image-import", image_costs.IMPORT,
           image_costs.BSDTAR, 1.0),
    *(Target(f"{name} in msp, by that without", "runtimes", name + runtime_costs.IN_MSP,
             name + runtime_costs.OUTSIDE, 1.15, floor=name + runtime_costs.FLOOR) for name in STARTED),
    Target("`npm ci --offline` of 74 packages in msp, by that outside", "runtimes-npm",
           runtime_costs.NPM_INSIDE, runtime_costs.NPM_OUTSIDE, 0.6, floor=runtime_costs.NPM_FLOOR),
    Target("a virtual machine from start to end in msp, by the same QEMU without", "machines",
           machines.IN_MSP, machines.OUTSIDE, 1.05),
)


def judge(target, groups):
    """{"what", "bound", "least", "value", "low", "high", "met", "floor", "floor_met"}; None where it
    was not measured."""
    row = {"what": target.what, "bound": target.bound, "least": target.least, "value": None,
           "low": None, "high": None, "met": None, "floor": None, "floor_met": None}
    group = next((one for one in groups if one.name == target.group), None)

    def values_of(series):
        if not group or not series:
            return []
        return group.ratios(series, target.base) if target.base else group.values(series)

    def is_met(value):
        return value >= target.bound if target.least else value <= target.bound

    values, floor = values_of(target.series), values_of(target.floor)
    if values:
        middle = stats.median(values)
        low, high = stats.interval(values)
        row |= {"value": middle, "low": low, "high": high, "met": is_met(middle)}
    if floor:
        row |= {"floor": stats.median(floor), "floor_met": is_met(stats.median(floor))}
    return row


def judge_all(groups):
    return [judge(target, groups) for target in TARGETS]
