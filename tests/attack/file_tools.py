#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A hostile workload, and a hostile client, against what reads and writes the files of a sandbox:
the file tools, their resource and `msp cp`. Each attack has its control beside it."""
import os
import re
import stat
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "integration"))
import support  # noqa: E402  (a folder of its own)
from persistent_support import PersistentCase, msp  # noqa: E402

HANDLE = re.compile(r"\b[0-9a-hjkmnp-tv-z]{26}-\d+\b")
SECRET = "a secret of the host"

# What runs beside msp-file in the sandbox and wants its streams: every process by that name is
# looked for, and every number that a process may have is stopped. It has one of that name itself.
MEDDLER = r"""
import os, signal, subprocess, sys, time
own = subprocess.Popen(["msp-file", "60"], executable="/bin/sleep")
mine = {os.getpid(), own.pid}
end = time.monotonic() + float(sys.argv[1])
found = controls = stopped = 0
while time.monotonic() < end:
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if not file.read().startswith(b"msp-file"):
                    continue
            streams = [os.open(f"/proc/{pid}/fd/1", os.O_WRONLY | os.O_NONBLOCK)]
        except OSError:
            continue
        controls += pid == own.pid
        found += pid != own.pid
        os.write(streams[0], b"FILE" + bytes(44)) if pid != own.pid else 0
        os.close(streams[0])
    for pid in range(2, 300):
        if pid not in mine:
            try:
                os.kill(pid, signal.SIGSTOP)
                stopped += 1
            except OSError:
                pass
own.kill()
print(f"found {found} stopped {stopped} controls {controls}", flush=True)
"""


class Case(PersistentCase):
    """A sandbox that msp's commands and a server of MCP share, one after the other."""

    def setUp(self):
        super().setUp()
        self.put("plain", "plain\n")
        self.id = self.create()
        self.server = None
        self.secret = os.path.join(os.path.dirname(self.project), "secret")
        with open(self.secret, "w", encoding="ascii") as file:
            file.write(SECRET)

    def serve(self):
        if not self.server:
            self.server = support.Server("--standalone", "--workspace", self.project)
            self.addCleanup(self.server.close)
            self.server.initialize()
        return self.server

    def call(self, tool, **arguments):
        """Whether it failed, and its text."""
        result = self.serve().call(tool, 90, sandbox=self.id, **arguments)
        return result["isError"], support.text_of(result)

    def ask(self, method, params):
        """The whole answer."""
        server = self.serve()
        number = server.post(method, params)
        while True:
            message = server.receive()
            if message.get("id") == number:
                return message

    def assert_reads(self, path, content):
        failed, text = self.call("read_sandbox_file", path=path)
        self.assertFalse(failed, text)
        self.assertIn(content, text)

    def assert_fails(self, says, tool="read_sandbox_file", **arguments):
        failed, text = self.call(tool, **arguments)
        self.assertTrue(failed, text)
        self.assertRegex(text, says)
        self.assertNotIn(SECRET, text)
        self.assertEqual(len(text.splitlines()), 1, text)

    def cp(self, *words, code=0, **keywords):
        return msp("cp", *words, code=code, **keywords)


