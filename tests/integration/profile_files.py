#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an operator's profile shows of the host: read-only, copy-on-write or writable, and that the
host's files are what they were wherever they should be."""
import hashlib
import json
import os
import pwd
import re
import shutil
import tempfile
import threading
import unittest

import plans
import support

# Everything that a program can do to a tree, in one workload; what is refused does not matter.
WORK = r"""
import os, shutil
os.chdir('/cow')
def do(act, *arguments, **keywords):
    try:
        act(*arguments, **keywords)
        return 1
    except OSError:
        return 0
done = 0
for name in sorted(os.listdir('.')):
    if name.startswith('file'):
        with open(name, 'a') as file: file.write('more')
        done += 1
done += do(os.truncate, 'file0', 2)
done += do(os.unlink, 'file1')
done += do(os.rename, 'file2', 'renamed')
done += do(os.replace, 'file3', 'sub/file3')
done += do(os.chmod, 'file4', 0o600)
done += do(os.link, 'file5', 'hard')
done += do(os.symlink, 'file5', 'soft')
done += do(os.utime, 'file6', (1, 1))
done += do(os.setxattr, 'file6', 'user.note', b'x')
done += do(os.mkdir, 'new')
done += do(os.mkfifo, 'fifo')
done += do(shutil.rmtree, 'sub/deep')
done += do(shutil.move, 'tree', 'moved')
done += do(os.chmod, 'sub', 0o700)
done += do(os.chmod, '.', 0o700)
done += do(os.rename, 'link', 'link2')
with open('/cow/hardlinked', 'w') as file: file.write('other')
with open('/cow/link2', 'w') as file: file.write('through the link')
print(done, sorted(os.listdir('.')), open('hardlinked2').read())
"""


def fingerprint(top):
    """Of everything in a tree that a program could have changed."""
    digest = hashlib.sha256()
    for folder, folders, files in os.walk(top):
        folders.sort()
        for name in [""] + sorted(folders + files):
            path = os.path.join(folder, name)
            status = os.lstat(path)
            content = b""
            if os.path.islink(path):
                content = os.readlink(path).encode()
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    content = file.read()
            extra = {key: os.getxattr(path, key, follow_symlinks=False).hex()
                     for key in os.listxattr(path, follow_symlinks=False)}
            digest.update(repr((path, status.st_mode, status.st_ino, status.st_uid, status.st_nlink,
                                status.st_size, status.st_mtime_ns, status.st_ctime_ns,
                                extra)).encode() + content)
    return digest.hexdigest()


def refused_touches(result):
    """The paths of the command's own lines; msp's hints below have the error as well."""
    return re.findall(r"^touch: cannot touch '(.*)': Read-only file system$", result.stderr, re.M)


class Case(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="msp-shown-", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.top, ignore_errors=True)
        self.give(self.top)
        self.data = self.folder("data")

    @staticmethod
    def give(path):
        """msp changes to an account of its own when root starts it: what it shows is that's."""
        os.chmod(path, 0o755)
        if os.geteuid() == 0:
            owner = pwd.getpwnam("msp")
            os.lchown(path, owner.pw_uid, owner.pw_gid)

    def folder(self, *names):
        path = self.top
        for name in names:
            path = os.path.join(path, name)
            if not os.path.isdir(path):
                os.mkdir(path)
                self.give(path)
        return path

    def write(self, text, *names):
        path = os.path.join(self.data, *names)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        self.give(path)
        return path

    def programs(self, *changes):
        folder = tempfile.mkdtemp(dir=self.top)
        os.chmod(folder, 0o755)
        return plans.programs(folder, *changes)

    def run_shell(self, command, *changes, **keywords):
        return plans.run(self.programs(*changes), "sh", "-c", command, **keywords)


