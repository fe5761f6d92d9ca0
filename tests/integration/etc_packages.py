#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The packages' part of /etc in a sandbox: all of this machine's /etc, each file in or out for a
reason; a made-up one; and programs that need theirs, as outside."""
import hashlib
import os
import shutil
import subprocess
import tempfile
import unittest

import etc_support
import support
from cli_support import LIMITS, msp, run

# Entries of the profile `default` in /etc by name: its own files, and the host's.
NAMED = ("R", "alternatives", "crypto-policies", "java-", "ld.so.cache", "localtime", "mime.types", "pki/",
         "protocols", "services", "ssl/certs", "ssl/openssl.cnf")
OWN = ("chromium", "chromium.d", "firefox", "gitconfig", "group", "hostname", "hosts", "mtab", "nsswitch.conf", "opt",
       "os-release", "passwd", "profile", "resolv.conf", "runtimes", "shells", "ssl", ".packages")
# Each file and link that a walk through /etc finds, with the bytes or the target.
WALK = r"""
import hashlib, os, sys
for folder, folders, names in os.walk(sys.argv[1]):
    for name in folders + names:
        path = os.path.join(folder, name)
        if os.path.islink(path):
            print(os.path.relpath(path, sys.argv[1]), "link", os.readlink(path), sep="\t")
        elif os.path.isfile(path):
            with open(path, "rb") as file:
                print(os.path.relpath(path, sys.argv[1]), "file", hashlib.sha256(file.read()).hexdigest(),
                      sep="\t")
"""


def walk(folder, prefix=()):
    result = subprocess.run([*prefix, support.MSP, "run", *LIMITS, "--", "/usr/bin/python3", "-c", WALK, folder],
                            capture_output=True, text=True, timeout=60, check=False)
    if result.returncode != 0:
        raise AssertionError(result.stderr)
    return {line.split("\t")[0]: tuple(line.split("\t")[1:]) for line in result.stdout.splitlines()}


@unittest.skipUnless(os.path.exists(etc_support.STATUS), "no dpkg here")
class ThisMachine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.verdicts = etc_support.judge()
        cls.copies = walk("/etc/.packages")

    def test_each_file_is_in_or_out_for_a_reason(self):
        wanted = {path for path, (is_in, _) in self.verdicts.items() if is_in}
        self.assertGreater(len(wanted), 20)
        for path in sorted(wanted ^ set(self.copies)):
            with self.subTest(path=path):
                self.fail(f"{'out' if path in wanted else 'in'}, but {self.verdicts.get(path)}")
        for path, (is_in, reason) in self.verdicts.items():
            self.assertTrue(reason, path)
            self.assertEqual(is_in, path in self.copies, (path, reason))

    def test_a_copy_is_the_host_s_file(self):
        self.assertLess(200, len(self.verdicts))
        for path, found in self.copies.items():
            if found[0] == "link":
                self.assertEqual(found[1], os.readlink("/etc/" + path), path)
            else:
                with open("/etc/" + path, "rb") as file:
                    self.assertEqual(found[1], hashlib.sha256(file.read()).hexdigest(), path)

    def test_nothing_else_of_etc_is_there(self):
        """Every name at the top of /etc is the profile's own, a named one, or a link to a copy."""
        names = run("ls", "-A", "/etc").stdout.split()
        links = dict(line.split("\t") for line in run(
            "find", "/etc", "-maxdepth", "1", "-type", "l", "-printf", "%f\\t%l\\n").stdout.splitlines())
        tops = {path.split("/")[0] for path in self.copies}
        for name in names:
            if name in OWN or name.startswith(NAMED) or name + "/" in NAMED or name == "pki":
                continue
            self.assertEqual(links.get(name), "/etc/.packages/" + name)
            self.assertIn(name, tops)


