#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From an archive to a command: an image is imported, its layers hide what they say in a sandbox, and it
stays while that runs."""
import io
import os
import shutil
import subprocess
import tarfile
import tempfile
import unittest

import image_store
import images_support
import support
from cli_support import LIMITS, msp
from config_support import WithFolder
from images_support import Image, entry, layer

PROFILES = """\
profiles:
  - {name: upper, extends: image, image: "upper:1"}
  - {name: lower, extends: image, image: "lower:1"}
"""
USED = """\
  - {name: used, extends: image, image: "used:1"}
"""


def distribution():
    """A layer with programs of this machine, as tar packs it."""
    with tempfile.TemporaryDirectory() as folder:
        image_store.fill_distro(folder)
        for name in ("gone", "covered/one", "kept"):
            image_store.put_file(folder, f"/opt/{name}", name + "\n")
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            tar.add(folder, arcname=".")
        return out.getvalue()


class Run(WithFolder):
    @classmethod
    def setUpClass(cls):
        lower = distribution()
        upper = layer(entry("opt"), entry("opt/.wh.gone", ""), entry("opt/covered"),
                      entry("opt/covered/.wh..wh..opq", ""), entry("opt/covered/two", "two\n"),
                      entry("opt/say", "#!/bin/sh\necho said in $(pwd)\n", mode=0o4755))
        cls.used = layer(entry("opt"), entry("opt/used", "used\n"))
        config = {"WorkingDir": "/opt", "Entrypoint": ["/opt/say"], "Env": ["PATH=/opt:/bin", "FROM=image"]}
        cls.store = images_support.Store(tempfile.mkdtemp())
        cls.addClassCleanup(cls.store.close)
        cls.used_image = Image(lower, cls.used)
        for name, image in (("lower:1", Image(lower)), ("upper:1", Image(lower, upper, **config)),
                            ("used:1", cls.used_image)):
            image.compression = ""
            result = cls.store.import_files(image.oci(name))
            assert result.returncode == 0, result.stderr

    def setUp(self):
        super().setUp()
        self.config = self.write(PROFILES)

    def environment(self, **more):
        return super().environment(MSP_STATE_DIR=self.store.state, MSP_CONFIG=self.config, **more)

    def says(self, profile, *words):
        result = self.run_msp(*words, options=("--profile", profile))
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_layers(self):
        self.assertEqual(self.says("upper", "sh", "-c", "ls /opt /opt/covered; echo $FROM"),
                         "/opt:\ncovered\nkept\nsay\n\n/opt/covered:\ntwo\nimage\n")
        self.assertEqual(self.says("lower", "ls", "/opt", "/opt/covered"),
                         "/opt:\ncovered\ngone\nkept\n\n/opt/covered:\none\n")

    def test_command(self):
        self.assertEqual(self.says("upper"), "said in /opt\n")

    def test_a_command_that_is_not_in_it(self):
        """What is said of the files that a sandbox has is true of this one."""
        result = self.run_msp("no-such-command", options=("--profile", "upper"))
        self.assertEqual(result.returncode, 127)
        self.assertIn("no-such-command: not found in the sandbox: only the image's files, ", result.stderr)
        self.assertNotIn("/usr", result.stderr)
        result = self.run_msp("no-such-command")
        self.assertIn("only /usr, ", result.stderr, "the control")

    def test_a_lost_layer_comes_back(self):
        """The next import gives it its place again, though the image's manifest is as it was."""
        image = Image(distribution(), layer(entry("opt"), entry("opt/lost", "found\n")))
        image.compression = ""
        self.config = self.write(PROFILES + USED.replace("used:1", "lost:1"))
        words = ["run", *LIMITS, "--profile=used", "--", "cat", "/opt/lost"]
        self.assertEqual(self.store.import_files(image.oci("lost:1")).returncode, 0)
        self.assertEqual(msp(*words, env=self.environment()).stdout, "found\n")
        shutil.rmtree(self.store.layer(image.layers[-1]))
        result = msp(*words, env=self.environment())
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("the image 'lost:1' is damaged", result.stderr)
        self.assertEqual(self.store.import_files(image.oci("lost:1")).returncode, 0)
        self.assertEqual(msp(*words, env=self.environment()).stdout, "found\n")

    def test_an_image_stays_while_it_runs(self):
        self.config = self.write(PROFILES + USED)
        with subprocess.Popen([support.MSP, "run", "--standalone", *LIMITS, "--profile=used", "--", "sh", "-c",
                               "echo up; read go; cat /opt/used"],
                              env=self.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as running:
            self.assertEqual(running.stdout.readline(), "up\n")
            again = self.store.import_files(self.used_image.oci("used:1"))
            self.assertEqual(again.returncode, 0, again.stderr)
            result = self.store.msp("remove", "used:1")
            self.assertEqual(result.returncode, 75, result.stderr)
            self.assertIn(b"is used by a running msp", result.stderr)
            self.assertEqual(running.communicate("\n", timeout=60)[0], "used\n")
        removed = self.store.msp("remove", "used:1")
        self.assertEqual(removed.returncode, 0, removed.stderr)
        self.assertFalse(os.path.exists(self.store.layer(self.used)))
        result = msp("run", *LIMITS, "--profile=used", "--", "true", env=self.environment())
        self.assertEqual(result.returncode, 64, result.stderr)
        self.assertIn("'used' cannot be used: the image 'used:1' is not in the store", result.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
