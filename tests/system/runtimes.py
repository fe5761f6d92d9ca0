#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Executions in each runtime of docs/runtimes.md under a real cgroup: a program that takes too much is
ended by the limit, and what the result says, what the kernel shows from outside and what remains are as
for the first runtime of the table, python in a plain sandbox."""
import base64
import collections
import contextlib
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import units
from units import support

sys.path.insert(0, os.path.join(support.ROOT, "tests", "clients"))
import image_store  # noqa: E402  (folders of their own)
import own_cgroup  # noqa: E402
import packages  # noqa: E402
import wasm_modules  # noqa: E402

NPM = os.path.join(support.ROOT, "tests", "clients", "npm-runtimes")
HOG = os.path.join(os.path.dirname(support.BIN), "limits", "hog")
EMULATOR = "qemu-system-x86_64"
IS_ALL = os.environ.get("MSP_LIMITS") == "all"

MIB = 1 << 20
LOOPED_S = 1.5  # of processor time: more than any start takes
SECONDS = 120  # longest that one call may take on a slow machine
BOOT_SECONDS = 300  # of a machine that is emulated in an emulated one
TAKEN_MIB, STARTED = 128, 18  # beyond the limits of `tight`, below those of `wide`
LIMITS = {"tight": {"memory": 96 * MIB, "pids": 16}, "wide": {"memory": 1024 * MIB, "pids": 512}}
PARENTS = {
    "": "extends: default\nfiles:\n  - {at: /opt, kind: bind, from: %(npm)s}",
    "image-": "extends: image\nimage: debian:1",
    "vm-": "extends: vm\nrunner: [/run/vm/msp-vm, %(emulator)s --memory, 160M, --tcg, "
           "--boot-seconds, \"%(boot)s\", --]\nfiles:\n"
           "  - {at: /srv/qemu, kind: bind, from: %(qemu)s}\nlandlock:\n"
           "  - {path: /srv/qemu, rights: [read, execute]}",
}
# What the kernel says of a process, each time the same whatever the process is.
STATUS = ("Uid", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp",
          "Seccomp_filters")
FILES = ("memory.max", "memory.high", "memory.swap.max", "memory.oom.group", "pids.max", "cpu.max",
         "cpu.weight")

# name: of the tests. parent: of its profiles. how: the language of run_code, or None for run_command.
# process: words of the process that runs the program. programs: `memory` takes TAKEN_MIB, `pids` starts
# STARTED processes, `loop` says `looping` and does not end, `done` says it and ends. Where there is no
# `pids`, a program has no way to start any.
class Runtime(collections.namedtuple("Runtime", "name parent how process programs needs",
                                     defaults=((),))):
    def __hash__(self):
        return hash(self.name)


def javascript(spawn, leave):
    """Half of the memory is buffers, half the heap of V8."""
    taking = (f"const kept = []; for (let i = 0; i < {TAKEN_MIB // 16}; i++) "
              "kept.push(i % 2 ? new Uint8Array(1 << 24).fill(1) : new Array(1 << 21).fill(i + 0.5));\n"
              "console.log('took', kept.length);")
    programs = {"memory": taking, "loop": "console.log('looping'); while (true) {}",
                "done": "console.log('looping');"}
    if spawn:
        programs["pids"] = f"for (let i = 0; i < {STARTED}; i++) {spawn}\n{leave}"
    return programs


RUNTIMES = (
    Runtime("python", "", "python", "main.py", {
        "memory": f"kept = [b'x' * (1 << 24) for _ in range({TAKEN_MIB // 16})]",
        "pids": "import subprocess\n"
                f"for _ in range({STARTED}): subprocess.Popen(['sleep', '600'])",
        "loop": "print('looping')\nwhile True: pass", "done": "print('looping')"}),
    Runtime("node", "", "javascript", "main.js", javascript(
        "require('node:child_process').spawn('sleep', ['600'])"
        ".on('error', (error) => { console.error(error.code); process.exit(1); });",
        "setTimeout(() => process.exit(0), 100);")),
    Runtime("deno", "", "typescript", "main.ts", javascript(
        "new Deno.Command('sleep', { args: ['600'] }).spawn();", "Deno.exit(0);"), ("npm",)),
    Runtime("worker", "", "worker", "workerd\0test", {
        name: "export default { async fetch() { " + code + " return new Response('ended'); } }"
        for name, code in javascript(None, None).items()}, ("npm",)),
    Runtime("wasm", "", "wasm", "wasi.mjs", {
        "memory": wasm_modules.taking(TAKEN_MIB), "loop": wasm_modules.saying("looping\n", True),
        "done": wasm_modules.saying("looping\n", False)}),
    Runtime("image", "image-", None, "looping", {
        "memory": f"exec hog malloc {TAKEN_MIB}",
        "pids": f"exec hog forks {2 * STARTED}",  # each that is refused counts as one
        "loop": "echo looping; while :; do :; done", "done": "echo looping"}),
    # Under TCG in an emulated machine a start takes longer than all other tests here: it is the loop.
    # Processes of the machine are its own kernel's.
    Runtime("vm", "vm-", None, EMULATOR, {"memory": "true", "loop": "true", "done": "echo looping"},
            ("vm",)),
)
# Does the loop of a runtime say that it loops?
SILENT = ("vm",)


class World:
    """One server for all tests, and why some runtimes are missing."""
    client = None
    missing = {}


def prepare_vm(state):
    """Make the machine; words for the runner's emulator, and the folder with that."""
    kernel, handed = (os.path.join(packages.base(), name) for name in ("kernel.deb", "qemu"))
    is_handed = os.path.exists(handed)
    if os.path.exists(kernel) and (is_handed or shutil.which(EMULATOR)):
        made = units.msp("vm", "prepare", kernel, env={**os.environ, "MSP_STATE_DIR": state})
        assert made.returncode == 0, made.stderr
    else:
        World.missing["vm"] = "no QEMU or no kernel.deb here: integration/machines makes it"
    return {"emulator": "--emulator, /srv/qemu/start," if is_handed else "",
            "qemu": handed if is_handed else "/usr/share"}