class MadeUp(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        state = tempfile.mkdtemp()
        self.addCleanup(support.remove_folder, state)
        # Plans of other starts, which have another /etc, are kept in other places.
        home = os.path.join(state, "home")
        os.mkdir(home)
        self.environment = {**os.environ, "MSP_STATE_DIR": state, "HOME": home}
        self.etc = etc_support.MadeUp(self.folder)

    def run_in(self, *command, options=()):
        self.etc.finish()
        return subprocess.run([*self.etc.prefix, support.MSP, "run", *LIMITS, *options, "--", *command],
                              capture_output=True, text=True, timeout=60, check=False, env=self.environment)

    def test_a_package_s_configuration_is_read_by_its_name(self):
        self.etc.install("php/8.2/mods-available/xml.ini", "extension=xml\n")
        self.etc.link("php/8.2/cli/conf.d/20-xml.ini", "/etc/php/8.2/mods-available/xml.ini")
        self.etc.install("gnucobol/default.conf", "include\n")
        result = self.run_in("cat", "/etc/php/8.2/cli/conf.d/20-xml.ini", "/etc/gnucobol/default.conf")
        self.assertEqual((result.returncode, result.stdout), (0, "extension=xml\ninclude\n"), result.stderr)

    def test_beside_files_of_the_profile(self):
        """A directory that the profile has is its own; the copies in it are links of their own."""
        self.etc.install("chromium/initial_preferences", "{}")
        self.etc.install("chromium/policies/managed/other.json", "{}")
        self.etc.install("mime.types", "text/plain txt\n")
        result = self.run_in("sh", "-c", "cd /etc && cat chromium/initial_preferences mime.types && "
                             "ls chromium/policies/managed && test ! -L mime.types")
        self.assertEqual((result.returncode, result.stdout), (0, "{}text/plain txt\nmsp.json\nother.json\n"),
                         result.stderr)

    def test_a_later_package_is_seen_by_the_next_start(self):
        self.etc.install("one.conf", "1")
        self.assertEqual(self.run_in("cat", "/etc/one.conf").stdout, "1")
        self.etc.install("two.conf", "2")
        self.assertEqual(self.run_in("cat", "/etc/one.conf", "/etc/two.conf").stdout, "12")
        self.etc.write("one.conf", "changed")
        self.etc.install("three.conf", "3")
        result = self.run_in("cat", "/etc/one.conf", "/etc/three.conf")
        self.assertEqual((result.returncode, result.stdout), (1, "3"), result.stderr)

    def test_nothing_can_be_written(self):
        self.etc.install("one.conf", "1")
        result = self.run_in("sh", "-c", "echo x >/etc/one.conf; rm /etc/.packages/one.conf; cat /etc/one.conf")
        self.assertEqual(result.stdout, "1")
        self.assertEqual(result.stderr.count("Read-only file system"), 2, result.stderr)

    def test_a_profile_has_its_own_file_or_none(self):
        self.etc.install("one.conf", "1")
        self.etc.install("two.conf", "2")
        config = os.path.join(self.folder, "config.yaml")
        with open(config, "w", encoding="ascii") as file:
            file.write("profiles:\n  - {name: own, extends: default, files: [{at: /etc/one.conf, kind: file, "
                       "text: own}]}\n  - {name: none, extends: default, files: [{at: /etc/.packages, "
                       "kind: directory}]}\n")
        options = ("--config", config, "--profile")
        self.assertEqual(self.run_in("cat", "/etc/one.conf", "/etc/two.conf", options=(*options, "own")).stdout,
                         "own2")
        result = self.run_in("ls", "/etc/one.conf", "/etc/.packages", options=(*options, "none"))
        self.assertEqual((result.returncode, result.stdout), (2, "/etc/.packages:\n"), result.stderr)

    def test_without_records_a_run_works(self):
        self.etc.install("one.conf", "1")
        self.etc.status = ""
        self.assertEqual(self.run_in("true").returncode, 0)
        self.assertEqual(self.run_in("cat", "/etc/one.conf").returncode, 1)

    def test_without_a_place_a_run_has_none(self):
        """Where the copies cannot be kept, a sandbox has only what its profile names."""
        self.etc.install("one.conf", "1")
        os.chmod(os.path.join(self.folder, "shm"), 0o500)
        self.assertEqual(self.run_in("cat", "/etc/one.conf").returncode, 1)
        os.chmod(os.path.join(self.folder, "shm"), 0o700)
        self.assertEqual(self.run_in("cat", "/etc/one.conf").stdout, "1")

    def test_what_changes_without_a_package_is_seen(self):
        self.etc.install("php/mods/xml.ini", "xml")
        self.etc.install("php/mods/dom.ini", "dom")
        self.etc.link("php/conf.d/xml.ini", "../mods/xml.ini")
        self.etc.write("mailcap", "one")
        script = "cd /etc && cat mailcap php/conf.d/*"
        self.assertEqual(self.run_in("sh", "-c", script).stdout, "onexml")
        self.etc.link("php/conf.d/dom.ini", "../mods/dom.ini")
        self.assertEqual(self.run_in("sh", "-c", script).stdout, "onedomxml")
        self.etc.write("mailcap", "other")
        self.assertEqual(self.run_in("sh", "-c", script).stdout, "otherdomxml")

    def test_the_second_start_keeps_the_copies(self):
        def inodes():
            found = []
            for folder, _, names in os.walk(os.path.join(self.folder, "shm")):
                found += [os.stat(os.path.join(folder, name)).st_ino for name in (".", *names)]
            return found

        self.etc.install("one.conf", "1")
        self.assertEqual(self.run_in("cat", "/etc/one.conf").stdout, "1")
        kept = self.etc.finish  # dpkg writes nothing
        self.etc.finish = lambda: None
        before = inodes()
        self.assertEqual(self.run_in("cat", "/etc/one.conf").stdout, "1")
        self.assertEqual(inodes(), before)
        self.etc.finish = kept
        self.assertEqual(self.run_in("cat", "/etc/one.conf").stdout, "1")
        self.assertNotEqual(inodes(), before, "the control: a new record is read")

    def test_a_path_of_the_command_line_goes_first(self):
        self.etc.install("tool/one.conf", "1")
        own = os.path.join(self.folder, "own")
        os.makedirs(own)
        with open(os.path.join(own, "mine"), "w", encoding="ascii") as file:
            file.write("mine")
        self.assertEqual(self.run_in("ls", "/etc/tool").stdout, "one.conf\n")
        result = self.run_in("ls", "/etc/tool", options=("--ro", own + ":/etc/tool"))
        self.assertEqual((result.returncode, result.stdout), (0, "mine\n"), result.stderr)


# Program to a command whose output is the same inside and outside.
PROGRAMS = {
    "php": "php -m | sort",
    "fpc": "cd /tmp && printf 'begin writeln(42) end.' >m.pas && fpc -v0 m.pas >&2 && ./m",
    "cobc": "cd /tmp && printf '       IDENTIFICATION DIVISION.\\n       PROGRAM-ID. H.\\n       PROCEDURE DIVISION.\\n"
            "           DISPLAY \"42\".\\n           STOP RUN.\\n' >m.cob && cobc -x m.cob && ./m",
    "mvn": "mvn -v | head -n 1",
    "java": "java -XshowSettings:security -version 2>&1 | grep -c TLS",
    "chromium": "chromium --version 2>/dev/null",
    "pdflatex": "cd /tmp && pdflatex -interaction=batchmode '\\documentclass{article}\\begin{document}x\\end{document}'"
                " >/dev/null; ls article.pdf",
    "fc-match": "fc-match monospace 2>&1",
    "man": "manpath 2>&1",
    "nginx": "nginx -v 2>&1; cat /etc/nginx/nginx.conf /etc/nginx/sites-enabled/default",
    "convert": "convert -list policy 2>&1 | grep -c Policy",
    "groff": "printf '.TH X 1\\n' | groff -man -Tascii",
    "odbcinst": "odbcinst -q -d",
    "xmlcatalog": "xmlcatalog --noout /etc/xml/catalog 'nothing' 2>&1",
    "openssl": "openssl version; openssl ciphers",
    "update-alternatives": "readlink -f /etc/alternatives/awk",
    "file": "file -bL --mime-type /bin/sh /etc/magic",
    "emacs": "emacs --batch --eval '(princ site-run-file)'",
    "groovy": "groovy -v 2>&1 | head -n 1",
    "mono": "mono --version | head -n 1",
    "aspell": "echo wrng | aspell -l en list",
    "ghc": "ghc-pkg list 2>/dev/null | head -n 3",
}


class Programs(unittest.TestCase):
    def test_as_outside(self):
        for name, script in PROGRAMS.items():
            if shutil.which(name) is None or not shutil.which(name).startswith("/usr/"):
                continue
            with self.subTest(name=name):
                folder = tempfile.mkdtemp()
                self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
                host = subprocess.run(["/bin/sh", "-c", script.replace("cd /tmp", "cd " + folder)],
                                      stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                                      check=False, env={**os.environ, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"})
                here = msp("run", *LIMITS, "--profile", "java-dev" if name == "groovy" else "default", "--",
                           "/bin/sh", "-c", "export LC_ALL=C.UTF-8; " + script)
                self.assertEqual((here.returncode, here.stdout), (host.returncode, host.stdout), here.stderr)


if __name__ == "__main__":
    unittest.main()
