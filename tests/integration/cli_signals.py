#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How `msp run` dies: by signals, and when one of its processes is killed. Nothing stays."""
import os
import resource
import signal
import subprocess
import tempfile
import time
import unittest

import support
from cli_support import (MSP, SECONDS, adopt_orphans, children, command, name_of, run, start,
                         wait_until_alone)

GONE = 60  # seconds until what hangs has hung


class Signals(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        adopt_orphans()

    def started(self, script="echo ready; sleep 300", **keywords):
        process = start("sh", "-c", script, stdin=subprocess.DEVNULL, **keywords)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def ends_with(self, process, code):
        self.assertEqual(process.wait(SECONDS), code)
        self.assertTrue(wait_until_alone(GONE), [name_of(pid) for pid in children()])
        process.stdout.close()
        text = process.stderr.read().decode()
        process.stderr.close()
        return text

    def test_each(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            with self.subTest(signal=number):
                process = self.started()
                process.send_signal(number)
                self.assertEqual(self.ends_with(process, 128 + number), "")

    def test_no_core_is_left_in_the_callers_directory(self):
        """Whichever of msp's programs crashes; a program of the caller's leaves one there."""
        with open("/proc/sys/kernel/core_pattern", encoding="ascii") as file:
            if file.read().strip() not in ("core", "core.%p"):
                self.skipTest("this machine keeps cores elsewhere")

        def allow_cores():
            hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
            resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))

        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["sh", "-c", "kill -ABRT $$"], cwd=folder, preexec_fn=allow_cores, check=False)
            if not os.listdir(folder):
                self.skipTest("no program leaves a core here")
        with tempfile.TemporaryDirectory() as folder:
            for program in ("msp", "msp-supervisor", "msp-child-init"):
                process = self.started(cwd=folder, preexec_fn=allow_cores)
                for pid in [process.pid, *support.descendants(process.pid)]:
                    with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:
                        if os.path.basename(file.read().split("\0")[0]) == program:
                            os.kill(pid, signal.SIGABRT)
                            break
                else:
                    self.fail("no process of " + program)
                process.wait(SECONDS)
                self.assertTrue(wait_until_alone(GONE))
                process.stdout.close()
                process.stderr.close()
                self.assertEqual(os.listdir(folder), [], program)

    def test_a_workload_that_ignores_everything(self):
        script = "trap '' INT TERM HUP QUIT; (trap '' TERM; sleep 300) & echo ready; sleep 300"
        process = self.started(script)
        process.terminate()
        self.ends_with(process, 143)

    def test_during_the_start(self):
        for delay in (0, 0.001, 0.002, 0.004, 0.006, 0.01):
            with self.subTest(delay=delay):
                process = start("sleep", "300", stdin=subprocess.DEVNULL)
                time.sleep(delay)
                process.terminate()
                self.assertIn(process.wait(SECONDS), (143, -signal.SIGTERM))
                self.assertTrue(wait_until_alone(GONE))
                process.stdout.close()
                process.stderr.close()

    def test_what_the_caller_ignores_stays_ignored(self):
        process = self.started("echo ready; sleep 1; echo over",
                               preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.send_signal(signal.SIGHUP)
        self.assertEqual(process.stdout.readline(), b"over\n")
        self.ends_with(process, 0)

    def test_the_whole_group(self):
        """As the interrupt key does: msp and the supervisor get it at once."""
        process = self.started(start_new_session=True)
        os.killpg(process.pid, signal.SIGINT)
        self.ends_with(process, 130)

    def test_msp_is_killed(self):
        process = self.started()
        process.kill()
        self.ends_with(process, -signal.SIGKILL)

    def test_the_supervisor_is_killed(self):
        process = self.started()
        supervisor = support.descendants(process.pid)[0]
        os.kill(supervisor, signal.SIGKILL)
        text = self.ends_with(process, 125)
        self.assertRegex(text, r"the supervisor was killed by signal 9")

    def test_the_factory_is_killed(self):
        process = self.started()
        below = support.descendants(process.pid)
        self.assertGreaterEqual(len(below), 2)
        os.kill(below[1], signal.SIGKILL)
        self.ends_with(process, 125)

    def test_the_next_start_works(self):
        process = self.started()
        process.kill()
        self.assertEqual(run("echo", "x").stdout, "x\n")
        self.ends_with(process, -signal.SIGKILL)

    def test_nothing_is_left_after_a_good_end(self):
        """Not even for a moment: msp ends last."""
        for _ in range(10):
            self.assertEqual(run("sh", "-c", "sleep 300 & exit 0").returncode, 0)
            self.assertEqual([pid for pid in children() if support.is_alive(pid)], [])
        self.assertTrue(wait_until_alone(GONE))

    def test_many_at_once(self):
        processes = [start("sh", "-c", f"exit {code}", stdin=subprocess.DEVNULL)
                     for code in range(20)]
        for code, process in enumerate(processes):
            self.assertEqual(process.wait(SECONDS), code)
            process.stdout.close()
            process.stderr.close()
        self.assertTrue(wait_until_alone(GONE))

    def test_job_control(self):
        """Stopped and continued, as a shell does it without a terminal."""
        process = self.started("echo ready; sleep 0.5; echo over")
        process.send_signal(signal.SIGSTOP)
        time.sleep(1)
        process.send_signal(signal.SIGCONT)
        self.assertEqual(process.stdout.readline(), b"over\n")
        self.ends_with(process, 0)

    def test_nohup(self):
        result = subprocess.run(["nohup", MSP, *command("echo", "x")], capture_output=True,
                                text=True, timeout=SECONDS, check=False, stdin=subprocess.DEVNULL)
        self.assertEqual((result.returncode, result.stdout), (0, "x\n"))


if __name__ == "__main__":
    unittest.main()
