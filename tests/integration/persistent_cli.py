#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Persistent sandboxes, by the command line, with supervisors of their own and through a service:
files that stay, checkpoints, changes shown, taken over and taken back."""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import leftovers
from cli_support import LIMITS, MSP, msp
from service import Service
from support import BIN, Server, has_patches, remove_folder, text_of, wait_until


def setUpModule():
    """Without a place for files, or the program that reads layers, there is nothing to try."""
    leftovers.become_reaper()
    if not os.path.exists(os.path.join(BIN, "msp-layers")):
        raise unittest.SkipTest("msp-layers is not built")
    result = msp("create", "--json")
    if result.returncode == 78 and "persistent sandboxes cannot be had here" in result.stderr:
        raise unittest.SkipTest(result.stderr.strip())
    if result.returncode == 0:
        msp("destroy", json.loads(result.stdout)["id"])


def nothing_lives():
    def is_clear():
        leftovers.reap_orphans()
        return not leftovers.living()
    return wait_until(is_clear)


class Persistent(unittest.TestCase):
    """A folder of the host's, and sandboxes that are gone with the test."""

    def setUp(self):
        self.made = []
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(remove_folder, self.folder)
        self.addCleanup(lambda: self.made and msp("destroy", *self.made))

    def good(self, *words, code=0, **keywords):
        """Output of a command that ends as it should."""
        result = msp(*words, **keywords)
        self.assertEqual(result.returncode, code, (words, result.stdout, result.stderr))
        return result.stdout

    def refused(self, *words, code, says, **keywords):
        result = msp(*words, **keywords)
        self.assertEqual(result.returncode, code, (words, result.stdout, result.stderr))
        self.assertRegex(result.stderr, rf"\Amsp: {words[0]}: [^\n]+\n\Z")
        self.assertRegex(result.stderr, says)

    def create(self, *options, **keywords):
        made = self.good("create", *options, **keywords).rstrip("\n")
        self.made.append(made)
        return made

    def exec(self, sandbox, script, *options, code=0, **keywords):
        return self.good("exec", *LIMITS, *options, sandbox, "--", "sh", "-c", script, code=code,
                         **keywords)

    def listed(self, *options):
        return {entry["id"]: entry for entry in
                json.loads(self.good("list", "--json", *options))["sandboxes"]}

    def write(self, path, text):
        path = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, path):
        with open(os.path.join(self.folder, path), encoding="utf-8") as file:
            return file.read()

    def names(self):
        return sorted(os.path.relpath(os.path.join(folder, name), self.folder)
                      for folder, _, names in os.walk(self.folder) for name in names
                      if ".git" not in folder.split("/"))


