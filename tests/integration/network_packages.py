#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that fetch packages and repositories work in the shipped profiles with hosts, without a
variable or an option for the network: only the machine's own bundle has the servers' authority."""
import os
import re
import shlex
import unittest

import network_support
import package_hosts
import support
from config_support import WithFolder
from network_support import asked

OFFERED = "python-net, node-net, rust-net, go-net, debian-net, git-net"
CONFIG = f"""\
offer: [{OFFERED}]
profiles:
  - name: database
    extends: default
    network: hosts
    hosts: [{package_hosts.DATABASE}:5432]
  - name: private-git
    extends: git-net
    description: our repositories, with a password that no sandbox has
    hosts: [{package_hosts.GIT}]
    requests: ["GET,POST {package_hosts.GIT}/team/"]
    secrets:
      - {{name: GIT_PASSWORD, hosts: [{package_hosts.GIT}], header: Authorization, file: FOLDER/password}}
"""
LOCK = f"""{{
  "name": "work", "version": "1.0.0", "lockfileVersion": 3,
  "packages": {{
    "": {{"name": "work", "version": "1.0.0", "dependencies": {{"greet-js": "1.0.0"}}}},
    "node_modules/greet-js": {{
      "version": "1.0.0", "resolved": "https://registry.npmjs.org/greet-js/-/greet-js-1.0.0.tgz",
      "integrity": "{package_hosts.integrity()}"
    }}
  }}
}}"""
CARGO = """\
[package]
name = "work"
version = "1.0.0"
edition = "2021"

[dependencies]
greet-rs = "1.0"
"""
GO_MAIN = f"""\
package main

import ("fmt"; "{package_hosts.GO}")

func main() {{ fmt.Println(greet.Greet()) }}
"""
APT = """\
mkdir -p apt/lists/partial apt/cache/archives/partial
echo "deb [trusted=yes] $0://deb.debian.org/debian stable main" >apt/sources
touch apt/status
set -- -o Dir::Etc::SourceList=/workspace/apt/sources -o Dir::Etc::SourceParts=/nothing \\
  -o Dir::State::Lists=/workspace/apt/lists -o Dir::State::Status=/workspace/apt/status \\
  -o Dir::Cache=/workspace/apt/cache -o APT::Architecture=all
apt-get "$@" update && apt-cache "$@" show greet
"""
# Answers each request with "try again" and counts them; the command follows.
UNAVAILABLE = """\
import http.server, subprocess, sys, threading
class Handler(http.server.BaseHTTPRequestHandler):
    asked = 0
    def do_GET(self):
        Handler.asked += "greet" in self.path  # npm also asks for a newer npm
        self.send_error(503)
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
code = subprocess.run(sys.argv[1:], stdout=sys.stderr).returncode
print(code != 0, Handler.asked)
"""


def write_files(**files):
    """The lines of a shell that write these files."""
    return "".join(f"mkdir -p $(dirname {name}); printf %s {shlex.quote(text)} >{name}\n"
                   for name, text in files.items())


class Case(WithFolder):
    def setUp(self):
        super().setUp()
        self.write(package_hosts.GIT_PASSWORD + "\n", name="password", mode=0o600)
        self.config = self.write(CONFIG.replace("FOLDER", self.folder))

    def run_in(self, profile, *words, options=()):
        return self.run_msp(*words, options=("--profile", profile, *options),
                            MSP_CONFIG=self.config)

    def shell(self, profile, script, *words):
        """What a shell's script prints; it has to succeed."""
        result = self.run_in(profile, "sh", "-ec", script, *words)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def need(self, profile, *commands):
        """Skip without these, as the sandbox sees them; fail where they must be."""
        for command in commands:
            if self.run_in(profile, "sh", "-c", command).returncode == 0:
                continue
            if os.environ.get("CI") == "true":
                self.fail(f"not installed: {command}")
            self.skipTest(f"not installed: {command}")


