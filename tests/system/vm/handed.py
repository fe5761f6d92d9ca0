#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""handed.py FOLDER: fills it with the programs that tests/system/runtimes.py runs in the test machine and
its Debian lacks: packages of npm and a kernel, from the cache that tests of this machine filled, and QEMU
with its libraries. Nothing is fetched; what is missing is left out, and the test says so."""
import os
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


def main():
    folder = sys.argv[1]
    kept = packages.cache(os.path.join(TESTS, "clients", "npm-runtimes"))
    if os.path.isdir(kept):
        shutil.copytree(kept, os.path.join(folder, os.path.basename(kept)), symlinks=True)
    put(os.path.join(packages.base(), "kernel.deb"), folder)
    put_emulator(os.path.join(folder, "qemu"))


if __name__ == "__main__":
    sys.exit(main())
