#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""F3: directories of a home that hold credentials, or from which the host starts programs, as the
workspace of a sandbox or shown to one. An apply to such a directory would be an escape, whatever the
files are called. Each refusal has its control: the same directory beside the home, or opened by the
operator, is worked on."""
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "integration"))
import probes  # noqa: E402  (a folder of its own)
import support  # noqa: E402
from persistent_support import PersistentCase, msp  # noqa: E402

# Directories that programs keep credentials, sessions or what they start in.
CONFIG = ("1Password Bitwarden BraveSoftware Code/User Cursor/User Element Exodus JetBrains Keybase "
          "Microsoft Nextcloud Postman Signal Slack Yubico alacritty atuin autostart aerc bitcoin "
          "borg buf configstore containers dconf doctl environment.d evolution fish flyctl gcloud "
          "gh git goa-1.0 google-chrome gtk-3.0 helm heroku hub i3 ibus joplin-desktop kate kdeconnect "
          "kitty lazygit mpv msmtp mutt netlify nvim op openvpn pip pnpm polkit-1 pulumi qutebrowser "
          "rclone remmina ripgrep rustup sops spotify stripe supabase sway syncthing systemd/user "
          "teams tmux transmission vercel vivaldi weechat wireguard yarn zed zsh").split()
DATA = ("applications atuin bash-completion cargo containers dbus-1/services direnv/allow evolution "
        "fish gem gnupg gnome-shell/extensions helm jupyter keyrings kwalletd mise nautilus/scripts "
        "nvim plasma systemd/user uv zed").split()
HIDDEN = ([f".config/{name}" for name in CONFIG] + [f".local/share/{name}" for name in DATA] +
          [".config", ".local", ".local/bin", ".local/share", ".local/state/syncthing",
           ".cache/huggingface", ".bitcoin", ".electrum", ".emacs.d", ".gradle", ".ipython",
           ".jupyter", ".minikube", ".oh-my-zsh", ".steam", ".vim", ".vscode/extensions"])


setUpModule = probes.needs_ordinary_user


class Case(PersistentCase):
    def setUp(self):
        super().setUp()
        place = tempfile.TemporaryDirectory(prefix="msp-home-", dir="/var/tmp")
        self.addCleanup(place.cleanup)
        self.home = os.path.join(place.name, "home")
        self.config = os.path.join(place.name, "config.yaml")
        self.environment = {**os.environ, "HOME": self.home, "MSP_CONFIG": self.config}
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
            self.environment.pop(name, None)
        self.make("project")
        self.write("")

    def make(self, name):
        path = os.path.join(self.home, name)
        os.makedirs(path, exist_ok=True)
        return path

    def write(self, text):
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(text or "default_profile: default\n")

    def create(self, path, **environment):
        """(exit code, line) of a sandbox on this directory, which is gone then."""
        result = msp("create", "--workspace", path, code=None,
                     env={**self.environment, **environment})
        if result.returncode == 0:
            msp("destroy", result.stdout.strip(), env=self.environment)
        return result.returncode, result.stderr

    def assert_refused(self, path, *parts, **environment):
        code, line = self.create(path, **environment)
        self.assertEqual(code, 64, f"{path}: {line}")
        self.assertEqual(line.count("\n"), 1, line)
        for part in (f"'{path}' is refused: ", *parts):
            self.assertIn(part, line)

    def assert_accepted(self, path, **environment):
        code, line = self.create(path, **environment)
        self.assertEqual(code, 0, f"{path}: {line}")


class Workspaces(Case):
    def test_hidden_directories(self):
        """All of them through one server, some through the command line, which has the same rules."""
        accepted = []
        for name in HIDDEN:
            self.make(name)
        self.write(f"workspaces: [{self.home}]\n")
        with support.Server("--standalone", env=self.environment) as server:
            server.initialize()
            for name in HIDDEN:
                result = server.call("create_sandbox", workspace=os.path.join(self.home, name))
                if not result["isError"] or "is refused: it " not in support.text_of(result):
                    accepted.append(name)
        for name in HIDDEN[::8]:
            if self.create(os.path.join(self.home, name))[0] != 64:
                accepted.append(name)
        self.assertEqual(accepted, [], f"{len(accepted)} of {len(HIDDEN)}")

    def test_the_same_names_elsewhere(self):
        """The control: it is about the home, and not about names."""
        for name in (".config/nvim", ".local/bin", ".config/systemd/user", "bin", ".vim"):
            with self.subTest(name=name):
                self.assert_accepted(self.make(os.path.join("project", name)))

    def test_by_other_names(self):
        target = self.make(".config/nvim")
        for name, text in (("link", ".config/nvim"), ("project/link", "../.config/nvim")):
            os.symlink(text, os.path.join(self.home, name))
            with self.subTest(name=name):
                self.assertEqual(self.create(os.path.join(self.home, name))[0], 64)
        moved = self.make("dots/nvim")
        os.rmdir(target)
        self.assert_accepted(moved)
        os.symlink("../dots/nvim", target)
        self.assert_accepted(moved)  # an entry of a hidden directory is not followed
        os.symlink("dots/nvim", os.path.join(self.home, ".nvim"))
        self.assert_refused(moved, "/.nvim, ")

    def test_what_the_environment_names(self):
        settings = self.make("settings/app")
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME",
                     "XDG_RUNTIME_DIR"):
            with self.subTest(name=name):
                self.assert_refused(settings, "hidden files",
                                    **{name: os.path.dirname(settings)})
        self.assert_accepted(settings)

    def test_what_the_operator_opens(self):
        nvim = self.make(".config/nvim")
        other = self.make(".config/other")
        self.assert_refused(nvim, "name this one under 'unprotect'")
        self.write(f"unprotect: [{nvim}, {self.home}/.local, {self.home}/.ssh]\n")
        self.assert_accepted(nvim)
        self.assert_refused(other)
        for name in (".local/bin", ".local/share/keyrings", ".local", ".ssh"):
            with self.subTest(name=name):
                self.assert_refused(self.make(name))
        self.assert_accepted(self.make(".local/share/notes"))

    def test_from_where_programs_are_started(self):
        for name in ("bin", "bin/deep", "go/bin", ".local/bin", ".config/autostart",
                     ".config/systemd/user"):
            with self.subTest(name=name):
                self.write(f"unprotect: [{self.home}]\n")
                self.assert_refused(self.make(name), "from where this machine starts programs")
        for path in ("/usr/bin", "/usr/lib", "/usr/local/bin", "/usr/local", "/etc/alternatives"):
            if os.path.isdir(path):
                with self.subTest(path=path):
                    self.assert_refused(path)
        self.assert_accepted("/usr/share")

    def test_where_programs_are_looked_for(self):
        tools = self.make("project/tools")
        path = os.pathsep.join((os.environ["PATH"], tools))
        self.assert_accepted(tools)
        self.assert_refused(tools, "(PATH)", PATH=path)
        self.assert_accepted(self.make("project"), PATH=path)

    def test_what_all_share(self):
        self.assert_refused("/tmp", "which all programs share")
        self.assert_refused("/var/tmp")  # where this test's home is, too
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            self.assert_accepted(folder)
            self.assert_refused(folder, "which all programs share", TMPDIR=folder)


class Shown(Case):
    """--ro and the files of profiles: what is only read may be where programs are started from."""

    def run_with(self, path, *options):
        result = support.run("true", options=options or ("--ro", path + ":/shown"),
                             env=self.environment)
        return result.returncode, result.stderr

    def test_hidden_directories(self):
        for name in (".config/nvim", ".vim", ".config/Slack", ".local/share/evolution"):
            path = self.make(name)
            with self.subTest(name=name):
                code, line = self.run_with(path)
                self.assertEqual(code, 64, line)
                self.assertIn("hidden files of a home", line)
        self.write(f"unprotect: [{self.home}/.vim]\n")
        self.assertEqual(self.run_with(self.make(".vim"))[0], 0)
        self.assertEqual(self.run_with(self.make("project/.vim"))[0], 0)

    def test_toolchains_may_be_read(self):
        for name in (".rustup/toolchains/stable", ".nvm/versions/node", ".cargo/registry"):
            with self.subTest(name=name):
                path = self.make(name)
                self.assertEqual(self.run_with(path)[0], 0)
                self.assert_refused(path)

    def profile(self, path, access):
        self.write("profiles:\n  - name: test\n    description: a test\n    extends: default\n"
                   f"    files:\n      - {{at: /shown, kind: bind, from: {path}, access: {access}}}\n")
        return self.run_with(path, "--profile", "test")

    def test_writable_in_a_profile(self):
        path = self.make("bin")
        code, line = self.profile(path, "writable")
        self.assertEqual(code, 78, line)
        self.assertIn("from where this machine starts programs", line)
        self.assertEqual(self.profile(path, "read-only")[0], 0)
        self.assertEqual(self.profile(self.make("project"), "writable")[0], 0)


class AnAgent(Case):
    def test_asks_for_it(self):
        """Also where the operator's workspaces hold the home."""
        self.write(f"workspaces: [{self.home}]\n")
        with support.Server("--standalone", env=self.environment) as server:
            server.initialize()
            for name in (".config/nvim", ".local/bin", "bin"):
                result = server.call("create_sandbox", workspace=self.make(name))
                self.assertTrue(result["isError"], name)
                self.assertIn("is refused: it ", support.text_of(result))
            result = server.call("create_sandbox", workspace=self.make("project"))
            self.assertFalse(result["isError"], json.dumps(result))


if __name__ == "__main__":
    unittest.main()
