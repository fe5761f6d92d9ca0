#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Wrong command lines, help, the doctor, and client configurations."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from cli_support import LIMITS, MSP, SECONDS, msp

COMMANDS = ("shell", "completion", "cp", "token", "profile", "policy", "network", "secret", "image", "commit", "vm", "cache", "audit", "run", "create", "exec", "ps", "attach", "wait", "kill", "list", "logs", "stop", "destroy", "checkpoint", "checkpoints",
            "rollback", "fork", "forget", "diff", "apply", "undo", "serve", "status", "doctor",
            "setup", "client-config", "version", "help")
CONTROLLERS = ("cpu", "memory", "pids")
# What is missing there keeps nothing from running.
INFORMATION = ("delegation", "descriptors", "service", "persistent", "hosts", "secrets")


class Wrong(unittest.TestCase):
    def wrong(self, *arguments, says):
        result = msp(*arguments)
        self.assertEqual(result.returncode, 64, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertRegex(result.stderr, says)

    def test_commands(self):
        self.wrong(says=r"^msp: a command is missing.*msp help")
        self.wrong("rnu", says=r"no command 'rnu' \(did you mean 'run'\?\)")
        self.wrong("docter", says=r"did you mean 'doctor'")
        self.wrong("export", says=r"^msp: there is no command 'export'\. 'msp help' shows")
        self.wrong("help", "srve", says=r"did you mean 'serve'")

    def test_options(self):
        self.wrong("run", "--timout=3", "--", "true", says=r"did you mean '--timeout'.*help run")
        self.wrong("run", "-x", "true", says=r"no option '-x'")
        self.wrong("run", "--json=yes", "true", says=r"--json takes no value")
        self.wrong("run", "--profile", says=r"--profile needs a value")
        self.wrong("doctor", "--jsn", says=r"did you mean '--json'")
        self.wrong("serve", "now", says=r"'now' is one word too many")
        self.wrong("create", "x", says=r"'x' is one word too many; a name is given as --name=NAME")
        self.wrong("version", "1", says=r"'1' is one word too many")

    def test_options_of_every_command(self):
        self.wrong("-C", "/no/such", "version", says=r"--directory: '/no/such' is refused.*ENOENT")
        self.wrong("version", "-C", says=r"--directory needs a value")
        self.wrong("-q", says=r"a command is missing")
        self.wrong("-x", "run", says=r"no option '-x'")
        self.wrong("--quite", "run", says=r"did you mean '--quiet'")
        for words in (("-q", "-C", "/", "version"), ("version", "--quiet", "--directory=/")):
            self.assertEqual(msp(*words).returncode, 0)
        self.assertEqual(msp("-q", "--help").stdout, msp("help").stdout)

    def test_a_directory_is_entered_before_other_options(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "shown"))
            result = msp("-C", folder, "run", *LIMITS, "--ro=shown:/shown", "--", "ls", "/")
            self.assertIn("shown\n", result.stdout, result.stderr)

    def test_values(self):
        self.wrong("run", "--timeout=0", "true", says=r"--timeout: '0' is refused.*above 0")
        self.wrong("run", "--timeout=soon", "true", says=r"'soon' is refused.*such as 10s, 500ms")
        self.wrong("run", "--limits=none", "true", says=r"'none'.*'required'.*'fallback'")
        self.wrong("run", "--env=1A=2", "true", says=r"'1A=2'.*NAME=VALUE")
        self.wrong("run", "--env=A=1", "--env=A=2", "true", says=r"not given before")
        self.wrong("run", "--cwd=here", "true", says=r"'here'.*absolute path.*/workspace")
        self.wrong("run", "--profile=a/b", "true", says=r"'a/b'.*letters, digits")
        self.wrong("run", "--ro=", "true", says=r"HOST or HOST:INSIDE")

    def test_no_command_to_run(self):
        self.wrong("run", says=r"msp run -- CMD")
        self.wrong("run", "--json", "--", says=r"msp run -- CMD")

    def test_control_characters_are_not_passed_to_the_terminal(self):
        result = msp("\x1b[31mred\r\n")
        self.assertNotRegex(result.stderr.rstrip("\n"), r"[\x00-\x1f\x7f]")


