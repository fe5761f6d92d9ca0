#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Layers on the oldest kernel that README names, Debian 12's own Linux 6.1: the folder of a run, a sandbox
that lasts, an image. tests/run.sh starts this file in a machine with that kernel (MSP_KERNEL=6.1).
Anywhere else it is the control."""
import os
import tempfile
import unittest

import units
import images_support
import support
from cli_support import msp
from config_support import WithFolder
from images_run import distribution
from images_support import Image, entry, layer

# More than the 255 bytes that fsconfig(2) takes for a value.
IMAGE_LAYERS = 120
CONFIG = """\
requirements: {landlock: 2}
profiles:
  - {name: deep, extends: image, image: "deep:1"}
"""
REPLACE = "rm -r /opt/covered && mkdir /opt/covered && echo made"


def release():
    return tuple(int(part) for part in os.uname().release.split(".")[:2])


class Layers(WithFolder):
    @classmethod
    def setUpClass(cls):
        # On a disk: a tmpfs has no attributes of users before Linux 6.6.
        cls.store = images_support.Store(tempfile.mkdtemp(dir=os.path.expanduser("~")))
        cls.addClassCleanup(cls.store.close)
        image = Image(distribution(), *(layer(entry("opt"), entry("opt/top", f"{number}\n"))
                                        for number in range(2, IMAGE_LAYERS + 1)))
        image.compression = ""
        result = cls.store.import_files(image.oci("deep:1"))
        assert result.returncode == 0, result.stderr

    def setUp(self):
        super().setUp()
        self.config = self.write(CONFIG)
        self.project = os.path.join(self.folder, "project")
        os.makedirs(os.path.join(self.project, "sub"))
        for name in ("kept", "gone", "sub/one"):
            self.write(name + "\n", os.path.join("project", name))

    def environment(self, **more):
        return super().environment(MSP_STATE_DIR=self.store.state, MSP_CONFIG=self.config, **more)

    def does(self, *words, code=0):
        """What msp prints, in the project."""
        result = msp(*words, env=self.environment(), cwd=self.project)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout

    def files(self):
        """{name: text} of the project."""
        found = {}
        for top, _, names in os.walk(self.project):
            for name in names:
                path = os.path.join(top, name)
                with open(path, encoding="utf-8") as file:
                    found[os.path.relpath(path, self.project)] = file.read()
        return found

    def test_the_kernel(self):
        wanted = os.environ.get("MSP_KERNEL")
        if wanted:
            self.assertEqual("{}.{}".format(*release()), wanted)
        self.assertEqual(self.does("run", "--", "uname", "-r").strip(), os.uname().release)

    def test_a_run_with_a_folder(self):
        out = self.does("run", "-w", "--", "sh", "-c",
                        "echo new > kept; rm gone; rm -r sub; mkdir sub; echo two > sub/two; ls . sub")
        self.assertEqual(out, ".:\nkept\nsub\n\nsub:\ntwo\n")
        self.assertEqual(self.files(), {"kept": "kept\n", "gone": "gone\n", "sub/one": "sub/one\n"})
        self.does("apply", "-1")
        self.assertEqual(self.files(), {"kept": "new\n", "sub/two": "two\n"})

    def test_a_sandbox_that_lasts(self):
        self.does("create", "--name=box", "--workspace=.")
        self.addCleanup(msp, "destroy", "box", env=self.environment())
        self.does("exec", "box", "--", "sh", "-c", "echo 1 > kept; rm -r sub; mkdir sub; echo 1 > ~/own")
        self.does("checkpoint", "box", "first")
        self.does("exec", "box", "--", "sh", "-c", "echo 2 > kept; rm gone ~/own; echo 2 > sub/two")
        self.assertEqual(self.does("exec", "box", "--", "sh", "-c", "cat kept; ls . sub ~"),
                         "2\n.:\nkept\nsub\n\n/home/agent:\n\nsub:\ntwo\n")
        self.does("rollback", "box", "first")
        self.assertEqual(self.does("exec", "box", "--", "sh", "-c", "cat kept; ls . sub ~"),
                         "1\n.:\ngone\nkept\nsub\n\n/home/agent:\nown\n\nsub:\n")
        self.does("apply", "box")
        self.assertEqual(self.files(), {"kept": "1\n", "gone": "gone\n"})
        self.does("undo", "box")
        self.assertEqual(self.files(), {"kept": "kept\n", "gone": "gone\n", "sub/one": "sub/one\n"})

    def test_no_layer_has_a_name_inside(self):
        shown = self.does("run", "-w", "--", "grep", "overlay", "/proc/self/mountinfo")
        self.assertRegex(shown, r"lowerdir=[0-9:]+,upperdir=\d+,workdir=\d+,userxattr")
        self.assertNotIn(self.folder, shown)
        self.assertNotIn(self.store.folder, shown)

    def test_an_image(self):
        run = ("run", "--profile=deep", "--")
        self.assertEqual(self.does(*run, "cat", "/opt/top", "/opt/kept"), f"{IMAGE_LAYERS}\nkept\n")
        self.does("create", "--name=deep", "--profile=deep")
        self.addCleanup(msp, "destroy", "deep", env=self.environment())
        self.assertEqual(self.does("exec", "deep", "--", "cat", "/opt/top"), f"{IMAGE_LAYERS}\n")

    def test_the_doctor_says_what_the_kernel_does(self):
        said = " ".join(self.does("doctor").split())
        self.assertIn("msp can run here", said)
        self.assertIn("ok overlay", said)
        self.assertIn("ok persistent", said)
        self.assertNotIn("modprobe overlay", said)
        ran = msp("run", "--profile=deep", "--", "sh", "-c", REPLACE, env=self.environment())
        self.assertEqual(ran.stdout == "made\n", release() >= (6, 6), ran.stderr)
        self.assertEqual("no folder can be made in the place" in said, release() < (6, 6))


if __name__ == "__main__":
    unittest.main()
