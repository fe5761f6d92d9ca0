#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each of msp's confined programs, taken over: the real msp starts it, it confines itself, and then it
tries acts on the user's files, network and processes (hostile_acts.c). The filter answers in place of
ending the process, so that one start tries all acts; attack-filters shows that it ends it. An
ordinary process is the control: it can do all of them."""
import collections
import contextlib
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import bridge_process  # noqa: E402
import gateway_http_support  # noqa: E402
import images_support  # noqa: E402
import support  # noqa: E402
from gateway_support import Program  # noqa: E402

BUILD = pathlib.Path(os.environ["MSP_BUILD"])
HOSTILE = BUILD / "controls" / "hostile"
FOLDER = BUILD / "hostile"  # HOSTILE_FOLDER of the programs
SECONDS = 60
# msp says whose lines it hands on.
LINE = re.compile(r"^(?:msp: image: )?hostile (msp-[a-z-]+|outside)(?:@\d+)? (\w+) (\w+) (\d+)$", re.M)
FILTER = 251
# EPERM, ENOENT (a tree of its own), EBADF (no directory was handed over), EACCES, ENOSYS
REFUSED = {FILTER, 1, 2, 9, 13, 38}
# What a program that is taken over can do all the same: the lists' reasons say why.
DONE = {0, 115}  # EINPROGRESS
LOOKS = {"stat", "beside_stat"}  # kinds, sizes and times: Landlock does not govern stat(2)
ALLOWED = {
    "msp-audit": LOOKS,
    "msp-bridge": {"six"},  # a socket of the sandbox's network
    "msp-broker": {"memory_file"},
    "msp-cable": {"route", "bind", "listen"},  # in a network namespace of its own
    "msp-dial": {"connect", "six"},
    "msp-egress": set(),
    # It reads what the user may: a configuration includes files by name.
    "msp-git-config": {"read_file", "read_file_old", "read_folder", "read_link", "proc", "access", "access_at",
                       "stat", "stat_old"},
    "msp-http": {"fork"},  # the starter
    "msp-image": LOOKS | {"read_link", "open_for_neither_new", "path_new", "beside_path", "chmod_at", "chmod_new",
                          "beside_chmod"},
    "msp-layers": {"beside_stat", "beside_path"},
    # It opens directories with O_PATH, to hand them on.
    "msp-opener": {"path_new", "open_for_neither_new", "access_at", "stat", "stat_old", "stat_new"},
    "msp-store": LOOKS,
    "msp-supervisor": {"stat", "access", "set_time_now"},
}
CONFIG = """\
profiles:
  - name: web
    extends: default
    network: hosts
    hosts: ["example.com:443"]
"""


def setUpModule():
    if os.geteuid() == 0:
        raise unittest.SkipTest("needs an ordinary user")


class World:
    """Targets of the acts, and a folder of hostile programs."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="msp-hostile-", dir="/var/tmp"))
        self.bin = self.folder / "bin"
        shutil.copytree(support.BIN, self.bin)
        for program in HOSTILE.glob("msp-*"):
            shutil.copy(program, self.bin)
        self.servers = [socket.create_server(("127.0.0.1", 0), backlog=64) for _ in range(2)]
        self.reached = 0  # the second one, by a socket that a program was handed
        for number, server in enumerate(self.servers):
            threading.Thread(target=self.serve, args=(server, number), daemon=True).start()
        self.files = []
        for name, kind in (("stream", socket.SOCK_STREAM), ("datagram", socket.SOCK_DGRAM)):
            file = socket.socket(socket.AF_UNIX, kind)
            file.bind(str(self.folder / name))
            self.files.append(file)
        self.files[0].listen(64)
        self.victim = subprocess.Popen(["sleep", "600"])
        FOLDER.mkdir(exist_ok=True)
        for name in ("file", "gone"):
            (FOLDER / name).write_text("beside")
        (FOLDER / "config").write_text(
            f"{self.folder} {self.servers[0].getsockname()[1]} {self.victim.pid} "
            f"{self.servers[1].getsockname()[1]}\n")

    def serve(self, server, count):
        with contextlib.suppress(OSError):
            while True:
                server.accept()[0].close()
                self.reached += count

    def close(self):
        self.victim.kill()
        self.victim.wait()
        for each in (*self.servers, *self.files):
            each.close()
        shutil.rmtree(FOLDER)
        support.remove_folder(str(self.folder))


def results(text):
    """{(program, column): {act: the best result of its tries}}."""
    found = collections.defaultdict(dict)
    for program, column, act, result in LINE.findall(text):
        acts = found[program, column]
        result = int(result)
        if act not in acts or acts[act] in REFUSED:
            acts[act] = result
    return found


