# SPDX-License-Identifier: Apache-2.0
"""What an execution cannot take less than on this machine: the same processes, namespaces and
interpreter, where nobody reads a request, checks, records, mounts or confines anything. A target
below that is beyond what msp could do; see relay.c, and the namespaces of client.c."""
import fcntl
import os
import signal
import tempfile
import time

import programs

RELAY = "processes that only relay"
NAMESPACES = "namespaces, nothing else"
LEASE = "a lease, nothing else"


class Relay(programs.Lines):
    """The command once for each line, through as many processes as msp has on the way."""

    def __init__(self, context, command, environment=None):
        super().__init__([context.tool("relay"), *command], environment)

    def way(self):
        return self.ask(b"\n")[1]


class Leased:
    """An interpreter that waits for its code on a write lease, the least that can hold one up, started
    here by nobody but us, in no sandbox. Measured is from the code to the interpreter's end."""

    def __init__(self, context, program, code, ready):
        self.folder = tempfile.TemporaryDirectory(dir=context.memory)
        self.program, self.code, self.ready = program, code.encode() + b"\n", ready
        self.path = os.path.join(self.folder.name, "main.py")

    def close(self):
        self.folder.cleanup()

    def way(self):
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            fcntl.fcntl(file, fcntl.F_SETSIG, signal.SIGURG)  # which is ignored
            pid = programs.begin([self.program, "-u", self.path])
            time.sleep(self.ready)
            start = time.perf_counter_ns()
            os.write(file, self.code)
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
            status = os.waitpid(pid, 0)[1]
            elapsed = time.perf_counter_ns() - start
        finally:
            os.close(file)
            os.unlink(self.path)
        if status != 0:
            raise programs.Failed(f"{self.program} ended with status {status:#x}")
        return elapsed / 1000