class Life(Persistent):
    def test_files_stay_and_processes_do_not(self):
        made = self.create("--name=fix")
        self.assertRegex(made, r"^[0-9a-hjkmnp-tv-z]{26}$")
        self.exec("fix", "echo 1 > /workspace/a; echo 2 > ~/b; echo 3 > /tmp/c; sleep 1000 &")
        self.assertEqual(self.exec(made, "cat /workspace/a ~/b; ls /tmp"), "1\n2\n")
        self.assertTrue(nothing_lives())

    def test_a_list_of_them(self):
        before = set(self.listed())
        made = self.create("--name=one", "--ttl=2h")
        other = self.create()
        listed = self.listed()
        self.assertEqual(set(listed) - before, {made, other})
        self.assertEqual((listed[made]["name"], listed[made]["profile"], listed[made]["mode"],
                          listed[made]["workspace"]), ("one", "default", "none", None))
        self.assertAlmostEqual(listed[made]["expires_s"] - listed[made]["used_s"], 7200, delta=2)
        self.assertAlmostEqual(listed[made]["created_s"], time.time(), delta=60)
        self.exec(made, "head -c 3000000 /dev/urandom > big")
        self.assertGreaterEqual(self.listed()[made]["disk_bytes"], 3000000)
        self.good("destroy", made, "one-that-is-not", code=64)
        self.assertEqual(set(self.listed()) - before, {other})

    def test_names_and_beginnings_of_ids(self):
        made = self.create("--name=fix")
        self.refused("create", "--name=fix", code=64, says="there is a sandbox 'fix' already")
        self.refused("exec", *LIMITS, "fxi", "--", "true", code=64, says="no sandbox 'fxi'")
        self.assertEqual(self.exec(made[:10], "echo x"), "x\n")
        self.good("stop", made[:8])
        self.good("destroy", made[:12])
        self.made.remove(made)
        self.refused("exec", *LIMITS, made, "--", "true", code=64, says="no sandbox")

    def test_its_time_is_extended_by_use(self):
        made = self.create("--ttl=3s")
        for _ in range(3):
            time.sleep(1.5)
            self.exec(made, "true")
        self.assertIn(made, self.listed())
        self.assertTrue(wait_until(lambda: made not in self.listed(), timeout=20, step=0.5))
        self.made.remove(made)

    def test_as_run_in_every_respect(self):
        made = self.create()
        self.assertEqual(self.exec(made, "cat", input="in"), "in")
        self.assertEqual(self.exec(made, 'echo "$A $PWD"; exit 7', "--env=A=1", "--cwd=/tmp",
                                   code=7), "1 /tmp\n")
        self.exec(made, "kill -9 $$", code=137)
        self.exec(made, "sleep 100", "--timeout=0.3", code=124)
        self.good("exec", *LIMITS, made, "--", "no-such-command", code=127)
        self.good("exec", *LIMITS, made, "--", "/etc/passwd", code=126)
        value = json.loads(self.exec(made, "echo out; echo err >&2", "--json"))
        self.assertEqual((value["verdict"], value["stdout"], value["stderr"], value["profile"]),
                         ("exited", "out\n", "err\n", "default"))
        self.refused("exec", *LIMITS, "--cwd=/no/such", made, "--", "true", code=125,
                     says="/no/such")

    def test_its_profile_is_the_sandboxes(self):
        result = msp("create", "--profile=strict")
        self.assertEqual((result.returncode, result.stdout), (64, ""))
        self.assertIn("'strict'", result.stderr)
        self.refused("create", "--profile=nobody", code=64, says="no profile 'nobody'")
        made = self.create("--ttl=9999d")
        listed = self.listed()[made]
        self.assertLess(listed["expires_s"] - listed["used_s"], 9999 * 86400, "the profile's most")

    def test_one_msp_at_a_time(self):
        made = self.create()
        first = subprocess.Popen([MSP, "exec", *LIMITS, made, "--", "sh", "-c",
                                  "echo ready; read x; echo $x"], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True)
        with first:
            self.assertEqual(first.stdout.readline(), "ready\n")
            self.refused("exec", *LIMITS, made, "--", "true", code=75, says="another msp has")
            self.refused("destroy", made, code=75, says="another msp has")
            self.assertTrue(self.listed()[made]["elsewhere"])
            self.assertEqual(first.communicate("done\n")[0], "done\n")
        self.exec(made, "true")

    def test_a_killed_one_leaves_it_usable(self):
        made = self.create()
        self.exec(made, "echo 1 > a")
        with subprocess.Popen([MSP, "exec", *LIMITS, made, "--", "sh", "-c",
                               "echo 2 > b; echo ready; sleep 1000"],
                              stdout=subprocess.PIPE, text=True) as process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            process.send_signal(signal.SIGKILL)
        self.assertTrue(nothing_lives())
        self.assertEqual(self.exec(made, "cat a b"), "1\n2\n")


