#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A day's work of each agent inside, in 28 commands of its own tool: it reads, writes, runs and
commits, and meets what a sandbox refuses; then the person takes the work over."""
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

import inside_agents  # noqa: E402
from agent_terminals import setUpModule, tearDownModule  # noqa: E402, F401  (unittest calls them)
from agents_inside import EVERY  # noqa: E402
from inside_agents import KEY, PROMPT, Inside  # noqa: E402

# What the model has the agent run, and what the result shows.
DAY = (
    ("pwd", r"/workspace"),
    ("ls -a", r"README"),
    ("cat README", r"old"),
    ("git status -sb | head -1", r"## main"),
    ("git log --oneline", r"Begin"),
    ("printf 'def greet(n):\\n    return \"Hello, \" + n\\n' > greet.py; "
     "python3 -c 'import greet; print(greet.greet(\"Ada\"))'", r"Hello, Ada"),
    ("mkdir -p src/a && mv greet.py src/a/ && ls src/a", r"greet\.py"),
    ("git mv README README.md && git status --short", r"R  README -> README\.md"),
    ("git checkout -q -b topic && git add -A && git commit -qm 'Move files' && git log --oneline",
     r"Move files"),
    ("git checkout -q main && git merge -q topic && git log --oneline | wc -l", r"\b2\b"),
    ("git branch --list", r"topic"),
    ("echo text > 'ü name.txt'; ls", r"ü name\.txt"),
    ("ln -s src/a link && readlink link", r"src/a"),
    ("printf '#!/bin/sh\\necho ran $1\\n' > run.sh; chmod +x run.sh; ./run.sh it", r"ran it"),
    ("rm link; ls link 2>&1; true", r"No such file"),
    ("seq 100000 | tail -1", r"100000"),
    ("false; echo code $?", r"code 1"),
    ("mktemp && echo made", r"/tmp/tmp\.\w+\s+made"),
    ("dd if=/dev/zero of=big bs=1M count=64 2>/dev/null; stat -c %s big; rm big", r"67108864"),
    ("timeout 9 python3 -m http.server 8123 --bind 127.0.0.1 >/dev/null 2>&1 & "
     "until curl -sf http://127.0.0.1:8123/README.md; do :; done", r"old"),
    ("timeout 1 tail -f /dev/null; echo code $?", r"code 124"),
    # What is refused.
    ("env | grep -c sk-planted; echo looked", r"\b0\s+looked"),
    ("cat ~/.ssh/id_ed25519 /home/*/.ssh/id_ed25519 2>&1; true", r"No such file"),
    ("ls /root /home 2>&1; true", r"agent"),
    ("echo x 2>&1 > /usr/bin/x; echo code $?", r"code [1-9]"),
    ("curl -sS --max-time 9 https://unlisted.example.com 2>&1; true", r"Could not resolve host"),
    ("git push https://github.com/someone/greeter.git main 2>&1; true", r"Could not resolve host"),
    ("git status --short", r"run\.sh"),
)


class Worker:
    """An agent whose model has it do the day."""

    def __init__(self, agent):
        self.agent = agent

    def __getattr__(self, name):
        return getattr(self.agent, name)

    def script(self):
        return [(self.agent.tool, self.agent.arguments(command)) for command, _ in DAY]


class Tried:
    agent = None

    def begin(self):
        inside = Inside(Worker(self.agent))
        inside.put(".gitconfig", "[user]\n\tname = Ada\n\temail = ada@example.com\n")
        self.git(inside, "init", "-q", "-b", "main")
        if self.agent.name == "gemini":  # its tool leaves the person's configuration out, outside too
            self.git(inside, "config", "user.name", "Ada")
            self.git(inside, "config", "user.email", "ada@example.com")
        self.git(inside, "add", ".")
        self.git(inside, "commit", "-qm", "Begin")
        return inside

    def git(self, inside, *words):
        done = inside.run(["git", *words])
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def check_day(self, inside):
        results = inside.model.results
        self.assertEqual(len(results), len(DAY), results)
        for (command, shown), result in zip(DAY, results):
            with self.subTest(command=command):
                self.assertRegex(result, re.compile(shown))
        self.assertNotIn(KEY, inside.model.asked)
        self.assertEqual(inside.read("README"), "old\n")
        self.assertEqual(sorted(os.listdir(inside.project)), [".git", "README"])
        self.assertEqual(self.git(inside, "log", "--format=%s"), "Begin\n")

    def check_taken(self, inside):
        self.assertEqual(inside.read("run.sh"), "#!/bin/sh\necho ran $1\n")
        self.assertIn("Move files Ada", self.git(inside, "log", "--all", "--format=%s %an"))

    def test_without_a_terminal(self):
        with self.begin() as inside:
            result = inside.prompt_once()
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.check_day(inside)
            applied = inside.msp("apply", self.agent.name + "-greeter")
            # 1: opencode has a file of its own in .git, which stays.
            self.assertEqual(applied.returncode, self.agent.name == "opencode", applied.stderr)
            self.check_taken(inside)

    def test_in_a_terminal(self):
        with self.begin() as inside:
            inside.open(*self.agent.model)
            inside.see(*self.agent.ready)
            inside.send(PROMPT)
            inside.wait_results(len(DAY), 180)
            inside.see("Done.")
            self.check_day(inside)
            inside.leave("files into ")
            inside.send("apply")
            inside.see("applied")
            self.check_taken(inside)


class Claude(Tried, unittest.TestCase):
    agent = inside_agents.Claude()
    test_without_a_terminal = EVERY(Tried.test_without_a_terminal)


@EVERY
class Codex(Tried, unittest.TestCase):
    agent = inside_agents.Codex()


@EVERY
class Gemini(Tried, unittest.TestCase):
    agent = inside_agents.Gemini()


@EVERY
class Qwen(Tried, unittest.TestCase):
    agent = inside_agents.Qwen()


@EVERY
class OpenCode(Tried, unittest.TestCase):
    agent = inside_agents.OpenCode()


@EVERY
class Copilot(Tried, unittest.TestCase):
    agent = inside_agents.Copilot()


if __name__ == "__main__":
    unittest.main()
