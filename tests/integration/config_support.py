# SPDX-License-Identifier: Apache-2.0
"""A folder with configurations of the operator's, and msp under them. Nothing here is a test."""
import os
import shutil
import subprocess
import tempfile
import unittest

import support
from cli_support import LIMITS, msp

OWN = """\
default_profile: analysis
profiles:
  - name: tight
    extends: analysis
    network: none
    limits: {open_files: 90}
  - name: analysis
    description: tables of the warehouse
    extends: default
    limits:
      open_files: 100
      wall_default: 50s
    environment:
      - WAREHOUSE=north
"""


def profile_of(result):
    """The profile that a tool call ran under."""
    return result["_meta"]["msp/execution"]["profile"]


class WithFolder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="msp-config-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.chmod(self.folder, 0o755)

    def write(self, text=OWN, name="config.yaml", mode=0o644):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def environment(self, **more):
        """Nothing of this machine's own configuration, but for /etc."""
        home = os.path.join(self.folder, "home")
        os.makedirs(home, exist_ok=True)
        rest = {name: value for name, value in os.environ.items()
                if not name.startswith("MSP_") and name != "HOME"}
        return {**rest, "HOME": home, **more}

    def run_msp(self, *words, options=(), **variables):
        return msp("run", "--standalone", *LIMITS, *options, "--", *words,
                   env=self.environment(**variables))

    def explain(self, operation):
        """What `msp-policy explain` says of the profile "net" of self.config."""
        result = subprocess.run([os.path.join(support.BIN, "msp-policy"), "explain", "--config",
                                 self.config, "net", operation], capture_output=True, text=True,
                                check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def output(self, *words, **keywords):
        result = self.run_msp(*words, **keywords)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def serve(self, *options, **variables):
        server = support.Server("--standalone", *LIMITS, *options, with_limits=False,
                                env=self.environment(**variables))
        self.addCleanup(server.close)
        server.initialize()
        return server

    def refused_serve(self, *options, **variables):
        """What it says; nothing of the client is answered."""
        result = msp("serve", "--standalone", *LIMITS, *options, input='{"jsonrpc":"2.0",',
                     env=self.environment(**variables))
        self.assertEqual((result.returncode, result.stdout), (78, ""), result.stderr)
        return result.stderr
