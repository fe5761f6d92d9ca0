#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each limit, reached by somebody who means it: the verdict says which, the peak stays near the
limit, nothing is left; and the same act with that limit raised ends in peace."""
import os
import resource
import signal
import subprocess
import tempfile
import time
import unittest

import ground
import figures
import leftovers
import modes

# How far the fallback's watch may be late: what is touched between two looks, and while it looks.
FALLBACK_PEAK = 3 * ground.MEMORY

GROUND = None
LIMITS = None


def setUpModule():
    global GROUND, LIMITS
    GROUND, LIMITS = ground.prepare(modes.profiles())
    print("limits:", LIMITS)


def hog_on_host(*arguments, **keywords):
    """The same program without a sandbox."""
    return subprocess.Popen([os.path.join(ground.HOG_FOLDER, "hog"), *map(str, arguments)],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                            **keywords)


class Limits(unittest.TestCase):
    def setUp(self):
        self.cgroups = GROUND.cgroups()
        self.files = len(os.listdir("/proc/self/fd"))

    def tearDown(self):
        # A mount of ours is in a namespace of one of ours, and gone with the last of them.
        gone = leftovers.wait_gone(time.monotonic())
        self.assertIsNotNone(gone, leftovers.describe(leftovers.living()))
        self.assertEqual(GROUND.cgroups(), self.cgroups)
        self.assertEqual(len(os.listdir("/proc/self/fd")), self.files)

    def hog(self, profile, mode, amount=0, seconds=0):
        told = GROUND.hog(profile, mode, amount,
                          options=("--timeout", str(seconds)) if seconds else ())
        self.assertEqual(told["limits"], LIMITS)
        return told


class Verdicts(Limits):
    """One test for each row of the table, made below; an ordinary run tries some of them."""

    def assert_peak(self, mode, told):
        if LIMITS == "fallback" and "peak_bytes" not in told:
            return  # a killed process had not ended (integration/used.py)
        peak = told["peak_bytes"]
        if LIMITS == "cgroup":
            self.assertLessEqual(peak, ground.MEMORY)
        if told["verdict"] == "memory":
            self.assertGreater(peak, ground.MEMORY * 0.9)
            self.assertLess(peak, FALLBACK_PEAK)
        elif mode.mode != "memfd":
            self.assertLess(peak, ground.MEMORY)

    def check(self, mode):
        if not modes.is_tried(mode, LIMITS):
            self.skipTest("MSP_LIMITS=all: the other side tries all ways of this limit")
        told = self.hog(mode.profile, mode.mode, mode.amount, mode.seconds)
        print(f"\n{LIMITS} {mode.mode} {mode.amount}: {told['verdict']}, "
              f"{told['wall_ms']} ms, {told.get('cpu_ms', '-')} ms CPU, "
              f"peak {told.get('peak_bytes', 0) / ground.MIB:.1f} MiB")
        figures.record("limits", what=mode.mode, limit=mode.limit or "time", mode=LIMITS,
                       verdict=told["verdict"], peak_bytes=told.get("peak_bytes"))
        self.assertEqual(told["verdict"], mode.cgroup if LIMITS == "cgroup" else mode.fallback,
                         told)
        self.assert_peak(mode, told)
        if mode.said:
            self.assertIn(mode.said, told["stdout"])
            self.assertEqual(told["exit_code"], 1)
        if mode.limit:
            self.check_control(mode)

    def check_control(self, mode):
        told = self.hog(modes.control_profile(mode), mode.mode, mode.amount,
                        2 if mode.mode == "memory-again" else 0)
        if mode.mode == "memory-again":
            self.assertEqual(told["verdict"], "timeout", told)
        else:
            self.assertEqual((told["verdict"], told["exit_code"]), ("exited", 0), told)
            self.assertIn("took", told["stdout"][-40:])


def add_tests():
    for mode in modes.MODES:
        name = f"test_{mode.mode}_{mode.limit or 'time'}".replace("-", "_")
        setattr(Verdicts, name, lambda self, mode=mode: self.check(mode))


add_tests()


class Time(Limits):
    def test_processes_that_were_killed_used_their_time(self):
        """More than the first one alone could have."""
        told = self.hog("small", "spin-processes", 8, seconds=1)
        self.assertEqual(told["verdict"], "timeout")
        self.assertGreater(told["cpu_ms"], 200)

    def test_ignored_signals_control(self):
        process = hog_on_host("ignore-signals")
        self.assertEqual(process.stdout.readline(), "ignoring\n")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGXCPU):
            process.send_signal(number)
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(0.3)
        process.kill()
        process.communicate()


class Outliving(Limits):
    """The sandbox ends with the first process, however its children left it."""

    def test_daemons(self):
        told = self.hog("small", "daemons", 8)
        self.assertEqual((told["verdict"], told["exit_code"]), ("exited", 0))
        self.assertEqual(told["stdout"], "took 8\n")

    def test_stopped(self):
        told = self.hog("small", "stopped", 8, seconds=1)
        self.assertEqual(told["verdict"], "timeout")

    def test_control(self):
        """On the host they live on."""
        try:
            result = subprocess.run([ground.HOG_FOLDER + "/hog", "daemons", "2"], timeout=20,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                    check=False)
            alive = len(leftovers.living())
        finally:
            leftovers.end_all()
        self.assertEqual((result.returncode, alive), (0, 2))

    def test_what_a_first_process_leaves_is_counted(self):
        told = GROUND.run("small", "/bin/sh", "-c", "/hog/hog spin & until [ \"$(cut -d' ' -f14 "
                          "/proc/$!/stat)\" -ge 20 ]; do sleep 0.1; done")  # of 10 ms each
        self.assertEqual(told["verdict"], "exited")
        self.assertGreater(told["cpu_ms"], 100)


class Coping(Limits):
    """A limit that was reached and dealt with is no verdict."""

    def test_pids(self):
        told = GROUND.run("small", "/bin/sh", "-c", "/hog/hog threads 100; exit 0")
        self.assertEqual((told["verdict"], told["exit_code"]), ("exited", 0), told)

    def test_disk(self):
        told = GROUND.run("small", "/bin/sh", "-c", "/hog/hog fill-tmp 16; exit 0")
        self.assertEqual((told["verdict"], told["exit_code"]), ("exited", 0), told)
        told = GROUND.run("small", "/bin/sh", "-c", "/hog/hog fill-tmp 16; rm /tmp/*; exit 7")
        self.assertEqual((told["verdict"], told["exit_code"]), ("exited", 7), told)
        told = GROUND.run("small", "/bin/sh", "-c", "/hog/hog fill-tmp 16; exit 7")
        self.assertEqual((told["verdict"], told["exit_code"]), ("disk", 7), told)


class Output(Limits):
    def test_one_line_of_100_mib(self):
        told = self.hog("small-output", "line", 100)
        self.assertEqual((told["verdict"], told["exit_code"]), ("exited", 0))
        self.assertEqual(told["stdout_bytes"], (100 << 20) + len("took 0\n"))
        self.assertLess(len(told["stdout"]), 8 << 20)

    def test_both_streams_count_together(self):
        """Neither is too long: what is not ended by its output is ended by its time."""
        half = "head -c 700000 /dev/zero"
        told = GROUND.run("small", "/bin/sh", "-c", f"{half}; {half} >&2; sleep 60",
                          options=("--timeout", "30"))
        self.assertEqual((told["verdict"], told["stdout_bytes"]), ("output", 700000), told)
        self.assertGreater(told["stdout_bytes"] + told["stderr_bytes"], 1 << 20)
        self.assertLessEqual(told["stderr_bytes"], 700000)


class Cores(Limits):
    def test_none_is_written(self):
        told = GROUND.run("small", "/bin/sh", "-c", "/hog/hog core 16; echo $?; find / -xdev "
                          "-name 'core*' 2>/dev/null; find /tmp /workspace /home -type f")
        self.assertEqual(told["verdict"], "exited")
        self.assertEqual(told["stdout"], f"{128 + signal.SIGABRT}\n")
        self.assertEqual(self.hog("small", "core", 16)["signal"], signal.SIGABRT)

    def test_control(self):
        if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
            self.skipTest("no core may be written by anybody here")
        with open("/proc/sys/kernel/core_pattern", encoding="ascii") as file:
            if file.read()[0] in "|/":
                self.skipTest("cores go elsewhere on this machine")
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            wrapper = f"ulimit -c unlimited; exec {ground.HOG_FOLDER}/hog core 16"
            subprocess.run(["/bin/sh", "-c", wrapper], stdin=subprocess.DEVNULL, cwd=folder,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
                           timeout=60)
            self.assertEqual(len(os.listdir(folder)), 1)


class Disk(Limits):
    def test_nothing_reaches_a_disk(self):
        """All that can be written to is memory, whatever is synchronised: no limit on I/O could
        find anything to limit."""
        told = GROUND.run("small", "/bin/sh", "-c",
                          "/hog/hog disk-flood 500 && grep -E '^(wchar|write_bytes)' /proc/$$/io")
        self.assertEqual(told["verdict"], "exited")
        self.assertRegex(told["stdout"], r"wchar: 3\d{7}\n")
        self.assertIn("write_bytes: 0\n", told["stdout"])


class OfTheUser(Limits):
    """What the kernel counts for the host's user, all sandboxes together."""

    def test_timers(self):
        told = self.hog("small", "timers", 3000)
        self.assertRegex(told["stdout"], r"refused EAGAIN after 1\d{3}\n")
        process = hog_on_host("timers", 3000)
        self.assertEqual(process.communicate(timeout=20)[0], "took 3000\n", "control")

    def test_descriptors_in_flight_do_not_keep_others_from_starting(self):
        """Even where a start allows itself no more descriptors than the sandbox has."""
        hold = ("import array, os, socket, time\n"
                "pairs = []\n"
                "try:\n"
                "    while True:\n"
                "        pairs.append(socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET))\n"
                "        for _ in range(9):\n"
                "            socket.send_fds(pairs[-1][0], [b'x'], [1] * 200)\n"
                "except OSError as error:\n"
                "    print(error.errno, flush=True)\n"
                "time.sleep(60)\n")

        def few():
            hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))

        with GROUND.place() as enter:
            process = subprocess.Popen(
                [GROUND.msp, "run", "--limits=fallback", "--profile=default", "--", "python3",
                 "-c", hold], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                preexec_fn=enter)
            try:
                self.assertEqual(process.stdout.readline(), "109\n", "ETOOMANYREFS")
                with GROUND.place() as enter_other:
                    def prepare():
                        if enter_other:
                            enter_other()
                        few()
                    result = subprocess.run(
                        [GROUND.msp, "run", "--limits=fallback", "--", "echo", "started"],
                        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                        check=False, preexec_fn=prepare)
                self.assertEqual((result.returncode, result.stdout), (0, "started\n"),
                                 result.stderr)
                # The control: one who may not have more is refused.
                told = self.hog("small", "in-flight", 10)
                self.assertIn("refused ETOOMANYREFS after 0", told["stdout"])
            finally:
                process.terminate()
                process.communicate(timeout=20)


if __name__ == "__main__":
    ground.main()
