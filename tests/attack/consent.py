#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""T33: a workload that makes unreadable what a person or a model is to judge: characters that nobody
sees or that turn the text around, in contents, names and link targets; links whose target a list
does not show. The controls: the same bytes are really there, reach `git apply` and
`read_sandbox_file`
unchanged, and letters of scripts from right to left stay as they are."""
import json
import os
import pty
import select
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "integration"))
import persistent_mcp  # noqa: E402  (a folder of its own)
import support  # noqa: E402
from persistent_support import PersistentCase, git, msp  # noqa: E402

SECONDS = 60
# Controls of direction, zero-width characters, separators, variation selectors, tags, C1.
HIDDEN = ("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"
          "\u200b\u200c\u200d\u2060\ufeff\u00ad\u2028\u2029\ufe0f\U000e0001\U000e0041\x85\x9b")
SEEN = "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627 e\u0301 \u4e2d\u6587 \U0001f600"
LINE = f"a = 1; /* {HIDDEN} {SEEN} */"
NAME = "x\u202etxt.\u200bsh"
TARGET = "/home/user/.ssh/\u202eid\u200b"


def setUpModule():
    persistent_mcp.setUpModule()


def found_hidden(text):
    return sorted({f"U+{ord(char):04X}" for char in text if char in HIDDEN})


def in_terminal(*words, answer=None):
    """(exit code, text) of `msp WORDS` in a terminal of its own; `answer` is typed at a question."""
    pid, master = pty.fork()
    if pid == 0:
        os.execv(support.MSP, [support.MSP, *words])
    text, end = b"", time.monotonic() + SECONDS
    while time.monotonic() < end:
        if not select.select([master], [], [], 1)[0]:
            continue
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        text += part
        if answer and b"[y/N]" in text:
            os.write(master, answer)
            answer = None
    os.close(master)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), text.decode("utf-8", "replace")


class Case(PersistentCase):
    def setUp(self):
        super().setUp()
        self.put("main.c", "int a;\n")
        self.id = self.create()

    def write_inside(self, path, text):
        self.sh(self.id, f"cat > '{path}'", input=text)


class InATerminal(Case):
    def assert_visible(self, text):
        self.assertEqual(found_hidden(text), [])
        self.assertIn("<U+202E>", text)
        self.assertIn("<U+200B>", text)
        self.assertIn("<U+E0041>", text)
        self.assertIn("<U+009B>", text)
        self.assertIn(SEEN, text)

    def test_a_diff(self):
        self.write_inside("main.c", LINE + "\n")
        for color in ("never", "always"):
            with self.subTest(color=color):
                code, text = in_terminal("diff", self.id, f"--color={color}")
                self.assertEqual(code, 0)
                self.assert_visible(text)

    def test_elsewhere_a_diff_is_exact(self):
        """The control: the characters are there, and `git apply` gets each of them. (Controls that
        a terminal obeys are in --patch alone.)"""
        git(self.project, "init", "-q")
        for options, hidden in ((["--patch"], HIDDEN), ([], HIDDEN.rstrip("\x85\x9b"))):
            with self.subTest(options=options):
                line = f"a = 1; /* {hidden} {SEEN} */\n"
                self.put("main.c", "int a;\n")
                self.write_inside("main.c", line)
                patch = msp("diff", self.id, *options).stdout
                self.assertEqual(len(found_hidden(patch)), len(hidden))
                git(self.project, "apply", "-", input=patch.encode())
                self.assertEqual(self.get("main.c").decode(), line)

    def test_the_question(self):
        self.write_inside(".envrc", LINE + "\n")
        code, text = in_terminal("apply", self.id, answer=b"n\n")
        self.assertEqual(code, 1, text)
        self.assertIn("Apply these too?", text)
        self.assert_visible(text)
        self.assertFalse(os.path.exists(os.path.join(self.project, ".envrc")))
        code, text = in_terminal("apply", self.id, answer=b"y\n")
        self.assertEqual(code, 0, text)
        self.assertEqual(self.get(".envrc").decode(), LINE + "\n", "as it was agreed to")

    def test_the_question_is_about_held_files(self):
        """A new program comes with the rest, and stands above what the question is about."""
        self.sh(self.id, "mkdir bin; touch bin/new; echo > .envrc; echo x > .mspignore")
        code, text = in_terminal("apply", self.id, answer=b"n\n")
        self.assertEqual(code, 1, text)
        self.assertRegex(text, r"not held back, and of a kind that tools execute:\r?\n  bin/new"
                               r"\r?\n\r?\nThis machine may execute these by itself:\r?\n  \.envrc"
                               r"\r?\n\r?\nThese decide what msp asks about:\r?\n  \.mspignore")
        self.assertEqual([os.path.exists(os.path.join(self.project, name))
                          for name in ("bin/new", ".envrc", ".mspignore")], [True, False, False])

    def test_names(self):
        self.write_inside(NAME, "\0\n")
        self.sh(self.id, f"ln -s '{TARGET}' link; mkdir .vscode; echo > .vscode/{NAME}")
        for words in (("diff",), ("diff", "--stat"), ("diff", "--name-only"), ("diff", "--json"),
                      ("diff", "--patch"), ("apply", "--preview"), ("apply", "--json"),
                      ("undo",)):
            with self.subTest(words=words):
                code, text = in_terminal(words[0], self.id, *words[1:])
                self.assertIn(code, (0, 1), text)
                self.assertEqual(found_hidden(text), [])
                self.assertRegex(text, r"\\342\\200\\256|\\u202e|<U\+202E>")

    def test_lines_on_stderr(self):
        """Also where that is no terminal: a log is shown in one later."""
        self.write_inside(NAME, "\0\n")
        self.write_inside(".envrc", "\n")
        self.sh(self.id, f"mkfifo {NAME}.fifo; mkdir d; ln -s x d/{NAME}")
        for words in (("diff", self.id, "--patch"), ("apply", self.id),
                      ("cp", "-r", f"{self.id}:d", os.path.dirname(self.project))):
            with self.subTest(words=words):
                text = msp(*words, code=None).stderr
                self.assertIn("left out: " if words[0] != "diff" else "left out, ", text)
                self.assertEqual(found_hidden(text), [])


class CommandLines(Case):
    """Words that a person or a program gives, often names of strangers' files, in refusals."""

    def test_no_refusal_says_them_as_they_are(self):
        word = "x\x1b[31m\x9b31m\u202ey\u200b" + SEEN
        for words in ((word,), ("apply", word), ("apply", self.id, word), ("diff", word),
                      ("diff", self.id, "--since", word), ("undo", word), ("stop", word),
                      ("destroy", word), ("exec", word, "--", "true"), ("exec", self.id, "--", word),
                      ("run", "--", word), ("run", f"--workspace={word}", "--", "true"),
                      ("run", f"--profile={word}", "--", "true"), ("cp", f"{word}:a", "."),
                      ("cp", f"{self.id}:{word}", "."), ("create", f"--name={word}"),
                      ("create", f"--image={word}"), ("image", "import", word), ("image", word),
                      ("commit", self.id, word), ("checkpoint", self.id, word), ("fork", word),
                      ("logs", word), ("network", word, word), ("bridge", word, "80"),
                      ("profile", "show", word), ("profile", "check", word),
                      ("profile", "diff", word, word), ("profile", word)):
            with self.subTest(words=words):
                result = msp(*words, code=None)
                self.assertNotEqual(result.returncode, 0)
                text = result.stdout + result.stderr
                self.assertEqual(found_hidden(text), [])
                self.assertNotIn("\x1b", text)
        self.assertIn(SEEN.split()[0], msp("apply", word, code=None).stderr, "the control")

    def test_no_answer_of_the_policy_says_them_as_they_are(self):
        program = os.path.join(support.BIN, "msp-policy")
        with tempfile.TemporaryDirectory(prefix="x\u202ey\u200b") as folder:
            path = os.path.join(folder, SEEN.split()[0])
            with open(path, "w", encoding="utf-8") as file:
                file.write("profiles: []\n")
            for words in (("explain", "default", f"read {path}"), ("check", "--config", path)):
                with self.subTest(words=words):
                    result = subprocess.run([program, *words], capture_output=True, text=True, check=True)
                    self.assertEqual(found_hidden(result.stdout), [])
                    self.assertIn(SEEN.split()[0], result.stdout, "the control")


