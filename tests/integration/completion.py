#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The completions of three shells: each file parses, and offers commands, options, their values and
the names of sandboxes, as the shell itself completes them."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from cli_support import LIMITS, MSP, msp

SHELLS = ("bash", "zsh", "fish")
NAME = "completion-test"

# Complete "$1" in an interactive zsh, as a person would by pressing tab; "$3" keeps what zsh itself
# can complete, for the next.
ZSH = r"""
zmodload zsh/zpty
zpty inner 'PS1=; zsh -f -i'
zpty -w inner "PS1=; autoload -U compinit; compinit -u -d $3; . $2; unsetopt zle_bracketed_paste"
zpty -w inner 'zstyle ":completion:*" list-prompt ""; bindkey "^I" complete-word; echo READY'
while zpty -r inner line; do [[ $line == *READY* && $line != *echo* ]] && break; done
zpty -w -n inner "$1"$'\t'
zpty -w -n inner $'\C-a: \C-e\nexit\n'
while zpty -r inner line; do print -r -- $line; done
"""


def setUpModule():
    if os.environ.get("CI") == "true":
        return
    missing = [shell for shell in SHELLS if not shutil.which(shell)]
    if missing:
        raise unittest.SkipTest(f"not installed: {', '.join(missing)}")


class Completion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.environment = {**os.environ, "HOME": cls.folder, "TERM": "dumb", "MSP_STATE_DIR":
                           os.path.join(cls.folder, "state"),
                           "PATH": f"{os.path.dirname(MSP)}:{os.environ['PATH']}"}
        cls.files = {}
        for shell in SHELLS:
            cls.files[shell] = os.path.join(cls.folder, f"msp.{shell}")
            result = msp("completion", shell)
            assert result.returncode == 0, result.stderr
            with open(cls.files[shell], "w", encoding="utf-8") as file:
                file.write(result.stdout)
        cls.made = msp("create", "--name", NAME, env=cls.environment)

    def shell(self, *words):
        result = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False,
                                env=self.environment, stdin=subprocess.DEVNULL, cwd=self.folder)
        return result.stdout + result.stderr

    def bash(self, *words):
        line = " ".join(f"'{word}'" for word in words)
        return self.shell("bash", "-c", f"source {self.files['bash']}; COMP_WORDS=({line}); "
                          f"COMP_CWORD={len(words) - 1}; _msp; printf '%s\\n' \"${{COMPREPLY[@]}}\""
                          ).split()

    def fish(self, line):
        text = self.shell("fish", "--no-config", "-c",
                          f"source {self.files['fish']}; complete -C '{line}'")
        return [word.split("\t")[0] for word in text.splitlines()]

    def zsh(self, line):
        return self.shell("zsh", "-f", "-c", ZSH, "zsh", line, self.files["zsh"],
                          os.path.join(self.folder, "zcompdump"))

    def test_each_file_parses(self):
        for shell in SHELLS:
            with self.subTest(shell=shell):
                self.assertEqual(self.shell(shell, "-n", self.files[shell]), "")

    def test_each_file_has_every_option(self):
        commands = re.findall(r"(?m)^  ([a-z-]+) ", msp("help", "commands").stdout)
        self.assertGreater(len(commands), 25)
        for command in commands:
            options = set(re.findall(r"(?<![\w-])--([a-z-]+)",
                                     msp(command, "--help").stdout.split("options:")[-1]))
            offered = {word.rstrip("=") for word in self.bash("msp", command, "--")}
            shown = {word.split("=")[0] for word in self.fish(f"msp {command} --")}
            for option in re.findall(r"(?m)^  (?:-., )?--([a-z-]+)", msp(command, "--help").stdout):
                with self.subTest(command=command, option=option):
                    self.assertIn("--" + option, offered)
                    self.assertIn("--" + option, shown)
                    self.assertIn(option, options)

    def test_bash(self):
        self.assertEqual(self.bash("msp", "ru"), ["run"])
        self.assertEqual(self.bash("msp", "run", "--timeo"), ["--timeout="])
        self.assertEqual(self.bash("msp", "run", "--limits", "=", "f"), ["fallback"])
        self.assertEqual(self.bash("msp", "create", "--limits", "="), [])
        self.assertEqual(self.bash("msp", "audit", ""), ["show", "verify", "follow"])
        self.assertEqual(self.bash("msp", "-C", ".", "aud"), ["audit"])

    def test_fish(self):
        self.assertIn("run", self.fish("msp ru"))
        self.assertIn("--timeout", [word.rstrip("=") for word in self.fish("msp run --timeo")])
        self.assertIn("verify", self.fish("msp audit ver"))
        self.assertEqual(self.fish("msp run --limits f"), ["fallback"])

    def test_zsh(self):
        self.assertIn("msp completion", self.zsh("msp complet"))
        self.assertIn("audit verify", self.zsh("msp audit ver"))
        self.assertIn("--timeout=", self.zsh("msp run --timeo"))

    def test_names_of_sandboxes(self):
        if self.made.returncode != 0:
            self.skipTest(self.made.stderr.strip())
        self.assertEqual(self.bash("msp", "exec", "compl"), [NAME])
        self.assertEqual(self.bash("msp", "destroy", "other", "compl"), [NAME])
        self.assertIn(NAME, self.fish("msp diff "))
        self.assertNotIn(NAME, self.fish("msp create "))
        self.assertIn(f"diff {NAME}", self.zsh("msp diff compl"))

    def test_runs(self):
        self.assertIn("-1", self.bash("msp", "apply", "-"))
        self.assertIn("-1", self.fish("msp diff "))
        self.assertNotIn("-1", self.bash("msp", "create", "-"))

    def test_names_behind_actions(self):
        """Images, whose names may have colons, tools of caches, secrets' profiles, machines, tokens."""
        bin_folder = os.path.join(self.folder, "stand-in")
        os.makedirs(bin_folder, exist_ok=True)
        with open(os.path.join(bin_folder, "msp"), "w", encoding="ascii") as file:
            file.write("""#!/bin/sh
case "$*" in
"image list -q") printf '%s\\n' python:3.12 python:3.13 alpine ;;
"vm list -q") echo 6.12.0-amd64 ;;
"token list -q") echo laptop ;;
"profile list -q") printf '%s\\n' 'mine  a text' 'python-dev  another' ;;
esac
""")
        os.chmod(os.path.join(bin_folder, "msp"), 0o755)
        before = self.environment
        self.environment = {**before, "PATH": f"{bin_folder}:{before['PATH']}"}
        self.addCleanup(setattr, self, "environment", before)
        self.assertEqual(self.bash("msp", "image", ""),
                         ["import", "pull", "list", "show", "remove", "prune"])
        for words, found in ((["image", "show", "al"], ["alpine"]),
                             (["image", "remove", "python", ":", "3.13"], ["3.13"]),
                             (["image", "remove", "python", ":"], ["3.12", "3.13"]),
                             (["image", "remove", "py"], ["python:3.12", "python:3.13"]),
                             (["image", "import", ""], []), (["vm", "remove", "6"], ["6.12.0-amd64"]),
                             (["vm", "prepare", "6"], []), (["cache", "add", "np"], ["npm"]),
                             (["cache", ""], ["add"]), (["secret", "check", "m"], ["mine"]),
                             (["token", "revoke", ""], ["laptop"]),
                             (["profile", "show", "py"], ["python-dev"])):
            with self.subTest(words=words):
                self.assertEqual(self.bash("msp", *words), found)
        for line, found in (("image show ", "alpine"), ("vm remove ", "6.12.0-amd64"),
                            ("cache add ", "npm"), ("secret check ", "mine")):
            with self.subTest(line=line):
                self.assertIn(found, self.fish("msp " + line))
                self.assertNotIn(found, self.fish("msp " + line.split()[0] + " "))
        for line, found in (("image show al", "alpine"), ("image remove python:3.13", "3.13"),
                            ("vm remove 6.1", "6.12.0-amd64"), ("cache add np", "npm"),
                            ("secret check m", "mine")):
            with self.subTest(line=line):
                self.assertIn(found, self.zsh("msp " + line))

    def test_names_of_profiles(self):
        self.assertEqual(self.bash("msp", "run", "--profile", "=", "pyt"), ["python-dev"])
        self.assertEqual(self.bash("msp", "create", "--profile", "=", "m"), ["minimal"])
        self.assertEqual(self.fish("msp shell --profile n"), ["node-dev"])
        self.assertIn("--profile=rust-dev", self.zsh("msp run --profile=ru"))

    def test_ids_of_commands(self):
        if self.made.returncode != 0:
            self.skipTest(self.made.stderr.strip())
        started = msp("exec", *LIMITS, "-d", NAME, "--", "sleep", "1000", env=self.environment)
        one = started.stdout.strip()
        self.addCleanup(msp, "kill", one, env=self.environment)
        self.assertEqual(self.bash("msp", "attach", one[:2]), [one])
        self.assertIn(one, self.fish("msp wait "))
        self.assertIn(f"kill {one}", self.zsh(f"msp kill {one[:2]}"))

    def test_wrong_words(self):
        for words in ((), ("tcsh",), ("bash", "zsh")):
            result = msp("completion", *words)
            self.assertEqual((result.returncode, result.stdout), (64, ""))
        self.assertRegex(msp("completion", "fihs").stderr, r"did you mean 'fish'")


if __name__ == "__main__":
    unittest.main()
