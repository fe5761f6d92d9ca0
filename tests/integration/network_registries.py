#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The registries of the user's own package managers: the tools of a sandbox use them, and nothing
else of the user's files comes in."""
import glob
import os
import shlex
import subprocess
import unittest

import image_profiles
import network_support
import package_hosts
from cli_support import msp
from config_support import WithFolder
from network_support import HOSTS, asked

TOKEN, OTHER_TOKEN = "tokentokentoken", "another-token-of-a-file"
OFFERED = "offer: [python-net, node-net, rust-net, go-net, java-net]\n"
NPM, PIP, GO, CARGO, MAVEN = (f"{name}.corp.example.org"
                              for name in ("npm", "pip", "go", "cargo", "mvn"))
OTHER = "other.corp.example.org"
USER = f"me:{TOKEN}@"
LIBRARY = os.path.dirname(os.__file__)
PEM = "-----BEGIN CERTIFICATE-----\nMIIB\nATCC\n-----END CERTIFICATE-----\n"
FILES = {
    ".npmrc": f"registry=https://{USER}{NPM}/team/?key={TOKEN}\n"
              f"//{NPM}/team/:_authToken={TOKEN}\n@acme:registry=https://{OTHER}/\n",
    ".config/pip/pip.conf": f"[global]\nindex-url = https://{USER}{PIP}/team/simple/\n",
    ".config/go/env": f"GOPROXY=https://{USER}{GO}/team,direct\nGOSUMDB=off\nGOAUTH={TOKEN}\n",
    ".cargo/config.toml": '[source.crates-io]\nreplace-with = "corp"\n[source.corp]\n'
                          f'registry = "sparse+https://{CARGO}/index/"\n'
                          f'[registries.corp]\ntoken = "{TOKEN}"\n',
    ".m2/settings.xml": "<settings><servers><server><id>corp</id><password>" + TOKEN +
                        "</password></server></servers><mirrors><mirror><id>corp</id>"
                        f"<url>https://{USER}{MAVEN}/maven2</url><mirrorOf>*</mirrorOf></mirror>"
                        "</mirrors></settings>\n",
}
# Prints each place in which a word is: files, variables and the words of processes.
SEEK = ("env | grep -c \"$0\" || :\ngrep -rsl --exclude-dir=usr --exclude-dir=proc --exclude-dir=sys \"$0\" / "
        "/proc/self/environ /proc/self/mountinfo || :")


def _answer(host, path):
    """The file of a public host, as that of the company's registry."""
    names = {NPM: ("registry.npmjs.org", "/team"), PIP: ("pypi.org", "/team"),
             GO: ("proxy.golang.org", "/team"), CARGO: ("index.crates.io", "/index")}
    public, before = names[host]
    if host == PIP and path.startswith("/files"):
        public, before = "files.pythonhosted.org", "/files"
    if host == CARGO and path.startswith("/dl"):
        public, before = "static.crates.io", "/dl"
    body = package_hosts.FILES.get((public, path[len(before):])) if path.startswith(before) else None
    for there, here in ((b"https://registry.npmjs.org", f"https://{NPM}/team"),
                        (b"https://files.pythonhosted.org", f"https://{PIP}/files"),
                        (b"https://static.crates.io", f"https://{CARGO}/dl")):
        body = body and not path.endswith((".tgz", ".whl", "/download")) and body.replace(
            there, here.encode()) or body
    return body


