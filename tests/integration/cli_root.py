#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""msp started by root becomes an ordinary account, or does not start. Needs root."""
import json
import os
import pwd
import re
import shutil
import tempfile
import unittest

import support
from cli_support import LIMITS, MSP, msp, run

MISSING = "msp-no-such-account"


def accounts():
    """Ordinary ones to become; the second has a gid that differs from its uid, where there is."""
    found = [entry for entry in pwd.getpwall() if entry.pw_uid and entry.pw_gid]
    return found[0], next((entry for entry in found if entry.pw_uid != entry.pw_gid), None)


@unittest.skipIf(os.geteuid() == 0, "for ordinary users")
class Ordinary(unittest.TestCase):
    def test_run_as_is_roots(self):
        result = run("true", options=["--run-as=nobody"])
        self.assertEqual(result.returncode, 64)
        self.assertIn("only root can become another account", result.stderr)

    def test_a_workload_keeps_the_groups(self):
        kept = set(os.getgroups()) - {os.getegid()}
        result = run("/bin/grep", "^Groups:", "/proc/self/status")
        self.assertEqual(len([word for word in result.stdout.split()[1:] if word == "65534"]),
                         len(kept), result)
        doctor = json.loads(msp("doctor", "--json").stdout)
        row = next(row for row in doctor["probes"] if row["name"] == "groups")
        self.assertEqual(set(re.findall(r"[:,] (\d+)", row["happened"])), set(map(str, kept)))

    def test_the_environment_is_not_asked(self):
        result = run("true", env={**os.environ, "MSP_RUN_AS": MISSING})
        self.assertEqual(result.returncode, 0, result.stderr)


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class Root(unittest.TestCase):
    def test_setup_without_an_account_tells_only_that(self):
        result = msp("setup", "--dry-run", env={**os.environ, "MSP_RUN_AS": MISSING})
        self.assertEqual(result.returncode, 78, result.stderr)
        self.assertTrue(result.stdout.startswith("account\n"), result.stdout)
        self.assertIn(f"/usr/sbin/nologin {MISSING}", result.stdout)
        self.assertIn("The rest can be examined when there is such an account", result.stdout)
        self.assertNotIn("\ncgroup\n", result.stdout)

    def refused(self, result, *parts):
        self.assertEqual(result.returncode, 78, result.stderr)
        self.assertEqual(result.stdout, "")
        for part in parts:
            self.assertIn(part, result.stderr)

    def test_without_the_account(self):
        for options in ({"options": [f"--run-as={MISSING}"]},
                        {"env": {**os.environ, "MSP_RUN_AS": MISSING}}):
            self.refused(run("true", **options), f"no account '{MISSING}'",
                         "useradd --system", f"/usr/sbin/nologin {MISSING}")
        self.refused(msp("serve", "--limits=fallback", f"--run-as={MISSING}"), "useradd --system")

    def test_root_is_no_target(self):
        self.refused(run("true", options=["--run-as=root"]), "must not have uid or gid 0")

    def test_becomes_the_account(self):
        for account in filter(None, accounts()):
            with self.subTest(account=account.pw_name):
                result = run("id", "-u", options=[f"--run-as={account.pw_name}"])
                self.assertEqual((result.returncode, result.stdout), (0, "1000\n"), result.stderr)

    def test_the_option_wins_over_the_environment(self):
        account, _ = accounts()
        result = run("true", options=[f"--run-as={account.pw_name}"],
                     env={**os.environ, "MSP_RUN_AS": MISSING})
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_programs_and_folder_out_of_reach(self):
        """The account can reach neither the programs nor the working directory."""
        account, _ = accounts()
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            for name in ("msp", "msp-supervisor", "msp-broker", "msp-child-init", "msp-audit", "msp-opener",
                         "builtin.policy"):
                shutil.copy(os.path.join(os.path.dirname(MSP), name), folder)
            os.chmod(folder, 0o700)
            result = msp("run", "--limits=fallback", f"--run-as={account.pw_name}", "--", "pwd",
                         executable=folder + "/msp", cwd=folder)
            self.assertEqual((result.returncode, result.stdout), (0, "/workspace\n"),
                             result.stderr)

    def test_what_only_root_can_read_is_not_shown(self):
        account, _ = accounts()
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # mode 0700
            os.mkdir(folder + "/inner")
            result = run("true", options=[f"--run-as={account.pw_name}",
                                          f"--ro={folder}/inner:/data"])
            self.assertEqual(result.returncode, 64)
            self.assertIn("Permission denied", result.stderr)

    def test_the_account_derives_what_its_sandboxes_show(self):
        """Also with root's configuration, unless the account cannot read that: it runs what needs no sets."""
        account, _ = accounts()
        place = tempfile.TemporaryDirectory(dir="/tmp")
        self.addCleanup(place.cleanup)
        state, config, tool = (os.path.join(place.name, name) for name in ("state", "config.yaml", "tool"))
        self.addCleanup(support.await_removal, state)
        os.chmod(place.name, 0o755)
        os.mkdir(state, 0o700)
        os.mkdir(tool)
        os.chmod(tool, 0o755)
        os.chown(state, account.pw_uid, account.pw_gid)
        with open(config, "w", encoding="utf-8") as file:
            file.write("profiles: [{name: own, extends: default}]\n")

        def act(verb, *arguments):
            return msp(verb, f"--run-as={account.pw_name}", *arguments, cwd=place.name,
                       env={**os.environ, "MSP_STATE_DIR": state})

        def execute(name, *words):
            return act("exec", *LIMITS, f"--config={config}", name, "--", *words)

        for name, options in (("plain", []), ("shown", ["--profile=own", f"--ro={tool}:/data"])):
            result = act("create", f"--config={config}", f"--name={name}", *options)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.addCleanup(act, "destroy", name)
        result = execute("shown", "ls", "-d", "/data")
        self.assertEqual(result.stdout, "/data\n", result.stderr)
        os.chmod(config, 0o600)
        result = execute("shown", "ls", "-d", "/data")
        self.assertEqual((result.returncode, result.stdout), (64, ""))
        self.assertIn(f"sandboxes with --ro cannot be used: the configuration {config}", result.stderr)
        self.assertEqual(execute("plain", "echo", "works").stdout, "works\n")

    def test_setuid_is_refused(self):
        account, _ = accounts()
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            os.chmod(folder, 0o755)
            copy = shutil.copy(MSP, folder)
            shutil.copy(os.path.join(os.path.dirname(MSP), "msp-supervisor"), folder)
            for name in ("msp-broker", "msp-child-init", "msp-audit", "msp-opener", "builtin.policy"):
                shutil.copy(os.path.join(os.path.dirname(MSP), name), folder)
            os.chmod(copy, 0o4755)
            result = msp("run", "--limits=fallback", "--", "true", executable=copy,
                         user=account.pw_uid, group=account.pw_gid, extra_groups=[])
            self.refused(result, "must not be setuid")

    def test_the_doctor_probes_as_the_account(self):
        account, _ = accounts()
        result = msp("doctor", f"--run-as={account.pw_name}")
        self.assertRegex(result.stdout, rf"ok +account +becoming the account "
                                        rf"'{account.pw_name}': uid {account.pw_uid};")

    def test_the_doctor_without_the_account(self):
        result = msp("doctor", f"--run-as={MISSING}")
        self.assertEqual(result.returncode, 78)
        self.assertRegex(result.stdout, r"missing +account ")
        self.assertIn("useradd --system", result.stdout)


if __name__ == "__main__":
    unittest.main()
