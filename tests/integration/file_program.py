#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""msp-file by itself, on the files of a folder: what it says of each kind of file, and that a file
is the old one or the new one."""
import errno
import hashlib
import os
import random
import socket
import stat
import struct
import subprocess
import tempfile
import unittest

import support

PROGRAM = os.path.join(support.BIN, "msp-file")
HEAD = struct.Struct("=IIIIQQII")
ENTRY = struct.Struct("=IIQqII")
LINE = struct.Struct("=QII")
BYTES, LINES, IMAGE, DIGEST = range(4)
CRLF, OPEN, LAST, BEYOND = 1, 2, 4, 8
MAGIC = 0x454c4946
(DONE, ERROR, NOT_REGULAR, DANGLING, EXISTS, NO_MATCH, AMBIGUOUS, TOO_LARGE, CUT_OFF,
 MISUSED) = range(10)
NO_FOLDER = 12
MORE = 2


def pieces(data, size=65536):
    """What is to be written, as it comes: pieces, and the end."""
    return b"".join(struct.pack("=I", len(data[at:at + size])) + data[at:at + size]
                    for at in range(0, len(data), size)) + struct.pack("=I", 0)


class Answer:
    def __init__(self, data):
        magic, self.problem, self.error, self.mode, self.size, self.count, length, self.form = \
            HEAD.unpack_from(data)
        if magic != MAGIC:
            raise AssertionError(data)
        self.text = data[HEAD.size:HEAD.size + length]
        self.rest = data[HEAD.size + length:]

    def entries(self):
        """(path, mode, link) of each, and whether there are more."""
        found, place = [], 0
        while True:
            mode, flags, _, _, path, link = ENTRY.unpack_from(self.rest, place)
            place += ENTRY.size
            if path == 0:
                if place != len(self.rest):
                    raise AssertionError("something behind the last entry")
                return found, bool(flags & MORE)
            name = self.rest[place:place + path]
            found.append((os.fsdecode(name), mode, self.rest[place + path:place + path + link]))
            place += path + link


    def lines(self):
        """(bytes, size, flags) of each line, and (lines counted, whether there are more)."""
        found, place = [], 0
        while True:
            size, shown, flags = LINE.unpack_from(self.rest, place)
            place += LINE.size
            if flags & LAST:
                if place != len(self.rest):
                    raise AssertionError("something behind the last line")
                return found, (size, bool(flags & BEYOND))
            found.append((self.rest[place:place + shown], size, flags))
            place += shown


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def put(self, name, data, mode=0o644):
        with open(self.path(name), "wb") as file:
            file.write(data)
        os.chmod(self.path(name), mode)

    def get(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def ask(self, *arguments, data=b"", **keywords):
        result = subprocess.run([PROGRAM, *map(str, arguments)], input=pieces(data),
                                capture_output=True, timeout=30, check=True, **keywords)
        self.assertEqual(result.stderr, b"")
        return Answer(result.stdout)

    def assert_no_more_than(self, *names):
        self.assertEqual(sorted(os.listdir(self.folder)), sorted(names))


class Read(Files):
    def test_ranges(self):
        self.put("a", bytes(range(256)) * 1000)
        for offset, length in ((0, 10), (5, 70000), (255999, 10), (256000, 1), (10 ** 12, 5), (0, 0),
                               (0, 2 ** 63)):
            with self.subTest(offset=offset, length=length):
                answer = self.ask("read", self.path("a"), offset, length)
                self.assertEqual((answer.problem, answer.size), (DONE, 256000))
                self.assertEqual(answer.count, max(0, 256000 - offset))
                self.assertEqual(answer.rest, self.get("a")[offset:offset + length])

    def test_a_sparse_terabyte(self):
        with open(self.path("a"), "wb") as file:
            file.truncate(1 << 40)
        answer = self.ask("read", self.path("a"), (1 << 40) - 3, 100)
        self.assertEqual((answer.size, answer.rest), (1 << 40, b"\0\0\0"))

    def test_what_is_no_file(self):
        os.mkfifo(self.path("fifo"))
        os.mkdir(self.path("folder"))
        with socket.socket(socket.AF_UNIX) as sock:
            sock.bind(self.path("socket"))
        for name, kind in (("fifo", stat.S_IFIFO), ("folder", stat.S_IFDIR),
                           ("socket", stat.S_IFSOCK), ("/dev/zero", stat.S_IFCHR)):
            with self.subTest(name=name):
                answer = self.ask("read", self.path(name), 0, 10)
                self.assertEqual((answer.problem, stat.S_IFMT(answer.mode)), (NOT_REGULAR, kind))
                self.assertEqual(answer.rest, b"")

    def test_what_is_not_there(self):
        os.symlink("to/nowhere", self.path("dangling"))
        os.symlink("loop", self.path("loop"))
        answer = self.ask("read", self.path("dangling"), 0, 1)
        self.assertEqual((answer.problem, answer.text), (DANGLING, b"to/nowhere"))
        for name, error in (("none", errno.ENOENT), ("loop", errno.ELOOP),
                            ("n" * 300, errno.ENAMETOOLONG)):
            answer = self.ask("read", self.path(name), 0, 1)
            self.assertEqual((answer.problem, answer.error), (ERROR, error), name)
        for name, above in (("none/a", self.folder), ("none/a/b", self.folder), ("dangling/a/b",
                            self.folder), ("/none/a", "/")):
            for words in (("read", 0, 1), ("list", 1, 0, 1, "")):
                answer = self.ask(words[0], self.path(name), *words[1:])
                self.assertEqual((answer.problem, answer.error, answer.text.decode()),
                                 (NO_FOLDER, 0, os.path.realpath(above)), name)

    def test_wrong_numbers(self):
        self.put("a", b"x")
        for number in ("-1", "", " 1", "1x", "0x1", "99999999999999999999", "+1"):
            with self.subTest(number=number):
                self.assertEqual(self.ask("read", self.path("a"), number, 1).problem, MISUSED)


class Show(Files):
    def show(self, first=1, count=1000, room=1000000, name="a"):
        answer = self.ask("show", self.path(name), first, count, room)
        self.assertEqual((answer.problem, answer.form), (DONE, LINES))
        return answer.lines()

    def test_line_ends(self):
        for data, lines in (
                (b"", []), (b"\n", [(b"", 0, 0)]), (b"a", [(b"a", 1, OPEN)]),
                (b"a\r\n\nb\r", [(b"a", 1, CRLF), (b"", 0, 0), (b"b\r", 2, OPEN)]),
                (b"\r\n\r\r\n", [(b"", 0, CRLF), (b"\r", 1, CRLF)])):
            with self.subTest(data=data):
                self.put("a", data)
                self.assertEqual(self.show(), (lines, (len(lines), False)))

    def test_long_lines(self):
        """A line is cut at the bound, wherever the blocks that are read end."""
        for size in (1999, 2000, 2001, 65535, 65536, 65537, 200000):
            for end, flags in ((b"\n", 0), (b"\r\n", CRLF), (b"", OPEN)):
                with self.subTest(size=size, end=end):
                    self.put("a", b"x\n" + b"y" * size + end)
                    lines, count = self.show()
                    self.assertEqual(count, (2, False))
                    self.assertEqual(lines[1], (b"y" * min(size, 2000), size, flags))

    def test_parts(self):
        whole = [b"line %d" % number for number in range(1, 20001)]
        self.put("a", b"\n".join(whole) + b"\n")
        for first, count in ((1, 10), (7, 3), (19999, 10), (20000, 1), (20001, 5), (5, 0)):
            lines, total = self.show(first, count)
            self.assertEqual([line for line, _, _ in lines], whole[first - 1:first - 1 + count])
            self.assertEqual(total, (20000, False))
        lines, total = self.show(room=100)
        self.assertEqual((len(lines), total), (16, (20000, False)))

    def test_counting_ends(self):
        with open(self.path("a"), "wb") as file:
            file.write(b"x" * 9000 + b"\n")
            file.truncate((256 << 20) + (1 << 20))
            file.seek(0, os.SEEK_END)
            file.write(b"\nend\n")
        lines, total = self.show(count=1)
        self.assertEqual((lines[0][1], total), (9000, (1, True)))
        self.assertEqual(self.show(first=3)[0], [(b"end", 3, 0)])

    def test_what_is_no_text(self):
        self.put("a", b"x" * 7999 + b"\0")
        answer = self.ask("show", self.path("a"), 1, 1, 1)
        self.assertEqual((answer.form, answer.rest), (DIGEST, b"x" * 512))
        self.assertEqual(answer.text.decode(), hashlib.sha256(self.get("a")).hexdigest())
        self.put("a", b"x" * 8000 + b"\0")
        self.assertEqual(self.show()[1], (1, False))
        self.put("a", b"\x89PNG\r\n\x1a\n" + bytes(3749992))
        answer = self.ask("show", self.path("a"), 1, 1, 1)
        self.assertEqual((answer.form, answer.rest), (IMAGE, self.get("a")))
        with open(self.path("a"), "ab") as file:
            file.write(b"x")
        self.assertEqual(self.ask("show", self.path("a"), 1, 1, 1).form, DIGEST)
        with open(self.path("a"), "wb") as file:
            file.truncate(1 << 40)
        answer = self.ask("show", self.path("a"), 1, 1, 1)
        self.assertEqual((answer.form, answer.text, answer.size), (DIGEST, b"", 1 << 40))


class Write(Files):
    def test_the_ways(self):
        self.assertEqual(self.ask("write", self.path("a"), "create", data=b"one").count, 3)
        self.assertEqual(self.get("a"), b"one")
        self.assertEqual(self.ask("write", self.path("a"), "create", data=b"two").problem, EXISTS)
        self.assertEqual(self.get("a"), b"one")
        answer = self.ask("write", self.path("a"), "append", data=b"+" * 100000)
        self.assertEqual((answer.problem, answer.size, answer.count), (DONE, 100003, 100000))
        self.assertEqual(self.get("a"), b"one" + b"+" * 100000)
        self.ask("write", self.path("a"), "overwrite", data=b"")
        self.assertEqual(self.get("a"), b"")
        self.ask("write", self.path("b"), "append", data=b"new")
        self.assertEqual(self.get("b"), b"new")
        self.assert_no_more_than("a", "b")

    def test_the_mode_stays(self):
        self.put("a", b"#!/bin/sh\n", 0o4751)
        self.ask("write", self.path("a"), "overwrite", data=b"x")
        self.assertEqual(stat.S_IMODE(os.stat(self.path("a")).st_mode), 0o751)

    def test_through_a_link(self):
        os.mkdir(self.path("folder"))
        self.put("folder/real", b"old")
        os.symlink("folder/real", self.path("link"))
        self.ask("write", self.path("link"), "overwrite", data=b"new")
        self.assertTrue(os.path.islink(self.path("link")))
        self.assertEqual(self.get("folder/real"), b"new")
        os.symlink("none", self.path("dangling"))
        answer = self.ask("write", self.path("dangling"), "overwrite", data=b"new")
        self.assertEqual((answer.problem, answer.text), (DANGLING, b"none"))
        self.assert_no_more_than("folder", "link", "dangling")

    def test_folders_are_made(self):
        self.ask("write", self.path("a/b/c"), "create", data=b"deep")
        self.assertEqual(self.get("a/b/c"), b"deep")
        answer = self.ask("write", self.path("a/b/c/d"), "create", data=b"x")
        self.assertEqual((answer.problem, answer.error), (ERROR, errno.ENOTDIR))

    def test_folders_that_were_made_for_nothing(self):
        for way in (["write", self.path("a/b/c"), "create"], ["put", self.path("a/b/c"), "0"]):
            done = subprocess.run([PROGRAM, *way], input=b"", check=True, capture_output=True)
            self.assertEqual(Answer(done.stdout).problem, CUT_OFF)
            self.assert_no_more_than()
        for name in ("a/", "a/b/"):
            answer = self.ask("write", self.path(name), "create", data=b"x")
            self.assertEqual((answer.problem, answer.error), (ERROR, errno.EISDIR))
            self.assert_no_more_than()
        self.ask("mkdir", self.path("a"))
        done = subprocess.run([PROGRAM, "write", self.path("a/b/c"), "create"], input=b"",
                              check=True, capture_output=True)
        self.assertEqual(Answer(done.stdout).problem, CUT_OFF)
        self.assertEqual(os.listdir(self.path("a")), [], "it was there before")

    def test_folders_that_cannot_be_made(self):
        """The last directory that exists is in the answer."""
        os.makedirs(self.path("closed/in"))
        os.chmod(self.path("closed"), 0o555)
        self.addCleanup(os.chmod, self.path("closed"), 0o755)
        for name, way in (("closed/a/b", ("write", "create")), ("closed/a/b/c", ("write", "create")),
                          ("closed/a/b", ("put", "0"))):
            answer = self.ask(way[0], self.path(name), way[1], data=b"x")
            self.assertEqual((answer.problem, answer.error, answer.text.decode()),
                             (NO_FOLDER, errno.EACCES, self.path("closed")), name)
        answer = self.ask("mkdir", self.path("closed/a/b"))
        self.assertEqual((answer.problem, answer.text.decode()), (NO_FOLDER, self.path("closed")))
        answer = self.ask("write", self.path("closed/a"), "create", data=b"x")
        self.assertEqual((answer.problem, answer.error), (ERROR, errno.EACCES))
        self.ask("write", self.path("closed/in/a/b"), "create", data=b"the control")
        self.assertEqual(self.get("closed/in/a/b"), b"the control")

    def test_what_is_no_file(self):
        os.mkfifo(self.path("fifo"))
        for name in ("fifo", "."):
            answer = self.ask("write", self.path(name), "overwrite", data=b"x")
            self.assertEqual(answer.problem, NOT_REGULAR)

    def test_no_room_changes_nothing(self):
        self.put("a", b"old")
        for way in ("overwrite", "append"):
            answer = self.ask("write", self.path("a"), way, data=b"x" * 100000, preexec_fn=limit)
            self.assertEqual((answer.problem, answer.error), (ERROR, errno.EFBIG))
            self.assertEqual(self.get("a"), b"old")
        self.assert_no_more_than("a")

    def test_killed_at_any_moment(self):
        """A reader sees the old or the new."""
        numbers = random.Random(1)
        self.put("a", b"0" * 300000)
        old = 0
        for turn in range(1, 40):
            process = subprocess.Popen([PROGRAM, "write", self.path("a"), "overwrite"],
                                       stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
            try:
                process.stdin.write(pieces(b"%d" % (turn % 10) * numbers.choice((10, 300000))))
                if turn % 2:
                    process.kill()
                process.stdin.close()
            except BrokenPipeError:
                pass
            process.wait()
            data = self.get("a")
            self.assertEqual(len(set(data)), 1)
            self.assertIn(len(data), (10, 300000))
            old += data[:1] != b"%d" % (turn % 10)
        self.assertGreater(old, 0)


    def test_cut_off(self):
        """Whoever writes is gone before the end: after any number of bytes, nothing changes."""
        self.put("a", b"old")
        whole = pieces(b"x" * 100, 30)
        for size in range(len(whole)):
            for way in (["write", self.path("a"), "overwrite"], ["write", self.path("a"), "append"],
                        ["write", self.path("new"), "create"], ["put", self.path("new"), "0"],
                        ["edit", self.path("a"), "3"]):
                done = subprocess.run([PROGRAM, *way], input=whole[:size], check=True, timeout=30,
                                      capture_output=True)
                self.assertEqual(Answer(done.stdout).problem, CUT_OFF, (way, size))
        self.assertEqual(self.get("a"), b"old")
        self.assert_no_more_than("a")
        done = subprocess.run([PROGRAM, "write", self.path("a"), "overwrite"], check=True,
                              input=struct.pack("=I", 65537) + b"x" * 65537, capture_output=True)
        self.assertEqual(Answer(done.stdout).problem, CUT_OFF)

    def test_put(self):
        self.put("a", b"old", 0o640)
        self.ask("put", self.path("a"), 0o755, data=b"new")
        self.ask("put", self.path("b"), 0o6755, data=b"run")
        self.assertEqual((self.get("a"), self.get("b")), (b"new", b"run"))
        for name, mode in (("a", 0o640), ("b", 0o755)):
            self.assertEqual(stat.S_IMODE(os.stat(self.path(name)).st_mode), mode)

    def test_directories(self):
        for name in ("a/b", "a", "a/b"):
            answer = self.ask("mkdir", self.path(name))
            self.assertEqual((answer.problem, stat.S_ISDIR(answer.mode)), (DONE, True))
        self.put("f", b"x")
        self.assertEqual(self.ask("mkdir", self.path("f")).error, errno.ENOTDIR)
        self.assertEqual(self.ask("mkdir", self.path("f/g")).error, errno.ENOTDIR)


def limit():
    import resource  # pylint: disable=import-outside-toplevel
    import signal  # pylint: disable=import-outside-toplevel
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))


class Edit(Files):
    def edit(self, old, new, name="a"):
        return self.ask("edit", self.path(name), len(old), data=old + new)

    def test_one_place(self):
        self.put("a", b"one two three\0two", 0o640)
        answer = self.edit(b"two three", b"2")
        self.assertEqual((answer.problem, answer.size), (DONE, 9))
        self.assertEqual(self.get("a"), b"one 2\0two")
        self.assertEqual(stat.S_IMODE(os.stat(self.path("a")).st_mode), 0o640)
        self.edit(b"two", b"")
        self.assertEqual(self.get("a"), b"one 2\0")
        self.assert_no_more_than("a")

    def test_none_or_many(self):
        self.put("a", b"aaa b")
        self.assertEqual(self.edit(b"x", b"y").problem, NO_MATCH)
        answer = self.edit(b"aa", b"y")
        self.assertEqual((answer.problem, answer.count), (AMBIGUOUS, 2))
        self.assertEqual(self.get("a"), b"aaa b")

    def edits(self, before, old, new, after):
        self.put("a", before)
        answer = self.edit(old, new)
        self.assertEqual((answer.problem, self.get("a")), (DONE, after), (before, old, new))

    def test_line_ends_stay(self):
        crlf = b"alpha\r\nbeta\r\ngamma\r\n"
        for old, new, after in (
                (b"beta", b"beta\nmore", b"alpha\r\nbeta\r\nmore\r\ngamma\r\n"),
                (b"beta\ngamma", b"b\ng", b"alpha\r\nb\r\ng\r\n"),
                (b"\nbeta\n", b"\n", b"alpha\r\ngamma\r\n"),
                (b"beta\n", b"", b"alpha\r\ngamma\r\n"),
                (b"\nbeta", b"", b"alpha\r\ngamma\r\n"),
                (b"gamma\n", b"gamma", b"alpha\r\nbeta\r\ngamma"),
                (b"alpha\nbeta\ngamma\n", b"alpha\nBETA\ngamma\n\nlast\n",
                 b"alpha\r\nBETA\r\ngamma\r\n\r\nlast\r\n"),
                # a text with a carriage return says all of them
                (b"beta\r\n", b"beta\n", b"alpha\r\nbeta\ngamma\r\n"),
                (b"beta", b"beta\r\nmore", b"alpha\r\nbeta\r\nmore\r\ngamma\r\n")):
            self.edits(crlf, old, new, after)
        self.edits(b"a\nb\n", b"a\nb", b"a\nc\nb", b"a\nc\nb\n")
        self.edits(b"a\nb\n", b"b\n", b"b\r\n", b"a\nb\r\n")
        self.edits(b"a\r\nb", b"b", b"b\nc", b"a\r\nb\r\nc")
        self.edits(b"a", b"a", b"a\nb", b"a\nb")
        self.edits(b"\xef\xbb\xbfa\r\nb\r\n", b"a\nb", b"z\na\nb", b"\xef\xbb\xbfz\r\na\r\nb\r\n")
        self.edits(b"a\r\rb\r\n", b"a", b"a\nc", b"a\r\nc\r\rb\r\n")

    def test_mixed_line_ends(self):
        """Lines that both texts have keep theirs; new ones get the one of most lines."""
        mixed = b"a\nb\r\nc\nd\r\ne\r\n"
        self.edits(mixed, b"a\nb\nc\nd\n", b"a\nb\nnew\nc\nd\n", b"a\nb\r\nnew\r\nc\nd\r\ne\r\n")
        self.edits(mixed, b"b\nc", b"c", b"a\nc\nd\r\ne\r\n")
        # one place as it is, others with other line ends
        self.edits(b"a\r\nb\r\na\nb\n", b"a\nb\n", b"x\n", b"a\r\nb\r\nx\n")
        self.put("a", b"a\r\nb a\nb a\nb")
        answer = self.edit(b"a\nb", b"x")
        self.assertEqual((answer.problem, answer.count), (AMBIGUOUS, 3))

    def test_misused(self):
        self.put("a", b"x")
        self.assertEqual(self.edit(b"", b"y").problem, MISUSED)
        self.assertEqual(self.ask("edit", self.path("a"), 5, data=b"abc").problem, MISUSED)

    def test_too_large(self):
        with open(self.path("a"), "wb") as file:
            file.truncate((16 << 20) + 1)
        self.assertEqual(self.edit(b"a", b"b").problem, TOO_LARGE)


class List(Files):
    def setUp(self):
        super().setUp()
        for folder in ("a", "a/b", "c"):
            os.mkdir(self.path(folder))
        for name in ("a/b/x.py", "a/y.py", "c/z.txt", "d", "e\nf", os.fsdecode(b"\xff")):
            self.put(name, b"12")
        os.symlink("/somewhere", self.path("link"))

    ALL = ["a", "a/b", "a/b/x.py", "a/y.py", "c", "c/z.txt", "d", "e\nf", "link",
           os.fsdecode(b"\xff")]

    def names(self, depth=8, skip=0, most=1000, pattern=""):
        entries, more = self.ask("list", self.folder, depth, skip, most, pattern).entries()
        return [name for name, _, _ in entries], more

    def test_all(self):
        self.assertEqual(self.names(), (self.ALL, False))
        entries, _ = self.ask("list", self.folder, 1, 0, 100, "").entries()
        self.assertEqual([(link) for name, _, link in entries if name == "link"], [b"/somewhere"])

    def test_depth(self):
        self.assertEqual(self.names(1)[0], [name for name in self.ALL if "/" not in name])
        self.assertEqual(self.names(2)[0], [name for name in self.ALL if name.count("/") < 2])

    def test_pages(self):
        found, skip = [], 0
        while True:
            names, more = self.names(skip=skip, most=3)
            found += names
            skip += 3
            if not more:
                break
        self.assertEqual(found, self.ALL)
        self.assertEqual(self.names(most=len(self.ALL)), (self.ALL, False))
        self.assertEqual(self.names(most=len(self.ALL) - 1)[1], True)

    def test_patterns(self):
        for pattern, names in (("*.py", ["a/b/x.py", "a/y.py"]), ("a/*.py", ["a/y.py"]),
                               ("**/*.py", ["a/b/x.py", "a/y.py"]), ("a/**", self.ALL[1:4]),
                               ("**/d", ["d"]), ("none", []), ("[", [])):
            with self.subTest(pattern=pattern):
                self.assertEqual(self.names(pattern=pattern)[0], names)

    def test_what_is_no_folder(self):
        answer = self.ask("list", self.path("d"), 1, 0, 1, "")
        self.assertEqual((answer.problem, answer.error), (ERROR, errno.ENOTDIR))
        self.assertEqual(self.ask("list", self.folder, 0, 0, 1, "").problem, MISUSED)
        self.assertEqual(self.ask("list", self.folder, 65, 0, 1, "").problem, MISUSED)

    @unittest.skipIf(os.geteuid() == 0, "root reads everything")
    def test_unreadable(self):
        os.chmod(self.path("a"), 0)
        self.addCleanup(os.chmod, self.path("a"), 0o700)
        self.assertEqual(self.names()[0], ["a", *self.ALL[4:]])


class Arguments(Files):
    def test_unknown(self):
        for arguments in ((), ("read",), ("read", "/x", "0"), ("remove", "/x"),
                          ("write", "/x", "sideways"), ("list", "/", "1", "0", "1", "", "x")):
            with self.subTest(arguments=arguments):
                self.assertEqual(self.ask(*arguments).problem, MISUSED)


if __name__ == "__main__":
    unittest.main()
