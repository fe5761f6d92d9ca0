#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Debian package agrees with the project: its version, its files, and the packages that its build
needs. tests/packages builds and installs it."""
import os
import re
import unittest

import tree

DEBIAN = "packaging/debian/"
# The compiler is essential for a package's build, and only tests need python3.
NOT_NAMED = {"gcc", "libc6-dev", "python3"}
# A name that Debian 12 and 13 give to the same package.
NAMES = {"pkg-config": "pkgconf"}


class Package(unittest.TestCase):
    def test_the_versions_are_equal(self):
        project = re.search(r"^project\(msp VERSION (\S+)", tree.read("CMakeLists.txt"), re.M)
        changelog = re.match(r"msp \((.+?)\) ", tree.read(DEBIAN + "changelog"))
        self.assertEqual(project[1], changelog[1])

    def test_its_files(self):
        found = [path for path in tree.files() if path.startswith(DEBIAN)]
        self.assertEqual({path.removeprefix(DEBIAN) for path in found}, {
            "changelog", "control", "copyright", "msp.lintian-overrides", "msp.postinst",
            "msp.postrm", "msp.sysusers", "rules", "source/format"})
        self.assertTrue(os.access(os.path.join(tree.ROOT, DEBIAN, "rules"), os.X_OK))

    def test_the_build_needs_the_packages_of_dev(self):
        control = re.search(r"^Build-Depends:\n((?: .+\n)+)", tree.read(DEBIAN + "control"), re.M)
        named = {line.split()[0].rstrip(",") for line in control[1].splitlines()}
        dev = re.search(r"^PACKAGES_BUILD='(.+?)'", tree.read("dev"), re.M | re.S)
        needed = {NAMES.get(name, name) for name in dev[1].split()} - NOT_NAMED
        self.assertEqual({name for name in named if not name.startswith(("debhelper", "dh-"))},
                         needed)

    def test_libraries_that_are_loaded_are_depended_on(self):
        """dpkg-shlibdeps does not see them."""
        loaded = re.findall(r"^msp_soname\((\S+) ", tree.read("layers/reader/CMakeLists.txt"), re.M)
        named = re.search(r"^LOADED = \$\(foreach name,([^,]+),", tree.read(DEBIAN + "rules"), re.M)
        self.assertEqual({"lib" + name for name in loaded}, set(named[1].split()))
        self.assertIn("${msp:Loaded}", tree.read(DEBIAN + "control"))
        sources = [path for path in tree.sources() if not path.startswith("tests/")]
        self.assertEqual([path for path in sources if "dlopen(" in tree.read(path)],
                         ["layers/reader/library.c"])

    def test_the_overrides_name_programs_of_ours(self):
        overrides = re.findall(r"^msp: \S+ \[usr/(?:bin|libexec/msp)/(.+)\]$",
                               tree.read(DEBIAN + "msp.lintian-overrides"), re.M)
        self.assertEqual(set(overrides) - {"*"} - set(tree.PROGRAMS), set())
        self.assertGreater(len(overrides), 2)

    def test_the_account_is_the_one_of_dev(self):
        account = re.search(r"^ACCOUNT=(\S+)$", tree.read("dev"), re.M)[1]
        self.assertRegex(tree.read(DEBIAN + "msp.sysusers"), rf"(?m)^u {account} - ")

    def test_the_profile_is_of_msp_alone(self):
        profile = tree.read("packaging/apparmor/msp")
        self.assertEqual(re.findall(r"^profile (.+) \{$", profile, re.M),
                         ["msp /usr/bin/msp flags=(unconfined)"])
        self.assertIn("\n  userns,\n", profile)


if __name__ == "__main__":
    unittest.main()
