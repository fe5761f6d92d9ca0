# SPDX-License-Identifier: Apache-2.0
"""`msp serve --http` with a token of its own, for tests. Nothing here is a test."""
import os
import re
import selectors
import subprocess
import tempfile
import threading
import time

START_SECONDS = 30
TOKEN = re.compile(r"\bmsp_[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])")


class Failure(Exception):
    """The server did not start."""


class HttpServer:
    """A server on a port of the loopback that the kernel chose. Use as a context manager."""

    def __init__(self, msp, *options):
        self.msp, self.options = msp, options
        self.folder = tempfile.TemporaryDirectory(prefix="msp-http.")
        self.tokens = os.path.join(self.folder.name, "tokens")
        self.process, self.reader, self.said = None, None, b""

    def make_token(self, name):
        """A new token's text."""
        made = subprocess.run([self.msp, "token", "create", name, "--token-file", self.tokens],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=30, check=False)
        found = TOKEN.findall(made.stdout)
        if made.returncode != 0 or len(found) != 1:
            raise Failure(f"msp token create: {made.returncode}: {made.stdout}{made.stderr}")
        return found[0]

    def __enter__(self):
        try:
            self.token = self.make_token("tests")
            self.process = subprocess.Popen(
                [self.msp, "serve", *self.options, "--http", "127.0.0.1:0", "--token-file",
                 self.tokens], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, cwd=self.folder.name)
            self.url = self._address()
        except BaseException:
            self.__exit__()
            raise
        # A server whose messages nobody takes would wait some day.
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        return self

    def _address(self):
        end = time.monotonic() + START_SECONDS
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while time.monotonic() < end and self.process.poll() is None:
                if selector.select(0.2):
                    self.said += os.read(self.process.stdout.fileno(), 65536)
                match = re.search(rb"http://[\w.\[\]:]+:\d+(/\w+)?(?=[\s.,;]*\s)", self.said)
                if match:
                    return match.group().decode() + ("" if match.group(1) else "/mcp")
        raise Failure("the server said no address:\n" + self.said.decode(errors="replace"))

    def _read(self):
        for line in self.process.stdout:
            self.said += line

    def is_running(self):
        return self.process.poll() is None

    def __exit__(self, *_):
        if self.process:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            if self.reader:
                self.reader.join(2)
            self.process.stdout.close()
        self.folder.cleanup()
