# SPDX-License-Identifier: Apache-2.0
"""msp's units under the user's own systemd, with the programs under test. Nothing here is a test."""
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "integration"))
import support  # noqa: E402  (a folder of its own)

PACKAGING = os.path.join(support.ROOT, "packaging", "systemd")
FOLDER = os.path.expanduser("~/.config/systemd/user")
RUNTIME = f"/run/user/{os.getuid()}"
SOCKET = RUNTIME + "/msp/supervisor.sock"
SECONDS = 120  # longest that one step may take on a slow machine
STOPPED = 75


def systemctl(*arguments, check=True):
    """`systemctl --user`; its output."""
    result = subprocess.run(["systemctl", "--user", *arguments], text=True, timeout=SECONDS,
                            env={**os.environ, "XDG_RUNTIME_DIR": RUNTIME}, capture_output=True,
                            stdin=subprocess.DEVNULL, check=False)
    if check and result.returncode != 0:
        raise AssertionError(f"systemctl {' '.join(arguments)}: {result.stderr}")
    return result.stdout


def skip_reason():
    """Why the tests of this folder cannot run here, or None."""
    if not os.path.exists("/run/systemd/system"):
        return "systemd does not run here"
    if not os.path.exists(RUNTIME + "/systemd/private"):
        return "no systemd of this user runs ('loginctl enable-linger' starts one)"
    if os.path.exists(FOLDER + "/msp.service") or os.path.exists(SOCKET):
        return "this user has a service already"
    return None


REASON = skip_reason()


def properties(*names, unit="msp.service"):
    text = systemctl("show", *(f"--property={name}" for name in names), "--", unit)
    return dict(line.split("=", 1) for line in text.splitlines())


def main_pid():
    return int(properties("MainPID")["MainPID"])


def cgroup():
    """The service's directory."""
    return "/sys/fs/cgroup" + properties("ControlGroup")["ControlGroup"]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read().strip()


# A command that does not end by itself, and that nobody else runs.
SLEEP = "sleep 4321"
# A call of it that is not answered for as long as a call can wait.
LASTING = {"name": "run_command",
           "arguments": {"command": SLEEP, "yield_ms": support.YIELD_MS}}


def commands():
    """(pid, words) of each process. What was executed by descriptor has another name in the
    kernel's own list."""
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and support.is_alive(int(entry)):
                yield int(entry), read(f"/proc/{entry}/cmdline").rstrip("\0").split("\0")
        except OSError:
            pass


def processes(*names):
    """Processes that were started under one of these names."""
    return [pid for pid, words in commands() if os.path.basename(words[0]) in names]


def sleepers():
    return [pid for pid, words in commands() if " ".join(words) == SLEEP]


def ours():
    """Processes of msp, wherever."""
    return processes("msp", "msp-supervisor", "msp-child-init", "msp-broker", "msp-scope",
                     "msp-audit", "msp-store", "msp-opener", "msp-starter")


def msp(*arguments, program=None, **keywords):
    keywords.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run([program or support.MSP, *arguments], capture_output=True, text=True,
                          timeout=SECONDS, check=False, **keywords)


def status():
    """What `msp status --json` says."""
    return json.loads(msp("status", "--json").stdout)


class Client(support.Server):
    """An MCP client of `msp serve`, without options."""

    def __init__(self, *options, **keywords):
        super().__init__(*options, with_limits=False, **keywords)

    def begin(self):
        self.initialize()
        return self

    def command(self, text, **arguments):
        """The text of a run_command's result."""
        return support.text_of(self.call("run_command", timeout=SECONDS, command=text,
                                         **arguments))


@unittest.skipIf(REASON, REASON)
class ServiceCase(unittest.TestCase):
    """Each test finds the units installed and nothing started; nothing stays."""

    def setUp(self):
        self.install()

    def install(self, options="", lines=(), folder=support.BIN):
        """Write the units; `lines` go into [Service], `options` behind msp serve --service."""
        service = read(PACKAGING + "/msp.service.in").replace("@CMAKE_INSTALL_FULL_BINDIR@",
                                                              folder)
        extra = ["[Service]", "ExecStart=", f"ExecStart={folder}/msp serve --service {options}",
                 *lines]
        os.makedirs(FOLDER + "/msp.service.d", exist_ok=True)
        self.addCleanup(self.remove)
        for name, text in (("msp.service", service),
                           ("msp.socket", read(PACKAGING + "/msp.socket")),
                           ("msp.service.d/test.conf", "\n".join(extra))):
            with open(f"{FOLDER}/{name}", "w", encoding="utf-8") as file:
                file.write(text + "\n")
        systemctl("daemon-reload")

    def remove(self):
        systemctl("stop", "msp.socket", "msp.service", check=False)
        for name in ("msp.service", "msp.socket", "msp.service.d/test.conf"):
            if os.path.exists(f"{FOLDER}/{name}"):
                os.unlink(f"{FOLDER}/{name}")
        if os.path.exists(FOLDER + "/msp.service.d"):
            os.rmdir(FOLDER + "/msp.service.d")
        systemctl("daemon-reload")
        systemctl("reset-failed", "msp.service", "msp.socket", check=False)

    def client(self, *options, **keywords):
        client = Client(*options, **keywords)
        self.addCleanup(client.close)
        return client.begin()

    def assert_nothing_left(self):
        self.assertTrue(support.wait_until(lambda: not ours(), SECONDS), ours())