class Imports(Case):
    """T23: an import brings files of the directory that was named, whatever its links become."""

    def setUp(self):
        super().setUp()
        self.data = os.path.join(self.project, "data")
        os.mkdir(self.data)
        self.put("data/plain", "plain\n")

    def bring(self, **arguments):
        """What an import of `data` leaves in the sandbox."""
        failed, text = self.call("import_files", **{"from": self.data, "to": "/tmp/in", **arguments})
        self.assertFalse(failed, text)
        return text, self.call("run_command", command="grep -r . /tmp/in; rm -r /tmp/in")[1]

    def test_links_that_lead_out(self):
        links = {"file": self.secret, "folder": os.path.dirname(self.secret),
                 "up": "../../secret", "root": "/"}
        for name, target in links.items():
            os.symlink(target, os.path.join(self.data, name))
        with open(os.path.join(self.data, "file"), encoding="ascii") as file:
            self.assertEqual(file.read(), SECRET, "the control: the host's own eye follows")
        for paths in ([], ["file"], ["folder/secret"], ["up"], ["root" + self.secret],
                      ["plain", "file", "folder", "up"]):
            text, found = self.bring(**({"paths": paths} if paths else {}))
            self.assertNotIn(SECRET, text + found)
            self.assertEqual("plain:plain" in found, not paths or "plain" in paths, found)

    def test_a_file_that_becomes_a_link(self):
        """It is a file for the list and, half of the time, a link for the reader."""
        ended = threading.Event()
        name = os.path.join(self.data, "swapped")
        os.symlink(self.secret, name + ".link")

        def swap():
            while not ended.is_set():
                with open(name + ".new", "w", encoding="ascii") as file:
                    file.write("swapped\n")
                os.rename(name + ".new", name)
                os.symlink(self.secret, name + ".new")
                os.rename(name + ".new", name)

        swapper = threading.Thread(target=swap)
        swapper.start()
        try:
            for _ in range(8):
                text, found = self.bring(paths=["plain", "swapped"])
                self.assertNotIn(SECRET, text + found)
                self.assertIn("plain:plain", found)
        finally:
            ended.set()
            swapper.join()

    def test_directories_that_were_not_opened(self):
        link = os.path.join(self.project, "out")
        os.symlink(os.path.dirname(self.secret), link)
        for source in (link, os.path.dirname(self.secret), self.state, self.data + "/../.."):
            failed, text = self.call("import_files", **{"from": source})
            self.assertTrue(failed, text)
            self.assertRegex(text, "is refused: (it lies in none of|'..' is a part of it)")


