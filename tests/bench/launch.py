# SPDX-License-Identifier: Apache-2.0
"""How long it takes to run something isolated: /bin/true, back to back too, and hello in python and
node, by every way that msp has, bare and by the peers. Before each measurement is a pause, in which
pools fill again and what was ended is cleaned up."""
import contextlib
import os
import shutil
import tempfile
import time

import floors
import groups
import peers
import programs

TRUE = ["/bin/true"]
PYTHON = "/usr/bin/python3"
CODE = "print(1)"
SCRIPT = "console.log(1)"
PAUSE = 0.004
BURST = 10
SLOW_US = 30000  # peers slower than that and bare have a turn in each SLOW_EVERY-th round
SLOW_EVERY = 8
ALONE, SERVED = "msp run, alone", "msp run, service"
UNOBSERVED = "msp run, not observed"
READY = 0.04  # from the end of code until the next interpreter waits for some
WAITING = "MCP run_code, waiting interpreter"
TURNS = "MCP run_code, in turns with run_command"
CONFIGURED = ", with a configuration"
PROFILE = """profiles:
  - name: mine
    description: of the operator's
    extends: default
"""
NEVER_STANDBY = """profiles:
  - name: never-ahead
    description: no interpreter waits
    extends: default
    languages:
      - name: python
        program: %s
        file: /tmp/msp-code/main.py
        run: [%s, -u, "{file}"]
default_profile: never-ahead
""" % (PYTHON, PYTHON)


class Msp:
    """The ways of msp, for one group: servers that live as long as it does."""

    def __init__(self, context, stack):
        self.context, support = context, context.support
        self.limits = support.limits()
        self.server = stack.enter_context(contextlib.closing(programs.serve(support)))
        self.socket = context.start_service(stack)
        self.store = stack.enter_context(contextlib.closing(
            programs.Store(support, context.memory)))
        self.sandbox = self.store.create()[0]

    def cold(self, command, folder=None, options=("--standalone",), environment=None):
        msp = os.path.join(folder or self.context.support.BIN, "msp")
        argv = [msp, "run", *self.limits, *options, "--", *command]
        return lambda: programs.spawn(argv, environment)

    def served(self, command, socket=None, environment=None):
        return self.cold(command, options=("--socket=" + (socket or self.socket),),
                         environment=environment)

    def call(self, **arguments):
        return lambda: self.server.run(**arguments)

    def live(self, **arguments):
        return lambda: self.store.server.run(sandbox=self.sandbox, **arguments)


def slow_ones(ways):
    """{name: in each how many-th round} of the peers that would take the most of the time; not of
    those that others are compared with."""
    found = {}
    for name in set(ways) & set(peers.MAKERS) - set(peers.DEFAULT):
        if min(ways[name]() for _ in range(2)) > SLOW_US + ways["bare"]():
            found[name] = SLOW_EVERY
    return found


def measure(context, name, title, ways, rounds, left_out=None, **more):
    series = groups.take_turns(ways, rounds, pause=PAUSE, every=slow_ones(ways))
    return groups.Group(name, title, "us", series, base="bare", left_out=left_out or {}, **more)


def true(context):
    with contextlib.ExitStack() as stack:
        msp, others = Msp(context, stack), context.others()
        ours = {ALONE: msp.cold(TRUE), SERVED: msp.served(TRUE),
                "MCP run_command": msp.call(argv=TRUE),
                "MCP run_command, live sandbox": msp.live(argv=TRUE)}
        relay = stack.enter_context(contextlib.closing(floors.Relay(context, TRUE)))
        ways = {"bare": lambda: programs.spawn(TRUE), **ours,
                UNOBSERVED: msp.cold(TRUE, context.unobserved()), floors.RELAY: relay.way,
                **others.ways(TRUE)}
        return [measure(context, "true", "Launch of `/bin/true`", ways, context.rounds(400, 80),
                        others.left_out, ours=list(ours))]


def configuration(context):
    """A user's own, in the usual place, beside a user's who has none. It is compiled once, and by the
    service alone if there is one."""
    with contextlib.ExitStack() as stack:
        msp, ways = Msp(context, stack), {}
        for suffix, text in (("", ""), (CONFIGURED, PROFILE)):
            home = stack.enter_context(tempfile.TemporaryDirectory(prefix="msp-bench-",
                                                                   dir=context.memory))
            if text:
                os.makedirs(os.path.join(home, ".config", "msp"), 0o700)
                with open(os.path.join(home, ".config", "msp", "config.yaml"), "w",
                          encoding="ascii") as file:
                    file.write(text)
            environment = {**programs.ENVIRONMENT, "HOME": home}
            socket = context.start_service(stack, env=environment)
            ways[ALONE + suffix] = msp.cold(TRUE, environment=environment)
            ways[SERVED + suffix] = msp.served(TRUE, socket, environment)
        series = groups.take_turns(ways, context.rounds(200, 60), pause=PAUSE)
        return [groups.Group("configuration", "Launch with a configuration of the operator's", "us",
                             series, base=ALONE, bases={SERVED + CONFIGURED: SERVED},
                             ours=[ALONE + CONFIGURED, SERVED + CONFIGURED])]


