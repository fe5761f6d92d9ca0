#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vmlinux.py BZIMAGE OUT: the ELF kernel that an x86 bzImage holds.

The image's header (Linux, Documentation/arch/x86/boot.rst) says where the compressed kernel lies:
setup_sects at 0x1f1, payload_offset and payload_length at 0x248."""
import struct
import subprocess
import sys

SECTOR = 512
DEFAULT_SETUP_SECTORS = 4  # what a 0 in the header stands for
DECOMPRESSORS = {b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\0": "xz", b"\x1f\x8b": "gzip",
                 b"\x02\x21\x4c\x18": "lz4"}


def payload(image):
    """The compressed kernel."""
    sectors = image[0x1f1] or DEFAULT_SETUP_SECTORS
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = (sectors + 1) * SECTOR + offset
    return image[start:start + length]


def decompress(data):
    for magic, program in DECOMPRESSORS.items():
        if data.startswith(magic):
            # The kernel's size follows the stream: the program complains about these four bytes
            # after it has written everything.
            return subprocess.run([program, "-dc"], input=data, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, check=False).stdout
    sys.exit("vmlinux.py: the kernel is compressed in an unknown way")


def main():
    with open(sys.argv[1], "rb") as file:
        kernel = decompress(payload(file.read()))
    if not kernel.startswith(b"\x7fELF"):
        sys.exit("vmlinux.py: what came out is no ELF")
    with open(sys.argv[2], "wb") as file:
        file.write(kernel)


if __name__ == "__main__":
    main()