def prepare_npm():
    try:
        return packages.folder(NPM)
    except packages.Unreachable as error:
        World.missing["npm"] = f"{error}: integration/runtimes fetches what the test machine gets"
        return "/usr/share"


def make_image(state):
    store = image_store.Store(state)
    layer = store.layer("debian")
    image_store.fill_distro(layer)
    image_store.put_program(layer, HOG, "/usr/bin/hog")
    store.keep("debian:1", [layer], environment=["PATH=/usr/bin:/bin"])


def profiles(places):
    found = []
    for prefix, parent in PARENTS.items():
        for name, limits in LIMITS.items():
            found.append(f"name: {prefix}{name}\n{parent % places}\nlimits:\n" +
                         "".join(f"  {key}: {value}\n" for key, value in limits.items()))
    return support.config_of(*found)


def setUpModule():
    if units.REASON:
        raise unittest.SkipTest(units.REASON)
    state = tempfile.mkdtemp(prefix="msp-state-")
    unittest.addModuleCleanup(support.remove_folder, state)
    make_image(state)
    config = os.path.join(state, "config.yaml")
    with open(config, "w", encoding="utf-8") as file:
        file.write(profiles({"npm": prepare_npm(), "boot": BOOT_SECONDS, **prepare_vm(state)}))
    for reason in World.missing.values():
        print("left out:", reason, flush=True)
    World.client = units.Client(f"--config={config}", env={**os.environ, "MSP_STATE_DIR": state})
    unittest.addModuleCleanup(World.client.close)
    World.client.begin()


def begin(runtime, check, profile, **more):
    """Post the call of a program; the request's id."""
    program = runtime.programs[check]
    arguments = {"profile": runtime.parent + profile, "yield_ms": support.YIELD_MS, **more}
    if runtime.how is None:
        arguments["command"] = program
    elif isinstance(program, bytes):
        arguments.update(language=runtime.how, code_base64=base64.b64encode(program).decode())
    else:
        arguments.update(language=runtime.how, code=program)
    return World.client.post("tools/call", {
        "name": "run_code" if runtime.how else "run_command", "arguments": arguments})


