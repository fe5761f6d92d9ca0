#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Package managers in an image of one's own: apt-get and dpkg with packages that change owners and add
accounts, a small image of busybox and musl, pip and npm. The archives are servers of the test."""
import _bz2
import _ctypes
import _hashlib
import _lzma
import _ssl
import gzip
import hashlib
import os
import shutil
import subprocess
import sys
import unittest

import image_store
import network_packages  # and the servers of PyPI and npm
import network_support
from cli_support import LIMITS, msp
from config_support import WithFolder

ARCHIVE = "packages.example.org"
CONFIG = f"""\
profiles:
  - name: distro
    extends: image
    image: "distro:1"
    root: writable
    user: root
    pretend: [ownership]
    network: hosts
    hosts: ["{ARCHIVE}:80", "@pypi", "@npm"]
  - {{name: honest, extends: distro, pretend: []}}
  - name: tools
    extends: distro
    environment: [NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt, PIP_ROOT_USER_ACTION=ignore,
                  npm_config_fetch_retries=2, PIP_RETRIES=2]
"""
# Of Debian's essential packages, those that apt-get, dpkg and the scripts of packages start.
PROGRAMS = ("apt-get", "dpkg", "dpkg-deb", "dpkg-query", "dpkg-split", "dpkg-statoverride", "tar", "sh", "rm", "diff",
            "ldconfig", "start-stop-daemon", "groupadd", "useradd", "chown", "chmod", "stat", "cat", "ls", "id",
            "xz", "gzip", "install", "mktemp", "env")
PYTHON_LIBRARY = "/usr/lib/python%d.%d" % sys.version_info[:2]
METHODS = ("http", "file", "store", "copy")
START = "#!/bin/sh\n"
POSTINST = f"""{START}\
set -e
groupadd --system greeters
useradd --system --gid greeters --no-create-home greeter
chown greeter:greeters /usr/share/greet/text
chmod 2755 /usr/share/greet
"""


def find_program(name):
    return shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin")


def make_package(folder, is_hard=True):
    """A package; a hard one has a set-ID program, a directory that its owner cannot write, and a script."""
    tree = os.path.join(folder, "greet")
    for path, text, mode in (("DEBIAN/control", "Package: greet\nVersion: 1.0\nArchitecture: all\n"
                              "Maintainer: tests <tests@example.org>\nDescription: hello\n", 0o644),
                             ("DEBIAN/postinst", POSTINST if is_hard else START, 0o755),
                             ("usr/bin/greet", f"{START}cat /usr/share/greet/text\n",
                              0o4755 if is_hard else 0o755),
                             ("usr/share/greet/text", "hello from a package\n", 0o440),
                             ("usr/share/greet/closed/inner", "inner\n", 0o644)):
        image_store.put_file(tree, "/" + path, text, mode)
    os.chmod(os.path.join(tree, "usr/share/greet/closed"), 0o555 if is_hard else 0o755)
    target = os.path.join(folder, "greet.deb")
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "--build", tree, target], check=True,
                   capture_output=True)
    os.chmod(os.path.join(tree, "usr/share/greet/closed"), 0o755)
    with open(target, "rb") as file:
        return file.read()


def archive_of(package):
    """{path: bytes} of an archive with this package."""
    listed = ("Package: greet\nVersion: 1.0\nArchitecture: all\nMaintainer: tests\nDescription: hello\n"
              f"Filename: pool/greet.deb\nSize: {len(package)}\n"
              f"SHA256: {hashlib.sha256(package).hexdigest()}\n\n").encode()
    packed = gzip.compress(listed)
    release = ("Origin: tests\nSuite: stable\nCodename: stable\nArchitectures: all\nComponents: main\n"
               "Date: Thu, 26 Nov 2026 12:00:00 UTC\nSHA256:\n"
               f" {hashlib.sha256(listed).hexdigest()} {len(listed)} main/binary-all/Packages\n"
               f" {hashlib.sha256(packed).hexdigest()} {len(packed)} main/binary-all/Packages.gz\n").encode()
    return {"/dists/stable/Release": release, "/dists/stable/main/binary-all/Packages.gz": packed,
            "/pool/greet.deb": package}


def answer(request):
    """The server's side: files that a test has put into the folder of the network."""
    path = os.path.join(network_support.folder(), "archive", request.path.lstrip("/"))
    try:
        with open(path, "rb") as file:
            request.answer(200, file.read())
    except OSError:
        request.answer(404, b"no such file\n")


network_support.HOSTS[ARCHIVE] = answer