class ReadOnly(Case):
    def test_it_shows_the_hosts_files(self):
        self.write("text\n", "file")
        result = self.run_shell("cat /d/file /one /d/sub/x; cat /etc/copied; touch /d/new /one",
                                ("bind", "default", self.data, "/d"),
                                ("bind", "default", os.path.join(self.data, "file"), "/one"),
                                ("copy", "default", os.path.join(self.data, "file"), "/etc/copied"))
        self.assertEqual(result.stdout, "text\n" * 3, result.stderr)
        self.assertEqual(refused_touches(result), ["/d/new", "/one"], result.stderr)
        for act in ("create /d/new", "write /one"):
            self.assertIn(f"denied (inferred): {act} by mounts: ", result.stderr)
        self.assertEqual(os.listdir(self.data), ["file"])

    def test_noexec(self):
        shutil.copy("/bin/true", os.path.join(self.data, "prog"))
        for words, code in (((), 0), (("noexec",), 126)):
            for kind in ("bind", "writable", "overlay"):
                with self.subTest(kind=kind, words=words):
                    result = self.run_shell("/d/prog", (kind, "default", self.data, "/d", *words))
                    self.assertEqual(result.returncode, code, result.stderr)

    def test_only_the_profile_that_says_so(self):
        msp = self.programs(("bind", "strict", self.data, "/d"))
        self.assertNotEqual(plans.run(msp, "ls", "/d").returncode, 0)
        self.assertEqual(plans.run(msp, "ls", "/d", options=("--profile", "strict")).returncode, 0)

    def test_what_need_not_be_there(self):
        result = self.run_shell("ls -d /d /e", ("bind", "default", self.data + "/x", "/d", "optional"),
                                ("overlay", "default", self.data + "/x", "/e", "optional"))
        self.assertEqual(result.stdout, "/e\n", "a mount point")

    def test_with_ro_below(self):
        """--ro and the profile's own side by side, each at its place, and one in the other."""
        self.write("text\n", "file")
        other = self.folder("other")
        for at in ("/cow/in", "/d2"):
            with self.subTest(at=at):
                result = self.run_shell(f"ls -A /cow; touch {at}/new", (
                    "overlay", "default", self.data, "/cow"), options=("--ro", f"{other}:{at}"))
                self.assertIn("Read-only file system", result.stderr)
                self.assertEqual((os.listdir(self.data), os.listdir(other)), (["file"], []))

    def test_no_mount_point_is_made_on_the_host(self):
        for kind, code, said in (("bind", 0, ""), ("writable", 64, "of kind bind, such as --ro=HOST:/data")):
            with self.subTest(kind=kind):
                result = self.run_shell("test -d /d/new/misc", (kind, "default", self.data, "/d"),
                                        options=("--ro", "/usr/share:/d/new"))
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertIn(said, result.stderr)
                self.assertEqual(os.listdir(self.data), [])


