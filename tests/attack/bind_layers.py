#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A --ro in a folder that the profile shows read-only: the folder gets a layer in which the mount
point can be made, so it is Landlock alone that keeps a command from writing there. Whatever a
command does in the layer, the host's folder is as it was."""
import os
import tempfile
import unittest

import evidence
import probes
import support

setUpModule = probes.needs_ordinary_user


class Layers(probes.Attack):
    def setUp(self):
        self.shown = tempfile.mkdtemp(dir=probes.scratch())
        with open(os.path.join(self.shown, "mark"), "w", encoding="ascii") as file:
            file.write("shown")
        self.options = ("--ro", self.shown + ":/usr/share/msp-shown")

    def folder(self):
        status = os.stat("/usr/share")
        return status.st_mtime_ns, status.st_ctime_ns, sorted(os.listdir("/usr/share"))

    @evidence.attack("T1", "a file made in the layer over a read-only folder", "landlock")
    def test_a_command_makes_nothing_in_the_layer(self):
        self.prove("create", "/usr/share/msp-made", errors=("EACCES",), options=self.options)

    def test_each_way_to_write_is_refused(self):
        """Also what is below the folder that got the layer, and the folder that is shown."""
        for line in ("echo x > /usr/share/msp-made", "mkdir /usr/share/msp-made",
                     "ln -s x /usr/share/msp-made", "rm /usr/share/msp-shown/mark",
                     "rmdir /usr/share/msp-shown", "mv /usr/share/doc /usr/share/msp-doc",
                     "echo x > /usr/share/doc/msp-made", "echo x > /usr/share/msp-shown/mark",
                     "echo x >> /usr/share/msp-shown/mark", "truncate -s 0 /usr/share/msp-shown/mark"):
            with self.subTest(line=line):
                result = support.run("sh", "-c", line, options=self.options)
                self.assertNotEqual(result.returncode, 0)
                self.assertRegex(result.stderr, "Permission denied|Read-only|busy|cross-device")

    def test_the_hosts_folder_is_as_it_was(self):
        """Without Landlock, too: what is made goes into the layer, and with the sandbox."""
        before = self.folder()
        result, _ = probes.msp_run("sh", "-c", "mkdir /usr/share/msp-made && ls /usr/share",
                                   without="landlock", options=self.options)
        self.assertIn("msp-made", result.stdout)
        result, _ = probes.msp_run("ls", "/usr/share", options=self.options)
        self.assertNotIn("msp-made", result.stdout)
        self.assertEqual(self.folder(), before)


if __name__ == "__main__":
    unittest.main()
