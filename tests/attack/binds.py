#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The operator's --ro against what lies in the folders that it names, or in the project: symbolic links
at every parent of a mount target, links out of a folder, and what may not be shown at all."""
import os
import shutil
import tempfile
import unittest
import uuid

import evidence
import probes
import support

setUpModule = probes.needs_ordinary_user


class HostileParents(probes.Attack):
    """The project is a folder full of links; a --ro is to be mounted behind such a link. The host's
    file that the link means must not be touched (bubblewrap CVE-2026-87766)."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=probes.scratch())
        # A short path that is the same from every root that a link could be resolved against.
        self.outside = tempfile.mkdtemp(prefix="msp-outside-", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.outside)
        self.hostile = os.path.join(self.folder, "hostile")
        self.shown = os.path.join(self.folder, "shown")
        os.mkdir(self.hostile)
        os.mkdir(self.shown)
        with open(os.path.join(self.shown, "mark"), "w", encoding="ascii") as file:
            file.write("shown")

    def link(self, text):
        name = uuid.uuid4().hex
        os.symlink(text, os.path.join(self.hostile, name))
        return name

    def run_behind(self, place, command=("true",), without=None):
        """Mount the folder at `place`, which lies behind the project's links."""
        return probes.msp_run(*command, without=without, cwd=self.hostile, options=(
            "--workspace=.", "--discard", "--ro", self.shown + ":" + place))

    def links(self):
        up = "../" * 12
        for text in (self.outside, up + self.outside[1:], "/host" + self.outside,
                     up + "host" + self.outside, "/proc/self/root" + self.outside,
                     "/proc/1/root" + self.outside, "/proc/self/fd/3/.." + self.outside,
                     "/proc/self/cwd/../../.." + self.outside):
            yield text

    def outcome(self, link, without=None):
        """Was anything made in the host's folder that the link may mean?"""
        result, told = self.run_behind(f"/workspace/{link}/made", without=without)
        made = os.listdir(self.outside)
        for name in made:
            os.rmdir(os.path.join(self.outside, name))
        return probes.Outcome("succeeded" if made else "refused", None if made else
                              result.returncode, result.stdout + result.stderr, told)

    @evidence.attack("T1", "symbolic links as parents of a mount's target", "resolve")
    def test_nothing_is_made_outside(self):
        for text in self.links():
            with self.subTest(link=text):
                outcome = self.outcome(self.link(text))
                self.assert_refused(outcome, 125)
                self.assertIn("binding the operator's path", outcome.text)
        # Resolved against whatever root the process has, this one reaches the host's folder.
        link = self.link("/host" + self.outside)
        self.prove_by(lambda without: self.outcome(link, without), (125,))

    def test_nothing_is_mounted_behind_another(self):
        """In what another --ro shows no place is looked for, whether a link leads to it or not."""
        for text in self.links():
            for place in ("/data", "/workspace/data"):
                with self.subTest(link=text, place=place):
                    result, _ = probes.msp_run("true", options=(
                        "--ro", self.hostile + ":" + place,
                        "--ro", self.shown + f":{place}/{self.link(text)}/made"))
                    self.assertEqual(os.listdir(self.outside), [])
                    self.assertEqual(result.returncode, 64, result.stderr)

    def test_a_link_to_an_existing_place_stays_inside(self):
        """A link that means a folder of the sandbox itself may work; then it is that folder."""
        os.mkdir(os.path.join(self.outside, "made"))
        result, _ = self.run_behind(f"/workspace/{self.link('/usr/share')}/made")
        self.assertEqual(result.returncode, 125, "nothing can be made in a read-only folder")
        self.assertEqual(os.listdir(os.path.join(self.outside, "made")), [])

    def test_no_folder_is_made_in_the_callers(self):
        """A mount target that the project or another --ro lacks is not made on the host."""
        result, told = self.run_behind("/workspace/new/made", ("cat", "/workspace/new/made/mark"))
        self.assertEqual((result.returncode, told["stdout"]), (0, "shown"), result.stderr)
        self.assertEqual(os.listdir(self.hostile), [])
        result, _ = probes.msp_run("true", options=(
            "--ro", self.hostile + ":/data", "--ro", self.shown + ":/data/new/made"))
        self.assertEqual(result.returncode, 64)
        self.assertEqual(os.listdir(self.hostile), [])

    def test_the_profiles_own_links_work(self):
        """/var/run leads to /run, /var/tmp to /tmp; nothing can be shown behind them."""
        for link, place in (("/var/run", "/run"), ("/var/tmp", "/tmp"), ("/bin", "/usr/bin")):
            with self.subTest(link=link):
                self.assertEqual(support.run("realpath", link).stdout, place + "\n")
                result = support.run("true", options=("--ro", self.shown + f":{link}/x"))
                self.assertEqual(result.returncode, 64)

    def test_the_sandboxs_own_places_are_refused(self):
        for place in ("/", "/usr", "/etc", "/bin", "/tmp", "/workspace", "/home/agent", "/proc/x",
                      "/dev/x", "/dev/null", "/sys/x", "/x/../etc", "relative", "/x/./y", "/x//y"):
            with self.subTest(place=place):
                result = support.run("true", options=("--ro", self.shown + ":" + place))
                self.assertEqual(result.returncode, 64)

    @evidence.attack("T1", "a link in a shown folder that names a file of the host", "root",
                     "landlock")
    def test_links_in_a_shown_folder_lead_nowhere(self):
        secret = os.path.join(self.outside, "secret")
        with open(secret, "w", encoding="ascii") as file:
            file.write("secret")
        for text in (secret, "../" * 12 + secret[1:], "/host" + secret, "/proc/self/root" + secret):
            name = self.link(text)
            with self.subTest(link=text):
                outcome = probes.in_sandbox("read", "/data/" + name,
                                            options=("--ro", self.hostile + ":/data"))
                self.assert_refused(outcome, "ENOENT", "ELOOP")
        name = self.link("/../host" + secret)
        self.prove("read", "/data/" + name, errors=("ENOENT", "EACCES"),
                   options=("--ro", self.hostile + ":/data"))


