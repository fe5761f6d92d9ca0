#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an operator's profile shows of the host, against hostile folders: paths that lead elsewhere
by the time they are used, what must never be shown, and ways from what is shown to what is not."""
import contextlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

import evidence
import plans
import probes
import support

setUpModule = probes.needs_ordinary_user

# Of one profile that are ready for an execution: as POOL_PROFILE_MAX of supervisor/run/pool.h.
READY_MOST = 16
# Mounts and unmounts in namespaces of its own until it is killed.
MOUNTING = """\
import ctypes
libc = ctypes.CDLL(None)
def mount():
    return libc.mount(b"none", b"/mnt", b"tmpfs", 0, None) == 0 and libc.umount2(b"/mnt", 2) == 0
print(mount(), flush=True)
while mount():
    pass
"""


class Pinned(probes.Attack):
    def setUp(self):
        self.top = tempfile.mkdtemp(dir=probes.scratch())
        self.fill()

    def fill(self):
        """As at the start of a test."""
        shutil.rmtree(self.top)
        self.data = self.make("parent", "data")
        self.secret = self.make("secret")
        self.write("shown", self.data, "mark")
        self.write("secret", self.secret, "mark")

    def make(self, *names):
        path = os.path.join(self.top, *names)
        os.makedirs(path)
        return path

    @staticmethod
    def write(text, *names):
        with open(os.path.join(*names), "w", encoding="ascii") as file:
            file.write(text)

    def programs(self, *changes, without=None):
        """msp with a plan that shows this, and a child-init without these layers."""
        control = without and os.path.join(probes.CONTROLS, "child-init-without-" + without)
        return plans.programs(tempfile.mkdtemp(dir=self.top), *changes, child_init=control)

    @staticmethod
    def outcome(code, text, is_done):
        return probes.Outcome("succeeded" if is_done else "refused", None if is_done else code,
                              text, None)


class Swapped(Pinned):
    """The path is changed after the launcher checked it, and before its first use."""

    def by_link(self):
        os.rename(self.data, self.data + ".away")
        os.symlink(self.secret, self.data)

    def by_relative_link(self):
        os.rename(self.data, self.data + ".away")
        os.symlink("../secret", self.data)

    def by_another_folder(self):
        os.rename(self.data, self.data + ".away")
        os.rename(self.secret, self.data)

    def by_a_link_above(self):
        os.rename(os.path.dirname(self.data), self.top + "/away")
        os.rename(self.secret, self.top + "/data")
        os.symlink(".", os.path.dirname(self.data))

    def by_a_link_to_itself(self):
        os.rename(self.data, self.data + ".away")
        os.symlink(self.data + ".away", self.data)

    def by_taking_it_away(self):
        os.rename(self.data, self.data + ".away")

    @staticmethod
    def read(server, path, profile="strict"):
        result = server.call("run_command", command=f"cat {path}/mark", profile=profile)
        return support.text_of(result)

    def after(self, swap, kind="bind", without=None):
        """What a workload of another profile's sandbox reads after the swap."""
        msp = self.programs((kind, "strict", self.data, "/shown"), without=without)
        with support.Server("--standalone", program=msp) as server:
            server.initialize()
            swap()
            text = self.read(server, "/shown")
        self.fill()
        return self.outcome(125, text, "secret" in text)

    def test_nothing_changed(self):
        """The positive control of every test here."""
        for kind in ("bind", "writable", "overlay"):
            with self.subTest(kind=kind):
                self.assertIn("shown", self.after(lambda: None, kind).text)

    @evidence.attack("T1", "a path of a profile that became a link since the start", "pins")
    def test_by_a_link(self):
        for kind in ("bind", "writable", "overlay"):
            for swap in (self.by_link, self.by_relative_link, self.by_a_link_above):
                with self.subTest(kind=kind, swap=swap.__name__):
                    self.prove_by(lambda without, swap=swap, kind=kind:
                                  self.after(swap, kind, without), (125,))

    @evidence.attack("T1", "a path of a profile that names another folder since the start", "pins")
    def test_by_another_folder(self):
        for kind in ("bind", "writable", "overlay"):
            with self.subTest(kind=kind):
                self.prove_by(lambda without, kind=kind:
                              self.after(self.by_another_folder, kind, without), (125,))

    def test_what_must_fail_says_why(self):
        for swap, error in ((self.by_link, "Too many levels of symbolic links"),
                            (self.by_a_link_to_itself, "Too many levels of symbolic links"),
                            (self.by_another_folder, "Stale file handle"),
                            (self.by_taking_it_away, "Stale file handle")):
            with self.subTest(swap=swap.__name__):
                text = self.after(swap).text
                self.assertIn("binding the operator's path", text)
                self.assertIn(error, text)

    @contextlib.contextmanager
    def mounting(self):
        with subprocess.Popen(["unshare", "-Urm", sys.executable, "-c", MOUNTING],
                              stdout=subprocess.PIPE, text=True) as process:
            self.assertEqual(process.stdout.readline(), "True\n")
            try:
                yield
                self.assertIsNone(process.poll())
            finally:
                process.kill()

    def test_a_link_beside_mounts(self):
        """While anything is mounted, the kernel refuses some paths with "..", also those that lead
        nowhere else: child-init asks again. With the layer it would not come to "..", so without."""
        with self.mounting():
            for kind in ("bind", "writable", "overlay") * 5:
                text = self.after(self.by_relative_link, kind, "pins").text
                self.assertIn("secret", text, kind)

    def after_a_workload(self, without=None):
        """The swap is made by a workload that may write to the folder above."""
        msp = self.programs(("writable", "default", os.path.dirname(self.data), "/rw"),
                            ("bind", "strict", self.data, "/shown"),
                            ("bind", "default", self.secret, "/other"), without=without)
        with support.Server("--standalone", program=msp) as server:
            server.initialize()
            moved = server.call("run_command", command=f"cd /rw && mv data away && "
                                f"ln -s {self.secret} data && ls -l")
            self.assertIn("data -> ", support.text_of(moved))
            text = self.read(server, "/shown")
        self.fill()
        return self.outcome(125, text, "secret" in text)

    @evidence.attack("T1", "a workload that may write above a profile's path puts a link there",
                     "pins")
    def test_by_a_workload(self):
        self.prove_by(self.after_a_workload, (125,))

    @evidence.attack("T9", "a profile's copy-on-write folder, changed from one sandbox to the next",
                     "pins")
    def test_between_two_sandboxes(self):
        def run(without):
            msp = self.programs(("overlay", "default", self.data, "/cow"), without=without)
            with support.Server("--standalone", program=msp) as server:
                server.initialize()
                self.assertIn("shown", self.read(server, "/cow", "default"))
                self.by_link()
                # Those that were made before show what they were made of: they are used up.
                for _ in range(READY_MOST + 1):
                    text = self.read(server, "/cow", "default")
                    if not text.startswith("shown"):
                        break
            self.assertFalse(text.startswith("shown"), text)
            self.fill()
            return self.outcome(125, text, "secret" in text)

        self.prove_by(run, (125,))


