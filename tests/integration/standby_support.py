# SPDX-License-Identifier: Apache-2.0
"""Seeing what waits in a sandbox from the host. Nothing here is a test."""
import os
import re
import tempfile
import time
import unittest

import support

PLACE = re.compile(rb"/tmp/msp-code/\d+/main\.py")
CONFIG = """profiles:
  - name: cold
    description: a test
    extends: default
    languages:
      - name: python
        aliases: [python3, py]
        program: {python}
        file: /tmp/msp-code/main.py
        run: [{python}, -u, "{{file}}"]
"""


def below(process):
    """The descendants of a process, also what waits in sandboxes that are ready."""
    return support.descendants(process, with_opener=True, with_ready=True)


def interpreters(process):
    """{pid: path of its code} of what runs code below a process."""
    found = {}
    for pid in below(process):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                path = PLACE.search(file.read())
        except OSError:
            continue
        if path:
            found[pid] = path.group().decode()
    return found


def stopped(pid):
    """How often a traced process has stopped, if it is now; None: it runs, or is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            found = re.search(r"^State:\tt.*^voluntary_ctxt_switches:\t(\d+)$", file.read(),
                              re.M | re.S)
    except OSError:
        return None
    return int(found.group(1)) if found else None


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    raise AssertionError(f"not within {seconds} s")


class Case(unittest.TestCase):
    config = CONFIG
    program = None  # the one under test

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="msp-ahead-")
        self.addCleanup(support.remove_folder, self.folder)
        self.state = os.path.join(self.folder, "state")
        os.mkdir(self.state, 0o700)
        config = os.path.join(self.folder, "config.yaml")
        local = "/usr/local/bin/python3"
        with open(config, "w", encoding="utf-8") as file:
            file.write(self.config.format(python=local if os.access(local, os.X_OK)
                                     else "/usr/bin/python3"))
        self.server = support.Server(program=self.program, env={**os.environ, "MSP_STATE_DIR": self.state,
                                          "MSP_CONFIG": config})
        self.addCleanup(self.server.close)
        self.server.initialize()

    def create(self, **arguments):
        result = self.server.call("create_sandbox", 60, **arguments)
        self.assertFalse(result["isError"], result["content"])
        return result["structuredContent"]["id"]

    def run_code(self, sandbox, code, **arguments):
        return self.server.call("run_code", 60, sandbox=sandbox, language="python", code=code,
                                **arguments)

    def run_in(self, sandbox, command):
        result = self.server.call("run_command", 60, sandbox=sandbox, command=command)
        return support.text_of(result).rsplit("[", 1)[0]

    def waiting(self):
        """(pid, path) of the one that waits, where nothing else runs, when it is there."""
        def held():
            for pid, path in interpreters(self.server.process.pid).items():
                stops = stopped(pid)
                time.sleep(0.02)
                if stops and stops == stopped(pid):
                    return pid, path
            return None
        return wait_for(held)

    def no_waiting(self):
        wait_for(lambda: not interpreters(self.server.process.pid))
