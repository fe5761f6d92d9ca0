# SPDX-License-Identifier: Apache-2.0
"""Output in megabytes per second: dd through a pipe into a reader that throws it away, bare and out
of a sandbox; several at once; in small writes; and as a tool's output, which is read and cut."""
import contextlib
import subprocess
import time

import groups
import programs
import rates

MB = 1 << 20
AT_ONCE = 8
SMALL = 64


def dd(size, block):
    return ["/usr/bin/dd", "if=/dev/zero", f"bs={block}", f"count={size // block}", "status=none"]


def piped(argv, size):
    """MB/s of `argv | cat >/dev/null`."""
    def way():
        start = time.perf_counter()
        writer = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  env=programs.ENVIRONMENT)
        reader = subprocess.Popen(["/bin/cat"], stdin=writer.stdout, stdout=subprocess.DEVNULL)
        writer.stdout.close()
        if writer.wait() != 0 or reader.wait() != 0:
            raise programs.Failed(f"{' '.join(argv)} failed")
        return size / MB / (time.perf_counter() - start)
    return way


def group(context, name, title, ways, rounds, ours):
    return groups.Group(name, title, "MB/s", groups.take_turns(ways, rounds, warm=1, pause=0.02),
                        base="bare", ours=ours, rate=True)


def through_pipe(context, msp, name, title, size, block):
    command = dd(size, block)
    ways = {"bare": piped(command, size), **{way: piped([*words, *command], size)
                                             for way, words in msp.items()}}
    return group(context, name, title, ways, context.rounds(9, 5), list(msp))


def one(context, msp):
    size = context.rounds(1024, 256) * MB
    return through_pipe(context, msp, "stream", f"Output, {size // MB} MB through a pipe", size,
                        128 * 1024)


def small(context, msp):
    return through_pipe(context, msp, "stream-small", f"Output in writes of {SMALL} bytes",
                        context.rounds(16, 8) * MB, SMALL)


def several(context, msp):
    size = context.rounds(128, 32) * MB
    command = dd(size, 128 * 1024)
    with contextlib.ExitStack() as stack:
        def way(words):
            client = stack.enter_context(contextlib.closing(
                rates.Client(context, "bytes", AT_ONCE, [*words, *command])))
            return lambda: AT_ONCE * size / MB / client.turn(0)[1]

        ways = {"bare": way([]), **{name: way(words) for name, words in msp.items()}}
        return group(context, "stream-8", f"Output, {AT_ONCE} at once, MB/s together", ways,
                     context.rounds(9, 5), list(msp))


def through_mcp(context):
    size = context.rounds(512, 128) * MB
    command = dd(size, 128 * 1024)
    with contextlib.closing(programs.serve(context.support)) as server:
        def way():
            return size / MB / (server.run(argv=command) / 1e6)

        ways = {"bare": piped(command, size), "MCP run_command": way}
        return group(context, "stream-mcp", f"Output, {size // MB} MB, read and cut by a tool",
                     ways, context.rounds(9, 5), ["MCP run_command"])


def streams(context):
    support = context.support
    with contextlib.ExitStack() as stack:
        socket = context.start_service(stack)
        words = [support.MSP, "run", *support.limits()]
        msp = {"msp run, alone": [*words, "--standalone", "--"],
               "msp run, service": [*words, "--socket=" + socket, "--"]}
        return [one(context, msp), several(context, msp), small(context, msp),
                through_mcp(context)]
