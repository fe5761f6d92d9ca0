#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""msp-layers as a process: what it says to whom, what it makes of requests that are wrong, what it
has given up before it reads."""
import contextlib
import os
import shutil
import subprocess
import tempfile
import threading
import unittest

import ipc
import layers_support as layers
import support


class Process(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="msp-layers-")
        self.addCleanup(shutil.rmtree, self.root)
        for name in ("host", "layer/workspace", "other"):
            os.makedirs(self.path(name))
        self.job = None

    def path(self, *names):
        return os.path.join(self.root, *names)

    def put(self, path, content=b"content\n"):
        os.makedirs(os.path.dirname(self.path(path)), exist_ok=True)
        with open(self.path(path), "wb") as file:
            file.write(content)

    def started(self, *roles):
        job = layers.Job()
        for role, name in roles:
            job.hand(role, self.path(name))
        return job

    def assert_breach(self, job, words):
        code, done, output, errors = job.end()
        self.assertEqual((code, done, output), (70, None, b""), errors)
        self.assertIn(words, errors)

    def test_a_diff(self):
        self.put("host/a")
        self.put("layer/workspace/a", b"changed\n")
        self.put("layer/workspace/b c")
        done, changes = layers.run("DIFF", self.path("host"), [self.path("layer")],
                                   flags=layers.TEXT)
        self.assertEqual([(c.kind, c.path) for c in changes], [("modified", b"a"),
                                                               ("added", b"b c")])
        self.assertTrue(changes[0].patch.startswith(b"diff --git a/a b/a\nindex "))
        self.assertEqual((done.total, done.conflicts), (2, 1))

    def test_chosen_paths(self):
        for name in ("a/x", "a-b", "b"):
            self.put(f"layer/workspace/{name}")
        _, changes = layers.run("DIFF", self.path("host"), [self.path("layer")], chosen=b"a\0b\0")
        self.assertEqual([c.path for c in changes], [b"a", b"a/x", b"b"])

    def test_it_is_started_by_the_supervisor(self):
        done = subprocess.run([os.path.join(support.BIN, "msp-layers")], capture_output=True,
                              stdin=subprocess.DEVNULL, check=False, close_fds=True)
        self.assertEqual((done.returncode, done.stdout), (70, b""))
        self.assertIn(b"this program is started by msp-supervisor", done.stderr)

    def test_another_version(self):
        job = self.started(("HOST", "host"), ("LAYER", "layer"))
        job.ask("DIFF", schema=bytes(32))
        self.assert_breach(job, "of another version")

    def test_nobody_asks_any_more(self):
        job = self.started(("LAYER", "layer"))
        job.channel.close()
        self.assertEqual(job.process.wait(10), 0)
        job.process.stdout.close()
        job.process.stderr.close()

    def test_requests_that_are_wrong(self):
        cases = {
            "two hosts": ((("HOST", "host"), ("HOST", "other")), "DIFF", {}),
            "no layer": ((("HOST", "host"),), "DIFF", {}),
            "no host": ((("LAYER", "layer"),), "PREVIEW", {}),
            "no journal": ((("HOST", "host"), ("LAYER", "layer")), "APPLY", {}),
            "no such flag": ((("HOST", "host"), ("LAYER", "layer")), "DIFF", {"flags": 512}),
            "no bit of a umask": ((("HOST", "host"), ("LAYER", "layer")), "DIFF",
                                  {"flags": 1 << 25}),
            "paths without an end": ((("HOST", "host"), ("LAYER", "layer")), "DIFF",
                                     {"chosen": b"a"}),
        }
        for name, (roles, operation, values) in cases.items():
            with self.subTest(name):
                job = self.started(*roles)
                with contextlib.suppress(BrokenPipeError):  # it may have had enough already
                    job.ask(operation, **values)
                self.assert_breach(job, "the supervisor")

    def test_no_such_role(self):
        job = self.started()
        fd = os.open(self.path("host"), os.O_RDONLY)
        job.send(ipc.message("layers_directory", role=99), [fd])
        os.close(fd)
        self.assert_breach(job, "message is wrong")

    def test_a_file_in_place_of_a_directory(self):
        self.put("file")
        job = self.started(("LAYER", "layer"))
        fd = os.open(self.path("file"), os.O_PATH)
        job.send(ipc.message("layers_host"), [fd])
        os.close(fd)
        job.ask("DIFF")
        code, done, _, errors = job.end()
        self.assertNotEqual(code, 0)
        self.assertTrue(done is None or done.error, errors)

    def test_what_it_has_given_up(self):
        """It waits for its reader in the middle of the work: time to look."""
        for number in range(3000):
            self.put(f"layer/workspace/{number:0200}")
        job = self.started(("HOST", "host"), ("LAYER", "layer"))
        job.ask("DIFF")

        def status():
            with open(f"/proc/{job.process.pid}/status", encoding="ascii") as file:
                return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)

        support.wait_until(lambda: status()["Seccomp"] == "2")
        lines = status()
        self.assertEqual(lines["NoNewPrivs"], "1")
        for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            self.assertEqual(int(lines[name], 16), 0, name)
        self.assertGreater(len(job.end()[2]), 3000 * 200)

    def test_its_reader_goes(self):
        for number in range(3000):
            self.put(f"layer/workspace/{number:0200}")
        job = self.started(("HOST", "host"), ("LAYER", "layer"))
        job.process.stdout.close()
        job.process.stdout = None
        job.ask("DIFF")
        code, done, _, _ = job.end()
        self.assertNotEqual(code, 0)
        self.assertEqual((done.error, done.step), (32, layers.STEPS["CHANGES_STEP_OUTPUT"]))

    def test_without_a_host_all_is_added(self):
        self.put("layer/workspace/a")
        _, changes = layers.run("DIFF", None, [self.path("layer")])
        self.assertEqual([(c.kind, c.path, c.flags) for c in changes], [("added", b"a", set())])

    def test_names_in_flight(self):
        """A workload changes files, directories, FIFOs and links into one another all the time."""
        stop = threading.Event()
        upper = self.path("layer/workspace")

        def disturb():
            number = 0
            while not stop.is_set():
                number += 1
                path = os.path.join(upper, str(number % 7))
                try:
                    if os.path.isdir(path) and not os.path.islink(path):
                        shutil.rmtree(path)
                    elif os.path.lexists(path):
                        os.unlink(path)
                    kind = number % 5
                    if kind == 0:
                        os.mkfifo(path)
                    elif kind == 1:
                        os.symlink("/etc", path)
                    elif kind == 2:
                        os.makedirs(os.path.join(path, "below"))
                    elif kind == 3:
                        os.mknod(path, 0o020000, 0)
                    else:
                        with open(path, "wb") as file:
                            file.write(b"x" * (number % 1000))
                except OSError:
                    pass

        for number in range(7):
            self.put(f"host/{number}/below/x")
        thread = threading.Thread(target=disturb)
        thread.start()
        try:
            for _ in range(60):
                for operation, flags in (("DIFF", layers.TEXT), ("SCAN", 0)):
                    done, changes = layers.run(operation, self.path("host"), [self.path("layer")],
                                               flags=flags, since_us=layers.now_us())
                    self.assertEqual(done.total, len(changes))
                    for change in changes:
                        self.assertNotIn(b"root:", change.patch)
        finally:
            stop.set()
            thread.join()


if __name__ == "__main__":
    unittest.main(verbosity=2)