PARENT = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>example</groupId><artifactId>parent</artifactId><version>1</version><packaging>pom</packaging>
</project>
"""
CHILD = PARENT.replace("<groupId>", "<parent><groupId>example</groupId><artifactId>parent</artifactId>"
                       "<version>1</version><relativePath/></parent><groupId>").replace(
                           "parent</artifactId><version>1</version><packaging>",
                           "child</artifactId><version>1</version><packaging>")


def _answer_maven(request):
    is_parent = request.path == "/maven2/example/parent/1/parent-1.pom"
    network_support.note("header", request.headers.get("Authorization", "none"))
    request.answer(200 if is_parent else 404, PARENT.encode() if is_parent else b"no such file\n")


def _answer_file(request):
    body = _answer(request.headers["Host"].partition(":")[0], request.path.partition("?")[0])
    network_support.note("header", request.headers.get("Authorization", "none"))
    request.answer(404 if body is None else 200, body or b"no such file\n",
                   "text/html" if "/simple/" in request.path else "application/octet-stream")


HOSTS.update({host: _answer_file for host in (NPM, PIP, GO, CARGO)})
HOSTS.update({host: lambda request: request.answer(200, b"hello\n") for host in (OTHER,)})
HOSTS[MAVEN] = _answer_maven
# Tests of another home would write what is watched.
network_support.CONTROLS.append(lambda: subprocess.run(
    ["mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", "/dev/shm"], check=True))


class Case(WithFolder):
    def setUp(self):
        super().setUp()
        self.config = self.write(OFFERED)
        for name, text in FILES.items():
            self.write(text, name="home/" + name, mode=0o600)

    def run_in(self, profile, *words, options=()):
        return self.run_msp(*words, options=("--profile", profile, *options),
                            MSP_CONFIG=self.config)

    def shell(self, profile, script, *words, options=()):
        result = self.run_in(profile, "sh", "-ec", script, *words, options=options)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def need(self, profile, command, is_of_ci=True):
        if self.run_in(profile, "sh", "-c", command).returncode != 0:
            if is_of_ci and os.environ.get("CI") == "true":
                self.fail(f"not installed: {command}")
            self.skipTest(f"not installed: {command}")


class Tools(Case):
    def test_npm(self):
        self.need("node-net", "command -v npm")
        said = self.shell("node-net", "echo '{}' >package.json; npm install --silent greet-js\n"
                                      "node -p 'require(\"greet-js\")'\n"
                                      "npm config get @acme:registry")
        self.assertEqual(said, f"hello from a tarball\nhttps://{OTHER}/\n")
        self.assertIn("/team/greet-js", asked(NPM))

    def test_a_project_says_otherwise_as_outside_and_opens_nothing(self):
        self.need("node-net", "command -v npm")
        said = self.run_in("node-net", "sh", "-c", "echo 'registry=https://web.example.org/' >.npmrc\n"
                                                   "npm config get registry; npm view greet-js")
        self.assertIn("https://web.example.org/", said.stdout)
        self.assertNotEqual(said.returncode, 0)
        self.assertNotIn("web.example.org", asked("name"))

    def test_pip(self):
        self.need("python-net", "python3 -m pip --version")
        said = self.shell("python-net", "python3 -m pip install --quiet --user greet-py\n"
                                        "python3 -c 'import greet_py; print(greet_py.greet())'")
        self.assertEqual(said, "hello from a wheel\n")
        self.assertIn("/team/simple/greet-py/", asked(PIP))

    def test_go(self):
        self.need("go-net", "command -v go")
        module = f"module work\n\ngo 1.18\n\nrequire {package_hosts.GO} v1.0.0\n"
        self.shell("go-net", f"printf %s {shlex.quote(module)} >go.mod\n"
                             "go mod download -x 2>&1; go env GOPROXY GOSUMDB")
        self.assertIn(f"/team/{package_hosts.GO}/@v/v1.0.0.zip", asked(GO))

    def test_cargo(self):
        self.need("rust-net", "command -v cargo")
        if self.run_in("rust-net", "sh", "-c", "cargo --version | grep -E ' 1\\.([7-9]|[0-9]{3})'").returncode:
            self.skipTest("this cargo reads no sparse index: that needs 1.70")
        package = '[package]\nname = "work"\nversion = "1.0.0"\n[dependencies]\ngreet-rs = "1.0"\n'
        self.shell("rust-net", f"printf %s {shlex.quote(package)} >Cargo.toml\nmkdir src\n"
                               "echo 'fn main() {}' >src/main.rs\ncargo fetch --quiet")
        self.assertIn("/index/gr/ee/greet-rs", asked(CARGO))

    def test_maven(self):
        """By http: a virtual machine has a list of authorities of its own."""
        self.need("java-net", "command -v mvn", is_of_ci=False)
        self.write(FILES[".m2/settings.xml"].replace("https", "http"), name="home/.m2/settings.xml", mode=0o600)
        build = f"printf %s {shlex.quote(CHILD)} >pom.xml; mvn -B -q validate"
        self.shell("java-net", build)
        self.assertIn("/maven2/example/parent/1/parent-1.pom", asked(MAVEN))
        os.unlink(os.path.join(self.folder, "home/.m2/settings.xml"))
        result = self.run_in("java-net", "sh", "-ec", build)
        self.assertNotEqual(result.returncode, 0, "the control: no other registry has it")

    def test_what_the_tools_are_told(self):
        said = self.shell("python-net", "echo $PIP_INDEX_URL")
        self.assertEqual(said, f"https://{PIP}/team/simple/\n")
        said = self.shell("go-net", "echo $GOPROXY $GOSUMDB")
        self.assertEqual(said, f"https://{GO}/team off\n")
        said = self.shell("rust-net", "cat /.cargo/config.toml")
        self.assertIn(f'source.corp.registry = "sparse+https://{CARGO}/index/"\n', said)
        said = self.shell("java-net", "cat ${MAVEN_ARGS#-gs }")
        self.assertIn(f"<url>https://{MAVEN}/maven2</url>", said)

    def test_a_private_address(self):
        fetch = ("python3 -c 'import urllib.request as u; "
                 "print(u.urlopen(\"http://private.example.org/\", timeout=20).read().decode(), end=\"\")'")
        self.assertNotEqual(self.run_in("python-net", "sh", "-c", fetch).returncode, 0)
        self.write("[global]\nextra-index-url = http://private.example.org/simple\n",
                   name="home/.config/pip/pip.conf", mode=0o600)
        self.assertEqual(self.shell("python-net", fetch), "hello from the server\n")

    def test_a_file_that_changes(self):
        """A plan of an earlier start is not used."""
        ask = "echo $PIP_INDEX_URL; cat /etc/msp-registries/pip.pem 2>/dev/null || :"
        self.assertEqual(self.shell("python-net", ask), f"https://{PIP}/team/simple/\n")
        certificates = self.write(PEM, name="ca.pem")
        self.write(f"[global]\nindex-url = https://{OTHER}/simple\ncert = {certificates}\n",
                   name="home/.config/pip/pip.conf", mode=0o600)
        self.assertEqual(self.shell("python-net", ask), f"https://{OTHER}/simple\n{PEM}")
        self.write(PEM + PEM, name="ca.pem")
        self.assertEqual(self.shell("python-net", ask), f"https://{OTHER}/simple\n{PEM}{PEM}")
        os.unlink(os.path.join(self.folder, "home/.config/pip/pip.conf"))
        self.assertEqual(self.shell("python-net", ask), "\n")

    def test_certificates_of_root(self):
        """Here, as in a unit with PrivateUsers, root's files show another owner."""
        found = sorted(glob.glob("/usr/share/ca-certificates/mozilla/*.crt"))
        if not found:
            self.skipTest("there is no /usr/share/ca-certificates/mozilla")
        with open(found[0], encoding="ascii") as file:
            text = file.read()
        self.write(f"[global]\nindex-url = https://{PIP}/simple\ncert = {found[0]}\n",
                   name="home/.config/pip/pip.conf", mode=0o600)
        self.assertEqual(self.shell("python-net", "cat $PIP_CERT").strip(), text.strip())