class Views(Case):
    """T23: a file tool sees what a command in the sandbox sees."""

    def test_paths_that_lead_out(self):
        for path in ("../" * 20 + self.secret[1:], self.secret, "/workspace/../.." + self.secret,
                     self.state, os.path.join(self.state, "sandboxes", self.id, "meta"),
                     "/proc/self/root" + self.secret, "/proc/self/cwd/../.." + self.secret):
            for tool, more in (("read_sandbox_file", {}), ("list_sandbox_files", {}),
                               ("write_sandbox_file", {"old_text": "a", "new_text": "b"})):
                with self.subTest(path=path, tool=tool):
                    self.assert_fails("does not exist|refused|needs a directory", tool, path=path,
                                      **more)
        self.assert_reads("../workspace/plain", "plain\n")
        self.assert_reads("/workspace/./plain", "plain\n")

    def test_writing_outside(self):
        for path in ("/etc/passwd", "/usr/bin/evil", "/proc/sys/kernel/core_pattern",
                     "/sys/kernel/evil", "/evil", "/dev/evil", "../evil"):
            with self.subTest(path=path):
                self.assert_fails("refused|read-only|does not exist|cannot be used",
                                  "write_sandbox_file",
                                  path=path, content="evil")
        self.assertFalse(self.call("write_sandbox_file", path="fine", content="fine")[0])
        self.assertEqual(self.get("plain"), b"plain\n")
        self.assertFalse(os.path.lexists(os.path.join(self.project, "fine")), "it was not applied")

    def test_links_that_lead_out(self):
        """M3"""
        self.serve()
        self.call("run_command", command=f"ln -s {self.secret} s; ln -s / root; ln -s .. up; "
                  "ln -s loop loop; ln -s plain good; ln -s /etc/shadow shadow")
        for path in ("s", "root" + self.secret, "up" + self.secret, "loop", "shadow"):
            with self.subTest(path=path):
                self.assert_fails("does not exist|circle|refused", path=path)
        for path in ("s", "loop", "shadow"):
            with self.subTest(path=path):
                self.assert_fails("does not exist|circle|refused", "write_sandbox_file", path=path,
                                  content="x")
        # where the sandbox has such a folder of its own, it is written there
        self.call("write_sandbox_file", path="root" + self.secret, content="x")
        with open(self.secret, encoding="ascii") as file:
            self.assertEqual(file.read(), SECRET)
        self.assert_reads("good", "plain\n")
        failed, text = self.call("list_sandbox_files", depth=3)
        self.assertFalse(failed)
        self.assertRegex(text, r" s -> " + self.secret)
        self.assertNotIn("root/", text, "links are not followed")

    def patch(self, path, kind="Update"):
        """Whether a patch of `plain` and that file fails, and its text."""
        lines = {"Update": "@@\n-old\n+evil\n", "Add": "+evil\n", "Delete": ""}[kind]
        return self.call("patch_sandbox_files", patch=(
            "*** Begin Patch\n*** Update File: plain\n@@\n-plain\n+changed\n*** Add File: beside\n"
            f"+x\n*** {kind} File: {path}\n{lines}*** End Patch\n"))

    def test_patches_that_lead_out(self):
        """M3: links as the last part of a path and as a parent; nothing of the patch is done."""
        folder = os.path.dirname(self.secret)
        with open(self.secret, "w", encoding="ascii") as file:
            file.write("old\n")
        self.serve()
        self.call("run_command", command=f"ln -s {self.secret} s; ln -s / root; ln -s loop loop; "
                  f"ln -s /etc/passwd passwd; ln -s /etc etc; ln -s {folder} out; "
                  "ln -s fine good; ln -s . here; echo old > fine")
        for path, kind in (("s", "Update"), ("s", "Add"), ("root" + self.secret, "Update"),
                           (self.secret, "Update"), ("../" * 20 + self.secret[1:], "Delete"),
                           ("out/secret", "Update"), ("loop", "Update"), ("loop/new", "Add"),
                           ("etc/new", "Add"), ("etc/passwd", "Delete"), ("passwd", "Add"),
                           ("/proc/self/root" + self.secret, "Update"), ("/evil", "Add"),
                           ("/proc/self/cwd/../.." + self.secret, "Delete"),
                           ("/usr/bin/evil", "Add"), ("/proc/sys/kernel/core_pattern", "Add")):
            with self.subTest(path=path, kind=kind):
                failed, text = self.patch(path, kind)
                self.assertTrue(failed, text)
                self.assertRegex(text, "^Nothing was changed.*(does not exist|circle|refused|"
                                 "exists already|read-only|cannot be used)")
                self.assert_reads("plain", "plain\n")
                self.assert_fails("does not exist", path="beside")
        failed, text = self.call("run_command", command="ls -A; cat /etc/passwd")
        self.assertNotRegex(text, r"evil|\.msp-")
        with open(self.secret, encoding="ascii") as file:
            self.assertEqual(file.read(), "old\n")
        self.assertEqual(sorted(os.listdir(self.project)), ["plain"])
        for path in ("good", "here/fine"):  # the controls
            self.assertFalse(self.patch(path)[0], path)
            self.assert_reads("fine", "evil\n")
            self.assertFalse(self.call("run_command", command=(
                "test -L good; echo old > fine; echo plain > plain; rm beside"))[0])

    def test_other_processes(self):
        for path in ("/proc/1/environ", "/proc/1/mem", "/proc/1/root/etc/passwd", "/proc/1/exe",
                     "/proc/1/maps", "/proc/1/fd/0", "/proc/kcore", "/proc/kmsg",
                     "/proc/sysrq-trigger"):
            with self.subTest(path=path):
                self.assert_fails("does not exist|refused|cannot be used|regular", path=path)
        self.assert_reads("/proc/self/comm", "")

    def test_the_resource(self):
        for path in ("..%2F..%2F" + self.secret[1:].replace("/", "%2F"), "../.." + self.secret,
                     self.secret, "%2Fproc%2F1%2Fenviron"):
            with self.subTest(path=path):
                answer = self.ask(
                    "resources/read", {"uri": f"sandbox://{self.id}/files/{path}"})
                self.assertIn("error", answer)
                self.assertNotIn(SECRET, str(answer))
        answer = self.ask("resources/read",
                                      {"uri": f"sandbox://{self.id}/files/plain"})
        self.assertEqual(answer["result"]["contents"][0]["text"], "plain\n")


