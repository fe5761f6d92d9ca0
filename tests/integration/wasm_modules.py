# SPDX-License-Identifier: Apache-2.0
"""Modules of WASI 0.1, assembled here: each is a `_start` of a few instructions."""

I32, I64 = 0x7f, 0x7e
WASI = "wasi_snapshot_preview1"
# Functions of WASI by the types of their parameters; all but proc_exit return an errno.
FUNCTIONS = {
    "fd_write": [I32, I32, I32, I32], "fd_read": [I32, I32, I32, I32], "proc_exit": [I32],
    "args_get": [I32, I32], "path_open": [I32, I32, I32, I32, I32, I64, I64, I32, I32],
}
UNREACHABLE, LOOP, BLOCK, BR, BR_IF, END, CALL, DROP = (
    b"\x00", b"\x03\x40", b"\x02\x40", b"\x0c", b"\x0d", b"\x0b", b"\x10", b"\x1a")
LOAD, STORE, EQZ, EQ, SUB, SHR, GROW, SIZE = (
    b"\x28\x02\x00", b"\x36\x02\x00", b"\x45", b"\x46", b"\x6b", b"\x76", b"\x40\x00", b"\x3f\x00")
LESS, SHL, FILL = b"\x49", b"\x74", b"\xfc\x0b\x00"


def unsigned(number):
    out = bytearray()
    while True:
        out.append(number & 0x7f | (0x80 if number > 0x7f else 0))
        number >>= 7
        if not number:
            return bytes(out)


def signed(number):
    out = bytearray()
    while True:
        byte = number & 0x7f
        number >>= 7
        if number == (-1 if byte & 0x40 else 0):
            out.append(byte)
            return bytes(out)
        out.append(byte | 0x80)


def const(number):
    return b"\x41" + signed(number)


def const64(number):
    return b"\x42" + signed(number)


def vector(items):
    return unsigned(len(items)) + b"".join(items)


def text(words):
    return unsigned(len(words)) + words.encode()


def section(number, content):
    return bytes([number]) + unsigned(len(content)) + content


def module(body, names=(), pages=1):
    """A module whose `_start` is `body`; the imported functions have the indexes of `names`."""
    types = [b"\x60" + vector([bytes([kind]) for kind in FUNCTIONS[name]]) +
             (b"\x00" if name == "proc_exit" else b"\x01\x7f") for name in names] + [b"\x60\x00\x00"]
    imports = [text(WASI) + text(name) + b"\x00" + unsigned(i) for i, name in enumerate(names)]
    code = b"\x00" + body + END
    return (b"\x00asm\x01\x00\x00\x00" + section(1, vector(types)) + section(2, vector(imports)) +
            section(3, vector([unsigned(len(names))])) + section(5, vector([b"\x00" + unsigned(pages)])) +
            section(7, vector([text("memory") + b"\x02\x00", text("_start") + b"\x00" +
                               unsigned(len(names))])) +
            section(10, vector([unsigned(len(code)) + code])))


def store_text(words):
    """Put a text at 2048."""
    return b"".join(const(2048 + at) + const(byte) + b"\x3a\x00\x00"
                    for at, byte in enumerate(words.encode()))


def copy(source):
    """Read once from the descriptor that `source` leaves, and write that to stdout. The functions are
    fd_read (0) and fd_write (1); at 0 is the vector, at 8 the count."""
    return (const(0) + const(1024) + STORE + const(4) + const(4096) + STORE +
            source + const(0) + const(1) + const(4) + CALL + unsigned(0) + DROP +
            const(1) + const(0) + const(1) + const(8) + CALL + unsigned(1) + DROP)


def taking(mib):
    """Take memory in parts of 16 MiB, each filled, and end in peace; trap where it is refused."""
    return module(LOOP + const(256) + GROW + const(16) + SHL + const(1) + const(1 << 24) + FILL +
                  SIZE + const(mib * 16) + LESS + BR_IF + unsigned(0) + END, pages=0)


def saying(words, is_endless):
    """Print a few words, and loop for ever or end."""
    return module(store_text(words) + const(0) + const(2048) + STORE + const(4) + const(len(words)) + STORE +
                  const(1) + const(0) + const(1) + const(8) + CALL + unsigned(0) + DROP +
                  (LOOP + BR + unsigned(0) + END if is_endless else b""), ["fd_write"])


TRAP = module(UNREACHABLE)
LOOPING = module(LOOP + BR + unsigned(0) + END)
# Writes 64 KiB for ever.
FLOOD = module(const(0) + const(0) + STORE + const(4) + const(65536) + STORE + LOOP + const(1) +
               const(0) + const(1) + const(8) + CALL + unsigned(0) + DROP + BR + unsigned(0) + END,
               ["fd_write"])
# Takes memory until there is none, and ends with the number of its 64 MiB.
GROWING = module(LOOP + const(1024) + GROW + const(-1) + EQ + EQZ + BR_IF + unsigned(0) + END +
                 SIZE + const(10) + SHR + CALL + unsigned(0), ["proc_exit"], pages=1024)
# Copies stdin to stdout, and ends with the first byte of its first argument.
COPYING = module(copy(const(0)) + const(64) + const(512) + CALL + unsigned(2) + DROP +
                 const(68) + LOAD + LOAD + const(0xff) + b"\x71" + CALL + unsigned(3),
                 ["fd_read", "fd_write", "args_get", "proc_exit"])


def opening(path):
    """Show the file of the path below the first preopened directory, or end with the errno."""
    return module(
        store_text(path) + const(16) + const(3) + const(1) + const(2048) + const(len(path)) + const(0) +
        const64(2) + const64(0) + const(0) + const(12) + CALL + unsigned(2) + b"\x36\x02\x00" +
        BLOCK + const(16) + LOAD + EQZ + BR_IF + unsigned(0) + const(16) + LOAD + CALL + unsigned(3) +
        END + copy(const(12) + LOAD), ["fd_read", "fd_write", "path_open", "proc_exit"])