class Images(image_profiles.WithImages):
    def test_an_image_has_them(self):
        for name, text in FILES.items():
            self.write(text.replace("https", "http"), name="home/" + name, mode=0o600)
        self.config = self.write("profiles:\n  - name: has\n    extends: image\n    image: distro:1\n"
                                 "    network: hosts\n    hosts: ['@npm', '@pypi', '@crates', '@go', '@maven']\n"
                                 "    environment: [PYTHONHOME=/python]\n    files:\n"
                                 f"      - {{at: /python/lib/{os.path.basename(LIBRARY)}, kind: bind, from: {LIBRARY}}}\n"
                                 "    landlock:\n      - {path: /python, rights: [read, execute]}\n")
        said = self.says("has", "cat $npm_config_globalconfig ${MAVEN_ARGS#-gs } /.cargo/config.toml; export -p")
        for text in (f"\n@acme:registry=http://{OTHER}/\n", f"<url>http://{MAVEN}/maven2</url>",
                     f"http://{CARGO}/index/", f"GOPROXY='http://{GO}/team'"):
            self.assertIn(text, said)
        self.assertNotIn(TOKEN, said)
        self.says("has", "python3 -c 'import os, urllib.request as u; "
                         "u.urlopen(os.environ[\"PIP_INDEX_URL\"] + \"greet-py/\", timeout=20).read()'")
        self.assertIn("/team/simple/greet-py/", asked(PIP))


