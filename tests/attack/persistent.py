#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A hostile workload in a persistent sandbox: what it leaves in its layers is looked at, shown and
brought to the host by others. Each attack has its control beside it: the same way with what is
harmless works, so that a refusal is known to be about the attack."""
import os
import re
import shutil
import stat
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "integration"))
import support  # noqa: E402  (a folder of its own)
from persistent_support import PersistentCase, git, msp  # noqa: E402

# What a host may execute by itself, as a project or an editor would have it.
HELD = (".envrc", ".github/workflows/ci.yml",
        ".gitlab-ci.yml", ".vscode/tasks.json", ".idea/workspace.xml", ".cursor/mcp.json",
        ".claude/settings.json", ".mcp.json", ".bashrc", ".profile", ".husky/pre-commit",
        ".pre-commit-config.yaml", ".npmrc", "nested/deeper/.envrc")


class Case(PersistentCase):
    def setUp(self):
        super().setUp()
        self.put("plain", "plain\n")
        self.id = self.create()

    def apply(self, *arguments, code=0):
        return msp("apply", self.id, *arguments, code=code)

    def outside(self, name):
        """A path on the host beside the project."""
        return os.path.join(os.path.dirname(self.project), name)


class Beside(Case):
    """What runs in a sandbox beside another execution, which a process may have waited for."""

    # Notes every process that there is, and whether its environment can be read, until told.
    WATCH = """
sleep 300 &
until [ -e stop ]; do
  for folder in /proc/[0-9]*; do
    read -r name < $folder/comm &&
      echo "${folder#/proc/} $name $(head -c 1 $folder/environ | wc -c)"
  done
  sleep 0.005
done 2>/dev/null | sort -u > seen
kill $!
"""

    def test_nobody_sees_one_that_waits(self):
        """The control: its own child is seen, and can be looked into."""
        with support.Server("--workspace", self.project, env=dict(os.environ)) as server:
            server.initialize()
            for _ in range(3):
                self.assertFalse(server.call("run_command", sandbox=self.id,
                                             command="true")["isError"])
                time.sleep(0.02)
            server.call("run_command", sandbox=self.id, command=self.WATCH, yield_ms=0)
            for _ in range(8):
                server.call("run_command", sandbox=self.id, argv=["sleep", "0.05"])
                time.sleep(0.02)
            seen = support.text_of(server.call(
                "run_command", sandbox=self.id, timeout_ms=30000,
                command="touch stop; until [ -s seen ]; do sleep 0.1; done; cat seen"))
        looks = [line.split() for line in seen.splitlines() if re.match(r"\d+ \S+ [01]$", line)]
        self.assertIn(["sleep", "1"], [look[1:] for look in looks], seen)
        self.assertFalse([look for look in looks if re.search("child|init|memfd", look[1])], seen)


class History(Case):
    """A workload can neither read nor change the commands that its sandbox remembers."""

    # 0: found by its path, by its name or by a word of an older command, and then changed.
    LOOK = """
grep -q foreseen-word "$1" 2>/dev/null && echo x >> "$1" && exit 0
find / -xdev -name history -o -name history.old 2>/dev/null | grep . && exit 0
for file in . .. ../.. /proc/self/cwd/.. /proc/1/cwd/..; do
  [ -e "$file/history" ] && exit 0
