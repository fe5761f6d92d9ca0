#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`msp commit`: what a sandbox changed in its root becomes a layer of a new image, and all of it."""
import json
import os
import subprocess
import unittest

import support
from cli_support import LIMITS
from image_profiles import WithImages

HOME = os.path.dirname(os.__file__)
LIBRARY = f"""environment: [PYTHONHOME=/python],
     files: [{{at: /python/lib/{os.path.basename(HOME)}, kind: bind, from: {HOME}}}],
     landlock: [{{path: /python, rights: [read, execute]}}]"""
PROFILES = f"""
  - {{name: own-python, extends: own, {LIBRARY}}}
  - {{name: one-python, extends: image, image: "one:1", {LIBRARY}}}
  - {{name: one, extends: image, image: "one:1"}}
  - {{name: more, extends: image, image: "one:1", root: writable}}
  - {{name: two, extends: image, image: "two:1"}}
"""
# Every kind of change; all times are set, since the digest has them.
CHANGES = """
echo new > /opt/new; chmod 640 /opt/new; rm /opt/kept; rm -r /opt/covered; mkdir /opt/covered; echo four > /opt/covered/four
rm -r /usr/local/bin; echo file > /usr/local/bin; rm /etc/issue; mkdir -m 750 /etc/issue; echo in > /etc/issue/in
cat /opt/new > /opt/same; rm /opt/same
"""
PYTHON_CHANGES = """
import os
for name in ("/opt/hard-b", "/opt/hard-a"):
    os.link("/opt/new", name)
os.symlink("../etc/passwd", "/opt/link")
os.symlink("x" * 3000, "/opt/long-link")
os.makedirs("/opt/" + "/".join(["d" * 200] * 3))
with open("/opt/big", "wb") as file:
    file.write(bytes(range(256)) * 4096)
    file.truncate(3 << 20)
with open("/opt/n\\u00e4me \\t", "w") as file:
    file.write("x")
os.mkfifo("/usr/lib64/fifo")
for name in ("/opt/big", "/opt/big", "/opt/new", "/opt/covered"):
    os.setxattr(name, "user.mine", b"x")
    os.setxattr(name, "user.other", b"x")
os.unlink("/opt/gone-too"), os.mkfifo("/opt/gone-too")
for top, folders, files in os.walk("/opt", topdown=False):
    for name in files + folders:
        os.utime(os.path.join(top, name), (1e9, 1e9), follow_symlinks=False)
"""
LOOK = """
import hashlib, os, stat
for top, folders, files in os.walk("/opt"):
    folders.sort()
    for name in sorted(files + folders):
        path = os.path.join(top, name)
        s = os.lstat(path)
        what = os.readlink(path) if stat.S_ISLNK(s.st_mode) else ""
        if stat.S_ISREG(s.st_mode):
            what = f"{hashlib.sha256(open(path, 'rb').read()).hexdigest()} {s.st_nlink} {int(s.st_mtime)}"
        print(ascii(path), oct(s.st_mode), what)
print(oct(os.stat("/etc/issue").st_mode), open("/etc/issue/in").read(), open("/usr/local/bin").read())
"""


class Case(WithImages):
    def setUp(self):
        super().setUp()
        with open(self.config, "a", encoding="utf-8") as file:
            file.write(PROFILES)

    def create(self, profile, name="box"):
        result = self.command("create", "--profile", profile, f"--name={name}")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.addCleanup(self.command, "destroy", name)

    def inside(self, *words, name="box"):
        result = self.command("exec", *LIMITS, name, "--", *words)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def change(self, script, name="box"):
        return self.inside("sh", "-c", script, name=name)

    def python_inside(self, script, name="box"):
        return self.inside("/usr/local/lib/py/python", "-c", script, name=name)

    def commit(self, image="one:1", sandbox="box"):
        result = self.command("commit", sandbox, image)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, image + "\n")
        return result.stderr

    def refused(self, code, says, *words):
        before = sorted(os.listdir(self.store.path + "/names")), sorted(os.listdir(self.store.path + "/layers"))
        result = self.command("commit", *words)
        self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)
        self.assertRegex(result.stderr, says)
        self.assertEqual(before, (sorted(os.listdir(self.store.path + "/names")),
                                  sorted(os.listdir(self.store.path + "/layers"))))
        return result.stderr

    def show(self, image):
        result = self.command("image", "show", "--json", image)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def layers(self, image):
        return [layer["diff_id"] for layer in self.show(image)["layers"]]


