#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`system: writable` without an image: programs install below /usr, /etc, /opt and /var of the sandbox,
as package managers do. The host has its files as before, and no other sandbox sees anything."""
import os
import unittest

import leftovers
import support
from persistent_support import PersistentCase, msp

PROFILES = """profiles:
  - {name: own, extends: default, system: writable}
  - {name: shut, extends: own, system: read-only}
"""

# Each place that a package manager writes, by the manager.
PLACES = {
    "pip": "/usr/local/lib/python3/dist-packages/msp_test",
    "npm": "/usr/local/lib/node_modules/msp-test",
    "npm of the system": "/usr/lib/node_modules/msp-test",
    "gem": "/var/lib/gems/3.0.0/gems/msp-test",
    "texlive": "/var/lib/texmf/msp-test",
    "ghc": "/var/lib/ghc/msp-test",
    "a program's own": "/opt/msp-test",
    "configuration": "/etc/msp-test",
    "cache": "/var/cache/msp-test",
}
INSTALL = """
for place in "$@"; do mkdir -p "$place" && echo content > "$place/file" || exit 1; done
printf '#!/bin/sh\\necho installed\\n' > /usr/local/bin/msp-test && chmod 755 /usr/local/bin/msp-test
msp-test
"""
# A file of the host, which another owner has, can be hidden and replaced, and not changed in place.
REPLACE = """
rm /usr/bin/env && echo gone
cp /usr/bin/true /usr/bin/env && /usr/bin/env no-such-program && echo replaced
echo more >> /usr/bin/awk || echo foreign
chmod u+s /usr/local/bin/msp-test 2>/dev/null; cp /usr/bin/id /usr/local/bin/own && chmod 4755 /usr/local/bin/own
stat -c %a /usr/local/bin/own
"""


def setUpModule():
    leftovers.become_reaper()
    if not os.path.exists(os.path.join(support.BIN, "msp-layers")):
        raise unittest.SkipTest("msp-layers is not built")


def host_state():
    """Of what the tests change in a sandbox."""
    tops = ["/usr/local", "/opt"]
    return [[os.lstat(folder).st_ctime_ns for top in tops for folder, _, _ in os.walk(top)]] + [
        [os.path.lexists(place) for place in PLACES.values()],
        [os.stat(path).st_ctime_ns for path in ("/usr/bin/env", "/usr/bin", "/usr/lib", "/etc", "/var/lib")]]


class System(PersistentCase):
    def setUp(self):
        super().setUp()
        path = os.path.join(os.path.dirname(self.state), "config.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(PROFILES)
        self.environment = {**os.environ, "MSP_CONFIG": path}
        self.before = host_state()
        self.addCleanup(lambda: self.assertEqual(host_state(), self.before))

    def msp(self, *words, **keywords):
        return msp(*words, env=self.environment, **keywords)

    def run_in(self, profile, script, *words, code=0):
        return self.msp("run", *support.limits(), f"--profile={profile}", "--", "sh", "-c", script, "sh", *words, code=code)

    def test_each_place_of_a_package_manager(self):
        self.assertEqual(self.run_in("own", INSTALL, *PLACES.values()).stdout, "installed\n")
        result = self.run_in("own", 'ls -d "$@" 2>/dev/null; true', *PLACES.values())
        self.assertEqual(result.stdout, "", "another sandbox has none of it")

    def test_without_the_key_there_is_none(self):
        """The control, also in a profile that extends one with it."""
        for profile in ("default", "shut"):
            for place in PLACES.values():
                with self.subTest(profile=profile, place=place):
                    self.assertNotEqual(self.run_in(profile, INSTALL, place, code=None).returncode, 0)

    def test_the_hosts_files_can_be_hidden(self):
        result = self.run_in("own", INSTALL + REPLACE)
        self.assertEqual(result.stdout.splitlines()[1:], ["gone", "replaced", "foreign", "755"])

    def test_it_stays_in_a_sandbox_that_lasts(self):
        box = self.msp("create", "--profile=own").stdout.strip()
        self.addCleanup(msp, "destroy", box, code=None)
        self.msp("exec", box, "--", "sh", "-c", INSTALL, "sh", *PLACES.values())
        self.msp("checkpoint", box, "installed")
        self.assertEqual(self.msp("exec", box, "--", "msp-test").stdout, "installed\n")
        self.msp("exec", box, "--", "rm", "-r", *PLACES.values())
        self.msp("rollback", box, "installed")
        result = self.msp("exec", box, "--", "ls", "-d", *PLACES.values())
        self.assertEqual(result.stdout.splitlines(), sorted(PLACES.values()))

    def test_nothing_of_it_is_applied(self):
        box = self.msp("create", "--profile=own", "--workspace", self.project).stdout.strip()
        self.addCleanup(msp, "destroy", box, code=None)
        self.msp("exec", box, "--", "sh", "-c", INSTALL, "sh", *PLACES.values())
        self.assertEqual(self.msp("diff", box, "--name-only").stdout, "")

    def test_what_is_shown_of_etc_is_no_more_than_before(self):
        listing = "find /etc -mindepth 1 | sort"
        self.assertEqual(self.run_in("own", listing).stdout, self.run_in("shut", listing).stdout)


if __name__ == "__main__":
    unittest.main()
