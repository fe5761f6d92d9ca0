#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A command or a shell over a project, copy-on-write: what is kept of it, -1, --discard and
--review; with a supervisor of its own and through a service, in a pipe and in a terminal."""
import json
import os
import re
import signal
import subprocess
import tempfile
import unittest

from cli_support import LIMITS, MSP, msp
from cli_tty import Terminal
from service import Service
from support import BIN, remove_folder, wait_until

KEPT = (r"kept for an hour in \w{26}: 'msp diff -1' shows (it|them), 'msp apply -1' takes (it|them) "
        r"over\n\Z")


def setUpModule():
    if not os.path.exists(os.path.join(BIN, "msp-layers")):
        raise unittest.SkipTest("msp-layers is not built")


class Project(unittest.TestCase):
    """A project with two files, and a state directory of its own."""

    OPTIONS = ()

    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(remove_folder, self.folder)
        self.project = os.path.join(self.folder, "project")
        os.mkdir(self.project)
        for name in "ab":
            self.write(name, name + "\n")
        self.environment = {"MSP_STATE_DIR": os.path.join(self.folder, "state")}
        result = self.msp("create")
        if result.returncode == 78 and "persistent sandboxes cannot" in result.stderr:
            self.skipTest(result.stderr.strip())
        self.msp("destroy", result.stdout.strip())

    def write(self, name, text):
        with open(os.path.join(self.project, name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        with open(os.path.join(self.project, name), encoding="utf-8") as file:
            return file.read()

    def msp(self, verb, *words, **keywords):
        keywords.setdefault("cwd", self.project)
        return msp(verb, *self.OPTIONS, *words, env={**os.environ, **self.environment}, **keywords)

    def good(self, *words, code=0, **keywords):
        result = self.msp(*words, **keywords)
        self.assertEqual(result.returncode, code, (words, result.stdout, result.stderr))
        return result

    def trial(self, script, *options, code=0, **keywords):
        return self.good("run", *LIMITS, "-w", *options, "--", "sh", "-c", script, code=code,
                         **keywords)

    def refused(self, *words, says, code=64, **keywords):
        result = self.good(*words, code=code, **keywords)
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, says)

    def sandboxes(self):
        return self.good("list", "-q").stdout.split()


class Runs(Project):
    def test_the_changes_are_kept_and_the_project_is_as_it_was(self):
        result = self.trial("cat a; echo x >> a; rm b; mkdir d; echo n > d/n; echo err >&2; exit 3",
                            code=3)
        self.assertEqual(result.stdout, "a\n")
        self.assertRegex(result.stderr, r"\Aerr\nmsp: run: 3 files changed, " + KEPT)
        self.assertEqual((self.read("a"), sorted(os.listdir(self.project))), ("a\n", ["a", "b"]))
        self.assertEqual(self.good("diff", "-1", "--name-only").stdout, "a\nb\nd/\nd/n\n")
        self.assertEqual(self.good("exec", *LIMITS, "-1", "--", "cat", "d/n").stdout, "n\n")
        self.assertIn("4 applied", self.good("apply", "-1").stdout)
        self.assertEqual(self.read("a"), "a\nx\n")
        self.assertIn("4 taken back", self.good("undo", "-1").stdout)
        self.assertEqual(self.read("a"), "a\n")

    def test_nothing_stays_of_what_changed_nothing(self):
        self.assertEqual(self.trial("cat a").stderr, "")
        self.assertEqual(self.sandboxes(), [])
        self.refused("diff", "-1", says=r"there is no run '-1' of this project: 0 are kept")

    def test_discard(self):
        self.assertEqual(self.trial("echo x > c", "--discard").stderr, "")
        self.assertEqual((self.sandboxes(), sorted(os.listdir(self.project))), ([], ["a", "b"]))

    def test_the_last_ones_by_number(self):
        for name in "xyz":
            self.trial(f"echo {name} > {name}")
        names = [self.good("diff", f"-{n}", "--name-only").stdout for n in (1, 2, 3)]
        self.assertEqual(names, ["z\n", "y\n", "x\n"])
        self.good("destroy", "-1", "-3")
        self.assertEqual(self.good("diff", "-1", "--name-only").stdout, "y\n")
        self.refused("diff", "-2", says=r"there is no run '-2' of this project: 1 is kept")
        self.good("destroy", *self.sandboxes())
        self.refused("apply", "-1", says=r"0 are kept")

    def test_one_that_is_gone_is_not_another(self):
        self.trial("echo x > x")
        self.trial("echo y > y")
        with open(os.path.join(self.environment["MSP_STATE_DIR"], "runs"), encoding="ascii") as file:
            kept = [line.split()[0] for line in file]
        self.good("destroy", kept[1])
        self.assertEqual(self.good("diff", "-1", "--name-only").stdout, "x\n")

    def test_a_damaged_list(self):
        self.trial("echo x > x")
        path = os.path.join(self.environment["MSP_STATE_DIR"], "runs")
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        with open(path, "r+b") as file:
            kept = file.read()
            file.seek(0)
            file.write(b"\0\xff\n../../x\n" + kept[:27] + b"\n" + kept + kept[:40])
        self.assertEqual(self.good("diff", "-1", "--name-only").stdout, "x\n")
        self.refused("diff", "-2", says="1 is kept")
        self.trial("echo y > y")
        self.assertEqual(self.good("diff", "-2", "--name-only").stdout, "x\n")
        os.unlink(path)
        os.symlink("/etc/passwd", path)
        self.refused("diff", "-1", says=r"'-1' is not known: .*runs: .*ELOOP", code=78)

    def test_another_directory(self):
        for options in (["-w=" + self.project], ["--workspace=" + self.project],
                        ["-C", self.project, "-w"]):
            result = self.good("run", *LIMITS, *options, "--", "cat", "a", cwd="/")
            self.assertEqual(result.stdout, "a\n")

    def test_as_json(self):
        value = json.loads(self.trial("echo out; echo x > c", "--json").stdout)
        self.assertEqual((value["stdout"], value["workspace"]["changes"]), ("out\n", 1))
        self.assertEqual(self.sandboxes(), [value["workspace"]["sandbox"]])
        value = json.loads(self.trial("true", "--json").stdout)
        self.assertEqual(value["workspace"], {"sandbox": None, "changes": 0})
        self.assertNotIn("workspace", json.loads(
            self.good("run", *LIMITS, "--json", "--", "true").stdout))

    def test_quiet(self):
        self.assertEqual(self.trial("echo x > c", "-q").stderr, "")
        self.assertEqual(len(self.sandboxes()), 1)

    def test_a_signal_keeps_what_there_is(self):
        process = subprocess.Popen([MSP, "run", *self.OPTIONS, *LIMITS, "-w", "--", "sh", "-c",
                                    "echo x > c; echo ready; sleep 100"], cwd=self.project,
                                   env={**os.environ, **self.environment}, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), "ready\n")
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.assertRegex(errors, "the changes are " + KEPT)
        self.assertTrue(wait_until(lambda: self.msp("diff", "-1", "--name-only").stdout == "c\n"))

    def test_a_command_that_does_not_start(self):
        self.refused("run", *LIMITS, "-w", "--", "no-such-command", says="not found", code=127)
        self.assertEqual(self.sandboxes(), [])

    def test_wrong_words(self):
        self.refused("run", "--discard", "--", "true", says="--discard is for --workspace")
        self.refused("run", "--review", "--", "true", says="--review is for --workspace")
        self.refused("run", "-w", "--review", "--discard", "--", "true", says="exclude each other")
        self.refused("run", "-w", "--review", "--", "true", says="--review needs a terminal")
        self.refused("run", "-w", "--json", "--review", "--", "true", says="leave one out")
        self.refused("run", *LIMITS, "-w=" + self.project + "/no", "--", "true",
                     says="no such directory")
        self.refused("run", "-w", self.project, "--", "true",
                     says=f"'{self.project}' is a directory, not a command. .* an equals sign: "
                          f"--workspace={self.project}")
        self.refused("run", *LIMITS, "-w", "--profile=strict", "--", "true", says="'strict'")
        self.refused("run", "-w", "--", *["x" * 100000] * 2, says="command line is longer")
        self.refused("diff", "-0", says="no option '-0'")
        self.refused("diff", "-100", says="no option '-100'")
        self.refused("run", "-1", says="no option '-1'")
        self.refused("diff", "-1:a", says="'-1:a' is no sandbox")
        self.assertEqual(self.sandboxes(), [])


    def test_all_are_removed(self):
        self.refused("destroy", "--all", says="in a terminal: without one, --yes")
        self.refused("destroy", "--all", "--yes", "-1", says="leave it or the names out")
        self.refused("destroy", "--yes", "box", says="--yes is for --all")
        self.assertEqual(self.good("destroy", "--all", "--yes").stderr, "")
        for answer, left in ((b"n\n", 2), (b"\x04", 2), (b"y\n", 0)):
            while len(self.sandboxes()) < 2:
                self.trial("echo x > x")
            terminal = Terminal(words=["destroy", *self.OPTIONS, "--all"],
                                environment=self.environment)
            terminal.read_until(b"Remove 2 sandboxes with all files and checkpoints? [y/N] ")
            terminal.type(answer)
            self.assertEqual(terminal.end()[0], 0)
            self.assertEqual(len(self.sandboxes()), left)
        self.refused("diff", "-1", says="0 are kept")


class Projects(Project):
    """-1 counts the runs over the project of the current directory; another project's is asked for."""

    def setUp(self):
        super().setUp()
        self.other = os.path.join(self.folder, "other")
        os.mkdir(self.other)
        for folder in (self.project, self.other):
            subprocess.run(["git", "init", "-q", folder], check=True)
            os.mkdir(os.path.join(folder, "sub"))

    def names(self, cwd, run="-1"):
        return self.good("diff", run, "--name-only", cwd=cwd).stdout

    def run_in(self, cwd, script, *options):
        result = self.trial(script, *options, cwd=cwd)
        found = re.search(r"in (\w{26}): ", result.stderr)
        self.assertIsNotNone(found, result.stderr)
        return found.group(1)

    def both(self):
        """The ids of a run in each."""
        return self.run_in(self.project, "echo one > one"), self.run_in(self.other, "echo two > two")

    def test_each_project_has_its_own(self):
        one, two = self.both()
        self.assertEqual(self.names(self.project), "one\n")
        self.assertEqual(self.names(self.other), "two\n")
        self.assertIn("1 applied", self.good("apply", "-1").stdout)
        self.assertEqual(os.listdir(self.other).count("two"), 0)
        self.assertEqual(self.read("one"), "one\n")
        self.refused("diff", "-2", says="no run '-2' of this project: 1 is kept")
        self.assertEqual({one, two}, set(self.sandboxes()))

    def test_directories_of_a_project(self):
        """A repository's subdirectory is the project; a nested repository and a worktree are not."""
        self.both()
        link = os.path.join(self.folder, "link")
        os.symlink(self.project, link)
        nested = os.path.join(self.project, "nested")
        subprocess.run(["git", "init", "-q", nested], check=True)
        for git in (["commit", "--allow-empty", "-qm", "x"], ["worktree", "add", "-q", "../tree"]):
            subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x", *git], check=True,
                           cwd=self.project)
        for here in (os.path.join(self.project, "sub"), link, os.path.join(link, "sub")):
            self.assertEqual(self.names(here), "one\n", here)
        for elsewhere in (nested, os.path.join(self.folder, "tree"), self.folder):
            self.refused("apply", "-1", says="no run over this project is kept", cwd=elsewhere)

    def test_paths_of_a_subdirectory(self):
        """As with git: relative to the current directory; elsewhere, and below /workspace, to the workspace."""
        one = self.run_in(self.project, "echo 1 > top; echo 2 > sub/top; echo 3 > sub/other")
        sub = os.path.join(self.project, "sub")

        def named(cwd, *paths):
            return self.good("diff", one, "--name-only", *paths, cwd=cwd).stdout.split()

        for paths, names in ((["top"], ["sub/top"]), (["../top"], ["top"]), (["."], ["sub/other", "sub/top"]),
                             (["/workspace/top"], ["top"]), (["../sub/../top"], ["top"]),
                             (["..", "top"], ["sub/other", "sub/top", "top"])):
            self.assertEqual(named(sub, *paths), names, paths)
        for cwd in (self.project, self.other, self.folder):
            self.assertEqual(named(cwd, "sub/../top"), ["top"], cwd)
        for cwd, path in ((sub, "../../x"), (self.project, "../top"), (self.other, ".."), (sub, "/etc/../top")):
            self.refused("diff", one, path, cwd=cwd, says="relative to this directory or below /workspace")
        self.refused("apply", one, "sub/top", cwd=sub, code=1, says="sub/sub/top: nothing has changed there")
        self.good("apply", one, "top", cwd=sub)
        self.assertEqual((self.read("sub/top"), os.path.exists(os.path.join(self.project, "top"))),
                         ("2\n", False))

    def test_without_a_repository(self):
        """The workspace is the project, with what is in it; `.git` without a HEAD is no repository."""
        plain = os.path.join(self.folder, "plain")
        os.makedirs(os.path.join(plain, "a", ".git"))
        self.run_in(plain, "echo x > x")
        self.assertEqual(self.names(os.path.join(plain, "a")), "x\n")
        self.refused("diff", "-1", says="no run over this project", cwd=self.folder)
        self.run_in(os.path.join(plain, "a"), "echo y > y")
        self.assertEqual(self.names(os.path.join(plain, "a")), "y\n")
        self.assertEqual(self.names(plain), "x\n")

    def test_the_home_is_no_project_of_all(self):
        subprocess.run(["git", "init", "-q", self.folder], check=True)
        self.environment["HOME"] = self.folder
        for name in "ab":
            os.mkdir(os.path.join(self.folder, name))
        self.run_in(os.path.join(self.folder, "a"), "echo x > x")
        self.refused("diff", "-1", says="no run over this project",
                     cwd=os.path.join(self.folder, "b"))
        self.assertEqual(self.names(os.path.join(self.folder, "a")), "x\n")

    def test_without_a_terminal_another_project_is_named(self):
        one = self.run_in(self.project, "echo one > one")
        says = (rf"no run over this project is kept, so '-1' names none\. That of another project is "
                rf"named by its id: {one}, over {re.escape(self.project)}\n")
        for words in (["apply", "-1"], ["diff", "-1"], ["undo", "-1"], ["logs", "-1"],
                      ["fork", "-1"], ["checkpoint", "-1"], ["destroy", "-1"], ["cp", *LIMITS, "-1:a", "."],
                      ["exec", *LIMITS, "-1", "--", "true"], ["ps", "-1"], ["apply", "-1", "--json"],
                      ["network", "list", "-1"], ["network", "tighten", "-1"],
                      ["exec", *LIMITS, "-d", "-1", "--", "true"]):
            self.refused(*words, says=says, cwd=self.other)
        self.assertEqual(self.sandboxes(), [one])

    def ask(self, answer, *words):
        terminal = Terminal(words=words, cwd=self.other, environment=self.environment)
        text = terminal.read_until(b"? [y/N] ")
        terminal.type(answer)
        code, _ = terminal.end()
        return code, (text + terminal.seen).decode()

    def test_in_a_terminal_another_project_is_asked_for(self):
        one = self.run_in(self.project, "echo one > one")
        for answer in (b"n\n", b"\n", b"\x04"):
            code, text = self.ask(answer, "apply", "-1")
            self.assertIn(f"No run over this project is kept. Use {one}, over {self.project}?", text)
            self.assertIn("nothing was done", text)
            self.assertEqual((code, os.path.exists(os.path.join(self.project, "one"))), (64, False))
        code, text = self.ask(b"y\n", "apply", "-1")
        self.assertEqual(code, 0, text)
        self.assertEqual(text.count("[y/N]"), 1)
        self.assertRegex(text, rf"the project is {re.escape(self.project)}, not that of this ")
        self.assertEqual(self.read("one"), "one\n")
        code, text = self.ask(b"y\n", "exec", *LIMITS, "-1", "cat", "one")
        self.assertEqual(code, 0, text)
        self.assertIn("one\r\n", text)

    def test_a_sandbox_by_its_id_names_the_project(self):
        one = self.run_in(self.project, "echo one > one")
        note = rf"msp: {{}}: the project is {re.escape(self.project)}, not that of this directory\n"
        for verb in ("diff", "apply", "undo"):
            result = self.good(verb, one[:10], cwd=self.other)
            self.assertRegex(result.stderr, r"\A" + note.format(verb))
            self.assertEqual(self.good(verb, one[:10], "-q", cwd=self.other).stderr, "") \
                if verb == "diff" else None
            value = json.loads(self.good(verb, one, "--json", cwd=self.other,
                                         code=64 if verb == "undo" else 0).stdout or "{}")
            self.assertEqual(value.get("workspace", self.project), self.project)
        self.assertNotIn("project", self.good("diff", one).stderr)

    def test_a_run_over_another_directory_is_named_by_its_id(self):
        result = self.trial("echo x > x", "-w=" + self.other)
        self.assertRegex(result.stderr, r"1 file changed, kept for an hour: 'msp diff (\w{26})' shows "
                                        r"it, 'msp apply \1' takes it over\n\Z")
        self.assertEqual(self.names(self.other), "x\n")

    def test_ignored_files_alone_do_not_count(self):
        self.write(".gitignore", "*.o\n")
        self.trial("echo x > x")
        result = self.trial("echo x > x.o")
        self.assertRegex(result.stderr, r"only ignored files changed, kept for an hour: 'msp diff "
                                        r"--ignored (\w{26})' shows them, 'msp apply --ignored \1' ")
        self.assertEqual(self.names(self.project), "x\n")
        self.assertEqual(len(self.sandboxes()), 2)

    def test_the_commands_take_it(self):
        self.run_in(self.project, "echo one > one")
        self.good("cp", *LIMITS, "-1:one", os.path.join(self.folder, "copied"))
        with open(os.path.join(self.folder, "copied"), encoding="ascii") as file:
            self.assertEqual(file.read(), "one\n")
        self.good("cp", *LIMITS, "a", "-1:copied")
        self.assertEqual(self.good("exec", *LIMITS, "-1", "cat", "copied").stdout, "a\n")
        self.assertIn("exec", self.good("logs", "-1").stdout)
        self.assertEqual(self.good("checkpoint", "-1", "first").stdout, "1\n")
        self.assertIn("first", self.good("checkpoints", "-1").stdout)
        self.good("rollback", "-1", "first")
        forked = self.good("fork", "-1").stdout.strip()
        self.assertIn(forked, self.sandboxes())
        self.good("forget", "-1", "first")

    def test_the_list_shows_it(self):
        self.both()
        self.run_in(self.project, "echo three > three")
        rows = [line.split()[:2] for line in self.good("list").stdout.splitlines()[1:]]
        self.assertEqual(sorted(name for _, name in rows), ["-", "-1", "-2"])
        self.assertEqual(self.good("diff", dict((b, a) for a, b in rows)["-2"],
                                   "--name-only").stdout, "one\n")
        names = {entry["name"] for entry in json.loads(self.good("list", "--json").stdout)["sandboxes"]}
        self.assertEqual(names, {""})

    def test_paths_with_odd_names(self):
        for name in ("a b", "new\nline", "back\\slash\\n", "\u00fc"):
            folder = os.path.join(self.folder, name)
            os.mkdir(folder)
            self.trial("echo x > x", cwd=folder)
            self.assertEqual(self.names(folder), "x\n")
            self.refused("diff", "-1", says="no run over this project", cwd=self.other)

    def test_many_runs_elsewhere_push_out_none(self):
        one = self.run_in(self.project, "echo one > one")
        path = os.path.join(self.environment["MSP_STATE_DIR"], "runs")
        with open(path, "a", encoding="ascii") as file:
            file.writelines(f"{one[:-4]}{number:04d} {self.other}\n" for number in range(150))
        self.run_in(self.other, "echo two > two")
        self.assertEqual(self.names(self.project), "one\n")
        with open(path, encoding="ascii") as file:
            self.assertEqual(len(file.readlines()), 100) # 99 of a project have a name

    def test_a_directory_that_is_gone(self):
        self.run_in(self.project, "echo one > one")
        gone = os.path.join(self.folder, "gone")
        os.mkdir(gone)
        result = subprocess.run(["sh", "-c", 'cd "$1" && rmdir "$1" && exec "$2" diff -1', "sh", gone,
                                 MSP], env={**os.environ, **self.environment}, text=True,
                                capture_output=True, check=False)
        self.assertEqual(result.returncode, 64)
        self.assertIn("that directory is gone", result.stderr)
        os.rename(self.project, gone)
        self.refused("diff", "-1", says=f"over {re.escape(self.project)}", cwd=gone)

    def test_a_run_whose_sandbox_is_gone(self):
        """Removed by an agent or its time: no other run takes its number."""
        self.run_in(self.project, "echo one > one")
        two = self.run_in(self.project, "echo two > two")
        path = os.path.join(self.environment["MSP_STATE_DIR"], "runs")
        with open(path, encoding="ascii") as file:
            kept = file.read()
        self.good("destroy", two)
        with open(path, "w", encoding="ascii") as file:
            file.write(kept)
        for _ in range(2):
            self.refused("diff", "-1", says=f"'-1' is no sandbox: the run's sandbox, {two}, is gone")
        self.refused("exec", *LIMITS, "-1", "--", "true", says=f"the run's sandbox, {two}, is gone")
        self.assertEqual(self.names(self.project, "-2"), "one\n")