class Ended:
    """How an execution ended."""

    def __init__(self, number):
        result = World.client.answer(number, SECONDS)
        self.about = result["_meta"]["msp/execution"]
        while self.about.get("state") == "running":  # it has outlived its call
            result = World.client.call("read_output", SECONDS, handle=self.about["handle"],
                                       wait_ms=support.YIELD_MS)
            self.about = result["_meta"]["msp/execution"]
        self.text = support.text_of(result)
        self.is_error = result.get("isError", False)

    def words(self):
        """The line with the verdict, without its figures."""
        return re.sub(r"[\d.]+( MiB| m?s\b)", r"N\1",
                      self.text.splitlines()[-1].replace(" · no output", ""))

    def fields(self):
        """Those of each execution: calls that a runtime tries and is refused are its own."""
        return self.is_error, sorted({*self.about} - {"denials"}), sorted(self.about["posture"])

    def outcome(self):
        return self.about["verdict"], self.about.get("exit_code")


def run(runtime, check, profile, **more):
    return Ended(begin(runtime, check, profile, **more))


class Seen:
    """A running execution from outside: its cgroup, the processes in there and what the kernel says."""

    def __init__(self, folder, processes):
        self.folder, self.processes = folder, processes
        self.inode = os.stat(folder).st_ino
        self.limits = {name: units.read(f"{os.path.dirname(folder)}/{name}") for name in FILES}
        self.status = {self.status_of(pid) for pid in processes} - {None}

    @staticmethod
    def status_of(pid):
        try:
            text = units.read(f"/proc/{pid}/status")
        except OSError:  # a step of the start that has ended
            return None
        rows = dict(line.split(":", 1) for line in text.splitlines())
        return tuple((name, *rows[name].split()) for name in STATUS)

    def used_s(self):
        """Processor time of the one that has most; an error of the test where all have ended."""
        rows = []
        for pid in filter(support.is_alive, self.processes):
            with contextlib.suppress(OSError):
                rows.append(units.read(f"/proc/{pid}/stat").rpartition(")")[2].split()[11:13])
        return max(sum(map(int, row)) for row in rows) / os.sysconf("SC_CLK_TCK")

    def remaining(self):
        """Processes that were seen, and whatever is in the execution's own cgroup."""
        left = [pid for pid in self.processes if support.is_alive(pid)]
        with contextlib.suppress(OSError):  # it is gone
            if os.stat(self.folder).st_ino == self.inode:
                left += own_cgroup.pids_in(self.folder)
        return left


def sandboxes():
    """The cgroup with those of all sandboxes of the server."""
    own = [line[3:] for line in units.read(f"/proc/{World.client.process.pid}/cgroup").splitlines()
           if line.startswith("0::")]
    return os.path.join(os.path.dirname("/sys/fs/cgroup" + own[0]), "sandboxes")


def words_of(pid):
    try:
        return units.read(f"/proc/{pid}/cmdline")
    except OSError:  # it has ended
        return ""


def running(runtime):
    """What is seen of the runtime's execution, or None."""
    for folder, _, _ in os.walk(sandboxes()):
        found = {int(pid): words_of(pid) for pid in own_cgroup.pids_in(folder)}
        started = {pid: words for pid, words in found.items()
                   if words and not words.startswith("msp-child-init")}
        if any(runtime.process in words for words in started.values()):
            return Seen(folder, list(started))
    return None


def await_running(runtime):
    found = []
    if not support.wait_until(lambda: found.append(running(runtime)) or found[-1], SECONDS):
        raise AssertionError(f"{runtime.name} was not seen to run")
    return found[-1]


@functools.lru_cache(maxsize=None)
def reference(check, profile):
    """The same program of the plain sandbox."""
    return run(RUNTIMES[0], check, profile)


@functools.lru_cache(maxsize=None)
def timed_out(runtime):
    """(Ended, Seen) of the loop with a time limit, which leaves it the time to say that it loops."""
    for seconds in (3, 12, 48):
        number = begin(runtime, "loop", "wide", timeout_ms=seconds * 1000)
        seen = await_running(runtime)
        ended = Ended(number)
        if "looping" in ended.text or runtime.name in SILENT:
            break
    return ended, seen


