#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Much data, slow and vanishing partners: nothing is lost, nothing blocks, nothing grows."""
import hashlib
import os
import resource
import select
import socket
import subprocess
import tempfile
import threading
import time
import unittest

from cli_support import MSP, SECONDS, command, run, start

GIB = 1 << 30


def feed(file, total, piece=os.urandom(1 << 20)):
    """Write `total` bytes and close; their digest."""
    digest = hashlib.sha1()
    with file:
        for _ in range(total // len(piece)):
            digest.update(piece)
            file.write(piece)
    return digest.hexdigest()


class Much(unittest.TestCase):
    def test_one_gib_out(self):
        process = start("head", "-c", str(GIB), "/dev/zero", stdin=subprocess.DEVNULL)
        total = 0
        while True:
            data = process.stdout.read1(1 << 20)
            if not data:
                break
            total += len(data)
        process.stderr.close()
        process.stdout.close()
        self.assertEqual((total, process.wait(SECONDS)), (GIB, 0))

    def test_both_ways_at_once(self):
        """256 MiB through cat: full duplex, and every byte is compared."""
        process = start("cat")
        digests = []
        writer = threading.Thread(target=lambda: digests.append(feed(process.stdin, GIB // 4)))
        writer.start()
        digest = hashlib.sha1()
        while True:
            data = process.stdout.read1(1 << 20)
            if not data:
                break
            digest.update(data)
        writer.join()
        process.stderr.close()
        process.stdout.close()
        self.assertEqual(process.wait(SECONDS), 0)
        self.assertEqual(digest.hexdigest(), digests[0])

    def test_stdout_and_stderr_at_once(self):
        script = "head -c 50000000 /dev/zero & head -c 50000000 /dev/zero >&2; wait"
        result = run("sh", "-c", script, text=False)
        self.assertEqual((len(result.stdout), len(result.stderr), result.returncode),
                         (50000000, 50000000, 0))

    def test_memory_stays_small(self):
        """A flood with --json is kept to its head and tail; msp itself stays below 16 MiB."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        result = run("head", "-c", "300000000", "/dev/zero", options=["--json"])
        self.assertEqual(result.returncode, 0)
        after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        self.assertTrue(after <= 64 * 1024 or after == before, f"{after} KiB")


class Partners(unittest.TestCase):
    def test_a_reader_that_waits(self):
        """Nobody reads for a while: the workload waits, msp neither spins nor grows."""
        process = start("head", "-c", "50000000", "/dev/zero", stdin=subprocess.DEVNULL)
        time.sleep(0.5)
        ticks = self.cpu_ticks(process.pid)
        time.sleep(0.5)
        self.assertLessEqual(self.cpu_ticks(process.pid) - ticks, 5)
        self.assertIsNone(process.poll())
        self.assertEqual(len(process.communicate(timeout=SECONDS)[0]), 50000000)
        self.assertEqual(process.returncode, 0)

    @staticmethod
    def cpu_ticks(pid):
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    def test_waiting_costs_nothing(self):
        process = start("sleep", "30")
        time.sleep(0.3)
        ticks = self.cpu_ticks(process.pid)
        time.sleep(0.7)
        self.assertLessEqual(self.cpu_ticks(process.pid) - ticks, 1)
        process.terminate()
        process.communicate(timeout=SECONDS)

    def test_a_workload_that_does_not_read(self):
        """Both directions full: output still comes, signals still work."""
        process = start("sh", "-c", "echo ready; sleep 30")
        os.set_blocking(process.stdin.fileno(), False)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            _, writable, _ = select.select([], [process.stdin], [], 0.3)
            if not writable:
                break
            process.stdin.raw.write(b"x" * 65536)
        process.terminate()
        self.assertEqual(process.wait(SECONDS), 143)
        for file in (process.stdout, process.stderr, process.stdin.raw):
            file.close()

    def test_a_workload_that_closes_its_input(self):
        result = run("sh", "-c", "exec <&-; sleep 0.2; echo done", input="x" * 1000000)
        self.assertEqual((result.returncode, result.stdout), (0, "done\n"))

    def test_a_reader_that_goes(self):
        """Like a pipe: msp ends with 141, and the endless workload with it."""
        process = start("yes", stdin=subprocess.DEVNULL)
        process.stdout.read(10)
        process.stdout.close()
        self.assertEqual(process.wait(SECONDS), 141)
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()

    def test_in_a_pipeline(self):
        words = " ".join(["'" + MSP + "'", *command("yes")])
        result = subprocess.run(["bash", "-c", f"{words} | head -n 2; echo ${{PIPESTATUS[0]}}"],
                                capture_output=True, text=True, timeout=SECONDS, check=False,
                                stdin=subprocess.DEVNULL)
        self.assertEqual(result.stdout, "y\ny\n141\n")

    def test_early_lines_come_early(self):
        process = start("sh", "-c", "echo one; cat")
        self.assertEqual(process.stdout.readline(), b"one\n")
        process.stdin.write(b"two\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), b"two\n")
        process.communicate(timeout=SECONDS)
        self.assertEqual(process.returncode, 0)


class Kinds(unittest.TestCase):
    def test_an_appended_file(self):
        with tempfile.NamedTemporaryFile("ab") as file:
            file.write(b"before\n")
            file.flush()
            run("sh", "-c", "echo after; echo error >&2", stdout=file, stderr=file)
            with open(file.name, "rb") as again:
                self.assertEqual(again.read().splitlines()[0], b"before")
                again.seek(0)
                self.assertEqual(sorted(again.read().split()), [b"after", b"before", b"error"])

    def test_a_written_file_has_its_offset_moved(self):
        with tempfile.TemporaryFile() as file:
            run("echo", "one", stdout=file)
            run("echo", "two", stdout=file)
            file.seek(0)
            self.assertEqual(file.read(), b"one\ntwo\n")

    def test_sockets(self):
        ours, theirs = socket.socketpair()
        with ours:
            process = start("tr", "a-z", "A-Z", stdin=theirs, stdout=theirs)
            theirs.close()
            writer = threading.Thread(target=lambda: (ours.sendall(b"hello " * 100000),
                                                      ours.shutdown(socket.SHUT_WR)))
            writer.start()
            data = b""
            while True:
                piece = ours.recv(1 << 16)
                if not piece:
                    break
                data += piece
            writer.join()
        self.assertEqual(data, b"HELLO " * 100000)
        self.assertEqual(process.wait(SECONDS), 0)
        process.stderr.close()

    def test_the_callers_descriptors_stay_blocking(self):
        reader, writer = os.pipe()
        run("echo", "x", stdout=writer)
        self.assertTrue(os.get_blocking(writer))
        os.close(reader)
        os.close(writer)

    def test_a_full_disk(self):
        with open("/dev/full", "wb") as full:
            result = run("echo", "x", stdout=full)
        self.assertEqual(result.returncode, 125)
        self.assertIn("No space left", result.stderr)

    def test_an_input_that_cannot_be_read(self):
        """As nohup hands it over: the command just sees the end of its input."""
        with open("/dev/null", "wb") as null:
            result = run("cat", stdin=null)
        self.assertEqual((result.returncode, result.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
