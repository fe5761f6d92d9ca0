#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What of the host's files a workload sees and can change: nothing but what the profile names."""
import os
import re
import subprocess
import tempfile
import unittest
import uuid

import evidence
import probes
import support

setUpModule = probes.needs_ordinary_user

WRITABLE = ("/tmp", "/dev/shm", "/home/agent", "/workspace")
# Entries of /etc that are our own; the others are read-only binds of what is alike everywhere, and links
# to copies of what packages brought (etc_secrets.py).
ETC_OWN = {".packages", "chromium", "firefox", "gitconfig", "group", "hostname", "hosts", "mtab", "nsswitch.conf", "opt",
           "os-release", "passwd", "profile", "resolv.conf", "runtimes", "shells"}
ETC_BOUND = {"alternatives", "ca-certificates.conf", "crypto-policies", "ld.so.cache",
             "ld.so.conf", "ld.so.conf.d", "ld-musl-x86_64.path", "localtime", "mime.types", "pki",
             "protocols", "R", "services", "ssl"}
ETC_NEVER = ("shadow", "gshadow", "sudoers", "ssh", "machine-id", "fstab", "crontab", "environment",
             "ssl/private", "NetworkManager", "sysctl.conf", "cron.d", "systemd", "sudoers.d")
MASKED = ("acpi", "bus", "fs", "interrupts", "irq", "kallsyms", "kcore", "key-users", "keys",
          "kmsg", "latency_stats", "sched_debug", "scsi", "sysrq-trigger", "timer_list")


class Writing(probes.Attack):
    @evidence.attack("P2", "writing anywhere but in the sandbox's own file systems", "root")
    def test_nowhere_but_in_its_own_file_systems(self):
        """The walk tries every directory and every file of the tree, as the user it runs as."""
        folder = tempfile.mkdtemp(dir=probes.scratch())

        def walk(_):
            outcome = probes.in_sandbox("write-anywhere", "/", *WRITABLE)
            found = {line for line in outcome.text.splitlines() if " /" in line
                     and not re.match(r"file /proc/(\d+|pressure)/", line)}  # its own; PSI triggers
            if found <= {"file /proc/sys/kernel/ns_last_pid"}:
                return outcome._replace(word="refused", error="EROFS")
            return outcome

        self.prove_by(walk, ("EROFS",), host=lambda: probes.on_host("write-anywhere", folder))

    @evidence.attack("P2", "writing into a folder that the operator shows", "readonly", "landlock")
    def test_what_is_shown(self):
        folder = tempfile.mkdtemp(dir=probes.scratch())
        mark = os.path.join(folder, "mark")
        with open(mark, "w", encoding="ascii") as file:
            file.write("shown")
        options = ("--ro", folder + ":/shown")
        self.prove("open-write", "/shown/mark", errors=("EROFS", "EACCES"), options=options)
        self.assert_refused(probes.in_sandbox("create", "/shown/new", options=options),
                            "EROFS", "EACCES")

    @evidence.attack("P2", "writing into such a folder below a writable place", "readonly")
    def test_what_is_shown_in_a_writable_place(self):
        """Landlock's rights there are those of the place: the mount alone stops it."""
        folder = tempfile.mkdtemp(dir=probes.scratch())
        with open(os.path.join(folder, "mark"), "w", encoding="ascii") as file:
            file.write("shown")
        self.prove("open-write", "/workspace/shown/mark", errors=("EROFS",),
                   options=("--ro", folder + ":/workspace/shown"))

    def test_its_own_file_systems_can_be_written(self):
        outcome = probes.in_sandbox("write-anywhere", "/")
        self.assert_succeeded(outcome)
        for path in WRITABLE:
            self.assertIn(f"directory {path}\n", outcome.text)

    def test_system_settings(self):
        names = ("kernel/ns_last_pid", "kernel/hostname", "kernel/core_pattern", "vm/swappiness",
                 "net/ipv4/ip_forward", "user/max_user_namespaces", "kernel/sem")
        self.assert_each_refused([("write", "/proc/sys/" + name, "1") for name in names], "EACCES",
                                 "EPERM", "ENOENT", "EROFS")
        self.assert_refused(probes.in_sandbox("write", "/proc/sysrq-trigger", "h"), "EACCES",
                            "EROFS", "ENOENT")

    def test_own_maps_cannot_be_written_again(self):
        self.assert_each_refused([("write", "/proc/self/" + name, text) for name, text in (
            ("uid_map", "0 0 1"), ("gid_map", "0 0 1"), ("setgroups", "allow"))], "EPERM", "EACCES")


