#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`msp apply --conflict=merge`: files that host and sandbox have both changed, with git merge-file as
the judge of each result; what is never merged; and the way back."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

from persistent_support import PersistentCase, git, msp

LINES = "".join(f"line {number}\n" for number in range(1, 13))


def changed(*edits, text=LINES):
    """The lines with some replaced: (number, new text)."""
    lines = text.splitlines(keepends=True)
    for number, new in edits:
        lines[number - 1] = new
    return "".join(lines)


# name: base, host, sandbox
CASES = {
    "apart": (LINES, changed((2, "HOST\n")), changed((9, "BOX\n"))),
    "same": (LINES, changed((3, "BOTH\n")), changed((3, "BOTH\n"), (10, "BOX\n"))),
    "added": (LINES, "first\n" + LINES, LINES + "last\n"),
    "removed": (LINES, changed((2, "")), changed((11, ""))),
    "adjacent": (LINES, changed((5, "HOST\n")), changed((6, "BOX\n"))),
    "no-end": (LINES, changed((1, "HOST\n")), LINES[:-1]),
    "no-end-both": (LINES[:-1], changed((1, "HOST\n"))[:-1], changed((6, "BOX\n"))[:-1]),
    "crlf": (LINES.replace("\n", "\r\n"), changed((2, "HOST\n")).replace("\n", "\r\n"),
             changed((9, "BOX\n")).replace("\n", "\r\n")),
    "clash": (LINES, changed((5, "HOST\n")), changed((5, "BOX\n"))),
    "clash-twice": (LINES, changed((2, "HOST\n"), (10, "HOST 2\n")),
                    changed((2, "BOX\n"), (10, "BOX 2\n"))),
    "clash-part": (LINES, changed((5, "HOST\n"), (6, "both\n")),
                   changed((5, "BOX\n"), (6, "both\n"), (12, "BOX end\n"))),
    "clash-end": (LINES, LINES + "HOST", LINES + "BOX\n"),
    "clash-blank": (LINES, changed((4, "h\n"), (6, "h\n")), changed((4, "b\n"), (6, "b\n"))),
    "emptied": (LINES, changed((5, "HOST\n")), ""),
    "from-empty": ("", "host\n", "box\n"),
    "latin": ("gr\xfc\xdfe\n" + LINES, "GR\xdc\xdfE\n" + LINES, "gr\xfc\xdfe\n" + LINES + "\xe9\n"),
}