def fill_debian(layer):
    image_store.fill_distro(layer)
    for name in PROGRAMS:
        image_store.put_program(layer, os.path.realpath(find_program(name)), "/usr/bin/" + name)
    for name in METHODS:
        image_store.put_program(layer, "/usr/lib/apt/methods/" + name)
    for path in ("etc/apt/apt.conf.d", "etc/apt/preferences.d", "etc/apt/trusted.gpg.d", "etc/dpkg/dpkg.cfg.d",
                 "var/lib/apt/lists/partial", "var/cache/apt/archives/partial", "var/lib/dpkg/info",
                 "var/lib/dpkg/updates", "var/log/apt", "usr/share/dpkg"):
        os.makedirs(os.path.join(layer, path), exist_ok=True)
    for name in ("cputable", "ostable", "tupletable"):
        shutil.copy(os.path.join("/usr/share/dpkg", name), os.path.join(layer, "usr/share/dpkg", name))
    image_store.put_file(layer, "/var/lib/dpkg/status")
    image_store.put_file(layer, "/etc/apt/sources.list", f"deb [trusted=yes] http://{ARCHIVE} stable main\n")
    image_store.put_file(layer, "/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n_apt:x:42:65534::/nonexistent:/bin/false\n")
    image_store.put_file(layer, "/etc/group", "root:x:0:\nnogroup:x:65534:\n")
    for name in ("shadow", "gshadow", "login.defs"):
        image_store.put_file(layer, "/etc/" + name, "", 0o600)


def put_tree(layer, tree):
    shutil.copytree(tree, layer + tree, symlinks=True, ignore=shutil.ignore_patterns(
        "__pycache__", "test", "idlelib", "lib2to3", "ensurepip", "EXTERNALLY-MANAGED", "config-*"))


class Case(WithFolder):
    def setUp(self):
        super().setUp()
        self.state = os.path.join(self.folder, "state")
        os.mkdir(self.state, 0o700)
        self.store = image_store.Store(self.state)
        self.config = self.write(CONFIG)

    def run_in(self, profile, script):
        return self.run_msp("sh", "-ec", script, options=("--profile", profile), MSP_CONFIG=self.config,
                            MSP_STATE_DIR=self.state)

    def says(self, profile, script):
        result = self.run_in(profile, script)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def need(self, *commands):
        self.need_none([name for name in commands if not find_program(name)])

    def need_none(self, missing):
        if missing and os.environ.get("CI") == "true":
            self.fail(f"not installed: {missing}")
        if missing:
            self.skipTest(f"not installed: {missing}")


class Debian(Case):
    def setUp(self):
        super().setUp()
        self.need(*PROGRAMS)
        for path, data in archive_of(make_package(self.folder)).items():
            name = os.path.join(network_support.folder(), "archive", path.lstrip("/"))
            os.makedirs(os.path.dirname(name), exist_ok=True)
            with open(name, "wb") as file:
                file.write(data)
        layer = self.store.layer("distro")
        fill_debian(layer)
        self.store.keep("distro:1", [layer])

    def test_apt_get_install(self):
        said = self.says("distro", "apt-get -q update; apt-get -q install -y greet; echo; greet; cat /etc/group\n"
                                   "stat -c '%n %u:%g %a' /usr/bin/greet /usr/share/greet /usr/share/greet/closed "
                                   "/usr/share/greet/text; dpkg-query -W; apt-get -q check")
        self.assertIn("\nhello from a package\n", said)
        self.assertIn("\ngreeters:x:", said)
        self.assertIn("/usr/bin/greet 0:0 755\n/usr/share/greet 0:0 755\n/usr/share/greet/closed 0:0 755\n"
                      "/usr/share/greet/text 0:0 440\ngreet\t1.0\n", said)

    def test_it_fails_where_nothing_is_pretended(self):
        result = self.run_in("honest", "apt-get -q update; apt-get -q install -y greet")
        self.assertNotEqual(result.returncode, 0)
        self.assertRegex(result.stdout + result.stderr, "Operation not permitted|Invalid argument|audit interface")

    def test_packages_stay_in_a_persistent_sandbox(self):
        self.run_words("create", "--profile", "distro", "--name=box")
        self.addCleanup(self.run_words, "destroy", "box")
        self.run_words("exec", "box", "--", "sh", "-ec", "apt-get -q update; apt-get -q install -y greet")
        self.assertEqual(self.run_words("exec", "box", "--", "greet"), "hello from a package\n")

    def run_words(self, *words):
        limits = LIMITS if words[0] == "exec" else ()
        result = msp(words[0], *limits, *words[1:], env=self.environment(MSP_CONFIG=self.config,
                                                                       MSP_STATE_DIR=self.state))
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout


