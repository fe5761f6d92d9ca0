#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of a persistent sandbox: through the tools and the resource, and by `msp cp`."""
import base64
import hashlib
import os
import re
import subprocess
import time
import unittest

import support
from persistent_support import PersistentCase, msp


class Tools(PersistentCase):
    def setUp(self):
        super().setUp()
        self.put("a.txt", "one\ntwo\n")
        self.put("run.sh", "#!/bin/sh\necho hi\n", 0o755)
        self.server = support.Server("--standalone", "--workspace", self.project)
        self.addCleanup(self.server.close)
        self.server.initialize()
        result = self.server.call("create_sandbox", 60, workspace=self.project, name="box")
        self.id = result["structuredContent"]["id"]

    def text(self, tool, **arguments):
        result = self.server.call(tool, 90, sandbox="box", **arguments)
        self.assertFalse(result["isError"], support.text_of(result))
        return support.text_of(result)

    def problem(self, tool, **arguments):
        result = self.server.call(tool, 90, sandbox="box", **arguments)
        self.assertTrue(result["isError"], support.text_of(result))
        self.assertEqual(len(support.text_of(result).splitlines()), 1)
        return support.text_of(result)

    def run_in(self, command):
        return self.text("run_command", command=command)

    def test_a_days_work(self):
        self.assertEqual(self.text("read_sandbox_file", path="a.txt"),
                         "1→one\n2→two\n[2 lines, all of it]")
        self.assertEqual(self.text("write_sandbox_file", path="src/deep/new.c", content="int x;\n"),
                         "src/deep/new.c: 7 bytes written · 7 bytes now")
        self.text("write_sandbox_file", path="src/deep/new.c", content="int y;\n", mode="append")
        self.text("write_sandbox_file", path="src/deep/new.c", old_text="int x;",
                  new_text="long x;")
        self.assertIn("long x;\nint y;\n", self.run_in("cat src/deep/new.c"))
        for old, says in ((";", "holds the old text 2 times"), ("none", "does not hold the old")):
            self.assertIn(says, self.problem("write_sandbox_file", path="src/deep/new.c",
                                             old_text=old, new_text="x"))
        self.assertIn("exists already", self.problem("write_sandbox_file", path="a.txt",
                                                     content="x", mode="create"))
        listed = self.text("list_sandbox_files", depth=9)
        self.assertEqual([line.split()[-1] for line in listed.splitlines()[:-1]],
                         ["a.txt", "run.sh", "src/", "src/deep/", "src/deep/new.c"])
        self.assertEqual(self.get("a.txt"), b"one\ntwo\n")
        self.assertFalse(os.path.exists(os.path.join(self.project, "src")))
        self.assertIn("src/deep/new.c", self.text("diff_changes"))

    def test_a_path_of_the_host_is_the_sandboxs(self):
        where = " · in the sandbox, not on the host"
        self.assertEqual(self.text("write_sandbox_file", path="/tmp/note", content="x"),
                         "/tmp/note: 1 byte written · 1 byte now" + where)
        self.assertEqual(self.text("write_sandbox_file", path="/tmp/note", old_text="x",
                                   new_text="yy"),
                         "/tmp/note: edited · 2 bytes now" + where)
        self.assertNotIn(where, self.text("write_sandbox_file", path="/workspace/note",
                                          content="x"))
        self.assertTrue(self.run_in("cat /tmp/note").startswith("yy"))

    def test_modes_stay(self):
        self.text("write_sandbox_file", path="run.sh", content="#!/bin/sh\necho new\n")
        self.text("write_sandbox_file", path="run.sh", old_text="new", new_text="newer")
        self.assertIn("newer\n[exit 0", self.run_in("./run.sh"))

    def test_every_byte(self):
        data = bytes(range(256)) * 100
        self.text("write_sandbox_file", path="b", encoding="base64",
                  content=base64.b64encode(data).decode())
        got, offset = b"", 0
        while True:
            text = self.text("read_sandbox_file", path="b", encoding="base64", offset=offset)
            lines = text.splitlines()
            got += base64.b64decode(lines[0])
            more = re.search(r"more: offset=(\d+)", lines[-1])
            if not more:
                break
            offset = int(more.group(1))
        self.assertEqual(got, data)

    def test_a_text_in_parts(self):
        text = "".join(f"line {number} äöü€\n" for number in range(3000))
        self.text("write_sandbox_file", path="t", content=text)
        for limit, size in ({}, 10000), ({"limit": 5000}, 51000):
            got, offset, calls = "", 1, 0
            while offset:
                *lines, last = self.text("read_sandbox_file", path="t", offset=offset,
                                         **limit).splitlines()
                self.assertLess(len("\n".join(lines).encode()), size)
                for number, line in enumerate(lines, offset):
                    self.assertTrue(line.startswith(f"{number}→"), line)
                    got += line.partition("→")[2] + "\n"
                more = re.search(r"^\[lines \d+ to \d+ of 3000 · more: offset=(\d+)\]$", last)
                offset = int(more.group(1)) if more else 0
                calls += 1
            self.assertEqual(got, text)
            self.assertEqual(calls, 9 if size < 50000 else 2)

    def test_lines_that_are_odd(self):
        self.run_in(r"printf 'a\r\nb\xff\n%05000d\nend' 7 > odd; : > empty")
        self.assertEqual(
            self.text("read_sandbox_file", path="odd"),
            "1→a\n2→b\\xff\n3→" + 2000 * "0" + " …[3000 more bytes]\n4→end\n[4 lines, all of it"
            " · 1 of these lines ends with \\r\\n · no line end at the end · not only text: "
            "encoding=base64 has the exact bytes · long lines are cut]")
        self.assertEqual(self.text("read_sandbox_file", path="empty"), "[empty file]")
        self.assertEqual(self.text("read_sandbox_file", path="odd", offset=4, limit=7),
                         "4→end\n[lines 4 to 4 of 4 · no line end at the end]")

    def test_images_and_other_binaries(self):
        for name, kind, head in (("png", "png", b"\x89PNG\r\n\x1a\n"), ("x", "gif", b"GIF89a"),
                                 ("jpg", "jpeg", b"\xff\xd8\xff\xe0"),
                                 ("web", "webp", b"RIFF\0\0\0\0WEBP")):
            for size in (100, 3750000) if kind == "png" else (100,):  # the most is one for all
                data = head + bytes(number % 251 for number in range(size - len(head)))
                self.put_in(name, data)
                result = self.server.call("read_sandbox_file", 90, sandbox="box", path=name)
                self.assertFalse(result["isError"])
                self.assertNotIn("structuredContent", result)
                image, text = result["content"]
                self.assertEqual((image["type"], image["mimeType"]), ("image", "image/" + kind))
                self.assertEqual(base64.b64decode(image["data"]), data)
                self.assertEqual(text["text"], f"{name}: image/{kind}, {size} bytes")
        self.put_in("png", b"\x89PNG\r\n\x1a\n" + bytes(3749993))
        self.assertRegex(self.text("read_sandbox_file", path="png"),
                         r"^\[png image, 3750001 bytes: too large to be shown .*, sha256 [0-9a-f]{64}")
        self.put_in("b", b"%PDF" + bytes(1000))
        self.assertEqual(
            self.text("read_sandbox_file", path="b"), "[pdf document, 1004 bytes, sha256 "
            + hashlib.sha256(b"%PDF" + bytes(1000)).hexdigest()
            + " · for its bytes: encoding=base64]")

    def put_in(self, name, data):
        self.text("write_sandbox_file", path=name, content=base64.b64encode(data).decode(),
                  encoding="base64")

    def test_pages_of_a_list(self):
        self.run_in("mkdir many; cd many; for i in $(seq -w 700); do : > file-$i; done")
        names, offset = [], 0
        while True:
            lines = self.text("list_sandbox_files", path="many", offset=offset).splitlines()
            names += [line.split()[-1] for line in lines[:-1]]
            more = re.search(r"more: offset=(\d+)", lines[-1])
            if not more:
                break
            offset = int(more.group(1))
        self.assertEqual(names, [f"file-{number:03}" for number in range(1, 701)])

    def test_ten_megabytes(self):
        content = "0123456789abcdef" * (9 << 16)
        self.text("write_sandbox_file", path="big", content=content)
        self.assertIn(f"{len(content)} big", self.run_in("stat -c '%s %n' big"))
        self.assertTrue(self.text("read_sandbox_file", path="big", offset=len(content) - 3,
                                  encoding="base64").startswith("ZGVm\n"))
        self.assertIn(f"…[{len(content) - 2000} more bytes]\n[1 line, all of it",
                      self.text("read_sandbox_file", path="big"))

    def test_no_room_changes_nothing(self):
        """/tmp is a file system with a limit."""
        self.text("write_sandbox_file", path="/tmp/old", content="old")
        self.run_in("head -c 100G /dev/zero > /tmp/full; true")
        for more in ({"content": "x" * 1000000}, {"content": "x" * 1000000, "mode": "append"},
                     {"old_text": "old", "new_text": "x" * 1000000}):
            self.assertIn("does not fit", self.problem("write_sandbox_file", path="/tmp/old",
                                                       **more))
        self.assertIn("does not fit", self.problem("write_sandbox_file", path="/tmp/new",
                                                   content="x" * 1000000))
        patch = ("*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** Add File: first/new\n+x\n"
                 "*** Delete File: run.sh\n*** {} File: /tmp/{}\n{}" + 1000000 * "x"
                 + "\n*** End Patch\n")
        for words in ("Update", "old", "@@\n-old\n+"), ("Add", "new", "+"):
            self.assertEqual(self.problem("patch_sandbox_files", patch=patch.format(*words)),
                             f"/tmp/{words[1]} does not fit: the sandbox's disk space is used up, "
                             "and nothing was changed. Remove files that are not needed.")
        self.assertEqual(self.text("read_sandbox_file", path="/tmp/old"),
                         "1→old\n[1 line, all of it · no line end at the end]")
        self.assertIn("\nfull\nold\na.txt\nrun.sh\n[exit 0",
                      "\n" + self.run_in("ls -A /tmp; ls -A"))
        self.assertTrue(self.run_in("rm /tmp/full; cat a.txt").startswith("one\n"))
        self.assertIn("[4 files changed]",
                      self.text("patch_sandbox_files", patch=patch.format(*words)), "the control")

    def test_the_resource(self):
        uri = f"sandbox://{self.id}/files/a.txt"
        content = self.server.request("resources/read", {"uri": uri})["contents"]
        self.assertEqual(content, [{"uri": uri, "mimeType": "text/plain", "text": "one\ntwo\n"}])
        self.run_in("mkdir 'd e'; printf '\\377\\376' > 'd e/b'")
        content, = self.server.request(
            "resources/read", {"uri": f"sandbox://{self.id}/files/d%20e/b"})["contents"]
        self.assertEqual((content["mimeType"], content["blob"]),
                         ("application/octet-stream", "//4="))
        templates = self.server.request("resources/templates/list")["resourceTemplates"]
        self.assertIn("sandbox://{id}/files/{+path}",
                      [entry["uriTemplate"] for entry in templates])
        listed = self.server.request("resources/list")["resources"]
        self.assertEqual([entry for entry in listed if "/files/" in entry["uri"]], [])

    def test_no_list_has_the_executions(self):
        self.text("read_sandbox_file", path="a.txt")
        entry, = self.server.call("list_sandboxes")["structuredContent"]["sandboxes"]
        self.assertEqual(entry["executions"], [])
        self.assertIn("-1", self.text("run_command", command="sleep 60", yield_ms=0))

    def test_cancelled_writes(self):
        """The file is the old one or the new one, whenever the client loses interest."""
        contents = {"x" * 2000000, "y" * 3000000}
        self.text("write_sandbox_file", path="w", content="x" * 2000000)
        for turn in range(10):
            number = self.server.post("tools/call", {
                "name": "write_sandbox_file", "arguments": {
                    "sandbox": "box", "path": "w",
                    "content": ("x" * 2000000, "y" * 3000000)[turn % 2]}})
            time.sleep(turn * 0.004)
            self.server.notify("notifications/cancelled", {"requestId": number})
            size = int(re.search(r"\d+", self.run_in("stat -c %s w")).group())
            self.assertIn(size, {len(content) for content in contents})

    def test_while_others_run(self):
        self.text("run_command", command="sleep 600", yield_ms=0)
        self.assertIn("two\n", self.text("read_sandbox_file", path="a.txt"))
        self.text("write_sandbox_file", path="b", content="beside")
        self.assertIn("beside", self.run_in("cat b"))

    def test_line_ends(self):
        """Both tools keep them, and a diff shows them."""
        for name in ("edited", "patched"):
            self.put(name, b"alpha\r\nbeta\r\ngamma\r\n")
        self.text("write_sandbox_file", path="edited", old_text="alpha\nbeta",
                  new_text="alpha\nbeta\nmore")
        self.text("patch_sandbox_files", patch="*** Begin Patch\n*** Update File: patched\n@@\n-beta\n"
                                               "+beta\n+more\n*** End Patch")
        self.text("write_sandbox_file", path="a.txt", old_text="two", new_text="two\r")
        self.assertEqual(self.run_in("cmp edited patched && od -An -c edited | tr -d ' \\n'").splitlines()[0],
                         "alpha\\r\\nbeta\\r\\nmore\\r\\ngamma\\r\\n")
        shown = self.text("diff_changes")
        for line in ("+more\\r", " gamma\\r", "-two", "+two\\r"):
            self.assertIn(f"\n{line}\n", shown)

    def test_a_patch(self):
        patch = ("*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+2\n"
                 "*** Add File: src/new\n+fresh\n*** Update File: run.sh\n*** Move to: bin/run\n"
                 "@@\n-echo hi\n+echo moved\n*** End Patch\n")
        self.assertEqual(self.text("patch_sandbox_files", patch=patch),
                         "M a.txt +1 -1\nA src/new +1 -0\nR run.sh -> bin/run +1 -1\n"
                         "[3 files changed]")
        self.assertIn("one\n2\nfresh\nmoved\n[exit 0",
                      self.run_in("cat a.txt src/new; bin/run; ls -A | grep -F .msp-; true"))
        self.assertEqual(self.get("a.txt"), b"one\ntwo\n", "the project is as it was")
        self.assertIn("bin/run", self.text("diff_changes"))
        self.assertEqual(
            self.text("patch_sandbox_files",
                      patch="--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+1\n 2\n"),
            "M a.txt +1 -1\n[1 file changed]")

    def test_a_patch_that_does_not_fit_changes_nothing(self):
        patch = ("*** Begin Patch\n*** Add File: new\n+x\n*** Delete File: run.sh\n"
                 "*** Update File: a.txt\n@@\n one\n-too\n+2\n*** End Patch\n")
        result = self.server.call("patch_sandbox_files", 90, sandbox="box", patch=patch)
        self.assertEqual((result["isError"], support.text_of(result)),
                         (True, "Nothing was changed. a.txt: hunk 1 (line 6 of the patch) does not "
                                "fit.\nlooked for: too\nnearest:    line 2 (1 line of the hunk "
                                "fits there): two"))
        self.assertIn("a.txt\nrun.sh\n[exit 0", self.run_in("ls -A"))
        self.assertEqual(
            self.problem("patch_sandbox_files", patch=patch.replace("run.sh", "/etc/shadow")),
            "Nothing was changed. /etc/shadow does not exist: list its directory to see what there "
            "is.")
        self.assertIn("this is no patch", self.problem("patch_sandbox_files", patch="hello"))


