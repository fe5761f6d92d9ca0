#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A day with the service, as its user has it: a monorepo with a submodule and a worktree, packages of the
company's registry with a token, a database, an agent's commit. Each step has what it must not do, too."""
import glob
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import units

# The unit has its own place for what lasts.
PLACE = {key: value for key, value in os.environ.items() if key != "MSP_STATE_DIR"}
TOKEN = "npm_0123456789abcdef"  # vm/guest/other
NPM = "/job/handed/npm"
CONFIG = """\
offer: [node-net]
profiles:
  - name: shop
    extends: node-net
    description: our packages
    toolchain: [{npm}]
    hosts: ["npm.corp.example:4873 http private"]
    environment: ["npm_config_registry=http://npm.corp.example:4873/"]
    secrets:
      - {{name: NPM_TOKEN, hosts: [npm.corp.example], header: Authorization, file: ~/.npm-token, cleartext: true}}
"""
FILES = {
    ".gitignore": "node_modules/\n",
    ".npmrc": "//npm.corp.example:4873/:_authToken=${NPM_TOKEN}\n",
    "package.json": '{"name": "shop", "private": true, "workspaces": ["packages/*"]}\n',
    "packages/cart/package.json":
        '{"name": "cart", "version": "1.0.0", "main": "cart.js", "scripts": {"test": "node --test"}}\n',
    "packages/cart/cart.js": 'module.exports = (count) => count * require("../../libs/price/price.js");\n',
    "packages/cart/cart.test.js":
        'require("node:test")("cart", () => require("node:assert").equal(require("./cart.js")(6), 42));\n',
    "schema.sql": "create table orders (id int primary key, total int);\n"
                  "insert into orders select i, 7 * i from generate_series(1, 6) i;\n"
                  "select max(total) from orders;\n",
}
DATABASE = """\
initdb -D /tmp/pg -A trust --no-sync --no-locale >/tmp/log
pg_ctl -D /tmp/pg -o "-k /tmp -c listen_addresses= -F" -w start >>/tmp/log
psql -q -h /tmp -At -v ON_ERROR_STOP=1 -f schema.sql postgres
pg_ctl -D /tmp/pg -m immediate stop >>/tmp/log
"""
COMMIT = "git -c user.name=agent -c user.email=agent@example.org commit -qam"


@unittest.skipUnless(shutil.which("git"), "git is not installed")
class Day(units.ServiceCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="day-", dir=os.path.expanduser("~"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.install(lines=[f"ReadWritePaths={self.folder}"])
        self.addCleanup(units.msp, "destroy", "--all", "--yes", env=PLACE)
        self.write("~/.config/msp/config.yaml", CONFIG.format(npm=NPM) if os.path.exists(NPM) else "{}\n")
        self.write("~/.npm-token", TOKEN + "\n")
        self.write("price/price.js", "module.exports = 7;\n")
        self.make_repository("price")
        for name, text in FILES.items():
            self.write("shop/" + name, text)
        self.make_repository("shop")
        self.git("shop", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", self.path("price"),
                 "libs/price")
        self.git("shop", "commit", "-qm", "prices")
        units.systemctl("start", "msp.socket")

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        path = os.path.join(self.folder, os.path.expanduser(name))
        if not path.startswith(self.folder + "/"):
            self.addCleanup(os.unlink, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)

    def git(self, name, *words):
        result = subprocess.run(["git", "-c", "user.name=me", "-c", "user.email=me@example.org", "-C", self.path(name),
                                 *words], capture_output=True, text=True, check=False, timeout=units.SECONDS)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.strip()

    def make_repository(self, name):
        self.git(name, "init", "-q", "-b", "main")
        self.git(name, "add", ".")
        self.git(name, "commit", "-qm", "first")

    def msp(self, name, *words, code=0):
        result = units.msp(*words, env=PLACE, cwd=self.path(name))
        self.assertEqual(result.returncode, code, (words, result.stdout[-2000:], result.stderr[-2000:]))
        return result

    def run_in(self, name, script, *options, code=0):
        return self.msp(name, "run", *(options or ["-w"]), "--", "sh", "-ec", script, code=code)

    def test_the_commit_of_an_agent(self):
        self.run_in("shop", f"echo '// six' >>packages/cart/cart.js; {COMMIT} 'name the count'; echo later >note")
        said = self.msp("shop", "apply", "-1")
        self.assertEqual(self.git("shop", "status", "--short"), "?? note")
        ref, = re.findall(r"git merge (refs/msp/\S+?)'", said.stderr)
        self.git("shop", "merge", "-q", ref)
        self.assertEqual(self.git("shop", "log", "-1", "--format=%s by %an"), "name the count by agent")
        self.assertEqual(self.git("shop", "status", "--short"), "?? note")
        self.git("shop", "fsck", "--strict")

    def test_a_worktree(self):
        self.git("shop", "worktree", "add", "-q", "../topic", "-b", "topic")
        result = self.run_in("topic", "git branch --show-current; echo '// topic' >>packages/cart/cart.js; "
                             "git diff --stat | tail -n 1")
        self.assertRegex(result.stdout, r"\Atopic\n 1 file changed, 1 insertion")
        self.msp("topic", "apply", "-1")
        self.assertEqual(self.git("topic", "diff", "--name-only"), "packages/cart/cart.js")
        self.assertEqual(self.git("shop", "status", "--short"), "")
        self.git("topic", "commit", "-qam", "topic")

    def test_a_submodule(self):
        """The directory shows the superproject; the submodule's commit stays, by name, and its file comes."""
        result = self.run_in("shop/libs/price", f"git log -1 --format=%s; echo '// euros' >>price.js; {COMMIT} euros; pwd")
        self.assertEqual(result.stdout, "first\n/workspace/libs/price\n")
        said = self.msp("shop/libs/price", "apply", "-1", code=1)
        self.assertRegex(said.stderr, r"left out: \.git/modules/libs/price/refs/heads/main \(stays in the sandbox's repository\)")
        self.assertEqual(self.git("shop/libs/price", "status", "--short"), "M price.js")
        self.git("shop/libs/price", "commit", "-qam", "euros")
        self.assertEqual(self.git("shop", "status", "--short"), "M libs/price")

    @unittest.skipUnless(os.path.exists(NPM) and os.environ.get("MSP_VM"), "there is no other machine, or no npm")
    def test_a_package_with_packages_of_the_company(self):
        script = ("npm install --silent --no-audit --no-fund -w cart greet-corp; node cart.test.js >/dev/null; "
                  "node -p 'require(\"greet-corp\")'; env | grep -c " + TOKEN + " || true; "
                  "node -e 'fetch(process.env.npm_config_registry + \"greet-corp\").then((r) => console.log(r.status))'")
        result = self.run_in("shop/packages/cart", script, "-w", "--profile=shop", "--timeout=5m")
        self.assertEqual(result.stdout.split("\n"), ["hello of the company", "0", "401", ""], result.stderr)
        self.msp("shop/packages/cart", "apply", "-1")
        self.assertEqual(self.git("shop", "status", "--short"), "M packages/cart/package.json\n?? package-lock.json")
        with open(self.path("shop/package-lock.json"), encoding="utf-8") as file:
            self.assertIn("http://npm.corp.example:4873/greet-corp/-/greet-corp-1.0.0.tgz", file.read())
        offline = self.run_in("shop/packages/cart", "node -p 'require(\"greet-corp\")' 2>&1 | grep -c MODULE_NOT_FOUND",
                              "-w", "--discard")
        self.assertNotEqual(offline.stdout, "0\n")

    @unittest.skipUnless(glob.glob("/usr/lib/postgresql/*/bin/initdb"), "PostgreSQL is not installed")
    def test_a_database(self):
        programs = os.path.dirname(max(glob.glob("/usr/lib/postgresql/*/bin/initdb")))
        result = self.run_in("shop", f"PATH=$PATH:{programs}\n{DATABASE}", "-w", "--discard", "--timeout=5m")
        self.assertEqual(result.stdout, "42\n", result.stderr)


if __name__ == "__main__":
    unittest.main()
