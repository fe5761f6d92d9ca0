#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Debian package: equal bytes from different folders, no complaint of lintian, and a life in
fresh roots of Debian 12 and 13: install, use, upgrade under a running session, remove, purge. In the
test machine a user's service is upgraded, with AppArmor.

`./dev package --test` starts it as root. Nothing is installed on this machine: roots.py has the
roots, whose tar files stay in build/package-roots. This machine builds the package of its own
release, and a root that of another. MSP_SUITES names other suites of Debian, MSP_PACKAGE a package of
this release that is built already (then no two builds are compared)."""
import glob
import os
import platform
import re
import subprocess
import sys
import time
import unittest

import roots

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CACHE = os.path.join(ROOT, "build", "package-roots")
SUITES = os.environ.get("MSP_SUITES", "bookworm trixie").split()
OWN_SUITE = platform.freedesktop_os_release().get("VERSION_CODENAME")
VM = os.path.join(ROOT, "tests", "system", "vm")
MACHINE_SUITE = "trixie"  # of the test machine
USERS_PACKAGES = ("python3", "apparmor", "systemd")
GIVEN = os.environ.get("MSP_PACKAGE")
GIT = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}

for folder in ("integration", "meta"):
    sys.path.insert(0, os.path.join(ROOT, "tests", folder))
import ipc  # noqa: E402  (a folder of its own)
import tree  # noqa: E402  the lists of what the project has


def expected_files():
    """Each file of the package, without the ending .gz."""
    committed = run("git", "-C", ROOT, "ls-tree", "-r", "--name-only", "HEAD", "docs",
                    env={**os.environ, **GIT}, capture_output=True, text=True).stdout.splitlines()
    pages = [path for path in committed if path.endswith((".md", ".svg"))]
    manual = [path for path in committed if re.match(r"docs/man/[^/]+\.[1-8]$", path)]
    return ({"usr/bin/msp", "usr/libexec/msp/builtin.policy"}
            | {f"usr/libexec/msp/{name}" for name in tree.PROGRAMS if name != "msp"}
            | {f"usr/lib/systemd/user/{name}"
               for name in ("msp.service", "msp.socket", "msp-http.service")}
            | {f"usr/share/man/man{path[-1]}/{os.path.basename(path)}" for path in manual}
            | {f"usr/share/doc/msp/{name}" for name in (
                "README.md", "SECURITY.md", "copyright", "changelog", "changelog.Debian", *pages)}
            | {"usr/lib/sysusers.d/msp.conf", "usr/share/msp/apparmor",
               "usr/share/msp/delegate.conf", "usr/share/lintian/overrides/msp",
               "usr/share/bash-completion/completions/msp",
               "usr/share/zsh/vendor-completions/_msp",
               "usr/share/fish/vendor_completions.d/msp.fish"})


def run(*words, **keywords):
    return subprocess.run(words, check=True, stdin=subprocess.DEVNULL, **keywords)


def clone(place, source=ROOT):
    run("git", "clone", "-q", "--no-local", source, place, env={**os.environ, **GIT})
    return place


def build(place, checkout, **changed):
    """The package, built from a clone at `checkout` in folders below `place`."""
    os.makedirs(place)
    environment = {**os.environ, "TMPDIR": place, **changed}
    # A compiler's cache would give both builds the same object files.
    environment = {name: value for name, value in environment.items()
                   if not name.endswith("_COMPILER_LAUNCHER")}
    begin = time.monotonic()
    run(os.path.join(checkout, "packaging", "package"), os.path.join(place, "out"),
        env=environment, stdout=subprocess.DEVNULL)
    deb, = glob.glob(os.path.join(place, "out", "msp_*.deb"))
    print(f"packages: built in {time.monotonic() - begin:.0f} s, {os.path.getsize(deb)} bytes",
          flush=True)
    return deb


def build_packages():
    """The packages that a root needs to build the package in it."""
    control = tree.read("packaging/debian/control")
    needed = re.search(r"^Build-Depends:\n((?: .+\n)+)", control, re.M)[1]
    names = [re.match(r" ([^ ,]+)", line)[1] for line in needed.splitlines()]
    return ("build-essential", "debhelper", "git",
            *(name for name in names if not name.startswith(("debhelper-compat", "dh-sequence-"))))


def build_in(suite, place, checkout):
    """The package of another suite, built in a root of it from the checkout's commit."""
    files = os.path.join(place, "files")
    os.makedirs(files)
    run("git", "-C", checkout, "bundle", "create", "-q", os.path.join(files, "commit"), "HEAD",
        env={**os.environ, **GIT})
    path = os.path.join(place, "first.deb")
    with open(path, "wb") as file:
        roots.run_in(roots.make_tar(suite, build_packages(), CACHE), files, "sh", "-euc",
                     "git -c advice.detachedHead=false -c init.defaultBranch=main clone -q "
                     "/tmp/commit /tmp/msp; "
                     "/tmp/msp/packaging/package /tmp/out >&2; "
                     "cat /tmp/out/msp_*.deb", output=file)
    return path


def change_protocol(unpacked):
    """Change the hash of the protocol's definition, which each program that speaks it carries."""
    new = bytes(byte ^ 0xff for byte in ipc.SCHEMA)
    changed = 0
    for name in tree.PROGRAMS:
        path = os.path.join(unpacked, "usr", "bin" if name == "msp" else "libexec/msp", name)
        data = content(path)
        changed += ipc.SCHEMA in data
        with open(path, "r+b") as file:
            file.write(data.replace(ipc.SCHEMA, new))
    if changed < 5:
        raise ValueError(f"{changed} programs speak this checkout's protocol")


