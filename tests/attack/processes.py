#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Other processes, its own init among them, and other identities are out of a workload's reach."""
import concurrent.futures
import ctypes
import errno
import os
import re
import resource
import signal
import subprocess
import unittest

import probes
import support

setUpModule = probes.needs_ordinary_user

STARTS = int(os.environ.get("MSP_STARTS", "1000"))
SETUID_PROGRAMS = ("/usr/bin/su", "/usr/bin/passwd", "/usr/bin/mount", "/usr/bin/newgrp")
INIT_FILES = ("exe", "environ", "cmdline", "mem", "maps", "fd", "root", "cwd", "ns", "stat",
              "status", "task", "comm", "io", "auxv", "mountinfo")


class HostProcesses(probes.Attack):
    def setUp(self):
        self.canary = subprocess.Popen(["sleep", "600"])
        self.addCleanup(self.end_canary)

    def end_canary(self):
        self.canary.kill()
        self.canary.wait()

    def test_they_cannot_be_signalled(self):
        for number in (0, signal.SIGTERM, signal.SIGKILL):
            outcome = probes.in_sandbox("kill", self.canary.pid, int(number))
            self.assert_refused(outcome, "ESRCH")
        self.assertIsNone(self.canary.poll())
        self.assert_succeeded(probes.on_host("kill", self.canary.pid, int(signal.SIGKILL)))
        self.assertEqual(self.canary.wait(5), -signal.SIGKILL)

    def test_none_has_a_number_inside(self):
        self.assert_refused(probes.in_sandbox("reach-others"), "ESRCH")
        self.assert_succeeded(probes.on_host("reach-others"))

    def test_none_is_shown(self):
        self.assert_refused(probes.in_sandbox("see-others"), "ENOENT")
        self.assert_succeeded(probes.on_host("see-others"))

    def test_kill_all_ends_only_its_own(self):
        self.assert_succeeded(probes.in_sandbox("kill-all"))
        self.assertIsNone(self.canary.poll())

    def test_the_init_outlives_kill_all(self):
        """Its report, and the reaping of what the workload left, are still to come."""
        result, told = probes.msp_run("/bin/bash", "-c", "kill -9 -1; kill -9 1; sleep 0.2; exit 7")
        self.assertEqual((result.returncode, told["verdict"]), (7, "exited"), told)


class Init(probes.Attack):
    """PID 1 is not to be seen, opened, traced or signalled. Three layers hide it: it is not
    dumpable, it is outside of the workload's Landlock domain, and /proc is hidepid=invisible."""

    def test_nothing_of_it_can_be_opened(self):
        self.assert_refused(probes.in_sandbox("see-init"), "ENOENT")
        for name in INIT_FILES:
            with self.subTest(name=name):
                self.assert_refused(probes.in_sandbox("open-read", "/proc/1/" + name), "ENOENT")

    def test_one_layer_is_enough(self):
        for without in ("landlock", "protect"):
            with self.subTest(without=without):
                self.assert_refused(probes.in_sandbox("see-init", without=without), "ENOENT")

    def test_control(self):
        outcome = probes.in_sandbox("see-init", without="landlock-protect")
        self.assert_succeeded(outcome)
        for name in ("environ", "mem", "fd", "root", "exe"):
            self.assertIn("/proc/1/" + name, outcome.text)

    def test_it_cannot_be_written(self):
        for name in ("exe", "mem", "oom_score_adj", "comm", "clear_refs"):
            with self.subTest(name=name):
                self.assert_refused(probes.in_sandbox("open-write", "/proc/1/" + name), "ENOENT")
        # Even seen, what it runs from is a sealed copy of the installed program.
        control = probes.in_sandbox("open-write", "/proc/1/exe", without="landlock-protect")
        self.assert_refused(control, "ETXTBSY", "EPERM", "EACCES")

    def test_the_own_program_cannot_be_written(self):
        self.assert_refused(probes.in_sandbox("open-write", "/proc/self/exe"),
                            "ETXTBSY", "EROFS", "EACCES")
        self.assert_refused(probes.in_sandbox("open-write", "/usr/bin/true"), "EROFS", "EACCES")

    def test_it_cannot_be_traced(self):
        self.assert_refused(probes.in_sandbox("seize", 1), "EPERM")
        for without in ("seccomp", "landlock-seccomp"):  # not dumpable is enough
            with self.subTest(without=without):
                self.assert_refused(probes.in_sandbox("seize", 1, without=without), "EPERM")

    def test_it_cannot_be_signalled(self):
        for number in (0, 9, 15, 19):
            with self.subTest(signal=number):
                self.assert_refused(probes.in_sandbox("kill", 1, number), "EPERM")
        # Without Landlock's scope the kernel drops the signal: PID 1 has no handler for it.
        outcome = probes.in_sandbox("kill", 1, 9, without="landlock")
        self.assert_succeeded(outcome)
        self.assertEqual(outcome.verdict, "exited")

    def test_its_descriptors_are_never_shown_early(self):
        """The first thing that a workload does, in a thousand sandboxes on a busy machine."""
        for _ in range(len(os.sched_getaffinity(0))):
            hog = subprocess.Popen(["/bin/sh", "-c", "while :; do :; done"])
            self.addCleanup(hog.wait)
            self.addCleanup(hog.kill)
        options = ("--ro", probes.PROBE_FOLDER + ":/probe")

        def start(_):
            return support.run("/probe/probe", "see-init-descriptors", options=options).stdout

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            self.assertEqual(set(pool.map(start, range(STARTS))), {"refused ENOENT\n"})


