#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Directories of the host that stay shown, and toolchains in a home: `--ro` of persistent sandboxes,
`toolchain` of a profile, and the line that says where a missing program is."""
import json
import os
import signal
import tempfile
import unittest

import support
from cli_support import LIMITS, SECONDS, msp
from config_support import WithFolder
from persistent_support import PersistentCase
from persistent_support import msp as act
from service import Folder

PROGRAM = "#!/bin/sh\necho \"tool $0 $1\"\n"


def write_program(path, text=PROGRAM):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o755)


class Home(WithFolder):
    """A home with nvm's layout."""

    def setUp(self):
        super().setUp()
        self.home = os.path.join(self.folder, "home")
        self.node = os.path.join(self.home, ".nvm/versions/node/v22.4.0")
        write_program(os.path.join(self.node, "bin/msp-node"))
        write_program(os.path.join(self.home, ".pyenv/versions/3.12/bin/msp-python"))
        write_program(os.path.join(self.home, ".pyenv/shims/msp-python"), "#!/bin/sh\nfalse\n")
        write_program(os.path.join(self.home, ".hidden/bin/msp-hidden"))
        write_program(os.path.join(self.home, "tools/msp-plain"))


class Profile(Home):
    def profile(self, *toolchains, more=""):
        return self.write("profiles:\n  - name: own\n    extends: default\n"
                          f"    toolchain: [{', '.join(toolchains)}]\n{more}")

    def own(self, script, *toolchains, more=""):
        return self.run_msp("sh", "-c", script, options=[
            f"--config={self.profile(*toolchains, more=more)}", "--profile=own"])

    def test_bind_right_and_path(self):
        result = self.own("msp-node x; echo $PATH", "~/.nvm/versions/node/v22.4.0",
                          f"{self.home}/.pyenv/versions/3.12/bin")
        self.assertEqual(result.returncode, 0, result.stderr)
        tool, path = result.stdout.splitlines()
        self.assertEqual(tool, f"tool {self.node}/bin/msp-node x")
        self.assertTrue(path.startswith(f"{self.home}/.pyenv/versions/3.12/bin:{self.node}/bin:/usr"), path)

    def test_nothing_else_of_the_home_is_shown_and_nothing_is_written(self):
        result = self.own(f"ls -A {self.home} {self.home}/.nvm/versions/node; "
                          f"for f in {self.node}/bin/msp-node {self.node}/new; do echo x >>$f; done; "
                          "echo x >/tmp/control && cat /tmp/control",
                          "~/.nvm/versions/node/v22.4.0")
        self.assertEqual(result.stdout, f"{self.home}:\n.nvm\n\n{self.home}/.nvm/versions/node:\nv22.4.0\nx\n")
        self.assertEqual(os.listdir(self.node), ["bin"])

    def test_a_directory_that_is_shown_already_is_put_in_path_alone(self):
        result = self.own("echo $PATH", "/usr/local/go")
        self.assertTrue(result.stdout.startswith("/usr/local/go/bin:"), result.stdout + result.stderr)

    def test_an_extending_profile_has_it(self):
        more = "  - name: more\n    extends: own\n    limits: {pids: 100}\n"
        config = self.profile("~/.nvm/versions/node/v22.4.0", more=more)
        result = self.run_msp("msp-node", "y", options=[f"--config={config}", "--profile=more"])
        self.assertEqual(result.stdout, f"tool {self.node}/bin/msp-node y\n", result.stderr)

    def test_refused(self):
        for toolchain, *words in (("~/.ssh", "no sandbox may see"), ("~/.hidden", "hidden"),
                                  ("~", "~/ and the rest of a path"), ("../x", "not a path"),
                                  ("~/.nvm/versions/none", "No such file"), ("$HOME/x", "not a path"),
                                  ("~/x/", "not a path")):
            with self.subTest(toolchain=toolchain):
                os.makedirs(os.path.join(self.home, ".ssh"), exist_ok=True)
                result = self.own("true", f"'{toolchain}'")
                self.assertEqual(result.returncode, 78, result.stderr)
                for word in words:
                    self.assertIn(word, result.stderr)