class Help(unittest.TestCase):
    def test_overview(self):
        for arguments in (["help"], ["--help"], ["-h"]):
            result = msp(*arguments)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            lines = result.stdout.splitlines()
            self.assertLessEqual(len(lines), 24)
            self.assertLessEqual(max(map(len, lines)), 80)
            self.assertEqual(sum(line.startswith("  msp ") for line in lines), 3)
            for command in COMMANDS:
                self.assertRegex(result.stdout, rf"(?m)^  .* {command}( |$)")

    def test_a_line_for_each_command(self):
        text = msp("help", "commands").stdout
        for command in COMMANDS:
            self.assertRegex(text, rf"(?m)^  {command} +[a-z]")

    def test_common_options_are_explained_once(self):
        text = msp("help", "options").stdout
        for option in ("-C, --directory", "-q, --quiet", "--config", "--standalone", "--socket",
                       "--run-as", "--limits"):
            self.assertRegex(text, rf"(?m)^  {option}\b")
        shown = msp("help", "exec").stdout
        self.assertNotRegex(shown, r"(?m)^  --(config|socket|run-as|standalone)\b")
        self.assertRegex(re.sub(r"\s+", " ", shown), r"explains -C, -q, --limits, --config, ")

    def test_each_command(self):
        for command in COMMANDS:
            result = msp("help", command)
            self.assertEqual(result.returncode, 0)
            self.assertEqual(result.stdout, msp(command, "--help").stdout)
            self.assertTrue(result.stdout.startswith(f"usage: msp {command}"))
            self.assertLessEqual(max(map(len, result.stdout.splitlines())), 80)

    def test_version(self):
        for word in ("version", "--version", "-V"):
            self.assertRegex(msp(word).stdout, r"^msp \d+\.\d+\.\d+\n$")

    def test_a_full_disk_is_noticed(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            self.assertNotEqual(msp("help", stdout=full).returncode, 0)
            self.assertNotEqual(msp("doctor", "--json", stdout=full).returncode, 0)


def available_controllers():
    """What the cgroup v2 directory of this process offers, read as a person would."""
    with open("/proc/self/cgroup", encoding="ascii") as file:
        own = [line.split(":", 2)[2].strip() for line in file if line.startswith("0::")]
    for mount in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        try:
            with open(mount + own[0] + "/cgroup.controllers", encoding="ascii") as file:
                return file.read().split()
        except (OSError, IndexError):
            continue
    return None


class Doctor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.result = msp("doctor", "--json")
        cls.report = json.loads(cls.result.stdout)
        cls.probes = {probe["name"]: probe for probe in cls.report["probes"]}

    def test_the_probes(self):
        for name in ("architecture", "kernel", "landlock", "user-namespace",
                     "overlay", "cgroup", "cgroup-clone", "audit", "persistent", "files",
                     "account", "descriptors", "posture", "groups", "hosts", "secrets"):
            with self.subTest(probe=name):
                probe = self.probes[name]
                self.assertIn(probe["status"], ("ok", "missing", "note", "skipped"))
                self.assertTrue(probe["tried"] and probe["why"])
                if probe["status"] == "missing":
                    self.assertTrue(probe["fix"] and probe["happened"])

    def test_the_exit_code(self):
        self.assertEqual(self.result.returncode, 0 if self.report["ok"] else 78)
        missing = {name for name, probe in self.probes.items()
                   if probe["status"] == "missing" and name not in INFORMATION}
        self.assertEqual(self.report["ok"], not missing)
        self.assertEqual(self.report["ok_with_limits_fallback"],
                         not missing - {"cgroup", "cgroup-clone"})

    def test_it_says_what_run_does(self):
        expected = 0 if self.report["ok_with_limits_fallback"] else 78
        self.assertEqual(msp("run", "--limits=fallback", "--", "true").returncode, expected)
        expected = 0 if self.report["ok"] else 78
        self.assertEqual(msp("run", "--", "true").returncode, expected)

    def test_landlock_is_measured(self):
        self.assertRegex(self.probes["landlock"]["happened"], r"ABI \d+, needed is 6")

    def test_the_posture_is_that_of_a_sandbox(self):
        probe = self.probes["posture"]
        if not self.report["ok_with_limits_fallback"]:
            self.skipTest("no sandbox can be made here")
        self.assertEqual(probe["status"], "ok")
        self.assertRegex(probe["happened"], r"^1\d layers hold; not tried: landlock tcp")
        ran = json.loads(msp("run", "--json", "--limits=fallback", "--", "true").stdout)
        self.assertIn(ran["posture"]["filter_sha256"][:12], probe["happened"])

    def test_missing_controllers_are_named_with_their_fix(self):
        here = available_controllers()
        if here is None or all(name in here for name in CONTROLLERS):
            self.skipTest("the controllers are there")
        probe = self.probes["cgroup"]
        self.assertEqual(probe["status"], "missing")
        for name in CONTROLLERS:
            if name not in here:
                self.assertRegex(probe["happened"], rf"missing: [a-z, ]*\b{name}\b")
        self.assertIn('"' + " ".join(here) + '"', probe["happened"])
        self.assertIn("'limits: fallback' in the configuration", probe["fix"])
        with open("/proc/cgroups", encoding="ascii") as file:
            on_v1 = [line.split()[0] for line in file if line.split()[1] not in ("0", "hierarchy")]
        if "memory" in on_v1 and "memory" not in here:
            self.assertIn("cgroup v1", probe["happened"])
            self.assertIn("systemd.unified_cgroup_hierarchy=1", probe["fix"])

    def test_for_a_person(self):
        result = msp("doctor")
        self.assertEqual(result.returncode, self.result.returncode)
        self.assertNotIn("\x1b", result.stdout, "colors are for terminals")
        for name in self.probes:
            self.assertRegex(result.stdout, rf"(?m)^  (ok|missing|note|skipped) +{name} ")
        for line in result.stdout.splitlines():
            self.assertTrue(len(line) <= 100 or len(line.split()) == 1, line)
        if not self.report["ok"] and self.report["ok_with_limits_fallback"]:
            self.assertRegex(result.stdout, r"would start with .limits: fallback. in the configuration")

    def test_programs_that_are_not_there(self):
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            os.chmod(folder, 0o755)
            alone = shutil.copy(MSP, folder)
            result = subprocess.run([alone, "doctor"], capture_output=True, text=True,
                                    timeout=SECONDS, check=False, stdin=subprocess.DEVNULL)
            self.assertEqual(result.returncode, 78)
            self.assertRegex(result.stdout, r"missing +files ")
            self.assertIn("cannot run here", result.stdout)
            result = subprocess.run([alone, "run", "--limits=fallback", "true"], text=True,
                                    capture_output=True, timeout=SECONDS, check=False,
                                    stdin=subprocess.DEVNULL)
            self.assertEqual(result.returncode, 125)
            self.assertIn("msp-supervisor is neither in", result.stderr)

    def test_installed_layout(self):
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            os.chmod(folder, 0o755)
            here = os.path.dirname(MSP)
            os.makedirs(folder + "/bin")
            os.makedirs(folder + "/libexec/msp")
            for name in ("msp-supervisor", "msp-broker", "msp-child-init", "msp-audit", "msp-opener",
                         "builtin.policy"):
                shutil.copy(os.path.join(here, name), folder + "/libexec/msp")
            shutil.copy(MSP, folder + "/bin")
            os.symlink("bin/msp", folder + "/link")
            result = subprocess.run([folder + "/link", "run", "--limits=fallback", "echo", "x"],
                                    capture_output=True, text=True, timeout=SECONDS, check=False,
                                    stdin=subprocess.DEVNULL)
            self.assertEqual((result.stdout, result.stderr), ("x\n", ""))

    def test_a_policy_of_another_version(self):
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            os.chmod(folder, 0o755)
            here = os.path.dirname(MSP)
            for name in ("msp", "msp-supervisor", "msp-broker", "msp-child-init", "msp-audit", "msp-opener"):
                shutil.copy(os.path.join(here, name), folder)
            with open(folder + "/builtin.policy", "wb") as file:
                file.write(b"not a policy")
            result = subprocess.run([folder + "/msp", "run", "--limits=fallback", "true"],
                                    capture_output=True, text=True, timeout=SECONDS, check=False,
                                    stdin=subprocess.DEVNULL)
            self.assertEqual(result.returncode, 78, result.stderr)
            result = subprocess.run([folder + "/msp", "doctor"], capture_output=True, text=True,
                                    timeout=SECONDS, check=False, stdin=subprocess.DEVNULL)
            self.assertRegex(re.sub(r"\s+", " ", result.stdout),
                             r"missing files .*builtin\.policy is not of this version")


class ClientConfig(unittest.TestCase):
    def test_json_clients(self):
        for client, servers in (("claude", "mcpServers"), ("cursor", "mcpServers"),
                                ("vscode", "servers"), ("gemini", "mcpServers"), ("qwen", "mcpServers"),
                                ("copilot", "mcpServers")):
            with self.subTest(client=client):
                result = msp("client-config", client)
                self.assertEqual(result.returncode, 0)
                server = json.loads(result.stdout)[servers]["msp"]
                self.assertEqual(server["command"], os.path.realpath(MSP))
                self.assertEqual(server["args"], ["serve"])
                self.assertEqual(server.get("type"), {"vscode": "stdio", "copilot": "local"}.get(client))
                self.assertIn("this belongs into", result.stderr)

    def test_opencode(self):
        self.assertEqual(json.loads(msp("client-config", "opencode").stdout)["mcp"]["msp"],
                         {"type": "local", "command": [os.path.realpath(MSP), "serve"]})

    def test_codex(self):
        self.assertEqual(msp("client-config", "codex").stdout,
                         "[mcp_servers.msp]\n"
                         f"command = {json.dumps(os.path.realpath(MSP))}\n"
                         'args = ["serve"]\n')

    def test_limits(self):
        for words in (("claude", "--limits=fallback"), ("--limits=fallback", "claude")):
            result = msp("client-config", *words)
            self.assertEqual(json.loads(result.stdout)["mcpServers"]["msp"]["args"],
                             ["serve", "--limits=fallback"])

    def test_unknown(self):
        self.assertRegex(msp("client-config", "cursr").stderr, r"did you mean 'cursor'")
        self.assertRegex(msp("client-config", "emacs").stderr, r"known are claude, codex, cursor")
        self.assertEqual(msp("client-config").returncode, 64)
        self.assertRegex(msp("client-config", "codex", "claude").stderr, "'claude' is one word too many")


class Serve(unittest.TestCase):
    def test_the_end_of_input_ends_it(self):
        result = msp("serve", "--limits=fallback")
        self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)

    def test_without_cgroups_it_refuses(self):
        result = msp("serve")
        if result.returncode == 0:
            self.skipTest("cgroup v2 is delegated here")
        self.assertEqual((result.returncode, result.stdout), (78, ""))
        self.assertIn("'limits: fallback' in the configuration", result.stderr)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "config.yaml")
            for text, code in (("limits: fallback\n", 0), ("limits: required\n", 78)):
                with self.subTest(text=text), open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                    file.flush()
                    result = msp("serve", f"--config={path}")
                    self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)


if __name__ == "__main__":
    unittest.main()