class Umask(Project):
    """New files of an apply have modes by the umask of who applies; others keep theirs."""

    def modes(self):
        return [oct(os.stat(os.path.join(self.project, name)).st_mode & 0o777)
                for name in ("new", "tool", "dir", "secret", "a", "moved")]

    def test_it_counts(self):
        os.chmod(os.path.join(self.project, "a"), 0o666)
        self.trial("echo x > new; echo x > tool; chmod 755 tool; mkdir dir; echo x > secret; "
                   "chmod 600 secret; echo x >> a; mv b moved")
        for mask, modes in ((0o022, "644 755 755 600 666 644"), (0o077, "600 700 700 600 666 644"),
                            (0o002, "664 775 775 600 666 644")):
            self.assertIn("6 applied", self.good("apply", "-1", umask=mask).stdout)
            self.assertEqual(self.modes(), ["0o" + mode for mode in modes.split()])
            result = self.good("diff", "-1", "--name-only", umask=mask)
            self.assertEqual((result.stdout, result.stderr), ("", ""))
            self.good("undo", "-1", umask=mask)

    def test_a_file_that_is_made_anew_keeps_its_mode(self):
        for mode, mask in ((0o664, 0o002), (0o600, 0o077)):
            os.chmod(os.path.join(self.project, "a"), mode)
            self.trial("cp a c; rm a; cat c > a; echo x >> a; rm c")
            self.good("apply", "-1", umask=mask)
            self.assertEqual(os.stat(os.path.join(self.project, "a")).st_mode & 0o777, mode)
            self.trial("chmod 755 a") # control: a mode that was chosen
            self.good("apply", "-1", umask=mask)
            self.assertEqual(os.stat(os.path.join(self.project, "a")).st_mode & 0o777, 0o755)


