#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`msp run --ro`: what it shows, that it is read-only, and what it refuses."""
import os
import pwd
import socket
import tempfile
import unittest

from cli_support import run


class Shown(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(dir="/tmp", prefix="msp ro:")
        os.chmod(self.folder.name, 0o755)
        self.addCleanup(self.folder.cleanup)
        self.write("file", "content\n")

    def write(self, name, text):
        path = os.path.join(self.folder.name, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def ok(self, bind, *command):
        result = run(*command, options=[f"--ro={bind}"])
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_a_folder_at_another_place(self):
        self.assertEqual(self.ok(f"{self.folder.name}:/data", "cat", "/data/file"), "content\n")

    def test_a_file(self):
        path = os.path.join(self.folder.name, "file")
        self.assertEqual(self.ok(f"{path}:/data/name", "cat", "/data/name"), "content\n")

    def test_the_same_place(self):
        path = os.path.join(self.folder.name, "file")
        self.assertEqual(self.ok(self.folder.name, "cat", path), "content\n")
        self.assertEqual(self.ok(path, "cat", path), "content\n")

    def test_a_relative_path(self):
        result = run("cat", "/data", options=["--ro=file:/data"], cwd=self.folder.name)
        self.assertEqual(result.stdout, "content\n")

    def test_several(self):
        other = self.write("other/x", "more\n")
        result = run("cat", "/a/file", "/b",
                     options=[f"--ro={self.folder.name}:/a", "--ro", f"{other}:/b"])
        self.assertEqual(result.stdout, "content\nmore\n")

    def test_a_symlink_is_followed_once_by_msp(self):
        os.symlink("other", os.path.join(self.folder.name, "link"))
        self.write("other/x", "more\n")
        self.assertEqual(self.ok(f"{self.folder.name}/link:/data", "cat", "/data/x"), "more\n")

    def test_it_is_read_only(self):
        result = run("sh", "-c", "echo x >/data/file; echo y >/data/new; rm /data/file; "
                                 "chmod 777 /data/file; touch /data/file; mkdir /data/d",
                     options=[f"--ro={self.folder.name}:/data"])
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(os.listdir(self.folder.name), ["file"])
        with open(os.path.join(self.folder.name, "file"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "content\n")

    def test_its_symlinks_lead_nowhere_outside(self):
        os.symlink(pwd.getpwuid(os.getuid()).pw_dir, os.path.join(self.folder.name, "home"))
        result = run("ls", "/data/home/", options=[f"--ro={self.folder.name}:/data"])
        self.assertNotEqual(result.returncode, 0)


class Refused(unittest.TestCase):
    def refuse(self, bind, *parts, code=64, **keywords):
        result = run("true", options=[f"--ro={bind}"], **keywords)
        self.assertEqual(result.returncode, code, f"{bind}: {result.stderr}")
        self.assertTrue(result.stderr.startswith("msp: run: --ro"), result.stderr)
        for part in parts:
            self.assertIn(part, result.stderr)

    def test_the_system(self):
        for path in ("/", "/etc", "/etc/shadow", "/root", "/run", "/proc", "/sys", "/dev",
                     "/proc/self", "/dev/shm", "/sys/kernel"):
            with self.subTest(path=path):
                self.refuse(f"{path}:/data")

    def test_through_another_name(self):
        self.refuse("/usr/../etc:/data")
        self.refuse("/proc/self/root/etc:/data")
        self.refuse("//:/data")

    def test_devices_and_sockets(self):
        with tempfile.TemporaryDirectory(dir="/tmp") as folder, socket.socket(
                socket.AF_UNIX) as listener:
            os.chmod(folder, 0o755)
            path = os.path.join(folder, "socket")
            listener.bind(path)
            self.refuse(f"{path}:/data", "never a device, socket or pipe")
            fifo = os.path.join(folder, "fifo")
            os.mkfifo(fifo)
            self.refuse(f"{fifo}:/data", "never a device, socket or pipe")

    def test_what_is_not_there(self):
        self.refuse("/no/such/thing", "No such file or directory", "/no/such/thing")

    def test_places_inside(self):
        for inside in ("/", "/usr", "/etc", "/proc", "/proc/x", "/dev/x", "/sys/x", "/workspace",
                       "/tmp", "/home/agent", "/a/../b", "/a//b", "/a/", "/./a", "/bin/x", "/var/tmp/x"):
            with self.subTest(inside=inside):
                self.refuse(f"/usr/share:{inside}", inside)

    def test_two_at_one_place(self):
        result = run("true", options=["--ro=/usr/share:/x", "--ro=/usr/include:/x"])
        self.assertEqual(result.returncode, 64)
        self.assertIn("two binds for '/x'", result.stderr)

    def test_too_many(self):
        result = run("true", options=[f"--ro=/usr/share:/x{i}" for i in range(33)])
        self.assertEqual(result.returncode, 64)
        self.assertIn("at most 32", result.stderr)


class Inside(unittest.TestCase):
    """Places in directories of this machine that the profile shows read-only."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir="/tmp", prefix="msp-ro-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.chmod(self.folder, 0o755)
        with open(os.path.join(self.folder, "t"), "w", encoding="utf-8") as file:
            file.write("tool\n")

    def show(self, inside, script, *more):
        return run("sh", "-c", script, options=[f"--ro={self.folder}:{inside}", *more])

    def test_a_place_that_the_host_lacks(self):
        for inside in ("/opt/x", "/usr/local/x", "/usr/x", "/usr/local/lib/a/b/c", "/etc/x"):
            with self.subTest(inside=inside):
                result = self.show(inside, f"cat {inside}/t; ls /usr/bin/env")
                self.assertEqual((result.returncode, result.stdout), (0, "tool\n/usr/bin/env\n"),
                                 result.stderr)
                self.assertFalse(os.path.exists(inside))

    def test_a_place_that_the_host_has(self):
        result = self.show("/usr/local/share", "cat /usr/local/share/t")
        self.assertEqual(result.stdout, "tool\n", result.stderr)

    def test_a_file_and_two_places(self):
        result = self.show("/opt/x", "cat /opt/y/name /opt/x/t /usr/share/msp-x",
                           f"--ro={self.folder}/t:/opt/y/name", f"--ro={self.folder}/t:/usr/share/msp-x")
        self.assertEqual(result.stdout, "tool\n" * 3, result.stderr)

    def test_nothing_is_written_around_it(self):
        # The control: what may be written is.
        result = self.show("/usr/local/x", "for d in /usr /usr/local /usr/bin /usr/local/x; do "
                           "echo x >$d/msp-new; mkdir $d/msp-dir; rm -f $d/t; done; rm /usr/bin/env; "
                           "echo y >>/usr/bin/env; echo x >/tmp/ok && ls /tmp/ok; ls -d /usr/msp* /usr/*/msp*; "
                           "cat /usr/local/x/t; ls /usr/bin/env")
        self.assertEqual(result.stdout, "/tmp/ok\ntool\n/usr/bin/env\n")

    def test_a_mask_of_the_profile_stays(self):
        with tempfile.TemporaryDirectory(dir="/tmp", prefix="msp-ro-") as folder:
            path = os.path.join(folder, "config.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write("profiles:\n  - name: own\n    extends: default\n    files:\n"
                           "      - {at: /usr/share/misc, kind: mask}\n")
            os.chmod(folder, 0o755)
            result = self.show("/usr/x", "ls /usr/share/misc; cat /usr/x/t", f"--config={path}",
                               "--profile=own")
        self.assertEqual(result.stdout, "tool\n", result.stderr)

    def test_refused(self):
        for inside, *more in (("/etc/passwd/x",), ("/usr/bin/env/x",), ("/usr/bin/env",),
                              ("/usr/local/x", f"--ro={self.folder}:/usr/local/x/y"),
                              ("/data/x", f"--ro={self.folder}:/data"), ("/proc/x",), ("/dev/pts/x",)):
            with self.subTest(inside=inside):
                result = self.show(inside, "true", *more)
                self.assertEqual(result.returncode, 64, result.stderr)
                self.assertIn(f"'{inside}", result.stderr)
                self.assertIn("/data" if "/proc" not in inside and "/dev" not in inside else "outside",
                              result.stderr)
                self.assertNotIn("doctor", result.stderr)


class Home(unittest.TestCase):
    """A home of the environment's; when root runs this, what is asked for is refused all the
    same."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir="/tmp", prefix="msp-home-")
        self.addCleanup(folder.cleanup)
        self.home = folder.name
        os.chmod(self.home, 0o755)
        for name in (".ssh", ".aws", ".config/gcloud", "project/.ssh", "tokenizer", ".sshx", "snapx"):
            os.makedirs(os.path.join(self.home, name))
        with open(os.path.join(self.home, ".netrc"), "w", encoding="utf-8") as file:
            file.write("secret\n")

    def bind(self, path):
        return run("true", options=[f"--ro={os.path.join(self.home, path)}:/data"],
                   env={**os.environ, "HOME": self.home})

    def test_refused(self):
        for path in ("", ".ssh", ".aws", ".netrc", ".config", ".config/gcloud", "project/../.ssh"):
            with self.subTest(path=path):
                result = self.bind(path)
                self.assertEqual(result.returncode, 64, result.stderr)
                self.assertIn("no sandbox may see", result.stderr)

    def test_hidden(self):
        for path in (".sshx", ".config/editor"):
            os.makedirs(os.path.join(self.home, path), exist_ok=True)
            with self.subTest(path=path):
                result = self.bind(path)
                self.assertEqual(result.returncode, 64, result.stderr)
                self.assertIn("hidden files of a home", result.stderr)

    def test_through_a_link(self):
        os.symlink("../.ssh", os.path.join(self.home, "project", "link"))
        self.assertEqual(self.bind("project/link").returncode, 64)

    def test_allowed(self):
        for path in ("project", "tokenizer", "snapx", "project/.ssh"):
            with self.subTest(path=path):
                result = self.bind(path)
                self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == "__main__":
    unittest.main()