done
exit 9
"""

    def test_nobody_inside_reaches_it(self):
        """The control: the same script finds and changes it on the host."""
        path = os.path.join(self.state, "sandboxes", self.id, "history")
        msp("exec", self.id, "--", "true", "foreseen-word")
        self.assertTrue(support.wait_until(lambda: os.path.exists(path), 60))
        with open(path, "rb") as file:
            before = file.read()
        self.assertIn(b"foreseen-word", before)
        msp("exec", self.id, "--", "sh", "-c", self.LOOK, "sh", path, code=9)
        self.assertTrue(support.wait_until(lambda: os.stat(path).st_size > len(before), 60))
        with open(path, "rb") as file:
            after = file.read()
        self.assertTrue(after.startswith(before))
        self.assertEqual(len(after), 2 * len(before), "a note for its own command, no more")
        control = subprocess.run(["sh", "-c", self.LOOK, "sh", path], check=False)
        self.assertEqual(control.returncode, 0)
        self.assertEqual(os.stat(path).st_size, len(after) + len("x\n"))

    def test_nobody_inside_reaches_a_background_command(self):
        """Nor what it has written, nor how it ended. The control is the one above."""
        one = msp("exec", "-d", self.id, "--", "echo", "foreseen-word").stdout.strip()
        msp("wait", one)
        folder = os.path.join(self.state, "sandboxes", self.id, "commands", one)
        for name in ("note", "output.0"):
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                before = file.read()
            self.assertIn(b"foreseen-word", before)
            look = self.LOOK.replace("history.old", one).replace("history", name)
            msp("exec", self.id, "--", "sh", "-c", look, "sh", path, code=9)
            with open(path, "rb") as file:
                self.assertEqual(file.read(), before)
            control = subprocess.run(["sh", "-c", look, "sh", path], check=False)
            self.assertEqual(control.returncode, 0)


class Held(Case):
    """T18: names that the host executes by itself, by every way to make one."""

    def assert_held(self, *names):
        result = self.apply(code=None)
        for name in names:
            self.assertFalse(os.path.lexists(os.path.join(self.project, name)), name)
            self.assertIn(name, result.stdout + result.stderr)
        self.assertEqual(self.get("control"), b"control\n")
        self.apply("--held", code=0)
        for name in names:
            self.assertTrue(os.path.lexists(os.path.join(self.project, name)),
                            f"the word of the operator does not bring {name}")

    def test_created(self):
        self.sh(self.id, "cd /workspace; echo control > control; " + "; ".join(
            f"mkdir -p $(dirname {name}); echo evil > {name}" for name in HELD))
        self.assert_held(*HELD)

    def test_renamed_into_place(self):
        self.sh(self.id, "cd /workspace; echo control > control; echo evil > x; mv x .envrc; "
                "mkdir y; echo evil > y/pre-push; mv y .husky")
        self.assert_held(".envrc", ".husky/pre-push")

    def test_linked(self):
        self.sh(self.id, "cd /workspace; echo control > control; echo evil > x; ln x .envrc; "
                "ln -s x .bashrc; mkdir d; ln -s d .husky")
        self.assert_held(".envrc", ".bashrc", ".husky")

    def test_a_file_that_is_linked_to_later(self):
        """A name that is harmless, and a symbolic link of a held name that leads to it."""
        self.put("innocent", "echo fine\n")
        self.sh(self.id, "cd /workspace; echo control > control; ln -s innocent .profile")
        self.assert_held(".profile")

    def test_case_is_folded(self):
        self.sh(self.id, "cd /workspace; echo control > control; mkdir -p .Husky .Vscode; "
                "echo evil > .Husky/pre-push; echo evil > .ENVRC; echo evil > .Vscode/TASKS.json")
        self.assert_held(".Husky/pre-push", ".ENVRC", ".Vscode/TASKS.json")

    @unittest.skipUnless(shutil.which("git"), "git is not installed")
    def test_changes_of_what_is_there(self):
        git(self.project, "init", "-q")
        before = self.get(".git/config")
        self.sh(self.id, "cd /workspace; echo control > control; "
                "printf '[core]\\n\\tfsmonitor = touch /tmp/evil\\n' >> .git/config")
        self.apply(code=None)
        self.assertEqual(self.get(".git/config"), before)
        self.assertEqual(self.get("control"), b"control\n")


class Stripped(Case):
    """T10: what would give somebody rights on the host."""

    def layer(self, name):
        """Where the layer has the workspace's file."""
        path, = (os.path.join(folder, name) for folder, _, files in os.walk(self.state)
                 if name in files and os.path.basename(folder) == "workspace")
        return path

    def test_modes(self):
        """The filter refuses such modes; what if a layer had one all the same?"""
        self.sh(self.id, "cd /workspace; cp /bin/true evil; mkdir d; chmod 1777 d; chmod 755 evil; "
                "! chmod 6755 evil")
        os.chmod(self.layer("evil"), 0o6755)
        self.apply(code=None)
        for name, most in (("evil", 0o755), ("d", 0o777)):
            mode = stat.S_IMODE(os.lstat(os.path.join(self.project, name)).st_mode)
            self.assertEqual(mode & ~most, 0, f"{name}: {mode:o}")
        self.assertTrue(os.access(os.path.join(self.project, "evil"), os.X_OK), "the control")

    def test_extended_attributes(self):
        self.sh(self.id, "cd /workspace; cp plain copy; python3 -c 'import os; "
                "os.setxattr(\"copy\", \"user.note\", b\"x\")'")
        layer = self.layer("copy")
        os.setxattr(layer, "user.overlay.note", b"y")  # overlayfs lets no workload do that
        self.assertEqual({name: os.getxattr(layer, name) for name in ("user.note", "user.overlay.note")},
                         {"user.note": b"x", "user.overlay.note": b"y"}, "the control")
        self.apply()
        self.assertEqual([name for name in os.listxattr(os.path.join(self.project, "copy"))
                          if name.startswith("user.") or name == "security.capability"], [])
        self.assertEqual(self.get("copy"), b"plain\n")

    def test_what_is_no_file(self):
        self.sh(self.id, "cd /workspace; mkfifo fifo; echo control > control; "
                "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'")
        self.apply(code=None)
        self.assertFalse(os.path.lexists(os.path.join(self.project, "fifo")))
        self.assertFalse(os.path.lexists(os.path.join(self.project, "sock")))
        self.assertEqual(self.get("control"), b"control\n")

    def test_whiteouts_stay_inside(self):
        self.put("gone", "x")
        self.sh(self.id, "cd /workspace; rm gone plain; echo again > plain")
        self.apply()
        self.assertFalse(os.path.lexists(os.path.join(self.project, "gone")))
        self.assertEqual(self.get("plain"), b"again\n")
        for name in os.listdir(self.project):
            self.assertFalse(stat.S_ISCHR(os.lstat(os.path.join(self.project, name)).st_mode))


