# SPDX-License-Identifier: Apache-2.0
"""Real processes for the tests: an MCP session with `msp serve`, commands through `msp run`, and
what is left of them afterwards. Nothing here is a test."""
import atexit
import contextlib
import ctypes
import functools
import itertools
import json
import os
import queue
import random
import re
import shutil
import subprocess
import tempfile
import threading
import time

os.umask(0o022)  # a configuration that others can write is refused
if not os.path.exists("/proc/thread-self/children"):
    raise RuntimeError("this kernel does not list children: it lacks CONFIG_PROC_CHILDREN")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get("MSP_BIN") or os.path.join(ROOT, "build", "release", "bin")
MSP = os.path.join(BIN, "msp")
REFUSED = 78
PROTOCOL = "2025-11-25"
YIELD_MS = 55000  # the longest
# Every case, as ./dev test --all has it, or a sample that the seed chooses.
IS_ALL = os.environ.get("MSP_FAULTS") == "all"
SEED = int(os.environ.get("MSP_SEED") or random.randrange(1 << 32))
# What ships, in the order in which it is listed.
PROFILES = ("default", "strict", "minimal", "python-dev", "node-dev", "go-dev", "rust-dev",
            "java-dev", "vm")
# Those whose commands run on this kernel.
PROFILES_HERE = PROFILES[:-1]


def _keep_state():
    """What msp keeps of these tests is no part of what it keeps of the user who runs them, nor of
    other tests that run beside them: a place for each program and what it starts. Root's msp
    becomes another account, which finds a place of its own."""
    if os.geteuid() == 0 or os.environ.get("MSP_TEST_STATE"):
        return
    owner, place = os.getpid(), tempfile.mkdtemp(dir=os.environ.get("MSP_STATE_DIR"))
    os.environ["MSP_STATE_DIR"] = os.environ["MSP_TEST_STATE"] = place
    atexit.register(lambda: os.getpid() == owner and remove_folder(place))


_keep_state()


class RpcError(Exception):
    """The server's JSON-RPC error."""

    def __init__(self, error):
        super().__init__(f"{error.get('code')}: {error.get('message')}")
        self.code = error.get("code")
        self.message = error.get("message")
        self.data = error.get("data")


class Gone(Exception):
    """The server closed its output."""


@functools.lru_cache(maxsize=None)
def limits():
    """["--limits=fallback"] where the default requirement (delegated cgroups) is not met here, so
    that one suite runs on both kinds of machine; [] where it is. MSP_REQUIRE_CGROUP=1: this is a
    machine where it must be."""
    if os.environ.get("MSP_REQUIRE_CGROUP") == "1":
        return []
    result = subprocess.run([MSP, "run", "--", "/bin/true"], stdin=subprocess.DEVNULL,
                            capture_output=True, timeout=60, check=False)
    return ["--limits=fallback"] if result.returncode == REFUSED else []


@functools.lru_cache(maxsize=None)
def has_patches():
    """Is the libgit2 here that msp-layers was built for? The test machine may be of another release
    than where it was built."""
    with open(os.path.join(BIN, "msp-layers"), "rb") as file:
        name = re.search(rb"libgit2\.so\.[\d.]+", file.read())
    try:
        ctypes.CDLL(name.group().decode())
    except OSError:
        return False
    return True


def limits_name():
    """How limits are enforced here, as a posture says it."""
    return "fallback" if limits() else "cgroup"


def run(*command, options=(), text=True, timeout=60, **keywords):
    """`msp run OPTIONS -- COMMAND`; a CompletedProcess."""
    keywords.setdefault("stdin", subprocess.DEVNULL if "input" not in keywords else None)
    if keywords["stdin"] is None:
        del keywords["stdin"]
    return subprocess.run([MSP, "run", *limits(), *options, "--", *command], text=text,
                          capture_output=True, timeout=timeout, check=False, **keywords)


