#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A remedy that `msp-policy explain` prints is a change that the policy compiler accepts, that a
sandbox starts with, and that allows the operation."""
import os
import re
import subprocess
import tempfile
import unittest

import support

POLICY = os.path.join(support.BIN, "msp-policy")
PREFIX = "in the operator's profile, "
KEY = re.compile(r"(files|hosts|landlock|network|seccomp): ")
OWN = re.compile(r""", or if the address is this machine's, the entry (\{host: )NAME(, to: "[0-9.:]+"\})$""")

OPERATIONS = (
    "read /etc/shadow", "list /root", "read /dev/kvm", "read /sys/class/net", "list /home",
    "read /home/user/project/x", "list /srv", "read /var/log/dpkg.log", "read /usr/nothing/x",
    "write /etc/passwd", "create /etc/new", "create /new", "create /srv/x", "write /usr/bin/env",
    "create /usr/bin/x", "create /opt/x", "delete /etc/passwd", "exec /dev/shm/x", "exec /etc/passwd",
    "read /proc/1/environ", "create /run/x", "create /var/empty/x", "connect example.org:443",
    "connect pypi.org:443", "connect 10.0.0.1:22", "connect db:5432", "resolve example.org",
    "connect my_host.example:80", "connect [2001:db8::1]:443", "connect udp:1.1.1.1:53", "connect 1.1.1.1:53",
    "connect 127.0.0.1:80", "bind 80", "bind 8080", "connect unix:/var/run/docker.sock",
    "connect unix:/run/x", "syscall setuid", "syscall ptrace", "syscall mount", "syscall mlock",
    "syscall socket", "syscall inotify_init", "syscall sched_setscheduler", "syscall keyctl",
    "syscall mq_open", "syscall openat2", "read /tmp/../var/log/dpkg.log",
)


def explain(profile, operations, options=()):
    result = subprocess.run([POLICY, "explain", *options, profile, *operations], text=True,
                            capture_output=True, check=False)
    return result.stdout.splitlines(), result.stderr


def remedy_of(lines):
    return lines[1].partition("; remedy: ")[2]


def yaml_of(remedy):
    """The keys of a profile; [] for words without any."""
    text = remedy.removeprefix(PREFIX)
    text = re.sub(r"\} \([^()]*\)$", "}", text)  # the group's reason
    text = OWN.sub("", text)
    return re.split(r" and (?=(?:files|hosts|landlock|network|seccomp): )", text) if KEY.match(text) else []


class Remedies(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if os.geteuid() == 0:
            raise unittest.SkipTest("needs an ordinary user")
        support.limits()

    def config_with(self, profile, keys):
        """A file with a profile that extends this one by the keys."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "config.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(support.config_of("\n".join(["name: changed", f"extends: {profile}", *keys])))
        return path

    def test_each_is_accepted_and_works(self):
        with_yaml = 0
        for profile in ("default", "strict"):
            lines, _ = explain(profile, OPERATIONS)
            self.assertEqual(len(lines), 2 * len(OPERATIONS))
            for number, operation in enumerate(OPERATIONS):
                remedy = remedy_of(lines[2 * number:2 * number + 2])
                keys = yaml_of(remedy)
                self.assertTrue(not re.search(r"[{}]", remedy) or keys, remedy)
                if keys:
                    with_yaml += 1
                    own = OWN.search(remedy)
                    if own:
                        entry = own[1] + "own.example" + own[2]
                        own_keys = [f"hosts: [{entry}]" if key.startswith("hosts: ") else key
                                    for key in keys]
                        self.check(operation.replace("10.0.0.1", "own.example"), remedy,
                                   self.config_with(profile, own_keys))
                    with self.subTest(profile=profile, operation=operation, remedy=remedy):
                        self.check(operation, remedy, self.config_with(profile, keys))
        self.assertGreater(with_yaml, 15)

    def check(self, operation, remedy, config):
        if "kind: file" in remedy:  # a file of the operator's text, in place of one of the workload's
            operation = "read " + operation.split()[1]
        after, error = explain("changed", [operation], ["--config", config])
        self.assertEqual(error, "")
        self.assertTrue(after[0].startswith("allowed: "), after)
        ran = support.run("true", options=["--config", config, "--profile", "changed",
                                           "--standalone"])
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_a_protected_path_is_refused(self):
        """What the texts leave out would end the start."""
        for path in ("/etc/shadow", "/root", "/dev/kvm"):
            if not os.path.exists(path):
                continue
            with self.subTest(path=path):
                config = self.config_with("default", [f"files: [{{at: {path}, kind: bind}}]"])
                ran = support.run("true", options=["--config", config, "--profile", "changed",
                                                   "--standalone"])
                self.assertNotEqual(ran.returncode, 0)
                self.assertIn("files:", ran.stderr)


if __name__ == "__main__":
    unittest.main()
