#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`msp vm`: machines of packages, whole or not at all. No machine is started."""
import gzip
import json
import os
import struct
import unittest

import machines_support
from cli_support import msp
from config_support import WithFolder

VERSION = "6.1.0-test"
MODULES = ("virtio_ring", "virtio", "virtio_pci", "virtio_console", "9pnet", "9pnet_virtio", "9p")


def program(size=4096):
    """The least that is a program: a head, and a part that is loaded."""
    head = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, 0, 64, 9, 0, 64, 56, 1, 0, 0, 0)
    return head + struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, size, size, 4096) + bytes(size - 120) + b"sections"


def kernel(inside=None, packed=None):
    """A kernel with this program, compressed, as the boot protocol wants it."""
    payload = gzip.compress(program() if inside is None else inside) if packed is None else packed
    head = bytearray(1024)
    head[0x1f1] = 1
    head[0x202:0x206] = b"HdrS"
    head[0x248:0x250] = struct.pack("<II", 0, len(payload))
    return bytes(head) + payload


def files(image=None, modules=MODULES, builtin=(), ending=".ko"):
    found = {f"./boot/vmlinuz-{VERSION}": kernel() if image is None else image,
             f"./lib/modules/{VERSION}/modules.builtin":
                 "".join(f"kernel/x/{name}.ko\n" for name in builtin).encode()}
    return found | {f"./lib/modules/{VERSION}/kernel/x/{name}{ending}": b"\x7fELF " + name.encode()
                    for name in modules}


class WithState(WithFolder):
    def setUp(self):
        super().setUp()
        self.state = os.path.join(self.folder, "state")
        os.mkdir(self.state, 0o700)

    def vm(self, *words):
        return msp("vm", *words, env=self.environment(MSP_STATE_DIR=self.state))

    def prepare(self, content, name="kernel.deb"):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(content)
        return self.vm("prepare", path)

    def machine(self, *names):
        return os.path.join(self.state, "vm", *names)