class Tools(Case):
    """pip, pytest and npm of this machine, in an image with nothing else of it."""

    def keep(self, *trees):
        layer = self.store.layer("distro")
        image_store.fill_distro(layer)
        for program in ("/usr/bin/python3", "/usr/bin/node", "/usr/bin/env"):
            if os.path.exists(program):
                image_store.put_program(layer, os.path.realpath(program), program)
        for tree in trees:
            put_tree(layer, tree)
        image_store.put_file(layer, "/etc/ssl/certs/ca-certificates.crt", network_support.certificate())
        self.store.keep("distro:1", [layer])
        return layer

    def test_pip_install_and_pytest(self):
        folder = "/usr/lib/python3/dist-packages"
        libraries = [os.path.join(folder, name) for name in ("pip", "_pytest", "pytest", "pluggy", "iniconfig",
                                                             "packaging", "attr", "attrs", "py", "exceptiongroup")]
        self.need_none([path for path in libraries[:2] if not os.path.isdir(path)])
        layer = self.keep(PYTHON_LIBRARY, *filter(os.path.isdir, libraries))
        for module in (_bz2, _ctypes, _hashlib, _lzma, _ssl):
            for library in image_store.libraries(module.__file__)[1:]:
                image_store.put_program(layer, library)
        said = self.says("tools", "python3 -m pip install -q --cert /etc/ssl/certs/ca-certificates.crt greet-py\n"
                                  "cat >test_greet.py <<'end'\nimport greet_py\n\n\ndef test():\n"
                                  "    assert greet_py.greet() == 'hello from a wheel'\nend\n"
                                  "python3 -m pytest -q; ls /usr/local/lib/python3.*/dist-packages")
        self.assertIn("1 passed", said)
        self.assertIn("greet_py.py", said)

    def test_npm_ci(self):
        self.need("node", "npm")
        npm = os.path.realpath(find_program("npm"))
        self.keep(npm[:npm.rindex("/npm/")] + "/npm")
        package = '{"name": "work", "version": "1.0.0", "dependencies": {"greet-js": "1.0.0"}}'
        said = self.says("tools", f"echo '{package}' >package.json\ncat >package-lock.json <<'end'\n"
                                  f"{network_packages.LOCK}\nend\nnode {npm} ci --loglevel=error\n"
                                  f"node -p 'require(\"greet-js\")'; node {npm} install -g --loglevel=error greet-js\n"
                                  "cat $(dirname $(dirname $(command -v node)))/lib/node_modules/greet-js/index.js")
        self.assertEqual(said.count("hello from a tarball"), 2, said)


class Small(Case):
    """An image like Alpine's: musl, and one program that is the shell and the package manager. (apk is in
    no release of Debian; `busybox dpkg` stands for it.) Python is a layer on top."""

    def test_shell_program_and_packages(self):
        self.need("busybox", "musl-gcc")
        layer = self.store.layer("small")
        image_store.put_program(layer, find_program("busybox"), "/bin/busybox")
        self.assertFalse(os.path.exists(layer + "/lib64"), "busybox is that of busybox-static")
        source = self.write("#include <stdio.h>\nint main(void) { puts(\"hello from musl\"); return 0; }\n", "hello.c")
        subprocess.run(["musl-gcc", "-o", layer + "/bin/hello", source], check=True)
        os.mkdir(layer + "/lib")
        shutil.copy(os.path.realpath("/lib/ld-musl-x86_64.so.1"), layer + "/lib/ld-musl-x86_64.so.1")
        for name in ("sh", "ls", "cat", "dpkg", "chown", "stat", "id", "rm", "su", "adduser"):
            os.symlink("busybox", f"{layer}/bin/{name}")
        for path in ("tmp", "proc", "dev", "etc", "usr/bin", "var/lib/dpkg/info"):
            os.makedirs(os.path.join(layer, path), exist_ok=True)
        image_store.put_file(layer, "/var/lib/dpkg/status")
        with open(layer + "/srv.deb", "wb") as file:
            file.write(make_package(self.folder, is_hard=False))
        self.store.keep("distro:1", [layer])
        said = self.says("distro", "hello; id -u; dpkg -i /srv.deb >/dev/null; greet; ls -A /; cat /etc/issue || :")
        self.assertTrue(said.startswith("hello from musl\n0\nhello from a package\n"), said)
        self.assertNotIn("lib64", said)
        # Debian has no Python for musl. Its own comes with the C library that it needs, in a second layer.
        python = self.store.layer("python")
        image_store.put_program(python, os.path.realpath("/usr/bin/python3"), "/usr/bin/python3")
        put_tree(python, PYTHON_LIBRARY)
        self.store.keep("distro:1", [layer, python])
        said = self.says("distro", "hello; dpkg -i /srv.deb >/dev/null\npython3 -c 'import json, os\n"
                                   "print(json.dumps(sorted(os.listdir(\"/usr/share/greet\"))))'")
        self.assertEqual(said, 'hello from musl\n["closed", "text"]\n')


if __name__ == "__main__":
    network_support.main()