class Copies(PersistentCase):
    def setUp(self):
        super().setUp()
        self.put("a", "one\n")
        self.id = self.create("--name", "box")
        self.here = os.path.dirname(self.project)

    def cp(self, *words, code=0, **keywords):
        return msp("cp", *words, code=code, cwd=self.here, **keywords)

    def local(self, name, data=None, mode=0o644):
        """A path on this machine, with that content."""
        path = os.path.join(self.here, name)
        if data is not None:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(data)
            os.chmod(path, mode)
        return path

    def content(self, name):
        with open(self.local(name), "rb") as file:
            return file.read()

    def test_out(self):
        self.cp("box:a", "out")
        self.assertEqual(self.content("out"), b"one\n")
        os.mkdir(self.local("folder"))
        self.cp(f"{self.id[:8]}:/workspace/a", "folder")
        self.assertEqual(self.content("folder/a"), b"one\n")
        self.assertEqual(self.cp("box:a", "-").stdout, "one\n")
        self.sh("box", "echo changed > a; chmod 750 a")
        self.cp("box:a", "out")
        self.assertEqual(self.content("out"), b"changed\n")
        self.assertEqual(os.stat(self.local("out")).st_mode & 0o777, 0o750)
        self.assertEqual(self.get("a"), b"one\n")

    def test_in(self):
        self.local("run", b"#!/bin/sh\necho hi\n", 0o755)
        self.cp("run", "box:")
        self.assertEqual(self.sh("box", "./run"), "hi\n")
        self.local("run", b"#!/bin/sh\necho ho\n", 0o600)
        self.cp("run", "box:/workspace/run")
        self.assertEqual(self.sh("box", "./run"), "ho\n", "it keeps its mode")
        self.cp("-", "box:deep/er/x", input="from a pipe")
        self.assertEqual(self.sh("box", "cat deep/er/x"), "from a pipe")
        self.cp("./run", "box:/home/agent")
        self.assertEqual(self.sh("box", "stat -c %a ~/run"), "600\n")

    def test_megabytes_both_ways(self):
        data = os.urandom(40 << 20)
        self.local("big", data)
        self.cp("big", "box:big")
        self.cp("box:big", "back")
        self.assertEqual(self.content("back"), data)
        self.local("none", b"")
        self.cp("none", "box:none")
        self.cp("box:none", "none2")
        self.assertEqual(self.content("none2"), b"")

    def test_directories(self):
        names = {"d/a": b"1", "d/e/f/g": b"22", "d/sp ace": b"3", "d/new\nline": b"4",
                 os.fsdecode(b"d/\xff\xfe"): b"5", "d/run": b"#!/bin/sh\n"}
        for name, data in names.items():
            self.local(name, data, 0o755 if name == "d/run" else 0o644)
        os.mkdir(self.local("d/empty"))
        self.cp("-r", "d", "box:")
        self.cp("-r", "box:d", "back")
        self.assertEqual(self.tree(self.local("back")), self.tree(self.local("d")))
        os.mkdir(self.local("into"))
        self.cp("-r", "box:d", "into")
        self.assertEqual(self.tree(self.local("into/d")), self.tree(self.local("d")))
        self.cp("-r", "d", "box:elsewhere")
        self.assertEqual(self.sh("box", "diff -r d elsewhere"), "")

    def test_what_is_left_out(self):
        self.local("d/a", b"1")
        os.symlink("a", self.local("d/link"))
        os.mkfifo(self.local("d/fifo"))
        result = self.cp("-r", "d", "box:", code=1)
        self.assertRegex(result.stderr, r"\Amsp: cp: left out: d/fifo: it is no regular file\n"
                                        r"msp: cp: left out: d/link: it is a symbolic link\n\Z")
        self.assertEqual(self.sh("box", "ls d"), "a\n")

    def refused(self, *words, code, says):
        result = self.cp(*words, code=code)
        self.assertRegex(result.stderr, rf"\Amsp: cp: [^\n]*{says}[^\n]*\n\Z")

    def test_problems(self):
        self.local("x", b"x")
        self.refused("box:none", "y", code=1, says="box:none does not exist")
        self.refused("none", "box:y", code=1, says="none: No such file")
        self.refused("nobox:a", "y", code=64, says="no sandbox 'nobox'")
        self.refused("x", "y", code=64, says="one of the two must be SANDBOX:PATH")
        self.refused("box:a", "box:b", code=64, says="one of the two must be SANDBOX:PATH")
        self.refused("./a:b", "y", code=64, says="one of the two")
        self.refused("x", code=64, says="two words are needed")
        self.refused("-r", "box:a", "-", code=64, says="leave -r out")
        self.refused("project", "box:y", code=1, says="copy it with -r")
        self.refused("box:/", "y", code=1, says="is a directory: copy it with -r")
        self.refused("x", "box:/usr/x", code=1, says="box:/usr/x is ")
        self.refused("box:a", "none/x", code=1, says="No such file")
        self.refused("box:a", "x/y", code=1, says="Not a directory")
        self.assertEqual(self.content("x"), b"x")
        self.assertEqual([name for name in os.listdir(self.here) if name.startswith(".msp")], [])

    def test_interrupted(self):
        """An input that goes on is not there until its end."""
        process = subprocess.Popen([support.MSP, "cp", *support.limits(), "-", "box:a"],
                                   stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdin.write(b"x" * 300000)
        process.stdin.flush()
        time.sleep(0.5)
        process.terminate()
        self.assertEqual(process.wait(30), 128 + 15)
        process.stdin.close()
        process.stderr.close()
        self.assertEqual(self.cp("box:a", "-").stdout, "one\n")
        left = msp("exec", "box", "--", "ls", "-A").stdout
        self.assertNotIn(".msp-", left, "it had no name yet")


if __name__ == "__main__":
    unittest.main()
