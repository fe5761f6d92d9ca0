#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Other processes, its own init among them, and other identities are out of a workload's reach."""
import concurrent.futures
import ctypes
import errno
import fcntl
import os
import resource
import signal
import socket
import subprocess
import unittest

import evidence
import probes
import support

setUpModule = probes.needs_ordinary_user

STARTS = int(os.environ.get("MSP_STARTS", "200"))
SETUID_PROGRAMS = ("/usr/bin/su", "/usr/bin/passwd", "/usr/bin/mount")
INIT_FILES = ("exe", "environ", "cmdline", "mem", "maps", "fd", "root", "cwd", "ns", "stat",
              "status", "task", "comm", "io", "auxv", "mountinfo")


# What a namespace of its own, and nothing else, does to the same act.
IN_PID_NAMESPACE = ("unshare", "--user", "--map-current-user", "--pid", "--fork", "--mount-proc",
                    "--")


class HostProcesses(probes.Attack):
    def setUp(self):
        self.canary = subprocess.Popen(["sleep", "600"])
        self.addCleanup(self.end_canary)

    def end_canary(self):
        self.canary.kill()
        self.canary.wait()

    def prove_apart(self, act, *arguments, errors):
        self.prove(act, *arguments, errors=errors, prefix=(), alone={
            "namespaces": lambda: probes.on_host(act, *arguments, prefix=IN_PID_NAMESPACE)})

    @evidence.attack("P1", "signalling a process of the host", "namespaces")
    def test_they_cannot_be_signalled(self):
        for number in (0, signal.SIGTERM, signal.SIGKILL):
            outcome = probes.in_sandbox("kill", self.canary.pid, int(number))
            self.assert_refused(outcome, "ESRCH")
        self.assertIsNone(self.canary.poll())
        self.prove_apart("kill", self.canary.pid, 0, errors=("ESRCH",))
        self.assert_succeeded(probes.on_host("kill", self.canary.pid, int(signal.SIGKILL)))
        self.assertEqual(self.canary.wait(60), -signal.SIGKILL)

    @evidence.attack("P1", "reaching a process of the host by any number", "namespaces")
    def test_none_has_a_number_inside(self):
        self.prove_apart("reach-others", errors=("ESRCH",))

    @evidence.attack("P1", "seeing a process of the host in /proc", "namespaces")
    def test_none_is_shown(self):
        self.prove_apart("see-others", errors=("ENOENT",))

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

    @evidence.attack("R2", "opening anything of the init in /proc", "landlock", "protect")
    def test_nothing_of_it_can_be_opened(self):
        self.prove("see-init", errors=("ENOENT",))
        self.assert_each_refused([("open-read", "/proc/1/" + name) for name in INIT_FILES], "ENOENT")
        text = probes.in_sandbox("see-init", without="landlock-protect").text
        for name in ("environ", "mem", "fd", "root", "exe"):
            self.assertIn("/proc/1/" + name, text)

    @evidence.attack("R2", "writing the init's memory and settings", "landlock", "protect")
    def test_it_cannot_be_written(self):
        self.prove_each({name: ("open-write", "/proc/1/" + name) for name in (
            "mem", "comm", "clear_refs", "oom_score_adj")}, errors=("ENOENT",))

    @evidence.attack("T4", "writing the own program and the host's", "readonly", "landlock")
    def test_the_own_program_cannot_be_written(self):
        folder = os.path.join(probes.scratch(), "programs")
        os.makedirs(folder, exist_ok=True)
        for name in ("true", "false"):
            with open(os.path.join("/usr/bin", name), "rb") as source, \
                    open(os.path.join(folder, name), "wb") as copy:
                copy.write(source.read())
            os.chmod(os.path.join(folder, name), 0o755)
        self.prove("open-write", "/programs/true", errors=("EROFS", "EACCES"),
                   options=("--ro", folder + ":/programs"))
        for path in ("/proc/self/exe", "/usr/bin/true"):
            self.assert_refused(probes.in_sandbox("open-write", path), "ETXTBSY", "EROFS", "EACCES")

    @evidence.attack("T2", "tracing the init", "landlock", "protect", "seccomp")
    def test_it_cannot_be_traced(self):
        self.prove("seize", 1)

    @evidence.attack("P1", "signalling the init", "landlock")
    def test_it_cannot_be_signalled(self):
        for number in (0, 9, 15, 19):
            with self.subTest(signal=number):
                self.prove("kill", 1, number)
        # Without Landlock's scope the kernel drops the signal: PID 1 has no handler for it.
        self.assertEqual(probes.in_sandbox("kill", 1, 9, without="landlock").verdict, "exited")

    @evidence.attack("R1", "the init's descriptors, in the first moment of a workload",
                     "landlock", "protect")
    def test_none_in_the_first_moment(self):
        self.prove("see-init-descriptors", errors=("ENOENT",))

    def test_its_descriptors_are_never_shown_early(self):
        """The first thing that a workload does, in many sandboxes on a busy machine."""
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

    def setUp(self):
        self.started = []

    def chain(self, without=None):
        """supervisor, factory and init of a running sandbox."""
        process = subprocess.Popen(
            [os.path.join(probes.programs(without), "msp"), "run", *support.limits(), "--",
             "/bin/sh", "-c", "echo up; sleep 60"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        self.started.append(process)
        self.assertEqual(process.stdout.readline(), b"up\n")
        return support.descendants(process.pid)[:3]

    def seize(self, pid):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.ptrace(self.PTRACE_SEIZE, pid, None, None) == 0:
            libc.ptrace(17, pid, None, None)  # PTRACE_DETACH
            return 0
        return ctypes.get_errno()

    def look(self, without):
        """What came of looking into the init of a sandbox."""
        init = self.chain(without=without)[2]
        for name in ("mem", "environ", "maps", "fd", "root", "exe"):
            path = f"/proc/{init}/{name}"
            try:
                os.listdir(path) if name in ("fd", "root") else open(path, "rb").close()
            except OSError as error:
                return probes.Outcome("refused", errno.errorcode[error.errno], path, None)
        error = self.seize(init)
        return probes.Outcome("refused" if error else "succeeded", errno.errorcode.get(error),
                              "seize", None)

    @evidence.attack("T2", "looking into an init and tracing it from outside, as the same user",
                     "protect")
    def test_the_init_cannot_be_looked_into(self):
        self.prove_by(self.look, ("EACCES",))

    def test_none_can_be_opened_or_traced(self):
        for pid in self.chain():
            for name in ("mem", "environ", "maps", "fd", "root", "exe"):
                with self.subTest(pid=pid, name=name), self.assertRaises(PermissionError):
                    path = f"/proc/{pid}/{name}"
                    os.listdir(path) if name in ("fd", "root") else open(path, "rb").read(1)
            self.assertEqual(self.seize(pid), errno.EPERM)

    @staticmethod
    def write_to(image):
        """Through a descriptor that was opened for reading, when nobody runs it any more."""
        try:
            fd = os.open(f"/proc/self/fd/{image}", os.O_RDWR)
        except OSError as error:
            return probes.Outcome("refused", errno.errorcode[error.errno], "open", None)
        try:
            os.write(fd, b"#!")
        except OSError as error:
            return probes.Outcome("refused", errno.errorcode[error.errno], "write", None)
        finally:
            os.close(fd)
        return probes.Outcome("succeeded", None, "", None)

    def write_to_ours(self, _):
        """The init's own image, taken where it can be seen at all; it is the factory's too."""
        chain = self.chain(without="protect")
        image = os.open(f"/proc/{chain[2]}/exe", os.O_RDONLY)
        self.addCleanup(os.close, image)
        seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
        self.assertEqual(fcntl.fcntl(image, fcntl.F_GET_SEALS) & seals, seals)
        self.end_chain()
        return self.write_to(image)

    def end_chain(self):
        for process in self.started:
            process.terminate()
            process.wait()
        self.assertTrue(support.wait_until(lambda: not support.descendants(os.getpid())))

    def write_to_a_copy(self):
        image = os.memfd_create("image")
        self.addCleanup(os.close, image)
        os.write(image, b"#!/bin/sh\n")
        return self.write_to(image)

    @evidence.attack("T4", "writing the program of our processes, once nobody runs it", "sealed")
    def test_images_are_sealed(self):
        self.prove_by(self.write_to_ours, ("EPERM",), host=self.write_to_a_copy)


class Identity(probes.Attack):
    @evidence.attack("T7", "a capability in any of the five sets", "capabilities")
    def test_capabilities_are_empty(self):
        self.prove("capabilities")

    @evidence.attack("T7", "changing the securebits", "capabilities")
    def test_securebits_are_locked(self):
        self.prove("securebits")

    @evidence.attack("T10", "running without no_new_privs", "privileges")
    def test_no_new_privileges(self):
        self.prove("new-privileges", prefix=(), alone={"privileges": lambda: probes.on_host(
            "new-privileges", prefix=("setpriv", "--no-new-privs"))})

    @evidence.attack("T10", "set-user-ID programs of the host", "privileges", "namespaces")
    def test_set_user_id_programs_give_nothing(self):
        tried = 0
        for program in SETUID_PROGRAMS:
            if not os.path.exists(program) or not os.stat(program).st_mode & 0o4000:
                continue
            if probes.on_host("setuid-program", program).word == "unprepared":
                continue  # it ended before it could be looked at
            with self.subTest(program=program):
                alone = {"privileges": ("setpriv", "--no-new-privs"),
                         "namespaces": ("unshare", "--user", "--map-current-user")}
                self.prove("setuid-program", program, prefix=(), alone={
                    layer: lambda program=program, prefix=prefix: probes.on_host(
                        "setuid-program", program, prefix=prefix)
                    for layer, prefix in alone.items()})
                tried += 1
        self.assertGreater(tried, 0, "no set-user-ID program here waits for input")

    @evidence.attack("T7", "other user ids", "seccomp", "namespaces")
    def test_other_ids_cannot_be_taken(self):
        uids = (0, 1, os.getuid() if os.getuid() != 1000 else 1001, 65534)
        self.assert_each_refused([("setuid", uid) for uid in uids], "EINVAL", "EPERM")
        self.prove("setuid", 0, errors=("EINVAL", "EPERM"), prefix=("unshare", "-r"), alone={
            "namespaces": lambda: probes.in_sandbox("setuid", 0, without="capabilities-seccomp"),
            "seccomp": lambda: probes.in_sandbox("setuid", 1000, options=("--profile", "strict"))})
        self.assert_succeeded(probes.in_sandbox("setuid", 1000, without="seccomp"))

    @evidence.attack("F6", "being the first process of the sandbox", "checks")
    def test_the_workload_is_not_the_first_process(self):
        self.prove("is-first", errors=("ESRCH",), prefix=("unshare", "-U", "-p", "-f", "--"))

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

    @evidence.attack("F9", "core files", "rlimits")
    def test_no_core_files(self):
        self.assert_refused(probes.in_sandbox("core"), "EPERM")
        if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
            self.not_here("no core files for anybody here")
        unlimited = ("/bin/sh", "-c", 'ulimit -c unlimited; exec "$0" "$@"')
        self.prove_by(lambda _: probes.in_sandbox("core"), ("EPERM",), host=lambda: probes.on_host(
            "core", prefix=unlimited, cwd=probes.scratch()))

    @evidence.attack("L1", "more processes than the profile gives", "rlimits", "cgroup")
    def test_more_processes(self):
        self.prove("processes", 100, errors=("EAGAIN",), options=("--profile", "strict"))


class Posture(probes.Attack):
    """The check that fault/setup_faults.py relies on sees each layer that is missing."""

    def test_nothing_is_missing(self):
        for profile in ("default", "strict"):
            with self.subTest(profile=profile):
                self.assert_refused(probes.in_sandbox("less-confined",
                                                      options=("--profile", profile)), "EPERM")

    def test_control(self):
        missing_by = {"landlock": "landlock", "seccomp": "filter", "close": "descriptors",
                      "capabilities": "capabilities", "rlimits": "rlimits"}
        if [name for _, name in socket.if_nameindex()] != ["lo"]:
            missing_by["network"] = "network"
        for without, missing in missing_by.items():
            with self.subTest(without=without):
                outcome = probes.in_sandbox("less-confined", without=without)
                self.assert_succeeded(outcome)
                self.assertEqual(outcome.text, f"missing: {missing}\nsucceeded\n")
        text = probes.on_host("less-confined",
                              prefix=("unshare", "--user", "--map-root-user", "--")).text
        for missing in ("no_new_privs", "filter", "identity", "root", "hostname", "rlimits", "cwd"):
            self.assertIn(f"missing: {missing}\n", text)


if __name__ == "__main__":
    unittest.main()