class Workspaces(Persistent):
    def test_copy_on_write(self):
        self.write("a", "host\n")
        made = self.create("--workspace", self.folder)
        self.assertEqual(self.exec(made, "cat a; echo mine > a; echo new > b; cat a"),
                         "host\nmine\n")
        self.assertEqual((self.read("a"), self.names()), ("host\n", ["a"]))
        self.assertEqual(self.exec(made, "cat a b"), "mine\nnew\n")
        self.assertEqual(self.listed()[made]["workspace"], self.folder)

    def test_relative_and_by_a_link(self):
        self.write("real/a", "x")
        os.symlink("real", os.path.join(self.folder, "link"))
        made = self.good("create", "--workspace=link", cwd=self.folder).strip()
        self.made.append(made)
        self.assertEqual(self.listed()[made]["workspace"], os.path.join(self.folder, "real"))
        self.assertEqual(self.exec(made, "ls"), "a\n")

    def test_read_only(self):
        self.write("a", "host\n")
        made = self.create("--workspace", self.folder, "--mode=read-only")
        self.assertEqual(self.exec(made, "cat a; echo x > a || echo refused"), "host\nrefused\n")

    def test_what_may_not_be_shown(self):
        self.write("file", "")
        for path, says in ((os.path.join(self.folder, "missing"), "missing"),
                           (os.path.join(self.folder, "file"), "file"),
                           (os.path.expanduser("~"), "holds what no sandbox may see"), ("/", "/"),
                           ("/proc", "/proc"), ("/etc", "/etc")):
            with self.subTest(path=path):
                self.refused("create", "--workspace=" + path, code=64, says=says)

    def test_a_directory_that_was_replaced(self):
        self.write("project/a", "")
        project = os.path.join(self.folder, "project")
        made = self.create("--workspace", project)
        self.exec(made, "true")
        os.rename(project, project + ".old")
        self.refused("exec", *LIMITS, made, "--", "true", code=64, says=re.escape(project))
        self.write("project/b", "")
        self.refused("exec", *LIMITS, made, "--", "true", code=64,
                     says=f"sandbox '{made}'.*{re.escape(project)}.*put that back in its place")
        shutil.rmtree(project)
        os.rename(project + ".old", project)
        self.assertEqual(self.exec(made, "ls"), "a\n")