class RunsOfTheService(Runs):
    # What the words mean, and which runs are kept, msp knows by itself.
    test_wrong_words = test_a_damaged_list = test_the_last_ones_by_number = None
    test_one_that_is_gone_is_not_another = test_another_directory = None

    def setUp(self):
        folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(remove_folder, folder)
        place = os.path.join(folder, "s.sock")
        state = {"MSP_STATE_DIR": os.path.join(folder, "state")}
        service = Service(place, env={**os.environ, **state})
        self.addCleanup(service.end)
        self.OPTIONS = ("--socket", place)
        super().setUp()
        self.good("destroy", *self.sandboxes()) if self.sandboxes() else None
        self.environment = state


class Shells(Project):
    def test_over_a_project(self):
        result = self.good("shell", *LIMITS, input="cat a; echo x > c; exit 4\n", code=4)
        self.assertEqual(result.stdout, "a\n")
        self.assertRegex(result.stderr, r"\Amsp: shell: 1 file changed, " + KEPT)
        result = self.good("shell", *LIMITS, "-1", input="cat c\n")
        self.assertEqual((result.stdout, result.stderr), ("x\n", ""))
        self.good("shell", *LIMITS, "--discard", input="echo y > d\n")
        self.assertEqual(len(self.sandboxes()), 1)

    def test_in_a_sandbox(self):
        self.good("create", "--name=box")
        self.good("shell", *LIMITS, "box", input="echo x > c\n")
        self.assertEqual(self.good("shell", *LIMITS, "box", input="cat c").stdout, "x\n")

    def test_the_prompt(self):
        self.good("create", "--name=box")
        for words, prompt in ((["box"], b"[msp box] /workspace$ "),
                              (["-w"], b"[msp project] /workspace$ ")):
            terminal = Terminal(words=["shell", *LIMITS, *words], cwd=self.project,
                                environment=self.environment)
            terminal.read_until(prompt)
            terminal.type(b"exit 5\n")
            self.assertEqual(terminal.end()[0], 5)

    def test_a_name_that_a_shell_would_expand(self):
        folder = os.path.join(self.project, "$(id)")
        os.mkdir(folder)
        terminal = Terminal(words=["shell", *LIMITS], cwd=folder, environment=self.environment)
        terminal.read_until(b"[msp workspace] /workspace$ ")
        terminal.type(b"exit\n")
        self.assertEqual(terminal.end()[0], 0)

    def test_wrong_words(self):
        self.refused("shell", "box", "-w", says="leave one of the two out")
        self.refused("shell", "a", "b", says="one word too many")
        self.refused("shell", "a/b", says="'a/b' is no sandbox")
        self.refused("shell", *LIMITS, "no-such", says="no sandbox 'no-such'")
        self.refused("shell", "--json", says="no option '--json'")


