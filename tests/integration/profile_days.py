#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real day in each profile for a language: days/LANGUAGE/day.sh makes a project, installs a
dependency from a directory, builds, runs the project's own tests (which start threads and
processes) and writes to the caches, all in one sandbox of that profile.

The days of compilers take the longest: an ordinary run spends one of them, which MSP_SEED chooses.
Code of each language is run in its profile in each.

A toolchain that is not there is a reason to skip, but not where everything has to be there
(CI=true)."""
import io
import json
import os
import random
import re
import sys
import tarfile
import time
import unittest

import figures
import support

DAYS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "days")
COMPILED = ("go", "rust", "java")
CHOSEN = COMPILED if support.IS_ALL else (random.Random(support.SEED).choice(COMPILED),)
DONE = re.compile(r"^done: (.*)$", re.M)


def setUpModule():
    if os.geteuid() == 0:
        raise unittest.SkipTest("needs an ordinary user")
    print(f"MSP_SEED={support.SEED}", file=sys.stderr)


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def pack(files):
    """A tar archive of {name: bytes}."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            entry.mtime = time.time()
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def project(language):
    """{name: bytes} of a day's folder, and of what every day begins with."""
    files = {"steps.sh": read_bytes(os.path.join(DAYS, "steps.sh"))}
    top = os.path.join(DAYS, language)
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            files[os.path.relpath(path, top)] = read_bytes(path)
    return files


def steps_of(files):
    """What the day will have said when all of it went well."""
    return re.findall(r"^done_with (.*)$", files["day.sh"].decode(), re.M)


def one_of_the_compiled(language):
    return unittest.skipUnless(language in CHOSEN, f"this run spends the day of {CHOSEN}")


class Days(unittest.TestCase):
    def need(self, profile, *commands):
        """Skip without these, as the sandbox sees them; fail where they must be."""
        missing = [command for command in commands
                   if support.run("sh", "-c", command, options=("--profile", profile)).returncode]
        if missing and os.environ.get("CI") == "true":
            self.fail(f"not installed: {missing}")
        if missing:
            self.skipTest(f"not installed: {missing}")

    def spend(self, profile, language, **more):
        """The day, and its figures."""
        files = {**project(language), **more}
        result = support.run("sh", "-c", "tar -x && exec sh day.sh", text=False, timeout=120,
                             input=pack(files), options=("--profile", profile, "--json"))
        report = json.loads(result.stdout)
        self.assertEqual(DONE.findall(report["stdout"]), steps_of(files),
                         report["stdout"] + report["stderr"])
        self.assertEqual((report["verdict"], report["exit_code"], report["stderr"]),
                         ("exited", 0, ""))
        figures.record("days", profile=profile, wall_ms=report["wall_ms"],
                       cpu_ms=report.get("cpu_ms"), peak_bytes=report.get("peak_bytes"))

    def test_python(self):
        self.need("python-dev", "python3 -c 'import ensurepip, sqlite3'", "python3 -m pip --version")
        self.spend("python-dev", "python")

    def test_node(self):
        self.need("node-dev", "npm --version", "node --test --version")
        self.spend("node-dev", "node")

    @one_of_the_compiled("go")
    def test_go(self):
        self.need("go-dev", "go version")
        self.spend("go-dev", "go")

    @one_of_the_compiled("rust")
    def test_rust(self):
        self.need("rust-dev", "cargo --version && rustc --version")
        self.spend("rust-dev", "rust")

    @one_of_the_compiled("java")
    def test_java(self):
        self.need("java-dev", "javac --version && jar --version")
        self.spend("java-dev", "java")

    def test_minimal(self):
        self.spend("minimal", "minimal", program=read_bytes(support.MSP))


class Code(unittest.TestCase):
    """Code that comes as text, in the profile of its language."""

    CASES = (
        ("python-dev", "python", "print(6 * 7)"),
        ("node-dev", "javascript", "console.log(6 * 7)"),
        ("go-dev", "go", 'package main\n\nimport "fmt"\n\nfunc main() { fmt.Println(6 * 7) }\n'),
        ("rust-dev", "rust", 'fn main() { println!("{}", 6 * 7) }'),
        ("java-dev", "java", "public class Main { public static void main(String[] a) {"
                             " System.out.println(6 * 7); } }"),
        ("minimal", "sh", "echo $((6 * 7))"),
    )

    def test_each_language_runs_in_its_profile(self):
        with support.Server() as server:
            server.initialize()
            for profile, language, code in self.CASES:
                with self.subTest(profile=profile):
                    result = server.call("run_code", 70, profile=profile, language=language,
                                         code=code)
                    text = support.text_of(result)
                    if "not installed" in text and os.environ.get("CI") != "true":
                        self.skipTest(text)
                    self.assertIn("42", text.splitlines()[0])
                    self.assertFalse(result["isError"], text)

    def test_a_java_heap_is_a_part_of_the_limit(self):
        code = ("public class Main { public static void main(String[] a) {"
                " System.out.println(Runtime.getRuntime().maxMemory() >> 20); } }")
        with support.Server() as server:
            server.initialize()
            result = server.call("run_code", 70, profile="java-dev", language="java", code=code)
            if "not installed" in support.text_of(result) and os.environ.get("CI") != "true":
                self.skipTest(support.text_of(result))
            self.assertLessEqual(int(support.text_of(result).split()[0]), 1024)


if __name__ == "__main__":
    unittest.main(verbosity=2)
