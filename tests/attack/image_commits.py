#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A workload prepares its root for `msp commit`: nothing of the host comes into the image, no name or
attribute of it is taken for an instruction, and what cannot be told is refused."""
import os
import unittest

import evidence  # noqa: F401  (the path to the tests' own modules)
import probes
from cli_support import msp
from images_commit import Case as Commits

setUpModule = probes.needs_ordinary_user

SECRET = "of the host, and no sandbox's"
PREPARE = """
import os
os.symlink({secret!r}, "/opt/link")
os.symlink("/", "/opt/root")
os.rename("/opt/kept", "/opt/was-kept"), os.symlink({folder!r}, "/opt/kept")
os.mkdir("/opt/moved"), os.rename("/opt/covered/three", "/opt/moved/three"), os.rmdir("/opt/covered")
os.symlink("../../../../../..", "/opt/covered")
open("/opt/mine", "w").close()
for name in ("opaque", "redirect", "metacopy", "whiteout", "overlay.opaque", "origin"):
    for path in ("/opt", "/opt/mine", "/etc"):
        try:
            os.setxattr(path, "user.overlay." + name, b"y")
        except OSError as error:
            pass
for name in ("trusted.overlay.opaque", "security.capability"):
    try:
        os.setxattr("/opt/mine", name, b"y")
    except OSError:
        pass
"""


class Prepared(Commits):
    def test_links_and_attributes(self):
        secret = os.path.join(self.folder, "secret")
        with open(secret, "w", encoding="utf-8") as file:
            file.write(SECRET)
        self.create("own-python")
        self.python_inside(PREPARE.format(secret=secret, folder=self.folder))
        result = self.command("commit", "box", "one:1")
        if result.returncode != 0:  # an old kernel lets the workload set such an attribute
            self.assertRegex(result.stderr, "has the attribute user.overlay")
            return
        layer = os.path.join(self.store.path, "layers", self.layers("one:1")[-1][7:])
        found = {os.path.relpath(os.path.join(top, name), layer)
                 for top, folders, files in os.walk(layer) for name in files + folders}
        self.assertEqual(os.readlink(layer + "/opt/link"), secret)
        self.assertEqual(os.readlink(layer + "/opt/kept"), self.folder)
        self.assertLess(len(found), 60, found)
        for name in found:
            path = os.path.join(layer, name)
            self.assertEqual([a for a in os.listxattr(path, follow_symlinks=False)
                              if a != "user.overlay.opaque" or name in ("opt", "etc")], [], name)
            if os.path.isfile(path) and not os.path.islink(path):
                with open(path, encoding="utf-8", errors="replace") as file:
                    self.assertNotIn(SECRET, file.read())
        # What the marks would have hidden is there.
        self.assertEqual(self.says("one", "cat /opt/was-kept; ls /opt /opt/moved"),
                         "kept\n/opt:\ncovered\nkept\nlink\nmine\nmoved\nroot\nwas-kept\n\n/opt/moved:\nthree\n")

    def test_whiteouts_by_name(self):
        self.create("own")
        for name in (".wh.kept", ".wh..wh..opq", ".wh."):
            with self.subTest(name=name):
                self.change(f"echo x > /opt/{name}")
                self.refused(78, f"'opt/{name}': no name can begin with .wh.", "box", "one:1")
                self.change(f"rm /opt/{name}")
        self.commit("one:1")  # the control

    def test_files_that_cannot_be_read(self):
        self.create("own-python")
        for make, undo in (("open('/opt/x', 'w')", "rm /opt/x"), ("os.mkdir('/opt/x')", "rm -r /opt/x")):
            with self.subTest(make=make):
                self.python_inside(f"import os\n{make}\nos.chmod('/opt/x', 0)")
                self.refused(78, "'opt/x': its permissions do not let it be read: 'chmod u\\+r'", "box", "one:1")
                self.change(undo)
        self.commit("one:1")

    def test_names_that_are_no_text(self):
        self.create("own-python")
        self.python_inside(r"open(b'/opt/\xff', 'w').close()")
        result = msp("commit", "box", "one:1", env=self.environment(), errors="replace")
        self.assertEqual((result.returncode, result.stdout), (78, ""), result.stderr)
        self.assertRegex(result.stderr, "it cannot be written: .*UTF-8")

    def test_deep_directories(self):
        self.create("own-python")
        self.python_inside("import os\nos.chdir('/opt')\nfor i in range(30):\n    os.mkdir('d' * 250)\n    os.chdir('d' * 250)\n")
        self.refused(78, "no path can have more than", "box", "one:1")


if __name__ == "__main__":
    unittest.main(verbosity=2)