class Links(Case):
    """A list that says no more than that there is a link agrees to anything."""

    def links(self):
        self.sh(self.id, "ln -s /home/user/.ssh/id_rsa logo.png; ln -s ../../etc d; "
                "ln -s main.c fine; echo > file; ln -s /etc/shadow .envrc")

    def assert_targets(self, text):
        for line in ("logo.png -> /home/user/.ssh/id_rsa", "d -> ../../etc", "fine -> main.c",
                     ".envrc -> /etc/shadow"):
            self.assertIn(line, text)
        self.assertNotIn("file ->", text)

    def test_in_lists(self):
        self.links()
        for words in (("apply", "--preview"), ("diff", "--stat")):
            with self.subTest(words=words):
                self.assert_targets(msp(words[0], self.id, *words[1:], code=None).stdout)

    def test_in_the_question(self):
        self.links()
        text = in_terminal("apply", self.id, answer=b"n\n")[1]
        self.assertRegex(text, r"lead out of the project:(\r?\n  .*)*\r?\n  \.envrc -> /etc/shadow")

    def test_renamed(self):
        os.symlink("main.c", os.path.join(self.project, "old"))
        box = self.create()
        self.sh(box, "mv old new; ln -s /etc/passwd other")
        text = msp("apply", box, "--preview", code=None).stdout
        self.assertIn("new -> main.c", text)
        self.assertIn("other -> /etc/passwd", text)


