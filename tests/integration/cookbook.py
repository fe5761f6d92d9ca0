#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/cookbook.md: each wish is one command, and each command has the output that the page shows; so has
each of a section of docs/sandboxes.md. tests/packages/life.py runs the commands that need root."""
import contextlib
import os
import random
import re
import socket
import sys
import unittest

import support
from persistent_support import PersistentCase, msp
from service import Service

sys.path.insert(0, os.path.join(support.ROOT, "tests"))
import sessions  # noqa: E402

WISH = re.compile(r"^\| \[([^]]+)\]\(#([^)]+)\) \| `([^`]+)` \|$", re.M)
AS_ROOT = ["Install", "Upgrade", "Remove"]
BRIDGE = "See the agent's web server in a browser"
# For that wish: all goes through a service, and `msp bridge` has a terminal of its own.
WRAPPER = "#!/bin/sh" """
word=$1
shift
case $word:$1 in
bridge:--*) ;;
bridge:*)
	: >{folder}/said
	{msp} bridge --socket={socket} "$@" </dev/null >{folder}/said 2>&1 &
	until [ "$(wc -l <{folder}/said)" -ge 2 ]; do sleep 0.1; kill -0 $! || break; done
	exec cat {folder}/said ;;
exec:*) set -- {limits} "$@" ;;
esac
exec {msp} "$word" --socket={socket} "$@"
"""
BROWSER = """\
#!/usr/bin/env python3
import sys, urllib.request
sys.exit(b"def greet" not in urllib.request.urlopen(sys.argv[1], timeout=20).read())
"""
AWAIT = ("until msp exec anna -- python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", "
         "5000))' 2>/dev/null; do sleep 0.1; done")


def free_port(among):
    for port in random.sample(among, len(among)):
        with socket.socket() as found, contextlib.suppress(OSError):
            found.bind(("127.0.0.1", port))
            return str(port)
    raise AssertionError("no port is free")


def page(name="cookbook.md"):
    with open(os.path.join(support.ROOT, "docs", name), encoding="utf-8") as file:
        return file.read()


class Cookbook(PersistentCase):
    def setUp(self):
        super().setUp()
        if os.geteuid() == 0:
            self.skipTest("needs an ordinary user")
        self.addCleanup(msp, "destroy", "--all", "--yes")
        programs = os.path.join(self.state, "bin")
        os.mkdir(programs)
        with open(os.path.join(programs, "msp"), "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\ncase $1 in run | exec) word=$1; shift;\n"
                       f"exec {support.MSP} \"$word\" {' '.join(support.limits())} \"$@\" ;; esac\n"
                       f"exec {support.MSP} \"$@\"\n")
        os.chmod(file.name, 0o700)
        home = os.path.join(self.state, "home")
        os.mkdir(home)
        with open(os.path.join(home, ".gitconfig"), "w", encoding="utf-8") as file:
            file.write("[user]\nname = Anna\nemail = anna@example.org\n")
        self.environment = {"PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin", "HOME": home,
                            "LANG": "C.UTF-8", "MSP_STATE_DIR": self.state, "GIT_CONFIG_NOSYSTEM": "1"}

    def test_each_command_has_the_output_of_the_page(self):
        wishes = sessions.sections(page())
        session = [command for title, commands in wishes.items()
                   for command in commands if title not in (*AS_ROOT, BRIDGE)]
        self.assertGreater(len(session), 20)
        self.assertEqual(sessions.faults(session, self.project, self.environment), [])
        self.see_in_a_browser(wishes[BRIDGE])

    def see_in_a_browser(self, session):
        folder = os.path.join(self.state, "bridge")
        os.mkdir(folder)
        path = os.path.join(folder, "s.sock")
        for name, text in (("msp", WRAPPER.format(msp=support.MSP, socket=path, folder=folder,
                                                  limits=" ".join(support.limits()))),
                           ("xdg-open", BROWSER)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(file.name, 0o700)
        self.environment["PATH"] = f"{folder}:{self.environment['PATH']}"
        at = next(i for i, (command, _) in enumerate(session) if command.startswith("msp bridge"))
        session = [*session[:at], (AWAIT, ""), *session[at:]]
        port = free_port(range(5000, 10000))  # as long as the page's
        session = [(command.replace("5000", port), shown.replace("5000", port))
                   for command, shown in session]
        with Service(path):
            self.assertEqual(sessions.faults(session, os.path.join(self.project, "greeter"),
                                             self.environment), [])

    def test_conflicts_and_commits(self):
        session = sessions.sections(page("sandboxes.md"))["Conflicts and commits"]
        self.assertGreater(len(session), 20)
        self.assertEqual(sessions.faults(session, self.project, self.environment), [])

    def test_another_output_and_a_failed_command_are_faults(self):
        session = [("echo one", "one\n"), ("echo two", "2\n"), ("false", ""), ("exit 0", ""),
                   ("echo three", "three\n")]
        found = sessions.faults(session, self.project, self.environment)
        self.assertEqual([fault.splitlines()[0] for fault in found],
                         ["not run: exit 0", "not run: echo three", "$ echo two", "$ false"])


class Page(unittest.TestCase):
    def test_each_wish_has_its_command(self):
        found = sessions.sections(page())
        wishes = WISH.findall(page())
        self.assertEqual(len(wishes), 13)
        self.assertEqual([title for title, _, _ in wishes], [title for title in found if title])
        for title, anchor, command in wishes:
            self.assertEqual(anchor, title.lower().replace(" ", "-").replace("'", ""))
            self.assertIn(command, [shown for shown, _ in found[title]])

    def test_root_has_the_last_three(self):
        needs_root = [title for title, commands in sessions.sections(page()).items()
                      if any(command.startswith("sudo ") for command, _ in commands)]
        self.assertEqual(needs_root, AS_ROOT)

    def test_dots_stand_for_any_lines(self):
        for shown, output, fits in (("...\nb\n", "b\n", True), ("...\nb\n", "a\na\nb\n", True),
                                    ("b\n...\n", "b\nc\n", True), ("b\n", "b\nc\n", False),
                                    ("...\nb\n", "a\n", False), ("a b\n", "a  b\n", False)):
            with self.subTest(shown=shown, output=output):
                self.assertEqual(sessions.fits(shown, output), fits)

    def test_differences_between_runs_are_written_in_one_way(self):
        self.assertEqual(sessions.normal("df432dd Greet\n5mvgfttx690ygp4z1gbf67xbt8\n"
                                         "Setting up msp (0.1.0-1) ...\nRan 1 test in 0.025s\n"),
                         "HASH Greet\nID\nSetting up msp (VERSION) ...\nRan 1 test in SECONDS\n")


if __name__ == "__main__":
    unittest.main()