class Results(Case):
    """T20: what is collected is replaced by what is no file."""

    def test_what_is_no_file(self):
        self.serve()
        self.call("run_command", command="mkfifo fifo; mkdir folder; ln -s fifo link; "
                  "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'")
        for path, kind in (("fifo", "FIFO"), ("link", "FIFO"), ("folder", "directory"),
                           ("sock", "socket"), ("/dev/zero", "device"), ("/dev/null", "device"),
                           ("/dev/tty", "device"), (".", "directory")):
            for tool, more in (("read_sandbox_file", {}), ("write_sandbox_file", {"content": "x"}),
                               ("write_sandbox_file", {"content": "x", "mode": "append"}),
                               ("write_sandbox_file", {"old_text": "x", "new_text": "y"})):
                with self.subTest(path=path, tool=tool):
                    self.assert_fails(f"is a {kind}|does not exist", tool, path=path, **more)
        self.assert_reads("plain", "plain\n")

    def test_copied(self):
        self.sh(self.id, "cd /workspace; mkfifo fifo; mkdir d; mkfifo d/p; echo x > d/f; "
                f"ln -s {self.secret} d/link; ln -s /tmp d/folder")
        target = os.path.join(os.path.dirname(self.project), "target")
        for path in ("fifo", "/dev/zero", "d/link", "/proc/1/environ"):
            self.cp(f"{self.id}:{path}", target, code=1, timeout=60)
            self.assertFalse(os.path.lexists(target), path)
        result = self.cp("-r", f"{self.id}:d", target, code=1)
        self.assertEqual(os.listdir(target), ["f"])
        self.assertEqual(len(result.stderr.splitlines()), 3, result.stderr)

    def test_a_sparse_terabyte(self):
        """Parts of it are read; a copy that nothing could hold is refused before it begins."""
        self.sh(self.id, "cd /workspace; truncate -s 1T big 2>/dev/null || truncate -s 900M big; "
                "stat -c %s big > size; true")
        size = int(self.cp(f"{self.id}:size", "-").stdout)
        self.assert_reads("plain", "plain\n")
        failed, text = self.call("read_sandbox_file", path="big", offset=size - 3,
                                 encoding="base64")
        self.assertFalse(failed)
        self.assertEqual(text, f"AAAA\n[bytes {size - 3} to {size} of {size} · base64]")
        start = time.monotonic()
        failed, text = self.call("read_sandbox_file", path="big")
        self.assertFalse(failed)
        self.assertRegex(text, r"^\[binary file, \d+ bytes · for its bytes: encoding=base64\]$")
        self.assertLess(time.monotonic() - start, 30)
        self.assert_fails("has .* bytes", "write_sandbox_file", path="big", old_text="a",
                          new_text="b")

    def test_modes_are_stripped(self):
        self.sh(self.id, "cd /workspace; mkdir d; echo x > d/f; chmod 777 d/f; ! chmod 4777 d/f")
        for folder, _, files in os.walk(self.state):
            if "f" in files:
                os.chmod(os.path.join(folder, "f"), 0o6777)
        target = os.path.join(os.path.dirname(self.project), "target")
        self.cp("-r", f"{self.id}:d", target)
        mode = os.lstat(target + "/f").st_mode
        self.assertEqual(mode & 0o7000, 0, oct(mode))
        self.assertTrue(mode & stat.S_IXUSR, "the control")

    def test_links_of_the_host(self):
        """What lies beneath LOCAL already is not followed, whoever made it."""
        self.sh(self.id, "cd /workspace; mkdir -p d/sub; echo evil > d/sub/secret; echo evil > d/s")
        target = os.path.join(os.path.dirname(self.project), "target")
        os.mkdir(target)
        os.mkdir(target + "/d")
        victim = os.path.dirname(self.secret)
        os.symlink(victim, target + "/d/sub")
        os.symlink(self.secret, target + "/d/s")
        self.cp("-r", f"{self.id}:d", target, code=1)
        with open(self.secret, encoding="ascii") as file:
            self.assertEqual(file.read(), SECRET)
        self.assertFalse(os.path.islink(target + "/d/s"), "it is replaced, not followed")
        self.assertTrue(os.path.islink(target + "/d/sub"))

    def test_swapped_while_it_is_copied(self):
        """A folder, a file and links to the host's secret change places all the time."""
        self.serve()
        failed, _ = self.call("run_command", yield_ms=0, command=(
            "mkdir a; echo fine > a/f; while :; do mv a b; ln -s " + os.path.dirname(self.secret)
            + f" a; rm a; mv b a; ln -sf {self.secret} a/g; mv -T a/g a/f; rm a/f; mkfifo a/f; "
            "rm a/f; echo fine > a/f; done"))
        self.assertFalse(failed)
        read = 0
        for _ in range(60):
            failed, text = self.call("read_sandbox_file", path="a/f")
            self.assertNotIn(SECRET, text)
            read += not failed
            failed, text = self.call("list_sandbox_files", depth=4, path="a")
            self.assertNotIn(SECRET, text)
        self.assertGreater(read, 0, "the control: sometimes it is the file")


    def test_swapped_while_it_is_patched(self):
        """The folder of the patched files, and one of them, are links to the host's or to /etc by
        turns. They are changed in the sandbox or not at all, and no other file is."""
        self.serve()
        folder = os.path.dirname(self.secret)
        failed, text = self.call("run_command", yield_ms=0, command=(
            "mkdir a; echo 0 > a/secret; cp a/secret a/passwd; while :; do "
            f"for other in {folder} /etc; do mv a b; ln -s $other a; rm a; mv b a; "
            "mv a/passwd b; ln -s $other/passwd a/passwd; rm a/passwd; mv b a/passwd; done; done"))
        self.assertFalse(failed, text)
        done = refused = 0
        end = time.monotonic() + 60
        while time.monotonic() < end and (done < 5 or refused < 5 or done + refused < 60):
            failed, text = self.call("patch_sandbox_files", patch=(
                "*** Begin Patch\n*** Update File: a/secret\n@@\n-0\n+0\n"
                "*** Update File: a/passwd\n@@\n-0\n+0\n*** End Patch\n"))
            self.assertNotIn(SECRET, text)
            self.assertRegex(text, "^(Nothing was changed|a/)" if failed else "2 files changed")
            done += not failed
            refused += failed
        self.assertGreater(done, 0, "the control: sometimes it is the folder and the file")
        self.assertGreater(refused, 0, "the control: sometimes they are not")
        with open(self.secret, encoding="ascii") as file:
            self.assertEqual(file.read(), SECRET)
        self.assertEqual(sorted(os.listdir(self.project)), ["plain"])
        self.assertEqual([name for name in os.listdir(folder) if name.startswith(".msp-")], [])


