#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""handed.py FOLDER BUILD: fills the folder with the programs that tests/system/runtimes.py and day.py run in the
test machine and its Debian lacks: packages of npm and a kernel, from the cache that tests of this machine filled,
npm, QEMU with its libraries, and the libgit2 that the build opens by name. Nothing is fetched; what is missing is
left out, and the test says so."""
import glob
import os
import re
import shutil
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TESTS, "clients"), os.path.join(TESTS, "integration")]
import image_store  # noqa: E402  (a folder of its own)
import packages  # noqa: E402

EMULATOR = "qemu-system-x86_64"
MODULES = "/usr/lib/x86_64-linux-gnu/qemu"
FIRMWARE = ("/usr/share/seabios/bios-256k.bin", "/usr/share/qemu/kvmvapic.bin",
            "/usr/share/qemu/linuxboot_dma.bin", "/usr/share/qemu/pvh.bin")
# QEMU is linked with libraries of this machine's release: the loader comes with them.
START = """#!/bin/sh
here=${0%%/*}
export QEMU_MODULE_DIR="$here/modules"
exec "$here/lib/%s" --library-path "$here/lib" "$here/%s" -L "$here/firmware" "$@"
"""


def put(path, folder):
    if os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        shutil.copy2(os.path.realpath(path), os.path.join(folder, os.path.basename(path)))


def put_emulator(folder):
    program = shutil.which(EMULATOR)
    if not program:
        return
    _, *found = image_store.libraries(program)
    module = os.path.join(MODULES, f"accel-tcg-{EMULATOR.rpartition('-')[2]}.so")
    for path in {*found, *(image_store.libraries(module)[1:] if os.path.exists(module) else ())}:
        put(path, folder + "/lib")
    put(module, folder + "/modules")
    for path in FIRMWARE:
        put(path, folder + "/firmware")
    put(program, folder)
    loader = next(os.path.basename(path) for path in found if "/ld-linux" in path)
    start = os.path.join(folder, "start")
    with open(start, "w", encoding="utf-8") as file:
        file.write(START % (loader, EMULATOR))
    os.chmod(start, 0o755)


def put_npm(folder):
    """npm as its own package has it, with all that it needs beside it; Debian's is 300 packages."""
    program = shutil.which("npm")
    place = os.path.dirname(os.path.dirname(os.path.realpath(program))) if program else ""
    if not os.path.isdir(place + "/node_modules/semver"):
        return
    shutil.copytree(place, folder + "/lib/node_modules/npm", ignore=shutil.ignore_patterns("docs", "man", "*.md"))
    os.mkdir(folder + "/bin")
    os.symlink("../lib/node_modules/npm/bin/npm-cli.js", folder + "/bin/npm")


def put_libgit2(folder, build):
    """vm/guest/job installs those of these libraries that the machine's own release lacks."""
    with open(os.path.join(build, "bin", "msp-layers"), "rb") as file:
        name = re.search(rb"libgit2\.so\.[\d.]+", file.read()).group().decode()
    for library in glob.glob("/usr/lib/*/" + name):
        for path in image_store.libraries(library):
            put(path, folder)


def main():
    folder, build = sys.argv[1:]
    kept = packages.cache(os.path.join(TESTS, "clients", "npm-runtimes"))
    if os.path.isdir(kept):
        shutil.copytree(kept, os.path.join(folder, os.path.basename(kept)), symlinks=True)
    put(os.path.join(packages.base(), "kernel.deb"), folder)
    put_npm(os.path.join(folder, "npm"))
    put_emulator(os.path.join(folder, "qemu"))
    put_libgit2(os.path.join(folder, "lib"), build)


if __name__ == "__main__":
    sys.exit(main())