class Packages(Case):
    def test_pip_install(self):
        self.need("python-net", "command -v pip")
        said = self.shell("python-net", "python3 -m pip install --quiet --user greet-py\n"
                                        "python3 -c 'import greet_py; print(greet_py.greet())'")
        self.assertEqual(said, "hello from a wheel\n")
        self.assertIn("/simple/greet-py/", asked("pypi.org"))

    def test_pip_install_in_an_environment(self):
        self.need("python-net", "python3 -c 'import ensurepip'")
        said = self.shell("python-net", "python3 -m venv v\nv/bin/pip install --quiet greet-py\n"
                                        "v/bin/python -c 'import greet_py; print(greet_py.greet())'")
        self.assertEqual(said, "hello from a wheel\n")

    def test_npm_ci(self):
        self.need("node-net", "command -v npm")
        package = '{"name": "work", "version": "1.0.0", "dependencies": {"greet-js": "1.0.0"}}'
        said = self.shell("node-net", write_files(**{"package.json": package,
                                                     "package-lock.json": LOCK}) +
                          "npm ci --silent\nnode -p 'require(\"greet-js\")'\n"
                          "npm install --silent --global greet-js\n"
                          "test -d /home/agent/.local/lib/node_modules/greet-js\n"
                          "rm -r node_modules /home/agent/.cache/npm\n"
                          "npm ci --silent --globalconfig=/none\nnode -p 'require(\"greet-js\")'")
        self.assertEqual(said, 2 * "hello from a tarball\n")

    def test_npm_reads_the_configuration_of_the_machine(self):
        for profile in ("node-dev", "node-net"):
            with self.subTest(profile=profile):
                self.need(profile, "command -v npm")
                said = self.shell(profile, "npm config get globalconfig\nnpm config get prefix")
                self.assertEqual(said, "/usr/etc/npmrc\n/home/agent/.local\n")

    def test_cargo_build(self):
        self.need("rust-net", "command -v cargo && command -v rustc")
        version = re.search(r"1\.(\d+)", self.shell("rust-net", "cargo --version"))
        if int(version[1]) < 68:
            self.skipTest("this cargo reads the index of crates.io from GitHub")
        main = 'fn main() { println!("{}", greet_rs::greet()); }'
        said = self.shell("rust-net", write_files(**{"Cargo.toml": CARGO, "src/main.rs": main}) +
                          "cargo build --quiet\ntarget/debug/work")
        self.assertEqual(said, "hello from a crate\n")

    def test_go_mod_download(self):
        self.need("go-net", "command -v go")
        files = {"go.mod": f"module work\n\ngo 1.18\n\nrequire {package_hosts.GO} v1.0.0\n",
                 "main.go": GO_MAIN}
        said = self.shell("go-net", write_files(**files, **{"go.sum": package_hosts.go_sums()}) +
                          "go mod download\ngo run .")
        self.assertEqual(said, "hello from a module\n")
        # Without its hash the checksum database is asked, for which these servers cannot sign.
        result = self.run_in("go-net", "sh", "-c", write_files(**files) + "go mod download")
        self.assertNotEqual(result.returncode, 0)
        self.assertTrue([path for path in asked("sum.golang.org") if package_hosts.GO in path],
                        result.stderr)

    def test_apt_get_update(self):
        self.need("debian-net", "command -v apt-get")
        for scheme in ("http", "https"):
            with self.subTest(scheme=scheme):
                said = self.shell("debian-net", APT, scheme)
                self.assertIn("Description: hello", said)
        self.assertIn("/debian/dists/stable/Release", asked("deb.debian.org"))


