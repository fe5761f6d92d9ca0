#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Images that are made to do harm: each is refused with the name of the entry, and leaves nothing; the
same image without its trick comes in."""
import gzip
import hashlib
import io
import json
import os
import stat
import subprocess
import tarfile
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

import images_support
import support
from images_support import Image, device, entry, hard_link, layer, layout, sha256, symlink

GOOD = (entry("etc"), entry("etc/name", "good\n"), symlink("in", "etc"))
MARK = "outside"


class Case(unittest.TestCase):
    def setUp(self):
        self.store = images_support.Store(tempfile.mkdtemp())
        self.addCleanup(self.store.close)
        self.outside = os.path.join(self.store.folder, MARK)
        os.mkdir(self.outside, 0o755)
        with open(os.path.join(self.outside, "name"), "w", encoding="utf-8") as file:
            file.write(MARK)

    def check_outside(self):
        self.assertEqual(os.listdir(self.outside), ["name"])
        with open(os.path.join(self.outside, "name"), encoding="utf-8") as file:
            self.assertEqual(file.read(), MARK)
        self.assertEqual(stat.S_IMODE(os.stat(self.outside).st_mode), 0o755)

    def refused(self, files, says, *words):
        before = self.store.contents()
        result = self.store.import_files(files, *words)
        self.assertEqual((result.returncode, result.stdout), (78, b""), result.stderr)
        text = result.stderr.decode("utf-8", "replace")
        self.assertRegex(text, says)
        self.assertEqual(len(text.splitlines()), 1, text)
        self.assertNotRegex(text, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
        self.assertLess(len(text), 1200)
        after = self.store.contents()
        for name in ("incoming", "layers", "manifests", "names"):
            self.assertIn(name, after)
            before.setdefault(name)
        self.assertEqual(after, before)
        self.check_outside()

    def taken(self, files, *words):
        result = self.store.import_files(files, *(words or ("good:1",)))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.check_outside()

    def image(self, *entries, **options):
        return Image(layer(*GOOD, *entries, **options)).oci("evil:1")


# The name of the test: entries with the trick, without it, the entry that is named and why.
ENTRIES = {
    "parent": ([entry("../outside/x", "x")], [entry("outside/x", "x")],
               r"'\.\./outside/x': its path must not have '\.\.'"),
    "parent inside": ([entry("etc/../../outside/x", "x")], [entry("etc/x", "x")], "'..'"),
    "parent that stays": ([entry("etc/../etc/x", "x")], [entry("etc/x", "x")], "'..'"),
    "absolute": ([entry("/etc/x", "x")], [entry("./etc//x", "x")],
                 "'/etc/x': its path must not be absolute"),
    "absolute directory": ([entry("/")], [entry("./")], "'/': its path must not be absolute"),
    "absolute link, then a file": (
        [symlink("out", "/etc"), entry("out/x", "x")], [symlink("out", "etc"), entry("out/x", "x")],
        "'out/x': it leads out of the layer through a symbolic link"),
    "relative link, then a file": (
        [symlink("out", "../../../outside"), entry("out/x", "x")],
        [symlink("out", "../../../outside"), entry("x", "x")], "'out/x': it leads out"),
    "link, then a directory in it": (
        [symlink("out", "../.."), entry("out/d")], [symlink("out", "."), entry("out/d")],
        "'out/d/': it leads out"),
    "link to a link": (
        [symlink("a", "b"), symlink("b", "../.."), entry("a/x", "x")],
        [symlink("a", "b"), symlink("b", "etc"), entry("a/x", "x")], "'a/x': it leads out"),
    "link that ends nowhere": ([symlink("a", "gone"), entry("a/x", "x")],
                               [symlink("a", "gone"), entry("gone"), entry("a/x", "x")],
                               "'a/x': .*(ENOENT|EEXIST)"),
    "circle of links": ([symlink("a", "b"), symlink("b", "a"), entry("a/x", "x")],
                        [symlink("a", "b"), symlink("b", "etc"), entry("a/x", "x")],
                        "'a/x': .*ELOOP"),
    "link of the kernel's": (
        [symlink("p", "/proc/self/root"), entry("p/x", "x")], [symlink("p", "/proc/self/root")],
        "'p/x': it leads out"),
    "whiteout through a link": ([symlink("out", "../../../outside"), entry("out/.wh.name", "")],
                                [symlink("out", "etc"), entry("out/.wh.other", "")],
                                "'out/.wh.name': it leads out"),
    "opaque through a link": ([symlink("out", "../../../outside"), entry("out/.wh..wh..opq", "")],
                              [entry("out"), entry("out/.wh..wh..opq", "")],
                              "'out/.wh..wh..opq': it leads out"),
    "file on the way": ([entry("f", "f"), entry("f/x", "x")], [entry("f", "f"), entry("g/x", "x")],
                        "'f/x': a file is on its way"),
    "whiteout on the way": ([entry(".wh.w", ""), entry("w/x", "x")],
                            [entry(".wh.w", ""), entry("w"), entry("w/x", "x")],
                            "'w/x': a file is on its way"),
    "hard link out": ([hard_link("h", "../../../outside/name")], [hard_link("h", "etc/name")],
                      r"'h': it is a hard link to '\.\./\.\./\.\./outside/name'"),
    "hard link to an absolute path": ([hard_link("h", "/etc/passwd")], [hard_link("h", "etc/name")],
                                      "'h': .*must not be absolute"),
    "hard link through a link": (
        [symlink("out", "../../../outside"), hard_link("h", "out/name")],
        [symlink("out", "etc"), hard_link("h", "out/name")], "'h': it leads out"),
    "hard link to a file that is not there": ([hard_link("h", "etc/none")],
                                              [hard_link("h", "etc/name")],
                                              "'h': it is a hard link to a file that is not in"),
    "hard link to a directory": ([hard_link("h", "etc")], [hard_link("h", "in")],
                                 "'h': it is a hard link to something that is no file"),
    "hard link to a whiteout": ([entry(".wh.w", ""), hard_link("h", "w")],
                                [entry("w", ""), hard_link("h", "w")],
                                "'h': it is a hard link to something that is no file"),
    "whiteout in disguise": ([device("etc/hidden", 0, 0)], [device("etc/hidden", 1, 3)],
                             "'etc/hidden': it is a device with the number 0:0"),
    "whiteout of nothing": ([entry("etc/.wh.", "")], [entry("etc/.wh.x", "")], r"'etc/\.wh\.': a wh"),
    "whiteout of the directory": ([entry("etc/.wh..", "")], [entry("etc/.wh..x", "")],
                                  r"'etc/\.wh\.\.': a whiteout"),
    "whiteout of the parent": ([entry("etc/.wh...", "")], [entry("etc/.wh...x", "")],
                               r"'etc/\.wh\.\.\.': a whiteout"),
    "whiteout as a directory": ([entry(".wh.d/x", "x")], [entry("wh.d/x", "x")],
                                "no directory can be a whiteout"),
    "all lower layers hidden": ([entry(".wh..wh..opq", "")], [entry("etc/.wh..wh..opq", "")],
                                "'.wh..wh..opq': it hides all lower layers"),
    "name of 256 bytes": ([entry("n" * 256, "x")], [entry("n" * 255, "x")],
                          "'n+': no name in its path can be longer than 255 bytes"),
    "path of 4096 bytes": ([entry("/".join(["p" * 240] * 17), "x")],
                           [entry("/".join(["p" * 240] * 16), "x")],
                           "its path can have at most 4,095 bytes"),
    "link to nothing": ([symlink("l", "")], [symlink("l", "x")], "'l': it is a symbolic link to no"),
    "root that is a file": ([entry(".", "x")], [entry(".")],
                            r"'\.': it is the layer's own directory, and none"),
    "control characters": ([entry("../\x1b[2J\n\x07x", "x")], [entry("\x1b[2J\n\x07x", "x")],
                           r"'\.\./\?\[2J\?\?x'"),
}


class Entries(Case):
    def test_entries(self):
        for name, (evil, good, says) in ENTRIES.items():
            with self.subTest(name=name):
                self.taken(self.image(*good))
                self.assertEqual(self.store.msp("remove", "good:1").returncode, 0)
                self.refused(self.image(*evil), r"layer 1 of 1 \([0-9a-f]{12}\), .*" + says)

    def test_the_layer_is_named(self):
        image = Image(layer(entry("a", "a")), layer(entry("../x", "x")), layer(entry("c", "c")))
        self.refused(image.oci("evil:1"),
                     rf"layer 2 of 3 \({sha256(image.layers[1])[:12]}\), '\.\./x'")
        self.refused(image.docker("evil:1"), "layer 2 of 3")

    def test_an_image_that_is_there_stays(self):
        """Another import fails, under the name of one that came in."""
        self.taken(Image(layer(*GOOD)).oci("evil:1"), "evil:1")
        self.refused(Image(layer(*GOOD), layer(entry("../x", "x"))).oci("evil:1"), "layer 2 of 2")
        self.assertEqual(self.store.msp("show", "evil:1").returncode, 0)

    def test_no_attribute_and_no_bit_of_an_archive(self):
        extended = {"SCHILY.xattr.user.overlay.opaque": "y", "SCHILY.xattr.user.overlay.redirect": "/",
                    "SCHILY.xattr.user.overlay.whiteout": "y", "SCHILY.acl.access": "user:root:rwx"}
        data = layer(*GOOD, entry("d", mode=0o7777, uid=0, gid=0, pax_headers=extended),
                     entry("d/f", "f", mode=0o7777, uid=0, pax_headers=extended),
                     format=tarfile.PAX_FORMAT)
        self.taken(Image(data).oci())
        for name, mode in (("d", 0o1777), ("d/f", 0o777)):
            path = self.store.layer(data, name)
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), mode)
            self.assertEqual(os.listxattr(path), [])
            self.assertEqual(os.stat(path).st_uid, os.getuid())

    def test_names_that_meet_without_case(self):
        data = layer(entry("Name", "1"), entry("name", "2"))
        self.taken(Image(data).oci())
        self.assertEqual(sorted(os.listdir(self.store.layer(data))), ["Name", "name"])

    def test_hidden_characters(self):
        """Names and texts of an archive reach a terminal without what it, or a reader, would be misled by."""
        name = "..\u202e/\u009b2J\u0085\ufeff\u2066"
        for files in (self.image(entry(f"../{name}", "x")), self.image(symlink(f"l{name[2:]}", ""))):
            self.refused(files, r"\?\?.*: it")
        image = Image(layer(*GOOD), platform=(name, name)).docker("evil:1")
        self.refused(image, "it is for '\\.\\.\\?/")
        made = json.loads(Image(layer(*GOOD)).docker()["manifest.json"])
        made[0]["Layers"] = [name]
        self.refused({**Image(layer(*GOOD)).docker(), "manifest.json": json.dumps(made).encode()}, r"\?.*missing")
        self.taken(self.image(entry("g\u00fct/\u5b57", "x")))

    def test_a_deep_tree_that_links_made_deeper(self):
        """Longer than any path, so it can only be removed step by step."""
        entries, step = [], "/".join(["d" * 200] * 15)
        for number in range(8):
            entries += [entry(f"l{number}/{step}" if number else step)]
            entries += [symlink(f"l{number + 1}", f"l{number}/{step}" if number else step)]
        self.taken(self.image(*entries))
        self.assertEqual(self.store.msp("remove", "good:1").returncode, 0)
        self.assertEqual(os.listdir(self.store.path("layers")), [])


class Amounts(Case):
    def many(self, count):
        """An image with so many whiteouts of one name, which cost nothing to store. Its layer is
        never there as a whole, and its diff_id is of another one: a refusal comes before that."""
        block = tarfile.TarInfo(".wh.x").tobuf(tarfile.USTAR_FORMAT)
        with subprocess.Popen(["zstd", "-q", "-c"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as zstd:
            with ThreadPoolExecutor(1) as other:
                packed = other.submit(zstd.stdout.read)
                for _ in range(count // 1000):
                    zstd.stdin.write(block * 1000)
                zstd.stdin.write(block * (count % 1000) + bytes(1024))
                zstd.stdin.close()
                data = packed.result()
        image = Image(layer(*GOOD), compression="+zstd")
        files, descriptor = image.blobs(lambda _: data)
        descriptor["annotations"] = {"org.opencontainers.image.ref.name": "evil:1"}
        return layout(files, descriptor)

    @unittest.skipUnless(support.IS_ALL, "./dev test --all counts to a million; the unit test of unpack "
                         "begins near it")
    def test_entries(self):
        for count in (1_000_001, 10_000_000):
            files = self.many(count)
            start = time.monotonic()
            self.refused(files, "'.wh.x': the layers have more than 1000000 entries")
            self.assertLess(time.monotonic() - start, 60, f"of {count} entries no more than a million count")
        self.taken(Image(tarfile.TarInfo(".wh.x").tobuf(tarfile.USTAR_FORMAT) * 2000 + bytes(1024)).oci())

    def test_bytes(self):
        """Of one file, of many, and of holes."""
        big = entry("big", bytes(2 << 20))
        small = [entry(f"s{number}", b"x") for number in range(300)]
        for entries, says in (([big], "'big': the layers take more than the 1 MiB"),
                              (small, "'s[0-9]+': the layers take more than the 1 MiB"),
                              ([entry(f"d{number}") for number in range(300)], "'d[0-9]+/': the")):
            files = Image(layer(*entries)).oci("evil:1")
            self.refused(files, says, "--disk=1M")
            self.taken(files, "good:1", "--disk=4M")
            self.assertEqual(self.store.msp("remove", "good:1").returncode, 0)

    def test_what_has_no_content(self):
        """Directories that no entry names, links, marks: each takes an inode or a block. Of a tenth of them
        the image comes in, with a size that is no less than what it takes."""
        def deep(number):
            return [entry(f"{number}/" + "/".join("d" * 50) + "/f", "")]

        text, name = "t" * 4000, "n" * 250
        kinds = {
            "directories without an entry": (deep, 8),
            "directories": (lambda number: [entry(f"d{number}")], 250),
            "empty files": (lambda number: [entry(f"f{number}", "")], 2000),
            "long names": (lambda number: [entry(f"{number:05}{name}", "")], 1100),
            "short links": (lambda number: [symlink(f"l{number}", "x")], 2000),
            "long links": (lambda number: [symlink(f"l{number}", text)], 250),
            "hard links": (lambda number: [hard_link(f"h{number}", "etc/name")], 2000),
            "whiteouts": (lambda number: [entry(f"etc/.wh.{number}", "")], 2000),
            "opaque directories": (lambda number: [entry(f"o{number}/.wh..wh..opq", "")], 130),
            "replaced files": (lambda number: [entry("etc/name", "x")], 250),
            "everything that replaces": (lambda number: [[entry("etc/x")], [symlink("etc/x", text)]][number % 2], 250),
        }
        for kind, (make, count) in kinds.items():
            with self.subTest(kind=kind):
                entries = [one for number in range(count) for one in make(number)]
                self.refused(self.image(*entries), "the layers take more than the 1 MiB", "--disk=1M")
                few = entries[:len(entries) // 10]
                self.taken(self.image(*few), "good:1", "--disk=1M")
                shown = json.loads(self.store.msp("show", "--json", "good:1").stdout)["layers"][0]
                top = self.store.path("layers", shown["diff_id"][7:])
                taken = subprocess.run(["du", "-sB1", top], capture_output=True, check=True).stdout
                inodes = subprocess.run(["du", "-s", "--inodes", top], capture_output=True, check=True).stdout
                self.assertGreaterEqual(shown["bytes"], int(taken.split()[0]))
                self.assertGreaterEqual(shown["entries"] + 1, int(inodes.split()[0]))
                self.assertEqual(self.store.msp("remove", "good:1").returncode, 0)

    def test_what_was_proven(self):
        """40,000 directories above 40 entries, in some kilobytes."""
        entries = [entry(f"{number}/" + "d/" * 999 + "f", "") for number in range(40)]
        self.refused(self.image(*entries), "the layers take more than the 2 MiB", "--disk=2M")
        self.taken(self.image(*entries[:2]))
        self.assertRegex(self.store.msp("list").stdout.decode(), r"good:1 .* [89]\.[0-9] MiB")
        self.assertEqual(self.store.msp("remove", "good:1").returncode, 0)

    def test_depth(self):
        """Deeper than a path can name, over links."""
        def chain(count):
            made = []
            for number in range(count):
                made.append(entry(f"l{number}/" + "d/" * 900 if number else "d/" * 900))
                made.append(symlink(f"l{number + 1}", (f"l{number}/" if number else "") + "d/" * 899 + "d"))
            return made

        self.refused(self.image(*chain(3)), "it lies more than 2048 directories deep")
        self.taken(self.image(*chain(2)))
        self.assertEqual(self.store.msp("remove", "good:1").returncode, 0)

    def test_headers_of_pax(self):
        """Attributes without end, and a header that is longer than the archive."""
        def with_headers(headers):
            info, data = entry("x", "x", pax_headers=headers)
            return Image(layer((info, data), format=tarfile.PAX_FORMAT)).oci("evil:1")

        self.taken(with_headers({f"SCHILY.xattr.user.a{number}": "v" * 200 for number in range(3000)}))
        self.assertEqual(os.listxattr(self.store.path("layers", os.listdir(self.store.path("layers"))[0], "x")), [])
        long = bytearray(layer(entry("x", "x", pax_headers={"comment": "c"}), format=tarfile.PAX_FORMAT))
        info = tarfile.TarInfo("PaxHeaders/x")
        info.type, info.size = tarfile.XHDTYPE, 7 << 30
        self.refused(Image(info.tobuf(tarfile.USTAR_FORMAT) + bytes(long)).oci("evil:1"), ".")

    def test_holes(self):
        """1 TiB that an archive of some kilobytes has."""
        def sparse(size):
            info = tarfile.TarInfo("hole")
            info.size = 512
            info.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0",
                                "GNU.sparse.name": "hole", "GNU.sparse.realsize": str(size)}
            out = io.BytesIO()
            with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
                tar.addfile(info, io.BytesIO(b"1\n%d\n0\n".ljust(512, b"\0") % size))
            return Image(out.getvalue()).oci("evil:1")

        self.refused(sparse(1 << 40), "'hole': the layers take more than")
        self.taken(sparse(1 << 20))

    def test_all_layers_count(self):
        first = Image(layer(entry("a", bytes(2 << 20)))).oci("a:1")
        self.taken(first, "a:1")
        self.refused(Image(layer(entry("b", bytes(2 << 20)))).oci("evil:1"),
                     "more than the [0-9]+ MiB", "--disk=3M")
        self.refused(Image(layer(entry("b", "b"))).oci("evil:1"),
                     "the images take 2.0 MiB of the 1.0 MiB that they may", "--disk=1M")
        self.taken(Image(layer(entry("a", bytes(2 << 20)))).oci("a:1"), "b:1", "--disk=3M")

    def test_bombs(self):
        """Compressed bytes of nothing behind the last entry, and of an archive around the image."""
        bomb = gzip.compress(layer(entry("x", "x")) + bytes(64 << 20), 9)
        image = Image(layer(entry("x", "x")) + bytes(64 << 20))
        self.assertLess(len(bomb), 1 << 20)
        self.taken(image.oci())  # 64 MiB are less than a million headers
        path = os.path.join(self.store.folder, "bomb.gz")
        with open(path, "wb") as file:
            file.write(gzip.compress(bytes(64 << 20), 9))
        result = self.store.msp("import", path, "--disk=32M")
        self.assertEqual(result.returncode, 78)
        self.assertIn(b"it takes more than the 31 MiB that are left", result.stderr)
        self.assertEqual(os.listdir(self.store.path("incoming")), [])


class Indexes(Case):
    def nested(self, count, depth=2):
        """An index of `count` indexes, each of which names the one image so many times."""
        files, descriptor = Image(layer(*GOOD)).blobs()
        for _ in range(depth):
            data = json.dumps({"manifests": [descriptor] * count}).encode()
            files[f"blobs/sha256/{sha256(data)}"] = data
            descriptor = {"digest": f"sha256:{sha256(data)}", "size": len(data)}
        return layout(files, *[descriptor] * count)

    def test_many(self):
        """n indexes of n indexes of n names of an image would be n^3 reads."""
        self.refused(self.nested(100), "lead to more than 256 manifests and indexes")
        self.refused(self.nested(5000), "more than 256 manifests")
        self.taken(self.nested(5))
        self.refused(self.nested(1, 4), "more than 3 deep")


class Damage(Case):
    def setUp(self):
        super().setUp()
        self.image = Image(layer(*GOOD, entry("big", os.urandom(300_000))), Cmd=["sh"])
        self.files = self.image.oci("good:1")
        self.blob = sha256(images_support.COMPRESSORS["+gzip"](self.image.layers[0]))
        self.blob = next(name for name, data in self.files.items() if data[:2] == b"\x1f\x8b")

    def test_layers(self):
        data = self.files[self.blob]
        other = gzip.compress(layer(*GOOD, entry("big", "other")))
        for name, changed, says in (
                ("cut", data[:-1000], "cannot be decompressed: truncated"),
                ("cut in the end", data[:-4], "."),
                ("longer", data + b"x", "its digest is sha256:[0-9a-f]{64}, and the image says"),
                ("another", other, "its digest is sha256"),
                ("no compression", self.image.layers[0], "its digest is sha256"),
                ("nothing", b"", "empty"), ("rubbish", os.urandom(5000), "."),
                ("a bit", data[:200_000] + bytes([data[200_000] ^ 1]) + data[200_001:], ".")):
            with self.subTest(name=name):
                self.refused({**self.files, self.blob: changed}, "layer 1 of 1 .*" + says)
        self.refused({name: value for name, value in self.files.items() if name != self.blob},
                     "layer 1 of 1 .*'blobs/sha256/[0-9a-f]{64}' is missing")
        self.taken(self.files)

    def test_diff_id(self):
        """Compressed bytes with the digest of the manifest, of other content than the configuration
        says."""
        honest = Image(layer(entry("x", "honest")))
        files = honest.docker("evil:1")
        path = f"{sha256(honest.layers[0])}/layer.tar"
        self.refused({**files, path: layer(entry("x", "evil"))},
                     "its diff_id is sha256:[0-9a-f]{64}, and the image says sha256:")
        self.refused({**files, path: honest.layers[0][:1000]}, "layer 1 of 1")
        self.refused({**files, path: honest.layers[0][:-512]}, "its diff_id is")
        self.taken(files)

    def test_description(self):
        for name in self.files:
            if name in (self.blob, "oci-layout"):
                continue
            data = self.files[name]
            for changed in (data[:-1], data[:-1] + b" ", b"", b"[]", b"{}", b"null", b"\xff", b"[" * 9999,
                            data.replace(b"sha256:", b"sha512:"), data.replace(b"sha256:", b"sha256:.."),
                            data + bytes(4 << 20)):
                with self.subTest(name=name, changed=changed[:20]):
                    self.refused({**self.files, name: changed}, ".")
        self.taken(self.files)

    def test_docker_description(self):
        files = self.image.docker("evil:1")
        made = json.loads(files["manifest.json"])[0]
        for key, value in (("Layers", []), ("Layers", ["../../outside/name"]), ("Layers", [7]),
                           ("Layers", made["Layers"] * 2), ("Layers", ["x" * 600]),
                           ("Config", "../../outside/name"), ("Config", None),
                           ("Config", "manifest.json"), ("Layers", None), ("Config", "/etc/passwd")):
            with self.subTest(key=key, value=str(value)[:30]):
                self.refused({**files, "manifest.json": json.dumps([{**made, key: value}]).encode()}, ".")
        self.taken(files)

    def test_a_directory_that_leads_out(self):
        """Of an image in a directory a symbolic link can be a blob."""
        folder = images_support.write_directory(os.path.join(self.store.folder, "l"), self.files)
        os.rename(os.path.join(folder, self.blob), os.path.join(self.outside, "blob"))
        os.symlink(os.path.join(self.outside, "blob"), os.path.join(folder, self.blob))
        result = self.store.msp("import", folder)
        self.assertEqual(result.returncode, 78)
        self.assertRegex(result.stderr, b"cannot be opened: .*EXDEV")
        os.unlink(os.path.join(folder, self.blob))
        os.mkfifo(os.path.join(folder, self.blob))
        self.assertRegex(self.store.msp("import", folder).stderr, b"is no regular file")
        os.unlink(os.path.join(folder, self.blob))
        os.rename(os.path.join(self.outside, "blob"), os.path.join(folder, self.blob))
        self.assertEqual(self.store.msp("import", folder).returncode, 0)

    def test_configuration(self):
        for config, says in (({"Env": ["NAME"]}, "NAME=VALUE"), ({"Env": ["=x"]}, "NAME=VALUE"),
                             ({"Env": [1]}, "Env in its configuration must be a list of texts"),
                             ({"Env": [{}]}, "Env"), ({"Cmd": ["a\0b"]}, "has a NUL"),
                             ({"WorkingDir": "/x" * 3000}, "WorkingDir .* too long"),
                             ({"Env": ["A=" + "x" * 70000]}, "Env .* too long"),
                             ({"Cmd": ["x"] * 300}, "Cmd .* too long")):
            with self.subTest(config=str(config)[:40]):
                self.refused(Image(layer(*GOOD), **config).oci("evil:1"), says)
        self.taken(Image(layer(*GOOD), Env=["A=" + "x" * 60000], Cmd=["x"] * 200).oci())

    def test_layers_that_do_not_fit_together(self):
        self.refused(Image(*[layer(entry(f"f{number}", "x")) for number in range(128)]).oci("evil:1"),
                     "more than 127 layers")
        self.taken(Image(*[layer(entry(f"f{number}", "x")) for number in range(127)]).oci())
        one, two = Image(layer(*GOOD)), Image(layer(*GOOD), layer(entry("b", "b")))
        files = {**one.oci(), **two.oci()}
        manifest = {"config": {"digest": "sha256:" + hashlib.sha256(two.configuration()).hexdigest()},
                    "layers": [{"digest": "sha256:" + sha256(images_support.COMPRESSORS["+gzip"](one.layers[0]))}]}
        data = json.dumps(manifest).encode()
        files[f"blobs/sha256/{sha256(data)}"] = data
        self.refused(layout({name: value for name, value in files.items() if name.startswith("blobs")},
                            {"digest": f"sha256:{sha256(data)}"}), "a diff_id for each of its 1 layers")


if __name__ == "__main__":
    unittest.main(verbosity=2)
