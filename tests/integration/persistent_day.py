#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A working day in one sandbox: a repository of thousands of files, fifty commands of an agent,
packages, commits, checkpoints, a rollback, a fork, a review, half of it applied and taken back."""
import os
import shutil
import subprocess
import time
import unittest

import support
from persistent_support import PersistentCase, git, msp

# What is done takes its time with each of them, and is done in the same way.
PER_FOLDER = 200 if support.IS_ALL else 40
FILES = 100 * PER_FOLDER
EXECUTIONS = 50

PACKAGE = """
mkdir -p ~/packages/greeter/greeter && cd ~/packages/greeter
cat > pyproject.toml <<'EOF'
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "greeter"
version = "1.0"
EOF
echo 'def greet(): return "hello from a package"' > greeter/__init__.py
"""


@unittest.skipUnless(shutil.which("git"), "git is not installed")
class Day(PersistentCase):
    def make_repository(self):
        """In one pack: a file for each object would be as many again, to make and to look at."""
        parts = [f"commit refs/heads/main\ncommitter Host <host@example.org> {int(time.time())} "
                 "+0000\ndata 10\neverything\n"]
        for number in range(FILES):
            path = f"src{number // PER_FOLDER:03}/file{number:05}.txt"
            text = "".join(f"line {line} of file {number}\n" for line in range(12))
            parts.append(f"M 100644 inline {path}\ndata {len(text)}\n{text}\n")
        git(self.project, "init", "-q")
        git(self.project, "fast-import", "--quiet", input="".join(parts).encode())
        git(self.project, "reset", "-q", "--hard")
        self.assertEqual(git(self.project, "status", "--porcelain"), b"")

    def work(self, server, sandbox, first, last):
        """Commands of an agent: each edits, adds, renames, removes or asks."""
        for number in range(first, last):
            folder = f"/workspace/src{number:03}"
            script = (f"cd {folder} && sed -i 's/^line 3 .*/line 3 by agent {number}/' "
                      f"file{number * PER_FOLDER:05}.txt && "
                      f"echo new {number} > new{number}.txt && ls | wc -l")
            if number % 5 == 1:
                script += f" && rm file{number * PER_FOLDER + 1:05}.txt"
            if number % 5 == 2:
                script += f" && mv file{number * PER_FOLDER + 2:05}.txt renamed{number}.txt"
            if number % 5 == 3:
                script += f" && chmod +x file{number * PER_FOLDER + 3:05}.txt"
            if server:
                result = server.call("run_command", sandbox=sandbox, command=script)
                self.assertFalse(result.get("isError"), support.text_of(result))
                self.assertIn("[exit 0", support.text_of(result))
            else:
                self.sh(sandbox, script)

    def expected(self, executions):
        """git's own porcelain words for what work() does."""
        found = {}
        for number in range(executions):
            folder = f"src{number:03}/"
            found[folder + f"file{number * PER_FOLDER:05}.txt"] = " M"
            found[folder + f"new{number}.txt"] = "??"
            if number % 5 == 1:
                found[folder + f"file{number * PER_FOLDER + 1:05}.txt"] = " D"
            if number % 5 == 2:
                found[folder + f"file{number * PER_FOLDER + 2:05}.txt"] = " D"
                found[folder + f"renamed{number}.txt"] = "??"
            if number % 5 == 3:
                found[folder + f"file{number * PER_FOLDER + 3:05}.txt"] = " M"
        return found

    def status(self):
        """The host's: {path: word}."""
        text = git(self.project, "status", "--porcelain", "-uall").decode()
        return {line[3:]: line[:2] for line in text.splitlines()}

    def test_day(self):
        self.make_repository()
        before = self.tree()
        sandbox = self.create("--name", "day", "--profile", "python-dev")

        self.work(None, "day", 0, 5)
        msp("checkpoint", "day", "first")
        self.work_of_a_client(sandbox, 5, 30)
        msp("checkpoint", "day", "second")
        self.install_package()
        self.commit_inside()
        msp("checkpoint", "day", "third")

        self.sh("day", "rm -rf /workspace/src000 /workspace/src001; echo wrong > /workspace/wrong")
        msp("rollback", "day", "third")
        self.assertEqual(self.sh("day", "ls /workspace/src000 | wc -l; "
                                        "ls /workspace/wrong 2>/dev/null || true").split(),
                         [str(PER_FOLDER + 1)])
        self.assertIn("hello from a package", self.sh("day", "~/venv/bin/python -c "
                      "'import greeter; print(greeter.greet())'"))

        self.fork_goes_its_own_way()
        self.work_of_a_client(sandbox, 30, EXECUTIONS - 5)
        self.work(None, "day", EXECUTIONS - 5, EXECUTIONS)
        self.assertEqual(self.tree(), before, "the host's files were touched")
        self.the_diff_is_gits()
        self.apply_half_and_undo()

        msp("destroy", "day")
        self.assertEqual(os.listdir(os.path.join(self.state, "sandboxes")), [])
        self.assertEqual(self.tree(), before)

    def work_of_a_client(self, sandbox, first, last):
        with support.Server("--workspace", self.project) as server:
            server.initialize()
            self.work(server, sandbox, first, last)

    def install_package(self):
        """With the system's pip and setuptools: to unpack a pip takes longer than all the rest."""
        self.sh("day", PACKAGE + "python3 -m venv --without-pip --system-site-packages ~/venv && "
                "~/venv/bin/python -m pip install --quiet --no-index --no-build-isolation "
                "~/packages/greeter", timeout=300)

    def commit_inside(self):
        text = self.sh("day", "cd /workspace && git config --global user.name Agent && "
                       "git config --global user.email agent@example.org && "
                       "git config --global --add safe.directory /workspace && "
                       "git add src000 && git commit -qm 'by the agent' && git log --oneline | wc -l",
                       timeout=300)
        self.assertEqual(text.strip(), "2")

    def fork_goes_its_own_way(self):
        msp("fork", "day", "second", "--name", "aside")
        self.addCleanup(msp, "destroy", "aside", code=None)
        self.assertEqual(self.sh("aside", "cat /workspace/src005/new5.txt; test ! -e ~/venv"),
                         "new 5\n")
        self.sh("aside", "echo aside > /workspace/src005/new5.txt; echo x > /workspace/only-aside")
        self.assertEqual(self.sh("day", "cat /workspace/src005/new5.txt; "
                                 "test ! -e /workspace/only-aside"), "new 5\n")
        msp("destroy", "aside")
        self.assertEqual(self.sh("day", "cat /workspace/src005/new5.txt"), "new 5\n")

    def the_diff_is_gits(self):
        """The same change as git inside sees it, against the commit that the host is at."""
        first = git(self.project, "rev-parse", "HEAD").decode().strip()
        self.sh("day", f"cd /workspace && git add -A && git diff --binary -M {first} --cached "
                "> /tmp/git.diff; git reset -q; wc -c < /tmp/git.diff")
        inside = self.sh("day", f"cd /workspace && git add -A -- src* && "
                         f"git diff -M --full-index {first} --cached -- src*; git reset -q",
                         timeout=300)
        ours = msp("diff", "day", "--patch", *self.folders(), timeout=300).stdout
        self.assertEqual(blocks(ours), blocks(inside))
        copy = os.path.join(os.path.dirname(self.project), "copy")
        git(self.project, "clone", "-q", self.project, copy)
        result = subprocess.run(["git", "-C", copy, "apply", "--check"], input=ours, text=True,
                                capture_output=True, check=False, timeout=120)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    @staticmethod
    def folders():
        return [f"src{number:03}" for number in range(EXECUTIONS)]

    def apply_half_and_undo(self):
        half = self.folders()[:EXECUTIONS // 2]
        clean = self.tree()
        preview = msp("apply", "day", "--preview", *half).stdout
        self.assertIn("src000/new0.txt", preview)
        self.assertEqual(self.tree(), clean)
        msp("apply", "day", *half, timeout=300)
        self.assertEqual(self.status(), self.expected(EXECUTIONS // 2))
        self.assertEqual(self.get("src003/new3.txt"), b"new 3\n")
        left = self.changes("day", *self.folders())
        self.assertEqual({path.split("/")[0] for path in left},
                         set(self.folders()[EXECUTIONS // 2:]))
        msp("undo", "day", timeout=300)
        self.assertEqual(self.status(), {})
        self.assertEqual({path: value for path, value in self.tree().items()
                          if not path.startswith(b".git/")},
                         {path: value for path, value in clean.items()
                          if not path.startswith(b".git/")})


def blocks(patch):
    """A patch by file; what git says of the index is no part of the change."""
    found = {}
    for part in patch.split("diff --git ")[1:]:
        name, _, rest = part.partition("\n")
        found[name] = "\n".join(line for line in rest.split("\n") if not line.startswith("index "))
    return found


if __name__ == "__main__":
    unittest.main()