class Links(Case):
    """T20: links that lead out, at every place where somebody follows a path."""

    def setUp(self):
        super().setUp()
        self.victim = self.outside("victim")
        os.mkdir(self.victim)
        with open(self.victim + "/file", "w", encoding="ascii") as file:
            file.write("the host's\n")

    def assert_untouched(self):
        self.assertEqual(os.listdir(self.victim), ["file"])
        with open(self.victim + "/file", encoding="ascii") as file:
            self.assertEqual(file.read(), "the host's\n")

    def test_a_parent_becomes_a_link_on_the_host(self):
        """Between the diff and the apply somebody puts a link where a folder was."""
        self.put("folder/file", "old\n")
        self.sh(self.id, "cd /workspace; echo new > folder/file; echo new > folder/added")
        shutil.rmtree(os.path.join(self.project, "folder"))
        os.symlink(self.victim, os.path.join(self.project, "folder"))
        self.apply("--conflict=sandbox", code=None)
        self.assert_untouched()

    def test_a_parent_becomes_a_link_in_the_sandbox(self):
        self.put("folder/file", "old\n")
        self.sh(self.id, f"cd /workspace; rm -r folder; ln -s {self.victim} folder; "
                "mkdir real; echo new > real/file")
        self.apply("--held")
        self.assert_untouched()
        self.assertEqual(os.readlink(os.path.join(self.project, "folder")), self.victim)
        self.assertEqual(self.get("real/file"), b"new\n")

    @unittest.skipUnless(support.has_patches(), "another libgit2")
    def test_a_link_is_shown_not_followed(self):
        self.sh(self.id, f"cd /workspace; ln -s {self.victim}/file link; ln -s /etc/passwd p")
        text = msp("diff", self.id).stdout
        self.assertNotIn("the host's", text)
        self.assertNotIn("root:", text)
        self.assertIn("link", text)

    def test_what_was_listed_is_swapped_while_it_is_read(self):
        """A folder and a link to the host's change places all the time."""
        self.sh(self.id, "cd /workspace; mkdir -p a; for i in $(seq 200); do echo $i > a/$i; done")
        stop = threading.Event()
        path = os.path.join(self.project, "a")

        def swap():
            while not stop.is_set():
                try:
                    os.symlink(self.victim, path)
                    os.unlink(path)
                except OSError:
                    time.sleep(0.0001)
        swapper = threading.Thread(target=swap)
        swapper.start()
        try:
            for _ in range(5):
                self.apply("--conflict=sandbox", code=None)
        finally:
            stop.set()
            swapper.join()
        self.assert_untouched()

    @unittest.skipUnless(support.has_patches(), "another libgit2")
    def test_a_sparse_terabyte(self):
        self.sh(self.id, "cd /workspace; truncate -s 100G big 2>/dev/null || truncate -s 500M big; "
                "echo control > control")
        start = time.monotonic()
        msp("diff", self.id, timeout=60)
        self.assertLess(time.monotonic() - start, 60)