class Layers(Pinned):
    @evidence.attack("T9", "naming the folder that takes what is written to an overlay", "root",
                     "landlock")
    def test_upper(self):
        def read(without):
            msp = self.programs(("overlay", "default", self.data, "/cow"), without=without)
            result = plans.run(msp, "sh", "-c", "echo upper > /cow/new; for root in '' /.. /../..; "
                               "do for top in '' /host /base /base/0 /cow /cow/..; do "
                               "cat $root$top/upper/new; done; done 2>/dev/null")
            return self.outcome("absent", result.stdout + result.stderr,
                                "upper" in result.stdout)

        self.prove_by(read, ("absent",))

    def test_one_mount_is_there(self):
        msp = self.programs(("overlay", "default", self.data, "/cow"))
        lines = plans.run(msp, "cat", "/proc/self/mountinfo").stdout.splitlines()
        self.assertEqual([line.split()[4] for line in lines if "/cow" in line], ["/cow"])


class Ways(Pinned):
    """From a folder that may be written, to the rest of the host."""

    def run_in(self, command, *changes, without=None):
        msp = self.programs(("writable", "default", self.data, "/rw"), *changes, without=without)
        return plans.run(msp, "sh", "-c", "cd /rw && " + command)

    def test_out_of_the_folder(self):
        secret = os.path.join(self.secret, "mark")
        up = "../" * 12
        os.symlink(self.secret, os.path.join(self.data, "link"))
        for path in ("../secret/mark", "../../secret/mark", up + secret[1:], secret, "link/mark",
                     "/proc/self/root" + secret, "/proc/1/root" + secret, "/host" + secret,
                     "/proc/self/cwd/../secret/mark", "/../host" + secret):
            with self.subTest(path=path):
                result = self.run_in(f"cat {path}; echo over >{path}; ln {path} name; cat name")
                self.assertNotIn("secret", result.stdout)
                with open(secret, encoding="ascii") as file:
                    self.assertEqual(file.read(), "secret")
                self.assertLessEqual(set(os.listdir(self.data)), {"mark", "link"})

    def test_hard_links_over_the_edge(self):
        """Of what is shown read-only into what may be written: the same file system, two mounts."""
        result = self.run_in("ln /ro/mark stolen; ln -P /ro/mark stolen; ln mark own; ls",
                             ("bind", "default", self.secret, "/ro"))
        self.assertEqual(result.stdout, "mark\nown\n", result.stderr)
        self.assertIn("cross-device link", result.stderr)

    def setid(self, without=None):
        result = self.run_in("cp /bin/true prog && chmod 4755 prog", without=without)
        path = os.path.join(self.data, "prog")
        is_set = bool(os.stat(path).st_mode & stat.S_ISUID)
        os.unlink(path)
        return self.outcome(result.returncode, result.stdout + result.stderr, is_set)

    @evidence.attack("T10", "a set-user-ID program left in a folder of the host", "seccomp")
    def test_set_id_bits_left_on_the_host(self):
        self.prove_by(self.setid, (1,))

    def test_set_id_bits_of_the_host(self):
        """Programs with that bit, in what is shown or copied up, are programs like any other."""
        path = os.path.join(self.data, "prog")
        shutil.copy("/usr/bin/cat", path)
        os.chmod(path, 0o4755)
        for kind in ("bind", "writable", "overlay"):
            with self.subTest(kind=kind):
                msp = self.programs((kind, "default", self.data, "/d"))
                result = plans.run(msp, "sh", "-c", "[ -w /d ] && touch /d/prog; "
                                   "/d/prog /proc/self/status /proc/self/mounts")
                self.assertIn("NoNewPrivs:\t1", result.stdout)
                options = next(line.split()[3] for line in result.stdout.splitlines()
                               if line.split()[1:2] == ["/d"])
                self.assertLessEqual({"nosuid", "nodev"}, set(options.split(",")))

    def test_device_nodes(self):
        for kind in ("writable", "overlay"):
            for node in ("c 1 3", "b 8 0", "c 0 0"):
                with self.subTest(kind=kind, node=node):
                    msp = self.programs((kind, "default", self.data, "/d"))
                    result = plans.run(msp, "mknod", "/d/node", *node.split())
                    self.assertNotEqual(result.returncode, 0)
                    self.assertEqual(os.listdir(self.data), ["mark"])

    def test_overlay_attributes(self):
        """What marks files for overlays says nothing when a hostile folder holds it, and a workload
        cannot set it."""
        inner = os.path.join(self.data, "inner")
        os.mkdir(inner)
        self.write("kept", inner, "file")
        self.write("trap", inner, "trap")
        try:
            os.setxattr(inner, "user.overlay.redirect", b"/secret")
            os.setxattr(inner, "user.overlay.opaque", b"y")
            os.setxattr(os.path.join(inner, "trap"), "user.overlay.metacopy", b"")
            os.setxattr(os.path.join(inner, "trap"), "user.overlay.redirect", b"/secret/mark")
        except OSError as error:
            self.skipTest(f"no such attributes here: {error}")
        msp = self.programs(("overlay", "default", self.data, "/cow"))
        result = plans.run(msp, "sh", "-c", "cd /cow/inner; ls; cat file; echo; cat trap")
        self.assertTrue(result.stdout.startswith("file\ntrap\nkept\n"), result.stderr)
        self.assertIn(result.stdout.splitlines()[3:], ([], ["trap"]), "refused, or its own text")
        code = ("import os\nos.mkdir('/cow/own')\n"
                "try: os.setxattr('/cow/own', 'user.overlay.redirect', b'/inner')\n"
                "except OSError: pass\n"
                "print(sorted(os.listdir('/cow')), os.listdir('/cow/own'))\n")
        result = plans.run(msp, "python3", "-c", code)
        self.assertEqual(result.stdout, "['inner', 'mark', 'own'] []\n", result.stderr)

    def test_whiteouts_of_a_hostile_folder(self):
        """They hide what lies under their name, which is nothing, and nothing else."""
        try:
            os.mknod(os.path.join(self.data, "gone"), stat.S_IFCHR | 0o600, os.makedev(0, 0))
        except OSError as error:
            self.skipTest(f"no whiteouts here: {error}")
        msp = self.programs(("overlay", "default", self.data, "/cow"))
        result = plans.run(msp, "sh", "-c", "cd /cow && echo x >gone; ls; cat gone mark")
        self.assertEqual(result.stdout, "gone\nmark\nx\nshown", result.stderr)
        self.assertTrue(stat.S_ISCHR(os.stat(os.path.join(self.data, "gone")).st_mode))