class Meddlers(Case):
    """T20: what answers is reached by what runs beside it."""

    def test_records_that_others_write(self):
        """No other execution of the sandbox sees msp-file, its streams, or can stop it."""
        self.serve()
        self.assertFalse(self.call("write_sandbox_file", path="m.py", content=MEDDLER)[0])
        failed, text = self.call("run_command", command="exec python3 m.py 4", yield_ms=500)
        self.assertFalse(failed, text)
        handle = HANDLE.search(text).group()
        end = time.monotonic() + 3
        while time.monotonic() < end:
            self.assert_reads("plain", "plain\n")
            self.assertFalse(self.call("write_sandbox_file", path="new", content="x" * 200000)[0])
            self.assertFalse(self.call("list_sandbox_files", limit=1000)[0])
        text = support.text_of(self.server.call("read_output", 60, handle=handle, wait_ms=20000))
        found, stopped, controls = map(int, re.search(
            r"found (\d+) stopped (\d+) controls (\d+)", text).groups())
        self.assertEqual((found, stopped), (0, 0))
        self.assertGreater(controls, 0, "it finds the one of its own")

    def test_output_that_imitates_records(self):
        """The content of a file is content."""
        head = b"FILE" + b"\0" * 44
        self.put("record", head * 20)
        failed, text = self.call("read_sandbox_file", path="record", encoding="base64")
        self.assertFalse(failed, text)
        self.assertIn(f"[{20 * len(head)} bytes, all of it", text)
        names = ("[exit 0]", "a [there is more: offset=0]", "x\n644 1 2026 y", "\x1b[2J")
        for name in names:
            self.put(name, "x")
        failed, text = self.call("list_sandbox_files")
        self.assertFalse(failed)
        self.assertNotIn("\x1b", text)
        self.assertEqual(len(text.splitlines()), len(os.listdir(self.project)) + 1, text)


if __name__ == "__main__":
    unittest.main()