class Seeing(probes.Attack):
    @evidence.attack("P2", "finding a file of the caller's anywhere", "root")
    def test_no_file_of_the_caller(self):
        name = "msp-secret-" + uuid.uuid4().hex
        places = [probes.scratch(), "/var/tmp", "/dev/shm", "/tmp", os.path.expanduser("~")]
        placed = []
        for place in places:
            path = os.path.join(place, name)
            try:
                with open(path, "w", encoding="ascii") as file:
                    file.write("secret")
            except OSError:
                continue
            self.addCleanup(os.unlink, path)
            placed.append(place)
        self.assertGreater(len(placed), 2)
        found = probes.in_sandbox("find-name", "/", name)  # a walk through all that it sees
        for place in placed:
            self.prove_by(lambda _: found, ("ENOENT",),
                          lambda place=place: probes.on_host("find-name", place, name))

    @evidence.attack("P2", "reading a file of the caller's by its name", "root", "landlock")
    def test_no_name_leads_to_the_host(self):
        """Wherever the tree that a sandbox is made in has it."""
        path = os.path.join(probes.scratch(), "secret")
        with open(path, "w", encoding="ascii") as file:
            file.write("secret")
        self.prove("host-file", path, errors=("ENOENT", "EACCES"))

    def test_no_home_but_its_own(self):
        self.assertEqual(support.run("ls", "-A", "/home", "/home/agent").stdout,
                         "/home:\nagent\n\n/home/agent:\n")
        paths = ("/root", os.path.expanduser("~"), "/sys", "/boot", "/media", "/mnt", "/srv",
                 "/var/lib/dpkg", "/var/lib/msp", "/var/log", "/var/spool", "/host", "/base", "/.dockerenv")
        self.assert_each_refused([("stat", path) for path in paths], "ENOENT")

    @evidence.attack("F11", "the host's own /etc", "root")
    def test_etc_is_our_own(self):
        entries = set(support.run("ls", "-A", "/etc").stdout.split())
        copies = set(support.run("ls", "-A", "/etc/.packages").stdout.split())
        extra = {name for name in entries - ETC_OWN - ETC_BOUND - copies if not name.startswith("java-")}
        self.assertEqual(extra, set())
        self.assertLessEqual({"passwd", "group", "hosts", "resolv.conf", "nsswitch.conf"}, entries)
        self.assert_each_refused([("stat", "/etc/" + name) for name in ETC_NEVER], "ENOENT")
        self.prove("stat", "/etc/shadow", errors=("ENOENT",), prefix=())

    def test_no_account_of_the_host(self):
        passwd = support.run("cat", "/etc/passwd", "/etc/group").stdout
        self.assertEqual(re.findall(r"^(\w+):", passwd, re.M),
                         ["root", "agent", "nobody", "root", "agent", "nogroup"])
        self.assertEqual(support.run("id").stdout,
                         "uid=1000(agent) gid=1000(agent) groups=1000(agent)\n")

    @evidence.attack("T6", "facts about the machine in /proc", "root")
    def test_proc_is_masked(self):
        shown = 0
        for name in MASKED:
            path = "/proc/" + name
            if not os.path.lexists(path):
                continue
            with self.subTest(name=name):
                if os.path.isdir(path):
                    listed = support.run("ls", "-A", path)
                    self.assertEqual((listed.returncode, listed.stdout), (0, ""))
                    shown += bool(os.listdir(path))
                else:
                    if probes.on_host("read", path).word == "succeeded":
                        self.prove("read", path, errors=("ENODATA", "EACCES"), prefix=())
                        shown += 1
                    else:
                        self.assert_refused(probes.in_sandbox("read", path), "ENODATA", "EACCES")
        self.assertGreater(shown, 3, "the host shows some of them, or this shows nothing")

    @evidence.attack("M6", "a secret in the caller's environment", "checks")
    def test_nothing_of_the_callers_environment(self):
        secret = "msp-secret-" + uuid.uuid4().hex
        environment = dict(os.environ, SECRET_TOKEN=secret, LD_PRELOAD_X=secret)
        self.prove_by(lambda _: probes.in_sandbox("environment", secret, env=environment),
                      ("ENOENT",), lambda: probes.on_host("environment", secret, env=environment))
        result = support.run("/bin/sh", "-c", f"cat /proc/*/environ | grep -c {secret[:-1]}",
                             env=environment)
        self.assertEqual(result.stdout, "0\n")
        names = {line.partition("=")[0] for line in support.run("env", "-0").stdout.split("\0")}
        self.assertEqual(names - {""}, {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM",
                                        "TMPDIR", "PYTHONDONTWRITEBYTECODE", "ASAN_OPTIONS",
                                        "LSAN_OPTIONS", "npm_config_fetch_retries", "PIP_RETRIES",
                                        # What follows from the profile's own limits.
                                        "JDK_JAVA_OPTIONS", "NODE_OPTIONS", "DENO_V8_FLAGS", "GOMEMLIMIT",
                                        "DOTNET_GCHeapHardLimit", "GOMAXPROCS", "DOTNET_PROCESSOR_COUNT",
                                        "CARGO_BUILD_JOBS", "OMP_THREAD_LIMIT"})

    @evidence.attack("F7", "a command of the caller's PATH", "root")
    def test_commands_are_not_the_hosts(self):
        folder = tempfile.mkdtemp(dir=probes.scratch())
        path = os.path.join(folder, "planted")
        with open(path, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\necho planted\n")
        os.chmod(path, 0o755)
        environment = dict(os.environ, PATH=folder + ":" + os.environ["PATH"])

        def outcome(code):
            return probes.Outcome("succeeded" if code == 0 else "refused", code, "", None)

        self.prove_by(lambda _: outcome(support.run("planted", env=environment,
                                                    cwd=folder).returncode), (127,),
                      lambda: outcome(subprocess.run(["planted"], env=environment, check=False,
                                                     capture_output=True).returncode))
        self.assertEqual(support.run(path, env=environment, cwd=folder).returncode, 127)


class Descriptors(probes.Attack):
    """A workload has 0, 1 and 2, and none of them is its caller's."""

    @staticmethod
    def identity(fd):
        status = os.fstat(fd)
        return f"{status.st_dev}:{status.st_ino}"

    @evidence.attack("T5", "a descriptor beside 0, 1 and 2", "close")
    def test_three_and_no_more(self):
        self.prove("descriptors", errors=("EBADF",))

    @evidence.attack("F2", "a descriptor of the caller's", "checks")
    def test_none_of_the_callers(self):
        folder = os.open(probes.scratch(), os.O_RDONLY)
        secret, writer = os.pipe()
        output = tempfile.TemporaryFile()
        fds = [folder, secret, writer, output.fileno()]
        for fd in fds:
            os.set_inheritable(fd, True)
        for fd in fds[:-1]:
            self.addCleanup(os.close, fd)
        self.addCleanup(output.close)
        names = [self.identity(fd) for fd in fds]
        arguments = {"stdin": secret, "pass_fds": fds}
        self.prove_by(lambda _: probes.in_sandbox("callers-files", *names, **arguments),
                      ("EBADF",), lambda: probes.on_host("callers-files", *names, **arguments))

    def test_none_of_the_server(self):
        """The session's own streams above all: a workload could speak in the server's name."""
        with support.Server() as server:
            server.initialize()
            text = support.text_of(server.call(
                "run_command", command="ls -l /proc/self/fd/; stat -L -c %i /proc/self/fd/[012]"))
            own = {str(os.fstat(pipe.fileno()).st_ino) for pipe in
                   (server.process.stdin, server.process.stdout, server.process.stderr)}
        inodes = set(re.findall(r"^\d+$", text, re.M)) | set(re.findall(r"pipe:\[(\d+)\]", text))
        self.assertGreaterEqual(len(inodes), 3, text)
        self.assertFalse(inodes & own, text)


class WorkingDirectory(probes.Attack):
    """What a request names as the place to start in is looked up inside, and nowhere else."""

    def directories(self, numbers, without=None):
        """Which of these descriptors can be started in."""
        return [fd for fd in numbers if probes.in_sandbox(
            "nothing", without=without,
            options=("--cwd", f"/proc/self/fd/{fd}")).verdict == "exited"]

    @evidence.attack("T5", "starting in a directory that a descriptor leads to", "close")
    def test_no_descriptor_leads_out(self):
        def outcome(without):
            found = self.directories(range(16), without)
            return probes.Outcome("succeeded" if found else "refused",
                                  None if found else "ENOENT", str(found), None)

        self.prove_by(outcome, ("ENOENT",))

    def test_none_of_1024(self):
        """A kernel gives the lowest number that is free, and ours has less than a hundred: of those
        above it some are tried, for descriptors that are put there."""
        tried = [*range(128), *range(128, 1024, 37), 1023]
        for start in range(0, len(tried), 32):
            with self.subTest(start=tried[start]), support.Server() as server:
                server.initialize()
                numbers = [server.post("tools/call", {"name": "run_command", "arguments": {
                    "command": "pwd -P", "cwd": f"/proc/self/fd/{fd}"}})
                    for fd in tried[start:start + 32]]
                self.assertTrue(all(server.answer(number, 60).get("isError")
                                    for number in numbers))

    def test_escapes(self):
        for cwd in ("/", "/..", "/workspace/../..", "/proc/self/root", "/proc/self/cwd",
                    "/proc/self/root/..", "/bin/../..", "/tmp/./../../../.."):
            with self.subTest(cwd=cwd):
                result = support.run("/bin/ls", "-A", options=("--cwd", cwd))
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn("workspace\n", result.stdout)
                self.assertNotIn("boot", result.stdout.split())
                self.assert_refused(probes.in_sandbox("cwd-outside", options=("--cwd", cwd)),
                                    "ENOENT")

    def test_refused(self):
        for cwd, code in (("..", 64), ("relative", 64), ("", 64), ("/proc/1/root", 125),
                          ("/proc/1/cwd", 125), ("/nowhere", 125), ("/etc/passwd", 125),
                          (os.path.expanduser("~"), 125), ("/workspace-evil", 125)):
            with self.subTest(cwd=cwd):
                self.assertEqual(support.run("pwd", options=("--cwd=" + cwd,)).returncode, code)

    def test_by_the_protocol(self):
        with support.Server() as server:
            server.initialize()
            for cwd in ("..", "../..", "relative", "/proc/1/root", "/nowhere", "/etc/passwd",
                        os.path.expanduser("~"), "/workspace-evil", "/work\0space"):
                with self.subTest(cwd=cwd):
                    try:
                        result = server.call("run_command", command="pwd; ls", cwd=cwd)
                    except support.RpcError:
                        continue
                    self.assertTrue(result.get("isError"), result)
            for cwd in ("/", "/workspace/../.."):
                with self.subTest(cwd=cwd):
                    text = support.text_of(server.call("run_command", command="ls", cwd=cwd))
                    self.assertIn("workspace", text)
                    self.assertNotIn("boot", text)


if __name__ == "__main__":
    unittest.main()