class NotFound(Home):
    def search(self, *words, path):
        return self.run_msp(*words, PATH=f"{path}:{os.environ['PATH']}")

    def said(self, name, folder):
        """The line, for a command of its own and for one of a shell."""
        folder = os.path.join(self.home, folder)
        direct = self.search(name, path=folder)
        self.assertEqual(direct.returncode, 127)
        self.assertIn(f"msp: run: command not found: {name} is at ", direct.stderr)
        self.assertEqual(direct.stderr.count("\n"), 1, direct.stderr)
        return direct.stderr

    def test_the_remedy_works(self):
        line = self.said("msp-node", ".nvm/versions/node/v22.4.0/bin")
        options = [word.rstrip(",") for word in line.split() if word.startswith("--")]
        self.assertEqual(options[0], f"--ro={self.node}")
        self.assertIn(f"'toolchain: [{self.node}]'", line)
        result = self.run_msp("msp-node", "z", options=options)
        self.assertEqual(result.stdout, f"tool {self.node}/bin/msp-node z\n", result.stderr)

    def test_behind_a_shim_and_through_a_link(self):
        self.assertIn(f"--ro={self.home}/.pyenv/versions/3.12 ", self.said("msp-python", ".pyenv/shims"))
        os.makedirs(os.path.join(self.home, ".local/bin"))
        os.symlink(os.path.join(self.node, "bin/msp-node"), os.path.join(self.home, ".local/bin/msp-node"))
        self.assertIn(f"--ro={self.node} ", self.said("msp-node", ".local/bin"))
        self.assertIn(f"--ro={self.home}/tools ", self.said("msp-plain", "tools"))

    def test_no_remedy_that_would_be_refused(self):
        line = self.said("msp-hidden", ".hidden/bin")
        self.assertNotIn("--ro=", line)
        self.assertIn("where no sandbox may look", line)

    def test_what_no_path_has_is_said_as_ever(self):
        result = self.run_msp("msp-nowhere")
        self.assertEqual(result.returncode, 127)
        self.assertIn("msp-nowhere: not found in the sandbox", result.stderr)