class Review(Project):
    def review(self, script, answers, pager="cat"):
        terminal = Terminal(words=["run", *LIMITS, "-w", "--review", "--", "sh", "-c", script],
                            cwd=self.project, environment={**self.environment, "PAGER": pager})
        text = b""
        for question, answer in answers:
            text += terminal.read_until(question)
            terminal.type(answer)
        code, after = terminal.end()
        self.assertEqual(after, terminal.before)
        return code, (text + terminal.seen).decode()

    def test_yes(self):
        code, text = self.review("echo x >> a; exit 3", [(b"project? [y/N] ", b"y\n")])
        self.assertEqual(code, 3)
        self.assertRegex(text, r"(?s)\+x.*Apply the changes of 1 file to .*1 applied")
        self.assertEqual(self.read("a"), "a\nx\n")
        self.good("undo", "-1")
        self.assertEqual(self.read("a"), "a\n")

    def test_no(self):
        for answer in (b"\n", b"n\n", b"what\n"):
            code, text = self.review("echo x > a", [(b"[y/N] ", answer)])
            self.assertEqual(code, 0)
            self.assertIn("kept for an hour", text)
            self.assertEqual(self.read("a"), "a\n")

    def test_held_changes_are_asked_about(self):
        _, text = self.review("echo x > .envrc; echo y > a", [(b"project? [y/N] ", b"y\n"),
                                                              (b"these too? [y/N] ", b"n\n")])
        self.assertIn("1 applied, 1 left out", text)
        self.assertEqual((self.read("a"), os.listdir(self.project).count(".envrc")), ("y\n", 0))

    def test_nothing_changed(self):
        self.assertEqual(self.review("true", []), (0, ""))

    def test_a_pager_that_ends_early_or_is_not_there(self):
        for pager in ("true", "no-such-pager"):
            _, text = self.review("seq 1 200000 > c", [(b"[y/N] ", b"n\n")], pager=pager)
            self.assertIn("1 file changed", text)
            self.assertNotIn("+1234", text)

    def test_ctrl_c_in_the_pager_and_at_the_question(self):
        code, text = self.review("echo x > a", [(b"READY", b"\x03"), (b"[y/N] ", b"\x03")],
                                 pager="sh -c 'trap exit INT; echo READY; while :; do sleep 0.1; done'")
        self.assertIn("kept for an hour", text)
        self.assertEqual((code, self.read("a")), (0, "a\n"))


if __name__ == "__main__":
    unittest.main()