class FromOutside(probes.Attack):
    """Another process of the same user on the host cannot look into ours, or take them over."""

    PTRACE_SEIZE = 0x4206

    def chain(self, without=None):
        """supervisor, factory and init of a running sandbox."""
        process = subprocess.Popen(
            [os.path.join(probes.programs(without), "msp"), "run", *support.limits(), "--",
             "/bin/sh", "-c", "echo up; sleep 60"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        self.assertEqual(process.stdout.readline(), b"up\n")
        return support.descendants(process.pid)[:3]

    def seize(self, pid):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.ptrace(self.PTRACE_SEIZE, pid, None, None) == 0:
            libc.ptrace(17, pid, None, None)  # PTRACE_DETACH
            return 0
        return ctypes.get_errno()

    def test_none_can_be_opened_or_traced(self):
        for pid in self.chain():
            for name in ("mem", "environ", "maps", "fd", "root", "exe"):
                with self.subTest(pid=pid, name=name), self.assertRaises(PermissionError):
                    path = f"/proc/{pid}/{name}"
                    os.listdir(path) if name in ("fd", "root") else open(path, "rb").read(1)
            self.assertEqual(self.seize(pid), errno.EPERM)

    def test_control(self):
        init = self.chain(without="protect")[2]
        with open(f"/proc/{init}/environ", "rb") as file:
            file.read(1)
        with open(f"/proc/{init}/mem", "rb"):
            pass
        self.assertEqual(self.seize(init), 0)


class Identity(probes.Attack):
    def test_capabilities_are_empty(self):
        self.assert_refused(probes.in_sandbox("capabilities"), "EPERM")
        self.assert_succeeded(probes.in_sandbox("capabilities", without="capabilities"))

    def test_securebits_are_locked(self):
        self.assert_refused(probes.in_sandbox("securebits"), "EPERM")
        self.assert_succeeded(probes.in_sandbox("securebits", without="capabilities"))

    def test_no_new_privileges(self):
        self.assert_refused(probes.in_sandbox("new-privileges"), "EPERM")
        self.assert_succeeded(probes.on_host("new-privileges"))

    def test_set_user_id_programs_give_nothing(self):
        tried = 0
        for program in SETUID_PROGRAMS:
            if not os.path.exists(program) or not os.stat(program).st_mode & 0o4000:
                continue
            control = probes.on_host("setuid-program", program)
            if control.word == "unprepared":  # it ended before it could be looked at
                continue
            with self.subTest(program=program):
                self.assert_succeeded(control)
                self.assert_refused(probes.in_sandbox("setuid-program", program), "EPERM")
                tried += 1
        self.assertGreater(tried, 0, "no set-user-ID program here waits for input")

    def test_other_ids_cannot_be_taken(self):
        for uid in (0, 1, os.getuid() if os.getuid() != 1000 else 1001, 65534):
            with self.subTest(uid=uid):
                self.assert_refused(probes.in_sandbox("setuid", uid), "EINVAL", "EPERM")
        self.assert_refused(probes.in_sandbox("setuid", 0, without="seccomp"), "EINVAL")
        self.assert_succeeded(probes.in_sandbox("setuid", 1000, without="seccomp"))

    def test_the_workload_is_not_the_first_process(self):
        self.assert_refused(probes.in_sandbox("is-first"), "ESRCH")
        control = probes.on_host("is-first", prefix=("unshare", "-U", "-p", "-f", "--"))
        self.assert_succeeded(control)

    def test_orphans_are_reaped(self):
        code = ("import os, time\n"
                "for _ in range(20):\n"
                "    if os.fork() == 0:\n"
                "        if os.fork() == 0:\n"
                "            os._exit(0)\n"
                "        os._exit(0)\n"
                "    os.wait()\n"
                "time.sleep(0.1)\n"
                "print([n for n in os.listdir('/proc') if n.isdigit()] == [str(os.getpid())])\n")
        self.assertEqual(support.run_python(code).stdout, "True\n")

    def test_signals_work_as_usual(self):
        """Not so for a PID 1, whose unhandled signals are dropped."""
        result = support.run("/bin/bash", "-c", "kill -TERM $$; sleep 1; echo still here")
        self.assertEqual((result.returncode, result.stdout), (128 + signal.SIGTERM, ""))

    def test_no_core_files(self):
        self.assert_refused(probes.in_sandbox("core"), "EPERM")

    def test_core_control(self):
        if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
            self.skipTest("no core files for anybody here")
        unlimited = ("/bin/sh", "-c", 'ulimit -c unlimited; exec "$0" "$@"')
        self.assert_succeeded(probes.on_host("core", prefix=unlimited, cwd=probes.scratch()))


class Posture(probes.Attack):
    """The check that fault/setup_faults.py relies on sees each layer that is missing."""

    def test_nothing_is_missing(self):
        for profile in ("default", "strict"):
            with self.subTest(profile=profile):
                self.assert_refused(probes.in_sandbox("less-confined",
                                                      options=("--profile", profile)), "EPERM")

    def test_control(self):
        for without, missing in (("landlock", "landlock"), ("seccomp", "filter"),
                                 ("close", "descriptors"), ("network", "network"),
                                 ("capabilities", "capabilities")):
            with self.subTest(without=without):
                outcome = probes.in_sandbox("less-confined", without=without)
                self.assert_succeeded(outcome)
                self.assertEqual(outcome.text, f"missing: {missing}\nsucceeded\n")
        text = probes.on_host("less-confined").text
        for missing in ("no_new_privs", "filter", "identity", "root", "hostname", "rlimits", "cwd"):
            self.assertIn(f"missing: {missing}\n", text)


class EveryExecution(probes.Attack):
    """The first, the next and the hundredth start pass one path."""

    STATUS = re.compile(
        r"^(NoNewPrivs|Seccomp|Seccomp_filters|Cap\w+|Uid|Gid|Groups|Umask):\s*(.*)$", re.M)
    KINDS = ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup")
    LOOK = ("cat /proc/self/status; for kind in user mnt pid net ipc uts cgroup; do "
            "readlink /proc/self/ns/$kind; done; exec 2>&1; echo acts; kill -0 1; ls /proc/1; "
            "echo > /usr/x; unshare -U true; ulimit -a; cat /proc/mounts; echo end")

    @classmethod
    def look(cls, text):
        """What must be the same, and the namespaces' numbers."""
        same = cls.STATUS.findall(text), text.partition("\nacts\n")[2].partition("\nend")[0]
        return same, re.findall(r"^(\w+):\[(\d+)\]$", text, re.M)

    def assert_confined(self, same):
        status = dict(same[0])
        self.assertEqual(status["NoNewPrivs"], "1")
        self.assertEqual(status["Seccomp"], "2")
        self.assertEqual({status[name] for name in status if name.startswith("Cap")}, {"0" * 16})
        self.assertEqual(set(status["Uid"].split() + status["Gid"].split()), {"1000"})
        for refusal in ("(1) - Operation not permitted", "'/proc/1': No such file or directory",
                        "/usr/x: Read-only file system", "unshare failed: Operation not permitted"):
            self.assertIn(refusal, same[1])

    def test_by_msp_run(self):
        looks = [self.look(support.run("/bin/bash", "-c", self.LOOK).stdout) for _ in range(3)]
        self.assert_all_alike(looks)

    def test_by_one_server(self):
        with support.Server() as server:
            server.initialize()
            looks = [self.look(support.text_of(server.call("run_command", command=self.LOOK)))
                     for _ in range(30)]
        self.assert_all_alike(looks)

    def assert_all_alike(self, looks):
        host = {kind: re.search(r"\d+", os.readlink("/proc/self/ns/" + kind)).group()
                for kind in self.KINDS}
        self.assert_confined(looks[0][0])
        for same, namespaces in looks:
            self.assertEqual(same, looks[0][0])
            self.assertEqual([kind for kind, _ in namespaces], list(self.KINDS))
            for kind, number in namespaces:
                self.assertNotEqual(number, host[kind], kind)


if __name__ == "__main__":
    unittest.main()
