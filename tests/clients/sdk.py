# SPDX-License-Identifier: Apache-2.0
"""Clients of the TypeScript SDKs (session.mjs), and command line clients, run from a folder where
the packages are found. Nothing here is a test."""
import itertools
import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
import time

import packages

HERE = os.path.dirname(os.path.abspath(__file__))


class Place:
    """A scratch folder in which node finds the packages: a program's own imports are looked for
    beside it. Also the home of whatever a client writes."""

    def __init__(self):
        self.packages = packages.folder()
        self.path = tempfile.mkdtemp(prefix="msp-clients.")
        os.symlink(os.path.join(self.packages, "node_modules"),
                   os.path.join(self.path, "node_modules"))
        shutil.copy(os.path.join(HERE, "session.mjs"), self.path)

    def environment(self):
        return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": self.path,
                "TMPDIR": self.path, "NO_COLOR": "1", "LANG": "C.UTF-8",
                "MCP_CATALOG_PATH": os.path.join(self.path, "catalog.json")}

    def command(self, program, *arguments):
        """A program of the packages, or a script, under Node 24."""
        path = os.path.join(self.packages, "node_modules", ".bin", program)
        if program.endswith(".mjs"):
            path = os.path.join(self.path, program)
        return [packages.node(), path, *arguments]

    def run(self, program, *arguments, timeout=60):
        """A command line client, to its end."""
        return subprocess.run(self.command(program, *arguments), cwd=self.path,
                              env=self.environment(), stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=timeout, check=False)

    def remove(self):
        shutil.rmtree(self.path)


class ClientError(Exception):
    """What the SDK threw."""

    def __init__(self, error):
        super().__init__(f"{error.get('name')} {error.get('code')}: {error.get('message')}")
        self.name, self.code = error.get("name"), error.get("code")
        self.message, self.data = error.get("message") or "", error.get("data")


class Session:
    """One session.mjs. Use as a context manager."""

    def __init__(self, place, **setup):
        self.process = subprocess.Popen(
            place.command("session.mjs", json.dumps(setup)), cwd=place.path,
            env=place.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        self.ids = itertools.count(1)
        self.lines, self.steps, self.outcomes, self.events = queue.Queue(), {}, {}, []
        self.errors = b""
        self.readers = [threading.Thread(target=reader, daemon=True)
                        for reader in (self._read_lines, self._read_errors)]
        for reader in self.readers:
            reader.start()
        try:
            self.connected = self.event("connected", timeout=30)
        except BaseException:
            self.end()
            raise

    def _read_lines(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put(None)

    def _read_errors(self):
        for line in self.process.stderr:
            self.errors += line

    def _take(self, timeout):
        try:
            message = self.lines.get(timeout=max(0.001, timeout))
        except queue.Empty:
            raise TimeoutError(self.errors.decode(errors="replace")) from None
        if message is None:
            self.lines.put(None)
            self.readers[1].join(5)  # the end of the errors may come after the end of the lines
            raise EOFError(self.errors.decode(errors="replace"))
        if "id" in message:
            self.outcomes[message["id"]] = message
        else:
            self.events.append(message)

    def start(self, do, *arguments, **options):
        """Send a step; returns its id."""
        number = next(self.ids)
        step = {"id": number, "do": do, "with": list(arguments), "options": options}
        self.steps[number] = step
        self.process.stdin.write(json.dumps(step).encode() + b"\n")
        self.process.stdin.flush()
        return number

    def outcome(self, number, timeout=30):
        """Wait for a step; its result, or ClientError."""
        end = time.monotonic() + timeout
        while number not in self.outcomes:
            try:
                self._take(end - time.monotonic())
            except TimeoutError as error:
                raise TimeoutError(f"step {number}, {self.steps[number]}: {error}") from None
        message = self.outcomes.pop(number)
        if "error" in message:
            raise ClientError(message["error"])
        return message["result"]

    def do(self, name, *arguments, **options):
        return self.outcome(self.start(name, *arguments, **options))

    def call(self, tool, arguments=None, **options):
        return self.do("callTool", {"name": tool, "arguments": arguments or {}}, **options)

    def event(self, kind, timeout=10, **wanted):
        """The first event of this kind, with these members, that has come or will."""
        end = time.monotonic() + timeout
        while True:
            for event in self.events:
                if event["event"] == kind and wanted.items() <= event.items():
                    self.events.remove(event)
                    return event
            self._take(end - time.monotonic())

    def progress(self, step):
        """What came so far of a step's progress."""
        return [event["params"] for event in self.events
                if event["event"] == "progress" and event["step"] == step]

    def end(self, timeout=10):
        """The client closes its session; returns its exit code."""
        if not self.process.stdin.closed:
            self.process.stdin.close()
        try:
            return self.process.wait(timeout)
        finally:
            self.process.kill()
            self.process.wait()
            for reader in self.readers:
                reader.join(2)
            self.process.stdout.close()
            self.process.stderr.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def text_of(result):
    """The text of a tool's result."""
    return "\n".join(part["text"] for part in result["content"] if part["type"] == "text")
