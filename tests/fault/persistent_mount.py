# SPDX-License-Identifier: Apache-2.0
"""A state directory, a project and a persistent sandbox, of one test's own. Nothing here is a
test."""
import contextlib
import json
import os
import shutil
import subprocess
import tempfile

import support


class Place:
    """A state directory and a project of three files; `box` is a sandbox on a copy of it."""

    def __init__(self, state=None, project=None):
        self.folder = tempfile.mkdtemp(prefix="msp-test-", dir="/var/tmp")
        self.state = state or os.path.join(self.folder, "state")
        self.project = project or os.path.join(self.folder, "project")
        os.makedirs(self.state, 0o700, exist_ok=True)
        os.makedirs(self.project, exist_ok=True)
        for name in ("a", "b", "c"):
            with open(os.path.join(self.project, name), "w", encoding="ascii") as file:
                file.write("old\n")
        self.environment = {**os.environ, "MSP_STATE_DIR": self.state}

    def msp(self, verb, *words, **keywords):
        options = support.limits() if verb == "exec" else []
        return subprocess.run([support.MSP, verb, *options, *words], env=self.environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                              check=False, **keywords)

    def good(self, *words):
        result = self.msp(*words)
        if result.returncode != 0:
            raise AssertionError(f"msp {words}: {result.returncode} {result.stderr}")
        return result.stdout

    def sh(self, script, sandbox="box"):
        return self.good("exec", sandbox, "--", "sh", "-c", script)

    def create(self, name="box"):
        return self.good("create", "--name=" + name, "--workspace", self.project).strip()

    def list(self):
        """By name; also sees to what a crash left over."""
        return {entry["name"]: entry for entry in
                json.loads(self.good("list", "--json"))["sandboxes"]}

    def checkpoints(self):
        found = json.loads(self.good("checkpoints", "box", "--json"))["checkpoints"]
        return [entry["name"] for entry in found]

    def host(self):
        """What the project has now, a repository left out."""
        found = {}
        for name in set(os.listdir(self.project)) - {".git"}:
            with open(os.path.join(self.project, name), encoding="ascii") as file:
                found[name] = file.read().strip()
        return found

    def path(self, *names):
        return os.path.join(self.state, *names)

    def entries(self, name):
        """Of a folder of the state directory, which the first supervisor makes."""
        return os.listdir(self.path(name)) if os.path.exists(self.path(name)) else []

    def make_old(self):
        """What was begun and not finished is left alone for a minute."""
        for name in self.entries("sandboxes"):
            meta = self.path("sandboxes", name, "meta")
            if not os.path.exists(meta) or os.path.getsize(meta) == 0:
                os.utime(self.path("sandboxes", name), (1, 1))

    def rest(self):
        """What is left of sandboxes that are destroyed, by folder."""
        names = ("sandboxes", "layers", "trash")
        return {name: self.entries(name) for name in names if self.entries(name)}

    def wait_rest(self, limit=60):
        """The same, once nothing of it is still being removed."""
        support.wait_until(lambda: not self.rest(), limit, 0.02)
        return self.rest()

    def close(self):
        """Also while somebody works in there."""
        while os.path.lexists(self.folder):
            for folder, names, _ in os.walk(self.folder):
                for name in names:
                    with contextlib.suppress(OSError):
                        os.chmod(os.path.join(folder, name), 0o700)
            with contextlib.suppress(FileNotFoundError):
                shutil.rmtree(self.folder)
