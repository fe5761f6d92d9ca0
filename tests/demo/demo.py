#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real MCP session, to be watched: what an agent's code can do in the sandbox, and what it cannot.

Each refusal has its counterpart: the same act is done here, outside, and succeeds. Exits 0 when
everything was as promised."""
import argparse
import os
import pwd
import re
import socket
import sys
import tempfile
import textwrap
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

WIDTH = 78
TTY = sys.stdout.isatty() and os.environ.get("NO_COLOR") is None
BOLD, DIM, GREEN, RED, CYAN, PLAIN = (
    ("\033[1m", "\033[2m", "\033[32m", "\033[31m", "\033[36m", "\033[0m") if TTY else ("",) * 6)

COMPUTE = '''
from collections import Counter

def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps

longest = max(range(1, 30_000), key=collatz)
print(f"longest Collatz run: from {longest:,}, {collatz(longest)} steps")
print("letters in 'sandbox':", dict(Counter("sandbox")))
'''


def without_traceback(text):
    """The output with Python's traceback reduced to its last line."""
    return "\n".join(line for line in text.splitlines() if not re.match(
        r"Traceback |  File |    |\[stderr\]", line))


def home_directory():
    """The caller's home, or somebody's: a directory that exists here."""
    homes = [pwd.getpwuid(os.getuid()).pw_dir, "/root", "/home"]
    return next(home for home in homes if os.path.isdir(home) and home != "/")


class Demo:
    """Prints what happens and remembers what was not as promised."""

    def __init__(self, server):
        self.server = server
        self.kept, self.broken, self.calls = 0, [], 0

    def heading(self, text):
        print(f"\n{BOLD}{text}{PLAIN}\n{'─' * min(WIDTH, len(text))}")

    def shown(self, text, mark="│"):
        for line in text.rstrip("\n").splitlines() or ["(no output)"]:
            for part in textwrap.wrap(line, WIDTH, drop_whitespace=False) or [""]:
                print(f"  {DIM}{mark}{PLAIN} {part}")

    def code(self, text):
        self.shown(text.strip("\n"), mark=f"{CYAN}>{PLAIN}")

    def judge(self, promise, is_kept):
        if is_kept:
            self.kept += 1
            print(f"  {GREEN}✓ {promise}{PLAIN}")
        else:
            self.broken.append(promise)
            print(f"  {RED}✗ {promise}{PLAIN}")

    def call(self, tool, **arguments):
        """Call a tool; its text."""
        self.calls += 1
        return support.text_of(self.server.call(tool, timeout=60, **arguments))

    def refuses(self, title, outside, code, promise, expected):
        """Python `code` must end with a line that begins with one of `expected`."""
        print(f"\n  {BOLD}{title}{PLAIN}")
        print(f"  outside: {outside}")
        self.code(code)
        text = self.call("run_code", language="python", code=textwrap.dedent(code))
        self.shown(without_traceback(text))
        self.judge(promise, any(word in text for word in expected))


