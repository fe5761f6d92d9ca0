# SPDX-License-Identifier: Apache-2.0
"""What the protocol itself costs: calls that start nothing, over stdio and over HTTP, beside a
program that only echoes. One value is the median of a block of calls."""
import contextlib

import groups
import programs
import stats

BLOCK = 50
# The line of a call, and about the size of its answer. It is not the answer's own: then a build with
# a shorter answer would be compared with a faster echo.
CALLS = {"ping": (programs.request(1, "ping", {}), 40),
         "tools/list": (programs.request(1, "tools/list", {}), 17000),
         "list_sandboxes": (programs.call(1, "list_sandboxes", {}), 400)}


def block(asker, line, is_good=programs.is_good):
    def way():
        times = []
        for _ in range(BLOCK):
            answer, elapsed = asker.ask(line)
            if not is_good(answer):
                raise programs.Failed(f"a server answered {answer[:400]!r}")
            times.append(elapsed)
        return stats.median(times)
    return way


def measure(context, name, server, post, stack):
    line, size = CALLS[name]
    answer, _ = server.ask(line)
    echo = stack.enter_context(contextlib.closing(
        programs.Lines([context.tool("echo"), str(size)])))
    ways = {"echo": block(echo, line, bool), "stdio": block(server, line),
            "HTTP": block(post, line)}
    title = (f"Protocol: `{name}`, {len(line)} bytes, answered with {len(answer) + 1} "
             f"(echo: {size})")
    return groups.Group("protocol-" + name.replace("/", "-"), title, "us",
                        groups.take_turns(ways, context.rounds(60, 12), pause=0.002), base="echo",
                        ours=["stdio", "HTTP"])


def protocol(context):
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(contextlib.closing(programs.serve(context.support)))
        http = stack.enter_context(contextlib.closing(
            programs.HttpServer(context.support, context.place)))
        post = stack.enter_context(contextlib.closing(http.connect(1)[0]))
        return [measure(context, name, server, post, stack) for name in CALLS]
