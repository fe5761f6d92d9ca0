# SPDX-License-Identifier: Apache-2.0
"""What every group of measurements is given: the programs, places to work in, how many rounds."""
import glob
import os
import re
import shutil
import signal
import subprocess
import tempfile
import typing

import peers
import programs

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(ROOT, "tests", "bench")
# Tools in C, and what of the project each is linked with: those that read a build's plan are of its
# source.
TOOLS = {"client": (), "echo": (), "relay": (), "network": (), "tls": (), "peak": (),
         "filter": ("plan.c",), "unobserved": ("plan.c",),
         "filter_cost": ("plan.c", "seccomp.c")}


LIBRARIES = {"tls": ("-lssl", "-lcrypto")}


class Missing(Exception):
    """Something that the bench itself needs is not there."""


class Build(typing.NamedTuple):
    """The folder of its programs, and that of its source."""
    programs: str
    source: str


def in_common(source, name):
    """A file of common/, in whichever room the commit has it."""
    found = glob.glob(os.path.join(source, "common", "**", name), recursive=True)
    if len(found) != 1:
        raise Missing(f"{source}/common has {len(found)} files {name}, not one")
    return found[0]


def prepare(build, place):
    """Everything that takes no account's rights: a copy of the build's programs, which the account
    can reach, the tools, the default profile's filter, and a copy that does not observe."""
    if not os.access(os.path.join(build.programs, "msp"), os.X_OK):
        raise Missing(f"there is no program {build.programs}/msp: ./dev build makes "
                      "build/release/bin")
    if not shutil.which("gcc"):
        raise Missing("there is no gcc, which makes the bench's own programs: ./dev setup")
    copy = shutil.copytree(build.programs, os.path.join(place, "bin"))
    for name, needed in TOOLS.items():
        source = build.source if needed else ROOT
        paths = [os.path.join(source, f"tests/bench/{name}.c"),
                 *(in_common(source, file) for file in needed)]
        subprocess.run(["gcc", "-O2", "-D_GNU_SOURCE", "-I", source, "-o",
                        os.path.join(place, name), *paths, *LIBRARIES.get(name, ())], check=True)
    plan = os.path.join(copy, "builtin.policy")
    filter_with(place, "filter", plan, os.path.join(place, "default.filter"))
    unobserved = shutil.copytree(copy, os.path.join(place, "bin-unobserved"))
    filter_with(place, "unobserved", plan, os.path.join(unobserved, "builtin.policy"))
    return copy


def filter_with(place, tool, source, target):
    with open(source, "rb") as file:
        result = subprocess.run([os.path.join(place, tool), "default"], stdin=file,
                                capture_output=True, check=True)
    with open(target, "wb") as file:
        file.write(result.stdout)


def end_left(place):
    """Ends what peers left behind: podman keeps a process that holds its namespace."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if f"XDG_RUNTIME_DIR={home_in(place)}\0".encode() in file.read():
                    os.kill(int(pid), signal.SIGKILL)
        except OSError:  # not ours, or gone
            continue


def home_in(place):
    """Where peers keep what they keep."""
    return os.path.join(place, "home")


def read_pss(pids):
    """kB of memory that these processes take, shared pages divided among those who share them; None
    where they may not be looked at."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
                total += int(re.search(r"^Pss: +(\d+)", file.read(), re.M).group(1))
        except PermissionError:
            return None
        except (OSError, AttributeError):  # it has ended
            continue
    return total


class Context:
    """`meter` reads the memory of processes: a function of pids."""

    def __init__(self, support, place, quick, with_peers, meter=read_pss):
        self.support, self.place, self.quick, self.meter = support, place, quick, meter
        self.with_peers, self.known_others, self.services = with_peers, None, 0
        self.memory = tempfile.mkdtemp(prefix="msp-bench-", dir="/dev/shm")

    def close(self):
        shutil.rmtree(self.memory, ignore_errors=True)

    def rounds(self, full, quick):
        return quick if self.quick else full

    def tool(self, name):
        return os.path.join(self.place, name)

    def filter_path(self):
        return os.path.join(self.place, "default.filter")

    def secret(self):
        """A file of the user's, which no sandbox shall show."""
        path = os.path.join(self.place, "secret")
        with open(path, "w", encoding="ascii") as file:
            file.write("secret\n")
        return path

    def unobserved(self):
        return os.path.join(self.place, "bin-unobserved")

    def others(self):
        if not self.known_others:
            self.known_others = peers.Peers(self, tuple(peers.MAKERS) if self.with_peers
                                            else peers.DEFAULT)
        return self.known_others

    def peer_environment(self):
        """Some want a home, which an account for msp does not have."""
        home = home_in(self.place)
        os.makedirs(home, mode=0o700, exist_ok=True)
        return {**programs.ENVIRONMENT, "PATH": peers.SEARCH, "HOME": home,
                "XDG_RUNTIME_DIR": home}

    def allowed_calls(self):
        """The system calls that the default profile allows, for filters made of names."""
        result = subprocess.run([os.path.join(self.support.BIN, "msp-policy"), "seccomp",
                                 "default"], capture_output=True, text=True, check=True)
        return allowed_in(result.stdout)

    def start_service(self, stack, **keywords):
        """A service that ends with `stack`; its socket."""
        import service  # of the integration tests, which must know where the programs are

        self.services += 1
        path = os.path.join(self.place, f"service-{self.services}")
        stack.callback(service.Service(path, **keywords).end)
        return path


def allowed_in(text):
    """What `msp-policy seccomp` lists below its allowed groups: the line after the description."""
    groups = re.findall(r"^[a-z]+: allowed.*\n  .*\n  (.+)$", text, re.M)
    return sorted({name for line in groups for name in line.split()})