class Secrets(Case):
    def test_a_token_of_the_operators(self):
        """The registry of ~/.npmrc gets a token that the sandbox has a placeholder for."""
        self.need("node-net", "command -v npm")
        secret = self.write(OTHER_TOKEN, name="home/token", mode=0o600)
        entry = f"    secrets: [{{name: NPM_TOKEN, hosts: [{NPM}], header: Authorization, file: {secret}}}]\n"
        self.config = self.write(f"{OFFERED}profiles:\n  - name: alone\n    extends: node-net\n{entry}"
                                 f"  - name: listed\n    extends: node-net\n    hosts: ['@npm', {NPM}]\n{entry}")
        for profile in ("alone", "listed"):
            with self.subTest(profile=profile):
                before = len(asked("header"))
                said = self.shell(profile, f"echo '//{NPM}/team/:_authToken=${{NPM_TOKEN}}' >.npmrc\necho '{{}}' >package.json\n"
                                           f"npm install --silent greet-js\n{SEEK}", OTHER_TOKEN)
                self.assertEqual(said, "0\n")
                self.assertEqual(set(asked("header")[before:]), {f"Bearer {OTHER_TOKEN}"})

    def test_no_token_enters(self):
        for profile in ("node-net", "python-net", "go-net", "rust-net", "java-net"):
            with self.subTest(profile=profile):
                self.assertEqual(self.shell(profile, SEEK, TOKEN), "0\n")
        self.assertEqual([text for text in asked("header") if TOKEN in text], [])

    def test_control_of_the_search(self):
        found = self.shell("node-net", "echo \"$0\" >f; export V=\"$0\"\n" + SEEK, TOKEN)
        self.assertEqual(found.splitlines(), ["1", "/workspace/f", "/proc/self/environ"])

    def test_no_token_is_printed_or_kept(self):
        self.run_in("node-net", "true")
        for words in (("show", "node-net"), ("show", "rust-net"), ("show", "java-net"), ("check",)):
            self.assertNotIn(TOKEN, self.profile(*words))
        kept = os.path.join(self.folder, "home", ".cache", "msp")
        for name in os.listdir(kept):
            with open(os.path.join(kept, name), "rb") as file:
                self.assertNotIn(TOKEN.encode(), file.read())

    def profile(self, *words):
        result = msp("profile", *words,
                                     env=self.environment(MSP_CONFIG=self.config))
        return result.stdout + result.stderr

    def test_where_each_came_from(self):
        said = self.profile("show", "node-net")
        self.assertIn(f"\n  npm    registry https://{NPM}/team/ (~/.npmrc:1)\n", said)
        self.assertIn(f"\n  {NPM}:443 tls private (~/.npmrc:1)\n", said)
        os.unlink(os.path.join(self.folder, "home/.npmrc"))
        project = self.write(FILES[".npmrc"], name="project/npmrc", mode=0o600)
        os.symlink(project, os.path.join(self.folder, "home/.npmrc"))
        said = self.profile("show", "node-net")
        self.assertIn("not used: a link leads to it", said)
        self.assertNotIn(NPM, said)

    def test_an_operator_who_leaves_them_out(self):
        self.config = self.write(OFFERED + "registries: public\n")
        self.assertEqual(self.shell("python-net", "echo $PIP_INDEX_URL"), "\n")
        self.assertNotIn("corp.example.org", self.profile("show", "node-net"))

    def test_a_project_widens_nothing(self):
        """The files of a directory that sandboxes work on are not those of the home."""
        for name in FILES:
            os.unlink(os.path.join(self.folder, "home", name))
        for name, text in FILES.items():
            self.write(text, name="project/" + name, mode=0o600)
        result = msp(
            "profile", "show", "node-net", cwd=os.path.join(self.folder, "project"),
            env=self.environment(MSP_CONFIG=self.config, npm_config_registry=f"https://{NPM}/",
                                 PIP_INDEX_URL=f"https://{PIP}/", GOPROXY=f"https://{GO}/"))
        self.assertNotIn("corp.example.org", result.stdout)
        self.assertEqual(self.run_in("python-net", "sh", "-c", "echo $PIP_INDEX_URL").stdout, "\n")

    def test_no_sandbox_writes_such_a_file(self):
        """Neither --ro nor a writable bind shows it."""
        home = os.path.join(self.folder, "home")
        for name in FILES:
            place = os.path.dirname(os.path.join(home, name))
            with self.subTest(name=name):
                result = self.run_in("default", "true", options=(f"--ro={os.path.join(home, name)}",))
                self.assertNotEqual(result.returncode, 0)
                self.config = self.write(
                    "profiles:\n  - name: writes\n    extends: default\n    files:\n"
                    f"      - {{at: /data, kind: bind, from: {place}, access: writable}}\n")
                self.assertNotEqual(self.run_in("writes", "true").returncode, 0)


if __name__ == "__main__":
    network_support.main()
