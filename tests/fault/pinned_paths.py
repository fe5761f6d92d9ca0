#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pins of a plan's records, wrong in every way that a launcher could have them, and too few
descriptors to hold them: nothing is shown that was not checked, and nothing hangs."""
import os
import resource
import shutil
import tempfile
import unittest

import faults
import ipc
import plans
import support

SOFTWARE, REFUSED = 70, 78
PINS_MAX = 128

setUpModule = faults.prepare


class Pins(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="msp-pins-", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.top)
        self.data, self.other = (os.path.join(self.top, name) for name in ("data", "other"))
        for path in (self.data, self.other):
            os.mkdir(path)
            with open(os.path.join(path, "mark"), "w", encoding="ascii") as file:
                file.write(os.path.basename(path))

    def open(self, path, flags=os.O_PATH):
        fd = os.open(path, flags)
        self.addCleanup(os.close, fd)
        return fd

    def programs(self, *changes):
        """A folder of programs, and the places of the records in its plan."""
        folder = tempfile.mkdtemp(dir=self.top)
        plans.programs(folder, *changes)
        return folder, plans.change_plan(folder, *changes)

    def end(self, peer, *codes):
        peer.channel.close()
        code, text = peer.end()
        self.assertIn(code, codes, text)
        return text

    def shown(self, folder, *pins):
        """What a workload reads with these pins (place, path)."""
        with ipc.Peer(programs=folder) as peer:
            peer.launch(runs=False)
            for (profile, mount), path in pins:
                peer.send(ipc.message("supervisor_pin", profile=profile, mount=mount),
                          [self.open(path)])
            peer.send(ipc.message("supervisor_run", pins=len(pins)))
            os.close(peer.greet().fds[0])
            output, done = peer.run(1, ["cat", "/shown/mark"])
            self.end(peer, 0)
            return output.decode(), done

    def assert_not_shown(self, error, folder, *pins):
        output, done = self.shown(folder, *pins)
        self.assertEqual((output, done.verdict, done.stage, os.strerror(done.error)),
                         ("", "internal", "BIND", error))

    def test_as_it_should_be(self):
        """The positive control."""
        for kind in ("bind", "writable", "overlay"):
            with self.subTest(kind=kind):
                folder, places = self.programs((kind, "default", self.data, "/shown"))
                output, done = self.shown(folder, (places[0], self.data))
                self.assertEqual((output, done.verdict), ("data", "exited"))

    def test_of_another_file(self):
        for kind in ("bind", "writable", "overlay"):
            folder, places = self.programs((kind, "default", self.data, "/shown"))
            for path in (self.other, "/", self.top, self.data + "/mark"):
                with self.subTest(kind=kind, path=path):
                    self.assert_not_shown("Stale file handle", folder, (places[0], path))

    def test_of_another_record(self):
        folder, ((profile, mount),) = self.programs(("bind", "default", self.data, "/shown"))
        for place in ((profile, mount + 1), (profile + 1, mount), (63, 0), (profile, 0xffffffff),
                      (0xffffffff, 0xffffffff)):
            with self.subTest(place=place):
                self.assert_not_shown("No such file or directory", folder, (place, self.data))

    def test_of_a_record_that_is_not_pinned(self):
        """It can only take away: what is shown has to be that file."""
        folder, places = self.programs(("bind", "default", self.data, "/shown", "unpinned"))
        output, _ = self.shown(folder, (places[0], self.data))
        self.assertEqual(output, "data")
        output, done = self.shown(folder, (places[0], self.other))
        self.assertEqual((output, done.verdict), ("", "internal"))

    def test_none(self):
        folder, _ = self.programs(("bind", "default", self.data, "/shown"))
        self.assert_not_shown("No such file or directory", folder)

    def test_two_of_one_record(self):
        """The first counts, whichever is right."""
        folder, places = self.programs(("bind", "default", self.data, "/shown"))
        output, _ = self.shown(folder, (places[0], self.data), (places[0], self.other))
        self.assertEqual(output, "data")
        self.assert_not_shown("Stale file handle", folder, (places[0], self.other),
                              (places[0], self.data))

    def refused(self, *parts):
        """A launcher that says this instead; the supervisor ends."""
        with ipc.Peer() as peer:
            peer.launch(runs=False)
            try:
                for data, fds in parts:
                    peer.send(data, fds)
            except OSError:
                pass  # it ended on the part before
            self.end(peer, SOFTWARE)

    def test_a_launcher_that_miscounts(self):
        pin = ipc.message("supervisor_pin")
        fd = self.open(self.data)
        self.refused((pin, [fd]), (ipc.message("supervisor_run"), ()))
        self.refused((ipc.message("supervisor_run", pins=1), ()))
        self.refused(*[(pin, [fd])] * (PINS_MAX + 1),
                     (ipc.message("supervisor_run", pins=PINS_MAX + 1), ()))

    def test_descriptors_that_are_no_paths(self):
        pin = ipc.message("supervisor_pin")
        run = (ipc.message("supervisor_run", pins=1), ())
        for flags in (os.O_RDONLY, os.O_RDONLY | os.O_DIRECTORY):
            self.refused((pin, [self.open(self.data, flags)]), run)
        self.refused((pin, ()), run)
        self.refused((pin, [self.open(self.data)] * 2), run)

    def test_plans_that_nobody_compiles(self):
        """Refused before anything is mounted."""
        for change in (("writable", "default", self.data, "/shown", "unpinned"),
                       ("bind", "_helper", self.data, "/shown"),
                       ("copy", "_helper", self.data + "/mark", "/shown")):
            with self.subTest(change=change):
                folder, _ = self.programs(change)
                result = plans.run(os.path.join(folder, "msp"), "true")
                self.assertEqual(result.returncode, REFUSED)
                self.assertIn("is not of this version", result.stderr)
                with ipc.Peer(programs=folder) as peer:
                    peer.launch()
                    self.assertIn("compiled policy", self.end(peer, REFUSED))

    def test_few_descriptors(self):
        """However many there are, it starts and shows all of them, or says why it does not."""
        paths = []
        for number in range(24):
            paths.append(os.path.join(self.top, f"d{number}"))
            os.mkdir(paths[-1])
        folder, _ = self.programs(*(("bind", "default", path, f"/shown/{number}")
                                    for number, path in enumerate(paths)))
        codes = set()
        for most in [*range(4, 64, 3), 256]:
            result = plans.run(
                os.path.join(folder, "msp"), "sh", "-c", "ls /shown | wc -l",
                preexec_fn=lambda most=most: resource.setrlimit(resource.RLIMIT_NOFILE,
                                                                (most, most)))
            codes.add(result.returncode)
            with self.subTest(most=most):
                if result.returncode == 0:
                    self.assertEqual(result.stdout, "24\n")
                else:
                    self.assertEqual(result.stdout, "")
                    self.assertRegex(result.stderr, "^msp(-supervisor)?: ")
        self.assertIn(0, codes)
        self.assertIn(REFUSED, codes, "the launcher could not open all of them")


if __name__ == "__main__":
    unittest.main()