def make_next(deb, folder, other_protocol=False):
    """The same package as a later version."""
    unpacked = os.path.join(folder, "next")
    run("dpkg-deb", "-R", deb, unpacked)
    if other_protocol:
        change_protocol(unpacked)
    control = os.path.join(unpacked, "DEBIAN", "control")
    with open(control, encoding="utf-8") as file:
        text = file.read()
    with open(control, "w", encoding="utf-8") as file:
        file.write(re.sub(r"(?m)^(Version: .+)$", r"\1+next", text))
    path = os.path.join(folder, "next.deb")
    run("dpkg-deb", "--root-owner-group", "-b", unpacked, path, stdout=subprocess.DEVNULL)
    return path


def content(path):
    with open(path, "rb") as file:
        return file.read()


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = roots.make_folder()
        cls.addClassCleanup(roots.remove_folder, cls.folder)
        cls.checkout = clone(os.path.join(cls.folder, "checkout"))  # of one commit for all builds
        cls.deb = GIVEN or build(os.path.join(cls.folder, "first"), cls.checkout)
        cls.debs = {OWN_SUITE: cls.deb}

    def deb_of(self, suite):
        """The package of a suite; another one than this machine's is built when it is needed."""
        if suite not in self.debs:
            self.debs[suite] = build_in(suite, os.path.join(self.folder, "other", suite),
                                        self.checkout)
        return self.debs[suite]

    @unittest.skipIf(GIVEN, "a package was given")
    def test_folder_time_and_stray_files_make_no_difference(self):
        other = clone(os.path.join(self.folder, "another", "longer", "name"), self.checkout)
        for stray in ("docs/stray.md", "common/stray.h"):
            with open(os.path.join(other, stray), "w", encoding="utf-8") as file:
                file.write("# Stray\n")
        old = os.umask(0o077)
        try:
            again = build(os.path.join(self.folder, "second"), other, TZ="Pacific/Apia",
                          HOME=self.folder, LC_ALL="C.UTF-8")
        finally:
            os.umask(old)
        self.assertEqual(content(self.deb), content(again))

    def test_another_version_differs(self):
        folder = os.path.join(self.folder, "version")
        os.mkdir(folder)
        self.assertNotEqual(content(self.deb), content(make_next(self.deb, folder)))

    def test_lintian_has_nothing_to_say(self):
        result = subprocess.run(["lintian", "--fail-on=error,warning", "--allow-root", self.deb],
                                capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)

    def test_its_files(self):
        listed = run("dpkg-deb", "-c", self.deb, capture_output=True, text=True).stdout
        entries = {line.split()[5][2:]: line.split()[:2] for line in listed.splitlines()}
        files = {path.removesuffix(".gz") for path in entries if not path.endswith("/") and path}
        self.assertEqual(files, expected_files())
        for path, (mode, owner) in entries.items():
            self.assertNotIn("s", mode[1:], path)
            self.assertEqual((owner, mode[8]), ("root/root", "-"), path)

    def test_its_life(self):
        for suite in SUITES:
            with self.subTest(suite=suite):
                place = os.path.join(self.folder, "life", suite)
                files = os.path.join(place, "life")
                os.makedirs(files)
                deb = self.deb_of(suite)
                for path, name in ((deb, "first.deb"), (make_next(deb, place), "next.deb"),
                                   (os.path.join(HERE, "life.py"), "life.py"),
                                   (os.path.join(ROOT, "tests", "sessions.py"), "sessions.py"),
                                   (os.path.join(ROOT, "docs", "cookbook.md"), "cookbook.md")):
                    run("cp", path, os.path.join(files, name))
                roots.run_in(roots.make_tar(suite, USERS_PACKAGES, CACHE), files, "python3", "-B",
                             "/tmp/life.py")

    def test_its_service(self):
        place = os.path.join(self.folder, "machine")
        job = os.path.join(place, "job")
        os.makedirs(job)
        deb = os.path.join(job, "first.deb")
        run("cp", self.deb_of(MACHINE_SUITE), deb)
        for other_protocol, name in ((True, "next.deb"), (False, "last.deb")):
            folder = os.path.join(place, name)
            os.mkdir(folder)
            run("mv", make_next(deb, folder, other_protocol), os.path.join(job, name))
            deb = os.path.join(job, name)
        for path in (*(os.path.join(HERE, name) for name in ("life.py", "machine.py")),
                     os.path.join(ROOT, "tests", "sessions.py")):
            run("cp", path, job)
        image = run(os.path.join(VM, "build"), capture_output=True, text=True).stdout.strip()
        run(os.path.join(VM, "run"), "--image", image, "--job", job, "--root",
            "--lsm", "landlock,apparmor", "--", "/usr/bin/python3", "-B", "/job/machine.py")


class Folder(unittest.TestCase):
    """The cleanup deletes its folder alone."""

    def test_a_mount_below_is_refused(self):
        folder = roots.make_folder()
        inner = os.path.join(folder, "inner")
        os.mkdir(inner)
        run("mount", "-t", "tmpfs", "none", inner)
        self.assertRaises(ValueError, roots.remove_folder, folder)
        self.assertTrue(os.path.isdir(inner))
        run("umount", inner)
        roots.remove_folder(folder)
        self.assertFalse(os.path.exists(folder))

    def test_other_folders_are_refused(self):
        for other in ("/", "/var/tmp", ROOT, roots.PREFIX + "x/../../../home"):
            self.assertRaises(ValueError, roots.remove_folder, other)

    def test_the_namespace_is_private(self):
        with open("/proc/self/mountinfo", encoding="utf-8") as file:
            shared = [line for line in file if " shared:" in line or " master:" in line]
        self.assertEqual(shared, [])


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit("packages: only root can make and enter the roots")
    roots.enter_namespaces()
    unittest.main()
