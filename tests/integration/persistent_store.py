# SPDX-License-Identifier: Apache-2.0
"""Persistent sandboxes, asked for from the real supervisor, in its confinement: what it keeps on disk
is there for the next one, also when it is killed."""
import os
import signal
import struct
import subprocess
import tempfile
import time
import types
import unittest

import ipc  # which sets MSP_STATE_DIR
import support

SAVE, LIST, ROLLBACK, FORK = range(1, 5)
DESTROY = 2


def parse(told):
    """The fields of a message without byte ranges."""
    values, at = {}, 0
    for kind, field in ipc.FIELDS[told.name]:
        if kind in ("U32", "U64"):
            size = 4 if kind == "U32" else 8
            values[field] = int.from_bytes(told.body[at:at + size], "little")
        else:
            size = 4 + struct.unpack_from("I", told.body, at)[0]
            values[field] = told.body[at + 4:at + size].decode()
        at += size
    return types.SimpleNamespace(name_of=told.name, **values)


class Supervisor(ipc.Peer):
    """One with a state directory."""

    def __init__(self, state):
        super().__init__()
        self.state = state
        self.serve()

    def send_audit(self, path=None):
        super().send_audit(path)
        store = ipc.start_steward("msp-store", self.state, self.programs)
        self.send(ipc.message("supervisor_state"), [store.fileno()])
        store.close()

    def ask(self, kind, **values):
        """Everything that is answered to one request."""
        self.send(ipc.message(kind, request=9, **values))
        answers = [parse(self.receive())]
        while answers[-1].name_of in ("checkpoint_info", "sandbox_info", "sandbox_more") and \
                (kind == "sandbox_list" or values.get("operation") == LIST):
            if answers[-1].name_of == "sandbox_more":
                values["after"] = answers.pop().after
                self.send(ipc.message(kind, request=9, **values))
            answers.append(parse(self.receive()))
        return answers

    def create(self, **values):
        return self.ask("sandbox_new", profile="default", **values)[0]

    def checkpoint(self, sandbox, operation, **values):
        return self.ask("checkpoint_do", sandbox=sandbox, operation=operation, **values)

    def list(self):
        return sorted(info.name for info in self.ask("sandbox_list")[:-1])


class Persistent(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="msp-test-")
        self.addCleanup(self.folder.cleanup)
        self.state = self.folder.name

    def layers(self):
        return len(os.listdir(os.path.join(self.state, "layers")))

    def test_what_is_made_is_there_for_the_next_one(self):
        with Supervisor(self.state) as supervisor:
            made = supervisor.create(name="one")
            self.assertEqual(made.name_of, "sandbox_info", vars(made))
            self.assertEqual(supervisor.create(name="one").name_of, "execution_refused")
        with Supervisor(self.state) as supervisor:
            told = supervisor.ask("sandbox_list")
            self.assertEqual([info.id for info in told[:-1]], [made.id])
            self.assertEqual(told[-1].name_of, "request_done")

    def test_checkpoints_forks_and_ends(self):
        with Supervisor(self.state) as supervisor:
            supervisor.create(name="one")
            saved = supervisor.checkpoint("one", SAVE, name="first")[0]
            self.assertEqual((saved.number, saved.is_current), (1, 1))
            self.assertEqual(supervisor.checkpoint("one", FORK, name="two")[0].name, "two")
            self.assertEqual(supervisor.checkpoint("one", ROLLBACK, number=1)[0].name_of,
                             "request_done")
            self.assertEqual(len(supervisor.checkpoint("one", LIST)), 2)
            self.assertEqual(supervisor.list(), ["one", "two"])
            ended = supervisor.ask("sandbox_end", sandbox="one", how=DESTROY)[0]
            self.assertEqual(ended.name_of, "request_done")
            self.assertEqual(supervisor.list(), ["two"])
        self.assertEqual(self.layers(), 1)

    def test_two_supervisors_share_the_place(self):
        with Supervisor(self.state) as first, Supervisor(self.state) as second:
            for number in range(20):
                owner = (first, second)[number % 2]
                self.assertEqual(owner.create(name=f"n{number:02}").name_of, "sandbox_info")
            self.assertEqual(first.list(), second.list())
            self.assertEqual(len(first.list()), 20)
            self.assertEqual(second.create(name="n00").name_of, "execution_refused")

    def test_a_long_list(self):
        with Supervisor(self.state) as supervisor:
            for _ in range(64):
                self.assertEqual(supervisor.create().name_of, "sandbox_info")
            self.assertEqual(supervisor.create().name_of, "execution_refused", "64 are allowed")
            self.assertEqual(len(supervisor.list()), 64)

    def test_killed_at_any_time_it_leaves_nothing_damaged(self):
        for delay in range(24):
            supervisor = Supervisor(self.state)
            supervisor.create(name="one")
            for operation in (SAVE, FORK, ROLLBACK, SAVE, FORK) * 4:
                supervisor.send(ipc.message("checkpoint_do", request=1, sandbox="one",
                                            operation=operation,
                                            number=operation == ROLLBACK))
            time.sleep(delay / 2000)
            supervisor.process.send_signal(signal.SIGKILL)
            supervisor.__exit__()
        with Supervisor(self.state) as supervisor:
            told = supervisor.ask("sandbox_list")[:-1]
            self.assertEqual([info.id for info in told if info.is_damaged], [])
            self.assertIn("one", [info.name for info in told])
            for info in told:
                ended = supervisor.ask("sandbox_end", sandbox=info.id, how=DESTROY)[0]
                self.assertEqual(ended.name_of, "request_done", vars(ended))
        self.assertEqual(self.layers(), 0)

    def test_on_a_full_disk_one_request_fails(self):
        with Supervisor(self.state) as supervisor:
            supervisor.create(name="one")
            limit = 4096  # bytes of a file: a meta is longer, a record of the audit log is not
            store = min(support.named(os.getpid(), "msp-store"))  # not a child before its exec
            subprocess.run(["prlimit", f"--fsize={limit}", "--pid", str(store)], check=True)
            self.assertEqual(supervisor.checkpoint("one", SAVE)[0].name_of, "execution_refused")
            self.assertEqual(supervisor.create(name="two").name_of, "execution_refused")
            self.assertEqual(supervisor.list(), ["one"])
        with Supervisor(self.state) as supervisor:
            self.assertEqual(supervisor.checkpoint("one", SAVE)[0].number, 1)
            self.assertEqual(supervisor.list(), ["one"])


if __name__ == "__main__":
    unittest.main()
