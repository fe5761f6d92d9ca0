#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Limits: what asks for too much is ended with the verdict that says so, its output is kept, and
neither the host nor the server that runs it pays."""
import contextlib
import json
import os
import resource
import subprocess
import tempfile
import time
import unittest
import unittest.mock

import leftovers
import support

# A small limit is enforced as a large one is, and is reached in a part of the time: the default's
# memory takes up to twenty seconds. ./dev test --all has the default's.
MEMORY_MIB = 2048 if support.IS_ALL else 128
PIDS = 256 if support.IS_ALL else 64
CONFIG = f"""profiles:
  - name: small
    description: the default with other limits
    extends: default
    limits:
      memory: {MEMORY_MIB}M
      file_size: 64M
      pids: {PIDS}
"""
SMALL = ("--profile", "small")
SHARE = MEMORY_MIB // 16
# At a pace that leaves what is taken between two looks at it small.
GROW = """
import time
def grow(take, size={0} << 20):
    kept = []
    while True:
        kept.append(take(size))
        time.sleep(0.01)
""".format(MEMORY_MIB // 64)


def setUpModule():
    if os.geteuid() == 0:
        raise unittest.SkipTest("needs an ordinary user")
    leftovers.become_reaper()
    folder = tempfile.TemporaryDirectory(prefix="msp-config-")
    unittest.addModuleCleanup(folder.cleanup)
    path = os.path.join(folder.name, "config.yaml")
    with open(path, "w", encoding="ascii") as file:
        file.write(CONFIG)
    patch = unittest.mock.patch.dict(os.environ, MSP_CONFIG=path)
    patch.start()
    unittest.addModuleCleanup(patch.stop)


def run_json(*command, options=(), timeout=60, **keywords):
    """`msp run --json`; the object."""
    result = support.run(*command, options=("--json", *options), timeout=timeout, **keywords)
    return json.loads(result.stdout)


def run_code(code, **keywords):
    return run_json("python3", "-uc", code, **keywords)


class Limits(unittest.TestCase):
    def tearDown(self):
        gone = leftovers.wait_gone(time.monotonic())  # gigabytes are given back
        self.assertIsNotNone(gone, leftovers.describe(leftovers.living()))


class Memory(Limits):
    def assert_memory(self, told):
        self.assertEqual(told["verdict"], "memory", told)
        self.assertEqual(told["signal"], 9)
        self.assertEqual(told["stdout"], "before\n")
        if support.limits() and "peak_bytes" not in told:
            return  # gigabytes were not given back at once (used.py)
        self.assertGreater(told["peak_bytes"], MEMORY_MIB << 19)
        # What is taken between two looks at it comes on top; looks are late on a busy machine.
        self.assertLess(told["peak_bytes"], 3 * MEMORY_MIB << 20)

    def test_one_process(self):
        self.assert_memory(run_code(GROW + "print('before'); grow(bytearray)", options=SMALL))

    def test_memory_maps(self):
        self.assert_memory(run_code(GROW + "import mmap; print('before')\n"
                                    "def take(size):\n"
                                    "    taken = mmap.mmap(-1, size)\n"
                                    "    taken.write(bytes(size))\n"
                                    "    return taken\n"
                                    "grow(take)", options=SMALL))

    def test_spread_over_processes(self):
        """None of them is large by itself."""
        self.assert_memory(run_code("import os, time; print('before')\n"
                                    "for _ in range(24):\n"
                                    "    if os.fork() == 0:\n"
                                    f"        b = bytearray(os.urandom(1) * ({SHARE} << 20))\n"
                                    "        time.sleep(60)\n"
                                    "time.sleep(60)", options=SMALL))

    def test_in_a_session_of_its_own(self):
        self.assert_memory(run_code(GROW + "import os; print('before')\n"
                                    "if os.fork() == 0:\n"
                                    "    os.setsid()\n"
                                    "    if os.fork() == 0: grow(bytearray)\n"
                                    "    os._exit(0)\n"
                                    "time.sleep(60)", options=SMALL))

    def test_in_a_process_that_hides_its_memory(self):
        """Not dumpable: nobody without a right to it could look at its size."""
        self.assert_memory(run_code(GROW + "import ctypes; print('before')\n"
                                    "ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n"
                                    "grow(bytearray)", options=SMALL))

    def test_shared_memory_counts_once(self):
        told = run_code(f"import mmap, os; m = mmap.mmap(-1, {4 * SHARE} << 20)\n"
                        f"m.write(bytes({4 * SHARE} << 20))\n"
                        "pids = []\n"
                        "for _ in range(8):\n"
                        "    pid = os.fork()\n"
                        "    if pid == 0:\n"
                        "        sum(m[::4096]); os._exit(0)\n"
                        "    pids.append(pid)\n"
                        "for pid in pids: os.waitpid(pid, 0)\n"
                        "print('done')", options=SMALL)
        self.assertEqual((told["verdict"], told["stdout"]), ("exited", "done\n"))

    def test_reserved_but_unused_memory_is_free(self):
        """Node, Go and Java reserve far more than they use."""
        told = run_code("import mmap; mmap.mmap(-1, 64 << 30, flags=0x4022); print('reserved')")
        self.assertEqual((told["verdict"], told["stdout"]), ("exited", "reserved\n"))


class Processes(Limits):
    def test_a_fork_bomb_is_bounded(self):
        told = run_json("/bin/bash", "-c", "bomb() { bomb | bomb & }; bomb; sleep 0.5; echo alive",
                        options=("--timeout", "5", *SMALL))
        self.assertIn(told["verdict"], ("exited", "pids", "timeout", "memory"))
        self.assertEqual(support.run("echo", "next").stdout, "next\n")

    def test_the_number_is_the_profiles(self):
        told = run_code("import os, time\n"
                        "count = 1\n"
                        "try:\n"
                        "    while True:\n"
                        "        if os.fork() == 0: time.sleep(60)\n"
                        "        count += 1\n"
                        "except BlockingIOError:\n"
                        "    print(count)\n", options=SMALL)
        self.assertIn(told["verdict"], ("exited", "pids"))
        self.assertLessEqual(abs(int(told["stdout"]) - PIDS), 1)

    def test_a_model_gets_the_commands_own_exit_code(self):
        """A refused fork kills nothing: the command goes on, and ends by itself."""
        code = ("import os, time\n"
                "try:\n"
                "    while True:\n"
                "        if os.fork() == 0: time.sleep(60)\n"
                "except BlockingIOError:\n"
                "    time.sleep(1)\n"  # for a look without cgroups
                "    os._exit({0})\n")
        with contextlib.closing(support.Server()) as server:
            server.initialize()
            said = [support.text_of(server.call("run_code", language="python", code=code.format(number),
                                                profile="small", timeout=60)) for number in (7, 0)]
        self.assertRegex(said[0], r"(?s)^\[.*\]\n\[exit 7 · [0-9.]+ s · process limit reached; start fewer "
                         r"processes and threads(?: · no output)?\]$")
        self.assertRegex(said[1], r"^\[[0-9]+ background processes were ended .*\]\n"
                         r"\[exit 0 · [0-9.]+ s(?: · no output)?\]$")

    def test_one_sandbox_does_not_count_for_another(self):
        hold = ("import os, time\n"
                f"for _ in range({PIDS * 3 // 4}):\n"
                "    if os.fork() == 0: time.sleep(60)\n"
                "print('up', flush=True); time.sleep(60)\n")
        process = subprocess.Popen([support.MSP, "run", *support.limits(), *SMALL, "--", "python3",
                                    "-c", hold], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.assertEqual(process.stdout.readline(), b"up\n")
        told = run_code("import os\n"
                        f"for _ in range({PIDS * 3 // 4}):\n"
                        "    if os.fork() == 0: os._exit(0)\n"
                        "print('fine')", options=SMALL)
        self.assertEqual(told["stdout"], "fine\n")
        process.terminate()
        process.wait()
        process.stdout.close()


class Time(Limits):
    FAMILY = ("echo kept; echo also >&2; trap '' TERM INT HUP; setsid sleep 3600 & "
              "(setsid sh -c 'sleep 3600 & sleep 3600' &); sleep 3600 & wait")

    def test_a_timeout_ends_all_of_it_and_keeps_the_output(self):
        told = run_json("/bin/sh", "-c", self.FAMILY, options=("--timeout", "0.5"))
        self.assertEqual((told["verdict"], told["signal"]), ("timeout", 9))
        self.assertEqual((told["stdout"], told["stderr"]), ("kept\n", "also\n"))

    def test_children_that_keep_the_output_open(self):
        told = run_json("/bin/sh", "-c", "setsid sleep 3600 & echo done")
        self.assertEqual((told["verdict"], told["stdout"]), ("exited", "done\n"))

    def test_a_busy_loop(self):
        told = run_json("/bin/sh", "-c", "while :; do :; done", options=("--timeout", "0.5"))
        self.assertEqual(told["verdict"], "timeout")
        self.assertGreater(told["cpu_ms"], 20)

    def test_a_stopped_workload(self):
        told = run_json("/bin/sh", "-c", "kill -STOP $$", options=("--timeout", "0.5"))
        self.assertEqual(told["verdict"], "timeout")


class Output(Limits):
    def test_a_flood_costs_constant_memory(self):
        """Of msp itself, which counts it all and keeps head and tail, and of what it has waited
        for: each of its processes, head among them."""
        size = 256 << 20
        process = subprocess.Popen([support.MSP, "run", *support.limits(), "--json", "--", "head",
                                    "-c", str(size), "/dev/zero"], stdout=subprocess.PIPE)
        told = json.load(process.stdout)
        process.stdout.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(told["stdout_bytes"], size)
        self.assertGreater(told["stdout_omitted_bytes"], size - (8 << 20))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self.assertLess(usage.ru_maxrss, max(before, 64 << 10) + 1, "KiB")

    def test_a_flood_that_nobody_keeps(self):
        """Passed on live, to a reader as slow as it likes."""
        process = subprocess.Popen([support.MSP, "run", *support.limits(), "--timeout", "1", "--",
                                    "yes"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        time.sleep(0.5)
        with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
            peak = int(next(line for line in file if line.startswith("VmHWM")).split()[1])
        self.assertLess(peak, 64 << 10)
        process.stdout.read()
        self.assertEqual(process.wait(60), 124)
        process.stdout.close()


class Files(Limits):
    def test_the_size_of_one_file(self):
        """1 GiB; the file system would be full a little later."""
        told = run_code("import os, signal\n"
                        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
                        "fd = os.open('/workspace/big', os.O_WRONLY | os.O_CREAT)\n"
                        "try:\n"
                        "    os.ftruncate(fd, (1 << 30) + 1)\n"
                        "except OSError as error:\n"
                        "    print(error.errno)\n"
                        "os.ftruncate(fd, 1 << 30)\n")
        self.assertEqual((told["verdict"], told["stdout"]), ("exited", "27\n"))

    def test_the_signal_for_it(self):
        told = run_json("/bin/sh", "-c", "head -c 128M /dev/zero > /workspace/big", options=SMALL)
        self.assertEqual(told["exit_code"], 128 + 25)

    def test_open_files(self):
        told = run_code("import os\n"
                        "count = 3\n"
                        "try:\n"
                        "    while True: os.dup(0); count += 1\n"
                        "except OSError as error:\n"
                        "    print(error.errno, count)\n")
        self.assertEqual(told["stdout"], "24 768\n")

    def test_limits_cannot_be_raised(self):
        told = run_code("import resource as r\n"
                        "for kind in (r.RLIMIT_NPROC, r.RLIMIT_FSIZE, r.RLIMIT_NOFILE, "
                        "r.RLIMIT_CORE, r.RLIMIT_STACK):\n"
                        "    try:\n"
                        "        r.setrlimit(kind, (r.RLIM_INFINITY, r.RLIM_INFINITY))\n"
                        "        print('raised', kind)\n"
                        "    except (ValueError, PermissionError, OSError):\n"
                        "        pass\n")
        self.assertEqual(told["stdout"], "")


if __name__ == "__main__":
    unittest.main()