class Kept(PersistentCase):
    def setUp(self):
        super().setUp()
        shown = tempfile.TemporaryDirectory(dir="/tmp", prefix="msp-shown-")
        self.addCleanup(shown.cleanup)
        self.shown = shown.name
        os.chmod(self.shown, 0o755)
        write_program(os.path.join(self.shown, "bin/tool"))

    def test_as_long_as_the_sandbox_lasts(self):
        sandbox = self.create(f"--ro={self.shown}:/opt/tool", workspace=False)
        for _ in range(2):
            self.assertEqual(self.sh(sandbox, "/opt/tool/bin/tool 1"), "tool /opt/tool/bin/tool 1\n")
            act("stop", sandbox)
        self.assertEqual(self.sh(sandbox, "set +e; echo x >/opt/tool/new; echo x >/opt/new; "
                                 "rm -f /opt/tool/bin/tool; ls /opt /opt/tool; echo x >~/new && cat ~/new"),
                         "\n".join(["/opt:", *sorted([*os.listdir("/opt"), "tool"]), "", "/opt/tool:", "bin",
                                    "x", ""]))
        self.assertEqual(os.listdir(self.shown), ["bin"])
        fork = act("fork", sandbox).stdout.strip()
        self.addCleanup(act, "destroy", fork, code=None)
        self.assertEqual(self.sh(fork, "/opt/tool/bin/tool 2"), "tool /opt/tool/bin/tool 2\n")

    def test_another_sandbox_does_not_show_it(self):
        self.create(f"--ro={self.shown}", workspace=False)
        other = self.create(workspace=False)
        self.sh(other, f"test ! -e {self.shown}")
        listed = msp("profile", "list").stdout + msp("list", "--json").stdout
        self.assertNotIn("+", msp("profile", "list").stdout)
        self.assertIn('"profile":"default+', listed.replace('": "', '":"'))

    def test_a_run_over_a_project(self):
        self.put("file", "old\n")
        result = msp("run", *LIMITS, "-w", f"--ro={self.shown}", "--", "sh", "-c",
                     f"{self.shown}/bin/tool 3; echo new >file", cwd=self.project)
        self.assertEqual((result.returncode, result.stdout),
                         (0, f"tool {self.shown}/bin/tool 3\n"), result.stderr)
        again = msp("exec", *LIMITS, "-1", "--", f"{self.shown}/bin/tool", "4", cwd=self.project)
        self.assertEqual(again.stdout, f"tool {self.shown}/bin/tool 4\n", again.stderr)
        self.assertEqual(msp("apply", "-1", cwd=self.project).returncode, 0)
        self.assertEqual(self.get("file"), b"new\n")
        msp("destroy", "-1", cwd=self.project)

    def test_the_same_paths_are_one_set(self):
        for _ in range(3):
            self.create(f"--ro={self.shown}", workspace=False)
        self.create(f"--ro={self.shown}:/other", workspace=False)
        self.assertEqual(len(os.listdir(os.path.join(self.state, "binds"))), 2)

    def test_a_set_without_a_sandbox_goes(self):
        first = self.create(f"--ro={self.shown}", workspace=False)
        second = self.create(f"--ro={self.shown}:/second", workspace=False)
        folder = os.path.join(self.state, "binds")
        for name in os.listdir(folder):
            os.utime(os.path.join(folder, name), (1, 1))
        act("destroy", first)
        self.create(f"--ro={self.shown}:/third", workspace=False)
        self.assertEqual(len(os.listdir(folder)), 2)
        self.sh(second, "test -e /second/bin/tool")

    def test_what_is_protected_is_refused_each_time(self):
        for path in ("/etc", "/root", "/proc/self"):
            result = act("create", f"--ro={path}:/data", code=64)
            self.assertIn("no sandbox may see", result.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.state, "binds")))
        # A set that was changed behind msp's back opens nothing: the control is the set itself.
        sandbox = self.create(f"--ro={self.shown}:/data", workspace=False)
        self.sh(sandbox, "test -e /data/bin")
        folder = os.path.join(self.state, "binds")
        path = os.path.join(folder, os.listdir(folder)[0])
        with open(path, "wb") as file:
            file.write(b"default\0/etc\0/data\0")
        result = act("exec", sandbox, "--", "ls", "/data", code=None)
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(result.stdout, "")

    def test_a_path_that_is_gone_is_named(self):
        sandbox = self.create(f"--ro={self.shown}:/data", workspace=False)
        os.rename(self.shown, self.shown + ".gone")
        self.addCleanup(os.rename, self.shown + ".gone", self.shown)
        result = act("exec", sandbox, "--", "true", code=None)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(self.shown, result.stderr)

    def test_a_plan_that_is_kept_follows_the_sets(self):
        sandbox = self.create(f"--ro={self.shown}:/data", workspace=False)
        folder = os.path.join(self.state, "binds")
        path = os.path.join(folder, os.listdir(folder)[0])
        for _ in range(2):
            self.sh(sandbox, "test -e /data/bin/tool")
            act("stop", sandbox)
            os.rename(path, path + ".away")
            result = act("exec", sandbox, "--", "ls", "/data", code=None)
            self.assertNotEqual(result.returncode, 0)
            self.assertEqual(result.stdout, "")
            os.rename(path + ".away", path)

    def test_a_plan_that_is_kept_follows_the_host(self):
        """Where a layer is depends on what the host has of the way to the place."""
        config = os.path.join(self.state, "config.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write("profiles:\n  - name: own\n    extends: default\n"
                       f"    files: [{{at: /around, kind: bind, from: {self.shown}}}]\n")
        config = f"--config={config}"
        sandbox = self.create(config, "--profile=own", f"--ro={self.shown}/bin:/around/a/b", workspace=False)
        for change, path in ((None, ""), (os.mkdir, "a"), (os.mkdir, "a/b"), (os.rmdir, "a/b"), (os.rmdir, "a")):
            with self.subTest(change=change, path=path):
                if change:
                    change(os.path.join(self.shown, path))
                result = act("exec", config, sandbox, "--", "/around/a/b/tool", "8")
                self.assertEqual(result.stdout, "tool /around/a/b/tool 8\n")
                act("stop", config, sandbox)

    def test_hosts_stay_out_where_they_are_left_out(self):
        config = os.path.join(self.state, "config.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write("offer: [python-net]\nprofiles:\n  - name: net\n    extends: python-net\n")
        config = f"--config={config}"
        sandbox = self.create(config, "--profile=net", "--network=none", f"--ro={self.shown}", workspace=False)
        listed = json.loads(act("list", config, "--json").stdout)["sandboxes"]
        self.assertTrue(listed[0]["profile"].startswith("net/none+"), listed)
        result = act("exec", config, sandbox, "--", "sh", "-c",
                     f"{self.shown}/bin/tool 5; getent hosts pypi.org || echo none")
        self.assertEqual(result.stdout, f"tool {self.shown}/bin/tool 5\nnone\n")


class ByService(Folder):
    """A running service learns of them at once."""

    def test_it_shows_them_and_goes_on_after_a_reload(self):
        shown = os.path.join(self.folder, "shown")
        write_program(os.path.join(shown, "bin/tool"))
        os.chmod(self.folder, 0o755)
        service = self.service()
        socket = f"--socket={self.socket}"
        sandbox = act("create", socket, f"--ro={shown}:/data").stdout.strip()
        self.addCleanup(act, "destroy", socket, sandbox, code=None)
        self.assertEqual(service.status()["policy"]["generation"], 2)
        result = act("exec", socket, sandbox, "--", "/data/bin/tool", "6")
        self.assertEqual(result.stdout, "tool /data/bin/tool 6\n")
        os.kill(service.process.pid, signal.SIGHUP)
        self.assertTrue(support.wait_until(
            lambda: service.status()["policy"]["generation"] == 3, SECONDS))
        result = act("exec", socket, sandbox, "--", "/data/bin/tool", "7")
        self.assertEqual(result.stdout, "tool /data/bin/tool 7\n")


if __name__ == "__main__":
    unittest.main()
