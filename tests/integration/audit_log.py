# SPDX-License-Identifier: Apache-2.0
"""The audit log as docs/audit.md describes it, read and written without any code of msp. Nothing
here is a test."""
import contextlib
import hashlib
import json
import os
import re
import shutil
import tempfile
import unittest

import support
from cli_support import command, msp

NONE = "0" * 64
FILE_BYTES, KEPT = 8 << 20, 8


def name_of(number):
    return f"audit.{number}.jsonl" if number else "audit.jsonl"


def line_of(seq, previous, event="filler", **fields):
    """A record as bytes, and its hash."""
    body = {"seq": seq, "time_us": 1700000000000000 + seq, "pid": 1, "event": event, **fields,
            "previous": previous}
    text = json.dumps(body, separators=(",", ":"))[:-1]
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f'{text},"hash":"{digest}"}}\n'.encode(), digest


def head_of(seq, size, digest):
    return f'{{"seq":{seq:20d},"size":{size:20d},"hash":"{digest}"}}\n'.encode()


class Log:
    """The log in a state directory."""

    def __init__(self, state):
        self.state = state
        self.folder = os.path.join(state, "audit")

    def path(self, name="audit.jsonl"):
        return os.path.join(self.folder, name)

    def read(self, name="audit.jsonl"):
        with open(self.path(name), "rb") as file:
            return file.read()

    def write(self, data, name="audit.jsonl"):
        with open(self.path(name), "wb") as file:
            file.write(data)

    def names(self):
        """Oldest first."""
        return [name_of(number) for number in range(KEPT + 1, -1, -1)
                if os.path.exists(self.path(name_of(number)))]

    def lines(self, name="audit.jsonl"):
        return self.read(name).splitlines(keepends=True)

    def records(self, event=None):
        """Of all files; what is no JSON is left out."""
        found = []
        for line in (line for name in self.names() for line in self.lines(name)):
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
        return [record for record in found if event in (None, record["event"])]

    def check(self):
        """The chain, by the description alone: the number of its records, or AssertionError."""
        lines = [line for name in self.names() for line in self.lines(name)]
        last, count = None, 0
        for line in lines:
            try:
                record = json.loads(line)
            except ValueError:
                continue  # torn; `msp audit verify` judges that
            text, _, rest = line.rpartition(b',"hash":"')
            digest = hashlib.sha256(text).hexdigest()
            assert rest == digest.encode() + b'"}\n', line
            if last:
                assert record["previous"] == last["hash"], line
                assert record["seq"] == last["seq"] + 1, line
            last, count = record, count + 1
        head = json.loads(self.read("head"))
        assert (head["seq"], head["hash"]) == (last["seq"], last["hash"]), (head, last)
        assert head["size"] == len(self.read()), head
        return count

    def fill(self, *sizes):
        """Make a chain whose files, the oldest first, have at least so many bytes."""
        seq, previous = 0, NONE
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        for number, size in zip(range(len(sizes) - 1, -1, -1), sizes):
            data = bytearray()
            while len(data) < size:
                seq += 1
                line, previous = line_of(seq, previous, text="x" * min(200, size))
                data += line
            self.write(data, name_of(number))
        self.write(head_of(seq, len(data), previous), "head")
        return self

    def copy(self, to):
        shutil.copytree(self.folder, os.path.join(to, "audit"))
        return Log(to)

    def environment(self):
        return {**os.environ, "MSP_STATE_DIR": self.state}

    def msp(self, *words, **keywords):
        return msp(*words, env=self.environment(), **keywords)

    def run(self, *words, options=(), **keywords):
        return self.msp(*command(*words, options=options), **keywords)

    def audit(self, *words, **keywords):
        return self.msp("audit", *words, **keywords)


class Place(unittest.TestCase):
    """A state directory for each test."""

    def setUp(self):
        self.log = Log(self.place())

    def place(self):
        folder = tempfile.mkdtemp(prefix="msp-test-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def assert_confined(self, pid):
        """A steward, as the kernel sees it."""
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            status = dict(re.findall(r"(?m)^(\w+):\t(.*)$", file.read()))
        self.assertEqual((status["NoNewPrivs"], status["Seccomp"], status["Threads"]),
                         ("1", "2", "1"))
        self.assertEqual([int(status[name], 16) for name in ("CapEff", "CapPrm", "CapInh")],
                         [0, 0, 0])
        with contextlib.suppress(PermissionError):  # it is not dumpable
            self.fail(os.readlink(f"/proc/{pid}/cwd"))

    def assert_whole(self, log=None):
        result = (log or self.log).audit("verify")
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        self.assertIn("the chain is whole", result.stdout)
        return (log or self.log).check()

    def assert_found(self, log, *parts):
        """`msp audit verify` finds something, in words that hold the parts."""
        result = log.audit("verify")
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        for part in parts:
            self.assertRegex(result.stderr, part)


def programs_with(folder, change):
    """A copy of the programs in `folder` whose compiled policy `change(bytearray)` changed."""
    for name in ("msp", "msp-supervisor", "msp-broker", "msp-child-init", "msp-audit", "msp-opener"):
        shutil.copy(os.path.join(support.BIN, name), folder)
    with open(os.path.join(support.BIN, "builtin.policy"), "rb") as file:
        plan = bytearray(file.read())
    change(plan)
    with open(os.path.join(folder, "builtin.policy"), "wb") as file:
        file.write(plan)
    return os.path.join(folder, "msp")