def run_python(code, **keywords):
    """The same with a program for the sandbox's python3."""
    return run("python3", "-c", code, **keywords)


def config_of(*profiles):
    """The text of a configuration with these profiles, of each of which the keys are given."""
    entries = []
    for keys in profiles:
        first, *rest = keys.splitlines()
        entries += ["  - " + first, *("    " + line if line else "" for line in rest)]
    return "profiles:\n" + "".join(line + "\n" for line in entries)


class Server:
    """`msp serve` and a client's end of its session. Use as a context manager."""

    def __init__(self, *options, with_limits=True, stderr=subprocess.PIPE, program=None,
                 launcher=(), **keywords):
        command = [*launcher, program or MSP, "serve", *(limits() if with_limits else []), *options]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=stderr, **keywords)
        self.lines = queue.Queue()
        self.other = []  # messages nobody waited for: notifications, answers to unknown ids
        self.answers = {}
        self.ids = itertools.count(1)
        self.error_text = b""
        self.readers = [threading.Thread(target=self._read_lines, daemon=True)]
        if stderr == subprocess.PIPE:
            self.readers.append(threading.Thread(target=self._read_errors, daemon=True))
        for reader in self.readers:
            reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _read_lines(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def _read_errors(self):
        for line in self.process.stderr:
            self.error_text += line

    def send_bytes(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        self.send_bytes(json.dumps(message).encode() + b"\n")

    def receive_line(self, timeout=20):
        """The next line as bytes; raises Gone at the end and TimeoutError."""
        try:
            line = self.lines.get(timeout=timeout)
        except queue.Empty:
            raise TimeoutError(f"no answer in {timeout} s") from None
        if line is None:
            self.lines.put(None)
            raise Gone(self.error_text.decode(errors="replace"))
        return line

    def receive(self, timeout=20):
        return json.loads(self.receive_line(timeout))

    def post(self, method, params=None):
        """Send a request; returns its id."""
        number = next(self.ids)
        message = {"jsonrpc": "2.0", "id": number, "method": method}
        if params is not None:
            message["params"] = params
        self.send(message)
        return number

    def answer(self, number, timeout=20):
        """Wait for the answer to a request; its result, or RpcError."""
        end = time.monotonic() + timeout
        while number not in self.answers:
            message = self.receive(max(0.001, end - time.monotonic()))
            if "id" in message and "method" not in message and message["id"] is not None:
                self.answers[message["id"]] = message
            else:
                self.other.append(message)
        message = self.answers.pop(number)
        if "error" in message:
            raise RpcError(message["error"])
        return message["result"]

    def request(self, method, params=None, timeout=20):
        return self.answer(self.post(method, params), timeout)

    def notify(self, method, params=None):
        message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        self.send(message)

    def initialize(self, version=PROTOCOL):
        result = self.request("initialize", {
            "protocolVersion": version, "capabilities": {},
            "clientInfo": {"name": "tests", "version": "1"}})
        self.notify("notifications/initialized")
        # The sandbox in which the layers were tried is gone, and what is below is there to stay:
        # the factory and the broker, or with a service nothing.
        wait_until(lambda: len(descendants(self.process.pid)) <= 2)
        return result

    def call(self, tool, timeout=30, **arguments):
        """Call a tool; its whole result. What runs is waited for as long as a call can."""
        if tool in ("run_command", "run_code"):
            arguments.setdefault("yield_ms", YIELD_MS)
        return self.request("tools/call", {"name": tool, "arguments": arguments}, timeout)

    def close(self, timeout=60):
        """End of input; returns the exit code."""
        if not self.process.stdin.closed:
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                pass
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            for reader in self.readers:
                reader.join(2)
            self.process.stdout.close()
            if self.process.stderr:
                self.process.stderr.close()
        return code


def text_of(result):
    """The text of a tool's result."""
    return "\n".join(part["text"] for part in result["content"] if part["type"] == "text")


OPENER = "msp-opener"
STEWARDS = ("msp-audit", "msp-store", "msp-cable")  # with what these start


def _is_child_init(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().startswith(b"msp-child-init\0")
    except OSError:
        return False


def _is_first(pid):
    """Has it a PID namespace of its own?"""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            return re.search(r"^NSpid:.*\s1$", file.read(), re.M) is not None
    except OSError:
        return False


def _name(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().rstrip("\n")
    except OSError:
        return None


def _listed(pid):
    """What the kernel lists for each of the process's threads, by pid."""
    found = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), \
                    open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                found += map(int, file.read().split())
    return sorted(found)


def _children(pid, with_opener):
    """A child that ends while the kernel lists them can hide the next, so two lists are alike. To
    look through all of /proc instead takes milliseconds, and tests look often."""
    found, before = _listed(pid), None
    while found != before:
        found, before = _listed(pid), found
    return [child for child in found if with_opener or
            _name(child) not in (None, OPENER, *STEWARDS)]


def _below(pid, with_opener, is_left_out):
    found, waiting = [], [pid]
    while waiting:
        parent = waiting.pop()
        below = [child for child in _children(parent, with_opener)
                 if not is_left_out(parent, child)]
        found += below
        waiting += below
    return found


def _is_ready(pid):
    """Is it an init in whose sandbox nothing runs? Factories have them made ahead."""
    return (_is_child_init(pid) and _is_first(pid)
            and all(map(_is_child_init, _children(pid, False))))


def named(pid, name):
    """The processes below `pid` that were started under this name."""
    found = []
    for child in descendants(pid, with_opener=True, with_ready=True):
        with contextlib.suppress(OSError):
            with open(f"/proc/{child}/cmdline", "rb") as file:
                if file.read().split(b"\0")[0] == name.encode():
                    found.append(child)
    return found


def ready(pid):
    """The inits below `pid` in whose sandboxes nothing runs."""
    return list(filter(_is_ready, _below(pid, False, lambda parent, child: False)))


def descendants(pid, with_opener=False, with_ready=False):
    """Every process below `pid`; without the part of the launcher that stays and the writer of the
    audit log, and without inits that a factory has ready, with the processes that wait in them: all
    these have nothing to do with what is asked of the others."""
    return _below(pid, with_opener, lambda parent, child: not with_ready and
                  _is_child_init(parent) and _is_ready(child))


def find(above, name):
    """The processes below `above` with this name."""
    found = []
    for pid in descendants(above):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", encoding="utf-8") as file:
            if file.read().strip() == name and is_alive(pid):
                found.append(pid)
    return found


def is_alive(pid):
    """Does the process exist and is it more than a zombie?"""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def remove_folder(path):
    """With what overlayfs made for itself in a layer, which not even its owner may enter; also while
    msp removes a part of it."""
    end = time.monotonic() + 20
    while os.path.lexists(path) and time.monotonic() < end:
        for folder, below, _ in os.walk(path):
            for name in below:
                with contextlib.suppress(FileNotFoundError):
                    if not os.path.islink(os.path.join(folder, name)):
                        os.chmod(os.path.join(folder, name), 0o700)
        shutil.rmtree(path, ignore_errors=True)
        time.sleep(0.001)


def wait_until(condition, timeout=20.0, step=0.005):
    """Poll until `condition()` holds; returns whether it did. What takes long is looked at less
    often: up to twenty steps apart, a tenth of the time that has passed."""
    begun = time.monotonic()
    while not condition():
        passed = time.monotonic() - begun
        if passed > timeout:
            return False
        time.sleep(min(max(step, passed / 10), 20 * step))
    return True


def await_removal(state):
    """What was destroyed is removed in the background; returns whether nothing of it is left."""
    trash = os.path.join(state, "trash")
    return wait_until(lambda: not os.path.exists(trash) or not os.listdir(trash))