class Protected(probes.Attack):
    """What may not be shown at all, by whatever name it is asked for."""

    def setUp(self):
        self.home = tempfile.mkdtemp(dir=probes.scratch())
        self.environment = dict(os.environ, HOME=self.home)
        for name in (".ssh", ".aws", "project", "tokenizer", "project/.git"):
            os.mkdir(os.path.join(self.home, name))
        with open(os.path.join(self.home, ".netrc"), "w", encoding="ascii") as file:
            file.write("secret")

    def code_of(self, path):
        return support.run("true", options=("--ro", path + ":/data"),
                           env=self.environment).returncode

    def outcome(self, path):
        code = self.code_of(path)
        return probes.Outcome("succeeded" if code == 0 else "refused", code or None, path, None)

    def prove_refused(self, path, allowed="project"):
        self.prove_by(lambda _: self.outcome(path), (64, 78),
                      lambda: self.outcome(os.path.join(self.home, allowed)))

    @evidence.attack("F3", "showing a protected path, a parent of it, or a part of it", "checks")
    def test_refused_by_every_name(self):
        home = self.home
        for path in ("/", "/etc", "/root", "/proc", "/sys", "/dev", "/run", home, home + "/.ssh",
                     home + "/.ssh/.", home + "/project/..", home + "/project/../.ssh",
                     home + "//.netrc", os.path.dirname(home), "/proc/self/root" + home,
                     "/proc/self/cwd", home + "/.aws", "/var/run"):
            with self.subTest(path=path):
                self.prove_refused(path)

    @evidence.attack("F3", "showing a protected path through a link", "checks")
    def test_refused_by_a_link(self):
        for name, text in (("a", ".ssh"), ("b", self.home), ("c", "/"), ("d", "project/../.aws")):
            os.symlink(text, os.path.join(self.home, name))
            with self.subTest(link=text):
                self.prove_refused(os.path.join(self.home, name))

    @evidence.attack("F4", "showing where a protected link leads", "checks")
    def test_refused_where_a_protected_link_leads(self):
        dots = os.path.join(self.home, "dots")
        os.mkdir(dots)
        os.rename(os.path.join(self.home, ".netrc"), os.path.join(dots, "netrc"))
        os.symlink("dots/netrc", os.path.join(self.home, ".netrc"))
        self.prove_refused(dots)

    @evidence.attack("F4", "showing a protected file by another of its names", "checks")
    def test_refused_by_another_link_count(self):
        os.link(os.path.join(self.home, ".netrc"), os.path.join(self.home, "harmless"))
        self.prove_refused(os.path.join(self.home, "harmless"), "tokenizer")

    @evidence.attack("M2", "a path that only begins like an allowed one", "checks")
    def test_no_prefixes(self):
        """And none that begins like a protected one is refused for that."""
        os.mkdir(os.path.join(self.home, "snap-evil"))
        self.assertEqual(self.code_of(os.path.join(self.home, "snap-evil")), 0)
        self.prove_by(lambda _: self.cwd_outcome("/workspace-evil"), (125,),
                      lambda: self.cwd_outcome("/workspace"))

    @staticmethod
    def cwd_outcome(cwd):
        code = support.run("true", options=("--cwd", cwd)).returncode
        return probes.Outcome("refused" if code else "succeeded", code or None, cwd, None)

    def test_allowed(self):
        for name in ("project", "tokenizer"):
            with self.subTest(name=name):
                self.assertEqual(self.code_of(os.path.join(self.home, name)), 0)

    def test_only_files_and_folders(self):
        fifo = os.path.join(self.home, "fifo")
        os.mkfifo(fifo)
        for path in (fifo, "/dev/null", "/dev/tty"):
            with self.subTest(path=path):
                self.assertEqual(self.code_of(path), 64)


if __name__ == "__main__":
    unittest.main()