def listen_here():
    """A listener on this machine's loopback, for the workload not to reach. Its port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def accept():
        while True:
            try:
                listener.accept()[0].close()
            except OSError:
                return

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


def show_session(demo):
    demo.heading("1. A client connects")
    hello = demo.server.initialize()
    info = hello["serverInfo"]
    tools = [tool["name"] for tool in demo.server.request("tools/list")["tools"]]
    print(f"  {info['name']} {info.get('version', '')} speaks MCP {hello['protocolVersion']};"
          f" its tools: {', '.join(tools)}")
    demo.judge("the server offers run_command and run_code",
               {"run_command", "run_code"} <= set(tools))


def show_work(demo):
    demo.heading("2. The agent's code computes")
    print("  run_code, language python:")
    demo.code(COMPUTE)
    text = demo.call("run_code", language="python", code=COMPUTE)
    demo.shown(text)
    demo.judge("Python ran and computed", "26,623, 307 steps" in text)
    print("\n  run_command:")
    command = "echo hello > note.txt && wc -c note.txt && pwd && id -un"
    demo.code(command)
    text = demo.call("run_command", command=command)
    demo.shown(text)
    demo.judge("a shell works in an empty, writable /workspace", "6 note.txt" in text
               and "/workspace" in text)


def show_refusals(demo):
    demo.heading("3. What it could not do")
    home = home_directory()
    demo.refuses(
        "Read the home directory", f"{home} is a directory of this machine",
        f"import os\nprint(os.listdir({home!r}))",
        "your home directory is not there", ("FileNotFoundError", "PermissionError"))
    port = listen_here()
    socket.create_connection(("127.0.0.1", port), 5).close()
    demo.refuses(
        "Reach a service on this machine", f"127.0.0.1:{port} accepts connections",
        f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 3)",
        "this machine's services are out of reach",
        ("ConnectionRefusedError", "PermissionError", "OSError", "TimeoutError"))
    demo.refuses(
        "Reach the internet", "this machine may; inside there is one interface, and it leads nowhere",
        "import socket\nprint('interfaces:', [name for _, name in socket.if_nameindex()])\n"
        "socket.create_connection(('192.0.2.1', 443), 3)",
        "there is no way out of the sandbox's own loopback",
        ("Network is unreachable", "PermissionError"))
    with tempfile.NamedTemporaryFile("w", prefix="msp-demo-", dir="/var/tmp") as file:
        file.write("precious\n")
        file.flush()
        demo.refuses(
            "Write outside", f"{file.name} was just written",
            f"try:\n    open({file.name!r}, 'r+').write('gone')\nexcept OSError as error:\n"
            "    print(error)\nopen('/usr/bin/backdoor', 'w')",
            "this machine's files cannot be changed", ("Read-only file system", "Permission"))
        with open(file.name, encoding="utf-8") as again:
            demo.judge("the file outside is as it was", again.read() == "precious\n")
    demo.refuses(
        "Look at other processes", f"this demonstration is process {os.getpid()}",
        "import os\nprint('processes:', sorted(p for p in os.listdir('/proc') if p.isdigit()))\n"
        f"os.kill({os.getpid()}, 9)",
        "other processes can be neither seen nor signalled",
        ("ProcessLookupError", "PermissionError"))
    demo.refuses(
        "Become root", "su and mount are setuid programs of this machine, and visible",
        "import os\nfor line in open('/proc/self/status'):\n"
        "    if line.startswith(('Uid', 'CapEff', 'CapBnd', 'NoNewPrivs', 'Seccomp:')):\n"
        "        print(line.strip())\nos.setuid(0)",
        "no capability, and none to be had", ("PermissionError",))


def show_limits(demo):
    demo.heading("4. Limits")
    print("  while True, with a timeout of one second:")
    text = demo.call("run_command", command="while true; do :; done", timeout_ms=1000)
    demo.shown(text)
    demo.judge("it was stopped after its time", "timeout" in text)
    print("\n  a fork bomb:")
    text = demo.call("run_command", timeout_ms=5000,
                     command="(f() { f | f & }; f) 2>/dev/null; sleep 0.5; echo still here")
    demo.shown("\n".join(text.splitlines()[-4:]))
    demo.judge("it exhausted itself and nothing else",
               demo.call("run_command", command="echo works").startswith("works"))
    print("\n  50 MB of output:")
    text = demo.call("run_command", command="yes '0123456789' | head -c 50000000")
    demo.shown("\n".join([*text.splitlines()[:2], "...", *text.splitlines()[-2:]]))
    demo.judge("the client gets its beginning, its end and its size",
               len(text) < 20000 and "50000000" in text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", help="folder of the programs")
    arguments = parser.parse_args()
    if arguments.bin:
        os.environ["MSP_BIN"] = os.path.abspath(arguments.bin)
    global support
    import support  # after MSP_BIN is known

    print(f"{BOLD}Model Sandbox Protocol: an agent's code, run without being able to hurt this "
          f"machine{PLAIN}")
    print("This script is the MCP client; it talks to `msp serve` as an editor or an agent would.")
    if support.limits():
        print(textwrap.fill(
            "Note: no cgroup v2 with cpu, memory and pids is delegated here, so msp refuses to "
            "start by default. The demonstration says --limits=fallback, as an operator may: "
            "process limits, a memory watch and the wall clock stand in. `msp doctor` says "
            "more.", WIDTH))
    start = time.monotonic()
    with support.Server() as server:
        demo = Demo(server)
        for part in (show_session, show_work, show_refusals, show_limits):
            part(demo)
        pids = [server.process.pid, *support.descendants(server.process.pid)]
        code = server.close()
    demo.heading("5. The client leaves")
    is_clean = support.wait_until(lambda: not any(map(support.is_alive, pids)))
    demo.judge(f"all {len(pids)} processes of the session are gone, exit {code}",
               is_clean and code == 0)
    print(f"\nWhat ran: one `msp serve` and {demo.calls} tool calls, each in a sandbox of its own, in "
          f"{time.monotonic() - start:.1f} s.")
    print(f"{BOLD}{demo.kept} of {demo.kept + len(demo.broken)} promises kept"
          f"{PLAIN}{'' if not demo.broken else ': not ' + '; '.join(demo.broken)}")
    return 1 if demo.broken else 0


if __name__ == "__main__":
    sys.exit(main())
