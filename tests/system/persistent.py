#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A persistent sandbox under the service, with cgroups: a leaf for each execution, whose leftovers
die with it and leave the others alone."""
import os
import shutil
import subprocess
import tempfile
import unittest

import units
from units import support

import own_cgroup  # whose folder is known by now

SECONDS = 60
EPHEMERAL_MAX = 1024 + 32  # supervisor/base/state.h: their slots, some of them made ahead, are below


class Persistent(units.ServiceCase):
    def setUp(self):
        self.install()
        units.systemctl("start", "msp.service")
        made = units.msp("create", "--name=box")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.addCleanup(lambda: units.msp("destroy", "box"))
        self.sandboxes = f"{units.cgroup()}/msp.{units.main_pid()}/sandboxes"

    def start(self, text):
        return subprocess.Popen([os.path.join(support.BIN, "msp"), "exec", "box", "--", "sh", "-c",
                                 text], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)

    def leaves(self):
        """What runs in each leaf of those that last, by its name."""
        found = {}
        for folder, _, _ in os.walk(self.sandboxes):  # which passes over what is gone meanwhile
            sandbox, _, leaf = os.path.relpath(folder, self.sandboxes).partition("/")
            if leaf and "/" not in leaf and int(sandbox.removeprefix("s")) >= EPHEMERAL_MAX:
                found[leaf] = own_cgroup.pids_in(folder)
        return found

    def test_executions_have_leaves(self):
        first = self.start("sleep 1000")
        self.assertTrue(support.wait_until(lambda: len(self.leaves().get("e0", ())) == 2, SECONDS))
        second = self.start("setsid sleep 1001 >/dev/null 2>&1 & sleep 1; echo ends")
        self.assertTrue(support.wait_until(lambda: self.leaves().get("e1"), SECONDS))
        output = second.communicate(timeout=SECONDS)[0]
        self.assertRegex(output, r"\Aends\n.*: 1 background process was ended .*\n\Z")
        self.assertTrue(support.wait_until(lambda: "e1" not in self.leaves(), SECONDS))
        self.assertEqual(len(self.leaves()["e0"]), 2)
        self.assertIsNone(first.poll())
        refused = units.msp("checkpoint", "box")
        self.assertNotEqual(refused.returncode, 0)
        self.assertEqual(units.msp("stop", "box").returncode, 0)
        first.communicate(timeout=SECONDS)
        self.assertTrue(support.wait_until(lambda: not self.leaves(), SECONDS))
        self.assertEqual(units.msp("checkpoint", "box").returncode, 0)

    def test_an_apply_needs_a_project_that_the_unit_lets_be_written_to(self):
        project = tempfile.mkdtemp(dir=os.path.expanduser("~"))
        self.addCleanup(shutil.rmtree, project)
        file = os.path.join(project, "file")
        with open(file, "w", encoding="utf-8") as out:
            out.write("old\n")
        made = units.msp("create", "--name=work", "--workspace", project)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.addCleanup(lambda: units.msp("destroy", "work"))
        ran = units.msp("exec", "work", "--", "sh", "-c", "echo new > file")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        refused = units.msp("apply", "work")
        self.assertEqual(refused.returncode, 70, refused.stderr)
        self.assertIn("ReadWritePaths=", refused.stderr)
        self.assertEqual(units.read(file), "old")
        # the person's own msp has the person's rights, and the service's place
        own = {name: value for name, value in os.environ.items() if name != "MSP_STATE_DIR"}
        self.assertEqual(units.msp("stop", "work").returncode, 0)
        applied = units.msp("apply", "work", "--standalone", env=own)
        self.assertEqual((applied.returncode, units.read(file)), (0, "new"), applied.stderr)
        self.assertEqual(units.msp("undo", "work", "--standalone", env=own).returncode, 0)
        self.assertEqual(units.read(file), "old")
        # and the service where the operator lets it
        self.install(lines=[f"ReadWritePaths={project}"])
        self.addCleanup(lambda: units.msp("destroy", "work", "box"))  # before the units go
        units.systemctl("restart", "msp.service")
        applied = units.msp("apply", "work")
        self.assertEqual((applied.returncode, units.read(file)), (0, "new"), applied.stderr)

    def test_one_out_of_memory_ends_as_a_whole(self):
        first = self.start("sleep 1000")
        self.assertTrue(support.wait_until(lambda: self.leaves().get("e0"), SECONDS))
        second = self.start("exec python3 -c 'x = bytearray(1 << 34)'")
        second.communicate(timeout=SECONDS)
        self.assertNotEqual(second.returncode, 0)
        third = units.msp("exec", "box", "--", "sh", "-c", "echo again")
        self.assertEqual(third.stdout, "again\n", third.stderr)
        units.msp("stop", "box")
        first.communicate(timeout=SECONDS)


if __name__ == "__main__":
    unittest.main()