class ToAnAgent(persistent_mcp.Case):
    """What a model is told, and what its client shows to a user."""

    def setUp(self):
        super().setUp()
        self.box = self.create()
        for path, text in (("main.c", LINE), (".envrc", LINE)):
            self.text("write_sandbox_file", sandbox=self.box, path=path, content=text + "\n")
        self.text("write_sandbox_file", sandbox=self.box, path=NAME, content="x\n")
        self.run_in(self.box, f"ln -s '{TARGET}' .bashrc; ln -s /etc/shadow logo.png")

    def assert_visible(self, text):
        self.assertEqual(found_hidden(text), [])
        self.assertIn("logo.png -> /etc/shadow", text)

    def test_a_diff(self):
        text = self.text("diff_changes", sandbox=self.box)
        self.assert_visible(text)
        for escape in (r"\u202e", r"\u200b", r"\U000e0041", r"\u009b", SEEN):
            self.assertIn(escape, text)

    def test_lists(self):
        self.assert_visible(self.text("list_sandbox_files", sandbox=self.box))
        self.assert_visible(self.text("diff_changes", sandbox=self.box, text=False))
        self.assert_visible(self.text("preview_changes", sandbox=self.box))

    def test_the_question(self):
        self.server.close()  # the sandbox is used by one at a time
        self.server = self.start(reply={"action": "decline"})
        self.problem("apply_changes", sandbox=self.box)
        message = self.server.asked[0]["message"]
        self.assertEqual(found_hidden(message), [])
        self.assertRegex(message, r"^[^\n]{1,100}\n1 can run by itself; 2 lead outside; "
                                  r"1 new may run, not held$")
        # What the two lines cannot name, no answer applies.
        self.assertNotIn("apply everything", json.dumps(self.server.asked[0]))
        self.assertIn("apply all but held", json.dumps(self.server.asked[0]))

    def test_the_resource(self):
        content = self.server.request("resources/read", {"uri": f"sandbox://{self.box}/diff"})
        self.assert_visible(content["contents"][0]["text"])

    def test_a_file_is_read_as_it_is(self):
        """The control, and what editing needs; C1 controls alone are never passed on."""
        text = self.text("read_sandbox_file", sandbox=self.box, path="main.c")
        self.assertIn(LINE.replace("\x85", r"\u0085").replace("\x9b", r"\u009b"), text)

    def test_an_argument_in_a_sentence(self):
        for tool, arguments in (("read_sandbox_file",
                                 {"sandbox": self.box, "path": f"/none{NAME}"}),
                                ("diff_changes", {"sandbox": NAME}),
                                ("create_sandbox", {"workspace": f"/tmp/{NAME}"})):
            with self.subTest(tool=tool):
                self.assertEqual(found_hidden(self.problem(tool, **arguments)), [])


if __name__ == "__main__":
    unittest.main()
