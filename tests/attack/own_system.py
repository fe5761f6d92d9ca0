#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A hostile workload in a system that it can write (`system: writable`): the host's files stay as they
are, no file gives rights by a bit, the directories that lie between are out of reach, and nothing more
of the host is shown. Each attack has its control beside it."""
import ast
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "integration"))
import support  # noqa: E402  (a folder of its own)
from persistent_support import PersistentCase, msp  # noqa: E402

PROFILES = """profiles:
  - {name: own, extends: default, system: writable}
"""
FRAMES = f"/dev/shm/msp-{os.getuid()}/frames"
TOPS = ("/usr", "/etc", "/opt", "/var/lib")

# Try each way to change what is there, on some files of each directory, and then each directory.
# Prints the ways that a file let through, how many were tried, and how many new files there are.
CHANGE = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)

def link(path):
    os.link(path, path + ".msp-linked")

WAYS = {
    "write": lambda path: os.close(os.open(path, os.O_WRONLY)),
    "append": lambda path: os.close(os.open(path, os.O_WRONLY | os.O_APPEND)),
    "truncate": lambda path: os.truncate(path, 0),
    "mode": lambda path: os.chmod(path, 0o777),
    "owner": lambda path: os.chown(path, os.getuid(), os.getgid()),
    "times": lambda path: os.utime(path, (1, 1)),
    "attribute": lambda path: os.setxattr(path, "user.msp", b"1"),
    "capability": lambda path: os.setxattr(path, "security.capability", bytes(20)),
}
through, tried, made = set(), 0, 0
for top in sys.argv[1:]:
    for folder, folders, names in os.walk(top):
        for name in sorted(names)[:2]:
            path = os.path.join(folder, name)
            if os.path.islink(path) or not os.path.isfile(path):
                continue
            for way, act in WAYS.items():
                tried += 1
                try:
                    act(path)
                    through.add((way, path))
                except OSError:
                    pass
        try:
            open(os.path.join(folder, "msp-made"), "w").close()
            made += 1
        except OSError:
            pass
print((sorted(through), tried, made))
"""
# Bits that give rights, on files of the sandbox's own.
RIGHTS = """
import os, shutil
def own(name):
    shutil.copyfile("/usr/bin/id", name)
    os.chmod(name, 0o755)
    return name
def opened(name):
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o6755))
for name, act in (("/usr/bin/own1", lambda n: os.chmod(own(n), 0o4755)),
                  ("/usr/local/bin/own2", lambda n: os.chmod(own(n), 0o2755)),
                  ("/opt/own3", opened),
                  ("/usr/bin/own4", lambda n: os.setxattr(own(n), "security.capability",
                                                          bytes.fromhex("010000020004000000000000" + "00" * 8)))):
    try:
        act(name)
    except OSError:
        pass
    print(name, oct(os.stat(name).st_mode & 0o7000) if os.path.exists(name) else "0o0",
          "security.capability" in (os.listxattr(name) if os.path.exists(name) else []))
"""
# Mounts below the system that could give rights, and each name of a frame that something tells.
LOOK = """
import os
for line in open("/proc/self/mountinfo"):
    fields = line.split()
    if fields[4].startswith(("/usr", "/opt", "/var", "/etc")) or fields[4] == "/":
        if "nosuid" not in fields[5].split(",") or "nodev" not in fields[5].split(","):
            print("rights:", line)
    if "frames" in line or "/dev/shm/msp-" in line:
        print("frame:", line)
for place in ("/dev/shm", "/proc/1/root/dev/shm", "/proc/self/root/dev/shm"):
    try:
        print(*("frame: " + name for name in os.listdir(place)))
    except OSError:
        pass
"""


def stamps(*tops):
    """Each file's name, mode, owner, size and time of the last change of any of these."""
    found = {}
    for top in tops:
        for folder, folders, names in os.walk(top):
            for name in [""] + folders + names:
                path = os.path.join(folder, name)
                try:
                    status = os.lstat(path)
                except OSError:
                    continue
                found[path] = (status.st_mode, status.st_uid, status.st_size, status.st_ctime_ns)
    return found


class System(PersistentCase):
    def setUp(self):
        super().setUp()
        path = os.path.join(os.path.dirname(self.state), "config.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(PROFILES)
        self.environment = {**os.environ, "MSP_CONFIG": path}
        self.run_in("own", "pass")  # makes the frames

    def msp(self, *words, **keywords):
        return msp(*words, env=self.environment, **keywords)

    def run_in(self, profile, script, *words):
        return self.msp("run", *support.limits(), f"--profile={profile}", "--", "python3", "-c", script,
                        *words).stdout

    def make(self):
        box = self.msp("create", "--profile=own").stdout.strip()
        self.addCleanup(self.destroy, box)
        return box

    def destroy(self, box):
        msp("destroy", box, code=None)
        trash = os.path.join(self.state, "trash")
        self.assertTrue(support.wait_until(lambda: not os.path.isdir(trash) or not os.listdir(trash), 60))

    def test_files_of_the_host_stay(self):
        """The control: directories of the same sandbox take new files, by the thousand."""
        tops = [top for top in TOPS if os.path.isdir(top)]
        before, frames = stamps(*tops), stamps(FRAMES)
        self.assertGreater(len(frames), 100)
        box = self.make()
        for told in (self.run_in("own", CHANGE, *tops),
                     self.msp("exec", box, "--", "python3", "-c", CHANGE, *tops).stdout):
            through, tried, made = ast.literal_eval(told)
            # The profile's own files in /etc are the sandbox's.
            self.assertEqual([path for _, path in through if not path.startswith("/etc/")], [])
            self.assertGreater(tried, 1000)
            self.assertGreater(made, 100)
        changed = {path for path, stamp in stamps(*tops).items() if before.get(path) != stamp}
        self.assertEqual({path for path in changed if "msp" in os.path.basename(path)}, set())
        self.assertEqual({path for path in changed if path in before and before[path][0] & 0o111}, set())
        self.assertEqual(stamps(FRAMES), frames)

    def test_no_file_gives_rights(self):
        box = self.make()
        for told in (self.run_in("own", RIGHTS),
                     self.msp("exec", box, "--", "python3", "-c", RIGHTS).stdout):
            self.assertEqual(len(told.splitlines()), 4)
            for line in told.splitlines():
                self.assertRegex(line, r" 0o0 False\Z")

    def test_frames_have_no_name_inside(self):
        """The control: their names are known outside, and the user could change them there."""
        self.assertTrue(os.access(FRAMES, os.W_OK))
        box = self.make()
        for told in (self.run_in("own", LOOK), self.msp("exec", box, "--", "python3", "-c", LOOK).stdout):
            self.assertEqual(told.split(), [])

    def test_nothing_more_is_shown(self):
        """The control: /etc and /var have files in both."""
        listing = ("import os\nfor top in ('/etc', '/var', '/opt'):\n"
                   "    for folder, folders, names in os.walk(top):\n"
                   "        for name in folders + names: print(os.path.join(folder, name))\n")
        more, known = (set(self.run_in(profile, listing).splitlines()) for profile in ("own", "default"))
        self.assertGreater(len(known), 20)
        self.assertEqual(more - known, set())
        self.assertEqual(known - more, set())


if __name__ == "__main__":
    unittest.main()
