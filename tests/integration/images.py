#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`msp image`: images in every form come in as their layers say, and are found, shown and removed."""
import fcntl
import json
import os
import select
import shutil
import socket
import stat
import subprocess
import tarfile
import tempfile
import unittest

import images_support
import support
from images_support import Image, device, entry, hard_link, layer, layout, sha256, symlink

BASE = layer(entry("etc"), entry("etc/name", "base\n"), entry("bin"),
             entry("bin/sh", "#!\n", mode=0o4755), symlink("sh", "bin/sh"),
             hard_link("bin/ash", "bin/sh"), entry("tmp", mode=0o1777),
             entry("shut", mode=0o000), entry("shut/file", "x", mode=0o000))
UPPER = layer(entry("etc/.wh.name", ""), entry("usr"), entry("usr/.wh..wh..opq", ""),
              entry("usr/new", "new"))
CONFIG = {"Env": ["PATH=/bin", "LANG=C.UTF-8"], "WorkingDir": "/srv", "Cmd": ["sh", "-l"],
          "Entrypoint": ["/bin/env", "--"], "User": "33", "Volumes": {"/data": {}}}


class Case(unittest.TestCase):
    def setUp(self):
        self.store = images_support.Store(tempfile.mkdtemp())
        self.addCleanup(self.store.close)

    def ok(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.decode()

    def bring(self, image, *words):
        return self.ok(self.store.import_files(image.oci("app:1"), *words))

    def refused(self, result, code, says):
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertRegex(result.stderr.decode(), says)

    def shown(self, name):
        return json.loads(self.ok(self.store.msp("show", "--json", name)))


class Forms(Case):
    def test_what_a_layer_becomes(self):
        result = self.store.import_files(Image(BASE, UPPER, **CONFIG).oci("app:1"))
        self.assertEqual(self.ok(result), "app:1\n")
        self.assertIn(b"left out: set-ID bits (1)\n", result.stderr)
        base, upper = self.store.layer(BASE), self.store.layer(UPPER)
        status = os.lstat(f"{base}/bin/sh")
        self.assertEqual(stat.S_IMODE(status.st_mode), 0o755)
        self.assertEqual((status.st_uid, status.st_nlink), (os.getuid(), 2))
        self.assertEqual(status.st_mtime, 1_000_000_000)
        self.assertEqual(os.readlink(f"{base}/sh"), "bin/sh")
        self.assertEqual(stat.S_IMODE(os.stat(f"{base}/tmp").st_mode), 0o1777)
        self.assertEqual(os.stat(f"{base}/tmp").st_mtime, 1_000_000_000)
        self.assertEqual(stat.S_IMODE(os.stat(f"{base}/shut").st_mode), 0o700)
        self.assertEqual(stat.S_IMODE(os.stat(f"{base}/shut/file").st_mode), 0o400)
        white = os.lstat(f"{upper}/etc/name")
        self.assertTrue(stat.S_ISCHR(white.st_mode))
        self.assertEqual(white.st_rdev, 0)
        self.assertEqual(os.getxattr(f"{upper}/usr", "user.overlay.opaque"), b"y")
        self.assertEqual(sorted(os.listdir(f"{upper}/usr")), ["new"])
        self.assertEqual(os.listdir(self.store.path("incoming")), [])

    def test_a_killed_msp_ends_its_program(self):
        with subprocess.Popen([support.MSP, "image", "import", "-"], env={**os.environ, "MSP_STATE_DIR": self.store.state},
                              stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as msp:
            self.assertTrue(support.wait_until(lambda: support.named(msp.pid, "msp-image")))
            program = os.pidfd_open(support.named(msp.pid, "msp-image")[0])
            self.addCleanup(os.close, program)
            self.assertEqual(select.select([program], [], [], 0.2)[0], [], "it waits for the image")
            msp.kill()
            # Only then its input ends, of which this test has the other end.
            self.assertEqual(select.select([program], [], [], 60)[0], [program])

    def test_configuration(self):
        self.bring(Image(BASE, UPPER, **CONFIG))
        shown = self.shown("app:1")
        self.assertEqual(shown["environment"], CONFIG["Env"])
        self.assertEqual(shown["cwd"], "/srv")
        self.assertEqual(shown["entrypoint"], CONFIG["Entrypoint"])
        self.assertEqual(shown["command"], CONFIG["Cmd"])
        self.assertEqual([row["diff_id"] for row in shown["layers"]],
                         ["sha256:" + sha256(BASE), "sha256:" + sha256(UPPER)])
        self.assertEqual(shown["names"], ["app:1"])
        text = self.ok(self.store.msp("show", "app:1"))
        self.assertIn("environment  PATH=/bin\n", text)
        self.assertIn("of the manifest", text)

    def test_a_configuration_without_anything(self):
        for number, cwd in enumerate((None, "", "srv")):
            config = {} if cwd is None else {"WorkingDir": cwd, "Env": None, "Cmd": "one word"}
            self.bring(Image(BASE, **config), f"bare:{number}")
            self.assertEqual(self.shown(f"bare:{number}")["cwd"], "/" + (cwd or ""))
        self.assertEqual(self.shown("bare:2")["command"], ["one word"])

    def test_compressions(self):
        for compression in images_support.COMPRESSORS:
            with self.subTest(compression=compression):
                self.bring(Image(BASE, compression=compression), f"c{compression[1:]}:1")
                self.assertTrue(os.path.exists(self.store.layer(BASE, "etc", "name")))
                self.ok(self.store.msp("remove", f"c{compression[1:]}:1"))
                self.assertFalse(os.path.exists(self.store.layer(BASE)))

    def test_ways_in(self):
        """A directory, a pipe, a compressed archive, and standard input that is a file."""
        files = Image(BASE, **CONFIG).oci("app:1")
        folder = images_support.write_directory(os.path.join(self.store.folder, "layout"), files)
        path = images_support.write_archive(os.path.join(self.store.folder, "a.tar"), files)
        with open(path, "rb") as file:
            data = file.read()
        with open(path + ".gz", "wb") as file:
            file.write(images_support.COMPRESSORS["+gzip"](data))
        digests = set()
        for name, words, options in (("d:1", [folder], {}), ("z:1", [path + ".gz"], {}),
                                     ("p:1", ["-"], {"input": data}),
                                     ("q:1", ["-"], {"input": images_support.COMPRESSORS["+zstd"](data)}),
                                     ("f:1", ["-"], {"stdin": open(path, "rb")})):
            with self.subTest(name=name):
                self.assertEqual(self.ok(self.store.msp("import", *words, name, **options)),
                                 f"{name}\n")
                digests.add(self.shown(name)["digest"])
                if "stdin" in options:
                    options["stdin"].close()
        self.assertEqual(len(digests), 1)

    def test_both_threads_are_confined(self):
        """While the image does not come: its pipe stays open."""
        with subprocess.Popen([images_support.MSP, "image", "import", "-", "p:1"], stdin=subprocess.PIPE,
                              stderr=subprocess.PIPE,
                              env={**os.environ, "MSP_STATE_DIR": self.store.state}) as msp:
            def threads():
                found = []
                for pid in support.find(msp.pid, "msp-image"):
                    for thread in os.listdir(f"/proc/{pid}/task"):
                        with open(f"/proc/{pid}/task/{thread}/status", encoding="ascii") as file:
                            lines = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
                        found.append([lines[key].strip() for key in ("Seccomp", "NoNewPrivs", "CapEff")])
                return found

            self.assertTrue(support.wait_until(
                lambda: threads() == [["2", "1", "0" * 16]] * 2, 30), threads())
            msp.stdin.close()
            self.assertEqual(msp.wait(30), 78)
            self.assertIn(b"this is no image", msp.stderr.read())

    def test_docker_archive(self):
        image = Image(BASE, UPPER, **CONFIG)
        self.assertEqual(self.ok(self.store.import_files(
            image.docker("docker.io/library/app:1", "host.example:5000/x/y:2"))),
            "app:1\nhost.example:5000/x/y:2\n")
        shown = self.shown("app:1")
        self.assertEqual(shown["digest"], "sha256:" + sha256(image.configuration()))
        self.assertEqual(shown["environment"], CONFIG["Env"])
        self.assertIn("of the configuration", self.ok(self.store.msp("show", "app:1")))

    def test_docker_archive_with_links(self):
        """docker save writes a layer that is there twice once, and a link for the second."""
        files = Image(BASE, UPPER, BASE).docker("app:1")
        path = os.path.join(self.store.folder, "linked.tar")
        config = json.loads(files["manifest.json"])
        config[0]["Layers"][2] = "other/layer.tar"
        files["manifest.json"] = json.dumps(config).encode()
        images_support.write_archive(path, files)
        with tarfile.open(path, "a") as tar:
            tar.addfile(symlink("other/layer.tar", f"../{sha256(BASE)}/layer.tar")[0])
        self.ok(self.store.msp("import", path))
        self.assertEqual([row["diff_id"] for row in self.shown("app:1")["layers"]],
                         ["sha256:" + sha256(UPPER), "sha256:" + sha256(BASE)],
                         "the upper of two equal layers shows all that the lower one does")

    def test_a_name_that_needs_more_than_tar_first_had(self):
        names = ["d" * 100 + "/" + "f" * 200, "é/ü€.txt", "x" * 255, "/".join(["p" * 30] * 100)]
        for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
            data = layer(*[entry(name, name) for name in names], format=form)
            self.bring(Image(data), "long:1")
            for name in names:
                with open(self.store.layer(data, name), encoding="utf-8") as file:
                    self.assertEqual(file.read(), name)

    def test_later_entries_win(self):
        data = layer(entry("a", "one"), entry("a", "two"), entry("d"), entry("d/x/y", "deep"),
                     entry("d", "a file now"), symlink("l", "d"), entry("l"), entry("l/in", "in"),
                     entry("k", "k"), hard_link("k", "k"), entry(".wh.hid", ""), entry("hid"),
                     entry("was"), entry("was/x", ""), entry(".wh.was", ""))
        self.bring(Image(data))
        with open(self.store.layer(data, "a"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "two")
        self.assertTrue(os.path.isfile(self.store.layer(data, "d")))
        self.assertFalse(os.path.islink(self.store.layer(data, "l")))
        self.assertTrue(os.path.isfile(self.store.layer(data, "l", "in")))
        self.assertTrue(os.path.isfile(self.store.layer(data, "k")))
        for name in ("hid", "was"):  # both in the layer and hidden below
            self.assertEqual(os.getxattr(self.store.layer(data, name), "user.overlay.opaque"), b"y")
        self.assertTrue(os.path.exists(self.store.layer(data, "was", "x")))

    def test_a_link_that_stays_in_the_layer(self):
        data = layer(entry("usr"), entry("usr/lib"), symlink("lib", "usr/lib"), entry("lib/x", "x"))
        self.bring(Image(data))
        self.assertTrue(os.path.isfile(self.store.layer(data, "usr", "lib", "x")))

    def test_left_out(self):
        extended = entry("x", "x", pax_headers={"SCHILY.xattr.user.overlay.redirect": "/etc",
                                                "SCHILY.xattr.security.capability": "cap"})
        data = layer(device("null", 1, 3), device("sda", 8, 0, tarfile.BLKTYPE),
                     entry("pipe", type=tarfile.FIFOTYPE), extended, format=tarfile.PAX_FORMAT)
        result = self.store.import_files(Image(data).oci("app:1"))
        self.ok(result)
        self.assertIn(b"left out: devices, FIFOs and sockets (3), extended attributes (1)\n",
                      result.stderr)
        self.assertEqual(os.listdir(self.store.layer(data)), ["x"])
        self.assertEqual(os.listxattr(self.store.layer(data, "x")), [])

    def test_sparse_files_stay_sparse(self):
        path = os.path.join(self.store.folder, "sparse")
        with open(path, "wb") as file:
            file.truncate(64 << 20)
            file.seek(32 << 20)
            file.write(b"middle")
        data = subprocess.run(["tar", "-C", self.store.folder, "-cS", "sparse"], check=True,
                              capture_output=True).stdout
        self.bring(Image(data))
        status = os.stat(self.store.layer(data, "sparse"))
        self.assertEqual(status.st_size, 64 << 20)
        self.assertLess(status.st_blocks * 512, 1 << 20)
        self.assertGreater(self.shown("app:1")["layers"][0]["bytes"], 32 << 20)


class Choice(Case):
    """An index with several images."""

    def many(self, *images):
        files, descriptors = {}, []
        for image, platform, annotations in images:
            blobs, descriptor = image.blobs()
            files.update(blobs)
            if platform:
                descriptor["platform"] = dict(zip(("os", "architecture"), platform))
            if annotations:
                descriptor["annotations"] = annotations
            descriptors.append(descriptor)
        return files, descriptors

    def test_platforms(self):
        arm = Image(UPPER, platform=("linux", "arm64"))
        files, descriptors = self.many((arm, ("linux", "arm64"), None),
                                       (Image(BASE), ("linux", "amd64"), None),
                                       (Image(UPPER), ("unknown", "unknown"), None))
        self.ok(self.store.import_files(layout(files, *descriptors), "app:1"))
        self.assertEqual(self.shown("app:1")["layers"][0]["diff_id"], "sha256:" + sha256(BASE))

    def test_an_index_in_the_index(self):
        files, descriptors = self.many((Image(UPPER), ("linux", "arm64"), None),
                                       (Image(BASE), ("linux", "amd64"), None))
        for _ in range(2):
            data = json.dumps({"schemaVersion": 2, "manifests": descriptors}).encode()
            files[f"blobs/sha256/{sha256(data)}"] = data
            descriptors = [{"digest": f"sha256:{sha256(data)}", "size": len(data)}]
        self.ok(self.store.import_files(layout(files, *descriptors), "app:1"))
        data = json.dumps({"schemaVersion": 2, "manifests": descriptors}).encode()
        files[f"blobs/sha256/{sha256(data)}"] = data
        self.refused(self.store.import_files(
            layout(files, {"digest": f"sha256:{sha256(data)}"}), "app:2"), 78, "3 deep")

    def test_another_platform(self):
        arm = Image(BASE, platform=("linux", "arm64"))
        self.refused(self.store.import_files(arm.oci("app:1")), 78,
                     "'linux/arm64', and must be for linux/amd64")
        files, descriptors = self.many((arm, ("linux", "arm64"), None))
        self.refused(self.store.import_files(layout(files, *descriptors)), 78,
                     "no image for linux/amd64")

    def test_several_images(self):
        files, descriptors = self.many((Image(BASE), None, None), (Image(UPPER), None, None))
        self.refused(self.store.import_files(layout(files, *descriptors)), 78, "several images")
        two = Image(BASE).docker("a:1")
        two["manifest.json"] = json.dumps(json.loads(two["manifest.json"]) * 2).encode()
        self.refused(self.store.import_files(two), 78, "several images")

    def test_names_of_the_layout(self):
        files, descriptors = self.many(
            (Image(BASE), None, {"org.opencontainers.image.ref.name": "3.12",
                                 "io.containerd.image.name": "docker.io/library/python:3.12"}),
            (Image(BASE), None, {"org.opencontainers.image.ref.name": "localhost/mine:2"}),
            (Image(BASE), None, {"org.opencontainers.image.ref.name": "latest"}))
        self.assertEqual(self.ok(self.store.import_files(layout(files, *descriptors))),
                         "python:3.12\nlocalhost/mine:2\n")
        self.assertEqual(sorted(self.shown("mine:2")["names"]), ["localhost/mine:2", "python:3.12"])

    def test_without_a_name(self):
        files, descriptors = self.many((Image(BASE), None, None))
        digest = self.ok(self.store.import_files(layout(files, *descriptors))).strip()
        self.assertEqual(digest, descriptors[0]["digest"])
        self.assertEqual(self.shown(digest)["names"], [])
        self.assertEqual(self.shown(digest[7:19])["digest"], digest)
        self.assertRegex(self.ok(self.store.msp("list")), rf"(?m)^- +{digest[7:19]} +1 ")


class Keeping(Case):
    def listed(self):
        return json.loads(self.ok(self.store.msp("list", "--json")))

    def test_nothing_there(self):
        result = self.store.msp("list")
        self.assertEqual((self.ok(result), self.listed()["images"]), ("", []))
        self.assertIn(b"msp image pull", result.stderr)
        self.assertFalse(os.path.exists(self.store.images), "a list makes nothing")
        self.refused(self.store.msp("show", "app"), 64, "there is no image 'app' here")
        self.refused(self.store.msp("remove", "app"), 64, "there is no image 'app' here")
        self.assertIn(b"0 images", self.store.msp("prune").stderr)

    def test_layers_are_shared(self):
        self.bring(Image(BASE, UPPER), "one:1")
        inode = os.stat(self.store.layer(BASE)).st_ino
        self.bring(Image(BASE), "two:1")
        self.assertEqual(os.stat(self.store.layer(BASE)).st_ino, inode)
        rows = {row["name"]: row for row in self.listed()["images"]}
        self.assertEqual(rows["two:1"]["bytes"], self.shown("one:1")["layers"][0]["bytes"])
        self.assertEqual(self.listed()["bytes"], rows["one:1"]["bytes"], "each is counted once")
        self.ok(self.store.msp("remove", "one:1"))
        self.assertTrue(os.path.exists(self.store.layer(BASE)))
        self.assertFalse(os.path.exists(self.store.layer(UPPER)))
        self.ok(self.store.msp("remove", "two:1"))
        self.assertEqual([name for name, data in self.store.contents().items() if data], [])

    def test_names(self):
        self.bring(Image(BASE), "one:1")
        self.bring(Image(BASE), "docker.io/library/two")
        self.assertEqual(self.ok(self.store.msp("-q", "list")), "one:1\ntwo:latest\n")
        self.ok(self.store.msp("remove", "one:1"))
        self.assertEqual(self.shown("two")["names"], ["two:latest"])
        self.bring(Image(UPPER), "two")
        self.assertEqual(self.shown("two")["layers"][0]["diff_id"], "sha256:" + sha256(UPPER))
        self.assertTrue(os.path.exists(self.store.layer(BASE)), "an image without a name is kept")
        self.assertIn(b"1 image without a name removed", self.store.msp("prune").stderr)
        self.assertFalse(os.path.exists(self.store.layer(BASE)))
        digest = self.shown("two")["digest"]
        self.bring(Image(UPPER), "three")
        self.ok(self.store.msp("remove", digest[:15]))
        self.assertEqual(self.listed()["images"], [])

    def test_names_that_an_image_says_itself(self):
        """They are taken if they are free or its own, and never from another image, also where a name or a
        digest means that one in another spelling; a name that is given moves, and that is said."""
        own = Image(BASE).oci("one:1")
        self.ok(self.store.import_files(own))
        self.bring(Image(BASE), "localhost/local")
        digits = self.shown("one:1")["digest"][7:13]
        before = self.store.contents()
        for name in ("one:1", "docker.io/library/one:1", "local:latest", digits + ":latest"):
            for files in (Image(UPPER).docker("free:1", name), Image(UPPER).oci(name)):
                with self.subTest(name=name):
                    self.refused(self.store.import_files(files), 78,
                                 "the image calls itself .*, which means another image here")
                    self.assertEqual(self.store.contents(), before)
        self.assertEqual(self.ok(self.store.import_files(own)), "one:1\n")
        moved = self.store.import_files(Image(UPPER).docker("one:1"), "one:1")
        self.assertEqual(self.ok(moved), "one:1\n")
        self.assertIn(f"the name one:1 moves from the image {digits}", moved.stderr.decode())
        self.assertEqual(self.shown("one:1")["layers"][0]["diff_id"], "sha256:" + sha256(UPPER))
        self.assertEqual(self.ok(self.store.import_files(Image(UPPER).docker("free:1", "local:2"))), "free:1\nlocal:2\n")
        pinned = "other@sha256:" + "ab" * 32
        self.assertRegex(self.ok(self.store.import_files(Image(UPPER).oci(pinned))), r"^sha256:[0-9a-f]{64}\n$")

    def test_a_name_with_a_digest(self):
        """It is that of the image, or the image is another one."""
        digest = json.loads(Image(BASE).oci()["index.json"])["manifests"][0]["digest"]
        name = f"one@{digest}"
        self.refused(self.store.import_files(Image(UPPER).oci(), name), 78, "it is another one")
        self.assertEqual(self.ok(self.store.import_files(Image(BASE).oci(), name)), name + "\n")

    def test_an_image_in_use_stays(self):
        self.bring(Image(BASE), "one:1")
        digest = self.shown("one:1")["digest"][7:]
        before = self.store.contents()
        with open(self.store.path("manifests", digest), "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            self.refused(self.store.msp("remove", "one:1"), 75, "used by a running msp")
            self.assertEqual(self.store.contents(), before)
            os.unlink(self.store.path("names", "one:1"))
            self.assertIn(b"others are used", self.store.msp("prune").stderr)
            self.assertTrue(os.path.exists(self.store.layer(BASE)))
        self.ok(self.store.msp("prune"))
        self.assertFalse(os.path.exists(self.store.layer(BASE)))

    def test_damage(self):
        self.bring(Image(BASE), "one:1")
        digest = self.shown("one:1")["digest"][7:]
        with open(self.store.path("manifests", digest), "ab") as file:
            file.write(b"x")
        self.refused(self.store.msp("show", "one:1"), 78, "damaged: 'msp image remove' removes it")
        self.assertRegex(self.ok(self.store.msp("list")), "one:1 .* damaged")
        self.bring(Image(BASE), "one:1")
        self.assertEqual(self.shown("one:1")["names"], ["one:1"], "the import repairs it")
        with open(self.store.path("names", "one:1"), "wb") as file:
            file.write(b"rubbish")
        self.refused(self.store.msp("show", "one:1"), 78, "damaged")
        self.ok(self.store.msp("remove", "one:1"))
        self.assertFalse(os.path.exists(self.store.path("names", "one:1")))

    def test_one_command_at_a_time(self):
        self.bring(Image(BASE), "one:1")
        path = images_support.write_archive(os.path.join(self.store.folder, "two.tar"),
                                            Image(UPPER).oci("two:1"))
        with open(self.store.path("lock"), "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            with self.assertRaises(subprocess.TimeoutExpired) as late:
                self.store.msp("import", path, timeout=1)
            self.assertIn(b"another command changes the images", late.exception.stderr)
        self.ok(self.store.msp("import", path))


class Words(Case):
    def test_command_line(self):
        for words, says in (((), "import"), (("imprt",), "import"), (("import",), "FILE, DIR or -"),
                            (("import", "a", "b", "c"), "."), (("list", "x"), "no word"),
                            (("show",), "one image"), (("pull", "a", "b"), "reference"),
                            (("prune", "--json"), "for list and show"),
                            (("import", "x", "--disk=1K"), "from 1M to 1024T"),
                            (("import", "/no/such"), "/no/such cannot be read: .*ENOENT"),
                            (("import", "/dev/null", "Bad Name"), "'Bad Name': an image's name"),
                            (("pull", "--", "-x"), "'-x': an image's name"),
                            (("show", "sha256:xyz"), "4 to 64"),
                            (("remove", ".."), "names no image")):
            with self.subTest(words=words):
                self.refused(self.store.msp(*words), 64, says)

    def test_the_configuration_limits_the_disk(self):
        config = os.path.join(self.store.folder, "config.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write("images: {disk: 2M}\n")
        big, small = (Image(layer(entry("a", bytes(size << 20)), entry("b", "x"))).oci(f"{size}:1") for size in (3, 1))
        self.refused(self.store.import_files(big, "--config", config), 78,
                     "more than the 2 MiB that are left for images: .*images.disk of the configuration")
        self.refused(self.store.import_files(big, "--config", config, "--disk=4M"), 78,
                     "--disk allows more than the 2.0 MiB of the configuration: raise images.disk there")
        self.refused(self.store.import_files(small, "--config", config, "--disk=1M"), 78, "more than the 1 MiB")
        self.ok(self.store.import_files(small, "--config", config))
        self.refused(self.store.import_files(big, "--disk=30G"), 78, "more than the 20 GiB of the configuration")
        self.ok(self.store.import_files(big))

    def test_no_image(self):
        for name, data in (("empty", b""), ("text", b"hello\n" * 200), ("zeros", bytes(10240)),
                           ("tar", layer(entry("x", "x")))):
            path = os.path.join(self.store.folder, name)
            with open(path, "wb") as file:
                file.write(data)
            with self.subTest(name=name):
                self.refused(self.store.msp("import", path), 78, "this is no image: it must be")
        self.refused(self.store.msp("import", "/dev/zero"), 78, "it is a device, and must be a file")


SKOPEO = """#!/bin/sh
test -n "$FAIL" && { echo "skopeo: no such image" >&2; exit 1; }
printf '%s\\n' "$@" > "$WORDS"
echo "$DIGEST"
for last; do :; done
cp -r "$LAYOUT/." "${last#oci:}"
"""


class Pull(Case):
    def setUp(self):
        super().setUp()
        self.programs = os.path.join(self.store.folder, "bin")
        os.mkdir(self.programs)
        path = os.path.join(self.programs, "skopeo")
        with open(path, "w", encoding="utf-8") as file:
            file.write(SKOPEO)
        os.chmod(path, 0o755)
        self.said = os.path.join(self.store.folder, "words")
        self.files = Image(BASE, **CONFIG).oci()
        layouts = images_support.write_directory(os.path.join(self.store.folder, "l"), self.files)
        self.digest = json.loads(self.files["index.json"])["manifests"][0]["digest"]
        self.environment = {**os.environ, "MSP_STATE_DIR": self.store.state, "LAYOUT": layouts,
                            "DIGEST": self.digest, "WORDS": self.said, "PATH": self.programs + ":/usr/bin:/bin"}

    def pull(self, reference, **more):
        return self.store.msp("pull", reference, env={**self.environment, **more})

    def test_pull(self):
        self.assertEqual(self.ok(self.pull("docker.io/library/app:3")), "app:3\n")
        with open(self.said, encoding="utf-8") as file:
            words = file.read().splitlines()
        self.assertEqual(words[:-1], ["copy", "--quiet", "--digestfile=/dev/stdout", "--override-os=linux",
                                      "--override-arch=amd64", "docker://app:3"])
        self.assertEqual(self.shown("app:3")["cwd"], "/srv")
        self.assertEqual(os.listdir(self.store.path("incoming")), [])

    def test_pinned(self):
        pinned = "quay.example/app@sha256:" + "ab" * 32
        self.assertEqual(self.ok(self.pull(pinned)), pinned + "\n")
        self.assertEqual(self.shown(pinned)["names"], [pinned])

    def test_another_digest(self):
        """The digest that skopeo says is that of the manifest; else nothing comes in."""
        for said, says in (("sha256:" + "ab" * 32, "the image is [0-9a-f]{12}, and must be abababababab"),
                           (self.digest + "0", "has not said which digest"), (self.digest[:-1], "has not said"),
                           ("", "has not said"), ("x" * 500, "has not said")):
            with self.subTest(said=said):
                self.refused(self.pull("app:3", DIGEST=said), 78, says)
                self.assertEqual(self.ok(self.store.msp("-q", "list")), "")
        self.ok(self.pull("app:3"))

    def test_failures(self):
        self.refused(self.pull("app:3", FAIL="1"), 78, "skopeo: no such image")
        self.refused(self.pull("app:3", PATH="/nowhere"), 78, "apt-get install skopeo")
        self.assertEqual(self.shown_names(), "")
        blob = next(name for name in self.files if name.startswith("blobs") and
                    sha256(self.files[name]) == os.path.basename(name) and
                    self.files[name][:2] == b"\x1f\x8b")
        with open(os.path.join(self.environment["LAYOUT"], blob), "ab") as file:
            file.write(b"more")
        self.refused(self.pull("app:3"), 78, "its digest is sha256:.*changed or damaged")
        self.assertEqual(self.shown_names(), "")
        self.assertEqual(os.listdir(self.store.path("incoming")), [])

    def shown_names(self):
        return self.ok(self.store.msp("-q", "list"))


@unittest.skipUnless(shutil.which("docker-registry") and shutil.which("skopeo"),
                     "needs docker-registry and skopeo")
class Registry(Case):
    """skopeo itself, and a registry on the loopback."""

    def setUp(self):
        super().setUp()
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.host = f"127.0.0.1:{free.getsockname()[1]}"
        settings = os.path.join(self.store.folder, "registry.yml")
        with open(settings, "w", encoding="utf-8") as file:
            file.write(f"version: 0.1\nstorage: {{filesystem: {{rootdirectory: {self.store.folder}/r}}}}\n"
                       f"http: {{addr: {self.host}}}\n")
        self.registry = subprocess.Popen(["docker-registry", "serve", settings],
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(self.registry.wait)
        self.addCleanup(self.registry.kill)
        home = os.path.join(self.store.folder, "home")
        images_support.write_directory(home, {
            ".config/containers/registries.conf":
                f'[[registry]]\nlocation = "{self.host}"\ninsecure = true\n'.encode(),
            ".config/containers/policy.json": b'{"default": [{"type": "insecureAcceptAnything"}]}'})
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": home, "TMPDIR": self.store.folder,
                            "MSP_STATE_DIR": self.store.state}

    def push(self, image):
        folder = images_support.write_directory(tempfile.mkdtemp(dir=self.store.folder),
                                                image.oci("app:1"))
        words = ["skopeo", "copy", f"oci:{folder}:app:1", f"docker://{self.host}/app:1"]

        def is_pushed():
            return subprocess.run(words, env=self.environment, capture_output=True,
                                  check=False).returncode == 0

        self.assertTrue(support.wait_until(is_pushed, 20))

    def test_pull(self):
        self.push(Image(BASE, **CONFIG))
        name = f"{self.host}/app:1"
        self.assertEqual(self.ok(self.store.msp("pull", name, env=self.environment)), name + "\n")
        digest = self.shown(name)["digest"]
        self.assertTrue(os.path.isfile(self.store.layer(BASE, "etc", "name")))
        self.push(Image(UPPER))
        pinned = f"{self.host}/app@{digest}"
        self.ok(self.store.msp("pull", name, env=self.environment))
        self.ok(self.store.msp("pull", pinned, env=self.environment))
        self.assertEqual(self.shown(pinned)["digest"], digest)
        self.assertNotEqual(self.shown(name)["digest"], digest)
        self.refused(self.store.msp("pull", f"{self.host}/app@sha256:{'0' * 64}", env=self.environment),
                     78, "manifest unknown")


if __name__ == "__main__":
    unittest.main(verbosity=2)