class Compromised(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = World()
        cls.addClassCleanup(cls.world.close)
        cls.environment = {**os.environ, "MSP_STATE_DIR": str(cls.world.folder / "state")}
        cls.work = cls.world.folder / "work"
        cls.work.mkdir()
        (cls.work / "a").write_text("a\n")

    def msp(self, *words, **keywords):
        """What `msp WORDS` writes; a bare word of its options is checked by the caller."""
        return subprocess.run([str(self.world.bin / "msp"), *words], env=self.environment,
                              cwd=self.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=SECONDS, check=False,
                              **keywords).stdout

    @staticmethod
    def said_elsewhere():
        """Lines of programs without a standard error, since the last call."""
        with contextlib.suppress(FileNotFoundError):
            text = (FOLDER / "said").read_text()
            (FOLDER / "said").unlink()
            return text
        return ""

    @staticmethod
    def has_opener_ended():
        """It tries the acts again when it is confined."""
        with contextlib.suppress(FileNotFoundError):
            found = results((FOLDER / "said").read_text())
            return 0 < len(found["msp-opener", "beneath"]) == len(found["msp-opener", "within"])
        return False

    def check(self, text, *programs, more=frozenset()):
        found = results(text)
        for program in programs:
            with self.subTest(program=program):
                acts = found[program, "within"]
                self.assertGreater(len(acts), 60, text)
                reached = {act for act, result in acts.items() if result not in REFUSED}
                self.assertEqual(reached, ALLOWED[program] | more)

    @contextlib.contextmanager
    def hostile_programs(self):
        """Programs that a test starts by itself are hostile ones."""
        real, support.BIN = support.BIN, str(self.world.bin)
        try:
            yield
        finally:
            support.BIN = real

    @staticmethod
    def reset_socket():
        """A socket that was connected without waiting, as msp-dial does, and whose peer has reset
        it."""
        ours = socket.socket()
        ours.setblocking(False)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            ours.connect_ex(listener.getsockname())
            peer, _ = listener.accept()
        with peer:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return ours

    def check_socket(self, text, program, allowed=frozenset()):
        acts = results(text)[program, "socket"]
        self.assertGreater(len(acts), 8, text)
        self.assertEqual({act for act, result in acts.items() if result in DONE}, allowed)

    def test_the_control(self):
        said = subprocess.run([HOSTILE / "hostile-outside"], capture_output=True, text=True,
                              timeout=SECONDS, check=False).stderr
        acts = results(said)["outside", "outside"]
        self.assertGreater(len(acts), 60)
        self.assertEqual({act: result for act, result in acts.items() if result}, {})

    def test_with_a_sandbox(self):
        said = self.msp("run", *support.limits(), "--", "true")
        self.check(said, "msp-audit", "msp-supervisor")

    def test_with_a_network(self):
        config = self.world.folder / "msp.yaml"
        config.write_text(CONFIG)
        said = self.msp("run", *support.limits(), f"--config={config}", "--profile=web", "--", "true")
        self.check(said, "msp-cable", "msp-dial", "msp-egress", "msp-http")

    def test_with_a_persistent_sandbox(self):
        self.said_elsewhere()
        self.msp("create", "--name=one", "--workspace=.")
        self.msp("exec", *support.limits(), "one", "--", "sh", "-c", "echo b > b")
        said = self.msp("diff", "one")
        self.check(said, "msp-store", "msp-layers")
        self.check(self.said_elsewhere(), "msp-opener", "msp-git-config")
        self.msp("destroy", "one")

    def test_with_an_image(self):
        files = images_support.Image(images_support.layer(images_support.entry("a", b"a"))).oci()
        path = images_support.write_archive(str(self.world.folder / "image.tar"), files)
        self.check(self.msp("image", "import", path, "a:1"), "msp-image")

    def test_with_a_client(self):
        self.said_elsewhere()
        self.check(self.msp("serve", *support.limits()), "msp-broker")
        support.wait_until(self.has_opener_ended, SECONDS)
        # It has the directory that msp was started in.
        self.check(self.said_elsewhere(), "msp-opener", more={"beside_path", "beside_stat"})

    def test_with_a_bridge(self):
        with self.hostile_programs():
            bridge, sandbox = bridge_process.Bridge(), bridge_process.Sandbox()
        self.addCleanup(sandbox.close)
        bridge.let_in(sandbox)
        while bridge.hear() not in (None, ("bridge_ready", {"step": 0, "error": 0})):
            pass
        before = self.world.reached
        with bridge.connect() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        bridge.ask(b"hello")  # it is taken after the other one
        said = bridge.close()[1]
        self.check(said, "msp-bridge")
        # Landlock and the loopback's device bound what a socket that is made new can connect to.
        self.check_socket(said, "msp-bridge", {"disconnect", "disconnect_again", "disconnect_last"})
        self.assertEqual(self.world.reached, before)

    def test_the_control_of_sockets(self):
        before = self.world.reached
        with self.reset_socket() as ours:
            said = subprocess.run([HOSTILE / "hostile-outside", "socket"], stdin=ours.fileno(),
                                  capture_output=True, text=True, timeout=SECONDS,
                                  check=False).stderr
        acts = results(said)["outside", "socket"]
        # A flag without an address, and a name without the flag, lead nowhere.
        self.assertEqual({act for act, result in acts.items() if result not in DONE},
                         {"message_named", "send_anew_flag"})
        support.wait_until(lambda: self.world.reached > before)

    def test_a_socket_that_msp_egress_has(self):
        before = self.world.reached
        with self.hostile_programs():
            egress = Program("msp-egress")
        self.addCleanup(egress.close)
        with self.reset_socket() as ours:
            egress.send(egress.peer, "dial_done", fds=[ours.fileno()], number=0,
                        address="192.0.2.1")
        self.check_socket(egress.said(), "msp-egress")
        self.assertEqual(self.world.reached, before)

    def test_a_socket_that_msp_http_has(self):
        before = self.world.reached
        plan, index = gateway_http_support.make_plan(
            str(self.world.folder), [("example.com", 443, gateway_http_support.HTTPS)])
        authority = gateway_http_support.make_authority()
        with self.hostile_programs():
            http = gateway_http_support.Http(plan, index, b"".join(authority), authority[1])
        sockets = [self.reset_socket().detach() for _ in range(2)]
        http._send(http.egress, "http_open", sockets, number=1, port=443, host="example.com")
        http.hear()
        self.check_socket(http.close(), "msp-http")
        self.assertEqual(self.world.reached, before)


if __name__ == "__main__":
    unittest.main()
