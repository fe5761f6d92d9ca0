#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A compromised frontend or launcher: what it sends that is not the protocol ends the supervisor
at once with exit code 70, and everything that it had started; what is allowed changes nothing."""
import fcntl
import os
import random
import resource
import shutil
import signal
import socket
import struct
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import faults  # noqa: E402  (their folder is known from here on)
import ipc  # noqa: E402
import leftovers  # noqa: E402
import plans  # noqa: E402
import support  # noqa: E402

USAGE, SOFTWARE, REFUSED = 64, 70, 78
FRONTEND_ROWS = ("hello", "execution_start", "code_start", "execution_end", "execution_signal",
                 "execution_extend", "goodbye")
EXECUTIONS_MAX = 128  # the budget where the launcher says nothing else


def setUpModule():
    if os.geteuid() == 0:
        raise unittest.SkipTest("needs an ordinary user")
    leftovers.become_reaper()


class Hostile(unittest.TestCase):
    def assert_ended(self, peer, *codes):
        """Soon, by itself, with one of the codes; nothing is left of it."""
        start = time.monotonic()
        code, error = peer.end()
        self.assertIn(code, codes, error)
        gone = leftovers.wait_gone(start)
        self.assertIsNotNone(gone, leftovers.describe(leftovers.living()))
        self.assertLess(gone, 20)
        leftovers.reap_orphans()
        return error

    def drain(self, peer, limit=40):
        """Read and drop what it says; True when it ended its channel."""
        for _ in range(limit):
            try:
                answer = peer.receive(timeout=0.2)
            except TimeoutError:
                return False
            if answer is None:
                return True
            for fd in answer.fds:
                os.close(fd)
        return False

    def breach(self, data, fds=(), serve=True):
        """Sent to a serving supervisor, it ends it."""
        with ipc.Peer() as peer:
            if serve:
                peer.serve()
            else:
                peer.launch()
            peer.send(data, fds)
            return self.assert_ended(peer, SOFTWARE)


class Messages(Hostile):
    VALID = {
        "hello": ipc.hello(),
        "execution_start": ipc.execution_start(1, ["true"], cwd="/tmp", environment=["A=b"]),
        "code_start": ipc.code_start(2, "bash", ["x"]),
        "execution_end": ipc.execution_end(3),
        "execution_signal": ipc.execution_signal(4, signal.SIGTERM),
        "execution_extend": ipc.execution_extend(5, 1000),
    }

    def fds_of(self, name):
        if name != "code_start":
            return []
        fd = ipc.sealed(b"true")
        self.addCleanup(os.close, fd)
        return [fd]

    # Each case takes a supervisor of its own. The decoder has every truncation of every message in
    # tests/unit/common/ipc/ipc_codec_test.c: here is a sample of each part of each message.

    def parts(self, of_type, of_body):
        """(message, position) with so many positions of its type and of what follows."""
        for name, data in self.VALID.items():
            yield from ((name, at) for at in faults.sample(range(4), of_type))
            yield from ((name, at) for at in faults.sample(range(4, len(data)), of_body))

    def test_every_truncation(self):
        fds = {name: self.fds_of(name) for name in self.VALID}
        cases = {*self.parts(2, 2), *((name, len(data) - 1) for name, data in self.VALID.items())}
        for name, size in sorted(case for case in cases if case[1]):
            with self.subTest(message=name, size=size):
                self.breach(self.VALID[name][:size], fds[name], serve=name != "hello")

    def test_trailing_bytes(self):
        for name, data in self.VALID.items():
            with self.subTest(message=name):
                self.breach(data + b"\0", self.fds_of(name), serve=name != "hello")

    def test_an_empty_packet_is_the_end(self):
        with ipc.Peer() as peer:
            peer.serve()
            peer.send(b"")
            self.assert_ended(peer, 0, SOFTWARE)

    def test_an_empty_packet_with_a_descriptor(self):
        self.breach(b"", [0])

    def test_flipped_bits(self):
        """Each byte of each message with one bit changed: refused, answered, or the end; always
        soon, and never by a crash."""
        numbers = random.Random(1)
        counts = {"ended": 0, "answered": 0}
        fds = {name: self.fds_of(name) for name in self.VALID}
        for name, at in self.parts(2, 6):
            flipped = bytearray(self.VALID[name])
            flipped[at] ^= 1 << numbers.randrange(8)
            with self.subTest(message=name, byte=at), ipc.Peer() as peer:
                peer.launch() if name == "hello" else peer.serve()
                peer.send(bytes(flipped), fds[name])
                if self.drain_one(peer):
                    counts["answered"] += 1
                    peer.channel.close()
                    self.assert_ended(peer, 0, SOFTWARE)  # it may not have come to it yet
                else:
                    counts["ended"] += 1
                    self.assert_ended(peer, SOFTWARE)
        self.assertGreater(counts["ended"], 12)
        self.assertGreater(counts["answered"], 8, "some bits are content")

    def drain_one(self, peer):
        """Did it answer, or at least stay? False: it ended."""
        try:
            answer = peer.receive(timeout=0.02)
        except TimeoutError:
            return True
        for fd in answer.fds if answer else ():
            os.close(fd)
        return answer is not None

    def test_random_packets(self):
        numbers = random.Random(2)
        for size in (1, 3, 4, 5, 64, 1000, 65536, 130000, 200000):
            for _ in range(5 if faults.IS_ALL else 1):
                with self.subTest(size=size):
                    self.breach(numbers.randbytes(size))

    def test_unknown_types(self):
        for number in (0, len(ipc.NAMES), len(ipc.NAMES) + 1, 0x7fffffff, 0xffffffff):
            with self.subTest(type=number):
                self.breach(struct.pack("I", number) + b"\0" * 16)

    def test_messages_of_others(self):
        """Rows that the frontend may not send, with bodies of a plausible size. Who may send what
        is one table, which tests/unit/common/ipc/channel_test.c tries row by row."""
        cases = [(name, size) for name in ipc.NAMES[1:] if name not in FRONTEND_ROWS
                 for size in (0, 4, 8, 12, 36, 48, 56)]
        for name, size in faults.sample(cases, 24):
            with self.subTest(message=name, size=size):
                self.breach(ipc.raw_message(name, b"\0" * size))

    def test_wrong_phase(self):
        for data in (ipc.execution_start(1, ["true"]), ipc.execution_end(1)):
            self.breach(data, serve=False)
        self.breach(ipc.hello())  # a second one

    def test_another_schema(self):
        self.breach(ipc.hello(bytes(32)), serve=False)
        self.breach(ipc.hello(ipc.SCHEMA[:-1] + bytes([ipc.SCHEMA[-1] ^ 1])), serve=False)

    def test_lengths_that_lie(self):
        whole = ipc.execution_start(1, ["true"])
        head = whole[:whole.index(ipc.string("default"))]
        for length in (0, 1, 63, 64, 65, 1 << 16, 0x7fffffff, 0xffffffff):
            with self.subTest(length=length):
                self.breach(head + struct.pack("I", length) + b"x" * 8)

    def test_replays(self):
        """The same request again while it lives is refused, and harms nobody."""
        with ipc.Peer() as peer:
            peer.serve()
            start = ipc.execution_start(7, ["sleep", "5"])
            peer.send(start)
            first = peer.receive()
            self.assertEqual(first.name, "execution_started")
            for _ in range(20):
                peer.send(start)
                self.assertEqual(peer.receive().name, "execution_refused")
            for _ in range(3):
                peer.send(ipc.execution_end(7))
            self.assertEqual(ipc.parse_done(peer.receive().body).verdict, "cancelled")
            for fd in first.fds:
                os.close(fd)
            self.assertEqual(peer.run(7, ["echo", "again"])[0], b"again\n")
            peer.channel.close()
            self.assert_ended(peer, 0)

    def test_reasons_outside_the_set(self):
        for reason in (0, 4, 0xffffffff):
            with self.subTest(reason=reason):
                self.breach(ipc.execution_end(1, reason))

    def test_signals_outside_the_set(self):
        """KILL goes another way, and SYS, XCPU, XFSZ or SEGV would lie about the cause of an end."""
        for number in (0, signal.SIGKILL, signal.SIGSYS, signal.SIGXCPU, signal.SIGXFSZ,
                       signal.SIGSEGV, signal.SIGWINCH, signal.SIGRTMIN, 65, 0xffffffff):
            with self.subTest(signal=number):
                self.breach(ipc.execution_signal(1, number))


class Descriptors(Hostile):
    """One descriptor of the right kind where the table says so, and none anywhere else."""

    def made(self):
        """Descriptors that are no sealed memfd, by name."""
        unsealed = os.memfd_create("unsealed", os.MFD_ALLOW_SEALING)
        os.write(unsealed, b"true")
        half = os.memfd_create("half", os.MFD_ALLOW_SEALING)
        fcntl.fcntl(half, ipc.F_ADD_SEALS, 8)  # F_SEAL_WRITE alone
        pipe, other = os.pipe()
        sockets = socket.socketpair(socket.AF_UNIX)
        kinds = {"unsealed": unsealed, "half sealed": half, "pipe": pipe,
                 "directory": os.open("/", os.O_RDONLY), "path": os.open("/usr", os.O_PATH),
                 "file": os.open(__file__, os.O_RDONLY), "socket": sockets[0].detach(),
                 "device": os.open("/dev/null", os.O_RDWR), "pidfd": os.pidfd_open(os.getpid())}
        for fd in (*kinds.values(), other, sockets[1].detach()):
            self.addCleanup(os.close, fd)
        return kinds

    def test_wrong_kinds(self):
        for kind, fd in self.made().items():
            with self.subTest(kind=kind):
                self.breach(ipc.code_start(1, "bash"), [fd])

    def test_wrong_numbers(self):
        fd = ipc.sealed(b"true")
        self.addCleanup(os.close, fd)
        for count in (0, 2, 6, 253):
            with self.subTest(message="code_start", fds=count):
                self.breach(ipc.code_start(1, "bash"), [fd] * count)
        for count in (1, 253):
            with self.subTest(message="execution_start", fds=count):
                self.breach(ipc.execution_start(1, ["true"]), [fd] * count)
            with self.subTest(message="hello", fds=count):
                self.breach(ipc.hello(), [fd] * count, serve=False)

    def test_its_own_channel(self):
        """A socket that would keep itself alive in its own queue."""
        with ipc.Peer() as peer:
            peer.serve()
            peer.send(ipc.code_start(1, "bash"), [peer.channel.fileno()])
            self.assert_ended(peer, SOFTWARE)

    def test_none_is_kept(self):
        """With room for few descriptors, hundreds of requests that bring one each."""
        def few():
            resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))
        fd = ipc.sealed(b"echo ran")
        self.addCleanup(os.close, fd)
        with ipc.Peer(preexec=few) as peer:
            peer.serve()
            for number in range(200):
                peer.send(ipc.code_start(number, "no such language"), [fd])
                self.assertEqual(peer.receive().name, "execution_refused")
            for number in range(60):
                output, done = peer.run(number, ["echo", "ran"])
                self.assertEqual((output, done.verdict), (b"ran\n", "exited"))


class Floods(Hostile):
    def test_too_many_executions(self):
        with ipc.Peer() as peer:
            peer.serve()
            names = []
            for number in range(EXECUTIONS_MAX + 10):
                peer.send(ipc.execution_start(number, ["sleep", "30"]))
                answer = peer.receive()
                names.append(answer.name)
                for fd in answer.fds:
                    os.close(fd)
            self.assertEqual(names, ["execution_started"] * EXECUTIONS_MAX +
                             ["execution_refused"] * 10)
            peer.channel.close()
            self.assert_ended(peer, 0)

    def test_answers_that_nobody_reads(self):
        """The queue is bounded: who does not read is cut off, and nothing of it stays."""
        with ipc.Peer() as peer:
            peer.serve()
            peer.channel.settimeout(5)
            with self.assertRaises(OSError):
                for number in range(100000):
                    peer.send(ipc.execution_start(number, ["true"], profile="no such profile"))
            self.assert_ended(peer, SOFTWARE, 0)

    def test_endless_starts_and_ends(self):
        with ipc.Peer() as peer:
            peer.serve()
            for number in range(EXECUTIONS_MAX + 10):  # more than there is room for at once
                peer.send(ipc.execution_start(number, ["sleep", "30"]))
                peer.send(ipc.execution_end(number))
                while True:
                    answer = peer.receive()
                    for fd in answer.fds:
                        os.close(fd)
                    # Refused: the end came while the request waited for its record.
                    if answer.name in ("execution_done", "execution_refused"):
                        break
            self.assertEqual(peer.run(1, ["echo", "well"])[0], b"well\n")
            peer.channel.close()
            self.assert_ended(peer, 0)

    def test_endless_signals(self):
        """To one that is stopped, which takes none of them, and to one that nobody asked for."""
        with ipc.Peer() as peer:
            peer.serve()
            peer.send(ipc.execution_start(1, ["sleep", "30"]))
            for fd in peer.receive().fds:
                os.close(fd)
            for number in range(20000):
                peer.send(ipc.execution_signal(1 + number % 2, signal.SIGSTOP))
            self.assertEqual(peer.run(3, ["echo", "well"])[0], b"well\n")
            peer.channel.close()
            self.assert_ended(peer, 0)

    def test_a_frontend_that_goes_with_everything_running(self):
        with ipc.Peer() as peer:
            peer.serve()
            for number in range(32):
                peer.send(ipc.execution_start(
                    number, ["/bin/sh", "-c", "setsid sleep 60 & (sleep 60 &); sleep 60"]))
            time.sleep(0.1)
            peer.channel.close()
            self.assert_ended(peer, 0)


class Launchers(Hostile):
    """Before the frontend speaks: what the launcher says decides what is enforced."""

    def start(self, data, fds=(), codes=(SOFTWARE,), factory=None):
        with ipc.Peer(factory=factory) as peer:
            for part, part_fds in zip(data, fds or [()] * len(data)):
                try:
                    peer.send(part, part_fds)
                except OSError:
                    break  # it ended on the part before
            return self.assert_ended(peer, *codes)

    def policy(self, change=None):
        with open(os.path.join(support.BIN, "builtin.policy"), "rb") as file:
            data = bytearray(file.read())
        if change:
            change(data)
        fd = ipc.sealed(bytes(data))
        self.addCleanup(os.close, fd)
        return fd

    START = ipc.message("supervisor_start", schema=ipc.SCHEMA, frontend=ipc.FRONTEND_LAUNCHER,
                        limits=ipc.LIMITS_FALLBACK, executions=128)
    RUN = ipc.message("supervisor_run")

    def audit(self, path):
        """The message, and its descriptor: the channel to a writer of that folder."""
        writer = ipc.start_steward("msp-audit", path)
        self.addCleanup(writer.close)
        return ipc.message("supervisor_audit", path=path), [writer.fileno()]

    def test_no_place_for_the_audit_log(self):
        """Or one that is not to be written to, or has something else in the log's place."""
        fds = [self.policy()]
        self.start([self.START, self.RUN], [fds, ()], (REFUSED,))
        self.start([self.START, ipc.message("supervisor_unaudited", problem="x"), self.RUN],
                   [fds, (), ()], (REFUSED,))
        # What may only list things has no record at its start.
        server = ipc.message("supervisor_start", schema=ipc.SCHEMA, frontend=ipc.FRONTEND_BROKER,
                             limits=ipc.LIMITS_FALLBACK, executions=128)
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "audit.jsonl"))
            for path in ("/", "/proc/self", "/usr", folder):
                with self.subTest(path=path):
                    message, directory = self.audit(path)
                    self.start([server, message, self.RUN], [fds, directory, ()], (REFUSED,))
        self.start([self.START, message, self.RUN], [fds, [fds[0]], ()])

    def test_order(self):
        fds = [self.policy()]
        self.start([self.RUN])
        self.start([ipc.hello()])
        self.start([self.START, self.START], [fds, fds])
        other = ipc.message("supervisor_start", schema=bytes(32), frontend=ipc.FRONTEND_LAUNCHER,
                            limits=ipc.LIMITS_FALLBACK, executions=128)
        self.start([other, self.RUN], [fds, ()])
        self.start([self.START, ipc.message("supervisor_run", pins=1)], [fds, ()])

    def test_a_policy_that_is_not_sealed(self):
        fd = os.memfd_create("policy", os.MFD_ALLOW_SEALING)
        self.addCleanup(os.close, fd)
        with open(os.path.join(support.BIN, "builtin.policy"), "rb") as file:
            os.write(fd, file.read())
        self.start([self.START], [[fd]])

    def test_a_policy_of_few_bytes(self):
        size = os.path.getsize(os.path.join(support.BIN, "builtin.policy"))
        for keep in (0, 1, 23, 24, 25, 100, size // 2, size - 1):
            def cut(data, keep=keep):
                del data[keep:]
            with self.subTest(bytes=keep):
                self.start([self.START, self.RUN], [[self.policy(cut)], ()],
                           (REFUSED, SOFTWARE))

    def test_a_policy_with_changed_bytes(self):
        """Refused, or a policy like another: it may serve, and ends with its frontend."""
        numbers = random.Random(3)
        for _ in faults.sample(range(150), 12):
            def change(data):
                for _ in range(4):
                    data[numbers.randrange(min(len(data), 4096))] = numbers.randrange(256)
            fds = [self.policy(change)]
            with ipc.Peer() as peer:
                try:
                    peer.send(self.START, fds)
                    peer.send_audit()
                    for part in (self.RUN, ipc.hello(), ipc.execution_start(1, ["true"])):
                        peer.send(part)
                except OSError:
                    pass  # it ended
                self.drain(peer, limit=3)
                peer.channel.close()
                self.assert_ended(peer, 0, REFUSED, SOFTWARE)

    def test_a_factory_that_is_another_program(self):
        message, directory = self.audit(tempfile.mkdtemp(dir=os.environ["MSP_STATE_DIR"]))
        self.start([self.START, message, self.RUN], [[self.policy()], directory, ()],
                   factory=lambda _: ipc.start_factory("/usr/bin/true"))

    def test_factories_that_are_none(self):
        """At its descriptors is nothing, something else, or somebody else's."""
        def copy(fd):
            return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 16)

        def put(channel=None, pidfd=None):
            for fd, place in ((channel, ipc.FACTORY_FD), (pidfd, ipc.FACTORY_PIDFD)):
                if fd is not None:
                    os.dup2(fd, place)

        def start_and_put(program, **others):
            ipc.start_factory(program)
            put(**others)

        null = copy(os.open("/dev/null", os.O_RDWR))
        self.addCleanup(os.close, null)
        ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        foreign = copy(ends[0].fileno())  # made by another process
        self.addCleanup(os.close, foreign)
        factories = {
            "nothing": lambda _: os.closerange(ipc.FACTORY_FD, 64),
            "no process": lambda program: (ipc.start_factory(program),
                                           os.close(ipc.FACTORY_PIDFD)),
            "null": lambda _: put(null, null),
            "a factory and null": lambda program: start_and_put(program, channel=null),
            "a foreign channel": lambda program: start_and_put(program, channel=foreign),
            "null as process": lambda program: start_and_put(program, pidfd=null),
            "a foreign process": lambda program: start_and_put(
                program, pidfd=os.pidfd_open(os.getppid())),
        }
        for what, factory in factories.items():
            with self.subTest(found=what):
                self.start([self.RUN], codes=(USAGE,), factory=factory)

    def test_a_folder_that_is_no_cgroup(self):
        """Limits that cannot be set refuse the execution; it never runs without them."""
        folder = os.open("/tmp", os.O_RDONLY | os.O_DIRECTORY)
        self.addCleanup(os.close, folder)
        with ipc.Peer() as peer:
            peer.send(self.START, [self.policy()])
            peer.send(ipc.message("supervisor_cgroup"), [folder])
            peer.send_audit()
            peer.send(self.RUN)
            os.close(peer.greet().fds[0])
            peer.send(ipc.execution_start(1, ["true"]))
            answer = peer.receive()
            self.assertEqual(answer.name, "execution_refused", answer)
            peer.channel.close()
            self.assert_ended(peer, 0, SOFTWARE)

    def bind(self, meant, host_path, inside_path):
        """Launch with a record as --ro makes it; what became of an execution."""
        folder = tempfile.mkdtemp(prefix="msp-bind-")
        self.addCleanup(shutil.rmtree, folder)
        change = ("bind", "default", host_path, inside_path)
        plans.programs(folder, change)
        ((profile, mount),) = plans.change_plan(folder, change)
        fd = os.open(meant, os.O_PATH)
        self.addCleanup(os.close, fd)
        with ipc.Peer(programs=folder) as peer:
            peer.launch(runs=False)
            peer.send(ipc.message("supervisor_pin", profile=profile, mount=mount), [fd])
            peer.send(ipc.message("supervisor_run", pins=1))
            os.close(peer.greet().fds[0])
            _, done = peer.run(1, ["ls", "/data"])
            peer.channel.close()
            self.assert_ended(peer, 0)
            return done

    def test_a_path_that_changed_its_meaning(self):
        """Between the launcher's check and the mount another file came to lie under the name."""
        link = os.path.join("/tmp", f"msp-link-{os.getpid()}")
        os.symlink("/usr/share", link)
        self.addCleanup(os.unlink, link)
        self.assertEqual(self.bind("/usr/share", "/usr/share", "/data").verdict, "exited")
        for meant, path in (("/usr/share", "/usr/lib"), ("/usr/share", "/etc"),
                            ("/usr/share", link), ("/usr/share", "/usr/lib/../share/../lib")):
            with self.subTest(path=path):
                done = self.bind(meant, path, "/data")
                self.assertEqual((done.verdict, done.stage), ("internal", "BIND"))

    def test_places_that_are_none(self):
        for place in ("/", "/usr/made", "/bin/made"):
            with self.subTest(place=place):
                done = self.bind("/usr/share", "/usr/share", place)
                self.assertEqual((done.verdict, done.stage), ("internal", "BIND"), done)
        # Nothing above the root, and nothing on the host.
        self.bind("/usr/share", "/usr/share", "/data/../../../../etc/made")
        for path in ("/etc/made", "/usr/made", "/bin/made"):
            self.assertFalse(os.path.exists(path))


if __name__ == "__main__":
    unittest.main()
