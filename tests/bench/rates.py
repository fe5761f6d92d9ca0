# SPDX-License-Identifier: Apache-2.0
"""Launches of /bin/true per second with several clients at once: sessions and commands through one
service, beside bwrap and bare with as many at once. The client is a program in C: one in python
would take a part of the processors that it measures."""
import contextlib
import os

import floors
import groups
import peers
import programs

CLIENTS = (1, 2, 8, 32)


class Client(programs.Lines):
    """client.c, which answers a number of milliseconds with what it did in that time."""

    def __init__(self, context, mode, count, argv, filter_path=None):
        environment = {**os.environ, "CLIENT_FILTER": filter_path} if filter_path else None
        super().__init__([context.tool("client"), mode, str(count), *argv], environment)

    def turn(self, milliseconds):
        """(how many ended, seconds)"""
        answer, _ = self.ask(b"%d\n" % milliseconds)
        done, elapsed = answer.split()
        return int(done), int(elapsed) / 1e9

    def rate(self, milliseconds):
        done, elapsed = self.turn(milliseconds)
        return done / elapsed


def measure(context, count, commands):
    """`commands`: name -> (mode, words, a filter's path)."""
    slice_ms = context.rounds(500, 250)
    with contextlib.ExitStack() as stack:
        clients = {name: stack.enter_context(contextlib.closing(
            Client(context, mode, count, argv, path)))
                   for name, (mode, argv, path) in commands.items()}
        ways = {name: lambda client=client: client.rate(slice_ms)
                for name, client in clients.items()}
        return groups.take_turns(ways, context.rounds(9, 5), warm=1, pause=0.02)


def rates(context):
    found = []
    support = context.support
    with contextlib.ExitStack() as stack:
        # One each: a service has a most of clients, which both would reach together.
        service, other = ("--socket=" + context.start_service(stack) for _ in range(2))
        ours = {"MCP run_command, a session each":
                ("serve", [support.MSP, "serve", *support.limits(), service], None),
                "msp run, service":
                ("spawn", [support.MSP, "run", *support.limits(), other, "--", "/bin/true"],
                 None)}
        commands = {"bare": ("spawn", ["/bin/true"], None), **ours,
                    floors.NAMESPACES: ("namespaces", ["/bin/true"], None)}
        left_out = peers.Peers(context, peers.DEFAULT).left_out
        if not left_out:
            commands["bwrap, seccomp"] = ("spawn", [*peers.bwrap(context, True), "/bin/true"],
                                          context.filter_path())
        for count in CLIENTS:
            title = f"Launches of `/bin/true` per second, {count} at once"
            found.append(groups.Group(
                f"rates-{count}", title, "1/s", measure(context, count, commands), base="bare",
                ours=list(ours), rate=True, left_out=left_out))
    return found