def burst(context):
    """Microseconds per launch of BURST without a pause between: what a pool cannot hide."""
    def together(way):
        return lambda: sum(way() for _ in range(BURST)) / BURST

    with contextlib.ExitStack() as stack:
        msp, others = Msp(context, stack), peers.Peers(context, ("bwrap", "bwrap, seccomp"))
        ours = {SERVED: msp.served(TRUE), "MCP run_command": msp.call(argv=TRUE),
                "MCP run_command, live sandbox": msp.live(argv=TRUE)}
        ways = {"bare": lambda: programs.spawn(TRUE), **ours, **others.ways(TRUE)}
        ways = {name: together(way) for name, way in ways.items()}
        return [measure(context, "burst", f"Launch of `/bin/true`, {BURST} back to back", ways,
                        context.rounds(60, 16), others.left_out, ours=list(ours))]


def python(context):
    command = [PYTHON, "-c", CODE]
    with contextlib.ExitStack() as stack:
        msp, others = Msp(context, stack), context.others()
        code = {"tool": "run_code", "language": "python", "code": CODE}
        ours = {ALONE: msp.cold(command), SERVED: msp.served(command),
                "MCP run_command": msp.call(argv=command), "MCP run_code": msp.call(**code),
                "MCP run_code, live sandbox": never_ahead(context, stack, code),
                WAITING: waiting(msp, code)}
        leased = stack.enter_context(contextlib.closing(floors.Leased(context, PYTHON, CODE, READY)))
        ways = {"bare": lambda: programs.spawn(command), **ours, floors.LEASE: leased.way,
                **others.ways(command)}
        return [measure(context, "python", f"`{CODE}` in python", ways, context.rounds(100, 24),
                        others.left_out, ours=list(ours))]


def turns(context):
    """Code and commands by turns in one live sandbox, as agents work."""
    with contextlib.ExitStack() as stack:
        msp = Msp(context, stack)
        code = {"tool": "run_code", "language": "python", "code": CODE}
        ways = {"bare": lambda: programs.spawn([PYTHON, "-c", CODE]),
                TURNS: waiting(msp, code, before={"argv": TRUE})}
        return [measure(context, "turns", f"`{CODE}` in python, in turns with a command", ways,
                        context.rounds(60, 20), ours=[TURNS])]


def never_ahead(context, stack, code):
    """In a live sandbox, where each interpreter starts when it is asked for."""
    store = stack.enter_context(contextlib.closing(
        programs.Store(context.support, context.memory, NEVER_STANDBY)))
    sandbox = store.create()[0]
    return lambda: store.server.run(sandbox=sandbox, **code)


def waiting(msp, code, before=None):
    """In a live sandbox in which nothing else runs, so that an interpreter waits for each but the
    first, which take_turns() does not count. `before`: what runs there before each code."""
    sandbox, last = msp.store.create()[0], time.monotonic()

    def run(arguments):
        nonlocal last
        time.sleep(max(0.0, last + READY - time.monotonic()))
        try:
            return msp.store.server.run(sandbox=sandbox, **arguments)
        finally:
            last = time.monotonic()

    def way():
        if before:
            run(before)
        return run(code)
    return way


def node(context):
    path = shutil.which("node", path="/usr/bin:/usr/local/bin")
    if not path:
        return []
    command = [path, "-e", SCRIPT]
    with contextlib.ExitStack() as stack:
        msp, others = Msp(context, stack), peers.Peers(context, ("bwrap", "bwrap, seccomp"))
        code = {"tool": "run_code", "language": "javascript", "code": SCRIPT}
        ours = {ALONE: msp.cold(command), "MCP run_command": msp.call(argv=command),
                "MCP run_code": msp.call(**code), "MCP run_code, live sandbox": msp.live(**code)}
        ways = {"bare": lambda: programs.spawn(command), **ours, **others.ways(command)}
        return [measure(context, "node", f"`{SCRIPT}` in node", ways, context.rounds(40, 8),
                        others.left_out, ours=list(ours))]