class Overlay(Case):
    """T9: what the file system itself is made of has no name inside."""

    def test_layers_cannot_be_named(self):
        text = self.sh(self.id, "cat /proc/self/mountinfo; "
                       "ls -d /host /base 2>&1 || true")
        self.assertNotIn(self.state, text)
        self.assertNotIn(self.project, text)
        self.assertIn(" /workspace ", text, "the control: it is listed")

    def test_state_cannot_be_reached(self):
        text = self.sh(self.id, f"ls {self.state} 2>&1 || true; "
                       "find / -xdev -name meta 2>/dev/null | grep sandboxes || true")
        self.assertNotIn(self.id, text)
        self.assertIn("No such file", text)

    def test_marks_of_the_overlay_cannot_be_set(self):
        """A workload that could set them would make files of the host vanish, or redirect."""
        self.put("folder/inner", "x\n")
        self.sh(self.id, "cd /workspace; mkdir -p folder; python3 -c '\n"
                "import os\n"
                "for name in (\"user.overlay.opaque\", \"user.overlay.redirect\","
                " \"user.overlay.whiteout\", \"user.overlay.metacopy\"):\n"
                "    try: os.setxattr(\"folder\", name, b\"y\")\n"
                "    except OSError as error: print(name, error)\n'")
        text = self.sh(self.id, "cat /workspace/folder/inner")
        self.assertEqual(text, "x\n")
        self.assertEqual({path: kind for path, kind in self.changes(self.id).items()
                          if kind == "deleted"}, {})


class Workspaces(PersistentCase):
    """T19: what a request names decides nothing that the operator did not."""

    def assert_refused(self, path, code=64):
        result = msp("create", "--workspace", path, code=None)
        self.assertEqual((result.returncode, result.stdout), (code, ""), path)
        self.assertTrue(result.stderr.startswith("msp: create: "), result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)

    def test_what_is_protected(self):
        link = os.path.join(self.project, "link")
        os.symlink(os.path.expanduser("~"), link)
        home = os.path.expanduser("~")
        for path in ("/", "/etc", "/proc", "/dev", home, os.path.dirname(home), link,
                     self.project + "/../../../..", self.state):
            with self.subTest(path=path):
                self.assert_refused(path)
        self.create()  # the control

    def test_through_mcp(self):
        """A model cannot name what the client did not start msp with."""
        other = os.path.join(os.path.dirname(self.project), "other")
        os.mkdir(other)
        with support.Server("--workspace", self.project) as server:
            server.initialize()
            for path in (other, "/", "..", self.project + "/..", os.path.expanduser("~"), "/etc",
                         self.project + "-evil"):
                with self.subTest(path=path):
                    result = server.call("create_sandbox", workspace=path)
                    self.assertTrue(result.get("isError"), support.text_of(result))
            result = server.call("create_sandbox", workspace=self.project)
            self.assertFalse(result.get("isError"), support.text_of(result))

    def test_moved_afterwards(self):
        """The path leads elsewhere by the time it is used again."""
        sandbox = self.create()
        self.sh(sandbox, "true")
        os.rename(self.project, self.project + ".old")
        os.mkdir(self.project)
        self.put("other", "another project\n")
        result = msp("exec", sandbox, "--", "ls", "/workspace", code=None)
        self.assertNotEqual(result.returncode, 0)
        self.assertNotIn("other", result.stdout)
        shutil.rmtree(self.project)
        os.rename(self.project + ".old", self.project)
        self.sh(sandbox, "true")


if __name__ == "__main__":
    unittest.main()
