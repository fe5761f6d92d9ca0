#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A command or a shell over a project, copy-on-write: what is kept of it, -1, --discard and
--review; with a supervisor of its own and through a service, in a pipe and in a terminal."""
import json
import os
import signal
import subprocess
import tempfile
import unittest

from cli_support import LIMITS, MSP, msp
from cli_tty import Terminal
from service import Service
from support import BIN, remove_folder, wait_until

KEPT = r"kept for an hour: 'msp diff -1' shows them, 'msp apply -1' takes them over\n\Z"


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

    def refused(self, *words, says, code=64):
        result = self.good(*words, code=code)
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
        self.refused("diff", "-1", says=r"there is no run '-1': 0 are kept")

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
        self.refused("diff", "-2", says=r"there is no run '-2': 1 are kept")
        self.good("destroy", *self.sandboxes())
        self.refused("apply", "-1", says=r"0 are kept")

    def test_one_that_is_gone_is_not_another(self):
        self.trial("echo x > x")
        self.trial("echo y > y")
        with open(os.path.join(self.environment["MSP_STATE_DIR"], "runs"), encoding="ascii") as file:
            kept = file.read().split()
        self.good("destroy", kept[1])
        self.assertEqual(self.good("diff", "-1", "--name-only").stdout, "x\n")

    def test_a_damaged_list(self):
        self.trial("echo x > x")
        path = os.path.join(self.environment["MSP_STATE_DIR"], "runs")
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        with open(path, "r+b") as file:
            kept = file.read()
            file.seek(0)
            file.write(b"\0\xff\n../../x\n" + kept + kept[:9])
        self.assertEqual(self.good("diff", "-1", "--name-only").stdout, "x\n")
        self.refused("diff", "-2", says="1 are kept")
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
        self.refused("run", "-w", "--ro=/srv", "--", "true", says="--ro and --workspace exclude")
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
        self.refused("logs", "-1", says="no option '-1'")
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