class Prepare(WithState):
    def test_package(self):
        for number, compression in enumerate(("", "gz", "xz")):
            result = self.prepare(machines_support.package(files(), compression))
            self.assertEqual((result.returncode, result.stdout), (0, VERSION + "\n"), result.stderr)
            self.assertEqual(sorted(os.listdir(self.machine())), [VERSION, "current"], number)
        self.assertEqual(sorted(os.listdir(self.machine(VERSION))), ["initramfs", "kernel", "msp-vm"])
        with open(self.machine(VERSION, "kernel"), "rb") as file:
            self.assertEqual(len(file.read()), 4096, "sections are left out")
        with open(self.machine(VERSION, "initramfs"), "rb") as file:
            packed = file.read()
        self.assertLess(packed.index(b"virtio_ring.ko"), packed.index(b"virtio.ko"))
        self.assertLess(packed.index(b"virtio.ko"), packed.index(b"9p.ko"))
        self.assertEqual(os.readlink(self.machine("current")), VERSION)

    def test_parts_of_the_kernel_need_no_module(self):
        result = self.prepare(machines_support.package(files(modules=("9p",), builtin=MODULES)))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("1 modules", result.stderr)

    def test_wrong_ones_leave_nothing(self):
        whole = machines_support.package(files())
        rows = (
            (b"", "kernel.deb: the file is no Debian package"),
            (b"text\n" * 100, "kernel.deb: the file is no Debian package"),
            (whole[:len(whole) - 3000], "damaged"),
            (machines_support.archive([("debian-binary", b"2.0\n")]), "kernel.deb: the file is no Debian package"),
            (machines_support.package({}), "the package has no boot/vmlinuz-"),
            (machines_support.package(files(modules=MODULES[:-1])), "the kernel has no module 9p,"),
            (machines_support.package(files(modules=MODULES[2:], builtin=MODULES[:2])), None),
            (machines_support.package(files(image=b"no kernel")), "the kernel is no bzImage of x86"),
            (machines_support.package(files(image=kernel(packed=b"not packed at all"))), ""),
            (machines_support.package(files(image=kernel(inside=b"no program"))),
             "the kernel holds no program"),
            (machines_support.package(files(image=kernel(inside=program()[:200]))),
             "the kernel's program is cut off"),
            (machines_support.package(files(image=kernel()[:1030])), "shorter than its header says"),
            (machines_support.package(files(ending=".ko.xz")), None),
            (machines_support.package({**files(), f"./lib/modules/{VERSION}/virtio_ring.ko.xz": b"x"}),
             None),
            (machines_support.package({f"./lib/modules/{VERSION}/9p.ko": b"no module", **files()}),
             "the module 9p.ko is no ELF file"),
        )
        for content, reason in rows:
            result = self.prepare(content)
            if reason is None:
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(self.vm("remove", VERSION).returncode, 0)
                continue
            self.assertEqual((result.returncode, result.stdout), (78, ""), (reason, result.stderr))
            self.assertIn(reason, result.stderr)
            self.assertEqual(os.listdir(self.machine()), [])

    def built(self, version=VERSION, image=None, modules=MODULES):
        """A kernel that is installed nowhere, and its directory of modules."""
        directory = os.path.join(self.folder, "built", version)
        os.makedirs(os.path.join(directory, "kernel", "x"))
        for path, content in files(modules=modules).items():
            if path.endswith(".ko"):
                with open(os.path.join(directory, "kernel", "x", os.path.basename(path)), "wb") as file:
                    file.write(content)
        path = os.path.join(self.folder, "bzImage")
        with open(path, "wb") as file:
            file.write(kernel() if image is None else image)
        return path, directory

    def test_kernel_and_its_modules(self):
        path, directory = self.built()
        os.symlink("/etc", os.path.join(directory, "build"))
        os.mkfifo(os.path.join(directory, "kernel", "9p.ko"))
        for words in ((path, directory), (path, directory + "/")):
            result = self.vm("prepare", *words)
            self.assertEqual((result.returncode, result.stdout), (0, VERSION + "\n"), result.stderr)
            self.assertIn("7 modules", result.stderr)
        self.assertEqual(sorted(os.listdir(self.machine(VERSION))), ["initramfs", "kernel", "msp-vm"])

    def test_wrong_kernels_with_modules(self):
        rows = (({"image": b"MZ"}, 78, "bzImage: the kernel is no bzImage of x86"),
                ({"modules": MODULES[:-1]}, 78, "bzImage: the kernel has no module 9p,"),
                ({"version": "a b"}, 64, "is not named by the kernel's version"))
        for number, (changes, code, reason) in enumerate(rows):
            path, directory = self.built(**{"version": f"6.{number}", **changes})
            result = self.vm("prepare", path, directory)
            self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)
            self.assertIn(reason, result.stderr)
        for words in ((path, "/nowhere"), ("/nowhere", self.folder), (self.folder, directory),
                      (path, path)):
            self.assertNotEqual(self.vm("prepare", *words).returncode, 0, words)
        self.assertFalse(os.path.exists(self.machine()) and os.listdir(self.machine()))

    def test_version_that_leads_elsewhere(self):
        for version in ("..", "a b", "x" * 200):
            result = self.prepare(machines_support.package(
                {f"./boot/vmlinuz-{version}": kernel(), **{key: value for key, value in files().items()
                                                           if "vmlinuz" not in key}}))
            self.assertNotEqual(result.returncode, 0, version)
            self.assertEqual(os.listdir(self.machine()), [])


class Keep(WithState):
    def test_list_and_remove(self):
        self.assertEqual(self.vm("list").returncode, 0)
        self.assertEqual(json.loads(self.vm("list", "--json").stdout), {"machines": []})
        self.prepare(machines_support.package(files()))
        only, = json.loads(self.vm("list", "--json").stdout)["machines"]
        self.assertEqual((only["version"], only["used"], len(only["kernel_sha256"])), (VERSION, True, 64))
        self.assertRegex(self.vm("list").stdout, rf"^{VERSION} .* used\n$")
        self.assertEqual(self.vm("remove", VERSION).returncode, 0)
        self.assertEqual(os.listdir(self.machine()), [])

    def test_wrong_words(self):
        for words, code in ((("remove", "x"), 64), (("remove", "../vm"), 64), (("remove",), 64),
                            (("prepare", "9.9"), 78), (("prepare", "/nowhere.deb"), 78),
                            (("prepare", "/tmp"), 78), (("prepare", "a", "b", "c"), 64),
                            (("prepare", "no name"), 64), (("list", "x"), 64), (("frob",), 64),
                            (("prepare", "--json"), 64), ((), 64)):
            result = self.vm(*words)
            self.assertEqual(result.returncode, code, (words, result.stderr))
            self.assertNotEqual(result.stderr, "", words)
        self.assertIn("'msp vm list' prints the machines", self.vm("remove", "x").stderr)
        self.assertIn("/etc/passwd: the file is no Debian package", self.vm("prepare", "/etc/passwd").stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