def merge_file(base, host, sandbox):
    """(the result, whether it has markers) of git merge-file."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("base", base), ("host", host), ("box", sandbox)):
            with open(os.path.join(folder, name), "wb") as file:
                file.write(text.encode("latin-1"))
        done = subprocess.run(["git", "-c", "merge.conflictStyle=merge", "merge-file", "-p",
                               "-L", "this machine", "-L", "base", "-L", "sandbox",
                               "host", "base", "box"], cwd=folder, capture_output=True, check=False)
        if done.returncode < 0 or done.returncode > 127:
            raise AssertionError(done.stderr)
        return done.stdout, done.returncode > 0


@unittest.skipUnless(shutil.which("git"), "git is not installed")
class Case(PersistentCase):
    def begin(self, files):
        for path, text in files.items():
            self.put(path, text.encode("latin-1") if isinstance(text, str) else text)
        git(self.project, "init", "-q")
        git(self.project, "add", "-A")
        git(self.project, "commit", "-qm", "base")
        self.box = self.create()

    def inside(self, path, text):
        data = text.encode("latin-1") if isinstance(text, str) else text
        folder = os.path.dirname(path)
        self.sh(self.box, (f"mkdir -p '{folder}'; " if folder else "") +
                f"printf '%b' '{''.join(f'{chr(92)}x{byte:02x}' for byte in data)}' > '{path}'")

    def preview(self, *options):
        """{path: record}"""
        done = msp("apply", self.box, "--preview", "--json", "--conflict=merge", *options, code=None)
        return {record["path"]: record for record in json.loads(done.stdout)["changes"]}


class Results(Case):
    def test_like_git_merge_file(self):
        self.begin({f"d/{name}": base for name, (base, _, _) in CASES.items()})
        script = []
        for name, (_, _, sandbox) in CASES.items():
            with open(os.path.join(self.project, "..", name), "wb") as file:
                file.write(sandbox.encode("latin-1"))
            script.append(name)
        for name in script:
            with open(os.path.join(self.project, "..", name), "rb") as file:
                data = file.read()
            self.sh(self.box, f"cat > d/{name}", input=data.decode("latin-1").encode("latin-1"),
                    text=False)
        for name, (_, host, _) in CASES.items():
            self.put(f"d/{name}", host.encode("latin-1"))
        before = self.tree()
        results = {name: merge_file(*case) for name, case in CASES.items()}
        clashes = {name for name, (_, has_markers) in results.items() if has_markers}
        self.assertTrue(clashes and clashes != set(CASES))

        refused = msp("apply", self.box, "--conflict=merge", code=1)
        self.assertIn(f"{len(clashes)} changes cannot be merged", refused.stderr)
        self.assertEqual(self.tree(), before)
        for name, record in self.preview().items():
            with self.subTest(case=name):
                self.assertEqual(record.get("unmerged"),
                                 "same lines" if name[2:] in clashes else None)

        done = msp("apply", self.box, "--conflict=merge", "--markers", code=1)
        self.assertIn(f"{len(CASES)} applied, {len(CASES)} of them merged, {len(clashes)} with conflict",
                      done.stdout)
        for name, (content, has_markers) in results.items():
            with self.subTest(case=name):
                self.assertEqual(self.get(f"d/{name}"), content)
                self.assertEqual(f"conflict markers: d/{name} " in done.stderr, has_markers)
        msp("undo", self.box)
        self.assertEqual(self.tree(), before)

    def test_without_clash_all_is_applied(self):
        self.begin({"a": LINES, "b": LINES, "c": "c\n"})
        self.inside("a", changed((9, "BOX\n")))
        self.inside("c", "C\n")
        self.put("a", changed((2, "HOST\n")))
        before = self.tree()
        self.assertTrue(self.preview()["a"]["merged"])
        done = msp("apply", self.box, "--conflict=merge")
        self.assertIn("M  a  (merged with this machine's changes)\nM  c\n2 applied, 1 of them merged",
                      done.stdout)
        self.assertEqual(self.get("a").decode(), changed((2, "HOST\n"), (9, "BOX\n")))
        self.assertEqual(self.get("c"), b"C\n")
        self.assertEqual(self.changes(self.box), {})
        msp("undo", self.box)
        self.assertEqual(self.tree(), before)
        self.assertTrue(self.preview()["a"]["merged"], "it is in conflict again")


class Bases(Case):
    def test_the_host_has_committed_since(self):
        self.begin({"a/b/file": LINES})
        self.inside("a/b/file", changed((9, "BOX\n")))
        for number in range(3):
            self.put("a/b/file", changed((2, f"HOST {number}\n")))
            git(self.project, "commit", "-qam", f"host {number}")
        git(self.project, "gc", "-q")
        git(self.project, "pack-refs", "--all")
        msp("apply", self.box, "--conflict=merge")
        self.assertEqual(self.get("a/b/file").decode(), changed((2, "HOST 2\n"), (9, "BOX\n")))

    def test_what_was_never_committed_is_refused(self):
        self.begin({"file": LINES})
        self.put("file", LINES + "not committed\n")
        self.box = self.create()
        self.inside("file", LINES + "not committed\nBOX\n")
        self.put("file", "HOST\n" + LINES + "not committed\n")
        done = msp("apply", self.box, "--conflict=merge", "--markers", code=1)
        self.assertRegex(done.stdout, r"M  file  \(conflict: [^\n]*not merged: no commit here has")
        self.assertIn("choose a side", done.stdout)
        self.assertIn("nothing was applied: 1 change cannot be merged", done.stderr)
        self.assertEqual(self.preview()["file"]["unmerged"], "no base")

    def test_a_project_without_git(self):
        self.put("file", LINES)
        self.box = self.create()
        self.inside("file", LINES + "BOX\n")
        self.put("file", "HOST\n" + LINES)
        self.assertEqual(self.preview()["file"]["unmerged"], "no base")

    def test_after_a_merge_the_sandboxs_version_is_the_base(self):
        self.begin({"file": LINES})
        self.inside("file", changed((9, "BOX\n")))
        self.put("file", changed((2, "HOST\n")))
        msp("apply", self.box, "--conflict=merge")
        merged = changed((2, "HOST\n"), (9, "BOX\n"))
        self.put("file", merged + "more\n")  # in its place
        self.assertEqual(self.changes(self.box), {})
        os.rename(os.path.join(self.project, "file"), os.path.join(self.project, "other"))
        self.put("file", merged)
        os.unlink(os.path.join(self.project, "other"))
        self.assertTrue(self.preview()["file"]["merged"])
        msp("apply", self.box, "--conflict=merge")
        self.assertEqual(self.get("file").decode(), merged, "the host's changes are lost")
        # The host's merged file has no conflict with a sandbox that goes on, if that commits.
        self.sh(self.box, "git -c user.name=a -c user.email=a@example.org commit -qam box")
        self.inside("file", changed((9, "BOX\n"), (12, "BOX 2\n")))
        msp("apply", self.box, "--conflict=refuse", "file", code=1)
        msp("apply", self.box, "--conflict=merge", "file")
        self.assertEqual(self.get("file").decode(),
                         changed((2, "HOST\n"), (9, "BOX\n"), (12, "BOX 2\n")))


class Refused(Case):
    def test_each_kind(self):
        large = "x" * (4 << 20) + "\n"
        files = {"binary": b"a\0b\n", "large": large, "deleted": LINES, "gone": LINES, "mode": LINES,
                 "link": LINES, "Makefile": LINES, ".bashrc": LINES, "good": LINES,
                 "was-binary": b"a\0b\n"}
        self.begin(files)
        self.sh(self.box, "for name in large mode Makefile .bashrc good; do echo box >> $name; done;"
                "printf 'a\\0b\\nbox\\n' > binary; rm deleted; echo box >> gone; chmod +x mode;"
                "ln -sf good link; echo box > new; echo box > was-binary")
        self.put("binary", b"host\na\0b\n")
        self.put("was-binary", "host\n")
        self.put("large", "host\n" + large)
        for name in ("deleted", "mode", "link", ".bashrc", "good"):
            self.put(name, "host\n" + LINES)
        self.put("new", "host\n")
        os.unlink(os.path.join(self.project, "gone"))
        before = self.tree()
        done = msp("apply", self.box, "--conflict=merge", "--markers", "--held", code=1)
        self.assertEqual(self.tree(), before)
        self.assertIn("9 changes cannot be merged", done.stderr)
        self.assertIn("M  good  (merged with this machine's changes)", done.stdout)
        self.assertIn("4 MiB", done.stdout)
        self.assertEqual({path: record.get("unmerged") for path, record in
                          self.preview("--held").items()},
                         {"binary": "binary", "was-binary": "binary", "large": "large",
                          "deleted": "kind", "gone": "kind", "mode": "permissions", "link": "kind",
                          ".bashrc": "held", "new": "no base", "good": None, "Makefile": None})

    def test_markers_alone(self):
        self.begin({"file": LINES})
        done = msp("apply", self.box, "--markers", code=64)
        self.assertIn("--markers needs --conflict=merge", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
