#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The configuration of a start by root, and root's configuration for all others. Only root can show
it; the tests have a mount namespace, and in it an /etc, of their own."""
import ctypes
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import support  # noqa: E402  (its folder is known from here on)

CLONE_NEWNS, MS_REC, MS_PRIVATE, MS_BIND = 0x20000, 0x4000, 1 << 18, 0x1000
FOLDER, FILE = "/etc/msp", "/etc/msp/config.yaml"
OTHER = "daemon"  # an account that is neither root nor msp, and is on every Debian
RUN_AS = f"run_as: {OTHER}\nlimits: fallback\naudit: optional\n"  # it has no home for a log


def mount(source, target, flags):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(source.encode(), target.encode(), None, flags, None) != 0:
        raise OSError(ctypes.get_errno(), "mount")


def setUpModule():
    if os.geteuid() != 0:
        raise unittest.SkipTest("needs root")
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    mount("none", "/", MS_REC | MS_PRIVATE)
    copy = tempfile.mkdtemp(prefix="msp-etc-")
    unittest.addModuleCleanup(shutil.rmtree, copy, ignore_errors=True)
    shutil.copytree("/etc", copy, dirs_exist_ok=True, symlinks=True,
                    ignore=shutil.ignore_patterns("msp"))
    os.chmod(copy, 0o755)
    mount(copy, "/etc", MS_BIND)


class RootConfig(unittest.TestCase):
    def setUp(self):
        os.mkdir(FOLDER, 0o755)
        self.addCleanup(shutil.rmtree, FOLDER)
        self.folder = tempfile.mkdtemp(prefix="msp-config-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.chmod(self.folder, 0o755)

    def write(self, text, path=FILE, mode=0o644, owner=0):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        os.chown(path, owner, owner)
        return path

    def environment(self, **variables):
        return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", **variables}

    def msp(self, *words, prefix=(), **variables):
        return subprocess.run([*prefix, support.MSP, *words], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=60, check=False, cwd="/",
                              env=self.environment(**variables))

    def expect_account(self, name, *options, **variables):
        """All of msp and its workload are of that account."""
        with subprocess.Popen([support.MSP, "run", "--standalone", *options, "--", "sh", "-c",
                               "echo ready; cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True, cwd="/", env=self.environment(**variables)) as process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            chain = [process.pid, *support.descendants(process.pid)]
            real = set()
            for pid in chain:
                with open(f"/proc/{pid}/status", encoding="utf-8") as file:
                    real.update(next(line for line in file if line.startswith("Uid:")).split()[1:])
            process.stdin.close()
            self.assertEqual(process.wait(20), 0)
        self.assertGreaterEqual(len(chain), 4)
        self.assertEqual(real, {str(pwd.getpwnam(name).pw_uid)})

    def expect_refused(self, said, *options, **variables):
        result = self.msp("run", "--standalone", *options, "--", "echo", "started", **variables)
        self.assertEqual((result.returncode, result.stdout), (78, ""), result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1)
        self.assertIn(said, result.stderr)


class StartByRoot(RootConfig):
    def test_the_account_that_it_names(self):
        self.write(RUN_AS)
        self.expect_account(OTHER)
        self.expect_account("msp", "--run-as=msp")
        self.expect_account("msp", MSP_RUN_AS="msp")
        self.expect_account(OTHER, MSP_RUN_AS="")

    def test_of_a_file_that_was_named(self):
        path = self.write(RUN_AS, os.path.join(self.folder, "mine.yaml"))
        self.expect_account(OTHER, "--config", path)
        self.expect_account(OTHER, MSP_CONFIG=path)
        self.expect_account("msp", "--limits=fallback")

    def test_the_account_need_not_be_able_to_read_it(self):
        self.write(RUN_AS, mode=0o600)
        self.expect_account(OTHER)
        os.chmod(FOLDER, 0o700)
        self.expect_account(OTHER)

    def test_root_is_no_account(self):
        self.write("run_as: root\nlimits: fallback\n")
        self.expect_refused(f'{FILE}:1: run_as: "root" is no account that msp could run as')
        self.write("run_as: msp-nobody\nlimits: fallback\n")
        self.expect_refused("there is no account 'msp-nobody'")

    def test_hosts(self):
        """The gateway is of the account, too, and refuses a name that is not listed."""
        self.write(RUN_AS + "profiles:\n- name: open\n  extends: default\n  network: hosts\n"
                   "  hosts: [example.org]\n")
        self.expect_account(OTHER, "--profile=open")
        result = self.msp("run", "--standalone", "--profile=open", "--", "sh", "-c",
                          "cat /etc/resolv.conf; getent hosts unlisted.example")
        self.assertEqual((result.returncode, result.stdout), (2, "nameserver 198.18.0.1\n"),
                         result.stderr)

    def test_a_file_that_is_not_roots(self):
        owner = pwd.getpwnam(OTHER).pw_uid
        self.write(RUN_AS, owner=owner)
        self.expect_refused("belongs to another user")
        path = self.write(RUN_AS, os.path.join(self.folder, "mine.yaml"), owner=owner)
        os.unlink(FILE)
        self.expect_refused("belongs to another user", "--config", path)
        self.expect_refused("belongs to another user", MSP_CONFIG=path)
        os.symlink(path, FILE)
        self.expect_refused("belongs to another user")
        self.write(RUN_AS, os.path.join(self.folder, "open.yaml"), mode=0o666)
        self.expect_refused("chmod go-w", "--config", os.path.join(self.folder, "open.yaml"))

    def test_nothing_of_a_home(self):
        home = os.path.join(self.folder, ".config", "msp")
        os.makedirs(home)
        self.write("nonsense: 1\n", os.path.join(home, "config.yaml"))
        self.expect_account("msp", "--limits=fallback", HOME=self.folder)

    def test_other_commands_become_the_same_account(self):
        self.write(RUN_AS)
        result = self.msp("doctor", "--json")
        probes = {probe["name"]: probe for probe in json.loads(result.stdout)["probes"]}
        self.assertIn(f"'{OTHER}'", probes["account"]["tried"])
        self.assertEqual(probes["account"]["status"], "ok")
        self.assertIn(FILE, probes["configuration"]["tried"])
        token = self.msp("token", "list")
        self.assertIn(f"user {pwd.getpwnam(OTHER).pw_uid} has no home directory", token.stderr)
        self.write("nonsense: 1\n")
        for words in (("token", "list"), ("status",)):
            result = self.msp(*words)
            self.assertEqual((result.returncode, result.stdout), (78, ""))
            self.assertIn(f"{FILE}:1: nonsense", result.stderr)

    def test_what_root_is_shown(self):
        self.write(RUN_AS, mode=0o600)
        result = self.msp("profile", "list")
        self.assertEqual((result.returncode, result.stderr), (0, f"msp: configuration: {FILE}\n"))


class StartByOthers(RootConfig):
    """Root's configuration is that of each account which has none of its own."""

    AS_OTHER = ("setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups")
    OWN = ("limits: fallback\naudit: optional\ndefault_profile: own\n"
           "profiles:\n  - name: own\n    extends: default\n")

    def profile(self, prefix):
        result = self.msp("run", "--standalone", "--json", "--", "true", prefix=prefix,
                          HOME="/nonexistent")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)["profile"]

    def test_it_is_in_force(self):
        self.write(self.OWN)
        self.assertEqual(self.profile(self.AS_OTHER), "own")

    def test_it_is_not_passed_over(self):
        self.write(self.OWN, mode=0o600)
        result = self.msp("run", "--", "true", prefix=self.AS_OTHER, HOME="/nonexistent")
        self.assertEqual(result.returncode, 78)
        self.assertRegex(result.stderr, rf"^msp: run: .*{FILE} cannot be read: Permission denied \(EACCES\)\n$")

    def test_where_root_has_no_number(self):
        """As in msp.service, whose PrivateUsers= leaves its user alone in a user namespace."""
        alone = (*self.AS_OTHER, "unshare", "--user", "--map-current-user")
        self.write(self.OWN)
        self.assertEqual(self.profile(alone), "own")
        shown = self.msp("profile", "list", prefix=alone, HOME="/nonexistent")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.write(self.OWN, mode=0o666)
        shown = self.msp("profile", "list", prefix=alone, HOME="/nonexistent")
        self.assertEqual(shown.returncode, 78)
        self.assertIn("chmod go-w", shown.stderr)
        elsewhere = self.write(self.OWN, os.path.join(self.folder, "config.yaml"))
        os.unlink(FILE)
        os.symlink(elsewhere, FILE)
        for options in ((), ("--config", elsewhere)):
            shown = self.msp("profile", "list", *options, prefix=alone, HOME="/nonexistent")
            self.assertEqual((shown.returncode, shown.stdout), (78, ""))
            self.assertIn("belongs to another user", shown.stderr)


if __name__ == "__main__":
    unittest.main()