class NeverShown(Pinned):
    def setUp(self):
        super().setUp()
        self.home = self.make("home")
        for name in (".ssh", ".aws", "project", "tokenizer"):
            os.mkdir(os.path.join(self.home, name))
        self.write("secret", self.home, ".netrc")
        self.environment = dict(os.environ, HOME=self.home)

    def attempt(self, path, *changes):
        msp = self.programs(("bind", "default", path, "/data"), *changes)
        result = plans.run(msp, "true", env=self.environment)
        if result.returncode:
            self.assertRegex(result.stderr, r"^msp: run: test\.yaml:1: files: '")
            self.assertEqual(result.stderr.count("\n"), 1)
        return self.outcome(result.returncode, result.stderr, result.returncode == 0)

    def prove_refused(self, path, *changes, allowed="project"):
        self.prove_by(lambda _: self.attempt(path, *changes), (78,),
                      lambda: self.attempt(os.path.join(self.home, allowed), *changes))

    @evidence.attack("F3", "a profile that shows a protected path, what contains it, or a part",
                     "checks")
    def test_by_every_name(self):
        home = self.home
        for path in ("/", "/etc", "/root", "/proc", "/sys", "/dev", "/run", home, home + "/.ssh",
                     home + "/.ssh/..", home + "/.ssh/.", home + "/project/../.ssh",
                     home + "//.netrc", os.path.dirname(home), home + "/.aws"):
            with self.subTest(path=path):
                self.prove_refused(path)

    @evidence.attack("F3", "a profile that shows a path with a link in it", "checks")
    def test_by_a_link(self):
        for name, text in (("a", ".ssh"), ("b", self.home), ("c", "/"), ("d", "project"),
                           ("e", "project/../.aws")):
            os.symlink(text, os.path.join(self.home, name))
            with self.subTest(link=text):
                self.prove_refused(os.path.join(self.home, name))
        for path in ("/proc/self/root" + self.home + "/project", "/proc/self/cwd"):
            with self.subTest(path=path):
                self.prove_refused(path)

    @evidence.attack("F4", "a profile that shows a protected file by another of its names",
                     "checks")
    def test_by_another_name(self):
        os.link(os.path.join(self.home, ".netrc"), os.path.join(self.home, "harmless"))
        self.prove_refused(os.path.join(self.home, "harmless"), allowed="tokenizer")

    @evidence.attack("F3", "a profile that shows what the operator protects", "checks")
    def test_what_the_operator_protects(self):
        protect = ("protect", os.path.join(self.home, "project"))
        self.prove_refused(os.path.join(self.home, "project"), protect, allowed="tokenizer")
        self.assertEqual(self.attempt(os.path.join(self.home, "tokenizer"), protect).word,
                         "succeeded")

    @evidence.attack("M2", "a profile that shows what only begins like a workspace", "checks")
    def test_workspaces(self):
        workspace = ("workspace", os.path.join(self.home, "project"))
        os.mkdir(os.path.join(self.home, "project-evil"))
        os.mkdir(os.path.join(self.home, "project", "part"))
        for path in ("project-evil", "tokenizer", "project/../tokenizer"):
            with self.subTest(path=path):
                self.prove_refused(os.path.join(self.home, path), workspace, allowed="project/part")

    @evidence.attack("F3", "--ro of what lies in no workspace, or is protected by the operator",
                     "checks")
    def test_ro_obeys_the_operator(self):
        def attempt(name):
            msp = self.programs(("workspace", self.home),
                                ("protect", os.path.join(self.home, "tokenizer")))
            result = plans.run(msp, "true", env=self.environment, options=(
                "--ro", os.path.join(self.home, name) + ":/data"))
            return self.outcome(result.returncode, result.stderr, result.returncode == 0)

        for name in ("../secret", "tokenizer", "project/../tokenizer"):
            with self.subTest(name=name):
                self.prove_by(lambda _, name=name: attempt(name), (64,), lambda: attempt("project"))

    def test_near_names_are_free(self):
        for name in ("project", "tokenizer"):
            with self.subTest(name=name):
                self.assertEqual(self.attempt(os.path.join(self.home, name)).word, "succeeded")


if __name__ == "__main__":
    unittest.main()
