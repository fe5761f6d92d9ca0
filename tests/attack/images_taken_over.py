#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A taken-over msp-image, which reads one image, tries to change another: its manifest, its name, the
layers below it, by what it leaves and what it reports. Each act fails and the store stays as it is; the
control is the same program without an act, whose image comes in."""
import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import images_support  # noqa: E402
import support  # noqa: E402
from images_support import Image, entry, layer, sha256  # noqa: E402

HOSTILE = os.path.join(os.environ.get("MSP_BUILD") or os.path.dirname(support.BIN), "controls", "hostile-script")
VICTIM = Image(layer(entry("bin"), entry("bin/sh", "victim")), Env=["A=victim"])
EVIL = Image(layer(entry("bin"), entry("bin/sh", "evil")), Env=["A=evil"])
NEW, REPORT = 4, 1  # descriptors: image/report.h


class Report(ctypes.Structure):
    """struct image_report."""
    _fields_ = [("is_done", ctypes.c_uint32), ("name_count", ctypes.c_uint32),
                ("names", ctypes.c_char * 256 * 8), ("digest", ctypes.c_char * 65),
                ("text", ctypes.c_char * 1024), ("figures", ctypes.c_uint64 * 5)]


def configuration_digest(image):
    return sha256(image.configuration())


class Act:
    """What the program does to the directory for new layers and to the report."""

    def __init__(self, report):
        self.report = report

    def write(self, name, data):
        try:
            os.unlink(name, dir_fd=NEW)
        except FileNotFoundError:
            pass
        with os.fdopen(os.open(name, os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=NEW), "wb") as file:
            file.write(data)

    def read(self, name):
        with os.fdopen(os.open(name, os.O_RDONLY, dir_fd=NEW), "rb") as file:
            return file.read()

    def digest(self, digest):
        self.report.digest = digest.encode()

    def name(self, *names):
        self.report.name_count = len(names)
        for number, name in enumerate(names):
            self.report.names[number].value = name.encode()


def nothing(act):
    pass


def victims_digest(act):
    """Its own manifest under the victim's digest."""
    act.digest(configuration_digest(VICTIM))


def victims_configuration(act):
    """The same, with the victim's configuration, which everybody knows."""
    act.digest(configuration_digest(VICTIM))
    act.write("config.json", VICTIM.configuration())


def victims_layers(act):
    """The victim's layers with another environment."""
    victims_configuration(act)
    act.write("manifest", act.read("manifest").replace(bytes.fromhex(sha256(EVIL.layers[0])),
                                                       bytes.fromhex(sha256(VICTIM.layers[0]))))


def digest_of_nobody(act):
    """The digest of an image that a profile may name and that is not here yet."""
    act.digest("ab" * 32)


def digest_of_a_commit(act):
    """A manifest of the kind that proves its digest itself."""
    data = bytearray(act.read("manifest"))
    data[12] = 2
    bare = bytearray(data)
    bare[40 + 32:40 + 48] = bytes(16)
    act.write("manifest", data)
    act.digest(sha256(bare))


def digest_of_two_kinds(act):
    """A manifest of a registry that leads to another configuration."""
    data = bytearray(act.read("manifest"))
    data[12] = 1
    act.write("manifest", data)
    made = json.dumps({"config": {"digest": f"sha256:{configuration_digest(VICTIM)}"},
                       "layers": [{"digest": "sha256:" + "cd" * 32}]}).encode()
    act.write("indexed.json", made)
    act.digest(sha256(made))


def victims_name(act):
    act.name("victim:1")


def victims_local_name(act):
    """A name that means the victim as long as nobody has it: podman's names are found without their host."""
    act.name("local:1")


def digits(act):
    """A name that is the beginning of the victim's digest."""
    act.name(configuration_digest(VICTIM)[:8] + ":latest")


def pinned_name(act):
    act.name("python@sha256:" + "ab" * 32)


def no_name(act):
    act.name("../victim:1")


def link_as_layer(act):
    """A symbolic link in place of a layer, which would lead a sandbox to other files."""
    name = sha256(EVIL.layers[0])
    os.rename(name, "other", src_dir_fd=NEW, dst_dir_fd=NEW)
    os.symlink("/", name, dir_fd=NEW)


def link_as_manifest(act):
    os.unlink("manifest", dir_fd=NEW)
    os.symlink("/etc/passwd", "manifest", dir_fd=NEW)


def no_layer(act):
    os.rename(sha256(EVIL.layers[0]), "other", src_dir_fd=NEW, dst_dir_fd=NEW)


def no_configuration(act):
    os.unlink("config.json", dir_fd=NEW)


def long_configuration(act):
    act.write("config.json", act.read("config.json") + bytes(4 << 20))


MADE = "has not made what it says"
TAKEN = "which means another image here"
# Each with what refuses it.
ACTS = ((victims_digest, MADE), (victims_configuration, MADE), (victims_layers, MADE), (digest_of_nobody, MADE),
        (digest_of_a_commit, MADE), (digest_of_two_kinds, "its configuration|sha256"), (victims_name, TAKEN),
        (victims_local_name, TAKEN), (digits, TAKEN), (pinned_name, MADE), (no_name, MADE),
        (link_as_layer, MADE), (link_as_manifest, "ELOOP"), (no_layer, MADE), (no_configuration, "config.json"),
        (long_configuration, "config.json"))