class Checkpoints(Persistent):
    def test_there_and_back(self):
        made = self.create()
        self.exec(made, "echo 1 > a; mkdir d; echo x > d/x")
        self.assertEqual(self.good("checkpoint", made, "first"), "1\n")
        self.exec(made, "echo 2 > a; rm -r d; echo y > ~/y")
        self.assertEqual(self.good("checkpoint", made), "2\n")
        self.exec(made, "echo 3 > a")
        self.good("rollback", made, "first")
        self.assertEqual(self.exec(made, "cat a d/x; ls ~"), "1\nx\n")
        self.good("rollback", made, "2")
        self.assertEqual(self.exec(made, "cat a; ls; cat ~/y"), "2\na\ny\n")
        value = json.loads(self.good("checkpoints", made, "--json"))["checkpoints"]
        self.assertEqual([(entry["number"], entry["name"], entry["parent"], entry["current"])
                          for entry in value], [(1, "first", None, False), (2, "", 1, True)])

    def test_forks_are_independent(self):
        made = self.create("--name=origin")
        self.exec(made, "echo 1 > a")
        self.good("checkpoint", made, "one")
        self.exec(made, "echo 2 > a")
        early = self.good("fork", made, "one", "--name=early").strip()
        late = self.good("fork", made).strip()
        self.made += [early, late]
        self.exec("early", "echo early >> a")
        self.exec(late, "echo late >> a")
        self.exec(made, "echo origin >> a")
        self.assertEqual([self.exec(one, "cat a") for one in (early, late, made)],
                         ["1\nearly\n", "2\nlate\n", "2\norigin\n"])
        self.good("destroy", made)
        self.made.remove(made)
        self.assertEqual(self.exec(early, "cat a"), "1\nearly\n")

    def test_forgotten(self):
        made = self.create()
        self.exec(made, "echo 1 > a")
        self.good("checkpoint", made, "one")
        self.exec(made, "echo 2 > b")
        self.good("checkpoint", made, "two")
        self.good("forget", made, "one")
        self.assertEqual(self.exec(made, "cat a b"), "1\n2\n")
        self.refused("rollback", made, "one", code=64, says="no checkpoint 'one'")
        self.refused("rollback", made, "1", code=64, says="no checkpoint '1'")
        self.good("rollback", made, "two")

    def test_not_while_something_runs(self):
        made = self.create()
        with subprocess.Popen([MSP, "exec", *LIMITS, made, "--", "sh", "-c",
                               "echo ready; read x"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as process:
            process.stdout.readline()
            self.refused("checkpoint", made, code=75, says="runs|another")
            process.communicate("x\n")
        self.good("checkpoint", made)


@unittest.skipUnless(shutil.which("git"), "git is not installed")
@unittest.skipUnless(shutil.which("git"), "git is not installed")
class Changes(Persistent):
    SCRIPT = ("printf 'one\\nTWO\\nthree\\n' > a.txt; rm gone.txt; mkdir -p new/deep; "
              "echo new > new/deep/n.txt; chmod +x run.sh; mv old-name.txt new-name.txt; "
              "printf 'a\\0b' > blob; ln -s a.txt link; printf x > 'odd\tname \\303\\244'")

    def setUp(self):
        super().setUp()
        self.write("a.txt", "one\ntwo\nthree\n")
        self.write("gone.txt", "gone\n")
        self.write("run.sh", "#!/bin/sh\n")
        self.write("old-name.txt", "".join(f"line {i}\n" for i in range(50)))
        self.write("sub/same.txt", "same\n")
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qm", "first")
        nobody = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        self.sandbox = self.create("--workspace", self.folder, env=nobody)

    def git(self, *words, folder=None, **keywords):
        return subprocess.run(["git", *words], cwd=folder or self.folder, check=True,
                              capture_output=True, timeout=60, **keywords).stdout.decode()

    def status(self):
        return self.git("status", "--porcelain", "-uall")

    def test_names_are_those_that_git_sees(self):
        self.exec(self.sandbox, self.SCRIPT)
        names = {name for name in self.good("diff", self.sandbox, "--name-only").splitlines()
                 if not name.endswith("/")}
        with tempfile.TemporaryDirectory() as other:
            self.git("clone", "-q", self.folder, other)
            subprocess.run(["sh", "-c", self.SCRIPT], cwd=other, check=True)
            self.git("add", "-A", folder=other)
            expected = self.git("diff", "--cached", "-M", "--name-only", folder=other)
        self.assertEqual(names, set(expected.splitlines()))
        self.assertEqual(self.status(), "", "the host is as it was")

    def test_a_first_status_leaves_the_index(self):
        """Git knows the files by what the overlay keeps; without the system's configuration it does
        not, unless the user has the same id here, and writes the index again."""
        for folder, _, names in os.walk(self.folder):
            for name in names:
                if ".git" not in folder.split("/"):
                    os.utime(os.path.join(folder, name), (1e9, 1e9))
        self.git("add", "-A")
        self.git("update-index", "--refresh")
        index = "stat -c %i .git/index"
        same = {}
        for environment in ("GIT_CONFIG_NOSYSTEM=0", "GIT_CONFIG_NOSYSTEM=1"):
            sandbox = self.create("--workspace", self.folder)
            before, *shown, after = self.exec(sandbox, f"{index}; {environment} git status --short; "
                                                       f"{index}").splitlines()
            self.assertEqual(shown, [])
            same[environment] = before == after
        is_same_user = self.exec(sandbox, "id -u").split() == [str(os.getuid())]
        self.assertEqual(same, {"GIT_CONFIG_NOSYSTEM=0": True, "GIT_CONFIG_NOSYSTEM=1": is_same_user})

    def test_a_commit_needs_no_name(self):
        author = "git log -1 --format='%an <%ae>'"
        self.assertEqual(self.exec(self.sandbox, f"echo x >> a.txt; git commit -qam x; {author}"),
                         "msp sandbox <sandbox@localhost>\n")
        self.exec(self.sandbox, "echo y >> a.txt; GIT_CONFIG_NOSYSTEM=1 git commit -qam y", code=128)
        self.git("config", "user.name", "Own")
        self.git("config", "user.email", "own@example.org")
        sandbox = self.create("--workspace", self.folder)
        self.assertEqual(self.exec(sandbox, f"echo x >> a.txt; git commit -qam x; {author}"),
                         "Own <own@example.org>\n")

    def test_a_commit_has_the_users_name(self):
        """The user's own, as git has it for this project; whatever the sandbox sets goes before."""
        author = "git log -1 --format='%an <%ae>'"
        home = tempfile.mkdtemp()
        self.addCleanup(remove_folder, home)
        texts = {
            ".gitconfig": '[user]\n\tname = "Jane \\"J\\" Doe"\n[include]\n\tpath = more\n'
                          f'[includeIf "gitdir:{self.folder}/"]\n\tpath = here\n'
                          '[includeIf "gitdir:/elsewhere/"]\n\tpath = elsewhere\n',
            "more": "[user]\n\temail = jane@example.org\n[core]\n\thooksPath = /x\n",
            "here": "[user]\n\temail = jane@work.example\n",
            "elsewhere": "[user]\n\tname = Other\n"}
        for name, text in texts.items():
            with open(os.path.join(home, name), "w", encoding="utf-8") as file:
                file.write(text)
        environment = {**os.environ, "HOME": home}
        expected = [self.git("config", f"user.{key}", env=environment).strip()
                    for key in ("name", "email")]
        self.assertEqual(expected, ['Jane "J" Doe', "jane@work.example"])
        sandbox = self.create("--workspace", self.folder, env=environment)
        self.assertEqual(self.exec(sandbox, f"echo x >> a.txt; git commit -qam x; {author}; "
                                            "git config core.hooksPath", code=1),
                         "{} <{}>\n".format(*expected))
        self.assertEqual(self.exec(sandbox, "git config --global user.name Agent; "
                                            f"git commit -q --allow-empty -m y; {author}"),
                         "Agent <jane@work.example>\n")
        self.assertEqual(self.good("diff", sandbox, "--name-only").split("\n")[0], "a.txt")
        # A value that would be more than one line, and a condition that git alone can tell.
        for text, shown in ((".gitconfig", '[user]\nname = "a\\nb"\nemail = e@x\n'),
                            (".gitconfig", '[user]\nname = n\nemail = e@x\n'
                                           '[includeIf "onbranch:x"]\npath = elsewhere\n')):
            with open(os.path.join(home, text), "w", encoding="utf-8") as file:
                file.write(shown)
            sandbox = self.create("--workspace", self.folder, env=environment)
            self.assertEqual(self.exec(sandbox, f"git commit -q --allow-empty -m z; {author}"),
                             "msp sandbox <e@x>\n")

    @unittest.skipUnless(has_patches(), "another libgit2")
    def test_git_apply_takes_the_patch(self):
        self.exec(self.sandbox, self.SCRIPT.replace("printf 'a\\0b' > blob; ", ""))
        patch = self.good("diff", self.sandbox, "--patch", text=False)
        with tempfile.TemporaryDirectory() as other:
            self.git("clone", "-q", self.folder, other)
            self.git("apply", "-", folder=other, input=patch)
            self.git("add", "-A", folder=other)
            shown = self.git("diff", "--cached", "-M", "--name-status", folder=other)
            self.assertIn("R100\told-name.txt\tnew-name.txt", shown)
            with open(os.path.join(other, "a.txt"), encoding="utf-8") as file:
                self.assertEqual(file.read(), "one\nTWO\nthree\n")
            self.assertTrue(os.access(os.path.join(other, "run.sh"), os.X_OK))
            self.assertEqual(os.readlink(os.path.join(other, "link")), "a.txt")
            self.assertFalse(os.path.exists(os.path.join(other, "gone.txt")))

    @unittest.skipUnless(has_patches(), "another libgit2")
    def test_other_views(self):
        self.exec(self.sandbox, self.SCRIPT)
        stat = self.good("diff", self.sandbox, "--stat")
        self.assertRegex(stat, r"(?m)^ a\.txt +\| +2 \+-$")
        self.assertRegex(stat, r"(?m)^ blob +\| +Bin 0 -> 3 bytes$")
        self.assertRegex(stat, r"\d+ files changed, \d+ insertions\(\+\), \d+ deletions\(-\)\n\Z")
        self.assertIn("Binary files /dev/null and b/blob differ",
                      self.good("diff", self.sandbox))
        self.assertIn("left out", msp("diff", self.sandbox, "--patch").stderr)
        value = json.loads(self.good("diff", self.sandbox, "--json"))
        kinds = {entry["path"]: entry["kind"] for entry in value["changes"]}
        self.assertEqual([kinds.get(path) for path in ("a.txt", "gone.txt", "run.sh",
                                                       "new-name.txt", "new/deep/n.txt")],
                         ["modified", "deleted", "mode", "renamed", "added"])
        self.assertEqual(self.good("diff", self.sandbox, "new", "--name-only").split(),
                         ["new/", "new/deep/", "new/deep/n.txt"])

    def test_since_a_checkpoint(self):
        self.exec(self.sandbox, "echo 1 > x")
        self.good("checkpoint", self.sandbox, "one")
        self.exec(self.sandbox, "echo 2 > y")
        self.assertEqual(self.good("diff", self.sandbox, "--since=one", "--name-only"), "y\n")
        self.assertEqual(self.good("diff", self.sandbox, "--name-only"), "x\ny\n")

    def test_half_of_it_and_back(self):
        self.exec(self.sandbox, self.SCRIPT)
        before = self.names()
        self.assertIn("applied", self.good("apply", self.sandbox, "a.txt", "new"))
        self.assertEqual(self.status(), " M a.txt\n?? new/deep/n.txt\n")
        self.assertEqual(self.read("a.txt"), "one\nTWO\nthree\n")
        self.assertIn("taken back", self.good("undo", self.sandbox))
        self.assertEqual((self.status(), self.names()), ("", before))
        self.refused("undo", self.sandbox, code=64, says="taken back", cwd=self.folder)

    def test_all_of_it(self):
        self.exec(self.sandbox, self.SCRIPT)
        preview = self.good("apply", self.sandbox, "--preview")
        self.assertEqual(self.status(), "")
        self.assertRegex(preview, r"(?m)^M  a\.txt$")
        self.good("apply", self.sandbox)
        self.assertEqual(self.good("diff", self.sandbox, "--name-only"), "")
        self.assertIn("a.txt", self.status())
        self.assertTrue(os.access(os.path.join(self.folder, "run.sh"), os.X_OK))

    def test_what_the_host_executes_is_held_back(self):
        self.exec(self.sandbox, "echo evil > .git/hooks/post-checkout; chmod +x "
                                ".git/hooks/post-checkout; echo 'x=1' > .envrc; echo ok > fine.txt")
        self.assertIn("stays in the sandbox's repository", self.good("diff", self.sandbox, "--stat"))
        result = msp("apply", self.sandbox)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn(".git/hooks/post-checkout", result.stderr)
        self.assertIn(".envrc", result.stderr)
        self.assertEqual(self.read("fine.txt"), "ok\n")
        self.assertFalse(os.path.exists(os.path.join(self.folder, ".envrc")))
        self.assertFalse(os.path.exists(os.path.join(self.folder, ".git/hooks/post-checkout")))
        self.good("apply", self.sandbox, ".envrc", "--held")
        self.assertEqual(self.read(".envrc"), "x=1\n")

    def test_conflicts(self):
        self.exec(self.sandbox, "echo mine > a.txt; echo new > fine.txt")
        self.write("a.txt", "theirs\n")
        result = msp("apply", self.sandbox)
        self.assertEqual((result.returncode, self.read("a.txt")), (1, "theirs\n"))
        self.assertFalse(os.path.exists(os.path.join(self.folder, "fine.txt")))
        self.good("apply", self.sandbox, "--conflict=host", code=1)
        self.assertEqual((self.read("a.txt"), self.read("fine.txt")), ("theirs\n", "new\n"))
        self.good("apply", self.sandbox, "--conflict=sandbox")
        self.assertEqual(self.read("a.txt"), "mine\n")

    def test_undo_leaves_what_was_changed_since(self):
        self.exec(self.sandbox, "echo mine > a.txt; echo new > fine.txt")
        self.good("apply", self.sandbox)
        self.write("fine.txt", "edited\n")
        self.good("undo", self.sandbox, code=1)
        self.assertEqual((self.read("a.txt"), self.read("fine.txt")),
                         ("one\ntwo\nthree\n", "edited\n"))
        self.assertIn("0 taken back, 1 left out", self.good("undo", self.sandbox, code=1))
        self.write("fine.txt", "new\n")  # what was before is not lost
        self.assertIn("1 taken back", self.good("undo", self.sandbox))
        self.assertNotIn("fine.txt", self.names())
        self.refused("undo", self.sandbox, code=64, says="nothing that was applied", cwd=self.folder)


class ThroughTheService(Persistent):
    """Several commands in one sandbox at once, and what outlives each of them."""

    def setUp(self):
        super().setUp()
        place = os.path.join(self.folder, "s.sock")
        self.service = Service(place)
        self.addCleanup(self.service.end)
        self.socket = ["--socket", place]
        self.made_there = self.good("create", *self.socket, "--name=there").strip()
        self.made.append(self.made_there)  # by one of its own, when the service has ended

    def start(self, script):
        errors = tempfile.TemporaryFile("w+", encoding="utf-8")
        self.addCleanup(errors.close)
        process = subprocess.Popen([MSP, "exec", *self.socket, *LIMITS, "there", "--", "sh", "-c",
                                    script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=errors, text=True)
        process.stderr = errors
        self.addCleanup(process.wait, 20)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def test_two_at_once(self):
        first = self.start("echo ready; read x; cat from-second")
        second = self.start("echo second > from-second; echo ready; read x")
        self.assertIn('"executions": 2', self.good("list", *self.socket, "--json"))
        self.refused("checkpoint", *self.socket, "there", code=75, says="something runs")
        self.assertEqual(first.communicate("x\n", timeout=20)[0], "second\n")
        second.communicate("x\n", timeout=20)
        self.good("checkpoint", *self.socket, "there")

    def test_stop_ends_what_runs(self):
        first = self.start("echo 1 > a; echo ready; sleep 1000")
        self.good("stop", *self.socket, "there")
        self.assertEqual(first.wait(20), 137)
        first.stderr.seek(0)
        self.assertEqual(first.stderr.read(), "msp: exec: stopped: sandbox 'there' was stopped or "
                                              "destroyed, and with it the command\n")
        self.assertEqual(self.good("exec", *self.socket, *LIMITS, "there", "--", "cat", "a"), "1\n")

    def test_a_model_of_another_project_cannot_join(self):
        """Neither while it is cold, nor when who made it has made it live."""
        answers = []
        for project in ("one", "other"):
            self.write(project + "/file", project)
            server = Server(*self.socket, cwd=os.path.join(self.folder, project))
            self.addCleanup(server.close)
            server.initialize()
            answers.append(lambda tool, server=server, **arguments: text_of(
                server.call(tool, sandbox="shared", **arguments)))
        one, other = answers
        self.addCleanup(msp, "destroy", "shared")
        server = Server(*self.socket, cwd=os.path.join(self.folder, "one"))
        server.initialize()
        server.call("create_sandbox", name="shared", workspace=os.path.join(self.folder, "one"))
        server.close()
        self.assertIn("does not lie in", other("run_command", command="cat file"))
        self.assertIn("one\n[exit 0", one("run_command", command="cat file; echo"))
        for tool, arguments in (("run_command", {"command": "cat file"}),
                                ("read_sandbox_file", {"path": "file"}), ("diff_changes", {})):
            self.assertIn("does not lie in", other(tool, **arguments))
        self.assertIn("one\n[exit 0", one("run_command", command="cat file; echo"))
        self.assertEqual(self.good("exec", *self.socket, *LIMITS, "shared", "--", "cat", "file"),
                         "one")  # a person

    def test_it_outlives_the_service(self):
        self.good("exec", *self.socket, *LIMITS, "there", "--", "sh", "-c", "echo 1 > a")
        self.refused("exec", "--standalone", *LIMITS, "there", "--", "true", code=75,
                     says="another msp has")
        self.service.end()
        self.assertEqual(self.exec(self.made_there, "cat a"), "1\n")


if __name__ == "__main__":
    unittest.main()