class Limits(unittest.TestCase):
    """A test for each check of each runtime, made below."""

    def need(self, runtime):
        for name in runtime.needs:
            if name in World.missing:
                self.skipTest(World.missing[name])

    def expect_next_call(self):
        text = support.text_of(World.client.call("run_command", SECONDS, command="echo next"))
        self.assertTrue(text.startswith("next\n"), text)

    def expect_gone(self, runtime, seen):
        self.assertTrue(support.wait_until(lambda: not seen.remaining(), 20), seen.remaining())
        self.assertIsNone(running(runtime))

    def expect_control(self, runtime, check, profile="wide", **more):
        ended = run(runtime, check, profile, **more)
        self.assertEqual(ended.outcome(), ("exited", 0), ended.text)
        print(f"{runtime.name} {check}: peak {ended.about.get('peak_bytes', 0) >> 20} MiB",
              flush=True)

    def expect_limit(self, runtime, check):
        ended, plain = run(runtime, check, "tight"), reference(check, "tight")
        verdict, code = ended.outcome()
        self.assertEqual(verdict, check, ended.text)
        self.assertEqual(code is not None, check == "pids", "without a process it fails by itself")
        self.assertNotEqual(code, 0)
        self.assertEqual(ended.words(), plain.words())
        self.assertEqual(ended.fields(), plain.fields())
        self.assertLessEqual(ended.about["peak_bytes"], LIMITS["tight"]["memory"])
        self.expect_next_call()

    def check_memory(self, runtime):
        self.expect_limit(runtime, "memory")
        if runtime.name != "vm":
            self.expect_control(runtime, "memory")

    def check_pids(self, runtime):
        self.expect_limit(runtime, "pids")
        self.expect_control(runtime, "pids")

    def check_time(self, runtime):
        ended, seen = timed_out(runtime)
        self.assertEqual(ended.outcome(), ("timeout", None), ended.text)
        plain, _ = timed_out(RUNTIMES[0])
        self.assertEqual(ended.words(), plain.words())
        self.assertEqual(ended.fields(), plain.fields())
        self.expect_gone(runtime, seen)
        if runtime.name != "vm":
            self.expect_control(runtime, "done", "tight")
        elif IS_ALL:
            self.expect_control(runtime, "done", timeout_ms=2 * BOOT_SECONDS * 1000)

    def check_cancellation(self, runtime):
        number = begin(runtime, "loop", "wide")
        seen = await_running(runtime)
        self.assertTrue(support.wait_until(lambda: seen.used_s() > LOOPED_S, SECONDS))
        World.client.notify("notifications/cancelled", {"requestId": number})
        self.expect_gone(runtime, seen)
        self.expect_next_call()

    def check_posture(self, runtime):
        ended, seen = timed_out(runtime)
        plain, seen_plain = timed_out(RUNTIMES[0])
        self.assertEqual(ended.about["limits"], "cgroup")
        self.assertEqual(ended.about["posture"], plain.about["posture"])
        self.assertLessEqual({"cpu", "memory", "pids"}, set(ended.about["posture"]["controllers"]))
        self.assertGreater(ended.about["posture"]["layers"], 10)
        self.assertEqual(seen.limits, seen_plain.limits)
        self.assertEqual(seen.limits["memory.max"], str(LIMITS["wide"]["memory"]))
        self.assertEqual(seen.limits["memory.swap.max"], "0")
        self.assertEqual(seen.status, seen_plain.status)
        status = {name: values[0] for name, *values in max(seen.status)}
        self.assertEqual((status["Seccomp"], status["NoNewPrivs"]), ("2", "1"))
        self.assertEqual(int(status["CapEff"] + status["CapPrm"] + status["CapBnd"], 16), 0)


def add_tests():
    for runtime in RUNTIMES:
        for check in ("memory", "pids", "time", "cancellation", "posture"):
            def test(self, runtime=runtime, check=check):
                self.need(runtime)
                getattr(self, "check_" + check)(runtime)
            if check != "pids" or "pids" in runtime.programs:
                setattr(Limits, f"test_{runtime.name}_{check}", test)


add_tests()


if __name__ == "__main__":
    unittest.main()
