#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An agent looks for the person's key and for what lies in the home and in the variables of whoever
starts it: in all files that it sees, in the variables and in the memory of each process there, and
from outside in the memory of its processes. The control: the same search finds what was handed in."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import leftovers  # noqa: E402
import support  # noqa: E402
from cli_support import LIMITS, MSP, SECONDS  # noqa: E402
from searching import SEARCH, halves  # noqa: E402

KEY = "planted-key-3141592653-589793238462"
SECRET = "planted-secret-2718281828-459045235"
HANDED = "handed-in-1414213562-373095048801688"
CONFIG = """\
agents:
  - name: seeker
    programs: [seeker]
    hosts: [api.example.org]
    keys: [{name: SEEKER_KEY, header: x-api-key, hosts: [api.example.org]}]
"""
# Files of a home in which people and programs have secrets, and of agents.
HOME_FILES = (".ssh/id_ed25519", ".aws/credentials", ".netrc", ".npmrc", ".pypirc", ".git-credentials",
              ".config/gh/hosts.yml", ".docker/config.json", ".kube/config", ".bash_history",
              ".claude/.credentials.json", ".claude.json", ".codex/auth.json", ".gemini/oauth_creds.json",
              ".local/share/opencode/auth.json", ".seeker/login", "notes.txt", "other/project/.env")
# The agent: it finds the halves of what it looks for in the project, says what it has found, and waits.
AGENT = "#!/usr/bin/env python3\nimport sys\nsys.argv[1:] = ['a', 'b']\n" + SEARCH + r"""
tops = [entry.path for entry in os.scandir("/") if entry.is_dir(follow_symlinks=False) and
        entry.name not in ("proc", "sys", "usr", "dev")] + ["/dev/shm"]
found = []
for first, second in json.load(open("halves.json")):
    first, second, places = first.encode(), second.encode(), set()
    search(tops, [pid for pid in os.listdir("/proc") if pid.isdigit()])
    found.append(sorted(places))
print(json.dumps({"found": found, "tops": tops, "key": os.environ["SEEKER_KEY"]}), flush=True)
sys.stdin.read()
"""
OUTSIDE = SEARCH + r"""
search([], json.loads(sys.argv[3]))
print(json.dumps(sorted(places)))
"""


def setUpModule():
    leftovers.become_reaper()


def comm(pid):
    with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
        return file.read()


class Agent(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="msp-home-", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)
        self.write(".config/msp/config.yaml", CONFIG)
        self.write(".npm-global/lib/node_modules/seeker/package.json", "{}")
        self.write(".npm-global/lib/node_modules/seeker/seeker", AGENT, 0o755)
        os.makedirs(os.path.join(self.home, ".npm-global/bin"))
        os.symlink("../lib/node_modules/seeker/seeker",
                   os.path.join(self.home, ".npm-global/bin/seeker"))
        for path in HOME_FILES:
            self.write(path, f"token = {SECRET}\n", 0o600)
        self.write("project/halves.json", json.dumps([halves(KEY), halves(SECRET), halves(HANDED)]))
        self.environment = {
            "PATH": "/usr/bin:/bin", "HOME": self.home, "LANG": "C.UTF-8", "SEEKER_KEY": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET, "GITHUB_TOKEN": SECRET, "SEEKER_LOGIN": SECRET}

    def write(self, path, text, mode=0o644):
        path = os.path.join(self.home, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)

    def outside(self, text, pids):
        result = subprocess.run([sys.executable, "-c", OUTSIDE, *halves(text), json.dumps(pids)],
                                capture_output=True, text=True, check=True, timeout=SECONDS)
        return json.loads(result.stdout)

    def seek(self, *options):
        """Run the agent: what it has found, and what its processes have, seen from outside."""
        with subprocess.Popen([MSP, "agent", "seeker", "--standalone", *LIMITS, *options],
                              env=self.environment, cwd=os.path.join(self.home, "project"),
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as process:
            said = json.loads(process.stdout.readline() or "null")
            pids = [pid for pid in support.descendants(process.pid, with_ready=True)
                    if "python" in comm(pid)]
            found = {text: self.outside(text, pids) for text in (KEY, SECRET, HANDED)}
            _, errors = process.communicate(timeout=SECONDS)
        self.assertEqual(process.returncode, 0, errors)
        self.assertEqual(said["key"], "msp-SEEKER_KEY-secret")
        self.assertEqual(len(pids), 1, pids)
        self.assertIn("/home", said["tops"])
        return said["found"], found

    def test_neither_key_nor_secrets_are_inside(self):
        inside, outside = self.seek()
        self.assertEqual(inside, [[], [], []])
        self.assertEqual(outside, {KEY: [], SECRET: [], HANDED: []})

    def test_control_variables(self):
        """A key that is handed in as it is."""
        inside, outside = self.seek(f"--env=LEAKED={HANDED}")
        self.assertEqual(inside[:2], [[], []])
        self.assertIn("/proc/N/environ", inside[2])
        self.assertIn("memory of N", inside[2])
        self.assertIn("memory of N", outside[HANDED])
        self.assertEqual(outside[KEY], [])

    def test_control_files(self):
        """A file of the project, and one of those that a row puts into the home."""
        self.write("project/.env", f"TOKEN={HANDED}\n")
        self.assertIn("file below /workspace", self.seek()[0][2])
        os.unlink(os.path.join(self.home, "project/.env"))
        self.write(".config/msp/config.yaml", CONFIG + "    files: [{path: .seeker/login, text: "
                   f"{HANDED}}}]\n")
        self.assertIn("file below /home", self.seek("--new")[0][2])


if __name__ == "__main__":
    unittest.main()
