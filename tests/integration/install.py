#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `cmake --install` puts somewhere works from there: bin/msp finds the others in libexec."""
import glob
import os
import subprocess
import tempfile
import unittest

import support

BUILD = os.environ.get("MSP_BUILD") or os.path.join(support.ROOT, "build", "release")
LIBEXEC = {"msp-supervisor", "msp-broker", "msp-child-init", "msp-policy", "msp-scope",
           "msp-layers", "msp-file", "msp-opener", "msp-git-config", "msp-audit", "msp-store", "msp-bridge", "msp-image", "msp-vm", "msp-vm-init",
           "msp-vm-prepare",
           "builtin.policy"}
if os.path.exists(os.path.join(BUILD, "bin", "msp-cable")):
    LIBEXEC |= {"msp-cable", "msp-egress", "msp-dial", "msp-http"}


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.prefix = tempfile.TemporaryDirectory(prefix="msp-install-")
        cls.addClassCleanup(cls.prefix.cleanup)
        subprocess.run(["cmake", "--install", BUILD, "--prefix", cls.prefix.name], check=True,
                       stdout=subprocess.DEVNULL)
        cls.options = support.limits()
        support.MSP = os.path.join(cls.prefix.name, "bin", "msp")

    def test_the_places(self):
        self.assertEqual(os.listdir(os.path.join(self.prefix.name, "bin")), ["msp"])
        self.assertEqual(set(os.listdir(os.path.join(self.prefix.name, "libexec", "msp"))), LIBEXEC)
        for shell, place in (("bash", "bash-completion/completions/msp"),
                             ("zsh", "zsh/vendor-completions/_msp"),
                             ("fish", "fish/vendor_completions.d/msp.fish")):
            with open(os.path.join(self.prefix.name, "share", place), encoding="utf-8") as file:
                self.assertEqual(file.read(), subprocess.run(
                    [support.MSP, "completion", shell], capture_output=True, text=True,
                    check=True).stdout)

    def test_the_pages(self):
        self.assertEqual(self.below("share/man"), {
            f"man{page[-1]}/{os.path.basename(page)}"
            for page in glob.glob(os.path.join(support.ROOT, "docs/man/*.[1-8]"))})
        docs = {os.path.relpath(page, support.ROOT) for ending in ("md", "svg")
                for page in glob.glob(os.path.join(support.ROOT, f"docs/**/*.{ending}"),
                                      recursive=True)}
        self.assertIn("docs/policy.md", docs)
        self.assertEqual(self.below("share/doc/msp"), docs | {
            "README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE"})

    def below(self, folder):
        """The files in a folder of the installation."""
        top = os.path.join(self.prefix.name, folder)
        return {os.path.relpath(os.path.join(place, name), top)
                for place, _, names in os.walk(top) for name in names}

    def test_the_service_starts_what_was_installed(self):
        units = os.path.join(self.prefix.name, "lib", "systemd", "user")
        self.assertEqual(set(os.listdir(units)), {"msp.service", "msp.socket", "msp-http.service"})
        with open(os.path.join(units, "msp.service"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn(f"\nExecStart={support.MSP} serve --service\n", text)
        self.assertNotIn("@CMAKE", text)
        with open(os.path.join(units, "msp-http.service"), encoding="utf-8") as file:
            self.assertIn(f"\nExecStart={support.MSP} serve --http=127.0.0.1:8765\n", file.read())
        self.assertTrue(os.path.exists(os.path.join(self.prefix.name,
                                                    "share/msp/delegate.conf")))

    def test_nothing_is_writable_for_others_or_setuid(self):
        for folder, _, names in os.walk(self.prefix.name):
            for name in names:
                mode = os.stat(os.path.join(folder, name)).st_mode
                self.assertEqual(mode & 0o6022, 0, name)

    def test_a_command_runs(self):
        result = support.run("echo", "installed")
        self.assertEqual((result.returncode, result.stdout), (0, "installed\n"), result.stderr)

    def test_a_configuration_is_compiled(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "config.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write("profiles:\n  - name: own\n    extends: default\n"
                           "    environment: [OWN=yes]\n")
            os.chmod(path, 0o600)
            result = support.run("sh", "-c", "echo $OWN",
                                 options=("--config", path, "--profile=own"))
        self.assertEqual((result.returncode, result.stdout), (0, "yes\n"), result.stderr)

    def test_a_session_runs(self):
        with support.Server() as server:
            server.initialize()
            text = support.text_of(server.call("run_code", language="bash", code="echo $((6 * 7))"))
            self.assertTrue(text.startswith("42\n"), text)
            self.assertEqual(server.close(), 0)


if __name__ == "__main__":
    unittest.main()