def run_hostile(act, words):
    """As msp-image: an import is its own and then changed; all else does the program that is not taken over."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "real-msp-image")
    if words[0] != "import":
        os.execv(program, [program, *words])
    made = subprocess.run([program, *words], pass_fds=(3, 4, 5, 6), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, check=True).stdout
    report = Report.from_buffer_copy(made)
    if report.is_done:
        globals()[act](Act(report))
    os.write(REPORT, bytes(report))


class TakenOver(unittest.TestCase):
    def setUp(self):
        self.store = images_support.Store(tempfile.mkdtemp())
        self.addCleanup(self.store.close)
        self.ok(self.store.import_files(VICTIM.docker(), "victim:1"))
        self.ok(self.store.import_files(VICTIM.docker(), "localhost/local:1"))
        self.before = self.store.contents()
        self.kept = self.store.images + ".kept"
        shutil.copytree(self.store.images, self.kept, symlinks=True)
        self.programs = os.path.join(self.store.folder, "bin")
        os.mkdir(self.programs)
        for name in os.listdir(support.BIN):
            os.symlink(os.path.join(support.BIN, name), os.path.join(self.programs, name))
        for name, source in (("msp", images_support.MSP), ("msp-image", HOSTILE)):
            os.unlink(os.path.join(self.programs, name))
            shutil.copy2(source, os.path.join(self.programs, name))
        os.symlink(os.path.join(support.BIN, "msp-image"), os.path.join(self.programs, "real-msp-image"))

    def reset(self):
        shutil.rmtree(self.store.images)
        shutil.copytree(self.kept, self.store.images, symlinks=True)

    def ok(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)

    def bring(self, act, *words, image=EVIL):
        """Have the taken-over program import the evil image and do this."""
        with open(os.path.join(self.programs, "msp-image.py"), "w", encoding="utf-8") as file:
            file.write(f"import sys\nsys.path[:0] = [{os.path.dirname(os.path.abspath(__file__))!r}]\n"
                       "import images_taken_over\n"
                       f"images_taken_over.__file__ = {self.programs + '/x'!r}\n"
                       f"images_taken_over.run_hostile({act.__name__!r}, sys.argv[1:])\n")
        path = images_support.write_archive(os.path.join(self.store.folder, "evil.tar"), image.docker())
        return subprocess.run([os.path.join(self.programs, "msp"), "image", "import", path, *words],
                              env={**os.environ, "MSP_STATE_DIR": self.store.state},
                              capture_output=True, timeout=60, check=False)

    def test_acts(self):
        for act, says in ACTS:
            with self.subTest(act=act.__name__):
                self.reset()
                result = self.bring(act)
                self.assertIn(result.returncode, (70, 78), result.stderr)
                self.assertRegex(result.stderr.decode(), says)
                self.assertEqual(result.stdout, b"")
                self.assertEqual(self.store.contents(), self.before)
        self.check_control()

    def check_control(self):
        result = self.bring(nothing)
        self.assertEqual((result.returncode, result.stdout.decode()),
                         (0, f"sha256:{configuration_digest(EVIL)}\n"), result.stderr)
        found = self.store.contents()
        self.assertEqual({name: data for name, data in found.items() if name in self.before}, self.before)
        self.assertIn(f"manifests/{configuration_digest(EVIL)}", found)

    def test_a_name_that_is_given_is_the_only_one(self):
        result = self.bring(victims_name, "mine:1")
        self.assertEqual((result.returncode, result.stdout), (0, b"mine:1\n"), result.stderr)
        self.assertEqual(self.store.contents()["names/victim:1"], self.before["names/victim:1"])

    def test_lines_to_the_terminal(self):
        """They lose what a terminal obeys, and have little room; they come, which is the control."""
        result = self.bring(shout)
        self.assertEqual(result.returncode, 0, result.stderr)
        text = result.stderr.decode()
        self.assertIn("msp: image: ?[2J??forged\n", text)
        self.assertNotRegex(text, "[\x1b\x80-\x9f\u202e]")
        self.assertLess(len(text), 16384)

    def test_layers_that_are_there_stay(self):
        """An import of the victim itself, whose layer the program has made again with other files."""
        result = self.bring(layer_again, "again:1", image=VICTIM)
        self.assertEqual(result.returncode, 0, result.stderr)
        found = self.store.contents()
        del found["names/again:1"]
        self.assertEqual(found, self.before)


def shout(act):
    """What a terminal obeys, and more than a person reads."""
    os.write(2, "\x1b[2J\x9b\u202eforged\n".encode())
    try:
        for _ in range(100):
            os.write(2, b"forged\n" * 100)
    except PermissionError:
        pass


def layer_again(act):
    name = sha256(VICTIM.layers[0])
    os.mkdir(name, dir_fd=NEW)
    os.mkdir(f"{name}/bin", dir_fd=NEW)
    act.write(f"{name}/bin/sh", b"evil")


if __name__ == "__main__":
    unittest.main(verbosity=2)