class Commit(Case):
    def test_every_change_is_in_the_image(self):
        with open(self.store.path + "/layers/" + self.layers("distro:1")[0][7:] + "/opt/gone-too", "w",
                  encoding="utf-8") as file:
            file.write("lower\n")
        before = subprocess.run(["find", self.store.path + "/layers", "-printf", "%P %y %m %s %T@\\n"],
                                capture_output=True, text=True, check=True).stdout
        self.create("own-python")
        self.change(CHANGES)
        self.python_inside(PYTHON_CHANGES)
        found = self.python_inside(LOOK)
        self.assertIn("0o120777 ../etc/passwd", found)
        self.assertEqual(found.count(" 3 1000000000\n"), 3, found)
        said = self.commit()
        self.assertRegex(said, r"left out: devices, FIFOs and sockets \(2\), extended attributes \(3\)\n.*: 4 layers, ")
        # But for the FIFO, which hides what was there as in the sandbox.
        self.assertIn("gone-too", found)
        wanted = "".join(line for line in found.splitlines(True) if "gone-too" not in line)
        self.assertEqual(self.inside("/usr/local/lib/py/python", "-c", LOOK), found)
        result = self.run_msp("/usr/local/lib/py/python", "-c", LOOK, options=("--profile", "one-python"))
        self.assertEqual((result.returncode, result.stdout), (0, wanted), result.stderr)
        # The base is as before, and so is its profile's sandbox: the control.
        self.assertEqual(self.says("read", "cat /etc/issue; ls /opt /opt/covered"),
                         "distro\n/opt:\ncovered\ngone-too\nkept\n\n/opt/covered:\nthree\n")
        after = subprocess.run(["find", self.store.path + "/layers", "-printf", "%P %y %m %s %T@\\n"],
                               capture_output=True, text=True, check=True).stdout
        # The directory of all layers has one more.
        self.assertEqual(set(before.splitlines()[1:]) - set(after.splitlines()), set())
        new, base = self.show("one:1"), self.show("distro:1")
        for key in ("environment", "cwd", "entrypoint", "command"):
            self.assertEqual(new[key], base[key])
        self.assertEqual([layer["diff_id"] for layer in new["layers"][:3]],
                         [layer["diff_id"] for layer in base["layers"]])
        self.assertGreater(new["layers"][3]["entries"], 10)
        self.assertRegex(self.command("image", "show", "one:1").stdout, r"digest +sha256:[0-9a-f]{64}, of layers and")

    def test_the_same_files_have_the_same_digest(self):
        self.create("own")
        self.change("rm /opt/kept")
        self.commit("one:1")
        self.commit("two:1")
        self.assertEqual(self.show("one:1")["digest"], self.show("two:1")["digest"])
        count = len(os.listdir(self.store.path + "/layers"))
        self.change("echo more > /opt/more")
        self.commit("two:1")  # the name moves
        self.assertNotEqual(self.show("one:1")["digest"], self.show("two:1")["digest"])
        self.assertEqual(len(os.listdir(self.store.path + "/layers")), count + 1)

    def test_a_commit_on_a_commit(self):
        self.create("own")
        self.change("echo first > /opt/first; rm /opt/kept")
        self.commit("one:1")
        self.create("more", "next")
        self.change("rm /opt/first; echo second > /opt/second", "next")
        self.commit("two:1", "next")
        self.assertEqual(self.says("one", "ls /opt"), "covered\nfirst\n")
        self.assertEqual(self.says("two", "ls /opt"), "covered\nsecond\n")
        self.assertEqual(self.layers("two:1")[:4], self.layers("one:1"))

    def test_layers_of_checkpoints_and_forks(self):
        """What one layer makes another hides; a directory is removed and made again between them."""
        self.create("own")
        self.change("echo a > /opt/a; echo b > /opt/b; mkdir /opt/dir; echo x > /opt/dir/x; rm -r /opt/covered")
        self.assertEqual(self.command("checkpoint", "box").returncode, 0)
        self.change("rm /opt/a; rm -r /opt/dir; mkdir /opt/dir; echo y > /opt/dir/y; mkdir /opt/covered; echo c > /opt/covered/c")
        self.assertEqual(self.command("checkpoint", "box").returncode, 0)
        result = self.command("fork", "--name=branch", "box")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.addCleanup(self.command, "destroy", "branch")
        self.change("rm -r /opt/b /opt/dir; echo file > /opt/dir; echo z > /opt/covered/z")
        self.commit("one:1")
        self.commit("two:1", "branch")
        look = "cd /opt && ls -p . covered dir"
        self.assertEqual(self.says("one", look), "dir\n\n.:\ncovered/\ndir\nkept\n\ncovered:\nc\nz\n")
        self.assertEqual(self.says("two", look), ".:\nb\ncovered/\ndir/\nkept\n\ncovered:\nc\n\ndir:\ny\n")

    def test_nothing_has_changed(self):
        self.create("own")
        said = self.commit("one:1")
        self.assertIn("nothing in the sandbox's root has changed: one:1 is its image", said)
        self.assertEqual(self.show("one:1")["digest"], self.show("distro:1")["digest"])


