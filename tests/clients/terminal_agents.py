# SPDX-License-Identifier: Apache-2.0
"""Claude Code, Codex and Gemini CLI in a terminal, each with a home of its own, the configuration
that `msp client-config` prints, and a scripted model. Nothing here is a test."""
import glob
import json
import os
import random
import shutil
import string
import subprocess

import packages
import support
from scripted_model import Model
from terminal import Terminal

KEY = "sk-scripted-0123456789abcdef"
CONFIG = """\
default_profile: mine
profiles:
  - name: mine
    description: a test
    extends: default
    lasting:
      apply: ask
"""
# With hosts a tool that runs something is one of an open world, of which Codex asks before each call.
ASKING = """  - name: asking
    description: a test
    extends: default
    network: hosts
    hosts: []
    host_approval: ask
"""


def make_home():
    """A new home whose path is as long as /home/user, so that screens keep their columns."""
    while True:
        path = "/tmp/tmp" + "".join(random.choices(string.ascii_lowercase, k=2))
        try:
            os.mkdir(path, 0o700)
            return path
        except FileExistsError:
            pass


class Agent:
    """One session. `script`: the calls for a project; `program`: the file to start instead of msp.
    Use as a context manager."""

    name = None  # for `msp client-config`
    config = CONFIG

    def __init__(self, script, program=None, **options):
        self.home = make_home()
        self.project = os.path.join(self.home, "greeter")
        self.model, self.terminal = Model(script(self.project), **options), None
        try:
            self.put("greeter/README", "old\n")
            self.put(".config/msp/config.yaml", self.config)
            self.configuration = self.ask_configuration(program)
            self.configure()
        except BaseException:
            shutil.rmtree(self.home)
            raise

    def put(self, path, text):
        path = os.path.join(self.home, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, path):
        with open(os.path.join(self.project, path), encoding="utf-8") as file:
            return file.read()

    def has(self, path):
        return os.path.lexists(os.path.join(self.project, path))

    def ask_configuration(self, program):
        printed = subprocess.run(
            [support.MSP, "client-config", *support.limits(), f"--workspace={self.project}",
             self.name], env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=60, check=True).stdout
        assert support.MSP in printed, printed
        return printed.replace(support.MSP, program) if program else printed

    def environment(self):
        """The way out is the model, which refuses it."""
        ways = {name: self.model.url for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy",
                                                  "https_proxy")}
        return {"PATH": "/usr/bin:/bin", "HOME": self.home, "LANG": "C.UTF-8", **ways,
                "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", **self.own_environment()}

    def own_environment(self):
        return {}

    def __enter__(self):
        self.model.__enter__()
        try:
            self.terminal = Terminal(self.home, self.command("Apply the changes."),
                                     self.environment(), self.project).__enter__()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.terminal:
            self.terminal.__exit__()
        self.model.__exit__()
        shutil.rmtree(self.home, ignore_errors=True)

    def press(self, *keys):
        self.terminal.keys(*keys)

    def see(self, *texts):
        return self.terminal.wait_for(*texts)

    def wait_results(self, count, seconds=90):
        """Wait for the results of as many calls; returns the last text."""
        if not support.wait_until(lambda: len(self.model.results) >= count, seconds):
            raise AssertionError(f"{len(self.model.results)} results, not {count}:\n"
                                 + self.terminal.screen())
        return self.model.results[count - 1]


class ClaudeCode(Agent):
    name = "claude"
    config = CONFIG + ASKING

    def configure(self):
        self.put("greeter/.mcp.json", self.configuration)
        self.put(".claude/settings.json", json.dumps({"permissions": {"allow": ["mcp__msp"]}}))
        self.put(".claude.json", json.dumps({
            "hasCompletedOnboarding": True, "theme": "dark",
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {self.project: {
                "hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True,
                "enabledMcpjsonServers": ["msp"]}}}))

    def own_environment(self):
        return {"ANTHROPIC_BASE_URL": self.model.url, "ANTHROPIC_API_KEY": KEY,
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
                "DISABLE_TELEMETRY": "1", "ENABLE_TOOL_SEARCH": "0"}

    def command(self, prompt):
        return [packages.module("@anthropic-ai", "claude-code-linux-x64", "claude",
                                source=packages.AGENTS), prompt]


class Codex(Agent):
    name = "codex"

    def configure(self):
        self.put(".codex/config.toml", f'''\
model = "scripted"
model_provider = "scripted"
approval_policy = "on-request"
sandbox_mode = "read-only"
check_for_update_on_startup = false
[model_providers.scripted]
name = "scripted"
base_url = "{self.model.url}/v1"
wire_api = "responses"
[projects."{self.project}"]
trust_level = "trusted"
[features]
daemon_auto_start = false
plugins = false
remote_plugin = false
apps = false
[tui]
animations = false
show_tooltips = false
[analytics]
enabled = false
''' + self.configuration)

    def command(self, prompt):
        (program,) = glob.glob(packages.module("@openai", "codex-linux-x64", "vendor", "*", "bin",
                                               "codex", source=packages.AGENTS))
        return [program, prompt]


class GeminiCli(Agent):
    name = "gemini"

    def configure(self):
        self.put(".gemini/settings.json", json.dumps({
            **json.loads(self.configuration), "model": {"name": "gemini-2.5-pro"},
            "security": {"auth": {"selectedType": "gemini-api-key"},
                         "folderTrust": {"enabled": False}},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False},
            "ui": {"hideTips": True, "hideBanner": True}}))

    def own_environment(self):
        return {"GOOGLE_GEMINI_BASE_URL": self.model.url, "GEMINI_API_KEY": KEY,
                "GEMINI_CLI_NO_RELAUNCH": "true", "COLORTERM": "truecolor"}

    def command(self, prompt):
        return [packages.node(), packages.module("@google", "gemini-cli", "bundle", "gemini.js",
                                                 source=packages.AGENTS), "-i", prompt]
