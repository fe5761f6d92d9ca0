#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Caches of packages: the profile that `msp cache add` prints installs from a cache that the real tool
filled, without a network, and never writes to it; without the profile the same fails. What is no cache
is refused with the command that fills one.

The servers' packages of package_hosts.py are the sources. A tool that is not here is a reason to skip,
but not where everything has to be there (CI=true), except Maven, which nothing installs."""
import json
import os
import re
import shutil
import subprocess
import unittest

import package_hosts
import support
from cli_support import LIMITS, msp
from config_support import WithFolder
from network_packages import CARGO, GO_MAIN, LOCK

SEARCH = "/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin"
# A plugin that prints the files of a project's dependencies: Maven's core alone compiles nothing.
PLUGIN = """\
import org.apache.maven.artifact.Artifact;
import org.apache.maven.plugin.AbstractMojo;
import org.apache.maven.project.MavenProject;

public class Print extends AbstractMojo {
    private MavenProject project;

    public void execute() {
        for (Object one : project.getArtifacts())
            System.out.println("has " + ((Artifact) one).getFile());
    }
}
"""
PLUGIN_XML = """\
<plugin><groupId>example</groupId><artifactId>print-maven-plugin</artifactId><version>1</version>
<goalPrefix>print</goalPrefix><mojos><mojo><goal>print</goal><implementation>Print</implementation>
<requiresDependencyResolution>compile</requiresDependencyResolution><language>java</language>
<requiresProject>true</requiresProject><instantiationStrategy>per-lookup</instantiationStrategy>
<executionStrategy>once-per-session</executionStrategy><parameters><parameter><name>project</name>
<type>org.apache.maven.project.MavenProject</type></parameter></parameters><configuration>
<project implementation="org.apache.maven.project.MavenProject" default-value="${project}"/>
</configuration></mojo></mojos></plugin>
"""
POM = ("<project><modelVersion>4.0.0</modelVersion><groupId>{}</groupId><artifactId>{}</artifactId>"
       "<version>{}</version><packaging>{}</packaging>{}</project>\n")
GREET = ("<dependencies><dependency><groupId>example</groupId><artifactId>greet</artifactId>"
         "<version>1</version></dependency></dependencies>")
MAVEN_LIBRARY = "/usr/share/maven/lib"


def setUpModule():
    if os.geteuid() == 0:
        raise unittest.SkipTest("needs an ordinary user")


class Case(WithFolder):
    def put(self, path, content):
        path = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        return path

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def add(self, *words, **options):
        return msp("cache", "add", *words, env=self.environment(), **options)

    def on_host(self, *command, cwd=None, **variables):
        """A real tool outside, which fills a cache."""
        environment = {"PATH": SEARCH, "HOME": self.path("home"), **variables}
        os.makedirs(environment["HOME"], exist_ok=True)
        result = subprocess.run(command, cwd=cwd or self.folder, env=environment, timeout=120,
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def need(self, *names, is_of_ci=True):
        missing = [name for name in names if not shutil.which(name, path=SEARCH)]
        if missing and is_of_ci and os.environ.get("CI") == "true":
            self.fail(f"not installed: {missing}")
        if missing:
            self.skipTest(f"not installed: {missing}")


class Installs(Case):
    def check(self, tool, script, says, place=None, edit=None):
        """The script works in the printed profile alone, and leaves the cache as it was."""
        folder = place or self.path("cache")
        printed = self.add(tool, folder)
        self.assertEqual((printed.returncode, printed.stderr), (0, ""))
        text = printed.stdout
        base = re.search(r"extends: (\S+)", text).group(1)
        config = self.write((edit(text) if edit else text) + f"  - {{name: {tool}-without, extends: {base}}}\n")
        before = self.listing(folder)
        for profile, works in ((f"{tool}-cached", True), (f"{tool}-without", False)):
            result = msp("run", "--standalone", *LIMITS, "--profile", profile, "--ro",
                         f"{self.path('project')}:/project", "--", "sh", "-c",
                         f"cp -r /project/. . && {script}", env=self.environment(MSP_CONFIG=config))
            self.assertEqual((result.returncode == 0, says in result.stdout), (works, works),
                             f"{profile}: {result.stdout}{result.stderr}")
        self.assertEqual(self.listing(folder), before)
        result = msp("run", "--standalone", *LIMITS, "--profile", f"{tool}-cached", "--", "sh", "-c",
                     f"! touch /cache/{tool}/new", env=self.environment(MSP_CONFIG=config))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("Read-only file system", result.stderr)

    def listing(self, folder):
        """{path: (size, time)} of all files."""
        found = {}
        for top, _, names in os.walk(folder):
            for name in names:
                status = os.lstat(os.path.join(top, name))
                found[os.path.join(top, name)] = (status.st_size, status.st_mtime_ns)
        return found

    def test_npm(self):
        self.need("npm")
        self.put("greet.tgz", package_hosts.pack_tar(package_hosts.NODE))
        self.on_host("npm", "cache", "add", "--cache", self.path("cache"), "./greet.tgz")
        self.put("project/package-lock.json", LOCK)
        self.put("project/package.json", json.dumps({"name": "work", "version": "1.0.0",
                                                     "dependencies": {"greet-js": "1.0.0"}}))
        self.check("npm", "npm ci && node -p 'require(\"greet-js\")'", "hello from a tarball")

    def test_pip(self):
        self.need("pip3")
        self.put("wheels/greet_py-1.0-py3-none-any.whl", package_hosts.pack_zip(package_hosts.WHEEL))
        self.on_host("pip3", "download", "-q", "--no-index", "--find-links", self.path("wheels"), "-d",
                     self.path("cache"), "greet-py")
        self.put("project/use.py", "import greet_py\nprint(greet_py.greet())\n")
        self.check("pip", "pip3 install -q --target . greet-py && python3 use.py", "hello from a wheel")

    def cargo_project(self):
        self.need("cargo")
        self.put("registry/greet-rs-1.0.0.crate", package_hosts.pack_tar(package_hosts.CRATE))
        self.put("registry/index/gr/ee/greet-rs",
                 package_hosts.FILES[("index.crates.io", "/gr/ee/greet-rs")])
        self.put("project/Cargo.toml", CARGO)
        self.put("project/src/main.rs", 'fn main() { println!("{}", greet_rs::greet()); }\n')

    def test_cargo(self):
        self.cargo_project()
        source = (f'[source.crates-io]\nreplace-with = "here"\n[source.here]\n'
                  f'local-registry = "{self.path("registry")}"\n')
        self.put("vendoring/.cargo/config.toml", source)
        shutil.copytree(self.path("project"), self.path("vendoring"), dirs_exist_ok=True)
        self.on_host("cargo", "vendor", "-q", "--respect-source-config", self.path("cache"),
                     cwd=self.path("vendoring"))
        self.check("cargo", "cargo run -q", "hello from a crate")

    def test_cargo_of_a_local_registry(self):
        self.cargo_project()
        self.check("cargo", "cargo metadata --format-version=1", '"greet-rs"', self.path("registry"))

    def test_go(self):
        self.need("go")
        for kind in ("info", "mod", "zip"):
            path = f"/{package_hosts.GO}/@v/v1.0.0.{kind}"
            self.put("proxy" + path, package_hosts.FILES[("proxy.golang.org", path)])
        self.put("project/go.mod", f"module work\n\ngo 1.19\n\nrequire {package_hosts.GO} v1.0.0\n")
        self.put("project/go.sum", package_hosts.go_sums())
        self.put("project/main.go", GO_MAIN)
        self.on_host("go", "mod", "download", cwd=self.path("project"), GOSUMDB="off",
                     GOPROXY="file://" + self.path("proxy"), GOMODCACHE=self.path("cache"),
                     GOFLAGS="-modcacherw", GOCACHE=self.path("build"))
        self.check("go", f"go mod vendor && cat vendor/{package_hosts.GO}/greet.go", "hello from a module")

    def test_maven(self):
        self.need("mvn", "javac", "jar", is_of_ci=False)
        jars = [os.path.join(MAVEN_LIBRARY, name) for name in os.listdir(MAVEN_LIBRARY)
                if name.startswith("maven-")] if os.path.isdir(MAVEN_LIBRARY) else []
        if not jars:
            self.skipTest(f"there is no {MAVEN_LIBRARY}")
        self.put("classes/META-INF/maven/plugin.xml", PLUGIN_XML)
        self.on_host("javac", "-cp", ":".join(jars), "-d", self.path("classes"),
                     self.put("plugin/Print.java", PLUGIN))
        # Maven adds the last one to each plugin.
        for group, name, version, kind, content in (
                ("example", "greet", "1", "jar", "plugin"),
                ("example", "print-maven-plugin", "1", "maven-plugin", "classes"),
                ("org.codehaus.plexus", "plexus-utils", "1.1", "jar", "plugin")):
            base = f"cache/{group.replace('.', '/')}/{name}/{version}/{name}-{version}"
            self.put(base + ".pom", POM.format(group, name, version, kind, ""))
            self.on_host("jar", "cf", self.path(base + ".jar"), "-C", self.path(content), ".")
        self.put("project/pom.xml", POM.format("example", "work", "1", "jar", GREET))
        said = subprocess.run(["mvn", "--version"], capture_output=True, text=True, check=True).stdout
        is_old = re.search(r"Maven 3\.[0-8]\.", said)

        def edit(text):
            """As the printed comment says of an old Maven."""
            return re.sub("# (- MAVEN_OPTS)", r"\1", text) if is_old else text

        self.check("maven", "mvn -q -o example:print-maven-plugin:1:print",
                   "has /cache/maven/example/greet/1/greet-1.jar", edit=edit)


class Refused(Case):
    def refused(self, says, *words, code=78):
        result = self.add(*words)
        self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertRegex(result.stderr, "^msp: cache: " + says)

    def test_what_is_no_cache(self):
        os.mkdir(self.path("empty"))
        for tool, says in (
                ("npm", "has no _cacache/index-v5. Fill one: 'npm ci --cache PATH' in"),
                ("pip", r"has no wheel \(\*.whl\) or .*: 'pip download -r requirements.txt -d PATH'"),
                ("cargo", "has no vendored crate.*: 'cargo vendor PATH'"),
                ("go", "has no cache/download. Fill one: 'GOMODCACHE=PATH go mod download'"),
                ("maven", "has no GROUP.*: 'mvn -Dmaven.repo.local=PATH dependency:go-offline'")):
            with self.subTest(tool=tool):
                path = self.path("empty")
                self.refused(f"'{path}' is no cache of {tool}: it " + says.replace("PATH", path), tool, path)

    def test_what_cannot_be_shown(self):
        file = self.put("file", "text")
        hidden = os.path.dirname(os.path.dirname(self.put("home/.npm/_cacache/index-v5/x", "x")))
        quoted = os.path.dirname(self.put('qu"ote/a.whl', "x"))
        for says, *words in ((r"'/gone' cannot be opened: .*ENOENT.*Fill one: 'npm ci", "npm", "/gone"),
                             (f"'{file}' cannot be opened: .*ENOTDIR", "npm", file),
                             (r"'/etc' belongs to user 0, and .*: copy it with 'cp -r'", "npm", "/etc"),
                             (f"'{os.path.dirname(hidden)}' is refused: .*unprotect", "npm",
                              os.path.dirname(hidden)),
                             ("'.*' has characters that", "pip", quoted)):
            with self.subTest(words=words):
                self.refused(says, *words)

    def test_an_exception_of_the_operator_counts(self):
        self.put("home/.npm/_cacache/index-v5/x", "x")
        folder = self.path("home", ".npm")
        config = self.write(f"unprotect: [{folder}]\n")
        result = self.add("npm", folder, f"--config={config}")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f'from: "{folder}"', result.stdout)

    def test_the_command_line(self):
        for says, *words in (("add takes npm, pip, cargo, go or maven, and a directory",),
                             ("add takes npm, pip", "yarn", "/x"),
                             ("add npm takes one directory. Fill one: 'npm ci --cache DIRECTORY'", "npm"),
                             ("add go takes one directory", "go", "/a", "/b"),
                             ("add pip takes one directory", "pip", "")):
            with self.subTest(words=words):
                self.refused(says, *words, code=64)
        result = msp("cache", "list", env=self.environment())
        self.assertEqual(result.returncode, 64)
        self.assertIn("there is no action 'list', only add", result.stderr)

    def test_a_path_is_written_in_full(self):
        self.put("with space/a.whl", "x")
        result = self.add("pip", "with space/../with space", cwd=self.folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f'from: "{self.path("with space")}"', result.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