class Writable(Case):
    def test_it_is_the_hosts(self):
        self.write("old\n", "file")
        one = self.write("one\n", "one")
        result = self.run_shell("echo new >/rw/file; mkdir /rw/sub; echo x >/rw/sub/x; "
                                "echo y >>/only; rm /rw/one; touch /usr/x /etc/x /x /ro/x",
                                ("writable", "default", self.data, "/rw"),
                                ("writable", "default", one, "/only"),
                                ("bind", "default", self.data, "/ro"))
        self.assertEqual(sorted(os.listdir(self.data)), ["file", "sub"], result.stderr)
        with open(os.path.join(self.data, "file"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "new\n")
        self.assertEqual(refused_touches(result), ["/usr/x", "/etc/x", "/x", "/ro/x"], result.stderr)

    def test_files_belong_to_the_caller(self):
        self.run_shell("touch /rw/file; mkdir /rw/folder; ln -s x /rw/link",
                       ("writable", "default", self.data, "/rw"))
        owner = os.stat(self.data).st_uid
        for name in ("file", "folder", "link"):
            self.assertEqual(os.lstat(os.path.join(self.data, name)).st_uid, owner)

    def test_what_the_caller_may_not_write(self):
        """Not by being shown: the host's modes and owners hold."""
        path = self.write("old", "file")
        os.chmod(path, 0o444)
        result = self.run_shell("echo new >/rw/file", ("writable", "default", self.data, "/rw"))
        self.assertIn("Permission denied", result.stderr)
        result = self.run_shell("touch /rw/x", ("writable", "default", "/usr/share/misc", "/rw"))
        self.assertIn("Permission denied", result.stderr)

    def test_it_outlives_the_sandbox_and_all_of_them_see_it(self):
        msp = self.programs(("writable", "default", self.data, "/rw"))
        for number in range(3):
            result = plans.run(msp, "sh", "-c", f"ls /rw; touch /rw/{number}")
            self.assertEqual(result.stdout.split(), [str(n) for n in range(number)])


class CopyOnWrite(Case):
    def fill(self):
        for number in range(8):
            self.write(f"text {number}\n", f"file{number}")
        self.folder("data", "sub", "deep", "deeper")
        self.folder("data", "tree", "branch")
        self.write("deep", "sub", "deep", "file")
        self.write("leaf", "tree", "branch", "leaf")
        self.write("hard", "hardlinked")
        os.link(os.path.join(self.data, "hardlinked"), os.path.join(self.data, "hardlinked2"))
        os.symlink("file7", os.path.join(self.data, "link"))

    def test_the_host_is_what_it_was(self):
        self.fill()
        before = fingerprint(self.data)
        msp = self.programs(("overlay", "default", self.data, "/cow"))
        result = plans.run(msp, "python3", "-c", WORK)
        self.assertEqual(result.returncode, 0, result.stderr)
        # 8 writes and 16 more acts, of which a hard link and a rename may be refused
        self.assertGreaterEqual(int(result.stdout.split()[0]), 22, result.stdout)
        self.assertIn("'moved'", result.stdout)
        self.assertEqual(fingerprint(self.data), before)

    def test_the_fingerprint_notices(self):
        """The control: the same workload where it may write."""
        self.fill()
        before = fingerprint(self.data)
        result = plans.run(self.programs(("writable", "default", self.data, "/cow")),
                           "python3", "-c", WORK)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotEqual(fingerprint(self.data), before)

    def test_each_sandbox_starts_from_the_host(self):
        self.write("text\n", "file")
        msp = self.programs(("overlay", "default", self.data, "/cow"))
        for _ in range(3):
            result = plans.run(msp, "sh", "-c", "cat /cow/file; ls /cow; echo x >/cow/file; "
                               "touch /cow/new; cat /cow/file")
            self.assertEqual(result.stdout, "text\nfile\nx\n", result.stderr)

    def test_two_at_once_do_not_see_each_other(self):
        self.write("text\n", "file")
        msp = self.programs(("overlay", "default", self.data, "/cow"))
        code = "echo $$0 >/cow/$0; echo $0 >/cow/file; sleep 1; ls /cow; cat /cow/file"
        results = {}
        with support.Server("--standalone", program=msp) as server:
            server.initialize()
            calls = {name: server.post("tools/call", {"name": "run_command", "arguments": {
                "argv": ["sh", "-c", code, name], "yield_ms": 30000}}) for name in ("one", "two")}
            results = {name: support.text_of(server.answer(call, 40))
                       for name, call in calls.items()}
        for name, text in results.items():
            self.assertTrue(text.startswith(f"file\n{name}\n{name}\n"), results)

    def test_two_records_of_one_folder(self):
        self.write("text\n", "file")
        result = self.run_shell("touch /a/x; ls /b; ls /c; touch /c/y; ls /b",
                                ("overlay", "default", self.data, "/a"),
                                ("overlay", "default", self.data, "/b"),
                                ("writable", "default", self.data, "/c"))
        self.assertEqual(result.stdout.split(), ["file", "file", "file", "y"], result.stderr)

    def told(self, command, *words):
        msp = self.programs(("overlay", "default", self.data, "/cow", *words))
        result = plans.run(msp, "sh", "-c", command, options=("--json",))
        return json.loads(result.stdout)

    def test_its_limits(self):
        told = self.told("head -c 3000000 /dev/zero >/cow/big")
        self.assertEqual(told["verdict"], "disk", told)
        self.assertIn("No space left on device", told["stderr"])
        told = self.told("i=0; while touch /cow/$i; do i=$((i+1)); done; exit 1", "inodes=100")
        self.assertEqual(told["verdict"], "disk", told)
        told = self.told("head -c 500000 /dev/zero >/cow/big")
        self.assertEqual(told["verdict"], "exited", told)
        self.assertEqual(os.listdir(self.data), [])

    def test_copying_up_counts(self):
        """Changing one byte of a large file takes room for all of it; where there is none, that is
        an error, after which the room is free again."""
        path = os.path.join(self.data, "large")
        with open(path, "wb") as file:
            file.truncate(4 << 20)
            file.write(b"x" * (2 << 20))
        self.give(path)
        before = fingerprint(self.data)
        told = self.told("echo x >>/cow/large && exit 3; echo y >/cow/small")
        self.assertEqual((told["verdict"], told["exit_code"]), ("exited", 0), told)
        self.assertIn("No space left on device", told["stderr"])
        self.assertEqual(self.told("head -c 10 /cow/large >/dev/null")["verdict"], "exited")
        self.assertEqual(fingerprint(self.data), before)

    def test_what_is_made_on_the_host_meanwhile(self):
        """Nothing breaks, whatever is seen of it."""
        self.write("text\n", "file")
        msp = self.programs(("overlay", "default", self.data, "/cow"))
        stop = threading.Event()

        def disturb():
            number = 0
            while not stop.is_set():
                number += 1
                self.write(str(number), f"host{number % 10}")
                os.rename(os.path.join(self.data, f"host{number % 10}"),
                          os.path.join(self.data, f"moved{number % 10}"))

        thread = threading.Thread(target=disturb)
        thread.start()
        try:
            result = plans.run(msp, "sh", "-c", "for i in $(seq 60); do ls /cow >/dev/null; "
                               "echo $i >/cow/own; mv /cow/own /cow/own2; done; cat /cow/own2")
        finally:
            stop.set()
            thread.join()
        self.assertEqual(result.stdout, "60\n", result.stderr)


class Starts(Case):
    def test_a_service_that_shows_less_than_before(self):
        """A path that vanished fails each sandbox that needs it, and works when it is back."""
        self.write("text\n", "file")
        for kind in ("bind", "overlay"):
            with self.subTest(kind=kind):
                msp = self.programs((kind, "strict", self.data, "/d", "optional"))
                with support.Server("--standalone", program=msp) as server:
                    server.initialize()
                    os.rename(self.data, self.data + ".away")
                    for _ in range(2):
                        text = support.text_of(server.call("run_command", command="cat /d/file",
                                                           profile="strict"))
                        self.assertIn("binding the operator's path", text)
                        self.assertIn("Stale file handle", text)
                    text = support.text_of(server.call("run_command", command="echo well"))
                    self.assertIn("well", text)
                    os.rename(self.data + ".away", self.data)
                    text = support.text_of(server.call("run_command", command="cat /d/file",
                                                       profile="strict"))
                    self.assertIn("text", text)

    def test_serve_refuses_with_the_same_line(self):
        msp = self.programs(("bind", "default", "/etc", "/d"))
        for command in ((msp, "serve", "--standalone"), (msp, "run", "--standalone", "true")):
            result = support.subprocess.run([*command[:2], *support.limits(), *command[2:]],
                                            stdin=support.subprocess.DEVNULL, text=True,
                                            capture_output=True, timeout=30, check=False)
            self.assertEqual(result.returncode, support.REFUSED)
            self.assertRegex(result.stderr, r"^msp: \w+: test\.yaml:1: files: '/etc' is refused: it "
                                            r"contains /etc/\S+, which holds .*\n$")


if __name__ == "__main__":
    unittest.main()