class Repositories(Case):
    def test_git_clone_over_https(self):
        self.need("git-net", "command -v git")
        said = self.shell("git-net", "git clone -q https://github.com/team/greeter.git\n"
                                     "git -C greeter log --format=%s")
        self.assertEqual(said, "hello from a repository\n")

    def test_git_with_a_password_that_is_outside(self):
        """Git sends it by Basic, when it is asked to; msp-http puts the value in."""
        self.need("private-git", "command -v git")
        url = f"https://me:$GIT_PASSWORD@{package_hosts.GIT}/team/pushed.git"
        said = self.shell("private-git",
                          f"git clone -q {url} work\ncd work\n"
                          "git -c user.name=a -c user.email=a@example.org commit -q --allow-empty -m second\n"
                          "head -c 100000 /dev/urandom >data\ngit add data\n"
                          "git -c user.name=a -c user.email=a@example.org commit -q -m third\n"
                          "git push -q origin HEAD:main\ngit fetch -q\n"
                          "git log --format=%s origin/main; cat .git/config")
        self.assertEqual(said.splitlines()[:3], ["third", "second", "hello from a repository"])
        self.assertIn("msp-GIT_PASSWORD-secret", said)
        self.assertNotIn(package_hosts.GIT_PASSWORD, said)
        for path, part in (("team/pushed.git", "Authentication failed"), ("other/x.git", "403")):
            with self.subTest(path=path):
                result = self.run_in("private-git", "sh", "-c", "GIT_TERMINAL_PROMPT=0 git clone "
                                     f"https://me:wrong@{package_hosts.GIT}/{path}")
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(part, result.stderr)

    @unittest.skipUnless(package_hosts.sshd(), "sshd is not installed")
    def test_git_clone_over_ssh(self):
        def text(name):
            with open(os.path.join(network_support.folder(), "ssh", name), encoding="ascii") as file:
                return file.read()
        url = f"ssh://git@github.com{network_support.folder()}/git/team/greeter.git"
        key = "umask 077; " + write_files(**{"/home/agent/.ssh/id_ed25519": text("id")})
        # This server has not the key that the profile knows GitHub by.
        result = self.run_in("git-net", "sh", "-ec", f"{key}git clone -q {url}")
        self.assertIn("HOST IDENTIFICATION HAS CHANGED", result.stderr)
        known = write_files(**{"/home/agent/.ssh/known_hosts": f"github.com {text('host.pub')}"})
        said = self.shell("git-net", f"{key}{known}git clone -q {url}\n"
                                     "git -C greeter log --format=%s")
        self.assertEqual(said, "hello from a repository\n")

    @unittest.skipUnless(package_hosts.postgres(), "PostgreSQL is not installed")
    def test_psql(self):
        words = ["psql", "-h", package_hosts.DATABASE, "-U", "agent", "-At", "-c", "select 6 * 7",
                 "postgres"]
        self.assertTrue(support.wait_until(
            lambda: self.run_in("database", *words).stdout == "42\n", 20))


class Refused(Case):
    """A program that asks for what no profile has ends at once, not after its retries."""

    def asked_once(self, profile, *words):
        said = self.run_in(profile, "python3", "-c", UNAVAILABLE, *words)
        self.assertEqual(said.stdout, "True 1\n", said.stderr)

    def test_no_retry_without_a_network(self):
        for words in (("env", "PIP_NO_INDEX=0", "pip", "download", "--index-url",
                       "http://127.0.0.1:8000/", "greet-py"),
                      ("npm", "view", "--registry", "http://127.0.0.1:8000/", "greet-js")):
            with self.subTest(words=words):
                program = next(word for word in words if word in ("pip", "npm"))
                self.need("default", f"command -v {program}")
                said = self.run_in("default", "python3", "-c", UNAVAILABLE, *words)
                self.assertEqual(said.stdout, "True 1\n", said.stderr)
        for profile in ("python-dev", "node-dev"):
            said = self.shell(profile, "echo $PIP_RETRIES $npm_config_fetch_retries")
            self.assertEqual(said, "0 0\n")

    def test_a_name_outside_the_list(self):
        """Programs end within their time, and no server of names is asked."""
        for profile, command in (
                ("python-net", "pip download --index-url https://index.example.org/ a"),
                ("node-net", "npm view --registry https://index.example.org/ a"),
                ("git-net", "git clone https://index.example.org/a.git")):
            with self.subTest(profile=profile):
                self.need(profile, "command -v " + command.split(" ", maxsplit=1)[0])
                result = self.run_in(profile, "sh", "-c", command)
                self.assertNotEqual(result.returncode, 0)
        self.assertNotIn("index.example.org", asked("name"))


if __name__ == "__main__":
    network_support.main()
