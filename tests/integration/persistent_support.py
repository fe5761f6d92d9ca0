# SPDX-License-Identifier: Apache-2.0
"""Persistent sandboxes, through the command line and MCP. Nothing here is a test."""
import json
import os
import subprocess
import tempfile
import time
import unittest

import support


def msp(verb, *arguments, code=0, timeout=120, text=True, **keywords):
    """`msp VERB ARGUMENTS`, which must end with this code (None: any); a CompletedProcess."""
    keywords.setdefault("stdin", subprocess.DEVNULL)
    if "input" in keywords:
        del keywords["stdin"]
    options = support.limits() if verb in ("exec", "cp") else []  # the others run nothing
    result = subprocess.run([support.MSP, verb, *options, *arguments], text=text,
                            capture_output=True, timeout=timeout, check=False, **keywords)
    if code is not None and result.returncode != code:
        raise AssertionError(f"msp {verb} {arguments}: {result.returncode}\n{result.stdout}\n"
                             f"{result.stderr}")
    return result


def git(folder, *arguments, check=True, **keywords):
    """git on the host as a user without a configuration of his own."""
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C",
                   "GIT_CONFIG_NOSYSTEM": "1", "GIT_OPTIONAL_LOCKS": "0"}
    return subprocess.run(["git", "-c", "user.name=Host", "-c", "user.email=host@example.org",
                           "-c", "init.defaultBranch=main", "-c", "core.fsmonitor=false", "-c", "gc.auto=0",
                           "-c", "maintenance.auto=0",
                           "-C", folder, *arguments], env=environment, check=check,
                          capture_output=True, timeout=120, **keywords).stdout


class PersistentCase(unittest.TestCase):
    """A state directory and a folder for projects of the test's own."""

    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="msp-persistent-", dir="/var/tmp")
        self.addCleanup(place.cleanup)
        self.addCleanup(self.await_removal)
        self.state = os.path.join(place.name, "state")
        self.project = os.path.join(place.name, "project")
        os.mkdir(self.state, 0o700)
        os.mkdir(self.project)
        before = os.environ.get("MSP_STATE_DIR")
        os.environ["MSP_STATE_DIR"] = self.state
        self.addCleanup(lambda: os.environ.update(MSP_STATE_DIR=before) if before
                        else os.environ.pop("MSP_STATE_DIR"))

    def await_removal(self):
        """Nothing waits for the removal of a destroyed sandbox's files, which goes on for a while."""
        support.await_removal(self.state)

    def create(self, *options, workspace=True):
        """A new sandbox's id."""
        options = [*options, *(["--workspace", self.project] if workspace else [])]
        found = msp("create", *options).stdout.strip()
        self.addCleanup(msp, "destroy", found, code=None)
        return found

    def sh(self, sandbox, script, code=0, **keywords):
        """What a shell script prints in the sandbox."""
        time.sleep(0.02)  # what the host changes as an execution begins has no known base
        result = msp("exec", sandbox, "--", "bash", "-ec", script, code=None, **keywords)
        self.assertEqual(result.returncode, code, f"{script}\n{result.stdout}\n{result.stderr}")
        return result.stdout

    def put(self, path, data, mode=0o644):
        path = os.path.join(self.project, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
        os.chmod(path, mode)

    def get(self, path):
        with open(os.path.join(self.project, path), "rb") as file:
            return file.read()

    def changes(self, sandbox, *arguments):
        """{path: kind} as msp diff has them; it ends with 1 if a path has none."""
        result = msp("diff", sandbox, "--json", *arguments, code=None)
        self.assertIn(result.returncode, (0, 1), result.stderr)
        found = json.loads(result.stdout)
        return {entry["path"]: entry["kind"] for entry in found["changes"]}

    def tree(self, folder=None):
        """Everything in a folder: path -> (mode, content or target)."""
        folder = folder or self.project
        found = {}
        for base, folders, files in os.walk(os.fsencode(folder)):
            for name in folders + files:
                path = os.path.join(base, name)
                status = os.lstat(path)
                if os.path.islink(path):
                    content = os.readlink(path)
                elif os.path.isdir(path):
                    content = None
                else:
                    with open(path, "rb") as file:
                        content = file.read()
                found[os.path.relpath(path, os.fsencode(folder))] = (status.st_mode, content)
        return found
