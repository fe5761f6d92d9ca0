#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The operator's --ro against what lies in the folders that it names: symbolic links at every
parent of a mount target, links out of a folder, and what may not be shown at all."""
import os
import shutil
import tempfile
import unittest
import uuid

import probes
import support

setUpModule = probes.needs_ordinary_user


class HostileParents(probes.Attack):
    """One --ro is a folder full of links; a second one is to be mounted behind such a link. The
    host's file that the link means must not be touched (bubblewrap CVE-2026-87766)."""

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

    def run_behind(self, place, command=("cat", "/proc/mounts"), without=None):
        """Mount the second folder at `place`, which lies behind the first one's links."""
        return probes.msp_run(*command, without=without, options=(
            "--ro", self.hostile + ":/data", "--ro", self.shown + ":" + place))

    def links(self):
        up = "../" * 12
        for text in (self.outside, up + self.outside[1:], "/host" + self.outside,
                     up + "host" + self.outside, "/proc/self/root" + self.outside,
                     "/proc/1/root" + self.outside, "/proc/self/fd/3/.." + self.outside,
                     "/proc/self/cwd/../../.." + self.outside):
            yield text

    def test_nothing_is_made_outside(self):
        for text in self.links():
            with self.subTest(link=text):
                result, told = self.run_behind(f"/data/{self.link(text)}/made")
                self.assertEqual(os.listdir(self.outside), [])
                self.assertEqual(result.returncode, 125, result.stderr)
                self.assertIn("binding the operator's path", result.stdout + result.stderr)

    def test_control(self):
        """Resolved against whatever root the process has, the link reaches the host's folder."""
        result, _ = self.run_behind(f"/data/{self.link('/host' + self.outside)}/made",
                                    without="resolve")
        self.assertEqual(os.listdir(self.outside), ["made"], result.stderr)

    def test_links_in_a_tree_of_the_sandbox(self):
        """The same below a file system that is mounted for each sandbox."""
        for text in self.links():
            with self.subTest(link=text):
                result, _ = probes.msp_run("true", options=(
                    "--ro", self.hostile + ":/workspace/data",
                    "--ro", self.shown + f":/workspace/data/{self.link(text)}/made"))
                self.assertEqual(os.listdir(self.outside), [])
                self.assertEqual(result.returncode, 125, result.stderr)

    def test_a_link_to_an_existing_place_stays_inside(self):
        """A link that means a folder of the sandbox itself may work; then it is that folder."""
        os.mkdir(os.path.join(self.outside, "made"))
        result, _ = self.run_behind(f"/data/{self.link('/usr/share')}/made")
        self.assertEqual(result.returncode, 125, "nothing can be made in a read-only folder")
        self.assertEqual(os.listdir(os.path.join(self.outside, "made")), [])

    def test_no_folder_is_made_in_the_callers(self):
        """A mount target that is missing in an earlier --ro is not made on the host."""
        result, _ = self.run_behind("/data/new/made")
        self.assertEqual(result.returncode, 125)
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

    def test_what_is_shown_is_read_only(self):
        options = ("--ro", self.shown + ":/shown", "--ro", self.shown + ":/workspace/shown")
        for place in ("/shown", "/workspace/shown"):
            with self.subTest(place=place):
                self.assertEqual(support.run("cat", place + "/mark", options=options).stdout,
                                 "shown")
                self.assert_refused(probes.in_sandbox("open-write", place + "/mark",
                                                      options=options), "EROFS", "EACCES")
                self.assert_refused(probes.in_sandbox("create", place + "/new", options=options),
                                    "EROFS", "EACCES")
                outcome = probes.in_sandbox("open-write", place + "/mark", options=options,
                                            without="landlock")
                self.assert_refused(outcome, "EROFS")
        self.assert_succeeded(probes.on_host("open-write", os.path.join(self.shown, "mark")))


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

    def test_refused_by_every_name(self):
        home = self.home
        for path in ("/", "/etc", "/root", "/proc", "/sys", "/dev", "/run", home, home + "/.ssh",
                     home + "/.ssh/.", home + "/project/..", home + "/project/../.ssh",
                     home + "//.netrc", os.path.dirname(home), "/proc/self/root" + home,
                     "/proc/self/cwd", home + "/.aws", "/var/run"):
            with self.subTest(path=path):
                self.assertIn(self.code_of(path), (64, 78))

    def test_refused_by_a_link(self):
        for name, text in (("a", ".ssh"), ("b", self.home), ("c", "/"), ("d", "project/../.aws")):
            os.symlink(text, os.path.join(self.home, name))
            with self.subTest(link=text):
                self.assertIn(self.code_of(os.path.join(self.home, name)), (64, 78))

    def test_refused_where_a_protected_link_leads(self):
        dots = os.path.join(self.home, "dots")
        os.mkdir(dots)
        os.rename(os.path.join(self.home, ".netrc"), os.path.join(dots, "netrc"))
        os.symlink("dots/netrc", os.path.join(self.home, ".netrc"))
        self.assertIn(self.code_of(dots), (64, 78))

    def test_refused_by_another_link_count(self):
        os.link(os.path.join(self.home, ".netrc"), os.path.join(self.home, "harmless"))
        self.assertIn(self.code_of(os.path.join(self.home, "harmless")), (64, 78))

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
