#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The profile vm: a command in a virtual machine, inside of its sandbox. The machines are emulated
here, and each start of one takes seconds: a test does all that it can in one, and what a second start
adds is for ./dev test --all."""
import json
import os
import platform
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import machines_support
import support
from cli_support import LIMITS, MSP, adopt_orphans, msp
from config_support import WithFolder

PROFILES = """\
profiles:
  - {name: small, extends: vm, runner: [/run/vm/msp-vm, --memory, 160M, --]}
  - {name: super, extends: vm, user: root}
  - {name: tiny, extends: vm, limits: {memory: 96M}}
"""

# As the machine's root, all of its kernel's calls included, the sandbox's files are the limit.
ATTACK = r"""
mount -o remount,rw / || echo "no remount"
for path in /usr/mark /etc/mark /run/vm/kernel /mark; do
	(echo x >$path) 2>/dev/null && echo "written $path"
done
(echo x >/workspace/mark) && echo "written /workspace"
for path in "$1" /etc/shadow /root "/workspace/../../..$1" "/proc/1/root$1"; do
	(cat "$path" || ls "$path") >/dev/null 2>&1 && echo "read $path"
done
mknod /workspace/disk b 8 0 2>/dev/null && cat /workspace/disk 2>/dev/null
ls /sys/class/net 2>/dev/null
echo done; sync
echo c >/proc/sysrq-trigger
sleep 60
"""


def parent_of(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except OSError:  # it has ended
        return 0


def is_ours(pid):
    """Is it below this test, which adopts what its children leave?"""
    while pid > 1 and pid != os.getpid():
        pid = parent_of(pid)
    return pid > 1


def emulators():
    """The process ids of QEMU below this test."""
    result = subprocess.run(["pgrep", "-u", str(os.geteuid()), "-x", "qemu-system-x86"],
                            capture_output=True, text=True, check=False)
    return {pid for pid in map(int, result.stdout.split()) if is_ours(pid)}


class Prepared:
    """The machine of all tests."""
    state = version = ""


def setUpModule():
    adopt_orphans()
    try:
        package = machines_support.kernel_package()
    except machines_support.Missing as error:
        raise unittest.SkipTest(str(error)) from error
    Prepared.state = tempfile.mkdtemp(prefix="msp-machines-")
    unittest.addModuleCleanup(shutil.rmtree, Prepared.state, ignore_errors=True)
    result = msp("vm", "prepare", package, env={**os.environ, "MSP_STATE_DIR": Prepared.state})
    assert result.returncode == 0, result.stderr
    Prepared.version = result.stdout.strip()


class WithMachine(WithFolder):
    def setUp(self):
        super().setUp()
        self.state, self.version = Prepared.state, Prepared.version
        self.config = self.write(PROFILES)

    def environment(self, **more):
        return super().environment(MSP_STATE_DIR=self.state, MSP_CONFIG=self.config, **more)

    def machine(self, script, *arguments, profile="vm", options=(), **keywords):
        return msp("run", "--standalone", *LIMITS, "--profile", profile, *options, "--", "sh", "-c",
                   script, "sh", *arguments, env=self.environment(), **keywords)

    def expect_gone(self):
        self.assertTrue(support.wait_until(lambda: not emulators()),
                        "QEMU runs on")


class Command(WithMachine):
    def test_its_kernel_its_user_and_its_streams(self):
        script = ("uname -rn; id -u; cat; echo error >&2; ls /sys/class/net 2>&1 | head -1; "
                  "grep -E 'CapEff|NoNewPrivs' /proc/self/status; ulimit -n; pwd; "
                  "echo $HOME; date +%s; exit 42")
        result = self.machine(script, input="line 1\nline 2\n")
        self.assertEqual(result.returncode, 42, result.stderr)
        lines = result.stdout.splitlines()
        self.assertEqual(lines[:4], [f"sandbox {self.version}", "1000", "line 1", "line 2"])
        self.assertNotEqual(self.version, platform.release())
        self.assertIn("CapEff:\t0000000000000000", lines)
        self.assertIn("NoNewPrivs:\t1", lines)
        self.assertEqual(lines[-4:-1], ["4096", "/workspace", "/home/agent"])
        self.assertLess(abs(int(lines[-1]) - time.time()), 60)
        self.assertEqual(result.stderr.splitlines()[0], "error")
        self.expect_gone()

    @unittest.skipUnless(support.IS_ALL, "./dev test --all; the sandbox's limit is tested always")
    def test_memory_of_the_machine_is_all_that_it_has(self):
        """Its kernel ends what takes more, and the command's signal is the execution's."""
        result = self.machine("exec perl -e '$x .= q(x) x 1000000 while 1'",
                              profile="small")
        self.assertEqual((result.returncode, result.stdout), (137, ""), result.stderr)

    def test_limit_of_the_sandbox_is_around_the_machine(self):
        result = self.machine("echo started", profile="tiny")
        self.assertNotEqual(result.returncode, 0)
        self.assertNotIn("started", result.stdout)
        self.expect_gone()


class Files(WithMachine):
    def test_project_is_built_and_its_changes_applied(self):
        project = os.path.join(self.folder, "project")
        os.mkdir(project)
        with open(os.path.join(project, "a.c"), "w", encoding="utf-8") as file:
            file.write('#include <stdio.h>\nint main(void) { puts("built"); return 0; }\n')
        self.command("create", "--workspace", project, "--profile", "vm", "--name=box")
        self.addCleanup(self.command, "destroy", "box")
        build, use = "cc -o a a.c && mkdir d && ln -s a d/l", "./d/../a; readlink d/l"
        machines = [build, use] if support.IS_ALL else [f"{build}; {use}"]
        for script in machines:
            result = self.command("exec", *LIMITS, "box", "--", "sh", "-c", script)
        self.assertEqual(result.stdout, "built\na\n")
        changes = self.command("diff", "--json", "box").stdout
        paths = {change["path"] for change in json.loads(changes)["changes"]}
        self.assertTrue({"a", "d", "d/l"} <= paths, paths)
        self.assertFalse(os.path.exists(os.path.join(project, "a")))
        self.command("apply", "box")
        self.assertTrue(os.access(os.path.join(project, "a"), os.X_OK))

    def command(self, *words):
        result = msp(*words, env=self.environment())
        self.assertEqual(result.returncode, 0, (words, result.stderr))
        return result


class Ends(WithMachine):
    def test_time_limit(self):
        """It ends a machine that starts as it ends one that runs."""
        for limit in (2, 15) if support.IS_ALL else (5,):
            result = self.machine("sleep 100", options=("--timeout", f"{limit}s"))
            self.assertEqual(result.returncode, 124, result.stderr)
            self.expect_gone()

    def test_signal_reaches_the_command(self):
        process = subprocess.Popen(
            [MSP, "run", "--standalone", *LIMITS, "--profile", "vm", "--", "sh", "-c",
             "echo up; sleep 100"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=self.environment())
        with process:
            self.assertEqual(process.stdout.readline(), "up\n")
            self.assertTrue(emulators(), "control: it is found while it runs")
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=30)
        self.assertNotEqual(process.returncode, 0)
        self.expect_gone()

    def test_machine_that_has_no_first_program(self):
        """Its kernel panics, QEMU ends with 0, and that is an error."""
        state = os.path.join(self.folder, "state")
        shutil.copytree(os.path.join(self.state, "vm"), os.path.join(state, "vm"), symlinks=True)
        os.chmod(state, 0o700)
        initramfs = os.path.join(state, "vm", self.version, "initramfs")
        os.unlink(initramfs)
        with open(initramfs, "wb") as file:
            file.write(b"not an archive")
        result = msp("run", "--standalone", *LIMITS, "--profile", "vm", "--", "echo", "no",
                     env={**self.environment(), "MSP_STATE_DIR": state})
        self.assertEqual((result.returncode, result.stdout), (125, ""), result.stderr)
        self.assertIn("the machine has crashed before the command ended", result.stderr)
        self.assertIn("panic", result.stderr)

    def test_without_a_machine(self):
        result = msp("run", "--standalone", *LIMITS, "--profile", "vm", "--", "true",
                     env={**self.environment(), "MSP_STATE_DIR": self.folder})
        self.assertEqual(result.returncode, 127)
        self.assertIn("'msp vm prepare' makes one", result.stderr)


class Kvm(WithMachine):
    """With an emulator in QEMU's place, since KVM is not everywhere where this runs."""

    def runner(self, script, *options):
        emulator = self.write("#!/bin/sh\n" + script, name="qemu")
        os.chmod(emulator, 0o755)
        place = os.path.join(self.state, "vm", self.version)
        return subprocess.run(
            [os.path.join(os.path.dirname(MSP), "msp-vm"), "--files", place, "--emulator", emulator,
             "--boot-seconds", "1", *options, "--", "true"],
            capture_output=True, text=True, timeout=30, check=False)

    def test_machine_that_does_not_start_with_kvm_is_emulated(self):
        script = 'case "$*" in *accel=kvm*) echo kvm >&2; exec sleep 60;; esac; echo emulated; exit 3'
        result = self.runner(script, "--kvm")
        self.assertEqual((result.returncode, result.stdout), (125, ""), result.stderr)
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 3, lines)
        self.assertIn("the machine did not start with KVM, so it is emulated", lines[0])
        self.assertIn("QEMU has failed with code 3", lines[1])
        self.assertEqual(lines[2], "emulated", "the words of the second one alone")

    def test_emulated_machine_has_one_attempt(self):
        result = self.runner('echo "$*" | grep -o accel=...; exec sleep 60', "--tcg")
        self.assertEqual(result.returncode, 125)
        self.assertIn("the machine did not start in 1 seconds", result.stderr)
        self.assertEqual(result.stderr.splitlines()[1:], ["accel=tcg"])

    def test_missing_emulator_is_no_fault_of_kvm(self):
        result = self.runner("exit 126", "--kvm")
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn("QEMU was not started", result.stderr)

    def test_trial(self):
        """Its answer is a line, and that of the doctor."""
        trial = subprocess.run([os.path.join(os.path.dirname(MSP), "msp-vm"), "--try-kvm"],
                               capture_output=True, text=True, timeout=30, check=True)
        self.assertRegex(trial.stdout, r"\A(KVM|emulated: .+)\n\Z")
        if not os.access("/dev/kvm", os.R_OK | os.W_OK):
            self.assertRegex(trial.stdout, "emulated: /dev/kvm: ")
        report = json.loads(msp("doctor", "--json", env=self.environment()).stdout)
        row, = [row for row in report["runtimes"] if row.get("use") == "QEMU"]
        self.assertEqual((row["processor"], row["kvm"]),
                         (trial.stdout.strip(), trial.stdout == "KVM\n"))
        self.assertIn(f"({trial.stdout.strip()})", msp("doctor", env=self.environment()).stdout)


class Attack(WithMachine):
    def test_root_of_the_machine_is_a_user_of_the_sandbox(self):
        secret = self.write("secret\n", name="secret")
        result = self.machine(ATTACK, secret, profile="super")
        self.assertEqual(result.stdout.split("\n")[:2], ["written /workspace", "done"],
                         result.stdout + result.stderr)
        self.assertEqual(result.returncode, 125, "the panic is an error")
        self.assertIn("sysrq triggered crash", result.stderr)
        self.expect_gone()


if __name__ == "__main__":
    unittest.main(verbosity=2)
