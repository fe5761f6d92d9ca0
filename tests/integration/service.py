# SPDX-License-Identifier: Apache-2.0
"""A user's service in a folder of its own, and what the tests ask of it. Nothing here is a test."""
import json
import os
import subprocess
import tempfile
import unittest

import leftovers
import support
from cli_support import MSP, SECONDS, msp

LIMITS = "--limits=fallback"  # accepted everywhere; what is in force is the machine's


class Service:
    """`msp serve --service` on a socket; use as a context manager."""

    def __init__(self, path, *options, **keywords):
        self.path = path
        self.process = subprocess.Popen(
            [MSP, "serve", "--service", LIMITS, "--socket=" + path, *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, **keywords)
        if not support.wait_until(lambda: os.path.exists(path) and
                                  self.status()["state"] == "running", SECONDS):
            self.process.kill()
            raise AssertionError(self.process.communicate()[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        """Stop it; its exit code. `error` is what it said."""
        if self.process.poll() is None:
            self.process.terminate()
        _, error = self.process.communicate(timeout=SECONDS)
        self.error = error or ""
        return self.process.returncode

    def status(self):
        """What `msp status --json` says."""
        result = msp("status", "--json", "--socket=" + self.path)
        return json.loads(result.stdout)

    def find(self, word):
        """The pids of this service's processes whose first words contain `word`."""
        found = []
        for pid in support.descendants(self.process.pid):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    if word.encode() in file.read() and support.is_alive(pid):
                        found.append(pid)
            except OSError:
                pass
        return found


class Folder(unittest.TestCase):
    """A folder for a socket; everything that a test started is gone at its end."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(support.remove_folder, self.folder)
        self.socket = os.path.join(self.folder, "s.sock")
        self.known = leftovers.living()
        self.addCleanup(self.check_leftovers)

    def check_leftovers(self):
        rest = []

        def is_clear():
            leftovers.reap_orphans()
            rest[:] = leftovers.living(self.known)
            return not rest

        clear = support.wait_until(is_clear, SECONDS)
        rows = leftovers.describe(rest) if not clear else []
        if rows:
            leftovers.end_all()
        self.assertEqual(rows, [])

    def service(self, *options, **keywords):
        service = Service(self.socket, *options, **keywords)
        self.addCleanup(service.end)
        return service

    def client(self, *options, **keywords):
        """An MCP client with its `msp serve`, greeted."""
        client = support.Server(LIMITS, "--socket=" + self.socket, *options, with_limits=False,
                                **keywords)
        self.addCleanup(self.close, client)
        client.initialize()
        return client

    def close(self, client):
        if not client.process.stdout.closed:
            client.close(SECONDS)

    def run_msp(self, *command, options=(), **keywords):
        """`msp run` through the service."""
        return msp("run", LIMITS, "--socket=" + self.socket, *options, "--", *command, **keywords)

    def start_run(self, *command, options=()):
        process = subprocess.Popen(
            [MSP, "run", LIMITS, "--socket=" + self.socket, *options, "--", *command],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process


def end_of(client):
    """Exit code and stderr of a client's msp that ends by itself."""
    code = client.process.wait(SECONDS)
    for reader in client.readers:
        reader.join(SECONDS)
    client.process.stdin.close()
    client.process.stdout.close()
    if client.process.stderr:
        client.process.stderr.close()
    return code, client.error_text.decode(errors="replace")