class Refused(Case):
    def test_words(self):
        self.refused(64, "a sandbox and a name are missing")
        self.refused(64, "the name of the image is missing", "box")
        self.refused(64, "there is no sandbox 'box': 'msp list' shows them", "box", "one:1")
        self.refused(64, "'UP:1': ", "box", "UP:1")
        self.refused(64, "give a name alone", "box", "one@sha256:" + "1" * 64)

    def test_profiles_without_a_root_of_ones_own(self):
        self.create("read")
        self.refused(78, "the root of the sandbox's profile read is read-only", "box", "one:1")
        self.create("default", "plain")
        self.refused(78, "the sandbox's profile default has no image", "plain", "one:1")

    def test_a_sandbox_that_runs(self):
        self.create("own")
        process = subprocess.Popen([support.MSP, "exec", *LIMITS, "box", "--", "sh", "-c", "echo; sleep 60"],
                                   env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        process.stdout.readline()
        self.refused(75, "the sandbox 'box' is in use, and its files may be written: 'msp stop box'", "box", "one:1")
        self.assertEqual(self.command("stop", "box").returncode, 0)
        self.commit("one:1")

    def test_as_many_layers_as_can_be(self):
        layers = [self.store.layer(f"empty {number}") for number in range(126)]
        base = os.path.join(self.store.path, "layers", self.layers("lower:1")[0][7:])
        for count in (126, 127):
            self.store.keep("one:1", [base, *layers[:count - 1]])
            self.create("more", f"box{count}")
            self.change("echo x > /opt/x; echo > /opt/.wh.x", f"box{count}")
        self.refused(78, "has 127 layers, and no image can have more", "box127", "two:1")
        self.store.keep("one:1", [base, *layers[:125]])
        self.refused(78, r"'opt/\.wh\.x': no name", "box126", "two:1")  # what packing finds comes after that
        self.change("rm /opt/.wh.x", "box126")
        self.commit("two:1", "box126")
        self.assertEqual(self.says("two", "cat /opt/x"), "x\n")

    def test_no_room(self):
        self.create("own-python")
        self.python_inside("with open('/opt/large', 'wb') as file:\n    file.truncate(1 << 28)\n")
        with open(self.config, "a", encoding="utf-8") as file:
            file.write("images: {disk: 100M}\n")
        self.refused(78, "more than .* left for images: 'msp image remove' makes room, or images.disk", "box", "one:1")
        self.assertEqual(os.listdir(self.store.path + "/incoming"), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
